/*
 * floor.c - how far the timing simulation is from the least that it could do.
 *
 *     build/release/bench/floor [stream|column|random|column16k] [turns=N]
 *                               [name=value ...] [suffix=.NAME]
 *
 * A timing run records the order in which its cores issue their memory
 * instructions.  The floor replays that order, without time, through all that
 * any simulator of this machine has to look up: coalescing to lines, the L1
 * TLB, the L2 TLB, the four references of a walk in the L2 cache, the L1
 * cache, the L2 cache with its dirty lines, the open rows of DRAM.  Each is
 * exact LRU of the machine's size, over the physical addresses that the page
 * tables of the run hold, in C as tight as it gets: 32-bit tags, the ways of a
 * set compared at once, its order in one word (lru.h), nothing allocated, no
 * call.
 * What it leaves out is only what has to do with time (ports, queues, MSHRs,
 * events) and with being general (policies, counters by application).  As
 * evidence for that, the misses of both at every level are printed side by
 * side; they differ by what time does to the order (requests for the same line
 * in flight, DRAM requests that wait for a row that is open).
 *
 * Printed: host time a line of the timing simulation over that of the floor.
 * Both do the same work in every turn; both are cut into slices, and the sum
 * of the least times of each slice counts, so that a busy machine disturbs
 * little.  Mapping the pages, before the first cycle, is not timed.
 *
 * Patterns (synth.h):
 *   stream     vecadd: two loads and a store of new lines
 *   column     two warps a core walk along their rows, 32 lanes one row apart.
 *              The pitch is 16 KB and 128 bytes, as a padded matrix has: the
 *              64 lines of a core then are two in each set of its L1 and stay
 *              for the 32 steps that use them.  At a pitch of 16 KB they would
 *              all be in one set of four ways, and each access would miss.
 *   random     an index, then 32 lines out of 256 MB
 *   column16k  the column at a pitch of 16 KB: no goal, for comparison
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "lru.h"
#include "simulation.h"
#include "synth.h"

enum { TURNS = 5, CORES = 30, SLICES = 64 };

/* ---- recording ---------------------------------------------------------- */

struct access {
    uint64_t base;
    int32_t stride;
    uint32_t lanes; /* index of the first lane's address, or HD_NONE: affine */
    uint16_t core, store;
};

static struct {
    struct access *v;
    uint32_t n, room;
    uint64_t *lane;
    uint32_t lanes, lane_room;
    heddle_sim *sim;
    bool on;
} tape;

static uint16_t core_of(uint32_t ctx)
{
    const struct hd_gpu *g = &tape.sim->gpu;

    for (uint32_t i = 0; i < g->cores; i++)
        for (uint32_t b = 0; b < g->m->core.blocks; b++)
            if (g->core[i].block[b].used && g->core[i].block[b].ctx == ctx)
                return (uint16_t)i;
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
    *a = (struct access){acc->base.v, (int32_t)acc->stride, HD_NONE,
                         core_of(ctx), synth_stores(self, ctx, warp)};
    if (acc->lane == NULL)
        return;
    a->lanes = tape.lanes;
    for (uint32_t i = 0; i < 32; i++)
        tape.lane[tape.lanes++] = acc->lane[i].v;
}

/* ---- page tables, as arrays ---------------------------------------------- */

/* Of the one allocation: frames of its pages, and for each level where the
 * table is that covers a page, divided by the bytes of a line. */
static struct {
    uint64_t first, pages;
    uint32_t *pfn;
    uint32_t *table[4]; /* [level][vpn's upper bits - those of the first] */
    uint64_t from[4];
} map;

static const unsigned LEVEL_SHIFT[4] = {36, 27, 18, 9};

/* Copies what the page tables of a run hold. */
static void read_map(heddle_sim *s, struct synth *y)
{
    struct hd_alloc a;
    struct hd_xlate x;
    hd_pa pte[4];

    synth_alloc(y, 0, &a);
    map.first = a.base.v >> HD_PAGE_SHIFT;
    map.pages = (a.bytes + HD_PAGE_BYTES - 1) >> HD_PAGE_SHIFT;
    map.pfn = malloc(map.pages * sizeof *map.pfn);
    for (int l = 0; l < 4; l++) {
        uint64_t n = map.first + map.pages - 1;
        map.from[l] = map.first >> LEVEL_SHIFT[l];
        n = (n >> LEVEL_SHIFT[l]) - map.from[l] + 1;
        map.table[l] = malloc(n * sizeof *map.table[l]);
    }
    for (uint64_t i = 0; i < map.pages; i++) {
        hd_vpn v = {map.first + i};
        if (!hd_ptables_find(s->tables, 0, v, &x) ||
            hd_ptables_walk(s->tables, 0, v, pte) != 4) {
            fprintf(stderr, "floor: 4 KB pages are expected\n");
            exit(1);
        }
        map.pfn[i] = (uint32_t)(x.pfn.v + (v.v - x.vpn.v));
        for (int l = 0; l < 4; l++)
            map.table[l][(v.v >> LEVEL_SHIFT[l]) - map.from[l]] =
                (uint32_t)(pte[l].v >> HD_PAGE_SHIFT << (HD_PAGE_SHIFT - 7));
    }
}

static void free_map(void)
{
    free(map.pfn);
    for (int l = 0; l < 4; l++)
        free(map.table[l]);
}

/* ---- the machine --------------------------------------------------------- */

enum { L1_SETS = 32, L2TLB_SETS = 32, L2_SETS = 1024, BANKS = 64 };

static struct {
    struct full l1tlb[CORES];
    uint32_t l1[CORES][L1_SETS][4]; /* lines, the most recent first */
    struct set l2tlb[L2TLB_SETS];
    uint32_t l2tlb_pfn[L2TLB_SETS][16];
    struct set l2[L2_SETS];
    uint16_t dirty[L2_SETS];
    uint32_t row[BANKS];
    uint64_t seen[512]; /* lines of a warp instruction, and its number */
    uint32_t seen_by;
    uint64_t lines, l1tlb_misses, l2tlb_misses, l1_misses, l2_misses, rows;
} m;

/* Pieces of two lines: channel, group, column, bank, row (address map B). */
static inline void dram(uint32_t line)
{
    uint32_t bank = (line >> 1 & 31) | (line >> 5 & 32), row = line >> 11;

    if (m.row[bank] != row) {
        m.row[bank] = row;
        m.rows++;
    }
}

/* The set of a line that the slices and sets of the machine give it. */
static inline void l2(uint32_t line, bool store)
{
    uint32_t at = line & (L2_SETS - 1);
    struct set *s = &m.l2[at];
    uint32_t way = set_use(s, line);

    if (way == NOWHERE) {
        uint32_t old = s->tag[s->order >> 60];
        m.l2_misses += !store;
        way = set_put(s, line);
        if (m.dirty[at] >> way & 1)
            dram(old);
        m.dirty[at] &= (uint16_t) ~(1u << way);
        if (!store)
            dram(line);
    }
    m.dirty[at] |= (uint16_t)((uint32_t)store << way);
}

/* The frame of a page. */
static inline uint32_t translate(uint32_t core, uint64_t vpn)
{
    uint32_t tag = (uint32_t)vpn, at = tag % L2TLB_SETS;
    uint32_t pfn = full_use(&m.l1tlb[core], tag), way;

    if (pfn != HD_NONE)
        return pfn;
    m.l1tlb_misses++;
    way = set_use(&m.l2tlb[at], tag);
    if (way != NOWHERE) {
        pfn = m.l2tlb_pfn[at][way];
    } else {
        m.l2tlb_misses++;
        for (int l = 0; l < 4; l++)
            l2(map.table[l][(vpn >> LEVEL_SHIFT[l]) - map.from[l]] +
                   (vpn >> (LEVEL_SHIFT[l] - 9) & 511) / 16,
               false);
        pfn = map.pfn[vpn - map.first];
        way = set_put(&m.l2tlb[at], tag);
        m.l2tlb_pfn[at][way] = pfn;
    }
    full_put(&m.l1tlb[core], tag, pfn);
    return pfn;
}

static inline void l1_load(uint32_t core, uint32_t line)
{
    uint32_t *k = m.l1[core][line % L1_SETS];
    uint32_t a = k[0], b = k[1], c = k[2], d = k[3];

    if (a == line)
        return;
    k[0] = line;
    k[1] = a;
    if (b == line)
        return;
    k[2] = b;
    if (c == line)
        return;
    k[3] = c;
    if (d == line)
        return;
    m.l1_misses++;
    l2(line, false);
}

/* A store drops the line from the L1. */
static inline void l1_store(uint32_t core, uint32_t line)
{
    uint32_t *k = m.l1[core][line % L1_SETS];

    for (uint32_t i = 0; i < 4; i++) {
        if (k[i] == line) {
            memmove(k + i, k + i + 1, (3 - i) * sizeof *k);
            k[3] = HD_NONE;
            break;
        }
    }
    l2(line, true);
}

static inline void use(const struct access *a, uint64_t line)
{
    uint32_t pfn = translate(a->core, line >> 5);
    uint32_t pa = pfn << 5 | (line & 31);

    m.lines++;
    if (a->store)
        l1_store(a->core, pa);
    else
        l1_load(a->core, pa);
}

/* 32 addresses: those lines that no lane before them has touched.  What was
 * seen is never cleared: it carries the number of its instruction. */
static inline void use_lanes(const struct access *a, const uint64_t *lane)
{
    enum { LINE_BITS = 48 - 7 };
    uint64_t now = (uint64_t)++m.seen_by << LINE_BITS;

    for (uint32_t k = 0; k < 32; k++) {
        uint64_t line = lane[k] >> 7, key = line | now;
        uint32_t h = (uint32_t)((line * 0x9e3779b97f4a7c15ull) >> 55);
        while (m.seen[h] >> LINE_BITS == now >> LINE_BITS && m.seen[h] != key)
            h = (h + 1) & 511;
        if (m.seen[h] == key)
            continue;
        m.seen[h] = key;
        use(a, line);
    }
}

static void replay(uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        const struct access *a = &tape.v[i];
        if (a->lanes != HD_NONE) {
            use_lanes(a, tape.lane + a->lanes);
        } else if (a->stride < 128) { /* lines side by side */
            uint64_t last = (a->base + (uint64_t)a->stride * 31) >> 7;
            for (uint64_t line = a->base >> 7; line <= last; line++)
                use(a, line);
        } else { /* a line for each lane */
            for (uint32_t k = 0; k < 32; k++)
                use(a, (a->base + (uint64_t)a->stride * k) >> 7);
        }
    }
}

static void floor_open(void)
{
    memset(&m, 0, sizeof m);
    memset(m.l1, 0xff, sizeof m.l1);
    memset(m.row, 0xff, sizeof m.row);
    for (uint32_t i = 0; i < CORES; i++)
        full_open(&m.l1tlb[i]);
    sets_open(m.l2tlb, L2TLB_SETS);
    sets_open(m.l2, L2_SETS);
}

/* The floor is written for one machine; settings of time may differ. */
static int same_machine(const struct hd_machine *k)
{
    return k->core.count == CORES && k->l1tlb.entries == 64 &&
           k->l1tlb.ways == 0 && k->l2tlb.entries == L2TLB_SETS * 16 &&
           k->l2tlb.ways == 16 && k->l1cache.bytes == L1_SETS * 4 * 128 &&
           k->l1cache.ways == 4 && k->l1cache.line == 128 &&
           k->l1cache.write == HD_WRITE_EVICT &&
           k->l2cache.bytes == L2_SETS * 16 * 128 && k->l2cache.ways == 16 &&
           k->l2cache.write == HD_WRITE_BACK && k->pwc.mode.kind == HD_OFF &&
           k->dram.channels * k->dram.banks == BANKS && k->vm.page == 0;
}

/* ---- both, in turns ----------------------------------------------------- */

struct least {
    double of[4096];
    uint32_t n;
};

static void least_add(struct least *l, uint32_t i, double t)
{
    if (i >= HD_LEN(l->of))
        return;
    if (i >= l->n) {
        l->of[i] = t;
        l->n = i + 1;
    }
    l->of[i] = t < l->of[i] ? t : l->of[i];
}

static double least_sum(const struct least *l)
{
    double sum = 0;

    for (uint32_t i = 0; i < l->n; i++)
        sum += l->of[i];
    return sum;
}

/* What both count, for every thousand lines.  The timing simulation sends a
 * miss on only once; what it merges into one in flight is not counted. */
struct misses {
    double l1tlb, walks, l1, dram, rows;
};

static double counter(const heddle_sim *s, const char *component,
                      const char *name)
{
    struct heddle_counter_info c = {.size = sizeof c};
    double sum = 0;

    for (uint32_t i = 0; heddle_counter(s, i, &c) == 0; i++)
        if (strcmp(c.component, component) == 0 && strcmp(c.name, name) == 0)
            for (uint32_t j = 0; j < c.instances; j++)
                for (uint32_t a = 0; a <= heddle_apps(s); a++)
                    sum += (double)heddle_counter_value(s, i, j, a);
    return sum;
}

static struct misses counted(const heddle_sim *s)
{
    double per = 1000 / counter(s, "core", "lines");

    return (struct misses){
        (counter(s, "l1tlb", "misses") - counter(s, "l1tlb", "merges")) * per,
        counter(s, "walk", "walks") * per,
        (counter(s, "l1cache", "read_misses") -
         counter(s, "l1cache", "read_merges")) *
            per,
        counter(s, "l2cache", "dram_reads") * per,
        counter(s, "dram", "activates") * per};
}

static struct misses replayed(void)
{
    double per = 1000 / (double)m.lines;

    return (struct misses){(double)m.l1tlb_misses * per,
                           (double)m.l2tlb_misses * per,
                           (double)m.l1_misses * per, (double)m.l2_misses * per,
                           (double)m.rows * per};
}

static void print_misses(const char *who, struct misses k)
{
    printf("    %-10s in 1000 lines: L1 TLB misses %5.1f  walks %5.1f  L1 "
           "misses %6.1f  DRAM reads %6.1f  rows opened %6.1f\n",
           who, k.l1tlb, k.walks, k.l1, k.dram, k.rows);
}

struct bench {
    heddle_config *c;
    heddle_workload *w;
    struct synth synth;
    uint64_t slice; /* cycles */
    struct least timing, floor;
    struct misses counted;
};

static void run_timing(struct bench *b, bool record)
{
    int status = HEDDLE_OK;
    heddle_sim *s = heddle_new(b->c, NULL, &b->w, 1, NULL);
    double t, u;

    if (s == NULL) {
        fprintf(stderr, "%s\n", heddle_config_error(b->c)->text);
        exit(1);
    }
    if (!same_machine(&s->m)) {
        fprintf(stderr, "floor: it knows the default machine only\n");
        exit(1);
    }
    tape.sim = s;
    tape.on = record;
    heddle_run(s, 1); /* maps the pages */
    if (record)
        read_map(s, &b->synth);
    t = cpu_seconds();
    for (uint32_t i = 0; status == HEDDLE_OK; i++) {
        status = heddle_run(s, b->slice);
        u = cpu_seconds();
        if (!record)
            least_add(&b->timing, i, u - t);
        t = u;
    }
    if (status != HEDDLE_DONE)
        fprintf(stderr, "%s\n", heddle_error(s)->text);
    b->slice = heddle_now(s) / SLICES + 1;
    b->counted = counted(s);
    heddle_free(s);
}

static void run_floor(struct bench *b)
{
    double t, u;

    floor_open();
    t = cpu_seconds();
    for (uint32_t i = 0; i < SLICES; i++) {
        replay((uint32_t)((uint64_t)tape.n * i / SLICES),
               (uint32_t)((uint64_t)tape.n * (i + 1) / SLICES));
        u = cpu_seconds();
        least_add(&b->floor, i, u - t);
        t = u;
    }
}

struct pattern {
    const char *name;
    enum synth_kind kind;
    uint32_t blocks, warps, steps;
    uint64_t pitch;
};

static void compare(const struct pattern *p, heddle_config *c, uint32_t turns,
                    const char *suffix)
{
    struct hd_source_ops ops = synth_ops;
    struct bench b = {.c = c, .slice = 1 << 20};

    b.w = synth_make(&b.synth, p->kind, p->blocks, p->steps);
    b.synth.warps = p->warps;
    b.synth.pitch = p->pitch;
    ops.access = recorded_access;
    b.synth.source.ops = &ops;
    tape.n = tape.lanes = 0;
    run_timing(&b, true);
    for (uint32_t i = 0; i < turns; i++) {
        run_timing(&b, false);
        run_floor(&b);
    }
    double timing = least_sum(&b.timing), floor = least_sum(&b.floor);
    char name[64];
    snprintf(name, sizeof name, "floor.%s%s", p->name, suffix);
    printf("%-22s %10.3f  %-18s %.1f ns a line with timing, %.1f at the "
           "floor; %llu lines\n",
           name, timing / floor, "times", timing * 1e9 / (double)m.lines,
           floor * 1e9 / (double)m.lines, (unsigned long long)m.lines);
    print_misses("timing:", b.counted);
    print_misses("the floor:", replayed());
    fflush(stdout);
    free_map();
}

int main(int argc, char **argv)
{
    static const struct pattern pattern[] = {
        {"stream", SYNTH_STREAM, 8960, 8, 1, 0},
        {"column", SYNTH_COLUMN, CORES, 2, 1024, SYNTH_PITCH},
        {"random", SYNTH_RANDOM, 320, 8, 4, 0},
        {"column16k", SYNTH_COLUMN, CORES, 2, 64, 16384}};
    heddle_config *c = heddle_config_new();
    const char *only = NULL, *suffix = "";
    uint32_t turns = TURNS;

    for (int i = 1; i < argc; i++) {
        char key[64] = "", *eq = strchr(argv[i], '=');
        if (eq == NULL) {
            only = argv[i];
            continue;
        }
        snprintf(key, sizeof key, "%.*s", (int)(eq - argv[i]), argv[i]);
        if (strcmp(key, "turns") == 0) {
            turns = (uint32_t)atoi(eq + 1);
        } else if (strcmp(key, "suffix") == 0) {
            suffix = eq + 1;
        } else if (heddle_config_set(c, key, eq + 1) != 0) {
            fprintf(stderr, "%s\n", heddle_config_error(c)->text);
            return 1;
        }
    }
    for (size_t i = 0; i < HD_LEN(pattern); i++)
        if (only == NULL || strcmp(only, pattern[i].name) == 0)
            compare(&pattern[i], c, turns, suffix);
    heddle_config_free(c);
    free(tape.v);
    free(tape.lane);
    return 0;
}
