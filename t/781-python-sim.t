#!/bin/sh
# 781-python-sim.t - pins: scenarios and simulations of the Python package.  All that
# it declares of C is what the headers have, by a compiler: functions, sizes, offsets
# and signs of structures, codes.  A scenario's arguments, output, messages on the way,
# results and errors; Ctrl-C reaches it.  A simulation by the library counts what the
# command does; wrong input is said in C's words; a library that is missing, or of
# another version, is said with where it was.
#
# SPDX-License-Identifier: MIT
. t/lib/python.sh
wants_python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
{
    "$python" t/python/abi.py source >"$folder/abi.c" &&
        ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -Wno-type-limits -Isrc/engine \
            -Isrc/work -o "$folder/abi" "$folder/abi.c" &&
        "$folder/abi" >"$folder/c" && "$python" t/python/abi.py layout >"$folder/python"
} >"$folder/log" 2>&1
cat "$folder/log" >&2
if [ -s "$folder/c" ] && diff "$folder/c" "$folder/python" >&2; then
    abi=ok
else
    abi="not ok"
fi
"$python" t/python/sim.py "$folder" >"$folder/tap"
sed "s/^1\.\.\(.*\)/1..\1/" "$folder/tap" | awk -v abi="$abi" '
    /^1\.\./ { n = substr($0, 4) + 1; print abi " " n " - what Python has of C is C'"'"'s"
        print "1.." n; next } { print }'
[ "$abi" = ok ]
