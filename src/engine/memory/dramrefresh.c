/*
 * dramrefresh.c - refresh of all banks (dram.refresh; JEDEC's REF, tREFI,
 * tRFC).
 *
 * A due refresh stops everything else: all open rows are closed by one command
 * as soon as each may be, then all banks are refreshed.  Those of an idle
 * channel with closed rows are counted at once, unless commands are watched.
 *
 * Refresh of one bank after the other is in drambankrefresh.c.  Left out:
 * postponed refreshes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "drambus.h"

void hd_dram_plan_refresh(struct hd_dram *d, const struct hd_dramlane *l)
{
    struct hd_dramchan *ch = l->ch;
    uint64_t shut =
        hd_dram_turn_at(d, l, hd_max_u64(hd_dram_rows_from(d, l), ch->ref_at));
    uint64_t all = shut;
    bool open = false;

    if (d->cfg.refresh_by == HD_DRAM_REFRESH_BANK) {
        hd_dram_plan_bank_refresh(d, l);
        return;
    }
    for (uint32_t b = 0; b < d->cfg.banks; b++) {
        const struct hd_drambank *k = &l->bank[b];
        open |= k->open;
        all = hd_max_u64(all, k->row_ok[BANK_ACT]);
        if (k->open)
            shut = hd_max_u64(shut, k->row_ok[BANK_PRE]);
    }
    if (open)
        hd_dram_plan_command(ch, shut, HD_DRAM_PREA, 0);
    else
        hd_dram_plan_command(ch, all, HD_DRAM_REF, 0);
}

void hd_dram_issue_refresh(struct hd_dram *d, const struct hd_dramlane *l)
{
    struct hd_dramchan *ch = l->ch;
    uint64_t *count = l->count + d->others * ST_COUNT;
    bool close = ch->plan_kind == HD_DRAM_PREA;

    hd_dram_report(d, l, NO_ENTRY, false);
    for (uint32_t b = 0; b < d->cfg.banks; b++) {
        struct hd_drambank *k = &l->bank[b];
        if (!close) {
            k->row_ok[BANK_ACT] = ch->plan_at + d->t.trfc;
        } else if (k->open) {
            count[ST_PRECHARGES]++;
            hd_dram_close_row(d, l, b, ch->plan_at);
        }
        hd_dram_offer(d, l, b);
    }
    if (!close) {
        count[ST_REFRESHES]++;
        ch->ref_at += d->cfg.trefi;
    }
}

void hd_dram_skip_refreshes(struct hd_dram *d, const struct hd_dramlane *l,
                            uint64_t cycle)
{
    struct hd_dramchan *ch = l->ch;
    uint64_t n;

    if (d->cfg.refresh_by == HD_DRAM_REFRESH_BANK) {
        hd_dram_skip_bank_refreshes(d, l, cycle);
        return;
    }
    if (d->watch != NULL || d->check != NULL ||
        cycle < ch->ref_at + 2ull * d->cfg.trefi)
        return;
    for (uint32_t b = 0; b < d->cfg.banks; b++)
        if (l->bank[b].open || l->bank[b].classes != 0)
            return;
    n = (cycle - ch->ref_at) / d->cfg.trefi;
    l->count[d->others * ST_COUNT + ST_REFRESHES] += n;
    ch->ref_at += n * d->cfg.trefi;
    ch->planned = 0;
}
