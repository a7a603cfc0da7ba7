/*
 * tlbs.c - what has been proposed for TLBs, in small: a next-page and a
 * distance prefetcher, a predictor of dead entries, a victim TLB, the neighbours
 * of a walk's page.
 * policies/next_page.lua, distance.lua, dead_entry.lua, victim_tlb.lua and
 * pte_line.lua are the same and tell the rules.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "policy.h"

/* A page that there can be, so far from another. */
static int tlbs_offset(uint64_t vpn, int64_t by, uint64_t *out)
{
    *out = vpn + (uint64_t)by;
    return *out >> 36 == 0;
}

/* ---- next_page ------------------------------------------------------------ */

enum { DEGREE, NEXT_TO };

struct next_page {
    uint64_t param[2];
};

static size_t next_bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)p, (void)params;
    return sizeof(struct next_page);
}

static int next_init(void *state, const struct heddle_place *p,
                     const uint64_t *params)
{
    (void)p;
    memcpy(state, params, sizeof(struct next_page));
    return 0;
}

static void next_missed(void *state, const void *note)
{
    const struct heddle_n_tlb_miss *n = note;
    const struct next_page *s = state;
    uint64_t vpn;

    for (uint64_t k = 1; k <= s->param[DEGREE]; k++)
        if (tlbs_offset(n->vpn, (int64_t)k, &vpn))
            heddle_start_translation(n->sim, n->app, vpn,
                                     (enum heddle_translate_to)s->param[NEXT_TO],
                                     n->core);
}

static const struct heddle_filter misses[] = {
    {HEDDLE_NOTE_tlb_miss, "level", 2}, {0}};

#define TO                                                                     \
    {                                                                          \
        "to", "l2tlb|l1tlb|l1side", 0, 0, 2, "where it goes",                  \
            "guess: next to the TLB that missed"                               \
    }

static const struct heddle_param next_params[] = {
    {"degree", "pages", 1, 1, 16, "pages after the one that missed",
     "Smith, 1982: one"},
    TO,
    {0},
};

const struct heddle_policy hd_policy_next_page = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "next_page",
    .summary =
        "a miss of the L2 TLB also starts translations of the next pages",
    .source = "sequential prefetching: Smith, ACM Computing Surveys 1982",
    .params = next_params,
    .state_bytes = next_bytes,
    .init = next_init,
    .watch = {[HEDDLE_NOTE_tlb_miss] = next_missed},
    .filters = misses,
};

/* ---- distance ------------------------------------------------------------- */

enum { ROWS, DISTANCE_TO, UNSEEN = INT32_MAX };

struct row {
    int64_t of, next[2]; /* UNSEEN: none */
};

struct stream {
    uint64_t misses, vpn;
    int64_t by;
};

struct distance {
    uint64_t param[2];
    int predicted;
    struct stream of[HEDDLE_MAX_APPS];
    struct row row[];
};

static size_t distance_bytes(const struct heddle_place *p,
                             const uint64_t *params)
{
    (void)p;
    return sizeof(struct distance) + params[ROWS] * sizeof(struct row);
}

static int distance_init(void *state, const struct heddle_place *p,
                         const uint64_t *params)
{
    struct distance *s = state;

    memcpy(s->param, params, sizeof s->param);
    s->predicted = heddle_own_number(p->sim, "distance", "predicted");
    for (uint64_t i = 0; i < params[ROWS]; i++)
        s->row[i] = (struct row){UNSEEN, {UNSEEN, UNSEEN}};
    return 0;
}

/* The row of a distance, which is its own from now on. */
static struct row *row_of(struct distance *s, int64_t by)
{
    int64_t rows = (int64_t)s->param[ROWS];
    struct row *r = &s->row[(by % rows + rows) % rows];

    if (r->of != by)
        *r = (struct row){by, {UNSEEN, UNSEEN}};
    return r;
}

static void distance_missed(void *state, const void *note)
{
    const struct heddle_n_tlb_miss *n = note;
    struct distance *s = state;
    struct stream *t = &s->of[n->app];
    int64_t by = (int64_t)(n->vpn - t->vpn);
    struct row *r;
    uint64_t vpn;

    if (t->misses >= 2) {
        r = row_of(s, t->by);
        if (r->next[0] != by) {
            r->next[1] = r->next[0];
            r->next[0] = by;
        }
    }
    if (t->misses >= 1) {
        r = row_of(s, by);
        for (int i = 0; i < 2; i++)
            if (r->next[i] != UNSEEN && tlbs_offset(n->vpn, r->next[i], &vpn)) {
                heddle_count(n->sim, s->predicted, (uint32_t)n->app, 1);
                heddle_start_translation(
                    n->sim, n->app, vpn,
                    (enum heddle_translate_to)s->param[DISTANCE_TO], n->core);
            }
    }
    *t = (struct stream){t->misses + 1, n->vpn, by};
}

static const struct heddle_param distance_params[] = {
    {"rows", "rows", 256, 1, 4096, "of the table, by distance",
     "Kandiraju and Sivasubramaniam: 32 to 1024; two distances a row"},
    TO,
    {0},
};

static const struct heddle_own distance_own[] = {
    {"predicted", "translations", "distances that the table had",
     HEDDLE_OWN_COUNT},
    {0}};

const struct heddle_policy hd_policy_distance = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "distance",
    .summary = "what followed a distance between misses is expected again",
    .source = "distance prefetching: Kandiraju and Sivasubramaniam, ISCA 2002",
    .params = distance_params,
    .state_bytes = distance_bytes,
    .init = distance_init,
    .watch = {[HEDDLE_NOTE_tlb_miss] = distance_missed},
    .filters = misses,
    .own = distance_own,
};

/* ---- dead_entry ----------------------------------------------------------- */

enum { COUNTERS, DEAD_AT, HOW };

struct dead_entry {
    uint64_t param[3];
    uint64_t entries;
    int dead;
    uint8_t word[]; /* counters, then of each entry: 1: it was hit */
};

static uint64_t entries_of(const struct heddle_place *p)
{
    uint64_t base = 0, large = 0;

    heddle_policy_setting(p->sim, "l2tlb.entries", &base, NULL, 0);
    heddle_policy_setting(p->sim, "l2tlb.large_entries", &large, NULL, 0);
    return base + large;
}

static size_t dead_bytes(const struct heddle_place *p, const uint64_t *params)
{
    return sizeof(struct dead_entry) + params[COUNTERS] + entries_of(p);
}

static int dead_init(void *state, const struct heddle_place *p,
                     const uint64_t *params)
{
    struct dead_entry *s = state;

    memcpy(s->param, params, sizeof s->param);
    s->entries = entries_of(p);
    s->dead = heddle_own_number(p->sim, "dead_entry", "dead");
    return 0;
}

static uint8_t *counter_of(struct dead_entry *s, uint64_t pc)
{
    return &s->word[pc % s->param[COUNTERS]];
}

static void dead_hit(void *state, const void *note)
{
    const struct heddle_n_tlb_hit *n = note;
    struct dead_entry *s = state;

    if (n->entry < s->entries)
        s->word[s->param[COUNTERS] + n->entry] = 1;
}

static void dead_left(void *state, const void *note)
{
    const struct heddle_n_tlb_evict *n = note;
    struct dead_entry *s = state;
    uint8_t *c = counter_of(s, n->filler_pc), *hit;

    if (n->entry >= s->entries)
        return;
    hit = &s->word[s->param[COUNTERS] + n->entry];
    if (*hit) {
        *c = 0;
    } else {
        *c = (uint8_t)(*c + (*c < 7));
        heddle_count(n->sim, s->dead, (uint32_t)n->app, 1);
    }
    *hit = 0;
}

static int64_t dead_insert(void *state, const void *question)
{
    const struct heddle_q_tlb_insert *q = question;
    struct dead_entry *s = state;

    if (q->level != 2 || *counter_of(s, q->pc) < s->param[DEAD_AT])
        return HEDDLE_PASS;
    return s->param[HOW] == 0 ? HEDDLE_CACHE_INSERT_LAST
                              : HEDDLE_CACHE_INSERT_SKIP;
}

static const struct heddle_param dead_params[] = {
    {"counters", "counters", 1024, 1, 65536,
     "of three bits, by program counter", "Mazumdar et al., HPCA 2021: 1024"},
    {"dead_at", "entries", 6, 1, 7,
     "this many in a row evicted unused: the next is expected to be unused, "
     "too",
     "guess: near the end of three bits"},
    {"how", "last|skip", 0, 0, 1,
     "what is done with it: it becomes the next victim; or it does not enter, "
     "and then a use that it would have had is not seen",
     "guess; Mazumdar et al. skip, and keep what they skip to learn"},
    {0},
};

static const struct heddle_own dead_own[] = {
    {"dead", "entries", "left the L2 TLB without a hit", HEDDLE_OWN_COUNT},
    {0}};

static const struct heddle_filter dead_filters[] = {
    {HEDDLE_NOTE_tlb_hit, "level", 2},
    {HEDDLE_NOTE_tlb_evict, "level", 2},
    {0}};

const struct heddle_policy hd_policy_dead_entry = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "dead_entry",
    .summary = "entries of instructions whose pages are not used again are "
               "evicted first",
    .source = "dead page prediction: Mazumdar et al., HPCA 2021",
    .params = dead_params,
    .state_bytes = dead_bytes,
    .init = dead_init,
    .answer = {[HEDDLE_POINT_tlb_insert] = dead_insert},
    .watch = {[HEDDLE_NOTE_tlb_hit] = dead_hit,
              [HEDDLE_NOTE_tlb_evict] = dead_left},
    .filters = dead_filters,
    .own = dead_own,
};

/* ---- victim_tlb ----------------------------------------------------------- */

static size_t victim_bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)p, (void)params;
    return sizeof(uint64_t);
}

static int victim_init(void *state, const struct heddle_place *p,
                       const uint64_t *params)
{
    uint64_t entries = 0, *level = state;
    const char *name = params[0] == 1 ? "l1side.entries" : "bypass.entries";
    char text[96];

    *level = params[0];
    heddle_policy_setting(p->sim, name, &entries, NULL, 0);
    if (entries != 0)
        return 0;
    snprintf(text, sizeof text,
             "policy victim_tlb: %s is 0: there is no buffer for victims",
             name);
    return heddle_policy_fail(p->sim, text);
}

static int64_t victim_keep(void *state, const void *question)
{
    const struct heddle_q_tlb_keep *q = question;

    return q->level == *(const uint64_t *)state;
}

static const struct heddle_param victim_params[] = {
    {"level", "", 1, 1, 2,
     "1: next to L1 TLBs, which needs l1side.entries; 2: next to the L2 TLB, "
     "which "
     "needs bypass.entries",
     "Jouppi: next to the first level"},
    {0},
};

const struct heddle_policy hd_policy_victim_tlb = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "victim_tlb",
    .summary = "entries evicted from a TLB go to the buffer next to it",
    .source = "victim caches: Jouppi, ISCA 1990",
    .params = victim_params,
    .state_bytes = victim_bytes,
    .init = victim_init,
    .answer = {[HEDDLE_POINT_tlb_keep] = victim_keep},
};

/* ---- pte_line ------------------------------------------------------------- */

enum { REACH, LINE_TO };

static void line_walked(void *state, const void *note)
{
    const struct heddle_n_walk_done *n = note;
    const struct next_page *s = state; /* it has two parameters, too */
    uint64_t first = n->vpn - n->vpn % s->param[REACH];

    for (uint64_t k = 0; k < s->param[REACH]; k++)
        if (first + k != n->vpn)
            heddle_fill_translation(n->sim, n->app, first + k,
                                    (enum heddle_translate_to)s->param[LINE_TO],
                                    n->core);
}

static const struct heddle_param line_params[] = {
    {"reach", "pages", 16, 2, 512, "aligned group of pages that a walk fills",
     "a line of 128 bytes has the entries of 16"},
    TO,
    {0},
};

const struct heddle_policy hd_policy_pte_line = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "pte_line",
    .summary =
        "a walk fills the neighbours whose entries it has read with its own",
    .source = "Pham et al., MICRO 2012; Vavouliotis et al., ISCA 2021: "
              "translations that are free where the line is",
    .params = line_params,
    .state_bytes = next_bytes,
    .init = next_init,
    .watch = {[HEDDLE_NOTE_walk_done] = line_walked},
};
