/*
 * kernel-flow.c - SIMT control flow of a warp: branches, loops and exits.
 *
 * Control flow is structured, so a stack of frames suffices; each remembers
 * the lanes that go on after the construct and, for an IF, those that still
 * have the else before them (Fung et al., MICRO 2007, section 2, with the
 * reconvergence points known from the structure).  Loops with one trip count
 * for all lanes only count; others compare lane by lane.  Exited lanes are
 * removed from every frame.
 *
 * Where all lanes go the same way at an IF, its frame would hold nothing: the
 * lanes that go on after it are those that run in it.  Such a frame is only
 * counted, and a bit says that it is idle.
 *
 * The mask of a running warp is never empty: a construct that no lane enters
 * is jumped over, and when the last lanes leave, the innermost frame that has
 * others goes on.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel-vm.h"

static inline struct hd_kvm_frame *push(const struct hd_kvm_at *at, uint32_t pc)
{
    struct hd_kvm_frame *f = hd_kvm_frame(at, at->w->depth++);

    f->saved = at->w->mask;
    f->other = 0;
    f->pc = pc;
    f->counted = 0;
    return f;
}

/* A frame of all lanes. */
static inline void push_idle(struct hd_kvm_warp *w)
{
    w->idle |= UINT32_C(1) << w->depth++;
}

/* Whether the innermost frame is idle. */
static inline bool is_idle(const struct hd_kvm_warp *w)
{
    return w->idle >> (w->depth - 1) & 1;
}

static void leave(const struct hd_kvm_at *at)
{
    struct hd_kvm_warp *w = at->w;
    uint32_t bit = UINT32_C(1) << --w->depth;

    if (HD_UNLIKELY((w->idle & bit) == 0))
        w->mask = hd_kvm_frame(at, w->depth)->saved;
    w->idle &= ~bit;
}

/* No lane is left here: goes on where the innermost frame has some. */
static uint32_t unwind(const struct hd_kvm_at *at)
{
    struct hd_kvm_warp *w = at->w;

    for (; w->depth > 0; leave(at)) {
        struct hd_kvm_frame *f = hd_kvm_frame(at, w->depth - 1);
        const struct hd_ins *open;

        if (is_idle(w)) /* whom it had is gone */
            continue;
        open = &at->k->ins[f->pc];
        if (open->op == HD_I_IF && f->other != 0) {
            w->mask = f->other;
            f->other = 0;
            return open->other + 1;
        }
        if (f->saved != 0) {
            leave(at);
            return open->end + 1;
        }
    }
    return at->k->nins - 1; /* EXIT */
}

static uint32_t do_if(const struct hd_kvm_at *at, const struct hd_ins *n,
                      uint32_t pc)
{
    struct hd_kvm_warp *w = at->w;
    uint64_t m = w->mask & hd_kvm_bool(at, n->a);
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
    push(at, pc)->other = has_else ? w->mask & ~m : 0;
    w->mask = m;
    return pc + 1;
}

static uint32_t do_else(const struct hd_kvm_at *at, const struct hd_ins *n,
                        uint32_t pc)
{
    struct hd_kvm_frame *f = hd_kvm_frame(at, at->w->depth - 1);

    if (is_idle(at->w) || f->other == 0)
        return n->end;
    at->w->mask = f->other;
    f->other = 0;
    return pc + 1;
}

/* The exit of some lanes; returns where the others go on. */
static uint32_t do_exit_if(const struct hd_kvm_at *at, const struct hd_ins *n,
                           uint32_t pc)
{
    struct hd_kvm_warp *w = at->w;
    uint64_t gone = w->mask & hd_kvm_bool(at, n->a);

    if (gone == 0)
        return pc + 1;
    w->mask &= ~gone;
    for (uint32_t d = 0; d < w->depth; d++) /* none of them is in an `other` */
        if (!(w->idle >> d & 1))
            hd_kvm_frame(at, d)->saved &= ~gone;
    return w->mask != 0 ? pc + 1 : unwind(at);
}

/* Lanes for which the loop goes on. */
static uint64_t loop_lanes(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    return at->w->mask & (n->aux ? hd_lane_less(at, n->b, n->d)
                                 : hd_lane_less(at, n->d, n->b));
}

/* Rounds of a loop that all lanes make alike, or -1. */
static int64_t count_rounds(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    struct hd_reg from = hd_kvm_reg(at, n->a), to = hd_kvm_reg(at, n->b);
    struct hd_reg by = n->c != HD_NO_REG ? hd_kvm_reg(at, n->c) : n->k;
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

static uint32_t do_loop(const struct hd_kvm_at *at, const struct hd_ins *n,
                        uint32_t pc)
{
    int64_t rounds = count_rounds(at, n);
    struct hd_kvm_frame *f;
    uint64_t m;

    hd_vec_copy(at, n->d, n->a);
    if (rounds == 0)
        return n->end + 1;
    if (rounds > 0) {
        f = push(at, pc);
        f->other = (uint64_t)rounds;
        f->counted = 1;
        return pc + 1;
    }
    m = loop_lanes(at, n);
    if (m == 0)
        return n->end + 1;
    push(at, pc);
    at->w->mask = m;
    return pc + 1;
}

static void step_counter(const struct hd_kvm_at *at, const struct hd_ins *n)
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

static uint32_t end_loop(const struct hd_kvm_at *at, const struct hd_ins *n,
                         uint32_t pc)
{
    struct hd_kvm_frame *f = hd_kvm_frame(at, at->w->depth - 1);
    const struct hd_ins *loop = &at->k->ins[n->end];
    uint64_t m;

    step_counter(at, loop);
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
    leave(at);
    return pc + 1;
}

static uint32_t do_test(const struct hd_kvm_at *at, const struct hd_ins *n,
                        uint32_t pc)
{
    uint64_t m = at->w->mask & hd_kvm_bool(at, n->a);

    if (m != 0) {
        at->w->mask = m;
        return pc + 1;
    }
    leave(at);
    return n->end + 1;
}

uint32_t hd_kvm_branch(const struct hd_kvm_at *at, const struct hd_ins *n,
                       uint32_t pc)
{
    at->w->pend |= n->wait & at->w->out;
    switch (n->op) {
    case HD_I_IF:
        return do_if(at, n, pc);
    case HD_I_ELSE:
        return do_else(at, n, pc);
    case HD_I_ENDIF:
        leave(at);
        return pc + 1;
    case HD_I_LOOP:
        return do_loop(at, n, pc);
    case HD_I_ENDLOOP:
        return end_loop(at, n, pc);
    case HD_I_WHILE:
        push(at, pc);
        return pc + 1;
    case HD_I_TEST:
        return do_test(at, n, pc);
    case HD_I_ENDWHILE:
        return n->end + 1;
    default: /* EXITIF */
        return do_exit_if(at, n, pc);
    }
}
