/*
 * unit.h - one unit below the L1 TLBs: L2 TLB, bypass cache, walk queue,
 * walkers, walk cache.  Its stations are l2tlb.c and ptw.c (with pwc.c); mmu.c
 * builds and wires it.  No other layer includes it.
 *
 * A miss is an MSHR of the L2 TLB and a walk with the same number, so that both
 * stations mean the same page by it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_UNIT_H
#define HD_UNIT_H

#include "kit/recip.h"
#include "fabric/home.h"
#include "memory/mshr.h"
#include "subregions.h"
#include "level.h"
#include "mmu.h"
#include "pwc.h"

enum hd_mmu_stat {
#define HD_COUNTERS_OF "translation/mmu.def"
#include "kit/rows.h"
    HD_MMU_STATS
};

enum hd_walk_stat {
#define HD_COUNTERS_OF "translation/walk.def"
#include "kit/rows.h"
    HD_WALK_STATS
};

enum hd_fill_stat {
#define HD_COUNTERS_OF "variants/fill.def"
#include "kit/rows.h"
    HD_FILL_STATS
};

enum hd_walktable_stat {
#define HD_COUNTERS_OF "variants/walktable.def"
#include "kit/rows.h"
    HD_WALKTABLE_STATS
};

enum hd_groups_stat {
#define HD_COUNTERS_OF "variants/groups.def"
#include "kit/rows.h"
    HD_GROUPS_STATS
};

enum hd_walk_state {
    HD_WALK_FREE,
    HD_WALK_WAITS, /* for a walker */
    HD_WALK_RUNS,
    HD_WALK_READS,
    HD_WALK_WANTS, /* of a batch: a read of a level below those under way */
    HD_WALK_TURN   /* the same of the level under way: it has not left */
};

/* A page that missed, from the miss to the answer; its requests are the list of
 * its MSHR. */
struct hd_walk {
    hd_vpn vpn;               /* wanted by the first request */
    hd_time ready;            /* the miss was known */
    hd_time began;            /* a walker took it up */
    hd_pa pte[HD_WALK_STEPS]; /* the entries that it reads, the root's first */
    uint32_t req; /* that reads the entry of `level`; HD_NONE: none does */
    uint16_t references;              /* reads that are counted */
    uint8_t app, level, leaf, cached; /* reads, from 1 on: being made, or next
                                         to be; the last; the last that the walk
                                         cache saved (hd_ptables_step) */
    uint8_t state;
    uint8_t counted;    /* 1: the read under way is */
    uint8_t prefetched; /* 1 + where it goes, for a policy; 0: requests began
                           it */
    uint8_t spared;     /* 1: its last entry was not read */
    uint16_t prefetch_core;
    uint32_t batch;  /* of a batch: which .. */
    uint32_t peer;   /* .. the next walk of it .. */
    uint32_t share;  /* .. and the next that the same read serves; HD_NONE:
                        the last */
    uint16_t bits;   /* of the region whose head PTE, or a subregion's, it
                        reads; 0: it reads the page's own (subregions.h) */
    uint16_t walker; /* that has it */
};

/* A translation that a policy has started, and that waits. */
struct hd_prefetch {
    uint64_t vpn;
    uint8_t app, to; /* to: enum heddle_translate_to */
    uint16_t core;
};

/* A page that a policy fills with the answer of a walk (variants/fill.c). */
struct hd_fill {
    uint64_t vpn;
    uint32_t walk;
    uint16_t core, to; /* to: enum heddle_translate_to */
};

/* Where a walk reads, if a policy says so (variants/walktable.c). */
struct hd_walk_aim {
    hd_pa leaf;    /* while it reads the policy's table: the page table's entry
                      whose place in hd_walk.pte that has .. */
    uint8_t level; /* .. and the read that is still to be made */
    uint8_t table; /* 1: it does so now */
    uint8_t ends;  /* 1: it ends with the read under way */
    uint32_t made, probes; /* reads so far; of them, of the table */
};

/* The walks that a walker has at once (walk.batch). */
struct hd_batch {
    uint32_t first; /* walk */
    uint32_t left;  /* walks that have not ended, or have extra reads */
    uint32_t busy;  /* of them, those that do not want a level below */
    uint32_t level; /* that is read; 0: none yet */
    uint64_t last; /* address of the last read of the level; 0: none has left */
    hd_time next;  /* when the next one may leave */
    bool sending;  /* it will */
};

struct hd_unit_state {
    hd_time port_at;    /* cycle in which look-ups began last */
    uint32_t port_used; /* how many */
    /* two rings: where the first is, and how many follow it, with it */
    uint32_t in_first, in_count;   /* input queue, when blocked */
    uint32_t queue_first, waiting; /* walk queue */
    uint32_t in_looked; /* 1: the input's head has been looked up, and missed */
    uint32_t walkers;   /* in use */
    uint32_t open;      /* 1 + the batch that walks can join; 0: none */
    uint32_t running;   /* walks begun and not done */
    uint32_t prefetch_first, prefetch_n; /* a ring: started by policies */
    uint32_t prefetch_walks;             /* of them, under way */
    uint32_t prefetch_called; /* 1: they are looked at when a port is free */
    uint32_t fills;  /* pages that policies fill with a walk's answer */
    uint64_t number; /* of the unit's next event or numbered read */
    uint32_t running_of[HD_MAX_APPS]; /* the same by application */
    uint32_t seats_of[HD_MAX_APPS];   /* walkers in use by application */
};

/* The requests that one walk answered, until the unit has been notified by all
 * of them (requesters.c). */
struct hd_requesters {
    uint32_t left;  /* requests */
    uint32_t warps; /* misses so far, merged ones included */
    uint32_t app;
};

struct hd_unit {
    struct hd_mmu *m;
    struct hd_unit_state *s; /* arena */
    struct hd_treq *treq;    /* arena: the pool */
    struct hd_mshr miss;
    struct hd_walk *walk;   /* arena: [miss entry] */
    uint32_t *input;        /* arena: ring of requests, [in_room] */
    uint32_t *queue;        /* arena: ring of walks, [miss.room] */
    struct hd_batch *batch; /* arena: [walkers]; NULL: a walk each */
    uint64_t *seat; /* arena: bit set of walkers in use, unless they are ideal,
                       or have batches */
    struct hd_numbers batches;
    struct hd_prefetch *prefetches; /* arena: [prefetch.queue] */
    struct hd_fill *wanted;         /* arena: [fill.queue]; NULL: none */
    struct hd_walk_aim *aim;        /* arena: [miss entry]; NULL: walks read
                                       what the page table says */
    uint32_t instance, rank, input_rank, in_room, prefetch_rank, node;
    const struct hd_treq *hand; /* that its arrays see; NULL: a policy's */
    /* these mean something only within an event: */
    uint64_t ticket; /* number of the event, or HD_UNIT_FOREIGN */
    bool starting;   /* no walk may end: it would find its own beginning */
    struct hd_tlb tlb, bypass;
    struct hd_pwc pwc;
    struct hd_subregions subs;
    struct hd_stat stat, walk_stat, fill_stat, table_stat,
        group_stat; /* rows `instance` */
};

#define HD_UNIT_FOREIGN UINT64_MAX /* an event that a core has sent */

struct hd_mmu {
    struct hd_env *env;
    hd_time tick;                 /* an L2 cycle */
    hd_time transit, lookup;      /* settings in ticks */
    hd_time step_ticks;           /* from a read of a batch to the next */
    hd_time fixed, walk_fixed;    /* settings in ticks */
    struct hd_recip per_core;     /* of a core cycle */
    struct hd_recip per_tick;     /* of an L2 cycle */
    const uint32_t *watched;      /* [note] watchers */
    const struct hd_steer *steer; /* arena; NULL: no policy can steer */
    struct hd_mmu_recent *recent; /* arena: [app] */
    uint32_t *requesters_of; /* arena: [treq], its record + 1; 0: in none */
    struct hd_requesters *requesters; /* arena */
    struct hd_numbers requester_numbers;
    struct hd_hist *latency, *walk_latency, *walk_queue, *walk_requesters,
        *walk_warps;
    uint32_t *port;     /* [core]: sender's rank of its requests */
    uint8_t read_flags; /* of all reads */
    struct hd_walk_step read[HD_WALK_STEPS + 1]; /* of a read, by its number */
    uint8_t
        run_pages; /* whose leaf entries are in the line that a walk reads */
    bool ordered;  /* reads are numbered: one unit, and they take time */
    bool chosen;   /* which walk a walker takes: by a policy, or a table */
    bool early;    /* and are sent as soon as their time is known, if .. */
    const hd_time *until; /* .. that is before this */
    uint32_t probes; /* look-ups of a request that misses: of the large array
                        (l2tlb.serial), entries of subregions, all others */
    struct hd_mmu_wiring w;
    struct hd_slot fill, step, pick, reference, address, group;
    struct hd_unit *asking; /* the unit with a walk of which a policy is asked
                               or told; NULL: none */
    uint32_t asking_for;    /* that walk */
    struct hd_tlb_cfg tlb_cfg;
    struct hd_walk_cfg walk_cfg;
    struct hd_pwc_cfg pwc_cfg;
    struct hd_msc_cfg msc_cfg;
    struct hd_bypass_cfg bypass_cfg;
    struct hd_prefetch_cfg prefetch_cfg;
    struct hd_fill_cfg fill_cfg;
    struct hd_walktable_cfg walktable_cfg;
    hd_pa table_at; /* of a policy (variants/walktable.c) .. */
    uint64_t table_entries;
    struct hd_groups_cfg groups_cfg;
    uint64_t *marks; /* arena: [marks_n] of frames (variants/groups.c) */
    uint64_t marks_n;
    struct hd_stat prefetch_stat;
    struct hd_levels *levels; /* of uTLBs above the unit; NULL: none */
    hd_time never;
    uint64_t *who; /* scratch for questions: [treqs->room] and more */
    uint32_t units, share; /* cores of a unit */
    struct hd_unit unit[]; /* [units] */
};

/* The unit of a core. */
static inline struct hd_unit *hd_mmu_unit(struct hd_mmu *m, uint32_t core)
{
    return &m->unit[HD_LIKELY(m->units == 1) ? 0 : core / m->share];
}

/* ---- small things that both stations use -------------------------------- */

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

/* The place in a ring of `room`, `i` behind the first. */
static inline uint32_t hd_unit_place(uint32_t first, uint32_t i, uint32_t room)
{
    uint32_t at = first + i;

    return at >= room ? at - room : at;
}

/* Unit `i` of what struct hd_part calls `self`. */
static inline struct hd_unit *hd_unit_of(void *mmu, uint32_t i)
{
    return &((struct hd_mmu *)mmu)->unit[i];
}

/* ---- l2tlb.c ------------------------------------------------------------ */

static inline uint64_t *hd_l2tlb_row(const struct hd_unit *u, uint32_t app)
{
    return hd_count_row(&u->stat, u->instance, app);
}

static inline uint32_t *hd_l2tlb_input(const struct hd_unit *u, uint32_t i)
{
    return &u->input[hd_unit_place(u->s->in_first, i, u->in_room)];
}

/* The MSHRs are what is short, and not the walk queue.  Of both, no more are
 * built than can be in use. */
static inline bool hd_l2tlb_mshrs_full(const struct hd_unit *u)
{
    return u->m->tlb_cfg.mode.kind == HD_FULL &&
           hd_mshr_used(&u->miss) == u->m->tlb_cfg.mshrs;
}

/* Whether the page of a request is there, which a translation covers. */
static inline bool hd_l2tlb_resident(const struct hd_unit *u,
                                     const struct hd_treq *q,
                                     const struct hd_xlate *x)
{
    return hd_faults_here(u->m->w.faults, u->m->w.tables, q->app, q->vpn, x);
}

/* The translation from the page table; false: not mapped. */
static inline bool hd_l2tlb_translate(const struct hd_unit *u, uint32_t app,
                                      hd_vpn vpn, struct hd_xlate *x)
{
    const struct hd_mmu *m = u->m;

    if (!hd_ptables_find(m->w.tables, app, vpn, x))
        return false;
    if (HD_UNLIKELY(u->tlb.merge.bound || u->bypass.merge.bound ||
                    (m->w.merge != NULL && m->w.merge->bound)))
        hd_ptables_run(m->w.tables, app, vpn, m->run_pages, x);
    return true;
}

/* .. for a request, whose page may have waited for it (fabric/home.c). */
static inline bool hd_l2tlb_reach(const struct hd_unit *u, uint32_t app,
                                  hd_vpn vpn, struct hd_xlate *x)
{
    return hd_l2tlb_translate(u, app, vpn, x) ||
           (HD_UNLIKELY(u->m->w.home != NULL) &&
            hd_home_touch(u->m->w.home, u->node, app, vpn, x));
}

/* Whether a warp may fill the L2 TLB, by the steering tables. */
static inline bool hd_l2tlb_may_fill(const struct hd_steer *s, uint64_t app,
                                     uint64_t core, uint64_t warp)
{
    return s == NULL || core >= HD_LEN(s->tlb_fill[0]) || warp > 63 ||
           s->tlb_fill[app][core] >> warp & 1;
}

/* A core sends a request (struct hd_tbelow's send); it has arrived, an event of
 * u->input_rank. */
void hd_l2tlb_take(void *unit, hd_time now, uint32_t treq);
void hd_l2tlb_serve(void *unit, hd_time now, uint32_t what, uint32_t treq,
                    uint64_t b);
/* A walk has ended: its requests are answered, and its MSHR is free. */
void hd_l2tlb_answer(struct hd_unit *u, hd_time now, uint32_t walk);
/* An MSHR or room in the walk queue came free. */
void hd_l2tlb_unblock(struct hd_unit *u, hd_time now);
/* Counts the stages of a request that is answered with x at `at`, or faults
 * then (NULL: if an entry covered its page, that was a large one).  `joined`:
 * when it entered an MSHR; a hit: `at`. */
void hd_l2tlb_account(struct hd_unit *u, const struct hd_treq *q,
                      const struct hd_xlate *x, hd_time joined, hd_time at);
/* The result x of a walk for a list of requests, q the first of them, goes
 * where it is to go; walk NULL: it took no time. */
void hd_l2tlb_fill(struct hd_unit *u, hd_time now, const struct hd_walk *walk,
                   const struct hd_treq *q, const struct hd_xlate *x);

/* Takes a port for a look-up that is here now: when it begins. */
hd_time hd_l2tlb_port(struct hd_unit *u, hd_time now);

/* ---- bypass.c ---------------------------------------------------------- */

/* The default of tlb_fill; asks where the result x of a walk for a list of
 * requests goes; walk NULL: it took no time. */
int64_t hd_bypass_default(void *mmu, const void *question);
uint32_t hd_bypass_ask(struct hd_unit *u, const struct hd_walk *walk,
                       const struct hd_treq *first, const struct hd_xlate *x);
/* Looks a request that missed the L2 TLB up in the bypass cache; there is one.
 */
bool hd_bypass_find(struct hd_unit *u, const struct hd_treq *q,
                    struct hd_xlate *x);

/* ---- variants/fill.c ---------------------------------------------------- */

/* A policy is asked or told of a walk, with whose answer it may fill pages:
 * until hd_fill_close. */
static inline void hd_fill_open(struct hd_unit *u, uint32_t walk)
{
    u->m->asking = u;
    u->m->asking_for = walk;
}

static inline void hd_fill_close(const struct hd_unit *u)
{
    u->m->asking = NULL;
}

/* A policy asks for a page (struct hd_slots): 0, as hd_prefetch_may, or
 * HEDDLE_EPOLICY with its text. */
int hd_fill_take(void *mmu, uint32_t app, uint64_t vpn, uint32_t to,
                 uint32_t core, struct heddle_error *err);
/* A walk ends: the pages that came with it are filled, if it has one.  Called
 * while pages wait (hd_unit_state.fills). */
void hd_fill_answer(struct hd_unit *u, hd_time now, uint32_t walk);
void hd_fill_look(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_fill_check(void *mmu, uint32_t unit, struct heddle_error *err);

/* ---- variants/walktable.c ----------------------------------------------- */

/* Keeps memory for the table and offers walk_address, if there is to be one: 0
 * or an error. */
int hd_walktable_open(struct hd_mmu *m);
/* A walk is about to read: a policy says where.  `a` is all zero when a walk
 * begins. */
void hd_walktable_aim(const struct hd_unit *u, struct hd_walk *w,
                      struct hd_walk_aim *a, uint32_t core, uint32_t pc);
/* It has read; false: its level is still to be read. */
bool hd_walktable_read(const struct hd_unit *u, struct hd_walk *w,
                       struct hd_walk_aim *a);

/* ---- variants/groups.c -------------------------------------------------- */

/* Takes room for marks and offers tlb_group, if there are to be groups: 0 or an
 * error. */
int hd_groups_open(struct hd_mmu *m);
/* A walk for vpn ends with x: the group that a policy makes of it. */
void hd_groups_choose(struct hd_unit *u, uint32_t app, hd_vpn vpn,
                      uint32_t core, uint32_t pc, struct hd_xlate *x);

/* ---- variants/pick.c ---------------------------------------------------- */

/* Words of scratch that a question about so many walks takes. */
uint64_t hd_pick_scratch(uint64_t walks);
/* The default of walk_pick: the oldest walk, but for walk_quota. */
int64_t hd_pick_default(void *mmu, const void *question);
/* Which waiting walk a batch takes next. */
uint32_t hd_pick_batch(struct hd_unit *u, hd_time now);
/* Gives each free walker the walk that is chosen for it, or none. */
void hd_pick_dispatch(struct hd_unit *u, hd_time now);
/* Tell watchers of walk_start and walker_idle. */
void hd_pick_tell_start(const struct hd_unit *u, hd_time at, uint32_t walk);
void hd_pick_tell_idle(const struct hd_unit *u, uint32_t walker);

/* ---- nonresident.c ----------------------------------------------------- */

/* Requests of a list found their pages not mapped, by a walk that began at
 * `began`, or by an entry that a look-up found then: the pages are not
 * resident, and the requests wait for them elsewhere; or there are no such
 * pages. */
void hd_nonresident_enter(struct hd_unit *u, hd_time now, uint32_t first,
                          hd_time began);

/* ---- warm.c ------------------------------------------------------------ */

/* A request is answered at once (struct hd_tbelow's warm). */
uint32_t hd_l2tlb_warm(void *unit, const struct hd_treq *q, struct hd_xlate *x);

/* ---- look.c ------------------------------------------------------------ */

/* --check: a translation that a request is given equals the page table's. */
void hd_l2tlb_verify(const struct hd_unit *u, const struct hd_treq *q,
                     const struct hd_xlate *given);

void hd_l2tlb_look(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_l2tlb_look_bypass(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_l2tlb_stuck(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_l2tlb_check(void *mmu, uint32_t unit, struct heddle_error *err);
void hd_ptw_look(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_ptw_stuck(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_ptw_check(void *mmu, uint32_t unit, struct heddle_error *err);

/* ---- prefetch.c --------------------------------------------------------- */

/* Whether a page may be translated or filled for a policy: HEDDLE_EINVAL: there
 * is no such application, core or page; HEDDLE_ECONFIG: no such TLB. */
int hd_prefetch_may(const struct hd_mmu *m, uint32_t app, uint64_t vpn,
                    uint32_t to, uint32_t core);
/* A policy starts a translation (struct hd_slots). */
int hd_prefetch_take(void *mmu, uint32_t app, uint64_t vpn, uint32_t to,
                     uint32_t core);
void hd_prefetch_serve(void *unit, hd_time now, uint32_t what, uint32_t a,
                       uint64_t vpn);
/* Requests and misses are served: what they leave free is for those that
 * wait. */
void hd_prefetch_go(struct hd_unit *u, hd_time now);
/* A miss joins a walk that a policy began. */
void hd_prefetch_joined(const struct hd_unit *u, const struct hd_walk *w);
/* A walk that a policy began has ended, with x (NULL: not mapped).
 * False: requests have joined it. */
bool hd_prefetch_answer(struct hd_unit *u, hd_time now, uint32_t walk,
                        const struct hd_xlate *x);
void hd_prefetch_look(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_prefetch_check(void *mmu, uint32_t unit, struct heddle_error *err);

/* ---- batch.c ----------------------------------------------------------- */

/* The default of walk_reference: as long as there are some, those of a line. */
int64_t hd_batch_reference_default(void *mmu, const void *question);

/* ---- requesters.c ------------------------------------------------------ */

/* A requester has its answer (struct hd_tbelow's notified). */
void hd_requesters_notified(void *unit, uint32_t treq);
/* A request that has joined another one in a level of uTLBs is answered by the
 * walk that has answered that, if one has. */
void hd_requesters_join(struct hd_unit *u, uint32_t treq, uint32_t with);

/* ---- ptw.c -------------------------------------------------------------- */

/* Whether one more walk can begin or wait. */
bool hd_ptw_room(const struct hd_unit *u);
/* Takes a walk, whose vpn, app and instant `ready` are set. */
void hd_ptw_take(struct hd_unit *u, hd_time now, uint32_t walk);
/* An event of u->rank. */
void hd_ptw_serve(void *unit, hd_time now, uint32_t what, uint32_t walk,
                  uint64_t number);
/* Memory answers a read (struct hd_client); the answer leaves it at `at`. */
void hd_ptw_answer(void *mmu, hd_time at, uint32_t req);

/* Counts the reads that were sent before their time and have left since. */
void hd_ptw_sync(void *mmu, hd_time now);

#endif
