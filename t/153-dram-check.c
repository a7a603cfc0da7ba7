/*
 * 153-dram-check - pins that the checker finds nothing in the commands of 10^6
 * random requests, and that it names each constraint when the controller's own
 * value is shortened by one cycle.
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

static void load(struct item *v, uint32_t n, uint32_t channels, uint64_t seed,
                 int reads_only)
{
    struct hd_rng r = hd_rng_make(seed, 1);
    uint64_t stream = 0;

    memset(v, 0, n * sizeof *v);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = hd_rng_below(&r, 1 << 20);
        if (hd_rng_below(&r, 50) == 0)
            stream = (uint64_t)x * 256;
        v[i].address =
            hd_rng_below(&r, 2) ? (stream += 128) : (uint64_t)x * 128;
        v[i].kind = hd_rng_below(&r, 4) == 0   ? !reads_only
                    : hd_rng_below(&r, 8) == 0 ? HD_REQ_WALK
                                               : HD_REQ_READ;
        v[i].bytes = v[i].kind == HD_REQ_WALK ? 8 : 128;
        v[i].app = hd_rng_below(&r, 2);
        v[i].cycle = (uint64_t)i * 10 / channels;
    }
}

static struct hd_dram_cfg base(void)
{
    struct hd_dram_cfg c = default_cfg();

    c.refresh = 1;
    return c;
}

/* Runs n requests on a controller with settings c, checked against `truth`. */
static void run(const struct hd_dram_cfg *c, const struct hd_dram_cfg *truth,
                uint32_t n, uint64_t seed, int reads_only, struct heddle_error *err)
{
    struct item *v = calloc(n, sizeof *v);
    struct rig g;

    load(v, n, c->channels, seed, reads_only);
    rig_open(&g, c, 1);
    g.dram->check = hd_dramcheck_open(&g.env, truth);
    g.dram->quiet = false; /* as where it is checked from the start */
    rig_run(&g, v, n);
    *err = g.err;
    assert_int_equal(hd_numbers_live(&g.reqs.numbers), 0);
    rig_close(&g);
    free(v);
}

static void silent_on_a_million(void **state)
{
    struct heddle_error err;
    uint32_t left = 1000000;

    (void)state;
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t page = 0; page < 2; page++) {
            struct hd_dram_cfg c = base();
            uint32_t n = s == 2 && page == 1 ? left : 166667;
            c.scheduler = s;
            c.page = page;
            c.tfaw = page ? 32 : 0;
            run(&c, &c, n, s, 0, &err);
            assert_string_equal(err.text, "");
            left -= n;
        }
    assert_int_equal(left, 0);
}

#define AT(f) offsetof(struct hd_dram_cfg, f)

static void catches_each(void **state)
{
    static const struct {
        const char *name;
        size_t offset;
        uint32_t value; /* the truth; 0: the default */
        size_t extra;   /* another setting that makes this one bind */
        uint32_t extra_value;
    } v[] = {
        {"tCCD_S", AT(tccd_s), 3, 0, 0},  {"tCCD_L", AT(tccd_l), 0, 0, 0},
        {"tRRD", AT(trrd), 0, 0, 0},      {"tFAW", AT(tfaw), 40, 0, 0},
        {"tRC", AT(trc), 45, 0, 0},       {"tRCDRD", AT(trcdrd), 0, 0, 0},
        {"tRCDWR", AT(trcdwr), 0, 0, 0},  {"tRAS", AT(tras), 0, 0, 0},
        {"tRP", AT(trp), 0, AT(trc), 20}, {"tRTP", AT(trtp), 0, 0, 0},
        {"tWR", AT(twr), 0, 0, 0},        {"tWTR", AT(twtr), 0, 0, 0},
        {"tRTW", AT(trtw), 12, 0, 0},     {"CL", AT(cl), 0, AT(trtw), 14},
        {"WL", AT(wl), 0, AT(trtw), 14},  {"BL", AT(bl), 0, AT(tccd_s), 1},
        {"tREFI", AT(trefi), 0, 0, 0},    {"tRFC", AT(trfc), 0, 0, 0},
        {"tWTR_L", AT(twtr_l), 9, 0, 0},
        {"tRFCpb", AT(trfcpb), 0, AT(refresh_by), 1},
        {"tRREFD", AT(trrefd), 0, AT(refresh_by), 1},
        {"the rule of one command", AT(tact), 3, AT(buses), 2},
    };
    struct heddle_error err;

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(v); i++) {
        struct hd_dram_cfg truth = base(), c;
        char name[32];
        int reads_only;
        truth.channels = 1;
        if (v[i].value != 0)
            *(uint32_t *)((char *)&truth + v[i].offset) = v[i].value;
        if (v[i].extra != 0)
            *(uint32_t *)((char *)&truth + v[i].extra) = v[i].extra_value;
        reads_only = v[i].offset == AT(bl); /* or tWTR breaks first */
        run(&truth, &truth, 20000, 3, reads_only, &err);
        assert_string_equal(err.text, "");
        c = truth;
        (*(uint32_t *)((char *)&c + v[i].offset))--;
        run(&c, &truth, 20000, 3, reads_only, &err);
        snprintf(name, sizeof name, "breaks %s", v[i].name);
        if (strstr(err.text, name) == NULL)
            fail_msg("%s shortened by one: '%s'", v[i].name, err.text);
        assert_int_equal(err.code, HEDDLE_ECHECK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silent_on_a_million),
        cmocka_unit_test(catches_each),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
