/*
 * heddle_survey.h - what a workload asks of a memory system, measured without
 * time: what its instructions touch, what it touches again, and in what order.
 *
 * The workload runs to its end with as many blocks resident as a machine has
 * room for, each warp advancing to its next memory instruction in turn; real
 * contents are computed on the way.  Latencies and schedulers play no part,
 * so what a TLB of a machine misses is a simulation's to say.
 *
 * A page is 4 KB, a line 128 bytes.  One *access* is one page that one warp
 * instruction touches.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_SURVEY_H
#define HEDDLE_SURVEY_H

#include "heddle_work.h"

/* What a machine holds: so many cores, and the limits of each. */
struct heddle_survey_room {
    uint32_t cores;        /* 0: one block at a time */
    uint32_t blocks;       /* a core */
    uint32_t warps;        /* a core */
    uint32_t threads;      /* a core */
    uint64_t regs;         /* a core */
    uint64_t shared_bytes; /* a core */
};

struct heddle_survey_options {
    uint32_t lanes;         /* of a warp: 32 or 64; 0: 32 */
    uint32_t columns, rows; /* of the picture, at most; 0: no picture */
    uint64_t limit;    /* warp instructions after which it is cut; 0: none */
    uint32_t launches; /* stop after so many; 0: never */
    uint32_t every;    /* only blocks 0, every, 2 every, ..; 0: all of them */
    struct heddle_survey_room room;
    int (*stop)(void *ud); /* asked now and then, may be NULL; not 0 ends it */
    void *ud;
};

/* Most lines or pages of one instruction, plus one for none. */
#define HEDDLE_SURVEY_MOST 129

/* What the launches of one kernel did, summed over them. */
struct heddle_survey_kernel {
    char name[64];
    uint64_t launches, blocks;
    uint64_t instructions;        /* warp instructions */
    uint64_t thread_instructions; /* times their active lanes */
    uint64_t divergent;           /* of the warp instructions: some threads of
                                     the warp had left or stood aside */
    uint64_t alu, loads, stores, atomics, barriers;
    uint64_t lanes;      /* active in memory instructions */
    uint64_t lines;      /* touched, an instruction at a time */
    uint64_t pages;      /* the same: accesses */
    uint64_t load_lanes; /* of loads alone */
    uint64_t load_lines;
    uint64_t line_hist[HEDDLE_SURVEY_MOST]; /* instructions by lines */
    uint64_t page_hist[HEDDLE_SURVEY_MOST]; /* and by pages */
    /* touched by a launch, summed over launches: */
    uint64_t pages_touched;
    uint64_t pages_before; /* of them: by an earlier launch, too */
    uint64_t pages_other;  /* of them: by another kernel before */
    uint64_t lines_touched;
    uint64_t lines_before;
};

/* What the memory instructions of a kernel did to one allocation; an
 * instruction belongs to that of its first active lane. */
struct heddle_survey_use {
    uint64_t instructions; /* with an active lane */
    uint64_t lanes, lines, pages;
};
enum { HEDDLE_SURVEY_KINDS = 3 }; /* loads, stores, atomics */

/* Classes of reuse: an access whose page was touched before, with so many
 * distinct pages since (itself included) as the class allows. */
enum { HEDDLE_SURVEY_REUSE = 7 };

struct heddle_survey_result {
    uint32_t kernels; /* distinct, in the order of their first launch */
    uint32_t launches;
    uint32_t allocs; /* allocations, in the order of heddle_workload_alloc() */
    int cut;         /* the limit ended it */
    uint64_t allocated;                /* bytes of all allocations */
    uint64_t allocated_pages;          /* pages that they are in */
    uint64_t pages, lines;             /* distinct, touched */
    uint64_t once;                     /* pages with a single access */
    uint64_t first_pages, first_lines; /* touched by the first launch */
    /* accesses by class: the bound of class i is in reuse_bound[i]; the last
     * class but one has no bound, the last is the first touch of a page */
    uint64_t reuse[HEDDLE_SURVEY_REUSE];
    uint64_t reuse_bound[HEDDLE_SURVEY_REUSE];
    /* the picture: accesses by time and page */
    uint32_t columns, rows;   /* of them used */
    uint64_t column_accesses; /* memory instructions a column stands for */
    uint64_t row_pages;       /* pages a row stands for */
    uint64_t base;            /* address at which the first row begins */
};

typedef struct heddle_survey heddle_survey;

/*
 * Surveys a workload that no simulation uses.  0 with *out owned by the caller
 * (heddle_survey_free), or a negative code with words in `error`, or what
 * stop() returned.
 */
int heddle_survey_run(heddle_workload *w, const struct heddle_survey_options *o,
                      heddle_survey **out, char *error, size_t room);
void heddle_survey_free(heddle_survey *s);

/* Borrowed until the survey is freed. */
const struct heddle_survey_result *heddle_survey_result(const heddle_survey *s);
/* i < kernels, else NULL. */
const struct heddle_survey_kernel *heddle_survey_kernel(const heddle_survey *s,
                                                        uint32_t i);
/* kind: 0 loads, 1 stores, 2 atomics; NULL past the last kernel, allocation
 * or kind, and for workloads of more than 1024 allocations. */
const struct heddle_survey_use *heddle_survey_use(const heddle_survey *s,
                                                  uint32_t kernel,
                                                  uint32_t alloc,
                                                  uint32_t kind);
/* Accesses of one cell; row 0 holds the lowest addresses. */
uint64_t heddle_survey_cell(const heddle_survey *s, uint32_t column,
                            uint32_t row);
/* The kernel (index) that launch i (from 0) ran, and the memory instructions
 * before it; HEDDLE_EINVAL past the last. */
int heddle_survey_launch(const heddle_survey *s, uint32_t i, uint32_t *kernel,
                         uint64_t *start);

/* ---- instruction by instruction --------------------------------------------
 *
 * Every instruction of every warp, with its lanes and addresses, in one fixed
 * order: launches one after the other; the blocks of a launch by number; in a
 * block each warp up to its next barrier or its end, warps by number, again
 * until all have ended.  Kernel programs compute real contents on the way, so
 * that addresses which depend on data are real, in this order.  heddle's naive
 * twin (heddle.twin) does the same.
 */

struct heddle_each_op {
    const char *kernel;
    uint32_t launch; /* 1, 2, ... */
    uint32_t warp;   /* in the block */
    uint64_t block;
    uint32_t kind;  /* enum heddle_op */
    uint32_t bytes; /* a lane; ALU: instructions of a group, 0: core.ilp */
    uint32_t count; /* instructions: 1 but for ALU runs; 0: none of its own */
    uint32_t pc;
    uint32_t lanes; /* of a warp */
    int local;      /* local memory, not global */
    int texture;    /* global memory, fetched as a texture */
    uint64_t mask;  /* active lanes; not known (all ones) for alu, barrier */
    const char *opcode;      /* in a dump (heddle_trace.h), else NULL */
    const uint64_t *address; /* [lanes], valid where the mask is set */
};

struct heddle_each_options {
    uint32_t lanes;    /* 32 or 64; 0: 32 */
    uint32_t launches; /* stop after so many; 0: never */
    uint32_t every;    /* only blocks 0, every, 2 every, ..; 0: all of them */
    uint32_t first;    /* launches before it are run, whole, and not shown, or
                          what they leave was kept (heddle_ahead) */
};

/* Called for each instruction; not 0 ends it, which returns it. */
typedef int heddle_each_fn(void *ud, const struct heddle_each_op *op);

/*
 * Runs a workload that no simulation uses.  0, what fn returned, or a
 * negative code with words in `error`.  `o` may be NULL.
 */
int heddle_each(heddle_workload *w, const struct heddle_each_options *o,
                heddle_each_fn *fn, void *ud, char *error, size_t room);

/*
 * Runs up to launch number `launch` (1, 2, ..; 0: the one with the most memory
 * instructions, for which all are run) in warps of so many lanes (0: 32), and
 * keeps what those before it leave: a simulation with such warps and that
 * sim.first_kernel, or a later one, begins there, instead of running them
 * again. Kernel programs only; what was kept before is forgotten.  `stop` is
 * asked now and then, and may be NULL; not 0 ends it.  Returns the launch, or a
 * negative code with words in `error`, or what stop() returned.
 */
int heddle_ahead(heddle_workload *w, uint32_t lanes, uint32_t launch,
                 int (*stop)(void *ud), void *ud, char *error, size_t room);

/* One allocation of a workload. */
struct heddle_workload_alloc {
    char name[32];
    uint64_t base, bytes;
};

/* The i-th allocation; HEDDLE_EINVAL past the last. */
int heddle_workload_alloc(heddle_workload *w, uint32_t i,
                          struct heddle_workload_alloc *out);

#endif
