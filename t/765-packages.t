#!/bin/sh
# 765-packages.t - pins: what packages are made of.  heddle.h, CITATION.cff,
# CHANGES.md, Debian's changelog, the rock's name and the Python package have one
# version, and release notes are a section of CHANGES.md;
# the tests that packages run install nothing, and what they want Debian's build has; its
# packages have every file that `make install` puts, each once, and name none
# that it does not; the tarball is what is committed, below one folder, and the
# same bytes whoever packs it; the rock, where luarocks is, is a module for Lua
# and a command.
#
# That the packages build and work on a bare Debian is src/dev/package/chroot's.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh
package=src/dev/package
version=$(sed -n 's/^.define HEDDLE_VERSION "\(.*\)"/\1/p' src/engine/heddle.h)

is() { # is GOT EXPECTED NAME
    printf 'got      %s\nexpected %s\n' "$1" "$2" >"$dir/is"
    [ "$1" = "$2" ]
    told $? "$3" "$dir/is"
}

# ---- one version ------------------------------------------------------------
is "$(sed -n 's/^version: //p' CITATION.cff)" "$version" "CITATION.cff's version"
is "$(sed -n '/^## Unreleased$/d; s/^## //p' CHANGES.md | head -1)" "$version" \
    "CHANGES.md's"
is "$(sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' $package/debian/changelog)" "$version" \
    "Debian's"
python=src/shell/python
is "$(sed -n 's/^version = "\(.*\)"/\1/p' $python/pyproject.toml) $(sed -n \
    's/^__version__ = "\(.*\)"/\1/p' $python/heddle/__init__.py)" \
    "$version $version" "the Python package's"
is "$(sed -n 's/^VERSION_NUMBER = //p' $python/heddle/simulation.py)" "$(sed -n \
    's/^.define HEDDLE_VERSION_NUMBER //p' src/engine/heddle.h)" "as a number"
is "$(echo $package/*.rockspec)" "$package/heddle-$version-1.rockspec" "the rock's"
is "$(grep -c "heddle-$version\|\"$version-1\"" $package/*.rockspec)" 4 \
    "and in what it says"

# ---- release notes -------------------------------------------------------------
# Put together again, the texts of all versions are the file, but for blank lines.
grep '^## ' CHANGES.md | while read -r _ v; do
    echo "## $v"
    src/dev/release-notes "$v" || echo "no text"
done | grep . >"$dir/notes"
sed 1d CHANGES.md | grep . >"$dir/changes"
same notes changes "the release notes of all versions are CHANGES.md"
expect 0 "make release-notes" make -s release-notes
cp "$dir/out" "$dir/ours"
expect 0 "of this version" src/dev/release-notes "$version"
same out ours "are what the script prints"
[ -s "$dir/out" ] && [ -n "$(head -1 "$dir/out")" ] && ! grep -q '^## ' "$dir/out"
told $? "the text alone" "$dir/out"
expect 65 "a version that there is not" src/dev/release-notes 9.9
has err "no version 9.9; it has Unreleased, " "is said, with those that there are"
expect 64 "no version" src/dev/release-notes

# ---- tests without rights ------------------------------------------------------
expect 0 "make check, shown" make -n check
has out "src/dev/deps check" "installs what is missing"
expect 0 "make test, shown" make -n test
has out "prove" "runs the same"
hasnot out "src/dev/deps" "and installs nothing"

expect 0 "a build by clang, shown" make -n CC=clang SANITIZER=address,undefined
has out "build/address-undefined-clang/heddle" "has a folder of its own"

# gcc and perl are there wherever packages are built, which clang does not do.
for wanted in $(sed -n 's/^ *\(need\|want\) \([a-z0-9.+-]*\) .*/\2/p' src/dev/deps); do
    case $wanted in gcc | perl | clang | libclang-rt-dev) continue ;; esac
    sed -n '/^Build-Depends:/,/^$/p' $package/debian/control |
        grep -q "^ $wanted[, ]" || echo "$wanted"
done >"$dir/off"
empty off "what the tests install, Debian's package names"

# ---- Debian's lists ----------------------------------------------------------
expect 0 "an install as Debian's" make -s install DESTDIR="$dir/root" PREFIX=/usr \
    LIBDIR=/usr/lib/x86_64-linux-gnu
(cd "$dir/root" && find . ! -type d | sed 's,^\./,,' | sort) >"$dir/put"
cat $package/debian/*.install | cut -d' ' -f1 >"$dir/lists"
while read -r file; do
    packages=0
    while read -r line; do
        # shellcheck disable=SC2254 # a pattern
        case $file in $line | $line/*) packages=$((packages + 1)) ;; esac
    done <"$dir/lists"
    [ $packages = 1 ] || echo "$file is in $packages packages"
done <"$dir/put" >"$dir/off"
empty off "each file that is installed is in one package"
while read -r line; do
    while read -r file; do
        # shellcheck disable=SC2254 # a pattern
        case $file in $line | $line/*) continue 2 ;; esac
    done <"$dir/put"
    echo "nothing is $line"
done <"$dir/lists" >"$dir/off"
empty off "and every line of the lists has one"

# ---- the tarball -------------------------------------------------------------
if [ -e .git ]; then
    tarball=build/heddle-$version.tar.gz
    expect 0 "make dist" make -s dist
    cp "$tarball" "$dir/one"
    expect 0 "by another" sh -c 'umask 077; TZ=Asia/Tokyo LC_ALL=C make -s dist'
    cp "$tarball" "$dir/two"
    cmp "$dir/one" "$dir/two" >"$dir/cmp"
    told $? "is the same bytes" "$dir/cmp"
    git ls-tree -r --name-only HEAD | sed "s,^,heddle-$version/," |
        sort >"$dir/committed"
    tar tzf "$dir/one" | grep -v '/$' | sort >"$dir/packed"
    same committed packed "and what is committed, below one folder"
fi

# ---- the rock ------------------------------------------------------------------
if command -v luarocks >/dev/null && command -v lua5.4 >/dev/null &&
    [ -e .git ]; then
    mkdir "$dir/source"
    git ls-files -z | tar -c --null -T - | tar -x -C "$dir/source"
    rock() {
        (cd "$dir/source" &&
            MAKEFLAGS=-j2 luarocks --lua-version=5.4 --tree="$dir/tree" make \
                "$package/heddle-$version-1.rockspec")
    }
    expect 0 "luarocks make" rock
    eval "$(luarocks --lua-version=5.4 --tree="$dir/tree" path)"
    expect 0 "Lua finds the module" lua5.4 -e 'local H = require "heddle"
        print(package.searchpath("heddle", package.cpath)) H.app("RED")'
    has out "$dir/tree/" "in the rock's tree"
    is "$(command -v heddle)" "$dir/tree/bin/heddle" "the shell, the command"
    expect 0 "which runs" heddle explain l2tlb.entries
fi
plan
