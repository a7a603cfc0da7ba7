/*
 * mshr.c - the pool of miss registers: building and checking.
 * SPDX-License-Identifier: MIT
 */
#include "mshr.h"

#include "../base/bits.h"

int hd_mshr_open(struct hd_mshr *m, struct hd_arena *arena, uint32_t entries)
{
    return hd_mshr_open_more(m, arena, entries, 0);
}

int hd_mshr_open_more(struct hd_mshr *m, struct hd_arena *arena,
                      uint32_t entries, uint32_t more)
{
    unsigned bits = hd_log2(entries + more) + 2;

    *m = (struct hd_mshr){.room = entries + more, .shift = 64 - bits};
    m->v = hd_arena_take(arena, m->room, sizeof *m->v);
    if (m->v == NULL)
        return -1;
    if (entries <= HD_MSHR_NARROW && more == 0) {
        m->narrow = true;
        m->tag = hd_arena_take(arena, 1, sizeof *m->tag);
        if (m->tag == NULL)
            return -1;
        m->tag->free = hd_ones(entries);
        return 0;
    }
    m->table = hd_arena_take(arena, HD_MSHR_HEADS + ((size_t)1 << bits),
                             sizeof *m->table);
    if (m->table == NULL)
        return -1;
    for (uint32_t i = 0; i + 1 < m->room; i++)
        m->v[i].next = i + 1 == entries ? 0 : i + 2;
    m->table[HD_MSHR_FREE] = 1;
    m->table[HD_MSHR_SPARE] = more != 0 ? entries + 1 : 0;
    return 0;
}

static bool sane_narrow(const struct hd_mshr *m)
{
    for (uint32_t e = 0; e < HD_MSHR_NARROW; e++) {
        bool live = e < m->room && m->v[e].live != 0;
        bool free = e < m->room && !live;
        if (m->tag->v[e] != (live ? hd_mshr_tag(m->v[e].key) : 0) ||
            (m->tag->free >> e & 1) != free)
            return false;
        if (live && hd_mshr_find(m, m->v[e].key) != e)
            return false;
    }
    return m->tag->used == m->room - hd_bit_count(m->tag->free);
}

bool hd_mshr_sane(const struct hd_mshr *m)
{
    uint32_t used = 0, unused = 0;

    if (m->narrow)
        return sane_narrow(m);
    for (uint32_t l = HD_MSHR_FREE; l <= HD_MSHR_SPARE; l += 2)
        for (uint32_t e = m->table[l]; e != 0; e = m->v[e - 1].next)
            if (m->v[e - 1].live != 0 || ++unused > m->room)
                return false;
    for (uint32_t b = 0; b < (uint32_t)1 << (64 - m->shift); b++) {
        const uint32_t *head = &m->table[HD_MSHR_HEADS + b];
        for (uint32_t e = *head; e != 0; e = m->v[e - 1].next) {
            const struct hd_mshr_entry *x = &m->v[e - 1];
            if (x->live == 0 || hd_mshr_head(m, x->key) != head ||
                ++used > m->room)
                return false;
        }
    }
    return used == m->table[HD_MSHR_USED] + m->table[HD_MSHR_LENT] &&
           used + unused == m->room;
}
