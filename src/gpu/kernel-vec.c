/*
 * kernel-vec.c - vectors of the lane engine: how one value a lane lies in
 * memory, and what copies registers or chooses among them.
 *
 * Thousands of warps take turns, and their vectors are most of what the lane
 * engine has to fetch from far caches.  So of ints only the low 32 bits of each
 * lane lie with the warp (HD_VECTOR): indices, nodes, edges and colours are no
 * more than that.  Where some lane's value is, whether the lane runs or not,
 * the high halves of all lie in a place apart (HD_WIDE).  Whoever writes a
 * vector finds out which it is, so that values are those of 64 bits always.
 * What is done often has a form for 32 bits; all else expands its operands to
 * 64 and puts its result.  Floats are 64 bits a lane.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "kernel-vm.h"

/* ---- two widths ------------------------------------------------------- */

static bool is_float(const struct hd_kvm_at *at, uint32_t reg)
{
    return at->k->type[reg] != HD_R_INT;
}

const int64_t *hd_vec_expand(const struct hd_kvm_at *at, const struct hd_reg *r,
                             uint32_t n, int64_t *tmp)
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
        return hd_kvm_vec(at, n);
    low = hd_kvm_vec(at, n);
    if (r->tag == HD_VECTOR) {
        for (uint32_t l = 0; l < lanes; l++)
            tmp[l] = low[l];
        return tmp;
    }
    high = hd_kvm_high(at, n);
    for (uint32_t l = 0; l < lanes; l++)
        tmp[l] =
            (int64_t)((uint64_t)(uint32_t)high[l] << 32 | (uint32_t)low[l]);
    return tmp;
}

const int32_t *hd_vec_narrow(const struct hd_kvm_at *at, const struct hd_reg *r,
                             uint32_t n, int32_t *tmp)
{
    uint32_t lanes = at->vm->lanes;
    uint32_t base = (uint32_t)r->base, stride = (uint32_t)r->stride;

    if (r->tag >= HD_VECTOR)
        return r->tag == HD_VECTOR ? hd_kvm_vec(at, n) : NULL;
    if (!hd_vec_fits(r->base) ||
        (r->stride != 0 &&
         !(hd_lane_tame(r) && hd_vec_fits(hd_lane_last(r, lanes)))))
        return NULL;
    for (uint32_t l = 0; l < lanes; l++)
        tmp[l] = (int32_t)(base + stride * l);
    return tmp;
}

void hd_vec_put(const struct hd_kvm_at *at, uint32_t reg, const int64_t *v)
{
    uint32_t lanes = at->vm->lanes;
    int32_t *low = hd_kvm_ints(at, reg), *high;
    uint64_t more = 0;

    for (uint32_t l = 0; l < lanes; l++) {
        more |= (uint64_t)v[l] + (UINT64_C(1) << 31);
        low[l] = (int32_t)v[l];
    }
    if (HD_LIKELY(more >> 32 == 0))
        return;
    at->w->tag[reg] = HD_WIDE;
    high = hd_kvm_high(at, reg);
    for (uint32_t l = 0; l < lanes; l++)
        high[l] = (int32_t)((uint64_t)v[l] >> 32);
}

/* ---- copies ----------------------------------------------------------- */

void hd_vec_copy(const struct hd_kvm_at *at, uint32_t d, uint32_t a)
{
    uint32_t tag = at->w->tag[a], lanes = at->vm->lanes;

    if (d == a)
        return;
    if (tag < HD_VECTOR) {
        hd_kvm_affine(at, d, at->cell[a].base, at->cell[a].stride);
        return;
    }
    memcpy(hd_kvm_vec(at, d), hd_kvm_vec(at, a),
           lanes * (is_float(at, d) + 1) * 4);
    if (tag == HD_WIDE)
        memcpy(hd_kvm_high(at, d), hd_kvm_high(at, a), lanes * 4);
    at->w->tag[d] = (uint8_t)tag;
}

/* ---- choices ---------------------------------------------------------- */

/* d = a in the lanes that are set, b in the others; lane by lane, so that d may
 * be one of them. */
static void choose_wide(int64_t *d, const int64_t *a, const int64_t *b,
                        uint64_t set, uint32_t lanes)
{
    for (uint32_t l = 0; l < lanes; l++) {
        int64_t m = -(int64_t)(set >> l & 1);

        d[l] = (a[l] & m) | (b[l] & ~m);
    }
}

static void choose_narrow(int32_t *d, const int32_t *a, const int32_t *b,
                          uint64_t set, uint32_t lanes)
{
    /* the masks of four lanes */
#define M(b)                                                                   \
    {                                                                          \
        -((b)&1), -((b) >> 1 & 1), -((b) >> 2 & 1), -((b) >> 3 & 1)            \
    }
    static const int32_t four[16][4] = {M(0),  M(1),  M(2),  M(3), M(4),  M(5),
                                        M(6),  M(7),  M(8),  M(9), M(10), M(11),
                                        M(12), M(13), M(14), M(15)};
#undef M

    for (uint32_t g = 0; g < lanes; g += 4, set >>= 4) {
        const int32_t *m = four[set & 15];
        int32_t t[4];

        for (uint32_t i = 0; i < 4; i++)
            t[i] = (a[g + i] & m[i]) | (b[g + i] & ~m[i]);
        memcpy(d + g, t, sizeof(t));
    }
}

/* Register d = a (register na) in the lanes that are set, b in the others. */
static void choose(const struct hd_kvm_at *at, uint32_t d, uint64_t set,
                   const struct hd_reg *a, uint32_t na, const struct hd_reg *b,
                   uint32_t nb)
{
    int64_t ta[HD_MAX_LANES], tb[HD_MAX_LANES], t[HD_MAX_LANES];
    int32_t sa[HD_MAX_LANES], sb[HD_MAX_LANES];
    const int32_t *qa, *qb;
    const int64_t *pa, *pb;
    uint32_t lanes = at->vm->lanes;

    if (is_float(at, d)) {
        pa = hd_vec_expand(at, a, na, ta);
        pb = hd_vec_expand(at, b, nb, tb);
        choose_wide(hd_kvm_floats(at, d), pa, pb, set, lanes);
        return;
    }
    qa = hd_vec_narrow(at, a, na, sa);
    qb = hd_vec_narrow(at, b, nb, sb);
    if (HD_LIKELY(qa != NULL && qb != NULL)) {
        choose_narrow(hd_kvm_ints(at, d), qa, qb, set, lanes);
        return;
    }
    pa = hd_vec_expand(at, a, na, ta);
    pb = hd_vec_expand(at, b, nb, tb);
    choose_wide(t, pa, pb, set, lanes);
    hd_vec_put(at, d, t);
}

/* The same value in all lanes that run, as far as that is easily seen. */
static bool same(const struct hd_reg *a, const struct hd_reg *b)
{
    return (a->tag | b->tag) < HD_VECTOR && a->base == b->base &&
           a->stride == b->stride;
}

void hd_vec_select(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    uint64_t run = at->w->mask, set = hd_kvm_bool(at, n->c);
    struct hd_reg a = hd_kvm_reg(at, n->a), b = hd_kvm_reg(at, n->b);

    if (n->rtype == HD_R_BOOL)
        hd_kvm_uniform(
            at, n->d,
            (int64_t)(((uint64_t)a.base & set) | ((uint64_t)b.base & ~set)));
    else if ((set & run) == run || same(&a, &b))
        hd_vec_copy(at, n->d, n->a);
    else if ((set & run) == 0)
        hd_vec_copy(at, n->d, n->b);
    else
        choose(at, n->d, set, &a, n->a, &b, n->b);
}

/* Lanes that may still read a variable: those that ran at its declaration. */
static uint64_t owners(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    uint32_t depth = n->depth;

    /* an idle frame's lanes are those of the construct inside it */
    while (depth < at->w->depth && at->w->idle >> depth & 1)
        depth++;
    return depth < at->w->depth ? hd_kvm_frame(at, depth)->saved : at->w->mask;
}

void hd_vec_set(const struct hd_kvm_at *at, const struct hd_ins *n)
{
    struct hd_reg d = hd_kvm_reg(at, n->d), a = hd_kvm_reg(at, n->a);
    uint64_t run = at->w->mask;

    if (n->rtype == HD_R_BOOL)
        hd_kvm_uniform(
            at, n->d,
            (int64_t)(((uint64_t)d.base & ~run) | ((uint64_t)a.base & run)));
    else if (same(&a, &d))
        return;
    else if ((owners(at, n) & ~run) == 0)
        hd_vec_copy(at, n->d, n->a);
    else
        choose(at, n->d, run, &a, n->a, &d, n->d);
}
