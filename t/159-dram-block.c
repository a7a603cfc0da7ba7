/*
 * 159-dram-block - pins banks that a copy inside DRAM keeps busy: requests to
 * them wait until it is over, with an open row or without, others do not; and
 * which ranges are in the same channels.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dramrig.h"

static struct hd_dram_cfg one_channel(void)
{
    struct hd_dram_cfg c = default_cfg();

    c.channels = 1;
    c.groups = 1;
    c.interleave = 0;
    strcpy(c.map, "A"); /* a stream stays in one bank */
    return c;
}

static void waits(void **state)
{
    struct hd_dram_cfg c = one_channel();
    uint64_t row = c.row_bytes;
    struct rig g;
    struct item v[4];

    (void)state;
    for (uint32_t open = 0; open < 2; open++) {
        memset(v, 0, sizeof v);
        for (uint32_t i = 0; i < 4; i++)
            v[i].bytes = 32;
        v[1].address = 64;      /* bank 0, the same row */
        v[2].address = row;     /* bank 1 */
        v[3].address = 8 * row; /* bank 0, another row */
        v[0].cycle = 0;
        v[1].cycle = v[2].cycle = v[3].cycle = 100;
        rig_open(&g, &c, 1);
        if (open) { /* a first request opens the row, then it is blocked */
            struct item w = v[0];
            rig_run(&g, &w, 1);
            assert_int_equal(w.end, 27);
        }
        hd_dram_block(g.dram, hd_ticks(&g.clk, HD_CLK_DRAM, 50), 0, (hd_pa){0},
                      32, hd_ticks(&g.clk, HD_CLK_DRAM, 400));
        rig_run(&g, v + 1, 3);
        /* row open: as if activated so long before that neither a read nor a
         * write comes before 400 (tRCD 12 and 7); closed: activated then */
        assert_int_equal(v[1].end, open ? 400 + 12 - 7 + 14 : 400 + 12 + 14);
        assert_true(v[3].end > v[1].end);
        assert_int_equal(v[2].end, 127); /* the other bank as ever */
        assert_string_equal(g.err.text, "");
        rig_close(&g);
    }
}

/* A second block of the same bank reaches as far as the later one. */
static void longest(void **state)
{
    struct hd_dram_cfg c = one_channel();
    struct rig g;
    struct item v = {.bytes = 32, .cycle = 10};

    (void)state;
    rig_open(&g, &c, 1);
    hd_dram_block(g.dram, 0, 0, (hd_pa){0}, 32, 300);
    hd_dram_block(g.dram, 0, 0, (hd_pa){0}, 32, 200);
    rig_run(&g, &v, 1);
    assert_int_equal(v.end, 300 + 12 + 14);
    rig_close(&g);
}

static void channels(void **state)
{
    struct hd_dram_cfg c = default_cfg();
    struct rig g;

    (void)state;
    c.channels = 6;
    c.interleave = 256;
    rig_open(&g, &c, 1);
    assert_int_equal(hd_dram_banks(g.dram), 6 * c.banks);
    assert_int_equal(hd_dram_piece_bytes(g.dram), 256);
    /* 4 KB are 16 pieces: 16 mod 6 channels on, every third page repeats */
    for (uint64_t p = 0; p < 30; p++)
        for (uint64_t q = 0; q < 30; q++)
            assert_int_equal(hd_dram_same_channels(g.dram, (hd_pa){p << 12},
                                                   (hd_pa){q << 12}, 4096),
                             (p + 30 - q) % 3 == 0);
    rig_close(&g);
    c.interleave = 4096; /* a page a channel */
    rig_open(&g, &c, 1);
    for (uint64_t p = 0; p < 20; p++) {
        assert_int_equal(
            hd_dram_same_channels(g.dram, (hd_pa){0}, (hd_pa){p << 12}, 4096),
            p % 6 == 0);
        assert_int_equal(hd_dram_bank(g.dram, 0, (hd_pa){p << 12}) / c.banks,
                         p % 6);
    }
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits),
        cmocka_unit_test(longest),
        cmocka_unit_test(channels),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
