#!/bin/sh
# 459-trace-cmd.t - pins: heddle trace convert, record, dump, info and check:
# what they print, exit status 65 and 66, messages with file and line, what is
# wrong with a trace, other headers, and that a trace and its conversion print the
# same.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh

mkdir "$dir/app"
cat >"$dir/app/kernelslist.g" <<'TRACE'
MemcpyHtoD,0x0000000000001000,4096
kernel-1.traceg
TRACE
cat >"$dir/app/kernel-1.traceg" <<'TRACE'
-kernel name = scale
-kernel id = 1
-grid dim = (2,1,1)
-block dim = (32,1,1)
-shmem = 0
-nregs = 16
-binary version = 70
-shmem base_addr = 0x00007f0000000000
-local mem base_addr = 0x00007f1000000000
-accelsim tracer version = 4

#traces format = [line_num] PC mask dest_num

#BEGIN_TB
thread block = 0,0,0
warp = 0
insts = 3
0000 0000000f 1 R2 LDG.E.SYS 1 R4 4 1 0x1000 4 0
0010 0000000f 0 STL 2 R1 R2 4 1 0x7f1000fffd00 0 0
0020 ffffffff 0 EXIT 0 0 0
#END_TB
#BEGIN_TB
thread block = 1,0,0
warp = 0
insts = 2
0000 80000001 1 R2 LDG.E.64 1 R4 8 0 0x2000 0x1abc8 0
0020 ffffffff 0 EXIT 0 0 0
#END_TB
TRACE

expect 0 "dump of a text trace" "$H" trace dump "$dir/app"
cat >"$dir/want" <<'DUMP'
1 0 0 0x0000 0000000f LDG.E.SYS global 4 0x1000 0x1004 0x1008 0x100c
1 0 0 0x0010 0000000f STL local 4 0x7f1000fffd00 0x7f1000fffd00 0x7f1000fffd00 0x7f1000fffd00
1 1 0 0x0000 80000001 LDG.E.64 global 8 0x2000 0x1abc8
DUMP
same out want "prints one instruction a line"
for what in app app/kernelslist.g; do
    expect 0 "characterise $what" "$H" apps "$dir/$what" machine=pichai
    has out "scale load" "by its kernel"
    has out "L1 TLB miss" "and in time"
done
expect 0 "convert" "$H" trace convert "$dir/app" "$dir/app.hdt"
expect 0 "dump of the container" "$H" trace dump "$dir/app.hdt"
same out want "prints the same"
expect 0 "one block" "$H" trace dump "$dir/app.hdt" kernel=1 block=1
sed -n 3p "$dir/want" >"$dir/third"
same out third "is one block"
cat >"$dir/want" <<'DUMP'
1 0 0 0x0000 0000000f LDG.E.SYS global 4
    0x1000+4*4
1 0 0 0x0010 0000000f STL local 4
    0x7f1000fffd00+0*4
1 1 0 0x0000 80000001 LDG.E.64 global 8
    0x2000 0x1abc8
DUMP
expect 0 "lines of 40 columns" "$H" trace dump "$dir/app" columns=40
same out want "have strides, and break"
cat >"$dir/strides.lua" <<'L'
-- Lines on standard input as columns=0 prints them; the widest, and how many.
local function expand(word)
    local first, stride, n = word:match "^(0x%x+)([-+]%d+)%*(%d+)$"
    local out = { first and "" or word }
    for k = 1, first and tonumber(n) or 0 do
        out[k] = ("0x%x"):format(tonumber(first) + (k - 1) * tonumber(stride))
    end
    return table.concat(out, " ")
end
local lines, widest = {}, 0
for line in io.lines(arg[1]) do
    widest = math.max(widest, #line)
    local more = line:match "^    (.*)"
    line = (more or line):gsub("%S+", expand)
    lines[#lines + (more and 0 or 1)] = more and lines[#lines] .. " " .. line
        or line
end
for i, line in ipairs(lines) do
    print(line)
end
io.stderr:write(widest)
L
for name in 3DS GUP; do
    for columns in 40 80 132; do
        "$H" trace dump $name size=T block=1 columns=$columns >"$dir/narrow"
        "$H" trace dump $name size=T block=1 >"$dir/full"
        lua5.4 "$dir/strides.lua" "$dir/narrow" >"$dir/out" 2>"$dir/widest"
        same out full "$name in $columns columns is what it is without"
        [ "$(cat "$dir/widest")" -le "$columns" ]
        told $? "and fits" "$dir/widest"
    done
done
if command -v script >/dev/null 2>&1; then
    script -qec "stty cols 60; '$H' trace dump '$dir/app'" /dev/null \
        </dev/null >"$dir/terminal" 2>&1
    tr -d '\r' <"$dir/terminal" >"$dir/out"
    has out "LDG.E.SYS global 4 0x1000+4*4" "on a terminal there are strides"
    ! grep -q '.\{61\}' "$dir/out"
    told $? "and lines as wide as it is" "$dir/out"
fi
"$H" trace dump "$dir/app" >"$dir/want"
expect 64 "a kernel that is not there" "$H" trace dump "$dir/app.hdt" kernel=7
has err "there is no kernel 7; expected 1 to 1" "is named"
expect 64 "a block that is not there" "$H" trace dump "$dir/app" block=2
has err "no kernel has a block 2" "is named"
expect 64 "nor in a program" "$H" trace dump ATAX size=T kernel=2 block=99
has err "kernel 2 does not have a block 99" "is named"
expect 64 "nor a third kernel" "$H" trace dump ATAX size=T kernel=3
has err "there is no kernel 3; expected 1 to 2" "is named"
for bad in kernel=0 kernel=-1 block=-1 kernel=1.5; do
    expect 64 "$bad" "$H" trace dump "$dir/app" $bad
    has err "a whole number from" "says what is expected"
done
expect 64 "a kernel beyond 32 bits" "$H" trace dump "$dir/app" kernel=4294967296
expect 0 "one kernel of a program" "$H" trace dump ATAX size=T kernel=1 block=0
has out "1 0 0 0x" "prints it"
hasnot out "2 0 0 0x" "alone"
expect 0 "help behind a verb" "$H" trace dump --help
has out "usage: heddle trace" "is the usage"
expect 0 "info" "$H" trace info "$dir/app.hdt"
has out "5 warp instructions" "counts instructions"
has out "3 memory instructions" "counts memory instructions"
has out "kernel 1: scale" "names the kernel"
expect 0 "check" "$H" trace check "$dir/app"
has out "nothing to remark" "finds nothing"
has out "0x000000001000 0x000000002000        4.0 KB  copy" "maps what is touched"
expect 0 "record a trace" "$H" trace record "$dir/app" "$dir/again.hdt"
same app.hdt again.hdt "is a copy"
expect 64 "with other warps" "$H" trace record "$dir/app" "$dir/w.hdt" lanes=64
has err "a trace keeps the warps that it has" "is no copy"

expect 64 "a parameter that does not fit" "$H" trace dump LUD size=T n=65
has err "LUD: n is a multiple of 16" "is said"
expect 64 "a parameter that is no number" "$H" trace dump LUD size=T n=abc
has err "parameter n: a number is expected, not 'abc'" "is named"
expect 0 "record an application" "$H" trace record 3DS "$dir/3ds.hdt" size=T
expect 0 "dump of an application" "$H" trace dump 3DS size=T
sort "$dir/out" >"$dir/program"
expect 0 "dump of its recording" "$H" trace dump "$dir/3ds.hdt"
sort "$dir/out" >"$dir/recorded"
same recorded program "prints the same, warp by warp"

expect 66 "a file that is not there" "$H" trace info "$dir/none.g"
has err "none.g: cannot open" "is named"
expect 66 "a directory without a list" "$H" trace info "$dir"
sed 's/0x2000 0x1abc8/0x2000/' "$dir/app/kernel-1.traceg" >"$dir/bad.traceg"
expect 65 "a bad line" "$H" trace dump "$dir/bad.traceg"
has err "bad.traceg:26: expected an address" "file and line are named"
head -c 100 "$dir/app.hdt" >"$dir/cut.hdt"
expect 65 "a container cut off" "$H" trace dump "$dir/cut.hdt"
has err "cut.hdt: cut off" "is called so"
sed 's/0x2000 0x1abc8/0x2000 0x0/' "$dir/app/kernel-1.traceg" >"$dir/odd.traceg"
expect 65 "check of a zero address" "$H" trace check "$dir/odd.traceg"
has out "odd.traceg:26" "says where"
expect 65 "strict" "$H" trace dump "$dir/odd.traceg" strict=true
has err "odd.traceg:26: memory instructions with address 0" "is an error"
expect 0 "convert what is wrong" "$H" trace convert "$dir/odd.traceg" "$dir/odd.hdt"
has err "odd: 1 memory instructions with address 0 in an active lane; first:" \
    "says so"
expect 65 "check of its container" "$H" trace check "$dir/odd.hdt"
has out "odd.traceg:26" "says where in the text"
expect 0 "record with another header" "$H" trace record "$dir/app" \
    "$dir/repaired.hdt" registers=64 shared_bytes=512 binary_version=90
expect 0 "info of it" "$H" trace info "$dir/repaired.hdt"
has out "64 registers, 512 B shared, sm_90" "is the header"
expect 64 "with one that cannot be" "$H" trace dump "$dir/app" registers=256
has err "option registers: expected a whole number from 1 to 255" "is refused"
expect 73 "a place that cannot be" "$H" trace convert "$dir/app" "$dir/no/a.hdt"
expect 64 "no verb" "$H" trace
expect 64 "an unknown option" "$H" trace dump "$dir/app" blok=1
expect 64 "a number that is none" "$H" trace dump "$dir/app" block=x
expect 64 "an address space that is not there" "$H" trace dump "$dir/app" context=4
has err "there is no 4" "is said"
plan
