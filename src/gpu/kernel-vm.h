/*
 * kernel-vm.h - the lane engine: runs kernel programs for all lanes of a warp.
 *
 * Shared by its files: kernel-vm.c (launches, blocks, instructions),
 * kernel-flow.c (control flow), kernel-lane.c (arithmetic on registers) and
 * kernel-mem.c (memory).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_KERNEL_VM_H
#define HD_KERNEL_VM_H

#include "../core/env.h"
#include "../load/buffer.h"
#include "../load/program.h"
#include "../load/source.h"

/* One open construct of a warp; the lanes meet again at its end. */
struct hd_kvm_frame {
    uint64_t saved;   /* lanes that go on after it */
    uint64_t other;   /* IF: lanes still to run the else; LOOP: rounds left */
    uint32_t pc;      /* instruction that opened it */
    uint32_t counted; /* LOOP: every lane makes the same number of rounds */
};

/* A resident warp.  In the arena; frames and registers follow it. */
struct hd_kvm_warp {
    uint64_t mask;  /* lanes that run now */
    uint64_t all;   /* lanes that exist */
    uint64_t block; /* linear index in the grid */
    uint32_t bx, by, bz;
    uint32_t warp;  /* in the block */
    uint32_t pc;    /* next instruction */
    uint32_t mem;   /* memory instruction that next() gave last */
    uint32_t depth; /* open constructs */
    uint32_t out;   /* slots filled and not waited for since */
    uint32_t pend;  /* slots that free instructions used: the next one waits */
    uint32_t spare;
};

/* What else changes.  In the arena. */
struct hd_kvm_state {
    uint32_t launches; /* so far */
    uint32_t started;  /* 1: a launch is current */
    uint32_t kernel;   /* of the current launch */
    uint32_t grid[3];
    uint32_t free; /* contexts on the free list */
    uint32_t used; /* contexts ever used in this launch */
    union heddle_value arg[HEDDLE_MAX_ARGS];
    uint8_t gone[HD_MAX_BUFFERS]; /* 1: the host has given it back */
};

struct hd_kvm {
    struct hd_source src;
    struct heddle_program *prog;
    struct hd_env *env; /* NULL: not bound */
    uint32_t lanes, slots;
    struct hd_buffers buf;
    struct hd_kvm_state *st;
    uint32_t *free; /* arena: stack of free contexts */
    unsigned char *pool;
    unsigned char *host_state; /* bytes of the host function */
    size_t host_bytes;
    /* follows from st->kernel: */
    const struct hd_kernel *k;
    uint32_t warps, contexts;
    size_t warp_bytes, ctx_bytes, reg_at, vec_at, vec_bytes;
    /* what struct hd_access points to */
    hd_va lane[HD_MAX_LANES];
};

struct heddle_host {
    struct hd_kvm *vm;
};

/* A warp and where its parts lie. */
struct hd_kvm_at {
    struct hd_kvm *vm;
    const struct hd_kernel *k;
    struct hd_kvm_warp *w;
    struct hd_kvm_frame *frame;
    struct hd_reg *reg;
    unsigned char *vec;
};

static inline struct hd_kvm_at hd_kvm_find(struct hd_kvm *vm, uint32_t ctx,
                                           uint32_t warp)
{
    unsigned char *c = vm->pool + (size_t)ctx * vm->ctx_bytes;
    unsigned char *w = c + (size_t)warp * vm->warp_bytes;
    struct hd_kvm_at at = {
        .vm = vm,
        .k = vm->k,
        .w = (struct hd_kvm_warp *)w,
        .frame = (struct hd_kvm_frame *)(w + sizeof(struct hd_kvm_warp)),
        .reg = (struct hd_reg *)(w + vm->reg_at),
        .vec = c + vm->vec_at + (size_t)warp * vm->lanes * 8,
    };

    return at;
}

/* The lanes of a register that has a vector. */
static inline int64_t *hd_kvm_vec(const struct hd_kvm_at *at, uint32_t reg)
{
    hd_assert(at->k->vslot[reg] < at->k->nvec);
    return (int64_t *)(at->vec + at->k->vslot[reg] * at->vm->vec_bytes);
}

static inline void hd_reg_uniform(struct hd_reg *r, int64_t v)
{
    r->base = v;
    r->stride = 0;
    r->tag = HD_UNIFORM;
}

static inline void hd_reg_affine(struct hd_reg *r, int64_t base, int64_t stride)
{
    r->base = base;
    r->stride = stride;
    r->tag = stride != 0 ? HD_AFFINE : HD_UNIFORM;
}

/* The right-hand operand: a register, or the instruction's own number. */
static inline const struct hd_reg *hd_kvm_right(const struct hd_kvm_at *at,
                                                const struct hd_ins *n)
{
    return n->b == HD_NO_REG ? &n->k : &at->reg[n->b];
}

/* ---- kernel-lane.c ---------------------------------------------------- */

/* All lanes of r (register number n) as an array: its own or tmp, filled. */
const int64_t *hd_lane_expand(const struct hd_kvm_at *at,
                              const struct hd_reg *r, uint32_t n, int64_t *tmp);
void hd_lane_special(const struct hd_kvm_at *at, const struct hd_ins *n);
void hd_lane_int(const struct hd_kvm_at *at, const struct hd_ins *n);
void hd_lane_float(const struct hd_kvm_at *at, const struct hd_ins *n);
void hd_lane_unary(const struct hd_kvm_at *at, const struct hd_ins *n);
uint64_t hd_lane_compare(const struct hd_kvm_at *at, const struct hd_ins *n);
void hd_lane_copy(const struct hd_kvm_at *at, uint32_t d, uint32_t a);
void hd_lane_select(const struct hd_kvm_at *at, const struct hd_ins *n);
void hd_lane_set(const struct hd_kvm_at *at, const struct hd_ins *n);
/* Lanes where a < b, both int. */
uint64_t hd_lane_less(const struct hd_kvm_at *at, uint32_t a, uint32_t b);

/* ---- kernel-flow.c ---------------------------------------------------- */

/* Executes the branch, loop or exit at pc; returns where the warp goes on. */
uint32_t hd_kvm_branch(const struct hd_kvm_at *at, const struct hd_ins *n,
                       uint32_t pc);

/* ---- kernel-mem.c ----------------------------------------------------- */

/* PEEK and POKE. */
void hd_kvm_touch(const struct hd_kvm_at *at, const struct hd_ins *n);
void hd_kvm_access(void *self, uint32_t ctx, uint32_t warp,
                   struct hd_access *acc);

#endif
