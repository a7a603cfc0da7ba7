/*
 * 155-dram-queue - pins what surrounds the scheduler: senders that wait for
 * room are woken in the cycle in which a slot becomes free and in the order in
 * which they began to wait; classes and their queues; counters; the invariants
 * that --check looks at; and that a copy of the arena, put back, repeats the
 * run exactly.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kit/rng.h"
#include "dramrig.h"

/* Queue of one: each slot is free in the cycle of the column command. */
static void woken_in_time(void **state)
{
    struct hd_dram_cfg c = lone_cfg();
    struct item v[4];
    struct rig g;

    (void)state;
    for (uint64_t tick = 1; tick <= 7; tick += 6) {
        memset(v, 0, sizeof v);
        for (uint32_t i = 0; i < 4; i++) {
            v[i].address = i * 32;
            v[i].bytes = 32;
        }
        c.queue = 1;
        rig_open(&g, &c, tick);
        rig_run(&g, v, 4);
        assert_int_equal(v[0].end, 27);
        for (uint32_t i = 1; i < 4; i++) {
            /* column commands at 13, 16, 19: accepted there */
            assert_int_equal(v[i].accepted, 13 + (i - 1) * 3);
            assert_int_equal(v[i].end, 27 + i * 3);
        }
        assert_int_equal(rig_total(&g, ST_QUEUE_FULL), 3);
        rig_close(&g);
    }
}

static void random_load(struct item *v, uint32_t n, uint32_t gap)
{
    struct hd_rng r = hd_rng_make(11, 1);
    uint64_t at = 0;

    memset(v, 0, n * sizeof *v);
    for (uint32_t i = 0; i < n; i++) {
        v[i].address = (uint64_t)hd_rng_below(&r, 1 << 14) * 256;
        v[i].kind = hd_rng_below(&r, 4) == 0   ? HD_REQ_WRITE
                    : hd_rng_below(&r, 4) == 0 ? HD_REQ_WALK
                                               : HD_REQ_READ;
        v[i].bytes = v[i].kind == HD_REQ_WALK ? 8 : 128;
        v[i].level = v[i].kind == HD_REQ_WALK ? 4 : 0;
        v[i].app = i % 2;
        v[i].cycle = at += hd_rng_below(&r, gap + 1);
    }
}

/* Many more senders than slots: all are served, in turn. */
static void all_are_served(void **state)
{
    enum { N = 3000 };
    struct item *v = calloc(N, sizeof *v);
    uint64_t walks = 0, writes = 0;

    (void)state;
    for (uint32_t queue = 1; queue <= 64; queue *= 4) {
        struct hd_dram_cfg c = default_cfg();
        struct heddle_error err = {0, ""};
        struct rig g;
        c.channels = 2;
        c.queue = queue;
        random_load(v, N, 2);
        rig_open(&g, &c, 3);
        g.dram->check = hd_dramcheck_open(&g.env, &c);
        rig_run(&g, v, N);
        assert_string_equal(g.err.text, "");
        assert_true(g.waiting > 0);
        assert_int_equal(hd_numbers_live(&g.reqs.numbers), 0);
        for (uint32_t i = 0; i < N; i++)
            if (v[i].kind != HD_REQ_WRITE)
                assert_true(v[i].end >= v[i].accepted + 15);
        for (uint32_t k = 0; k < g.env.parts; k++)
            g.env.part[k].check(g.env.part[k].self, 0, &err);
        assert_string_equal(err.text, "");
        walks = writes = 0;
        for (uint32_t i = 0; i < N; i++) {
            walks += v[i].kind == HD_REQ_WALK;
            writes += v[i].kind == HD_REQ_WRITE;
        }
        assert_int_equal(rig_total(&g, ST_WALKS), walks);
        assert_int_equal(rig_total(&g, ST_WRITES), writes);
        assert_int_equal(rig_total(&g, ST_READS), N - walks - writes);
        assert_int_equal(rig_total(&g, ST_WALK_BURSTS), walks);
        assert_int_equal(rig_total(&g, ST_DATA_BURSTS), (N - walks) * 4);
        assert_int_equal(rig_total(&g, ST_BUSY), walks * 2 + (N - walks) * 8);
        assert_int_equal(g.dram->walk_latency[0].n + g.dram->walk_latency[1].n,
                         walks);
        hd_env_sync(&g.env);
        assert_int_equal(rig_total(&g, ST_CYCLES),
                         2 * (hd_events_now(&g.ev) / 3));
        assert_true(rig_total(&g, ST_BUSY) <= rig_total(&g, ST_CYCLES));
        rig_close(&g);
    }
    free(v);
}

/* ---- classes ------------------------------------------------------------- */

static int64_t by_level(void *self, const void *question)
{
    const struct heddle_q_dram_class *q = question;

    (void)self;
    return (int64_t)q->level; /* 0 normal, 1 silver, 2 golden */
}

/* Three requests of one bank and different rows arrive in one cycle. */
static void urgent_first(void **state)
{
    struct hd_dram_cfg c = lone_cfg();
    struct item v[3];
    struct rig g;

    (void)state;
    memset(v, 0, sizeof v);
    for (uint32_t i = 0; i < 3; i++) {
        v[i].address = i * 4096 * 8;
        v[i].bytes = 32;
        v[i].level = i;
    }
    rig_open(&g, &c, 1);
    g.dram->klass = (struct hd_slot){by_level, NULL, 1};
    g.dram->quiet = false;
    rig_run(&g, v, 3);
    assert_int_equal(v[2].end, 27);
    assert_int_equal(v[1].end, 27 + 40);
    assert_int_equal(v[0].end, 27 + 80);
    assert_int_equal(rig_total(&g, ST_SILVER), 1);
    assert_int_equal(rig_total(&g, ST_GOLDEN), 1);
    rig_close(&g);
}

/* Golden requests for two banks: one after the other, or both at once. */
static void golden_order(void **state)
{
    struct hd_dram_cfg c = lone_cfg();
    struct item v[2];
    struct rig g;

    (void)state;
    for (c.golden = 0; c.golden < 2; c.golden++) {
        memset(v, 0, sizeof v);
        for (uint32_t i = 0; i < 2; i++) {
            v[i].address = i * 4096;
            v[i].bytes = 32;
            v[i].level = 2;
        }
        rig_open(&g, &c, 1);
        g.dram->klass = (struct hd_slot){by_level, NULL, 1};
        g.dram->quiet = false;
        rig_run(&g, v, 2);
        assert_int_equal(v[0].end, 27);
        /* The second activates after the first's column command in 13, or
         * tRRD after its activate. */
        assert_int_equal(v[1].end, c.golden == 0 ? 13 + 27 : 6 + 27);
        rig_close(&g);
    }
}

/* What finds its class's queue full joins the next one. */
static void full_classes(void **state)
{
    struct hd_dram_cfg c = lone_cfg();
    struct item v[10];
    struct rig g;

    (void)state;
    c.queue_golden = 2;
    c.queue_silver = 3;
    memset(v, 0, sizeof v);
    for (uint32_t i = 0; i < 10; i++) {
        v[i].address = i * 4096;
        v[i].bytes = 32;
        v[i].level = 2;
    }
    rig_open(&g, &c, 1);
    g.dram->klass = (struct hd_slot){by_level, NULL, 1};
    g.dram->quiet = false;
    rig_run(&g, v, 10);
    assert_int_equal(rig_total(&g, ST_GOLDEN), 2);
    assert_int_equal(rig_total(&g, ST_SILVER), 3);
    rig_close(&g);
}

/* Field by field: what is between them is anything. */
static void same_command(const struct hd_dramcmd *a, const struct hd_dramcmd *b)
{
    const uint64_t x[] = {
        a->cycle,  a->row,        a->data,        a->channel,     a->bank,
        a->column, a->kind,       a->req,         a->close,       a->klass,
        a->golden, a->golden_row, a->golden_bank, a->golden_write};
    const uint64_t y[] = {
        b->cycle,  b->row,        b->data,        b->channel,     b->bank,
        b->column, b->kind,       b->req,         b->close,       b->klass,
        b->golden, b->golden_row, b->golden_bank, b->golden_write};

    for (size_t i = 0; i < HD_LEN(x); i++)
        assert_int_equal(x[i], y[i]);
}

/* ---- putting the arena back ---------------------------------------------- */

static void snapshot(void **state)
{
    enum { N = 1500 };
    struct hd_dram_cfg c = default_cfg();
    struct item *v = calloc(N, sizeof *v), *first = calloc(N, sizeof *v);
    struct rig g;
    void *copy;
    size_t used;
    int stop = 0;
    uint64_t log_n;

    (void)state;
    c.queue = 8;
    c.channels = 2;
    c.refresh = 1;
    random_load(v, N, 4);
    rig_open(&g, &c, 1);
    hd_dram_watch(g.dram, rig_watch, &g);
    g.item = v;
    for (uint32_t i = 0; i < N; i++)
        hd_post(&g.ev, g.id, g.id, v[i].cycle, 0, i, 0);
    hd_events_run(&g.ev, 1501, &stop);
    used = g.arena.used;
    copy = malloc(used);
    memcpy(copy, g.arena.base, used);
    log_n = g.logged;
    hd_events_run(&g.ev, HD_NEVER, &stop);
    memcpy(first, v, N * sizeof *v);
    struct hd_dramcmd *log = g.log;
    uint32_t logged = g.logged;
    memcpy(g.arena.base, copy, used);
    g.log = NULL;
    g.log_room = g.logged = 0;
    hd_events_run(&g.ev, HD_NEVER, &stop);
    assert_int_equal(g.logged, logged - log_n);
    assert_true(g.logged > 1000);
    for (uint32_t i = 0; i < g.logged; i++)
        same_command(&g.log[i], &log[log_n + i]);
    assert_memory_equal(v, first, N * sizeof *v);
    free(log);
    free(copy);
    free(first);
    free(v);
    rig_close(&g);
}

/* ---- looking ------------------------------------------------------------- */

struct seen {
    uint32_t rows, requests, edges;
};

static void row(void *ud, const char *kind)
{
    struct seen *s = ud;

    s->rows++;
    s->requests += strcmp(kind, "request") == 0;
    s->edges += strcmp(kind, "wait") == 0;
}

static void number(void *ud, const char *field, uint64_t value)
{
    (void)ud;
    (void)field;
    (void)value;
}

static void text(void *ud, const char *field, const char *value)
{
    (void)ud;
    (void)field;
    (void)value;
}

static void looking(void **state)
{
    struct hd_dram_cfg c = lone_cfg();
    struct seen s = {0};
    struct heddle_visitor visitor = {row, number, text, &s};
    struct item v[10];
    struct rig g;
    int stop = 0;

    (void)state;
    c.queue = 4;
    memset(v, 0, sizeof v);
    rig_open(&g, &c, 1);
    g.item = v;
    for (uint32_t i = 0; i < 10; i++) {
        v[i].address = i * 4096;
        v[i].bytes = 32;
        hd_post(&g.ev, g.id, g.id, 0, 0, i, 0);
    }
    hd_events_run(&g.ev, 5, &stop);
    g.env.part[0].look(g.env.part[0].self, 0, &visitor);
    assert_int_equal(s.rows, 8 + 4);
    assert_int_equal(s.requests, 4);
    s = (struct seen){0};
    g.env.part[0].stuck(g.env.part[0].self, 0, &visitor);
    assert_int_equal(s.edges, 1 + 6);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(woken_in_time), cmocka_unit_test(all_are_served),
        cmocka_unit_test(urgent_first),  cmocka_unit_test(golden_order),
        cmocka_unit_test(full_classes),  cmocka_unit_test(snapshot),
        cmocka_unit_test(looking),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
