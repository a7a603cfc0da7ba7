/*
 * source.h - where an application's instructions come from.
 *
 * A source is a kernel program (program/program.h, program/lane.h), a trace
 * (trace/trace.h), or functions of a plug-in or a script (work.c).  The
 * core sees all of them through this table of functions: it asks for launches,
 * starts thread blocks, and takes the instructions of each warp one at a time,
 * in order.  Whatever changes while a simulation runs (registers, positions)
 * is in the simulation's arena; what does not (bytecode, decoded blocks) is
 * outside and is found again after a restore.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_SOURCE_H
#define HD_SOURCE_H

#include "kit/base.h"
#include "kit/diag.h"
#include "heddle.h"

struct hd_env;
struct hd_bytes; /* kit/grow.h */
struct hd_cursor;

/* Kinds of instructions, beside those of enum heddle_op. */
enum {
    HD_OP_MEET = HEDDLE_OPS, /* stops until all warps of its block have, which
                                are then regrouped; with an empty mask its
                                threads have exited */
    HD_OP_SHARED, /* a run of `count` instructions of shared memory, where they
                     go through the load/store unit (hd_env.apart); else they
                     are counted in runs */
    HD_OP_PAST /* of no source: a load of HD_SPACE_PAST at the load/store unit
                */
};

enum hd_space {
    HD_SPACE_GLOBAL,
    HD_SPACE_LOCAL,
    HD_SPACE_TEXTURE,  /* global memory, fetched as a texture */
    HD_SPACE_PAST,     /* global memory, loaded past the L1 cache */
    HD_SPACE_COPY,     /* global memory, copied to shared memory: */
    HD_SPACE_COPY_PAST /* the slot is HD_SLOT_MANY or more; past the L1 cache */
};

#define HD_NO_SLOT 0xffu
/* A copy has HD_SLOT_MANY + s: it joins those that are in flight in slot s,
 * which is occupied until all of them have come. */
enum { HD_SLOT_MANY = 32 };

/* A memory instruction? */
static inline bool hd_op_memory(unsigned kind)
{
    return kind - HEDDLE_OP_LOAD <= HEDDLE_OP_ATOMIC - HEDDLE_OP_LOAD;
}

/*
 * The next instruction of a warp, as far as scheduling needs it.  A load (or
 * an atomic that returns a value) occupies one of 32 scoreboard slots from
 * issue until its data has come; an instruction may issue once no slot of its
 * `wait` set is occupied.  A source that runs out of slots makes the load
 * wait for the slot that it reuses; a copy waits for none (HD_SLOT_MANY).  An
 * ALU run waits before its first instruction; its instructions issue in groups,
 * back to back in each (core.ilp), and whatever follows in the warp waits for
 * the ALU latency after the last of them.
 */
struct hd_op {
    uint8_t kind;   /* enum heddle_op, HD_OP_MEET, HD_OP_SHARED */
    uint8_t slot;   /* scoreboard slot it fills, or HD_NO_SLOT */
    uint8_t bytes;  /* a lane: 1, 2, 4, 8 or 16; of an ALU run: instructions of
                       a group, if its source knows, instead of core.ilp */
    uint8_t space;  /* enum hd_space */
    uint32_t wait;  /* bit set of slots that must be empty */
    uint32_t count; /* instructions in an ALU run, >= 1; else 1, or 0: part
                       of the instruction before (a bulk copy continues), an
                       exit that a trace does not have, or a meeting; not
                       counted then */
    uint32_t pc;    /* of the (first) instruction, for traces and tables */
    uint64_t mask;  /* active lanes; a memory op with none only takes a slot */
};

/* What core.classes needs to know of it, too.  `first` is what the instruction,
 * or the first of a run, depends on: bit d is the (d + 1)-th instruction before
 * it in its warp, bit 31 that one or any before. */
struct hd_detail {
    uint8_t kind; /* enum heddle_class */
    bool
        addressed; /* of shared memory: access() says where, `bytes` how much */
    uint32_t first;
    uint32_t each; /* what the others of a run depend on, each */
};

/* The lanes' addresses of a memory instruction, filled when it issues. */
struct hd_access {
    const hd_va *lane; /* [lanes] where the mask is set, or NULL: affine */
    hd_va base;        /* affine: address of lane 0 (even if inactive) */
    int64_t stride;    /* affine: bytes from lane to lane */
};

/* Threads of a block that are regrouped (thread block compaction). */
struct hd_group {
    /* Whether a thread of warp `warp', in its lane, may join a warp that is
     * formed for the instruction at pc and has threads of those of `members'.
     * NULL: all may. */
    bool (*may_join)(void *self, uint32_t pc, uint32_t warp, uint32_t lane,
                     uint64_t members);
    void *self;
    /* What comes of it: */
    uint32_t ctx;     /* the block's, for the warps that continue */
    uint32_t threads; /* in them */
    bool moved;       /* they are others than those that stopped */
};

/* The address of an active lane. */
static inline uint64_t hd_access_lane(const struct hd_access *a, unsigned lane)
{
    return a->lane != NULL ? a->lane[lane].v
                           : a->base.v + (uint64_t)a->stride * lane;
}

/* Where the buffers of programs and works are, one after the other. */
#define HD_VA_FIRST UINT64_C(0x7f0000000000)
#define HD_VA_BYTES UINT64_C(0x100000000000) /* room: 16 TB */

/* Streams of an application beside the default one, which is number 0, and
 * events.  A block is numbered in its launch, and has the number of the
 * launch's stream above that. */
enum {
    HD_STREAMS = 32,
    HD_STREAM_EVENTS = 64,
    HD_STREAM_LAUNCHES = 64, /* that have not retired, of an application */
    HD_STREAM_SHIFT = 40
};

static inline uint64_t hd_stream_block(uint32_t stream, uint64_t block)
{
    return (uint64_t)stream << HD_STREAM_SHIFT | block;
}

static inline uint32_t hd_block_stream(uint64_t number)
{
    return (uint32_t)(number >> HD_STREAM_SHIFT);
}

static inline uint64_t hd_block_number(uint64_t number)
{
    return number & ((UINT64_C(1) << HD_STREAM_SHIFT) - 1);
}

/* One kernel launch. */
struct hd_launch {
    char name[64];
    uint32_t id; /* 1, 2, ... in the order of the application */
    uint32_t grid[3], block[3];
    uint64_t blocks;       /* product of grid (a trace may hold fewer) */
    uint32_t threads;      /* a block */
    uint32_t warps;        /* a block */
    uint32_t lanes;        /* a warp: 32 or 64 */
    uint32_t regs;         /* a thread, for occupancy */
    uint32_t shared_bytes; /* a block, for occupancy */
    /* of a source that has streams: */
    uint32_t stream;       /* 0: the default one */
    uint32_t sync;         /* 1: its host waits for all launches so far */
    uint32_t ticket;       /* see hd_source_ops.begin */
    uint64_t wait, record; /* bit sets of events */
};

/* A thread's registers are allotted in units of this (GPGPU-Sim). */
enum { HD_REGS_UNIT = 4 };

/* Registers that a block holds: those of all lanes of its warps. */
static inline uint64_t hd_launch_regs(const struct hd_launch *l)
{
    uint64_t units = hd_ceil_div(l->regs, HD_REGS_UNIT);

    return units * HD_REGS_UNIT * l->warps * l->lanes;
}

/* An allocation of an application, in order. */
struct hd_alloc {
    char name[32];
    hd_va base;
    uint64_t bytes;
};

/* What an application's host says of an allocation, or does to it. */
struct hd_hint {
    uint32_t alloc;
    uint32_t what;          /* enum heddle_move, or one of these */
    uint32_t set, unset;    /* HD_HINT_ADVICE: HEDDLE_ADVICE_ */
    uint64_t offset, bytes; /* of it; bytes 0: all */
    uint64_t ns;            /* HD_HINT_WAIT */
};
enum { HD_HINT_ALL_ADVICE = 15 };
enum {
    HD_HINT_ADVICE = 4,
    HD_HINT_GONE,  /* see gone(): at once, */
    HD_HINT_FREED, /* or when the launch has retired */
    HD_HINT_WAIT   /* the host does nothing for a time */
};

struct hd_source_ops {
    /* Binds the source to a simulation as application `app`: takes its state
     * from the arena.  `lanes` is the machine's warp size, `slots` the most
     * warps that can be resident at once on all cores.  0 or an error. */
    int (*bind)(void *self, struct hd_env *env, uint32_t app, uint32_t lanes,
                uint32_t slots);
    /* The i-th allocation; false past the last. */
    bool (*alloc)(void *self, uint32_t i, struct hd_alloc *out);
    /* How often the application has given the i-th allocation back, or taken it
     * again, since it started; odd: it does not have it.  NULL: it never does.
     */
    uint32_t (*gone)(void *self, uint32_t i);
    /* The next that its host has to say before the launch that was asked for,
     * and has not said; false: no more.  NULL: it never does. */
    bool (*hint)(void *self, struct hd_hint *out);
    /* The next that it has to say while the launch runs; false: no more.  NULL:
     * it never does. */
    bool (*beside)(void *self, struct hd_hint *out);
    /* Starts the application again from its first launch: buffer contents
     * restored, the same addresses (relaunch). */
    int (*restart)(void *self);
    /* Prepares the next launch, called when the one before has retired (or at
     * the start).  1: filled; 0: the application is finished; < 0: error. */
    int (*launch)(void *self, struct hd_launch *out);
    /* The launch that had this ticket starts, in its stream.  Only a source
     * that has streams has it: it is asked for further launches while some have
     * not started or not retired, at most HD_STREAM_LAUNCHES, and a block's
     * number says which launch is meant. */
    int (*begin)(void *self, const struct hd_launch *l);
    /* Starts block number `block` of the current launch; *ctx names it from
     * now on.  0 or an error (recorded in env->err). */
    int (*block_start)(void *self, uint64_t block, uint32_t *ctx);
    /* The block's last warp has exited. */
    void (*block_end)(void *self, uint32_t ctx);
    /* The next instruction of warp `warp` (0 .. warps-1) of a block.  Called
     * once after the start and once after each instruction has issued. */
    void (*next)(void *self, uint32_t ctx, uint32_t warp, struct hd_op *op);
    /* What is to be known of the instruction that next() gave, with
     * core.classes: *out has what holds where nothing is known.  NULL: nothing
     * is. */
    void (*detail)(void *self, uint32_t ctx, uint32_t warp,
                   const struct hd_op *op, struct hd_detail *out);
    /* Issues the memory instruction that next() gave: computes its addresses
     * and, in a program, reads and writes buffer contents.  acc->lane is NULL,
     * for accesses that are affine.  What `acc` points to stays valid until the
     * next call to the source. */
    void (*access)(void *self, uint32_t ctx, uint32_t warp,
                   struct hd_access *acc);
    /* All warps of a block have stopped at a meeting, or are done: takes it,
     * and says which warps continue (bit set), of which context; 0: the block
     * is over, or there was an error.  A formed warp is in the context's k-th
     * place.  NULL: the source knows no threads, and nothing is compacted. */
    uint64_t (*regroup)(void *self, uint32_t ctx, struct hd_group *g);
    /* The warp that had a thread of a block at first. */
    uint32_t (*origin)(void *self, uint32_t ctx, uint32_t warp, uint32_t lane);
    /* After a snapshot was restored: find outside data again.  0 or error. */
    int (*restored)(void *self);
    /* Contents that are outside the arena, for snapshots; NULL, all five,
     * where there are none.  What is saved shares with the source what is
     * counted by reference and points to nothing else of it: it may outlive
     * the source, and be loaded into another of the same hash.  Between two
     * launches it is all that the source knows.  Save gives NULL, load an
     * error, without memory. */
    void *(*save)(const void *self);
    int (*load)(void *self, const void *saved);
    void (*drop)(void *saved);
    /* What was saved as bytes, and again from them, of a source of the same
     * hash: NULL where they are damaged, or memory is short. */
    void (*pack)(const void *saved, struct hd_bytes *out);
    void *(*unpack)(const void *self, struct hd_cursor *in);
    /* The bytes of the 4 KB at an address, a multiple of it, as they were when
     * the application started; false: some are not known.  May be NULL. */
    bool (*contents)(void *self, hd_va va, unsigned char *out);
    /* Bytes of contents kept outside the arena; may be NULL. */
    uint64_t (*memory)(void *self);
    /* Unbinds from the simulation; the source itself lives on. */
    void (*unbind)(void *self);
};

/* A workload: what the public heddle_workload points to. */
struct hd_source {
    const struct hd_source_ops *ops;
    void *self;
    uint64_t hash; /* xxh3 of everything that defines it */
    char name[64];
    uint32_t users;   /* simulations that have it, beside its owner */
    uint32_t streams; /* that its launches name, beside the default one */
    uint32_t copies;  /* 1: it has loads of HD_SPACE_COPY */
    /* What the launches before number `ahead` left in warps of so many lanes
     * (heddle_ahead), as save() gives it; NULL: nothing. */
    void *kept;
    uint32_t ahead, ahead_lanes;
    void (*free)(void *self);
};

/* Makes the public handle of a source: a heddle_workload is a hd_source. */
static inline heddle_workload *hd_workload(struct hd_source *s)
{
    return (heddle_workload *)s;
}

static inline struct hd_source *hd_workload_source(const heddle_workload *w)
{
    return (struct hd_source *)w;
}

#endif
