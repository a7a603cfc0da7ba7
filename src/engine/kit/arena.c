/*
 * arena.c - a reserved range of addresses, taken from the front.
 *
 * Far more is reserved than is ever used.  Where a process may not have so
 * many addresses (ulimit -v, hosts that never overcommit), a sixteenth of them
 * does as well, or a sixteenth of that.
 *
 * SPDX-License-Identifier: MIT
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, MADV_HUGEPAGE */
#include "arena.h"

#include <string.h>
#include <sys/mman.h>

enum {
    ALIGN = 64,
    LEAST = 16 << 20, /* bytes worth reserving */
    SMALL = 4096,     /* pages of the host */
    HUGE = 2 << 20
};

void hd_huge_pages(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    uintptr_t from = ((uintptr_t)p + SMALL - 1) / SMALL * SMALL;
    uintptr_t to = ((uintptr_t)p + bytes) / SMALL * SMALL;

    if (p != NULL && to > from && to - from >= HUGE)
        madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)p, (void)bytes;
#endif
}

int hd_arena_open(struct hd_arena *a, size_t bytes)
{
    void *p;

    for (;; bytes /= 16) {
        p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED)
            break;
        if (bytes / 16 < LEAST)
            return -1;
    }
    /* What a line touches is scattered over more pages of the host than its
     * first TLB holds. */
    hd_huge_pages(p, bytes);
    a->base = p;
    a->reserved = bytes;
    a->used = 0;
    return 0;
}

void hd_arena_close(struct hd_arena *a)
{
    if (a->base != NULL)
        munmap(a->base, a->reserved);
    a->base = NULL;
    a->reserved = a->used = 0;
}

void *hd_arena_take(struct hd_arena *a, size_t n, size_t size)
{
    size_t bytes = n * size;
    void *p;

    if (size != 0 && bytes / size != n)
        return NULL;
    if (bytes > a->reserved - a->used - ALIGN)
        return NULL;
    p = a->base + a->used;
    a->used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return p;
}

void hd_arena_replace(struct hd_arena *a, const void *from, size_t used)
{
    memcpy(a->base, from, used);
    if (a->used > used) /* what is taken next must be zeroed */
        memset(a->base + used, 0, a->used - used);
    a->used = used;
}
