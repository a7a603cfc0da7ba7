/*
 * request.c - the pool of memory transactions.
 * SPDX-License-Identifier: MIT
 */
#include "request.h"

int hd_reqs_open(struct hd_reqs *p, struct hd_arena *arena, uint32_t room)
{
    p->v = hd_arena_take(arena, room, sizeof *p->v);
    if (p->v == NULL)
        return -1;
    return hd_numbers_open(&p->numbers, arena, room);
}
