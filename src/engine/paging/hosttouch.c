/*
 * hosttouch.c - pages of the GPU's memory that an application's host advises
 * on, touches, or wants back.
 *
 * Advice (heddle_host_advise): units with a page whose preferred place is the
 * GPU's memory are not evicted as long as there are others.
 *
 * What the host touches or moves (heddle_host_move) is evicted by up to 2 MB at
 * a time, at instants of the manager, before other evictions, and its frames
 * are free when the write-back is over.  Where the host only reads, pages that
 * are mostly read stay, and what was written of them is copied.  Pages in
 * flight, and those pinned by a store that its kernel has left behind, stay.
 * Over one that is throttled because it thrashes (thrash.c) the host naps, and
 * what is behind it in the range waits.
 *
 * What the host has touched, or had moved to it, it has mapped from then on, until
 * it migrates: the driver pays uvm.unmap_latency for it (driverloop.c).  Pages of
 * the range that were not on the GPU count, too.
 *
 * Invariant: one range of an application at a time; one write-back of all
 * ranges and evictions at a time.
 *
 * Left out on purpose: the host's own page faults, one by one, and what the driver
 * prefetches for them: a touch is of a range, and takes what crosses the link.
 *
 * SPDX-License-Identifier: MIT
 */
#include "evictstate.h"

/* Whether a page of a unit has its place here: one that is resident, where
 * advice may differ in it. */
static bool hosttouch_stays(const struct hd_evict *v, uint32_t app,
                            uint64_t first, bool uniform)
{
    uint32_t n = uniform ? 1 : hd_evict_unit_pages(v);

    for (uint64_t i = first; i < first + n; i++)
        if ((uniform || hd_ptables_resident(v->w.tables, app, (hd_vpn){i})) &&
            hd_evict_prefers(v, app, (hd_vpn){i}))
            return true;
    return false;
}

void hd_evict_advised(struct hd_evict *v, uint32_t app, hd_vpn vpn,
                      uint32_t pages)
{
    uint64_t n = hd_evict_unit_pages(v), end = vpn.v + pages;
    bool whole = v->w.tables->s->spans == 0;

    for (uint64_t i = vpn.v & ~(n - 1); i < end; i += n) {
        uint32_t u = hd_evict_unit_of(v, app, (hd_vpn){i});
        if (u != HD_NONE && u < v->s->room)
            hd_evict_at(v, u)->stays =
                hosttouch_stays(v, app, i, whole && i >= vpn.v && i + n <= end);
    }
}

/* ---- ranges ------------------------------------------------------------- */

/* A page that the host has touched is evicted. */
static void hosttouch_leave(struct hd_evict *v, uint32_t app,
                            const struct hd_xlate *x, uint64_t *bytes)
{
    hd_evict_leave(v, app, x, bytes);
    if (HD_UNLIKELY(v->w.thrash != NULL))
        hd_thrash_to_host(v->w.thrash, v->s->since, app, x->vpn);
}

/* A page that is mostly read stays; what was written of it is copied. */
static void hosttouch_copy_or_leave(struct hd_evict *v, uint32_t app,
                                    const struct hd_xlate *x, uint64_t *bytes)
{
    if (!(hd_ptables_advice(v->w.tables, app, x->vpn) &
          HEDDLE_ADVICE_READ_MOSTLY)) {
        hosttouch_leave(v, app, x, bytes);
        return;
    }
    *bytes +=
        hd_evict_dirty(v, x) != 0 ? hd_ptables_bytes(v->w.tables, app, x) : 0;
    for (uint32_t i = 0; i < x->pages; i++)
        hd_frame_copied(&v->w.tables->frames, x->pfn.v + i);
}

/* The frames of a write-back are free; then what is behind it is evicted. */
void hd_hosttouch_over(struct hd_evict *v, hd_time now)
{
    struct hd_evict_state *s = v->s;
    const struct hd_hosttouch *o = &s->range[s->app];

    for (uint64_t i = o->begin; i < o->vpn;) {
        struct hd_xlate x = {.vpn = {i}, .pages = 1};
        if (hd_ptables_nonresident(v->w.tables, s->app, x.vpn, &x))
            hd_ptables_evicted(v->w.tables, s->app, x.vpn);
        i = x.vpn.v + x.pages;
    }
    hd_ptables_touch(v->w.tables, s->app, (hd_vpn){o->begin},
                     o->vpn - o->begin);
    *hd_evict_count(v, s->app, HD_EVICT_BUSY_CYCLES) +=
        (now - s->since) / v->cycle;
    s->freed = s->app;
    s->busy = HD_EVICT_IDLE;
    hd_evict_continue(v, now);
}

/* How many base pages from first on are evicted before one over which the host
 * has to nap, until *until. */
static uint32_t hosttouch_span(struct hd_evict *v, hd_time now, uint32_t app,
                               hd_vpn first, uint32_t span, hd_time *until)
{
    for (uint32_t i = 0; i < span;) {
        struct hd_xlate x;
        if (!hd_ptables_page(v->w.tables, app, (hd_vpn){first.v + i}, &x)) {
            i++;
            continue;
        }
        if (x.pfn.v < HD_HOST_FRAME && !hd_evict_pinned(v, app, x.vpn) &&
            hd_thrash_ask(v->w.thrash, now, HEDDLE_PROCESSOR_HOST, app, x.vpn,
                          x.pages, v->s->range[app].how == HEDDLE_MOVE_WRITTEN,
                          false, until) == HEDDLE_THRASH_THROTTLE)
            return i;
        i = (uint32_t)(x.vpn.v + x.pages - first.v);
    }
    return span;
}

/* The host naps until a time. */
static void hosttouch_nap(struct hd_evict *v, hd_time now, uint32_t app,
                          hd_time until)
{
    v->s->range[app].on = 2;
    v->s->ranges--;
    v->s->busy = HD_EVICT_IDLE;
    hd_post(v->env->ev, v->rank, v->rank, hd_max_u64(until, now + 1),
            HD_EVICT_EV_NAP, app, 0);
    hd_evict_continue(v, now);
}

void hd_hosttouch_awake(struct hd_evict *v, hd_time now, uint32_t app)
{
    v->s->range[app].on = 1;
    v->s->ranges++;
    hd_evict_start(v, now);
}

/* What the next 2 MB have of a range is evicted.  False: nothing is left. */
static bool hosttouch_some(struct hd_evict *v, hd_time now, uint32_t app)
{
    struct hd_evict_state *s = v->s;
    struct hd_hosttouch *o = &s->range[app];
    uint64_t bytes = 0, pages = s->evicted;
    struct hd_xlate x;
    hd_vpn first = {o->vpn};
    hd_time until;
    uint32_t span;

    if (o->vpn >= o->end)
        return false;
    o->begin = o->vpn;
    o->vpn = hd_min_u64((o->vpn | (HD_LARGE_PAGES - 1)) + 1, o->end);
    span = (uint32_t)(o->vpn - o->begin);
    if (hd_ptables_large(v->w.tables, app, first, &x))
        v->w.manager.split(v->w.manager.self, app, first, 0);
    if (HD_UNLIKELY(v->w.thrash != NULL) && o->how == HEDDLE_MOVE_TO_HOST)
        hd_thrash_forget(v->w.thrash, app, first, span);
    else if (HD_UNLIKELY(v->w.thrash != NULL))
        span = hosttouch_span(v, now, app, first, span, &until);
    o->vpn = o->begin + span;
    if (span == 0) {
        hosttouch_nap(v, now, app, until);
        return true;
    }
    s->since = now;
    hd_evict_each_of(v, app, first, span,
                     o->how == HEDDLE_MOVE_READ      ? hosttouch_copy_or_leave
                     : o->how == HEDDLE_MOVE_WRITTEN ? hosttouch_leave
                                                     : hd_evict_leave,
                     &bytes);
    pages = s->evicted - pages;
    *hd_evict_count(v, app, HD_EVICT_HOST) += pages;
    *hd_evict_count(v, app, HD_EVICT_BYTES) += bytes;
    if (pages != 0)
        v->w.manager.shoot(v->w.manager.self, app, first, span);
    s->busy = HD_EVICT_UNDER_WAY;
    s->evicting = HD_NONE;
    s->app = app;
    if (bytes != 0)
        hd_link_send(v->w.link, now, HD_LINK_OUT, app, bytes, v->client,
                     HD_NONE);
    else
        hd_hosttouch_over(v, now);
    return true;
}

/* Some of a range is evicted, or it is over. */
void hd_hosttouch_next(struct hd_evict *v, hd_time now)
{
    uint32_t app = 0;

    while (v->s->range[app].on != 1)
        app++;
    v->s->busy = HD_EVICT_IDLE;
    if (hosttouch_some(v, now, app))
        return;
    v->s->range[app].on = 0;
    v->s->ranges--;
    v->w.manager.hinted(v->w.manager.self, now, app);
    hd_evict_continue(v, now);
}

void hd_evict_range(struct hd_evict *v, hd_time now, uint32_t app, hd_vpn vpn,
                    uint32_t pages, uint32_t how)
{
    v->s->range[app] = (struct hd_hosttouch){
        .vpn = vpn.v, .end = vpn.v + pages, .how = how, .on = 1};
    v->s->ranges++;
    hd_evict_start(v, now);
}
