/*
 * classes.c - classes of instructions, each with a latency and an initiation
 * interval, and what depends on what (core.classes).
 *
 * The plain core has one kind of arithmetic and one latency.  Here each
 * instruction is of a class (classes.def), and each sub-core has a pipe for
 * each class: an instruction holds it for the class's interval, which stands
 * for the lanes that the pipe has, and its result is there a latency after its
 * issue.  A trace says the class by the opcode (work/trace/sass.def), a program
 * by t:alu(n, { class = }); core.width then means nothing, and an instruction
 * holds the port of its scheduler for one of core.issue's slots.
 *
 * Dependences are distances: of each instruction its source says which of the
 * 32 before it in its warp write what it reads or writes (struct hd_detail);
 * what is farther away counts as one.  When the result of an instruction is
 * there is known when it issues, so a warp's next instruction has its earliest
 * instant as soon as it is fetched, and no register is looked up.  Loads keep
 * their scoreboard slots.  What a register of a real GPU is read from (operand
 * collectors, reuse caches) is left out, and so is the order of write-backs.
 *
 * Shared memory (banks.c) is a pipe that all sub-cores share.
 *
 * Invariant: a warp issues in order, a pipe begins at most one instruction in
 * an interval.  The time of a warp that waits for a result is ALU time, for a
 * pipe it is ready time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "subcore.h"

#define HD_CLASS(NAME, name, cycles, every, what)                              \
    _Static_assert(HEDDLE_CLASS_##NAME < HEDDLE_CLASSES, #name);
#include "classes.def"
#undef HD_CLASS

void hd_classes_open(struct hd_gpu *g)
{
    const struct hd_core_cfg *m = &g->m->core;

#define HD_CLASS(NAME, name, cycles, every, what)                              \
    g->latency[HEDDLE_CLASS_##NAME] = m->name##_latency * g->cycle;            \
    g->interval[HEDDLE_CLASS_##NAME] = m->name##_interval * g->cycle;
#include "classes.def"
#undef HD_CLASS
    g->latency[HEDDLE_CLASS_SHARED] = g->m->shared.latency * g->cycle;
}

/* When what an instruction depends on is there: bit d is the (d + 1)-th before
 * it, and the last one all that are as far or farther. */
static hd_time classes_ready(const struct hd_classes_warp *v, uint32_t on)
{
    hd_time t = on >> (HD_RING - 1) != 0 ? v->older : 0;

    for (; on != 0; on &= on - 1)
        t = hd_max_u64(t, v->done[(v->n - 1 - hd_bit_first(on)) % HD_RING]);
    return t;
}

void hd_classes_begin(struct hd_core *c, uint32_t w)
{
    struct hd_classes_warp *v = &c->sub->warp[w];
    uint32_t kind = v->kind;

    *v = (struct hd_classes_warp){.kind = (uint8_t)kind};
}

/* A source that does not say: what follows arithmetic waits for it. */
static struct hd_detail classes_default(const struct hd_op *o)
{
    return (struct hd_detail){
        .kind = hd_op_memory(o->kind)      ? HEDDLE_CLASS_MEMORY
                : o->kind == HEDDLE_OP_ALU ? HEDDLE_CLASS_INT
                                           : HEDDLE_CLASS_CONTROL,
        .first = 1};
}

void hd_classes_fetch(const struct hd_core *c, struct hd_warp *x, uint32_t w)
{
    struct hd_subcores *p = c->sub;
    struct hd_classes_warp *v = &p->warp[w];
    struct hd_detail d;

    if (!p->classes)
        return;
    d = classes_default(&x->op);
    if (c->ops->detail != NULL)
        c->ops->detail(c->source, x->ctx, x->index, &x->op, &d);
    hd_assert(d.kind < HEDDLE_CLASSES);
    p->next[v->kind] &= ~(1ull << w);
    p->next[d.kind] |= 1ull << w;
    v->kind = d.kind;
    v->each = d.each;
    v->addressed = d.addressed;
    if (HD_LIKELY(!c->gpu->skips)) /* what is skipped takes no time */
        x->ready = hd_max_u64(x->ready, classes_ready(v, d.first));
}

hd_time hd_classes_next(const struct hd_core *c, uint32_t w)
{
    const struct hd_classes_warp *v = &c->sub->warp[w];

    return classes_ready(v, v->each);
}

uint64_t hd_classes_narrow(const struct hd_core *c, const struct hd_subcore *x,
                           uint64_t can, hd_time *at)
{
    const struct hd_subcores *p = c->sub;
    hd_time best = HD_NEVER;
    uint64_t first = 0;

    for (uint32_t k = 0; k < HEDDLE_CLASSES; k++) {
        uint64_t some = can & p->next[k];
        hd_time t;

        if (some == 0)
            continue;
        t = k == HEDDLE_CLASS_SHARED ? p->banks_free : x->pipe_free[k];
        t = hd_max_u64(*at, t);
        if (t > best)
            continue;
        first = t < best ? some : first | some;
        best = t;
    }
    *at = best;
    return first;
}

void hd_classes_take(struct hd_core *c, uint32_t w, hd_time t)
{
    const struct hd_gpu *g = c->gpu;
    struct hd_subcores *p = c->sub;
    struct hd_classes_warp *v = &p->warp[w];
    hd_time *done = &v->done[v->n % HD_RING], late = 0;

    if (c->warp[w].op.count == 0)
        return; /* of the one before, or none */
    v->n++;
    if (v->kind == HEDDLE_CLASS_SHARED)
        late = hd_banks_take(c, w, t) - g->cycle;
    else
        p->sub[w % p->n].pipe_free[v->kind] = t + g->interval[v->kind];
    v->older = hd_max_u64(v->older, *done);
    *done =
        hd_op_memory(c->warp[w].op.kind) ? t : t + g->latency[v->kind] + late;
}
