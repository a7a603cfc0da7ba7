/*
 * Pinned: when a request is looked up, sent to DRAM and answered in a slice
 * of the L2, in pairs of "not yet" and "now"; what blocks the input and what
 * frees it; what reaches DRAM under each write policy and mode.
 *
 * An L2 cycle is 2 ticks.  A request sent at 0 arrives at 6 and the result of
 * its look-up is known at 16.  A read of DRAM takes 50 ticks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2rig.h"

enum { LINE = 128, SET = 4 * LINE /* lines so far apart share a set */ };

static struct rig *start(void)
{
    struct rig *g = malloc(sizeof *g);

    rig_init(g);
    return g;
}

static void stop(struct rig *g)
{
    rig_finish(g);
    rig_close(g);
    free(g);
}

static void miss_and_hit(void **state)
{
    struct rig *g = start();

    (void)state;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, 0, 128, 1);
    rig_at(g, 101, HD_REQ_READ, 64, 32, 2); /* off the edge: leaves at 102 */
    rig_until(g, 15);
    assert_int_equal(g->sends, 0);
    rig_until(g, 16);
    assert_int_equal(g->sends, 1);
    assert_int_equal(g->sent[0].bytes, 128);
    rig_until(g, 65);
    assert_int_equal(g->answers, 0);
    rig_until(g, 66);
    assert_int_equal(rig_when(g, 1), 66);
    assert_int_equal(g->answer[0].hit, 2);
    rig_finish(g);
    assert_int_equal(rig_when(g, 2), 102 + 6 + 10);
    assert_int_equal(g->answer[1].hit, 0);
    assert_int_equal(rig_count(g, "read_hits"), 1);
    assert_int_equal(rig_count(g, "read_misses"), 1);
    assert_int_equal(rig_count(g, "read_lookups"), 2);
    assert_int_equal(rig_count(g, "fills"), 1);
    assert_int_equal(rig_count(g, "dram_reads"), 1);
    stop(g);
}

/* A walk read takes the crossbar's way, or one of its own; data keep theirs. */
static void ways_of_walks(void **state)
{
    static const struct {
        uint32_t latency, known, back; /* ticks */
    } way[] = {{0, 16, 6}, {1, 12, 2}, {9, 28, 18}};

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(way); i++) {
        struct rig *g = start();
        uint32_t r;

        g->w.walk_latency = way[i].latency;
        rig_open(g);
        r = rig_at(g, 0, HD_REQ_WALK, 0, 8, 1);
        g->reqs.v[r].level = 4;
        rig_until(g, way[i].known - 1);
        assert_int_equal(g->sends, 0);
        rig_until(g, way[i].known);
        assert_int_equal(g->sends, 1);
        rig_at(g, 100, HD_REQ_READ, 4 * SET, 32, 2);
        rig_until(g, 115);
        assert_int_equal(g->sends, 1);
        rig_until(g, 116);
        assert_int_equal(g->sends, 2);
        r = rig_at(g, 201, HD_REQ_WALK, 8, 8, 3); /* leaves at 202 */
        g->reqs.v[r].level = 3;
        rig_finish(g);
        assert_int_equal(rig_when(g, 1), way[i].known + 50);
        assert_int_equal(rig_when(g, 2), 166);
        assert_int_equal(rig_when(g, 3), 202 + way[i].known);
        assert_int_equal(hd_l2_back(g->l2), 6);
        assert_int_equal(hd_l2_walk_back(g->l2), way[i].back);
        stop(g);
    }
}

/* The partition before the tags: 7 cycles, 14 ticks, for data that hit or miss
 * and for walk reads; a read that skips the cache skips them. */
static void partition(void **state)
{
    (void)state;
    for (uint32_t steered = 0; steered < 2; steered++) {
        struct rig *g = start();
        uint32_t r;

        g->cache.queue_latency = 7;
        g->w.walk_latency = 1;
        rig_open(g);
        if (steered) { /* the question at the input delays nothing */
            g->m.steer.l2_bypass[0][1] = g->m.steer.l2_steered[0][4] = 1;
            g->m.steer.set |= 1u << HD_TABLE_l2_bypass;
        }
        rig_at(g, 0, HD_REQ_READ, 0, 128, 1);
        rig_until(g, 29);
        assert_int_equal(g->sends, 0);
        rig_until(g, 30);
        assert_int_equal(g->sends, 1);
        r = rig_at(g, 100, HD_REQ_WALK, SET, 8, 2);
        g->reqs.v[r].level = 4;
        rig_until(g, 125);
        assert_int_equal(g->sends, 1);
        rig_until(g, 126);
        assert_int_equal(g->sends, 2);
        r = rig_at(g, 200, HD_REQ_WALK, SET, 8, 3);
        g->reqs.v[r].level = 4;
        r = rig_at(g, 300, HD_REQ_WALK, SET, 8, 4);
        g->reqs.v[r].level = 4;
        g->reqs.v[r].flags = HD_REQ_BYPASS;
        rig_at(g, 400, HD_REQ_READ, 0, 32, 5);
        g->reqs.v[rig_at(g, 500, HD_REQ_READ, 0, 32, 6)].flags = HD_REQ_BYPASS;
        rig_until(g, 301);
        assert_int_equal(g->sends, 2);
        rig_until(g, 302);
        assert_int_equal(g->sends, 3);
        rig_until(g, 505);
        assert_int_equal(g->sends, 3);
        rig_until(g, 506);
        assert_int_equal(g->sends, 4);
        rig_finish(g);
        assert_int_equal(rig_when(g, 1), 80);
        assert_int_equal(rig_when(g, 2), 176);
        assert_int_equal(rig_when(g, 3), 226);
        assert_int_equal(rig_when(g, 4), 352);
        assert_int_equal(rig_when(g, 5), 430);
        assert_int_equal(rig_when(g, 6), 556);
        assert_int_equal(rig_count(g, "bypass_walks"), 1);
        assert_int_equal(rig_count(g, "bypass_data"), 1);
        stop(g);
    }
}

/* Two wait for one line: one read of DRAM; the answers share the output port,
 * which the first holds for 128 / 32 cycles. */
static void merge(void **state)
{
    struct rig *g = start();

    (void)state;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, 0, 128, 1);
    rig_at(g, 30, HD_REQ_READ, 32, 32, 2);
    rig_at(g, 49, HD_REQ_READ, 32, 32, 3); /* leaves at 50, known at 66 */
    rig_at(g, 52, HD_REQ_READ, 32, 32, 4); /* known at 68, after the fill */
    rig_finish(g);
    assert_int_equal(g->sends, 1);
    assert_int_equal(rig_when(g, 1), 66);
    assert_int_equal(rig_when(g, 2), 66 + 8);
    assert_int_equal(g->answer[1].hit, 1);
    assert_int_equal(rig_count(g, "read_merged"), 2); /* 3 was just in time */
    assert_int_equal(rig_count(g, "read_hits"), 1);
    assert_int_equal(rig_when(g, 3), 66 + 8 + 2);
    assert_int_equal(rig_when(g, 4), 66 + 8 + 4);
    assert_int_equal(rig_count(g, "output_busy"), 7);
    stop(g);
}

/* One MSHR: a second line waits for the fill of the first, a hit behind it
 * waits too, and is served after it. */
static void full_mshrs(void **state)
{
    struct rig *g = start();

    (void)state;
    g->cache.mshrs = 1;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, 0, 32, 1);
    rig_at(g, 100, HD_REQ_READ, LINE, 32, 2);
    rig_at(g, 110, HD_REQ_READ, 2 * LINE, 32, 3);
    rig_at(g, 112, HD_REQ_READ, 0, 32, 4);
    rig_until(g, 165); /* line 1 comes at 166 */
    assert_int_equal(g->sends, 2);
    assert_int_equal(rig_count(g, "read_lookups"), 2);
    rig_until(g, 166);
    assert_int_equal(rig_count(g, "read_lookups"), 4);
    assert_int_equal(g->sends, 3);
    assert_int_equal(rig_when(g, 2), 166);
    assert_int_equal(rig_when(g, 4), 168); /* one port: a cycle behind 3 */
    assert_int_equal(rig_count(g, "blocked_mshrs"), (166 - 126) / 2);
    assert_int_equal(rig_count(g, "peak_input"), 2);
    assert_int_equal(rig_count(g, "peak_mshrs"), 1);
    stop(g);
}

/* A hit at the head passes while all MSHRs are in use. */
static void hit_under_full_mshrs(void **state)
{
    struct rig *g = start();

    (void)state;
    g->cache.mshrs = 1;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, 0, 32, 1);
    rig_at(g, 100, HD_REQ_READ, LINE, 32, 2);
    rig_at(g, 110, HD_REQ_READ, 0, 32, 3);
    rig_finish(g);
    assert_int_equal(rig_when(g, 3), 126);
    assert_int_equal(rig_count(g, "blocked_mshrs"), 0);
    stop(g);
}

static void full_merges(void **state)
{
    struct rig *g = start();

    (void)state;
    g->cache.merges = 2;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, 0, 32, 1);
    rig_at(g, 2, HD_REQ_READ, 0, 32, 2);
    rig_at(g, 4, HD_REQ_READ, 0, 32, 3);
    rig_until(g, 65);
    assert_int_equal(rig_count(g, "read_lookups"), 2);
    rig_until(g, 66);
    assert_int_equal(rig_count(g, "read_lookups"), 3);
    assert_int_equal(rig_count(g, "read_hits"), 1);
    assert_int_equal(rig_when(g, 3), 66 + 4); /* two on the output */
    assert_int_equal(rig_count(g, "blocked_merges"), (66 - 20) / 2);
    stop(g);
}

/* Memory takes one request at a time; the queue holds one more, and the third
 * miss is not looked up before the second has left. */
static void full_queue(void **state)
{
    struct rig *g = start();

    (void)state;
    g->limit = 1;
    g->cache.queue = 1;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, 0, 32, 1);
    rig_at(g, 20, HD_REQ_READ, LINE, 32, 2);
    rig_at(g, 22, HD_REQ_READ, 2 * LINE, 32, 3);
    rig_until(g, 65);
    assert_int_equal(g->sends, 1);
    assert_int_equal(rig_count(g, "read_lookups"), 2);
    rig_until(g, 66);
    assert_int_equal(g->sends, 2);
    assert_int_equal(rig_count(g, "read_lookups"), 3);
    rig_finish(g);
    assert_int_equal(rig_when(g, 2), 116);
    assert_int_equal(g->sent[2].at, 116);
    assert_int_equal(rig_count(g, "blocked_queue"), (66 - 38) / 2);
    stop(g);
}

/* The input port: 128 bytes of a write are four flits; the read behind it is
 * looked up in the cycle after the last. */
static void input_port(void **state)
{
    struct rig *g = start();

    (void)state;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, 0, 32, 1);
    rig_at(g, 100, HD_REQ_WRITE, LINE, 128, 2);
    rig_at(g, 100, HD_REQ_READ, 0, 32, 3);
    rig_finish(g);
    assert_int_equal(rig_when(g, 3), 106 + 8 + 10);
    assert_int_equal(rig_count(g, "input_busy"), 6);
    stop(g);
}

/* Look-up ports: four hits wait behind a blocked miss. */
static void look_up_ports(void **state)
{
    (void)state;
    for (uint32_t ports = 1; ports <= 2; ports++) {
        struct rig *g = start();

        g->cache.mshrs = 1;
        g->cache.ports = ports;
        g->xbar.bytes = 1024;
        rig_open(g);
        rig_at(g, 0, HD_REQ_READ, 0, 1, 1);
        rig_at(g, 100, HD_REQ_READ, LINE, 1, 2);
        rig_at(g, 102, HD_REQ_READ, 2 * LINE, 1, 3);
        for (uint32_t i = 0; i < 4; i++)
            rig_at(g, 104 + 2 * i, HD_REQ_READ, 0, 1, 4 + i);
        rig_until(g, 166);
        /* from 166 on one or two results a cycle, the miss's first */
        assert_int_equal(rig_count(g, "input_wait"),
                         ports == 1 ? 24 + 24 + 24 + 24 + 24
                                    : 24 + 23 + 23 + 22 + 22);
        stop(g);
    }
}

/* Neighbouring lines are in different slices and do not wait for each other;
 * lines of one slice do. */
static void bank_conflict(void **state)
{
    struct rig *g = start();

    (void)state;
    g->cache.slices = 4;
    g->cache.bytes = 4096;
    g->w.channels = 2;
    g->w.interleave = 256;
    rig_open(g);
    for (uint64_t pa = 0; pa < 4096; pa += LINE) {
        hd_pa a = {pa};
        assert_int_equal(hd_l2_slice(g->l2, a),
                         pa / 256 % 2 * 2 + pa / 128 % 2);
    }
    rig_at(g, 0, HD_REQ_READ, 0, 32, 1);
    rig_at(g, 0, HD_REQ_READ, LINE, 32, 2);
    rig_at(g, 0, HD_REQ_READ, 4 * LINE, 32, 3);
    rig_finish(g);
    assert_int_equal(rig_when(g, 1), 66);
    assert_int_equal(rig_when(g, 2), 66);
    assert_int_equal(rig_when(g, 3), 68);
    stop(g);
}

/* Every line belongs to the slice of its channel, and the sets of a slice
 * are used evenly, for odd numbers too and for a coarse interleave. */
static void spread(void **state)
{
    static const struct {
        uint32_t channels, slices, interleave, sets;
    } c[] = {{6, 12, 256, 85}, {8, 16, 256, 64}, {8, 16, 4096, 64},
             {1, 3, 128, 7},   {3, 3, 384, 10},  {2, 8, 65536, 16}};

    (void)state;
    for (size_t k = 0; k < HD_LEN(c); k++) {
        struct rig *g = start();
        uint32_t used[16] = {0}, lines, s;

        g->w.channels = c[k].channels;
        g->w.interleave = c[k].interleave;
        g->cache.slices = c[k].slices;
        g->cache.bytes = (uint64_t)c[k].slices * c[k].sets * 2 * LINE;
        lines = (uint32_t)(g->cache.bytes / LINE);
        rig_open(g);
        for (uint64_t l = 0; l < lines; l++) {
            hd_pa pa = {l * LINE};
            s = hd_l2_slice(g->l2, pa);
            assert_int_equal(s / (c[k].slices / c[k].channels),
                             rig_channel(g, pa.v));
            used[s]++;
        }
        /* a stretch of the capacity fills everything and evicts nothing */
        if (lines % (c[k].channels * (c[k].interleave / LINE)) == 0) {
            for (uint64_t l = 0; l < lines; l++)
                rig_at(g, l * 40, HD_REQ_READ, l * LINE, 32, 1);
            rig_finish(g);
            assert_int_equal(rig_count(g, "evictions"), 0);
            for (uint32_t i = 0; i < c[k].slices; i++)
                assert_int_equal(used[i], lines / c[k].slices);
        }
        stop(g);
    }
}

/* Steered: page walk reads of level 4 of application 0 skip the cache. */
static void bypass(void **state)
{
    struct rig *g = start();
    uint32_t r;

    (void)state;
    rig_open(g);
    g->m.steer.l2_bypass[0][4] = g->m.steer.l2_steered[0][4] = 1;
    g->m.steer.set |= 1u << HD_TABLE_l2_bypass;
    r = rig_at(g, 0, HD_REQ_WALK, 72, 8, 1);
    g->reqs.v[r].level = 4;
    r = rig_at(g, 100, HD_REQ_WALK, 72, 8, 2);
    g->reqs.v[r].level = 3;
    r = rig_at(g, 200, HD_REQ_WALK, 72, 8, 3);
    g->reqs.v[r].level = 4;
    rig_at(g, 300, HD_REQ_READ, 64, 32, 4);
    g->reqs.v[rig_at(g, 400, HD_REQ_READ, 64, 32, 5)].flags = HD_REQ_BYPASS;
    rig_until(g, 5);
    assert_int_equal(g->sends, 0);
    rig_until(g, 6); /* no look-up */
    assert_int_equal(g->sends, 1);
    assert_int_equal(g->sent[0].pa, 64); /* one burst */
    assert_int_equal(g->sent[0].bytes, 32);
    rig_finish(g);
    assert_int_equal(rig_when(g, 1), 56);
    assert_int_equal(rig_when(g, 2), 166);
    assert_int_equal(g->sent[1].bytes, 128);
    assert_int_equal(rig_when(g, 3), 256); /* though the line is present */
    assert_int_equal(rig_when(g, 4), 316);
    assert_int_equal(rig_when(g, 5), 456);
    assert_int_equal(rig_count(g, "bypass_walks"), 2);
    assert_int_equal(rig_count(g, "bypass_data"), 1);
    assert_int_equal(rig_count(g, "walk3_misses"), 1);
    assert_int_equal(rig_count(g, "walk4_lookups"), 0);
    assert_int_equal(rig_count(g, "fills"), 1);
    stop(g);
}

/* A write allocates without reading DRAM; its line is written back when
 * others push it out, and the cost goes to its owner. */
static void dirty_write_back(void **state)
{
    struct rig *g = start();

    (void)state;
    rig_open(g);
    g->reqs.v[rig_at(g, 0, HD_REQ_WRITE, 0, 32, 1)].app = 3;
    rig_at(g, 100, HD_REQ_READ, SET, 32, 2);
    rig_at(g, 200, HD_REQ_READ, 2 * SET, 32, 3);
    rig_at(g, 300, HD_REQ_READ, 3 * SET, 32, 4); /* its victim is clean */
    rig_until(g, 265);
    assert_int_equal(g->sends, 2);
    rig_until(g, 266); /* together with the fill */
    assert_int_equal(g->sends, 3);
    assert_int_equal(g->sent[2].kind, HD_REQ_WRITE);
    assert_int_equal(g->sent[2].pa, 0);
    assert_int_equal(g->sent[2].bytes, 128);
    assert_int_equal(g->sent[2].app, 3);
    rig_finish(g);
    assert_int_equal(g->sends, 4);
    assert_int_equal(rig_count(g, "write_backs"), 1);
    assert_int_equal(rig_count(g, "evictions"), 2);
    assert_int_equal(rig_count(g, "write_misses"), 1);
    stop(g);
}

/* A write and an atomic to a line in flight leave it dirty. */
static void dirty_in_flight(void **state)
{
    (void)state;
    for (uint32_t kind = HD_REQ_WRITE; kind <= HD_REQ_ATOMIC; kind++) {
        struct rig *g = start();

        rig_open(g);
        rig_at(g, 0, HD_REQ_READ, 0, 32, 1);
        rig_at(g, 20, kind, 0, 32, 2);
        rig_at(g, 100, HD_REQ_READ, SET, 32, 3);
        rig_at(g, 200, HD_REQ_READ, 2 * SET, 32, 4);
        rig_finish(g);
        assert_int_equal(g->sends, 4);
        assert_int_equal(rig_count(g, "write_backs"), 1);
        assert_int_equal(g->answers, kind == HD_REQ_WRITE ? 3 : 4);
        stop(g);
    }
}

static void write_through(void **state)
{
    struct rig *g = start();

    (void)state;
    g->cache.write = HD_WRITE_THROUGH;
    rig_open(g);
    rig_at(g, 0, HD_REQ_WRITE, 0, 32, 1); /* misses, allocates nothing */
    rig_at(g, 100, HD_REQ_READ, 0, 32, 2);
    rig_at(g, 200, HD_REQ_WRITE, 0, 32, 3); /* hits */
    rig_at(g, 300, HD_REQ_ATOMIC, 0, 32, 4);
    rig_at(g, 400, HD_REQ_READ, 0, 32, 5);
    rig_until(g, 15);
    assert_int_equal(g->sends, 0);
    rig_until(g, 16);
    assert_int_equal(g->sends, 1);
    assert_int_equal(g->sent[0].bytes, 32);
    rig_finish(g);
    assert_int_equal(g->sends, 4);
    assert_int_equal(rig_count(g, "dram_writes"), 3);
    assert_int_equal(rig_count(g, "read_hits"), 1);
    assert_int_equal(rig_count(g, "write_backs"), 0);
    stop(g);
}

/* Word that a write was taken comes when its look-up is done, also when the
 * write itself continues to DRAM. */
static void acknowledged(void **state)
{
    (void)state;
    for (uint32_t write = HD_WRITE_THROUGH; write <= HD_WRITE_BACK; write++) {
        struct rig *g = start();

        g->cache.write = write;
        rig_open(g);
        g->reqs.v[rig_at(g, 0, HD_REQ_WRITE, 0, 32, 1)].flags = HD_REQ_ACK;
        g->reqs.v[rig_at(g, 99, HD_REQ_WRITE, 0, 32, 2)].flags =
            HD_REQ_ACK | HD_REQ_BYPASS;
        rig_at(g, 200, HD_REQ_WRITE, 0, 32, 3);
        rig_finish(g);
        assert_int_equal(g->answers, 2);
        assert_int_equal(rig_when(g, 1), 16);
        assert_int_equal(rig_when(g, 2), 106);
        stop(g);
    }
}

static void modes(void **state)
{
    static const struct {
        struct hd_mode mode;
        hd_time first, second;
        uint32_t sends;
    } c[] = {{{HD_OFF, 0}, 56, 256, 3},
             {{HD_IDEAL, 0}, 16, 216, 0},
             {{HD_FIXED, 7}, 20, 220, 0}};

    (void)state;
    for (size_t k = 0; k < HD_LEN(c); k++) {
        struct rig *g = start();

        g->cache.mode = c[k].mode;
        rig_open(g);
        rig_at(g, 0, HD_REQ_READ, 0, 128, 1);
        rig_at(g, 200, HD_REQ_READ, 0, 128, 2);
        rig_at(g, 400, HD_REQ_WRITE, 0, 128, 3);
        rig_finish(g);
        assert_int_equal(rig_when(g, 1), c[k].first);
        assert_int_equal(rig_when(g, 2), c[k].second);
        assert_int_equal(g->sends, c[k].sends);
        stop(g);
    }
}

/* A line that is taken out misses again, and is not written back by the L2. */
static void dropped(void **state)
{
    struct rig *g = start();

    (void)state;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, 0, 128, 1);
    rig_at(g, 200, HD_REQ_WRITE, LINE, 128, 2);
    hd_events_run(&g->m.ev, 400, &g->m.err.code);
    assert_int_equal(hd_l2_drop(g->l2, 0, (hd_pa){2 * LINE}), HD_L2_NOT_THERE);
    assert_int_equal(hd_l2_drop(g->l2, 0, (hd_pa){64}), HD_L2_WAS_CLEAN);
    assert_int_equal(hd_l2_drop(g->l2, 0, (hd_pa){0}), HD_L2_NOT_THERE);
    assert_int_equal(hd_l2_drop(g->l2, 0, (hd_pa){LINE}), HD_L2_WAS_DIRTY);
    assert_int_equal(hd_l2_drop(g->l2, 0, (hd_pa){LINE}), HD_L2_NOT_THERE);
    assert_int_equal(g->sends, 1);
    rig_at(g, 500, HD_REQ_READ, 0, 128, 3);
    rig_at(g, 700, HD_REQ_READ, 0, 128, 4);
    rig_finish(g);
    assert_int_equal(g->sends, 2);
    assert_int_equal(rig_when(g, 3) - 500, rig_when(g, 1));
    assert_true(rig_when(g, 4) - 700 < rig_when(g, 1));
    stop(g);
}

/* The order of calls at one instant does not matter, that of clients does. */
static void order_of_clients(void **state)
{
    hd_time when[2][2];

    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        struct rig *g = start();

        rig_open(g);
        rig_at(g, 0, HD_REQ_READ, 0, 32, swap ? 2 : 1);
        rig_at(g, 0, HD_REQ_READ, LINE, 32, swap ? 1 : 2);
        rig_finish(g);
        when[swap][0] = rig_when(g, 1);
        when[swap][1] = rig_when(g, 2);
        stop(g);
    }
    assert_int_equal(when[0][0], when[1][0]);
    assert_int_equal(when[0][1], when[1][1]);
    assert_int_equal(when[0][1] - when[0][0], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(miss_and_hit),
        cmocka_unit_test(ways_of_walks),
        cmocka_unit_test(partition),
        cmocka_unit_test(merge),
        cmocka_unit_test(full_mshrs),
        cmocka_unit_test(hit_under_full_mshrs),
        cmocka_unit_test(full_merges),
        cmocka_unit_test(full_queue),
        cmocka_unit_test(input_port),
        cmocka_unit_test(look_up_ports),
        cmocka_unit_test(bank_conflict),
        cmocka_unit_test(spread),
        cmocka_unit_test(bypass),
        cmocka_unit_test(dirty_write_back),
        cmocka_unit_test(dirty_in_flight),
        cmocka_unit_test(write_through),
        cmocka_unit_test(acknowledged),
        cmocka_unit_test(modes),
        cmocka_unit_test(dropped),
        cmocka_unit_test(order_of_clients),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
