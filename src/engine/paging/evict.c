/*
 * evict.c - eviction: which pages leave memory, when, and what that takes.
 *
 * Where the applications touch more than fits (vm.paging=fault), a page that
 * comes needs the frame of one that goes.  What leaves is a unit: all pages
 * that are present in an aligned 4 KB, 64 KB or 2 MB of one application
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
 * core has run past (manage.c).  Pages of the unit are absent from that instant
 * on, and keep their frames until the write-back is over; with
 * evict.write_back=dirty only pages that were written cross the link, and
 * nothing waits for the others.
 *
 * When: a page that waits for a frame always starts one.  Where nobody waits,
 * the point evict_trigger is asked whenever frames were taken or given;
 * evict.trigger=watermark answers yes below evict.free_bytes, and so has
 * evictions overlap with fetches.  An eviction that a page waits for begins
 * when nothing is on its way from the host (the baseline of ETC), unless
 * evict_trigger says yes, by default if evict.overlap does; and what is behind
 * that page waits, too: so the link carries either.
 *
 * Which: the point evict_victim; its default is the unit into which a page came
 * longest ago (the driver's order, ETC's "age-based LRU"), which is the head of
 * a list that a unit goes to the end of whenever a page comes into it; where
 * there are chunks of 2 MB (uvm.chunks), one whose memory is none stays where
 * it was when its first page came, as in the driver.  What is known of a unit
 * is when a page came last, when a walk ended in it last (the accessed bit,
 * with its time: TLB hits set none), how many did, and how many of its pages
 * were written.
 *
 * Pins.  A page that a fault has brought stays until the requests that waited
 * for it have their answers, or two pages could chase one another for ever.
 * Nothing else is pinned.  Where all that could leave is pinned, the eviction
 * waits for a pin to go or a page to come; where neither will happen, because
 * what is pinned waits for a page that waits for this eviction, memory is too
 * small and the run stops with these words.
 *
 * What the application's host says (heddle_host_advise) counts before that:
 * units with a page whose place is the GPU's memory are not offered as long as
 * there are others, and pages that are mostly read have a copy on the host, so
 * only what was written of them crosses.  What it does (heddle_host_move) takes
 * the same way: what it touches, or has come back, leaves by up to 2 MB at a
 * time, before other evictions.  Pages that are on their way, or pinned by a
 * store that its kernel has left behind, stay.  Over one that is throttled since
 * it goes to and fro (thrash.c) the host naps, and what is behind it waits.
 *
 * With evict.unit=tree the unit is 64 KB, and what is left of pieces of 128 KB
 * to 2 MB around it that are less than half there leaves in the same eviction
 * (tree.c); pinned pages stay.
 *
 * Pages that are compressed may grow where they are (memory/compress.c).  If they
 * outgrow memory, units leave until they fit; nobody waits for that.
 *
 * Where pages of a coalesced region are to leave, region_split is asked: the
 * region is split, or all of it leaves; the costs are those of any splitting.
 *
 * Invariants: base pages that came = those that left, went with their
 * allocations, or are resident; a unit is in the list exactly while it has
 * pages, in the order of their coming (with sim.check a plain search over all
 * units finds the same victim); frames are free only after the write-back.
 *
 * Left out on purpose: DRAM traffic of write-back and fetch, which the link
 * bounds; the host's own time for an eviction; loads and stores that had their
 * translation before the instant go on at the old frame, as if the shootdown
 * had waited for them, and lines that are in flight then come in and age away.
 * That is seldom: of 1,375 pages of 64 KB that left (BFS2, ATAX and 2DCONV at
 * size S in half of what they touch) 58 had lines in flight below the L1, 598 in
 * all, when they were unmapped, and 2 had 3 lines when they had been written
 * back.  With evict.write_back=dirty, where the frame of a clean page is free at
 * once, 148 of 2,513 had, and 105 when it was free: waiting for these would put
 * off 4 % of the evictions by an access of memory, beside 20 us a fault.
 *
 * SPDX-License-Identifier: MIT
 */
#include "evict.h"

#include <stdlib.h>
#include <string.h>

#include "kit/bits.h"
#include "memory/mshr.h"
#include "pages/ptstate.h"
#include "tree.h"

#define HD_PART    evict
#define HD_CFG     struct hd_evict_cfg
#define HD_PART_OF "paging/evict.def"
#include "kit/rows.h"

enum { FIRST_UNITS = 1024 };

static const uint32_t UNIT[] = {1, 16, HD_LARGE_PAGES, HD_TREE_LEAF};

/* An aligned piece of an address space: number region * (units of a region) +
 * its place there. */
struct unit {
    hd_time migrated;    /* when a page came last */
    hd_time touched;     /* when a walk ended in it last, or a page came */
    uint32_t walks;      /* that have, since it has had pages */
    uint32_t next, last; /* of the list; HD_NONE: none */
    uint16_t pages;      /* base pages present */
    uint16_t pinned;     /* of those */
    uint32_t stays;      /* 1: one is of a buffer whose place is here */
};

enum { IDLE, ASKED, LEAVES };
enum { EV_OVER, EV_WAKE };
enum { FRAMES = 1, GROWTH = 2 };

/* Pages that an application's host touches or wants; from vpn on they have not
 * had their turn. */
struct out {
    uint64_t begin, vpn, end; /* those from begin to vpn are under way */
    uint32_t how; /* enum heddle_move */
    uint32_t on;  /* 1: there are some; 2: the host naps over them */
};

struct state {
    hd_ref unit; /* [room] */
    uint32_t room;
    uint32_t first, end; /* list: the oldest and the newest */
    uint32_t units;      /* in it */
    uint32_t busy;       /* IDLE, .. */
    uint32_t wanted;     /* FRAMES: a page waits for some; GROWTH: pages have
                            outgrown memory */
    uint32_t starved;    /* 1: nothing could leave, or not yet */
    uint32_t loose;      /* pins of requests that have been issued again */
    uint32_t leaving;    /* unit, HD_NONE: what the host of `app` touches */
    uint32_t wide;       /* 1: and others of its region with it */
    uint32_t app;        /* its application */
    hd_time since;       /* when it was unmapped */
    uint64_t came, left, lost, resident; /* base pages */
    uint32_t outs;                       /* of these are on */
    struct out out[HD_MAX_APPS];
};

struct hd_evict {
    struct hd_env *env;
    struct hd_evict_wiring w;
    struct hd_evict_cfg cfg;
    struct state *s;     /* arena */
    struct hd_mshr pins; /* by page; n: pins, flags: its base pages */
    struct hd_slot trigger, victim;
    struct hd_stat stat;
    uint64_t *ask; /* scratch for questions: [FIELDS][ask_room] */
    uint32_t *who; /* their units */
    uint32_t ask_room;
    uint32_t per;      /* units of a region */
    uint32_t unit_log; /* base pages of a unit, logarithm */
    uint32_t rank, client;
    hd_time cycle;
    void (*room)(void *self, hd_time now);
    void *room_self;
};

static uint64_t *count(const struct hd_evict *v, uint32_t app,
                       enum hd_evict_stat what)
{
    return hd_count(&v->stat, 0, app, what);
}

/* ---- units -------------------------------------------------------------- */

static struct unit *at(const struct hd_evict *v, uint32_t u)
{
    return (struct unit *)hd_arena_at(v->env->arena, v->s->unit) + u;
}

/* The unit of a page by its first base page, or HD_NONE. */
static uint32_t unit_of(const struct hd_evict *v, uint32_t app, hd_vpn vpn)
{
    const struct hd_pt_slot *h =
        hd_pt_find(v->w.tables, hd_pt_key(app, vpn.v / HD_LARGE_PAGES));

    if (h->key == 0)
        return HD_NONE;
    return (h->region_bits >> HD_PT_SHIFT) * v->per +
           (uint32_t)((vpn.v & (HD_LARGE_PAGES - 1)) >> v->unit_log);
}

/* Where a unit begins. */
static hd_vpn place_of(const struct hd_evict *v, uint32_t u, uint32_t *app)
{
    const struct hd_ptables *t = v->w.tables;
    const struct hd_pt_region *r =
        (const struct hd_pt_region *)(void *)hd_pt_entry(t, t->s->region) +
        u / v->per;

    *app = r->app;
    return (hd_vpn){r->number * HD_LARGE_PAGES +
                    ((uint64_t)(u % v->per) << v->unit_log)};
}

/* Base pages from the beginning of a unit to the end of what leaves with it: a
 * page is larger than its unit where the two settings say so. */
static uint32_t span_of(const struct hd_evict *v, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate x;
    uint32_t n = UNIT[v->cfg.unit];

    return hd_ptables_page(v->w.tables, app, vpn, &x) && x.vpn.v == vpn.v
               ? (uint32_t)hd_max_u64(n, x.pages)
               : n;
}

/* Makes room for a unit's record.  0 or -1 (out of memory). */
static int reach(struct hd_evict *v, uint32_t u)
{
    struct state *s = v->s;
    uint32_t room = s->room;
    struct unit *p;

    if (u < room)
        return 0;
    while (u >= room)
        room *= 2;
    p = hd_arena_take(v->env->arena, room, sizeof *p);
    if (p == NULL)
        return -1;
    memcpy(p, at(v, 0), s->room * sizeof *p);
    s->unit = hd_arena_ref(v->env->arena, p);
    s->room = room;
    return 0;
}

static void unlink_unit(struct hd_evict *v, uint32_t u)
{
    struct unit *x = at(v, u);

    *(x->last == HD_NONE ? &v->s->first : &at(v, x->last)->next) = x->next;
    *(x->next == HD_NONE ? &v->s->end : &at(v, x->next)->last) = x->last;
    v->s->units--;
}

static void append(struct hd_evict *v, uint32_t u)
{
    struct unit *x = at(v, u);

    x->next = HD_NONE;
    x->last = v->s->end;
    *(v->s->end == HD_NONE ? &v->s->first : &at(v, v->s->end)->next) = u;
    v->s->end = u;
    v->s->units++;
}

/* ---- pages that come and go --------------------------------------------- */

static void start(struct hd_evict *v, hd_time now);

void hd_evict_wake(struct hd_evict *v, hd_time now)
{
    if (HD_LIKELY(!v->s->starved))
        return;
    v->s->starved = 0;
    start(v, now);
}

/* Whether a page's place is the GPU's memory. */
static bool prefers(const struct hd_evict *v, uint32_t app, hd_vpn vpn)
{
    return (hd_ptables_advice(v->w.tables, app, vpn) & HEDDLE_ADVICE_GPU) != 0;
}

void hd_evict_came(struct hd_evict *v, hd_time now, uint32_t app, hd_vpn vpn,
                   uint32_t pages, bool before)
{
    uint32_t u = unit_of(v, app, vpn);
    struct unit *x;

    if (reach(v, u) < 0) {
        hd_err_memory(v->env->err);
        return;
    }
    x = at(v, u);
    if (x->pages == 0)
        x->walks = x->stays = 0;
    if (x->pages == 0 || !hd_ptables_small(v->w.tables, app, vpn)) {
        if (x->pages != 0)
            unlink_unit(v, u);
        append(v, u);
        x->migrated = now;
    }
    x->stays |= prefers(v, app, vpn);
    x->touched = now;
    x->pages = (uint16_t)(x->pages + pages);
    v->s->came += pages;
    v->s->resident += pages;
    if (before)
        *count(v, app, HD_EVICT_REFAULTS) += pages;
}

/* A page that was present is so no more: it leaves, or its allocation went. */
static void gone(void *self, uint32_t app, hd_vpn vpn, uint32_t pages,
                 bool unused)
{
    struct hd_evict *v = self;
    uint32_t u = unit_of(v, app, vpn);
    struct unit *x = at(v, u);

    *count(v, app, HD_EVICT_UNUSED) += unused ? pages : 0;
    x->pages = (uint16_t)(x->pages - pages);
    v->s->lost += pages; /* corrected where it leaves */
    v->s->resident -= pages;
    if (x->pages == 0)
        unlink_unit(v, u);
}

void hd_evict_touch(struct hd_evict *v, hd_time now, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate x;
    struct unit *u;

    if (!hd_ptables_page(v->w.tables, app, vpn, &x) || x.pfn.v >= HD_HOST_FRAME)
        return; /* of a coalesced region, or used on the host */
    u = at(v, unit_of(v, app, x.vpn));
    u->touched = now;
    u->walks++;
    (*count(v, app, HD_EVICT_ACCESSES))++;
    *count(v, app, HD_EVICT_USED) += hd_ptables_used(v->w.tables, app, vpn);
}

/* ---- pins --------------------------------------------------------------- */

static uint64_t pin_key(uint32_t app, hd_vpn vpn)
{
    return vpn.v | (uint64_t)app << 52;
}

static bool is_pinned(const struct hd_evict *v, uint32_t app, hd_vpn vpn)
{
    return hd_mshr_used(&v->pins) != 0 &&
           hd_mshr_find(&v->pins, pin_key(app, vpn)) != HD_NONE;
}

void hd_evict_pin(struct hd_evict *v, uint32_t app, hd_vpn vpn, uint32_t pages)
{
    uint64_t key = pin_key(app, vpn);
    uint32_t e = hd_mshr_find(&v->pins, key);
    struct unit *x = at(v, unit_of(v, app, vpn));

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
    uint32_t e = hd_mshr_find(&v->pins, pin_key(app, vpn));
    struct unit *x = at(v, unit_of(v, app, vpn));

    v->s->loose -= loose;
    if (--v->pins.v[e].n == 0) {
        x->pinned = (uint16_t)(x->pinned - v->pins.v[e].flags);
        hd_mshr_give(&v->pins, e);
    }
    hd_evict_wake(v, now);
}

/* ---- which unit leaves -------------------------------------------------- */

static bool can_leave(const struct unit *x)
{
    return x->pages > x->pinned;
}

/* Base pages of a page if one of them was written, else 0. */
static uint32_t dirty(const struct hd_evict *v, const struct hd_xlate *x)
{
    for (uint32_t i = 0; i < x->pages; i++)
        if (hd_frame_written(&v->w.tables->frames, x->pfn.v + i))
            return x->pages;
    return 0;
}

/* Calls fn for the pages of so many from first on that are present and not
 * pinned, or for those of a unit; returns their base pages. */
typedef void visit(struct hd_evict *v, uint32_t app, const struct hd_xlate *x,
                   uint64_t *sum);

static uint32_t each_of(struct hd_evict *v, uint32_t app, hd_vpn first,
                        uint32_t span, visit *fn, uint64_t *sum)
{
    uint32_t pages = 0;

    for (uint32_t i = 0; i < span;) {
        struct hd_xlate x;
        if (!hd_ptables_page(v->w.tables, app, (hd_vpn){first.v + i}, &x)) {
            i++;
            continue;
        }
        if (x.pfn.v < HD_HOST_FRAME && !is_pinned(v, app, x.vpn)) {
            fn(v, app, &x, sum);
            pages += x.pages;
        }
        i = (uint32_t)(x.vpn.v + x.pages - first.v);
    }
    return pages;
}

static uint32_t each(struct hd_evict *v, uint32_t u, visit *fn, uint64_t *sum)
{
    uint32_t app;
    hd_vpn first = place_of(v, u, &app);

    return each_of(v, app, first, span_of(v, app, first), fn, sum);
}

static void add_dirty(struct hd_evict *v, uint32_t app,
                      const struct hd_xlate *x, uint64_t *sum)
{
    (void)app;
    *sum += dirty(v, x);
}

enum { APP, VPN, PAGES, DIRTY, WALKS, MIGRATED, TOUCHED, FIELDS };

/* Room for the fields of all units of the list.  0 or -1 (out of memory). */
static int make_ask(struct hd_evict *v)
{
    uint32_t n = v->s->units;

    if (n <= v->ask_room)
        return 0;
    free(v->ask);
    free(v->who);
    v->ask_room = 2 * n;
    v->ask = calloc((size_t)v->ask_room * FIELDS, sizeof *v->ask);
    v->who = calloc(v->ask_room, sizeof *v->who);
    if (v->ask != NULL && v->who != NULL)
        return 0;
    v->ask_room = 0;
    hd_err_memory(v->env->err);
    return -1;
}

/* Whether a unit can be chosen: where `last`, those whose place is here can. */
static bool eligible(const struct unit *x, bool last)
{
    return can_leave(x) && (last || !x->stays);
}

/* The first unit of the list that can be chosen, or HD_NONE. */
static uint32_t oldest(const struct hd_evict *v, bool last)
{
    uint32_t u = v->s->first;

    while (u != HD_NONE && !eligible(at(v, u), last))
        u = at(v, u)->next;
    return u;
}

/* The naive twin of oldest(): a search through all units there ever were. */
static uint32_t plain_oldest(const struct hd_evict *v, bool last)
{
    uint32_t best = HD_NONE;

    for (uint32_t u = 0; u < v->s->room; u++)
        if (eligible(at(v, u), last) &&
            (best == HD_NONE || at(v, u)->migrated < at(v, best)->migrated))
            best = u;
    return best;
}

static int64_t victim_default(void *self, const void *question)
{
    (void)self, (void)question;
    return 0; /* they come in the order of the list */
}

static uint32_t choose(struct hd_evict *v, hd_time now)
{
    uint32_t n = 0, app, first = oldest(v, false);
    uint64_t *a;
    bool last = first == HD_NONE;
    struct heddle_q_evict_victim q = {.waiting = v->s->wanted & FRAMES};

    if (last)
        first = oldest(v, true);
    if (HD_UNLIKELY(v->env->check) && first != HD_NONE &&
        at(v, first)->migrated != at(v, plain_oldest(v, last))->migrated)
        hd_err_set(v->env->err, HEDDLE_ECHECK,
                   "evict: unit %u is at the head of the list, unit %u is "
                   "older",
                   first, plain_oldest(v, last));
    if (first == HD_NONE || HD_LIKELY(!v->victim.bound) || make_ask(v) < 0)
        return first;
    a = v->ask;
    for (uint32_t u = first; u != HD_NONE; u = at(v, u)->next) {
        const struct unit *x = at(v, u);
        uint64_t *f = a + n, written = 0;
        if (!eligible(x, last))
            continue;
        v->who[n++] = u;
        f[(size_t)VPN * v->ask_room] = place_of(v, u, &app).v;
        f[(size_t)APP * v->ask_room] = app;
        f[(size_t)PAGES * v->ask_room] = each(v, u, add_dirty, &written);
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

static bool ask_trigger(const struct hd_evict *v, bool waiting)
{
    struct heddle_q_evict_trigger q = {.free = hd_ptables_free(v->w.tables),
                                       .frames = hd_ptables_total(v->w.tables),
                                       .resident = v->s->resident,
                                       .unit = UNIT[v->cfg.unit],
                                       .waiting = waiting};

    return hd_ask_evict_trigger(&v->trigger, &q) != 0;
}

/* Has an eviction begun, if none is under way. */
static void start(struct hd_evict *v, hd_time now)
{
    uint32_t word;

    if (v->s->busy != IDLE || hd_err_ends(v->env->err->code))
        return;
    if (v->s->wanted && v->s->outs == 0 &&
        hd_link_first(v->w.link, HD_LINK_IN, &word) && !ask_trigger(v, true)) {
        v->s->starved = 1;
        return;
    }
    v->s->busy = ASKED;
    v->w.ask(v->w.manager, now);
}

void hd_evict_want(struct hd_evict *v, hd_time now)
{
    v->s->wanted |= FRAMES;
    start(v, now);
}

/* Pages that are compressed have grown, and are more than there is room for. */
static void outgrown(void *self, hd_time now)
{
    struct hd_evict *v = self;

    v->s->wanted |= GROWTH;
    start(v, now);
}

/* There may be room: who waits tries again, and may want more. */
static void go_on(struct hd_evict *v, hd_time now)
{
    v->s->wanted = 0;
    v->room(v->room_self, now);
    if (HD_UNLIKELY(v->w.tables->compress != NULL) &&
        hd_compress_outgrown(v->w.tables->compress))
        outgrown(v, now);
    if (v->s->outs != 0)
        start(v, now);
}

static int64_t trigger_default(void *self, const void *question)
{
    const struct hd_evict *v = self;
    const struct heddle_q_evict_trigger *q = question;

    if (q->waiting)
        return v->cfg.overlap;
    return v->cfg.trigger == HD_EVICT_WATERMARK &&
           q->free * HD_PAGE_BYTES < v->cfg.free_bytes;
}

void hd_evict_taken(struct hd_evict *v, hd_time now)
{
    if (HD_LIKELY(v->cfg.trigger == HD_EVICT_EXHAUSTED && !v->trigger.bound))
        return;
    if (v->s->busy == IDLE && !v->s->wanted && ask_trigger(v, false))
        start(v, now);
}

void hd_evict_freed(struct hd_evict *v, hd_time now)
{
    if (v->s->busy == LEAVES || !v->s->wanted)
        return;
    v->s->busy = IDLE; /* what was asked for may not be needed any more */
    v->s->starved = 0;
    go_on(v, now);
}

/* ---- one eviction ------------------------------------------------------- */

/* A page of the unit leaves. */
static void leave(struct hd_evict *v, uint32_t app, const struct hd_xlate *x,
                  uint64_t *bytes)
{
    uint32_t written = dirty(v, x), advice;
    struct heddle_n_page_evicted n = {.app = app,
                                      .vpn = x->vpn.v,
                                      .pages = x->pages,
                                      .frame = x->pfn.v,
                                      .dirty = written != 0};

    advice = hd_ptables_advice(v->w.tables, app, x->vpn);
    if (written != 0 || (v->cfg.write_back == HD_WRITE_BACK_ALWAYS &&
                         !(advice & HEDDLE_ADVICE_READ_MOSTLY)))
        *bytes += hd_ptables_bytes(v->w.tables, app, x);
    hd_ptables_leave(v->w.tables, app, x);
    v->s->lost -= x->pages;
    v->s->left += x->pages;
    *count(v, app, HD_EVICT_PAGES) += x->pages;
    *count(v, app, HD_EVICT_DIRTY) += written;
    *count(v, app, HD_EVICT_LINES) +=
        v->w.drop(v->w.manager, app, x->pfn, x->pages);
    if (v->env->slots->watched[HEDDLE_NOTE_page_evicted] != 0)
        hd_slots_note(v->env->slots, HEDDLE_NOTE_page_evicted, &n);
}

/* Finds a page of the unit. */
static void find(struct hd_evict *v, uint32_t app, const struct hd_xlate *x,
                 uint64_t *vpn)
{
    (void)v, (void)app;
    *vpn = x->vpn.v;
}

/* ---- what the host touches ---------------------------------------------- */

void hd_evict_advised(struct hd_evict *v, uint32_t app, hd_vpn vpn,
                      uint32_t pages)
{
    for (uint64_t i = vpn.v; i < vpn.v + pages; i += UNIT[v->cfg.unit]) {
        uint32_t u = unit_of(v, app, (hd_vpn){i});
        if (u != HD_NONE && u < v->s->room)
            at(v, u)->stays = prefers(v, app, (hd_vpn){i});
    }
}

/* A page leaves that the host has touched. */
static void leave_touched(struct hd_evict *v, uint32_t app,
                          const struct hd_xlate *x, uint64_t *bytes)
{
    leave(v, app, x, bytes);
    if (HD_UNLIKELY(v->w.thrash != NULL))
        hd_thrash_left(v->w.thrash, v->s->since, app, x->vpn);
}

/* A page that is mostly read stays; what was written of it is copied. */
static void copy_or_leave(struct hd_evict *v, uint32_t app,
                          const struct hd_xlate *x, uint64_t *bytes)
{
    if (!(hd_ptables_advice(v->w.tables, app, x->vpn) &
          HEDDLE_ADVICE_READ_MOSTLY)) {
        leave_touched(v, app, x, bytes);
        return;
    }
    *bytes += dirty(v, x) != 0 ? hd_ptables_bytes(v->w.tables, app, x) : 0;
    for (uint32_t i = 0; i < x->pages; i++)
        hd_frame_copied(&v->w.tables->frames, x->pfn.v + i);
}

/* Frames of pages that have left are free; then what is behind them leaves. */
static void out_over(struct hd_evict *v, hd_time now)
{
    struct state *s = v->s;
    const struct out *o = &s->out[s->app];

    for (uint64_t i = o->begin; i < o->vpn;) {
        struct hd_xlate x = {.vpn = {i}, .pages = 1};
        if (hd_ptables_absent(v->w.tables, s->app, x.vpn, &x))
            hd_ptables_gone(v->w.tables, s->app, x.vpn);
        i = x.vpn.v + x.pages;
    }
    *count(v, s->app, HD_EVICT_BUSY_CYCLES) += (now - s->since) / v->cycle;
    s->busy = IDLE;
    go_on(v, now);
}

/* How many base pages from first on leave before one over which the host has to
 * nap, until then. */
static uint32_t awake(struct hd_evict *v, hd_time now, uint32_t app,
                      hd_vpn first, uint32_t span, hd_time *until)
{
    for (uint32_t i = 0; i < span;) {
        struct hd_xlate x;
        if (!hd_ptables_page(v->w.tables, app, (hd_vpn){first.v + i}, &x)) {
            i++;
            continue;
        }
        if (x.pfn.v < HD_HOST_FRAME && !is_pinned(v, app, x.vpn) &&
            hd_thrash_ask(v->w.thrash, now, HEDDLE_PROCESSOR_HOST, app, x.vpn,
                          x.pages,
                          v->s->out[app].how == HEDDLE_MOVE_WRITTEN, false,
                          until) == HEDDLE_THRASH_THROTTLE)
            return i;
        i = (uint32_t)(x.vpn.v + x.pages - first.v);
    }
    return span;
}

/* The host naps, and goes on at a time. */
static void nap(struct hd_evict *v, hd_time now, uint32_t app, hd_time until)
{
    v->s->out[app].on = 2;
    v->s->outs--;
    v->s->busy = IDLE;
    hd_post(v->env->ev, v->rank, v->rank, hd_max_u64(until, now + 1), EV_WAKE,
            app, 0);
    go_on(v, now);
}

static void wake(struct hd_evict *v, hd_time now, uint32_t app)
{
    v->s->out[app].on = 1;
    v->s->outs++;
    start(v, now);
}

/* What is left of a range in the next 2 MB leaves.  False: nothing is. */
static bool out_some(struct hd_evict *v, hd_time now, uint32_t app)
{
    struct state *s = v->s;
    struct out *o = &s->out[app];
    uint64_t bytes = 0, left = s->left;
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
        v->w.split(v->w.manager, app, first, 0);
    if (HD_UNLIKELY(v->w.thrash != NULL) && o->how == HEDDLE_MOVE_TO_HOST)
        hd_thrash_forget(v->w.thrash, app, first, span);
    else if (HD_UNLIKELY(v->w.thrash != NULL))
        span = awake(v, now, app, first, span, &until);
    o->vpn = o->begin + span;
    if (span == 0) {
        nap(v, now, app, until);
        return true;
    }
    s->since = now;
    each_of(v, app, first, span,
            o->how == HEDDLE_MOVE_READ      ? copy_or_leave
            : o->how == HEDDLE_MOVE_WRITTEN ? leave_touched
                                            : leave,
            &bytes);
    left = s->left - left;
    *count(v, app, HD_EVICT_HOST) += left;
    *count(v, app, HD_EVICT_BYTES) += bytes;
    if (left != 0)
        v->w.shoot(v->w.manager, app, first, span);
    s->busy = LEAVES;
    s->leaving = HD_NONE;
    s->app = app;
    if (bytes != 0)
        hd_link_send(v->w.link, now, HD_LINK_OUT, app, bytes, v->client,
                     HD_NONE);
    else
        out_over(v, now);
    return true;
}

/* Some of a range leaves, or it is over. */
static void out_next(struct hd_evict *v, hd_time now)
{
    uint32_t app = 0;

    while (v->s->out[app].on != 1)
        app++;
    v->s->busy = IDLE;
    if (out_some(v, now, app))
        return;
    v->s->out[app].on = 0;
    v->s->outs--;
    v->w.hinted(v->w.manager, now, app);
    go_on(v, now);
}

void hd_evict_out(struct hd_evict *v, hd_time now, uint32_t app, hd_vpn vpn,
                  uint32_t pages, uint32_t how)
{
    v->s->out[app] =
        (struct out){.vpn = vpn.v, .end = vpn.v + pages, .how = how, .on = 1};
    v->s->outs++;
    start(v, now);
}

/* The write-back is over: the frames are free. */
static void over(struct hd_evict *v, hd_time now, uint32_t u)
{
    struct state *s = v->s;
    uint32_t app, n, end = 0;
    hd_vpn first;

    if (u == HD_NONE) {
        out_over(v, now);
        return;
    }
    first = place_of(v, u, &app);
    if (s->wide)
        first.v &= ~(uint64_t)(HD_LARGE_PAGES - 1);
    for (uint32_t i = 0;
         i < HD_LARGE_PAGES && (i == 0 || i >> v->unit_log == 0 || s->wide);
         i += n) {
        n = hd_ptables_gone(v->w.tables, app, (hd_vpn){first.v + i});
        end = n != 0 ? i + n : end;
        n += n == 0;
    }
    if (end != 0 && v->w.remote != NULL && hd_remote_evicted(v->w.remote) != 0)
        v->w.map_left(v->w.manager, now, app, first, end);
    *count(v, app, HD_EVICT_BUSY_CYCLES) += (now - s->since) / v->cycle;
    s->busy = IDLE;
    go_on(v, now);
}

static void on_event(void *self, hd_time now, uint32_t what, uint32_t u,
                     uint64_t b)
{
    (void)b;
    if (what == EV_WAKE)
        wake(self, now, u);
    else
        over(self, now, u);
}

/* Nothing can leave.  Whoever waits goes on waiting, unless nothing can change
 * that any more. */
static void starve(struct hd_evict *v)
{
    uint64_t total = hd_ptables_total(v->w.tables);
    uint32_t word;

    if (!v->s->wanted)
        return;
    v->s->starved = 1;
    if (!(v->s->wanted & FRAMES) || v->s->loose > 0 ||
        hd_link_first(v->w.link, HD_LINK_IN, &word))
        return;
    hd_err_set(v->env->err, HEDDLE_ECONFIG,
               "out of frames: a page waits for one, and nothing can leave "
               "memory for it: %llu of %llu data frames are in use, and the "
               "%llu pages that are there wait for others of their faults: "
               "raise vm.memory_bytes, or bring less at once (fault.batch, "
               "fault.transfer, vm.page)",
               (unsigned long long)(total - hd_ptables_free(v->w.tables)),
               (unsigned long long)total, (unsigned long long)v->s->resident);
}

/* A unit leaves: its pages are absent from now on, and *bytes more of them are
 * to cross the link. */
static void unmap(struct hd_evict *v, uint32_t u, uint64_t *bytes)
{
    uint32_t app, span;
    hd_vpn first = place_of(v, u, &app);

    span = span_of(v, app, first);
    (*count(v, app, HD_EVICT_EVICTIONS))++;
    *count(v, app, HD_EVICT_AHEAD) += !v->s->wanted;
    each(v, u, leave, bytes);
    if (v->w.remote != NULL)
        hd_remote_left(v->w.remote, app, first, span);
    v->w.shoot(v->w.manager, app, first, span);
}

/* Of a coalesced region only a unit is to leave: it is split, or (true) all of
 * it leaves. */
static bool whole(struct hd_evict *v, uint32_t u)
{
    uint32_t app, left = 0, first = u / v->per * v->per;
    hd_vpn vpn = place_of(v, u, &app);
    struct hd_xlate x;

    if (!hd_ptables_large(v->w.tables, app, vpn, &x))
        return false;
    for (uint32_t i = 0; i < v->per && first + i < v->s->room; i++)
        left += first + i == u ? at(v, u)->pinned : at(v, first + i)->pages;
    return !v->w.split(v->w.manager, app, vpn, left) &&
           v->w.split(v->w.manager, app, vpn, 0);
}

/* All units of a region leave but one that has. */
static void unmap_rest(struct hd_evict *v, uint32_t u, uint64_t *bytes)
{
    uint32_t w = u / v->per * v->per, end = w + v->per;

    for (; w < end && w < v->s->room; w++)
        if (w != u && can_leave(at(v, w)))
            unmap(v, w, bytes);
}

/* The units that go with one that has just left, a bit each: the rest of nodes
 * of its tree that are less than half there by that. */
static uint32_t follow(const struct hd_evict *v, uint32_t u, hd_vpn page)
{
    uint32_t app, had = 0, first = u / v->per * v->per;
    uint64_t at_first = place_of(v, first, &app).v, begin;
    hd_vpn end;

    begin =
        hd_max_u64(hd_ptables_range(v->w.tables, app, page, &end).v, at_first);
    end.v = hd_min_u64(end.v, at_first + HD_LARGE_PAGES);
    for (uint32_t i = 0; i < v->per && first + i < v->s->room; i++)
        had |= (at(v, first + i)->pages != 0 ? 1u : 0u) << i;
    return had & ~hd_tree_stay(
                     had,
                     (struct hd_tree_run){.first = (uint32_t)(begin - at_first),
                                          .pages = (uint32_t)(end.v - begin)},
                     u - first);
}

void hd_evict_apply(struct hd_evict *v, hd_time now)
{
    struct state *s = v->s;
    uint32_t u, more;
    uint64_t bytes = 0;
    hd_vpn page = {0};

    if (s->busy != ASKED)
        return; /* an allocation that went has made room meanwhile */
    if (s->outs != 0) {
        out_next(v, now);
        return;
    }
    u = choose(v, now);
    s->busy = IDLE;
    if (u == HD_NONE || hd_err_ends(v->env->err->code)) {
        starve(v);
        return;
    }
    s->busy = LEAVES;
    s->since = now;
    s->leaving = u;
    each(v, u, find, &page.v);
    place_of(v, u, &s->app);
    s->wide = whole(v, u);
    unmap(v, u, &bytes);
    if (s->wide)
        unmap_rest(v, u, &bytes);
    more = v->cfg.unit == HD_EVICT_TREE ? follow(v, u, page) : 0;
    s->wide |= more != 0;
    for (; more != 0; more &= more - 1) {
        uint32_t w = u / v->per * v->per + hd_bit_first(more);
        if (eligible(at(v, w), false))
            unmap(v, w, &bytes);
    }
    *count(v, s->app, HD_EVICT_BYTES) += bytes;
    if (bytes == 0)
        over(v, now, u);
    else
        hd_link_send(v->w.link, now, HD_LINK_OUT, s->app, bytes, v->client, u);
}

/* ---- looking and checking ----------------------------------------------- */

static void look(void *self, uint32_t instance, struct heddle_visitor *vis)
{
    static const char *const what[] = {"idle", "asked", "leaves"};
    const struct hd_evict *v = self;
    uint32_t app;

    (void)instance;
    if (v->s->busy != IDLE) {
        vis->row(vis->ud, "eviction");
        vis->text(vis->ud, "state", what[v->s->busy]);
        if (v->s->busy == LEAVES)
            vis->number(vis->ud, "vpn",
                        v->s->leaving == HD_NONE
                            ? v->s->out[v->s->app].begin
                            : place_of(v, v->s->leaving, &app).v);
    }
    for (uint32_t u = v->s->first; u != HD_NONE; u = at(v, u)->next) {
        hd_vpn vpn = place_of(v, u, &app);
        vis->row(vis->ud, "unit");
        vis->number(vis->ud, "app", app);
        vis->number(vis->ud, "vpn", vpn.v);
        vis->number(vis->ud, "pages", at(v, u)->pages);
        vis->number(vis->ud, "pinned", at(v, u)->pinned);
        vis->number(vis->ud, "walks", at(v, u)->walks);
        vis->number(vis->ud, "since", at(v, u)->migrated / v->cycle);
    }
}

static void stuck(void *self, uint32_t instance, struct heddle_visitor *vis)
{
    static const char *const what[] = {"a page that can leave",
                                       "an instant to change mappings",
                                       "its write-back over the link"};
    const struct hd_evict *v = self;

    if (v->s->busy == IDLE && !v->s->starved)
        return;
    hd_show_wait(vis, "evict", instance, what[v->s->busy]);
    vis->number(vis->ud, "n", v->s->units);
}

static void check(void *self, uint32_t instance, struct hd_err *err)
{
    const struct hd_evict *v = self;
    const struct state *s = v->s;
    uint64_t resident = 0, mapped = 0, lost;
    uint32_t units = 0;
    hd_time before = 0;

    (void)instance;
    for (uint32_t app = 0; app < v->env->apps; app++)
        mapped += hd_ptables_pages(v->w.tables, app);
    mapped -= hd_ptables_far_pages(v->w.tables, &lost);
    for (uint32_t u = s->first; u != HD_NONE; u = at(v, u)->next, units++) {
        if (at(v, u)->pages == 0 || at(v, u)->migrated < before)
            hd_err_set(err, HEDDLE_ECHECK,
                       "evict: unit %u has %u pages and stands out of order", u,
                       at(v, u)->pages);
        before = at(v, u)->migrated;
        resident += at(v, u)->pages;
    }
    if (units != s->units || resident != s->resident || mapped != resident ||
        s->came != s->left + s->lost + s->resident || !hd_mshr_sane(&v->pins))
        hd_err_set(err, HEDDLE_ECHECK,
                   "evict: %llu base pages came, %llu left, %llu went with "
                   "their allocations, %llu are resident; %llu lie in %u of %u "
                   "units, and %llu are mapped",
                   (unsigned long long)s->came, (unsigned long long)s->left,
                   (unsigned long long)s->lost, (unsigned long long)s->resident,
                   (unsigned long long)resident, units, s->units,
                   (unsigned long long)mapped);
}

/* ---- building ----------------------------------------------------------- */

static int take(struct hd_evict *v, struct hd_env *env)
{
    struct unit *p = hd_arena_take(env->arena, FIRST_UNITS, sizeof *p);

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
    struct hd_evict *v = calloc(1, sizeof *v);

    if (v != NULL) {
        v->env = env;
        v->w = *w;
        v->cfg = *w->cfg;
    }
    if (v == NULL || take(v, env) < 0) {
        hd_err_memory(env->err);
        hd_evict_close(v);
        return NULL;
    }
    v->per = HD_LARGE_PAGES / UNIT[v->cfg.unit];
    v->unit_log = hd_log2(UNIT[v->cfg.unit]);
    v->cycle = hd_ticks(env->clk, HD_CLK_CORE, 1);
    v->stat = hd_stats_group(env->stats, &hd_rows_evict, 1);
    v->rank = hd_events_component(env->ev, "evict", on_event, v);
    v->client = hd_link_client(w->link, v->rank, EV_OVER);
    w->tables->gone = gone;
    w->tables->evict_self = v;
    if (w->tables->compress != NULL)
        hd_compress_client(w->tables->compress, outgrown, v);
    hd_slots_offer(env->slots, HEDDLE_POINT_evict_trigger, "", &v->trigger,
                   trigger_default, v);
    hd_slots_offer(env->slots, HEDDLE_POINT_evict_victim, "", &v->victim,
                   victim_default, v);
    hd_env_part(env, (struct hd_part){.name = "evict",
                                      .instances = 1,
                                      .self = v,
                                      .look = look,
                                      .stuck = stuck,
                                      .check = check});
    return v;
}

void hd_evict_client(struct hd_evict *v, void (*room)(void *self, hd_time now),
                     void *self)
{
    v->room = room;
    v->room_self = self;
}

void hd_evict_close(struct hd_evict *v)
{
    if (v == NULL)
        return;
    free(v->ask);
    free(v->who);
    free(v);
}
