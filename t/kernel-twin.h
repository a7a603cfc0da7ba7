/*
 * kernel-twin.h - an interpreter of kernel bytecode that runs lane by lane,
 * and the list of what a warp does: memory instructions, barriers, its end.
 *
 * twin_program() runs one on both and compares: masks, addresses, the number of
 * ALU instructions and threads between memory instructions, contents.
 *
 * It works on the same bytecode as the lane engine but finds the ends of
 * constructs by itself, keeps one value a lane, never looks at tags, and
 * recurses where the engine has a stack of frames.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef T_KERNEL_TWIN_H
#define T_KERNEL_TWIN_H

#include <math.h>

#include "kernel-random.h"

#include "kit/bits.h"
#include "program/lane.h"

enum { EVENTS = 1 << 16 }; /* of a warp, at most */

struct event {
    uint64_t kind, mask, alu, threads; /* ALU before it */
    uint64_t addr[64];
};

struct log {
    int n;
    uint64_t alu, threads;
    struct event *v;
};

struct twin {
    const struct heddle_program *p;
    const struct hd_kernel *k;
    uint32_t lanes, warp, block, grid[3];
    uint64_t gone;
    int64_t reg[HD_MAX_REGS][64];
    unsigned char *mem[BUFFERS];
    struct log log;
};

static void log_event(struct log *l, uint64_t kind, uint64_t mask,
                      const uint64_t *addr)
{
    struct event *e = &l->v[l->n];

    if (l->n < EVENTS - 1) /* what is more is not compared */
        l->n++;
    memset(e, 0, sizeof(*e));
    e->kind = kind;
    e->mask = mask;
    e->alu = l->alu;
    e->threads = l->threads;
    l->alu = l->threads = 0;
    for (int i = 0; addr != NULL && i < 64; i++)
        e->addr[i] = mask >> i & 1 ? addr[i] : 0;
}

static int64_t twin_special(struct twin *t, int64_t which, uint32_t lane)
{
    const uint32_t *b = t->k->block, *g = t->grid;
    int64_t tid = t->warp * t->lanes + lane;
    int64_t v[HD_SPECIALS] = {tid,
                             (int64_t)t->block * t->k->threads + tid,
                             tid % b[0],
                             tid / b[0] % b[1],
                             tid / (b[0] * b[1]),
                             t->block % g[0],
                             t->block / g[0] % g[1],
                             t->block / (g[0] * g[1]),
                             t->block,
                             g[0],
                             g[1],
                             g[2],
                             lane,
                             t->warp,
                             t->lanes};

    return v[which];
}

static double dbl(int64_t b)
{
    double d;

    memcpy(&d, &b, 8);
    return d;
}

static int64_t bits(double d)
{
    int64_t b;

    if (d != d)
        return INT64_C(0x7ff8000000000000);
    memcpy(&b, &d, 8);
    return b;
}

static int64_t twin_int(int op, int64_t a, int64_t b)
{
    unsigned s = (unsigned)(b & 63);
    __int128 q;

    switch (op) {
    case HD_I_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case HD_I_SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case HD_I_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case HD_I_DIV:
    case HD_I_MOD:
        if (b == 0)
            return 0;
        q = (__int128)a / b;
        if (q * b != a && (a < 0) != (b < 0))
            q--;
        return (int64_t)(op == HD_I_DIV ? q : a - q * b);
    case HD_I_MIN:
        return a < b ? a : b;
    case HD_I_MAX:
        return a > b ? a : b;
    case HD_I_AND:
        return a & b;
    case HD_I_OR:
        return a | b;
    case HD_I_XOR:
        return a ^ b;
    case HD_I_SHL:
        return (int64_t)((uint64_t)a << s);
    case HD_I_SHR:
        return (int64_t)(((__int128)a) >> s);
    default:
        return (int64_t)((uint64_t)a >> s);
    }
}

static double twin_float(int op, double a, double b)
{
    switch (op) {
    case HD_I_FADD:
        return a + b;
    case HD_I_FSUB:
        return a - b;
    case HD_I_FMUL:
        return a * b;
    case HD_I_FDIV:
        return a / b;
    case HD_I_FMIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

/* f32 arithmetic in single precision, as the machine would do it. */
static double twin_single(int op, double x, double y)
{
    float a = (float)x, b = (float)y;

    switch (op) {
    case HD_I_FADD:
        return (double)(a + b);
    case HD_I_FSUB:
        return (double)(a - b);
    case HD_I_FMUL:
        return (double)(a * b);
    case HD_I_FDIV:
        return (double)(a / b);
    case HD_I_FMIN:
        return (double)(a < b ? a : b);
    default:
        return (double)(a > b ? a : b);
    }
}

static int64_t twin_unary(const struct hd_ins *n, int64_t a, int type)
{
    double f = dbl(a);

    switch (n->op) {
    case HD_I_NEG:
        return (int64_t)(0 - (uint64_t)a);
    case HD_I_NOT:
        return ~a;
    case HD_I_FNEG: {
        uint64_t sign = (uint64_t)a ^ UINT64_C(1) << 63;
        return (int64_t)sign;
    }
    case HD_I_FSQRT:
        return bits(type == HD_R_F32 ? (double)sqrtf((float)f) : sqrt(f));
    case HD_I_ITOF:
        return bits(type == HD_R_F32 ? (double)(float)(double)a : (double)a);
    case HD_I_FTOF:
        f = type == HD_R_F32 ? (double)(float)f : f;
        memcpy(&a, &f, 8);
        return a;
    case HD_I_FTOI:
        return f > -9.3e18 && f < 9.3e18 && fabs(f) < 9223372036854775808.0
                   ? (int64_t)f
               : f == -9223372036854775808.0 ? INT64_MIN
                                             : 0;
    case HD_I_BTOI:
        return a & 1;
    default: /* MOV, VAR, SET */
        return a;
    }
}

static int64_t twin_compare(int op, int64_t a, int64_t b)
{
    switch (op) {
    case HD_I_LT:
        return a < b;
    case HD_I_LE:
        return a <= b;
    case HD_I_GT:
        return a > b;
    case HD_I_GE:
        return a >= b;
    case HD_I_EQ:
        return a == b;
    case HD_I_NE:
        return a != b;
    case HD_I_FLT:
        return dbl(a) < dbl(b);
    case HD_I_FLE:
        return dbl(a) <= dbl(b);
    case HD_I_FGT:
        return dbl(a) > dbl(b);
    case HD_I_FGE:
        return dbl(a) >= dbl(b);
    case HD_I_FEQ:
        return dbl(a) == dbl(b);
    default:
        return dbl(a) != dbl(b);
    }
}

static void twin_compute(struct twin *t, const struct hd_ins *n, uint32_t l)
{
    int64_t a = n->a < t->k->nreg ? t->reg[n->a][l] : 0;
    int64_t b = n->b < t->k->nreg ? t->reg[n->b][l] : n->imm;
    int64_t *d = &t->reg[n->d][l];
    int type = t->k->type[n->d];

    if (n->op == HD_I_LI)
        *d = type == HD_R_BOOL ? n->imm != 0 : n->imm;
    else if (n->op == HD_I_SPEC)
        *d = twin_special(t, n->imm, l);
    else if (n->op >= HD_I_ADD && n->op <= HD_I_LSHR)
        *d = twin_int(n->op, a, b);
    else if (n->op >= HD_I_FADD && n->op <= HD_I_FMAX)
        *d = bits(type == HD_R_F32 ? twin_single(n->op, dbl(a), dbl(b))
                                   : twin_float(n->op, dbl(a), dbl(b)));
    else if (n->op >= HD_I_LT && n->op <= HD_I_FNE)
        *d = twin_compare(n->op, a, b);
    else if (n->op == HD_I_BAND)
        *d = a & b;
    else if (n->op == HD_I_BOR)
        *d = a | b;
    else if (n->op == HD_I_BXOR)
        *d = a ^ b;
    else if (n->op == HD_I_BNOT)
        *d = !a;
    else if (n->op == HD_I_SEL)
        *d = t->reg[n->c][l] ? a : b;
    else
        *d = twin_unary(n, a, type);
}

static int64_t twin_combine(const struct hd_ins *n, int t, int64_t old,
                            int64_t v, int64_t cmp)
{
    bool f = t != HD_R_INT;

    switch (n->kind) {
    case HD_AT_ADD:
        return f ? bits(dbl(old) + dbl(v))
                 : (int64_t)((uint64_t)old + (uint64_t)v);
    case HD_AT_MIN:
        return f ? (dbl(old) < dbl(v) ? old : v) : old < v ? old : v;
    case HD_AT_MAX:
        return f ? (dbl(old) > dbl(v) ? old : v) : old > v ? old : v;
    case HD_AT_AND:
        return old & v;
    case HD_AT_OR:
        return old | v;
    case HD_AT_XOR:
        return old ^ v;
    case HD_AT_EXCH:
        return v;
    default:
        return old == cmp ? v : old;
    }
}

static void twin_memory(struct twin *t, const struct hd_ins *n, uint64_t mask)
{
    const struct hd_bufdef *b = &t->p->buf[n->buf];
    uint32_t width = 1u << b->shift;
    uint64_t addr[64];

    for (uint32_t l = 0; l < t->lanes; l++) {
        int64_t i = n->imm;
        unsigned char *p;
        union heddle_value v, old;

        if (!(mask >> l & 1))
            continue;
        i += n->a != NR ? t->reg[n->a][l] : 0;
        i += n->op != HD_I_ATOM && n->b != NR ? t->reg[n->b][l] : 0;
        assert_in_range(i, 0, b->count - 1);
        addr[l] = b->va.v + (uint64_t)i * width;
        if (!b->contents) {
            if (n->op != HD_I_STORE && n->d != NR)
                t->reg[n->d][l] = 0;
            continue;
        }
        p = t->mem[n->buf] + i * width;
        old = hd_element_get(b->type, p);
        if (n->op == HD_I_STORE) {
            v.i = t->reg[n->d][l];
            hd_element_set(b->type, p, v);
            continue;
        }
        if (n->op == HD_I_ATOM) {
            v.i = twin_combine(n, value_type(n->buf), old.i, t->reg[n->b][l],
                               n->kind == HD_AT_CAS ? t->reg[n->cmp][l] : 0);
            hd_element_set(b->type, p, v);
        }
        if (n->d != NR)
            t->reg[n->d][l] = old.i;
    }
    log_event(&t->log,
              n->op == HD_I_LOAD    ? HEDDLE_OP_LOAD
              : n->op == HD_I_STORE ? HEDDLE_OP_STORE
                                    : HEDDLE_OP_ATOMIC,
              mask, addr);
}

/* The place of the ELSE or END that belongs to the opener at pc. */
static uint32_t match(const struct hd_kernel *k, uint32_t pc, bool stop_at_else)
{
    int depth = 0;

    for (uint32_t at = pc + 1;; at++) {
        uint8_t op = k->ins[at].op;

        if (op == HD_I_IF || op == HD_I_LOOP || op == HD_I_WHILE)
            depth++;
        else if (op == HD_I_ELSE && depth == 0 && stop_at_else)
            return at;
        else if (op == HD_I_ENDIF || op == HD_I_ENDLOOP || op == HD_I_ENDWHILE)
            if (depth-- == 0)
                return at;
    }
}

static uint64_t where(struct twin *t, uint16_t reg, uint64_t mask)
{
    uint64_t m = 0;

    for (uint32_t l = 0; l < t->lanes; l++)
        if (mask >> l & 1 && t->reg[reg][l])
            m |= UINT64_C(1) << l;
    return m;
}

static uint64_t twin_run(struct twin *t, uint32_t from, uint32_t to,
                         uint64_t mask);

static void twin_loop(struct twin *t, uint32_t pc, uint32_t end, uint64_t mask)
{
    const struct hd_ins *n = &t->k->ins[pc];

    for (uint32_t l = 0; l < t->lanes; l++)
        if (mask >> l & 1)
            t->reg[n->d][l] = t->reg[n->a][l];
    for (;;) {
        for (uint32_t l = 0; l < t->lanes; l++)
            if (n->aux ? t->reg[n->d][l] <= t->reg[n->b][l]
                       : t->reg[n->d][l] >= t->reg[n->b][l])
                mask &= ~(UINT64_C(1) << l);
        mask &= ~t->gone;
        if (mask == 0)
            return;
        twin_run(t, pc + 1, end, mask);
        for (uint32_t l = 0; l < t->lanes; l++)
            if (mask >> l & 1)
                t->reg[n->d][l] += n->c != NR ? t->reg[n->c][l] : n->imm;
    }
}

/* Runs [from, to) for the lanes of mask; returns the lanes left at a TEST. */
static uint64_t twin_run(struct twin *t, uint32_t from, uint32_t to,
                         uint64_t mask)
{
    for (uint32_t pc = from; pc < to; pc++) {
        const struct hd_ins *n = &t->k->ins[pc];
        uint32_t end, other;
        uint64_t m;

        mask &= ~t->gone;
        if (mask == 0)
            return 0;
        switch (n->op) {
        case HD_I_IF:
            end = match(t->k, pc, false);
            other = match(t->k, pc, true);
            m = where(t, n->a, mask);
            twin_run(t, pc + 1, other, m);
            if (other != end)
                twin_run(t, other + 1, end, mask & ~m);
            pc = end;
            break;
        case HD_I_LOOP:
            end = match(t->k, pc, false);
            twin_loop(t, pc, end, mask);
            pc = end;
            break;
        case HD_I_WHILE:
            end = match(t->k, pc, false);
            for (m = mask; m != 0;)
                m = twin_run(t, pc + 1, end, m);
            pc = end;
            break;
        case HD_I_TEST:
            mask = where(t, n->a, mask);
            break;
        case HD_I_EXITIF:
            t->gone |= where(t, n->a, mask);
            break;
        case HD_I_ALU:
            t->log.alu += (uint64_t)n->imm;
            t->log.threads += (uint64_t)n->imm * hd_bit_count(mask);
            break;
        case HD_I_BAR:
            log_event(&t->log, HEDDLE_OP_BARRIER, mask, NULL);
            break;
        case HD_I_LOAD:
        case HD_I_STORE:
        case HD_I_ATOM:
            twin_memory(t, n, mask);
            break;
        default:
            for (uint32_t l = 0; l < t->lanes; l++)
                if (mask >> l & 1)
                    twin_compute(t, n, l);
        }
    }
    return mask & ~t->gone;
}

static void twin_warp(struct twin *t, uint64_t all)
{
    t->gone = 0;
    t->log.n = 0;
    t->log.alu = t->log.threads = 0;
    twin_run(t, 0, t->k->nins - 1, all);
    log_event(&t->log, HEDDLE_OP_EXIT, all, NULL);
}

static void twin_open(struct twin *t, const heddle_program *p, uint32_t lanes)
{
    t->p = p;
    t->k = &p->kernel[0];
    t->lanes = lanes;
    memcpy(t->grid, t->k->grid, sizeof(t->grid));
    memset(t->reg, 0, sizeof(t->reg));
    for (uint32_t b = 0; b < BUFFERS; b++) {
        const struct hd_bufdef *f = &p->buf[b];

        t->mem[b] = NULL;
        if (!f->contents)
            continue;
        t->mem[b] = calloc(f->count, 8);
        memcpy(t->mem[b], f->data->mem, f->data->count << f->shift);
    }
}

/* ---- the engine ------------------------------------------------------- */

/* Other warps have their turn: what was in passing is gone. */
static void others(struct krig *r)
{
    struct hd_lane_engine *vm = r->self;

    memset(vm->passing, 0x5a,
           (vm->k->npass + vm->k->pint) * vm->lanes * sizeof(*vm->passing));
}

/* What the engine had to do with, summed over all programs. */
static struct {
    uint64_t passing, narrow, wide; /* vectors */
} twin_seen;

static void see(struct krig *r, uint32_t ctx, uint32_t warp)
{
    struct hd_lane_at at = hd_lane_find(r->self, ctx, warp);

    for (uint32_t reg = 0; reg < at.k->nreg; reg++) {
        twin_seen.narrow +=
            at.k->type[reg] == HD_R_INT && at.w->tag[reg] == HD_VECTOR;
        twin_seen.wide += at.w->tag[reg] == HD_WIDE;
    }
}

static void engine_warp(struct krig *r, uint32_t ctx, uint32_t warp,
                        struct log *log)
{
    struct hd_op op;
    struct hd_access acc;
    uint64_t addr[64];

    log->n = 0;
    log->alu = log->threads = 0;
    do {
        others(r);
        r->ops->next(r->self, ctx, warp, &op);
        if (op.kind == HEDDLE_OP_ALU) {
            assert_true(op.count > 0);
            log->alu += op.count;
            log->threads += (uint64_t)op.count * hd_bit_count(op.mask);
            continue;
        }
        if (op.kind == HEDDLE_OP_BARRIER || op.kind == HEDDLE_OP_EXIT) {
            log_event(log, op.kind, op.mask, NULL);
            continue;
        }
        assert_true(op.mask != 0);
        others(r);
        r->ops->access(r->self, ctx, warp, &acc);
        for (uint32_t l = 0; l < 64; l++)
            addr[l] = !(op.mask >> l & 1) ? 0
                      : acc.lane != NULL
                          ? acc.lane[l].v
                          : acc.base.v + (uint64_t)acc.stride * l;
        log_event(log, op.kind, op.mask, addr);
    } while (op.kind != HEDDLE_OP_EXIT && r->err.code == 0);
    see(r, ctx, warp);
}

static void compare_logs(const struct log *a, const struct log *b,
                         uint64_t seed, uint32_t block, uint32_t warp)
{
    int n = a->n < b->n ? a->n : b->n;

    for (int i = 0; i < n; i++)
        if (memcmp(&a->v[i], &b->v[i], sizeof(a->v[i])) != 0)
            fail_msg("seed %llu, block %u, warp %u, event %d: engine kind "
                     "%llu mask %llx alu %llu, twin kind %llu mask %llx alu "
                     "%llu",
                     (unsigned long long)seed, block, warp, i,
                     (unsigned long long)a->v[i].kind,
                     (unsigned long long)a->v[i].mask,
                     (unsigned long long)a->v[i].alu,
                     (unsigned long long)b->v[i].kind,
                     (unsigned long long)b->v[i].mask,
                     (unsigned long long)b->v[i].alu);
    if (a->n != b->n)
        fail_msg("seed %llu, block %u, warp %u: %d events, twin %d",
                 (unsigned long long)seed, block, warp, a->n, b->n);
}

/* ---- one program ------------------------------------------------------ */

/* The buffers that the programs of kernel-random.h work on. */
static heddle_program *twin_buffers(uint64_t seed)
{
    heddle_program *p = heddle_program_new("random");

    for (uint32_t b = 0; b < BUFFERS; b++) {
        uint64_t n = b == B_BIG ? 1u << 21 : COUNT, given = n - seed % 2 * 100;
        heddle_data *d = NULL;

        if (b != B_BIG) {
            struct hd_rng rng = hd_rng_make(seed, b);

            d = heddle_data_new((enum heddle_type)types[b], given);
            for (uint64_t i = 0; i < given; i++) {
                union heddle_value v = {.i = (int64_t)hd_rng_next(&rng) >>
                                             (i % 60)};

                if (value_type(b) != HD_R_INT)
                    v.f = (double)(v.i >> 40) / 8;
                hd_element_set(
                    types[b],
                    (unsigned char *)d->mem +
                        i * heddle_type_bytes((enum heddle_type)types[b]),
                    v);
            }
        }
        assert_int_equal(
            heddle_program_buffer(p, "b", (enum heddle_type)types[b], n, 0, d),
            b);
        heddle_data_free(d);
    }
    return p;
}

/* The contents that the engine has, through the host's view. */
static void compare_contents(struct krig *r, struct twin *t, uint64_t seed)
{
    struct hd_lane_engine *vm = r->self;

    for (uint32_t b = 0; b < BUFFERS; b++) {
        const struct hd_bufdef *f = &t->p->buf[b];

        for (uint64_t i = 0; f->contents && i < f->count; i++) {
            union heddle_value v = hd_buffer_get(&vm->buf.v[b], i);
            union heddle_value w =
                hd_element_get(f->type, t->mem[b] + (i << f->shift));

            if (v.i != w.i)
                fail_msg("seed %llu: buffer %u[%llu] is %llx, twin %llx",
                         (unsigned long long)seed, b, (unsigned long long)i,
                         (unsigned long long)v.i, (unsigned long long)w.i);
        }
        free(t->mem[b]);
    }
}

/* Runs the program of a seed, or of given bytes, on both; returns how many
 * events its warps had. */
static inline int twin_program(struct kasm *a, struct twin *t, struct log *log,
                               uint64_t seed, uint32_t lanes,
                               const uint8_t *bytes, size_t n)
{
    heddle_program *p = twin_buffers(seed);
    struct krig r;
    struct hd_launch l;
    int events = 0;

    generate(a, seed, bytes, n, false);
    if (kasm_add(a, p) < 0)
        fail_msg("seed %llu: %s", (unsigned long long)seed,
                 heddle_program_error(p)->text);
    heddle_program_launch(p, &(struct heddle_launch){0});
    twin_seen.passing += p->kernel[0].npass;
    twin_open(t, p, lanes);
    assert_int_equal(krig_open(&r, heddle_program_workload(p), lanes, 64), 0);
    assert_int_equal(r.ops->launch(r.self, &l), 1);
    assert_int_equal(l.warps, (t->k->threads + lanes - 1) / lanes);
    for (uint32_t b = 0; b < l.blocks; b++) {
        uint32_t ctx;

        assert_int_equal(r.ops->block_start(r.self, b, &ctx), 0);
        for (uint32_t w = 0; w < l.warps; w++) {
            uint32_t left = t->k->threads - w * lanes;

            t->block = b;
            t->warp = w;
            engine_warp(&r, ctx, w, log);
            if (r.err.code != 0)
                fail_msg("seed %llu: %s", (unsigned long long)seed, r.err.text);
            twin_warp(t, hd_ones(left < lanes ? left : lanes));
            compare_logs(log, &t->log, seed, b, w);
            events += log->n;
        }
        r.ops->block_end(r.self, ctx);
    }
    compare_contents(&r, t, seed);
    krig_close(&r);
    heddle_program_free(p);
    return events;
}

#endif
