/*
 * What is pinned: what a C program may leave out or get wrong without a crash.
 * A workload that could not be opened, a policy of a name that there is not
 * and a snapshot that could not be taken are NULL: errors with a text, after
 * which everything can be used as before.  A workload that a simulation of two
 * could not get leaves the other free, and the places for an error and for the
 * name of a policy's place may be NULL.  Every number has a name as a status.
 *
 * The version as a number is that of the text.  A description is filled as far as
 * its size goes: of a program that was compiled when it had fewer members nothing
 * behind them is touched, of a later one the rest is 0, and a size that was not
 * set is an error.  A kernel given as structs is that of the serialised form.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle_program.h"
#include "heddle_trace.h"
#include "policy.h"
#include "tool.h"
#include "texts.h"

static heddle_workload *open_trace(void)
{
    heddle_workload *w =
        heddle_trace_open("scenarios/data/vecadd.hdt", NULL, NULL);

    assert_non_null(w);
    return w;
}

static void workloads_that_are_missing(void **state)
{
    heddle_config *c = heddle_config_new();
    heddle_workload *w[2] = {open_trace(), NULL};
    struct heddle_error error;
    heddle_sim *s;

    (void)state;
    assert_null(heddle_new(c, NULL, w, 2, &error));
    assert_int_equal(error.code, HEDDLE_EINVAL);
    assert_string_equal(error.text, heddle_config_error(c)->text);
    assert_text(heddle_config_error(c)->text, "application 1 has no");
    assert_null(heddle_new(c, NULL, NULL, 1, NULL));
    w[1] = w[0]; /* one workload is in one simulation, once */
    assert_null(heddle_new(c, NULL, w, 2, &error));
    assert_int_equal(error.code, HEDDLE_EINVAL);
    assert_text(heddle_config_error(c)->text, "in use");
    s = heddle_new(c, NULL, w, 1, &error);
    assert_non_null(s);
    assert_int_equal(error.code, 0);
    assert_string_equal(error.text, "");
    heddle_free(s);
    heddle_workload_free(w[0]);
    heddle_config_free(c);
}

static void policies_that_are_missing(void **state)
{
    heddle_config *c = heddle_config_new();
    heddle_workload *w = open_trace();
    heddle_sim *s = heddle_new(c, NULL, &w, 1, NULL);
    const char *place = NULL;
    void *first;

    (void)state;
    assert_int_equal(heddle_use(s, heddle_policy_find("srip", NULL), "l2tlb",
                                NULL, NULL, 0, 0),
                     HEDDLE_EINVAL);
    assert_text(heddle_error(s)->text, "no policy");
    assert_int_equal(heddle_use(s, heddle_policy_find("srrip", NULL), "l2tlb",
                                NULL, NULL, 0, 0),
                     0);
    first = heddle_used_state(s, 0, 0, &place);
    assert_string_equal(place, "l2tlb");
    assert_ptr_equal(first, heddle_used_state(s, 0, 0, NULL));
    heddle_free(s);
    heddle_workload_free(w);
    heddle_config_free(c);
}

static void snapshots_that_are_missing(void **state)
{
    heddle_config *c = heddle_config_new();
    heddle_workload *w = open_trace();
    heddle_sim *s = heddle_new(c, NULL, &w, 1, NULL);

    (void)state;
    assert_int_equal(heddle_run(s, 100), HEDDLE_OK);
    assert_int_equal(heddle_snapshot_restore(s, NULL), HEDDLE_EINVAL);
    assert_text(heddle_error(s)->text, "no snapshot");
    assert_int_equal(heddle_run(s, 100), HEDDLE_OK);
    assert_int_equal(heddle_now(s), 200);
    heddle_free(s);
    heddle_workload_free(w);
    heddle_config_free(c);
}

static void names_of_any_status(void **state)
{
    (void)state;
    assert_string_equal(heddle_status_name(HEDDLE_ECREATE), "HEDDLE_ECREATE");
    assert_string_equal(heddle_status_name(HEDDLE_STOPPED), "HEDDLE_STOPPED");
    assert_string_equal(heddle_status_name(HEDDLE_ECREATE - 1),
                        "unknown status");
    assert_string_equal(heddle_status_name(INT_MIN), "unknown status");
    assert_string_equal(heddle_status_name(INT_MAX), "unknown status");
}

static void versions(void **state)
{
    unsigned major, minor, patch;

    (void)state;
    assert_int_equal(sscanf(HEDDLE_VERSION, "%u.%u.%u", &major, &minor, &patch),
                     3);
    assert_int_equal(HEDDLE_VERSION_NUMBER,
                     major * 1000000 + minor * 1000 + patch);
    assert_int_equal(heddle_version_number(), HEDDLE_VERSION_NUMBER);
    assert_string_equal(heddle_version(), HEDDLE_VERSION);
}

/* struct heddle_app_info as an earlier and as a later header might have it. */
struct earlier_app {
    size_t size;
    const char *name;
    uint64_t footprint;
};
struct later_app {
    struct heddle_app_info is;
    uint64_t more[2];
};

static void descriptions_of_any_size(void **state)
{
    heddle_config *c = heddle_config_new();
    heddle_workload *w = open_trace();
    heddle_sim *s = heddle_new(c, NULL, &w, 1, NULL);
    struct heddle_app_info now = {.size = sizeof now};
    struct {
        struct earlier_app is;
        uint64_t behind;
    } earlier = {{sizeof earlier.is, NULL, 0}, 42};
    struct later_app later = {{.size = sizeof later}, {42, 42}};

    (void)state;
    assert_int_equal(heddle_run(s, 1000), HEDDLE_OK);
    assert_int_equal(heddle_app(s, 0, &now), 0);
    assert_int_equal(now.size, sizeof now);
    assert_true(now.footprint > 0 && now.hash == heddle_workload_hash(w));

    assert_int_equal(heddle_app(s, 0, (struct heddle_app_info *)&earlier), 0);
    assert_int_equal(earlier.is.size, sizeof earlier.is);
    assert_string_equal(earlier.is.name, now.name);
    assert_int_equal(earlier.is.footprint, now.footprint);
    assert_int_equal(earlier.behind, 42);

    assert_int_equal(heddle_app(s, 0, &later.is), 0);
    assert_int_equal(later.is.size, sizeof later);
    assert_memory_equal((char *)&later + sizeof(size_t),
                        (char *)&now + sizeof(size_t),
                        sizeof now - sizeof(size_t));
    assert_int_equal(later.more[0] | later.more[1], 0);

    now.size = 0;
    assert_int_equal(heddle_app(s, 0, &now), HEDDLE_EINVAL);
    now.size = (size_t)0x5555555555555555;
    assert_int_equal(heddle_app(s, 0, &now), HEDDLE_EINVAL);
    heddle_free(s);
    heddle_workload_free(w);
    heddle_config_free(c);
}

/* Every function that fills one takes its size. */
static void descriptions_of_every_kind(void **state)
{
    heddle_config *c = heddle_config_new();
    heddle_workload *w = open_trace();
    heddle_sim *s = heddle_new(c, NULL, &w, 1, NULL);
    struct heddle_kernel_info kernel = {.size = 0};
    struct heddle_counter_info counter = {.size = 0};
    struct heddle_hist_info hist = {.size = 0};
    struct heddle_object_info object = {.size = 0};

    (void)state;
    assert_int_equal(heddle_run(s, 1000), HEDDLE_OK);
#define BOTH(call, x)                                                          \
    do {                                                                       \
        assert_int_equal(call, HEDDLE_EINVAL);                                 \
        (x).size = sizeof(x);                                                  \
        assert_int_equal(call, HEDDLE_OK);                                     \
        assert_non_null((x).name);                                             \
    } while (0)
    BOTH(heddle_kernel(s, 0, &kernel), kernel);
    BOTH(heddle_counter(s, 0, &counter), counter);
    BOTH(heddle_hist(s, 0, &hist), hist);
    BOTH(heddle_object(s, 0, &object), object);
#undef BOTH
    heddle_free(s);
    heddle_workload_free(w);
    heddle_config_free(c);
}

static void kernels_as_structs(void **state)
{
    static const uint8_t type[] = {HEDDLE_REGISTER_INT, HEDDLE_REGISTER_F32};
    static const struct heddle_ins ins[] = {
        {.op = HEDDLE_INS_SPEC, .d = 0, .a = HEDDLE_NO_REGISTER,
         .b = HEDDLE_NO_REGISTER, .c = HEDDLE_NO_REGISTER,
         .imm = HEDDLE_SPECIAL_GID},
        {.op = HEDDLE_INS_LOAD, .d = 1, .a = 0, .b = HEDDLE_NO_REGISTER, .c = 1},
        {.op = HEDDLE_INS_STORE, .aux = 32, .d = 1, .a = 0,
         .b = HEDDLE_NO_REGISTER, .c = 1, .wait = 1},
        {.op = HEDDLE_INS_EXIT, .d = HEDDLE_NO_REGISTER,
         .a = HEDDLE_NO_REGISTER, .b = HEDDLE_NO_REGISTER,
         .c = HEDDLE_NO_REGISTER},
    };
    static const struct heddle_code_arg arg = {"n", HEDDLE_REGISTER_INT, {7}};
    struct heddle_code code = {.name = "touch", .grid = {2}, .block = {64},
                               .type = type, .registers = 2, .ins = ins,
                               .count = 4, .arg = &arg, .args = 1};
    /* the serialised form, as program.h has it */
    unsigned char bytes[104 + 2 + 40 + 4 * 24] = "HDK1touch";
    heddle_program *p[2];
    heddle_workload *w[2];
    uint64_t hash[2];

    (void)state;
    bytes[64] = 2, bytes[68] = bytes[72] = 1;
    bytes[76] = 64, bytes[80] = bytes[84] = 1;
    bytes[96] = 2, bytes[98] = 1, bytes[100] = 4;
    memcpy(bytes + 104, type, 2);
    bytes[107] = 'n', bytes[138] = 7;
    memcpy(bytes + 146, ins, sizeof ins); /* on a little-endian machine */
    for (int i = 0; i < 2; i++) {
        p[i] = heddle_program_new("touch");
        assert_int_equal(heddle_program_buffer(p[i], "m", HEDDLE_F32, 128, 0,
                                               NULL),
                         0);
        assert_int_equal(i == 0 ? heddle_program_code(p[0], &code)
                                : heddle_program_kernel(p[1], bytes,
                                                        sizeof bytes),
                         0);
        assert_int_equal(
            heddle_program_launch(p[i], &(struct heddle_launch){.kernel = 0}),
            0);
        w[i] = heddle_program_workload(p[i]);
        assert_non_null(w[i]);
        hash[i] = heddle_workload_hash(w[i]);
        heddle_workload_free(w[i]);
    }
    assert_true(hash[0] == hash[1]);
    heddle_program_free(p[0]);
    heddle_program_free(p[1]);

    p[0] = heddle_program_new("touch");
    code.count = 0;
    assert_int_equal(heddle_program_code(p[0], &code), HEDDLE_EPROGRAM);
    assert_text(heddle_program_error(p[0])->text, "kernel touch: too many registers");
    heddle_program_free(p[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workloads_that_are_missing),
        cmocka_unit_test(policies_that_are_missing),
        cmocka_unit_test(snapshots_that_are_missing),
        cmocka_unit_test(names_of_any_status),
        cmocka_unit_test(versions),
        cmocka_unit_test(descriptions_of_any_size),
        cmocka_unit_test(descriptions_of_every_kind),
        cmocka_unit_test(kernels_as_structs),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
