/*
 * assoc.c - tags of a set-associative array, with exact LRU.
 *
 * Two layouts share one interface.
 *
 * Narrow (up to 16 ways): eight hashed bits of each key are side by side, so
 * one comparison of 16 bytes says which ways may hold the key; the top bit of
 * each byte says that the way is valid.  The order of use is one word: its
 * lowest four bits name the way used last, the next four the one before.  A
 * touch moves a way to the front by a mask; the victim is the last place.
 * Finding, touching and replacing read half a cache line and
 * the key itself; the key used last is in the half line too, because most
 * hits are on it, and they change nothing.
 *
 * Wide (more ways, as in fully associative TLBs): a chained hash finds the
 * key, and LRU is a doubly linked list for each set, most recent first, with
 * a sentinel; both cost the same for any number of ways.  The list holds the
 * valid entries only.  Nodes are numbered: node `set` is the sentinel of a set,
 * node sets + entry is an entry's.  The sentinel's older neighbour is the most
 * recent entry, and its newer one the oldest.
 *
 * Invariants: a key is at most once in a set; `order` holds each way once,
 * and the valid ones in the order of their use; the default LRU is kept up to
 * date even when another policy is bound, because that policy may pass, and
 * because hd_assoc_depth is a fact that notes report.
 *
 * A replacement policy is asked repl_victim, and told, in this order:
 * repl_victim (only when the set is full), repl_gone for the evicted entry,
 * repl_fill for the newcomer; repl_touch for each hit.  It is never asked while
 * the set has an invalid way.
 *
 * Ways may be shared out among applications (static partitions): an
 * application then replaces only entries in its own ways, which each question
 * has for the policy.  Narrow layout only.
 *
 * SPDX-License-Identifier: MIT
 */
#include "assoc.h"

#include <stdio.h>

static bool assoc_narrow(const struct hd_assoc *a)
{
    return a->set != NULL;
}

/* ---- asking the policy ------------------------------------------------ */

static uint64_t assoc_pc(const struct hd_assoc *a, struct hd_who who)
{
    return who.app == HD_APP_NONE ? 0 : hd_pc_now(&a->pc);
}

/* Tells one of the three notes of replacement, which have the same fields. */
static void assoc_tell(const struct hd_assoc *a, enum heddle_note note,
                       uint32_t set, uint32_t way, uint64_t key,
                       struct hd_who who, bool last)
{
    struct heddle_n_repl_touch n = {.instance = a->instance,
                                    .set = set,
                                    .way = way,
                                    .ways = a->ways,
                                    .key = key,
                                    .app = who.app,
                                    .warp = who.warp,
                                    .last = last,
                                    .pc = assoc_pc(a, who)};

    _Static_assert(sizeof n == sizeof(struct heddle_n_repl_fill) &&
                       sizeof n == sizeof(struct heddle_n_repl_gone),
                   "the same fields");
    hd_slots_note_at(a->env->slots, note, a->at, &n);
}

/* ---- the two forms of LRU --------------------------------------------- */

/* `order` with a way moved to the last place. */
static uint64_t order_last(const struct hd_assoc *a, uint64_t order,
                           uint32_t way)
{
    order = hd_assoc_front(order, way);
    return (order & ~a->last_mask) | (order & a->last_mask) >> 4 |
           (uint64_t)way << a->last_shift;
}

/* Wide: two nodes become neighbours. */
static void link(struct hd_assoc *a, uint32_t newer, uint32_t older)
{
    a->node[newer].older = older;
    a->node[older].newer = newer;
}

static uint32_t assoc_oldest(const struct hd_assoc *a, uint32_t set)
{
    if (assoc_narrow(a))
        return (uint32_t)(a->set[set].order >> a->last_shift) & 15;
    return a->node[set].newer - a->sets - set * a->ways;
}

/* The oldest among the ways of an application; narrow layout. */
static uint32_t oldest_own(const struct hd_assoc *a, uint32_t set, uint32_t app)
{
    uint32_t shift = a->last_shift, way;

    do {
        way = (uint32_t)(a->set[set].order >> shift) & 15;
        shift -= 4;
    } while (!hd_assoc_owns(a, way, app));
    return way;
}

static int64_t assoc_victim_default(void *self, const void *question_)
{
    const struct heddle_q_repl_victim *q = question_;
    const struct hd_assoc *a = self;

    return a->parted ? oldest_own(a, (uint32_t)q->set, (uint32_t)q->app)
                     : assoc_oldest(a, (uint32_t)q->set);
}

void hd_assoc_touch_other(struct hd_assoc *a, uint32_t set, uint32_t entry,
                          struct hd_who who)
{
    hd_assoc_to_front(a, set, entry);
    if (HD_UNLIKELY((a->asked & HD_ASSOC_TOUCH) != 0))
        assoc_tell(a, HEDDLE_NOTE_repl_touch, set, entry - set * a->ways,
                   a->key[entry], who, false);
}

/* ---- insertion and eviction -------------------------------------------- */

/* Bit set of the invalid ways that an application may use; narrow layout. */
static uint32_t free_ways(const struct hd_assoc *a, uint32_t set, uint32_t app)
{
    uint64_t own =
        hd_ones(hd_assoc_to(a, app) + 1) & ~hd_ones(hd_assoc_from(a, app));

    return ~hd_bytes_high(a->set[set].tag) & (uint32_t)own;
}

static bool assoc_full(const struct hd_assoc *a, uint32_t set, uint32_t app)
{
    if (assoc_narrow(a))
        return free_ways(a, set, app) == 0;
    return a->node[set].count == a->ways;
}

/* The lowest invalid way of a set that has one. */
static uint32_t lowest_free(const struct hd_assoc *a, uint32_t set,
                            uint32_t app)
{
    uint32_t i = 0;

    if (assoc_narrow(a))
        return hd_bit_first(free_ways(a, set, app));
    while (~a->valid[(size_t)set * a->words + i] == 0)
        i++;
    return i * 64 + hd_bit_first(~a->valid[(size_t)set * a->words + i]);
}

/* Wide: an entry gets into the bucket of a key, or leaves that of its own. */
static void hash_in(struct hd_assoc *a, uint32_t entry, uint64_t key)
{
    uint32_t *head = &a->head[(key * HD_ASSOC_HASH) >> a->hash];

    a->node[a->sets + entry].next = *head;
    *head = a->sets + entry;
}

static void hash_out(struct hd_assoc *a, uint32_t entry)
{
    uint64_t key = a->key[entry];
    uint32_t *n = &a->head[(key * HD_ASSOC_HASH) >> a->hash];

    while (*n != a->sets + entry)
        n = &a->node[*n].next;
    *n = a->node[*n].next;
}

/* Writes a key, or HD_KEY_NONE, over what a way holds. */
static void set_key(struct hd_assoc *a, uint32_t set, uint32_t way,
                    uint64_t key)
{
    uint32_t e = set * a->ways + way;
    uint64_t old = a->key[e];

    if (assoc_narrow(a)) {
        a->set[set].tag[way] = key != HD_KEY_NONE ? hd_assoc_byte(key) : 0;
        if (old != HD_KEY_NONE && a->set[set].recent == old)
            a->set[set].recent = HD_KEY_NONE;
    } else {
        if (old != HD_KEY_NONE)
            hash_out(a, e);
        if (key != HD_KEY_NONE)
            hash_in(a, e, key);
        if ((old != HD_KEY_NONE) != (key != HD_KEY_NONE)) {
            a->valid[(size_t)set * a->words + way / 64] ^= 1ull << (way % 64);
            a->node[set].count += key != HD_KEY_NONE ? 1u : UINT32_MAX;
        }
    }
    a->key[e] = key;
}

static uint32_t assoc_choose(struct hd_assoc *a, uint32_t set, uint64_t key,
                             struct hd_who who)
{
    struct heddle_q_repl_victim q;
    char rule[96];
    uint32_t way;

    if (HD_LIKELY(!a->victim.bound))
        return a->parted ? oldest_own(a, set, who.app) : assoc_oldest(a, set);
    q = (struct heddle_q_repl_victim){.instance = a->instance,
                                      .set = set,
                                      .ways = a->ways,
                                      .key = key,
                                      .app = who.app,
                                      .warp = who.warp,
                                      .from = hd_assoc_from(a, who.app),
                                      .to = hd_assoc_to(a, who.app),
                                      .pc = assoc_pc(a, who)};
    way = (uint32_t)hd_ask_repl_victim(&a->victim, &q);
    if (hd_assoc_owns(a, way, who.app))
        return way;
    snprintf(rule, sizeof rule, "%u to %u, the ways of the application",
             (uint32_t)q.from, (uint32_t)q.to);
    hd_slots_refuse(&a->victim, HEDDLE_POINT_repl_victim, &q, way, rule,
                    a->env->err);
    return oldest_own(a, set, who.app);
}

uint32_t hd_assoc_oldest(const struct hd_assoc *a, uint32_t set, uint32_t app)
{
    if (!assoc_full(a, set, app))
        return HD_NONE;
    return set * a->ways + (a->parted ? oldest_own(a, set, app)
                                      : assoc_oldest(a, set));
}

static uint32_t assoc_place(struct hd_assoc *a, uint32_t set, uint64_t key,
                            struct hd_who who, uint64_t *evicted, bool last)
{
    bool replace = assoc_full(a, set, who.app);
    struct hd_assoc_set *s;
    uint32_t way, node, at;

    hd_assert(hd_assoc_find(a, set, key) == HD_NONE && key != HD_KEY_NONE);
    *evicted = HD_KEY_NONE;
    if (replace) {
        way = assoc_choose(a, set, key, who);
        hd_assert(way < a->ways);
        *evicted = a->key[set * a->ways + way];
        if (HD_UNLIKELY(a->told_gone))
            assoc_tell(a, HEDDLE_NOTE_repl_gone, set, way, *evicted, who,
                       false);
    } else {
        way = lowest_free(a, set, who.app);
    }
    set_key(a, set, way, key);
    if (assoc_narrow(a)) {
        s = &a->set[set];
        s->order =
            last ? order_last(a, s->order, way) : hd_assoc_front(s->order, way);
        s->recent = a->key[set * a->ways + (s->order & 15)];
    } else {
        node = a->sets + set * a->ways + way;
        if (replace)
            link(a, a->node[node].newer, a->node[node].older);
        at = last ? a->node[set].newer : set; /* behind this one */
        link(a, node, a->node[at].older);
        link(a, at, node);
    }
    if (HD_UNLIKELY(a->told_fill))
        assoc_tell(a, HEDDLE_NOTE_repl_fill, set, way, key, who, last);
    return set * a->ways + way;
}

uint32_t hd_assoc_place_other(struct hd_assoc *a, uint32_t set, uint64_t key,
                              struct hd_who who, uint64_t *evicted)
{
    return assoc_place(a, set, key, who, evicted, false);
}

uint32_t hd_assoc_place_last(struct hd_assoc *a, uint32_t set, uint64_t key,
                             struct hd_who who, uint64_t *evicted)
{
    return assoc_place(a, set, key, who, evicted, true);
}

uint32_t hd_assoc_place_among(struct hd_assoc *a, uint32_t set, uint64_t key,
                              struct hd_who who, uint32_t ways,
                              uint64_t *evicted)
{
    uint32_t e;

    hd_assert(assoc_narrow(a) && !a->parted && ways - 1 < a->ways);
    a->share[who.app % HD_MAX_APPS].from = 0;
    a->share[who.app % HD_MAX_APPS].to = (uint8_t)(ways - 1);
    a->parted = true;
    e = assoc_place(a, set, key, who, evicted, false);
    a->parted = false;
    return e;
}

void hd_assoc_drop(struct hd_assoc *a, uint32_t entry)
{
    uint32_t set = hd_assoc_set_of(a, entry), way = entry - set * a->ways;
    struct hd_who none = {HD_APP_NONE, 0xffff};

    if (a->key[entry] == HD_KEY_NONE)
        return;
    if (HD_UNLIKELY(a->told_gone))
        assoc_tell(a, HEDDLE_NOTE_repl_gone, set, way, a->key[entry], none,
                   false);
    set_key(a, set, way, HD_KEY_NONE);
    if (!assoc_narrow(a))
        link(a, a->node[a->sets + entry].newer, a->node[a->sets + entry].older);
}

/* ---- facts ------------------------------------------------------------ */

uint32_t hd_assoc_depth(const struct hd_assoc *a, uint32_t entry)
{
    uint32_t set = hd_assoc_set_of(a, entry), first = set * a->ways, n = 0;
    uint64_t order;

    if (!assoc_narrow(a)) {
        for (entry += a->sets; (entry = a->node[entry].newer) != set;)
            n++;
        return n;
    }
    for (order = a->set[set].order; first + (order & 15) != entry; order >>= 4)
        n += a->key[first + (order & 15)] != HD_KEY_NONE;
    return n;
}

uint32_t hd_assoc_valid(const struct hd_assoc *a, uint32_t set)
{
    if (!assoc_narrow(a))
        return a->node[set].count;
    return hd_bit_count(hd_bytes_high(a->set[set].tag));
}

/* ---- building --------------------------------------------------------- */

/* Takes and fills what the layout needs.  0 or -1. */
static int take_narrow(struct hd_assoc *a, struct hd_arena *arena)
{
    a->set = hd_arena_take(arena, a->sets, sizeof *a->set);
    if (a->set == NULL)
        return -1;
    for (uint32_t s = 0; s < a->sets; s++) {
        a->set[s].order = 0xfedcba9876543210ull;
        a->set[s].recent = HD_KEY_NONE;
    }
    a->all = (uint16_t)hd_ones(a->ways);
    a->last_shift = (uint8_t)(4 * (a->ways - 1));
    a->last_mask = hd_ones(4 * a->ways);
    return 0;
}

/* Four buckets and more an entry, so that few share one. */
static int take_wide(struct hd_assoc *a, struct hd_arena *arena)
{
    size_t n = (size_t)a->sets * a->ways;

    a->words = (a->ways + 63) / 64;
    a->hash = (uint8_t)(62 - hd_log2(n));
    a->node = hd_arena_take(arena, a->sets + n, sizeof *a->node);
    a->head = hd_arena_take(arena, 4ull << hd_log2(n), sizeof *a->head);
    a->valid = hd_arena_take(arena, (size_t)a->sets * a->words, 8);
    if (a->node == NULL || a->head == NULL || a->valid == NULL)
        return -1;
    for (uint32_t s = 0; s < a->sets; s++)
        link(a, s, s);
    return 0;
}

static int assoc_take(struct hd_assoc *a, struct hd_arena *arena)
{
    size_t n = (size_t)a->sets * a->ways;

    a->way_shift = hd_is_pow2(a->ways) ? (uint8_t)hd_log2(a->ways) : 32;
    a->key = hd_arena_take(arena, n, sizeof *a->key);
    if (a->key == NULL)
        return -1;
    for (size_t i = 0; i < n; i++)
        a->key[i] = HD_KEY_NONE;
    return a->ways <= HD_ASSOC_NARROW ? take_narrow(a, arena)
                                      : take_wide(a, arena);
}

int hd_assoc_share(struct hd_assoc *a, uint32_t apps)
{
    if (a->set == NULL || apps > a->ways)
        return -1;
    for (uint32_t i = 0; i < HD_MAX_APPS; i++) {
        a->share[i].from = (uint8_t)(i < apps ? i * a->ways / apps : 0);
        a->share[i].to =
            (uint8_t)((i < apps ? (i + 1) * a->ways / apps : a->ways) - 1);
    }
    a->parted = true;
    hd_assoc_bound(a);
    return 0;
}

void hd_assoc_bound(struct hd_assoc *a)
{
    const struct hd_slots *s =
        a->env != NULL ? a->env->slots : NULL; /* NULL: it is not in use */
    bool touch = hd_slots_follow(s, HEDDLE_NOTE_repl_touch, a->at), entry;

    a->told_fill = hd_slots_follow(s, HEDDLE_NOTE_repl_fill, a->at);
    a->told_gone = hd_slots_follow(s, HEDDLE_NOTE_repl_gone, a->at);
    entry = a->told_gone || a->told_fill || a->victim.bound || a->parted;
    a->asked = (uint8_t)((assoc_narrow(a) ? 0 : HD_ASSOC_WIDE) |
                         (touch ? HD_ASSOC_TOUCH : 0) |
                         (entry ? HD_ASSOC_ENTRY : 0));
}

int hd_assoc_open(struct hd_assoc *a, struct hd_env *env, const char *at,
                  uint32_t instance, uint32_t sets, uint32_t ways)
{
    *a = (struct hd_assoc){
        .sets = sets, .ways = ways, .instance = instance, .env = env};
    if (sets == 0 || ways == 0 || assoc_take(a, env->arena) != 0)
        return -1;
    if (env->slots != NULL)
        a->at = hd_slots_shape(env->slots, at, instance, sets, ways);
    hd_slots_offer(env->slots, HEDDLE_POINT_repl_victim, at, &a->victim,
                   assoc_victim_default, a);
    hd_assoc_bound(a);
    return 0;
}
