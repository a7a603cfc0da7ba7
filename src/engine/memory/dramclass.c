/*
 * dramclass.c - classes of requests to DRAM, and silver turns: the
 * address-translation-aware scheduler of MASK (Ausavarungnirun et al., ASPLOS
 * 2018, section 5.4), and any other that a policy makes of it.
 *
 * A request is normal, silver or golden: what dram_class answers, or what the
 * steering table says, asked once when the request is the next that its sender
 * would send.  The scheduler serves the more urgent class first (dramsched.c).
 *
 * Turns.  Where they are in force (a policy is bound to dram_turn, or has
 * steered it), silver is only for requests of the application whose turn it is,
 * and the others are normal.  A turn lasts so many silver requests as its
 * application was given when it began.  It also ends when that application has
 * sent none for dram.turn_idle and another one has something to send.  Then
 * each application after it is asked in order how long its own shall last,
 * until one says more than 0.  Where none wants a turn, they are asked again
 * after the same idle time.  Every channel has turns of its own.
 *
 * Queues.  With `shared` at most so many requests of a channel may be silver,
 * and golden; one more counts as the next lower class.  With `apart` a request
 * keeps its class and waits for a place (dram.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramchan.h"

enum { LONGEST = UINT16_MAX }; /* turn */

/* ---- turns ------------------------------------------------------------- */

int64_t hd_dram_class_default(void *dram, const void *question)
{
    const struct hd_dram *d = dram;
    const struct heddle_q_dram_class *q = question;

    return d->steer->dram_class[q->app % HD_MAX_APPS][q->level % 8];
}

int64_t hd_dram_turn_default(void *dram, const void *question)
{
    const struct hd_dram *d = dram;
    const struct heddle_q_dram_turn *q = question;

    if (!hd_steered(d->steer, HD_TABLE_dram_turn))
        return LONGEST;
    return d->steer->dram_turn[q->app % HD_MAX_APPS][0];
}

static bool dram_turns(const struct hd_dram *d)
{
    return d->turn.bound != 0 || hd_steered(d->steer, HD_TABLE_dram_turn);
}

/* The next application that wants a turn gets it. */
static void dram_next_turn(struct hd_dram *d, const struct hd_dramlane *l,
                           hd_time now)
{
    struct hd_dramturn *t = &l->ch->turn;
    uint32_t apps = d->env->apps;
    uint32_t last = t->number == 0 ? apps : t->number - 1u;

    t->since = now;
    t->left = 0;
    t->unwanted = 1;
    for (uint32_t i = 1; i <= apps; i++) {
        struct heddle_q_dram_turn q = {.app = (last + i) % apps,
                                       .last = last,
                                       .apps = apps,
                                       .channel = l->c,
                                       .most = LONGEST};
        if (last == apps)
            q.app = i - 1;
        t->left = (uint32_t)hd_ask_dram_turn(&d->turn, &q);
        if (t->left == 0)
            continue;
        t->number = (uint16_t)(q.app + 1);
        t->unwanted = 0;
        l->count[q.app * ST_COUNT + ST_TURNS]++;
        return;
    }
}

/* Whether it is an application's turn. */
static bool dram_has_turn(struct hd_dram *d, const struct hd_dramlane *l,
                          uint32_t app)
{
    struct hd_dramturn *t = &l->ch->turn;
    hd_time now = hd_events_now(d->env->ev);
    bool mine = t->number == app + 1u;

    if (t->unwanted ? now - t->since >= d->idle
                    : t->left == 0 || (!mine && now - t->since >= d->idle))
        dram_next_turn(d, l, now);
    return t->left != 0 && t->number == app + 1u;
}

/* ---- classes ----------------------------------------------------------- */

/* What a request may be, in any turn: asked once. */
static inline uint32_t
dram_may_be(struct hd_dram *d, const struct hd_dramlane *l, struct hd_req *r)
{
    struct heddle_q_dram_class q = {r->app, r->kind, r->level, l->c};

    if (r->flags & HD_REQ_CLASSED)
        return r->dram_class;
    if (HD_UNLIKELY(r->app == HD_APP_NONE))
        return NORMAL; /* foreign pages that move: no policy's to decide */
    r->flags |= HD_REQ_CLASSED;
    r->dram_class = (uint8_t)hd_ask_dram_class(&d->klass, &q);
    return r->dram_class;
}

uint32_t hd_dram_class_of(struct hd_dram *d, const struct hd_dramlane *l,
                          struct hd_req *r)
{
    const struct hd_dramchan *ch = l->ch;
    uint32_t k = dram_may_be(d, l, r);

    if (k == NORMAL)
        return NORMAL;
    hd_dram_advance_to_now(d, l);
    if (k == GOLDEN && !d->apart && ch->klass[GOLDEN] >= d->cfg.queue_golden)
        k = SILVER;
    if (k == SILVER && dram_turns(d) && !dram_has_turn(d, l, r->app))
        return NORMAL;
    if (k == SILVER && !d->apart && ch->klass[SILVER] >= d->cfg.queue_silver)
        return NORMAL;
    return k;
}

void hd_dram_classed(struct hd_dram *d, const struct hd_dramlane *l,
                     const struct hd_dramentry *v)
{
    struct hd_dramchan *ch = l->ch;

    ch->klass[v->klass]++;
    l->count[v->app * ST_COUNT + ST_SILVER + v->klass - SILVER]++;
    if (v->klass == SILVER && dram_turns(d) && ch->turn.left != 0) {
        ch->turn.left--;
        ch->turn.since = hd_events_now(d->env->ev);
    }
}
