/*
 * Every policy of policies/ that has a C twin gives the same answers to the
 * same questions: random streams of replacement events (with `last` now and
 * then), ready sets, DRAM candidates, epochs, pages on the host, units that may
 * leave memory, programs by class, faults of cores, runs of pages, and frames,
 * asked of two machines of slots.  And a partition of the cores gives each
 * application those that it should have.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy-lua.h"

#include "kit/bits.h"
#include "kit/rng.h"

enum { EVENTS = 60000, BANKS = 4 };

struct log {
    uint32_t n, room;
    int64_t *v;
};

static void keep(struct log *l, int64_t answer)
{
    if (l->n == l->room) {
        l->room = 2 * l->room + 1024;
        l->v = realloc(l->v, l->room * sizeof *l->v);
    }
    l->v[l->n++] = answer;
}

typedef void stream(struct log *l);

/* A machine with a policy, driven by a stream. */
static struct log play(const char *policy, const char *options, stream *drive)
{
    struct log l = {0, 0, NULL};
    lua_State *L = lua_machine();
    char script[256];
    const char *e;

    snprintf(script, sizeof script, "policy.use(nil, '%s', %s)", policy,
             options);
    e = lua_do(L, script);
    assert_string_equal(e ? e : "", "");
    drive(&l);
    assert_string_equal(fake->err.text, "");
    lua_end(L);
    return l;
}

static void compare_as(const char *name, const char *file, const char *options,
                       stream *drive, uint32_t least)
{
    struct log c = play(name, options, drive), lua = play(file, options, drive);

    assert_true(c.n >= least);
    assert_int_equal(c.n, lua.n);
    assert_memory_equal(c.v, lua.v, c.n * sizeof *c.v);
    free(c.v);
    free(lua.v);
}

static void compare(const char *name, const char *options, stream *drive,
                    uint32_t least)
{
    char file[64];

    snprintf(file, sizeof file, "policies/%s.lua", name);
    compare_as(name, file, options, drive, least);
}

/* ---- replacement ------------------------------------------------------- */

struct cache {
    uint64_t key[FAKE_SETS][FAKE_WAYS]; /* 0: invalid */
};

static void tell(enum heddle_note note, uint64_t set, uint64_t way,
                 uint64_t key, uint64_t last)
{
    struct heddle_n_repl_touch n = {.set = set,
                                    .way = way,
                                    .ways = FAKE_WAYS,
                                    .key = key,
                                    .app = key & 1,
                                    .warp = 3,
                                    .last = last};

    fake_tell(fake, note, "l1tlb", &n);
}

static uint64_t find_way(struct cache *c, uint64_t set, struct log *l)
{
    struct heddle_q_repl_victim q = {
        .set = set, .ways = FAKE_WAYS, .key = 99, .to = FAKE_WAYS - 1};
    uint64_t w;

    for (w = 0; w < FAKE_WAYS; w++)
        if (c->key[set][w] == 0)
            return w;
    w = (uint64_t)fake_ask(fake, HEDDLE_POINT_repl_victim, &q);
    keep(l, (int64_t)w);
    tell(HEDDLE_NOTE_repl_gone, set, w, c->key[set][w], 0);
    return w;
}

static void replacement(struct log *l)
{
    struct hd_rng r = hd_rng_make(7, 1);
    struct cache c;

    memset(&c, 0, sizeof c);
    for (int i = 0; i < EVENTS; i++) {
        uint64_t set = hd_rng_below(&r, FAKE_SETS), w;
        uint64_t key = 1 + hd_rng_below(&r, 9);
        uint32_t dice = hd_rng_below(&r, 100);

        for (w = 0; w < FAKE_WAYS && c.key[set][w] != key; w++)
            ;
        if (w < FAKE_WAYS && dice < 5) {
            c.key[set][w] = 0;
            tell(HEDDLE_NOTE_repl_gone, set, w, key, 0);
        } else if (w < FAKE_WAYS) {
            tell(HEDDLE_NOTE_repl_touch, set, w, key, 0);
        } else {
            w = find_way(&c, set, l);
            c.key[set][w] = key;
            tell(HEDDLE_NOTE_repl_fill, set, w, key, dice < 15);
        }
    }
}

static void lru(void **state)
{
    (void)state;
    compare("lru", "{ at = 'l1tlb' }", replacement, 10000);
}

static void fifo(void **state)
{
    (void)state;
    compare("fifo", "{ at = 'l1tlb' }", replacement, 10000);
}

static void random_(void **state)
{
    (void)state;
    compare("random", "{ at = 'l1tlb' }", replacement, 10000);
}

static void srrip(void **state)
{
    (void)state;
    compare("srrip", "{ at = 'l1tlb' }", replacement, 10000);
    compare("srrip", "{ at = 'l1tlb', bits = 1 }", replacement, 10000);
    compare("srrip", "{ at = 'l1tlb', bits = 8 }", replacement, 10000);
    compare("srrip", "{}", replacement, 10000);
}

/* ---- warps --------------------------------------------------------------- */

static void warps(struct log *l)
{
    struct hd_rng r = hd_rng_make(9, 2);
    uint64_t age[64], last = 64;

    for (int w = 0; w < 64; w++)
        age[w] = hd_rng_next(&r) & 0xffff;
    for (int i = 0; i < 20000; i++) {
        struct heddle_q_warp_pick q = {
            .core = 1, .last = last, .n = 64, .age = age};
        /* dense, sparse, and single sets */
        q.ready = hd_rng_next(&r);
        if (i % 3 == 1)
            q.ready &= hd_rng_next(&r) & hd_rng_next(&r);
        if (i % 3 == 2 || q.ready == 0)
            q.ready = 1ull << hd_rng_below(&r, 64);
        q.oldest = hd_bit_first(q.ready);
        for (uint64_t m = q.ready; m; m &= m - 1)
            if (age[hd_bit_first(m)] < age[q.oldest])
                q.oldest = hd_bit_first(m);
        last = (uint64_t)fake_ask(fake, HEDDLE_POINT_warp_pick, &q);
        keep(l, (int64_t)last);
        last &= 63;
        if (i % 50 == 0)
            last = 64;
    }
}

static void gto(void **state)
{
    (void)state;
    compare("gto", "{}", warps, 20000);
}

static void lrr(void **state)
{
    (void)state;
    compare("lrr", "{}", warps, 20000);
}

/* ---- DRAM ---------------------------------------------------------------- */

static void candidates(struct log *l)
{
    struct hd_rng r = hd_rng_make(11, 3);
    uint64_t bank[16], row[16], hit[16], ready[16], arrived[16], app[16],
        klass[16], write[16];

    for (int i = 0; i < 20000; i++) {
        struct heddle_q_dram_pick q = {.cycle = 100 + (uint64_t)i,
                                       .bank = bank,
                                       .row = row,
                                       .hit = hit,
                                       .ready = ready,
                                       .arrived = arrived,
                                       .app = app,
                                       .klass = klass,
                                       .write = write};
        uint64_t n = 0;

        for (uint64_t b = 0; b < BANKS; b++) {
            uint32_t kind = hd_rng_below(&r, 4); /* none, hit, other, both */
            for (uint32_t k = 1; k <= 2; k++) {
                if (!(kind & k))
                    continue;
                bank[n] = b;
                row[n] = hd_rng_below(&r, 8);
                hit[n] = k == 1;
                ready[n] = q.cycle - 3 + hd_rng_below(&r, 6);
                arrived[n] = hd_rng_below(&r, 1000) * 16 + n;
                app[n] = 0;
                klass[n] = i % 2 ? 0 : hd_rng_below(&r, 3);
                write[n] = hd_rng_below(&r, 2);
                n++;
            }
        }
        q.n = n;
        if (n > 1)
            keep(l, fake_ask(fake, HEDDLE_POINT_dram_pick, &q));
    }
}

static void frfcfs(void **state)
{
    (void)state;
    compare("frfcfs", "{}", candidates, 15000);
}

/* ---- shares of the machine ----------------------------------------------- */

static void epochs(struct log *l)
{
    struct hd_rng r = hd_rng_make(13, 4);
    uint64_t has[FAKE_APPS] = {0};

    for (uint64_t i = 0; i < 20000; i++) {
        struct heddle_q_tokens q = {.app = i % FAKE_APPS,
                                    .warps = 1 + hd_rng_below(&r, 200),
                                    .lookups = hd_rng_below(&r, 5000),
                                    .epoch = 1 + i / FAKE_APPS};
        q.misses = q.lookups ? hd_rng_below(&r, (uint32_t)q.lookups) : 0;
        if (i % 5 == 0)
            q.lookups = q.misses = 0;
        q.tokens = hd_min_u64(has[q.app], q.warps);
        has[q.app] = (uint64_t)fake_ask(fake, HEDDLE_POINT_tokens, &q);
        keep(l, (int64_t)has[q.app]);
    }
}

static void mask(void **state)
{
    (void)state;
    compare_as("mask", "policies/mask-asked.lua", "{ bypass = 0 }", epochs,
               20000);
    compare_as("mask", "policies/mask-asked.lua",
               "{ bypass = 0, token_rule = 'hillclimb', band = 7, step = 3, "
               "initial = 33 }",
               epochs, 20000);
    compare_as("mask", "policies/mask-asked.lua", "{ bypass = 0, tokens = 0 }",
               epochs, 20000);
}

/* ---- cores ----------------------------------------------------------------
 */

static void cores(struct log *l)
{
    for (uint64_t c = 0; c < FAKE_CORES; c++) {
        struct heddle_q_core_partition q = {
            .core = c, .cores = FAKE_CORES, .apps = FAKE_APPS};
        keep(l, fake_ask(fake, HEDDLE_POINT_core_partition, &q));
    }
}

static void partitions(void **state)
{
    static const struct {
        const char *options;
        int64_t owner[FAKE_CORES];
    } want[] = {
        {"{}", {0, 1, 1}},
        {"{ app0 = 1 }", {0, 1, 1}},
        {"{ app0 = 2 }", {0, 0, 1}},
        {"{ app0 = 3 }", {0, 0, 0}},
        {"{ app1 = 1 }", {0, 0, 1}},
        {"{ app1 = 2 }", {0, 1, 1}},
        {"{ app1 = 3 }", {1, 1, 1}},
        {"{ app0 = 1, app1 = 1 }", {0, 1, 1}},
        {"{ app0 = 1, app1 = 2 }", {0, 1, 1}},
        {"{ app0 = 2, app1 = 1 }", {0, 0, 1}},
    };

    (void)state;
    for (size_t i = 0; i < HD_LEN(want); i++) {
        struct log c = play("cores", want[i].options, cores);

        assert_memory_equal(c.v, want[i].owner, sizeof want[i].owner);
        free(c.v);
        compare("cores", want[i].options, cores, FAKE_CORES);
    }
}

/* ---- pages on the host ----------------------------------------------------
 */

static void granules(struct log *l)
{
    struct hd_rng r = hd_rng_make(17, 5);

    for (int i = 0; i < 20000; i++) {
        struct heddle_q_migrate q = {.pages = 16,
                                     .writes = hd_rng_below(&r, 8) == 0,
                                     .accesses = hd_rng_below(&r, 40),
                                     .trips = hd_rng_below(&r, 5),
                                     .frames = 1 + hd_rng_below(&r, 1000),
                                     .evicted = hd_rng_below(&r, 2),
                                     .most = 65536};
        q.free = hd_rng_below(&r, (uint32_t)q.frames + 1);
        keep(l, fake_ask(fake, HEDDLE_POINT_migrate, &q));
    }
}

static void delayed(void **state)
{
    (void)state;
    compare("delayed", "{}", granules, 20000);
    compare("delayed", "{ td = 1 }", granules, 20000);
    compare("delayed", "{ adapt = 1 }", granules, 20000);
    compare("delayed", "{ td = 3, adapt = 1, penalty = 7 }", granules, 20000);
    compare("delayed", "{ td = 65535, adapt = 1, penalty = 1000 }", granules,
            20000);
}

/* ---- pages that leave memory ---------------------------------------------
 */

static void units(struct log *l)
{
    enum { MOST = 9 };
    struct hd_rng r = hd_rng_make(19, 6);
    uint64_t of[7][MOST];

    for (int i = 0; i < 20000; i++) {
        struct heddle_q_evict_victim q = {.waiting = hd_rng_below(&r, 2),
                                          .n = 1 + hd_rng_below(&r, MOST),
                                          .app = of[0],
                                          .vpn = of[1],
                                          .pages = of[2],
                                          .dirty = of[3],
                                          .accesses = of[4],
                                          .migrated = of[5],
                                          .accessed = of[6]};
        for (size_t k = 0; k < HD_LEN(of); k++)
            for (uint64_t j = 0; j < q.n; j++)
                of[k][j] = hd_rng_below(&r, k == 0 ? FAKE_APPS : 6);
        keep(l, fake_ask(fake, HEDDLE_POINT_evict_victim, &q));
    }
}

static void victims(void **state)
{
    (void)state;
    compare("lru_accessed", "{}", units, 20000);
    compare("lfu", "{}", units, 20000);
    compare("random_unit", "{}", units, 20000);
}

/* What ETC asks: classes first, then one more now and then. */
static void classes(struct log *l)
{
    static const uint64_t lanes[] = {1, 10, 128}, frames[] = {1, 512, 5000};
    struct hd_rng r = hd_rng_make(23, 7);
    uint64_t is[FAKE_APPS];

    for (uint64_t i = 0; i < 4000; i++) {
        uint64_t app = hd_rng_below(&r, FAKE_APPS);
        struct heddle_q_app_classify a = {.lines = hd_rng_below(&r, 4)};
        struct heddle_q_evict_trigger b = {
            .frames = 9000, .unit = 16, .waiting = hd_rng_below(&r, 4) == 0};
        struct heddle_q_page_compress c = {.bytes = 512, .frames = 9000};

        b.app = app;
        b.cause = b.waiting ? HEDDLE_EVICT_CAUSE_WAITING : hd_rng_below(&r, 2);
        b.capacity = c.capacity = 9000 + hd_rng_below(&r, 2) * 1000;
        /* memory holds all in the first half of the run */
        b.allocated = c.allocated =
            9000 + (i > 2000 ? hd_rng_below(&r, 2) : 0) + 500 * (i > 3000);
        b.free = frames[hd_rng_below(&r, 3)] - hd_rng_below(&r, 2);
        if (a.lines > 0)
            a.lanes =
                a.lines * lanes[hd_rng_below(&r, 3)] - 1 + hd_rng_below(&r, 3);
        if (i < FAKE_APPS || hd_rng_below(&r, 4) == 0) {
            app = i < FAKE_APPS ? i : app;
            a.app = app;
            is[app] = (uint64_t)fake_ask(fake, HEDDLE_POINT_app_classify, &a);
            keep(l, (int64_t)is[app]);
        }
        if (i < FAKE_APPS)
            continue;
        c.app = app;
        c.is = is[app];
        keep(l, fake_ask(fake, HEDDLE_POINT_evict_trigger, &b));
        keep(l, fake_ask(fake, HEDDLE_POINT_page_compress, &c));
    }
}

static void etc(void **state)
{
    static const char *const options[] = {
        "sharing = 1, threshold = 1",
        "sharing = 2, threshold = 128",
        "free_bytes = 4096",
        "classes = 1",
        "classes = 2",
        "classes = 3",
        "classes = 4",
        "classes = 10",
        "classes = 20",
        "classes = 30",
        "classes = 13",
        "classes = 932",
    };

    (void)state;
    compare("etc", "{}", classes, 4000);
    for (size_t i = 0; i < HD_LEN(options); i++) {
        char all[64];

        snprintf(all, sizeof all, "{ %s }", options[i]);
        compare("etc", all, classes, 4000);
    }
}

/* ---- cores that stop ------------------------------------------------------
 */

static void stops(struct log *l)
{
    static const uint64_t n[FAKE_APPS] = {5, 64};
    struct hd_rng r = hd_rng_make(29, 8);
    uint64_t core[64] = {0}, runs[FAKE_APPS] = {hd_ones(5), hd_ones(64)};

    for (int i = 0; i < 4000; i++) {
        static const uint8_t cause[] = {
            HEDDLE_THROTTLE_CAUSE_LAUNCH, HEDDLE_THROTTLE_CAUSE_PLACED,
            HEDDLE_THROTTLE_CAUSE_EPOCH,  HEDDLE_THROTTLE_CAUSE_EPOCH,
            HEDDLE_THROTTLE_CAUSE_FAULT,  HEDDLE_THROTTLE_CAUSE_SERVED};
        uint64_t app = hd_rng_below(&r, FAKE_APPS);
        struct heddle_q_core_throttle q = {
            .app = app,
            .cause = cause[hd_rng_below(&r, HD_LEN(cause))],
            .by = n[app],
            .blocks = hd_rng_below(&r, 2 * (uint32_t)n[app]),
            .is =
                i % 16 < 12 ? HEDDLE_APP_CLASS_IRREGULAR : hd_rng_below(&r, 4),
            .n = n[app],
            .core = core,
            .resident = core,
            .faults = core,
            .allocated = 9000 + hd_rng_below(&r, 32),
            .frames = 9000,
            .capacity = 9000};

        if (q.cause == HEDDLE_THROTTLE_CAUSE_FAULT ||
            q.cause == HEDDLE_THROTTLE_CAUSE_SERVED)
            q.by = hd_rng_below(&r, (uint32_t)q.n) % 6;
        if (q.by < q.n)
            q.vpn = 1 + hd_rng_below(&r, 2);
        if (q.cause == HEDDLE_THROTTLE_CAUSE_SERVED)
            q.evicted = hd_rng_below(&r, 4) == 0;
        /* a throttled core had to resume */
        if (hd_rng_below(&r, 8) == 0)
            runs[app] |= 1ull << hd_rng_below(&r, (uint32_t)q.n);
        q.running = runs[app];
        if (hd_rng_below(&r, 4) == 0) {
            struct heddle_n_page_evicted x = {.app = app};
            hd_slots_note(&fake->slots, HEDDLE_NOTE_page_evicted, &x);
        }
        runs[app] = (uint64_t)fake_ask(fake, HEDDLE_POINT_core_throttle, &q);
        keep(l, (int64_t)runs[app]);
    }
}

static void throttle(void **state)
{
    static const char *const options[] = {
        "",
        "share = 1",
        "share = 67, detect = 1, execute = 1",
        "detect = 2, execute = 3, step = 3, release = 2",
        "detect = 1, execute = 2, step = 64, release = 64",
    };

    (void)state;
    for (int mode = 0; mode < 8; mode++)
        for (size_t i = 0; i < HD_LEN(options); i++) {
            char all[128];

            snprintf(all, sizeof all,
                     "{ adapt = %d, hold = %d, irregular = %d, %s }", mode & 1,
                     mode >> 1 & 1, mode >> 2, options[i]);
            compare("throttle", all, stops, 4000);
        }
}

/* ---- entries of several pages, and frames in runs -------------------------
 */

/* What is left to the default shows in its count. */
static void keep_with(struct log *l, enum heddle_point p, const void *q)
{
    keep(l, fake_ask(fake, p, q));
    keep(l, fake->defaults[p]);
}

static void groups(struct log *l)
{
    struct hd_rng r = hd_rng_make(31, 9);

    for (int i = 0; i < 5000; i++) {
        struct heddle_q_tlb_merge q = {.level = 1 + hd_rng_below(&r, 2),
                                       .cause = hd_rng_below(&r, 2),
                                       .page_pages = 1,
                                       .run_first = hd_rng_below(&r, 12),
                                       .run_frame = hd_rng_below(&r, 12),
                                       .run_pages = 1 + hd_rng_below(&r, 8)};
        q.vpn = q.run_first;
        keep_with(l, HEDDLE_POINT_tlb_merge, &q);
    }
}

static void colt(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++)
        for (int aligned = 0; aligned < 6; aligned++) {
            char options[64];

            snprintf(options, sizeof options, "{ full = %d, aligned = %d }",
                     full, aligned);
            compare("colt", options, groups, 10000);
        }
}

static void frames(struct log *l)
{
    struct hd_rng r = hd_rng_make(37, 10);

    for (uint64_t i = 0; i < 6000; i++) {
        uint64_t x = hd_rng_below(&r, FAKE_FRAMES),
                 n = 1 + hd_rng_below(&r, 40);
        uint64_t end = hd_min_u64(x + n, FAKE_FRAMES);

        switch (hd_rng_below(&r, 8)) {
        case 0:
            for (; x < end; x++) {
                struct heddle_n_page_freed f = {.frame = x};
                hd_slots_note(&fake->slots, HEDDLE_NOTE_page_freed, &f);
            }
            break;
        case 1: {
            struct heddle_n_page_moved f = {
                .frame = x, .to = hd_rng_below(&r, FAKE_FRAMES)};
            hd_slots_note(&fake->slots, HEDDLE_NOTE_page_moved, &f);
            break;
        }
        case 2: {
            struct heddle_n_frames_taken f = {.frame = x, .frames = end - x};
            hd_slots_note(&fake->slots, HEDDLE_NOTE_frames_taken, &f);
            break;
        }
        case 3: {
            struct heddle_q_page_size s = {.pages = 512, .free_frames = 99};
            keep_with(l, HEDDLE_POINT_page_size, &s);
            break;
        }
        default: {
            struct heddle_q_frame_place q = {
                .app = hd_rng_below(&r, FAKE_APPS),
                .pages = hd_rng_below(&r, 16) == 0 ? 16 : 1,
                .next = x,
                .frames = FAKE_FRAMES};
            keep_with(l, HEDDLE_POINT_frame_place, &q);
        }
        }
    }
}

static void runs(void **state)
{
    (void)state;
    compare("runs", "{}", frames, 6000);
    compare("runs", "{ broken = 0 }", frames, 6000);
    compare("runs", "{ broken = 930 }", frames, 6000);
    compare("runs", "{ broken = 1000 }", frames, 6000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delayed),  cmocka_unit_test(partitions),
        cmocka_unit_test(lru),      cmocka_unit_test(fifo),
        cmocka_unit_test(random_),  cmocka_unit_test(srrip),
        cmocka_unit_test(gto),      cmocka_unit_test(lrr),
        cmocka_unit_test(frfcfs),   cmocka_unit_test(mask),
        cmocka_unit_test(victims),  cmocka_unit_test(etc),
        cmocka_unit_test(throttle), cmocka_unit_test(colt),
        cmocka_unit_test(runs),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
