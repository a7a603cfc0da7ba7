/*
 * 423-load-survey.c - surveys: programs measured without time.
 *
 * Pinned: resident blocks take turns of one memory instruction a warp, no more
 * blocks than there is room for, barriers hold; counts by kernel, what a launch
 * shares with earlier ones and with other kernels, the allocations' pages; the
 * classes of reuse against an LRU stack that is a plain array, and at the
 * bounds; the picture, folded, loses no access; the limit cuts; errors have
 * words.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kit/rng.h"
#include "kit/env.h"
#include "survey/survey-pages.h"
#include "core/functional.h"
#include "texts.h"

enum { BLOCKS = 4, WARPS = 2 };

/*
 * Launches a, b, a of four blocks of two warps of 32 and 16 threads.  A warp:
 * load 4 bytes a lane from page 2 block + warp on; 9 ALU; barrier; store, odd
 * lanes, lane l in page 100 + l; exit.  Kernel b loads from page 50 on.
 */
struct fake {
    struct hd_source src;
    struct hd_env *env;
    uint32_t launches, step[BLOCKS][WARPS];
    uint64_t block[BLOCKS]; /* of a context */
    uint32_t resident, most;
    hd_va lane[64];
    int fail;
};

static int fake_bind(void *self, struct hd_env *env, uint32_t app,
                     uint32_t lanes, uint32_t slots)
{
    struct fake *f = self;

    (void)app;
    assert_true(lanes == 32 && slots >= WARPS);
    f->env = env;
    f->launches = 0;
    return 0;
}

static bool fake_alloc(void *self, uint32_t i, struct hd_alloc *out)
{
    static const struct {
        uint64_t base, bytes;
    } list[] = {{100 * 4096, 32 * 4096}, {0, 4096 + 1}, {4096 + 256, 4096}};

    (void)self;
    if (i > 2)
        return false;
    out->base.v = list[i].base;
    out->bytes = list[i].bytes;
    return true;
}

static int fake_launch(void *self, struct hd_launch *out)
{
    struct fake *f = self;

    if (f->launches == 3)
        return 0;
    snprintf(out->name, sizeof out->name, "%s", f->launches == 1 ? "b" : "a");
    out->id = ++f->launches;
    out->blocks = BLOCKS;
    out->warps = WARPS;
    out->lanes = 32;
    out->threads = 48;
    out->regs = 10;
    return 1;
}

static int fake_block_start(void *self, uint64_t block, uint32_t *ctx)
{
    struct fake *f = self;

    *ctx = (uint32_t)block;
    f->step[block][0] = f->step[block][1] = 0;
    if (++f->resident > f->most)
        f->most = f->resident;
    return 0;
}

static void fake_block_end(void *self, uint32_t ctx)
{
    struct fake *f = self;

    assert_true(f->step[ctx][0] == 5 && f->step[ctx][1] == 5);
    f->resident--;
}

static void fake_next(void *self, uint32_t ctx, uint32_t warp, struct hd_op *op)
{
    static const uint8_t kind[] = {HEDDLE_OP_LOAD, HEDDLE_OP_ALU,
                                   HEDDLE_OP_BARRIER, HEDDLE_OP_STORE,
                                   HEDDLE_OP_EXIT};
    struct fake *f = self;
    uint64_t all = warp == 0 ? 0xffffffff : 0xffff;

    memset(op, 0, sizeof *op);
    op->kind = kind[f->step[ctx][warp]++];
    op->bytes = 4;
    op->count = op->kind == HEDDLE_OP_ALU ? 9 : 1;
    op->mask = op->kind == HEDDLE_OP_STORE ? 0xaaaaaaaa & all : all;
    if (f->fail && op->kind == HEDDLE_OP_STORE)
        hd_err_set(f->env->err, HEDDLE_EPROGRAM, "the store is wrong");
}

static void fake_access(void *self, uint32_t ctx, uint32_t warp,
                        struct hd_access *acc)
{
    struct fake *f = self;

    if (f->step[ctx][warp] == 1) { /* the load */
        acc->base.v = 4096ull * ((f->launches == 2 ? 50 : 0) + 2 * ctx + warp);
        acc->stride = 4;
        return;
    }
    for (uint32_t l = 0; l < 32; l++)
        f->lane[l].v = 4096ull * (100 + l);
    acc->lane = f->lane;
}

static void fake_unbind(void *self)
{
    (void)self;
}

static const struct hd_source_ops fake_ops = {
    .bind = fake_bind,
    .alloc = fake_alloc,
    .launch = fake_launch,
    .block_start = fake_block_start,
    .block_end = fake_block_end,
    .next = fake_next,
    .access = fake_access,
    .unbind = fake_unbind,
};

static void fake_make(struct fake *f)
{
    memset(f, 0, sizeof *f);
    f->src.ops = &fake_ops;
    f->src.self = f;
}

/* ---- turns --------------------------------------------------------------- */

struct log {
    char text[2048];
    struct fake *f;
};

static int note(void *ud, const struct hd_step *t)
{
    static const char letter[] = "alsA|x"; /* by enum heddle_op */
    struct log *log = ud;
    size_t n = strlen(log->text);

    if (t->launch->id > 1)
        return 42;
    assert_true(t->exist == 0xffffffff || t->exist == 0xffff);
    snprintf(log->text + n, sizeof log->text - n, "%c", letter[t->op->kind]);
    return 0;
}

static const char *order(struct log *log, struct hd_room room)
{
    struct fake *f = log->f;
    struct hd_functional t = {.src = &f->src,
                              .name = "survey",
                              .v = {.step = note, .ud = log},
                              .room = &room};
    struct heddle_error err = {0};

    fake_make(f);
    log->text[0] = '\0';
    assert_int_equal(hd_functional_run(&t, &err), 42);
    return log->text;
}

static void turns_are_fair(void **state)
{
    struct fake f;
    struct log log = {.f = &f};
    struct hd_room room = {1, 2, 64, 1024, 65536, 0};

    (void)state;
    /* one at a time: both warps load, both reach the barrier, ... */
    assert_string_equal(order(&log, (struct hd_room){0}),
                        "lla|a|ssxxlla|a|ssxxlla|a|ssxxlla|a|ssxx");
    assert_int_equal(f.most, 1);
    assert_string_equal(order(&log, room),
                        "lllla|a|a|a|ssssxxxxlllla|a|a|a|ssssxxxx");
    assert_int_equal(f.most, 2);
    room.cores = 2;
    order(&log, room);
    assert_int_equal(f.most, 4);
}

static void room_is_what_a_core_has(void **state)
{
    static const struct {
        struct hd_room room;
        uint32_t most;
    } cases[] = {
        {{1, 9, 9, 1024, 65536, 0}, 4}, {{1, 3, 9, 1024, 65536, 0}, 3},
        {{1, 9, 6, 1024, 65536, 0}, 3}, {{1, 9, 9, 96, 65536, 0}, 2},
        {{1, 9, 9, 1024, 1536, 0}, 2},  {{1, 9, 9, 1024, 1535, 0}, 1},
        {{1, 9, 9, 1024, 47, 0}, 1},
    };
    struct fake f;
    struct log log = {.f = &f};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        order(&log, cases[i].room);
        assert_int_equal(f.most, cases[i].most);
    }
}

/* ---- counts -------------------------------------------------------------- */

static heddle_survey *run(struct fake *f, struct heddle_survey_options o)
{
    heddle_survey *s;

    fake_make(f);
    assert_int_equal(heddle_survey_run(hd_workload(&f->src), &o, &s, NULL, 0),
                     0);
    return s;
}

static void kernels_are_counted(void **state)
{
    struct fake f;
    heddle_survey *s = run(&f, (struct heddle_survey_options){0});
    const struct heddle_survey_kernel *a = heddle_survey_kernel(s, 0);
    const struct heddle_survey_kernel *b = heddle_survey_kernel(s, 1);
    const struct heddle_survey_use *u;

    (void)state;
    assert_null(heddle_survey_kernel(s, 2));
    assert_string_equal(a->name, "a");
    assert_true(a->launches == 2 && b->launches == 1 && a->blocks == 8);
    assert_true(b->instructions == 8 * 13); /* warps, instructions */
    assert_true(b->thread_instructions ==
                4 * (12 * 32 + 16) + 4 * (12 * 16 + 8));
    assert_true(b->divergent == 8); /* the stores */
    assert_true(b->loads == 8 && b->stores == 8 && b->barriers == 8);
    assert_true(b->lanes == 4 * (32 + 16 + 16 + 8));
    assert_true(b->load_lanes == 4 * (32 + 16) && b->load_lines == 8);
    assert_true(b->lines == 8 + 4 * (16 + 8) && b->pages == b->lines);
    assert_true(b->line_hist[1] == 8 && b->line_hist[16] == 4 &&
                b->line_hist[8] == 4);
    assert_memory_equal(b->page_hist, b->line_hist, sizeof b->page_hist);
    /* the stores are to the first allocation, the loads of a to the others */
    u = heddle_survey_use(s, 1, 0, 1);
    assert_true(u->instructions == 8 && u->lanes == 4 * (16 + 8) &&
                u->lines == 4 * (16 + 8) && u->pages == u->lines);
    assert_int_equal(heddle_survey_use(s, 1, 1, 0)->instructions, 0);
    assert_int_equal(heddle_survey_use(s, 0, 1, 0)->instructions, 4);
    assert_int_equal(heddle_survey_use(s, 0, 2, 0)->instructions, 2);
    assert_null(heddle_survey_use(s, 2, 0, 0));
    assert_null(heddle_survey_use(s, 0, 3, 0));
    assert_null(heddle_survey_use(s, 0, 0, 3));
    heddle_survey_free(s);
}

static void sharing_is_by_launch_and_kernel(void **state)
{
    struct fake f;
    heddle_survey *s = run(&f, (struct heddle_survey_options){0});
    const struct heddle_survey_result *r = heddle_survey_result(s);
    const struct heddle_survey_kernel *a = heddle_survey_kernel(s, 0);
    const struct heddle_survey_kernel *b = heddle_survey_kernel(s, 1);
    uint32_t kernel;
    uint64_t start;

    (void)state;
    /* 8 loaded pages and the 16 pages of the odd lanes */
    assert_true(a->pages_touched == 48 && b->pages_touched == 24);
    assert_true(b->pages_before == 16 && b->pages_other == 16);
    assert_true(a->pages_before == 24 && a->pages_other == 16);
    assert_true(a->lines_touched == 48 && a->lines_before == 24);
    assert_true(b->lines_touched == 24 && b->lines_before == 16);
    assert_true(r->pages == 32 && r->lines == 32 && r->once == 8);
    assert_true(r->first_pages == 24 && r->first_lines == 24);
    assert_true(r->launches == 3 && r->kernels == 2 && !r->cut);
    assert_int_equal(heddle_survey_launch(s, 2, &kernel, &start), 0);
    assert_true(kernel == 0 && start == 32);
    assert_int_equal(heddle_survey_launch(s, 3, &kernel, &start),
                     HEDDLE_EINVAL);
    /* allocations share page 1, and page 2 is part of the third */
    assert_true(r->allocated == 33 * 4096 + 1 + 4096);
    assert_int_equal(r->allocated_pages, 32 + 3);
    heddle_survey_free(s);
}

static void picture_keeps_every_access(void **state)
{
    struct heddle_survey_options o = {.columns = 5, .rows = 10};
    struct fake f;
    heddle_survey *s = run(&f, o);
    const struct heddle_survey_result *r = heddle_survey_result(s);
    uint64_t sum = 0, low = 0;

    (void)state;
    /* 48 memory instructions in 4 columns; 132 pages in 10 rows of 14 */
    assert_true(r->column_accesses == 16 && r->columns == 3);
    assert_true(r->row_pages == 14 && r->rows == 10 && r->base == 0);
    for (uint32_t c = 0; c < r->columns; c++)
        for (uint32_t i = 0; i < r->rows; i++)
            sum += heddle_survey_cell(s, c, i);
    for (uint32_t c = 0; c < r->columns; c++)
        low += heddle_survey_cell(s, c, 0);
    assert_int_equal(sum, 3 * (8 + 4 * (16 + 8)));
    assert_int_equal(low, 2 * 8);
    assert_int_equal(heddle_survey_cell(s, 1, 3), 6); /* pages 50 to 55 */
    assert_int_equal(heddle_survey_cell(s, 9, 0), 0);
    heddle_survey_free(s);
}

static int stop(void *ud)
{
    return ++*(int *)ud, -99;
}

static void ends_early(void **state)
{
    struct heddle_survey_options o = {.limit = 15};
    char error[100] = "";
    struct fake f;
    heddle_survey *s = run(&f, o);
    int asked = 0;

    (void)state;
    assert_true(heddle_survey_result(s)->cut);
    /* two loads, two runs of 9 with their barriers: past 15 after the second */
    assert_int_equal(heddle_survey_kernel(s, 0)->instructions, 21);
    heddle_survey_free(s);
    f.fail = 1;
    assert_int_equal(
        heddle_survey_run(hd_workload(&f.src), NULL, &s, error, sizeof error),
        HEDDLE_EPROGRAM);
    assert_null(s);
    assert_string_equal(error, "the store is wrong");
    o = (struct heddle_survey_options){.lanes = 48};
    assert_int_equal(
        heddle_survey_run(hd_workload(&f.src), &o, &s, error, sizeof error),
        HEDDLE_EINVAL);
    assert_text(error, "48 lanes");
    fake_make(&f); /* too short to be asked */
    o = (struct heddle_survey_options){.stop = stop, .ud = &asked};
    assert_int_equal(
        heddle_survey_run(hd_workload(&f.src), &o, &s, error, sizeof error), 0);
    assert_int_equal(asked, 0);
    heddle_survey_free(s);
}

/* ---- reuse --------------------------------------------------------------- */

static uint32_t touch(struct hd_seen *s, uint64_t vpn)
{
    return hd_seen_access(s, hd_seen_find(s, vpn));
}

/* The class by definition: the page's place in a list of the last accesses. */
static uint32_t naive(uint64_t *stack, uint32_t *n, uint64_t vpn)
{
    uint32_t at = 0, class = 0;

    while (at < *n && stack[at] != vpn)
        at++;
    if (at == *n) {
        class = HD_REUSE_FIRST;
        ++*n;
    } else {
        while (class < HD_REUSE_BOUNDS && at + 1 > hd_reuse_bound[class])
            class ++;
    }
    memmove(stack + 1, stack, at * sizeof *stack);
    stack[0] = vpn;
    return class;
}

static void reuse_is_lru_depth(void **state)
{
    uint64_t *stack = malloc(6000 * sizeof *stack);
    struct hd_seen s;
    uint32_t n = 0;

    (void)state;
    hd_seen_open(&s);
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t r = hd_mix64(i), span = 1ull << (r >> 60);
        uint64_t vpn = (r & 0xffffffff) % (span < 5000 ? span : 5000);

        assert_int_equal(touch(&s, vpn), naive(stack, &n, vpn));
    }
    assert_int_equal(s.n, n);
    hd_seen_close(&s);
    free(stack);
}

static void reuse_at_its_bounds(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < HD_REUSE_BOUNDS; k++)
        for (uint32_t more = 0; more < 2; more++) {
            uint64_t n = hd_reuse_bound[k] + more, i;
            struct hd_seen s;

            hd_seen_open(&s);
            for (i = 0; i < n; i++)
                assert_int_equal(touch(&s, i << 20), HD_REUSE_FIRST);
            for (i = 0; i < 2 * n; i++)
                assert_int_equal(touch(&s, (i % n) << 20), k + more);
            hd_seen_close(&s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_are_fair),
        cmocka_unit_test(room_is_what_a_core_has),
        cmocka_unit_test(kernels_are_counted),
        cmocka_unit_test(sharing_is_by_launch_and_kernel),
        cmocka_unit_test(picture_keeps_every_access),
        cmocka_unit_test(ends_early),
        cmocka_unit_test(reuse_is_lru_depth),
        cmocka_unit_test(reuse_at_its_bounds),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
