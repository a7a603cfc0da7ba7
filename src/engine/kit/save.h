/*
 * save.h - a file that is there whole or not at all.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_SAVE_H
#define HD_SAVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "diag.h"

struct hd_save {
    int fd;      /* to write to; -1 once kept or dropped */
    bool named;  /* has a name of its own from the start; set before opening:
                    also where a nameless file could be had */
    bool direct; /* no plain file: written as it is */
    mode_t mode; /* of the file that it replaces; 0: there is none */
    char *path, *temp;
};

/* Begins a file; *s is zeroed by the caller (but for `named`).  Paths are
 * copied. */
int hd_save_open(struct hd_save *s, const char *path, struct heddle_error *err);
/* All is written: the file takes its name.  On an error nothing is left. */
int hd_save_keep(struct hd_save *s, struct heddle_error *err);
/* Forgets a file that was not kept; frees what *s holds in any case. */
void hd_save_drop(struct hd_save *s);
/* Writes a file of n bytes; bytes NULL: says whether one could be made
 * there. */
int hd_save_whole(const char *path, const void *bytes, size_t n,
                  struct heddle_error *err);

#endif
