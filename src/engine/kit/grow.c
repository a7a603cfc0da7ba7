/*
 * grow.c - growing arrays, byte strings and maps, and variable-length
 * integers. SPDX-License-Identifier: MIT
 */
#include "grow.h"

bool hd_bytes_room(struct hd_bytes *b, size_t n)
{
    if (b->oom || n > SIZE_MAX / 4 || b->n > SIZE_MAX / 4) {
        b->oom = true;
        return false;
    }
    if (n <= b->room - b->n)
        return true;

    size_t room = b->room < 256 ? 256 : b->room * 2;
    if (room < b->n + n)
        room = b->n + n;
    unsigned char *p = realloc(b->p, room);
    if (p == NULL) {
        b->oom = true;
        return false;
    }
    b->p = p;
    b->room = room;
    return true;
}

void hd_bytes_free(struct hd_bytes *b)
{
    free(b->p);
    *b = (struct hd_bytes){0};
}

void hd_bytes_put_slow(struct hd_bytes *b, uint64_t v)
{
    if (!hd_bytes_room(b, 10))
        return;
    while (v >= 0x80) {
        b->p[b->n++] = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    b->p[b->n++] = (unsigned char)v;
}

void hd_bytes_add(struct hd_bytes *b, const void *p, size_t n)
{
    if (n == 0 || !hd_bytes_room(b, n))
        return;
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

uint64_t hd_cursor_get_slow(struct hd_cursor *c)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (c->p == c->end)
            break;
        unsigned byte = *c->p++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    c->bad = true;
    return 0;
}

void *hd_grow_slow(void *list, size_t n, size_t *room, size_t size)
{
    size_t want = *room < 16 ? 16 : *room * 2;
    void *p;

    memcpy(&p, list, sizeof p);
    if (want <= n)
        want = n + 1;
    if (want > SIZE_MAX / 2 / size)
        return NULL;
    p = realloc(p, want * size);
    if (p == NULL)
        return NULL;
    memcpy(list, &p, sizeof p);
    *room = want;
    return p;
}

/* The slot of a key, or the free one where it would be. */
static struct hd_map_slot *grow_find(const struct hd_map *m, uint64_t key)
{
    size_t at = hd_map_first(m, key);

    while (m->slot[at].row != 0 && m->slot[at].key != key)
        at = (at + 1) & (m->slots - 1);
    return &m->slot[at];
}

uint32_t *hd_map_at_slow(struct hd_map *m, uint64_t key)
{
    if (m->n * 2 >= m->slots) {
        struct hd_map big = {.slots = m->slots == 0 ? 256 : m->slots * 2};
        big.slot = calloc(big.slots, sizeof *big.slot);
        if (big.slot == NULL)
            return NULL;
        for (size_t i = 0; i < m->slots; i++)
            if (m->slot[i].row != 0)
                *grow_find(&big, m->slot[i].key) = m->slot[i];
        free(m->slot);
        m->slot = big.slot;
        m->slots = big.slots;
    }
    struct hd_map_slot *s = grow_find(m, key);
    m->n += s->row == 0;
    s->key = key;
    return &s->row;
}
