/*
 * 166-dram-kinds - pins the memories of dram.kind against closed forms in ns,
 * with numbers of its own: unloaded latencies of a row hit, miss and conflict,
 * activates (tRRD, tFAW), columns (tCCD), a row and a column command in one
 * cycle, turns of pseudo-channels, refresh of one bank, which keeps that bank
 * and no other: none of its commands at clk - 1, and one at clk; rounding, and
 * what is refused; and the whole command stream of random loads, by the checker.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dramrig.h"
#include "texts.h"

/* dram.kind, its name, a card's clock in kHz, and ns times 1000. */
static const struct kind {
    uint32_t kind;
    const char *name;
    uint64_t khz;
    uint32_t cl, rcd, rp, rc, rrd, faw, rtp, rfcpb, rrefd;
    uint32_t pair;
} kinds[] = {
    {1, "hbm2", 877000, 14000, 14000, 14000, 48000, 4000, 15000, 5000, 160000,
     8000, 1},
    {2, "hbm2e", 1593000, 14000, 14000, 14000, 48000, 4000, 15000, 5000, 200000,
     8000, 1},
    {3, "hbm3", 1309500, 12500, 19375, 16250, 45000, 3125, 15000, 5625, 200000,
     8000, 1},
    {4, "gddr6", 1750000, 13680, 15390, 15390, 45030, 4560, 16530, 2280, 60000,
     8550, 0},
    {5, "gddr6x", 2800000, 13680, 15390, 15390, 45030, 4560, 16530, 2280, 60000,
     8550, 0},
};

enum { ROW = 1 << 20 }; /* a distance of bytes from row to row of a bank */

/* Cycles of ns / 1000, rounded up: ps * kHz / 10^9. */
static uint64_t ck(const struct kind *k, uint64_t ps)
{
    return (ps * k->khz + 999999999) / 1000000000;
}

/* A distance between commands: a whole number of turns. */
static uint64_t apart(const struct kind *k, uint64_t ps)
{
    uint64_t n = ck(k, ps);

    return k->pair ? n + n % 2 : n;
}

/* The first cycle from this one on in which channel 0 may command. */
static uint64_t turn(const struct kind *k, uint64_t cycle)
{
    return k->pair ? cycle + cycle % 2 : cycle;
}

static struct hd_dram_cfg settings(const struct kind *k)
{
    struct hd_dram_cfg c = default_cfg();
    struct heddle_error err = {0};

    c.kind = k->kind;
    c.channels = 2;
    strcpy(c.map, "row:channel:bank:column:group");
    c.interleave = 32;
    assert_int_equal(hd_dram_kind_give(&c, k->khz * 1000, &err), 0);
    assert_string_equal(err.text, "");
    assert_int_equal(hd_dram_cfg_check(&c, 32, &err), 0);
    assert_int_equal(c.banks, 16);
    assert_int_equal(c.groups, 4);
    return c;
}

/* Group, bank of the group, column, row. */
static uint64_t place(const struct hd_dram_cfg *c, uint32_t group,
                      uint32_t bank, uint32_t column, uint32_t row)
{
    uint32_t columns = c->row_bytes / 32;

    return (((uint64_t)row * 2 * 4 + bank) * columns + column) * 4 * 32 +
           group * 32;
}

static void run(struct rig *g, const struct hd_dram_cfg *c, struct item *v,
                uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        v[i].bytes = 32;
    rig_open(g, c, 1);
    assert_string_equal(g->err.text, "");
    hd_dram_watch(g->dram, rig_watch, g);
    g->dram->check = hd_dramcheck_open(&g->env, c);
    rig_run(g, v, n);
    assert_string_equal(g->err.text, "");
}

/* The n-th command of a kind in the log. */
static const struct hd_dramcmd *nth(const struct rig *g, uint32_t kind,
                                    uint32_t n)
{
    for (uint32_t i = 0; i < g->logged; i++)
        if (g->log[i].kind == kind && n-- == 0)
            return &g->log[i];
    fail_msg("there is no such command");
    return NULL;
}

static void unloaded(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HD_LEN(kinds); i++) {
        const struct kind *k = &kinds[i];
        struct hd_dram_cfg c = settings(k);
        uint64_t data = ck(k, k->cl) + 2, from;
        struct item v[3] = {
            {.address = place(&c, 0, 0, 0, 0), .cycle = 0},
            {.address = place(&c, 0, 0, 1, 0), .cycle = 1000},
            {.address = place(&c, 0, 0, 0, 1), .cycle = 2001},
        };
        struct rig g;
        run(&g, &c, v, 3);
        from = turn(k, 1);
        assert_int_equal(v[0].end, from + apart(k, k->rcd) + data);
        assert_int_equal(v[1].end, turn(k, 1001) + data);
        from = turn(k, 2002);
        assert_int_equal(v[2].end,
                         from + apart(k, k->rp) + apart(k, k->rcd) + data);
        rig_close(&g);
    }
}

static void activates(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HD_LEN(kinds); i++) {
        const struct kind *k = &kinds[i];
        struct hd_dram_cfg c = settings(k);
        uint64_t rrd = ck(k, k->rrd), faw = ck(k, k->faw), first;
        struct item v[5];
        struct rig g;
        memset(v, 0, sizeof v);
        rrd = k->kind <= 2 && rrd < 4 ? 4 : rrd;
        faw = k->kind <= 2 && faw < 8 ? 8 : faw;
        rrd += k->pair && rrd % 2;
        faw += k->pair && faw % 2;
        for (uint32_t b = 0; b < 5; b++)
            v[b].address = place(&c, b % 4, b / 4, 0, 0);
        run(&g, &c, v, 5);
        first = nth(&g, HD_DRAM_ACT, 0)->cycle;
        for (uint32_t b = 1; b < 4; b++)
            assert_int_equal(nth(&g, HD_DRAM_ACT, b)->cycle, first + b * rrd);
        assert_int_equal(nth(&g, HD_DRAM_ACT, 4)->cycle,
                         first + (4 * rrd > faw ? 4 * rrd : faw));
        rig_close(&g);
    }
}

static void columns(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HD_LEN(kinds); i++) {
        const struct kind *k = &kinds[i];
        struct hd_dram_cfg c = settings(k);
        struct item v[6] = {
            {.address = place(&c, 0, 0, 0, 0)},
            {.address = place(&c, 1, 0, 0, 0)},
            {.address = place(&c, 0, 0, 1, 0), .cycle = 1000},
            {.address = place(&c, 1, 0, 1, 0), .cycle = 1000},
            {.address = place(&c, 0, 0, 2, 0), .cycle = 2000},
            {.address = place(&c, 0, 0, 3, 0), .cycle = 2000},
        };
        struct rig g;
        run(&g, &c, v, 6);
        /* tCCD_S and tCCD_L are 2 and 4 CK */
        assert_int_equal(v[3].end - v[2].end, 2);
        assert_int_equal(v[5].end - v[4].end, 4);
        rig_close(&g);
    }
}

/* With two buses an activate and a read go in one cycle, with one they do not. */
static void two_buses(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HD_LEN(kinds); i++) {
        const struct kind *k = &kinds[i];
        struct hd_dram_cfg c = settings(k);
        struct item v[3] = {
            {.address = place(&c, 0, 0, 0, 0)},
            {.address = place(&c, 0, 0, 1, 0), .cycle = 1000},
            {.address = place(&c, 1, 0, 0, 0), .cycle = 1000},
        };
        struct rig g;
        run(&g, &c, v, 3);
        assert_int_equal(nth(&g, HD_DRAM_RD, 1)->cycle, turn(k, 1001));
        assert_int_equal(nth(&g, HD_DRAM_ACT, 1)->cycle,
                         turn(k, 1001) + (k->pair ? 0 : 1));
        for (uint32_t n = 0; n < g.logged; n++)
            assert_true(!k->pair || g.log[n].cycle % 2 == 0);
        rig_close(&g);
    }
}

/* An activate holds a row bus of a pair for 2 turns of 2 cycles. */
static void activate_holds_its_bus(void **state)
{
    const struct kind *k = &kinds[0];
    struct hd_dram_cfg c = settings(k);
    struct item v[3] = {
        {.address = place(&c, 1, 0, 0, 0)},
        {.address = place(&c, 0, 0, 0, 0), .cycle = 1000},
        {.address = place(&c, 1, 0, 0, 1), .cycle = 1001},
    };
    struct rig g;

    (void)state;
    run(&g, &c, v, 3);
    assert_int_equal(nth(&g, HD_DRAM_ACT, 1)->cycle, 1002);
    assert_int_equal(nth(&g, HD_DRAM_PRE, 0)->cycle, 1006);
    rig_close(&g);
}

/*
 * Bank 0 is refreshed first, when tREFI / 16 has passed: at clk - 1 it still
 * works, at clk it does not; when it is over it does at clk and not before;
 * another bank goes on all the time, but for activates in tRREFD.
 */
static void one_bank(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HD_LEN(kinds); i++) {
        const struct kind *k = &kinds[i];
        for (uint32_t late = 0; late < 2; late++) {
            struct hd_dram_cfg c = settings(k);
            uint64_t due, shut, ref, ready;
            struct rig g;
            c.refresh = 1;
            c.refresh_by = HD_DRAM_REFRESH_BANK;
            due = hd_dram_trefi(&c);
            due -= k->pair ? due % 2 : 0; /* the last turn before, or at it */
            if (hd_dram_trefi(&c) != due)
                due += 2;
            struct item v[] = {
                {.address = place(&c, 0, 0, 0, 0)},
                {.address = place(&c, 1, 0, 0, 0)},
                /* bank 0, in its last cycle, or in the next: takes part a cycle
                 * after it has come */
                {.address = place(&c, 0, 0, 1, 0),
                 .cycle = due - (k->pair ? 2 : 1) - 1 + late * (1 + k->pair)},
                {.address = place(&c, 1, 0, 1, 0), .cycle = due + 20},
                {.address = place(&c, 2, 0, 0, 0), .cycle = due - 1},
            };
            run(&g, &c, v, 5);
            /* in time it is read at clk - 1, and the row closed tRTP later */
            shut = late ? due : due - 1 - k->pair + apart(k, k->rtp);
            if (!late)
                assert_int_equal(v[2].end,
                                 due - 1 - k->pair + ck(k, k->cl) + 2);
            assert_int_equal(nth(&g, HD_DRAM_PREB, 0)->cycle, shut);
            assert_int_equal(nth(&g, HD_DRAM_PREB, 0)->bank, 0);
            ref = nth(&g, HD_DRAM_REFB, 0)->cycle;
            assert_int_equal(ref, shut + apart(k, k->rp));
            assert_int_equal(nth(&g, HD_DRAM_REFB, 0)->bank, 0);
            ready = ref + apart(k, k->rfcpb);
            if (late)
                assert_int_equal(v[2].end, ready + apart(k, k->rcd) +
                                               ck(k, k->cl) + 2);
            /* another bank, whose row stays open: as if nothing were */
            assert_int_equal(v[3].end, turn(k, due + 21) + ck(k, k->cl) + 2);
            /* and one that is activated, before the refresh */
            assert_true(nth(&g, HD_DRAM_ACT, 2)->cycle < ref);
            assert_int_equal(nth(&g, HD_DRAM_ACT, 2)->bank, 8);
            rig_close(&g);
        }
    }
}

/* An activate of another bank waits for tRREFD after a refresh, one of the bank
 * for tRFCpb. */
static void after_a_refresh(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HD_LEN(kinds); i++) {
        const struct kind *k = &kinds[i];
        struct hd_dram_cfg c = settings(k);
        uint64_t ref, rrefd;
        struct rig g;
        c.refresh = 1;
        c.refresh_by = HD_DRAM_REFRESH_BANK;
        struct item v[] = {
            {.address = place(&c, 3, 3, 0, 0), .cycle = hd_dram_trefi(&c) + 2},
            {.address = place(&c, 0, 0, 0, 0), .cycle = hd_dram_trefi(&c) + 2},
        };
        run(&g, &c, v, 2);
        ref = nth(&g, HD_DRAM_REFB, 0)->cycle;
        assert_int_equal(ref, turn(k, hd_dram_trefi(&c)));
        rrefd = ck(k, k->rrefd);
        rrefd += k->pair && rrefd % 2;
        assert_int_equal(nth(&g, HD_DRAM_ACT, 0)->cycle, ref + rrefd);
        assert_int_equal(nth(&g, HD_DRAM_ACT, 0)->bank, 15);
        assert_int_equal(nth(&g, HD_DRAM_ACT, 1)->cycle,
                         ref + apart(k, k->rfcpb));
        rig_close(&g);
    }
}

/* Rounded up, but tREFI; again changes nothing; least numbers of CK. */
static void rounding(void **state)
{
    struct hd_dram_cfg c = default_cfg(), again;
    struct heddle_error err = {0};

    (void)state;
    c.kind = 1;
    c.channels = 2;
    assert_int_equal(hd_dram_kind_give(&c, 715000000, &err), 0);
    assert_int_equal(c.cl, 11);      /* 10.01 */
    assert_int_equal(c.trefi, 2788); /* 2788.5 */
    assert_int_equal(c.trrd, 4);     /* 2.86, of at least 4 */
    assert_int_equal(c.trtw, 0);
    again = c;
    assert_int_equal(hd_dram_kind_give(&again, 715000000, &err), 0);
    assert_memory_equal(&c, &again, sizeof c);
    assert_int_equal(hd_dram_kind_give(&again, 1000000000, &err),
                     HEDDLE_ECONFIG);
    c = default_cfg();
    c.kind = 1;
    c.channels = 2;
    assert_int_equal(hd_dram_kind_give(&c, 1000000000, &err), 0);
    assert_int_equal(c.cl, 14); /* 14.000 is 14 */
    assert_int_equal(c.trefi, 3900);
}

static void refused(void **state)
{
    struct hd_dram_cfg c = default_cfg();
    struct heddle_error err = {0};

    (void)state;
    c.kind = 4;
    c.trp = 24;
    assert_int_equal(hd_dram_kind_give(&c, 1750000000, &err), HEDDLE_ECONFIG);
    assert_text(err.text, "dram.trp: 24 is set together with dram.kind=gddr6, which "
                          "has 27 at clock.dram=1750000000");
    hd_err_clear(&err);
    c = default_cfg();
    c.kind = 3;
    assert_int_equal(hd_dram_kind_give(&c, 40000000000, &err), HEDDLE_ECONFIG);
    assert_text(err.text, "dram.kind: at clock.dram=40000000000 hbm3 would "
                          "have dram.trfc=14000; 1 to 10000 are");
    hd_err_clear(&err);
    c = default_cfg();
    c.kind = 3;
    c.channels = 3;
    assert_int_equal(hd_dram_kind_give(&c, 1309500000, &err), 0);
    assert_int_equal(hd_dram_cfg_check(&c, 32, &err), HEDDLE_ECONFIG);
    assert_text(err.text, "dram.channels: 3; pseudo-channels come in pairs");
    hd_err_clear(&err);
    c.channels = 2;
    c.bus_bytes = 64;
    assert_int_equal(hd_dram_kind_give(&c, 1309500000, &err), HEDDLE_ECONFIG);
    assert_text(err.text, "dram.bus_bytes: 64 is set together with dram.kind=hbm3");
    /* banks and buses that are set stay */
    hd_err_clear(&err);
    c = default_cfg();
    c.kind = 3;
    c.banks = 32;
    c.groups = 8;
    c.buses = HD_DRAM_BUSES_ONE;
    c.pseudo = HD_DRAM_PSEUDO_ALONE;
    assert_int_equal(hd_dram_kind_give(&c, 1309500000, &err), 0);
    assert_int_equal(c.banks, 32);
    assert_int_equal(c.groups, 8);
    assert_int_equal(c.buses, HD_DRAM_BUSES_ONE);
    assert_int_equal(c.pseudo, HD_DRAM_PSEUDO_ALONE);
    assert_int_equal(c.row_bytes, 1024);
    /* banks so many that none can be closed in its time */
    c.refresh = 1;
    c.refresh_by = HD_DRAM_REFRESH_BANK;
    c.trefi = 2400;
    assert_int_equal(hd_dram_cfg_check(&c, 32, &err), HEDDLE_ECONFIG);
    assert_text(err.text, "one of 32 banks is refreshed every 75 cycles");
}

/* Random loads, under the checker. */
static void random_loads(void **state)
{
    enum { N = 8000 };
    struct item *v = calloc(N, sizeof *v);

    (void)state;
    for (uint32_t i = 0; i < 2 * HD_LEN(kinds); i++) {
        struct hd_dram_cfg c = settings(&kinds[i / 2]);
        struct hd_rng r = hd_rng_make(166, i);
        struct rig g;
        c.refresh = 1;
        c.refresh_by = i % 2;
        memset(v, 0, N * sizeof *v);
        for (uint32_t n = 0; n < N; n++) {
            v[n].address = n % 2 ? v[n - 1].address + 32
                                 : (uint64_t)hd_rng_below(&r, 1 << 16) * 32;
            v[n].cycle = n * 6;
            v[n].kind = hd_rng_below(&r, 4) == 0 ? HD_REQ_WRITE : HD_REQ_READ;
        }
        run(&g, &c, v, N);
        assert_true(rig_total(&g, ST_REFRESHES) > (i % 2 ? 100 : 10));
        assert_int_equal(hd_numbers_live(&g.reqs.numbers), 0);
        rig_close(&g);
    }
    free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unloaded),
        cmocka_unit_test(activates),
        cmocka_unit_test(columns),
        cmocka_unit_test(two_buses),
        cmocka_unit_test(activate_holds_its_bus),
        cmocka_unit_test(one_bank),
        cmocka_unit_test(after_a_refresh),
        cmocka_unit_test(rounding),
        cmocka_unit_test(refused),
        cmocka_unit_test(random_loads),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
