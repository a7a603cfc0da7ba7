#!/bin/sh
# 703-results.t - pins: heddle run --results writes the results of a script to one
# file, each once, in the order in which the script got them: of sim:results(), of
# H.run and of the store, in processes or not, and of simulations whose results it
# never asked for, closed or left; equal to what H.report.json writes of them; the
# file is there when the script ends well and not before, and nothing else is.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh
root=$PWD

# labels FILE: of the results in it, in order.
cat >"$dir/labels.lua" <<'L'
local H = require "heddle"
local arg = H.args { file = "" }
local out = {}
for i, r in ipairs(H.report.read(arg.file)) do
    out[i] = ("%s:%s:%s"):format(r.label, r.status, r.cycles > 0)
end
print(table.concat(out, " "))
L
labels() {
    "$H" run "$dir/labels.lua" file="$dir/$1"
}

cat >"$dir/x.lua" <<L
local H = require "heddle"
local store = require "heddle.store"
local arg = H.args { jobs = 1, fail = false, json = "" }
local function one(label, more)
    local o = { machine = "maxwell", label = label,
        apps = { H.app("RED", { size = "T" }) } }
    for k, v in pairs(more or {}) do o[k] = v end
    return o
end
local asked = H.sim(one "asked")
asked:run()
asked:results()
asked:results()
H.sim(one "dropped"):run()
local left = H.sim(one "left")
left:run(500)
do
    local closed <close> = H.sim(one "closed")
    closed:run(500)
end
local never = H.sim(one "never")
H.run({ one "first", one("second", { seed = 2 }), function()
    local sim = H.sim(one "function")
    sim:run()
    return sim:results()
end, one "first" }, { jobs = arg.jobs })
store.run({ one("kept", { seed = 3 }), one("other", { seed = 4 }) },
    { dir = "$dir/store", jobs = arg.jobs })
if arg.fail then error "it fails" end
local last = H.sim(one "last")
last:run(400)
local r = last:results()
last:run(400)
local again = last:results()
if arg.json ~= "" then H.report.json({ r, again }, arg.json) end
L
list="asked:done:true dropped:done:true closed:ok:true first:done:true \
second:done:true function:done:true kept:done:true other:done:true \
last:ok:true last:ok:true left:ok:true"
for jobs in 1 2; do
    expect 0 "a script, jobs=$jobs" "$H" run --results "$dir/all$jobs" \
        "$dir/x.lua" jobs=$jobs json="$dir/two.json"
    expect 0 "its results" labels "all$jobs"
    [ "$(cat "$dir/out")" = "$list" ]
    told $? "each once, in order" "$dir/out"
done
same all1 all2 "equal, in processes or not"
[ ! -e "$dir/all1.part" ]
told $? "in one file"
cat >"$dir/last.lua" <<L
local H, last = require "heddle", {}
for _, r in ipairs(H.report.read "$dir/all1") do
    last[#last + 1] = r.label == "last" and r or nil
end
H.report.json(last, "$dir/last.json")
L
expect 0 "the last two of them" "$H" run "$dir/last.lua"
sed 's/{}/[]/' "$dir/two.json" >"$dir/want.json" # what is read has no empty lists
sed 's/{}/[]/' "$dir/last.json" >"$dir/got.json"
same got.json want.json "as H.report.json writes them"

expect 65 "one that fails" "$H" run --results="$dir/none" "$dir/x.lua" fail=1
[ ! -e "$dir/none" ] && [ ! -e "$dir/none.part" ]
told $? "leaves no file"
cp "$dir/all1" "$dir/before"
expect 65 "and of one that was there" "$H" run --results "$dir/before" \
    "$dir/x.lua" fail=1
same before all1 "nothing is lost"
expect 73 "a file that cannot be made" "$H" run --results "$dir/no/where" \
    "$dir/x.lua"
has err "--results: $dir/no/where: " "is named"
empty out "before anything runs"
expect 64 "no path" "$H" run --results= "$dir/x.lua"
has err "--results: a path is expected" "is refused"
echo 'local H = require "heddle"' >"$dir/none.lua"
expect 0 "a script without a simulation" "$H" run --results "$dir/empty" \
    "$dir/none.lua"
[ "$(cat "$dir/empty")" = "[]" ]
told $? "has an empty list" "$dir/empty"
cd "$root" || exit 1
plan
