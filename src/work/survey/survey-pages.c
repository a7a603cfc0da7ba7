/*
 * survey-pages.c - the pages that a survey has seen: when, by whom, how far
 * apart.
 *
 * Pages are in an array in the order of their first touch; a map finds them
 * by number.  A list through them, newest first, is the LRU stack: the depth
 * of a page in it is the number of distinct pages touched since, itself
 * included, which is the least number of entries at which a fully associative
 * LRU table of pages would hit (Mattson).
 *
 * The exact depth is never counted.  What is asked is the class it falls in,
 * and for that it is enough to keep, for each bound, the page that stands
 * exactly there.  When a page moves to the front, the pages before it sink by
 * one: only those at a bound change class (Kim, Hill and Wood).  So an access
 * costs as many steps as bounds that it jumps over.
 *
 * Invariant: edge[k] is the page at depth hd_reuse_bound[k], or HD_NONE while
 * there are fewer pages; a page's class is the first whose bound is not below
 * its depth.
 *
 * SPDX-License-Identifier: MIT
 */
#include "survey-pages.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

const uint64_t hd_reuse_bound[HD_REUSE_BOUNDS] = {16, 64, 512, 4096, 32768};

void hd_seen_open(struct hd_seen *s)
{
    memset(s, 0, sizeof *s);
    s->newest = s->oldest = NONE;
    for (int k = 0; k < HD_REUSE_BOUNDS; k++)
        s->edge[k] = NONE;
}

void hd_seen_close(struct hd_seen *s)
{
    free(s->page);
    free(s->map.slot);
}

/* ---- finding ------------------------------------------------------------ */

uint32_t hd_seen_find(struct hd_seen *s, uint64_t vpn)
{
    uint32_t *row;

    if (s->newest != NONE && s->page[s->newest].vpn == vpn)
        return s->newest;
    row = hd_map_at(&s->map, vpn);
    if (row == NULL ||
        hd_grow(&s->page, s->n, &s->room, sizeof *s->page) == NULL)
        return NONE;
    if (*row == 0) {
        s->page[s->n] =
            (struct hd_seen_page){.vpn = vpn, .reuse = HD_REUSE_FIRST};
        *row = ++s->n;
    }
    return *row - 1;
}

/* ---- the LRU stack ------------------------------------------------------- */

static void unlink_page(struct hd_seen *s, const struct hd_seen_page *p)
{
    if (p->newer != NONE)
        s->page[p->newer].older = p->older;
    else
        s->newest = p->older;
    if (p->older != NONE)
        s->page[p->older].newer = p->newer;
    else
        s->oldest = p->newer;
}

/* The page that stands at bound k sinks below it. */
static void sink(struct hd_seen *s, uint32_t k)
{
    uint32_t at = s->edge[k];

    if (at == NONE)
        return;
    s->page[at].reuse = k + 1;
    s->edge[k] = s->page[at].newer;
}

uint32_t hd_seen_access(struct hd_seen *s, uint32_t page)
{
    struct hd_seen_page *p = &s->page[page];
    uint32_t class = p->reuse;

    p->accesses++;
    if (s->newest == page)
        return class;
    for (uint32_t k = 0; k < HD_REUSE_BOUNDS && k < class; k++)
        sink(s, k);
    if (class != HD_REUSE_FIRST) {
        if (class < HD_REUSE_BOUNDS && s->edge[class] == page)
            s->edge[class] = p->newer;
        unlink_page(s, p);
    }
    p->newer = NONE;
    p->older = s->newest;
    p->reuse = 0;
    if (s->newest != NONE)
        s->page[s->newest].newer = page;
    else
        s->oldest = page;
    s->newest = page;
    if (class == HD_REUSE_FIRST) /* the stack is one deeper */
        for (int k = 0; k < HD_REUSE_BOUNDS; k++)
            if (s->n == hd_reuse_bound[k])
                s->edge[k] = s->oldest;
    return class;
}
