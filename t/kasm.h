/*
 * kasm.h - a small assembler of kernel bytecode for tests and benchmarks.
 * SPDX-License-Identifier: MIT
 */
#ifndef T_KASM_H
#define T_KASM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kit/env.h"
#include "program/program.h"
#include "points/source.h"

enum { KASM_MAX = 4096, NR = HD_NO_REG };

struct kasm {
    char name[64];
    uint32_t grid[3], block[3], regs, shared;
    uint32_t nreg, nins, nargs;
    uint8_t type[HD_MAX_REGS];
    uint8_t arg_type[16];
    uint8_t ins[KASM_MAX][HD_INS_BYTES];
    uint8_t out[128 + HD_MAX_REGS + 16 * 40 + KASM_MAX * HD_INS_BYTES];
};

static inline void kasm_begin(struct kasm *a, const char *name, uint32_t grid,
                              uint32_t bx, uint32_t by, uint32_t bz)
{
    memset(a, 0, sizeof(*a));
    strncpy(a->name, name, 59);
    a->grid[0] = grid;
    a->grid[1] = a->grid[2] = 1;
    a->block[0] = bx;
    a->block[1] = by;
    a->block[2] = bz;
    a->regs = 32;
}

static inline uint16_t kasm_reg(struct kasm *a, enum hd_rtype t)
{
    a->type[a->nreg] = (uint8_t)t;
    return (uint16_t)a->nreg++;
}

static inline void kasm_put(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

/* The whole instruction. */
static inline void kasm_full(struct kasm *a, int op, int aux, uint32_t d,
                             uint32_t ra, uint32_t rb, uint32_t c, uint32_t buf,
                             uint32_t wait, int64_t imm)
{
    uint8_t *p = a->ins[a->nins++];

    kasm_put(p, (uint64_t)op, 1);
    kasm_put(p + 1, (uint64_t)aux, 1);
    kasm_put(p + 2, d, 2);
    kasm_put(p + 4, ra, 2);
    kasm_put(p + 6, rb, 2);
    kasm_put(p + 8, c, 2);
    kasm_put(p + 10, buf, 2);
    kasm_put(p + 12, wait, 4);
    kasm_put(p + 16, (uint64_t)imm, 8);
}

/* d = a op b, or d = a op imm where b is NR. */
static inline void kasm(struct kasm *a, int op, uint32_t d, uint32_t ra,
                        uint32_t rb, int64_t imm)
{
    kasm_full(a, op, 0, d, ra, rb, NR, 0, 0, imm);
}

/* A memory instruction of one element; slot -1: none. */
static inline void kasm_mem(struct kasm *a, int op, int slot, uint32_t d,
                            uint32_t ra, uint32_t rb, uint32_t buf,
                            uint32_t wait, int64_t imm)
{
    kasm_full(a, op, slot < 0 ? 32 : slot, d, ra, rb, 1, buf, wait, imm);
}

static inline void kasm_alu(struct kasm *a, int64_t n, uint32_t wait)
{
    kasm_full(a, HD_I_ALU, 0, NR, NR, NR, NR, 0, wait, n);
}

/* The bytecode; valid until the next call. */
static inline const void *kasm_end(struct kasm *a, size_t *bytes)
{
    uint8_t *p = a->out;

    memset(p, 0, 128);
    memcpy(p, "HDK1", 4);
    memcpy(p + 4, a->name, 60);
    p += 64;
    for (int i = 0; i < 3; i++, p += 4)
        kasm_put(p, a->grid[i], 4);
    for (int i = 0; i < 3; i++, p += 4)
        kasm_put(p, a->block[i], 4);
    kasm_put(p, a->regs, 4);
    kasm_put(p + 4, a->shared, 4);
    kasm_put(p + 8, a->nreg, 2);
    kasm_put(p + 10, a->nargs, 2);
    kasm_put(p + 12, a->nins, 4);
    p += 16;
    memcpy(p, a->type, a->nreg);
    p += a->nreg;
    for (uint32_t i = 0; i < a->nargs; i++, p += 40) {
        memset(p, 0, 40);
        p[0] = a->arg_type[i];
        p[1] = (uint8_t)('a' + i);
    }
    memcpy(p, a->ins, (size_t)a->nins * HD_INS_BYTES);
    p += (size_t)a->nins * HD_INS_BYTES;
    *bytes = (size_t)(p - a->out);
    return a->out;
}

static inline int kasm_add(struct kasm *a, heddle_program *p)
{
    size_t bytes;
    const void *code = kasm_end(a, &bytes);

    return heddle_program_kernel(p, code, bytes);
}

/* ---- a source without a machine --------------------------------------- */

struct krig {
    struct hd_arena arena;
    struct heddle_error err;
    struct hd_env env;
    heddle_workload *w;
    struct hd_source *src;
    const struct hd_source_ops *ops;
    void *self;
};

/* Takes the workload; compact: threads are regrouped, and it is checked. */
static inline int krig_open_as(struct krig *r, heddle_workload *w,
                               uint32_t lanes, uint32_t slots, bool compact)
{
    memset(r, 0, sizeof(*r));
    r->env.compact = r->env.check = compact;
    if (hd_arena_open(&r->arena, (size_t)1 << 32) != 0)
        return -1;
    r->env.arena = &r->arena;
    r->env.err = &r->err;
    r->w = w;
    r->src = hd_workload_source(w);
    r->ops = r->src->ops;
    r->self = r->src->self;
    return r->ops->bind(r->self, &r->env, 0, lanes, slots);
}

static inline int krig_open(struct krig *r, heddle_workload *w, uint32_t lanes,
                            uint32_t slots)
{
    return krig_open_as(r, w, lanes, slots, false);
}

static inline void krig_close(struct krig *r)
{
    r->ops->unbind(r->self);
    heddle_workload_free(r->w);
    hd_arena_close(&r->arena);
}

/* x[tid] = x[tid] * 3 + k, n threads in blocks of 64 */
static inline void kasm_scale(struct kasm *a, uint32_t n)
{
    kasm_begin(a, "scale", n / 64, 64, 1, 1);
    for (int i = 0; i < 5; i++)
        kasm_reg(a, HD_R_INT);
    a->nargs = 1;
    kasm(a, HD_I_SPEC, 0, NR, NR, HEDDLE_SPECIAL_GID);
    kasm(a, HD_I_ARG, 2, NR, NR, 0);
    kasm_mem(a, HD_I_LOAD, 0, 3, 0, NR, 0, 0, 0);
    kasm(a, HD_I_MUL, 3, 3, NR, 3);
    kasm(a, HD_I_ADD, 3, 3, 2, 0);
    kasm_mem(a, HD_I_STORE, 0, 3, 0, NR, 0, 1, 0);
    kasm(a, HD_I_EXIT, NR, NR, NR, 0);
}

#endif
