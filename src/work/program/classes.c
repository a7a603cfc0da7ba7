/*
 * classes.c - where the values of a kernel's registers are stored: which of
 * them can ever need one value for each lane, and what changes when the threads
 * of a block are regrouped.
 *
 * Only registers that can need one value for each lane get memory for vectors.
 *
 * A register's class (uniform, affine in the lane, vector) is the largest that
 * any of its writers can produce, by iteration to a fixed point; the lane
 * engine never produces a larger one (hd_assert there).
 *
 * A vector in passing is one that is not read later than in the straight run
 * of free instructions that wrote it.  While such a run is executed no other
 * warp gets a turn, so that all warps share one place for it, which stays in
 * the host's caches.  Memory instructions read their operands when they issue,
 * and write their result then: these are never passing.
 *
 * Vectors are numbered by the 32-bit words that they take for each lane: ints,
 * which rarely need more than one (program/lane.c), before the floats, which
 * need two.
 *
 * With core.compact the threads of a block change warps at every construct
 * whose condition can differ within the block (program/regroup.c).  A value
 * varies if it can: whatever comes from the thread, from memory, or from a
 * variable that is set where only some threads are.  Constructs whose condition
 * does not vary are entered and left by all threads together, and no warp has
 * to wait there.  At the others, the instructions at which control goes apart
 * or comes together become MEET, of which a warp's next instruction is one that
 * waits for the others.  A register lives from its first writer to its last
 * reader, or to the end of the loops around that one which began after the
 * writer: a value is known before its readers (verify.c).  What varies and
 * lives at a MEET is a vector that stays.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "points/source.h"

/* ---- classes ---------------------------------------------------------- */

static uint8_t class_special(const struct hd_kernel *k, int64_t which)
{
    bool flat = k->block[1] == 1 && k->block[2] == 1;
    bool rows = k->block[0] % HD_MAX_LANES == 0;

    switch (which) {
    case HEDDLE_SPECIAL_TID:
    case HEDDLE_SPECIAL_GID:
    case HEDDLE_SPECIAL_LANE:
        return HD_AFFINE;
    case HEDDLE_SPECIAL_TX:
        return flat || rows ? HD_AFFINE : HD_VECTOR;
    case HEDDLE_SPECIAL_TY:
    case HEDDLE_SPECIAL_TZ:
        return flat || rows ? HD_UNIFORM : HD_VECTOR;
    }
    return HD_UNIFORM;
}

static uint8_t class_of_result(const struct hd_kernel *k,
                               const struct hd_bufdef *buf, const uint8_t *cls,
                               const struct hd_ins *n)
{
    uint8_t ca = n->a < k->nreg ? cls[n->a] : HD_UNIFORM;
    uint8_t cb = n->b < k->nreg ? cls[n->b] : HD_UNIFORM;
    uint8_t top = ca > cb ? ca : cb;

    switch (n->op) {
    case HD_I_LI:
    case HD_I_ARG:
        return HD_UNIFORM;
    case HD_I_SPEC:
        return class_special(k, n->imm);
    case HD_I_MOV:
    case HD_I_VAR:
    case HD_I_NEG:
    case HD_I_NOT:
        return ca;
    case HD_I_ADD:
    case HD_I_SUB:
        return top;
    case HD_I_MUL:
        return ca == HD_AFFINE && cb == HD_AFFINE ? HD_VECTOR : top;
    case HD_I_SHL:
        return cb == HD_UNIFORM ? ca : HD_VECTOR;
    case HD_I_LOOP: /* d = a, then d += c; b only bounds it */
        cb = n->c < k->nreg ? cls[n->c] : HD_UNIFORM;
        return ca > cb ? ca : cb;
    case HD_I_LOAD:
    case HD_I_ATOM:
        return buf[n->buf].contents ? HD_VECTOR : HD_UNIFORM;
    case HD_I_SET:
    case HD_I_SEL:
    case HD_I_BTOI:
    case HD_I_PEEK:
    case HD_I_MIX:
        return HD_VECTOR;
    }
    return top == HD_UNIFORM ? HD_UNIFORM : HD_VECTOR;
}

/* ---- vectors in passing ------------------------------------------------ */

struct passing {
    uint64_t fresh[HD_MAX_REGS / 64]; /* written in the run of instructions */
    uint64_t stay[HD_MAX_REGS / 64];  /* read later than in the run */
};

static inline void regset_add(uint64_t *set, uint16_t reg)
{
    if (reg < HD_MAX_REGS)
        set[reg >> 6] |= UINT64_C(1) << (reg & 63);
}

static inline void read_reg(struct passing *p, uint16_t reg)
{
    if (reg < HD_MAX_REGS && !(p->fresh[reg >> 6] >> (reg & 63) & 1))
        regset_add(p->stay, reg);
}

/* Whether an instruction reads a register that a value is compared with. */
static inline bool class_compares(const struct hd_ins *n)
{
    return (n->op == HD_I_ATOM || n->op == HD_I_MIX) && n->kind == HD_AT_CAS;
}

static void find_staying(const struct hd_kernel *k, struct passing *p)
{
    memset(p, 0, sizeof(*p));
    for (uint32_t at = 0; at < k->nins; at++) {
        const struct hd_ins *n = &k->ins[at];
        bool later = n->op == HD_I_LOOP || n->op == HD_I_LOAD ||
                     n->op == HD_I_STORE || n->op == HD_I_ATOM;

        if (later) {
            memset(p->fresh, 0, sizeof(p->fresh));
            regset_add(p->stay, n->d);
        }
        if (class_compares(n))
            read_reg(p, n->cmp);
        if (hd_opcode_reads(n->op, 1))
            read_reg(p, n->a);
        if (hd_opcode_reads(n->op, 2))
            read_reg(p, n->b);
        if (hd_opcode_reads(n->op, 3))
            read_reg(p, n->c);
        if (n->op == HD_I_SET || n->op == HD_I_POKE)
            read_reg(p, n->d);
        else if (hd_opcode_writes(n->op))
            regset_add(p->fresh, n->d);
        if (n->op >= HD_I_IF)
            memset(p->fresh, 0, sizeof(p->fresh));
    }
}

/* Of the vectors that are ints, or those that are floats. */
static void number_some(struct hd_kernel *k, const struct passing *p,
                        const uint8_t *cls, bool floats)
{
    for (uint32_t reg = 0; reg < k->nreg; reg++) {
        bool stays = p->stay[reg >> 6] >> (reg & 63) & 1;
        uint32_t *next = stays ? &k->nvec : &k->npass;

        if (cls[reg] != HD_VECTOR || (k->type[reg] != HD_R_INT) != floats)
            continue;
        k->vslot[reg] = (uint16_t)(*next | (stays ? 0 : HD_PASSING));
        *next += floats ? 2 : 1;
    }
}

/* stay: a bit set of registers that stay, too, or NULL. */
static void number_registers(struct hd_kernel *k, const uint8_t *cls,
                             const uint64_t *stay)
{
    struct passing p;

    find_staying(k, &p);
    for (uint32_t i = 0; stay != NULL && i < HD_LEN(p.stay); i++)
        p.stay[i] |= stay[i];
    k->nvec = k->npass = 0;
    for (uint32_t reg = 0; reg < k->nreg; reg++)
        k->vslot[reg] = HD_NO_REG;
    number_some(k, &p, cls, false);
    k->nint = k->nvec;
    k->pint = k->npass;
    number_some(k, &p, cls, true);
}

void hd_kernel_classify(struct hd_kernel *k, const struct hd_bufdef *buf,
                        uint8_t *cls, const uint64_t *stay)
{
    bool more = true;

    while (more) { /* classes only grow: at most 2 * nreg rounds */
        more = false;
        for (uint32_t at = 0; at < k->nins; at++) {
            const struct hd_ins *n = &k->ins[at];
            uint8_t c;

            if (!hd_opcode_writes(n->op) || n->d == HD_NO_REG ||
                n->op == HD_I_STORE || n->op == HD_I_POKE ||
                k->type[n->d] == HD_R_BOOL)
                continue;
            c = class_of_result(k, buf, cls, n);
            if (c > cls[n->d]) {
                cls[n->d] = c;
                more = true;
            }
        }
    }
    number_registers(k, cls, stay);
}

/* ---- blocks whose threads are regrouped -------------------------------- */

struct divider {
    struct hd_kernel *k;
    const struct hd_bufdef *buf;
    uint8_t varies[HD_MAX_REGS];
    uint8_t *apart;  /* [nins] 1: opens a construct whose condition varies */
    uint8_t *inside; /* [nins] 1: is inside such a one */
    uint8_t *meets;  /* [nins] 1: warps meet there */
    uint32_t open[HD_MAX_DEPTH], depth; /* the constructs around */
};

static bool of_thread(int64_t special)
{
    return special <= HEDDLE_SPECIAL_TZ || special == HEDDLE_SPECIAL_LANE ||
           special == HEDDLE_SPECIAL_WARP;
}

static bool varies(const struct divider *z, const struct hd_ins *n)
{
    const uint16_t reg[4] = {0, n->a, n->b, n->c};

    for (unsigned f = 1; f < 4; f++)
        if (hd_opcode_reads(n->op, f) && reg[f] < z->k->nreg &&
            z->varies[reg[f]])
            return true;
    return false;
}

static bool is_opener(uint8_t op)
{
    return op == HD_I_IF || op == HD_I_LOOP || op == HD_I_WHILE;
}

static bool op_is_end(uint8_t op)
{
    return op == HD_I_ENDIF || op == HD_I_ENDLOOP || op == HD_I_ENDWHILE;
}

/* Moves past the instruction at `at`: the constructs around the next one. */
static void go_over(struct divider *z, uint32_t at)
{
    uint8_t op = z->k->ins[at].op;

    if (is_opener(op))
        z->open[z->depth++] = at;
    else if (op_is_end(op))
        z->depth--;
}

/* Whether only some threads may be where the first `depth` constructs around
 * have been left out of account. */
static bool is_apart(const struct divider *z, uint32_t depth)
{
    for (; depth < z->depth; depth++)
        if (z->apart[z->open[depth]])
            return true;
    return false;
}

/* What the instruction at `at` writes varies. */
static bool makes_vary(const struct divider *z, const struct hd_ins *n)
{
    switch (n->op) {
    case HD_I_SPEC:
        return of_thread(n->imm);
    case HD_I_LOAD:
    case HD_I_ATOM:
    case HD_I_PEEK:
    case HD_I_MIX:
        return z->buf[n->buf].contents;
    case HD_I_LOOP: /* the bound only ends it */
        return z->varies[n->a] || (n->c < z->k->nreg && z->varies[n->c]);
    case HD_I_SET:
        return varies(z, n) || is_apart(z, n->depth);
    }
    return varies(z, n);
}

/* One pass; true if more was found to vary. */
static bool find_varying(struct divider *z)
{
    bool more = false;

    for (uint32_t at = 0; at < z->k->nins; at++) {
        const struct hd_ins *n = &z->k->ins[at];
        uint32_t opener = n->op == HD_I_TEST ? z->open[z->depth - 1] : at;

        if ((n->op == HD_I_IF || n->op == HD_I_LOOP || n->op == HD_I_TEST) &&
            !z->apart[opener] && varies(z, n))
            z->apart[opener] = more = true;
        if (hd_opcode_writes(n->op) && n->d < z->k->nreg &&
            n->op != HD_I_STORE && n->op != HD_I_POKE && !z->varies[n->d] &&
            makes_vary(z, n))
            z->varies[n->d] = more = true;
        go_over(z, at);
    }
    return more;
}

static void live_to(struct divider *z, uint16_t reg, uint32_t at)
{
    struct hd_life *l = &z->k->life[reg];

    l->last = l->last > at ? l->last : at;
    for (uint32_t d = 0; d < z->depth; d++) {
        const struct hd_ins *o = &z->k->ins[z->open[d]];
        if (o->op == HD_I_IF || z->open[d] <= l->first)
            continue;
        l->last = l->last > o->end ? l->last : o->end;
        return;
    }
}

static void live_written(struct divider *z, uint16_t reg, uint32_t at)
{
    struct hd_life *l = &z->k->life[reg];

    l->first = l->first < at ? l->first : at;
    l->written = at;
}

static void find_lives(struct divider *z)
{
    struct hd_kernel *k = z->k;

    for (uint32_t reg = 0; reg < k->nreg; reg++)
        k->life[reg] = (struct hd_life){k->nins, 0, 0};
    for (uint32_t at = 0; at < k->nins; at++) {
        const struct hd_ins *n = &k->ins[at];
        const uint16_t reg[4] = {0, n->a, n->b, n->c};
        const struct hd_ins *loop = &k->ins[n->end];

        for (unsigned f = 1; f < 4; f++)
            if (hd_opcode_reads(n->op, f) && reg[f] < k->nreg)
                live_to(z, reg[f], at);
        if (class_compares(n))
            live_to(z, n->cmp, at);
        if ((n->op == HD_I_STORE || n->op == HD_I_POKE) && n->d < k->nreg)
            live_to(z, n->d, at);
        else if (hd_opcode_writes(n->op) && n->d < k->nreg)
            live_written(z, n->d, at);
        if (n->op == HD_I_ENDLOOP) { /* steps and compares its counter */
            live_to(z, loop->b, at);
            live_to(z, loop->d, at);
            if (loop->c < k->nreg)
                live_to(z, loop->c, at);
            live_written(z, loop->d, at);
        }
        go_over(z, at);
    }
}

/* The instructions where warps meet; z->depth is 0, as behind the last one. */
static void find_meetings(struct divider *z)
{
    struct hd_ins *ins = z->k->ins;

    for (uint32_t at = 0; at < z->k->nins; at++) {
        const struct hd_ins *n = &ins[at];

        if (n->op == HD_I_TEST)
            z->meets[at] = z->apart[z->open[z->depth - 1]];
        go_over(z, at);
        if (!z->apart[at])
            continue;
        if (n->op == HD_I_WHILE) {
            ins[at].kind = 1;
            continue;
        }
        z->meets[at] = z->meets[n->end] = true;
        if (n->op == HD_I_IF)
            z->meets[n->other] = true;
    }
}

static void make_meet(struct hd_kernel *k, const uint8_t *meets)
{
    for (uint32_t at = 0; at < k->nins; at++)
        if (meets[at]) {
            k->ins[at].kind = k->ins[at].op;
            k->ins[at].op = HD_I_MEET;
        }
    k->ins[k->nins++] = (struct hd_ins){.op = HD_I_MEET, .kind = HD_I_EXIT};
}

/* Whether a register lives at one of them. */
static bool lives_at_meeting(const struct divider *z, uint32_t reg)
{
    const struct hd_life *l = &z->k->life[reg];

    for (uint32_t at = l->first + 1; at <= l->last; at++)
        if (z->meets[at])
            return true;
    return false;
}

/* The vectors of it. */
static void classify_apart(const struct divider *z)
{
    uint64_t stay[HD_MAX_REGS / 64] = {0};
    uint8_t cls[HD_MAX_REGS];
    struct hd_kernel *k = z->k;

    memset(cls, HD_UNIFORM, sizeof(cls));
    for (uint32_t reg = 0; reg < k->nreg; reg++)
        if (z->varies[reg] && k->type[reg] != HD_R_BOOL &&
            lives_at_meeting(z, reg)) {
            cls[reg] = HD_VECTOR;
            regset_add(stay, (uint16_t)reg);
        }
    for (uint32_t at = 0; at < k->nins; at++) /* threads of several warps */
        if (k->ins[at].op == HD_I_SPEC && z->inside[at] &&
            of_thread(k->ins[at].imm) && k->ins[at].imm != HEDDLE_SPECIAL_LANE)
            cls[k->ins[at].d] = HD_VECTOR;
    hd_kernel_classify(k, z->buf, cls, stay);
}

int hd_kernel_divide(struct hd_kernel *to, const struct hd_kernel *from,
                     const struct hd_bufdef *buf)
{
    struct divider *z = calloc(1, sizeof(*z));
    uint8_t *marks = calloc(3, from->nins);

    *to = *from;
    to->ins = calloc(from->nins + 1, sizeof(*to->ins));
    to->vslot = calloc(from->nreg + 1, sizeof(*to->vslot));
    to->life = calloc(from->nreg + 1, sizeof(*to->life));
    if (z == NULL || marks == NULL || to->ins == NULL || to->vslot == NULL ||
        to->life == NULL) {
        free(z);
        free(marks);
        hd_kernel_undivide(to);
        return HEDDLE_ENOMEM;
    }
    memcpy(to->ins, from->ins, from->nins * sizeof(*to->ins));
    z->k = to;
    z->buf = buf;
    z->apart = marks;
    z->inside = marks + from->nins;
    z->meets = marks + 2 * (size_t)from->nins;
    while (find_varying(z)) {
    }
    for (uint32_t at = 0; at < to->nins; go_over(z, at++))
        z->inside[at] = is_apart(z, 0);
    find_lives(z);
    find_meetings(z);
    classify_apart(z);
    make_meet(to, z->meets);
    free(marks);
    free(z);
    return 0;
}

void hd_kernel_undivide(struct hd_kernel *k)
{
    free(k->ins);
    free(k->vslot);
    free(k->life);
    *k = (struct hd_kernel){0};
}
