/*
 * hostmap.c - host-mapped pages: pages of the host's memory that are used where
 * they are (paging/remote.c; UVM's remote mappings).
 *
 * Such a page is present, and its frame is one of the host's memory: from
 * HD_HOST_FRAME on, by the number of its region, 512 a region, which no other
 * page has.  The L2 sends what has such an address over the link (memory/
 * l2host.c).  It takes no frame of GPU memory, so it can be taken back at once:
 * its data have never moved.
 *
 * Left out on purpose: the host's caches and its IOMMU: an access takes the
 * link's time, wherever on the host its line is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ptstate.h"

hd_pfn hd_ptables_host_frame(const struct hd_ptables *t, uint32_t app,
                             hd_vpn vpn)
{
    uint64_t region = hd_pt_region_number(hd_pt_slot_of(t, app, vpn.v));

    return (hd_pfn){HD_HOST_FRAME + region * HD_LARGE_PAGES + (vpn.v & 511)};
}

hd_vpn hd_ptables_host_page(const struct hd_ptables *t, hd_pfn pfn,
                            uint32_t *app)
{
    uint64_t n = pfn.v - HD_HOST_FRAME;
    const struct hd_pt_region *r =
        hd_pt_region_of(t, (uint32_t)(n / HD_LARGE_PAGES));

    *app = r->app;
    return (hd_vpn){r->number * HD_LARGE_PAGES + n % HD_LARGE_PAGES};
}

enum hd_map_host hd_ptables_can_map_host(const struct hd_ptables *t,
                                         uint32_t app, hd_vpn vpn)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    uint64_t most = HD_HOST_FRAME / HD_LARGE_PAGES; /* TLBs: 32 bits of frame */

    if (h->key == 0 || h->region_bits & HD_PT_JOINED ||
        hd_pt_region_number(h) >= most ||
        (*hd_pt_leaf(t, h, vpn.v) & (HD_PT_NONRESIDENT | HD_PT_IN_FLIGHT)) !=
            HD_PT_NONRESIDENT)
        return HD_MAP_HOST_NEVER;
    return *hd_pt_leaf(t, h, vpn.v) & HD_PT_EVICTING ? HD_MAP_HOST_LATER
                                                     : HD_MAP_HOST_CAN;
}

void hd_ptables_map_host(struct hd_ptables *t, uint32_t app,
                         const struct hd_xlate *x)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, x->vpn.v);

    hd_at_home(t->env, HD_SIDE_MANAGER);
    hd_pt_put(t, h, x->vpn.v, x->pages, hd_ptables_host_frame(t, app, x->vpn).v,
              HD_PT_PRESENT | (*hd_pt_leaf(t, h, x->vpn.v) &
                               (HD_PT_EVICTED | HD_PT_TOUCHED)));
    hd_pt_count_present(t, h, app, x->vpn.v, x->pages, true);
    hd_pt_rescan(t, app, x->vpn.v, x->pages);
    t->s->host_mapped += x->pages;
}

void hd_ptables_unmap_host(struct hd_ptables *t, uint32_t app,
                           const struct hd_xlate *x)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, x->vpn.v);

    hd_at_home(t->env, HD_SIDE_MANAGER);
    hd_pt_put(t, h, x->vpn.v, x->pages, HD_NO_FRAME,
              HD_PT_NONRESIDENT | (*hd_pt_leaf(t, h, x->vpn.v) &
                                   (HD_PT_EVICTED | HD_PT_TOUCHED)));
    hd_pt_count_present(t, h, app, x->vpn.v, x->pages, false);
    hd_pt_rescan(t, app, x->vpn.v, x->pages);
    t->s->host_mapped -= x->pages;
    t->s->changes++;
}

uint64_t hd_ptables_host_mapped(const struct hd_ptables *t, uint64_t *lost)
{
    *lost = t->s->host_mapped_lost;
    return t->s->host_mapped;
}
