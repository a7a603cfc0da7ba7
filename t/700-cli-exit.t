#!/bin/sh
# 700-cli-exit.t - pins: the exit status of each kind of failure (sysexits),
# what goes to standard output and what to standard error, the form of error
# messages, and that a closed pipe is quiet.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh

expect 0 "--help" "$H" --help
has out "usage: heddle" "help is on standard output"
empty err "and nothing on standard error"
expect 0 "--version" "$H" --version
has out "heddle 0." "the version is printed"
has out "MIT" "with the licence"
has out "Built with " "and how it was built"
expect 0 "help of a command" "$H" help run
expect 0 "help of help" "$H" help --help
expect 0 "--help of a command" "$H" run --help
has out "usage: heddle run" "is its usage"

expect 64 "no command" "$H"
empty out "usage goes to standard error"
expect 64 "an unknown command" "$H" fly
has err "heddle: no command 'fly'" "is named"
expect 64 "a command with letters changed" "$H" rnu
has err "did you mean 'heddle run'" "suggests one"
expect 64 "an unknown kind of list" "$H" list pets
has err "settings" "the kinds are listed"
expect 64 "one of a kind" "$H" list point
has err "did you mean 'points'" "suggests the kind"
expect 64 "two words" "$H" list settings l1tlb l2tlb
has err "at most one word" "are one too many"
expect 64 "an unknown option" "$H" run --fast x.lua
expect 64 "run without a script" "$H" run

expect 0 "list points" "$H" list points
has out "dram_pick" "has a point"
expect 0 "list settings" "$H" list settings
has out "l1tlb.entries" "has a setting"
expect 0 "list counters" "$H" list counters
has out "core.instructions" "has a counter"
expect 0 "list machines" "$H" list machines
has out "pichai" "has a machine"
expect 0 "list apps" "$H" list apps
has out "ATAX" "has an application"
expect 0 "list suites" "$H" list suites
has out "mask-pairs" "has MASK's pairs"
expect 0 "explain a setting" "$H" explain l1tlb.entries
has out "source" "says where it comes from"
expect 0 "explain a point" "$H" explain tlb_fill
has out "requesters" "shows its question"
expect 0 "explain a machine" "$H" explain maxwell
has out "MASK table 1" "shows sources"
expect 0 "explain an application" "$H" explain ATAX
has out "PolyBench" "shows its source"
expect 0 "explain a setting without its group" "$H" explain entries
has out "l1tlb.entries (setting)" "finds it"
has out "bypass.entries (setting)" "in all groups"
expect 0 "explain a kind" "$H" explain facts
has out "what the engine counts for a policy that reads it at its epochs" \
    "says what it is"
expect 0 "explain a table and a fact" "$H" explain warp_limit \
    "$("$H" list facts | sed 's/ .*//;q')"
has out "(steering table of " "of the one"
has out "(fact, for each " "and of the other"
printf 'return { name = "mine", summary = "does it", source = "me",
    params = { n = { default = 3, meaning = "how many" } },
    tlb_fill = function() end }\n' >"$dir/mine.lua"
expect 0 "explain a policy of one's own" "$H" explain "$dir/mine.lua"
has out "mine (policy, Lua)" "has its name"
has out "answers  tlb_fill" "its points"
has out "n = 3: how many" "and its parameters"
echo 'return { tlb_fil = 1, name = "mine" }' >"$dir/not.lua"
expect 70 "one that is none" "$H" explain "$dir/not.lua"
has err "did you mean 'tlb_fill'" "says why"
expect 0 "list kinds" "$H" list kinds
[ "$(wc -l <"$dir/out")" = 13 ] && grep -q "^facts  *[1-9]" "$dir/out"
told $? "has them all, and how many there are" "$dir/out"
expect 0 "list a word" "$H" list bypass
has out "settings  bypass.entries" "finds settings"
has out "counters  mmu.bypass_hits" "and counters"
expect 0 "list a policy's file" "$H" list "$dir/mine.lua"
has out "mine  policy, Lua  does it" "is a line"
expect 64 "explain what is not there" "$H" explain l1tlb.entires
has err "did you mean 'l1tlb.entries'" "suggests a name"
expect 0 "explain a group" "$H" explain l2tlb
has out "l2tlb.entries" "lists its settings"
has out "l2tlb.lookups" "and its counters"
echo 'local H = require "heddle"
H.sim { apps = { H.trace(H.args { trace = "" }.trace) } }' >"$dir/trace.lua"
expect 66 "a trace of one's own" "$H" run "$dir/trace.lua" trace=t/none.hdt
has err " t/none.hdt: cannot open" "lies where one is, not where the script is"
expect 66 "dump what is not there" "$H" trace dump nothing
has err "nothing: there is neither such a file nor such an application" "says so"

expect 66 "a missing script" "$H" run "$dir/none.lua"
has err "none.lua" "is named"
echo 'x = = 1' >"$dir/bad.lua"
expect 65 "a script that cannot be parsed" "$H" run "$dir/bad.lua"
has err "heddle: $dir/bad.lua:1: " "names file and line"
printf 'local x\n\nx.y = 1\n' >"$dir/fail.lua"
expect 65 "a script that fails" "$H" run "$dir/fail.lua"
has err "fail.lua:3: " "names file and line"
echo 'return 3' >"$dir/three.lua"
expect 3 "a script's number is the exit status" "$H" run "$dir/three.lua"
echo 'return 256' >"$dir/much.lua"
expect 65 "a number that is no exit status" "$H" run "$dir/much.lua"
has err "from 0 to 255" "is refused"
echo 'error {}' >"$dir/table.lua"
expect 65 "an error that is a table" "$H" run "$dir/table.lua"
has err "heddle: the error is not a text but a table" "has no address"
cat >"$dir/nopolicy.lua" <<'L'
local H = require "heddle"
H.sim { machine = "maxwell", apps = { H.app("GUP", { size = "T" }) },
    policies = { "srip" } }
L
expect 78 "an unknown policy" "$H" run "$dir/nopolicy.lua"
has err "nopolicy.lua:2: there is no policy 'srip' (did you mean 'srrip'" \
    "names the nearest"
echo 'local H = require "heddle" H.args { n = {} }' >"$dir/default.lua"
expect 64 "a default that is a table" "$H" run "$dir/default.lua"
has err "n: a default is a number" "is refused"
echo 'print("from", "stdin")' >"$dir/in.lua"
expect 0 "a script from standard input" \
    sh -c '"$0" run - <"$1"' "$H" "$dir/in.lua"
has out "from	stdin" "runs"

cat >"$dir/args.lua" <<'L'
local H = require "heddle"
local a = H.args { scale = "quick", cores = 30, deep = false }
print(a.scale, a.cores, a.deep, H.arg.scale)
L
expect 0 "arguments" "$H" run "$dir/args.lua" scale=full cores=4 deep=yes
has out "full	4	true	full" "arrive, as their default's type"
expect 64 "an unknown argument" "$H" run "$dir/args.lua" scael=full
has err "scale=quick" "lists what the script takes"
has err "did you mean 'scale'" "suggests one"
expect 64 "several" "$H" run "$dir/args.lua" scael=full x=1 cores=4
has err "no argument 'scael' (did you mean 'scale'?), 'x'; it takes" \
    "are named together"
cat >"$dir/noargs.lua" <<'L'
local H = require "heddle"
print "begun"
H.sim { machine = "maxwell", apps = { H.app("TRD", { size = "T" }) } }:run()
print "ran"
L
expect 64 "arguments of a script that takes none" "$H" run "$dir/noargs.lua" \
    y=1 x=2
has err "first simulation), got 'x', 'y'" "are named"
[ "$(cat "$dir/out")" = begun ]
told $? "before its first simulation" "$dir/out"
echo 'local H = require "heddle"
H.run({ function() print "ran" end }, { jobs = 1 })' >"$dir/noargs.lua"
expect 64 "and of one with a series" "$H" run "$dir/noargs.lua" y=1
empty out "before its first job"
expect 64 "an argument of the wrong type" "$H" run "$dir/args.lua" cores=many
expect 64 "a word that is no argument" "$H" run "$dir/args.lua" full

cat >"$dir/setting.lua" <<'L'
local H = require "heddle"
H.machine("maxwell") { ["l2tlb.entires"] = 1 }
L
expect 78 "an unknown setting" "$H" run "$dir/setting.lua"
has err "heddle: $dir/setting.lua:2: " "names the script's line"
has err "l2tlb.entries" "suggests the nearest"

cat >"$dir/create.lua" <<'L'
local H = require "heddle"
H.config_write("/nonexistent/x", H.machine("maxwell"))
L
expect 73 "a file that cannot be created" "$H" run "$dir/create.lua"
cat >"$dir/input.lua" <<'L'
local H = require "heddle"
H.config_read("/nonexistent/x")
L
expect 66 "a file that cannot be read" "$H" run "$dir/input.lua"

cat >"$dir/policy.lua" <<'L'
local H = require "heddle"
local arg = H.args { use = "" }
local sim = H.sim { machine = "maxwell", settings = { ["core.count"] = 2 },
    apps = { H.app("TRD", { size = "T" }) }, policies = { arg.use } }
sim:run()
L
# policy STATUS NAME TEXT BODY: a policy with these hooks, and what is said.
policy() {
    echo "return { name = \"p\", summary = \"s\", source = \"t\", $4 }" \
        >"$dir/p.lua"
    expect "$1" "$2" "$H" run "$dir/policy.lua" use="$dir/p.lua"
    has err "heddle: $dir/policy.lua:" "names the script's line"
    has err "$3" "says what is wrong"
}
policy 70 "a policy that answers nonsense" \
    "policy p answered 99 to repl_victim of l1cache at cycle" \
    'repl_victim = function() return 99 end'
policy 70 "a policy that answers a text" "expected an integer" \
    'repl_victim = function() return "x" end'
policy 70 "a policy that fails" "p.lua:1: attempt to index a nil value" \
    'repl_victim = function() local x; return x.y end'
policy 70 "a policy that never ends" "instructions in one call" \
    'repl_victim = function() while true do end end'
policy 70 "a policy with a misspelt point" "did you mean 'repl_victim'?" \
    'repl_victm = function() return 0 end'
policy 70 "a policy that cannot be parsed" "p.lua:1: " 'x = = 1'
for file in none.lua none.so; do
    expect 66 "a policy that is not there" "$H" run "$dir/policy.lua" \
        use="$dir/$file"
    has err "$file" "is named"
done
echo junk >"$dir/junk.so"
expect 70 "a plug-in that is none" "$H" run "$dir/policy.lua" \
    use="$dir/junk.so"
has err "junk.so" "is named"

printf '\033[2J\377\001 rubbish\n' >"$dir/rubbish.traceg"
expect 65 "a trace that is no text" "$H" trace convert "$dir/rubbish.traceg" \
    "$dir/x.hdt"
has err "rubbish.traceg:1: " "names the file and the line"
[ "$(tr -d '\n\t\040-\176' <"$dir/err" | wc -c)" = 0 ]
told $? "no control character of it reaches the terminal"

cat >"$dir/size.lua" <<'L'
local H = require "heddle"
local arg = H.args { size = "T", n = "n" }
local app = H.app("TRD", { size = arg.size, [arg.n] = 1024 })
H.sim { machine = "maxwell", apps = { app } }
L
expect 64 "an application's size that there is not" "$H" run "$dir/size.lua" \
    size=Q
has err "heddle: $dir/size.lua:3: application TRD: no size 'Q'; it has" "is named"
expect 64 "and a parameter" "$H" run "$dir/size.lua" n=m
has err "size.lua:3: application TRD: no parameter 'm'; it has" "is named"

cat >"$dir/experiment.lua" <<'L'
local H = require "heddle"
local experiment = require "heddle.experiment"
experiment.open { name = "a/b", source = "s", title = "t",
    arg = H.args(experiment.args {}) }
print "opened"
L
echo >"$dir/plain"
expect 73 "results that cannot be written" "$H" run "$dir/experiment.lua" \
    out="$dir/plain/out"
has err "$dir/plain" "are told"
empty out "before anything runs"
expect 64 "an unknown scale" "$H" run "$dir/experiment.lua" \
    out="$dir/out" scale=huge
has err "scale=huge: expected quick or full" "is named"

printf 'local H = require "heddle"\n\nH.here()\n' >"$dir/in.lua"
expect 70 "an error in heddle's own scripts" "$H" run "$dir/in.lua"
has err "in.lua:3: in heddle/script.lua:" "says where the script was"
printf 'local H = require "heddle"\n%s\nsim.run()\n' 'local sim = H.sim {
    machine = "maxwell", apps = { H.app("GUP", { size = "T" }) } }' \
    >"$dir/in.lua"
expect 70 "a method without its colon" "$H" run "$dir/in.lua"
has err "in.lua:4: " "says where"
has err "with a colon, as in sim:run()" "and what is missing"
printf 'local a\nfor _ in ipairs(a.b or nil) do end\n' >"$dir/in.lua"
expect 65 "an error without a place" "$H" run "$dir/in.lua"
has err "in.lua:2: " "gets that of the script"
printf 'H.sim {}\n' >"$dir/in.lua"
expect 65 "a script without the module" "$H" run "$dir/in.lua"
has err 'begins with local H = require "heddle"' "is told its first line"
expect 64 "an option that there is not" "$H" --hlep
has err "unknown option '--hlep'" "is one"
printf 'error("mine", 0)\n' >"$dir/in.lua"
expect 65 "a text that error() raised" "$H" run "$dir/in.lua"
has err "heddle: mine" "is left as it is"
cat >"$dir/in.lua" <<'L'
local H = require "heddle"
local arg = H.args { budget = 1 }
print(arg.budgt)
L
expect 0 "--help behind a script" "$H" run "$dir/in.lua" --help
has out "budget=1" "prints its arguments"
expect 64 "an argument that is read and not declared" "$H" run "$dir/in.lua"
has err "in.lua:3: H.args declares no argument 'budgt' (did you mean 'budget'" \
    "is named"

if [ -e /dev/full ]; then
    expect 74 "a full disk" sh -c '"$0" list settings >/dev/full' "$H"
    has err "standard output: No space left on device" "says why"
    echo "print(1) print(2)" >"$dir/full.lua"
    expect 74 "a full disk, line by line" \
        sh -c '"$0" run "$1" >/dev/full' "$H" "$dir/full.lua"
    has err "standard output: No space left on device" "says why, too"
    cat >"$dir/full.lua" <<'L'
local H = require "heddle"
io.stdout:setvbuf "no"
H.report.json({ 1 }, H.args { to = "-" }.to)
L
    expect 74 "a report" sh -c '"$0" run "$1" >/dev/full' "$H" "$dir/full.lua"
    has err "standard output: No space left on device" "stops at once"
    expect 74 "a report to a full disk" "$H" run "$dir/full.lua" to=/dev/full
    has err "/dev/full: cannot write: No space left on device" "names it"
fi
expect 0 "a closed pipe" sh -c '"$0" list settings | head -1' "$H"
empty err "is quiet"

cat >"$dir/loop.lua" <<'L'
io.stderr:write("ready\n")
while true do end
L
expect 130 "Ctrl-C in a script" sh -c '
    "$0" run "$1.lua" 2>"$1" & p=$!
    i=0
    while ! grep -q ready "$1" && [ $i -lt 200 ]; do
        sleep 0.05; i=$((i + 1))
    done
    kill -INT $p; wait $p' "$H" "$dir/loop"

plan
