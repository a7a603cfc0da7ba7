/*
 * simulation.h - what a heddle_sim is, for the few files that see all of it.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_SIMULATION_H
#define HD_SIMULATION_H

#include "core/core.h"
#include "core/dispatch.h"
#include "points/source.h"
#include "machine.h"
#include "memory/dram.h"
#include "memory/l2.h"
#include "points/classify.h"
#include "points/tokens.h"
#include "sim.h"
#include "fabric/home.h"
#include "pages/manage.h"
#include "translation/mmu.h"

struct heddle_config {
    struct hd_machine m;
    struct heddle_error err;
};

/* Clients of memory: the cores, the walkers of each unit, the links between nodes,
 * the L2 itself, and who moves pages. */
enum {
    HD_CLIENT_WALK = HD_MAX_CORES, /* and the next: hd_walk_send_read */
    HD_CLIENT_FABRIC = 2 * HD_MAX_CORES - 1,
    HD_CLIENT_L2,
    HD_CLIENT_MOVER,
    HD_CLIENTS
};

/* What a run has come to; in the arena. */
struct hd_run_state {
    hd_time end;      /* how far run() has served events */
    uint32_t started; /* pages are mapped, cores given away */
    uint32_t warm;    /* warm-up is over */
    int32_t status;   /* HEDDLE_DONE, or an error; 0 while it runs */
    uint64_t events;
    uint64_t progress; /* instructions at the last look of the watchdog */
    hd_time progress_at;
    hd_time checked;                 /* when invariants were last verified */
    uint64_t footprint[HD_MAX_APPS]; /* bytes allocated */
};

struct heddle_sim {
    struct hd_env *env; /* first: sim.h */
    struct hd_env env_;
    struct hd_arena arena;
    struct hd_events ev;
    struct hd_stats stats;
    struct hd_clocks clk;
    struct hd_slots slots;
    struct heddle_error err;
    bool refused; /* the last call was a restore of what does not fit */
    struct hd_machine m;
    struct hd_nodes nodes;
    struct hd_fabric *fabric; /* NULL: there is one node */
    struct hd_home *home;     /* NULL: there is one node */
    struct hd_reqs reqs;
    struct hd_treqs treqs;
    struct hd_dram *dram;
    struct hd_l2 *l2;
    struct hd_below below; /* where cores and walkers send their requests */
    struct hd_compress *compress;
    struct hd_ptables *tables;
    struct hd_link *link;
    struct hd_faults *faults;
    struct hd_evict *evict;
    struct hd_remote *remote;
    struct hd_thrash *thrash; /* NULL: fault.thrashing=none */
    struct hd_mmu *mmu;
    struct hd_manage *memory;
    struct hd_gpu gpu;
    struct hd_client client[HD_CLIENTS];
    struct hd_tclient tclient[2 * HD_MAX_CORES]; /* then: of replayed ones */
    struct hd_tclient fclient[HD_MAX_CORES];
    struct hd_slot partition;
    struct hd_tokens tokens;
    struct hd_classify classify;
    struct hd_run_state *run; /* arena */
    struct hd_sample *sample; /* NULL: all is simulated in detail */
    size_t built; /* bytes of the arena that every state has */
    uint32_t apps;
    struct hd_source *source[HD_MAX_APPS];
    struct heddle_alloc alloc;
};

/* run.c: a policy was unbound.  If one has broken a rule, the run continues:
 * the default has answered. */
void hd_sim_released(heddle_sim *s);

/*
 * sample.c - 0 or an error: takes its state, if there is any sampling; looks,
 * with pages mapped, whether this machine with its policies can be sampled.
 */
int hd_sample_open(heddle_sim *s);
int hd_sample_check(heddle_sim *s);
/* The run begins; it has come to run->end, between two events; it is over. */
void hd_sample_start(heddle_sim *s);
void hd_sample_look(heddle_sim *s);
void hd_sample_over(heddle_sim *s);
/* The instant until which it may run without a look. */
hd_time hd_sample_next(const heddle_sim *s);
/* err.code when it wants one at once: the event loop looks at it. */
enum { HD_SAMPLE_CALLS = 64 };

/* facts.c: offers what parts keep for policies. */
void hd_sim_facts(heddle_sim *s);

#endif
