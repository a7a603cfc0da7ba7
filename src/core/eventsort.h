/*
 * eventsort.h - sorts the events of a bucket: by instant, receiver, sender,
 * number, and posting.
 *
 * A bucket holds one to a dozen events, mostly of one instant, in an order
 * that no host could foretell.  So the list is sorted without a branch: its
 * keys are taken into registers, each with its place in the order of posting
 * in the low bits, which makes all of them different; a sorting network for 4
 * or 8 keys puts them into order by minimum and maximum, and the nodes are
 * linked anew.  Where a list has fewer events, the nodes that end it fill the
 * rest: they form a chain of rising keys beyond all others, so they come last
 * and are linked as they were.  Longer lists are sorted by eights, which are
 * merged; and very long ones are merged as lists, so n events of one instant
 * cost n log n.
 *
 * Numbers have no room in a key.  Of two events with the same instant and
 * ranks the one posted first mostly has the lower number, so the order of
 * posting is taken for that of the numbers, and looked over while the nodes are
 * linked.
 *
 * A part of event.c, where it is inlined.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_EVENTSORT_H
#define HD_EVENTSORT_H

#include "event.h"

enum {
    RANK_BITS = 24, /* of the two ranks, in a key */
    PLACE_BITS = 9, /* of the place in the order of posting, and one more */
    AT_BITS = 29,   /* of an instant; two bits stay 0 */
    FEW = 8,        /* sorted in registers */
    MOST = 256,     /* sorted in an array */
    ENDS = FEW,     /* nodes that end lists */
    NODE = (int)sizeof(struct hd_event)
};

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
static hd_node merge(const struct hd_events *q, hd_node x, hd_node y)
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
            n = merge(q, run[i], n);
            run[i] = 0;
        }
        run[i] = n;
    }
    for (uint32_t i = 0; i < HD_LEN(run); i++)
        all = merge(q, run[i], all);
    return all;
}

/* The same of a list of any length, the latest event first. */
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
static inline bool is_end(hd_node n)
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
    for (uint32_t i = n; i < all; i++)
        k[i] = UINT64_MAX;
    for (uint32_t i = 0; i < n; i += FEW)
        sort_8(k + i);
    for (uint32_t run = FEW; run < all; run *= 2) {
        uint64_t *from = k;
        for (uint32_t i = 0; i < all; i += 2 * run)
            merge_keys(from + i, run, to + i);
        k = to;
        to = from;
    }
    return link_sorted(q, k, at, n, MOST - 1, 0);
}

/* The same, of up to twice FEW. */
HD_APART static hd_node sort_more(const struct hd_events *q, hd_node list)
{
    enum { MORE = 2 * FEW };
    uint64_t k[MORE], to[MORE];
    hd_node at[MORE], rest = take_keys(q, list, 0, MORE, MORE, k, at);

    if (!is_end(rest))
        return sort_many(q, list);
    sort_8(k);
    sort_8(k + FEW);
    merge_keys(k, FEW, to);
    return link_sorted(q, to, at, MORE, MORE - 1, rest);
}

/* The same, of any length. */
static HD_INLINE hd_node sort(const struct hd_events *q, hd_node list)
{
    uint64_t k[FEW];
    hd_node at[FEW], rest = take_keys(q, list, 0, FEW / 2, FEW, k, at);

    if (is_end(rest)) {
        sort_4(k);
        return link_sorted(q, k, at, FEW / 2, FEW - 1, rest);
    }
    rest = take_keys(q, rest, FEW / 2, FEW, FEW, k, at);
    if (!is_end(rest))
        return sort_more(q, list);
    sort_8(k);
    return link_sorted(q, k, at, FEW, FEW - 1, rest);
}

#endif
