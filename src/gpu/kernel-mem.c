/*
 * kernel-mem.c - memory instructions of kernel programs: addresses for the
 * timing model, and the values that really move.
 *
 * Values are read and written in the instant in which the instruction issues,
 * so the engine's issue order decides races between warps; the naive twin
 * replays that order.  Lanes act in ascending order.  A buffer without
 * contents only has addresses: its loads give 0.  PEEK and POKE move values in
 * the instant in which the warp's next instruction is looked for, that is when
 * the one before has issued; behind a barrier, when all have come.
 *
 * An index outside its buffer stops the run with the name of the kernel, the
 * buffer and the lane: the address would belong to another array or to none.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "../base/bits.h"
#include "kernel-vm.h"

/* What one memory instruction works on. */
struct act {
    const struct hd_kvm_at *at;
    const struct hd_ins *n;
    struct hd_buffer *buf;
    uint64_t mask;
    struct hd_reg index; /* tag: affine or vector, in elements */
    const int64_t *lane; /* vector: the indices */
    int64_t room[HD_MAX_LANES];
};

static int64_t index_of(const struct act *c, uint32_t l)
{
    return c->index.tag == HD_VECTOR ? c->lane[l]
                                     : (int64_t)((uint64_t)c->index.base +
                                                 (uint64_t)c->index.stride * l);
}

/* ---- the index -------------------------------------------------------- */

static void find_index(struct act *c)
{
    static const struct hd_reg zero = {0, 0, HD_UNIFORM, 0};
    const struct hd_kvm_at *at = c->at;
    const struct hd_ins *n = c->n;
    bool two = n->op != HD_I_ATOM && n->b != HD_NO_REG;
    const struct hd_reg *a = n->a != HD_NO_REG ? &at->reg[n->a] : &zero;
    const struct hd_reg *b = two ? &at->reg[n->b] : &zero;
    int64_t tmp[HD_MAX_LANES];
    const int64_t *pa;

    if ((a->tag | b->tag) < HD_VECTOR) {
        hd_reg_affine(
            &c->index,
            (int64_t)((uint64_t)a->base + (uint64_t)b->base + (uint64_t)n->imm),
            (int64_t)((uint64_t)a->stride + (uint64_t)b->stride));
        return;
    }
    c->index.tag = HD_VECTOR;
    c->lane = c->room;
    pa = hd_lane_expand(at, a, n->a, tmp);
    if (b->tag == HD_VECTOR) {
        const int64_t *pb = hd_kvm_vec(at, n->b);

        for (uint32_t l = 0; l < at->vm->lanes; l++)
            c->room[l] =
                (int64_t)((uint64_t)pa[l] + (uint64_t)pb[l] + (uint64_t)n->imm);
    } else {
        uint64_t base = (uint64_t)b->base + (uint64_t)n->imm;
        uint64_t stride = (uint64_t)b->stride;

        for (uint32_t l = 0; l < at->vm->lanes; l++)
            c->room[l] = (int64_t)((uint64_t)pa[l] + base + stride * l);
    }
}

/* Both ends of an affine index inside 0 .. top: so are those between them. */
static inline bool ends_inside(int64_t base, int64_t stride, uint64_t mask,
                               uint64_t top)
{
    int64_t first = (int64_t)hd_bit_first(mask), last, lo, hi;

    last = 63 - (int64_t)__builtin_clzll(mask);
    if (HD_UNLIKELY(stride > INT64_C(1) << 48 || stride < -(INT64_C(1) << 48) ||
                    base > INT64_C(1) << 62 || base < -(INT64_C(1) << 62)))
        return stride == 0 && (uint64_t)base <= top;
    lo = base + stride * first;
    hi = base + stride * last;
    return (uint64_t)lo <= top && (uint64_t)hi <= top;
}

/* True if all active lanes stay inside the buffer. */
static bool inside(const struct act *c)
{
    uint64_t top = c->n->m.top, bad = 0;

    if (c->index.tag != HD_VECTOR)
        return ends_inside(c->index.base, c->index.stride, c->mask, top);
    /* all lanes at once: a sign bit appears if one is below 0 or above top */
    for (uint32_t l = 0; l < c->at->vm->lanes; l++)
        bad |= (uint64_t)c->lane[l] | (top - (uint64_t)c->lane[l]);
    if (HD_LIKELY(bad >> 63 == 0))
        return true;
    for (uint64_t m = c->mask; m != 0; m &= m - 1)
        if ((uint64_t)c->lane[hd_bit_first(m)] > top)
            return false;
    return true;
}

static void outside(const struct act *c)
{
    const struct hd_kvm_at *at = c->at;
    uint64_t top = c->n->m.top;
    uint32_t l = 0;

    while (l < at->vm->lanes &&
           (!(c->mask >> l & 1) || (uint64_t)index_of(c, l) <= top))
        l++;
    hd_err_set(at->vm->env->err, HEDDLE_EPROGRAM,
               "kernel %s, instruction %u (%s): index %lld of buffer %s; "
               "expected 0 to %llu (block %u,%u,%u, thread %u)",
               at->k->name, (unsigned)(c->n - at->k->ins),
               hd_opcode_name(c->n->op), (long long)index_of(c, l),
               c->buf->def->name, (unsigned long long)top, at->w->bx, at->w->by,
               at->w->bz, at->w->warp * at->vm->lanes + l);
}

/* ---- values ----------------------------------------------------------- */

static void no_memory(const struct act *c)
{
    hd_err_set(c->at->vm->env->err, HEDDLE_ENOMEM,
               "no memory for the contents of buffer %s", c->buf->def->name);
}

/* Contiguous elements in one page: no look-up for each lane. */
static bool load_run(const struct act *c, int64_t *d, uint32_t lanes)
{
    uint8_t shift = c->buf->def->shift, type = c->buf->def->type;
    uint64_t room, at = (uint64_t)c->index.base << shift;
    const unsigned char *p;

    if (c->index.tag == HD_VECTOR || c->index.stride != 1 ||
        c->index.base < 0 ||
        (uint64_t)c->index.base + lanes > c->buf->def->count)
        return false;
    p = hd_buffer_read(c->buf, at, &room);
    if (room < (uint64_t)lanes << shift)
        return false;
    switch (type) {
    case HEDDLE_I32:
        for (uint32_t l = 0; l < lanes; l++) {
            int32_t v;

            memcpy(&v, p + 4 * l, 4);
            d[l] = v;
        }
        return true;
    case HEDDLE_F32:
        for (uint32_t l = 0; l < lanes; l++) {
            float f;
            double v;

            memcpy(&f, p + 4 * l, 4);
            v = (double)f;
            memcpy(&d[l], &v, 8);
        }
        return true;
    default:
        for (uint32_t l = 0; l < lanes; l++)
            d[l] = hd_element_get(type, p + ((size_t)l << shift)).i;
        return true;
    }
}

/* Elements of one type, lane by lane, of the lanes that run; 0 for others. */
static inline void load_each(const struct act *c, int64_t *d, uint32_t lanes,
                             uint8_t type)
{
    const struct hd_buffer *b = c->buf;
    uint8_t shift = b->def->shift;

    for (uint32_t l = 0; l < lanes; l++) {
        const unsigned char *p = NULL;

        if (c->mask >> l & 1)
            p = hd_buffer_at(b, (uint64_t)index_of(c, l) << shift);
        d[l] = p != NULL ? hd_element_get(type, p).i : 0;
    }
}

static void load_values(const struct act *c)
{
    struct hd_reg *r = &c->at->reg[c->n->d];
    uint32_t lanes = c->at->vm->lanes;
    int64_t *d;

    if (c->index.tag == HD_UNIFORM) {
        hd_reg_uniform(r, hd_buffer_get(c->buf, (uint64_t)c->index.base).i);
        return;
    }
    d = hd_kvm_vec(c->at, c->n->d);
    r->tag = HD_VECTOR;
    r->stride = 0;
    if (load_run(c, d, lanes))
        return;
    switch (c->buf->def->type) {
    case HEDDLE_I32:
        load_each(c, d, lanes, HEDDLE_I32);
        return;
    case HEDDLE_F32:
        load_each(c, d, lanes, HEDDLE_F32);
        return;
    case HEDDLE_U8:
        load_each(c, d, lanes, HEDDLE_U8);
        return;
    default:
        load_each(c, d, lanes, c->buf->def->type);
    }
}

static void store_values(const struct act *c)
{
    struct hd_kvm *vm = c->at->vm;
    int64_t tmp[HD_MAX_LANES];
    const int64_t *v;

    v = hd_lane_expand(c->at, &c->at->reg[c->n->d], c->n->d, tmp);
    for (uint64_t m = c->mask; m != 0; m &= m - 1) {
        uint32_t l = hd_bit_first(m);
        union heddle_value u = {.i = v[l]};

        if (hd_buffer_set(&vm->buf, c->buf, (uint64_t)index_of(c, l), u) != 0) {
            no_memory(c);
            return;
        }
    }
}

/* ---- atomics ---------------------------------------------------------- */

static int64_t combine_int(uint8_t kind, int64_t old, int64_t v, int64_t cmp)
{
    switch (kind) {
    case HD_AT_ADD:
        return (int64_t)((uint64_t)old + (uint64_t)v);
    case HD_AT_MIN:
        return old < v ? old : v;
    case HD_AT_MAX:
        return old > v ? old : v;
    case HD_AT_AND:
        return old & v;
    case HD_AT_OR:
        return old | v;
    case HD_AT_XOR:
        return old ^ v;
    case HD_AT_EXCH:
        return v;
    default: /* CAS */
        return old == cmp ? v : old;
    }
}

static double combine_float(uint8_t kind, double old, double v)
{
    switch (kind) {
    case HD_AT_ADD:
        return old + v; /* stored as f32, it is rounded then */
    case HD_AT_MIN:
        return old < v ? old : v;
    case HD_AT_MAX:
        return old > v ? old : v;
    default: /* EXCH */
        return v;
    }
}

static void atomic_values(const struct act *c)
{
    const struct hd_kvm_at *at = c->at;
    const struct hd_ins *n = c->n;
    bool floats = hd_program_rtype(c->buf->def->type) != HD_R_INT;
    int64_t tv[HD_MAX_LANES], tc[HD_MAX_LANES], result[HD_MAX_LANES] = {0};
    const int64_t *v, *cmp;

    v = hd_lane_expand(at, &at->reg[n->b], n->b, tv);
    cmp = n->kind == HD_AT_CAS
              ? hd_lane_expand(at, &at->reg[n->cmp], n->cmp, tc)
              : v;
    for (uint64_t m = c->mask; m != 0; m &= m - 1) {
        uint32_t l = hd_bit_first(m);
        uint64_t i = (uint64_t)index_of(c, l);
        union heddle_value old = hd_buffer_get(c->buf, i), put = {.i = v[l]};

        result[l] = old.i;
        if (floats)
            put.f = combine_float(n->kind, old.f, put.f);
        else
            put.i = combine_int(n->kind, old.i, put.i, cmp[l]);
        if (hd_buffer_set(&at->vm->buf, c->buf, i, put) != 0) {
            no_memory(c);
            return;
        }
    }
    if (n->d != HD_NO_REG) {
        at->reg[n->d].tag = HD_VECTOR;
        at->reg[n->d].stride = 0;
        memcpy(hd_kvm_vec(at, n->d), result, at->vm->lanes * 8);
    }
}

/* ---- the instruction -------------------------------------------------- */

static void find_addresses(const struct act *c, struct hd_access *acc)
{
    struct hd_kvm *vm = c->at->vm;
    uint8_t shift = c->n->shift;
    uint64_t va = c->n->m.va;

    if (c->index.tag != HD_VECTOR) {
        acc->lane = NULL;
        acc->base.v = va + ((uint64_t)c->index.base << shift);
        acc->stride = (int64_t)((uint64_t)c->index.stride << shift);
        return;
    }
    for (uint32_t l = 0; l < vm->lanes; l++)
        vm->lane[l].v = va + ((uint64_t)c->lane[l] << shift);
    acc->lane = vm->lane;
    acc->base = vm->lane[0];
    acc->stride = 0;
}

static void begin(struct act *c, const struct hd_kvm_at *at,
                  const struct hd_ins *n)
{
    c->at = at;
    c->n = n;
    c->buf = &at->vm->buf.v[n->buf];
    c->mask = at->w->mask;
    find_index(c);
}

void hd_kvm_touch(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    struct act c;

    begin(&c, at, n);
    if (HD_UNLIKELY(!inside(&c))) {
        outside(&c);
        if (n->op == HD_I_PEEK)
            hd_reg_uniform(&at->reg[n->d], 0);
    } else if (n->op == HD_I_PEEK) {
        load_values(&c);
    } else {
        store_values(&c);
    }
}

static void access_fully(const struct hd_kvm_at *at, const struct hd_ins *n,
                         struct hd_access *acc)
{
    struct act c;

    begin(&c, at, n);
    if (HD_UNLIKELY(!inside(&c))) {
        outside(&c);
        acc->lane = NULL;
        acc->base = c.buf->def->va;
        acc->stride = 0;
        if (n->op != HD_I_STORE && n->d != HD_NO_REG)
            hd_reg_uniform(&at->reg[n->d], 0);
        return;
    }
    find_addresses(&c, acc);
    if (!n->m.real) {
        if (n->op != HD_I_STORE && n->d != HD_NO_REG)
            hd_reg_uniform(&at->reg[n->d], 0);
    } else if (n->op == HD_I_STORE) {
        store_values(&c);
    } else if (n->op == HD_I_ATOM) {
        atomic_values(&c);
    } else {
        load_values(&c);
    }
}

void hd_kvm_access(void *self, uint32_t ctx, uint32_t warp,
                   struct hd_access *acc)
{
    struct hd_kvm_at at = hd_kvm_find(self, ctx, warp);
    const struct hd_ins *n = &at.k->ins[at.w->mem];
    uint64_t base = (uint64_t)n->imm, stride = 0;
    uint32_t tags = 0;

    /* nothing but an affine address: most instructions of most kernels */
    if (n->a != HD_NO_REG) {
        base += (uint64_t)at.reg[n->a].base;
        stride += (uint64_t)at.reg[n->a].stride;
        tags |= at.reg[n->a].tag;
    }
    if (n->b != HD_NO_REG && n->op != HD_I_ATOM) {
        base += (uint64_t)at.reg[n->b].base;
        stride += (uint64_t)at.reg[n->b].stride;
        tags |= at.reg[n->b].tag;
    }
    if (HD_LIKELY(!n->m.real && tags < HD_VECTOR &&
                  (n->d == HD_NO_REG || n->op == HD_I_STORE) &&
                  ends_inside((int64_t)base, (int64_t)stride, at.w->mask,
                              n->m.top))) {
        acc->lane = NULL;
        acc->base.v = n->m.va + (base << n->shift);
        acc->stride = (int64_t)(stride << n->shift);
        return;
    }
    access_fully(&at, n, acc);
}
