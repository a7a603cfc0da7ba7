/*
 * dramplain.c - a batch of commands where nothing is out of the ordinary: open
 * pages, no refresh, only normal requests, hit-first, nobody who asks or
 * watches.  This is the way of nearly every request.
 *
 * The choice is that of dramsched.c, and so are the effects of a command.  What
 * is known here makes it short.  The first column and the first row command are
 * kept; of two that are legal in one cycle the column goes first.  So columns
 * are issued one after the other up to the cycle of the row command, and as
 * long as a request is the only one that has a column to offer, all its bursts
 * up to there are issued at once.  Which columns there are changes when a
 * request ends, when a row is opened, or when something arrives; which rows,
 * when a bank has no more hits, when a row is opened or closed, or when
 * something arrives.  Most arrivals change neither, since others are before
 * them at their bank, and join it at once (see joins): they do not divide the
 * batch.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramstep.h"

/* What is known of the next commands. */
struct ahead {
    uint64_t column, row; /* packed */
    uint64_t floor;       /* nothing issues before this cycle */
};

/* A request has sent its last burst in cycle `at`. */
static HD_INLINE void end(struct hd_dram *d, const struct hd_dramlane *l,
                          struct ahead *s, uint32_t b, uint64_t at)
{
    l->bank[b].served++;
    if (hd_dramstep_end_request(d, l, l->bank[b].hits[0].head, at, false))
        s->row = 0;
}

/* The column that is ahead, and with it the next bursts of its request up to
 * the cycle `last`: nobody else has a column before. */
static HD_INLINE void issue_alone(struct hd_dram *d,
                                  const struct hd_dramlane *l, struct ahead *s,
                                  uint64_t last)
{
    const struct hd_dramtime *t = &d->t;
    uint32_t b = s->column & PLAN_BANK, w = s->column >> 6 & 1, more;
    struct hd_drambank *k = &l->bank[b];
    struct hd_dramentry *v = &l->entry[k->hits[0].head];
    uint64_t at = s->column >> PLAN_AT;

    more = hd_dramtime_fit(t->per_again, last - at);
    more = more < v->left - 1u ? more : v->left - 1u;
    at += more * t->again;
    hd_dramtime_column(t, l->ch, k, w, at);
    v->left = (uint16_t)(v->left - 1 - more);
    s->floor = at + 1;
    s->column = 0;
    if (v->left == 0)
        end(d, l, s, b, at);
    else if (l->ch->n[0] + l->ch->n[1] == 1)
        s->column = hd_dramchan_pack(at + t->again, HD_DRAM_RD + w, b);
}

/*
 * The column that is ahead, of bank b, and then by turns one of bank y and one
 * of bank b, up to the cycle `last` or until one of the requests ends.
 */
static HD_INLINE void issue_pair(struct hd_dram *d, const struct hd_dramlane *l,
                                 struct ahead *s, uint32_t y, uint64_t last)
{
    const struct hd_dramtime *t = &d->t;
    uint32_t b = s->column & PLAN_BANK, w = s->column >> 6 & 1, n, most;
    struct hd_drambank *k = &l->bank[b], *ky = &l->bank[y];
    struct hd_dramentry *v = &l->entry[k->hits[0].head];
    struct hd_dramentry *vy = &l->entry[ky->hits[0].head];
    uint64_t at = s->column >> PLAN_AT, before;

    n = 1 + hd_dramtime_fit(t->per_other, last - at);
    most = 2u * v->left - 1 < 2u * vy->left ? 2u * v->left - 1 : 2u * vy->left;
    n = n < most ? n : most;
    at += (n - 1) * t->other;
    /* the last but one, if there is: what it forbids in its bank and group */
    before = -(uint64_t)(n > 1) & t->other;
    hd_dramtime_own(t, l->ch, (n & 1) == (n > 1) ? ky : k, w, at - before);
    hd_dramtime_column(t, l->ch, n & 1 ? k : ky, w, at);
    v->left = (uint16_t)(v->left - (n + 1) / 2);
    vy->left = (uint16_t)(vy->left - n / 2);
    s->floor = at + 1;
    s->column = 0;
    if (n == most)
        end(d, l, s, n & 1 ? b : y, at);
    else
        s->column =
            hd_dramchan_pack(at + t->other, HD_DRAM_RD + w, n & 1 ? y : b);
}

/*
 * Issues the column that is ahead, and what is sure to follow up to the cycle
 * `last`.  Of the two oldest candidates of one direction, if both are ready and
 * of different groups, one is legal whenever the bus is; so they take turns,
 * since the group of the one that has just issued is not legal again.
 */
static HD_INLINE void issue_columns(struct hd_dram *d,
                                    const struct hd_dramlane *l,
                                    struct ahead *s, uint64_t last)
{
    const struct hd_dramchan *ch = l->ch;
    uint32_t b = s->column & PLAN_BANK, w = s->column >> 6 & 1;
    uint32_t x = ch->order[w][0] & PLAN_BANK, y = ch->order[w][1] & PLAN_BANK;
    uint64_t at = s->column >> PLAN_AT;

    if (ch->n[w] == 1) {
        issue_alone(d, l, s, d->t.runs[w] || ch->n[1 - w] == 0 ? last : at);
    } else {
        const struct hd_drambank *k;
        bool either = (b == x) | (b == y);
        uint32_t oldest = -(uint32_t)(b == x);
        uint64_t ready;
        y = (y & oldest) | (x & ~oldest); /* the other one */
        k = &l->bank[y];
        ready = k->act_at + d->t.rcd[w];
        if (either & d->t.pairs[w] & (ready <= at) &
            (k->group != l->bank[b].group))
            issue_pair(d, l, s, y, last);
        else
            issue_alone(d, l, s,
                        ch->n[w] == 2 && d->t.runs[w]
                            ? hd_min_u64(last, hd_max_u64(at, ready - 1))
                            : at);
    }
    if (s->row < s->floor << PLAN_AT)
        s->row = hd_dramstep_choose_row(l, s->floor);
    if (s->column == 0)
        s->column = hd_dramstep_choose_column(d, l, s->floor);
}

/* Issues the row command that is ahead. */
static HD_INLINE void issue_row(struct hd_dram *d, const struct hd_dramlane *l,
                                struct ahead *s)
{
    uint64_t at = s->row >> PLAN_AT;
    uint32_t b = s->row & PLAN_BANK;

    s->floor = at + 1;
    if (hd_dramchan_kind(s->row) == HD_DRAM_PRE) {
        hd_dramstep_issue_precharge(d, l, b, l->bank[b].rest[0].head, at,
                                    false);
    } else {
        hd_dramstep_issue_activate(d, l, b, at, false);
        if (s->column >> PLAN_AT >= at + d->t.rcd_least)
            s->column = hd_dramstep_choose_column(d, l, s->floor);
    }
    s->row = hd_dramstep_choose_row(l, s->floor);
}

/*
 * Whether a request that arrives in cycle `at` may join its bank now, although
 * commands before that are still to be decided from cycle `floor` on.  It may
 * if others are before it in its list that cannot all have left by then:
 * whatever happens to them, it is nobody's candidate meanwhile and ends up in
 * the same place.  Others of the open row have to send their bursts one after
 * the other; those of other rows need an activate, and a precharge before it,
 * first.
 */
static HD_INLINE bool joins(const struct hd_dram *d,
                            const struct hd_dramlane *l,
                            const struct hd_dramentry *v, uint64_t at,
                            uint64_t floor)
{
    const struct hd_drambank *k = &l->bank[v->bank];
    const struct hd_dramtime *t = &d->t;
    uint32_t head = k->hits[0].head, tail = k->hits[0].tail, bursts;

    if (!(k->open & (k->row == v->row)))
        return k->rest[0].head != NO_ENTRY &&
               at < floor + t->rcd_least + (k->open ? t->trp : 0);
    if (head == NO_ENTRY)
        return false;
    bursts = l->entry[head].left - 1u;
    bursts += head != tail ? l->entry[tail].left : 0;
    return at <
           hd_max_u64(floor, l->ch->group_ok[k->group]) + bursts * t->again;
}

/* Takes those of the inbox in, from request i on, that may join at once.
 * Returns the first that may not, with its cycle in *until, or else n.  On
 * entry *until is the cycle up to which commands are to be decided. */
static HD_INLINE uint32_t take_in(struct hd_dram *d,
                                  const struct hd_dramlane *l, struct ahead *s,
                                  uint32_t i, uint32_t n, uint64_t *until)
{
    const struct hd_dramchan *ch = l->ch;

    for (; i < n; i++) {
        const struct hd_dramentry *v = &l->entry[ch->inbox[i]];
        uint64_t at = hd_dramstep_arrival(ch, v);
        if (HD_UNLIKELY(at > *until || !joins(d, l, v, at, s->floor))) {
            *until = at;
            break;
        }
        hd_drambank_arrive(d, l, ch->inbox[i], &s->column, &s->row, false);
    }
    return i;
}

HD_HOT void hd_dramplain_advance(struct hd_dram *d, uint32_t c, uint64_t cycle)
{
    const struct hd_dramlane lane = d->lane[c], *l = &lane;
    struct hd_dramchan *ch = l->ch;
    struct ahead s = {ch->column, ch->row, ch->floor};
    uint32_t i = 0, n = ch->inbox_n;

    for (;;) {
        uint64_t until = cycle, end, limit;
        i = take_in(d, l, &s, i, n, &until);
        end = (until + 1) << PLAN_AT;
        if (s.column == 0)
            s.column = hd_dramstep_choose_column(d, l, s.floor);
        if (s.row == 0)
            s.row = hd_dramstep_choose_row(l, s.floor);
        for (;;) {
            while (s.column < (limit = hd_min_u64(s.row, end)))
                issue_columns(d, l, &s, (limit - 1) >> PLAN_AT);
            if (s.row >= end)
                break;
            issue_row(d, l, &s);
        }
        s.floor = ch->floor = hd_max_u64(s.floor, until + 1);
        if (i == n)
            break;
        hd_drambank_arrive(d, l, ch->inbox[i++], &s.column, &s.row, false);
    }
    ch->inbox_n = 0;
    hd_dramstep_set_plan(ch, s.column, s.row, hd_min_u64(s.column, s.row));
}
