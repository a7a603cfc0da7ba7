/*
 * dramoffer.h - the candidates of a channel: what each bank offers to do next.
 *
 * A bank offers at most one column command and one row command.  Columns are
 * kept in the order of their keys, a list for each direction; rows as a set of
 * banks, of which the first to issue is remembered (best_*) until a candidate
 * changes.  dramqueue.c decides what a bank offers, dramsched.c picks.
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

/* Takes a bank's column candidate, if it has one, out of the order. */
static inline void hd_dramoffer_drop(struct hd_dramchan *ch, uint32_t b)
{
    uint32_t w, i = 0;
    uint8_t *order;

    if (ch->col_way[b] == 0)
        return;
    w = ch->col_way[b] - 1u;
    ch->col_way[b] = 0;
    ch->col_n[w]--;
    order = ch->col_order[w];
    while (order[i] != b)
        i++;
    for (; i < ch->col_n[w]; i++)
        order[i] = order[i + 1];
}

/* Request e is the bank's column candidate. */
static inline void hd_dramoffer_column(const struct hd_dram *d,
                                       struct hd_dramchan *ch,
                                       const struct hd_drambank *k, uint32_t b,
                                       const struct hd_dramentry *v, uint32_t e)
{
    uint64_t key = hd_dramoffer_key(&v[e], b);
    uint32_t w = v[e].write, i = ch->col_n[w]++;
    uint8_t *order = ch->col_order[w];

    ch->col_way[b] = (uint8_t)(1 + w);
    ch->col_entry[b] = (uint16_t)e;
    ch->col_key[b] = key;
    ch->col_ready[b] = k->act_at + d->t.rcd[w];
    for (; i > 0 && ch->col_key[order[i - 1]] > key; i--)
        order[i] = order[i - 1];
    order[i] = (uint8_t)b;
}

/* Takes a bank's row candidate, if it has one, away. */
static inline void hd_dramoffer_drop_row(struct hd_dramchan *ch, uint32_t b)
{
    uint64_t bit = 1ull << b;

    if (ch->row_mask & bit)
        ch->best_valid = 0;
    ch->row_mask &= ~bit;
    ch->act_mask &= ~bit;
}

/* The bank's row candidate is an activate or a precharge for request e. */
static inline void hd_dramoffer_row(struct hd_dramchan *ch,
                                    const struct hd_drambank *k, uint32_t b,
                                    const struct hd_dramentry *v, uint32_t e,
                                    uint64_t rank)
{
    uint64_t bit = 1ull << b;

    ch->row_mask |= bit;
    ch->best_valid = 0;
    ch->row_entry[b] = (uint16_t)e;
    ch->row_key[b] = hd_dramoffer_key(&v[e], b) | rank;
    if (k->open) {
        ch->row_ready[b] = k->pre_ok;
    } else {
        ch->row_ready[b] = k->act_ok;
        ch->act_mask |= bit;
    }
}

#endif
