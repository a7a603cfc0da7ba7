/*
 * The checking wrapper: for every point, generated from points.def, an answer
 * inside the range comes through, one outside it stops the run with words
 * (policy, point, cycle, question, answer) and the default's answer; passing
 * asks the default; asked and passed are counted by application.  Nothing is
 * installed where nobody is bound.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy-fake.h"
#include "texts.h"

struct scripted {
    int64_t answer;
    uint32_t calls;
};

/* The answer is a parameter, so that one policy serves all tests. */
static int64_t say(void *state, const void *q)
{
    struct scripted *s = state;

    (void)q;
    s->calls++;
    return s->answer;
}

static size_t bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)p;
    (void)params;
    return sizeof(struct scripted);
}

static int init(void *state, const struct heddle_place *p,
                const uint64_t *params)
{
    struct scripted *s = state;

    (void)p;
    s->answer =
        params[1] ? HEDDLE_PASS
                  : (int64_t)(params[0] == UINT64_MAX ? UINT64_MAX : params[0]);
    return 0;
}

static const struct heddle_param params[] = {
    {"answer", "", 0, 0, UINT64_MAX, "what is answered", "test"},
    {"pass", "", 0, 0, 1, "1: pass", "test"},
    {.name = NULL},
};

/* A point that is asked at epochs wants some. */
static uint64_t period(const void *state)
{
    (void)state;
    return 1000;
}

static void epoch(void *state, heddle_sim *s, uint64_t cycle)
{
    (void)state, (void)s, (void)cycle;
}

static struct heddle_policy policy_for(uint32_t point)
{
    struct heddle_policy p = {.abi = HEDDLE_POLICY_ABI,
                              .name = "scripted",
                              .params = params,
                              .state_bytes = bytes,
                              .init = init,
                              .period = period,
                              .epoch = epoch};

    p.answer[point] = say;
    return p;
}

static int bind(struct fake *f, const struct heddle_policy *p, uint64_t answer,
                uint64_t pass)
{
    const char *names[] = {"answer", "pass"};
    uint64_t values[] = {answer, pass};

    return heddle_use(fake_sim(f), p, "", names, values, 2, 0);
}

/* A question of which every scalar is 3 and every array {0, 1, 2}; for
 * warp_pick the ready set 3 is warps 0 and 1. */
static void fill(uint32_t point, uint64_t *q)
{
    static const uint64_t three[] = {0, 1, 2};
    const struct heddle_point_info *info = heddle_point_info(point);

    for (uint32_t i = 0; i < info->fields; i++) {
        const uint64_t *a = three;
        if (info->field[i].count)
            memcpy((char *)q + info->field[i].offset, &a, sizeof a);
        else
            q[info->field[i].offset / 8] = 3;
        if (strcmp(info->field[i].name, "app") == 0 && !info->field[i].count)
            q[info->field[i].offset / 8] = 1;
    }
}

/* The largest good answer to such a question. */
static int64_t largest(uint32_t point)
{
    const struct heddle_point_info *info = heddle_point_info(point);
    int64_t words = 0;

    if (point == HEDDLE_POINT_warp_pick)
        return 65;
    switch (info->kind) {
    case HEDDLE_INDEX:
        return 2;
    case HEDDLE_BOOL:
        return 1;
    case HEDDLE_CHOICE:
        for (const char *s = info->limit; *s; s++)
            words += *s == '|';
        return words;
    case HEDDLE_VALUE:
        return 3;
    case HEDDLE_SUBSET:
        return 7;
    default:
        return 0;
    }
}

static void good_answers_come_through(void **state)
{
    uint64_t q[32] = {0};

    (void)state;
    for (uint32_t p = 0; p < HEDDLE_POINT_COUNT; p++) {
        struct heddle_policy policy = policy_for(p);
        struct fake *f = fake_open();

        fill(p, q);
        assert_int_equal(bind(f, &policy, (uint64_t)largest(p), 0), 0);
        assert_int_equal(fake_ask(f, (enum heddle_point)p, q), largest(p));
        assert_int_equal(f->err.code, 0);
        assert_int_equal(f->defaults[p], 0);
        fake_close(f);
    }
}

static void bad_answers_stop_with_words(void **state)
{
    uint64_t q[32] = {0};

    (void)state;
    for (uint32_t p = 0; p < HEDDLE_POINT_COUNT; p++) {
        const struct heddle_point_info *info = heddle_point_info(p);
        struct heddle_policy policy = policy_for(p);
        uint64_t wrong[2] = {(uint64_t)largest(p) + 1, UINT64_MAX};

        for (int k = 0; k < 2; k++) {
            struct fake *f = fake_open();
            fill(p, q);
            fake_run(f, 123);
            assert_int_equal(bind(f, &policy, wrong[k], 0), 0);
            assert_int_equal(fake_ask(f, (enum heddle_point)p, q), 0);
            assert_int_equal(f->defaults[p], 1);
            assert_int_equal(f->err.code, HEDDLE_EPOLICY);
            assert_text(f->err.text, "policy scripted");
            assert_text(f->err.text, info->name);
            assert_text(f->err.text, "cycle 123");
            assert_text(f->err.text, info->field[0].name);
            /* the policy is not asked again */
            fake_ask(f, (enum heddle_point)p, q);
            assert_int_equal(f->defaults[p], 2);
            assert_int_equal(
                fake_counter(f, (enum heddle_point)p, 0, FAKE_APPS) +
                    fake_counter(f, (enum heddle_point)p, 0, 1),
                1);
            fake_close(f);
        }
    }
}

static void passing_asks_the_default(void **state)
{
    uint64_t q[32] = {0};

    (void)state;
    for (uint32_t p = 0; p < HEDDLE_POINT_COUNT; p++) {
        const struct heddle_point_info *info = heddle_point_info(p);
        struct heddle_policy policy = policy_for(p);
        struct fake *f = fake_open();
        uint32_t row = FAKE_APPS;

        for (uint32_t i = 0; i < info->fields; i++)
            if (strcmp(info->field[i].name, "app") == 0 &&
                info->field[i].count == NULL)
                row = 1;
        fill(p, q);
        assert_int_equal(bind(f, &policy, 0, 1), 0);
        for (int i = 0; i < 3; i++)
            assert_int_equal(fake_ask(f, (enum heddle_point)p, q), 0);
        assert_int_equal(f->defaults[p], 3);
        assert_int_equal(fake_counter(f, (enum heddle_point)p, 0, row), 3);
        assert_int_equal(fake_counter(f, (enum heddle_point)p, 1, row), 3);
        fake_close(f);
    }
}

static void warp_pick_must_be_ready(void **state)
{
    struct heddle_policy policy = policy_for(HEDDLE_POINT_warp_pick);
    uint64_t age[8] = {0};
    struct heddle_q_warp_pick q = {.ready = 0xa, .n = 8, .age = age};
    static const struct {
        uint64_t answer;
        int ok;
    } t[] = {{1, 1}, {3, 1}, {65, 1}, {67, 1},
             {0, 0}, {2, 0}, {64, 0}, {128 + 1, 0}};

    (void)state;
    for (size_t i = 0; i < HD_LEN(t); i++) {
        struct fake *f = fake_open();
        bind(f, &policy, t[i].answer, 0);
        fake_ask(f, HEDDLE_POINT_warp_pick, &q);
        assert_int_equal(f->err.code, t[i].ok ? 0 : HEDDLE_EPOLICY);
        fake_close(f);
    }
}

static void point_names(void **state)
{
    (void)state;
    assert_int_equal(heddle_point_find("alloc"), -1);
    assert_int_equal(heddle_point_find("page_size"), HEDDLE_POINT_page_size);
    assert_int_equal(heddle_point_find("pages"), -1);
}

static void nothing_is_installed_where_nobody_is_bound(void **state)
{
    struct heddle_policy policy = policy_for(HEDDLE_POINT_tlb_fill);
    struct fake *f = fake_open();

    (void)state;
    bind(f, &policy, 1, 0);
    for (uint32_t p = 0; p < HEDDLE_POINT_COUNT; p++) {
        bool is = p == HEDDLE_POINT_tlb_fill;
        assert_int_equal(f->slot[p].bound, is);
        assert_true((f->slot[p].fn == fake_default) == !is);
    }
    assert_int_equal(heddle_unuse(fake_sim(f), "scripted", NULL), 1);
    assert_true(f->slot[HEDDLE_POINT_tlb_fill].fn == fake_default);
    assert_int_equal(f->slot[HEDDLE_POINT_tlb_fill].bound, 0);
    fake_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_answers_come_through),
        cmocka_unit_test(bad_answers_stop_with_words),
        cmocka_unit_test(passing_asks_the_default),
        cmocka_unit_test(warp_pick_must_be_ready),
        cmocka_unit_test(point_names),
        cmocka_unit_test(nothing_is_installed_where_nobody_is_bound),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
