/*
 * classes.c - which registers of a verified kernel can ever need one value for
 * each lane: only these get memory for vectors.
 *
 * A register's class (uniform, affine in the lane, vector) is the largest that
 * any of its writers can produce, by iteration to a fixed point; the lane
 * engine never produces a larger one (hd_assert there).
 *
 * A vector in passing is one that nobody reads later than in the straight run
 * of free instructions that wrote it.  While such a run is executed no other
 * warp gets a turn, so that all warps share one place for it, which stays in
 * the host's caches.  Memory instructions read their operands when they issue,
 * and write their result then: these are never passing.
 *
 * Vectors are numbered by the 32-bit words that they take for each lane: ints,
 * which rarely need more than one (gpu/kernel-lane.c), before the floats, which
 * need two.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "program.h"

static uint8_t class_special(const struct hd_kernel *k, int64_t which)
{
    bool flat = k->block[1] == 1 && k->block[2] == 1;
    bool rows = k->block[0] % HD_MAX_LANES == 0;

    switch (which) {
    case HD_S_TID:
    case HD_S_GID:
    case HD_S_LANE:
        return HD_AFFINE;
    case HD_S_TX:
        return flat || rows ? HD_AFFINE : HD_VECTOR;
    case HD_S_TY:
    case HD_S_TZ:
        return flat || rows ? HD_UNIFORM : HD_VECTOR;
    }
    return HD_UNIFORM;
}

static uint8_t class_of(const struct hd_kernel *k, const struct hd_bufdef *buf,
                        const uint8_t *cls, const struct hd_ins *n)
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
        return HD_VECTOR;
    }
    return top == HD_UNIFORM ? HD_UNIFORM : HD_VECTOR;
}

/* ---- vectors in passing ------------------------------------------------ */

struct passing {
    uint64_t fresh[HD_MAX_REGS / 64]; /* written in the run of instructions */
    uint64_t stay[HD_MAX_REGS / 64];  /* read later than in the run */
};

static inline void add(uint64_t *set, uint16_t reg)
{
    if (reg < HD_MAX_REGS)
        set[reg >> 6] |= UINT64_C(1) << (reg & 63);
}

static inline void read_reg(struct passing *p, uint16_t reg)
{
    if (reg < HD_MAX_REGS && !(p->fresh[reg >> 6] >> (reg & 63) & 1))
        add(p->stay, reg);
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
            add(p->stay, n->d);
            if (n->op == HD_I_ATOM && n->kind == HD_AT_CAS)
                add(p->stay, n->cmp);
        }
        if (hd_opcode_reads(n->op, 1))
            read_reg(p, n->a);
        if (hd_opcode_reads(n->op, 2))
            read_reg(p, n->b);
        if (hd_opcode_reads(n->op, 3))
            read_reg(p, n->c);
        if (n->op == HD_I_SET || n->op == HD_I_POKE)
            read_reg(p, n->d);
        else if (hd_opcode_writes(n->op))
            add(p->fresh, n->d);
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

static void number(struct hd_kernel *k, const uint8_t *cls)
{
    struct passing p;

    find_staying(k, &p);
    for (uint32_t reg = 0; reg < k->nreg; reg++)
        k->vslot[reg] = HD_NO_REG;
    number_some(k, &p, cls, false);
    k->nint = k->nvec;
    k->pint = k->npass;
    number_some(k, &p, cls, true);
}

void hd_classify(struct hd_kernel *k, const struct hd_bufdef *buf, uint8_t *cls)
{
    bool more = true;

    memset(cls, HD_UNIFORM, k->nreg);
    while (more) { /* classes only grow: at most 2 * nreg rounds */
        more = false;
        for (uint32_t at = 0; at < k->nins; at++) {
            const struct hd_ins *n = &k->ins[at];
            uint8_t c;

            if (!hd_opcode_writes(n->op) || n->d == HD_NO_REG ||
                n->op == HD_I_STORE || n->op == HD_I_POKE ||
                k->type[n->d] == HD_R_BOOL)
                continue;
            c = class_of(k, buf, cls, n);
            if (c > cls[n->d]) {
                cls[n->d] = c;
                more = true;
            }
        }
    }
    number(k, cls);
}
