/*
 * 452-trace-frame.c - packing and unpacking of frames against a naive twin.
 *
 * Pinned: operations, masks and addresses of random blocks come back one by
 * one (affine, lists of every width, extreme addresses); random words of a
 * 256 MB table cost four bytes; a kernel that repeats itself costs one byte an
 * operation; frames of damaged bytes are refused or harmless.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kit/rng.h"
#include "trace/trace.h"

enum { LANES = 32, WARPS = 3, BLOCKS = 40, MOST = 24, OPCODES = 5 };

struct twin {
    struct hd_trace_op top;
    uint64_t mask, addr[LANES]; /* by lane */
};

static struct twin twin[BLOCKS][WARPS][MOST];
static unsigned length[BLOCKS][WARPS];
static uint64_t number[BLOCKS];

static uint64_t random_mask(struct hd_rng *r)
{
    switch (hd_rng_below(r, 4)) {
    case 0:
        return hd_rng_next(r) & 0xffffffff;
    case 1:
        return 1ull << hd_rng_below(r, 32);
    case 2:
        return hd_rng_below(r, 8) == 0 ? 0 : 0xffff;
    default:
        return 0xffffffff;
    }
}

static void random_top(struct hd_rng *r, struct hd_trace_op *t, bool exit)
{
    uint32_t kind = exit ? HEDDLE_OP_EXIT : hd_rng_below(r, HEDDLE_OP_EXIT);

    *t = (struct hd_trace_op){.kind = (uint8_t)kind,
                              .slot = HD_NO_SLOT,
                              .wait =
                                  hd_rng_below(r, 3) ? 0 : hd_rng_below(r, 99),
                              .count = 1,
                              .pc = hd_rng_below(r, 12) * 16,
                              .opcode = hd_rng_below(r, OPCODES)};
    if (kind == HEDDLE_OP_ALU)
        t->count = 1 + hd_rng_below(r, 1000);
    if (!hd_trace_op_memory(t))
        return;
    t->bytes = (uint8_t)(1u << hd_rng_below(r, 5));
    t->slot =
        kind == HEDDLE_OP_LOAD ? (uint8_t)hd_rng_below(r, 32) : HD_NO_SLOT;
    t->space = hd_rng_below(r, 5) == 0 ? HD_TS_LOCAL : HD_TS_GLOBAL;
}

/* Addresses of one of several shapes, all below 2^48. */
static bool random_addresses(struct hd_rng *r, struct twin *t, int64_t *stride)
{
    uint64_t base = hd_rng_next(r) >> (16 + hd_rng_below(r, 40));
    unsigned shift = hd_rng_below(r, 5), bits = hd_rng_below(r, 30);
    bool affine = hd_rng_below(r, 2);

    *stride = (int64_t)hd_rng_below(r, 512) - 256;
    if (affine && base < 256 * 64)
        base += 256 * 64;
    for (unsigned l = 0; l < LANES; l++) {
        if (!(t->mask >> l & 1))
            continue;
        unsigned f = hd_bit_first(t->mask);
        uint64_t v = affine
                         ? base + (uint64_t)((int64_t)(l - f) * *stride)
                         : base + ((hd_rng_next(r) & hd_ones(bits)) << shift);
        t->addr[l] = v & (HD_TRACE_VA_END - 1);
        if (affine && v >= HD_TRACE_VA_END)
            return false;
    }
    return affine;
}

static void put(struct hd_packer *k, uint32_t w, const struct twin *t,
                bool affine, int64_t stride)
{
    struct hd_trace_op o = t->top;
    uint64_t list[LANES];
    unsigned n = 0;

    o.mask = t->mask;
    if (!hd_trace_op_memory(&o)) {
        hd_packer_op(k, w, &o, NULL);
        return;
    }
    for (uint64_t m = t->mask; m != 0; m &= m - 1)
        list[n++] = t->addr[hd_bit_first(m)];
    o.first = affine && n ? list[0] : 0;
    o.stride = affine && n ? stride : 0;
    hd_packer_op(k, w, &o, affine ? NULL : list);
}

static void fill(struct hd_packer *k, uint64_t seed)
{
    struct hd_rng r = hd_rng_make(seed, 1);

    memset(twin, 0, sizeof twin);
    hd_packer_begin(k, WARPS);
    for (unsigned b = 0; b < BLOCKS; b++) {
        number[b] = hd_rng_below(&r, 1000);
        hd_packer_block(k, number[b]);
        for (unsigned w = 0; w < WARPS; w++) {
            /* half the warps repeat the first's operations */
            bool copy = b + w != 0 && hd_rng_below(&r, 2);
            unsigned n = copy ? length[0][0] : 1 + hd_rng_below(&r, MOST);
            length[b][w] = n;
            for (unsigned i = 0; i < n; i++) {
                struct twin *t = &twin[b][w][i];
                int64_t stride = 0;
                if (copy) {
                    t->top = twin[0][0][i].top;
                    t->mask = twin[0][0][i].mask;
                } else {
                    random_top(&r, &t->top, i == n - 1);
                    t->mask = random_mask(&r);
                }
                bool affine = random_addresses(&r, t, &stride);
                put(k, w, t, affine, stride);
            }
        }
        assert_int_equal(hd_packer_block_end(k), 0);
    }
}

static void compare_op(const struct hd_frame *f, const struct hd_frame_op *op,
                       const struct twin *t)
{
    const struct hd_trace_op *o = hd_frame_record(f, op);
    struct hd_access a;
    hd_va lane[HD_MAX_LANES];

    assert_int_equal(o->kind, t->top.kind);
    assert_int_equal(o->slot, t->top.slot);
    assert_int_equal(o->bytes, t->top.bytes);
    assert_int_equal(o->space, t->top.space);
    assert_int_equal(o->wait, t->top.wait);
    assert_int_equal(o->count, t->top.count);
    assert_int_equal(o->pc, t->top.pc);
    assert_int_equal(o->opcode, t->top.opcode);
    assert_int_equal(o->mask, t->mask);
    if (!hd_trace_op_memory(o))
        return;
    hd_frame_addr(f, op, &a, lane);
    for (uint64_t m = o->mask; m != 0; m &= m - 1) {
        unsigned l = hd_bit_first(m);
        assert_int_equal(hd_access_lane(&a, l), t->addr[l]);
    }
}

static void compare(const struct hd_frame *f)
{
    assert_int_equal(f->blocks, BLOCKS);
    for (unsigned b = 0; b < BLOCKS; b++) {
        assert_int_equal(f->number[b], number[b]);
        for (unsigned w = 0; w < WARPS; w++) {
            const struct hd_frame_op *o = f->op + f->start[b * WARPS + w];
            for (unsigned i = 0; i < length[b][w]; i++)
                compare_op(f, o + i, &twin[b][w][i]);
        }
    }
}

static void random_blocks(void **state)
{
    struct hd_packer *k = hd_packer_new();
    struct hd_unpack *u = hd_unpack_new();
    struct hd_bytes out = {0};
    const char *what = NULL;

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fill(k, seed);
        assert_int_equal(hd_packer_end(k, &out), 0);
        struct hd_frame *f = hd_frame_unpack(u, out.p, out.n, LANES, WARPS,
                                             OPCODES, 1 << 24, &what);
        if (f == NULL)
            fail_msg("seed %u: %s", (unsigned)seed, what);
        compare(f);
        hd_frame_free(f);
    }
    hd_unpack_free(u);
    hd_bytes_free(&out);
    hd_packer_free(k);
}

/* What an access costs. */
static void sizes(void **state)
{
    struct hd_packer *k = hd_packer_new();
    struct hd_bytes out = {0};
    struct hd_rng r = hd_rng_make(1, 2);
    struct hd_trace_op ld = {.kind = HEDDLE_OP_LOAD,
                             .slot = 0,
                             .bytes = 4,
                             .count = 1,
                             .mask = 0xffffffff};
    struct hd_trace_op ex = {.kind = HEDDLE_OP_EXIT,
                             .slot = HD_NO_SLOT,
                             .count = 1,
                             .mask = 0xffffffff};
    uint64_t addr[32];

    (void)state;
    hd_packer_begin(k, 4);
    for (unsigned b = 0; b < 100; b++) {
        hd_packer_block(k, b);
        for (unsigned w = 0; w < 4; w++) {
            for (unsigned l = 0; l < 32; l++)
                addr[l] = 0x7f2000400000 + (hd_rng_next(&r) >> 38) * 4;
            hd_packer_op(k, w, &ld, addr);
            ex.pc = 10;
            hd_packer_op(k, w, &ex, NULL);
        }
        hd_packer_block_end(k);
    }
    assert_int_equal(hd_packer_end(k, &out), 0);
    assert_true(out.n >= 400 * 104 && out.n <= 400 * 140);

    hd_packer_begin(k, 4);
    for (unsigned b = 0; b < 1000; b++) {
        hd_packer_block(k, b);
        for (unsigned w = 0; w < 4; w++) {
            for (unsigned i = 0; i < 10; i++) {
                ld.pc = i;
                ld.first = 0x7f2000000000 + (b * 4 + w) * 128 + i * 65536;
                ld.stride = 4;
                hd_packer_op(k, w, &ld, NULL);
            }
            ex.pc = 10;
            hd_packer_op(k, w, &ex, NULL);
        }
        hd_packer_block_end(k);
    }
    assert_int_equal(hd_packer_end(k, &out), 0);
    assert_true(out.n <= 44000 + 3000 + 200);
    hd_bytes_free(&out);
    hd_packer_free(k);
}

/* Flipped bits and cut ends never crash and never reach past the limit. */
static void damage(void **state)
{
    struct hd_packer *k = hd_packer_new();
    struct hd_bytes out = {0};
    struct hd_unpack *u = hd_unpack_new();
    struct hd_rng r = hd_rng_make(3, 3);
    unsigned refused = 0;

    (void)state;
    fill(k, 7);
    assert_int_equal(hd_packer_end(k, &out), 0);
    for (unsigned i = 0; i < 4000; i++) {
        size_t n = i % 4 == 0 ? hd_rng_below(&r, (uint32_t)out.n) : out.n;
        unsigned char *p = malloc(n + 1);
        const char *what = NULL;
        memcpy(p, out.p, n);
        for (uint32_t j = 0; i % 4 != 0 && j < i % 4; j++)
            p[hd_rng_below(&r, j == 0 ? 24 : (uint32_t)n)] ^=
                (unsigned char)(1u << hd_rng_below(&r, 8));
        struct hd_frame *f =
            hd_frame_unpack(u, p, n, LANES, WARPS, OPCODES, 1 << 22, &what);
        if (f == NULL) {
            assert_non_null(what);
            refused++;
        }
        for (uint32_t w = 0; f != NULL && w < f->blocks * f->warps; w++) {
            const struct hd_frame_op *o = f->op + f->start[w];
            for (; hd_frame_record(f, o)->kind != HEDDLE_OP_EXIT; o++) {
                struct hd_access a;
                hd_va lane[HD_MAX_LANES];
                if (hd_trace_op_memory(hd_frame_record(f, o)))
                    hd_frame_addr(f, o, &a, lane);
            }
        }
        hd_frame_free(f);
        free(p);
    }
    hd_unpack_free(u);
    assert_true(refused > 2000);
    hd_bytes_free(&out);
    hd_packer_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_blocks),
        cmocka_unit_test(sizes),
        cmocka_unit_test(damage),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
