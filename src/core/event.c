/*
 * event.c - a timing wheel with an exact order inside each bucket.
 *
 * Invariants: every event of bucket number n with cursor < n < cursor + SLOTS
 * is in the chunks of slot n mod SLOTS; every event of the cursor's own bucket
 * is in the sorted array `due`; all later ones are in the heap.  A slot's bit
 * is set exactly when it holds events.
 *
 * A slot's events lie in chunks of several, in the order in which they were
 * posted: nearly sorted already, so that the insertion sort of a bucket that
 * is about to be served takes little more than a pass.
 *
 * The pool, the heap and the array of due events grow by moving to a larger
 * piece of the arena.  Their places are kept as handles in the state, so a
 * restored snapshot finds the pieces that were in use when it was taken.
 *
 * SPDX-License-Identifier: MIT
 */
#include "event.h"

#include <string.h>

#include "../base/bits.h"

enum { SLOTS = 4096, WORDS = SLOTS / 64, FIRST_POOL = 4096, FIRST_LIST = 512 };

enum { CHUNK = 7 }; /* with its head, 232 bytes */

struct chunk {
    uint32_t n, next;
    struct hd_event e[CHUNK];
};

struct hd_event_state {
    hd_time now;
    uint64_t cursor; /* number of the bucket being served */
    uint64_t waiting;
    uint32_t shift; /* log2 of ticks a bucket */
    /* sorted events of the cursor's bucket: due[first..last) */
    hd_ref due;
    uint32_t due_first, due_last, due_room;
    /* events beyond the wheel: a binary heap */
    hd_ref heap;
    uint32_t heap_n, heap_room;
    /* chunks of the slots' lists */
    hd_ref pool;
    uint32_t pool_free, pool_used, pool_room;
    uint64_t bit[WORDS];
    uint32_t head[SLOTS], tail[SLOTS];
};

static bool before(const struct hd_event *x, const struct hd_event *y)
{
    return x->at != y->at ? x->at < y->at : x->key < y->key;
}

int hd_events_open(struct hd_events *q, struct hd_arena *arena,
                   hd_time bucket_ticks)
{
    struct hd_event_state *s = hd_arena_take(arena, 1, sizeof *s);
    void *pool = hd_arena_take(arena, FIRST_POOL, sizeof(struct chunk));
    void *due = hd_arena_take(arena, FIRST_LIST, sizeof(struct hd_event));
    void *heap = hd_arena_take(arena, FIRST_LIST, sizeof(struct hd_event));

    memset(q, 0, sizeof *q);
    q->arena = arena;
    q->s = s;
    q->seq = hd_arena_take(arena, HD_MAX_COMPONENTS, sizeof *q->seq);
    if (s == NULL || pool == NULL || due == NULL || heap == NULL ||
        q->seq == NULL)
        return -1;
    s->shift = bucket_ticks > 1 ? hd_log2(bucket_ticks) : 0;
    s->pool = hd_arena_ref(arena, pool);
    s->pool_room = FIRST_POOL;
    s->pool_free = HD_NONE;
    s->due = hd_arena_ref(arena, due);
    s->due_room = FIRST_LIST;
    s->heap = hd_arena_ref(arena, heap);
    s->heap_room = FIRST_LIST;
    for (int i = 0; i < SLOTS; i++)
        s->head[i] = HD_NONE;
    return 0;
}

uint32_t hd_events_component(struct hd_events *q, const char *name,
                             hd_handler *fn, void *self)
{
    uint32_t id = q->components++;

    hd_assert(id < HD_MAX_COMPONENTS);
    q->to[id].fn = fn;
    q->to[id].self = self;
    q->to[id].name = name;
    return id;
}

/* Moves a growing array to a piece twice as large; the old piece is left. */
static hd_ref grow(struct hd_events *q, hd_ref old, uint32_t *room, size_t size)
{
    void *p = hd_arena_take(q->arena, (size_t)*room * 2, size);

    hd_assert(p != NULL); /* the reservation holds 2^32 events */
    memcpy(p, hd_arena_at(q->arena, old), *room * size);
    *room *= 2;
    return hd_arena_ref(q->arena, p);
}

static void heap_push(struct hd_events *q, const struct hd_event *e)
{
    struct hd_event_state *s = q->s;
    struct hd_event *h;
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
}

static struct hd_event heap_pop(struct hd_events *q)
{
    struct hd_event_state *s = q->s;
    struct hd_event *h = hd_arena_at(q->arena, s->heap);
    struct hd_event top = h[0], e = h[--s->heap_n];
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
    return top;
}

/* A fresh chunk at the end of a slot's list. */
static struct chunk *add_chunk(struct hd_events *q, uint32_t slot)
{
    struct hd_event_state *s = q->s;
    struct chunk *pool = hd_arena_at(q->arena, s->pool);
    uint32_t n = s->pool_free;

    if (n != HD_NONE) {
        s->pool_free = pool[n].next;
    } else {
        if (s->pool_used == s->pool_room) {
            s->pool = grow(q, s->pool, &s->pool_room, sizeof *pool);
            pool = hd_arena_at(q->arena, s->pool);
        }
        n = s->pool_used++;
    }
    pool[n].n = 0;
    pool[n].next = HD_NONE;
    if (s->head[slot] == HD_NONE) {
        s->head[slot] = n;
        s->bit[slot / 64] |= 1ull << (slot % 64);
    } else {
        pool[s->tail[slot]].next = n;
    }
    s->tail[slot] = n;
    return &pool[n];
}

static void slot_push(struct hd_events *q, const struct hd_event *e)
{
    struct hd_event_state *s = q->s;
    uint32_t slot = (uint32_t)(e->at >> s->shift) % SLOTS;
    struct chunk *c;

    if (s->head[slot] == HD_NONE) {
        c = add_chunk(q, slot);
    } else {
        c = (struct chunk *)hd_arena_at(q->arena, s->pool) + s->tail[slot];
        if (c->n == CHUNK)
            c = add_chunk(q, slot);
    }
    c->e[c->n++] = *e;
}

/* Inserts into the sorted array of the bucket being served. */
static void due_push(struct hd_events *q, const struct hd_event *e)
{
    struct hd_event_state *s = q->s;
    struct hd_event *d;
    uint32_t i;

    if (s->due_last == s->due_room) {
        d = hd_arena_at(q->arena, s->due);
        if (s->due_first > s->due_room / 2) {
            memmove(d, d + s->due_first,
                    (s->due_last - s->due_first) * sizeof *d);
            s->due_last -= s->due_first;
            s->due_first = 0;
        } else {
            s->due = grow(q, s->due, &s->due_room, sizeof *d);
        }
    }
    d = hd_arena_at(q->arena, s->due);
    i = s->due_last++;
    while (i > s->due_first && before(e, &d[i - 1])) {
        d[i] = d[i - 1];
        i--;
    }
    d[i] = *e;
}

void hd_post(struct hd_events *q, uint32_t src, uint32_t dst, hd_time at,
             uint32_t what, uint32_t a, uint64_t b)
{
    struct hd_event_state *s = q->s;
    struct hd_event e = {at,
                         (uint64_t)dst << 52 | (uint64_t)src << 40 |
                             (q->seq[src]++ & ((1ull << 40) - 1)),
                         b, a, what};
    uint64_t bucket = at >> s->shift;

    hd_assert(at >= s->now);
    s->waiting++;
    if (bucket <= s->cursor)
        due_push(q, &e);
    else if (bucket < s->cursor + SLOTS)
        slot_push(q, &e);
    else
        heap_push(q, &e);
}

/* Distance from the slot after the cursor to the next used one, or SLOTS. */
static uint32_t next_slot(const struct hd_event_state *s)
{
    uint32_t from = (uint32_t)(s->cursor + 1) % SLOTS;
    uint32_t w = from / 64;
    uint64_t x = s->bit[w] & ~hd_ones(from % 64);

    for (int i = 0; i <= WORDS; i++) {
        if (x != 0) {
            uint32_t slot = w * 64 + hd_bit_first(x);
            return (slot - from + SLOTS) % SLOTS;
        }
        w = (w + 1) % WORDS;
        x = s->bit[w];
    }
    return SLOTS;
}

/* Moves a slot's events into the array of due events, sorted. */
static void drain(struct hd_events *q, uint32_t slot)
{
    struct hd_event_state *s = q->s;
    struct chunk *pool = hd_arena_at(q->arena, s->pool);
    uint32_t n = s->head[slot];

    if (n == HD_NONE)
        return;
    s->head[slot] = HD_NONE;
    s->bit[slot / 64] &= ~(1ull << (slot % 64));
    do {
        struct chunk *c = &pool[n];
        uint32_t next = c->next;
        for (uint32_t i = 0; i < c->n; i++)
            due_push(q, &c->e[i]);
        c->next = s->pool_free;
        s->pool_free = n;
        n = next;
    } while (n != HD_NONE);
}

/* Makes due[] hold the next bucket in use.  False when nothing waits. */
static bool advance(struct hd_events *q)
{
    struct hd_event_state *s = q->s;
    uint64_t bucket = HD_NEVER;
    uint32_t ahead;

    if (s->waiting == 0)
        return false;
    s->due_first = s->due_last = 0;
    ahead = next_slot(s);
    if (ahead < SLOTS)
        bucket = s->cursor + 1 + ahead;
    if (s->heap_n > 0) {
        struct hd_event *h = hd_arena_at(q->arena, s->heap);
        bucket = hd_min_u64(bucket, h->at >> s->shift);
    }
    s->cursor = bucket;
    while (s->heap_n > 0) {
        struct hd_event *h = hd_arena_at(q->arena, s->heap), e;
        uint64_t n = h->at >> s->shift;
        if (n >= bucket + SLOTS)
            break;
        e = heap_pop(q);
        if (n == bucket)
            due_push(q, &e);
        else
            slot_push(q, &e);
    }
    drain(q, (uint32_t)bucket % SLOTS);
    return true;
}

hd_time hd_events_next(struct hd_events *q)
{
    struct hd_event_state *s = q->s;
    struct hd_event *d;

    if (s->due_first == s->due_last && !advance(q))
        return HD_NEVER;
    d = hd_arena_at(q->arena, s->due);
    return d[s->due_first].at;
}

hd_time hd_events_now(const struct hd_events *q)
{
    return q->s->now;
}

uint64_t hd_events_waiting(const struct hd_events *q)
{
    return q->s->waiting;
}

uint64_t hd_events_run(struct hd_events *q, hd_time until, const int *stop)
{
    struct hd_event_state *s = q->s;
    uint64_t served = 0;

    while (*stop == 0) {
        const struct hd_event *d;
        struct hd_event e;
        uint32_t to;

        if (s->due_first == s->due_last && !advance(q))
            break;
        d = (const struct hd_event *)hd_arena_at(q->arena, s->due) +
            s->due_first;
        if (d->at > until)
            break;
        e = *d;
        s->due_first++;
        s->waiting--;
        s->now = e.at;
        served++;
        to = hd_event_receiver(&e);
        q->to[to].fn(q->to[to].self, e.at, e.what, e.a, e.b);
    }
    if (*stop == 0 && s->now < until && until != HD_NEVER)
        s->now = until;
    return served;
}

void hd_events_each(const struct hd_events *q,
                    void (*fn)(void *ud, const struct hd_event *e), void *ud)
{
    const struct hd_event_state *s = q->s;
    const struct hd_event *d = hd_arena_at(q->arena, s->due);
    const struct hd_event *h = hd_arena_at(q->arena, s->heap);
    const struct chunk *pool = hd_arena_at(q->arena, s->pool);

    for (uint32_t i = s->due_first; i < s->due_last; i++)
        fn(ud, &d[i]);
    for (uint32_t i = 0; i < s->heap_n; i++)
        fn(ud, &h[i]);
    for (uint32_t i = 0; i < SLOTS; i++)
        for (uint32_t n = s->head[i]; n != HD_NONE; n = pool[n].next)
            for (uint32_t k = 0; k < pool[n].n; k++)
                fn(ud, &pool[n].e[k]);
}
