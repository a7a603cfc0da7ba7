/*
 * translate.c - the pool of translation requests.
 * SPDX-License-Identifier: MIT
 */
#include "translate.h"

int hd_treqs_open(struct hd_treqs *p, struct hd_arena *arena, uint32_t room)
{
    p->v = hd_arena_take(arena, room, sizeof *p->v);
    p->free = hd_arena_take(arena, 3, sizeof *p->free);
    p->room = room;
    if (p->v == NULL || p->free == NULL)
        return -1;
    p->free[0] = HD_NONE;
    return 0;
}
