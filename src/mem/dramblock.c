/*
 * dramblock.c - banks that are busy with something of their own.
 *
 * A copy inside DRAM (RowClone, Seshadri et al., MICRO 2013) uses the rows of
 * both pages and no channel.  Their banks take no command until it is over;
 * the other banks go on.  A row that was open before is so afterwards: what
 * the copy's own activates leave behind is not modelled.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramchan.h"

/* The earliest commands of a bank move to `until`; of an open row, reads by the
 * difference of their tRCD and that of writes beyond. */
static void block(struct hd_dram *d, uint32_t c, uint32_t b, uint64_t until)
{
    struct hd_drambank *k = hd_drambank_at(d, c, b);
    uint64_t rcd = d->t.rcd[0] < d->t.rcd[1] ? d->t.rcd[0] : d->t.rcd[1];

    k->row_ok[BANK_ACT] = hd_max_u64(k->row_ok[BANK_ACT], until);
    k->row_ok[BANK_PRE] = hd_max_u64(k->row_ok[BANK_PRE], until);
    k->act_at = hd_max_u64(k->act_at, until - hd_min_u64(until, rcd));
    hd_dramqueue_refresh(d, c, b);
}

void hd_dram_block(struct hd_dram *d, hd_time now, uint32_t app, hd_pa pa,
                   uint32_t bytes, hd_time until)
{
    uint32_t home = hd_dram_home(d, app);
    uint64_t cycle = hd_ceil_div(until, d->tick);
    uint32_t piece = hd_dram_piece(&d->cfg);

    if (d->cfg.mode.kind != HD_FULL)
        return;
    for (uint64_t at = pa.v; at < pa.v + bytes; at += piece) {
        struct hd_dramaddr a = hd_drammap_locate(&d->map, at);
        hd_dramsched_advance(d, home + a.channel, hd_ceil_div(now, d->tick));
        block(d, home + a.channel, a.bank, cycle);
    }
}

uint32_t hd_dram_bank(const struct hd_dram *d, uint32_t app, hd_pa pa)
{
    struct hd_dramaddr a = hd_drammap_locate(&d->map, pa.v);

    return (hd_dram_home(d, app) + a.channel) * d->cfg.banks + a.bank;
}

uint32_t hd_dram_banks(const struct hd_dram *d)
{
    return d->cfg.channels * d->cfg.banks;
}

uint32_t hd_dram_piece_bytes(const struct hd_dram *d)
{
    return hd_dram_piece(&d->cfg);
}

bool hd_dram_same_channels(const struct hd_dram *d, hd_pa one, hd_pa other,
                           uint32_t bytes)
{
    uint32_t piece = hd_dram_piece(&d->cfg);

    for (uint32_t at = 0; at < bytes; at += piece)
        if (hd_dram_channel(d, (hd_pa){one.v + at}) !=
            hd_dram_channel(d, (hd_pa){other.v + at}))
            return false;
    return true;
}
