/*
 * perfetto.h - writes a trace that Perfetto opens: tracks, slices, instants,
 * counters, flows.
 *
 * A track is a number above 0 that the caller chooses.  Slices of a track are
 * written in order of time, a begin before its end; those in between are
 * inside. Where an event has a name of the file's list of names (open), it is
 * the number of it, from 1, as are those of categories and of arguments.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_PERFETTO_H
#define HD_PERFETTO_H

#include "kit/grow.h"

/* Lists of names, of `n` each; the first has number 1. */
struct hd_pf_names {
    const char *const *category, *const *event, *const *argument;
    uint32_t categories, events, arguments;
};

struct hd_pf_track {
    uint64_t track, parent; /* parent 0: none */
    const char *name;
    const char *about; /* a sentence; NULL: none */
    const char *unit;  /* of a counter; NULL: it is none */
    int32_t rank;      /* among the tracks of its parent, the least first */
};

struct hd_pf_arg {
    uint32_t name;
    enum { HD_PF_NUMBER, HD_PF_HEX, HD_PF_TEXT } kind;
    uint64_t number;
    const char *text;
};

struct hd_pf_event {
    uint64_t at, track;
    uint32_t category, name;
    const char *own; /* a name that is in no list, instead */
    const struct hd_pf_arg *arg;
    const uint64_t *flow; /* flows that come by, or (ends) end here */
    uint32_t args, flows;
    bool ends;
};

/* Each appends to b, whose `oom` says that memory ran out. */
void hd_pf_open(struct hd_bytes *b, const struct hd_pf_names *names);
void hd_pf_track(struct hd_bytes *b, const struct hd_pf_track *t);
void hd_pf_begin(struct hd_bytes *b, const struct hd_pf_event *e);
void hd_pf_end(struct hd_bytes *b, uint64_t at, uint64_t track);
void hd_pf_instant(struct hd_bytes *b, const struct hd_pf_event *e);
void hd_pf_count(struct hd_bytes *b, uint64_t at, uint64_t track, uint64_t v);
void hd_pf_rate(struct hd_bytes *b, uint64_t at, uint64_t track, double v);

#endif
