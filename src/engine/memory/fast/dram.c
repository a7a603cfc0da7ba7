/*
 * memory/fast/dram.c - a batch of commands of a DRAM channel where nothing is
 * out of the ordinary: open pages, no refresh due, only normal requests,
 * hit-first, no policy that answers or steers, nothing watched or checked. This
 * is the path of nearly every request.
 *
 * The choice is that of memory/dramsched.c, and so are the effects of a
 * command. What is known here makes it short.  The first column and the first
 * row command are kept; of two that are legal in one cycle the column goes
 * first. So columns are issued one after the other up to the cycle of the row
 * command, and as long as a request is the only one that has a column to offer,
 * all its bursts up to there are issued at once.  Which columns there are
 * changes when a request ends, when a row is opened, or when something arrives;
 * which rows, when a bank has no more hits, when a row is opened or closed, or
 * when something arrives.  Most arrivals change neither, since others are
 * before them at their bank, and join it at once (see joins): they do not
 * divide the batch.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memory/drambus.h"

/* What is known of the next commands. */
struct ahead {
    uint64_t column, row; /* packed */
    uint64_t floor;       /* nothing issues before this cycle */
    uint64_t row_floor;   /* modern: nor does a row command before this one */
};

/*
 * Functions below take `modern`, which is constant: whether the channel has two
 * command buses, a turn of every second cycle, or tWTR_L (drambus.h).  Here:
 * the first cycles that are left after a column, or the last of several.
 */
static HD_INLINE void fast_dram_held(const struct hd_dram *d, struct ahead *s,
                                     uint64_t at, bool modern)
{
    s->floor = at + (modern ? d->t.step : 1);
    if (modern)
        s->row_floor = hd_max_u64(s->row_floor, d->t.split ? at : s->floor);
}

static HD_INLINE uint64_t fast_dram_rows_from(const struct ahead *s,
                                              bool modern)
{
    return modern ? s->row_floor : s->floor;
}

/* tWTR_L: what a write, or the last of several, forbids in its group. */
static HD_INLINE void fast_dram_forbid_reads(const struct hd_dramtime *t,
                                             struct hd_dramchan *ch,
                                             const struct hd_drambank *k,
                                             uint32_t w, uint64_t at,
                                             bool modern)
{
    if (modern && t->grouped && w != 0)
        hd_dram_forbid_reads(t, ch, k, at);
}

/* From when on a bank's column is legal, but for the buses. */
static HD_INLINE uint64_t fast_dram_ready(const struct hd_dram *d,
                                          const struct hd_dramchan *ch,
                                          const struct hd_drambank *k,
                                          uint32_t w, bool modern)
{
    uint64_t at = k->act_at + d->t.rcd[w];

    if (modern && d->t.grouped && w == 0)
        at = hd_max_u64(at, ch->read_ok[k->group]);
    return at;
}

/* How many times t cycles find room in so many, but not too many. */
static inline uint32_t fit(uint32_t t, uint64_t room)
{
    return (uint32_t)hd_min_u64(room, 4000) / t;
}

static HD_INLINE uint64_t fast_dram_choose_column(const struct hd_dram *d,
                                                  const struct hd_dramlane *l,
                                                  const struct ahead *s,
                                                  bool modern)
{
    return hd_dram_choose_column(d, l, s->floor, modern && d->t.grouped);
}

/* The bank's column candidate gives way to entry v, a younger one. */
static HD_INLINE void offer_next(struct hd_dramchan *ch, struct hd_drambank *k,
                                 const struct hd_dramentry *v)
{
    uint32_t w = v->write, i = 0;
    uint64_t key = hd_dram_key(v), *order = ch->order[w];

    if (HD_UNLIKELY(k->way != 1 + w)) {
        hd_dram_drop(ch, k, v->bank);
        hd_dram_offer_column(ch, k, v);
        return;
    }
    while ((order[i] & PLAN_BANK) != v->bank)
        i++;
    for (; i + 1 < ch->n[w] && order[i + 1] < key; i++)
        order[i] = order[i + 1];
    order[i] = key;
}

/* The oldest hit of a bank has sent its last burst in cycle `at`. */
static HD_INLINE void fast_dram_end(struct hd_dram *d,
                                    const struct hd_dramlane *l,
                                    struct ahead *s, uint32_t b, uint64_t at)
{
    struct hd_drambank *k = &l->bank[b];

    hd_dram_end(d, l, k->hits[0].head, at);
    if (k->hits[0].head != NO_ENTRY) {
        offer_next(l->ch, k, &l->entry[k->hits[0].head]);
        return;
    }
    hd_dram_drop(l->ch, k, b);
    if (k->rest[0].head == NO_ENTRY)
        return;
    hd_dram_offer_row(l->ch, &l->entry[k->rest[0].head], d->row_rank);
    s->row = 0;
}

/* The column that is ahead, and with it the next bursts of its request up to
 * the cycle `last`: no other request has a column before. */
static HD_INLINE void issue_alone(struct hd_dram *d,
                                  const struct hd_dramlane *l, struct ahead *s,
                                  uint64_t last, bool modern)
{
    const struct hd_dramtime *t = &d->t;
    uint32_t b = s->column & PLAN_BANK, w = s->column >> 6 & 1, more;
    struct hd_drambank *k = &l->bank[b];
    struct hd_dramentry *v = &l->entry[k->hits[0].head];
    uint64_t at = s->column >> PLAN_AT;

    more = fit(t->again, last - at);
    more = more < v->left - 1u ? more : v->left - 1u;
    at += more * t->again;
    hd_dram_forbid(t, l->ch, k, w, at);
    fast_dram_forbid_reads(t, l->ch, k, w, at, modern);
    v->left = (uint16_t)(v->left - 1 - more);
    fast_dram_held(d, s, at, modern);
    s->column = 0;
    if (v->left == 0)
        fast_dram_end(d, l, s, b, at);
    else if (l->ch->n[0] + l->ch->n[1] == 1)
        s->column = hd_dram_pack(at + t->again, HD_DRAM_RD + w, b);
}

/*
 * The column that is ahead, of bank b, and then by turns one of bank y and one
 * of bank b, up to the cycle `last` or until one of the requests ends.
 */
static HD_INLINE void issue_pair(struct hd_dram *d, const struct hd_dramlane *l,
                                 struct ahead *s, uint32_t y, uint64_t last,
                                 bool modern)
{
    const struct hd_dramtime *t = &d->t;
    uint32_t b = s->column & PLAN_BANK, w = s->column >> 6 & 1, n, most;
    struct hd_drambank *k = &l->bank[b], *ky = &l->bank[y];
    struct hd_dramentry *v = &l->entry[k->hits[0].head];
    struct hd_dramentry *vy = &l->entry[ky->hits[0].head];
    uint64_t at = s->column >> PLAN_AT, before;

    n = 1 + fit(t->other, last - at);
    most = 2u * v->left - 1 < 2u * vy->left ? 2u * v->left - 1 : 2u * vy->left;
    n = n < most ? n : most;
    at += (n - 1) * t->other;
    /* the last but one, if there is: what it forbids in its bank and group */
    before = -(uint64_t)(n > 1) & t->other;
    hd_dram_forbid_own(t, l->ch, (n & 1) == (n > 1) ? ky : k, w, at - before);
    hd_dram_forbid(t, l->ch, n & 1 ? k : ky, w, at);
    fast_dram_forbid_reads(t, l->ch, (n & 1) == (n > 1) ? ky : k, w,
                           at - before, modern);
    fast_dram_forbid_reads(t, l->ch, n & 1 ? k : ky, w, at, modern);
    v->left = (uint16_t)(v->left - (n + 1) / 2);
    vy->left = (uint16_t)(vy->left - n / 2);
    fast_dram_held(d, s, at, modern);
    s->column = 0;
    if (n == most)
        fast_dram_end(d, l, s, n & 1 ? b : y, at);
    else
        s->column = hd_dram_pack(at + t->other, HD_DRAM_RD + w, n & 1 ? y : b);
}

/*
 * Issues the column that is ahead, and what is sure to follow up to the cycle
 * `last`.  Of the two oldest candidates of one direction, if both are ready and
 * of different groups, one is legal whenever the bus is; so they take turns,
 * since the group of the one that has just issued is not legal again.
 */
static HD_INLINE void issue_columns(struct hd_dram *d,
                                    const struct hd_dramlane *l,
                                    struct ahead *s, uint64_t last, bool modern)
{
    const struct hd_dramchan *ch = l->ch;
    uint32_t b = s->column & PLAN_BANK, w = s->column >> 6 & 1;
    uint32_t x = ch->order[w][0] & PLAN_BANK, y = ch->order[w][1] & PLAN_BANK;
    uint64_t at = s->column >> PLAN_AT;

    if (ch->n[w] == 1) {
        issue_alone(d, l, s, d->t.runs[w] || ch->n[1 - w] == 0 ? last : at,
                    modern);
    } else {
        const struct hd_drambank *k;
        bool either = (b == x) | (b == y);
        uint32_t oldest = -(uint32_t)(b == x);
        uint64_t ready;
        y = (y & oldest) | (x & ~oldest); /* the other one */
        k = &l->bank[y];
        ready = fast_dram_ready(d, ch, k, w, modern);
        if (either & d->t.pairs[w] & (ready <= at) &
            (k->group != l->bank[b].group))
            issue_pair(d, l, s, y, last, modern);
        else
            issue_alone(d, l, s,
                        ch->n[w] == 2 && d->t.runs[w]
                            ? hd_min_u64(last, hd_max_u64(at, ready - 1))
                            : at,
                        modern);
    }
    if (s->row < fast_dram_rows_from(s, modern) << PLAN_AT)
        s->row = hd_dram_choose_row(l, fast_dram_rows_from(s, modern));
    if (s->column == 0)
        s->column = fast_dram_choose_column(d, l, s, modern);
}

/* The first cycles that are left after a row command. */
static HD_INLINE void fast_dram_row_held(const struct hd_dram *d,
                                         struct ahead *s, uint64_t at,
                                         bool activate)
{
    if (d->t.split) {
        s->floor = hd_max_u64(s->floor, at);
        s->row_floor = at + d->t.held[activate];
    } else {
        s->floor = s->row_floor = at + d->t.step;
    }
}

/* Issues the row command that is ahead. */
static HD_INLINE void fast_dram_issue_row(struct hd_dram *d,
                                          const struct hd_dramlane *l,
                                          struct ahead *s, bool modern)
{
    uint64_t at = s->row >> PLAN_AT;
    uint32_t b = s->row & PLAN_BANK;
    struct hd_drambank *k = &l->bank[b];
    uint32_t e = k->rest[0].head;

    if (modern)
        fast_dram_row_held(d, s, at, hd_dram_kind(s->row) == HD_DRAM_ACT);
    else
        s->floor = at + 1;
    if (hd_dram_kind(s->row) == HD_DRAM_PRE) {
        l->count[l->entry[e].app * ST_COUNT + ST_PRECHARGES]++;
        hd_dram_raise(&k->row_ok[BANK_ACT], at + d->t.trp);
        k->open = 0;
    } else {
        hd_dram_open_row(d, l, b, e, at);
        /* it is older than all that are left */
        l->ch->rows &= ~(1ull << b);
        hd_dram_offer_column(l->ch, k, &l->entry[e]);
        if (s->column >> PLAN_AT >= at + d->t.rcd_least)
            s->column = fast_dram_choose_column(d, l, s, modern);
    }
    s->row = hd_dram_choose_row(l, fast_dram_rows_from(s, modern));
}

/*
 * The bank has a new candidate of this kind, legal from cycle `at` on, for the
 * youngest request, so that of two that are legal in one cycle the other one,
 * `first`, stays the first.
 */
static HD_INLINE uint64_t fast_dram_offered(uint64_t first, uint64_t at,
                                            uint32_t kind, uint32_t b)
{
    return at < first >> PLAN_AT ? hd_dram_pack(at, kind, b) : first;
}

/* Entry e, filled in, joins its bank. */
static HD_INLINE void fast_dram_arrive(struct hd_dram *d,
                                       const struct hd_dramlane *l,
                                       struct ahead *s, uint32_t e, bool modern)
{
    struct hd_dramchan *ch = l->ch;
    struct hd_dramentry *v = &l->entry[e];
    uint32_t b = v->bank, w = v->write;
    struct hd_drambank *k = &l->bank[b];
    bool hit = k->open & (k->row == v->row);
    struct hd_dramlist *list = hit ? &k->hits[0] : &k->rest[0];

    v->next = NO_ENTRY;
    if (list->head != NO_ENTRY) { /* it is no candidate and changes none */
        l->entry[list->tail].next = (uint16_t)e;
        list->tail = (uint16_t)e;
        return;
    }
    list->head = list->tail = (uint16_t)e;
    if (!hit && k->classes != 0)
        return; /* the row stays open while a request hits it */
    if (k->classes != 0) {
        ch->rows &= ~(1ull << b);
        s->row = 0;
    }
    k->classes = 1;
    ch->offered = 1;
    if (hit) {
        hd_dram_offer_column(ch, k, v);
        s->column = fast_dram_offered(
            s->column,
            hd_max_u64(hd_max_u64(fast_dram_ready(d, ch, k, w, modern),
                                  ch->group_ok[k->group]),
                       hd_max_u64(ch->col_ok[w], ch->floor)),
            HD_DRAM_RD + w, b);
    } else {
        hd_dram_offer_row(ch, v, d->row_rank);
        s->row = fast_dram_offered(
            s->row,
            hd_max_u64(k->row_ok[k->open],
                       hd_max_u64(k->open ? 0 : ch->act_ok,
                                  modern ? s->row_floor : ch->floor)),
            HD_DRAM_ACT + k->open, b);
    }
}

/*
 * Whether a request that arrives in cycle `at` may join its bank now, although
 * commands before that are still to be decided from cycle `floor` on.  It may
 * if others are before it in its list that cannot all have left by then:
 * whatever happens to them, it is no candidate meanwhile and ends up in the
 * same place.  Others of the open row have to send their bursts one after
 * the other; those of other rows need an activate, and a precharge before it,
 * first.
 */
static HD_INLINE bool joins(const struct hd_dram *d,
                            const struct hd_dramlane *l,
                            const struct hd_dramentry *v, uint64_t at,
                            const struct ahead *s, bool modern)
{
    const struct hd_drambank *k = &l->bank[v->bank];
    const struct hd_dramtime *t = &d->t;
    uint32_t head = k->hits[0].head, tail = k->hits[0].tail, bursts;

    if (!(k->open & (k->row == v->row)))
        return k->rest[0].head != NO_ENTRY &&
               at < fast_dram_rows_from(s, modern) + t->rcd_least +
                        (k->open ? t->trp : 0);
    if (head == NO_ENTRY)
        return false;
    bursts = l->entry[head].left - 1u;
    bursts += head != tail ? l->entry[tail].left : 0;
    return at <
           hd_max_u64(s->floor, l->ch->group_ok[k->group]) + bursts * t->again;
}

/* Takes those of the inbox in, from request i on, that may join at once.
 * Returns the first that may not, with its cycle in *until, or else n.  On
 * entry *until is the cycle up to which commands are to be decided. */
static HD_INLINE uint32_t take_in(struct hd_dram *d,
                                  const struct hd_dramlane *l, struct ahead *s,
                                  uint32_t i, uint32_t n, uint64_t *until,
                                  bool modern)
{
    const struct hd_dramchan *ch = l->ch;

    for (; i < n; i++) {
        const struct hd_dramentry *v = &l->entry[ch->inbox[i]];
        uint64_t at = v->accepted;
        if (HD_UNLIKELY(at > *until || !joins(d, l, v, at, s, modern))) {
            *until = at;
            break;
        }
        fast_dram_arrive(d, l, s, ch->inbox[i], modern);
    }
    return i;
}

static HD_INLINE void fast_dram_advance(struct hd_dram *d,
                                        const struct hd_dramlane *lane,
                                        uint64_t cycle, bool modern)
{
    const struct hd_dramlane copy = *lane, *l = &copy; /* in registers */
    struct hd_dramchan *ch = l->ch;
    struct ahead s = {ch->column, ch->row, ch->floor, 0};
    uint32_t i = 0, n = ch->inbox_n;

    if (modern)
        s.row_floor = hd_dram_rows_from(d, l);
    for (;;) {
        uint64_t until = cycle, end, limit;
        i = take_in(d, l, &s, i, n, &until, modern);
        end = (until + 1) << PLAN_AT;
        if (s.column == 0)
            s.column = fast_dram_choose_column(d, l, &s, modern);
        if (s.row == 0)
            s.row = hd_dram_choose_row(l, fast_dram_rows_from(&s, modern));
        for (;;) {
            while (s.column < (limit = hd_min_u64(s.row, end)))
                issue_columns(d, l, &s, (limit - 1) >> PLAN_AT, modern);
            if (s.row >= end)
                break;
            fast_dram_issue_row(d, l, &s, modern);
        }
        s.floor = ch->floor = hd_max_u64(
            s.floor, modern ? hd_dram_turn_at(d, l, until + 1) : until + 1);
        if (modern) {
            s.row_floor =
                hd_max_u64(s.row_floor, hd_dram_turn_at(d, l, until + 1));
            if (d->t.split)
                ch->row_floor = s.row_floor;
        }
        if (i == n)
            break;
        fast_dram_arrive(d, l, &s, ch->inbox[i++], modern);
    }
    ch->inbox_n = 0;
    hd_dram_set_plan(ch, s.column, s.row, hd_min_u64(s.column, s.row));
}

HD_HOT void hd_fast_dram_advance(struct hd_dram *d,
                                 const struct hd_dramlane *lane, uint64_t cycle)
{
    fast_dram_advance(d, lane, cycle, false);
}

HD_APART void hd_fast_dram_advance_modern(struct hd_dram *d,
                                          const struct hd_dramlane *lane,
                                          uint64_t cycle)
{
    fast_dram_advance(d, lane, cycle, true);
}
