/*
 * advice.c - what an application's host says of an allocation, or of pages of
 * it (cudaMemAdvise), and permissions.
 *
 * Advice on a whole allocation stands with its range.  Advice on pages of one
 * is kept as spans next to the ranges, because those say what an allocation is:
 * for prefetchers, which stay inside it, and for what is freed.  A span
 * replaces what its allocation says.  Where nothing was advised by pages there
 * is none, and a look-up is that of the range alone.
 *
 * Pages may be written until their host says that they are mostly read
 * (uvm.mode=driver: a copy stays on the host, so the driver maps them for
 * reading).  A store to such a page is served all the same; the bit is there
 * because one translation cannot stand for pages with different ones.
 *
 * Invariant: spans are in the order of application and address, do not overlap,
 * have pages of allocations only, and two that touch differ in their advice.
 *
 * Left out on purpose: processors other than the GPU and the host, of which
 * CUDA has a preferred location and an accessed-by each.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "points/slots.h"
#include "ptstate.h"

void hd_ptables_protect(struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                        uint64_t pages, bool write)
{
    uint64_t end = vpn.v + pages, v = vpn.v;
    struct hd_xlate x;

    hd_at_home(t->env, HD_SIDE_MANAGER);
    while (v < end) {
        bool edge;
        uint64_t *e;
        if (!hd_pt_taken(t, app, v, &x)) {
            v++;
            continue;
        }
        edge = x.vpn.v <= vpn.v || x.vpn.v + x.pages >= end;
        e = hd_pt_leaf(t, hd_pt_slot_of(t, app, v), x.vpn.v);
        v = x.vpn.v + x.pages;
        if (edge && hd_pt_holders(t, app, x.vpn.v, x.pages) > 1)
            continue;
        for (uint32_t i = 0; i < (x.pages == HD_LARGE_PAGES ? 1 : x.pages); i++)
            e[i] = write ? e[i] | HD_PT_WRITE : e[i] & ~HD_PT_WRITE;
    }
    if (!t->cfg.scan)
        return;
    hd_contig_scan(t, app, vpn, pages);
    for (v = vpn.v & ~511ull; v < end; v += HD_LARGE_PAGES)
        hd_contig_changed(t, app, v); /* links may be others with equal bits */
}

/* ---- spans -------------------------------------------------------------- */

static struct hd_pt_span *advice_span(const struct hd_ptables *t, uint32_t i)
{
    return (struct hd_pt_span *)(void *)hd_pt_entry(t, t->s->span) + i;
}

/* The first span of which a page is at vpn or behind it. */
static uint32_t advice_from(const struct hd_ptables *t, uint32_t app,
                            uint64_t vpn)
{
    uint32_t lo = 0, hi = t->s->spans;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const struct hd_pt_span *x = advice_span(t, mid);
        if (x->app < app || (x->app == app && x->vpn + x->pages <= vpn))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Room for one more span.  0 or -1 (out of memory). */
static int advice_grow(struct hd_ptables *t)
{
    struct hd_pt_state *s = t->s;
    uint32_t room = s->span_room == 0 ? 16 : 2 * s->span_room;
    struct hd_pt_span *p;

    if (s->spans < s->span_room)
        return 0;
    p = hd_arena_take(t->env->arena, room, sizeof *p);
    if (p == NULL)
        return hd_err_memory(t->env->err), -1;
    if (s->spans != 0)
        memcpy(p, advice_span(t, 0), s->spans * sizeof *p);
    s->span = hd_arena_ref(t->env->arena, p);
    s->span_room = room;
    return 0;
}

/* Makes a span the i-th. */
static int advice_insert(struct hd_ptables *t, uint32_t i,
                         struct hd_pt_span span)
{
    if (advice_grow(t) != 0)
        return -1;
    memmove(advice_span(t, i + 1), advice_span(t, i),
            (t->s->spans - i) * sizeof span);
    *advice_span(t, i) = span;
    t->s->spans++;
    return 0;
}

static void advice_remove(struct hd_ptables *t, uint32_t from, uint32_t to)
{
    if (from == to)
        return;
    memmove(advice_span(t, from), advice_span(t, to),
            (t->s->spans - to) * sizeof(struct hd_pt_span));
    t->s->spans -= to - from;
}

/* No span crosses vpn any more. */
static int advice_cut(struct hd_ptables *t, uint32_t app, uint64_t vpn)
{
    uint32_t i = advice_from(t, app, vpn);
    struct hd_pt_span *x = advice_span(t, i), front;

    if (i == t->s->spans || x->app != app || x->vpn >= vpn)
        return 0;
    front = *x;
    front.pages = vpn - x->vpn;
    x->vpn += front.pages;
    x->pages -= front.pages;
    return advice_insert(t, i, front);
}

/* Spans that touch and say the same become one. */
static void advice_merge(struct hd_ptables *t, uint32_t from, uint32_t to)
{
    for (uint32_t i = to < t->s->spans ? to : t->s->spans - 1;
         i > from && i > 0; i--) {
        struct hd_pt_span *x = advice_span(t, i), *before = x - 1;
        if (before->app != x->app || before->advice != x->advice ||
            before->vpn + before->pages != x->vpn)
            continue;
        before->pages += x->pages;
        advice_remove(t, i, i + 1);
    }
}

/* What was said of pages from vpn to end ends. */
static void advice_forget(struct hd_ptables *t, uint32_t app, uint64_t vpn,
                          uint64_t end)
{
    if (advice_cut(t, app, vpn) == 0 && advice_cut(t, app, end) == 0)
        advice_remove(t, advice_from(t, app, vpn), advice_from(t, app, end));
}

void hd_pt_forget_advice(struct hd_ptables *t, uint32_t app, uint64_t vpn,
                         uint64_t end)
{
    while (vpn < end && hd_pt_range_with(t, app, vpn) != NULL)
        vpn++;
    while (end > vpn && hd_pt_range_with(t, app, end - 1) != NULL)
        end--;
    advice_forget(t, app, vpn, end);
}

/* ---- what the host says ------------------------------------------------- */

/* The range of a page, which two allocations may have, if it is this one's. */
static const struct hd_pt_range *advice_range(const struct hd_ptables *t,
                                              uint32_t app, uint32_t index,
                                              uint64_t vpn)
{
    const struct hd_pt_range *r = hd_pt_range_with(t, app, vpn);

    return r != NULL && r->index == index ? r : NULL;
}

/* Without the pages at both ends that are others'. */
static void advice_trim(const struct hd_ptables *t, uint32_t app,
                        uint32_t index, uint64_t *vpn, uint64_t *end)
{
    while (*vpn < *end && advice_range(t, app, index, *vpn) == NULL)
        ++*vpn;
    while (*end > *vpn && advice_range(t, app, index, *end - 1) == NULL)
        --*end;
}

void hd_ptables_advise(struct hd_ptables *t, uint32_t app, uint32_t index,
                       uint32_t advice)
{
    for (uint32_t i = 0; i < t->s->ranges; i++) {
        struct hd_pt_range *r = hd_pt_range_of(t, i);
        if (r->app != app || r->index != index)
            continue;
        r->advice = advice;
        if (HD_UNLIKELY(t->s->spans != 0)) {
            uint64_t v = r->vpn, end = v + r->pages;
            advice_trim(t, app, index, &v, &end);
            advice_forget(t, app, v, end);
        }
        hd_ptables_protect(t, app, (hd_vpn){r->vpn}, r->pages,
                           !(advice & HEDDLE_ADVICE_READ_MOSTLY));
    }
    t->s->advised = 1;
}

void hd_ptables_advise_pages(struct hd_ptables *t, uint32_t app, uint32_t index,
                             hd_vpn vpn, uint64_t pages,
                             struct hd_advice_change c)
{
    uint64_t end = vpn.v + pages, v = vpn.v, next;
    const struct hd_pt_range *r;
    uint32_t first, i;

    advice_trim(t, app, index, &v, &end);
    if (v == end || advice_cut(t, app, v) != 0 || advice_cut(t, app, end) != 0)
        return;
    t->s->advised = 1;
    first = i = advice_from(t, app, v);
    for (; v < end; v = next, i++) {
        const struct hd_pt_span *x = advice_span(t, i);
        bool mine = i < t->s->spans && x->app == app && x->vpn < end;
        uint32_t was;
        if (mine && x->vpn == v) {
            next = v + x->pages;
            was = x->advice;
        } else {
            r = advice_range(t, app, index, v);
            next = mine ? x->vpn : end;
            was = r != NULL ? r->advice : 0;
            if (advice_insert(t, i,
                              (struct hd_pt_span){.vpn = v,
                                                  .pages = next - v,
                                                  .app = app}) != 0)
                return;
        }
        advice_span(t, i)->advice = (was & ~c.unset) | c.set;
        hd_ptables_protect(
            t, app, (hd_vpn){v}, next - v,
            !(advice_span(t, i)->advice & HEDDLE_ADVICE_READ_MOSTLY));
    }
    advice_merge(t, first > 0 ? first - 1 : 0, i);
}

bool hd_ptables_advised(const struct hd_ptables *t)
{
    return t->s->advised != 0;
}

uint32_t hd_ptables_advice(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    const struct hd_pt_range *r;

    if (HD_LIKELY(!t->s->advised))
        return 0;
    if (HD_UNLIKELY(t->s->spans != 0)) {
        uint32_t i = advice_from(t, app, vpn.v);
        const struct hd_pt_span *x = advice_span(t, i);
        if (i < t->s->spans && x->app == app && x->vpn <= vpn.v)
            return x->advice;
    }
    r = hd_pt_range_with(t, app, vpn.v);
    return r != NULL ? r->advice : 0;
}

uint32_t hd_ptables_preferred(const struct hd_ptables *t, uint32_t app,
                              hd_vpn vpn)
{
    uint32_t a = hd_ptables_advice(t, app, vpn);

    return a & HEDDLE_ADVICE_GPU    ? HEDDLE_PROCESSOR_GPU
           : a & HEDDLE_ADVICE_HOST ? HEDDLE_PROCESSOR_HOST
                                    : HEDDLE_PROCESSOR_NONE;
}

void hd_pt_check_advice(const struct hd_ptables *t, struct heddle_error *err)
{
    for (uint32_t i = 0; i < t->s->spans; i++) {
        const struct hd_pt_span *x = advice_span(t, i), *b = x - (i != 0);
        bool after = i == 0 || b->app < x->app ||
                     (b->app == x->app && b->vpn + b->pages <= x->vpn);
        bool apart = i == 0 || b->app != x->app || b->advice != x->advice ||
                     b->vpn + b->pages < x->vpn;
        if (!after || !apart || x->pages == 0 ||
            hd_pt_range_with(t, x->app, x->vpn) == NULL ||
            hd_pt_range_with(t, x->app, x->vpn + x->pages - 1) == NULL)
            hd_err_set(err, HEDDLE_ECHECK,
                       "page tables: advice 0x%x on %llu pages from 0x%llx of "
                       "application %u is out of order, or of no allocation",
                       x->advice, (unsigned long long)x->pages,
                       (unsigned long long)x->vpn, x->app);
    }
}
