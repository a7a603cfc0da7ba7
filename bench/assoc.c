/*
 * assoc.c - what a hit in an array of tags costs: find and touch, all hits.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "clock.h"
#include "kit/rng.h"
#include "memory/assoc.h"

enum { ROUNDS = 20000000 };

static void measure(uint32_t sets, uint32_t ways)
{
    struct hd_arena arena;
    struct hd_env env = {.arena = &arena};
    struct hd_assoc a;
    struct hd_who who = {0, 0xffff};
    uint32_t n = sets * ways, key[4096];
    uint64_t gone, sum = 0;
    double t;

    if (hd_arena_open(&arena, 1 << 26) != 0 ||
        hd_assoc_open(&a, &env, "l1tlb", 0, sets, ways) != 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        hd_assoc_place(&a, i % sets, i, who, &gone);
    for (uint32_t i = 0; i < 4096; i++)
        key[i] = (uint32_t)(hd_mix64(i) % n);
    t = cpu_ns();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t k = key[i % 4096];
        uint32_t e = hd_assoc_find(&a, sets == 1 ? 0 : k % sets, k);
        hd_assoc_touch(&a, e, who);
        sum += e;
    }
    t = (cpu_ns() - t) / ROUNDS;
    printf("assoc %5u sets x %4u ways: %5.2f ns a hit (%llu)\n", sets, ways, t,
           (unsigned long long)(sum & 15));
    t = cpu_ns();
    for (uint32_t i = 0; i < ROUNDS / 4; i++)
        hd_assoc_place(&a, sets == 1 ? 0 : i % sets, n + (uint64_t)i, who,
                       &gone);
    t = (cpu_ns() - t) / (ROUNDS / 4);
    printf("assoc %5u sets x %4u ways: %5.2f ns a replacement\n", sets, ways,
           t);
    hd_arena_close(&arena);
}

int main(void)
{
    measure(1, 64);
    measure(1, 512);
    measure(32, 4);
    measure(32, 16);
    measure(85, 16);
    measure(1024, 16);
    return 0;
}
