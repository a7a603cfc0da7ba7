/*
 * heddle_program.h - kernel programs: buffers, kernels as bytecode, a host.
 *
 * A program is built once: buffers in the order in which they are allocated,
 * kernels (struct heddle_code, or the bytes that Lua's heddle.kernel writes),
 * and the launches.  A workload is one execution of it: it holds what changes
 * (written pages of the buffers, the host's state) and refers to the program,
 * so that many simulations can run one program.
 *
 *     heddle_program *p = heddle_program_new("vecadd");
 *     int a = heddle_program_buffer(p, "a", HEDDLE_F32, n, 0, NULL);
 *     int k = heddle_program_code(p, &code);
 *     heddle_program_launch(p, &(struct heddle_launch){.kernel = k});
 *     heddle_workload *w = heddle_program_workload(p);
 *     heddle_program_free(p);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_PROGRAM_H
#define HEDDLE_PROGRAM_H

#include "heddle_work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types of buffer elements. */
enum heddle_type {
    HEDDLE_U8,
    HEDDLE_I32,
    HEDDLE_U32,
    HEDDLE_I64,
    HEDDLE_F32,
    HEDDLE_F64,
    HEDDLE_U16,
    HEDDLE_TYPES
};

/* Bytes of one element: 1, 4, 4, 8, 4, 8, 2. */
HEDDLE_API uint32_t heddle_type_bytes(enum heddle_type t);

/*
 * A block of elements, counted by reference: its maker has one
 * reference; a buffer that starts with it takes another.  The elements must
 * not change once a buffer has them.  Generators make them.
 */
typedef struct heddle_data {
    uint32_t type; /* enum heddle_type */
    uint32_t refs;
    uint64_t count; /* elements */
    void *mem;      /* count elements, in the byte order of the machine */
} heddle_data;

/* Zeroed; returns owned, or NULL (ENOMEM, or too many elements). */
HEDDLE_API heddle_data *heddle_data_new(enum heddle_type type, uint64_t count);
HEDDLE_API heddle_data *heddle_data_ref(heddle_data *d);
HEDDLE_API void heddle_data_free(heddle_data *d); /* drops one reference */

typedef struct heddle_program heddle_program;
typedef struct heddle_host heddle_host;

enum { HEDDLE_MAX_ARGS = 16 };

/* A value: an integer, or f32 and f64 both as a double. */
union heddle_value {
    int64_t i;
    double f;
};

struct heddle_launch {
    uint32_t kernel;  /* index */
    uint32_t grid[3]; /* 0: as the kernel says */
    uint32_t args; /* how many of arg[] are set; the rest as the kernel says */
    union heddle_value arg[HEDDLE_MAX_ARGS];
    /* Where the program has streams (heddle_program_stream()).  The launches of
     * a stream run in order, those of different streams may overlap; those of
     * the default stream wait for all before them, and all others for them.  A
     * host function is called again as soon as a launch of another stream is
     * enqueued; with sync when that and all before it have retired. */
    uint32_t stream; /* 0: the default stream */
    uint32_t sync;
    uint64_t wait;   /* bit set of events: starts when the launches that were the
                        last to record them have retired */
    uint64_t record; /* events that this launch records */
};

HEDDLE_API heddle_program *heddle_program_new(const char *name);
/* Drops one reference; workloads hold others. */
HEDDLE_API void heddle_program_free(heddle_program *p);
HEDDLE_API const struct heddle_error *
heddle_program_error(const heddle_program *p);

/* Alignment of the buffers that follow: a power of two, 256 at the start. */
HEDDLE_API int heddle_program_align(heddle_program *p, uint64_t bytes);

/* The program is for warps of so many lanes, 32 or 64, and is refused by machines
 * that have others. */
HEDDLE_API int heddle_program_lanes(heddle_program *p, uint32_t lanes);

enum {
    HEDDLE_CONTENTS = 1, /* real values are kept */
    HEDDLE_SCRATCH = 2,  /* values only, without addresses; such buffers are
                          * added after all others */
    HEDDLE_TEXTURE = 4   /* loads are texture fetches */
};

/* Adds a buffer; returns its index, or an error.  `data` (may be NULL) is what
 * it starts with; takes a reference of its own.  It must have the type of the
 * buffer and no more elements. */
HEDDLE_API int heddle_program_buffer(heddle_program *p, const char *name,
                                     enum heddle_type type, uint64_t count,
                                     uint32_t flags, heddle_data *data);

/* All elements of a buffer for which it has no data begin as `value`; it keeps
 * real values then.  That takes no memory of the host, whatever the size. */
HEDDLE_API int heddle_program_fill(heddle_program *p, int buffer,
                                   union heddle_value value);

/* ---- kernels --------------------------------------------------------------
 *
 * A kernel is a list of instructions over typed registers.  Control flow is
 * structured and has no addresses: IF, ELSE, ENDIF, LOOP .. ENDLOOP and WHILE,
 * TEST .. ENDWHILE nest.  The last instruction is EXIT.
 *
 * d is the register that is written, a, b and c are read; one that is not used,
 * or may be left out, is HEDDLE_NO_REGISTER.  Of a b that is left out imm takes
 * the place: an integer, or the bits of a double.
 *
 * Memory instructions access element a + b + imm of buffer `buf` (ATOM: a +
 * imm). Of LOAD and STORE, c is the elements a lane: 1, 2, 4, 8 or 16, of at
 * most 16 bytes.  LOAD and ATOM
 * fill the scoreboard slot `aux`, 0 to 31, or none with aux 32; `wait` is the
 * set of slots that an instruction waits for.  Arithmetic has none: it is free,
 * and what takes issue slots (ALU, STORE ...) and uses its result waits.
 *
 * A LOAD with aux | HEDDLE_PAST passes the L1 cache.
 *
 * A LOAD with aux HEDDLE_COPY, or that | HEDDLE_PAST, is a copy from global to
 * shared memory that proceeds without the warp (PTX's cp.async): c elements of 4,
 * 8 or 16 bytes a lane, and no d.  With HEDDLE_BULK, too, each active lane copies
 * c times 16 bytes, one lane after the other (cp.async.bulk), from a multiple of
 * 16 bytes on.  It is one of the warp's group of copies that is open; COMMIT
 * closes that, and DRAIN waits for all that are closed but the imm newest, 0 to
 * 7.  Of 8 groups that are in flight the oldest is waited for before a ninth.
 * Their slots are 24 to 31, which no load and no name of such a kernel has, and
 * which `wait` does not mean there.
 *
 * A variable may carry a load in flight to where it is read.  There are 32
 * names for slots, each of a slot of its own at first (name n of slot n).  A
 * load with aux 96 + n fills the slot of name n, CARRY gives that slot to the
 * name of the variable, and AWAIT waits for a name's.  Such slots are filled by
 * no other loads.
 */
enum heddle_ins_op {
    HEDDLE_INS_LI,   /* d = imm; bool: 0 or 1 */
    HEDDLE_INS_SPEC, /* d = special register imm, enum heddle_special */
    HEDDLE_INS_ARG,  /* d = argument imm of the launch */
    HEDDLE_INS_MOV,  /* d = a */
    HEDDLE_INS_VAR,  /* declares variable d = a */
    HEDDLE_INS_SET,  /* active lanes of variable d = a */
    HEDDLE_INS_ADD,  /* of ints, as those up to NOT */
    HEDDLE_INS_SUB,
    HEDDLE_INS_MUL,
    HEDDLE_INS_DIV, /* floor; by 0: 0 */
    HEDDLE_INS_MOD, /* sign of the divisor; by 0: 0 */
    HEDDLE_INS_MIN,
    HEDDLE_INS_MAX,
    HEDDLE_INS_AND,
    HEDDLE_INS_OR,
    HEDDLE_INS_XOR,
    HEDDLE_INS_SHL, /* counts modulo 64 */
    HEDDLE_INS_SHR, /* keeps the sign */
    HEDDLE_INS_LSHR,
    HEDDLE_INS_NEG,
    HEDDLE_INS_NOT,
    HEDDLE_INS_FADD, /* of f32 or f64, as those up to FSQRT */
    HEDDLE_INS_FSUB,
    HEDDLE_INS_FMUL,
    HEDDLE_INS_FDIV,
    HEDDLE_INS_FMIN,
    HEDDLE_INS_FMAX,
    HEDDLE_INS_FNEG,
    HEDDLE_INS_FSQRT,
    HEDDLE_INS_LT, /* bool d = a < b, of ints */
    HEDDLE_INS_LE,
    HEDDLE_INS_GT,
    HEDDLE_INS_GE,
    HEDDLE_INS_EQ,
    HEDDLE_INS_NE,
    HEDDLE_INS_FLT, /* of f32 or f64 */
    HEDDLE_INS_FLE,
    HEDDLE_INS_FGT,
    HEDDLE_INS_FGE,
    HEDDLE_INS_FEQ,
    HEDDLE_INS_FNE,
    HEDDLE_INS_BAND, /* of bools */
    HEDDLE_INS_BOR,
    HEDDLE_INS_BXOR,
    HEDDLE_INS_BNOT,
    HEDDLE_INS_ITOF,
    HEDDLE_INS_FTOF,
    HEDDLE_INS_FTOI, /* toward zero; out of range: 0 */
    HEDDLE_INS_BTOI,
    HEDDLE_INS_SEL,  /* d = c ? a : b */
    HEDDLE_INS_PEEK, /* d = an element, without an access: a buffer with
                        contents */
    HEDDLE_INS_POKE, /* an element = d, the same way */
    HEDDLE_INS_MIX,  /* d = an element, which is combined with b, the same way; of
                        a scratch buffer */
    HEDDLE_INS_CARRY, /* names aux and imm change places (imm 32: none), once
                         the load that aux had has come */
    HEDDLE_INS_AWAIT, /* what follows waits for the names in the bit set imm */
    HEDDLE_INS_COMMIT, /* closes the warp's group of copies, be it empty */
    HEDDLE_INS_DRAIN,  /* what follows waits for its closed groups of copies, but
                          for the imm newest */
    HEDDLE_INS_IF,   /* bool a */
    HEDDLE_INS_ELSE,
    HEDDLE_INS_ENDIF,
    HEDDLE_INS_LOOP, /* for d = a; d < b; d += c or imm (aux 1: d > b) */
    HEDDLE_INS_ENDLOOP,
    HEDDLE_INS_WHILE,
    HEDDLE_INS_TEST, /* lanes without bool a leave the while */
    HEDDLE_INS_ENDWHILE,
    HEDDLE_INS_EXITIF, /* lanes with bool a are done */
    HEDDLE_INS_ALU,    /* imm arithmetic instructions; aux: their class, enum
                          heddle_class, and HEDDLE_DEPENDENT */
    HEDDLE_INS_SHARED, /* imm shared-memory instructions; aux: HEDDLE_DEPENDENT;
                          HEDDLE_ADDRESSED: one, of c bytes a lane at byte a of
                          the block's */
    HEDDLE_INS_LOAD,   /* d = an element; d may be left out */
    HEDDLE_INS_STORE,  /* an element = d; d may be left out */
    HEDDLE_INS_ATOM,   /* d = an element, which is combined with b */
    HEDDLE_INS_BAR,
    HEDDLE_INS_EXIT
};

enum heddle_special {
    HEDDLE_SPECIAL_TID, /* thread in the block */
    HEDDLE_SPECIAL_GID, /* thread in the grid, linear */
    HEDDLE_SPECIAL_TX,
    HEDDLE_SPECIAL_TY,
    HEDDLE_SPECIAL_TZ,
    HEDDLE_SPECIAL_BX,
    HEDDLE_SPECIAL_BY,
    HEDDLE_SPECIAL_BZ,
    HEDDLE_SPECIAL_BLOCK, /* block in the grid, linear */
    HEDDLE_SPECIAL_NX,    /* size of the grid */
    HEDDLE_SPECIAL_NY,
    HEDDLE_SPECIAL_NZ,
    HEDDLE_SPECIAL_LANE,
    HEDDLE_SPECIAL_WARP,
    HEDDLE_SPECIAL_LANES
};

enum heddle_register_type {
    HEDDLE_REGISTER_INT,
    HEDDLE_REGISTER_F32,
    HEDDLE_REGISTER_F64,
    HEDDLE_REGISTER_BOOL
};

#define HEDDLE_NO_REGISTER 0xffffu

/* What matters on machines with core.classes. */
enum {
    HEDDLE_ADDRESSED = 64,
    HEDDLE_DEPENDENT = 128 /* each waits for the result of the one before it */
};
enum { HEDDLE_BULK = 1, HEDDLE_COPY = 64, HEDDLE_PAST = 128 }; /* of a LOAD */

/* ATOM and MIX: imm is the offset (low 32 bits, signed), what is done (bits 32 to 35:
 * 0 add, min, max, and, or, xor, exchange, 7 compare and swap) and the register
 * to compare with (bits 48 to 63). */
struct heddle_ins {
    uint8_t op, aux;     /* enum heddle_ins_op */
    uint16_t d, a, b, c; /* registers */
    uint16_t buf;        /* of a memory instruction */
    uint32_t wait;       /* scoreboard slots, as bits */
    int64_t imm;
};

struct heddle_code_arg {
    const char *name;         /* up to 31 bytes */
    uint32_t type;            /* enum heddle_register_type, no bool */
    union heddle_value value; /* where a launch gives none */
};

struct heddle_code {
    const char *name;            /* up to 59 bytes */
    uint32_t grid[3], block[3];  /* of launches that say nothing else; 0: 1 */
    uint32_t regs, shared_bytes; /* of a thread, of a block: for occupancy */
    const uint8_t *type;         /* [registers], enum heddle_register_type */
    uint32_t registers;
    const struct heddle_ins *ins; /* [count] */
    uint32_t count;
    const struct heddle_code_arg *arg; /* [args], or NULL */
    uint32_t args;
};

/* Adds a kernel, which is checked; returns its index, or HEDDLE_EPROGRAM with
 * words. */
HEDDLE_API int heddle_program_code(heddle_program *p,
                                   const struct heddle_code *code);
/* Where the instructions of the kernel that is added next come from, which errors
 * name: no part of the program. */
struct heddle_lines {
    const char *const *file; /* [files], up to 255 */
    uint32_t files;
    const uint32_t *line; /* [count]: the file's number << 24 | line; 0: it is
                             not known */
    uint32_t count;
};
HEDDLE_API int heddle_program_lines(heddle_program *p,
                                    const struct heddle_lines *l);
/* The serialised form, which heddle.kernel writes: see program/program.h. */
HEDDLE_API int heddle_program_kernel(heddle_program *p, const void *code,
                                     size_t bytes);

/* Adds a stream, 1, 2, ... up to 32, or an event, 0, 1, ... up to 63; returns
 * its number, or an error.  A launch that waits for an event which no launch
 * before it records is an error. */
HEDDLE_API int heddle_program_stream(heddle_program *p, const char *name);
HEDDLE_API int heddle_program_event(heddle_program *p, const char *name);

/* Adds a launch to the list that is walked where there is no host. */
HEDDLE_API int heddle_program_launch(heddle_program *p,
                                     const struct heddle_launch *l);

/*
 * The host function: called before the first launch and after each kernel.
 * 1: *l is filled (it comes zeroed); 0: the application is finished; < 0: an
 * error, in words by heddle_host_fail().  It must keep no state but the bytes
 * of heddle_host_state().  `free` (may be NULL) gets ud with the program's end.
 * `text` (may be NULL) stands for the function in the workload's hash.
 */
typedef int heddle_host_fn(void *ud, heddle_host *h, struct heddle_launch *l);
HEDDLE_API int heddle_program_host(heddle_program *p, heddle_host_fn *fn,
                                   void *ud, void (*free)(void *ud),
                                   const void *text, size_t bytes);

/* What a host may do; buffers must have contents.  0 or HEDDLE_EPROGRAM,
 * recorded. */
HEDDLE_API int heddle_host_read(heddle_host *h, uint32_t buffer, uint64_t i,
                                union heddle_value *v);
HEDDLE_API int heddle_host_write(heddle_host *h, uint32_t buffer, uint64_t i,
                                 union heddle_value v);
HEDDLE_API int heddle_host_fill(heddle_host *h, uint32_t buffer,
                                union heddle_value v);
/* Gives a buffer's memory back: no later kernel may access it, until it is
 * allocated again, at the same address. */
HEDDLE_API int heddle_host_release(heddle_host *h, uint32_t buffer);
HEDDLE_API int heddle_host_allocate(heddle_host *h, uint32_t buffer);
/* What the driver may know of a buffer from the next launch on, a set of
 * HEDDLE_ADVICE_ bits that replaces the one before; and what is done to a
 * buffer's pages before that launch, in the order of the calls.  Both matter
 * where pages come from the host when they are touched. */
HEDDLE_API int heddle_host_advise(heddle_host *h, uint32_t buffer,
                                  uint32_t advice);
HEDDLE_API int heddle_host_move(heddle_host *h, uint32_t buffer,
                                enum heddle_move what);
/* Some bytes of a buffer, 1 or more, all of them in it; what is said or done
 * covers all pages that have one.  Advice: bits that are taken back from what
 * was said of a page, or of its buffer, and bits that are set. */
struct heddle_range {
    uint32_t buffer;
    uint64_t offset, bytes;
};
HEDDLE_API int heddle_host_advise_range(heddle_host *h,
                                        const struct heddle_range *r,
                                        uint32_t set, uint32_t unset);
HEDDLE_API int heddle_host_move_range(heddle_host *h,
                                      const struct heddle_range *r,
                                      enum heddle_move what);
/* A launch is asynchronous: what the host says after heddle_host_beside(), in
 * one call of its function, it does while the kernel runs, one call when the
 * one before is over; its function is called again when the kernel has retired
 * and all of them are over.  heddle_host_release() waits for the kernel there
 * (as cudaFree), heddle_host_release_async() does not (cudaFreeAsync), and like
 * heddle_host_allocate() is refused for a buffer that the kernel uses; wait()
 * is up to 10^9 ns in which it does nothing, there or before the launch. */
HEDDLE_API void heddle_host_beside(heddle_host *h);
HEDDLE_API int heddle_host_release_async(heddle_host *h, uint32_t buffer);
HEDDLE_API int heddle_host_wait(heddle_host *h, uint64_t ns);
/* Launches so far. */
HEDDLE_API uint32_t heddle_host_launched(const heddle_host *h);
/* The state: borrowed until the next heddle_host_set_state. */
HEDDLE_API const void *heddle_host_state(const heddle_host *h, size_t *bytes);
HEDDLE_API int heddle_host_set_state(heddle_host *h, const void *p,
                                     size_t bytes);
/* Records an error; returns code. */
HEDDLE_API int heddle_host_fail(heddle_host *h, int code, const char *text);

/* A workload; returns owned (heddle_workload_free), or NULL with words in
 * heddle_program_error().  The program cannot be changed afterwards. */
HEDDLE_API heddle_workload *heddle_program_workload(heddle_program *p);

#ifdef __cplusplus
}
#endif

#endif
