/*
 * hostmem.c - what the host does to memory between launches and next to them.
 *
 * Allocations come and go: the host gives buffers back when their last launch
 * has retired, and may take them again; all go with the application where
 * memory.free_at_end says so.  When it starts again, what went comes back at
 * the same addresses, before the first block can run.  The memory manager does
 * both at an instant that no core has reached (pages/manage.c).
 *
 * With vm.paging=fault, advice, prefetches and touches of the host take effect
 * one after the other, and the next launch waits for them, as kernels do that
 * come later in a stream.  With vm.paging=launch an application's first launch
 * waits until its allocations have been copied to the GPU: the link's latency
 * once, and then all their bytes, in pieces of at most 2 MB so that
 * applications share the link.  A relaunch finds them there.
 *
 * A launch is asynchronous: the host has calls that it makes while it runs, and
 * then waits for it (cudaDeviceSynchronize).  They take effect one after the
 * other, as in a second stream: the first begins with the launch, each other
 * one when the one before is over.  Where one frees memory, the host waits for
 * the launch to retire, as cudaFree does, which is the only order in which no
 * block can still use it; HD_HINT_GONE (cudaFreeAsync) does not wait, so a
 * source gives it only for what the launch does not use.  The next launch is
 * asked for when the launch has retired and all calls are over.
 *
 * The host's own work between launches is a wait, before the next launch or
 * next to one, with any vm.paging; an application that is copied first waits
 * after that.
 *
 * Where no buffer is given back and nothing comes from the host, launches start
 * at once.
 *
 * Invariant: one call of an application at a time is with the manager.
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
    return a->all_gone || (i < HD_LEN(a->gone) && a->gone[i] & 1);
}

/* Allocation i goes or comes back, as often as its host has said so since. */
static void hostmem_settle(struct hd_dispatch *d, uint32_t app, hd_time now,
                           uint32_t i, const struct hd_alloc *x)
{
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    uint32_t to = i < HD_LEN(a->gone) ? src->ops->gone(src->self, i) & 255 : 0;

    if (HD_LIKELY(i >= HD_LEN(a->gone) || to == a->gone[i]))
        return;
    if (HD_UNLIKELY(hd_streams_in_flight(d, app))) {
        hd_err_set(d->g->env->err, HEDDLE_EPROGRAM,
                   "application %u (%s): its host frees or allocates buffer %s "
                   "while launches of its streams have not retired; expected a "
                   "launch before that which waits for them, of the default "
                   "stream or with sync",
                   app, src->name, x->name);
        return;
    }
    if (!(a->gone[i] & 1))
        hd_manage_ask(d->g->manager, now, app, i, x->base, x->bytes, false);
    if (!(to & 1))
        hd_manage_ask(d->g->manager, now, app, i, x->base, x->bytes, true);
    a->gone[i] = (uint8_t)to;
}

void hd_hostmem_give(struct hd_dispatch *d, uint32_t app, hd_time now, bool all)
{
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    struct hd_alloc x;

    if (!all && src->ops->gone == NULL)
        return;
    for (uint32_t i = 0; src->ops->alloc(src->self, i, &x); i++)
        if (!all)
            hostmem_settle(d, app, now, i, &x);
        else if (!hostmem_gone(a, i))
            hd_manage_ask(d->g->manager, now, app, i, x.base, x.bytes, false);
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
    hd_hostmem_prepare(d, app, now);
}

/* The manager does what a host says of an allocation, or (false) nothing is to
 * be done. */
static bool hostmem_ask(struct hd_dispatch *d, uint32_t app, hd_time now,
                        const struct hd_hint *h)
{
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    struct hd_alloc x;
    uint64_t at, bytes;

    if (d->g->m->vm.paging != HD_PAGING_FAULT ||
        !src->ops->alloc(src->self, h->alloc, &x))
        return false;
    at = x.base.v + h->offset;
    bytes = h->bytes != 0 ? h->bytes : x.bytes;
    a->called = now;
    a->call_vpn = at >> HD_PAGE_SHIFT;
    a->call_pages =
        (uint32_t)(((at + bytes + HD_PAGE_BYTES - 1) >> HD_PAGE_SHIFT) -
                   a->call_vpn);
    a->call_what = h->what;
    hd_manage_hint(d->g->manager, now, app, (hd_va){at}, bytes, h);
    return true;
}

void hd_hostmem_prepare(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_source *src = d->g->source[app];
    struct hd_env *env = d->g->env;
    struct hd_hint h;

    while (src->ops->hint != NULL && src->ops->hint(src->self, &h)) {
        if (h.what == HD_HINT_WAIT) {
            hd_post(env->ev, d->component, d->component,
                    now + hd_ticks_ns(env->clk, h.ns), HD_DISPATCH_PREPARE, app,
                    0);
            return;
        }
        if (hostmem_ask(d, app, now, &h))
            return;
    }
    hd_dispatch_go(d, app, now);
}

/* ---- next to a launch --------------------------------------------------- */

/* Does what a host says next to its launch; what it waits for then. */
static enum hd_beside hostmem_do(struct hd_dispatch *d, uint32_t app,
                                 hd_time now, const struct hd_hint *h)
{
    struct hd_env *env = d->g->env;

    switch (h->what) {
    case HD_HINT_WAIT:
        hd_post(env->ev, d->component, d->component,
                now + hd_ticks_ns(env->clk, h->ns), HD_DISPATCH_BESIDE, app, 0);
        return HD_BESIDE_IDLES;
    case HD_HINT_FREED:
        if (d->app[app].active)
            return HD_BESIDE_WAITS;
        /* fall through */
    case HD_HINT_GONE:
        hd_hostmem_give(d, app, now, false);
        return HD_BESIDE_NOTHING;
    default:
        return hostmem_ask(d, app, now, h) ? HD_BESIDE_CALL : HD_BESIDE_NOTHING;
    }
}

void hd_hostmem_beside(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    struct hd_hint h;

    if (HD_LIKELY(src->ops->beside == NULL))
        return;
    a->beside = HD_BESIDE_NOTHING;
    while (a->beside == HD_BESIDE_NOTHING && src->ops->beside(src->self, &h))
        a->beside = hostmem_do(d, app, now, &h);
    if (a->beside != HD_BESIDE_NOTHING || !a->retired)
        return;
    a->retired = 0;
    hd_dispatch_next(d, app, now);
}

bool hd_hostmem_retired(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_app_state *a = &d->app[app];

    if (HD_LIKELY(a->beside == HD_BESIDE_NOTHING))
        return true;
    a->retired = 1;
    if (a->beside == HD_BESIDE_WAITS) {
        hd_hostmem_give(d, app, now, false);
        hd_hostmem_beside(d, app, now);
    }
    return false;
}

void hd_hostmem_hinted(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_slots *s = d->g->env->slots;
    const struct hd_app_state *a = &d->app[app];
    bool beside = a->beside != HD_BESIDE_NOTHING;
    struct heddle_n_host_call n = {.app = app,
                                   .kernel = a->launch.id,
                                   .run = a->run,
                                   .what = a->call_what,
                                   .vpn = a->call_vpn,
                                   .pages = a->call_pages,
                                   .beside = beside,
                                   .cycles = (now - a->called) / d->g->cycle};

    if (s->watched[HEDDLE_NOTE_host_call])
        hd_slots_note(s, HEDDLE_NOTE_host_call, &n);
    if (beside)
        hd_hostmem_beside(d, app, now);
    else
        hd_hostmem_prepare(d, app, now);
}

void hd_dispatch_hinted(void *gpu, uint32_t from, uint32_t app, hd_time now)
{
    const struct hd_gpu *g = gpu;

    hd_post(g->env->ev, from, g->dispatch->component, now, HD_DISPATCH_HINTED,
            app, 0);
}
