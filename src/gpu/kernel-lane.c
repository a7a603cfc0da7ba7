/*
 * kernel-lane.c - arithmetic on the registers of a warp, all lanes at once.
 *
 * A register is uniform, affine (base + lane * stride) or a vector, by tag,
 * while it runs; most indices of real kernels stay affine and never expand.
 * The rules are exact in 64-bit arithmetic that wraps: sum and difference of
 * affine values, their product with a uniform one, and minus are affine
 * whatever overflows.  Comparison, division and minimum look at the first and
 * last lane, which is right only where nothing wraps, so they do it for
 * values below 2^47 and expand the others.
 *
 * Values of lanes that do not run are never used by lanes that do: results
 * are computed for all lanes without a mask, except in variables (SET).  They
 * are still the same on every machine.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "../base/bits.h"
#include "kernel-vm.h"

/* ---- helpers ---------------------------------------------------------- */

static inline int64_t bits_of(double d)
{
    int64_t b;

    memcpy(&b, &d, 8);
    return b;
}

static inline int64_t wrap(uint64_t v)
{
    return (int64_t)v;
}

/* One of the threads' coordinates; the first lane is thread `first`. */
static void coordinate(const struct hd_kvm_at *at, const struct hd_ins *n,
                       uint32_t first)
{
    uint32_t lanes = at->vm->lanes;
    uint32_t bx = at->k->block[0], by = at->k->block[1];
    /* threads that have the same, one after the other; values */
    uint32_t length = n->imm == HD_S_TX ? 1 : n->imm == HD_S_TY ? bx : bx * by;
    uint32_t values = at->k->block[n->imm - HD_S_TX];
    uint32_t value = first / length % values, in = first % length;
    int32_t *v;

    if ((by == 1 && at->k->block[2] == 1) || bx % lanes == 0) {
        hd_kvm_affine(at, n->d, value, n->imm == HD_S_TX);
        return;
    }
    v = hd_kvm_ints(at, n->d);
    for (uint32_t l = 0; l < lanes; l++) {
        v[l] = (int32_t)value;
        in = in + 1 == length ? 0 : in + 1;
        value += in == 0;
        value = value == values ? 0 : value;
    }
}

void hd_lane_special(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    const struct hd_kvm_block *b = &at->vm->block[at->ctx];
    uint32_t lanes = at->vm->lanes, first = at->warp * lanes;
    int64_t v;

    switch (n->imm) {
    case HD_S_TID:
        hd_kvm_affine(at, n->d, first, 1);
        return;
    case HD_S_GID:
        hd_kvm_affine(at, n->d, wrap(b->number * at->k->threads + first), 1);
        return;
    case HD_S_LANE:
        hd_kvm_affine(at, n->d, 0, 1);
        return;
    case HD_S_TX:
    case HD_S_TY:
    case HD_S_TZ:
        coordinate(at, n, first);
        return;
    case HD_S_BX:
        v = b->x;
        break;
    case HD_S_BY:
        v = b->y;
        break;
    case HD_S_BZ:
        v = b->z;
        break;
    case HD_S_BLOCK:
        v = wrap(b->number);
        break;
    case HD_S_NX:
    case HD_S_NY:
    case HD_S_NZ:
        v = at->vm->st->grid[n->imm - HD_S_NX];
        break;
    case HD_S_WARP:
        v = at->warp;
        break;
    default:
        v = lanes;
    }
    hd_kvm_uniform(at, n->d, v);
}

/* ---- int -------------------------------------------------------------- */

static inline int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q;

    if (b == 0)
        return 0;
    if (b == -1)
        return wrap(0 - (uint64_t)a);
    q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t r;

    if (b == 0 || b == -1)
        return 0;
    r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* Keeps the sign, without a branch on it. */
static inline int64_t shift_right(int64_t a, unsigned n)
{
    uint64_t sign = 0 - ((uint64_t)a >> 63);

    return wrap((((uint64_t)a ^ sign) >> n) ^ sign);
}

#define EACH_INT(X)                                                            \
    X(ADD, wrap((uint64_t)a + (uint64_t)b))                                    \
    X(SUB, wrap((uint64_t)a - (uint64_t)b))                                    \
    X(MUL, wrap((uint64_t)a *(uint64_t)b))                                     \
    X(DIV, floor_div(a, b))                                                    \
    X(MOD, floor_mod(a, b))                                                    \
    X(MIN, a < b ? a : b)                                                      \
    X(MAX, a > b ? a : b)                                                      \
    X(AND, a &b)                                                               \
    X(OR, a | b)                                                               \
    X(XOR, a ^ b)                                                              \
    X(SHL, wrap((uint64_t)a << (b & 63)))                                      \
    X(SHR, shift_right(a, (unsigned)(b & 63)))                                 \
    X(LSHR, wrap((uint64_t)a >> (b & 63)))

static int64_t int_one(uint8_t op, int64_t a, int64_t b)
{
    switch (op) {
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        return e;
        EACH_INT(X)
#undef X
    }
    return 0;
}

static void int_lanes(uint8_t op, int64_t *d, const int64_t *pa,
                      const int64_t *pb, uint32_t lanes)
{
    switch (op) {
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        for (uint32_t l = 0; l < lanes; l++) {                                 \
            int64_t a = pa[l], b = pb[l];                                      \
                                                                               \
            d[l] = e;                                                          \
        }                                                                      \
        break;
        EACH_INT(X)
#undef X
    }
}

/* Division by a power of two becomes what it is. */
static uint8_t simpler(uint8_t op, struct hd_reg *b)
{
    if ((op != HD_I_DIV && op != HD_I_MOD) || b->tag != HD_UNIFORM ||
        b->base <= 0 || !hd_is_pow2((uint64_t)b->base))
        return op;
    /* both round down, as these do */
    b->base = op == HD_I_DIV ? hd_log2((uint64_t)b->base) : b->base - 1;
    return op == HD_I_DIV ? HD_I_SHR : HD_I_AND;
}

/* The same with one number on the right. */
static void int_number(uint8_t op, int64_t *d, const int64_t *pa, int64_t b,
                       uint32_t lanes)
{
    switch (op) {
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        for (uint32_t l = 0; l < lanes; l++) {                                 \
            int64_t a = pa[l];                                                 \
                                                                               \
            d[l] = e;                                                          \
        }                                                                      \
        break;
        EACH_INT(X)
#undef X
    }
}

/* A result that is affine. */
static inline bool is(struct hd_reg *d, int64_t base, int64_t stride)
{
    d->base = base;
    d->stride = stride;
    return true;
}

/* Quotient, remainder and their powers of two by a uniform positive number,
 * where the whole warp has one quotient: then they are affine. */
static bool int_divide(struct hd_reg *d, uint8_t op, const struct hd_reg *a,
                       int64_t b, uint32_t lanes)
{
    int64_t q;

    if (op == HD_I_SHR)
        b = b >= 0 && b < 48 ? INT64_C(1) << b : 0;
    else if (op == HD_I_AND)
        b = b >= 0 && hd_lane_small(b) && hd_is_pow2((uint64_t)b + 1) ? b + 1
                                                                      : 0;
    if (b <= 0 || !hd_lane_small(b) || !hd_lane_tame(a))
        return false;
    q = floor_div(a->base, b);
    if (q != floor_div(hd_lane_last(a, lanes), b))
        return false;
    if (op == HD_I_MOD || op == HD_I_AND)
        return is(d, a->base - q * b, a->stride);
    return is(d, q, 0);
}

/* Results that are affine although int_one cannot be used. */
static bool int_affine(struct hd_reg *d, uint8_t op, const struct hd_reg *a,
                       const struct hd_reg *b, uint32_t lanes)
{
    int64_t first, last;

    switch (op) {
    case HD_I_ADD:
        return is(d, wrap((uint64_t)a->base + (uint64_t)b->base),
                  wrap((uint64_t)a->stride + (uint64_t)b->stride));
    case HD_I_SUB:
        return is(d, wrap((uint64_t)a->base - (uint64_t)b->base),
                  wrap((uint64_t)a->stride - (uint64_t)b->stride));
    case HD_I_MUL:
        if (a->tag == HD_AFFINE && b->tag == HD_AFFINE)
            return false;
        if (a->tag == HD_UNIFORM) {
            const struct hd_reg *swap = a;

            a = b;
            b = swap;
        }
        return is(d, wrap((uint64_t)a->base * (uint64_t)b->base),
                  wrap((uint64_t)a->stride * (uint64_t)b->base));
    case HD_I_SHL:
        return b->tag == HD_UNIFORM &&
               is(d, wrap((uint64_t)a->base << (b->base & 63)),
                  wrap((uint64_t)a->stride << (b->base & 63)));
    case HD_I_DIV:
    case HD_I_MOD:
    case HD_I_AND:
    case HD_I_SHR:
        return b->tag == HD_UNIFORM && int_divide(d, op, a, b->base, lanes);
    case HD_I_MIN:
    case HD_I_MAX:
        if (!hd_lane_tame(a) || !hd_lane_tame(b))
            return false;
        first = a->base - b->base;
        last = hd_lane_last(a, lanes) - hd_lane_last(b, lanes);
        if ((first < 0) != (last < 0))
            return false;
        if ((first < 0) != (op == HD_I_MIN))
            a = b;
        return is(d, a->base, a->stride);
    }
    return false;
}

/* What 32 bits can do: a op b, and what is negative if the result is more. */
#define EACH_NARROW(X)                                                         \
    X(ADD, (uint32_t)a + (uint32_t)b, (r ^ a) & (r ^ b))                       \
    X(SUB, (uint32_t)a - (uint32_t)b, (a ^ b) & (a ^ r))                       \
    X(MIN, a < b ? a : b, 0)                                                   \
    X(MAX, a > b ? a : b, 0)                                                   \
    X(AND, a &b, 0)                                                            \
    X(OR, a | b, 0)                                                            \
    X(XOR, a ^ b, 0)

static bool narrow_lanes(uint8_t op, int32_t *d, const int32_t *pa,
                         const int32_t *pb, uint32_t lanes)
{
    int32_t over = 0;

    switch (op) {
#define X(name, e, more)                                                       \
    case HD_I_##name:                                                          \
        for (uint32_t l = 0; l < lanes; l++) {                                 \
            int32_t a = pa[l], b = pb[l], r = (int32_t)(e);                    \
                                                                               \
            over |= (more);                                                    \
            d[l] = r;                                                          \
        }                                                                      \
        break;
        EACH_NARROW(X)
#undef X
    default:
        return false;
    }
    return over >= 0;
}

/* shift_right by any number */
static void narrow_shift(int32_t *d, const int32_t *pa, int64_t by,
                         uint32_t lanes)
{
    uint32_t n = (by & 63) < 31 ? (uint32_t)by & 63 : 31;

    for (uint32_t l = 0; l < lanes; l++) {
        uint32_t a = (uint32_t)pa[l], sign = 0 - (a >> 31);

        d[l] = (int32_t)(((a ^ sign) >> n) ^ sign);
    }
}

/* In 32 bits a lane, if operands and results are no more than that. */
static bool int_narrow(const struct hd_kvm_at *at, const struct hd_ins *n,
                       uint8_t op, const struct hd_reg *a,
                       const struct hd_reg *b)
{
    int32_t ta[HD_MAX_LANES], tb[HD_MAX_LANES], t[HD_MAX_LANES];
    const int32_t *pa = hd_vec_narrow(at, a, n->a, ta), *pb;

    if (pa == NULL)
        return false;
    if (op == HD_I_SHR && b->tag == HD_UNIFORM) {
        narrow_shift(hd_kvm_ints(at, n->d), pa, b->base, at->vm->lanes);
        return true;
    }
    pb = hd_vec_narrow(at, b, n->b, tb);
    if (pb == NULL || !narrow_lanes(op, t, pa, pb, at->vm->lanes))
        return false;
    memcpy(hd_kvm_ints(at, n->d), t, at->vm->lanes * sizeof(*t));
    return true;
}

void hd_lane_int(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    struct hd_reg a = hd_kvm_reg(at, n->a), b = hd_kvm_right(at, n), d;
    int64_t ta[HD_MAX_LANES], tb[HD_MAX_LANES], t[HD_MAX_LANES];
    const int64_t *pa, *pb;
    uint8_t op;

    if ((a.tag | b.tag) == HD_UNIFORM) {
        hd_kvm_uniform(at, n->d, int_one(n->op, a.base, b.base));
        return;
    }
    if ((a.tag | b.tag) == HD_AFFINE &&
        int_affine(&d, n->op, &a, &b, at->vm->lanes)) {
        hd_kvm_affine(at, n->d, d.base, d.stride);
        return;
    }
    op = simpler(n->op, &b);
    if (((a.tag | b.tag) & HD_WIDE) == 0 && int_narrow(at, n, op, &a, &b))
        return;
    pa = hd_vec_expand(at, &a, n->a, ta);
    if (b.tag == HD_UNIFORM) {
        int_number(op, t, pa, b.base, at->vm->lanes);
    } else {
        pb = hd_vec_expand(at, &b, n->b, tb);
        int_lanes(op, t, pa, pb, at->vm->lanes);
    }
    hd_vec_put(at, n->d, t);
}

/* ---- f32 and f64 ------------------------------------------------------ */

#define EACH_FLOAT(X)                                                          \
    X(FADD, a + b)                                                             \
    X(FSUB, a - b)                                                             \
    X(FMUL, a *b)                                                              \
    X(FDIV, a / b)                                                             \
    X(FMIN, a < b ? a : b)                                                     \
    X(FMAX, a > b ? a : b)

/* The bits of a result.  There is one NaN: which operand's payload and sign
 * survive is up to compilers and processors. */
static inline int64_t settle(double v)
{
    return v == v ? bits_of(v) : INT64_C(0x7ff8000000000000);
}

static inline double round_to(uint8_t type, double v)
{
    return type == HD_R_F32 ? (double)(float)v : v;
}

static double float_one(uint8_t op, double a, double b)
{
    switch (op) {
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        return e;
        EACH_FLOAT(X)
#undef X
    }
    return 0;
}

static void float_lanes(uint8_t op, int64_t *d, const int64_t *pa,
                        const int64_t *pb, uint32_t lanes)
{
    switch (op) {
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        for (uint32_t l = 0; l < lanes; l++) {                                 \
            double a = hd_lane_real(pa[l]), b = hd_lane_real(pb[l]);           \
                                                                               \
            d[l] = settle(e);                                                  \
        }                                                                      \
        break;
        EACH_FLOAT(X)
#undef X
    }
}

void hd_lane_float(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    struct hd_reg a = hd_kvm_reg(at, n->a), b = hd_kvm_right(at, n);
    int64_t ta[HD_MAX_LANES], tb[HD_MAX_LANES], *d;
    const int64_t *pa, *pb;
    uint32_t lanes = at->vm->lanes;

    if ((a.tag | b.tag) == HD_UNIFORM) {
        double v = float_one(n->op, hd_lane_real(a.base), hd_lane_real(b.base));

        hd_kvm_uniform(at, n->d, settle(round_to(n->rtype, v)));
        return;
    }
    pa = hd_vec_expand(at, &a, n->a, ta);
    pb = hd_vec_expand(at, &b, n->b, tb);
    d = hd_kvm_floats(at, n->d);
    float_lanes(n->op, d, pa, pb, lanes);
    if (n->rtype == HD_R_F32)
        for (uint32_t l = 0; l < lanes; l++)
            d[l] = bits_of((double)(float)hd_lane_real(d[l]));
}

/* ---- one operand ------------------------------------------------------ */

static inline int64_t to_int(double v)
{
    return v >= -9223372036854775808.0 && v < 9223372036854775808.0 ? (int64_t)v
                                                                    : 0;
}

static int64_t unary_one(const struct hd_ins *n, int64_t a)
{
    switch (n->op) {
    case HD_I_NEG:
        return wrap(0 - (uint64_t)a);
    case HD_I_NOT:
        return ~a;
    case HD_I_FNEG:
        return bits_of(-hd_lane_real(a));
    case HD_I_FSQRT:
        return settle(round_to(n->rtype, sqrt(hd_lane_real(a))));
    case HD_I_ITOF:
        return bits_of(round_to(n->rtype, (double)a));
    case HD_I_FTOF:
        return bits_of(round_to(n->rtype, hd_lane_real(a)));
    default: /* FTOI */
        return to_int(hd_lane_real(a));
    }
}

static void bool_to_int(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    uint64_t run = at->w->mask, set = hd_kvm_bool(at, n->a) & run;
    int32_t *d;

    if (set == 0 || set == run) {
        hd_kvm_uniform(at, n->d, set != 0);
        return;
    }
    d = hd_kvm_ints(at, n->d);
    for (uint32_t l = 0; l < at->vm->lanes; l++)
        d[l] = (int32_t)(set >> l & 1);
}

void hd_lane_unary(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    struct hd_reg a = hd_kvm_reg(at, n->a);
    int64_t ta[HD_MAX_LANES], t[HD_MAX_LANES];
    const int64_t *pa;
    bool floats = n->rtype != HD_R_INT;
    int64_t *v = t;

    if (n->op == HD_I_BTOI) {
        bool_to_int(at, n);
        return;
    }
    if (a.tag == HD_UNIFORM) {
        hd_kvm_uniform(at, n->d, unary_one(n, a.base));
        return;
    }
    if (a.tag == HD_AFFINE && (n->op == HD_I_NEG || n->op == HD_I_NOT)) {
        hd_kvm_affine(at, n->d, unary_one(n, a.base),
                      wrap(0 - (uint64_t)a.stride));
        return;
    }
    pa = hd_vec_expand(at, &a, n->a, ta);
    if (floats)
        v = hd_kvm_floats(at, n->d);
    for (uint32_t l = 0; l < at->vm->lanes; l++)
        v[l] = unary_one(n, pa[l]);
    if (!floats)
        hd_vec_put(at, n->d, t);
}
