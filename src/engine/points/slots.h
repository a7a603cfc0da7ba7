/*
 * slots.h - how a part of the engine asks a point, and tells a note.
 *
 * A part keeps one struct hd_slot for each point that it asks and offers it
 * at build time with its default.  The plain default answers until a policy
 * is bound, so a slot is never empty; `bound` says whether a policy
 * answers, and a part may skip building a costly question when none does
 * (its inlined default must be the offered one).  Binding a policy puts a
 * checking wrapper into the slot: it counts asked and passed, calls the
 * default when the policy passes, and turns a bad answer into an error that
 * stops the run and the default's answer.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_SLOTS_H
#define HD_SLOTS_H

#include "kit/base.h"
#include "kit/diag.h"
#include "kit/stat.h"
#include "tool.h"

struct hd_env;
struct hd_machine;

_Static_assert(HD_MAX_APPS == (int)HEDDLE_MAX_APPS, "policies see as many");

struct hd_slot {
    heddle_answer *fn; /* int64_t fn(void *self, const void *question) */
    void *self;
    uint32_t bound; /* 0: the default answers */
};

/* "l2tlb|bypass|none" of a list of words.def. */
#define HD_WORDS(name)
#include "words.def"
#undef HD_WORDS
#define HD_TEXT(sym, word) word
#define HD_WORDS_OF(name)  HD_W_##name(HD_TEXT, "|")

/* Typed asks: int64_t hd_ask_tlb_fill(&slot, &question). */
#define HD_POINT(name, at, heat, kind, limit, when, meaning, fields)           \
    static inline int64_t hd_ask_##name(const struct hd_slot *s,               \
                                        const struct heddle_q_##name *q)       \
    {                                                                          \
        return s->fn(s->self, q);                                              \
    }
#include "points.def"
#undef HD_POINT

/* The tables that steered policies set and the engine's defaults read, each
 * [i][j] with the indices of its row in tables.def. */
enum { HD_STEER_LEVELS = 5, HD_STEER_CORES = 1024 };
enum {
    HD_STEER_ONE = 1,
    HD_STEER_APP = HD_MAX_APPS,
    HD_STEER_LEVEL = 8, /* a power of two: requests say theirs in three bits */
    HD_STEER_CORE = HD_STEER_CORES
};

#define HD_TABLE(name, ...) HD_TABLE_##name,
enum hd_table {
#include "tables.def"
    HD_STEER_TABLES
};
#undef HD_TABLE

struct hd_steer {
#define HD_TABLE(name, at, i, j, type, ...)                                    \
    type name[HD_STEER_##i][HD_STEER_##j];
#include "tables.def"
#undef HD_TABLE
    uint8_t l2_steered[HD_MAX_APPS][8]; /* 1: a policy has set that cell of
                                           l2_bypass, which is read at the L2 */
    uint32_t set;                       /* bit set of tables set */
};

static inline bool hd_steered(const struct hd_steer *s, enum hd_table t)
{
    return s->set >> t & 1;
}

/* What a cell of l2_bypass says of a set: 0 no, 1 yes, n yes but for one set
 * of n, where look-ups continue and show what hits. */
static inline bool hd_steer_bypasses(uint32_t cell, uint64_t set)
{
    return cell == 1 || (cell > 1 && set % cell != 0);
}

/* What parts keep for policies: what happened since a policy's last epoch. */
struct hd_fact {
    struct heddle_fact_info info; /* i: "core" or "application" */
    uint64_t (*get)(void *self, uint32_t i);
    void (*restart)(void *self); /* starts again; NULL: it never does */
};

struct hd_slots {
    struct hd_steer *steer;              /* arena */
    uint32_t watched[HEDDLE_NOTE_COUNT]; /* watchers of each note */
    uint32_t told[2][HEDDLE_NOTE_COUNT]; /* .. of those at level 1, level 2 */
    struct hd_slots_registry *registry;  /* points/registry.c */
    hd_time *epoch; /* arena: the next epoch of any policy, or HD_NEVER */
    /* Called when a cell of warp_limit was steered; may be NULL.  Warps that
     * the old set held back can only be woken by this. */
    void (*limit_changed)(void *self, uint32_t core);
    /* Called when its answer for a core is over; may be NULL. */
    void (*limit_renewed)(void *self, uint32_t core);
    void *limit_self;
    /* Called when a policy was unbound; may be NULL. */
    void (*released)(heddle_sim *sim);
    /* Starts a translation (translation/prefetch.c); NULL: nothing is
     * translated. */
    int (*translate)(void *self, uint32_t app, uint64_t vpn, uint32_t to,
                     uint32_t core);
    /* Fills a page with a walk's answer (variants/fill.c), likewise. */
    int (*fill)(void *self, uint32_t app, uint64_t vpn, uint32_t to,
                uint32_t core, struct heddle_error *err);
    void *translate_self;
    /* Reads a setting of the machine as text; NULL: there is none. */
    int (*setting)(const struct hd_machine *m, const char *name, char *out,
                   size_t room, struct heddle_error *err);
    const struct hd_machine *machine;
};

/*
 * Builds the registry of a simulation, before its parts: takes the steering
 * tables (all warps may fill and load, nothing bypasses), the counters and
 * one component of the event queue, and sets env->slots = s.  `machine` is
 * copied: cores, warps, apps, channels, banks and seed.  0 or HEDDLE_ENOMEM.
 */
int hd_slots_open(struct hd_slots *s, struct hd_env *env, heddle_sim *sim,
                  const struct heddle_place *machine);
/* Takes room for what policies count of their own, behind all that parts count;
 * of it, only what is in use is listed. */
void hd_slots_own(struct hd_slots *s);
/* Unbinds every policy and frees the registry; the arena is left alone. */
void hd_slots_close(struct hd_slots *s);

/* Says that copy `instance` of the replacement structure `at` has `sets` sets
 * of `ways` ways; called before its slots are offered.  Returns the number of
 * the structure. */
uint32_t hd_slots_shape(struct hd_slots *s, const char *at, uint32_t instance,
                        uint32_t sets, uint32_t ways);

/*
 * Offers a slot: point `p` of the structure `at` ("l1tlb", "l2cache", "dram";
 * "" where there is only one), answered by fn(self, q) until a policy is
 * bound.  `slot` must outlive the simulation.  s NULL: no policy can be bound.
 */
void hd_slots_offer(struct hd_slots *s, enum heddle_point p, const char *at,
                    struct hd_slot *slot, heddle_answer *fn, void *self);

/* Records in `err` that an answer breaks a rule which only the part that asked
 * can check: the policy, the point, the cycle, what was expected and the
 * question. */
void hd_slots_refuse(const struct hd_slot *slot, enum heddle_point p,
                     const void *question, int64_t answer, const char *rule,
                     struct heddle_error *err);

/* Whether a policy answers a point of any structure; who only listens does
 * not. */
bool hd_slots_answered(const struct hd_slots *s, enum heddle_point p);

/* The first policy with state in time, as the engine sees it: it has epochs,
 * watches a note or answers a point beside those of `notes` and `points`, bit
 * sets.  Its name, and in *what what it does; NULL: there is none. */
const char *hd_slots_timed(const struct hd_slots *s, uint64_t points,
                           uint64_t notes, const char **what);

/*
 * Whether the structure `at` ("l2tlb", "core"; see points.def) may take its
 * shortcuts: no policy answers a point of it, steers what its defaults read or
 * watches one of its notes, there is no listener, and nothing is checked.  It
 * changes only with hd_env_bound, where parts ask.  Without slots (NULL) it is
 * quiet.
 */
bool hd_slots_quiet(const struct hd_slots *s, const char *at);

/* A point that is asked when an epoch of the policy that answers it has ended:
 * who asks is told that such a policy is bound, and of each end of its epochs,
 * where heddle_recent and heddle_steer speak for the policy. */
struct hd_epochal {
    enum heddle_point point;
    void (*begin)(void *self);
    void (*over)(void *self);
    void *self;
};

void hd_slots_epochal(struct hd_slots *s, struct hd_epochal e);

/* Offers the facts of a machine: n of them, borrowed. */
void hd_slots_facts(struct hd_slots *s, const struct hd_fact *facts, uint32_t n,
                    void *self);

/* Tells a note to everybody who watches it, with its cycle, which is filled in;
 * call only if watched[n] != 0. */
void hd_slots_note(struct hd_slots *s, enum heddle_note n, void *fields);

/* Whether a policy watches a note of a structure that replaces entries, by its
 * number; s NULL: none does. */
bool hd_slots_follow(const struct hd_slots *s, enum heddle_note n, uint32_t at);
/* Tells such a note to those who do, each with its state of that structure. */
void hd_slots_note_at(struct hd_slots *s, enum heddle_note n, uint32_t at,
                      void *fields);

/* Asks every script whether it holds state that a snapshot would miss; called
 * when a run is done.  0 or an error in `err`. */
int hd_slots_check(struct hd_slots *s, struct heddle_error *err);

/* Counters of component "policy": <point>.asked and <point>.passed. */

/* ---- snapshots ------------------------------------------------------- */

/* "srrip at l2cache (bits=2), mask", or "" where none is bound. */
size_t hd_slots_describe(const struct hd_slots *s, char *out, size_t room);

/* What heddle_policy_error tells from now on; returns its code. */
int hd_slots_told(struct hd_slots *s, const struct heddle_error *err);

/* What a snapshot must know of a binding: equal hashes have the same policy,
 * parameters and places of state. */
struct hd_slots_mark {
    uint64_t hash;    /* 0: none */
    uint32_t watches; /* it has only watched: it may come and go */
    char name[36];
};

/* Those of all bindings: m has HEDDLE_MAX_BOUND. */
void hd_slots_marks(const struct hd_slots *s, struct hd_slots_mark *m);
/* 0, or an error that says what differs from the policies that are bound. */
int hd_slots_same(const struct hd_slots *s, const struct hd_slots_mark *m,
                  struct heddle_error *err);

/* State of scripts, which is outside the arena.  Save writes at most `room`
 * bytes and returns the bytes needed (0: there is none); a failing script
 * records its error in env->err.  Load puts it back after the arena was, for
 * those whose marks are what they were when it was saved. */
size_t hd_slots_save(const struct hd_slots *s, void *out, size_t room);
int hd_slots_load(struct hd_slots *s, const struct hd_slots_mark *m,
                  const void *saved, size_t bytes);

#endif
