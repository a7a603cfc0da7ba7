/*
 * 535-policy-tokens - pins how tokens are handed out: evenly to the cores on
 * which the application ran, rounded up, and there to the lowest warps that
 * issued; all fill before the first epoch has ended, where there are as many
 * tokens as warps, and when the policy is unbound; what a fact says begins
 * anew after the epoch; and the check finds a warp that has no right to fill.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy-fake.h"
#include "points/tokens.h"
#include "texts.h"

/* What the machine says, and the policy answers. */
static struct {
    uint64_t ran[FAKE_CORES], answer[FAKE_APPS];
    struct heddle_q_tokens q[FAKE_APPS];
    uint32_t asked, restarts;
} now;

static uint64_t owner(void *self, uint32_t core)
{
    (void)self;
    return core == 2; /* cores 0 and 1 are application 0's */
}

static uint64_t warps(void *self, uint32_t core)
{
    (void)self;
    return now.ran[core];
}

static void restart(void *self)
{
    (void)self;
    now.restarts++;
}

static const struct hd_fact facts[] = {
    {{"owner", "core", "application", ""}, owner, NULL},
    {{"warps", "core", "bit set of warps", ""}, warps, restart},
};

static uint64_t period(const void *state)
{
    (void)state;
    return 1000;
}

static void epoch(void *state, heddle_sim *s, uint64_t cycle)
{
    uint64_t v;

    (void)state, (void)cycle;
    assert_int_equal(heddle_recent(s, "warps", 0, &v), 0);
    assert_int_equal(v, now.ran[0]); /* not yet begun anew */
    assert_int_equal(heddle_recent(s, "warp", 0, &v), HEDDLE_EINVAL);
    assert_text(heddle_policy_error(s)->text, "did you mean \"warps\"?");
    assert_int_equal(heddle_recent(s, "warps", FAKE_CORES, &v), HEDDLE_EINVAL);
    assert_int_equal(heddle_recent(s, "owner", 2, &v), 0);
    assert_int_equal(v, 1);
}

static int64_t answer(void *state, const void *question)
{
    const struct heddle_q_tokens *q = question;

    (void)state;
    now.asked++;
    now.q[q->app] = *q;
    return (int64_t)now.answer[q->app];
}

static const struct heddle_policy policy = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "giver",
    .summary = "of this test",
    .period = period,
    .epoch = epoch,
    .answer = {[HEDDLE_POINT_tokens] = answer},
};

static struct hd_tokens tokens;

static struct fake *start(void)
{
    struct fake *f = fake_open();

    memset(&now, 0, sizeof now);
    now.ran[0] = 0xf;  /* four warps */
    now.ran[1] = 0x1;  /* one */
    now.ran[2] = 0xf0; /* four, not the lowest */
    hd_slots_facts(&f->slots, facts, 2, NULL);
    memset(&tokens, 0, sizeof tokens);
    assert_int_equal(
        hd_tokens_open(&tokens, &f->env, fake_sim(f), FAKE_CORES), 0);
    assert_int_equal(heddle_use(fake_sim(f), &policy, "", NULL, NULL, 0, 0), 0);
    return f;
}

static uint64_t may(const struct fake *f, uint32_t app, uint32_t core)
{
    return f->slots.steer->tlb_fill[app][core];
}

/* What the checks of all parts say. */
static const char *verdict(struct fake *f)
{
    static struct heddle_error err;

    err = (struct heddle_error){0, ""};
    for (uint32_t i = 0; i < f->env.parts; i++)
        if (f->env.part[i].check)
            f->env.part[i].check(f->env.part[i].self, 0, &err);
    return err.text;
}

static void handed_out(void **state)
{
    struct fake *f = start();

    (void)state;
    now.answer[0] = 3;
    now.answer[1] = 2;
    fake_run(f, 999);
    assert_int_equal(now.asked, 0);
    assert_true(may(f, 0, 0) == UINT64_MAX && may(f, 1, 2) == UINT64_MAX);
    fake_run(f, 1000);
    assert_string_equal(f->err.text, "");
    assert_int_equal(now.asked, FAKE_APPS);
    assert_int_equal(now.restarts, 1);
    assert_int_equal(now.q[0].warps, 5);
    assert_int_equal(now.q[0].tokens, 5); /* all, at first */
    assert_int_equal(now.q[0].epoch, 1);
    assert_int_equal(may(f, 0, 0), 0x3); /* two a core, rounded up */
    assert_int_equal(may(f, 0, 1), 0x1); /* there is but one */
    assert_int_equal(may(f, 1, 2), 0x30);
    assert_true(may(f, 1, 0) == UINT64_MAX); /* not its core */
    assert_string_equal(verdict(f), "");
    now.answer[0] = 5; /* as many as warps: newcomers fill too */
    now.answer[1] = 0;
    fake_run(f, 2000);
    assert_int_equal(now.q[0].tokens, 3);
    assert_int_equal(now.q[0].epoch, 2);
    assert_true(may(f, 0, 0) == UINT64_MAX && may(f, 0, 1) == UINT64_MAX);
    assert_int_equal(may(f, 1, 2), 0);
    assert_string_equal(verdict(f), "");
    now.ran[2] = 0; /* who did not run is not asked, and keeps what it has */
    fake_run(f, 3000);
    assert_int_equal(now.asked, 5);
    assert_int_equal(may(f, 1, 2), 0);
    assert_int_equal(heddle_unuse(fake_sim(f), "giver", NULL), 1);
    assert_true(may(f, 1, 2) == UINT64_MAX);
    fake_close(f);
}

static void check_finds(void **state)
{
    struct fake *f = start();

    (void)state;
    now.answer[0] = now.answer[1] = 2;
    fake_run(f, 1000);
    assert_string_equal(verdict(f), "");
    f->slots.steer->tlb_fill[1][2] |= 0x40; /* a third warp */
    assert_text(verdict(f), "tokens: 3 of 4 warps of application 1 "
                            "on 1 cores have one of 2 tokens");
    f->slots.steer->tlb_fill[1][2] = 0x11; /* one that did not run */
    assert_text(verdict(f), "others that did not run too");
    fake_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handed_out),
        cmocka_unit_test(check_finds),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
