/*
 * dramask.c - asking a policy which command a channel issues next.
 *
 * Where a policy is bound to dram_pick it is asked in the first cycle in which
 * a candidate is legal, if there are two or more.  It may choose one that is
 * not legal yet: then nothing issues until it is, or until the candidates
 * change, and the policy is asked again.  hd_dramask_default answers the
 * question as the engine decides.
 *
 * What is offered is more than what the engine itself chooses from: of each
 * bank the oldest hit and the oldest other request of its most urgent class,
 * whether or not the scheduler would close the row for the latter.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramchan.h"

/* The arrays of a question: at most two candidates a bank. */
struct offer {
    uint64_t bank[2 * HD_DRAM_MAX_BANKS], row[2 * HD_DRAM_MAX_BANKS];
    uint64_t hit[2 * HD_DRAM_MAX_BANKS], ready[2 * HD_DRAM_MAX_BANKS];
    uint64_t arrived[2 * HD_DRAM_MAX_BANKS], app[2 * HD_DRAM_MAX_BANKS];
    uint64_t klass[2 * HD_DRAM_MAX_BANKS], write[2 * HD_DRAM_MAX_BANKS];
};

static void offer_one(const struct hd_dram *d, uint32_t c, struct offer *o,
                      uint32_t i, const struct hd_dramentry *e, bool hit)
{
    const struct hd_dramchan *ch = d->lane[c].ch;
    const struct hd_drambank *k = hd_drambank_at(d, c, e->bank);
    uint64_t t;

    if (hit) {
        t = hd_max_u64(k->act_at + d->t.rcd[e->write], ch->group_ok[k->group]);
        t = hd_max_u64(t, ch->col_ok[e->write]);
    } else {
        t = k->row_ok[k->open];
        t = k->open ? t : hd_max_u64(t, ch->act_ok);
    }
    o->bank[i] = e->bank;
    o->row[i] = e->row;
    o->hit[i] = hit;
    o->ready[i] = hd_max_u64(t, ch->floor);
    o->arrived[i] = hd_dramentry_age(ch, e);
    o->app[i] = d->reqs->v[e->req].app;
    o->klass[i] = e->klass;
    o->write[i] = e->write;
}

/* Lists the candidates; returns how many.  *first: when one is legal. */
static uint32_t gather(const struct hd_dram *d, uint32_t c, struct offer *o,
                       uint64_t *first)
{
    const struct hd_dramentry *v = hd_dramentry_of(d, c);
    uint32_t n = 0;

    for (uint32_t b = 0; b < d->cfg.banks; b++) {
        const struct hd_drambank *k = hd_drambank_at(d, c, b);
        uint32_t hit, other;
        if (k->classes == 0)
            continue;
        hit = hd_dramqueue_column(k);
        other = hd_dramqueue_row(k);
        if (hit != NO_ENTRY && other != NO_ENTRY &&
            hd_dramentry_older(&v[hit], &v[other]))
            other = NO_ENTRY; /* the oldest is the hit */
        else if (other != NO_ENTRY && v[other].klass == 2)
            hit = NO_ENTRY; /* golden requests keep their order */
        if (hit != NO_ENTRY)
            offer_one(d, c, o, n++, &v[hit], true);
        if (other != NO_ENTRY)
            offer_one(d, c, o, n++, &v[other], false);
    }
    *first = HD_NEVER;
    for (uint32_t i = 0; i < n; i++)
        *first = hd_min_u64(*first, o->ready[i]);
    return n;
}

void hd_dramask_plan(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    struct offer o;
    uint64_t first;

    if (gather(d, c, &o, &first) == 0)
        hd_dramchan_plan(ch, HD_NEVER, HD_DRAM_NONE, 0);
    else
        hd_dramchan_plan(ch, hd_max_u64(first, ch->hold), HD_DRAM_ASK, 0);
}

void hd_dramask(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    struct heddle_q_dram_pick q;
    struct offer o;
    uint64_t first;
    int64_t i = 0;

    q.n = gather(d, c, &o, &first);
    if (q.n > 1) {
        q.channel = c;
        q.cycle = ch->plan_at;
        q.bank = o.bank;
        q.row = o.row;
        q.hit = o.hit;
        q.ready = o.ready;
        q.arrived = o.arrived;
        q.app = o.app;
        q.klass = o.klass;
        q.write = o.write;
        i = hd_ask_dram_pick(&d->pick, &q);
    }
    if (o.ready[i] > ch->plan_at) {
        ch->hold = o.ready[i];
        ch->planned = 0;
    } else if (o.hit[i]) {
        hd_dramchan_plan(ch, ch->plan_at, o.write[i] ? HD_DRAM_WR : HD_DRAM_RD,
                         (uint32_t)o.bank[i]);
    } else {
        uint32_t b = (uint32_t)o.bank[i];
        hd_dramchan_plan(
            ch, ch->plan_at,
            hd_drambank_at(d, c, b)->open ? HD_DRAM_PRE : HD_DRAM_ACT, b);
    }
}

/* Engine's order among candidates of a question; smaller goes first.
 * HD_NEVER: not allowed now. */
static uint64_t default_key(const struct hd_dram *d,
                            const struct heddle_q_dram_pick *q, uint64_t i)
{
    uint64_t key = (2 - q->klass[i]) << 62 | q->arrived[i];
    const struct hd_drambank *k =
        hd_drambank_at(d, (uint32_t)q->channel, (uint32_t)q->bank[i]);

    if (q->hit[i] || d->cfg.scheduler == HD_DRAM_READY_FIRST)
        return key;
    if (i == 0 || q->bank[i - 1] != q->bank[i])
        return key | 1ull << 61; /* no request hits the row */
    if (d->cfg.scheduler == HD_DRAM_CAPPED && k->served >= d->cfg.cap)
        return key;
    return HD_NEVER;
}

int64_t hd_dramask_default(void *self, const void *question)
{
    const struct heddle_q_dram_pick *q = question;
    uint64_t at = HD_NEVER, key = HD_NEVER;
    int64_t best = 0;

    for (uint64_t i = 0; i < q->n; i++) {
        uint64_t t = hd_max_u64(q->ready[i], q->cycle);
        uint64_t k = default_key(self, q, i);
        if (k != HD_NEVER && (t < at || (t == at && k < key))) {
            at = t;
            key = k;
            best = (int64_t)i;
        }
    }
    return best;
}
