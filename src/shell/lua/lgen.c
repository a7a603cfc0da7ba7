/*
 * lgen.c - generators: workloads whose warps are coroutines, as works.
 *
 *     work.generator {
 *         name =, text =, seed =, instructions =, memory =,
 *         buffers = { { name =, bytes =, align =, width =, freed = }, ... },
 *         numbers = { [buffer] = number }, begin =,
 *         launches = { { name =, regs =, shared =, nx ny nz =, tx ty tz = },
 *                      ... },
 *     }
 *
 * begin(launch, block, warp, lanes, live), which holds the functions of warps,
 * gives that of a warp and its arguments t, b and p.  heddle.generator makes
 * the table: `text` is what defines the generator, `freed` the launch whose end
 * gives a buffer back (0: none).
 *
 * The engine sees a struct heddle_work (heddle_work.h) like that of any
 * plug-in. When a block starts, the coroutine of each of its warps runs, to its
 * end or until it has given PIECE instructions; they are kept as a piece, which
 * never changes, and all that the arena has of a warp is its place in one.  At
 * the end of a piece the coroutine gives the next one.  So each coroutine runs
 * once, whatever is restored or forked: a piece refers to the one behind it,
 * the last one to its coroutine, and a snapshot to the piece that each warp is
 * at.  Who comes first to the end of the last one, in whatever simulation, lets
 * the coroutine continue for all.  A piece goes when no one will come to it any
 * more, and with it the coroutine.
 *
 * Each call (t:load, t:alu and so on) appends an instruction to the piece in
 * the making, and yields when there are enough of them.  Nothing depends on
 * where: an ALU run that may still grow is left for the next piece.
 *
 * Runs, slots and waits are those of kernel programs (program/simt.c): load n
 * fills slot n modulo 32, no instruction waits twice, and an ALU run continues
 * until it must wait or has other lanes.  So a kernel written in either way is
 * the same, but for its loops: n counts the loads that a warp gives, not those
 * that are written down, so a loop is as one that was unrolled.
 *
 * The functions of warps run behind a fence (lsandbox.c).  What they hold in
 * locals of the script is fingerprinted when the generator is made, and
 * compared between launches: what one warp changes there, another would see in
 * an order that is the machine's.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#include "heddle_work.h"
#include "lheddle.h"
#include "lpolicy.h"

enum {
    PIECE = 64,           /* instructions that a coroutine gives at a time */
    RUN_LIMIT = 1 << 20,  /* instructions of an ALU run that still grows */
    MOST_ITEMS = 1 << 16, /* of a piece, where the coroutine cannot yield */
    ERROR_ROOM = 800
};

#define MOST_INDEX (INT64_C(1) << 42)

/* An instruction that a warp has given, and where its lanes access. */
struct item {
    uint8_t kind, bytes, slot, scattered;
    uint32_t what; /* of an ALU run: instructions; of an access: its buffer */
    uint32_t wait, pc;
    uint64_t mask;
    int64_t base; /* byte of lane 0; scattered: where its lanes' begin */
    int64_t stride;
};

/* What a warp has given in one go. */
struct piece {
    struct piece *next; /* what it gave behind that; NULL: nothing yet, */
    struct warp *more;  /* but this gives it; NULL, too: it has ended */
    uint32_t refs, n;
    const uint64_t *lane; /* bytes of scattered lanes, of those in the mask */
    struct item item[];
};

/* A coroutine that has not come to its end. */
struct warp {
    struct lg *g;              /* whose it is; NULL: that is closed */
    struct warp *next, **link; /* others of g */
    lua_State *T;              /* kept by the registry */
    const void *t;             /* identity of its table t */
    struct item held;          /* a run that may still grow; else all 0 */
    int args;                  /* on the stack of T, for its next resume */
    uint32_t out, pend;        /* slots filled, not waited for; to wait for */
    uint64_t threads, loads;   /* so far: the last one's number */
    uint64_t key, drawn;       /* random stream */
    char error[ERROR_ROOM];    /* how it ended, or "" */
};

struct buffer {
    struct heddle_work_buffer is;
    uint64_t freed; /* by the end of this launch; 0: it is not */
    uint32_t width; /* of an element */
};

/* A generator: a userdata that the workload keeps, and so does the function
 * that each coroutine waits in.  Its user value is H. */
struct lg {
    struct heddle_work work;
    char name[64];
    struct lp_world *w;
    lua_State *H; /* for protected calls; its stack keeps what is used */
    struct lp_budget budget;
    uint64_t seed;
    struct buffer *buffer; /* [buffers] */
    struct heddle_work_launch *launch;
    struct lp_locals locals; /* of the script */
    uint32_t buffers, launches;
    struct warp *all, *spare, *running; /* coroutines; one at rest, or NULL */
    struct item *item;                  /* the piece in the making */
    uint64_t *lane;
    uint32_t n, room, lanes, lane_room;
};

/* Places on the stack of H: functions with locals, how warps start; and memory
 * of buffers and launches. */
enum { H_LOCALS = 1, H_PREPARE, H_KEPT = H_PREPARE + 2 };

/* ---- what coroutines see ---------------------------------------------------- */

static int lgen_random(lua_State *L)
{
    struct lg *g = lp_world(L)->generator;
    struct warp *x = g != NULL ? g->running : NULL;

    if (x == NULL)
        return luaL_error(L, "math.random works only while a warp runs");
    return lp_lib_drawn(L,
                        heddle_work_mix(x->key + heddle_work_mix(x->drawn++)));
}

static int lgen_no_seed(lua_State *L)
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
            {"math", "random", lgen_random, "the warp's own stream"},
            {"math", "randomseed", lgen_no_seed, "raises"},
            {NULL, NULL, NULL, NULL}},
};

static struct lg *generator(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* The warp whose t is at index 1. */
static struct warp *lgen_self(lua_State *L)
{
    struct warp *x = generator(L)->running;

    if (!lua_istable(L, 1))
        luaL_error(L,
                   "the t of the warp is expected, not a %s; write "
                   "t:load(...), with a colon",
                   luaL_typename(L, 1));
    if (x == NULL || lua_topointer(L, 1) != x->t)
        luaL_error(L, "the t of the warp that runs is expected, not another "
                      "table; write t:load(...), with a colon");
    return x;
}

/* ---- options ---------------------------------------------------------------- */

/* What the options of a call say. */
struct options {
    uint64_t mask;          /* of the lanes that are active */
    int64_t step, only, pc; /* pc -1: the line of the script */
    uint32_t vec, bytes, wait;
    int waits;   /* `uses` is there */
    int returns; /* an atomic's result is wanted */
};

/* The slots of what loads returned: the list on top. */
static void take_uses(lua_State *L, const struct warp *x, struct options *o)
{
    if (!lua_istable(L, -1))
        luaL_error(L, "uses: expected a list of tokens, got %s",
                   lp_text(L, -1));
    o->waits = 1;
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, -1); i <= n; i++) {
        int whole, none = lua_rawgeti(L, -1, i) == LUA_TNIL;
        lua_Integer token = lua_tointegerx(L, -1, &whole);
        if (!none && (!whole || token < 0 || (uint64_t)token > x->loads))
            luaL_error(L,
                       "uses: expected what t:load or t:atomic of this warp "
                       "returned, got %s",
                       lp_text(L, -1));
        if (token > 0 && x->loads - (uint64_t)token < HEDDLE_WORK_SLOTS)
            o->wait |= 1u << (token - 1) % HEDDLE_WORK_SLOTS;
        lua_pop(L, 1);
    }
}

static void take_options(lua_State *L, int i, const struct warp *x, int memory,
                         struct options *o)
{
#define OPTION(m, min, max) HL_OPTION(struct options, m, min, max)
#define OF_ALL                                                                 \
    HL_APART("uses"), OPTION(pc, 0, UINT32_MAX),                               \
        HL_OPTION_AS(struct options, only, "mask", INT64_MIN, INT64_MAX)
    static const struct hl_field all[] = {OF_ALL, HL_END},
                                 accesses[] = {
                                     OF_ALL,
                                     OPTION(step, -MOST_INDEX, MOST_INDEX),
                                     OPTION(vec, 1, 16),
                                     OPTION(bytes, 1, 16),
                                     OPTION(returns, 0, 0),
                                     HL_END};

    *o = (struct options){
        .step = 1, .only = -1, .vec = 1, .pc = -1, .returns = 1};
    if (!lua_isnoneornil(L, i)) {
        hl_options(L, i, "an instruction", memory ? accesses : all, o);
        if (lua_getfield(L, i, "uses") != LUA_TNIL)
            take_uses(L, x, o);
        lua_pop(L, 1);
    }
    o->mask = x->threads & (uint64_t)o->only;
}

static uint32_t lgen_pc_of(lua_State *L, const struct options *o)
{
    lua_Debug ar;

    if (o->pc >= 0)
        return (uint32_t)o->pc;
    if (!lua_getstack(L, 1, &ar) || !lua_getinfo(L, "l", &ar))
        return 0;
    return ar.currentline > 0 ? (uint32_t)ar.currentline : 0;
}

/* ---- appending -------------------------------------------------------------- */

/* Makes room for n more in a list of *have things; 0: no memory. */
static int lgen_make_room(void *list, uint32_t have, uint32_t n, uint32_t *room,
                          size_t size)
{
    uint32_t want = 2 * *room + n;
    void *more;

    if (have + n <= *room)
        return 1;
    more = realloc(*(void **)list, want * size);
    if (more == NULL)
        return 0;
    memcpy(list, &more, sizeof more);
    *room = want;
    return 1;
}

/* One more item, zeroed; NULL: no memory. */
static struct item *new_item(struct lg *g)
{
    if (!lgen_make_room(&g->item, g->n, 1, &g->room, sizeof *g->item))
        return NULL;
    return memset(&g->item[g->n++], 0, sizeof *g->item);
}

static struct item *lgen_append(lua_State *L)
{
    struct lg *g = generator(L);
    struct item *item;

    if (g->n >= MOST_ITEMS)
        luaL_error(L,
                   "more than %d instructions where the warp cannot wait "
                   "(in a function that table.sort or string.gsub calls)",
                   MOST_ITEMS);
    item = new_item(g);
    if (item == NULL)
        hl_raise_memory(L);
    g->w->fired = 0; /* it has given an instruction */
    return item;
}

/* Takes the pending and the given waits, and forgets them. */
static uint32_t lgen_take_waits(struct warp *x, uint32_t wait)
{
    uint32_t need = (wait & x->out) | x->pend;

    x->out &= ~need;
    x->pend = 0;
    return need;
}

/* Ends a call that returns `token` if `returns`: what it yields comes back. */
static int lgen_finish(lua_State *L, int returns, lua_Integer token)
{
    lua_pushinteger(L, token);
    if (generator(L)->n >= PIECE && lua_isyieldable(L))
        return lua_yield(L, returns);
    return returns;
}

/* ---- memory instructions ---------------------------------------------------- */

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
static int lgen_holds(const struct buffer *b, int64_t index, uint32_t bytes)
{
    return index >= 0 && b->is.bytes >= bytes &&
           (uint64_t)index <= (b->is.bytes - bytes) / b->width;
}

/* The byte at which that element begins. */
static uint64_t byte_of(lua_State *L, const struct buffer *b, int64_t index,
                        uint32_t lane, uint32_t bytes)
{
    if (!lgen_holds(b, index, bytes))
        luaL_error(L,
                   "lane %d: index %I of buffer %s, which has %I elements of "
                   "%d bytes",
                   (int)lane, (LUAI_UACINT)index, b->is.name,
                   (LUAI_UACINT)(b->is.bytes / b->width), (int)b->width);
    return (uint64_t)index * b->width;
}

/* The value at index 3 is a list, or a function of the lane: an index each.
 * Fills lane[] for those that are active; returns how many. */
static uint32_t lgen_scattered(lua_State *L, const struct buffer *b,
                               struct item *out, uint64_t *lane)
{
    int call = lua_isfunction(L, 3);
    uint32_t n = 0;

    for (uint64_t m = out->mask; m != 0; m &= m - 1) {
        uint32_t l = (uint32_t)__builtin_ctzll(m);
        int64_t index;
        int whole;
        if (call) {
            lua_pushvalue(L, 3);
            lua_pushinteger(L, l);
            lua_call(L, 1, 1);
        } else {
            lua_rawgeti(L, 3, (lua_Integer)l + 1);
        }
        index = lua_tointegerx(L, -1, &whole);
        if (whole)
            lane[n++] = byte_of(L, b, index, l, out->bytes);
        else if (!lua_toboolean(L, -1)) /* without one it is inactive */
            out->mask &= ~(1ull << l);
        else
            luaL_error(L, "lane %d: an index is a whole number, not %s", (int)l,
                       lp_text(L, -1));
        lua_pop(L, 1);
    }
    out->scattered = n != 0;
    return n;
}

/* The value at index 3 is the index of lane 0.  Between the first and the last
 * active lane nothing is further out. */
static void lgen_affine(lua_State *L, const struct buffer *b,
                        const struct options *o, struct item *out)
{
    uint64_t mask = out->mask;
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
        byte_of(L, b, first, 0, out->bytes);
    if (lgen_holds(b, first + o->step * last, out->bytes))
        mask &= -mask; /* or the first lane that is outside is to be found */
    for (; mask != 0; mask &= mask - 1) {
        uint32_t l = (uint32_t)__builtin_ctzll(mask);
        byte_of(L, b, first + o->step * l, l, out->bytes);
    }
    out->base = first * b->width;
    out->stride = o->step * b->width;
}

/* t:load(buffer, index [, options]) and its like; upvalue 3: which. */
static int t_access(lua_State *L)
{
    lua_Integer kind = lua_tointeger(L, lua_upvalueindex(3));
    int store = kind == HEDDLE_OP_STORE;
    struct lg *g = generator(L);
    struct warp *x = lgen_self(L);
    struct item new = {.kind = (uint8_t)kind};
    uint64_t lane[HEDDLE_WORK_LANES];
    uint32_t bytes, fills = 0, n = 0;
    const struct buffer *b;
    struct options o;

    lua_settop(L, 4);
    new.what = buffer_at(L);
    b = &g->buffer[new.what];
    take_options(L, 4, x, 1, &o);
    bytes = o.bytes != 0 ? o.bytes : b->width * o.vec;
    if (bytes > 16 || (bytes & (bytes - 1)) != 0)
        luaL_error(L, "a lane accesses 1, 2, 4, 8 or 16 bytes, not %d",
                   (int)bytes);
    new.bytes = (uint8_t)bytes;
    new.mask = o.mask;
    if (new.mask != 0 && (lua_istable(L, 3) || lua_isfunction(L, 3)))
        n = lgen_scattered(L, b, &new, lane);
    else if (new.mask != 0)
        lgen_affine(L, b, &o, &new);
    if (new.mask == 0) {
        lua_pushinteger(L, 0);
        return !store;
    }
    new.pc = lgen_pc_of(L, &o);
    if (!lgen_make_room(&g->lane, g->lanes, n, &g->lane_room, sizeof *g->lane))
        hl_raise_memory(L);
    if (n > 0) {
        new.base = g->lanes;
        memcpy(g->lane + g->lanes, lane, n * sizeof *lane);
    }
    if (!store && o.returns) {
        new.slot = x->loads % HEDDLE_WORK_SLOTS + 1;
        fills = 1u << (new.slot - 1);
    }
    *lgen_append(L) = new;
    g->lanes += n;
    x->loads += fills != 0;
    g->item[g->n - 1].wait = lgen_take_waits(x, o.wait | fills);
    x->out |= fills;
    return lgen_finish(L, !store, fills != 0 ? (lua_Integer)x->loads : 0);
}

/* ---- others ----------------------------------------------------------------- */

/* Appends one that is no access. */
static struct item *lgen_plain(lua_State *L, struct warp *x, unsigned kind,
                               const struct options *o, uint32_t wait)
{
    struct item *item = lgen_append(L);

    item->kind = (uint8_t)kind;
    item->mask = o->mask;
    item->pc = lgen_pc_of(L, o);
    item->wait = lgen_take_waits(x, wait);
    return item;
}

/* t:alu(n [, options]); waits for all loads, or for those of `uses`. */
static int t_alu(lua_State *L)
{
    struct lg *g = generator(L);
    struct warp *x = lgen_self(L);
    lua_Integer n = luaL_checkinteger(L, 2);
    struct item *last = g->n > 0 ? &g->item[g->n - 1] : NULL;
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
    if (last == NULL || last->kind != HEDDLE_OP_ALU || need != 0 ||
        last->mask != o.mask || last->what >= RUN_LIMIT ||
        last->what + (uint64_t)n > HEDDLE_WORK_RUN)
        last = lgen_plain(L, x, HEDDLE_OP_ALU, &o, need);
    last->what += (uint32_t)n;
    g->w->fired = 0;
    return lgen_finish(L, 0, 0);
}

/* t:sync() */
static int t_sync(lua_State *L)
{
    struct warp *x = lgen_self(L);
    struct options o;

    take_options(L, 2, x, 0, &o);
    o.mask = x->threads;
    lgen_plain(L, x, HEDDLE_OP_BARRIER, &o, o.wait);
    return lgen_finish(L, 0, 0);
}

/* t:first(n): the mask of those of the first n lanes that have a thread. */
static int t_first(lua_State *L)
{
    struct warp *x = lgen_self(L);
    lua_Integer n = luaL_checkinteger(L, 2);
    uint64_t mask = n >= 64 ? UINT64_MAX : n <= 0 ? 0 : (1ull << n) - 1;

    lua_pushinteger(L, (lua_Integer)(mask & x->threads));
    return 1;
}

/* t:arg(name) */
static int t_arg(lua_State *L)
{
    lgen_self(L);
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

/* ---- coroutines ------------------------------------------------------------- */

/* [1] warp [2] call, light pointers: makes the coroutine, if there is none, and
 * puts the function of the warp and its arguments on its stack.  Upvalues:
 * begin of the spec, the metatable of t. */
static int lgen_prepare(lua_State *L)
{
    struct warp *x = lua_touserdata(L, 1);
    const struct heddle_work_call *c = lua_touserdata(L, 2);

    if (x->T == NULL) {
        x->T = lua_newthread(L);
        lua_sethook(x->T, lp_budget_hook, LUA_MASKCOUNT, LP_HOOK);
        lua_rawsetp(L, LUA_REGISTRYINDEX, x);
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushinteger(L, c->launch);
    lua_pushinteger(L, (lua_Integer)c->block);
    lua_pushinteger(L, c->warp);
    lua_pushinteger(L, c->lanes);
    lua_pushinteger(L, (lua_Integer)c->threads);
    lua_call(L, 5, 4); /* fn t b p */
    x->t = lua_topointer(L, -3);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_setmetatable(L, -4);
    lua_settop(x->T, 0); /* of what another has returned */
    lua_xmove(L, x->T, 4);
    x->args = 3;
    return 0;
}

static void free_warp(struct warp *x)
{
    if (x->g != NULL) {
        *x->link = x->next;
        if (x->next != NULL)
            x->next->link = x->link;
        lua_pushnil(x->g->H);
        lua_rawsetp(x->g->H, LUA_REGISTRYINDEX, x);
    }
    free(x);
}

/* A warp that starts; NULL: no memory. */
static struct warp *new_warp(struct lg *g, const struct heddle_work_call *c)
{
    struct warp *x = g->spare != NULL ? g->spare : calloc(1, sizeof *x);

    if (x == NULL)
        return NULL;
    if (x != g->spare) {
        x->g = g;
        x->next = g->all;
        x->link = &g->all;
        if (x->next != NULL)
            x->next->link = &x->next;
        g->all = x;
    }
    g->spare = NULL;
    memset(&x->t, 0, sizeof *x - offsetof(struct warp, t));
    x->threads = c->threads;
    x->key = heddle_work_mix(g->seed ^ heddle_work_mix(c->launch)) +
             heddle_work_mix(c->block) * 64 + c->warp;
    return x;
}

/* ---- errors ----------------------------------------------------------------- */

/* [1] light pointer to the coroutine: its error, with a traceback. */
static int lgen_describe(lua_State *L)
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
    snprintf(x->error, sizeof x->error, "%s", text);
}

static void lgen_failed(struct lg *g, struct warp *x, int rc)
{
    lua_State *H = g->H;

    if (g->w->denied) {
        lp_budget_text(g->w, g->budget.bytes >> 20, "MB", x->error, ERROR_ROOM);
        return;
    }
    end_with(x, HEDDLE_NO_MEMORY);
    if (rc == LUA_ERRMEM || hl_is_no_memory(x->T, -1))
        return;
    lua_pushcfunction(H, lgen_describe);
    lua_pushlightuserdata(H, x->T);
    rc = lua_pcall(H, 1, 1, 0);
    if (lua_isstring(H, -1) && (rc == LUA_OK || hl_is_no_memory(H, -1)))
        end_with(x, hl_shown(H, -1));
    else
        end_with(x, "an error that cannot be shown");
    lua_settop(H, H_KEPT);
}

/* ---- pieces ----------------------------------------------------------------- */

static void piece_hold(void *piece)
{
    struct piece *p = piece;

    p->refs++;
}

static void piece_drop(void *piece)
{
    struct piece *p = piece, *next;

    for (; p != NULL && --p->refs == 0; p = next) {
        next = p->next;
        if (p->more != NULL)
            free_warp(p->more);
        free(p);
    }
}

/* What has been made, as a piece; NULL: no memory. */
static struct piece *new_piece(const struct lg *g)
{
    size_t items = g->n * sizeof *g->item, lanes = g->lanes * sizeof *g->lane;
    struct piece *p = malloc(sizeof *p + items + lanes);
    uint64_t *lane;

    if (p == NULL)
        return NULL;
    lane = (uint64_t *)(void *)(p->item + g->n);
    *p = (struct piece){.refs = 1, .n = g->n, .lane = lane};
    if (items > 0)
        memcpy(p->item, g->item, items);
    if (lanes > 0)
        memcpy(lane, g->lane, lanes);
    return p;
}

/* The end of the warp's function. */
static void append_exit(struct lg *g, struct warp *x)
{
    struct item *item = new_item(g);

    if (item == NULL) {
        end_with(x, HEDDLE_NO_MEMORY);
        return;
    }
    item->kind = HEDDLE_OP_EXIT;
    item->mask = x->threads;
    item->wait = lgen_take_waits(x, UINT32_MAX);
}

/* Resumes a coroutine, or begins it (c is not NULL). */
static int lgen_resume(struct lg *g, struct warp *x, struct heddle_work_call *c)
{
    lua_State *H = g->H;
    int rc;

    if (c != NULL) {
        lua_pushvalue(H, H_PREPARE);
        lua_pushlightuserdata(H, x);
        lua_pushlightuserdata(H, c);
        if (lua_pcall(H, 2, 0, 0) != LUA_OK) {
            lgen_failed(g, x, LUA_ERRMEM);
            return LUA_ERRMEM;
        }
    }
    g->w->T = x->T;
    rc = lua_resume(x->T, NULL, x->args, &x->args);
    if (rc == LUA_OK)
        append_exit(g, x);
    else if (rc != LUA_YIELD)
        lgen_failed(g, x, rc);
    return rc;
}

/* Lets a coroutine give what is next.  NULL: no memory; the warp is the
 * caller's still. */
static struct piece *lgen_run(struct warp *x, struct heddle_work_call *c)
{
    struct lg *g = x->g;
    struct lp_world *w = g->w;
    struct piece *p;
    int rc;

    g->n = g->lanes = 0;
    if (x->held.what != 0)
        g->item[g->n++] = x->held; /* where others were */
    x->held.what = 0;
    w->generator = g;
    w->fence = &lg_fence;
    g->running = x;
    lp_budget_begin(w, g->H, &g->budget);
    rc = lgen_resume(g, x, c);
    lp_budget_end(w, g->H);
    g->running = NULL;
    w->fence = NULL;
    w->generator = NULL;
    if ((w->metas & lg_fence.bit) && x->error[0] == '\0' &&
        lp_sandbox_metas(g->H, &lg_fence, 0))
        end_with(x, hl_error_text(g->H, -1));
    lua_settop(g->H, H_KEPT);
    if (rc == LUA_YIELD && x->error[0] == '\0' &&
        g->item[g->n - 1].kind == HEDDLE_OP_ALU)
        x->held = g->item[--g->n];
    p = new_piece(g);
    if (p == NULL)
        end_with(x, HEDDLE_NO_MEMORY);
    else if (rc != LUA_OK || x->error[0] != '\0')
        p->more = x;
    else if (g->spare == NULL)
        g->spare = x;
    else
        free_warp(x);
    return p;
}

/* Moves on to the piece behind one; NULL, and why, if there is none. */
static struct piece *piece_follow(struct piece *p, const char **error)
{
    struct piece *next;

    if (p->next == NULL) {
        *error = p->more->error;
        if (**error == '\0')
            p->next = lgen_run(p->more, NULL);
        if (p->next == NULL)
            return NULL;
        p->more = NULL;
    }
    next = p->next;
    piece_hold(next);
    piece_drop(p);
    return next;
}

/* ---- the functions of a work ------------------------------------------------ */

/* Of a warp: how many instructions of its piece it has taken. */
static size_t lgen_state_bytes(void *self)
{
    (void)self;
    return sizeof(uint32_t);
}

static int buffer(void *self, uint32_t i, struct heddle_work_buffer *out)
{
    const struct lg *g = self;

    if (i >= g->buffers)
        return 0;
    *out = g->buffer[i].is;
    return 1;
}

/* [1] the functions with locals [2] generator: raises if a local has
 * changed. */
static int lgen_find_changed(lua_State *L)
{
    const struct lg *g = lua_touserdata(L, 2);
    const char *name = lp_locals_changed(L, &g->locals, 1);

    if (name == NULL)
        return 0;
    lua_pushfstring(L,
                    "the local '%s' has changed since the generator was made; "
                    "the order of warps is the machine's, so what changes must "
                    "be a local of the warp",
                    name);
    return lua_error(L);
}

static int lgen_check_types(lua_State *L)
{
    const char *wrong = lp_sandbox_types(L, &lg_fence);

    return wrong != NULL ? lua_error(L) : 0;
}

/* Calls f(locals, generator), which raises where something is wrong. */
static int lgen_check(struct lg *g, struct heddle_work_call *c, lua_CFunction f)
{
    lua_State *H = g->H;
    int rc = 0;

    lua_pushcfunction(H, f);
    lua_pushvalue(H, H_LOCALS);
    lua_pushlightuserdata(H, g);
    if (lua_pcall(H, 2, 0, 0) != LUA_OK)
        rc = heddle_work_fail(c, HEDDLE_EPROGRAM, hl_error_text(H, -1));
    lua_settop(H, H_KEPT);
    return rc;
}

static int lgen_launch(struct heddle_work_call *c,
                       struct heddle_work_launch *out)
{
    struct lg *g = c->self;
    uint32_t done = c->launch - 1;

    if (lgen_check(g, c, lgen_check_types) < 0)
        return HEDDLE_EPROGRAM;
    /* after launches 1, 2, 4, ... and at the end */
    if (done > 0 && ((done & (done - 1)) == 0 || done >= g->launches) &&
        lgen_check(g, c, lgen_find_changed) < 0)
        return HEDDLE_EPROGRAM;
    if (c->launch > g->launches)
        return 0;
    *out = g->launch[c->launch - 1];
    return 1;
}

static int lgen_gone(struct heddle_work_call *c, uint32_t i)
{
    const struct lg *g = c->self;

    return g->buffer[i].freed != 0 && g->buffer[i].freed < c->launch;
}

static int lgen_start(struct heddle_work_call *c)
{
    struct warp *x = new_warp(c->self, c);

    *c->kept = x != NULL ? lgen_run(x, c) : NULL;
    if (*c->kept != NULL)
        return 0;
    if (x != NULL)
        free_warp(x);
    return heddle_work_fail(c, HEDDLE_ENOMEM, HEDDLE_NO_MEMORY);
}

static int lgen_next(struct heddle_work_call *c, struct heddle_work_op *op)
{
    uint32_t *taken = c->state;
    struct piece *p = *c->kept;
    const struct item *i;

    for (; *taken == p->n; *taken = 0) {
        const char *error;
        p = piece_follow(p, &error);
        if (p == NULL)
            return heddle_work_fail(c, HEDDLE_EPROGRAM, error);
        *c->kept = p;
    }
    i = &p->item[(*taken)++];
    *op = (struct heddle_work_op){.kind = i->kind,
                                  .count = i->what,
                                  .bytes = i->bytes,
                                  .slot = i->slot,
                                  .wait = i->wait,
                                  .pc = i->pc,
                                  .mask = i->mask};
    return 0;
}

static int lgen_access_lanes(struct heddle_work_call *c,
                             struct heddle_work_access *out)
{
    const uint32_t *taken = c->state;
    const struct piece *p = *c->kept;
    const struct item *i = &p->item[*taken - 1];
    const uint64_t *lane = p->lane;

    out->buffer = i->what;
    out->base = i->base;
    out->stride = i->stride;
    out->scattered = i->scattered;
    if (i->scattered)
        lane += i->base;
    for (uint64_t m = i->scattered ? i->mask : 0; m != 0; m &= m - 1)
        out->byte[__builtin_ctzll(m)] = *lane++;
    return 0;
}

static const struct heddle_work functions = {
    .abi = HEDDLE_WORK_ABI,
    .summary = "coroutines of a script",
    .source = "a script",
    .state_bytes = lgen_state_bytes,
    .buffer = buffer,
    .launch = lgen_launch,
    .gone = lgen_gone,
    .start = lgen_start,
    .next = lgen_next,
    .access = lgen_access_lanes,
    .hold = piece_hold,
    .drop = piece_drop,
};

/* ---- making one ------------------------------------------------------------- */

enum { SPEC = 1, LG, LOCALS }; /* places on the stack of lg_open */

/* Reads a list of the spec into structures of `size'. */
static void *lgen_read_list(lua_State *L, struct lg *g, const char *name,
                            const struct hl_field *fields, size_t size,
                            uint32_t *n)
{
    char *to;

    lua_getfield(L, SPEC, name);
    luaL_checktype(L, -1, LUA_TTABLE);
    *n = (uint32_t)lua_rawlen(L, -1);
    to = lua_newuserdatauv(L, (*n + 1) * size, 0);
    memset(to, 0, (*n + 1) * size);
    lua_xmove(L, g->H, 1);
    for (uint32_t i = 0; i < *n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        hl_get_fields(L, -1, fields, to + i * size);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return to;
}

static void read_lists(lua_State *L, struct lg *g)
{
#define BUFFER(m)       HL_FIELD_AS(struct buffer, is.m, #m)
#define LAUNCH(m, name) HL_FIELD_AS(struct heddle_work_launch, m, name)
    static const struct hl_field buffer[] = {
        BUFFER(name),
        BUFFER(bytes),
        BUFFER(align),
        HL_FIELD(struct buffer, freed),
        HL_OPTION(struct buffer, width, 1, 16),
        HL_END};
    static const struct hl_field launches[] = {
        LAUNCH(name, "name"),           LAUNCH(regs, "regs"),
        LAUNCH(grid[0], "nx"),          LAUNCH(grid[1], "ny"),
        LAUNCH(grid[2], "nz"),          LAUNCH(block[0], "tx"),
        LAUNCH(block[1], "ty"),         LAUNCH(block[2], "tz"),
        LAUNCH(shared_bytes, "shared"), HL_END};

    g->buffer =
        lgen_read_list(L, g, "buffers", buffer, sizeof *g->buffer, &g->buffers);
    g->launch = lgen_read_list(L, g, "launches", launches, sizeof *g->launch,
                               &g->launches);
}

/* Pushes the metatable of t. */
static void push_methods(lua_State *L)
{
    static const struct {
        const char *name;
        lua_CFunction f;
        unsigned kind;
    } methods[] = {{"load", t_access, HEDDLE_OP_LOAD},
                   {"store", t_access, HEDDLE_OP_STORE},
                   {"atomic", t_access, HEDDLE_OP_ATOMIC},
                   {"alu", t_alu, 0},
                   {"shared", t_alu, 0},
                   {"sync", t_sync, 0},
                   {"first", t_first, 0},
                   {"arg", t_arg, 0}};

    lua_createtable(L, 0, 2);
    hl_set_bool(L, "__metatable", 0);
    lua_newtable(L);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        lua_pushvalue(L, LG);
        lua_getfield(L, SPEC, "numbers");
        lua_pushinteger(L, methods[i].kind);
        lua_pushcclosure(L, methods[i].f, 3);
        lua_setfield(L, -2, methods[i].name);
    }
    lua_createtable(L, 0, 1);
    hl_set_function(L, "__index", t_missing);
    lua_setmetatable(L, -2); /* of the methods, too */
    lua_setfield(L, -2, "__index");
}

/* A generator that no workload has takes its memory along.  Coroutines that are
 * left are those of a state that is being closed. */
static int collect_generator(lua_State *L)
{
    struct lg *g = lua_touserdata(L, 1);

    if (g->spare != NULL)
        free_warp(g->spare);
    g->spare = NULL;
    for (struct warp *x = g->all; x != NULL; x = x->next) {
        end_with(x, "the script that the warp is of has ended");
        x->g = NULL;
    }
    g->all = NULL;
    free(g->item);
    free(g->lane);
    free(g->locals.v);
    return 0;
}

int lg_open(lua_State *L)
{
    static const struct hl_field fields[] = {
        HL_FIELD(struct lg, name),
        HL_OPTION(struct lg, seed, INT64_MIN, INT64_MAX),
        HL_FIELD_AS(struct lg, budget.instructions, "instructions"),
        HL_FIELD_AS(struct lg, budget.bytes, "memory"), HL_END};
    struct heddle_work_options o = {0};
    heddle_workload **w;
    struct heddle_error error;
    struct lg *g;

    luaL_checktype(L, SPEC, LUA_TTABLE);
    lua_settop(L, SPEC);
    g = lua_newuserdatauv(L, sizeof *g, 1); /* spec lg */
    memset(g, 0, sizeof *g);
    hl_class(L, "heddle.generator", collect_generator, NULL);
    g->H = lua_newthread(L);
    lua_setiuservalue(L, LG, 1);
    lua_sethook(g->H, lp_budget_hook, LUA_MASKCOUNT, LP_HOOK);
    if (!lua_checkstack(g->H, 16))
        hl_raise_memory(L);
    lua_newtable(L); /* spec lg locals */
    lua_pushvalue(L, LOCALS);
    lua_xmove(L, g->H, 1);
    g->w = lp_world(L);
    g->work = functions;
    g->work.name = g->name;
    hl_get_fields(L, SPEC, fields, g);
    g->budget.collect_at = g->budget.bytes / 2;
    g->budget.per = "without one of the warp";
    lua_getfield(L, SPEC, "begin"); /* and the functions of warps, which it holds */
    luaL_checktype(L, -1, LUA_TFUNCTION);
    lp_sandbox_enter(L, &lg_fence, -1, &g->locals, LOCALS);
    push_methods(L);
    lua_pushcclosure(L, lgen_prepare, 2);
    lua_xmove(L, g->H, 1);
    read_lists(L, g);
    o.ud = g;
    lua_getfield(L, SPEC, "text");
    o.argument = hl_text(L, -1);
    w = hl_workload_box(L);
    lua_pushvalue(L, LG);
    lua_setiuservalue(L, -2, 1);
    *w = heddle_work_new(&g->work, &o, &error);
    return *w != NULL ? 1 : hl_raise(L, error.code, error.text);
}
