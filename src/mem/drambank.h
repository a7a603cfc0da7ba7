/*
 * drambank.h - what happens to a bank when only normal requests wait there:
 * arrivals, opened rows, requests that leave.
 *
 * This is the way of nearly every request, so it is inlined where it happens,
 * and changes a bank's candidates by what has changed.  Whatever is out of the
 * ordinary (silver and golden requests, schedulers that close a row which is
 * still hit) goes to dramqueue.c, which works the candidates out anew.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMBANK_H
#define HD_DRAMBANK_H

#include "dramoffer.h"

/*
 * The bank has a new candidate of this kind, legal from cycle `at` on, for the
 * youngest request, so that of two that are legal in one cycle the other one
 * goes first; unless that is for a row and this one for a column.
 */
static HD_INLINE void hd_drambank_offered(struct hd_dramchan *ch,
                                          uint64_t *first, uint64_t at,
                                          uint32_t kind, uint32_t b)
{
    at = hd_max_u64(at, ch->floor);
    if (at < *first >> PLAN_AT)
        *first = hd_dramchan_pack(at, kind, b);
    if (at < ch->plan_at)
        hd_dramchan_plan(ch, at, kind, b);
    else if (at == ch->plan_at && kind >= HD_DRAM_RD)
        ch->planned = 0;
}

/* Entry e, filled in, has arrived. */
static HD_INLINE void
hd_drambank_arrive(struct hd_dram *d, const struct hd_dramlane *l, uint32_t e)
{
    struct hd_dramchan *ch = l->ch;
    struct hd_dramentry *v = &l->entry[e];
    uint32_t b = v->bank;
    struct hd_drambank *k = &l->bank[b];
    struct hd_dramlist *list;
    bool hit;

    if (HD_UNLIKELY(v->klass != 0)) {
        hd_dramqueue_arrive(d, l->c, e);
        return;
    }
    hit = k->open && k->row == v->row;
    list = hit ? &k->hits[0] : &k->rest[0];
    v->next = NO_ENTRY;
    if (list->head != NO_ENTRY) { /* it is no candidate and changes none */
        l->entry[list->tail].next = (uint16_t)e;
        list->tail = (uint16_t)e;
        return;
    }
    list->head = list->tail = (uint16_t)e;
    if (k->classes != 0 || d->special || d->pick.bound) {
        k->classes |= 1;
        hd_dramqueue_refresh(d, l->c, b);
        return;
    }
    k->classes = 1;
    if (hit) {
        hd_dramoffer_column(d, ch, k, b, v, e);
        hd_drambank_offered(ch, &ch->column,
                            hd_max_u64(hd_max_u64(ch->col_ready[b],
                                                  ch->group_ok[d->group_of[b]]),
                                       ch->col_ok[v->write]),
                            HD_DRAM_RD + v->write, b);
    } else {
        hd_dramoffer_row(ch, k, b, v, e, d->row_rank);
        if (k->open)
            hd_drambank_offered(ch, &ch->row, k->pre_ok, HD_DRAM_PRE, b);
        else
            hd_drambank_offered(ch, &ch->row, hd_max_u64(k->act_ok, ch->act_ok),
                                HD_DRAM_ACT, b);
    }
}

/* The bank's row was opened for its row candidate.  Here and below, `exact`:
 * something out of the ordinary may be there. */
static HD_INLINE void hd_drambank_opened(struct hd_dram *d,
                                         const struct hd_dramlane *l,
                                         uint32_t b, bool exact)
{
    struct hd_drambank *k = &l->bank[b];
    uint32_t e = k->rest[0].head;

    if (exact && k->classes != 1) {
        hd_dramqueue_opened(d, l->c, b);
        hd_dramqueue_refresh(d, l->c, b);
        return;
    }
    if (e == k->rest[0].tail) {
        k->hits[0] = k->rest[0];
        k->rest[0].head = k->rest[0].tail = NO_ENTRY;
    } else {
        hd_dramqueue_opened(d, l->c, b);
    }
    /* The request that had it opened is older than all that are left. */
    hd_dramoffer_drop_row(l->ch, b);
    hd_dramoffer_column(d, l->ch, k, b, &l->entry[e], e);
}

/* Entry e, a column candidate, has sent its last burst and leaves.  Whether row
 * candidates have changed. */
static HD_INLINE bool hd_drambank_served(struct hd_dram *d,
                                         const struct hd_dramlane *l,
                                         uint32_t e, bool exact)
{
    struct hd_dramchan *ch = l->ch;
    struct hd_dramentry *v = &l->entry[e];
    uint32_t b = v->bank, next = v->next, other;
    struct hd_drambank *k = &l->bank[b];

    other = k->rest[0].head;
    if (exact && (k->classes != 1 || (d->cfg.scheduler != HD_DRAM_HIT_FIRST &&
                                      other != NO_ENTRY))) {
        hd_dramqueue_served(d, l->c, e);
        return true;
    }
    hd_assert(k->hits[0].head == e);
    ch->waiting--;
    v->next = ch->free;
    ch->free = (uint16_t)e;
    k->hits[0].head = (uint16_t)next;
    if (next != NO_ENTRY) {
        hd_dramoffer_next(d, ch, k, b, &l->entry[next], next);
        return false;
    }
    k->hits[0].tail = NO_ENTRY;
    hd_dramoffer_drop(ch, b);
    if (other == NO_ENTRY) {
        k->classes = 0;
        return false;
    }
    hd_dramoffer_row(ch, k, b, &l->entry[other], other, d->row_rank);
    return true;
}

#endif
