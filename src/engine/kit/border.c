/*
 * border.c - who is on which side, and what is open.
 * SPDX-License-Identifier: MIT
 */
#include "border.h"

#if HD_BORDERS_WATCHED
#include <string.h>

enum {
    ALL = HD_SIDE_ALL,
    CORE = HD_SIDE_CORE,
    MMU = HD_SIDE_MMU,
    MEMORY = HD_SIDE_MEMORY,
    LINK = HD_SIDE_LINK,
    MANAGER = HD_SIDE_MANAGER,
    DISPATCH = HD_SIDE_DISPATCH
};

static const struct {
    uint8_t from, into;
} border[] = {
#define HD_BORDER(name, from, into, ...) {from, into},
#include "borders.def"
#undef HD_BORDER
};

uint8_t hd_border_side(const char *component)
{
    static const struct {
        const char *name;
        uint8_t side;
    } of[] = {{"core", CORE},       {"mmu", MMU},       {"l2cache", MEMORY},
              {"peers", CORE},      {"fabric", MEMORY},
              {"dram", MEMORY},     {"link", LINK},     {"fault", MANAGER},
              {"evict", MANAGER},   {"remote", MANAGER},
              {"thrash", MANAGER},
              {"manager", MANAGER}, {"compress", MANAGER},
              {"mover", MANAGER},
              {"dispatch", DISPATCH}};

    for (uint32_t i = 0; i < HD_LEN(of); i++)
        if (strcmp(of[i].name, component) == 0)
            return of[i].side;
    return ALL;
}

uint8_t hd_border_from(enum hd_border b)
{
    return border[b].from;
}

bool hd_border_may(const struct hd_borders *of, enum hd_border b)
{
    return of->now == ALL || (of->now & (border[b].from | border[b].into)) != 0;
}

bool hd_border_home(const struct hd_borders *of, enum hd_side side)
{
    return of->now == ALL || of->now == side;
}

struct hd_crossing hd_border_cross(struct hd_borders *of, enum hd_border b)
{
    struct hd_crossing c = {of, of->now};

    if (c.from & border[b].from) {
        of->crossed[b] |= c.from;
        of->now = border[b].into;
    }
    return c;
}

void hd_border_back(const struct hd_crossing *c)
{
    c->of->now = c->from;
}
#endif
