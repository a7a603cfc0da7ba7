/*
 * lsim.c - a simulation as a Lua object: run, look inside, snapshot.  What it
 * has measured is lmeasured.c.
 *
 * The methods are those of heddle.h one by one.  Numbers are Lua integers
 * (64 bits, two's complement: an address above 2^63 prints negative with %d,
 * use %x).  Instances and applications count from 0, as in the engine; Lua
 * arrays of them from 1.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lheddle.h"
#include "lparts.h"
#include "lpolicy.h"

#define SNAPSHOT "heddle.snapshot"

heddle_sim *hl_sim_check(lua_State *L, int i)
{
    struct hl_sim *h = luaL_checkudata(L, i, HL_SIM);

    luaL_argcheck(L, h->s != NULL, i, "this simulation was closed");
    return h->s;
}

static heddle_sim *self(lua_State *L)
{
    return hl_sim_check(L, 1);
}

/* An optional count: nil and math.huge are "no limit". */
static uint64_t opt_cycles(lua_State *L, int i)
{
    if (lua_isnoneornil(L, i))
        return UINT64_MAX;
    if (lua_type(L, i) == LUA_TNUMBER && !lua_isinteger(L, i) &&
        lua_tonumber(L, i) > 9e18)
        return UINT64_MAX;
    luaL_argcheck(L, luaL_checkinteger(L, i) >= 0, i, "must not be negative");
    return (uint64_t)lua_tointeger(L, i);
}

/* ---- running ---------------------------------------------------------- */

/* sim:run([cycles]) -> "ok", "done" or "stopped" */
static int sim_run(lua_State *L)
{
    static const char *const words[] = {"ok", "done", "stopped"};
    heddle_sim *s = self(L);
    uint64_t cycles = opt_cycles(L, 2);
    struct hl_interrupt *in = hl_interrupt_of(L);
    heddle_sim *outer = NULL;
    int rc;

    if (lp_world(L)->spent != NULL) /* a finaliser does */
        return hl_raise(L, HEDDLE_EINVAL,
                        "a simulation cannot run inside policy code");
    if (in) {
        outer = in->running;
        in->running = s;
    }
    rc = in && in->hit ? HEDDLE_STOPPED : heddle_run(s, cycles);
    if (in) {
        in->running = outer;
        if (in->hit)
            return hl_raise(L, HL_EINTERRUPT, "interrupted");
    }
    if (rc < 0)
        return hl_raise(L, rc, heddle_error(s));
    lua_pushstring(L, words[rc]);
    return 1;
}

static int sim_stop(lua_State *L)
{
    heddle_stop(self(L));
    return 0;
}

static int sim_now(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)heddle_now(self(L)));
    return 1;
}

static int sim_counted(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)heddle_counted(self(L)));
    return 1;
}

static int sim_instructions(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)heddle_instructions(self(L)));
    return 1;
}

/* sim:ticks() -> ticks of a core cycle, the unit of counters of time */
static int sim_ticks(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)heddle_ticks_per_cycle(self(L)));
    return 1;
}

static int sim_events(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)heddle_events(self(L)));
    return 1;
}

/* The arguments (application, warp instructions) of what is set before the
 * first run. */
static int set_before(lua_State *L,
                      int (*set)(heddle_sim *s, uint32_t app, uint64_t n),
                      const char *otherwise)
{
    heddle_sim *s = self(L);
    uint32_t app = (uint32_t)luaL_checkinteger(L, 2);
    lua_Integer n = luaL_checkinteger(L, 3);

    luaL_argcheck(L, n >= 0, 3, "must not be negative");
    if (set(s, app, (uint64_t)n) != HEDDLE_OK)
        return hl_raise(L, HEDDLE_EINVAL, otherwise);
    return 0;
}

static int sim_set_budget(lua_State *L)
{
    return set_before(L, heddle_set_budget,
                      "a budget is set before the first run");
}

static int sim_set_start(lua_State *L)
{
    return set_before(L, heddle_set_start,
                      "a start is set before the first run");
}

static int sim_reset(lua_State *L)
{
    heddle_reset_counters(self(L));
    return 0;
}

/* sim:memory() -> bytes in the arena, bytes outside it */
static int sim_memory(lua_State *L)
{
    uint64_t arena, outside;

    heddle_memory(self(L), &arena, &outside);
    lua_pushinteger(L, (lua_Integer)arena);
    lua_pushinteger(L, (lua_Integer)outside);
    return 2;
}

static int sim_hash(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)heddle_state_hash(self(L)));
    return 1;
}

/* ---- looking ---------------------------------------------------------- */

/* The table on top of the stack is the list; a row is its last element. */
static void visit_row(void *ud, const char *kind)
{
    lua_State *L = ud;

    lua_newtable(L);
    hl_set_text(L, "kind", kind);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

static void visit_number(void *ud, const char *name, uint64_t value)
{
    lua_State *L = ud;

    lua_rawgeti(L, -1, (lua_Integer)lua_rawlen(L, -1));
    if (lua_istable(L, -1))
        hl_set_number(L, name, value);
    lua_pop(L, 1);
}

static void visit_text(void *ud, const char *name, const char *value)
{
    lua_State *L = ud;

    lua_rawgeti(L, -1, (lua_Integer)lua_rawlen(L, -1));
    if (lua_istable(L, -1))
        hl_set_text(L, name, value);
    lua_pop(L, 1);
}

void hl_visitor(lua_State *L, struct heddle_visitor *v)
{
    v->row = visit_row;
    v->number = visit_number;
    v->text = visit_text;
    v->ud = L;
}

static int sim_objects(lua_State *L)
{
    heddle_sim *s = self(L);
    struct heddle_object_info o;
    uint32_t i;

    lua_newtable(L);
    for (i = 0; heddle_object(s, i, &o) == HEDDLE_OK; i++) {
        lua_createtable(L, 0, 2);
        hl_set_text(L, "name", o.name);
        hl_set_number(L, "instances", o.instances);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* sim:look(object [, instance]) -> rows */
static int sim_look(lua_State *L)
{
    heddle_sim *s = self(L);
    const char *name = luaL_checkstring(L, 2);
    uint32_t instance = (uint32_t)luaL_optinteger(L, 3, 0);
    struct heddle_visitor v;
    int rc;

    lua_newtable(L);
    hl_visitor(L, &v);
    rc = heddle_look(s, name, instance, &v);
    if (rc < 0)
        return hl_raise(L, rc, heddle_error(s));
    return 1;
}

/* sim:stuck() -> rows of the wait-for graph */
static int sim_stuck(lua_State *L)
{
    heddle_sim *s = self(L);
    struct heddle_visitor v;
    int rc;

    lua_newtable(L);
    hl_visitor(L, &v);
    rc = heddle_stuck(s, &v);
    if (rc < 0)
        return hl_raise(L, rc, heddle_error(s));
    return 1;
}

static int sim_check(lua_State *L)
{
    heddle_sim *s = self(L);
    int rc = heddle_check(s);

    if (rc < 0)
        return hl_raise(L, rc, heddle_error(s));
    return 0;
}

/* sim:translate(app, va) -> pa, page bytes; nil when nothing is mapped */
static int sim_translate(lua_State *L)
{
    heddle_sim *s = self(L);
    uint64_t pa, bytes;
    uint32_t app = (uint32_t)luaL_checkinteger(L, 2);
    uint64_t va = (uint64_t)luaL_checkinteger(L, 3);

    if (heddle_translate(s, app, va, &pa, &bytes) != HEDDLE_OK) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, (lua_Integer)pa);
    lua_pushinteger(L, (lua_Integer)bytes);
    return 2;
}

/* ---- snapshots -------------------------------------------------------- */

static int snapshot_free(lua_State *L)
{
    heddle_snapshot **k = luaL_checkudata(L, 1, SNAPSHOT);

    if (*k)
        heddle_snapshot_free(*k);
    *k = NULL;
    return 0;
}

/* sim:snapshot([old]) -> snapshot; `old` is used up: its memory is reused */
static int sim_snapshot(lua_State *L)
{
    heddle_sim *s = self(L);
    heddle_snapshot **old = NULL, **k;
    int rc;

    if (!lua_isnoneornil(L, 2))
        old = luaL_checkudata(L, 2, SNAPSHOT);
    k = lua_newuserdatauv(L, sizeof *k, 0);
    *k = NULL;
    hl_class(L, SNAPSHOT, snapshot_free, NULL);
    if (old) {
        *k = *old;
        *old = NULL;
    }
    rc = heddle_snapshot_take(s, k);
    if (rc < 0)
        return hl_raise(L, rc, heddle_error(s));
    return 1;
}

/* sim:restore(snapshot) */
static int sim_restore(lua_State *L)
{
    heddle_sim *s = self(L);
    heddle_snapshot **k = luaL_checkudata(L, 2, SNAPSHOT);
    int rc;

    luaL_argcheck(L, *k != NULL, 2, "this snapshot was used up");
    rc = heddle_snapshot_restore(s, *k);
    if (rc < 0)
        return hl_raise(L, rc, heddle_error(s));
    return 0;
}

/* ---- life ------------------------------------------------------------- */

static int sim_free(lua_State *L)
{
    struct hl_sim *h = luaL_checkudata(L, 1, HL_SIM);
    heddle_sim *s = h->s;

    h->s = NULL;
    if (s)
        heddle_free(s);
    return 0;
}

static const luaL_Reg methods[] = {
    {"run", sim_run},
    {"stop", sim_stop},
    {"now", sim_now},
    {"counted", sim_counted},
    {"instructions", sim_instructions},
    {"events", sim_events},
    {"ticks", sim_ticks},
    {"set_budget", sim_set_budget},
    {"set_start", sim_set_start},
    {"reset_counters", sim_reset},
    {"memory", sim_memory},
    {"state_hash", sim_hash},
    {"objects", sim_objects},
    {"look", sim_look},
    {"stuck", sim_stuck},
    {"check", sim_check},
    {"translate", sim_translate},
    {"snapshot", sim_snapshot},
    {"restore", sim_restore},
    {"close", sim_free},
    {NULL, NULL},
};

enum { MAX_WORKLOADS = 32 };

/* core.sim(config, {workload, ...}): the table is kept as user value 1 */
int hl_sim_new(lua_State *L)
{
    heddle_config *c = hl_config_check(L, 1);
    heddle_workload *w[MAX_WORKLOADS];
    struct hl_sim *h;
    lua_Integer n, i;
    int status = HEDDLE_OK;

    luaL_checktype(L, 2, LUA_TTABLE);
    n = (lua_Integer)lua_rawlen(L, 2);
    luaL_argcheck(L, n <= MAX_WORKLOADS, 2, "too many applications (32)");
    for (i = 1; i <= n; i++) {
        lua_rawgeti(L, 2, i);
        w[i - 1] = hl_workload_check(L, -1);
        lua_pop(L, 1);
    }
    h = lua_newuserdatauv(L, sizeof *h, 1);
    h->s = NULL;
    h->config = c;
    if (hl_class(L, HL_SIM, sim_free, methods)) {
        luaL_getmetafield(L, -1, "__index");
        luaL_setfuncs(L, hl_sim_measured, 0);
        lua_pop(L, 1);
    }
    lua_pushvalue(L, 1);
    lua_setfield(L, 2, "config");
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, -2, 1);
    h->s = heddle_new(c, NULL, w, (uint32_t)n, &status);
    if (!h->s)
        return hl_raise(L, status, heddle_config_error(c));
    return 1;
}
