/*
 * dramclass.c - the class of a request, and whose silver turn it is.
 *
 * A request is normal, silver or golden: what dram_class answers, or what the
 * steering table says, asked once when the request is the next that its sender
 * would send.  Silver is what may be silver: where turns are in force (a
 * policy is bound to dram_turn, or has steered it), it is only for requests of
 * the application whose turn it is, and the others are normal (MASK, ASPLOS
 * 2018, section 5.4).  A turn lasts so many silver requests as its application
 * was given when it began.  It also ends when that application has sent none
 * for dram.turn_idle and another one has something to send.  Then each
 * application after it is asked in turn how long its own shall last, until one
 * says more than 0.  Where nobody wants one, they are asked again after the
 * same idle time.  Every channel has turns of its own.
 *
 * `shared` queues: all classes share the places of a channel, and at most so
 * many may be silver, and golden; one more counts as the next lower class.
 * `apart`: each class has places of its own, and a request that finds none
 * waits, with those behind it in its sender's queue (dram.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramchan.h"

enum { NORMAL, SILVER, GOLDEN };
enum { LONGEST = UINT16_MAX };

int64_t hd_dramclass_default(void *dram, const void *question)
{
    const struct hd_dram *d = dram;
    const struct heddle_q_dram_class *q = question;

    return d->steer->dram_class[q->app % HD_MAX_APPS][q->level % 8];
}

int64_t hd_dramclass_turn_default(void *dram, const void *question)
{
    const struct hd_dram *d = dram;
    const struct heddle_q_dram_turn *q = question;

    if (!hd_steered(d->steer, HD_TABLE_dram_turn))
        return LONGEST;
    return d->steer->dram_turn[q->app % HD_MAX_APPS][0];
}

/* ---- turns ------------------------------------------------------------ */

static bool in_force(const struct hd_dram *d)
{
    return d->turn.bound != 0 || hd_steered(d->steer, HD_TABLE_dram_turn);
}

/* The next application that wants a turn gets it. */
static void next_turn(struct hd_dram *d, uint32_t c, hd_time now)
{
    struct hd_dramturn *t = &d->lane[c].ch->turn;
    uint32_t apps = d->env->apps;
    uint32_t last = t->number == 0 ? apps : t->number - 1u;

    t->since = now;
    t->left = 0;
    t->nobody = 1;
    for (uint32_t i = 1; i <= apps; i++) {
        struct heddle_q_dram_turn q = {.app = (last + i) % apps,
                                       .last = last,
                                       .apps = apps,
                                       .channel = c,
                                       .most = LONGEST};
        if (last == apps)
            q.app = i - 1;
        t->left = (uint32_t)hd_ask_dram_turn(&d->turn, &q);
        if (t->left == 0)
            continue;
        t->number = (uint16_t)(q.app + 1);
        t->nobody = 0;
        (*hd_count(&d->stat, c, (uint32_t)q.app, ST_TURNS))++;
        return;
    }
}

/* Whether it is an application's turn. */
static bool has_turn(struct hd_dram *d, uint32_t c, uint32_t app)
{
    struct hd_dramturn *t = &d->lane[c].ch->turn;
    hd_time now = hd_events_now(d->env->ev);
    bool mine = t->number == app + 1u;

    if (t->nobody ? now - t->since >= d->idle
                  : t->left == 0 || (!mine && now - t->since >= d->idle))
        next_turn(d, c, now);
    return t->left != 0 && t->number == app + 1u;
}

void hd_dramclass_silver(struct hd_dram *d, uint32_t c)
{
    struct hd_dramturn *t = &d->lane[c].ch->turn;

    if (!in_force(d) || t->left == 0)
        return;
    t->left--;
    t->since = hd_events_now(d->env->ev);
}

/* ---- classes ---------------------------------------------------------- */

HD_HOT uint32_t hd_dramclass_may(struct hd_dram *d, uint32_t c,
                                 struct hd_req *r)
{
    struct heddle_q_dram_class q = {r->app, r->kind, r->level, c};

    if (r->flags & HD_REQ_CLASSED)
        return r->dram_class;
    if (HD_UNLIKELY(r->app == HD_APP_NONE))
        return NORMAL; /* foreign pages that move: nobody's to decide */
    r->flags |= HD_REQ_CLASSED;
    r->dram_class =
        (uint8_t)(HD_UNLIKELY(d->klass.bound)
                      ? hd_ask_dram_class(&d->klass, &q)
                      : d->steer
                            ->dram_class[r->app % HD_MAX_APPS][r->level % 8]);
    return r->dram_class;
}

uint32_t hd_dramclass_is(struct hd_dram *d, uint32_t c, const struct hd_req *r,
                         uint32_t k)
{
    const struct hd_dramchan *ch = d->lane[c].ch;

    if (k == GOLDEN && !d->cfg.queues && ch->klass[2] >= d->cfg.queue_golden)
        k = SILVER;
    if (k == SILVER && in_force(d) && !has_turn(d, c, r->app))
        return NORMAL;
    if (k == SILVER && !d->cfg.queues && ch->klass[1] >= d->cfg.queue_silver)
        return NORMAL;
    return k;
}

uint32_t hd_dramclass_places(const struct hd_dram *d, uint32_t c,
                             uint32_t klass)
{
    const struct hd_dramchan *ch = d->lane[c].ch;
    uint32_t most = klass == GOLDEN   ? d->cfg.queue_golden
                    : klass == SILVER ? d->cfg.queue_silver
                                      : d->cfg.queue;
    uint32_t used = klass == NORMAL ? ch->waiting - ch->klass[1] - ch->klass[2]
                                    : ch->klass[klass];

    return used < most ? most - used : 0;
}
