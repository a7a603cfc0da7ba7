/*
 * kernel-vm.c - the next instruction of a warp of a kernel program.
 *
 * A warp runs ahead of time: next() executes free instructions (arithmetic,
 * branches) up to the next one that takes an issue slot, and joins runs of
 * ALU instructions across them, so that the engine pays for memory
 * instructions and not for arithmetic.  A run ends where the next instruction
 * must wait for a load that the run has not waited for, or has other lanes.
 *
 * Slots: load n of a kernel always fills scoreboard slot n modulo 32; a warp
 * remembers which slots it has filled and not waited for since, so that
 * nobody waits twice.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel-vm.h"

enum {
    RUN_LIMIT = 1 << 20,  /* instructions in one ALU run */
    SPIN_LIMIT = 1 << 22, /* rounds of loops without any instruction */
};

static void load_number(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    int64_t v = n->imm;

    if (n->op == HD_I_ARG)
        v = at->vm->st->arg[n->imm].i;
    else if (n->rtype == HD_R_BOOL || at->k->type[n->d] == HD_R_BOOL)
        v = v != 0 ? -1 : 0;
    hd_kvm_uniform(at, n->d, v);
}

static void add_fast(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    struct hd_reg a = hd_kvm_reg(at, n->a), b = hd_kvm_right(at, n);

    if (HD_LIKELY((a.tag | b.tag) < HD_VECTOR))
        hd_kvm_affine(at, n->d, (int64_t)((uint64_t)a.base + (uint64_t)b.base),
                      (int64_t)((uint64_t)a.stride + (uint64_t)b.stride));
    else
        hd_lane_int(at, n);
}

static void bools(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    uint64_t a = hd_kvm_bool(at, n->a), b;

    if (n->op == HD_I_BNOT) {
        hd_kvm_uniform(at, n->d, (int64_t)~a);
        return;
    }
    b = hd_kvm_bool(at, n->b);
    b = n->op == HD_I_BAND ? a & b : n->op == HD_I_BOR ? a | b : a ^ b;
    hd_kvm_uniform(at, n->d, (int64_t)b);
}

/* Arithmetic: everything that only writes a register. */
static void compute(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    /* the most frequent ones, so that the host does not have to guess where the
     * switch goes */
    if (n->op >= HD_I_LT && n->op <= HD_I_FNE) {
        hd_kvm_uniform(at, n->d, (int64_t)hd_lane_compare(at, n));
        return;
    }
    if (n->op == HD_I_ADD) {
        add_fast(at, n);
        return;
    }
    switch (n->op) {
    case HD_I_LI:
    case HD_I_ARG:
        load_number(at, n);
        break;
    case HD_I_SPEC:
        hd_lane_special(at, n);
        break;
    case HD_I_MOV:
    case HD_I_VAR:
        hd_vec_copy(at, n->d, n->a);
        break;
    case HD_I_SET:
        hd_vec_set(at, n);
        break;
    case HD_I_SEL:
        hd_vec_select(at, n);
        break;
    case HD_I_BAND:
    case HD_I_BOR:
    case HD_I_BXOR:
    case HD_I_BNOT:
        bools(at, n);
        break;
    case HD_I_PEEK:
    case HD_I_POKE:
        hd_kvm_touch(at, n);
        break;
    default:
        if (n->op <= HD_I_LSHR)
            hd_lane_int(at, n);
        else if (n->op >= HD_I_FADD && n->op <= HD_I_FMAX)
            hd_lane_float(at, n);
        else
            hd_lane_unary(at, n);
    }
}

/* Takes the pending and the given waits, and forgets them. */
static uint32_t take_waits(struct hd_kvm_warp *w, uint32_t wait)
{
    uint32_t need = (wait & w->out) | w->pend;

    w->out &= ~need;
    w->pend = 0;
    return need;
}

/* give_one of a barrier, or of the exit. */
static HD_APART void give_other(const struct hd_kvm *vm, struct hd_kvm_warp *w,
                                uint32_t warp, uint32_t pc, struct hd_op *op)
{
    bool bar = vm->k->ins[pc].op == HD_I_BAR;

    *op = (struct hd_op){.kind = bar ? HD_OP_BARRIER : HD_OP_EXIT,
                         .slot = HD_NO_SLOT,
                         .space = HD_SPACE_GLOBAL,
                         .wait = take_waits(w, bar ? 0 : w->out),
                         .count = 1,
                         .pc = pc,
                         .mask = bar ? w->mask : hd_kvm_lanes(vm, warp)};
    w->pc = bar ? pc + 1 : pc;
}

/* Fills *op from the instruction at pc, which takes an issue slot. */
static inline void give_one(const struct hd_kvm *vm, struct hd_kvm_warp *w,
                            uint32_t warp, uint32_t pc, struct hd_op *op)
{
    const struct hd_ins *n = &vm->k->ins[pc];
    uint32_t fills = n->m.fills;

    if (HD_UNLIKELY(n->op >= HD_I_BAR)) {
        give_other(vm, w, warp, pc, op);
        return;
    }
    *op = (struct hd_op){.kind = (uint8_t)(n->op - HD_I_LOAD + HD_OP_LOAD),
                         .slot = n->slot,
                         .bytes = n->bytes,
                         .space = n->depth,
                         .wait = take_waits(w, n->wait | fills),
                         .count = 1,
                         .pc = pc,
                         .mask = w->mask};
    w->out |= fills;
    w->pc = pc + 1;
}

_Static_assert(HD_I_STORE - HD_I_LOAD == HD_OP_STORE - HD_OP_LOAD &&
                   HD_I_ATOM - HD_I_LOAD == HD_OP_ATOMIC - HD_OP_LOAD,
               "memory instructions are in the order of operations");

/* A loop that never issues anything would hang the simulator. */
static uint32_t spinning(const struct hd_kvm_at *at)
{
    hd_err_set(at->vm->env->err, HEDDLE_EPROGRAM,
               "kernel %s: more than %d rounds without an instruction",
               at->k->name, SPIN_LIMIT);
    at->w->depth = 0;
    at->w->idle = 0;
    return at->k->nins - 1;
}

/* From w->pc on, where something free or an ALU instruction stands: up to the
 * end of the ALU run, or up to what else takes an issue slot. */
static HD_APART void run_ahead(struct hd_kvm *vm, struct hd_kvm_warp *w,
                               uint32_t ctx, uint32_t warp, struct hd_op *op)
{
    struct hd_kvm_at at = hd_kvm_found(vm, w, ctx, warp);
    uint32_t pc = w->pc;
    const struct hd_ins *ins = at.k->ins, *n;
    uint32_t count = 0, spins = 0, need, kind;

    for (;;) {
        n = &ins[pc];
        if (n->op < HD_I_IF) {
            compute(&at, n);
            pc++;
        } else if (n->op < HD_I_ALU) {
            if (n->op == HD_I_ENDLOOP || n->op == HD_I_ENDWHILE) {
                if (count >= RUN_LIMIT || (count > 0 && spins > SPIN_LIMIT))
                    break;
                if (++spins > SPIN_LIMIT) {
                    pc = spinning(&at);
                    continue;
                }
            }
            pc = hd_kvm_branch(&at, n, pc);
        } else if (n->op <= HD_I_SHARED) {
            need = (n->wait & w->out) | w->pend;
            kind = n->op == HD_I_SHARED && vm->env->apart ? HD_OP_SHARED
                                                          : HD_OP_ALU;
            if (count > 0 &&
                (need != 0 || op->mask != w->mask || op->kind != kind))
                break;
            if (n->imm == 0) {
                w->pend = need;
            } else if (count == 0) {
                *op = (struct hd_op){.kind = (uint8_t)kind,
                                     .slot = HD_NO_SLOT,
                                     .space = HD_SPACE_GLOBAL,
                                     .pc = pc,
                                     .mask = w->mask,
                                     .wait = take_waits(w, need)};
            }
            count += (uint32_t)n->imm;
            pc++;
            if (count >= RUN_LIMIT)
                break;
        } else if (count > 0) {
            break;
        } else {
            give_one(vm, w, warp, pc, op);
            return;
        }
    }
    op->count = count;
    w->pc = pc;
}

HD_HOT void hd_kvm_next(void *self, uint32_t ctx, uint32_t warp,
                        struct hd_op *op)
{
    struct hd_kvm *vm = self;
    struct hd_kvm_warp *w = hd_kvm_warp(vm, ctx, warp);
    unsigned char *after = (unsigned char *)w + vm->warp_bytes;
    uint32_t pc = w->pc;

    /* the warps of a block often run one after the other, each from a line of
     * the host's cache that no near one has */
    HD_PREFETCH(after);
    HD_PREFETCH(after + vm->warp_bytes);
    if (vm->k->ins[pc].op > HD_I_SHARED)
        give_one(vm, w, warp, pc, op);
    else
        run_ahead(vm, w, ctx, warp, op);
}
