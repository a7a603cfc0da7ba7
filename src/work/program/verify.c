/*
 * verify.c - reads serialised bytecode and refuses whatever could go wrong.
 *
 * After this the lane engine (program/simt.c) trusts a kernel: operands are
 * registers of the right type, every register is written before it is read in
 * the same or an enclosing construct, constructs nest, buffers and arguments
 * exist.  What remains to be checked while running is what depends on data:
 * indices against the size of their buffer, and loops without end.
 *
 * Where the values of its registers are stored is classes.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/bits.h"
#include "kit/grow.h"
#include "program.h"
#include "points/source.h"

static const char *const op_name[HD_I_COUNT] = {
#define HD_INS(name, d, a, b, c) #name,
#include "opcode.def"
#undef HD_INS
};

enum { _ = '_', i = 'i', b = 'b', f = 'f', v = 'v', x = 'x' };
enum { I = 'I', F = 'F', V = 'V' };

static const uint8_t op_form[HD_I_COUNT][4] = {
#define HD_INS(name, d, a, b, c) {d, a, b, c},
#include "opcode.def"
#undef HD_INS
};

const char *hd_opcode_name(uint8_t op)
{
    return op < HD_I_COUNT ? op_name[op] : "?";
}

bool hd_opcode_writes(uint8_t op)
{
    return op_form[op][0] != '_';
}

bool hd_opcode_reads(uint8_t op, unsigned field)
{
    /* not in the table: the second register of these indices */
    return op_form[op][field] != '_' ||
           (field == 2 && (op == HD_I_PEEK || op == HD_I_POKE ||
                           op == HD_I_LOAD || op == HD_I_STORE));
}

const char *hd_kernel_place(const struct hd_kernel *k, uint32_t at,
                            char out[HD_PLACE])
{
    uint32_t line = at < k->lines.n ? k->lines.line[at] : 0;
    const char *file = k->lines.files;

    out[0] = 0;
    for (uint32_t n = line >> 24; line != 0 && n > 0; n--)
        file += strlen(file) + 1;
    if (line != 0)
        snprintf(out, HD_PLACE, ", %s:%u", file, line & 0xffffff);
    return out;
}

/* An integer of so many bytes; 0 where the bytes end. */
static uint64_t verify_take(struct hd_cursor *c, unsigned bytes)
{
    const uint8_t *p = hd_cursor_take(c, bytes);
    uint64_t n = 0;

    for (unsigned at = 0; p != NULL && at < bytes; at++)
        n |= (uint64_t)p[at] << 8 * at;
    return n;
}

/* `bytes` characters, and a zero. */
static void take_name(struct hd_cursor *c, char *out, size_t bytes)
{
    const void *p = hd_cursor_take(c, bytes);

    memset(out, 0, bytes + 1);
    if (p != NULL)
        memcpy(out, p, bytes);
    for (; *out != 0; out++)
        if ((unsigned char)*out < 32 || (unsigned char)*out > 126)
            *out = '?';
}

static void read_ins(struct hd_cursor *r, struct hd_ins *n)
{
    n->op = (uint8_t)verify_take(r, 1);
    n->aux = (uint8_t)verify_take(r, 1);
    n->d = (uint16_t)verify_take(r, 2);
    n->a = (uint16_t)verify_take(r, 2);
    n->b = (uint16_t)verify_take(r, 2);
    n->c = (uint16_t)verify_take(r, 2);
    n->buf = (uint16_t)verify_take(r, 2);
    n->wait = (uint32_t)verify_take(r, 4);
    n->imm = (int64_t)verify_take(r, 8);
    n->k.base = n->imm;
}

/* ---- header ----------------------------------------------------------- */

static int read_args(struct hd_cursor *r, struct hd_kernel *k,
                     struct heddle_error *err)
{
    for (uint32_t n = 0; n < k->nargs; n++) {
        k->arg[n].type = (uint8_t)verify_take(r, 1);
        take_name(r, k->arg[n].name, 31);
        k->arg[n].def.i = (int64_t)verify_take(r, 8);
        if (k->arg[n].type >= HD_R_BOOL)
            return hd_err_set(err, HEDDLE_EPROGRAM,
                              "kernel %s: argument %s must be int, f32 or f64",
                              k->name, k->arg[n].name);
    }
    return 0;
}

static int read_header(struct hd_cursor *r, struct hd_kernel *k,
                       struct heddle_error *err)
{
    uint64_t threads = 1;

    if (verify_take(r, 4) != 0x314b4448)
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "bytecode does not begin with HDK1");
    take_name(r, k->name, 60);
    for (int n = 0; n < 3; n++)
        k->grid[n] = (uint32_t)verify_take(r, 4);
    for (int n = 0; n < 3; n++) {
        k->block[n] = (uint32_t)verify_take(r, 4);
        threads = k->block[n] > HD_MAX_THREADS ? 0 : threads * k->block[n];
    }
    k->regs = (uint32_t)verify_take(r, 4);
    k->shared_bytes = (uint32_t)verify_take(r, 4);
    k->nreg = (uint32_t)verify_take(r, 2);
    k->nargs = (uint32_t)verify_take(r, 2);
    k->nins = (uint32_t)verify_take(r, 4);
    if (r->bad)
        return hd_err_set(err, HEDDLE_EPROGRAM, "bytecode ends in its header");
    if (threads == 0 || threads > HD_MAX_THREADS)
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "kernel %s: a block of %u x %u x %u threads; "
                          "expected 1 to %d",
                          k->name, k->block[0], k->block[1], k->block[2],
                          HD_MAX_THREADS);
    k->threads = (uint32_t)threads;
    if (k->nreg > HD_MAX_REGS || k->nargs > HEDDLE_MAX_ARGS || k->nins == 0 ||
        k->nins > HD_MAX_INS)
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "kernel %s: %u registers, %u arguments, %u "
                          "instructions; expected at most %d, %d, 1 to %d",
                          k->name, k->nreg, k->nargs, k->nins, HD_MAX_REGS,
                          HEDDLE_MAX_ARGS, HD_MAX_INS);
    if (hd_cursor_left(r) !=
        k->nreg + (size_t)k->nargs * 40 + (size_t)k->nins * HD_INS_BYTES)
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "kernel %s: the length of the bytecode does not "
                          "fit its header",
                          k->name);
    return 0;
}

/* ---- one instruction -------------------------------------------------- */

struct scope {
    uint32_t at; /* instruction that opened it */
    uint8_t op;  /* and its opcode; HD_I_ELSE after the else */
    bool tested; /* WHILE: TEST seen */
    uint64_t known[HD_MAX_REGS / 64]; /* registers written when it began */
};

struct verifier {
    struct hd_kernel *k;
    const struct hd_bufdef *buf;
    uint32_t nbuf, at, depth;
    uint64_t known[HD_MAX_REGS / 64];
    uint8_t *var; /* [nreg] depth of declaration + 1; 0: no variable */
    struct scope *scope;
    struct heddle_error *err;
};

static int verify_wrong(struct verifier *z, const char *what)
{
    const struct hd_ins *n = &z->k->ins[z->at];
    char place[HD_PLACE];

    return hd_err_set(z->err, HEDDLE_EPROGRAM,
                      "kernel %s, instruction %u (%s%s): %s", z->k->name, z->at,
                      hd_opcode_name(n->op),
                      hd_kernel_place(z->k, z->at, place), what);
}

static bool verify_known(const struct verifier *z, uint16_t reg)
{
    return z->known[reg >> 6] >> (reg & 63) & 1;
}

static void write_reg(struct verifier *z, uint16_t reg)
{
    z->known[reg >> 6] |= UINT64_C(1) << (reg & 63);
    z->var[reg] = 0;
}

/* Checks the type of one register field and that it has been written. */
static int check_field(struct verifier *z, uint8_t form, uint16_t reg,
                       bool read, int *same)
{
    uint8_t t;

    if (form == '_')
        return 0;
    if (reg == HD_NO_REG) {
        if (form >= 'A' && form <= 'Z')
            return 0;
        return verify_wrong(z, "a register is missing");
    }
    if (reg >= z->k->nreg)
        return verify_wrong(z, "no such register");
    t = z->k->type[reg];
    switch (form | 0x20) {
    case 'i':
        if (t != HD_R_INT)
            return verify_wrong(z, "expected an int register");
        break;
    case 'b':
        if (t != HD_R_BOOL)
            return verify_wrong(z, "expected a bool register");
        break;
    case 'f':
    case 'x':
        if (t != HD_R_F32 && t != HD_R_F64)
            return verify_wrong(z, "expected a register of f32 or f64");
        /* fall through */
    default:
        if ((form | 0x20) != 'x' && *same >= 0 && *same != t)
            return verify_wrong(z, "registers of different types");
        if ((form | 0x20) != 'x')
            *same = t;
    }
    if (read && !verify_known(z, reg))
        return verify_wrong(z,
                            "reads a register that nothing has written here");
    return 0;
}

static int check_fields(struct verifier *z, struct hd_ins *n)
{
    const uint8_t *form = op_form[n->op];
    bool reads_d =
        n->op == HD_I_SET || n->op == HD_I_STORE || n->op == HD_I_POKE;
    int same = -1, e = 0;

    e |= check_field(z, form[0], n->d, reads_d, &same);
    e |= check_field(z, form[1], n->a, true, &same);
    e |= check_field(z, form[2], n->b, true, &same);
    e |= check_field(z, form[3], n->c, true, &same);
    if (e != 0)
        return z->err->code;
    if (form[0] != '_' && form[0] != 'b' && n->d != HD_NO_REG)
        n->rtype = z->k->type[n->d];
    else if (form[1] != '_' && n->a != HD_NO_REG)
        n->rtype = z->k->type[n->a];
    return 0;
}

/* A copy to shared memory. */
static int place_copy(struct verifier *z, struct hd_ins *n)
{
    const struct hd_bufdef *def = &z->buf[n->buf];
    bool bulk = (n->aux & HD_BULK) != 0;
    uint64_t bytes =
        bulk ? (uint64_t)n->c * HD_BULK_BYTES : (uint64_t)n->c << def->shift;

    if (n->op != HD_I_LOAD || (n->aux & 31 & ~(unsigned)HD_BULK) != 0)
        return verify_wrong(z, "a slot of a name, and one of its own");
    if (n->d != HD_NO_REG)
        return verify_wrong(z, "a copy fills no register");
    if (def->texture)
        return verify_wrong(z, "a copy is no texture fetch");
    if (!bulk && bytes != 4 && bytes != 8 && bytes != 16)
        return verify_wrong(z, "a copy is of 4, 8 or 16 bytes a lane");
    if (bytes == 0 || bytes >> def->shift > def->count)
        return verify_wrong(z,
                            "the buffer has fewer elements than a lane copies");
    z->k->copies = true;
    n->shift = def->shift;
    n->depth = (n->aux & HD_PAST) != 0 ? HD_SPACE_COPY_PAST : HD_SPACE_COPY;
    n->bytes = bulk ? HD_BULK_BYTES : (uint8_t)bytes;
    n->slot = HD_NO_SLOT; /* simt.c: its group's */
    n->m.va = def->va.v;
    n->m.top = def->count - (bytes >> def->shift);
    n->m.bare = !bulk;
    n->m.b = n->b;
    return 0;
}

/* What the engine would otherwise have to look up in the buffer. */
static int place_memory(struct verifier *z, struct hd_ins *n)
{
    const struct hd_bufdef *def = &z->buf[n->buf];

    if (n->c > def->count)
        return verify_wrong(z,
                            "the buffer has fewer elements than a lane reads");
    n->shift = def->shift;
    n->depth = n->op != HD_I_LOAD        ? HD_SPACE_GLOBAL
               : (n->aux & HD_PAST) != 0 ? HD_SPACE_PAST
               : def->texture            ? HD_SPACE_TEXTURE
                                         : HD_SPACE_GLOBAL;
    n->m.va = def->va.v;
    n->m.top = def->count - n->c;
    n->m.real = def->contents && (n->d != HD_NO_REG || n->op == HD_I_ATOM);
    n->m.bare = !n->m.real && (n->d == HD_NO_REG || n->op == HD_I_STORE);
    n->bytes = (uint8_t)(n->c << n->shift);
    n->slot = n->op == HD_I_STORE || (n->aux & 32) ? HD_NO_SLOT
                                                   : (uint8_t)(n->aux & 31);
    if ((n->op == HD_I_LOAD || n->op == HD_I_ATOM) && (n->aux & HD_NAMED) != 0)
        z->k->names = HD_NAMES;
    n->m.fills = n->slot != HD_NO_SLOT ? UINT32_C(1) << n->slot : 0;
    n->m.b = n->op == HD_I_ATOM || n->op == HD_I_MIX ? HD_NO_REG : n->b;
    return 0;
}

static int verify_memory(struct verifier *z, struct hd_ins *n)
{
    enum hd_rtype want;
    int same = -1;

    if (n->buf >= z->nbuf)
        return verify_wrong(z, "no such buffer");
    want = hd_program_rtype(z->buf[n->buf].type);
    if (n->d != HD_NO_REG && z->k->type[n->d] != want)
        return verify_wrong(
            z, "the register does not have the type of the buffer");
    if ((n->op == HD_I_PEEK || n->op == HD_I_POKE) &&
        (!z->buf[n->buf].contents || n->c != 1))
        return verify_wrong(z, "one element of a buffer with contents");
    if (z->buf[n->buf].scratch && (n->op < HD_I_PEEK || n->op > HD_I_MIX))
        return verify_wrong(z, "a scratch buffer has no address");
    if (n->op == HD_I_MIX && !z->buf[n->buf].scratch)
        return verify_wrong(z, "only of a scratch buffer");
    if (n->op != HD_I_ATOM && n->op != HD_I_MIX) {
        if (check_field(z, 'I', n->b, true, &same) != 0)
            return z->err->code;
        if ((n->aux & HD_NAMED) != 0 && (n->aux & 32) == 0)
            return place_copy(z, n);
        if (n->c > 16 || !hd_is_pow2(n->c))
            return verify_wrong(z, "1, 2, 4, 8 or 16 elements a lane");
        if (((uint32_t)n->c << z->buf[n->buf].shift) > 16)
            return verify_wrong(z, "more than 16 bytes a lane");
        return place_memory(z, n);
    }
    if ((n->aux & HD_NAMED) != 0 && (n->aux & 32) == 0)
        return verify_wrong(z, "a slot of a name, and one of its own");
    n->c = 1;
    n->kind = (uint8_t)(n->imm >> 32 & 15);
    n->cmp = (uint16_t)((uint64_t)n->imm >> 48);
    n->imm = (int32_t)(uint32_t)n->imm;
    if (n->kind >= HD_AT_COUNT)
        return verify_wrong(z, "no such atomic operation");
    if (n->b == HD_NO_REG || z->k->type[n->b] != want)
        return verify_wrong(z,
                            "the value does not have the type of the buffer");
    if (want != HD_R_INT && n->kind != HD_AT_ADD && n->kind != HD_AT_MIN &&
        n->kind != HD_AT_MAX && n->kind != HD_AT_EXCH)
        return verify_wrong(z, "not an operation on f32 and f64");
    if (n->kind == HD_AT_CAS &&
        (n->cmp >= z->k->nreg || z->k->type[n->cmp] != want ||
         !verify_known(z, n->cmp)))
        return verify_wrong(z, "the compared value is not there");
    return place_memory(z, n);
}

/* ---- constructs ------------------------------------------------------- */

/* Forgets what was written since the scope began. */
static void verify_leave(struct verifier *z, const struct scope *s)
{
    memcpy(z->known, s->known, sizeof(s->known));
    for (uint32_t n = 0; n < z->k->nreg; n++)
        if (z->var[n] > z->depth + 1)
            z->var[n] = 0;
}

static int open_scope(struct verifier *z, uint8_t op)
{
    struct scope *s;

    _Static_assert(HD_MAX_DEPTH == 32, "the message says it");
    if (z->depth == HD_MAX_DEPTH)
        return verify_wrong(z, "constructs nest too deeply: more than 32");
    s = &z->scope[z->depth++];
    s->at = z->at;
    s->op = op;
    s->tested = false;
    memcpy(s->known, z->known, sizeof(s->known));
    if (z->depth > z->k->depth)
        z->k->depth = z->depth;
    return 0;
}

static int close_scope(struct verifier *z, struct hd_ins *n)
{
    uint8_t open = n->op == HD_I_ENDLOOP ? HD_I_LOOP
                   : n->op == HD_I_ENDIF ? HD_I_IF
                                         : HD_I_WHILE;
    struct hd_ins *ins = z->k->ins;
    struct scope *s;

    if (z->depth == 0)
        return verify_wrong(z, "nothing is open");
    s = &z->scope[--z->depth];
    if (s->op != open && !(s->op == HD_I_ELSE && open == HD_I_IF))
        return verify_wrong(z, "ends a construct of another kind");
    if (open == HD_I_WHILE && !s->tested)
        return verify_wrong(z, "a while without TEST");
    n->end = s->at;
    if (s->op == HD_I_ELSE)
        ins[ins[s->at].other].end = z->at;
    else
        ins[s->at].other = z->at;
    ins[s->at].end = z->at;
    verify_leave(z, s);
    return 0;
}

static int check_else(struct verifier *z)
{
    struct scope *s = z->depth > 0 ? &z->scope[z->depth - 1] : NULL;

    if (s == NULL || s->op != HD_I_IF)
        return verify_wrong(z, "ELSE without IF");
    s->op = HD_I_ELSE;
    z->k->ins[s->at].other = z->at;
    z->depth--;
    verify_leave(z, s);
    z->depth++;
    return 0;
}

/* A number in the place of an f32 register is one. */
static void round_number(struct hd_ins *n)
{
    double d;

    if (n->rtype != HD_R_F32 || n->b != HD_NO_REG ||
        (n->op != HD_I_LI && op_form[n->op][2] != 'F'))
        return;
    memcpy(&d, &n->imm, 8);
    d = (double)(float)d;
    memcpy(&n->imm, &d, 8);
    n->k.base = n->imm;
}

static int check_loop(struct verifier *z, const struct hd_ins *n)
{
    if (n->aux > 1)
        return verify_wrong(z, "no such direction");
    if (n->c == HD_NO_REG && (n->aux ? n->imm >= 0 : n->imm <= 0))
        return verify_wrong(z, "the step goes the wrong way");
    if (n->d == n->b || n->d == n->c)
        return verify_wrong(z, "the counter is its own bound or step");
    if (open_scope(z, n->op) != 0)
        return z->err->code;
    write_reg(z, n->d);
    return 0;
}

static int check_test(struct verifier *z, struct hd_ins *n)
{
    struct scope *top = z->depth > 0 ? &z->scope[z->depth - 1] : NULL;

    if (top == NULL || top->op != HD_I_WHILE || top->tested)
        return verify_wrong(z, "a while has exactly one TEST");
    top->tested = true;
    n->end = top->at;
    return 0;
}

/* Of arithmetic and of shared memory: how many, and what classes say. */
static int check_run(struct verifier *z, struct hd_ins *n)
{
    uint32_t kind = n->aux & (uint32_t) ~(HEDDLE_DEPENDENT);
    int same = -1;

    if (n->imm < 0 || n->imm > 1 << 30)
        return verify_wrong(z, "a count from 0 to 2^30");
    if (n->op == HD_I_ALU)
        return kind < HEDDLE_CLASSES && kind != HEDDLE_CLASS_SHARED
                   ? 0
                   : verify_wrong(z, "no such class of arithmetic");
    if (kind == 0)
        return 0;
    if (kind != HEDDLE_ADDRESSED || n->imm != 1 || n->c > 16 ||
        !hd_is_pow2(n->c))
        return verify_wrong(z, "one instruction of 1, 2, 4, 8 or 16 bytes a "
                               "lane");
    n->bytes = (uint8_t)n->c;
    return check_field(z, 'i', n->a, true, &same);
}

/* Of names of scoreboard slots. */
static int check_carry(struct verifier *z, const struct hd_ins *n)
{
    bool good = n->op == HD_I_CARRY ? n->aux < HD_NAMES && n->imm != n->aux &&
                                          n->imm >= 0 && n->imm <= HD_NAMES
                                    : (uint64_t)n->imm >> HD_NAMES == 0;

    z->k->names = HD_NAMES;
    return good ? 0 : verify_wrong(z, "no such name of a slot");
}

static int check_ins(struct verifier *z, struct hd_ins *n)
{
    switch (n->op) {
    case HD_I_CARRY:
    case HD_I_AWAIT:
        return check_carry(z, n);
    case HD_I_DRAIN:
        if ((uint64_t)n->imm >= HD_GROUPS)
            return verify_wrong(z, "at most 7 groups stay in flight");
        return 0;
    case HD_I_SPEC:
        if ((uint64_t)n->imm >= HD_SPECIALS)
            return verify_wrong(z, "no such special register");
        break;
    case HD_I_ARG:
        if ((uint64_t)n->imm >= z->k->nargs ||
            z->k->arg[n->imm].type != n->rtype)
            return verify_wrong(z, "no such argument of this type");
        break;
    case HD_I_SET:
        if (z->var[n->d] == 0)
            return verify_wrong(z, "sets what is not a variable");
        n->depth = (uint8_t)(z->var[n->d] - 1);
        return 0;
    case HD_I_LOOP:
        return check_loop(z, n);
    case HD_I_IF:
    case HD_I_WHILE:
        return open_scope(z, n->op);
    case HD_I_ELSE:
        return check_else(z);
    case HD_I_ENDIF:
    case HD_I_ENDLOOP:
    case HD_I_ENDWHILE:
        return close_scope(z, n);
    case HD_I_TEST:
        return check_test(z, n);
    case HD_I_ALU:
    case HD_I_SHARED:
        return check_run(z, n);
    case HD_I_PEEK:
    case HD_I_POKE:
    case HD_I_MIX:
    case HD_I_LOAD:
    case HD_I_STORE:
    case HD_I_ATOM:
        if (verify_memory(z, n) != 0)
            return z->err->code;
        if (n->op == HD_I_STORE || n->op == HD_I_POKE || n->d == HD_NO_REG)
            return 0;
        break;
    case HD_I_EXIT:
        if (z->at + 1 != z->k->nins || z->depth != 0)
            return verify_wrong(z, "only at the very end");
        return 0;
    }
    if (op_form[n->op][0] != '_')
        write_reg(z, n->d);
    if (n->op == HD_I_VAR)
        z->var[n->d] = (uint8_t)(z->depth + 1);
    return 0;
}

/* Slots of a kernel that has copies: the last ones are of their groups. */
static int check_slots(struct verifier *z)
{
    struct hd_kernel *k = z->k;
    bool good = true;

    for (z->at = 0; z->at < k->nins && good; z->at++) {
        struct hd_ins *n = &k->ins[z->at];
        bool slots = n->op == HD_I_LOAD || n->op == HD_I_ATOM;
        uint32_t name = n->op == HD_I_CARRY ? n->aux
                        : slots && (n->aux & (32 | HD_NAMED)) != 32
                            ? n->aux & 31
                            : 0;

        n->wait &= hd_ones(HD_GROUP_SLOT);
        good = n->depth >= HD_SPACE_COPY || name < HD_GROUP_SLOT;
        if (n->op == HD_I_CARRY)
            good &= n->imm < HD_GROUP_SLOT || n->imm == HD_NAMES;
        if (n->op == HD_I_AWAIT)
            good &= (uint64_t)n->imm >> HD_GROUP_SLOT == 0;
    }
    z->at--;
    return good ? 0 : verify_wrong(z, "slots 24 to 31 are those of copies");
}

static int check_all(struct verifier *z)
{
    struct hd_kernel *k = z->k;

    for (z->at = 0; z->at < k->nins; z->at++) {
        struct hd_ins *n = &k->ins[z->at];

        if (n->op >= HD_I_COUNT)
            return verify_wrong(z, "no such instruction");
        if (check_fields(z, n) != 0)
            return z->err->code;
        round_number(n);
        if (check_ins(z, n) != 0)
            return z->err->code;
    }
    z->at = k->nins - 1;
    if (k->ins[z->at].op != HD_I_EXIT)
        return verify_wrong(z, "the last instruction must be EXIT");
    for (uint32_t n = 0; n < k->nins; n++) /* TEST: the end of its WHILE */
        if (k->ins[n].op == HD_I_TEST)
            k->ins[n].end = k->ins[k->ins[n].end].end;
    return k->copies ? check_slots(z) : 0;
}

/* ---- the whole -------------------------------------------------------- */

static int verify_kernel(struct hd_kernel *k, struct hd_cursor *r,
                         const struct hd_bufdef *buf, uint32_t nbuf,
                         struct verifier *z)
{
    for (uint32_t n = 0; n < k->nreg; n++) {
        k->type[n] = (uint8_t)verify_take(r, 1);
        if (k->type[n] >= HD_R_TYPES)
            return hd_err_set(z->err, HEDDLE_EPROGRAM,
                              "kernel %s: register %u has no known type",
                              k->name, n);
    }
    if (read_args(r, k, z->err) != 0)
        return z->err->code;
    for (uint32_t n = 0; n < k->nins; n++)
        read_ins(r, &k->ins[n]);
    z->buf = buf;
    z->nbuf = nbuf;
    if (check_all(z) != 0)
        return z->err->code;
    memset(z->var, HD_UNIFORM, k->nreg);
    hd_kernel_classify(k, buf, z->var, NULL);
    return 0;
}

int hd_verify_kernel(struct hd_kernel *k, const void *code, size_t bytes,
                     const struct hd_bufdef *buf, uint32_t nbuf,
                     struct heddle_error *err)
{
    struct hd_cursor r = {.p = code, .end = (const uint8_t *)code + bytes};
    struct verifier z = {.k = k, .err = err};
    int e;

    *k = (struct hd_kernel){.lines = k->lines};
    if (read_header(&r, k, err) != 0)
        return err->code;
    k->type = calloc(k->nreg + 1, 1);
    k->vslot = calloc(k->nreg + 1, sizeof(*k->vslot));
    k->ins = calloc(k->nins, sizeof(*k->ins));
    z.var = calloc(k->nreg + 1, 1);
    z.scope = calloc(HD_MAX_DEPTH, sizeof(*z.scope));
    if (k->type == NULL || k->vslot == NULL || k->ins == NULL ||
        z.var == NULL || z.scope == NULL)
        e = hd_err_memory(err);
    else
        e = verify_kernel(k, &r, buf, nbuf, &z);
    free(z.var);
    free(z.scope);
    if (e != 0)
        hd_verify_free(k);
    return e;
}

void hd_verify_free(struct hd_kernel *k)
{
    free(k->type);
    free(k->vslot);
    free(k->ins);
    free(k->lines.files);
    free(k->lines.line);
    k->type = NULL;
    k->vslot = NULL;
    k->ins = NULL;
    k->lines = (struct hd_kernel_lines){0};
}
