/*
 * mask.c - MASK: sharing a GPU without fighting over translation.
 *
 * Ausavarungnirun et al.: MASK, ASPLOS 2018.  Three mechanisms, each of which
 * can be switched off:
 *
 *   tokens   TLB-Fill Tokens (section 5.2).  In the first epoch every warp
 *            fills the L2 TLB; then an application has tokens for `initial`
 *            percent of its warps, and the walks of the others fill the bypass
 *            cache.  At the end of each epoch the L2 TLB miss rate is compared
 *            with that of the epoch before: a change of more than `band`
 *            percentage points moves the tokens by `step` percent of the
 *            warps, down when the rate rose, up when it fell.
 *
 *   bypass   Address-Translation-Aware L2 Bypass (section 5.3).  At the end of
 *            an epoch the page walk reads of each level that hit less often in
 *            the L2 cache than data did go past it in the next.  One set of
 *            `sample` is left alone, so that a level that is bypassed still
 *            shows how often it would hit; one that had no look-up there is
 *            tried again.  With bypass_rule = released levels 2 to 4 always go past
 *            it, all sets of them, as in the released simulator.
 *
 *   dram     Address-Space-Aware DRAM Scheduler (section 5.4).  Page walk reads
 *            are golden.  Data of the application whose turn it is are silver,
 *            all others normal.  A turn lasts `thresh` requests times the
 *            application's share of walks at once times instructions that one
 *            miss held up, both the most of the epoch before; equal shares
 *            without walks.
 *
 * The paper's text decides by the sign of the change alone, but it lists a
 * register for the direction of the last move; token_rule = hillclimb takes
 * it at that: a climb that continues while the rate falls and turns when it
 * rises.
 *
 * The machine needs the bypass cache (bypass.entries, 32), separate DRAM queues
 * (dram.queues, apart), and for tokens an L2 TLB that all cores share: without
 * one they are refused.  Epochs without look-ups change nothing.
 * policies/mask.lua and policies/mask-asked.lua decide the same, the one by
 * steering, the other by answering.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <stdio.h>

#include "policy.h"

enum param {
    TOKENS,
    BYPASS,
    DRAM,
    EPOCH,
    INITIAL,
    STEP,
    BAND,
    TOKEN_RULE,
    BYPASS_RULE,
    SAMPLE,
    THRESH,
    PARAMS
};
enum { TEXT, HILLCLIMB };
enum { RATES, RELEASED };
enum { MILLION = 1000000 }; /* rates are in parts of it */
enum { LEVELS = 5 };        /* of page tables, and 0 for data */

static const struct heddle_param params[] = {
    {"tokens", "", 1, 0, 1, "1: TLB-Fill Tokens", "MASK 5.2"},
    {"bypass", "", 1, 0, 1, "1: Address-Translation-Aware L2 Bypass",
     "MASK 5.3"},
    {"dram", "", 1, 0, 1, "1: Address-Space-Aware DRAM Scheduler", "MASK 5.4"},
    {"epoch", "cycles", 100000, 1000, 10000000, "time between two decisions",
     "MASK 5.2"},
    {"initial", "percent", 80, 1, 100,
     "of the warps that have a token after the first epoch", "MASK 6"},
    {"step", "percent", 10, 1, 100,
     "of the warps that get or lose a token at once", "the released code"},
    {"band", "percentage points", 2, 0, 100,
     "change of the miss rate that is ignored", "MASK 5.2"},
    {"token_rule", "text|hillclimb", TEXT, TEXT, HILLCLIMB,
     "text: fewer when the miss rate rose, more when it fell; hillclimb: "
     "continues while it falls, turns when it rose",
     "MASK 5.2; 7.4 for hillclimb"},
    {"bypass_rule", "text|released", RATES, RATES, RELEASED,
     "text: levels that hit less often than data did; released: levels 2 to 4, "
     "always",
     "MASK 5.3; mem_fetch.cc of the released code"},
    {"sample", "sets", 32, 0, 255,
     "one in this many is not bypassed; 0: all are", "guess"},
    {"thresh", "requests", 500, 1, 65535,
     "silver requests of a round of turns in a channel", "MASK 6"},
    {0},
};

struct mask {
    uint64_t param[PARAMS];
    uint64_t rate[HEDDLE_MAX_APPS]; /* L2 TLB miss rate of the last epoch */
    uint8_t known[HEDDLE_MAX_APPS]; /* there is one */
    uint8_t up[HEDDLE_MAX_APPS];    /* the last move gave tokens */
    uint32_t apps, l2tlbs;
    struct l2_use {
        uint64_t hits, lookups;
    } use[LEVELS]; /* of the L2 cache, when last looked at; 0: data */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static size_t mask_bytes(const struct heddle_place *p, const uint64_t *v)
{
    (void)p, (void)v;
    return sizeof(struct mask);
}

static int mask_init(void *self, const struct heddle_place *p,
                     const uint64_t *v)
{
    struct mask *m = self;

    for (uint32_t i = 0; params[i].name; i++)
        m->param[i] = v[i];
    m->apps = p->apps;
    m->l2tlbs = p->l2tlbs;
    return 0;
}

/* ---- tokens ----------------------------------------------------------- */

/* -1, 0 or 1: which way the tokens go. */
static int direction(struct mask *m, const struct heddle_q_tokens *q)
{
    uint64_t rate = q->misses * MILLION / q->lookups, last = m->rate[q->app];
    uint64_t band = m->param[BAND] * MILLION / 100;
    bool known = m->known[q->app], rose, fell;

    m->rate[q->app] = rate;
    m->known[q->app] = 1;
    rose = known && rate > last + band;
    fell = known && rate + band < last;
    if (!rose && !fell)
        return 0;
    if (m->param[TOKEN_RULE] == TEXT)
        m->up[q->app] = fell;
    else
        m->up[q->app] ^= rose;
    return m->up[q->app] ? 1 : -1;
}

static int64_t tokens(void *self, const void *question)
{
    const struct heddle_q_tokens *q = question;
    struct mask *m = self;
    uint64_t step = larger(1, q->warps * m->param[STEP] / 100);
    int way = m->param[TOKENS] && q->lookups > 0 ? direction(m, q) : 0;

    if (!m->param[TOKENS])
        return HEDDLE_PASS;
    if (q->epoch == 1)
        return (int64_t)larger(1, q->warps * m->param[INITIAL] / 100);
    if (way > 0)
        return (int64_t)smaller(q->tokens + step, q->warps);
    if (way < 0)
        return (int64_t)(q->tokens > step ? q->tokens - step : 1);
    return (int64_t)q->tokens;
}

/* ---- L2 bypass -------------------------------------------------------- */

static uint64_t mask_count(const heddle_sim *s, const char *what,
                           const char *result)
{
    char name[48];
    uint64_t v;

    snprintf(name, sizeof name, "l2cache.%s_%s", what, result);
    heddle_policy_counter(s, name, UINT32_MAX, &v);
    return v;
}

static struct l2_use use_of(const heddle_sim *s, uint32_t level)
{
    static const char *const walk[] = {"walk1", "walk2", "walk3", "walk4"};
    static const char *const data[] = {"read", "write", "atomic"};
    const char *const *what = level == 0 ? data : &walk[level - 1];
    struct l2_use u = {0, 0};

    for (uint32_t i = 0; i < (level == 0 ? 3 : 1); i++) {
        u.hits += mask_count(s, what[i], "hits");
        u.lookups += mask_count(s, what[i], "lookups");
    }
    return u;
}

/* What the uses have grown by. */
static struct l2_use mask_grown(struct l2_use *last, struct l2_use now)
{
    struct l2_use d = {now.hits - last->hits, now.lookups - last->lookups};

    *last = now;
    return d;
}

/* Says whether a level goes past the L2 cache, for all applications. */
static void mask_skip(const struct mask *m, heddle_sim *s, uint32_t level,
                      bool yes)
{
    uint64_t some = m->param[BYPASS_RULE] == RELEASED ? 1 : m->param[SAMPLE];
    uint64_t cell = yes ? larger(1, some) : 0;

    for (uint32_t app = 0; app < m->apps; app++)
        heddle_steer(s, "l2_bypass", app, level, cell);
}

static void choose_levels(struct mask *m, heddle_sim *s)
{
    struct l2_use data = mask_grown(&m->use[0], use_of(s, 0));

    for (uint32_t level = 1; level < LEVELS; level++) {
        struct l2_use walk = mask_grown(&m->use[level], use_of(s, level));
        mask_skip(m, s, level,
                  walk.hits * data.lookups < data.hits * walk.lookups);
    }
}

/* ---- DRAM ------------------------------------------------------------- */

enum { SILVER = 1, GOLDEN = 2, SIX_BITS = 63 };

/* How hard translation pressed on an application in the epoch. */
static uint64_t pressure(heddle_sim *s, uint32_t app)
{
    uint64_t walks, stalled;

    heddle_recent(s, "walks", app, &walks);
    heddle_recent(s, "stalled", app, &stalled);
    return smaller(walks, SIX_BITS) * smaller(stalled, SIX_BITS);
}

static void share_turns(const struct mask *m, heddle_sim *s)
{
    uint64_t p[HEDDLE_MAX_APPS], sum = 0;

    for (uint32_t app = 0; app < m->apps; app++)
        sum += p[app] = pressure(s, app);
    for (uint32_t app = 0; app < m->apps; app++)
        heddle_steer(s, "dram_turn", app, 0,
                     sum > 0 ? m->param[THRESH] * p[app] / sum
                             : larger(1, m->param[THRESH] / m->apps));
}

static void sort_requests(const struct mask *m, heddle_sim *s)
{
    for (uint32_t app = 0; app < m->apps; app++) {
        for (uint32_t level = 0; level < LEVELS; level++)
            heddle_steer(s, "dram_class", app, level,
                         level == 0 ? SILVER : GOLDEN);
        heddle_steer(s, "dram_turn", app, 0,
                     larger(1, m->param[THRESH] / m->apps));
    }
}

/* ---- epochs ----------------------------------------------------------- */

static void mask_start(void *self, heddle_sim *s)
{
    struct mask *m = self;

    if (m->param[TOKENS] && m->l2tlbs != 1)
        heddle_policy_fail(
            s, m->l2tlbs == 0
                   ? "policy mask: tokens say who fills an L2 TLB that all "
                     "cores share: l2tlb.mode = full is expected, or tokens = 0"
                   : "policy mask: tokens say who fills an L2 TLB that all "
                     "cores share: walk.per_core = false is expected, or "
                     "tokens = 0");
    for (uint32_t level = 0; level < LEVELS && m->param[BYPASS]; level++) {
        m->use[level] = use_of(s, level);
        if (level > 0)
            mask_skip(m, s, level,
                      m->param[BYPASS_RULE] == RELEASED && level > 1);
    }
    if (m->param[DRAM])
        sort_requests(m, s);
}

static uint64_t mask_period(const void *self)
{
    return ((const struct mask *)self)->param[EPOCH];
}

static void mask_epoch(void *self, heddle_sim *s, uint64_t cycle)
{
    struct mask *m = self;

    (void)cycle;
    if (m->param[BYPASS] && m->param[BYPASS_RULE] == RATES)
        choose_levels(m, s);
    if (m->param[DRAM])
        share_turns(m, s);
}

const struct heddle_policy hd_policy_mask = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "mask",
    .summary = "fill tokens, walks past the L2 cache, DRAM queues by urgency",
    .source = "MASK, ASPLOS 2018",
    .params = params,
    .state_bytes = mask_bytes,
    .init = mask_init,
    .start = mask_start,
    .period = mask_period,
    .epoch = mask_epoch,
    .answer = {[HEDDLE_POINT_tokens] = tokens},
};
