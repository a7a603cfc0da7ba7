/*
 * l2host.c - lines of the host's memory: pages that are used where they are
 * (paging/remote.c).
 *
 * Their addresses are behind DRAM's.  A request for one goes to the link where
 * others go to the miss queue, and what comes is not kept unless remote.cache
 * says so.  Where it is not kept, a write is sent as it is, and what an atomic
 * has changed follows it (l2.c asks hd_l2_not_kept).
 *
 * Left out: coherence with the host's own caches.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2slice.h"

void hd_l2_host(struct hd_l2 *l2, struct hd_below host, uint64_t from,
                bool kept)
{
    l2->host = host;
    for (uint32_t i = 0; i < l2->cfg.slices; i++)
        l2->slice[i].host_from = from;
    l2->host_kept = kept;
}

HD_APART void hd_l2_send_host(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    const struct hd_req *q = hd_l2_request(sl, r);

    hd_l2_counters(sl, q->app)[q->kind == HD_REQ_WRITE ? HD_L2_DRAM_WRITES
                                                       : HD_L2_DRAM_READS]--;
    sl->l2->host.send(sl->l2->host.self, now, r);
}
