/*
 * assoc.h - the set-associative array of tags under every TLB and cache.
 *
 * It maps a 64-bit key in a given set to an entry (set * ways + way) and asks
 * the replacement policy; what an entry holds is the owner's business, in
 * arrays of its own indexed by entry.  Fully associative is one set with many
 * ways; the look-up is then by hash, and LRU costs the same for any size.
 * Sets need not be a power of two.
 *
 * Finding and touching are in every access of every level, so they are inline;
 * assoc.c says how the two layouts work.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_ASSOC_H
#define HD_ASSOC_H

#include "kit/bits.h"
#include "kit/bytes.h"
#include "kit/env.h"
#include "points/slots.h"

#define HD_KEY_NONE UINT64_MAX /* no entry has this key */

/* Who caused an access; passed on to replacement policies. */
struct hd_who {
    uint32_t app;
    uint32_t warp; /* HD_NO_WARP if unknown */
};

enum { HD_ASSOC_NARROW = 16 }; /* most ways of the narrow layout */

/* A set of the narrow layout; half a cache line. */
struct hd_assoc_set {
    uint8_t tag[16]; /* of each way: 0x80 | 7 bits of its key; 0: invalid */
    uint64_t order;  /* four bits a place: the way, most recent lowest */
    uint64_t recent; /* the key of the first of them, or HD_KEY_NONE */
};

/* A node of the wide layout: an entry's neighbours in the order of use of its
 * set, and the next of its bucket; of a set, valid entries. */
struct hd_assoc_node {
    uint32_t newer, older, next, count;
};

/* What policies and watchers are bound to (hd_assoc.asked); the first is no
 * question, but it excludes the same shortcuts. */
enum {
    HD_ASSOC_WIDE = 1,  /* the layout is wide */
    HD_ASSOC_TOUCH = 2, /* of an entry that is used */
    HD_ASSOC_ENTRY =
        4, /* of what is inserted and evicted; or ways are shared out */
    HD_ASSOC_OWNER = 8 /* from here: the owner's */
};

/* What knows the program counter of the access at hand; NULL: it is unknown. */
struct hd_pc {
    uint32_t (*of)(const void *self);
    const void *self;
};

static inline uint32_t hd_pc_now(const struct hd_pc *p)
{
    return p->of != NULL ? p->of(p->self) : 0;
}

/* Ways of `n` entries of which a set has `ways`; 0 or more than there are:
 * fully associative. */
static inline uint32_t hd_assoc_ways(uint32_t n, uint32_t ways)
{
    return ways == 0 || ways > n ? n : ways;
}

struct hd_assoc {
    uint64_t *key;            /* arena: of each entry; HD_KEY_NONE: invalid */
    struct hd_assoc_set *set; /* arena; NULL: the layout is wide */
    uint32_t ways, sets;
    uint8_t asked;             /* HD_ASSOC_ bits */
    uint8_t way_shift;         /* log2 of ways, or 32: no power of two */
    uint8_t last_shift;        /* narrow: of the last place of `order` in use */
    uint8_t hash;              /* wide: shift of the hash */
    uint16_t all;              /* narrow: a bit for each way */
    bool parted;               /* ways are shared out: see share */
    bool told_fill, told_gone; /* whether a policy watches that note */
    union {
        uint64_t last_mask; /* narrow: the places of `order` in use */
        uint32_t *head; /* wide; arena: first node of each bucket of a hash */
    };
    /* more than HD_ASSOC_NARROW ways: a hash of the keys, lists in order of
     * use, and bit sets of the valid ways */
    struct hd_assoc_node *node; /* arena: [sets, then entries] */
    uint64_t *valid;            /* arena: [set][words], a bit for each way */
    uint32_t words;             /* of 64 ways, a set */
    uint32_t instance;
    uint32_t at; /* the structure, as policies are bound to it */
    struct hd_slot victim;
    struct hd_env *env;
    struct hd_pc pc; /* the owner's */
    struct {
        uint8_t from, to;
    } share[HD_MAX_APPS]; /* first and last way of each application */
};

/*
 * Takes the array from the arena and offers repl_victim as that of `at`
 * ("l1tlb"), whose notes of replacement it tells.  0 or -1 (out of memory).
 */
int hd_assoc_open(struct hd_assoc *a, struct hd_env *env, const char *at,
                  uint32_t instance, uint32_t sets, uint32_t ways);

/* To be called when slots were bound or unbound: finds out who is asked. */
void hd_assoc_bound(struct hd_assoc *a);

/* The entry that an application's next line takes under LRU, or HD_NONE: one is
 * free. */
uint32_t hd_assoc_oldest(const struct hd_assoc *a, uint32_t set, uint32_t app);

/* As hd_assoc_place, but the newcomer is the next victim (LRU position). */
uint32_t hd_assoc_place_last(struct hd_assoc *a, uint32_t set, uint64_t key,
                             struct hd_who who, uint64_t *evicted);

/* hd_assoc_place among the first `ways` ways of the set alone; narrow
 * layout. */
uint32_t hd_assoc_place_among(struct hd_assoc *a, uint32_t set, uint64_t key,
                              struct hd_who who, uint32_t ways,
                              uint64_t *evicted);

/* Gives each of `apps` applications an equal share of the ways (narrow layout):
 * it fills those alone, and hits in all.  0, or -1: there are
 * more applications than ways, or too many ways. */
int hd_assoc_share(struct hd_assoc *a, uint32_t apps);

/* The first and last way that an application fills. */
static inline uint32_t hd_assoc_from(const struct hd_assoc *a, uint32_t app)
{
    return a->parted ? a->share[app % HD_MAX_APPS].from : 0;
}

static inline uint32_t hd_assoc_to(const struct hd_assoc *a, uint32_t app)
{
    return a->parted ? a->share[app % HD_MAX_APPS].to : a->ways - 1;
}

/* Whether an entry is in an application's ways. */
static inline bool hd_assoc_owns(const struct hd_assoc *a, uint32_t entry,
                                 uint32_t app)
{
    uint32_t way = entry % a->ways;

    return way >= hd_assoc_from(a, app) && way <= hd_assoc_to(a, app);
}

/* Invalidates an entry. */
void hd_assoc_drop(struct hd_assoc *a, uint32_t entry);

/* How many valid entries of its set were used more recently (LRU depth). */
uint32_t hd_assoc_depth(const struct hd_assoc *a, uint32_t entry);

/* Valid entries of a set. */
uint32_t hd_assoc_valid(const struct hd_assoc *a, uint32_t set);

/* ---- finding ---------------------------------------------------------- */

#define HD_ASSOC_HASH 0x9e3779b97f4a7c15ull

/* The tag of a key: never 0, which is that of an invalid way. */
static inline uint8_t hd_assoc_byte(uint64_t key)
{
    return (uint8_t)((key * HD_ASSOC_HASH) >> 57 | 0x80);
}

static inline uint32_t hd_assoc_find_narrow(const struct hd_assoc *a,
                                            uint32_t set, uint64_t key)
{
    uint32_t first = set * a->ways, e;
    uint32_t z = hd_bytes_alike(a->set[set].tag, hd_assoc_byte(key));

    for (; z != 0; z &= z - 1) {
        e = first + hd_bit_first(z);
        if (HD_LIKELY(a->key[e] == key))
            return e;
    }
    return HD_NONE;
}

static inline uint32_t hd_assoc_find_wide(const struct hd_assoc *a,
                                          uint32_t set, uint64_t key)
{
    uint32_t n = a->head[(key * HD_ASSOC_HASH) >> a->hash], e;

    for (; n != 0; n = a->node[n].next) {
        e = n - a->sets;
        if (HD_LIKELY(a->key[e] == key && e - set * a->ways < a->ways))
            return e;
    }
    return HD_NONE;
}

/* The entry of a key, or HD_NONE.  Changes nothing. */
static inline uint32_t hd_assoc_find(const struct hd_assoc *a, uint32_t set,
                                     uint64_t key)
{
    return a->set != NULL ? hd_assoc_find_narrow(a, set, key)
                          : hd_assoc_find_wide(a, set, key);
}

/* hd_assoc_find where it may be the entry *guess, of any set; what is found is
 * the next guess.  Guesses are no part of the results.  NULL: there is none. */
static inline uint32_t hd_assoc_find_at(const struct hd_assoc *a, uint32_t set,
                                        uint64_t key, uint16_t *guess)
{
    uint32_t e;

    if (guess == NULL)
        return hd_assoc_find(a, set, key);
    e = *guess;
    if (HD_UNLIKELY(a->key[e] != key)) {
        e = hd_assoc_find(a, set, key);
        *guess = (uint16_t)(e != HD_NONE ? e : *guess);
    }
    return e;
}

/* ---- touching --------------------------------------------------------- */

/* `order` with a way moved to the front. */
static inline uint64_t hd_assoc_front(uint64_t order, uint32_t way)
{
    const uint64_t ones = 0x1111111111111111ull;
    uint64_t x = order ^ way * ones, upto;

    /* the lowest zero of four bits, exact: from there down all move up */
    x = (x - ones) & ~x & ones << 3;
    upto = x ^ (x - 1);
    return order ^ ((order ^ (order << 4 | way)) & upto);
}

/* Wide: moves node n to the front of the list of a set. */
static inline void hd_assoc_to_front_wide(struct hd_assoc *a, uint32_t set,
                                          uint32_t n)
{
    struct hd_assoc_node *v = a->node;

    if (v[n].newer == set)
        return;
    v[v[n].newer].older = v[n].older;
    v[v[n].older].newer = v[n].newer;
    v[n].newer = set;
    v[n].older = v[set].older;
    v[v[n].older].newer = n;
    v[set].older = n;
}

/* Moves an entry to the front of its set's order of use; no policy is notified.
 */
static inline void hd_assoc_to_front(struct hd_assoc *a, uint32_t set,
                                     uint32_t entry)
{
    struct hd_assoc_set *s;
    uint32_t way;

    if (a->set != NULL) {
        s = &a->set[set];
        way = entry - set * a->ways;
        if ((s->order & 15) == way)
            return;
        s->order = hd_assoc_front(s->order, way);
        s->recent = a->key[entry];
    } else {
        hd_assoc_to_front_wide(a, set, a->sets + entry);
    }
}

static inline uint32_t hd_assoc_set_of(const struct hd_assoc *a, uint32_t entry)
{
    return a->way_shift < 32 ? entry >> a->way_shift : entry / a->ways;
}

/* hd_assoc_place in a wide set, or where a policy is asked. */
uint32_t hd_assoc_place_other(struct hd_assoc *a, uint32_t set, uint64_t key,
                              struct hd_who who, uint64_t *evicted);

/*
 * Makes room for a key that is not present and enters it: an invalid way if
 * there is one (the lowest), else the policy's victim.  *evicted is the key
 * that left, or HD_KEY_NONE.  Returns the entry.
 */
static inline uint32_t hd_assoc_place(struct hd_assoc *a, uint32_t set,
                                      uint64_t key, struct hd_who who,
                                      uint64_t *evicted)
{
    struct hd_assoc_set *s;
    uint64_t *word;
    uint32_t free, way;

    hd_assert(hd_assoc_find(a, set, key) == HD_NONE && key != HD_KEY_NONE);
    if (HD_UNLIKELY((a->asked & (HD_ASSOC_WIDE | HD_ASSOC_ENTRY)) != 0))
        return hd_assoc_place_other(a, set, key, who, evicted);
    s = &a->set[set];
    word = &a->key[set * a->ways];
    free = ~hd_bytes_high(s->tag) & a->all;
    if (HD_LIKELY(free == 0)) {
        way = (uint32_t)(s->order >> a->last_shift) & 15;
        s->order ^= (s->order ^ (s->order << 4 | way)) & a->last_mask;
    } else {
        way = hd_bit_first(free);
        s->order = hd_assoc_front(s->order, way);
    }
    s->recent = key;
    s->tag[way] = hd_assoc_byte(key);
    *evicted = word[way];
    word[way] = key;
    return set * a->ways + way;
}

/* hd_assoc_find of a key that was just entered, which mostly is the most recent
 * of its set. */
static inline uint32_t hd_assoc_entered(const struct hd_assoc *a, uint32_t set,
                                        uint64_t key)
{
    uint32_t e;

    if (a->set != NULL)
        e = set * a->ways + ((uint32_t)a->set[set].order & 15);
    else if (a->node[set].older >= a->sets)
        e = a->node[set].older - a->sets;
    else
        return HD_NONE; /* the set is empty */
    return HD_LIKELY(a->key[e] == key) ? e : hd_assoc_find(a, set, key);
}

/* Prefetches, for the simulator itself, what a look-up in a set or a new key
 * will touch: between an access and its result its caches may have lost it. */
static inline void hd_assoc_prefetch(const struct hd_assoc *a, uint32_t set)
{
    const uint64_t *key = &a->key[set * a->ways];

    if (HD_UNLIKELY(a->set == NULL))
        return;
    __builtin_prefetch(&a->set[set], 1);
    __builtin_prefetch(key, 1);
    __builtin_prefetch(key + 8, 1);
}

/* What hd_assoc_touch does where the layout is wide or a policy is bound. */
void hd_assoc_touch_other(struct hd_assoc *a, uint32_t set, uint32_t entry,
                          struct hd_who who);

/* Notifies the replacement policy that an entry of a set was hit. */
static inline void hd_assoc_touch_in(struct hd_assoc *a, uint32_t set,
                                     uint32_t entry, struct hd_who who)
{
    if (HD_UNLIKELY((a->asked & (HD_ASSOC_WIDE | HD_ASSOC_TOUCH)) != 0)) {
        hd_assoc_touch_other(a, set, entry, who);
        return;
    }
    hd_assoc_to_front(a, set, entry);
}

static inline void hd_assoc_touch(struct hd_assoc *a, uint32_t entry,
                                  struct hd_who who)
{
    hd_assoc_touch_in(a, hd_assoc_set_of(a, entry), entry, who);
}

#endif
