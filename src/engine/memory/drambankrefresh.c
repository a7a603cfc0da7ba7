/*
 * drambankrefresh.c - refresh of one bank at a time (dram.refresh_by=bank;
 * JEDEC's REFpb, in HBM2 REFSB; tRFCpb, tRREFD).
 *
 * Banks are refreshed in the order of their numbers, one every tREFI / banks.
 * When its refresh is due a bank offers no more work; its row is closed as soon
 * as it may be, and it is refreshed as soon as it could be activated, so four
 * activates hold it back, too.  It takes no activate for tRFCpb then, the
 * others none for tRREFD.  They continue meanwhile: of commands that are legal
 * in one cycle, that of the refresh goes first.  What a bank's refresh does not
 * delay is what the others have open.
 *
 * Those of an idle channel with closed rows are counted at once, as those of
 * all banks are (dramrefresh.c), unless commands are watched.
 *
 * Left out: refreshes that are postponed, pulled in or sent out of turn, as
 * controllers do for banks that are in demand (Chang et al., HPCA 2014), and
 * those of pairs of banks (GDDR6's REFp2b).
 *
 * SPDX-License-Identifier: MIT
 */
#include "drambus.h"

void hd_dram_plan_bank_refresh(struct hd_dram *d, const struct hd_dramlane *l)
{
    struct hd_dramchan *ch = l->ch;
    const struct hd_drambank *k = &l->bank[ch->ref_bank];
    uint64_t at =
        hd_dram_turn_at(d, l, hd_max_u64(hd_dram_rows_from(d, l), ch->ref_at));

    if (!ch->ref_due) {
        hd_dram_plan_command(ch, ch->ref_at, HD_DRAM_DUE, ch->ref_bank);
        return;
    }
    at = hd_max_u64(at, k->row_ok[k->open]);
    if (!k->open)
        at = hd_max_u64(at, ch->act_ok);
    if (at <= ch->plan_at)
        hd_dram_plan_command(ch, at, k->open ? HD_DRAM_PREB : HD_DRAM_REFB,
                             ch->ref_bank);
}

void hd_dram_issue_bank_refresh(struct hd_dram *d, const struct hd_dramlane *l)
{
    struct hd_dramchan *ch = l->ch;
    uint64_t *count = l->count + d->others * ST_COUNT;
    uint32_t b = ch->ref_bank;
    struct hd_drambank *k = &l->bank[b];

    if (ch->plan_kind == HD_DRAM_DUE) {
        ch->ref_due = 1;
        hd_dram_offer(d, l, b);
        return;
    }
    hd_dram_report(d, l, NO_ENTRY, false);
    if (ch->plan_kind == HD_DRAM_PREB) {
        count[ST_PRECHARGES]++;
        hd_dram_close_row(d, l, b, ch->plan_at);
        return;
    }
    count[ST_REFRESHES]++;
    hd_dram_raise(&k->row_ok[BANK_ACT], ch->plan_at + d->t.trfcpb);
    hd_dram_raise(&ch->act_ok, ch->plan_at + d->t.trrefd);
    ch->ref_due = 0;
    ch->ref_bank = (b + 1) % d->cfg.banks;
    ch->ref_at += hd_dram_trefi(&d->cfg);
    hd_dram_offer(d, l, b);
}

void hd_dram_skip_bank_refreshes(struct hd_dram *d, const struct hd_dramlane *l,
                                 uint64_t cycle)
{
    struct hd_dramchan *ch = l->ch;
    uint32_t every = hd_dram_trefi(&d->cfg);
    uint64_t n, past = ch->ref_at + 2ull * every + d->t.trfcpb;

    if (d->watch != NULL || d->check != NULL || ch->ref_due || cycle < past)
        return;
    for (uint32_t b = 0; b < d->cfg.banks; b++)
        if (l->bank[b].open || l->bank[b].classes != 0)
            return;
    /* those that are over by then; of each bank the last one leaves its mark */
    n = (cycle - d->t.trfcpb - ch->ref_at) / every;
    for (uint64_t i = n > d->cfg.banks ? n - d->cfg.banks : 0; i < n; i++) {
        uint64_t at = hd_dram_turn_at(d, l, ch->ref_at + i * every);
        struct hd_drambank *k = &l->bank[(ch->ref_bank + i) % d->cfg.banks];
        hd_dram_raise(&k->row_ok[BANK_ACT], at + d->t.trfcpb);
        hd_dram_raise(&ch->act_ok, at + d->t.trrefd);
    }
    l->count[d->others * ST_COUNT + ST_REFRESHES] += n;
    ch->ref_at += n * every;
    ch->ref_bank = (uint32_t)((ch->ref_bank + n) % d->cfg.banks);
    ch->planned = 0;
}
