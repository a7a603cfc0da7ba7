/*
 * residency.c - where the pages of a far fault will reside: they migrate, are
 * mapped on the host, or are throttled.
 *
 * A plain fault migrates its pages.  Two mechanisms say otherwise, and both are
 * asked here, before a fault gets its frames:
 *
 *   thrash.c   a page that thrashes is throttled: its fault leaves its batch
 * and is served at the end of the period, in a batch of its own (in driver mode
 * nothing migrates, and it faults again after the replay); or it is pinned, on
 * the GPU or on the host remote.c   the point `migrate` has the pages mapped
 * where they are, at an instant of the manager, which takes no frame and no
 * transfer
 *
 * A page that is being evicted can be mapped on the host only when its
 * write-back is over: its fault waits like one for frames.
 *
 * The other way round, pages whose accesses have reached a threshold (remote.c)
 * are unmapped from the host and migrate: as entries without requests, which
 * wait for frames like faults; in driver mode a granule in as few transfers as
 * possible.  Ranges that the application's host advises to be used in place,
 * and pages that were evicted under access counters, are mapped on the host
 * without a fault.
 *
 * Invariant: a fault whose pages stay on the host is over when the manager has
 * mapped them; none of its pages is in flight.
 *
 * SPDX-License-Identifier: MIT
 */
#include "faultstate.h"

/* ---- the decision ------------------------------------------------------- */

/* Whether a store waits for a fault. */
static bool residency_writes(const struct hd_faults *f, uint32_t e)
{
    uint32_t t = f->open.v[e].first;

    while (t != HD_NONE && !f->w.treqs->v[t].writes)
        t = f->w.treqs->v[t].next;
    return t != HD_NONE;
}

/* A fault is throttled until a time: it waits in a batch of its own, and is
 * driven then; its batch continues without it. */
static void residency_throttle(struct hd_faults *f, hd_time now, hd_time until,
                               uint32_t e)
{
    uint32_t head = f->v[e].head, *p = &head, left = f->v[head].left;

    if (f->driver != NULL) { /* nothing migrates: it faults again */
        f->v[e].sent = f->v[e].arrived = now;
        f->v[e].state = HD_FAULT_ARRIVED;
        return;
    }
    hd_post(f->env->ev, f->rank, f->rank, until, HD_FAULT_EV_DRIVE, e, 0);
    if (f->v[e].next == HD_NONE && head == e)
        return;
    while (*p != e)
        p = &f->v[*p].next;
    *p = f->v[e].next;
    for (uint32_t i = head; i != HD_NONE; i = f->v[i].next)
        f->v[i].head = head;
    f->v[e].head = e;
    f->v[e].next = HD_NONE;
    f->v[e].left = 1;
    f->s->serving++;
    f->v[head].left = left - 1;
    if (left == 1)
        hd_fault_finish(f, now, head);
}

/* What thrash.c says of a fault: of its first page that is not resident. */
static enum heddle_thrash residency_control(struct hd_faults *f, hd_time now,
                                            uint32_t e, bool can_map,
                                            hd_time *until)
{
    const struct hd_fault *x = &f->v[e];
    struct hd_xlate page = {.vpn = x->vpn};

    for (uint32_t i = 0; i < x->pages; i++)
        if (hd_ptables_nonresident(f->w.tables, x->app, (hd_vpn){x->vpn.v + i},
                              &page))
            return hd_thrash_ask(f->w.thrash, now, HEDDLE_PROCESSOR_GPU, x->app,
                                 page.vpn,
                                 (uint32_t)(x->vpn.v + x->pages - page.vpn.v),
                                 residency_writes(f, e), can_map, until);
    return HEDDLE_THRASH_MIGRATE;
}

enum hd_map_host hd_residency_decide(struct hd_faults *f, hd_time now,
                                     uint32_t e)
{
    struct hd_fault *x = &f->v[e];
    enum hd_map_host can = HD_MAP_HOST_NEVER;

    if (HD_LIKELY((f->w.remote == NULL || !hd_remote_asks(f->w.remote)) &&
                  f->w.thrash == NULL) ||
        x->prefetched)
        return HD_MAP_HOST_NEVER;
    for (uint32_t i = 0; i < x->pages && can != HD_MAP_HOST_LATER; i++) {
        enum hd_map_host c = hd_ptables_can_map_host(f->w.tables, x->app,
                                                     (hd_vpn){x->vpn.v + i});
        can = c == HD_MAP_HOST_NEVER ? can : c;
    }
    if (HD_UNLIKELY(f->w.thrash != NULL) && x->remote == 0) {
        bool mappable = can != HD_MAP_HOST_NEVER;
        hd_time until;
        switch (residency_control(f, now, e, mappable, &until)) {
        case HEDDLE_THRASH_THROTTLE:
            residency_throttle(f, now, hd_max_u64(until, now + 1), e);
            return HD_MAP_HOST_CAN;
        case HEDDLE_THRASH_HOST:
            x->remote = 1 + HD_COUNTER_NEVER;
            break;
        case HEDDLE_THRASH_GPU:
            x->remote = 1;
        default:
            break;
        }
    }
    if (can != HD_MAP_HOST_NEVER && x->remote == 0)
        x->remote = 1 + hd_remote_ask(f->w.remote, x->app, x->vpn, x->pages,
                                      residency_writes(f, e));
    if (HD_UNLIKELY(f->w.thrash != NULL) && x->remote > 1 &&
        can == HD_MAP_HOST_LATER) {
        x->remote = 0; /* its pin may have ended by then */
        return HD_MAP_HOST_LATER;
    }
    if (x->remote <= 1 || can != HD_MAP_HOST_CAN)
        return x->remote <= 1 ? HD_MAP_HOST_NEVER : can;
    x->sent = now;
    x->state = HD_FAULT_ON_LINK;
    f->w.manager.map_host(f->w.manager.self, now, e);
    return HD_MAP_HOST_CAN;
}

void hd_residency_migrates(struct hd_faults *f, hd_time now,
                           const struct hd_fault *x)
{
    for (uint32_t i = 0; i < x->pages;) {
        struct hd_xlate page;
        hd_vpn vpn = {x->vpn.v + i++};
        if (!hd_ptables_in_flight(f->w.tables, x->app, vpn) ||
            !hd_ptables_nonresident(f->w.tables, x->app, vpn, &page))
            continue;
        hd_thrash_to_gpu(
            f->w.thrash, now, x->app, page.vpn,
            hd_ptables_evicted_before(f->w.tables, x->app, page.vpn));
        i += page.pages - 1;
    }
}

/* ---- host-mapped pages -------------------------------------------------- */

/* A page is mapped on the host, after that answer of `migrate`. */
static void residency_map(struct hd_faults *f, hd_time now, uint32_t app,
                          const struct hd_xlate *page, uint32_t answer,
                          enum heddle_map_cause cause)
{
    struct hd_slots *s = f->env->slots;
    struct heddle_n_page_remote n = {.app = app,
                                     .vpn = page->vpn.v,
                                     .pages = page->pages,
                                     .cause = cause};

    hd_ptables_map_host(f->w.tables, app, page);
    hd_remote_mapped(f->w.remote, app, page->vpn, page->pages, answer);
    f->user.mapped(f->user.self, app, page->vpn, page->pages);
    if (f->w.manager.arrived != NULL)
        f->w.manager.arrived(f->w.manager.self, now, app, page->vpn,
                             page->pages);
    if (s != NULL && s->watched[HEDDLE_NOTE_page_remote])
        hd_slots_note(s, HEDDLE_NOTE_page_remote, &n);
}

/* Why the page of a fault is mapped on the host. */
static enum heddle_map_cause residency_cause(const struct hd_faults *f,
                                             uint32_t app, hd_vpn vpn)
{
    return f->w.thrash != NULL && hd_thrash_on_host(f->w.thrash, app, vpn)
               ? HEDDLE_MAP_CAUSE_THRASHING
               : HEDDLE_MAP_CAUSE_POLICY;
}

void hd_faults_map_remote(struct hd_faults *f, hd_time now, uint32_t e)
{
    struct hd_fault *x = &f->v[e];

    for (uint32_t i = 0; i < x->pages; i++) {
        struct hd_xlate page;
        hd_vpn vpn = {x->vpn.v + i};
        if (hd_ptables_can_map_host(f->w.tables, x->app, vpn) !=
                HD_MAP_HOST_CAN ||
            !hd_ptables_nonresident(f->w.tables, x->app, vpn, &page))
            continue; /* its allocation was freed, or its region is coalesced */
        residency_map(f, now, x->app, &page, x->remote - 1,
                      residency_cause(f, x->app, page.vpn));
        if (f->cfg.replay == HD_REPLAY_PAGE)
            hd_fault_resume(f, now, e, page.vpn, page.pages);
    }
    hd_fault_complete(f, now, e);
}

void hd_faults_map_range(struct hd_faults *f, hd_time now, uint32_t app,
                         hd_vpn vpn, uint32_t pages, bool evicted)
{
    for (uint64_t v = vpn.v; v < vpn.v + pages; v++) {
        struct hd_xlate page, all;
        uint32_t answer;
        if ((evicted &&
             !hd_ptables_evicted_before(f->w.tables, app, (hd_vpn){v})) ||
            hd_ptables_can_map_host(f->w.tables, app, (hd_vpn){v}) !=
                HD_MAP_HOST_CAN ||
            !hd_ptables_nonresident(f->w.tables, app, (hd_vpn){v}, &page))
            continue;
        all = hd_fault_unit(f, &page);
        if (hd_fault_find(f, app, all.vpn) != HD_NONE)
            continue;
        answer = evicted ? hd_remote_on_eviction(f->w.remote)
                         : hd_remote_ask(f->w.remote, app, page.vpn, page.pages,
                                         false);
        if (answer != 0)
            residency_map(f, now, app, &page, answer,
                          evicted ? HEDDLE_MAP_CAUSE_EVICTION
                                  : HEDDLE_MAP_CAUSE_POLICY);
    }
}

/* ---- notifications ------------------------------------------------------ */

void hd_faults_migrate(struct hd_faults *f, hd_time now, uint32_t app,
                       hd_vpn vpn, uint32_t pages)
{
    uint64_t v = vpn.v, end = v + pages;
    struct hd_fault_set g;

    if (f->driver != NULL) {
        hd_driverloop_migrate(f, now);
        hd_fault_set_clear(&g, vpn);
        v = hd_prefetcher_range(f, now, app, v, end, HD_FAULT_BY_COUNTER, NULL,
                                &g);
        f->s->notice_pages += hd_fault_set_ship(f, now, &g, HD_NONE).pages;
        hd_framewait_balance(f, now);
        hd_fault_schedule(f);
    }
    while (v < end && f->s->prefetches < HD_FAULT_PREFETCHES)
        v = hd_prefetcher_page(f, now, app, v, HD_FAULT_BY_COUNTER);
    if (f->driver != NULL && f->s->by_counter == 0)
        hd_driverloop_next_notice(f, now); /* their allocation was freed */
}
