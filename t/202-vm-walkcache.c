/*
 * Pinned: memory references of a walk, for every pattern of hits in the page
 * walk cache, in both styles, for 4 KB, 64 KB and 2 MB pages, and in the order
 * of levels; the time that each takes; and that fills make the next walk of
 * the same page hit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmenv.h"

enum { PAGE = 0x123456, NEAR = PAGE + 1 };

/* Enters the levels of `pattern` (bit level - 1), as reads would have. */
static void warm(struct vm *v, uint32_t vpn, uint32_t pattern)
{
    hd_pa pte[4];
    uint32_t leaf = hd_ptables_walk(v->pt, 0, (hd_vpn){vpn}, pte);

    for (uint32_t l = 1; l <= leaf; l++)
        if (pattern >> (l - 1) & 1)
            hd_pwc_fill(&v->mmu->unit[0].pwc, 0, (hd_vpn){vpn}, l, leaf,
                        pte[l - 1]);
}

/* One walk with these levels in the cache: the levels read, as a bit set. */
static uint32_t walk(uint32_t page, uint32_t style, uint32_t pattern,
                     uint64_t *cycles)
{
    struct vm *v = vm_new();
    uint32_t levels = 0, n;

    v->pwc.mode.kind = HD_FULL;
    v->pwc.style = style;
    v->vm_cfg.page = page;
    vm_open(v, 1);
    vm_map(v, 0, PAGE & ~511u, 1024);
    warm(v, PAGE, pattern);
    vm_ask(v, 1000, 0, 0, 0, PAGE);
    vm_finish(v);
    for (uint32_t i = 0; i < v->reads; i++) {
        assert_true(i == 0 || v->read[i].level > v->read[i - 1].level);
        levels |= 1u << (v->read[i].level - 1);
    }
    n = v->reads;
    assert_int_equal(v->answer[0].references, n);
    assert_int_equal(vm_walks(v, 0, HD_WALK_REFERENCES), n);
    for (uint32_t l = 0; l < 4; l++)
        assert_int_equal(vm_walks(v, 0, HD_WALK_LEVEL + l), levels >> l & 1);
    *cycles = v->answer[0].at - 1000 - 10 - 20;
    vm_close(v);
    return levels;
}

static uint32_t deepest(uint32_t pattern)
{
    return pattern == 0 ? 0 : hd_log2(pattern) + 1;
}

/* Each level present is not read; each look-up takes the cache's time. */
static void physical(void **state)
{
    (void)state;
    for (uint32_t page = 0; page < 3; page++) {
        uint32_t leaf = page == 2 ? 3 : 4;
        for (uint32_t p = 0; p < 1u << leaf; p++) {
            uint64_t cycles;
            uint32_t read = walk(page, 0, p, &cycles);
            assert_int_equal(read, hd_ones(leaf) & ~p);
            assert_int_equal(cycles, 20 * leaf + 107 * hd_bit_count(read));
        }
    }
}

/* The deepest level present above the leaf saves itself and all above. */
static void prefix(void **state)
{
    (void)state;
    for (uint32_t page = 0; page < 3; page++) {
        uint32_t leaf = page == 2 ? 3 : 4;
        for (uint32_t p = 0; p < 1u << leaf; p++) {
            uint64_t cycles;
            uint32_t above = p & (uint32_t)hd_ones(leaf - 1);
            uint32_t read = walk(page, 1, p, &cycles);
            assert_int_equal(hd_bit_count(read), leaf - deepest(above));
            assert_int_equal(read, hd_ones(leaf) & ~hd_ones(deepest(above)));
            assert_int_equal(cycles, 20 + 107 * hd_bit_count(read));
        }
    }
}

static uint64_t pwc_count(struct vm *v, uint32_t c)
{
    return *hd_count(&v->mmu->unit[0].pwc.stat, 0, 0, c);
}

/* After one walk, the page beside it: one read (prefix, and physical entries),
 * none in the physical style with lines of entries. */
static void second_walk(uint32_t style, uint32_t line, uint32_t reads)
{
    struct vm *v = vm_new();

    v->pwc.mode.kind = HD_FULL;
    v->pwc.style = style;
    v->pwc.line = line;
    vm_open(v, 2);
    vm_map(v, 0, PAGE, 2);
    vm_map(v, 1, PAGE, 2);
    vm_ask(v, 0, 0, 0, 0, PAGE);
    vm_run(v, 10000);
    assert_int_equal(v->reads, 4);
    vm_ask(v, 10000, 0, 0, 0, NEAR);
    vm_run(v, 20000);
    assert_int_equal(v->reads, 4 + reads);
    /* another application shares nothing */
    vm_ask(v, 20000, 0, 0, 1, PAGE);
    vm_run(v, 30000);
    assert_int_equal(v->reads, 8 + reads);
    /* the entries that lead to an invalidated page are read again */
    hd_mmu_shoot(v->mmu, 0, (hd_vpn){NEAR}, 1, 0);
    vm_ask(v, 30000, 0, 0, 0, NEAR);
    vm_finish(v);
    assert_int_equal(v->reads, (style == 0 ? 9 : 12) + reads);
    assert_int_equal(pwc_count(v, HD_PWC_INVALIDATIONS), style == 0 ? 1 : 3);
    assert_int_equal(pwc_count(v, HD_PWC_FILLS),
                     style == 0 ? 5 + reads : 3 + 3);
    assert_int_equal(pwc_count(v, HD_PWC_EVICTIONS), 0);
    assert_int_equal(pwc_count(v, HD_PWC_LOOKUPS), style == 0 ? 12 : 3);
    assert_int_equal(pwc_count(v, HD_PWC_HITS), style == 0 ? 2 : 0);
    assert_int_equal(pwc_count(v, HD_PWC_HITS + 2), style == 0 ? 2 : 1);
    assert_int_equal(pwc_count(v, HD_PWC_MISSES + 2), style == 0 ? 1 : 2);
    vm_close(v);
}

static void fills(void **state)
{
    (void)state;
    second_walk(1, 8, 1);
    second_walk(0, 8, 1);
    second_walk(0, 128, 0);
}

/* Ports: of five look-ups at one instant the fifth begins a cycle later. */
static void ports(void **state)
{
    struct vm *v = vm_new();
    struct hd_pwc *c;

    (void)state;
    v->pwc.mode.kind = HD_FULL;
    vm_open(v, 1);
    c = &v->mmu->unit[0].pwc;
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(hd_pwc_port(c, 100), 120);
    assert_int_equal(hd_pwc_port(c, 100), 122);
    /* a look-up that is known early leaves earlier cycles free */
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(hd_pwc_port(c, 110), 130);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(hd_pwc_port(c, 100), 122);
    assert_int_equal(hd_pwc_port(c, 100), 124);
    assert_int_equal(hd_pwc_port(c, 111), 132);
    vm_close(v);
}

/* ideal: every look-up hits at its latency; fixed: in so many cycles. */
static void modes(void **state)
{
    static const uint32_t style_reads[2] = {0, 1};

    (void)state;
    for (uint32_t style = 0; style < 2; style++) {
        for (uint32_t fixed = 0; fixed < 2; fixed++) {
            struct vm *v = vm_new();
            uint64_t lookup = fixed ? 6 : 20;
            v->pwc.mode = (struct hd_mode){fixed ? HD_FIXED : HD_IDEAL, 3};
            v->pwc.style = style;
            vm_open(v, 1);
            vm_map(v, 0, PAGE, 1);
            vm_ask(v, 0, 0, 0, 0, PAGE);
            vm_finish(v);
            assert_int_equal(v->reads, style_reads[style]);
            assert_int_equal(v->answer[0].at,
                             30 + (style == 0 ? 4 * lookup : lookup + 107));
            vm_close(v);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(physical), cmocka_unit_test(prefix),
        cmocka_unit_test(fills),    cmocka_unit_test(ports),
        cmocka_unit_test(modes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm walk cache", tests, NULL, NULL);
}
