/*
 * 540-policy-mask-rule - MASK's rule for tokens, answer by answer.
 *
 * Pinned: after the first epoch `initial` percent of the warps, later a step
 * fewer when the miss rate of the L2 TLB rose by more than the band and a step
 * more when it fell by more, else as many as before; never fewer than one, nor
 * more than there are warps; an epoch without look-ups decides nothing and is
 * not remembered; a hill climb goes on while the rate falls and turns when it
 * rises; each application has a rate of its own; switched off, it passes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy.h"

struct rule {
    const struct heddle_policy *p;
    void *state;
};

/* The policy with its defaults, but for one parameter. */
static struct rule open_rule(const char *name, uint64_t value)
{
    static const struct heddle_place place = {
        .at = "", .cores = 4, .warps = 64, .apps = 2};
    struct rule r = {heddle_policy_find("mask", NULL), NULL};
    uint64_t v[HEDDLE_MAX_PARAMS] = {0};

    assert_non_null(r.p);
    for (uint32_t i = 0; r.p->params[i].name != NULL; i++)
        v[i] = name != NULL && strcmp(r.p->params[i].name, name) == 0
                   ? value
                   : r.p->params[i].def;
    r.state = calloc(1, r.p->state_bytes(&place, v));
    assert_int_equal(r.p->init(r.state, &place, v), 0);
    return r;
}

/* The answer of an epoch in which `percent` of 1,000 look-ups missed. */
static int64_t ask(struct rule *r, uint64_t app, uint64_t epoch, uint64_t warps,
                   uint64_t tokens, uint64_t percent)
{
    struct heddle_q_tokens q = {.app = app,
                                .epoch = epoch,
                                .warps = warps,
                                .tokens = tokens,
                                .lookups = 1000,
                                .misses = 10 * percent};

    if (percent > 100)
        q.lookups = q.misses = 0;
    return r->p->answer[HEDDLE_POINT_tokens](r->state, &q);
}

enum { NONE = 101 }; /* no look-ups */

static void text(void **state)
{
    struct rule r = open_rule(NULL, 0);

    (void)state;
    assert_int_equal(ask(&r, 0, 1, 100, 100, 50), 80);
    assert_int_equal(ask(&r, 0, 2, 100, 80, 53), 70); /* rose by 3 points */
    assert_int_equal(ask(&r, 0, 3, 100, 70, 55), 70); /* by 2: in the band */
    assert_int_equal(ask(&r, 0, 4, 100, 70, 53), 70); /* fell by 2 */
    assert_int_equal(ask(&r, 0, 5, 100, 70, 50), 80); /* by 3 */
    assert_int_equal(ask(&r, 0, 6, 100, 80, 40), 90); /* and again: more */
    assert_int_equal(ask(&r, 0, 7, 100, 90, NONE), 90);
    assert_int_equal(ask(&r, 0, 8, 100, 90, 45), 80); /* against 40 */
    assert_int_equal(ask(&r, 1, 8, 100, 30, 90), 30); /* the other's first */
    assert_int_equal(ask(&r, 1, 9, 100, 30, 45), 40);
    free(r.state);
}

static void bounds(void **state)
{
    struct rule r = open_rule(NULL, 0);

    (void)state;
    assert_int_equal(ask(&r, 0, 1, 1, 1, 50), 1);
    assert_int_equal(ask(&r, 0, 2, 100, 5, 60), 1);
    assert_int_equal(ask(&r, 0, 3, 100, 1, 70), 1);
    assert_int_equal(ask(&r, 0, 4, 100, 95, 60), 100);
    assert_int_equal(ask(&r, 0, 5, 5, 3, 50), 4); /* a step is one at least */
    free(r.state);
    r = open_rule("initial", 33);
    assert_int_equal(ask(&r, 0, 1, 64, 64, 50), 21);
    free(r.state);
    r = open_rule("step", 25);
    ask(&r, 0, 1, 64, 64, 50);
    assert_int_equal(ask(&r, 0, 2, 64, 51, 60), 35);
    free(r.state);
    r = open_rule("band", 0);
    ask(&r, 0, 1, 100, 100, 50);
    assert_int_equal(ask(&r, 0, 2, 100, 80, 51), 70);
    assert_int_equal(ask(&r, 0, 3, 100, 70, 51), 70);
    free(r.state);
}

static void hillclimb(void **state)
{
    struct rule r = open_rule("token_rule", 1);

    (void)state;
    assert_int_equal(ask(&r, 0, 1, 100, 100, 50), 80);
    assert_int_equal(ask(&r, 0, 2, 100, 80, 40), 70); /* first move: down */
    assert_int_equal(ask(&r, 0, 3, 100, 70, 30), 60); /* it fell: go on */
    assert_int_equal(ask(&r, 0, 4, 100, 60, 40), 70); /* it rose: turn */
    assert_int_equal(ask(&r, 0, 5, 100, 70, 41), 70); /* in the band */
    assert_int_equal(ask(&r, 0, 6, 100, 70, 30), 80); /* it fell: go on */
    assert_int_equal(ask(&r, 0, 7, 100, 80, 60), 70); /* it rose: turn */
    free(r.state);
}

static void off(void **state)
{
    struct rule r = open_rule("tokens", 0);

    (void)state;
    assert_int_equal(ask(&r, 0, 1, 100, 100, 50), HEDDLE_PASS);
    assert_int_equal(ask(&r, 0, 2, 100, 80, 90), HEDDLE_PASS);
    free(r.state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text),
        cmocka_unit_test(bounds),
        cmocka_unit_test(hillclimb),
        cmocka_unit_test(off),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
