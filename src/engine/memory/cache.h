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

#include "kit/config.h"
#include "kit/env.h"
#include "assoc.h"
#include "request.h"

enum hd_write_policy {
    HD_WRITE_THROUGH, /* a store continues; a hit updates the line */
    HD_WRITE_EVICT,   /* a store continues; a hit invalidates the line */
    HD_WRITE_BACK     /* a store allocates and dirties the line */
};

enum hd_l1_order { HD_L1_BESIDE, HD_L1_AFTER, HD_L1_VIRTUAL };

struct hd_cache_cfg {
    struct hd_mode mode;
    uint64_t bytes; /* capacity of one cache (L2: of all slices) */
    uint32_t ways, line, latency, ports;
    uint32_t mshrs;     /* lines in flight (L2: a slice) */
    uint32_t merges;    /* requests merged into one MSHR, itself included */
    uint32_t write;     /* enum hd_write_policy */
    uint32_t order;     /* L1: enum hd_l1_order: when it is looked up */
    uint32_t slices;    /* L2 only: banks in all */
    uint32_t slice_hash, set_hash; /* L2 only: HD_HASH_ (addrhash.h) */
    uint32_t partition; /* L2 only: 1: applications have ways of their own */
    uint32_t queue;     /* L2 only: requests waiting at a slice's miss queue */
    uint32_t stores;    /* L1 only: store queue entries */
    uint32_t allocate;  /* L1 only: 0 when a line comes, 1 when it is missed */
    uint32_t queue_latency; /* L2 only: cycles at a slice before the tags */
    uint32_t sector_bytes;  /* 0: no sectors (sector.c) */
    uint32_t fetch_bytes;   /* L2 only: 0: a sector */
    uint32_t halves, far_latency, far_copies; /* L2 only: l2half.c */
};

/* What is kept of a line that is present. */
struct hd_cache_line {
    uint16_t filler; /* warp that brought it */
    uint8_t owner;   /* application */
    uint8_t dirty;
};

/* And of its sectors, a bit for each (sector.c). */
struct hd_sector_line {
    uint8_t valid, dirty;
    uint8_t part; /* of which stores have written some bytes */
    uint8_t unused;
};

/* hd_assoc.asked: hits or misses are watched; a policy is asked of what is
 * inserted, or evictions are watched. */
enum { HD_CACHE_USE = HD_ASSOC_OWNER, HD_CACHE_ENTER = 2 * HD_ASSOC_OWNER };

struct hd_cache {
    uint32_t set_mask; /* where the sets are a power of two; else 0 */
    struct hd_assoc tags;
    const uint32_t *watched;    /* [note] watchers */
    struct hd_cache_line *line; /* arena: [entry] */
    struct hd_sector_line *sector; /* arena: [entry]; NULL: no sectors */
    struct hd_bytemask *written;      /* arena: [entry], bytes of `part` */
    struct hd_slot insert;
    struct hd_env *env;
    struct hd_cache_cfg cfg;
    uint32_t instance;
    uint32_t level; /* 1 or 2, for notes */
    uint8_t sector_shift;
};

/* Sets of so many bytes; a part of one is left out. */
static inline uint32_t hd_cache_sets(const struct hd_cache_cfg *cfg,
                                     uint64_t bytes)
{
    return (uint32_t)(bytes / cfg->line / cfg->ways);
}

/* `at` is "l1cache", "l2cache", or "cache" for one alone; bytes is the capacity
 * of this one. */
int hd_cache_open(struct hd_cache *c, struct hd_env *env,
                  const struct hd_cache_cfg *cfg, const char *at,
                  uint32_t instance, uint64_t bytes);

/* To be called when slots were bound or unbound, or watchers came or went:
 * finds out which policies and watchers are bound. */
void hd_cache_bound(struct hd_cache *c);

/* The set of a line by its index in this cache: in an L1, its number. */
static inline uint32_t hd_cache_set(const struct hd_cache *c, uint64_t index)
{
    if (HD_LIKELY(c->set_mask != 0))
        return (uint32_t)index & c->set_mask;
    return (uint32_t)(index % c->tags.sets);
}

/* The entry of a line, or HD_NONE; touches nothing. */
static inline uint32_t hd_cache_find(const struct hd_cache *c, uint64_t line)
{
    return hd_assoc_find(&c->tags, hd_cache_set(c, line), line);
}

/* Reports a hit or a miss to watchers; `waited`: for a translation. */
void hd_cache_tell_use(struct hd_cache *c, uint64_t line, uint32_t entry,
                       uint32_t kind, struct hd_who who, bool waited);
/* What a store or an atomic does to a line that is present. */
void hd_cache_change(struct hd_cache *c, uint32_t entry, uint32_t kind);

/* A line that was looked for in its set is used, or was missed (HD_NONE).
 * Writes follow the write policy: HD_WRITE_BACK dirties on a hit,
 * HD_WRITE_EVICT drops the line.  An atomic is done at the L2: it dirties a
 * line there and drops it from an L1 that is not write-back. */
static inline void hd_cache_used(struct hd_cache *c, uint32_t set,
                                 uint64_t line, uint32_t entry, uint32_t kind,
                                 struct hd_who who, bool waited)
{
    if (HD_UNLIKELY((c->tags.asked & HD_CACHE_USE) != 0))
        hd_cache_tell_use(c, line, entry, kind, who, waited);
    if (entry == HD_NONE)
        return;
    hd_assoc_touch_in(&c->tags, set, entry, who);
    if (HD_UNLIKELY(kind == HD_REQ_WRITE || kind == HD_REQ_ATOMIC))
        hd_cache_change(c, entry, kind);
}

/* Looks up a line (pa >> log2 line) and uses it. */
static inline bool hd_cache_lookup(struct hd_cache *c, uint64_t line,
                                   uint32_t kind, struct hd_who who)
{
    uint32_t set = hd_cache_set(c, line);
    uint32_t e = hd_assoc_find(&c->tags, set, line);

    hd_cache_used(c, set, line, e, kind, who, false);
    return e != HD_NONE;
}

/* A read hits in entry e, as one did before: the entry is used, where no policy
 * is asked and no watcher notified.  False: the line is not there, and nothing
 * was done. */
static inline bool hd_cache_again(struct hd_cache *c, uint64_t line, uint32_t e)
{
    if (c->tags.key[e] != line)
        return false;
    hd_assoc_to_front(&c->tags, hd_assoc_set_of(&c->tags, e), e);
    return true;
}

/* Looks up without touching anything. */
static inline bool hd_cache_peek(const struct hd_cache *c, uint64_t line)
{
    return hd_cache_find(c, line) != HD_NONE;
}

/* What is known of the line in an entry from now on; returns what was. */
static inline struct hd_cache_line hd_cache_owned(struct hd_cache *c,
                                                  uint32_t entry,
                                                  struct hd_who who, bool dirty)
{
    struct hd_cache_line old = c->line[entry];

    c->line[entry] =
        (struct hd_cache_line){(uint16_t)who.warp, (uint8_t)who.app, dirty};
    return old;
}

/* hd_cache_enter where a policy is asked or a watcher notified. */
bool hd_cache_enter_other(struct hd_cache *c, uint32_t set, uint64_t line,
                          uint32_t kind, uint32_t level, bool dirty,
                          struct hd_who who, uint64_t *victim,
                          uint32_t *victim_app);

/* Enters a line that is known to be missing into its set (asks cache_insert;
 * it may decline).  Returns true when a dirty line must be written back (the
 * evicted one, or the newcomer that was declined): its line number and owner.
 * Otherwise *victim is a clean line that left, or HD_KEY_NONE. */
static inline bool hd_cache_enter(struct hd_cache *c, uint32_t set,
                                  uint64_t line, uint32_t kind, uint32_t level,
                                  bool dirty, struct hd_who who,
                                  uint64_t *victim, uint32_t *victim_app)
{
    struct hd_cache_line old;

    if (HD_UNLIKELY((c->tags.asked & HD_CACHE_ENTER) != 0))
        return hd_cache_enter_other(c, set, line, kind, level, dirty, who,
                                    victim, victim_app);
    old = hd_cache_owned(c, hd_assoc_place(&c->tags, set, line, who, victim),
                         who, dirty);
    *victim_app = old.owner;
    return *victim != HD_KEY_NONE && old.dirty;
}

/* Fills a line that has arrived.  One that is present already stays, and
 * becomes dirty if `dirty`; else hd_cache_enter. */
bool hd_cache_fill(struct hd_cache *c, uint64_t line, uint32_t kind,
                   uint32_t level, bool dirty, struct hd_who who,
                   uint64_t *victim, uint32_t *victim_app);

/* Invalidates a line that may be there; true: it was dirty. */
bool hd_cache_drop(struct hd_cache *c, uint64_t line);
void hd_cache_look(struct hd_cache *c, struct heddle_visitor *v);

/* What two settings of a cache can get wrong: 0, or an error that names
 * them. */
int hd_cache_check(const void *cfg, const char *name, struct heddle_error *err);

#endif
