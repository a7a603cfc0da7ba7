/*
 * folder.h - a new folder for a test, in TMPDIR, where t/run sees what is left.
 * SPDX-License-Identifier: MIT
 */
#ifndef T_FOLDER_H
#define T_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDER = 64 };

/* Its path, in `path`; NULL: it cannot be made. */
static inline char *folder_make(char path[FOLDER])
{
    const char *tmp = getenv("TMPDIR");

    snprintf(path, FOLDER, "%s/heddle-t-XXXXXX",
             tmp != NULL && strlen(tmp) < 40 ? tmp : "/tmp");
    return mkdtemp(path);
}

#endif
