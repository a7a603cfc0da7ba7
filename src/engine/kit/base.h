/*
 * base.h - the few definitions that every file of heddle shares.
 *
 * Addresses of different kinds have different types, so that mixing a virtual
 * page number with a frame number is a compile error.  At the edge of the
 * public interface they are plain uint64_t.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_BASE_H
#define HD_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A byte address as a thread of an application sees it. */
typedef struct {
    uint64_t v;
} hd_va;

/* A byte address in the memory of the machine. */
typedef struct {
    uint64_t v;
} hd_pa;

/* A virtual page number: address >> 12, whatever the size of the page. */
typedef struct {
    uint64_t v;
} hd_vpn;

/* A physical frame number: address >> 12. */
typedef struct {
    uint64_t v;
} hd_pfn;

/* An instant or a span, in ticks of the simulation's base clock. */
typedef uint64_t hd_time;
#define HD_NEVER UINT64_MAX

/* A 32-bit index or arena offset that means "none". */
#define HD_NONE UINT32_MAX

#define HD_PAGE_SHIFT  12 /* base page: 4 KB */
#define HD_PAGE_BYTES  4096u
#define HD_LARGE_SHIFT 21 /* large page: 2 MB */
#define HD_LARGE_PAGES 512u
#define HD_MAX_APPS    16 /* address spaces in one simulation */
#define HD_MAX_LANES   64

#define HD_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Two names as one, a name as text; both may be macros. */
#define HD_PASTE(a, b)  HD_PASTE_(a, b)
#define HD_PASTE_(a, b) a##b
#define HD_TEXT_OF(a)   HD_TEXT_OF_(a)
#define HD_TEXT_OF_(a)  #a

#if defined(__GNUC__)
#define HD_LIKELY(x)   __builtin_expect(!!(x), 1)
#define HD_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HD_PREFETCH(p) __builtin_prefetch(p)
/* A function that is not inlined: a caller that calls it last of all, and
 * seldom, then needs no frame where it does not. */
#define HD_APART __attribute__((noinline))
/* A function on the path of every line: these are placed together in the
 * program, so that the host's instruction cache holds them. */
#define HD_HOT __attribute__((hot))
/* A static function that is inlined wherever it is called. */
#define HD_INLINE inline __attribute__((always_inline))
#else
#define HD_LIKELY(x)   (x)
#define HD_UNLIKELY(x) (x)
#define HD_PREFETCH(p) ((void)(p))
#define HD_APART
#define HD_HOT
#define HD_INLINE inline
#endif

/*
 * hd_assert: an internal contradiction, never bad input.  It is checked in
 * debug and sanitizer builds (HD_DEBUG); input is answered by error codes.
 */
#ifdef HD_DEBUG
#include <assert.h>
#define hd_assert(c) assert(c)
#else
#define hd_assert(c) ((void)0)
#endif

static inline uint64_t hd_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t hd_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t hd_ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

#endif
