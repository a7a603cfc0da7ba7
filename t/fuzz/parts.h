/*
 * parts.h - fuzz targets: requests of a DRAM system, accesses of a TLB or a
 * cache, in lines.
 *
 * What is wrong is told with file and line, and what was read runs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef T_FUZZ_PARTS_H
#define T_FUZZ_PARTS_H

#include "fuzz.h"

#include "tool_part.h"

/* "path:number: words" */
static void parts_named(const char *error, const char *path)
{
    size_t n = strlen(path);

    assert_int_equal(strncmp(error, path, n), 0);
    assert_true(error[n] == ':' && error[n + 1] >= '1' && error[n + 1] <= '9');
    assert_true(strlen(error) > n + 10);
}

static bool parts_dram(const uint8_t *p, size_t n)
{
    heddle_part_dram *d = heddle_part_dram_new();
    struct heddle_part_dram_result result;
    int rc;

    kit_write_n(&kit, "requests", p, n);
    rc = heddle_part_dram_load(d, kit.path);
    if (rc == 0) {
        rc = heddle_part_dram_run(d, &result);
        assert_true(rc == 0 || heddle_part_dram_error(d)[0] != '\0');
        rc = 0;
    } else {
        assert_true(rc == HEDDLE_EDATA || rc == HEDDLE_EINVAL);
        parts_named(heddle_part_dram_error(d), kit.path);
    }
    heddle_part_dram_free(d);
    return rc == 0;
}

static void parts_dram_seeds(fuzz_put *put)
{
    static const char text[] = "0x1f000040 READ 0\n0x40 WRITE 3\n"
                               "# a comment\n0x7fffffc0 READ 17\n\n0x0 READ 17\n"
                               "0x1f000080 WRITE 400\n";

    put(text, sizeof text - 1);
}

/* The first byte says whether it is a cache's. */
static bool parts_tags(const uint8_t *p, size_t n)
{
    bool cache = n != 0 && p[0] % 2 != 0;
    heddle_part_tags *t =
        cache ? heddle_part_cache_new() : heddle_part_tlb_new();
    struct heddle_part_tags_result result;
    int rc;

    kit_write_n(&kit, "accesses", p + (n != 0), n - (n != 0));
    rc = heddle_part_tags_load(t, kit.path);
    heddle_part_tags_result(t, &result);
    assert_int_equal(result.hits + result.misses, result.accesses);
    if (rc != 0) {
        assert_int_equal(rc, HEDDLE_EDATA);
        parts_named(heddle_part_tags_error(t), kit.path);
    }
    heddle_part_tags_free(t);
    return rc == 0;
}

static void parts_tags_seeds(fuzz_put *put)
{
    static const char tlb[] = "00x12\n77\n18\n0xfffff\n77\n";
    static const char cache[] = "10x12 R\n77 W\n18 R\n0xfffff W\n77\n";

    put(tlb, sizeof tlb - 1);
    put(cache, sizeof cache - 1);
}

static const char *const parts_words[] = {"0x",
                                          " READ ",
                                          " WRITE ",
                                          " R",
                                          " W",
                                          "\n",
                                          "-",
                                          "18446744073709551615",
                                          "0xffffffffffffffff",
                                          NULL};

#endif
