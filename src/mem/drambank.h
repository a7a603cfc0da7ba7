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
 * youngest request, so that of two that are legal in one cycle the other one,
 * `first`, stays the first.
 */
static HD_INLINE uint64_t hd_drambank_offered(uint64_t first, uint64_t at,
                                              uint32_t kind, uint32_t b)
{
    return at < first >> PLAN_AT ? hd_dramchan_pack(at, kind, b) : first;
}

/* Entry e, filled in, has arrived.  The first column and the first row follow,
 * or are 0: to be found anew.  Here and below, `exact`: something out of the
 * ordinary may be there. */
static HD_INLINE void hd_drambank_arrive(struct hd_dram *d,
                                         const struct hd_dramlane *l,
                                         uint32_t e, uint64_t *column,
                                         uint64_t *row, bool exact)
{
    struct hd_dramchan *ch = l->ch;
    struct hd_dramentry *v = &l->entry[e];
    uint32_t b = v->bank;
    struct hd_drambank *k = &l->bank[b];
    struct hd_dramlist *list;
    bool hit;

    if (exact && (v->klass != 0 || k->classes != 0)) {
        hd_dramqueue_arrive(d, l->c, e);
        *column = *row = 0;
        return;
    }
    hit = k->open & (k->row == v->row);
    list = hit ? &k->hits[0] : &k->rest[0];
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
        hd_dramoffer_drop_row(ch, b);
        *row = 0;
    }
    k->classes = 1;
    ch->offered = 1;
    if (hit) {
        hd_dramoffer_column(ch, k, b, v);
        *column = hd_drambank_offered(
            *column,
            hd_max_u64(hd_max_u64(k->act_at + d->t.rcd[v->write],
                                  ch->group_ok[k->group]),
                       hd_max_u64(ch->col_ok[v->write], ch->floor)),
            HD_DRAM_RD + v->write, b);
    } else {
        hd_dramoffer_row(ch, b, v, d->row_rank);
        *row = hd_drambank_offered(
            *row,
            hd_max_u64(k->row_ok[k->open],
                       hd_max_u64(k->open ? 0 : ch->act_ok, ch->floor)),
            HD_DRAM_ACT + k->open, b);
    }
}

/* The bank's row was opened for its row candidate. */
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
    hd_dramoffer_column(l->ch, k, b, &l->entry[e]);
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
    hd_dramentry_free(ch, l->entry, e);
    k->hits[0].head = (uint16_t)next;
    if (next != NO_ENTRY) {
        hd_dramoffer_next(ch, k, b, &l->entry[next]);
        return false;
    }
    k->hits[0].tail = NO_ENTRY;
    hd_dramoffer_drop(ch, k, b);
    if (other == NO_ENTRY) {
        k->classes = 0;
        return false;
    }
    hd_dramoffer_row(ch, b, &l->entry[other], d->row_rank);
    return true;
}

#endif
