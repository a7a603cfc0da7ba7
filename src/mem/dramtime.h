/*
 * dramtime.h - the state of the banks and buses of a channel: what each
 * command forbids afterwards.
 *
 * Every constraint is a least distance between two commands.  The controller
 * keeps, for each bank and for the channel, the first cycle at which each kind
 * of command is legal again, and moves it when a command issues; a command is
 * legal from the maximum of the cycles that concern it.  The checker
 * (dramcheck.c) keeps the commands instead and compares every pair.
 *
 * The data bus needs no state of its own: bursts in one direction are at
 * least BL apart and the turn-around distances are at least what keeps data
 * of both directions apart.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMTIME_H
#define HD_DRAMTIME_H

#include "dramchan.h"

static inline void hd_dramtime_init(struct hd_dramtime *t,
                                    const struct hd_dram_cfg *c)
{
    uint32_t turn = c->cl + c->bl > c->wl ? c->cl + c->bl - c->wl : 1;
    uint32_t back = c->wl + c->bl > c->cl ? c->wl + c->bl - c->cl : 1;

    t->other = c->tccd_s > c->bl ? c->tccd_s : c->bl;
    t->same = c->tccd_l;
    t->rd_wr = hd_dram_trtw(c) > turn ? hd_dram_trtw(c) : turn;
    if (t->rd_wr < c->tccd_s)
        t->rd_wr = c->tccd_s;
    t->wr_rd = c->wl + c->bl + c->twtr;
    if (t->wr_rd < back)
        t->wr_rd = back;
    if (t->wr_rd < c->tccd_s)
        t->wr_rd = c->tccd_s;
    t->rd_data = c->cl + c->bl;
    t->wr_data = c->wl + c->bl;
    t->rd_pre = c->trtp;
    t->wr_pre = c->wl + c->bl + c->twr;
}

static inline void hd_dramtime_raise(uint64_t *at, uint64_t to)
{
    *at = *at < to ? to : *at;
}

static inline void hd_dramtime_activate(const struct hd_dram_cfg *t,
                                        struct hd_dramchan *ch,
                                        struct hd_drambank *k, uint64_t cycle)
{
    k->rd_ok = cycle + t->trcdrd;
    k->wr_ok = cycle + t->trcdwr;
    k->pre_ok = cycle + t->tras;
    k->act_ok = cycle + t->trc;
    ch->act_ok = cycle + t->trrd;
    if (t->tfaw != 0) {
        ch->faw[ch->faw_next] = cycle + t->tfaw;
        ch->faw_next = (ch->faw_next + 1) % 4;
        hd_dramtime_raise(&ch->act_ok, ch->faw[ch->faw_next]);
    }
}

static inline void hd_dramtime_precharge(const struct hd_dram_cfg *t,
                                         struct hd_drambank *k, uint64_t cycle)
{
    hd_dramtime_raise(&k->act_ok, cycle + t->trp);
}

static inline void hd_dramtime_column(const struct hd_dramtime *t,
                                      struct hd_dramchan *ch,
                                      struct hd_drambank *k, uint32_t group,
                                      bool write, uint64_t cycle)
{
    ch->group_ok[group] = cycle + t->same;
    if (write) {
        hd_dramtime_raise(&ch->col_ok[0], cycle + t->wr_rd);
        hd_dramtime_raise(&ch->col_ok[1], cycle + t->other);
        hd_dramtime_raise(&k->pre_ok, cycle + t->wr_pre);
    } else {
        hd_dramtime_raise(&ch->col_ok[0], cycle + t->other);
        hd_dramtime_raise(&ch->col_ok[1], cycle + t->rd_wr);
        hd_dramtime_raise(&k->pre_ok, cycle + t->rd_pre);
    }
}

#endif
