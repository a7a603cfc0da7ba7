/*
 * core.h - the cores: resident warps, issue, coalescing, L1 TLB and L1 cache.
 *
 * A core is a small simulation of its own with three actors: messages that
 * reach it (data, translations, thread blocks), its load/store unit, and its
 * issue port.  One event of the global queue wakes it; then it serves its
 * actors in order of time, without further events, up to the instant before
 * which nothing new can reach it: now + the shortest latency of an answer over
 * the interconnect.  So a hit in the L1 costs no event, and a run of ALU
 * instructions costs one.
 *
 * The stations of a load, each a file with what others may call here: warp.c
 * (issue), coalesce.c, lsu.c, l1tlb.c, l1d.c; core.c has the loop over the
 * actors and the building, dispatch.c deals launches and blocks to cores.  What
 * papers add to them is off by default, each idea in a file of its own, which
 * the essay of its station names.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_CORE_H
#define HD_CORE_H

#include "kit/places.h"
#include "kit/recip.h"
#include "kit/config.h"
#include "kit/env.h"
#include "points/source.h"
#include "memory/cache.h"
#include "memory/mshr.h"
#include "memory/request.h"
#include "paging/fault.h"
#include "pages/ptable.h"
#include "translation/tlb.h"
#include "translation/translate.h"
#include "coalesce.h"

struct hd_core_cfg {
#define HD_FIELDS_OF "core/core.def"
#include "kit/rows.h"
};

struct hd_shared_cfg {
#define HD_FIELDS_OF "core/shared.def"
#include "kit/rows.h"
};

enum hd_scheduler { HD_SCHED_GTO, HD_SCHED_LRR };
enum hd_atomics { HD_ATOMICS_LINE, HD_ATOMICS_WORD };
enum hd_exit { HD_EXIT_ISSUE, HD_EXIT_STORES };

enum { HD_MAX_WARPS = 64, HD_MAX_CORES = 1024, HD_SLOTS = 32 };

/* ---- counters ----------------------------------------------------------- */

enum hd_core_counter {
#define HD_COUNTERS_OF "core/core.def"
#include "kit/rows.h"
    HD_CORE_COUNTERS
};

enum hd_l1tlb_counter {
#define HD_COUNTERS_OF "core/l1tlb.def"
#include "kit/rows.h"
    HD_L1TLB_COUNTERS
};

enum hd_l1_counter {
#define HD_COUNTERS_OF "core/l1cache.def"
#include "kit/rows.h"
    HD_L1_COUNTERS
};

/* ---- state of one core, in the arena ------------------------------------ */

enum hd_warp_state {
    HD_WARP_FREE,    /* no thread block holds it */
    HD_WARP_READY,   /* may issue once its time has come */
    HD_WARP_SLOTS,   /* waits for scoreboard slots, or to exit for its stores */
    HD_WARP_BARRIER, /* waits for the other warps of its block */
    HD_WARP_DONE,    /* has exited, or holds no formed warp; its block has not
                        ended */
    HD_WARP_UNIT,    /* waits for its shared memory's turn at the unit */
    HD_WARP_MEET     /* waits for others of its block to be regrouped */
};

struct hd_warp {      /* a line of the host's cache */
    struct hd_op op;  /* the next instruction; of an ALU run, what is left */
    hd_time ready;    /* earliest issue */
    hd_time since;    /* its time is accounted up to here */
    uint32_t pending; /* occupied scoreboard slots */
    uint32_t ctx;     /* its block, as the source names it */
    uint32_t flight;  /* its memory instructions that fill no slot, and with
                         core.exit=stores what they have sent */
    uint16_t index;   /* its number in the block */
    uint16_t block;   /* block slot of the core */
    uint8_t state;    /* enum hd_warp_state */
    uint8_t group;    /* instructions left of a group of its ALU run that has
                         begun; 0: none has */
    uint8_t
        shared; /* its instructions of shared memory at the load/store unit */
    uint8_t spare;
    uint32_t issued; /* its instructions so far, modulo 2^32 */
};

struct hd_block {
    uint64_t number; /* in its launch, and the stream (points/source.h) */
    uint32_t ctx;
    uint32_t live;    /* warps that have not exited; with core.compact, those
                         that run */
    uint32_t arrived; /* at the barrier, or meeting */
    uint32_t used;    /* 1: resident */
    uint32_t rounds;  /* meetings since an instruction of the core was issued */
    uint64_t warps;   /* bit set of its warps */
    uint64_t issued;  /* instructions of the core at its last meeting */
};

/* A memory instruction between issue and its last datum: half a line of the
 * host's cache.  An instant takes less than 56 bits: 2^56 ticks of the fastest
 * base clock are more than a minute. */
struct hd_memop {
    uint64_t issued : 56;
    uint64_t warp : 8;
    uint64_t done : 56;       /* the latest of its lines that are done */
    uint64_t left : 8;        /* lines not yet done, plus 1 while in the LSU */
    uint64_t translated : 56; /* when its last translation came */
    uint64_t slot : 8;
    uint64_t walk : 56; /* longest time that a walker worked for it */
    uint64_t kind : 8; /* or HD_OP_SHARED, HD_OP_PAST */
};

/* An instruction's kind of enum heddle_op. */
static inline unsigned hd_memop_kind(const struct hd_memop *m)
{
    return m->kind == HD_OP_PAST ? HEDDLE_OP_LOAD : m->kind;
}

/* What is known of a page of a memory instruction at the load/store unit
 * (`frame` of hd_lsu_page): its frame, or that it is in flight (in the low
 * bits, its MSHR), or parked, without one (from bit HD_PAGE_FIRST on, the first
 * line that waits for it, + 1), or nothing (HD_PAGE_UNKNOWN). */
#define HD_PAGE_MISSING (1ull << 63)
#define HD_PAGE_PARKED  (HD_PAGE_MISSING | HD_NONE)
enum { HD_PAGE_FIRST = 32 };

/* What is kept of the page of a line that waits without an MSHR: its number,
 * from bit HD_PAGE_WARP on the warp and, of the first line of an instruction
 * there, whether more of its lines wait. */
enum { HD_PAGE_WARP = 56 };
#define HD_PAGE_MORE (1ull << 63)

/* The lines of a memory instruction whose pages are not all there (hd_core's
 * `held'): those whose page is, the oldest first. */
struct hd_held {
    uint32_t first, last;
    uint32_t missing; /* the others: they wait for their translations */
};

/* A line that waits for a translation or, translated, for the L1 port. */
struct hd_parked {
    uint64_t what; /* the line: in its page; physical once translated; from bit
                      HD_PARKED_BYTES on, its bytes; HD_PARKED_HIT */
    uint32_t memop, next;
};

enum { HD_PARKED_BYTES = 48 };
/* Its page hit when it was looked up again: the look-up is still to be paid. */
#define HD_PARKED_HIT (1ull << 63)

struct hd_message { /* 16 bytes: it is moved when an earlier one comes */
    hd_time at;
    uint32_t a;
    uint32_t rest; /* b << 8 | what; of data, the flits alone */
};

/* Messages in order of time; those of one instant in order of arrival.  v[0] is
 * never used. */
struct hd_message_line {
    hd_time at;              /* of the first; HD_NEVER: empty */
    uint32_t first, n, room; /* v[first] to v[first + n - 1], of v[room] */
    hd_ref v;
};

/* What most steps look at comes first, by lines of the host's cache. */
struct hd_core_state {
    hd_time wake;      /* the wake-up event that counts; HD_NEVER: none */
    hd_time local;     /* how far the core has run */
    hd_time port_free; /* issue port */
    hd_time lsu_free;  /* L1 port */
    hd_time fill_at;   /* when the first of `data` is in; HD_NEVER: none */
    struct hd_message_line inbox; /* wakes the core */

    uint64_t ready;   /* bit set: HD_WARP_READY and their time has come */
    uint64_t limit;   /* warps that may load */
    hd_time later_at; /* time of the first of later[]; HD_NEVER: none */
    hd_time tlb_free; /* L1 TLB port */
    uint32_t lsu_first, lsu_n;       /* ring of LSU ops */
    uint32_t replay_first;           /* translated lines for the L1 port */
    uint32_t blocked;                /* bit set of enum hd_lsu_block */
    uint64_t next[HD_OP_SHARED + 1]; /* warps that have an instruction, by the
                                      kind of the next one (bit set) */

    struct hd_message_line data; /* at the reply port; wakes the core */
    uint64_t lsu_full;           /* bit set: found the load/store unit full */

    hd_time in_free;      /* reply port from the interconnect */
    hd_time out_free;     /* request port to the interconnect */
    hd_time walk_free;    /* the same for walk reads, which go first */
    uint64_t ran;         /* warps that issued since a policy's epoch */
    uint32_t last;        /* warp that issued last, 64: none */
    uint32_t later_first; /* a ring: warps whose time has not come, by */
    uint32_t later_n;     /* time: later[] */
    uint32_t families;
    uint32_t replay_last;
    uint32_t lsu_used;   /* look-ups at lsu_free already */
    uint32_t tlb_used;   /* look-ups at tlb_free already */
    uint32_t stores;     /* in the store queue */
    uint32_t miss_op;    /* memop whose misses are outstanding, if any are: of a
                            blocking TLB there is only one such */
    uint32_t wait_first; /* lines of misses without an MSHR, in order of */
    uint32_t wait_last;  /* arrival: blocking.c */
    uint32_t again;      /* 1: the first of them will be looked up again */
    uint32_t app;

    uint8_t later[HD_MAX_WARPS];
    uint64_t waits; /* bit set: warps that have lines behind wait_first .. */
    uint32_t waiting[HD_MAX_WARPS]; /* .. and how many */
    uint64_t family[HD_MAX_WARPS]; /* the warps of each resident block, the
                                      oldest block's first; in a block, a lower
                                      bit is older */
    struct hd_message_line acks;   /* wakes it only if it waits for stores */
    hd_time held;                  /* port_free when the core came to stand */
    uint32_t still;                /* HD_STILL_ bits: why it stands */
    hd_time limit_until;           /* the answer of warp_limit holds so long */
    hd_time limit_at; /* the first HD_MSG_LIMIT under way, or HD_NEVER */
    uint64_t ages;                 /* arrivals so far */
};

/* Why a core issues nothing: pages are being moved, or core_throttle says
 * so. */
enum { HD_STILL_HALTED = 1, HD_STILL_STOPPED = 2 };

enum hd_lsu_block {
    HD_BLOCK_TLB_MSHR = 1, /* no MSHR of the L1 TLB is free */
    HD_BLOCK_L1_MSHR = 2,  /* no MSHR of the L1, or no room for a merge */
    HD_BLOCK_STORES = 4,   /* the store queue is full */
    HD_BLOCK_PARKED = 8,   /* no room for a line that waits */
    HD_BLOCK_MISS = 16,    /* a TLB that lets nothing pass: a miss is
                              outstanding */
};

/* ---- wiring ------------------------------------------------------------- */

struct hd_gpu;

/* Where in the arrays pages and lines were found last, by their places in a
 * warp's instruction.  No part of the results. */
struct hd_guess {
    uint16_t page[HD_MAX_LINES], line[HD_MAX_LINES];
};

/* What the warps of a core waited for when instructions began to be skipped. */
struct hd_skip {
    uint64_t waited; /* bit set: for scoreboard slots */
    uint64_t memory; /* bit set: to issue to memory */
    struct {
        hd_time since, ready;
        uint32_t pending, flight, pc;
    } v[HD_MAX_WARPS];
    /* [HD_MAX_WARPS] lines that its last load has missed; NULL where no
     * instructions are ever skipped */
    struct hd_late {
        uint32_t n;
        uint64_t line[HD_MAX_LINES];
    } * late;
};

struct hd_core {
    _Alignas(64) struct hd_core_state *s; /* arena, as all below */
    struct hd_gpu *gpu;
    struct hd_lines *lsu;     /* ring of cfg.queue */
    struct hd_memop *memop;   /* pool */
    uint32_t *pc;             /* of each memop, its program counter */
    uint64_t hand; /* the pc of what the core does for others than the first in
                      line; HD_NEVER: it does nothing such */
    struct hd_warp *warp;     /* [warps] */
    struct hd_parked *parked; /* pool: waiting lines and L1 MSHR targets */
    uint32_t component;       /* rank in the event queue */
    uint32_t app;             /* owner, fixed by core_partition */
    uint32_t lsu_room;        /* of its ring */
    uint32_t asked, asked_last; /* requests of this instant; HD_NONE: none */
    bool awake;   /* inside its own loop, which sees every message */
    bool lrr;     /* the scheduler is loose round robin */
    bool ahead;   /* pages are looked up ahead of lines (l1tlb.overlap) */
    bool whole;   /* .. and no line proceeds before all of them are */
    bool virtual_l1; /* loads look up the L1 first (l1cache.order) */
    bool before; /* ahead or virtual_l1: something precedes a line */
    bool named;  /* requests say more: sectors, or launches that overlap */
    bool owes;   /* a warp does not end before its stores (core.exit) */
    bool unobserved; /* a load's hits concern the load alone, its ports and
                     the arrays' order of use */

    struct hd_mshr tlb_mshr; /* flags: the last memop that joined and which
                                of its pages; live: the request that it sent,
                                + 1; last: misses that joined; first: the parked
                                lines, the newest first; detached: the pages
                                wait for far faults */
    struct hd_mshr l1_mshr;  /* flags: the first requester's memop; lists of
                                parked entries: the other ones' */
    uint64_t *count, *tlb_count, *l1_count; /* counters of this core and its
                                               application */
    uint32_t id;

    /* A line of what issuing needs. */
    hd_time *fault;         /* of each memop, the longest time that it
                               waited for far faults; NULL: there are none */
    uint64_t *page;         /* of each parked line without an MSHR, its page
                               (HD_PAGE_WARP); NULL: there are none */
    struct hd_held *held;   /* of each memop; NULL: a line waits for its own page
                               only */
    uint64_t full;          /* mask of all lanes of a warp */
    struct hd_block *block; /* [blocks] */
    struct hd_slot pick;
    uint32_t lanes; /* warp size of its application's launch */
    uint32_t memops;
    uint32_t ilp; /* core.ilp */

    /* Of its application: */
    const struct hd_source_ops *ops; /* of its source */
    void *source;
    struct hd_app_state *state; /* arena */
    hd_time slot;               /* ticks that an instruction holds the port */
    uint16_t *launch; /* arena: of each warp, the row of counters of its launch;
                         NULL: launches do not overlap */
    uint16_t *copies; /* arena: of each warp and slot, copies in flight; NULL: no
                         source has any */
    struct hd_subcores *sub;    /* arena; NULL: one scheduler, no classes */
    bool apart;                 /* sub, or launches that overlap */

    struct hd_places memop_places, parked_places; /* of those pools */
    struct hd_slot limit, join;
    struct hd_tbelow below_tlb, below_side, below_peers;
    uint8_t *origin;  /* of each place in lsu, for its pages: hd_lsu_origin;
                         NULL: no threads are regrouped */
    uint64_t *age;    /* [warps]: order of arrival; lower is older */
    uint32_t targets; /* sizes: of the pools parked, memop (memops) */
    _Alignas(64) struct hd_tlb l1tlb;
    struct hd_tlb side; /* the buffer next to it; base_n 0: none */
    _Alignas(64) struct hd_cache l1;
    struct hd_l1sector *sector; /* l1sector.c; NULL: lines have no sectors */
    struct hd_guess guess[HD_MAX_WARPS];
    struct hd_skip skip; /* means something only while instructions are */
    uint16_t flying[32]; /* MSHRs of the L1 TLB whose pages were missed last, by
                            a hash of the page; no part of the results */
};

struct hd_machine;
struct hd_manage;
struct hd_app_state;

struct hd_gpu {
    struct hd_env *env;
    const struct hd_machine *m;
    unsigned char *base;  /* of the arena */
    struct hd_core *core; /* [cores] */
    uint32_t cores;
    hd_time slot[HD_MAX_APPS];   /* ticks that an instruction holds the
                                    issue port */
    hd_time cycle;               /* ticks of a core cycle */
    struct hd_recip per_cycle;   /* divides by it */
    struct hd_recip per_flit;    /* divides by the bytes of a flit */
    uint32_t line_flits;         /* flits of a line */
    hd_time alu;                 /* ticks of the ALU latency */
    hd_time latency[HEDDLE_CLASSES], interval[HEDDLE_CLASSES]; /* in ticks */
    struct hd_stat shared_stat;
    hd_time back;                /* data: latency from the L2 */
    hd_time tlb_back;            /* translations: latency of an answer */
    hd_time tlb_ticks, l1_ticks; /* look-ups in the L1 TLB, in the L1 */
    hd_time side_ticks;          /* in the buffer next to the L1 TLB */
    hd_time both_ticks;          /* in both */
    hd_time ahead;               /* how far a core may run ahead */
    hd_time run_ahead;           /* how far it does: 1, or as far */
    const int *stop;             /* not 0: an error stops the run */
    uint32_t line_shift;
    uint32_t translate; /* 0: translation off */
    struct hd_ptables *tables;
    struct hd_home *home; /* NULL: there is one node */
    struct hd_reqs *reqs;
    struct hd_treqs *treqs;
    struct hd_below memory;
    struct hd_source *source[HD_MAX_APPS];
    struct hd_stat stat, tlb_stat, side_stat, l1_stat, sector_stat;
    struct hd_hist *load_latency, *page_hist, *line_hist, *xlate_latency;
    struct hd_dispatch *dispatch;
    struct hd_app_state *state; /* arena: [app], of the dispatcher */
    struct hd_manage *manager;
    const hd_time *barrier;   /* arena: no core runs on before this instant
                                 (pages/manage.c), or HD_NEVER */
    const hd_time *arrival;   /* arena: the same of the next page that comes
                                 from the host (paging/fault.c) */
    const uint32_t *changes;  /* arena: mappings changed so far */
    struct hd_link *link;     /* to the host; NULL: nothing comes from there */
    struct hd_faults *faults; /* NULL: every page is mapped */
    struct hd_peers *peers;   /* NULL: L1 TLBs do not ask each other */
    uint64_t *dirty;          /* arena: of frames, set by stores (pages/frame.h);
                                 NULL: nothing leaves memory */
    /* An application has issued as many instructions as hd_dispatch_tell
     * said. */
    void (*reached)(void *self, uint32_t app, hd_time now);
    /* While instructions are skipped: their counts are taken back. */
    void (*forget)(void *self);
    void *sample;
    bool skips; /* they are: blocks end and begin at once */
    bool joins; /* uvm.utlb_merge=false: an access that joins a miss says so */
    hd_time *measured;        /* arena: [app] when counters were last reset, and
                                 [apps] for what belongs to none */
    uint32_t *stalled; /* arena: [app] most misses that one translation ended,
                          since a policy's epoch */
};

/* core.c: builds the cores; 0 or -1. */
int hd_gpu_open(struct hd_gpu *g);
/* What the core counts is for the launch of warp w, or (HD_NO_WARP) its
 * application; where launches do not overlap it always is. */
void hd_core_count_for(struct hd_core *c, uint32_t w);
static inline void hd_core_for(struct hd_core *c, uint32_t w)
{
    if (HD_UNLIKELY(c->launch != NULL))
        hd_core_count_for(c, w);
}
/* A counter of the core's application. */
static inline uint64_t hd_core_counted(const struct hd_core *c, uint32_t k)
{
    return HD_LIKELY(c->launch == NULL)
               ? c->count[k]
               : hd_stat_value(&c->gpu->stat, c->id, c->app, k, HD_STAT_COUNT);
}
/* Gives core `core` to an application, before cycle 0. */
void hd_core_assign(struct hd_gpu *g, uint32_t core, uint32_t app);

enum hd_core_message {
    HD_MSG_XLATE,     /* a: translation request that was answered */
    HD_MSG_BLOCK,     /* a, b: block number, its low and high bits */
    HD_MSG_DONE,      /* a: memory instruction whose last line hit in the L1 */
    HD_MSG_LIMIT,     /* the answer of warp_limit is over */
    HD_MSG_STAND,     /* the core stops (a: 1), or continues */
    HD_MSG_FAULT,     /* a: translation request that waits for a far fault */
    HD_MSG_REPLAY,    /* a: one that has, and was answered */
    HD_MSG_AGAIN,     /* the oldest miss without an MSHR is looked up again */
    HD_MSG_STORED,    /* a: warp, a store of which was acknowledged */
    HD_MSG_WALK,      /* a: request of a walk that leaves by this core's port */
    HD_MSG_PROBE,     /* a: translation request that asks this L1 TLB */
    HD_MSG_PROBED,    /* a: one of this core's, which another's did not have */
    HD_MSG_PREFETCHED /* a, b: translation that a policy started: its page's low
                    bits; 1 bit: to the buffer next to the L1 TLB, 4:
                    application, and the page's high bits */
};

void hd_core_message(struct hd_core *c, hd_time at, uint32_t what, uint32_t a,
                     uint32_t b);
/* Takes the acknowledgements of stores that have come by t. */
void hd_core_acks(struct hd_core *c, hd_time t);
/* Where the answers to a core's requests go. */
struct hd_client hd_core_client(struct hd_core *c);
/* Where it is notified of its translation requests: HD_MSG_XLATE, _FAULT,
 * _REPLAY.
 */
struct hd_tclient hd_core_tclient(struct hd_core *c, enum hd_core_message what);
/* Where walkers send reads that leave by the port of a core: of struct hd_gpu,
 * the core being req.spare.  They take walk.latency to get there. */
void hd_core_walk_read(void *gpu, hd_time now, uint32_t req);
/* No core issues from now on, or they do again. */
void hd_gpu_halt(void *g, bool on, hd_time now);
/* Something of a core has changed at `now` while it slept. */
void hd_core_rouse(struct hd_core *c, hd_time now);
/* What walkers that send by a core's port ask without time: hd_below's warm. */
void hd_core_walk_warm(void *gpu, struct hd_req *q);

/* warp.c: offers its points. */
void hd_warp_open(struct hd_core *c);
/* What follows from the launch of its application: the warp size, and how long
 * an instruction holds the port. */
void hd_warp_launch(struct hd_core *c);
/* A block begins at t; there is room. */
void hd_warp_take(struct hd_core *c, hd_time t, uint64_t number);
/* HD_MSG_STORED: a store of warp w was acknowledged. */
void hd_warp_stored(struct hd_core *c, uint32_t w, hd_time t);
/* A memory instruction is done. */
void hd_warp_answer(struct hd_core *c, uint32_t memop, hd_time t);
/* compact.c: the warp of the core in which a thread began that is in a warp
 * now. */
uint32_t hd_warp_origin(const struct hd_core *c, uint32_t w, uint32_t lane);
/* limit.c: what warp_limit was answered is over at t, if it is not before. */
void hd_limit_renew(struct hd_core *c, hd_time t);
/* HD_MSG_LIMIT came: which warps may load is asked if the answer is over. */
void hd_limit_over(struct hd_core *c, hd_time t);
/* A cell of the table warp_limit was set: its core takes it up at once; a
 * policy's answer for a core is over. */
void hd_limit_steered(void *gpu, uint32_t core);
void hd_limit_renewed(void *gpu, uint32_t core);

/* waits.c: time of the core's warps not yet in its counters, up to `now`; of
 * its application's, for what reads the counters. */
void hd_core_unaccounted(const struct hd_core *c, hd_time now,
                         uint64_t out[HD_CORE_COUNTERS]);
void hd_core_open_time(void *gpu, uint32_t core, uint32_t app, uint64_t *add);

/* skip.c: skips instructions at `now`, between two events and without time:
 * each warp of the core that is not at a barrier continues to its next load
 * that misses the L1, or with LRR to its next memory instruction, that
 * included. How many.  Before the first, begin: the warps' times are counted up
 * to now, and what they wait for is set aside; after the last, end: what has
 * their places then waits for it. */
void hd_warp_skip_begin(struct hd_core *c, hd_time now);
uint64_t hd_warp_skip(struct hd_core *c, hd_time now);
/* Warps that waited for loads, or were to issue to memory, stand at the same
 * instruction again, where it comes soon.  Their instructions. */
uint64_t hd_warp_skip_settle(struct hd_core *c, hd_time now);
void hd_warp_skip_end(struct hd_core *c, hd_time now);

/* lsu.c: a memory instruction of a warp, with so many active lanes, or one of
 * shared memory, enters at t; there is room. */
void hd_lsu_take(struct hd_core *c, uint32_t warp, uint32_t lanes,
                 const struct hd_access *acc, hd_time t);
void hd_lsu_take_shared(struct hd_core *c, uint32_t warp, hd_time t);
/* Whether an instruction looks up no TLB. */
bool hd_lsu_untranslated(const struct hd_core *c, const struct hd_op *o);
/* copies.c: room for what a core counts of copies, 0 or -1; a memory
 * instruction that is no plain load or store enters, of a space from
 * HD_SPACE_PAST on; one that joined others in its slot is done. */
int hd_copies_open(struct hd_core *c);
void hd_copies_enter(struct hd_core *c, uint32_t warp, uint32_t memop);
void hd_copies_done(struct hd_core *c, const struct hd_memop *m);
/* Whether as many are in flight as its warps wait for. */
bool hd_copies_sane(const struct hd_core *c);
/* atomics.c: the requests of an atomic, each as a line of its own, where lanes
 * on one word are served one after the other.  A line has a sector or more;
 * sector_bytes: of l1sector.c, 0: lines have none. */
void hd_atomics_split(const struct hd_access *acc, uint64_t mask,
                      uint32_t bytes, uint32_t shift, uint32_t sector_bytes,
                      struct hd_lines *out);
/* The warp whose page i of an instruction is: with core.compact the one in
 * which the thread of its lowest lane began. */
static inline uint32_t hd_lsu_origin(const struct hd_core *c,
                                     const struct hd_lines *op, uint32_t i)
{
    return HD_LIKELY(c->origin == NULL)
               ? op->warp
               : c->origin[(size_t)(op - c->lsu) * HD_MAX_LINES + i];
}

/* The next step at t, and those that follow before `end` with lines of the same
 * instruction; the issue port is used next at `port`. */
void hd_lsu_serve(struct hd_core *c, hd_time t, hd_time end, hd_time port);
/* Policies were bound or unbound: finds out what is unobserved. */
void hd_lsu_bound(struct hd_core *c);
/* One line of a memory instruction is done at t (now or later). */
void hd_lsu_line_done(struct hd_core *c, uint32_t memop, hd_time t);
/* The head of the line waits (enum hd_lsu_block); `stalls` counts it. */
void hd_lsu_block(struct hd_core *c, uint32_t why, uint64_t *stalls);
/* The place of a line that waited is free. */
void hd_lsu_give_parked(struct hd_core *c, uint32_t parked);

/* Uses a port of which `ports` can be used in each cycle.  Of several no
 * branches: they could not be predicted. */
static inline void hd_lsu_use_port(hd_time *free, uint32_t *used,
                                   uint32_t ports, hd_time t, hd_time cycle)
{
    uint32_t n, more;

    if (HD_LIKELY(ports == 1)) {
        *free = hd_max_u64(t, *free) + cycle;
        return;
    }
    n = (*used & (uint32_t) - (t <= *free)) + 1;
    more = n < ports;
    *free = hd_max_u64(t, *free) + (cycle & ((hd_time)more - 1));
    *used = n & -more;
}

/* l1tlb.c: looks up page i of the instruction at the head; `guess` as in
 * hd_assoc_find_at.  False: blocked. */
bool hd_l1tlb_take(struct hd_core *c, struct hd_lines *op, uint32_t i,
                   hd_time t, uint16_t *guess);
/* Parks a line of it whose page is missing.  False: blocked. */
bool hd_l1tlb_park(struct hd_core *c, struct hd_lines *op,
                   const struct hd_lsu_line *x);
/* A translation is answered. */
void hd_l1tlb_answer(struct hd_core *c, uint32_t treq, hd_time t);

/* blocking.c: the oldest miss that parked without an MSHR looks up its page
 * again. */
void hd_blocking_again(struct hd_core *c, hd_time t);

/* overlap.c: what of the pages of the instruction at the head can be looked up
 * at t, ahead of its lines, is (l1tlb.overlap).  Whether a line may follow at
 * t. */
bool hd_overlap_pages(struct hd_core *c, struct hd_lines *op, hd_time t);

/* virtual.c: whether a line of a load, at `place' of a page, hits in a virtual L1
 * or is in flight to it; its name there.  A shootdown (hd_tlb_shoot; all: of every
 * page) takes lines out of it. */
bool hd_virtual_holds(const struct hd_core *c, uint64_t vpn, uint64_t place,
                      uint32_t bytes, uint64_t *line);
void hd_virtual_shoot(struct hd_core *c, bool all, hd_vpn vpn, uint64_t pages);

/* l1side.c: what is below the L1 TLB, and the buffer next to it. */
void hd_l1tlb_wire(struct hd_core *c, struct hd_tbelow below);
/* HD_MSG_PREFETCHED */
void hd_l1side_prefetched(struct hd_core *c, uint64_t vpn, uint32_t app,
                          bool side);

/* farfault.c: a request waits for a far fault; it has been served. */
void hd_farfault_waits(struct hd_core *c, uint32_t treq, hd_time t);
void hd_farfault_joined(struct hd_core *c, uint32_t entry, hd_time t);
void hd_farfault_served(struct hd_core *c, uint32_t treq, hd_time t);

/* remap.c: a shootdown (hd_tlb_shoot) in the L1 TLBs of an application's cores,
 * or of all (HD_APP_NONE), which take no look-up before `until`. */
void hd_gpu_shoot(void *g, uint32_t app, hd_vpn vpn, uint64_t pages,
                  hd_time until);
/* Takes `bytes` from `pa` on out of the L1 caches of an application's cores;
 * returns how many lines there were, and sets *dirty if one was. */
uint32_t hd_gpu_drop(void *g, uint32_t app, hd_pa pa, uint32_t bytes,
                     bool *dirty);

/* warm.c: what a memory instruction of a warp leaves in TLBs and caches, at
 * once. Whether nothing of it would be waited for: it loads what hits in the
 * L1, or stores. */
bool hd_lsu_warm(struct hd_core *c, uint32_t warp, const struct hd_op *o,
                 const struct hd_access *acc);
/* The lines that a warp's last load has missed come: it continues. */
void hd_l1d_come(struct hd_core *c, uint32_t warp);

/* look.c: the parts core, l1tlb, l1side, l1cache as they are looked at; what a
 * core waits for; its check. */
void hd_core_look(void *gpu, uint32_t core, struct heddle_visitor *v);
void hd_l1tlb_look(void *gpu, uint32_t core, struct heddle_visitor *v);
void hd_l1tlb_look_side(void *gpu, uint32_t core, struct heddle_visitor *v);
void hd_l1d_look(void *gpu, uint32_t core, struct heddle_visitor *v);
void hd_core_stuck(void *gpu, uint32_t core, struct heddle_visitor *v);
void hd_core_check(void *gpu, uint32_t core, struct heddle_error *err);

/* l1d.c: flits that so many bytes take at a core's port. */
uint32_t hd_l1d_flits(const struct hd_gpu *g, uint32_t bytes);
/* A translated line at the L1, whose result is there after so many ticks;
 * `guess` as in hd_assoc_find_at.  False: blocked, to be tried again. */
bool hd_l1d_take(struct hd_core *c, uint32_t memop, uint64_t line,
                 uint32_t bytes, hd_time t, hd_time ticks, uint16_t *guess);
/* Of that, what l1sector.c uses: there is room for a write; an atomic; a request
 * of what the line at hand wants, that leaves at t.  False: blocked. */
bool hd_l1d_has_room(struct hd_core *c, hd_time t);
bool hd_l1d_atomic(struct hd_core *c, uint32_t memop, uint64_t line,
                   uint32_t bytes, hd_time t, hd_time ticks);
void hd_l1d_ask(struct hd_core *c, hd_time t, uint32_t kind, uint64_t line,
                uint32_t bytes, uint32_t memop, uint32_t tag, uint32_t flags);
/* Answers: data, the acknowledgement of a store. */
void hd_l1d_answer(struct hd_core *c, uint32_t req, hd_time t);
void hd_l1d_ack(struct hd_core *c);
/* A walk read leaves by the core's port to the interconnect at t, or behind
 * those before it; misses that wait for the port do so a flit longer. */
void hd_l1d_walk_read(struct hd_core *c, uint32_t req, hd_time t);

/* l1sector.c: lines with sectors. */
struct hd_stat hd_l1sector_count(struct hd_gpu *g);
int hd_l1sector_open(struct hd_core *c);
/* Counts in this row. */
void hd_l1sector_count_for(struct hd_core *c, uint32_t row);
/* Finds the sectors that an instruction touches; hd_lsu_line.bytes stands for
 * them from now on. */
void hd_l1sector_find(struct hd_core *c, struct hd_lines *op,
                      const struct hd_access *acc, const struct hd_op *o);
/* What hd_l1d_take does; an answer to a load; what a request is for. */
bool hd_l1sector_take(struct hd_core *c, uint32_t memop, uint64_t line,
                      uint32_t what, hd_time t, hd_time ticks, uint16_t *guess);
void hd_l1sector_answer(struct hd_core *c, uint32_t req, hd_time t);
/* Whether the sectors that a load asks of a line are valid or in flight. */
bool hd_l1sector_holds(const struct hd_core *c, uint64_t line, uint32_t asked);
void hd_l1sector_name(const struct hd_core *c, struct hd_req *q);
/* For warm.c: what an access of q.bytes leaves, and what comes later. */
bool hd_l1sector_warm(struct hd_core *c, const struct hd_req *q, uint64_t line,
                      uint16_t *guess);
void hd_l1sector_come(struct hd_core *c, uint32_t warp);
/* What is wrong, or NULL. */
const char *hd_l1sector_check(const struct hd_core *c);

/* ---- the next instant of each actor ------------------------------------- */

/* These are asked all the time by those that have the core's state at hand. */

/* The next step of the load/store unit; never before s->local.  Lines that are
 * replayed have precedence, and only the L1 can hold them up. */
static inline hd_time hd_lsu_next(const struct hd_core *c,
                                  const struct hd_core_state *s)
{
    bool replay = s->replay_first != HD_NONE;
    uint32_t held = replay ? s->blocked & (HD_BLOCK_L1_MSHR | HD_BLOCK_STORES)
                           : s->blocked | (s->lsu_n == 0);
    hd_time t = hd_max_u64(s->lsu_free, s->local) | -(hd_time)(held != 0);
    struct hd_lines *op;

    if (HD_LIKELY(s->tlb_free <= t))
        return t; /* at HD_NEVER, too */
    op = &c->lsu[s->lsu_first];
    if (!replay && op->at < op->n &&
        (c->whole ? op->looked < op->pages
                  : op->page[hd_lines_at(op, op->at)->page].frame ==
                        HD_PAGE_UNKNOWN))
        return s->tlb_free;
    return t;
}

/* Warps whose next instruction is for the load/store unit (bit set). */
static inline uint64_t hd_warp_memory(const struct hd_core_state *s)
{
    return s->next[HEDDLE_OP_LOAD] | s->next[HEDDLE_OP_STORE] | s->next[HEDDLE_OP_ATOMIC] |
           s->next[HD_OP_SHARED];
}

/* Warps that may issue now (bit set). */
static inline uint64_t hd_warp_can(const struct hd_core *c,
                                   struct hd_core_state *s)
{
    uint64_t can = s->ready & (s->limit | ~s->next[HEDDLE_OP_LOAD]);

    if (HD_UNLIKELY(s->lsu_n >= c->lsu_room)) {
        s->lsu_full |= can & hd_warp_memory(s);
        can &= ~hd_warp_memory(s);
    }
    return can;
}

/* What the issue port does next: when, and the warps that may issue then, but
 * for those whose time comes till then. */
struct hd_port {
    hd_time at;
    uint64_t can;
};

/* subcore.c: takes its state, where core.subcores or core.classes ask for it; 0
 * or -1. */
int hd_subcore_open(struct hd_core *c);
/* What hd_port_next() and hd_warp_serve() are there: the warps of a port are of
 * one sub-core. */
struct hd_port hd_subcore_next(const struct hd_core *c,
                               struct hd_core_state *s);
struct hd_port hd_subcore_serve(struct hd_core *c, struct hd_port port);
/* The check of what they keep. */
void hd_subcore_check(const struct hd_core *c, struct heddle_error *err);
/* Until when a port is taken; instructions that have not left theirs at t. */
hd_time hd_subcore_busy(const struct hd_core *c);
uint64_t hd_subcore_unissued(const struct hd_core *c, hd_time t);
/* classes.c: latencies and intervals; a warp begins; what is to be known of the
 * instruction that it has fetched. */
void hd_classes_open(struct hd_gpu *g);
void hd_classes_begin(struct hd_core *c, uint32_t w);
void hd_classes_fetch(const struct hd_core *c, struct hd_warp *x, uint32_t w);
/* banks.c: its counters. */
void hd_banks_open(struct hd_gpu *g);

/* The next instant at which a warp may issue is never before s->local. */
static inline struct hd_port hd_port_next(const struct hd_core *c,
                                          struct hd_core_state *s)
{
    uint64_t can;
    hd_time t;

    if (HD_UNLIKELY(c->sub != NULL))
        return hd_subcore_next(c, s);
    can = hd_warp_can(c, s);
    t = can != 0 ? s->local : s->later_at;

    return (struct hd_port){hd_max_u64(s->port_free, t), can};
}

/* warp.c: a warp issues at the port's next instant, an instruction or its ALU
 * run; or all that are ready issue in turn, before `end`.  What the port does
 * next. */
struct hd_port hd_warp_serve(struct hd_core *c, struct hd_port port,
                             hd_time end);

/* dispatch.c */
struct hd_dispatch *hd_dispatch_open(struct hd_gpu *g);

/* What two settings of a core can get wrong: 0, or an error that names them. */
int hd_core_cfg_check(const void *cfg, const char *name,
                      struct heddle_error *err);

#endif
