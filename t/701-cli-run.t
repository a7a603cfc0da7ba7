#!/bin/sh
# 701-cli-run.t - pins: --check reaches every simulation; Ctrl-C during one, or
# during several in processes, prints what is known and exits 130; a run
# without progress ends with the wait-for graph and 70; nothing is printed to a
# standard error that is no terminal; few addresses are enough (ulimit -v).
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh

# Starts the script, waits until it has said "ready" (N times), presses Ctrl-C.
interrupt() { # interrupt [N]
    : >"$dir/err" # what the last one said is gone
    "$HEDDLE" run "$dir/x.lua" >"$dir/out" 2>"$dir/err" &
    p=$!
    i=0
    while [ "$(grep -c ready "$dir/err")" -lt "${1:-1}" ] && [ $i -lt 400 ]; do
        sleep 0.05
        i=$((i + 1))
    done
    sleep 0.3
    kill -INT $p
    wait $p
    got=$?
}

cat >"$dir/x.lua" <<'L'
local H = require "heddle"
local sim = H.sim { machine = "maxwell", apps = { H.app("BP", { size = "T" }) } }
print(sim.machine:get("sim.check"))
print(sim:run())
L
"$HEDDLE" run --check "$dir/x.lua" >"$dir/out" 2>"$dir/err"
told $? "--check: a run" "$dir/err"
grep -q true "$dir/out"
told $? "is a run with checks" "$dir/out"
[ ! -s "$dir/err" ]
told $? "that says nothing on standard error" "$dir/err"

cat >"$dir/x.lua" <<'L'
local H = require "heddle"
local sim = H.sim { machine = "maxwell", apps = { H.app("MM", { size = "M" }) } }
io.stderr:write("ready\n")
sim:run()
L
interrupt
[ $got = 130 ]
told $? "Ctrl-C in a simulation exits 130, not $got" "$dir/err"
grep -q "MM on maxwell" "$dir/out" && grep -q "IPC" "$dir/out"
told $? "and prints what is known" "$dir/out"
grep -q "interrupted" "$dir/err"
told $? "and says why" "$dir/err"

cat >"$dir/x.lua" <<'L'
local H = require "heddle"
local jobs = {}
for seed = 1, 3 do
    local app = H.app("MM", { size = "M", label = "MM" .. seed })
    local make = app.make
    function app.make() -- called where the simulation is
        io.stderr:write("ready\n")
        return make()
    end
    jobs[seed] = { machine = "maxwell", seed = seed, apps = { app } }
end
H.run(jobs, { jobs = 2 })
L
interrupt 2
[ $got = 130 ]
told $? "Ctrl-C in many simulations exits 130, not $got" "$dir/err"
grep -q "MM1 on maxwell" "$dir/out" && grep -q "MM2 on maxwell" "$dir/out"
told $? "and prints those that ran" "$dir/out"
! grep -q "MM3 on maxwell" "$dir/out"
told $? "and not those that never started" "$dir/out"

cat >"$dir/x.lua" <<L
local H = require "heddle"
local store = require "heddle.store"
local function job(seed)
    return { machine = "maxwell", seed = seed, label = "one",
        apps = { H.app("TRD", { size = "T" }) } }
end
local own = job(3)
own.policies = { { name = "own", warp_limit = function() end } }
store.run({ job(1) }, { dir = "$dir/kept", quiet = true })
store.run({ job(1), job(2), own, function()
    io.stderr:write("ready\\n")
    while true do end
end }, { dir = "$dir/kept", jobs = 1 })
L
interrupt
[ $got = 130 ]
told $? "Ctrl-C in a series on disk exits 130, not $got" "$dir/err"
grep -q "2 of 4 results are kept in $dir/kept; the next run continues" "$dir/err"
told $? "and says what is kept" "$dir/err"
grep -q "heddle: not kept in $dir/kept, but run each time: job 3 (one), whose \
policies have functions; job 4, a function$" "$dir/err"
told $? "after what is not, and why" "$dir/err"

cat >"$dir/x.lua" <<'L'
local H = require "heddle"
io.stderr:write("ready\n")
print(pcall(H.run, { function() while true do end end,
    function() while true do pcall(function() while true do end end) end end },
    { jobs = 2 }))
L
interrupt
[ $got = 130 ]
told $? "a script that catches Ctrl-C exits 130 all the same, not $got" \
    "$dir/err"
grep -q "^false.*interrupted" "$dir/out"
told $? "after what it had to do; a job that does not listen is ended" \
    "$dir/out"

cat >"$dir/x.lua" <<'L'
local H = require "heddle"
H.sim { machine = "maxwell", apps = { H.app("BP", { size = "T" }) },
    settings = { ["walk.mode"] = "fixed:1000000",
        ["sim.stuck_cycles"] = 2000 } }:run()
L
"$HEDDLE" run "$dir/x.lua" >"$dir/out" 2>"$dir/err"
got=$?
[ $got = 70 ]
told $? "no progress exits 70, not $got" "$dir/err"
[ "$(wc -l <"$dir/err")" -gt 1 ]
told $? "with the wait-for graph" "$dir/err"
grep -q "no instruction has issued since cycle [0-9]\{1,3\}$" "$dir/err"
told $? "and the cycle of the last instruction" "$dir/err"

cat >"$dir/x.lua" <<'L'
local H = require "heddle"
H.sim { machine = "maxwell", apps = { H.trace("/nonexistent/kernelslist.g") } }
L
"$HEDDLE" run "$dir/x.lua" >"$dir/out" 2>"$dir/err"
got=$?
[ $got = 66 ]
told $? "a trace that is not there exits 66, not $got" "$dir/err"
grep -q "heddle: $dir/x.lua:2: .*/nonexistent/kernelslist.g" "$dir/err"
told $? "and is named, with the line of the script" "$dir/err"

# A sanitizer's own addresses are more than that: it ends, or aborts, which a
# shell of its own says.
if sh -c 'ulimit -v 1000000; "$0" --version; exit $?' "$HEDDLE" \
    >"$dir/out" 2>&1; then
    cat >"$dir/x.lua" <<'L'
local H = require "heddle"
H.sim { machine = "maxwell", apps = { H.app("BP", { size = "T" }) } }:run()
L
    (ulimit -v 1000000 && "$HEDDLE" run "$dir/x.lua") >"$dir/out" 2>&1
    told $? "a run needs no more than 1 GB of addresses" "$dir/out"
fi

plan
