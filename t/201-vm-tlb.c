/*
 * Pinned: a TLB is an exact LRU per set over entries of 4 KB, 64 KB and 2 MB
 * pages, merged runs and runs of subregions, tagged by application.  The twin
 * stamps each way with the instant of its last use and searches all ways of all
 * sets; hits, translations and the number of evictions must be the same over 10^6
 * random accesses.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <stdlib.h>

#include "kit/rng.h"
#include "translation/tlb.h"
#include "texts.h"

/* ---- the world: page sizes and frames by address ---------------------- */

enum { MIXED_4K = 0, MIXED_64K = 1 << 14, MIXED_2M = 1 << 15 };

static uint32_t size_at(uint64_t vpn)
{
    return vpn >= MIXED_2M ? 512 : vpn >= MIXED_64K ? 16 : 1;
}

/* Frames run on from page to page, save where a break lies.  Where there are
 * subregions, breaks are in one of three of them, and between some. */
static bool subs;

static bool broken(uint64_t vpn, uint32_t app)
{
    uint64_t n = vpn / 64 * 31 + app;

    if (subs && vpn % 64 == 0)
        return hd_mix64(n) % 4 == 0;
    return hd_mix64(vpn * 31 + app) % 5 == 0 &&
           (!subs || hd_mix64(n + 7) % 3 == 0);
}

static uint64_t frame_at(uint64_t vpn, uint32_t app)
{
    uint64_t skip = 0, first = vpn & ~(subs ? 511ull : 15ull);

    for (uint64_t v = first + 1; v <= vpn && size_at(vpn) == 1; v++)
        skip += broken(v, app) ? 1 : 0;
    return vpn + skip * 32 + ((uint64_t)app << 20);
}

/* A walk's answer: the run of the line, or of the whole subregions. */
static struct hd_xlate xlate_at(uint64_t vpn, uint32_t app, bool run)
{
    uint32_t n = size_at(vpn), line = 16;
    struct hd_xlate x = {{vpn & ~(uint64_t)(n - 1)}, {0}, n, n};

    for (uint64_t v = vpn | 63, whole = 1; subs && n == 1 && whole; v--) {
        line = v % 64 == 0 ? 512 : 16;
        whole = v % 64 != 0 && !broken(v, app);
    }
    while (run && n == 1 && x.vpn.v % line != 0 && !broken(x.vpn.v, app)) {
        x.vpn.v--;
        x.pages++;
    }
    while (run && n == 1 && (x.vpn.v + x.pages) % line != 0 &&
           !broken(x.vpn.v + x.pages, app))
        x.pages++;
    if (line == 512) { /* neighbours that are not whole are not told of */
        uint64_t end = (x.vpn.v + x.pages) & ~63ull;
        x.vpn.v = (x.vpn.v + 63) & ~63ull;
        x.pages = (uint32_t)(end - x.vpn.v);
    }
    x.pfn.v = frame_at(x.vpn.v, app);
    return x;
}

/* ---- the twin --------------------------------------------------------- */

struct entry {
    uint32_t app, klass;
    uint64_t first, pages; /* pages 0: invalid */
    uint64_t used;
};

struct array {
    uint32_t sets, ways;
    struct entry *e; /* [set][way] */
};

struct twin {
    struct array base, large;
    const struct hd_tlb_cfg *cfg;
    uint32_t group, evictions;
    uint64_t now;
};

static void array_open(struct array *a, uint32_t entries, uint32_t ways)
{
    a->ways = ways == 0 ? entries : ways;
    a->sets = entries == 0 ? 0 : entries / a->ways;
    a->e = calloc(entries + 1, sizeof *a->e);
}

static bool covers(const struct entry *e, uint32_t app, uint64_t vpn,
                   uint64_t pages)
{
    return e->pages != 0 && e->app == app && e->first < vpn + pages &&
           vpn < e->first + e->pages;
}

static bool array_find(struct twin *w, struct array *a, uint32_t app,
                       uint64_t vpn)
{
    for (uint32_t i = 0; i < a->sets * a->ways; i++)
        if (covers(&a->e[i], app, vpn, 1)) {
            a->e[i].used = ++w->now;
            return true;
        }
    return false;
}

/* Entries that cover a page of a range go, but those of pages that are not of
 * 4 KB, if others alone are meant. */
static void array_remove(struct array *a, uint32_t app, uint64_t vpn,
                         uint64_t pages, bool all)
{
    for (uint32_t i = 0; i < a->sets * a->ways; i++)
        if (covers(&a->e[i], app, vpn, pages) &&
            (all || a->e[i].klass == HD_TLB_4K || a->e[i].klass > HD_TLB_2M))
            a->e[i].pages = 0;
}

static uint64_t index_of(const struct twin *w, const struct entry *e)
{
    bool group = w->cfg->group_index || e->klass == HD_TLB_MERGED;

    return e->klass == HD_TLB_64K ? e->first / 16
           : e->klass == HD_TLB_2M || e->klass == HD_TLB_SUBS ? e->first / 512
           : group ? e->first / w->group
                   : e->first;
}

static void twin_fill(struct twin *w, uint32_t app, uint64_t vpn,
                      const struct hd_xlate *x, uint32_t most)
{
    struct entry y = {app, HD_TLB_4K, vpn, 1, 0}, *e, *place = NULL;
    struct array *a = &w->base;
    uint64_t lo = vpn, hi = vpn + 1, beside;
    uint32_t ways = a->ways;

    while (lo % w->group != 0 && lo > x->vpn.v)
        lo--;
    while (hi % w->group != 0 && hi < x->vpn.v + x->pages)
        hi++;
    if (x->page_pages == 16) {
        y = (struct entry){app, HD_TLB_64K, vpn & ~15ull, 16, 0};
    } else if (x->page_pages == 512) {
        y = (struct entry){app, HD_TLB_2M, vpn & ~511ull, 512, 0};
        a = w->large.sets != 0 ? &w->large : a;
        ways = a->ways;
    } else if (w->cfg->sub_ways != 0 && x->pages >= 64) {
        y = (struct entry){app, HD_TLB_SUBS, x->vpn.v, x->pages, 0};
        ways = w->cfg->sub_ways;
    } else if (hi - lo > 1 && most > 1) {
        y = (struct entry){app, HD_TLB_MERGED, lo,
                           hi - lo < most ? hi - lo : most, 0};
        if (vpn >= y.first + y.pages)
            y.first = vpn + 1 - y.pages;
        a = w->cfg->ranges ? &w->large : a;
        ways = a->ways;
    }
    for (uint32_t i = 0; w->cfg->ranges && y.pages > 1 && i < 2 * ways; i++) {
        struct entry o = a->e[i % ways];
        beside = i < ways ? y.first - 1 : y.first + y.pages;
        lo = y.first < o.first ? y.first : o.first;
        hi = y.first + y.pages > o.first + o.pages ? y.first + y.pages
                                                   : o.first + o.pages;
        if (y.klass == HD_TLB_MERGED && o.klass == HD_TLB_MERGED &&
            covers(&o, app, beside, 1) && hi - lo <= 512 &&
            frame_at(o.first, app) - o.first == frame_at(y.first, app) - y.first)
            y = (struct entry){app, HD_TLB_MERGED, lo, hi - lo, 0};
    }
    e = a->e + index_of(w, &y) % a->sets * a->ways;
    for (uint32_t i = 0; i < a->ways; i++)
        if (e[i].klass == y.klass && covers(&e[i], app, y.first, y.pages) &&
            y.klass < HD_TLB_MERGED)
            place = &e[i];
    if (place == NULL && (y.klass == HD_TLB_4K || y.klass > HD_TLB_2M)) {
        array_remove(&w->base, app, y.first, y.pages, false);
        array_remove(&w->large, app, y.first, y.pages, false);
    }
    for (uint32_t i = 0; place == NULL && i < ways; i++)
        place = e[i].pages == 0 ? &e[i] : NULL;
    for (uint32_t i = 0; place == NULL && i < ways; i++) {
        bool oldest = true;
        for (uint32_t k = 0; k < ways; k++)
            oldest = oldest && e[i].used <= e[k].used;
        place = oldest ? &e[i] : NULL;
        w->evictions += oldest;
    }
    y.used = ++w->now;
    *place = y;
}

/* ---- driving both ------------------------------------------------------ */

static int64_t take(void *self, const void *question)
{
    const struct heddle_q_tlb_merge *q = question;
    uint32_t most = *(uint32_t *)self;

    assert_true(q->run_first <= q->vpn && q->vpn < q->run_first + q->run_pages);
    if (q->run_pages >= 64)
        return (int64_t)q->run_pages;
    return q->run_pages < most ? (int64_t)q->run_pages : (int64_t)most;
}

/* Page numbers below `span`, a few of them hot. */
static uint64_t pick(struct hd_rng *r, uint64_t base, uint32_t span)
{
    uint32_t s = hd_rng_below(r, 3) == 0 ? span : span / 16;

    return base + hd_rng_below(r, s + 1);
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
    struct twin w = {.cfg = &cfg,
                     .group = cfg.merge_pages == 0 ? 16 : cfg.merge_pages};
    struct hd_tlb t;
    uint64_t hits = 0;

    assert_int_equal(hd_tlb_open(&t, env, &cfg, "l2tlb", 2, 0), 0);
    t.stat = hd_stats_group(&m.stats, &hd_rows_l2tlb, 1);
    array_open(&w.base, cfg.entries, cfg.ways);
    array_open(&w.large, cfg.large_entries, cfg.large_ways);
    if (most > 1)
        t.merge = (struct hd_slot){take, &most, 1};
    hd_tlb_bound(&t);
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
            x = xlate_at(vpn, app, most > 1 || subs);
            hd_tlb_fill(&t, app, 1, 2, (hd_vpn){vpn}, &x, 0);
            twin_fill(&w, app, vpn, &x, most);
        }
        if (hd_rng_below(&r, 50000) == 0) {
            uint64_t v = pick(&r, base, (uint32_t)span);
            hd_tlb_invalidate(&t, app, (hd_vpn){v}, 3);
            array_remove(&w.base, app, v, 3, true);
            array_remove(&w.large, app, v, 3, true);
        }
    }
    assert_true(hits > n / 50 && hits < n); /* both outcomes are exercised */
    assert_int_equal(total(&t, HD_TLB_LOOKUPS), n);
    assert_int_equal(total(&t, HD_TLB_HITS), hits);
    assert_int_equal(total(&t, HD_TLB_EVICTIONS), w.evictions);
    assert_int_equal(total(&t, HD_TLB_LARGE_HITS) > 0,
                     (mixed || cfg.ranges) && cfg.large_entries != 0);
    assert_int_equal(total(&t, HD_TLB_MERGED_HITS) > 0, most > 1);
    assert_int_equal(total(&t, HD_TLB_SUB_HITS) > 0, subs);
    assert_int_equal(total(&t, HD_TLB_SUB_FILLS) > 0, subs);
    assert_int_equal(total(&t, HD_TLB_FILLS), n - hits);
    assert_int_equal(total(&t, HD_TLB_MERGED_FILLS) > 0, most > 1);
    assert_true(n < 500000 || total(&t, HD_TLB_INVALIDATIONS) > 0);
    memenv_close(&m);
    free(w.base.e), free(w.large.e);
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

/* CoLT: groups share a set, and their runs lie side by side. */
static void shifted_index(void **state)
{
    (void)state;
    drive((struct hd_tlb_cfg){
              .entries = 64, .ways = 4, .merge_pages = 4, .group_index = 1},
          200000, 1000, 4, false);
}

/* CoLT-FA: runs of a line, and longer ones that they make up, beside pages of
 * 2 MB. */
static void ranges(void **state)
{
    (void)state;
    for (uint32_t most = 2; most <= 16; most *= 2)
        for (uint32_t mixed = 0; mixed < 2; mixed++)
            drive((struct hd_tlb_cfg){.entries = 32, .large_entries = 20, .ranges = 1},
                  200000, 400, most, mixed != 0);
}

/* MESC's unified array, alone and with CoLT's groups. */
static void unified(void **state)
{
    struct hd_tlb_cfg cfg = {
        .entries = 512, .ways = 16, .sub_ways = 8, .merge_pages = 4};

    (void)state;
    subs = true;
    drive(cfg, 1000000, 60000, 1, false);
    cfg.entries = 64;
    drive(cfg, 300000, 12000, 1, false);
    drive(cfg, 300000, 12000, 4, false);
    cfg.large_entries = 8; /* Mosaic's, beside them */
    drive(cfg, 300000, 12000, 4, true);
    subs = false;
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

/* What is answered to a run of 512 pages is cut to whole subregions around the
 * page; without an answer all of it is held. */
static int64_t some(void *self, const void *question)
{
    const struct heddle_q_tlb_merge *q = question;

    assert_int_equal(q->run_first, 1024);
    assert_int_equal(q->run_pages, 512);
    assert_int_equal(q->run_frame, 9000);
    return *(int64_t *)self;
}

static void cut_to_subregions(void **state)
{
    static const struct {
        int64_t answer;
        uint64_t first;
        uint32_t pages;
    } cut[] = {{512, 1024, 512}, {300, 1024, 256}, {256, 1024, 256},
               {210, 1224, 1},   {150, 1224, 1},   {100, 1224, 1},
               {0, 1224, 1},     {-1, 1024, 512}};

    (void)state;
    for (size_t i = 0; i < HD_LEN(cut); i++) {
        struct hd_tlb_cfg cfg = {.entries = 512, .ways = 16, .sub_ways = 8};
        struct hd_xlate x = {{1024}, {9000}, 512, 1};
        int64_t answer = cut[i].answer;
        struct memenv m;
        struct hd_tlb t;
        assert_int_equal(
            hd_tlb_open(&t, memenv_open(&m, 1), &cfg, "l2tlb", 2, 0), 0);
        if (answer >= 0)
            t.merge = (struct hd_slot){some, &answer, 1};
        hd_tlb_bound(&t);
        hd_tlb_fill(&t, 0, 0, 0, (hd_vpn){1224}, &x, 0);
        assert_true(hd_tlb_peek(&t, 0, (hd_vpn){1224}, &x));
        assert_int_equal(x.vpn.v, cut[i].first);
        assert_int_equal(x.pages, cut[i].pages);
        assert_int_equal(x.pfn.v, 9000 + cut[i].first - 1024);
        memenv_close(&m);
    }
}

/* What lies beside a range, with frames that go on, makes it one, up to 512 pages;
 * what does not, or belongs to another application, stays beside it. */
static int64_t all_of(void *self, const void *question)
{
    (void)self;
    return (int64_t)((const struct heddle_q_tlb_merge *)question)->run_pages;
}

static void grown(void **state)
{
    struct memenv m;
    struct hd_tlb t;
    struct hd_tlb_cfg cfg = {.entries = 4, .large_entries = 4, .ranges = 1};
    struct hd_xlate x;

    (void)state;
    assert_int_equal(hd_tlb_open(&t, memenv_open(&m, 2), &cfg, "l1tlb", 1, 0),
                     0);
    t.merge = (struct hd_slot){all_of, NULL, 1};
    hd_tlb_bound(&t);
    for (uint64_t v = 0; v < 34; v++) {
        x = (struct hd_xlate){{16 * (v ^ 1)}, {16 * (v ^ 1) + 7}, 16, 1};
        hd_tlb_fill(&t, 0, 0, 0, x.vpn, &x, 0);
    }
    x = (struct hd_xlate){{544}, {9}, 16, 1};
    hd_tlb_fill(&t, 0, 0, 0, x.vpn, &x, 0);
    x = (struct hd_xlate){{560}, {25}, 16, 1};
    hd_tlb_fill(&t, 1, 0, 0, x.vpn, &x, 0);
    assert_true(hd_tlb_peek(&t, 0, (hd_vpn){300}, &x));
    assert_int_equal(x.vpn.v, 0);
    assert_int_equal(x.pfn.v, 7);
    assert_int_equal(x.pages, 512);
    assert_true(hd_tlb_peek(&t, 0, (hd_vpn){530}, &x));
    assert_int_equal(x.pages, 32);
    assert_true(hd_tlb_peek(&t, 0, (hd_vpn){559}, &x));
    assert_int_equal(x.pages, 16);
    assert_int_equal(hd_tlb_shoot(&t, 0, (hd_vpn){5}, 0), 0);
    assert_int_equal(hd_tlb_shoot(&t, 0, (hd_vpn){5}, 1), 1);
    assert_false(hd_tlb_peek(&t, 0, (hd_vpn){300}, &x));
    memenv_close(&m);
}

static void bad_sizes(void **state)
{
    static const char *const ranges[] = {
        "l1tlb.ranges: large_entries are expected, not 0",
        "l1tlb.ranges: large_entries are expected in one set (large_ways = 0), "
        "not in 2",
        "l1tlb.ranges: group_index = false is expected"};
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
    for (uint32_t i = 0; i < 3; i++) {
        cfg = (struct hd_tlb_cfg){.entries = 16,
                                  .large_entries = i == 0 ? 0 : 4,
                                  .large_ways = i == 1 ? 2 : 0,
                                  .group_index = i == 2,
                                  .ranges = 1};
        assert_int_equal(
            hd_tlb_open(&t, memenv_open(&m, 1), &cfg, "l1tlb", 1, 0),
            HEDDLE_ECONFIG);
        assert_text(m.err.text, ranges[i]);
        memenv_close(&m);
    }
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
        cmocka_unit_test(shifted_index),
        cmocka_unit_test(ranges),
        cmocka_unit_test(grown),
        cmocka_unit_test(unified),
        cmocka_unit_test(large_first),
        cmocka_unit_test(peek),
        cmocka_unit_test(cut_to_subregions),
        cmocka_unit_test(bad_sizes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm tlb", tests, NULL, NULL);
}
