/*
 * plugin.c - a policy as a plug-in, to copy.
 *
 *     cc -shared -fPIC $(pkg-config --cflags heddle) -o warpfill.so plugin.c
 *
 * and in a script: sim:use("./warpfill.so", { warps = 8 })
 *
 * Only warps below a limit may fill the shared L2 TLB; the walks of the others
 * go to the bypass cache.  A plug-in is one const struct; heddle_policy_entry
 * hands it out.  State would be in the simulation's arena (state_bytes, init)
 * so that snapshots contain it; here it is the limit alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include <policy.h>

struct state {
    uint64_t warps;
};

static size_t state_bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)p;
    (void)params;
    return sizeof(struct state);
}

static int init(void *state, const struct heddle_place *p,
                const uint64_t *params)
{
    struct state *s = state;

    (void)p;
    s->warps = params[0];
    return 0;
}

static int64_t tlb_fill(void *state, const void *question)
{
    const struct heddle_q_tlb_fill *q = question;
    const struct state *s = state;

    return q->warp < s->warps ? 0 : 1; /* l2tlb, bypass */
}

static const struct heddle_param params[] = {
    {"warps", "warps", 24, 0, 64, "warps that may fill the L2 TLB", "guess"},
    {0},
};

static const struct heddle_policy policy = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "warpfill",
    .summary = "only warps below a limit fill the L2 TLB",
    .source = "an example",
    .params = params,
    .state_bytes = state_bytes,
    .init = init,
    .answer = {[HEDDLE_POINT_tlb_fill] = tlb_fill},
};

__attribute__((visibility("default"))) const struct heddle_policy *
heddle_policy_entry(void);

const struct heddle_policy *heddle_policy_entry(void)
{
    return &policy;
}
