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
 * There are three ways through a batch.  Two are short, for open pages without
 * refresh, with no policy and nobody who watches: they keep the first column
 * and the first row command in registers and look again only for what a command
 * can have changed.  One of them is for when nothing at all is out of the
 * ordinary (dramplain.c).  The general way goes command by command.  All make
 * the same choice, and a command has the same effects.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramcheck.h"
#include "dramstep.h"

/* ---- choosing ------------------------------------------------------------ */

/* ---- the plan ---------------------------------------------------------- */

static void plan_refresh(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    uint64_t shut = hd_max_u64(ch->floor, ch->ref_at), all = shut;
    bool open = false;

    for (uint32_t b = 0; b < d->cfg.banks; b++) {
        const struct hd_drambank *k = hd_drambank_at(d, c, b);
        open |= k->open;
        all = hd_max_u64(all, k->row_ok[BANK_ACT]);
        if (k->open)
            shut = hd_max_u64(shut, k->row_ok[BANK_PRE]);
    }
    if (open)
        hd_dramchan_plan(ch, shut, HD_DRAM_PREA, 0);
    else
        hd_dramchan_plan(ch, all, HD_DRAM_REF, 0);
}

void hd_dramsched_plan(struct hd_dram *d, uint32_t c)
{
    const struct hd_dramlane *l = &d->lane[c];
    struct hd_dramchan *ch = l->ch;

    if (ch->planned)
        return;
    ch->planned = 1;
    if (HD_UNLIKELY(d->pick.bound)) {
        hd_dramask_plan(d, c);
    } else {
        uint64_t column = hd_dramstep_choose_column(d, l, ch->floor);
        uint64_t row = hd_dramstep_choose_row(l, ch->floor);
        hd_dramstep_set_plan(ch, column, row,
                             hd_dramstep_first_of(l, column, row, true));
    }
    if (HD_UNLIKELY(d->cfg.refresh) && ch->plan_at >= ch->ref_at)
        plan_refresh(d, c);
}

/* ---- issuing ------------------------------------------------------------ */

/* Says which request is the oldest golden one that has got to its bank. */
static void tell_golden(const struct hd_dram *d, uint32_t c,
                        struct hd_dramcmd *cmd)
{
    const struct hd_dramentry *v = hd_dramentry_of(d, c), *first = NULL;

    for (uint32_t b = 0; b < d->cfg.banks; b++) {
        const struct hd_drambank *k = hd_drambank_at(d, c, b);
        uint32_t head[2] = {k->hits[2].head, k->rest[2].head};
        for (uint32_t i = 0; i < 2; i++) {
            if (head[i] == NO_ENTRY ||
                (first != NULL && hd_dramentry_older(first, &v[head[i]])))
                continue;
            first = &v[head[i]];
            cmd->golden = 1;
            cmd->golden_bank = b;
            cmd->golden_row = first->row;
            cmd->golden_write = first->write;
        }
    }
}

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
        cmd.klass = v->klass;
        if (ch->klass[2] != 0 && !d->pick.bound)
            tell_golden(d, c, &cmd);
        cmd.column =
            hd_drammap_locate(&d->map, d->reqs->v[v->req].pa.v).column +
            v->bursts - v->left;
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
 * A column of the bank's candidate, as command p.  *rows: whether row
 * candidates have changed.  Returns the next column, if that is of the same
 * request since there is no other, or else 0: it is to be found.
 */
static HD_INLINE uint64_t issue_column(struct hd_dram *d,
                                       const struct hd_dramlane *l, uint64_t p,
                                       bool *rows, bool exact)
{
    struct hd_dramchan *ch = l->ch;
    uint32_t b = p & PLAN_BANK, e;
    struct hd_drambank *k = &l->bank[b];
    struct hd_dramentry *v;

    e = exact ? hd_dramqueue_column(k) : k->hits[0].head;
    v = &l->entry[e];
    hd_dramtime_column(&d->t, ch, k, p >> 6 & 1, p >> PLAN_AT);
    if (--v->left == 0) {
        k->served++;
        *rows = hd_dramstep_end_request(d, l, e, p >> PLAN_AT, exact);
        return 0;
    }
    if (!exact || (ch->rows >> b & 1) == 0)
        *rows = false;
    if (ch->n[0] + ch->n[1] == 1)
        return p + ((uint64_t)d->t.again << PLAN_AT);
    return 0;
}

/* Closes all rows, or refreshes all banks. */
static void issue_refresh(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    uint64_t *count = hd_count_row(&d->stat, c, HD_APP_NONE);

    if (ch->plan_kind == HD_DRAM_PREA) {
        for (uint32_t b = 0; b < d->cfg.banks; b++) {
            count[ST_PRECHARGES] += hd_drambank_at(d, c, b)->open;
            if (hd_drambank_at(d, c, b)->open)
                hd_dramstep_close_row(d, &d->lane[c], b, ch->plan_at, true);
        }
    } else {
        count[ST_REFRESHES]++;
        ch->ref_at += d->cfg.trefi;
        for (uint32_t b = 0; b < d->cfg.banks; b++)
            hd_drambank_at(d, c, b)->row_ok[BANK_ACT] =
                ch->plan_at + d->cfg.trfc;
    }
    for (uint32_t b = 0; b < d->cfg.banks; b++)
        hd_dramqueue_refresh(d, c, b);
}

/* One planned column, with the precharge that a closed page makes of it. */
static void issue_planned_column(struct hd_dram *d, uint32_t c, uint32_t b)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    struct hd_drambank *k = hd_drambank_at(d, c, b);
    uint32_t e = hd_dramqueue_column(k);
    const struct hd_dramentry *v = &hd_dramentry_of(d, c)[e];
    bool close = d->cfg.page == 1 && v->left == 1 && only_hit(k), rows;

    if (watched(d))
        tell(d, c, e, close);
    issue_column(d, &d->lane[c],
                 hd_dramchan_pack(ch->plan_at, ch->plan_kind, b), &rows, true);
    if (close) {
        d->lane[c].tally[v->app].precharges++;
        hd_dramstep_close_row(d, &d->lane[c], b, k->row_ok[BANK_PRE], true);
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
        issue_planned_column(d, c, b);
        break;
    case HD_DRAM_ACT:
    case HD_DRAM_PRE:
        e = hd_dramqueue_row(hd_drambank_at(d, c, b));
        if (watched(d))
            tell(d, c, e, 0);
        if (ch->plan_kind == HD_DRAM_ACT)
            hd_dramstep_issue_activate(d, &d->lane[c], b, ch->plan_at, true);
        else
            hd_dramstep_issue_precharge(d, &d->lane[c], b, e, ch->plan_at,
                                        true);
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
    ch->column = ch->row = 0;
    ch->hold = 0;
}

/* An idle channel with closed rows: all refreshes but the last at once. */
static void skip_refreshes(struct hd_dram *d, uint32_t c, uint64_t cycle)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    uint64_t n;

    if (ch->waiting != 0 || watched(d) ||
        cycle < ch->ref_at + 2ull * d->cfg.trefi)
        return;
    for (uint32_t b = 0; b < d->cfg.banks; b++)
        if (hd_drambank_at(d, c, b)->open)
            return;
    n = (cycle - ch->ref_at) / d->cfg.trefi;
    hd_count_row(&d->stat, c, HD_APP_NONE)[ST_REFRESHES] += n;
    ch->ref_at += n * d->cfg.trefi;
    ch->planned = 0;
}

/* ---- batches ------------------------------------------------------------- */

/* Issues what is legal up to a cycle before which nothing arrives. */
static void decide(struct hd_dram *d, uint32_t c, uint64_t cycle)
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
    ch->floor = hd_max_u64(ch->floor, cycle + 1);
}

/* The general way through a batch. */
static HD_APART void advance(struct hd_dram *d, uint32_t c, uint64_t cycle)
{
    struct hd_dramchan *ch = d->lane[c].ch;

    for (uint32_t i = 0; i < ch->inbox_n; i++) {
        uint32_t e = ch->inbox[i];
        decide(d, c, hd_dramstep_arrival(ch, &hd_dramentry_of(d, c)[e]));
        hd_dramqueue_arrive(d, c, e);
    }
    ch->inbox_n = 0;
    decide(d, c, cycle);
}

/*
 * The short way for what is out of the ordinary.  After a row command the first
 * column is still that, if none has become a candidate that could be legal as
 * soon; after a column so is the first row.
 */
static HD_APART void advance_exact(struct hd_dram *d, uint32_t c,
                                   uint64_t cycle)
{
    const struct hd_dramlane lane = d->lane[c], *l = &lane;
    struct hd_dramchan *ch = l->ch;
    uint64_t floor = ch->floor, column = ch->column, row = ch->row, p;
    uint32_t i = 0, n = ch->inbox_n;

    for (;;) {
        uint64_t until =
            i < n ? hd_dramstep_arrival(ch, &l->entry[ch->inbox[i]]) : cycle;
        column = column != 0 ? column : hd_dramstep_choose_column(d, l, floor);
        row = row != 0 ? row : hd_dramstep_choose_row(l, floor);
        while ((p = hd_dramstep_first_of(l, column, row, true)) <
               (until + 1) << PLAN_AT) {
            uint64_t at = p >> PLAN_AT;
            uint32_t b = p & PLAN_BANK;
            bool rows = true; /* have changed */
            if (!(p & PLAN_ROW)) {
                column = issue_column(d, l, p, &rows, true);
            } else if (hd_dramchan_kind(p) == HD_DRAM_ACT) {
                hd_dramstep_issue_activate(d, l, b, at, true);
                if (column >> PLAN_AT >= at + d->t.rcd_least)
                    column = 0;
            } else if (hd_dramstep_issue_precharge(
                           d, l, b, hd_dramqueue_row(&l->bank[b]), at, true)) {
                column = 0;
            }
            floor = at + 1;
            if (column < floor << PLAN_AT)
                column = hd_dramstep_choose_column(d, l, floor);
            if (rows || row < floor << PLAN_AT)
                row = hd_dramstep_choose_row(l, floor);
        }
        floor = ch->floor = hd_max_u64(floor, until + 1);
        if (i == n)
            break;
        hd_drambank_arrive(d, l, ch->inbox[i++], &column, &row, true);
    }
    ch->inbox_n = 0;
    hd_dramstep_set_plan(ch, column, row, p);
}

HD_HOT void hd_dramsched_advance(struct hd_dram *d, uint32_t c, uint64_t cycle)
{
    struct hd_dramchan *ch = d->lane[c].ch;

    if (ch->inbox_n == 0 && ch->planned && ch->plan_at > cycle)
        ch->floor = hd_max_u64(ch->floor, cycle + 1);
    else if (d->special || d->pick.bound || watched(d))
        advance(d, c, cycle);
    else if (d->plain && ch->klass[1] + ch->klass[2] == 0)
        hd_dramplain_advance(d, c, cycle);
    else
        advance_exact(d, c, cycle);
}

/* When the first of the requests that have a column of a direction to offer
 * could have sent its last burst, or `at` if that is before. */
static HD_INLINE uint64_t first_end(const struct hd_dram *d,
                                    const struct hd_dramlane *l, uint32_t w,
                                    uint64_t at, bool exact)
{
    const struct hd_dramchan *ch = l->ch;
    const uint64_t base = hd_max_u64(ch->col_ok[w], ch->floor);
    const uint64_t rcd = d->t.rcd[w], again = d->t.again;
    const uint64_t *p = ch->order[w], *end = p + ch->n[w];

    for (; p != end; p++) {
        const struct hd_drambank *k = &l->bank[*p & PLAN_BANK];
        uint32_t e = exact ? hd_dramqueue_column(k) : k->hits[0].head;
        uint64_t first = hd_max_u64(k->act_at + rcd, ch->group_ok[k->group]);

        first = hd_max_u64(first, base);
        at = hd_min_u64(at, first + (l->entry[e].left - 1u) * again);
    }
    return at;
}

HD_HOT uint64_t hd_dramsched_free_at(struct hd_dram *d, uint32_t c)
{
    const struct hd_dramlane lane = d->lane[c], *l = &lane;
    const struct hd_dramchan *ch = l->ch;
    uint64_t at = HD_NEVER;

    hd_dramsched_plan(d, c);
    if (ch->plan_kind >= HD_DRAM_PREA)
        return hd_max_u64(ch->plan_at, ch->floor);
    if (ch->plan_kind >= HD_DRAM_RD &&
        l->entry[hd_dramqueue_column(&l->bank[ch->plan_bank])].left == 1)
        return ch->plan_at; /* nothing comes before */
    if (HD_LIKELY((ch->klass[1] | ch->klass[2]) == 0)) {
        at = first_end(d, l, 0, at, false);
        at = first_end(d, l, 1, at, false);
    } else {
        at = first_end(d, l, 0, at, true);
        at = first_end(d, l, 1, at, true);
    }
    if (ch->rows != 0)
        at = hd_min_u64(at, ch->plan_at + d->t.rcd_least);
    return at;
}
