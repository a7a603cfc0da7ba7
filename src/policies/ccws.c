/*
 * ccws.c - warps that lose locality may load, the others wait: CCWS by lines,
 * TA-CCWS by lines and their translations, TCWS by pages.
 *
 * policies/ccws.lua is the same as both, and tells the rules, and why the
 * constants are those of the CCWS simulator.
 *
 * A score decays by `decay` a cycle down to the base; nothing is done each
 * cycle.  Of each warp the instant is kept at which it is back at the base, on
 * a clock of points that runs at decay times the core's: so scores above the
 * base keep their order, and how far one is above is what is left of its time.
 * From it follows the first cycle at which decay alone can change the set of
 * those that may load (choose), which is how long an answer holds.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <string.h>

#include "policy.h"

enum { BASE, THROTTLE, DECAY, ENTRIES, WEIGHT, WAYS, PARAMS };

enum { MOST_WARPS = 64, PAGES_SHIFT = 52 };

/* A core's warps; instants are on the clock of points. */
struct core {
    uint64_t now;     /* of the last question or note */
    uint64_t running; /* bit set: asked about last, and not exited */
    uint64_t set;     /* of them: those that may load */
    uint64_t holds;   /* cycle until which that was answered */
    uint64_t top;     /* points that a score may be above the base */
    struct warp {
        uint64_t back;  /* when its score is the base again */
        uint64_t hits;  /* in its victim tags */
        uint64_t age;   /* which tells it from the one before in its place */
        uint64_t raise; /* weight of a hit since the last question, or 0 */
    } warp[MOST_WARPS];
};

/* Then follow the tags: of each core and warp ENTRIES, set by set, those
 * that were entered last first.  A tag: a line or page, and from PAGES_SHIFT on
 * how many there are of them; 0: none. */
struct keeper {
    uint64_t param[PARAMS]; /* of tcws, WEIGHT is `lru`, and WAYS all entries */
    uint64_t warps, cores;
    struct core core[];
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t ccws_most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static size_t ccws_bytes(const struct heddle_place *p, const uint64_t *params)
{
    return sizeof(struct keeper) + p->cores * sizeof(struct core) +
           p->cores * p->warps * params[ENTRIES] * sizeof(uint64_t);
}

static int ccws_init(void *state, const struct heddle_place *p,
                     const uint64_t *params)
{
    struct keeper *k = state;

    memcpy(k->param, params, sizeof k->param);
    if (params[WAYS] == 0)
        k->param[WAYS] = params[ENTRIES];
    k->warps = p->warps;
    k->cores = p->cores;
    return k->param[ENTRIES] % k->param[WAYS] != 0 ? -1 : 0;
}

/* ---- victim tags --------------------------------------------------------- */

/* The set of a warp's tags that may have this one. */
static uint64_t *tags_of(struct keeper *k, uint64_t core, uint64_t warp,
                         uint64_t key)
{
    uint64_t n = k->param[ENTRIES], ways = k->param[WAYS];
    uint64_t *all = (uint64_t *)(void *)(k->core + k->cores);

    return all + (core * k->warps + warp) * n + key % (n / ways) * ways;
}

/* Where in a set a line or page is; its ways: nowhere. */
static uint64_t ccws_find(const struct keeper *k, const uint64_t *set,
                          uint64_t key)
{
    uint64_t i = 0;

    while (i < k->param[WAYS] &&
           key - (set[i] & ((1ull << PAGES_SHIFT) - 1)) >=
               set[i] >> PAGES_SHIFT)
        i++;
    return i;
}

/* Enters what a warp brought and has lost: as the newest, in place of the
 * oldest. */
static void lose(struct keeper *k, uint64_t core, uint64_t warp, uint64_t key,
                 uint64_t pages)
{
    uint64_t *set = tags_of(k, core, warp, key);
    uint64_t at = least(ccws_find(k, set, key), k->param[WAYS] - 1);

    memmove(set + 1, set, at * sizeof *set);
    set[0] = key | pages << PAGES_SHIFT;
}

/* Takes a line that was written out of all warps' tags. */
static void ccws_forget(struct keeper *k, uint64_t core, uint64_t key)
{
    uint64_t last = k->param[WAYS] - 1;

    for (uint64_t w = 0; w < k->warps; w++) {
        uint64_t *set = tags_of(k, core, w, key), i = ccws_find(k, set, key);
        if (i > last)
            continue;
        memmove(set + i, set + i + 1, (last - i) * sizeof *set);
        set[last] = 0;
    }
}

/* ---- scores -------------------------------------------------------------- */

/* Points of a warp's score above the base. */
static uint64_t ccws_above(const struct core *c, uint64_t w)
{
    return ccws_most(c->warp[w].back, c->now) - c->now;
}

/* The running warps above the base, the highest score first, of equal ones the
 * lowest number. */
static uint32_t ccws_sort(const struct core *c, uint8_t *order)
{
    uint32_t n = 0;

    for (uint64_t w = 0; w < MOST_WARPS; w++) {
        uint32_t i;
        if (!(c->running >> w & 1) || ccws_above(c, w) == 0)
            continue;
        for (i = n++; i > 0 && ccws_above(c, order[i - 1]) < ccws_above(c, w);
             i--)
            order[i] = order[i - 1];
        order[i] = (uint8_t)w;
    }
    return n;
}

/* Which warps may load, and the cycle until which decay leaves them alone. */
static void ccws_choose(const struct keeper *k, const struct core *c,
                        uint64_t *set, uint64_t *holds)
{
    uint64_t base = k->param[BASE], decay = k->param[DECAY];
    uint64_t warps = 0, sum = 0, cutoff, first = UINT64_MAX, steps;
    uint32_t n, i = 0;
    uint8_t order[MOST_WARPS];

    *set = c->running;
    *holds = UINT64_MAX;
    for (uint64_t m = c->running; m != 0; m &= m - 1)
        warps++;
    cutoff = warps * base;
    n = ccws_sort(c, order);
    for (uint32_t j = 0; j < n; j++)
        sum += ccws_above(c, order[j]);
    if (sum < base)
        return; /* it takes all to come to the cutoff */
    *set = sum = 0;
    while (i < n && sum < cutoff) {
        first = ccws_above(c, order[i]);
        sum += base + first;
        *set |= 1ull << order[i++];
    }
    for (uint64_t w = 0; sum < cutoff; w++) {
        if (!(c->running >> w & 1) || ccws_above(c, w) != 0)
            continue;
        sum += base;
        *set |= 1ull << w;
    }
    if (*set == c->running)
        return;
    /* until the sum of the set falls below the cutoff, or one of the set is at
     * the base */
    steps = least((sum - cutoff) / (i * decay) + 1,
                  (first + decay - 1) / decay);
    *holds = c->now / decay + steps;
}

static void ccws_advance(const struct keeper *k, struct core *c, uint64_t cycle)
{
    c->now = ccws_most(c->now, cycle * k->param[DECAY]);
}

/* Warps that have come begin at the base, with no lost line or page. */
static void meet(struct keeper *k, const struct heddle_q_warp_limit *q)
{
    struct core *c = &k->core[q->core];

    for (uint64_t w = 0; w < q->n; w++) {
        if (!(q->running >> w & 1)) {
            c->warp[w].back = 0;
            continue;
        }
        if ((c->running >> w & 1) && c->warp[w].age == q->age[w])
            continue;
        c->warp[w] = (struct warp){.age = q->age[w]};
        memset(tags_of(k, q->core, w, 0), 0,
               k->param[ENTRIES] * sizeof(uint64_t));
    }
    c->running = q->running;
}

/* The score of lost locality: that of a hit in victim tags, of weight 1. */
static uint64_t lost(const struct keeper *k, const struct core *c,
                     const struct heddle_q_warp_limit *q)
{
    uint64_t hits = 0, issued = 0, warps = 0;

    for (uint64_t w = 0; w < q->n; w++) {
        if (!(c->running >> w & 1))
            continue;
        hits += c->warp[w].hits;
        issued += q->issued[w];
        warps++;
    }
    return hits * k->param[THROTTLE] * warps * k->param[BASE] /
           ccws_most(issued, 1);
}

/* `weight`: the most that a hit counts. */
static int64_t limit(struct keeper *k, const void *question, uint64_t weight)
{
    const struct heddle_q_warp_limit *q = question;
    uint64_t mask = q->n < 64 ? (1ull << q->n) - 1 : UINT64_MAX;
    uint64_t base = k->param[BASE], score;
    struct core *c = &k->core[q->core];

    ccws_advance(k, c, q->cycle);
    meet(k, q);
    score = lost(k, c, q);
    c->top = ccws_most(score * weight, base) - base;
    for (uint64_t w = 0; w < q->n; w++) {
        struct warp *x = &c->warp[w];
        if (!(c->running >> w & 1))
            continue;
        x->back = ccws_most(x->back,
                            c->now + ccws_most(score * x->raise, base) - base);
        x->back = least(x->back, c->now + c->top);
        x->raise = 0;
    }
    ccws_choose(k, c, &c->set, &c->holds);
    /* the one thing of a question that may be written */
    ((struct heddle_q_warp_limit *)(uintptr_t)question)->holds = c->holds;
    return (int64_t)((c->set | ~c->running) & mask);
}

/* A warp misses what it may have lost. */
static void ccws_miss(struct keeper *k, uint64_t core, uint64_t w, uint64_t key,
                      uint64_t weight, heddle_sim *sim)
{
    struct warp *x = &k->core[core].warp[w];

    if (ccws_find(k, tags_of(k, core, w, key), key) == k->param[WAYS])
        return;
    x->hits++;
    x->raise = ccws_most(x->raise, weight);
    heddle_renew_limit(sim, core);
}

/* ---- CCWS: lines of the L1 cache --------------------------------------------- */

static int64_t ccws_limit(void *state, const void *question)
{
    struct keeper *k = state;

    return limit(k, question, k->param[WEIGHT]);
}

static void cache_miss(void *state, const void *note)
{
    const struct heddle_n_cache_miss *n = note;
    struct keeper *k = state;

    if (n->level != 1)
        return;
    if (n->kind != HEDDLE_REQUEST_READ)
        ccws_forget(k, n->instance, n->line);
    else if (n->warp < k->warps)
        ccws_miss(k, n->instance, n->warp, n->line,
                  n->waited ? k->param[WEIGHT] : 1, n->sim);
}

static void cache_hit(void *state, const void *note)
{
    const struct heddle_n_cache_hit *n = note;

    if (n->level == 1 && n->kind != HEDDLE_REQUEST_READ)
        ccws_forget(state, n->instance, n->line);
}

static void cache_evict(void *state, const void *note)
{
    const struct heddle_n_cache_evict *n = note;
    struct keeper *k = state;

    if (n->level == 1 && n->filler < k->warps)
        lose(k, n->instance, n->filler, n->line, 1);
}

/* ---- TCWS: pages of the L1 TLB ----------------------------------------------- */

static int64_t tcws_limit(void *state, const void *question)
{
    return limit(state, question, 1);
}

static void tlb_miss(void *state, const void *note)
{
    const struct heddle_n_tlb_miss *n = note;
    struct keeper *k = state;

    if (n->level == 1 && n->warp < k->warps)
        ccws_miss(k, n->core, n->warp, n->vpn, 1, n->sim);
}

/* The points of a hit: a digit of `lru`, from the left. */
static uint64_t points(uint64_t lru, uint64_t depth)
{
    uint64_t digits = 1;

    for (uint64_t x = lru; x >= 10; x /= 10)
        digits++;
    for (; digits > depth + 1; digits--)
        lru /= 10;
    return lru % 10;
}

static void tlb_hit(void *state, const void *note)
{
    const struct heddle_n_tlb_hit *n = note;
    struct keeper *k = state;
    struct core *c = &k->core[n->core];
    uint64_t set, holds, score;

    if (n->level != 1 || n->warp >= k->warps || c->top == 0 ||
        !(c->running >> n->warp & 1))
        return;
    ccws_advance(k, c, n->cycle);
    score = ccws_above(c, n->warp);
    if (score >= c->top || k->param[WEIGHT] == 0)
        return;
    c->warp[n->warp].back =
        c->now + least(score + points(k->param[WEIGHT], n->depth), c->top);
    ccws_choose(k, c, &set, &holds);
    if (set != c->set || holds < c->holds)
        heddle_renew_limit(n->sim, n->core);
}

static void tlb_evict(void *state, const void *note)
{
    const struct heddle_n_tlb_evict *n = note;
    struct keeper *k = state;

    if (n->level == 1 && (n->filler & 0xffff) < k->warps)
        lose(k, n->core, n->filler & 0xffff, n->vpn, n->pages);
}

/* ---- the policies -------------------------------------------------------------- */

/* Those of both, but for what they differ in. */
#define PARAMS_OF(entries, ...)                                                \
    {"base", "points", 100, 1, 1000, "score of a warp that has lost nothing",  \
     "CCWS simulator: gpgpusim.config"},                                       \
        {"throttle", "", 8, 1, 256,                                            \
         "weight of hits in victim tags per instruction",                      \
         "CCWS simulator: gpgpusim.config"},                                   \
        {"decay", "points a cycle", 1, 1, 100,                                 \
         "by which scores above the base fall", "CCWS simulator"},             \
        {"vta_entries", "tags", entries, 1, 64, "victim tags of a warp",       \
         __VA_ARGS__}

static const struct heddle_param ccws_params[] = {
    PARAMS_OF(16, "CCWS simulator; Pichai 7.2"),
    {"tlb_weight", "", 1, 1, 16,
     "TA-CCWS x:1: weight of a hit on a line that waited for its page",
     "Pichai figure 16: 1, 2, 4"},
    {"vta_ways", "tags", 8, 0, 64,
     "victim tags of a set, of which vta_entries is a multiple; 0: all are one "
     "set",
     "CCWS simulator; Pichai 7.2"},
    {0},
};

const struct heddle_policy hd_policy_ccws = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "ccws",
    .summary = "warps that lose lines of the L1 cache may load, others wait",
    .source = "Rogers et al., MICRO 2012; TA-CCWS: Pichai et al., ASPLOS 2014",
    .params = ccws_params,
    .state_bytes = ccws_bytes,
    .init = ccws_init,
    .answer = {[HEDDLE_POINT_warp_limit] = ccws_limit},
    .watch = {[HEDDLE_NOTE_cache_miss] = cache_miss,
              [HEDDLE_NOTE_cache_hit] = cache_hit,
              [HEDDLE_NOTE_cache_evict] = cache_evict},
};

static const struct heddle_param tcws_params[] = {
    PARAMS_OF(8, "Pichai figure 17; fully associative: guess"),
    {"lru", "", 1248, 0, 999999999,
     "points that a hit in the L1 TLB adds: a digit for each depth of LRU order, "
     "the most recent first; 0: none",
     "Pichai figure 18: 1, 2, 4, 8"},
    {0},
};

const struct heddle_policy hd_policy_tcws = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "tcws",
    .summary = "warps that lose pages of the L1 TLB may load, others wait",
    .source = "Pichai et al., ASPLOS 2014, section 7.2",
    .params = tcws_params,
    .state_bytes = ccws_bytes,
    .init = ccws_init,
    .answer = {[HEDDLE_POINT_warp_limit] = tcws_limit},
    .watch = {[HEDDLE_NOTE_tlb_miss] = tlb_miss,
              [HEDDLE_NOTE_tlb_hit] = tlb_hit,
              [HEDDLE_NOTE_tlb_evict] = tlb_evict},
};
