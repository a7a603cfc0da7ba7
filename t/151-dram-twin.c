/*
 * 151-dram-twin - pins the whole command stream: a naive controller that looks
 * at every cycle, every request and the history of commands issues exactly
 * the commands of the engine, for all schedulers, page policies, refresh,
 * classes, maps and odd geometries, however the engine's decisions are cut
 * into events, and also when a policy answers dram_pick as the default does; so
 * with two command buses, pseudo-channels, refresh of single banks, and each
 * dram.kind.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kit/rng.h"
#include "dramtwin.h"

/* ---- comparing ----------------------------------------------------------- */

static const char *const kinds[] = {"ACT",  "PRE", "RD",   "WR",
                                    "PREA", "REF", "PREB", "REFB"};

static void compare(struct rig *g, const struct hd_dram_cfg *c,
                    const uint8_t *klass, uint32_t channel)
{
    struct naive t = {.c = c, .channel = channel};
    uint32_t left = 0, next = 0;
    uint64_t now = 0;
    uint64_t age = 0;

    t.w = calloc(g->items, sizeof *t.w);
    /* ages in the order of acceptance; the driver's events keep it */
    for (uint32_t i = 0; i < g->items; i++) {
        const struct item *it = &g->item[i];
        struct wish *w = &t.w[t.n];
        w->at = hd_drammap_locate(&g->dram->map, it->address);
        if (w->at.channel != channel)
            continue;
        w->item = it;
        w->age = age++;
        w->klass = klass[i];
        w->left = (it->bytes + hd_dram_burst(c) - 1) / hd_dram_burst(c);
        w->column = w->at.column;
        w->write = it->kind == HD_REQ_WRITE;
        t.n++;
    }
    for (left = t.n; left > 0;) {
        uint32_t before = t.logged;
        twin_cycle(&t, ++now);
        for (; before < t.logged; before++) {
            const struct hd_dramcmd *a = &t.log[before], *b;
            while (next < g->logged && g->log[next].channel != channel)
                next++;
            if (next == g->logged)
                fail_msg("the engine stops before cycle %llu",
                         (unsigned long long)now);
            b = &g->log[next++];
            if (a->cycle != b->cycle || a->kind != b->kind ||
                a->bank != b->bank ||
                (a->kind <= HD_DRAM_WR && a->kind != HD_DRAM_PRE &&
                 a->row != b->row) ||
                (column_kind(a->kind) &&
                 (a->close != b->close || a->column != b->column)))
                fail_msg("command %u: twin %s bank %u row %llu close %u cycle "
                         "%llu, engine %s bank %u row %llu close %u cycle %llu",
                         before, kinds[a->kind], a->bank,
                         (unsigned long long)a->row, a->close,
                         (unsigned long long)a->cycle, kinds[b->kind], b->bank,
                         (unsigned long long)b->row, b->close,
                         (unsigned long long)b->cycle);
        }
        left = 0;
        for (uint32_t i = 0; i < t.n; i++)
            left += !t.w[i].done;
    }
    twin_free(&t);
}

/* A load of requests: bursts of a few rows, pauses, some random. */
static void make_load(struct item *v, uint32_t n, uint64_t seed, uint32_t gap,
                      const struct hd_dram_cfg *c)
{
    struct hd_rng r = hd_rng_make(seed, 7);
    uint64_t at = 0, stream = 0;
    uint32_t piece = hd_dram_piece(c), burst = hd_dram_burst(c);

    memset(v, 0, n * sizeof *v);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = hd_rng_below(&r, 8);
        if (hd_rng_below(&r, 32) == 0)
            stream = (uint64_t)hd_rng_below(&r, 64) * c->row_bytes;
        if (k < 5)
            v[i].address = stream += piece;
        else
            v[i].address = (uint64_t)hd_rng_below(&r, 1 << 16) * piece;
        v[i].kind = hd_rng_below(&r, 3) == 0   ? HD_REQ_WRITE
                    : hd_rng_below(&r, 4) == 0 ? HD_REQ_WALK
                                               : HD_REQ_READ;
        v[i].level = v[i].kind == HD_REQ_WALK ? 1 + hd_rng_below(&r, 4) : 0;
        v[i].app = hd_rng_below(&r, 2);
        v[i].bytes = burst * (1 + hd_rng_below(&r, piece / burst));
        if (hd_rng_below(&r, 200) == 0)
            at += 2000;
        v[i].cycle = at += hd_rng_below(&r, gap);
    }
}

static int64_t some_class(void *self, const void *question)
{
    const struct heddle_q_dram_class *q = question;

    (void)self;
    return q->kind == HD_REQ_WALK ? 2 : q->app == 1 ? 1 : 0;
}

enum how { PLAIN, CLASSES_BOUND = 1, PICK_BOUND = 2, SYNCED = 4 };

static void poke(struct rig *g, uint64_t until)
{
    int stop = 0;

    for (uint64_t t = 0; t < until; t += 37) {
        hd_events_run(&g->ev, t, &stop);
        hd_env_sync(&g->env);
    }
}

static void trial(const struct hd_dram_cfg *c, uint32_t n, uint64_t seed,
                  uint32_t gap, enum how how)
{
    struct item *v = calloc(n, sizeof *v);
    uint8_t *klass = calloc(n, 1);
    struct rig g;

    make_load(v, n, seed, gap, c);
    rig_open(&g, c, 1);
    assert_int_equal(g.err.code, 0);
    hd_dram_watch(g.dram, rig_watch, &g);
    g.dram->check = hd_dramcheck_open(&g.env, c);
    if (how & CLASSES_BOUND) {
        g.dram->klass = (struct hd_slot){some_class, NULL, 1};
        g.dram->quiet = false;
        for (uint32_t i = 0; i < n; i++)
            klass[i] = v[i].kind == HD_REQ_WALK ? 2 : v[i].app == 1;
    }
    if (how & PICK_BOUND)
        g.dram->pick.bound = 1;
    if (how & SYNCED) {
        g.item = v;
        g.items = n;
        for (uint32_t i = 0; i < n; i++)
            hd_post(&g.ev, g.id, g.id, v[i].cycle, 0, i, 0);
        poke(&g, v[n - 1].cycle + 5000);
    } else {
        rig_run(&g, v, n);
    }
    assert_string_equal(g.err.text, "");
    assert_int_equal(hd_numbers_live(&g.reqs.numbers), 0);
    for (uint32_t ch = 0; ch < c->channels; ch++)
        compare(&g, c, klass, ch);
    rig_close(&g);
    free(v);
    free(klass);
}

/* ---- the tests ----------------------------------------------------------- */

static struct hd_dram_cfg base(void)
{
    struct hd_dram_cfg c = default_cfg();

    c.channels = 1;
    c.queue = 1024;
    c.queue_golden = c.queue_silver = 1024;
    return c;
}

static void schedulers_and_pages(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t page = 0; page < 2; page++)
            for (uint32_t refresh = 0; refresh < 2; refresh++) {
                struct hd_dram_cfg c = base();
                c.scheduler = s;
                c.page = page;
                c.refresh = refresh;
                c.trefi = 900;
                trial(&c, 300, s + 3 * page, 12, PLAIN);
                trial(&c, 200, 50 + s + 3 * page, 4, PLAIN);
                trial(&c, 200, 90 + s + 3 * page, 4, PICK_BOUND);
            }
}

static void classes(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t golden = 0; golden < 2; golden++)
            for (uint32_t page = 0; page < 2; page++) {
                struct hd_dram_cfg c = base();
                c.scheduler = s;
                c.golden = golden;
                c.page = page;
                trial(&c, 220, 7 + s, 8, CLASSES_BOUND);
                trial(&c, 220, 17 + s, 8, CLASSES_BOUND | PICK_BOUND);
            }
}

static void geometries(void **state)
{
    static const char *const map[] = {"A", "B", "row:column:bank:group:channel",
                                      "row:group:channel:bank:column"};
    static const uint32_t channels[] = {1, 3, 5, 2};

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        struct hd_dram_cfg c = base();
        strcpy(c.map, map[i]);
        c.channels = channels[i];
        c.banks = i % 2 ? 16 : 8;
        c.interleave = i % 2 ? 0 : 256;
        c.bus_bytes = i < 2 ? 32 : 64;
        trial(&c, 300, i, 4, PLAIN);
        c.banks = c.groups = 6;
        trial(&c, 300, i, 4, PLAIN);
    }
}

static void odd_timing(void **state)
{
    struct hd_rng r = hd_rng_make(99, 0);

    (void)state;
    for (uint32_t i = 0; i < 12; i++) {
        struct hd_dram_cfg c = base();
        draw_timing(&c, &r);
        c.scheduler = i % 3;
        c.page = i % 2;
        c.refresh = i % 4 == 0;
        c.trefi = 700;
        trial(&c, 300, i, 6, PLAIN);
    }
}

/* Two buses, pseudo-channels, tWTR_L and refresh of single banks. */
static void buses_and_banks(void **state)
{
    struct hd_rng r = hd_rng_make(17, 5);

    (void)state;
    for (uint32_t i = 0; i < 36; i++) {
        struct hd_dram_cfg c = base();
        if (i % 4 != 0)
            draw_timing(&c, &r);
        draw_modern(&c, &r);
        c.scheduler = i % 3;
        c.page = i / 3 % 2;
        c.golden = i % 2;
        trial(&c, 260, 100 + i, i % 2 ? 4 : 10,
              i % 5 == 0   ? CLASSES_BOUND
              : i % 5 == 1 ? PICK_BOUND
              : i % 5 == 2 ? SYNCED | CLASSES_BOUND | PICK_BOUND
                           : PLAIN);
    }
}

/* The memories of dram.kind at cards' clocks. */
static void kinds_of_memory(void **state)
{
    static const uint64_t hz[] = {877000000, 1593000000, 1309500000, 1750000000,
                                  2800000000};

    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        struct hd_dram_cfg c = base();
        struct heddle_error err = {0};
        c.kind = 1 + i % 5;
        c.channels = 2;
        c.refresh = 1;
        c.refresh_by = i / 5;
        assert_int_equal(hd_dram_kind_give(&c, hz[i % 5], &err), 0);
        trial(&c, 300, 200 + i, i % 2 ? 4 : 12, i % 3 ? PLAIN : SYNCED);
    }
}

static void cuts_change_nothing(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 3; s++) {
        struct hd_dram_cfg c = base();
        c.scheduler = s;
        c.refresh = 1;
        trial(&c, 300, 3 + s, 8, SYNCED);
        trial(&c, 300, 3 + s, 8, SYNCED | PICK_BOUND | CLASSES_BOUND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedulers_and_pages),
        cmocka_unit_test(classes),
        cmocka_unit_test(geometries),
        cmocka_unit_test(odd_timing),
        cmocka_unit_test(cuts_change_nothing),
        cmocka_unit_test(buses_and_banks),
        cmocka_unit_test(kinds_of_memory),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
