/*
 * framewait.c - far faults that wait for frames, and the pages that are pinned
 * meanwhile: what memory that is too small adds to a fault.
 *
 * Where a page finds no frame and a policy compacts memory for it, its batch
 * waits a few cycles for an instant at which mappings may change (manage.c),
 * and continues with that page; those before it are on the link meanwhile. That
 * counts as a wait for frames.  Where the page still finds none, others are
 * evicted first (evict.c).
 *
 * Faults wait in one queue, in the order in which the host came to them, each
 * with the rest of its batch; none overtakes another.  A page's own transfer
 * begins when its frame is free, so eviction and migration do not overlap.
 *
 * A page that has arrived is pinned, so that it is not evicted, until the
 * requests that waited for it have their answers: two pages could otherwise
 * evict one another for ever.  A pin is loose when its request has been issued
 * again: it will go without anything else happening first.
 *
 * Invariant: while the queue is not empty, an eviction or a compaction has been
 * asked for.
 *
 * SPDX-License-Identifier: MIT
 */
#include "faultstate.h"

void hd_framewait_queue(struct hd_faults *f, uint32_t e)
{
    f->v[e].frame_next = HD_NONE;
    if (hd_framewait_any(f))
        f->v[f->s->frame_last].frame_next = e;
    else
        f->s->frame_first = e;
    f->s->frame_last = e;
}

void hd_framewait_block(struct hd_faults *f, hd_time now, uint32_t e,
                        uint32_t wants)
{
    f->v[e].evicted |= wants == HD_FAULT_WANTS_EVICT;
    f->v[e].frame_next = f->s->frame_first;
    if (!hd_framewait_any(f))
        f->s->frame_last = e;
    f->s->frame_first = e;
    if (wants == HD_FAULT_WANTS_COMPACT)
        f->w.manager.make_room(f->w.manager.self, now, f->v[e].app, e);
    else
        hd_evict_want(f->w.evict, now, f->v[e].app);
}

void hd_framewait_balance(struct hd_faults *f, hd_time now)
{
    uint32_t by = f->s->took;

    f->s->took = HD_APP_NONE;
    if (f->w.evict != NULL && !hd_framewait_any(f))
        hd_evict_taken(f->w.evict, now, by);
}

/* Frames may be free: faults that wait for some continue, in order.  `again`:
 * memory was compacted for the first. */
static void framewait_retry(struct hd_faults *f, hd_time now, bool again)
{
    bool more = hd_framewait_any(f);

    for (uint32_t e = f->s->frame_first; more; again = false) {
        f->s->frame_first = f->v[e].frame_next;
        more = hd_fault_transfer(f, now, e, again) && hd_framewait_any(f);
        e = f->s->frame_first;
    }
    hd_framewait_balance(f, now);
    hd_fault_schedule(f);
}

void hd_faults_again(struct hd_faults *f, hd_time now, uint32_t fault)
{
    if (f->s->frame_first == fault)
        framewait_retry(f, now, true);
}

/* Units were evicted; memory was compacted before that, if a policy does so. */
void hd_framewait_room(void *self, hd_time now)
{
    framewait_retry(self, now, true);
}

/* ---- pins --------------------------------------------------------------- */

void hd_framewait_pin(struct hd_faults *f, uint32_t treq,
                      const struct hd_xlate *page)
{
    f->wait[treq].pin = page->vpn.v + 1;
    f->wait[treq].loose = 0;
    hd_evict_pin(f->w.evict, f->w.treqs->v[treq].app, page->vpn, page->pages);
}

void hd_framewait_pin_arrived(struct hd_faults *f, uint32_t e,
                              const struct hd_xlate *page)
{
    for (uint32_t t = f->open.v[e].first; t != HD_NONE;
         t = f->w.treqs->v[t].next)
        if (f->w.treqs->v[t].vpn.v - page->vpn.v < page->pages)
            hd_framewait_pin(f, t, page);
}

/* A request is issued again: its pin will go. */
void hd_framewait_loosen(struct hd_faults *f, uint32_t treq)
{
    if (f->w.evict == NULL || f->wait[treq].pin == 0)
        return;
    f->wait[treq].loose = 1;
    hd_evict_loosen(f->w.evict);
}

/* A request pins nothing any more. */
void hd_framewait_unpin(struct hd_faults *f, hd_time now, uint32_t app,
                        uint64_t vpn, bool loose)
{
    hd_evict_unpin(f->w.evict, now, app, (hd_vpn){vpn}, loose);
}

/* A request that was issued again waits once more: its page went with its
 * allocation. */
void hd_framewait_unpin_lost(struct hd_faults *f, uint32_t treq)
{
    struct hd_fault_wait *x = &f->wait[treq];

    if (x->pin != 0)
        hd_framewait_unpin(f, hd_events_now(f->env->ev),
                           f->w.treqs->v[treq].app, x->pin - 1, x->loose != 0);
    x->pin = 0;
}

void hd_faults_served(struct hd_faults *f, hd_time now, uint32_t src,
                      uint32_t treq)
{
    struct hd_fault_wait *x = &f->wait[treq];

    if (x->pin == 0)
        return;
    /* a core may run ahead of the others: this counts at its time */
    hd_post(f->env->ev, src, f->rank, now, HD_FAULT_EV_ANSWERED,
            f->w.treqs->v[treq].app, x->pin - 1);
    x->pin = 0;
}
