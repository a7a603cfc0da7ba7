/*
 * Pinned: the contiguity bits of MESC's scan (vm.scan).  The paper's figures 6
 * and 9 are made of page tables and must come out to the digit.  Then random
 * maps, moves, protections, arrivals, evictions and coalescings: after each, the
 * bits of the region are those that a look at its pages gives, and whoever holds
 * bits was told of the change; the part's own check, which walks for every page
 * there is, runs often.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmslots.h"

#include <stdlib.h>

#include "kit/rng.h"
#include "pages/contig.h"
#include "pages/ptstate.h"

enum { MB = 1 << 20, PAGES = 512, SPAN = 3 * PAGES, ALLOCS = 24 };

/* Where the next page goes: the frame that follows from its number, if it is
 * free, else any that is. */
struct wish {
    uint64_t delta;
    struct hd_ptables *t;
};
static struct wish wish;

static uint64_t wished(uint64_t app, uint64_t vpn)
{
    return vpn + wish.delta + app * 4096;
}

/* A free frame beyond all that is wished for. */
static uint64_t elsewhere(const struct hd_ptables *t, uint32_t pages)
{
    uint64_t f = 8192;

    while (!hd_frames_free(&t->frames, f, pages))
        f += pages;
    return f;
}

static int64_t as_wished(void *self, const void *question)
{
    const struct heddle_q_frame_place *q = question;
    uint64_t f = wished(q->app, q->vpn);

    (void)self;
    return (int64_t)(f % q->pages == 0 &&
                             hd_frames_free(&wish.t->frames, f,
                                            (uint32_t)q->pages)
                         ? f
                         : elsewhere(wish.t, (uint32_t)q->pages));
}

static const struct heddle_policy wishes = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "wishes",
    .summary = "pages go where the test wants them",
    .answer = {[HEDDLE_POINT_frame_place] = as_wished},
};

struct rig {
    struct memenv m;
    struct vmslots s;
    struct hd_ptables *t;
    uint32_t told; /* times */
};

static void changed(void *self, uint32_t app, hd_vpn first)
{
    struct rig *r = self;

    assert_true(app < 2 && first.v % PAGES == 0);
    r->told++;
}

static void open_rig(struct rig *r, struct hd_vm_cfg cfg)
{
    struct hd_env *env = memenv_open(&r->m, 2);

    cfg.table_frames = 64;
    cfg.scan = 1;
    vmslots_open(&r->s, env, 1);
    r->t = wish.t = hd_ptables_open(env, &cfg);
    assert_non_null(r->t);
    hd_contig_client(r->t, changed, r);
    vmslots_use(&r->s, &wishes, "");
    r->told = 0;
}

static void close_rig(struct rig *r)
{
    vmslots_close(&r->s);
    memenv_close(&r->m);
}

/* Maps pages from vpn on to the frames from pfn on. */
static void lay(struct rig *r, uint32_t index, uint64_t vpn, uint64_t pages,
                uint64_t pfn)
{
    wish.delta = pfn - vpn;
    assert_int_equal(hd_ptables_map(r->t, 0, index, (hd_va){vpn << 12},
                                    pages << 12, &r->m.err),
                     0);
}

/* ---- the paper's figures ------------------------------------------------- */

static void entry(const struct hd_contig *c, uint32_t s, uint32_t first,
                  uint32_t length, uint64_t pfn)
{
    uint32_t from, n = hd_contig_run(hd_contig_links(c), s, &from);

    assert_int_equal(from, first);
    assert_int_equal(n - 1, length);
    assert_int_equal(c->head[from].v, pfn);
}

static void figure_9(void **state)
{
    struct rig r;
    struct hd_contig c;
    uint64_t at = 0x1a00;

    (void)state;
    open_rig(&r, (struct hd_vm_cfg){.memory_bytes = 64 * MB});
    lay(&r, 0, at, 256, 0x00f87);
    lay(&r, 1, at + 256, 64, 0x0201d);
    lay(&r, 2, at + 320, 70, 0x01300); /* neither S5 nor S6 is whole */
    lay(&r, 3, at + 390, 58, 0x01401);
    hd_ptables_move(r.t, (hd_pfn){0x01310}, (hd_pfn){0x01500});
    lay(&r, 4, at + 448, 64, 0x0205d);
    hd_contig_look(r.t, 0, (hd_vpn){at + 77}, &c);
    assert_int_equal(c.bits, 0x9f);
    assert_int_equal(hd_contig_links(&c), 0x07);
    for (uint32_t s = 0; s < 4; s++)
        entry(&c, s, 0, 0x3, 0x00f87);
    entry(&c, 4, 4, 0x0, 0x0201d);
    entry(&c, 7, 7, 0x0, 0x0205d);
    /* pages that may only be read do not join those that may be written */
    hd_ptables_protect(r.t, 0, (hd_vpn){at + 64}, 64, false);
    hd_contig_look(r.t, 0, (hd_vpn){at}, &c);
    assert_int_equal(c.bits, 0x9f);
    assert_int_equal(hd_contig_links(&c), 0x04);
    hd_ptables_protect(r.t, 0, (hd_vpn){at + 64}, 1, true);
    assert_int_equal(hd_contig_of(r.t, 0, (hd_vpn){at}), 0x9d);
    assert_string_equal(memenv_check(&r.m, NULL), "");
    close_rig(&r);
}

/* The entry that a walk reads in each of its modes, and the frame. */
static void figure_6(void **state)
{
    struct rig r;
    struct hd_contig c;
    hd_pa pte[4], head[4];
    uint64_t vfn = 0x80188;

    (void)state;
    open_rig(&r, (struct hd_vm_cfg){.memory_bytes = 3ull << 30});
    lay(&r, 0, 0x80000, 512, 0x6000a);
    hd_contig_look(r.t, 0, (hd_vpn){vfn}, &c);
    assert_int_equal(c.bits, HD_CONTIG_ALL | 0xff); /* mode a */
    assert_int_equal(hd_contig_links(&c), 0x7f);
    assert_int_equal(c.head[0].v + vfn % 512, 0x60192);
    assert_int_equal(hd_ptables_walk(r.t, 0, (hd_vpn){vfn}, pte), 4);
    assert_int_equal(hd_ptables_walk(r.t, 0, (hd_vpn){0x80000}, head), 4);
    assert_int_equal(hd_contig_bits(hd_ptables_entry(r.t, pte[2])), c.bits);
    assert_int_equal(head[3].v % 4096 / 8, 0x000);
    assert_int_equal(pte[3].v % 4096 / 8, 0x188);
    /* C6 = 0, mode b; C0 = 0, so that S6 is read alone, mode c */
    hd_ptables_move(r.t, (hd_pfn){0x60193}, (hd_pfn){0x100});
    assert_int_equal(hd_contig_of(r.t, 0, (hd_vpn){vfn}), 0xbf);
    hd_ptables_move(r.t, (hd_pfn){0x100}, (hd_pfn){0x60193});
    assert_int_equal(hd_contig_of(r.t, 0, (hd_vpn){vfn}), 0x1ff);
    hd_ptables_move(r.t, (hd_pfn){0x6000a}, (hd_pfn){0x100});
    hd_contig_look(r.t, 0, (hd_vpn){vfn}, &c);
    assert_int_equal(c.bits, 0xfe);
    assert_int_equal(c.head[6].v + vfn % 64, 0x60192);
    assert_int_equal(r.told, 4);
    assert_string_equal(memenv_check(&r.m, NULL), "");
    close_rig(&r);
}

/* ---- by chance ----------------------------------------------------------- */

struct soak {
    struct rig r;
    struct hd_rng g;
    struct {
        uint64_t vpn, pages;
        bool live;
    } alloc[2][ALLOCS];
};

static uint32_t below(struct soak *k, uint32_t n)
{
    return hd_rng_below(&k->g, n);
}

/* What the pages of a region say of it. */
static uint32_t look_at(const struct hd_ptables *t, uint32_t app, uint64_t vpn)
{
    uint64_t at[PAGES];
    uint32_t bits = 0, in_order = 0;

    for (uint32_t i = 0; i < PAGES; i++) {
        struct hd_xlate x;
        hd_pa pte[4];
        at[i] = UINT64_MAX;
        if (!hd_ptables_find(t, app, (hd_vpn){vpn + i}, &x) || x.pages == PAGES)
            continue;
        assert_int_equal(hd_ptables_walk(t, app, (hd_vpn){vpn + i}, pte), 4);
        at[i] = hd_xlate_frame(&x, (hd_vpn){vpn + i}).v * 2 +
                (hd_ptables_entry(t, pte[3]) >> 1 & 1);
    }
    for (uint32_t s = 0; s < HD_SUBS; s++) {
        uint32_t i = s * HD_SUB_PAGES, n = 1;
        while (n < HD_SUB_PAGES && at[i] != UINT64_MAX &&
               at[i + n] == at[i] + 2 * n)
            n++;
        bits |= (uint32_t)(n == HD_SUB_PAGES) << s;
    }
    while (in_order < PAGES && at[in_order] != UINT64_MAX &&
           at[in_order] == at[0] + 2 * in_order)
        in_order++;
    return bits | (in_order == PAGES ? HD_CONTIG_ALL : 0);
}

static void map_or_unmap(struct soak *k, uint32_t app, uint64_t vpn)
{
    uint32_t i = below(k, ALLOCS);
    uint64_t n = below(k, 3) == 0 ? 1024 : 1 + below(k, 200);

    if (k->alloc[app][i].live && below(k, 8) != 0)
        return;
    if (k->alloc[app][i].live) {
        vpn = k->alloc[app][i].vpn;
        n = k->alloc[app][i].pages;
        hd_ptables_unmap(k->r.t, app, i, (hd_va){vpn << 12}, n << 12);
    } else {
        vpn = below(k, 2) ? vpn & ~63ull : vpn;
        n = hd_min_u64(n, 0x1fe00 + SPAN - vpn);
        assert_int_equal((k->r.t->cfg.paging ? hd_ptables_reserve
                                             : hd_ptables_map)(
                             k->r.t, app, i, (hd_va){vpn << 12}, n << 12,
                             &k->r.m.err),
                         0);
        k->alloc[app][i].vpn = vpn;
        k->alloc[app][i].pages = n;
    }
    k->alloc[app][i].live = !k->alloc[app][i].live;
}

/* Pages from vpn on come, with their data or, if `far`, to be used where they
 * are. */
static void come(struct soak *k, uint32_t app, uint64_t vpn, uint64_t n,
                 bool far)
{
    struct hd_ptables *t = k->r.t;
    struct hd_xlate x;

    for (uint64_t v = vpn; v < vpn + n; v++) {
        if (!hd_ptables_nonresident(t, app, (hd_vpn){v}, &x) || x.vpn.v != v)
            continue;
        hd_ptables_evicted(t, app, x.vpn); /* if it was leaving */
        if (far && hd_ptables_can_map_host(t, app, x.vpn) == HD_MAP_HOST_CAN)
            hd_ptables_map_host(t, app, &x);
        else if (hd_ptables_in_flight(t, app, x.vpn) ||
                 (!far && below(k, 64) != 0 &&
                  hd_ptables_place(t, app, x.vpn, true, &k->r.m.err) ==
                      HD_PLACED))
            hd_ptables_arrive(t, app, x.vpn, below(k, 2));
    }
}

static void leave(struct soak *k, uint32_t app, uint64_t vpn, uint64_t n)
{
    struct hd_ptables *t = k->r.t;
    struct hd_xlate x;

    if (hd_ptables_large(t, app, (hd_vpn){vpn}, &x))
        hd_ptables_split(t, app, (hd_vpn){vpn});
    for (uint64_t v = vpn; v < vpn + n && v % PAGES >= vpn % PAGES; v++) {
        if (!hd_ptables_page(t, app, (hd_vpn){v}, &x) || x.vpn.v != v)
            continue;
        if (x.pfn.v >= HD_HOST_FRAME)
            hd_ptables_unmap_host(t, app, &x);
        else
            hd_ptables_evict(t, app, &x);
    }
}

static void move(struct soak *k, uint32_t app, uint64_t vpn, bool away)
{
    struct hd_ptables *t = k->r.t;
    struct hd_xlate x, whole;
    uint64_t to = away ? elsewhere(t, 1) : wished(app, vpn);

    if (hd_ptables_page(t, app, (hd_vpn){vpn}, &x) && x.pages == 1 &&
        x.pfn.v < HD_HOST_FRAME &&
        hd_ptables_present(t, app, (hd_vpn){vpn}) != 0 &&
        !hd_ptables_large(t, app, (hd_vpn){vpn}, &whole) &&
        hd_frames_free(&t->frames, to, 1))
        hd_ptables_move(t, x.pfn, (hd_pfn){to});
}

static uint32_t whole, some, large; /* what looks found; coalescings */

static void join_or_split(struct soak *k, uint32_t app, uint64_t vpn)
{
    struct hd_ptables *t = k->r.t;
    struct hd_xlate x;
    hd_pfn f;

    if (hd_ptables_large(t, app, (hd_vpn){vpn}, &x))
        hd_ptables_split(t, app, (hd_vpn){vpn});
    else if (hd_ptables_whole(t, app, (hd_vpn){vpn}, &f) != 0) {
        hd_ptables_join(t, app, (hd_vpn){vpn});
        large++;
    }
}

/* All pages of a region that there are come, to where they should be. */
static void mend(struct soak *k, uint32_t app, uint64_t first)
{
    come(k, app, first, PAGES, false);
    for (uint64_t v = first; v < first + PAGES; v++)
        move(k, app, v, false);
    hd_ptables_protect(k->r.t, app, (hd_vpn){first - 1}, PAGES + 2, true);
}

static void step(struct soak *k)
{
    uint32_t app = below(k, 2), what = below(k, 16), told = k->r.told;
    uint64_t vpn = 0x1fe00 + below(k, SPAN), first = vpn & ~511ull;
    uint64_t n = below(k, 4) != 0 ? 1 + below(k, 4) : 1 + below(k, 512);
    uint32_t before = hd_contig_of(k->r.t, app, (hd_vpn){vpn}), now;

    if (what == 0 || what == 1)
        map_or_unmap(k, app, vpn);
    else if (what < 6)
        move(k, app, vpn, what < 4);
    else if (what == 6)
        hd_ptables_protect(k->r.t, app, (hd_vpn){vpn}, n, below(k, 3) != 0);
    else if (what == 7)
        join_or_split(k, app, vpn);
    else if (what == 8)
        leave(k, app, vpn, below(k, 16) == 0 ? n : 1);
    else if (what == 9)
        mend(k, app, first);
    else
        come(k, app, vpn, n, what == 10 && below(k, 4) == 0);
    now = hd_contig_of(k->r.t, app, (hd_vpn){vpn});
    assert_int_equal(now, look_at(k->r.t, app, first));
    assert_true(now == before || k->r.told != told);
}

static void soak(uint32_t page, uint32_t paging, uint32_t steps)
{
    struct soak *k = calloc(1, sizeof *k);

    open_rig(&k->r, (struct hd_vm_cfg){.memory_bytes = 64 * MB,
                                       .page = page,
                                       .paging = paging});
    k->g = hd_rng_make(7 + page, paging);
    wish.delta = 512 - 0x1fe00;
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t bits;
        step(k);
        if (i % 4096 == 0) /* of an application with a place of its own */
            wish.delta = below(k, 4) * 512ull + (below(k, 4) == 0) * below(k, 64) -
                         0x1fe00;
        if (i % 512 != 0)
            continue;
        bits = hd_contig_of(k->r.t, i / 512 % 2, (hd_vpn){0x1fe00});
        whole += bits >> HD_SUBS;
        some += bits != 0;
        if (i % 2048 == 0)
            assert_string_equal(memenv_check(&k->r.m, NULL), "");
    }
    close_rig(&k->r);
    free(k);
}

static void by_chance(void **state)
{
    const char *n = getenv("HEDDLE_SOAK");
    uint32_t steps = n != NULL ? (uint32_t)atoi(n) : 30000;

    (void)state;
    for (uint32_t page = 0; page < 3; page++)
        for (uint32_t paging = 0; paging < 3; paging += HD_PAGING_FAULT)
            soak(page, paging, steps);
    print_message("%u looks found all of 2 MB contiguous, %u some of it; %u "
                  "times coalesced\n",
                  whole, some, large);
    assert_true(whole > 0 && some > whole && large > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure_9),
        cmocka_unit_test(figure_6),
        cmocka_unit_test(by_chance),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
