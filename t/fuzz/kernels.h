/*
 * kernels.h - fuzz targets: kernel bytecode.
 *
 * kernel   bytecode: verified, and run for a bounded number of instructions if
 *          that lets it pass; change() keeps the header in step and puts
 *          opcodes, registers and instructions from elsewhere, so that much of
 *          what it makes is a program
 * program  bytes from which kernel-random.h builds a program that is right by
 *          construction; the lane engine and the interpreter of kernel-twin.h
 *          must do the same with it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef T_FUZZ_KERNELS_H
#define T_FUZZ_KERNELS_H

#include "fuzz.h"

#include "../kernel-twin.h"

enum { KERNEL_HEAD = 104, KERNEL_SPEND = 1 << 18 };

/* The first blocks of the first launch, warp after warp, as long as there is
 * something to spend: what a warp executes, but no less than 1 an operation. */
static void kernel_work(struct krig *r)
{
    struct hd_launch l = {0};
    struct hd_access access;
    struct hd_op op;
    uint64_t spent = 0;
    uint32_t ctx;

    if (r->ops->launch(r->self, &l) != 1)
        return;
    for (uint64_t b = 0; b < l.blocks && b < 3 && r->err.code == 0; b++) {
        if (r->ops->block_start(r->self, b, &ctx) != 0)
            return;
        for (uint32_t w = 0; w < l.warps; w++) {
            do {
                r->ops->next(r->self, ctx, w, &op);
                if (op.kind >= HEDDLE_OP_LOAD && op.kind <= HEDDLE_OP_ATOMIC)
                    r->ops->access(r->self, ctx, w, &access);
                spent += 64 + (op.kind == HEDDLE_OP_ALU ? op.count : 0);
                if (r->err.code != 0 || spent > KERNEL_SPEND)
                    return;
            } while (op.kind != HEDDLE_OP_EXIT);
        }
        r->ops->block_end(r->self, ctx);
    }
}

static bool kernel_run(const uint8_t *p, size_t n)
{
    heddle_program *program = twin_buffers(1);
    unsigned char *code = fuzz_copy(p, n);
    int k = heddle_program_kernel(program, code, n);
    struct krig r;

    free(code);
    if (k < 0) {
        assert_int_equal(k, HEDDLE_EPROGRAM);
        assert_true(heddle_program_error(program)->text[0] != '\0');
    } else {
        heddle_workload *w;
        heddle_program_launch(program, &(struct heddle_launch){0});
        w = heddle_program_workload(program);
        if (w == NULL)
            assert_true(heddle_program_error(program)->text[0] != '\0');
        else {
            if (krig_open(&r, w, n % 2 ? 64 : 32, 64) == 0)
                kernel_work(&r);
            if (r.err.code != 0)
                assert_true(r.err.text[0] != '\0');
            krig_close(&r);
        }
    }
    heddle_program_free(program);
    return k >= 0;
}

static uint32_t kernel_get(const uint8_t *p, int bytes)
{
    uint32_t v = 0;

    while (bytes-- != 0)
        v = v << 8 | p[bytes];
    return v;
}

static size_t kernel_change(uint8_t *p, size_t n, size_t room, struct hd_rng *r)
{
    static const int64_t odd[] = {0,  1,  -1,   2,         31,        32,
                                  63, 64, 1023, INT64_MAX, INT64_MIN, 4};
    size_t head;
    uint32_t regs, count;
    uint8_t *ins, *at, *from;

    if (n < KERNEL_HEAD || hd_rng_below(r, 16) == 0)
        return fuzz_change(p, n, room, NULL, r);
    regs = kernel_get(p + 96, 2);
    head = KERNEL_HEAD + regs + 40 * (size_t)kernel_get(p + 98, 2);
    if (n < head + 2 * HD_INS_BYTES)
        return fuzz_change(p, n, room, NULL, r);
    ins = p + head;
    count = (uint32_t)((n - head) / HD_INS_BYTES);
    at = ins + hd_rng_below(r, count) * HD_INS_BYTES;
    from = ins + hd_rng_below(r, count) * HD_INS_BYTES;
    switch (hd_rng_below(r, 10)) {
    case 0:
        *at = (uint8_t)hd_rng_below(r, HD_I_COUNT + 1);
        break;
    case 1: /* a register, or none */
        kasm_put(at + 2 + 2 * hd_rng_below(r, 4),
                 hd_rng_below(r, 4) ? hd_rng_below(r, regs + 1) : NR, 2);
        break;
    case 2: /* a register of another instruction */
        memcpy(at + 2 + 2 * hd_rng_below(r, 4),
               from + 2 + 2 * hd_rng_below(r, 4), 2);
        break;
    case 3:
        kasm_put(at + 16, (uint64_t)odd[hd_rng_below(r, HD_LEN(odd))], 8);
        break;
    case 4:
        for (int i = 0; i < HD_INS_BYTES; i++) {
            uint8_t x = at[i];
            at[i] = from[i];
            from[i] = x;
        }
        break;
    case 5:
        memmove(at, at + HD_INS_BYTES, (size_t)(p + n - at) - HD_INS_BYTES);
        n -= HD_INS_BYTES;
        break;
    case 6: { /* an instruction twice */
        uint8_t copy[HD_INS_BYTES];
        memcpy(copy, from, sizeof copy);
        if (n + sizeof copy > room)
            break;
        memmove(at + sizeof copy, at, (size_t)(p + n - at));
        memcpy(at, copy, sizeof copy);
        n += sizeof copy;
        break;
    }
    case 7: /* slot, buffer, waits */
        at[hd_rng_below(r, 2) ? 1 : 10 + hd_rng_below(r, 6)] =
            (uint8_t)hd_rng_below(r, 40);
        break;
    case 8:
        if (regs != 0)
            p[KERNEL_HEAD + hd_rng_below(r, regs)] =
                (uint8_t)hd_rng_below(r, HD_R_TYPES + 1);
        break;
    default: /* grid, block, registers, shared memory */
        kasm_put(p + 64 + 4 * hd_rng_below(r, 8),
                 hd_rng_below(r, 4) ? hd_rng_below(r, 70)
                                    : hd_rng_next(r) >> hd_rng_below(r, 64),
                 4);
    }
    kasm_put(p + 100, (n - head) / HD_INS_BYTES, 4);
    return n;
}

static void kernel_seeds(fuzz_put *put)
{
    struct kasm *a = malloc(sizeof *a);
    size_t n;

    for (uint64_t seed = 1; seed <= 12; seed++) {
        generate(a, seed, NULL, 0, false);
        const void *code = kasm_end(a, &n);
        put(code, n);
    }
    free(a);
}

/* ---- programs that are right --------------------------------------------- */

static bool program_run(const uint8_t *p, size_t n)
{
    static struct { /* of all inputs: 70 MB */
        struct kasm *a;
        struct twin *t;
        struct log log;
    } x;

    if (x.a == NULL) {
        x.a = malloc(sizeof *x.a);
        x.t = calloc(1, sizeof *x.t);
        x.log.v = calloc(EVENTS, sizeof *x.log.v);
        assert_non_null(x.a);
        assert_non_null(x.t);
        assert_non_null(x.log.v);
        x.t->log.v = calloc(EVENTS, sizeof *x.log.v);
        assert_non_null(x.t->log.v);
    }
    twin_program(x.a, x.t, &x.log, n, n % 2 ? 64 : 32, p, n < 900 ? n : 900);
    return true;
}

static void program_seeds(fuzz_put *put)
{
    struct hd_rng r = hd_rng_make(940, 0);
    uint8_t p[300];

    for (int k = 0; k < 8; k++) {
        for (size_t i = 0; i < sizeof p; i++)
            p[i] = (uint8_t)hd_rng_next(&r);
        put(p, sizeof p - (size_t)k);
    }
}

#endif
