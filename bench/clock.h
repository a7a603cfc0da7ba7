/*
 * clock.h - the time that a benchmark has cost: that of the processor, which
 * others on the machine disturb less than the time of day.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <time.h>

static inline double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline double cpu_seconds(void)
{
    return cpu_ns() * 1e-9;
}

static inline double wall_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
