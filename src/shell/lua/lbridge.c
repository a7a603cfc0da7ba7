/*
 * lbridge.c - a Lua policy bound: questions become calls, values answers.
 *
 * The engine sees an ordinary struct heddle_policy, filled only where the Lua
 * table has a function.  Each bound copy has a coroutine of its own whose
 * stack keeps everything a call needs, each at a fixed place (handler, state,
 * parameters, the functions and a view for each), so that a question costs four
 * pushes and one protected call, and makes no table and no garbage.  The state
 * is a copy of the table's, so that one table can be bound in many places.
 *
 * A view is a question as the policy sees it: one userdata for each point or
 * note, made once.  While the policy answers, it points at the engine's
 * question; afterwards at nothing, and reading it raises.  A field is found by
 * comparing pointers, because Lua has one copy of each short string.  An array
 * of a question is a second userdata that reads through the first: q.bank[1] is
 * the first element, #q.bank the count.  Numbers are Lua integers with the bits
 * of the engine's (a bit set with bit 63 prints negative); a field whose values
 * have names is one of these words.  A field that is not there raises and names
 * the nearest one.
 *
 * How a function is called, and what it may answer:
 *
 *     function(q, state, params)
 *
 * nil passes the question on to the engine's default.  BOOL takes true and
 * false, CHOICE a word (or its number from 0), VALUE and SUBSET an integer,
 * MEMBER an integer and, as a second result, whether it holds once only.  A
 * question with a field that C may set takes that as a second result (seconds).
 * An INDEX is the number by which the engine knows the thing (way, warp, core,
 * application: from 0), but where the question lists candidates in arrays
 * (walk_pick, dram_pick, block_place) it is the position in them, from 1, as
 * for any Lua array.
 *
 * A call has a budget of instructions and of memory (lbudget.c).  An error
 * stops the run with the policy, the point, the cycle, the message and a
 * traceback.
 *
 * The functions' globals become the sandbox's.  State in locals of the script
 * would escape snapshots: their contents are fingerprinted when the policy is
 * bound and compared after calls 1, 2, 4, 8 and so on of each function (option
 * check: after all of them), at epochs, at snapshots, and at the end.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lheddle.h"
#include "lpolicy.h"

#define VIEW  "heddle.question"
#define ARRAY "heddle.question.array"

enum { ERROR_ROOM = 960, FIELDS = 24, WORDS = 8 };

/* A view has room for the fields of each question and note, and its cycle. */
#define ONE(...) + 1
#define HD_POINT(name, at, heat, kind, limit, when, meaning, fields)           \
    _Static_assert(0 fields(ONE, ONE, ONE) <= FIELDS, "FIELDS are too few");
#define HD_NOTE(name, at, when, fields)                                        \
    _Static_assert(1 fields(ONE, ONE, ONE) <= FIELDS, "FIELDS are too few");
#include "notes.def"
#include "points.def"
#undef HD_NOTE
#undef HD_POINT
#undef ONE

/* Fixed places on the coroutine's stack. */
enum { AT_HANDLER = 1, AT_STATE, AT_PARAMS, AT_CLASS, AT_WORDS, AT_UPS };

/* A borrowed question or note: valid while q is not NULL. */
struct view {
    const void *q;
    const struct heddle_field_info *field;
    const char *name;        /* of the point or note */
    uint32_t n;              /* fields */
    const char *key[FIELDS]; /* the state's own copy of each name */
};

/* A function and the view that it is called with: places on the stack. */
struct call {
    int fn, view_at;
    struct view *view;
    uint64_t made; /* how often */
};

/* A field of a question that an answer may set, in Lua as its second result. */
static const struct second {
    const char *field;
    enum { SECOND_CYCLE, SECOND_FLAG, SECOND_NUMBER } is;
    const char *wanted;
} seconds[] = {
    {"holds", SECOND_CYCLE, "a cycle, or nothing, as its second result"},
    {"ends", SECOND_FLAG, "true, false or nothing, as its second result"},
    {"mark", SECOND_NUMBER, "a mark, or nothing, as its second result"},
};

/* How the answers to one point are read. */
struct point {
    struct call call;
    enum heddle_answer_kind kind;
    int position; /* INDEX: 1 when it is a position in the arrays */
    size_t limit; /* offset of the limit's field */
    const struct second *second; /* NULL: there is none */
    size_t second_at;            /* offset of its field */
    int words;
    const char *word[WORDS];
};

/* A bound copy of a Lua policy. */
struct lp {
    lua_State *L, *T; /* main thread; the coroutine */
    int ref;          /* registry: keeps the coroutine */
    int top, every;   /* place of the epoch's function */
    struct lp_class *c;
    struct lp_world *w;
    heddle_sim *sim;
    const struct heddle_place *place; /* during open only */
    uint64_t param[HEDDLE_MAX_PARAMS];
    uint64_t seed, drawn; /* of the random stream */
    int own[LP_MAX_OWN]; /* numbers of its counters */
    struct lp_budget budget;
    struct lp_locals locals;
    struct point point[HEDDLE_POINT_COUNT];
    struct call note[HEDDLE_NOTE_COUNT];
};

uint64_t lp_random(struct lp *p)
{
    return lp_mix(p->seed + 0x9e3779b97f4a7c15ull * p->drawn++);
}

heddle_sim *lp_sim(struct lp *p)
{
    return p->sim;
}

int lp_own(struct lp *p, const char *name)
{
    for (int i = 0; p->c->own[i].name != NULL; i++)
        if (p->c->own[i].name == name || strcmp(p->c->own[i].name, name) == 0)
            return p->own[i];
    return -1;
}

/* ---- views ---------------------------------------------------------------- */

struct array {
    const struct view *view;
    const struct heddle_field_info *field;
    size_t count; /* offset of the field that holds the length */
};

static int stale(lua_State *L, const struct view *v)
{
    return luaL_error(L,
                      "%s: this question was answered; copy the fields that "
                      "you need later",
                      v->name);
}

static int lbridge_unknown(lua_State *L, const struct view *v, const char *name)
{
    const char *names[FIELDS], *near;

    for (uint32_t i = 0; i < v->n; i++)
        names[i] = v->field[i].name;
    near = heddle_nearest(name, names, v->n);
    if (near)
        return luaL_error(L, "%s has no field '%s'; did you mean '%s'?",
                          v->name, name, near);
    return luaL_error(L, "%s has no field '%s' (see: heddle explain %s)",
                      v->name, name, v->name);
}

static int view_index(lua_State *L)
{
    const struct view *v = lua_touserdata(L, 1);
    const char *key = lua_tostring(L, 2);

    if (v->q == NULL)
        return stale(L, v);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct heddle_field_info *f = &v->field[i];
        if (v->key[i] != key)
            continue;
        if (f->count == NULL && f->words == NULL) {
            lua_pushinteger(L, (lua_Integer)lp_word(v->q, f->offset));
            return 1;
        }
        lua_getiuservalue(L, 1, 1);
        lua_rawgeti(L, -1,
                    (lua_Integer)(i * WORDS +
                                  (f->count ? 0 : lp_word(v->q, f->offset))));
        return 1;
    }
    return lbridge_unknown(L, v, key ? key : luaL_typename(L, 2));
}

static int read_only(lua_State *L)
{
    return luaL_error(L, "a question is read only");
}

static int view_text(lua_State *L)
{
    const struct view *v = lua_touserdata(L, 1);

    lua_pushfstring(L, "question %s", v->name);
    return 1;
}

static uint64_t lbridge_length(lua_State *L, const struct array *a)
{
    if (a->view->q == NULL)
        stale(L, a->view);
    return lp_word(a->view->q, a->count);
}

static int array_index(lua_State *L)
{
    const struct array *a = lua_touserdata(L, 1);
    uint64_t n = lbridge_length(L, a);
    const uint64_t *p;
    lua_Integer i;
    int whole;

    i = lua_tointegerx(L, 2, &whole);
    if (!whole)
        return luaL_error(L, "%s.%s is an array: its index is a number",
                          a->view->name, a->field->name);
    if (i < 1)
        return luaL_error(L, "%s.%s has no element %I: it counts from 1",
                          a->view->name, a->field->name, (LUAI_UACINT)i);
    if ((uint64_t)i > n) {
        lua_pushnil(L); /* as in a table, so that ipairs ends */
        return 1;
    }
    memcpy(&p, (const char *)a->view->q + a->field->offset, sizeof p);
    lua_pushinteger(L, (lua_Integer)p[i - 1]);
    return 1;
}

static int array_length(lua_State *L)
{
    const struct array *a = lua_touserdata(L, 1);

    lua_pushinteger(L, (lua_Integer)lbridge_length(L, a));
    return 1;
}

static void set_metatable(lua_State *L, const char *name, lua_CFunction index,
                          lua_CFunction len)
{
    if (luaL_newmetatable(L, name)) {
        hl_set_function(L, "__index", index);
        hl_set_function(L, "__newindex", read_only);
        hl_set_bool(L, "__metatable", 0);
        lua_pushcfunction(L, len ? len : view_text);
        lua_setfield(L, -2, len ? "__len" : "__tostring");
    }
    lua_setmetatable(L, -2);
}

static size_t lbridge_offset_of(const struct heddle_field_info *field,
                                uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(field[i].name, name) == 0)
            return field[i].offset;
    return 0;
}

/* Puts words, "a|b|c", into the table at index t, from place `at` on; returns
 * how many, and which. */
static int put_words(lua_State *L, int t, lua_Integer at, const char *words,
                     const char *word[WORDS])
{
    int k = 0;

    for (size_t n; *words && k < WORDS; words += n + (words[n] == '|')) {
        n = strcspn(words, "|");
        word[k] = lua_pushlstring(L, words, n);
        lua_rawseti(L, t, at + k++);
    }
    return k;
}

/* Pushes a new view of a question or note with these fields.  Its user value
 * has at i * WORDS the array that field i is, or the first of its words. */
static struct view *push_view(lua_State *L, const char *name,
                              const struct heddle_field_info *field, uint32_t n)
{
    struct view *v = lua_newuserdatauv(L, sizeof *v, 1);
    const char *word[WORDS];

    memset(v, 0, sizeof *v);
    v->name = name;
    v->field = field;
    v->n = n;
    set_metatable(L, VIEW, view_index, NULL);
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        struct array *a;

        v->key[i] = lua_pushstring(L, field[i].name);
        lua_rawseti(L, -2, -(lua_Integer)i - 1);
        if (field[i].words != NULL)
            put_words(L, lua_gettop(L), i * WORDS, field[i].words, word);
        if (field[i].count == NULL)
            continue;
        a = lua_newuserdatauv(L, sizeof *a, 0);
        a->view = v;
        a->field = &field[i];
        a->count = lbridge_offset_of(field, n, field[i].count);
        set_metatable(L, ARRAY, array_index, array_length);
        lua_rawseti(L, -2, i * WORDS);
    }
    lua_setiuservalue(L, -2, 1);
    return v;
}

/* ---- calls ---------------------------------------------------------------- */

/* Calls the function below `nargs` arguments on the coroutine's stack. */
static int bounded_call(struct lp *p, int nargs, int nresults)
{
    int rc;

    p->w->running = p;
    p->w->fence = &lp_policy_fence;
    lp_budget_begin(p->w, p->T, &p->budget);
    rc = lua_pcall(p->T, nargs, nresults, AT_HANDLER);
    lp_budget_end(p->w, p->T);
    p->w->fence = NULL;
    p->w->running = NULL;
    if ((p->w->metas & lp_policy_fence.bit) &&
        lp_sandbox_metas(p->T, &lp_policy_fence, 1))
        return LUA_ERRRUN;
    return rc;
}

/* ---- errors --------------------------------------------------------------- */

static void lbridge_fail(struct lp *p, const char *where, const char *text)
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
static void fail_with(struct lp *p, const char *where)
{
    char text[96];

    if (p->w->denied)
        lp_budget_text(p->w, p->c->bytes >> 10, "KB", text, sizeof text);
    lbridge_fail(p, where, p->w->denied ? text : hl_error_text(p->T, -1));
    lua_settop(p->T, p->top);
}

/* ---- changed locals ------------------------------------------------------- */

/* The name of a local whose contents have changed, or NULL.  Protected. */
static int lbridge_find_changed(lua_State *L)
{
    struct lp *p = lua_touserdata(L, 1);
    const char *name;

    /* handed over: the table of functions, the parameters */
    name = lp_locals_changed(L, &p->locals, 2);
    if (name != NULL) {
        lua_pushfstring(L,
                        "the local '%s' has changed since the policy was "
                        "bound; what changes belongs in the state, or a "
                        "snapshot misses it%s",
                        name,
                        p->c->check ? ""
                                    : " (check = true next to the policy "
                                      "finds the call that changes it)");
        return 1;
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

static int lbridge_verify(struct lp *p, const char *where)
{
    lua_State *T = p->T;
    int rc;

    lua_pushcfunction(T, lbridge_find_changed);
    lua_pushlightuserdata(T, p);
    lua_pushvalue(T, AT_UPS);
    lua_pushvalue(T, AT_PARAMS);
    rc = lua_pcall(T, 3, 1, 0);
    if (lua_isstring(T, -1)) {
        lbridge_fail(p, where, lua_tostring(T, -1));
        rc = -1;
    }
    lua_settop(T, p->top);
    return rc;
}

/* After a call: changed locals are reported at once, for next to nothing. */
static inline void verify_some(struct lp *p, struct call *c,
                               const char *where)
{
    c->made++;
    if ((c->made & (c->made - 1)) == 0 || p->c->check)
        lbridge_verify(p, where);
}

/* ---- answers -------------------------------------------------------------- */

static int64_t bad_answer(struct lp *p, enum heddle_point i, const char *want)
{
    const struct heddle_point_info *info = heddle_point_info(i);
    char text[256];
    lua_State *T = p->T;
    int string = lua_type(T, -1) == LUA_TSTRING && lua_isnumber(T, -1);
    const char *got =
        lua_isstring(T, -1) ? hl_shown(T, -1) : luaL_typename(T, -1);

    snprintf(text, sizeof text, "answered %s%.128s%s, expected %s",
             string ? "the text '" : "", got, string ? "'" : "", want);
    lbridge_fail(p, info->name, text);
    lua_settop(T, p->top);
    return HEDDLE_PASS;
}

static int64_t choice(struct lp *p, enum heddle_point i)
{
    const struct point *pt = &p->point[i];
    const char *s, *near;
    char want[128];
    size_t n;

    if (lua_type(p->T, -1) == LUA_TSTRING) {
        s = lua_tolstring(p->T, -1, &n);
        for (int k = 0; k < pt->words; k++)
            if (s == pt->word[k] || (n == strlen(pt->word[k]) &&
                                     memcmp(s, pt->word[k], n) == 0))
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
    if (pt->kind == HEDDLE_MEMBER && (a < 0 || a >= 64))
        return bad_answer(p, i, "a member of a bit set, from 0 to 63");
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

/* Calls a function with the question or note, state and parameters. */
static inline int call_with(struct lp *p, const struct call *c, const void *q,
                            int results)
{
    lua_State *T = p->T;
    int rc;

    c->view->q = q;
    lua_pushvalue(T, c->fn);
    lua_pushvalue(T, c->view_at);
    lua_pushvalue(T, AT_STATE);
    lua_pushvalue(T, AT_PARAMS);
    rc = bounded_call(p, 3, results);
    c->view->q = NULL;
    return rc;
}

/* Takes the second result off the stack; false: it is not what is expected.
 * Nothing leaves the question as it was asked. */
static bool read_second(struct lp *p, enum heddle_point i, const void *q)
{
    const struct second *s = p->point[i].second;
    bool flag = s->is == SECOND_FLAG;
    int whole = 1;
    lua_Integer v = flag ? lua_toboolean(p->T, -1)
                         : lua_tointegerx(p->T, -1, &whole);

    if (!lua_isnil(p->T, -1)) {
        if (flag ? !lua_isboolean(p->T, -1) : !whole) {
            bad_answer(p, i, s->wanted);
            return false;
        }
        if (s->is == SECOND_CYCLE && v == LUA_MAXINTEGER)
            v = -1; /* all ones, as C says it */
        /* which is not const where it was made */
        memcpy((char *)(uintptr_t)q + p->point[i].second_at, &v, sizeof v);
    }
    lua_pop(p->T, 1);
    return true;
}

static int64_t lbridge_ask(struct lp *p, enum heddle_point i, const void *q)
{
    int member = p->point[i].kind == HEDDLE_MEMBER, once = 0;
    int two = member || p->point[i].second != NULL;
    int64_t a;

    if (call_with(p, &p->point[i].call, q, 1 + two) != LUA_OK) {
        fail_with(p, heddle_point_info(i)->name);
        return HEDDLE_PASS;
    }
    if (member) {
        once = lua_toboolean(p->T, -1);
        lua_pop(p->T, 1);
    } else if (two && !read_second(p, i, q)) {
        return HEDDLE_PASS;
    }
    a = read_answer(p, i, q);
    if (once && a != HEDDLE_PASS)
        a |= HEDDLE_ONCE;
    lua_settop(p->T, p->top);
    verify_some(p, &p->point[i].call, heddle_point_info(i)->name);
    return a;
}

static void lbridge_tell(struct lp *p, enum heddle_note i, const void *n)
{
    if (call_with(p, &p->note[i], n, 0) != LUA_OK)
        fail_with(p, heddle_note_info(i)->name);
    else
        verify_some(p, &p->note[i], heddle_note_info(i)->name);
}

#define HD_POINT(name, at, heat, kind, limit, when, meaning, fields)           \
    static int64_t answer_##name(void *self, const void *q)                    \
    {                                                                          \
        return lbridge_ask(self, HEDDLE_POINT_##name, q);                      \
    }
#include "points.def"
#undef HD_POINT

#define HD_NOTE(name, at, when, fields)                                        \
    static void watch_##name(void *self, const void *n)                        \
    {                                                                          \
        lbridge_tell(self, HEDDLE_NOTE_##name, n);                             \
    }
#include "notes.def"
#undef HD_NOTE

/* ---- epochs --------------------------------------------------------------- */

static uint64_t lbridge_period(const void *self)
{
    const struct lp *p = self;

    return p->c->cycle_param != UINT32_MAX ? p->param[p->c->cycle_param] : p->c->cycles;
}

static void lbridge_epoch(void *self, heddle_sim *sim, uint64_t cycle)
{
    struct lp *p = self;

    (void)sim;
    lua_pushvalue(p->T, p->every);
    lua_pushinteger(p->T, (lua_Integer)cycle);
    lua_pushvalue(p->T, AT_STATE);
    lua_pushvalue(p->T, AT_PARAMS);
    if (bounded_call(p, 3, 0) != LUA_OK)
        fail_with(p, "every");
    else
        lbridge_verify(p, "every");
}

/* ---- snapshots ------------------------------------------------------------ */

/* [1] the state -> its bytes */
static int write_protected(lua_State *L)
{
    lp_state_plain(L, "state");
    return 1;
}

static size_t save_at(struct lp *p, const char *where, void *out, size_t room)
{
    lua_State *T = p->T;
    const char *bytes;
    size_t n;

    p->w->denied = 0;
    if (lbridge_verify(p, where) != 0)
        return 0;
    lua_pushcfunction(T, write_protected);
    lua_pushvalue(T, AT_STATE);
    if (lua_pcall(T, 1, 1, 0) != LUA_OK) {
        fail_with(p, where);
        return 0;
    }
    bytes = lua_tolstring(T, -1, &n);
    if (sizeof p->drawn + n <= room) {
        memcpy(out, &p->drawn, sizeof p->drawn);
        memcpy((char *)out + sizeof p->drawn, bytes, n);
    }
    lua_settop(T, p->top);
    return sizeof p->drawn + n;
}

static size_t lbridge_save(void *self, void *out, size_t room)
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

    lua_pushlstring(L, (const char *)b->v, b->n);
    lp_state_plain(L, "read");
    luaL_checktype(L, -1, LUA_TTABLE);
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
        fail_with(p, "restore");
        return HEDDLE_EDATA;
    }
    memcpy(&p->drawn, saved, sizeof p->drawn);
    lua_replace(p->T, AT_STATE);
    return 0;
}

/* What a snapshot would miss or refuse, looked for without taking one. */
static void lbridge_check(void *self)
{
    save_at(self, "checked", NULL, 0);
}

/* ---- binding -------------------------------------------------------------- */

static void push_params(lua_State *L, const struct lp *p)
{
    lua_newtable(L);
    for (int i = 0; p->c->param[i].name; i++) {
        lp_push_value(L, &p->c->param[i], p->param[i]);
        lua_setfield(L, -2, p->c->param[i].name);
    }
    lp_sandbox_seal(L, "the policy", "parameter ",
                    "parameters are fixed while a policy is bound");
}

static void push_place(lua_State *L, const struct heddle_place *place)
{
#define PLACE(m) HL_FIELD(struct heddle_place, m)
    static const struct hl_field fields[] = {
        PLACE(at),       PLACE(cores), PLACE(warps),     PLACE(apps),
        PLACE(channels), PLACE(banks), PLACE(instances), PLACE(sets),
        PLACE(ways),     PLACE(seed),  PLACE(frames),    PLACE(l2tlbs),
        HL_END};

    hl_push_fields(L, fields, place);
    lp_sandbox_seal(L, "the place", "", NULL);
}

/* Takes the function on top of the stack behind the fence. */
static void lbridge_enter(lua_State *L, struct lp *p)
{
    lp_sandbox_enter(L, &lp_policy_fence, -1, &p->locals, AT_UPS);
}

/* Enters one that is asked or notified: a view comes on top of it. */
static struct call open_call(lua_State *L, struct lp *p, const char *name,
                             const struct heddle_field_info *field, uint32_t n)
{
    struct call c = {0};

    lbridge_enter(L, p);
    c.fn = lua_gettop(L);
    c.view = push_view(L, name, field, n);
    c.view_at = lua_gettop(L);
    return c;
}

static void open_point(lua_State *L, struct lp *p, uint32_t i)
{
    const struct heddle_point_info *info = heddle_point_info(i);
    struct point *pt = &p->point[i];
    const char *s = info->kind == HEDDLE_CHOICE ? info->limit : "";

    pt->call = open_call(L, p, info->name, info->field, info->fields);
    pt->position = lp_by_position(info);
    pt->kind = info->kind;
    pt->words = put_words(L, AT_WORDS, i * WORDS, s, pt->word);
    for (uint32_t k = 0; k < info->fields; k++) {
        const struct heddle_field_info *f = &info->field[k];
        if (strcmp(f->name, info->limit) == 0)
            pt->limit = f->offset;
        for (uint32_t j = 0; j < sizeof seconds / sizeof *seconds; j++)
            if (strcmp(f->name, seconds[j].field) == 0) {
                pt->second = &seconds[j];
                pt->second_at = f->offset;
            }
    }
}

/* Pushes function i of one of the spec's lists, the spec at index t; whether
 * there is one. */
static int get_function(lua_State *L, int t, const char *list, uint32_t i)
{
    lua_getfield(L, t, list);
    luaL_checktype(L, -1, LUA_TTABLE);
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    lua_remove(L, -2);
    if (lua_toboolean(L, -1))
        return 1;
    lua_pop(L, 1);
    return 0;
}

/* The functions of the spec at index t. */
static void open_functions(lua_State *L, struct lp *p, int t)
{
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++)
        if (get_function(L, t, "points", i))
            open_point(L, p, i);
    for (uint32_t i = 0; i < HEDDLE_NOTE_COUNT; i++) {
        const struct heddle_note_info *note = heddle_note_info(i);
        if (get_function(L, t, "notes", i))
            p->note[i] = open_call(L, p, note->name, note->field, note->fields);
    }
    if (lua_getfield(L, t, "epoch") != LUA_TNIL) {
        lbridge_enter(L, p);
        p->every = lua_gettop(L);
    }
}

/* Fills the coroutine's stack, in protected mode and in place: [1] handler
 * [2] light userdata of the policy, handed over as the only argument, becomes
 * the state.  The values that stay are returned as results; on top are `init`,
 * or nil, and the place. */
static int fill_stack(lua_State *L)
{
    struct lp *p = lua_touserdata(L, AT_STATE);
    int t;

    luaL_checkstack(L, 3 * (HEDDLE_POINT_COUNT + HEDDLE_NOTE_COUNT) + 32,
                    "a policy");
    lua_rawgeti(L, LUA_REGISTRYINDEX, p->c->ref);
    lua_getiuservalue(L, -1, 1); /* .. class spec */
    lua_getfield(L, -1, "state");
    lp_state_plain(L, "copy");
    lua_replace(L, AT_STATE); /* handler state class spec */
    push_params(L, p);        /* handler state class spec params */
    lua_insert(L, AT_PARAMS); /* handler state params class spec */
    lua_newtable(L);
    lua_insert(L, AT_WORDS);
    lua_newtable(L);
    lua_insert(L, AT_UPS); /* .. class words ups spec */
    t = lua_gettop(L);
    open_functions(L, p, t);
    if (lua_getfield(L, t, "init") != LUA_TNIL)
        lbridge_enter(L, p);
    push_place(L, p->place);
    return lua_gettop(L) - 1;
}

void lp_bridge_close(void *self)
{
    struct lp *p = self;

    luaL_unref(p->L, LUA_REGISTRYINDEX, p->ref);
    free(p->locals.v);
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

/* Fills the stack and calls `init`. */
static int lbridge_start(struct lp *p)
{
    lua_State *T = p->T;
    int rc;

    /* Inside the call, index 1 is a handler and index 2 the argument, so the
     * places on the stack are those that remain after it. */
    lua_pushcfunction(T, hl_traceback);
    lua_pushcfunction(T, fill_stack);
    lua_pushcfunction(T, hl_traceback);
    lua_pushlightuserdata(T, p);
    rc = lua_pcall(T, 2, LUA_MULTRET, 0); /* no traceback: none of it is theirs */
    if (rc != LUA_OK) {
        p->top = 1;
        fail_with(p, "binding");
        return rc;
    }
    lua_sethook(T, lp_budget_hook, LUA_MASKCOUNT, LP_HOOK);
    p->top = lua_gettop(T) - 2;
    if (lua_isnil(T, -2)) {
        lua_settop(T, p->top);
        return 0;
    }
    lua_pushvalue(T, AT_STATE);
    lua_insert(T, -2);
    lua_pushvalue(T, AT_PARAMS);
    lua_insert(T, -2);
    rc = bounded_call(p, 3, 0);
    if (rc != LUA_OK)
        fail_with(p, "init");
    return rc;
}

static void *open_policy(void *ud, heddle_sim *s,
                         const struct heddle_place *place,
                         const uint64_t *params)
{
    struct lp_class *c = ud;
    struct lp *p = calloc(1, sizeof *p);
    lua_State *L = c->L;

    if (p == NULL || !lua_checkstack(L, 4)) {
        heddle_policy_fail(s, HEDDLE_NO_MEMORY);
        free(p);
        return NULL;
    }
    *p = (struct lp){.L = L,
                     .ref = LUA_NOREF,
                     .c = c,
                     .sim = s,
                     .place = place,
                     .seed = place->seed,
                     .budget = {.instructions = c->instructions,
                                .bytes = c->bytes,
                                .collect_at = c->bytes / 2,
                                .per = "in one call"}};
    memcpy(p->param, params, sizeof p->param);
    for (int i = 0; c->own[i].name != NULL; i++)
        p->own[i] = heddle_own_number(s, c->policy.name, c->own[i].name);
    lua_pushcfunction(L, new_thread);
    lua_pushlightuserdata(L, p);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        heddle_policy_fail(s, hl_error_text(L, -1));
        lua_pop(L, 1);
        free(p);
        return NULL;
    }
    if (lbridge_start(p) != 0) {
        lp_bridge_close(p);
        return NULL;
    }
    p->place = NULL;
    return p;
}

void lp_bridge_state(lua_State *L, void *self)
{
    struct lp *p = self;

    lua_pushvalue(p->T, AT_STATE);
    lua_xmove(p->T, L, 1);
    lp_state_plain(L, "copy");
}

void lp_bridge_fill(lua_State *L, int t, struct lp_class *c)
{
    static heddle_answer *const answers[] = {
#define HD_POINT(name, ...) answer_##name,
#include "points.def"
#undef HD_POINT
    };
    static void (*const watches[])(void *, const void *) = {
#define HD_NOTE(name, ...) watch_##name,
#include "notes.def"
#undef HD_NOTE
    };

    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++)
        if (get_function(L, t, "points", i)) {
            c->policy.answer[i] = answers[i];
            lua_pop(L, 1);
        }
    for (uint32_t i = 0; i < HEDDLE_NOTE_COUNT; i++)
        if (get_function(L, t, "notes", i)) {
            c->policy.watch[i] = watches[i];
            lua_pop(L, 1);
        }
    if (c->cycles || c->cycle_param != UINT32_MAX) {
        c->policy.period = lbridge_period;
        c->policy.epoch = lbridge_epoch;
    }
    c->policy.ud = c;
    c->policy.open = open_policy;
    c->policy.close = lp_bridge_close;
    c->policy.save = lbridge_save;
    c->policy.load = load;
    c->policy.check = lbridge_check;
}
