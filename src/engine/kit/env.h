/*
 * env.h - the small environment that every part of the machine is given.
 *
 * A part is wiring (a struct outside the arena: settings, pointers to its
 * neighbours, policy slots) and state (arrays inside the arena).  At build
 * time it gets this environment; a test gives it a small one of its own, so a
 * TLB can be tested with a fake walker.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_ENV_H
#define HD_ENV_H

#include "arena.h"
#include "base.h"
#include "diag.h"
#include "rng.h"
#include "heddle.h"
#include "event.h"
#include "stat.h"
#include "time.h"

struct hd_env_block;
struct hd_nodes; /* memory/nodes.h */
struct hd_slots; /* points/slots.h: who answers each point */

/* Where a part's entry points for people are: looking, waiting, checking. */
struct hd_part {
    const char *name;   /* "l2tlb" */
    uint32_t instances; /* 1, or one for each core, slice, channel */
    void *self;
    /* Shows the entries of one instance, in order.  May be NULL. */
    void (*look)(void *self, uint32_t instance, struct heddle_visitor *v);
    /* Adds a row for whatever is stuck (hd_show_wait).  May be NULL. */
    void (*stuck)(void *self, uint32_t instance, struct heddle_visitor *v);
    /* Checks the part's invariants; records an error.  May be NULL. */
    void (*check)(void *self, uint32_t instance, struct heddle_error *err);
    /* Brings lazily kept state and counters up to `now`; changes nothing that
     * happens later.  Called before counters are read or reset, before state
     * is hashed, and before the three above.  May be NULL. */
    void (*sync)(void *self, hd_time now);
    /* Policies were bound or unbound, or a listener was set or removed: what
     * answers, and what watches, may have changed.  For parts that keep what
     * follows from it.  May be NULL. */
    void (*bound)(void *self);
};

/* Begins a row of the wait-for graph: who waits, and for what.  The caller may
 * add to it what there is of app, vpn, channel, why, and n: how many. */
static inline void hd_show_wait(struct heddle_visitor *v, const char *who,
                                uint32_t instance, const char *what)
{
    v->row(v->ud, "wait");
    v->text(v->ud, "who", who);
    v->number(v->ud, "instance", instance);
    v->text(v->ud, "for", what);
}

enum { HD_MAX_PARTS = 64 };

struct hd_env {
    struct hd_arena *arena;
    struct hd_events *ev;
    struct hd_stats *stats;
    struct hd_clocks *clk;
    struct hd_slots *slots;
    struct hd_env_block *taken; /* hd_env_take */
    struct heddle_error *err; /* an error recorded during the run stops it */
    const hd_time *local; /* how far the core has run that runs, ahead of the
                             event that is served, or the instant of a DRAM
                             command; NULL: neither */
    uint64_t seed;
    uint32_t apps; /* address spaces */
    const struct hd_nodes *nodes; /* whose memory is where; NULL: there is one
                                     node */
    const uint8_t *is; /* arena: [apps] enum heddle_app_class
                          (points/classify.c) */
    bool check;    /* --check: verify invariants while running */
    bool apart;    /* instructions of shared memory are apart from others */
    bool classes;  /* instructions have classes (core.classes) */
    bool compact;  /* the threads of a block are regrouped (core.compact) */
    bool copies;   /* a source has copies to shared memory (core/copies.c) */
    uint32_t parts;
    struct hd_part part[HD_MAX_PARTS];
};

/* Takes n * size zeroed bytes, aligned to 64, outside the arena: wiring, and
 * what no snapshot has to keep.  NULL: there is no memory. */
void *hd_env_take(struct hd_env *env, size_t n, size_t size);

/* Frees all that was taken; the parts are gone. */
void hd_env_free(struct hd_env *env);

static inline void hd_env_part(struct hd_env *env, struct hd_part p)
{
    hd_assert(env->parts < HD_MAX_PARTS);
    env->part[env->parts++] = p;
}

/* Tells every part that policies were bound or unbound. */
static inline void hd_env_bound(struct hd_env *env)
{
    for (uint32_t i = 0; i < env->parts; i++)
        if (env->part[i].bound != NULL)
            env->part[i].bound(env->part[i].self);
}

/* Brings every part up to the instant being served. */
static inline void hd_env_sync(struct hd_env *env)
{
    hd_time now = hd_events_now(env->ev);

    hd_cross(env, HD_BORDER_sync);
    for (uint32_t i = 0; i < env->parts; i++)
        if (env->part[i].sync != NULL)
            env->part[i].sync(env->part[i].self, now);
}

#endif
