/*
 * 402-program-verify.c - what bytecode is refused, with words that name the
 * kernel, the instruction and what is wrong; and that bytecode with random
 * changes is either refused or runs without touching what is not its own
 * (run it under the address sanitizer).
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "kasm.h"

#include "kit/rng.h"
#include "texts.h"

static struct kasm a;

static heddle_program *program(void)
{
    heddle_program *p = heddle_program_new("test");

    assert_int_equal(
        heddle_program_buffer(p, "x", HEDDLE_I32, 256, HEDDLE_CONTENTS, NULL),
        0);
    assert_int_equal(heddle_program_buffer(p, "y", HEDDLE_F32, 256, 0, NULL),
                     1);
    assert_int_equal(
        heddle_program_buffer(p, "z", HEDDLE_I32, 8, HEDDLE_SCRATCH, NULL), 2);
    assert_int_equal(heddle_program_buffer(p, "w", HEDDLE_I32, 8, 0, NULL),
                     HEDDLE_EPROGRAM);
    assert_text(heddle_program_error(p)->text, "come after all others");
    return p;
}

/* The kernel in `a` is refused, and the text has `words` in it. */
static void refused(const char *words)
{
    heddle_program *p = program();

    assert_int_equal(kasm_add(&a, p), HEDDLE_EPROGRAM);
    assert_text(heddle_program_error(p)->text, words);
    assert_text(heddle_program_error(p)->text, "kernel k");
    heddle_program_free(p);
}

static uint16_t begin(void)
{
    uint16_t i;

    kasm_begin(&a, "k", 1, 64, 1, 1);
    i = kasm_reg(&a, HD_R_INT);
    kasm_reg(&a, HD_R_F32);
    kasm_reg(&a, HD_R_BOOL);
    kasm_reg(&a, HD_R_INT);
    kasm(&a, HD_I_SPEC, i, NR, NR, HEDDLE_SPECIAL_GID);
    return i;
}

static void end(void)
{
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
}

static void test_accepted(void **state)
{
    heddle_program *p = program();

    (void)state;
    begin();
    end();
    assert_int_equal(kasm_add(&a, p), 0);
    heddle_program_free(p);
}

static void test_operands(void **state)
{
    (void)state;
    begin();
    kasm(&a, HD_I_ADD, 3, 1, NR, 1);
    end();
    refused("instruction 1 (ADD): expected an int register");
    begin();
    kasm(&a, HD_I_ADD, 3, 0, 3, 0);
    end();
    refused("reads a register that nothing has written");
    begin();
    kasm(&a, HD_I_ADD, 4, 0, NR, 0);
    end();
    refused("no such register");
    begin();
    kasm(&a, HD_I_ADD, 3, NR, NR, 0);
    end();
    refused("a register is missing");
    begin();
    kasm(&a, HD_I_MOV, 1, 0, NR, 0);
    end();
    refused("registers of different types");
    begin();
    kasm(&a, HD_I_COUNT, 0, 0, NR, 0);
    end();
    refused("no such instruction");
    begin();
    kasm(&a, HD_I_SPEC, 0, NR, NR, HD_SPECIALS);
    end();
    refused("no such special register");
    begin();
    kasm_full(&a, HD_I_ALU, HEDDLE_CLASS_SHARED, NR, NR, NR, NR, 0, 0, 1);
    end();
    refused("no such class of arithmetic");
    begin();
    kasm_full(&a, HD_I_ALU, HEDDLE_CLASSES | HEDDLE_DEPENDENT, NR, NR, NR, NR,
              0, 0, 1);
    end();
    refused("no such class of arithmetic");
    begin();
    kasm_full(&a, HD_I_SHARED, HEDDLE_ADDRESSED, NR, 0, NR, 4, 0, 0, 2);
    end();
    refused("one instruction of 1, 2, 4, 8 or 16 bytes a lane");
    begin();
    kasm_full(&a, HD_I_SHARED, HEDDLE_ADDRESSED, NR, NR, NR, 4, 0, 0, 1);
    end();
    refused("a register is missing");
    begin();
    kasm(&a, HD_I_ARG, 0, NR, NR, 0);
    end();
    refused("no such argument");
    begin();
    kasm(&a, HD_I_SET, 0, 0, NR, 0);
    end();
    refused("sets what is not a variable");
}

static void test_nesting(void **state)
{
    (void)state;
    begin();
    kasm(&a, HD_I_LT, 2, 0, NR, 1);
    kasm(&a, HD_I_IF, NR, 2, NR, 0);
    end();
    refused("only at the very end");
    begin();
    kasm(&a, HD_I_ENDIF, NR, NR, NR, 0);
    end();
    refused("nothing is open");
    begin();
    kasm(&a, HD_I_LT, 2, 0, NR, 1);
    kasm(&a, HD_I_IF, NR, 2, NR, 0);
    kasm(&a, HD_I_ENDLOOP, NR, NR, NR, 0);
    end();
    refused("ends a construct of another kind");
    begin();
    kasm(&a, HD_I_ELSE, NR, NR, NR, 0);
    end();
    refused("ELSE without IF");
    begin();
    kasm(&a, HD_I_WHILE, NR, NR, NR, 0);
    kasm(&a, HD_I_ENDWHILE, NR, NR, NR, 0);
    end();
    refused("a while without TEST");
    begin();
    kasm(&a, HD_I_LT, 2, 0, NR, 1);
    kasm(&a, HD_I_TEST, NR, 2, NR, 0);
    end();
    refused("a while has exactly one TEST");
    begin();
    kasm(&a, HD_I_LT, 2, 0, NR, 1);
    for (int i = 0; i <= HD_MAX_DEPTH; i++)
        kasm(&a, HD_I_IF, NR, 2, NR, 0);
    end();
    refused("nest too deeply");
    begin();
    refused("the last instruction must be EXIT");
}

/* What was written inside a construct is not there after it. */
static void test_scopes(void **state)
{
    (void)state;
    begin();
    kasm(&a, HD_I_LT, 2, 0, NR, 1);
    kasm(&a, HD_I_IF, NR, 2, NR, 0);
    kasm(&a, HD_I_LI, 3, NR, NR, 1);
    kasm(&a, HD_I_ENDIF, NR, NR, NR, 0);
    kasm(&a, HD_I_ADD, 0, 3, NR, 1);
    end();
    refused("instruction 5 (ADD): reads a register that nothing");
    begin();
    kasm(&a, HD_I_LT, 2, 0, NR, 1);
    kasm(&a, HD_I_IF, NR, 2, NR, 0);
    kasm(&a, HD_I_VAR, 3, 0, NR, 0);
    kasm(&a, HD_I_ENDIF, NR, NR, NR, 0);
    kasm(&a, HD_I_MOV, 3, 0, NR, 0);
    kasm(&a, HD_I_SET, 3, 0, NR, 0);
    end();
    refused("sets what is not a variable");
    begin();
    kasm(&a, HD_I_LI, 3, NR, NR, 4);
    kasm_full(&a, HD_I_LOOP, 0, 3, 0, 3, NR, 0, 0, 1);
    kasm(&a, HD_I_ENDLOOP, NR, NR, NR, 0);
    end();
    refused("the counter is its own bound");
    begin();
    kasm(&a, HD_I_LI, 3, NR, NR, 4);
    kasm_full(&a, HD_I_LOOP, 0, 3, 0, 0, NR, 0, 0, -1);
    kasm(&a, HD_I_ENDLOOP, NR, NR, NR, 0);
    end();
    refused("the step goes the wrong way");
}

static void test_memory(void **state)
{
    (void)state;
    begin();
    kasm_mem(&a, HD_I_LOAD, 0, 3, 0, NR, 3, 0, 0);
    end();
    refused("no such buffer");
    begin();
    kasm_mem(&a, HD_I_LOAD, 0, 3, 0, NR, 1, 0, 0);
    end();
    refused("does not have the type of the buffer");
    begin();
    kasm_mem(&a, HD_I_LOAD, 0, 3, 0, NR, 2, 0, 0);
    end();
    refused("a scratch buffer has no address");
    begin();
    kasm_mem(&a, HD_I_PEEK, 0, 1, 0, NR, 1, 0, 0);
    end();
    refused("one element of a buffer with contents");
    begin();
    kasm_mem(&a, HD_I_POKE, 0, 3, 0, NR, 2, 0, 0);
    end();
    refused("a register that nothing has written");
    begin();
    kasm_full(&a, HD_I_LOAD, 0, NR, 0, NR, 3, 0, 0, 0);
    end();
    refused("1, 2, 4, 8 or 16 elements");
    begin();
    kasm_mem(&a, HD_I_LOAD, 64 + 3, 3, 0, NR, 0, 0, 0);
    end();
    refused("a slot of a name, and one of its own");
    begin();
    kasm_mem(&a, HD_I_STORE, 64, 0, 0, NR, 0, 0, 0);
    end();
    refused("a slot of a name, and one of its own");
    begin();
    kasm_mem(&a, HD_I_LOAD, 64, 3, 0, NR, 0, 0, 0);
    end();
    refused("a copy fills no register");
    begin();
    kasm_full(&a, HD_I_LOAD, 64, NR, 0, NR, 8, 0, 0, 0);
    end();
    refused("a copy is of 4, 8 or 16 bytes a lane");
    begin();
    kasm_full(&a, HD_I_LOAD, 65, NR, 0, NR, 0, 0, 0, 0);
    end();
    refused("fewer elements than a lane copies");
    begin();
    kasm_full(&a, HD_I_LOAD, 65, NR, 0, NR, 0x7fff, 0, 0, 0);
    end();
    refused("fewer elements than a lane copies");
    for (int64_t n = -1; n < 9; n += 9) {
        begin();
        kasm_full(&a, HD_I_DRAIN, 0, NR, NR, NR, NR, 0, 0, n);
        end();
        refused("at most 7 groups stay in flight");
    }
    for (int n = 0; n < 4; n++) { /* slots of groups are theirs alone */
        begin();
        kasm_full(&a, HD_I_LOAD, 64, NR, 0, NR, 4, 0, 0, 0);
        if (n == 0)
            kasm_mem(&a, HD_I_LOAD, 24, 3, 0, NR, 0, 0, 0);
        else if (n == 1)
            kasm_mem(&a, HD_I_LOAD, 96 + 31, 3, 0, NR, 0, 0, 0);
        else if (n == 2)
            kasm_full(&a, HD_I_CARRY, 24, NR, NR, NR, NR, 0, 0, 1);
        else
            kasm_full(&a, HD_I_AWAIT, 0, NR, NR, NR, NR, 0, 0, 1 << 24);
        end();
        refused("slots 24 to 31 are those of copies");
    }
    for (int n = 0; n < 4; n++) {
        const int op = n < 3 ? HD_I_CARRY : HD_I_AWAIT;
        const int64_t imm[] = {5, 33, 0, INT64_C(1) << 32};
        begin();
        kasm_full(&a, op, n == 2 ? 32 : 5, NR, NR, NR, NR, 0, 0, imm[n]);
        end();
        refused("no such name of a slot");
    }
    begin();
    kasm_full(&a, HD_I_ATOM, 0, 3, 0, 0, NR, 0, 0, (int64_t)9 << 32);
    end();
    refused("no such atomic operation");
    begin();
    kasm_full(&a, HD_I_MIX, 0, NR, 0, 0, NR, 0, 0, 0);
    end();
    refused("only of a scratch buffer");
    begin();
    kasm_full(&a, HD_I_MIX, 0, NR, 0, 0, NR, 2, 0, (int64_t)9 << 32);
    end();
    refused("no such atomic operation");
    begin();
    kasm(&a, HD_I_LI, 1, NR, NR, 0);
    kasm_full(&a, HD_I_ATOM, 0, 1, 0, 1, NR, 1, 0, (int64_t)HD_AT_XOR << 32);
    end();
    refused("not an operation on f32");
    begin();
    kasm_full(&a, HD_I_ATOM, 0, 3, 0, 0, NR, 0, 0,
              (int64_t)((uint64_t)HD_AT_CAS << 32 | (uint64_t)3 << 48));
    end();
    refused("the compared value is not there");
}

static void test_header(void **state)
{
    heddle_program *p = program();
    size_t bytes;
    const uint8_t *code;
    uint8_t copy[512];

    (void)state;
    begin();
    end();
    code = kasm_end(&a, &bytes);
    assert_true(bytes < sizeof(copy));
    for (size_t n = 0; n < bytes; n++)
        assert_int_equal(heddle_program_kernel(p, code, n), HEDDLE_EPROGRAM);
    memcpy(copy, code, bytes);
    assert_int_equal(heddle_program_kernel(p, copy, bytes + 1),
                     HEDDLE_EPROGRAM);
    copy[0] = 'X';
    assert_int_equal(heddle_program_kernel(p, copy, bytes), HEDDLE_EPROGRAM);
    heddle_program_free(p);
    kasm_begin(&a, "k", 1, 1025, 1, 1);
    end();
    refused("expected 1 to 1024");
    kasm_begin(&a, "k", 1, 0, 1, 1);
    end();
    refused("expected 1 to 1024");
    kasm_begin(&a, "k", 1, 64, 64, 64);
    end();
    refused("expected 1 to 1024");
}

/* ---- random changes --------------------------------------------------- */

/* A kernel with one of everything. */
static void everything(void)
{
    uint16_t i = begin(), j, v, n;

    j = kasm_reg(&a, HD_R_INT);
    v = kasm_reg(&a, HD_R_INT);
    n = kasm_reg(&a, HD_R_INT);
    kasm(&a, HD_I_LI, 1, NR, NR, 0);
    kasm(&a, HD_I_AND, i, i, NR, 63);
    kasm_mem(&a, HD_I_LOAD, 0, 3, i, NR, 0, 0, 3);
    kasm(&a, HD_I_VAR, v, 3, NR, 0);
    kasm(&a, HD_I_MUL, n, i, i, 0);
    kasm(&a, HD_I_AND, n, n, NR, 7);
    kasm_full(&a, HD_I_LOOP, 0, j, 3, n, NR, 0, 1, 1);
    kasm(&a, HD_I_LT, 2, j, n, 0);
    kasm(&a, HD_I_IF, NR, 2, NR, 0);
    kasm_mem(&a, HD_I_STORE, 0, j, i, j, 0, 0, 0);
    kasm(&a, HD_I_ELSE, NR, NR, NR, 0);
    kasm_full(&a, HD_I_ATOM, 1, 3, i, j, NR, 0, 0, 0);
    kasm(&a, HD_I_SET, v, j, NR, 0);
    kasm(&a, HD_I_ENDIF, NR, NR, NR, 0);
    kasm(&a, HD_I_ENDLOOP, NR, NR, NR, 0);
    kasm(&a, HD_I_WHILE, NR, NR, NR, 0);
    kasm(&a, HD_I_GT, 2, v, NR, 0);
    kasm(&a, HD_I_TEST, NR, 2, NR, 0);
    kasm(&a, HD_I_SUB, n, v, NR, 1);
    kasm(&a, HD_I_SET, v, n, NR, 0);
    kasm(&a, HD_I_EXITIF, NR, 2, NR, 0);
    kasm_alu(&a, 3, ~0u);
    kasm(&a, HD_I_ENDWHILE, NR, NR, NR, 0);
    kasm(&a, HD_I_ITOF, 1, v, NR, 0);
    kasm_mem(&a, HD_I_STORE, 0, 1, i, NR, 1, 0, 0);
    kasm(&a, HD_I_BAR, NR, NR, NR, 0);
    end();
}

/* Runs a little of whatever was accepted; index errors are fine. */
static void run_some(heddle_program *p)
{
    struct krig r;
    struct hd_launch l;
    uint32_t ctx;
    int left = 200;

    heddle_program_launch(p, &(struct heddle_launch){0});
    assert_int_equal(krig_open(&r, heddle_program_workload(p), 32, 64), 0);
    if (r.ops->launch(r.self, &l) == 1 &&
        r.ops->block_start(r.self, 0, &ctx) == 0)
        for (uint32_t w = 0; w < l.warps && r.err.code == 0; w++)
            while (left-- > 0 && r.err.code == 0) {
                struct hd_op op;
                struct hd_access acc;

                r.ops->next(r.self, ctx, w, &op);
                assert_true(op.kind <= HEDDLE_OP_EXIT);
                if (op.kind == HEDDLE_OP_EXIT)
                    break;
                if (op.kind >= HEDDLE_OP_LOAD && op.kind <= HEDDLE_OP_ATOMIC)
                    r.ops->access(r.self, ctx, w, &acc);
            }
    krig_close(&r);
}

static void test_random_changes(void **state)
{
    static uint8_t code[8192], copy[8192];
    struct hd_rng rng = hd_rng_make(402, 1);
    size_t bytes;
    int accepted = 0;

    (void)state;
    everything();
    memcpy(code, kasm_end(&a, &bytes), 4096);
    assert_true(bytes < 4096);
    for (int round = 0; round < 20000; round++) {
        heddle_program *p = program();
        uint32_t changes = hd_rng_below(&rng, 4);

        memcpy(copy, code, bytes);
        for (uint32_t c = 0; c < changes; c++) {
            size_t at = 64 + hd_rng_below(&rng, (uint32_t)bytes - 64);

            copy[at] = hd_rng_below(&rng, 2) ? (uint8_t)hd_rng_next(&rng)
                                             : (uint8_t)hd_rng_below(&rng, 8);
        }
        if (heddle_program_kernel(p, copy, bytes) == 0) {
            accepted++;
            run_some(p);
        } else {
            assert_true(heddle_program_error(p)->text[0] != 0);
        }
        heddle_program_free(p);
    }
    assert_in_range(accepted, 2000, 19000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),       cmocka_unit_test(test_operands),
        cmocka_unit_test(test_nesting),        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_memory),         cmocka_unit_test(test_header),
        cmocka_unit_test(test_random_changes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
