/*
 * Pinned: an L2 of two halves.  When a line is answered that is at home in the
 * half of its reader or in the other, is copied, changed, or dropped from
 * memory; that what one core reads in turn is near up to the capacity of a half
 * and a mixture beyond; that random traffic loses nothing.
 *
 * As in 110-l2-timing.c an L2 cycle is 2 ticks, a request sent at 0 is looked
 * up at 16, a read of DRAM takes 50.  The halves are 7 cycles, 14 ticks, apart.
 * Of clients 0 to 7 the first four are in the lower half, with the first half
 * of the slices.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2rig.h"

enum { LINE = 128, FAR = 14, LOOK = 16, AGAIN = 10, DRAM = 50 };

/* Clients of a tag: tag % 8. */
enum { LOW = 0, HIGH = 4 };

static struct rig *start(uint32_t sector)
{
    struct rig *g = malloc(sizeof *g);

    rig_init(g);
    g->w.channels = g->cache.slices = 2;
    g->w.interleave = LINE;
    g->w.cores = 8;
    g->w.burst = 32;
    g->cache.bytes = 2048;
    g->cache.halves = 2;
    g->cache.far_latency = FAR / 2;
    g->cache.far_copies = 1;
    g->cache.sector_bytes = sector;
    return g;
}

static uint64_t count(const struct rig *g, const char *name)
{
    extern const struct hd_rows hd_rows_l2half;
    const struct hd_stat *s = &g->l2->half.stat;
    uint64_t sum = 0;
    uint32_t k = 0;

    while (strcmp(hd_rows_l2half.counters[k].name, name) != 0)
        assert_true(++k < hd_rows_l2half.counter_count);
    for (uint32_t i = 0; i < s->instances; i++)
        for (uint32_t a = 0; a < s->apps; a++)
            sum += *hd_count(s, i, a == s->apps - 1 ? HD_APP_NONE : a, k);
    return sum;
}

static void stop(struct rig *g)
{
    rig_finish(g);
    rig_close(g);
    free(g);
}

static void reads(void **state)
{
    (void)state;
    for (uint32_t sector = 0; sector <= 32; sector += 32) {
        struct rig *g = start(sector);
        uint32_t size = sector ? 32 : LINE;

        rig_open(g);
        rig_at(g, 0, HD_REQ_READ, 0, size, 8 + LOW);       /* its own half */
        rig_at(g, 200, HD_REQ_READ, LINE, size, 16 + LOW); /* the other */
        rig_at(g, 400, HD_REQ_READ, LINE, size, 24 + LOW); /* its copy */
        rig_at(g, 500, HD_REQ_READ, LINE, size, 8 + HIGH); /* at home */
        rig_at(g, 600, HD_REQ_READ, 0, size, 16 + HIGH);
        rig_at(g, 700, HD_REQ_READ, 0, size, 24 + HIGH);
        rig_finish(g);
        assert_int_equal(rig_when(g, 8 + LOW), LOOK + DRAM);
        assert_int_equal(rig_when(g, 16 + LOW),
                         200 + LOOK + FAR + AGAIN + DRAM + FAR);
        assert_int_equal(rig_when(g, 24 + LOW), 400 + LOOK);
        assert_int_equal(rig_when(g, 8 + HIGH), 500 + LOOK);
        assert_int_equal(rig_when(g, 16 + HIGH),
                         600 + LOOK + FAR + AGAIN + FAR);
        assert_int_equal(rig_when(g, 24 + HIGH), 700 + LOOK);
        assert_int_equal(g->sends, 2);
        assert_int_equal(rig_count(g, "read_lookups"), 6);
        assert_int_equal(rig_count(g, "read_hits"), 4);
        assert_int_equal(rig_count(g, "dram_reads"), 2);
        assert_int_equal(count(g, "near_hits"), 2);
        assert_int_equal(count(g, "far_reads"), 2);
        assert_int_equal(count(g, "copies"), 2);
        stop(g);
    }
}

/* A copy has the sectors that were asked for. */
static void sectors(void **state)
{
    struct rig *g = start(32);

    (void)state;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, LINE, 32, 8 + LOW);
    rig_at(g, 200, HD_REQ_READ, LINE + 32, 32, 16 + LOW);
    rig_at(g, 400, HD_REQ_READ, LINE, 64, 24 + LOW);
    rig_at(g, 600, HD_REQ_READ, LINE + 64, 32, 8 + HIGH);
    rig_at(g, 800, HD_REQ_READ, LINE, 128, 32 + LOW); /* one and two */
    rig_finish(g);
    assert_int_equal(count(g, "near_hits"), 1);
    assert_int_equal(count(g, "far_reads"), 3);
    assert_int_equal(rig_when(g, 24 + LOW), 400 + LOOK);
    assert_int_equal(g->sends, 4);
    stop(g);
}

/* A write drops the copy of the other half, after what has left before. */
static void writes(void **state)
{
    struct rig *g = start(0);
    uint32_t r;

    (void)state;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, LINE, LINE, 8 + LOW);
    rig_at(g, 400, HD_REQ_WRITE, LINE, 32, 8 + HIGH); /* done at 416 */
    rig_at(g, 412, HD_REQ_READ, LINE, LINE, 16 + LOW);
    rig_at(g, 416, HD_REQ_READ, LINE, LINE, 24 + LOW);
    rig_at(g, 600, HD_REQ_ATOMIC, LINE, 32, 32 + LOW);
    r = rig_at(g, 800, HD_REQ_WRITE, LINE, 32, 40 + LOW);
    g->reqs.v[r].flags = HD_REQ_ACK;
    r = rig_at(g, 1000, HD_REQ_WRITE, LINE, 32, 48 + HIGH);
    g->reqs.v[r].flags = HD_REQ_ACK;
    rig_finish(g);
    assert_int_equal(rig_when(g, 16 + LOW), 412 + LOOK);
    assert_int_equal(rig_when(g, 24 + LOW), 416 + LOOK + FAR + AGAIN + FAR);
    assert_int_equal(rig_when(g, 32 + LOW), 600 + LOOK + FAR + FAR);
    assert_int_equal(rig_when(g, 40 + LOW), 800 + LOOK + FAR + FAR);
    assert_int_equal(rig_when(g, 48 + HIGH), 1000 + LOOK);
    assert_int_equal(count(g, "dropped"), 2); /* by the write, the atomic */
    assert_int_equal(count(g, "near_hits"), 1);
    assert_int_equal(g->sends, 1);
    stop(g);
}

/* A line is taken out of the L2: its copy, too. */
static void taken_out(void **state)
{
    struct rig *g = start(0);

    (void)state;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, LINE, LINE, 8 + LOW);
    rig_until(g, 300);
    assert_int_equal(hd_l2_drop(g->l2, 0, (hd_pa){LINE}), HD_L2_WAS_CLEAN);
    assert_int_equal(count(g, "dropped"), 1);
    rig_at(g, 400, HD_REQ_READ, LINE, LINE, 16 + LOW);
    rig_finish(g);
    assert_int_equal(g->sends, 2);
    stop(g);
}

/* Without copies, and what skips the cache, is of its home alone; a walker has
 * no half. */
static void no_copies(void **state)
{
    struct rig *g = start(0);
    uint32_t r;

    (void)state;
    g->cache.far_copies = 0;
    g->w.cores = 7;
    rig_open(g);
    for (uint32_t i = 0; i < 2; i++)
        rig_at(g, 200 * i, HD_REQ_READ, LINE, LINE, 8 + 8 * i + LOW);
    r = rig_at(g, 400, HD_REQ_READ, LINE, LINE, 24 + LOW);
    g->reqs.v[r].flags = HD_REQ_BYPASS;
    r = rig_at(g, 600, HD_REQ_WALK, LINE, 8, 7);
    g->reqs.v[r].level = 4;
    rig_at(g, 800, HD_REQ_WALK, 0, 8, 15);
    rig_finish(g);
    assert_int_equal(rig_when(g, 8 + LOW), LOOK + FAR + DRAM + FAR);
    assert_int_equal(rig_when(g, 16 + LOW), 200 + LOOK + FAR + FAR);
    assert_int_equal(rig_when(g, 24 + LOW), 400 + 6 + FAR + DRAM + FAR);
    assert_int_equal(rig_when(g, 7), 600 + LOOK);
    assert_int_equal(rig_when(g, 15), 800 + LOOK + DRAM);
    assert_int_equal(count(g, "far_reads") + count(g, "copies"), 0);
    stop(g);
}

/* One core reads so many lines in turn, twice.  A half has 64 lines in sets of
 * 4.  Up to 64 lines all are near the second time; beyond, under LRU, its own
 * half has lost all of them: every second line is a far hit, the others come
 * from DRAM; beyond 128 all do. */
static void capacity(void **state)
{
    static const uint32_t lines[] = {32, 64, 96, 128, 160};

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(lines); i++) {
        uint32_t n = lines[i], far = n > 64 ? n / 2 : 0, gap = 300;
        struct rig *g = start(0);
        uint64_t sum = 0, want = n * LOOK;

        g->cache.bytes = 2 * 64 * LINE;
        g->cache.ways = 4;
        rig_open(g);
        for (uint32_t k = 0; k < 2 * n; k++)
            rig_at(g, k * gap, HD_REQ_READ, k % n * LINE, LINE, 8 * k + LOW);
        rig_finish(g);
        for (uint32_t k = n; k < 2 * n; k++)
            sum += rig_when(g, 8 * k + LOW) - k * gap;
        want += far * DRAM + far * (FAR + AGAIN + FAR);
        if (n > 128)
            want += far * DRAM;
        assert_int_equal(sum, want);
        assert_int_equal(count(g, "near_hits"), n > 64 ? 0 : n / 2);
        assert_int_equal(g->sends, n + (n > 128 ? n : far));
        stop(g);
    }
}

static void soak(uint32_t seed)
{
    struct hd_rng r = hd_rng_make(19, seed);
    struct rig *g = start(hd_rng_below(&r, 2) * 32);
    uint32_t lines = pick(&r, 4, 100), gap = pick(&r, 1, 20), answers = 0;
    hd_time at = 0;

    g->w.channels = pick(&r, 1, 3);
    g->cache.slices = 2 * pick(&r, 1, 3);
    g->cache.ways = pick(&r, 1, 4);
    g->cache.bytes =
        (uint64_t)g->cache.slices * g->cache.ways * LINE * pick(&r, 1, 5);
    g->cache.mshrs = pick(&r, 1, 5);
    g->cache.merges = pick(&r, 1, 4);
    g->cache.queue = pick(&r, 1, 4);
    g->cache.write = hd_rng_below(&r, 3);
    g->cache.far_latency = pick(&r, 0, 9);
    g->limit = pick(&r, 1, 5);
    rig_open(g);
    for (uint32_t i = 0; i < 1500; i++) {
        uint32_t kind = pick(&r, 0, 2) ? HD_REQ_READ : pick(&r, 0, 3), x;

        answers += kind != HD_REQ_WRITE;
        at += hd_rng_below(&r, gap);
        x = rig_at(g, at, kind, (uint64_t)hd_rng_below(&r, lines) * LINE,
                   kind == HD_REQ_WALK ? 8 : 32u << hd_rng_below(&r, 3), i);
        g->reqs.v[x].app = (uint8_t)hd_rng_below(&r, 4);
        if (kind == HD_REQ_WALK)
            g->reqs.v[x].level = (uint8_t)pick(&r, 1, 4);
        if (hd_rng_below(&r, 30) == 0)
            g->reqs.v[x].flags = HD_REQ_BYPASS;
    }
    for (hd_time t = 0; t < at; t += at / 50 + 1)
        rig_until(g, t);
    rig_finish(g);
    assert_int_equal(g->answers, answers);
    assert_int_equal(rig_count(g, "dram_reads") + rig_count(g, "dram_writes"),
                     g->sends);
    for (uint32_t i = 0; i < g->cache.slices; i++)
        assert_int_equal(g->l2->slice[i].s->copying, 0);
    stop(g);
}

static void random_traffic(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 200; seed++)
        soak(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),          cmocka_unit_test(sectors),
        cmocka_unit_test(writes),         cmocka_unit_test(taken_out),
        cmocka_unit_test(no_copies),      cmocka_unit_test(capacity),
        cmocka_unit_test(random_traffic),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
