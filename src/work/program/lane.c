/*
 * lane.c - the registers of a warp: values, vectors, arithmetic, all
 * lanes at once.
 *
 * A register is uniform, affine (base + lane * stride) or a vector, by tag,
 * while it runs; most indices of real kernels stay affine and never expand.
 * The rules are exact in 64-bit arithmetic that wraps: sum and difference of
 * affine values, their product with a uniform one, and minus are affine
 * whatever overflows.  Comparison, division and minimum look at the first and
 * last lane, which is right only where nothing wraps, so they do it for
 * values below 2^47 and expand the others.
 *
 * Thousands of warps take turns, and their vectors are most of what the lane
 * engine has to fetch from far caches.  So of ints only the low 32 bits of each
 * lane are with the warp (HD_VECTOR): indices, nodes, edges and colours are no
 * more than that.  Where some lane's value is, whether the lane runs or not,
 * the high halves of all are stored separately (HD_WIDE).  Code that writes a
 * vector finds out which it is, so that values are those of 64 bits always.
 * What is done often has a form for 32 bits; all else expands its operands to
 * 64 and puts its result.  Floats are 64 bits a lane.
 *
 * Values of lanes that do not run are never used by lanes that do: results
 * are computed for all lanes without a mask, except in variables (SET).  They
 * are still the same on every machine.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "kit/bits.h"
#include "kit/bytes.h"
#include "lane.h"

static inline int64_t bits_of(double d)
{
    int64_t b;

    memcpy(&b, &d, 8);
    return b;
}

static inline double real_of(int64_t bits)
{
    double d;

    memcpy(&d, &bits, 8);
    return d;
}

static inline int64_t wrap(uint64_t v)
{
    return (int64_t)v;
}

static inline bool is_small(int64_t v)
{
    return (uint64_t)v + (UINT64_C(1) << 47) < UINT64_C(1) << 48;
}

/* Lane values cannot wrap: base and 64 strides stay far below 2^63. */
static inline bool is_tame(const struct hd_reg *r)
{
    return is_small(r->base) && is_small(r->stride);
}

static inline int64_t last_of(const struct hd_reg *r, uint32_t lanes)
{
    return r->base + r->stride * (int64_t)(lanes - 1);
}

static inline bool fits_int32(int64_t v)
{
    return v == (int32_t)v;
}

/* ---- two widths ------------------------------------------------------- */

static bool is_float(const struct hd_lane_at *at, uint32_t reg)
{
    return at->k->type[reg] != HD_R_INT;
}

const int64_t *hd_lane_expand(const struct hd_lane_at *at,
                              const struct hd_reg *r, uint32_t n, int64_t *tmp)
{
    uint32_t lanes = at->vm->lanes;
    uint64_t base = (uint64_t)r->base, stride = (uint64_t)r->stride;
    const int32_t *low, *high;

    if (r->tag < HD_VECTOR) {
        for (uint32_t l = 0; l < lanes; l++)
            tmp[l] = (int64_t)(base + stride * l);
        return tmp;
    }
    if (is_float(at, n))
        return hd_lane_vec(at, n);
    low = hd_lane_vec(at, n);
    if (r->tag == HD_VECTOR) {
        for (uint32_t l = 0; l < lanes; l++)
            tmp[l] = low[l];
        return tmp;
    }
    high = hd_lane_high(at, n);
    for (uint32_t l = 0; l < lanes; l++)
        tmp[l] =
            (int64_t)((uint64_t)(uint32_t)high[l] << 32 | (uint32_t)low[l]);
    return tmp;
}

/* All lanes of an int as 32 bits each, in the same way; NULL: they are more. */
static const int32_t *lane_narrow(const struct hd_lane_at *at,
                                  const struct hd_reg *r, uint32_t n,
                                  int32_t *tmp)
{
    uint32_t lanes = at->vm->lanes;
    uint32_t base = (uint32_t)r->base, stride = (uint32_t)r->stride;

    if (r->tag >= HD_VECTOR)
        return r->tag == HD_VECTOR ? hd_lane_vec(at, n) : NULL;
    if (!fits_int32(r->base) ||
        (r->stride != 0 && !(is_tame(r) && fits_int32(last_of(r, lanes)))))
        return NULL;
    for (uint32_t l = 0; l < lanes; l++)
        tmp[l] = (int32_t)(base + stride * l);
    return tmp;
}

void hd_lane_put(const struct hd_lane_at *at, uint32_t reg, const int64_t *v)
{
    uint32_t lanes = at->vm->lanes;
    int32_t *low = hd_lane_vector(at, reg), *high;
    uint64_t more = 0;

    for (uint32_t l = 0; l < lanes; l++) {
        more |= (uint64_t)v[l] + (UINT64_C(1) << 31);
        low[l] = (int32_t)v[l];
    }
    if (HD_LIKELY(more >> 32 == 0))
        return;
    at->w->tag[reg] = HD_WIDE;
    high = hd_lane_high(at, reg);
    for (uint32_t l = 0; l < lanes; l++)
        high[l] = (int32_t)((uint64_t)v[l] >> 32);
}

void hd_lane_put_any(const struct hd_lane_at *at, uint32_t reg,
                     const int64_t *v)
{
    if (is_float(at, reg))
        memcpy(hd_lane_vector(at, reg), v, at->vm->lanes * sizeof(*v));
    else
        hd_lane_put(at, reg, v);
}

/* ---- copies ----------------------------------------------------------- */

void hd_lane_copy(const struct hd_lane_at *at, uint32_t d, uint32_t a)
{
    uint32_t tag = at->w->tag[a], lanes = at->vm->lanes;

    if (d == a)
        return;
    if (tag < HD_VECTOR) {
        hd_lane_affine(at, d, at->cell[a].base, at->cell[a].stride);
        return;
    }
    memcpy(hd_lane_vec(at, d), hd_lane_vec(at, a),
           lanes * (is_float(at, d) + 1) * 4);
    if (tag == HD_WIDE)
        memcpy(hd_lane_high(at, d), hd_lane_high(at, a), lanes * 4);
    at->w->tag[d] = (uint8_t)tag;
}

/* ---- choices ---------------------------------------------------------- */

/* d = a in the lanes that are set, b in the others; lane by lane, so that d may
 * be one of them. */
static void choose_narrow(int32_t *d, const int32_t *a, const int32_t *b,
                          uint64_t set, uint32_t lanes)
{
    for (uint32_t l = 0; l < lanes; l++) {
        int32_t m = -(int32_t)(set >> l & 1);

        d[l] = (a[l] & m) | (b[l] & ~m);
    }
}

/* Register d = a (register na) in the lanes that are set, b in the others. */
static void lane_choose(const struct hd_lane_at *at, uint32_t d, uint64_t set,
                        const struct hd_reg *a, uint32_t na,
                        const struct hd_reg *b, uint32_t nb)
{
    int64_t ta[HD_MAX_LANES], tb[HD_MAX_LANES], t[HD_MAX_LANES];
    int32_t sa[HD_MAX_LANES], sb[HD_MAX_LANES];
    const int32_t *qa, *qb;
    const int64_t *pa, *pb;
    uint32_t lanes = at->vm->lanes;

    if (!is_float(at, d)) {
        qa = lane_narrow(at, a, na, sa);
        qb = lane_narrow(at, b, nb, sb);
        if (HD_LIKELY(qa != NULL && qb != NULL)) {
            choose_narrow(hd_lane_vector(at, d), qa, qb, set, lanes);
            return;
        }
    }
    pa = hd_lane_expand(at, a, na, ta);
    pb = hd_lane_expand(at, b, nb, tb);
    for (uint32_t l = 0; l < lanes; l++)
        t[l] = (set >> l & 1) != 0 ? pa[l] : pb[l];
    hd_lane_put_any(at, d, t);
}

/* One value in all lanes that run, as far as that is easily seen. */
static bool lane_same(const struct hd_reg *a, const struct hd_reg *b)
{
    return (a->tag | b->tag) < HD_VECTOR && a->base == b->base &&
           a->stride == b->stride;
}

void hd_lane_select(const struct hd_lane_at *at, const struct hd_ins *n)
{
    uint64_t run = at->w->mask, set = hd_lane_bool(at, n->c);
    struct hd_reg a = hd_lane_reg(at, n->a), b = hd_lane_reg(at, n->b);

    if (n->rtype == HD_R_BOOL)
        hd_lane_uniform(
            at, n->d,
            (int64_t)(((uint64_t)a.base & set) | ((uint64_t)b.base & ~set)));
    else if ((set & run) == run || lane_same(&a, &b))
        hd_lane_copy(at, n->d, n->a);
    else if ((set & run) == 0)
        hd_lane_copy(at, n->d, n->b);
    else
        lane_choose(at, n->d, set, &a, n->a, &b, n->b);
}

/* Lanes that may still read a variable: those that ran at its declaration. */
static uint64_t owners(const struct hd_lane_at *at, const struct hd_ins *n)
{
    uint32_t depth = n->depth;

    /* an idle frame's lanes are those of the construct inside it */
    while (depth < at->w->depth && at->w->idle >> depth & 1)
        depth++;
    return depth < at->w->depth ? hd_lane_frame(at, depth)->saved : at->w->mask;
}

void hd_lane_set(const struct hd_lane_at *at, const struct hd_ins *n)
{
    struct hd_reg d = hd_lane_reg(at, n->d), a = hd_lane_reg(at, n->a);
    uint64_t run = at->w->mask;

    if (n->rtype == HD_R_BOOL)
        hd_lane_uniform(
            at, n->d,
            (int64_t)(((uint64_t)d.base & ~run) | ((uint64_t)a.base & run)));
    else if (lane_same(&a, &d))
        return;
    else if ((owners(at, n) & ~run) == 0)
        hd_lane_copy(at, n->d, n->a);
    else
        lane_choose(at, n->d, run, &a, n->a, &d, n->d);
}

/* ---- what a warp is --------------------------------------------------- */

/* One of the threads' coordinates; the first lane is thread `first`. */
static void coordinate(const struct hd_lane_at *at, const struct hd_ins *n,
                       uint32_t first)
{
    uint32_t lanes = at->vm->lanes;
    uint32_t bx = at->k->block[0], by = at->k->block[1];
    /* threads that have the same, one after the other; values */
    uint32_t length = n->imm == HEDDLE_SPECIAL_TX   ? 1
                      : n->imm == HEDDLE_SPECIAL_TY ? bx
                                                    : bx * by;
    uint32_t values = at->k->block[n->imm - HEDDLE_SPECIAL_TX];
    uint32_t value = first / length % values, in = first % length;
    int32_t *v;

    if ((by == 1 && at->k->block[2] == 1) || bx % lanes == 0) {
        hd_lane_affine(at, n->d, value, n->imm == HEDDLE_SPECIAL_TX);
        return;
    }
    v = hd_lane_vector(at, n->d);
    for (uint32_t l = 0; l < lanes; l++) {
        v[l] = (int32_t)value;
        in = in + 1 == length ? 0 : in + 1;
        value += in == 0;
        value = value == values ? 0 : value;
    }
}

/* What each thread of a formed warp is. */
static HD_APART void special_each(const struct hd_lane_at *at,
                                  const struct hd_ins *n)
{
    uint32_t lanes = at->vm->lanes, bx = at->k->block[0], by = at->k->block[1];
    int64_t number = (int64_t)at->vm->block[at->ctx].number, t[HD_MAX_LANES];

    for (uint32_t l = 0; l < lanes; l++) {
        uint32_t warp = hd_lane_origin(at->vm, at->ctx, at->warp, l);
        uint32_t tid = warp * lanes + l;

        switch (n->imm) {
        case HEDDLE_SPECIAL_TID:
            t[l] = tid;
            break;
        case HEDDLE_SPECIAL_GID:
            t[l] = number * at->k->threads + tid;
            break;
        case HEDDLE_SPECIAL_TX:
            t[l] = tid % bx;
            break;
        case HEDDLE_SPECIAL_TY:
            t[l] = tid / bx % by;
            break;
        case HEDDLE_SPECIAL_TZ:
            t[l] = tid / (bx * by);
            break;
        default:
            t[l] = warp;
        }
    }
    hd_lane_put(at, n->d, t);
}

void hd_lane_special(const struct hd_lane_at *at, const struct hd_ins *n)
{
    const struct hd_lane_block *b = &at->vm->block[at->ctx];
    uint32_t lanes = at->vm->lanes, first = at->warp * lanes;
    int64_t v;

    if (HD_UNLIKELY(at->ctx >= at->vm->contexts) &&
        (n->imm <= HEDDLE_SPECIAL_TZ || n->imm == HEDDLE_SPECIAL_WARP)) {
        special_each(at, n);
        return;
    }
    switch (n->imm) {
    case HEDDLE_SPECIAL_TID:
        hd_lane_affine(at, n->d, first, 1);
        return;
    case HEDDLE_SPECIAL_GID:
        hd_lane_affine(at, n->d, wrap(b->number * at->k->threads + first), 1);
        return;
    case HEDDLE_SPECIAL_LANE:
        hd_lane_affine(at, n->d, 0, 1);
        return;
    case HEDDLE_SPECIAL_TX:
    case HEDDLE_SPECIAL_TY:
    case HEDDLE_SPECIAL_TZ:
        coordinate(at, n, first);
        return;
    case HEDDLE_SPECIAL_BX:
    case HEDDLE_SPECIAL_BY:
    case HEDDLE_SPECIAL_BZ:
        v = b->at[n->imm - HEDDLE_SPECIAL_BX];
        break;
    case HEDDLE_SPECIAL_BLOCK:
        v = wrap(b->number);
        break;
    case HEDDLE_SPECIAL_NX:
    case HEDDLE_SPECIAL_NY:
    case HEDDLE_SPECIAL_NZ:
        v = at->vm->st->grid[n->imm - HEDDLE_SPECIAL_NX];
        break;
    case HEDDLE_SPECIAL_WARP:
        v = at->warp;
        break;
    default:
        v = lanes;
    }
    hd_lane_uniform(at, n->d, v);
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

/* A result that is affine. */
static inline bool lane_affine(struct hd_reg *d, int64_t base, int64_t stride)
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
        b = b >= 0 && is_small(b) && hd_is_pow2((uint64_t)b + 1) ? b + 1 : 0;
    if (b <= 0 || !is_small(b) || !is_tame(a))
        return false;
    q = floor_div(a->base, b);
    if (q != floor_div(last_of(a, lanes), b))
        return false;
    if (op == HD_I_MOD || op == HD_I_AND)
        return lane_affine(d, a->base - q * b, a->stride);
    return lane_affine(d, q, 0);
}

/* Results that are affine. */
static bool int_affine(struct hd_reg *d, uint8_t op, const struct hd_reg *a,
                       const struct hd_reg *b, uint32_t lanes)
{
    int64_t first, last;

    switch (op) {
    case HD_I_ADD:
        return lane_affine(d, wrap((uint64_t)a->base + (uint64_t)b->base),
                           wrap((uint64_t)a->stride + (uint64_t)b->stride));
    case HD_I_SUB:
        return lane_affine(d, wrap((uint64_t)a->base - (uint64_t)b->base),
                           wrap((uint64_t)a->stride - (uint64_t)b->stride));
    case HD_I_MUL:
        if (a->tag == HD_AFFINE && b->tag == HD_AFFINE)
            return false;
        if (a->tag == HD_UNIFORM) {
            const struct hd_reg *swap = a;

            a = b;
            b = swap;
        }
        return lane_affine(d, wrap((uint64_t)a->base * (uint64_t)b->base),
                           wrap((uint64_t)a->stride * (uint64_t)b->base));
    case HD_I_SHL:
        return b->tag == HD_UNIFORM &&
               lane_affine(d, wrap((uint64_t)a->base << (b->base & 63)),
                           wrap((uint64_t)a->stride << (b->base & 63)));
    case HD_I_DIV:
    case HD_I_MOD:
    case HD_I_AND:
    case HD_I_SHR:
        return b->tag == HD_UNIFORM && int_divide(d, op, a, b->base, lanes);
    case HD_I_MIN:
    case HD_I_MAX:
        if (!is_tame(a) || !is_tame(b))
            return false;
        first = a->base - b->base;
        last = last_of(a, lanes) - last_of(b, lanes);
        if ((first < 0) != (last < 0))
            return false;
        if ((first < 0) != (op == HD_I_MIN))
            a = b;
        return lane_affine(d, a->base, a->stride);
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

/* In 32 bits a lane, if operands and results are no more than that. */
static bool int_narrow(const struct hd_lane_at *at, const struct hd_ins *n,
                       uint8_t op, const struct hd_reg *a,
                       const struct hd_reg *b)
{
    int32_t ta[HD_MAX_LANES], tb[HD_MAX_LANES], t[HD_MAX_LANES];
    const int32_t *pa = lane_narrow(at, a, n->a, ta), *pb;

    if (pa == NULL)
        return false;
    pb = lane_narrow(at, b, n->b, tb);
    if (pb == NULL || !narrow_lanes(op, t, pa, pb, at->vm->lanes))
        return false;
    memcpy(hd_lane_vector(at, n->d), t, at->vm->lanes * sizeof(*t));
    return true;
}

void hd_lane_int(const struct hd_lane_at *at, const struct hd_ins *n)
{
    struct hd_reg a = hd_lane_reg(at, n->a), b = hd_lane_right(at, n), d;
    int64_t ta[HD_MAX_LANES], tb[HD_MAX_LANES], t[HD_MAX_LANES];
    uint8_t op;

    if ((a.tag | b.tag) < HD_VECTOR &&
        int_affine(&d, n->op, &a, &b, at->vm->lanes)) {
        hd_lane_affine(at, n->d, d.base, d.stride);
        return;
    }
    if ((a.tag | b.tag) == HD_UNIFORM) {
        int_lanes(n->op, t, &a.base, &b.base, 1);
        hd_lane_uniform(at, n->d, t[0]);
        return;
    }
    op = simpler(n->op, &b);
    if (((a.tag | b.tag) & HD_WIDE) == 0 && int_narrow(at, n, op, &a, &b))
        return;
    int_lanes(op, t, hd_lane_expand(at, &a, n->a, ta),
              hd_lane_expand(at, &b, n->b, tb), at->vm->lanes);
    hd_lane_put(at, n->d, t);
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
static inline int64_t lane_settle(double v)
{
    return v == v ? bits_of(v) : INT64_C(0x7ff8000000000000);
}

static inline double round_to(uint8_t type, double v)
{
    return type == HD_R_F32 ? (double)(float)v : v;
}

static void float_lanes(uint8_t op, int64_t *d, const int64_t *pa,
                        const int64_t *pb, uint32_t lanes)
{
    switch (op) {
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        for (uint32_t l = 0; l < lanes; l++) {                                 \
            double a = real_of(pa[l]), b = real_of(pb[l]);                     \
                                                                               \
            d[l] = lane_settle(e);                                             \
        }                                                                      \
        break;
        EACH_FLOAT(X)
#undef X
    }
}

void hd_lane_float(const struct hd_lane_at *at, const struct hd_ins *n)
{
    struct hd_reg a = hd_lane_reg(at, n->a), b = hd_lane_right(at, n);
    int64_t ta[HD_MAX_LANES], tb[HD_MAX_LANES], t, *d = &t;
    const int64_t *pa = &a.base, *pb = &b.base;
    uint32_t lanes = 1;

    if ((a.tag | b.tag) != HD_UNIFORM) {
        lanes = at->vm->lanes;
        pa = hd_lane_expand(at, &a, n->a, ta);
        pb = hd_lane_expand(at, &b, n->b, tb);
        d = hd_lane_vector(at, n->d);
    }
    float_lanes(n->op, d, pa, pb, lanes);
    if (n->rtype == HD_R_F32)
        for (uint32_t l = 0; l < lanes; l++)
            d[l] = bits_of((double)(float)real_of(d[l]));
    if (d == &t)
        hd_lane_uniform(at, n->d, t);
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
        return bits_of(-real_of(a));
    case HD_I_FSQRT:
        return lane_settle(round_to(n->rtype, sqrt(real_of(a))));
    case HD_I_ITOF:
        return bits_of(round_to(n->rtype, (double)a));
    case HD_I_FTOF:
        return bits_of(round_to(n->rtype, real_of(a)));
    default: /* FTOI */
        return to_int(real_of(a));
    }
}

static void bool_to_int(const struct hd_lane_at *at, const struct hd_ins *n)
{
    uint64_t run = at->w->mask, set = hd_lane_bool(at, n->a) & run;
    int32_t *d;

    if (set == 0 || set == run) {
        hd_lane_uniform(at, n->d, set != 0);
        return;
    }
    d = hd_lane_vector(at, n->d);
    for (uint32_t l = 0; l < at->vm->lanes; l++)
        d[l] = (int32_t)(set >> l & 1);
}

void hd_lane_unary(const struct hd_lane_at *at, const struct hd_ins *n)
{
    struct hd_reg a = hd_lane_reg(at, n->a);
    int64_t ta[HD_MAX_LANES], t[HD_MAX_LANES];
    const int64_t *pa;
    bool floats = n->rtype != HD_R_INT;
    int64_t *v = t;

    if (n->op == HD_I_BTOI) {
        bool_to_int(at, n);
        return;
    }
    if (a.tag == HD_UNIFORM) {
        hd_lane_uniform(at, n->d, unary_one(n, a.base));
        return;
    }
    if (a.tag == HD_AFFINE && (n->op == HD_I_NEG || n->op == HD_I_NOT)) {
        hd_lane_affine(at, n->d, unary_one(n, a.base),
                       wrap(0 - (uint64_t)a.stride));
        return;
    }
    pa = hd_lane_expand(at, &a, n->a, ta);
    if (floats)
        v = hd_lane_vector(at, n->d);
    for (uint32_t l = 0; l < at->vm->lanes; l++)
        v[l] = unary_one(n, pa[l]);
    if (!floats)
        hd_lane_put(at, n->d, t);
}

/* ---- comparisons: masks of lanes --------------------------------------- */

/* Affine ints are compared by their ends.  What is compared lane by lane gives
 * eight bits at a time, each the last one's double and itself. */

/* Lanes where base + lane * stride < 0, nothing wrapping. */
static uint64_t negative(int64_t base, int64_t stride, uint32_t lanes)
{
    int64_t last = base + stride * (int64_t)(lanes - 1);

    if ((base < 0) == (last < 0))
        return base < 0 ? ~UINT64_C(0) : 0;
    if (stride > 0) /* base < 0: lanes below ceil(-base / stride) */
        return hd_ones(
            (unsigned)(stride == 1 ? -base : (-base + stride - 1) / stride));
    return ~hd_ones((unsigned)(base / -stride + 1));
}

static uint64_t compare_affine(uint8_t op, int64_t base, int64_t stride,
                               uint32_t lanes)
{
    uint64_t lt = negative(base, stride, lanes);
    uint64_t le = negative(base - 1, stride, lanes);

    switch (op) {
    case HD_I_LT:
        return lt;
    case HD_I_LE:
        return le;
    case HD_I_GT:
        return ~le;
    case HD_I_GE:
        return ~lt;
    case HD_I_EQ:
        return le & ~lt;
    default: /* NE */
        return lt | ~le;
    }
}

/* The comparisons of two ints, and those of two doubles. */
#define EACH_CMP(X)                                                            \
    X(LT, <)                                                                   \
    X(LE, <=)                                                                  \
    X(GT, >)                                                                   \
    X(GE, >=)                                                                  \
    X(EQ, ==)                                                                  \
    X(NE, !=)
#define EACH_FCMP(X)                                                           \
    X(FLT, <)                                                                  \
    X(FLE, <=)                                                                 \
    X(FGT, >)                                                                  \
    X(FGE, >=)                                                                 \
    X(FEQ, ==)                                                                 \
    X(FNE, !=)

static bool compare_one(uint8_t op, int64_t a, int64_t b)
{
    switch (op) {
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        return a e b;
        EACH_CMP(X)
#undef X
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        return real_of(a) e real_of(b);
        EACH_FCMP(X)
#undef X
    }
    return false;
}

/* m = the lanes, a multiple of eight of them, for which `is` holds of lane l.
 */
#define ALL_LANES(is)                                                          \
    for (uint32_t g = 0; g < lanes; g += 8) {                                  \
        uint64_t eight = 0;                                                    \
                                                                               \
        for (uint32_t k = 8; k-- > 0;) {                                       \
            uint32_t l = g + k;                                                \
                                                                               \
            eight = eight + eight + (is);                                      \
        }                                                                      \
        m |= eight << g;                                                       \
    }

/* Of all lanes. */
static uint64_t compare_wide(uint8_t op, const int64_t *a, const int64_t *b,
                             uint32_t lanes)
{
    uint64_t m = 0;

    switch (op) {
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        ALL_LANES(a[l] e b[l])                                                 \
        break;
        EACH_CMP(X)
#undef X
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        ALL_LANES(real_of(a[l]) e real_of(b[l]))                               \
        break;
        EACH_FCMP(X)
#undef X
    }
    return m;
}

/* Of all lanes, ints of 32 bits: a byte for each, then the bits of 16 bytes. */
static uint64_t compare_narrow(uint8_t op, const int32_t *a, const int32_t *b,
                               uint32_t lanes)
{
    uint8_t is[HD_MAX_LANES];
    uint64_t m = 0;

    switch (op) {
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        for (uint32_t l = 0; l < lanes; l++)                                   \
            is[l] = a[l] e b[l] ? 0xff : 0;                                    \
        break;
        EACH_CMP(X)
#undef X
    default:
        return 0;
    }
    for (uint32_t l = 0; l < lanes; l += 16)
        m |= (uint64_t)hd_bytes_high(is + l) << l;
    return m;
}

static uint64_t lane_compare(const struct hd_lane_at *at, uint8_t op,
                             const struct hd_reg *a, uint32_t na,
                             const struct hd_reg *b, uint32_t nb)
{
    int64_t ta[HD_MAX_LANES], tb[HD_MAX_LANES];
    int32_t sa[HD_MAX_LANES], sb[HD_MAX_LANES];
    const int32_t *qa, *qb;
    uint32_t lanes = at->vm->lanes;

    if ((a->tag | b->tag) == HD_UNIFORM) /* the one result for all lanes */
        return 0 - (uint64_t)compare_one(op, a->base, b->base);
    if (op < HD_I_FLT || op > HD_I_FNE) { /* ints */
        if ((a->tag | b->tag) == HD_AFFINE && is_tame(a) && is_tame(b))
            return compare_affine(op, a->base - b->base, a->stride - b->stride,
                                  lanes);
        qa = lane_narrow(at, a, na, sa);
        qb = lane_narrow(at, b, nb, sb);
        if (HD_LIKELY(qa != NULL && qb != NULL))
            return compare_narrow(op, qa, qb, lanes);
    }
    return compare_wide(op, hd_lane_expand(at, a, na, ta),
                        hd_lane_expand(at, b, nb, tb), lanes);
}

uint64_t hd_lane_compare(const struct hd_lane_at *at, const struct hd_ins *n)
{
    struct hd_reg a = hd_lane_reg(at, n->a), b = hd_lane_right(at, n);

    return lane_compare(at, n->op, &a, n->a, &b, n->b);
}

uint64_t hd_lane_less(const struct hd_lane_at *at, uint32_t a, uint32_t b)
{
    struct hd_reg ra = hd_lane_reg(at, a), rb = hd_lane_reg(at, b);

    return lane_compare(at, HD_I_LT, &ra, a, &rb, b);
}
