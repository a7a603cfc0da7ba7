/*
 * policy.h - what a policy is, for C built-ins and plug-ins.
 *
 * A policy is one const struct with a function for each point that it
 * answers; all are optional.  The question is borrowed: it is valid during
 * the call only, and `holds` of warp_limit, `ends` of walk_address and `mark` of
 * tlb_group are the fields that may be written.  The answer is a number whose meaning points.h gives, or HEDDLE_PASS
 * to let the engine's default decide.
 *
 * State is in the simulation's arena, so that snapshots contain it: the
 * engine asks state_bytes() once, provides zeroed memory, and calls init().
 * State must not hold pointers into itself or anything else that changes.
 * A policy whose state cannot be there (a script) gives open() instead.
 *
 * A policy is bound to a whole machine or to one structure of it (heddle_use).
 * One that only replaces (answers and watches nothing but what is called
 * repl_...) gets a state for each structure, and with it the notes of that
 * structure; any other policy has one state, whatever it answers.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_POLICY_H
#define HEDDLE_POLICY_H

#include "heddle.h"
#include "points.h" /* points, notes, questions, words */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The interface that a plug-in was compiled for, which it states, and the
 * oldest that is still taken; a later one than heddle's own is refused.
 * Between these two, what is asked and told has only grown at its ends: points
 * and notes keep their numbers, and what is added to a question, a note,
 * heddle_place or heddle_policy comes after the rest.  A policy answers nothing
 * that was added after it was compiled.
 */
#define HEDDLE_POLICY_ABI        5
#define HEDDLE_POLICY_ABI_OLDEST 5

#define HEDDLE_PASS INT64_MIN
#define HEDDLE_ONCE       64 /* in an answer of a MEMBER: it holds once */

/* An answer to page_prefetch: n pages from page k of the 2 MB on. */
#define HEDDLE_PAGES(k, n) (1024 * ((int64_t)(k) + 1) + (int64_t)(n))

typedef int64_t heddle_answer(void *self, const void *question);

/* ---- a policy -------------------------------------------------------- */

/* A parameter; its value is a uint64_t in the order of the table.  One that is
 * a choice has the names of its values for a unit, the first of which is 0:
 * "text|hillclimb"; its least value is 0 and its most the last name's. */
struct heddle_param {
    const char *name, *unit;
    uint64_t def, min, max;
    const char *meaning, *source;
};

/* The machine as a policy may know it, and where it is bound. */
struct heddle_place {
    const char *at; /* structure it was bound to, "" for all */
    uint32_t cores, warps, apps;
    uint32_t channels, banks;
    uint64_t frames; /* base frames of memory for data */
    /* for replacement: copies, sets and ways of the structure `at` */
    uint32_t instances, sets, ways;
    uint64_t seed; /* of this policy's own random stream */
    uint32_t l2tlbs; /* L2 TLBs that are looked up: 1 is shared by all cores */
    heddle_sim *sim; /* for heddle_policy_setting and heddle_own_number */
};

/* A counter, peak, histogram or series of a policy's own, which results have as
 * policy.NAME.counter; of a series they have the last value, and intervals each
 * that was the last in one. */
enum heddle_own_kind {
    HEDDLE_OWN_COUNT,
    HEDDLE_OWN_PEAK,
    HEDDLE_OWN_HISTOGRAM,
    HEDDLE_OWN_SERIES,
};
struct heddle_own {
    const char *name, *unit, *meaning;
    enum heddle_own_kind kind;
};

/* A note that is told only where a field of it has that value. */
struct heddle_filter {
    enum heddle_note note;
    const char *field;
    uint64_t value;
};

enum { /* points and notes that a policy has room for */
    HEDDLE_POINT_ROOM = 64,
    HEDDLE_NOTE_ROOM = 64
};

struct heddle_policy {
    uint32_t abi; /* HEDDLE_POLICY_ABI */
    const char *name, *summary, *source;
    const struct heddle_param *params; /* ends with a NULL name */
    size_t (*state_bytes)(const struct heddle_place *p, const uint64_t *params);
    /* Not 0: it refuses the machine or its parameters, best in words of its own
     * (heddle_policy_fail). */
    int (*init)(void *state, const struct heddle_place *p,
                const uint64_t *params);
    /* Called once after init(), when the policy is being bound; it may steer.
     * heddle_policy_fail makes heddle_use fail. */
    void (*start)(void *state, heddle_sim *s);
    /* Called every `period` core cycles if period() gives one above 0. */
    uint64_t (*period)(const void *state);
    void (*epoch)(void *state, heddle_sim *s, uint64_t cycle);
    heddle_answer *answer[HEDDLE_POINT_ROOM];
    void (*watch[HEDDLE_NOTE_ROOM])(void *state, const void *note);
    const struct heddle_filter *filters; /* ends with a NULL field; or NULL */
    const struct heddle_own *own;        /* ends with a NULL name; or NULL */

    /*
     * A policy with its state outside the arena.  open() returns what the
     * functions above get as their state, or NULL after heddle_policy_fail;
     * close() gives it back.  save() writes the state's bytes if `room` is
     * enough and returns their number; load() reads them.  check() looks for
     * state that save() would miss; it is called at the end of a run and by
     * heddle_check.
     */
    void *ud; /* for open() */
    void *(*open)(void *ud, heddle_sim *s, const struct heddle_place *p,
                  const uint64_t *params);
    void (*close)(void *state);
    size_t (*save)(void *state, void *out, size_t room);
    int (*load)(void *state, const void *saved, size_t bytes);
    void (*check)(void *state);
    /* Fingerprint of a script's code: a snapshot tells scripts of one name
     * apart by it. */
    uint64_t code;
    const void *later[8]; /* NULL: members of later versions go here */
};

/* ---- finding policies ------------------------------------------------ */

/* The built-in of a name, or NULL; then *nearest (may be NULL) is the most
 * similar name or NULL. */
HEDDLE_API const struct heddle_policy *heddle_policy_find(const char *name,
                                                          const char **nearest);
/*
 * Loads "./x.so", which exports
 *     const struct heddle_policy *heddle_policy_entry(void);
 * The library stays loaded.  NULL on error.
 */
HEDDLE_API const struct heddle_policy *
heddle_policy_load(const char *path, struct heddle_error *error);

/* ---- binding policies ------------------------------------------------ */

enum { HEDDLE_MAX_PARAMS = 32, HEDDLE_MAX_BOUND = 32, HEDDLE_MAX_APPS = 16 };

enum heddle_use_flags {
    HEDDLE_USE_REPLACE = 1, /* unbind the policies that stand in the way */
};

/*
 * Binds a policy, borrowed until it is unbound: to every structure that has
 * a point which it answers (at ""), or to one ("l2cache").  Parameters not
 * named keep their defaults.  A second policy on a point is an error that
 * names both.  An error is heddle_error(s); the simulation stays
 * usable.  May be called between runs at any cycle.
 */
HEDDLE_API int heddle_use(heddle_sim *s, const struct heddle_policy *p,
                          const char *at, const char *const *names,
                          const uint64_t *values, uint32_t n, uint32_t flags);
/* Unbinds the policies of this name bound at `at`; NULL stands for any.
 * Returns how many. */
HEDDLE_API int heddle_unuse(heddle_sim *s, const char *name, const char *at);
/* For policies: the core cycle of the event being served. */
HEDDLE_API uint64_t heddle_policy_now(const heddle_sim *s);
/* For policies: stops the run with HEDDLE_EPOLICY and this text, or without
 * memory with HEDDLE_ENOMEM, which the text HEDDLE_NO_MEMORY says; inside
 * heddle_use, makes it fail. */
HEDDLE_API int heddle_policy_fail(heddle_sim *s, const char *text);

/* Steering: sets one cell of a table that the engine's default reads
 * (heddle_table_info lists them).  Unknown tables, cells and values that a cell
 * cannot hold: HEDDLE_EINVAL.  What a policy has steered goes back to the
 * default when it is unbound. */
HEDDLE_API int heddle_steer(heddle_sim *s, const char *table, uint32_t i,
                            uint32_t j, uint64_t value);

/*
 * For policies: what was answered to warp_limit for a core is over, and the
 * core asks again: at once where a note of its L1 cache or L1 TLB is being
 * told, else as soon as anything can reach it.  HEDDLE_EINVAL: no such core.
 */
HEDDLE_API int heddle_renew_limit(heddle_sim *s, uint64_t core);

/* For policies, in init() and later: a setting of the machine, "l2tlb.entries",
 * as text and, if it is a number or true or false, as one; else *number is 0.
 * Either may be NULL.  HEDDLE_EINVAL: there is no such setting. */
HEDDLE_API int heddle_policy_setting(const heddle_sim *s, const char *name,
                                     uint64_t *number, char *text, size_t room);

/* For policies: the number of what a policy of that name has declared as its
 * own (`own`), or -1; and counting it: so many more, the greatest, a value of a
 * histogram, or the next of a series; of an application, or UINT32_MAX: of
 * none. */
HEDDLE_API int heddle_own_number(const heddle_sim *s, const char *policy,
                                 const char *name);
HEDDLE_API void heddle_count(heddle_sim *s, int number, uint32_t app,
                             uint64_t value);

/*
 * For policies, from any point or note: has a page of an application translated
 * by the walkers, behind what cores ask for, and put into the L2 TLB, or into
 * the L1 TLB of a core or the buffer beside it (whatever it is for, `core` says
 * whose port of the L2 TLB, or unit, it goes by).  What comes of it is in the
 * counters `prefetch`.  HEDDLE_EINVAL: there is no such application, core or
 * page; HEDDLE_ECONFIG: no such TLB.
 */
HEDDLE_API int heddle_start_translation(heddle_sim *s, uint64_t app,
                                        uint64_t vpn,
                                        enum heddle_translate_to to,
                                        uint64_t core);

/*
 * For policies, where a walk is at hand: in walk_step and tlb_fill, and when
 * walk_done is told.  A page of the walk's application, whose entry the walk's
 * last read brings with its own (fill.bytes), is filled when the walk is
 * answered, at no walk: into the L2 TLB, or an L1 TLB or the buffer beside it.
 * What comes of it is in the counters `fill`, and whether it was of use in
 * `prefetch`.  HEDDLE_EPOLICY: no walk is at hand, it is another application's, or
 * walks read no page table; the rest as heddle_start_translation.
 */
HEDDLE_API int heddle_fill_translation(heddle_sim *s, uint64_t app,
                                       uint64_t vpn,
                                       enum heddle_translate_to to,
                                       uint64_t core);

/*
 * For policies: a counter's live value, "mmu.misses", summed over all copies of
 * the part: of one application, or of all and none with UINT32_MAX.  It keeps
 * counting when an application has finished once, and begins again at 0 when
 * warm-up ends.  HEDDLE_EINVAL: there is no such counter.
 */
HEDDLE_API int heddle_policy_counter(const heddle_sim *s, const char *name,
                                     uint32_t app, uint64_t *out);
/*
 * For policies, in epoch(): what happened since the policy's last epoch (see
 * heddle_fact_info).  A fact belongs to the policy that asked for it first,
 * since it starts again when that policy's epoch() has returned; a second one
 * is an error, and so is an unknown fact: HEDDLE_EINVAL or HEDDLE_EPOLICY
 * with a text in heddle_error(s).
 */
HEDDLE_API int heddle_recent(heddle_sim *s, const char *fact, uint32_t i,
                             uint64_t *out);

/* Draw k, from 0, of the stream of a seed: one of 0 to n - 1 (n: up to 2^32).
 * With m the finalizer of SplitMix64 and d = m(m(seed) + m(k)) it is
 * (d >> 32) * n >> 32.  The seed is place.seed; k is part of a state. */
HEDDLE_API uint64_t heddle_draw(uint64_t seed, uint64_t k, uint64_t n);

/* ---- what can be asked and told -------------------------------------- */

enum heddle_answer_kind {
    HEDDLE_INDEX,
    HEDDLE_BOOL,
    HEDDLE_CHOICE,
    HEDDLE_VALUE,
    HEDDLE_SUBSET,
    HEDDLE_MEMBER,
};

struct heddle_field_info {
    const char *name;
    const char *count; /* field that holds the length of an array; NULL: one */
    const char *words; /* "read|write": what its values mean; NULL: numbers */
    const char *meaning;
    size_t offset; /* in the question: a uint64_t, or a const uint64_t * */
};

struct heddle_point_info {
    const char *name;
    const char *at;     /* structure that asks; "": each under its own name */
    const char *heat;   /* "COLD", "WARM", "HOT" */
    const char *answer; /* "INDEX" ... */
    const char *limit;  /* a field, or the words of a choice, or "" */
    const char *when, *meaning;
    enum heddle_answer_kind kind;
    uint32_t fields;
    const struct heddle_field_info *field;
};

struct heddle_note_info {
    const char *name;
    const char *at; /* structures that tell it: "l1tlb|l2tlb"; "": each that
                       replaces entries, to a policy bound to it */
    const char *when;
    uint32_t fields;
    const struct heddle_field_info *field;
};

/* The i-th point or note; NULL past the last. */
HEDDLE_API const struct heddle_point_info *heddle_point_info(uint32_t i);
HEDDLE_API const struct heddle_note_info *heddle_note_info(uint32_t i);
#ifdef __cplusplus
}
#endif

#endif
