/*
 * lru.h - tags in exact LRU order, as tight as they get: for floor.c.
 *
 * A set of 16 ways keeps eight bits of each way's tag, which are compared
 * eight at a time, and its order as four bits a place in one word, so a use
 * moves a way to the front with a few operations and no loop over the ways.
 * A TLB of 64 entries is a hash of its pages and a ring in the order of use.
 * Neither has counters, owners or anybody to ask.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_LRU_H
#define BENCH_LRU_H

#include <string.h>

#include "kit/base.h"
#include "kit/bits.h"

/* ---- arrays of 16 ways --------------------------------------------------- */

#define LOW  0x0101010101010101ull
#define HIGH 0x8080808080808080ull
#define ONES 0x1111111111111111ull

enum { NOWHERE = 16 };

struct set {
    uint64_t part[2]; /* eight bits of each way's tag */
    uint64_t order;   /* four bits a place, the most recent lowest */
    uint32_t tag[16];
};

static void sets_open(struct set *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        memset(&s[i], 0xff, sizeof s[i]);
        s[i].order = 0xfedcba9876543210ull;
    }
}

static inline uint64_t byte_of(uint32_t tag)
{
    return (tag * 0x9e3779b1u) >> 24;
}

static inline uint64_t zero_bytes(uint64_t x)
{
    return (x - LOW) & ~x & HIGH;
}

/* The way of a tag, made the most recent, or NOWHERE. */
static inline uint32_t set_use(struct set *s, uint32_t tag)
{
    uint64_t pattern = byte_of(tag) * LOW;

    if (s->tag[s->order & 15] == tag)
        return (uint32_t)(s->order & 15);
    for (uint32_t half = 0; half < 2; half++) {
        uint64_t z = zero_bytes(s->part[half] ^ pattern);
        for (; z != 0; z &= z - 1) {
            uint32_t way = half * 8 + hd_bit_first(z) / 8;
            uint64_t x, upto;
            if (s->tag[way] != tag)
                continue;
            x = s->order ^ way * ONES;
            x = (x - ONES) & ~x & ONES << 3; /* its place, and noise above */
            upto = x ^ (x - 1);
            s->order ^= (s->order ^ (s->order << 4 | way)) & upto;
            return way;
        }
    }
    return NOWHERE;
}

/* Puts a tag in place of the least recent; returns its way. */
static inline uint32_t set_put(struct set *s, uint32_t tag)
{
    uint32_t way = (uint32_t)(s->order >> 60), shift = way % 8 * 8;

    s->order = s->order << 4 | way;
    s->part[way / 8] &= ~(0xffull << shift);
    s->part[way / 8] |= byte_of(tag) << shift;
    s->tag[way] = tag;
    return way;
}

/* ---- a fully associative TLB of 64 --------------------------------------- */

/* A hash of the pages and a ring in LRU order; entry 64 is between its ends. */
struct full {
    uint32_t vpn[64], pfn[64];
    uint8_t hash[512], chain[64], next[65], prev[65];
};

static void full_open(struct full *f)
{
    memset(f, 0xff, sizeof *f);
    for (uint32_t i = 0; i <= 64; i++) {
        f->next[i] = (uint8_t)((i + 1) % 65);
        f->prev[i] = (uint8_t)((i + 64) % 65);
    }
}

static inline uint8_t *bucket(struct full *f, uint32_t vpn)
{
    return &f->hash[(vpn * 0x9e3779b1u) >> 23];
}

static inline void to_front(struct full *f, uint8_t i)
{
    uint8_t head = f->next[64];

    if (head == i)
        return;
    f->next[f->prev[i]] = f->next[i];
    f->prev[f->next[i]] = f->prev[i];
    f->next[i] = head;
    f->prev[i] = 64;
    f->prev[head] = i;
    f->next[64] = i;
}

static inline uint32_t full_use(struct full *f, uint32_t vpn)
{
    uint8_t i = *bucket(f, vpn);

    while (i != 0xff && f->vpn[i] != vpn)
        i = f->chain[i];
    if (i == 0xff)
        return HD_NONE;
    to_front(f, i);
    return f->pfn[i];
}

static inline void full_put(struct full *f, uint32_t vpn, uint32_t pfn)
{
    uint8_t i = f->prev[64], *at = bucket(f, f->vpn[i]);

    if (f->vpn[i] != HD_NONE) {
        while (*at != i)
            at = &f->chain[*at];
        *at = f->chain[i];
    }
    at = bucket(f, vpn);
    f->vpn[i] = vpn;
    f->pfn[i] = pfn;
    f->chain[i] = *at;
    *at = i;
    to_front(f, i);
}

#endif
