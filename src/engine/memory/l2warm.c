/*
 * l2warm.c - functional warming of the L2: what a request that is served leaves
 * in the tags (struct hd_below's warm), at once and without time.
 *
 * Between the samples of a run (sample.c) requests change what caches hold and
 * nothing else: SMARTS, Wunderlich et al., ISCA 2003.  The rules are those of
 * l2.c and l2bypass.c.  A line that is in flight already will come, so it is
 * only marked dirty.
 *
 * Left out: what DRAM would be sent (reads, dirty victims), ports and queues.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2slice.h"

struct hd_l2_slice *hd_l2_warmed(const struct hd_l2 *l2, struct hd_req *q,
                                 uint32_t *entry)
{
    struct hd_l2_slice *sl;

    q->line = q->pa.v >> l2->line_shift;
    sl = &l2->slice[hd_l2_slice_of(l2, q->app, q->line, &q->spare)];
    if (!l2->full || hd_l2_not_kept(sl, q->pa.v) ||
        (q->flags & HD_REQ_BYPASS) != 0 ||
        ((l2->asks || l2->steer->l2_steered[q->app][q->level]) &&
         hd_l2_bypasses(sl, q)))
        return NULL;
    *entry = hd_assoc_find(&sl->tags.tags, q->spare, q->line);
    hd_cache_used(&sl->tags, q->spare, q->line, *entry, q->kind,
                  hd_l2_who(sl, q), false);
    return sl;
}

void hd_l2_warm(void *self, struct hd_req *q)
{
    const struct hd_l2 *l2 = self;
    bool back = l2->cfg.write == HD_WRITE_BACK, write = q->kind == HD_REQ_WRITE;
    uint64_t victim;
    uint32_t e, m, owner;
    struct hd_l2_slice *sl = hd_l2_warmed(l2, q, &e);

    if (sl == NULL)
        return;
    if (e != HD_NONE || (write && !back))
        return;
    m = hd_mshr_find(&sl->mshr, q->line);
    if (m != HD_NONE)
        sl->mshr.v[m].flags |=
            write || q->kind == HD_REQ_ATOMIC ? HD_L2_DIRTY : 0;
    else if (write)
        hd_l2_place_line(sl, q, 0, true, &victim, &owner);
    else
        hd_l2_place_line(sl, q, q->level, back && q->kind == HD_REQ_ATOMIC,
                         &victim, &owner);
}
