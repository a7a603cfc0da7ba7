/*
 * Pinned: formats of page tables (vm.format).  How many entries a walk reads by
 * format and page class, and of which levels, as the drivers' tables have it;
 * that they are those that a naive walker reads, which goes from the root
 * through the entries in memory and knows only the format, under random
 * mapping, unmapping, coalescing and splitting, and with a walk cache those
 * that it does not hold; tables of 256 bytes that share frames; pages of 512 MB
 * that come and go; addresses and settings that a format refuses.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmenv.h"

#include "kit/rng.h"
#include "pages/ptstate.h"
#include "texts.h"

#define MB 1048576ull

/* ---- the naive walker ------------------------------------------------- */

/* Bits of an address that index each level, from the first on, the root's
 * first; the last is PDE0's. */
struct naive {
    uint32_t levels, low[5], high[5];
};

static const struct naive NAIVE[HD_FORMATS] = {
    [HD_FORMAT_VOLTA] = {4, {47, 38, 29, 21}, {48, 46, 37, 28}},
    [HD_FORMAT_AMPERE] = {4, {47, 38, 29, 21}, {48, 46, 37, 28}},
    [HD_FORMAT_HOPPER] = {5, {56, 47, 38, 29, 21}, {56, 55, 46, 37, 28}},
};

struct reads {
    uint64_t pa[8];
    uint32_t level[8], n;
    uint64_t pages; /* of the page that is found, 0: none */
    uint64_t frame; /* of its first base page */
};

static uint64_t bits_of(uint64_t va, uint32_t high, uint32_t low)
{
    return va >> low & ((1ull << (high - low + 1)) - 1);
}

static uint64_t entry(const struct hd_ptables *t, uint64_t pa)
{
    return hd_ptables_entry(t, (hd_pa){pa});
}

static void read_at(struct reads *r, uint64_t pa, uint32_t level)
{
    r->pa[r->n] = pa;
    r->level[r->n++] = level;
}

static void found(struct reads *r, uint64_t e, uint64_t pages)
{
    r->pages = pages;
    r->frame = bits_of(e, 51, 12) & ~(pages - 1);
}

static struct reads naive_walk(const struct hd_ptables *t, uint32_t format,
                               uint64_t root, uint64_t va)
{
    const struct naive *f = &NAIVE[format];
    struct reads r = {.n = 0};
    uint64_t table = root, e = 0, small;

    for (uint32_t l = 0; l < f->levels; l++) {
        uint32_t size = l + 1 == f->levels ? 16 : 8;
        uint64_t pa = table + size * bits_of(va, f->high[l], f->low[l]);
        read_at(&r, pa, l + 1);
        e = entry(t, pa);
        if (l + 2 == f->levels && e >> 62 & 1) { /* 512 MB */
            table = bits_of(e, 51, 12) << 12;
            found(&r, entry(t, table), 131072);
            return r;
        }
        if (l + 1 < f->levels && !(e & 1))
            return r;
        table = bits_of(e, 51, 12) << 12;
    }
    small = entry(t, r.pa[r.n - 1] + 8);
    if (e & 1 && e >> 7 & 1) {
        found(&r, e, 512);
        return r;
    }
    if (small & 1 && small >> 10 & 1) { /* coalesced */
        found(&r, entry(t, bits_of(small, 51, 12) << 12), 512);
        return r;
    }
    if (e & 1) {
        uint64_t pa = (bits_of(e, 51, 8) << 8) + 8 * bits_of(va, 20, 16);
        read_at(&r, pa, f->levels + 1);
        e = entry(t, pa);
        if (e & 1)
            found(&r, e, 16);
        if (e & 1 || e >> 63)
            return r;
    }
    if (small & 1) {
        uint64_t pa = (bits_of(small, 51, 12) << 12) + 8 * bits_of(va, 20, 12);
        read_at(&r, pa, f->levels + 1);
        e = entry(t, pa);
        if (e & 1)
            found(&r, e, 1);
    }
    return r;
}

static uint64_t root_of(const struct hd_ptables *t, uint32_t app)
{
    return t->first_pa + (uint64_t)t->s->root[app] * 4096;
}

/* The engine's walk of a page that has tables is the naive one's, and so is
 * what it finds.  Returns how many entries it reads. */
static uint32_t same_walk(const struct hd_ptables *t, uint32_t format,
                          uint32_t app, uint64_t vpn)
{
    hd_pa pte[HD_WALK_STEPS];
    uint32_t n = hd_ptables_path(t, app, (hd_vpn){vpn}, pte);
    struct reads r;
    struct hd_xlate x;
    bool mapped = hd_ptables_find(t, app, (hd_vpn){vpn}, &x);

    if (n == 0) {
        assert_false(mapped);
        return 0;
    }
    r = naive_walk(t, format, root_of(t, app), vpn << 12);
    assert_int_equal(n, r.n);
    for (uint32_t i = 0; i < n; i++) {
        struct hd_walk_step s;
        hd_ptables_step(t, i + 1, &s);
        assert_int_equal(pte[i].v, r.pa[i]);
        assert_int_equal(s.level, r.level[i]);
        assert_int_equal(s.bytes, r.level[i] == NAIVE[format].levels ? 16 : 8);
        assert_int_equal(s.memory, r.level[i] + 3 > NAIVE[format].levels + 1
                                       ? r.level[i] + 3 - NAIVE[format].levels
                                       : 1);
    }
    if (mapped || !hd_ptables_large(t, app, (hd_vpn){vpn}, &x))
        assert_int_equal(mapped, r.pages != 0);
    if (!mapped) /* or it has left its coalesced region, which keeps its place
                  */
        return n;
    assert_int_equal(x.pages, r.pages == 131072 ? 512 : r.pages);
    assert_int_equal(x.pfn.v + (vpn - x.vpn.v),
                     r.frame + (vpn & (r.pages - 1)));
    return n;
}

static void run_check(struct memenv *m)
{
    assert_string_equal(memenv_check(m, NULL), "");
}

static struct hd_vm_cfg config(uint32_t format, uint32_t page, uint64_t bytes)
{
    return (struct hd_vm_cfg){
        .memory_bytes = bytes, .page = page, .format = format};
}

/* ---- how many reads --------------------------------------------------------
 */

static void reads_by_class(void **state)
{
    static const struct {
        uint32_t format, large, small, huge;
    } want[] = {{HD_FORMAT_VOLTA, 4, 5, 0},
                {HD_FORMAT_AMPERE, 4, 5, 3},
                {HD_FORMAT_HOPPER, 5, 6, 4}};

    (void)state;
    for (size_t i = 0; i < HD_LEN(want); i++) {
        uint32_t f = want[i].format, leaf = want[i].small;
        for (uint32_t page = 0; page < (want[i].huge != 0 ? 4u : 3u); page++) {
            struct memenv m;
            struct hd_vm_cfg cfg = config(f, page, 2048 * MB);
            struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 1), &cfg);
            const uint32_t n[4] = {leaf, leaf, want[i].large, want[i].huge};
            uint64_t vpn = 0x7f0000000;

            hd_ptables_map(t, 0, 0, (hd_va){vpn << 12}, 512 * MB, &m.err);
            for (uint64_t v = vpn; v < vpn + 131072; v += 4099)
                assert_int_equal(same_walk(t, f, 0, v), n[page]);
            run_check(&m);
            memenv_close(&m);
        }
    }
}

/* Both tables: first that of 64 KB pages, then that of 4 KB pages, unless an
 * entry says that none of those is valid. */
static void both_tables(void **state)
{
    (void)state;
    for (uint32_t f = HD_FORMAT_VOLTA; f <= HD_FORMAT_HOPPER; f++) {
        struct memenv m;
        struct hd_vm_cfg cfg = config(f, 1, 64 * MB);
        struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 1), &cfg);
        uint32_t leaf = f == HD_FORMAT_HOPPER ? 6 : 5;
        uint64_t v = 0x7f0000000;

        /* pages 0 to 15 are one of 64 KB, 16 to 19 are of 4 KB */
        hd_ptables_map(t, 0, 0, (hd_va){v << 12}, 20 << 12, &m.err);
        assert_int_equal(same_walk(t, f, 0, v), leaf);
        assert_int_equal(same_walk(t, f, 0, v + 15), leaf);
        assert_int_equal(same_walk(t, f, 0, v + 16), leaf + 1);
        assert_int_equal(same_walk(t, f, 0, v + 25), leaf + 1); /* unmapped */
        assert_int_equal(same_walk(t, f, 0, v + 32), leaf); /* no small page */
        hd_ptables_unmap(t, 0, 0, (hd_va){v << 12}, 20 << 12);
        assert_int_equal(same_walk(t, f, 0, v + 16), leaf);
        run_check(&m);
        memenv_close(&m);
    }
}

/* Sixteen tables of 64 KB pages share a frame. */
static void shared_frames(void **state)
{
    struct memenv m;
    struct hd_vm_cfg cfg = config(HD_FORMAT_VOLTA, 1, 256 * MB);
    struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 1), &cfg);
    uint64_t va = 0x7f0000000000, last = 0;

    (void)state;
    hd_ptables_map(t, 0, 0, (hd_va){va}, 80 * MB, &m.err);
    assert_int_equal(t->s->table_frames[0], 4 + 3); /* 40 tables */
    for (uint64_t i = 0; i < 40; i++) {
        hd_pa pte[HD_WALK_STEPS];
        assert_int_equal(
            hd_ptables_path(t, 0, (hd_vpn){(va >> 12) + i * 512}, pte), 5);
        assert_int_equal(pte[4].v % 256, 0);
        assert_true(i % 16 == 0 || pte[4].v == last + 256);
        last = pte[4].v;
    }
    run_check(&m);
    memenv_close(&m);
}

/* ---- at random --------------------------------------------------------------
 */

struct alloc {
    uint64_t va, bytes;
    uint32_t app;
    bool live;
};

static int64_t size_of(void *data, const void *question)
{
    struct hd_rng *r = data;

    (void)question;
    return (int64_t)(hd_rng_below(r, 5) % 3);
}

/* Pages of 4 KB go to one frame of 2 MB, in order, while that is free. */
struct placing {
    struct hd_ptables *t;
    uint64_t first; /* of that frame */
};

static int64_t in_order(void *data, const void *question)
{
    struct placing *p = data;
    const struct heddle_q_frame_place *q = question;
    uint64_t f = hd_frames_next(&p->t->frames, 512);

    if (q->pages != 1)
        return (int64_t)q->next;
    if (q->vpn % 512 == 0 && f != HD_NO_FRAME)
        p->first = f;
    f = p->first + q->vpn % 512;
    return (int64_t)(hd_frames_free(&p->t->frames, f, 1) ? f : q->next);
}

/* Coalesces or splits the regions of an allocation where that can be. */
static void regroup(struct hd_ptables *t, const struct alloc *a)
{
    for (uint64_t v = a->va >> 12; v < (a->va + a->bytes) >> 12; v += 512) {
        hd_vpn vpn = {v};
        struct hd_xlate x;
        hd_pfn f;
        if (hd_ptables_large(t, a->app, vpn, &x))
            hd_ptables_split(t, a->app, vpn);
        else if (hd_ptables_whole(t, a->app, vpn, &f) != 0)
            hd_ptables_join(t, a->app, vpn);
    }
}

static void at_random(void **state)
{
    (void)state;
    for (uint32_t f = HD_FORMAT_VOLTA; f <= HD_FORMAT_HOPPER; f++) {
        struct memenv m;
        struct vmslots slots;
        struct hd_rng r = hd_rng_make(f, 5), sizes = hd_rng_make(f, 6);
        struct hd_vm_cfg cfg = config(f, 2, 256 * MB);
        struct hd_env *env = memenv_open(&m, 2);
        struct alloc a[24] = {{0}};
        struct hd_ptables *t;
        uint32_t walks = 0, joined = 0;
        struct placing placing;

        vmslots_open(&slots, env, 1);
        t = hd_ptables_open(env, &cfg);
        t->alloc.fn = size_of;
        t->alloc.self = &sizes;
        placing = (struct placing){t, 0};
        t->place.fn = in_order;
        t->place.self = &placing;
        t->place.bound = 1;
        for (uint32_t i = 0; i < 240; i++) {
            struct alloc *x = &a[i % 24];
            uint32_t index = i % 24;
            uint64_t window = i / 16 * 16 * MB; /* one that is still fresh */
            if (x->live)
                hd_ptables_unmap(t, x->app, index, (hd_va){x->va}, x->bytes);
            *x = (struct alloc){.va = 0x7f0000000000 + window +
                                      hd_rng_below(&r, 24) * 1 * MB +
                                      (hd_rng_below(&r, 3) == 0) * 0x33000,
                                .bytes = hd_rng_below(&r, 3) == 0
                                             ? 4 * MB
                                             : 1 + hd_rng_below(&r, 900000),
                                .app = hd_rng_below(&r, 2),
                                .live = true};
            assert_int_equal(hd_ptables_map(t, x->app, index, (hd_va){x->va},
                                            x->bytes, &m.err),
                             0);
            regroup(t, x);
            if (i % 8 == 0)
                run_check(&m);
            for (uint32_t k = 0; k < 64; k++) {
                uint64_t vpn =
                    0x7f0000000 + (window >> 12) + hd_rng_below(&r, 28 * 256);
                struct hd_xlate l;
                walks += same_walk(t, f, k % 2, vpn) != 0;
                joined += hd_ptables_large(t, k % 2, (hd_vpn){vpn}, &l);
            }
        }
        assert_true(walks > 5000 && joined > 100);
        run_check(&m);
        vmslots_close(&slots);
        memenv_close(&m);
    }
}

/* ---- pages of 512 MB --------------------------------------------------- */

static void huge_pages(void **state)
{
    const uint64_t va = 0x7f0000000000, gb = 1024 * MB;

    (void)state;
    for (uint32_t f = HD_FORMAT_AMPERE; f <= HD_FORMAT_HOPPER; f++) {
        struct memenv m;
        struct hd_vm_cfg cfg = config(f, 3, 3 * gb);
        struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 1), &cfg);
        uint32_t dir = NAIVE[f].levels;

        /* 512 MB and 2 MB and 4 KB; the second has a page of the first */
        hd_ptables_map(t, 0, 0, (hd_va){va}, 514 * MB + 1, &m.err);
        hd_ptables_map(t, 0, 1, (hd_va){va + 510 * MB}, gb + 2 * MB, &m.err);
        assert_int_equal(t->s->huge[0], 2);
        assert_int_equal(same_walk(t, f, 0, (va >> 12) + 5), dir - 1);
        assert_int_equal(same_walk(t, f, 0, (va >> 12) + 131072), dir);
        assert_int_equal(same_walk(t, f, 0, (va >> 12) + 131072 + 512),
                         dir + 1);
        assert_int_equal(same_walk(t, f, 0, (va >> 12) + 3 * 131072 - 1),
                         dir - 1);
        run_check(&m);
        /* what the other has stays, in pages of 2 MB */
        hd_ptables_unmap(t, 0, 0, (hd_va){va}, 514 * MB + 1);
        assert_int_equal(t->s->huge[0], 1);
        assert_int_equal(same_walk(t, f, 0, (va >> 12) + 5), dir);
        assert_int_equal(same_walk(t, f, 0, (va >> 12) + 131071), dir);
        run_check(&m);
        hd_ptables_unmap(t, 0, 1, (hd_va){va + 510 * MB}, gb + 2 * MB);
        assert_int_equal(t->s->huge[0], 0);
        assert_int_equal(hd_ptables_pages(t, 0), 0);
        run_check(&m);
        /* smaller pages where it was, and again a page of 512 MB */
        hd_ptables_map(t, 0, 2, (hd_va){va}, 4 * MB + 1, &m.err);
        assert_int_equal(same_walk(t, f, 0, va >> 12), dir);
        run_check(&m);
        hd_ptables_unmap(t, 0, 2, (hd_va){va}, 4 * MB + 1);
        hd_ptables_map(t, 0, 3, (hd_va){va}, 512 * MB, &m.err);
        assert_int_equal(t->s->huge[0], 1);
        assert_int_equal(same_walk(t, f, 0, va >> 12), dir - 1);
        run_check(&m);
        t->s->huge[0] = 1;
        hd_pt_slot_of(t, 0, va >> 12)->region_bits &= ~(uint32_t)HD_PT_HUGE;
        assert_text(memenv_check(&m, NULL), "255 regions are marked");
        memenv_close(&m);
    }
}

/* ---- what is wrong is found ---------------------------------------------- */

static void found_by_check(void **state)
{
    struct memenv m;
    struct hd_vm_cfg cfg = config(HD_FORMAT_VOLTA, 1, 64 * MB);
    struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 1), &cfg);
    const uint64_t v = 0x7f0000000;
    struct hd_pt_slot *h;
    uint64_t *pair;

    (void)state;
    hd_ptables_map(t, 0, 0, (hd_va){v << 12}, 20 << 12, &m.err);
    run_check(&m);
    h = hd_pt_slot_of(t, 0, v);
    pair = hd_pt_entry(t, t->table[h->t[2]].at) + hd_pt_index_of(t, v, 4);
    pair[0] += HD_PT_BIG_BYTES;
    assert_text(memenv_check(&m, NULL), "does not point to its region's");
    pair[0] -= HD_PT_BIG_BYTES;
    hd_err_clear(&m.err);
    run_check(&m);
    h->t[HD_PT_BIG] = HD_NONE;
    assert_text(memenv_check(&m, NULL), "does not point to its region's");
    memenv_close(&m);
}

/* ---- walks through the mmu ------------------------------------------------
 */

/* One after another; what a walk cache of any size holds is what was read. */
static void walks(uint32_t format, uint32_t page, uint32_t mode, uint32_t style)
{
    struct vm *v = vm_new();
    struct hd_rng r = hd_rng_make(format * 8 + page, style + 1);
    uint64_t seen[4096], first = 0x7f0000000;
    uint32_t n_seen = 0, reads = 0, dir = NAIVE[format].levels;
    uint32_t level[8] = {0};

    v->vm_cfg = config(format, page, 2048 * MB);
    v->pwc.mode.kind = mode;
    v->pwc.style = style;
    v->pwc.entries = 65536;
    v->l2tlb.mode.kind = HD_OFF;
    vm_open(v, 1);
    vm_map(v, 0, first, 131072 + 1000);
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t vpn = first + hd_rng_below(&r, 131072 + 1000);
        struct reads w =
            naive_walk(v->pt, format, root_of(v->pt, 0), vpn << 12);
        uint32_t from = 0, before = v->reads;
        bool known[8] = {false};

        vm_ask(v, 1000 + i * 10000, 0, 0, 0, vpn);
        vm_run(v, 1000 + i * 10000 + 9000);
        for (uint32_t k = 0; mode == HD_FULL && k < w.n; k++) {
            uint32_t l = w.level[k];
            uint64_t key =
                style == HD_PWC_PHYSICAL ? w.pa[k]
                : l <= dir && l < w.level[w.n - 1]
                    ? vpn >> (NAIVE[format].low[l - 1] - 12) | (uint64_t)l << 56
                    : 0;
            for (uint32_t s = 0; key != 0 && s < n_seen; s++)
                known[k] |= seen[s] == key;
            if (key != 0 && !known[k])
                seen[n_seen++] = key;
            if (style == HD_PWC_PREFIX && known[k])
                from = k + 1;
        }
        for (uint32_t k = from; k < w.n; k++) {
            if (style == HD_PWC_PHYSICAL && known[k])
                continue;
            assert_true(before < v->reads);
            assert_int_equal(v->read[before].pa, w.pa[k]);
            assert_int_equal(v->read[before++].level, w.level[k] + 3 > dir + 1
                                                          ? w.level[k] + 3 - dir
                                                          : 1);
            level[w.level[k]]++;
            reads++;
        }
        assert_int_equal(before, v->reads);
    }
    vm_finish(v);
    assert_int_equal(vm_walks(v, 0, HD_WALK_REFERENCES), reads);
    for (uint32_t l = 1; l <= 6; l++)
        assert_int_equal(vm_walks(v, 0, HD_WALK_LEVEL + l - 1), level[l]);
    vm_close(v);
}

static void walked(void **state)
{
    (void)state;
    for (uint32_t f = HD_FORMAT_VOLTA; f <= HD_FORMAT_HOPPER; f++)
        for (uint32_t page = 0; page < (f == HD_FORMAT_VOLTA ? 3u : 4u);
             page++) {
            walks(f, page, HD_OFF, 0);
            walks(f, page, HD_FULL, HD_PWC_PHYSICAL);
            walks(f, page, HD_FULL, HD_PWC_PREFIX);
        }
}

/* A walk cache of PDE0 alone, 16 entries: of pages of 4 KB in 32 MB each PDE0
 * is read once, with all above it, and then a walk is one read.  In twice as
 * much, one region after another, none is ever there. */
static void level_alone(void **state)
{
    (void)state;
    for (uint32_t regions = 16; regions <= 32; regions *= 2) {
        struct vm *v = vm_new();
        uint64_t at = 1000;

        v->vm_cfg = config(HD_FORMAT_VOLTA, 0, 256 * MB);
        v->pwc.mode.kind = HD_FULL;
        v->pwc.style = HD_PWC_PREFIX;
        v->pwc.entries_level4 = 16;
        v->l2tlb.mode.kind = HD_OFF;
        vm_open(v, 1);
        vm_map(v, 0, 0x7f0000000, regions * 512ull);
        for (uint32_t round = 0; round < 3; round++)
            for (uint32_t i = 0; i < regions; i++, at += 10000)
                vm_ask(v, at, 0, 0, 0, 0x7f0000000 + i * 512 + round);
        vm_finish(v);
        assert_int_equal(vm_walks(v, 0, HD_WALK_REFERENCES),
                         regions == 16 ? 16 * (5 + 1 + 1) : 32 * 5 * 3);
        vm_close(v);
    }
}

/* ---- what is refused ------------------------------------------------------
 */

static void refused(void **state)
{
    static const struct {
        struct hd_vm_cfg cfg;
        const char *text;
    } wrong[] = {
        {{.format = HD_FORMAT_VOLTA, .entry_bytes = 64},
         "vm.entry_bytes: 64; vm.format = volta fixes the bytes of entries"},
        {{.format = HD_FORMAT_VOLTA, .page = 3},
         "vm.page: 512M; vm.format = volta has pages of 4 KB, 64 KB and 2 MB"},
        {{.format = HD_FORMAT_X86_64, .page = 3},
         "vm.format = x86-64 has pages"},
        {{.format = HD_FORMAT_HOPPER, .page = 3, .paging = HD_PAGING_FAULT},
         "pages of 512 MB do not migrate"},
        {{.format = HD_FORMAT_HOPPER, .scan = 1}, "no contiguity bits"},
    };
    static const struct {
        uint32_t format, bits;
        const char *text;
    } reach[] = {{HD_FORMAT_X86_64, 48, "of 48 bits (vm.format = x86-64)"},
                 {HD_FORMAT_VOLTA, 49, "of 49 bits (vm.format = volta)"},
                 {HD_FORMAT_HOPPER, 57, "of 57 bits (vm.format = hopper)"}};

    (void)state;
    for (size_t i = 0; i < HD_LEN(wrong); i++) {
        struct memenv m;
        struct hd_vm_cfg cfg = wrong[i].cfg;
        struct hd_env *env = memenv_open(&m, 1);

        cfg.memory_bytes = 256 * MB;
        assert_null(hd_ptables_open(env, &cfg));
        assert_text(m.err.text, wrong[i].text);
        memenv_close(&m);
    }
    for (size_t i = 0; i < HD_LEN(reach); i++) {
        struct memenv m;
        struct hd_vm_cfg cfg = config(reach[i].format, 0, 64 * MB);
        struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 1), &cfg);
        uint64_t end = 1ull << reach[i].bits;

        assert_int_equal(
            hd_ptables_map(t, 0, 0, (hd_va){end - 8192}, 8192, &m.err), 0);
        if (reach[i].format != HD_FORMAT_X86_64)
            same_walk(t, reach[i].format, 0, (end >> 12) - 1);
        run_check(&m);
        assert_int_equal(
            hd_ptables_map(t, 0, 1, (hd_va){end - 4096}, 4097, &m.err),
            HEDDLE_EINVAL);
        assert_text(m.err.text, reach[i].text);
        memenv_close(&m);
    }
}

/* Frames of tables follow from memory: they map all of it in pages of 4 KB. */
static void sized(void **state)
{
    struct hd_vm_cfg cfg = {.memory_bytes = 3ull << 30};

    (void)state;
    assert_int_equal(hd_vm_table_frames(&cfg), 4096);
    cfg.memory_bytes = 64ull << 30;
    assert_in_range(hd_vm_table_frames(&cfg), 32768 + 64,
                    32768 * 17 / 16 + 1024);
    cfg.table_frames = 99;
    assert_int_equal(hd_vm_table_frames(&cfg), 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_by_class), cmocka_unit_test(both_tables),
        cmocka_unit_test(shared_frames),  cmocka_unit_test(at_random),
        cmocka_unit_test(huge_pages),     cmocka_unit_test(found_by_check),
        cmocka_unit_test(walked),         cmocka_unit_test(level_alone),
        cmocka_unit_test(refused),        cmocka_unit_test(sized),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
