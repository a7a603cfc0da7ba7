/*
 * request.h - one line-sized memory transaction below the L1 caches, and the
 * contract between the levels that pass it on.
 *
 * Requests come from a pool in the arena and are named by index.  A requester
 * takes one, fills it and sends it to the level below through a struct
 * hd_below.  The level answers reads and atomics exactly once, by the reply of
 * the requester's struct hd_client, with the instant at which the data leaves
 * that level; the requester adds the latency back, and gives the request back
 * to the pool.  Writes are not answered (but see HD_REQ_ACK); the level that
 * ends them gives them back.
 *
 * send() is called in the event in which the request leaves the sender, or in
 * an earlier one, if what is sent in between by the same client has HD_REQ_SEQ
 * too: the level posts its own event for the arrival, and arrivals of one
 * instant and client are in the order of their numbers, or else of the calls.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_REQUEST_H
#define HD_REQUEST_H

#include "kit/numbers.h"
#include "kit/stat.h"

enum hd_req_kind {
    HD_REQ_READ,   /* data demanded by a warp */
    HD_REQ_WRITE,  /* a store or a write-back: no answer */
    HD_REQ_ATOMIC, /* read-modify-write at the L2: answered like a read */
    HD_REQ_WALK,   /* a page-table entry read by a walker */
    HD_REQ_KINDS
};

/* Where its line was: in the L2, in flight from DRAM, in DRAM. */
enum hd_req_hit { HD_REQ_HIT, HD_REQ_MERGED, HD_REQ_MISSED };

enum {
    HD_REQ_BYPASS = 1,   /* does not look up or fill the L2 cache */
    HD_REQ_PARTIAL = 2,  /* a write of part of a line */
    HD_REQ_ACK = 4,      /* a write whose sender wants to know when the L2 has
                            taken it: reply() is called, and must not keep it */
    HD_REQ_SEQ = 8,      /* `queued` is the request's number among those of its
                            client, in the order in which they are sent */
    HD_REQ_CLASSED = 16, /* dram_class was asked: see there */
    HD_REQ_PACKED = 32,  /* a line of a compressed page, sent to DRAM */
    HD_REQ_SECTORS = 64, /* `sectors` says which of its line it is for */
    HD_REQ_HALF = 128    /* in the L2: l2half.c has to see it */
};

struct hd_req {
    hd_pa pa;        /* address of the line (or PTE) */
    hd_time born;    /* when the requester sent it */
    hd_time queued;  /* HD_REQ_SEQ: number; then: accepted, or looked up */
    uint32_t next;   /* link of whatever list it is in */
    uint32_t tag;    /* the requester's own word */
    uint16_t client; /* index of the requester, for the answer */
    uint16_t warp;   /* requesting warp in its core, or HD_NO_WARP */
    uint8_t kind;    /* enum hd_req_kind */
    uint8_t app;
    uint8_t level;      /* walks: 1 root .. 4 leaf, 0: for no walk that waits;
                           else 0 */
    uint8_t flags;      /* HD_REQ_ flags */
    uint8_t dram_class; /* answer of dram_class: 0 normal, up more urgent */
    uint8_t hit;        /* enum hd_req_hit */
    uint16_t bytes;     /* wanted by the requester, at most a line */
    uint32_t spare;     /* the word of the level that has it */
    uint64_t line;      /* L2: pa >> log2 line, while it is there */
    uint32_t pc;        /* of the instruction, but for walks; 0: unknown */
    uint32_t sectors;   /* HD_REQ_SECTORS: see sector.h */
};

/* A bit for each byte of a line of 128. */
struct hd_bytemask {
    uint64_t v[2];
};

#define HD_NO_WARP 0xffffu

struct hd_reqs {
    struct hd_req *v;         /* arena */
    struct hd_bytemask *written; /* arena: [request], of a write that fills not all
                                 of its sectors; NULL: there are none */
    struct hd_numbers numbers;
    uint16_t *launch; /* arena: [request] the row of counters at hand when it was
                         taken (kit/stat.h); NULL: launches do not overlap */
    const struct hd_hand *hand;
};

/* A pool of `room` requests; the wiring sizes it so that it cannot run out.  0,
 * or -1 when the arena is full. */
static inline int hd_reqs_open(struct hd_reqs *p, struct hd_arena *arena,
                               uint32_t room)
{
    p->launch = NULL;
    p->v = hd_arena_take(arena, room, sizeof *p->v);
    return p->v == NULL ? -1 : hd_numbers_open(&p->numbers, arena, room);
}

/* A request is the launch's at hand. */
static inline void hd_req_count(struct hd_reqs *p, uint32_t r)
{
    p->launch[r] = (uint16_t)p->hand->row;
}

/* A request of the L2's own, which counts for no launch, or one that its sender
 * counts (hd_req_count) where that is needed. */
static inline uint32_t hd_req_take_own(struct hd_reqs *p)
{
    return hd_numbers_take(&p->numbers);
}

/* A request to the L2: it is the launch's at hand. */
static inline uint32_t hd_req_take(struct hd_reqs *p)
{
    uint32_t r = hd_numbers_take(&p->numbers);

    if (HD_UNLIKELY(p->launch != NULL))
        hd_req_count(p, r);
    return r;
}

static inline void hd_req_give(struct hd_reqs *p, uint32_t r)
{
    hd_numbers_give(&p->numbers, r);
}

/* The level below: takes requests.  `warm` leaves in its tags what a request
 * that was sent and answered would, at once and without time (functional
 * warming): of q it takes pa, kind, level, app, warp, bytes, sectors and pc, and
 * it needs no place in the pool, but for a write of parts of sectors. */
struct hd_below {
    void (*send)(void *self, hd_time now, uint32_t req);
    void *self;
    void (*warm)(void *self, struct hd_req *q);
};

/* A requester: gets answers.  `at` >= now is when the data leaves the level. */
struct hd_client {
    void (*reply)(void *self, hd_time at, uint32_t req);
    void *self;
};

#endif
