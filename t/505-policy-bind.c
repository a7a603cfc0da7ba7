/*
 * Binding: parameters are checked by name and range, a second policy on a
 * point of one structure is an error that names both, `at` chooses the
 * structure, replacement policies get a state for each structure, REPLACE
 * unbinds who stands in the way, a failed use changes nothing, and a policy
 * that comes back gets its old place in the arena.  A structure is quiet until
 * somebody answers, steers, watches, hears or checks something of its own.
 * What a policy has in time is said by name; and a snapshot can be restored
 * under the policies it was taken with, but for those that only watch.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy-fake.h"

static int64_t one(void *state, const void *q)
{
    (void)q;
    ++*(uint64_t *)state;
    return 1;
}

static const struct heddle_param params[] = {
    {"bits", "bits", 2, 1, 8, "width", "test"},
    {"epoch", "cycles", 100, 0, 1000000, "period", "test"},
    {.name = NULL},
};

static const struct heddle_policy tokens = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "tokens",
    .params = params,
    .answer = {[HEDDLE_POINT_tlb_fill] = one, [HEDDLE_POINT_l2_bypass] = one},
};

static const struct heddle_policy other = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "other",
    .answer = {[HEDDLE_POINT_l2_bypass] = one},
};

static const struct heddle_policy evict = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "evict",
    .answer = {[HEDDLE_POINT_repl_victim] = one},
};

static int use(struct fake *f, const struct heddle_policy *p, const char *at,
               uint32_t flags)
{
    return heddle_use(fake_sim(f), p, at, NULL, NULL, 0, flags);
}

static int has(struct fake *f, const char *text)
{
    return strstr(heddle_policy_error(fake_sim(f))->text, text) != NULL;
}

/* The values of a choice are 0 to that of its last name. */
static void choices(void **state)
{
    static const struct heddle_param good[] = {
        {"rule", "a|b|c", 1, 0, 2, "a choice", "test"},
        {"bits", "bits", 2, 1, 8, "none", "test"},
        {.name = NULL},
    };
    static const struct heddle_param bad[] = {
        {"rule", "a|b|c", 1, 0, 3, "a choice", "test"},
        {.name = NULL},
    };
    struct heddle_policy p = {.abi = HEDDLE_POLICY_ABI,
                              .name = "choosy",
                              .params = bad,
                              .answer = {[HEDDLE_POINT_tlb_fill] = one}};
    struct fake *f = fake_open();
    uint64_t v = 9;
    char name[8];

    (void)state;
    assert_int_equal(use(f, &p, NULL, 0), HEDDLE_EPOLICY);
    assert_true(has(f, "rule is a choice of a|b|c, so its values are 0 to 2"));
    p.params = good;
    assert_int_equal(use(f, &p, NULL, 0), HEDDLE_OK);
    assert_int_equal(heddle_word_value(good[0].unit, "c", &v), HEDDLE_OK);
    assert_int_equal(v, 2);
    assert_int_equal(heddle_word_value(good[0].unit, "d", &v), HEDDLE_EINVAL);
    assert_int_equal(heddle_word_value(good[1].unit, "a", &v), HEDDLE_EINVAL);
    assert_int_equal(heddle_word_name(good[0].unit, 1, name, sizeof name),
                     HEDDLE_OK);
    assert_string_equal(name, "b");
    assert_int_equal(heddle_word_name(good[1].unit, 1, name, sizeof name),
                     HEDDLE_EINVAL);
    fake_close(f);
}

static void parameters(void **state)
{
    const char *name = "bits", *wrong = "bitz", *far = "quantum";
    struct fake *f = fake_open();
    struct heddle_use_info u;
    uint64_t v = 9;

    (void)state;
    assert_int_equal(heddle_use(fake_sim(f), &tokens, "", &wrong, &v, 1, 0),
                     HEDDLE_ECONFIG);
    assert_true(has(f, "did you mean \"bits\"?"));
    heddle_use(fake_sim(f), &tokens, "", &far, &v, 1, 0);
    assert_true(has(f, "no parameter \"quantum\""));
    assert_int_equal(heddle_use(fake_sim(f), &tokens, "", &name, &v, 1, 0),
                     HEDDLE_ECONFIG);
    assert_true(has(f, "bits = 9 is out of range, expected 1 to 8"));
    assert_int_equal(heddle_used(fake_sim(f), 0, &u), HEDDLE_EINVAL);
    v = 8;
    assert_int_equal(heddle_use(fake_sim(f), &tokens, "", &name, &v, 1, 0), 0);
    assert_int_equal(heddle_used(fake_sim(f), 0, &u), 0);
    assert_int_equal(u.values[0], 8);
    assert_int_equal(u.values[1], 100);
    assert_int_equal(f->err.code, 0); /* the simulation stays usable */
    fake_close(f);
}

static void conflicts_name_both(void **state)
{
    struct fake *f = fake_open();

    (void)state;
    assert_int_equal(use(f, &tokens, "", 0), 0);
    assert_int_equal(use(f, &other, "", 0), HEDDLE_EPOLICY);
    assert_true(has(f, "policies tokens and other both answer l2_bypass"));
    assert_int_equal(heddle_unuse(fake_sim(f), "tokens", NULL), 1);
    assert_int_equal(use(f, &other, "", 0), 0);
    assert_int_equal(use(f, &tokens, "", HEDDLE_USE_REPLACE), 0);
    assert_int_equal(heddle_unuse(fake_sim(f), "other", NULL), 0);
    assert_int_equal(heddle_unuse(fake_sim(f), NULL, NULL), 1);
    fake_close(f);
}

static void places(void **state)
{
    struct heddle_q_repl_victim q = {.ways = 4, .app = 0};
    struct fake *f = fake_open();

    (void)state;
    assert_int_equal(use(f, &evict, "l2cahce", 0), HEDDLE_ECONFIG);
    assert_true(has(f, "did you mean \"l2cache\"?"));
    assert_int_equal(use(f, &evict, "dram", 0), HEDDLE_EPOLICY);
    assert_true(has(f, "\"dram\" never asks"));
    assert_int_equal(use(f, &evict, "l2cache", 0), 0);
    assert_int_equal(fake_ask(f, HEDDLE_POINT_repl_victim, &q), 0);
    assert_int_equal(
        hd_ask_repl_victim(&f->other[HEDDLE_POINT_repl_victim], &q), 1);
    /* the other structure is free for another policy, everywhere is not */
    assert_int_equal(use(f, &evict, "l1tlb", 0), 0);
    assert_int_equal(use(f, &evict, "", 0), HEDDLE_EPOLICY);
    assert_int_equal(heddle_unuse(fake_sim(f), "evict", "l1tlb"), 1);
    fake_close(f);
}

static uint64_t hash_of(struct fake *f)
{
    struct hd_slots_mark m[HEDDLE_MAX_BOUND];

    hd_slots_marks(&f->slots, m);
    return m[0].hash;
}

static void a_state_for_each_structure(void **state)
{
    struct heddle_q_repl_victim q = {.ways = 4, .app = 0};
    struct fake *f = fake_open();
    const struct hd_slot *a = &f->slot[HEDDLE_POINT_repl_victim];
    const struct hd_slot *b = &f->other[HEDDLE_POINT_repl_victim];
    const char *place[2];
    uint64_t hash;

    (void)state;
    assert_int_equal(use(f, &evict, "", 0), 0);
    hash = hash_of(f);
    for (int i = 0; i < 3; i++)
        hd_ask_repl_victim(a, &q);
    hd_ask_repl_victim(b, &q);
    /* both calls reached a state of their own: 3 and 1 */
    assert_non_null(heddle_used_state(fake_sim(f), 0, 0, &place[0]));
    assert_ptr_not_equal(heddle_used_state(fake_sim(f), 0, 1, &place[1]),
                         heddle_used_state(fake_sim(f), 0, 0, &place[0]));
    assert_string_not_equal(place[0], place[1]);
    assert_null(heddle_used_state(fake_sim(f), 0, 2, &place[0]));
    assert_null(heddle_used_state(fake_sim(f), 1, 0, &place[0]));
    assert_int_equal(heddle_unuse(fake_sim(f), NULL, NULL), 1);
    assert_int_not_equal(hash_of(f), hash);
    assert_int_equal(use(f, &evict, "", 0), 0);
    assert_int_equal(hash_of(f), hash);
    fake_close(f);
}

static void a_bad_policy_is_refused(void **state)
{
    struct heddle_policy late = other, nameless = other;
    struct fake *f = fake_open();

    (void)state;
    late.abi = HEDDLE_POLICY_ABI + 1;
    nameless.name = NULL;
    assert_int_equal(use(f, &late, "", 0), HEDDLE_EPOLICY);
    assert_true(has(f, "needs a later heddle"));
    assert_int_equal(use(f, &nameless, "", 0), HEDDLE_EPOLICY);
    assert_true(has(f, "needs a name"));
    fake_close(f);
}

static int refuse(void *state, const struct heddle_place *p,
                  const uint64_t *values)
{
    (void)state;
    (void)p;
    (void)values;
    return -1;
}

static void a_failed_use_changes_nothing(void **state)
{
    struct heddle_policy bad = other;
    struct heddle_use_info u;
    struct fake *f = fake_open();

    (void)state;
    bad.init = refuse;
    assert_int_equal(use(f, &bad, "", 0), HEDDLE_EPOLICY);
    assert_true(has(f, "refuses this machine"));
    assert_int_equal(heddle_used(fake_sim(f), 0, &u), HEDDLE_EINVAL);
    assert_int_equal(f->slot[HEDDLE_POINT_l2_bypass].bound, 0);
    assert_int_equal(use(f, &other, "", 0), 0);
    fake_close(f);
}

static void descriptions(void **state)
{
    struct fake *f = fake_open();
    char text[128], small[8];

    (void)state;
    assert_int_equal(hd_slots_describe(&f->slots, text, sizeof text), 0);
    assert_string_equal(text, "");
    use(f, &evict, "l2cache", 0);
    use(f, &tokens, "", 0);
    hd_slots_describe(&f->slots, text, sizeof text);
    assert_string_equal(text, "evict at l2cache, tokens (bits=2, epoch=100)");
    assert_int_equal(hd_slots_describe(&f->slots, small, sizeof small),
                     strlen(text));
    assert_string_equal(small, "evict a");
    fake_close(f);
}

static void many_policies(void **state)
{
    struct heddle_policy p[HEDDLE_MAX_BOUND + 1];
    char name[HEDDLE_MAX_BOUND + 1][8];
    struct fake *f = fake_open();

    (void)state;
    memset(p, 0, sizeof p);
    for (int i = 0; i <= HEDDLE_MAX_BOUND; i++) {
        p[i].abi = HEDDLE_POLICY_ABI;
        name[i][0] = 'p';
        name[i][1] = (char)('0' + i / 10);
        name[i][2] = (char)('0' + i % 10);
        name[i][3] = '\0';
        p[i].name = name[i];
        assert_int_equal(use(f, &p[i], "", 0),
                         i < HEDDLE_MAX_BOUND ? 0 : HEDDLE_EPOLICY);
    }
    assert_true(has(f, "32 policies are bound already"));
    fake_close(f);
}

/* Structures of points.def and notes.def, and those that policy-fake.h names.
 */
static const char *const structures[] = {
    "core", "dispatch", "l1tlb", "l1cache", "l2tlb",
    "walk", "l2cache",  "dram",  "memory",  "fault"};

/* Exactly the structures of `list`, and `own`, are not quiet. */
static void only(struct fake *f, const char *list, const char *own)
{
    for (size_t i = 0; i < sizeof structures / sizeof *structures; i++) {
        const char *at = structures[i];
        int loud = strstr(list, at) != NULL || strcmp(own, at) == 0;

        if (hd_slots_quiet(&f->slots, at) != !loud)
            fail_msg("%s, where \"%s\" is answered or told", at, list);
    }
}

static void watch(void *state, const void *note)
{
    (void)state, (void)note;
}

static void hear(void *ud, const struct heddle_decision *d)
{
    (void)ud, (void)d;
}

static uint64_t never(const void *state)
{
    (void)state;
    return 1000000;
}

static void nothing(void *state, heddle_sim *s, uint64_t cycle)
{
    (void)state, (void)s, (void)cycle;
}

static const struct heddle_policy none = {.abi = HEDDLE_POLICY_ABI,
                                          .name = "alone",
                                          .period = never,
                                          .epoch = nothing};

static void quiet_but_for_points(void **state)
{
    struct fake *f = fake_open();

    (void)state;
    only(f, "", "");
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++) {
        const struct heddle_point_info *p = heddle_point_info(i);
        struct heddle_policy alone = none;
        uint8_t heard[HEDDLE_POINT_COUNT] = {0};
        const char *at = *fake_at(i) ? fake_at(i) : "";

        alone.answer[i] = one;
        assert_int_equal(use(f, &alone, at, 0), 0);
        only(f, p->at, at);
        heddle_unuse(fake_sim(f), "alone", NULL);
        only(f, "", "");
        heard[i] = 1;
        assert_true(heddle_listen(fake_sim(f), heard, hear, NULL) > 0);
        if (strcmp(at, "l1tlb") != 0) /* those are also at l2cache */
            only(f, p->at, at);
        heddle_unlisten(fake_sim(f));
        only(f, "", "");
    }
    f->env.check = true;
    assert_false(hd_slots_quiet(&f->slots, "core"));
    assert_true(hd_slots_quiet(NULL, "core"));
    fake_close(f);
}

static void quiet_but_for_notes_and_tables(void **state)
{
    const struct heddle_note_info *n;
    const struct heddle_table_info *t;
    struct fake *f = fake_open();

    (void)state;
    for (uint32_t i = 0; (n = heddle_note_info(i)) != NULL; i++) {
        struct heddle_policy alone = none;

        alone.watch[i] = watch;
        assert_int_equal(use(f, &alone, "", 0), 0);
        only(f, n->at, "");
        heddle_unuse(fake_sim(f), "alone", NULL);
        only(f, "", "");
    }
    for (uint32_t i = 0; (t = heddle_table_info(i)) != NULL; i++) {
        struct fake *g = fake_open();

        assert_int_equal(heddle_steer(fake_sim(g), t->name, 0, 0, 1), 0);
        only(g, t->at, "");
        fake_close(g);
    }
    fake_close(f);
}

/* ---- what samples and snapshots ask ---------------------------------------
 */

static uint64_t no_period(const void *state)
{
    (void)state;
    return 0;
}

/* What a policy alone has in time, if these points have not; NULL: nothing. */
static const char *timed(const struct heddle_policy *p, uint64_t points,
                         uint64_t notes)
{
    struct fake *f = fake_open();
    const char *what = NULL, *name;

    assert_int_equal(use(f, p, "", 0), 0);
    name = hd_slots_timed(&f->slots, points, notes, &what);
    if (name != NULL)
        assert_string_equal(name, p->name);
    else
        assert_null(what);
    fake_close(f);
    return what;
}

static void state_in_time(void **state)
{
    const uint64_t fill = 1ull << HEDDLE_POINT_tlb_fill,
                   bypass = 1ull << HEDDLE_POINT_l2_bypass;
    struct heddle_policy seldom = none, sees = none;
    struct fake *f = fake_open();
    const char *what;

    (void)state;
    assert_null(hd_slots_timed(&f->slots, 0, 0, &what));
    fake_close(f);
    assert_string_equal(timed(&tokens, 0, 0), "tlb_fill");
    assert_string_equal(timed(&tokens, fill, 0), "l2_bypass");
    assert_string_equal(timed(&tokens, bypass, 0), "tlb_fill");
    assert_null(timed(&tokens, fill | bypass, 0));
    assert_null(timed(&tokens, UINT64_MAX, 0));
    assert_string_equal(timed(&none, UINT64_MAX, UINT64_MAX), "epochs");
    seldom.period = no_period;
    assert_null(timed(&seldom, 0, 0));
    sees.period = no_period;
    sees.watch[HEDDLE_NOTE_tlb_hit] = watch;
    assert_string_equal(timed(&sees, UINT64_MAX, 0), "tlb_hit");
    assert_string_equal(
        timed(&sees, UINT64_MAX, ~(1ull << HEDDLE_NOTE_tlb_hit)), "tlb_hit");
    assert_null(timed(&sees, 0, 1ull << HEDDLE_NOTE_tlb_hit));
    /* the first that has, not the first */
    f = fake_open();
    assert_int_equal(use(f, &seldom, "", 0), 0);
    assert_int_equal(use(f, &tokens, "", 0), 0);
    assert_string_equal(hd_slots_timed(&f->slots, fill, 0, &what), "tokens");
    assert_string_equal(what, "l2_bypass");
    fake_close(f);
}

/* State of a script, which is outside the arena. */
static void *outside(void *ud, heddle_sim *s, const struct heddle_place *p,
                     const uint64_t *values)
{
    static char script;

    (void)ud, (void)s, (void)p, (void)values;
    return &script;
}

/* Whether a snapshot of these policies can be restored under those: "" or the
 * error. */
static void restored(const struct heddle_policy *taken,
                     const struct heddle_policy *bound, const char *want)
{
    struct fake *f = fake_open(), *g = fake_open();
    struct hd_slots_mark m[HEDDLE_MAX_BOUND];
    struct heddle_error err = {0, ""};
    int rc;

    if (taken != NULL)
        assert_int_equal(use(f, taken, "", 0), 0);
    if (bound != NULL)
        assert_int_equal(use(g, bound, "", 0), 0);
    hd_slots_marks(&f->slots, m);
    rc = hd_slots_same(&g->slots, m, &err);
    assert_int_equal(rc, *want ? HEDDLE_EINVAL : 0);
    if (*want ? strstr(err.text, want) == NULL : err.text[0] != '\0')
        fail_msg("\"%s\", expected \"%s\"", err.text, want);
    fake_close(f);
    fake_close(g);
}

static void of_a_snapshot(void **state)
{
    static const struct heddle_policy watches = {
        .abi = HEDDLE_POLICY_ABI,
        .name = "watches",
        .open = outside,
        .watch = {[HEDDLE_NOTE_tlb_hit] = watch}};
    struct heddle_policy code = other;

    (void)state;
    code.code = 1;
    restored(NULL, NULL, "");
    restored(&other, &other, "");
    restored(&other, NULL, "its policy other is not bound here");
    restored(NULL, &other, "its policy other is bound here only");
    restored(&other, &evict, "its policy other is in the place of another");
    restored(&other, &code, "its policy other is another here (code, ");
    /* those that only watch come and go, and have places of their own */
    restored(&watches, NULL, "");
    restored(NULL, &watches, "");
    restored(&watches, &watches, "");
    restored(&watches, &other, "its policy other is bound here only");
    restored(&other, &watches, "its policy other is not bound here");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters),
        cmocka_unit_test(choices),
        cmocka_unit_test(conflicts_name_both),
        cmocka_unit_test(places),
        cmocka_unit_test(a_state_for_each_structure),
        cmocka_unit_test(a_bad_policy_is_refused),
        cmocka_unit_test(a_failed_use_changes_nothing),
        cmocka_unit_test(descriptions),
        cmocka_unit_test(many_policies),
        cmocka_unit_test(quiet_but_for_points),
        cmocka_unit_test(quiet_but_for_notes_and_tables),
        cmocka_unit_test(state_in_time),
        cmocka_unit_test(of_a_snapshot),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
