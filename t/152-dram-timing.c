/*
 * 152-dram-timing - pins every timing setting in pairs: over a random load the
 * least distance between the two commands that a setting separates is exactly
 * its value, and one more when the setting is one more; and the checker, fed by
 * hand, refuses the second command one cycle early and takes it in time.
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
#include "dramrig.h"
#include "texts.h"

enum scope { BANK, GROUP, CHANNEL, OTHER_BANK };

#define AT(f) offsetof(struct hd_dram_cfg, f)

/* A setting, the commands it separates, and what is added to it. */
static const struct timing {
    const char *name;
    size_t offset;
    uint32_t from, to;
    enum scope scope;
    size_t plus[2]; /* offsets of settings added; 0: none */
    uint32_t value; /* set to this; 0: the default */
} timings[] = {
    {"tCCD_S", AT(tccd_s), HD_DRAM_RD, HD_DRAM_RD, CHANNEL, {0}, 0},
    {"tCCD_L", AT(tccd_l), HD_DRAM_RD, HD_DRAM_RD, GROUP, {0}, 0},
    {"tRRD", AT(trrd), HD_DRAM_ACT, HD_DRAM_ACT, CHANNEL, {0}, 0},
    {"tRC", AT(trc), HD_DRAM_ACT, HD_DRAM_ACT, BANK, {0}, 45},
    {"tRCDRD", AT(trcdrd), HD_DRAM_ACT, HD_DRAM_RD, BANK, {0}, 0},
    {"tRCDWR", AT(trcdwr), HD_DRAM_ACT, HD_DRAM_WR, BANK, {0}, 0},
    {"tRAS", AT(tras), HD_DRAM_ACT, HD_DRAM_PRE, BANK, {0}, 0},
    {"tRP", AT(trp), HD_DRAM_PRE, HD_DRAM_ACT, BANK, {0}, 0},
    {"tRTP", AT(trtp), HD_DRAM_RD, HD_DRAM_PRE, BANK, {0}, 0},
    {"tWR", AT(twr), HD_DRAM_WR, HD_DRAM_PRE, BANK, {AT(wl), AT(bl)}, 0},
    {"tWTR", AT(twtr), HD_DRAM_WR, HD_DRAM_RD, CHANNEL, {AT(wl), AT(bl)}, 0},
    {"tRTW", AT(trtw), HD_DRAM_RD, HD_DRAM_WR, CHANNEL, {0}, 12},
    {"tRFC", AT(trfc), HD_DRAM_REF, HD_DRAM_ACT, CHANNEL, {0}, 0},
    {"tWTR_L", AT(twtr_l), HD_DRAM_WR, HD_DRAM_RD, GROUP, {AT(wl), AT(bl)}, 9},
    {"tRFCpb", AT(trfcpb), HD_DRAM_REFB, HD_DRAM_ACT, BANK, {0}, 0},
    {"tRREFD", AT(trrefd), HD_DRAM_REFB, HD_DRAM_ACT, CHANNEL, {0}, 0},
};

static uint32_t *field(struct hd_dram_cfg *c, size_t offset)
{
    return (uint32_t *)((char *)c + offset);
}

static struct hd_dram_cfg base(void)
{
    struct hd_dram_cfg c = default_cfg();

    c.channels = 1;
    c.interleave = 0;
    c.refresh = 1;
    c.trefi = 2000;
    return c;
}

static void random_load(struct item *v, uint32_t n, uint64_t seed)
{
    struct hd_rng r = hd_rng_make(seed, 1);
    uint64_t stream = 0;

    memset(v, 0, n * sizeof *v);
    for (uint32_t i = 0; i < n; i++) {
        if (hd_rng_below(&r, 50) == 0)
            stream = (uint64_t)hd_rng_below(&r, 1 << 20) * 32;
        v[i].address = hd_rng_below(&r, 3) != 0
                           ? (stream += 32)
                           : (uint64_t)hd_rng_below(&r, 1 << 20) * 32;
        v[i].kind = hd_rng_below(&r, 3) == 0 ? HD_REQ_WRITE : HD_REQ_READ;
        v[i].bytes = 32;
        v[i].cycle = i * 6;
    }
}

static int related(const struct hd_dramcmd *a, const struct hd_dramcmd *b,
                   enum scope scope)
{
    return scope == BANK    ? a->bank == b->bank
           : scope == GROUP ? a->bank / 2 == b->bank / 2
                            : 1;
}

/* Least distance of any two such commands. */
static uint64_t least(const struct rig *g, const struct timing *t)
{
    uint64_t best = HD_NEVER;

    for (uint32_t i = 0; i < g->logged; i++) {
        if (g->log[i].kind != t->from)
            continue;
        for (uint32_t k = i + 1; k < g->logged; k++) {
            uint64_t d = g->log[k].cycle - g->log[i].cycle;
            if (d >= best || d > 300)
                break;
            if (g->log[k].kind == t->to &&
                related(&g->log[i], &g->log[k], t->scope))
                best = d;
        }
    }
    return best;
}

static void exact_in_the_stream(void **state)
{
    enum { N = 6000 };
    struct item *v = calloc(N, sizeof *v);

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(timings); i++) {
        const struct timing *t = &timings[i];
        for (uint32_t more = 0; more < 2; more++) {
            struct hd_dram_cfg c = base();
            struct rig g;
            uint64_t expected;
            c.refresh_by = t->from == HD_DRAM_REFB;
            if (t->value != 0)
                *field(&c, t->offset) = t->value;
            expected = *field(&c, t->offset) += more;
            for (int k = 0; k < 2; k++)
                if (t->plus[k] != 0)
                    expected += *field(&c, t->plus[k]);
            random_load(v, N, 5);
            rig_open(&g, &c, 1);
            hd_dram_watch(g.dram, rig_watch, &g);
            rig_run(&g, v, N);
            if (least(&g, t) != expected)
                fail_msg("%s: least distance %llu, expected %llu", t->name,
                         (unsigned long long)least(&g, t),
                         (unsigned long long)expected);
            rig_close(&g);
        }
    }
    free(v);
}

/* Four activates and the window of the fifth. */
static void four_activates(void **state)
{
    struct item v[5];

    (void)state;
    for (uint32_t more = 0; more < 2; more++) {
        struct hd_dram_cfg c = base();
        struct rig g;
        c.tfaw = 33 + more;
        c.refresh = 0;
        strcpy(c.map, "A");
        memset(v, 0, sizeof v);
        for (uint32_t i = 0; i < 5; i++) {
            v[i].address = i * 4096; /* banks in different groups */
            v[i].bytes = 32;
        }
        rig_open(&g, &c, 1);
        rig_run(&g, v, 5);
        /* Activates at 1, 7, 14 and 20 (reads go first at 13 and 19), and
         * then at 1 + tFAW, not at 26. */
        assert_int_equal(v[3].end, 20 + 12 + 12 + 2);
        assert_int_equal(v[4].end, 1 + 33 + more + 12 + 12 + 2);
        rig_close(&g);
    }
}

/* The data's own times. */
static void data_times(void **state)
{
    (void)state;
    for (uint32_t more = 0; more < 2; more++) {
        struct hd_dram_cfg c = base();
        struct rig g;
        struct item v[2] = {{.address = 0, .bytes = 32},
                            {.address = 32, .cycle = 100, .bytes = 32}};
        c.refresh = 0;
        c.bl = 2 + more;
        c.tccd_s = c.tccd_l = 1;
        rig_open(&g, &c, 1);
        rig_run(&g, v, 2);
        assert_int_equal(v[0].end, 27 + more);
        rig_close(&g);
        c = base();
        c.cl += more;
        strcpy(c.map, "A");
        rig_open(&g, &c, 1);
        rig_run(&g, v, 2);
        assert_int_equal(v[0].end, 27 + more);
        assert_int_equal(v[1].end, 115 + more);
        rig_close(&g);
    }
}

static void refresh_when_due(void **state)
{
    struct hd_dram_cfg c = base();
    struct rig g;
    /* Row open when the refresh comes due at 2000; it is closed at once. */
    struct item v[2] = {{.address = 0, .cycle = 1900, .bytes = 32},
                        {.address = 0, .cycle = 1999, .bytes = 32}};

    (void)state;
    rig_open(&g, &c, 1);
    hd_dram_watch(g.dram, rig_watch, &g);
    rig_run(&g, v, 2);
    assert_int_equal(g.log[2].kind, HD_DRAM_PREA);
    assert_int_equal(g.log[2].cycle, 2000);
    assert_int_equal(g.log[3].kind, HD_DRAM_REF);
    assert_int_equal(g.log[3].cycle, 2012);
    assert_int_equal(v[1].end, 2012 + 109 + 12 + 14);
    assert_int_equal(rig_total(&g, ST_REFRESHES), 1);
    assert_int_equal(rig_total(&g, ST_PRECHARGES), 1); /* of one open row */
    rig_close(&g);
}

/* Rows that a refresh closes are precharges, each of its own, of no
 * application; banks that are closed have none. */
static void refresh_closes_rows(void **state)
{
    struct hd_dram_cfg c = base();
    struct item v[9];
    struct rig g;

    (void)state;
    strcpy(c.map, "A");
    memset(v, 0, sizeof v);
    for (uint32_t open = 0; open < 8; open += 7) {
        for (uint32_t i = 0; i <= open; i++)
            v[i] = (struct item){
                .address = i * 4096, .cycle = 1500 + 20 * i, .bytes = 32};
        v[open + 1] = (struct item){.address = 0, .cycle = 2100, .bytes = 32};
        rig_open(&g, &c, 1);
        rig_run(&g, v, open + 2);
        assert_int_equal(rig_total(&g, ST_REFRESHES), 1);
        assert_int_equal(rig_total(&g, ST_PRECHARGES), open + 1);
        assert_int_equal(
            *hd_count(&g.dram->stat, 0, g.dram->others, ST_PRECHARGES),
            open + 1);
        rig_close(&g);
    }
}

/* ---- the checker by hand ------------------------------------------------- */

static const char *verdict(const struct hd_dram_cfg *c,
                           const struct hd_dramcmd *cmd, uint32_t n,
                           struct heddle_error *err)
{
    struct hd_arena a;
    struct hd_env env = {.arena = &a};
    struct hd_dramcheck *k;

    hd_arena_open(&a, 1 << 24);
    k = hd_dramcheck_open(&env, c);
    hd_err_clear(err);
    for (uint32_t i = 0; i < n; i++)
        hd_dramcheck_command(k, &cmd[i], err);
    hd_env_free(&env);
    hd_arena_close(&a);
    return err->text;
}

static struct hd_dramcmd at(uint64_t cycle, uint32_t kind, uint32_t bank)
{
    struct hd_dramcmd c = {
        .cycle = cycle, .kind = kind, .bank = bank, .row = 7};

    c.data = cycle + (kind == HD_DRAM_RD ? 12 : 4);
    return c;
}

static void checker_pairs(void **state)
{
    struct hd_dram_cfg c = base();
    const struct hd_dramcmd open0 = at(100, HD_DRAM_ACT, 0);
    const struct hd_dramcmd open2 = at(200, HD_DRAM_ACT, 2);
    struct {
        const char *name;
        struct hd_dramcmd cmd[6];
        uint32_t n;
        uint64_t from, distance; /* of the last command */
    } v[] = {
        {"tRCDRD", {open0, at(0, HD_DRAM_RD, 0)}, 2, 100, 12},
        {"tRCDWR", {open0, at(0, HD_DRAM_WR, 0)}, 2, 100, 7},
        {"tRAS", {open0, at(0, HD_DRAM_PRE, 0)}, 2, 100, 28},
        {"tRRD", {open0, at(0, HD_DRAM_ACT, 2)}, 2, 100, 6},
        {"tRP",
         {open0, at(150, HD_DRAM_PRE, 0), at(0, HD_DRAM_ACT, 0)},
         3,
         150,
         12},
        {"tRTP",
         {open0, at(150, HD_DRAM_RD, 0), at(0, HD_DRAM_PRE, 0)},
         3,
         150,
         2},
        {"tWR",
         {open0, at(150, HD_DRAM_WR, 0), at(0, HD_DRAM_PRE, 0)},
         3,
         150,
         18},
        {"tWTR",
         {open0, at(150, HD_DRAM_WR, 0), at(0, HD_DRAM_RD, 0)},
         3,
         150,
         11},
        {"tRTW",
         {open0, at(150, HD_DRAM_RD, 0), at(0, HD_DRAM_WR, 0)},
         3,
         150,
         12},
        {"tCCD_L",
         {open0, at(150, HD_DRAM_RD, 0), at(0, HD_DRAM_RD, 0)},
         3,
         150,
         3},
        {"tCCD_S",
         {open0, open2, at(250, HD_DRAM_RD, 0), at(0, HD_DRAM_RD, 2)},
         4,
         250,
         2},
        {"tRFC",
         {at(2000, HD_DRAM_REF, 0), at(0, HD_DRAM_ACT, 0)},
         2,
         2000,
         109},
        {"tREFI",
         {open0, at(150, HD_DRAM_PRE, 0), at(0, HD_DRAM_REF, 0)},
         3,
         0,
         2000},
    };
    struct heddle_error err;

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(v); i++) {
        struct hd_dramcmd *last = &v[i].cmd[v[i].n - 1];
        uint64_t lead = last->data;
        last->cycle = v[i].from + v[i].distance;
        last->data = lead + last->cycle;
        assert_string_equal(verdict(&c, v[i].cmd, v[i].n, &err), "");
        last->cycle--;
        last->data--;
        verdict(&c, v[i].cmd, v[i].n, &err);
        if (strstr(err.text, v[i].name) == NULL)
            fail_msg("%s one cycle early: '%s'", v[i].name, err.text);
    }
}

static void checker_states(void **state)
{
    struct hd_dram_cfg c = base();
    struct hd_dramcmd v[3] = {at(100, HD_DRAM_ACT, 0)};
    struct heddle_error err;

    (void)state;
    v[1] = at(200, HD_DRAM_RD, 0);
    v[1].row = 8;
    assert_text(verdict(&c, v, 2, &err), "row is open");
    v[1] = at(200, HD_DRAM_RD, 1);
    assert_text(verdict(&c, v, 2, &err), "row is open");
    v[1] = at(200, HD_DRAM_ACT, 0);
    assert_text(verdict(&c, v, 2, &err), "row is closed");
    v[1] = at(200, HD_DRAM_PRE, 1);
    assert_text(verdict(&c, v, 2, &err), "a row is open");
    v[1] = at(100, HD_DRAM_ACT, 3);
    assert_text(verdict(&c, v, 2, &err), "one command a cycle");
    v[1] = at(200, HD_DRAM_RD, 0);
    v[1].data++;
    assert_text(verdict(&c, v, 2, &err), "CL");
    v[1] = at(2000, HD_DRAM_RD, 0);
    assert_text(verdict(&c, v, 2, &err), "refresh is due");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_in_the_stream),
        cmocka_unit_test(four_activates),
        cmocka_unit_test(data_times),
        cmocka_unit_test(refresh_when_due),
        cmocka_unit_test(refresh_closes_rows),
        cmocka_unit_test(checker_pairs),
        cmocka_unit_test(checker_states),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
