/*
 * tracefile.c - reading the lines of a text file, and numbers in them.
 *
 * Memory is bounded: a line longer than its buffer is an error.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracefile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096 };

static int each_line(FILE *f, const char *path,
                     int (*line)(void *, char *, unsigned long,
                                 struct hd_err *),
                     void *ud, struct hd_err *err)
{
    char text[LONGEST];
    unsigned long number = 0;

    while (fgets(text, sizeof text, f) != NULL) {
        size_t n = strlen(text);
        char *s = text;

        number++;
        if ((n == 0 || text[n - 1] != '\n') && !feof(f))
            return hd_err_set(err, HEDDLE_EDATA,
                              "%s:%lu: the line has a zero byte or more than "
                              "%d characters",
                              path, number, LONGEST - 2);
        while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
            text[--n] = '\0';
        s += strspn(s, " \t");
        if (*s == '\0' || *s == '#')
            continue;
        if (line(ud, s, number, err) != 0)
            return err->code;
    }
    if (ferror(f))
        return hd_err_set(err, HEDDLE_EIO, "%s: %s", path, strerror(errno));
    return 0;
}

int hd_tracefile_each(const char *path,
                      int (*line)(void *, char *, unsigned long,
                                  struct hd_err *),
                      void *ud, struct hd_err *err)
{
    FILE *f;
    int rc;

    if (strcmp(path, "-") == 0)
        return each_line(stdin, "standard input", line, ud, err);
    f = fopen(path, "r");
    if (f == NULL)
        return hd_err_set(err, hd_err_errno(HEDDLE_ENOINPUT), "%s: %s", path,
                          strerror(errno));
    rc = each_line(f, path, line, ud, err);
    fclose(f);
    return rc;
}

int hd_tracefile_number(char **text, unsigned long long *out)
{
    char *s = *text, *end;

    if (*s < '0' || *s > '9')
        return -1;
    errno = 0;
    *out = strtoull(s, &end, s[0] == '0' && (s[1] | 32) == 'x' ? 16 : 10);
    if (errno != 0 || end == s || (*end != '\0' && *end != ' ' && *end != '\t'))
        return -1;
    *text = end + strspn(end, " \t");
    return 0;
}
