/*
 * dramstep.h - the steps of a channel: finding the next command, issuing it,
 * taking in what has arrived.
 *
 * They are here to be inlined into the ways through a batch of commands
 * (dramsched.c, dramplain.c).  `exact`: something out of the ordinary may be
 * there; see drambank.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMSTEP_H
#define HD_DRAMSTEP_H

#include "../base/bits.h"
#include "drambank.h"
#include "dramcount.h"
#include "dramtime.h"

/* ---- choosing ------------------------------------------------------------ */

static inline uint64_t hd_dramstep_key_of(const struct hd_dramlane *l,
                                          uint64_t p)
{
    const struct hd_drambank *k = &l->bank[p & PLAN_BANK];

    return p & PLAN_ROW
               ? l->ch->row_key[p & PLAN_BANK]
               : hd_dramoffer_key(l->ch, &l->entry[hd_dramqueue_column(k)],
                                  p & PLAN_BANK);
}

/* Which of two goes first: by cycle, then by key.  When only normal requests
 * wait and no row is closed early, the key of a column is below a row's. */
static HD_INLINE uint64_t hd_dramstep_first_of(const struct hd_dramlane *l,
                                               uint64_t p, uint64_t q,
                                               bool exact)
{
    if (exact && p >> PLAN_AT == q >> PLAN_AT && q != HD_NEVER)
        return hd_dramstep_key_of(l, p) < hd_dramstep_key_of(l, q) ? p : q;
    return hd_min_u64(p, q);
}

/*
 * The first column of a direction, from cycle `floor` on.  The candidates are
 * in the order of their keys, so the first that is legal as soon as the buses
 * are is the one; mostly it is among the first two.
 */
static HD_INLINE uint64_t hd_dramstep_first_column(const struct hd_dram *d,
                                                   const struct hd_dramlane *l,
                                                   uint32_t w, uint64_t floor)
{
    const struct hd_dramchan *ch = l->ch;
    uint64_t base = hd_max_u64(ch->col_ok[w], floor), best = HD_NEVER;
    uint32_t bank = 0;

    for (uint32_t i = 0, n = ch->n[w]; i < n; i++) {
        uint32_t b = ch->order[w][i] & PLAN_BANK;
        const struct hd_drambank *k = &l->bank[b];
        uint64_t at =
            hd_max_u64(k->act_at + d->t.rcd[w], ch->group_ok[k->group]);
        if (at <= base)
            return hd_dramchan_pack(base, HD_DRAM_RD + w, b);
        bank = at < best ? b : bank;
        best = hd_min_u64(at, best);
    }
    return hd_dramchan_pack(best, HD_DRAM_RD + w, bank);
}

/* The engine's own choice among columns. */
static HD_INLINE uint64_t hd_dramstep_choose_column(const struct hd_dram *d,
                                                    const struct hd_dramlane *l,
                                                    uint64_t floor)
{
    uint64_t p = HD_NEVER;

    if (l->ch->n[0] != 0)
        p = hd_dramstep_first_column(d, l, 0, floor);
    if (HD_UNLIKELY(l->ch->n[1] != 0))
        p = hd_dramstep_first_of(l, p, hd_dramstep_first_column(d, l, 1, floor),
                                 true);
    return p;
}

/* And among rows. */
static HD_INLINE uint64_t hd_dramstep_choose_row(const struct hd_dramlane *l,
                                                 uint64_t floor)
{
    const struct hd_dramchan *ch = l->ch;
    /* by `open`: activates have a constraint of the channel's besides */
    const uint64_t base[2] = {hd_max_u64(ch->act_ok, floor), floor};
    uint64_t best = HD_NEVER;
    uint32_t b;

    for (uint64_t m = ch->rows; m != 0; m &= m - 1) {
        const struct hd_drambank *k = &l->bank[b = hd_bit_first(m)];
        uint64_t at = hd_max_u64(k->row_ok[k->open], base[k->open]);
        hd_assert(at - floor < 1u << 16);
        best = hd_min_u64(best, (at - floor) << KEY_BITS | ch->row_key[b]);
    }
    if (best == HD_NEVER)
        return best;
    b = best & PLAN_BANK;
    return hd_dramchan_pack(floor + (best >> KEY_BITS),
                            HD_DRAM_ACT + l->bank[b].open, b);
}

/* ---- the plan ---------------------------------------------------------- */

/* Both are found: what is planned follows. */
static HD_INLINE void hd_dramstep_set_plan(struct hd_dramchan *ch,
                                           uint64_t column, uint64_t row,
                                           uint64_t p)
{
    ch->planned = 1;
    ch->column = column;
    ch->row = row;
    if (p == HD_NEVER)
        hd_dramchan_plan(ch, HD_NEVER, HD_DRAM_NONE, 0);
    else
        hd_dramchan_plan(ch, p >> PLAN_AT, hd_dramchan_kind(p), p & PLAN_BANK);
}

/* ---- issuing ------------------------------------------------------------- */

static HD_INLINE void hd_dramstep_issue_activate(struct hd_dram *d,
                                                 const struct hd_dramlane *l,
                                                 uint32_t b, uint64_t at,
                                                 bool exact)
{
    struct hd_dramchan *ch = l->ch;
    struct hd_drambank *k = &l->bank[b];
    struct hd_dramentry *v =
        &l->entry[exact ? hd_dramqueue_row(k) : k->rest[0].head];

    v->opened = 1;
    hd_dramtime_activate(&d->t, ch, k, at);
    l->tally[v->app].activates++;
    k->open = 1;
    k->row = v->row;
    k->served = 0;
    hd_drambank_opened(d, l, b, exact);
}

/* Closes an open row; the precharge is at `cycle`. */
static HD_INLINE void hd_dramstep_close_row(struct hd_dram *d,
                                            const struct hd_dramlane *l,
                                            uint32_t b, uint64_t cycle,
                                            bool exact)
{
    struct hd_drambank *k = &l->bank[b];

    hd_dramtime_precharge(&d->t, k, cycle);
    k->open = 0;
    if (exact &&
        (k->hits[0].head & k->hits[1].head & k->hits[2].head) != NO_ENTRY)
        hd_dramqueue_closed(d, l->c, b);
}

/* For request e, which waits for another row.  Whether column candidates have
 * changed. */
static HD_INLINE bool hd_dramstep_issue_precharge(struct hd_dram *d,
                                                  const struct hd_dramlane *l,
                                                  uint32_t b, uint32_t e,
                                                  uint64_t at, bool exact)
{
    l->tally[l->entry[e].app].precharges++;
    hd_dramstep_close_row(d, l, b, at, exact);
    if (exact && l->bank[b].way != 0) {
        hd_dramqueue_refresh(d, l->c, b); /* its requests hit no more */
        return true;
    }
    return false;
}

/* A request has sent its last burst in `cycle`.  Whether row candidates have
 * changed. */
static HD_INLINE bool hd_dramstep_end_request(struct hd_dram *d,
                                              const struct hd_dramlane *l,
                                              uint32_t e, uint64_t cycle,
                                              bool exact)
{
    struct hd_dramchan *ch = l->ch;
    const struct hd_dramentry *v = &l->entry[e];
    uint64_t end = cycle + d->t.data[v->write];
    uint32_t klass = v->klass;
    bool rows;
    struct hd_dramdone *done = &l->done[ch->done_n++];

    hd_assert(ch->done_n <= d->ring);
    done->cycle = end;
    done->req = v->req;
    hd_dramcount_ended(d, l, v, (uint32_t)end - v->accepted);
    rows = hd_drambank_served(d, l, e, exact);
    if (HD_UNLIKELY(ch->waiters != 0))
        hd_dram_freed(d, l->c, klass, cycle);
    return rows;
}

/* ---- taking in ----------------------------------------------------------- */

/* When entry v, of the inbox, was accepted: the floor is then at most one cycle
 * further. */
static HD_INLINE uint64_t hd_dramstep_arrival(const struct hd_dramchan *ch,
                                              const struct hd_dramentry *v)
{
    uint64_t from = ch->floor - 1;

    return from + (uint32_t)(v->accepted - (uint32_t)from);
}

#endif
