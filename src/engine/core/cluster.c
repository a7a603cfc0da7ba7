/*
 * cluster.c - kernel sampling: which launches stand for which.
 *
 * Programs launch the same kernel many times on as many threads; one launch of
 * each kind says what the others take (Baddouh et al., Principal Kernel
 * Analysis, MICRO 2021; Naderan-Tahan et al., Sieve, ISPASS 2023).  A cluster
 * is launches of a kernel with equal grid and block whose instruction mixes
 * differ by no more than sample.mix: numbers of warp instructions, thread
 * instructions, loads, stores and atomics, each against the cluster's first
 * launch.  The first launch of a kernel on a grid stands for itself alone: it
 * finds TLBs and caches as others have left them, and is often the one to touch
 * pages first.  No profile is made beforehand: the second is simulated, too,
 * and a later one that looks like it runs without time (core/functional.c),
 * which leaves in buffers what it would, and counts.  If its mix turns out to
 * be another, its source is put back to where it was and the launch is
 * simulated, as the first of a cluster of its own.  A source that keeps nothing
 * to be put back, a trace, cannot do that: then the launch counts as one of the
 * first that it looks like, and as unlike.
 *
 * Weights are instructions, as in Sieve: a cluster's first launch of n
 * instructions stands for all, with a weight of their instructions by n.
 *
 * Left out: warming of TLBs and caches by launches that do not run in time;
 * they hold what the last one left that did.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cluster.h"

#include <string.h>

#include "kit/bits.h"
#include "functional.h"

static bool cluster_looks(const struct hd_cluster *c, const struct hd_launch *l)
{
    return strcmp(c->name, l->name) == 0 &&
           memcmp(c->grid, l->grid, sizeof c->grid) == 0 &&
           memcmp(c->block, l->block, sizeof c->block) == 0;
}

/* b differs from a by at most so many thousandths of a. */
static bool near(uint64_t a, uint64_t b, uint32_t permille)
{
    uint64_t gap = a > b ? a - b : b - a;

    return gap <= a / 1000 * permille + a % 1000 * permille / 1000;
}

static bool cluster_alike(const struct hd_mix *a, const struct hd_mix *b,
                          uint32_t permille)
{
    return near(a->instructions, b->instructions, permille) &&
           near(a->threads, b->threads, permille) &&
           near(a->loads, b->loads, permille) &&
           near(a->stores, b->stores, permille) &&
           near(a->atomics, b->atomics, permille);
}

uint32_t hd_cluster_find(const struct hd_cluster *v, uint32_t n,
                         const struct hd_launch *l, const struct hd_mix *mix,
                         uint32_t permille)
{
    for (uint32_t i = 0; i < n; i++)
        if (v[i].known && !v[i].alone && cluster_looks(&v[i], l) &&
            (mix == NULL || cluster_alike(&v[i].mix, mix, permille)))
            return i;
    return HD_NONE;
}

void hd_cluster_begin(struct hd_cluster *v, uint32_t n,
                      const struct hd_launch *l)
{
    struct hd_cluster *c = &v[n];

    memset(c, 0, sizeof *c);
    c->alone = 1;
    for (uint32_t i = 0; i < n; i++)
        c->alone &= !cluster_looks(&v[i], l);
    memcpy(c->name, l->name, sizeof c->name);
    memcpy(c->grid, l->grid, sizeof c->grid);
    memcpy(c->block, l->block, sizeof c->block);
}

void hd_cluster_skip(struct hd_cluster *c, const struct hd_mix *mix)
{
    c->launches++;
    c->skipped.instructions += mix->instructions;
    c->skipped.threads += mix->threads;
    c->skipped.loads += mix->loads;
    c->skipped.stores += mix->stores;
    c->skipped.atomics += mix->atomics;
}

static int cluster_count(void *ud, const struct hd_step *s)
{
    struct hd_mix *mix = ud;
    const struct hd_op *op = s->op;

    mix->instructions += op->count;
    mix->threads += (uint64_t)op->count * hd_bit_count(op->mask);
    mix->loads += op->kind == HEDDLE_OP_LOAD ? op->count : 0;
    mix->stores += op->kind == HEDDLE_OP_STORE ? op->count : 0;
    mix->atomics += op->kind == HEDDLE_OP_ATOMIC ? op->count : 0;
    return 0;
}

int hd_cluster_run(struct hd_source *s, const struct hd_launch *l,
                   struct hd_mix *mix, struct heddle_error *err)
{
    struct hd_visitor v = {.step = cluster_count, .ud = mix};

    memset(mix, 0, sizeof *mix);
    return hd_functional_launch(s, l, &v, err);
}
