/*
 * lstate.c - plain data: copied, written as bytes, read back, fingerprinted.
 *
 * The state of a Lua policy is a tree of tables, numbers, strings and
 * booleans.  A snapshot holds it as bytes: a tag, then the value; a table's
 * entries in sorted order, so that equal states are equal bytes.  What would
 * not survive being copied raises with the path that leads to it: functions
 * and objects, keys that are neither numbers nor strings, metatables, and a
 * table that is reachable twice (the copies would part).
 *
 * SPDX-License-Identifier: MIT
 */
#include "lpolicy.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64 };

/* ---- keys in order -------------------------------------------------------- */

struct key {
    const char *s; /* NULL: a number */
    size_t len;
    lua_Number d;
    lua_Integer i; /* its integer value, if `whole` */
    int whole;
    lua_Integer at; /* where it is in the table of keys */
};

static int compare(const void *x, const void *y)
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
    qsort(k, (size_t)n, sizeof *k, compare);
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
        if ((first || compare(&from, &k) < 0) &&
            (!found || compare(&k, &best) < 0)) {
            best = k;
            found = 1;
            lua_copy(L, -1, -2);
        }
    }
    return n;
}

/* ---- writing -------------------------------------------------------------- */

struct path {
    const struct path *up;
    const char *name; /* NULL: an index */
    lua_Integer index;
};

struct writer {
    struct lp_bytes *b;
    int seen; /* stack index of the tables written so far */
};

static void push_path(lua_State *L, const struct path *p)
{
    if (p->up == NULL) {
        lua_pushstring(L, p->name);
        return;
    }
    luaL_checkstack(L, 4, "too many nested tables");
    push_path(L, p->up);
    if (p->name)
        lua_pushfstring(L, ".%s", p->name);
    else
        lua_pushfstring(L, "[%I]", (LUAI_UACINT)p->index);
    lua_concat(L, 2);
}

static int refuse(lua_State *L, const struct path *p, const char *why)
{
    push_path(L, p);
    return luaL_error(L, "%s %s", lua_tostring(L, -1), why);
}

static void put(lua_State *L, struct lp_bytes *b, const void *v, size_t n)
{
    if (n > b->room - b->n) {
        size_t room = 2 * b->room + n + 256;
        unsigned char *bigger = realloc(b->v, room);
        if (bigger == NULL)
            hl_raise_memory(L);
        b->v = bigger;
        b->room = room;
    }
    if (n > 0)
        memcpy(b->v + b->n, v, n);
    b->n += n;
}

static void put_tag(lua_State *L, struct lp_bytes *b, char tag)
{
    put(L, b, &tag, 1);
}

static void write_value(lua_State *L, int i, struct writer *w,
                        const struct path *p, int depth);

/* A table is written once and holds nothing that a copy would lose. */
static void check_table(lua_State *L, int i, struct writer *w,
                        const struct path *p, int depth)
{
    if (depth > DEEPEST)
        refuse(L, p, "is nested too deeply");
    if (lua_getmetatable(L, i))
        refuse(L, p, "has a metatable, which a snapshot cannot hold");
    lua_pushvalue(L, i);
    if (lua_rawget(L, w->seen) != LUA_TNIL)
        refuse(L, p,
               "is a table that is in the state twice: a snapshot would make "
               "two of it");
    lua_pop(L, 1);
    lua_pushvalue(L, i);
    lua_pushboolean(L, 1);
    lua_rawset(L, w->seen);
}

static void write_table(lua_State *L, int i, struct writer *w,
                        const struct path *p, int depth)
{
    lua_Integer n;

    luaL_checkstack(L, 12, "too many nested tables");
    check_table(L, i, w, p, depth);
    n = lp_state_keys(L, i); /* keys */
    put_tag(L, w->b, 't');
    put(L, w->b, &n, sizeof n);
    for (lua_Integer k = 1; k <= n; k++) {
        struct path here = {p, NULL, 0};

        lua_rawgeti(L, -1, k); /* keys key */
        if (lua_type(L, -1) == LUA_TSTRING)
            here.name = lua_tostring(L, -1);
        else
            here.index = lua_tointeger(L, -1);
        write_value(L, lua_gettop(L), w, &here, depth + 1);
        lua_pushvalue(L, -1);
        lua_rawget(L, i); /* keys key value */
        write_value(L, lua_gettop(L), w, &here, depth + 1);
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
}

static void write_value(lua_State *L, int i, struct writer *w,
                        const struct path *p, int depth)
{
    lua_Integer k;
    lua_Number d;
    const char *s;
    size_t n;

    switch (lua_type(L, i)) {
    case LUA_TNIL:
        put_tag(L, w->b, 'n');
        break;
    case LUA_TBOOLEAN:
        put_tag(L, w->b, lua_toboolean(L, i) ? 'y' : 'f');
        break;
    case LUA_TNUMBER:
        if (lua_isinteger(L, i)) {
            k = lua_tointeger(L, i);
            put_tag(L, w->b, 'i');
            put(L, w->b, &k, sizeof k);
        } else {
            d = lua_tonumber(L, i);
            put_tag(L, w->b, 'd');
            put(L, w->b, &d, sizeof d);
        }
        break;
    case LUA_TSTRING:
        s = lua_tolstring(L, i, &n);
        put_tag(L, w->b, 's');
        put(L, w->b, &n, sizeof n);
        put(L, w->b, s, n);
        break;
    case LUA_TTABLE:
        write_table(L, i, w, p, depth);
        break;
    default:
        push_path(L, p);
        luaL_error(L, "%s is a %s, which is not plain data",
                   lua_tostring(L, -1), luaL_typename(L, i));
    }
}

void lp_state_write(lua_State *L, int i, const char *what, struct lp_bytes *b)
{
    struct path p = {NULL, what, 0};
    struct writer w = {b, 0};

    i = lua_absindex(L, i);
    lua_newtable(L);
    w.seen = lua_gettop(L);
    write_value(L, i, &w, &p, 0);
    lua_pop(L, 1);
}

/* ---- reading -------------------------------------------------------------- */

struct reader {
    const unsigned char *p, *end;
};

static void get(lua_State *L, struct reader *r, void *out, size_t n)
{
    if (n > (size_t)(r->end - r->p))
        luaL_error(L, "the saved state of a policy is damaged");
    memcpy(out, r->p, n);
    r->p += n;
}

static void read_value(lua_State *L, struct reader *r, int depth)
{
    lua_Integer k;
    lua_Number d;
    size_t n;
    char tag;

    luaL_checkstack(L, 6, "too many nested tables");
    get(L, r, &tag, 1);
    switch (tag) {
    case 'n':
        lua_pushnil(L);
        return;
    case 'y':
    case 'f':
        lua_pushboolean(L, tag == 'y');
        return;
    case 'i':
        get(L, r, &k, sizeof k);
        lua_pushinteger(L, k);
        return;
    case 'd':
        get(L, r, &d, sizeof d);
        lua_pushnumber(L, d);
        return;
    case 's':
        get(L, r, &n, sizeof n);
        if (n > (size_t)(r->end - r->p))
            break;
        lua_pushlstring(L, (const char *)r->p, n);
        r->p += n;
        return;
    case 't':
        get(L, r, &k, sizeof k);
        if (k < 0 || k > r->end - r->p || depth > DEEPEST)
            break;
        lua_newtable(L);
        for (; k > 0; k--) {
            read_value(L, r, depth + 1);
            if (lua_type(L, -1) != LUA_TNUMBER &&
                lua_type(L, -1) != LUA_TSTRING)
                break;
            read_value(L, r, depth + 1);
            lua_rawset(L, -3);
        }
        if (k == 0)
            return;
        break;
    default:
        break;
    }
    luaL_error(L, "the saved state of a policy is damaged");
}

void lp_state_read(lua_State *L, const unsigned char *v, size_t n)
{
    struct reader r = {v, v + n};

    read_value(L, &r, 0);
}

/* ---- copying and fingerprints --------------------------------------------- */

/* Written first, so that what cannot be saved is refused at once.  The bytes
 * live in a userdata while Lua may raise. */
static int free_bytes(lua_State *L)
{
    struct lp_bytes *b = lua_touserdata(L, 1);

    free(b->v);
    memset(b, 0, sizeof *b);
    return 0;
}

void lp_state_copy(lua_State *L, int i, const char *what)
{
    struct lp_bytes *b;

    i = lua_absindex(L, i);
    b = lua_newuserdatauv(L, sizeof *b, 0); /* b */
    memset(b, 0, sizeof *b);
    hl_class(L, "heddle.bytes", free_bytes, NULL);
    lp_state_write(L, i, what, b);
    lp_state_read(L, b->v, b->n); /* b copy */
    free(b->v);
    memset(b, 0, sizeof *b);
    lua_remove(L, -2);
}

static uint64_t mark_bytes(uint64_t h, const void *v, size_t n)
{
    return lp_mix(lp_hash(h, v, n));
}

enum { MARK_DEPTH = 100 };

static uint64_t mark_table(lua_State *L, int i, int depth, int seen);

/* `seen` is the place of a table: [table] = its mark, so that each is walked
 * once, however many ways and circles lead to it. */
static uint64_t mark(lua_State *L, int i, int depth, int seen)
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
        uint64_t key = mark(L, top - 1, MARK_DEPTH, seen);
        h += lp_mix(key ^ lp_mix(mark(L, top, depth + 1, seen)));
        lua_pop(L, 1);
    }
    if (lua_getmetatable(L, i)) {
        h += lp_mix(mark(L, lua_gettop(L), depth + 1, seen) + 3);
        lua_pop(L, 1);
    }
    h = lp_mix(h);
    note_mark(L, i, seen, h);
    return h;
}

uint64_t lp_state_mark(lua_State *L, int i)
{
    int seen = 0;
    uint64_t h;

    i = lua_absindex(L, i);
    luaL_checkstack(L, 8, "a fingerprint");
    if (lua_istable(L, i)) {
        lua_newtable(L);
        seen = lua_gettop(L);
    }
    h = mark(L, i, 0, seen);
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
    l->v[l->n++] = (struct lp_local){name, lp_state_mark(L, -1), n};
    lua_pushvalue(L, f);
    lua_rawseti(L, keep, l->n);
}

const char *lp_locals_changed(lua_State *L, const struct lp_locals *l, int keep)
{
    for (int i = 0; i < l->n; i++) {
        lua_rawgeti(L, keep, i + 1);
        lua_getupvalue(L, -1, l->v[i].n);
        if (lp_state_mark(L, -1) != l->v[i].mark)
            return l->v[i].name;
        lua_pop(L, 2);
    }
    return NULL;
}
