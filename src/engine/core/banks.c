/*
 * banks.c - the banks of shared memory (part `shared`, with core.classes).
 *
 * Shared memory has shared.banks banks, 32, whose words of 4 bytes follow each
 * other.  A bank gives one word a cycle, to as many lanes as want it; lanes
 * that want different words of one bank are served one after the other.  So an
 * instruction takes as many cycles as there are different words in its fullest
 * bank (NVIDIA, CUDA C++ Programming Guide, "Shared Memory"), and its result is
 * there shared.latency after its issue and a cycle later for each but the
 * first. Lanes of 8 and 16 bytes want 2 and 4 words: 64 and 128 words of a
 * whole warp take 2 and 4 cycles.
 *
 * Addresses are those of a trace, or what a program gave (t:shared of a value);
 * where there are none, an instruction takes one cycle.  All sub-cores share
 * it. Atomics of shared memory count as loads of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "subcore.h"

#define HD_PART    shared
#define HD_CFG     struct hd_shared_cfg
#define HD_PART_OF "core/shared.def"
#include "kit/rows.h"

enum {
#define HD_COUNTERS_OF "core/shared.def"
#include "kit/rows.h"
};

enum { BANK_BYTES = 4, BANKS_HASH = 1024 };

void hd_banks_open(struct hd_gpu *g)
{
    g->shared_stat = hd_stats_group(g->env->stats, &hd_rows_shared, g->cores);
}

uint32_t hd_banks_cycles(const struct hd_access *acc, uint64_t mask,
                         uint32_t bytes, uint32_t banks)
{
    uint64_t seen[BANKS_HASH]; /* words + 1: at most half of the places */
    uint32_t in[64] = {0}, most = 1;

    memset(seen, 0, sizeof seen);
    for (; mask != 0; mask &= mask - 1) {
        uint64_t a = hd_access_lane(acc, hd_bit_first(mask));
        uint64_t last = (a + bytes - 1) / BANK_BYTES;

        for (uint64_t word = a / BANK_BYTES; word <= last; word++) {
            uint32_t h = (uint32_t)(word % BANKS_HASH), bank;

            while (seen[h] != 0 && seen[h] != word + 1)
                h = (h + 1) % BANKS_HASH;
            if (seen[h] != 0)
                continue;
            seen[h] = word + 1;
            bank = (uint32_t)(word % banks);
            if (++in[bank] > most)
                most = in[bank];
        }
    }
    return most;
}

hd_time hd_banks_take(struct hd_core *c, uint32_t w, hd_time t)
{
    const struct hd_gpu *g = c->gpu;
    const struct hd_warp *x = &c->warp[w];
    uint64_t *count = hd_count_row(&g->shared_stat, c->id, c->app);
    uint32_t banks = g->m->shared.banks, n = 1;
    struct hd_access acc = {.lane = NULL};

    if (c->sub->warp[w].addressed && banks != 0) {
        c->ops->access(c->source, x->ctx, x->index, &acc);
        n = hd_banks_cycles(&acc, x->op.mask, x->op.bytes, banks);
    }
    count[ACCESSES]++;
    count[CONFLICTS] += n - 1;
    c->sub->banks_free = t + n * g->cycle;
    return n * g->cycle;
}
