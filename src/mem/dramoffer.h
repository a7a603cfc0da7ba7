/*
 * dramoffer.h - the candidates of a channel: what each bank offers to do next.
 *
 * A bank offers at most one column command and one row command.  There is a
 * list of banks for each kind of command, in the order of their keys, since
 * what the channel as a whole asks for is the same for all of one kind: the
 * first in its list that is legal as soon as the channel allows goes first.
 * dramqueue.c and drambank.h decide what a bank offers, dramsched.c picks.
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

/* Takes a bank out of the list of a kind. */
static HD_INLINE void hd_dramoffer_leave(struct hd_dramchan *ch, uint32_t kind,
                                         uint32_t b)
{
    uint8_t *order = ch->order[kind];
    uint32_t i = 0;

    ch->n[kind]--;
    while (order[i] != b)
        i++;
    for (; i < ch->n[kind]; i++)
        order[i] = order[i + 1];
}

/* Puts a bank into the list of a kind; key: col_key or row_key. */
static HD_INLINE void hd_dramoffer_join(struct hd_dramchan *ch, uint32_t kind,
                                        const uint64_t *key, uint32_t b)
{
    uint8_t *order = ch->order[kind];
    uint32_t i = ch->n[kind]++;

    for (; i > 0 && key[order[i - 1]] > key[b]; i--)
        order[i] = order[i - 1];
    order[i] = (uint8_t)b;
}

/* Takes a bank's column candidate, if it has one, away. */
static HD_INLINE void hd_dramoffer_drop(struct hd_dramchan *ch, uint32_t b)
{
    uint32_t kind = ch->col_kind[b];

    ch->col_kind[b] = 0;
    if (kind != 0)
        hd_dramoffer_leave(ch, kind - 1, b);
}

/* Entry e, which is v, is the bank's column candidate. */
static HD_INLINE void
hd_dramoffer_column(const struct hd_dram *d, struct hd_dramchan *ch,
                    const struct hd_drambank *k, uint32_t b,
                    const struct hd_dramentry *v, uint32_t e)
{
    uint32_t kind = HD_DRAM_RD + v->write;

    ch->col_kind[b] = (uint8_t)(1 + kind);
    ch->col_entry[b] = (uint16_t)e;
    ch->col_key[b] = hd_dramoffer_key(v, b);
    ch->col_ready[b] = k->act_at + d->t.rcd[v->write];
    hd_dramoffer_join(ch, kind, ch->col_key, b);
}

/* The bank's column candidate gives way to entry e, a younger one. */
static HD_INLINE void hd_dramoffer_next(const struct hd_dram *d,
                                        struct hd_dramchan *ch,
                                        const struct hd_drambank *k, uint32_t b,
                                        const struct hd_dramentry *v,
                                        uint32_t e)
{
    uint32_t kind = HD_DRAM_RD + v->write, i = 0;
    uint64_t key = hd_dramoffer_key(v, b);
    uint8_t *order = ch->order[kind];

    if (HD_UNLIKELY(ch->col_kind[b] != 1 + kind)) {
        hd_dramoffer_drop(ch, b);
        hd_dramoffer_column(d, ch, k, b, v, e);
        return;
    }
    ch->col_entry[b] = (uint16_t)e;
    ch->col_key[b] = key;
    while (order[i] != b)
        i++;
    for (; i + 1 < ch->n[kind] && ch->col_key[order[i + 1]] < key; i++)
        order[i] = order[i + 1];
    order[i] = (uint8_t)b;
}

/* Takes a bank's row candidate, if it has one, away. */
static HD_INLINE void hd_dramoffer_drop_row(struct hd_dramchan *ch, uint32_t b)
{
    uint32_t kind = ch->row_kind[b];

    ch->row_kind[b] = 0;
    if (kind != 0)
        hd_dramoffer_leave(ch, kind - 1, b);
}

/* The bank's row candidate is an activate or a precharge for entry e. */
static HD_INLINE void hd_dramoffer_row(struct hd_dramchan *ch,
                                       const struct hd_drambank *k, uint32_t b,
                                       const struct hd_dramentry *v, uint32_t e,
                                       uint64_t rank)
{
    uint32_t kind = k->open ? HD_DRAM_PRE : HD_DRAM_ACT;

    ch->row_kind[b] = (uint8_t)(1 + kind);
    ch->row_entry[b] = (uint16_t)e;
    ch->row_key[b] = hd_dramoffer_key(v, b) | rank;
    ch->row_ready[b] = k->open ? k->pre_ok : k->act_ok;
    hd_dramoffer_join(ch, kind, ch->row_key, b);
}

/* The bank's row candidate was a precharge, and has been issued: now its
 * request wants the row opened. */
static HD_INLINE void hd_dramoffer_shut(struct hd_dramchan *ch,
                                        const struct hd_drambank *k, uint32_t b)
{
    ch->row_kind[b] = 1 + HD_DRAM_ACT;
    ch->row_ready[b] = k->act_ok;
    hd_dramoffer_leave(ch, HD_DRAM_PRE, b);
    hd_dramoffer_join(ch, HD_DRAM_ACT, ch->row_key, b);
}

#endif
