/*
 * line.c - texts that stand in a line: notes, labels, titles, names.
 *
 * Checkpoints, results, lists and pages are read line by line, by programs and
 * by people on terminals.  A text in them is UTF-8 without control characters
 * (C0, DEL and C1, which also begins the sequences that terminals obey).  What
 * a user gives is checked where it is given, and refused in words; what comes
 * from data, as the names in a trace or the text of an error do, is escaped
 * where it is shown.  Every such text goes through one of the two functions
 * here.
 *
 * Escapes are \xNN, a byte each.  A backslash of the text itself stays as it
 * is: they are to be read, not to be read back.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tool.h"
#include "line.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the UTF-8 character that p begins with, of n bytes; 0: it is none.
 * The second byte has the range that excludes overlong forms, surrogates and
 * what is above U+10FFFF (Unicode, table 3-7). */
static size_t character(const unsigned char *p, size_t n)
{
    size_t bytes = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    unsigned char low = 0x80, high = 0xbf;

    if (bytes == 1)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4 || bytes > n)
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < bytes; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return bytes;
}

static bool is_control(const unsigned char *p, size_t bytes)
{
    return bytes == 1 ? p[0] < 0x20 || p[0] == 0x7f
                      : bytes == 2 && p[0] == 0xc2 && p[1] < 0xa0;
}

/* What a line cannot have. */
static const char *kind(const unsigned char *p, size_t bytes)
{
    if (bytes == 0)
        return "no UTF-8";
    switch (p[0]) {
    case '\0':
        return "a NUL";
    case '\t':
        return "a tab";
    case '\n':
        return "a line feed";
    case '\r':
        return "a carriage return";
    default:
        return "a control character";
    }
}

int heddle_line_check(const char *what, const char *text, size_t n,
                      char *error, size_t room)
{
    const unsigned char *p = (const unsigned char *)text;
    char shown[256];

    for (size_t i = 0, bytes; i < n; i += bytes) {
        bytes = character(p + i, n - i);
        if (bytes > 0 && !is_control(p + i, bytes))
            continue;
        if (bytes == 2) /* the second byte says which */
            i++;
        heddle_line_escape(text, n, "", shown, sizeof shown);
        snprintf(error, room,
                 "%s \"%s\": byte %zu is %s (0x%02x); one line of text in "
                 "UTF-8, without control characters, is expected",
                 what, shown, i + 1, kind(p + i, bytes), p[i]);
        return HEDDLE_EINVAL;
    }
    return HEDDLE_OK;
}

size_t heddle_line_escape(const char *text, size_t n, const char *keep,
                          char *out, size_t room)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t at = 0;

    for (size_t i = 0, bytes; i < n; i += bytes) {
        bool plain;

        bytes = character(p + i, n - i);
        plain = bytes > 0 && (!is_control(p + i, bytes) ||
                              (p[i] != 0 && strchr(keep, p[i]) != NULL));
        bytes += bytes == 0;
        if (at + (plain ? bytes : 4 * bytes) >= room)
            break;
        if (plain)
            memcpy(out + at, p + i, bytes);
        for (size_t k = 0; k < bytes && !plain; k++)
            snprintf(out + at + 4 * k, 5, "\\x%02x", p[i + k]);
        at += plain ? bytes : 4 * bytes;
    }
    out[at] = '\0';
    return at;
}

int hd_line_check(const char *what, const char *text, int code,
                  struct heddle_error *err)
{
    char error[sizeof err->text];

    if (heddle_line_check(what, text, strlen(text), error, sizeof error) == 0)
        return 0;
    return hd_err_set(err, code, "%s", error);
}
