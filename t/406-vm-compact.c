/*
 * 406-vm-compact.c - threads of a block that are regrouped, against an
 * interpreter that runs lane by lane and knows nothing of it: random programs
 * without races, with loops, exits, and barriers to which all come, whose warps
 * take turns at random.  The contents of all buffers and the instructions of
 * all threads must be equal, whoever joins whom; and each thread is in one
 * formed warp (env.check).  HEDDLE_PROGRAMS says how many programs, 2500 or so;
 * 10000 take half a minute.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel-twin.h"

enum { WARPS = 32 };

/* A block at work. */
struct work {
    struct krig *r;
    struct hd_rng rng;
    uint32_t ctx, now, warps; /* of the block; of those that run */
    uint64_t ready, met, live, barred;
    struct hd_op op[WARPS];
    struct hd_group g;
    uint64_t threads; /* instructions of all */
    uint32_t formed, refused;
    bool refuses;
};

static void fetch(struct work *k, uint32_t w)
{
    k->r->ops->next(k->r->self, k->now, w, &k->op[w]);
    k->ready |= 1ull << w;
}

static bool may_join(void *self, uint32_t pc, uint32_t warp, uint32_t lane,
                     uint64_t members)
{
    struct work *k = self;
    bool may = hd_rng_below(&k->rng, 2) != 0;

    (void)pc;
    assert_true(lane < 64 && members != 0);
    assert_true(warp < k->warps && (members >> k->warps) == 0);
    k->refused += !may;
    return may;
}

static void regroup(struct work *k)
{
    k->g = (struct hd_group){.may_join = k->refuses ? may_join : NULL,
                             .self = k};
    k->live = k->r->ops->regroup(k->r->self, k->ctx, &k->g);
    if (k->r->err.code != 0)
        fail_msg("%s", k->r->err.text);
    k->met = 0;
    k->now = k->g.ctx;
    if (k->g.moved && k->now != k->ctx)
        k->formed += hd_bit_count(k->live);
    for (uint64_t m = k->live; m != 0; m &= m - 1)
        fetch(k, hd_bit_first(m));
}

/* Issues the instruction of one warp. */
static void issue(struct work *k, uint32_t w)
{
    const struct hd_op *op = &k->op[w];
    struct hd_access acc;

    k->ready &= ~(1ull << w);
    k->threads += (uint64_t)op->count * hd_bit_count(op->mask);
    if (op->kind == HEDDLE_OP_BARRIER) {
        assert_int_equal(k->now, k->ctx); /* all come */
        k->barred |= 1ull << w;
    } else if (op->kind == HD_OP_MEET && op->mask != 0) {
        k->met |= 1ull << w;
    } else if (op->kind == HD_OP_MEET || op->kind == HEDDLE_OP_EXIT) {
        k->live &= ~(1ull << w);
    } else {
        if (hd_op_memory(op->kind))
            k->r->ops->access(k->r->self, k->now, w, &acc);
        fetch(k, w);
    }
    if (k->barred != 0 && k->barred == k->live) {
        k->barred = 0;
        for (uint64_t m = k->live; m != 0; m &= m - 1)
            fetch(k, hd_bit_first(m));
    } else if (k->live == k->met) {
        regroup(k);
    }
}

static void run_block(struct work *k, uint32_t warps)
{
    k->now = k->ctx;
    k->warps = warps;
    k->ready = k->met = k->barred = 0;
    k->live = hd_ones(warps);
    for (uint32_t w = 0; w < warps; w++)
        fetch(k, w);
    while (k->ready != 0) {
        uint32_t n = hd_rng_below(&k->rng, hd_bit_count(k->ready));
        uint64_t m = k->ready;

        while (n-- > 0)
            m &= m - 1;
        issue(k, hd_bit_first(m));
        if (k->r->err.code != 0)
            fail_msg("%s", k->r->err.text);
    }
    assert_int_equal(k->live, 0); /* nobody waits for nobody */
}

static uint64_t twin_threads(struct twin *t, uint32_t lanes)
{
    uint64_t sum = 0;

    for (uint32_t first = 0; first < t->k->threads; first += lanes) {
        uint32_t left = t->k->threads - first;

        t->warp = first / lanes;
        twin_warp(t, hd_ones(left < lanes ? left : lanes));
        assert_true(t->log.n < EVENTS - 1);
        for (int i = 0; i < t->log.n; i++)
            sum += t->log.v[i].threads + hd_bit_count(t->log.v[i].mask);
    }
    return sum;
}

/* Returns how many warps were formed. */
static uint32_t run_program(struct kasm *a, struct twin *t, uint64_t seed,
                            uint32_t lanes, uint32_t *refused)
{
    heddle_program *p = twin_buffers(seed);
    struct krig r;
    struct work k = {.r = &r, .rng = hd_rng_make(seed, 406),
                     .refuses = seed % 2 != 0};
    struct hd_launch l;

    generate(a, seed, NULL, 0, true);
    if (kasm_add(a, p) < 0)
        fail_msg("seed %llu: %s", (unsigned long long)seed,
                 heddle_program_error(p)->text);
    heddle_program_launch(p, &(struct heddle_launch){0});
    twin_open(t, p, lanes);
    assert_int_equal(krig_open_as(&r, heddle_program_workload(p), lanes, 64, true),
                     0);
    assert_int_equal(r.ops->launch(r.self, &l), 1);
    for (uint32_t b = 0; b < l.blocks; b++) {
        uint64_t threads;

        assert_int_equal(r.ops->block_start(r.self, b, &k.ctx), 0);
        k.threads = 0;
        run_block(&k, l.warps);
        r.ops->block_end(r.self, k.ctx);
        t->block = b;
        threads = twin_threads(t, lanes);
        if (threads != k.threads)
            fail_msg("seed %llu, block %u: %llu instructions of threads, twin "
                     "%llu",
                     (unsigned long long)seed, b, (unsigned long long)k.threads,
                     (unsigned long long)threads);
    }
    compare_contents(&r, t, seed);
    krig_close(&r);
    heddle_program_free(p);
    *refused += k.refused;
    return k.formed;
}

static void run_all(uint32_t lanes)
{
    struct kasm *a = malloc(sizeof(*a));
    struct twin *t = calloc(1, sizeof(*t));
    const char *given = getenv("HEDDLE_PROGRAMS");
    uint64_t programs = given != NULL ? strtoull(given, NULL, 10) : 2500;
    uint32_t formed = 0, refused = 0;

    t->log.v = calloc(EVENTS, sizeof(struct event));
    for (uint64_t seed = 1; seed <= programs / 2; seed++)
        formed += run_program(a, t, seed, lanes, &refused);
    assert_true(formed > 5 * programs); /* the programs diverge, */
    assert_true(refused > programs / 2);     /* and some may not join */
    free(t->log.v);
    free(t);
    free(a);
}

static void test_32(void **state)
{
    (void)state;
    run_all(32);
}

static void test_64(void **state)
{
    (void)state;
    run_all(64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_32),
        cmocka_unit_test(test_64),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
