/*
 * event.h - the event queue: what happens next, in one order that does not
 * depend on who asked first.
 *
 * Events of one instant are ordered by (rank of the receiver, rank of the
 * sender, the sender's own order).  A sender's own order is that in which it
 * posts, unless it posts ahead of its time and says which number each event
 * has (hd_post_numbered).  The order among senders plays no part, so a core
 * that runs ahead of the others posts the same future as one that does not.
 * Ranks are given in the order of registration, which the wiring fixes.
 *
 * The queue is a timing wheel of buckets a quarter of a core cycle wide, a
 * short sorted array for what comes late for the bucket that is served, and a
 * heap for what is beyond the wheel or has no place in either.  A bucket is an
 * unsorted list until it comes up, and is sorted then.  Posting into the wheel
 * is all that happens often, and is here to be inlined; event.c has the rest,
 * and the essay.  All of it is in the arena.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_EVENT_H
#define HD_EVENT_H

#include "arena.h"
#include "base.h"
#include "border.h"

/*
 * Called when an event is due.  `what`, `a` and `b` are the sender's words:
 * `what` says which of the receiver's actions, a and b are its operands.
 */
typedef void hd_handler(void *self, hd_time now, uint32_t what, uint32_t a,
                        uint64_t b);

enum { HD_MAX_COMPONENTS = 4096, HD_EVENT_SLOTS = 4096, HD_EVENT_LATE = 64 };

/* A node of the pool is named by its offset in bytes; 0 is none. */
typedef uint32_t hd_node;

/* An event in the wheel, 32 bytes.  Its bucket says the rest of its instant. */
struct hd_event {
    uint64_t key; /* instant in its bucket | receiver 12 bits | sender 12 bits |
                     9 bits of 0, where a sort keeps the order of posting */
    uint64_t b;
    uint32_t what, a;
    uint32_t number; /* the sender's; 0 unless the sender numbers its events */
    hd_node next;    /* of its list */
};

/* What an event of the array has besides its key. */
struct hd_event_late {
    uint64_t b;
    uint64_t turn; /* as the heap's */
    uint32_t what, a, number, pad;
};

struct hd_event_state { /* in the arena */
    hd_time now;        /* the instant being served, or last served */
    uint64_t wheel;     /* the wheel's first bucket; the one before is served */
    hd_time heap_at;    /* instant of the heap's first event, or HD_NEVER */
    hd_time within;     /* ticks a bucket - 1: mask of an instant in it */
    uint32_t shift;     /* log2 of ticks a bucket */
    hd_node free;       /* list of free nodes */
    hd_node taken;      /* the bucket before the wheel, sorted */
    hd_node ready;      /* what is left of it */
    uint32_t heap_n, heap_room;
    uint32_t pool_used, pool_room; /* nodes */
    hd_ref pool;                   /* the nodes of all lists */
    hd_ref heap;                   /* events beyond the wheel, or late */
    uint64_t turn; /* of the next event that the heap gets, or the array */
    uint32_t late_n;
    /* the array: keys, as of events in the wheel, sorted, the first one last;
     * each with the place of the rest in its low bits, as have those not in use
     */
    uint64_t late_key[HD_EVENT_LATE];
    struct hd_event_late late[HD_EVENT_LATE];
    hd_node head[HD_EVENT_SLOTS];     /* lists of the buckets, latest first */
    uint8_t used[HD_EVENT_SLOTS + 8]; /* 1: the list is not empty; 8 of 0 */
};

struct hd_events {
    struct hd_event_state *s; /* arena */
    unsigned char *pool;      /* arena: s->pool */
    struct hd_arena *arena;
    uint32_t components; /* registered so far; wiring */
    /* these mean something only within hd_events_run: */
    hd_time end;   /* the instant after the last one to be served */
    hd_time limit; /* of the run and of the heap: min(end, heap_at) */
    uint64_t upto; /* what is ready and has a key below it is served without a
                      look at the limit, the heap and the array */
    hd_time base;  /* the first instant of the bucket that is served */
    struct {
        hd_handler *fn;
        void *self;
    } to[HD_MAX_COMPONENTS];
    const char *name[HD_MAX_COMPONENTS]; /* borrowed; for wait-for graphs */
#if HD_BORDERS_WATCHED
    struct hd_borders borders;
    uint8_t side[HD_MAX_COMPONENTS];
#endif
};

/* Builds an empty queue with buckets of a quarter of `cycle_ticks` (a core
 * cycle), or of the power of two below.  0 or -1. */
int hd_events_open(struct hd_events *q, struct hd_arena *arena,
                   hd_time cycle_ticks);

/* Wiring that follows from the state, after a snapshot was restored. */
void hd_events_restored(struct hd_events *q);

/* Registers a component and returns its rank.  Only before the first event. */
uint32_t hd_events_component(struct hd_events *q, const char *name,
                             hd_handler *fn, void *self);

/* The instant being served, or last served. */
static inline hd_time hd_events_now(const struct hd_events *q)
{
    return q->s->now;
}

/* Events waiting; they are counted at each call. */
uint64_t hd_events_waiting(const struct hd_events *q);

/*
 * Serves events up to and including `until`, or until *stop is not 0; none at
 * HD_NEVER.
 * Afterwards now = until, or the time of the event that stopped it.
 * Returns the number of events served.
 */
uint64_t hd_events_run(struct hd_events *q, hd_time until, const int *stop);

static inline struct hd_event *hd_event_at(const struct hd_events *q, hd_node n)
{
    return (struct hd_event *)(void *)(q->pool + n);
}

/* hd_post_numbered where the wheel does not do: it has no free node, or `at`
 * is beyond it, in the bucket being served, or before that. */
void hd_post_aside(struct hd_events *q, uint32_t ranks, uint32_t number,
                   hd_time at, uint32_t what, uint32_t a, uint64_t b);

/*
 * Posts an event.  `at` must not be before the instant being served.  Events
 * of one instant from src to dst are served in the order of `number`, then of
 * posting; numbers that meet in one instant differ by less than 2^31.
 */
static inline void hd_post_numbered(struct hd_events *q, uint32_t src,
                                    uint32_t dst, uint32_t number, hd_time at,
                                    uint32_t what, uint32_t a, uint64_t b)
{
    struct hd_event_state *s = q->s;
    uint64_t bucket = at >> s->shift;
    uint32_t slot = (uint32_t)bucket % HD_EVENT_SLOTS, ranks = dst << 12 | src;
    hd_node n = s->free;
    struct hd_event *e = hd_event_at(q, n);

    hd_assert(at >= s->now);
    if (HD_UNLIKELY(bucket - s->wheel >= HD_EVENT_SLOTS - 1 || n == 0)) {
        hd_post_aside(q, ranks, number, at, what, a, b);
        return;
    }
    s->free = e->next;
    e->key = (at & s->within) << 33 | (uint64_t)ranks << 9;
    e->b = b;
    e->what = what;
    e->a = a;
    e->number = number;
    e->next = s->head[slot];
    s->head[slot] = n;
    s->used[slot] = 1;
}

/* hd_post_numbered for a sender whose events of one instant come in the order
 * in which it posts them. */
static inline void hd_post(struct hd_events *q, uint32_t src, uint32_t dst,
                           hd_time at, uint32_t what, uint32_t a, uint64_t b)
{
    hd_post_numbered(q, src, dst, 0, at, what, a, b);
}

#endif
