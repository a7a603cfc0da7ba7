/*
 * Pinned: what comes from the host in pieces.  A region that is coalesced
 * before all of its pages have come: what its entries say, whose its frame is,
 * what the check finds; an entry of 2 MB in the L2 TLB answers for the pages
 * that are there and for no other, of which each faults alone and without a
 * walk; a walk for several of its pages answers those that are there. Transfers
 * of 2 MB: pages are mapped one by one as their data cross, in the order of
 * addresses; requests go on with their page or with the last; only what is on
 * the host crosses; the instant of the next page is known before.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmfault.h"

#include "pages/ptstate.h"
#include "texts.h"

enum {
    EIGHT = 4200, /* 32 KB on the link */
    PAGES = 512,
    COMES = FAULT + L /* the first transfer begins */
};

static struct vm *start_with(struct vm *v, uint64_t pages)
{
    vm_open(v, 2);
    for (uint32_t app = 0; app < 2; app++)
        vm_map(v, app, A, pages);
    return v;
}

static struct vm *start(void)
{
    return start_with(vm_new_fault(), PAGES);
}

static const char *verdict(struct vm *v)
{
    hd_err_clear(&v->m.err);
    return memenv_check(&v->m, "pagetable");
}

static hd_vpn at(uint64_t page)
{
    return (hd_vpn){A + page};
}

static void come(struct vm *v, uint32_t app, uint64_t page)
{
    assert_int_equal(hd_ptables_place(v->pt, app, at(page), false, &v->m.err),
                     0);
    assert_true(hd_ptables_in_flight(v->pt, app, at(page)));
    assert_true(hd_ptables_arrive(v->pt, app, at(page), false));
}

static uint32_t pages_found(struct vm *v, uint64_t page)
{
    struct hd_xlate x;

    return hd_ptables_find(v->pt, 0, at(page), &x) ? x.pages : 0;
}

static uint64_t faults(struct vm *v, enum hd_fault_stat c)
{
    for (uint32_t i = 0; i < v->m.stats.groups; i++)
        if (strcmp(v->m.stats.group[i].component, "fault") == 0)
            return *hd_count(&v->m.stats.group[i].stat, 0, 0, c);
    fail_msg("no counters of faults");
    return 0;
}

/* ---- what the page tables say -------------------------------------------- */

static void coalesced_early(void **state)
{
    struct vm *v = start();
    struct hd_xlate x;
    hd_pa first[4], pte[4];
    hd_pfn f = {9};

    (void)state;
    assert_int_equal(hd_ptables_whole(v->pt, 0, at(0), &f), 0); /* no frame */
    come(v, 0, 0);
    assert_int_equal(hd_ptables_whole(v->pt, 0, at(3), &f), 1);
    assert_int_equal(f.v, 0);
    hd_ptables_join(v->pt, 0, at(3));
    assert_int_equal(hd_frames_used(&v->pt->frames), PAGES);
    assert_int_equal(hd_ptables_remaining(v->pt, 0, at(0)), PAGES);
    assert_int_equal(hd_ptables_present(v->pt, 0, at(0)), 1);
    assert_int_equal(pages_found(v, 0), PAGES);
    assert_int_equal(pages_found(v, 7), 0);
    assert_true(hd_ptables_nonresident(v->pt, 0, at(7), &x) && x.pages == 1);
    assert_true(hd_ptables_large(v->pt, 0, at(7), &x));
    assert_true(x.pages == PAGES && x.vpn.v == A && x.pfn.v == 0);
    assert_false(hd_ptables_large(v->pt, 1, at(7), &x));
    assert_true(hd_ptables_resident(v->pt, 0, at(0)));
    assert_false(hd_ptables_resident(v->pt, 0, at(7)));
    assert_int_equal(hd_ptables_path(v->pt, 0, at(0), first), 4);
    assert_int_equal(hd_ptables_path(v->pt, 0, at(7), pte), 4);
    assert_int_equal(pte[3].v, first[3].v); /* the first leaf entry */
    assert_true(hd_ptables_entry(v->pt, (hd_pa){first[3].v + 56}) >> 11 & 1);
    assert_int_equal(hd_ptables_first(v->pt, 0, at(7)).v, A);
    assert_string_equal(verdict(v), "");
    come(v, 1, 0); /* its places are nobody else's */
    assert_int_equal(v->pt->big.held[1], PAGES);
    assert_true(hd_ptables_find(v->pt, 1, at(0), &x) && x.pfn.v == PAGES);
    come(v, 0, 7); /* and its page has its own */
    assert_int_equal(pages_found(v, 7), PAGES);
    assert_string_equal(verdict(v), "");
    hd_ptables_split(v->pt, 0, at(0));
    assert_int_equal(hd_frames_used(&v->pt->frames), 3);
    assert_true(hd_ptables_find(v->pt, 0, at(7), &x) && x.pfn.v == 7);
    assert_int_equal(x.pages, 1);
    assert_true(hd_ptables_nonresident(v->pt, 0, at(8), &x));
    assert_string_equal(verdict(v), "");
    vm_close(v);
}

/* Not in its place, or another's page in a place: it is not whole. */
static void not_whole(void **state)
{
    struct vm *v = start();
    hd_pfn f;

    (void)state;
    come(v, 0, 1); /* to frame 0 */
    assert_int_equal(hd_ptables_whole(v->pt, 0, at(0), &f), 0);
    vm_close(v);
    v = start();
    come(v, 0, 0);
    assert_int_equal(hd_ptables_whole(v->pt, 0, at(0), &f), 1);
    come(v, 1, 5); /* to frame 1 */
    assert_int_equal(hd_ptables_whole(v->pt, 0, at(0), &f), 0);
    vm_close(v);
    v = start_with(vm_new_fault(), PAGES - 1);
    come(v, 0, 0);
    assert_int_equal(hd_ptables_whole(v->pt, 0, at(0), &f), 0);
    vm_close(v);
}

/* Pages that are there, on their way, or on the host go and come back. */
static void lost(void **state)
{
    struct vm *v = start();
    struct hd_xlate x;

    (void)state;
    come(v, 0, 0);
    hd_ptables_join(v->pt, 0, at(0));
    come(v, 0, 1);
    assert_int_equal(hd_ptables_place(v->pt, 0, at(2), false, &v->m.err), 0);
    hd_ptables_unmap(v->pt, 0, 0, (hd_va){(uint64_t)A << 12}, PAGES << 12);
    assert_int_equal(hd_ptables_remaining(v->pt, 0, at(0)), 0);
    assert_int_equal(hd_frames_used(&v->pt->frames), PAGES);
    assert_int_equal(v->pt->big.held[0], 0);
    assert_false(hd_ptables_arrive(v->pt, 0, at(2), false)); /* too late */
    assert_string_equal(verdict(v), "");
    assert_int_equal(hd_ptables_reserve(v->pt, 0, 0, (hd_va){(A + 2ull) << 12},
                                        8192, &v->m.err),
                     0);
    assert_int_equal(hd_ptables_remaining(v->pt, 0, at(0)), 2);
    assert_false(hd_ptables_nonresident(v->pt, 0, at(1), &x));
    come(v, 0, 2);
    assert_true(hd_ptables_find(v->pt, 0, at(2), &x) && x.pfn.v == 0);
    assert_string_equal(verdict(v), "");
    hd_ptables_split(v->pt, 0, at(0));
    assert_int_equal(hd_frames_used(&v->pt->frames), 1);
    assert_string_equal(verdict(v), "");
    vm_close(v);
}

static void found(void **state)
{
    struct vm *v = start();
    const struct hd_pt_slot *h;
    uint64_t *e;

    (void)state;
    come(v, 0, 0);
    hd_ptables_join(v->pt, 0, at(0));
    h = hd_pt_find(v->pt, hd_pt_key(0, A / PAGES));
    e = hd_pt_entry(v->pt, h->at);
    e[9] &= ~(uint64_t)HD_PT_DISABLED; /* of a page on the host */
    assert_text(verdict(v), "coalesced");
    e[9] |= HD_PT_DISABLED;
    assert_string_equal(verdict(v), "");
    hd_frames_give(&v->pt->frames, 9, 1); /* a place that it does not own */
    v->pt->s->kept--;
    assert_text(verdict(v), "coalesced");
    vm_close(v);
}

/* ---- what TLBs and walks make of it -------------------------------------- */

static void large_hits(void **state)
{
    struct vm *v = start();
    uint64_t t = 0;

    (void)state;
    vm_ask(v, 0, 0, 0, 0, A);
    vm_due(v, 0, COMES + SMALL + LOOK + WALK);
    hd_ptables_join(v->pt, 0, at(0));
    t = 100000; /* a page on the host: walked for, which brings the entry */
    vm_ask(v, t, 1, 0, 0, A + 3);
    vm_due(v, 1, t + COMES + SMALL + LOOK);
    assert_int_equal(vm_walks(v, 0, HD_WALK_WALKS), 3);
    assert_int_equal(vm_count(v, 0, HD_MMU_ABSENT), 0);
    t = 200000; /* another: the entry is there, and the page is not */
    vm_ask(v, t, 1, 0, 0, A + 9);
    vm_due(v, 2, t + WAY + LOOK + L + SMALL + LOOK);
    assert_int_equal(vm_walks(v, 0, HD_WALK_WALKS), 3);
    assert_int_equal(vm_count(v, 0, HD_MMU_ABSENT), 1);
    assert_int_equal(faults(v, HD_FAULT_PAGES), 3); /* it came alone */
    t = 300000; /* those that are there hit */
    vm_ask(v, t, 2, 0, 0, A + 9);
    vm_due(v, 3, t + WAY + LOOK);
    assert_int_equal(vm_answer(v, 3)->pfn, 9);
    assert_int_equal(vm_count(v, 0, HD_MMU_ABSENT), 1);
    vm_finish(v);
    vm_close(v);
}

/* A region is coalesced before `t`, with one page there; no TLB knows it. */
static struct vm *start_joined(uint64_t t)
{
    struct vm *v = start();

    vm_ask(v, 0, 0, 0, 0, A);
    vm_run(v, t - 1);
    hd_ptables_join(v->pt, 0, at(0));
    hd_mmu_shoot(v->mmu, 0, at(0), PAGES, 0);
    return v;
}

/* Requests for several pages of a region join one walk; those that are on the
 * host fault, page by page, and the others are answered. */
static void one_walk(void **state)
{
    static const uint32_t page[] = {20, 0, 21, 20};
    uint64_t t = 100000;
    struct vm *v = start_joined(t);

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        vm_ask(v, t, i, 0, 0, A + page[i]);
    vm_due(v, 2, t + WAY + LOOK + WALK);
    assert_int_equal(faults(v, HD_FAULT_FAULTS), 1 + 2);
    assert_int_equal(faults(v, HD_FAULT_MERGES), 1);
    vm_due(v, 1, t + COMES + SMALL + LOOK);
    vm_due(v, 4, t + COMES + SMALL + LOOK);
    vm_due(v, 3, t + COMES + 2 * SMALL + LOOK);
    assert_int_equal(vm_walks(v, 0, HD_WALK_WALKS), 3);
    vm_finish(v);
    vm_close(v);
}

/* The region is split while a walk for its pages is under way. */
static void split_under_a_walk(void **state)
{
    uint64_t t = 100000;
    struct vm *v = start_joined(t);

    (void)state;
    vm_ask(v, t, 0, 0, 0, A + 20);
    vm_ask(v, t, 1, 0, 0, A);
    vm_run(v, t + WAY + LOOK + READ);
    hd_ptables_split(v->pt, 0, at(0));
    vm_due(v, 2, t + WAY + LOOK + WALK);
    vm_finish(v);
    assert_int_equal(vm_answer(v, 1)->pfn, 1); /* the next free frame */
    vm_close(v);
}

/* ---- transfers of 2 MB --------------------------------------------------- */

static struct vm *transfers(uint32_t replay)
{
    struct vm *v = vm_new_fault();

    v->fault_cfg.transfer = HD_TRANSFER_2M;
    v->fault_cfg.replay = replay;
    return v;
}

static void in_order(void **state)
{
    (void)state;
    for (uint32_t replay = 0; replay < 2; replay++) {
        struct vm *v = start_with(transfers(replay), PAGES);
        const hd_time *next = hd_faults_next(v->faults);

        vm_ask(v, 0, 0, 0, 0, A + 7);
        vm_ask(v, COMES + 1000, 0, 0, 0, A + 400); /* it is on its way */
        assert_true(*next == HD_NEVER);
        vm_run(v, COMES);
        assert_true(*next == COMES + SMALL + 1);
        vm_run(v, COMES + SMALL - 1);
        assert_false(hd_ptables_resident(v->pt, 0, at(0)));
        vm_run(v, COMES + SMALL);
        assert_true(hd_ptables_resident(v->pt, 0, at(0)));
        assert_false(hd_ptables_resident(v->pt, 0, at(1)));
        assert_true(*next == COMES + 2 * SMALL + 1);
        vm_run(v, COMES + EIGHT - 1);
        assert_false(hd_ptables_resident(v->pt, 0, at(7)));
        vm_run(v, COMES + EIGHT);
        assert_true(hd_ptables_resident(v->pt, 0, at(7)));
        if (replay == HD_REPLAY_PAGE)
            vm_due(v, 0, COMES + EIGHT + LOOK + WALK);
        vm_run(v, COMES + LARGE - 1);
        assert_int_equal(hd_ptables_pages(v->pt, 0), PAGES - 1);
        if (replay == HD_REPLAY_BATCH)
            assert_int_equal(v->answers, 0);
        if (replay == HD_REPLAY_BATCH)
            vm_due(v, 0, COMES + LARGE + LOOK + WALK);
        vm_finish(v);
        assert_true(*next == HD_NEVER);
        assert_int_equal(faults(v, HD_FAULT_FAULTS), 1);
        assert_int_equal(faults(v, HD_FAULT_MERGES), 1);
        assert_int_equal(faults(v, HD_FAULT_PAGES), PAGES);
        assert_int_equal(hd_link_over(v->link), 1);
        vm_close(v);
    }
    assert_int_equal(L + LARGE, 324360); /* Mosaic's 318 us */
}

/* What is there already, or in no allocation, does not cross again. */
static void the_rest(void **state)
{
    struct vm *v = start_with(transfers(HD_REPLAY_BATCH), 8);

    (void)state;
    vm_ask(v, 0, 0, 0, 0, A + 7);
    vm_ask(v, 10, 1, 0, 1, A); /* of another application: a fault of its own */
    vm_due(v, 0, COMES + EIGHT + LOOK + WALK);
    vm_due(v, 1, COMES + 2 * EIGHT + LOOK + WALK);
    assert_int_equal(hd_ptables_reserve(v->pt, 0, 1, (hd_va){(A + 8ull) << 12},
                                        4096, &v->m.err),
                     0);
    vm_ask(v, 100000, 0, 0, 0, A + 8);
    vm_due(v, 2, 100000 + COMES + SMALL + LOOK + WALK);
    vm_finish(v);
    assert_int_equal(faults(v, HD_FAULT_PAGES), 9);
    vm_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coalesced_early),
        cmocka_unit_test(not_whole),
        cmocka_unit_test(lost),
        cmocka_unit_test(found),
        cmocka_unit_test(large_hits),
        cmocka_unit_test(one_walk),
        cmocka_unit_test(split_under_a_walk),
        cmocka_unit_test(in_order),
        cmocka_unit_test(the_rest),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
