/*
 * lbudget.c - how much code behind a fence may use: instructions and memory.
 *
 * Instructions are looked at every LP_HOOK of them, by a count hook of the
 * thread that runs.  The functions of the library that go over texts and lists
 * count what they do as instructions, too (lp_budget_use), and memory counts
 * by what it costs to fill.  So nothing that one call does runs for ever,
 * whatever it was given.  When the budget is used up, every further
 * instruction raises, and neither pcall nor a message handler of the script
 * can swallow it (lsandbox.c): hooks are off while a hook raises, so a handler
 * that runs then would be under no budget at all.
 *
 * Memory is counted by the allocator of the state while a call lasts, and what
 * calls have left allocated is held against those that follow.  That memory
 * was refused cannot be caught either: when it is depends on when garbage was
 * collected, and an answer must not.
 *
 * Ctrl-C ends a call that has used a good deal already; others end by
 * themselves and the run stops behind them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lheddle.h"
#include "lpolicy.h"

#include <stdint.h>
#include <stdio.h>

enum {
    PATIENCE = 100,     /* hooks before Ctrl-C ends a call */
    FILLED_AT_ONCE = 10 /* log2: bytes of memory filled in an instruction */
};

static int lbudget_hit(const struct lp_world *w)
{
    return w->in != NULL && w->in->hit;
}

/* Adds to what the call has used, and raises if it was too much. */
static void lbudget_look(lua_State *L, struct lp_world *w, uint64_t hooks)
{
    if (w->spent == NULL) { /* code of a file: no budget */
        if (lbudget_hit(w))
            hl_raise(L, HL_EINTERRUPT, "interrupted");
        return;
    }
    w->fired += hooks;
    if (w->fired <= w->limit && !(lbudget_hit(w) && w->fired > PATIENCE))
        return;
    w->over = 1;
    lua_sethook(L, lp_budget_hook, LUA_MASKCOUNT, 1);
    if (lbudget_hit(w))
        lp_raise(L, "interrupted");
    lp_raise(L, "more than %I instructions %s",
             (LUAI_UACINT)w->spent->instructions, w->spent->per);
}

void lp_budget_count(lua_State *L, struct lp_world *w)
{
    uint64_t hooks = w->used / LP_HOOK;

    w->used %= LP_HOOK;
    lbudget_look(L, w, hooks);
}

void lp_budget_hook(lua_State *L, lua_Debug *ar)
{
    struct lp_world *w = lp_world(L);
    uint64_t hooks = 1 + w->used / LP_HOOK;

    (void)ar;
    if (w->spent == NULL)
        return;
    if (w->due) {
        w->due = 0;
        lua_sethook(L, lp_budget_hook, LUA_MASKCOUNT, LP_HOOK);
    }
    w->used %= LP_HOOK;
    lbudget_look(L, w, hooks);
}

/* Refuses memory.  Lua collects garbage and asks for the same once more. */
static void *deny(struct lp_world *w, size_t bytes, int long_text)
{
    w->denied = bytes;
    w->long_text = long_text;
    return NULL;
}

static void *bounded_alloc(void *ud, void *ptr, size_t osize, size_t nsize)
{
    struct lp_world *w = ud;
    size_t old = ptr ? osize : 0;
    void *out;

    if (nsize > old && w->grown + (nsize - old) > w->room &&
        w->grown + (nsize - old) < SIZE_MAX / 2)
        return deny(w, nsize - old, 0);
    if (ptr == NULL && osize == LUA_TSTRING && nsize > LP_LONGEST + 64)
        return deny(w, nsize, 1);
    out = w->alloc(w->alloc_ud, ptr, osize, nsize);
    if (out == NULL && nsize > 0)
        return NULL;
    if (nsize > old) {
        if (nsize - old == w->denied)
            w->denied = 0; /* there was enough garbage */
        w->used += nsize >> FILLED_AT_ONCE;
        if (w->used >= LP_HOOK && !w->due && !w->over) {
            w->due = 1; /* an allocator cannot raise */
            lua_sethook(w->T, lp_budget_hook, LUA_MASKCOUNT, 1);
        }
    }
    w->grown += nsize - old; /* wraps below 0 when more is freed */
    return out;
}

static void lbudget_count_memory(struct lp_world *w, lua_State *T, size_t room)
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
    lbudget_count_memory(w, T, SIZE_MAX / 4);
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
    w->T = T;
    w->fired = 0;
    w->used = 0;
    w->limit = b->instructions / LP_HOOK;
    w->denied = 0;
    lbudget_count_memory(w, T,
                         b->bytes - (b->held < b->bytes ? b->held : b->bytes));
}

void lp_budget_end(struct lp_world *w, lua_State *T)
{
    struct lp_budget *b = w->spent;

    lua_setallocf(T, w->alloc, w->alloc_ud);
    if (w->over || w->due) { /* on the thread that ran last, too */
        w->over = w->due = 0;
        lua_sethook(w->T, lp_budget_hook, LUA_MASKCOUNT, LP_HOOK);
        lua_sethook(T, lp_budget_hook, LUA_MASKCOUNT, LP_HOOK);
    }
    w->spent = NULL;
    b->held += w->grown;
    if (b->held > b->collect_at)
        collect(w, T, b);
}

void lp_budget_text(const struct lp_world *w, uint64_t n, const char *unit,
                    char *out, size_t room)
{
    if (w->long_text)
        snprintf(out, room, "a text of more than %d KB", LP_LONGEST >> 10);
    else
        snprintf(out, room, "more than %zu %s of memory", (size_t)n, unit);
}
