/*
 * fault.c - far faults: the fault buffer, the host, the replay.
 *
 * After Zheng et al. (HPCA 2016) and NVIDIA's UVM driver: a walk that finds its
 * page not resident writes a fault into a buffer and is over; its walker and
 * its MSHRs are free again.  The host takes faults out in batches, gives each
 * page a frame, has it copied over the link, maps it, and has the requests that
 * waited replayed: they go through the L2 TLB and are walked for like new ones,
 * but keep their original time of issue.
 *
 *   buffered --fault_batch--> at the host --L--> on the link --S/B--> mapped
 *      ^                                                                |
 *      |  further faults of the page join it              its batch is done:
 *      |  in any of these states                                     replay
 *
 * A batch takes the link's latency once, then its pages cross in their order.
 * Each is mapped when its data have arrived; requests are replayed when the
 * whole batch has (the driver's policy "batch"), or each with its page
 * (fault.replay=page).  What migrates for a fault is its page, of whatever
 * size; with fault.transfer=64K or 2M all pages of the aligned 64 KB or 2 MB
 * around it that are not resident, in order of address, in one transfer: they
 * share one entry, which is what their requests wait for, and are mapped one by
 * one as their data arrive.  By default every fault is a batch of its own as
 * soon as it is raised, so latencies overlap and the link is what faults share
 * (Mosaic: 55 us load to use); fault.serial makes the host serve one batch
 * after the other, transfers included (the released simulator of Mosaic).
 *
 * A core may run ahead of this file's events, but not past the mapping of a
 * page, which it could see: the instant of the next one is always known
 * (hd_faults_next), since the link is a FIFO.  At that instant cores are
 * served first, so they see the page one tick later.
 *
 * This is the plain station.  Each of its mechanisms is a file of its own
 * (faultstate.h lists them) and leaves a line here: hd_framewait_ where memory
 * is too small, hd_residency_ where pages may stay on the host or thrash,
 * hd_prefetcher_ where pages migrate that did not fault, hd_hostprefetch_ for
 * what the application's host prefetches, hd_driverloop_ in driver mode, which
 * has another buffer and another replay.
 *
 * Invariants: while faults wait some batch is under way (nothing that only a
 * fault frees is needed to serve one: frames, the link and the host are not
 * held by requests); what migrates for a fault has one entry, whatever the
 * number of its requests; the stages of a fault sum to its time.
 *
 * Left out on purpose: without the driver, the buffer is as large as it needs
 * to be, and faults of one batch that are raised while it is served are not
 * flushed; writing page tables takes no memory traffic.
 *
 * SPDX-License-Identifier: MIT
 */
#include "faultstate.h"

#include "kit/bits.h"
#include "pages/ptstate.h"
#include "tree.h"

#define HD_PART    fault
#define HD_CFG     struct hd_fault_cfg
#define HD_PART_OF "paging/fault.def"
#include "kit/rows.h"

enum {
#define HD_HISTS_OF "paging/fault.def"
#include "kit/rows.h"
};

enum { STREAM_PREFETCH = 0x70666368 };

struct hd_xlate hd_fault_unit(const struct hd_faults *f,
                              const struct hd_xlate *page)
{
    static const uint32_t least[] = {1, 16, HD_LARGE_PAGES};
    struct hd_xlate x = *page;

    x.pages = (uint32_t)hd_max_u64(page->pages, least[f->cfg.transfer]);
    x.vpn.v &= ~(uint64_t)(x.pages - 1);
    return x;
}

bool hd_faults_together(const struct hd_faults *f, uint32_t app, hd_vpn a,
                        hd_vpn b)
{
    struct hd_xlate x;

    hd_cross(f->env, HD_BORDER_fault);
    if (!hd_ptables_nonresident(f->w.tables, app, a, &x))
        return false;
    x = hd_fault_unit(f, &x);
    return b.v - x.vpn.v < x.pages;
}

const hd_time *hd_faults_next(const struct hd_faults *f)
{
    return &f->s->next;
}

void hd_fault_note(struct hd_faults *f, enum heddle_note note, uint32_t entry,
                   hd_vpn vpn, uint32_t pages, hd_time now)
{
    const struct hd_fault *x = &f->v[entry];
    struct heddle_n_page_fault n = {.app = x->app,
                                    .vpn = vpn.v,
                                    .pages = pages,
                                    .cycles =
                                        hd_fault_cycles(f, now - x->born)};

    if (f->env->slots != NULL && f->env->slots->watched[note] != 0)
        hd_slots_note(f->env->slots, note, &n);
}

/* ---- faults ------------------------------------------------------------- */

static void fault_serve(struct hd_faults *f, hd_time now);

/* A request waits for its page; its core is notified, the first time. */
void hd_fault_park(struct hd_faults *f, hd_time at, uint32_t treq)
{
    struct hd_treq *q = &f->w.treqs->v[treq];
    const struct hd_tclient *core = &f->w.cores[q->core];

    f->wait[treq].since = at;
    if (q->client >= f->w.replay_client) {
        hd_framewait_unpin_lost(f, treq);
        return;
    }
    q->client = (uint16_t)(q->client + f->w.replay_client);
    f->wait[treq].total = 0;
    f->wait[treq].pin = 0;
    f->wait[treq].evicted = 0;
    f->wait[treq].joined = 0;
    core->reply(core->self, at, treq);
}

/* The entry of a page that is not resident, made and put into the buffer if it
 * is new. */
static uint32_t fault_entry(struct hd_faults *f, hd_time now, uint32_t app,
                            const struct hd_xlate *page)
{
    struct hd_xlate all = hd_fault_unit(f, page);
    uint64_t key = all.vpn.v | (uint64_t)app << 52, *peak;
    uint32_t e = hd_mshr_find(&f->open, key);

    if (e != HD_NONE)
        return e;
    e = hd_mshr_take(&f->open, key);
    f->v[e] = (struct hd_fault){.vpn = all.vpn,
                                .born = now,
                                .pages = all.pages,
                                .more = HD_NONE,
                                .next = HD_NONE,
                                .head = e,
                                .app = (uint8_t)app,
                                .state = HD_FAULT_BUFFERED,
                                .launch = (uint16_t)f->env->stats->hand.row};
    if (f->s->waiting++ == 0)
        f->s->first = e;
    else
        f->v[f->s->last].next = e;
    f->s->last = e;
    hd_fault_row(f, app)[HD_FAULT_FAULTS]++;
    peak = &hd_fault_row(f, HD_APP_NONE)[HD_FAULT_PEAK];
    *peak = hd_max_u64(*peak, hd_mshr_used(&f->open));
    hd_fault_note(f, HEDDLE_NOTE_page_fault, e, f->v[e].vpn, f->v[e].pages,
                  now);
    return e;
}

void hd_faults_enter(struct hd_faults *f, hd_time now, uint32_t first,
                     uint32_t n)
{
    struct hd_treq *q = &f->w.treqs->v[first];
    struct hd_mshr_entry *m;
    uint64_t *c;
    struct hd_xlate page;
    uint32_t t = first, e;
    bool first_of;

    hd_cross(f->env, HD_BORDER_fault);
    if (!hd_ptables_nonresident(f->w.tables, q->app, q->vpn, &page))
        hd_assert(!"a fault of a page that is resident");
    hd_treq_count_for(f->w.treqs, first);
    c = hd_fault_row(f, q->app);
    c[HD_FAULT_WALKS]++;
    c[HD_FAULT_REQUESTS] += n;
    if (f->driver != NULL) {
        hd_driverloop_enter(f, now, first, n);
        return;
    }
    e = fault_entry(f, now, q->app, &page);
    m = &f->open.v[e];
    first_of = m->n + f->v[e].requesters == 0;
    c[HD_FAULT_MERGES] += first_of && !f->v[e].prefetched ? n - 1 : n;
    if (first_of)
        hd_prefetcher_touched(f, e);
    m->n += n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t next = f->w.treqs->v[t].next;
        hd_treq_append(f->w.treqs, &m->first, &m->last, t);
        hd_fault_park(f, hd_max_u64(now, f->w.treqs->v[t].looked), t);
        t = next;
    }
    fault_serve(f, now);
}

hd_time hd_faults_waited(const struct hd_faults *f, uint32_t treq, hd_time now)
{
    const struct hd_fault_wait *x = &f->wait[treq];

    hd_cross(f->env, HD_BORDER_waited);
    if (f->w.treqs->v[treq].client < f->w.replay_client)
        return 0; /* none yet: it is not parked, and has not been */
    return x->total + (x->since < now ? now - x->since : 0);
}

bool hd_faults_evicted(const struct hd_faults *f, uint32_t treq)
{
    hd_cross(f->env, HD_BORDER_policy);
    return f->w.treqs->v[treq].client >= f->w.replay_client &&
           f->wait[treq].evicted != 0;
}

/* ---- batches ------------------------------------------------------------ */

int64_t hd_fault_batch_default(void *self, const void *question)
{
    const struct hd_faults *f = self;
    const struct heddle_q_fault_batch *q = question;

    if (f->driver != NULL)
        return (int64_t)hd_min_u64(q->n, f->w.driver->batch_count);
    if (f->cfg.serial && q->serving > 0)
        return 0;
    return (int64_t)hd_min_u64(q->n, f->cfg.batch);
}

/* Asks how many of the waiting faults are served now. */
static uint32_t fault_ask(struct hd_faults *f, hd_time now)
{
    uint32_t n = f->s->waiting, i = 0;
    uint64_t *a = f->ask;
    struct heddle_q_fault_batch q = {.n = n,
                                     .serving = f->s->serving,
                                     .app = a,
                                     .vpn = a + n,
                                     .pages = a + 2 * n,
                                     .age = a + 3 * n};

    if (HD_LIKELY(!f->batch.bound))
        return (uint32_t)hd_fault_batch_default(f, &q);
    for (uint32_t e = f->s->first; i < n; e = f->v[e].next, i++) {
        a[i] = f->v[e].app;
        a[n + i] = f->v[e].vpn.v;
        a[2 * n + i] = f->v[e].pages;
        a[3 * n + i] = hd_fault_cycles(f, now - f->v[e].born);
    }
    return (uint32_t)hd_ask_fault_batch(&f->batch, &q);
}

/* The n oldest faults go to the host together. */
static void fault_begin(struct hd_faults *f, hd_time now, uint32_t n)
{
    uint32_t head = f->s->first, e = head, last = head;

    for (uint32_t i = 0; i < n; i++, e = f->v[e].next) {
        f->v[e].head = head;
        f->v[e].began = now;
        f->v[e].state = HD_FAULT_AT_HOST;
        last = e;
    }
    f->s->first = e;
    f->s->waiting -= n;
    f->v[last].next = HD_NONE;
    f->v[head].left = n;
    f->s->serving++;
    hd_fault_count_for(f, head);
    hd_fault_row(f, f->v[head].app)[HD_FAULT_BATCHES]++;
    hd_post(f->env->ev, f->rank, f->rank, now + hd_link_latency(f->w.link),
            HD_FAULT_EV_DRIVE, head, 0);
}

void hd_fault_refuse_none(struct hd_faults *f, hd_time now, uint32_t waiting)
{
    if (!hd_err_ends(f->env->err->code))
        hd_err_set(f->env->err, HEDDLE_EPOLICY,
                   "point fault_batch: 0 of %u faults at cycle %llu, and no "
                   "batch is under way: nothing would ever be served",
                   waiting, (unsigned long long)hd_fault_cycles(f, now));
}

/* Has as many faults served as may be now. */
static void fault_serve(struct hd_faults *f, hd_time now)
{
    while (f->s->waiting > 0 && !hd_err_ends(f->env->err->code)) {
        uint32_t n = fault_ask(f, now);
        if (n > 0) {
            fault_begin(f, now, n);
            continue;
        }
        if (f->s->serving == 0)
            hd_fault_refuse_none(f, now, f->s->waiting);
        return;
    }
}

void hd_fault_drive(struct hd_faults *f, hd_time now, uint32_t head)
{
    for (uint32_t e = head; e != HD_NONE; e = f->v[e].next)
        if (f->v[e].state == HD_FAULT_AT_HOST)
            f->v[e].driven = now;
    if (hd_framewait_any(f))
        hd_framewait_queue(f, head);
    else
        hd_fault_transfer(f, now, head, false);
    hd_framewait_balance(f, now);
    hd_fault_schedule(f);
}

/* ---- frames and transfers ----------------------------------------------- */

uint32_t hd_fault_place(struct hd_faults *f, const struct hd_fault *x,
                        bool again)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->pages;) {
        struct hd_xlate page;
        hd_vpn vpn = {x->vpn.v + i};
        int rc = 0;
        if (!hd_ptables_nonresident(f->w.tables, x->app, vpn, &page)) {
            i++;
            continue;
        }
        if (!hd_ptables_in_flight(f->w.tables, x->app, page.vpn)) {
            rc = hd_ptables_place(f->w.tables, x->app, page.vpn, again,
                                  f->env->err);
            again = false;
        }
        if (rc != 0)
            return rc < 0                   ? 0
                   : rc == HD_PLACE_COMPACT ? HD_FAULT_WANTS_COMPACT
                                            : HD_FAULT_WANTS_EVICT;
        n += page.pages;
        i += page.pages;
    }
    if (n == 0 && !x->prefetched)
        hd_err_set(f->env->err, HEDDLE_ECHECK,
                   "fault of page 0x%llx: all of it is resident",
                   (unsigned long long)x->vpn.v);
    if (HD_UNLIKELY(x->prefetched == HD_FAULT_BY_HOST))
        hd_fault_row(f, x->app)[HD_FAULT_PREFETCHED] += n;
    return n;
}

/* The first page of a transfer, from its page `at` on, whose data are in
 * flight; false: there is none. */
static bool fault_next_page(const struct hd_faults *f, struct hd_fault *x,
                            struct hd_xlate *page)
{
    for (; x->at < x->span; x->at++) {
        hd_vpn vpn = {x->vpn.v + x->at};
        if (hd_ptables_in_flight(f->w.tables, x->app, vpn))
            return hd_ptables_nonresident(f->w.tables, x->app, vpn, page);
    }
    return false;
}

/* Has the next page of a transfer mapped when it has crossed; the last one is
 * when the transfer is over. */
static void fault_expect(struct hd_faults *f, uint32_t e)
{
    struct hd_fault *x = &f->v[e];
    struct hd_xlate page;

    x->due = x->link_end;
    if (!fault_next_page(f, x, &page))
        return;               /* its allocation has been freed */
    x->crossed += page.pages; /* even if it is freed before it is mapped */
    if (x->crossed >= x->total)
        return;
    x->due = x->link_begin + hd_link_part(f->w.link, HD_LINK_IN,
                                          x->bytes * x->crossed / x->total,
                                          x->bytes);
    hd_post(f->env->ev, f->rank, f->rank, x->due, HD_FAULT_EV_PAGE, e, 0);
}

void hd_fault_schedule(struct hd_faults *f)
{
    uint32_t e;

    f->s->next =
        hd_link_first(f->w.link, HD_LINK_IN, &e) ? f->v[e].due + 1 : HD_NEVER;
}

/* Bytes that so many pages of a transfer occupy on the link. */
static uint64_t fault_bytes(const struct hd_faults *f, const struct hd_fault *x,
                            uint32_t pages)
{
    uint64_t sum = 0;
    struct hd_fault i = *x;
    struct hd_xlate page;

    if (HD_LIKELY(f->w.tables->compress == NULL))
        return (uint64_t)pages * HD_PAGE_BYTES;
    for (; fault_next_page(f, &i, &page); i.at += page.pages)
        sum += hd_ptables_bytes(f->w.tables, x->app, &page);
    return sum;
}

void hd_fault_ship(struct hd_faults *f, hd_time now, uint32_t e, uint32_t pages)
{
    struct hd_fault *x = &f->v[e], *last = x;
    uint64_t bytes;

    f->s->took = x->app;
    for (uint32_t i = e; i != HD_NONE; i = last->more) {
        last = &f->v[i];
        last->sent = now;
        last->state = HD_FAULT_ON_LINK;
        if (HD_UNLIKELY(f->w.thrash != NULL) &&
            last->prefetched != HD_FAULT_BY_HOST)
            hd_residency_migrates(f, now, last);
    }
    x->span = (uint32_t)(last->vpn.v + last->pages - x->vpn.v);
    x->total = pages;
    x->bytes = bytes = fault_bytes(f, x, pages);
    x->link_end =
        hd_link_send(f->w.link, now, HD_LINK_IN, x->app, bytes, f->client, e);
    x->link_begin = x->link_end - hd_link_span(f->w.link, HD_LINK_IN, bytes);
    fault_expect(f, e);
}

/* Each fault of a batch is a transfer of its own. */
bool hd_fault_transfer(struct hd_faults *f, hd_time now, uint32_t e, bool again)
{
    uint32_t first = e;

    hd_at_home(f->env, HD_SIDE_MANAGER);
    if (f->driver != NULL)
        return hd_driverloop_transfer(f, now, e, again);
    for (uint32_t next; e != HD_NONE; e = next, again = false) {
        enum hd_map_host how;
        uint32_t n;

        next = f->v[e].next;
        how = hd_residency_decide(f, now, e);
        if (how == HD_MAP_HOST_CAN && f->v[e].state == HD_FAULT_AT_HOST &&
            e == first)
            first = next; /* it is throttled */
        if (how == HD_MAP_HOST_CAN)
            continue;
        n = how == HD_MAP_HOST_LATER ? HD_FAULT_WANTS_EVICT
                                     : hd_fault_place(f, &f->v[e], again);
        if (n >= HD_FAULT_WANTS_COMPACT)
            hd_framewait_block(f, now, e, n);
        if (n == 0 && !hd_err_ends(f->env->err->code)) {
            hd_fault_complete(f, now, e); /* its allocation was freed */
            return true;
        }
        if (n == 0 || n >= HD_FAULT_WANTS_COMPACT)
            return false;
        hd_fault_ship(f, now, e, n);
    }
    if (HD_UNLIKELY(hd_prefetcher_on(f)))
        hd_prefetcher_batch(f, now, first);
    return true;
}

/* ---- arrivals ----------------------------------------------------------- */

/* A page is mapped: the TLBs' side and the manager are notified. */
static void fault_mapped(struct hd_faults *f, hd_time now, uint32_t app,
                         const struct hd_xlate *page)
{
    f->user.mapped(f->user.self, app, page->vpn, page->pages);
    if (f->w.manager.arrived != NULL)
        f->w.manager.arrived(f->w.manager.self, now, app, page->vpn,
                             page->pages);
    hd_fault_row(f, app)[HD_FAULT_PAGES] += page->pages;
}

/* The next page of a transfer has crossed the link. */
static void fault_map(struct hd_faults *f, hd_time now, uint32_t e)
{
    struct hd_fault *x = &f->v[e];
    struct hd_xlate page;
    bool before;

    if (!fault_next_page(f, x, &page))
        return; /* its allocation has been freed */
    x->at += page.pages;
    while (page.vpn.v - f->v[e].vpn.v >= f->v[e].pages)
        e = f->v[e].more;
    x = &f->v[e];
    before = hd_ptables_evicted_before(f->w.tables, x->app, page.vpn);
    if (!hd_ptables_arrive(f->w.tables, x->app, page.vpn,
                           x->prefetched == HD_FAULT_BY_PREFETCHER ||
                               x->prefetched == HD_FAULT_BY_HOST))
        return;
    if (f->w.evict != NULL) {
        hd_evict_arrived(f->w.evict, now, x->app, page.vpn, page.pages, before);
        hd_framewait_pin_arrived(f, e, &page);
    }
    hd_fault_count_for(f, e);
    fault_mapped(f, now, x->app, &page);
    hd_fault_note(f, HEDDLE_NOTE_page_arrived, e, page.vpn, page.pages, now);
    if (f->cfg.replay == HD_REPLAY_PAGE || x->prefetched)
        hd_fault_resume(f, now, e, page.vpn, page.pages);
}

/* A page, not the last of its transfer, has crossed. */
static void fault_page_over(struct hd_faults *f, hd_time now, uint32_t e)
{
    fault_map(f, now, e);
    fault_expect(f, e);
    hd_fault_schedule(f);
    if (f->w.evict != NULL)
        hd_evict_wake(f->w.evict, now);
}

/* A transfer is over: its last page has crossed the link. */
static void fault_transfer_over(struct hd_faults *f, hd_time now, uint32_t e)
{
    uint32_t head = f->v[e].head;

    fault_map(f, now, e);
    hd_fault_schedule(f);
    for (uint32_t i = e, next; i != HD_NONE; i = next) {
        next = f->v[i].more;
        f->v[i].arrived = now;
        f->v[i].state = HD_FAULT_ARRIVED;
        if (f->driver != NULL && f->v[i].prefetched && !f->v[head].prefetched)
            hd_fault_replay(f, now, i);
    }
    if (--f->v[head].left == 0)
        hd_fault_finish(f, now, head);
    if (f->w.evict != NULL)
        hd_evict_wake(f->w.evict, now);
}

bool hd_faults_warm(struct hd_faults *f, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate page;
    hd_time now = hd_events_now(f->env->ev);
    int place;

    if (!hd_ptables_nonresident(f->w.tables, app, vpn, &page))
        return false;
    place =
        hd_ptables_in_flight(f->w.tables, app, page.vpn)
            ? HD_PLACED /* what waits for it finds it resident */
            : hd_ptables_place(f->w.tables, app, page.vpn, false, f->env->err);
    if (place != HD_PLACED) {
        hd_err_set(
            f->env->err, HEDDLE_ECONFIG,
            "sample.every: application %u, page 0x%llx finds no frame "
            "while instructions are skipped; vm.memory_bytes is expected "
            "to hold all that the application touches",
            app, (unsigned long long)page.vpn.v);
        return false;
    }
    if (!hd_ptables_arrive(f->w.tables, app, page.vpn, false))
        return false;
    if (f->w.evict != NULL)
        hd_evict_arrived(f->w.evict, now, app, page.vpn, page.pages, false);
    fault_mapped(f, now, app, &page);
    return true;
}

/* ---- the end of a batch ------------------------------------------------- */

void hd_fault_issue(struct hd_faults *f, hd_time now, uint32_t treq)
{
    struct hd_treq *q = &f->w.treqs->v[treq];

    hd_framewait_loosen(f, treq);
    f->wait[treq].total += now - hd_min_u64(f->wait[treq].since, now);
    f->wait[treq].since = HD_NEVER;
    q->hit = HD_TREQ_HIT_L2;
    q->references = 0;
    q->walk = 0;
    f->user.resume(f->user.self, now, f->rank, treq);
}

void hd_fault_resume(struct hd_faults *f, hd_time now, uint32_t e, hd_vpn vpn,
                     uint32_t pages)
{
    struct hd_mshr_entry *m = &f->open.v[e];
    uint32_t t = m->first;

    m->first = HD_NONE;
    while (t != HD_NONE) {
        const struct hd_treq *q = &f->w.treqs->v[t];
        uint32_t next = q->next;
        if (q->vpn.v - vpn.v >= pages) { /* it still waits */
            hd_treq_append(f->w.treqs, &m->first, &m->last, t);
        } else {
            m->n--;
            f->v[e].requesters++;
            f->wait[t].evicted |= f->v[e].evicted;
            hd_fault_issue(f, now, t);
        }
        t = next;
    }
}

void hd_fault_replay(struct hd_faults *f, hd_time now, uint32_t e)
{
    struct hd_fault *x = &f->v[e];
    uint64_t *c;

    hd_fault_count_for(f, e);
    c = hd_fault_row(f, x->app);
    if (HD_UNLIKELY(x->prefetched != 0)) {
        hd_prefetcher_over(f, now, e);
        return;
    }
    c[HD_FAULT_WAIT_CYCLES] += hd_fault_cycles(f, x->began - x->born);
    c[HD_FAULT_HOST_CYCLES] += hd_fault_cycles(f, x->driven - x->began);
    c[HD_FAULT_ROOM_CYCLES] += hd_fault_cycles(f, x->sent - x->driven);
    c[HD_FAULT_LINK_CYCLES] += hd_fault_cycles(f, x->arrived - x->sent);
    c[HD_FAULT_BATCH_CYCLES] += hd_fault_cycles(f, now - x->arrived);
    hd_fault_resume(f, now, e, x->vpn, x->pages);
    hd_hist_add(&f->latency[x->app], hd_fault_cycles(f, now - x->born));
    hd_hist_add(&f->requesters[x->app], x->requesters);
    hd_mshr_give(&f->open, e);
}

void hd_fault_finish(struct hd_faults *f, hd_time now, uint32_t head)
{
    if (f->driver != NULL && !f->v[head].prefetched) {
        hd_driverloop_block_over(f, now, head);
        return;
    }
    for (uint32_t next; head != HD_NONE; head = next) {
        next = f->v[head].next;
        hd_fault_replay(f, now, head);
    }
    f->s->serving--;
    fault_serve(f, now);
}

void hd_fault_complete(struct hd_faults *f, hd_time now, uint32_t e)
{
    uint32_t head = f->v[e].head;

    f->v[e].arrived = now;
    f->v[e].state = HD_FAULT_ARRIVED;
    if (--f->v[head].left == 0)
        hd_fault_finish(f, now, head);
}

static void fault_event(void *self, hd_time now, uint32_t what, uint32_t e,
                        uint64_t b)
{
    const struct hd_faults *f = self;

    if (what == HD_FAULT_EV_DRIVE && f->driver != NULL)
        hd_driverloop_decide(self, now, e);
    else if (what == HD_FAULT_EV_DRIVE || what == HD_FAULT_EV_PLACE)
        hd_fault_drive(self, now, e);
    else if (what == HD_FAULT_EV_FETCH)
        hd_driverloop_fetch(self, now);
    else if (what == HD_FAULT_EV_BLOCK)
        hd_driverloop_next_block(self, now);
    else if (what == HD_FAULT_EV_PAGE)
        fault_page_over(self, now, e);
    else if (what == HD_FAULT_EV_RANGE)
        hd_hostprefetch_begin(self, now, e);
    else if (what == HD_FAULT_EV_END)
        fault_transfer_over(self, now, e);
    else if (what == HD_FAULT_EV_NOTICE)
        hd_driverloop_notice(self, now, e);
    else if (what == HD_FAULT_EV_JOINED)
        hd_driverloop_joined(self, now, e, (uint32_t)b);
    else
        hd_framewait_unpin(self, now, e, b, true);
    hd_hand_put(&f->env->stats->hand, 0);
}

/* ---- building ----------------------------------------------------------- */

static int fault_take(struct hd_faults *f, struct hd_env *env)
{
    uint32_t entries = f->w.room + HD_FAULT_PREFETCHES;
    size_t most = f->w.room;

    if (f->w.driver->mode == HD_DRIVER_DRIVER) {
        f->driver = hd_driver_open(env, f->w.driver, f->w.core_count);
        if (f->driver == NULL)
            return -1;
        entries += f->w.driver->buffer;
        most = hd_max_u64(most, f->w.driver->buffer);
    }
    f->s = hd_arena_take(env->arena, 1, sizeof *f->s);
    f->v = hd_arena_take(env->arena, entries, sizeof *f->v);
    f->wait =
        hd_arena_take(env->arena, f->w.treqs->numbers.room, sizeof *f->wait);
    f->ask = hd_env_take(env, 4 * most, sizeof *f->ask);
    return f->s == NULL || f->v == NULL || f->wait == NULL || f->ask == NULL ||
                   hd_mshr_open(&f->open, env->arena, entries, 0) != 0
               ? -1
               : 0;
}

struct hd_faults *hd_faults_open(struct hd_env *env,
                                 const struct hd_fault_wiring *w)
{
    struct hd_faults *f = hd_env_take(env, 1, sizeof *f);

    if (f == NULL)
        return NULL;
    f->env = env;
    f->w = *w;
    f->cfg = *w->cfg;
    if (fault_take(f, env) < 0)
        return NULL;
    f->how = f->driver != NULL && w->driver->prefetch ? HD_PREFETCH_DRIVER
                                                      : f->cfg.prefetch;
    f->t = (struct hd_driver_times){
        .interrupt = hd_ticks_ns(env->clk, w->driver->interrupt),
        .base = hd_ticks_ns(env->clk, w->driver->base),
        .block = hd_ticks_ns(env->clk, w->driver->block),
        .page = hd_ticks_ns(env->clk, w->driver->page),
        .unmap = hd_ticks_ns(env->clk, w->driver->unmap),
        .dma = hd_ticks_ns(env->clk, w->driver->dma),
        .evict = hd_ticks_ns(env->clk, w->driver->evict)};
    f->cycle = hd_ticks(env->clk, HD_CLK_CORE, 1);
    f->stat = hd_stats_group_by_launch(env->stats, &hd_rows_fault, 1);
    f->latency = hd_stats_hist(env->stats, &hd_rows_fault, LATENCY);
    f->requesters = hd_stats_hist(env->stats, &hd_rows_fault, REQUESTERS);
    f->s->next = HD_NEVER;
    f->s->draws = hd_rng_make(env->seed, STREAM_PREFETCH);
    f->s->took = HD_APP_NONE;
    f->s->frame_first = f->s->parked = f->s->todo = f->s->done = HD_NONE;
    if (w->evict != NULL)
        hd_evict_client(w->evict, hd_framewait_room, hd_fault_needs, f);
    f->rank = hd_events_component(env->ev, "fault", fault_event, f);
    f->client = hd_link_client(w->link, f->rank, HD_FAULT_EV_END);
    hd_slots_offer(env->slots, HEDDLE_POINT_fault_batch, "", &f->batch,
                   hd_fault_batch_default, f);
    hd_slots_offer(env->slots, HEDDLE_POINT_page_prefetch, "", &f->prefetch,
                   hd_prefetcher_default, f);
    hd_env_part(env, (struct hd_part){.name = "fault",
                                      .instances = 1,
                                      .self = f,
                                      .look = hd_fault_look,
                                      .stuck = hd_fault_stuck,
                                      .check = hd_fault_check});
    return f;
}

void hd_faults_client(struct hd_faults *f, struct hd_fault_client c)
{
    f->user = c;
}
