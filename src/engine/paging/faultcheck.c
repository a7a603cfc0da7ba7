/*
 * faultcheck.c - what can be seen of pending far faults, what they wait for where
 * nothing proceeds, and what must hold.
 *
 * The graph of what waits for what (heddle_stuck) has a row for faults of an
 * application that wait for the same: a place in the buffer, the host, frames, the
 * link, their batch or the replay.  In driver mode there are two more: what the
 * driver is at, and the requests, which wait for its replay whatever their pages
 * are.
 *
 * A driver that serves and replays, and whose replays help no request, continues for
 * ever: pages that are evicted before the replay, which pins them, can do that.
 * Replays in vain are counted (driverloop.c), and many of them for long are no
 * progress (run.c).
 *
 * With sim.check: the requests of an entry are as many as it counts, and wait
 * for pages of it; those that do not wait for other pages, too, wait for one
 * that is not resident; entries in the buffer and batches under way are as many
 * as the station counts.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "faultstate.h"

static const char *const STATE[] = {"waits", "host", "link", "arrived"};

void hd_fault_look(void *self, uint32_t instance, struct heddle_visitor *v)
{
    const struct hd_faults *f = self;

    (void)instance;
    for (uint32_t e = 0; e < f->open.room; e++) {
        const struct hd_fault *x = &f->v[e];
        if (!f->open.v[e].live)
            continue;
        v->row(v->ud, "fault");
        v->text(v->ud, "state", STATE[x->state]);
        v->number(v->ud, "app", x->app);
        v->number(v->ud, "vpn", x->vpn.v);
        v->number(v->ud, "pages", x->pages);
        v->number(v->ud, "requesters", f->open.v[e].n);
        v->number(v->ud, "since", hd_fault_cycles(f, x->born));
    }
}

/* What a fault waits for. */
enum waits { BUFFER, HOST, FRAMES, TURN, LINK, BATCH, REPLAY, WAITS };

/* Whether a fault is of a batch that waits for frames, and has none. */
static bool fault_lacks_frames(const struct hd_faults *f, uint32_t e)
{
    for (uint32_t q = f->s->frame_first; q != HD_NONE; q = f->v[q].frame_next) {
        for (uint32_t i = q; i != HD_NONE; i = f->v[i].next)
            if (i == e)
                return true;
        if (q == f->s->frame_last)
            break;
    }
    return false;
}

static enum waits fault_waits(const struct hd_faults *f, uint32_t e)
{
    switch (f->v[e].state) {
    case HD_FAULT_BUFFERED:
        return BUFFER;
    case HD_FAULT_AT_HOST:
        return fault_lacks_frames(f, e)                       ? FRAMES
               : f->driver != NULL && !f->v[e].prefetched ? TURN
                                                          : HOST;
    case HD_FAULT_ON_LINK:
        return LINK;
    default:
        return f->driver != NULL && !f->v[e].prefetched ? REPLAY : BATCH;
    }
}

/* Faults of an application that wait for the same. */
static void fault_stuck_row(const struct hd_faults *f, uint32_t instance,
                            uint32_t app, enum waits why,
                            struct heddle_visitor *v)
{
    static const char *const what[] = {
        "the host to take it up",
        "the host's latency",
        "frames, which an eviction is to free",
        "its block's turn in the driver's batch",
        "its transfer over the link",
        "the other pages of its batch",
        "the driver's replay"};
    uint32_t faults = 0, requests = 0, first = HD_NONE;

    for (uint32_t e = 0; e < f->open.room; e++) {
        if (!f->open.v[e].live || f->v[e].app != app ||
            fault_waits(f, e) != why)
            continue;
        first = first == HD_NONE ? e : first;
        requests += f->open.v[e].n;
        faults++;
    }
    if (faults == 0)
        return;
    hd_show_wait(v, "fault", instance, what[why]);
    v->number(v->ud, "app", app);
    v->number(v->ud, "vpn", f->v[first].vpn.v);
    v->number(v->ud, "faults", faults);
    v->number(v->ud, "n", requests);
}

/* What the driver is at. */
static const char *fault_driver(const struct hd_faults *f)
{
    return !f->s->busy             ? "a fault in its buffer"
           : hd_framewait_any(f)   ? "frames for a block of its batch"
           : f->s->managing        ? "its own time for a batch"
           : f->s->copying > 0     ? "copies of its batch"
           : f->s->by_counter > 0  ? "pages that an access counter wants"
                                   : "the interrupt, or notifications";
}

void hd_fault_stuck(void *self, uint32_t instance, struct heddle_visitor *v)
{
    const struct hd_faults *f = self;

    if (f->driver != NULL && (f->s->busy || f->s->requests > 0)) {
        hd_show_wait(v, "driver", instance, fault_driver(f));
        v->number(v->ud, "batch", f->s->record.number);
        v->number(v->ud, "n", hd_driver_waiting(f->driver));
    }
    if (f->driver != NULL && f->s->requests > 0) {
        hd_show_wait(v, "requests", instance, "the driver's replay");
        v->number(v->ud, "n", f->s->requests);
    }
    for (uint32_t app = 0; app < f->env->apps; app++)
        for (uint32_t why = WAITS; why-- > 0;)
            fault_stuck_row(f, instance, app, (enum waits)why, v);
}

/* The first page of a fault that has no frame yet. */
static hd_vpn fault_page(const struct hd_faults *f, const struct hd_fault *x)
{
    struct hd_xlate page;

    for (uint32_t i = 0; i < x->pages; i++)
        if (hd_ptables_nonresident(f->w.tables, x->app, (hd_vpn){x->vpn.v + i},
                                   &page) &&
            !hd_ptables_in_flight(f->w.tables, x->app, page.vpn))
            return page.vpn;
    return x->vpn;
}

void hd_fault_needs(void *self, char *text, size_t room)
{
    const struct hd_faults *f = self;
    const struct hd_fault *x;
    uint32_t n;
    hd_vpn vpn;
    char batch[64] = "";

    if (!hd_framewait_any(f))
        return;
    x = &f->v[f->s->frame_first];
    vpn = fault_page(f, x);
    n = hd_ptables_takes(f->w.tables, x->app, vpn);
    if (f->driver != NULL && !x->prefetched)
        snprintf(batch, sizeof batch, ", of the driver's batch %llu",
                 (unsigned long long)f->s->record.number);
    snprintf(text, room,
             ": page 0x%llx of application %u%s, takes %u: raise "
             "vm.memory_bytes, or migrate less at once (%s%s, vm.page)",
             (unsigned long long)vpn.v, x->app, batch, n,
             n == HD_LARGE_PAGES && f->w.driver->chunks && f->driver != NULL
                 ? "uvm.chunks, "
                 : "",
             f->driver != NULL ? "uvm.perf_fault_batch_count"
                               : "fault.batch, fault.transfer");
}

void hd_faults_why(const struct hd_faults *f, char *text, size_t room)
{
    hd_time since;

    text[0] = '\0';
    if (hd_faults_vain(f, &since))
        snprintf(text, room,
                 ": the driver's last %u replays have helped no request, as "
                 "their pages were evicted before (evict_victim, "
                 "evict_trigger, evict.unit, vm.memory_bytes) or throttled "
                 "(thrash)",
                 f->s->vain);
    else if (hd_framewait_any(f))
        hd_fault_needs((void *)(uintptr_t)f, text, room);
    else if (f->driver != NULL && f->s->requests > 0)
        snprintf(text, room, ": %u requests wait for the driver, which waits "
                 "for %s", f->s->requests, fault_driver(f));
    else if (f->s->waiting > 0 || f->s->serving > 0)
        snprintf(text, room, ": %u far faults wait for the host, which serves "
                 "%u batches (fault_batch, link.latency, link.bandwidth)",
                 f->s->waiting, f->s->serving);
}

/* The requests of an entry are as many as it says, and wait for its pages;
 * where they do not wait for others', those have not arrived. */
static void fault_check_entry(const struct hd_faults *f, uint32_t e,
                              struct heddle_error *err)
{
    const struct hd_fault *x = &f->v[e];
    bool alone =
        f->cfg.replay == HD_REPLAY_PAGE || x->prefetched ||
        (f->cfg.transfer == HD_TRANSFER_PAGE && x->state != HD_FAULT_ARRIVED);
    uint32_t n = 0;

    for (uint32_t t = f->open.v[e].first; t != HD_NONE;
         t = f->w.treqs->v[t].next, n++) {
        const struct hd_treq *q = &f->w.treqs->v[t];
        if (q->app != x->app || q->vpn.v - x->vpn.v >= x->pages)
            hd_err_set(err, HEDDLE_ECHECK,
                       "fault of page 0x%llx: a request of another page, "
                       "0x%llx, waits for it",
                       (unsigned long long)x->vpn.v,
                       (unsigned long long)q->vpn.v);
        if (alone && hd_ptables_resident(f->w.tables, x->app, q->vpn))
            hd_err_set(err, HEDDLE_ECHECK,
                       "fault of page 0x%llx: a request waits for page 0x%llx, "
                       "which is mapped",
                       (unsigned long long)x->vpn.v,
                       (unsigned long long)q->vpn.v);
    }
    if (n != f->open.v[e].n)
        hd_err_set(err, HEDDLE_ECHECK,
                   "fault of page 0x%llx: %u requests wait, %u are counted",
                   (unsigned long long)x->vpn.v, n, f->open.v[e].n);
}

void hd_fault_check(void *self, uint32_t instance, struct heddle_error *err)
{
    const struct hd_faults *f = self;
    uint32_t waits = 0, batches = 0;

    (void)instance;
    for (uint32_t e = 0; e < f->open.room; e++) {
        if (!f->open.v[e].live)
            continue;
        waits += f->v[e].state == HD_FAULT_BUFFERED;
        batches += f->v[e].state != HD_FAULT_BUFFERED && f->v[e].head == e;
        fault_check_entry(f, e, err);
    }
    hd_driverloop_check(f, err);
    if (!hd_mshr_sane(&f->open) || waits != f->s->waiting ||
        batches != f->s->serving || (waits > 0 && batches == 0))
        hd_err_set(err, HEDDLE_ECHECK,
                   "faults: %u wait and %u batches are under way; %u and %u "
                   "are counted",
                   waits, batches, f->s->waiting, f->s->serving);
}
