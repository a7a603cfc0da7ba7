/*
 * assoc.c - tags of a set-associative array, with exact LRU.
 *
 * Two layouts share one interface.
 *
 * Narrow (up to 32 ways): eight hashed bits of each key lie side by side, so
 * one 64-bit word says at once which of eight ways may hold the key; a zero
 * byte is an invalid way.  LRU is a stamp for each entry from one counter of
 * the array: a touch is one store, a victim is the least stamp of the set.
 * When the counter would wrap, stamps are replaced by their ranks.
 *
 * Wide (more ways, as in fully associative TLBs): a chained hash finds the
 * key, and LRU is a doubly linked list for each set, most recent first, with
 * a sentinel; both cost the same for any number of ways.  The list holds the
 * valid entries only.
 *
 * Invariants: count[set] is the number of valid entries of the set; a key is
 * at most once in a set; the default LRU is kept up to date even when another
 * policy is bound, because that policy may pass, and because hd_assoc_depth
 * is a fact for whoever watches.
 *
 * The replacement policy, if one is bound, is told in this order: repl_victim
 * (only when the set is full), repl_gone for the entry that leaves, repl_fill
 * for the newcomer.  It is never asked while the set has an invalid way.
 *
 * Left out on purpose: way masks for each application (static partitions).
 *
 * SPDX-License-Identifier: MIT
 */
#include "assoc.h"

#include "../base/bits.h"

enum { NARROW = 32 };

#define LOW   0x0101010101010101ull
#define SEVEN 0x7f7f7f7f7f7f7f7full
#define HASH  0x9e3779b97f4a7c15ull

/* Stamps begin here, so that hd_assoc_place_last can go below. */
#define FIRST_STAMP 0x100000u

static bool narrow(const struct hd_assoc *a)
{
    return a->ways <= NARROW;
}

static uint32_t set_of(const struct hd_assoc *a, uint32_t entry)
{
    return a->sets == 1 ? 0 : entry / a->ways;
}

/* ---- asking the policy ------------------------------------------------ */

static struct heddle_q_repl_touch question(const struct hd_assoc *a,
                                           uint32_t set, uint32_t way,
                                           uint64_t key, struct hd_who who)
{
    struct heddle_q_repl_touch q = {.instance = a->instance,
                                    .set = set,
                                    .way = way,
                                    .ways = a->ways,
                                    .key = key,
                                    .app = who.app,
                                    .warp = who.warp};
    return q;
}

/* The four questions have the same fields but are different types. */
#define ASK(point, slot, ...)                                                  \
    do {                                                                       \
        struct heddle_q_repl_touch t_ = question(__VA_ARGS__);                 \
        struct heddle_q_##point q_ = {t_.instance, t_.set, t_.way,  t_.ways,   \
                                      t_.key,      t_.app, t_.warp, 0};        \
        hd_ask_##point(slot, &q_);                                             \
    } while (0)

static int64_t nothing(void *self, const void *q)
{
    (void)self;
    (void)q;
    return 0;
}

/* ---- the two forms of LRU --------------------------------------------- */

static uint32_t stamp_oldest(const struct hd_assoc *a, uint32_t set)
{
    const uint32_t *s = a->lru + (size_t)set * a->ways;
    uint32_t best = 0, least = s[0];

    for (uint32_t w = 1; w < a->ways; w++) {
        if (s[w] < least) {
            least = s[w];
            best = w;
        }
    }
    return best;
}

/* Replaces every stamp by its rank in its set; orders stay as they are. */
static void stamp_ranks(struct hd_assoc *a)
{
    for (uint32_t set = 0; set < a->sets; set++) {
        uint32_t *s = a->lru + (size_t)set * a->ways, rank[NARROW];

        for (uint32_t w = 0; w < a->ways; w++) {
            rank[w] = 0;
            for (uint32_t v = 0; v < a->ways; v++)
                rank[w] += s[v] < s[w];
        }
        for (uint32_t w = 0; w < a->ways; w++)
            s[w] = FIRST_STAMP + rank[w];
    }
    a->clock[0] = FIRST_STAMP + NARROW;
}

static void stamp_newest(struct hd_assoc *a, uint32_t entry)
{
    if (HD_UNLIKELY(a->clock[0] == UINT32_MAX))
        stamp_ranks(a);
    a->lru[entry] = ++a->clock[0];
}

static void stamp_last(struct hd_assoc *a, uint32_t set, uint32_t entry)
{
    const uint64_t *key = a->key + (size_t)set * a->ways;
    uint32_t least;

    for (;;) {
        const uint32_t *s = a->lru + (size_t)set * a->ways;

        least = a->clock[0] + 1;
        for (uint32_t w = 0; w < a->ways; w++)
            if (key[w] != HD_KEY_NONE && set * a->ways + w != entry &&
                s[w] < least)
                least = s[w];
        if (least > 0)
            break;
        stamp_ranks(a);
    }
    a->lru[entry] = least - 1;
}

/* Lists: lru[2 n] is the more recent, lru[2 n + 1] the less recent neighbour
 * of node n; node entries + set is the sentinel of a set. */

static uint32_t sentinel(const struct hd_assoc *a, uint32_t set)
{
    return a->sets * a->ways + set;
}

static void list_take(struct hd_assoc *a, uint32_t entry)
{
    uint32_t newer = a->lru[2 * entry], older = a->lru[2 * entry + 1];

    a->lru[2 * newer + 1] = older;
    a->lru[2 * older] = newer;
}

/* Links an entry behind node `newer`. */
static void list_put(struct hd_assoc *a, uint32_t newer, uint32_t entry)
{
    uint32_t older = a->lru[2 * newer + 1];

    a->lru[2 * entry] = newer;
    a->lru[2 * entry + 1] = older;
    a->lru[2 * newer + 1] = entry;
    a->lru[2 * older] = entry;
}

static uint32_t oldest(const struct hd_assoc *a, uint32_t set)
{
    if (narrow(a))
        return stamp_oldest(a, set);
    return a->lru[2 * sentinel(a, set)] - set * a->ways;
}

static int64_t victim_default(void *self, const void *question_)
{
    const struct heddle_q_repl_victim *q = question_;

    return (int64_t)oldest(self, (uint32_t)q->set);
}

/* ---- finding ---------------------------------------------------------- */

/* Eight bits of a key, never 0. */
static uint64_t partial(uint64_t key)
{
    uint64_t t = (key * HASH) >> 56;

    return t + (t == 0);
}

/* 0x80 in each byte of x that is 0; exact. */
static uint64_t zero_bytes(uint64_t x)
{
    return ~(((x & SEVEN) + SEVEN) | x | SEVEN);
}

static uint32_t find_narrow(const struct hd_assoc *a, uint32_t set,
                            uint64_t key)
{
    const uint64_t *p = a->part + (size_t)set * a->words;
    uint64_t pattern = partial(key) * LOW;

    for (uint32_t i = 0; i < a->words; i++) {
        uint64_t z = zero_bytes(p[i] ^ pattern);

        while (z != 0) {
            uint32_t e = set * a->ways + i * 8 + hd_bit_first(z) / 8;
            if (HD_LIKELY(a->key[e] == key))
                return e;
            z &= z - 1;
        }
    }
    return HD_NONE;
}

static uint32_t find_wide(const struct hd_assoc *a, uint32_t set, uint64_t key)
{
    uint32_t e = a->head[(key * HASH) >> a->shift];

    while (e != 0) {
        if (a->key[e - 1] == key && e - 1 - set * a->ways < a->ways)
            return e - 1;
        e = a->chain[e - 1];
    }
    return HD_NONE;
}

uint32_t hd_assoc_find(const struct hd_assoc *a, uint32_t set, uint64_t key)
{
    return narrow(a) ? find_narrow(a, set, key) : find_wide(a, set, key);
}

/* The lowest invalid way of a set that has one. */
static uint32_t lowest_free(const struct hd_assoc *a, uint32_t set)
{
    uint32_t i = 0;

    if (narrow(a)) {
        const uint64_t *p = a->part + (size_t)set * a->words;
        while (zero_bytes(p[i]) == 0)
            i++;
        return i * 8 + hd_bit_first(zero_bytes(p[i])) / 8;
    }
    while (~a->valid[(size_t)set * a->words + i] == 0)
        i++;
    return i * 64 + hd_bit_first(~a->valid[(size_t)set * a->words + i]);
}

/* ---- entering and leaving --------------------------------------------- */

static void enter(struct hd_assoc *a, uint32_t set, uint32_t way, uint64_t key)
{
    uint32_t e = set * a->ways + way;

    a->key[e] = key;
    a->count[set]++;
    if (narrow(a)) {
        a->part[(size_t)set * a->words + way / 8] |= partial(key)
                                                     << (way % 8 * 8);
    } else {
        uint32_t *h = &a->head[(key * HASH) >> a->shift];
        a->chain[e] = *h;
        *h = e + 1;
        a->valid[(size_t)set * a->words + way / 64] |= 1ull << (way % 64);
    }
}

static void leave(struct hd_assoc *a, uint32_t set, uint32_t way)
{
    uint32_t e = set * a->ways + way;

    if (narrow(a)) {
        a->part[(size_t)set * a->words + way / 8] &=
            ~(0xffull << (way % 8 * 8));
    } else {
        uint32_t *h = &a->head[(a->key[e] * HASH) >> a->shift];
        while (*h != e + 1)
            h = &a->chain[*h - 1];
        *h = a->chain[e];
        a->valid[(size_t)set * a->words + way / 64] &= ~(1ull << (way % 64));
        list_take(a, e);
    }
    a->key[e] = HD_KEY_NONE;
    a->count[set]--;
}

static uint32_t choose(struct hd_assoc *a, uint32_t set, uint64_t key,
                       struct hd_who who)
{
    struct heddle_q_repl_victim q = {.instance = a->instance,
                                     .set = set,
                                     .way = a->ways,
                                     .ways = a->ways,
                                     .key = key,
                                     .app = who.app,
                                     .warp = who.warp};

    if (HD_LIKELY(!a->victim.bound))
        return oldest(a, set);
    return (uint32_t)hd_ask_repl_victim(&a->victim, &q);
}

static uint32_t place(struct hd_assoc *a, uint32_t set, uint64_t key,
                      struct hd_who who, uint64_t *evicted, bool last)
{
    uint32_t way, e;

    hd_assert(hd_assoc_find(a, set, key) == HD_NONE && key != HD_KEY_NONE);
    *evicted = HD_KEY_NONE;
    if (a->count[set] < a->ways) {
        way = lowest_free(a, set);
    } else {
        way = choose(a, set, key, who);
        hd_assert(way < a->ways);
        *evicted = a->key[set * a->ways + way];
        if (HD_UNLIKELY(a->gone.bound))
            ASK(repl_gone, &a->gone, a, set, way, *evicted, who);
        leave(a, set, way);
    }
    e = set * a->ways + way;
    enter(a, set, way, key);
    if (!narrow(a))
        list_put(a, last ? a->lru[2 * sentinel(a, set)] : sentinel(a, set), e);
    else if (last)
        stamp_last(a, set, e);
    else
        stamp_newest(a, e);
    if (HD_UNLIKELY(a->fill.bound)) {
        struct heddle_q_repl_fill q = {a->instance, set,     way,      a->ways,
                                       key,         who.app, who.warp, last};
        hd_ask_repl_fill(&a->fill, &q);
    }
    return e;
}

uint32_t hd_assoc_place(struct hd_assoc *a, uint32_t set, uint64_t key,
                        struct hd_who who, uint64_t *evicted)
{
    return place(a, set, key, who, evicted, false);
}

uint32_t hd_assoc_place_last(struct hd_assoc *a, uint32_t set, uint64_t key,
                             struct hd_who who, uint64_t *evicted)
{
    return place(a, set, key, who, evicted, true);
}

void hd_assoc_touch(struct hd_assoc *a, uint32_t entry, struct hd_who who)
{
    if (narrow(a)) {
        stamp_newest(a, entry);
    } else {
        uint32_t s = sentinel(a, set_of(a, entry));
        if (a->lru[2 * entry] != s) {
            list_take(a, entry);
            list_put(a, s, entry);
        }
    }
    if (HD_UNLIKELY(a->touch.bound)) {
        uint32_t set = set_of(a, entry);
        ASK(repl_touch, &a->touch, a, set, entry - set * a->ways, a->key[entry],
            who);
    }
}

void hd_assoc_drop(struct hd_assoc *a, uint32_t entry)
{
    uint32_t set = set_of(a, entry);
    struct hd_who nobody = {HD_APP_NONE, 0xffff};

    if (a->key[entry] == HD_KEY_NONE)
        return;
    if (HD_UNLIKELY(a->gone.bound))
        ASK(repl_gone, &a->gone, a, set, entry - set * a->ways, a->key[entry],
            nobody);
    leave(a, set, entry - set * a->ways);
}

uint32_t hd_assoc_depth(const struct hd_assoc *a, uint32_t entry)
{
    uint32_t set = set_of(a, entry), first = set * a->ways, n = 0;

    if (!narrow(a)) {
        while ((entry = a->lru[2 * entry]) != sentinel(a, set))
            n++;
        return n;
    }
    for (uint32_t e = first; e < first + a->ways; e++)
        n += a->key[e] != HD_KEY_NONE && a->lru[e] > a->lru[entry];
    return n;
}

/* ---- building --------------------------------------------------------- */

static void offer(struct hd_assoc *a, struct hd_env *env, const char *at,
                  enum heddle_point p, struct hd_slot *slot, heddle_answer *fn)
{
    slot->fn = fn;
    slot->self = a;
    slot->bound = 0;
    if (env->slots != NULL)
        hd_slots_offer(env->slots, p, at, slot, fn, a);
}

/* Takes and fills what the layout needs.  0 or -1. */
static int take(struct hd_assoc *a, struct hd_arena *arena)
{
    size_t n = (size_t)a->sets * a->ways;

    a->key = hd_arena_take(arena, n, sizeof *a->key);
    a->count = hd_arena_take(arena, a->sets, sizeof *a->count);
    if (a->key == NULL || a->count == NULL)
        return -1;
    for (size_t i = 0; i < n; i++)
        a->key[i] = HD_KEY_NONE;
    if (narrow(a)) {
        a->words = (a->ways + 7) / 8;
        a->lru = hd_arena_take(arena, n, sizeof *a->lru);
        a->part = hd_arena_take(arena, (size_t)a->sets * a->words, 8);
        a->clock = hd_arena_take(arena, 1, sizeof *a->clock);
        if (a->lru == NULL || a->part == NULL || a->clock == NULL)
            return -1;
        a->clock[0] = FIRST_STAMP;
        return 0;
    }
    a->words = (a->ways + 63) / 64;
    a->shift = 63 - hd_log2(n);
    a->lru = hd_arena_take(arena, n + a->sets, 2 * sizeof *a->lru);
    a->head = hd_arena_take(arena, 2ull << hd_log2(n), sizeof *a->head);
    a->chain = hd_arena_take(arena, n, sizeof *a->chain);
    a->valid = hd_arena_take(arena, (size_t)a->sets * a->words, 8);
    if (a->lru == NULL || a->head == NULL || a->chain == NULL ||
        a->valid == NULL)
        return -1;
    for (uint32_t s = 0; s < a->sets; s++) {
        uint32_t node = sentinel(a, s);
        a->lru[2 * node] = a->lru[2 * node + 1] = node;
    }
    return 0;
}

int hd_assoc_open(struct hd_assoc *a, struct hd_env *env, const char *at,
                  uint32_t instance, uint32_t sets, uint32_t ways)
{
    *a = (struct hd_assoc){.sets = sets, .ways = ways, .instance = instance};
    if (sets == 0 || ways == 0 || take(a, env->arena) != 0)
        return -1;
    if (env->slots != NULL)
        hd_slots_shape(env->slots, at, instance, sets, ways);
    offer(a, env, at, HEDDLE_POINT_repl_touch, &a->touch, nothing);
    offer(a, env, at, HEDDLE_POINT_repl_fill, &a->fill, nothing);
    offer(a, env, at, HEDDLE_POINT_repl_victim, &a->victim, victim_default);
    offer(a, env, at, HEDDLE_POINT_repl_gone, &a->gone, nothing);
    return 0;
}
