/*
 * Pinned: what the page tables hold, for 4 KB, 64 KB and 2 MB pages, several
 * applications, and entries of 8, 64 and 128 bytes.  A naive twin replays the
 * mapping rule page by page and must agree on every translation; a walk through
 * the entries in memory, by the addresses that hd_ptables_walk gives, must end
 * at the same frame; the number of tables is the ceil-tree of the pages mapped;
 * frames are free or owned once (the part's own check runs after every step).
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmslots.h"

#include <stdlib.h>

#include "kit/rng.h"
#include "pages/ptstate.h"
#include "texts.h"

enum { MB = 1 << 20 };

/* ---- the twin: a list of pages, and the lowest free frames ------------ */

struct page {
    uint64_t vpn, pfn;
    uint32_t app, pages;
};

struct twin {
    uint32_t bits; /* of an index of a level */
    struct page p[20000];
    uint32_t n;
    uint8_t used[1 << 16];
};

static struct twin *twin_new(uint32_t bits)
{
    struct twin *w = calloc(1, sizeof *w);

    assert_non_null(w);
    w->bits = bits;
    return w;
}

static const struct page *twin_find(const struct twin *w, uint32_t app,
                                    uint64_t vpn)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->p[i].app == app && w->p[i].vpn <= vpn &&
            vpn < w->p[i].vpn + w->p[i].pages)
            return &w->p[i];
    return NULL;
}

static void twin_page(struct twin *w, uint32_t app, uint64_t vpn, uint32_t n)
{
    uint64_t f = 0;
    uint32_t i;

    for (;; f += n) {
        for (i = 0; i < n && !w->used[f + i]; i++)
            ;
        if (i == n)
            break;
    }
    memset(w->used + f, 1, n);
    w->p[w->n++] = (struct page){vpn, f, app, n};
}

static void twin_map(struct twin *w, uint32_t app, uint64_t first, uint64_t end,
                     uint32_t n)
{
    for (uint64_t vpn = first; vpn < end; vpn++) {
        uint64_t at = vpn / n * n;
        bool whole = at >= first && at + n <= end;

        if (twin_find(w, app, vpn) != NULL)
            continue;
        for (uint64_t i = at; whole && i < at + n; i++)
            whole = twin_find(w, app, i) == NULL;
        twin_page(w, app, whole ? at : vpn, whole ? n : 1);
    }
}

static void twin_unmap(struct twin *w, uint32_t app, uint64_t first,
                       uint64_t end)
{
    for (uint32_t i = 0; i < w->n;) {
        struct page *p = &w->p[i];
        if (p->app == app && p->vpn < end && first < p->vpn + p->pages) {
            memset(w->used + p->pfn, 0, p->pages);
            *p = w->p[--w->n];
        } else {
            i++;
        }
    }
}

/* ---- comparing -------------------------------------------------------- */

static void run_check(struct memenv *m)
{
    assert_string_equal(memenv_check(m, NULL), "");
}

static void compare(const struct hd_ptables *t, const struct twin *w,
                    uint32_t app, uint64_t vpn)
{
    const struct page *p = twin_find(w, app, vpn);
    struct hd_xlate x;
    hd_pa pte[4];
    uint32_t levels;

    assert_int_equal(hd_ptables_find(t, app, (hd_vpn){vpn}, &x), p != NULL);
    levels = hd_ptables_walk(t, app, (hd_vpn){vpn}, pte);
    if (p == NULL) {
        assert_int_equal(levels, 0);
        return;
    }
    assert_int_equal(levels, p->pages == 512 ? 3 : 4);
    assert_int_equal(x.vpn.v, p->vpn);
    assert_int_equal(x.pfn.v, p->pfn);
    assert_int_equal(x.pages, p->pages);
    assert_int_equal(x.page_pages, p->pages);
    for (uint32_t l = 0; l < levels; l++) {
        uint64_t e = hd_ptables_entry(t, pte[l]);
        uint64_t frame = e >> 12 & 0xffffffffff;
        assert_int_equal(pte[l].v % 4096, (vpn >> w->bits * (3 - l)) %
                                              (1u << w->bits) *
                                              (4096u >> w->bits));
        assert_true(e & 1);
        if (l + 1 < levels)
            assert_int_equal(frame, pte[l + 1].v / 4096);
        else
            assert_int_equal(frame, p->pfn + (levels == 4 ? vpn - p->vpn : 0));
    }
}

/* Distinct values of vpn >> shift over the twin's pages of an application;
 * `leaf`: only those that need a leaf table. */
static uint64_t distinct(const struct twin *w, uint32_t app, uint32_t shift,
                         bool leaf)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < w->n; i++) {
        bool first = w->p[i].app == app && !(leaf && w->p[i].pages == 512);
        for (uint32_t j = 0; first && j < i; j++)
            first = w->p[j].app != app || (leaf && w->p[j].pages == 512) ||
                    w->p[j].vpn >> shift != w->p[i].vpn >> shift;
        n += first;
    }
    return n;
}

static void compare_totals(const struct hd_ptables *t, const struct twin *w,
                           uint32_t apps)
{
    for (uint32_t a = 0; a < apps; a++) {
        uint64_t pages = 0;
        for (uint32_t i = 0; i < w->n; i++)
            if (w->p[i].app == a)
                pages += w->p[i].pages;
        assert_int_equal(hd_ptables_pages(t, a), pages);
        /* the leaf tables of 2 MB are made together */
        assert_int_equal(t->s->table_frames[a],
                         distinct(w, a, 4 * w->bits, false) +
                             distinct(w, a, 3 * w->bits, false) +
                             distinct(w, a, 2 * w->bits, false) +
                             (distinct(w, a, 9, true) << (9 - w->bits)));
    }
}

static void drive(uint32_t page, uint32_t entry_bytes, uint64_t seed)
{
    static const uint32_t size[3] = {1, 16, 512};
    struct memenv m;
    struct hd_vm_cfg cfg = {
        .memory_bytes = 256ull * MB,
        .page = page,
        .table_frames = 64 * entry_bytes / 8,
        .entry_bytes = entry_bytes};
    struct hd_ptables *t;
    struct twin *w = twin_new(12 - hd_log2(entry_bytes));
    struct hd_rng r = hd_rng_make(seed, page);
    uint64_t next[3] = {0x10000, 0x7f1234567, 0x1ff};

    t = hd_ptables_open(memenv_open(&m, 3), &cfg);
    assert_non_null(t);
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t app = hd_rng_below(&r, 3);
        uint64_t base = (next[app] << 12) + hd_rng_below(&r, 4096);
        uint64_t bytes = page == 2 && i % 3 == 0 ? 5 * MB : 1;

        bytes += hd_rng_below(&r, 300000);
        assert_int_equal(
            hd_ptables_map(t, app, i, (hd_va){base}, bytes, &m.err), 0);
        twin_map(w, app, base >> 12, ((base + bytes - 1) >> 12) + 1,
                 size[page]);
        /* sometimes the next one shares the border page */
        next[app] = ((base + bytes) >> 12) + (i % 4 == 0 ? 700 : 0);
        run_check(&m);
    }
    compare_totals(t, w, 3);
    for (uint32_t i = 0; i < w->n; i++) {
        compare(t, w, w->p[i].app, w->p[i].vpn);
        compare(t, w, w->p[i].app, w->p[i].vpn + w->p[i].pages - 1);
        compare(t, w, w->p[i].app, w->p[i].vpn + w->p[i].pages);
        compare(t, w, (w->p[i].app + 1) % 3, w->p[i].vpn);
    }
    memenv_close(&m);
    free(w);
}

static void base_pages(void **state)
{
    (void)state;
    for (uint64_t s = 1; s < 4; s++)
        drive(0, 8, s);
}

static void medium_pages(void **state)
{
    (void)state;
    for (uint64_t s = 1; s < 4; s++)
        drive(1, 8, s);
}

static void large_pages(void **state)
{
    (void)state;
    for (uint64_t s = 1; s < 4; s++)
        drive(2, 8, s);
}

static void larger_entries(void **state)
{
    (void)state;
    for (uint64_t s = 1; s < 4; s++) {
        drive(0, 64, s);
        drive(0, 128, s);
        drive(1, 64, s);
        drive(1, 128, s);
    }
}

/* Lines of 128 bytes in which the entries of a level are, of 2,048 pages from
 * an aligned 8 MB on; an entry of 128 bytes is alone in its line. */
static void lines(void **state)
{
    static const struct {
        uint32_t bytes, lines[4];
    } want[] = {
        {8, {1, 1, 1, 128}}, {64, {1, 1, 16, 1024}}, {128, {1, 2, 64, 2048}}};

    (void)state;
    for (size_t i = 0; i < HD_LEN(want); i++) {
        struct memenv m;
        struct hd_vm_cfg cfg = {
            .memory_bytes = 64ull * MB,
            .table_frames = 1024,
            .entry_bytes = want[i].bytes};
        struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 1), &cfg);
        uint64_t last[4] = {0};
        uint32_t n[4] = {0};

        assert_int_equal(hd_ptables_entry_bytes(t), want[i].bytes);
        assert_int_equal(
            hd_ptables_map(t, 0, 0, (hd_va){1ull << 40}, 8 * MB, &m.err), 0);
        for (uint64_t v = 0; v < 2048; v++) {
            hd_pa pte[4];
            uint64_t vpn = (1ull << 28) + v;
            assert_int_equal(hd_ptables_walk(t, 0, (hd_vpn){vpn}, pte), 4);
            for (uint32_t l = 0; l < 4; l++) {
                assert_int_equal(hd_ptables_table(t, 0, (hd_vpn){vpn}, l + 1).v,
                                 pte[l].v);
                n[l] += pte[l].v / 128 != last[l]; /* they ascend */
                last[l] = pte[l].v / 128;
            }
        }
        for (uint32_t l = 0; l < 4; l++)
            assert_int_equal(n[l], want[i].lines[l]);
        run_check(&m);
        memenv_close(&m);
    }
}

/* Entries of 128 bytes reach an aligned 4 GB, those of 64 bytes 64 GB: where
 * the first page is. */
static void reach(void **state)
{
    const uint64_t gb = 1ull << 30;

    (void)state;
    for (uint64_t bytes = 64; bytes <= 128; bytes *= 2) {
        struct memenv m;
        struct hd_vm_cfg cfg = {
            .memory_bytes = 64ull * MB,
            .table_frames = 1024,
            .entry_bytes = (uint32_t)bytes};
        struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 2), &cfg);
        uint64_t top = 0x7f0000000000 + (bytes == 64 ? 64 : 4) * gb;
        struct hd_xlate x;

        assert_int_equal(
            hd_ptables_map(t, 0, 0, (hd_va){top - 4096}, 4096, &m.err), 0);
        assert_int_equal(hd_ptables_map(t, 1, 0, (hd_va){top}, 4096, &m.err),
                         0);
        assert_true(hd_ptables_find(t, 0, (hd_vpn){(top >> 12) - 1}, &x));
        assert_false(hd_ptables_find(t, 0, (hd_vpn){top >> 12}, &x));
        run_check(&m);
        assert_int_equal(
            hd_ptables_map(t, 0, 1, (hd_va){top - 8192}, 8193, &m.err),
            HEDDLE_ECONFIG);
        assert_text(m.err.text, bytes == 64 ? "reach an aligned 64 GB"
                                            : "reach an aligned 4 GB");
        assert_text(m.err.text, "application 0, allocation 1 (8193 bytes");
        memenv_close(&m);
    }
}

/* ---- single facts ------------------------------------------------------ */

/* Two neighbours share a page: it is mapped once, and stays until the second
 * of them is unmapped. */
static void border_page(void **state)
{
    struct memenv m;
    struct hd_vm_cfg cfg = {.memory_bytes = 64ull * MB, .table_frames = 64};
    struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 1), &cfg);
    struct twin *w = twin_new(9);
    struct hd_xlate x;

    (void)state;
    hd_ptables_map(t, 0, 0, (hd_va){0x400000}, 5000, &m.err);
    assert_int_equal(hd_ptables_pages(t, 0), 2);
    hd_ptables_map(t, 0, 1, (hd_va){0x401400}, 100, &m.err);
    assert_int_equal(hd_ptables_pages(t, 0), 2);
    hd_ptables_unmap(t, 0, 0, (hd_va){0x400000}, 5000);
    assert_int_equal(hd_ptables_pages(t, 0), 1);
    assert_true(hd_ptables_find(t, 0, (hd_vpn){0x401}, &x));
    assert_false(hd_ptables_find(t, 0, (hd_vpn){0x400}, &x));
    hd_ptables_unmap(t, 0, 1, (hd_va){0x401400}, 100);
    assert_int_equal(hd_ptables_pages(t, 0), 0);
    run_check(&m);
    /* the frames come again, lowest first; the tables stayed */
    hd_ptables_map(t, 0, 2, (hd_va){0x400000}, 3 * 4096, &m.err);
    twin_map(w, 0, 0x400, 0x403, 1);
    for (uint64_t v = 0x3ff; v < 0x404; v++)
        compare(t, w, 0, v);
    assert_int_equal(t->s->table_frames[0], 4);
    memenv_close(&m);
    free(w);
}

/* A 2 MB page takes the place of an empty leaf table, and back. */
static void reshape(void **state)
{
    struct memenv m;
    struct hd_vm_cfg cfg = {
        .memory_bytes = 64ull * MB,
        .page = 2,
        .table_frames = 64};
    struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 1), &cfg);
    struct twin *w = twin_new(9);

    (void)state;
    for (int i = 0; i < 3; i++) {
        hd_ptables_map(t, 0, 0, (hd_va){2 * MB}, 4096, &m.err);
        assert_int_equal(t->s->table_frames[0], 4);
        twin_map(w, 0, 512, 513, 512);
        compare(t, w, 0, 512);
        run_check(&m);
        hd_ptables_unmap(t, 0, 0, (hd_va){2 * MB}, 4096);
        twin_unmap(w, 0, 512, 513);
        compare(t, w, 0, 512);
        hd_ptables_map(t, 0, 1, (hd_va){2 * MB}, 2 * MB, &m.err);
        assert_int_equal(t->s->table_frames[0], 3);
        twin_map(w, 0, 512, 1024, 512);
        compare(t, w, 0, 700);
        run_check(&m);
        hd_ptables_unmap(t, 0, 1, (hd_va){2 * MB}, 2 * MB);
        twin_unmap(w, 0, 512, 1024);
        compare(t, w, 0, 700);
        run_check(&m);
    }
    memenv_close(&m);
    free(w);
}

/* round: the edges get whole large pages; a page shared by two such edges is
 * mapped once. */
static void rounded(void **state)
{
    struct memenv m;
    struct hd_vm_cfg cfg = {
        .memory_bytes = 64ull * MB,
        .page = 2,
        .table_frames = 64,
        .round = 1};
    struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 1), &cfg);
    struct hd_xlate x;

    (void)state;
    hd_ptables_map(t, 0, 0, (hd_va){MB}, 4096, &m.err);
    hd_ptables_map(t, 0, 1, (hd_va){MB + 8192}, 2 * MB, &m.err);
    assert_int_equal(hd_ptables_pages(t, 0), 1024);
    assert_true(hd_ptables_find(t, 0, (hd_vpn){0}, &x));
    assert_int_equal(x.pages, 512);
    hd_ptables_unmap(t, 0, 0, (hd_va){MB}, 4096);
    assert_int_equal(hd_ptables_pages(t, 0), 1024);
    run_check(&m);
    memenv_close(&m);
}

/* Out of frames, and out of table frames: an error that names who and what. */
static void exhausted(void **state)
{
    struct memenv m;
    struct hd_vm_cfg cfg = {.memory_bytes = 1 * MB, .table_frames = 16};
    struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 2), &cfg);

    (void)state;
    assert_int_equal(hd_ptables_map(t, 0, 0, (hd_va){0}, 240 * 4096, &m.err),
                     0);
    assert_int_equal(hd_ptables_map(t, 1, 7, (hd_va){0}, 4096, &m.err),
                     HEDDLE_ECONFIG);
    assert_text(m.err.text, "application 1, allocation 7 (4096 ");
    assert_text(m.err.text, "240 of 240 data frames");
    memenv_close(&m);

    cfg.table_frames = 4;
    t = hd_ptables_open(memenv_open(&m, 2), &cfg);
    assert_int_equal(hd_ptables_map(t, 0, 0, (hd_va){0}, 4096, &m.err), 0);
    assert_int_equal(hd_ptables_map(t, 0, 1, (hd_va){2 * MB}, 4096, &m.err),
                     HEDDLE_ECONFIG);
    assert_text(m.err.text, "4 of 4 table frames");
    memenv_close(&m);

    cfg.table_frames = 256;
    assert_null(hd_ptables_open(memenv_open(&m, 1), &cfg));
    assert_int_equal(m.err.code, HEDDLE_ECONFIG);
    memenv_close(&m);

    /* 16 leaf tables for 2 MB, or none */
    cfg.table_frames = 18;
    cfg.entry_bytes = 128;
    t = hd_ptables_open(memenv_open(&m, 1), &cfg);
    assert_int_equal(hd_ptables_map(t, 0, 0, (hd_va){0}, 4096, &m.err),
                     HEDDLE_ECONFIG);
    assert_text(m.err.text, "3 of 18 table frames");
    memenv_close(&m);
}

/* The longest contiguous run in the aligned group, against the definition. */
static void check_run(const struct hd_ptables *t, uint32_t app, uint64_t v,
                      uint32_t g)
{
    struct hd_xlate run, x, y;
    uint64_t a = v, b = v;

    hd_ptables_run(t, app, (hd_vpn){v}, g, &run);
    if (!hd_ptables_find(t, app, (hd_vpn){v}, &x)) {
        assert_int_equal(run.pages, 0);
        return;
    }
    while (a % g != 0 && hd_ptables_find(t, app, (hd_vpn){a - 1}, &y) &&
           y.pfn.v + (v - a + 1) == x.pfn.v)
        a--;
    while ((b + 1) % g != 0 && hd_ptables_find(t, app, (hd_vpn){b + 1}, &y) &&
           y.pfn.v == x.pfn.v + (b + 1 - v))
        b++;
    assert_int_equal(run.vpn.v, a);
    assert_int_equal(run.pages, b - a + 1);
    assert_int_equal(run.pfn.v, x.pfn.v - (v - a));
    assert_int_equal(run.page_pages, 1);
}

/* Of two applications: one of them has frame 0, in the middle of a group. */
static void runs(void **state)
{
    struct memenv m;
    struct hd_vm_cfg cfg = {.memory_bytes = 64ull * MB, .table_frames = 64};
    struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 2), &cfg);
    struct hd_rng r = hd_rng_make(5, 5);

    (void)state;
    /* two applications interleave, so runs have random lengths */
    for (uint32_t i = 0, at[2] = {100, 100}; i < 400; i++) {
        uint32_t app = hd_rng_below(&r, 2), n = 1 + hd_rng_below(&r, 9);
        hd_ptables_map(t, app, i, (hd_va){(uint64_t)at[app] << 12}, n * 4096,
                       &m.err);
        at[app] += n + (hd_rng_below(&r, 8) == 0);
    }
    for (uint64_t v = 90; v < 1300; v++)
        for (uint32_t g = 4; g <= 16; g *= 2)
            for (uint32_t app = 0; app < 2; app++)
                check_run(t, app, v, g);
    memenv_close(&m);
}

/* ---- policies ---------------------------------------------------------- */

/* State: the frame below which the next page goes. */
static size_t top_bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)p, (void)params;
    return sizeof(uint64_t);
}

static int top_init(void *self, const struct heddle_place *p,
                    const uint64_t *params)
{
    (void)p, (void)params;
    *(uint64_t *)self = (64 * MB >> 12) - 64 - 448; /* aligned to 2 MB */
    return 0;
}

static int64_t from_the_top(void *self, const void *question)
{
    uint64_t *next = self;

    *next -= ((const struct heddle_q_frame_place *)question)->pages;
    return (int64_t)*next;
}

static int64_t taken_frame(void *self, const void *question)
{
    (void)self, (void)question;
    return 16384 - 1024;
}

static int64_t large_for_1(void *self, const void *question)
{
    (void)self;
    return ((const struct heddle_q_page_size *)question)->app == 1 ? 2 : 0;
}

static const struct heddle_policy top = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "top",
    .summary = "frames from the top, large pages for application 1",
    .state_bytes = top_bytes,
    .init = top_init,
    .answer = {[HEDDLE_POINT_frame_place] = from_the_top,
               [HEDDLE_POINT_page_size] = large_for_1},
};

/* Pages that were asked for, and of them those in a whole 2 MB. */
static struct {
    uint64_t pages, whole;
} saw;

static int64_t count_whole(void *self, const void *question)
{
    const struct heddle_q_frame_place *q = question;

    (void)self;
    saw.pages++;
    saw.whole += q->whole;
    return (int64_t)q->next;
}

static const struct heddle_policy wholes = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "wholes",
    .summary = "the next frame",
    .answer = {[HEDDLE_POINT_frame_place] = count_whole},
};

static const struct heddle_policy bad = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "bad",
    .summary = "always the same frame",
    .answer = {[HEDDLE_POINT_frame_place] = taken_frame},
};

static void asked(void **state)
{
    struct memenv m;
    struct vmslots s;
    struct hd_vm_cfg cfg = {.memory_bytes = 64ull * MB, .table_frames = 64};
    struct hd_env *env = memenv_open(&m, 2);
    struct hd_ptables *t;
    struct hd_xlate x;
    hd_vpn vpn;
    uint32_t app;

    (void)state;
    vmslots_open(&s, env, 1);
    t = hd_ptables_open(env, &cfg);
    vmslots_use(&s, &top, "");
    assert_int_equal(hd_ptables_map(t, 1, 0, (hd_va){0}, 2 * MB, &m.err), 0);
    assert_int_equal(hd_ptables_map(t, 0, 0, (hd_va){0}, 4096, &m.err), 0);
    assert_true(hd_ptables_find(t, 1, (hd_vpn){5}, &x));
    assert_int_equal(x.pages, 512);
    assert_int_equal(x.pfn.v, 16384 - 1024);
    assert_true(hd_ptables_owner(t, (hd_pfn){16384 - 1024 + 5}, &app, &vpn));
    assert_int_equal(app, 1);
    assert_int_equal(vpn.v, 5);
    assert_false(hd_ptables_owner(t, (hd_pfn){0}, &app, &vpn));
    run_check(&m);

    assert_int_equal(heddle_unuse(vmslots_sim(&s), "top", NULL), 1);
    vmslots_use(&s, &bad, "");
    assert_int_equal(hd_ptables_map(t, 0, 2, (hd_va){2 * MB}, 4096, &m.err), 0);
    assert_true(hd_ptables_find(t, 0, (hd_vpn){512}, &x)); /* the next frame */
    assert_int_equal(m.err.code, HEDDLE_EPOLICY);
    assert_text(m.err.text, "to frame_place at cycle 0, expected a free frame");
    vmslots_close(&s); /* it lets go of the slots, so it goes first */
    memenv_close(&m);
}

/* Whether the 2 MB around a page are all of its allocation: to the byte. */
static void whole_regions(void **state)
{
    enum { PAGE = 4096 };
    static const struct {
        uint64_t base, bytes, pages, whole;
    } want[] = {
        {2 * MB, 2 * MB, 512, 512},
        {2 * MB, 2 * MB - PAGE + 1, 512, 512}, /* the last page in part */
        {2 * MB, 2 * MB - PAGE, 511, 0},
        {2 * MB, 2 * MB + 1, 513, 512},
        {2 * MB + PAGE - 1, 2 * MB - PAGE + 1, 512, 512},
        {2 * MB + PAGE, 2 * MB - PAGE, 511, 0},
        {2 * MB + PAGE, 4 * MB - PAGE, 1023, 512},
        {2 * MB + PAGE, 4 * MB - 2 * PAGE, 1022, 0},
        {2 * MB, 6 * MB, 1536, 1536},
    };

    (void)state;
    for (size_t i = 0; i < HD_LEN(want); i++) {
        struct memenv m;
        struct vmslots s;
        struct hd_vm_cfg cfg = {.memory_bytes = 64ull * MB, .table_frames = 64};
        struct hd_env *env = memenv_open(&m, 1);
        struct hd_ptables *t;

        memset(&saw, 0, sizeof saw);
        vmslots_open(&s, env, 1);
        t = hd_ptables_open(env, &cfg);
        vmslots_use(&s, &wholes, "");
        assert_int_equal(hd_ptables_map(t, 0, 0, (hd_va){want[i].base},
                                        want[i].bytes, &m.err),
                         0);
        assert_int_equal(saw.pages, want[i].pages);
        assert_int_equal(saw.whole, want[i].whole);
        vmslots_close(&s);
        memenv_close(&m);
    }
}

/* All of 3 GB in 4 KB pages: the tables' size, and what the arena holds. */
static void whole_memory(void **state)
{
    struct memenv m;
    struct hd_vm_cfg cfg = {.memory_bytes = 3ull << 30, .table_frames = 4096};
    struct hd_ptables *t = hd_ptables_open(memenv_open(&m, 2), &cfg);
    size_t before;
    uint64_t pages = (3ull << 18) - 4096;

    (void)state;
    before = m.arena.used;
    assert_int_equal(
        hd_ptables_map(t, 0, 0, (hd_va){1ull << 40}, pages << 12, &m.err), 0);
    assert_int_equal(hd_ptables_pages(t, 0), pages);
    assert_int_equal(t->s->table_frames[0],
                     hd_ceil_div(pages, 512) + 3 + 1 + 1);
    assert_true(m.arena.used - before < 10 * MB);
    assert_true(before < 2 * MB);
    memenv_close(&m);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(base_pages),    cmocka_unit_test(medium_pages),
        cmocka_unit_test(large_pages),   cmocka_unit_test(larger_entries),
        cmocka_unit_test(lines),         cmocka_unit_test(reach),
        cmocka_unit_test(border_page),   cmocka_unit_test(reshape),
        cmocka_unit_test(rounded),       cmocka_unit_test(exhausted),
        cmocka_unit_test(runs),          cmocka_unit_test(asked),
        cmocka_unit_test(whole_regions), cmocka_unit_test(whole_memory),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm ptable", tests, NULL, NULL);
}
