/*
 * registry.h - who offers which point, and who is bound to it.
 *
 * An offer is one slot of one copy of a structure.  A binding is one
 * heddle_use; it has a cell, that is a state, for each structure (a pure
 * replacement policy) or one cell in all.  Offers, bindings and cells are
 * wiring; only the states of cells, the epochs and the steering tables are in
 * the arena.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_REGISTRY_H
#define HD_REGISTRY_H

#include "kit/config.h"
#include "kit/env.h"
#include "slots.h"

enum {
    HD_MAX_AT = 24,  /* structures that offer points */
    HD_AT_ROOM = 24 /* bytes of a structure's name */
};

struct hd_bound;

/* What is counted of each point. */
enum { HD_ASKED, HD_PASSED, HD_ASKS };

/* One slot of one copy of a structure.  While a policy is bound to it or
 * there is a listener, the slot's `self` is the offer. */
struct hd_offer {
    struct hd_slot *slot;
    heddle_answer *def; /* the default */
    void *def_self;
    heddle_answer *fn; /* the bound policy's */
    void *state;       /* and its state */
    struct hd_bound *by;
    struct hd_slots_registry *r;
    const struct heddle_point_info *info;
    uint32_t point, at;  /* at: index of the structure */
    uint32_t instance;   /* copy of it */
    uint32_t app_offset; /* of the question's field `app`, or HD_NONE */
    uint32_t limit_offset;
    uint32_t choices; /* words of a CHOICE */
};

/* A structure that offers points. */
struct hd_at {
    char name[HD_AT_ROOM];
    uint32_t instances, sets, ways; /* 0 where nothing is replaced */
    uint32_t offered[HEDDLE_POINT_COUNT]; /* slots of each point */
};

/* State of one policy at one place. */
struct hd_cell {
    uint32_t at;            /* structure it serves, or HD_NONE: all */
    void *state;            /* what the policy's functions get */
    uint32_t home;          /* index of its place in the arena, or HD_NONE */
    char where[HD_AT_ROOM]; /* place.at */
};

/* What one policy alone may steer, or ask for. */
enum hd_own { HD_OWN_TABLE, HD_OWN_FACT, HD_OWN_LIMIT, HD_OWN_KINDS };

struct hd_bound {
    const struct heddle_policy *policy; /* NULL: free */
    uint64_t code;  /* its own, or that of the plug-in which it is from */
    uint32_t order; /* of heddle_use calls */
    uint32_t owned[HD_OWN_KINDS];       /* bit sets */
    uint32_t cells;
    char at[HD_AT_ROOM];
    uint64_t values[HEDDLE_MAX_PARAMS];
    struct hd_cell cell[HD_MAX_AT];
};

/* A place in the arena that a policy's state has or had.  Binding the same
 * policy there again takes the same place, so that old snapshots fit. */
struct hd_home {
    char policy[32], where[HD_AT_ROOM];
    size_t bytes, offset;
    uint32_t taken;
};

/* State in the arena. */
struct hd_slots_state {
    hd_time next;                          /* least of all epochs */
    uint32_t generation[HEDDLE_MAX_BOUND]; /* counts uses of a binding */
    hd_time epoch[HEDDLE_MAX_BOUND][HD_MAX_AT];
};

enum { HD_MAX_WATCHERS = 16, HD_MAX_FILTERS = 4 };

/* What policies count of their own; a name is never given back. */
enum { HD_OWN_COUNTERS = 32, HD_OWN_HISTS = 4, HD_OWN_ROOM = 64 };

struct hd_owned {
    struct hd_stat stat; /* v NULL: there is no room */
    struct hd_hist *hist[HD_OWN_HISTS];
    struct hd_stat_desc desc[HD_OWN_COUNTERS];    /* name NULL: free */
    struct hd_hist_desc of_hist[HD_OWN_HISTS];
    struct hd_rows rows;                        /* of these */
    char name[HD_OWN_COUNTERS + HD_OWN_HISTS][HD_OWN_ROOM]; /* "victim.kept" */
    char text[HD_OWN_COUNTERS + HD_OWN_HISTS][2][160]; /* unit, meaning */
};

struct hd_watcher {
    void (*fn)(void *state, const void *note);
    void *state;
    struct hd_bound *by;
    uint32_t at;      /* structure whose notes it is told, or HD_NONE: all */
    uint32_t filters; /* that a note must pass */
    struct {
        size_t offset;
        uint64_t value;
    } filter[HD_MAX_FILTERS];
};

struct hd_slots_registry {
    struct hd_slots *slots;
    struct hd_env *env;
    heddle_sim *sim;
    struct heddle_place machine;
    struct hd_slots_state *state; /* arena */
    struct hd_stat stat;
    uint32_t component;
    uint32_t uses; /* heddle_use calls so far, for the order */

    struct hd_offer **offer;
    uint32_t offers, offer_room;
    struct hd_at at[HD_MAX_AT];
    uint32_t ats;
    struct hd_bound bound[HEDDLE_MAX_BOUND];
    struct hd_watcher watcher[HEDDLE_NOTE_COUNT][HD_MAX_WATCHERS];
    struct hd_owned own;
    struct hd_home home[HEDDLE_MAX_BOUND * 4];
    uint32_t homes;

    heddle_listener *listener; /* NULL: there is none */
    void *listener_ud;
    uint8_t heard[HEDDLE_POINT_COUNT];
    const struct hd_fact *fact; /* those of the machine */
    void *fact_self;
    uint32_t facts;
    struct hd_epochal epochal[4]; /* points asked at ends of epochs */
    uint32_t epochals;
    struct hd_bound *current; /* whose init or epoch is running */
    struct hd_bound *told;    /* to whom a note is being told */
    bool muted;               /* those who only watch are told nothing */
    struct heddle_error *sink; /* where heddle_policy_fail writes; NULL: env */
    struct heddle_error error; /* of heddle_use and heddle_steer */
};

/* own.c: names for what a policy counts; 0 or an error. */
int hd_own_name(struct hd_slots_registry *r, const struct heddle_policy *p,
                struct heddle_error *err);

/* ask.c: puts into a slot what follows from who is bound and who listens; ends
 * the listening. */
void hd_ask_wire(struct hd_offer *o);
void hd_listen_end(struct hd_slots_registry *r);

/* registry.c */
uint32_t hd_registry_at(struct hd_slots_registry *r, const char *name,
                        bool add);

/* bind.c: whether a policy has done nothing but watch, with a state that is
 * outside the arena: then whatever is simulated is the same without it. */
bool hd_bind_watches(const struct hd_bound *b);
void hd_bind_release(struct hd_slots_registry *r, struct hd_bound *b);

/* The state of a policy that serves a structure. */
static inline struct hd_cell *hd_bound_cell(struct hd_bound *b, uint32_t at)
{
    for (uint32_t i = 0; i < b->cells; i++)
        if (b->cell[i].at == at)
            return &b->cell[i];
    return &b->cell[0];
}

/* epoch.c: a cell's next epoch is at that time; those of a policy that is bound
 * begin; event: one is over. */
void hd_registry_rest(struct hd_slots_registry *r, uint32_t bound,
                      uint32_t cell, hd_time at);
void hd_registry_start_epochs(struct hd_slots_registry *r, struct hd_bound *b);
void hd_registry_on_epoch(void *self, hd_time now, uint32_t what, uint32_t a,
                          uint64_t generation);
/* Every cell of a set of tables to its default. */
void hd_steer_defaults(struct hd_slots_registry *r, uint32_t tables);

#endif
