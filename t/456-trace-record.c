/*
 * 456-trace-record.c - containers recorded from programs.
 *
 * Pinned: a recorded program has the operations of the program, in its order,
 * with slots and waits, 32 and 64 lanes; dump shows the same for both; what a
 * container cannot hold is an error in words.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tracekit.h"

#include "heddle_survey.h"
#include "texts.h"

/* A source of the test's own: two launches, barriers, a list, 64 lanes. */
struct fake {
    struct hd_source src;
    uint32_t launch, step[2], warp;
    uint64_t block;
    hd_va lane[64];
    struct hd_env *env;
    bool fail, far;
};

static int fake_bind(void *self, struct hd_env *env, uint32_t app,
                     uint32_t lanes, uint32_t slots)
{
    struct fake *f = self;

    (void)app;
    assert_true(slots >= 64);
    assert_int_equal(lanes, 64);
    f->env = env;
    f->launch = 0;
    return 0;
}

static bool fake_alloc(void *self, uint32_t i, struct hd_alloc *out)
{
    (void)self;
    *out = (struct hd_alloc){"table", {0x10000}, 0x10000};
    return i == 0;
}

static int fake_launch(void *self, struct hd_launch *out)
{
    struct fake *f = self;

    if (f->launch == 2)
        return 0;
    *out = (struct hd_launch){.name = "step",
                              .id = ++f->launch,
                              .grid = {f->launch, 1, 1},
                              .block = {100, 1, 1},
                              .blocks = f->launch,
                              .threads = 100,
                              .warps = 2,
                              .lanes = 64,
                              .regs = 7,
                              .shared_bytes = 9};
    return 1;
}

static int fake_start(void *self, uint64_t block, uint32_t *ctx)
{
    struct fake *f = self;

    f->block = block;
    f->step[0] = f->step[1] = 0;
    *ctx = 5;
    return 0;
}

static void fake_end(void *self, uint32_t ctx)
{
    (void)self;
    assert_int_equal(ctx, 5);
}

/* load (slot 3), alu 10 (waits), store by lane, barrier, exit */
static void fake_next(void *self, uint32_t ctx, uint32_t warp, struct hd_op *op)
{
    struct fake *f = self;
    static const uint8_t kind[] = {HEDDLE_OP_LOAD, HEDDLE_OP_ALU,
                                   HEDDLE_OP_STORE, HEDDLE_OP_BARRIER,
                                   HEDDLE_OP_EXIT};
    uint32_t s = f->step[warp]++;

    (void)ctx;
    f->warp = warp;
    *op = (struct hd_op){.kind = kind[s],
                         .slot = HD_NO_SLOT,
                         .count = 1,
                         .pc = s,
                         .mask = warp ? 0xfffffffff : ~0ull};
    if (s == 0) {
        op->slot = 3;
        op->bytes = 8;
    } else if (s == 1) {
        op->wait = 8;
        op->count = 10;
    } else if (s == 2) {
        op->bytes = 4;
        op->mask &= 0x5555;
        if (f->fail)
            hd_err_set(f->env->err, HEDDLE_EPROGRAM, "the store went wrong");
    }
}

static void fake_access(void *self, uint32_t ctx, uint32_t warp,
                        struct hd_access *acc)
{
    struct fake *f = self;

    (void)ctx;
    *acc = (struct hd_access){.base = {0x10000 + f->block * 512}, .stride = 8};
    if (f->step[warp] != 3)
        return;
    for (unsigned l = 0; l < 64; l++)
        f->lane[l].v = 0x50000 + l * l * 4096 + ((uint64_t)f->far << 48);
    acc->lane = f->lane;
}

static void fake_unbind(void *self)
{
    (void)self;
}

static const struct hd_source_ops fake_ops = {.bind = fake_bind,
                                              .alloc = fake_alloc,
                                              .launch = fake_launch,
                                              .block_start = fake_start,
                                              .block_end = fake_end,
                                              .next = fake_next,
                                              .access = fake_access,
                                              .unbind = fake_unbind};

static int add_line(void *ud, const struct heddle_each_op *op)
{
    char *s = ud;

    s += strlen(s);
    s += sprintf(s, "%u %u.%u %x %u", op->launch, (unsigned)op->block, op->warp,
                 op->pc, op->bytes);
    for (uint64_t m = op->mask; m != 0; m &= m - 1)
        s += sprintf(s, " %llx",
                     (unsigned long long)op->address[__builtin_ctzll(m)]);
    strcpy(s, "\n");
    return 0;
}

static void recorded(void **state)
{
    struct fake f = {.src = {.ops = &fake_ops, .self = &f, .name = "fake"}};
    struct heddle_trace_kernel k;
    struct heddle_workload_alloc a;
    heddle_workload *program = hd_workload(&f.src);
    char out[160];

    (void)state;
    snprintf(out, sizeof out, "%s/fake.hdt", kit.dir);
    assert_int_equal(heddle_trace_record(program, out, 64, kit.text, 1024), 0);
    heddle_workload *w = kit_trace(&kit, out);
    assert_string_equal(heddle_workload_name(w), "fake");
    assert_int_equal(heddle_trace_kernel(w, 1, &k), 0);
    assert_int_equal(k.lanes, 64);
    assert_int_equal(k.registers, 7);
    assert_int_equal(k.shared_bytes, 9);
    assert_int_equal(k.block[0], 100);
    assert_int_equal(k.blocks, 2);
    assert_int_equal(k.instructions, 2 * 2 * 14);
    assert_int_equal(k.memory_instructions, 2 * 2 * 2);
    assert_int_equal(heddle_workload_alloc(w, 0, &a), 0);
    assert_string_equal(a.name, "table");
    assert_int_equal(heddle_workload_alloc(w, 1, &a), 0);
    assert_int_equal(a.base, 0x50000); /* stored to, but not allocated */
    const char *ops = kit_ops(&kit, w);
    static const char want[] =
        "step 1\n"
        "0.0 load 0 s3 mffffffffffffffff /8 10000+8\n"
        "0.0 alu x10 1 w3 mffffffffffffffff\n"
        "0.0 store 2 m5555 /4 50000 54000 60000 74000 90000 b4000 e0000 114000"
        "\n0.0 barrier 3 mffffffffffffffff\n0.0 exit 4 mffffffffffffffff\n"
        "0.1 load 0 s3 mfffffffff /8 10000+8\n";
    assert_memory_equal(ops, want, sizeof want - 1);
    /* the dump of the program is the dump of its recording: the program's
     * walk has 32 lanes by itself, so the one of the trace is compared */
    char all[16384] = "";
    assert_int_equal(heddle_trace_dump(w, NULL, add_line, all, kit.text, 1024),
                     0);
    static const char first[] = "1 0.0 0 8 10000 10008 10010";
    assert_memory_equal(all, first, sizeof first - 1);
    size_t lines = 0;
    for (const char *c = all; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 12);
    struct heddle_trace_select s = {.kernel = 2, .one_block = 1, .block = 1};
    char one[4096] = "";
    assert_int_equal(heddle_trace_dump(w, &s, add_line, one, kit.text, 1024),
                     0);
    assert_memory_equal(one, "2 1.0 0 8 10200 ", 16);
    assert_text(all, one);
    heddle_workload_free(w);
    /* an error of the program ends it, and no file is left */
    f.fail = true;
    snprintf(out, sizeof out, "%s/fail.hdt", kit.dir);
    assert_int_equal(heddle_trace_record(program, out, 64, kit.text, 1024),
                     HEDDLE_EPROGRAM);
    assert_string_equal(kit.text, "the store went wrong");
    assert_int_not_equal(access(out, F_OK), 0);
    f.fail = false;
    f.far = true;
    assert_int_equal(heddle_trace_record(program, out, 64, kit.text, 1024),
                     HEDDLE_EINVAL);
    assert_text(kit.text, "below 2^48");
    assert_int_not_equal(access(out, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
