/*
 * evictwide.c - units that are evicted with another: those of a coalesced
 * region, and those of a tree.
 *
 * Where pages of a coalesced region are to be evicted, region_split is asked:
 * the region is split, or all of it is evicted; the costs are those of any
 * splitting (manage.c).
 *
 * With evict.unit=tree the unit is 64 KB, and what is left of pieces of 128 KB
 * to 2 MB around it that are less than half resident is evicted in the same
 * eviction (tree.c; Ganguly et al., ISCA 2019); pinned pages stay.
 *
 * SPDX-License-Identifier: MIT
 */
#include "evictstate.h"

#include "tree.h"

bool hd_evictwide_region(struct hd_evict *v, uint32_t u)
{
    uint32_t app, left = 0, first = u / v->per * v->per;
    hd_vpn vpn = hd_evict_place(v, u, &app);
    struct hd_xlate x;

    if (!hd_ptables_large(v->w.tables, app, vpn, &x))
        return false;
    for (uint32_t i = 0; i < v->per && first + i < v->s->room; i++)
        left += first + i == u ? hd_evict_at(v, u)->pinned
                               : hd_evict_at(v, first + i)->pages;
    return !v->w.manager.split(v->w.manager.self, app, vpn, left) &&
           v->w.manager.split(v->w.manager.self, app, vpn, 0);
}

void hd_evictwide_rest(struct hd_evict *v, uint32_t u, uint64_t *bytes)
{
    uint32_t w = u / v->per * v->per, end = w + v->per;

    for (; w < end && w < v->s->room; w++)
        if (w != u && hd_evict_can(hd_evict_at(v, w)))
            hd_evict_unmap(v, w, bytes);
}

/* The rest of nodes of the unit's tree that are less than half resident without
 * it. */
uint32_t hd_evictwide_tree(const struct hd_evict *v, uint32_t u, hd_vpn page)
{
    uint32_t app, had = 0, first = u / v->per * v->per;
    uint64_t at_first = hd_evict_place(v, first, &app).v, begin;
    hd_vpn end;

    begin =
        hd_max_u64(hd_ptables_range(v->w.tables, app, page, &end).v, at_first);
    end.v = hd_min_u64(end.v, at_first + HD_LARGE_PAGES);
    for (uint32_t i = 0; i < v->per && first + i < v->s->room; i++)
        had |= (hd_evict_at(v, first + i)->pages != 0 ? 1u : 0u) << i;
    return had & ~hd_tree_stay(
                     had,
                     (struct hd_tree_run){.first = (uint32_t)(begin - at_first),
                                          .pages = (uint32_t)(end.v - begin)},
                     u - first);
}
