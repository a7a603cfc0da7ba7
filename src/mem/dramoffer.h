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
static inline uint64_t hd_dramoffer_key(const struct hd_dramchan *ch,
                                        const struct hd_dramentry *v,
                                        uint32_t b)
{
    return (uint64_t)(2 - v->klass) << KEY_CLASS |
           hd_dramentry_age(ch, v) << KEY_AGE | b;
}

/* Takes a bank's column candidate, if it has one, away. */
static HD_INLINE void hd_dramoffer_drop(struct hd_dramchan *ch,
                                        struct hd_drambank *k, uint32_t b)
{
    uint32_t w = k->way - 1u, i = 0;
    uint64_t *order;

    if (k->way == 0)
        return;
    k->way = 0;
    if (--ch->n[w] == 0)
        return;
    order = ch->order[w];
    while ((order[i] & PLAN_BANK) != b)
        i++;
    for (; i < ch->n[w]; i++)
        order[i] = order[i + 1];
}

/* Entry v is the bank's column candidate. */
static HD_INLINE void hd_dramoffer_column(struct hd_dramchan *ch,
                                          struct hd_drambank *k, uint32_t b,
                                          const struct hd_dramentry *v)
{
    uint32_t w = v->write, i = ch->n[w]++;
    uint64_t key = hd_dramoffer_key(ch, v, b), *order = ch->order[w];

    k->way = (uint8_t)(1 + w);
    for (; i > 0 && order[i - 1] > key; i--)
        order[i] = order[i - 1];
    order[i] = key;
}

/* The bank's column candidate gives way to entry v, a younger one. */
static HD_INLINE void hd_dramoffer_next(struct hd_dramchan *ch,
                                        struct hd_drambank *k, uint32_t b,
                                        const struct hd_dramentry *v)
{
    uint32_t w = v->write, i = 0;
    uint64_t key = hd_dramoffer_key(ch, v, b), *order = ch->order[w];

    if (HD_UNLIKELY(k->way != 1 + w)) {
        hd_dramoffer_drop(ch, k, b);
        hd_dramoffer_column(ch, k, b, v);
        return;
    }
    while ((order[i] & PLAN_BANK) != b)
        i++;
    for (; i + 1 < ch->n[w] && order[i + 1] < key; i++)
        order[i] = order[i + 1];
    order[i] = key;
}

/* Takes a bank's row candidate, if it has one, away. */
static HD_INLINE void hd_dramoffer_drop_row(struct hd_dramchan *ch, uint32_t b)
{
    ch->rows &= ~(1ull << b);
}

/* The bank's row candidate is an activate or a precharge for entry v. */
static HD_INLINE void hd_dramoffer_row(struct hd_dramchan *ch, uint32_t b,
                                       const struct hd_dramentry *v,
                                       uint64_t rank)
{
    ch->rows |= 1ull << b;
    ch->row_key[b] = hd_dramoffer_key(ch, v, b) | rank;
}

#endif
