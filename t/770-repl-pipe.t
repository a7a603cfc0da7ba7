#!/bin/sh
# 770-repl-pipe.t - pins: heddle repl through a pipe.  Chunks of several lines,
# values shown without `=`, errors that name the line and do not end the
# session, whatever their values do, its exit status, a script run first, help,
# a simulation stepped, looked into, snapshot and restored, and a policy changed
# on the way; Ctrl-C in a run and in a loop.
#
# SPDX-License-Identifier: MIT
dir=$(mktemp -d)
echo 0 >"$dir/n" # checks so far; a file, as some run behind a pipe
trap 'rm -rf "$dir"' EXIT
H=$HEDDLE

ok() { # ok STATUS NAME
    n=$(($(cat "$dir/n") + 1))
    echo $n >"$dir/n"
    if [ "$1" = 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/# /' "$dir/out" "$dir/err"
    fi
}

# session NAME STATUS [ARGUMENTS]: runs what is on standard input.
session() {
    name=$1 want=$2
    shift 2
    "$H" repl "$@" >"$dir/out" 2>"$dir/err"
    got=$?
    [ $got = "$want" ]
    ok $? "$name: exit status $want (got $got)"
}

# line TEXT NAME: the output has that line; in FILE err: the messages.
line() {
    grep -qxF -e "$1" "$dir/${3:-out}"
    ok $? "$2"
}

# ---- chunks and values ------------------------------------------------------

session "values" 0 <<'L'
1 + 1
= 2 + 3
"as it is", nil, 1.5
x = { b = 1, a = { 1, 2 }, ["c d"] = true }
x
_ == x
for i = 1, 3 do
  io.write(i, ";")
end print()
function twice(v)

  return 2 * v
end
twice(
  21
)
local gone = 1
gone
[[a long
string]]
L
line 2 "an expression shows its value"
line 5 "with = in front, too"
line "as it is	nil	1.5" "several values in a line"
line '{ a = { 1, 2 }, b = 1, ["c d"] = true }' "a table, its keys sorted"
line true "_ is the last value"
line "1;2;3;" "a statement of several lines"
line 42 "an expression of several lines"
line nil "locals end with their chunk"
line "a long" "a long string goes over lines"
[ ! -s "$dir/err" ]
ok $? "nothing on standard error"
grep -q '>' "$dir/out"
[ $? = 1 ]
ok $? "no prompt"

session "leaving" 0 <<'L'
exit = 3
exit
exit = nil
quit()
print "not reached"
L
[ "$(cat "$dir/out")" = 3 ]
ok $? "exit and quit leave, unless they are variables"
session "an object and a metric of one name" 0 <<'L'
sim = H.sim { machine = "maxwell", apps = { H.app("GUP", { size = "T" }) } }
help "walks"
L
line 'walks (object): look("walks", 0 to 0) shows what is in it' "the object"
line 'walks (metric, results)' "and the metric"
session "the results of a simulation" 0 <<'L'
sim = H.sim { machine = "maxwell", apps = { H.app("GUP", { size = "T" }) } }
run(100)
sim:results()
L
[ "$(sed -n 2p "$dir/out")" = \
    "heddle $("$HEDDLE" --version | sed -n 's/^heddle //p'): GUP on maxwell, seed 1: ok at cycle 100" ]
ok $? "are shown as people read them"
printf '6 * 7' | session "a last line without its end" 0
line 42 "is run"
: | session "no input at all" 0

# ---- errors -----------------------------------------------------------------

session "errors" 1 <<'L'
x = = 1

nosuch.field = 1
function f(t)
  return t.a.b + 1
end
r = f {}
error "plain"
error { code = -2, message = "a table" }
error()
"goes on"
H.machine("maxwell") { ["l2tlb.entires"] = 1 }
for i = 1,
L
line "stdin:1: unexpected symbol near '='" "a syntax error" err
line "stdin:3: attempt to index a nil value (global 'nosuch')" \
    "an error names the line of the input" err
line "stdin:5: attempt to index a nil value (field 'a')" \
    "also inside of a chunk" err
line "    stdin:7: in main chunk" "the traceback has the caller" err
grep -q "heddle/tools/repl" "$dir/err"
[ $? = 1 ]
ok $? "and nothing of the REPL's own"
line "stdin:8: plain" "error() with a text" err
line "a table" "error() with a table" err
line "goes on" "the session goes on"
grep -q "did you mean l2tlb.entries" "$dir/err"
ok $? "an unknown setting suggests one"
line "stdin:13: unexpected symbol near <eof>" \
    "an end inside of a chunk is an error" err

session "errors that raise themselves" 1 <<'L'
error(setmetatable({}, { __tostring = function() error() end }))
error(setmetatable({}, { __tostring = function() return {} end }))
error(setmetatable({}, { __index = function() error() end }))
error { code = "x", message = {} }
error { usage = print }
error { exit = "soon" }
6 * 7
L
line "an error that cannot be shown" "a __tostring that raises" err
line "the error is not a text but a table" "fields of other kinds" err
line "42" "the session goes on after each"

# ---- a script first ---------------------------------------------------------

cat >"$dir/first.lua" <<'L'
local H = require "heddle"
local a = H.args { size = "T" }
size_given = a.size
L
echo 'size_given' | session "a script first" 0 "$dir/first.lua" size=M
line M "its globals and its arguments are there"
echo 'size_given' | session "an argument that it does not have" 64 \
    "$dir/first.lua" size=M scael=2
: | session "a script that is not there" 66 "$dir/none.lua"
echo 'x = 1 error "too bad"' >"$dir/fails.lua"
echo 'x + 1' | session "a script that fails" 1 "$dir/fails.lua"
line 2 "the session begins all the same"
echo 'H.arg.n' | session "arguments without a script" 0 n=3
line 3 "are in H.arg"
: | session "an unknown option" 64 --fast

# ---- help -------------------------------------------------------------------

session "help" 0 <<'L'
help()
help "l2tlb.entries"
help "tlb_fill"
help(H.sim)
help(H.report.table)
help(string.rep)
sim = H.sim { machine = "maxwell", apps = { H.app("GUP", { size = "T" }) } }
help "l2tlb"
help(sim)
help "sim.restore"
help "l1tlb.entires"
help(12)
L
line "l2tlb.entries (setting)" "a setting, as heddle explain"
line "tlb_fill (point, warm)" "a point"
line 'l2tlb (object): look("l2tlb", 0 to 0) shows what is in it' \
    "an object"
grep -q "^  l2tlb.ways  *associativity" "$dir/out"
ok $? "a group of settings"
line "H.sim(options)" "a function of the module"
line "H.report.table(rows)" "a function by the comment above it"
line "string.rep(...)" "a function in C"
grep -q "^  :look  *The entries of an object" "$dir/out"
ok $? "a simulation's methods"
line "sim:restore(snapshot)" "a method by its name"
line "nothing is called 'l1tlb.entires' (did you mean 'l1tlb.entries'?)" \
    "an unknown name suggests one"
line "12 (integer)" "any value"

# ---- a machine --------------------------------------------------------------

session "a simulation" 0 <<'L'
pcall(step)
made = H.sim { machine = H.machine "aggressive" { ["core.count"] = 4, ["l2tlb.mshrs"] = 4 },
               apps = { H.app("GUP", { size = "S" }), H.app("BLK", { size = "T" }) } }
print("made", sim == made)
step()
step(1499)
run_until(function(s) return s.now >= 1600 end, 10)
names = {} for _, o in ipairs(look()) do names[o.name] = o.instances end
names.l1tlb, names.pagetable, names.l2tlb
kinds = function(name, i) local t = {} for _, r in ipairs(look(name, i)) do t[r.kind] = true end return t end
kinds("l1tlb", 1)
l1 = {} for i = 0, 3 do for k in pairs(kinds("l1cache", i)) do l1[k] = true end end
l1
kinds("l2tlb")
kinds "walks"
print("line", kinds("l2cache", 0).line, kinds("dram", 0).bank)
kinds("core", 0)
kinds("pagetable", 0)
print("stuck", #sim:stuck() > 0)
pages = look("pagetable", 1)[1]
pa, bytes = sim:translate(1, pages.vpn << 12)
print("mapped", pa == pages.pfn << 12, bytes)
sim:translate(1, 0)
k = sim:snapshot()
step(3000)
after = sim:state_hash()
sim:restore(k)
sim.now
step(3000)
print("again", sim:state_hash() == after)
sim:restore(k)
sim:use("random", { at = "l2tlb" })
sim:use("srrip", { at = "l2tlb", replace = true })
sim:used()[1].name
step(3000)
print("with srrip", sim:state_hash() == after)
sim:unuse("srrip")
sim:use { name = "mine", tlb_fill = function(q) return "none" end }
before = sim:counters().l2tlb.fills
step(2000)
print("nothing filled", sim:counters().l2tlb.fills == before)
sim:check()
run()
sim.status
L
grep -q "^false	there is no simulation yet: sim = H.sim" "$dir/out"
ok $? "step() before there is one"
line "ok	1" "step() is one cycle"
line "ok	1500" "step(n)"
line "ok	1600" "run_until"
line "4	2	1" "look() lists the objects"
grep -q "^{ entry = true, miss = true }" "$dir/out"
ok $? "an L1 TLB: entries and misses"
grep -q "^{ line = true, miss = true }" "$dir/out"
ok $? "an L1 cache: lines and misses"
grep -q "^{ entry = true, input = true }" "$dir/out"
ok $? "the L2 TLB: entries and the queue at its input"
grep -q "^{ walk = true }" "$dir/out"
ok $? "the walkers"
grep -q "^{ run = true }" "$dir/out"
ok $? "a page table"
grep -q "^{ queued = true, warp = true }" "$dir/out"
ok $? "a core: warps and its queue"
line "made	true" "sim is the last simulation made"
line "line	true	true" "the L2 cache and the banks of the DRAM"
line "stuck	true" "what waits for what"
line "mapped	true	4096" "translate agrees with the page table"
line 1600 "restore goes back"
line "again	true" "the run after it is the same"
line "with srrip	false" "with another policy it is another"
line "nothing filled	true" "a policy written in the session decides"
line srrip "a policy replaced on the way"
grep -q "^done	[0-9]" "$dir/out"
ok $? "run() runs to the end"
line "done" "and the status says so"
[ ! -s "$dir/err" ]
ok $? "without any message"

# ---- Ctrl-C -----------------------------------------------------------------

mkfifo "$dir/in"
"$H" repl <"$dir/in" >"$dir/out" 2>"$dir/err" &
pid=$!
exec 3>"$dir/in"

# wait_for TEXT: until the text is in the output or the messages.
wait_for() {
    i=0
    until grep -qF -e "$1" "$dir/out" "$dir/err" || [ $i -gt 400 ]; do
        sleep 0.05
        i=$((i + 1))
    done
}

cat >&3 <<'L'
sim = H.sim { machine = "maxwell", apps = { H.app("GUP", { size = "L" }) } }
io.stderr:write("ready\n") run()
L
wait_for ready
sleep 0.3
kill -INT $pid
wait_for "interrupted; sim is at cycle"
cat >&3 <<'L'
c = sim.now
print("goes on", step(100) == "ok" and sim.now == c + 100)
io.stderr:write("again\n") while true do end
L
wait_for again
kill -INT $pid
sleep 0.3
echo '"still here"' >&3
wait_for "still here"
exec 3>&-
wait $pid
[ $? = 1 ]
ok $? "Ctrl-C ends the command, not the session; exit status 1"
line "goes on	true" "the run goes on from where it was stopped"
line "still here" "a loop ends, too"

"$H" repl <"$dir/in" >"$dir/out" 2>"$dir/err" &
pid=$!
exec 3>"$dir/in"
echo '"idle"' >&3
wait_for idle
sleep 0.2
kill -INT $pid
wait $pid
[ $? = 130 ]
ok $? "Ctrl-C while nothing runs: 130"
exec 3>&-

echo "1..$(cat "$dir/n")"
