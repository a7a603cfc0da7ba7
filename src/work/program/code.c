/*
 * code.c - a kernel that C gives as structs, in the serialised form.
 *
 * What is checked is the serialised form (verify.c), so that a kernel is the
 * same and has the same hash whether Lua or C wrote it; here only what does not
 * fit that form is refused.  The numbers of heddle_program.h, which is plain
 * for grep, are held to those of opcode.def.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "program.h"

#define HD_INS(name, d, a, b, c)                                               \
    _Static_assert((int)HEDDLE_INS_##name == (int)HD_I_##name, #name);
#include "opcode.def"
#undef HD_INS
_Static_assert((int)HEDDLE_REGISTER_BOOL == (int)HD_R_BOOL, "registers");

enum { CODE_NAME = 60, CODE_ARG_NAME = 31, CODE_HEADER = 104, CODE_ARG = 40 };

static unsigned char *code_put(unsigned char *to, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *to++ = (unsigned char)(v >> 8 * i);
    return to;
}

/* A name, which room bytes of zero follow. */
static unsigned char *code_put_name(unsigned char *to, const char *name,
                                    size_t room)
{
    memcpy(to, name, strlen(name));
    return to + room;
}

static unsigned char *code_put_ins(unsigned char *to,
                                   const struct heddle_ins *n)
{
    to = code_put(to, n->op, 1);
    to = code_put(to, n->aux, 1);
    to = code_put(to, n->d, 2);
    to = code_put(to, n->a, 2);
    to = code_put(to, n->b, 2);
    to = code_put(to, n->c, 2);
    to = code_put(to, n->buf, 2);
    to = code_put(to, n->wait, 4);
    return code_put(to, (uint64_t)n->imm, 8);
}

static void code_write(unsigned char *to, const struct heddle_code *c)
{
    to = code_put(to, 0x314b4448, 4); /* "HDK1" */
    to = code_put_name(to, c->name, CODE_NAME);
    for (int i = 0; i < 3; i++)
        to = code_put(to, c->grid[i] != 0 ? c->grid[i] : 1, 4);
    for (int i = 0; i < 3; i++)
        to = code_put(to, c->block[i] != 0 ? c->block[i] : 1, 4);
    to = code_put(to, c->regs, 4);
    to = code_put(to, c->shared_bytes, 4);
    to = code_put(to, c->registers, 2);
    to = code_put(to, c->args, 2);
    to = code_put(to, c->count, 4);
    for (uint32_t i = 0; i < c->registers; i++)
        to = code_put(to, c->type[i], 1);
    for (uint32_t i = 0; i < c->args; i++) {
        to = code_put(to, c->arg[i].type, 1);
        to = code_put_name(to, c->arg[i].name, CODE_ARG_NAME);
        to = code_put(to, (uint64_t)c->arg[i].value.i, 8);
    }
    for (uint32_t i = 0; i < c->count; i++)
        to = code_put_ins(to, &c->ins[i]);
}

/* What the serialised form has no room for, or NULL. */
static const char *code_fault(const struct heddle_code *c)
{
    if (c->name == NULL || strlen(c->name) >= CODE_NAME)
        return "a kernel needs a name of at most 59 bytes";
    if (c->registers > HD_MAX_REGS || c->args > HEDDLE_MAX_ARGS ||
        c->count == 0 || c->count > HD_MAX_INS)
        return "too many registers, arguments or instructions, or none";
    for (uint32_t i = 0; i < c->args; i++)
        if (c->arg[i].name == NULL || strlen(c->arg[i].name) > CODE_ARG_NAME ||
            c->arg[i].type >= HD_R_BOOL)
            return "an argument needs a name of at most 31 bytes, and a type "
                   "that is int, f32 or f64";
    return NULL;
}

int heddle_program_code(heddle_program *p, const struct heddle_code *code)
{
    const char *wrong = code_fault(code);
    unsigned char *bytes;
    size_t n;
    int rc;

    if (wrong != NULL)
        return hd_err_set(&p->err, HEDDLE_EPROGRAM, "kernel %s: %s",
                          code->name != NULL ? code->name : "?", wrong);
    n = CODE_HEADER + code->registers + (size_t)code->args * CODE_ARG +
        (size_t)code->count * HD_INS_BYTES;
    bytes = calloc(1, n);
    if (bytes == NULL)
        return hd_err_memory(&p->err);
    code_write(bytes, code);
    rc = heddle_program_kernel(p, bytes, n);
    free(bytes);
    return rc;
}
