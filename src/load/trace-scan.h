/*
 * trace-scan.h - hand-written scanning of the words of a trace line.
 *
 * All functions take a position and return the one behind what they read, or
 * NULL when it is not there.  They stop at the end of a line by themselves:
 * the text ends with '\n', which is part of no word.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_SCAN_H
#define HD_TRACE_SCAN_H

#include "trace-bytes.h"

/* The value of a hexadecimal digit, 16 or more for anything else. */
static inline unsigned hd_hex_digit(unsigned char c)
{
    unsigned d = c - '0', a = (c | 0x20u) - 'a';

    return d < 10 ? d : a < 6 ? a + 10 : 16;
}

/* Eight hexadecimal digits at once; false if one is none. */
static inline bool hd_scan_hex8(const char *p, uint64_t *out)
{
    uint64_t v, x;

    memcpy(&v, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    /* letters have bit 6 set; make them lower case, then check the ranges:
     * every byte is 0x30..0x39 or 0x61..0x66 */
    const uint64_t ones = 0x0101010101010101ull;
    uint64_t letter = v >> 6 & ones;
    x = v | letter << 5;
    uint64_t low = x - letter * 0x27; /* 'a' - 10 - '0': now 0x30..0x3f */
    uint64_t digit = low & ones * 0x0f;
    if (((v | low) & ones * 0x80) != 0 || (low & ones * 0xf0) != ones * 0x30)
        return false;
    /* letters must be 10..15, digits 0..9: digit >= 10 iff letter */
    uint64_t ten = (digit + ones * 6) >> 4 & ones;
    if (ten != letter)
        return false;
    /* the first digit is the highest: gather pairs, then fours */
    digit = (digit << 4 | digit >> 8) & 0x00ff00ff00ff00ffull;
    digit = (digit << 8 | digit >> 16) & 0x0000ffff0000ffffull;
    digit = (digit << 16 | digit >> 32) & 0x00000000ffffffffull;
    *out = digit;
    return true;
}

/* A hexadecimal number, with or without 0x. */
static inline const char *hd_scan_hex(const char *p, uint64_t *out)
{
    uint64_t v = 0;
    unsigned n = 0, d;

    if (p[0] == '0' && p[1] == 'x')
        p += 2;
    if (hd_scan_hex8(p, &v)) {
        p += 8;
        n = 8;
    }
    for (; (d = hd_hex_digit((unsigned char)*p)) < 16; p++, n++) {
        v = v << 4 | d;
        if (n >= 16)
            return NULL;
    }
    *out = v;
    return n != 0 ? p : NULL;
}

static inline const char *hd_scan_dec(const char *p, uint64_t *out)
{
    uint64_t v = 0;
    unsigned n = 0;

    for (; *p >= '0' && *p <= '9'; p++, n++) {
        v = v * 10 + (uint64_t)(*p - '0');
        if (n >= 18)
            return NULL;
    }
    *out = v;
    return n != 0 ? p : NULL;
}

static inline const char *hd_scan_signed(const char *p, int64_t *out)
{
    bool minus = *p == '-';
    uint64_t v;

    p = hd_scan_dec(p + minus, &v);
    if (p != NULL)
        *out = minus ? -(int64_t)v : (int64_t)v;
    return p;
}

/* One blank or more. */
static inline const char *hd_scan_blank(const char *p)
{
    if (*p != ' ' && *p != '\t')
        return NULL;
    do
        p++;
    while (*p == ' ' || *p == '\t');
    return p;
}

static inline const char *hd_skip_blank(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\r')
        p++;
    return p;
}

/* The end of a word. */
static inline const char *hd_scan_word(const char *p)
{
    const char *from = p;

    while (*p != ' ' && *p != '\t' && *p != '\n' && *p != '\r')
        p++;
    return p != from ? p : NULL;
}

/* Is `word` here?  Returns what follows it. */
static inline const char *hd_scan_is(const char *p, const char *word)
{
    size_t n = strlen(word);

    return strncmp(p, word, n) == 0 ? p + n : NULL;
}

/* n bytes are the same; both may be read 8 bytes past n. */
static inline bool hd_scan_same(const char *a, const char *b, unsigned n)
{
    uint64_t x, y;

    for (; n > 8; n -= 8, a += 8, b += 8) {
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        if (x != y)
            return false;
    }
    x = hd_load64(a);
    y = hd_load64(b);
    return n == 0 || (x ^ y) << (64 - 8 * n) == 0;
}

#endif
