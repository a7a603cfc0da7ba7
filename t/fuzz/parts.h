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

#include "scripts.h"

static bool parts_dram(const uint8_t *p, size_t n)
{
    return script_call("dram", p, n);
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
    return script_call("tags", p, n);
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
