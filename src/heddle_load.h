/*
 * heddle_load.h - workloads: what every kind of them has in common, and
 * blocks of data that buffers start with.
 *
 * A workload is made by heddle_program.h, heddle_trace.h or heddle_work.h and
 * given to heddle_new(), which shares it until heddle_free().  It serves one
 * simulation at a time.
 *
 * In Lua a workload is a userdata with the metatable "heddle.workload" whose
 * block begins with a heddle_workload *; data is a userdata with the
 * metatable "heddle.data" whose block begins with a heddle_data *.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_LOAD_H
#define HEDDLE_LOAD_H

#include "heddle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Frees a workload; one that a simulation uses is freed with that.  NULL is
 * allowed. */
HEDDLE_API void heddle_workload_free(heddle_workload *w);
HEDDLE_API const char *heddle_workload_name(const heddle_workload *w);
/* xxh3 of everything that defines it. */
HEDDLE_API uint64_t heddle_workload_hash(const heddle_workload *w);

/* What an instruction of a warp is. */
enum heddle_op {
    HEDDLE_OP_ALU, /* a run of instructions without an access */
    HEDDLE_OP_LOAD,
    HEDDLE_OP_STORE,
    HEDDLE_OP_ATOMIC,
    HEDDLE_OP_BARRIER, /* waits for all live warps of the block */
    HEDDLE_OP_EXIT,    /* the warp is done */
    HEDDLE_OPS
};

/* "alu", "load", ... */
HEDDLE_API const char *heddle_op_name(unsigned op);

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
HEDDLE_API uint32_t heddle_type_bytes(enum heddle_type t);

/*
 * A block of elements, counted by reference: whoever makes one has one
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

#ifdef __cplusplus
}
#endif

#endif
