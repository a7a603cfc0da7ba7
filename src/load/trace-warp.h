/*
 * trace-warp.h - one warp of a text trace: registers become scoreboard slots,
 * and instructions without memory become runs.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_WARP_H
#define HD_TRACE_WARP_H

#include "trace-frame.h"
#include "trace-opcode.h"

enum {
    HD_TREG_UNIFORM = 256, /* UR0 */
    HD_TREG_PRED = 512,    /* P0 */
    HD_TREG_UPRED = 528,   /* UP0 */
    HD_TREGS = 544,
    HD_TINST_REGS = 24
};

/* What the lines of one static instruction have in common. */
struct hd_tinst {
    struct hd_opcode op;
    uint8_t bytes;
    uint8_t dsts, regs; /* reg[0 .. dsts) are written, the rest read */
    uint16_t reg[HD_TINST_REGS];
    uint32_t pc;
    uint32_t opcode; /* string of the container */
};

struct hd_twarp {
    struct hd_pack *pack;
    uint32_t warp;
    /* counted over all warps until somebody resets them */
    uint64_t insts, thread_insts, mem_insts, lane_addrs;
    bool ended; /* the last warp ended with EXIT */
    /* the open run, and an EXIT that may be the last */
    struct hd_top run, exit;
    uint64_t run_mask, exit_mask;
    bool in_run, at_exit;
    uint32_t number, longest; /* of the run; instructions of its longest chain */
    /* slots that may be occupied, and those of them that copies fill */
    uint32_t busy, copies;
    uint32_t age[32], gen[32], clock;
    struct {
        uint32_t slot, gen;
        uint32_t run, depth; /* that wrote it last; in a chain of so many */
    } reg[HD_TREGS];
};

void hd_twarp_begin(struct hd_twarp *w, uint32_t warp);
/* An instruction that touches no memory. */
void hd_twarp_plain(struct hd_twarp *w, const struct hd_tinst *i,
                    uint64_t mask);
/* A memory instruction: fills *o with its operation, which the caller packs
 * next. */
void hd_twarp_memory(struct hd_twarp *w, const struct hd_tinst *i,
                     uint64_t mask, enum hd_op_kind kind, unsigned bytes,
                     enum hd_trace_space space, struct hd_top *o);
/* The warp has no more instructions. */
void hd_twarp_end(struct hd_twarp *w);

#endif
