/*
 * mshr.h - miss status holding registers: what is missing, and who waits.
 *
 * A fixed number of entries, each for one key (a line, a page) that has been
 * asked for below.  Requests that miss the same key wait in the entry's list,
 * in order of arrival.  The list is of indices into the caller's pool, linked
 * by a field of the caller's; this file keeps its two ends and its length.
 *
 * An entry may leave the registers before it is answered (a far fault takes
 * too long to hold one): it is lent, keeps its key and its list, and another
 * takes its place.  `more` such entries have room.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_MSHR_H
#define HD_MSHR_H

#include "../base/arena.h"
#include "../base/base.h"

struct hd_mshr_entry {
    uint64_t key;
    uint32_t first, last; /* waiting requests; HD_NONE: none */
    uint32_t n;           /* how many */
    uint32_t next;        /* of its bucket, or of the free list; + 1 */
    uint32_t flags;       /* the owner's */
    uint32_t live;        /* 0: free; in use: 1, or what the owner puts here */
};

struct hd_mshr {
    struct hd_mshr_entry *v; /* arena */
    uint32_t *head;          /* arena: buckets; first entry + 1 */
    uint32_t *state;         /* arena: [0] free list, + 1; [1] in use; [2]
                                entries for lending, + 1; [3] lent */
    uint32_t room, shift;
};

/* 0, or -1 when the arena is full. */
int hd_mshr_open(struct hd_mshr *m, struct hd_arena *arena, uint32_t entries);
/* The same, where `more` entries may be lent at once. */
int hd_mshr_open_more(struct hd_mshr *m, struct hd_arena *arena,
                      uint32_t entries, uint32_t more);

/* The lists are consistent: every entry is free, or in the bucket of its key
 * and nowhere else. */
bool hd_mshr_sane(const struct hd_mshr *m);

static inline uint32_t hd_mshr_bucket(const struct hd_mshr *m, uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> m->shift);
}

static inline bool hd_mshr_full(const struct hd_mshr *m)
{
    return m->state[0] == 0;
}

static inline uint32_t hd_mshr_used(const struct hd_mshr *m)
{
    return m->state[1];
}

/* The entry of a key, or HD_NONE. */
static inline uint32_t hd_mshr_find(const struct hd_mshr *m, uint64_t key)
{
    uint32_t e = m->head[hd_mshr_bucket(m, key)];

    while (e != 0 && m->v[e - 1].key != key)
        e = m->v[e - 1].next;
    return e - 1;
}

/* An entry for a key that has none; there must be a free one. */
static inline uint32_t hd_mshr_take(struct hd_mshr *m, uint64_t key)
{
    uint32_t e = m->state[0], b = hd_mshr_bucket(m, key);
    struct hd_mshr_entry *x = &m->v[e - 1];

    hd_assert(e != 0);
    m->state[0] = x->next;
    m->state[1]++;
    *x = (struct hd_mshr_entry){key, HD_NONE, HD_NONE, 0, m->head[b], 0, 1};
    m->head[b] = e;
    return e - 1;
}

static inline void hd_mshr_give(struct hd_mshr *m, uint32_t entry)
{
    struct hd_mshr_entry *x = &m->v[entry];
    uint32_t *p = &m->head[hd_mshr_bucket(m, x->key)];

    while (*p != entry + 1)
        p = &m->v[*p - 1].next;
    *p = x->next;
    x->live = 0;
    x->next = m->state[0];
    m->state[0] = entry + 1;
    m->state[1]--;
}

/* Entries that wait outside the registers. */
static inline uint32_t hd_mshr_lent(const struct hd_mshr *m)
{
    return m->state[3];
}

/* An entry in use leaves the registers, where one is free now. */
static inline void hd_mshr_lend(struct hd_mshr *m)
{
    uint32_t e = m->state[2];

    hd_assert(e != 0 && m->state[1] > 0);
    m->state[2] = m->v[e - 1].next;
    m->v[e - 1].next = m->state[0];
    m->state[0] = e;
    m->state[1]--;
    m->state[3]++;
}

/* hd_mshr_give of an entry that was lent comes between these two. */
static inline void hd_mshr_recall(struct hd_mshr *m)
{
    m->state[1]++;
    m->state[3]--;
}

static inline void hd_mshr_recalled(struct hd_mshr *m)
{
    uint32_t e = m->state[0];

    m->state[0] = m->v[e - 1].next;
    m->v[e - 1].next = m->state[2];
    m->state[2] = e;
}

#endif
