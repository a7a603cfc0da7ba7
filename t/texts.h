/*
 * texts.h - what tests expect of words that they are given.
 * SPDX-License-Identifier: MIT
 */
#ifndef T_TEXTS_H
#define T_TEXTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A call that returns NULL, or what is wrong. */
#define assert_ok(e) assert_string_equal((e) ? (e) : "", "")

/* A text that has such a part. */
#define assert_text(got, want) text_has(got, want, __FILE__, __LINE__)

static inline void text_has(const char *got, const char *want, const char *file,
                            int line)
{
    if (got != NULL && strstr(got, want) != NULL)
        return;
    print_message("# got: %s\n# want: %s\n", got ? got : "(none)", want);
    _fail(file, line);
}

#endif
