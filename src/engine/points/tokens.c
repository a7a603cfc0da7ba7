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
#include "tokens.h"

#include <string.h>

#include "kit/bits.h"

enum { ALL = UINT32_MAX };

struct hd_tokens_state {
    uint64_t lookups[HD_MAX_APPS], misses[HD_MAX_APPS]; /* at the last epoch */
    uint64_t ran[HD_STEER_CORES];   /* warps that issued in the last epoch */
    uint32_t owner[HD_STEER_CORES]; /* application of each core */
    uint32_t tokens[HD_MAX_APPS];   /* or ALL */
    uint32_t epochs;
};

static int64_t tokens_keep(void *self, const void *question)
{
    const struct heddle_q_tokens *q = question;

    (void)self;
    return (int64_t)q->tokens;
}

/* ---- measuring -------------------------------------------------------- */

static uint64_t tokens_count(const struct hd_tokens *t, const char *name,
                             uint32_t app)
{
    uint64_t v;

    heddle_policy_counter(t->sim, name, app, &v);
    return v;
}

static uint64_t lookups(const struct hd_tokens *t, uint32_t app)
{
    return tokens_count(t, "mmu.hits", app) +
           tokens_count(t, "mmu.misses", app);
}

/* What a counter has grown by. */
static uint64_t tokens_grown(uint64_t *last, uint64_t now)
{
    uint64_t d = now - *last;

    *last = now;
    return d;
}

/* A policy that answers tokens is bound. */
static void tokens_begin(void *self)
{
    struct hd_tokens *t = self;

    memset(t->s, 0, sizeof *t->s);
    for (uint32_t a = 0; a < t->apps; a++) {
        t->s->tokens[a] = ALL;
        t->s->lookups[a] = lookups(t, a);
        t->s->misses[a] = tokens_count(t, "mmu.misses", a);
    }
}

/* Which warps issued, and whose.  False: an error is recorded. */
static bool tokens_learn(struct hd_tokens *t)
{
    uint64_t owner;

    for (uint32_t c = 0; c < t->cores; c++) {
        if (heddle_recent(t->sim, "warps", c, &t->s->ran[c]) != 0 ||
            heddle_recent(t->sim, "owner", c, &owner) != 0)
            return false;
        t->s->owner[c] = (uint32_t)owner;
    }
    return true;
}

/* ---- handing out ------------------------------------------------------ */

/* The n lowest members of a set; of an empty one, the n lowest numbers. */
static uint64_t tokens_lowest(uint64_t set, uint64_t n)
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

static bool hand_out(struct hd_tokens *t, uint32_t app, uint64_t warps,
                     uint64_t cores)
{
    uint32_t tokens = t->s->tokens[app];
    uint64_t each = hd_ceil_div(tokens, cores);

    for (uint32_t c = 0; c < t->cores; c++)
        if (t->s->owner[c] == app &&
            heddle_steer(t->sim, "tlb_fill", app, c,
                         tokens >= warps
                             ? UINT64_MAX
                             : tokens_lowest(t->s->ran[c], each)) != 0)
            return false;
    return true;
}

/* False: a table cannot be steered, and an error is recorded. */
static bool tokens_decide(struct hd_tokens *t, uint32_t app)
{
    struct hd_tokens_state *s = t->s;
    struct heddle_q_tokens q = {.app = app, .epoch = s->epochs};
    uint64_t cores = 0;
    int64_t n;

    for (uint32_t c = 0; c < t->cores; c++) {
        if (s->owner[c] != app)
            continue;
        q.warps += hd_bit_count(s->ran[c]);
        cores += s->ran[c] != 0;
    }
    q.lookups = tokens_grown(&s->lookups[app], lookups(t, app));
    q.misses =
        tokens_grown(&s->misses[app], tokens_count(t, "mmu.misses", app));
    if (cores == 0)
        return true; /* it did not run */
    q.tokens = hd_min_u64(s->tokens[app], q.warps);
    n = hd_ask_tokens(&t->slot, &q);
    if (s->tokens[app] == ALL && (uint64_t)n == q.warps)
        return true;
    s->tokens[app] = (uint32_t)n;
    return hand_out(t, app, q.warps, cores);
}

/* An epoch of that policy has ended. */
static void tokens_over(void *self)
{
    struct hd_tokens *t = self;

    if (!tokens_learn(t))
        return;
    t->s->epochs++;
    for (uint32_t a = 0; a < t->apps && tokens_decide(t, a); a++)
        ;
}

/* ---- checking --------------------------------------------------------- */

static void tokens_check(void *self, uint32_t instance,
                         struct heddle_error *err)
{
    const struct hd_tokens *t = self;
    const struct hd_tokens_state *s = t->s;

    (void)instance;
    for (uint32_t a = 0; a < t->apps && t->slot.bound; a++) {
        uint64_t given = 0, warps = 0, cores = 0, others = 0;

        for (uint32_t c = 0; c < t->cores; c++) {
            uint64_t may = t->steer->tlb_fill[a][c];
            if (s->owner[c] != a || s->ran[c] == 0)
                continue;
            warps += hd_bit_count(s->ran[c]);
            given += hd_bit_count(may & s->ran[c]);
            others |= may & ~s->ran[c];
            cores++;
        }
        if (s->tokens[a] == ALL || s->tokens[a] >= warps)
            continue;
        if (given > s->tokens[a] + cores - 1 || given > warps || others != 0)
            hd_err_set(err, HEDDLE_ECHECK,
                       "tokens: %llu of %llu warps of application %u on %llu "
                       "cores have one of %u tokens%s",
                       (unsigned long long)given, (unsigned long long)warps, a,
                       (unsigned long long)cores, s->tokens[a],
                       others ? ", others that did not run too" : "");
    }
}

/* ---- building --------------------------------------------------------- */

int hd_tokens_open(struct hd_tokens *t, struct hd_env *env, heddle_sim *sim,
                   uint32_t cores)
{
    struct hd_part part = {
        .name = "tokens", .instances = 1, .self = t, .check = tokens_check};
    struct hd_epochal at_epochs = {HEDDLE_POINT_tokens, tokens_begin,
                                   tokens_over, t};

    t->sim = sim;
    t->steer = env->slots->steer;
    t->apps = env->apps;
    t->cores = (uint32_t)hd_min_u64(cores, HD_STEER_CORES);
    t->s = hd_arena_take(env->arena, 1, sizeof *t->s);
    if (t->s == NULL)
        return HEDDLE_ENOMEM;
    hd_slots_offer(env->slots, HEDDLE_POINT_tokens, "", &t->slot, tokens_keep,
                   t);
    hd_slots_epochal(env->slots, at_epochs);
    hd_env_part(env, part);
    return 0;
}
