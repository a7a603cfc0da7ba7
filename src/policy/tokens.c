/*
 * tokens.c - the point tokens: how many warps of an application may fill the
 * L2 TLB, and which.
 *
 * A policy that answers tokens decides a number for each application at the
 * end of each of its epochs; this file measures what it decides by and hands
 * the tokens out (MASK, ASPLOS 2018, section 5.2).  They are dealt evenly to
 * the cores on which the application ran, rounded up, and on a core to the
 * warps with the lowest numbers among those that issued in the epoch.  Who has
 * one is written into the steering table tlb_fill, where the walk's end looks.
 * With as many tokens as warps, every warp may fill, newcomers too.
 *
 * Nothing is given away before the first epoch has ended: all fill.
 *
 * Invariant (check): the warps that have a token issued in the epoch, and are
 * at most one a core more than the tokens.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "../base/bits.h"
#include "registry.h"

enum { ALL = UINT32_MAX, CORES = 128 };

/* State, in the arena. */
struct hd_tokens {
    uint64_t lookups[HD_MAX_APPS], misses[HD_MAX_APPS]; /* at the last epoch */
    uint64_t ran[CORES];          /* warps that issued in the last epoch */
    uint32_t owner[CORES];        /* application of each core */
    uint32_t tokens[HD_MAX_APPS]; /* or ALL */
    uint32_t epochs;
};

static int64_t keep(void *self, const void *question)
{
    const struct heddle_q_tokens *q = question;

    (void)self;
    return (int64_t)q->tokens;
}

int hd_tokens_open(struct hd_slots_registry *r)
{
    r->tokens = hd_arena_take(r->env->arena, 1, sizeof *r->tokens);
    if (r->tokens == NULL)
        return -1;
    hd_slots_offer(r->slots, HEDDLE_POINT_tokens, "", &r->tokens_slot, keep,
                   NULL);
    return 0;
}

/* ---- measuring -------------------------------------------------------- */

static uint64_t count(struct hd_slots_registry *r, const char *name,
                      uint32_t app)
{
    uint64_t v;

    heddle_policy_counter(r->sim, name, app, &v);
    return v;
}

static uint64_t lookups(struct hd_slots_registry *r, uint32_t app)
{
    return count(r, "mmu.hits", app) + count(r, "mmu.misses", app);
}

/* What a counter has grown by. */
static uint64_t grown(uint64_t *last, uint64_t now)
{
    uint64_t d = now - *last;

    *last = now;
    return d;
}

void hd_tokens_begin(struct hd_slots_registry *r)
{
    struct hd_tokens *t = r->tokens;

    memset(t, 0, sizeof *t);
    for (uint32_t a = 0; a < r->machine.apps; a++) {
        t->tokens[a] = ALL;
        t->lookups[a] = lookups(r, a);
        t->misses[a] = count(r, "mmu.misses", a);
    }
}

/* Which warps issued, and whose.  False: an error is recorded. */
static bool learn(struct hd_slots_registry *r)
{
    struct hd_tokens *t = r->tokens;
    uint32_t cores = (uint32_t)hd_min_u64(r->machine.cores, CORES);
    uint64_t owner;

    for (uint32_t c = 0; c < cores; c++) {
        if (heddle_recent(r->sim, "warps", c, &t->ran[c]) != 0 ||
            heddle_recent(r->sim, "owner", c, &owner) != 0)
            return false;
        t->owner[c] = (uint32_t)owner;
    }
    return true;
}

/* ---- handing out ------------------------------------------------------ */

/* The n lowest members of a set; of an empty one, the n lowest numbers. */
static uint64_t lowest(uint64_t set, uint64_t n)
{
    uint64_t out = 0;

    if (set == 0)
        return hd_ones((unsigned)hd_min_u64(n, 64));
    for (; set != 0 && n > 0; n--) {
        out |= set & -set;
        set &= set - 1;
    }
    return out;
}

static void hand_out(struct hd_slots_registry *r, uint32_t app, uint64_t warps,
                     uint64_t cores)
{
    const struct hd_tokens *t = r->tokens;
    uint32_t tokens = t->tokens[app];
    uint64_t each = hd_ceil_div(tokens, cores);

    for (uint32_t c = 0; c < r->machine.cores && c < CORES; c++)
        if (t->owner[c] == app)
            heddle_steer(r->sim, "tlb_fill", app, c,
                         tokens >= warps ? UINT64_MAX
                                         : lowest(t->ran[c], each));
}

static void decide(struct hd_slots_registry *r, uint32_t app)
{
    struct hd_tokens *t = r->tokens;
    struct heddle_q_tokens q = {.app = app, .epoch = t->epochs};
    uint64_t cores = 0;
    int64_t n;

    for (uint32_t c = 0; c < r->machine.cores && c < CORES; c++) {
        if (t->owner[c] != app)
            continue;
        q.warps += hd_bit_count(t->ran[c]);
        cores += t->ran[c] != 0;
    }
    q.lookups = grown(&t->lookups[app], lookups(r, app));
    q.misses = grown(&t->misses[app], count(r, "mmu.misses", app));
    if (cores == 0)
        return; /* it did not run */
    q.tokens = hd_min_u64(t->tokens[app], q.warps);
    n = hd_ask_tokens(&r->tokens_slot, &q);
    if (t->tokens[app] == ALL && (uint64_t)n == q.warps)
        return;
    t->tokens[app] = (uint32_t)n;
    hand_out(r, app, q.warps, cores);
}

void hd_tokens_epoch(struct hd_slots_registry *r)
{
    if (!learn(r))
        return;
    r->tokens->epochs++;
    for (uint32_t a = 0; a < r->machine.apps && r->error.code == 0; a++)
        decide(r, a);
}

/* ---- checking --------------------------------------------------------- */

void hd_tokens_check(const struct hd_slots_registry *r, struct hd_err *err)
{
    const struct hd_tokens *t = r->tokens;

    for (uint32_t a = 0; a < r->machine.apps && r->tokens_slot.bound; a++) {
        uint64_t given = 0, warps = 0, cores = 0, others = 0;

        for (uint32_t c = 0; c < r->machine.cores && c < CORES; c++) {
            uint64_t may = r->slots->steer->tlb_fill[a][c];
            if (t->owner[c] != a || t->ran[c] == 0)
                continue;
            warps += hd_bit_count(t->ran[c]);
            given += hd_bit_count(may & t->ran[c]);
            others |= may & ~t->ran[c];
            cores++;
        }
        if (t->tokens[a] == ALL || t->tokens[a] >= warps)
            continue;
        if (given > t->tokens[a] + cores - 1 || given > warps || others != 0)
            hd_err_set(err, HEDDLE_ECHECK,
                       "tokens: %llu of %llu warps of application %u on %llu "
                       "cores have one of %u tokens%s",
                       (unsigned long long)given, (unsigned long long)warps, a,
                       (unsigned long long)cores, t->tokens[a],
                       others ? ", others that did not run too" : "");
    }
}
