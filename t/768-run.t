#!/bin/sh
# 768-run.t - pins t/run: a test that prints on standard error or leaves a file in
# its TMPDIR fails, with a line of TAP more for each, and one that does neither is
# what it was; nothing stays of either.  What is skipped, of a test or all of it, is
# listed where HEDDLE_SKIPPED says, and by `make test` in its last line.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh
unset HEDDLE_SKIPPED # what these skip is no test of the suite

cat >"$dir/clean.t" <<'T'
echo "1..2"
echo "ok 1 - fine"
: >"$TMPDIR/gone" && rm "$TMPDIR/gone" && echo "not ok 2 - later # SKIP"
T
cat >"$dir/loud.t" <<'T'
echo "ok 1 - fine"
echo words >&2
echo text >"$TMPDIR/a file"
echo "1..1"
T
printf 'ok 1 - fine\nok 2 - later # SKIP\n1..2\n' >"$dir/want"

expect 0 "a clean test" t/run "$dir/clean.t"
same out want "is what it says"
empty err "and no more"
expect 1 "a test that is not" t/run "$dir/loud.t"
has out "not ok 2 - nothing is printed on standard error" "fails"
has out "not ok 3 - nothing is left in TMPDIR" "twice"
has out "1..3" "with a plan of all"
has err "# words" "shows what it printed"
has err "# a file" "and left"
ls -d "$TMPDIR"/heddle_* >"$dir/left" 2>/dev/null
empty left "nothing stays of them"

# ---- what is skipped ---------------------------------------------------------------
echo 'echo "1..0 # SKIP no such program"' >"$dir/none.t"
HEDDLE_SKIPPED=$dir/skipped
export HEDDLE_SKIPPED
for test in clean loud none; do
    t/run "$dir/$test.t" >/dev/null 2>&1
done
printf '%s: \n%s: no such program\n' "$dir/clean.t" "$dir/none.t" >"$dir/want"
same skipped want "what is skipped is listed"
unset HEDDLE_SKIPPED
expect 0 "make test" make -s test -o all -o tests SKIPPED="$dir/list" TESTS="$dir/none.t $dir/clean.t"
[ "$(tail -1 "$dir/out")" = "Skipped: $dir/clean.t: ; $dir/none.t: no such program" ]
told $? "ends with it" "$dir/out"
plan
