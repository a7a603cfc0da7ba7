/*
 * workfake.h - a work that does as it is told: the workload of the tests of
 * heddle_work.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef T_WORKFAKE_H
#define T_WORKFAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/base.h"
#include "kit/env.h"
#include "heddle_survey.h"
#include "heddle_work.h"
#include "points/source.h"
#include "texts.h"

enum { SIZE = 4096 };

/* A work that does as it is told. */
struct fake {
    struct heddle_work_op op[4]; /* of each warp, then its exit */
    uint32_t ops;
    struct heddle_work_access access;
    uint64_t byte[HEDDLE_WORK_LANES];
    struct heddle_work_launch launch;
    int launches, launch_rc, next_rc, access_rc, start_rc;
    uint64_t align;
    uint32_t gone_after; /* buffer 1 is given back by that launch */
    const char *words;
    int code;  /* with the words */
    int twice; /* two buffers have one name */
    const char *hashed;
    int opened, closed;
    uint64_t param[2];
    char text[1024];
};

static inline void *fake_open(struct heddle_work_open *o)
{
    struct fake *f = o->ud;

    if (o->argument != NULL && strcmp(o->argument, "no") == 0) {
        heddle_work_refuse(o, HEDDLE_EDATA, "it says no");
        return NULL;
    }
    if (f->hashed != NULL)
        heddle_work_hash(o, f->hashed, strlen(f->hashed));
    f->opened++;
    memcpy(f->param, o->params, sizeof f->param);
    return f;
}

static inline void fake_close(void *self)
{
    struct fake *f = self;

    f->closed++;
}

static inline size_t fake_bytes(void *self)
{
    (void)self;
    return 12;
}

static inline int fake_buffer(void *self, uint32_t i,
                              struct heddle_work_buffer *out)
{
    const struct fake *f = self;

    snprintf(out->name, sizeof out->name, "b%u", f->twice ? 0 : i);
    out->bytes = SIZE + 100;
    out->align = i == 1 ? f->align : 0;
    return i < 3;
}

static inline int fake_launch(struct heddle_work_call *c,
                              struct heddle_work_launch *out)
{
    const struct fake *f = c->self;
    uint32_t *shared = c->shared;

    assert_int_equal(++shared[0], c->launch); /* zeroed before the first */
    *out = f->launch;
    if (f->launch_rc != 0)
        return f->launch_rc;
    return c->launch <= (uint32_t)f->launches;
}

static inline int fake_gone(struct heddle_work_call *c, uint32_t i)
{
    const struct fake *f = c->self;

    return i == 1 && f->gone_after != 0 && c->launch > f->gone_after;
}

static int fake_users; /* of what warps keep */

static inline void fake_hold(void *kept)
{
    (*(int *)kept)++;
}

static inline void fake_drop(void *kept)
{
    (*(int *)kept)--;
}

static inline int fake_start(struct heddle_work_call *c)
{
    const struct fake *f = c->self;
    uint32_t *s = c->state;

    for (int i = 0; i < 3; i++)
        assert_int_equal(s[i], 0);
    assert_int_equal(c->count, 0);
    s[1] = 77;
    assert_null(*c->kept);
    *c->kept = &fake_users;
    fake_hold(*c->kept);
    return f->start_rc;
}

static inline int fake_next(struct heddle_work_call *c,
                            struct heddle_work_op *op)
{
    struct fake *f = c->self;
    uint32_t *s = c->state;
    size_t n = strlen(f->text);

    assert_int_equal(s[1], 77);
    assert_int_equal(s[0], c->count);
    if (s[0] == 0 && n < sizeof f->text - 40)
        snprintf(f->text + n, sizeof f->text - n, "%u.%u.%u:%u/%u ", c->launch,
                 (uint32_t)c->block, c->warp, c->lanes,
                 (unsigned)__builtin_popcountll(c->threads));
    if (s[0] < f->ops)
        *op = f->op[s[0]];
    else
        op->kind = HEDDLE_OP_EXIT;
    s[0]++;
    if (f->words != NULL)
        return heddle_work_fail(c, f->code, f->words);
    return f->next_rc;
}

static inline int fake_access(struct heddle_work_call *c,
                              struct heddle_work_access *out)
{
    const struct fake *f = c->self;
    const uint32_t *s = c->state;

    assert_int_equal(s[0], c->count + 1);
    memcpy(out->byte, f->byte, sizeof f->byte);
    out->buffer = f->access.buffer;
    out->scattered = f->access.scattered;
    out->base = f->access.base;
    out->stride = f->access.stride;
    return f->access_rc;
}

static const struct heddle_param params[] = {
    {"n", "things", 5, 1, 9, "how many", "a test"},
    {"how", "fast|slow", 0, 0, 1, "in which way", "a test"},
    {0}};

static const struct heddle_work work = {
    .abi = HEDDLE_WORK_ABI,
    .name = "fake",
    .params = params,
    .open = fake_open,
    .close = fake_close,
    .shared_bytes = fake_bytes,
    .state_bytes = fake_bytes,
    .buffer = fake_buffer,
    .launch = fake_launch,
    .gone = fake_gone,
    .start = fake_start,
    .next = fake_next,
    .access = fake_access,
    .hold = fake_hold,
    .drop = fake_drop,
};

/* Two warps a block, the second of 8 threads: a load of all lanes. */
static inline struct fake plain(void)
{
    struct fake f = {.ops = 1,
                     .op = {{.kind = HEDDLE_OP_LOAD, .bytes = 4, .slot = 1}},
                     .access = {.stride = 4},
                     .launch = {.name = "k", .grid = {2}, .block = {40}},
                     .launches = 1};

    return f;
}

static inline heddle_workload *make(struct fake *f, const char *argument)
{
    struct heddle_work_options o = {.ud = f, .argument = argument};
    struct heddle_error error;
    heddle_workload *w = heddle_work_new(&work, &o, &error);

    if (w == NULL)
        print_message("# %s\n", error.text);
    assert_non_null(w);
    assert_int_equal(error.code, 0);
    return w;
}

static inline int seen(void *ud, const struct heddle_each_op *op)
{
    uint64_t *sum = ud;

    if (op->kind == HEDDLE_OP_LOAD)
        for (uint32_t l = 0; l < op->lanes; l++)
            sum[0] += op->mask >> l & 1;
    sum[1] = op->kind == HEDDLE_OP_LOAD ? op->address[0] : sum[1];
    return 0;
}

#endif
