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

#include "../base/grow.h"

/* The value of a hexadecimal digit, 16 or more for anything else. */
static inline unsigned hd_hex_digit(unsigned char c)
{
    unsigned d = c - '0', a = (c | 0x20u) - 'a';

    return d < 10 ? d : a < 6 ? a + 10 : 16;
}

/*
 * The hexadecimal digits at p, at most eight, all at once: their number, and
 * their value in *out.  A byte b below 0x80 is at least c iff b + 0x80 - c has
 * bit 7; no sum carries into the next byte.
 */
static inline unsigned hd_scan_nibbles(const char *p, uint64_t *out)
{
    const uint64_t one = 0x0101010101010101ull, top = one * 0x80;
    uint64_t v = hd_load64(p), b = v & ~top, l = b | one * 0x20;
    uint64_t digit = (b + one * 0x50) & ~(b + one * 0x46);
    uint64_t letter = (l + one * 0x1f) & ~(l + one * 0x19) & top;
    uint64_t none = ~((digit | letter) & ~v) & top;
    uint64_t x = (v & one * 0x0f) + (letter >> 7) * 9;
    unsigned n = none != 0 ? (unsigned)__builtin_ctzll(none) / 8 : 8;

    if (n == 0) {
        *out = 0;
        return 0;
    }
    /* the first digit is the highest: gather pairs, then fours */
    x <<= 64 - 8 * n;
    x = (x << 4 | x >> 8) & 0x00ff00ff00ff00ffull;
    x = (x << 8 | x >> 16) & 0x0000ffff0000ffffull;
    *out = (x << 16 | x >> 32) & 0x00000000ffffffffull;
    return n;
}

/* Eight hexadecimal digits; false if one is none. */
static inline bool hd_scan_hex8(const char *p, uint64_t *out)
{
    return hd_scan_nibbles(p, out) == 8;
}

/* A hexadecimal number of at most 16 digits, with or without 0x. */
static inline const char *hd_scan_hex(const char *p, uint64_t *out)
{
    uint64_t low;

    if (p[0] == '0' && p[1] == 'x')
        p += 2;
    unsigned n = hd_scan_nibbles(p, out);
    p += n;
    if (n != 8)
        return n != 0 ? p : NULL;
    n = hd_scan_nibbles(p, &low);
    *out = *out << 4 * n | low;
    p += n;
    return n == 8 && hd_hex_digit((unsigned char)*p) < 16 ? NULL : p;
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

/* Is `word` here?  Returns what follows it.  64 bytes can be read. */
static inline const char *hd_scan_is(const char *p, const char *word)
{
    size_t n = strlen(word);

    return memcmp(p, word, n) == 0 ? p + n : NULL;
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

/* Where the line ends. */
static inline const char *hd_scan_line_end(const char *p)
{
    while (*p != '\n')
        p++;
    return p;
}

#endif
