/*
 * 158-dram-pair - pins that the fast path through a batch of commands, taken
 * when nothing out of the ordinary is set, does what the general one does: two
 * systems get the same random requests, one of them with a watcher, which
 * takes the general way (151 holds its commands against a naive controller).
 * At every cut the state of all channels is the same byte for byte, at the end
 * so are all counters and histograms, and the end of each read; with refreshes,
 * which cut batches elsewhere, that of banks.  Queues are long and short, loads
 * light and heavy.
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

/* A load of requests: streams of rows, jumps, writes, walks, pauses. */
static void make_load(struct item *v, uint32_t n, struct hd_rng *r,
                      uint32_t gap, const struct hd_dram_cfg *c)
{
    uint32_t piece = hd_dram_piece(c), burst = hd_dram_burst(c);
    uint32_t jumps = hd_rng_below(r, 9), writes = hd_rng_below(r, 3);
    uint64_t at = 0, stream = 0;

    memset(v, 0, n * sizeof *v);
    for (uint32_t i = 0; i < n; i++) {
        if (hd_rng_below(r, 24) == 0)
            stream = (uint64_t)hd_rng_below(r, 256) * c->row_bytes;
        if (hd_rng_below(r, 8) >= jumps)
            v[i].address = stream += piece;
        else
            v[i].address = (uint64_t)hd_rng_below(r, 1 << 16) * piece;
        v[i].kind = hd_rng_below(r, 4) < writes ? HD_REQ_WRITE
                    : hd_rng_below(r, 6) == 0   ? HD_REQ_WALK
                                                : HD_REQ_READ;
        v[i].level = v[i].kind == HD_REQ_WALK ? 1 + hd_rng_below(r, 4) : 0;
        v[i].app = hd_rng_below(r, 2);
        v[i].bytes = burst * (1 + hd_rng_below(r, piece / burst));
        if (hd_rng_below(r, 300) == 0)
            at += 1500;
        v[i].cycle = at += hd_rng_below(r, gap);
    }
}

static void ignore(void *self, const struct hd_dramcmd *cmd)
{
    ++*(uint32_t *)self;
    (void)cmd;
}

static void open_one(struct rig *g, const struct hd_dram_cfg *c, struct item *v,
                     uint32_t n)
{
    rig_open(g, c, 1);
    assert_int_equal(g->err.code, 0);
    g->item = v;
    g->items = n;
    for (uint32_t i = 0; i < n; i++)
        hd_post(&g->ev, g->id, g->id, v[i].cycle, 0, i, 0);
}

static void same_state(const struct rig *a, const struct rig *b, uint64_t now)
{
    const struct hd_dram *x = a->dram, *y = b->dram;

    for (uint32_t c = 0; c < x->cfg.channels; c++) {
        const struct hd_dramlane *p = &x->lane[c], *q = &y->lane[c];
        if (x->cfg.refresh) { /* batches are cut elsewhere */
            assert_memory_equal(p->bank, q->bank,
                                x->cfg.banks * sizeof *p->bank);
            assert_int_equal(p->ch->floor, q->ch->floor);
            assert_int_equal(p->ch->row_floor, q->ch->row_floor);
            assert_int_equal(p->ch->ref_at, q->ch->ref_at);
            continue;
        }
        if (memcmp(p->ch, q->ch, sizeof *p->ch) != 0 ||
            memcmp(p->bank, q->bank, x->cfg.banks * sizeof *p->bank) != 0 ||
            memcmp(p->entry, q->entry, x->cfg.queue * sizeof *p->entry) != 0 ||
            memcmp(p->done, q->done, x->ring * sizeof *p->done) != 0)
            fail_msg("channel %u differs at cycle %llu", c,
                     (unsigned long long)now);
    }
}

/* One load through both; cut: cycles between looks, 0 for none. */
static void trial(const struct hd_dram_cfg *c, uint32_t n, struct hd_rng *r,
                  uint32_t gap, uint32_t cut)
{
    struct item *v = calloc(n, sizeof *v), *w = calloc(n, sizeof *w);
    uint32_t commands = 0;
    uint64_t until;
    struct rig a, b;
    int stop = 0;

    make_load(v, n, r, gap, c);
    memcpy(w, v, n * sizeof *v);
    open_one(&a, c, v, n);
    open_one(&b, c, w, n);
    hd_dram_watch(b.dram, ignore, &commands);
    until = v[n - 1].cycle + 200ull * n;
    for (uint64_t t = cut; cut != 0 && t < until; t += cut) {
        hd_events_run(&a.ev, t, &stop);
        hd_events_run(&b.ev, t, &stop);
        hd_env_sync(&a.env);
        hd_env_sync(&b.env);
        same_state(&a, &b, t);
        a.env.part[0].check(a.dram, 0, &a.err);
        assert_string_equal(a.err.text, "");
    }
    hd_events_run(&a.ev, until, &stop);
    hd_events_run(&b.ev, until, &stop);
    hd_env_sync(&a.env);
    hd_env_sync(&b.env);
    same_state(&a, &b, until);
    assert_int_equal(hd_numbers_live(&a.reqs.numbers), 0);
    assert_true(commands > n);
    assert_memory_equal(v, w, n * sizeof *v);
    assert_int_equal(a.arena.used, b.arena.used);
    for (uint32_t s = 0; s < ST_COUNT; s++)
        assert_int_equal(rig_total(&a, s), rig_total(&b, s));
    assert_memory_equal(a.dram->data_latency, b.dram->data_latency,
                        3 * sizeof *a.dram->data_latency);
    assert_memory_equal(a.dram->walk_latency, b.dram->walk_latency,
                        3 * sizeof *a.dram->walk_latency);
    rig_close(&a);
    rig_close(&b);
    free(v);
    free(w);
}

static void schedulers(void **state)
{
    struct hd_rng r = hd_rng_make(158, 1);

    (void)state;
    for (uint32_t i = 0; i < 36; i++) {
        struct hd_dram_cfg c = default_cfg();
        c.scheduler = i % 3;
        c.channels = 1 + i % 4;
        c.banks = i % 5 == 0 ? 16 : 8;
        c.queue = i % 2 ? 12 : 192;
        trial(&c, 1500, &r, 3u << i % 4, i % 3 * 29);
    }
}

static void odd_timing(void **state)
{
    struct hd_rng r = hd_rng_make(158, 2);

    (void)state;
    for (uint32_t i = 0; i < 36; i++) {
        struct hd_dram_cfg c = default_cfg();
        c.channels = 1;
        c.banks = c.groups = i % 3 == 0 ? 6 : 8;
        draw_timing(&c, &r);
        c.scheduler = i % 3;
        c.queue = i % 2 ? 12 : 192;
        trial(&c, 1000, &r, 2u << i % 5, i % 2 * 31);
    }
}

/* Streams that keep the data bus busy: requests of different bank groups take
 * turns there, at all distances of columns. */
static void turns(void **state)
{
    struct hd_rng r = hd_rng_make(158, 3);

    (void)state;
    for (uint32_t i = 0; i < 36; i++) {
        struct hd_dram_cfg c = default_cfg();
        c.channels = 1 + i % 2;
        c.groups = 2u << i % 3;
        c.bl = 1 + hd_rng_below(&r, 3);
        c.tccd_s = 1 + hd_rng_below(&r, 4);
        c.tccd_l = 1 + hd_rng_below(&r, 8);
        c.trtw = hd_rng_below(&r, 6);
        c.cl = i % 4 == 0 ? 2 : 12;
        c.queue = i % 3 ? 40 : 192;
        trial(&c, 1500, &r, 2u << i % 4, i % 2 * 31);
    }
}

/* Two command buses, pseudo-channels, tWTR_L and refresh of single banks. */
static void modern(void **state)
{
    struct hd_rng r = hd_rng_make(158, 4);

    (void)state;
    for (uint32_t i = 0; i < 72; i++) {
        struct hd_dram_cfg c = default_cfg();
        c.channels = 1;
        c.banks = i % 5 == 0 ? 16 : 8;
        if (i % 3 == 0)
            draw_timing(&c, &r);
        draw_modern(&c, &r);
        if (c.refresh_by == HD_DRAM_REFRESH_ALL)
            c.refresh = 0;
        c.trefi *= c.banks / 8;
        c.scheduler = i % 8 == 7;
        c.queue = i % 4 ? 192 : 12;
        trial(&c, 1200, &r, 2u << i % 5, i % 3 * 29);
    }
    for (uint32_t i = 0; i < 20; i++) {
        struct hd_dram_cfg c = default_cfg();
        struct heddle_error err = {0};
        c.channels = 2;
        c.kind = 1 + i % 5;
        c.refresh = i / 5 % 2;
        c.refresh_by = HD_DRAM_REFRESH_BANK;
        assert_int_equal(hd_dram_kind_give(&c, 1250000000, &err), 0);
        trial(&c, 2000, &r, 2u << i % 4, i % 3 * 29);
    }
}

/* A channel that is idle for longer than 32 bits can tell. */
static void long_idle(void **state)
{
    struct hd_dram_cfg c = default_cfg();
    struct item v[12];
    struct rig g;
    int stop = 0;

    (void)state;
    memset(v, 0, sizeof v);
    for (uint32_t i = 0; i < 12; i++) {
        v[i].cycle = 10 + (i / 3 * 5ull << 31) + i % 3;
        v[i].address = (uint64_t)(i % 3) << 24; /* one bank, three rows */
        v[i].bytes = 128;
    }
    c.channels = 1;
    open_one(&g, &c, v, 12);
    hd_events_run(&g.ev, v[11].cycle + 1000, &stop);
    for (uint32_t i = 6; i < 12; i++) { /* from one row open on, always alike */
        assert_true(v[i].end > v[i].cycle);
        assert_int_equal(v[i].end - v[i].cycle, v[i - 3].end - v[i - 3].cycle);
    }
    for (uint32_t i = 1; i < 12; i++)
        assert_true(v[i].end >= v[i - 1].end + c.trc);
    assert_int_equal(rig_total(&g, ST_READS), 12);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedulers),
        cmocka_unit_test(odd_timing),
        cmocka_unit_test(turns),
        cmocka_unit_test(modern),
        cmocka_unit_test(long_idle),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
