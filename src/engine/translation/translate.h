/*
 * translate.h - a translation, the requests for one, and the contract between
 * the levels that answer them.
 *
 * It mirrors memory/request.h.  A core that misses its L1 TLB takes a
 * translation request from the pool and sends it to the level below (the L2
 * TLB, or the walkers where there is none), which answers exactly once by the
 * client's reply.  A level that has to ask further down takes a request of its
 * own. The receiver of the answer gives the request back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRANSLATE_H
#define HD_TRANSLATE_H

#include "kit/numbers.h"
#include "kit/stat.h"

/*
 * A translation and the range for which it holds: `pages` base pages from
 * vpn are in frames from pfn on.  For one page of 4 KB, 64 KB or 2 MB, pages
 * is 1, 16 or 512 and vpn and pfn are aligned to it; a merged entry (CoLT,
 * MESC) may cover any run.
 */
struct hd_xlate {
    hd_vpn vpn;
    hd_pfn pfn;
    uint32_t pages;
    uint32_t page_pages; /* of the page in the page table: 1, 16 or 512 */
};

/* The frame of one page inside the range. */
static inline hd_pfn hd_xlate_frame(const struct hd_xlate *x, hd_vpn vpn)
{
    hd_pfn f = {x->pfn.v + (vpn.v - x->vpn.v)};
    return f;
}

/*
 * A line of the host's cache.  The answer is where the level below kept its
 * own account of the request, which it has closed by then.
 */
struct hd_treq {
    hd_vpn vpn;   /* page wanted */
    hd_time born; /* when the requester sent it */
    hd_time walk; /* when a walker took it up (0: none did) */
    union {
        struct {
            hd_time arrived; /* when it reached the level below */
            hd_time looked;  /* when that level's look-up of it ended */
            uint32_t next;   /* link of whatever list it is in */
            uint32_t pc;     /* of the instruction that missed */
        };
        struct hd_xlate x; /* the answer */
    };
    uint32_t tag;        /* the requester's own word */
    uint16_t client;     /* index of the requester, for the answer */
    uint16_t core;       /* core that missed */
    uint16_t warp;       /* its warp */
    uint16_t references; /* memory references that the walk made */
    uint8_t app;
    uint8_t merged; /* the requester's count of merged misses, up to 255, when
                       it notifies the level below */
    uint8_t hit;    /* enum hd_treq_hit */
    uint8_t writes; /* 1: it is for a store or an atomic */
};

_Static_assert(sizeof(struct hd_treq) == 64, "as it is said above");

/* How a request found its translation: in the L2 TLB, in the bypass cache, with
 * another's walk, by a walk of its own. */
enum hd_treq_hit {
    HD_TREQ_HIT_L2,
    HD_TREQ_HIT_BYPASS,
    HD_TREQ_MERGED,
    HD_TREQ_WALKED
};

struct hd_treqs {
    struct hd_treq *v; /* arena */
    struct hd_numbers numbers;
    uint16_t *launch; /* arena: as hd_reqs.launch */
    struct hd_hand *hand;
};

/* A pool of `room` requests.  0, or -1 (out of memory). */
static inline int hd_treqs_open(struct hd_treqs *p, struct hd_arena *arena,
                                uint32_t room)
{
    p->launch = NULL;
    p->v = hd_arena_take(arena, room, sizeof *p->v);
    return p->v == NULL ? -1 : hd_numbers_open(&p->numbers, arena, room);
}

static inline uint32_t hd_treq_take(struct hd_treqs *p)
{
    uint32_t r = hd_numbers_take(&p->numbers);

    if (HD_UNLIKELY(p->launch != NULL))
        p->launch[r] = (uint16_t)p->hand->row;
    return r;
}

/* What is counted is for the launch of a request, or (HD_NONE) of none. */
static inline void hd_treq_count_for(const struct hd_treqs *p, uint32_t r)
{
    if (HD_UNLIKELY(p->launch != NULL))
        hd_hand_put(p->hand, r != HD_NONE ? p->launch[r] : 0);
}

static inline void hd_treq_give(struct hd_treqs *p, uint32_t r)
{
    hd_numbers_give(&p->numbers, r);
}

/* Puts a request at the end of a list, whose first is HD_NONE if it is empty.
 */
static inline void hd_treq_append(const struct hd_treqs *p, uint32_t *first,
                                  uint32_t *last, uint32_t r)
{
    p->v[r].next = HD_NONE;
    if (*first == HD_NONE)
        *first = r;
    else
        p->v[*last].next = r;
    *last = r;
}

/*
 * The level below a TLB: takes translation requests, and is notified when the
 * requester has the answer, or knows that it will take long: no more
 * misses are merged with the request that the answer could have ended.
 */
struct hd_tbelow {
    void (*send)(void *self, hd_time now, uint32_t treq);
    /* NULL, or send for the instant that is served, without an event: called when
     * the core's event is over, since the level's would be the next. */
    void (*take)(void *self, hd_time now, uint32_t treq);
    void (*notified)(void *self, uint32_t treq);
    void *self;
    /* Answers at once, without time, and leaves what an answered request would
     * in its arrays (functional warming).  Of q it takes vpn, core, warp, app
     * and pc; *x is the answer, and the result is an hd_treq_hit.  Where there
     * is no such page it records the error. */
    uint32_t (*warm)(void *self, const struct hd_treq *q, struct hd_xlate *x);
};

/* A requester: gets answers.  `at` >= now is when the answer leaves. */
struct hd_tclient {
    void (*reply)(void *self, hd_time at, uint32_t treq);
    void *self;
    /* Cores: a policy has prefetched the translation of a page of an
     * application to its L1 TLB, or the buffer next to it (`to`). */
    void (*prefetched)(void *self, hd_time at, uint32_t app, uint64_t vpn,
                       uint32_t to);
};

#endif
