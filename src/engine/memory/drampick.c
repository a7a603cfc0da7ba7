/*
 * drampick.c - a policy chooses the next command of a channel: the point
 * dram_pick.
 *
 * Where a policy is bound to dram_pick it is asked in the first cycle in which
 * a candidate is legal, if there are two or more.  It may choose one that is
 * not legal yet: then nothing issues until it is, or until the candidates
 * change, and the policy is asked again.  What is offered is more than what the
 * engine itself chooses from: of each bank the oldest hit and the oldest other
 * request of its most urgent class, whether or not the scheduler would close
 * the row for the latter.
 *
 * SPDX-License-Identifier: MIT
 */
#include "drambus.h"

_Static_assert((int)HD_DRAM_WR == (int)HEDDLE_DRAM_ISSUE_WRITE, "in one order");

/* The arrays of a question: at most two candidates a bank. */
struct offer {
    uint64_t bank[2 * HD_DRAM_MAX_BANKS], row[2 * HD_DRAM_MAX_BANKS];
    uint64_t hit[2 * HD_DRAM_MAX_BANKS], ready[2 * HD_DRAM_MAX_BANKS];
    uint64_t arrived[2 * HD_DRAM_MAX_BANKS], app[2 * HD_DRAM_MAX_BANKS];
    uint64_t klass[2 * HD_DRAM_MAX_BANKS], write[2 * HD_DRAM_MAX_BANKS];
};

static void dram_offer_one(const struct hd_dram *d, const struct hd_dramlane *l,
                           struct offer *o, uint32_t i,
                           const struct hd_dramentry *e, bool hit)
{
    const struct hd_dramchan *ch = l->ch;
    const struct hd_drambank *k = &l->bank[e->bank];
    uint64_t t;

    if (hit) {
        t = hd_max_u64(k->act_at + d->t.rcd[e->write], ch->group_ok[k->group]);
        t = hd_max_u64(t, ch->col_ok[e->write]);
        if (!e->write && d->t.grouped)
            t = hd_max_u64(t, ch->read_ok[k->group]);
        t = hd_max_u64(t, ch->floor);
    } else {
        t = hd_max_u64(k->row_ok[k->open], hd_dram_rows_from(d, l));
        t = k->open ? t : hd_max_u64(t, ch->act_ok);
    }
    o->bank[i] = e->bank;
    o->row[i] = e->row;
    o->hit[i] = hit;
    o->ready[i] = t;
    o->arrived[i] = e->age;
    o->app[i] = d->reqs->v[e->req].app;
    o->klass[i] = e->klass;
    o->write[i] = e->write;
}

/* Lists the candidates; returns how many.  *first: when one is legal. */
static uint32_t dram_gather(const struct hd_dram *d,
                            const struct hd_dramlane *l, struct offer *o,
                            uint64_t *first)
{
    const struct hd_dramentry *v = l->entry;
    uint32_t n = 0;

    for (uint32_t b = 0; b < d->cfg.banks; b++) {
        const struct hd_drambank *k = &l->bank[b];
        uint32_t hit = hd_dram_hit(k), other = hd_dram_other(k);
        if (l->ch->ref_due && l->ch->ref_bank == b)
            continue;
        if (hit != NO_ENTRY && other != NO_ENTRY && v[hit].age < v[other].age)
            other = NO_ENTRY; /* the oldest is the hit */
        else if (other != NO_ENTRY && v[other].klass == GOLDEN)
            hit = NO_ENTRY; /* golden requests keep their order */
        if (hit != NO_ENTRY)
            dram_offer_one(d, l, o, n++, &v[hit], true);
        if (other != NO_ENTRY)
            dram_offer_one(d, l, o, n++, &v[other], false);
    }
    *first = HD_NEVER;
    for (uint32_t i = 0; i < n; i++)
        *first = hd_min_u64(*first, o->ready[i]);
    return n;
}

void hd_dram_plan_question(struct hd_dram *d, const struct hd_dramlane *l)
{
    struct offer o;
    uint64_t first;

    if (dram_gather(d, l, &o, &first) == 0)
        hd_dram_plan_command(l->ch, HD_NEVER, HD_DRAM_NONE, 0);
    else
        hd_dram_plan_command(l->ch, hd_max_u64(first, l->ch->hold), HD_DRAM_ASK,
                             0);
}

void hd_dram_ask(struct hd_dram *d, const struct hd_dramlane *l)
{
    struct hd_dramchan *ch = l->ch;
    struct offer o;
    uint64_t first;
    struct heddle_q_dram_pick q = {.n = dram_gather(d, l, &o, &first),
                                   .channel = l->c,
                                   .cycle = ch->plan_at,
                                   .bank = o.bank,
                                   .row = o.row,
                                   .hit = o.hit,
                                   .ready = o.ready,
                                   .arrived = o.arrived,
                                   .app = o.app,
                                   .klass = o.klass,
                                   .write = o.write};
    int64_t i = q.n > 1 ? hd_ask_dram_pick(&d->pick, &q) : 0;
    uint32_t b = (uint32_t)o.bank[i];

    if (o.ready[i] > ch->plan_at) {
        ch->hold = o.ready[i];
        ch->planned = 0;
    } else if (o.hit[i]) {
        hd_dram_plan_command(ch, ch->plan_at, HD_DRAM_RD + (uint32_t)o.write[i],
                             b);
    } else {
        hd_dram_plan_command(ch, ch->plan_at, HD_DRAM_ACT + l->bank[b].open, b);
    }
}

/* Engine's order among candidates of a question; smaller goes first.
 * HD_NEVER: not allowed now. */
static uint64_t dram_default_key(const struct hd_dram *d,
                                 const struct heddle_q_dram_pick *q, uint64_t i)
{
    uint64_t key = (GOLDEN - q->klass[i]) << 62 | q->arrived[i];

    if (q->hit[i] || d->cfg.scheduler == HD_DRAM_READY_FIRST)
        return key;
    if (i == 0 || q->bank[i - 1] != q->bank[i])
        return key | 1ull << 61; /* no request hits the row */
    if (d->cfg.scheduler == HD_DRAM_CAPPED &&
        d->lane[q->channel].bank[q->bank[i]].served >= d->cfg.cap)
        return key;
    return HD_NEVER;
}

int64_t hd_dram_pick_default(void *dram, const void *question)
{
    const struct heddle_q_dram_pick *q = question;
    uint64_t at = HD_NEVER, key = HD_NEVER;
    int64_t best = 0;

    for (uint64_t i = 0; i < q->n; i++) {
        uint64_t t = hd_max_u64(q->ready[i], q->cycle);
        uint64_t k = dram_default_key(dram, q, i);
        if (k != HD_NEVER && (t < at || (t == at && k < key))) {
            at = t;
            key = k;
            best = (int64_t)i;
        }
    }
    return best;
}
