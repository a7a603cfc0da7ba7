/*
 * lane.h - the lane engine: runs kernel programs for all lanes of a warp.
 *
 * Shared by its files: launch.c (launches, blocks, the host function,
 * snapshots), streams.c (launches that overlap), simt.c (the next instruction, control flow), regroup.c
 * (thread block compaction), lane.c (registers), memory.c (memory).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_LANE_H
#define HD_LANE_H

#include <string.h>

#include "kit/bits.h"
#include "kit/numbers.h"
#include "kit/env.h"
#include "buffer.h"
#include "program.h"
#include "points/source.h"

/* One open construct of a warp; the lanes meet again at its end. */
struct hd_lane_frame {
    uint64_t saved;   /* lanes that continue after it */
    uint64_t other;   /* IF: lanes still to run the else; LOOP: rounds left */
    uint32_t pc;      /* instruction that opened it */
    uint32_t counted; /* LOOP: every lane makes the same number of rounds */
};

/* A register at rest; its tag is stored separately. */
struct hd_cell {
    int64_t base, stride;
};

/*
 * A resident warp, in the arena: this, its registers, its frames, and its
 * vectors from a line of the host's cache on.  Thousands of warps take turns,
 * so that each finds its state in no near cache: a small kernel's warp is a
 * single line, next to which nothing else counts.
 */
struct hd_lane_warp {
    uint64_t mask; /* lanes that run now */
    uint32_t pc;   /* next instruction; a memory instruction that next() gave
                      and that has not issued is the one before it */
    uint32_t out;  /* slots filled and not waited for since */
    uint32_t pend; /* slots that free instructions used: the next one waits */
    uint32_t idle; /* bit set: frames that hold nothing (simt.c) */
    uint8_t depth; /* open constructs */
    uint8_t tag[]; /* [nreg] of its registers: enum hd_tag */
};

/* Of a warp whose kernel has copies, behind its names. */
struct hd_lane_copies {
    uint64_t lanes;  /* bulk: those that have not copied all, the lowest first */
    uint32_t piece;  /* of that one, the first piece of what next() gave */
    uint32_t groups; /* closed so far; number g has slot g % HD_GROUPS */
    uint32_t open;   /* 1: the next group has a copy */
    uint32_t spare;
};

/* A resident block, in the arena. */
struct hd_lane_block {
    uint64_t number;   /* linear index in the grid */
    uint32_t at[3];    /* in its three dimensions */
    uint32_t formed;   /* of formed warps, how many; 0: the original ones run */
    uint32_t from, to; /* instructions in which they write (regroup.c) */
};

/* What the host says or does of a part of a buffer. */
struct hd_lane_call {
    uint64_t offset, bytes; /* bytes 0: all of it */
    uint16_t buffer;
    uint8_t what;       /* of struct hd_hint */
    uint8_t set, unset; /* HEDDLE_ADVICE_ */
    uint8_t spare[3];
    uint64_t ns;
};
enum { HD_LANE_CALLS = 1024 }; /* at a launch */

/* What else changes.  In the arena. */
struct hd_lane_state {
    uint32_t launches; /* so far */
    uint32_t started;  /* 1: a launch is current */
    uint64_t recorded; /* bit set of events that launches record, so far */
    uint32_t kernel;   /* of the current launch */
    uint32_t grid[3];
    union heddle_value arg[HEDDLE_MAX_ARGS];
    uint8_t gone[HD_MAX_BUFFERS];   /* how often the host has given it back, or
                                       taken it again; odd: it is gone */
    uint8_t freed[HD_MAX_BUFFERS];  /* 1: so it is with all calls done */
    uint8_t advice[HD_MAX_BUFFERS]; /* HEDDLE_ADVICE_ */
    uint8_t reported[HD_MAX_BUFFERS]; /* of it, what the engine has asked for */
    uint8_t ranged[HD_MAX_BUFFERS]; /* 1: pages of it were advised on */
    uint32_t advised;               /* 1: they may differ */
    uint32_t calls, called;         /* at the next launch; those asked for */
    uint32_t before;                /* of those: to be done before it */
    uint32_t beside;                /* 1: those that come now are done next to it
                                     */
    struct hd_lane_call call[HD_LANE_CALLS];
};

/* Where the parts of a warp are, from its start, and its bytes. */
struct hd_lane_layout {
    uint32_t reg, frame, name, copies, vec, bytes;
};

struct hd_lane_engine {
    struct hd_source src;
    struct heddle_program *prog;
    struct hd_env *env; /* NULL: not bound */
    uint32_t lanes, slots;
    struct hd_buffers buf;
    struct hd_lane_state *st;
    struct hd_numbers numbers;  /* of contexts */
    struct hd_lane_block
        *block;                 /* arena: [contexts], then those of formed warps
                                 */
    unsigned char *pool;        /* arena: their warps */
    int32_t *high;              /* arena: high halves of their ints */
    /* vectors in passing (program/verify.c), behind them the high halves */
    int32_t *passing;
    unsigned char *host_state; /* bytes of the host function */
    size_t host_bytes;
    struct hd_kernel *divided; /* [kernels]: for regrouped threads, or NULL */
    uint64_t *part; /* arena: of each formed warp, its lanes of each warp */
    /* follows from st->kernel: */
    const struct hd_kernel *k;
    uint32_t warps, contexts;
    struct hd_lane_layout at;
    uint64_t last; /* lanes that the last warp of a block has */
    /* what struct hd_access points to */
    hd_va lane[HD_MAX_LANES];
};

struct heddle_host {
    struct hd_lane_engine *vm;
};

/* A warp and where its parts are. */
struct hd_lane_at {
    struct hd_lane_engine *vm;
    const struct hd_kernel *k;
    struct hd_lane_warp *w;
    struct hd_cell *cell;
    uint32_t ctx, warp;
};

static inline struct hd_lane_warp *hd_lane_warp(const struct hd_lane_engine *vm,
                                                uint32_t ctx, uint32_t warp)
{
    size_t number = (size_t)ctx * vm->warps + warp;

    return (struct hd_lane_warp *)(vm->pool + number * vm->at.bytes);
}

/* Lanes that a warp of a block has. */
static inline uint64_t hd_lane_all(const struct hd_lane_engine *vm,
                                   uint32_t warp)
{
    return warp + 1 == vm->warps ? vm->last : hd_ones(vm->lanes);
}

/* A warp that has been found, with its parts. */
static inline struct hd_lane_at hd_lane_find(struct hd_lane_engine *vm,
                                             uint32_t ctx, uint32_t warp)
{
    struct hd_lane_warp *w = hd_lane_warp(vm, ctx, warp);

    return (struct hd_lane_at){
        .vm = vm,
        .k = vm->k,
        .w = w,
        .cell = (struct hd_cell *)((unsigned char *)w + vm->at.reg),
        .ctx = ctx,
        .warp = warp,
    };
}

static inline struct hd_lane_frame *hd_lane_frame(const struct hd_lane_at *at,
                                                  uint32_t depth)
{
    unsigned char *w = (unsigned char *)at->w;

    return (struct hd_lane_frame *)(w + at->vm->at.frame) + depth;
}

/* The slots that the warp's names have, if its kernel has names. */
static inline uint8_t *hd_lane_names(const struct hd_lane_at *at)
{
    return (uint8_t *)at->w + at->vm->at.name;
}

/* What the warp has of copies, if its kernel has any. */
static inline struct hd_lane_copies *
hd_lane_copies(const struct hd_lane_engine *vm, struct hd_lane_warp *w)
{
    return (struct hd_lane_copies *)((unsigned char *)w + vm->at.copies);
}

/* Each name has a slot of its own, and no copy is in flight. */
static inline void hd_lane_name_all(const struct hd_lane_engine *vm,
                                    struct hd_lane_warp *w)
{
    uint8_t *name = (uint8_t *)w + vm->at.name;

    for (uint32_t i = 0; i < vm->k->names; i++)
        name[i] = (uint8_t)i;
    if (vm->k->copies)
        *hd_lane_copies(vm, w) = (struct hd_lane_copies){0};
}

/* The lanes of a register that can be a vector: an int's low halves, or a
 * float's 64 bits. */
static inline void *hd_lane_vec(const struct hd_lane_at *at, uint32_t reg)
{
    unsigned char *w = (unsigned char *)at->w;
    uint32_t slot = at->k->vslot[reg];
    int32_t *v = (int32_t *)(w + at->vm->at.vec);

    hd_assert(slot != HD_NO_REG);
    if (slot & HD_PASSING) {
        slot &= ~HD_PASSING;
        v = at->vm->passing;
    }
    return v + (size_t)slot * at->vm->lanes;
}

/* The high halves of an int that can be a vector. */
static inline int32_t *hd_lane_high(const struct hd_lane_at *at, uint32_t reg)
{
    const struct hd_kernel *k = at->k;
    uint32_t slot = k->vslot[reg];
    size_t number = (size_t)at->ctx * at->vm->warps + at->warp;

    if (slot & HD_PASSING)
        return at->vm->passing +
               (size_t)(k->npass + (slot & ~HD_PASSING)) * at->vm->lanes;
    return at->vm->high + (number * k->nint + slot) * at->vm->lanes;
}

/* Of a vector, nothing but the tag. */
static inline struct hd_reg hd_lane_reg(const struct hd_lane_at *at,
                                        uint32_t reg)
{
    struct hd_reg r = {0, 0, at->w->tag[reg], 0};

    if (r.tag < HD_VECTOR) {
        r.base = at->cell[reg].base;
        r.stride = at->cell[reg].stride;
    }
    return r;
}

/* The right-hand operand: a register, or the instruction's own number. */
static inline struct hd_reg hd_lane_right(const struct hd_lane_at *at,
                                          const struct hd_ins *n)
{
    return n->b == HD_NO_REG ? n->k : hd_lane_reg(at, n->b);
}

/* The mask in a bool register. */
static inline uint64_t hd_lane_bool(const struct hd_lane_at *at, uint32_t reg)
{
    return (uint64_t)at->cell[reg].base;
}

static inline void hd_lane_affine(const struct hd_lane_at *at, uint32_t reg,
                                  int64_t base, int64_t stride)
{
    at->cell[reg].base = base;
    at->cell[reg].stride = stride;
    at->w->tag[reg] = stride != 0 ? HD_AFFINE : HD_UNIFORM;
}

static inline void hd_lane_uniform(const struct hd_lane_at *at, uint32_t reg,
                                   int64_t v)
{
    hd_lane_affine(at, reg, v, 0);
}

/* Makes a register a vector: of 32 bits a lane of an int, 64 of a float.  Its
 * lanes are still to be filled. */
static inline void *hd_lane_vector(const struct hd_lane_at *at, uint32_t reg)
{
    at->w->tag[reg] = HD_VECTOR;
    return hd_lane_vec(at, reg);
}

/* ---- launch.c ----------------------------------------------------- */

/* A lane engine for a program, and what those without names are. */
struct hd_source *hd_lane_source(struct heddle_program *p);
const struct hd_source_ops *hd_lane_ops(void);

/* ---- lane.c ---------------------------------------------------- */

/* All lanes of r (register number n) as 64 bits each: its own or tmp, filled.
 */
const int64_t *hd_lane_expand(const struct hd_lane_at *at,
                              const struct hd_reg *r, uint32_t n, int64_t *tmp);
/* Makes an int register, or any that is no bool, the vector of these lanes. */
void hd_lane_put(const struct hd_lane_at *at, uint32_t reg, const int64_t *v);
void hd_lane_put_any(const struct hd_lane_at *at, uint32_t reg,
                     const int64_t *v);
/* MOV and VAR, SEL, and SET. */
void hd_lane_copy(const struct hd_lane_at *at, uint32_t d, uint32_t a);
void hd_lane_select(const struct hd_lane_at *at, const struct hd_ins *n);
void hd_lane_set(const struct hd_lane_at *at, const struct hd_ins *n);
/* SPEC; arithmetic of two ints, of two floats; what has one operand. */
void hd_lane_special(const struct hd_lane_at *at, const struct hd_ins *n);
void hd_lane_int(const struct hd_lane_at *at, const struct hd_ins *n);
void hd_lane_float(const struct hd_lane_at *at, const struct hd_ins *n);
void hd_lane_unary(const struct hd_lane_at *at, const struct hd_ins *n);
/* The mask that a comparison gives. */
uint64_t hd_lane_compare(const struct hd_lane_at *at, const struct hd_ins *n);
/* Lanes where a < b, both int. */
uint64_t hd_lane_less(const struct hd_lane_at *at, uint32_t a, uint32_t b);

/* ---- simt.c: hd_source_ops.next ---------------------------------- */

void hd_lane_next(void *self, uint32_t ctx, uint32_t warp, struct hd_op *op);
/* Of a program in which some slots have names, or that has copies. */
void hd_lane_next_named(void *self, uint32_t ctx, uint32_t warp,
                        struct hd_op *op);
/* A loop's counter makes its step. */
void hd_lane_step(const struct hd_lane_at *at, const struct hd_ins *loop);

/* ---- regroup.c: hd_source_ops.regroup, .origin -------------------- */

enum { HD_LANE_HOMES = HD_MAX_THREADS / 32 }; /* warps of a block, at most */

uint64_t hd_lane_regroup(void *self, uint32_t ctx, struct hd_group *g);
uint32_t hd_lane_origin(void *self, uint32_t ctx, uint32_t warp, uint32_t lane);

/* ---- memory.c: PEEK, POKE and MIX; hd_source_ops.access ----------- */

void hd_lane_touch(const struct hd_lane_at *at, const struct hd_ins *n);
void hd_lane_detail(void *self, uint32_t ctx, uint32_t warp,
                    const struct hd_op *op, struct hd_detail *out);
void hd_lane_access(void *self, uint32_t ctx, uint32_t warp,
                    struct hd_access *acc);

#endif
