#!/bin/sh
# 762-install.t - pins: `make install` puts everything where the manual says,
# and what it puts there works from there: the command, a C program by way of
# pkg-config with each header on its own, in C and in C++, those of heddle(3), one
# of which builds a kernel program and runs it, the Lua module,
# plug-ins, the Python package as it is and as pip installs it; the lines that it prints for a shell's profile are all that a fresh
# shell needs, and there are none for a standard prefix; and `make uninstall`
# leaves no file behind.  The prefix has a space and a letter that is not ASCII.
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

# The C programs of heddle(3), as installed.
examples() {
    awk -v to="$dir/example" '
        /^\.\\" c$/ { c = 1; next }
        c && /^\.Bd/ { out = to (++n) ".c"; next }
        /^\.Ed/ { c = 0; out = "" }
        out != "" { gsub(/\\e/, "\\"); print >out }
    ' "$prefix/share/man/man3/heddle.3"
    [ -s "$dir/example2.c" ] || { echo "two are expected"; return 1; }
    for e in "$dir"/example?.c; do
        compile "${CC:-cc} -std=c11" "$e" "${e%.c}" &&
            LD_LIBRARY_PATH=$prefix/lib "${e%.c}" || return 1
    done
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

# In Python, without HEDDLE and HEDDLE_LIB: the package finds what it came with.
python() {
    env -u HEDDLE -u HEDDLE_LIB PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$1" python3 -c '
import sys, heddle
prefix, folder = sys.argv[1:]
found = heddle.command(), heddle.library().path, heddle.__file__
assert found[0].startswith(prefix + "/bin/"), found
assert found[1].startswith(prefix + "/lib/"), found
assert found[2].startswith(folder), found
assert heddle.settings("maxwell")["l2tlb.entries"] == "512"
' "$prefix" "$1"
}

# pip has no network here, and needs none.
pip() {
    python3 -m pip install --quiet --no-index --no-cache-dir \
        --disable-pip-version-check --root-user-action=ignore \
        --target "$dir/site" "$prefix/share/heddle/python" &&
        PATH=$prefix/bin:$PATH python "$dir/site"
}

# profile WORDS...: a shell that has nothing but the printed lines runs a program.
profile() {
    sed -n 's/^    export /export /p' "$dir/said" >"$dir/profile"
    env -i PATH="$PATH" sh -euc '. "$0"; exec "$@"' "$dir/profile" "$@"
}

# finds TEXT WORDS...: the output of such a program has the text.
finds() {
    text=$1
    shift
    out=$(profile "$@" 2>&1) || { echo "$out"; return 1; }
    case $out in *"$text"*) ;; *) echo "no '$text' in: $out"; return 1 ;; esac
}

ok "make install" make -s install PREFIX="$prefix"
cp "$dir/log" "$dir/said"
ok "what heddle(1) lists" is_there bin/heddle lib/libheddle.a \
    lib/libheddle.so lib/lua/5.4/heddle.so lib/pkgconfig/heddle.pc \
    share/heddle/scenarios/tlb-contention.lua \
    share/heddle/scenarios/data/gather.hdt \
    share/heddle/scenarios/reproduce.lua \
    share/heddle/scenarios/mask/fig03.lua \
    share/heddle/scenarios/mask/common.lua \
    share/heddle/scenarios/characterise/etc.lua share/heddle/policies/lru.lua \
    share/heddle/luals/heddle.lua
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
ok "the C programs of heddle(3)" examples
ok "a plug-in" plugin
ok "one with a workload" work
ok "the Lua module" module
ok "the Python package" is_there share/heddle/python/pyproject.toml \
    share/heddle/python/heddle/__init__.py share/heddle/python/heddle.ipynb
! command -v python3 >/dev/null ||
    ok "finds the command and the library" python "$prefix/share/heddle/python"
! python3 -m pip --version >/dev/null 2>&1 || ok "and does so when pip installs it" pip

# The printed lines, and each of them.
for v in PATH MANPATH LD_LIBRARY_PATH PKG_CONFIG_PATH LUA_CPATH; do
    has said "export $v=" "it says what $v needs"
done
ok "they are right for the command" finds "$prefix/bin/heddle" \
    sh -c 'command -v heddle'
ok "for pkg-config" finds heddle pkg-config --cflags heddle
ok "for a program" profile "$dir/p"
! command -v lua5.4 >/dev/null ||
    ok "for Lua" profile lua5.4 -e 'require "heddle"'
! command -v man >/dev/null ||
    ok "for man" finds "$prefix/share/man/man7/heddle_model.7" \
        man -w heddle_model
advice=src/dev/environment
expect 0 "a prefix with a quote" \
    $advice "$dir/it's/bin" /usr/share/man /usr/lib /usr/lib/lua/5.4
cp "$dir/out" "$dir/said"
mkdir -p "$dir/it's/bin" && ln -sf "$prefix/bin/heddle" "$dir/it's/bin"
ok "is quoted" finds "it's" sh -c 'command -v heddle'
expect 0 "/usr/local" $advice /usr/local/bin /usr/local/share/man \
    /usr/local/lib /usr/local/lib/lua/5.4
hasnot out export "needs none"
has out ldconfig "but the linker's cache"
ok "make install with DESTDIR" make -s install DESTDIR="$dir/root" PREFIX=/opt/h
cp "$dir/log" "$dir/out"
empty out "says nothing"

cd "$root" || exit 1
ok "make uninstall" make -s uninstall PREFIX="$prefix"
ok "leaves no file" sh -c "[ -z \"\$(find '$prefix' -type f -o -type l)\" ]"
plan
