/*
 * Pinned: what a store, an atomic and a fill do to a cache line under each
 * write policy; who owns a victim; what cache_insert may answer; notes;
 * refused settings; and the pool of miss registers against a naive twin.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <stdlib.h>

#include "kit/rng.h"
#include "memory/cache.h"
#include "memory/mshr.h"
#include "texts.h"

static struct memenv m;
static struct hd_cache c;
static uint64_t victim;
static uint32_t owner;

static struct hd_cache_cfg config(uint32_t write)
{
    struct hd_cache_cfg k = {
        .bytes = 1024, .ways = 2, .line = 128, .write = write};
    return k;
}

static void open_as(const char *at, uint32_t write)
{
    struct hd_cache_cfg k = config(write);

    memenv_open(&m, 2);
    assert_int_equal(hd_cache_open(&c, &m.env, &k, at, 0, k.bytes), 0);
    assert_int_equal(c.tags.sets, 4);
}

static bool fill(uint64_t line, bool dirty, uint32_t app)
{
    struct hd_who who = {app, 7};

    return hd_cache_fill(&c, line, HD_REQ_READ, 0, dirty, who, &victim, &owner);
}

static bool look(uint64_t line, uint32_t kind)
{
    struct hd_who who = {0, 7};

    return hd_cache_lookup(&c, line, kind, who);
}

static void stores(void **state)
{
    (void)state;
    open_as("l1cache", HD_WRITE_THROUGH);
    assert_false(look(4, HD_REQ_WRITE)); /* a missing line is not allocated */
    assert_false(hd_cache_peek(&c, 4));
    fill(4, false, 0);
    assert_true(look(4, HD_REQ_WRITE));
    assert_true(look(4, HD_REQ_READ));
    assert_int_equal(c.line[hd_cache_find(&c, 4)].dirty, 0);
    assert_true(look(4, HD_REQ_ATOMIC)); /* done at the L2: the copy is old */
    assert_false(hd_cache_peek(&c, 4));
    memenv_close(&m);

    open_as("l1cache", HD_WRITE_EVICT);
    fill(4, false, 0);
    assert_true(look(4, HD_REQ_WRITE));
    assert_false(hd_cache_peek(&c, 4));
    memenv_close(&m);

    open_as("l2cache", HD_WRITE_THROUGH);
    fill(4, false, 0);
    assert_true(look(4, HD_REQ_ATOMIC));
    assert_true(hd_cache_peek(&c, 4));
    memenv_close(&m);

    for (uint32_t kind = HD_REQ_WRITE; kind <= HD_REQ_ATOMIC; kind++) {
        open_as("l2cache", HD_WRITE_BACK);
        fill(4, false, 1);
        assert_true(look(4, kind));
        assert_false(fill(8, false, 0));
        assert_true(victim == HD_KEY_NONE);
        assert_true(fill(12, false, 0)); /* pushes the dirty line out */
        assert_true(victim == 4 && owner == 1);
        assert_false(fill(16, false, 0)); /* a clean one */
        assert_true(victim == 8);
        memenv_close(&m);
    }
}

static void fill_twice(void **state)
{
    (void)state;
    open_as("l2cache", HD_WRITE_BACK);
    assert_false(fill(4, false, 0));
    assert_false(fill(4, true, 0)); /* present: becomes dirty */
    assert_true(victim == HD_KEY_NONE);
    assert_false(fill(4, false, 0)); /* and stays so */
    fill(8, false, 0);
    assert_true(fill(12, false, 0));
    assert_true(victim == 4);
    assert_false(hd_cache_drop(&c, 8)); /* clean */
    assert_false(hd_cache_peek(&c, 8));
    assert_false(fill(16, false, 0));
    assert_true(victim == HD_KEY_NONE);
    memenv_close(&m);
}

/* The set of a dirty line that left must not stay dirty for the next. */
static void clean_newcomer(void **state)
{
    (void)state;
    open_as("l2cache", HD_WRITE_BACK);
    fill(4, true, 0);
    assert_true(hd_cache_drop(&c, 4)); /* its data must go somewhere */
    assert_false(hd_cache_drop(&c, 4));
    fill(8, false, 0);
    fill(12, false, 0);
    assert_false(fill(16, false, 0));
    assert_true(victim == 8);
    memenv_close(&m);
}

static int64_t insert_as;

static int64_t insert(void *self, const void *question)
{
    const struct heddle_q_cache_insert *q = question;

    (void)self;
    assert_int_equal(q->line, 8);
    assert_int_equal(q->warp, 7);
    return insert_as;
}

static void insertion(void **state)
{
    (void)state;
    for (insert_as = 0; insert_as < 3; insert_as++) {
        open_as("l2cache", HD_WRITE_BACK);
        fill(4, false, 0);
        c.insert = (struct hd_slot){insert, NULL, 1};
        hd_cache_bound(&c);
        /* a dirty newcomer that is declined goes straight to DRAM */
        assert_int_equal(fill(8, true, 1), insert_as == 1);
        if (insert_as == 1)
            assert_true(victim == 8 && owner == 1);
        c.insert.bound = 0;
        hd_cache_bound(&c);
        assert_int_equal(hd_cache_peek(&c, 8), insert_as != 1);
        assert_int_equal(fill(12, false, 0), insert_as == 2);
        assert_true(victim == (insert_as == 0   ? 4
                               : insert_as == 1 ? HD_KEY_NONE
                                                : 8));
        memenv_close(&m);
    }
}

static void refused(void **state)
{
    struct hd_cache_cfg k = config(HD_WRITE_BACK);

    (void)state;
    memenv_open(&m, 1);
    k.line = 96;
    assert_int_equal(hd_cache_open(&c, &m.env, &k, "l1cache", 0, 1024),
                     HEDDLE_ECONFIG);
    assert_text(m.err.text, "l1cache.line");
    hd_err_clear(&m.err);
    k = config(HD_WRITE_BACK);
    k.ways = 16; /* 1024 bytes are 8 lines */
    assert_int_equal(hd_cache_open(&c, &m.env, &k, "l2cache", 0, 1024),
                     HEDDLE_ECONFIG);
    assert_text(m.err.text, "l2cache.bytes");
    memenv_close(&m);
}

/* Every default is in its range, and the tables name each field once. */
static void settings(void **state)
{
    const struct hd_setting *t[] = {hd_rows_l1cache.settings,
                                    hd_rows_l2cache.settings};
    const uint32_t n[] = {hd_rows_l1cache.n, hd_rows_l2cache.n};

    (void)state;
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < n[k]; i++) {
            const struct hd_setting *s = &t[k][i];
            uint64_t v = strtoull(s->def, NULL, 10);

            if (s->type == HD_T_U32 || s->type == HD_T_U64)
                assert_true(v >= s->min && v <= s->max);
            assert_true(s->meaning[0] != '\0' && s->source[0] != '\0');
            for (uint32_t j = 0; j < i; j++)
                assert_true(t[k][j].offset != s->offset);
        }
    }
}

/* `room` registers against a list; keys come from three times as many. */
static void registers(uint32_t room)
{
    struct hd_mshr h;
    struct hd_rng r = hd_rng_make(4, room);
    uint64_t key[200];
    bool live[200] = {false};
    uint32_t n = 0;

    memenv_open(&m, 1);
    assert_int_equal(hd_mshr_open(&h, &m.arena, room, 0), 0);
    for (uint32_t i = 0; i < 100000; i++) {
        uint64_t k = hd_rng_below(&r, 3 * room);
        uint32_t e = hd_mshr_find(&h, k), want = HD_NONE;

        for (uint32_t j = 0; j < room; j++)
            if (live[j] && key[j] == k)
                want = j;
        assert_int_equal(e, want);
        assert_int_equal(hd_mshr_full(&h), n == room);
        assert_int_equal(hd_mshr_used(&h), n);
        if (e != HD_NONE && hd_rng_below(&r, 3) != 0) {
            hd_mshr_give(&h, e);
            live[e] = false;
            n--;
        } else if (e == HD_NONE && n < room) {
            e = hd_mshr_take(&h, k);
            assert_true(e < room && !live[e]);
            assert_true(h.v[e].key == k && h.v[e].n == 0);
            live[e] = true;
            key[e] = k;
            n++;
        }
        if (i % 100 == 0)
            assert_true(hd_mshr_sane(&h));
    }
    for (uint32_t j = 0; j < room; j++)
        if (live[j])
            hd_mshr_give(&h, j);
    assert_true(hd_mshr_sane(&h));
    /* the checker sees an entry in the wrong place */
    h.v[hd_mshr_take(&h, 1000)].key = 1;
    assert_false(hd_mshr_sane(&h));
    memenv_close(&m);
}

static void miss_registers(void **state)
{
    static const uint32_t room[] = {1, 13, 32, 64, 65, 200};

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(room); i++)
        registers(room[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores),         cmocka_unit_test(fill_twice),
        cmocka_unit_test(clean_newcomer), cmocka_unit_test(insertion),
        cmocka_unit_test(refused),        cmocka_unit_test(settings),
        cmocka_unit_test(miss_registers),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
