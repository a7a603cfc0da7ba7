/*
 * driverloop.c - driver mode: far faults as NVIDIA's UVM driver serves them.
 *
 * With uvm.mode=driver a request that faults writes a packet into the fault
 * buffer (driver.c, which also decides what a batch is and when replays come)
 * and waits with all others, whatever their pages, for the next replay.  This
 * file is the driver's loop over that buffer, with the events, the pages and
 * the requests:
 *
 *   packets --interrupt, take--> todo --base, block--> frames --> link --> done
 *      ^                                                                    |
 *      +-- requests whose page is not resident <------- replay -------------+
 *
 * The time line.  The first packet raises an interrupt; after
 * uvm.interrupt_latency the driver reads the buffer, so that what has arrived
 * until then is one batch, and while it finds packets at the end of one the next
 * batch follows without an interrupt.  A batch takes uvm.base_latency, then its
 * blocks of 2 MB have their turns.  A block takes
 *
 *     uvm.block_latency        always; a block of stale packets alone, too
 *                              then it is decided what becomes of its pages
 *     uvm.unmap_latency        at its first migration, if the host has mapped it
 *     uvm.dma_map_latency      at its first migration
 *     the wait for frames      evictions, one after the other
 *     uvm.page_latency         a page, uvm.evict_latency an eviction
 *
 * What faulted of it and what is prefetched is sent in as few transfers as
 * possible when it has its frames: copies are beside the page times and the next
 * blocks, and only the end of the batch, with its replay, waits for all of them.
 * Each batch is a note (batch_served), with its time by term, and terms are
 * counted.
 *
 * After Allen and Ge (SC 2021, a Titan V), whose pictures of batches are fitted
 * by these terms within 20 %, and a public log of theirs, whose batches are met
 * (t/814).  All of a block is unmapped from the host at once: their programs write
 * their buffers on the CPU, and a batch of 256 pages in 10 blocks takes 390 us, in
 * which there is no time for more than that once a block (scenarios/uvm/allen.lua).
 *
 * An entry is made when a batch takes a page's packets, and lives until the
 * replay.
 *
 * A page is pinned at the replay, by the requests that wait for it; one that is
 * evicted before faults again, in an entry of its own.
 *
 * Notifications of access counters (remote.c) share the loop: a batch of them
 * is served between two services of faults, granule by granule, with
 * uvm.base_latency once, uvm.block_latency for each 2 MB, and for what migrates
 * uvm.page_latency and uvm.evict_latency, next to its copies.
 *
 * Invariant: while requests wait for a replay the driver is at work, or packets
 * are in the buffer or its queues; the terms of a batch sum to its time.
 *
 * The host has pages mapped that it has touched since they were on the GPU
 * (hosttouch.c), which are unmapped as they migrate, and with uvm.host_mapped the
 * blocks that have not migrated yet.
 *
 * Left out on purpose: what driver.c says; unmapping from the host, and mapping for
 * DMA, of what a notification has migrate.
 *
 * SPDX-License-Identifier: MIT
 */
#include "faultstate.h"

uint64_t hd_faults_steps(const struct hd_faults *f)
{
    return f->driver != NULL ? hd_driver_taken(f->driver) + f->s->notices : 0;
}

hd_time hd_faults_step(const struct hd_faults *f)
{
    const struct hd_driver_times *t = &f->t;

    return (f->driver != NULL ? t->interrupt + t->base + t->block + t->unmap +
                                    t->dma + HD_LARGE_PAGES * t->page +
                                    t->evict
                              : 0) +
           (f->w.thrash != NULL ? hd_thrash_nap(f->w.thrash) : 0);
}

enum { VAIN = 32 }; /* replays that help no request */

hd_time hd_faults_until(const struct hd_faults *f)
{
    return f->driver != NULL && f->s->busy ? f->s->until : 0;
}

bool hd_faults_vain(const struct hd_faults *f, hd_time *since)
{
    *since = f->s->useful;
    return f->s->vain >= VAIN;
}

/* The driver is at work until then. */
static void driverloop_post(struct hd_faults *f, hd_time until, uint32_t what,
                            uint32_t a)
{
    f->s->until = until;
    hd_post(f->env->ev, f->rank, f->rank, until, what, a, 0);
}

/* ---- replays and blocks ------------------------------------------------- */

/* All requests that wait are replayed; what they wait for is pinned, if it is
 * resident. */
static void driverloop_replay(struct hd_faults *f, hd_time now)
{
    uint32_t t = f->s->parked, n = f->s->requests, evicted = 0, found = 0;

    for (uint32_t e = f->s->done, next; e != HD_NONE; e = next) {
        next = f->v[e].next;
        evicted |= f->v[e].evicted;
        hd_fault_replay(f, now, e);
    }
    f->s->done = f->s->parked = HD_NONE;
    f->s->requests = 0;
    hd_driver_replay(f->driver, n);
    for (uint32_t next; t != HD_NONE; t = next) {
        const struct hd_treq *q = &f->w.treqs->v[t];
        struct hd_xlate page;
        next = q->next;
        if (f->w.evict != NULL &&
            hd_ptables_page(f->w.tables, q->app, q->vpn, &page)) {
            found++;
            if (page.pfn.v < HD_HOST_FRAME)
                hd_framewait_pin(f, t, &page);
        }
        f->wait[t].evicted |= evicted;
        hd_fault_issue(f, now, t);
    }
    f->s->vain = found == 0 && f->w.evict != NULL ? f->s->vain + 1 : 0;
    f->s->useful = f->s->vain == 0 ? now : f->s->useful;
}

static void driverloop_serve(struct hd_faults *f, hd_time now);

/* Counts what a batch was and took, and says so. */
static void driverloop_record(struct hd_faults *f, hd_time now)
{
    const struct hd_driver_record *r = &f->s->record;
    const uint32_t note = HEDDLE_NOTE_batch_served;
    struct heddle_n_batch_served n = {
        .app = r->app,
        .number = r->number,
        .packets = r->packets,
        .duplicates = r->duplicates,
        .stale = r->stale,
        .faults = r->faults,
        .pages = r->pages,
        .bytes = r->bytes,
        .blocks = r->blocks,
        .evictions = r->evictions,
        .cycles = hd_fault_cycles(f, now - r->began),
        .interrupt = hd_fault_cycles(f, r->began - r->called),
        .base = hd_fault_cycles(f, r->base),
        .block = hd_fault_cycles(f, r->block),
        .unmap = hd_fault_cycles(f, r->unmap),
        .dma = hd_fault_cycles(f, r->dma),
        .room = hd_fault_cycles(f, r->room),
        .page = hd_fault_cycles(f, r->page),
        .evict = hd_fault_cycles(f, r->evict),
        .copy = hd_fault_cycles(f, now - r->managed)};

    hd_driver_spent(f->driver, &n);
    if (f->env->slots != NULL && f->env->slots->watched[note] != 0)
        hd_slots_note(f->env->slots, note, &n);
}

/* The batch is over when all its blocks are managed and copied. */
static void driverloop_end(struct hd_faults *f, hd_time now)
{
    if (f->s->managing || f->s->copying > 0)
        return;
    driverloop_record(f, now);
    if (hd_driver_batch_over(f->driver, now))
        driverloop_replay(f, now);
    f->s->busy = 0;
    driverloop_serve(f, now);
}

/* The driver has a block, and finds what becomes of its pages: what does not
 * migrate, as it is throttled or used on the host, is neither unmapped nor mapped
 * for DMA.  The others get their frames after that. */
void hd_driverloop_decide(struct hd_faults *f, hd_time now, uint32_t head)
{
    struct hd_driver_record *r = &f->s->record;
    hd_time unmap = 0, dma = 0;
    bool migrates = false;

    for (uint32_t e = head; e != HD_NONE; e = f->v[e].next) {
        enum hd_map_host how;
        f->v[e].driven = now;
        how = hd_residency_decide(f, now, e);
        f->v[e].decided = (uint16_t)(1 + how);
        if (how == HD_MAP_HOST_CAN) {
            f->v[head].left += f->v[e].state == HD_FAULT_ON_LINK;
            continue;
        }
        migrates = true;
        if (hd_ptables_touched(f->w.tables, f->v[e].app, f->v[e].vpn))
            unmap = f->t.unmap;
    }
    if (migrates &&
        hd_ptables_dma(f->w.tables, f->v[head].app, f->v[head].vpn)) {
        unmap = f->w.driver->host_mapped ? f->t.unmap : unmap;
        dma = f->t.dma;
    }
    r->unmap += unmap;
    r->dma += dma;
    r->driven = now + unmap + dma;
    if (r->driven == now)
        hd_fault_drive(f, now, head);
    else
        driverloop_post(f, r->driven, HD_FAULT_EV_PLACE, head);
}

void hd_driverloop_next_block(struct hd_faults *f, hd_time now)
{
    uint32_t head = f->s->todo, e = head, last = head;
    struct hd_driver_record *r = &f->s->record;

    if (head == HD_NONE) {
        r->managed = now;
        f->s->managing = 0;
        driverloop_end(f, now);
        return;
    }
    for (; e != HD_NONE && f->v[e].app == f->v[head].app &&
           f->v[e].vpn.v / HD_LARGE_PAGES == f->v[head].vpn.v / HD_LARGE_PAGES;
         e = f->v[e].next) {
        f->v[e].head = head;
        last = e;
    }
    f->s->todo = e;
    f->v[last].next = HD_NONE;
    f->v[head].left = 1; /* until all have their frames */
    f->s->serving++;
    f->s->copying++;
    r->blocks++;
    r->placed = 0;
    r->before = f->w.evict != NULL ? hd_evict_done(f->w.evict) : 0;
    r->block += f->t.block;
    driverloop_post(f, now + f->t.block, HD_FAULT_EV_DRIVE, head);
}

/* All of a block have their frames, and are on the link: the driver maps them,
 * and comes to the next one. */
static void driverloop_managed(struct hd_faults *f, hd_time now)
{
    struct hd_driver_record *r = &f->s->record;
    uint64_t gone =
        f->w.evict != NULL ? hd_evict_done(f->w.evict) - r->before : 0;
    hd_time page = r->placed * f->t.page, evict = gone * f->t.evict;

    r->room += now - r->driven;
    r->page += page;
    r->evict += evict;
    r->evictions += gone;
    r->pages += r->placed;
    driverloop_post(f, now + page + evict, HD_FAULT_EV_BLOCK, 0);
}

void hd_driverloop_block_over(struct hd_faults *f, hd_time now, uint32_t head)
{
    uint32_t last = head, app = f->v[head].app;

    for (uint32_t e = head; e != HD_NONE; e = f->v[e].next) {
        f->v[e].head = HD_NONE;
        last = e;
    }
    f->v[last].next = f->s->done;
    f->s->done = head;
    f->s->serving--;
    f->s->copying--;
    if (hd_driver_block_over(f->driver, app))
        driverloop_replay(f, now);
    driverloop_end(f, now);
}

/* ---- a batch of faults -------------------------------------------------- */

/* Whether the page of a packet is not resident, and its first base page. */
static bool driverloop_not_resident(void *self, uint32_t app, hd_vpn vpn,
                                    hd_vpn *first)
{
    const struct hd_faults *f = self;
    struct hd_xlate x;

    if (!hd_ptables_nonresident(f->w.tables, app, vpn, &x))
        return false;
    *first = x.vpn;
    return true;
}

/* A page that waits for a replay was evicted before it, and faults again: for
 * its entry this is the replay. */
static void driverloop_refault(struct hd_faults *f, hd_time now, uint32_t e)
{
    uint32_t *p = &f->s->done;

    while (*p != e)
        p = &f->v[*p].next;
    *p = f->v[e].next;
    hd_fault_replay(f, now, e);
}

/* The packets that the driver has taken become faults, in their order. */
static void driverloop_take(struct hd_faults *f, hd_time now, uint32_t pages)
{
    uint32_t *link = &f->s->todo;

    for (uint32_t i = 0; i < pages; i++) {
        uint32_t packets, e;
        const struct hd_packet *p = hd_driver_batch(f->driver, i, &packets);
        uint64_t key = p->vpn.v | (uint64_t)p->app << 52, *peak;
        struct hd_xlate page;

        hd_ptables_nonresident(f->w.tables, p->app, p->vpn, &page);
        e = hd_mshr_find(&f->open, key);
        if (e != HD_NONE && f->v[e].prefetched)
            continue; /* the application's host prefetches it */
        if (e != HD_NONE)
            driverloop_refault(f, now, e);
        e = hd_mshr_take(&f->open, key);
        f->v[e] = (struct hd_fault){.vpn = p->vpn,
                                    .born = p->born,
                                    .began = now,
                                    .pages = page.pages,
                                    .requesters = packets,
                                    .more = HD_NONE,
                                    .next = HD_NONE,
                                    .head = HD_NONE,
                                    .app = (uint8_t)p->app,
                                    .state = HD_FAULT_AT_HOST,
                                    .launch = p->launch};
        *link = e;
        link = &f->v[e].next;
        hd_fault_count_for(f, e);
        hd_fault_row(f, p->app)[HD_FAULT_FAULTS]++;
        hd_fault_row(f, p->app)[HD_FAULT_MERGES] += packets - 1;
        peak = &hd_fault_row(f, HD_APP_NONE)[HD_FAULT_PEAK];
        *peak = hd_max_u64(*peak, hd_mshr_used(&f->open));
        hd_fault_note(f, HEDDLE_NOTE_page_fault, e, p->vpn, page.pages, now);
    }
}

/* Asks how many of the n packets that are known are a batch. */
static uint32_t driverloop_ask(struct hd_faults *f, hd_time now, uint32_t n)
{
    uint64_t *a = f->ask;
    struct heddle_q_fault_batch q = {.n = n,
                                     .app = a,
                                     .vpn = a + n,
                                     .pages = a + 2 * (size_t)n,
                                     .age = a + 3 * (size_t)n};

    if (HD_LIKELY(!f->batch.bound))
        return (uint32_t)hd_fault_batch_default(f, &q);
    for (uint32_t i = 0; i < n; i++) {
        const struct hd_packet *p = hd_driver_packet(f->driver, i);
        struct hd_xlate x = {.vpn = p->vpn, .pages = 1};
        hd_ptables_nonresident(f->w.tables, p->app, p->vpn, &x);
        a[i] = p->app;
        a[n + i] = x.vpn.v;
        a[2 * (size_t)n + i] = x.pages;
        a[3 * (size_t)n + i] = hd_fault_cycles(f, now - p->born);
    }
    return (uint32_t)hd_ask_fault_batch(&f->batch, &q);
}

static void driverloop_ship(struct hd_faults *f, hd_time now,
                            struct hd_fault_set *g, uint32_t head)
{
    struct hd_fault_sum sum = hd_fault_set_ship(f, now, g, head);

    if (f->v[head].prefetched) { /* no block of a batch */
        f->s->notice_pages +=
            f->v[head].prefetched == HD_FAULT_BY_COUNTER ? sum.pages : 0;
        return;
    }
    f->s->record.placed += sum.pages;
    f->s->record.bytes += sum.bytes;
}

bool hd_driverloop_transfer(struct hd_faults *f, hd_time now, uint32_t e,
                            bool again)
{
    struct hd_prefetcher s = {.app = HD_NONE};
    uint32_t head = f->v[e].head;
    bool faulted = !f->v[head].prefetched; /* or it waited for frames */
    struct hd_fault_set g;

    hd_fault_set_clear(&g, f->v[head].vpn);
    for (; e != HD_NONE; e = f->v[e].next, again = false) {
        uint32_t decided = f->v[e].decided, n;
        enum hd_map_host how;
        f->v[e].decided = 0; /* it may be otherwise after a wait */
        if (decided == 1 + HD_MAP_HOST_CAN)
            continue;
        how = decided == 1 + HD_MAP_HOST_NEVER
                  ? HD_MAP_HOST_NEVER
                  : hd_residency_decide(f, now, e);
        if (how == HD_MAP_HOST_CAN) {
            f->v[head].left += f->v[e].state == HD_FAULT_ON_LINK;
            continue;
        }
        n = how == HD_MAP_HOST_LATER ? HD_FAULT_WANTS_EVICT
                                : hd_fault_place(f, &f->v[e], again);
        if (n == 0 && !hd_err_ends(f->env->err->code)) {
            driverloop_ship(f, now, &g, head);
            hd_fault_complete(f, now, e); /* its allocation was freed */
            if (faulted)
                driverloop_managed(f, now);
            return true;
        }
        if (n == 0)
            return false;
        if (n >= HD_FAULT_WANTS_COMPACT) {
            driverloop_ship(f, now, &g, head);
            hd_framewait_block(f, now, e, n);
            return false;
        }
        f->v[e].total = n;
        hd_fault_set_add(f, &g, e);
    }
    for (e = head;
         hd_prefetcher_on(f) && !f->v[head].prefetched && e != HD_NONE;
         e = f->v[e].next)
        if (f->v[e].remote <= 1)
            hd_prefetcher_ask(f, now, e, &s, &g);
    driverloop_ship(f, now, &g, head);
    if (--f->v[head].left == 0) /* nothing is in flight */
        hd_fault_finish(f, now, head);
    if (faulted)
        driverloop_managed(f, now);
    return true;
}

/* The driver takes n packets as a batch. */
static void driverloop_begin(struct hd_faults *f, hd_time now, uint32_t n)
{
    struct hd_driver_record *r = &f->s->record;
    uint32_t idle, pages, app = hd_driver_packet(f->driver, 0)->app;

    pages = hd_driver_take(f->driver, n, driverloop_not_resident, f);
    idle = hd_driver_idle_blocks(f->driver);
    *r = (struct hd_driver_record){.called = r->called,
                                   .began = now,
                                   .base = f->t.base,
                                   .block = idle * f->t.block,
                                   .number = r->number + 1,
                                   .packets = n,
                                   .faults = pages,
                                   .app = app};
    hd_driver_last(f->driver, &r->duplicates, &r->stale);
    driverloop_take(f, now, pages);
    if (f->s->todo != HD_NONE) {
        hd_fault_count_for(f, f->s->todo);
        hd_fault_row(f, f->v[f->s->todo].app)[HD_FAULT_BATCHES]++;
    }
    f->s->managing = 1;
    driverloop_post(f, now + r->base + r->block, HD_FAULT_EV_BLOCK, 0);
}

/* ---- a batch of notifications ------------------------------------------- */

/* The driver's time for what the last notification had migrate, from when its
 * pages were unmapped on. */
static hd_time driverloop_noticed(struct hd_faults *f)
{
    struct hd_fault_station *s = f->s;
    uint64_t gone = s->notice_pages != 0 && f->w.evict != NULL
                        ? hd_evict_done(f->w.evict) - s->notice_before
                        : 0;
    hd_time until = s->notice_from + s->notice_pages * f->t.page +
                    gone * f->t.evict;

    s->notice_pages = 0;
    return until;
}

void hd_driverloop_migrate(struct hd_faults *f, hd_time now)
{
    f->s->notice_from = now;
    f->s->notice_pages = 0;
    f->s->notice_before =
        f->w.evict != NULL ? hd_evict_done(f->w.evict) : 0;
}

void hd_driverloop_next_notice(struct hd_faults *f, hd_time now)
{
    bool block = false;
    hd_time until = driverloop_noticed(f);
    uint32_t g;

    if (until > now) { /* copies are over before */
        driverloop_post(f, until, HD_FAULT_EV_NOTICE, HD_NONE);
        return;
    }
    g = hd_remote_next(f->w.remote, &block);
    if (g == HD_NONE) {
        f->s->busy = 0;
        driverloop_serve(f, now);
        return;
    }
    f->s->notices++;
    driverloop_post(f, now + (block ? f->t.block : 0), HD_FAULT_EV_NOTICE, g);
}

void hd_driverloop_notice(struct hd_faults *f, hd_time now, uint32_t g)
{
    if (g == HD_NONE || !hd_remote_decide(f->w.remote, now, g))
        hd_driverloop_next_notice(f, now);
}

/* ---- the loop ----------------------------------------------------------- */

void hd_driverloop_fetch(struct hd_faults *f, hd_time now)
{
    uint32_t n, known = hd_driver_known(f->driver, now);

    if (f->w.remote != NULL && hd_remote_waits(f->w.remote) &&
        hd_driver_between(f->driver)) {
        hd_remote_take(f->w.remote);
        driverloop_post(f, now + f->t.base, HD_FAULT_EV_NOTICE, HD_NONE);
        return;
    }
    n = known > 0 ? driverloop_ask(f, now, known) : 0;
    if (n == 0) {
        f->s->busy = 0;
        if (known > 0)
            hd_fault_refuse_none(f, now, known);
        return;
    }
    driverloop_begin(f, now, n);
}

/* The driver is called, if it is idle and there is something to do; one batch
 * of a service follows another without an interrupt. */
static void driverloop_serve(struct hd_faults *f, hd_time now)
{
    hd_time at = hd_driver_first(f->driver);

    if (f->s->busy || hd_err_ends(f->env->err->code))
        return;
    f->s->record.called = now;
    if (!hd_driver_between(f->driver)) {
        f->s->busy = 1;
        hd_driverloop_fetch(f, now);
        return;
    }
    if (f->w.remote != NULL && hd_remote_waits(f->w.remote))
        at = now;
    if (at == HD_NEVER)
        return;
    f->s->busy = 1;
    f->s->record.called = hd_max_u64(now, at);
    driverloop_post(f, f->s->record.called + f->t.interrupt,
                    HD_FAULT_EV_FETCH, 0);
}

void hd_faults_notified(struct hd_faults *f, hd_time now)
{
    driverloop_serve(f, now);
}

/* So many packets of a request that waits. */
static void driverloop_write(struct hd_faults *f, hd_time now, uint32_t treq,
                             uint32_t n)
{
    const struct hd_treqs *treqs = f->w.treqs;
    const struct hd_treq *q = &treqs->v[treq];
    struct hd_packet p = {
        .vpn = q->vpn, .born = now, .app = q->app, .core = q->core};

    p.launch = treqs->launch != NULL ? treqs->launch[treq] : 0;
    for (uint32_t i = 0; i < n; i++)
        hd_driver_write(f->driver, &p);
}

void hd_faults_joined(struct hd_faults *f, hd_time now, uint32_t src,
                      uint32_t treq, uint32_t joined)
{
    /* a core may run ahead of the others: this counts at its time */
    hd_post(f->env->ev, src, f->rank, now, HD_FAULT_EV_JOINED, treq, joined);
}

/* Before a request waits for the first time, what joins it is no news: its core
 * says all when it is notified.  One that is looked up again after a replay will
 * have as many packets if it waits then. */
void hd_driverloop_joined(struct hd_faults *f, hd_time now, uint32_t treq,
                          uint32_t joined)
{
    struct hd_fault_wait *x = &f->wait[treq];
    uint32_t more = joined > x->joined ? joined - x->joined : 0;

    if (more == 0 || f->w.treqs->v[treq].client < f->w.replay_client)
        return;
    x->joined += more;
    if (x->since == HD_NEVER)
        return;
    driverloop_write(f, now, treq, more);
    driverloop_serve(f, now);
}

void hd_driverloop_enter(struct hd_faults *f, hd_time now, uint32_t first,
                         uint32_t n)
{
    for (uint32_t t = first, next; n > 0; n--, t = next) {
        const struct hd_treq *q = &f->w.treqs->v[t];
        uint32_t e = hd_fault_find(f, q->app, q->vpn);
        next = q->next;
        if (e != HD_NONE && f->v[e].prefetched && f->v[e].requesters++ == 0)
            hd_prefetcher_touched(f, e);
        hd_treq_append(f->w.treqs, &f->s->parked, &f->s->parked_last, t);
        f->s->requests++;
        hd_fault_park(f, hd_max_u64(now, q->looked), t);
        driverloop_write(f, now, t, 1 + f->wait[t].joined);
    }
    driverloop_serve(f, now);
}

void hd_driverloop_check(const struct hd_faults *f, struct heddle_error *err)
{
    uint32_t requests = 0;

    for (uint32_t t = f->s->parked; t != HD_NONE; t = f->w.treqs->v[t].next)
        requests++;
    if (requests != f->s->requests ||
        (requests > 0 && !f->s->busy &&
         hd_driver_first(f->driver) == HD_NEVER))
        hd_err_set(err, HEDDLE_ECHECK,
                   "faults: %u requests wait for a replay, %u are counted; "
                   "the driver is%s at work",
                   requests, f->s->requests, f->s->busy ? "" : " not");
}
