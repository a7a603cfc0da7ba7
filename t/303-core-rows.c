/*
 * Pinned: lines that hit in a row where they did last (lsu.c) are what they are
 * one by one.  Random programs of loads, stores and atomics on a small L1 and a
 * small TLB run with rows and without: every line and every walk leaves at the
 * same cycle, and all is counted alike.
 *
 * SPDX-License-Identifier: MIT
 */
#include "corerig.h"

enum { BLOCKS = 3, LINES = 32, PAGES = 6, LOG = 40000 };

struct event {
    uint64_t cycle, what;
};

struct test {
    struct program program[BLOCKS][RIG_WARPS];
    struct {
        uint32_t page, step, n;
    } touch[BLOCKS][RIG_WARPS][RIG_OPS];
    hd_va lane[LINES];
    struct event log[LOG];
    uint32_t n;
    uint64_t l1[HD_L1_STORE_FULL + 1], lookups, hits, end;
};

static void note(struct test *t, uint64_t cycle, uint64_t what)
{
    assert_true(t->n < LOG);
    t->log[t->n++] = (struct event){cycle, what};
}

static void on_access(struct rig *r, uint32_t block, uint32_t w, uint32_t at,
                      struct hd_access *acc)
{
    struct test *t = r->test;

    for (uint32_t i = 0; i < t->touch[block][w][at].n; i++)
        t->lane[i].v = t->touch[block][w][at].page * 4096 +
                       i * t->touch[block][w][at].step % 64 * 128;
    acc->lane = t->lane;
}

static void on_line(struct rig *r, const struct hd_req *q)
{
    note(r->test, q->born / r->g.cycle, q->pa.v << 2 | q->kind);
}

static uint32_t on_walk(struct rig *r, const struct hd_treq *q)
{
    uint64_t cycle = q->born / r->g.cycle;

    note(r->test, cycle, ~q->vpn.v);
    return 1 + (uint32_t)(hd_mix64(q->vpn.v + cycle * 7919) % 50);
}

static void make_programs(struct test *t, uint64_t seed)
{
    static const uint8_t kind[] = {HEDDLE_OP_LOAD,  HEDDLE_OP_LOAD,
                                   HEDDLE_OP_LOAD,  HEDDLE_OP_LOAD,
                                   HEDDLE_OP_STORE, HEDDLE_OP_ATOMIC};
    struct hd_rng r = hd_rng_make(seed, 303);
    uint32_t all = 2 + hd_rng_below(&r, LINES - 1);

    for (uint32_t b = 0; b < BLOCKS; b++)
        for (uint32_t w = 0; w < RIG_WARPS; w++) {
            struct program *p = &t->program[b][w];

            for (p->n = 0; p->n < RIG_OPS - 1; p->n++) {
                uint8_t k = kind[hd_rng_below(&r, HD_LEN(kind))];
                uint32_t n = hd_rng_below(&r, 4) ? all : 1;

                t->touch[b][w][p->n].page = hd_rng_below(&r, PAGES);
                t->touch[b][w][p->n].step = 1 + hd_rng_below(&r, 3);
                t->touch[b][w][p->n].n = n;
                p->op[p->n] = (struct hd_op){
                    k,
                    k == HEDDLE_OP_LOAD ? (uint8_t)(p->n % 8) : HD_NO_SLOT,
                    4,
                    0,
                    hd_rng_below(&r, 3) ? 0 : ~0u,
                    1,
                    0,
                    hd_ones(n)};
            }
            p->op[p->n++] = (struct hd_op){
                HEDDLE_OP_EXIT, HD_NO_SLOT, 0, 0, 0, 1, 0, hd_ones(32)};
        }
}

static struct test *run(uint64_t seed, bool rows)
{
    static const char *const few[] = {"1", "2", "3"};
    const char *const set[][2] = {
        {"core.count", "1"},
        {"core.lanes", "32"},
        {"core.width", "32"},
        {"core.blocks", "2"},
        {"l1tlb.entries", seed % 2 ? "4" : "16"},
        {"l1tlb.ports", few[seed % 3]},
        {"l1cache.ports", few[seed / 3 % 3]},
        {"l1cache.bytes", seed % 5 ? "16384" : "4096"},
        {"l1cache.write", seed % 4 ? "through" : "back"},
        {"l1cache.mshrs", "16"},
        {NULL, NULL},
    };
    struct test *t = calloc(1, sizeof *t);
    struct programs all = {BLOCKS, RIG_WARPS, t->program};
    struct rig *r;

    make_programs(t, seed);
    r = rig_build(&all, set);
    r->latency = 23;
    r->access = on_access;
    r->sent = on_line;
    r->walked = on_walk;
    r->test = t;
    assert_true(r->g.core[0].unobserved);
    r->g.core[0].unobserved = rows;
    rig_run(r);
    memcpy(t->l1, r->g.core[0].l1_count, sizeof t->l1);
    t->lookups = r->g.core[0].tlb_count[HD_L1TLB_LOOKUPS];
    t->hits = r->g.core[0].tlb_count[HD_L1TLB_HITS];
    t->end = hd_events_now(&r->ev);
    rig_close(r);
    return t;
}

static void rows_are_lines(void **state)
{
    uint64_t hits = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct test *a = run(seed, true), *b = run(seed, false);

        assert_int_equal(a->n, b->n);
        for (uint32_t i = 0; i < a->n; i++) {
            assert_int_equal(a->log[i].cycle, b->log[i].cycle);
            assert_int_equal(a->log[i].what, b->log[i].what);
        }
        assert_memory_equal(a->l1, b->l1, sizeof a->l1);
        assert_int_equal(a->lookups, b->lookups);
        assert_int_equal(a->hits, b->hits);
        assert_int_equal(a->end, b->end);
        hits += a->l1[HD_L1_READ_HITS];
        free(a);
        free(b);
    }
    assert_true(hits > 10000);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_lines),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("core rows", tests, NULL, NULL);
}
