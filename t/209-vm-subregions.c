/*
 * Pinned: subregions (MESC).  The entry that a walk reads in each mode of the
 * paper's figure 6, to the digit; what figure 9's region gives: entries, links,
 * reads.  What the walker reads after the answer, at the very cycle; that it stays
 * busy, with a batch of walks, too; look-ups of 10 cycles, and 20 where regular
 * entries answer, 10 more behind large entries; what happens
 * without a memory subregion cache, under a shootdown, and to misses that come
 * before the entry.  And under random maps, moves, evictions and look-ups no
 * answer is other than the page table's.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmenv.h"

#include "kit/rng.h"
#include "pages/contig.h"

enum {
    WAY = 5, /* all in cycles, which are ticks */
    LOOK = 10,
    READ = 107,
    MSC = 2,
    WALK = WAY + 2 * LOOK + 4 * READ, /* from a request to its answer */
    REGION = 0x1a00
};

/* ---- memory as it is wanted ---------------------------------------------- */

static uint64_t delta; /* frame of a page, less its number */

static int64_t place(void *self, const void *question)
{
    const struct heddle_q_frame_place *q = question;

    (void)self;
    return delta != 0 ? (int64_t)(q->vpn + delta + q->app * 0x2000) : HEDDLE_PASS;
}

static const struct heddle_policy placer = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "placer",
    .summary = "pages go where the test wants them",
    .answer = {[HEDDLE_POINT_frame_place] = place},
};

static struct vm *new_subs(void)
{
    struct vm *v = vm_new();

    v->mhz = 1000;
    v->vm_cfg.scan = 1;
    v->l2tlb.sub_ways = 8;
    v->msc = (struct hd_msc_cfg){512, 8, MSC, 0};
    return v;
}

static struct vm *start(struct vm *v)
{
    vm_open(v, 2);
    vmslots_use(&v->policies, &placer, "");
    return v;
}

/* Maps pages from vpn on to the frames from pfn on. */
static void lay(struct vm *v, uint32_t index, uint64_t vpn, uint64_t pages,
                uint64_t pfn)
{
    delta = pfn - vpn;
    assert_int_equal(hd_ptables_map(v->pt, 0, index, (hd_va){vpn << 12},
                                    pages << 12, &v->m.err),
                     0);
}

/* A page moves, and the old translation is shot down. */
static void move(struct vm *v, uint64_t vpn, uint64_t to)
{
    struct hd_xlate x;

    assert_true(hd_ptables_find(v->pt, 0, (hd_vpn){vpn}, &x));
    hd_ptables_move(v->pt, x.pfn, (hd_pfn){to});
    hd_mmu_shoot(v->mmu, 0, (hd_vpn){vpn}, 1, 0);
}

/* The region of the paper's figure 9, at REGION: S0 to S3 lie on, S4 and S7 are
 * whole, S5 and S6 are not. */
static struct vm *figure(struct vm *v)
{
    start(v);
    lay(v, 0, REGION, 256, 0x00f87);
    lay(v, 1, REGION + 256, 64, 0x0201d);
    lay(v, 2, REGION + 320, 70, 0x01300);
    lay(v, 3, REGION + 390, 58, 0x01401);
    move(v, REGION + 336, 0x01500);
    lay(v, 4, REGION + 448, 64, 0x0205d);
    return v;
}

static uint64_t msc(struct vm *v, uint32_t c)
{
    return *hd_count(&v->mmu->unit[0].subs.stat, 0, 0, c);
}

/* The entry of the L2 TLB for a page: pages of it, 0: there is none. */
static uint32_t held(struct vm *v, uint64_t vpn, uint64_t first, uint64_t pfn)
{
    struct hd_xlate x;

    if (!hd_tlb_peek(&v->mmu->unit[0].tlb, 0, (hd_vpn){vpn}, &x))
        return 0;
    assert_int_equal(x.vpn.v, first);
    assert_int_equal(x.pfn.v, pfn);
    return x.pages;
}

/* ---- the paper's figures --------------------------------------------------- */

static void figure_6(void **state)
{
    static const struct {
        uint64_t moved; /* a page that breaks AC, or C too */
        uint64_t read, first;
        uint32_t pages;
    } mode[] = {{0, 0x000, 0x80000, 512},
                {0x80190, 0x188, 0x80188, 1},
                {0x80001, 0x180, 0x80040, 448}};

    (void)state;
    for (size_t i = 0; i < HD_LEN(mode); i++) {
        struct vm *v = new_subs();
        v->vm_cfg.memory_bytes = 2ull << 30;
        start(v);
        lay(v, 0, 0x80000, 512, 0x6000a);
        if (mode[i].moved != 0)
            move(v, mode[i].moved, 0x70000);
        vm_ask(v, 0, 0, 0, 0, 0x80188);
        vm_due(v, 0, WALK);
        assert_int_equal(v->answer[0].pfn, 0x60192);
        assert_int_equal(v->read[3].pa & 0xfff, 8 * mode[i].read);
        vm_finish(v);
        assert_int_equal(held(v, 0x80188, mode[i].first,
                              mode[i].first - 0x80000 + 0x6000a),
                         mode[i].pages);
        assert_int_equal(msc(v, HD_MSC_REGIONS), i == 0);
        assert_int_equal(msc(v, HD_MSC_SUBREGIONS), i == 2);
        assert_int_equal(msc(v, HD_MSC_READS), i == 2 ? 6 : 0);
        assert_int_equal(msc(v, HD_MSC_LOOKUPS), i == 2);
        assert_int_equal(vm_walks(v, 0, HD_WALK_REFERENCES), 4);
        vm_close(v);
    }
}

/* The head PTEs that were read after the walk's own entries, in order: which
 * subregions. */
static void head_ptes(struct vm *v, uint32_t from, const char *want)
{
    char got[9] = {0};

    for (uint32_t i = from; i < v->reads; i++)
        got[i - from] = (char)('0' + (v->read[i].pa & 0xfff) / 8 / 64);
    assert_string_equal(got, want);
}

static void figure_9(void **state)
{
    struct vm *v = figure(new_subs());

    (void)state;
    vm_ask(v, 0, 0, 0, 0, REGION + 0x4d); /* of S1 */
    vm_finish(v);
    for (uint32_t i = 0; i < 9; i++)
        assert_int_equal(v->read[i].level, i < 4 ? i + 1 : 0);
    head_ptes(v, 4, "02347");
    assert_int_equal(held(v, REGION + 0x4d, REGION, 0x00f87), 4 * 64);
    assert_int_equal(held(v, REGION + 255, REGION, 0x00f87), 4 * 64);
    assert_int_equal(held(v, REGION + 256, 0, 0), 0);
    assert_int_equal(msc(v, HD_MSC_FILLS), 1);
    vm_ask(v, 10000, 0, 0, 0, REGION + 256);
    vm_ask(v, 20000, 0, 0, 0, REGION + 511);
    vm_ask(v, 30000, 0, 0, 0, REGION + 336);
    vm_ask(v, 40000, 0, 0, 0, REGION + 9);
    vm_finish(v);
    assert_int_equal(held(v, REGION + 300, REGION + 256, 0x0201d), 64);
    assert_int_equal(held(v, REGION + 500, REGION + 448, 0x0205d), 64);
    assert_int_equal(held(v, REGION + 336, REGION + 336, 0x01500), 1);
    assert_int_equal(msc(v, HD_MSC_LOOKUPS), 3);
    assert_int_equal(msc(v, HD_MSC_HITS), 2);
    assert_int_equal(msc(v, HD_MSC_READS), 5);
    assert_int_equal(v->reads, 4 * 4 + 5);
    assert_int_equal(vm_answer(v, 4)->hit, HD_TREQ_HIT_L2);
    assert_int_equal(v->mmu->unit[0].subs.links[REGION / 512 * 8], 0x07);
    vm_true(v);
    vm_close(v);
}

/* With the bits in leaf entries each walk reads its own, and knows as much. */
static void bits_in_leaves(void **state)
{
    struct vm *v = new_subs();

    (void)state;
    v->msc.bits = 1;
    figure(v);
    vm_ask(v, 0, 0, 0, 0, REGION + 0x4d);
    vm_due(v, 0, WALK);
    vm_finish(v);
    assert_int_equal(v->read[3].pa & 0xfff, 8 * 0x4d);
    head_ptes(v, 4, "02347");
    assert_int_equal(held(v, REGION + 0x4d, REGION, 0x00f87), 4 * 64);
    vm_true(v);
    vm_close(v);
}

/* What tlb_fill keeps out of the L2 TLB is a page in the bypass cache, and nothing
 * more is read for it. */
static int64_t aside(void *self, const void *question)
{
    (void)self, (void)question;
    return HEDDLE_TLB_FILL_BYPASS;
}

static const struct heddle_policy bypass = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "aside",
    .summary = "of this test",
    .answer = {[HEDDLE_POINT_tlb_fill] = aside},
};

static void kept_out(void **state)
{
    struct vm *v = new_subs();
    struct hd_xlate x;

    (void)state;
    v->bypass.entries = 4;
    figure(v);
    vmslots_use(&v->policies, &bypass, "");
    vm_ask(v, 0, 0, 0, 0, REGION + 0x4d);
    vm_finish(v);
    assert_int_equal(v->reads, 4);
    assert_int_equal(held(v, REGION + 0x4d, 0, 0), 0);
    assert_true(hd_tlb_peek(&v->mmu->unit[0].bypass, 0, (hd_vpn){REGION + 0x4d},
                            &x));
    assert_int_equal(x.pages, 1);
    vm_close(v);
}

/* Without an MSC: up until the link breaks, which takes a read where the next is
 * whole, then down. */
static void outward(void **state)
{
    static const struct {
        uint32_t sub;
        const char *reads;
    } from[] = {{2, "3410"}, {0, "1234"}, {3, "4210"}, {4, "3"}, {7, ""}};

    (void)state;
    for (size_t i = 0; i < HD_LEN(from); i++) {
        struct vm *v = new_subs();
        uint32_t s = from[i].sub;
        v->msc.entries = 0;
        figure(v);
        vm_ask(v, 0, 0, 0, 0, REGION + s * 64 + 5);
        vm_finish(v);
        head_ptes(v, 4, from[i].reads);
        assert_int_equal(held(v, REGION + s * 64,
                              REGION + (s < 4 ? 0 : s * 64),
                              s < 4    ? 0x00f87
                              : s == 4 ? 0x0201d
                                       : 0x0205d),
                         s < 4 ? 256 : 64);
        assert_int_equal(msc(v, HD_MSC_LOOKUPS) + msc(v, HD_MSC_FILLS), 0);
        vm_close(v);
    }
}

/* ---- times ------------------------------------------------------------------- */

/* A request that arrives when the entry is made is too early, and a cycle later
 * hits: its way and one look-up. */
static void filled_at(struct vm *(*make)(void), uint64_t at, uint64_t vpn)
{
    for (uint64_t late = 0; late < 2; late++) {
        struct vm *v = make();
        uint32_t tag = v->sent;
        vm_ask(v, at - WAY + late, 1, 0, 0, vpn);
        vm_finish(v);
        assert_int_equal(vm_answer(v, tag)->hit,
                         late ? HD_TREQ_HIT_L2 : HD_TREQ_WALKED);
        if (late)
            assert_int_equal(vm_answer(v, tag)->at, at + 1 + LOOK);
        assert_int_equal(msc(v, HD_MSC_EARLY), !late);
        vm_close(v);
    }
}

static struct vm *missing(void)
{
    struct vm *v = figure(new_subs());

    vm_ask(v, 0, 0, 0, 0, REGION + 0x4d);
    return v;
}

static struct vm *knowing(void) /* the MSC does, from a walk of S4 */
{
    struct vm *v = figure(new_subs());

    vm_ask(v, 0, 0, 0, 0, REGION + 256);
    vm_ask(v, 10000, 0, 0, 0, REGION + 0x4d);
    return v;
}

static struct vm *alone(void)
{
    struct vm *v = new_subs();

    v->msc.entries = 0;
    figure(v);
    vm_ask(v, 0, 0, 0, 0, REGION + 0x4d);
    return v;
}

static void times_of_entries(void **state)
{
    (void)state;
    filled_at(missing, WALK + MSC + 5 * READ, REGION + 200);
    filled_at(knowing, 10000 + WALK + MSC, REGION + 200);
    filled_at(alone, WALK + 4 * READ, REGION + 200);
}

static void times_of_hits(void **state)
{
    struct vm *v = missing();
    uint32_t tag;

    (void)state;
    vm_due(v, 0, WALK); /* after its own head */
    vm_ask(v, 5000, 0, 0, 0, REGION + 336);
    vm_due(v, 1, 5000 + WALK);
    tag = v->sent;
    vm_ask(v, 9000, 0, 0, 0, REGION + 3);
    vm_ask(v, 9100, 0, 0, 0, REGION + 336);
    vm_due(v, tag, 9000 + WAY + LOOK);
    vm_due(v, tag + 1, 9100 + WAY + 2 * LOOK);
    vm_finish(v);
    vm_close(v);
    v = new_subs();
    v->l2tlb.sub_ways = 0; /* the baseline probes once */
    figure(v);
    vm_ask(v, 0, 0, 0, 0, REGION + 3);
    vm_due(v, 0, WALK - LOOK);
    vm_ask(v, 1000, 0, 0, 0, REGION + 3);
    vm_due(v, 1, 1000 + WAY + LOOK);
    vm_finish(v);
    assert_int_equal(v->reads, 4);
    vm_close(v);
}

/* One walker: the next walk begins when the first has read all head PTEs. */
static void the_walker_stays(void **state)
{
    struct vm *v = new_subs();

    (void)state;
    v->walk.walkers = 1;
    figure(v);
    vm_ask(v, 0, 0, 0, 0, REGION + 0x4d);
    vm_ask(v, 10, 1, 0, 0, REGION + 336);
    vm_due(v, 0, WALK);
    vm_due(v, 1, WALK + MSC + 5 * READ + 4 * READ);
    vm_finish(v);
    assert_int_equal(msc(v, HD_MSC_BUSY_CYCLES), MSC + 5 * READ);
    vm_close(v);
}

/* A batch of two walks, one of which has extra reads: the other has ended by then,
 * and the next batch begins when they are over. */
static void a_batch_stays(void **state)
{
    struct vm *v = new_subs();

    (void)state;
    v->walk.walkers = 1;
    v->walk.batch = 4;
    figure(v);
    vm_ask(v, 0, 0, 0, 0, REGION + 0x4d);
    vm_ask(v, 0, 1, 0, 0, REGION + 336);
    vm_ask(v, WALK - 2 * READ, 0, 0, 0, REGION + 337); /* it is open no more */
    vm_due(v, 0, WALK);
    vm_due(v, 1, WALK + 1); /* its leaf is read a cycle later */
    vm_due(v, 2, WALK + MSC + 5 * READ + 4 * READ);
    vm_finish(v);
    assert_int_equal(v->reads, 4 + 1 + 5 + 4);
    assert_int_equal(vm_walks(v, 0, HD_WALK_BATCHES), 2);
    assert_int_equal(msc(v, HD_MSC_BUSY_CYCLES), MSC + 5 * READ);
    vm_close(v);
}

/* Beside an array of large entries, which is probed first, or at once with those
 * of subregions. */
static void behind_large_entries(void **state)
{
    (void)state;
    for (uint32_t serial = 0; serial < 2; serial++) {
        struct vm *v = new_subs();
        uint32_t tag;
        v->l2tlb.large_entries = 8;
        v->l2tlb.serial = serial;
        figure(v);
        vm_ask(v, 0, 0, 0, 0, REGION + 0x4d);
        vm_due(v, 0, WALK + serial * LOOK);
        vm_ask(v, 5000, 0, 0, 0, REGION + 336);
        vm_due(v, 1, 5000 + WALK + serial * LOOK);
        tag = v->sent;
        vm_ask(v, 9000, 0, 0, 0, REGION + 3);
        vm_ask(v, 9100, 0, 0, 0, REGION + 336);
        vm_due(v, tag, 9000 + WAY + (1 + serial) * LOOK);
        vm_due(v, tag + 1, 9100 + WAY + (2 + serial) * LOOK);
        vm_finish(v);
        assert_int_equal(held(v, REGION + 0x4d, REGION, 0x00f87), 4 * 64);
        vm_close(v);
    }
}

/* ---- what cancels ------------------------------------------------------------- */

/* The page in the middle of S2 moves at an instant: what is left then. */
static void moved_at(uint64_t at, bool filled)
{
    struct vm *v = missing();

    vm_run(v, at - 1);
    move(v, REGION + 150, 0x01600);
    vm_finish(v);
    assert_int_equal(msc(v, HD_MSC_CANCELLED), !filled);
    assert_int_equal(msc(v, HD_MSC_FILLS), filled);
    assert_int_equal(msc(v, HD_MSC_INVALIDATIONS), filled);
    assert_int_equal(held(v, REGION + 0x4d, 0, 0), 0);
    vm_ask(v, 20000, 0, 0, 0, REGION + 150);
    vm_ask(v, 30000, 0, 0, 0, REGION + 64);
    vm_finish(v);
    assert_int_equal(held(v, REGION + 150, REGION + 150, 0x01600), 1);
    assert_int_equal(held(v, REGION + 64, REGION, 0x00f87), 128);
    vm_true(v);
    vm_close(v);
}

static void shot_down(void **state)
{
    const uint64_t end = WALK + MSC + 5 * READ;

    (void)state;
    moved_at(WALK + 1, false);
    moved_at(end, false);
    moved_at(end + 1, true);
}

/* A walk under way, too, has read what is no longer so: it enters its own page. */
static void shot_under_a_walk(void **state)
{
    struct vm *v = missing();

    (void)state;
    vm_run(v, WALK - 1);
    move(v, REGION + 0x4d, 0x01600);
    vm_finish(v);
    assert_int_equal(vm_answer(v, 0)->pfn, 0x01600);
    assert_int_equal(held(v, REGION + 0x4d, REGION + 0x4d, 0x01600), 1);
    assert_int_equal(msc(v, HD_MSC_LOOKUPS) + msc(v, HD_MSC_READS), 0);
    vm_close(v);
}

static void refused(void **state)
{
    (void)state;
    static const char *const WHY[] = {
        "l2tlb.mode = off: with l2tlb.sub_ways = 8 only full",
        "walk.mode = fixed: with l2tlb.sub_ways = 8 only full",
        "l2tlb.sub_ways = 8: at most the 4 ways of a set (l2tlb.ways)",
        "l2tlb.ways = 32, sets of 32: with l2tlb.sub_ways = 8 at most 16",
    };
    for (uint32_t i = 0; i < HD_LEN(WHY); i++) {
        struct vm *v = new_subs();
        v->l2tlb.mode.kind = i == 0 ? HD_OFF : HD_FULL;
        v->walk.mode.kind = i == 1 ? HD_FIXED : HD_FULL;
        if (i >= 2)
            v->l2tlb.ways = i == 2 ? 4 : 32;
        vm_open(v, 1);
        assert_null(v->mmu);
        assert_non_null(strstr(v->m.err.text, WHY[i]));
        vm_close(v);
    }
}

/* ---- whatever happens ---------------------------------------------------------- */

enum { SPAN = 8 * 512, ALLOCS = 8 };

/* A step of a random life: of 16 pages each moves away and back, allocations are
 * mapped anew, or pages leave memory (with faults). */
static void disturb(struct vm *v, struct hd_rng *r, bool faults, uint32_t step)
{
    uint64_t page = hd_mix64(step / 32 * 16 + step % 16) % SPAN;
    hd_vpn vpn = {REGION + page};
    uint32_t app = step % 2;
    struct hd_xlate x;

    if (faults) {
        if (!hd_ptables_page(v->pt, app, vpn, &x))
            return;
        hd_ptables_evict(v->pt, app, &x);
        hd_mmu_shoot(v->mmu, app, x.vpn, x.pages, 0);
        hd_ptables_evicted(v->pt, app, x.vpn);
    } else if (hd_rng_below(r, 64) == 0) {
        uint32_t i = (uint32_t)page % ALLOCS;
        hd_va base = {(REGION + i * (SPAN / ALLOCS)) << 12};
        uint64_t bytes = (SPAN / ALLOCS) << 12;
        hd_ptables_unmap(v->pt, app, i, base, bytes);
        assert_int_equal(
            hd_ptables_map(v->pt, app, i, base, bytes, &v->m.err), 0);
        hd_mmu_shoot(v->mmu, app, (hd_vpn){base.v >> 12}, SPAN / ALLOCS, 0);
    } else if (hd_ptables_find(v->pt, app, vpn, &x)) {
        /* the top of memory is free for it, or the place that it left */
        hd_pfn home = {x.pfn.v ^ 0x8000};
        if (hd_ptables_owner(v->pt, home, &app, &vpn))
            return;
        hd_ptables_move(v->pt, x.pfn, home);
        hd_mmu_shoot(v->mmu, app, vpn, 1, 0);
    }
}

static void live(uint32_t seed, bool faults, uint32_t batch, uint32_t steps)
{
    struct vm *v = new_subs();
    struct hd_rng r = hd_rng_make(seed, 209);
    uint64_t hits = 0, n = 0;

    v->l2tlb.entries = 64;
    v->msc.entries = seed % 2 == 0 ? 16 : 0;
    v->walk.batch = batch;
    v->walk.walkers = batch > 1 ? 3 : v->walk.walkers;
    v->pwc.mode.kind = HD_FULL;
    v->pwc.style = HD_PWC_PREFIX;
    v->pwc.entries = 32;
    v->vm_cfg.memory_bytes = 256u << 20;
    v->link_cfg.latency = 100;
    if (faults)
        v->vm_cfg.paging = HD_PAGING_FAULT;
    delta = faults ? 0x1000 - REGION : 0;
    start(v);
    for (uint32_t i = 0; i < 2 * ALLOCS; i++)
        assert_int_equal(
            (faults ? hd_ptables_reserve : hd_ptables_map)(
                v->pt, i % 2, i / 2,
                (hd_va){(REGION + i / 2 * (SPAN / ALLOCS)) << 12},
                (SPAN / ALLOCS) << 12, &v->m.err),
            0);
    for (uint32_t i = 0; i < steps; i++) {
        uint64_t now = hd_events_now(&v->m.ev), hot = hd_rng_below(&r, SPAN);
        disturb(v, &r, faults, i);
        for (uint32_t k = 0; k < 16; k++, n++)
            vm_ask(v, now + hd_rng_below(&r, 3000), hd_rng_below(&r, VM_CORES),
                   0, hd_rng_below(&r, 2),
                   REGION + (hot + hd_rng_below(&r, 300)) % SPAN);
        vm_run(v, now + hd_rng_below(&r, 3000));
        if (i % 256 == 255) {
            assert_string_equal(memenv_check(&v->m, NULL), "");
            if (!faults) { /* all is there */
                vm_run(v, now + 40000);
                assert_int_equal(v->answers, v->sent);
            }
            for (uint32_t a = 0; a < v->answers; a++)
                hits += v->answer[a].hit == HD_TREQ_HIT_L2;
            v->sent -= v->answers;
            v->answers = 0;
        }
    }
    vm_finish(v);
    assert_in_range(hits, n / 20, n);
    assert_true(msc(v, HD_MSC_READS) > 0 && msc(v, HD_MSC_CANCELLED) > 0 &&
                msc(v, HD_MSC_EARLY) > 0 && msc(v, HD_MSC_SUBREGIONS) > 0);
    assert_int_equal(msc(v, HD_MSC_INVALIDATIONS) > 0, v->msc.entries != 0);
    vm_close(v);
}

static void random_lives(void **state)
{
    (void)state;
    live(1, false, 1, 20000);
    live(2, false, 1, 20000);
    live(3, true, 1, 12000);
    live(4, true, 1, 12000);
    live(5, false, 6, 12000);
    live(6, true, 6, 12000);
}

static void restored(void **state)
{
    (void)state;
    for (uint64_t cut = WALK - 1; cut < WALK + 700; cut += 97) {
        struct vm *v = missing();
        for (uint32_t i = 0; i < 40; i++)
            vm_ask(v, 37 * i, i % VM_CORES, 0, 0, REGION + 131 * i % 512);
        vm_replay(v, cut);
        vm_close(v);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure_6),         cmocka_unit_test(figure_9),
        cmocka_unit_test(outward),          cmocka_unit_test(times_of_entries),
        cmocka_unit_test(times_of_hits),    cmocka_unit_test(the_walker_stays),
        cmocka_unit_test(shot_down),        cmocka_unit_test(shot_under_a_walk),
        cmocka_unit_test(bits_in_leaves),   cmocka_unit_test(kept_out),
        cmocka_unit_test(refused),          cmocka_unit_test(random_lives),
        cmocka_unit_test(restored),         cmocka_unit_test(a_batch_stays),
        cmocka_unit_test(behind_large_entries),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm subregions", tests, NULL, NULL);
}
