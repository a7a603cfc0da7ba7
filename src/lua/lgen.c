/*
 * lgen.c - generators: workloads whose warps are coroutines, as works.
 *
 *     work.generator {
 *         name =, text =, seed =, instructions =, memory =,
 *         buffers = { { name, bytes, align, width, freed }, ... },
 *         launches = { { name =, grid = {x, y, z}, block = {x, y, z}, regs =,
 *                        shared =, fn =, args = {} }, ... },
 *         b = {}, p = {},
 *     }
 *
 * The engine sees a struct heddle_work (heddle_work.h) like that of any
 * plug-in, and its state in the arena is a hash for each warp; how a coroutine
 * is found or made again from that is in lgenwarp.c, what it calls in
 * lgenissue.c.  heddle.generator makes the table: `text` is what defines the
 * generator, `freed` the launch whose end gives a buffer back (0: none).
 *
 * The functions of warps run behind a fence (lsandbox.c).  What they hold in
 * locals of the script is fingerprinted when the generator is made, and
 * compared between launches: what one warp changes there, another would see in
 * an order that a restore does not repeat.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lgen.h"

#include <stdlib.h>
#include <string.h>

#include "lheddle.h"

/* ---- what coroutines see ------------------------------------------------ */

static int lib_random(lua_State *L)
{
    struct lg *g = lp_world(L)->generator;
    struct lg_warp *x = g != NULL ? g->running : NULL;

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

/* ---- the functions of a work -------------------------------------------- */

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

/* What every warp is given, and how it is called. */
static const struct {
    int place;
    const char *name;
} given[LG_GIVEN] = {{LG_B, "the buffers"},
                     {LG_P, "the parameters"},
                     {LG_ARGS, "the arguments of a launch"}};

/* [1] the generator's table [2] generator: what has changed, or nothing. */
static int find_changed(lua_State *L)
{
    const struct lg *g = lua_touserdata(L, 2);

    for (int i = 0; i < LG_GIVEN; i++) {
        lua_rawgeti(L, 1, given[i].place);
        if (lp_state_mark(L, -1) != g->given[i]) {
            lua_pushfstring(L, "%s have", given[i].name);
            return 1;
        }
        lua_pop(L, 1);
    }
    lua_rawgeti(L, 1, LG_UPS);
    for (uint32_t i = 0; i < g->locals; i++) {
        lua_rawgeti(L, 3, (lua_Integer)i + 1);
        lua_getupvalue(L, -1, g->local[i].n);
        if (lp_state_mark(L, -1) != g->local[i].mark) {
            lua_pushfstring(L, "the local '%s' has", g->local[i].name);
            return 1;
        }
        lua_pop(L, 2);
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
    struct lg_warp *x = lg_warp_at(g, c, c->count);
    const struct lg_item *i = x != NULL ? lg_warp_take(g, c, x) : NULL;

    if (i == NULL)
        return HEDDLE_EPROGRAM;
    *op = i->op;
    return 0;
}

static int access_lanes(struct heddle_work_call *c,
                        struct heddle_work_access *out)
{
    struct lg_warp *x = lg_warp_at(c->self, c, c->count + 1);
    const struct lg_item *i;

    if (x == NULL)
        return HEDDLE_EPROGRAM;
    i = &x->item[x->first - 1]; /* taken last */
    out->buffer = i->buffer;
    out->base = i->base;
    out->stride = i->stride;
    out->scattered = i->lanes != LG_AFFINE;
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

    for (uint32_t i = 0; g->warp != NULL && i < g->warps; i++)
        lg_warp_drop(&g->warp[i]);
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

    free(g->local);
    g->local = NULL;
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

/* ---- making one --------------------------------------------------------- */

enum { SPEC = 1, LG = 2, KEEP = 3 }; /* places on the stack of lg_open */

static lua_Integer integer(lua_State *L, int at, const char *name)
{
    lua_Integer n;
    int whole;

    lua_getfield(L, at, name);
    n = lua_tointegerx(L, -1, &whole);
    if (!whole)
        luaL_error(L, "field %s: expected a whole number", name);
    lua_pop(L, 1);
    return n;
}

/* Copies a text field of the table on top. */
static void text(lua_State *L, const char *name, char *out, size_t room)
{
    size_t n;
    const char *s;

    lua_getfield(L, -1, name);
    s = luaL_checklstring(L, -1, &n);
    if (n >= room)
        luaL_error(L, "%s '%s' is longer than %d bytes", name, s,
                   (int)room - 1);
    memcpy(out, s, n + 1);
    lua_pop(L, 1);
}

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

static void read_buffers(lua_State *L, struct lg *g)
{
    lua_getfield(L, SPEC, "buffers");
    luaL_checktype(L, -1, LUA_TTABLE);
    g->buffers = (uint32_t)lua_rawlen(L, -1);
    g->buffer = keep(L, g->buffers, sizeof *g->buffer);
    for (uint32_t i = 0; i < g->buffers; i++) {
        struct lg_buffer *b = &g->buffer[i];
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        text(L, "name", b->name, sizeof b->name);
        b->bytes = (uint64_t)integer(L, -1, "bytes");
        b->align = (uint64_t)integer(L, -1, "align");
        b->freed = (uint64_t)integer(L, -1, "freed");
        b->width = (uint32_t)integer(L, -1, "width");
        luaL_argcheck(L, b->width >= 1 && b->width <= 16, SPEC, "width");
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

static void note_local(lua_State *L, void *ud, const char *name, int n)
{
    struct lg *g = ud;

    if (g->locals == g->local_room) {
        uint32_t room = 2 * g->local_room + 16;
        struct lg_local *v = realloc(g->local, room * sizeof *v);
        if (v == NULL)
            hl_raise_memory(L);
        g->local = v;
        g->local_room = room;
    }
    g->local[g->locals].name = name;
    g->local[g->locals].n = n;
    g->local[g->locals].mark = lp_state_mark(L, -1);
    g->locals++;
    lua_rawgeti(L, KEEP, LG_UPS);
    lua_pushvalue(L, -3);
    lua_rawseti(L, -2, g->locals);
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
    lua_getfield(L, SPEC, "launches");
    luaL_checktype(L, -1, LUA_TTABLE);
    g->launches = (uint32_t)lua_rawlen(L, -1);
    g->launch = keep(L, g->launches, sizeof *g->launch);
    for (uint32_t i = 0; i < g->launches; i++) {
        struct heddle_work_launch *l = &g->launch[i];
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        text(L, "name", l->name, sizeof l->name);
        read_dims(L, "grid", l->grid);
        read_dims(L, "block", l->block);
        l->regs = (uint32_t)integer(L, -1, "regs");
        l->shared_bytes = (uint32_t)integer(L, -1, "shared");
        lua_rawgeti(L, KEEP, LG_FN);
        lua_getfield(L, -2, "fn");
        luaL_checktype(L, -1, LUA_TFUNCTION);
        lp_sandbox_enter(L, &lg_fence, -1, note_local, g);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
        lua_rawgeti(L, KEEP, LG_ARGS);
        lua_getfield(L, -3, "args");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
        lua_pop(L, 3);
    }
    lua_pop(L, 1);
}

/* Fills the generator's table, and puts it on the stack of H. */
static void fill_keep(lua_State *L, struct lg *g)
{
    static const int empty[] = {LG_THREADS, LG_FN,     LG_ARGS,
                                LG_UPS,     LG_MEMORY, LG_NUMBERS};

    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        lua_newtable(L);
        lua_rawseti(L, KEEP, empty[i]);
    }
    lua_getfield(L, SPEC, "b");
    lua_rawseti(L, KEEP, LG_B);
    lua_getfield(L, SPEC, "p");
    lua_rawseti(L, KEEP, LG_P);
    lua_rawgeti(L, KEEP, LG_NUMBERS);
    lg_issue_push(L, g);
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

static struct lg *new_generator(lua_State *L)
{
    struct lg *g = lua_newuserdatauv(L, sizeof *g, 1); /* spec lg */

    memset(g, 0, sizeof *g);
    hl_class(L, "heddle.generator", collect_generator, NULL);
    lua_newtable(L); /* spec lg keep */
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, LG, 1);
    g->w = lp_world(L);
    g->work = functions;
    g->work.name = g->name;
    return g;
}

int lg_open(lua_State *L)
{
    struct heddle_work_options o = {0};
    heddle_workload **w;
    char words[1024];
    struct lg *g;
    int status;

    luaL_checktype(L, SPEC, LUA_TTABLE);
    lua_settop(L, SPEC);
    g = new_generator(L);
    lua_pushvalue(L, SPEC);
    text(L, "name", g->name, sizeof g->name);
    lua_pop(L, 1);
    g->seed = (uint64_t)integer(L, SPEC, "seed");
    g->budget.instructions = (uint64_t)integer(L, SPEC, "instructions");
    g->budget.bytes = (uint64_t)integer(L, SPEC, "memory");
    g->budget.collect_at = g->budget.bytes / 2;
    g->budget.per = "without one of the warp";
    fill_keep(L, g);
    read_buffers(L, g);
    read_launches(L, g);
    for (int i = 0; i < LG_GIVEN; i++) {
        lua_rawgeti(L, KEEP, given[i].place);
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
