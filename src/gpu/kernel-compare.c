/*
 * kernel-compare.c - comparisons of the registers of a warp: masks of lanes.
 *
 * Affine ints are compared by their ends.  What is compared lane by lane gives
 * eight bits at a time, each the last one's double and itself; or, where few
 * lanes run, only theirs: nobody asks for the others' bits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../base/bits.h"
#include "../base/bytes.h"
#include "kernel-vm.h"

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
    switch (op) {
    case HD_I_LT:
        return negative(base, stride, lanes);
    case HD_I_LE:
        return negative(base - 1, stride, lanes);
    case HD_I_GT:
        return ~negative(base - 1, stride, lanes);
    case HD_I_GE:
        return ~negative(base, stride, lanes);
    case HD_I_EQ:
        return negative(base - 1, stride, lanes) &
               ~negative(base, stride, lanes);
    default: /* NE */
        return negative(base, stride, lanes) |
               ~negative(base - 1, stride, lanes);
    }
}

/* The comparisons of two ints, and those of two doubles. */
#define EACH_INT(X)                                                            \
    X(LT, <)                                                                   \
    X(LE, <=)                                                                  \
    X(GT, >)                                                                   \
    X(GE, >=)                                                                  \
    X(EQ, ==)                                                                  \
    X(NE, !=)
#define EACH_FLOAT(X)                                                          \
    X(FLT, <)                                                                  \
    X(FLE, <=)                                                                 \
    X(FGT, >)                                                                  \
    X(FGE, >=)                                                                 \
    X(FEQ, ==)                                                                 \
    X(FNE, !=)

static bool one(uint8_t op, int64_t a, int64_t b)
{
    switch (op) {
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        return a e b;
        EACH_INT(X)
#undef X
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        return hd_lane_real(a) e hd_lane_real(b);
        EACH_FLOAT(X)
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

/* Of all lanes, with one number. */
static uint64_t with_one(uint8_t op, const int64_t *a, int64_t b,
                         uint32_t lanes)
{
    double f = hd_lane_real(b);
    uint64_t m = 0;

    switch (op) {
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        ALL_LANES(a[l] e b)                                                    \
        break;
        EACH_INT(X)
#undef X
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        ALL_LANES(hd_lane_real(a[l]) e f)                                      \
        break;
        EACH_FLOAT(X)
#undef X
    }
    return m;
}

/* Of all lanes, each with its own. */
static uint64_t with_each(uint8_t op, const int64_t *a, const int64_t *b,
                          uint32_t lanes)
{
    uint64_t m = 0;

    switch (op) {
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        ALL_LANES(a[l] e b[l])                                                 \
        break;
        EACH_INT(X)
#undef X
#define X(name, e)                                                             \
    case HD_I_##name:                                                          \
        ALL_LANES(hd_lane_real(a[l]) e hd_lane_real(b[l]))                     \
        break;
        EACH_FLOAT(X)
#undef X
    }
    return m;
}

/* Of all lanes, ints of 32 bits: a byte for each, then the bits of 16 bytes. */
static uint64_t narrow(uint8_t op, const int32_t *a, const int32_t *b,
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
        EACH_INT(X)
#undef X
    default:
        return 0;
    }
    for (uint32_t l = 0; l < lanes; l += 16)
        m |= (uint64_t)hd_bytes_high(is + l) << l;
    return m;
}

static uint64_t compare(const struct hd_kvm_at *at, uint8_t op,
                        const struct hd_reg *a, uint32_t na,
                        const struct hd_reg *b, uint32_t nb)
{
    int64_t ta[HD_MAX_LANES], tb[HD_MAX_LANES];
    const int64_t *pa, *pb;
    int32_t sa[HD_MAX_LANES], sb[HD_MAX_LANES];
    const int32_t *qa, *qb;
    uint32_t lanes = at->vm->lanes;
    uint64_t run = at->w->mask, m = 0;
    bool floats = op >= HD_I_FLT && op <= HD_I_FNE;

    if ((a->tag | b->tag) == HD_UNIFORM) /* the one result for all lanes */
        return 0 - (uint64_t)one(op, a->base, b->base);
    if (!floats && (a->tag | b->tag) == HD_AFFINE && hd_lane_tame(a) &&
        hd_lane_tame(b))
        return compare_affine(op, a->base - b->base, a->stride - b->stride,
                              lanes);
    if (!floats) {
        qa = hd_vec_narrow(at, a, na, sa);
        qb = hd_vec_narrow(at, b, nb, sb);
        if (HD_LIKELY(qa != NULL && qb != NULL))
            return narrow(op, qa, qb, lanes);
    }
    pa = hd_vec_expand(at, a, na, ta);
    if (b->tag == HD_UNIFORM)
        return with_one(op, pa, b->base, lanes);
    pb = hd_vec_expand(at, b, nb, tb);
    if (8 * hd_bit_count(run) > lanes)
        return with_each(op, pa, pb, lanes);
    for (; run != 0; run &= run - 1) {
        uint32_t l = hd_bit_first(run);

        m |= (uint64_t)one(op, pa[l], pb[l]) << l;
    }
    return m;
}

uint64_t hd_lane_compare(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    struct hd_reg a = hd_kvm_reg(at, n->a), b = hd_kvm_right(at, n);

    return compare(at, n->op, &a, n->a, &b, n->b);
}

uint64_t hd_lane_less(const struct hd_kvm_at *at, uint32_t a, uint32_t b)
{
    struct hd_reg ra = hd_kvm_reg(at, a), rb = hd_kvm_reg(at, b);

    return compare(at, HD_I_LT, &ra, a, &rb, b);
}
