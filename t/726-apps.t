#!/bin/sh
# 726-apps.t - pins heddle apps as a command: tables, JSON, pictures, what was
# cut, and what is said about words that it does not know.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh

expect 0 "one application" "$H" apps atax size=T
has out "1 application, size T, on maxwell" "is named with size and machine"
has out "atax2" "by kernel"
has out "irregular" "and class"
has out "pages of a memory instruction: 1: 83" "with a histogram"
expect 0 "two" "$H" apps BLK CONS size=T kernels=0 jobs=2
hasnot out "by kernel" "have no kernels unless asked"
has out "CONS is cut: 1 of 10 repeats" "what a size leaves out is said"
expect 0 "without a timed run" "$H" apps BLK size=T timed=0
hasnot out "L1 TLB miss" "there is no table of TLBs"
expect 0 "without a survey" "$H" apps BLK size=T survey=0
hasnot out "allocated" "there is no table of footprints"
expect 0 "limits" "$H" apps MM size=T budget=500 limit=600
has out "timed run was cut by its budget of 500" "of the timed run are told"
has out "survey was cut by its limit of 600" "and of the survey"
expect 0 "a budget of 0" "$H" apps MM size=T budget=0
hasnot out "cut by" "cuts nothing"
expect 0 "a limit of time" "$H" apps ATAX size=T cycles=2000 sample=500
has out "timed run was cut by its limit of 2000 core cycles" "is told"
expect 0 "from the busiest launch on" "$H" apps BFS2 size=T from=busiest
has out "timed run began at launch" "is told"
expect 0 "another machine" "$H" apps MM size=T machine=pichai l1tlb.entries=8
has out "on pichai" "is named"

expect 0 "few of a thing" "$H" apps GUP size=T timed=0
has out "135.2 kB" "kilobytes are no tenths of megabytes"
has out "update load    start       8  64.00" "and eight no share of a thousand"

expect 0 "JSON" "$H" apps BLK MM size=T format=json json="$dir/j" \
    pictures="$dir/p"
has out '"heddle-apps"' "names its schema"
hasnot out "pictures" "and is alone"
same out j "json=FILE is the same"
[ -s "$dir/p/BLK.svg" ] && [ -s "$dir/p/MM.svg" ]
told $? "pictures"
expect 0 "pictures are told" "$H" apps BLK size=T pictures="$dir/p/"
has out "1 picture" "by their number"

expect 0 "a trace" "$H" apps scenarios/data/vecadd.hdt kernels=0
has out "1 application, on maxwell" "has no size"
has out "vecadd" "and its own name"
cat >"$dir/own.lua" <<'L'
local kernel = require "heddle.kernel"
return kernel.app { name = "own", params = { n = 64 },
    buffers = function(p) return { kernel.f32("a", p.n) } end,
    kernels = function(p, b)
        return { kernel.kernel("k", { grid = 1, block = p.n }, function(t)
            t:load(b.a, t.gid)
        end) }
    end }
L
expect 0 "an application of one's own" "$H" apps "$dir/own.lua" n=32
has out "own, by kernel" "is shown by kernel"
has out "0.1 kB" "with its parameter"
expect 0 "it, a trace and one of the library" "$H" apps "$dir/own.lua" \
    scenarios/data/gather.hdt GUP timed=0 limit=1000
has out "3 applications, on maxwell" "are three"
expect 64 "a parameter that it has not" "$H" apps "$dir/own.lua" m=32
has err "no parameter 'm'" "is named"
expect 64 "a size that it has not" "$H" apps "$dir/own.lua" size=S
has err "no size 'S'" "is named"
echo 'return 1' >"$dir/none.lua"
expect 65 "a file that returns none" "$H" apps "$dir/none.lua"
has err "none.lua: it returns no application" "is named"
expect 66 "a trace that is not there" "$H" apps ./nothing.hdt
has err "nothing.hdt" "is named"
expect 64 "an unknown application" "$H" apps ATAKS size=T
has err "ATAX" "the nearest is named"
expect 64 "an unknown size" "$H" apps ATAX size=XXL
has err "T, S, M, L" "those it has are named"
expect 64 "an unknown option" "$H" apps ATAX bugdet=3
has err "did you mean 'budget'" "the nearest is named"
expect 64 "not a number" "$H" apps ATAX jobs=many
has err "jobs: a whole number" "is said"
expect 64 "no jobs" "$H" apps ATAX jobs=0
expect 64 "not a switch" "$H" apps ATAX timed=maybe
expect 64 "an unknown format" "$H" apps ATAX format=xml
expect 64 "an unknown beginning" "$H" apps ATAX from=here
expect 64 "an unknown flag" "$H" apps --all
expect 78 "an unknown setting" "$H" apps BLK size=T l1tlb.entires=8
has err "l1tlb.entries" "the nearest is named"
expect 78 "an unknown machine" "$H" apps BLK size=T machine=maxwel
expect 73 "a file that cannot be created" "$H" apps BLK size=T \
    json=/nonexistent/x
plan
