/*
 * simt.c - a warp of a kernel program: its next instruction, and SIMT
 * control flow.
 *
 * A warp runs ahead of time: hd_lane_next() executes free instructions
 * (arithmetic, branches) up to the next one that takes an issue slot, and joins
 * runs of ALU instructions across them, so that the engine pays for memory
 * instructions and not for arithmetic.  A run ends where the next instruction
 * must wait for a load that the run has not waited for, or has other lanes.
 *
 * Slots: load n of a kernel always fills scoreboard slot n modulo 32; a warp
 * remembers which slots it has filled and not waited for since, so that
 * no instruction waits twice.
 *
 * A variable that carries a load in flight takes over the load's slot: CARRY
 * makes the names of both change places, as a processor that renames registers
 * does, or a compiler that unrolls a pipelined loop.  So the load fills another
 * slot the next time, and does not wait for itself.  A slot is given away only
 * when what was in it has been waited for.  Names are resolved here: what is
 * out and pending, and what the core sees, are slots.
 *
 * Control flow is structured, so a stack of frames suffices; each remembers
 * the lanes that continue after the construct and, for an IF, those that still
 * have the else before them (Fung et al., MICRO 2007, section 2, with the
 * reconvergence points known from the structure).  Loops with one trip count
 * for all lanes only count; others compare lane by lane.  Exited lanes are
 * removed from every frame.
 *
 * Where all lanes go the same way at an IF, its frame would hold nothing: the
 * lanes that continue after it are those that run in it.  Such a frame is only
 * counted, and a bit says that it is idle.
 *
 * Copies to shared memory have a ring of eight scoreboard slots, a slot for
 * each group: COMMIT turns to the next, and DRAIN waits for those behind it.  A
 * bulk copy is given in pieces of as many lanes as a warp has, of which only
 * the first counts as an instruction.
 *
 * The mask of a running warp is never empty: a construct that no lane enters
 * is jumped over, and when the last lanes leave, the innermost frame that has
 * others continues.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lane.h"

enum {
    RUN_LIMIT = 1 << 20,  /* instructions in one ALU run */
    SPIN_LIMIT = 1 << 22, /* rounds of loops without any instruction */
};

/* ---- control flow ------------------------------------------------------ */

static inline struct hd_lane_frame *simt_push(const struct hd_lane_at *at,
                                              uint32_t pc)
{
    struct hd_lane_frame *f = hd_lane_frame(at, at->w->depth++);

    f->saved = at->w->mask;
    f->other = 0;
    f->pc = pc;
    f->counted = 0;
    return f;
}

/* A frame of all lanes. */
static inline void push_idle(struct hd_lane_warp *w)
{
    w->idle |= UINT32_C(1) << w->depth++;
}

/* Whether the innermost frame is idle. */
static inline bool simt_is_idle(const struct hd_lane_warp *w)
{
    return w->idle >> (w->depth - 1) & 1;
}

static void simt_leave(const struct hd_lane_at *at)
{
    struct hd_lane_warp *w = at->w;
    uint32_t bit = UINT32_C(1) << --w->depth;

    if (HD_UNLIKELY((w->idle & bit) == 0))
        w->mask = hd_lane_frame(at, w->depth)->saved;
    w->idle &= ~bit;
}

/* No lane is left here: continues where the innermost frame has some. */
static uint32_t simt_unwind(const struct hd_lane_at *at)
{
    struct hd_lane_warp *w = at->w;

    for (; w->depth > 0; simt_leave(at)) {
        struct hd_lane_frame *f = hd_lane_frame(at, w->depth - 1);
        const struct hd_ins *open;

        if (simt_is_idle(w)) /* whom it had is gone */
            continue;
        open = &at->k->ins[f->pc];
        if (open->op == HD_I_IF && f->other != 0) {
            w->mask = f->other;
            f->other = 0;
            return open->other + 1;
        }
        if (f->saved != 0) {
            simt_leave(at);
            return open->end + 1;
        }
    }
    return at->k->nins - 1; /* EXIT */
}

static uint32_t do_if(const struct hd_lane_at *at, const struct hd_ins *n,
                      uint32_t pc)
{
    struct hd_lane_warp *w = at->w;
    uint64_t m = w->mask & hd_lane_bool(at, n->a);
    bool has_else = n->other != n->end;

    if (m == w->mask) {
        push_idle(w);
        return pc + 1;
    }
    if (m == 0) {
        if (!has_else)
            return n->end + 1;
        push_idle(w);
        return n->other + 1;
    }
    simt_push(at, pc)->other = has_else ? w->mask & ~m : 0;
    w->mask = m;
    return pc + 1;
}

static uint32_t do_else(const struct hd_lane_at *at, const struct hd_ins *n,
                        uint32_t pc)
{
    struct hd_lane_frame *f = hd_lane_frame(at, at->w->depth - 1);

    if (simt_is_idle(at->w) || f->other == 0)
        return n->end;
    at->w->mask = f->other;
    f->other = 0;
    return pc + 1;
}

/* The exit of some lanes; returns where the others continue. */
static uint32_t do_exit_if(const struct hd_lane_at *at, const struct hd_ins *n,
                           uint32_t pc)
{
    struct hd_lane_warp *w = at->w;
    uint64_t gone = w->mask & hd_lane_bool(at, n->a);

    if (gone == 0)
        return pc + 1;
    w->mask &= ~gone;
    for (uint32_t d = 0; d < w->depth; d++) /* none of them is in an `other` */
        if (!(w->idle >> d & 1))
            hd_lane_frame(at, d)->saved &= ~gone;
    return w->mask != 0 ? pc + 1 : simt_unwind(at);
}

/* Lanes for which the loop continues. */
static uint64_t loop_lanes(const struct hd_lane_at *at, const struct hd_ins *n)
{
    return at->w->mask & (n->aux ? hd_lane_less(at, n->b, n->d)
                                 : hd_lane_less(at, n->d, n->b));
}

/* Rounds of a loop that all lanes make alike, or -1. */
static int64_t count_rounds(const struct hd_lane_at *at, const struct hd_ins *n)
{
    struct hd_reg from = hd_lane_reg(at, n->a), to = hd_lane_reg(at, n->b);
    struct hd_reg by = n->c != HD_NO_REG ? hd_lane_reg(at, n->c) : n->k;
    const int64_t far = INT64_C(1) << 60;
    int64_t span, step = by.base;

    if (from.tag >= HD_VECTOR || to.tag >= HD_VECTOR ||
        from.stride != to.stride || by.tag != HD_UNIFORM || step == 0 ||
        (step < 0) != (n->aux != 0) || from.base > far || from.base < -far ||
        to.base > far || to.base < -far || from.stride > far / 64 ||
        from.stride < -far / 64 || step > far || step < -far)
        return -1;
    span = n->aux ? from.base - to.base : to.base - from.base;
    step = n->aux ? -step : step;
    return span <= 0 ? 0 : (span + step - 1) / step;
}

static uint32_t do_loop(const struct hd_lane_at *at, const struct hd_ins *n,
                        uint32_t pc)
{
    int64_t rounds = count_rounds(at, n);
    struct hd_lane_frame *f;
    uint64_t m;

    hd_lane_copy(at, n->d, n->a);
    if (rounds == 0)
        return n->end + 1;
    if (rounds > 0) {
        f = simt_push(at, pc);
        f->other = (uint64_t)rounds;
        f->counted = 1;
        return pc + 1;
    }
    m = loop_lanes(at, n);
    if (m == 0)
        return n->end + 1;
    simt_push(at, pc);
    at->w->mask = m;
    return pc + 1;
}

void hd_lane_step(const struct hd_lane_at *at, const struct hd_ins *n)
{
    struct hd_ins add = *n;
    int64_t *base = &at->cell[n->d].base;

    if (n->c == HD_NO_REG && at->w->tag[n->d] < HD_VECTOR) {
        *base = (int64_t)((uint64_t)*base + (uint64_t)n->imm);
        return;
    }
    add.op = HD_I_ADD;
    add.a = n->d;
    add.b = n->c;
    hd_lane_int(at, &add);
}

static uint32_t end_loop(const struct hd_lane_at *at, const struct hd_ins *n,
                         uint32_t pc)
{
    struct hd_lane_frame *f = hd_lane_frame(at, at->w->depth - 1);
    const struct hd_ins *loop = &at->k->ins[n->end];
    uint64_t m;

    hd_lane_step(at, loop);
    if (f->counted) {
        if (--f->other != 0)
            return n->end + 1;
    } else {
        m = loop_lanes(at, loop);
        if (m != 0) {
            at->w->mask = m;
            return n->end + 1;
        }
    }
    simt_leave(at);
    return pc + 1;
}

static uint32_t do_test(const struct hd_lane_at *at, const struct hd_ins *n,
                        uint32_t pc)
{
    uint64_t m = at->w->mask & hd_lane_bool(at, n->a);

    if (m != 0) {
        at->w->mask = m;
        return pc + 1;
    }
    simt_leave(at);
    return n->end + 1;
}

/* Executes the branch, loop or exit at pc; returns where the warp continues. */
static uint32_t branch(const struct hd_lane_at *at, const struct hd_ins *n,
                       uint32_t pc)
{
    at->w->pend |= n->wait & at->w->out;
    switch (n->op) {
    case HD_I_IF:
        return do_if(at, n, pc);
    case HD_I_ELSE:
        return do_else(at, n, pc);
    case HD_I_ENDIF:
        simt_leave(at);
        return pc + 1;
    case HD_I_LOOP:
        return do_loop(at, n, pc);
    case HD_I_ENDLOOP:
        return end_loop(at, n, pc);
    case HD_I_WHILE:
        simt_push(at, pc);
        return pc + 1;
    case HD_I_TEST:
        return do_test(at, n, pc);
    case HD_I_ENDWHILE:
        return n->end + 1;
    default: /* EXITIF */
        return do_exit_if(at, n, pc);
    }
}

/* ---- the next instruction ---------------------------------------------- */

static void load_number(const struct hd_lane_at *at, const struct hd_ins *n)
{
    int64_t v = n->imm;

    if (n->op == HD_I_ARG)
        v = at->vm->st->arg[n->imm].i;
    else if (n->rtype == HD_R_BOOL || at->k->type[n->d] == HD_R_BOOL)
        v = v != 0 ? -1 : 0;
    hd_lane_uniform(at, n->d, v);
}

static void bools(const struct hd_lane_at *at, const struct hd_ins *n)
{
    uint64_t a = hd_lane_bool(at, n->a), b;

    if (n->op == HD_I_BNOT) {
        hd_lane_uniform(at, n->d, (int64_t)~a);
        return;
    }
    b = hd_lane_bool(at, n->b);
    b = n->op == HD_I_BAND ? a & b : n->op == HD_I_BOR ? a | b : a ^ b;
    hd_lane_uniform(at, n->d, (int64_t)b);
}

/* The slot of a group of copies. */
static uint32_t group_bit(uint32_t group)
{
    return UINT32_C(1) << (HD_GROUP_SLOT + group % HD_GROUPS);
}

/* CARRY and AWAIT. */
static HD_APART void simt_rename(const struct hd_lane_at *at,
                                 const struct hd_ins *n)
{
    uint8_t *name = hd_lane_names(at), had;
    struct hd_lane_warp *w = at->w;

    if (n->op == HD_I_AWAIT) {
        for (uint64_t m = (uint64_t)n->imm; m != 0; m &= m - 1)
            w->pend |= UINT32_C(1) << name[hd_bit_first(m)] & w->out;
        return;
    }
    had = name[n->aux];
    w->pend |= UINT32_C(1) << had & w->out;
    if (n->imm < HD_NAMES) {
        name[n->aux] = name[n->imm];
        name[n->imm] = had;
    }
}

/* COMMIT and DRAIN. */
static HD_APART void simt_groups(const struct hd_lane_at *at,
                                 const struct hd_ins *n)
{
    struct hd_lane_warp *w = at->w;
    struct hd_lane_copies *c;
    uint32_t closed;

    if (!at->k->copies)
        return;
    c = hd_lane_copies(at->vm, w);
    if (n->op == HD_I_COMMIT) {
        c->groups++;
        c->open = 0;
        return;
    }
    closed = HD_GROUPS - c->open; /* the oldest has the slot of the open one */
    for (uint32_t age = (uint32_t)n->imm + 1; age <= closed; age++)
        w->pend |= group_bit(c->groups - age) & w->out;
}

/* Arithmetic: everything that only writes a register. */
static void compute(const struct hd_lane_at *at, const struct hd_ins *n)
{
    /* the most frequent ones, so that the host does not have to guess where the
     * switch goes */
    if (n->op >= HD_I_LT && n->op <= HD_I_FNE) {
        hd_lane_uniform(at, n->d, (int64_t)hd_lane_compare(at, n));
        return;
    }
    if (n->op == HD_I_ADD) {
        hd_lane_int(at, n);
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
        hd_lane_copy(at, n->d, n->a);
        break;
    case HD_I_SET:
        hd_lane_set(at, n);
        break;
    case HD_I_SEL:
        hd_lane_select(at, n);
        break;
    case HD_I_BAND:
    case HD_I_BOR:
    case HD_I_BXOR:
    case HD_I_BNOT:
        bools(at, n);
        break;
    case HD_I_PEEK:
    case HD_I_POKE:
    case HD_I_MIX:
        hd_lane_touch(at, n);
        break;
    case HD_I_CARRY:
    case HD_I_AWAIT:
        simt_rename(at, n);
        break;
    case HD_I_COMMIT:
    case HD_I_DRAIN:
        simt_groups(at, n);
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
static uint32_t simt_take_waits(struct hd_lane_warp *w, uint32_t wait)
{
    uint32_t need = (wait & w->out) | w->pend;

    w->out &= ~need;
    w->pend = 0;
    return need;
}

/* Fills *op from the instruction at pc, which takes an issue slot. */
static inline void give_one(const struct hd_lane_engine *vm,
                            struct hd_lane_warp *w, uint32_t warp, uint32_t pc,
                            struct hd_op *op)
{
    const struct hd_ins *n = &vm->k->ins[pc];
    bool memory = n->op<HD_I_BAR, leaves = n->op> HD_I_BAR;
    uint32_t fills = memory ? n->m.fills : 0, wait = memory ? n->wait : 0;

    *op = (struct hd_op){
        .kind = (uint8_t)(n->op - HD_I_LOAD + HEDDLE_OP_LOAD),
        .slot = memory ? n->slot : HD_NO_SLOT,
        .bytes = memory ? n->bytes : 0,
        .space = memory ? n->depth : HD_SPACE_GLOBAL,
        .wait = simt_take_waits(w, leaves ? w->out : wait | fills),
        .count = n->op != HD_I_MEET,
        .pc = pc,
        .mask = n->op == HD_I_EXIT ? hd_lane_all(vm, warp) : w->mask};
    w->out |= fills;
    w->pc = leaves ? pc : pc + 1;
}

_Static_assert(HD_I_STORE - HD_I_LOAD == HEDDLE_OP_STORE - HEDDLE_OP_LOAD &&
                   HD_I_ATOM - HD_I_LOAD == HEDDLE_OP_ATOMIC - HEDDLE_OP_LOAD &&
                   HD_I_BAR - HD_I_LOAD == HEDDLE_OP_BARRIER - HEDDLE_OP_LOAD &&
                   HD_I_EXIT - HD_I_LOAD == HEDDLE_OP_EXIT - HEDDLE_OP_LOAD &&
                   HD_I_MEET - HD_I_LOAD == HD_OP_MEET - HEDDLE_OP_LOAD,
               "what takes an issue slot is in the order of operations");

/* A loop that never issues anything would hang the simulator. */
static HD_APART uint32_t spinning(const struct hd_lane_at *at,
                                  const struct hd_ins *end)
{
    char place[HD_PLACE];

    hd_err_set(at->vm->env->err, HEDDLE_EPROGRAM,
               "kernel %s%s: more than %d rounds without an instruction",
               at->k->name, hd_kernel_place(at->k, end->end, place),
               SPIN_LIMIT);
    at->w->depth = 0;
    at->w->idle = 0;
    return at->k->nins - 1;
}

/* Whether an instruction cannot be of the run that another began, as classes
 * see it. */
static inline bool simt_differ(const struct hd_ins *a, const struct hd_ins *b)
{
    return a->op != b->op || a->aux != b->aux || (a->bytes | b->bytes) != 0;
}

/* From w->pc on, where something free or an ALU instruction stands: up to the
 * end of the ALU run, or up to what else takes an issue slot. */
static HD_APART void run_ahead(struct hd_lane_engine *vm,
                               struct hd_lane_warp *w, uint32_t ctx,
                               uint32_t warp, struct hd_op *op)
{
    struct hd_lane_at at = hd_lane_find(vm, ctx, warp);
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
                    pc = spinning(&at, n);
                    continue;
                }
            }
            pc = branch(&at, n, pc);
        } else if (n->op <= HD_I_SHARED) {
            need = (n->wait & w->out) | w->pend;
            kind = n->op == HD_I_SHARED && vm->env->apart ? HD_OP_SHARED
                                                          : HEDDLE_OP_ALU;
            if (count > 0 &&
                (need != 0 || op->mask != w->mask || op->kind != kind ||
                 (HD_UNLIKELY(vm->env->classes) && n->imm != 0 &&
                  simt_differ(&ins[op->pc], n))))
                break;
            if (n->imm == 0) {
                w->pend = need;
            } else if (count == 0) {
                *op = (struct hd_op){.kind = (uint8_t)kind,
                                     .slot = HD_NO_SLOT,
                                     .bytes = vm->env->classes ? n->bytes : 0,
                                     .space = HD_SPACE_GLOBAL,
                                     .pc = pc,
                                     .mask = w->mask,
                                     .wait = simt_take_waits(w, need)};
            }
            count += (uint32_t)n->imm;
            pc++;
            if (count >= RUN_LIMIT || (count > 0 && op->bytes != 0))
                break; /* addresses are those of now */
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

HD_HOT void hd_lane_next(void *self, uint32_t ctx, uint32_t warp,
                         struct hd_op *op)
{
    struct hd_lane_engine *vm = self;
    struct hd_lane_warp *w = hd_lane_warp(vm, ctx, warp);
    unsigned char *after = (unsigned char *)w + vm->at.bytes;
    uint32_t pc = w->pc;

    /* the warps of a block often run one after the other, each from a line of
     * the host's cache that no near one has */
    HD_PREFETCH(after);
    HD_PREFETCH(after + vm->at.bytes);
    if (vm->k->ins[pc].op > HD_I_SHARED)
        give_one(vm, w, warp, pc, op);
    else
        run_ahead(vm, w, ctx, warp, op);
}

/* A piece of a bulk copy: lanes of 16 bytes side by side. */
static void copy_piece(const struct hd_lane_at *at, const struct hd_ins *n,
                       struct hd_op *op)
{
    const struct hd_lane_copies *c = hd_lane_copies(at->vm, at->w);

    op->mask = hd_ones(hd_min_u64(n->c - c->piece, at->vm->lanes));
}

/* A copy, which joins the open group; the first one waits for the group that
 * had the slot. */
static void copy_begin(const struct hd_lane_at *at, const struct hd_ins *n,
                       struct hd_op *op)
{
    struct hd_lane_copies *c = hd_lane_copies(at->vm, at->w);
    uint32_t bit = group_bit(c->groups);

    if (!c->open)
        op->wait |= at->w->out & bit;
    c->open = 1;
    at->w->out |= bit;
    op->slot = (uint8_t)(HD_SLOT_MANY + hd_bit_first(bit));
    if ((n->aux & HD_BULK) == 0)
        return;
    c->lanes = at->w->mask;
    c->piece = 0;
    copy_piece(at, n, op);
}

/* What follows of the bulk copy that the warp has begun.  False: nothing. */
static bool copy_continues(const struct hd_lane_at *at, struct hd_op *op)
{
    struct hd_lane_copies *c = hd_lane_copies(at->vm, at->w);
    const struct hd_ins *n;

    if (c->lanes == 0)
        return false;
    n = &at->k->ins[at->w->pc - 1];
    c->piece += at->vm->lanes;
    if (c->piece >= n->c) {
        c->piece = 0;
        c->lanes &= c->lanes - 1;
        if (c->lanes == 0)
            return false;
    }
    *op = (struct hd_op){
        .kind = HEDDLE_OP_LOAD,
        .slot = (uint8_t)(HD_SLOT_MANY + hd_bit_first(group_bit(c->groups))),
        .bytes = HD_BULK_BYTES,
        .space = n->depth,
        .pc = at->w->pc - 1};
    copy_piece(at, n, op);
    return true;
}

void hd_lane_next_named(void *self, uint32_t ctx, uint32_t warp,
                        struct hd_op *op)
{
    struct hd_lane_engine *vm = self;
    const struct hd_ins *n;
    struct hd_lane_at at;
    uint32_t bit;

    if (vm->k->copies) {
        at = hd_lane_find(vm, ctx, warp);
        if (copy_continues(&at, op))
            return;
    }
    hd_lane_next(self, ctx, warp, op);
    n = &vm->k->ins[op->pc];
    if (!hd_op_memory(op->kind) || n->op == HD_I_STORE ||
        (n->aux & HD_NAMED) == 0)
        return;
    at = hd_lane_find(vm, ctx, warp);
    if ((n->aux & 32) == 0) {
        copy_begin(&at, n, op);
        return;
    }
    op->slot = hd_lane_names(&at)[n->aux & 31];
    bit = UINT32_C(1) << op->slot;
    op->wait |= at.w->out & bit;
    at.w->out |= bit;
}

void hd_lane_detail(void *self, uint32_t ctx, uint32_t warp,
                    const struct hd_op *op, struct hd_detail *out)
{
    const struct hd_lane_engine *vm = self;
    const struct hd_ins *n = &vm->k->ins[op->pc];

    (void)ctx, (void)warp;
    if (op->kind != HEDDLE_OP_ALU)
        return;
    out->first = out->each = (n->aux & HEDDLE_DEPENDENT) != 0;
    out->kind = n->op == HD_I_SHARED
                    ? HEDDLE_CLASS_SHARED
                    : (uint8_t)(n->aux & ~(unsigned)HEDDLE_DEPENDENT);
    out->addressed = op->bytes != 0;
}
