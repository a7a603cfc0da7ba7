/*
 * fuzz.h - a target: one reader, what it is fed, and how its input is changed.
 *
 * A target's run() takes any bytes and answers whether the reader took them;
 * what must hold whatever they are is asserted on the way.  Where bytes changed
 * at random would all be refused at a checksum or a header, run() takes what
 * lies behind it and seals it itself, or change() knows the format.
 * t/940-fuzz.c drives all targets, with libFuzzer or without.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef T_FUZZ_H
#define T_FUZZ_H

#include "../tracekit.h"

#include "kit/rng.h"

enum { FUZZ_ROOM = 1 << 16 }; /* of an input */

typedef void fuzz_put(const void *p, size_t n);

struct fuzz_target {
    const char *name;
    bool (*run)(const uint8_t *p, size_t n);
    /* Changes one thing in p; NULL: as bytes and words. */
    size_t (*change)(uint8_t *p, size_t n, size_t room, struct hd_rng *r);
    void (*seeds)(fuzz_put *put);
    const char *const *words; /* up to NULL; may be NULL */
    bool refuses;             /* can an input be wrong? */
};

/* Bytes that can be read up to their end and not further. */
static unsigned char *fuzz_copy(const void *p, size_t n)
{
    unsigned char *c = malloc(n + (n == 0));

    assert_non_null(c);
    memcpy(c, p, n);
    return c;
}

/* A word somewhere. */
static size_t fuzz_splice(uint8_t *p, size_t n, size_t room, const char *w,
                          struct hd_rng *r)
{
    size_t len = *w == '\0' ? 1 : strlen(w);
    size_t at = hd_rng_below(r, (uint32_t)n + 1);

    if (n + len >= room)
        return n;
    memmove(p + at + len, p + at, n - at);
    memcpy(p + at, w, len);
    return n + len;
}

/* Another digit where one is, from p[from] on: as likely as not still right. */
static void fuzz_digit(uint8_t *p, size_t n, size_t from, struct hd_rng *r)
{
    while (from < n && (p[from] < '0' || p[from] > '9'))
        from++;
    if (from < n)
        p[from] = (uint8_t)('0' + hd_rng_below(r, 10));
}

/* Changes a bit, a byte or a digit, takes a stretch out, doubles one, cuts, or
 * writes a word that is likely to be elsewhere in such an input. */
static size_t fuzz_change(uint8_t *p, size_t n, size_t room,
                          const char *const *words, struct hd_rng *r)
{
    static const char *const any[] = {
        "",  " ",  "\n",         "\r",    "\t",  "0",    "-1",
        "9", "0x", "ffffffff",   "#",     "=",   ",",    "\"",
        "[", "{",  "4294967296", "1e999", "\\u", "\xff", "99999999999999999999",
        NULL};
    uint32_t from, len, kind = hd_rng_below(r, 12), count = 0;

    if (n == 0)
        kind = 8;
    from = n == 0 ? 0 : hd_rng_below(r, (uint32_t)n);
    switch (kind) {
    case 0:
        p[from] ^= (uint8_t)(1u << hd_rng_below(r, 8));
        return n;
    case 1:
    case 2:
        p[from] = (uint8_t)hd_rng_next(r);
        return n;
    case 3:
        len = hd_rng_below(r, 40);
        len = from + len > n ? (uint32_t)n - from : len;
        memmove(p + from, p + from + len, n - from - len);
        return n - len;
    case 4: /* one stretch over another */
        len = hd_rng_below(r, 60);
        if (from + len < n)
            memmove(p + hd_rng_below(r, (uint32_t)n - len), p + from, len);
        return n;
    case 5:
        len = hd_rng_below(r, 60);
        if (from + len > n || n + len > room)
            return n;
        memmove(p + from + len, p + from, n - from);
        return n + len;
    case 6:
        return hd_rng_below(r, 4) == 0 ? from : n;
    case 9:
    case 10:
    case 11:
        fuzz_digit(p, n, from, r);
        return n;
    default:
        if (words == NULL || kind == 8)
            words = any;
        while (words[count] != NULL)
            count++;
        return fuzz_splice(p, n, room, words[hd_rng_below(r, count)], r);
    }
}

#endif
