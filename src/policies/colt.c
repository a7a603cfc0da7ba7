/*
 * colt.c - TLB entries that cover a run of pages: CoLT, and AMD's coalescing.
 * policies/colt.lua is the same and tells the rules.
 *
 * SPDX-License-Identifier: MIT
 */
#include "policy.h"

enum { FULL, ALIGNED, HITS, PARAMS };
enum { NO_HITS, SUBREGIONS };

struct colt {
    uint64_t param[PARAMS];
};

static size_t colt_bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)p, (void)params;
    return sizeof(struct colt);
}

static int colt_init(void *state, const struct heddle_place *p,
                     const uint64_t *params)
{
    struct colt *s = state;

    (void)p;
    for (uint32_t i = 0; i < PARAMS; i++)
        s->param[i] = params[i];
    return 0;
}

static int64_t tlb_merge(void *state, const void *question)
{
    const struct heddle_q_tlb_merge *q = question;
    const struct colt *s = state;
    uint64_t n = s->param[ALIGNED];

    if (s->param[FULL] == 0 &&
        (q->level != 1 || (q->cause != 0 && s->param[HITS] == NO_HITS)))
        return HEDDLE_PASS;
    if (n != 0 && (q->run_pages < n || q->run_first % n != 0 ||
                   q->run_frame % n != 0))
        return 0;
    return (int64_t)q->run_pages;
}

static const struct heddle_param params[] = {
    {"full", "", 0, 0, 1,
     "1: in both levels, and a hit in the L2 TLB passes its run on; 0: only in "
     "L1 TLBs, on page walks",
     "MESC: CoLT and full CoLT"},
    {"aligned", "pages", 0, 0, 16,
     "only runs of this many pages, aligned in physical memory as well; 0: any",
     "AMD's coalescing: 4"},
    {"hits", "none|subregions", NO_HITS, NO_HITS, SUBREGIONS,
     "with full = 0: hits in the L2 TLB that pass a group on, none or those of "
     "subregion entries",
     "MESC V.A names walks; its VI.D needs hits"},
    {0},
};

const struct heddle_policy hd_policy_colt = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "colt",
    .summary = "TLB entries cover contiguous pages of an aligned group",
    .source = "CoLT: Pham et al., MICRO 2012; as MESC has it in a GPU",
    .params = params,
    .state_bytes = colt_bytes,
    .init = colt_init,
    .answer = {[HEDDLE_POINT_tlb_merge] = tlb_merge},
};
