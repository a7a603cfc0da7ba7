/*
 * translate.c - the pool of translation requests.
 * SPDX-License-Identifier: MIT
 */
#include "translate.h"

int hd_treqs_open(struct hd_treqs *p, struct hd_arena *arena, uint32_t room)
{
    p->v = hd_arena_take(arena, room, sizeof *p->v);
    if (p->v == NULL)
        return -1;
    return hd_numbers_open(&p->numbers, arena, room);
}
