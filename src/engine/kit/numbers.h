/*
 * numbers.h - the numbers of a pool's records: which are in use, and which is
 * taken next, the one given back last.
 *
 * The free ones are a stack of their own and not a list through the records:
 * a record that has been free for long is not read before it is filled.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_NUMBERS_H
#define HD_NUMBERS_H

#include "arena.h"
#include "base.h"

struct hd_numbers {
    struct hd_numbers_state { /* arena */
        uint32_t n;           /* in free[] */
        uint32_t used;        /* numbers that have ever been taken */
        uint32_t free[];      /* [room] */
    } * s;
    uint32_t room;
};

/* The numbers from 0 to room - 1, all free.  0 or -1. */
static inline int hd_numbers_open(struct hd_numbers *p, struct hd_arena *arena,
                                  uint32_t room)
{
    p->room = room;
    p->s = hd_arena_take(arena, 2 + (size_t)room, sizeof p->s->free[0]);
    return p->s != NULL ? 0 : -1;
}

/* Takes one; the wiring sizes a pool so that it cannot run out. */
static inline uint32_t hd_numbers_take(struct hd_numbers *p)
{
    struct hd_numbers_state *s = p->s;

    if (HD_LIKELY(s->n != 0))
        return s->free[--s->n];
    hd_assert(s->used < p->room);
    return s->used++;
}

static inline void hd_numbers_give(struct hd_numbers *p, uint32_t number)
{
    p->s->free[p->s->n++] = number;
}

/* All are free again. */
static inline void hd_numbers_clear(struct hd_numbers *p)
{
    p->s->n = p->s->used = 0;
}

/* How many are in use. */
static inline uint32_t hd_numbers_live(const struct hd_numbers *p)
{
    return p->s->used - p->s->n;
}

#endif
