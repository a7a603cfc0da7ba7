/*
 * cache.h - the tags of one data cache (an L1, or one slice of the L2).
 *
 * A structure without time: look-up, fill, and what has to be written back.
 * The owner accounts ports, latency, MSHRs and queues.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_CACHE_H
#define HD_CACHE_H

#include "../core/config.h"
#include "../core/env.h"
#include "assoc.h"
#include "request.h"

enum hd_write_policy {
    HD_WRITE_THROUGH, /* a store goes on; a hit updates the line */
    HD_WRITE_EVICT,   /* a store goes on; a hit invalidates the line */
    HD_WRITE_BACK     /* a store allocates and dirties the line */
};

struct hd_cache_cfg {
    struct hd_mode mode;
    uint64_t bytes; /* capacity of one cache (L2: of all slices) */
    uint32_t ways, line, latency, ports;
    uint32_t mshrs;  /* lines in flight (L2: a slice) */
    uint32_t merges; /* requests merged into one MSHR, itself included */
    uint32_t write;  /* enum hd_write_policy */
    uint32_t order;  /* L1: 0 beside the TLB (VIPT), 1 after it */
    uint32_t slices; /* L2 only: banks in all */
    uint32_t queue;  /* L2 only: requests waiting at a slice's miss queue */
    uint32_t stores; /* L1 only: store queue entries */
};

/*
 * How lines fall to the copies of a banked cache: the channel changes every
 * `granule` lines, each channel has `banks` copies.  What is left of a line
 * number after taking both out is its index in its copy, and that modulo the
 * sets is its set.  All 1 for an L1.  Granule 0: no such rule; lines are
 * hashed to sets.
 */
struct hd_cache_spread {
    uint64_t granule, channels, banks;
};

struct hd_cache {
    struct hd_env *env;
    struct hd_cache_cfg cfg;
    uint32_t instance;
    uint32_t level; /* 1 or 2, for notes */
    struct hd_cache_spread spread;
    bool masked; /* these and the sets are powers of two: */
    uint8_t granule_shift, channel_shift, bank_shift;
    struct hd_assoc tags;
    uint8_t *dirty;   /* arena: [entry] */
    uint16_t *filler; /* arena: [entry] warp that brought the line */
    uint8_t *owner;   /* arena: [entry] application */
    struct hd_slot insert;
};

/* `at` is "l1cache" or "l2cache"; bytes is the capacity of this one. */
int hd_cache_open(struct hd_cache *c, struct hd_env *env,
                  const struct hd_cache_cfg *cfg, const char *at,
                  uint32_t instance, uint64_t bytes);

/* Tells a slice how lines are spread (after hd_cache_open, before use). */
void hd_cache_spread(struct hd_cache *c, struct hd_cache_spread s);

/* The set of a line. */
uint32_t hd_cache_set(const struct hd_cache *c, uint64_t line);

/* Looks up a line (pa >> log2 line) and touches it.  Writes follow the write
 * policy: HD_WRITE_BACK dirties on a hit, HD_WRITE_EVICT drops the line.  An
 * atomic is done at the L2: it dirties a line there and drops it from an L1
 * that is not write-back. */
bool hd_cache_lookup(struct hd_cache *c, uint64_t line, uint32_t kind,
                     struct hd_who who);

/* Looks up without touching anything. */
bool hd_cache_peek(const struct hd_cache *c, uint64_t line);

/* Fills a line that has arrived (asks cache_insert; it may decline).  A line
 * that is present already stays, and becomes dirty if `dirty`.  Returns true
 * when a dirty line must be written back (the evicted one, or the newcomer
 * that was declined): its line number and owner.  Otherwise *victim is a clean
 * line that left, or HD_KEY_NONE. */
bool hd_cache_fill(struct hd_cache *c, uint64_t line, uint32_t kind,
                   uint32_t level, bool dirty, struct hd_who who,
                   uint64_t *victim, uint32_t *victim_app);

void hd_cache_drop(struct hd_cache *c, uint64_t line);
void hd_cache_look(struct hd_cache *c, struct heddle_visitor *v);

extern const struct hd_setting hd_l1cache_settings[];
extern const uint32_t hd_l1cache_setting_count;
extern const struct hd_setting hd_l2cache_settings[];
extern const uint32_t hd_l2cache_setting_count;

#endif
