/*
 * time.c - the least common multiple of the clock domains.
 * SPDX-License-Identifier: MIT
 */
#include "time.h"

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

int hd_clocks_init(struct hd_clocks *c, struct heddle_error *err)
{
    static const char *const name[] = {"core", "core", "l2", "dram", "link"};
    const uint64_t most = 1ull << 50;
    uint64_t lcm = 1;

    for (int d = 0; d < HD_CLK_COUNT; d++) {
        uint64_t f = c->hz[d];
        if (f == 0)
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "clock.%s: a frequency above 0 Hz is needed",
                              name[d]);
        f /= gcd(lcm, f);
        if (f > most / lcm)
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "clock.%s: %llu Hz has no common time base "
                              "below 2^50 Hz with the other clocks; choose "
                              "frequencies with a larger common divisor "
                              "(whole MHz always work)",
                              name[d], (unsigned long long)c->hz[d]);
        lcm *= f;
    }
    c->base_hz = lcm;
    for (int d = 0; d < HD_CLK_COUNT; d++)
        c->ticks[d] = lcm / c->hz[d];
    return 0;
}

hd_time hd_ticks_ns(const struct hd_clocks *c, uint64_t ns)
{
    /* ns * base / 1e9 without overflow: seconds apart from the rest. */
    uint64_t s = ns / 1000000000u, r = ns % 1000000000u;
    uint64_t hi = c->base_hz / 1000000000u, lo = c->base_hz % 1000000000u;

    return s * c->base_hz + r * hi + hd_ceil_div(r * lo, 1000000000u);
}
