/*
 * event.h - the event queue: what happens next, in one order that does not
 * depend on who asked first.
 *
 * Events of one instant are ordered by (rank of the receiver, rank of the
 * sender, the sender's own sequence number).  Insertion order plays no part,
 * so a core that runs ahead of the others posts the same future as one that
 * does not.  Ranks are given in the order of registration, which the wiring
 * fixes.
 *
 * The queue is a timing wheel of buckets one core cycle wide, a bitmap of the
 * buckets in use, and a heap for what lies beyond the wheel.  The bucket that
 * is being served is a sorted array.  All of it lies in the arena.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_EVENT_H
#define HD_EVENT_H

#include "../base/arena.h"
#include "../base/base.h"

/*
 * Called when an event is due.  `what`, `a` and `b` are the sender's words:
 * `what` says which of the receiver's actions, a and b are its operands.
 */
typedef void hd_handler(void *self, hd_time now, uint32_t what, uint32_t a,
                        uint64_t b);

enum { HD_MAX_COMPONENTS = 4096 };

struct hd_event {
    hd_time at;
    uint64_t key; /* receiver 12 bits | sender 12 bits | sequence 40 bits */
    uint64_t b;
    uint32_t a;
    uint32_t what;
};

struct hd_event_state; /* in the arena */

struct hd_events {
    struct hd_arena *arena;
    struct hd_event_state *s; /* arena */
    uint64_t *seq;            /* arena: next sequence number of each sender */
    void *pool;               /* arena: nodes of the lists */
    uint32_t components;      /* registered so far; wiring */
    struct {
        hd_handler *fn;
        void *self;
        const char *name; /* borrowed; for wait-for graphs */
    } to[HD_MAX_COMPONENTS];
};

/* Builds an empty queue; bucket_ticks is about one core cycle.  0 or -1. */
int hd_events_open(struct hd_events *q, struct hd_arena *arena,
                   hd_time bucket_ticks);

/* Wiring that follows from the state, after a snapshot was restored. */
void hd_events_restored(struct hd_events *q);

/* Registers a component and returns its rank.  Only before the first event. */
uint32_t hd_events_component(struct hd_events *q, const char *name,
                             hd_handler *fn, void *self);

/* Posts an event.  `at` must not lie before the instant being served. */
void hd_post(struct hd_events *q, uint32_t src, uint32_t dst, hd_time at,
             uint32_t what, uint32_t a, uint64_t b);

/* The instant of the next event, or HD_NEVER. */
hd_time hd_events_next(struct hd_events *q);

/* The instant being served, or last served. */
hd_time hd_events_now(const struct hd_events *q);

/* Events waiting. */
uint64_t hd_events_waiting(const struct hd_events *q);

/*
 * Serves events up to and including `until`, or until *stop is not 0.
 * Afterwards now = until, or the time of the event that stopped it.
 * Returns the number of events served.
 */
uint64_t hd_events_run(struct hd_events *q, hd_time until, const int *stop);

/* Calls fn for each waiting event, in no particular order. */
void hd_events_each(const struct hd_events *q,
                    void (*fn)(void *ud, const struct hd_event *e), void *ud);

static inline uint32_t hd_event_receiver(const struct hd_event *e)
{
    return (uint32_t)(e->key >> 52);
}

#endif
