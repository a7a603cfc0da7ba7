/*
 * A Lua table as a policy: every kind of answer, passing, wrong answers,
 * borrowed questions (unknown fields, use after the answer, arrays), notes,
 * epochs, parameters, steering, budgets of instructions and memory, changed
 * locals, and state that goes into a snapshot and comes back.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy-lua.h"
#include "texts.h"

static const struct hd_slots_mark *marks(void)
{
    static struct hd_slots_mark m[HEDDLE_MAX_BOUND];

    hd_slots_marks(&fake->slots, m);
    return m;
}

static uint64_t hash_of(void)
{
    return marks()[0].hash;
}

static const uint64_t three[] = {10, 11, 12};
static struct heddle_q_tlb_fill fill = {.app = 1,
                                        .core = 2,
                                        .warp = 5,
                                        .vpn = 1234,
                                        .pages = 16,
                                        .requesters = 3,
                                        .who = three};

static int64_t ask_fill(void)
{
    return fake_ask(fake, HEDDLE_POINT_tlb_fill, &fill);
}

/* Binds a body in a fresh machine, asks tlb_fill, returns the run's error. */
static void expect_failure(const char *body, const char *want)
{
    lua_State *L = lua_machine();

    assert_ok(lua_use(L, body));
    assert_int_equal(ask_fill(), 0);
    assert_int_equal(fake->err.code, HEDDLE_EPOLICY);
    assert_text(fake->err.text, want);
    lua_end(L);
}

static void expect_refusal(const char *body, const char *want)
{
    lua_State *L = lua_machine();

    assert_text(lua_use(L, body), want);
    assert_int_equal(fake->err.code, 0);
    lua_end(L);
}

static void answers(void **state)
{
    struct heddle_q_l2_bypass bypass = {.app = 0};
    struct heddle_q_walk_pick walks = {
        .n = 3, .app = three, .vpn = three, .requesters = three, .age = three,
        .choices = 3};
    struct heddle_q_repl_victim victim = {.ways = 4};
    struct heddle_n_repl_touch touch = {.ways = 4, .way = 2};
    struct heddle_q_warp_pick warp = {.ready = 0x8, .n = 4, .age = three};
    struct heddle_q_warp_limit limit = {.n = 4, .age = three};
    lua_State *L = lua_machine();

    (void)state;
    assert_ok(lua_use(L, "tlb_fill = function(q) return 'none' end,"
                         "l2_bypass = function(q) return true end,"
                         "walk_pick = function(q) return #q.vpn end,"
                         "repl_victim = function(q) return q.ways - 1 end,"
                         "warp_pick = function(q) return 3, true end,"
                         "watch = { repl_touch = function(n)"
                         " assert(n.way == 2 and n.cycle == 0) end },"
                         "warp_limit = function(q) return 5 end"));
    assert_int_equal(ask_fill(), 2);
    assert_int_equal(fake_ask(fake, HEDDLE_POINT_l2_bypass, &bypass), 1);
    assert_int_equal(fake_ask(fake, HEDDLE_POINT_walk_pick, &walks), 2);
    assert_int_equal(fake_ask(fake, HEDDLE_POINT_repl_victim, &victim), 3);
    assert_int_equal(fake_ask(fake, HEDDLE_POINT_warp_pick, &warp),
                     3 | HEDDLE_ONCE);
    assert_int_equal(fake_ask(fake, HEDDLE_POINT_warp_limit, &limit), 5);
    fake_tell(fake, HEDDLE_NOTE_repl_touch, "l2cache", &touch);
    assert_int_equal(fake->err.code, 0);
    lua_end(L);
}

static void fields(void **state)
{
    lua_State *L = lua_machine();

    (void)state;
    assert_ok(lua_use(
        L, "tlb_fill = function(q)"
           " assert(q.app == 1 and q.core == 2 and q.warp == 5)"
           " assert(q.vpn == 1234 and q.pages == 16 and q.requesters == 3)"
           " assert(#q.who == 3 and q.who[1] == 10 and q.who[3] == 12)"
           " assert(q.who[4] == nil)"
           " local fine, text = pcall(function() return q.who[0] end)"
           " assert(not fine and text:find('counts from 1', 1, true))"
           " local n = 0 for i, v in ipairs(q.who) do n = n + v end"
           " assert(n == 33)"
           " return 2 end"));
    assert_int_equal(ask_fill(), 2);
    assert_int_equal(fake->err.code, 0);
    lua_end(L);
}

static void passing(void **state)
{
    lua_State *L = lua_machine();

    (void)state;
    assert_ok(lua_use(L, "tlb_fill = function(q) end"));
    assert_int_equal(ask_fill(), 0);
    assert_int_equal(fake->defaults[HEDDLE_POINT_tlb_fill], 1);
    assert_int_equal(fake_counter(fake, HEDDLE_POINT_tlb_fill, 0, 1), 1);
    assert_int_equal(fake_counter(fake, HEDDLE_POINT_tlb_fill, 1, 1), 1);
    lua_end(L);
}

static void wrong_answers(void **state)
{
    (void)state;
    expect_failure("tlb_fill = function(q) return 'bypas' end",
                   "answered bypas, expected l2tlb|bypass|none; did you mean "
                   "bypass?");
    expect_failure("tlb_fill = function(q) return 3 end",
                   "answered 3 to tlb_fill");
    expect_failure("tlb_fill = function(q) return -1 end",
                   "answered -1 to tlb_fill");
    expect_failure("tlb_fill = function(q) return {} end",
                   "answered table, expected");
    expect_failure("tlb_fill = function(q) return '3' end",
                   "answered the text '3', expected");
    expect_failure("tlb_fill = function(q) return math.mininteger end",
                   "answered 9223372036854775807");
    expect_failure("tlb_fill = function(q) error('no way') end", "no way");
    expect_failure("tlb_fill = function(q) error('no way') end",
                   "stack traceback");
    expect_failure("tlb_fill = function(q) error({}) end",
                   "policy p, tlb_fill at cycle 0: the error is not a text but a "
                   "table");
    expect_failure("tlb_fill = function(q) return q.wrap end",
                   "tlb_fill has no field 'wrap'; did you mean 'warp'?");
    expect_failure("tlb_fill = function(q) q.warp = 1 end", "read only");
}

static void wrong_integers(void **state)
{
    struct heddle_q_walk_pick walks = {
        .n = 3, .app = three, .vpn = three, .requesters = three, .age = three,
        .choices = 3};
    static const char *const bad[] = {"0", "4", "'1'", "1.5"};

    (void)state;
    for (size_t i = 0; i < HD_LEN(bad); i++) {
        lua_State *L = lua_machine();
        char body[64];
        snprintf(body, sizeof body, "walk_pick = function() return %s end",
                 bad[i]);
        assert_ok(lua_use(L, body));
        assert_int_equal(fake_ask(fake, HEDDLE_POINT_walk_pick, &walks), 0);
        assert_int_equal(fake->err.code, HEDDLE_EPOLICY);
        lua_end(L);
    }
}

static void use_after_the_answer(void **state)
{
    struct heddle_q_l2_bypass bypass = {.app = 1};
    lua_State *L = lua_machine();

    (void)state;
    assert_ok(lua_use(L, "tlb_fill = function(q, s) s.q = q end,"
                         "l2_bypass = function(q, s) return s.q.app == 1 end"));
    ask_fill();
    assert_int_equal(fake->err.code, 0);
    fake_ask(fake, HEDDLE_POINT_l2_bypass, &bypass);
    assert_text(fake->err.text, "tlb_fill: this question was answered");
    lua_end(L);
}

static void tables_that_are_no_policy(void **state)
{
    (void)state;
    expect_refusal("tlb_fil = function() end", "did you mean 'tlb_fill'?");
    expect_refusal("tlb_fill = 5", "tlb_fill must be a function");
    expect_refusal("init = 5", "init must be a function, not a number");
    expect_refusal("walk_done = print", "is a note: write watch");
    expect_refusal("watch = { walk_don = print }", "did you mean 'walk_done'?");
    expect_refusal("every = 5", "every must be { cycles, function }");
    expect_refusal("every = { 0, function() end }", "1 or more");
    expect_refusal("every = { 'epoch', function() end }",
                   "'epoch', which is not a parameter");
    expect_refusal("params = { x = { defualt = 1 } }",
                   "did you mean 'default'?");
    expect_refusal("params = { x = {} }", "needs a default");
    expect_refusal("params = { x = { default = 1, choices = 'a|b' } }",
                   "choices must be a list of names, not a string");
    /* whatever the order in which a table is walked */
    for (int i = 0; i < 8; i++)
        expect_refusal(
            "zz = 1, tlb_fill = 5, watch = { walk_don = print, f = print,"
            " a = print, tlb_hit = { b = 1, c = 1, level = 'x', print } },"
            " params = { at = 1, x = { default = 1, b = 1, a = 1 } },"
            " state = 1, summary = 2, every = { 0, print },"
            " counters = { k = 1, n = { unit = '', meaning = '', kin = 1 } }",
            "tlb_fill must be a function, not a number; 'zz' is neither a "
            "point nor a field of a policy; state must be a table, not a number; "
            "there is no note 'a' (did you mean 'access'?); there is no note 'f' "
            "(did you mean 'page_fault'?); there is no note 'walk_don' (did you "
            "mean 'walk_done'?); a parameter cannot be called 'at', which is an "
            "option where a policy is bound; params.x has no field 'a' (did you "
            "mean 'default'?); params.x has no field 'b'; summary must be a "
            "string, not a number; counters.k must be a table with unit and "
            "meaning, not a number; counters.n has "
            "no field 'kin' (did you mean 'kind'?); watch.tlb_hit has no field "
            "'b'; watch.tlb_hit has no field 'c' (did you mean 'cycle'?); "
            "watch.tlb_hit: level is an "
            "integer of 0 or more, not x; every needs a number of cycles");
    for (int i = 0; i < 8; i++)
        expect_refusal("params = { x = { default = 1, max = 'a', min = 'b' } }",
                       "params.x.min must be an integer of 0 or more");
    expect_refusal("watch = { print }", "fields have names, not numbers");
    expect_refusal("params = { x = { default = 9, max = 8 } },"
                   "tlb_fill = function() end",
                   "default of x is out of its range");
    expect_refusal("state = { f = print }, tlb_fill = function() end",
                   "state.f is a function, which is not plain data");
    expect_refusal("state = { [1] = { [true] = 1 } },"
                   "tlb_fill = function() end",
                   "boolean as a key");
}

static void parameters(void **state)
{
    lua_State *L = lua_machine();

    (void)state;
    assert_text(lua_do(L, "policy.use(nil, { name = 'p', params = { n = 3 },"
                          "tlb_fill = function() end }, { m = 4 })"),
                "no parameter \"m\"; the first is \"n\"");
    assert_ok(lua_do(L, "policy.use(nil, { name = 'p', params = { n = 3,"
                        " k = { default = 1, max = 2 } },"
                        "tlb_fill = function(q, s, p)"
                        " return p.n == 4 and p.k or 0 end },"
                        "{ n = 4, k = 2 })"));
    assert_int_equal(ask_fill(), 2);
    lua_end(L);
    expect_failure("tlb_fill = function(q, s, p) return p.nn end",
                   "no parameter 'nn'");
    expect_failure("params = { n = 1 }, tlb_fill = function(q, s, p)"
                   " p.m = 2 end",
                   "parameters are fixed");
}

static void budgets(void **state)
{
    (void)state;
    expect_failure("tlb_fill = function(q) while true do end end",
                   "more than 1000000 instructions in one call");
    expect_failure("tlb_fill = function(q) while true do"
                   " pcall(function() while true do end end) end end",
                   "more than 1000000 instructions in one call");
    expect_failure("tlb_fill = function(q) local s = 'x'"
                   " while true do s = s .. s end end",
                   "a text of more than 1024 KB");
    expect_failure("tlb_fill = function(q) local s = 'x'"
                   " pcall(function() while true do s = s .. s end end) end",
                   "a text of more than 1024 KB");
    expect_failure("tlb_fill = function(q, s) for i = 1, 3000 do"
                   " s[#s + 1] = { string.rep('x', 50000) .. i } end end",
                   "more than 65536 KB of memory");
}

static void memory_that_stays_adds_up(void **state)
{
    lua_State *L = lua_machine();

    (void)state;
    assert_ok(lua_do(L, "policy.use(nil, { name = 'p', state = { n = 0 },"
                        "tlb_fill = function(q, s) s.n = s.n + 1"
                        " s[s.n] = string.rep('x', 9000) .. s.n end },"
                        "{ memory = 1000000 })"));
    for (int i = 0; i < 100; i++)
        ask_fill();
    assert_int_equal(fake->err.code, 0);
    for (int i = 0; i < 100; i++)
        ask_fill();
    assert_text(fake->err.text, "more than 976 KB of memory");
    lua_end(L);
    /* garbage does not add up */
    L = lua_machine();
    assert_ok(lua_do(L, "policy.use(nil, { name = 'p',"
                        "tlb_fill = function(q, s)"
                        " s.x = string.rep('x', 9000) .. q.vpn end },"
                        "{ memory = 1000000 })"));
    for (int i = 0; i < 2000; i++) {
        fill.vpn = (uint64_t)i;
        ask_fill();
    }
    fill.vpn = 1234;
    assert_int_equal(fake->err.code, 0);
    lua_end(L);
}

static void notes_and_epochs(void **state)
{
    struct heddle_n_walk_done n = {.vpn = 7};
    lua_State *L = lua_machine();

    (void)state;
    assert_ok(lua_use(
        L, "params = { epoch = 100 }, state = { walks = 0 },"
           "init = function(s, p, place) s.cores = place.cores end,"
           "watch = { walk_done = function(n, s) s.walks = s.walks + n.vpn"
           " end }, every = policy.every('epoch', function(cycle, s)"
           " steer('warp_limit', 0, 1, s.walks + s.cores)"
           " assert(now() == cycle) end)"));
    hd_slots_note(&fake->slots, HEDDLE_NOTE_walk_done, &n);
    hd_slots_note(&fake->slots, HEDDLE_NOTE_walk_done, &n);
    fake_run(fake, 99);
    assert_true(fake->slots.steer->warp_limit[0][1] == UINT64_MAX);
    fake_run(fake, 100);
    assert_int_equal(fake->slots.steer->warp_limit[0][1], 14 + FAKE_CORES);
    assert_int_equal(fake->err.code, 0);
    lua_end(L);
}

/* What has names reads as a word. */
static void words(void **state)
{
    struct heddle_q_dram_class q = {.kind = HEDDLE_REQUEST_WALK};
    lua_State *L = lua_machine();

    (void)state;
    assert_ok(lua_use(L, "dram_class = function(q) return q.kind == 'walk' and "
                         "'golden' or nil end"));
    assert_int_equal(fake_ask(fake, HEDDLE_POINT_dram_class, &q),
                     HEDDLE_DRAM_CLASS_GOLDEN);
    lua_end(L);
}

static void counters_can_be_read(void **state)
{
    lua_State *L = lua_machine();

    (void)state;
    assert_ok(lua_use(
        L, "tlb_fill = function(q)"
           " return counter('policy.tlb_fill.asked', 1) == 2 and 1 or 0 end"));
    assert_int_equal(ask_fill(), 0);
    assert_int_equal(ask_fill(), 1);
    lua_end(L);
    expect_failure("tlb_fill = function(q) steer('warp_limits', 0, 0, 1) end",
                   "did you mean \"warp_limit\"?");
}

static void changed_locals(void **state)
{
    struct heddle_q_l2_bypass bypass = {.app = 0};
    lua_State *L = lua_machine();

    (void)state;
    assert_ok(lua_do(L, "local n, t = 0, { 1 } policy.use(nil, { name = 'p',"
                        "tlb_fill = function() return t[1] + n end,"
                        "l2_bypass = function() n = n + 1 end,"
                        "every = { 100, function() end } })"));
    fake_run(fake, 100);
    assert_int_equal(ask_fill(), 1);
    assert_int_equal(fake->err.code, 0);
    fake_ask(fake, HEDDLE_POINT_l2_bypass, &bypass);
    assert_text(fake->err.text,
                "policy p, l2_bypass at cycle 100: the local 'n' has changed");
    lua_end(L);
    /* that changes later: by the eighth call, the epoch, and by itself */
    for (int way = 0; way < 3; way++) {
        L = lua_machine();
        assert_ok(lua_do(L, way < 2 ? "o = nil" : "o = { check = true }"));
        assert_ok(lua_do(L, "local t = { { 1 } } policy.use(nil, { name = 'p',"
                            "state = { n = 0 }, tlb_fill = function(q, s)"
                            " s.n = s.n + 1"
                            " if s.n == 5 then t[1][1] = 2 end return 0 end,"
                            "every = { 100, function() end } }, o)"));
        for (int i = 0; i < 4; i++)
            ask_fill();
        assert_int_equal(fake->err.code, 0);
        ask_fill();
        if (way < 2)
            assert_int_equal(fake->err.code, 0);
        for (int i = 0; way == 0 && i < 3; i++)
            ask_fill();
        fake_run(fake, way == 1 ? 100 : 99);
        assert_text(fake->err.text, "the local 't' has changed");
        lua_end(L);
    }
}

static void snapshots(void **state)
{
    lua_State *L = lua_machine();
    uint64_t answer[8];
    size_t n;
    void *blob;

    (void)state;
    assert_ok(lua_use(L, "state = { n = 0, deep = { 1, x = 'y' } },"
                         "tlb_fill = function(q, s) s.n = s.n + 1"
                         " s.deep[s.n] = math.random(0, 2)"
                         " return s.deep[s.n] end"));
    for (int i = 0; i < 5; i++)
        ask_fill();
    n = hd_slots_save(&fake->slots, NULL, 0);
    assert_true(n > 0);
    blob = malloc(n);
    assert_int_equal(hd_slots_save(&fake->slots, blob, n), n);
    for (int i = 0; i < 8; i++)
        answer[i] = (uint64_t)ask_fill();
    assert_int_equal(hd_slots_load(&fake->slots, marks(), blob, n), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(ask_fill(), answer[i]);
    /* the same state gives the same bytes; damaged bytes are refused */
    assert_int_equal(hd_slots_load(&fake->slots, marks(), blob, n), 0);
    {
        void *again = malloc(n);
        hd_slots_save(&fake->slots, again, n);
        assert_memory_equal(blob, again, n);
        free(again);
    }
    assert_int_equal(hd_slots_load(&fake->slots, marks(), blob, n - 3), HEDDLE_EDATA);
    free(blob);
    lua_end(L);
}

static void state_that_cannot_be_saved(void **state)
{
    static const struct {
        const char *body, *text;
    } t[] = {
        {"s.f = function() end", "state.f is a function"},
        {"s.a = {} s.b = s.a", "state.b is a table that is in the state twice"},
        {"s.x = s", "state.x is a table that contains itself"},
        {"s.t = setmetatable({}, {})", "state.t has a metatable"},
        {"s.list = { { q } }", "state.list[1][1] is a userdata"},
        {"s[q] = 1", "userdata as a key"},
    };

    (void)state;
    for (size_t i = 0; i < HD_LEN(t); i++) {
        lua_State *L = lua_machine();
        struct heddle_error err = {0};
        char body[160];
        snprintf(body, sizeof body, "tlb_fill = function(q, s) %s end",
                 t[i].body);
        assert_ok(lua_use(L, body));
        ask_fill();
        assert_int_equal(fake->err.code, 0);
        /* heddle_check finds it before a snapshot does */
        fake->env.part[0].check(fake->env.part[0].self, 0, &err);
        assert_text(err.text, t[i].text);
        assert_int_equal(fake->err.code, 0);
        hd_slots_save(&fake->slots, NULL, 0);
        assert_text(fake->err.text, t[i].text);
        lua_end(L);
    }
}

static void unbinding_and_replacing(void **state)
{
    lua_State *L = lua_machine();

    (void)state;
    assert_ok(lua_use(L, "tlb_fill = function() return 1 end"));
    assert_text(lua_use(L, "tlb_fill = function() return 2 end"),
                "policies p and p both answer tlb_fill");
    assert_ok(lua_do(L, "policy.use(nil, { name = 'r',"
                        "tlb_fill = function() return 2 end },"
                        "{ replace = true })"
                        "collectgarbage() collectgarbage()"));
    assert_int_equal(ask_fill(), 2);
    assert_ok(lua_do(L, "assert(#policy.used() == 1)"
                        "assert(policy.used()[1].name == 'r')"
                        "assert(policy.unuse(nil, 'r') == 1)"));
    assert_int_equal(ask_fill(), 0);
    lua_end(L);
}

/* A snapshot tells policies of one name apart by code, values and place. */
static void hashes(void **state)
{
    static const char *const body[] = {
        "tlb_fill = function() return 1 end",
        "tlb_fill = function() return 2 end",
        "tlb_fill = function() return N end",
        "l2_bypass = function() end",
        ("tlb_fill = function() return 1 end, watch = { walk_done ="
         " function() end }"),
        "params = { n = 1 }, tlb_fill = function() return 1 end",
        "params = { n = 2 }, tlb_fill = function() return 1 end",
    };
    uint64_t hash[HD_LEN(body) + 2];
    lua_State *L = lua_machine();
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < HD_LEN(body); i++) {
        assert_ok(lua_use(L, body[i]));
        hash[n++] = hash_of();
        heddle_unuse(fake_sim(fake), NULL, NULL);
    }
    for (int i = 1; i <= 2; i++) {
        char script[128];
        snprintf(script, sizeof script,
                 "local n = %d policy.use(nil, { name = 'p',"
                 "tlb_fill = function() return n end })",
                 i);
        assert_ok(lua_do(L, script));
        hash[n++] = hash_of();
        heddle_unuse(fake_sim(fake), NULL, NULL);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(hash[i] != hash[k]);
    assert_ok(lua_use(L, body[0]));
    assert_true(hash_of() == hash[0]);
    lua_end(L);
}

static void names(void **state)
{
    lua_State *L = lua_machine();

    (void)state;
    assert_text(lua_do(L, "policy.use(nil, 'srip')"),
                "there is no policy 'srip' (did you mean 'srrip'?); a file");
    assert_ok(lua_do(L, "assert(policy.use(nil, 'srrip', { at = 'l2cache',"
                        " bits = 3 }) == 'srrip')"
                        "assert(policy.used()[1].params.bits == 3)"
                        "assert(#policy.list() >= 7)"
                        "assert(#policy.tables() == 7)"
                        "assert(#policy.facts() == 4)"
                        "assert(policy.offered().repl_victim[2] == "
                        "'l2cache')"));
    assert_text(lua_do(L, "policy.use(nil, './nothing.so')"),
                "cannot load plug-in ./nothing.so");
    assert_text(lua_do(L, "policy.use(nil, 'nothing.lua')"), "nothing.lua");
    lua_end(L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(fields),
        cmocka_unit_test(passing),
        cmocka_unit_test(wrong_answers),
        cmocka_unit_test(wrong_integers),
        cmocka_unit_test(use_after_the_answer),
        cmocka_unit_test(tables_that_are_no_policy),
        cmocka_unit_test(parameters),
        cmocka_unit_test(budgets),
        cmocka_unit_test(memory_that_stays_adds_up),
        cmocka_unit_test(notes_and_epochs),
        cmocka_unit_test(counters_can_be_read),
        cmocka_unit_test(words),
        cmocka_unit_test(changed_locals),
        cmocka_unit_test(snapshots),
        cmocka_unit_test(state_that_cannot_be_saved),
        cmocka_unit_test(unbinding_and_replacing),
        cmocka_unit_test(hashes),
        cmocka_unit_test(names),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
