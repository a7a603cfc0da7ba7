/*
 * Pinned: regions of 4 KB pages that are used as one page of 2 MB.  What the
 * entries say, what a walk and a look-up find before, meanwhile and after, what
 * becomes of pages that are lost and come back, pages that move, frames that
 * were in use before; and that the check finds each bit that is wrong.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmslots.h"

#include <stdlib.h>

#include "pages/ptstate.h"
#include "texts.h"

enum { MB = 1 << 20, PAGES = 512 };

static const uint64_t BASE = 0x7f0000000; /* a page, aligned to 2 MB */

struct rig {
    struct memenv m;
    struct hd_ptables *t;
    uint32_t allocs;
};

static void open_rig(struct rig *r)
{
    struct hd_vm_cfg cfg = {.memory_bytes = 64ull * MB, .table_frames = 64};

    r->t = hd_ptables_open(memenv_open(&r->m, 2), &cfg);
    assert_non_null(r->t);
    r->allocs = 0;
}

static void close_rig(struct rig *r)
{
    memenv_close(&r->m);
}

/* Maps pages; returns the allocation's number. */
static uint32_t map(struct rig *r, uint32_t app, uint64_t page, uint64_t pages)
{
    assert_int_equal(hd_ptables_map(r->t, app, r->allocs,
                                    (hd_va){(BASE + page) << 12}, pages << 12,
                                    &r->m.err),
                     0);
    return r->allocs++;
}

static void unmap(struct rig *r, uint32_t app, uint32_t alloc, uint64_t page,
                  uint64_t pages)
{
    hd_ptables_unmap(r->t, app, alloc, (hd_va){(BASE + page) << 12},
                     pages << 12);
}

/* The text of what the check finds. */
static const char *verdict(struct rig *r)
{
    hd_err_clear(&r->m.err);
    return memenv_check(&r->m, NULL);
}

static struct hd_xlate find(struct rig *r, uint32_t app, uint64_t page)
{
    struct hd_xlate x = {{0}, {0}, 0, 0};

    if (!hd_ptables_find(r->t, app, (hd_vpn){BASE + page}, &x))
        x.pages = 0;
    return x;
}

static hd_vpn at(uint64_t page)
{
    return (hd_vpn){BASE + page};
}

/* ---- coalescing -------------------------------------------------------- */

static void joined(void **state)
{
    struct rig r;
    struct hd_xlate x;
    hd_pa pte[4], first;
    hd_pfn f = {1};

    (void)state;
    open_rig(&r);
    map(&r, 0, 0, PAGES - 1);
    assert_false(hd_ptables_whole(r.t, 0, at(3), &f)); /* one is missing */
    map(&r, 0, PAGES - 1, 2);
    assert_true(hd_ptables_whole(r.t, 0, at(3), &f));
    assert_int_equal(f.v, 0);
    assert_false(hd_ptables_whole(r.t, 0, at(PAGES), &f));
    assert_int_equal(hd_ptables_walk(r.t, 0, at(0), pte), 4);
    first = pte[3];
    hd_ptables_join(r.t, 0, at(7));
    assert_true(hd_ptables_large(r.t, 0, at(500), &x));
    assert_false(hd_ptables_whole(r.t, 0, at(3), &f)); /* it is already */
    for (uint64_t p = 0; p < PAGES; p += 73) {
        x = find(&r, 0, p);
        assert_int_equal(x.pages, PAGES);
        assert_int_equal(x.page_pages, PAGES);
        assert_int_equal(x.vpn.v, BASE);
        assert_int_equal(x.pfn.v, 0);
        /* four entries; the last is the first of the leaf table */
        assert_int_equal(hd_ptables_walk(r.t, 0, at(p), pte), 4);
        assert_int_equal(pte[3].v, first.v);
        assert_true(hd_ptables_entry(r.t, pte[2]) >> 10 & 1);
        assert_true(hd_ptables_entry(r.t, (hd_pa){pte[3].v + p * 8}) >> 11 & 1);
        assert_int_equal(hd_ptables_first(r.t, 0, at(p)).v, BASE);
    }
    assert_int_equal(find(&r, 0, PAGES).pages, 1); /* its neighbour is not */
    assert_string_equal(verdict(&r), "");
    hd_ptables_split(r.t, 0, at(7));
    assert_int_equal(find(&r, 0, 7).pages, 1);
    assert_int_equal(find(&r, 0, 7).pfn.v, 7);
    hd_ptables_walk(r.t, 0, at(7), pte);
    assert_int_equal(pte[3].v, first.v + 7 * 8);
    assert_false(hd_ptables_entry(r.t, pte[2]) >> 10 & 1);
    assert_false(hd_ptables_entry(r.t, pte[3]) >> 11 & 1);
    assert_string_equal(verdict(&r), "");
    close_rig(&r);
}

/* Not in order, or not aligned: there is nothing to coalesce. */
static void not_whole(void **state)
{
    struct rig r;
    hd_pfn f;

    (void)state;
    open_rig(&r);
    map(&r, 1, 0, 1); /* so that the next begins at frame 1 */
    map(&r, 0, 0, PAGES);
    assert_int_equal(hd_ptables_present(r.t, 0, at(0)), PAGES);
    assert_false(hd_ptables_whole(r.t, 0, at(0), &f));
    assert_int_equal(r.t->s->mixed[0],
                     PAGES - 1); /* the last is in frame 512 */
    map(&r, 0, PAGES, PAGES - 1);
    map(&r, 0, 2 * PAGES - 1, 1);
    assert_false(hd_ptables_whole(r.t, 0, at(PAGES), &f));
    assert_string_equal(verdict(&r), "");
    close_rig(&r);
}

/* ---- pages that are lost ------------------------------------------------- */

static void kept(void **state)
{
    struct rig r;
    uint32_t a, b;

    (void)state;
    open_rig(&r);
    a = map(&r, 0, 0, 200);
    b = map(&r, 0, 200, PAGES - 200);
    hd_ptables_join(r.t, 0, at(0));
    unmap(&r, 0, a, 0, 200);
    assert_int_equal(hd_ptables_present(r.t, 0, at(0)), PAGES - 200);
    assert_int_equal(hd_ptables_pages(r.t, 0), PAGES - 200);
    assert_int_equal(find(&r, 0, 100).pages, 0);
    assert_int_equal(find(&r, 0, 300).pages, PAGES);
    assert_int_equal(r.t->big.held[0], PAGES); /* nobody else can use it */
    assert_string_equal(verdict(&r), "");
    /* nor get its places, which wait for the pages */
    map(&r, 1, 0, 3);
    assert_int_equal(find(&r, 1, 0).pfn.v, PAGES);
    a = map(&r, 0, 10, 5);
    assert_int_equal(find(&r, 0, 12).pages, PAGES);
    assert_int_equal(find(&r, 0, 9).pages, 0);
    assert_string_equal(verdict(&r), "");
    /* split, they are free */
    hd_ptables_split(r.t, 0, at(0));
    assert_int_equal(find(&r, 0, 12).pfn.v, 12);
    assert_string_equal(verdict(&r), "");
    map(&r, 1, 3, 1);
    assert_int_equal(find(&r, 1, 3).pfn.v, 0);
    assert_int_equal(r.t->s->mixed[1], 1);
    assert_int_equal(hd_bigframes_peak(&r.t->big, 1), PAGES + 1);
    assert_int_equal(hd_bigframes_peak(&r.t->big, 0), PAGES);
    unmap(&r, 0, a, 10, 5);
    unmap(&r, 0, b, 200, PAGES - 200);
    assert_int_equal(r.t->big.held[0], 0);
    /* What the one leaves is the other's, and what was asked for is over. */
    assert_int_equal(hd_bigframes_peak(&r.t->big, 1), 2 * PAGES);
    assert_int_equal(hd_bigframes_peak(&r.t->big, 0), PAGES - 200 + 5);
    assert_int_equal(hd_bigframes_peak(&r.t->big, 0), 0);
    assert_string_equal(verdict(&r), "");
    close_rig(&r);
}

/* All are lost: the region can be split, and its frame is free. */
static void emptied(void **state)
{
    struct rig r;
    struct hd_xlate x;
    uint32_t a;

    (void)state;
    open_rig(&r);
    a = map(&r, 0, 0, PAGES);
    hd_ptables_join(r.t, 0, at(0));
    unmap(&r, 0, a, 0, PAGES);
    assert_true(hd_ptables_large(r.t, 0, at(0), &x));
    assert_true(hd_ptables_large(r.t, 0, at(0), &x) && x.pfn.v == 0);
    assert_string_equal(verdict(&r), "");
    hd_ptables_split(r.t, 0, at(0));
    assert_int_equal(hd_frames_used(&r.t->frames), 0);
    assert_int_equal(hd_bigframes_owner(&r.t->big, 0), HD_OWNER_NONE);
    assert_string_equal(verdict(&r), "");
    close_rig(&r);
}

/* ---- pages that move, frames in use before ------------------------------- */

static void moved(void **state)
{
    struct rig r;
    uint32_t app, changes;
    hd_vpn vpn;

    (void)state;
    open_rig(&r);
    map(&r, 0, 0, 20);
    changes = *hd_ptables_changes(r.t);
    hd_ptables_move(r.t, (hd_pfn){4}, (hd_pfn){PAGES + 9});
    assert_int_equal(find(&r, 0, 4).pfn.v, PAGES + 9);
    assert_int_equal(find(&r, 0, 5).pfn.v, 5);
    assert_true(hd_ptables_owner(r.t, (hd_pfn){PAGES + 9}, &app, &vpn) &&
                app == 0);
    assert_int_equal(vpn.v, BASE + 4);
    assert_false(hd_ptables_owner(r.t, (hd_pfn){4}, &app, &vpn));
    assert_int_not_equal(*hd_ptables_changes(r.t), changes);
    assert_int_equal(r.t->big.held[0], 2 * PAGES);
    assert_string_equal(verdict(&r), "");
    close_rig(&r);
}

static void fragmented(void **state)
{
    struct rig r;
    uint64_t filled = 0, n;
    uint32_t app;
    hd_vpn vpn;

    (void)state;
    open_rig(&r);
    n = r.t->frames.frames / PAGES;
    assert_int_equal(hd_ptables_fragment(r.t, 50, 25, 7), 0);
    for (uint64_t b = 0; b < n; b++) {
        const struct hd_bigframe *f = &r.t->big.v[b];
        assert_true(f->used == 0 || f->used == PAGES / 4);
        filled += f->used != 0;
        if (f->used != 0)
            assert_int_equal(hd_bigframes_owner(&r.t->big, b),
                             HD_OWNER_FOREIGN);
    }
    assert_int_equal(filled, n / 2);
    assert_int_equal(hd_frames_used(&r.t->frames), n / 2 * PAGES / 4);
    assert_string_equal(verdict(&r), "");
    for (uint64_t f = 0; f < r.t->frames.frames; f++)
        if (hd_frames_owner(&r.t->frames, f) != 0)
            assert_false(hd_ptables_owner(r.t, (hd_pfn){f}, &app, &vpn));
    map(&r, 0, 0, 2000);
    assert_string_equal(verdict(&r), "");
    close_rig(&r);
}

/* ---- what is wrong is found ---------------------------------------------- */

static void found(void **state)
{
    struct rig r;
    struct hd_pt_slot *h;
    uint64_t *e;

    (void)state;
    open_rig(&r);
    map(&r, 0, 0, PAGES);
    hd_ptables_join(r.t, 0, at(0));
    h = hd_pt_find(r.t, hd_pt_key(0, BASE / PAGES));
    e = hd_pt_entry(r.t, h->at);
    e[5] &= ~(uint64_t)HD_PT_DISABLED;
    assert_text(verdict(&r), "coalesced");
    e[5] |= HD_PT_DISABLED;
    assert_string_equal(verdict(&r), "");
    e[5] += 4096; /* not in its place */
    assert_true(verdict(&r)[0] != '\0');
    e[5] -= 4096;
    hd_bigframe_of(&r.t->big, 0)->joined = 0;
    assert_text(verdict(&r), "coalesced");
    hd_bigframe_of(&r.t->big, 0)->joined = 1;
    h->region_bits &= ~(uint32_t)HD_PT_JOINED;
    assert_true(verdict(&r)[0] != '\0');
    h->region_bits |= HD_PT_JOINED;
    r.t->big.v[0].used--;
    assert_text(verdict(&r), "2 MB frame 0");
    r.t->big.v[0].used++;
    r.t->big.held[0]++;
    assert_text(verdict(&r), "hold");
    r.t->big.held[0]--;
    assert_string_equal(verdict(&r), "");
    map(&r, 1, 0, PAGES + 1); /* frame 1024 has both from here on */
    map(&r, 0, PAGES, 1);
    assert_string_equal(verdict(&r), "");
    r.t->s->mixed[0] = 0;
    assert_text(verdict(&r), "several");
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined), cmocka_unit_test(not_whole),
        cmocka_unit_test(kept),   cmocka_unit_test(emptied),
        cmocka_unit_test(moved),  cmocka_unit_test(fragmented),
        cmocka_unit_test(found),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
