/*
 * memenv.h - an environment for tests of single parts of the memory system.
 * SPDX-License-Identifier: MIT
 */
#ifndef T_MEMENV_H
#define T_MEMENV_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "kit/env.h"
#include "points/slots.h"

struct memenv {
    struct hd_arena arena;
    struct hd_events ev;
    struct hd_stats stats;
    struct hd_clocks clk;
    struct hd_slots slots;
    struct hd_steer steer;
    struct heddle_error err;
    struct hd_env env;
};

/* Core and DRAM at 2 GHz, L2 at 1 GHz: a core cycle is one tick, an L2 cycle
 * two.  No policy registry: every slot keeps its default. */
static inline struct hd_env *memenv_open(struct memenv *m, uint32_t apps)
{
    memset(m, 0, sizeof *m);
    m->clk.hz[HD_CLK_CORE] = m->clk.hz[HD_CLK_ISSUE] = 2000000000;
    m->clk.hz[HD_CLK_DRAM] = 2000000000;
    m->clk.hz[HD_CLK_L2] = m->clk.hz[HD_CLK_LINK] = 1000000000;
    assert_int_equal(hd_clocks_init(&m->clk, &m->err), 0);
    assert_int_equal(hd_arena_open(&m->arena, (size_t)1 << 30), 0);
    assert_int_equal(hd_events_open(&m->ev, &m->arena, 1), 0);
    hd_stats_open(&m->stats, &m->arena, apps);
    m->env.arena = &m->arena;
    m->env.ev = &m->ev;
    m->env.stats = &m->stats;
    m->env.clk = &m->clk;
    m->env.err = &m->err;
    m->env.seed = 1;
    m->env.apps = apps;
    m->env.check = true;
    return &m->env;
}

/* What the parts' own checks find, those of that name or (NULL) all: "" if all
 * is well. */
static inline const char *memenv_check(struct memenv *m, const char *name)
{
    for (uint32_t i = 0; i < m->env.parts; i++) {
        const struct hd_part *p = &m->env.part[i];

        for (uint32_t k = 0; k < p->instances; k++)
            if (p->check != NULL &&
                (name == NULL || strcmp(p->name, name) == 0))
                p->check(p->self, k, &m->err);
    }
    return m->err.text;
}

static inline void memenv_close(struct memenv *m)
{
    hd_env_free(&m->env);
    hd_arena_close(&m->arena);
}

#endif
