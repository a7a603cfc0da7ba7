#!/bin/sh
# 728-compare.t - pins heddle compare: settings that differ come first, then what
# was run and what came of it, counters by their relative change; equal results
# say so; what is no result is refused.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh

cat >"$dir/x.lua" <<L
local H = require "heddle"
local arg = H.args { entries = 512, to = "" }
local sim = H.sim { machine = H.machine("maxwell") {
        ["l1tlb.entries"] = arg.entries, ["core.count"] = 2 },
    apps = { H.app("BFS2", { size = "T" }) } }
sim:run()
H.report.json(sim:results(), arg.to)
L
for k in 2 512; do
    expect 0 "a run" "$H" run "$dir/x.lua" to="$dir/$k" entries=$k
done
expect 0 "a result and itself" "$H" compare "$dir/2" "$dir/2"
same_text=$(cat "$dir/out")
[ "$same_text" = "they are equal" ]
told $? "are equal" "$dir/out"
expect 1 "two results" "$H" compare "$dir/2" "$dir/512"
head -2 "$dir/out" | tail -1 | grep -q "^l1tlb.entries  *2  *512$"
told $? "begin with the setting that differs" "$dir/out"
[ "$(grep -n "^settings" "$dir/out" | cut -d: -f1)" = 1 ] &&
    [ "$(grep -c "^what was run" "$dir/out")" = 0 ]
told $? "and no others" "$dir/out"
has out "0 BFS2: cycles" "then the application"
sed '1,/^counters/d' "$dir/out" | sed '/^$/,$d' >"$dir/rows"
[ "$(grep -c . "$dir/rows")" = 26 ]
told $? "then 25 counters, and how many more" "$dir/rows"
has rows "more: rows=0 shows all" "as it says"
awk '{ a = $2; b = $3; if (NF < 4 || $1 ~ /^[0-9]/) next
    d = a > b ? a - b : b - a; m = a > b ? a : b
    if (n++ && d / m > last + 1e-9) exit 1; last = d / m }' "$dir/rows"
told $? "the greatest relative change first" "$dir/rows"
expect 1 "all counters" "$H" compare "$dir/2" "$dir/512" rows=0
hasnot out "more:" "are all"
has out "l1tlb.misses" "with those that changed"
hasnot out "core.mem_instructions " "without those that did not"
expect 1 "as JSON" "$H" compare "$dir/2" "$dir/512" format=json
has out '"name": "l1tlb.entries"' "too"

expect 66 "a file that is not there" "$H" compare "$dir/2" "$dir/none"
has err "none" "is named"
echo '{"a": 1}' >"$dir/other"
expect 65 "another JSON" "$H" compare "$dir/other" "$dir/2"
has err "other: not a result that H.report.json wrote" "is named"
echo 'rubbish' >"$dir/other"
expect 65 "no JSON" "$H" compare "$dir/other" "$dir/2"
has err "other: json: line 1" "is named with its line"
expect 64 "one file" "$H" compare "$dir/2"
expect 64 "an unknown option" "$H" compare "$dir/2" "$dir/512" row=3
has err "it takes rows, format" "is told"
expect 64 "no number" "$H" compare "$dir/2" "$dir/512" rows=x
plan
