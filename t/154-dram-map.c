/*
 * 154-dram-map - pins the address maps: the fields of maps A and B bit by bit,
 * one-to-one mapping for every geometry (also 3, 5, 6, 10, 12 and 24 channels,
 * hashed or not), and the errors of bad maps and shapes.
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

/* The inverse of hd_drammap_locate. */
static uint64_t address_of(const struct hd_drammap *m,
                           const struct hd_dramaddr *a)
{
    uint32_t f[HD_DRAM_FIELDS];
    uint64_t v = a->row;

    f[HD_DRAM_BANK] = a->bank % m->banks_in_group;
    f[HD_DRAM_GROUP] = a->group;
    f[HD_DRAM_COLUMN] = a->column / m->piece_bursts;
    f[HD_DRAM_CHANNEL] = a->channel;
    for (uint32_t i = HD_DRAM_FIELDS - 1; i-- > 0;)
        v = v * m->digit[i].size + f[m->digit[i].field];
    return v * m->piece + (uint64_t)(a->column % m->piece_bursts) * m->burst;
}

static struct hd_drammap make(const struct hd_dram_cfg *c)
{
    struct hd_drammap m;
    struct heddle_error err = {0, ""};

    assert_int_equal(hd_drammap_init(&m, c, &err), 0);
    return m;
}

/* Map A: row | bank | group | column | channel, 64-byte bursts. */
static void fields_of_a(void **state)
{
    struct hd_dram_cfg c = default_cfg();
    struct hd_drammap m;
    struct hd_dramaddr a;

    (void)state;
    c.bus_bytes = 64;
    c.interleave = 0;
    c.channels = 4;
    c.banks = 16;
    strcpy(c.map, "A");
    m = make(&c);
    /* 6 bits of burst, 2 channel, 6 column, 2 group, 2 bank, row */
    a = hd_drammap_locate(&m, 5ull << 18 | 3u << 16 | 1u << 14 | 33u << 8 |
                                  2u << 6);
    assert_int_equal(a.row, 5);
    assert_int_equal(a.bank, 1 * 4 + 3);
    assert_int_equal(a.group, 1);
    assert_int_equal(a.column, 33);
    assert_int_equal(a.channel, 2);
}

/* Map B: row | bank | column | group | channel, pieces of 256 bytes. */
static void fields_of_b(void **state)
{
    struct hd_dram_cfg c = default_cfg();
    struct hd_drammap m;
    struct hd_dramaddr a;

    (void)state;
    c.channels = 8;
    m = make(&c);
    /* 5 bits of burst, 3 low column, 3 channel, 2 group, 4 column, 1 bank */
    a = hd_drammap_locate(&m, 9ull << 18 | 1u << 17 | 11u << 13 | 2u << 11 |
                                  6u << 8 | 5u << 5 | 31);
    assert_int_equal(a.row, 9);
    assert_int_equal(a.bank, 2 * 2 + 1);
    assert_int_equal(a.column, 11 * 8 + 5);
    assert_int_equal(a.channel, 6);
    assert_int_equal(hd_drammap_locate(&m, 6u << 8).channel, 6);
}

/* Every burst of the first rows is hit once, and leads back to its address. */
static void one_to_one(const struct hd_dram_cfg *c)
{
    struct hd_drammap m = make(c);
    uint32_t columns = c->row_bytes / hd_dram_burst(c), rows = 3;
    size_t n = (size_t)c->channels * c->banks * columns * rows;
    uint8_t *seen = calloc(n, 1);

    for (size_t i = 0; i < n; i++) {
        uint64_t pa = (uint64_t)i * hd_dram_burst(c);
        struct hd_dramaddr a = hd_drammap_locate(&m, pa);
        size_t k;
        assert_true(a.row < rows && a.channel < c->channels &&
                    a.bank < c->banks && a.column < columns);
        assert_int_equal(a.group, a.bank / (c->banks / c->groups));
        if (c->channel_hash == HD_HASH_NONE)
            assert_int_equal(address_of(&m, &a), pa);
        k = (((size_t)a.row * c->channels + a.channel) * c->banks + a.bank) *
                columns +
            a.column;
        assert_int_equal(seen[k]++, 0);
    }
    free(seen);
}

static void any_geometry(void **state)
{
    static const uint32_t channels[] = {1, 2, 3, 5, 6, 8, 10, 12, 24};
    static const uint32_t banks[][2] = {{8, 4}, {16, 4}, {6, 3}, {1, 1}};
    static const char *const map[] = {"A", "B", "row:channel:column:bank:group",
                                      "row|group|bank|channel|column"};

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(channels); i++)
        for (uint32_t b = 0; b < HD_LEN(banks); b++)
            for (uint32_t k = 0; k < HD_LEN(map); k++) {
                struct hd_dram_cfg c = default_cfg();
                c.channels = channels[i];
                c.banks = banks[b][0];
                c.groups = banks[b][1];
                c.row_bytes = 1536 * (1 + k % 2);
                c.interleave = k < 2 ? 256 : 0;
                strcpy(c.map, map[k]);
                one_to_one(&c);
                c.row_bytes = 2048;
                one_to_one(&c);
                c.channel_hash = HD_HASH_XOR;
                one_to_one(&c);
                c.channel_hash =
                    hd_is_pow2(c.channels) ? HD_HASH_IPOLY : HD_HASH_XOR;
                one_to_one(&c);
            }
}

static void large_addresses(void **state)
{
    struct hd_dram_cfg c = default_cfg();
    struct hd_rng r = hd_rng_make(1, 1);

    (void)state;
    for (uint32_t i = 0; i < 100000; i++) {
        uint64_t pa = (hd_rng_next(&r) >> (1 + i % 63)) & ~31ull;
        struct hd_drammap m;
        struct hd_dramaddr a;
        c.channels = 1 + i % 13;
        m = make(&c);
        a = hd_drammap_locate(&m, pa);
        assert_int_equal(address_of(&m, &a), pa);
    }
}

static void expect(const struct hd_dram_cfg *c, uint32_t line, const char *text)
{
    struct heddle_error err = {0, ""};

    assert_int_equal(hd_dram_cfg_check(c, line, &err), HEDDLE_ECONFIG);
    assert_text(err.text, text);
}

static void bad_shapes(void **state)
{
    struct hd_dram_cfg c = default_cfg();

    (void)state;
    strcpy(c.map, "row:bank:column");
    expect(&c, 128, "lacks a field");
    strcpy(c.map, "row:bank:column:group:channel:bank");
    expect(&c, 128, "a field twice");
    strcpy(c.map, "row:bank:column:group:chanel");
    expect(&c, 128, "unknown field");
    strcpy(c.map, "bank:row:column:group:channel");
    expect(&c, 128, "does not begin with the row");
    c = default_cfg();
    c.groups = 3;
    expect(&c, 128, "dram.groups");
    c = default_cfg();
    c.interleave = 64;
    expect(&c, 128, "dram.interleave");
    c = default_cfg();
    c.bus_bytes = 48;
    expect(&c, 128, "dram.bus_bytes");
    c = default_cfg();
    c.row_bytes = 4000;
    expect(&c, 128, "dram.row_bytes");
    c = default_cfg();
    c.refresh = 1;
    c.trefi = 120;
    expect(&c, 128, "dram.trefi");
}

static void bus_width_in_bytes(void **state)
{
    struct hd_dram_cfg c = default_cfg();

    (void)state;
    c.bus_bytes = 8;
    assert_int_equal(hd_dram_burst(&c), 64);
    c.bus_bytes = 4;
    assert_int_equal(hd_dram_burst(&c), 32);
    c.bus_bytes = 64;
    assert_int_equal(hd_dram_burst(&c), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_a),  cmocka_unit_test(fields_of_b),
        cmocka_unit_test(any_geometry), cmocka_unit_test(large_addresses),
        cmocka_unit_test(bad_shapes),   cmocka_unit_test(bus_width_in_bytes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
