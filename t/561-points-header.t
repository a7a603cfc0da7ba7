#!/bin/sh
# 561-points-header.t - pins: src/engine/points.h is what points.def, notes.def and
# words.def say, so that names are found where they are written; and a plug-in
# that includes policy.h gets no macro by it but those that begin with HEDDLE_, and
# none at all by points.h but its guard.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh
cc=${CC:-cc}

expect 0 "the lists, as a header" src/dev/points-header -
ok_same() {
    diff src/engine/points.h "$dir/out" >"$dir/log" 2>&1
    told $? "src/engine/points.h is up to date (src/dev/points-header)" "$dir/log"
}
ok_same
for name in HEDDLE_TRANSLATE_TO_L2TLB HEDDLE_POINT_tlb_fill \
    HEDDLE_NOTE_walk_done 'struct heddle_q_tlb_fill {' \
    'struct heddle_n_walk_done {' 'enum heddle_page_size {'; do
    has out "$name" "$name is there to be found"
done

# macros HEADER: their names, but for those that its C library headers define.
macros() {
    printf '#include <stddef.h>\n#include <stdint.h>\n' >"$dir/plain.c"
    printf '#include <stddef.h>\n#include <stdint.h>\n#include "%s"\n' "$1" \
        >"$dir/with.c"
    for f in plain with; do
        # shellcheck disable=SC2086 # a compiler with its options
        $cc -dM -E -Isrc/engine -Isrc/work "$dir/$f.c" | sort >"$dir/$f.m"
    done
    comm -13 "$dir/plain.m" "$dir/with.m" | awk '{ print $2 }' | sed 's/(.*//'
}

# only HEADER: whether they all begin with HEDDLE_
only() {
    macros "$1" >"$dir/all"
    grep -v '^HEDDLE_' "$dir/all" >"$dir/log"
    [ -s "$dir/all" ] && [ ! -s "$dir/log" ]
    told $? "$1 defines nothing but HEDDLE_*" "$dir/log"
}
only policy.h
only heddle_work.h
only heddle_program.h
macros points.h | grep -vx HEDDLE_POINTS_H | sort >"$dir/points.m"
macros heddle.h | sort >"$dir/heddle.m"
diff "$dir/heddle.m" "$dir/points.m" >"$dir/log"
told $? "points.h has no macro of its own" "$dir/log"
plan
