/*
 * prefetcher.c - pages prefetched with a far fault, and all entries that no
 * request waited for.
 *
 * When a batch has its frames, page_prefetch is asked for each of its faults
 * which pages are prefetched: so many behind it, or a run of the 2 MB around
 * it, of which the question says what is resident.  The defaults
 * (fault.prefetch) are those of Zheng et al. (HPCA 2016: the next 64 KB, or the
 * rest of 512 KB), of Ganguly et al. (ISCA 2019: random, and the tree) and of
 * NVIDIA's UVM driver; tree.c has the two forms of the tree.
 *
 * The driver's knows what the program's host has advised (uvm_perf_prefetch.c of
 * NVIDIA's open kernel modules, release 595): at the first touch of 2 MB, no page
 * of which is resident anywhere yet, all of it migrates where the GPU is its
 * preferred location; nothing is prefetched out of a preferred location on the
 * host; else the tree says what is.  With uvm.host_mapped all pages were
 * resident on the host before, so that no touch is a first one.
 *
 * Prefetched pages are entries without requests.  Those that follow one another
 * are a batch and a transfer (faultset.c) that waits for no latency; a request
 * that touches one in flight joins it, and is replayed when its page has
 * arrived.  They take frames that are free, and none while a fault waits for
 * some (framewait.c); nothing that thrashes is prefetched (thrash.c).
 *
 * Pages that an access counter's notification or the application's host wants
 * (residency.c, hostprefetch.c) are such entries, too.  Of the host's a page
 * may wait for frames like a fault.
 *
 * Invariant: at most HD_FAULT_PREFETCHES entries are in flight that did not
 * fault.
 *
 * Left out on purpose: stopping a prefetch that is in flight; priorities on the
 * link.
 *
 * SPDX-License-Identifier: MIT
 */
#include "faultstate.h"

#include <string.h>

#include "kit/bits.h"

/* ---- which pages -------------------------------------------------------- */

/* A page of the allocation, of the 2 MB around the fault, that is not
 * resident. */
static int64_t prefetcher_draw(struct hd_faults *f,
                               const struct heddle_q_page_prefetch *q)
{
    uint32_t first = (uint32_t)q->first, end = (uint32_t)q->end, n;

    n = end - first -
        hd_tree_count(q->there, (struct hd_tree_run){first, end - first});
    if (n == 0)
        return 0;
    n = hd_rng_below(&f->s->draws, n) + 1;
    for (; n > 0; first++)
        n -= !(q->there[first / 64] >> first % 64 & 1);
    return HEDDLE_PAGES(first - 1, 1);
}

/* The driver's tree counts what was resident before, and the 64 KB of each
 * fault of the batch in which nothing thrashes. */
static struct hd_tree_run
prefetcher_driver(const struct hd_faults *f,
                  const struct heddle_q_page_prefetch *q,
                  struct hd_tree_run all, uint32_t page)
{
    uint64_t set[HD_TREE_WORDS];

    for (uint32_t i = 0; i < HD_TREE_WORDS; i++) {
        set[i] = q->there[i] & ~q->sent[i];
        for (uint32_t k = 0; k < 64; k += HD_TREE_LEAF)
            if (q->faulted[i] >> k & hd_ones(HD_TREE_LEAF) &&
                !(q->thrashes[i] >> k & hd_ones(HD_TREE_LEAF)))
                set[i] |= hd_ones(HD_TREE_LEAF) << k;
    }
    return hd_tree_driver(set, all, page, f->w.driver->threshold);
}

int64_t hd_prefetcher_default(void *self, const void *question)
{
    struct hd_faults *f = self;
    const struct heddle_q_page_prefetch *q = question;
    struct hd_tree_run x,
        all = {(uint32_t)q->first, (uint32_t)(q->end - q->first)};
    uint32_t page = (uint32_t)(q->vpn % HD_LARGE_PAGES);

    switch (f->how) {
    case HD_PREFETCH_NONE:
        return 0;
    case HD_PREFETCH_SEQUENTIAL:
        return (int64_t)hd_min_u64(16, q->most);
    case HD_PREFETCH_LOCALITY:
        return (int64_t)hd_min_u64(q->pages < 128 ? 128 - q->pages : 0,
                                   q->most);
    case HD_PREFETCH_RANDOM:
        return prefetcher_draw(f, q);
    case HD_PREFETCH_TREE:
        x = hd_tree_near(q->there, all, page);
        break;
    default:
        if (q->faults < f->w.driver->min_faults)
            return 0;
        if (q->place == HEDDLE_PROCESSOR_HOST)
            return 0;
        x = q->place == HEDDLE_PROCESSOR_GPU && q->untouched
                ? all
                : prefetcher_driver(f, q, all, page);
    }
    return HEDDLE_PAGES(x.first, x.pages);
}

/* ---- entries without requests ------------------------------------------- */

/* The entry of pages that migrate without a fault. */
static uint32_t prefetcher_entry(struct hd_faults *f, hd_time now, uint32_t app,
                                 const struct hd_xlate *all,
                                 enum hd_fault_cause why)
{
    uint32_t e = hd_mshr_take(&f->open, all->vpn.v | (uint64_t)app << 52);

    f->v[e] = (struct hd_fault){.vpn = all->vpn,
                                .born = now,
                                .began = now,
                                .driven = now,
                                .pages = all->pages,
                                .more = HD_NONE,
                                .next = HD_NONE,
                                .head = e,
                                .app = (uint8_t)app,
                                .state = HD_FAULT_AT_HOST,
                                .prefetched = (uint8_t)why};
    f->s->prefetches++;
    f->s->by_counter += why == HD_FAULT_BY_COUNTER;
    f->s->range[app].left += why == HD_FAULT_BY_HOST;
    return e;
}

/* Pages get frames as far as there are some, and an entry: it, or HD_NONE. */
static uint32_t prefetcher_take(struct hd_faults *f, hd_time now, uint32_t app,
                                const struct hd_xlate *all,
                                enum hd_fault_cause why)
{
    uint32_t n = 0, e;

    for (uint32_t i = 0; i < all->pages;) {
        struct hd_xlate page;
        hd_vpn vpn = {all->vpn.v + i};
        i++;
        if (!hd_ptables_nonresident(f->w.tables, app, vpn, &page))
            continue;
        if (hd_ptables_place(f->w.tables, app, page.vpn, true, f->env->err) !=
            HD_PLACED)
            break;
        n += page.pages;
        i += page.pages - 1;
    }
    if (n == 0)
        return HD_NONE;
    e = prefetcher_entry(f, now, app, all, why);
    f->v[e].total = n;
    hd_fault_row(f, app)[HD_FAULT_PREFETCHED] +=
        why == HD_FAULT_BY_COUNTER ? 0 : n;
    return e;
}

void hd_prefetcher_touched(struct hd_faults *f, uint32_t e)
{
    const struct hd_fault *x = &f->v[e];

    if (x->prefetched == HD_FAULT_BY_PREFETCHER ||
        x->prefetched == HD_FAULT_BY_HOST)
        hd_fault_row(f, x->app)[HD_FAULT_LATE] += x->pages;
}

void hd_prefetcher_over(struct hd_faults *f, hd_time now, uint32_t e)
{
    const struct hd_fault *x = &f->v[e];
    bool last = x->prefetched == HD_FAULT_BY_COUNTER && --f->s->by_counter == 0;

    f->s->prefetches--;
    f->s->range[x->app].left -= x->prefetched == HD_FAULT_BY_HOST;
    hd_fault_resume(f, now, e, x->vpn, x->pages);
    hd_mshr_give(&f->open, e);
    if (HD_UNLIKELY(f->s->ranges != 0))
        hd_hostprefetch_continue(f, now);
    if (last && f->driver != NULL)
        hd_driverloop_next_notice(f, now);
}

/* What migrates with the page at *v, if it is neither resident nor in flight;
 * *v is what is behind it, in any case. */
static bool prefetcher_candidate(const struct hd_faults *f, uint32_t app,
                                 uint64_t *v, struct hd_xlate *all)
{
    struct hd_xlate page;

    if (!hd_ptables_nonresident(f->w.tables, app, (hd_vpn){(*v)++}, &page))
        return false;
    *all = hd_fault_unit(f, &page);
    *v = all->vpn.v + all->pages;
    return hd_fault_find(f, app, all->vpn) == HD_NONE;
}

/* Whether one of so many pages thrashes. */
static bool prefetcher_thrashes(const struct hd_faults *f, uint32_t app,
                                hd_vpn vpn, uint32_t pages)
{
    for (uint32_t i = 0; HD_UNLIKELY(f->w.thrash != NULL) && i < pages; i++)
        if (hd_thrash_has(f->w.thrash, app, (hd_vpn){vpn.v + i}))
            return true;
    return false;
}

uint64_t hd_prefetcher_range(struct hd_faults *f, hd_time now, uint32_t app,
                             uint64_t v, uint64_t end, enum hd_fault_cause why,
                             struct hd_prefetcher *s, struct hd_fault_set *g)
{
    uint32_t made;

    while (v < end && f->s->prefetches < HD_FAULT_PREFETCHES &&
           !hd_framewait_any(f)) {
        struct hd_xlate all;
        uint64_t at = v;
        if (!prefetcher_candidate(f, app, &v, &all) ||
            (s != NULL && prefetcher_thrashes(f, app, all.vpn, all.pages)))
            continue;
        if (hd_ptables_room(f->w.tables, app, all.vpn) < all.pages ||
            (made = prefetcher_take(f, now, app, &all, why)) == HD_NONE)
            return at;
        hd_fault_set_add(f, g, made);
        for (uint64_t i = all.vpn.v; i < v && s != NULL; i++)
            if (i / HD_LARGE_PAGES == s->region)
                s->sent[i % HD_LARGE_PAGES / 64] |= 1ull << i % 64;
    }
    return v;
}

uint64_t hd_prefetcher_page(struct hd_faults *f, hd_time now, uint32_t app,
                            uint64_t v, enum hd_fault_cause why)
{
    struct hd_xlate all;
    uint32_t e;

    if (!prefetcher_candidate(f, app, &v, &all))
        return v;
    e = prefetcher_entry(f, now, app, &all, why);
    f->v[e].left = 1;
    f->s->serving++;
    hd_fault_drive(f, now, e);
    return v;
}

/* ---- the question ------------------------------------------------------- */

/* Looks around a fault of a batch; what was prefetched before is kept as long
 * as it is of the same 2 MB. */
static void prefetcher_look_around(const struct hd_faults *f,
                                   struct hd_prefetcher *s, uint32_t e)
{
    const struct hd_fault *x = &f->v[e];
    uint64_t region = x->vpn.v / HD_LARGE_PAGES;
    uint32_t n = 0;

    hd_ptables_populated(f->w.tables, x->app, x->vpn, s->there);
    if (s->region == region && s->app == x->app)
        return;
    memset(s->sent, 0, sizeof s->sent);
    memset(s->thrashes, 0, sizeof s->thrashes);
    if (HD_UNLIKELY(f->w.thrash != NULL))
        hd_thrash_set(f->w.thrash, x->app, x->vpn, s->thrashes);
    memset(s->faulted, 0, sizeof s->faulted);
    s->region = region;
    s->app = x->app;
    for (uint32_t i = x->head; i != HD_NONE; i = f->v[i].next)
        for (uint32_t k = 0; k < f->v[i].pages; k++) {
            uint64_t vpn = f->v[i].vpn.v + k, bit = vpn % HD_LARGE_PAGES;
            if (vpn / HD_LARGE_PAGES == region && f->v[i].app == x->app)
                s->faulted[bit / 64] |= 1ull << bit % 64;
        }
    for (uint32_t i = 0; i < HD_TREE_WORDS; i++)
        n += hd_bit_count(s->faulted[i] &= s->there[i]);
    s->faults = hd_ptables_faulted(f->w.tables, x->app, x->vpn, n);
    s->place = hd_ptables_preferred(f->w.tables, x->app, x->vpn);
    s->untouched =
        (f->prefetch.bound || s->place == HEDDLE_PROCESSOR_GPU) &&
        !(f->driver != NULL && f->w.driver->host_mapped) &&
        hd_ptables_untouched(f->w.tables, x->app, x->vpn, s->faulted);
}

/* The pages that page_prefetch wants for a fault, up to *end. */
static uint64_t prefetcher_wanted(struct hd_faults *f, uint32_t e,
                                  struct hd_prefetcher *s, uint64_t *end)
{
    const struct hd_fault *x = &f->v[e];
    uint64_t v = x->vpn.v + x->pages, a, base = x->vpn.v & ~511ull, first;
    hd_vpn limit;

    prefetcher_look_around(f, s, e);
    first = hd_ptables_range(f->w.tables, x->app, x->vpn, &limit).v;
    a = (uint64_t)hd_ask_page_prefetch(
        &f->prefetch,
        &(struct heddle_q_page_prefetch){
            .app = x->app,
            .vpn = x->vpn.v,
            .pages = x->pages,
            .free = hd_ptables_free(f->w.tables),
            .most = limit.v > v ? hd_min_u64(limit.v - v, HD_LARGE_PAGES) : 0,
            .first = first > base ? first - base : 0,
            .end = hd_min_u64(limit.v - base, HD_LARGE_PAGES),
            .words = HD_TREE_WORDS,
            .there = s->there,
            .faulted = s->faulted,
            .sent = s->sent,
            .thrashes = s->thrashes,
            .faults = s->faults,
            .last = 1024 * HD_LARGE_PAGES + HD_LARGE_PAGES,
            .place = s->place,
            .untouched = s->untouched});
    if (a >= 1024) {
        v = base + a / 1024 - 1;
        limit.v = hd_min_u64(limit.v, base + HD_LARGE_PAGES);
    }
    *end = hd_min_u64(v + a % 1024, limit.v);
    return hd_max_u64(v, first);
}

void hd_prefetcher_ask(struct hd_faults *f, hd_time now, uint32_t e,
                       struct hd_prefetcher *s, struct hd_fault_set *g)
{
    uint64_t end, v;

    if (prefetcher_thrashes(f, f->v[e].app, f->v[e].vpn, f->v[e].pages))
        return;
    v = prefetcher_wanted(f, e, s, &end);
    hd_prefetcher_range(f, now, f->v[e].app, v, end, HD_FAULT_BY_PREFETCHER, s,
                        g);
}

void hd_prefetcher_batch(struct hd_faults *f, hd_time now, uint32_t fault)
{
    struct hd_prefetcher s = {.app = HD_NONE};
    struct hd_fault_set g;

    for (; fault != HD_NONE; fault = f->v[fault].next) {
        if (f->v[fault].remote > 1 ||
            f->v[fault].prefetched == HD_FAULT_BY_HOST)
            continue;
        hd_fault_set_clear(&g, f->v[fault].vpn);
        hd_prefetcher_ask(f, now, fault, &s, &g);
        hd_fault_set_ship(f, now, &g, HD_NONE);
    }
}
