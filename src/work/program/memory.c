/*
 * memory.c - memory instructions of kernel programs: addresses for the
 * timing model, and the values that really move.
 *
 * Values are read and written in the instant in which the instruction issues,
 * so the engine's issue order decides races between warps; the naive twin
 * replays that order.  Lanes act in ascending order.  A buffer without
 * contents only has addresses: its loads give 0.  PEEK and POKE move values in
 * the instant in which the warp's next instruction is looked for, that is when
 * the one before has issued; behind a barrier, when all have come.  So does
 * MIX, a warp at a time.
 *
 * The lanes' indices are affine, or each lane's address stands in vm->lane: it
 * is at once what the timing model gets and how the value is found.
 *
 * An index outside its buffer stops the run with the name of the kernel, the
 * buffer and the lane: the address would belong to another array or to none.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "kit/bits.h"
#include "lane.h"

/* What one memory instruction works on. */
struct act {
    const struct hd_lane_at *at;
    const struct hd_ins *n;
    struct hd_buffer *buf;
    uint64_t mask;
    uint64_t base, stride; /* the index of lane l: base + l * stride, */
    bool apart;            /* or its address is vm->lane[l] */
};

/* ---- the index -------------------------------------------------------- */

/* One lane of a register, which is no float; HD_NO_REG is 0. */
static uint64_t lane_of(const struct hd_lane_at *at, uint32_t reg, uint32_t l)
{
    const int32_t *low;
    struct hd_reg r;

    if (reg == HD_NO_REG)
        return 0;
    r = hd_lane_reg(at, reg);
    if (r.tag < HD_VECTOR)
        return (uint64_t)r.base + (uint64_t)r.stride * l;
    low = hd_lane_vec(at, reg);
    return r.tag == HD_VECTOR
               ? (uint64_t)(int64_t)low[l]
               : (uint64_t)hd_lane_high(at, reg)[l] << 32 | (uint32_t)low[l];
}

static int64_t act_index(const struct act *c, uint32_t l)
{
    const struct hd_ins *n = c->n;

    return (int64_t)(lane_of(c->at, n->a, l) + lane_of(c->at, n->m.b, l) +
                     (uint64_t)n->imm);
}

/* The offset in the buffer of lane l's element. */
static inline uint64_t act_offset(const struct act *c, uint32_t l)
{
    return c->apart ? c->at->vm->lane[l].v - c->n->m.va
                    : (c->base + c->stride * l) << c->n->shift;
}

/* Sets the lanes' addresses; true if all active lanes stay in the buffer. */
static bool act_place(struct act *c, const struct hd_reg *a,
                      const struct hd_reg *b)
{
    const struct hd_ins *n = c->n;
    uint64_t top = n->m.top, va = n->m.va, bad = 0, plus = (uint64_t)n->imm;
    int64_t ta[HD_MAX_LANES], tb[HD_MAX_LANES];
    const int64_t *pa = hd_lane_expand(c->at, a, n->a, ta);
    const int64_t *pb = hd_lane_expand(c->at, b, n->m.b, tb);
    hd_va *lane = c->at->vm->lane;

    c->apart = true;
    for (uint32_t l = 0; l < c->at->vm->lanes; l++) {
        uint64_t i = (uint64_t)pa[l] + (uint64_t)pb[l] + plus;

        bad |= i | (top - i); /* a sign bit if it is below 0 or above top */
        lane[l].v = va + (i << n->shift);
    }
    if (HD_LIKELY(bad >> 63 == 0))
        return true;
    for (uint64_t m = c->mask; m != 0; m &= m - 1)
        if ((uint64_t)act_index(c, hd_bit_first(m)) > top)
            return false;
    return true;
}

/* Both ends of an affine index inside 0 .. top: so are those between them. */
static inline bool ends_inside(uint64_t base, uint64_t stride, uint64_t mask,
                               uint64_t top)
{
    const uint64_t near = UINT64_C(1) << 48, far = UINT64_C(1) << 62;
    uint64_t lo, hi;

    if (HD_UNLIKELY(stride + near > 2 * near || base + far > 2 * far))
        return stride == 0 && base <= top;
    lo = base + stride * hd_bit_first(mask);
    hi = base + stride * hd_log2(mask);
    return lo <= top && hi <= top;
}

/* Finds the indices; true if all active lanes stay inside the buffer. */
static bool act_begin(struct act *c, const struct hd_lane_at *at,
                      const struct hd_ins *n)
{
    struct hd_reg a = {0, 0, HD_UNIFORM, 0}, b = a;

    if (n->a != HD_NO_REG)
        a = hd_lane_reg(at, n->a);
    if (n->m.b != HD_NO_REG)
        b = hd_lane_reg(at, n->m.b);
    c->at = at;
    c->n = n;
    c->buf = &at->vm->buf.v[n->buf];
    c->mask = at->w->mask;
    if ((a.tag | b.tag) >= HD_VECTOR)
        return act_place(c, &a, &b);
    c->apart = false;
    c->base = (uint64_t)a.base + (uint64_t)b.base + (uint64_t)n->imm;
    c->stride = (uint64_t)a.stride + (uint64_t)b.stride;
    return ends_inside(c->base, c->stride, c->mask, n->m.top);
}

static void act_outside(const struct act *c)
{
    const struct hd_lane_at *at = c->at;
    const struct hd_lane_block *b = &at->vm->block[at->ctx];
    uint64_t top = c->n->m.top;
    uint32_t l = 0, number = (uint32_t)(c->n - at->k->ins);
    char place[HD_PLACE];

    while (l < at->vm->lanes &&
           (!(c->mask >> l & 1) || (uint64_t)act_index(c, l) <= top))
        l++;
    hd_err_set(at->vm->env->err, HEDDLE_EPROGRAM,
               "kernel %s, instruction %u (%s%s): index %lld of buffer %s; "
               "expected 0 to %llu (block %u,%u,%u, thread %u)",
               at->k->name, number, hd_opcode_name(c->n->op),
               hd_kernel_place(at->k, number, place),
               (long long)act_index(c, l), c->buf->def->name,
               (unsigned long long)top, b->at[0], b->at[1], b->at[2],
               hd_lane_origin(at->vm, at->ctx, at->warp, l) * at->vm->lanes +
                   l);
}

/* Gives each lane an address of its own; the indices are in the buffer. */
static void spread(struct act *c)
{
    hd_va *lane = c->at->vm->lane;

    for (uint32_t l = 0; l < c->at->vm->lanes && !c->apart; l++)
        lane[l].v = c->n->m.va + act_offset(c, l);
    c->apart = true;
}

/* Does what is to be done for each type of element, the most frequent ones
 * known where it is compiled. */
#define BY_TYPE(type, f, ...)                                                  \
    ((type) == HEDDLE_I32   ? f(__VA_ARGS__, HEDDLE_I32)                       \
     : (type) == HEDDLE_F32 ? f(__VA_ARGS__, HEDDLE_F32)                       \
                            : f(__VA_ARGS__, type))

static inline size_t type_bytes(uint8_t type)
{
    return type == HEDDLE_U8                          ? 1
           : type == HEDDLE_U16                       ? 2
           : type == HEDDLE_I64 || type == HEDDLE_F64 ? 8
                                                      : 4;
}

/* ---- loads ------------------------------------------------------------ */

/* Elements that are 32 bits a lane in a vector; others are 64. */
static inline bool is_narrow(uint8_t type)
{
    return type == HEDDLE_I32 || type == HEDDLE_U8 || type == HEDDLE_U16;
}

/* Lane l of d = an element of a type. */
static inline void value_take(void *d, uint32_t l, const unsigned char *p,
                              uint8_t type)
{
    int64_t v = hd_element_get(type, p).i;

    if (is_narrow(type))
        ((int32_t *)d)[l] = (int32_t)v;
    else
        ((int64_t *)d)[l] = v;
}

static void value_clear(void *d, uint32_t lanes, uint8_t type)
{
    memset(d, 0, lanes * (is_narrow(type) ? sizeof(int32_t) : sizeof(int64_t)));
}

/* Consecutive elements of one type. */
static HD_INLINE void copy_in(void *d, const unsigned char *p, uint32_t lanes,
                              uint8_t type)
{
    for (uint32_t l = 0; l < lanes; l++)
        value_take(d, l, p + (size_t)l * type_bytes(type), type);
}

/* Lanes side by side that are read from one place: no look-up for each. */
static bool load_run(const struct act *c, void *d)
{
    uint8_t shift = c->n->shift, type = c->buf->def->type;
    uint32_t lanes = c->at->vm->lanes;
    const unsigned char *p;
    uint64_t room;

    if (c->apart || c->stride != 1 || (int64_t)c->base < 0 ||
        c->base + lanes > c->buf->def->count)
        return false;
    p = hd_buffer_read(c->buf, c->base << shift, &room);
    if (room < (uint64_t)lanes << shift)
        return false;
    BY_TYPE(type, copy_in, d, p, lanes);
    return true;
}

/* Elements lane by lane, 0 for lanes that do not run.  Few instructions a lane,
 * so that the host has the misses of many under way at once.
 * paged: the buffer has been written; else the program gives all of it. */
static HD_INLINE void load_each(const struct act *c, void *d, bool paged,
                                uint8_t type)
{
    const unsigned char *first = c->buf->first;
    const unsigned char *const *view = c->buf->view;
    const hd_va *lane = c->at->vm->lane;
    uint64_t va = c->n->m.va;

    value_clear(d, c->at->vm->lanes, type);
    for (uint64_t m = c->mask; m != 0; m &= m - 1) {
        uint32_t l = hd_bit_first(m);
        uint64_t at = lane[l].v - va;

        value_take(d, l,
                   paged ? view[at / HD_PAGE_BYTES] + at % HD_PAGE_BYTES
                         : first + at,
                   type);
    }
}

/* Loads where the program gives a part of the contents, a value, or nothing. */
static void load_scarce(const struct act *c, void *d)
{
    uint8_t type = c->buf->def->type;

    value_clear(d, c->at->vm->lanes, type);
    if (c->buf->first_bytes == 0 && c->buf->rest == NULL)
        return;
    for (uint64_t m = c->mask; m != 0; m &= m - 1) {
        uint32_t l = hd_bit_first(m);
        const unsigned char *p = hd_buffer_at(c->buf, act_offset(c, l));

        if (p != NULL)
            value_take(d, l, p, type);
    }
}

/* Into the lanes of d. */
static void load_lanes(struct act *c, void *d)
{
    const struct hd_buffer *b = c->buf;
    uint8_t type = b->def->type;
    bool paged = b->view != NULL;

    if (load_run(c, d))
        return;
    spread(c);
    if (!paged && b->first_bytes < b->def->count << c->n->shift)
        load_scarce(c, d);
    else if (paged)
        BY_TYPE(type, load_each, c, d, true);
    else
        BY_TYPE(type, load_each, c, d, false);
}

static void load_values(struct act *c)
{
    uint8_t type = c->buf->def->type;
    int64_t tmp[HD_MAX_LANES];

    if (!c->apart && c->stride == 0) {
        hd_lane_uniform(c->at, c->n->d, hd_buffer_get(c->buf, c->base).i);
    } else if (is_narrow(type)) {
        load_lanes(c, hd_lane_vector(c->at, c->n->d));
    } else if (hd_program_rtype(type) != HD_R_INT) {
        load_lanes(c, hd_lane_vector(c->at, c->n->d));
    } else {
        load_lanes(c, tmp);
        hd_lane_put(c->at, c->n->d, tmp);
    }
}

/* ---- stores ----------------------------------------------------------- */

static void act_no_memory(const struct act *c)
{
    hd_err_memory(c->at->vm->env->err);
}

/* Consecutive elements of one type. */
static HD_INLINE void copy_out(unsigned char *p, const int64_t *v, uint32_t n,
                               uint8_t type)
{
    for (uint32_t l = 0; l < n; l++)
        hd_element_set(type, p + (size_t)l * type_bytes(type),
                       (union heddle_value){.i = v[l]});
}

/* The elements of neighbouring lanes, side by side in one page: no look-up for
 * each.  False: they are not that, or there is no memory. */
static bool store_run(const struct act *c, const int64_t *v)
{
    uint8_t shift = c->n->shift, type = c->buf->def->type;
    uint32_t first = hd_bit_first(c->mask), n = hd_bit_count(c->mask);
    uint64_t run = c->mask >> first, at = act_offset(c, first);
    unsigned char *p;

    if (c->apart || c->stride != 1 || (run & (run + 1)) != 0 ||
        at % HD_PAGE_BYTES + ((uint64_t)n << shift) > HD_PAGE_BYTES)
        return false;
    p = hd_buffer_write(&c->at->vm->buf, c->buf, at);
    if (p == NULL)
        return false;
    BY_TYPE(type, copy_out, p, v + first, n);
    return true;
}

static void store_one(const struct act *c, uint32_t l, int64_t v)
{
    unsigned char *p =
        hd_buffer_write(&c->at->vm->buf, c->buf, act_offset(c, l));

    if (p == NULL)
        act_no_memory(c);
    else
        hd_element_set(c->buf->def->type, p, (union heddle_value){.i = v});
}

static void store_values(const struct act *c)
{
    struct hd_reg r = hd_lane_reg(c->at, c->n->d);
    bool one = !c->apart && c->stride == 0; /* place: the last lane's stays */
    uint64_t mask = one ? UINT64_C(1) << hd_log2(c->mask) : c->mask;
    int64_t tmp[HD_MAX_LANES];
    const int64_t *v;

    if (one && r.tag == HD_UNIFORM) {
        store_one(c, hd_log2(mask), r.base);
        return;
    }
    v = hd_lane_expand(c->at, &r, c->n->d, tmp);
    if (!store_run(c, v))
        for (; mask != 0; mask &= mask - 1)
            store_one(c, hd_bit_first(mask), v[hd_bit_first(mask)]);
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
    const struct hd_lane_at *at = c->at;
    const struct hd_ins *n = c->n;
    bool floats = hd_program_rtype(c->buf->def->type) != HD_R_INT;
    int64_t tv[HD_MAX_LANES], tc[HD_MAX_LANES], result[HD_MAX_LANES] = {0};
    struct hd_reg r = hd_lane_reg(at, n->b);
    const int64_t *v = hd_lane_expand(at, &r, n->b, tv), *cmp = v;

    if (n->kind == HD_AT_CAS) {
        r = hd_lane_reg(at, n->cmp);
        cmp = hd_lane_expand(at, &r, n->cmp, tc);
    }
    for (uint64_t m = c->mask; m != 0; m &= m - 1) {
        uint32_t l = hd_bit_first(m);
        uint64_t i = act_offset(c, l) >> n->shift;
        union heddle_value old = hd_buffer_get(c->buf, i), put = {.i = v[l]};

        result[l] = old.i;
        if (floats)
            put.f = combine_float(n->kind, old.f, put.f);
        else
            put.i = combine_int(n->kind, old.i, put.i, cmp[l]);
        if (hd_buffer_set(&at->vm->buf, c->buf, i, put) != 0) {
            act_no_memory(c);
            return;
        }
    }
    if (n->d == HD_NO_REG)
        return;
    if (floats)
        memcpy(hd_lane_vector(at, n->d), result, at->vm->lanes * 8);
    else
        hd_lane_put(at, n->d, result);
}

/* ---- the instruction -------------------------------------------------- */

/* A result that no memory gives. */
static void no_result(const struct hd_lane_at *at, const struct hd_ins *n)
{
    if (n->op != HD_I_STORE && n->d != HD_NO_REG)
        hd_lane_uniform(at, n->d, 0);
}

void hd_lane_touch(const struct hd_lane_at *at, const struct hd_ins *n)
{
    struct act c;

    if (HD_UNLIKELY(!act_begin(&c, at, n))) {
        act_outside(&c);
        if (n->op != HD_I_POKE && n->d != HD_NO_REG)
            hd_lane_uniform(at, n->d, 0);
    } else if (n->op == HD_I_PEEK) {
        load_values(&c);
    } else if (n->op == HD_I_MIX) {
        atomic_values(&c);
    } else {
        store_values(&c);
    }
}

/* Where lanes access shared memory. */
static HD_APART void shared_addresses(const struct hd_lane_at *at,
                                      const struct hd_ins *n,
                                      struct hd_access *acc)
{
    acc->lane = at->vm->lane;
    for (uint64_t m = at->w->mask; m != 0; m &= m - 1) {
        uint32_t l = hd_bit_first(m);

        at->vm->lane[l].v = lane_of(at, n->a, l);
    }
}

/* The piece of a bulk copy that next() gave. */
static HD_APART void act_bulk(const struct act *c, struct hd_access *acc)
{
    const struct hd_lane_at *at = c->at;
    const struct hd_lane_copies *k = hd_lane_copies(at->vm, at->w);
    const struct hd_lane_block *b = &at->vm->block[at->ctx];
    uint32_t lane = hd_bit_first(k->lanes);
    uint32_t number = (uint32_t)(c->n - at->k->ins);
    uint64_t from = c->n->m.va + act_offset(c, lane);
    char place[HD_PLACE];

    if (from % HD_BULK_BYTES != 0)
        hd_err_set(at->vm->env->err, HEDDLE_EPROGRAM,
                   "kernel %s, instruction %u (bulk copy%s): index %lld of "
                   "buffer %s; expected one at a multiple of 16 bytes (block "
                   "%u,%u,%u, thread %u)",
                   at->k->name, number, hd_kernel_place(at->k, number, place),
                   (long long)act_index(c, lane), c->buf->def->name, b->at[0],
                   b->at[1], b->at[2],
                   hd_lane_origin(at->vm, at->ctx, at->warp, lane) *
                           at->vm->lanes +
                       lane);
    *acc =
        (struct hd_access){.base = {from + (uint64_t)k->piece * HD_BULK_BYTES},
                           .stride = HD_BULK_BYTES};
}

HD_HOT void hd_lane_access(void *self, uint32_t ctx, uint32_t warp,
                           struct hd_access *acc)
{
    struct hd_lane_engine *vm = self;
    struct hd_lane_at at = hd_lane_find(vm, ctx, warp);
    const struct hd_ins *n = &vm->k->ins[at.w->pc - 1];
    struct act c;

    if (HD_UNLIKELY(n->op == HD_I_SHARED)) {
        shared_addresses(&at, n, acc);
        return;
    }
    if (HD_UNLIKELY(!act_begin(&c, &at, n))) {
        act_outside(&c);
        *acc = (struct hd_access){.base = c.buf->def->va};
        no_result(&at, n);
        return;
    }
    acc->lane = c.apart ? vm->lane : NULL;
    acc->base.v = c.apart ? vm->lane[0].v : n->m.va + (c.base << n->shift);
    acc->stride = c.apart ? 0 : (int64_t)(c.stride << n->shift);
    if (HD_LIKELY(n->m.bare))
        return;
    if (!n->m.real && (n->aux & HD_BULK) != 0 && n->depth >= HD_SPACE_COPY)
        act_bulk(&c, acc);
    else if (!n->m.real)
        no_result(&at, n);
    else if (n->op == HD_I_STORE)
        store_values(&c);
    else if (n->op == HD_I_ATOM)
        atomic_values(&c);
    else
        load_values(&c);
}
