#!/bin/sh
# 762-install.t - pins: `make install` puts everything where the manual says,
# and what it puts there works from there: the command, a C program by way of
# pkg-config with each header on its own, in C and in C++, the Lua module,
# plug-ins; and `make uninstall` leaves no file behind.  The prefix has a space
# and a letter that is not ASCII.
#
# SPDX-License-Identifier: MIT
case $HEDDLE_BUILD in
*release*) ;;
*)
    echo "1..0 # SKIP only the ordinary build is installed"
    exit 0
    ;;
esac
. t/lib/expect.sh
root=$PWD
prefix="$dir/u sé"

ok() { # ok NAME COMMAND...: the command succeeds
    name=$1
    shift
    "$@" >"$dir/log" 2>&1
    told $? "$name" "$dir/log"
}

is_there() { # each of the files exists
    for f; do
        [ -s "$prefix/$f" ] || { echo "missing: $f"; return 1; }
    done
}

config() { # config --cflags|--libs: quoted for the shell
    PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config "$1" heddle
}

compile() { # compile COMPILER SOURCE OUT
    eval "$1 -Wall -Wextra -Werror -o '$3' '$2' $(config --cflags)" \
        "$(config --libs)"
}

headers() { # every header stands alone, in C and, if there is one, in C++
    for h in "$prefix"/include/heddle/*.h; do
        printf '#include <%s>\nint main(void) { return 0; }\n' \
            "$(basename "$h")" >"$dir/h.c"
        compile "${CC:-cc} -std=c11 -pedantic" "$dir/h.c" "$dir/h" || return 1
        command -v c++ >/dev/null || continue
        cp "$dir/h.c" "$dir/h.cc"
        compile "c++ -std=c++11" "$dir/h.cc" "$dir/h" || return 1
    done
}

program() {
    cat >"$dir/p.c" <<'C'
#include <heddle.h>
#include <string.h>
int main(void) { return strcmp(heddle_version(), HEDDLE_VERSION); }
C
    compile "${CC:-cc} -std=c11" "$dir/p.c" "$dir/p" &&
        LD_LIBRARY_PATH=$prefix/lib "$dir/p"
}

plugin() {
    ${CC:-cc} -shared -fPIC -I"$prefix/include/heddle" -o "$dir/w.so" \
        "$prefix/share/heddle/policies/plugin.c" || return 1
    cat >"$dir/w.lua" <<L
local H = require "heddle"
local sim = H.sim { machine = "maxwell", apps = { H.app("GUP", { size = "T" }) },
    policies = { "$dir/w.so" } }
sim:run()
assert(sim:counters().policy["tlb_fill.asked"] > 0)
L
    "$prefix/bin/heddle" run "$dir/w.lua"
}

work() {
    eval "${CC:-cc} -Wall -Wextra -Werror -shared -fPIC $(config --cflags)" \
        '-o "$dir/g.so" "$prefix/share/heddle/scenarios/gather.c"' &&
        "$prefix/bin/heddle" run \
            "$prefix/share/heddle/scenarios/generator.lua" n=4096 \
            plugin="$dir/g.so"
}

module() {
    command -v lua5.4 >/dev/null || return 0
    LUA_CPATH="$prefix/lib/lua/5.4/?.so" lua5.4 -e \
        'local H = require "heddle" assert(H.version and H.app("RED"))'
}

ok "make install" make -s install PREFIX="$prefix"
ok "what heddle(1) lists" is_there bin/heddle lib/libheddle.a \
    lib/libheddle.so lib/lua/5.4/heddle.so lib/pkgconfig/heddle.pc \
    share/heddle/scenarios/tlb-contention.lua \
    share/heddle/scenarios/data/gather.hdt \
    share/heddle/scenarios/reproduce.lua \
    share/heddle/scenarios/mask/fig03.lua \
    share/heddle/scenarios/mask/common.lua \
    share/heddle/scenarios/characterise/etc.lua share/heddle/policies/lru.lua
# shellcheck disable=SC2046 # no spaces in names of pages
ok "every page of the manual" is_there $(for m in man/*.[1-9]; do
    echo "share/man/man${m##*.}/${m#man/}"; done)
ok "completion" is_there share/bash-completion/completions/heddle \
    share/zsh/site-functions/_heddle \
    share/fish/vendor_completions.d/heddle.fish
ok "the command" "$prefix/bin/heddle" explain l2tlb.entries
ok "a scenario where it lies" "$prefix/bin/heddle" run \
    "$prefix/share/heddle/scenarios/tlb-contention.lua" size=T cycles=1000 \
    warmup=100 machines=maxwell svg="$dir/chart.svg"
ok "one that has a module beside it" "$prefix/bin/heddle" run \
    "$prefix/share/heddle/scenarios/characterise/figures.lua" size=T
ok "headers, each alone" headers
ok "a C program" program
ok "a plug-in" plugin
ok "one with a workload" work
ok "the Lua module" module
cd "$root" || exit 1
ok "make uninstall" make -s uninstall PREFIX="$prefix"
ok "leaves no file" sh -c "[ -z \"\$(find '$prefix' -type f -o -type l)\" ]"
plan
