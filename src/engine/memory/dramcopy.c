/*
 * dramcopy.c - copies inside DRAM: RowClone (Seshadri et al., MICRO 2013), by
 * which Mosaic's compaction moves pages.
 *
 * A copy uses the rows of both pages and no channel.  Their banks take no
 * command until it is over (hd_dram_block); the other banks continue.  A row
 * that was open before is so afterwards: what the copy's own activates leave
 * behind is not modelled.  pages/mover.c decides which copies run, and asks
 * here which bank has a page and whether two places have their pieces in the
 * same channels.
 *
 * SPDX-License-Identifier: MIT
 */
#include "drambus.h"

/* The earliest commands of a bank move to `until`; of an open row, reads by the
 * difference of their tRCD and that of writes beyond. */
static void dram_block(struct hd_dram *d, const struct hd_dramlane *l,
                       uint32_t b, uint64_t until)
{
    struct hd_drambank *k = &l->bank[b];

    until = hd_dram_turn_at(d, l, until);
    hd_dram_raise(&k->row_ok[BANK_ACT], until);
    hd_dram_raise(&k->row_ok[BANK_PRE], until);
    hd_dram_raise(&k->act_at, until - hd_min_u64(until, d->t.rcd_least));
    hd_dram_offer(d, l, b);
}

void hd_dram_block(struct hd_dram *d, hd_time now, uint32_t app, hd_pa pa,
                   uint32_t bytes, hd_time until)
{
    uint64_t cycle = hd_ceil_div(until, d->tick);

    hd_cross(d->env, HD_BORDER_dram);
    if (!d->full)
        return;
    for (uint64_t at = pa.v; at < pa.v + bytes; at += d->map.piece) {
        struct hd_dramaddr a = hd_dram_locate(d, app, at);
        struct hd_dramlane *l = &d->lane[a.channel];
        hd_dram_advance(d, l, hd_ceil_div(now, d->tick));
        dram_block(d, l, a.bank, cycle);
        if (d->check != NULL)
            hd_dramcheck_block(d->check, l->c, a.bank, cycle);
    }
}

uint32_t hd_dram_bank(const struct hd_dram *d, uint32_t app, hd_pa pa)
{
    struct hd_dramaddr a = hd_dram_locate(d, app, pa.v);

    return a.channel * d->cfg.banks + a.bank;
}

uint32_t hd_dram_banks(const struct hd_dram *d)
{
    return d->cfg.channels * d->cfg.banks;
}

uint32_t hd_dram_piece_bytes(const struct hd_dram *d)
{
    return d->map.piece;
}

bool hd_dram_same_channels(const struct hd_dram *d, hd_pa one, hd_pa other,
                           uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at += d->map.piece)
        if (hd_dram_lane(d, 0, (hd_pa){one.v + at}) !=
            hd_dram_lane(d, 0, (hd_pa){other.v + at}))
            return false;
    return true;
}
