/*
 * past.c - loads that pass the L1 cache, as PTX's ld.global.cg does ("cache at
 * global level: in the L2 and below, not in the L1").
 *
 * Such a load is translated like any other, and then asks the L2 for its line.
 * It holds an MSHR under a key of its own, so that it is merged with none in
 * flight and none with it, and leaves nothing in the L1.  It counts as a
 * look-up that misses, since reads of the L2 and misses of the L1 are compared
 * with each other. A line that is there stays, since nothing says that it is
 * old; one of an L1 that is write-back may be dirty, and leaves as before an
 * atomic.
 *
 * Invariant: an MSHR whose key has its highest bit set fills no line (l1d.c).
 *
 * Left out: that the hardware may merge such loads with each other.
 *
 * SPDX-License-Identifier: MIT
 */
#include "past.h"
#include "l1dstate.h"

bool hd_past_line(struct hd_core *c, uint32_t memop, uint64_t line, hd_time t,
                  hd_time ticks)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    bool back = cfg->write == HD_WRITE_BACK;
    uint32_t e;

    if (back && !hd_l1d_has_room(c, t))
        return false;
    e = hd_l1d_own_mshr(c, line, memop);
    if (e == HD_NONE)
        return false;
    if (back && hd_l1d_is_full(c) && hd_cache_drop(&c->l1, line))
        hd_l1d_write_back(c, line, t);
    c->l1_count[HD_L1_READS]++;
    c->l1_count[HD_L1_READ_MISSES]++;
    hd_l1d_ask(c, t + ticks, HD_REQ_READ, line, cfg->line, memop, e, 0);
    return true;
}
