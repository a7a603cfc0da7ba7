/*
 * diag.h - errors as values: a code and a text that says what was expected.
 *
 * Nothing in the library prints or exits.  A function that can fail on input
 * takes a struct hd_err, fills it once (the first error wins) and returns its
 * negative code.  The codes are the public HEDDLE_E values; the command line
 * maps them to sysexits.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DIAG_H
#define HD_DIAG_H

#include <stddef.h>

#include "../heddle.h"

struct hd_err {
    int code; /* 0, a negative HEDDLE_E code, or why a run ends without one */
    char text[1024];
};

/* Records an error unless one is recorded already (the end of a run is none);
 * returns err->code. */
int hd_err_set(struct hd_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Records that there is no more memory, in the words that are said wherever it
 * is found; returns err->code. */
int hd_err_memory(struct hd_err *err);

/* Forgets the error. */
void hd_err_clear(struct hd_err *err);

/*
 * The name in names[0..n) nearest to `name` by edit distance, or NULL when
 * none is near enough to be worth suggesting.  Borrows, returns borrowed.
 */
const char *hd_nearest(const char *name, const char *const *names, size_t n);

#endif
