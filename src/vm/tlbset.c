/*
 * tlbset.c - what can be set of a TLB, and what it counts.
 *
 * The L1 TLBs and the shared L2 TLB are the same part (tlb.c) with the same
 * configuration; each has its own list of settings, because their defaults,
 * the sources of these and the range of sizes differ, and because each has
 * settings that the other has no use for: a core blocks on its own misses,
 * and only the L2 TLB can probe its two arrays one after the other.  What is
 * counted here is counted by the array itself; misses, merges and waiting are
 * counted by those who wait (gpu/l1tlb.c, l2tlb.c).
 *
 * The defaults are table 1 of MASK (ASPLOS 2018) as far as it goes; the other
 * machines state what differs (lua/heddle/machines.lua).
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>

#include "tlb.h"

#define TLB(field) offsetof(struct hd_tlb_cfg, field)

/* ---- settings ----------------------------------------------------------- */

const struct hd_setting hd_l1tlb_settings[] = {
    {"mode", HD_T_MODE, TLB(mode), "", "full", 0, 0, NULL,
     "off: no translation is looked up here; ideal: always hits at its "
     "latency, without limit of ports; fixed:N: always answers after N cycles",
     "MASK 4.1 (Ideal)"},
    {"entries", HD_T_U32, TLB(entries), "entries", "64", 1, 1u << 20, NULL,
     "base entries (4 KB and 64 KB pages, merged runs)", "MASK table 1"},
    {"ways", HD_T_U32, TLB(ways), "ways", "0", 0, 1u << 20, NULL,
     "associativity; 0: fully associative", "MASK table 1"},
    {"large_entries", HD_T_U32, TLB(large_entries), "entries", "0", 0, 1u << 20,
     NULL, "entries for 2 MB pages; 0: they go to the base array",
     "MASK table 1 has none; Mosaic table 1: 16"},
    {"large_ways", HD_T_U32, TLB(large_ways), "ways", "0", 0, 1u << 20, NULL,
     "associativity of the large entries; 0: fully associative",
     "Mosaic table 1"},
    {"ports", HD_T_U32, TLB(ports), "look-ups", "1", 1, 64, NULL,
     "look-ups a cycle", "Mosaic table 1"},
    {"latency", HD_T_U32, TLB(latency), "cycles", "1", 0, 10000, NULL,
     "core cycles of a look-up", "MASK table 1"},
    {"mshrs", HD_T_U32, TLB(mshrs), "pages", "32", 1, 4096, NULL,
     "pages whose misses can be in flight",
     "Pichai 7.2: 32, one a thread; for MASK and Mosaic a guess"},
    {"blocking", HD_T_CHOICE, TLB(blocking), "", "none", 0, 2, "none|hits|full",
     "what goes on while a miss is in flight.  hits: hits pass, and one "
     "instruction of the core owns the walks, with all its missing pages; other "
     "misses park in order, but those of a page in flight join it (Pichai 6.3, "
     "the reading of MASK 6).  none: nothing waits, and any number of "
     "instructions miss at once (Pichai's future work).  full: no other memory "
     "instruction goes on (Pichai's naive TLB, 6.1)",
     "Pichai 6.1 to 6.3; MASK 6 takes its TLB from there: the presets say which"},
    {"merge_pages", HD_T_U32, TLB(merge_pages), "pages", "16", 2, 16, NULL,
     "aligned group of 4 KB pages that one merged entry may cover: 2, 4, 8, 16",
     "CoLT: 4; a 128-byte line of page-table entries: 16"},
};
const uint32_t hd_l1tlb_setting_count = HD_LEN(hd_l1tlb_settings);

const struct hd_setting hd_l2tlb_settings[] = {
    {"mode", HD_T_MODE, TLB(mode), "", "full", 0, 0, NULL,
     "off: misses of the L1 TLBs go straight to the walkers; ideal: always "
     "hits at its latency, without limit of ports; fixed:N: always answers "
     "after N cycles",
     "MASK 3.1: full is SharedTLB, off is PWCache"},
    {"entries", HD_T_U32, TLB(entries), "entries", "512", 1, 1u << 24, NULL,
     "base entries (4 KB and 64 KB pages, merged runs)", "MASK table 1"},
    {"ways", HD_T_U32, TLB(ways), "ways", "16", 0, 1u << 24, NULL,
     "associativity; 0: fully associative", "MASK table 1"},
    {"large_entries", HD_T_U32, TLB(large_entries), "entries", "0", 0, 1u << 20,
     NULL, "entries for 2 MB pages; 0: they go to the base array",
     "MASK table 1 has none; Mosaic table 1: 256"},
    {"large_ways", HD_T_U32, TLB(large_ways), "ways", "0", 0, 1u << 20, NULL,
     "associativity of the large entries; 0: fully associative",
     "Mosaic table 1"},
    {"ports", HD_T_U32, TLB(ports), "look-ups", "2", 1, 64, NULL,
     "look-ups a cycle", "MASK table 1"},
    {"latency", HD_T_U32, TLB(latency), "cycles", "10", 0, 10000, NULL,
     "L2-clock cycles of a look-up of one array", "MASK table 1"},
    {"mshrs", HD_T_U32, TLB(mshrs), "pages", "256", 1, 65536, NULL,
     "pages whose misses can be in flight; when all are, the next miss blocks "
     "the head of the input queue",
     "guess: no paper states it; not below the walks a MASK core set can have"},
    {"serial", HD_T_BOOL, TLB(serial), "", "true", 0, 1, NULL,
     "with large entries: the base array is probed after the large one, each "
     "at the full latency; 0: both at once",
     "Mosaic 4.3 counts both probes; that they follow one another: guess"},
    {"merge_pages", HD_T_U32, TLB(merge_pages), "pages", "16", 2, 16, NULL,
     "aligned group of 4 KB pages that one merged entry may cover: 2, 4, 8, 16",
     "CoLT: 4; a 128-byte line of page-table entries: 16"},
};
const uint32_t hd_l2tlb_setting_count = HD_LEN(hd_l2tlb_settings);

/* ---- counters ----------------------------------------------------------- */

const struct hd_stat_desc hd_tlb_stats[] = {
    {"lookups", "look-ups", "look-ups made", HD_STAT_COUNT},
    {"hits", "look-ups", "look-ups that found the page", HD_STAT_COUNT},
    {"large_hits", "look-ups", "hits in the array of 2 MB pages",
     HD_STAT_COUNT},
    {"merged_hits", "look-ups", "hits in an entry that covers a merged run",
     HD_STAT_COUNT},
    {"fills", "entries", "translations entered", HD_STAT_COUNT},
    {"merged_fills", "entries", "of the fills, merged runs", HD_STAT_COUNT},
    {"evictions", "entries", "entries of this application that were replaced",
     HD_STAT_COUNT},
    {"invalidations", "entries", "entries that were invalidated",
     HD_STAT_COUNT},
};
const uint32_t hd_tlb_stat_count = HD_LEN(hd_tlb_stats);
