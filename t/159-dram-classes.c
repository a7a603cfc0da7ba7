/*
 * 159-dram-classes - pins the three queues of a channel: where they are apart,
 * a request waits for a place in its own and no other, is asked for its class
 * once, and is woken by a place of that class; where they are shared, any place
 * will do; silver turns go round, last what their application was given, skip
 * who wants none and pass on when idle; and the check finds a command that goes
 * before a golden request.
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
#include "texts.h"

static struct hd_dram_cfg base(void)
{
    struct hd_dram_cfg c = default_cfg();

    c.channels = 1;
    c.interleave = 0;
    c.queues = 1;
    strcpy(c.map, "A");
    return c;
}

static uint32_t asked;

static int64_t by_level(void *self, const void *question)
{
    const struct heddle_q_dram_class *q = question;

    (void)self;
    asked++;
    return (int64_t)q->level; /* 0 normal, 1 silver, 2 golden */
}

static void open_rig(struct rig *g, const struct hd_dram_cfg *c)
{
    rig_open(g, c, 1);
    g->dram->klass = (struct hd_slot){by_level, NULL, 1};
    g->dram->quiet = false;
    g->dram->check = hd_dramcheck_open(&g->env, c);
    asked = 0;
}

/* The i-th request: a row of its own in bank i % 8. */
static struct item item(uint32_t i, uint32_t level, uint32_t app,
                        uint64_t cycle)
{
    struct item it = {.address = (uint64_t)(i % 8) * 4096 + i / 8 * 32768,
                      .bytes = 32,
                      .level = level,
                      .app = app,
                      .cycle = cycle};
    return it;
}

/* One place in each queue: what fills one does not hold up the others. */
static void apart(void **state)
{
    struct hd_dram_cfg c = base();
    struct item v[6];
    struct rig g;

    (void)state;
    c.queue = c.queue_silver = c.queue_golden = 1;
    for (uint32_t i = 0; i < 6; i++)
        v[i] = item(i, i % 3, 0, i);
    open_rig(&g, &c);
    rig_run(&g, v, 6);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(v[i].accepted, i); /* its queue is empty */
        assert_int_equal(v[i].klass, i);
        assert_true(v[i + 3].accepted > v[i + 3].cycle); /* it is full */
        assert_int_equal(v[i + 3].klass, i);
    }
    assert_int_equal(asked, 6); /* once each, however often it tried */
    assert_int_equal(rig_total(&g, ST_SILVER), 2);
    assert_int_equal(rig_total(&g, ST_GOLDEN), 2);
    assert_int_equal(rig_total(&g, ST_QUEUE_FULL), 3);
    assert_int_equal(g.dram->lane[0].ch->waiters, 0);
    assert_string_equal(g.err.text, "");
    rig_close(&g);
}

/* In shared queues the second ones count as less. */
static void shared(void **state)
{
    struct hd_dram_cfg c = base();
    struct item v[3];
    struct rig g;

    (void)state;
    c.queues = 0;
    c.queue_silver = c.queue_golden = 1;
    for (uint32_t i = 0; i < 3; i++)
        v[i] = item(i, 2, 0, 0);
    open_rig(&g, &c);
    rig_run(&g, v, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(v[i].klass, 2 - i);
    assert_int_equal(g.waiting, 0);
    rig_close(&g);
}

/* One place for all: the next request takes it, of whatever class it is. */
static void one_place(void **state)
{
    struct hd_dram_cfg c = base();
    struct item v[6];
    struct rig g;

    (void)state;
    c.queues = 0;
    c.queue = 1;
    for (uint32_t i = 0; i < 6; i++)
        v[i] = item(i, 2 - i % 3, 0, 0);
    open_rig(&g, &c);
    g.shows = true;
    rig_run(&g, v, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(v[i].klass, 2 - i % 3);
        assert_int_not_equal(v[i].end, 0);
        assert_true(i == 0 || v[i].accepted > v[i - 1].accepted);
    }
    assert_int_equal(g.waiting, 5);
    assert_int_equal(g.dram->lane[0].ch->waiters, 0);
    rig_close(&g);
}

/* ---- turns ------------------------------------------------------------ */

static uint64_t lasts[2];
static uint32_t turns;

static int64_t turn(void *self, const void *question)
{
    const struct heddle_q_dram_turn *q = question;

    (void)self;
    assert_int_equal(q->apps, 2);
    assert_int_equal(q->most, 65535);
    assert_true(turns > 0 ? q->last <= 2 : q->last == 2);
    turns++;
    return (int64_t)lasts[q->app];
}

/* n silver requests of the applications in turn, gap cycles apart; their
 * classes as a number, the first highest. */
static uint32_t classes(uint64_t first, uint64_t second, uint32_t n,
                        uint64_t gap, const uint32_t *app)
{
    struct hd_dram_cfg c = base();
    struct item v[16];
    uint32_t out = 0;
    struct rig g;

    c.turn_idle = 500;
    lasts[0] = first;
    lasts[1] = second;
    turns = 0;
    for (uint32_t i = 0; i < n; i++)
        v[i] = item(i, 1, app ? app[i] : i % 2, i * gap);
    open_rig(&g, &c);
    g.dram->turn = (struct hd_slot){turn, NULL, 1};
    rig_run(&g, v, n);
    for (uint32_t i = 0; i < n; i++)
        out = out << 1 | v[i].klass;
    assert_string_equal(g.err.text, "");
    rig_close(&g);
    return out;
}

static void turns_go_round(void **state)
{
    static const uint32_t only_second[] = {1, 1, 1, 1};

    (void)state;
    /* requests 0 1 0 1 0 1 0 1; turns of one: each in its own */
    assert_int_equal(classes(1, 1, 8, 10, NULL), 0xff);
    /* 0 has two, 1 has one: 0 -- 0 1 0 -- 0 1 */
    assert_int_equal(classes(2, 1, 8, 10, NULL), 0xbb);
    /* 0 is skipped: only 1 is silver */
    assert_int_equal(classes(0, 3, 8, 10, NULL), 0x55);
    assert_int_equal(classes(0, 0, 8, 10, NULL), 0);
    assert_int_equal(turns, 2); /* and are not asked for each request */
    /* 0 sends nothing; after 500 cycles its turn passes on */
    assert_int_equal(classes(9, 9, 4, 100, only_second), 0);
    assert_int_equal(classes(9, 9, 4, 200, only_second), 1);
}

static void no_turns_by_default(void **state)
{
    struct hd_dram_cfg c = base();
    struct item v[4];
    struct rig g;

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        v[i] = item(i, 1, i % 2, i);
    open_rig(&g, &c);
    rig_run(&g, v, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(v[i].klass, 1);
    assert_int_equal(rig_total(&g, ST_TURNS), 0);
    rig_close(&g);
}

/* ---- priority --------------------------------------------------------- */

/* Much of everything through small queues, every command checked; from the
 * eighth on with copies that hold banks. */
static void soak(void **state)
{
    enum { N = 4000 };
    struct item *v = calloc(N, sizeof *v);

    (void)state;
    for (uint32_t k = 0; k < 16; k++) {
        struct hd_rng r = hd_rng_make(5, k);
        struct hd_dram_cfg c = default_cfg();
        struct heddle_error err = {0, ""};
        uint64_t at = 0, golden = 0;
        uint32_t copies = 0;
        struct rig g;

        c.channels = 2;
        c.queues = 1;
        c.queue = 1 + k * 5;
        c.queue_silver = 1 + k;
        c.queue_golden = 1 + k / 2;
        c.golden = k & 1;
        c.page = k >> 1 & 1;
        c.refresh = k == 5;
        c.turn_idle = 50;
        lasts[0] = k;
        lasts[1] = 3;
        turns = 1;
        memset(v, 0, N * sizeof *v);
        for (uint32_t i = 0; i < N; i++) {
            v[i].address = (uint64_t)hd_rng_below(&r, 1 << 10) * 512;
            v[i].level = hd_rng_below(&r, 3);
            v[i].kind = v[i].level < 2 && hd_rng_below(&r, 3) == 0
                            ? HD_REQ_WRITE
                            : HD_REQ_READ;
            v[i].bytes = v[i].level == 2 ? 8 : 128;
            v[i].app = hd_rng_below(&r, 2);
            v[i].cycle = at += hd_rng_below(&r, 4);
            if (k >= 8 && hd_rng_below(&r, 20) == 0) {
                v[i].copy = 1 + hd_rng_below(&r, 200);
                v[i].bytes = 4096;
            }
            copies += v[i].copy != 0;
            golden += v[i].level == 2 && v[i].copy == 0;
        }
        open_rig(&g, &c);
        g.dram->turn = (struct hd_slot){turn, NULL, 1};
        turns = 0;
        rig_run(&g, v, N);
        assert_string_equal(g.err.text, "");
        assert_int_equal(asked, N - copies);
        assert_int_equal(rig_total(&g, ST_GOLDEN), golden);
        assert_true(rig_total(&g, ST_TURNS) > 10);
        assert_int_equal(hd_numbers_live(&g.reqs.numbers),
                         0); /* none was forgotten */
        for (uint32_t i = 0; i < g.env.parts; i++)
            g.env.part[i].check(g.env.part[i].self, 0, &err);
        assert_string_equal(err.text, "");
        rig_close(&g);
    }
    free(v);
}

/* What the check says of one command next to a golden request for `row` of bank
 * 0, when that bank's row is 7, opened in cycle 1, and a copy has it until
 * `held`. */
static const char *verdict_held(struct hd_dramcmd cmd, uint64_t row,
                                uint64_t held)
{
    static struct heddle_error err;
    struct hd_dram_cfg c = base();
    struct hd_arena a;
    struct hd_env env = {.arena = &a};
    struct hd_dramcheck *k;
    struct hd_dramcmd act = {.cycle = 1, .kind = HD_DRAM_ACT, .row = 7};

    err = (struct heddle_error){0, ""};
    hd_arena_open(&a, 1 << 20);
    k = hd_dramcheck_open(&env, &c);
    hd_dramcheck_command(k, &act, &err);
    hd_dramcheck_block(k, 0, 0, held);
    cmd.golden = 1;
    cmd.golden_bank = 0;
    cmd.golden_row = row;
    hd_dramcheck_command(k, &cmd, &err);
    hd_env_free(&env);
    hd_arena_close(&a);
    return err.text;
}

static const char *verdict(struct hd_dramcmd cmd, uint64_t row)
{
    return verdict_held(cmd, row, 0);
}

/* While a copy has the golden request's bank, others may issue, but not to that
 * bank.  Afterwards a write is legal at once, a read by tRCDRD - tRCDWR (5)
 * later. */
static void check_minds_copies(void **state)
{
    struct hd_dramcmd other = {.cycle = 44, .kind = HD_DRAM_ACT, .bank = 3};
    struct hd_dramcmd read = {
        .cycle = 44, .kind = HD_DRAM_RD, .row = 7, .data = 56, .klass = 2};
    struct hd_dramcmd close = {.cycle = 39, .kind = HD_DRAM_PRE, .klass = 2};

    (void)state;
    assert_string_equal(verdict_held(other, 7, 40), "");
    other.cycle = 45;
    assert_text(verdict_held(other, 7, 40), "a golden request goes first");
    assert_text(verdict_held(read, 7, 40), "a copy has its bank");
    read.cycle++;
    read.data++;
    assert_string_equal(verdict_held(read, 7, 40), "");
    assert_text(verdict_held(close, 8, 40), "a copy has its bank");
    close.cycle++;
    assert_string_equal(verdict_held(close, 8, 40), "");
}

static void check_finds(void **state)
{
    struct hd_dramcmd cmd = {
        .cycle = 12, .kind = HD_DRAM_ACT, .bank = 3, .klass = 0};

    (void)state;
    /* the golden read is legal from 13 on: before, others may issue */
    assert_string_equal(verdict(cmd, 7), "");
    cmd.cycle = 13;
    assert_text(verdict(cmd, 7), "a golden request goes first");
    cmd.klass = 1;
    assert_text(verdict(cmd, 7), "a golden request goes first");
    cmd.klass = 2;
    assert_string_equal(verdict(cmd, 7), "");
    /* it wants another row: a precharge, legal from 29 on */
    cmd.klass = 0;
    cmd.cycle = 28;
    assert_string_equal(verdict(cmd, 8), "");
    cmd.cycle = 29;
    assert_text(verdict(cmd, 8), "a golden request goes first");
    /* its bank is its own */
    cmd = (struct hd_dramcmd){
        .cycle = 13, .kind = HD_DRAM_RD, .row = 7, .data = 25, .klass = 0};
    assert_text(verdict(cmd, 8), "a golden request has its bank");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(apart),
        cmocka_unit_test(shared),
        cmocka_unit_test(one_place),
        cmocka_unit_test(turns_go_round),
        cmocka_unit_test(no_turns_by_default),
        cmocka_unit_test(soak),
        cmocka_unit_test(check_minds_copies),
        cmocka_unit_test(check_finds),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
