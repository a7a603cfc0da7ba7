/*
 * 404-vm-issue.c - what the lane engine hands out, instruction by instruction:
 * ALU runs joined across free control flow and loops, broken where a load must
 * be waited for or the lanes change; scoreboard slots and waits; partial
 * warps, barriers, exits; affine addresses that are never expanded; indices
 * outside a buffer and loops without end as errors in words.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "kasm.h"
#include "texts.h"

static struct kasm a;

struct rig {
    struct krig r;
    struct hd_launch l;
    uint32_t ctx;
};

/* Runs what is in `a` with buffers x (i32, 256, contents 0, 1, 2, ...) and
 * y (f32, 2^20 elements, no contents), block 0. */
static void start(struct rig *g, uint32_t lanes)
{
    heddle_program *p = heddle_program_new("test");
    heddle_data *d = heddle_data_new(HEDDLE_I32, 256);

    for (int i = 0; i < 256; i++)
        ((int32_t *)d->mem)[i] = i;
    heddle_program_buffer(p, "x", HEDDLE_I32, 256, 0, d);
    heddle_data_free(d);
    heddle_program_buffer(p, "y", HEDDLE_F32, 1 << 20, 0, NULL);
    if (kasm_add(&a, p) < 0)
        fail_msg("%s", heddle_program_error(p)->text);
    heddle_program_launch(p, &(struct heddle_launch){0});
    assert_int_equal(krig_open(&g->r, heddle_program_workload(p), lanes, 64),
                     0);
    heddle_program_free(p);
    assert_int_equal(g->r.ops->launch(g->r.self, &g->l), 1);
    assert_int_equal(g->r.ops->block_start(g->r.self, 0, &g->ctx), 0);
}

static struct hd_op next(struct rig *g, uint32_t warp)
{
    struct hd_op op;

    memset(&op, 0xee, sizeof(op));
    g->r.ops->next(g->r.self, g->ctx, warp, &op);
    return op;
}

static struct hd_access access_of(struct rig *g, uint32_t warp)
{
    struct hd_access acc;

    g->r.ops->access(g->r.self, g->ctx, warp, &acc);
    return acc;
}

static void expect_alu(struct rig *g, uint32_t count, uint32_t wait)
{
    struct hd_op op = next(g, 0);

    assert_int_equal(op.kind, HEDDLE_OP_ALU);
    assert_int_equal(op.count, count);
    assert_int_equal(op.wait, wait);
    assert_int_equal(op.slot, HD_NO_SLOT);
}

static void begin(uint32_t threads)
{
    kasm_begin(&a, "k", 4, threads, 1, 1);
    kasm_reg(&a, HD_R_INT);  /* 0: tid */
    kasm_reg(&a, HD_R_INT);  /* 1 */
    kasm_reg(&a, HD_R_INT);  /* 2 */
    kasm_reg(&a, HD_R_BOOL); /* 3 */
    kasm_reg(&a, HD_R_INT);  /* 4 */
    kasm(&a, HD_I_SPEC, 0, NR, NR, HEDDLE_SPECIAL_TID);
}

static void test_runs_join(void **state)
{
    struct rig g;

    (void)state;
    begin(32);
    kasm_alu(&a, 3, ~0u);
    kasm(&a, HD_I_LT, 3, 0, NR, 32);
    kasm(&a, HD_I_IF, NR, 3, NR, 0);
    kasm_alu(&a, 4, ~0u);
    kasm(&a, HD_I_ENDIF, NR, NR, NR, 0);
    kasm(&a, HD_I_LI, 1, NR, NR, 0);
    kasm(&a, HD_I_LI, 2, NR, NR, 1000);
    kasm_full(&a, HD_I_LOOP, 0, 4, 1, 2, NR, 0, 0, 1);
    kasm_alu(&a, 2, ~0u);
    kasm_full(&a, HD_I_SHARED, 0, NR, NR, NR, NR, 0, ~0u, 1);
    kasm(&a, HD_I_ENDLOOP, NR, NR, NR, 0);
    kasm(&a, HD_I_LT, 3, 0, NR, 7); /* other lanes: another run */
    kasm(&a, HD_I_IF, NR, 3, NR, 0);
    kasm_alu(&a, 5, ~0u);
    kasm(&a, HD_I_ENDIF, NR, NR, NR, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    expect_alu(&g, 3 + 4 + 3000, 0);
    struct hd_op op = next(&g, 0);
    assert_int_equal(op.kind, HEDDLE_OP_ALU);
    assert_int_equal(op.count, 5);
    assert_int_equal(op.mask, 0x7f);
    op = next(&g, 0);
    assert_int_equal(op.kind, HEDDLE_OP_EXIT);
    assert_int_equal(op.mask, 0xffffffff);
    krig_close(&g.r);
}

static void test_waits(void **state)
{
    struct rig g;
    struct hd_op op;

    (void)state;
    begin(32);
    kasm_mem(&a, HD_I_LOAD, 0, 1, 0, NR, 0, 0, 0);
    kasm_mem(&a, HD_I_LOAD, 5, 2, 0, NR, 0, 0, 0);
    kasm_alu(&a, 1, 0); /* waits for nothing */
    kasm_alu(&a, 2, 1); /* for slot 0: a run of its own */
    kasm_alu(&a, 4, 1); /* not again: joins */
    kasm(&a, HD_I_GE, 3, 2, NR, 0);
    kasm_full(&a, HD_I_IF, 0, NR, 3, NR, NR, 0, 1 << 5, 0); /* slot 5 */
    kasm_alu(&a, 8, 0); /* the branch's wait falls on it */
    kasm(&a, HD_I_ENDIF, NR, NR, NR, 0);
    kasm_alu(&a, 16, ~0u); /* nothing is outstanding */
    kasm_mem(&a, HD_I_LOAD, 0, 1, 0, NR, 0, 0, 0);
    kasm_mem(&a, HD_I_LOAD, 0, 1, 0, NR, 0, 0, 0); /* waits for its slot */
    kasm_mem(&a, HD_I_STORE, 0, 1, 0, NR, 0, 1, 0);
    kasm_mem(&a, HD_I_LOAD, 9, NR, 0, NR, 0, 0, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0); /* waits for all */
    start(&g, 32);
    op = next(&g, 0);
    assert_int_equal(op.kind, HEDDLE_OP_LOAD);
    assert_int_equal(op.slot, 0);
    assert_int_equal(op.wait, 0);
    assert_int_equal(op.bytes, 4);
    access_of(&g, 0);
    assert_int_equal(next(&g, 0).slot, 5);
    access_of(&g, 0);
    expect_alu(&g, 1, 0);
    expect_alu(&g, 6, 1);
    expect_alu(&g, 24, 1 << 5);
    assert_int_equal(next(&g, 0).wait, 0);
    access_of(&g, 0);
    assert_int_equal(next(&g, 0).wait, 1);
    access_of(&g, 0);
    op = next(&g, 0);
    assert_int_equal(op.kind, HEDDLE_OP_STORE);
    assert_int_equal(op.wait, 1);
    access_of(&g, 0);
    assert_int_equal(next(&g, 0).wait, 0);
    access_of(&g, 0);
    op = next(&g, 0);
    assert_int_equal(op.kind, HEDDLE_OP_EXIT);
    assert_int_equal(op.wait, 1 << 9);
    assert_int_equal(g.r.err.code, 0);
    krig_close(&g.r);
}

/* A variable carries a load: the next one fills another slot and does not wait
 * for it; what is given away has been waited for. */
static void test_names(void **state)
{
    struct rig g;
    struct hd_op op;

    (void)state;
    begin(32);
    kasm_mem(&a, HD_I_LOAD, 96 + 1, 1, 0, NR, 0, 0, 0);    /* slot 1 */
    kasm_full(&a, HD_I_CARRY, 0, NR, NR, NR, NR, 0, 0, 1); /* name 0: slot 1 */
    kasm_mem(&a, HD_I_LOAD, 96 + 1, 1, 0, NR, 0, 0, 0);    /* slot 0 */
    kasm_full(&a, HD_I_AWAIT, 0, NR, NR, NR, NR, 0, 0, 1);
    kasm_alu(&a, 1, 0);                                    /* for slot 1 */
    kasm_full(&a, HD_I_CARRY, 0, NR, NR, NR, NR, 0, 0, 1); /* name 0: slot 0 */
    kasm_alu(&a, 1, 0);                                    /* of that run */
    kasm_mem(&a, HD_I_LOAD, 96 + 1, 1, 0, NR, 0, 0, 0);    /* slot 1, free */
    kasm_full(&a, HD_I_CARRY, 0, NR, NR, NR, NR, 0, 0, 1); /* slot 0 is out */
    kasm_alu(&a, 1, 0);
    kasm_full(&a, HD_I_CARRY, 0, NR, NR, NR, NR, 0, 0, 32);
    kasm_alu(&a, 1, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    op = next(&g, 0);
    assert_int_equal(op.slot, 1);
    assert_int_equal(op.wait, 0);
    access_of(&g, 0);
    op = next(&g, 0);
    assert_int_equal(op.kind, HEDDLE_OP_LOAD);
    assert_int_equal(op.slot, 0);
    assert_int_equal(op.wait, 0);
    access_of(&g, 0);
    expect_alu(&g, 2, 1 << 1);
    op = next(&g, 0);
    assert_int_equal(op.slot, 1);
    assert_int_equal(op.wait, 0);
    access_of(&g, 0);
    expect_alu(&g, 1, 1 << 0);
    expect_alu(&g, 1, 1 << 1);
    assert_int_equal(next(&g, 0).wait, 0);
    krig_close(&g.r);
}

enum { GROUP = 1 << 24 }; /* the first group's slot */

static void expect_copy(struct rig *g, uint32_t slot, uint32_t wait)
{
    struct hd_op op = next(g, 0);

    assert_int_equal(op.kind, HEDDLE_OP_LOAD);
    assert_int_equal(op.slot, HD_SLOT_MANY + slot);
    assert_int_equal(op.space, HD_SPACE_COPY);
    assert_int_equal(op.wait, wait);
    assert_int_equal(op.count, 1);
    access_of(g, 0);
}

/* Copies of a group share a slot and wait for nothing; what waits for all loads
 * does not wait for them; DRAIN waits for all groups but the newest; the first
 * copy of a ninth group waits for the first. */
static void test_groups(void **state)
{
    struct rig g;

    (void)state;
    begin(32);
    for (int i = 0; i < 2; i++)
        kasm_full(&a, HD_I_LOAD, 64, NR, 0, NR, 4, 0, 0, 0);
    kasm(&a, HD_I_COMMIT, NR, NR, NR, 0);
    kasm_full(&a, HD_I_LOAD, 64, NR, 0, NR, 4, 0, 0, 0);
    kasm_mem(&a, HD_I_LOAD, 3, 1, 0, NR, 0, 0, 0);
    kasm_alu(&a, 1, UINT32_MAX);
    kasm(&a, HD_I_COMMIT, NR, NR, NR, 0);
    kasm(&a, HD_I_COMMIT, NR, NR, NR, 0); /* an empty one */
    kasm(&a, HD_I_DRAIN, NR, NR, NR, 2);
    kasm_alu(&a, 2, 0);
    kasm(&a, HD_I_DRAIN, NR, NR, NR, 0);
    kasm_alu(&a, 3, 0);
    for (int i = 0; i < 9; i++) {
        kasm_full(&a, HD_I_LOAD, 64, NR, 0, NR, 4, 0, 0, 0);
        kasm(&a, HD_I_COMMIT, NR, NR, NR, 0);
    }
    kasm(&a, HD_I_DRAIN, NR, NR, NR, 6);
    kasm_alu(&a, 1, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    assert_true(g.r.src->copies);
    expect_copy(&g, 24, 0);
    expect_copy(&g, 24, 0);
    expect_copy(&g, 25, 0);
    assert_int_equal(next(&g, 0).slot, 3);
    access_of(&g, 0);
    expect_alu(&g, 1, 1 << 3);
    expect_alu(&g, 2, GROUP);
    expect_alu(&g, 3, GROUP << 1);
    for (uint32_t i = 0; i < 8; i++)
        expect_copy(&g, 24 + (3 + i) % 8, 0);
    expect_copy(&g, 24 + 3, GROUP << 3);
    /* of the nine the last six stay in flight; the first has been waited for */
    expect_alu(&g, 1, GROUP << 4 | GROUP << 5);
    assert_int_equal(next(&g, 0).kind, HEDDLE_OP_EXIT);
    krig_close(&g.r);
}

/* A bulk copy: pieces of a line of lanes with 16 bytes each, lane by lane; only
 * the first counts. */
static void test_bulk(void **state)
{
    struct rig g;
    struct hd_access acc;
    struct hd_op op;
    uint64_t first = 0;

    (void)state;
    begin(32);
    kasm(&a, HD_I_LT, 3, 0, NR, 2); /* lanes 0 and 1 */
    kasm(&a, HD_I_IF, NR, 3, NR, 0);
    kasm(&a, HD_I_MUL, 1, 0, NR, 512);
    kasm_full(&a, HD_I_LOAD, 65, NR, 1, NR, 40, 1, 0, 16);
    kasm(&a, HD_I_ENDIF, NR, NR, NR, 0);
    kasm(&a, HD_I_COMMIT, NR, NR, NR, 0);
    kasm(&a, HD_I_DRAIN, NR, NR, NR, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    for (uint32_t i = 0; i < 4; i++) {
        op = next(&g, 0);
        assert_int_equal(op.kind, HEDDLE_OP_LOAD);
        assert_int_equal(op.slot, HD_SLOT_MANY + 24);
        assert_int_equal(op.bytes, 16);
        assert_int_equal(op.count, i == 0);
        assert_int_equal(op.mask, i % 2 == 0 ? UINT32_MAX : 0xff);
        acc = access_of(&g, 0);
        first = i == 0 ? acc.base.v : first;
        assert_int_equal(acc.stride, 16);
        assert_int_equal(acc.base.v, first + i / 2 * 512 * 4 + i % 2 * 512);
    }
    op = next(&g, 0);
    assert_int_equal(op.kind, HEDDLE_OP_EXIT);
    assert_int_equal(op.wait, GROUP);
    assert_int_equal(g.r.err.code, 0);
    krig_close(&g.r);

    begin(32);
    kasm_full(&a, HD_I_LOAD, 65, NR, 0, NR, 1, 1, 0, 2);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    next(&g, 0);
    access_of(&g, 0);
    assert_text(g.r.err.text,
                "(bulk copy): index 2 of buffer y; expected one at "
                "a multiple of 16 bytes (block 0,0,0, thread 0)");
    krig_close(&g.r);
}

/* base + lane * stride comes out as such, also across a sum of registers. */
static void test_affine(void **state)
{
    struct rig g;
    struct hd_access acc;

    (void)state;
    begin(64);
    kasm(&a, HD_I_MUL, 1, 0, NR, 1024);
    kasm(&a, HD_I_LI, 2, NR, NR, 7);
    kasm_mem(&a, HD_I_LOAD, 0, NR, 1, 2, 1, 0, 3);
    kasm(&a, HD_I_NEG, 1, 0, NR, 0);
    kasm_mem(&a, HD_I_LOAD, 1, NR, 1, NR, 1, 0, 1000);
    kasm(&a, HD_I_MOD, 1, 0, NR, 32);
    kasm_mem(&a, HD_I_LOAD, 2, NR, 1, NR, 1, 0, 0);
    kasm(&a, HD_I_MOD, 1, 0, NR, 20);
    kasm_mem(&a, HD_I_LOAD, 3, NR, 1, NR, 1, 0, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    next(&g, 1);
    acc = access_of(&g, 1);
    assert_null(acc.lane);
    assert_int_equal(acc.base.v, 0x7f0000000400 + 4 * (32 * 1024 + 10));
    assert_int_equal(acc.stride, 4096);
    next(&g, 1);
    acc = access_of(&g, 1);
    assert_null(acc.lane);
    assert_int_equal(acc.base.v, 0x7f0000000400 + 4 * (1000 - 32));
    assert_int_equal(acc.stride, -4);
    next(&g, 1);
    acc = access_of(&g, 1); /* 32..63 mod 32: one quotient, still affine */
    assert_null(acc.lane);
    assert_int_equal(acc.base.v, 0x7f0000000400);
    assert_int_equal(acc.stride, 4);
    next(&g, 1);
    acc = access_of(&g, 1); /* mod 20 is not */
    assert_non_null(acc.lane);
    for (uint32_t l = 0; l < 32; l++)
        assert_int_equal(acc.lane[l].v, 0x7f0000000400 + 4 * ((32 + l) % 20));
    krig_close(&g.r);
}

static void test_partial_warps(void **state)
{
    struct rig g;

    (void)state;
    begin(70);
    kasm(&a, HD_I_BAR, NR, NR, NR, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    assert_int_equal(g.l.warps, 3);
    assert_int_equal(g.l.threads, 70);
    assert_int_equal(next(&g, 0).mask, 0xffffffff);
    assert_int_equal(next(&g, 2).mask, 0x3f);
    assert_int_equal(next(&g, 2).kind, HEDDLE_OP_EXIT);
    krig_close(&g.r);
    start(&g, 64);
    assert_int_equal(g.l.warps, 2);
    assert_int_equal(next(&g, 0).mask, UINT64_MAX);
    assert_int_equal(next(&g, 1).mask, 0x3f);
    krig_close(&g.r);
}

/* A loop that lanes leave one after the other. */
static void test_divergent_loop(void **state)
{
    struct rig g;

    (void)state;
    begin(32);
    kasm(&a, HD_I_LI, 1, NR, NR, 0);
    kasm_full(&a, HD_I_LOOP, 0, 4, 1, 0, NR, 0, 0, 1); /* tid rounds */
    kasm_mem(&a, HD_I_LOAD, 0, NR, 4, NR, 0, 0, 0);
    kasm(&a, HD_I_ENDLOOP, NR, NR, NR, 0);
    kasm_alu(&a, 1, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    for (uint32_t round = 0; round < 31; round++) {
        struct hd_op op = next(&g, 0);
        struct hd_access acc = access_of(&g, 0);

        assert_int_equal(op.kind, HEDDLE_OP_LOAD);
        assert_int_equal(op.mask, 0xffffffffu << (round + 1));
        assert_null(acc.lane); /* the counter is the same in all lanes */
        assert_int_equal(acc.stride, 0);
        assert_int_equal(acc.base.v, 0x7f0000000000 + 4 * round);
    }
    expect_alu(&g, 1, 0);
    assert_int_equal(next(&g, 0).kind, HEDDLE_OP_EXIT);
    krig_close(&g.r);
}

static void test_early_exit(void **state)
{
    struct rig g;
    struct hd_op op;

    (void)state;
    begin(32);
    kasm(&a, HD_I_LT, 3, 0, NR, 4);
    kasm(&a, HD_I_IF, NR, 3, NR, 0);
    kasm(&a, HD_I_EXITIF, NR, 3, NR, 0);
    kasm_alu(&a, 100, 0); /* nobody is left here */
    kasm(&a, HD_I_ENDIF, NR, NR, NR, 0);
    kasm_alu(&a, 1, 0);
    kasm(&a, HD_I_GE, 3, 0, NR, 0);
    kasm(&a, HD_I_EXITIF, NR, 3, NR, 0);
    kasm_alu(&a, 100, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    op = next(&g, 0);
    assert_int_equal(op.kind, HEDDLE_OP_ALU);
    assert_int_equal(op.count, 1);
    assert_int_equal(op.mask, 0xfffffff0);
    assert_int_equal(next(&g, 0).kind, HEDDLE_OP_EXIT);
    assert_int_equal(next(&g, 0).kind, HEDDLE_OP_EXIT); /* and stays there */
    krig_close(&g.r);
}

static void expect_error(struct rig *g, const char *words)
{
    assert_int_equal(g->r.err.code, HEDDLE_EPROGRAM);
    assert_text(g->r.err.text, words);
    krig_close(&g->r);
}

static void test_outside(void **state)
{
    struct rig g;

    (void)state;
    begin(32);
    kasm_mem(&a, HD_I_LOAD, 0, 1, 0, NR, 0, 0, 225); /* 225 .. 256 */
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    next(&g, 0);
    access_of(&g, 0);
    expect_error(&g, "kernel k, instruction 1 (LOAD): index 256 of buffer x; "
                     "expected 0 to 255 (block 0,0,0, thread 31)");
    begin(32);
    kasm_mem(&a, HD_I_LOAD, 0, 1, 0, NR, 0, 0, 224); /* 224 .. 255 */
    kasm_mem(&a, HD_I_LOAD, 0, 1, 1, NR, 0, 0, 1);   /* a vector, 225 .. */
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    next(&g, 0);
    access_of(&g, 0);
    assert_int_equal(g.r.err.code, 0);
    next(&g, 0);
    access_of(&g, 0);
    expect_error(&g, "index 256 of buffer x");
    begin(32);
    kasm_mem(&a, HD_I_STORE, 0, NR, 0, NR, 0, 0, -5);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    next(&g, 0);
    access_of(&g, 0);
    expect_error(&g, "index -5 of buffer x");
}

static void test_endless(void **state)
{
    struct rig g;

    (void)state;
    begin(32);
    kasm(&a, HD_I_GE, 3, 0, NR, 0);
    kasm(&a, HD_I_WHILE, NR, NR, NR, 0);
    kasm(&a, HD_I_TEST, NR, 3, NR, 0);
    kasm(&a, HD_I_ENDWHILE, NR, NR, NR, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    assert_int_equal(next(&g, 0).kind, HEDDLE_OP_EXIT);
    expect_error(&g, "rounds without an instruction");
    begin(32); /* with one it may go on as long as it likes */
    kasm(&a, HD_I_GE, 3, 0, NR, 0);
    kasm(&a, HD_I_WHILE, NR, NR, NR, 0);
    kasm(&a, HD_I_TEST, NR, 3, NR, 0);
    kasm_alu(&a, 1, 0);
    kasm(&a, HD_I_ENDWHILE, NR, NR, NR, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    expect_alu(&g, 1 << 20, 0);
    expect_alu(&g, 1 << 20, 0);
    assert_int_equal(g.r.err.code, 0);
    krig_close(&g.r);
}

/* Lanes of an atomic act in ascending order and see each other. */
static void test_atomic_order(void **state)
{
    struct rig g;
    struct hd_access acc;

    (void)state;
    begin(32);
    kasm(&a, HD_I_LI, 2, NR, NR, 1);
    kasm(&a, HD_I_AND, 1, 0, NR, 1);
    kasm_full(&a, HD_I_ATOM, 0, 4, 1, 2, NR, 0, 0, 8); /* x[8 or 9]++ */
    kasm_mem(&a, HD_I_LOAD, 1, NR, 4, NR, 1, 1, 0);    /* at the old value */
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    start(&g, 32);
    assert_int_equal(next(&g, 0).kind, HEDDLE_OP_ATOMIC);
    access_of(&g, 0);
    next(&g, 0);
    acc = access_of(&g, 0);
    for (uint32_t l = 0; l < 32; l++)
        assert_int_equal(acc.lane[l].v,
                         0x7f0000000400 + 4 * (8 + l % 2 + l / 2));
    krig_close(&g.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_join),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_bulk),
        cmocka_unit_test(test_affine),
        cmocka_unit_test(test_partial_warps),
        cmocka_unit_test(test_divergent_loop),
        cmocka_unit_test(test_early_exit),
        cmocka_unit_test(test_outside),
        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_atomic_order),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
