/*
 * event.c - a timing wheel with an exact order inside each instant.
 *
 * An event is posted into the list of its bucket, which is a slot of the
 * wheel.  When the bucket comes up, its list is sorted by the events' keys
 * (instant, receiver, sender; see eventsort.h) and becomes `ready`; the events
 * are served from its front, and its nodes are free again, all at once, when it
 * is through.
 *
 * What does not fit into the wheel goes to a heap: events beyond its end, and
 * those of the bucket being served or of one before it.  (That bucket may lie
 * ahead of `now`: it is taken up to see whether its events are within the
 * run.)  They are served from the heap, so its first event is compared with
 * the first one that is ready.  `limit` makes that rare: what is ready and
 * before the heap's first instant, and before the end of the run, is served
 * without another look.
 *
 * Invariants: an event of bucket n is in the list of slot n mod SLOTS only if
 * wheel <= n < wheel + SLOTS - 1, and `used` of a slot is 1 exactly while its
 * list is not empty; those in `ready` are of bucket wheel - 1, which is never
 * later than that of the heap's first event, unless that was late.  In a list
 * of the wheel, later posts come first.  An event in the heap was posted
 * before those with the same key in the wheel if it lay beyond the wheel, and
 * after them if it was late; `turn` says which, and in what order.
 *
 * Node 0 ends every list, and is the first of the chain of nodes that end
 * lists.  The pool and the heap grow by moving to a larger piece of the arena.
 * Their places are kept as handles in the state, so a restored snapshot finds
 * the pieces that were in use when it was taken.
 *
 * SPDX-License-Identifier: MIT
 */
#include "event.h"

#include <string.h>

#include "../base/bits.h"
#include "eventsort.h"

enum { SLOTS = HD_EVENT_SLOTS, FIRST_POOL = 16384, FIRST_HEAP = 512 };

/* An event in the heap. */
struct aside {
    hd_time at;
    uint64_t turn; /* order of posting << 1 | it was late for the wheel */
    uint64_t b;
    uint32_t ranks, number;
    uint32_t what, a;
};

int hd_events_open(struct hd_events *q, struct hd_arena *arena,
                   hd_time cycle_ticks)
{
    struct hd_event_state *s = hd_arena_take(arena, 1, sizeof *s);
    struct hd_event *pool = hd_arena_take(arena, FIRST_POOL, sizeof *pool);
    void *heap = hd_arena_take(arena, FIRST_HEAP, sizeof(struct aside));

    memset(q, 0, sizeof *q);
    q->arena = arena;
    q->s = s;
    if (s == NULL || pool == NULL || heap == NULL)
        return -1;
    /* A quarter of a cycle: most buckets then hold a single instant. */
    s->shift = cycle_ticks > 4 ? hd_log2(cycle_ticks) - 2 : 0;
    if (s->shift > AT_BITS)
        s->shift = AT_BITS;
    s->within = ((hd_time)1 << s->shift) - 1;
    s->wheel = 1; /* bucket 0 is being served */
    s->heap_at = HD_NEVER;
    s->pool = hd_arena_ref(arena, pool);
    s->pool_room = FIRST_POOL;
    s->pool_used = ENDS;
    for (uint32_t i = 0; i < ENDS; i++) {
        pool[i].key = ((uint64_t)1 << 62) + ((uint64_t)i << PLACE_BITS);
        pool[i].next = (i + 1) % ENDS * NODE;
    }
    s->heap = hd_arena_ref(arena, heap);
    s->heap_room = FIRST_HEAP;
    hd_events_restored(q);
    return 0;
}

uint32_t hd_events_component(struct hd_events *q, const char *name,
                             hd_handler *fn, void *self)
{
    uint32_t id = q->components++;

    hd_assert(id < HD_MAX_COMPONENTS);
    q->to[id].fn = fn;
    q->to[id].self = self;
    q->name[id] = name;
    return id;
}

/* The pool; q->pool follows s->pool. */
void hd_events_restored(struct hd_events *q)
{
    q->pool = hd_arena_at(q->arena, q->s->pool);
}

/* Moves a growing array to a piece twice as large; the old piece is left. */
static hd_ref grow(struct hd_events *q, hd_ref old, uint32_t *room, size_t size)
{
    void *p = hd_arena_take(q->arena, (size_t)*room * 2, size);

    hd_assert(p != NULL); /* 2^27 events are in reach of a link */
    memcpy(p, hd_arena_at(q->arena, old), *room * size);
    *room *= 2;
    return hd_arena_ref(q->arena, p);
}

/* ---- the heap ----------------------------------------------------------- */

static bool before(const struct aside *x, const struct aside *y)
{
    if (x->at != y->at)
        return x->at < y->at;
    if (x->ranks != y->ranks)
        return x->ranks < y->ranks;
    return x->number != y->number ? earlier(x->number, y->number)
                                  : x->turn < y->turn;
}

static void heap_push(struct hd_events *q, const struct aside *e)
{
    struct hd_event_state *s = q->s;
    struct aside *h;
    uint32_t i;

    if (s->heap_n == s->heap_room)
        s->heap = grow(q, s->heap, &s->heap_room, sizeof *h);
    h = hd_arena_at(q->arena, s->heap);
    i = s->heap_n++;
    while (i > 0 && before(e, &h[(i - 1) / 2])) {
        h[i] = h[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h[i] = *e;
    s->heap_at = h->at;
    q->limit = hd_min_u64(q->limit, h->at);
}

static struct aside heap_pop(struct hd_events *q)
{
    struct hd_event_state *s = q->s;
    struct aside *h = hd_arena_at(q->arena, s->heap);
    struct aside top = h[0], e = h[--s->heap_n];
    uint32_t i = 0, n = s->heap_n;

    for (;;) {
        uint32_t c = 2 * i + 1;
        if (c >= n)
            break;
        if (c + 1 < n && before(&h[c + 1], &h[c]))
            c++;
        if (!before(&h[c], &e))
            break;
        h[i] = h[c];
        i = c;
    }
    h[i] = e;
    s->heap_at = n > 0 ? h->at : HD_NEVER;
    q->limit = hd_min_u64(q->end, s->heap_at);
    return top;
}

void hd_post_aside(struct hd_events *q, uint32_t ranks, uint32_t number,
                   hd_time at, uint32_t what, uint32_t a, uint64_t b)
{
    struct hd_event_state *s = q->s;
    uint64_t bucket = at >> s->shift;
    bool late = bucket < s->wheel;

    if (late || bucket - s->wheel >= SLOTS - 1) {
        struct aside e = {at, s->turn++ << 1 | late, b, ranks, number, what, a};
        heap_push(q, &e);
        return;
    }
    if (s->pool_used == s->pool_room) {
        s->pool = grow(q, s->pool, &s->pool_room, sizeof(struct hd_event));
        hd_events_restored(q);
    }
    s->free = s->pool_used++ * (hd_node)sizeof(struct hd_event);
    hd_post_numbered(q, ranks & (HD_MAX_COMPONENTS - 1), ranks >> 12, number,
                     at, what, a, b);
}

/* ---- the next bucket ---------------------------------------------------- */

/* Eight marks of slots, the first one in the lowest byte. */
static inline uint64_t marks(const uint8_t *used)
{
    uint64_t x;

    memcpy(&x, used, sizeof x);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

/* The next bucket of the wheel that has a list, or HD_NEVER. */
HD_APART static uint64_t next_far(const struct hd_event_state *s)
{
    uint32_t from = (uint32_t)s->wheel % SLOTS, at = from & ~7u;
    uint64_t x = marks(s->used + at) & UINT64_MAX << from % 8 * 8;

    for (uint32_t i = 0; i <= SLOTS; i += 8) {
        if (x != 0)
            return s->wheel + (at + hd_bit_first(x) / 8 - from) % SLOTS;
        at = (at + 8) % SLOTS;
        x = marks(s->used + at);
    }
    return HD_NEVER;
}

/* The same; it is mostly one of the next eight. */
static inline uint64_t next_used(const struct hd_event_state *s)
{
    uint64_t x = marks(s->used + s->wheel % SLOTS);

    return HD_LIKELY(x != 0) ? s->wheel + hd_bit_first(x) / 8 : next_far(s);
}

/* The instant of an event of the bucket that is served. */
static inline hd_time instant(const struct hd_events *q, uint64_t key)
{
    return q->base | key >> (RANK_BITS + PLACE_BITS);
}

/* Its list, if it is one of the next eight, or 0. */
static inline hd_node next_list(const struct hd_event_state *s)
{
    uint64_t x = marks(s->used + s->wheel % SLOTS) | (uint64_t)1 << 63;

    return s->head[(s->wheel + hd_bit_first(x) / 8) % SLOTS];
}

/* Takes up the next bucket that has events; false: there are none. */
static inline bool advance(struct hd_events *q)
{
    struct hd_event_state *s = q->s;
    uint64_t bucket = next_used(s);
    uint32_t slot;
    hd_node list;

    if (HD_UNLIKELY(bucket == HD_NEVER) && s->heap_n == 0)
        return false;
    bucket = hd_min_u64(bucket, s->heap_at >> s->shift);
    slot = (uint32_t)bucket % SLOTS;
    s->wheel = bucket + 1;
    q->base = bucket << s->shift;
    list = s->head[slot];
    s->head[slot] = 0;
    s->used[slot] = 0;
    if (hd_event_at(q, list)->next != 0)
        list = sort(q, list);
    s->taken = s->ready = list;
    return true;
}

/* ---- serving ------------------------------------------------------------ */

static inline void call(const struct hd_events *q, uint32_t to, hd_time at,
                        uint32_t what, uint32_t a, uint64_t b)
{
    q->to[to].fn(q->to[to].self, at, what, a, b);
}

static inline uint32_t receiver(uint64_t key)
{
    return (uint32_t)(key >> (PLACE_BITS + 12)) % HD_MAX_COMPONENTS;
}

/* Event n was served, and `next` is the next one.  Nodes are freed by whole
 * buckets, so that no cut of a run can be seen in the order of free ones. */
static inline void through(struct hd_events *q, hd_node n, hd_node next)
{
    struct hd_event_state *s = q->s;

    s->ready = next;
    if (next == 0) {
        hd_event_at(q, n)->next = s->free;
        s->free = s->taken;
    }
}

/* Serves what is ready and before the limit; returns how many.  Meanwhile it
 * fetches the next bucket's events, an event at a time: to walk their list then
 * would be a chain of misses of the host's cache. */
static uint64_t serve(struct hd_events *q, const int *stop)
{
    struct hd_event_state *s = q->s;
    hd_node n = s->ready, next, ahead;
    uint64_t served = 0;

    if (HD_UNLIKELY(n == 0))
        return 0;
    ahead = next_list(s);
    HD_PREFETCH(hd_event_at(q, ahead));
    for (;; n = next) {
        const struct hd_event *e = hd_event_at(q, n);
        hd_time at = instant(q, e->key);

        if (HD_UNLIKELY(at >= q->limit)) {
            s->ready = n;
            return served;
        }
        s->now = at;
        next = e->next;
        served++;
        ahead = hd_event_at(q, ahead)->next;
        HD_PREFETCH(hd_event_at(q, ahead));
        call(q, receiver(e->key), at, e->what, e->a, e->b);
        if (next == 0 || *stop != 0) {
            through(q, n, next);
            return served;
        }
    }
}

/* Whether the heap's first event goes before what is ready; there is one. */
static bool aside_first(const struct hd_events *q)
{
    const struct hd_event_state *s = q->s;
    const struct aside *h = hd_arena_at(q->arena, s->heap);
    const struct hd_event *e = hd_event_at(q, s->ready);
    uint32_t ranks = (uint32_t)(e->key >> PLACE_BITS) % (1u << RANK_BITS);
    hd_time at = instant(q, e->key);

    if (s->ready == 0)
        return true; /* it is of this bucket, or late */
    if (h->at != at)
        return h->at < at;
    if (h->ranks != ranks)
        return h->ranks < ranks;
    return h->number != e->number ? earlier(h->number, e->number)
                                  : (h->turn & 1) == 0;
}

/* Serves the first event, where the heap has a say; returns how many. */
HD_APART static uint64_t serve_aside(struct hd_events *q)
{
    struct hd_event_state *s = q->s;

    if (s->heap_n != 0 && aside_first(q)) {
        struct aside e;

        if (s->heap_at >= q->end)
            return 0;
        e = heap_pop(q);
        s->now = e.at;
        call(q, e.ranks >> 12, e.at, e.what, e.a, e.b);
    } else {
        hd_node n = s->ready;
        struct hd_event e = *hd_event_at(q, n);
        hd_time at = instant(q, e.key);

        if (n == 0 || at >= q->end)
            return 0;
        s->now = at;
        call(q, receiver(e.key), at, e.what, e.a, e.b);
        through(q, n, e.next);
    }
    return 1;
}

HD_HOT uint64_t hd_events_run(struct hd_events *q, hd_time until,
                              const int *stop)
{
    struct hd_event_state *s = q->s;
    uint64_t served = 0, n;

    q->end = until == HD_NEVER ? HD_NEVER : until + 1;
    q->limit = hd_min_u64(q->end, s->heap_at);
    q->base = (s->wheel - 1) << s->shift;
    while (*stop == 0) {
        if (s->ready == 0 && s->heap_at >> s->shift >= s->wheel && !advance(q))
            break;
        n = serve(q, stop);
        if (HD_UNLIKELY(n == 0) && (*stop != 0 || (n = serve_aside(q)) == 0))
            break;
        served += n;
    }
    q->limit = 0;
    if (*stop == 0 && s->now < until && until != HD_NEVER)
        s->now = until;
    return served;
}

uint64_t hd_events_waiting(const struct hd_events *q)
{
    const struct hd_event_state *s = q->s;
    uint64_t waiting = s->heap_n;

    for (hd_node n = s->ready; n != 0; n = hd_event_at(q, n)->next)
        waiting++;
    for (uint32_t i = 0; i < SLOTS; i++)
        for (hd_node n = s->head[i]; n != 0; n = hd_event_at(q, n)->next)
            waiting++;
    return waiting;
}
