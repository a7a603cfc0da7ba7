#!/bin/sh
# 463-trace-gaps.t - pins: what a user meets who opens what a tracer wrote: raw
# traces without their list, a list without its kernels, other forms of
# compression, tables and outputs that are no list, cut and empty files, events of
# streams, headers that cannot be and their repair, sizes that cannot be; each is
# said in words, in little memory.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh

# kernel FILE [REGISTERS [GRID [BLOCK]]]: a kernel of one block.
kernel() {
    cat >"$dir/$1" <<TRACE
-kernel name = scale
-kernel id = 1
-grid dim = ${3:-(1,1,1)}
-block dim = ${4:-(32,1,1)}
-nregs = ${2:-16}
-binary version = 70
-accelsim tracer version = 4
#traces format = x
#BEGIN_TB
thread block = 0,0,0
warp = 0
insts = 3
0000 ffffffff 1 R20 LDG.E.64 1 R4 8 1 0x7f2000000000 8 0
0010 ffffffff 0 STG.E 2 R4 R9 4 1 0x7f2000001000 4 0
0020 ffffffff 0 EXIT 0 0 0
#END_TB
TRACE
}

# ---- directories and lists --------------------------------------------------

mkdir "$dir/a"
: >"$dir/a/kernelslist"
: >"$dir/a/kernel-1.trace"
expect 66 "a directory of raw traces" "$H" trace info "$dir/a"
has err "only the tracer's own kernelslist, of raw traces" "is named so"
has err "(post-traces-processing $dir/a, older ones $dir/a/kernelslist)" \
    "with what to run"
mv "$dir/a/kernelslist" "$dir/a/kernelslist_ctx_0x55aa"
expect 66 "one of a context" "$H" trace check "$dir/a"
has err "kernelslist_ctx_0x55aa" "is named"
rm "$dir/a/kernelslist_ctx_0x55aa"
kernel a/kernel-1.traceg
kernel a/kernel-2.traceg
expect 66 "kernels without a list" "$H" trace info "$dir/a"
has err "no kernelslist.g in this directory for its 2 kernels; write their names" \
    "says what is missing"
mkdir "$dir/b" "$dir/b/traces"
expect 66 "the folder above" "$H" trace info "$dir/b"
has err "its folder traces may have one" "points down"
echo kernel-1.trace >"$dir/a/kernelslist"
expect 65 "the raw list itself" "$H" trace info "$dir/a/kernelslist"
has err "kernelslist:1: a raw trace; post-processing has grouped it" \
    "when the other is there"
echo kernel-7.traceg >"$dir/a/kernelslist.g"
: >"$dir/a/kernel-7.trace.xz"
expect 65 "a kernel that was not post-processed" "$H" trace info "$dir/a"
has err "kernelslist.g:1: not there, only its raw trace" "is named"
printf 'kernel id, kernel mangled name, grid_dimX\n1, k, 4\n' >"$dir/a/stats.csv"
expect 65 "the table of kernels" "$H" trace info "$dir/a/stats.csv"
has err "the tracer's table of kernels, not a list" "is named"
echo "MEMTRACE: CTX 0x0000 - LAUNCH - Kernel pc 0x1" >"$dir/a/log"
expect 65 "the output of another tool" "$H" trace info "$dir/a/log"
has err "NVBit's mem_trace, which has no instructions" "is named"
for form in "BZh91AY:bzip2 -d" "PK\003\004:unzip"; do
    printf "${form%%:*}xxxx" >"$dir/a/kernel-3.traceg"
    expect 65 "compressed (${form#*:})" "$H" trace info "$dir/a/kernel-3.traceg"
    has err "(${form#*:})" "with what undoes it"
done
printf '\037\213xxxxxxx' >"$dir/a/app.tgz"
expect 65 "an archive" "$H" trace info "$dir/a/app.tgz"
has err "unpack it (tar -xf)" "is to be unpacked"

# ---- files ------------------------------------------------------------------

: >"$dir/a/kernel-4.traceg"
expect 65 "an empty file" "$H" trace info "$dir/a/kernel-4.traceg"
has err "kernel-4.traceg: the file is empty" "is called so"
kernel cut.traceg 16 "(3,1,1)"
sed -n '/BEGIN_TB/,/insts/{s/= 0,0,0/= 1,0,0/;p}' "$dir/cut.traceg" >"$dir/tail"
cat "$dir/tail" >>"$dir/cut.traceg"
expect 65 "a file that is cut off" "$H" trace info "$dir/cut.traceg"
has err "inside a thread block; the 1 before it can be chosen: blocks=1" \
    "says what can be used"
expect 0 "which can" "$H" trace info "$dir/cut.traceg" blocks=1
printf 'kernel-1.traceg\ncudaEventRecord,1,2\ncudaStreamWaitEvent,1,2\n' \
    >"$dir/a/kernelslist.g"
expect 0 "a list with events" "$H" trace check "$dir/a"
has out "note:  2 events and waits in the kernel list, which are not kept" \
    "is noted"
hasnot out "unknown lines" "as nothing else"
cat >"$dir/s.lua" <<'LUA'
local H = require "heddle"
local a = H.args { path = "", streams = false }
H.sim { machine = "maxwell", apps = { H.trace(a.path, { streams = a.streams }) } }
    :run()
LUA
expect 0 "which runs" "$H" run "$dir/s.lua" path="$dir/a"
expect 65 "but not with streams" "$H" run "$dir/s.lua" path="$dir/a" streams=true
has err "kernelslist.g:2: with \`streams' a list without events" "says why"
expect 0 "convert it" "$H" trace convert "$dir/a" "$dir/a.hdt"
expect 65 "nor from a container" "$H" run "$dir/s.lua" path="$dir/a.hdt" streams=true

# ---- headers ----------------------------------------------------------------

kernel odd.traceg 21955
expect 65 "registers that cannot be" "$H" trace check "$dir/odd.traceg"
has out "repair=true (convert)" "with what to do"
expect 0 "repair" "$H" trace convert "$dir/odd.traceg" "$dir/odd.hdt" repair=true
has err "as many registers as their instructions name" "says so"
expect 0 "what is repaired" "$H" trace check "$dir/odd.hdt"
expect 0 "has" "$H" trace info "$dir/odd.hdt"
has out " 24 registers" "R0 to R21, in units of 8"
expect 0 "a sound header" "$H" trace convert "$dir/a" "$dir/b.hdt" repair=true
same a.hdt b.hdt "is left alone"

# ---- sizes that cannot be ---------------------------------------------------

# limited COMMAND...: with little time, and with little memory where a sanitizer
# does not take all addresses for itself.
memory=3000000
sh -c 'ulimit -v "$1"; "$0" --version; exit $?' "$H" $memory >/dev/null 2>&1 ||
    memory=unlimited
limited() {
    (ulimit -v $memory && ulimit -t 20 && "$@")
}
kernel big.traceg 16 "(2147483647,65535,65535)"
expect 0 "the largest grid" limited "$H" trace check "$dir/big.traceg"
expect 0 "runs the block that is there" limited "$H" run "$dir/s.lua" \
    path="$dir/big.traceg"
for grid in "(2147483648,1,1)" "(1,65536,1)" "(4294967295,4294967295,4294967295)"; do
    kernel big.traceg 16 "$grid"
    expect 65 "a grid of $grid" limited "$H" trace info "$dir/big.traceg"
    has err "is impossible" "is impossible"
done
for block in "(1000000000,1,1)" "(2048,2048,2048)" "(32,1,0)"; do
    kernel big.traceg 16 "(1,1,1)" "$block"
    expect 65 "a block of $block" limited "$H" trace info "$dir/big.traceg"
    has err "is impossible" "is impossible"
done
kernel big.traceg
sed 's/insts = 3/insts = 1000000000000/' "$dir/big.traceg" >"$dir/big2.traceg"
expect 65 "10^12 instructions" limited "$H" trace info "$dir/big2.traceg"
has err "has 3 instructions, not 1000000000000" "are counted"
printf 'cudaMalloc,0x1000,17592186044417\nkernel-1.traceg\n' >"$dir/a/big.g"
expect 65 "17 TB" limited "$H" trace info "$dir/a/big.g"
has err "more than 16 TB" "are too many"
plan
