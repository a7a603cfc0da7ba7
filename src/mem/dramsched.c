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
 * There are two ways through a batch.  The short one is for the plain case:
 * open pages, no refresh, no policy and nobody who watches; it keeps the plan
 * in registers and sends the bursts of a request one after the other for as
 * long as nothing else can come first.  The general one goes command by
 * command.  Both use the same choice and the same effects of a command.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../base/bits.h"
#include "dramcheck.h"
#include "dramoffer.h"
#include "dramtime.h"

/* ---- comparing candidates ------------------------------------------------ */

/* A candidate as one number: see KEY_BITS. */
static inline uint64_t number_of(uint64_t at, uint64_t floor, uint64_t key)
{
    hd_assert(at - floor < 1u << 16);
    return (at - floor) << KEY_BITS | key;
}

/*
 * The first column command of a direction as one number, or HD_NEVER.  The
 * candidates are in the order of their keys, so the first that is legal as
 * soon as the buses are is the one; mostly it is among the first two.
 */
static inline uint64_t best_column(const struct hd_dram *d,
                                   const struct hd_dramchan *ch, uint32_t w,
                                   uint64_t floor)
{
    uint64_t base = hd_max_u64(ch->col_ok[w], floor), best = HD_NEVER;

    for (uint32_t i = 0; i < ch->col_n[w]; i++) {
        uint32_t b = ch->col_order[w][i];
        uint64_t at =
            hd_max_u64(ch->col_ready[b], ch->group_ok[d->group_of[b]]);
        if (at <= base)
            return number_of(base, floor, ch->col_key[b]);
        best = hd_min_u64(best, number_of(at, floor, ch->col_key[b]));
    }
    return best;
}

/*
 * The first row command.  Found anew only when a candidate has changed, or
 * when time reaches another one, which may have a smaller key (best_until).
 */
static void best_row(struct hd_dramchan *ch, uint64_t floor)
{
    const uint64_t base[2] = {floor, hd_max_u64(ch->act_ok, floor)};
    uint64_t best = HD_NEVER, second = HD_NEVER, act = ch->act_mask;

    for (uint64_t m = ch->row_mask; m != 0; m &= m - 1) {
        uint32_t b = hd_bit_first(m);
        uint64_t at = hd_max_u64(ch->row_ready[b], base[act >> b & 1]);
        uint64_t n = number_of(at, floor, ch->row_key[b]);
        second = hd_min_u64(second, hd_max_u64(best, n));
        best = hd_min_u64(best, n);
    }
    ch->best_key = best & hd_ones(KEY_BITS);
    ch->best_at = floor + (best >> KEY_BITS);
    /* Of those that are as soon as the best, nothing is known of what
     * follows: look again in the next cycle. */
    ch->best_until = hd_max_u64(floor + (second >> KEY_BITS), ch->best_at + 1);
    ch->best_valid = 1;
}

/* ---- the plan ---------------------------------------------------------- */

struct plan {
    uint64_t at;
    uint32_t kind, bank;
};

/* The engine's own choice among what may issue from `floor` on. */
static inline struct plan choose(const struct hd_dram *d,
                                 struct hd_dramchan *ch, uint64_t floor)
{
    uint64_t best = HD_NEVER, n;
    struct plan p = {HD_NEVER, HD_DRAM_NONE, 0};

    if (ch->col_n[0] != 0) {
        p.kind = HD_DRAM_RD;
        best = best_column(d, ch, 0, floor);
    }
    if (ch->col_n[1] != 0) {
        n = best_column(d, ch, 1, floor);
        if (n < best) {
            p.kind = HD_DRAM_WR;
            best = n;
        }
    }
    if (ch->row_mask != 0) {
        if (!ch->best_valid || floor >= ch->best_until)
            best_row(ch, floor);
        n = number_of(hd_max_u64(ch->best_at, floor), floor, ch->best_key);
        if (n < best) {
            best = n;
            p.kind = ch->act_mask >> (n & 63) & 1 ? HD_DRAM_ACT : HD_DRAM_PRE;
        }
    }
    if (best != HD_NEVER) {
        p.at = floor + (best >> KEY_BITS);
        p.bank = best & 63;
    }
    return p;
}

static void plan_refresh(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    uint64_t at = hd_max_u64(ch->floor, ch->ref_at);

    if (ch->open != 0) {
        for (uint64_t m = ch->open; m != 0; m &= m - 1)
            at = hd_max_u64(at, hd_drambank_at(d, c, hd_bit_first(m))->pre_ok);
        hd_dramchan_plan(ch, at, HD_DRAM_PREA, 0);
        return;
    }
    for (uint32_t b = 0; b < d->cfg.banks; b++)
        at = hd_max_u64(at, hd_drambank_at(d, c, b)->act_ok);
    hd_dramchan_plan(ch, at, HD_DRAM_REF, 0);
}

void hd_dramsched_plan(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = d->lane[c].ch;

    if (ch->planned)
        return;
    ch->planned = 1;
    if (HD_UNLIKELY(d->pick.bound)) {
        hd_dramask_plan(d, c);
    } else {
        struct plan p = choose(d, ch, ch->floor);
        hd_dramchan_plan(ch, p.at, p.kind, p.bank);
    }
    if (HD_UNLIKELY(d->cfg.refresh) && ch->plan_at >= ch->ref_at)
        plan_refresh(d, c);
}

/* ---- issuing ------------------------------------------------------------ */

static void tell(struct hd_dram *d, uint32_t c, uint32_t e, uint32_t close)
{
    const struct hd_dramchan *ch = d->lane[c].ch;
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

static inline void issue_activate(struct hd_dram *d, uint32_t c, uint32_t b,
                                  uint64_t at)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    struct hd_drambank *k = hd_drambank_at(d, c, b);
    struct hd_dramentry *v = &hd_dramentry_of(d, c)[ch->row_entry[b]];

    v->opened = 1;
    hd_dramtime_activate(&d->cfg, ch, k, at);
    d->stat.v[v->counts + ST_ACTIVATES]++;
    ch->open |= 1ull << b;
    k->open = 1;
    k->row = v->row;
    k->served = 0;
    hd_dramqueue_opened(d, c, b);
}

/* Closes an open row; the precharge is at `cycle`. */
static inline void close_row(struct hd_dram *d, uint32_t c, uint32_t b,
                             uint64_t cycle)
{
    struct hd_drambank *k = hd_drambank_at(d, c, b);

    hd_dramtime_precharge(&d->cfg, k, cycle);
    d->lane[c].ch->open &= ~(1ull << b);
    k->open = 0;
    if ((k->hits[0].head & k->hits[1].head & k->hits[2].head) != NO_ENTRY)
        hd_dramqueue_closed(d, c, b);
}

/* For request e, which waits for another row. */
static inline void issue_precharge(struct hd_dram *d, uint32_t c, uint32_t b,
                                   uint32_t e, uint64_t at)
{
    struct hd_dramchan *ch = d->lane[c].ch;

    d->stat.v[hd_dramentry_of(d, c)[e].counts + ST_PRECHARGES]++;
    close_row(d, c, b, at);
    if (ch->col_way[b] != 0) {
        hd_dramqueue_refresh(d, c, b); /* its requests hit no more */
        return;
    }
    /* The same request, which now wants its row opened. */
    ch->act_mask |= 1ull << b;
    ch->row_ready[b] = hd_drambank_at(d, c, b)->act_ok;
    ch->best_valid = 0;
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

/*
 * Columns of the bank's candidate: one at `at`, and the next ones of the same
 * request up to and including `until`.  Returns the cycle of the last.
 */
static inline uint64_t issue_columns(struct hd_dram *d, uint32_t c, uint32_t b,
                                     uint32_t write, uint64_t at,
                                     uint64_t until)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    struct hd_drambank *k = hd_drambank_at(d, c, b);
    uint32_t e = ch->col_entry[b], left;
    struct hd_dramentry *v = &hd_dramentry_of(d, c)[e];

    for (left = v->left - 1u; left > 0 && at + d->t.again <= until; left--)
        at += d->t.again;
    v->left = (uint16_t)left;
    hd_dramtime_column(&d->t, ch, k, d->group_of[b], write, at);
    if (left == 0) {
        k->served++;
        hd_dramqueue_served(d, c, e);
        hd_dram_ended(d, c, e, at);
    } else if (HD_UNLIKELY(ch->row_mask >> b & 1)) {
        ch->row_ready[b] = k->pre_ok;
        ch->best_valid = 0;
    }
    return at;
}

/* Closes all rows, or refreshes all banks. */
static void issue_refresh(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    uint64_t *count = hd_count_row(&d->stat, c, HD_APP_NONE);
    uint64_t open = ch->open;

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

/* One planned column, with the precharge that a closed page makes of it. */
static void issue_column(struct hd_dram *d, uint32_t c, uint32_t b)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    struct hd_drambank *k = hd_drambank_at(d, c, b);
    uint32_t e = ch->col_entry[b];
    const struct hd_dramentry *v = &hd_dramentry_of(d, c)[e];
    bool close = d->cfg.page == 1 && v->left == 1 && only_hit(k);

    if (watched(d))
        tell(d, c, e, close);
    issue_columns(d, c, b, v->write, ch->plan_at, ch->plan_at);
    if (close) {
        d->stat.v[v->counts + ST_PRECHARGES]++;
        close_row(d, c, b, k->pre_ok);
        hd_dramqueue_refresh(d, c, b);
    }
}

/* Issues the planned command. */
static void issue(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    uint32_t b = ch->plan_bank, e;

    switch (ch->plan_kind) {
    case HD_DRAM_RD:
    case HD_DRAM_WR:
        issue_column(d, c, b);
        break;
    case HD_DRAM_ACT:
    case HD_DRAM_PRE:
        e = hd_dramqueue_row(hd_drambank_at(d, c, b));
        if (watched(d))
            tell(d, c, e, 0);
        if (ch->plan_kind == HD_DRAM_ACT)
            issue_activate(d, c, b, ch->plan_at);
        else
            issue_precharge(d, c, b, e, ch->plan_at);
        break;
    case HD_DRAM_PREA:
    case HD_DRAM_REF:
        if (watched(d))
            tell(d, c, NO_ENTRY, 0);
        issue_refresh(d, c);
        break;
    default: /* HD_DRAM_ASK: this is no command yet */
        hd_dramask(d, c);
        return;
    }
    ch->floor = ch->plan_at + 1;
    ch->planned = 0;
    ch->hold = 0;
}

/* An idle channel with closed rows: all refreshes but the last at once. */
static void skip_refreshes(struct hd_dram *d, uint32_t c, uint64_t cycle)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    uint64_t n;

    if (ch->waiting != 0 || ch->open != 0 || watched(d) ||
        cycle < ch->ref_at + 2ull * d->cfg.trefi)
        return;
    n = (cycle - ch->ref_at) / d->cfg.trefi;
    hd_count_row(&d->stat, c, HD_APP_NONE)[ST_REFRESHES] += n;
    ch->ref_at += n * d->cfg.trefi;
    ch->planned = 0;
}

/* The general way through a batch. */
static void advance(struct hd_dram *d, uint32_t c, uint64_t cycle)
{
    struct hd_dramchan *ch = d->lane[c].ch;

    for (;;) {
        if (d->cfg.refresh)
            skip_refreshes(d, c, cycle);
        hd_dramsched_plan(d, c);
        if (ch->plan_at > cycle) /* HD_NEVER: there is none */
            break;
        issue(d, c);
    }
}

/*
 * Until when the bursts of the only column candidate may follow one another:
 * no row command is legal before.
 */
static inline uint64_t alone_until(const struct hd_dramchan *ch, uint64_t at,
                                   uint64_t cycle)
{
    if (ch->col_n[0] + ch->col_n[1] != 1)
        return at;
    if (ch->row_mask == 0)
        return cycle;
    return hd_min_u64(cycle, hd_max_u64(ch->best_at, at + 1) - 1);
}

/* The short way, for the plain case. */
static void advance_plain(struct hd_dram *d, uint32_t c, uint64_t cycle)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    struct plan p = {ch->plan_at, ch->plan_kind, ch->plan_bank};
    bool planned = ch->planned && ch->plan_kind < HD_DRAM_PREA;
    uint64_t floor = ch->floor;

    for (;; planned = false) {
        if (!planned)
            p = choose(d, ch, floor);
        if (p.at > cycle)
            break;
        if (p.kind >= HD_DRAM_RD)
            p.at = issue_columns(d, c, p.bank, p.kind - HD_DRAM_RD, p.at,
                                 alone_until(ch, p.at, cycle));
        else if (p.kind == HD_DRAM_ACT)
            issue_activate(d, c, p.bank, p.at);
        else
            issue_precharge(d, c, p.bank, ch->row_entry[p.bank], p.at);
        floor = p.at + 1;
    }
    hd_dramchan_plan(ch, p.at, p.kind, p.bank);
    ch->planned = 1;
    ch->floor = floor;
}

void hd_dramsched_advance(struct hd_dram *d, uint32_t c, uint64_t cycle)
{
    struct hd_dramchan *ch = d->lane[c].ch;

    if (!ch->planned || ch->plan_at <= cycle) {
        if (d->special || d->pick.bound || watched(d))
            advance(d, c, cycle);
        else
            advance_plain(d, c, cycle);
    }
    ch->floor = hd_max_u64(ch->floor, cycle + 1);
}

void hd_dramsched_settle(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = d->lane[c].ch;

    ch->best_valid = 0;
    ch->best_at = ch->best_key = ch->best_until = 0;
    ch->planned = 0;
    hd_dramsched_plan(d, c);
}

uint64_t hd_dramsched_free_at(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    const struct hd_dramentry *v = hd_dramentry_of(d, c);
    uint32_t rcd = d->t.rcd[d->t.rcd[0] > d->t.rcd[1]];
    uint64_t at = HD_NEVER;

    hd_dramsched_plan(d, c);
    if (ch->plan_kind >= HD_DRAM_PREA)
        return hd_max_u64(ch->plan_at, ch->floor);
    for (uint32_t w = 0; w < 2; w++) {
        uint64_t base = hd_max_u64(ch->col_ok[w], ch->floor);
        for (uint32_t i = 0; i < ch->col_n[w]; i++) {
            uint32_t b = ch->col_order[w][i];
            uint64_t first =
                hd_max_u64(ch->col_ready[b], ch->group_ok[d->group_of[b]]);
            first = hd_max_u64(first, base);
            at = hd_min_u64(at,
                            first + (uint64_t)(v[ch->col_entry[b]].left - 1) *
                                        d->t.again);
        }
    }
    if (ch->row_mask != 0)
        at = hd_min_u64(at, ch->plan_at + rcd);
    return at;
}
