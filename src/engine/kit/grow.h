/*
 * grow.h - growing arrays, byte strings and maps, variable-length integers,
 * and a reader that cannot pass its end.
 *
 * An integer takes seven bits a byte, low bits first; a signed one is folded
 * first (0, -1, 1, -2, ...).  The reader never looks past its end: after an
 * overrun it answers 0 and `bad` is set, so a decoder checks once after a
 * group of fields.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_GROW_H
#define HD_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hd_bytes {
    unsigned char *p;
    size_t n, room;
    bool oom; /* an allocation failed: the contents are incomplete */
};

/* Makes room for n more bytes; false when memory is out. */
bool hd_bytes_room(struct hd_bytes *b, size_t n);
void hd_bytes_free(struct hd_bytes *b);
void hd_bytes_put_slow(struct hd_bytes *b, uint64_t v);
void hd_bytes_add(struct hd_bytes *b, const void *p, size_t n);

static inline void hd_bytes_u8(struct hd_bytes *b, unsigned v)
{
    if (b->n == b->room && !hd_bytes_room(b, 1))
        return;
    b->p[b->n++] = (unsigned char)v;
}

/* Appends an integer. */
static inline void hd_bytes_put(struct hd_bytes *b, uint64_t v)
{
    if (v < 0x80)
        hd_bytes_u8(b, (unsigned)v);
    else
        hd_bytes_put_slow(b, v);
}

static inline uint64_t hd_fold(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t) - (int64_t)(v < 0);
}

static inline int64_t hd_unfold(uint64_t v)
{
    return (int64_t)((v >> 1) ^ (0 - (v & 1)));
}

static inline void hd_bytes_puts(struct hd_bytes *b, int64_t v)
{
    hd_bytes_put(b, hd_fold(v));
}

/* Little-endian loads and stores of any alignment. */
static inline uint64_t hd_load64(const void *p)
{
    uint64_t v;

    memcpy(&v, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline void hd_store64(void *p, uint64_t v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, 8);
}

/* Reads a byte string from p to end. */
struct hd_cursor {
    const unsigned char *p, *end;
    bool bad;
    bool oom; /* what was read found no memory; the reader's user sets it */
};

uint64_t hd_cursor_get_slow(struct hd_cursor *c);

static inline size_t hd_cursor_left(const struct hd_cursor *c)
{
    return (size_t)(c->end - c->p);
}

static inline unsigned hd_cursor_u8(struct hd_cursor *c)
{
    if (c->p == c->end) {
        c->bad = true;
        return 0;
    }
    return *c->p++;
}

static inline uint64_t hd_cursor_get(struct hd_cursor *c)
{
    if (c->p != c->end && *c->p < 0x80)
        return *c->p++;
    return hd_cursor_get_slow(c);
}

static inline int64_t hd_cursor_gets(struct hd_cursor *c)
{
    return hd_unfold(hd_cursor_get(c));
}

/* An integer that must not pass `max`. */
static inline uint64_t hd_cursor_max(struct hd_cursor *c, uint64_t max)
{
    uint64_t v = hd_cursor_get(c);

    if (v > max) {
        c->bad = true;
        return 0;
    }
    return v;
}

/* A count of things that take at least `each` bytes in what is left. */
static inline uint64_t hd_cursor_count(struct hd_cursor *c, size_t each)
{
    uint64_t v = hd_cursor_get(c);

    if (v > hd_cursor_left(c) / each) {
        c->bad = true;
        return 0;
    }
    return v;
}

/* n bytes in place, or NULL. */
static inline const void *hd_cursor_take(struct hd_cursor *c, size_t n)
{
    const void *p = c->p;

    if (n > hd_cursor_left(c)) {
        c->bad = true;
        return NULL;
    }
    c->p += n;
    return p;
}

void *hd_grow_slow(void *list, size_t n, size_t *room, size_t size);

/*
 * Grows the array of `size`-byte items to which the pointer at `list` points,
 * so that it holds at least n + 1.  Returns its address, which the pointer has
 * then, too; NULL: no memory, and the array is as it was.
 */
static inline void *hd_grow(void *list, size_t n, size_t *room, size_t size)
{
    void *p;

    memcpy(&p, list, sizeof p);
    return n < *room ? p : hd_grow_slow(list, n, room, size);
}

/* Rows of a table, counted from 1, by number. */
struct hd_map {
    struct hd_map_slot {
        uint64_t key;
        uint32_t row; /* 0: free */
    } * slot;
    size_t slots, n; /* a power of two; taken, at most half */
};

static inline size_t hd_map_first(const struct hd_map *m, uint64_t key)
{
    return (key * 0x9e3779b97f4a7c15ull >> 20) & (m->slots - 1);
}

uint32_t *hd_map_at_slow(struct hd_map *m, uint64_t key);

/* Where the row of a key is, 0 if it is new and to be set then.  NULL: no
 * memory. */
static inline uint32_t *hd_map_at(struct hd_map *m, uint64_t key)
{
    struct hd_map_slot *s = m->slot;

    if (s != NULL && (s += hd_map_first(m, key))->key == key && s->row != 0)
        return &s->row;
    return hd_map_at_slow(m, key);
}

#endif
