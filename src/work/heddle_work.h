/*
 * heddle_work.h - workloads: traces, and works, whose instructions functions
 * make (plug-ins in C).  What every kind of them has in common is in heddle.h.
 *
 * A work is one const struct of functions.  The engine asks them for buffers,
 * launches, and the instructions of each warp, one at a time and in order; it
 * cannot tell the result from a kernel program or a trace.
 *
 * What changes while it runs is in the simulation's arena, so that snapshots
 * contain it: `shared`, one for the workload, and `state`, one for each
 * resident warp, of the sizes that the work declares.  It must not hold
 * pointers.  What open() returned does not change while it runs (a graph, an
 * open file that is read by position); it is outside of snapshots.
 *
 * Equal input must give equal bits: no clock, no address, no random
 * numbers but heddle_work_random().  What a warp does may depend on its own
 * state and on `shared`; the order in which warps are asked is that of the
 * machine, and differs from machine to machine.
 *
 * Whatever a function answers is checked; what breaks a rule stops the run with
 * kernel, block, warp and instruction (HEDDLE_EPROGRAM).  Functions return 0,
 * or a negative HEDDLE_E code, which stops the run, too: with the words of
 * heddle_work_fail(), if it was called.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_WORK_H
#define HEDDLE_WORK_H

#include "heddle.h"
#include "policy.h" /* struct heddle_param */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- traces ---------------------------------------------------------------
 *
 * Accel-Sim's text (kernelslist.g with .traceg, .traceg.xz or .tracez, of
 * tracer versions 1 to 6) is read once, when it is opened, with a thread that
 * unpacks ahead; what is replayed is the compact form of heddle's own container
 * (.hdt, `heddle trace convert`), so both give the same results.
 */

enum {                                /* what headers can say */
       HEDDLE_TRACE_REGISTERS = 255,  /* of a thread, at most */
       HEDDLE_TRACE_SHARED = 1 << 24, /* bytes of a block, at most */
       HEDDLE_TRACE_BINARY = 35,      /* version, at least: sm_35 */
       HEDDLE_TRACE_BINARY_MOST = 999,
       HEDDLE_TRACE_TIMES = 1 << 20 /* that kernels run, at most */
};

struct heddle_trace_options {
    uint32_t context;  /* which address space, 0, 1, ... */
    uint64_t keep;     /* bytes of the compact form of a text trace that are
                          kept in memory; the rest goes to a temporary file in
                          TMPDIR.  0: 64 MB */
    uint64_t resident; /* bytes of unpacked blocks; more is an error.  0:
                          256 MB */
    /* What the headers of all kernels are to say; 0: what they do. */
    uint32_t registers, binary_version;
    uint32_t shared_bytes; /* where repair_shared is set, too: 0 is a size */
    int repair_shared;
    int strict;  /* what is most likely wrong (heddle_trace.h) is an error */
    int classes; /* a text is read with the classes of its instructions, what
                    depends on what, and addresses in shared memory: for
                    core.classes */
    int streams; /* kernels of different streams overlap */
    /* Which kernels, separated by commas: numbers in the order of the trace,
     * from 1, ranges (5-8, 5-), and extended regular expressions that are found
     * in a name, in which a point stands for a comma.  NULL: all. */
    const char *kernels;
    /* Which blocks of each of them: so many, the first ("64"), or those with
     * such an index in its grid ("64-127").  NULL: all. */
    const char *blocks;
    int repair; /* of a text: headers with more registers than a thread can have
                   get as many as their instructions name */
    uint32_t times; /* so often all of this runs; 0: once */
};

/*
 * Opens a list of kernels, a directory with lists, a single kernel, or a
 * container, and makes a workload of one of its address spaces.  Returns owned
 * (heddle_workload_free), or NULL.  o may be NULL.
 */
HEDDLE_API heddle_workload *
heddle_trace_open(const char *path, const struct heddle_trace_options *o,
                  struct heddle_error *error);

/* ---- works --------------------------------------------------------------- */

/* The interface that a plug-in was compiled for, which it states, and the
 * oldest that is still taken; a later one than heddle's own is refused.
 * Between these two, the structures below have only grown at their ends. */
#define HEDDLE_WORK_ABI        3
#define HEDDLE_WORK_ABI_OLDEST 3

enum {
    HEDDLE_WORK_LANES = 64,      /* the most that a warp has */
    HEDDLE_WORK_SLOTS = 32,      /* of a warp's scoreboard */
    HEDDLE_WORK_RUN = 1 << 30,   /* the most instructions of an ALU run */
    HEDDLE_WORK_BUFFERS = 1024,  /* the most buffers */
    HEDDLE_WORK_THREADS = 4096,  /* the most threads of a block */
    HEDDLE_WORK_STATE = 1 << 20, /* the most bytes of `state` */
};

/* A buffer: addresses without contents.  They are placed one after the other,
 * as those of kernel programs, and each application has its own addresses. */
struct heddle_work_buffer {
    char name[32];  /* of no other one */
    uint64_t bytes; /* at least 1, less than 16 TB in all */
    uint64_t align; /* of its address: a power of two up to 2^30; 0: 256 */
};

struct heddle_work_launch {
    char name[64];               /* of the kernel */
    uint32_t grid[3], block[3];  /* blocks; threads of one; 0 counts as 1 */
    uint32_t regs, shared_bytes; /* of a thread, of a block: for occupancy */
};

/*
 * An instruction; it comes zeroed.  Behind a load, a store or an atomic the
 * next call is access(); behind an exit there is none.
 *
 * A load does not wait: it fills a slot of its warp's scoreboard, and the
 * instruction that has this slot in its `wait` set does not issue before the
 * data has come.  Slots count from 1; 0: nothing waits.  A load that fills a
 * slot which is occupied waits for it.  An ALU run waits before its first
 * instruction; whatever follows waits for the latency after its last, so a
 * run is to be given as one.
 */
struct heddle_work_op {
    uint32_t kind;  /* enum heddle_op */
    uint32_t count; /* of an ALU run: 1 to HEDDLE_WORK_RUN; else ignored */
    uint32_t bytes; /* a lane accesses: 1, 2, 4, 8 or 16 */
    uint32_t slot;  /* that a load or an atomic fills: 1 to 32, or 0 */
    uint32_t wait;  /* bit i: wait for slot i + 1 */
    uint32_t pc;    /* for traces and policies that tell instructions apart */
    uint64_t mask;  /* active lanes, of those that have a thread; 0: all */
};

/* Where the lanes of a memory instruction access; it comes zeroed. */
struct heddle_work_access {
    uint32_t buffer;    /* by its number */
    uint32_t scattered; /* not 0: byte[] is set where the mask is */
    int64_t base;   /* else: byte of lane 0 in the buffer, if active or not */
    int64_t stride; /* and bytes from lane to lane */
    uint64_t *byte; /* [HEDDLE_WORK_LANES], not zeroed: of each lane */
};

/* What the functions get. */
struct heddle_work_call {
    void *self;       /* what open() returned */
    void *shared;     /* the workload's state, NULL if it has none */
    void *state;      /* the warp's, NULL if it has none, or out of a warp */
    void **kept;      /* the same of what hold() keeps; NULL at the start */
    uint32_t launch;  /* in progress, 1, 2, ...; in launch(): that is wanted */
    uint32_t warp;    /* of its block */
    uint64_t block;   /* linear: x + grid[0] * (y + grid[1] * z) */
    uint64_t count;   /* instructions that the warp has given before */
    uint64_t threads; /* lanes of the warp that have a thread, as a mask */
    uint32_t lanes;   /* a warp: 32 or 64 */
    const struct heddle_work_launch *kernel; /* in progress */
    void *engine;                            /* for heddle_work_fail() */
    int (*stop)(struct heddle_work_call *c, int code, const char *text);
};

/* What open() gets. */
struct heddle_work_open {
    const uint64_t *params; /* in the order of the table */
    const char *argument;   /* a text of the user's, or NULL */
    void *ud;               /* of heddle_work_options */
    void *engine;           /* for the functions below */
    void (*hash)(struct heddle_work_open *o, const void *bytes, size_t n);
    void (*refuse)(struct heddle_work_open *o, int code, const char *text);
};

struct heddle_work {
    uint32_t abi;     /* HEDDLE_WORK_ABI */
    const char *name; /* 1 to 63 bytes */
    const char *summary, *source;
    const struct heddle_param *params; /* ends with a NULL name, or NULL */

    /* Makes what the workload needs; NULL after heddle_work_refuse().  May be
     * NULL: self is then `ud`.  close() gives it back. */
    void *(*open)(struct heddle_work_open *o);
    void (*close)(void *self);
    /* Bytes of `shared` and of `state`; NULL: none. */
    size_t (*shared_bytes)(void *self);
    size_t (*state_bytes)(void *self);
    /* The i-th buffer: 1, or 0 past the last. */
    int (*buffer)(void *self, uint32_t i, struct heddle_work_buffer *out);

    /* The launch of number c->launch, when the one before has retired: 1, or 0
     * at the end.  An application that starts again starts with number 1 and
     * `shared` zeroed. */
    int (*launch)(struct heddle_work_call *c, struct heddle_work_launch *out);
    /* Whether the i-th buffer has been given back when launch() returns; no
     * later access may touch it.  May be NULL: none. */
    int (*gone)(struct heddle_work_call *c, uint32_t buffer);
    /* A warp starts; its state is zeroed.  May be NULL. */
    int (*start)(struct heddle_work_call *c);
    /* The warp's next instruction. */
    int (*next)(struct heddle_work_call *c, struct heddle_work_op *op);
    /* Where the memory instruction that next() gave accesses: asked once, when
     * it issues. */
    int (*access)(struct heddle_work_call *c, struct heddle_work_access *out);

    /* Where a warp has something outside of the arena (what a coroutine gave),
     * *c->kept points to it.  It is counted: hold() is one user more, for a
     * snapshot, drop() one less.  It can be found in another workload of the
     * same hash.  It is in no file: there a warp starts again and is asked for
     * what it had given.  Both NULL: there is nothing. */
    void (*hold)(void *kept);
    void (*drop)(void *kept);
    const void *later[8]; /* NULL: members of later versions go here */
};

/*
 * Loads "./x.so", which exports
 *     const struct heddle_work *heddle_work_entry(void);
 * The library stays loaded.  NULL on error.
 */
HEDDLE_API const struct heddle_work *
heddle_work_load(const char *path, struct heddle_error *error);

struct heddle_work_options {
    const char *const *names; /* [n]: of parameters; the rest keep defaults */
    const uint64_t *values;   /* [n] */
    uint32_t n;
    const char *argument; /* for open(), or NULL */
    const char *path;     /* of the plug-in: its bytes are hashed; or NULL */
    void *ud;             /* for open() */
};

/*
 * A workload of a work, which is borrowed until the workload is freed; `o` may
 * be NULL.  Returns owned (heddle_workload_free), or NULL.
 */
HEDDLE_API heddle_workload *heddle_work_new(const struct heddle_work *work,
                                            const struct heddle_work_options *o,
                                            struct heddle_error *error);

/* ---- for works -------------------------------------------------------- */

/* They reach the engine by what they are given, so that a plug-in needs no
 * symbol of the program that loads it. */

/* In open(): what else defines the workload (the bytes of a file, say) becomes
 * part of its hash. */
static inline void heddle_work_hash(struct heddle_work_open *o,
                                    const void *bytes, size_t n)
{
    o->hash(o, bytes, n);
}

/* In open(): says why it returns NULL. */
static inline void heddle_work_refuse(struct heddle_work_open *o, int code,
                                      const char *text)
{
    o->refuse(o, code, text);
}

/* In the other functions: stops the run with this text, and where it happened
 * before it.  Returns `code`, HEDDLE_EPROGRAM if that is not negative. */
static inline int heddle_work_fail(struct heddle_work_call *c, int code,
                                   const char *text)
{
    return c->stop(c, code, text);
}

/* Draw n of a stream under a seed: the same on every machine. */
static inline uint64_t heddle_work_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t heddle_work_random(uint64_t seed, uint64_t stream,
                                          uint64_t n)
{
    return heddle_work_mix(heddle_work_mix(seed ^ heddle_work_mix(stream)) +
                           heddle_work_mix(n));
}

#ifdef __cplusplus
}
#endif

#endif
