/*
 * dramtime.c - least distances between commands, from the settings: what the
 * datasheet's timings (tCCD, tRCD, tWTR ...) mean for a controller that keeps
 * the first legal cycle of each kind of command.
 *
 * A setting may be smaller than what the data bus or the bank needs by itself;
 * the larger counts.
 *
 * A pseudo-channel of a pair commands in every second cycle, so all distances
 * between its commands are even; the time to the data is not (drambus.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramchan.h"

static uint16_t dram_most(uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t n = hd_max_u64(hd_max_u64(a, b), c);

    hd_assert(n <= UINT16_MAX);
    return (uint16_t)n;
}

/* Distances between commands become whole numbers of a channel's turns. */
static void dram_round(struct hd_dramtime *t)
{
    uint16_t *v[] = {&t->same,    &t->other,    &t->again,  &t->turn[0],
                     &t->turn[1], &t->pre[0],   &t->pre[1], &t->rcd[0],
                     &t->rcd[1],  &t->tras,     &t->trc,    &t->trrd,
                     &t->tfaw,    &t->trp,      &t->trfc,   &t->trfcpb,
                     &t->trrefd,  &t->same_read};

    for (uint32_t i = 0; i < HD_LEN(v); i++)
        *v[i] = dram_most(*v[i] + (*v[i] & 1u), 0, 0);
}

void hd_dram_time(struct hd_dramtime *t, const struct hd_dram_cfg *c)
{
    uint32_t turn = c->cl + c->bl > c->wl ? c->cl + c->bl - c->wl : 1;
    uint32_t back = c->wl + c->bl > c->cl ? c->wl + c->bl - c->cl : 1;

    t->other = dram_most(c->tccd_s, c->bl, 0);
    t->same = dram_most(c->tccd_l, 0, 0);
    t->again = dram_most(t->same, t->other, 0);
    t->turn[0] = dram_most(hd_dram_trtw(c), turn, c->tccd_s);
    t->turn[1] = dram_most(c->wl + c->bl + c->twtr, back, c->tccd_s);
    t->same_read = dram_most(c->wl + c->bl + hd_dram_twtr_l(c), 0, 0);
    t->data[0] = dram_most(c->cl + c->bl, 0, 0);
    t->data[1] = dram_most(c->wl + c->bl, 0, 0);
    t->pre[0] = dram_most(c->trtp, 0, 0);
    t->pre[1] = dram_most(c->wl + c->bl + c->twr, 0, 0);
    t->rcd[0] = dram_most(c->trcdrd, 0, 0);
    t->rcd[1] = dram_most(c->trcdwr, 0, 0);
    t->tras = dram_most(c->tras, 0, 0);
    t->trc = dram_most(c->trc, 0, 0);
    t->trrd = dram_most(c->trrd, 0, 0);
    t->tfaw = dram_most(c->tfaw, 0, 0);
    t->trp = dram_most(c->trp, 0, 0);
    t->trfc = dram_most(c->trfc, 0, 0);
    t->trfcpb = dram_most(c->trfcpb, 0, 0);
    t->trrefd = dram_most(c->trrefd, 0, 0);
    t->pair = c->pseudo == HD_DRAM_PSEUDO_PAIR;
    if (t->pair)
        dram_round(t);
    t->split = c->buses == HD_DRAM_BUSES_SPLIT;
    t->step = (uint16_t)(1u + t->pair);
    t->held[0] = t->step;
    t->held[1] = dram_most(c->tact * t->step, 0, 0);
    t->grouped = hd_dram_twtr_l(c) > c->twtr;
    t->modern = t->pair || t->split || t->grouped;
    t->rcd_least = t->rcd[0] < t->rcd[1] ? t->rcd[0] : t->rcd[1];
    for (uint32_t w = 0; w < 2; w++) {
        t->runs[w] = t->turn[w] > t->again;
        t->pairs[w] =
            t->runs[w] && t->same > t->other && t->same <= 2 * t->other;
    }
}
