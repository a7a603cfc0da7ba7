/*
 * The interface of plug-ins only grows at its ends: what a plug-in of interface
 * HEDDLE_POLICY_ABI_OLDEST relies on is where it was.
 *
 * Pinned: t/policy-abi.txt has the number of each point and note, and the place of
 * each field in its question or note, as they were in that interface; each is
 * there still.  What has been added comes after them.  A plug-in of an interface
 * in between is taken, one before and one after are refused, with both numbers.
 *
 * A change that breaks this raises both numbers of policy.h, and
 * HEDDLE_ABI=write writes the file again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/base.h"
#include "kit/library.h"
#include "policy.h"
#include "texts.h"

static const char path[] = "t/policy-abi.txt";

enum { LINES = 2048, LINE = 80 };

struct list {
    char line[LINES][LINE];
    uint32_t n;
};

static void add(struct list *l, const char *kind, const char *of,
                const char *name, size_t at)
{
    assert_true(l->n < LINES);
    snprintf(l->line[l->n++], LINE, "%s %s %s %zu", kind, of, name, at);
}

static void add_fields(struct list *l, const char *kind, const char *of,
                       const struct heddle_field_info *f, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add(l, kind, of, f[i].name, f[i].offset);
}

static void list_all(struct list *l)
{
    const struct heddle_point_info *p;
    const struct heddle_note_info *n;

#define MEMBER(s, m) add(l, "member", #s, #m, offsetof(struct s, m))
    MEMBER(heddle_policy, abi);
    MEMBER(heddle_policy, name);
    MEMBER(heddle_policy, params);
    MEMBER(heddle_policy, state_bytes);
    MEMBER(heddle_policy, init);
    MEMBER(heddle_policy, start);
    MEMBER(heddle_policy, period);
    MEMBER(heddle_policy, epoch);
    MEMBER(heddle_policy, answer);
    MEMBER(heddle_policy, watch);
    MEMBER(heddle_policy, filters);
    MEMBER(heddle_policy, own);
    MEMBER(heddle_policy, open);
    MEMBER(heddle_policy, close);
    MEMBER(heddle_policy, save);
    MEMBER(heddle_policy, load);
    MEMBER(heddle_policy, check);
    MEMBER(heddle_policy, code);
    MEMBER(heddle_place, at);
    MEMBER(heddle_place, cores);
    MEMBER(heddle_place, frames);
    MEMBER(heddle_place, instances);
    MEMBER(heddle_place, seed);
    MEMBER(heddle_place, l2tlbs);
    MEMBER(heddle_place, sim);
#undef MEMBER
    add(l, "size", "heddle_policy", "bytes", sizeof(struct heddle_policy));
    add(l, "size", "heddle_param", "bytes", sizeof(struct heddle_param));
    add(l, "size", "heddle_own", "bytes", sizeof(struct heddle_own));
    add(l, "size", "heddle_filter", "bytes", sizeof(struct heddle_filter));
    for (uint32_t i = 0; (p = heddle_point_info(i)) != NULL; i++) {
        add(l, "number", "point", p->name, i);
        add_fields(l, "question", p->name, p->field, p->fields);
    }
    for (uint32_t i = 0; (n = heddle_note_info(i)) != NULL; i++) {
        add(l, "number", "note", n->name, i);
        add_fields(l, "note", n->name, n->field, n->fields);
    }
}

static bool listed(const struct list *l, const char *line)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (strcmp(l->line[i], line) == 0)
            return true;
    return false;
}

static void what_was_there_is_there(void **state)
{
    struct list *now = calloc(1, sizeof *now);
    const char *write = getenv("HEDDLE_ABI");
    uint32_t n = 0, gone = 0;
    char line[LINE];
    FILE *f;

    (void)state;
    if (sizeof(void *) != 8) /* the file is of machines with 64 bits */
        skip();
    list_all(now);
    if (write != NULL && strcmp(write, "write") == 0) {
        f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, "interface %d\n", HEDDLE_POLICY_ABI_OLDEST);
        for (uint32_t i = 0; i < now->n; i++)
            fprintf(f, "%s\n", now->line[i]);
        fclose(f);
    }
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_int_equal(strtol(line + strlen("interface "), NULL, 10),
                     HEDDLE_POLICY_ABI_OLDEST);
    for (; fgets(line, sizeof line, f) != NULL; n++) {
        line[strcspn(line, "\n")] = '\0';
        if (!listed(now, line)) {
            print_message("# no longer: %s\n", line);
            gone++;
        }
    }
    fclose(f);
    free(now);
    assert_int_equal(gone, 0);
    assert_true(n > 300);
}

static void which_interfaces_are_taken(void **state)
{
    char why[160] = "";

    (void)state;
    for (uint32_t abi = 5; abi <= 7; abi++)
        assert_true(hd_library_takes(abi, 5, 7, "x.h", why, sizeof why));
    assert_string_equal(why, "");
    assert_false(hd_library_takes(8, 5, 7, "x.h", why, sizeof why));
    assert_string_equal(why, "it was built for interface 8 of x.h, and this "
                             "heddle has 7: it needs a later heddle");
    assert_false(hd_library_takes(4, 5, 7, "x.h", why, sizeof why));
    assert_string_equal(why, "it was built for interface 4 of x.h, and this "
                             "heddle takes none before 5: build it again");
    assert_false(hd_library_takes(0, 5, 7, "x.h", why, sizeof why));
    assert_true(HEDDLE_POLICY_ABI_OLDEST <= HEDDLE_POLICY_ABI);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_there_is_there),
        cmocka_unit_test(which_interfaces_are_taken),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
