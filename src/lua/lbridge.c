/*
 * lbridge.c - a bound Lua policy: questions become calls, values answers.
 *
 * The engine sees an ordinary struct heddle_policy, filled only where the Lua
 * table has a function.  Each bound copy has a coroutine of its own whose
 * stack keeps everything a call needs (functions, views, state, parameters),
 * so that a question costs four pushes and one protected call, and makes no
 * table and no garbage.
 *
 * How a function is called, and what it may answer:
 *
 *     function(q, state, params)
 *
 * nil passes the question on to the engine's default.  BOOL takes true and
 * false, CHOICE a word (or its number from 0), VALUE and SUBSET an integer.
 * An INDEX is the number by which the engine knows the thing (way, warp, core,
 * application: from 0), but where the question lists candidates in arrays
 * (walk_pick, dram_pick, block_place) it is the position in them, from 1, as
 * for any Lua array.
 *
 * A call has a budget of instructions (looked at every LP_HOOK of them) and
 * of memory (the state's allocator refuses more while the call lasts).  When
 * the instructions are used up, every further one raises, so that pcall in
 * the script cannot swallow it.  An error stops the run with the policy, the
 * point, the cycle, the message and a traceback.
 *
 * State in locals of the script would escape snapshots: their contents are
 * fingerprinted when the policy is bound and compared at epochs, at
 * snapshots, at the end, and (option check) after every call.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lbridge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fixed places on the coroutine's stack. */
enum { AT_HANDLER = 1, AT_STATE, AT_PARAMS, AT_CLASS, AT_WORDS, AT_UPS };

enum { MAX_WORDS = 8, ERROR_ROOM = 960 };

struct upvalue {
    const char *name; /* kept by the function */
    uint64_t mark;
    int n;
};

/* How the answers to one point are read. */
struct point {
    int fn, view_at; /* places on the stack; 0: not answered */
    struct lp_view *view;
    enum heddle_answer_kind kind;
    int position; /* INDEX: 1 when it is a position in the arrays */
    size_t limit; /* offset of the limit's field */
    int words;
    const char *word[MAX_WORDS];
};

struct note {
    int fn, view_at;
    struct lp_view *view;
};

struct lp {
    lua_State *L, *T; /* main thread; the coroutine */
    int ref;          /* registry: keeps the coroutine */
    int top, every;   /* place of the epoch's function */
    struct lp_class *c;
    struct lp_world *w;
    heddle_sim *sim;
    const uint64_t *values; /* during open only */
    const struct heddle_place *place;
    uint64_t param[HEDDLE_MAX_PARAMS];
    uint64_t seed, drawn; /* of the random stream */
    size_t held;          /* bytes that calls have left allocated */
    size_t collect_at;    /* held above this: garbage is collected */
    struct upvalue *up;
    int ups, up_room;
    struct lp_bytes bytes;
    struct point point[HEDDLE_POINT_COUNT];
    struct note note[HEDDLE_NOTE_COUNT];
};

uint64_t lp_random(struct lp *p)
{
    uint64_t x = p->seed + 0x9e3779b97f4a7c15ull * ++p->drawn;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

heddle_sim *lp_sim(struct lp *p)
{
    return p->sim;
}

/* ---- budgets --------------------------------------------------------------- */

static void on_hook(lua_State *L, lua_Debug *ar)
{
    struct lp_world *w = lp_world(L);

    (void)ar;
    if (w->running == NULL || ++w->fired <= w->limit)
        return;
    w->over = 1;
    lua_sethook(L, on_hook, LUA_MASKCOUNT, 1);
    luaL_error(L, "more than %d instructions in one call",
               (int)w->running->c->instructions);
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

/* Frees what calls have left behind; the policy's own share is what stays.
 * It is done well before the budget is reached, because buffers of the string
 * library do not collect when memory is refused. */
static void collect(struct lp *p)
{
    struct lp_world *w = p->w;

    if (p->held > SIZE_MAX / 2) { /* more was freed than taken */
        p->held = 0;
        return;
    }
    w->grown = 0;
    w->room = SIZE_MAX / 4;
    w->alloc = lua_getallocf(p->T, &w->alloc_ud);
    lua_setallocf(p->T, bounded_alloc, w);
    lua_gc(p->T, LUA_GCCOLLECT);
    lua_setallocf(p->T, w->alloc, w->alloc_ud);
    p->held += w->grown;
    if (p->held > SIZE_MAX / 2)
        p->held = 0;
    p->collect_at = p->c->bytes / 2;
    if (p->held > p->collect_at - p->c->bytes / 8)
        p->collect_at = p->held + p->c->bytes / 8;
}

/* Calls the function below `nargs` arguments on the coroutine's stack. */
static inline int call(struct lp *p, int nargs, int nresults)
{
    struct lp_world *w = p->w;
    lua_State *T = p->T;
    int rc;

    w->running = p;
    w->fired = 0;
    w->limit = (uint32_t)(p->c->instructions / LP_HOOK);
    w->denied = 0;
    w->grown = 0;
    w->room = p->c->bytes - (p->held < p->c->bytes ? p->held : p->c->bytes);
    w->alloc = lua_getallocf(T, &w->alloc_ud);
    lua_setallocf(T, bounded_alloc, w);
    rc = lua_pcall(T, nargs, nresults, AT_HANDLER);
    lua_setallocf(T, w->alloc, w->alloc_ud);
    w->running = NULL;
    p->held += w->grown;
    if (p->held > p->collect_at)
        collect(p);
    if (w->over) {
        w->over = 0;
        lua_sethook(T, on_hook, LUA_MASKCOUNT, LP_HOOK);
    }
    return rc;
}

/* ---- errors ------------------------------------------------------------------ */

static int handler(lua_State *L)
{
    const char *text = lua_tostring(L, 1);

    if (text == NULL) {
        if (luaL_callmeta(L, 1, "__tostring"))
            text = lua_tostring(L, -1);
        if (text == NULL)
            text = lua_pushfstring(L, "(error value: a %s)",
                                   luaL_typename(L, 1));
    }
    luaL_traceback(L, L, text, 1);
    return 1;
}

static void fail(struct lp *p, const char *where, const char *text)
{
    char out[ERROR_ROOM];

    snprintf(out, sizeof out, "policy %s, %s at cycle %" PRIu64 ": %s",
             p->c->policy.name, where, heddle_now(p->sim), text);
    heddle_policy_fail(p->sim, out);
}

/* The error of a call, on top of the stack; pops everything above `top`. */
static void fail_call(struct lp *p, const char *where, int rc)
{
    char text[96];

    if (rc == LUA_ERRMEM && p->w->denied) {
        snprintf(text, sizeof text, "more than %" PRIu64 " KB of memory",
                 p->c->bytes >> 10);
        fail(p, where, text);
    } else {
        fail(p, where, lua_tostring(p->T, -1));
    }
    lua_settop(p->T, p->top);
}

/* ---- changed locals ------------------------------------------------------------ */

/* The name of a local whose contents have changed, or NULL.  Protected. */
static int find_changed(lua_State *L)
{
    struct lp *p = lua_touserdata(L, 1);

    /* handed over: the table of functions, the parameters */
    for (int i = 0; i < p->ups; i++) {
        lua_rawgeti(L, 2, i + 1);
        lua_getupvalue(L, -1, p->up[i].n);
        if (lp_state_mark(L, -1) != p->up[i].mark) {
            lua_pushfstring(L,
                            "the local '%s' has changed since the policy was "
                            "bound; what changes belongs in the state, or a "
                            "snapshot misses it",
                            p->up[i].name);
            return 1;
        }
        lua_pop(L, 2);
    }
    for (int i = 0; p->c->param[i].name; i++) {
        lua_pushstring(L, p->c->param[i].name);
        lua_rawget(L, 3);
        if (!lua_isinteger(L, -1) ||
            (uint64_t)lua_tointeger(L, -1) != p->param[i]) {
            lua_pushfstring(L, "the parameter '%s' was changed by the policy",
                            p->c->param[i].name);
            return 1;
        }
        lua_pop(L, 1);
    }
    return 0;
}

static int verify(struct lp *p, const char *where)
{
    lua_State *T = p->T;
    int rc;

    lua_pushcfunction(T, find_changed);
    lua_pushlightuserdata(T, p);
    lua_pushvalue(T, AT_UPS);
    lua_pushvalue(T, AT_PARAMS);
    rc = lua_pcall(T, 3, 1, 0);
    if (lua_isstring(T, -1)) {
        fail(p, where, lua_tostring(T, -1));
        rc = -1;
    }
    lua_settop(T, p->top);
    return rc;
}

/* ---- answers --------------------------------------------------------------------- */

static int64_t bad_answer(struct lp *p, enum heddle_point i, const char *want)
{
    const struct heddle_point_info *info = heddle_point_info(i);
    char text[256];
    lua_State *T = p->T;
    const char *got = lua_type(T, -1) == LUA_TSTRING ||
                              lua_type(T, -1) == LUA_TNUMBER
                          ? lua_tostring(T, -1)
                          : luaL_typename(T, -1);

    snprintf(text, sizeof text, "answered %s, expected %s", got, want);
    fail(p, info->name, text);
    lua_settop(T, p->top);
    return HEDDLE_PASS;
}

static int64_t choice(struct lp *p, enum heddle_point i)
{
    const struct point *pt = &p->point[i];
    const char *s, *near;
    char want[128];

    if (lua_type(p->T, -1) == LUA_TSTRING) {
        s = lua_tostring(p->T, -1);
        for (int k = 0; k < pt->words; k++)
            if (s == pt->word[k] || strcmp(s, pt->word[k]) == 0)
                return k;
        near = heddle_nearest(s, pt->word, (size_t)pt->words);
        snprintf(want, sizeof want, "%s%s%s%s", heddle_point_info(i)->limit,
                 near ? "; did you mean " : "", near ? near : "",
                 near ? "?" : "");
        return bad_answer(p, i, want);
    }
    if (lua_isinteger(p->T, -1))
        return lua_tointeger(p->T, -1) == HEDDLE_PASS
                   ? INT64_MAX
                   : lua_tointeger(p->T, -1);
    return bad_answer(p, i, heddle_point_info(i)->limit);
}

static int64_t integer(struct lp *p, enum heddle_point i, const void *q)
{
    const struct point *pt = &p->point[i];
    char want[96];
    uint64_t limit;
    int64_t a;
    int whole;

    a = lua_type(p->T, -1) == LUA_TNUMBER ? lua_tointegerx(p->T, -1, &whole)
                                          : (whole = 0);
    if (!whole)
        return bad_answer(p, i, "an integer, or nil to pass");
    if (a == HEDDLE_PASS)
        return bad_answer(p, i, "another value (this one means pass)");
    if (!pt->position)
        return a;
    memcpy(&limit, (const char *)q + pt->limit, sizeof limit);
    if (a >= 1 && (uint64_t)a <= limit)
        return a - 1;
    snprintf(want, sizeof want, "a position from 1 to %" PRIu64, limit);
    return bad_answer(p, i, want);
}

/* Reads the answer on top of the stack. */
static inline int64_t read_answer(struct lp *p, enum heddle_point i,
                                  const void *q)
{
    lua_State *T = p->T;

    if (lua_type(T, -1) == LUA_TNIL)
        return HEDDLE_PASS;
    switch (p->point[i].kind) {
    case HEDDLE_NONE:
        return bad_answer(p, i, "nothing, because nothing is decided here");
    case HEDDLE_BOOL:
        if (lua_isboolean(T, -1))
            return lua_toboolean(T, -1);
        return bad_answer(p, i, "true, false or nil");
    case HEDDLE_CHOICE:
        return choice(p, i);
    default:
        return integer(p, i, q);
    }
}

static int64_t ask(struct lp *p, enum heddle_point i, const void *q)
{
    struct point *pt = &p->point[i];
    lua_State *T = p->T;
    int64_t a;
    int rc;

    pt->view->q = q;
    lua_pushvalue(T, pt->fn);
    lua_pushvalue(T, pt->view_at);
    lua_pushvalue(T, AT_STATE);
    lua_pushvalue(T, AT_PARAMS);
    rc = call(p, 3, 1);
    pt->view->q = NULL;
    if (rc != LUA_OK) {
        fail_call(p, heddle_point_info(i)->name, rc);
        return HEDDLE_PASS;
    }
    a = read_answer(p, i, q);
    lua_settop(T, p->top);
    if (p->c->check)
        verify(p, heddle_point_info(i)->name);
    return a;
}

static void tell(struct lp *p, enum heddle_note i, const void *n)
{
    struct note *nt = &p->note[i];
    lua_State *T = p->T;
    int rc;

    nt->view->q = n;
    lua_pushvalue(T, nt->fn);
    lua_pushvalue(T, nt->view_at);
    lua_pushvalue(T, AT_STATE);
    lua_pushvalue(T, AT_PARAMS);
    rc = call(p, 3, 0);
    nt->view->q = NULL;
    if (rc != LUA_OK)
        fail_call(p, heddle_note_info(i)->name, rc);
    if (p->c->check)
        verify(p, heddle_note_info(i)->name);
}

#define HD_POINT(name, heat, kind, limit, when, meaning, fields)               \
    static int64_t answer_##name(void *self, const void *q)                    \
    {                                                                          \
        return ask(self, HEDDLE_POINT_##name, q);                              \
    }
#include "../points.def"
#undef HD_POINT

#define HD_NOTE(name, when, fields)                                            \
    static void watch_##name(void *self, const void *n)                        \
    {                                                                          \
        tell(self, HEDDLE_NOTE_##name, n);                                     \
    }
#include "../notes.def"
#undef HD_NOTE

/* ---- epochs ------------------------------------------------------------------- */

static uint64_t period(const void *self)
{
    const struct lp *p = self;

    return p->c->cycle_param >= 0 ? p->param[p->c->cycle_param] : p->c->cycles;
}

static void epoch(void *self, heddle_sim *sim, uint64_t cycle)
{
    struct lp *p = self;
    int rc;

    (void)sim;
    lua_pushvalue(p->T, p->every);
    lua_pushinteger(p->T, (lua_Integer)cycle);
    lua_pushvalue(p->T, AT_STATE);
    lua_pushvalue(p->T, AT_PARAMS);
    rc = call(p, 3, 0);
    if (rc != LUA_OK)
        fail_call(p, "every", rc);
    else
        verify(p, "every");
}

/* ---- snapshots ------------------------------------------------------------------ */

static int write_protected(lua_State *L)
{
    struct lp *p = lua_touserdata(L, 1);

    lp_state_write(L, 2, "state", &p->bytes);
    return 0;
}

static size_t save(void *self, void *out, size_t room)
{
    struct lp *p = self;
    lua_State *T = p->T;
    size_t n;

    p->bytes.n = 0;
    if (verify(p, "snapshot") != 0)
        return 0;
    lua_pushcfunction(T, write_protected);
    lua_pushlightuserdata(T, p);
    lua_pushvalue(T, AT_STATE);
    if (lua_pcall(T, 2, 0, 0) != LUA_OK) {
        fail_call(p, "snapshot", LUA_ERRRUN);
        return 0;
    }
    n = sizeof p->drawn + p->bytes.n;
    if (n <= room) {
        memcpy(out, &p->drawn, sizeof p->drawn);
        memcpy((char *)out + sizeof p->drawn, p->bytes.v, p->bytes.n);
    }
    return n;
}

struct blob {
    const unsigned char *v;
    size_t n;
};

static int read_protected(lua_State *L)
{
    const struct blob *b = lua_touserdata(L, 1);

    lp_state_read(L, b->v, b->n);
    return 1;
}

static int load(void *self, const void *saved, size_t bytes)
{
    struct lp *p = self;
    struct blob b;

    if (bytes < sizeof p->drawn)
        return HEDDLE_EDATA;
    b.v = (const unsigned char *)saved + sizeof p->drawn;
    b.n = bytes - sizeof p->drawn;
    lua_pushcfunction(p->T, read_protected);
    lua_pushlightuserdata(p->T, &b);
    if (lua_pcall(p->T, 1, 1, 0) != LUA_OK) {
        fail_call(p, "restore", LUA_ERRRUN);
        return HEDDLE_EDATA;
    }
    memcpy(&p->drawn, saved, sizeof p->drawn);
    lua_replace(p->T, AT_STATE);
    return 0;
}

/* What a snapshot would miss or refuse, looked for without taking one. */
static void check(void *self)
{
    save(self, NULL, 0);
}

/* ---- opening ----------------------------------------------------------------------- */

static void note_upvalue(lua_State *L, void *ud, const char *name, int n)
{
    struct lp *p = ud;

    if (p->ups == p->up_room) {
        int room = 2 * p->up_room + 16;
        struct upvalue *v = realloc(p->up, (size_t)room * sizeof *v);
        if (v == NULL)
            luaL_error(L, "not enough memory");
        p->up = v;
        p->up_room = room;
    }
    p->up[p->ups].name = name;
    p->up[p->ups].n = n;
    p->up[p->ups].mark = lp_state_mark(L, -1);
    p->ups++;
    lua_pushvalue(L, -2);
    lua_rawseti(L, AT_UPS, p->ups);
}

static int param_missing(lua_State *L)
{
    const char *key = luaL_tolstring(L, 2, NULL);

    return luaL_error(L, "the policy has no parameter '%s'", key);
}

static int param_fixed(lua_State *L)
{
    return luaL_error(L, "parameters are fixed while a policy is bound");
}

static void push_params(lua_State *L, const struct lp *p)
{
    lua_newtable(L);
    for (int i = 0; p->c->param[i].name; i++) {
        lua_pushinteger(L, (lua_Integer)p->param[i]);
        lua_setfield(L, -2, p->c->param[i].name);
    }
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, param_missing);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, param_fixed);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
}

/* Splits "a|b|c" into words that the table AT_WORDS keeps. */
static void read_words(lua_State *L, struct point *pt, const char *s)
{
    while (*s && pt->words < MAX_WORDS) {
        size_t n = strcspn(s, "|");
        pt->word[pt->words++] = lua_pushlstring(L, s, n);
        luaL_ref(L, AT_WORDS);
        s += n + (s[n] == '|');
    }
}

static void open_point(lua_State *L, struct lp *p, uint32_t i)
{
    const struct heddle_point_info *info = heddle_point_info(i);
    struct point *pt = &p->point[i];

    lp_sandbox_enter(L, -1, note_upvalue, p);
    pt->fn = lua_gettop(L);
    pt->kind = info->kind;
    pt->view = lp_view_push(L, info->name, info->field, info->fields);
    pt->view_at = lua_gettop(L);
    if (info->kind == HEDDLE_CHOICE)
        read_words(L, pt, info->limit);
    for (uint32_t k = 0; k < info->fields; k++) {
        const struct heddle_field_info *f = &info->field[k];
        if (strcmp(f->name, info->limit) == 0)
            pt->limit = f->offset;
        if (info->kind == HEDDLE_INDEX && f->count && i !=
            HEDDLE_POINT_warp_pick && strcmp(f->count, info->limit) == 0)
            pt->position = 1;
    }
}

static void open_functions(lua_State *L, struct lp *p, int t)
{
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++) {
        if (lua_getfield(L, t, heddle_point_info(i)->name) == LUA_TNIL)
            lua_pop(L, 1);
        else
            open_point(L, p, i);
    }
    if (lua_getfield(L, t, "watch") == LUA_TNIL)
        lua_newtable(L);
    for (uint32_t i = 0, w = (uint32_t)lua_gettop(L); i < HEDDLE_NOTE_COUNT;
         i++) {
        const struct heddle_note_info *info = heddle_note_info(i);
        struct note *nt = &p->note[i];
        if (lua_getfield(L, (int)w, info->name) == LUA_TNIL) {
            lua_pop(L, 1);
            continue;
        }
        lp_sandbox_enter(L, -1, note_upvalue, p);
        nt->fn = lua_gettop(L);
        nt->view = lp_view_push(L, info->name, info->field, info->fields);
        nt->view_at = lua_gettop(L);
    }
    if (lua_getfield(L, t, "every") == LUA_TTABLE) {
        lua_rawgeti(L, -1, 2);
        lp_sandbox_enter(L, -1, note_upvalue, p);
        p->every = lua_gettop(L);
    }
}

static void push_place(lua_State *L, const struct heddle_place *place)
{
    const struct {
        const char *name;
        uint64_t v;
    } field[] = {
        {"cores", place->cores},         {"warps", place->warps},
        {"apps", place->apps},           {"channels", place->channels},
        {"banks", place->banks},         {"instances", place->instances},
        {"sets", place->sets},           {"ways", place->ways},
        {"seed", place->seed},
    };

    lua_newtable(L);
    lua_pushstring(L, place->at);
    lua_setfield(L, -2, "at");
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        lua_pushinteger(L, (lua_Integer)field[i].v);
        lua_setfield(L, -2, field[i].name);
    }
}

/* Fills the coroutine's stack: [1] handler [2] light userdata of the policy,
 * handed over as the only argument, becomes the state. */
static int fill_stack(lua_State *L)
{
    struct lp *p = lua_touserdata(L, AT_STATE);
    int t;

    luaL_checkstack(L, 3 * (HEDDLE_POINT_COUNT + HEDDLE_NOTE_COUNT) + 32,
                    "a policy");
    lua_rawgeti(L, LUA_REGISTRYINDEX, p->c->ref);
    lua_getiuservalue(L, -1, 1); /* .. class table */
    t = lua_gettop(L);
    if (lua_getfield(L, t, "state") == LUA_TNIL) {
        lua_pop(L, 1);
        lua_newtable(L);
    }
    if (!lua_istable(L, -1))
        luaL_error(L, "state must be a table, not a %s", luaL_typename(L, -1));
    lp_state_copy(L, -1, "state");
    lua_replace(L, AT_STATE);
    lua_pop(L, 1);        /* handler state class table */
    push_params(L, p);    /* handler state class table params */
    lua_insert(L, AT_PARAMS); /* handler state params class table */
    lua_newtable(L);
    lua_insert(L, AT_WORDS);
    lua_newtable(L);
    lua_insert(L, AT_UPS); /* .. class words ups table */
    t = lua_gettop(L);
    open_functions(L, p, t);
    if (lua_getfield(L, t, "init") == LUA_TNIL)
        return 0;
    lp_sandbox_enter(L, -1, note_upvalue, p);
    return 0;
}

static void close_policy(void *self)
{
    struct lp *p = self;

    luaL_unref(p->L, LUA_REGISTRYINDEX, p->ref);
    free(p->up);
    free(p->bytes.v);
    free(p);
}

/* Runs on the main thread: makes the coroutine. */
static int new_thread(lua_State *L)
{
    struct lp *p = lua_touserdata(L, 1);

    p->T = lua_newthread(L);
    p->ref = luaL_ref(L, LUA_REGISTRYINDEX);
    p->w = lp_world(L);
    return 0;
}

static int run_init(struct lp *p)
{
    lua_State *T = p->T;
    int rc;

    /* fill_stack has left `init`, or nil, on top */
    if (lua_isnil(T, -1)) {
        lua_pop(T, 1);
        p->top = lua_gettop(T);
        return 0;
    }
    p->top = lua_gettop(T) - 1;
    lua_pushvalue(T, AT_STATE);
    lua_pushvalue(T, AT_PARAMS);
    push_place(T, p->place);
    rc = call(p, 3, 0);
    if (rc != LUA_OK)
        fail_call(p, "init", rc);
    return rc;
}

/* Fills the coroutine's stack in protected mode, in place: the values that
 * stay are returned as results. */
static int fill_protected(lua_State *T)
{
    fill_stack(T);
    return lua_gettop(T) - 1;
}

static int start(struct lp *p)
{
    lua_State *T = p->T;
    int rc;

    /* Inside the call, index 1 is a handler and index 2 the argument, so the
     * places on the stack are those that remain after it. */
    lua_pushcfunction(T, handler);
    lua_pushcfunction(T, fill_protected);
    lua_pushcfunction(T, handler);
    lua_pushlightuserdata(T, p);
    rc = lua_pcall(T, 2, LUA_MULTRET, AT_HANDLER);
    if (rc != LUA_OK) {
        p->top = 1;
        fail_call(p, "binding", rc);
        return rc;
    }
    lua_sethook(T, on_hook, LUA_MASKCOUNT, LP_HOOK);
    return run_init(p);
}

static void *open_policy(void *ud, heddle_sim *s,
                         const struct heddle_place *place,
                         const uint64_t *params)
{
    struct lp_class *c = ud;
    struct lp *p = calloc(1, sizeof *p);
    lua_State *L = c->L;

    if (p == NULL)
        return NULL;
    p->L = L;
    p->ref = LUA_NOREF;
    p->c = c;
    p->sim = s;
    p->place = place;
    p->seed = place->seed;
    p->collect_at = c->bytes / 2;
    memcpy(p->param, params, sizeof p->param);
    if (!lua_checkstack(L, 4)) {
        free(p);
        return NULL;
    }
    lua_pushcfunction(L, new_thread);
    lua_pushlightuserdata(L, p);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        lua_pop(L, 1);
        free(p);
        return NULL;
    }
    if (start(p) != 0) {
        close_policy(p);
        return NULL;
    }
    p->place = NULL;
    return p;
}

void lp_bridge_fill(lua_State *L, int t, struct lp_class *c)
{
    static heddle_answer *const answers[] = {
#define HD_POINT(name, heat, kind, limit, when, meaning, fields) answer_##name,
#include "../points.def"
#undef HD_POINT
    };
    static void (*const watches[])(void *, const void *) = {
#define HD_NOTE(name, when, fields) watch_##name,
#include "../notes.def"
#undef HD_NOTE
    };

    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++) {
        if (lua_getfield(L, t, heddle_point_info(i)->name) != LUA_TNIL)
            c->policy.answer[i] = answers[i];
        lua_pop(L, 1);
    }
    if (lua_getfield(L, t, "watch") == LUA_TTABLE) {
        for (uint32_t i = 0; i < HEDDLE_NOTE_COUNT; i++) {
            if (lua_getfield(L, -1, heddle_note_info(i)->name) != LUA_TNIL)
                c->policy.watch[i] = watches[i];
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
    if (c->cycles || c->cycle_param >= 0) {
        c->policy.period = period;
        c->policy.epoch = epoch;
    }
    c->policy.ud = c;
    c->policy.open = open_policy;
    c->policy.close = close_policy;
    c->policy.save = save;
    c->policy.load = load;
    c->policy.check = check;
}
