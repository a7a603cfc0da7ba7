/*
 * tool_timeline.h - timelines of a simulation, for the Lua library.
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_TOOL_TIMELINE_H
#define HEDDLE_TOOL_TIMELINE_H

#include "heddle.h"

/*
 * What happens in a simulation over time, for Perfetto (timeline.c): it watches
 * from heddle_timeline_open on, as a policy that only watches does, and changes
 * nothing that is measured.  It must be closed before, or is of no more use after,
 * heddle_free(s).
 */
typedef struct heddle_timeline heddle_timeline;

struct heddle_timeline_options {
    uint64_t only;     /* bit set of heddle_timeline_component; 0: all */
    uint32_t app;      /* UINT32_MAX: all */
    uint64_t from, to; /* core cycles: what begins in [from, to) */
    uint64_t bytes;    /* most bytes of the file; 0: 20,000,000 */
    uint64_t every;    /* core cycles between samples; 0: 1000 */
    const char *title; /* of the topmost track; borrowed for the call */
};

enum { HEDDLE_TIMELINE_LEAST = 65536 }; /* bytes */

struct heddle_timeline_info {
    uint64_t bytes;                           /* of the file */
    uint64_t requests, events, samples;       /* that are in it */
    uint64_t requests_of, events_of;          /* that there were */
    uint64_t requests_one, events_one, every; /* one of so many; cycles */
};

/* The name of component i ("walk") of what a timeline shows, or NULL past the
 * last. */
const char *heddle_timeline_component(uint32_t i);
/* NULL on error: the text is heddle_error(s), or there is no memory. */
heddle_timeline *heddle_timeline_open(heddle_sim *s,
                                      const struct heddle_timeline_options *o);
void heddle_timeline_close(heddle_timeline *t);
/* Core cycles from now to the next instant at which heddle_timeline_sample is to
 * be called, between runs; UINT64_MAX: to none. */
uint64_t heddle_timeline_next(const heddle_timeline *t);
/* Takes the counters and the lengths of queues, if it is such an instant. */
void heddle_timeline_sample(heddle_timeline *t);

/* How much has been recorded when a snapshot was taken. */
struct heddle_timeline_mark {
    uint64_t requests, events;
};

void heddle_timeline_mark(const heddle_timeline *t,
                          struct heddle_timeline_mark *out);
/* The simulation has the past that it had at the mark or, NULL, at the cycle that
 * it is at now: what was recorded since then is forgotten. */
void heddle_timeline_cut(heddle_timeline *t,
                         const struct heddle_timeline_mark *mark);
/* The simulation repeats what it did up to a cycle, and is not recorded again. */
void heddle_timeline_repeats(heddle_timeline *t, uint64_t cycle);
/* Writes what there is as heddle_save does; *out may be NULL. */
int heddle_timeline_write(heddle_timeline *t, const char *path,
                          struct heddle_timeline_info *out, char *error,
                          size_t room);

#endif
