/*
 * faultcheck.c - what can be seen of pending far faults, and what must hold.
 *
 * With sim.check: the requests of an entry are as many as it counts, and wait
 * for pages of it; those that do not wait for other pages, too, wait for one
 * that is not resident; entries in the buffer and batches under way are as many
 * as the station counts.
 *
 * SPDX-License-Identifier: MIT
 */
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

void hd_fault_stuck(void *self, uint32_t instance, struct heddle_visitor *v)
{
    static const char *const what[] = {
        "the host to take it up", "the host's latency, or frames",
        "its transfer over the link", "the other pages of its batch"};
    const struct hd_faults *f = self;

    for (uint32_t e = 0; e < f->open.room; e++) {
        const struct hd_fault *x = &f->v[e];
        if (!f->open.v[e].live)
            continue;
        hd_show_wait(v, "fault", instance, what[x->state]);
        v->number(v->ud, "app", x->app);
        v->number(v->ud, "vpn", x->vpn.v);
        v->number(v->ud, "n", f->open.v[e].n);
    }
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
