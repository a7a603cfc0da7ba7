#!/bin/sh
# 783-no-python.t - pins: heddle needs no Python.  With none on PATH every kind of step
# of a build is done again (the list of points, a source of each library, the scripts
# that are embedded, archives and links), the editor's definitions are written, all is
# installed, and the command runs a scenario.
#
# SPDX-License-Identifier: MIT
if [ "$HEDDLE_BUILD" != build/release ]; then
    echo "1..0 # SKIP only the ordinary build is built again"
    exit 0
fi
. t/lib/expect.sh

# All programs of PATH, in its order, but Python's.
mkdir "$dir/bin"
echo "$PATH" | tr : '\n' | while read -r folder; do
    for program in "$folder"/*; do
        case ${program##*/} in
        python* | pip* | pydoc* | idle* | py3* | '*') ;;
        *) echo "$program" ;;
        esac
    done
done | awk -F/ '!seen[$NF]++' | xargs -d '\n' ln -s -t "$dir/bin"
without() { # without COMMAND...: there is no Python
    env PATH="$dir/bin" PYTHONPATH=/nowhere "$@"
}
expect 127 "no Python is found" without sh -c 'python3 -c 1'
expect 127 "by no name" without sh -c 'python -c 1'
expect 0 "others are" without sh -c 'sed --version && "${CC:-cc}" --version'

tree=$dir/tree
mkdir -p "$tree/build/release"
cp -a Makefile src lua policies scenarios man "$tree"
(cd build/release && tar -c --exclude=./t --exclude=./bench .) |
    tar -x -C "$tree/build/release"
cd "$tree" || exit 1
# All of them are embedded by the same lines, file by file, which takes a while.
scripts='lua/heddle/init.lua policies/lru.lua lua/heddle/tools/web/page.css'
# shellcheck disable=SC2086 # no spaces in names of scripts
expect 0 "scripts are embedded" src/dev/embed "$dir/one.c" $scripts
# shellcheck disable=SC2086
expect 0 "without Python" without src/dev/embed "$dir/two.c" $scripts
same one.c two.c "to the same bytes"
(cd build/release && rm points.stamp engine/kit/time.o policies/repl.o work/work.o \
    shell/lua/lstate.o shell/command/main.o)
expect 0 "make, and make install" without make PREFIX="$dir/prefix" install
for step in 'CC    src/engine/kit/time.c' 'CC    src/policies/repl.c' \
    'CC    src/work/work.c' 'CC    src/shell/lua/lstate.c' \
    'CC    src/shell/command/main.c' \
    'AR    build/release/libheddle.a' 'LD    build/release/libheddle.so.0' \
    'LD    build/release/heddle' 'LD    build/release/heddle.so' \
    'LUALS build/release/heddle.luals'; do
    has out "$step" "does ${step##* } again"
done
[ -e build/release/points.stamp ]
told $? "and looks at the list of points"
expect 0 "the command" without "$dir/prefix/bin/heddle" explain l2tlb.entries
expect 0 "a scenario" without "$dir/prefix/bin/heddle" run --results "$dir/r.json" \
    "$dir/prefix/share/heddle/scenarios/tlb-contention.lua" size=T cycles=1000 \
    warmup=100 machines=maxwell svg="$dir/chart.svg"
has out "mean loss on" "prints its tables"
[ -s "$dir/chart.svg" ] && [ -s "$dir/r.json" ]
told $? "and writes its files"
plan
