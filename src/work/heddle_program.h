/*
 * heddle_program.h - kernel programs: buffers, kernels as bytecode, a host.
 *
 * A program is built once: buffers in the order in which they are allocated,
 * kernels (bytecode as heddle.kernel writes it; program/program.h describes it),
 * and the launches.  A workload is one execution of it: it holds what changes
 * (written pages of the buffers, the host's state) and refers to the program,
 * so that many simulations can run one program.
 *
 *     heddle_program *p = heddle_program_new("vecadd");
 *     int a = heddle_program_buffer(p, "a", HEDDLE_F32, n, 0, NULL);
 *     int k = heddle_program_kernel(p, code, bytes);
 *     heddle_program_launch(p, &(struct heddle_launch){.kernel = k});
 *     heddle_workload *w = heddle_program_workload(p);
 *     heddle_program_free(p);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_PROGRAM_H
#define HEDDLE_PROGRAM_H

#include "heddle_work.h"

/* Types of buffer elements. */
enum heddle_type {
    HEDDLE_U8,
    HEDDLE_I32,
    HEDDLE_U32,
    HEDDLE_I64,
    HEDDLE_F32,
    HEDDLE_F64,
    HEDDLE_TYPES
};

/* Bytes of one element: 1, 4, 4, 8, 4, 8. */
uint32_t heddle_type_bytes(enum heddle_type t);

/*
 * A block of elements, counted by reference: who makes one has one
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
heddle_data *heddle_data_new(enum heddle_type type, uint64_t count);
heddle_data *heddle_data_ref(heddle_data *d);
void heddle_data_free(heddle_data *d); /* drops one reference */

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
};

heddle_program *heddle_program_new(const char *name);
/* Drops one reference; workloads hold others. */
void heddle_program_free(heddle_program *p);
const char *heddle_program_error(const heddle_program *p);

/* Alignment of the buffers that follow: a power of two, 256 at the start. */
int heddle_program_align(heddle_program *p, uint64_t bytes);

enum {
    HEDDLE_CONTENTS = 1, /* real values are kept */
    HEDDLE_SCRATCH = 2,  /* values only, without addresses; such buffers are
                          * added after all others */
    HEDDLE_TEXTURE = 4   /* loads are texture fetches */
};

/* Adds a buffer; returns its index, or an error.  `data` (may be NULL) is what
 * it starts with; takes a reference of its own.  It must have the type of the
 * buffer and no more elements. */
int heddle_program_buffer(heddle_program *p, const char *name,
                          enum heddle_type type, uint64_t count, uint32_t flags,
                          heddle_data *data);

/* Adds a kernel; returns its index, or HEDDLE_EPROGRAM with words. */
int heddle_program_kernel(heddle_program *p, const void *code, size_t bytes);

/* Adds a launch to the list that is walked where there is no host. */
int heddle_program_launch(heddle_program *p, const struct heddle_launch *l);

/*
 * The host function: called before the first launch and after each kernel.
 * 1: *l is filled (it comes zeroed); 0: the application is finished; < 0: an
 * error, in words by heddle_host_fail().  It must keep no state but the bytes
 * of heddle_host_state().  `free` (may be NULL) gets ud with the program's end.
 * `text` (may be NULL) stands for the function in the workload's hash.
 */
typedef int heddle_host_fn(void *ud, heddle_host *h, struct heddle_launch *l);
int heddle_program_host(heddle_program *p, heddle_host_fn *fn, void *ud,
                        void (*free)(void *ud), const void *text, size_t bytes);

/* What a host may do; buffers must have contents.  0 or HEDDLE_EPROGRAM,
 * recorded. */
int heddle_host_read(heddle_host *h, uint32_t buffer, uint64_t i,
                     union heddle_value *v);
int heddle_host_write(heddle_host *h, uint32_t buffer, uint64_t i,
                      union heddle_value v);
int heddle_host_fill(heddle_host *h, uint32_t buffer, union heddle_value v);
/* Gives a buffer's memory back: no later kernel of this run may access it. */
int heddle_host_release(heddle_host *h, uint32_t buffer);
/* What the driver may know of a buffer from the next launch on, a set of
 * HEDDLE_ADVICE_ bits that replaces the one before; and what is done to a
 * buffer's pages before that launch, in the order of the calls.  Both matter
 * where pages come from the host when they are touched. */
int heddle_host_advise(heddle_host *h, uint32_t buffer, uint32_t advice);
int heddle_host_move(heddle_host *h, uint32_t buffer, enum heddle_move what);
/* Launches so far. */
uint32_t heddle_host_launched(const heddle_host *h);
/* The state: borrowed until the next heddle_host_set_state. */
const void *heddle_host_state(const heddle_host *h, size_t *bytes);
int heddle_host_set_state(heddle_host *h, const void *p, size_t bytes);
/* Records an error; returns code. */
int heddle_host_fail(heddle_host *h, int code, const char *text);

/* A workload; returns owned (heddle_workload_free), or NULL with words in
 * heddle_program_error().  The program cannot be changed afterwards. */
heddle_workload *heddle_program_workload(heddle_program *p);

#endif
