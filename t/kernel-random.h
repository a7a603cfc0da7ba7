/*
 * kernel-random.h - random kernel programs: every instruction, nested and
 * divergent control flow, contents, atomics and early exits.
 *
 * A program is a tree of constructs that is drawn until a budget is used up;
 * what an instruction reads is any register of its type that has a value, and
 * an index is taken modulo the buffer's length, so that all programs are right.
 * One seed draws one program, and so do the same bytes, of which each
 * decides something: what a fuzzer changes in them changes the program there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef T_KERNEL_RANDOM_H
#define T_KERNEL_RANDOM_H

#include "kasm.h"

#include "kit/rng.h"

enum { COUNT = 1024 }; /* elements of a buffer */
enum { B_I32, B_U8, B_I64, B_F32, B_F64, B_U32, B_BIG, BUFFERS };

static const uint8_t types[BUFFERS] = {HEDDLE_I32, HEDDLE_U8,  HEDDLE_I64,
                                       HEDDLE_F32, HEDDLE_F64, HEDDLE_U32,
                                       HEDDLE_F32};

struct gen {
    struct kasm *a;
    struct hd_rng rng;
    const uint8_t *bytes, *end; /* instead of rng, if there are any */
    uint16_t reg[HD_R_TYPES][256];
    int n[HD_R_TYPES];
    uint16_t var[256];
    int vars, depth, slot;
    bool apart; /* no thread reads or writes what another one writes */
};

static uint64_t drawn(struct gen *g, uint32_t bytes)
{
    uint64_t v = 0;

    if (g->bytes == NULL)
        return hd_rng_next(&g->rng);
    while (bytes-- != 0 && g->bytes != g->end)
        v = v << 8 | *g->bytes++;
    return v;
}

static uint32_t below(struct gen *g, uint32_t n)
{
    if (g->bytes == NULL)
        return hd_rng_below(&g->rng, n);
    return (uint32_t)(drawn(g, n > 256 ? 4 : 1) % n);
}

/* Nothing left to draw from. */
static bool over(const struct gen *g)
{
    return g->bytes != NULL && g->bytes == g->end;
}

static uint16_t any(struct gen *g, int type)
{
    return g->reg[type][below(g, (uint32_t)g->n[type])];
}

static uint16_t fresh(struct gen *g, int type)
{
    uint16_t r = kasm_reg(g->a, (enum hd_rtype)type);

    if (g->n[type] == 256)
        g->n[type] = 128;
    g->reg[type][g->n[type]++] = r;
    return r;
}

/* Writes a fresh register only after its operands were chosen. */
static void emit(struct gen *g, int op, int td, uint16_t a, uint16_t b,
                 int64_t imm)
{
    uint16_t d = kasm_reg(g->a, (enum hd_rtype)td);

    kasm(g->a, op, d, a, b, imm);
    if (g->n[td] == 256)
        g->n[td] = 128;
    g->reg[td][g->n[td]++] = d;
}

static int64_t number(struct gen *g)
{
    static const int64_t odd[] = {0,  1,  -1,        2,         31,
                                  63, 64, INT64_MAX, INT64_MIN, 1023};

    switch (below(g, 4)) {
    case 0:
        return odd[below(g, HD_LEN(odd))];
    case 1:
        return (int64_t)drawn(g, 8);
    default:
        return (int64_t)below(g, 64) - 16;
    }
}

static int64_t real_number(struct gen *g)
{
    static const double odd[] = {0, -0.0, 1, 0.5, -3.25, 1e30, 1e-40};
    double d =
        below(g, 2) ? odd[below(g, HD_LEN(odd))] : (double)below(g, 1000) / 7;
    int64_t b;

    memcpy(&b, &d, 8);
    return b;
}

static uint16_t index_reg(struct gen *g, uint32_t count)
{
    emit(g, HD_I_AND, HD_R_INT, any(g, HD_R_INT), NR, count - 1);
    return g->reg[HD_R_INT][g->n[HD_R_INT] - 1];
}

static void arithmetic(struct gen *g)
{
    uint32_t k = below(g, 10);
    int f = below(g, 2) ? HD_R_F32 : HD_R_F64;
    bool imm = below(g, 2) != 0;

    if (k < 5) {
        int op = HD_I_ADD + (int)below(g, HD_I_LSHR - HD_I_ADD + 1);

        emit(g, op, HD_R_INT, any(g, HD_R_INT), imm ? NR : any(g, HD_R_INT),
             imm ? number(g) : 0);
    } else if (k < 6) {
        int op = HD_I_FADD + (int)below(g, HD_I_FMAX - HD_I_FADD + 1);

        emit(g, op, f, any(g, f), imm ? NR : any(g, f),
             imm ? real_number(g) : 0);
    } else if (k < 7) {
        int op = HD_I_LT + (int)below(g, 6);

        emit(g, op, HD_R_BOOL, any(g, HD_R_INT), imm ? NR : any(g, HD_R_INT),
             imm ? number(g) : 0);
    } else if (k < 8) {
        int op = HD_I_FLT + (int)below(g, 6);

        emit(g, op, HD_R_BOOL, any(g, f), imm ? NR : any(g, f),
             imm ? real_number(g) : 0);
    } else if (k < 9) {
        static const struct {
            uint8_t op, d, a;
        } one[] = {{HD_I_NEG, 0, 0},   {HD_I_NOT, 0, 0},   {HD_I_FNEG, 1, 1},
                   {HD_I_FSQRT, 1, 1}, {HD_I_FSQRT, 2, 2}, {HD_I_ITOF, 1, 0},
                   {HD_I_ITOF, 2, 0},  {HD_I_FTOF, 1, 2},  {HD_I_FTOF, 2, 1},
                   {HD_I_FTOI, 0, 1},  {HD_I_FTOI, 0, 2},  {HD_I_BTOI, 0, 3},
                   {HD_I_BNOT, 3, 3},  {HD_I_MOV, 0, 0},   {HD_I_MOV, 1, 1}};
        uint32_t w = below(g, HD_LEN(one));

        emit(g, one[w].op, one[w].d, any(g, one[w].a), NR, 0);
    } else if (below(g, 2)) {
        emit(g, HD_I_BAND + (int)below(g, 3), HD_R_BOOL, any(g, HD_R_BOOL),
             any(g, HD_R_BOOL), 0);
    } else {
        int t = (int)below(g, HD_R_TYPES);
        uint16_t x = any(g, t), y = any(g, t), c = any(g, HD_R_BOOL);
        uint16_t d = fresh(g, t);

        kasm_full(g->a, HD_I_SEL, 0, d, x, y, c, 0, 0, 0);
    }
}

static int value_type(uint32_t buf)
{
    return hd_program_rtype(types[buf]);
}

static void memory(struct gen *g)
{
    uint32_t buf = below(g, BUFFERS), what = below(g, 3);
    int t = value_type(buf);
    uint16_t i, v;

    if (buf == B_BIG) { /* no contents: any address, sum of two registers */
        uint16_t x = index_reg(g, 1u << 20), y = index_reg(g, 1u << 19);

        if (below(g, 2))
            kasm_mem(g->a, HD_I_LOAD, g->slot++ & 31, NR, x, y, buf, 0,
                     below(g, 1 << 18));
        else
            kasm_mem(g->a, HD_I_STORE, 0, any(g, t), x, NR, buf, 0, 0);
        return;
    }
    i = index_reg(g, COUNT / 2);
    if (what == 0) {
        kasm_mem(g->a, HD_I_LOAD, g->slot++ & 31, fresh(g, t), i, NR, buf, 0,
                 below(g, COUNT / 2));
    } else if (what == 1) {
        kasm_mem(g->a, HD_I_STORE, 0, any(g, t), i, NR, buf, 0, 0);
    } else {
        uint64_t op = below(g, HD_AT_COUNT);
        uint64_t cmp = any(g, t);
        uint16_t d;

        if (t != HD_R_INT && op > HD_AT_MAX)
            op = HD_AT_EXCH;
        v = any(g, t);
        d = below(g, 2) ? fresh(g, t) : NR;
        kasm_full(g->a, HD_I_ATOM, d == NR ? 32 : g->slot++ & 31, d, i, v, NR,
                  buf, 0, (int64_t)(op << 32 | cmp << 48 | below(g, 100)));
    }
}

/* Without races: what is read is written by nobody else, and the sums of
 * atomics by nobody used. */
static void memory_apart(struct gen *g)
{
    static const uint32_t own[] = {B_I64, B_F32, B_F64};
    uint32_t buf = own[below(g, HD_LEN(own))];
    uint16_t gid = g->reg[HD_R_INT][1], i;
    int t = value_type(buf);

    switch (below(g, 4)) {
    case 0:
        i = index_reg(g, COUNT);
        kasm_mem(g->a, HD_I_LOAD, g->slot++ & 31, fresh(g, HD_R_INT), i, NR,
                 below(g, 2) ? B_I32 : B_U8, 0, 0);
        break;
    case 1:
        kasm_mem(g->a, HD_I_STORE, 0, any(g, t), gid, NR, buf, 0, 0);
        break;
    case 2:
        kasm_mem(g->a, HD_I_LOAD, g->slot++ & 31, fresh(g, t), gid, NR, buf, 0,
                 0);
        break;
    default:
        i = index_reg(g, COUNT);
        kasm_full(g->a, HD_I_ATOM, 32, NR, i, any(g, HD_R_INT), NR, B_U32, 0,
                  0);
    }
}

static void body(struct gen *g, int budget);

/* The integer register written last. */
static uint16_t newest(struct gen *g)
{
    return g->reg[HD_R_INT][g->n[HD_R_INT] - 1];
}

static void branch(struct gen *g, const int n[HD_R_TYPES], int vars)
{
    kasm(g->a, HD_I_IF, NR, any(g, HD_R_BOOL), NR, 0);
    body(g, 6);
    if (below(g, 2)) {
        memcpy(g->n, n, sizeof g->n);
        g->vars = vars;
        kasm(g->a, HD_I_ELSE, NR, NR, NR, 0);
        body(g, 6);
    }
    kasm(g->a, HD_I_ENDIF, NR, NR, NR, 0);
}

/* From x mod 8 to y mod 16; sometimes uniform, or downwards. */
static void counted_loop(struct gen *g)
{
    uint16_t a, b, c, d;

    emit(g, HD_I_AND, HD_R_INT, any(g, HD_R_INT), NR, 7);
    a = newest(g);
    if (below(g, 2))
        emit(g, HD_I_ADD, HD_R_INT, a, NR, below(g, 6));
    else
        emit(g, HD_I_AND, HD_R_INT, any(g, HD_R_INT), NR, 15);
    b = newest(g);
    d = kasm_reg(g->a, HD_R_INT);
    if (below(g, 4) == 0) {
        kasm_full(g->a, HD_I_LOOP, 1, d, b, a, NR, 0, 0, -2);
    } else if (below(g, 3) == 0) {
        emit(g, HD_I_AND, HD_R_INT, any(g, HD_R_INT), NR, 3);
        emit(g, HD_I_ADD, HD_R_INT, newest(g), NR, 1);
        c = newest(g);
        kasm_full(g->a, HD_I_LOOP, 0, d, a, b, c, 0, 0, 0);
    } else {
        kasm_full(g->a, HD_I_LOOP, 0, d, a, b, NR, 0, 0,
                  1 + (int64_t)below(g, 2));
    }
    g->reg[HD_R_INT][g->n[HD_R_INT]++] = d;
    body(g, 5);
    kasm(g->a, HD_I_ENDLOOP, NR, NR, NR, 0);
}

/* while (v > 0) { body; v-- } */
static void while_loop(struct gen *g)
{
    uint16_t a, c, d, next;

    emit(g, HD_I_AND, HD_R_INT, any(g, HD_R_INT), NR, 3);
    a = newest(g);
    d = kasm_reg(g->a, HD_R_INT);
    kasm(g->a, HD_I_VAR, d, a, NR, 0);
    kasm(g->a, HD_I_WHILE, NR, NR, NR, 0);
    c = kasm_reg(g->a, HD_R_BOOL);
    kasm(g->a, HD_I_GT, c, d, NR, 0);
    if (below(g, 3) == 0)
        (g->apart ? memory_apart : memory)(g);
    kasm(g->a, HD_I_TEST, NR, c, NR, 0);
    next = kasm_reg(g->a, HD_R_INT);
    kasm(g->a, HD_I_SUB, next, d, NR, 1);
    kasm(g->a, HD_I_SET, d, next, NR, 0);
    g->reg[HD_R_INT][g->n[HD_R_INT]++] = d;
    body(g, 5);
    kasm(g->a, HD_I_ENDWHILE, NR, NR, NR, 0);
}

static void construct(struct gen *g)
{
    int n[HD_R_TYPES], vars = g->vars;

    memcpy(n, g->n, sizeof(n));
    g->depth++;
    switch (below(g, 3)) {
    case 0:
        branch(g, n, vars);
        break;
    case 1:
        counted_loop(g);
        break;
    default:
        while_loop(g);
    }
    g->depth--;
    memcpy(g->n, n, sizeof(n));
    g->vars = vars;
}

static void variable(struct gen *g)
{
    if (g->vars == 0 || below(g, 4) == 0) {
        int t = (int)below(g, HD_R_TYPES);
        uint16_t a = any(g, t), d = fresh(g, t);

        kasm(g->a, HD_I_VAR, d, a, NR, 0);
        if (g->vars < 256)
            g->var[g->vars++] = d;
    } else {
        uint16_t v = g->var[below(g, (uint32_t)g->vars)];

        kasm(g->a, HD_I_SET, v, any(g, g->a->type[v]), NR, 0);
    }
}

static void body(struct gen *g, int budget)
{
    for (int i = 0; i < budget && g->a->nreg < 900 && !over(g); i++) {
        uint32_t k = below(g, 20);

        if (k == 8 && g->apart)
            kasm(g->a, HD_I_SPEC, fresh(g, HD_R_INT), NR, NR,
                 below(g, HD_SPECIALS));
        else if (k < 9)
            arithmetic(g);
        else if (k < 12)
            (g->apart ? memory_apart : memory)(g);
        else if (k < 14)
            variable(g);
        else if (k < 15)
            kasm_alu(g->a, below(g, 4), below(g, 2) ? ~0u : 0);
        else if (k < 16 && below(g, 6) == 0)
            kasm(g->a, HD_I_EXITIF, NR, any(g, HD_R_BOOL), NR, 0);
        else if (k < 17 && g->depth == 0)
            kasm(g->a, HD_I_BAR, NR, NR, NR, 0);
        else if (g->depth < (g->bytes != NULL ? 2 : 4))
            construct(g);
    }
}

/* From n bytes, or from a seed where there are none; apart: without races. */
static void generate(struct kasm *a, uint64_t seed, const uint8_t *bytes,
                     size_t n, bool apart)
{
    static const uint32_t shapes[][3] = {{96, 1, 1}, {64, 2, 1}, {16, 8, 1},
                                         {13, 5, 1}, {8, 4, 3},  {1, 1, 1}};
    struct gen g = {.a = a, .rng = hd_rng_make(seed, 403), .apart = apart};
    const uint32_t *s;

    if (bytes != NULL) {
        g.bytes = bytes;
        g.end = bytes + n;
    }
    s = shapes[below(&g, HD_LEN(shapes))];
    kasm_begin(a, "random", 3, s[0] + (apart && s[0] == 96 ? 64 : 0), s[1],
               s[2]);
    a->grid[1] = apart ? 1 : 2;
    for (int k = 0; k < 6; k++)
        kasm(a, HD_I_SPEC, fresh(&g, HD_R_INT), NR, NR,
             k < 5 ? (int64_t)k : (int64_t)below(&g, HD_SPECIALS));
    kasm(a, HD_I_LI, fresh(&g, HD_R_INT), NR, NR, number(&g));
    kasm(a, HD_I_LI, fresh(&g, HD_R_F32), NR, NR, real_number(&g));
    kasm(a, HD_I_LI, fresh(&g, HD_R_F64), NR, NR, real_number(&g));
    kasm(a, HD_I_LI, fresh(&g, HD_R_BOOL), NR, NR, below(&g, 2));
    body(&g, 30);
    kasm(a, HD_I_EXIT, NR, NR, NR, 0);
}

#endif
