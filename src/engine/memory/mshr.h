/*
 * mshr.h - miss status holding registers: what is missing, and who waits.
 *
 * A fixed number of entries, each for one key (a line, a page) that has been
 * asked for below, found by a hash with chains; those that are free are a list.
 * Requests that miss the same key wait in the entry's list, in order of
 * arrival.  The list is of indices into the caller's pool, linked by a field of
 * the caller's; this file keeps its two ends and its length.
 *
 * An entry may leave the registers before it is answered (a far fault takes
 * too long to hold one): it is detached, keeps its key and its list, and
 * another takes its place.  `more` such entries have room.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_MSHR_H
#define HD_MSHR_H

#include "kit/arena.h"
#include "kit/base.h"

struct hd_mshr_entry {
    uint64_t key;
    uint32_t first, last; /* waiting requests; HD_NONE: none */
    uint32_t n;           /* how many */
    uint32_t next;        /* of its bucket, or of the free list; + 1 */
    uint32_t flags;       /* the owner's */
    uint32_t live;        /* 0: free; in use: 1, or what the owner puts here */
};

/* What the table begins with. */
enum {
    HD_MSHR_FREE, /* free list: its first entry + 1 */
    HD_MSHR_USED,
    HD_MSHR_SPARE, /* entries for detaching: the first + 1 */
    HD_MSHR_DETACHED,
    HD_MSHR_HEADS /* from here on, of each bucket the first entry + 1 */
};

struct hd_mshr {
    struct hd_mshr_entry *v; /* arena */
    uint32_t *table;         /* arena */
    uint32_t room, shift;
};

/* `entries` registers, of which `more` may be detached at once.  0, or -1 when
 * the arena is full. */
int hd_mshr_open(struct hd_mshr *m, struct hd_arena *arena, uint32_t entries,
                 uint32_t more);

/* The lists are consistent: every entry is free, or in the bucket of its key
 * and nowhere else. */
bool hd_mshr_sane(const struct hd_mshr *m);

static inline bool hd_mshr_full(const struct hd_mshr *m)
{
    return m->table[HD_MSHR_FREE] == 0;
}

static inline uint32_t hd_mshr_used(const struct hd_mshr *m)
{
    return m->table[HD_MSHR_USED];
}

#define HD_MSHR_HASH 0x9e3779b97f4a7c15ull

/* The bucket of a key. */
static inline uint32_t *hd_mshr_head(const struct hd_mshr *m, uint64_t key)
{
    return &m->table[HD_MSHR_HEADS + ((key * HD_MSHR_HASH) >> m->shift)];
}

/* The entry of a key, or HD_NONE. */
static inline uint32_t hd_mshr_find(const struct hd_mshr *m, uint64_t key)
{
    uint32_t e = *hd_mshr_head(m, key);

    while (e != 0 && m->v[e - 1].key != key)
        e = m->v[e - 1].next;
    return e - 1;
}

/* An entry for a key that has none; there must be a free one. */
static inline uint32_t hd_mshr_take(struct hd_mshr *m, uint64_t key)
{
    uint32_t *head = hd_mshr_head(m, key);
    uint32_t e = m->table[HD_MSHR_FREE] - 1;

    hd_assert(e != HD_NONE);
    m->table[HD_MSHR_FREE] = m->v[e].next;
    m->table[HD_MSHR_USED]++;
    m->v[e] = (struct hd_mshr_entry){key, HD_NONE, HD_NONE, 0, *head, 0, 1};
    *head = e + 1;
    return e;
}

static inline void hd_mshr_give(struct hd_mshr *m, uint32_t entry)
{
    struct hd_mshr_entry *x = &m->v[entry];
    uint32_t *p = hd_mshr_head(m, x->key);

    x->live = 0;
    while (*p != entry + 1)
        p = &m->v[*p - 1].next;
    *p = x->next;
    x->next = m->table[HD_MSHR_FREE];
    m->table[HD_MSHR_FREE] = entry + 1;
    m->table[HD_MSHR_USED]--;
}

/* Entries that wait outside the registers. */
static inline uint32_t hd_mshr_detached(const struct hd_mshr *m)
{
    return m->table[HD_MSHR_DETACHED];
}

/* An entry in use leaves the registers, where one is free now. */
void hd_mshr_detach(struct hd_mshr *m);
/* hd_mshr_give of an entry that was detached comes between these two. */
void hd_mshr_reattach(struct hd_mshr *m);
void hd_mshr_reattached(struct hd_mshr *m);

#endif
