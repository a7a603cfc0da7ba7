/*
 * diag.h - errors as values: a code and a text that says what was expected.
 *
 * Nothing in the library prints or exits.  A function that can fail on input
 * takes a struct heddle_error, fills it once (the first error wins) and returns
 * its negative code.  The codes are the public HEDDLE_E values; the command
 * line maps them to sysexits.
 *
 * Want of memory is told in one way, wherever it is noticed and through however
 * many hands it goes: the code HEDDLE_ENOMEM has the text HEDDLE_NO_MEMORY and
 * no other, and a text that is passed on and is that one has the code.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DIAG_H
#define HD_DIAG_H

#include <errno.h>
#include <stddef.h>

#include <stdbool.h>

#include "heddle.h"

/* Whether it is an error after which the run cannot continue.  Where a policy
 * breaks a rule the default answers, and the run can continue without that
 * policy. */
static inline bool hd_err_breaks(int code)
{
    return code < 0 && code != HEDDLE_EPOLICY;
}

/* Whether the work at hand ends.  A run that a policy or a caller stops
 * does so between two events, and in between nothing may be left undone. */
static inline bool hd_err_ends(int code)
{
    return code != 0 && (code == HEDDLE_DONE || hd_err_breaks(code));
}

/* Records an error unless one is recorded already (the end of a run is none);
 * returns err->code. */
int hd_err_set(struct heddle_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Records that there is not enough memory; returns err->code. */
int hd_err_memory(struct heddle_error *err);

/* hd_err_memory for a function that returns a pointer: NULL. */
static inline void *hd_err_no_memory(struct heddle_error *err)
{
    hd_err_memory(err);
    return NULL;
}

/* The code of a system call that has failed: HEDDLE_ENOMEM if it says so. */
static inline int hd_err_errno(int code)
{
    return errno == ENOMEM ? HEDDLE_ENOMEM : code;
}

/* Writes the text to `error`, of `room` bytes, unless there are none; returns
 * err->code. */
int hd_err_tell(const struct heddle_error *err, char *error, size_t room);

/* Copies it to an error of a caller, which may be NULL; returns err->code. */
int hd_err_give(const struct heddle_error *err, struct heddle_error *to);

/* Forgets the error. */
void hd_err_clear(struct heddle_error *err);

/*
 * The name in names[0..n) nearest to `name` by edit distance, or NULL when
 * none is near enough to be worth suggesting.  Borrows, returns borrowed.
 */
const char *hd_nearest(const char *name, const char *const *names, size_t n);

/* The end of a sentence that names no name of names[0..n): "; did you mean
 * "l2tlb"?" of the nearest, or "".  Returns `out`. */
const char *hd_meant(char *out, size_t room, const char *name,
                     const char *const *names, size_t n);

#endif
