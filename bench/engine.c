/*
 * engine.c - host time of the timing simulation on synthetic patterns.
 *
 *     build/release/bench/engine [stream|column|random|random64m|random8g]
 *                                [name=value ...]
 *
 * Prints warp instructions, lines and events a second, and host time a line.
 * The last two, random lines of 64 MB and of 8 GB for a card of today, run only
 * where they are asked for.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "synth.h"
#include "tool.h"

static uint64_t counter(heddle_sim *s, const char *component, const char *name)
{
    struct heddle_counter_info c = {.size = sizeof c};
    uint64_t sum = 0;

    for (uint32_t i = 0; heddle_counter(s, i, &c) == 0; i++)
        if (strcmp(c.component, component) == 0 && strcmp(c.name, name) == 0)
            for (uint32_t k = 0; k < c.instances; k++)
                sum += heddle_counter_value(s, i, k, 0);
    return sum;
}

struct pattern {
    const char *name;
    enum synth_kind kind;
    uint32_t blocks, steps;
    uint64_t span; /* 0: synth.h's */
};

static int run(const struct pattern *p, int argc, char **argv)
{
    heddle_config *c = heddle_config_new();
    struct synth synth;
    heddle_workload *w = synth_make(&synth, p->kind, p->blocks, p->steps);
    heddle_sim *s;
    double t;
    uint64_t arena, outside, n, lines;
    int status;

    if (p->span != 0)
        synth.span = p->span;
    for (int i = 0; i < argc; i++) {
        char key[64], *eq = strchr(argv[i], '=');
        if (eq == NULL || eq - argv[i] >= (long)sizeof key)
            continue;
        memcpy(key, argv[i], (size_t)(eq - argv[i]));
        key[eq - argv[i]] = '\0';
        if (heddle_config_set(c, key, eq + 1) != 0) {
            fprintf(stderr, "%s\n", heddle_config_error(c)->text);
            return 1;
        }
    }
    s = heddle_new(c, NULL, &w, 1, NULL);
    if (s == NULL) {
        fprintf(stderr, "%s\n", heddle_config_error(c)->text);
        return 1;
    }
    t = cpu_seconds();
    status = heddle_run(s, UINT64_MAX);
    t = cpu_seconds() - t;
    if (status != HEDDLE_DONE)
        fprintf(stderr, "%s: %s\n", heddle_status_name(status),
                heddle_error(s)->text);
    n = heddle_instructions(s);
    lines = counter(s, "core", "lines");
    heddle_memory(s, &arena, &outside);
    printf("%-8s %9.2f M warp instr/s %7.0f ns/line %6.2f events/line %5.1f "
           "ns/event %10llu cycles %9llu lines  arena %.1f MB  "
           "L1TLB miss %.1f %%\n",
           p->name, (double)n / t * 1e-6, t * 1e9 / (double)lines,
           (double)heddle_events(s) / (double)lines,
           t * 1e9 / (double)heddle_events(s),
           (unsigned long long)heddle_now(s), (unsigned long long)lines,
           (double)arena / 1048576.0,
           100.0 * (double)counter(s, "l1tlb", "misses") /
               (double)(counter(s, "l1tlb", "lookups") + 1));
    heddle_free(s);
    heddle_config_free(c);
    return status != HEDDLE_DONE;
}

int main(int argc, char **argv)
{
    static const struct pattern pattern[] = {
        {"stream", SYNTH_STREAM, 8960, 1, 0},
        {"column", SYNTH_COLUMN, 64, 1024, 0},
        {"random", SYNTH_RANDOM, 640, 4, 0},
        {"random64m", SYNTH_RANDOM, 432, 2, 64u << 20},
        {"random8g", SYNTH_RANDOM, 432, 2, 8ull << 30}};
    bool all = argc < 2 || strchr(argv[1], '=') != NULL;
    int bad = 0;

    for (size_t i = 0; i < HD_LEN(pattern); i++)
        if (all ? pattern[i].span == 0 : strcmp(argv[1], pattern[i].name) == 0)
            bad |= run(&pattern[i], argc - 1, argv + 1);
    return bad;
}
