/*
 * event.c - a timing wheel with an exact order inside each instant.
 *
 * An event is posted into the list of its bucket, which is a slot of the
 * wheel.  When the bucket comes up, its list is sorted by the events' keys
 * (instant, receiver, sender) and becomes `ready`; the events
 * are served from its front, and its nodes are free again, all at once, when it
 * is through.
 *
 * An event for the bucket being served is late for the wheel.  It goes to a
 * short array, which is sorted; so do most where parts answer each other within
 * an instant, as levels of TLBs without a latency do.  All else that does not
 * fit into the wheel goes to a heap: events beyond its end, those of a bucket
 * before the one being served (which may be ahead of `now`: it is taken up to
 * see whether its events are within the run), and late ones for which the array
 * has no place.
 *
 * The first one of what is ready, in the array and in the heap is served.
 * `upto` makes that a matter of one comparison: what is ready and has a key
 * below that of the array's first event, below the heap's first instant and
 * below the end of the run, is served without another look.
 *
 * Invariants: an event of bucket n is in the list of slot n mod SLOTS only if
 * wheel <= n < wheel + SLOTS - 1, and `used` of a slot is 1 exactly while its
 * list is not empty; those in `ready` are of bucket wheel - 1, which is never
 * later than that of the heap's first event, unless that was late.  What is in
 * the array is of that bucket, too.  In a list of the wheel, later posts come
 * first.  An event in the heap was posted before those with the same key in the
 * wheel if it lay beyond the wheel, and after them if it was late, as are those
 * in the array; `turn` says which, and in what order.
 *
 * Node 0 ends every list, and is the first of the chain of nodes that end
 * lists.  The pool and the heap grow by moving to a larger piece of the arena.
 * Their places are kept as handles in the state, so a restored snapshot finds
 * the pieces that were in use when it was taken.
 *
 * Sorting.  A bucket holds one to a dozen events, mostly of one instant, in an
 * order that no host could foretell.  So the list is sorted without a branch:
 * its keys are taken into registers, each with its place in the order of
 * posting in the low bits, which makes all of them different; a sorting network
 * for 4 or 8 keys puts them into order by minimum and maximum, and the nodes
 * are linked again.  Where a list has fewer events, the nodes that end it fill
 * the rest: they form a chain of rising keys beyond all others, so they come
 * last and are linked as they were.  Longer lists are sorted by eights, which
 * are merged; and very long ones are merged as lists, so n events of one
 * instant cost n log n.
 *
 * Numbers have no room in a key.  Of two events with the same instant and
 * ranks the one posted first mostly has the lower number, so the order of
 * posting is taken for that of the numbers, and looked over while the nodes are
 * linked.
 *
 * SPDX-License-Identifier: MIT
 */
#include "event.h"

#include <string.h>

#include "bits.h"

enum { SLOTS = HD_EVENT_SLOTS, FIRST_POOL = 16384, FIRST_HEAP = 512 };

/* An event in the heap. */
struct aside {
    hd_time at;
    uint64_t turn; /* order of posting << 1 | it was late for the wheel */
    uint64_t b;
    uint32_t ranks, number;
    uint32_t what, a;
};

/* ---- sorting ------------------------------------------------------------- */

enum {
    RANK_BITS = 24, /* of the two ranks, in a key */
    PLACE_BITS = 9, /* of the place in the order of posting, and one more */
    AT_BITS = 29,   /* of an instant; two bits stay 0 */
    FEW = 8,        /* sorted in registers */
    MOST = 256,     /* sorted in an array */
    ENDS = FEW,     /* nodes that end lists */
    NODE = (int)sizeof(struct hd_event),
    AT_SHIFT = RANK_BITS + PLACE_BITS
};

/* What is more than any key: that of the nodes that end lists. */
static const uint64_t NO_KEY = (uint64_t)1 << 62;

/* Of a key in the array, the place of its event. */
static const uint64_t PLACES = ((uint64_t)1 << PLACE_BITS) - 1;

/* Order of numbers, which may wrap around. */
static inline bool earlier(uint32_t x, uint32_t y)
{
    return (int32_t)(x - y) < 0;
}

/* Whether x goes before y, of which it was posted earlier. */
static inline bool ordered(const struct hd_event *x, const struct hd_event *y)
{
    return x->key != y->key ? x->key < y->key : !earlier(y->number, x->number);
}

/* Merges two sorted lists; those of x were posted before those of y. */
static hd_node event_merge(const struct hd_events *q, hd_node x, hd_node y)
{
    hd_node first = 0, *to = &first;

    while (x != 0 && y != 0) {
        hd_node *from = ordered(hd_event_at(q, x), hd_event_at(q, y)) ? &x : &y;
        *to = *from;
        to = &hd_event_at(q, *from)->next;
        *from = *to;
    }
    *to = x != 0 ? x : y;
    return first;
}

/* Sorts a list of which equal keys are in the order of posting: run[i] is a
 * sorted list of 2^i of its events, or empty, and those of a longer run were
 * posted earlier. */
static hd_node merge_sort(const struct hd_events *q, hd_node list)
{
    hd_node run[32] = {0}, all = 0, next;

    for (hd_node n = list; n != 0; n = next) {
        uint32_t i = 0;
        next = hd_event_at(q, n)->next;
        hd_event_at(q, n)->next = 0;
        for (; run[i] != 0; i++) {
            n = event_merge(q, run[i], n);
            run[i] = 0;
        }
        run[i] = n;
    }
    for (uint32_t i = 0; i < HD_LEN(run); i++)
        all = event_merge(q, run[i], all);
    return all;
}

/* Sorts a list of any length, the latest event first. */
HD_APART static hd_node sort_long(const struct hd_events *q, hd_node list)
{
    hd_node first = 0, next;

    for (; list != 0; list = next) {
        next = hd_event_at(q, list)->next;
        hd_event_at(q, list)->next = first;
        first = list;
    }
    return merge_sort(q, first);
}

/* Puts two keys into order, without a branch. */
static inline void exchange(uint64_t *x, uint64_t *y)
{
    uint64_t low = hd_min_u64(*x, *y), high = hd_max_u64(*x, *y);

    *x = low;
    *y = high;
}

/* Sorting networks of the fewest exchanges. */
static HD_INLINE void sort_4(uint64_t *k)
{
    exchange(k + 0, k + 2), exchange(k + 1, k + 3);
    exchange(k + 0, k + 1), exchange(k + 2, k + 3);
    exchange(k + 1, k + 2);
}

static HD_INLINE void sort_8(uint64_t *k)
{
    exchange(k + 0, k + 2), exchange(k + 1, k + 3);
    exchange(k + 4, k + 6), exchange(k + 5, k + 7);
    exchange(k + 0, k + 4), exchange(k + 1, k + 5);
    exchange(k + 2, k + 6), exchange(k + 3, k + 7);
    exchange(k + 0, k + 1), exchange(k + 2, k + 3);
    exchange(k + 4, k + 5), exchange(k + 6, k + 7);
    exchange(k + 2, k + 4), exchange(k + 3, k + 5);
    exchange(k + 1, k + 4), exchange(k + 3, k + 6);
    exchange(k + 1, k + 2), exchange(k + 3, k + 4);
    exchange(k + 5, k + 6);
}

/*
 * Links n events in the order of their sorted keys; at[] has the nodes by
 * their places of posting, `rest` is what follows.  Those of equal keys are in
 * the order of posting then; where their numbers want another one, which is
 * rare, the list is sorted again.
 */
static HD_INLINE hd_node link_sorted(const struct hd_events *q,
                                     const uint64_t *k, const hd_node *at,
                                     uint32_t n, uint32_t mask, hd_node rest)
{
    hd_node first = at[k[0] & mask];
    struct hd_event *x = hd_event_at(q, first);
    uint64_t wrong = 0; /* its top bit */

    for (uint32_t i = 1; i < n; i++) {
        hd_node next = at[k[i] & mask];
        struct hd_event *y = hd_event_at(q, next);
        x->next = next;
        wrong |= (k[i] - MOST - k[i - 1]) & /* they differ by less, or more */
                 (uint64_t)(y->number - x->number) << 32;
        x = y;
    }
    x->next = rest;
    return HD_UNLIKELY(wrong >> 63 != 0) ? merge_sort(q, first) : first;
}

/* Merges two sorted arrays of n keys each, from both ends at once: so neither
 * runs out, and there is nothing to foretell. */
static HD_INLINE void merge_keys(const uint64_t *k, uint32_t n, uint64_t *to)
{
    const uint64_t *l = k + n, *last = l + n - 1;
    size_t x = 0, u = 0; /* taken from the first array: in front, at its end */

    for (size_t i = 0; i < n; i++) {
        uint64_t a = k[x], b = l[i - x], c = l[-1 - (ptrdiff_t)u],
                 d = last[(ptrdiff_t)u - (ptrdiff_t)i];
        to[i] = hd_min_u64(a, b);
        to[2 * n - 1 - i] = hd_max_u64(c, d);
        x += a < b;
        u += c > d;
    }
}

/* Takes the next events of a list, the latest first: their keys with their
 * places among `of` events, and their nodes by place.  What follows them. */
static HD_INLINE hd_node take_keys(const struct hd_events *q, hd_node n,
                                   uint32_t from, uint32_t to, uint32_t of,
                                   uint64_t *k, hd_node *at)
{
    for (uint32_t i = from; i < to; i++) {
        const struct hd_event *e = hd_event_at(q, n);
        k[i] = e->key | (of - 1 - i);
        at[of - 1 - i] = n;
        n = e->next;
    }
    return n;
}

/* Whether a list is over: what it has left are the nodes that end lists. */
static inline bool event_is_end(hd_node n)
{
    return n < ENDS * NODE;
}

/* Sorts a list of many, the latest event first. */
HD_APART static hd_node sort_many(const struct hd_events *q, hd_node list)
{
    uint64_t a[MOST], b[MOST], *k = a, *to = b;
    hd_node at[MOST], l = list;
    uint32_t n = 0, all = 4 * FEW;

    for (; l != 0 && n < MOST; n++)
        l = take_keys(q, l, n, n + 1, MOST, k, at);
    if (l != 0)
        return sort_long(q, list);
    while (all < n)
        all *= 2;
    for (uint32_t i = n; i < all; i++) /* as it stays: they sort last */
        a[i] = b[i] = UINT64_MAX;
    for (uint32_t i = 0; i < n; i += FEW)
        sort_8(k + i);
    for (uint32_t run = FEW; run < all; run *= 2) {
        uint64_t *from = k;
        for (uint32_t i = 0; i < n; i += 2 * run)
            if (i + run < n)
                merge_keys(from + i, run, to + i);
            else
                memcpy(to + i, from + i, (n - i) * sizeof *to);
        k = to;
        to = from;
    }
    return link_sorted(q, k, at, n, MOST - 1, 0);
}

/* Sorts up to twice FEW events. */
HD_APART static hd_node sort_more(const struct hd_events *q, hd_node list)
{
    enum { MORE = 2 * FEW };
    uint64_t k[MORE], to[MORE];
    hd_node at[MORE], rest = take_keys(q, list, 0, MORE, MORE, k, at);

    if (!event_is_end(rest))
        return sort_many(q, list);
    sort_8(k);
    sort_8(k + FEW);
    merge_keys(k, FEW, to);
    return link_sorted(q, to, at, MORE, MORE - 1, rest);
}

/* Sorts a list of any length. */
static HD_INLINE hd_node event_sort(const struct hd_events *q, hd_node list)
{
    uint64_t k[FEW];
    hd_node at[FEW], rest = take_keys(q, list, 0, FEW / 2, FEW, k, at);

    if (event_is_end(rest)) {
        sort_4(k);
        return link_sorted(q, k, at, FEW / 2, FEW - 1, rest);
    }
    rest = take_keys(q, rest, FEW / 2, FEW, FEW, k, at);
    if (!event_is_end(rest))
        return sort_more(q, list);
    sort_8(k);
    return link_sorted(q, k, at, FEW, FEW - 1, rest);
}

/* ---- opening ------------------------------------------------------------- */

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
        pool[i].key = NO_KEY + ((uint64_t)i << PLACE_BITS);
        pool[i].next = (i + 1) % ENDS * NODE;
    }
    for (uint32_t i = 0; i < HD_EVENT_LATE; i++)
        s->late_key[i] = i;
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
#if HD_BORDERS_WATCHED
    q->side[id] = hd_border_side(name);
#endif
    return id;
}

/* The pool; q->pool follows s->pool. */
void hd_events_restored(struct hd_events *q)
{
    q->pool = hd_arena_at(q->arena, q->s->pool);
}

/* Moves a growing array to a piece twice as large; the old piece is left. */
static hd_ref event_grow(struct hd_events *q, hd_ref old, uint32_t *room,
                         size_t size)
{
    void *p = hd_arena_take(q->arena, (size_t)*room * 2, size);

    hd_assert(p != NULL); /* 2^27 events are in reach of a link */
    memcpy(p, hd_arena_at(q->arena, old), *room * size);
    *room *= 2;
    return hd_arena_ref(q->arena, p);
}

/* ---- the limit ---------------------------------------------------------- */

/* The key of the array's first event; there is one. */
static inline uint64_t late_key(const struct hd_event_state *s)
{
    return s->late_key[s->late_n - 1] & ~PLACES;
}

/* The limit, the served bucket's first instant or the array has changed. */
static inline void find_upto(struct hd_events *q)
{
    const struct hd_event_state *s = q->s;
    uint64_t upto = NO_KEY;

    if (HD_UNLIKELY(q->limit <= q->base + s->within))
        upto = (q->limit - hd_min_u64(q->limit, q->base)) << AT_SHIFT;
    if (s->late_n != 0)
        upto = hd_min_u64(upto, late_key(s));
    q->upto = upto;
}

/* ---- the heap ----------------------------------------------------------- */

static bool event_before(const struct aside *x, const struct aside *y)
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
        s->heap = event_grow(q, s->heap, &s->heap_room, sizeof *h);
    h = hd_arena_at(q->arena, s->heap);
    i = s->heap_n++;
    while (i > 0 && event_before(e, &h[(i - 1) / 2])) {
        h[i] = h[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h[i] = *e;
    s->heap_at = h->at;
    if (h->at < q->limit) {
        q->limit = h->at;
        find_upto(q);
    }
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
        if (c + 1 < n && event_before(&h[c + 1], &h[c]))
            c++;
        if (!event_before(&h[c], &e))
            break;
        h[i] = h[c];
        i = c;
    }
    h[i] = e;
    s->heap_at = n > 0 ? h->at : HD_NEVER;
    q->limit = hd_min_u64(q->end, s->heap_at);
    find_upto(q);
    return top;
}

/* ---- late events -------------------------------------------------------- */

/* An event with a key comes late for the bucket being served; there is a place
 * for it. */
static inline void late_push(struct hd_events *q, uint64_t key, uint32_t number,
                             uint32_t what, uint32_t a, uint64_t b)
{
    struct hd_event_state *s = q->s;
    uint64_t *k = s->late_key + s->late_n++, place = *k & PLACES;

    s->late[place] =
        (struct hd_event_late){b, s->turn++ << 1 | 1, what, a, number, 0};
    for (; k > s->late_key && k[-1] < key; k--)
        *k = k[-1];
    for (; k > s->late_key && (k[-1] & ~PLACES) == key &&
           !earlier(number, s->late[k[-1] & PLACES].number);
         k--)
        *k = k[-1];
    *k = key | place;
    q->upto = hd_min_u64(q->upto, late_key(s));
}

/* hd_post_aside for what does not go to the array. */
HD_APART static void post_far(struct hd_events *q, uint32_t ranks,
                              uint32_t number, hd_time at, uint32_t what,
                              uint32_t a, uint64_t b)
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
        s->pool =
            event_grow(q, s->pool, &s->pool_room, sizeof(struct hd_event));
        hd_events_restored(q);
    }
    s->free = s->pool_used++ * (hd_node)sizeof(struct hd_event);
    hd_post_numbered(q, ranks & (HD_MAX_COMPONENTS - 1), ranks >> 12, number,
                     at, what, a, b);
}

HD_HOT void hd_post_aside(struct hd_events *q, uint32_t ranks, uint32_t number,
                          hd_time at, uint32_t what, uint32_t a, uint64_t b)
{
    const struct hd_event_state *s = q->s;
    uint64_t key = (at & s->within) << AT_SHIFT | (uint64_t)ranks << PLACE_BITS;

    if (HD_LIKELY(at >> s->shift == s->wheel - 1 && s->late_n < HD_EVENT_LATE))
        late_push(q, key, number, what, a, b);
    else
        post_far(q, ranks, number, at, what, a, b);
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

/* The next slot in use; mostly it is one of the next eight. */
static inline uint64_t next_used(const struct hd_event_state *s)
{
    uint64_t x = marks(s->used + s->wheel % SLOTS);

    return HD_LIKELY(x != 0) ? s->wheel + hd_bit_first(x) / 8 : next_far(s);
}

/* The instant of an event of the bucket that is served. */
static inline hd_time instant(const struct hd_events *q, uint64_t key)
{
    return q->base | key >> AT_SHIFT;
}

/* Its list, if it is one of the next eight, or 0. */
static inline hd_node next_list(const struct hd_event_state *s)
{
    uint64_t x = marks(s->used + s->wheel % SLOTS) | (uint64_t)1 << 63;

    return s->head[(s->wheel + hd_bit_first(x) / 8) % SLOTS];
}

/* Takes up the next bucket that has events; false: there are none. */
static inline bool event_advance(struct hd_events *q)
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
        list = event_sort(q, list);
    s->taken = s->ready = list;
    find_upto(q);
    return true;
}

/* ---- serving ------------------------------------------------------------ */

static inline void event_call(struct hd_events *q, uint32_t to, hd_time at,
                              uint32_t what, uint32_t a, uint64_t b)
{
#if HD_BORDERS_WATCHED
    q->borders.now = q->side[to];
#endif
    q->to[to].fn(q->to[to].self, at, what, a, b);
#if HD_BORDERS_WATCHED
    q->borders.now = HD_SIDE_ALL;
#endif
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

/* The array's first event; there is one. */
static inline const struct hd_event_late *
late_top(const struct hd_event_state *s)
{
    return &s->late[s->late_key[s->late_n - 1] & PLACES];
}

/* Whether it goes before one that is ready, or the node that ends lists. */
static inline bool late_first(const struct hd_events *q,
                              const struct hd_event *ready)
{
    const struct hd_event_state *s = q->s;
    uint64_t key;

    if (s->late_n == 0)
        return false;
    key = late_key(s);
    return key < ready->key ||
           (key == ready->key && earlier(late_top(s)->number, ready->number));
}

static inline void serve_late(struct hd_events *q)
{
    struct hd_event_state *s = q->s;
    const struct hd_event_late *x = late_top(s);
    uint64_t key = late_key(s);

    s->now = instant(q, key);
    s->late_n--;
    find_upto(q);
    event_call(q, receiver(key), s->now, x->what, x->a, x->b);
}

/* Serves what is ready or in the array, and before the limit; returns how many.
 * Meanwhile it fetches the next bucket's events, an event at a time: to walk
 * their list then would be a chain of misses of the host's cache. */
static uint64_t event_serve(struct hd_events *q, const int *stop)
{
    struct hd_event_state *s = q->s;
    hd_node n = s->ready, next, ahead;
    uint64_t served = 0;

    if (HD_UNLIKELY((n | s->late_n) == 0))
        return 0;
    ahead = next_list(s);
    HD_PREFETCH(hd_event_at(q, ahead));
    for (;; n = next) {
        const struct hd_event *e = hd_event_at(q, n);
        hd_time at = instant(q, e->key);

        while (HD_UNLIKELY(e->key >= q->upto)) {
            bool late = late_first(q, e);

            if (late)
                at = instant(q, late_key(s));
            if ((!late && n == 0) || at >= q->limit || *stop != 0) {
                s->ready = n;
                return served;
            }
            if (!late)
                break; /* it has the key of the array's first */
            serve_late(q);
            served++;
            e = hd_event_at(q, n);
            at = instant(q, e->key);
        }
        s->now = at;
        next = e->next;
        served++;
        ahead = hd_event_at(q, ahead)->next;
        HD_PREFETCH(hd_event_at(q, ahead));
        event_call(q, receiver(e->key), at, e->what, e->a, e->b);
        if (next == 0 || *stop != 0) {
            through(q, n, next);
            return served;
        }
    }
}

/* Whether the heap's first event goes before what is ready and in the array. */
static bool aside_first(const struct hd_events *q)
{
    const struct hd_event_state *s = q->s;
    const struct aside *h = hd_arena_at(q->arena, s->heap);
    const struct hd_event *e = hd_event_at(q, s->ready);
    bool late = late_first(q, e);
    const struct hd_event_late *x = late ? late_top(s) : s->late;
    uint64_t key = late ? late_key(s) : e->key;
    uint32_t ranks = (uint32_t)(key >> PLACE_BITS) % (1u << RANK_BITS);
    uint32_t number = late ? x->number : e->number;
    hd_time at = instant(q, key);

    if (s->ready == 0 && !late)
        return true; /* it is of this bucket, or late */
    if (h->at != at)
        return h->at < at;
    if (h->ranks != ranks)
        return h->ranks < ranks;
    if (h->number != number)
        return earlier(h->number, number);
    return late ? h->turn < x->turn : (h->turn & 1) == 0;
}

/* Serves the first event, where the heap has a say; returns how many. */
HD_APART static uint64_t serve_aside(struct hd_events *q)
{
    struct hd_event_state *s = q->s;
    hd_node n = s->ready;

    if (s->heap_n != 0 && aside_first(q)) {
        struct aside e;

        if (s->heap_at >= q->end)
            return 0;
        e = heap_pop(q);
        s->now = e.at;
        event_call(q, e.ranks >> 12, e.at, e.what, e.a, e.b);
    } else if (late_first(q, hd_event_at(q, n))) {
        if (instant(q, late_key(s)) >= q->end)
            return 0;
        serve_late(q);
    } else {
        struct hd_event e = *hd_event_at(q, n);
        hd_time at = instant(q, e.key);

        if (n == 0 || at >= q->end)
            return 0;
        s->now = at;
        event_call(q, receiver(e.key), at, e.what, e.a, e.b);
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
    find_upto(q);
    while (*stop == 0) {
        if ((s->ready | s->late_n) == 0 && s->heap_at >> s->shift >= s->wheel &&
            !event_advance(q))
            break;
        n = event_serve(q, stop);
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
    uint64_t waiting = s->heap_n + s->late_n;

    for (hd_node n = s->ready; n != 0; n = hd_event_at(q, n)->next)
        waiting++;
    for (uint32_t i = 0; i < SLOTS; i++)
        for (hd_node n = s->head[i]; n != 0; n = hd_event_at(q, n)->next)
            waiting++;
    return waiting;
}
