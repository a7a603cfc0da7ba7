/*
 * dramoffer.h - the candidates of a channel: what each bank offers to do next.
 *
 * A bank offers at most one column command and one row command.  For reads and
 * for writes there is a list of banks in the order of their keys: many may be
 * legal at once, and the first in the list that is legal as soon as the buses
 * are goes first.  Row commands are fewer and change all the time: they are a
 * set of banks.  dramqueue.c and drambank.h decide what a bank offers,
 * dramsched.c picks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMOFFER_H
#define HD_DRAMOFFER_H

#include "dramchan.h"

/* The key of a bank's request, without rank: see KEY_BITS. */
static inline uint64_t hd_dramoffer_key(const struct hd_dramentry *v,
                                        uint32_t b)
{
    return (uint64_t)(2 - v->klass) << KEY_CLASS | v->age << KEY_AGE | b;
}

/* Takes a bank's column candidate, if it has one, away. */
static HD_INLINE void hd_dramoffer_drop(struct hd_dramchan *ch, uint32_t b)
{
    uint32_t w = ch->col_way[b] - 1u, i = 0;
    uint8_t *order;

    if (ch->col_way[b] == 0)
        return;
    ch->col_way[b] = 0;
    if (--ch->n[w] == 0)
        return;
    order = ch->order[w];
    while (order[i] != b)
        i++;
    for (; i < ch->n[w]; i++)
        order[i] = order[i + 1];
}

/* Entry e, which is v, is the bank's column candidate. */
static HD_INLINE void
hd_dramoffer_column(const struct hd_dram *d, struct hd_dramchan *ch,
                    const struct hd_drambank *k, uint32_t b,
                    const struct hd_dramentry *v, uint32_t e)
{
    uint32_t w = v->write, i = ch->n[w]++;
    uint64_t key = hd_dramoffer_key(v, b);
    uint8_t *order = ch->order[w];

    ch->col_way[b] = (uint8_t)(1 + w);
    ch->col_entry[b] = (uint16_t)e;
    ch->col_key[b] = key;
    ch->col_ready[b] = k->act_at + d->t.rcd[w];
    for (; i > 0 && ch->col_key[order[i - 1]] > key; i--)
        order[i] = order[i - 1];
    order[i] = (uint8_t)b;
}

/* The bank's column candidate gives way to entry e, a younger one. */
static HD_INLINE void hd_dramoffer_next(const struct hd_dram *d,
                                        struct hd_dramchan *ch,
                                        const struct hd_drambank *k, uint32_t b,
                                        const struct hd_dramentry *v,
                                        uint32_t e)
{
    uint32_t w = v->write, i = 0;
    uint64_t key = hd_dramoffer_key(v, b);
    uint8_t *order = ch->order[w];

    if (HD_UNLIKELY(ch->col_way[b] != 1 + w)) {
        hd_dramoffer_drop(ch, b);
        hd_dramoffer_column(d, ch, k, b, v, e);
        return;
    }
    ch->col_entry[b] = (uint16_t)e;
    ch->col_key[b] = key;
    while (order[i] != b)
        i++;
    for (; i + 1 < ch->n[w] && ch->col_key[order[i + 1]] < key; i++)
        order[i] = order[i + 1];
    order[i] = (uint8_t)b;
}

/* Takes a bank's row candidate, if it has one, away. */
static HD_INLINE void hd_dramoffer_drop_row(struct hd_dramchan *ch, uint32_t b)
{
    ch->rows &= ~(1ull << b);
    ch->closed &= ~(1ull << b);
}

/* The bank's row candidate is an activate or a precharge for entry e. */
static HD_INLINE void hd_dramoffer_row(struct hd_dramchan *ch,
                                       const struct hd_drambank *k, uint32_t b,
                                       const struct hd_dramentry *v, uint32_t e,
                                       uint64_t rank)
{
    ch->rows |= 1ull << b;
    ch->row_entry[b] = (uint16_t)e;
    ch->row_key[b] = hd_dramoffer_key(v, b) | rank;
    if (k->open) {
        ch->row_ready[b] = k->pre_ok;
    } else {
        ch->row_ready[b] = k->act_ok;
        ch->closed |= 1ull << b;
    }
}

/* The bank's row candidate was a precharge, and has been issued: now its
 * request wants the row opened. */
static HD_INLINE void hd_dramoffer_shut(struct hd_dramchan *ch,
                                        const struct hd_drambank *k, uint32_t b)
{
    ch->row_ready[b] = k->act_ok;
    ch->closed |= 1ull << b;
}

#endif
