/*
 * allocs.c - allocations that go and come back between the launches of an
 * application.
 *
 * Its host gives buffers back when their last launch has retired; all of them
 * go with the application where memory.free_at_end says so.  When it starts
 * again, what went comes back at the same addresses, before the first block
 * can run.  The memory manager does both at an instant that no core has
 * reached (vm/manage.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "../vm/manage.h"
#include "dispatch.h"

static void ask(struct hd_gpu *g, uint32_t app, uint32_t i,
                const struct hd_alloc *x, hd_time now, bool map)
{
    hd_manage_ask(g->manager, now, app, i, x->base, x->bytes, map);
}

/* Allocation i went before.  Only programs give back single ones. */
static bool gone(const struct hd_app_state *a, uint32_t i)
{
    return a->all_gone ||
           (i < 64 * HD_LEN(a->gone) && a->gone[i / 64] >> (i % 64) & 1);
}

void hd_allocs_give(struct hd_gpu *g, uint32_t app, struct hd_app_state *a,
                    hd_time now, bool all)
{
    struct hd_source *src = g->source[app];
    struct hd_alloc x;

    if (!all && src->ops->gone == NULL)
        return;
    for (uint32_t i = 0; src->ops->alloc(src->self, i, &x); i++) {
        if (gone(a, i) || (!all && !src->ops->gone(src->self, i)))
            continue;
        ask(g, app, i, &x, now, false);
        if (!all)
            a->gone[i / 64] |= 1ull << (i % 64);
    }
    a->all_gone |= all;
}

void hd_allocs_take(struct hd_gpu *g, uint32_t app, struct hd_app_state *a,
                    hd_time now)
{
    struct hd_source *src = g->source[app];
    struct hd_alloc x;

    for (uint32_t i = 0; src->ops->alloc(src->self, i, &x); i++)
        if (gone(a, i))
            ask(g, app, i, &x, now, true);
    memset(a->gone, 0, sizeof a->gone);
    a->all_gone = 0;
}
