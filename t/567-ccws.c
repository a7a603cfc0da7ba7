/*
 * CCWS, TA-CCWS and TCWS (ccws.c): worked numbers; and beside a naive
 * twin that ticks each cycle, keeps scores as numbers and victim tags with
 * stamps, and sorts all warps: under random operations the set that was answered
 * last is the twin's in every cycle, though the policy is asked only when it
 * renewed its answer or said that it would be over.  And what compaction's page
 * matrix (cpm.c) takes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kit/rng.h"
#include "policy-fake.h"

enum { WARPS = 8, MOST_TAGS = 16, CYCLES = 100000 };

struct twin_tag {
    uint64_t key, pages, stamp; /* stamp 0: none */
};

struct twin {
    uint64_t base, decay, throttle, entries, ways, weight, lru;
    int64_t score[WARPS];
    uint64_t hits[WARPS], raise[WARPS], cap, stamps;
    struct twin_tag tag[WARPS][MOST_TAGS];
};

/* The machine's side: what a question says, and what was answered. */
struct rig {
    struct fake *f;
    hd_time now; /* in ticks, for the notes */
    struct heddle_q_warp_limit q;
    uint64_t age[WARPS], issued[WARPS], ages, set, holds;
    int renewed;
    uint64_t asked;
};

static void renewed(void *self, uint32_t core)
{
    struct rig *r = self;

    r->renewed |= 1 << core;
}

static void begin(struct rig *r, const char *policy, const char *const *names,
                  const uint64_t *values, uint32_t n)
{
    const char *const *from = n != 0 ? names : NULL;

    *r = (struct rig){.f = fake_open()};
    r->f->slots.limit_renewed = renewed;
    r->f->slots.limit_self = r;
    r->f->env.local = &r->now;
    assert_int_equal(heddle_use(fake_sim(r->f),
                                heddle_policy_find(policy, NULL), "", from,
                                values, n, 0),
                     0);
    r->q = (struct heddle_q_warp_limit){
        .core = 1, .n = WARPS, .running = 0xff, .resident = 0xff,
        .age = r->age, .issued = r->issued};
    for (uint32_t w = 0; w < WARPS; w++)
        r->age[w] = r->ages++;
}

static void at(struct rig *r, uint64_t cycle)
{
    r->q.cycle = cycle;
    r->now = hd_ticks(&r->f->clk, HD_CLK_CORE, cycle);
}

static uint64_t ask(struct rig *r)
{
    r->q.holds = 0;
    r->renewed = 0;
    r->asked++;
    r->set = (uint64_t)fake_ask(r->f, HEDDLE_POINT_warp_limit, &r->q);
    r->holds = r->q.holds;
    assert_true(r->holds > r->q.cycle);
    return r->set;
}

/* ---- notes --------------------------------------------------------------------- */

static void cache(struct rig *r, enum heddle_note what, uint64_t warp,
                  uint64_t line, uint64_t kind, uint64_t waited)
{
    struct heddle_n_cache_miss n = {.level = 1,
                                    .instance = 1,
                                    .warp = warp,
                                    .filler = warp,
                                    .line = line,
                                    .kind = kind,
                                    .waited = waited};

    hd_slots_note(&r->f->slots, what, &n);
}

static void tlb(struct rig *r, enum heddle_note what, uint64_t warp,
                uint64_t vpn, uint64_t depth, uint64_t pages)
{
    struct heddle_n_tlb_hit n = {.level = 1,
                                 .core = 1,
                                 .warp = warp,
                                 .filler = 1 << 16 | warp,
                                 .vpn = vpn,
                                 .depth = depth,
                                 .pages = pages};

    hd_slots_note(&r->f->slots, what, &n);
}

/* ---- worked numbers ---------------------------------------------------------------- */

/* Eight warps at 100 points: the sum is the cutoff, nobody waits.  One hit in 16
 * instructions: L = 1/16 x 8 x 800 = 400, so 300 above the base, three wait, the
 * sum is the cutoff; one cycle later only two, and one less each 100 cycles. */
static void one_hit(void **state)
{
    struct rig r;

    (void)state;
    begin(&r, "ccws", NULL, NULL, 0);
    at(&r, 100);
    assert_int_equal(ask(&r), 0xff);
    assert_true(r.holds == UINT64_MAX);
    cache(&r, HEDDLE_NOTE_cache_miss, 2, 77, HEDDLE_REQUEST_READ, 0);
    assert_int_equal(r.renewed, 0); /* lost nothing */
    cache(&r, HEDDLE_NOTE_cache_evict, 2, 77, HEDDLE_REQUEST_READ, 0);
    cache(&r, HEDDLE_NOTE_cache_miss, 3, 77, HEDDLE_REQUEST_READ, 0);
    assert_int_equal(r.renewed, 0); /* another's */
    for (uint32_t w = 0; w < WARPS; w++)
        r.issued[w] = 2;
    cache(&r, HEDDLE_NOTE_cache_miss, 2, 77, HEDDLE_REQUEST_READ, 1);
    assert_int_equal(r.renewed, 2);
    assert_int_equal(ask(&r), 0x1f);
    assert_int_equal(r.holds, 101);
    at(&r, 101);
    assert_int_equal(ask(&r), 0x3f);
    assert_int_equal(r.holds, 201);
    at(&r, 201);
    assert_int_equal(ask(&r), 0x7f);
    assert_int_equal(r.holds, 301);
    at(&r, 301);
    assert_int_equal(ask(&r), 0xff);
    assert_true(r.holds == UINT64_MAX);
    /* a store takes the line out of the tags */
    cache(&r, HEDDLE_NOTE_cache_hit, 5, 77, HEDDLE_REQUEST_WRITE, 0);
    cache(&r, HEDDLE_NOTE_cache_miss, 2, 77, HEDDLE_REQUEST_READ, 0);
    assert_int_equal(r.renewed, 0);
    fake_close(r.f);
}

/* TA-CCWS 4:1: the same hit of a line that waited for its page is 1600; 700 is
 * all that the seven others have, so it is alone until the sum has fallen from
 * 1600 to below 800.  An hour without the policy, the bound is L, less: 0. */
static void weight(void **state)
{
    static const char *const names[] = {"tlb_weight"};
    static const uint64_t four[] = {4};
    struct rig r;

    (void)state;
    begin(&r, "ccws", names, four, 1);
    ask(&r);
    cache(&r, HEDDLE_NOTE_cache_evict, 2, 77, HEDDLE_REQUEST_READ, 0);
    cache(&r, HEDDLE_NOTE_cache_miss, 2, 77, HEDDLE_REQUEST_READ, 1);
    for (uint32_t w = 0; w < WARPS; w++)
        r.issued[w] = 2;
    assert_int_equal(ask(&r), 1 << 2);
    assert_int_equal(r.holds, 801);
    r.issued[0] = 1000000; /* the bound falls with L */
    assert_int_equal(ask(&r), 0xff);
    fake_close(r.f);
}

/* TCWS: a page that was lost makes 400, as above; hits of another warp then add
 * 1, 2, 4, 8 points by depth, up to L. */
static void depth(void **state)
{
    struct rig r;

    (void)state;
    begin(&r, "tcws", NULL, NULL, 0);
    ask(&r);
    tlb(&r, HEDDLE_NOTE_tlb_hit, 6, 5, 3, 1);
    assert_int_equal(r.renewed, 0); /* L is 0: nobody is above the base */
    tlb(&r, HEDDLE_NOTE_tlb_evict, 2, 512, 0, 16);
    tlb(&r, HEDDLE_NOTE_tlb_miss, 2, 528, 0, 0);
    assert_int_equal(r.renewed, 0);
    tlb(&r, HEDDLE_NOTE_tlb_miss, 2, 527, 0, 0); /* of its 16 pages */
    assert_int_equal(r.renewed, 2);
    for (uint32_t w = 0; w < WARPS; w++)
        r.issued[w] = 2;
    assert_int_equal(ask(&r), 0x1f);
    /* 400 + 101: three others come to 801 */
    tlb(&r, HEDDLE_NOTE_tlb_hit, 6, 5, 0, 1);
    assert_int_equal(r.renewed, 2);
    assert_int_equal(ask(&r), 1 << 6 | 1 << 2 | 1 << 3 | 3);
    assert_int_equal(r.holds, 1); /* it is at the base then */
    for (int i = 0; i < 100; i++)
        tlb(&r, HEDDLE_NOTE_tlb_hit, 6, 5, 9, 1); /* 8 each, up to 400 */
    assert_int_equal(ask(&r), 1 << 6 | 1 << 2);
    assert_int_equal(r.holds, 1);
    fake_close(r.f);
}

/* ---- the twin ------------------------------------------------------------------------ */

/* The newest that has it. */
static struct twin_tag *twin_find(struct twin *t, uint64_t w, uint64_t key)
{
    struct twin_tag *out = NULL;

    for (uint64_t i = 0; i < t->entries; i++) {
        struct twin_tag *x = &t->tag[w][i];
        if (x->stamp != 0 && key >= x->key && key < x->key + x->pages &&
            (out == NULL || x->stamp > out->stamp))
            out = x;
    }
    return out;
}

/* In place of itself, or else of the oldest of its set. */
static void twin_lose(struct twin *t, uint64_t w, uint64_t key, uint64_t pages)
{
    uint64_t first = key % (t->entries / t->ways) * t->ways;
    struct twin_tag *x = twin_find(t, w, key), *set = &t->tag[w][first];
    bool found = x != NULL;

    for (uint64_t i = 0; i < t->ways && !found; i++)
        if (x == NULL || set[i].stamp < x->stamp)
            x = &set[i];
    *x = (struct twin_tag){key, pages, ++t->stamps};
}

static void twin_miss(struct twin *t, uint64_t w, uint64_t key, uint64_t by)
{
    if (twin_find(t, w, key) == NULL)
        return;
    t->hits[w]++;
    t->raise[w] = t->raise[w] > by ? t->raise[w] : by;
}

static void twin_meet(struct twin *t, uint64_t w)
{
    t->score[w] = (int64_t)t->base;
    t->hits[w] = t->raise[w] = 0;
    memset(t->tag[w], 0, sizeof t->tag[w]);
}

static void twin_ask(struct twin *t, const struct rig *r)
{
    uint64_t hits = 0, issued = 0, warps = 0, l;

    for (uint32_t w = 0; w < WARPS; w++)
        if (r->q.running >> w & 1) {
            hits += t->hits[w];
            issued += r->issued[w];
            warps++;
        }
    l = hits * t->throttle * warps * t->base / (issued > 0 ? issued : 1);
    t->cap = l * t->weight > t->base ? l * t->weight : t->base;
    for (uint32_t w = 0; w < WARPS; w++) {
        int64_t to = (int64_t)(l * t->raise[w]);
        if (!(r->q.running >> w & 1))
            continue;
        t->score[w] = t->score[w] < to ? to : t->score[w];
        if (t->score[w] > (int64_t)t->cap)
            t->score[w] = (int64_t)t->cap;
        t->raise[w] = 0;
    }
}

static void twin_tick(struct twin *t)
{
    for (uint32_t w = 0; w < WARPS; w++) {
        t->score[w] -= (int64_t)t->decay;
        if (t->score[w] < (int64_t)t->base)
            t->score[w] = (int64_t)t->base;
    }
}

/* By the rules: the best first, up to the one that reaches the cutoff. */
static uint64_t twin_set(const struct twin *t, uint64_t running)
{
    uint64_t left = running, set = 0, warps = 0;
    int64_t sum = 0;

    for (uint32_t w = 0; w < WARPS; w++)
        warps += running >> w & 1;
    while (left != 0 && sum < (int64_t)(warps * t->base)) {
        uint32_t best = WARPS;
        for (uint32_t w = 0; w < WARPS; w++)
            if ((left >> w & 1) &&
                (best == WARPS || t->score[w] > t->score[best]))
                best = w;
        sum += t->score[best];
        set |= 1ull << best;
        left &= ~(1ull << best);
    }
    return set;
}

/* ---- random operations --------------------------------------------------------------- */

static uint64_t draw(uint64_t *seed, uint64_t n)
{
    return hd_mix64(++*seed) % n;
}

/* A warp exits, or another comes in its place. */
static void come_and_go(struct rig *r, struct twin *t, uint64_t w)
{
    r->q.running ^= 1ull << w;
    if (r->q.running >> w & 1) {
        r->age[w] = r->ages++;
        r->issued[w] = 0;
        twin_meet(t, w);
    }
    r->renewed = 2;
}

static void operate(struct rig *r, struct twin *t, bool pages, uint64_t *seed)
{
    uint64_t w = draw(seed, WARPS), key = draw(seed, 40), big = 1;
    uint64_t waited = draw(seed, 2), what = draw(seed, 8);
    uint64_t depth = draw(seed, 5);
    static const uint64_t digit[] = {1, 2, 4, 8, 8};

    r->issued[draw(seed, WARPS)] += draw(seed, 8);
    if (!(r->q.running >> w & 1))
        return;
    if (pages && what < 2) {
        big = draw(seed, 4) == 0 ? 4 : 1;
        key -= key % big;
        tlb(r, HEDDLE_NOTE_tlb_evict, w, key, 0, big);
        twin_lose(t, w, key, big);
    } else if (pages && what < 5) {
        tlb(r, HEDDLE_NOTE_tlb_miss, w, key, 0, 0);
        twin_miss(t, w, key, 1);
    } else if (pages) {
        tlb(r, HEDDLE_NOTE_tlb_hit, w, key, depth, 1);
        if (t->score[w] < (int64_t)t->cap)
            t->score[w] += (int64_t)digit[depth];
        if (t->score[w] > (int64_t)t->cap)
            t->score[w] = (int64_t)t->cap;
    } else if (what < 2) {
        cache(r, HEDDLE_NOTE_cache_evict, w, key, HEDDLE_REQUEST_READ, 0);
        twin_lose(t, w, key, 1);
    } else if (what < 7) {
        cache(r, HEDDLE_NOTE_cache_miss, w, key, HEDDLE_REQUEST_READ, waited);
        twin_miss(t, w, key, waited ? t->weight : 1);
    } else {
        cache(r, draw(seed, 2) ? HEDDLE_NOTE_cache_hit : HEDDLE_NOTE_cache_miss,
              w, key, HEDDLE_REQUEST_WRITE, 0);
        for (uint32_t v = 0; v < WARPS; v++)
            if (twin_find(t, v, key) != NULL)
                twin_find(t, v, key)->stamp = 0;
    }
}

static void beside_the_twin(const char *policy, struct twin t,
                            const char *const *names, const uint64_t *values,
                            uint32_t n, uint64_t seed)
{
    bool pages = strcmp(policy, "tcws") == 0;
    uint64_t blocked = 0, operations = 0, differ = 0, before = 0;
    struct rig r;

    begin(&r, policy, names, values, n);
    for (uint32_t w = 0; w < WARPS; w++)
        twin_meet(&t, w);
    t.cap = t.base;
    ask(&r);
    for (uint64_t cycle = 1; operations < CYCLES; cycle++) {
        uint64_t most = draw(&seed, 6) == 0 ? draw(&seed, 4) : 0;
        at(&r, cycle);
        twin_tick(&t);
        for (uint64_t k = 0; k < most; k++, operations++)
            operate(&r, &t, pages, &seed);
        if (draw(&seed, 500) == 0)
            come_and_go(&r, &t, draw(&seed, WARPS));
        if (draw(&seed, 3000) == 0) /* L is another from now on */
            for (uint32_t w = 0; w < WARPS; w++)
                r.issued[w] /= 8;
        if (r.renewed || cycle >= r.holds) {
            ask(&r);
            twin_ask(&t, &r);
        }
        if ((r.set & r.q.running) != twin_set(&t, r.q.running))
            fail_msg("%s, cycle %llu: 0x%llx, the twin 0x%llx", policy,
                     (unsigned long long)cycle, (unsigned long long)r.set,
                     (unsigned long long)twin_set(&t, r.q.running));
        blocked += (r.set & r.q.running) != r.q.running;
        differ += r.set != before;
        before = r.set;
    }
    assert_true(blocked > CYCLES / 4);
    assert_true(differ > 1000);
    assert_true(r.asked < r.q.cycle / 2); /* not each cycle */
    fake_close(r.f);
}

static void random_lines(void **state)
{
    static const char *const names[] = {"tlb_weight", "decay", "base",
                                        "vta_entries", "vta_ways"};
    static const uint64_t values[] = {4, 3, 50, 4, 0};
    struct twin t = {.base = 100, .decay = 1, .throttle = 8, .entries = 16,
                     .ways = 8, .weight = 1};

    (void)state;
    beside_the_twin("ccws", t, NULL, NULL, 0, 1);
    t.weight = 4;
    beside_the_twin("ccws", t, names, values, 1, 2);
    t.decay = 3;
    t.base = 50;
    t.entries = t.ways = 4;
    beside_the_twin("ccws", t, names, values, 5, 3);
}

static void random_pages(void **state)
{
    static const char *const names[] = {"vta_entries", "decay"};
    static const uint64_t values[] = {3, 2};
    struct twin t = {.base = 100, .decay = 1, .throttle = 8, .entries = 8,
                     .ways = 8, .weight = 1};

    (void)state;
    beside_the_twin("tcws", t, NULL, NULL, 0, 4);
    t.entries = t.ways = 3;
    t.decay = 2;
    beside_the_twin("tcws", t, names, values, 2, 5);
}

/* Pichai 8: of 48 warps, 48 x 47 counters of 3 bits.  A byte holds one. */
static void page_matrix(void **state)
{
    const struct heddle_policy *p = heddle_policy_find("cpm", NULL);
    struct heddle_place none = {.cores = 1, .warps = 1},
                        all = {.cores = 1, .warps = 48};
    uint64_t values[8] = {0};

    (void)state;
    for (int i = 0; p->params[i].name != NULL; i++)
        values[i] = p->params[i].def;
    assert_string_equal(p->params[0].name, "bits");
    assert_int_equal(values[0] * (p->state_bytes(&all, values) -
                                  p->state_bytes(&none, values)),
                     6768);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_hit),      cmocka_unit_test(weight),
        cmocka_unit_test(depth),        cmocka_unit_test(random_lines),
        cmocka_unit_test(random_pages), cmocka_unit_test(page_matrix),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
