/*
 * Pinned: the array of tags behind every TLB and cache is an exact LRU, for
 * fully associative, set-associative and odd geometries.  The twin keeps each
 * set as a list in order of use and does everything by linear search; after
 * every operation hits, entries evicted and LRU depths must be the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <stdlib.h>

#include "kit/rng.h"
#include "memory/assoc.h"

static const struct hd_who none = {0, 0xffff};

struct twin {
    uint32_t sets, ways;
    uint64_t *key; /* [set][place]: most recent first */
    uint32_t *n;
};

static void twin_open(struct twin *t, uint32_t sets, uint32_t ways)
{
    t->sets = sets;
    t->ways = ways;
    t->key = calloc((size_t)sets * ways, sizeof *t->key);
    t->n = calloc(sets, sizeof *t->n);
}

static void twin_close(struct twin *t)
{
    free(t->key);
    free(t->n);
}

static int twin_find(const struct twin *t, uint32_t set, uint64_t key)
{
    for (uint32_t i = 0; i < t->n[set]; i++)
        if (t->key[set * t->ways + i] == key)
            return (int)i;
    return -1;
}

static void twin_remove(struct twin *t, uint32_t set, int at)
{
    uint64_t *k = t->key + (size_t)set * t->ways;

    memmove(k + at, k + at + 1, (t->n[set] - (unsigned)at - 1) * sizeof *k);
    t->n[set]--;
}

/* Returns the key that left. */
static uint64_t twin_insert(struct twin *t, uint32_t set, uint64_t key,
                            bool last)
{
    uint64_t *k = t->key + (size_t)set * t->ways, gone = HD_KEY_NONE;

    if (t->n[set] == t->ways)
        gone = k[--t->n[set]];
    if (last) {
        k[t->n[set]] = key;
    } else {
        memmove(k + 1, k, t->n[set] * sizeof *k);
        k[0] = key;
    }
    t->n[set]++;
    return gone;
}

/* The key that a narrow set keeps next to its order is that of the way used
 * last, or none where that is invalid. */
static void check_recent(const struct hd_assoc *a, uint32_t set)
{
    if (a->set != NULL)
        assert_true(a->set[set].recent ==
                    a->key[set * a->ways + (a->set[set].order & 15)]);
}

/* Random accesses, drops and insertions at the end; returns the hits. */
static uint64_t drive(uint32_t sets, uint32_t ways, uint32_t keys, uint32_t n,
                      bool mixed)
{
    struct memenv m;
    struct hd_env *env = memenv_open(&m, 1);
    struct hd_assoc a;
    struct twin t;
    struct hd_rng r = hd_rng_make(sets * 131 + ways, keys);
    uint64_t hits = 0;

    assert_int_equal(hd_assoc_open(&a, env, "l2cache", 0, sets, ways), 0);
    twin_open(&t, sets, ways);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t x = hd_rng_next(&r), key = x % keys * 0x10001, gone, want;
        uint32_t set = (uint32_t)(key % sets), what = (x >> 40) % 64;
        uint32_t e = hd_assoc_find(&a, set, key);
        int at = twin_find(&t, set, key);

        check_recent(&a, set);
        assert_int_equal(e != HD_NONE, at >= 0);
        if (at >= 0) {
            assert_int_equal(a.key[e], key);
            assert_int_equal(e / ways, set);
            if (i % 16 == 0)
                assert_int_equal(hd_assoc_depth(&a, e), at);
            if (mixed && what == 0) {
                hd_assoc_drop(&a, e);
                twin_remove(&t, set, at);
                continue;
            }
            hits++;
            hd_assoc_touch(&a, e, none);
            twin_remove(&t, set, at);
            twin_insert(&t, set, key, false);
            continue;
        }
        if (mixed && what < 8)
            hd_assoc_place_last(&a, set, key, none, &gone);
        else
            hd_assoc_place(&a, set, key, none, &gone);
        want = twin_insert(&t, set, key, mixed && what < 8);
        assert_true(gone == want);
        assert_int_equal(hd_assoc_valid(&a, set), t.n[set]);
    }
    twin_close(&t);
    memenv_close(&m);
    return hits;
}

static const struct {
    uint32_t sets, ways, keys;
} geometry[] = {
    {1, 1, 3},     {1, 16, 24},     {9, 17, 200},  {9, 15, 200},
    {6, 2, 20},    {1, 32, 48},     {1, 33, 60},   {1, 64, 90},
    {1, 512, 700}, {1, 4096, 5000}, {32, 16, 700}, {85, 16, 2000},
    {7, 3, 30},    {12, 40, 700},   {128, 4, 700}, {1000, 1, 2000},
    {3, 9, 40},    {5, 64, 500},    {1, 8, 12},
};

static void reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < HD_LEN(geometry); i++) {
        uint64_t hits = drive(geometry[i].sets, geometry[i].ways,
                              geometry[i].keys, 100000, false);
        assert_true(hits > 10000 && hits < 100000);
    }
}

static void a_million(void **state)
{
    (void)state;
    assert_true(drive(1, 64, 80, 1000000, false) > 0);
    assert_true(drive(85, 16, 1700, 1000000, false) > 0);
}

/* Wide sets whose links have 16 bits, nearly all of them, and 32. */
static void many_entries(void **state)
{
    (void)state;
    for (uint32_t mixed = 0; mixed < 2; mixed++) {
        assert_true(drive(3640, 17, 80000, 400000, mixed) > 0);
        assert_true(drive(4000, 17, 88000, 400000, mixed) > 0);
    }
}

static void drops_and_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < HD_LEN(geometry); i++)
        drive(geometry[i].sets, geometry[i].ways, geometry[i].keys, 100000,
              true);
}

/* A set that is not full takes the lowest invalid way. */
static void lowest_way_first(void **state)
{
    static const uint32_t ways[] = {5, 16, 100};

    (void)state;
    for (size_t i = 0; i < HD_LEN(ways); i++) {
        struct memenv m;
        struct hd_env *env = memenv_open(&m, 1);
        struct hd_assoc a;
        uint64_t gone;

        hd_assoc_open(&a, env, "l1tlb", 0, 3, ways[i]);
        for (uint32_t w = 0; w < ways[i]; w++)
            assert_int_equal(hd_assoc_place(&a, 2, w, none, &gone),
                             2 * ways[i] + w);
        hd_assoc_drop(&a, 2 * ways[i] + 4);
        hd_assoc_drop(&a, 2 * ways[i] + 1);
        hd_assoc_drop(&a, 2 * ways[i] + 1); /* again: nothing happens */
        assert_int_equal(hd_assoc_place(&a, 2, 1000, none, &gone),
                         2 * ways[i] + 1);
        assert_true(gone == HD_KEY_NONE);
        assert_int_equal(hd_assoc_place(&a, 2, 1001, none, &gone),
                         2 * ways[i] + 4);
        assert_true(gone == HD_KEY_NONE);
        hd_assoc_place(&a, 2, 1002, none, &gone);
        assert_true(gone == 0); /* key 0 was the oldest */
        memenv_close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(a_million),
        cmocka_unit_test(many_entries),
        cmocka_unit_test(drops_and_ends),
        cmocka_unit_test(lowest_way_first),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
