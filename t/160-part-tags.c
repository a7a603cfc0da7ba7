/*
 * Pinned: a TLB and a cache driven alone hit exactly where a naive LRU stack
 * says, over a million accesses and several shapes; the lines of their files;
 * what is refused, in words; that policies differ and are reproducible; that a
 * policy of one's own answers, from a plug-in too, and its answers are checked.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit/rng.h"
#include "folder.h"
#include "part/tool_part.h"
#include "policy.h"
#include "texts.h"

/* A stack of keys for each set, the latest first. */
struct stack {
    uint64_t sets, ways;
    uint64_t key[4096];
    uint64_t n[4096];
};

static bool stack_access(struct stack *s, uint64_t key)
{
    uint64_t set = key % s->sets, *k = &s->key[set * s->ways], i = 0;
    bool hit;

    while (i < s->n[set] && k[i] != key)
        i++;
    hit = i < s->n[set];
    if (!hit && s->n[set] < s->ways)
        i = s->n[set]++;
    else if (!hit)
        i = s->ways - 1;
    memmove(k + 1, k, i * sizeof *k);
    k[0] = key;
    return hit;
}

static void set(heddle_part_tags *t, const char *name, uint64_t v)
{
    char text[32];

    snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    assert_int_equal(heddle_part_tags_set(t, name, text), 0);
}

static void tlb_equals_stack(void **state)
{
    static const uint64_t shape[][2] = {{64, 0},  {512, 16}, {96, 4},
                                        {85, 17}, {7, 7},    {1, 1}};

    (void)state;
    for (size_t k = 0; k < 6; k++) {
        heddle_part_tags *t = heddle_part_tlb_new();
        struct stack *s = calloc(1, sizeof *s);
        struct hd_rng r = hd_rng_make(k, 1);
        struct heddle_part_tags_result got;
        uint64_t hits = 0, n = k < 2 ? 1000000 : 100000;

        set(t, "entries", shape[k][0]);
        set(t, "ways", shape[k][1]);
        s->ways = shape[k][1] ? shape[k][1] : shape[k][0];
        s->sets = shape[k][0] / s->ways;
        for (uint64_t i = 0; i < n; i++) {
            uint64_t page = hd_rng_below(&r, (uint32_t)shape[k][0] * 3 / 2 + 1);
            bool hit = stack_access(s, page);
            assert_int_equal(heddle_part_tags_access(t, page, 0), hit);
            hits += hit;
        }
        heddle_part_tags_result(t, &got);
        assert_int_equal(got.accesses, n);
        assert_int_equal(got.hits, hits);
        assert_int_equal(got.misses, n - hits);
        assert_true(hits > 0 && hits < n);
        heddle_part_tags_free(t);
        free(s);
    }
}

static void cache_equals_stack(void **state)
{
    static const uint64_t shape[][3] = {/* lines, ways, bytes of a line */
                                        {128, 4, 128},
                                        {1360, 16, 32},
                                        {40, 0, 64}};

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        heddle_part_tags *t = heddle_part_cache_new();
        struct stack *s = calloc(1, sizeof *s);
        struct hd_rng r = hd_rng_make(k, 2);

        set(t, "bytes", shape[k][0] * shape[k][2]);
        set(t, "ways", shape[k][1]);
        set(t, "line", shape[k][2]);
        s->ways = shape[k][1] ? shape[k][1] : shape[k][0];
        s->sets = shape[k][0] / s->ways;
        for (uint64_t i = 0; i < 200000; i++) {
            uint64_t a =
                hd_rng_below(&r, (uint32_t)(shape[k][0] * 2)) * shape[k][2] +
                hd_rng_below(&r, (uint32_t)shape[k][2]);
            assert_int_equal(heddle_part_tags_access(t, a, i % 5 == 0),
                             stack_access(s, a / shape[k][2]));
        }
        heddle_part_tags_free(t);
        free(s);
    }
}

static void write_policies(void **state)
{
    static const char *const name[] = {"through", "evict", "back"};
    static const int second[] = {0, 0, 1}, last[] = {1, 0, 1};

    (void)state;
    for (int k = 0; k < 3; k++) {
        heddle_part_tags *t = heddle_part_cache_new();

        assert_int_equal(heddle_part_tags_set(t, "write", name[k]), 0);
        assert_int_equal(heddle_part_tags_access(t, 0, 1), 0);
        assert_int_equal(heddle_part_tags_access(t, 0, 0), second[k]);
        assert_int_equal(heddle_part_tags_access(t, 0, 1), 1);
        assert_int_equal(heddle_part_tags_access(t, 0, 0), last[k]);
        heddle_part_tags_free(t);
    }
}

/* Hits of a policy on a stream that mixes a hot set with a scan. */
static uint64_t run(const char *policy, const char *param, const char *value)
{
    heddle_part_tags *t = heddle_part_tlb_new();
    struct heddle_part_tags_result r;
    struct hd_rng g = hd_rng_make(3, 3);

    set(t, "entries", 32);
    assert_int_equal(heddle_part_tags_set(t, "policy", policy), 0);
    if (param)
        assert_int_equal(heddle_part_tags_set(t, param, value), 0);
    for (uint64_t i = 0; i < 50000; i++)
        assert_true(heddle_part_tags_access(
                        t, i % 2 ? hd_rng_below(&g, 24) : 1000 + i, 0) >= 0);
    heddle_part_tags_result(t, &r);
    heddle_part_tags_free(t);
    return r.hits;
}

static void policies(void **state)
{
    uint64_t lru = run("lru", NULL, NULL), fifo = run("fifo", NULL, NULL);
    uint64_t any = run("random", NULL, NULL), srrip = run("srrip", NULL, NULL);

    (void)state;
    assert_true(srrip > lru); /* scans do not push the hot set out */
    assert_true(lru > fifo);
    assert_int_equal(any, run("random", "seed", "1"));
    assert_true(any != run("random", "seed", "2"));
    assert_true(srrip != run("srrip", "policy.bits", "1"));
}

/* The first way, and from page 1000 on a way that is not there. */
static int64_t first_way(void *state, const void *question)
{
    const struct heddle_q_repl_victim *q = question;

    (void)state;
    return q->key < 1000 ? 0 : (int64_t)q->ways;
}

static const struct heddle_policy first = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "first",
    .answer = {[HEDDLE_POINT_repl_victim] = first_way},
};

static void a_policy_of_ones_own(void **state)
{
    heddle_part_tags *t = heddle_part_tlb_new();

    (void)state;
    set(t, "entries", 3);
    assert_int_equal(heddle_part_tags_use(t, &first), 0);
    for (uint64_t i = 1; i < 10; i++)
        assert_int_equal(heddle_part_tags_access(t, i, 0), 0);
    assert_int_equal(heddle_part_tags_access(t, 2, 0), 1);
    assert_int_equal(heddle_part_tags_access(t, 3, 0), 1);
    assert_int_equal(heddle_part_tags_access(t, 9, 0), 1);
    assert_int_equal(heddle_part_tags_access(t, 1000, 0), HEDDLE_EPOLICY);
    assert_non_null(strstr(heddle_part_tags_error(t),
                           "policy first answered 3 to repl_victim of tlb at "
                           "cycle 12, expected 0 to 2"));
    assert_int_equal(heddle_part_tags_access(t, 2, 0), HEDDLE_EPOLICY);
    assert_int_equal(heddle_part_tags_use(t, &first), HEDDLE_EINVAL);
    heddle_part_tags_free(t);
}

/* A plug-in; and one that does not replace. */
static void a_plugin(void **state)
{
    static const char source[] =
        "#include <policy.h>\n"
        "static int64_t way(void *s, const void *q)"
        "{ (void)s; (void)q; return 0; }\n"
        "static const struct heddle_policy p = { .abi = HEDDLE_POLICY_ABI,"
        " .name = \"plugged\", .answer = { [HEDDLE_POINT_%s] = way } };\n"
        "__attribute__((visibility(\"default\"))) const struct heddle_policy *"
        "heddle_policy_entry(void);\n"
        "const struct heddle_policy *heddle_policy_entry(void)"
        "{ return &p; }\n";
    static const char *const point[] = {"repl_victim", "l2_bypass"};
    const char *cc = getenv("CC");
    char dir[FOLDER], path[128], command[512];

    (void)state;
    assert_non_null(folder_make(dir));
    for (int k = 0; k < 2; k++) {
        heddle_part_tags *t = heddle_part_tlb_new();
        FILE *f;

        snprintf(path, sizeof path, "%s/%s.c", dir, point[k]);
        f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, source, point[k]);
        fclose(f);
        snprintf(command, sizeof command,
                 "%s -shared -fPIC -Isrc/engine -Isrc/work -o %s/%s.so %s", cc && *cc ? cc : "cc",
                 dir, point[k], path);
        assert_int_equal(system(command), 0);
        unlink(path);
        set(t, "entries", 2);
        snprintf(path, sizeof path, "%s/%s.so", dir, point[k]);
        assert_int_equal(heddle_part_tags_set(t, "policy", path), 0);
        assert_int_equal(heddle_part_tags_access(t, 1, 0),
                         k == 0 ? 0 : HEDDLE_ECONFIG);
        if (k == 0) {
            heddle_part_tags_access(t, 2, 0);
            heddle_part_tags_access(t, 3, 0);
            assert_int_equal(heddle_part_tags_access(t, 2, 0), 1);
            assert_int_equal(heddle_part_tags_access(t, 1, 0), 0);
        }
        heddle_part_tags_free(t);
        unlink(path);
    }
    rmdir(dir);
}

static void refused(void **state)
{
    heddle_part_tags *t = heddle_part_tlb_new();

    (void)state;
    assert_int_equal(heddle_part_tags_set(t, "entris", "4"), HEDDLE_ECONFIG);
    assert_text(heddle_part_tags_error(t), "'entries'");
    assert_int_equal(heddle_part_tags_set(t, "line", "128"), HEDDLE_ECONFIG);
    assert_int_equal(heddle_part_tags_set(t, "entries", "0"), HEDDLE_ECONFIG);
    assert_int_equal(heddle_part_tags_set(t, "entries", "1x"), HEDDLE_ECONFIG);
    assert_int_equal(heddle_part_tags_set(t, "policy", "gto"), 0);
    assert_int_equal(heddle_part_tags_access(t, 1, 0), HEDDLE_ECONFIG);
    assert_text(heddle_part_tags_error(t),
                "that replaces is expected, not 'gto'");
    assert_int_equal(heddle_part_tags_set(t, "policy", "lruu"), 0);
    assert_int_equal(heddle_part_tags_access(t, 1, 0), HEDDLE_ECONFIG);
    assert_text(heddle_part_tags_error(t), "not 'lruu'");
    assert_int_equal(heddle_part_tags_set(t, "policy", "srrip"), 0);
    assert_int_equal(heddle_part_tags_set(t, "policy.bits", "9"), 0);
    assert_int_equal(heddle_part_tags_access(t, 1, 0), HEDDLE_ECONFIG);
    assert_int_equal(heddle_part_tags_set(t, "policy.bits", "3"), 0);
    assert_int_equal(heddle_part_tags_access(t, 1, 0), 0);
    assert_int_equal(heddle_part_tags_access(t, 1, 0), 1);
    assert_int_equal(heddle_part_tags_set(t, "entries", "8"), HEDDLE_EINVAL);
    heddle_part_tags_free(t);

    t = heddle_part_tlb_new();
    set(t, "entries", 10);
    set(t, "ways", 4);
    assert_int_equal(heddle_part_tags_access(t, 1, 0), HEDDLE_ECONFIG);
    heddle_part_tags_free(t);
    t = heddle_part_cache_new();
    set(t, "line", 96);
    assert_int_equal(heddle_part_tags_access(t, 1, 0), HEDDLE_ECONFIG);
    set(t, "line", 64); /* it can be mended */
    assert_int_equal(heddle_part_tags_access(t, 1, 0), 0);
    heddle_part_tags_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tlb_equals_stack),
        cmocka_unit_test(cache_equals_stack),
        cmocka_unit_test(write_policies),
        cmocka_unit_test(policies),
        cmocka_unit_test(a_policy_of_ones_own),
        cmocka_unit_test(a_plugin),
        cmocka_unit_test(refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
