#!/bin/sh
# 768-mutate.t - pins: src/dev/mutate draws the same mutations for a seed, each
# of which changes what it says, in a function, and nothing in a comment or a
# text; in a tree of one source it tries all, replaces those that do not compile
# or change no code, sees tests fail and hang, counts what tests of the area and
# others kill, shows what survives, leaves out a test that fails without, and
# removes its copy, when it is interrupted, too.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh
mutate=$PWD/src/dev/mutate
unset VARIANT SANITIZER CC # of a build with sanitizers

# ---- what is drawn -----------------------------------------------------------
expect 0 "a list" "$mutate" list=1 count=400
cp "$dir/out" "$dir/first"
expect 0 "and once more" "$mutate" list=1 count=400 seed=1
same first out "of one seed is one"
expect 0 "of another" "$mutate" list=1 count=400 seed=2
! cmp -s "$dir/first" "$dir/out"
told $? "is another"

# Each patch: old lines that are there, new ones that differ.
perl -e '
    my (%text, $n, $off);
    local $/ = "";
    open my $f, "<", $ARGV[0] or die;
    local $/;
    for (split /^(?=src\/)/m, <$f>) {
        my ($file, $line) = /^(\S+?):(\d+) .*\n(?:.*\n)*?--- a\/\1\n\+\+\+ b\/\1\n/
            or die "no patch: $_";
        my @old = map { s/^-//r } grep { /^-(?!-- )/ } split /\n/;
        my @new = map { s/^\+//r } grep { /^\+(?!\+\+ )/ } split /\n/;
        $text{$file} //= do { open my $g, "<", $file or die; [split /\n/, <$g>] };
        my @is = @{ $text{$file} }[$line - 1 .. $line + @old - 2];
        $n++;
        print "$_\n" if "@is" ne "@old" || "@old" eq "@new" || $file !~
            m{^src/(policies|engine/(memory|translation|pages|paging|core|points))/\w+\.c$} || "@old" =~ m{^\s*(/\*|\*( |$))|^#};
    }
    print "$n patches\n" if $n != 400;
' "$dir/first" >"$dir/off" 2>&1
[ ! -s "$dir/off" ]
told $? "each patch fits" "$dir/off"
expect 0 "of an area" "$mutate" list=1 count=50 area=paging
! grep '^src/' "$dir/out" | grep -qv '^src/engine/paging/'
told $? "is in that area" "$dir/out"
expect 0 "of a file" "$mutate" list=1 count=50 file=src/engine/memory/mshr.c
! grep '^src/' "$dir/out" | grep -qv '^src/engine/memory/mshr.c:'
told $? "is in that file" "$dir/out"

for wrong in "sed=3|no option 'sed': want area, count" "seed|'seed': want NAME=" \
    "count=x|count=x: want a whole number" "area=cpu|area=cpu: want all, core" \
    "file=src/engine/sim.c|file=src/engine/sim.c: want src/{policies,"; do
    expect 64 "refused" "$mutate" list=1 "${wrong%%|*}"
    has err "${wrong#*|}" "with words"
done

# ---- a tree of one source ------------------------------------------------------
tree=$dir/tree
mkdir -p "$tree/src/policies" "$tree/t" "$dir/tmp"
cat >"$tree/src/policies/x.c" <<'END'
/* a < b && "c == d" are not looked at; nor is 1 + 2 */
#define N (1 < 2)
int area(int a);
int far(int a);
long apart(const char *p, const char *q);
int count(int n);

int area(int a)
{
    return a + 1; /* 1 + 1 */
}

int far(int a)
{
    return a > 5;
}

long apart(const char *p, const char *q)
{
    return q - p;
}

int count(int n)
{
    while (n)
        n--;
    return n;
}
END
cat >"$tree/src/main.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int area(int a);
int far(int a);
int count(int n);

int main(int argc, char **argv)
{
    int a = atoi(argv[argc - 1]);

    switch (argv[1][0]) {
    case 'a': printf("%d\n", area(a)); break;
    case 'f': printf("%d\n", far(a)); break;
    case 'c': printf("%d\n", count(a)); break;
    }
    return 0;
}
END
cat >"$tree/Makefile" <<'END'
all: build/release/x
build/release/x: build/release/policies/x.o src/main.c
	cc -o $@ build/release/policies/x.o src/main.c
build/release/policies/x.o: src/policies/x.c
	@mkdir -p build/release/policies
	cc -O1 -c -o $@ src/policies/x.c
END
printf '#!/bin/sh\nexec sh "$@"\n' >"$tree/t/run"
chmod +x "$tree/t/run"
# The tests: one of the area, one that sees more, and one that is broken.
one() { # one FILE CALL RESULT
    echo "echo 1..1; [ \"\$(build/release/x $2)\" = $3 ] || printf 'not '
        echo ok 1" >"$tree/t/$1"
}
one 500-x.t 'a 3' 4
one 501-x.t 'c 3' 0
one 502-broken.t 'a 3' 5
one 806-x.t 'f 6' 1

cp "$tree/src/policies/x.c" "$dir/was"
in_tree() {
    (cd "$tree" && TMPDIR="$dir/tmp" "$mutate" "$@")
}
expect 0 "runs" in_tree limit=2
has out "t/502-broken.t fails without a mutation: left out" "a broken test"
# area: + to -, 1 to 0 and 2; far: > to >=, 5 to 4 and 6; count: no condition
# negated, no n--.  apart's + does not compile.
has out "8/40 src/policies/x.c" "all are tried"
hasnot out "9/40" "and no more"
hasnot out "x.c:20" "what does not compile is not"
has out "(+ to -): t/500-x.t fails" "a test of the area kills"
has out "(5 to 6): only t/806-x.t fails" "and one of another"
has out "(negated): t/501-x.t fails" "a negated condition is"
has out "(dropped): t/501-x.t hangs" "what hangs, too"
has out "survives: src/policies/x.c:15 > to >=" "what survives"
has out "-    return a > 5;" "with what was"
has out "+    return a >= 5;" "and what is"
has out "+    return a > 4;" "and another"
has out "policies          5 of 8,  63 %        6 of 8,  75 %" "the rates"
[ -z "$(ls "$dir/tmp")" ] && cmp -s "$tree/src/policies/x.c" "$dir/was"
told $? "nothing is left, and nothing changed"


cp "$dir/out" "$dir/ran"
expect 0 "as a list" in_tree list=1 count=1
grep -q "1/40 $(sed -n '1s/ .*//p' "$dir/out")" "$dir/ran"
told $? "is drawn as it runs" "$dir/out" "$dir/ran"

expect 0 "with one test only" in_tree count=2 tests=t/806-x.t
has out "2/2 src/policies/x.c:10 (+ to -): SURVIVES" "no other runs"

# ---- an interrupt ----------------------------------------------------------------
echo 'sleep 60' >"$tree/t/503-long.t"
(cd "$tree" && TMPDIR="$dir/tmp" exec "$mutate" >"$dir/out" 2>"$dir/err") &
while kill -0 $! && ! grep -q 'tests without' "$dir/out"; do sleep 0.1; done
kill -TERM $!
wait $!
[ $? = 130 ] && [ -z "$(ls "$dir/tmp")" ]
told $? "an interrupt leaves nothing" "$dir/out" "$dir/err"
has err "interrupted" "and is said"
plan
