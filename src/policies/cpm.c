/*
 * cpm.c - TLB-aware thread block compaction: threads share a formed warp if
 * their warps have shared pages.
 *
 * policies/cpm.lua is the same, and tells the rules.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "policy.h"

enum { BITS, FLUSH, ENTRIES, PARAMS };
enum { NO_WARP = 0xff };

/* Of a TLB entry: which warp filled it, and which hit it last and before; none:
 * it is not known. */
struct history {
    uint32_t filler;
    uint8_t last, before;
};

/* Then follow, of each core: the window of its counters, its counters, its
 * entries. */
struct cpm {
    uint64_t param[PARAMS];
    uint64_t cores, warps;
    uint64_t window[];
};

static uint64_t cpm_cells(uint64_t warps)
{
    return warps * (warps - 1);
}

static uint8_t *cpm_counters(struct cpm *s, uint64_t core)
{
    return (uint8_t *)(s->window + s->cores) + core * cpm_cells(s->warps);
}

static struct history *cpm_entry(struct cpm *s, uint64_t core, uint64_t e)
{
    size_t at = (s->cores * cpm_cells(s->warps) + 7) / 8;
    struct history *h = (void *)(s->window + s->cores + at);

    return &h[core * s->param[ENTRIES] + e];
}

static size_t cpm_bytes(const struct heddle_place *p, const uint64_t *params)
{
    return sizeof(struct cpm) + p->cores * sizeof(uint64_t) +
           p->cores * cpm_cells(p->warps) + 8 +
           p->cores * params[ENTRIES] * sizeof(struct history);
}

static int cpm_init(void *state, const struct heddle_place *p,
                    const uint64_t *params)
{
    struct cpm *s = state;

    memcpy(s->param, params, sizeof s->param);
    s->cores = p->cores;
    s->warps = p->warps;
    for (uint64_t i = 0; i < s->cores * params[ENTRIES]; i++)
        cpm_entry(s, 0, i)->last = NO_WARP;
    return 0;
}

/* The counter of two warps; the counters of a core start again where a window
 * does. */
static uint8_t *counter(struct cpm *s, uint64_t core, uint64_t cycle,
                        uint64_t a, uint64_t b)
{
    uint8_t *v = cpm_counters(s, core);

    if (s->window[core] != cycle / s->param[FLUSH]) {
        s->window[core] = cycle / s->param[FLUSH];
        memset(v, 0, cpm_cells(s->warps));
    }
    return &v[a * (s->warps - 1) + b - (b > a)];
}

static uint8_t cpm_most(const struct cpm *s)
{
    return (uint8_t)((1u << s->param[BITS]) - 1);
}

/* Warp w has hit where h did. */
static void share(struct cpm *s, const struct heddle_n_tlb_hit *n, uint64_t h)
{
    uint8_t *c;

    if (h == NO_WARP || h == n->warp)
        return;
    c = counter(s, n->core, n->cycle, n->warp, h);
    *c = (uint8_t)(*c + (*c < cpm_most(s)));
    c = counter(s, n->core, n->cycle, h, n->warp);
    *c = (uint8_t)(*c + (*c < cpm_most(s)));
}

static void cpm_hit(void *state, const void *note)
{
    const struct heddle_n_tlb_hit *n = note;
    struct cpm *s = state;
    struct history *e;

    if (n->level != 1 || n->entry >= s->param[ENTRIES])
        return;
    e = cpm_entry(s, n->core, n->entry);
    if (e->last == NO_WARP || e->filler != n->filler)
        *e = (struct history){(uint32_t)n->filler,
                              (uint8_t)(n->filler & 0xffff), NO_WARP};
    share(s, n, e->last);
    share(s, n, e->before);
    if (e->last != n->warp) {
        e->before = e->last;
        e->last = (uint8_t)n->warp;
    }
}

static void cpm_gone(void *state, const void *note)
{
    const struct heddle_n_tlb_evict *n = note;
    struct cpm *s = state;

    if (n->level == 1 && n->entry < s->param[ENTRIES])
        cpm_entry(s, n->core, n->entry)->last = NO_WARP;
}

static int64_t cpm_join(void *state, const void *question)
{
    const struct heddle_q_thread_join *q = question;
    struct cpm *s = state;

    for (uint64_t b = 0; b < q->n; b++)
        if ((q->members >> b & 1) && b != q->warp &&
            *counter(s, q->core, q->cycle, q->warp, b) < cpm_most(s))
            return 0;
    return 1;
}

static const struct heddle_param params[] = {
    {"bits", "bits", 3, 1, 3, "of a counter", "Pichai 8: 3 is best"},
    {"flush", "cycles", 500, 1, 1u << 30, "between two starts at 0",
     "Pichai 8"},
    {"entries", "entries", 1024, 1, 65536,
     "of a TLB that have a history; others are ignored",
     "guess: more than the largest TLB of the paper, 512"},
    {0},
};

const struct heddle_policy hd_policy_cpm = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "cpm",
    .summary = "threads share a formed warp if their warps share pages "
               "(TLB-aware thread block compaction)",
    .source = "Pichai et al., ASPLOS 2014, section 8",
    .params = params,
    .state_bytes = cpm_bytes,
    .init = cpm_init,
    .answer = {[HEDDLE_POINT_thread_join] = cpm_join},
    .watch =
        {[HEDDLE_NOTE_tlb_hit] = cpm_hit, [HEDDLE_NOTE_tlb_evict] = cpm_gone},
};
