/*
 * lgen.c - generators: workloads whose warps are coroutines, as works.
 *
 *     work.generator {
 *         name =, text =, seed =, instructions =, memory =,
 *         buffers = { { name, bytes, align, width, freed }, ... },
 *         launches = { { name =, grid = {x, y, z}, block = {x, y, z}, regs =,
 *                        shared =, fn = }, ... },
 *         begin =, given = { name, value, ... },
 *     }
 *
 * begin(launch, block, warp, lanes, live) gives the function of a warp and its
 * arguments t, b and p; `given` are three things that warps must not change.
 * heddle.generator makes the table: `text` is what defines the generator,
 * `freed` the launch whose end gives a buffer back (0: none).
 *
 * The engine sees a struct heddle_work (heddle_work.h) like that of any
 * plug-in. A coroutine cannot be copied: what the arena has of a warp is how
 * many instructions it has given and a hash of them; the coroutine is wiring.
 * It is made when an instruction is wanted of it, and where it is not where the
 * arena says (the state was exchanged by a restore, or in a fork there is none
 * yet), it is made anew and run to that count.  The hash tells whether it gave
 * the same instructions as before; if not, the script depends on something else
 * than its parameters, and the run stops.  A coroutine keeps its thread for the
 * next warp in its place when it has come to its end; one that was left in the
 * middle is dropped.
 *
 * Each call (t:load, t:alu and so on) appends an instruction to those that the
 * warp has ready; the coroutine yields when there are BATCH of them, so that
 * going in and out of it, and counting what it uses, is paid for once in so
 * many.  Nothing depends on where it yields: an ALU run that is the last of
 * what is ready is not taken before the next instruction, since it may still
 * grow.
 *
 * Runs, slots and waits are those of kernel programs (prog/kvm.c): load n
 * fills slot n modulo 32, nobody waits twice, and an ALU run goes on until it
 * must wait or has other lanes.  So a kernel written in either way is the same,
 * but for its loops: n counts the loads that a warp gives, not those that are
 * written down, so a loop is as one that was unrolled.
 *
 * The functions of warps run behind a fence (lsandbox.c).  What they hold in
 * locals of the script is fingerprinted when the generator is made, and
 * compared between launches: what one warp changes there, another would see in
 * an order that a restore does not repeat.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

#include "../heddle_work.h"
#include "lheddle.h"
#include "lpolicy.h"

enum {
    BATCH = 16,           /* instructions that a coroutine gives at a time */
    RUN_LIMIT = 1 << 20,  /* instructions of an ALU run that still grows */
    MOST_ITEMS = 1 << 16, /* ready at once, where it cannot yield */
    ERROR_ROOM = 800,
    GIVEN = 3 /* tables that warps are given */
};

#define AFFINE UINT32_MAX

#define MOST_INDEX (INT64_C(1) << 42)

/* An instruction that a coroutine has given, and where its lanes access. */
struct item {
    struct heddle_work_op op;
    uint32_t buffer;
    uint32_t lanes; /* place of their addresses in the pool; AFFINE */
    int64_t base, stride;
};

/* A resident warp. */
struct warp {
    lua_State *T;  /* its coroutine, kept by the table `threads`; NULL: none */
    const void *t; /* identity of its table t */
    uint64_t block, threads;
    uint32_t launch, warp, lanes, place;
    int begun, ended, returns; /* the coroutine; it waits for `token` */
    lua_Integer token;
    int inside;           /* the function of an index is being called */
    uint64_t taken, hash; /* instructions taken, and of what they were */
    struct item *item;    /* [first, n) are there to be taken */
    uint32_t first, n, room;
    uint64_t *pool; /* bytes of lanes */
    uint32_t pooled, pool_room;
    uint32_t out, pend;  /* slots filled and not waited for; to wait for */
    uint64_t loads;      /* so far: the last one's number */
    uint64_t key, drawn; /* random stream */
    char *error;         /* how it ended, or NULL */
};

struct buffer {
    char name[32];
    uint64_t bytes, align, freed; /* freed: by the end of this launch; or 0 */
    uint32_t width;               /* of an element */
};

/* A generator: a userdata that the workload keeps.  Its user value 1 is the
 * table of the names below, on H at 1, too. */
struct lg {
    struct heddle_work work;
    char name[64];
    struct lp_world *w;
    lua_State *H; /* for protected calls */
    struct lp_budget budget;
    uint64_t seed;
    const char *text; /* what defines it, for its hash; while it is made */
    size_t text_bytes;
    struct buffer *buffer; /* [buffers] */
    struct heddle_work_launch *launch;
    struct lp_locals locals; /* of the script */
    uint64_t given[GIVEN];   /* fingerprints of what warps are given */
    uint32_t buffers, launches;
    struct warp *warp; /* [warps] while bound */
    uint32_t warps;
    struct warp *running;
};

/* Places in that table. */
enum {
    LG_THREADS = 1, /* [place + 1]: coroutines */
    LG_BEGIN,       /* the spec's */
    LG_GIVEN,       /* the spec's */
    LG_META,        /* metatable of t */
    LG_UPS,         /* [i]: functions with locals */
    LG_NUMBERS,     /* [buffer]: its number, from 0 */
    LG_MEMORY,      /* what `buffer` and `launch` point to */
    LG_H            /* the thread H */
};

/* ---- what coroutines see -------------------------------------------------- */

static int lib_random(lua_State *L)
{
    struct lg *g = lp_world(L)->generator;
    struct warp *x = g != NULL ? g->running : NULL;

    if (x == NULL)
        return luaL_error(L, "math.random works only while a warp runs");
    return lp_lib_drawn(L,
                        heddle_work_mix(x->key + heddle_work_mix(x->drawn++)));
}

static int lib_no_seed(lua_State *L)
{
    return luaL_error(L, "math.randomseed is not available in a generator: "
                         "each warp has a stream of its own, from the "
                         "parameter `seed'");
}

const struct lp_fence lg_fence = {
    .code = "a generator",
    .depends = "what a warp does depends on its place and the parameters only",
    .belongs = "locals of the warp",
    .bit = 2,
    .own =
        (const struct lp_global[]){
            {"math", "random", lib_random, "the warp's own stream"},
            {"math", "randomseed", lib_no_seed, "raises"},
            {NULL, NULL, NULL, NULL}},
};

/* What the options of a call say. */
struct options {
    uint64_t mask; /* of the lanes that are active */
    int64_t step, only, pc; /* pc -1: the line of the script */
    uint32_t vec, bytes, wait;
    int waits;   /* `uses` is there */
    int returns; /* an atomic's result is wanted */
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
static struct warp *self(lua_State *L)
{
    struct warp *x = generator(L)->running;

    if (x == NULL || !lua_istable(L, 1) || lua_topointer(L, 1) != x->t)
        luaL_error(L, "t is that of another warp, or no t at all; write "
                      "t:load(...), with a colon");
    if (x->inside && (x->inside = in_access(L)) != 0)
        luaL_error(L, "the function of an index cannot give instructions "
                      "itself");
    return x;
}

/* ---- options -------------------------------------------------------------- */

/* Adds the slot of what a load returned, the value on top. */
static void add_use(lua_State *L, const struct warp *x, struct options *o)
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

static void take_uses(lua_State *L, const struct warp *x, struct options *o)
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

static void take_options(lua_State *L, int i, const struct warp *x, int memory,
                         struct options *o)
{
#define OPTION(m, min, max) HL_OPTION(struct options, m, min, max)
    static const struct hl_field
        all[] = {HL_APART("uses"),
                 HL_OPTION_AS(struct options, only, "mask", INT64_MIN, INT64_MAX),
                 OPTION(pc, 0, UINT32_MAX), HL_END},
        accesses[] = {HL_APART("uses"),
                      HL_OPTION_AS(struct options, only, "mask", INT64_MIN,
                                   INT64_MAX),
                      OPTION(pc, 0, UINT32_MAX),
                      OPTION(step, -MOST_INDEX, MOST_INDEX),
                      OPTION(vec, 1, 16), OPTION(bytes, 1, 16),
                      OPTION(returns, 0, 0), HL_END};

    *o = (struct options){.step = 1, .only = -1, .vec = 1, .pc = -1, .returns = 1};
    if (!lua_isnoneornil(L, i)) {
        hl_options(L, i, "an instruction", memory ? accesses : all, o);
        if (lua_getfield(L, i, "uses") != LUA_TNIL)
            take_uses(L, x, o);
        lua_pop(L, 1);
    }
    o->mask = x->threads & (uint64_t)o->only;
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

/* ---- appending ------------------------------------------------------------ */

/* Room for one more item, zeroed; NULL: no memory. */
static struct item *new_item(struct warp *x)
{
    if (x->n == x->room) {
        uint32_t room = 2 * x->room + BATCH;
        struct item *more = realloc(x->item, room * sizeof *more);
        if (more == NULL)
            return NULL;
        x->item = more;
        x->room = room;
    }
    memset(&x->item[x->n], 0, sizeof *x->item);
    x->item[x->n].lanes = AFFINE;
    return &x->item[x->n++];
}

static struct item *append(lua_State *L, struct warp *x)
{
    struct item *item = x->n < MOST_ITEMS ? new_item(x) : NULL;

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
static uint32_t take_waits(struct warp *x, uint32_t wait)
{
    uint32_t need = (wait & x->out) | x->pend;

    x->out &= ~need;
    x->pend = 0;
    return need;
}

/* Ends a call that returns `token` if `returns`. */
static int finish(lua_State *L, struct warp *x, int returns, lua_Integer token)
{
    if (x->n - x->first >= BATCH && lua_isyieldable(L)) {
        x->returns = returns;
        x->token = token;
        return lua_yield(L, 0); /* the token is handed over by the resume */
    }
    lua_pushinteger(L, token);
    return returns;
}

/* ---- memory instructions -------------------------------------------------- */

/* Room for the bytes of all lanes of the instruction that is appended next. */
static void make_room(lua_State *L, struct warp *x)
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
static int holds(const struct buffer *b, int64_t index, uint32_t bytes)
{
    return index >= 0 && b->bytes >= bytes &&
           (uint64_t)index <= (b->bytes - bytes) / b->width;
}

/* The byte at which that element begins. */
static uint64_t byte_of(lua_State *L, const struct buffer *b, int64_t index,
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
static void scattered(lua_State *L, struct warp *x, const struct buffer *b,
                      struct item *out, uint64_t *lane)
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
static void affine(lua_State *L, const struct buffer *b,
                   const struct options *o, struct item *out)
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
    struct warp *x = self(L);
    const struct lg *g = generator(L);
    struct item new = {.lanes = AFFINE}, *item;
    uint64_t lane[HEDDLE_WORK_LANES];
    const struct buffer *b;
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
        kind == HEDDLE_WORK_LOAD || (kind == HEDDLE_WORK_ATOMIC && o.returns);
    if (returns) {
        new.op.slot = x->loads++ % HEDDLE_WORK_SLOTS + 1;
        fills = 1u << (new.op.slot - 1);
    }
    new.op.wait = take_waits(x, o.wait | fills);
    x->out |= fills;
    *item = new;
    if (new.lanes != AFFINE) {
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

/* ---- others --------------------------------------------------------------- */

/* t:alu(n [, options]); waits for all loads, or for those of `uses`. */
static int t_alu(lua_State *L)
{
    struct warp *x = self(L);
    lua_Integer n = luaL_checkinteger(L, 2);
    struct item *last = x->n > x->first ? &x->item[x->n - 1] : NULL;
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
    struct warp *x = self(L);
    struct options o;
    struct item *item;

    take_options(L, 2, x, 0, &o);
    item = append(L, x);
    item->op.kind = HEDDLE_WORK_BARRIER;
    item->op.mask = x->threads;
    item->op.pc = pc_of(L, &o);
    item->op.wait = take_waits(x, o.wait);
    return finish(L, x, 0, 0);
}

/* Appends the exit; 0, or -1: no memory. */
static int append_exit(struct warp *x)
{
    struct item *item = new_item(x);

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
    struct warp *x = self(L);
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

/* Replaces the table on top, [buffer] = its number, by that of what a coroutine
 * calls. */
static void push_methods(lua_State *L, struct lg *g)
{
    static const luaL_Reg methods[] = {
        {"load", t_load},   {"store", t_store}, {"atomic", t_atomic},
        {"alu", t_alu},     {"shared", t_alu},  {"sync", t_sync},
        {"first", t_first}, {"arg", t_arg},     {NULL, NULL}};

    int buffers = lua_gettop(L);

    lua_createtable(L, 0, 2);
    hl_set_bool(L, "__metatable", 0);
    luaL_newlibtable(L, methods);
    lua_pushlightuserdata(L, g);
    lua_pushvalue(L, buffers);
    luaL_setfuncs(L, methods, 2);
    lua_createtable(L, 0, 1);
    hl_set_function(L, "__index", t_missing);
    lua_setmetatable(L, -2); /* of the methods, too */
    lua_setfield(L, -2, "__index");
    lua_replace(L, buffers);
}

/* ---- beginning ------------------------------------------------------------ */

/* [1] the generator's table [2] warp: puts function and arguments on the stack of
 * the coroutine, which is made if need be. */
static int begin(lua_State *L)
{
    struct warp *x = lua_touserdata(L, 2);

    if (x->T == NULL) {
        lua_rawgeti(L, 1, LG_THREADS);
        x->T = lua_newthread(L);
        lua_sethook(x->T, lp_budget_hook, LUA_MASKCOUNT, LP_HOOK);
        lua_rawseti(L, -2, (lua_Integer)x->place + 1);
    }
    lua_rawgeti(L, 1, LG_BEGIN);
    lua_pushinteger(L, x->launch);
    lua_pushinteger(L, (lua_Integer)x->block);
    lua_pushinteger(L, x->warp);
    lua_pushinteger(L, x->lanes);
    lua_pushinteger(L, (lua_Integer)x->threads);
    lua_call(L, 5, 4); /* fn t b p */
    x->t = lua_topointer(L, -3);
    lua_rawgeti(L, 1, LG_META);
    lua_setmetatable(L, -4);
    luaL_checkstack(x->T, 8, "a warp");
    lua_settop(x->T, 0);
    lua_xmove(L, x->T, 4);
    return 0;
}

/* ---- errors --------------------------------------------------------------- */

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

static void end_with(struct warp *x, const char *text)
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

static void failed(struct lg *g, struct warp *x, int rc)
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

/* ---- going on ------------------------------------------------------------- */

/* Lets the coroutine give more instructions. */
static void resume(struct lg *g, struct warp *x)
{
    lua_State *H = g->H;
    int args = 3, results = 0, rc;

    if (!x->begun) {
        lua_pushcfunction(H, begin);
        lua_pushvalue(H, 1);
        lua_pushlightuserdata(H, x);
        rc = lua_pcall(H, 2, 0, 0);
        lua_settop(H, 1);
        x->begun = rc == LUA_OK;
        if (!x->begun) {
            end_with(x, HEDDLE_NO_MEMORY);
            return;
        }
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
    if (append_exit(x) != 0)
        end_with(x, HEDDLE_NO_MEMORY);
}

/* Whether an instruction can be taken: an ALU run at the end may still grow. */
static int ready(const struct warp *x)
{
    uint32_t n = x->n - x->first;

    return n > 1 || (n == 1 && (x->ended ||
                                x->item[x->first].op.kind != HEDDLE_WORK_ALU));
}

static void refill(struct lg *g, struct warp *x)
{
    struct warp *outer = g->running;
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
        resume(g, x);
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

/* ---- hashes --------------------------------------------------------------- */

/* What an instruction is, without padding. */
struct fingerprint {
    uint64_t mask, base, stride;
    uint32_t kind, count, bytes, slot, wait, pc, buffer, scattered;
};

static uint64_t hash_of(const struct warp *x, const struct item *i)
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
                            .scattered = i->lanes != AFFINE};
    uint64_t h = XXH3_64bits_withSeed(&f, sizeof f, x->hash);

    if (i->lanes != AFFINE)
        h = XXH3_64bits_withSeed(x->pool + i->lanes, x->lanes * sizeof *x->pool,
                                 h);
    return h;
}

/* ---- warps ---------------------------------------------------------------- */

/* A warp from its start. */
static void renew(struct lg *g, struct warp *x,
                  const struct heddle_work_call *c)
{
    struct warp old = *x;

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

static const struct item *take(struct lg *g, struct warp *x)
{
    const struct item *i;

    if (!ready(x) && !x->ended)
        refill(g, x);
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

static struct warp *warp_at(struct lg *g, struct heddle_work_call *c,
                            uint64_t count)
{
    struct warp *x = &g->warp[c->place];
    const uint64_t *hash = c->state;

    if (x->taken == count && x->launch == c->launch && x->block == c->block &&
        x->warp == c->warp && x->hash == *hash && (count > 0 || x->lanes != 0))
        return x;
    renew(g, x, c);
    while (x->taken < count) {
        if (take(g, x) == NULL) {
            not_the_same(c);
            return NULL;
        }
    }
    if (x->hash == *hash)
        return x;
    not_the_same(c);
    return NULL;
}

static const struct item *take_next(struct lg *g, struct heddle_work_call *c,
                                    struct warp *x)
{
    const struct item *i = take(g, x);
    uint64_t *hash = c->state;

    if (i == NULL) {
        heddle_work_fail(c, HEDDLE_EPROGRAM,
                         x->error != NULL ? x->error : HEDDLE_NO_MEMORY);
        return NULL;
    }
    *hash = x->hash;
    return i;
}

/* ---- the functions of a work ---------------------------------------------- */

static void *open_generator(struct heddle_work_open *o)
{
    struct lg *g = o->ud;

    heddle_work_hash(o, g->text, g->text_bytes);
    return g;
}

static size_t state_bytes(void *self)
{
    (void)self;
    return sizeof(uint64_t);
}

static int buffer(void *self, uint32_t i, struct heddle_work_buffer *out)
{
    const struct lg *g = self;

    if (i >= g->buffers)
        return 0;
    memcpy(out->name, g->buffer[i].name, sizeof out->name);
    out->bytes = g->buffer[i].bytes;
    out->align = g->buffer[i].align;
    return 1;
}

/* [1] the generator's table: pushes the name and the value of what every warp is
 * given. */
static void push_given(lua_State *L, int i)
{
    lua_rawgeti(L, 1, LG_GIVEN);
    lua_rawgeti(L, -1, 2 * i + 1);
    lua_rawgeti(L, -2, 2 * i + 2);
    lua_remove(L, -3);
}

/* [1] the generator's table [2] generator: what has changed, or nothing. */
static int find_changed(lua_State *L)
{
    const struct lg *g = lua_touserdata(L, 2);
    const char *name;

    for (int i = 0; i < GIVEN; i++) {
        push_given(L, i);
        if (lp_state_mark(L, -1) != g->given[i]) {
            lua_pushfstring(L, "%s have", lua_tostring(L, -2));
            return 1;
        }
        lua_pop(L, 2);
    }
    lua_rawgeti(L, 1, LG_UPS);
    name = lp_locals_changed(L, &g->locals, 3);
    if (name != NULL) {
        lua_pushfstring(L, "the local '%s' has", name);
        return 1;
    }
    return 0;
}

/* After launches 1, 2, 4, ... and at the end. */
static int check_locals(struct lg *g, struct heddle_work_call *c)
{
    uint32_t done = c->launch - 1;
    lua_State *H = g->H;
    char text[256];
    int rc = 0;

    if (done == 0 || ((done & (done - 1)) != 0 && done < g->launches))
        return 0;
    lua_pushcfunction(H, find_changed);
    lua_pushvalue(H, 1);
    lua_pushlightuserdata(H, g);
    if (lua_pcall(H, 2, 1, 0) != LUA_OK) {
        rc = heddle_work_fail(c, HEDDLE_EPROGRAM,
                              lua_isstring(H, -1) ? lua_tostring(H, -1)
                                                  : "an error of a local");
    } else if (lua_isstring(H, -1)) {
        snprintf(text, sizeof text,
                 "%.96s changed since the generator was made; warps run in an "
                 "order that a restore does not repeat, so "
                 "what changes must be a local of the warp",
                 lua_tostring(H, -1));
        rc = heddle_work_fail(c, HEDDLE_EPROGRAM, text);
    }
    lua_settop(H, 1);
    return rc;
}

static int launch(struct heddle_work_call *c, struct heddle_work_launch *out)
{
    struct lg *g = c->self;

    if (check_locals(g, c) < 0)
        return HEDDLE_EPROGRAM;
    if (c->launch > g->launches)
        return 0;
    *out = g->launch[c->launch - 1];
    return 1;
}

static int gone(struct heddle_work_call *c, uint32_t i)
{
    const struct lg *g = c->self;

    return g->buffer[i].freed != 0 && g->buffer[i].freed < c->launch;
}

static int next(struct heddle_work_call *c, struct heddle_work_op *op)
{
    struct lg *g = c->self;
    struct warp *x = warp_at(g, c, c->count);
    const struct item *i = x != NULL ? take_next(g, c, x) : NULL;

    if (i == NULL)
        return HEDDLE_EPROGRAM;
    *op = i->op;
    return 0;
}

static int access_lanes(struct heddle_work_call *c,
                        struct heddle_work_access *out)
{
    struct warp *x = warp_at(c->self, c, c->count + 1);
    const struct item *i;

    if (x == NULL)
        return HEDDLE_EPROGRAM;
    i = &x->item[x->first - 1]; /* taken last */
    out->buffer = i->buffer;
    out->base = i->base;
    out->stride = i->stride;
    out->scattered = i->lanes != AFFINE;
    if (out->scattered)
        memcpy(out->byte, x->pool + i->lanes, x->lanes * sizeof *out->byte);
    return 0;
}

static int bind(void *self, uint32_t places, uint32_t lanes)
{
    struct lg *g = self;

    (void)lanes;
    g->warp = calloc(places, sizeof *g->warp);
    g->warps = places;
    return g->warp != NULL ? 0 : HEDDLE_ENOMEM;
}

/* [1] the generator's table: lets go of the coroutines. */
static int forget(lua_State *L)
{
    lua_newtable(L);
    lua_rawseti(L, 1, LG_THREADS);
    return 0;
}

static void unbind(void *self)
{
    struct lg *g = self;

    for (uint32_t i = 0; g->warp != NULL && i < g->warps; i++) {
        free(g->warp[i].item);
        free(g->warp[i].pool);
        free(g->warp[i].error);
    }
    free(g->warp);
    g->warp = NULL;
    lua_pushcfunction(g->H, forget);
    lua_pushvalue(g->H, 1);
    lua_pcall(g->H, 1, 0, 0);
    lua_settop(g->H, 1);
}

static void close_generator(void *self)
{
    struct lg *g = self;

    free(g->locals.v);
    g->locals.v = NULL;
}

static const struct heddle_work functions = {
    .abi = HEDDLE_WORK_ABI,
    .summary = "coroutines of a script",
    .source = "a script",
    .open = open_generator,
    .close = close_generator,
    .state_bytes = state_bytes,
    .buffer = buffer,
    .launch = launch,
    .gone = gone,
    .next = next,
    .access = access_lanes,
    .bind = bind,
    .unbind = unbind,
};

/* ---- making one ----------------------------------------------------------- */

enum { SPEC = 1, LG = 2, KEEP = 3 }; /* places on the stack of lg_open */

/* Zeroed memory for n things, kept with the generator. */
static void *keep(lua_State *L, lua_Integer n, size_t size)
{
    size_t bytes = (size_t)(n + 1) * size;
    void *p;

    lua_rawgeti(L, KEEP, LG_MEMORY);
    p = lua_newuserdatauv(L, bytes, 0);
    memset(p, 0, bytes);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_pop(L, 1);
    return p;
}

/* Begins to read list `name` of the spec, now on top: its length. */
static uint32_t begin_list(lua_State *L, const char *name)
{
    lua_getfield(L, SPEC, name);
    luaL_checktype(L, -1, LUA_TTABLE);
    return (uint32_t)lua_rawlen(L, -1);
}

static void read_buffers(lua_State *L, struct lg *g)
{
#define BUFFER(m) HL_FIELD(struct buffer, m)
    static const struct hl_field fields[] = {
        BUFFER(name), BUFFER(bytes), BUFFER(align), BUFFER(freed),
        HL_OPTION(struct buffer, width, 1, 16), HL_END};

    g->buffers = begin_list(L, "buffers");
    g->buffer = keep(L, g->buffers, sizeof *g->buffer);
    for (uint32_t i = 0; i < g->buffers; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        hl_get_fields(L, -1, fields, &g->buffer[i]);
        lua_rawgeti(L, KEEP, LG_NUMBERS);
        lua_getfield(L, -2, "tables");
        for (lua_Integer n = 1; lua_rawgeti(L, -1, n) != LUA_TNIL; n++) {
            lua_pushinteger(L, i);
            lua_rawset(L, -4);
        }
        lua_pop(L, 4);
    }
    lua_pop(L, 1);
}

static void read_dims(lua_State *L, const char *name, uint32_t out[3])
{
    lua_getfield(L, -1, name);
    luaL_checktype(L, -1, LUA_TTABLE);
    for (int i = 0; i < 3; i++) {
        lua_rawgeti(L, -1, i + 1);
        out[i] = (uint32_t)luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_launches(lua_State *L, struct lg *g)
{
#define LAUNCH(m) HL_FIELD(struct heddle_work_launch, m)
    static const struct hl_field fields[] = {
        LAUNCH(name), LAUNCH(regs),
        HL_FIELD_AS(struct heddle_work_launch, shared_bytes, "shared"), HL_END};

    g->launches = begin_list(L, "launches");
    g->launch = keep(L, g->launches, sizeof *g->launch);
    for (uint32_t i = 0; i < g->launches; i++) {
        struct heddle_work_launch *l = &g->launch[i];
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        hl_get_fields(L, -1, fields, l);
        read_dims(L, "grid", l->grid);
        read_dims(L, "block", l->block);
        lua_getfield(L, -1, "fn");
        luaL_checktype(L, -1, LUA_TFUNCTION);
        lua_rawgeti(L, KEEP, LG_UPS);
        lp_sandbox_enter(L, &lg_fence, -2, &g->locals, lua_gettop(L));
        lua_pop(L, 3);
    }
    lua_pop(L, 1);
}

/* Fills the generator's table, and puts it on the stack of H. */
static void fill_keep(lua_State *L, struct lg *g)
{
    static const int empty[] = {LG_THREADS, LG_UPS, LG_MEMORY, LG_NUMBERS};

    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        lua_newtable(L);
        lua_rawseti(L, KEEP, empty[i]);
    }
    lua_getfield(L, SPEC, "begin");
    luaL_checktype(L, -1, LUA_TFUNCTION);
    lua_rawseti(L, KEEP, LG_BEGIN);
    lua_getfield(L, SPEC, "given");
    luaL_checktype(L, -1, LUA_TTABLE);
    lua_rawseti(L, KEEP, LG_GIVEN);
    lua_rawgeti(L, KEEP, LG_NUMBERS);
    push_methods(L, g);
    lua_rawseti(L, KEEP, LG_META);
    g->H = lua_newthread(L);
    lua_rawseti(L, KEEP, LG_H);
    lua_pushvalue(L, KEEP);
    lua_xmove(L, g->H, 1);
    lua_sethook(g->H, lp_budget_hook, LUA_MASKCOUNT, LP_HOOK);
    if (!lua_checkstack(g->H, 16))
        hl_raise_memory(L);
}

/* A generator that no workload has takes its memory along. */
static int collect_generator(lua_State *L)
{
    close_generator(lua_touserdata(L, 1));
    return 0;
}

int lg_open(lua_State *L)
{
    static const struct hl_field fields[] = {
        HL_FIELD(struct lg, name),
        HL_OPTION(struct lg, seed, INT64_MIN, INT64_MAX),
        HL_FIELD_AS(struct lg, budget.instructions, "instructions"),
        HL_FIELD_AS(struct lg, budget.bytes, "memory"),
        HL_END};
    struct heddle_work_options o = {0};
    heddle_workload **w;
    char words[1024];
    struct lg *g;
    int status;

    luaL_checktype(L, SPEC, LUA_TTABLE);
    lua_settop(L, SPEC);
    g = lua_newuserdatauv(L, sizeof *g, 1); /* spec lg */
    memset(g, 0, sizeof *g);
    hl_class(L, "heddle.generator", collect_generator, NULL);
    lua_newtable(L); /* spec lg keep */
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, LG, 1);
    g->w = lp_world(L);
    g->work = functions;
    g->work.name = g->name;
    hl_get_fields(L, SPEC, fields, g);
    g->budget.collect_at = g->budget.bytes / 2;
    g->budget.per = "without one of the warp";
    fill_keep(L, g);
    read_buffers(L, g);
    read_launches(L, g);
    lua_rawgeti(L, KEEP, LG_GIVEN);
    for (int i = 0; i < GIVEN; i++) {
        lua_rawgeti(L, -1, 2 * i + 2);
        g->given[i] = lp_state_mark(L, -1);
        lua_pop(L, 1);
    }
    o.ud = g;
    lua_getfield(L, SPEC, "text");
    g->text = luaL_checklstring(L, -1, &g->text_bytes);
    w = hl_workload_box(L);
    lua_pushvalue(L, LG);
    lua_setiuservalue(L, -2, 1);
    *w = heddle_work_new(&g->work, &o, &status, words, sizeof words);
    return *w != NULL ? 1 : hl_raise(L, status, words);
}
