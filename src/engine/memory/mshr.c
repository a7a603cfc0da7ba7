/*
 * mshr.c - the pool of miss registers: building, detaching, checking.
 * SPDX-License-Identifier: MIT
 */
#include "mshr.h"

#include "kit/bits.h"

int hd_mshr_open(struct hd_mshr *m, struct hd_arena *arena, uint32_t entries,
                 uint32_t more)
{
    unsigned bits = hd_log2(entries + more) + 2;

    *m = (struct hd_mshr){.room = entries + more, .shift = 64 - bits};
    m->v = hd_arena_take(arena, m->room, sizeof *m->v);
    m->table = hd_arena_take(arena, HD_MSHR_HEADS + ((size_t)1 << bits),
                             sizeof *m->table);
    if (m->v == NULL || m->table == NULL)
        return -1;
    for (uint32_t i = 0; i + 1 < m->room; i++)
        m->v[i].next = i + 1 == entries ? 0 : i + 2;
    m->table[HD_MSHR_FREE] = 1;
    m->table[HD_MSHR_SPARE] = more != 0 ? entries + 1 : 0;
    return 0;
}

/* The first entry of a list goes to another. */
static void mshr_move(struct hd_mshr *m, uint32_t from, uint32_t to)
{
    uint32_t e = m->table[from];

    hd_assert(e != 0);
    m->table[from] = m->v[e - 1].next;
    m->v[e - 1].next = m->table[to];
    m->table[to] = e;
}

void hd_mshr_detach(struct hd_mshr *m)
{
    hd_assert(m->table[HD_MSHR_USED] > 0);
    mshr_move(m, HD_MSHR_SPARE, HD_MSHR_FREE);
    m->table[HD_MSHR_USED]--;
    m->table[HD_MSHR_DETACHED]++;
}

void hd_mshr_reattach(struct hd_mshr *m)
{
    m->table[HD_MSHR_USED]++;
    m->table[HD_MSHR_DETACHED]--;
}

void hd_mshr_reattached(struct hd_mshr *m)
{
    mshr_move(m, HD_MSHR_FREE, HD_MSHR_SPARE);
}

bool hd_mshr_sane(const struct hd_mshr *m)
{
    uint32_t used = 0, unused = 0;

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
    return used == m->table[HD_MSHR_USED] + m->table[HD_MSHR_DETACHED] &&
           used + unused == m->room;
}
