/*
 * l1dstate.h - inside the L1 cache of a core: what l1d.c shares with warm.c and
 * remap.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_L1DSTATE_H
#define HD_L1DSTATE_H

#include "machine.h"
#include "pages/frame.h"
#include "core.h"

/* The L1 cache is neither off nor ideal. */
static inline bool hd_l1d_is_full(const struct hd_core *c)
{
    return c->gpu->m->l1cache.mode.kind == HD_FULL;
}

/* A store of an instruction is sent: with core.exit=stores its warp does not
 * end before it is acknowledged. */
static inline void hd_l1d_owed(struct hd_core *c, uint32_t memop)
{
    if (HD_UNLIKELY(c->owes))
        c->warp[c->memop[memop].warp].flight++;
}

/* Enters a line into the L1.  True: *victim is to be written back.  Only stores
 * that allocate can have inserted the line since it was missed. */
static HD_INLINE bool hd_l1d_place(struct hd_core *c, uint64_t line, bool dirty,
                                   struct hd_who by, uint64_t *victim)
{
    uint32_t kind = dirty ? HD_REQ_WRITE : HD_REQ_READ, app;

    if (HD_UNLIKELY(c->gpu->m->l1cache.write == HD_WRITE_BACK))
        return hd_cache_fill(&c->l1, line, kind, 0, dirty, by, victim, &app);
    hd_cache_enter(&c->l1, hd_cache_set(&c->l1, line), line, kind, 0, dirty, by,
                   victim, &app);
    return false;
}

/* The frame of a line is dirty from now on. */
static inline void hd_l1d_written(const struct hd_core *c, uint64_t line)
{
    const struct hd_gpu *g = c->gpu;

    if (HD_UNLIKELY(g->dirty != NULL)) {
        uint64_t frame = line >> (HD_PAGE_SHIFT - g->line_shift);
        if (frame < HD_HOST_FRAME)
            hd_frame_write(g->dirty, frame);
    }
}

#endif
