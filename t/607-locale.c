/*
 * 607-locale.c - a C program that lives in a locale of its own.
 *
 * Pinned: under setlocale(LC_ALL, "de_DE.UTF-8") texts of errors have points
 * in their numbers, and the program's own numbers their commas afterwards;
 * under a Turkish one names of parameters are found whatever their capitals.
 *
 * SPDX-License-Identifier: MIT
 */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "folder.h"
#include "heddle.h"
#include "heddle_generate.h"
#include "part/tool_part.h"
#include "texts.h"

static char dir[FOLDER];

/* Skips the test where there is no such locale. */
static void live_in(const char *name)
{
    char line[128];

    snprintf(line, sizeof line, "sh t/lib/locale.sh %s %s", name, dir);
    if (system(line) != 0 || setlocale(LC_ALL, name) == NULL)
        skip();
}

static void commas(void **state)
{
    char text[256], own[8];

    (void)state;
    live_in("de_DE.UTF-8");
    assert_null(heddle_generate_zipf(1, 4, 9.5, 1, text, sizeof text));
    assert_text(text, "exponent 9.5;");
    snprintf(own, sizeof own, "%g", 0.5);
    assert_string_equal(own, "0,5");
}

static void capitals(void **state)
{
    heddle_part_dram *d = heddle_part_dram_new();
    char a[32], b[32];

    (void)state;
    live_in("tr_TR.UTF-8");
    assert_int_equal(heddle_part_dram_set(d, "tREFI", "1234"), 0);
    assert_int_equal(heddle_part_dram_get(d, "trefi", a, sizeof a), 0);
    assert_int_equal(heddle_part_dram_get(d, "tREFI", b, sizeof b), 0);
    assert_string_equal(a, b);
    assert_text(a, "1234");
    heddle_part_dram_free(d);
}

static int begin(void **state)
{
    (void)state;
    return folder_make(dir) ? setenv("LOCPATH", dir, 1) : -1;
}

static int end(void **state)
{
    char line[128];

    (void)state;
    snprintf(line, sizeof line, "rm -rf %s", dir);
    return system(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(commas),
                                       cmocka_unit_test(capitals)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin, end);
}
