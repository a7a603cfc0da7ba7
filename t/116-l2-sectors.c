/*
 * Pinned: a slice of the L2 whose lines have sectors: which sectors are read
 * from DRAM, when they are there ("not yet" and "now"), which requests wait for
 * them; stores that fetch nothing, and what of a line is written back; random
 * requests lose nothing.  The masks of a line are those of a naive twin, which
 * keeps each byte.
 *
 * An L2 cycle is 2 ticks.  A request sent at 0 is looked up at 16.  A read of
 * DRAM takes 50 ticks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2rig.h"

enum { LINE = 128, SECTOR = 32, SET = 4 * LINE };

static struct rig *start(void)
{
    struct rig *g = malloc(sizeof *g);

    rig_init(g);
    g->cache.sector_bytes = SECTOR;
    return g;
}

static void stop(struct rig *g)
{
    rig_finish(g);
    rig_close(g);
    free(g);
}

static uint64_t sectors(struct rig *g, const char *name)
{
    const struct hd_stat *s = &g->l2->sector.stat;
    uint64_t sum = 0;
    uint32_t k = 0;

    while (strcmp(hd_rows_l2sector.counters[k].name, name) != 0)
        assert_true(++k < hd_rows_l2sector.counter_count);
    for (uint32_t i = 0; i < s->instances; i++)
        for (uint32_t a = 0; a < s->apps; a++)
            sum += *hd_count(s, i, a == s->apps - 1 ? HD_APP_NONE : a, k);
    return sum;
}

/* A store to so many bytes of one line, as an L1 sends it. */
static void store(struct rig *g, hd_time at, uint64_t pa, uint32_t bytes)
{
    uint32_t lo = pa % LINE, whole, asked;
    uint32_t r = rig_at(g, at, HD_REQ_WRITE, pa, bytes, 0);
    struct hd_bytemask *b = &g->reqs.written[r];

    *b = (struct hd_bytemask){{0, 0}};
    hd_bytemask_add(b, lo, lo + bytes - 1);
    asked = hd_sectors_of(b, 5, &whole);
    hd_sectors_ask(&g->reqs.v[r], asked, whole);
    g->reqs.v[r].flags = HD_REQ_SECTORS;
    g->reqs.v[r].bytes = (uint16_t)(hd_bit_count(asked) * SECTOR);
}

static void is_sent(const struct rig *g, uint32_t i, hd_time at, uint64_t pa,
                    uint32_t bytes, uint32_t kind)
{
    assert_true(i < g->sends);
    assert_int_equal(g->sent[i].at, at);
    assert_int_equal(g->sent[i].pa, pa);
    assert_int_equal(g->sent[i].bytes, bytes);
    assert_int_equal(g->sent[i].kind, kind);
}

static void miss_and_hit(void **state)
{
    struct rig *g = start();

    (void)state;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, 0, 32, 1);
    rig_at(g, 100, HD_REQ_READ, 32, 32, 2); /* its line, another sector */
    rig_at(g, 200, HD_REQ_READ, 0, 64, 3);
    rig_at(g, 300, HD_REQ_READ, 0, 128, 4);
    rig_until(g, 15);
    assert_int_equal(g->sends, 0);
    rig_until(g, 16);
    is_sent(g, 0, 16, 0, 32, HD_REQ_READ);
    rig_until(g, 65);
    assert_int_equal(g->answers, 0);
    assert_int_equal(g->l2->slice[0].s->sectors, 1);
    rig_until(g, 66);
    assert_int_equal(rig_when(g, 1), 66);
    assert_int_equal(g->l2->slice[0].s->sectors, 0);
    rig_until(g, 165);
    is_sent(g, 1, 116, 32, 32, HD_REQ_READ);
    assert_int_equal(g->answers, 1);
    rig_until(g, 166);
    assert_int_equal(rig_when(g, 2), 166);
    rig_until(g, 299);
    assert_int_equal(rig_when(g, 3), 216);
    assert_int_equal(g->sends, 2);
    rig_finish(g);
    is_sent(g, 2, 316, 64, 64, HD_REQ_READ); /* the other half */
    assert_int_equal(rig_when(g, 4), 366);
    assert_int_equal(rig_count(g, "read_lookups"), 4);
    assert_int_equal(rig_count(g, "read_hits"), 1);
    assert_int_equal(rig_count(g, "read_misses"), 3);
    assert_int_equal(rig_count(g, "fills"), 1);
    assert_int_equal(sectors(g, "reads"), 1 + 1 + 2 + 4);
    assert_int_equal(sectors(g, "read_hits"), 2 + 2);
    assert_int_equal(sectors(g, "read_misses"), 4);
    assert_int_equal(sectors(g, "sector_misses"), 2);
    assert_int_equal(sectors(g, "fetched"), 4);
    /* cycles of the output port: 32 bytes each */
    assert_int_equal(rig_count(g, "output_busy"), 8);
    stop(g);
}

/* MSHRs are of lines: what is not yet asked for is a further read. */
static void merges(void **state)
{
    struct rig *g = start();

    (void)state;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, 0, 32, 1);
    rig_at(g, 2, HD_REQ_READ, 0, 64, 2);
    rig_at(g, 4, HD_REQ_READ, 32, 32, 3);
    rig_at(g, 6, HD_REQ_READ, 0, 32, 4);
    rig_until(g, 67);
    assert_int_equal(g->answers, 2);
    assert_int_equal(rig_when(g, 1), 66);
    assert_int_equal(rig_when(g, 4), 68); /* behind 1 at the output port */
    rig_finish(g);
    assert_int_equal(g->sends, 2);
    is_sent(g, 0, 16, 0, 32, HD_REQ_READ);
    is_sent(g, 1, 18, 32, 32, HD_REQ_READ);
    assert_int_equal(rig_when(g, 2), 70); /* behind 4 */
    assert_int_equal(rig_when(g, 3), 74); /* behind the 64 bytes of 2 */
    assert_int_equal(rig_count(g, "peak_mshrs"), 1);
    assert_int_equal(rig_count(g, "read_misses"), 2);
    assert_int_equal(rig_count(g, "read_merged"), 2);
    assert_int_equal(sectors(g, "read_misses"), 2);
    assert_int_equal(sectors(g, "read_merged"), 3);
    assert_int_equal(sectors(g, "further_requests"), 1);
    stop(g);
}

/* A page walk's read is for the sector of its entry. */
static void walks(void **state)
{
    struct rig *g = start();
    uint32_t r;

    (void)state;
    rig_open(g);
    r = rig_at(g, 0, HD_REQ_WALK, 72, 8, 1);
    g->reqs.v[r].level = 4;
    rig_finish(g);
    assert_int_equal(g->sends, 1);
    is_sent(g, 0, 16, 64, 32, HD_REQ_WALK);
    assert_int_equal(rig_when(g, 1), 66);
    stop(g);
}

static void fetch_sizes(void **state)
{
    (void)state;
    for (uint32_t fetch = 32; fetch <= 128; fetch *= 2) {
        struct rig *g = start();

        g->cache.fetch_bytes = fetch;
        rig_open(g);
        rig_at(g, 0, HD_REQ_READ, 96, 32, 1);
        rig_at(g, 200, HD_REQ_READ, 64, 32, 2);
        rig_at(g, 400, HD_REQ_READ, 0, 32, 3);
        rig_finish(g);
        is_sent(g, 0, 16, 128 - fetch, fetch, HD_REQ_READ);
        assert_int_equal(g->sends, fetch == 32 ? 3 : fetch == 64 ? 2 : 1);
        assert_int_equal(rig_when(g, 2), fetch > 32 ? 216 : 266);
        assert_int_equal(rig_when(g, 3), fetch > 64 ? 416 : 466);
        assert_int_equal(sectors(g, "added"), sectors(g, "fetched") -
                                                  sectors(g, "read_misses"));
        stop(g);
    }
}

/* DRAM moves bursts: of 64 bytes, two sectors of two bursts are both. */
static void bursts(void **state)
{
    struct rig *g = start();

    (void)state;
    g->w.burst = 64;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, 0, 32, 1);
    rig_at(g, 200, HD_REQ_READ, SET + 32, 64, 2);
    rig_finish(g);
    is_sent(g, 0, 16, 0, 64, HD_REQ_READ);
    is_sent(g, 1, 216, SET + 32, 128, HD_REQ_READ);
    stop(g);
}

static void stores(void **state)
{
    struct rig *g = start();

    (void)state;
    rig_open(g);
    store(g, 0, 64, 32);     /* a whole sector */
    store(g, 100, 0, 16);    /* half of another */
    rig_until(g, 199);
    assert_int_equal(g->sends, 0);
    rig_at(g, 200, HD_REQ_READ, 64, 32, 1); /* hits */
    rig_at(g, 300, HD_REQ_READ, 0, 32, 2);  /* has to be filled */
    rig_until(g, 399);
    assert_int_equal(rig_when(g, 1), 216);
    assert_int_equal(g->sends, 1);
    is_sent(g, 0, 316, 0, 32, HD_REQ_READ);
    assert_int_equal(rig_when(g, 2), 366);
    assert_int_equal(sectors(g, "parts_filled"), 1);
    /* two halves of a sector are the whole */
    store(g, 400, 96, 16);
    store(g, 500, 112, 16);
    rig_at(g, 600, HD_REQ_READ, 96, 32, 3);
    rig_until(g, 699);
    assert_int_equal(rig_when(g, 3), 616);
    assert_int_equal(g->sends, 1);
    /* dirty sectors are written back alone: 0, 2 and 3 */
    rig_at(g, 700, HD_REQ_READ, SET, 32, 4);
    rig_at(g, 800, HD_REQ_READ, 2 * SET, 32, 5);
    rig_finish(g);
    assert_int_equal(g->sends, 4);
    is_sent(g, 3, 866, 0, 96, HD_REQ_WRITE);
    assert_int_equal(rig_count(g, "write_backs"), 1);
    assert_int_equal(sectors(g, "write_backs"), 3);
    assert_int_equal(sectors(g, "write_back_parts"), 0);
    assert_int_equal(sectors(g, "writes"), 4);
    assert_int_equal(sectors(g, "write_parts"), 3);
    assert_int_equal(sectors(g, "write_hits"), 1);
    stop(g);
}

/* A part is written back with its byte mask, in one burst. */
static void parts(void **state)
{
    struct rig *g = start();

    (void)state;
    rig_open(g);
    store(g, 0, 40, 4);
    rig_at(g, 100, HD_REQ_READ, SET, 32, 1);
    rig_at(g, 200, HD_REQ_READ, 2 * SET, 32, 2);
    rig_finish(g);
    is_sent(g, 2, 266, 32, 32, HD_REQ_WRITE);
    assert_int_equal(sectors(g, "write_back_parts"), 1);
    stop(g);
}

/* A store to a sector in flight is not lost, and a read finds it at once. */
static void store_in_flight(void **state)
{
    struct rig *g = start();

    (void)state;
    rig_open(g);
    rig_at(g, 0, HD_REQ_READ, 0, 32, 1);
    store(g, 10, 0, 32);
    rig_at(g, 20, HD_REQ_READ, 0, 32, 2);
    rig_at(g, 100, HD_REQ_READ, SET, 32, 3);
    rig_at(g, 200, HD_REQ_READ, 2 * SET, 32, 4);
    rig_finish(g);
    assert_int_equal(rig_when(g, 1), 66);
    assert_int_equal(rig_when(g, 2), 36);
    is_sent(g, 3, 266, 0, 32, HD_REQ_WRITE);
    stop(g);
}

static void atomics(void **state)
{
    struct rig *g = start();

    (void)state;
    rig_open(g);
    rig_at(g, 0, HD_REQ_ATOMIC, 32, 32, 1);
    rig_at(g, 100, HD_REQ_ATOMIC, 32, 64, 2); /* of which half is there */
    rig_at(g, 200, HD_REQ_READ, SET, 32, 3);
    rig_at(g, 300, HD_REQ_READ, 2 * SET, 32, 4);
    rig_finish(g);
    is_sent(g, 0, 16, 32, 32, HD_REQ_READ);
    is_sent(g, 1, 118, 64, 32, HD_REQ_READ); /* two flits */
    is_sent(g, 4, 366, 32, 64, HD_REQ_WRITE);
    stop(g);
}

static void written_through(void **state)
{
    (void)state;
    for (uint32_t evict = 0; evict < 2; evict++) {
        struct rig *g = start();

        g->cache.write = evict ? HD_WRITE_EVICT : HD_WRITE_THROUGH;
        rig_open(g);
        rig_at(g, 0, HD_REQ_READ, 0, 64, 1);
        store(g, 100, 32, 64);
        rig_at(g, 200, HD_REQ_READ, 0, 96, 2);
        rig_finish(g);
        is_sent(g, 1, 118, 32, 64, HD_REQ_WRITE);
        assert_int_equal(g->sends, evict ? 3 : 2);
        assert_int_equal(rig_when(g, 2), evict ? 266 : 216);
        stop(g);
    }
}

/* Random requests under few MSHRs, merges and places. */
static void soak(void **state)
{
    (void)state;
    for (uint32_t run = 0; run < 6; run++) {
        struct rig *g = start();
        uint64_t x = run + 1;
        uint32_t reads = 0;

        g->cache.mshrs = 2 + run % 2;
        g->cache.merges = 2;
        g->cache.queue = 2;
        g->cache.fetch_bytes = run % 3 == 0 ? 0 : 64;
        g->cache.write = run == 5 ? HD_WRITE_THROUGH : HD_WRITE_BACK;
        g->limit = 2;
        rig_open(g);
        for (uint32_t i = 0; i < 3000; i++) {
            uint64_t line = (x = hd_mix64(x)) % 24 * LINE;
            uint32_t lo = (x >> 8) % LINE, n = 1 + (x >> 20) % (LINE - lo);
            uint32_t kind = (x >> 40) % 4;

            if (kind == 0) {
                store(g, i * 6, line + lo, n);
                continue;
            }
            reads++;
            rig_at(g, i * 6, kind == 1 ? HD_REQ_ATOMIC : HD_REQ_READ,
                   line + lo, n, 1 + i);
        }
        for (hd_time t = 0; t < 20000; t += 97)
            rig_until(g, t);
        rig_finish(g);
        assert_int_equal(g->answers, reads);
        assert_int_equal(sectors(g, "reads"),
                         sectors(g, "read_hits") + sectors(g, "read_misses") +
                             sectors(g, "read_merged"));
        assert_int_equal(sectors(g, "fetched"),
                         sectors(g, "read_misses") + sectors(g, "added"));
        stop(g);
    }
}

/* ---- a twin that keeps each byte ---------------------------------------- */

enum { TWIN_LINES = 12 };

struct twin {
    bool here[LINE], dirty[LINE / SECTOR];
};

static bool is_valid(const struct twin *w, uint32_t s)
{
    for (uint32_t i = 0; i < SECTOR; i++)
        if (!w->here[s * SECTOR + i])
            return false;
    return true;
}

static bool is_touched(const struct twin *w, uint32_t s)
{
    for (uint32_t i = 0; i < SECTOR; i++)
        if (w->here[s * SECTOR + i])
            return true;
    return false;
}

static void compare(const struct hd_sector_line *x, const struct twin *w)
{
    for (uint32_t s = 0; s < LINE / SECTOR; s++) {
        assert_int_equal(x->valid >> s & 1, is_valid(w, s));
        assert_int_equal(x->part >> s & 1, is_touched(w, s) && !is_valid(w, s));
        assert_int_equal(x->dirty >> s & 1, w->dirty[s]);
    }
}

static void naive(void **state)
{
    struct rig *g = start();
    struct twin twin[TWIN_LINES] = {0};
    struct hd_who who = {0, HD_NO_WARP};
    struct hd_cache *c;
    uint64_t x = 7, victim;
    uint32_t owner;

    (void)state;
    rig_open(g);
    c = &g->l2->slice[0].tags;
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t line = (x = hd_mix64(x)) % TWIN_LINES;
        uint32_t lo = (x >> 8) % LINE, hi = lo + (x >> 20) % (LINE - lo);
        bool write = (x >> 40) % 2;
        uint32_t set = hd_cache_set(c, line), whole, asked;
        uint32_t e = hd_assoc_find(&c->tags, set, line);
        struct twin *w = &twin[line];
        struct hd_bytemask b = {{0, 0}};
        struct hd_sectors put;

        hd_bytemask_add(&b, lo, hi);
        asked = hd_sectors_of(&b, 5, &whole);
        for (uint32_t k = lo / SECTOR; k <= hi / SECTOR; k++)
            w->dirty[k] |= write;
        for (uint32_t k = write ? lo : lo & ~31u; k <= (write ? hi : hi | 31u);
             k++)
            w->here[k] = true;
        put = write ? hd_sectors_written(asked, whole, &b, true)
                    : (struct hd_sectors){.valid = (uint8_t)asked};
        if (e != HD_NONE) {
            hd_sectors_add(c, e, &put);
        } else {
            struct hd_sector_line old;
            hd_cache_enter(c, set, line, HD_REQ_READ, 0, write, who, &victim,
                           &owner);
            old = hd_sectors_entered(c, set, line, &put);
            if (victim != HD_KEY_NONE) {
                compare(&old, &twin[victim]);
                memset(&twin[victim], 0, sizeof twin[victim]);
            }
            e = hd_assoc_find(&c->tags, set, line);
        }
        compare(&c->sector[e], w);
        assert_null(hd_sectors_check(c));
    }
    stop(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(miss_and_hit),    cmocka_unit_test(merges),
        cmocka_unit_test(walks),           cmocka_unit_test(fetch_sizes),
        cmocka_unit_test(bursts),          cmocka_unit_test(stores),
        cmocka_unit_test(parts),           cmocka_unit_test(store_in_flight),
        cmocka_unit_test(atomics),         cmocka_unit_test(written_through),
        cmocka_unit_test(soak),            cmocka_unit_test(naive),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
