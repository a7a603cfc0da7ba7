/*
 * event.c - a timing wheel with an exact order inside each instant.
 *
 * An event is posted into the list of its bucket (a slot of the wheel), or
 * into a heap if it lies beyond the wheel.  When a bucket comes up, its list
 * becomes `rest`; the events of the earliest instant in it move into one short
 * list for each receiver, sorted by sender and sequence, and a bit set of
 * receivers gives them in order of rank.  Nothing is sorted as a whole, and an
 * event is written once and read once.
 *
 * Invariants: every event of bucket number n with cursor < n < cursor + SLOTS
 * is in the list of slot n mod SLOTS; those of the cursor's own bucket are in
 * `rest`, or in the receivers' lists if their instant is `due`; all later ones
 * are in the heap.  A slot's bit is set exactly when it holds events, and a
 * receiver's when its list does.
 *
 * The pool and the heap grow by moving to a larger piece of the arena.  Their
 * places are kept as handles in the state, so a restored snapshot finds the
 * pieces that were in use when it was taken.
 *
 * SPDX-License-Identifier: MIT
 */
#include "event.h"

#include <string.h>

#include "../base/bits.h"

enum { SLOTS = 4096, WORDS = SLOTS / 64, FIRST_POOL = 16384, FIRST_HEAP = 512 };

enum { RANKS = HD_MAX_COMPONENTS, RANK_WORDS = RANKS / 64 };

struct node {
    struct hd_event e;
    uint32_t next;
};

struct hd_event_state {
    hd_time now;
    hd_time due;     /* instant of the events in the receivers' lists */
    uint64_t cursor; /* number of the bucket being served */
    uint64_t waiting;
    uint32_t shift; /* log2 of ticks a bucket */
    uint32_t rest;  /* events of the bucket at other instants than `due` */
    hd_ref heap;    /* events beyond the wheel: a binary heap */
    uint32_t heap_n, heap_room;
    hd_ref pool; /* nodes of all lists */
    uint32_t pool_free, pool_used, pool_room;
    uint64_t words;            /* words of `rank` that are not 0 */
    uint64_t rank[RANK_WORDS]; /* receivers with events at `due` */
    uint32_t first[RANKS];     /* their lists */
    uint64_t bit[WORDS];
    uint32_t head[SLOTS];
};

int hd_events_open(struct hd_events *q, struct hd_arena *arena,
                   hd_time bucket_ticks)
{
    struct hd_event_state *s = hd_arena_take(arena, 1, sizeof *s);
    void *pool = hd_arena_take(arena, FIRST_POOL, sizeof(struct node));
    void *heap = hd_arena_take(arena, FIRST_HEAP, sizeof(struct hd_event));

    memset(q, 0, sizeof *q);
    q->arena = arena;
    q->s = s;
    q->seq = hd_arena_take(arena, HD_MAX_COMPONENTS, sizeof *q->seq);
    if (s == NULL || pool == NULL || heap == NULL || q->seq == NULL)
        return -1;
    /* A quarter of a cycle: most buckets then hold a single instant. */
    s->shift = bucket_ticks > 4 ? hd_log2(bucket_ticks) - 2 : 0;
    s->pool = hd_arena_ref(arena, pool);
    s->pool_room = FIRST_POOL;
    s->pool_free = s->rest = HD_NONE;
    s->heap = hd_arena_ref(arena, heap);
    s->heap_room = FIRST_HEAP;
    memset(s->head, 0xff, sizeof s->head);
    memset(s->first, 0xff, sizeof s->first);
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
    q->to[id].name = name;
    return id;
}

/* ---- storage ------------------------------------------------------------ */

/* Moves a growing array to a piece twice as large; the old piece is left. */
static hd_ref grow(struct hd_events *q, hd_ref old, uint32_t *room, size_t size)
{
    void *p = hd_arena_take(q->arena, (size_t)*room * 2, size);

    hd_assert(p != NULL); /* the reservation holds 2^28 events */
    memcpy(p, hd_arena_at(q->arena, old), *room * size);
    *room *= 2;
    return hd_arena_ref(q->arena, p);
}

/* The pool; q->pool follows s->pool (hd_events_restored). */
static inline struct node *nodes(const struct hd_events *q)
{
    return q->pool;
}

void hd_events_restored(struct hd_events *q)
{
    q->pool = hd_arena_at(q->arena, q->s->pool);
}

static inline uint32_t take_node(struct hd_events *q)
{
    struct hd_event_state *s = q->s;
    uint32_t n = s->pool_free;

    if (HD_LIKELY(n != HD_NONE)) {
        s->pool_free = nodes(q)[n].next;
        return n;
    }
    if (s->pool_used == s->pool_room) {
        s->pool = grow(q, s->pool, &s->pool_room, sizeof(struct node));
        hd_events_restored(q);
    }
    return s->pool_used++;
}

/* ---- the heap ----------------------------------------------------------- */

static bool before(const struct hd_event *x, const struct hd_event *y)
{
    return x->at != y->at ? x->at < y->at : x->key < y->key;
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

/* ---- lists -------------------------------------------------------------- */

static void slot_push(struct hd_event_state *s, struct node *v, uint32_t n)
{
    uint32_t slot = (uint32_t)(v[n].e.at >> s->shift) % SLOTS;

    v[n].next = s->head[slot];
    if (v[n].next == HD_NONE)
        s->bit[slot / 64] |= 1ull << (slot % 64);
    s->head[slot] = n;
}

/* Enters an event of the instant `due` into its receiver's list. */
static void rank_push(struct hd_event_state *s, struct node *v, uint32_t n)
{
    uint64_t key = v[n].e.key;
    uint32_t r = (uint32_t)(key >> 52), *at = &s->first[r];

    s->rank[r / 64] |= 1ull << (r % 64);
    s->words |= 1ull << (r / 64);
    while (*at != HD_NONE && v[*at].e.key < key)
        at = &v[*at].next;
    v[n].next = *at;
    *at = n;
}

static void rest_push(struct hd_event_state *s, struct node *v, uint32_t n)
{
    v[n].next = s->rest;
    s->rest = n;
}

/* Puts the events of `due` back: an earlier one was posted from outside. */
static void retreat(struct hd_events *q)
{
    struct hd_event_state *s = q->s;
    struct node *v = nodes(q);

    for (uint32_t r = 0; r < q->components; r++) {
        while (s->first[r] != HD_NONE) {
            uint32_t n = s->first[r];
            s->first[r] = v[n].next;
            rest_push(s, v, n);
        }
    }
    s->words = 0;
    memset(s->rank, 0, sizeof s->rank);
}

void hd_post(struct hd_events *q, uint32_t src, uint32_t dst, hd_time at,
             uint32_t what, uint32_t a, uint64_t b)
{
    struct hd_event_state *s = q->s;
    uint64_t bucket = at >> s->shift;
    uint64_t key = (uint64_t)dst << 52 | (uint64_t)src << 40 |
                   (q->seq[src]++ & ((1ull << 40) - 1));
    uint32_t n;
    struct node *v;

    hd_assert(at >= s->now);
    s->waiting++;
    if (HD_UNLIKELY(bucket >= s->cursor + SLOTS)) {
        struct hd_event e = {at, key, b, a, what};
        heap_push(q, &e);
        return;
    }
    n = take_node(q);
    v = nodes(q);
    v[n].e = (struct hd_event){at, key, b, a, what};
    if (HD_LIKELY(bucket > s->cursor)) {
        slot_push(s, v, n);
    } else if (at == s->due && s->words != 0) {
        rank_push(s, v, n);
    } else {
        if (at < s->due && s->words != 0)
            retreat(q);
        rest_push(s, v, n);
    }
}

/* ---- the next instant --------------------------------------------------- */

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

/* Makes `rest` hold the events of the next bucket in use. */
static void next_bucket(struct hd_events *q)
{
    struct hd_event_state *s = q->s;
    uint64_t bucket = HD_NEVER;
    uint32_t ahead = next_slot(s), slot;

    if (ahead < SLOTS)
        bucket = s->cursor + 1 + ahead;
    if (HD_UNLIKELY(s->heap_n > 0)) {
        struct hd_event *h = hd_arena_at(q->arena, s->heap);
        bucket = hd_min_u64(bucket, h->at >> s->shift);
    }
    s->cursor = bucket;
    while (HD_UNLIKELY(s->heap_n > 0)) {
        const struct hd_event *h = hd_arena_at(q->arena, s->heap);
        uint32_t n;
        if (h->at >> s->shift >= bucket + SLOTS)
            break;
        n = take_node(q);
        nodes(q)[n].e = heap_pop(q);
        slot_push(s, nodes(q), n);
    }
    slot = (uint32_t)bucket % SLOTS;
    s->rest = s->head[slot];
    s->head[slot] = HD_NONE;
    s->bit[slot / 64] &= ~(1ull << (slot % 64));
}

/* Moves the earliest instant into the receivers' lists; false: none is left. */
static bool advance(struct hd_events *q)
{
    struct hd_event_state *s = q->s;
    struct node *v;
    uint32_t n, next;
    hd_time due, mixed;

    if (s->waiting == 0)
        return false;
    if (s->rest == HD_NONE)
        next_bucket(q);
    v = nodes(q);
    due = v[s->rest].e.at;
    mixed = 0;
    for (n = v[s->rest].next; n != HD_NONE; n = v[n].next) {
        mixed |= v[n].e.at ^ due;
        due = hd_min_u64(due, v[n].e.at);
    }
    s->due = due;
    n = s->rest;
    s->rest = HD_NONE;
    for (; n != HD_NONE; n = next) {
        next = v[n].next;
        if (HD_LIKELY(mixed == 0) || v[n].e.at == due)
            rank_push(s, v, n);
        else
            rest_push(s, v, n);
    }
    return true;
}

hd_time hd_events_next(struct hd_events *q)
{
    if (q->s->words == 0 && !advance(q))
        return HD_NEVER;
    return q->s->due;
}

hd_time hd_events_now(const struct hd_events *q)
{
    return q->s->now;
}

uint64_t hd_events_waiting(const struct hd_events *q)
{
    return q->s->waiting;
}

/* Takes the first event of the instant `due`. */
static struct hd_event pop(struct hd_events *q)
{
    struct hd_event_state *s = q->s;
    struct node *v = nodes(q);
    unsigned w = hd_bit_first(s->words), b = hd_bit_first(s->rank[w]);
    uint32_t *first = &s->first[w * 64 + b], n = *first;

    *first = v[n].next;
    if (*first == HD_NONE) {
        s->rank[w] &= s->rank[w] - 1;
        if (s->rank[w] == 0)
            s->words &= s->words - 1;
    }
    v[n].next = s->pool_free;
    s->pool_free = n;
    s->waiting--;
    return v[n].e;
}

uint64_t hd_events_run(struct hd_events *q, hd_time until, const int *stop)
{
    struct hd_event_state *s = q->s;
    uint64_t served = 0;

    while (*stop == 0) {
        struct hd_event e;
        uint32_t to;

        if (s->words == 0 && !advance(q))
            break;
        if (s->due > until)
            break;
        e = pop(q);
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
    const struct hd_event *h = hd_arena_at(q->arena, s->heap);
    const struct node *v = nodes(q);

    for (uint32_t r = 0; r < q->components; r++)
        for (uint32_t n = s->first[r]; n != HD_NONE; n = v[n].next)
            fn(ud, &v[n].e);
    for (uint32_t n = s->rest; n != HD_NONE; n = v[n].next)
        fn(ud, &v[n].e);
    for (uint32_t i = 0; i < s->heap_n; i++)
        fn(ud, &h[i]);
    for (uint32_t i = 0; i < SLOTS; i++)
        for (uint32_t n = s->head[i]; n != HD_NONE; n = v[n].next)
            fn(ud, &v[n].e);
}
