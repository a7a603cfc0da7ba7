/*
 * 421-load-functional.c - running a workload without a machine.
 *
 * Pinned, with a source of the test's own: the order (warps by number, each to
 * its barrier, then again), affine and per-lane addresses, masks, `every` and
 * `launches`, a visitor that stops, and an error of the source.
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

#include "kit/env.h"
#include "heddle_survey.h"
#include "points/source.h"
#include "texts.h"

/* Two launches; launch n has n + 1 blocks of two warps.  A warp does: load
 * (affine, 4 bytes), barrier, store (lane l at 4096 l, odd lanes only), exit.
 */
struct fake {
    struct hd_source src;
    struct hd_env *env;
    uint32_t launches, step[2];
    uint64_t block;
    hd_va lane[64];
    int unbound, fail_at_store;
};

static int fake_bind(void *self, struct hd_env *env, uint32_t app,
                     uint32_t lanes, uint32_t slots)
{
    struct fake *f = self;

    assert_int_equal(app, 0);
    assert_true(lanes == 32 && slots >= 64);
    assert_non_null(hd_arena_take(env->arena, 1, 100));
    f->env = env;
    f->launches = 0;
    return 0;
}

static bool fake_alloc(void *self, uint32_t i, struct hd_alloc *out)
{
    (void)self;
    if (i > 1)
        return false;
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", i ? "far" : "near");
    out->base.v = i ? 0x100000 : 0x1000;
    out->bytes = i ? 0x100000 : 0x1000;
    return true;
}

static int fake_launch(void *self, struct hd_launch *out)
{
    struct fake *f = self;

    if (f->launches == 2)
        return 0;
    snprintf(out->name, sizeof out->name, "k%u", f->launches);
    out->id = ++f->launches;
    out->blocks = out->id;
    out->warps = 2;
    out->lanes = 32;
    out->threads = 64;
    return 1;
}

static int fake_block_start(void *self, uint64_t block, uint32_t *ctx)
{
    struct fake *f = self;

    f->block = block;
    f->step[0] = f->step[1] = 0;
    *ctx = 7;
    return 0;
}

static void fake_block_end(void *self, uint32_t ctx)
{
    (void)self;
    assert_int_equal(ctx, 7);
}

static void fake_next(void *self, uint32_t ctx, uint32_t warp, struct hd_op *op)
{
    static const uint8_t kind[] = {HEDDLE_OP_LOAD, HEDDLE_OP_ALU,
                                   HEDDLE_OP_BARRIER, HEDDLE_OP_STORE,
                                   HEDDLE_OP_EXIT};
    struct fake *f = self;

    assert_int_equal(ctx, 7);
    op->kind = kind[f->step[warp]];
    op->bytes = 4;
    op->count = op->kind == HEDDLE_OP_ALU ? 9 : 1;
    op->mask = op->kind == HEDDLE_OP_STORE ? 0xaaaaaaaa : 0xffffffff;
    f->step[warp]++;
    if (f->fail_at_store && op->kind == HEDDLE_OP_STORE)
        hd_err_set(f->env->err, HEDDLE_EPROGRAM, "the store is wrong");
}

static void fake_access(void *self, uint32_t ctx, uint32_t warp,
                        struct hd_access *acc)
{
    struct fake *f = self;
    uint32_t l;

    (void)ctx;
    if (f->step[warp] == 1) { /* the load */
        acc->base.v = 0x1000 + 128 * warp;
        acc->stride = 4;
        return;
    }
    for (l = 0; l < 32; l++)
        f->lane[l].v = 0x100000 + 4096 * l;
    acc->lane = f->lane;
}

static void fake_unbind(void *self)
{
    ((struct fake *)self)->unbound++;
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

struct log {
    char text[4096];
    int stop_after;
};

static int note(void *ud, const struct heddle_each_op *op)
{
    struct log *log = ud;
    size_t n = strlen(log->text);

    snprintf(log->text + n, sizeof log->text - n, "%s.%d.%d.%s ", op->kernel,
             (int)op->block, (int)op->warp, heddle_op_name(op->kind));
    if (op->kind == HEDDLE_OP_LOAD) {
        assert_int_equal(op->address[0], 0x1000 + 128 * op->warp);
        assert_int_equal(op->address[31], 0x1000 + 128 * op->warp + 124);
    }
    if (op->kind == HEDDLE_OP_STORE) {
        assert_int_equal(op->mask, 0xaaaaaaaa);
        assert_int_equal(op->address[1], 0x101000);
        assert_int_equal(op->address[31], 0x11f000);
    }
    return log->stop_after && --log->stop_after == 0 ? 42 : 0;
}

static void order_is_canonical(void **state)
{
    struct fake f;
    struct log log = {0};
    struct heddle_each_options o = {.launches = 1};

    (void)state;
    fake_make(&f);
    assert_int_equal(heddle_each(hd_workload(&f.src), &o, note, &log, NULL, 0),
                     0);
    assert_string_equal(log.text,
                        "k0.0.0.load k0.0.0.alu k0.0.0.barrier "
                        "k0.0.1.load k0.0.1.alu k0.0.1.barrier "
                        "k0.0.0.store k0.0.0.exit k0.0.1.store k0.0.1.exit ");
    assert_int_equal(f.unbound, 1);
}

static void every_second_block(void **state)
{
    struct fake f;
    struct log log = {0};
    struct heddle_each_options o = {.every = 2};

    (void)state;
    fake_make(&f);
    assert_int_equal(heddle_each(hd_workload(&f.src), &o, note, &log, NULL, 0),
                     0);
    assert_text(log.text, "k1.0.1.exit");
    assert_null(strstr(log.text, "k1.1."));
}

static void visitor_stops(void **state)
{
    struct fake f;
    struct log log = {.stop_after = 3};

    (void)state;
    fake_make(&f);
    assert_int_equal(
        heddle_each(hd_workload(&f.src), NULL, note, &log, NULL, 0), 42);
    assert_string_equal(log.text, "k0.0.0.load k0.0.0.alu k0.0.0.barrier ");
    assert_int_equal(f.unbound, 1);
}

static void errors_have_words(void **state)
{
    struct fake f;
    struct log log = {0};
    struct heddle_each_options o = {.lanes = 48};
    char error[100] = "";

    (void)state;
    fake_make(&f);
    f.fail_at_store = 1;
    assert_int_equal(
        heddle_each(hd_workload(&f.src), NULL, note, &log, error, sizeof error),
        HEDDLE_EPROGRAM);
    assert_string_equal(error, "the store is wrong");
    assert_int_equal(
        heddle_each(hd_workload(&f.src), &o, note, &log, error, sizeof error),
        HEDDLE_EINVAL);
    assert_text(error, "48 lanes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_canonical),
        cmocka_unit_test(every_second_block),
        cmocka_unit_test(visitor_stops),
        cmocka_unit_test(errors_have_words),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
