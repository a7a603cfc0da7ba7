/*
 * Pinned: who reaches across a border that src/engine/kit/borders.def does not give him is
 * caught, on the spot; who is given it is not, nor who is at home, nor anybody
 * outside of events; and what is called behind it counts as the other side's.
 * In runs with far faults, copies before a launch, buffers that go, pages that
 * move by either way, and somebody who watches, nobody is caught and each row
 * is crossed from each of its sides: a row that nobody needs has to go.
 *
 * Without assertions there is nothing to catch, and the tests are skipped;
 * t/821 runs them in a build that has them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include "simulation.h"

#if HD_BORDERS_WATCHED
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heddle_work.h"
#include "policy.h"

/* ---- one border ---------------------------------------------------------- */

static void hears(struct hd_env *env) /* a core's business with the MMU */
{
    hd_cross(env, HD_BORDER_notified);
    hd_at_home(env, HD_SIDE_MMU);
}

static void issues(struct hd_env *env)
{
    hd_at_home(env, HD_SIDE_CORE);
}

static void hears_and_issues(struct hd_env *env)
{
    hears(env);
    issues(env);
}

static void issues_over_there(struct hd_env *env)
{
    hd_cross(env, HD_BORDER_notified);
    issues(env);
}

struct actor {
    struct hd_env *env;
    void (*act)(struct hd_env *env);
};

static void serve(void *self, hd_time now, uint32_t what, uint32_t a,
                  uint64_t b)
{
    struct actor *x = self;

    (void)now, (void)what, (void)a, (void)b;
    x->act(x->env);
}

/* Whether that is caught in an event of a component. */
static bool caught(const char *component, void (*act)(struct hd_env *env))
{
    pid_t pid = fork();
    int status, stop = 0;

    if (pid == 0) {
        struct memenv m;
        struct actor x = {memenv_open(&m, 1), act};
        uint32_t id = hd_events_component(&m.ev, component, serve, &x);

        signal(SIGABRT, SIG_DFL); /* and no word of the test's */
        close(STDERR_FILENO);
        hd_post(&m.ev, id, id, 1, 0, 0, 0);
        hd_events_run(&m.ev, 1, &stop);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void wrong_sides(void **state)
{
    static const char *const others[] = {
        "dram", "l2cache", "link", "fault", "manager", "mover", "dispatch"};

    (void)state;
    assert_false(caught("core", hears));
    assert_false(caught("mmu", hears)); /* at home */
    assert_false(caught("policy", hears));
    assert_false(caught("core", hears_and_issues));
    assert_true(caught("core", issues_over_there));
    assert_true(caught("mmu", issues));
    for (uint32_t i = 0; i < HD_LEN(others); i++)
        assert_true(caught(others[i], hears));
}

static void outside(void **state)
{
    struct memenv m;
    struct hd_env *env = memenv_open(&m, 1);

    (void)state;
    issues_over_there(env);
    memenv_close(&m);
}

/* ---- all of them --------------------------------------------------------- */

enum { BUFFERS = 12, BYTES = 700 << 10, BLOCKS = 4, THREADS = 256 };

static int buffer(void *self, uint32_t i, struct heddle_work_buffer *out)
{
    (void)self;
    if (i == BUFFERS)
        return 0;
    snprintf(out->name, sizeof out->name, "b%u", i);
    out->bytes = BYTES;
    return 1;
}

static int launch(struct heddle_work_call *c, struct heddle_work_launch *out)
{
    snprintf(out->name, sizeof out->name, "k%u", c->launch);
    out->grid[0] = BLOCKS;
    out->block[0] = THREADS;
    return c->launch <= BUFFERS;
}

/* Two of three go when they have been used. */
static int gone(struct heddle_work_call *c, uint32_t i)
{
    return i + 1 < c->launch && i % 3 != 2;
}

static int next(struct heddle_work_call *c, struct heddle_work_op *op)
{
    op->kind = c->count == 0   ? HEDDLE_OP_LOAD
               : c->count == 1 ? HEDDLE_OP_STORE
                               : HEDDLE_OP_EXIT;
    op->bytes = 4;
    op->slot = c->count == 0;
    op->wait = c->count == 1;
    return 0;
}

static int access_(struct heddle_work_call *c, struct heddle_work_access *out)
{
    out->buffer = c->launch - 1;
    out->scattered = 1;
    for (uint64_t l = 0; l < c->lanes; l++) {
        uint64_t thread = c->block * THREADS + c->warp * c->lanes + l;
        out->byte[l] = thread * 788 % BYTES / 4 * 4;
    }
    return 0;
}

static const struct heddle_work work = {.abi = HEDDLE_WORK_ABI,
                                        .name = "giver",
                                        .buffer = buffer,
                                        .launch = launch,
                                        .gone = gone,
                                        .next = next,
                                        .access = access_};

static void seen(void *self, const void *note)
{
    (void)self, (void)note;
}

/* Runs on a small machine with settings ("name", "value", ..., NULL), under
 * Mosaic with this way to compact, or (0) under somebody who watches; adds what
 * was crossed. */
static void run(const char *const *set, uint64_t cac,
                uint8_t crossed[HD_BORDERS])
{
    static const char *const names[] = {"cac"};
    struct heddle_policy watcher = {.abi = HEDDLE_POLICY_ABI,
                                    .name = "watcher"};
    heddle_config *c = heddle_config_new();
    struct heddle_error error;
    heddle_workload *w = heddle_work_new(&work, NULL, &error);
    heddle_sim *s;
    int status;

    assert_string_equal(error.text, "");
    assert_int_equal(heddle_config_set(c, "core.count", "4"), 0);
    assert_int_equal(heddle_config_set(c, "sim.stuck_cycles", "1000000"), 0);
    for (; *set != NULL; set += 2)
        assert_int_equal(heddle_config_set(c, set[0], set[1]), 0);
    s = heddle_new(c, NULL, &w, 1, &error);
    assert_int_equal(error.code, 0);
    for (uint32_t i = 0; i < HEDDLE_NOTE_COUNT; i++)
        watcher.watch[i] = seen;
    if (cac != 0)
        status = heddle_use(s, heddle_policy_find("mosaic", NULL), "", names,
                            &cac, 1, 0);
    else
        status = heddle_use(s, &watcher, "", NULL, NULL, 0, 0);
    assert_int_equal(status, 0);
    assert_int_equal(heddle_run(s, 20000000), HEDDLE_DONE);
    for (uint32_t b = 0; b < HD_BORDERS; b++)
        crossed[b] |= s->ev.borders.crossed[b];
    heddle_free(s);
    heddle_workload_free(w);
    heddle_config_free(c);
}

static void all_rows(void **state)
{
    static const char *const name[] = {
#define HD_BORDER(name, ...) #name,
#include "kit/borders.def"
#undef HD_BORDER
    };
    static const char *const faults[] = {"vm.paging", "fault", "link.latency",
                                         "1500", NULL};
    static const char *const copies[] = {"vm.paging", "launch", NULL};
    static const char *const moves[] = {"memory.free_at_end", "true", NULL};
    static const char *const packed[] = {"vm.paging", "fault",
                                         "compress.enable", "true", NULL};
    static const char *const far[] = {"vm.paging", "fault", "remote.access",
                                      "remote", NULL};
    static const char *const levels[] = {"l1tlb.mode",    "off",
                                         "utlb1.entries", "16",
                                         "utlb2.entries", "64", NULL};
    static const char *const nodes[] = {"fabric.nodes", "2", NULL};
    static const char *const untold[] = {"fabric.nodes", "2", "l1tlb.mode",
                                         "ideal", NULL};
    uint8_t crossed[HD_BORDERS] = {0};
    char missing[512] = "";

    (void)state;
    run(faults, 0, crossed);
    run(copies, 0, crossed);
    run(moves, 1, crossed); /* over the channels */
    run(moves, 2, crossed); /* inside DRAM */
    run(packed, 0, crossed);
    run(far, 0, crossed);
    run(levels, 0, crossed);
    run(nodes, 0, crossed);
    run(untold, 0, crossed); /* cores touch pages, and not walkers */
    for (uint32_t b = 0; b < HD_BORDERS; b++)
        if (crossed[b] != hd_border_from(b))
            snprintf(missing + strlen(missing),
                     sizeof missing - strlen(missing), "%s (%x of %x) ",
                     name[b], crossed[b], hd_border_from(b));
    assert_string_equal(missing, "");
}

#else
static void wrong_sides(void **state)
{
    (void)state;
    skip();
}

#define outside  wrong_sides
#define all_rows wrong_sides
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_sides),
        cmocka_unit_test(outside),
        cmocka_unit_test(all_rows),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
