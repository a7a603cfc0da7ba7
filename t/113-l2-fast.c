/*
 * Pinned: the fast path through a slice of the L2 (memory/fast/l2.c) is the general
 * one.  The same random traffic goes through the same small random machine
 * twice, the second time with every request made to take the general path; all
 * answers, all that is sent to memory, all counters and histograms must be the
 * same, in the same order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2rig.h"

#include "kit/rng.h"

static void configure(struct rig *g, struct hd_rng *r)
{
    g->w.channels = 1u << pick(r, 0, 2);
    g->w.interleave = 128u << pick(r, 0, 2);
    g->cache.slices = g->w.channels << pick(r, 0, 2);
    if (pick(r, 0, 2) == 0) { /* any numbers */
        g->w.channels = pick(r, 1, 5);
        g->w.interleave = 128 * pick(r, 1, 3);
        g->cache.slices = pick(r, 0, 1) ? g->w.channels * pick(r, 1, 3)
                                        : pick(r, 1, 9);
    }
    g->cache.ways = pick(r, 1, 16);
    g->cache.bytes = (uint64_t)g->cache.slices * g->cache.ways * 128
                     << pick(r, 0, 3);
    if (pick(r, 0, 3) == 0)
        g->cache.bytes *= 3;
    g->cache.mshrs = pick(r, 2, 16);
    g->cache.merges = pick(r, 1, 4);
    g->cache.queue = pick(r, 1, 8);
    g->cache.ports = pick(r, 1, 3);
    g->cache.latency = pick(r, 0, 9);
    g->cache.queue_latency = pick(r, 0, 1) * pick(r, 1, 9);
    g->cache.write = hd_rng_below(r, 3);
    g->cache.slice_hash = hd_rng_below(r, 3);
    g->cache.set_hash = hd_rng_below(r, 3);
    if (g->cache.slices % 2 != 0 || g->w.channels % 2 != 0 ||
        g->cache.slices % g->w.channels != 0 || g->w.interleave == 384)
        g->cache.slice_hash = pick(r, 0, 1); /* ipoly: of even numbers */
    if (g->cache.bytes / g->cache.slices / g->cache.ways / 128 % 2 != 0)
        g->cache.set_hash = pick(r, 0, 1);
    g->xbar.latency = pick(r, 0, 9);
    g->w.walk_latency = pick(r, 0, 9);
    g->xbar.bytes = 8u << pick(r, 0, 3);
    g->limit = pick(r, 1, 20);
    g->took = pick(r, 0, 99);
}

/* Half of all requests are walk reads, most of them of few lines. */
static void send(struct rig *g, struct hd_rng *r, uint32_t n)
{
    uint32_t lines = pick(r, 4, 400), gap = pick(r, 1, 30);
    uint32_t writes = pick(r, 0, 3);
    hd_time at = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t kind = hd_rng_below(r, 2) ? HD_REQ_WALK : HD_REQ_READ, x;
        uint32_t line = hd_rng_below(r, hd_rng_below(r, 3) ? 8 : lines);

        if (hd_rng_below(r, 8) < writes)
            kind = hd_rng_below(r, 4) ? HD_REQ_WRITE : HD_REQ_ATOMIC;
        at += hd_rng_below(r, gap);
        x = rig_at(g, at, kind, (uint64_t)line * 128,
                   kind == HD_REQ_WALK ? 8 : 32u << hd_rng_below(r, 3), i);
        g->reqs.v[x].app = (uint8_t)hd_rng_below(r, 4);
        if (kind == HD_REQ_WALK)
            g->reqs.v[x].level = (uint8_t)pick(r, 1, 4);
        if (hd_rng_below(r, 50) == 0)
            g->reqs.v[x].flags = HD_REQ_BYPASS;
    }
}

static struct rig *run(uint32_t seed, uint32_t n, bool fast)
{
    struct rig *g = malloc(sizeof *g);
    struct hd_rng r = hd_rng_make(13, seed);

    rig_init(g);
    configure(g, &r);
    rig_open(g);
    g->l2->check = false; /* which the fast path leaves out */
    hd_env_bound(&g->m.env);
    assert_true(g->l2->quiet);
    g->l2->quiet = fast;
    send(g, &r, n);
    rig_finish(g);
    return g;
}

static void same(const struct rig *a, const struct rig *b)
{
    const struct hd_stat *x = &a->m.stats.group[0].stat;
    const struct hd_stat *y = &b->m.stats.group[0].stat;

    assert_int_equal(a->answers, b->answers);
    for (uint32_t i = 0; i < a->answers; i++) {
        assert_int_equal(a->answer[i].at, b->answer[i].at);
        assert_int_equal(a->answer[i].tag, b->answer[i].tag);
        assert_int_equal(a->answer[i].hit, b->answer[i].hit);
    }
    assert_int_equal(a->sends, b->sends);
    for (uint32_t i = 0; i < a->sends; i++) {
        assert_int_equal(a->sent[i].at, b->sent[i].at);
        assert_int_equal(a->sent[i].pa, b->sent[i].pa);
        assert_int_equal(a->sent[i].kind, b->sent[i].kind);
        assert_int_equal(a->sent[i].bytes, b->sent[i].bytes);
        assert_int_equal(a->sent[i].app, b->sent[i].app);
    }
    assert_memory_equal(x->v, y->v,
                        sizeof *x->v * x->n * x->apps * x->instances);
    for (int k = 0; k < HD_L2_HISTS; k++)
        assert_memory_equal(a->l2->hist[k], b->l2->hist[k],
                            x->apps * sizeof *a->l2->hist[k]);
}

static void fast_is_general(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 150; seed++) {
        struct rig *a = run(seed, 1500, true), *b = run(seed, 1500, false);

        rig_sync(a);
        rig_sync(b);
        same(a, b);
        rig_close(a);
        rig_close(b);
        free(a);
        free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_is_general),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
