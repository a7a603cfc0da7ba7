/*
 * evictstate.h - eviction's state, for evict.c and the files of its mechanisms,
 * which alone include it: evictwide.c, what is evicted with a unit, and
 * hosttouch.c, what an application's host touches.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_EVICTSTATE_H
#define HD_EVICTSTATE_H

#include "memory/mshr.h"
#include "pages/ptstate.h"
#include "evict.h"

enum { HD_EVICT_IDLE, HD_EVICT_ASKED, HD_EVICT_UNDER_WAY };
enum { HD_EVICT_EV_OVER, HD_EVICT_EV_NAP };
enum { HD_EVICT_FOR_FRAMES = 1, HD_EVICT_FOR_GROWTH = 2 };

/* A unit, an aligned piece of an address space: number region * (units of a
 * region) + its place there. */
struct hd_evictable {
    hd_time migrated;    /* when a page arrived last */
    hd_time touched;     /* when a walk ended in it last, or a page arrived */
    uint32_t walks;      /* that have, since it has had pages */
    uint32_t next, last; /* of the list; HD_NONE: none */
    uint16_t pages;      /* base pages resident */
    uint16_t pinned;     /* of those */
    uint32_t stays;      /* 1: one is of a buffer whose place is here */
};

/* Pages that an application's host touches or wants; from vpn on they have not
 * had their turn. */
struct hd_hosttouch {
    uint64_t begin, vpn, end; /* those from begin to vpn are being evicted */
    uint32_t how;             /* enum heddle_move */
    uint32_t on; /* 1: there are some; 2: the host naps over them */
};

struct hd_evict_state {
    hd_ref unit; /* [room] */
    uint32_t room;
    uint32_t first, end; /* list: the oldest and the newest */
    uint32_t units;      /* in it */
    uint32_t busy;       /* HD_EVICT_IDLE, .. */
    uint32_t wanted;     /* HD_EVICT_FOR_FRAMES: a page waits for some;
                            FOR_GROWTH: pages have outgrown memory */
    uint32_t stalled;    /* 1: nothing could be evicted, or not yet */
    uint32_t loose;      /* pins of requests that have been issued again */
    uint32_t evicting;   /* unit, HD_NONE: what the host of `app` touches */
    uint32_t wide;       /* 1: and others of its region with it */
    uint32_t app;        /* its application */
    uint32_t waits;      /* application whose page found no frame, or grew */
    uint32_t freed;      /* application whose pages had the last frames freed */
    hd_time since;       /* when it was unmapped */
    uint64_t arrived, evicted, lost, resident; /* base pages; lost: went with
                                                  their allocations */
    uint32_t ranges;                     /* of these are on */
    struct hd_hosttouch range[HD_MAX_APPS];
};

struct hd_evict {
    struct hd_env *env;
    struct hd_evict_wiring w;
    struct hd_evict_cfg cfg;
    struct hd_evict_state *s; /* arena */
    struct hd_mshr pins;      /* by page; n: pins, flags: its base pages */
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
    hd_evict_needs *needs;
    void *room_self;
};

static inline uint64_t *hd_evict_count(const struct hd_evict *v, uint32_t app,
                                       enum hd_evict_stat what)
{
    return hd_count(&v->stat, 0, app, what);
}

static inline struct hd_evictable *hd_evict_at(const struct hd_evict *v,
                                               uint32_t u)
{
    return (struct hd_evictable *)hd_arena_at(v->env->arena, v->s->unit) + u;
}

static inline uint32_t hd_evict_unit_pages(const struct hd_evict *v)
{
    return 1u << v->unit_log;
}

static inline bool hd_evict_can(const struct hd_evictable *x)
{
    return x->pages > x->pinned;
}

/* Whether a unit can be chosen: where `last`, those whose place is here can. */
static inline bool hd_evict_eligible(const struct hd_evictable *x, bool last)
{
    return hd_evict_can(x) && (last || !x->stays);
}

/* ---- evict.c ------------------------------------------------------------ */

/* The unit of a page by its first base page, or HD_NONE; where a unit begins.
 */
uint32_t hd_evict_unit_of(const struct hd_evict *v, uint32_t app, hd_vpn vpn);
hd_vpn hd_evict_place(const struct hd_evict *v, uint32_t u, uint32_t *app);
/* Whether a page's place is the GPU's memory; whether it is pinned; its base
 * pages if one of them was written, else 0. */
bool hd_evict_prefers(const struct hd_evict *v, uint32_t app, hd_vpn vpn);
bool hd_evict_pinned(const struct hd_evict *v, uint32_t app, hd_vpn vpn);
uint32_t hd_evict_dirty(const struct hd_evict *v, const struct hd_xlate *x);
/* Calls fn for the pages of so many from first on that are resident and not
 * pinned; returns their base pages. */
typedef void hd_evict_visit(struct hd_evict *v, uint32_t app,
                            const struct hd_xlate *x, uint64_t *sum);
uint32_t hd_evict_each_of(struct hd_evict *v, uint32_t app, hd_vpn first,
                          uint32_t span, hd_evict_visit *fn, uint64_t *sum);
/* Has an eviction begun, if none is under way; one is over: faults that wait
 * for frames try again, and may want more. */
void hd_evict_start(struct hd_evict *v, hd_time now);
void hd_evict_continue(struct hd_evict *v, hd_time now);
/* A page is evicted; a unit is.  Its pages are not resident from now on, and
 * *bytes more of them are to cross the link. */
hd_evict_visit hd_evict_leave;
void hd_evict_unmap(struct hd_evict *v, uint32_t u, uint64_t *bytes);

/* ---- evictwide.c -------------------------------------------------------- */

/* Of a coalesced region only a unit is to be evicted: it is split, or (true)
 * all of it is. */
bool hd_evictwide_region(struct hd_evict *v, uint32_t u);
/* All units of a region are evicted but one that has been. */
void hd_evictwide_rest(struct hd_evict *v, uint32_t u, uint64_t *bytes);
/* The units that evict.unit=tree evicts with one that has just been, a bit
 * each; page: one of it. */
uint32_t hd_evictwide_tree(const struct hd_evict *v, uint32_t u, hd_vpn page);

/* ---- hosttouch.c -------------------------------------------------------- */

/* The manager's instant for a range; its write-back, or the host's nap, is
 * over. */
void hd_hosttouch_next(struct hd_evict *v, hd_time now);
void hd_hosttouch_over(struct hd_evict *v, hd_time now);
void hd_hosttouch_awake(struct hd_evict *v, hd_time now, uint32_t app);

#endif
