/*
 * lsim.c - the module "heddle.core": the engine as Lua sees it.
 *
 * A thin binding of heddle.h, nothing more: it has no defaults, no units and
 * no formatting.  What scenario writers use is lua/heddle/init.lua, written on
 * top of this one.  Here are the lists (settings, counters, histograms, points,
 * notes), configurations and simulations.
 *
 * Values of settings cross as text, in the grammar that the settings table
 * declares, so that a number in a script, on the command line and in a file is
 * read by one piece of code.  The methods of a simulation are those of heddle.h
 * one by one.  Numbers are Lua integers (64 bits, two's complement: an address
 * above 2^63 prints negative with %d, use %x).  Instances and applications
 * count from 0, as in the engine; Lua arrays of them from 1.  What a simulation
 * has measured is copied: a table does not change when it continues.
 *
 * The lists of points and notes come from the same points.def and notes.def
 * as the engine's, so that what `heddle list points` prints cannot differ
 * from what is asked.
 *
 * Opening the module also gives the thread that loads heddle the C locale
 * (UTF-8 characters), of which setlocale() and os.setlocale change nothing.
 * Lua's string.format, tostring, tonumber, comparisons of texts and patterns
 * all go by the locale; here results, settings and what policies compute are
 * the same everywhere.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lheddle.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>

#include <xxhash.h>

#include "policy.h"
#include "lpolicy.h"

int luaopen_heddle_core(lua_State *L);
HL_MODULE int luaopen_heddle(lua_State *L);

#define CONFIG   "heddle.config"
#define SNAPSHOT "heddle.snapshot"

/* ---- errors --------------------------------------------------------------- */

/* core.error(code, message): makes an error value, for the Lua half. */
static int make_error(lua_State *L)
{
    luaL_checkstring(L, 2);
    hl_push_error(L, (int)luaL_checkinteger(L, 1), hl_shown(L, 2));
    return 1;
}

/* core.text(value): that of an error value; it does not raise. */
static int error_text(lua_State *L)
{
    lua_settop(L, 1);
    hl_error_text(L, 1);
    return 1;
}

/* core.escape(text): as it can stand in a line */
static int escape_text(lua_State *L)
{
    hl_escape(L, 1, "");
    return 1;
}

/* core.line(what, text): the text, which has to be able to stand in a line */
static int line_text(lua_State *L)
{
    char error[1024];
    size_t n;
    const char *text = luaL_checklstring(L, 2, &n);

    hl_expect(L,
              heddle_line_check(hl_text(L, 1), text, n, error, sizeof error),
              error);
    lua_settop(L, 2);
    return 1;
}

/* ---- lists ---------------------------------------------------------------- */

#define SETTING(m) HL_FIELD(struct heddle_setting_info, m)
#define COUNTER(m) HL_FIELD(struct heddle_counter_info, m)
#define HIST(m)    HL_FIELD(struct heddle_hist_info, m)
static const struct hl_field setting_fields[] = {
    SETTING(name),    SETTING(type),
    SETTING(unit),    HL_FIELD_AS(struct heddle_setting_info, def, "default"),
    SETTING(choices), SETTING(meaning),
    SETTING(source),  SETTING(min),
    SETTING(max),     HL_END};
static const struct hl_field counter_fields[] = {
    COUNTER(component), COUNTER(name), COUNTER(unit),
    COUNTER(meaning),   COUNTER(peak), COUNTER(level), HL_END};
static const struct hl_field hist_fields[] = {
    HIST(component), HIST(name), HIST(unit), HIST(meaning), HL_END};

/* core.settings(), core.counters(), core.histograms(): all that the library
 * knows, in order. */
static HL_LIST(settings, struct heddle_setting_info, heddle_setting(i, &x),
               setting_fields)
/* A description begins with its size. */
#define SIZED(get) (x.size = sizeof x, (get))

static HL_LIST(counters, struct heddle_counter_info,
               SIZED(heddle_counter_known(i, &x)), counter_fields)
static HL_LIST(histograms, struct heddle_hist_info,
               SIZED(heddle_hist_known(i, &x)), hist_fields)

/* ---- configurations ------------------------------------------------------- */

static heddle_config *config_at_1(lua_State *L)
{
    return hl_unbox(L, 1, CONFIG, "this configuration was closed");
}

HL_RELEASE(config_free, CONFIG, heddle_config, heddle_config_free)

/* The text of a value: booleans and whole numbers in the engine's grammar. */
static const char *value_text(lua_State *L, int i)
{
    if (lua_isboolean(L, i))
        return lua_toboolean(L, i) ? "true" : "false";
    if (lua_type(L, i) == LUA_TNUMBER) {
        int whole;
        lua_Integer n = lua_tointegerx(L, i, &whole);

        if (whole)
            return lua_pushfstring(L, "%I", (LUAI_UACINT)n);
    }
    return hl_text(L, i);
}

/* config:set(name, value) */
static int config_set(lua_State *L)
{
    heddle_config *c = config_at_1(L);
    const char *name = hl_text(L, 2);

    hl_expect(L, heddle_config_set(c, name, value_text(L, 3)),
              heddle_config_error(c)->text);
    lua_settop(L, 1);
    return 1;
}

/* config:get(name) -> text */
static int config_get(lua_State *L)
{
    heddle_config *c = config_at_1(L);
    char out[256];

    hl_expect(L, heddle_config_get(c, hl_text(L, 2), out, sizeof out),
              heddle_config_error(c)->text);
    lua_pushstring(L, out);
    return 1;
}

/* config:check() */
static int config_check(lua_State *L)
{
    heddle_config *c = config_at_1(L);

    hl_expect(L, heddle_config_check(c), heddle_config_error(c)->text);
    lua_settop(L, 1);
    return 1;
}

/* config:shapes() -> {{name=, unit=, copies=, sets=, ways=, size=, ...}, ...}
 */
#define SHAPE(m) HL_FIELD(struct heddle_shape_info, m)
static const struct hl_field shape_fields[] = {
    SHAPE(name), SHAPE(unit),   SHAPE(copies),      SHAPE(sets),    SHAPE(ways),
    SHAPE(size), SHAPE(set_to), SHAPE(ways_set_to), SHAPE(rounded), HL_END};
static HL_LIST(config_shapes, struct heddle_shape_info,
               heddle_config_shape(config_at_1(L), i, &x), shape_fields)

/* core.config() */
static int config_new(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"set", config_set},       {"get", config_get}, {"check", config_check},
        {"shapes", config_shapes}, {NULL, NULL},
    };
    heddle_config **c = hl_box(L, CONFIG, config_free, methods);

    *c = heddle_config_new();
    return *c ? 1 : hl_raise_memory(L);
}

/* ---- simulations ---------------------------------------------------------- */

heddle_sim *hl_sim_check(lua_State *L, int i)
{
    return hl_unbox(L, i, HL_SIM, "this simulation was closed");
}

static heddle_sim *lsim_self(lua_State *L)
{
    return hl_sim_check(L, 1);
}

/* Raises what the simulation says of a call that failed. */
static int lsim_expect(lua_State *L, heddle_sim *s, int rc)
{
    return hl_expect(L, rc, heddle_error(s)->text);
}

/* A method that gives one number of it. */
#define NUMBER(name, number)                                                   \
    static int name(lua_State *L)                                              \
    {                                                                          \
        lua_pushinteger(L, (lua_Integer)number(lsim_self(L)));                 \
        return 1;                                                              \
    }
NUMBER(sim_now, heddle_now)
NUMBER(sim_counted, heddle_counted)
NUMBER(sim_instructions, heddle_instructions)
NUMBER(sim_ticks, heddle_ticks_per_cycle) /* the unit of counters of time */
NUMBER(sim_events, heddle_events)
NUMBER(sim_hash, heddle_state_hash)

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

/* ---- running -------------------------------------------------------------- */

/* The policies in Lua, if it has some, see no metatables that the script has
 * given to types since. */
static void lsim_check_types(lua_State *L, const heddle_sim *s)
{
    struct heddle_use_info u;
    const char *wrong = NULL;
    uint32_t i = 0;

    while (heddle_used(s, i, &u) == 0 && u.policy->close != lp_bridge_close)
        i++;
    if (heddle_used(s, i, &u) == 0)
        wrong = lp_sandbox_types(L, &lp_policy_fence);
    if (wrong != NULL)
        hl_raise(L, HEDDLE_EPOLICY, wrong);
}

/* sim:run([cycles]) -> "ok", "done" or "stopped" */
static int sim_run(lua_State *L)
{
    static const char *const words[] = {"ok", "done", "stopped"};
    heddle_sim *s = lsim_self(L);
    uint64_t cycles = opt_cycles(L, 2);
    struct hl_interrupt *in = hl_interrupt_of(L);
    heddle_sim *outer = NULL;
    int rc;

    if (lp_world(L)->spent != NULL) /* a finaliser does */
        return hl_raise(L, HEDDLE_EINVAL,
                        "a simulation cannot run inside policy code");
    lsim_check_types(L, s);
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
    lua_pushstring(L, words[lsim_expect(L, s, rc)]);
    return 1;
}

/* sim:mute(on): policies that only watch get no notes */
static int sim_mute(lua_State *L)
{
    heddle_mute(lsim_self(L), lua_toboolean(L, 2));
    return 0;
}

static int sim_stop(lua_State *L)
{
    heddle_stop(lsim_self(L));
    return 0;
}

/* The arguments (application, warp instructions) of what is set before the
 * first run. */
static int set_before(lua_State *L,
                      int (*set)(heddle_sim *s, uint32_t app, uint64_t n),
                      const char *otherwise)
{
    heddle_sim *s = lsim_self(L);
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
    heddle_reset_counters(lsim_self(L));
    return 0;
}

/* sim:memory() -> bytes in the arena, bytes outside it */
static int sim_memory(lua_State *L)
{
    uint64_t arena, outside;

    heddle_memory(lsim_self(L), &arena, &outside);
    lua_pushinteger(L, (lua_Integer)arena);
    lua_pushinteger(L, (lua_Integer)outside);
    return 2;
}

/* ---- looking -------------------------------------------------------------- */

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

/* Pushes a list, and makes a visitor that appends each row to it, as
 * {kind=, field=value, ...}, while it is on top. */
static struct heddle_visitor push_rows(lua_State *L)
{
    lua_newtable(L);
    return (struct heddle_visitor){
        .row = visit_row, .number = visit_number, .text = visit_text, .ud = L};
}

#define OBJECT(m) HL_FIELD(struct heddle_object_info, m)
static const struct hl_field object_fields[] = {OBJECT(name), OBJECT(instances),
                                                HL_END};
static HL_LIST(sim_objects, struct heddle_object_info,
               SIZED(heddle_object(lsim_self(L), i, &x)), object_fields)

/* sim:look(object [, instance]) -> rows */
static int sim_look(lua_State *L)
{
    heddle_sim *s = lsim_self(L);
    const char *name = hl_text(L, 2);
    uint32_t instance = (uint32_t)luaL_optinteger(L, 3, 0);
    struct heddle_visitor v = push_rows(L);

    lsim_expect(L, s, heddle_look(s, name, instance, &v));
    return 1;
}

/* sim:stuck() -> rows of the wait-for graph */
static int sim_stuck(lua_State *L)
{
    heddle_sim *s = lsim_self(L);
    struct heddle_visitor v = push_rows(L);

    lsim_expect(L, s, heddle_stuck(s, &v));
    return 1;
}

static int sim_check(lua_State *L)
{
    heddle_sim *s = lsim_self(L);

    lsim_expect(L, s, heddle_check(s));
    return 0;
}

/* sim:translate(app, va) -> pa, page bytes; nil when nothing is mapped */
static int sim_translate(lua_State *L)
{
    heddle_sim *s = lsim_self(L);
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

static void lsim_count_row(void *ud, const char *kind)
{
    (void)kind;
    ++*(lua_Integer *)ud;
}

static void no_number(void *ud, const char *field, uint64_t value)
{
    (void)ud, (void)field, (void)value;
}

static void lsim_no_text(void *ud, const char *field, const char *value)
{
    (void)ud, (void)field, (void)value;
}

/* sim:count(object, instance): how many rows look() would give */
static int sim_count(lua_State *L)
{
    heddle_sim *s = lsim_self(L);
    lua_Integer n = 0;
    struct heddle_visitor v = {.row = lsim_count_row, .number = no_number,
                               .text = lsim_no_text, .ud = &n};
    uint32_t instance = (uint32_t)luaL_checkinteger(L, 3);

    lsim_expect(L, s, heddle_look(s, hl_text(L, 2), instance, &v));
    lua_pushinteger(L, n);
    return 1;
}

/* sim:total(counter [, application]): over all copies of its part; nil: there
 * is no such counter */
static int sim_total(lua_State *L)
{
    uint32_t app = (uint32_t)luaL_optinteger(L, 3, UINT32_MAX);
    uint64_t n;

    if (heddle_counter_total(lsim_self(L), hl_text(L, 2), app, &n) != 0)
        lua_pushnil(L);
    else
        lua_pushinteger(L, (lua_Integer)n);
    return 1;
}

/* ---- snapshots ------------------------------------------------------------ */

HL_RELEASE(snapshot_free, SNAPSHOT, heddle_snapshot, heddle_snapshot_free)

/* sim:snapshot([old]) -> snapshot; `old` is used up: its memory is reused */
static int sim_snapshot(lua_State *L)
{
    heddle_sim *s = lsim_self(L);
    heddle_snapshot **old = NULL, **k;

    if (!lua_isnoneornil(L, 2))
        old = luaL_checkudata(L, 2, SNAPSHOT);
    k = hl_box(L, SNAPSHOT, snapshot_free, NULL);
    if (old) {
        *k = *old;
        *old = NULL;
    }
    lsim_expect(L, s, heddle_snapshot_take(s, k));
    return 1;
}

/* sim:restore(snapshot) */
static int sim_restore(lua_State *L)
{
    heddle_sim *s = lsim_self(L);

    lsim_expect(L, s,
                heddle_snapshot_restore(
                    s, hl_unbox(L, 2, SNAPSHOT, "this snapshot was used up")));
    return 0;
}

/* sim:write(snapshot, path, build, note, more) */
static int sim_write(lua_State *L)
{
    struct heddle_checkpoint c = {.build = hl_text(L, 4),
                                  .note = hl_text(L, 5)};
    struct heddle_error error;

    c.more = luaL_checklstring(L, 6, &c.bytes);
    hl_expect(L,
              heddle_snapshot_write(
                  hl_unbox(L, 2, SNAPSHOT, "this snapshot was used up"),
                  hl_text(L, 3), &c, &error),
              error.text);
    return 0;
}

/* sim:read(path, build) -> snapshot, more */
static int sim_read(lua_State *L)
{
    heddle_sim *s = lsim_self(L);
    const char *path = hl_text(L, 2);
    struct heddle_checkpoint c = {.build = hl_text(L, 3)};
    heddle_snapshot **k = hl_box(L, SNAPSHOT, snapshot_free, NULL);

    lsim_expect(L, s, heddle_snapshot_read(s, path, k, &c));
    lua_pushlstring(L, c.more, c.bytes);
    return 2;
}

/* ---- what it has measured ------------------------------------------------- */

#define APP(m)    HL_FIELD(struct heddle_app_info, m)
#define KERNEL(m) HL_FIELD(struct heddle_kernel_info, m)
static const struct hl_field app_fields[] = {
    APP(name),         APP(footprint),   APP(pages),
    APP(instructions), APP(before),      APP(thread_instructions),
    APP(cycles),       APP(completions), APP(kernel),
    APP(blocks_done),  APP(blocks),      APP(finished),
    APP(truncated),    APP(hash),        HL_END};
static const struct hl_field kernel_fields[] = {
    KERNEL(name),         KERNEL(app),
    KERNEL(id),           KERNEL(run),
    KERNEL(start),        KERNEL(end),
    KERNEL(instructions), KERNEL(thread_instructions),
    KERNEL(blocks),       KERNEL(launches),
    KERNEL(cycles),       KERNEL(stream),
    KERNEL(overlap),      HL_END};
static const struct hl_field stands_fields[] = {
    KERNEL(stands_for), KERNEL(stands_for_instructions), KERNEL(unlike), HL_END};
static HL_LIST(sim_apps, struct heddle_app_info,
               SIZED(heddle_app(lsim_self(L), i, &x)), app_fields)
static HL_LIST(sim_kernels, struct heddle_kernel_info,
               SIZED(heddle_kernel(lsim_self(L), i, &x)), kernel_fields)

/* sim:stands() -> {{stands_for=, stands_for_instructions=, unlike=}, ...}, of
 * each of sim:kernels() */
static HL_LIST(sim_stands, struct heddle_kernel_info,
               SIZED(heddle_kernel(lsim_self(L), i, &x)), stands_fields)

#define SAMPLE(m) HL_FIELD(struct heddle_sample_info, m)
#define WINDOW(m) HL_FIELD(struct heddle_window_info, m)
static const struct hl_field sample_fields[] = {
    SAMPLE(windows), SAMPLE(instructions), SAMPLE(launches), SAMPLE(skipped),
    HL_END};
static const struct hl_field window_fields[] = {
    WINDOW(first), WINDOW(instructions), WINDOW(cycles), HL_END};

/* sim:sample() -> {windows=, instructions=, launches=, skipped=}; nil: nothing
 * is sampled */
static int sim_sample(lua_State *L)
{
    struct heddle_sample_info x = {.size = sizeof x};

    if (heddle_sample(lsim_self(L), &x) != HEDDLE_OK)
        lua_pushnil(L);
    else
        hl_push_fields(L, sample_fields, &x);
    return 1;
}

/* sim:sample_windows() -> {{first=, instructions=, cycles=}, ...} */
static HL_LIST(sim_windows, struct heddle_window_info,
               SIZED(heddle_sample_window(lsim_self(L), i, &x)), window_fields)

/* sim:sample_counters() -> [counter] in all windows, and before cycle 0 */
static int sim_sample_counters(lua_State *L)
{
    heddle_sim *s = lsim_self(L);
    struct heddle_counter_info c = {.size = sizeof c};
    uint64_t before, windows;

    lua_newtable(L);
    lua_newtable(L);
    for (uint32_t i = 0; heddle_counter(s, i, &c) == HEDDLE_OK &&
                         heddle_sample_counter(s, i, &before, &windows) == 0;
         i++) {
        lua_pushinteger(L, (lua_Integer)windows);
        lua_rawseti(L, -3, (lua_Integer)i + 1);
        lua_pushinteger(L, (lua_Integer)before);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 2;
}

/* sim:counters() -> {{component=, name=, unit=, meaning=, peak=,
 * instances=}, ...}, in the engine's order */
static const struct hl_field sim_counter_fields[] = {
    COUNTER(component), COUNTER(name),      COUNTER(unit), COUNTER(meaning),
    COUNTER(peak),      COUNTER(level), COUNTER(instances), HL_END};
static HL_LIST(sim_counters, struct heddle_counter_info,
               SIZED(heddle_counter(lsim_self(L), i, &x)), sim_counter_fields)

/* sim:counter_values() -> [counter][application][instance]; the last
 * application is what belongs to none */
static int sim_counter_values(lua_State *L)
{
    heddle_sim *s = lsim_self(L);
    uint32_t apps = heddle_apps(s), i, a, n;
    struct heddle_counter_info c = {.size = sizeof c};

    lua_newtable(L);
    for (i = 0; heddle_counter(s, i, &c) == HEDDLE_OK; i++) {
        lua_createtable(L, (int)apps + 1, 0);
        for (a = 0; a <= apps; a++) {
            lua_createtable(L, (int)c.instances, 0);
            for (n = 0; n < c.instances; n++) {
                uint64_t v = heddle_counter_value(s, i, n, a);

                lua_pushinteger(L, (lua_Integer)v);
                lua_rawseti(L, -2, (lua_Integer)n + 1);
            }
            lua_rawseti(L, -2, (lua_Integer)a + 1);
        }
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* sim:counter_kernel(k) -> [counter] for kernel k (from 1) */
static int sim_counter_kernel(lua_State *L)
{
    heddle_sim *s = lsim_self(L);
    uint32_t k = (uint32_t)(luaL_checkinteger(L, 2) - 1), i;
    struct heddle_counter_info c = {.size = sizeof c};

    luaL_argcheck(L, k < heddle_kernels(s), 2, "no such kernel");
    lua_newtable(L);
    for (i = 0; heddle_counter(s, i, &c) == HEDDLE_OK; i++) {
        lua_pushinteger(L, (lua_Integer)heddle_counter_kernel(s, i, k));
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static void lsim_push_hist(lua_State *L, heddle_sim *s, uint32_t i,
                           uint32_t app)
{
#define SUMMARY(m) HL_FIELD(struct heddle_hist_summary, m)
    static const struct hl_field fields[] = {
        SUMMARY(n),   SUMMARY(sum), SUMMARY(min), SUMMARY(max), SUMMARY(p50),
        SUMMARY(p90), SUMMARY(p95), SUMMARY(p99), HL_END};
    struct heddle_hist_summary h = {0};
    struct heddle_hist_bucket b;
    lua_Integer at = 0;

    heddle_hist_summary(s, i, app, &h);
    hl_push_fields(L, fields, &h);
    lua_newtable(L);
    for (uint32_t k = 0; heddle_hist_bucket(s, i, app, k, &b) == 0; k++) {
        if (b.n == 0)
            continue;
        lua_createtable(L, 3, 0);
        lua_pushinteger(L, (lua_Integer)b.from);
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, (lua_Integer)b.to);
        lua_rawseti(L, -2, 2);
        lua_pushinteger(L, (lua_Integer)b.n);
        lua_rawseti(L, -2, 3);
        lua_rawseti(L, -2, ++at);
    }
    lua_setfield(L, -2, "buckets");
}

/* sim:hists() -> {{component=, name=, unit=, meaning=, apps={...}}, ...}
 * with one {n=, sum=, min=, max=, p50= .. p99=, buckets=} an application */
static int sim_hists(lua_State *L)
{
    heddle_sim *s = lsim_self(L);
    uint32_t apps = heddle_apps(s), i, a;
    struct heddle_hist_info h = {.size = sizeof h};

    lua_newtable(L);
    for (i = 0; heddle_hist(s, i, &h) == HEDDLE_OK; i++) {
        hl_push_fields(L, hist_fields, &h);
        lua_createtable(L, (int)apps + 1, 0);
        for (a = 0; a <= apps; a++) {
            lsim_push_hist(L, s, i, a);
            lua_rawseti(L, -2, (lua_Integer)a + 1);
        }
        lua_setfield(L, -2, "apps");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* ---- life ----------------------------------------------------------------- */

HL_RELEASE(sim_free, HL_SIM, heddle_sim, heddle_free)

    static const luaL_Reg methods[] = {
    {"run", sim_run},
    {"stop", sim_stop},
    {"mute", sim_mute},
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
    {"count", sim_count},
    {"total", sim_total},
    {"stuck", sim_stuck},
    {"check", sim_check},
    {"translate", sim_translate},
    {"snapshot", sim_snapshot},
    {"restore", sim_restore},
    {"write", sim_write},
    {"read", sim_read},
    {"apps", sim_apps},
    {"kernels", sim_kernels},
    {"stands", sim_stands},
    {"sample", sim_sample},
    {"sample_windows", sim_windows},
    {"sample_counters", sim_sample_counters},
    {"counters", sim_counters},
    {"counter_values", sim_counter_values},
    {"counter_kernel", sim_counter_kernel},
    {"hists", sim_hists},
    {"close", sim_free},
    {NULL, NULL},
};

enum { MAX_WORKLOADS = 32 };

/* core.sim(config, {workload, ...}): the table is kept as user value 1 */
static int sim_new(lua_State *L)
{
    heddle_config *c = config_at_1(L);
    heddle_workload *w[MAX_WORKLOADS];
    heddle_sim **s;
    lua_Integer n, i;
    struct heddle_error error;

    luaL_checktype(L, 2, LUA_TTABLE);
    n = (lua_Integer)lua_rawlen(L, 2);
    luaL_argcheck(L, n <= MAX_WORKLOADS, 2, "too many applications (32)");
    for (i = 1; i <= n; i++) {
        lua_rawgeti(L, 2, i);
        w[i - 1] = hl_workload_check(L, -1);
        lua_pop(L, 1);
    }
    s = hl_box(L, HL_SIM, sim_free, methods);
    lua_pushvalue(L, 1);
    lua_setfield(L, 2, "config");
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, -2, 1);
    *s = heddle_new(c, NULL, w, (uint32_t)n, &error);
    return *s ? 1 : hl_raise(L, error.code, error.text);
}

/* ---- the module ----------------------------------------------------------- */

/* core.fingerprint(text): 16 hexadecimal digits */
static int fingerprint(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    char out[17];

    snprintf(out, sizeof out, "%016llx",
             (unsigned long long)XXH3_64bits(text, n));
    lua_pushstring(L, out);
    return 1;
}

/* How this was built, for --version. */
static const char built[] =
#ifdef __clang__
    "clang " __clang_version__
#else
    "gcc " __VERSION__
#endif
#ifdef HL_LIBEDIT
    ", libedit"
#else
    ", no line editing"
#endif
#ifdef HD_DEBUG
    ", assertions"
#endif
    ;

/* Numbers and the order of texts are plain from here on, if they are not yet:
 * as long as the thread lives, for others may have taken its locale for theirs.
 */
static void plain_locale(lua_State *L)
{
    locale_t own, utf8;

    if (uselocale((locale_t)0) != LC_GLOBAL_LOCALE &&
        strcmp(nl_langinfo(RADIXCHAR), ".") == 0 && strcoll("B", "a") < 0)
        return;
    own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (own == (locale_t)0)
        hl_raise_memory(L);
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", own);
    uselocale(utf8 != (locale_t)0 ? utf8 : own);
}

int luaopen_heddle_core(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"error", make_error},
        {"text", error_text},
        {"escape", escape_text},
        {"line", line_text},
        {"path", hl_path},
        {"settings", settings},
        {"counters", counters},
        {"histograms", histograms},
        {"points", lp_points},
        {"notes", lp_notes},
        {"config", config_new},
        {"sim", sim_new},
        {"fingerprint", fingerprint},
        {"fence", lp_sandbox_application},
        {"keys", lp_keys},
        {NULL, NULL},
    };

    plain_locale(L);
    luaL_newlib(L, fns);
    hl_set_text(L, "version", HEDDLE_VERSION);
    hl_set_text(L, "built", built);
    hl_set_text(L, "no_memory", HEDDLE_NO_MEMORY);
    hl_set_text(L, "no_memory_of_system", strerror(ENOMEM));
    hl_require(L, "heddle.problem");
    lua_pushvalue(L, -2);
    lua_call(L, 1, 1);
    lua_setfield(L, -2, "problem");
    return 1;
}

/* `require "heddle"` from any Lua 5.4: heddle.so holds the engine, the binding
 * and the Lua half. */
int luaopen_heddle(lua_State *L)
{
    hl_embed_preload(L);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_getfield(L, -1, "heddle");
    lua_pushliteral(L, "heddle");
    lua_call(L, 1, 1);
    return 1;
}
