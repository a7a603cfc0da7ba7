/*
 * lgenissue.c - what the coroutine of a warp calls: t:load, t:alu and so on.
 *
 * Each call appends an instruction to those that the warp has ready; the
 * coroutine yields when there are LG_BATCH of them, so that going in and out of
 * it, and counting what it uses, is paid for once in so many.  Nothing depends
 * on where it yields: an ALU run that is the last of what is ready is not taken
 * before the next instruction, since it may still grow.
 *
 * Runs, slots and waits are those of kernel programs (gpu/kernel-vm.c): load n
 * fills slot n modulo 32, nobody waits twice, and an ALU run goes on until it
 * must wait or has other lanes.  So a kernel written in either way is the same,
 * but for its loops: n counts the loads that a warp gives, not those that are
 * written down, so a loop is as one that was unrolled.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "lgen.h"

enum {
    RUN_LIMIT = 1 << 20, /* instructions of an ALU run that still grows */
    MOST_ITEMS = 1 << 16 /* ready at once, where it cannot yield */
};

static const int64_t MOST_INDEX = INT64_C(1) << 42;

/* What the options of a call say. */
struct options {
    uint64_t mask;
    int64_t step;
    uint32_t vec, bytes, wait;
    int waits;      /* `uses` is there */
    int posted;     /* returns = false */
    lua_Integer pc; /* -1: the line of the script */
};

static struct lg *generator(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

static int t_load(lua_State *L);
static int t_store(lua_State *L);
static int t_atomic(lua_State *L);

/* Whether one of what calls functions of indices is under way: an error that
 * the script caught may have left it. */
static int in_access(lua_State *L)
{
    lua_Debug ar;
    int found = 0;

    for (int i = 1; !found && lua_getstack(L, i, &ar); i++) {
        lua_CFunction f;
        lua_getinfo(L, "f", &ar);
        f = lua_tocfunction(L, -1);
        found = f == t_load || f == t_store || f == t_atomic;
        lua_pop(L, 1);
    }
    return found;
}

/* The warp whose t is at index 1. */
static struct lg_warp *self(lua_State *L)
{
    struct lg_warp *x = generator(L)->running;

    if (x == NULL || !lua_istable(L, 1) || lua_topointer(L, 1) != x->t)
        luaL_error(L, "t is that of another warp, or no t at all; write "
                      "t:load(...), with a colon");
    if (x->inside && (x->inside = in_access(L)) != 0)
        luaL_error(L, "the function of an index cannot give instructions "
                      "itself");
    return x;
}

/* ---- options ------------------------------------------------------------ */

/* Adds the slot of what a load returned, the value on top. */
static void add_use(lua_State *L, const struct lg_warp *x, struct options *o)
{
    lua_Integer n;
    int whole;

    n = lua_tointegerx(L, -1, &whole);
    if (!whole || n < 0 || (uint64_t)n > x->loads)
        luaL_error(L,
                   "uses: expected what t:load or t:atomic of this warp "
                   "returned, got %s",
                   lp_text(L, -1));
    if (n > 0 && x->loads - (uint64_t)n < HEDDLE_WORK_SLOTS)
        o->wait |= 1u << (n - 1) % HEDDLE_WORK_SLOTS;
}

static void take_uses(lua_State *L, const struct lg_warp *x, struct options *o)
{
    o->waits = 1;
    if (!lua_istable(L, -1)) {
        add_use(L, x, o);
        return;
    }
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, -1); i <= n; i++) {
        if (lua_rawgeti(L, -1, i) != LUA_TNIL)
            add_use(L, x, o);
        lua_pop(L, 1);
    }
}

/* The value on top as a whole number in a range. */
static lua_Integer whole_number(lua_State *L, const char *what, lua_Integer min,
                                lua_Integer max)
{
    lua_Integer n;
    int whole;

    n = lua_tointegerx(L, -1, &whole);
    if (!whole || n < min || n > max || lua_type(L, -1) != LUA_TNUMBER)
        luaL_error(L,
                   "option %s: expected a whole number from %I to %I, got %s",
                   what, (LUAI_UACINT)min, (LUAI_UACINT)max, lp_text(L, -1));
    return n;
}

/* The option whose key and value are on top. */
static void take_option(lua_State *L, const struct lg_warp *x, int memory,
                        struct options *o)
{
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";

    if (strcmp(key, "uses") == 0)
        take_uses(L, x, o);
    else if (strcmp(key, "mask") == 0)
        o->mask &=
            (uint64_t)whole_number(L, key, LUA_MININTEGER, LUA_MAXINTEGER);
    else if (strcmp(key, "pc") == 0)
        o->pc = whole_number(L, key, 0, UINT32_MAX);
    else if (memory && strcmp(key, "step") == 0)
        o->step = whole_number(L, key, -MOST_INDEX, MOST_INDEX);
    else if (memory && strcmp(key, "vec") == 0)
        o->vec = (uint32_t)whole_number(L, key, 1, 16);
    else if (memory && strcmp(key, "returns") == 0)
        o->posted = !lua_toboolean(L, -1);
    else if (memory && strcmp(key, "bytes") == 0)
        o->bytes = (uint32_t)whole_number(L, key, 1, 16);
    else
        luaL_error(L, "no option '%s'; there are uses, mask, pc%s",
                   lp_text(L, -2), memory ? ", step, vec, bytes, returns" : "");
}

static void take_options(lua_State *L, int i, const struct lg_warp *x,
                         int memory, struct options *o)
{
    memset(o, 0, sizeof *o);
    o->mask = x->threads;
    o->step = 1;
    o->vec = 1;
    o->pc = -1;
    if (lua_isnoneornil(L, i))
        return;
    luaL_checktype(L, i, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, i) != 0; lua_pop(L, 1))
        take_option(L, x, memory, o);
}

static uint32_t pc_of(lua_State *L, const struct options *o)
{
    lua_Debug ar;

    if (o->pc >= 0)
        return (uint32_t)o->pc;
    if (!lua_getstack(L, 1, &ar) || !lua_getinfo(L, "l", &ar))
        return 0;
    return ar.currentline > 0 ? (uint32_t)ar.currentline : 0;
}

/* ---- appending ---------------------------------------------------------- */

/* Room for one more item, zeroed; NULL: no memory. */
static struct lg_item *new_item(struct lg_warp *x)
{
    if (x->n == x->room) {
        uint32_t room = 2 * x->room + LG_BATCH;
        struct lg_item *more = realloc(x->item, room * sizeof *more);
        if (more == NULL)
            return NULL;
        x->item = more;
        x->room = room;
    }
    memset(&x->item[x->n], 0, sizeof *x->item);
    x->item[x->n].lanes = LG_AFFINE;
    return &x->item[x->n++];
}

static struct lg_item *append(lua_State *L, struct lg_warp *x)
{
    struct lg_item *item = x->n < MOST_ITEMS ? new_item(x) : NULL;

    if (x->n >= MOST_ITEMS)
        luaL_error(L,
                   "more than %d instructions where the warp cannot wait "
                   "(in a function that table.sort or string.gsub calls)",
                   MOST_ITEMS);
    if (item == NULL)
        hl_raise_memory(L);
    generator(L)->w->fired = 0; /* it has given an instruction */
    return item;
}

/* Takes the pending and the given waits, and forgets them. */
static uint32_t take_waits(struct lg_warp *x, uint32_t wait)
{
    uint32_t need = (wait & x->out) | x->pend;

    x->out &= ~need;
    x->pend = 0;
    return need;
}

/* Ends a call that returns `token` if `returns`. */
static int finish(lua_State *L, struct lg_warp *x, int returns,
                  lua_Integer token)
{
    if (x->n - x->first >= LG_BATCH && lua_isyieldable(L)) {
        x->returns = returns;
        x->token = token;
        return lua_yield(L, 0); /* the token is handed over by the resume */
    }
    lua_pushinteger(L, token);
    return returns;
}

/* ---- memory instructions ------------------------------------------------ */

/* Room for the bytes of all lanes of the instruction that is appended next. */
static void make_room(lua_State *L, struct lg_warp *x)
{
    if (x->pooled + HEDDLE_WORK_LANES > x->pool_room) {
        uint32_t room = 2 * x->pool_room + 4 * HEDDLE_WORK_LANES;
        uint64_t *more = realloc(x->pool, room * sizeof *more);
        if (more == NULL)
            hl_raise_memory(L);
        x->pool = more;
        x->pool_room = room;
    }
}

/* The buffer at index 2: its number. */
static uint32_t buffer_at(lua_State *L)
{
    lua_Integer n;

    lua_pushvalue(L, 2);
    if (lua_isnil(L, -1) || lua_rawget(L, lua_upvalueindex(2)) != LUA_TNUMBER)
        luaL_argerror(L, 2, "expected one of the generator's buffers");
    n = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return (uint32_t)n;
}

/* Whether a lane may access `bytes` at element `index`. */
static int holds(const struct lg_buffer *b, int64_t index, uint32_t bytes)
{
    return index >= 0 && b->bytes >= bytes &&
           (uint64_t)index <= (b->bytes - bytes) / b->width;
}

/* The byte at which that element begins. */
static uint64_t byte_of(lua_State *L, const struct lg_buffer *b, int64_t index,
                        uint32_t lane, uint32_t bytes)
{
    if (!holds(b, index, bytes))
        luaL_error(L,
                   "lane %d: index %I of buffer %s, which has %I elements of "
                   "%d bytes",
                   (int)lane, (LUAI_UACINT)index, b->name,
                   (LUAI_UACINT)(b->bytes / b->width), (int)b->width);
    return (uint64_t)index * b->width;
}

/* Whether the index on top of the stack is there: a lane without is inactive.
 */
static int index_on_top(lua_State *L, uint32_t lane, int64_t *index)
{
    int whole;

    *index = lua_tointegerx(L, -1, &whole);
    if (!whole && lua_toboolean(L, -1))
        luaL_error(L, "lane %d: an index is a whole number, not %s", (int)lane,
                   lp_text(L, -1));
    return whole;
}

/* The value at index 3 is a list, or a function of the lane: an index each. */
static void scattered(lua_State *L, struct lg_warp *x,
                      const struct lg_buffer *b, struct lg_item *out,
                      uint64_t *lane)
{
    uint64_t mask = out->op.mask;
    int call = lua_isfunction(L, 3);

    memset(lane, 0, HEDDLE_WORK_LANES * sizeof *lane);
    make_room(L, x);
    out->lanes = x->pooled;
    for (uint32_t l = 0; l < x->lanes; l++) {
        int64_t index;
        if (!(mask >> l & 1))
            continue;
        if (call) {
            lua_pushvalue(L, 3);
            lua_pushinteger(L, l);
            x->inside = 1; /* it gives no instructions itself */
            lua_call(L, 1, 1);
            x->inside = 0;
        } else {
            lua_rawgeti(L, 3, (lua_Integer)l + 1);
        }
        if (index_on_top(L, l, &index))
            lane[l] = byte_of(L, b, index, l, out->op.bytes);
        else
            out->op.mask &= ~(1ull << l);
        lua_pop(L, 1);
    }
}

/* The value at index 3 is the index of lane 0.  Between the first and the last
 * active lane nothing lies further out. */
static void affine(lua_State *L, const struct lg_buffer *b,
                   const struct options *o, struct lg_item *out)
{
    uint64_t mask = out->op.mask;
    uint32_t last = 63 - (uint32_t)__builtin_clzll(mask);
    int64_t first;
    int whole;

    first = lua_tointegerx(L, 3, &whole);
    if (!whole)
        luaL_error(L,
                   "an index is a whole number, a list of them, or a "
                   "function, not %s",
                   lp_text(L, 3));
    if (first < -MOST_INDEX || first > MOST_INDEX)
        byte_of(L, b, first, 0, out->op.bytes);
    if (holds(b, first + o->step * last, out->op.bytes))
        mask &= -mask; /* or the first lane that is outside is to be found */
    for (; mask != 0; mask &= mask - 1) {
        uint32_t l = (uint32_t)__builtin_ctzll(mask);
        byte_of(L, b, first + o->step * l, l, out->op.bytes);
    }
    out->base = first * b->width;
    out->stride = o->step * b->width;
}

/* t:load(buffer, index [, options]) and its like. */
static int memory(lua_State *L, enum heddle_work_kind kind)
{
    struct lg_warp *x = self(L);
    const struct lg *g = generator(L);
    struct lg_item new = {.lanes = LG_AFFINE}, *item;
    uint64_t lane[HEDDLE_WORK_LANES];
    const struct lg_buffer *b;
    struct options o;
    uint32_t fills = 0;
    int returns;

    lua_settop(L, 4);
    new.buffer = buffer_at(L);
    b = &g->buffer[new.buffer];
    take_options(L, 4, x, 1, &o);
    new.op.kind = kind;
    new.op.mask = o.mask;
    new.op.bytes = o.bytes != 0 ? o.bytes : b->width *o.vec;
    if (new.op.bytes > 16 || (new.op.bytes &(new.op.bytes - 1)) != 0)
        luaL_error(L, "a lane accesses 1, 2, 4, 8 or 16 bytes, not %d",
                   (int)new.op.bytes);
    if (new.op.mask != 0 && (lua_istable(L, 3) || lua_isfunction(L, 3)))
        scattered(L, x, b, &new, lane);
    else if (new.op.mask != 0)
        affine(L, b, &o, &new);
    if (new.op.mask == 0) {
        lua_pushinteger(L, 0);
        return kind != HEDDLE_WORK_STORE;
    }
    new.op.pc = pc_of(L, &o);
    item = append(L, x);
    returns =
        kind == HEDDLE_WORK_LOAD || (kind == HEDDLE_WORK_ATOMIC && !o.posted);
    if (returns) {
        new.op.slot = x->loads++ % HEDDLE_WORK_SLOTS + 1;
        fills = 1u << (new.op.slot - 1);
    }
    new.op.wait = take_waits(x, o.wait | fills);
    x->out |= fills;
    *item = new;
    if (new.lanes != LG_AFFINE) {
        memcpy(x->pool + new.lanes, lane, sizeof lane);
        x->pooled += HEDDLE_WORK_LANES;
    }
    return finish(L, x, kind != HEDDLE_WORK_STORE,
                  returns ? (lua_Integer)x->loads : 0);
}

static int t_load(lua_State *L)
{
    return memory(L, HEDDLE_WORK_LOAD);
}

static int t_store(lua_State *L)
{
    return memory(L, HEDDLE_WORK_STORE);
}

static int t_atomic(lua_State *L)
{
    return memory(L, HEDDLE_WORK_ATOMIC);
}

/* ---- others ------------------------------------------------------------- */

/* t:alu(n [, options]); waits for all loads, or for those of `uses`. */
static int t_alu(lua_State *L)
{
    struct lg_warp *x = self(L);
    lua_Integer n = luaL_checkinteger(L, 2);
    struct lg_item *last = x->n > x->first ? &x->item[x->n - 1] : NULL;
    struct options o;
    uint32_t need;

    luaL_argcheck(L, n >= 0 && n <= HEDDLE_WORK_RUN, 2,
                  "expected 0 to 2^30 instructions");
    take_options(L, 3, x, 0, &o);
    need = ((o.waits ? o.wait : UINT32_MAX) & x->out) | x->pend;
    if (o.mask == 0)
        return 0;
    if (n == 0) {
        x->pend = need;
        return 0;
    }
    if (last != NULL && last->op.kind == HEDDLE_WORK_ALU && need == 0 &&
        last->op.mask == o.mask && last->op.count < RUN_LIMIT &&
        last->op.count + (uint64_t)n <= HEDDLE_WORK_RUN) {
        last->op.count += (uint32_t)n;
        generator(L)->w->fired = 0;
        return finish(L, x, 0, 0);
    }
    last = append(L, x);
    last->op.kind = HEDDLE_WORK_ALU;
    last->op.count = (uint32_t)n;
    last->op.mask = o.mask;
    last->op.pc = pc_of(L, &o);
    last->op.wait = take_waits(x, need);
    return finish(L, x, 0, 0);
}

/* t:sync() */
static int t_sync(lua_State *L)
{
    struct lg_warp *x = self(L);
    struct options o;
    struct lg_item *item;

    take_options(L, 2, x, 0, &o);
    item = append(L, x);
    item->op.kind = HEDDLE_WORK_BARRIER;
    item->op.mask = x->threads;
    item->op.pc = pc_of(L, &o);
    item->op.wait = take_waits(x, o.wait);
    return finish(L, x, 0, 0);
}

int lg_issue_exit(struct lg_warp *x)
{
    struct lg_item *item = new_item(x);

    if (item == NULL)
        return -1;
    item->op.kind = HEDDLE_WORK_EXIT;
    item->op.mask = x->threads;
    item->op.wait = take_waits(x, UINT32_MAX);
    return 0;
}

/* t:first(n): the mask of those of the first n lanes that have a thread. */
static int t_first(lua_State *L)
{
    struct lg_warp *x = self(L);
    lua_Integer n = luaL_checkinteger(L, 2);
    uint64_t mask = n >= 64 ? UINT64_MAX : n <= 0 ? 0 : (1ull << n) - 1;

    lua_pushinteger(L, (lua_Integer)(mask & x->threads));
    return 1;
}

/* t:arg(name) */
static int t_arg(lua_State *L)
{
    self(L);
    lua_getfield(L, 1, "args");
    lua_pushvalue(L, 2);
    if (!lua_istable(L, -2) || lua_rawget(L, -2) == LUA_TNIL)
        return luaL_error(L, "the launch has no argument '%s'", lp_text(L, 2));
    return 1;
}

/* Reading what t does not have. */
static int t_missing(lua_State *L)
{
    return luaL_error(L, "t has no '%s'; heddle_kernel(7) lists what it has",
                      lp_text(L, 2));
}

void lg_issue_push(lua_State *L, struct lg *g)
{
    static const luaL_Reg methods[] = {
        {"load", t_load},   {"store", t_store}, {"atomic", t_atomic},
        {"alu", t_alu},     {"shared", t_alu},  {"sync", t_sync},
        {"first", t_first}, {"arg", t_arg},     {NULL, NULL}};

    int buffers = lua_gettop(L);

    lua_createtable(L, 0, 2);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    luaL_newlibtable(L, methods);
    lua_pushlightuserdata(L, g);
    lua_pushvalue(L, buffers);
    luaL_setfuncs(L, methods, 2);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, t_missing);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2); /* of the methods, too */
    lua_setfield(L, -2, "__index");
    lua_replace(L, buffers);
}
