/*
 * lbudget.c - how much code behind a fence may use: instructions and memory.
 *
 * Instructions are looked at every LP_HOOK of them, by a count hook of the
 * thread that runs.  When they are used up, every further one raises, so that
 * pcall in the script cannot swallow it.  Memory is counted by the allocator of
 * the state while a call lasts, and what calls have left allocated is held
 * against those that follow.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lpolicy.h"

#include <stdint.h>

void lp_budget_hook(lua_State *L, lua_Debug *ar)
{
    struct lp_world *w = lp_world(L);

    if (w->spent == NULL || ++w->fired <= w->limit)
        return;
    w->over = 1;
    lua_sethook(L, lp_budget_hook, LUA_MASKCOUNT, 1);
    if (lua_getinfo(L, "Sl", ar) && ar->currentline > 0)
        lua_pushfstring(L, "%s:%d: ", ar->short_src, ar->currentline);
    else
        lua_pushliteral(L, "");
    lua_pushfstring(L, "more than %I instructions %s",
                    (LUAI_UACINT)w->spent->instructions, w->spent->per);
    lua_concat(L, 2);
    lua_error(L);
}

static void *bounded_alloc(void *ud, void *ptr, size_t osize, size_t nsize)
{
    struct lp_world *w = ud;
    size_t old = ptr ? osize : 0;
    void *out;

    if (nsize > old && w->grown + (nsize - old) > w->room &&
        w->grown + (nsize - old) < SIZE_MAX / 2) {
        w->denied = 1;
        return NULL;
    }
    out = w->alloc(w->alloc_ud, ptr, osize, nsize);
    if (out != NULL || nsize == 0)
        w->grown += nsize - old; /* wraps below 0 when more is freed */
    return out;
}

static void count_memory(struct lp_world *w, lua_State *T, size_t room)
{
    w->grown = 0;
    w->room = room;
    w->alloc = lua_getallocf(T, &w->alloc_ud);
    lua_setallocf(T, bounded_alloc, w);
}

/* Frees what calls have left behind; the owner's own share is what stays.  It
 * is done well before the budget is reached, because buffers of the string
 * library do not collect when memory is refused. */
static void collect(struct lp_world *w, lua_State *T, struct lp_budget *b)
{
    if (b->held > SIZE_MAX / 2) { /* more was freed than taken */
        b->held = 0;
        return;
    }
    count_memory(w, T, SIZE_MAX / 4);
    lua_gc(T, LUA_GCCOLLECT);
    lua_setallocf(T, w->alloc, w->alloc_ud);
    b->held += w->grown;
    if (b->held > SIZE_MAX / 2)
        b->held = 0;
    b->collect_at = b->bytes / 2;
    if (b->held > b->collect_at - b->bytes / 8)
        b->collect_at = b->held + b->bytes / 8;
}

void lp_budget_begin(struct lp_world *w, lua_State *T, struct lp_budget *b)
{
    w->spent = b;
    w->fired = 0;
    w->limit = (uint32_t)(b->instructions / LP_HOOK);
    w->denied = 0;
    count_memory(w, T, b->bytes - (b->held < b->bytes ? b->held : b->bytes));
}

void lp_budget_end(struct lp_world *w, lua_State *T)
{
    struct lp_budget *b = w->spent;

    lua_setallocf(T, w->alloc, w->alloc_ud);
    w->spent = NULL;
    b->held += w->grown;
    if (b->held > b->collect_at)
        collect(w, T, b);
    if (w->over) {
        w->over = 0;
        lua_sethook(T, lp_budget_hook, LUA_MASKCOUNT, LP_HOOK);
    }
}
