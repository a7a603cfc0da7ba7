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
 * A call has a budget of instructions and of memory (lbudget.c).  An error
 * stops the run with the policy, the point, the cycle, the message and a
 * traceback.
 *
 * State in locals of the script would escape snapshots: their contents are
 * fingerprinted when the policy is bound and compared at epochs, at
 * snapshots, at the end, and (option check) after every call.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lbridge.h"
#include "lheddle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR_ROOM = 960 };

uint64_t lp_random(struct lp *p)
{
    return lp_mix(p->seed + 0x9e3779b97f4a7c15ull * p->drawn++);
}

heddle_sim *lp_sim(struct lp *p)
{
    return p->sim;
}

/* Calls the function below `nargs` arguments on the coroutine's stack. */
int lp_bridge_call(struct lp *p, int nargs, int nresults)
{
    int rc;

    p->w->running = p;
    p->w->fence = &lp_policy_fence;
    lp_budget_begin(p->w, p->T, &p->budget);
    rc = lua_pcall(p->T, nargs, nresults, LP_AT_HANDLER);
    lp_budget_end(p->w, p->T);
    p->w->fence = NULL;
    p->w->running = NULL;
    if ((p->w->metas & lp_policy_fence.bit) &&
        lp_sandbox_metas(p->T, &lp_policy_fence, 1))
        return LUA_ERRRUN;
    return rc;
}

/* ---- errors -------------------------------------------------------------- */

int lp_bridge_handler(lua_State *L)
{
    if (hl_is_no_memory(L, 1))
        return 1;
    luaL_traceback(L, L, hl_error_text(L, 1), 1);
    return 1;
}

static void fail(struct lp *p, const char *where, const char *text)
{
    char out[ERROR_ROOM];

    if (strcmp(text, HEDDLE_NO_MEMORY) == 0) {
        heddle_policy_fail(p->sim, text);
        return;
    }
    snprintf(out, sizeof out, "policy %s, %s at cycle %" PRIu64 ": %s",
             p->c->policy.name, where, heddle_policy_now(p->sim), text);
    heddle_policy_fail(p->sim, out);
}

/* The error of a call, on top of the stack; pops everything above `top`. */
void lp_bridge_fail(struct lp *p, const char *where, int rc)
{
    char text[96];

    (void)rc;
    if (p->w->denied) {
        lp_budget_text(p->w, p->c->bytes >> 10, "KB", text, sizeof text);
        fail(p, where, text);
    } else {
        fail(p, where, hl_error_text(p->T, -1));
    }
    lua_settop(p->T, p->top);
}

/* ---- changed locals ------------------------------------------------------ */

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
                            "snapshot misses it%s",
                            p->up[i].name,
                            p->c->check ? ""
                                        : " (check = true beside the policy "
                                          "finds the call that changes it)");
            return 1;
        }
        lua_pop(L, 2);
    }
    for (int i = 0; p->c->param[i].name; i++) {
        lua_pushstring(L, p->c->param[i].name);
        lua_rawget(L, 3);
        lp_push_value(L, &p->c->param[i], p->param[i]);
        if (!lua_rawequal(L, -1, -2)) {
            lua_pushfstring(L, "the parameter '%s' was changed by the policy",
                            p->c->param[i].name);
            return 1;
        }
        lua_pop(L, 2);
    }
    return 0;
}

static int verify(struct lp *p, const char *where)
{
    lua_State *T = p->T;
    int rc;

    lua_pushcfunction(T, find_changed);
    lua_pushlightuserdata(T, p);
    lua_pushvalue(T, LP_AT_UPS);
    lua_pushvalue(T, LP_AT_PARAMS);
    rc = lua_pcall(T, 3, 1, 0);
    if (lua_isstring(T, -1)) {
        fail(p, where, lua_tostring(T, -1));
        rc = -1;
    }
    lua_settop(T, p->top);
    return rc;
}

/* ---- answers ------------------------------------------------------------- */

static int64_t bad_answer(struct lp *p, enum heddle_point i, const char *want)
{
    const struct heddle_point_info *info = heddle_point_info(i);
    char text[256];
    lua_State *T = p->T;
    int string = lua_type(T, -1) == LUA_TSTRING && lua_isnumber(T, -1);
    const char *got =
        lua_isstring(T, -1) ? lua_tostring(T, -1) : luaL_typename(T, -1);

    snprintf(text, sizeof text, "answered %s%.128s%s, expected %s",
             string ? "the text '" : "", got, string ? "'" : "", want);
    fail(p, info->name, text);
    lua_settop(T, p->top);
    return HEDDLE_PASS;
}

static int64_t choice(struct lp *p, enum heddle_point i)
{
    const struct lp_point *pt = &p->point[i];
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
        return lua_tointeger(p->T, -1) == HEDDLE_PASS ? INT64_MAX
                                                      : lua_tointeger(p->T, -1);
    return bad_answer(p, i, heddle_point_info(i)->limit);
}

static int64_t integer(struct lp *p, enum heddle_point i, const void *q)
{
    const struct lp_point *pt = &p->point[i];
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

/* Calls a function with a view of what it is asked or told, state and
 * parameters. */
static inline int call_with(struct lp *p, int fn, struct lp_view *view,
                            int view_at, const void *q, int results)
{
    lua_State *T = p->T;
    int rc;

    view->q = q;
    lua_pushvalue(T, fn);
    lua_pushvalue(T, view_at);
    lua_pushvalue(T, LP_AT_STATE);
    lua_pushvalue(T, LP_AT_PARAMS);
    rc = lp_bridge_call(p, 3, results);
    view->q = NULL;
    return rc;
}

static int64_t ask(struct lp *p, enum heddle_point i, const void *q)
{
    struct lp_point *pt = &p->point[i];
    int rc = call_with(p, pt->fn, pt->view, pt->view_at, q, 1);
    int64_t a;

    if (rc != LUA_OK) {
        lp_bridge_fail(p, heddle_point_info(i)->name, rc);
        return HEDDLE_PASS;
    }
    a = read_answer(p, i, q);
    lua_settop(p->T, p->top);
    if (p->c->check)
        verify(p, heddle_point_info(i)->name);
    return a;
}

static void tell(struct lp *p, enum heddle_note i, const void *n)
{
    struct lp_note *nt = &p->note[i];
    int rc = call_with(p, nt->fn, nt->view, nt->view_at, n, 0);

    if (rc != LUA_OK)
        lp_bridge_fail(p, heddle_note_info(i)->name, rc);
    if (p->c->check)
        verify(p, heddle_note_info(i)->name);
}

#define HD_POINT(name, at, heat, kind, limit, when, meaning, fields)           \
    static int64_t answer_##name(void *self, const void *q)                    \
    {                                                                          \
        return ask(self, HEDDLE_POINT_##name, q);                              \
    }
#include "../points.def"
#undef HD_POINT

#define HD_NOTE(name, at, when, fields)                                        \
    static void watch_##name(void *self, const void *n)                        \
    {                                                                          \
        tell(self, HEDDLE_NOTE_##name, n);                                     \
    }
#include "../notes.def"
#undef HD_NOTE

/* ---- epochs -------------------------------------------------------------- */

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
    lua_pushvalue(p->T, LP_AT_STATE);
    lua_pushvalue(p->T, LP_AT_PARAMS);
    rc = lp_bridge_call(p, 3, 0);
    if (rc != LUA_OK)
        lp_bridge_fail(p, "every", rc);
    else
        verify(p, "every");
}

/* ---- snapshots ----------------------------------------------------------- */

static int write_protected(lua_State *L)
{
    struct lp *p = lua_touserdata(L, 1);

    lp_state_write(L, 2, "state", &p->bytes);
    return 0;
}

static size_t save_at(struct lp *p, const char *where, void *out, size_t room)
{
    lua_State *T = p->T;
    size_t n;

    p->bytes.n = 0;
    p->w->denied = 0;
    if (verify(p, where) != 0)
        return 0;
    lua_pushcfunction(T, write_protected);
    lua_pushlightuserdata(T, p);
    lua_pushvalue(T, LP_AT_STATE);
    if (lua_pcall(T, 2, 0, 0) != LUA_OK) {
        lp_bridge_fail(p, where, LUA_ERRRUN);
        return 0;
    }
    n = sizeof p->drawn + p->bytes.n;
    if (n <= room) {
        memcpy(out, &p->drawn, sizeof p->drawn);
        memcpy((char *)out + sizeof p->drawn, p->bytes.v, p->bytes.n);
    }
    return n;
}

static size_t save(void *self, void *out, size_t room)
{
    return save_at(self, "snapshot", out, room);
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
    p->w->denied = 0;
    lua_pushcfunction(p->T, read_protected);
    lua_pushlightuserdata(p->T, &b);
    if (lua_pcall(p->T, 1, 1, 0) != LUA_OK) {
        lp_bridge_fail(p, "restore", LUA_ERRRUN);
        return HEDDLE_EDATA;
    }
    memcpy(&p->drawn, saved, sizeof p->drawn);
    lua_replace(p->T, LP_AT_STATE);
    return 0;
}

/* What a snapshot would miss or refuse, looked for without taking one. */
static void check(void *self)
{
    save_at(self, "looked through", NULL, 0);
}

void lp_bridge_fill(lua_State *L, int t, struct lp_class *c)
{
    static heddle_answer *const answers[] = {
#define HD_POINT(name, ...) answer_##name,
#include "../points.def"
#undef HD_POINT
    };
    static void (*const watches[])(void *, const void *) = {
#define HD_NOTE(name, ...) watch_##name,
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
    c->policy.open = lp_open_policy;
    c->policy.close = lp_open_close;
    c->policy.save = save;
    c->policy.load = load;
    c->policy.check = check;
}
