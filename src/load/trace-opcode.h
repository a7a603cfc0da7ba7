/*
 * trace-opcode.h - what an opcode of a trace does to memory.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_OPCODE_H
#define HD_TRACE_OPCODE_H

#include "trace.h"

enum hd_opcode_where {
    HD_OW_NONE,    /* no memory that a GPU's virtual memory sees */
    HD_OW_UNKNOWN, /* the same, but nobody told us so */
    HD_OW_GLOBAL,
    HD_OW_GENERIC, /* the address decides */
    HD_OW_LOCAL,
    HD_OW_SHARED,
    HD_OW_STAGED, /* LDGSTS: global to shared */
    HD_OW_TMA     /* bulk copies with a list of addresses */
};

struct hd_opcode {
    uint8_t where; /* enum hd_opcode_where */
    uint8_t kind;  /* enum hd_op_kind */
    uint8_t bytes; /* a lane, from the name; 0: the width field tells */
    bool exit, replay;
    bool gmma;    /* has a commit flag before the width (version 6) */
    bool collect; /* waits for asynchronous copies */
    bool async;   /* nothing but `collect` waits for it */
};

/* Reads an opcode of n characters, for example "LDG.E.128.SYS". */
void hd_opcode_read(const char *name, size_t n, struct hd_opcode *out);

#endif
