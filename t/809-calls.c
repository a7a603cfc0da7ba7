/*
 * What is pinned: what a C program may leave out or get wrong without a crash.
 * A workload that could not be opened, a policy of a name that there is not
 * and a snapshot that could not be taken are NULL: errors with a text, after
 * which everything can be used as before.  A workload that a simulation of two
 * could not get leaves the other free, and the places for a status and for the
 * name of a policy's place may be NULL.  Every number has a name as a status.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <string.h>

#include "heddle_trace.h"
#include "policy.h"
#include "tool.h"
#include "texts.h"

static heddle_workload *open_trace(void)
{
    char text[256] = "";
    int status;
    heddle_workload *w = heddle_trace_open("scenarios/data/vecadd.hdt", NULL,
                                           &status, text, sizeof text);

    assert_non_null(w);
    return w;
}

static void workloads_that_are_missing(void **state)
{
    heddle_config *c = heddle_config_new();
    heddle_workload *w[2] = {open_trace(), NULL};
    heddle_sim *s;
    int status;

    (void)state;
    assert_null(heddle_new(c, NULL, w, 2, &status));
    assert_int_equal(status, HEDDLE_EINVAL);
    assert_text(heddle_config_error(c), "application 1 has no");
    assert_null(heddle_new(c, NULL, NULL, 1, NULL));
    w[1] = w[0]; /* one workload is in one simulation, once */
    assert_null(heddle_new(c, NULL, w, 2, &status));
    assert_int_equal(status, HEDDLE_EINVAL);
    assert_text(heddle_config_error(c), "in use");
    s = heddle_new(c, NULL, w, 1, NULL);
    assert_non_null(s);
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
    assert_text(heddle_error(s), "no policy");
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
    assert_text(heddle_error(s), "no snapshot");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workloads_that_are_missing),
        cmocka_unit_test(policies_that_are_missing),
        cmocka_unit_test(snapshots_that_are_missing),
        cmocka_unit_test(names_of_any_status),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
