/*
 * trace-predict.h - the address that an instruction is expected to touch next.
 *
 * A container holds differences from it, so what writes (trace-pack.c) and what
 * reads (trace-unframe.c) must guess alike: within a warp the last step again,
 * from a warp to the next the distance of their first addresses.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_PREDICT_H
#define HD_TRACE_PREDICT_H

#include <stdint.h>

/* Of one instruction; all 0 at first. */
struct hd_predict {
    uint64_t last, step; /* of this warp */
    uint64_t first;      /* the warp's first address */
    uint64_t across;     /* to it from that of the warp before */
    uint32_t warp;       /* the last that used it, counted from 1; 0: none */
};

static inline uint64_t hd_predict_next(const struct hd_predict *p,
                                       uint32_t warp)
{
    return p->warp == warp ? p->last + p->step : p->first + p->across;
}

static inline void hd_predict_learn(struct hd_predict *p, uint32_t warp,
                                    uint64_t addr)
{
    if (p->warp == warp) {
        p->step = addr - p->last;
    } else {
        p->across = p->warp == 0 ? 0 : addr - p->first;
        p->first = addr;
    }
    p->warp = warp;
    p->last = addr;
}

#endif
