/*
 * bound.h - a workload bound to an arena, without a machine: for tests that
 * drive its source as cores do.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BOUND_H
#define BOUND_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kit/arena.h"
#include "kit/env.h"
#include "points/source.h"

struct bound {
    struct hd_source *s;
    struct hd_arena arena;
    struct heddle_error err;
    struct hd_env env;
    struct hd_launch l;
};

/* Warps of 32 lanes in `slots` places; the first launch has begun. */
static void bind_to(struct bound *b, heddle_workload *w, uint32_t slots)
{
    memset(b, 0, sizeof *b);
    b->s = hd_workload_source(w);
    b->env = (struct hd_env){.arena = &b->arena, .err = &b->err, .apps = 1};
    assert_int_equal(hd_arena_open(&b->arena, 1 << 24), 0);
    assert_int_equal(b->s->ops->bind(b->s->self, &b->env, 0, 32, slots), 0);
    assert_int_equal(b->s->ops->launch(b->s->self, &b->l), 1);
}

static void leave(struct bound *b)
{
    b->s->ops->unbind(b->s->self);
    hd_arena_close(&b->arena);
}

#endif
