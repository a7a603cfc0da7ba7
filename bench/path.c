/*
 * path.c - the path of a cold load through the engine: which functions it runs.
 *
 *     make path
 *
 * One warp loads one line that was never touched: it misses in every TLB and
 * cache, a walk reads four entries, DRAM opens five rows.  The program is built
 * with gcc's counters (VARIANT=coverage), which are cleared when the first
 * cycle is over and kept when the run is, so that building the machine and
 * mapping pages do not count; src/dev/path prints what they say, the sum of
 * lines of the files, and where t/764-floors.lua lists other files.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "synth.h"

#ifdef HD_COVERAGE
void __gcov_reset(void);
void __gcov_dump(void);
#else
static void __gcov_reset(void)
{
    fprintf(stderr, "path: nothing is counted in this build: make path\n");
}

static void __gcov_dump(void)
{
}
#endif

int main(int argc, char **argv)
{
    heddle_config *c = heddle_config_new();
    struct synth synth;
    heddle_workload *w = synth_make(&synth, SYNTH_COLD, 1, 1);
    heddle_sim *s;
    int status;

    if (argc > 1 && heddle_config_set(c, "l1tlb.blocking", argv[1]) != 0) {
        fprintf(stderr, "%s\n", heddle_config_error(c)->text);
        return 64;
    }
    s = heddle_new(c, NULL, &w, 1, NULL);
    if (s == NULL) {
        fprintf(stderr, "%s\n", heddle_config_error(c)->text);
        return 70;
    }
    heddle_run(s, 0); /* pages are mapped, the block is in its core */
    __gcov_reset();
    status = heddle_run(s, UINT64_MAX);
    __gcov_dump();
    printf("%s after %llu cycles\n", heddle_status_name(status),
           (unsigned long long)heddle_now(s));
    return status == HEDDLE_DONE ? 0 : 70;
}
