# expect.sh - checks of a command for tests in the shell, as TAP.
#
#     . t/lib/expect.sh
#     expect 0 "dump of a trace" "$H" trace dump "$dir/app"
#     has out "LDG" "prints instructions"
#     same out want "as it was"
#     plan
#
# Each test has a directory of its own, $dir, gone at its end.  expect leaves
# what the command printed in $dir/out and $dir/err.
#
# SPDX-License-Identifier: MIT
n=0
H=$HEDDLE
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# told STATUS NAME [FILE...]: a check that holds if STATUS is 0; else the files
# are shown.
told() {
    told_status=$1 told_name=$2
    shift 2
    n=$((n + 1))
    if [ "$told_status" = 0 ]; then
        echo "ok $n - $told_name"
        return
    fi
    echo "not ok $n - $told_name"
    for told_file; do
        head -40 "$told_file" | sed 's/^/# /'
    done
}

# expect STATUS NAME COMMAND...: its exit status.
expect() {
    want=$1 name=$2
    shift 2
    "$@" >"$dir/out" 2>"$dir/err" </dev/null
    got=$?
    [ "$got" = "$want" ] && told 0 "$name" ||
        told 1 "$name (exit $got, expected $want)" "$dir/out" "$dir/err"
}

# has FILE TEXT NAME, hasnot FILE TEXT NAME: the file contains the text, or not.
has() {
    grep -qF -e "$2" "$dir/$1"
    told $? "$3 ('$2' in $1)" "$dir/$1"
}

hasnot() {
    ! grep -qF -e "$2" "$dir/$1"
    told $? "$3 (no '$2' in $1)" "$dir/$1"
}

# same FILE FILE NAME: the files are equal.
same() {
    diff "$dir/$1" "$dir/$2" >"$dir/diff" 2>&1
    told $? "$3" "$dir/diff"
}

# empty FILE NAME: the file has nothing.
empty() {
    [ -f "$dir/$1" ] && [ ! -s "$dir/$1" ]
    told $? "$2" "$dir/$1"
}

# plan: how many checks there were.
plan() {
    echo "1..$n"
}
