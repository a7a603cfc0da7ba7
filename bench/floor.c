/*
 * floor.c - how far the timing simulation is from the least that it could do.
 *
 *     build/release/bench/floor [stream|column|random] [name=value ...]
 *
 * A timing run records the order in which its cores issue their memory
 * instructions.  The floor replays that order, without time, through all that
 * any simulator of this machine has to look up: coalescing, the L1 TLB, the L2
 * TLB, the four references of a walk in the L2 cache, the L1 cache, the L2
 * cache, the open rows of DRAM, each with exact LRU and nothing else, in C as
 * tight as it gets.  Then it runs the timing simulation again, and prints
 * host time a line of both, and their ratio.  The two take turns, and the
 * least of several turns counts.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "simulation.h"
#include "synth.h"

enum { TURNS = 3, CORES = 30 };

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- recording ---------------------------------------------------------- */

struct access {
    uint64_t base;
    int64_t stride;
    uint32_t lanes; /* index of the first lane's address, or HD_NONE: affine */
    uint32_t core;
};

static struct {
    struct access *v;
    uint32_t n, room;
    uint64_t *lane;
    uint32_t lanes, lane_room;
    heddle_sim *sim;
    bool on;
} tape;

static uint32_t core_of(uint32_t ctx)
{
    const struct hd_gpu *g = &tape.sim->gpu;

    for (uint32_t i = 0; i < g->cores; i++)
        for (uint32_t b = 0; b < g->m->core.blocks; b++)
            if (g->core[i].block[b].used && g->core[i].block[b].ctx == ctx)
                return i;
    return 0;
}

static void recorded_access(void *self, uint32_t ctx, uint32_t warp,
                            struct hd_access *acc)
{
    struct access *a;

    synth_access(self, ctx, warp, acc);
    if (!tape.on)
        return;
    if (tape.n == tape.room) {
        tape.room = tape.room * 2 + 1024;
        tape.v = realloc(tape.v, tape.room * sizeof *tape.v);
    }
    if (tape.lanes + 64 > tape.lane_room) {
        tape.lane_room = tape.lane_room * 2 + 4096;
        tape.lane = realloc(tape.lane, tape.lane_room * sizeof *tape.lane);
    }
    a = &tape.v[tape.n++];
    *a = (struct access){acc->base.v, acc->stride, HD_NONE, core_of(ctx)};
    if (acc->lane == NULL)
        return;
    a->lanes = tape.lanes;
    for (uint32_t i = 0; i < 32; i++)
        tape.lane[tape.lanes++] = acc->lane[i].v;
}

/* ---- the floor ---------------------------------------------------------- */

/* A set-associative array: keys kept in LRU order, most recent first. */
struct array {
    uint32_t sets, ways;
    uint64_t *key; /* [set][way] */
};

static void array_open(struct array *a, uint32_t entries, uint32_t ways)
{
    a->sets = entries / ways;
    a->ways = ways;
    a->key = malloc(entries * sizeof *a->key);
    memset(a->key, 0xff, entries * sizeof *a->key);
}

/* Looks up and makes the key the most recent of its set. */
static inline bool array_use(struct array *a, uint64_t set, uint64_t key,
                             uint32_t ways)
{
    uint64_t *k = a->key + set * ways, before = k[0];

    if (before == key)
        return true;
    for (uint32_t i = 1; i < ways; i++) {
        uint64_t x = k[i];
        k[i] = before;
        if (x == key) {
            k[0] = key;
            return true;
        }
        before = x;
    }
    k[0] = key;
    return false;
}

/* A fully associative TLB of 64: a hash and a list in LRU order. */
struct full {
    uint64_t key[64];
    uint8_t hash[256], chain[64], next[64], prev[64], head, tail, used;
};

static inline uint32_t bucket(uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 56);
}

static inline void to_front(struct full *f, uint8_t i)
{
    if (f->head == i)
        return;
    f->next[f->prev[i]] = f->next[i];
    if (f->tail == i)
        f->tail = f->prev[i];
    else
        f->prev[f->next[i]] = f->prev[i];
    f->next[i] = f->head;
    f->prev[f->head] = i;
    f->head = i;
}

static inline bool full_use(struct full *f, uint64_t key)
{
    uint32_t h = bucket(key);
    uint8_t i;

    for (i = f->hash[h]; i != 0xff; i = f->chain[i]) {
        if (f->key[i] == key) {
            to_front(f, i);
            return true;
        }
    }
    if (f->used < 64) {
        i = f->used++;
        f->next[i] = f->head;
        f->prev[f->head] = i;
        f->head = i;
        if (i == 0)
            f->tail = 0;
    } else {
        uint8_t *at;
        i = f->tail;
        for (at = &f->hash[bucket(f->key[i])]; *at != i; at = &f->chain[*at])
            ;
        *at = f->chain[i];
        to_front(f, i);
    }
    f->key[i] = key;
    f->chain[i] = f->hash[h];
    f->hash[h] = i;
    return false;
}

static struct {
    struct full l1tlb[CORES];
    struct array l1[CORES], l2tlb, l2;
    uint64_t row[8 * 8];
    uint64_t lines, misses;
} floor_;

static inline void floor_l2(uint64_t line)
{
    uint64_t bank;

    if (array_use(&floor_.l2, line & 1023, line, 16))
        return;
    floor_.misses++;
    bank = line >> 1 & 63; /* channels of 256 bytes, then banks */
    floor_.row[bank] = line >> 11;
}

static inline void floor_line(uint32_t core, uint64_t line)
{
    uint64_t vpn = line >> 5;

    floor_.lines++;
    if (!full_use(&floor_.l1tlb[core], vpn) &&
        !array_use(&floor_.l2tlb, vpn & 31, vpn, 16)) {
        floor_l2(1ull << 40);
        floor_l2((1ull << 40) + 64 + (vpn >> 22));
        floor_l2((1ull << 40) + 4096 + (vpn >> 13));
        floor_l2((1ull << 40) + 65536 + (vpn >> 4));
    }
    if (!array_use(&floor_.l1[core], line & 31, line, 4))
        floor_l2(line);
}

static void floor_run(void)
{
    for (uint32_t i = 0; i < tape.n; i++) {
        const struct access *a = &tape.v[i];
        uint64_t last = HD_NEVER;
        if (a->lanes != HD_NONE) {
            for (uint32_t k = 0; k < 32; k++)
                floor_line(a->core, tape.lane[a->lanes + k] >> 7);
            continue;
        }
        for (uint32_t k = 0; k < 32; k++) {
            uint64_t line = (a->base + (uint64_t)a->stride * k) >> 7;
            if (line == last)
                continue;
            last = line;
            floor_line(a->core, line);
        }
    }
}

static void floor_open(void)
{
    memset(&floor_, 0, sizeof floor_);
    for (int i = 0; i < CORES; i++) {
        memset(floor_.l1tlb[i].hash, 0xff, sizeof floor_.l1tlb[i].hash);
        array_open(&floor_.l1[i], 128, 4);
    }
    array_open(&floor_.l2tlb, 512, 16);
    array_open(&floor_.l2, 16384, 16);
}

static void floor_close(void)
{
    for (int i = 0; i < CORES; i++)
        free(floor_.l1[i].key);
    free(floor_.l2tlb.key);
    free(floor_.l2.key);
}

/* ---- both, in turns ----------------------------------------------------- */

static double timing(heddle_config *c, heddle_workload *w, bool record,
                     uint64_t *lines)
{
    int status;
    heddle_sim *s = heddle_new(c, NULL, &w, 1, &status);
    double t;

    if (s == NULL) {
        fprintf(stderr, "%s\n", heddle_config_error(c));
        exit(1);
    }
    tape.sim = s;
    tape.on = record;
    heddle_run(s, 1); /* maps the pages */
    t = seconds();
    status = heddle_run(s, UINT64_MAX);
    t = seconds() - t;
    if (status != HEDDLE_DONE)
        fprintf(stderr, "%s\n", heddle_error(s));
    *lines = 0;
    for (uint32_t i = 0; i < s->gpu.cores; i++)
        *lines += *hd_count(&s->gpu.stat, i, 0, HD_CORE_LINES);
    heddle_free(s);
    return t;
}

static double floor_time(void)
{
    double t;

    floor_open();
    t = seconds();
    floor_run();
    t = seconds() - t;
    floor_close();
    return t;
}

static int compare(const char *name, enum synth_kind kind, uint32_t blocks,
                   uint32_t steps, double allowed, heddle_config *c)
{
    struct hd_source_ops ops = synth_ops;
    struct synth synth;
    heddle_workload *w = synth_make(&synth, kind, blocks, steps);
    double least[2] = {1e9, 1e9};
    uint64_t lines;

    ops.access = recorded_access;
    synth.source.ops = &ops;
    tape.n = tape.lanes = 0;
    timing(c, w, true, &lines);
    for (int i = 0; i < TURNS; i++) {
        double a = timing(c, w, false, &lines), b = floor_time();
        least[0] = a < least[0] ? a : least[0];
        least[1] = b < least[1] ? b : least[1];
    }
    printf("%-7s %8.1f ns a line with timing, %6.1f ns at the floor: %5.2f "
           "times (at most %g allowed)\n",
           name, least[0] * 1e9 / (double)lines,
           least[1] * 1e9 / (double)floor_.lines, least[0] / least[1], allowed);
    fflush(stdout);
    return least[0] / least[1] > allowed;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        enum synth_kind kind;
        uint32_t blocks, steps;
        double allowed;
    } pattern[] = {{"stream", SYNTH_STREAM, 4480, 1, 8},
                   {"column", SYNTH_COLUMN, 64, 96, 4},
                   {"random", SYNTH_RANDOM, 320, 4, 8}};
    heddle_config *c = heddle_config_new();
    const char *only = NULL;
    int over = 0;

    for (int i = 1; i < argc; i++) {
        char key[64] = "", *eq = strchr(argv[i], '=');
        if (eq == NULL) {
            only = argv[i];
            continue;
        }
        snprintf(key, sizeof key, "%.*s", (int)(eq - argv[i]), argv[i]);
        if (heddle_config_set(c, key, eq + 1) != 0) {
            fprintf(stderr, "%s\n", heddle_config_error(c));
            return 1;
        }
    }
    for (size_t i = 0; i < HD_LEN(pattern); i++)
        if (only == NULL || strcmp(only, pattern[i].name) == 0)
            over += compare(pattern[i].name, pattern[i].kind,
                            pattern[i].blocks, pattern[i].steps,
                            pattern[i].allowed, c);
    heddle_config_free(c);
    free(tape.v);
    free(tape.lane);
    return over != 0;
}
