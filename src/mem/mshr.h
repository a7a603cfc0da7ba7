/*
 * mshr.h - miss status holding registers: what is missing, and who waits.
 *
 * A fixed number of entries, each for one key (a line, a page) that has been
 * asked for below.  Requests that miss the same key wait in the entry's list,
 * in order of arrival.  The list is of indices into the caller's pool, linked
 * by a field of the caller's; this file keeps its two ends and its length.
 *
 * Up to HD_MSHR_NARROW entries are found by a tag of a byte each, all compared
 * at once: they are one line of the host's cache.  A word says which are free.
 * More are found by a hash, with chains and a free list.
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
#include "../base/bits.h"
#include "../base/bytes.h"

struct hd_mshr_entry {
    uint64_t key;
    uint32_t first, last; /* waiting requests; HD_NONE: none */
    uint32_t n;           /* how many */
    uint32_t next;        /* wide: of its bucket, or of the free list; + 1 */
    uint32_t flags;       /* the owner's */
    uint32_t live;        /* 0: free; in use: 1, or what the owner puts here */
};

enum { HD_MSHR_NARROW = 64 };

/* What the table of wide ones begins with. */
enum {
    HD_MSHR_FREE, /* free list: its first entry + 1 */
    HD_MSHR_USED,
    HD_MSHR_SPARE, /* entries for lending: the first + 1 */
    HD_MSHR_LENT,
    HD_MSHR_HEADS /* from here on, of each bucket the first entry + 1 */
};

/* Narrow: what is taken and what is free. */
struct hd_mshr_tags {
    uint8_t v[HD_MSHR_NARROW]; /* of each entry: 1 to 255, a hash of its key;
                                  0: free, or there is none */
    uint64_t free;             /* bit set: entries that are free */
    uint32_t used;
};

struct hd_mshr {                  /* half a line of the host's cache */
    struct hd_mshr_entry *v;      /* arena */
    union {                       /* arena */
        struct hd_mshr_tags *tag; /* narrow */
        uint32_t *table;          /* wide */
    };
    uint32_t room, shift;
    bool narrow;
};

/* 0, or -1 when the arena is full. */
int hd_mshr_open(struct hd_mshr *m, struct hd_arena *arena, uint32_t entries);
/* The same, where `more` entries may be lent at once. */
int hd_mshr_open_more(struct hd_mshr *m, struct hd_arena *arena,
                      uint32_t entries, uint32_t more);

/* The lists are consistent: every entry is free, or in the bucket of its key
 * and nowhere else. */
bool hd_mshr_sane(const struct hd_mshr *m);

#define HD_MSHR_HASH 0x9e3779b97f4a7c15ull

static inline uint8_t hd_mshr_tag(uint64_t key)
{
    uint64_t h = (key * HD_MSHR_HASH) >> 56;

    return (uint8_t)(h + (h == 0));
}

/* Wide: the bucket of a key. */
static inline uint32_t *hd_mshr_head(const struct hd_mshr *m, uint64_t key)
{
    return &m->table[HD_MSHR_HEADS + ((key * HD_MSHR_HASH) >> m->shift)];
}

/* Narrow: the entries that have a tag, which is not 0 (bit set). */
static inline uint64_t hd_mshr_alike(const struct hd_mshr *m, uint8_t tag)
{
    const uint8_t *v = m->tag->v;

    return hd_bytes_alike(v, tag) |
           (uint64_t)hd_bytes_alike(v + 16, tag) << 16 |
           (uint64_t)hd_bytes_alike(v + 32, tag) << 32 |
           (uint64_t)hd_bytes_alike(v + 48, tag) << 48;
}

static inline bool hd_mshr_full(const struct hd_mshr *m)
{
    return HD_LIKELY(m->narrow) ? m->tag->free == 0
                                : m->table[HD_MSHR_FREE] == 0;
}

static inline uint32_t hd_mshr_used(const struct hd_mshr *m)
{
    return HD_LIKELY(m->narrow) ? m->tag->used
                                : m->table[HD_MSHR_USED];
}

static inline uint32_t hd_mshr_find_wide(const struct hd_mshr *m, uint64_t key)
{
    uint32_t e = *hd_mshr_head(m, key);

    while (e != 0 && m->v[e - 1].key != key)
        e = m->v[e - 1].next;
    return e - 1;
}

static inline uint32_t hd_mshr_find_narrow(const struct hd_mshr *m,
                                           uint64_t key)
{
    uint64_t z;

    for (z = hd_mshr_alike(m, hd_mshr_tag(key)); z != 0; z &= z - 1)
        if (HD_LIKELY(m->v[hd_bit_first(z)].key == key))
            return hd_bit_first(z);
    return HD_NONE;
}

/* The entry of a key, or HD_NONE. */
static inline uint32_t hd_mshr_find(const struct hd_mshr *m, uint64_t key)
{
    return HD_LIKELY(m->narrow) ? hd_mshr_find_narrow(m, key)
                                : hd_mshr_find_wide(m, key);
}

static inline uint32_t hd_mshr_take_narrow(struct hd_mshr *m, uint64_t key)
{
    uint64_t free = m->tag->free;
    uint32_t e = hd_bit_first(free);

    hd_assert(free != 0);
    m->tag->free = free & (free - 1);
    m->tag->used++;
    m->tag->v[e] = hd_mshr_tag(key);
    m->v[e] = (struct hd_mshr_entry){key, HD_NONE, HD_NONE, 0, 0, 0, 1};
    return e;
}

static inline uint32_t hd_mshr_take_wide(struct hd_mshr *m, uint64_t key)
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

/* An entry for a key that has none; there must be a free one. */
static inline uint32_t hd_mshr_take(struct hd_mshr *m, uint64_t key)
{
    return HD_LIKELY(m->narrow) ? hd_mshr_take_narrow(m, key)
                                : hd_mshr_take_wide(m, key);
}

static inline void hd_mshr_give_narrow(struct hd_mshr *m, uint32_t entry)
{
    m->v[entry].live = 0;
    m->tag->v[entry] = 0;
    m->tag->free |= 1ull << entry;
    m->tag->used--;
}

static inline void hd_mshr_give_wide(struct hd_mshr *m, uint32_t entry)
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

static inline void hd_mshr_give(struct hd_mshr *m, uint32_t entry)
{
    if (HD_LIKELY(m->narrow))
        hd_mshr_give_narrow(m, entry);
    else
        hd_mshr_give_wide(m, entry);
}

/* ---- lending: wide only ------------------------------------------------- */

/* Entries that wait outside the registers. */
static inline uint32_t hd_mshr_lent(const struct hd_mshr *m)
{
    return m->narrow ? 0 : m->table[HD_MSHR_LENT];
}

/* An entry in use leaves the registers, where one is free now. */
static inline void hd_mshr_lend(struct hd_mshr *m)
{
    uint32_t e = m->table[HD_MSHR_SPARE];

    hd_assert(e != 0 && m->table[HD_MSHR_USED] > 0);
    m->table[HD_MSHR_SPARE] = m->v[e - 1].next;
    m->v[e - 1].next = m->table[HD_MSHR_FREE];
    m->table[HD_MSHR_FREE] = e;
    m->table[HD_MSHR_USED]--;
    m->table[HD_MSHR_LENT]++;
}

/* hd_mshr_give of an entry that was lent comes between these two. */
static inline void hd_mshr_recall(struct hd_mshr *m)
{
    m->table[HD_MSHR_USED]++;
    m->table[HD_MSHR_LENT]--;
}

static inline void hd_mshr_recalled(struct hd_mshr *m)
{
    uint32_t e = m->table[HD_MSHR_FREE];

    m->table[HD_MSHR_FREE] = m->v[e - 1].next;
    m->v[e - 1].next = m->table[HD_MSHR_SPARE];
    m->table[HD_MSHR_SPARE] = e;
}

#endif
