/*
 * pages.c - the set of 4 KB pages that a trace touches.
 *
 * Pages must be mapped before cycle 0, and most traces do not say what was
 * allocated.  A bit for each page of a 2 MB region, regions found by hashing:
 * one look-up an address, and none when it falls into the page of the one
 * before.  The list that comes out is merged and ascends, so it depends on
 * what was touched and not on the order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace.h"

enum { REGION_SHIFT = HD_LARGE_SHIFT - HD_PAGE_SHIFT };

void hd_pages_init(struct hd_pages *s)
{
    *s = (struct hd_pages){.last = UINT64_MAX};
}

void hd_pages_free(struct hd_pages *s)
{
    free(s->region);
    free(s->map.slot);
    hd_pages_init(s);
}

static struct hd_region *pages_find(struct hd_pages *s, uint64_t number)
{
    uint32_t *row = hd_map_at(&s->map, number);

    if (row == NULL ||
        hd_grow(&s->region, s->n, &s->room, sizeof *s->region) == NULL)
        return NULL;
    if (*row == 0) {
        s->region[s->n] = (struct hd_region){.number = number};
        *row = (uint32_t)++s->n;
    }
    return &s->region[*row - 1];
}

void hd_pages_add_slow(struct hd_pages *s, uint64_t page)
{
    struct hd_region *r = pages_find(s, page >> REGION_SHIFT);

    if (r == NULL) {
        s->oom = true;
        return;
    }
    unsigned i = page & ((1u << REGION_SHIFT) - 1);
    r->page[i / 64] |= 1ull << (i % 64);
    s->last = page;
}

static int pages_by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct hd_region *)a)->number;
    uint64_t y = ((const struct hd_region *)b)->number;

    return (x > y) - (x < y);
}

static int by_page(const void *a, const void *b)
{
    uint64_t x = ((const struct hd_trace_range *)a)->page;
    uint64_t y = ((const struct hd_trace_range *)b)->page;

    return (x > y) - (x < y);
}

/* The context's allocations as page ranges, ascending; NULL: no memory. */
static struct hd_trace_range *covered(const struct hd_trace_context *x)
{
    struct hd_trace_range *r = calloc(x->allocs + 1, sizeof *r);

    if (r == NULL)
        return NULL;
    for (size_t i = 0; i < x->allocs; i++) {
        uint64_t base = x->alloc[i].base, bytes = x->alloc[i].bytes;
        r[i].page = base >> HD_PAGE_SHIFT;
        if (bytes != 0)
            r[i].n = ((base + bytes - 1) >> HD_PAGE_SHIFT) - r[i].page + 1;
    }
    if (x->allocs != 0)
        qsort(r, x->allocs, sizeof *r, by_page);
    r[x->allocs].page = UINT64_MAX;
    return r;
}

static bool pages_add(struct hd_trace_context *x, uint64_t page)
{
    if (x->ranges != 0) {
        struct hd_trace_range *last = &x->range[x->ranges - 1];
        if (last->page + last->n == page) {
            last->n++;
            return true;
        }
    }
    struct hd_trace_range *r =
        hd_grow(&x->range, x->ranges, &x->room_ranges, sizeof *r);
    if (r == NULL)
        return false;
    r[x->ranges++] = (struct hd_trace_range){page, 1};
    return true;
}

int hd_pages_ranges(struct hd_pages *s, struct hd_trace_context *x)
{
    struct hd_trace_range *c = covered(x), *at = c;
    uint64_t reach = 0; /* pages below it that started earlier are covered */
    bool ok = c != NULL && !s->oom;

    if (s->n != 0)
        qsort(s->region, s->n, sizeof *s->region, pages_by_number);
    for (size_t i = 0; i < s->n && ok; i++) {
        for (unsigned k = 0; k < 1u << REGION_SHIFT && ok; k++) {
            uint64_t page = s->region[i].number << REGION_SHIFT | k;
            if (!(s->region[i].page[k / 64] >> (k % 64) & 1))
                continue;
            for (; at->page <= page; at++)
                reach = hd_max_u64(reach, at->page + at->n);
            if (page >= reach)
                ok = pages_add(x, page);
        }
    }
    free(c);
    return ok ? 0 : HEDDLE_ENOMEM;
}
