/*
 * tool.h - what the command and the Lua library need beside the public headers:
 * lists of all that there is, what is bound, decisions as they are made, and
 * numbers for tools that measure the simulator itself.
 *
 * Not installed: an embedder reads heddle.h, policy.h and heddle_work.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_TOOL_H
#define HEDDLE_TOOL_H

#include "heddle.h"
#include "policy.h"

/* ---- settings -------------------------------------------------------- */

struct heddle_setting_info {
    char name[64];       /* "l1tlb.entries" */
    const char *type;    /* "integer", "boolean", "choice", "mode", "text" */
    const char *unit;    /* "" when it has none */
    const char *def;     /* default, as text */
    const char *choices; /* "a|b|c" or "" */
    const char *meaning;
    const char *source;
    uint64_t min, max; /* of integers */
};

/* Writes a setting's value as text; HEDDLE_ECONFIG if there is no such one. */
int heddle_config_get(heddle_config *c, const char *name, char *out, size_t
                      room);
/* The i-th setting of all; HEDDLE_EINVAL past the last. */
int heddle_setting(uint32_t i, struct heddle_setting_info *out);

/*
 * What the size of a TLB or a cache comes to.  A size that is not a whole
 * number of sets in each copy is rounded down, and a walk cache has no more
 * ways than entries; everything else is as it was set, or an error.
 */
struct heddle_shape_info {
    const char *name;      /* "l2cache", "l1tlb.large" */
    const char *unit;      /* of the sizes: "bytes" or "entries" */
    uint32_t copies;       /* cores, slices, units */
    uint32_t sets, ways;   /* of a copy */
    uint64_t size, set_to; /* in effect, and the setting: of a copy or, the L2
                              cache's, of all together */
    uint32_t ways_set_to;  /* the setting; 0: as many as there are entries */
    int rounded;           /* not what was set */
};

/* The i-th that a machine of these settings has; HEDDLE_EINVAL past the last.
 */
int heddle_config_shape(const heddle_config *c, uint32_t i, struct
                        heddle_shape_info *out);

/* ---- runs ------------------------------------------------------------ */

/* Events served so far (for benchmarks). */
uint64_t heddle_events(const heddle_sim *s);
/* Ticks of a core cycle: the unit of counters of time. */
uint64_t heddle_ticks_per_cycle(const heddle_sim *s);
/* The i-th counter known to the library, without a simulation (instances 0). */
int heddle_counter_known(uint32_t i, struct heddle_counter_info *out);
/* Its increase during kernel k of heddle_kernel(), summed over instances. */
uint64_t heddle_counter_kernel(const heddle_sim *s, uint32_t i, uint32_t k);

/* The stream of launch `kernel` of an application while it runs; 0: the default
 * one. */
uint32_t heddle_kernel_stream(const heddle_sim *s, uint32_t app,
                              uint64_t kernel);

/* The i-th histogram known to the library, without a simulation. */
int heddle_hist_known(uint32_t i, struct heddle_hist_info *out);
/* Bytes of the arena in use, and of the part outside it (written pages). */
void heddle_memory(const heddle_sim *s, uint64_t *arena, uint64_t *outside);
/* xxh3 of all state in the arena. */
uint64_t heddle_state_hash(const heddle_sim *s);

/* ---- files ------------------------------------------------------------ */

/*
 * Writes a file whole or not at all: under another name until all is there, so
 * that two writers of one path do not meet and one that ends early leaves
 * nothing.  A device or a pipe is written as it is.  bytes NULL: writes
 * nothing, but says whether a file could be made there.  HEDDLE_ECREATE,
 * HEDDLE_EIO or HEDDLE_ENOMEM with a text.
 */
int heddle_save(const char *path, const void *bytes, size_t n, char *error,
                size_t room);

/* ---- texts ------------------------------------------------------------ */

/*
 * Whether a text of n bytes can stand in a line of a file, a page or a list: it
 * is UTF-8 without control characters.  HEDDLE_EINVAL: it cannot, and `error`
 * says so of `what` it is, with the byte and its place.
 */
int heddle_line_check(const char *what, const char *text, size_t n,
                      char *error, size_t room);
/*
 * Writes a text of n bytes as it can be shown: each byte of what cannot stand
 * in a line is \xNN, but for the control characters of `keep`.  What there is
 * no room for is left off, whole characters at a time.  Returns the length.
 */
size_t heddle_line_escape(const char *text, size_t n, const char *keep,
                          char *out, size_t room);

/* ---- policies -------------------------------------------------------- */

/* The i-th built-in policy, or NULL past the last. */
const struct heddle_policy *heddle_policy_builtin(uint32_t i);
const struct heddle_error *heddle_policy_error(const heddle_sim *s);

struct heddle_use_info {
    const struct heddle_policy *policy;
    const char *at;         /* as it was bound */
    const uint64_t *values; /* of its parameters */
    uint64_t code; /* hash of a script's code, or of a plug-in's file; 0: heddle's */
};

/* The i-th bound policy; HEDDLE_EINVAL past the last. */
int heddle_used(const heddle_sim *s, uint32_t i, struct heddle_use_info *out);
/* What the functions of the i-th bound policy get as their state in its k-th
 * place, and in *place (may be NULL) the place's name; a policy that is no
 * replacement policy has one place.  NULL past the last.  It belongs to the
 * policy. */
void *heddle_used_state(const heddle_sim *s, uint32_t i, uint32_t k, const char
                        **place);
/* The i-th structure that offers a point ("" for a part that is alone), or
 * NULL past the last. */
const char *heddle_offered(const heddle_sim *s, enum heddle_point p, uint32_t
                           i);

/* ---- listening to decisions ------------------------------------------ */

/* A question and the answer that counts, checked, of a policy or the default.
 * What `question` points to is gone after the listener has returned. */
struct heddle_decision {
    uint32_t point;    /* enum heddle_point */
    const char *at;    /* the structure that asked, "" where it is alone */
    uint32_t instance; /* which copy of it */
    uint64_t cycle;    /* core cycle */
    const void *question;
    int64_t answer;
};

typedef void heddle_listener(void *ud, const struct heddle_decision *d);

/*
 * Tells fn(ud, d) every decision at the points p with points[p] != 0, also
 * where no policy is bound, until heddle_unlisten or the end of the simulation.
 * `points` has HEDDLE_POINT_COUNT elements.  One listener a simulation; bind
 * policies before (heddle_unuse ends the listening).  Changes nothing in what
 * is simulated.  The number of slots heard, or a negative error, whose text
 * is heddle_policy_error(s).
 */
int heddle_listen(heddle_sim *s, const uint8_t *points, heddle_listener *fn,
                  void *ud);
void heddle_unlisten(heddle_sim *s);
/* While it is on, policies that only watch are told nothing, and keep their
 * state when a snapshot is restored. */
void heddle_mute(heddle_sim *s, int on);
/* 1 if a policy is bound to a slot of the point. */
int heddle_answered(const heddle_sim *s, enum heddle_point p);

/* The place of a word among "a|b|c" (the limit of a CHOICE, the value of a
 * steering table, the unit of a parameter): a is 0.  HEDDLE_EINVAL: they have
 * none of it, or are no words at all (no '|', or NULL). */
int heddle_word_value(const char *words, const char *word, uint64_t *value);
/* The word at a place; HEDDLE_EINVAL where they are no words. */
int heddle_word_name(const char *words, uint64_t value, char *out, size_t room);

/* The name of names[0..n) most similar to `name`, or NULL. */
const char *heddle_nearest(const char *name, const char *const *names, size_t
                           n);

struct heddle_table_info {
    const char *name;
    const char *at; /* structure whose default reads it */
    const char *i, *j, *value, *meaning;
};

struct heddle_fact_info {
    const char *name, *i, *value, *meaning;
};

/* The number of a point by its name, or -1. */
int heddle_point_find(const char *name);
/* The i-th steering table or fact; NULL past the last. */
const struct heddle_table_info *heddle_table_info(uint32_t i);
const struct heddle_fact_info *heddle_fact_info(uint32_t i);

#endif
