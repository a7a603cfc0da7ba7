/*
 * line.h - texts that stand in a line of a file, a page or a list.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_LINE_H
#define HD_LINE_H

#include "diag.h"

/* heddle_line_check of a text that ends with a zero; the error has this code.
 * Returns err->code. */
int hd_line_check(const char *what, const char *text, int code,
                  struct heddle_error *err);

#endif
