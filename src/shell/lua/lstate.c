/*
 * lstate.c - the keys of tables in order, and whether values have changed.
 * (Plain data as bytes: lua/heddle/plain.lua.)
 *
 * SPDX-License-Identifier: MIT
 */
#include "lpolicy.h"

#include <stdlib.h>
#include <string.h>

/* ---- keys in order -------------------------------------------------------- */

struct key {
    const char *s; /* NULL: a number */
    size_t len;
    lua_Number d;
    lua_Integer i; /* its integer value, if `whole` */
    int whole;
    lua_Integer at; /* where it is in the table of keys */
};

static int lstate_compare(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    size_t n = a->len < b->len ? a->len : b->len;
    int c;

    if (a->s == NULL || b->s == NULL) {
        if (a->s != NULL || b->s != NULL)
            return a->s ? 1 : -1;
        if (a->whole && b->whole)
            return a->i < b->i ? -1 : a->i > b->i;
        return a->d < b->d ? -1 : a->d > b->d;
    }
    c = memcmp(a->s, b->s, n);
    return c ? c : a->len < b->len ? -1 : a->len > b->len;
}

/* The key at the top of the stack; raises if it has no place in an order. */
static void take_key(lua_State *L, struct key *k, lua_Integer at)
{
    memset(k, 0, sizeof *k);
    k->at = at;
    switch (lua_type(L, -1)) {
    case LUA_TNUMBER:
        k->i = lua_tointegerx(L, -1, &k->whole);
        k->d = lua_tonumber(L, -1);
        break;
    case LUA_TSTRING:
        k->s = lua_tolstring(L, -1, &k->len);
        break;
    default:
        lp_raise(L,
                   "a table with a %s as a key has no order that is the same "
                   "in every run; use numbers or strings as keys",
                   luaL_typename(L, -1));
    }
}

static lua_Integer count_keys(lua_State *L, int i, int *sequence)
{
    lua_Integer n = 0, len = (lua_Integer)lua_rawlen(L, i), k;

    *sequence = 1;
    lua_pushnil(L);
    while (lua_next(L, i)) { /* key value */
        lua_pop(L, 1);
        n++;
        k = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
        if (k < 1 || k > len)
            *sequence = 0;
    }
    if (n != len)
        *sequence = 0;
    return n;
}

lua_Integer lp_state_keys(lua_State *L, int i)
{
    lua_Integer n, at = 0;
    struct key *k;
    int sequence;

    i = lua_absindex(L, i);
    luaL_checkstack(L, 8, "too many nested tables");
    n = count_keys(L, i, &sequence);
    lua_createtable(L, (int)n, 0); /* out */
    if (sequence) {
        for (at = 1; at <= n; at++) {
            lua_pushinteger(L, at);
            lua_rawseti(L, -2, at);
        }
        return n;
    }
    lua_createtable(L, (int)n, 0);                            /* out found */
    k = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *k, 0); /* .. k */
    lua_pushnil(L);
    while (lua_next(L, i)) { /* out found k key value */
        lua_pop(L, 1);
        take_key(L, &k[at], at + 1);
        at++;
        lua_pushvalue(L, -1);
        lua_rawseti(L, -4, at);
    }
    qsort(k, (size_t)n, sizeof *k, lstate_compare);
    for (at = 0; at < n; at++) {
        lua_rawgeti(L, -2, k[at].at);
        lua_rawseti(L, -4, at + 1);
    }
    lua_pop(L, 2);
    return n;
}

uint64_t lp_state_next(lua_State *L, int i)
{
    struct key from, best = {0}, k;
    uint64_t n = 0;
    int first = lua_isnil(L, -1), found = 0;

    if (!first)
        take_key(L, &from, 0);
    lua_pushnil(L); /* the best key so far */
    lua_pushnil(L);
    for (; lua_next(L, i); n++) {
        lua_pop(L, 1); /* best key */
        take_key(L, &k, 0);
        if ((first || lstate_compare(&from, &k) < 0) &&
            (!found || lstate_compare(&k, &best) < 0)) {
            best = k;
            found = 1;
            lua_copy(L, -1, -2);
        }
    }
    return n;
}

/* ---- copies and fingerprints ---------------------------------------------- */

void lp_state_plain(lua_State *L, const char *verb)
{
    hl_require(L, "heddle.plain");
    lua_getfield(L, -1, verb);
    lua_replace(L, -2);
    lua_insert(L, -2);
    lua_call(L, 1, 1);
}

static uint64_t mark_bytes(uint64_t h, const void *v, size_t n)
{
    return lp_mix(lp_hash(h, v, n));
}

enum { MARK_DEPTH = 100 };

static uint64_t mark_table(lua_State *L, int i, int depth, int seen);

/* `seen` is the place of a table: [table] = its mark, so that each is walked
 * once, however many ways and circles lead to it. */
static uint64_t lstate_mark(lua_State *L, int i, int depth, int seen)
{
    uint64_t h = (uint64_t)lua_type(L, i) + 1;
    const void *p;
    lua_Integer k;
    lua_Number d;
    const char *s;
    size_t n;

    switch (lua_type(L, i)) {
    case LUA_TBOOLEAN:
        return lp_mix(h + 16 * (uint64_t)lua_toboolean(L, i));
    case LUA_TNUMBER:
        if (lua_isinteger(L, i)) {
            k = lua_tointeger(L, i);
            return mark_bytes(h, &k, sizeof k);
        }
        d = lua_tonumber(L, i);
        return mark_bytes(h + 1, &d, sizeof d);
    case LUA_TSTRING:
        s = lua_tolstring(L, i, &n);
        return mark_bytes(h, s, n);
    case LUA_TTABLE:
        return depth < MARK_DEPTH ? mark_table(L, i, depth, seen) : h;
    case LUA_TNIL:
        return h;
    default:
        p = lua_topointer(L, i);
        return mark_bytes(h, &p, sizeof p);
    }
}

static void note_mark(lua_State *L, int i, int seen, uint64_t h)
{
    lua_pushvalue(L, i);
    lua_pushinteger(L, (lua_Integer)h);
    lua_rawset(L, seen);
}

/* A sum over the entries does not depend on their order. */
static uint64_t mark_table(lua_State *L, int i, int depth, int seen)
{
    uint64_t h = 77;

    luaL_checkstack(L, 8, "too many nested tables");
    lua_pushvalue(L, i);
    if (lua_rawget(L, seen) != LUA_TNIL) {
        h = (uint64_t)lua_tointeger(L, -1);
        lua_pop(L, 1);
        return h;
    }
    lua_pop(L, 1);
    note_mark(L, i, seen, h); /* for what leads back to it */
    lua_pushnil(L);
    while (lua_next(L, i)) {
        int top = lua_gettop(L);
        uint64_t key = lstate_mark(L, top - 1, MARK_DEPTH, seen);
        h += lp_mix(key ^ lp_mix(lstate_mark(L, top, depth + 1, seen)));
        lua_pop(L, 1);
    }
    if (lua_getmetatable(L, i)) {
        h += lp_mix(lstate_mark(L, lua_gettop(L), depth + 1, seen) + 3);
        lua_pop(L, 1);
    }
    h = lp_mix(h);
    note_mark(L, i, seen, h);
    return h;
}

/* A fingerprint of any value: contents of tables and of their metatables,
 * identity of others. */
static uint64_t mark_of(lua_State *L, int i)
{
    int seen = 0;
    uint64_t h;

    i = lua_absindex(L, i);
    luaL_checkstack(L, 8, "a fingerprint");
    if (lua_istable(L, i)) {
        lua_newtable(L);
        seen = lua_gettop(L);
    }
    h = lstate_mark(L, i, 0, seen);
    if (seen != 0)
        lua_pop(L, 1);
    return h;
}

/* ---- locals --------------------------------------------------------------- */

void lp_locals_note(lua_State *L, struct lp_locals *l, int keep, int f,
                    const char *name, int n)
{
    if (l->n == l->room) {
        int room = 2 * l->room + 16;
        struct lp_local *v = realloc(l->v, (size_t)room * sizeof *v);
        if (v == NULL)
            hl_raise_memory(L);
        l->v = v;
        l->room = room;
    }
    l->v[l->n++] = (struct lp_local){name, mark_of(L, -1), n};
    lua_pushvalue(L, f);
    lua_rawseti(L, keep, l->n);
}

const char *lp_locals_changed(lua_State *L, const struct lp_locals *l, int keep)
{
    for (int i = 0; i < l->n; i++) {
        lua_rawgeti(L, keep, i + 1);
        lua_getupvalue(L, -1, l->v[i].n);
        if (mark_of(L, -1) != l->v[i].mark)
            return l->v[i].name;
        lua_pop(L, 2);
    }
    return NULL;
}
