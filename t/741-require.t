#!/bin/sh
# 741-require.t - pins: `require "heddle"` works in plain lua5.4 from the
# built module, gives the results of the command, takes arguments, and loads
# plug-ins.
#
# SPDX-License-Identifier: MIT
case $HEDDLE_BUILD in
*release* | *debug*) ;;
*)
    echo "1..0 # SKIP a sanitizer's module needs its runtime preloaded"
    exit 0
    ;;
esac
if ! command -v lua5.4 >/dev/null; then
    echo "1..0 # SKIP no lua5.4"
    exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/x.lua" <<'L'
local H = require "heddle"
local a = H.args { cores = 2 }
local sim = H.sim {
    machine = H.machine("maxwell") { ["core.count"] = a.cores },
    apps = { H.app("BP", { size = "T" }) },
}
sim:run()
H.report.json(sim:results())
L
LUA_CPATH="$PWD/$HEDDLE_BUILD/?.so" lua5.4 "$dir/x.lua" cores=3 >"$dir/lua" 2>&1
status=$?
"$HEDDLE" run "$dir/x.lua" cores=3 >"$dir/command" 2>&1
echo "1..5"
if [ $status = 0 ]; then echo "ok 1 - lua5.4 runs it"; else
    echo "not ok 1 - lua5.4 runs it"
    sed 's/^/# /' "$dir/lua"
fi
if cmp -s "$dir/lua" "$dir/command"; then
    echo "ok 2 - with the bytes of the command"
else
    echo "not ok 2 - with the bytes of the command"
    diff "$dir/lua" "$dir/command" | head -5 | sed 's/^/# /'
fi
if grep -q '"core.count": "3"' "$dir/lua"; then
    echo "ok 3 - and the arguments"
else
    echo "not ok 3 - and the arguments"
fi
LUA_CPATH="$PWD/$HEDDLE_BUILD/?.so" lua5.4 "$dir/x.lua" core=3 >"$dir/lua" 2>&1
if grep -q "no argument 'core' (did you mean 'cores'?)" "$dir/lua"; then
    echo "ok 4 - and a wrong one is named"
else
    echo "not ok 4 - and a wrong one is named"
    sed 's/^/# /' "$dir/lua"
fi
# Workloads of functions: a plug-in finds what it needs in whoever loads it.
${CC:-cc} -shared -fPIC -Isrc/engine -Isrc/work -o "$dir/gather.so" scenarios/gather.c
LUA_CPATH="$PWD/$HEDDLE_BUILD/?.so" lua5.4 scenarios/generator.lua n=4096 \
    plugin="$dir/gather.so" >"$dir/lua" 2>&1
"$HEDDLE" run scenarios/generator.lua n=4096 plugin="$dir/gather.so" \
    >"$dir/command" 2>&1
if cmp -s "$dir/lua" "$dir/command" && grep -q plug-in "$dir/lua"; then
    echo "ok 5 - workloads of functions, too"
else
    echo "not ok 5 - workloads of functions, too"
    diff "$dir/lua" "$dir/command" | head -5 | sed 's/^/# /'
fi
