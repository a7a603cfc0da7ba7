/*
 * Pinned: under random traffic and small random machines no request is lost,
 * answered twice or answered early, whatever blocks; invariants are checked
 * all along, and two equal runs give equal answers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2rig.h"

#include "kit/rng.h"

static void configure(struct rig *g, struct hd_rng *r)
{
    static const uint32_t channels[] = {1, 2, 3, 4};

    g->w.channels = channels[hd_rng_below(r, 4)];
    g->w.interleave = 128u << hd_rng_below(r, 3);
    g->cache.slices = pick(r, 0, 2) ? g->w.channels * pick(r, 1, 3)
                                    : pick(r, 1, 9); /* maybe no multiple */
    g->cache.ways = pick(r, 1, 6);
    g->cache.bytes =
        (uint64_t)g->cache.slices * g->cache.ways * 128 * pick(r, 1, 9);
    g->cache.mshrs = pick(r, 1, 6);
    g->cache.merges = pick(r, 1, 4);
    g->cache.queue = pick(r, 1, 4);
    g->cache.ports = pick(r, 1, 3);
    g->cache.latency = pick(r, 0, 9);
    g->cache.queue_latency = pick(r, 0, 1) * pick(r, 1, 9);
    g->cache.write = hd_rng_below(r, 3);
    g->cache.mode.kind = hd_rng_below(r, 6) == 0 ? HD_OFF : HD_FULL;
    g->xbar.latency = pick(r, 0, 9);
    g->w.walk_latency = pick(r, 0, 9);
    g->xbar.bytes = 8u << hd_rng_below(r, 4);
    g->limit = pick(r, 1, 5);
    g->took = pick(r, 0, 99);
}

/* What can be looked at of a slice, and what is said to wait in it. */
enum { INPUT, DOWN, BELOW, QUEUES };

struct seen {
    uint64_t rows[QUEUES], waits[QUEUES], channel[QUEUES];
    uint32_t who; /* of the row under way; QUEUES: none of those */
};

static void see_row(void *ud, const char *kind)
{
    struct seen *s = ud;

    s->who = strcmp(kind, "input") == 0        ? INPUT
             : strcmp(kind, "miss queue") == 0 ? DOWN
             : strcmp(kind, "mshr") == 0       ? BELOW
                                               : QUEUES;
    if (s->who < QUEUES)
        s->rows[s->who]++;
}

static void see_text(void *ud, const char *field, const char *value)
{
    struct seen *s = ud;

    if (strcmp(field, "who") == 0)
        s->who = strcmp(value, "l2cache input") == 0        ? INPUT
                 : strcmp(value, "l2cache miss queue") == 0 ? DOWN
                                                            : BELOW;
}

static void see_number(void *ud, const char *field, uint64_t value)
{
    struct seen *s = ud;

    if (strcmp(field, "n") == 0)
        s->waits[s->who] += value;
    else if (strcmp(field, "channel") == 0)
        s->channel[s->who] = value + 1;
}

/* All that is in a slice waits, for the slice's own channel if it has one. */
static void see(struct rig *g)
{
    const struct hd_part *p = g->m.env.part;

    while (strcmp(p->name, "l2cache") != 0)
        p++;
    for (uint32_t i = 0; i < p->instances; i++) {
        struct seen s = {.who = QUEUES};
        struct heddle_visitor v = {see_row, see_number, see_text, &s};
        uint64_t channel = g->l2->slice[i].channel + 1;

        p->look(p->self, i, &v);
        p->stuck(p->self, i, &v);
        assert_int_equal(s.waits[INPUT], s.rows[INPUT]);
        assert_int_equal(s.waits[DOWN], s.rows[DOWN]);
        assert_in_range(s.waits[BELOW], s.rows[BELOW], UINT32_MAX);
        for (uint32_t k = DOWN; k <= BELOW; k++)
            assert_int_equal(s.channel[k], s.waits[k] > 0 ? channel : 0);
    }
}

static uint64_t soak(uint32_t seed, uint32_t n)
{
    struct rig *g = malloc(sizeof *g);
    struct hd_rng r = hd_rng_make(7, seed);
    uint32_t lines, reads = 0, gap;
    uint64_t hash = 0;
    hd_time at = 0;

    rig_init(g);
    configure(g, &r);
    rig_open(g);
    lines = pick(&r, 4, 200);
    gap = pick(&r, 1, 30);
    for (int a = 0; a < 4; a++) {
        uint32_t level = pick(&r, 0, 4);
        g->m.steer.l2_steered[a][level] = 1;
        g->m.steer.set |= 1u << HD_TABLE_l2_bypass;
        g->m.steer.l2_bypass[a][level] = (uint8_t)hd_rng_below(&r, 4);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t kind = hd_rng_below(&r, HD_REQ_KINDS), x;

        reads += kind != HD_REQ_WRITE;
        at += hd_rng_below(&r, gap);
        x = rig_at(g, at, kind,
                   (uint64_t)hd_rng_below(&r, lines) * 128 +
                       hd_rng_below(&r, 4) * 32,
                   kind == HD_REQ_WALK ? 8 : 32u << hd_rng_below(&r, 2), i);
        g->reqs.v[x].app = (uint8_t)hd_rng_below(&r, 4);
        if (kind == HD_REQ_WALK)
            g->reqs.v[x].level = (uint8_t)pick(&r, 1, 4);
    }
    for (hd_time t = 0; t < at; t += at / 50 + 1) {
        rig_until(g, t);
        see(g);
    }
    rig_finish(g);
    assert_int_equal(g->answers, reads);
    for (uint32_t i = 0; i < g->answers; i++)
        hash =
            hd_mix64(hash ^ g->answer[i].at ^ (uint64_t)g->answer[i].tag << 40);
    assert_int_equal(rig_count(g, "dram_reads") + rig_count(g, "dram_writes"),
                     g->sends);
    if (g->cache.write != HD_WRITE_BACK)
        assert_int_equal(rig_count(g, "write_backs"), 0);
    rig_close(g);
    free(g);
    return hash;
}

static void random_machines(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 300; seed++)
        soak(seed, 600);
}

static void equal_runs(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 20; seed++)
        assert_true(soak(seed, 500) == soak(seed, 500));
}

static void long_run(void **state)
{
    (void)state;
    for (uint32_t seed = 1000; seed < 1004; seed++)
        soak(seed, 30000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_machines),
        cmocka_unit_test(equal_runs),
        cmocka_unit_test(long_run),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
