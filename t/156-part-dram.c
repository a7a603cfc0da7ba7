/*
 * 156-part-dram - pins the DRAM system driven alone: the injection rule
 * against a naive loop over cycles, results, the bounds of one bank, of a
 * stream and of random reads, how the schedulers differ, and the text files.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit/rng.h"
#include "dramtwin.h"
#include "part/tool_part.h"
#include "texts.h"

static heddle_part_dram *part(const char *const *settings)
{
    heddle_part_dram *d = heddle_part_dram_new();

    assert_non_null(d);
    for (; settings != NULL && settings[0] != NULL; settings += 2)
        if (heddle_part_dram_set(d, settings[0], settings[1]) != 0)
            fail_msg("%s", heddle_part_dram_error(d));
    return d;
}

#define PART(...) part((const char *const[]){__VA_ARGS__, NULL})

static struct heddle_part_dram_result run(heddle_part_dram *d)
{
    struct heddle_part_dram_result r;

    if (heddle_part_dram_run(d, &r) != 0)
        fail_msg("%s", heddle_part_dram_error(d));
    return r;
}

/* ---- the injection rule -------------------------------------------------- */

/* One channel, cycle by cycle; sets accepted and end of each item. */
static uint64_t naive_loop(const struct hd_dram_cfg *c, struct item *v,
                           uint32_t n, uint32_t window)
{
    struct naive t = {.c = c, .n = n};
    struct hd_drammap map;
    struct heddle_error err;
    uint64_t last = 0, now;
    uint32_t head = 0, left = n, done = 0;

    hd_drammap_init(&map, c, &err);
    t.w = calloc(n, sizeof *t.w);
    for (uint32_t i = 0; i < n; i++) {
        v[i].accepted = v[i].end = HD_NEVER;
        t.w[i].item = &v[i];
        t.w[i].at = hd_drammap_locate(&map, v[i].address);
        t.w[i].age = i;
        t.w[i].left = 1;
        t.w[i].write = v[i].kind == HD_REQ_WRITE;
    }
    for (now = 0; left > 0; now++) {
        uint32_t queued = 0, reads = 0, before = t.logged;
        t.n = head; /* those behind have not arrived */
        if (now > 0)
            twin_cycle(&t, now);
        if (t.logged > before && column_kind(t.log[before].kind))
            for (uint32_t i = 0; i < head; i++)
                if (t.w[i].done && v[i].end == HD_NEVER) {
                    v[i].end = now + c->bl + (t.w[i].write ? c->wl : c->cl);
                    if (!t.w[i].write && v[i].end > last)
                        last = v[i].end;
                    left--;
                }
        while (done < head && v[done].end <= now)
            done++;
        for (uint32_t i = done; i < head; i++) {
            queued += !t.w[i].done;
            reads += !t.w[i].write && v[i].end > now;
        }
        if (head < n && v[head].cycle <= now && queued < c->queue &&
            (t.w[head].write || reads < window))
            v[head++].accepted = now;
    }
    twin_free(&t);
    return last;
}

static void injection(uint32_t queue, uint32_t window, uint32_t scheduler,
                      uint32_t page, uint32_t gap, uint64_t seed)
{
    enum { N = 400 };
    static const char *const name[] = {"hit-first", "capped", "ready-first"};
    struct hd_dram_cfg c = default_cfg();
    struct item *v = calloc(N, sizeof *v);
    struct hd_rng r = hd_rng_make(seed, 3);
    struct heddle_part_dram_result result;
    struct heddle_part_dram_request q;
    heddle_part_dram *d;
    char queue_text[16], window_text[16];
    uint64_t stream = 0, at = 0;

    c.channels = 1;
    c.interleave = 0;
    c.queue = queue;
    c.scheduler = scheduler;
    c.page = page;
    snprintf(queue_text, sizeof queue_text, "%u", queue);
    snprintf(window_text, sizeof window_text, "%u", window);
    d = PART("queue", queue_text, "window", window_text, "scheduler",
             name[scheduler], "page", page ? "closed" : "open", "check", "1");
    for (uint32_t i = 0; i < N; i++) {
        v[i].address = hd_rng_below(&r, 2) ? (stream += 32)
                                           : hd_rng_below(&r, 1 << 15) * 32u;
        v[i].kind = hd_rng_below(&r, 3) == 0 ? HD_REQ_WRITE : HD_REQ_READ;
        v[i].cycle = at += hd_rng_below(&r, gap + 1);
        assert_int_equal(heddle_part_dram_add(d, v[i].address,
                                              v[i].kind == HD_REQ_WRITE,
                                              v[i].cycle),
                         0);
    }
    result = run(d);
    assert_int_equal(naive_loop(&c, v, N, window), result.cycles);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(heddle_part_dram_request(d, i, &q), 0);
        if (q.accepted != v[i].accepted)
            fail_msg("request %u accepted in %llu, by the twin in %llu", i,
                     (unsigned long long)q.accepted,
                     (unsigned long long)v[i].accepted);
        if (!q.write)
            assert_int_equal(q.latency, v[i].end - v[i].accepted);
    }
    heddle_part_dram_free(d);
    free(v);
}

static void injection_is_the_rule(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 3; s++) {
        injection(192, 32, s, 0, 0, s);
        injection(8, 32, s, 1, 0, 10 + s); /* the queue is the limit */
        injection(3, 2, s, 0, 1, 20 + s);
        injection(1, 1, s, 0, 0, 30 + s);
        injection(16, 4, s, s % 2, 20, 40 + s);
    }
}

/* ---- bounds ------------------------------------------------------------- */

static void one_bank(void **state)
{
    struct heddle_part_dram_result r;
    heddle_part_dram *d = PART("map", "A", "bus_bytes", "64");

    (void)state;
    for (uint64_t i = 0; i < 4000; i++)
        heddle_part_dram_add(d, i * 4096 * 8, 0, 0);
    r = run(d);
    assert_int_equal(r.activates, 4000);
    assert_int_equal(r.row_hits, 0);
    assert_int_equal(r.cycles, 3999 * 40 + 27);
    assert_true(r.bandwidth > 0.0499 && r.bandwidth <= 0.0501);
    heddle_part_dram_free(d);
}

static void stream(void **state)
{
    struct heddle_part_dram_result r;
    heddle_part_dram *d = PART("map", "B");

    (void)state;
    for (uint64_t i = 0; i < 50000; i++)
        heddle_part_dram_add(d, i * 32, 0, 0);
    r = run(d);
    /* The first burst takes 27 cycles; while the first rows open, a command
     * slot or two are lost, and none afterwards. */
    assert_in_range(r.cycles, 49999 * 2 + 27, 49999 * 2 + 27 + 4);
    heddle_part_dram_free(d);
    d = PART("map", "B", "channels", "4");
    for (uint64_t i = 0; i < 50000; i++)
        heddle_part_dram_add(d, i * 32, 0, 0);
    r = run(d);
    assert_in_range(r.cycles, 12499 * 2 + 27, 12499 * 2 + 27 + 4);
    assert_true(r.bandwidth > 0.998 && r.bandwidth <= 1.0);
    heddle_part_dram_free(d);
    /* One bank group after the other: tCCD_L but where a row ends. */
    d = PART("map", "A", "window", "2");
    for (uint64_t i = 0; i < 12800; i++)
        heddle_part_dram_add(d, i * 32, 0, 0);
    r = run(d);
    assert_true(r.bandwidth <= 2.0 / 3.0);
    heddle_part_dram_free(d);
}

static void random_reads(void **state)
{
    static const char *const trrd[] = {"6", "4", "1"};

    (void)state;
    for (uint32_t k = 0; k < 3; k++) {
        heddle_part_dram *d = PART("tRRD", trrd[k], "window", "32", "map", "A");
        struct hd_rng rng = hd_rng_make(k, 5);
        struct heddle_part_dram_result r;
        double rrd = 2.0 / atoi(trrd[k]), banks = 8 * 2 / 40.0;
        double bound = rrd < banks ? rrd : banks;
        for (uint32_t i = 0; i < 100000; i++)
            heddle_part_dram_add(d, (uint64_t)hd_rng_below(&rng, 1u << 31) * 32,
                                 0, 0);
        r = run(d);
        assert_true(r.bandwidth <= bound);
        assert_true(r.bandwidth > 0.85 * bound);
        heddle_part_dram_free(d);
    }
}

/* ---- schedulers ---------------------------------------------------------- */

/*
 * A bank with a stream of hits and one older conflict: hit-first serves all
 * hits, capped four, ready-first none after the row may be closed.
 */
static void schedulers_differ(void **state)
{
    static const char *const name[] = {"hit-first", "capped", "ready-first"};
    uint64_t latency[3];

    (void)state;
    for (uint32_t s = 0; s < 3; s++) {
        heddle_part_dram *d = PART("scheduler", name[s], "map", "A");
        struct heddle_part_dram_request q;
        heddle_part_dram_add(d, 0, 0, 0);
        heddle_part_dram_add(d, 4096 * 8, 0, 20); /* the conflict */
        for (uint64_t i = 1; i <= 20; i++)
            heddle_part_dram_add(d, 32 * i, 0, 20);
        run(d);
        heddle_part_dram_request(d, 1, &q);
        latency[s] = q.latency;
        heddle_part_dram_free(d);
    }
    /* Accepted in 20.  Hits issue from 22 on, three cycles apart, the last
     * (20th) in 79; then tRTP, tRP, tRCD, CL and the data. */
    assert_int_equal(latency[0], 79 + 2 + 12 + 12 + 14 - 20);
    /* tRAS ends in 29; by then 13, 22, 25 and 28 make four requests. */
    assert_int_equal(latency[1], 30 + 12 + 12 + 14 - 20);
    /* It waits as long, with the same four hits before it. */
    assert_int_equal(latency[2], 30 + 12 + 12 + 14 - 20);
}

static void mixed_load(void **state)
{
    static const char *const name[] = {"hit-first", "capped", "ready-first"};
    struct heddle_part_dram_result r[3];

    (void)state;
    for (uint32_t s = 0; s < 3; s++) {
        heddle_part_dram *d =
            PART("scheduler", name[s], "map", "A", "window", "64");
        struct hd_rng rng = hd_rng_make(1, 1);
        uint64_t at = 0;
        for (uint32_t i = 0; i < 50000; i++) {
            uint64_t x = (uint64_t)hd_rng_below(&rng, 1 << 24) * 32;
            heddle_part_dram_add(d, hd_rng_below(&rng, 4) ? (at += 32) : x, 0,
                                 0);
        }
        r[s] = run(d);
        assert_int_equal(r[s].row_hits + r[s].activates, 50000);
        heddle_part_dram_free(d);
    }
    assert_true(r[0].bandwidth > r[1].bandwidth);
    assert_true(r[0].bandwidth > r[2].bandwidth);
    assert_true(r[0].activates < r[1].activates);
    assert_true(r[1].activates < r[2].activates);
}

/* ---- results, files ------------------------------------------------------ */

static void results(void **state)
{
    heddle_part_dram *d = PART("map", "A");
    struct heddle_part_dram_result r;

    (void)state;
    for (uint64_t i = 0; i < 200; i++) /* 198 hits, 1 closed, 1 conflict */
        heddle_part_dram_add(d, i < 199 ? (i % 128) * 32 : 4096 * 8, 0,
                             i * 100);
    heddle_part_dram_add(d, 0, 1, 0); /* behind the others in the FIFO */
    r = run(d);
    assert_int_equal(r.requests, 201);
    assert_int_equal(r.reads, 200);
    assert_int_equal(r.writes, 1);
    assert_int_equal(r.cycles, 19900 + 39);
    assert_int_equal(r.row_hits, 198);
    assert_int_equal(r.activates, 3);
    assert_int_equal(r.precharges, 2);
    /* 198 of 200 are 15: the 198th in order is the 99 % one. */
    assert_int_equal(r.read_latency_p99, 15);
    assert_true(r.read_latency_mean > (198 * 15 + 27 + 39) / 200.0 - 1e-9);
    assert_true(r.read_latency_mean < (198 * 15 + 27 + 39) / 200.0 + 1e-9);
    assert_true(r.bandwidth > 201 * 2 / 19939.0 - 1e-9);
    assert_true(r.bandwidth < 201 * 2 / 19939.0 + 1e-9);
    /* A second run starts from the beginning. */
    assert_int_equal(run(d).cycles, 19939);
    heddle_part_dram_free(d);
}

static void only_writes(void **state)
{
    heddle_part_dram *d = PART("map", "A");
    struct heddle_part_dram_result r;

    (void)state;
    heddle_part_dram_add(d, 0, 1, 10);
    r = run(d);
    assert_int_equal(r.cycles, 10 + 1 + 7 + 4 + 2);
    assert_int_equal(r.read_latency_p99, 0);
    heddle_part_dram_free(d);
}

static void nothing(void **state)
{
    heddle_part_dram *d = PART("channels", "3");
    struct heddle_part_dram_result r = run(d);

    (void)state;
    assert_int_equal(r.requests, 0);
    assert_int_equal(r.cycles, 0);
    heddle_part_dram_free(d);
}

/* Long idle times with refresh cost nothing, and every refresh is counted. */
static void idle_refreshes(void **state)
{
    heddle_part_dram *d = PART("refresh", "1", "trefi", "1000");
    heddle_part_dram *e = PART("refresh", "1", "trefi", "1000", "check", "1");
    struct heddle_part_dram_result r, s;

    (void)state;
    heddle_part_dram_add(d, 0, 0, 0);
    heddle_part_dram_add(d, 0, 0, 1ull << 40);
    r = run(d);
    assert_int_equal(r.refreshes, (1ull << 40) / 1000);
    heddle_part_dram_free(d);
    /* The checker sees every refresh; the results are those without it. */
    d = PART("refresh", "1", "trefi", "1000");
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t at = i * 487 + (i % 16 == 0) * 7777;
        heddle_part_dram_add(d, i * 1056, i % 3 == 0, at);
        heddle_part_dram_add(e, i * 1056, i % 3 == 0, at);
    }
    r = run(d);
    s = run(e);
    assert_memory_equal(&r, &s, sizeof r);
    heddle_part_dram_free(d);
    heddle_part_dram_free(e);
}

static void settings(void **state)
{
    heddle_part_dram *d = PART("tRRD", "7");
    char text[64];

    (void)state;
    assert_int_equal(heddle_part_dram_get(d, "trrd", text, sizeof text), 0);
    assert_string_equal(text, "7");
    assert_int_equal(heddle_part_dram_set(d, "tCCDL", "5"), 0);
    assert_int_equal(heddle_part_dram_get(d, "tccd_l", text, sizeof text), 0);
    assert_string_equal(text, "5");
    assert_int_equal(heddle_part_dram_set(d, "tRRE", "7"), HEDDLE_ECONFIG);
    assert_text(heddle_part_dram_error(d), "dram.trrd");
    assert_int_equal(heddle_part_dram_set(d, "window", "0"), HEDDLE_ECONFIG);
    assert_int_equal(heddle_part_dram_set(d, "banks", "x"), HEDDLE_ECONFIG);
    heddle_part_dram_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(injection_is_the_rule),
        cmocka_unit_test(one_bank),
        cmocka_unit_test(stream),
        cmocka_unit_test(random_reads),
        cmocka_unit_test(schedulers_differ),
        cmocka_unit_test(mixed_load),
        cmocka_unit_test(results),
        cmocka_unit_test(only_writes),
        cmocka_unit_test(nothing),
        cmocka_unit_test(settings),
        cmocka_unit_test(idle_refreshes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
