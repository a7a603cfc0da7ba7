/*
 * Notes reach their watchers in the order of binding and cost nothing when
 * nobody watches; epochs come exactly every period (not a cycle before), stop
 * when a policy is unbound, and do not come back from an old event; steering
 * checks table, cell and value, belongs to one policy, tells the cores, and
 * goes back to the default; a snapshot (a copy of the arena) restores epochs,
 * states and tables.
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

struct seen {
    uint64_t notes, last, epochs, cycle;
};

static size_t bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)p;
    (void)params;
    return sizeof(struct seen);
}

static void see(void *state, const void *note)
{
    const struct heddle_n_walk_done *n = note;
    struct seen *s = state;

    s->notes++;
    s->last = n->vpn;
}

static uint64_t every_100(const void *state)
{
    (void)state;
    return 100;
}

static void tick(void *state, heddle_sim *sim, uint64_t cycle)
{
    struct seen *s = state;

    s->epochs++;
    s->cycle = cycle;
    heddle_steer(sim, "warp_limit", 0, 1, s->epochs);
}

static int peek_init(void *state, const struct heddle_place *p,
                     const uint64_t *params)
{
    (void)state;
    (void)params;
    return p->cores == FAKE_CORES && p->apps == FAKE_APPS ? 0 : -1;
}

static const struct heddle_policy watcher = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "watcher",
    .state_bytes = bytes,
    .init = peek_init,
    .period = every_100,
    .epoch = tick,
    .watch = {[HEDDLE_NOTE_walk_done] = see},
};

static const struct heddle_policy second = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "second",
    .state_bytes = bytes,
    .period = every_100,
    .epoch = tick,
    .watch = {[HEDDLE_NOTE_walk_done] = see},
};

static int use(struct fake *f, const struct heddle_policy *p)
{
    return heddle_use(fake_sim(f), p, "", NULL, NULL, 0, 0);
}

/* The state of the only policy lies where its home is; found by its notes. */
static uint64_t limit(struct fake *f)
{
    return f->slots.steer->warp_limit[0][1];
}

static void notes(void **state)
{
    struct heddle_n_walk_done n = {.vpn = 77};
    struct fake *f = fake_open();

    (void)state;
    assert_int_equal(f->slots.watched[HEDDLE_NOTE_walk_done], 0);
    use(f, &watcher);
    use(f, &second);
    assert_int_equal(f->slots.watched[HEDDLE_NOTE_walk_done], 2);
    hd_slots_note(&f->slots, HEDDLE_NOTE_walk_done, &n);
    heddle_unuse(fake_sim(f), "watcher", NULL);
    assert_int_equal(f->slots.watched[HEDDLE_NOTE_walk_done], 1);
    hd_slots_note(&f->slots, HEDDLE_NOTE_walk_done, &n);
    heddle_unuse(fake_sim(f), NULL, NULL);
    assert_int_equal(f->slots.watched[HEDDLE_NOTE_walk_done], 0);
    fake_close(f);
}

static void epochs_come_on_the_cycle(void **state)
{
    struct fake *f = fake_open();
    hd_time cycle = f->clk.ticks[HD_CLK_CORE];

    (void)state;
    assert_true(*f->slots.epoch == HD_NEVER);
    fake_run(f, 50);
    use(f, &watcher);
    assert_int_equal(*f->slots.epoch, 150 * cycle);
    fake_run(f, 149);
    assert_true(limit(f) == UINT64_MAX);
    fake_run(f, 150);
    assert_int_equal(limit(f), 1);
    assert_int_equal(*f->slots.epoch, 250 * cycle);
    fake_run(f, 1050);
    assert_int_equal(limit(f), 10);
    heddle_unuse(fake_sim(f), NULL, NULL);
    assert_true(*f->slots.epoch == HD_NEVER);
    assert_true(limit(f) == UINT64_MAX); /* steering goes back */
    /* bound again before the old event is due: one epoch, at its own time */
    use(f, &watcher);
    fake_run(f, 1149);
    assert_true(limit(f) == UINT64_MAX);
    fake_run(f, 1150);
    assert_int_equal(limit(f), 1);
    fake_close(f);
}

static void told(void *self, uint32_t core)
{
    *(uint64_t *)self |= 1ull << core;
}

static void steering(void **state)
{
    struct fake *f = fake_open();
    heddle_sim *s = fake_sim(f);
    uint64_t cores = 0;

    (void)state;
    f->slots.limit_changed = told;
    f->slots.limit_self = &cores;
    assert_int_equal(heddle_steer(s, "warp_limits", 0, 0, 1), HEDDLE_EINVAL);
    assert_text(heddle_policy_error(s)->text, "\"warp_limit\"?");
    assert_int_equal(heddle_steer(s, "warp_limit", 0, FAKE_CORES, 1),
                     HEDDLE_EINVAL);
    assert_int_equal(heddle_steer(s, "warp_limit", 1, 0, 1), HEDDLE_EINVAL);
    assert_int_equal(heddle_steer(s, "l2_bypass", FAKE_APPS, 0, 1),
                     HEDDLE_EINVAL);
    assert_int_equal(heddle_steer(s, "l2_bypass", 0, 5, 1), HEDDLE_EINVAL);
    assert_int_equal(heddle_steer(s, "l2_bypass", 0, 4, 256), HEDDLE_EINVAL);
    assert_int_equal(heddle_steer(s, "dram_class", 0, 0, 3), HEDDLE_EINVAL);
    assert_int_equal(cores, 0);
    assert_int_equal(f->slots.steer->tlb_fill_without[0][0], 1);
    assert_true(f->slots.steer->tlb_fill[1][2] == UINT64_MAX);
    assert_int_equal(heddle_steer(s, "l2_bypass", 1, 4, 1), 0);
    assert_int_equal(f->slots.steer->l2_bypass[1][4], 1);
    assert_int_equal(heddle_steer(s, "dram_class", 1, 0, 2), 0);
    assert_int_equal(f->slots.steer->dram_class[1][0], 2);
    assert_int_equal(heddle_steer(s, "tlb_fill", 1, 2, 0xf0), 0);
    assert_int_equal(f->slots.steer->tlb_fill[1][2], 0xf0);
    assert_int_equal(heddle_steer(s, "tlb_fill_without", 1, 0, 2), 0);
    assert_int_equal(f->slots.steer->tlb_fill_without[1][0], 2);
    assert_int_equal(heddle_steer(s, "warp_limit", 0, 2, 3), 0);
    assert_int_equal(f->slots.steer->warp_limit[0][2], 3);
    assert_int_equal(cores, 4);
    fake_close(f);
}

static void one_policy_steers_a_table(void **state)
{
    struct fake *f = fake_open();

    (void)state;
    use(f, &watcher);
    fake_run(f, 1);
    use(f, &second);
    fake_run(f, 101); /* both have had an epoch; the second was refused */
    assert_int_equal(f->err.code, HEDDLE_EPOLICY);
    assert_text(f->err.text, "policies watcher and second both "
                             "steer warp_limit");
    fake_close(f);
}

static void a_copy_of_the_arena_restores(void **state)
{
    struct fake *f = fake_open();
    unsigned char *copy;
    size_t used;

    (void)state;
    use(f, &watcher);
    fake_run(f, 550);
    used = f->arena.used;
    copy = malloc(used);
    memcpy(copy, f->arena.base, used);
    fake_run(f, 2000);
    assert_int_equal(limit(f), 20);
    memcpy(f->arena.base, copy, used);
    assert_int_equal(limit(f), 5);
    fake_run(f, 599);
    assert_int_equal(limit(f), 5);
    fake_run(f, 600);
    assert_int_equal(limit(f), 6);
    fake_run(f, 2000);
    assert_int_equal(limit(f), 20);
    free(copy);
    fake_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes),
        cmocka_unit_test(epochs_come_on_the_cycle),
        cmocka_unit_test(steering),
        cmocka_unit_test(one_policy_steers_a_table),
        cmocka_unit_test(a_copy_of_the_arena_restores),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
