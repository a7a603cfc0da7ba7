/*
 * trace-opcode.c - what an opcode of a trace does to memory.
 *
 * The part of the mnemonic before the first dot decides, compared whole:
 * LDGDEPBAR is no LDG and REDUX is no RED; only the bulk copies are known by
 * a word inside, as the tracer knows them.  How many bytes a lane moves is read
 * from the first part that is a number of bits (128, U8, S16), because the
 * tracer's own width can be wrong; what has none uses the tracer's.
 * A name that is not in the table and comes with addresses is counted by the
 * lint and executed as an arithmetic instruction.
 *
 * Bulk loads (TMA) and LDGSTS end without writing a register: they take a
 * scoreboard slot that DEPBAR, or a look at an mbarrier (SYNCS), waits for.
 * Which group of copies such an instruction waits for is not traced; it waits
 * for all.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-opcode.h"

struct row {
    char name[12];
    uint8_t where, kind;
};

static const struct row table[] = {
    {"LDG", HD_OW_GLOBAL, HD_OP_LOAD},
    {"STG", HD_OW_GLOBAL, HD_OP_STORE},
    {"LD", HD_OW_GENERIC, HD_OP_LOAD},
    {"ST", HD_OW_GENERIC, HD_OP_STORE},
    {"ATOM", HD_OW_GENERIC, HD_OP_ATOMIC},
    {"ATOMG", HD_OW_GLOBAL, HD_OP_ATOMIC},
    {"RED", HD_OW_GLOBAL, HD_OP_ATOMIC},
    {"REDG", HD_OW_GLOBAL, HD_OP_ATOMIC},
    {"LDL", HD_OW_LOCAL, HD_OP_LOAD},
    {"STL", HD_OW_LOCAL, HD_OP_STORE},
    {"LDS", HD_OW_SHARED, HD_OP_LOAD},
    {"STS", HD_OW_SHARED, HD_OP_STORE},
    {"LDSM", HD_OW_SHARED, HD_OP_LOAD},
    {"STSM", HD_OW_SHARED, HD_OP_STORE},
    {"STAS", HD_OW_SHARED, HD_OP_STORE},
    {"ATOMS", HD_OW_SHARED, HD_OP_ATOMIC},
    {"LDGSTS", HD_OW_STAGED, HD_OP_LOAD},
    {"UTMALDG", HD_OW_TMA, HD_OP_LOAD},
    {"UTMASTG", HD_OW_TMA, HD_OP_STORE},
    {"UTMAREDG", HD_OW_TMA, HD_OP_ATOMIC},
    {"UTMAPF", HD_OW_TMA, HD_OP_LOAD},
    {"UBLKCP", HD_OW_TMA, HD_OP_LOAD},
    {"UBLKPF", HD_OW_TMA, HD_OP_LOAD},
    {"UBLKRED", HD_OW_TMA, HD_OP_ATOMIC},
    {"LDC", HD_OW_NONE, HD_OP_ALU},
    {"ULDC", HD_OW_NONE, HD_OP_ALU},
    {"LDCU", HD_OW_NONE, HD_OP_ALU},
    {"TEX", HD_OW_NONE, HD_OP_ALU},
    {"TLD", HD_OW_NONE, HD_OP_ALU},
    {"TLD4", HD_OW_NONE, HD_OP_ALU},
    {"TMML", HD_OW_NONE, HD_OP_ALU},
    {"TXD", HD_OW_NONE, HD_OP_ALU},
    {"TXQ", HD_OW_NONE, HD_OP_ALU},
    {"SULD", HD_OW_NONE, HD_OP_ALU},
    {"SUST", HD_OW_NONE, HD_OP_ALU},
    {"SUATOM", HD_OW_NONE, HD_OP_ALU},
    {"SURED", HD_OW_NONE, HD_OP_ALU},
    {"CCTL", HD_OW_NONE, HD_OP_ALU},
    {"CCTLL", HD_OW_NONE, HD_OP_ALU},
    {"CCTLT", HD_OW_NONE, HD_OP_ALU},
    {"LDTM", HD_OW_NONE, HD_OP_ALU},
    {"STTM", HD_OW_NONE, HD_OP_ALU},
};

static bool is(const char *name, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(name, word, n) == 0;
}

static bool contains(const char *name, size_t n, const char *word)
{
    size_t len = strlen(word);

    for (size_t i = 0; i + len <= n; i++) {
        if (memcmp(name + i, word, len) == 0)
            return true;
    }
    return false;
}

/* Bytes of a part such as "128" or "U8", or 0. */
static unsigned part_bytes(const char *p, size_t n)
{
    unsigned bits = 0;

    if (n != 0 && (*p == 'U' || *p == 'S')) {
        p++;
        n--;
    }
    if (n == 0 || n > 3)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return 0;
        bits = bits * 10 + (unsigned)(p[i] - '0');
    }
    return bits >= 8 && bits <= 256 && hd_is_pow2(bits) ? bits / 8 : 0;
}

/* Does the second part of the name say `word`? */
static bool second(const char *name, size_t base, size_t n, const char *word)
{
    size_t end = base + 1;

    while (end < n && name[end] != '.')
        end++;
    return base < n && is(name + base + 1, end - base - 1, word);
}

void hd_opcode_read(const char *name, size_t n, struct hd_opcode *out)
{
    size_t base = 0;

    while (base < n && name[base] != '.')
        base++;
    *out = (struct hd_opcode){.where = HD_OW_UNKNOWN, .kind = HD_OP_ALU};
    for (size_t i = 0; i < HD_LEN(table); i++) {
        bool found = table[i].where == HD_OW_TMA
                         ? contains(name, n, table[i].name)
                         : is(name, base, table[i].name);
        if (found) {
            out->where = table[i].where;
            out->kind = table[i].kind;
        }
    }
    for (size_t at = base, end; at < n && out->bytes == 0; at = end) {
        for (end = at + 1; end < n && name[end] != '.'; end++)
            ;
        out->bytes = (uint8_t)part_bytes(name + at + 1, end - at - 1);
    }
    if (is(name, base, "BAR") && !second(name, base, n, "ARV"))
        out->kind = HD_OP_BARRIER;
    out->exit = is(name, base, "EXIT");
    out->replay = is(name, n, "REPLAY_START") || is(name, n, "REPLAY_END");
    out->gmma = contains(name, n, "GMMA");
    out->collect = is(name, base, "DEPBAR") || is(name, base, "SYNCS");
    out->async = (out->where == HD_OW_TMA && out->kind == HD_OP_LOAD &&
                  !contains(name, base, "PF")) ||
                 out->where == HD_OW_STAGED;
}
