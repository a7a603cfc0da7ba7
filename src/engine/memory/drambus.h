/*
 * drambus.h - the command buses of a channel: in which cycles it may command.
 *
 * Plain: one bus and one command a cycle; `floor` of the channel is the first
 * cycle of which commands are not decided.  With dram.buses=split, as HBM has
 * it (JESD235, JESD238), there are two: `floor` is that of column commands,
 * `row_floor` that of activates, precharges and refreshes, which an activate
 * holds for `tact` cycles.  Neither bus waits for the other, so a row and a
 * column command may go in one cycle.
 *
 * With dram.pseudo=pair two channels share these buses, by turns: an even one
 * has the even cycles, an odd one the odd ones, and an activate takes as many
 * turns of its own as it has cycles.  So no channel asks what the other one
 * does, and the pair has the bus's capacity; a command waits for a turn even
 * where the other one leaves its own unused.  As all distances between commands
 * of a channel are even then (dramtime.c), a command is in turn if `floor` and
 * `row_floor` are; hd_dram_turn_at rounds what comes from elsewhere: arrivals,
 * refreshes, copies.
 *
 * Left out: half cycles (an activate of HBM3 has 1.5, a precharge 0.5: 2 and
 * 1 here), and turns given away.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMBUS_H
#define HD_DRAMBUS_H

#include "dramchan.h"

/* The first cycle from this one on in which the channel may command. */
static inline uint64_t hd_dram_turn_at(const struct hd_dram *d,
                                       const struct hd_dramlane *l,
                                       uint64_t cycle)
{
    return cycle + ((cycle ^ l->c) & d->t.pair);
}

/* Row commands are to be decided from here on. */
static inline uint64_t hd_dram_rows_from(const struct hd_dram *d,
                                         const struct hd_dramlane *l)
{
    return d->t.split ? l->ch->row_floor : l->ch->floor;
}

/* All commands up to a cycle are decided. */
static inline void hd_dram_decided(const struct hd_dram *d,
                                   const struct hd_dramlane *l, uint64_t cycle)
{
    struct hd_dramchan *ch = l->ch;
    uint64_t from = hd_dram_turn_at(d, l, cycle + 1);

    ch->floor = hd_max_u64(ch->floor, from);
    if (HD_UNLIKELY(d->t.split))
        ch->row_floor = hd_max_u64(ch->row_floor, from);
}

/* The planned command has been issued. */
static inline void hd_dram_held(const struct hd_dram *d,
                                const struct hd_dramlane *l)
{
    struct hd_dramchan *ch = l->ch;
    uint64_t at = ch->plan_at;

    if (!d->t.split) {
        ch->floor = at + d->t.step;
    } else if (ch->plan_kind == HD_DRAM_RD || ch->plan_kind == HD_DRAM_WR) {
        ch->floor = at + d->t.step;
        ch->row_floor = hd_max_u64(ch->row_floor, at);
    } else {
        ch->row_floor = at + d->t.held[ch->plan_kind == HD_DRAM_ACT];
        ch->floor = hd_max_u64(ch->floor, at);
    }
}

#endif
