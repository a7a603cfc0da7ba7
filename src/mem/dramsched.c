/*
 * dramsched.c - which command a channel issues next, and in which cycle.
 *
 * A channel issues at most one command a cycle.  In the first cycle in which
 * any candidate (dramqueue.c) is legal, the legal one with the smallest key
 * issues.  The plan is that command; it holds until something arrives or a
 * command issues.  Nothing is done for the cycles in between.
 *
 * Commands are decided late: a request that arrives in cycle a takes part from
 * a + 1 on, so all commands up to a are certain at that moment, and nobody
 * outside needs to know a command before its data have passed.  The channel's
 * events (dram.c) therefore come only as often as answers are due, and one
 * event decides a batch of commands.  When commands are decided has no
 * influence on which they are.
 *
 * A due refresh stops everything else: all open rows are closed by one
 * command as soon as each may be, then all banks are refreshed.
 *
 * Reads and writes wait in one queue and are chosen by the same rule, as in
 * the papers' simulator: a write waits for a gap of tRTW without a legal read,
 * then writes go on while one is legal.
 *
 * Where a policy is bound to dram_pick it is asked in the first cycle in which
 * a candidate is legal, if there are two or more.  It may choose one that is
 * not legal yet: then nothing issues until it is, or until the candidates
 * change, and the policy is asked again.  hd_dramsched_default answers the
 * question as the engine decides.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../base/bits.h"
#include "dramcheck.h"
#include "dramtime.h"

/* ---- comparing candidates ------------------------------------------------ */

/* A candidate as one number: see KEY_BITS. */
static inline uint64_t number_of(uint64_t at, uint64_t floor, uint64_t key)
{
    hd_assert(at - floor < 1u << 16);
    return (at - floor) << KEY_BITS | key;
}

static inline uint64_t row_at(const struct hd_dramchan *ch, uint32_t b)
{
    const uint64_t base[2] = {ch->floor, hd_max_u64(ch->act_ok, ch->floor)};

    return hd_max_u64(ch->row_ready[b], base[ch->act_mask >> b & 1]);
}

/*
 * The first column command of a direction as one number, or HD_NEVER.  The
 * candidates are in the order of their keys, so the first that is legal as
 * soon as the buses are is the one; mostly it is among the first two.
 */
static inline uint64_t best_column(const struct hd_dramchan *ch, uint32_t w)
{
    uint64_t floor = ch->floor, base = hd_max_u64(ch->col_ok[w], floor);
    uint64_t best = HD_NEVER;

    for (uint32_t i = 0; i < ch->col_n[w]; i++) {
        uint32_t b = ch->col_order[w][i];
        uint64_t at = ch->col_ready[b], n;
        if (at <= base)
            return number_of(base, floor, ch->col_key[b]);
        n = number_of(at, floor, ch->col_key[b]);
        best = n < best ? n : best;
    }
    return best;
}

/*
 * The first row command.  Found anew only when a candidate has changed, or
 * when time reaches another one, which may have a smaller key (best_until).
 */
static void best_row(struct hd_dramchan *ch)
{
    uint64_t best = HD_NEVER, second = HD_NEVER, floor = ch->floor;

    for (uint64_t m = ch->row_mask; m != 0; m &= m - 1) {
        uint32_t b = hd_bit_first(m);
        uint64_t n = number_of(row_at(ch, b), floor, ch->row_key[b]);
        second = hd_min_u64(second, hd_max_u64(best, n));
        best = hd_min_u64(best, n);
    }
    ch->best_bank = best & 63;
    ch->best_key = best & hd_ones(KEY_BITS);
    ch->best_at = floor + (best >> KEY_BITS);
    /* Of those that are as soon as the best, nothing is known of what
     * follows: look again in the next cycle. */
    ch->best_until = hd_max_u64(floor + (second >> KEY_BITS), ch->best_at + 1);
    ch->best_valid = 1;
}

/* ---- the plan ---------------------------------------------------------- */

static void plan(struct hd_dramchan *ch, uint64_t at, uint32_t kind, uint32_t b)
{
    ch->plan_at = at;
    ch->plan_kind = kind;
    ch->plan_bank = b;
}

static void plan_refresh(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = &d->chan[c];
    uint64_t at = hd_max_u64(ch->floor, ch->ref_at);

    if (ch->open != 0) {
        for (uint64_t m = ch->open; m != 0; m &= m - 1)
            at = hd_max_u64(at, hd_drambank_at(d, c, hd_bit_first(m))->pre_ok);
        plan(ch, at, HD_DRAM_PREA, 0);
        return;
    }
    for (uint32_t b = 0; b < d->cfg.banks; b++)
        at = hd_max_u64(at, hd_drambank_at(d, c, b)->act_ok);
    plan(ch, at, HD_DRAM_REF, 0);
}

static void plan_row(struct hd_dramchan *ch, uint32_t b, uint64_t at)
{
    plan(ch, at, ch->act_mask >> b & 1 ? HD_DRAM_ACT : HD_DRAM_PRE, b);
}

/* The engine's own choice. */
static inline void plan_best(struct hd_dramchan *ch)
{
    uint64_t best = best_column(ch, 0), floor = ch->floor;

    if (ch->col_n[1] != 0)
        best = hd_min_u64(best, best_column(ch, 1));
    if (ch->row_mask != 0) {
        uint64_t n;
        if (!ch->best_valid || floor >= ch->best_until)
            best_row(ch);
        n = number_of(hd_max_u64(ch->best_at, floor), floor, ch->best_key);
        if (n < best) {
            plan_row(ch, ch->best_bank, hd_max_u64(ch->best_at, floor));
            return;
        }
    }
    if (best == HD_NEVER) {
        plan(ch, HD_NEVER, HD_DRAM_NONE, 0);
    } else {
        uint32_t b = best & 63;
        plan(ch, floor + (best >> KEY_BITS),
             ch->col_mask[1] >> b & 1 ? HD_DRAM_WR : HD_DRAM_RD, b);
    }
}

/* ---- asking a policy ---------------------------------------------------- */

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
    const struct hd_dramchan *ch = &d->chan[c];
    const struct hd_drambank *k = hd_drambank_at(d, c, e->bank);
    uint64_t t;

    if (hit) {
        t = hd_max_u64(e->write ? k->wr_ok : k->rd_ok,
                       ch->group_ok[d->group_of[e->bank]]);
        t = hd_max_u64(t, ch->col_ok[e->write]);
    } else {
        t = k->open ? k->pre_ok : hd_max_u64(k->act_ok, ch->act_ok);
    }
    o->bank[i] = e->bank;
    o->row[i] = e->row;
    o->hit[i] = hit;
    o->ready[i] = hd_max_u64(t, ch->floor);
    o->arrived[i] = e->age;
    o->app[i] = e->app;
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
        if (hit != NO_ENTRY && other != NO_ENTRY && v[hit].age < v[other].age)
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

static void plan_asked(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = &d->chan[c];
    struct offer o;
    uint64_t first;

    if (gather(d, c, &o, &first) == 0)
        plan(ch, HD_NEVER, HD_DRAM_NONE, 0);
    else
        plan(ch, hd_max_u64(first, ch->hold), HD_DRAM_ASK, 0);
}

/* The planned question's cycle has come: its answer is the new plan. */
static void ask(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = &d->chan[c];
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
        plan(ch, ch->plan_at, o.write[i] ? HD_DRAM_WR : HD_DRAM_RD,
             (uint32_t)o.bank[i]);
    } else {
        plan_row(ch, (uint32_t)o.bank[i], ch->plan_at);
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

int64_t hd_dramsched_default(void *self, const void *question)
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

/* ---- issuing ------------------------------------------------------------ */

static void tell(struct hd_dram *d, uint32_t c, uint32_t e, uint32_t close)
{
    const struct hd_dramchan *ch = &d->chan[c];
    struct hd_dramcmd cmd = {.cycle = ch->plan_at,
                             .channel = c,
                             .bank = ch->plan_bank,
                             .kind = ch->plan_kind,
                             .req = HD_NONE,
                             .close = close};

    if (e != NO_ENTRY) {
        const struct hd_dramentry *v = &hd_dramentry_of(d, c)[e];
        cmd.row = v->row;
        cmd.req = v->req;
        cmd.column = (uint32_t)v->column + v->bursts - v->left;
        if (cmd.kind == HD_DRAM_RD)
            cmd.data = cmd.cycle + d->cfg.cl;
        else if (cmd.kind == HD_DRAM_WR)
            cmd.data = cmd.cycle + d->cfg.wl;
    }
    if (d->check != NULL)
        hd_dramcheck_command(d->check, &cmd, d->env->err);
    if (d->watch != NULL)
        d->watch(d->watch_self, &cmd);
}

static inline bool watched(const struct hd_dram *d)
{
    return HD_UNLIKELY(d->watch != NULL || d->check != NULL);
}

static void issue_activate(struct hd_dram *d, uint32_t c, uint32_t b)
{
    struct hd_dramchan *ch = &d->chan[c];
    struct hd_drambank *k = hd_drambank_at(d, c, b);
    uint32_t e = hd_dramqueue_row(k);
    struct hd_dramentry *v = &hd_dramentry_of(d, c)[e];

    if (watched(d))
        tell(d, c, e, 0);
    v->opened = 1;
    hd_dramtime_activate(&d->cfg, ch, k, ch->plan_at);
    (*hd_count(&d->stat, c, v->app, ST_ACTIVATES))++;
    ch->open |= 1ull << b;
    ch->best_valid = 0;
    k->open = 1;
    k->row = v->row;
    k->served = 0;
    hd_dramqueue_opened(d, c, b);
    hd_dramqueue_refresh(d, c, b);
}

/* Closes an open row; the precharge is at `cycle`. */
static void close_row(struct hd_dram *d, uint32_t c, uint32_t b, uint64_t cycle)
{
    struct hd_drambank *k = hd_drambank_at(d, c, b);

    hd_dramtime_precharge(&d->cfg, k, cycle);
    d->chan[c].open &= ~(1ull << b);
    k->open = 0;
    hd_dramqueue_closed(d, c, b);
}

static void issue_precharge(struct hd_dram *d, uint32_t c, uint32_t b)
{
    uint32_t e = hd_dramqueue_row(hd_drambank_at(d, c, b));
    uint32_t app = hd_dramentry_of(d, c)[e].app;

    if (watched(d))
        tell(d, c, e, 0);
    (*hd_count(&d->stat, c, app, ST_PRECHARGES))++;
    close_row(d, c, b, d->chan[c].plan_at);
    hd_dramqueue_shut(d, c, b);
}

/* Closed page: whether no other request hits the row of a bank. */
static bool only_hit(const struct hd_drambank *k)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < CLASSES; i++)
        if (k->hits[i].head != NO_ENTRY)
            n += 1 + (k->hits[i].head != k->hits[i].tail);
    return n == 1;
}

/* The last burst of a request has been sent. */
static void end_request(struct hd_dram *d, uint32_t c, uint32_t b, uint32_t e,
                        bool close)
{
    struct hd_dramchan *ch = &d->chan[c];
    struct hd_drambank *k = hd_drambank_at(d, c, b);

    k->served++;
    hd_dramqueue_served(d, c, e);
    hd_dram_ended(d, c, e, ch->plan_at);
    if (close) {
        uint32_t app = hd_dramentry_of(d, c)[e].app;
        (*hd_count(&d->stat, c, app, ST_PRECHARGES))++;
        close_row(d, c, b, k->pre_ok);
    }
    hd_dramqueue_refresh(d, c, b);
}

/* Candidates of the bank's group wait for tCCD_L. */
static inline void hold_group(const struct hd_dram *d, struct hd_dramchan *ch,
                              uint32_t b)
{
    uint32_t in_group = d->map.banks_in_group;
    uint32_t first = d->group_of[b] * in_group;
    uint64_t at = ch->group_ok[d->group_of[b]];

    for (uint32_t i = first; i < first + in_group; i++)
        hd_dramtime_raise(&ch->col_ready[i], at);
}

static inline void issue_column(struct hd_dram *d, uint32_t c, uint32_t b)
{
    struct hd_dramchan *ch = &d->chan[c];
    struct hd_drambank *k = hd_drambank_at(d, c, b);
    uint32_t e = ch->col_entry[b];
    struct hd_dramentry *v = &hd_dramentry_of(d, c)[e];
    bool close = d->cfg.page == 1 && v->left == 1 && only_hit(k);

    if (watched(d))
        tell(d, c, e, close);
    hd_dramtime_column(&d->t, ch, k, d->group_of[b],
                       ch->plan_kind == HD_DRAM_WR, ch->plan_at);
    hold_group(d, ch, b);
    if (--v->left == 0) {
        end_request(d, c, b, e, close);
        return;
    }
    if (ch->row_mask >> b & 1) {
        ch->row_ready[b] = k->pre_ok;
        ch->best_valid = 0;
    }
}

/* Closes all rows, or refreshes all banks. */
static void issue_refresh(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = &d->chan[c];
    uint64_t *count = hd_count_row(&d->stat, c, HD_APP_NONE);
    uint64_t open = ch->open;

    if (watched(d))
        tell(d, c, NO_ENTRY, 0);
    if (ch->plan_kind == HD_DRAM_PREA) {
        count[ST_PRECHARGES] += hd_bit_count(open);
        for (uint64_t m = open; m != 0; m &= m - 1)
            close_row(d, c, hd_bit_first(m), ch->plan_at);
    } else {
        count[ST_REFRESHES]++;
        ch->ref_at += d->cfg.trefi;
        for (uint32_t b = 0; b < d->cfg.banks; b++)
            hd_drambank_at(d, c, b)->act_ok = ch->plan_at + d->cfg.trfc;
    }
    for (uint32_t b = 0; b < d->cfg.banks; b++)
        hd_dramqueue_refresh(d, c, b);
}

static void issue(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = &d->chan[c];

    switch (ch->plan_kind) {
    case HD_DRAM_RD:
    case HD_DRAM_WR:
        issue_column(d, c, ch->plan_bank);
        break;
    case HD_DRAM_ACT:
        issue_activate(d, c, ch->plan_bank);
        break;
    case HD_DRAM_PRE:
        issue_precharge(d, c, ch->plan_bank);
        break;
    case HD_DRAM_PREA:
    case HD_DRAM_REF:
        issue_refresh(d, c);
        break;
    default: /* HD_DRAM_ASK: this is no command yet */
        ask(d, c);
        return;
    }
    ch->floor = ch->plan_at + 1;
    ch->planned = 0;
    ch->hold = 0;
}

static inline void make_plan(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = &d->chan[c];

    if (ch->planned)
        return;
    ch->planned = 1;
    if (HD_UNLIKELY(d->pick.bound))
        plan_asked(d, c);
    else
        plan_best(ch);
    if (HD_UNLIKELY(d->cfg.refresh) && ch->plan_at >= ch->ref_at)
        plan_refresh(d, c);
}

void hd_dramsched_plan(struct hd_dram *d, uint32_t c)
{
    make_plan(d, c);
}

/* An idle channel with closed rows: all refreshes but the last at once. */
static void skip_refreshes(struct hd_dram *d, uint32_t c, uint64_t cycle)
{
    struct hd_dramchan *ch = &d->chan[c];
    uint64_t n;

    if (ch->waiting != 0 || ch->open != 0 || watched(d) ||
        cycle < ch->ref_at + 2ull * d->cfg.trefi)
        return;
    n = (cycle - ch->ref_at) / d->cfg.trefi;
    hd_count_row(&d->stat, c, HD_APP_NONE)[ST_REFRESHES] += n;
    ch->ref_at += n * d->cfg.trefi;
    ch->planned = 0;
}

void hd_dramsched_advance(struct hd_dram *d, uint32_t c, uint64_t cycle)
{
    struct hd_dramchan *ch = &d->chan[c];

    for (;;) {
        if (HD_UNLIKELY(d->cfg.refresh))
            skip_refreshes(d, c, cycle);
        make_plan(d, c);
        if (ch->plan_at > cycle) /* HD_NEVER: there is none */
            break;
        issue(d, c);
    }
    ch->floor = hd_max_u64(ch->floor, cycle + 1);
}

uint64_t hd_dramsched_free_at(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = &d->chan[c];
    const struct hd_dramentry *v = hd_dramentry_of(d, c);
    uint32_t same = d->t.same > d->t.other ? d->t.same : d->t.other;
    uint32_t rcd = d->cfg.trcdrd;
    uint64_t at = HD_NEVER;

    if (rcd > d->cfg.trcdwr)
        rcd = d->cfg.trcdwr;
    hd_dramsched_plan(d, c);
    if (ch->plan_kind >= HD_DRAM_PREA)
        return hd_max_u64(ch->plan_at, ch->floor);
    for (uint32_t w = 0; w < 2; w++) {
        uint64_t base = hd_max_u64(ch->col_ok[w], ch->floor);
        for (uint64_t m = ch->col_mask[w]; m != 0; m &= m - 1) {
            uint32_t b = hd_bit_first(m);
            uint32_t e = hd_dramqueue_column(hd_drambank_at(d, c, b));
            at = hd_min_u64(at, hd_max_u64(ch->col_ready[b], base) +
                                    (uint64_t)(v[e].left - 1) * same);
        }
    }
    if (ch->row_mask != 0)
        at = hd_min_u64(at, ch->plan_at + rcd);
    return at;
}
