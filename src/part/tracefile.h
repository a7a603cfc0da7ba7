/*
 * tracefile.h - the lines of the text files that parts alone read.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACEFILE_H
#define HD_TRACEFILE_H

#include "../base/diag.h"

/*
 * Calls line(ud, text, number, err) for each line of a file ("-": standard
 * input), without its end of line.  Blank lines and lines that begin with #
 * are left out.  Stops at the first error that `line` returns.
 */
int hd_tracefile_each(const char *path,
                      int (*line)(void *ud, char *text, unsigned long number,
                                  struct hd_err *err),
                      void *ud, struct hd_err *err);

/* Reads a number (decimal or 0x...) and moves *text behind it and the blanks
 * that follow.  0, or -1 if there is none or it passes 64 bits. */
int hd_tracefile_number(char **text, unsigned long long *out);

#endif
