/*
 * 046-base-line.c - pins which texts can stand in a line (kit/line.c): every
 * single byte and every character is taken or refused as Unicode says, with the
 * place of the byte; an escaped text can stand in a line, one that could is not
 * changed, and what there is no room for is left off a whole character at a
 * time.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../src/engine/kit/line.h"
#include "tool.h"

/* The UTF-8 form of a number, as RFC 2279 had it, for what is none, too. */
static size_t encode(uint32_t c, char *out)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    return n;
}

static int check(const char *text, size_t n)
{
    char error[256];

    return heddle_line_check("name", text, n, error, sizeof error);
}

static void test_characters(void **state)
{
    char text[8] = "ab";

    (void)state;
    for (uint32_t c = 0; c < 0x120000; c++) {
        size_t n = encode(c, text + 2);
        bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
        bool valid = c < 0x110000 && (c < 0xd800 || c > 0xdfff);
        int rc = check(text, 2 + n);

        if (rc != (control || !valid ? HEDDLE_EINVAL : HEDDLE_OK))
            fail_msg("U+%04X: %d", c, rc);
    }
    for (int c = 0x80; c < 0x100; c++) { /* a byte alone */
        text[2] = (char)c;
        text[3] = 'x';
        assert_int_equal(check(text, 3), HEDDLE_EINVAL);
        assert_int_equal(check(text, 4), HEDDLE_EINVAL);
    }
}

static void test_words(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *why;
    } cases[] = {
        {"a\n\nb", 4, "byte 2 is a line feed (0x0a)"},
        {"a\0b", 3, "byte 2 is a NUL (0x00)"},
        {"\t", 1, "byte 1 is a tab (0x09)"},
        {"ab\r\n", 4, "byte 3 is a carriage return (0x0d)"},
        {"\x1b[2J", 4, "byte 1 is a control character (0x1b)"},
        {"\xc2\x9b" "2J", 4, "byte 2 is a control character (0x9b)"},
        {"\x7f", 1, "byte 1 is a control character (0x7f)"},
        {"na\xefve", 5, "byte 3 is no UTF-8 (0xef)"},
        {"\xc0\x80", 2, "byte 1 is no UTF-8 (0xc0)"},
        {"\xe0\x9f\xbf", 3, "byte 1 is no UTF-8 (0xe0)"},
        {"\xe2\x82", 2, "byte 1 is no UTF-8 (0xe2)"},
        {"\xf0\x8f\xbf\xbf", 4, "byte 1 is no UTF-8 (0xf0)"},
    };
    struct heddle_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char error[256] = "";

        assert_int_equal(heddle_line_check("name", cases[i].text, cases[i].n,
                                           error, sizeof error),
                         HEDDLE_EINVAL);
        if (strstr(error, cases[i].why) == NULL)
            fail_msg("%s: %s is expected", error, cases[i].why);
    }
    assert_int_equal(hd_line_check("note", "plain", HEDDLE_EINVAL, &err), 0);
    assert_int_equal(hd_line_check("note", "a\nb", HEDDLE_EPOLICY, &err),
                     HEDDLE_EPOLICY);
    assert_string_equal(err.text,
                        "note \"a\\x0ab\": byte 2 is a line feed (0x0a); one "
                        "line of text in UTF-8, without control characters, is "
                        "expected");
}

static void test_escape(void **state)
{
    char out[64];

    (void)state;
    assert_int_equal(
        heddle_line_escape("a\n\0\xff\xc3\xa9", 6, "", out, sizeof out), 15);
    assert_string_equal(out, "a\\x0a\\x00\\xff\xc3\xa9");
    heddle_line_escape("a\n\0\tb\xc2\x85", 7, "\n\t", out, sizeof out);
    assert_string_equal(out, "a\n\\x00\tb\\xc2\\x85");
    heddle_line_escape("gr\xc3\xbc\xc3\x9f\\n", 8, "", out, sizeof out);
    assert_string_equal(out, "gr\xc3\xbc\xc3\x9f\\n");
    assert_int_equal(heddle_line_escape("ab\xc3\xa9", 4, "", out, 4), 2);
    assert_string_equal(out, "ab");
    assert_int_equal(heddle_line_escape("ab\n", 3, "", out, 6), 2);
    assert_string_equal(out, "ab");
    assert_int_equal(heddle_line_escape("a", 1, "", out, 1), 0);
    assert_string_equal(out, "");
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++) {
            char text[3] = {(char)a, (char)b, 'x'};
            size_t n = heddle_line_escape(text, 3, "", out, sizeof out);

            assert_int_equal(check(out, n), HEDDLE_OK);
            assert_int_equal(strlen(out), n);
            if (check(text, 3) == HEDDLE_OK)
                assert_memory_equal(out, text, 3);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_escape),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
