/*
 * unit.h - one unit below the L1 TLBs: L2 TLB, bypass cache, walk queue,
 * walkers, walk cache.  Shared by l2tlb.c and l2tlbanswer.c (front), walk.c
 * (back), mmu.c (building) and mmulook.c (looking); nobody else includes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_UNIT_H
#define HD_UNIT_H

#include "../base/recip.h"
#include "../mem/mshr.h"
#include "mmu.h"
#include "walkcache.h"

enum hd_unit_event {
    HD_UNIT_START, /* a: walk; its walker begins */
    HD_UNIT_SEND,  /* a: walk; its next read leaves */
    HD_UNIT_ENTRY, /* a: walk; a page-table entry has come */
    HD_UNIT_DONE   /* a: walk */
};

enum hd_mmu_stat {
    HD_MMU_REQUESTS,
    HD_MMU_HITS,
    HD_MMU_BYPASS_HITS,
    HD_MMU_MISSES,
    HD_MMU_ABSENT,
    HD_MMU_MERGES,
    HD_MMU_FILLS,
    HD_MMU_BYPASS_FILLS,
    HD_MMU_UNFILLED,
    HD_MMU_MSHR_BLOCKS,
    HD_MMU_QUEUE_BLOCKS,
    HD_MMU_MSHR_PEAK,
    HD_MMU_INPUT_PEAK,
    HD_MMU_INPUT_CYCLES, /* the stages of a request; their sum: latency */
    HD_MMU_LOOKUP_CYCLES,
    HD_MMU_FULL_CYCLES,
    HD_MMU_QUEUE_CYCLES,
    HD_MMU_WALK_CYCLES,
    HD_MMU_STATS
};

enum hd_walk_stat {
    HD_WALK_WALKS,
    HD_WALK_REFERENCES,
    HD_WALK_LEVEL,                  /* references by level */
    HD_WALK_L2 = HD_WALK_LEVEL + 4, /* answered by the L2 cache, by level */
    HD_WALK_SKIPPED = HD_WALK_L2 + 4,
    HD_WALK_REQUESTERS,
    HD_WALK_WARPS,
    HD_WALK_BUSY_CYCLES,
    HD_WALK_QUEUE_CYCLES,
    HD_WALK_PEAK,
    HD_WALK_QUEUE_PEAK,
    HD_WALK_STATS
};

enum hd_walk_state { HD_WALK_FREE, HD_WALK_WAITS, HD_WALK_RUNS, HD_WALK_READS };

/* A page that missed, from the miss to the answer: entry of the MSHRs with the
 * same index.  Its requests are the MSHR's list.  A line of the host's cache.
 */
struct hd_walk {
    hd_vpn vpn;    /* wanted by the first request */
    hd_time ready; /* the miss was known */
    hd_time began; /* a walker took it up */
    struct hd_ptpath path;
    uint32_t req; /* that reads for it, and says which level; or HD_NONE */
    uint16_t references;              /* of them those that are counted */
    uint8_t app, level, leaf, cached; /* level: being read, or next to be */
    uint8_t state;
    uint8_t counted; /* the last level whose read is counted */
    uint64_t spare;
};

_Static_assert(sizeof(struct hd_walk) == 64, "as it is said above");

struct hd_unit_state {
    hd_time port_at;    /* cycle in which look-ups began last */
    uint32_t port_used; /* how many */
    /* two rings: where the first is, and how many follow it, with it */
    uint32_t in_first, in_count;   /* input queue, when blocked */
    uint32_t queue_first, waiting; /* walk queue */
    uint32_t in_looked; /* 1: the input's head has been looked up, and missed */
    uint32_t walkers;   /* in use */
    uint32_t running;   /* walks begun and not done */
    uint64_t number;    /* of the unit's next event or numbered read */
    uint32_t running_of[HD_MAX_APPS]; /* the same by application */
};

/* What all units did for an application since a policy's epoch; in the
 * arena. */
struct hd_mmu_recent {
    uint32_t walks;   /* begun and not done */
    uint32_t peak;    /* most of them */
    uint32_t stalled; /* most L1 TLB misses that one walk answered */
};

/*
 * The requests that one walk answered, until all of them have been heard: a
 * core merges misses with its request until it has the answer, so that is when
 * it is certain how many there were.  (To read the number when the walk ends
 * would count those of cores that have run ahead, and not those of others.)
 * One alone makes no party: its own count is the walk's.
 */
struct hd_party {
    uint32_t left; /* requests */
    uint32_t warps;
    uint32_t app;
};

/* A request in the input queue. */
struct hd_unit_input {
    hd_time arrived;
    uint64_t page; /* hd_unit_page */
    uint32_t treq;
    uint32_t spare;
};

struct hd_mmu;

/* First what every request and walk needs. */
struct hd_unit {
    struct hd_mmu *m;
    struct hd_unit_state *s; /* arena */
    struct hd_treq *treq;    /* arena: the pool */
    struct hd_walk *walk;    /* arena: [miss entry] */
    struct hd_mshr miss;
    uint64_t *count_row, *walk_row; /* arena: of application 0 */
    uint64_t *shared, *walk_shared; /* arena: of no application */
    struct hd_unit_input *input;    /* arena: ring, [in_room] */
    uint32_t *queue;                /* arena: ring of walks, [miss.room] */
    struct hd_env *env;
    struct hd_req *req; /* arena: the pool */
    uint32_t instance, rank, input_rank, in_room;
    /* these mean something only within an event: */
    uint64_t ticket; /* number of the event, or HD_UNIT_FOREIGN */
    bool starting;   /* inside hd_walk_begin or hd_l2tlb_unblock */
    bool calm;       /* see hd_unit_calm */
    struct hd_tlb tlb, bypass;
    struct hd_walkcache pwc;
    struct hd_stat stat, walk_stat; /* rows `instance` */
};

#define HD_UNIT_FOREIGN UINT64_MAX /* an event that a core has sent */

/* First what every request and walk needs. */
/*
 * A chain of reads, each of which needs the answer of the one before only to
 * leave: a page walk.  The request carries the words that the next ones read,
 * and goes on as each of them in turn, as soon as it has the answer.
 */
enum { HD_CHAIN_BITS = 21 }; /* of a word's number in hd_req.more; none is 0 */

struct hd_chain {
    hd_pa first;          /* word 0; they have 8 bytes */
    hd_time back;         /* ticks from the answer to the next read, whole L2
                             cycles */
    const hd_time *until; /* reads from this instant on are the requester's */
    const uint32_t *held; /* not 0: all are */
    uint64_t *number;     /* of the next read that has HD_REQ_SEQ */
    uint64_t *hits;       /* [app * stride + level - 1]: reads of the chain that
                             found their line; whoever goes on counts them */
    uint32_t stride;
    uint32_t client; /* of reads that have HD_REQ_SEQ */
};

/* Makes a request of a chain, whose answer leaves at `leaves`, the next read,
 * to be sent at q->born.  False, and nothing was done: it is not the chain's,
 * or it is the last, or the requester has a say. */
static inline bool hd_chain_next(const struct hd_chain *c, struct hd_req *q,
                                 hd_time leaves)
{
    hd_time at = leaves + c->back;
    uint64_t more = q->more, rest = more >> HD_CHAIN_BITS;
    uint64_t word = more & ((1u << HD_CHAIN_BITS) - 1);

    if ((q->flags & HD_REQ_CHAIN) == 0 || at >= *c->until || *c->held != 0)
        return false;
    c->hits[q->app * c->stride + q->level - 1u] += q->hit == HD_REQ_HIT;
    q->pa.v = c->first.v + word * 8;
    q->born = at;
    q->queued = (*c->number)++;
    q->client = (uint16_t)c->client;
    q->level++;
    q->flags = HD_REQ_SEQ | (rest != 0 ? HD_REQ_CHAIN : 0);
    q->hit = HD_REQ_HIT;
    q->more = rest;
    return true;
}

struct hd_mmu {
    struct hd_env *env;
    hd_time tick;                 /* an L2 cycle */
    hd_time transit, lookup;      /* settings in ticks */
    struct hd_recip per_core;     /* of a core cycle */
    const uint32_t *sized;        /* arena: there are pages larger than 4 KB */
    const uint32_t *watched;      /* [note] watchers */
    const struct hd_steer *steer; /* arena; NULL: nobody can steer */
    struct hd_mmu_recent *recent; /* arena: [app] */
    uint32_t *party_of;           /* arena: [treq] */
    struct hd_party *parties;     /* arena */
    struct hd_numbers party_numbers;
    struct hd_hist *latency, *walk_latency, *walk_queue, *walk_requesters,
        *walk_warps;
    uint32_t *port;         /* [core]: sender's rank of its requests */
    hd_pa first_entry;      /* of the page tables */
    const uint64_t *words;  /* arena: hd_ptables_words */
    uint64_t lookup_cycles; /* whole core cycles in `lookup` */
    bool simple;     /* all that can be told at build time of hd_unit_calm */
    bool ordered;    /* reads are numbered: one unit, and they take time */
    uint8_t chained; /* HD_REQ_CHAIN: and the next is sent as soon as its time
                        is known; or 0 */
    bool serial;     /* the base array is looked up after a large one */
    struct hd_mmu_wiring w;
    struct hd_slot fill, step, pick;
    struct hd_tlb_cfg tlb_cfg;
    struct hd_walk_cfg walk_cfg;
    struct hd_pwc_cfg pwc_cfg;
    struct hd_bypass_cfg bypass_cfg;
    struct hd_recip per_tick; /* of an L2 cycle */
    struct hd_chain chain;
    hd_time never;
    hd_time fixed, walk_fixed; /* settings in ticks */
    uint64_t *who; /* scratch for questions: [treqs->room] and more */
    uint32_t units;
    struct hd_unit unit[]; /* [units] */
};

/* ---- small things that both halves use -------------------------------- */

/* The tag of a walk's requests, and what it says. */
#define HD_UNIT_TAG(unit, walk) ((unit) << 20 | (walk))
#define HD_UNIT_OF(tag)         ((tag) >> 20)
#define HD_UNIT_WALK(tag)       ((tag)&0xfffff)

/*
 * The page that a request wants as one number, and what it says.  It comes with
 * the event and stays in the input queue: so it can be looked up at once, while
 * the request, which the host has not seen for long, is on its way from memory.
 */
enum { HD_UNIT_VPN_BITS = 52 };

static inline uint64_t hd_unit_page(const struct hd_treq *q)
{
    return q->vpn.v | (uint64_t)q->app << HD_UNIT_VPN_BITS;
}

static inline hd_vpn hd_unit_vpn(uint64_t page)
{
    return (hd_vpn){page & (((uint64_t)1 << HD_UNIT_VPN_BITS) - 1)};
}

static inline uint32_t hd_unit_app(uint64_t page)
{
    return (uint32_t)(page >> HD_UNIT_VPN_BITS);
}

static inline struct hd_treq *hd_unit_treq(const struct hd_unit *u,
                                           uint32_t treq)
{
    return &u->treq[treq];
}

/* Whether the page of a request is there, which a translation covers. */
static inline bool hd_unit_here(const struct hd_unit *u,
                                const struct hd_treq *q,
                                const struct hd_xlate *x)
{
    return hd_faults_here(u->m->w.faults, u->m->w.tables, q->app, q->vpn, x);
}

/* Rows of counters of an application of this simulation. */
static inline uint64_t *hd_unit_row(const struct hd_unit *u, uint32_t app)
{
    hd_assert(app + 1 < u->stat.apps);
    return u->count_row + app * HD_MMU_STATS;
}

static inline uint64_t *hd_unit_walk_row(const struct hd_unit *u, uint32_t app)
{
    hd_assert(app + 1 < u->stat.apps);
    return u->walk_row + app * HD_WALK_STATS;
}

static inline void hd_unit_peak(uint64_t *peak, uint64_t value)
{
    if (value > *peak)
        *peak = value;
}

/* Whole core cycles in a span. */
static inline uint64_t hd_unit_cycles(const struct hd_mmu *m, hd_time span)
{
    return hd_recip_div(m->per_core, span);
}

/* Whether nothing unusual is in play: a full L2 TLB of one array without a
 * bypass cache, walks step by step without a walk cache, no page on the host,
 * nobody who chooses, watches or checks. */
static inline bool hd_unit_calm(const struct hd_unit *u)
{
    return HD_LIKELY(u->calm);
}

/* Posts an event of the unit to itself; its number comes with it. */
static inline void hd_unit_post(struct hd_unit *u, hd_time at,
                                enum hd_unit_event what, uint32_t a)
{
    hd_post(u->env->ev, u->rank, u->rank, at, what, a, u->s->number++);
}

/* The MSHRs are what is short, and not the walk queue.  Of both, no more are
 * built than can be in use. */
static inline bool hd_unit_mshrs_full(const struct hd_unit *u)
{
    return u->m->tlb_cfg.mode.kind == HD_FULL &&
           hd_mshr_used(&u->miss) == u->m->tlb_cfg.mshrs;
}

/* Counts the reads of a walk that are not counted yet, up to a level's. */
static inline void hd_unit_settle(const struct hd_unit *u, struct hd_walk *w,
                                  uint32_t level)
{
    uint64_t *c = hd_unit_walk_row(u, w->app);

    uint32_t first = w->counted, n = level - first;

    c[HD_WALK_REFERENCES] += n;
    w->references = (uint16_t)(w->references + n);
    for (uint32_t l = 0; l < 4; l++) /* one or four: not to be predicted */
        c[HD_WALK_LEVEL + l] += l - first < n;
    w->counted = (uint8_t)level;
}

/* The level that a walk is at. */
static inline uint32_t hd_unit_level(const struct hd_unit *u,
                                     const struct hd_walk *w)
{
    return w->req != HD_NONE ? u->req[w->req].level : w->level;
}

/* Where the entry of a level is that a walk reads. */
static inline hd_pa hd_unit_pte(const struct hd_mmu *m, const struct hd_walk *w,
                                uint32_t level)
{
    return hd_ptables_pa(m->first_entry, w->path.entry[level - 1]);
}

/* The place in a ring of `room`, `i` behind the first. */
static inline uint32_t hd_unit_place(uint32_t first, uint32_t i, uint32_t room)
{
    uint32_t at = first + i;

    return at >= room ? at - room : at;
}

/* The i-th request of the input queue. */
static inline struct hd_unit_input *hd_unit_input(const struct hd_unit *u,
                                                  uint32_t i)
{
    return &u->input[hd_unit_place(u->s->in_first, i, u->in_room)];
}

/* Whether one more walk can begin or wait. */
static inline bool hd_unit_walk_room(const struct hd_unit *u)
{
    const struct hd_walk_cfg *c = &u->m->walk_cfg;

    return u->s->walkers < c->walkers || u->s->waiting < c->queue ||
           c->mode.kind == HD_IDEAL;
}

/* mmulook.c: for struct hd_part. */
void hd_mmulook_tlb(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_mmulook_bypass(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_mmulook_walks(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_mmulook_pwc(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_mmulook_stuck(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_mmulook_check(void *mmu, uint32_t unit, struct hd_err *err);
void hd_mmulook_sync(void *mmu, hd_time now);

/* l2tlb.c: a request has arrived; room came free. */
void hd_l2tlb_arrive(struct hd_unit *u, hd_time now, uint32_t treq,
                     uint64_t page);
void hd_l2tlb_unblock(struct hd_unit *u, hd_time now);

/* l2tlbanswer.c */
/* The translation from the page table, at the end of a walk if there was one
 * (or NULL); false: not mapped. */
bool hd_l2tlb_translate(struct hd_unit *u, const struct hd_walk *w,
                        uint32_t app, hd_vpn vpn, struct hd_xlate *x);
/* Answers a request for the instant `at`.  `entered`: it joined an MSHR; a
 * hit: `at`. */
void hd_l2tlb_answer(struct hd_unit *u, const struct hd_xlate *x,
                     hd_time entered, hd_time at, uint32_t treq);
/* Requests of a list found their pages not mapped, by a walk that began at
 * `began`: the pages are absent, and the requests wait for them elsewhere; or
 * there are no such pages, which is an error. */
void hd_l2tlb_fault(struct hd_unit *u, hd_time now, uint32_t first,
                    hd_time began);
/* A walk has ended. */
void hd_l2tlb_complete(struct hd_unit *u, hd_time now, uint32_t walk);
int64_t hd_l2tlb_fill_default(void *mmu, const void *question);

/* walk.c: takes a walk (its vpn, app and instant `ready` are set); the events;
 * a request is answered by memory, where the answer leaves at `at`. */
void hd_walk_add(struct hd_unit *u, hd_time now, uint32_t walk);
void hd_walk_begin(struct hd_unit *u, hd_time now, uint32_t walk);
void hd_walk_send(struct hd_unit *u, hd_time now, uint32_t walk);
void hd_walk_read(struct hd_unit *u, hd_time at, uint32_t req);
void hd_walk_entry(struct hd_unit *u, hd_time now, uint32_t walk);
void hd_walk_done(struct hd_unit *u, hd_time now, uint32_t walk);
/* struct hd_tbelow's, of a unit. */
void hd_walk_heard(void *unit, uint32_t treq);
int64_t hd_walk_step_default(void *mmu, const void *question);
int64_t hd_walk_pick_default(void *mmu, const void *question);

#endif
