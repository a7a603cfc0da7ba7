/*
 * manager.h - what the parts of paging ask of the memory manager, which alone
 * changes mappings while cores run: at an instant of its own, as soon as no
 * core can be ahead of it (pages/managepaging.c).  A test fills in what its
 * part calls.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_MANAGER_H
#define HD_MANAGER_H

#include "pages/ptable.h"

struct hd_manager {
    void *self;
    /* At such an instant: hd_evict_apply is called; hd_remote_apply of a
     * granule; hd_faults_map_remote of a fault whose pages stay on the host; a
     * page that was pinned there is unmapped; pages that were evicted are
     * mapped on the host from now on; memory is compacted for a page that has
     * found no frame, and hd_faults_again called. */
    void (*evict)(void *self, hd_time now);
    void (*recall)(void *self, hd_time now, uint32_t granule);
    void (*map_host)(void *self, hd_time now, uint32_t fault);
    void (*unpin)(void *self, hd_time now, uint32_t app, hd_vpn vpn);
    void (*map_evicted)(void *self, hd_time now, uint32_t app, hd_vpn vpn,
                        uint32_t pages);
    void (*make_room)(void *self, hd_time now, uint32_t app, uint32_t fault);
    /* At once, at such an instant: asks whether a coalesced region is split of
     * which so many pages stay, and does so, of none always; takes a page's
     * lines out of the caches and returns how many; takes translations out of
     * the TLBs. */
    bool (*split)(void *self, uint32_t app, hd_vpn vpn, uint32_t left);
    uint64_t (*drop)(void *self, uint32_t app, hd_pfn pfn, uint32_t pages);
    void (*shoot)(void *self, uint32_t app, hd_vpn vpn, uint32_t pages);
    /* Pages that are not resident now migrate. */
    void (*migrate)(void *self, hd_time now, uint32_t app, hd_vpn vpn,
                    uint32_t pages);
    /* Driver mode, else NULL: a notification waits; the driver takes them. */
    void (*notified)(void *self, hd_time now);
    /* Notified that a page has arrived and can be used; may be NULL. */
    void (*arrived)(void *self, hd_time now, uint32_t app, hd_vpn vpn,
                    uint32_t pages);
    /* Notified that hd_faults_prefetch or hd_evict_range is over. */
    void (*hinted)(void *self, hd_time now, uint32_t app);
};

#endif
