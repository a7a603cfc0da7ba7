/*
 * lgenwarp.c - the coroutine of a warp, and how it is made again.
 *
 * A coroutine cannot be copied.  What the arena has of a warp is how many
 * instructions it has given and a hash of them; a coroutine is wiring.  It is
 * made when an instruction is wanted of it, and where it is not where the arena
 * says (the state was exchanged by a restore, or in a fork there is none yet),
 * it is made anew and run to that count.  The hash tells whether it gave the
 * same instructions as before; if not, the script depends on something else
 * than its parameters, and the run stops.
 *
 * A coroutine keeps its thread for the next warp in its place when it has come
 * to its end; one that was left in the middle is dropped.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "lgen.h"
#include "lheddle.h"

enum { ERROR_ROOM = 800 };

/* ---- beginning ---------------------------------------------------------- */

static void set(lua_State *L, const char *name, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

/* Pushes the table t of a warp: its place. */
static void push_t(lua_State *L, const struct lg_warp *x,
                   const struct heddle_work_launch *k)
{
    uint64_t b = x->block, first = (uint64_t)x->warp * x->lanes;
    uint64_t threads = (uint64_t)k->block[0] * k->block[1] * k->block[2];

    lua_createtable(L, 0, 16);
    set(L, "launch", x->launch);
    set(L, "block", b);
    set(L, "bx", b % k->grid[0]);
    set(L, "by", b / k->grid[0] % k->grid[1]);
    set(L, "bz", b / k->grid[0] / k->grid[1]);
    set(L, "nx", k->grid[0]);
    set(L, "ny", k->grid[1]);
    set(L, "nz", k->grid[2]);
    set(L, "warp", x->warp);
    set(L, "lanes", x->lanes);
    set(L, "tid", first);
    set(L, "gid", b * threads + first);
    set(L, "live", x->threads);
}

/* [1] the generator's table [2] warp [3] kernel: puts function
 * and arguments on the stack of the coroutine, which is made if need be. */
static int begin(lua_State *L)
{
    struct lg_warp *x = lua_touserdata(L, 2);

    if (x->T == NULL) {
        lua_rawgeti(L, 1, LG_THREADS);
        x->T = lua_newthread(L);
        lua_sethook(x->T, lp_budget_hook, LUA_MASKCOUNT, LP_HOOK);
        lua_rawseti(L, -2, (lua_Integer)x->place + 1);
        lua_pop(L, 1);
    }
    lua_rawgeti(L, 1, LG_FN);
    lua_rawgeti(L, -1, x->launch);
    lua_replace(L, -2);
    push_t(L, x, lua_touserdata(L, 3));
    lua_rawgeti(L, 1, LG_ARGS);
    lua_rawgeti(L, -1, x->launch);
    lua_setfield(L, -3, "args");
    lua_pop(L, 1);
    lua_rawgeti(L, 1, LG_META);
    lua_setmetatable(L, -2);
    x->t = lua_topointer(L, -1);
    lua_rawgeti(L, 1, LG_B);
    lua_rawgeti(L, 1, LG_P);
    luaL_checkstack(x->T, 8, "a warp");
    lua_settop(x->T, 0);
    lua_xmove(L, x->T, 4);
    return 0;
}

/* ---- errors ------------------------------------------------------------- */

/* [1] light pointer to the coroutine: its error, with a traceback. */
static int describe(lua_State *L)
{
    lua_State *T = lua_touserdata(L, 1);

    lua_xmove(T, L, 1); /* the error */
    if (hl_is_no_memory(L, -1))
        return 1;
    luaL_traceback(L, T, hl_error_text(L, -1), 0);
    return 1;
}

static void end_with(struct lg_warp *x, const char *text)
{
    size_t n = strlen(text);

    n = n < ERROR_ROOM ? n : ERROR_ROOM - 1;
    x->ended = 1;
    x->T = NULL; /* it is dead */
    x->error = malloc(n + 1);
    if (x->error == NULL)
        return;
    memcpy(x->error, text, n);
    x->error[n] = '\0';
}

static void failed(struct lg *g, struct lg_warp *x, int rc)
{
    lua_State *H = g->H;
    char text[96];

    if (g->w->denied) {
        lp_budget_text(g->w, g->budget.bytes >> 20, "MB", text, sizeof text);
        end_with(x, text);
        return;
    }
    if (rc == LUA_ERRMEM || hl_is_no_memory(x->T, -1)) {
        end_with(x, HEDDLE_NO_MEMORY);
        return;
    }
    lua_pushcfunction(H, describe);
    lua_pushlightuserdata(H, x->T);
    rc = lua_pcall(H, 1, 1, 0);
    if (lua_isstring(H, -1) && (rc == LUA_OK || hl_is_no_memory(H, -1)))
        end_with(x, lua_tostring(H, -1));
    else
        end_with(x, "an error that cannot be shown");
    lua_settop(H, 1);
}

/* ---- going on ----------------------------------------------------------- */

static int begin_protected(struct lg *g, struct lg_warp *x,
                           const struct heddle_work_launch *k)
{
    lua_State *H = g->H;
    union {
        const struct heddle_work_launch *in;
        void *out;
    } u = {k};
    int rc;

    lua_pushcfunction(H, begin);
    lua_pushvalue(H, 1);
    lua_pushlightuserdata(H, x);
    lua_pushlightuserdata(H, u.out);
    rc = lua_pcall(H, 3, 0, 0);
    lua_settop(H, 1);
    if (rc != LUA_OK)
        end_with(x, HEDDLE_NO_MEMORY);
    x->begun = rc == LUA_OK;
    return rc;
}

/* Lets the coroutine give more instructions. */
static void resume(struct lg *g, struct lg_warp *x,
                   const struct heddle_work_launch *k)
{
    int args = 3, results = 0, rc;

    if (!x->begun) {
        if (begin_protected(g, x, k) != LUA_OK)
            return;
    } else {
        args = x->returns;
        if (args > 0)
            lua_pushinteger(x->T, x->token);
    }
    g->w->T = x->T;
    rc = lua_resume(x->T, NULL, args, &results);
    if (rc == LUA_YIELD) {
        lua_pop(x->T, results);
        return;
    }
    if (rc != LUA_OK) {
        failed(g, x, rc);
        return;
    }
    lua_settop(x->T, 0);
    x->ended = 1;
    if (lg_issue_exit(x) != 0)
        end_with(x, HEDDLE_NO_MEMORY);
}

/* Whether an instruction can be taken: an ALU run at the end may still grow. */
static int ready(const struct lg_warp *x)
{
    uint32_t n = x->n - x->first;

    return n > 1 || (n == 1 && (x->ended ||
                                x->item[x->first].op.kind != HEDDLE_WORK_ALU));
}

static void refill(struct lg *g, struct lg_warp *x,
                   const struct heddle_work_launch *k)
{
    struct lg_warp *outer = g->running;
    struct lp_world *w = g->w;

    if (x->first > 0) { /* what is left is one ALU run, or nothing */
        memmove(x->item, x->item + x->first,
                (x->n - x->first) * sizeof *x->item);
        x->n -= x->first;
        x->first = 0;
        x->pooled = 0;
    }
    w->generator = g;
    w->fence = &lg_fence;
    g->running = x;
    lp_budget_begin(w, g->H, &g->budget);
    while (!ready(x) && !x->ended)
        resume(g, x, k);
    lp_budget_end(w, g->H);
    g->running = outer;
    w->fence = NULL;
    w->generator = NULL;
    if ((w->metas & lg_fence.bit) && x->error == NULL &&
        lp_sandbox_metas(g->H, &lg_fence, 0)) {
        end_with(x, hl_error_text(g->H, -1));
        lua_settop(g->H, 1);
    }
}

/* ---- hashes ------------------------------------------------------------- */

/* What an instruction is, without padding. */
struct fingerprint {
    uint64_t mask, base, stride;
    uint32_t kind, count, bytes, slot, wait, pc, buffer, scattered;
};

static uint64_t hash_of(const struct lg_warp *x, const struct lg_item *i)
{
    struct fingerprint f = {.mask = i->op.mask,
                            .base = (uint64_t)i->base,
                            .stride = (uint64_t)i->stride,
                            .kind = i->op.kind,
                            .count = i->op.count,
                            .bytes = i->op.bytes,
                            .slot = i->op.slot,
                            .wait = i->op.wait,
                            .pc = i->op.pc,
                            .buffer = i->buffer,
                            .scattered = i->lanes != LG_AFFINE};
    uint64_t h = XXH3_64bits_withSeed(&f, sizeof f, x->hash);

    if (i->lanes != LG_AFFINE)
        h = XXH3_64bits_withSeed(x->pool + i->lanes, x->lanes * sizeof *x->pool,
                                 h);
    return h;
}

/* ---- warps -------------------------------------------------------------- */

void lg_warp_drop(struct lg_warp *x)
{
    free(x->item);
    free(x->pool);
    free(x->error);
    memset(x, 0, sizeof *x);
}

/* A warp from its start. */
static void renew(struct lg *g, struct lg_warp *x,
                  const struct heddle_work_call *c)
{
    struct lg_warp old = *x;

    free(x->error);
    memset(x, 0, sizeof *x);
    if (old.ended || !old.begun)
        x->T = old.T; /* at rest: good for another */
    x->item = old.item;
    x->room = old.room;
    x->pool = old.pool;
    x->pool_room = old.pool_room;
    x->launch = c->launch;
    x->block = c->block;
    x->warp = c->warp;
    x->lanes = c->lanes;
    x->threads = c->threads;
    x->place = c->place;
    x->key = heddle_work_mix(g->seed ^ heddle_work_mix(c->launch)) +
             heddle_work_mix(c->block) * 64 + c->warp;
}

static const struct lg_item *take(struct lg *g, struct lg_warp *x,
                                  const struct heddle_work_launch *k)
{
    const struct lg_item *i;

    if (!ready(x) && !x->ended)
        refill(g, x, k);
    if (x->first == x->n)
        return NULL;
    i = &x->item[x->first++];
    x->hash = hash_of(x, i);
    x->taken++;
    return i;
}

static int not_the_same(struct heddle_work_call *c)
{
    return heddle_work_fail(
        c, HEDDLE_EPROGRAM,
        "the generator is not deterministic: made again after a restore, its "
        "coroutine gave other instructions than before; what a warp does may "
        "depend on its place and the parameters, not on locals that other "
        "warps change");
}

struct lg_warp *lg_warp_at(struct lg *g, struct heddle_work_call *c,
                           uint64_t count)
{
    struct lg_warp *x = &g->warp[c->place];
    const uint64_t *hash = c->state;

    if (x->taken == count && x->launch == c->launch && x->block == c->block &&
        x->warp == c->warp && x->hash == *hash && (count > 0 || x->lanes != 0))
        return x;
    renew(g, x, c);
    while (x->taken < count) {
        if (take(g, x, c->kernel) == NULL) {
            not_the_same(c);
            return NULL;
        }
    }
    if (x->hash == *hash)
        return x;
    not_the_same(c);
    return NULL;
}

const struct lg_item *lg_warp_take(struct lg *g, struct heddle_work_call *c,
                                   struct lg_warp *x)
{
    const struct lg_item *i = take(g, x, c->kernel);
    uint64_t *hash = c->state;

    if (i == NULL) {
        heddle_work_fail(c, HEDDLE_EPROGRAM,
                         x->error != NULL ? x->error : HEDDLE_NO_MEMORY);
        return NULL;
    }
    *hash = x->hash;
    return i;
}
