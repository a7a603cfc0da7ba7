/*
 * Plug-ins: policies/plugin.c compiled as a shared object is loaded, checked
 * and bound, answers like its Lua twin, and every way to be no plug-in (no
 * file, no path, no entry, a later or too old interface, a bad name, a
 * built-in's name, nothing to do) is told in words.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "policy-fake.h"
#include "texts.h"

static char dir[FOLDER];

/* Compiles source text (NULL: policies/plugin.c) to dir/name.so. */
static void build(const char *name, const char *source, const char *flags)
{
    const char *cc = getenv("CC");
    char command[512], file[128];
    FILE *f;

    snprintf(file, sizeof file, "policies/plugin.c");
    if (source) {
        snprintf(file, sizeof file, "%s/%s.c", dir, name);
        f = fopen(file, "w");
        assert_non_null(f);
        fputs(source, f);
        fclose(f);
    }
    snprintf(command, sizeof command,
             "%s -shared -fPIC -Isrc/engine %s -o %s/%s.so %s",
             cc && *cc ? cc : "cc", flags, dir, name, file);
    assert_int_equal(system(command), 0);
}

static const struct heddle_policy *load(const char *name, char *text,
                                        size_t room)
{
    const struct heddle_policy *p;
    struct heddle_error error;
    char path[128];

    snprintf(path, sizeof path, "%s/%s.so", dir, name);
    p = heddle_policy_load(path, &error);
    assert_int_equal(error.code, p != NULL ? 0 : HEDDLE_EPOLICY);
    snprintf(text, room, "%.*s", (int)room - 1, error.text);
    return p;
}

static void a_plugin_answers(void **state)
{
    struct heddle_q_tlb_fill q = {.app = 0, .warp = 7};
    const char *name = "warps";
    uint64_t eight = 8;
    char text[512] = "";
    const struct heddle_policy *p;
    struct fake *f = fake_open();

    (void)state;
    build("warpfill", NULL, "");
    p = load("warpfill", text, sizeof text);
    assert_string_equal(text, "");
    assert_non_null(p);
    assert_int_equal(heddle_use(fake_sim(f), p, "", &name, &eight, 1, 0), 0);
    assert_int_equal(fake_ask(f, HEDDLE_POINT_tlb_fill, &q), 0);
    q.warp = 8;
    assert_int_equal(fake_ask(f, HEDDLE_POINT_tlb_fill, &q), 1);
    fake_close(f);
}

static void what_is_no_plugin(void **state)
{
#define HEAD                                                                   \
    "#include <policy.h>\n"                                                    \
    "static int64_t one(void *s, const void *q) { return 1; }\n"
#define TAIL                                                                   \
    "};\nconst struct heddle_policy *heddle_policy_entry(void)"                \
    "{ return &p; }\n"
#define POLICY HEAD "static const struct heddle_policy p = { "
    static const struct {
        const char *name, *source, *want;
    } t[] = {
        {"empty", "int x;\n", "does not export heddle_policy_entry()"},
        {"null",
         "const void *heddle_policy_entry(void) { return (void *)0; }\n",
         "returned NULL"},
        {"late", POLICY ".abi = 99, .name = \"late\"" TAIL,
         "for interface 99 of policy.h, and this heddle has 5: it needs a "
         "later heddle"},
        {"old", POLICY ".abi = 3, .name = \"old\"" TAIL,
         "for interface 3 of policy.h, and this heddle takes none before "
         "5: build it again"},
        {"nameless", POLICY ".abi = HEDDLE_POLICY_ABI" TAIL, "needs a name"},
        {"blank", POLICY ".abi = HEDDLE_POLICY_ABI, .name = \"a b\"" TAIL,
         "holds a blank"},
        {"taken",
         POLICY
         ".abi = HEDDLE_POLICY_ABI, .name = \"lru\", .answer = {one}" TAIL,
         "the name of a built-in one"},
        {"idle", POLICY ".abi = HEDDLE_POLICY_ABI, .name = \"idle\"" TAIL,
         "answers no point, watches no note"},
        {"missing", NULL, "cannot load plug-in"},
    };
    struct heddle_error error;
    char text[512];

    (void)state;
    for (size_t i = 0; i < HD_LEN(t); i++) {
        if (t[i].source)
            build(t[i].name, t[i].source, "-w");
        text[0] = '\0';
        assert_null(load(t[i].name, text, sizeof text));
        if (strstr(text, t[i].want) == NULL)
            print_message("# %s: %s\n", t[i].name, text);
        assert_text(text, t[i].want);
    }
    assert_null(heddle_policy_load("plain.so", NULL));
    assert_null(heddle_policy_load("plain.so", &error));
    assert_text(error.text, "write \"./plain.so\"");
}

static int make_dir(void **state)
{
    (void)state;
    return folder_make(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_answers),
        cmocka_unit_test(what_is_no_plugin),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
