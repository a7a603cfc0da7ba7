/*
 * chunk.c - chunks: 2 MB of GPU memory that are taken at once (uvm.chunks), as
 * NVIDIA's driver allocates.
 *
 * Where they are on, 2 MB of one allocation take 512 frames with their first
 * page, and give them when the last has been evicted.  A chunk is a number here
 * and no place: pages get their frames one by one, and `spare` is what others
 * must not take.
 *
 * Invariant: what chunks hold is what their regions have; frames owned and
 * spare are not more than memory has.
 *
 * Left out on purpose: the driver's chunks of 64 KB and 4 KB, for what is
 * smaller than 2 MB or finds no whole chunk: such pages take frames one by one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ptstate.h"

uint64_t hd_ptables_room(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    uint32_t held =
        hd_pt_region_of(t, hd_pt_region_number(hd_pt_slot_of(t, app, vpn.v)))
            ->held;

    return hd_ptables_free(t) + (held != 0 ? HD_LARGE_PAGES - held : 0);
}

bool hd_ptables_small(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    return HD_UNLIKELY(t->cfg.chunks) &&
           hd_pt_region_of(t, hd_pt_region_number(hd_pt_slot_of(t, app, vpn.v)))
                   ->held == 0;
}

void hd_pt_hold(struct hd_ptables *t, const struct hd_pt_slot *h, int32_t n)
{
    struct hd_pt_region *r = hd_pt_region_of(t, hd_pt_region_number(h));

    t->s->spare += r->held == 0 ? HD_LARGE_PAGES : 0;
    r->held = (uint32_t)((int32_t)r->held + n);
    t->s->spare -= (uint64_t)(int64_t)n;
    t->s->spare -= r->held == 0 ? HD_LARGE_PAGES : 0;
}

void hd_pt_check_chunks(const struct hd_ptables *t, struct heddle_error *err)
{
    uint64_t spare = 0, used = hd_frames_used(&t->frames);

    for (uint32_t i = 0; i < t->s->regions; i++) {
        const struct hd_pt_region *r = hd_pt_region_of(t, i);
        const struct hd_pt_slot *h =
            hd_pt_slot_of(t, r->app, r->number * HD_LARGE_PAGES);
        const uint64_t *e = hd_pt_entry(t, h->at);
        uint32_t n = 0;
        if (r->held == 0)
            continue;
        for (uint32_t k = 0; k < HD_LARGE_PAGES; k++)
            n += h->region_bits & HD_PT_JOINED ||
                 e[k] & (HD_PT_IN_FLIGHT | HD_PT_EVICTING) ||
                 (e[k] & HD_PT_PRESENT &&
                  (e[k] & HD_PT_FRAME) / HD_PAGE_BYTES < HD_HOST_FRAME);
        spare += HD_LARGE_PAGES - n;
        if (n != r->held)
            hd_err_set(err, HEDDLE_ECHECK,
                       "application %u, the 2 MB at page 0x%llx: %u pages have "
                       "frames of their chunk, %u are counted",
                       r->app, (unsigned long long)r->number * HD_LARGE_PAGES,
                       n, r->held);
    }
    if (spare != t->s->spare || used + spare > t->frames.frames)
        hd_err_set(err, HEDDLE_ECHECK,
                   "frames: %llu of %llu are used, and chunks have %llu more; "
                   "%llu are counted",
                   (unsigned long long)used,
                   (unsigned long long)t->frames.frames,
                   (unsigned long long)spare, (unsigned long long)t->s->spare);
}
