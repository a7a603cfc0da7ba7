/*
 * hostmem.c - what the host does to memory between launches.
 *
 * Allocations come and go: the host gives buffers back when their last launch
 * has retired, and all go with the application where memory.free_at_end says
 * so.  When it starts again, what went comes back at the same addresses, before
 * the first block can run.  The memory manager does both at an instant that no
 * core has reached (pages/manage.c).
 *
 * With vm.paging=fault, advice, prefetches and touches of the host take effect
 * one after the other, and the next launch waits for them, as kernels do that
 * come later in a stream.  With vm.paging=launch an application's first launch
 * waits until its allocations have been copied to the GPU: the link's latency
 * once, and then all their bytes, in pieces of at most 2 MB so that
 * applications share the link.  A relaunch finds them there.
 *
 * Where no buffer is given back and nothing comes from the host, launches start
 * at once.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "dispatchstate.h"
#include "paging/link.h"

enum { COPY_BYTES = 2 << 20 }; /* of a piece */

/* Allocation i went before.  Only programs give back single ones. */
static bool hostmem_gone(const struct hd_app_state *a, uint32_t i)
{
    return a->all_gone ||
           (i < 64 * HD_LEN(a->gone) && a->gone[i / 64] >> (i % 64) & 1);
}

void hd_hostmem_give(struct hd_dispatch *d, uint32_t app, hd_time now, bool all)
{
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    struct hd_alloc x;

    if (!all && src->ops->gone == NULL)
        return;
    for (uint32_t i = 0; src->ops->alloc(src->self, i, &x); i++) {
        if (hostmem_gone(a, i) || (!all && !src->ops->gone(src->self, i)))
            continue;
        hd_manage_ask(d->g->manager, now, app, i, x.base, x.bytes, false);
        if (!all)
            a->gone[i / 64] |= 1ull << (i % 64);
    }
    a->all_gone |= all;
}

void hd_hostmem_take(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    struct hd_alloc x;

    for (uint32_t i = 0; src->ops->alloc(src->self, i, &x); i++)
        if (hostmem_gone(a, i))
            hd_manage_ask(d->g->manager, now, app, i, x.base, x.bytes, true);
    memset(a->gone, 0, sizeof a->gone);
    a->all_gone = 0;
}

void hd_hostmem_copy(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_gpu *g = d->g;
    struct hd_source *src = g->source[app];
    struct hd_app_state *a = &d->app[app];
    struct hd_alloc x;
    uint64_t n;

    while (src->ops->alloc(src->self, a->copying - 1, &x)) {
        if (a->copied < x.bytes) {
            n = hd_min_u64(x.bytes - a->copied, COPY_BYTES);
            a->copied += n;
            hd_link_send(g->link, now, HD_LINK_IN, app, n, d->link_client, app);
            return;
        }
        a->copied = 0;
        a->copying++;
    }
    hd_dispatch_go(d, app, now);
}

void hd_hostmem_prepare(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_source *src = d->g->source[app];
    struct hd_alloc x;
    struct hd_hint h;

    if (d->g->m->vm.paging != HD_PAGING_FAULT || src->ops->hint == NULL ||
        !src->ops->hint(src->self, &h) ||
        !src->ops->alloc(src->self, h.alloc, &x)) {
        hd_dispatch_go(d, app, now);
        return;
    }
    hd_manage_hint(d->g->manager, now, app, (hd_va){x.base.v + h.offset},
                   h.bytes != 0 ? h.bytes : x.bytes, &h);
}

void hd_dispatch_hinted(void *gpu, uint32_t from, uint32_t app, hd_time now)
{
    const struct hd_gpu *g = gpu;

    hd_post(g->env->ev, from, g->dispatch->component, now, HD_DISPATCH_HINTED,
            app, 0);
}
