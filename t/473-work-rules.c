/*
 * 473-work-rules.c - workloads of functions (heddle_work.h), checked.
 *
 * Pinned: every answer that breaks a rule (a kind, a lane, a run, a size, a
 * slot, a buffer, a lane out of its buffer at either end or in between, a
 * launch that is too large, one's own error) is told with kernel, block, warp
 * and instruction, and the walk ends; what breaks none is taken.
 *
 * SPDX-License-Identifier: MIT
 */
#include "workfake.h"

static void refused(struct fake *f, const char *want, int code)
{
    heddle_workload *w = make(f, NULL);
    uint64_t sum[2];
    char text[1024] = "";

    assert_int_equal(heddle_each(w, NULL, seen, sum, text, sizeof text), code);
    assert_text(text, want);
    heddle_workload_free(w);
}

#define AT "workload fake, kernel k (launch 1), block 0, warp 0, instruction "

static void bad_instructions(void **state)
{
    static const struct {
        struct heddle_work_op op;
        const char *want;
    } t[] = {
        {{.kind = 6}, AT "2: next() gave kind 6"},
        {{.kind = 999}, "next() gave kind 999"},
        {{.kind = HEDDLE_OP_ALU}, "an ALU run of 0; expected 1 to 2^30"},
        {{.kind = HEDDLE_OP_ALU, .count = (1u << 30) + 1}, "an ALU run of"},
        {{.kind = HEDDLE_OP_ALU, .count = 1, .mask = 1ull << 33},
         "next() gave an active lane 33; expected lanes that have a thread"},
        {{.kind = HEDDLE_OP_ALU, .count = 1, .slot = 1}, "next() gave slot 1"},
        {{.kind = HEDDLE_OP_STORE, .bytes = 4, .slot = 1}, "gave slot 1"},
        {{.kind = HEDDLE_OP_LOAD, .bytes = 4, .slot = 33}, "gave slot 33"},
        {{.kind = HEDDLE_OP_LOAD, .bytes = 0}, "bytes a lane are 0"},
        {{.kind = HEDDLE_OP_ATOMIC, .bytes = 3}, "bytes a lane are 3"},
        {{.kind = HEDDLE_OP_STORE, .bytes = 32}, "bytes a lane are 32"},
    };

    (void)state;
    for (size_t i = 0; i < HD_LEN(t); i++) {
        struct fake f = plain();
        f.ops = 2;
        f.op[1] = t[i].op;
        refused(&f, t[i].want, HEDDLE_EPROGRAM);
    }
}

static void bad_accesses(void **state)
{
    static const struct {
        struct heddle_work_access a;
        int lane;
        uint64_t byte;
        const char *want;
    } t[] = {
        {{.base = -4, .stride = 4}, 0, 0, "lane 0 accesses 4 bytes at byte -4"},
        {{.base = SIZE + 100 - 127, .stride = 4},
         0,
         0,
         AT "1: lane 31 accesses 4 bytes at byte 4193 of buffer b0, which has "
            "4196"},
        {{.base = 100, .stride = -4},
         0,
         0,
         "lane 31 accesses 4 bytes at byte "
         "-24"},
        {{.base = INT64_MAX, .stride = 4}, 0, 0, "of buffer b0"},
        {{.base = 0, .stride = INT64_MAX},
         0,
         0,
         "access() gave a stride of 9223372036854775807; expected one"},
        {{.buffer = 3}, 0, 0, "access() gave buffer 3"},
        {{.scattered = 1},
         7,
         SIZE + 97,
         "lane 7 accesses 4 bytes at byte 4193"},
        {{.scattered = 1},
         31,
         UINT64_MAX,
         "lane 31 accesses 4 bytes at byte -1"},
    };

    (void)state;
    for (size_t i = 0; i < HD_LEN(t); i++) {
        struct fake f = plain();
        f.access = t[i].a;
        f.byte[t[i].lane] = t[i].byte;
        refused(&f, t[i].want, HEDDLE_EPROGRAM);
    }
}

/* What is just inside is no error, and an inactive lane is not looked at. */
static void good_accesses(void **state)
{
    static const struct heddle_work_access t[] = {
        {.base = SIZE + 100 - 128, .stride = 4},
        {.base = 31 * 4, .stride = -4},
        {.base = SIZE + 96, .stride = 0},
        {.scattered = 1},
    };

    (void)state;
    for (size_t i = 0; i < HD_LEN(t) + 1; i++) {
        struct fake f = plain();
        uint64_t sum[2];
        char text[256] = "";
        heddle_workload *w;
        if (i < HD_LEN(t)) {
            f.access = t[i];
            f.byte[3] = SIZE + 96;
        } else {
            f.access = (struct heddle_work_access){.base = -8, .stride = 4};
            f.op[0].mask = 0xfc;
        }
        w = make(&f, NULL);
        assert_int_equal(heddle_each(w, NULL, seen, sum, text, sizeof text), 0);
        heddle_workload_free(w);
    }
}

static void own_errors(void **state)
{
    struct fake f = plain();

    (void)state;
    f.words = "my words";
    refused(&f, AT "1: my words", HEDDLE_EPROGRAM);
    f = plain();
    f.next_rc = HEDDLE_EIO;
    refused(&f, AT "1: next() returned -6; expected 0", HEDDLE_EPROGRAM);
    f = plain();
    f.next_rc = 1;
    refused(&f, AT "1: next() returned 1; expected 0", HEDDLE_EPROGRAM);
    f = plain();
    f.op[0].mask = 1u << 20;
    refused(&f,
            "block 0, warp 1, instruction 1: next() gave an active lane 20; "
            "expected lanes that have a thread",
            HEDDLE_EPROGRAM);
    f = plain();
    f.words = "odd";
    f.code = -777;
    refused(&f, "odd", HEDDLE_EPROGRAM);
    f = plain();
    f.access_rc = 1;
    refused(&f, "access() returned 1; expected 0", HEDDLE_EPROGRAM);
    f = plain();
    f.access_rc = -1;
    refused(&f, "access() returned -1; expected 0", HEDDLE_EPROGRAM);
    f = plain();
    f.start_rc = 1;
    refused(&f, "start() returned 1; expected 0", HEDDLE_EPROGRAM);
    f = plain();
    f.launch_rc = -3;
    refused(&f, "workload fake: launch() returned -3; expected 0 or 1",
            HEDDLE_EPROGRAM);
    f.launch_rc = 2;
    refused(&f, "workload fake: launch() returned 2; expected 0 or 1",
            HEDDLE_EPROGRAM);
    f = plain();
    f.launch.block[1] = 1000;
    refused(&f,
            "launch 1, kernel k: a grid of 2 x 1 x 1 blocks of 40 x 1000 x "
            "1 threads; expected at most 10^12, of 4096",
            HEDDLE_EPROGRAM);
    f = plain();
    f.launch.grid[1] = f.launch.grid[2] = 4000000;
    refused(&f, "expected at most 10^12", HEDDLE_EPROGRAM);
    f = plain();
    f.launches = 2;
    f.gone_after = 1;
    f.access.buffer = 1;
    refused(&f,
            "kernel k (launch 2), block 0, warp 0, instruction 1: it "
            "accesses a buffer that was freed",
            HEDDLE_EPROGRAM);
}

static void bad_buffers(void **state)
{
    struct fake f = plain();
    struct heddle_work_options o = {.ud = &f};
    struct heddle_error error;

    (void)state;
    f.twice = 1;
    assert_null(heddle_work_new(&work, &o, &error));
    assert_int_equal(error.code, HEDDLE_EPROGRAM);
    assert_text(error.text, "workload fake: two buffers named b0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_instructions), cmocka_unit_test(bad_accesses),
        cmocka_unit_test(good_accesses),    cmocka_unit_test(own_errors),
        cmocka_unit_test(bad_buffers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
