/*
 * dramcount.c - the counters of the DRAM system.
 *
 * Requests are counted in the tally of their channel and application
 * (dramcount.h).  It is added to the counters before they are read; who reads
 * them between two calls of sync gets what is still in it besides.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramcount.h"

#include <string.h>

const struct hd_stat_desc hd_dram_stats[ST_COUNT] = {
    [ST_READS] = {"reads", "requests", "reads of data answered", 0},
    [ST_WRITES] = {"writes", "requests", "writes whose data were sent", 0},
    [ST_WALKS] = {"walk_reads", "requests",
                  "reads of page-table entries answered", 0},
    [ST_SILVER] = {"silver", "requests", "requests queued as silver", 0},
    [ST_GOLDEN] = {"golden", "requests", "requests queued as golden", 0},
    [ST_DATA_BURSTS] = {"data_bursts", "bursts",
                        "bursts read or written for data", 0},
    [ST_WALK_BURSTS] = {"walk_bursts", "bursts",
                        "bursts read for page-table entries", 0},
    [ST_BUSY] = {"busy", "DRAM cycles",
                 "cycles in which the data bus carried data", 0},
    [ST_ROW_HITS] = {"row_hits", "requests",
                     "requests whose row another one had opened", 0},
    [ST_ACTIVATES] = {"activates", "commands", "rows opened", 0},
    [ST_PRECHARGES] = {"precharges", "banks", "rows closed", 0},
    [ST_REFRESHES] = {"refreshes", "commands", "refreshes of all banks", 0},
    [ST_QUEUE_FULL] = {"queue_full", "waits",
                       "times a sender found the queue full", 0},
    [ST_TURNS] = {"turns", "turns",
                  "silver turns begun, counted to who got them", 0},
    [ST_CYCLES] = {"cycles", "DRAM cycles", "cycles that have passed", 0},
};
const uint32_t hd_dram_stat_count = ST_COUNT;

const struct hd_hist_desc hd_dram_hists[] = {
    {"dram", "data_latency", "DRAM cycles",
     "From acceptance by a channel to the last datum, reads of data"},
    {"dram", "walk_latency", "DRAM cycles",
     "From acceptance by a channel to the last datum, reads of page-table "
     "entries"},
};
const uint32_t hd_dram_hist_count = HD_LEN(hd_dram_hists);

/* One channel and application. */
static void fold(const struct hd_dram *d, const struct hd_dramtally *t,
                 uint64_t *row)
{
    row[ST_READS] += t->reads;
    row[ST_WRITES] += t->writes;
    row[ST_WALKS] += t->walks;
    row[ST_DATA_BURSTS] += t->data_bursts;
    row[ST_WALK_BURSTS] += t->walk_bursts;
    row[ST_BUSY] += (t->data_bursts + t->walk_bursts) * d->cfg.bl;
    row[ST_ROW_HITS] += t->row_hits;
    row[ST_ACTIVATES] += t->activates;
    row[ST_PRECHARGES] += t->precharges;
}

/* For those who read counters between two calls of sync. */
static void open_counts(void *self, uint32_t c, uint32_t app, uint64_t *add)
{
    const struct hd_dram *d = self;

    fold(d, &d->lane[c].tally[app], add);
}

void hd_dram_fold(struct hd_dram *d)
{
    for (uint32_t c = 0; c < d->cfg.channels; c++)
        for (uint32_t i = 0; i < d->stat.apps; i++) {
            struct hd_dramtally *t = &d->lane[c].tally[i];
            fold(d, t, hd_count_row(&d->stat, c, i));
            memset(t, 0, sizeof *t);
        }
}

void hd_dramcount_open(struct hd_dram *d)
{
    struct hd_stats *st = d->env->stats;

    d->stat =
        hd_stats_group(st, "dram", hd_dram_stats, ST_COUNT, d->cfg.channels);
    hd_stats_open_time(st, open_counts, d);
    d->data_latency = hd_stats_hist(st, &hd_dram_hists[0]);
    d->walk_latency = hd_stats_hist(st, &hd_dram_hists[1]);
}
