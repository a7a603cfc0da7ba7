/*
 * evict.c - eviction: which pages are evicted, when, and what that takes.
 *
 * Where the applications touch more than fits (vm.paging=fault), a page that
 * migrates needs the frame of another.  What is evicted is a unit: all pages
 * that are resident in an aligned 4 KB, 64 KB or 2 MB of one application
 * (evict.unit).  As in NVIDIA's driver and in the baseline of ETC (Li et al.,
 * ASPLOS 2019), a page that finds no frame has one unit evicted after the other
 * until it does, and its own transfer begins when the last byte of theirs is on
 * the host:
 *
 *   no frame --ask--> instant of the manager: choose, unmap, shoot down,
 *                     take lines out of the caches
 *            --write-back over the link--> frames free --> try again
 *
 * There is one eviction at a time.  Mappings change only at an instant that no
 * core has run past (manage.c).  Pages of the unit are not resident from that
 * instant on, and keep their frames until the write-back is over; with
 * evict.write_back=dirty only pages that were written cross the link, and
 * nothing waits for the others.
 *
 * When: a page that waits for a frame always starts one.  Where none waits, the
 * point evict_trigger is asked whenever frames were taken or freed, with why,
 * for which application, and how much is allocated and fits (ETC, 4.2 and 4.5);
 * evict.trigger=watermark answers yes below evict.free_bytes, so that evictions
 * overlap with migrations.  An eviction that a page waits for begins when
 * nothing is in flight from the host (the baseline of ETC), unless
 * evict_trigger says yes, by default if evict.overlap does; and what is behind
 * that page waits, too: so the link carries either.
 *
 * Which: the point evict_victim; its default is the unit into which a page
 * migrated longest ago (the driver's order, ETC's "age-based LRU"), which is
 * the head of a list that a unit goes to the end of whenever a page arrives in
 * it; where there are chunks of 2 MB (uvm.chunks), one whose memory is no chunk
 * stays where it was when its first page arrived, as in the driver.  What is
 * known of a unit is when a page arrived last, when a walk ended in it last
 * (the accessed bit, with its time: TLB hits set none), how many did, and how
 * many of its pages were written.
 *
 * Pins.  A page that a fault has migrated stays until the requests that waited
 * for it have their answers (framewait.c).  Nothing else is pinned.  Where all
 * that could be evicted is pinned, the eviction waits for a pin to go or a page
 * to arrive; where neither will happen, because what is pinned waits for a page
 * that waits for this eviction, memory is too small and the run stops with an
 * error that says so.
 *
 * Compressed pages may grow where they are (memory/compress.c).  If they
 * outgrow memory, units are evicted until they fit; no request waits for that.
 *
 * What is evicted with a unit is in evictwide.c, what an application's host
 * says and touches in hosttouch.c.
 *
 * Invariants: base pages that arrived = those that were evicted, went with
 * their allocations, or are resident; a unit is in the list exactly while it
 * has pages, in the order of their arrival (with sim.check a plain search over
 * all units finds the same victim); frames are free only after the write-back.
 *
 * Left out on purpose: DRAM traffic of write-back and migration, which the link
 * bounds; the host's own time for an eviction; loads and stores that had their
 * translation before the instant continue at the old frame, as if the shootdown
 * had waited for them, and lines that are in flight then come in and age away.
 * That is seldom: of 1,375 pages of 64 KB that were evicted (BFS2, ATAX and
 * 2DCONV at size S in half of what they touch) 58 had lines in flight below the
 * L1, 598 in all, when they were unmapped, and 2 had 3 lines when they had been
 * written back.  With evict.write_back=dirty, where the frame of a clean page
 * is free at once, 148 of 2,513 had, and 105 when it was free: waiting for
 * these would put off 4 % of the evictions by an access of memory, against 20
 * us a fault.
 *
 * SPDX-License-Identifier: MIT
 */
#include "evictstate.h"

#include <string.h>

#include "kit/bits.h"
#include "tree.h"

#define HD_PART    evict
#define HD_CFG     struct hd_evict_cfg
#define HD_PART_OF "paging/evict.def"
#include "kit/rows.h"

enum { FIRST_UNITS = 1024 };

static const uint32_t UNIT[] = {1, 16, HD_LARGE_PAGES, HD_TREE_LEAF};

/* ---- units -------------------------------------------------------------- */

uint32_t hd_evict_unit_of(const struct hd_evict *v, uint32_t app, hd_vpn vpn)
{
    const struct hd_pt_slot *h =
        hd_pt_find(v->w.tables, hd_pt_key(app, vpn.v / HD_LARGE_PAGES));

    if (h->key == 0)
        return HD_NONE;
    return (h->region_bits >> HD_PT_SHIFT) * v->per +
           (uint32_t)((vpn.v & (HD_LARGE_PAGES - 1)) >> v->unit_log);
}

uint64_t hd_evict_done(const struct hd_evict *v)
{
    uint64_t sum = 0;

    for (uint32_t app = 0; app < v->env->stats->apps; app++)
        sum += *hd_evict_count(v, app, HD_EVICT_EVICTIONS);
    return sum;
}

hd_vpn hd_evict_place(const struct hd_evict *v, uint32_t u, uint32_t *app)
{
    const struct hd_ptables *t = v->w.tables;
    const struct hd_pt_region *r =
        (const struct hd_pt_region *)(void *)hd_pt_entry(t, t->s->region) +
        u / v->per;

    *app = r->app;
    return (hd_vpn){r->number * HD_LARGE_PAGES +
                    ((uint64_t)(u % v->per) << v->unit_log)};
}

/* Base pages from the beginning of a unit to the end of what is evicted with
 * it: a page is larger than its unit where the two settings say so. */
static uint32_t evict_span(const struct hd_evict *v, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate x;
    uint32_t n = hd_evict_unit_pages(v);

    return hd_ptables_page(v->w.tables, app, vpn, &x) && x.vpn.v == vpn.v
               ? (uint32_t)hd_max_u64(n, x.pages)
               : n;
}

/* Makes room for a unit's record.  0 or -1 (out of memory). */
static int evict_grow(struct hd_evict *v, uint32_t u)
{
    struct hd_evict_state *s = v->s;
    uint32_t room = s->room;
    struct hd_evictable *p;

    if (u < room)
        return 0;
    while (u >= room)
        room *= 2;
    p = hd_arena_take(v->env->arena, room, sizeof *p);
    if (p == NULL)
        return -1;
    memcpy(p, hd_evict_at(v, 0), s->room * sizeof *p);
    s->unit = hd_arena_ref(v->env->arena, p);
    s->room = room;
    return 0;
}

static void evict_unlink(struct hd_evict *v, uint32_t u)
{
    struct hd_evictable *x = hd_evict_at(v, u);

    *(x->last == HD_NONE ? &v->s->first : &hd_evict_at(v, x->last)->next) =
        x->next;
    *(x->next == HD_NONE ? &v->s->end : &hd_evict_at(v, x->next)->last) =
        x->last;
    v->s->units--;
}

static void evict_append(struct hd_evict *v, uint32_t u)
{
    struct hd_evictable *x = hd_evict_at(v, u);

    x->next = HD_NONE;
    x->last = v->s->end;
    *(v->s->end == HD_NONE ? &v->s->first : &hd_evict_at(v, v->s->end)->next) =
        u;
    v->s->end = u;
    v->s->units++;
}

/* ---- pages that arrive and go -------------------------------------------- */

void hd_evict_wake(struct hd_evict *v, hd_time now)
{
    if (HD_LIKELY(!v->s->stalled))
        return;
    v->s->stalled = 0;
    hd_evict_start(v, now);
}

bool hd_evict_prefers(const struct hd_evict *v, uint32_t app, hd_vpn vpn)
{
    return (hd_ptables_advice(v->w.tables, app, vpn) & HEDDLE_ADVICE_GPU) != 0;
}

void hd_evict_arrived(struct hd_evict *v, hd_time now, uint32_t app, hd_vpn vpn,
                      uint32_t pages, bool before)
{
    uint32_t u = hd_evict_unit_of(v, app, vpn);
    struct hd_evictable *x;

    if (evict_grow(v, u) < 0) {
        hd_err_memory(v->env->err);
        return;
    }
    x = hd_evict_at(v, u);
    if (x->pages == 0)
        x->walks = x->stays = 0;
    if (x->pages == 0 || !hd_ptables_small(v->w.tables, app, vpn)) {
        if (x->pages != 0)
            evict_unlink(v, u);
        evict_append(v, u);
        x->migrated = now;
    }
    x->stays |= hd_evict_prefers(v, app, vpn);
    x->touched = now;
    x->pages = (uint16_t)(x->pages + pages);
    v->s->arrived += pages;
    v->s->resident += pages;
    if (before)
        *hd_evict_count(v, app, HD_EVICT_REFAULTS) += pages;
}

/* A page is not resident any more: it is evicted, or its allocation was freed.
 */
static void evict_gone(void *self, uint32_t app, hd_vpn vpn, uint32_t pages,
                       bool unused)
{
    struct hd_evict *v = self;
    uint32_t u = hd_evict_unit_of(v, app, vpn);
    struct hd_evictable *x = hd_evict_at(v, u);

    *hd_evict_count(v, app, HD_EVICT_UNUSED) += unused ? pages : 0;
    x->pages = (uint16_t)(x->pages - pages);
    v->s->lost += pages; /* corrected where it is evicted */
    v->s->resident -= pages;
    if (x->pages == 0)
        evict_unlink(v, u);
}

void hd_evict_touch(struct hd_evict *v, hd_time now, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate x;
    struct hd_evictable *u;

    if (!hd_ptables_page(v->w.tables, app, vpn, &x) || x.pfn.v >= HD_HOST_FRAME)
        return; /* of a coalesced region, or used on the host */
    u = hd_evict_at(v, hd_evict_unit_of(v, app, x.vpn));
    u->touched = now;
    u->walks++;
    (*hd_evict_count(v, app, HD_EVICT_ACCESSES))++;
    *hd_evict_count(v, app, HD_EVICT_USED) +=
        hd_ptables_used(v->w.tables, app, vpn);
}

/* ---- pins --------------------------------------------------------------- */

static uint64_t evict_pin_key(uint32_t app, hd_vpn vpn)
{
    return vpn.v | (uint64_t)app << 52;
}

bool hd_evict_pinned(const struct hd_evict *v, uint32_t app, hd_vpn vpn)
{
    return hd_mshr_used(&v->pins) != 0 &&
           hd_mshr_find(&v->pins, evict_pin_key(app, vpn)) != HD_NONE;
}

void hd_evict_pin(struct hd_evict *v, uint32_t app, hd_vpn vpn, uint32_t pages)
{
    uint64_t key = evict_pin_key(app, vpn);
    uint32_t e = hd_mshr_find(&v->pins, key);
    struct hd_evictable *x = hd_evict_at(v, hd_evict_unit_of(v, app, vpn));

    if (e == HD_NONE) {
        e = hd_mshr_take(&v->pins, key);
        v->pins.v[e].flags = pages;
        x->pinned = (uint16_t)(x->pinned + pages);
    }
    v->pins.v[e].n++;
}

void hd_evict_loosen(struct hd_evict *v)
{
    v->s->loose++;
}

void hd_evict_unpin(struct hd_evict *v, hd_time now, uint32_t app, hd_vpn vpn,
                    bool loose)
{
    uint32_t e = hd_mshr_find(&v->pins, evict_pin_key(app, vpn));
    struct hd_evictable *x = hd_evict_at(v, hd_evict_unit_of(v, app, vpn));

    v->s->loose -= loose;
    if (--v->pins.v[e].n == 0) {
        x->pinned = (uint16_t)(x->pinned - v->pins.v[e].flags);
        hd_mshr_give(&v->pins, e);
    }
    hd_evict_wake(v, now);
}

/* ---- which unit is evicted ---------------------------------------------- */

uint32_t hd_evict_dirty(const struct hd_evict *v, const struct hd_xlate *x)
{
    for (uint32_t i = 0; i < x->pages; i++)
        if (hd_frame_written(&v->w.tables->frames, x->pfn.v + i))
            return x->pages;
    return 0;
}

uint32_t hd_evict_each_of(struct hd_evict *v, uint32_t app, hd_vpn first,
                          uint32_t span, hd_evict_visit *fn, uint64_t *sum)
{
    uint32_t pages = 0;

    for (uint32_t i = 0; i < span;) {
        struct hd_xlate x;
        if (!hd_ptables_page(v->w.tables, app, (hd_vpn){first.v + i}, &x)) {
            i++;
            continue;
        }
        if (x.pfn.v < HD_HOST_FRAME && !hd_evict_pinned(v, app, x.vpn)) {
            fn(v, app, &x, sum);
            pages += x.pages;
        }
        i = (uint32_t)(x.vpn.v + x.pages - first.v);
    }
    return pages;
}

static uint32_t evict_each(struct hd_evict *v, uint32_t u, hd_evict_visit *fn,
                           uint64_t *sum)
{
    uint32_t app;
    hd_vpn first = hd_evict_place(v, u, &app);

    return hd_evict_each_of(v, app, first, evict_span(v, app, first), fn, sum);
}

static void evict_add_dirty(struct hd_evict *v, uint32_t app,
                            const struct hd_xlate *x, uint64_t *sum)
{
    (void)app;
    *sum += hd_evict_dirty(v, x);
}

enum { APP, VPN, PAGES, DIRTY, WALKS, MIGRATED, TOUCHED, FIELDS };

/* Room for the fields of all units of the list.  0 or -1 (out of memory). */
static int evict_make_ask(struct hd_evict *v)
{
    uint32_t n = v->s->units;

    if (n <= v->ask_room)
        return 0;
    v->ask_room = 2 * n;
    v->ask = hd_env_take(v->env, (size_t)v->ask_room * FIELDS, sizeof *v->ask);
    v->who = hd_env_take(v->env, v->ask_room, sizeof *v->who);
    if (v->ask != NULL && v->who != NULL)
        return 0;
    v->ask_room = 0;
    hd_err_memory(v->env->err);
    return -1;
}

/* The first unit of the list that can be chosen, or HD_NONE. */
static uint32_t evict_oldest(const struct hd_evict *v, bool last)
{
    uint32_t u = v->s->first;

    while (u != HD_NONE && !hd_evict_eligible(hd_evict_at(v, u), last))
        u = hd_evict_at(v, u)->next;
    return u;
}

/* The naive twin of evict_oldest(): a search through all units there ever were.
 */
static uint32_t evict_plain_oldest(const struct hd_evict *v, bool last)
{
    uint32_t best = HD_NONE;

    for (uint32_t u = 0; u < v->s->room; u++)
        if (hd_evict_eligible(hd_evict_at(v, u), last) &&
            (best == HD_NONE ||
             hd_evict_at(v, u)->migrated < hd_evict_at(v, best)->migrated))
            best = u;
    return best;
}

static int64_t evict_victim_default(void *self, const void *question)
{
    (void)self, (void)question;
    return 0; /* they are asked of in the order of the list */
}

static uint32_t evict_choose(struct hd_evict *v, hd_time now)
{
    uint32_t n = 0, app, first = evict_oldest(v, false);
    uint64_t *a;
    bool last = first == HD_NONE;
    struct heddle_q_evict_victim q = {.waiting =
                                          v->s->wanted & HD_EVICT_FOR_FRAMES};

    if (last)
        first = evict_oldest(v, true);
    if (HD_UNLIKELY(v->env->check) && first != HD_NONE &&
        hd_evict_at(v, first)->migrated !=
            hd_evict_at(v, evict_plain_oldest(v, last))->migrated)
        hd_err_set(v->env->err, HEDDLE_ECHECK,
                   "evict: unit %u is at the head of the list, unit %u is "
                   "older",
                   first, evict_plain_oldest(v, last));
    if (first == HD_NONE || HD_LIKELY(!v->victim.bound) ||
        evict_make_ask(v) < 0)
        return first;
    a = v->ask;
    for (uint32_t u = first; u != HD_NONE; u = hd_evict_at(v, u)->next) {
        const struct hd_evictable *x = hd_evict_at(v, u);
        uint64_t *f = a + n, written = 0;
        if (!hd_evict_eligible(x, last))
            continue;
        v->who[n++] = u;
        f[(size_t)VPN * v->ask_room] = hd_evict_place(v, u, &app).v;
        f[(size_t)APP * v->ask_room] = app;
        f[(size_t)PAGES * v->ask_room] =
            evict_each(v, u, evict_add_dirty, &written);
        f[(size_t)DIRTY * v->ask_room] = written;
        f[(size_t)WALKS * v->ask_room] = x->walks;
        f[(size_t)MIGRATED * v->ask_room] = (now - x->migrated) / v->cycle;
        f[(size_t)TOUCHED * v->ask_room] = (now - x->touched) / v->cycle;
    }
    q.n = n;
    q.app = a + (size_t)APP * v->ask_room;
    q.vpn = a + (size_t)VPN * v->ask_room;
    q.pages = a + (size_t)PAGES * v->ask_room;
    q.dirty = a + (size_t)DIRTY * v->ask_room;
    q.accesses = a + (size_t)WALKS * v->ask_room;
    q.migrated = a + (size_t)MIGRATED * v->ask_room;
    q.accessed = a + (size_t)TOUCHED * v->ask_room;
    return v->who[hd_ask_evict_victim(&v->victim, &q)];
}

/* ---- when --------------------------------------------------------------- */

static bool evict_ask_trigger(const struct hd_evict *v,
                              enum heddle_evict_cause cause, uint32_t app)
{
    const struct hd_ptables *t = v->w.tables;
    struct heddle_q_evict_trigger q = {.free = hd_ptables_free(t),
                                       .frames = hd_ptables_total(t),
                                       .resident = v->s->resident,
                                       .unit = hd_evict_unit_pages(v),
                                       .waiting =
                                           cause == HEDDLE_EVICT_CAUSE_WAITING,
                                       .cause = cause,
                                       .app = app,
                                       .allocated = hd_ptables_allocated(t),
                                       .capacity = hd_ptables_capacity(t)};

    return hd_ask_evict_trigger(&v->trigger, &q) != 0;
}

void hd_evict_start(struct hd_evict *v, hd_time now)
{
    uint32_t word;

    if (v->s->busy != HD_EVICT_IDLE || hd_err_ends(v->env->err->code))
        return;
    if (v->s->wanted && v->s->ranges == 0 &&
        hd_link_first(v->w.link, HD_LINK_IN, &word) &&
        !evict_ask_trigger(v, HEDDLE_EVICT_CAUSE_WAITING, v->s->waits)) {
        v->s->stalled = 1;
        return;
    }
    v->s->busy = HD_EVICT_ASKED;
    v->w.manager.evict(v->w.manager.self, now);
}

void hd_evict_want(struct hd_evict *v, hd_time now, uint32_t app)
{
    v->s->wanted |= HD_EVICT_FOR_FRAMES;
    v->s->waits = app;
    hd_evict_start(v, now);
}

/* Compressed pages have grown, and are more than memory holds. */
static void evict_outgrown(void *self, hd_time now, uint32_t app)
{
    struct hd_evict *v = self;

    v->s->waits = v->s->wanted ? v->s->waits : app;
    v->s->wanted |= HD_EVICT_FOR_GROWTH;
    hd_evict_start(v, now);
}

void hd_evict_continue(struct hd_evict *v, hd_time now)
{
    v->s->wanted = 0;
    v->room(v->room_self, now);
    if (HD_UNLIKELY(v->w.tables->compress != NULL) &&
        hd_compress_outgrown(v->w.tables->compress))
        evict_outgrown(v, now, v->s->waits);
    if (v->s->ranges != 0)
        hd_evict_start(v, now);
}

static int64_t evict_trigger_default(void *self, const void *question)
{
    const struct hd_evict *v = self;
    const struct heddle_q_evict_trigger *q = question;

    if (q->waiting)
        return v->cfg.overlap;
    return v->cfg.trigger == HD_EVICT_WATERMARK &&
           q->free * HD_PAGE_BYTES < v->cfg.free_bytes;
}

void hd_evict_taken(struct hd_evict *v, hd_time now, uint32_t by)
{
    bool took = by != HD_APP_NONE;

    if (HD_LIKELY(v->cfg.trigger == HD_EVICT_EXHAUSTED && !v->trigger.bound))
        return;
    if (v->s->busy == HD_EVICT_IDLE && !v->s->wanted &&
        evict_ask_trigger(
            v, took ? HEDDLE_EVICT_CAUSE_TAKEN : HEDDLE_EVICT_CAUSE_FREED,
            took ? by : v->s->freed))
        hd_evict_start(v, now);
}

void hd_evict_freed(struct hd_evict *v, hd_time now, uint32_t app)
{
    v->s->freed = app;
    if (v->s->busy == HD_EVICT_UNDER_WAY || !v->s->wanted)
        return;
    v->s->busy =
        HD_EVICT_IDLE; /* what was asked for may not be needed any more */
    v->s->stalled = 0;
    hd_evict_continue(v, now);
}

/* ---- one eviction ------------------------------------------------------- */

void hd_evict_leave(struct hd_evict *v, uint32_t app, const struct hd_xlate *x,
                    uint64_t *bytes)
{
    uint32_t written = hd_evict_dirty(v, x), advice;
    struct heddle_n_page_evicted n = {.app = app,
                                      .vpn = x->vpn.v,
                                      .pages = x->pages,
                                      .frame = x->pfn.v,
                                      .dirty = written != 0};

    advice = hd_ptables_advice(v->w.tables, app, x->vpn);
    if (written != 0 || (v->cfg.write_back == HD_WRITE_BACK_ALWAYS &&
                         !(advice & HEDDLE_ADVICE_READ_MOSTLY)))
        *bytes += hd_ptables_bytes(v->w.tables, app, x);
    hd_ptables_evict(v->w.tables, app, x);
    v->s->lost -= x->pages;
    v->s->evicted += x->pages;
    *hd_evict_count(v, app, HD_EVICT_PAGES) += x->pages;
    *hd_evict_count(v, app, HD_EVICT_DIRTY) += written;
    *hd_evict_count(v, app, HD_EVICT_LINES) +=
        v->w.manager.drop(v->w.manager.self, app, x->pfn, x->pages);
    if (v->env->slots->watched[HEDDLE_NOTE_page_evicted] != 0)
        hd_slots_note(v->env->slots, HEDDLE_NOTE_page_evicted, &n);
}

/* Finds a page of the unit. */
static void evict_find(struct hd_evict *v, uint32_t app,
                       const struct hd_xlate *x, uint64_t *vpn)
{
    (void)v, (void)app;
    *vpn = x->vpn.v;
}

/* The write-back is over: the frames are free. */
static void evict_over(struct hd_evict *v, hd_time now, uint32_t u)
{
    struct hd_evict_state *s = v->s;
    uint32_t app, n, end = 0;
    hd_vpn first;

    if (u == HD_NONE) {
        hd_hosttouch_over(v, now);
        return;
    }
    first = hd_evict_place(v, u, &app);
    s->freed = app;
    if (s->wide)
        first.v &= ~(uint64_t)(HD_LARGE_PAGES - 1);
    for (uint32_t i = 0;
         i < HD_LARGE_PAGES && (i == 0 || i >> v->unit_log == 0 || s->wide);
         i += n) {
        n = hd_ptables_evicted(v->w.tables, app, (hd_vpn){first.v + i});
        end = n != 0 ? i + n : end;
        n += n == 0;
    }
    if (end != 0 && v->w.remote != NULL &&
        hd_remote_on_eviction(v->w.remote) != 0)
        v->w.manager.map_evicted(v->w.manager.self, now, app, first, end);
    *hd_evict_count(v, app, HD_EVICT_BUSY_CYCLES) +=
        (now - s->since) / v->cycle;
    s->busy = HD_EVICT_IDLE;
    hd_evict_continue(v, now);
}

static void evict_event(void *self, hd_time now, uint32_t what, uint32_t u,
                        uint64_t b)
{
    (void)b;
    if (what == HD_EVICT_EV_NAP)
        hd_hosttouch_awake(self, now, u);
    else
        evict_over(self, now, u);
}

/* No unit can be evicted.  Faults that wait for frames still wait, unless
 * nothing can change that any more. */
static void evict_none(struct hd_evict *v)
{
    uint64_t total = hd_ptables_total(v->w.tables);
    char needs[256] = "";
    uint32_t word;

    if (!v->s->wanted)
        return;
    v->s->stalled = 1;
    if (!(v->s->wanted & HD_EVICT_FOR_FRAMES) || v->s->loose > 0 ||
        hd_link_first(v->w.link, HD_LINK_IN, &word))
        return;
    v->needs(v->room_self, needs, sizeof needs);
    hd_err_set(v->env->err, HEDDLE_ESTUCK,
               "out of frames: a page waits for one, and nothing can be "
               "evicted for it: %llu of %llu data frames are in use, and the "
               "%llu resident pages wait for others of their faults%s",
               (unsigned long long)(total - hd_ptables_free(v->w.tables)),
               (unsigned long long)total, (unsigned long long)v->s->resident,
               needs);
}

void hd_evict_unmap(struct hd_evict *v, uint32_t u, uint64_t *bytes)
{
    uint32_t app, span;
    hd_vpn first = hd_evict_place(v, u, &app);

    span = evict_span(v, app, first);
    (*hd_evict_count(v, app, HD_EVICT_EVICTIONS))++;
    *hd_evict_count(v, app, HD_EVICT_AHEAD) += !v->s->wanted;
    evict_each(v, u, hd_evict_leave, bytes);
    if (v->w.remote != NULL)
        hd_remote_count_eviction(v->w.remote, app, first, span);
    v->w.manager.shoot(v->w.manager.self, app, first, span);
}

void hd_evict_apply(struct hd_evict *v, hd_time now)
{
    struct hd_evict_state *s = v->s;
    uint32_t u, more;
    uint64_t bytes = 0;
    hd_vpn page = {0};

    if (s->busy != HD_EVICT_ASKED)
        return; /* an allocation that went has made room meanwhile */
    if (s->ranges != 0) {
        hd_hosttouch_next(v, now);
        return;
    }
    u = evict_choose(v, now);
    s->busy = HD_EVICT_IDLE;
    if (u == HD_NONE || hd_err_ends(v->env->err->code)) {
        evict_none(v);
        return;
    }
    s->busy = HD_EVICT_UNDER_WAY;
    s->since = now;
    s->evicting = u;
    evict_each(v, u, evict_find, &page.v);
    hd_evict_place(v, u, &s->app);
    s->wide = hd_evictwide_region(v, u);
    hd_evict_unmap(v, u, &bytes);
    if (s->wide)
        hd_evictwide_rest(v, u, &bytes);
    more = v->cfg.unit == HD_EVICT_TREE ? hd_evictwide_tree(v, u, page) : 0;
    s->wide |= more != 0;
    for (; more != 0; more &= more - 1) {
        uint32_t w = u / v->per * v->per + hd_bit_first(more);
        if (hd_evict_eligible(hd_evict_at(v, w), false))
            hd_evict_unmap(v, w, &bytes);
    }
    *hd_evict_count(v, s->app, HD_EVICT_BYTES) += bytes;
    if (bytes == 0)
        evict_over(v, now, u);
    else
        hd_link_send(v->w.link, now, HD_LINK_OUT, s->app, bytes, v->client, u);
}

/* ---- looking and checking ----------------------------------------------- */

static void evict_look(void *self, uint32_t instance,
                       struct heddle_visitor *vis)
{
    static const char *const what[] = {"idle", "asked", "evicting"};
    const struct hd_evict *v = self;
    uint32_t app;

    (void)instance;
    if (v->s->busy != HD_EVICT_IDLE) {
        vis->row(vis->ud, "eviction");
        vis->text(vis->ud, "state", what[v->s->busy]);
        if (v->s->busy == HD_EVICT_UNDER_WAY)
            vis->number(vis->ud, "vpn",
                        v->s->evicting == HD_NONE
                            ? v->s->range[v->s->app].begin
                            : hd_evict_place(v, v->s->evicting, &app).v);
    }
    for (uint32_t u = v->s->first; u != HD_NONE; u = hd_evict_at(v, u)->next) {
        hd_vpn vpn = hd_evict_place(v, u, &app);
        vis->row(vis->ud, "unit");
        vis->number(vis->ud, "app", app);
        vis->number(vis->ud, "vpn", vpn.v);
        vis->number(vis->ud, "pages", hd_evict_at(v, u)->pages);
        vis->number(vis->ud, "pinned", hd_evict_at(v, u)->pinned);
        vis->number(vis->ud, "walks", hd_evict_at(v, u)->walks);
        vis->number(vis->ud, "since", hd_evict_at(v, u)->migrated / v->cycle);
    }
}

static void evict_stuck(void *self, uint32_t instance,
                        struct heddle_visitor *vis)
{
    static const char *const what[] = {"a page that can be evicted",
                                       "an instant to change mappings",
                                       "its write-back over the link"};
    const struct hd_evict *v = self;

    if (v->s->busy == HD_EVICT_IDLE && !v->s->stalled)
        return;
    hd_show_wait(vis, "evict", instance, what[v->s->busy]);
    if (v->s->busy == HD_EVICT_IDLE)
        vis->text(vis->ud, "why", "all are pinned by requests, or none is here");
    vis->number(vis->ud, "n", v->s->units);
}

static void evict_check(void *self, uint32_t instance, struct heddle_error *err)
{
    const struct hd_evict *v = self;
    const struct hd_evict_state *s = v->s;
    uint64_t resident = 0, mapped = 0, lost;
    uint32_t units = 0;
    hd_time before = 0;

    (void)instance;
    for (uint32_t app = 0; app < v->env->apps; app++)
        mapped += hd_ptables_pages(v->w.tables, app);
    mapped -= hd_ptables_host_mapped(v->w.tables, &lost);
    for (uint32_t u = s->first; u != HD_NONE;
         u = hd_evict_at(v, u)->next, units++) {
        if (hd_evict_at(v, u)->pages == 0 ||
            hd_evict_at(v, u)->migrated < before)
            hd_err_set(err, HEDDLE_ECHECK,
                       "evict: unit %u has %u pages and is out of order", u,
                       hd_evict_at(v, u)->pages);
        before = hd_evict_at(v, u)->migrated;
        resident += hd_evict_at(v, u)->pages;
    }
    if (units != s->units || resident != s->resident || mapped != resident ||
        s->arrived != s->evicted + s->lost + s->resident ||
        !hd_mshr_sane(&v->pins))
        hd_err_set(
            err, HEDDLE_ECHECK,
            "evict: %llu base pages arrived, %llu were evicted, %llu went with "
            "their allocations, %llu are resident; %llu are in %u of %u "
            "units, and %llu are mapped",
            (unsigned long long)s->arrived, (unsigned long long)s->evicted,
            (unsigned long long)s->lost, (unsigned long long)s->resident,
            (unsigned long long)resident, units, s->units,
            (unsigned long long)mapped);
}

/* ---- building ----------------------------------------------------------- */

static int evict_take(struct hd_evict *v, struct hd_env *env)
{
    struct hd_evictable *p = hd_arena_take(env->arena, FIRST_UNITS, sizeof *p);

    v->s = hd_arena_take(env->arena, 1, sizeof *v->s);
    if (p == NULL || v->s == NULL ||
        hd_mshr_open(&v->pins, env->arena, v->w.pins, 0) != 0)
        return -1;
    v->s->unit = hd_arena_ref(env->arena, p);
    v->s->room = FIRST_UNITS;
    v->s->first = v->s->end = HD_NONE;
    return 0;
}

struct hd_evict *hd_evict_open(struct hd_env *env,
                               const struct hd_evict_wiring *w)
{
    struct hd_evict *v = hd_env_take(env, 1, sizeof *v);

    if (v == NULL)
        return NULL;
    v->env = env;
    v->w = *w;
    v->cfg = *w->cfg;
    if (evict_take(v, env) < 0)
        return NULL;
    v->unit_log = hd_log2(UNIT[v->cfg.unit]);
    v->per = HD_LARGE_PAGES >> v->unit_log;
    v->cycle = hd_ticks(env->clk, HD_CLK_CORE, 1);
    v->stat = hd_stats_group(env->stats, &hd_rows_evict, 1);
    v->rank = hd_events_component(env->ev, "evict", evict_event, v);
    v->client = hd_link_client(w->link, v->rank, HD_EVICT_EV_OVER);
    w->tables->gone = evict_gone;
    w->tables->evict_self = v;
    if (w->tables->compress != NULL)
        hd_compress_client(w->tables->compress, evict_outgrown, v);
    hd_slots_offer(env->slots, HEDDLE_POINT_evict_trigger, "", &v->trigger,
                   evict_trigger_default, v);
    hd_slots_offer(env->slots, HEDDLE_POINT_evict_victim, "", &v->victim,
                   evict_victim_default, v);
    hd_env_part(env, (struct hd_part){.name = "evict",
                                      .instances = 1,
                                      .self = v,
                                      .look = evict_look,
                                      .stuck = evict_stuck,
                                      .check = evict_check});
    return v;
}

void hd_evict_client(struct hd_evict *v, void (*room)(void *self, hd_time now),
                     hd_evict_needs *needs, void *self)
{
    v->room = room;
    v->needs = needs;
    v->room_self = self;
}
