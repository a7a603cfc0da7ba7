/*
 * Pinned: what a transfer over the host link takes, tick by tick and from both
 * sides (not over at clk-1, over at clk): Mosaic's 56,100 and 324,360 core
 * cycles for a lone fault of 4 KB and 2 MB, ETC's 24,578 for 64 KB; transfers
 * of one direction go one after the other in the order in which they were
 * sent, directions do not disturb one another, a transfer begins at an edge of
 * the link's clock; a link that counts bytes cycle by cycle says the same under
 * random load; with link.curve=uvmsmart the rows of its table within 1 %, and
 * its formula to the cycle; busy time is what was carried; a restored arena
 * goes on alike.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <math.h>
#include <stdlib.h>

#include "kit/rng.h"
#include "heddle.h"
#include "paging/link.h"

enum { ROOM = 256, MOST = 200 };

struct rig {
    struct memenv m;
    struct hd_env *env;
    struct hd_link_cfg cfg;
    struct hd_link *link;
    uint32_t client, driver;
    hd_time at[MOST]; /* when transfer `word` was over */
    uint32_t order[MOST], n;
};

/* a: word */
static void done(void *self, hd_time now, uint32_t what, uint32_t word,
                 uint64_t b)
{
    struct rig *g = self;

    (void)what, (void)b;
    assert_true(word < MOST && g->at[word] == 0);
    g->at[word] = now;
    g->order[g->n++] = word;
}

/* what: direction << 8 | application; a: word; b: bytes */
static void drive(void *self, hd_time now, uint32_t what, uint32_t a,
                  uint64_t b)
{
    struct rig *g = self;

    hd_link_send(g->link, now, what >> 8, what & 0xff, b, g->client, a);
}

/* The default link on a core of core_mhz and a link clock of link_mhz. */
static struct rig *rig_new(uint64_t core_mhz, uint64_t link_mhz)
{
    struct rig *g = calloc(1, sizeof *g);

    g->env = memenv_open(&g->m, 2);
    g->m.clk.hz[HD_CLK_CORE] = g->m.clk.hz[HD_CLK_ISSUE] = core_mhz * 1000000;
    g->m.clk.hz[HD_CLK_L2] = g->m.clk.hz[HD_CLK_DRAM] = core_mhz * 1000000;
    g->m.clk.hz[HD_CLK_LINK] = link_mhz * 1000000;
    assert_int_equal(hd_clocks_init(&g->m.clk, &g->m.err), 0);
    g->cfg = (struct hd_link_cfg){54485, 7958387833, 0, HD_LINK_FLAT};
    return g;
}

static void rig_open(struct rig *g)
{
    g->link = hd_link_open(g->env, &g->cfg, ROOM);
    g->client = hd_link_client(
        g->link, hd_events_component(&g->m.ev, "client", done, g), 0);
    g->driver = hd_events_component(&g->m.ev, "driver", drive, g);
}

static void rig_close(struct rig *g)
{
    memenv_close(&g->m);
    free(g);
}

static void send(struct rig *g, hd_time at, enum hd_link_dir dir, uint32_t app,
                 uint64_t bytes, uint32_t word)
{
    hd_post(&g->m.ev, g->driver, g->driver, at, (uint32_t)dir << 8 | app, word,
            bytes);
}

static void run(struct rig *g, hd_time until)
{
    hd_events_run(&g->m.ev, until, &g->m.err.code);
    assert_string_equal(memenv_check(&g->m, NULL), "");
}

static void due(struct rig *g, uint32_t word, hd_time at)
{
    run(g, at - 1);
    assert_int_equal(g->at[word], 0);
    run(g, at);
    assert_int_equal(g->at[word], at);
}

static uint64_t count(struct rig *g, enum hd_link_dir dir, uint32_t app,
                      enum hd_link_stat c)
{
    struct hd_stat_group *x = &g->m.stats.group[0];

    assert_string_equal(x->component, "link");
    return *hd_count(&x->stat, dir, app, c);
}

/* ---- the papers' numbers ------------------------------------------------- */

static void lone(uint64_t latency, uint64_t bandwidth, uint64_t bytes,
                 uint64_t cycles)
{
    struct rig *g = rig_new(1020, 1020);
    hd_time l;

    g->cfg.latency = latency;
    g->cfg.bandwidth = bandwidth;
    rig_open(g);
    l = hd_link_latency(g->link);
    send(g, l, HD_LINK_IN, 0, bytes, 7);
    due(g, 7, cycles * g->m.clk.ticks[HD_CLK_CORE]);
    rig_close(g);
}

static void papers(void **state)
{
    (void)state;
    lone(54485, 7958387833, 4096, 56100);
    lone(54485, 7958387833, 2097152, 324360);
    lone(20000, 16000000000, 65536, 24578);
}

/* The defaults of the settings are those numbers. */
static void defaults(void **state)
{
    static const char *const want[][2] = {{"latency", "54485"},
                                          {"bandwidth", "7958387833"},
                                          {"out_bandwidth", "0"},
                                          {"curve", "flat"}};

    (void)state;
    assert_int_equal(hd_rows_link.n, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(hd_rows_link.settings[i].name, want[i][0]);
        assert_string_equal(hd_rows_link.settings[i].def, want[i][1]);
    }
}

/* ---- a bandwidth that grows with the size ---------------------------------
 */

/* The rows of UVMSmart's fit: KB, us * 100; on a clock of 10 GHz. */
static void curve(void **state)
{
    static const uint32_t want[][2] = {{4, 176},     {16, 232},   {64, 588},
                                       {128, 1090},  {256, 2110}, {1024, 8210},
                                       {2048, 16350}};
    struct rig *g = rig_new(1000, 10000);
    hd_time us = 1000 * g->m.clk.ticks[HD_CLK_CORE];

    (void)state;
    g->cfg.curve = HD_LINK_UVMSMART;
    g->cfg.bandwidth = 12884901888;
    rig_open(g);
    for (uint32_t i = 0; i < HD_LEN(want); i++) {
        double t = (double)hd_link_span(g->link, HD_LINK_IN,
                                        (uint64_t)want[i][0] * 1024);
        t = t * 100 / (double)us / want[i][1];
        assert_true(t > 0.99 && t < 1.01);
    }
    rig_close(g);
}

/* A span is that of the formula to a cycle of 1 ns; a larger transfer takes no
 * less, and its parts are shares of it that end with it. */
static void formula(void **state)
{
    struct rig *g = rig_new(1000, 1000);
    hd_time ns = g->m.clk.ticks[HD_CLK_LINK], before = 0;

    (void)state;
    g->cfg.curve = HD_LINK_UVMSMART;
    g->cfg.bandwidth = 12884901888;
    rig_open(g);
    for (uint64_t bytes = 1; bytes <= HD_LINK_MOST;
         bytes += 1 + bytes * 5 / 97) {
        double kb = (double)bytes / 1024;
        double rate = 24 / 3.14159265358979 * atan(0.07292 * kb);
        double want = (double)bytes / (rate * 1.073741824);
        hd_time span = hd_link_span(g->link, HD_LINK_IN, bytes);

        assert_true((double)(span / ns) >= want * 0.9999 - 0.01);
        assert_true((double)(span / ns) <= want * 1.0001 + 1.01);
        assert_true(span >= before);
        before = span;
        for (uint64_t i = 1; i <= 4; i++) {
            hd_time part =
                hd_link_part(g->link, HD_LINK_IN, bytes * i / 4, bytes);
            double share = (double)(bytes * i / 4) / (double)bytes;
            assert_true((double)part >= (double)span * share - (double)ns);
            assert_true((double)part <= (double)span * share + (double)ns);
        }
        assert_int_equal(hd_link_part(g->link, HD_LINK_IN, bytes, bytes), span);
    }
    rig_close(g);
}

/* ---- the queue ----------------------------------------------------------- */

/* 1 GB/s and 1 GHz: a byte a cycle; a core cycle is one tick. */
static struct rig *byte_a_cycle(void)
{
    struct rig *g = rig_new(1000, 1000);

    g->cfg.latency = 0;
    g->cfg.bandwidth = 1000000000;
    return g;
}

static void one_after_the_other(void **state)
{
    struct rig *g = byte_a_cycle();

    (void)state;
    rig_open(g);
    send(g, 10, HD_LINK_IN, 0, 100, 0);
    send(g, 10, HD_LINK_IN, 1, 50, 1);
    send(g, 109, HD_LINK_IN, 0, 7, 2);
    send(g, 400, HD_LINK_IN, 0, 1, 3); /* the link has been idle */
    due(g, 0, 110);
    due(g, 1, 160);
    due(g, 2, 167);
    due(g, 3, 401);
    assert_int_equal(count(g, 0, 0, HD_LINK_TRANSFERS), 3);
    assert_int_equal(count(g, 0, 1, HD_LINK_TRANSFERS), 1);
    assert_int_equal(count(g, 0, 0, HD_LINK_BYTES), 108);
    assert_int_equal(count(g, 0, 0, HD_LINK_BUSY_CYCLES), 108);
    assert_int_equal(count(g, 0, 1, HD_LINK_BUSY_CYCLES), 50);
    assert_int_equal(count(g, 0, 1, HD_LINK_WAIT_CYCLES), 100);
    assert_int_equal(count(g, 0, 0, HD_LINK_WAIT_CYCLES), 51);
    assert_int_equal(count(g, 0, HD_APP_NONE, HD_LINK_PEAK), 3);
    assert_int_equal(hd_link_over(g->link), 4);
    rig_close(g);
}

/* Two faults at once wait for L together and share the link. */
static void two_faults(void **state)
{
    struct rig *g = rig_new(1020, 1020);
    hd_time cycle = g->m.clk.ticks[HD_CLK_CORE], l;

    (void)state;
    rig_open(g);
    l = hd_link_latency(g->link);
    assert_int_equal(l, 55575 * cycle);
    send(g, l, HD_LINK_IN, 0, 4096, 0);
    send(g, l + 5 * cycle, HD_LINK_IN, 1, 4096, 1);
    due(g, 0, 56100 * cycle);
    due(g, 1, (56100 + 525) * cycle);
    rig_close(g);
}

static void directions(void **state)
{
    struct rig *g = byte_a_cycle();

    (void)state;
    g->cfg.out_bandwidth = 500000000;
    rig_open(g);
    send(g, 0, HD_LINK_IN, 0, 100, 0);
    send(g, 0, HD_LINK_OUT, 0, 100, 1);
    due(g, 0, 100);
    due(g, 1, 200);
    assert_int_equal(count(g, HD_LINK_OUT, 0, HD_LINK_BUSY_CYCLES), 200);
    rig_close(g);
    g = byte_a_cycle();
    rig_open(g);
    send(g, 0, HD_LINK_OUT, 0, 100, 0);
    due(g, 0, 100); /* out_bandwidth = 0: as inwards */
    rig_close(g);
}

/* Lines do not wait for a transfer; one that is sent after them does. */
static void lines(void **state)
{
    struct rig *g = byte_a_cycle();

    (void)state;
    g->cfg.out_bandwidth = 300000000;
    rig_open(g);
    send(g, 0, HD_LINK_IN, 0, 1000, 0);
    run(g, 10);
    assert_int_equal(hd_link_line(g->link, 50, HD_LINK_IN, 128), 178);
    assert_int_equal(hd_link_line(g->link, 51, HD_LINK_IN, 32), 210);
    send(g, 20, HD_LINK_IN, 0, 100, 1);
    due(g, 0, 1000);
    due(g, 1, 1000 + 160 + 100);
    run(g, 2000);
    assert_int_equal(hd_link_line(g->link, 3000, HD_LINK_IN, 10), 3010);
    send(g, 2000, HD_LINK_IN, 0, 100, 2); /* the line is on its way still */
    due(g, 2, 2110);
    for (uint64_t i = 1; i <= 300; i++) /* to the byte */
        assert_int_equal(hd_link_line(g->link, 2110, HD_LINK_OUT, 1),
                         2110 + i * 10 / 3);
    rig_close(g);
}

/* A link at 250 MHz under a core at 1 GHz: 4 bytes a cycle of 4 ticks. */
static void edges(void **state)
{
    struct rig *g = rig_new(1000, 250);

    (void)state;
    g->cfg.bandwidth = 1000000000;
    g->cfg.latency = 5;
    rig_open(g);
    assert_int_equal(hd_link_latency(g->link), 8);
    send(g, 5, HD_LINK_IN, 0, 9, 0);
    due(g, 0, 8 + 3 * 4);
    send(g, 21, HD_LINK_IN, 0, 8, 1);
    due(g, 1, 24 + 2 * 4);
    rig_close(g);
}

/* ---- a naive twin -------------------------------------------------------- */

struct sent {
    hd_time at;
    uint64_t bytes;
    uint32_t dir;
};

/* Counts the bytes that cross, link cycle by link cycle. */
static void naive(const struct rig *g, const struct sent *v, uint32_t n,
                  uint32_t dir, uint64_t rate, hd_time *end)
{
    uint64_t hz = g->m.clk.hz[HD_CLK_LINK];
    hd_time tick = g->m.clk.ticks[HD_CLK_LINK];
    int64_t left = 0; /* bytes x Hz */
    uint32_t i = 0, on = n;

    for (hd_time t = 0;; t += tick) {
        if (on < n && left <= 0) {
            end[on] = t;
            on = n;
        }
        while (i < n && v[i].dir != dir)
            i++;
        if (on == n && i == n)
            return;
        if (on == n && v[i].at <= t) {
            on = i++;
            left = (int64_t)(v[on].bytes * hz);
        }
        if (on < n)
            left -= (int64_t)rate;
    }
}

/* Random transfers of a random link. */
static struct rig *draw(struct hd_rng *r, struct sent *v)
{
    static const uint64_t mhz[] = {1000, 250, 700, 1500};
    struct rig *g = rig_new(mhz[hd_rng_below(r, 4)], mhz[hd_rng_below(r, 4)]);
    hd_time at = 0;

    g->cfg.bandwidth = 100000000 + hd_rng_below(r, 2000000000);
    g->cfg.out_bandwidth =
        hd_rng_below(r, 2) ? 0 : 100000000 + hd_rng_below(r, 2000000000);
    rig_open(g);
    for (uint32_t i = 0; i < MOST; i++) {
        at +=
            hd_rng_below(r, 4) ? hd_rng_below(r, 300) : hd_rng_below(r, 20000);
        v[i] = (struct sent){at, 1 + hd_rng_below(r, 500), hd_rng_below(r, 2)};
        send(g, at, v[i].dir, hd_rng_below(r, 2), v[i].bytes, i);
    }
    return g;
}

static void twin(void **state)
{
    struct hd_rng r = hd_rng_make(5, 3);

    (void)state;
    for (uint32_t round = 0; round < 30; round++) {
        struct sent v[MOST];
        hd_time end[MOST] = {0};
        struct rig *g = draw(&r, v);
        uint64_t out = g->cfg.out_bandwidth;

        naive(g, v, MOST, HD_LINK_IN, g->cfg.bandwidth, end);
        naive(g, v, MOST, HD_LINK_OUT, out ? out : g->cfg.bandwidth, end);
        run(g, HD_NEVER);
        for (uint32_t i = 0; i < MOST; i++)
            assert_int_equal(g->at[i], end[i]);
        rig_close(g);
    }
}

/* Straight through = stopped, copied, run on, put back, run on again. */
static void snapshot(void **state)
{
    struct hd_rng r = hd_rng_make(6, 3);

    (void)state;
    for (uint32_t round = 0; round < 20; round++) {
        struct sent v[MOST];
        struct rig *g = draw(&r, v);
        hd_time first[MOST], begun[MOST];
        uint64_t busy;
        uint32_t n;
        size_t used;
        void *copy;

        run(g, v[hd_rng_below(&r, MOST)].at + 1);
        used = g->m.arena.used;
        copy = malloc(used);
        memcpy(copy, g->m.arena.base, used);
        memcpy(begun, g->at, sizeof begun);
        n = g->n;
        run(g, HD_NEVER);
        memcpy(first, g->at, sizeof first);
        busy = count(g, 0, 0, HD_LINK_BUSY_CYCLES);
        memcpy(g->m.arena.base, copy, used);
        g->m.arena.used = used;
        hd_events_restored(&g->m.ev);
        memcpy(g->at, begun, sizeof begun);
        g->n = n;
        run(g, HD_NEVER);
        assert_memory_equal(first, g->at, sizeof first);
        assert_int_equal(busy, count(g, 0, 0, HD_LINK_BUSY_CYCLES));
        free(copy);
        rig_close(g);
    }
}

/* ---- looking ------------------------------------------------------------- */

struct seen {
    uint32_t rows;
    uint64_t bytes;
    char text[64];
};

static void see_row(void *ud, const char *kind)
{
    (void)kind;
    ((struct seen *)ud)->rows++;
}

static void see_number(void *ud, const char *field, uint64_t value)
{
    if (strcmp(field, "bytes") == 0)
        ((struct seen *)ud)->bytes += value;
}

static void see_text(void *ud, const char *field, const char *value)
{
    struct seen *s = ud;

    if (strcmp(field, "for") == 0)
        strncpy(s->text, value, sizeof s->text - 1);
}

static void looking(void **state)
{
    struct rig *g = byte_a_cycle();
    struct seen s = {0};
    struct heddle_visitor v = {see_row, see_number, see_text, &s};
    struct hd_part *p;

    (void)state;
    rig_open(g);
    p = &g->env->part[0];
    send(g, 0, HD_LINK_IN, 0, 100, 0);
    send(g, 0, HD_LINK_IN, 1, 11, 1);
    run(g, 50);
    p->look(p->self, HD_LINK_IN, &v);
    assert_int_equal(s.rows, 2);
    assert_int_equal(s.bytes, 111);
    p->stuck(p->self, HD_LINK_OUT, &v);
    assert_int_equal(s.rows, 2);
    p->stuck(p->self, HD_LINK_IN, &v);
    assert_int_equal(s.rows, 3);
    assert_string_equal(s.text, "its end at cycle 100");
    run(g, 200);
    p->look(p->self, HD_LINK_IN, &v);
    assert_int_equal(s.rows, 3);
    rig_close(g);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(papers),
        cmocka_unit_test(defaults),
        cmocka_unit_test(curve),
        cmocka_unit_test(formula),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(two_faults),
        cmocka_unit_test(directions),
        cmocka_unit_test(lines),
        cmocka_unit_test(edges),
        cmocka_unit_test(twin),
        cmocka_unit_test(snapshot),
        cmocka_unit_test(looking),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm link", tests, NULL, NULL);
}
