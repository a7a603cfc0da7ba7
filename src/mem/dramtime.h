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

static inline uint16_t hd_dramtime_most(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t most = a > b ? a : b;

    most = most > c ? most : c;
    hd_assert(most <= UINT16_MAX);
    return (uint16_t)most;
}

/* How many times t cycles find room in so many; 0, and any number that is less,
 * is right, too. */
static inline uint16_t hd_dramtime_per(uint32_t t)
{
    return t >= 2 && t <= 16 ? (uint16_t)(65535 / t + 1) : 0;
}

static inline uint32_t hd_dramtime_fit(uint32_t per, uint64_t room)
{
    return (room < 4000 ? (uint32_t)room : 4000) * per >> 16;
}

static inline void hd_dramtime_init(struct hd_dramtime *t,
                                    const struct hd_dram_cfg *c)
{
    uint32_t turn = c->cl + c->bl > c->wl ? c->cl + c->bl - c->wl : 1;
    uint32_t back = c->wl + c->bl > c->cl ? c->wl + c->bl - c->cl : 1;

    t->other = hd_dramtime_most(c->tccd_s, c->bl, 0);
    t->same = hd_dramtime_most(c->tccd_l, 0, 0);
    t->again = hd_dramtime_most(t->same, t->other, 0);
    t->turn[0] = hd_dramtime_most(hd_dram_trtw(c), turn, c->tccd_s);
    t->turn[1] = hd_dramtime_most(c->wl + c->bl + c->twtr, back, c->tccd_s);
    t->data[0] = hd_dramtime_most(c->cl + c->bl, 0, 0);
    t->data[1] = hd_dramtime_most(c->wl + c->bl, 0, 0);
    t->pre[0] = hd_dramtime_most(c->trtp, 0, 0);
    t->pre[1] = hd_dramtime_most(c->wl + c->bl + c->twr, 0, 0);
    t->rcd[0] = hd_dramtime_most(c->trcdrd, 0, 0);
    t->rcd[1] = hd_dramtime_most(c->trcdwr, 0, 0);
    t->rcd_least = t->rcd[0] < t->rcd[1] ? t->rcd[0] : t->rcd[1];
    t->per_again = hd_dramtime_per(t->again);
    t->per_other = hd_dramtime_per(t->other);
    for (uint32_t w = 0; w < 2; w++) {
        t->runs[w] = t->turn[w] > t->again;
        t->pairs[w] =
            t->runs[w] && t->same > t->other && t->same <= 2 * t->other;
    }
    t->tras = hd_dramtime_most(c->tras, 0, 0);
    t->trc = hd_dramtime_most(c->trc, 0, 0);
    t->trrd = hd_dramtime_most(c->trrd, 0, 0);
    t->tfaw = hd_dramtime_most(c->tfaw, 0, 0);
    t->trp = hd_dramtime_most(c->trp, 0, 0);
}

static inline void hd_dramtime_raise(uint64_t *at, uint64_t to)
{
    *at = *at < to ? to : *at;
}

static inline void hd_dramtime_activate(const struct hd_dramtime *t,
                                        struct hd_dramchan *ch,
                                        struct hd_drambank *k, uint64_t cycle)
{
    k->act_at = cycle;
    k->row_ok[BANK_PRE] = cycle + t->tras;
    k->row_ok[BANK_ACT] = cycle + t->trc;
    ch->act_ok = cycle + t->trrd;
    if (t->tfaw != 0) {
        ch->faw[ch->faw_next] = cycle + t->tfaw;
        ch->faw_next = (ch->faw_next + 1) % 4;
        hd_dramtime_raise(&ch->act_ok, ch->faw[ch->faw_next]);
    }
}

static inline void hd_dramtime_precharge(const struct hd_dramtime *t,
                                         struct hd_drambank *k, uint64_t cycle)
{
    hd_dramtime_raise(&k->row_ok[BANK_ACT], cycle + t->trp);
}

/* What a column command forbids in its own bank and group. */
static inline void hd_dramtime_own(const struct hd_dramtime *t,
                                   struct hd_dramchan *ch,
                                   struct hd_drambank *k, uint32_t write,
                                   uint64_t cycle)
{
    ch->group_ok[k->group] = cycle + t->same;
    hd_dramtime_raise(&k->row_ok[BANK_PRE], cycle + t->pre[write]);
}

/*
 * A column command, or the last of several of one request.  A legal one lies
 * behind all that the ones before it asked for, and there and back the bus
 * turns no faster than a burst, so what it asks for is later than that.
 */
static inline void hd_dramtime_column(const struct hd_dramtime *t,
                                      struct hd_dramchan *ch,
                                      struct hd_drambank *k, uint32_t write,
                                      uint64_t cycle)
{
    hd_dramtime_own(t, ch, k, write, cycle);
    ch->col_ok[write] = cycle + t->other;
    ch->col_ok[1 - write] = cycle + t->turn[write];
}

#endif
