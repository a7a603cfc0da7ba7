/*
 * request.c - the pool of memory transactions.
 * SPDX-License-Identifier: MIT
 */
#include "request.h"

int hd_reqs_open(struct hd_reqs *p, struct hd_arena *arena, uint32_t room)
{
    p->v = hd_arena_take(arena, room, sizeof *p->v);
    p->free = hd_arena_take(arena, 3, sizeof *p->free);
    p->room = room;
    if (p->v == NULL || p->free == NULL)
        return -1;
    p->free[0] = HD_NONE;
    return 0;
}
