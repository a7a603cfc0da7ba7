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

    m->room = entries + more;
    m->shift = 64 - bits;
    m->v = hd_arena_take(arena, m->room, sizeof *m->v);
    m->head = hd_arena_take(arena, (size_t)1 << bits, sizeof *m->head);
    m->state = hd_arena_take(arena, 4, sizeof *m->state);
    if (m->v == NULL || m->head == NULL || m->state == NULL)
        return -1;
    for (uint32_t i = 0; i + 1 < m->room; i++)
        m->v[i].next = i + 1 == entries ? 0 : i + 2;
    m->state[0] = 1;
    m->state[2] = more != 0 ? entries + 1 : 0;
    return 0;
}

bool hd_mshr_sane(const struct hd_mshr *m)
{
    uint32_t used = 0, unused = 0;

    for (uint32_t l = 0; l <= 2; l += 2)
        for (uint32_t e = m->state[l]; e != 0; e = m->v[e - 1].next)
            if (m->v[e - 1].live != 0 || ++unused > m->room)
                return false;
    for (uint32_t b = 0; b < (uint32_t)1 << (64 - m->shift); b++) {
        for (uint32_t e = m->head[b]; e != 0; e = m->v[e - 1].next) {
            const struct hd_mshr_entry *x = &m->v[e - 1];
            if (x->live == 0 || hd_mshr_bucket(m, x->key) != b ||
                ++used > m->room)
                return false;
        }
    }
    return used == m->state[1] + m->state[3] && used + unused == m->room;
}
