/*
 * program.h - kernel programs inside the engine: bytecode, buffers, launches.
 *
 * A kernel is a list of instructions over typed registers.  Control flow is
 * structured and carries no addresses: the loader finds the ends by matching,
 * so that no bytecode can jump anywhere.  The serialised form is little
 * endian and unaligned:
 *
 *   "HDK1", name[60], u32 grid[3], block[3], regs, shared bytes,
 *   u16 registers, u16 arguments, u32 instructions,
 *   u8 type of each register,
 *   arguments: u8 type, name[31], i64 or f64 default,
 *   instructions of 24 bytes: u8 op, aux, u16 d, a, b, c, buf, u32 wait,
 *   i64 imm.
 *
 * The memory instructions: an index is the sum of register a, register b
 * (not of ATOM) and imm; absent registers count 0.  LOAD and ATOM fill
 * scoreboard slot aux & 31, or none where aux & 32 (an ATOM whose result is
 * unused); with aux & 64, too, the slot that the name aux & 31 has (CARRY).
 * With aux & 64 alone a LOAD is a copy of the open group (COMMIT, DRAIN), with
 * aux & 1 of c times 16 bytes from each lane.  c is the number of elements a
 * lane (1, 2, 4, 8, 16) of LOAD and STORE. For ATOM, imm is offset (low 32
 * bits, signed), kind (bits 32 to 35) and compare register of cas (bits 48 to
 * 63); b is the value.
 *
 * PEEK and POKE move the same values for nothing: what blocks hold in shared
 * memory and registers.  Their buffer has contents.  MIX is an ATOM of a
 * scratch buffer, as free; such a buffer has no address, and knows no others.
 *
 * `wait` is the set of slots whose loads the instruction uses.  Arithmetic
 * carries none: it is free, and what uses its result waits.
 *
 * f32 and f64 registers both hold a double; an operation on f32 rounds its
 * result to single, which for + - * / sqrt is exactly the single operation
 * (53 >= 2 * 24 + 2 bits: Figueroa, When is double rounding innocuous?, 1995).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_PROGRAM_H
#define HD_PROGRAM_H

#include "kit/base.h"
#include "kit/diag.h"
#include "heddle_program.h"
#include "points/source.h"

enum hd_opcode {
#define HD_INS(name, d, a, b, c) HD_I_##name,
#include "opcode.def"
#undef HD_INS
    HD_I_COUNT,
    HD_I_MEET = HD_I_COUNT /* of no program: what `kind` says, once all warps of
                              the block have come (hd_kernel_divide) */
};

enum hd_rtype { HD_R_INT, HD_R_F32, HD_R_F64, HD_R_BOOL, HD_R_TYPES };

enum { HD_SPECIALS = HEDDLE_SPECIAL_LANES + 1 };

enum hd_atom {
    HD_AT_ADD,
    HD_AT_MIN,
    HD_AT_MAX,
    HD_AT_AND,
    HD_AT_OR,
    HD_AT_XOR,
    HD_AT_EXCH,
    HD_AT_CAS,
    HD_AT_COUNT
};

#define HD_NO_REG  HEDDLE_NO_REGISTER
#define HD_PASSING 0x8000u

/* Names of scoreboard slots, and aux of a load whose slot has one. */
enum { HD_NAMES = 32, HD_NAMED = 64 };

/* In aux of a LOAD: past the L1 cache; of a copy: in bulk. */
enum { HD_PAST = HEDDLE_PAST, HD_BULK = HEDDLE_BULK };

/* Groups of copies that a warp has in flight, and the first one's slot. */
enum { HD_GROUPS = 8, HD_GROUP_SLOT = 24, HD_BULK_BYTES = 16 };

enum {
    HD_MAX_REGS = 1024,
    HD_MAX_INS = 1 << 20,
    HD_MAX_DEPTH = 32, /* of nested constructs */
    HD_MAX_THREADS = 1024,
    HD_MAX_BUFFERS = 1024,
    HD_INS_BYTES = 24,
};

/* What a register holds for the lanes of a warp. */
enum hd_tag {
    HD_UNIFORM, /* base */
    HD_AFFINE,  /* base + lane * stride */
    HD_VECTOR,  /* one value a lane, elsewhere; of ints the low 32 bits, and
                   the value is no more than that */
    HD_WIDE = 4 /* of ints: the high 32 bits are elsewhere, too */
};

/* A register as an operand. */
struct hd_reg {
    int64_t base;   /* bool: the mask of lanes; floats: bits of a double */
    int64_t stride; /* 0 if uniform */
    uint32_t tag;   /* enum hd_tag */
    uint32_t spare;
};

/* An instruction as it is run: 64 bytes. */
struct hd_ins {
    uint8_t op, aux;
    uint8_t rtype; /* of d; of a for comparisons and where there is no d */
    uint8_t shift; /* memory: log2 of the element's bytes */
    uint16_t d, a, b, c, buf;
    uint8_t depth; /* SET: depth at which the variable was declared; memory:
                      enum hd_space */
    uint8_t kind;  /* ATOM; MEET: the instruction that it was; WHILE: 1: its
                      TEST is one */
    uint32_t wait;
    uint32_t end;   /* matching END; of ELSE too; of ENDxxx: its opener */
    uint32_t other; /* IF: its ELSE, or its ENDIF */
    uint16_t cmp;   /* ATOM: compare register */
    uint8_t slot;   /* memory: scoreboard slot it fills, or HD_NO_SLOT */
    uint8_t bytes;  /* memory: a lane */
    int64_t imm;
    union {
        struct hd_reg k;  /* imm as an operand */
        struct {          /* memory: */
            uint64_t va;  /* of the buffer */
            uint64_t top; /* largest index */
            bool real;    /* values move: it has contents, and they are used */
            bool bare;    /* nothing but addresses: writes no register either */
            uint16_t b;   /* register in the index, as a; HD_NO_REG: none */
            uint32_t fills; /* bit set: the slot that it fills, or none */
        } m;
    };
};

struct hd_karg {
    char name[32];
    uint8_t type; /* enum hd_rtype */
    union heddle_value def;
};

/* Instructions between which a register holds what may be read. */
struct hd_life {
    uint32_t first;   /* that writes it */
    uint32_t last;    /* up to which it may be read */
    uint32_t written; /* last that writes it */
};

/* Where instructions come from: one name of a file after the other, and for
 * each instruction as in struct heddle_lines. */
struct hd_kernel_lines {
    char *files;
    uint32_t *line;
    uint32_t n;
};

struct hd_kernel {
    char name[64];
    uint32_t grid[3], block[3];
    uint32_t threads; /* product of block */
    uint32_t regs, shared_bytes;
    uint32_t nreg; /* registers */
    /* of those that may be vectors, what stays with a warp and what is one in
     * passing only: ints, and 32-bit words a lane, an int one and a float two;
     * the ints come first */
    uint32_t nint, nvec;
    uint32_t pint, npass;
    uint32_t nins;
    uint32_t depth; /* deepest nesting */
    uint32_t names; /* HD_NAMES, if variables carry loads; else 0 */
    bool copies;    /* it has copies to shared memory */
    uint32_t nargs;
    struct hd_karg arg[HEDDLE_MAX_ARGS];
    uint8_t *type;   /* [nreg] */
    uint16_t *vslot; /* [nreg] word in which its vector begins; in passing:
                        | HD_PASSING; HD_NO_REG: it never is one */
    struct hd_ins *ins;
    struct hd_kernel_lines lines; /* for errors */
    struct hd_life *life; /* [nreg] of a divided one (hd_kernel_divide) */
};

struct hd_bufdef {
    char name[32];
    uint8_t type;  /* enum heddle_type */
    uint8_t shift; /* log2 of bytes */
    uint8_t contents;
    uint8_t scratch; /* no address: only PEEK and POKE, and the host */
    uint8_t texture; /* loads are texture fetches */
    uint64_t count;
    hd_va va;
    heddle_data *data; /* what it begins with, or NULL */
    uint64_t fill;     /* elements that have no data, as memory has them */
};

struct heddle_program {
    char name[64];
    uint32_t refs;
    bool frozen;
    uint32_t lanes; /* that a warp must have; 0: any */
    uint64_t align;
    uint64_t next_va;
    uint64_t hash;
    uint32_t nbuf, nkernel, nlaunch, nstream, nevent;
    char stream[HD_STREAMS][32], event[HD_STREAM_EVENTS][32];
    size_t room_buf, room_kernel, room_launch;
    struct hd_bufdef *buf;
    struct hd_kernel *kernel;
    struct heddle_launch *launch;
    heddle_host_fn *host;
    void *host_ud;
    void (*host_free)(void *ud);
    struct hd_kernel_lines lines; /* of the kernel that comes next */
    void *xxh;                    /* running hash */
    struct heddle_error err;
};

/* Register type of a buffer's values. */
static inline enum hd_rtype hd_program_rtype(uint8_t type)
{
    return type == HEDDLE_F32   ? HD_R_F32
           : type == HEDDLE_F64 ? HD_R_F64
                                : HD_R_INT;
}

/* Decodes and verifies serialised bytecode into *k, of which only `lines` is
 * set. HEDDLE_EPROGRAM names the instruction that is wrong. */
int hd_verify_kernel(struct hd_kernel *k, const void *code, size_t bytes,
                     const struct hd_bufdef *buf, uint32_t nbuf,
                     struct heddle_error *err);
void hd_verify_free(struct hd_kernel *k);

/* Whether an instruction of that kind writes its register d; whether its
 * register a (1), b (2) or c (3) is read. */
bool hd_opcode_writes(uint8_t op);
bool hd_opcode_reads(uint8_t op, unsigned field);

/* classes.c: numbers the registers that can be vectors (vslot, nint, nvec,
 * pint, npass).  cls: for each register what it is at least, which grows; stay:
 * a bit set of those that are never in passing, or NULL. */
void hd_kernel_classify(struct hd_kernel *k, const struct hd_bufdef *buf,
                        uint8_t *cls, const uint64_t *stay);
/* The kernel for blocks whose threads are regrouped: with MEETs, the last
 * instruction being one for warps whose threads have all exited, and lives.  It
 * borrows the types.  0 or HEDDLE_ENOMEM, and then nothing is to be freed. */
int hd_kernel_divide(struct hd_kernel *to, const struct hd_kernel *from,
                     const struct hd_bufdef *buf);
void hd_kernel_undivide(struct hd_kernel *k);

/* Where instruction `at` comes from, behind a comma: ", FILE:LINE", or "". */
enum { HD_PLACE = 96 };
const char *hd_kernel_place(const struct hd_kernel *k, uint32_t at,
                            char out[HD_PLACE]);

/* "ADD" and so on; "?" beyond. */
const char *hd_opcode_name(uint8_t op);

struct hd_source *hd_program_source(struct heddle_program *p);
/* streams.c: that of a program which has streams. */
struct hd_source *hd_program_streams(struct heddle_program *p);

#endif
