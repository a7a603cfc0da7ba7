/*
 * 150-dram-latency - pins the unloaded latencies (closed bank 27, row hit 15,
 * conflict 39 cycles from acceptance to last datum), how bursts of a line add
 * to them, and the constant latencies of the other modes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dramrig.h"

static uint64_t latency(const struct item *i)
{
    return i->end - i->accepted;
}

static void unloaded(void **state)
{
    struct hd_dram_cfg c = lone_cfg();
    struct rig g;
    struct item v[] = {
        {.address = 0, .cycle = 0, .bytes = 32},         /* closed */
        {.address = 64, .cycle = 200, .bytes = 32},      /* hit */
        {.address = 4096 * 8, .cycle = 400, .bytes = 32} /* conflict */
    };

    (void)state;
    for (uint64_t tick = 1; tick <= 20; tick += 19) {
        rig_open(&g, &c, tick);
        rig_run(&g, v, 3);
        assert_int_equal(latency(&v[0]), 27);
        assert_int_equal(latency(&v[1]), 15);
        assert_int_equal(latency(&v[2]), 39);
        assert_int_equal(rig_total(&g, ST_ROW_HITS), 1);
        assert_int_equal(rig_total(&g, ST_ACTIVATES), 2);
        assert_int_equal(rig_total(&g, ST_PRECHARGES), 1);
        rig_close(&g);
    }
}

static void line_of_four_bursts(void **state)
{
    struct hd_dram_cfg c = default_cfg();
    struct rig g;
    struct item v[] = {{.address = 0, .cycle = 0, .bytes = 128}};

    (void)state;
    c.channels = 1;
    rig_open(&g, &c, 1);
    rig_run(&g, v, 1);
    assert_int_equal(latency(&v[0]), 27 + 3 * 3); /* one group: tCCD_L */
    assert_int_equal(rig_total(&g, ST_DATA_BURSTS), 4);
    assert_int_equal(rig_total(&g, ST_BUSY), 8);
    rig_close(&g);
}

static void closed_page(void **state)
{
    struct hd_dram_cfg c = lone_cfg();
    struct rig g;
    struct item v[] = {{.address = 0, .cycle = 0, .bytes = 32},
                       {.address = 64, .cycle = 200, .bytes = 32},
                       {.address = 4096 * 8, .cycle = 400, .bytes = 32}};

    (void)state;
    c.page = 1;
    rig_open(&g, &c, 1);
    rig_run(&g, v, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(latency(&v[i]), 27);
    assert_int_equal(rig_total(&g, ST_PRECHARGES), 3);
    rig_close(&g);
}

static void constant_modes(void **state)
{
    static const uint32_t kind[] = {HD_OFF, HD_IDEAL, HD_FIXED};
    static const uint64_t expected[] = {0, 15, 100};
    struct rig g;

    (void)state;
    for (int k = 0; k < 3; k++) {
        struct hd_dram_cfg c = lone_cfg();
        struct item v[50];
        c.mode.kind = kind[k];
        c.mode.fixed = 100;
        memset(v, 0, sizeof v);
        for (int i = 0; i < 50; i++) {
            v[i].address = (uint64_t)i << 20;
            v[i].bytes = 32;
            v[i].kind = i % 5 == 4 ? HD_REQ_WRITE : HD_REQ_READ;
        }
        rig_open(&g, &c, 1);
        rig_run(&g, v, 50);
        for (int i = 0; i < 50; i++)
            if (i % 5 != 4)
                assert_int_equal(latency(&v[i]), expected[k]);
        assert_int_equal(hd_numbers_live(&g.reqs.numbers), 0);
        rig_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unloaded),
        cmocka_unit_test(line_of_four_bursts),
        cmocka_unit_test(closed_page),
        cmocka_unit_test(constant_modes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
