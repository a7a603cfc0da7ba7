/*
 * Pinned: a TLB is an exact LRU per set over entries of 4 KB, 64 KB and 2 MB
 * pages and merged runs, tagged by application.  The twin keeps each set as a
 * list in order of use and searches it linearly; hits, translations and the
 * number of evictions must be the same over 10^6 random accesses.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <stdlib.h>

#include "base/rng.h"
#include "vm/tlb.h"
#include "texts.h"

/* ---- the world: page sizes and frames by address ---------------------- */

enum { MIXED_4K = 0, MIXED_64K = 1 << 14, MIXED_2M = 1 << 15 };

static uint32_t size_at(uint64_t vpn)
{
    return vpn >= MIXED_2M ? 512 : vpn >= MIXED_64K ? 16 : 1;
}

/* Frames run on from page to page, save where a break lies. */
static bool broken(uint64_t vpn, uint32_t app)
{
    return hd_mix64(vpn * 31 + app) % 5 == 0;
}

static uint64_t frame_at(uint64_t vpn, uint32_t app)
{
    uint64_t skip = 0, first = vpn & ~15ull;

    for (uint64_t v = first + 1; v <= vpn && size_at(vpn) == 1; v++)
        skip += broken(v, app) ? 1 : 0;
    return vpn + skip * 32 + ((uint64_t)app << 20);
}

static struct hd_xlate xlate_at(uint64_t vpn, uint32_t app, bool run)
{
    uint32_t n = size_at(vpn);
    struct hd_xlate x = {{vpn & ~(uint64_t)(n - 1)}, {0}, n, n};

    while (run && n == 1 && x.vpn.v % 16 != 0 && !broken(x.vpn.v, app)) {
        x.vpn.v--;
        x.pages++;
    }
    while (run && n == 1 && (x.vpn.v + x.pages) % 16 != 0 &&
           !broken(x.vpn.v + x.pages, app))
        x.pages++;
    x.pfn.v = frame_at(x.vpn.v, app);
    return x;
}

/* ---- the twin --------------------------------------------------------- */

struct entry {
    uint32_t app, klass;
    uint64_t tag, first, pages; /* tag: aligned page or group */
};

struct array {
    uint32_t sets, ways, *n;
    struct entry *e; /* [set][place], most recent first */
};

struct twin {
    struct array base, large;
    uint32_t group, evictions;
};

static void array_open(struct array *a, uint32_t entries, uint32_t ways)
{
    a->ways = ways == 0 ? entries : ways;
    a->sets = entries == 0 ? 0 : entries / a->ways;
    a->n = calloc(a->sets + 1, sizeof *a->n);
    a->e = calloc(entries + 1, sizeof *a->e);
}

static uint32_t granule(const struct twin *w, uint32_t klass)
{
    return klass == HD_TLB_4K    ? 1
           : klass == HD_TLB_64K ? 16
           : klass == HD_TLB_2M  ? 512
                                 : w->group;
}

static void to_front(struct entry *e, uint32_t at)
{
    struct entry x = e[at];

    memmove(e + 1, e, at * sizeof *e);
    e[0] = x;
}

static bool array_find(const struct twin *w, struct array *a, uint32_t app,
                       uint64_t vpn)
{
    for (uint32_t k = 0; a->sets != 0 && k < HD_TLB_CLASSES; k++) {
        uint32_t set = (uint32_t)(vpn / granule(w, k) % a->sets);
        struct entry *e = a->e + (size_t)set * a->ways;
        for (uint32_t i = 0; i < a->n[set]; i++) {
            if (e[i].app == app && e[i].klass == k && e[i].first <= vpn &&
                vpn < e[i].first + e[i].pages) {
                to_front(e, i);
                return true;
            }
        }
    }
    return false;
}

static void array_remove(struct array *a, uint32_t app, uint32_t klass,
                         uint64_t tag)
{
    for (uint32_t s = 0; s < a->sets; s++) {
        struct entry *e = a->e + (size_t)s * a->ways;
        for (uint32_t i = 0; i < a->n[s]; i++) {
            if (e[i].app == app && e[i].klass == klass && e[i].tag == tag) {
                memmove(e + i, e + i + 1, (a->n[s] - i - 1) * sizeof *e);
                a->n[s]--;
            }
        }
    }
}

static void twin_fill(struct twin *w, uint32_t app, uint64_t vpn,
                      const struct hd_xlate *x, uint32_t most)
{
    struct entry y = {app, HD_TLB_4K, vpn, vpn, 1};
    struct array *a = &w->base;
    uint64_t lo = vpn, hi = vpn + 1;
    uint32_t set, i;

    while (lo % w->group != 0 && lo > x->vpn.v)
        lo--;
    while (hi % w->group != 0 && hi < x->vpn.v + x->pages)
        hi++;
    if (x->page_pages == 16) {
        y = (struct entry){app, HD_TLB_64K, vpn & ~15ull, vpn & ~15ull, 16};
    } else if (x->page_pages == 512) {
        y = (struct entry){app, HD_TLB_2M, vpn & ~511ull, vpn & ~511ull, 512};
        a = w->large.sets != 0 ? &w->large : a;
    } else if (hi - lo > 1 && most > 1) {
        y = (struct entry){app, HD_TLB_MERGED, vpn / w->group * w->group, lo,
                           hi - lo < most ? hi - lo : most};
        if (vpn >= y.first + y.pages)
            y.first = vpn + 1 - y.pages;
        for (uint64_t v = y.first; v < y.first + y.pages; v++)
            array_remove(&w->base, app, HD_TLB_4K, v);
    }
    set = (uint32_t)(y.tag / granule(w, y.klass) % a->sets);
    for (i = 0; i < a->n[set]; i++) {
        struct entry *e = a->e + (size_t)set * a->ways + i;
        if (e->app == app && e->klass == y.klass && e->tag == y.tag)
            break;
    }
    if (i == a->n[set]) {
        if (a->n[set] < a->ways)
            a->n[set]++;
        else {
            w->evictions++;
            i--;
        }
    }
    to_front(a->e + (size_t)set * a->ways, i);
    a->e[(size_t)set * a->ways] = y;
}

/* ---- driving both ------------------------------------------------------ */

static int64_t take(void *self, const void *question)
{
    const struct heddle_q_tlb_merge *q = question;
    uint32_t most = *(uint32_t *)self;

    assert_true(q->run_first <= q->vpn && q->vpn < q->run_first + q->run_pages);
    return q->run_pages < most ? (int64_t)q->run_pages : (int64_t)most;
}

/* Page numbers below `span`, a few of them hot. */
static uint64_t pick(struct hd_rng *r, uint64_t base, uint32_t span)
{
    uint32_t s = hd_rng_below(r, 3) == 0 ? span : span / 16;

    return base + hd_rng_below(r, s + 1);
}

/* What hd_tlb_invalidate of three pages takes, from one array. */
static void twin_invalidate(struct array *a, uint32_t app, uint64_t v)
{
    for (uint32_t k = 0; k < HD_TLB_CLASSES; k++)
        for (uint32_t s = 0; s < a->sets; s++)
            for (uint32_t j = 0; j < a->n[s]; j++) {
                struct entry *e = a->e + (size_t)s * a->ways + j;
                if (e->app == app && e->klass == k && e->first < v + 3 &&
                    v < e->first + e->pages)
                    array_remove(a, app, k, e->tag), j--;
            }
}

static uint64_t total(const struct hd_tlb *t, uint32_t counter)
{
    uint64_t n = 0;

    for (uint32_t app = 0; app < 3; app++)
        n += *hd_count(&t->stat, 0, app, counter);
    return n;
}

static void drive(struct hd_tlb_cfg cfg, uint32_t n, uint64_t span,
                  uint32_t most, bool mixed)
{
    struct memenv m;
    struct hd_env *env = memenv_open(&m, 3);
    struct hd_rng r = hd_rng_make(cfg.entries, most);
    struct twin w = {.group = cfg.merge_pages == 0 ? 16 : cfg.merge_pages};
    struct hd_tlb t;
    uint64_t hits = 0;

    assert_int_equal(hd_tlb_open(&t, env, &cfg, "l2tlb", 2, 0), 0);
    t.stat = hd_stats_group(&m.stats, "l2tlb", hd_tlb_stats, HD_TLB_STATS, 1);
    array_open(&w.base, cfg.entries, cfg.ways);
    array_open(&w.large, cfg.large_entries, cfg.large_ways);
    if (most > 1)
        t.merge = (struct hd_slot){take, &most, 1};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t app = hd_rng_below(&r, 3);
        uint64_t base = !mixed ? MIXED_4K
                               : (uint64_t[]){MIXED_4K, MIXED_64K,
                                              MIXED_2M}[hd_rng_below(&r, 3)];
        uint64_t vpn =
            pick(&r, base, (uint32_t)(base == MIXED_2M ? span * 64 : span));
        bool hit = array_find(&w, &w.large, app, vpn) ||
                   array_find(&w, &w.base, app, vpn);
        struct hd_xlate x;

        if (hd_tlb_lookup(&t, app, (hd_vpn){vpn}, 1, 2, &x, NULL) != hit)
            fail_msg("access %u: twin %d", i, hit);
        if (hit) {
            if (hd_xlate_frame(&x, (hd_vpn){vpn}).v != frame_at(vpn, app))
                fail_msg("access %u: wrong frame", i);
            hits++;
        } else {
            x = xlate_at(vpn, app, most > 1);
            hd_tlb_fill(&t, app, 1, 2, (hd_vpn){vpn}, &x, 0);
            twin_fill(&w, app, vpn, &x, most);
        }
        if (hd_rng_below(&r, 50000) == 0) {
            uint64_t v = pick(&r, base, (uint32_t)span);
            hd_tlb_invalidate(&t, app, (hd_vpn){v}, 3);
            twin_invalidate(&w.base, app, v);
            twin_invalidate(&w.large, app, v);
        }
    }
    assert_true(hits > n / 50 && hits < n); /* both outcomes are exercised */
    assert_int_equal(total(&t, HD_TLB_LOOKUPS), n);
    assert_int_equal(total(&t, HD_TLB_HITS), hits);
    assert_int_equal(total(&t, HD_TLB_EVICTIONS), w.evictions);
    assert_int_equal(total(&t, HD_TLB_LARGE_HITS) > 0,
                     mixed && cfg.large_entries != 0);
    assert_int_equal(total(&t, HD_TLB_MERGED_HITS) > 0, most > 1);
    assert_int_equal(total(&t, HD_TLB_FILLS), n - hits);
    assert_int_equal(total(&t, HD_TLB_MERGED_FILLS) > 0, most > 1);
    assert_true(n < 500000 || total(&t, HD_TLB_INVALIDATIONS) > 0);
    memenv_close(&m);
    free(w.base.n), free(w.base.e), free(w.large.n), free(w.large.e);
}

static void small_associative(void **state)
{
    (void)state;
    drive((struct hd_tlb_cfg){.entries = 64}, 1000000, 300, 1, false);
}

static void set_associative(void **state)
{
    (void)state;
    drive((struct hd_tlb_cfg){.entries = 512, .ways = 16}, 1000000, 2000, 1,
          false);
}

static void odd_sets(void **state)
{
    (void)state;
    drive((struct hd_tlb_cfg){.entries = 36, .ways = 3}, 200000, 200, 1, false);
}

static void mixed_in_one_array(void **state)
{
    (void)state;
    drive((struct hd_tlb_cfg){.entries = 128, .ways = 4}, 300000, 1000, 1,
          true);
}

static void split_arrays(void **state)
{
    (void)state;
    drive(
        (struct hd_tlb_cfg){
            .entries = 128, .large_entries = 16, .ways = 8, .large_ways = 0},
        300000, 1000, 1, true);
}

static void merged_runs(void **state)
{
    (void)state;
    for (uint32_t most = 2; most <= 16; most *= 2)
        drive((struct hd_tlb_cfg){.entries = 64, .ways = 0}, 100000, 1000, most,
              true);
}

static void merged_groups_of_4(void **state)
{
    (void)state;
    drive((struct hd_tlb_cfg){.entries = 64, .ways = 4, .merge_pages = 4},
          200000, 1000, 4, false);
}

/* ---- single facts ------------------------------------------------------ */

/* A large hit leaves the base array's order untouched. */
static void large_first(void **state)
{
    struct memenv m;
    struct hd_tlb t;
    struct hd_tlb_cfg cfg = {.entries = 2, .large_entries = 2};
    struct hd_xlate x, y = {{MIXED_2M}, {512}, 512, 512};

    (void)state;
    assert_int_equal(hd_tlb_open(&t, memenv_open(&m, 1), &cfg, "l1tlb", 1, 0),
                     0);
    for (uint64_t v = 1; v < 3; v++) {
        x = xlate_at(v, 0, false);
        hd_tlb_fill(&t, 0, 0, 0, (hd_vpn){v}, &x, 0);
    }
    hd_tlb_fill(&t, 0, 0, 0, (hd_vpn){MIXED_2M + 9}, &y, 0);
    assert_true(hd_tlb_lookup(&t, 0, (hd_vpn){MIXED_2M + 511}, 0, 0, &x, NULL));
    assert_int_equal(hd_xlate_frame(&x, (hd_vpn){MIXED_2M + 511}).v, 1023);
    x = xlate_at(3, 0, false);
    hd_tlb_fill(&t, 0, 0, 0, (hd_vpn){3}, &x, 0);
    assert_false(hd_tlb_peek(&t, 0, (hd_vpn){1}, &x));
    assert_true(hd_tlb_peek(&t, 0, (hd_vpn){2}, &x));
    assert_true(hd_tlb_peek(&t, 0, (hd_vpn){3}, &x));
    hd_tlb_shoot(&t, HD_APP_NONE, (hd_vpn){0}, 0);
    assert_false(hd_tlb_peek(&t, 0, (hd_vpn){2}, &x));
    assert_false(hd_tlb_peek(&t, 0, (hd_vpn){MIXED_2M}, &x));
    memenv_close(&m);
}

/* Peeking changes no order. */
static void peek(void **state)
{
    struct memenv m;
    struct hd_tlb t;
    struct hd_tlb_cfg cfg = {.entries = 2};
    struct hd_xlate x;

    (void)state;
    assert_int_equal(hd_tlb_open(&t, memenv_open(&m, 1), &cfg, "l1tlb", 1, 0),
                     0);
    for (uint64_t v = 1; v < 4; v++) {
        x = xlate_at(v, 0, false);
        hd_tlb_fill(&t, 0, 0, 0, (hd_vpn){v}, &x, 0);
        hd_tlb_peek(&t, 0, (hd_vpn){1}, &x);
    }
    assert_false(hd_tlb_peek(&t, 0, (hd_vpn){1}, &x));
    memenv_close(&m);
}

static void bad_sizes(void **state)
{
    struct memenv m;
    struct hd_tlb t;
    struct hd_tlb_cfg cfg = {.entries = 100, .ways = 16};

    (void)state;
    assert_int_equal(hd_tlb_open(&t, memenv_open(&m, 1), &cfg, "l2tlb", 2, 0),
                     HEDDLE_ECONFIG);
    assert_text(m.err.text, "l2tlb.entries: 100 is not a multiple");
    memenv_close(&m);
    cfg = (struct hd_tlb_cfg){.entries = 16, .merge_pages = 5};
    assert_int_equal(hd_tlb_open(&t, memenv_open(&m, 1), &cfg, "l2tlb", 2, 0),
                     HEDDLE_ECONFIG);
    memenv_close(&m);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_associative),
        cmocka_unit_test(set_associative),
        cmocka_unit_test(odd_sets),
        cmocka_unit_test(mixed_in_one_array),
        cmocka_unit_test(split_arrays),
        cmocka_unit_test(merged_runs),
        cmocka_unit_test(merged_groups_of_4),
        cmocka_unit_test(large_first),
        cmocka_unit_test(peek),
        cmocka_unit_test(bad_sizes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm tlb", tests, NULL, NULL);
}
