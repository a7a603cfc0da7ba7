/*
 * diag.c - errors as values, and the "did you mean" of every unknown name.
 * SPDX-License-Identifier: MIT
 */
#include "diag.h"

#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int hd_err_set(struct heddle_error *err, int code, const char *fmt, ...)
{
    locale_t plain, before; /* 0.5 in every locale */
    va_list ap;

    if (err->code < 0)
        return err->code;
    err->code = code;
    if (code == HEDDLE_ENOMEM) {
        strcpy(err->text, HEDDLE_NO_MEMORY);
        return code;
    }
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    before = uselocale(plain); /* without memory for one: asks only */
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    uselocale(before);
    if (plain != (locale_t)0)
        freelocale(plain);
    if (strcmp(err->text, HEDDLE_NO_MEMORY) == 0)
        err->code = HEDDLE_ENOMEM;
    return err->code;
}

int hd_err_memory(struct heddle_error *err)
{
    return hd_err_set(err, HEDDLE_ENOMEM, HEDDLE_NO_MEMORY);
}

int hd_err_tell(const struct heddle_error *err, char *error, size_t room)
{
    if (error != NULL && room != 0)
        snprintf(error, room, "%s", err->text);
    return err->code;
}

int hd_err_give(const struct heddle_error *err, struct heddle_error *to)
{
    if (to != NULL)
        *to = *err;
    return err->code;
}

void hd_err_clear(struct heddle_error *err)
{
    err->code = 0;
    err->text[0] = '\0';
}

enum { LONGEST = 64 };

/* Levenshtein distance of two short names; longer ones are cut. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[LONGEST + 1];
    size_t la = strnlen(a, LONGEST), lb = strnlen(b, LONGEST);

    for (size_t j = 0; j <= lb; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= la; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= lb; j++) {
            unsigned above = row[j];
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[lb];
}

/* Whether a name was left off after some letters, behind its group if any. */
static bool begins(const char *known, const char *name)
{
    const char *dot = strchr(name, '.');
    size_t n = strnlen(name, LONGEST), own = dot ? strlen(dot + 1) : n;

    return own >= 3 && strncmp(known, name, n) == 0;
}

const char *hd_nearest(const char *name, const char *const *names, size_t n)
{
    const char *best = NULL;
    unsigned least = (unsigned)strnlen(name, LONGEST) / 2 + 1;

    for (size_t i = 0; i < n; i++) {
        unsigned d = distance(name, names[i]);
        if (begins(names[i], name))
            d = 0; /* better than a wrong letter */
        if (d < least || (best == NULL && strstr(names[i], name) != NULL)) {
            least = d < least ? d : least;
            best = names[i];
        }
    }
    return best;
}

const char *hd_meant(char *out, size_t room, const char *name,
                     const char *const *names, size_t n)
{
    const char *near = hd_nearest(name, names, n);

    out[0] = '\0';
    if (near != NULL && *near)
        snprintf(out, room, "; did you mean \"%s\"?", near);
    return out;
}
