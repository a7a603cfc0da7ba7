/*
 * bytes.h - sixteen bytes compared with one, all at once: the tags of a set.
 *
 * The answer has a bit for each byte, the lowest for the first.  Where the
 * host has SSE2, as every x86-64 has, it is four instructions; elsewhere two
 * 64-bit words are compared by arithmetic.  Both forms are always there, so
 * that one can be tested against the other.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_BYTES_H
#define HD_BYTES_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define HD_BYTES_ONES 0x0101010101010101ull
#define HD_BYTES_HIGH 0x8080808080808080ull

/* Eight bytes; the first is the lowest of the word. */
static inline uint64_t hd_bytes_load(const uint8_t *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof x);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

/* The top bits of eight bytes, side by side. */
static inline uint32_t hd_bytes_tops(uint64_t x)
{
    return (uint32_t)(((x & HD_BYTES_HIGH) >> 7) * 0x0102040810204080ull >> 56);
}

/* 0x80 in each byte of x that is 0, and in no other. */
static inline uint64_t hd_bytes_zero(uint64_t x)
{
    return ~(((x & ~HD_BYTES_HIGH) + ~HD_BYTES_HIGH) | x) & HD_BYTES_HIGH;
}

static inline uint32_t hd_bytes_alike_words(const uint8_t p[16], uint8_t byte)
{
    uint64_t all = byte * HD_BYTES_ONES;

    return hd_bytes_tops(hd_bytes_zero(hd_bytes_load(p) ^ all)) |
           hd_bytes_tops(hd_bytes_zero(hd_bytes_load(p + 8) ^ all)) << 8;
}

static inline uint32_t hd_bytes_high_words(const uint8_t p[16])
{
    return hd_bytes_tops(hd_bytes_load(p)) | hd_bytes_tops(hd_bytes_load(p + 8))
                                                 << 8;
}

/* Which of 16 bytes are `byte`. */
static inline uint32_t hd_bytes_alike(const uint8_t p[16], uint8_t byte)
{
#ifdef __SSE2__
    __m128i v = _mm_loadu_si128((const __m128i *)p);
    __m128i all = _mm_set1_epi64x((long long)(byte * HD_BYTES_ONES));

    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, all));
#else
    return hd_bytes_alike_words(p, byte);
#endif
}

/* Which of 16 bytes are 0x80 or more. */
static inline uint32_t hd_bytes_high(const uint8_t p[16])
{
#ifdef __SSE2__
    return (uint32_t)_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)p));
#else
    return hd_bytes_high_words(p);
#endif
}

#endif
