/*
 * What policy code sees of Lua: pairs and next in order, a stable sort that
 * asks no clock, text without addresses, the simulation's random stream, and
 * nothing of the system, through globals, locals or string methods; what it
 * may not hold in locals; files of policies.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "folder.h"
#include "policy-lua.h"
#include "texts.h"

static const uint64_t who[] = {1};
static const struct heddle_q_tlb_fill fill = {.requesters = 1, .who = who};

/* Runs statements as the answer to a question; the run's error. */
static const char *inside(lua_State *L, const char *body)
{
    char function[2048];

    snprintf(function, sizeof function, "tlb_fill = function(q, s) %s end",
             body);
    assert_ok(lua_use(L, function));
    fake_ask(fake, HEDDLE_POINT_tlb_fill, &fill);
    return fake->err.text;
}

static void expect(const char *body, const char *error)
{
    lua_State *L = lua_machine();
    const char *e = inside(L, body);

    if (error)
        assert_text(e, error);
    else
        assert_string_equal(e, "");
    lua_end(L);
}

static void order(void **state)
{
    (void)state;
    expect("local t, out = { b = 1, a = 2, [10] = 3, [2] = 4, [2.5] = 5,"
           " [-1] = 6, B = 7, [1] = 8 }, ''"
           " for k, v in pairs(t) do out = out .. k .. '=' .. v .. ' ' end"
           " assert(out == '-1=6 1=8 2=4 2.5=5 10=3 B=7 a=2 b=1 ', out)",
           NULL);
    expect("local t, k, out = { b = 1, a = 2, 5 }, nil, ''"
           " repeat k = next(t, k) out = out .. tostring(k) .. ' '"
           " until k == nil assert(out == '1 a b nil ', out)"
           " assert(next({}) == nil)",
           NULL);
    expect("local n = 0 for k in pairs({ x = 1, y = 2 }) do n = n + 1 end"
           " for k in pairs({}) do n = n + 10 end assert(n == 2)",
           NULL);
    /* removing while walking, as Lua allows it */
    expect("local t, n = { a = 1, b = 2, c = 3 }, 0"
           " for k in pairs(t) do t[k] = nil t.c = nil n = n + 1 end"
           " assert(n == 2, n)",
           NULL);
    expect("for k in pairs({ [{}] = 1 }) do end", "a table as a key");
    expect("for k in pairs({ [true] = 1 }) do end", "a boolean as a key");
    /* a key that is gone has a next one, too */
    expect("assert(next({ 1, 2, 9 }, 2.5) == 3 and next({ 1 }, 7) == nil)",
           NULL);
    expect("next({}, print)", "a function as a key");
    expect("for k in pairs(q) do end", "table expected");
}

static void sorting(void **state)
{
    (void)state;
    expect("local t = {} for i = 1, 300 do t[i] = { i * 7919 % 10, i } end"
           " table.sort(t, function(a, b) return a[1] < b[1] end)"
           " for i = 2, 300 do local a, b = t[i - 1], t[i]"
           " assert(a[1] < b[1] or a[1] == b[1] and a[2] < b[2]) end",
           NULL);
    expect("for n = 0, 20 do local t = {} for i = 1, n do"
           " t[i] = i * 13 % 17 end table.sort(t)"
           " for i = 2, n do assert(t[i - 1] <= t[i]) end end",
           NULL);
}

static void text(void **state)
{
    (void)state;
    expect("assert(tostring({}) == 'table' and"
           " tostring(print) == 'function' and tostring(1.5) == '1.5')",
           NULL);
    expect("assert(string.format('%s %d', {}, 3) == 'table 3')", NULL);
    expect("assert(('%s'):format(print) == 'function')", NULL);
    expect("return ('%5p'):format({})", "address");
    expect("assert(('%%p%s'):format('x') == '%px')", NULL);
}

static void random_stream(void **state)
{
    lua_State *L = lua_machine();
    int64_t first[50];

    (void)state;
    assert_ok(lua_use(L, "tlb_fill = function() return math.random(0, 2) end"));
    for (int i = 0; i < 50; i++)
        first[i] = fake_ask(fake, HEDDLE_POINT_tlb_fill, &fill);
    lua_end(L);
    L = lua_machine();
    assert_ok(lua_do(L, "math.randomseed(5)"));
    assert_ok(lua_use(L, "tlb_fill = function() return math.random(0, 2) end"));
    for (int i = 0; i < 50; i++) {
        assert_int_equal(fake_ask(fake, HEDDLE_POINT_tlb_fill, &fill),
                         first[i]);
        assert_ok(lua_do(L, "math.random()"));
    }
    lua_end(L);
    expect("local seen = {} for i = 1, 2000 do local x = math.random(5)"
           " assert(x >= 1 and x <= 5) seen[x] = true"
           " local f = math.random() assert(f >= 0 and f < 1) end"
           " assert(#seen == 5)",
           NULL);
    expect("math.random(3, 2)", "interval is empty");
    expect("math.randomseed(1)", "not available in policy code");
}

static void the_system_is_out_of_reach(void **state)
{
    static const char *const names[] = {
        "os",       "io",      "debug",   "load",      "dofile",
        "loadfile", "require", "package", "coroutine", "collectgarbage",
        "_G"};

    (void)state;
    for (size_t i = 0; i < HD_LEN(names); i++) {
        char body[64], want[64];
        snprintf(body, sizeof body, "local x = %s", names[i]);
        snprintf(want, sizeof want, "'%s' is not available in policy code",
                 names[i]);
        expect(body, want);
    }
    expect("local x = maht", "no global 'maht' (did you mean 'math'?)");
    expect("count = 1", "cannot set the global 'count'");
    expect("math.pi2 = 7", "cannot change a library ('pi2')");
    expect("setmetatable({}, { __mode = 'k' })", "__mode is not available");
    expect("setmetatable({}, { __gc = print })", "__gc is not available");
    expect("setmetatable({}, { __index = s })", NULL);
    expect("assert(math.floor(2.5) == 2 and #string.rep('x', 3) == 3)", NULL);
}

static void locals(void **state)
{
    lua_State *L = lua_machine();

    (void)state;
    assert_text(lua_do(L, "local clock = os.clock policy.use(nil, { name = 'p',"
                          "tlb_fill = function() clock() end })"),
                "the local 'clock' holds a system function");
    assert_text(lua_do(L, "local pairs = pairs policy.use(nil, { name = 'p',"
                          "tlb_fill = function() pairs({}) end })"),
                "the local 'pairs' holds a system function");
    assert_text(lua_do(L, "local os = os local function f() os.time() end"
                          " policy.use(nil, { name = 'p',"
                          "tlb_fill = function() f() end })"),
                "the local 'os' holds a whole module");
    assert_text(lua_do(L, "local t = { sub = { now = os.time } }"
                          " policy.use(nil, { name = 'p',"
                          "tlb_fill = function() t.sub.now() end })"),
                "the local 't' holds a system function");
    assert_int_equal(fake->err.code, 0);
    lua_end(L);
    /* helpers are taken along, with the sandbox's globals */
    L = lua_machine();
    assert_ok(lua_do(L, "local floor = math.floor"
                        " local function helper() return floor(2.5) end"
                        " local P = { name = 'p' }"
                        " function P.twice() return helper() // 1 end"
                        " P.twice = nil"
                        " local T = { f = function() local n = 0"
                        " for k in pairs({ c = 1, a = 1 }) do n = n + 1 end"
                        " return n end }"
                        " P.tlb_fill = function() assert(T.f() == 2)"
                        " return helper() end policy.use(nil, P)"));
    assert_int_equal(fake_ask(fake, HEDDLE_POINT_tlb_fill, &fill), 2);
    assert_string_equal(fake->err.text, "");
    /* the script itself keeps the whole of Lua */
    assert_ok(lua_do(L, "assert(os.time() and load('return 1')() == 1)"
                        "assert(tostring({}):match('^table: '))"
                        "assert(('%s'):format({}):match('^table: '))"));
    lua_end(L);
}

static void write_file(const char *path, const char *contents)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(contents, f);
    fclose(f);
}

static void files(void **state)
{
    char dir[FOLDER], path[128], use[256];
    lua_State *L = lua_machine();

    (void)state;
    assert_non_null(folder_make(dir));
    snprintf(path, sizeof path, "%s/policy.lua", dir);
    snprintf(use, sizeof use, "policy.use(nil, '%s')", path);
    write_file(path, "return { name = 'f', tlb_fill = function()"
                     " return 'none' end }");
    assert_ok(lua_do(L, use));
    assert_int_equal(fake_ask(fake, HEDDLE_POINT_tlb_fill, &fill), 2);
    heddle_unuse(fake_sim(fake), NULL, NULL);
    write_file(path, "local t = os.time() return { name = 'f' }");
    assert_text(lua_do(L, use), "'os' is not available");
    write_file(path, "return 5");
    assert_text(lua_do(L, use), "returned a number");
    write_file(path, "return {");
    assert_text(lua_do(L, use), "unexpected symbol");
    unlink(path);
    rmdir(dir);
    lua_end(L);
}

static void environments(void **state)
{
    lua_State *L = lua_machine();

    (void)state;
    assert_ok(lua_do(L, "local e = policy.env { kernel = 5 }"
                        "assert(e.kernel == 5 and e.math.floor(1.5) == 1)"
                        "assert(not pcall(function() return e.os end))"
                        "local f = load('x = 1', 'x', 't', e)"
                        "assert(not pcall(f))"
                        "local g = policy.enter(function() return os end)"
                        "assert(not pcall(g))"));
    lua_end(L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),
        cmocka_unit_test(sorting),
        cmocka_unit_test(text),
        cmocka_unit_test(random_stream),
        cmocka_unit_test(the_system_is_out_of_reach),
        cmocka_unit_test(locals),
        cmocka_unit_test(files),
        cmocka_unit_test(environments),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
