/*
 * tool_part.h - parts of the machine built and driven alone, without a GPU.
 *
 * A part takes its settings by the names of its group without the prefix
 * ("banks", "trrd"), then accesses, then runs, and shows its results.  Calls
 * return 0 or a negative HEDDLE_E code; the text is heddle_part_*_error.  Not
 * installed, as tool.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_TOOL_PART_H
#define HEDDLE_TOOL_PART_H

#include "tool.h"

/* ---- a DRAM system --------------------------------------------------- */

/*
 * Requests are one burst each.  Every channel has a FIFO of them in the order
 * in which they were added.  At each command cycle a channel's head is sent if
 * its cycle has come, it is a write or fewer than `window` reads are in flight
 * on the channel, and the controller's queue has room.  The first command for
 * a request comes one cycle after its acceptance; its latency is counted from
 * acceptance to its last datum.
 *
 * Settings are those of the group "dram" (heddle list settings), and `window`
 * (default 32), `check` (1: verify every command) and `clock` (clock.dram, for
 * `kind`).  Here `channels` is 1
 * and `interleave` is one burst unless they are set.  Capitals and
 * underlines in names do not matter (tRRD, CL, tCCD_L).
 */
typedef struct heddle_part_dram heddle_part_dram;

struct heddle_part_dram_result {
    uint64_t requests, reads, writes;
    uint64_t cycles; /* until the last read returned (no reads: until the last
                        write's data were sent) */
    double read_latency_mean;  /* cycles; 0 without reads */
    uint64_t read_latency_p99; /* cycles, nearest rank */
    double bandwidth;          /* fraction of the peak of all channels */
    uint64_t row_hits;         /* requests that found their row open */
    uint64_t activates, precharges, refreshes;
};

struct heddle_part_dram_request {
    uint64_t address;
    uint64_t cycle;    /* from which on it may be sent */
    uint64_t accepted; /* cycle at which the controller took it */
    uint64_t latency;  /* reads: cycles from there to the last datum */
    int write;
};

heddle_part_dram *heddle_part_dram_new(void); /* returns owned */ void
                                       heddle_part_dram_free(heddle_part_dram
                                       *d);
const char *heddle_part_dram_error(const heddle_part_dram *d);
int heddle_part_dram_set(heddle_part_dram *d, const char *name, const char
                         *value);
int heddle_part_dram_get(heddle_part_dram *d, const char *name, char *out,
                         size_t room);
/* Adds a request to the end of its channel's FIFO. */
int heddle_part_dram_add(heddle_part_dram *d, uint64_t address, int write,
                         uint64_t cycle);
/* Serves everything that was added, from cycle 0 with all banks closed. */
int heddle_part_dram_run(heddle_part_dram *d, struct heddle_part_dram_result
                         *out);
/* The i-th request after a run; HEDDLE_EINVAL past the last. */
int heddle_part_dram_request(const heddle_part_dram *d, uint64_t i, struct
                             heddle_part_dram_request *out);

/* ---- a TLB or a cache ------------------------------------------------- */

/*
 * Tags without time.  A TLB takes numbers of 4 KB pages, a cache byte
 * addresses; each access is a hit or a miss, and a miss brings the page or
 * the line.  The structures are those of the machine (translation/tlb.c, memory/cache.c).
 *
 *   TLB    entries (64), ways (0: fully associative)
 *   cache  bytes (16384), ways (4; 0: fully associative), line (128),
 *          write: back (default), through or evict
 *   both   policy: lru (default), fifo, random, srrip or a plug-in "./x.so";
 *          policy.NAME: a parameter of it; seed (1)
 *
 * The first access freezes the settings.  A policy answers repl_victim and, of a
 * cache, cache_insert, and watches repl_touch, repl_fill and repl_gone; its
 * answers are checked, and what breaks a rule is HEDDLE_EPOLICY from then on.
 * An access is a core cycle to it.
 */
typedef struct heddle_part_tags heddle_part_tags;
struct heddle_policy; /* policy.h */

struct heddle_part_tags_result {
    uint64_t accesses, hits, misses;
    uint64_t writes, write_hits; /* caches; part of the above */
    uint64_t evictions;          /* pages or lines replaced */
    uint64_t write_backs;        /* of these, dirty lines */
};

heddle_part_tags *heddle_part_tlb_new(void);   /* returns owned */
                                      heddle_part_tags
                                      *heddle_part_cache_new(void); /* returns
                                      owned */ void
                                      heddle_part_tags_free(heddle_part_tags
                                      *t);
const char *heddle_part_tags_error(const heddle_part_tags *t);
int heddle_part_tags_set(heddle_part_tags *t, const char *name, const char
                         *value);
/* Any policy instead of one by name, borrowed until the part is freed. */
int heddle_part_tags_use(heddle_part_tags *t, const struct heddle_policy *p);
/* One access at once: 1 a hit, 0 a miss, or an error. */
int heddle_part_tags_access(heddle_part_tags *t, uint64_t number, int write);
/* Builds it as it is set, if no access has, and verifies what its policy did. */
int heddle_part_tags_check(heddle_part_tags *t);
int heddle_part_tags_is_cache(const heddle_part_tags *t);
void heddle_part_tags_result(const heddle_part_tags *t, struct
                             heddle_part_tags_result *out);

#endif
