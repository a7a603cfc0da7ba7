/*
 * Pinned: who waits for room in the store queue of an L1.  In a write-back L1 a
 * store, an atomic and a load that misses do, because each may evict a dirty
 * line; they leave at the very cycle at which a write-back is acknowledged, and
 * at once where there is room.  In a write-through L1 stores alone wait.
 *
 * SPDX-License-Identifier: MIT
 */
#include "corerig.h"

enum {
    LATENCY = 100, /* of the memory below the core, in cycles */
    ACK = LATENCY + RIG_BACK,
    LOG = 8
};

struct test {
    struct program program[1][RIG_WARPS];
    uint32_t line[RIG_OPS]; /* of each instruction */
    hd_va lane;
    uint32_t n;
    struct {
        uint64_t line, cycle;
        uint32_t kind;
    } sent[LOG];
};

static void on_access(struct rig *r, uint32_t block, uint32_t w, uint32_t at,
                      struct hd_access *acc)
{
    struct test *t = r->test;

    (void)block, (void)w;
    t->lane.v = t->line[at] * 128;
    acc->lane = &t->lane;
}

static void on_line(struct rig *r, const struct hd_req *q)
{
    struct test *t = r->test;

    assert_true(t->n < LOG);
    t->sent[t->n].line = q->pa.v / 128 % 32; /* of its page */
    t->sent[t->n].cycle = q->born / r->g.cycle;
    t->sent[t->n++].kind = q->kind;
}

static uint32_t on_walk(struct rig *r, const struct hd_treq *q)
{
    (void)r, (void)q;
    return 10;
}

static void add(struct test *t, uint32_t kind, uint32_t line)
{
    struct program *p = &t->program[0][0];

    t->line[p->n] = line;
    p->op[p->n++] = (struct hd_op){
        (uint8_t)kind, kind == HEDDLE_OP_LOAD ? 0 : HD_NO_SLOT, 4, 0, 0, 1, 0,
        hd_ones(1)};
}

/* A store of line 0, an atomic that takes it out of the L1, and an instruction
 * of line 1: how many cycles after the store or its write-back it leaves. */
static uint64_t behind(const char *write, const char *stores, uint32_t kind,
                       bool waits)
{
    const char *const set[][2] = {
        {"core.count", "1"},      {"core.lanes", "32"},
        {"core.width", "32"},     {"core.alu_latency", "1"},
        {"l1cache.write", write}, {"l1cache.stores", stores},
        {"xbar.bytes", "128"},    {NULL, NULL},
    };
    struct test *t = calloc(1, sizeof *t);
    struct programs all = {1, 1, t->program};
    struct rig *r;
    uint64_t after;

    add(t, HEDDLE_OP_STORE, 0);
    add(t, HEDDLE_OP_ATOMIC, 0);
    add(t, kind, 1);
    add(t, HEDDLE_OP_ATOMIC, 1); /* sends a line that a store left in the L1 */
    add(t, HEDDLE_OP_EXIT, 0);
    r = rig_build(&all, set);
    r->latency = LATENCY;
    r->access = on_access;
    r->sent = on_line;
    r->walked = on_walk;
    r->test = t;
    rig_run(r);
    assert_int_equal(t->sent[0].line, 0);
    assert_int_equal(t->sent[0].kind, HD_REQ_WRITE);
    assert_int_equal(t->sent[1].line, 0);
    assert_int_equal(t->sent[1].kind, HD_REQ_ATOMIC);
    assert_int_equal(t->sent[2].line, 1);
    assert_int_equal(t->sent[2].kind, kind == HEDDLE_OP_LOAD ? HD_REQ_READ
                                      : kind == HEDDLE_OP_STORE
                                          ? HD_REQ_WRITE
                                          : HD_REQ_ATOMIC);
    after = t->sent[2].cycle - t->sent[0].cycle;
    assert_int_equal(r->g.core[0].l1_count[HD_L1_STORE_FULL] != 0, waits);
    rig_close(r);
    free(t);
    return after;
}

static void who_waits(void **state)
{
    static const struct {
        uint32_t kind;
        const char *write;
        bool waits;
    } want[] = {
        {HEDDLE_OP_LOAD, "back", true},   {HEDDLE_OP_LOAD, "through", false},
        {HEDDLE_OP_STORE, "back", true},  {HEDDLE_OP_STORE, "through", true},
        {HEDDLE_OP_ATOMIC, "back", true}, {HEDDLE_OP_ATOMIC, "through", false},
    };

    (void)state;
    for (size_t i = 0; i < HD_LEN(want); i++) {
        /* behind a look-up of one cycle */
        assert_int_equal(
            behind(want[i].write, "1", want[i].kind, want[i].waits),
            want[i].waits ? ACK + 1 : 2);
        assert_int_equal(behind(want[i].write, "2", want[i].kind, false), 2);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("core stores", tests, NULL, NULL);
}
