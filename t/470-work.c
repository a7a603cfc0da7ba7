/*
 * 470-work.c - workloads of functions (heddle_work.h), asked.
 *
 * Pinned: buffers lie as those of programs do and may be aligned; parameters
 * have defaults, ranges and names; the functions are asked in order, with the
 * place of each warp; a hash follows name, parameters, argument, buffers and
 * what open() adds; the state is all that a snapshot needs, and what warps keep
 * outside of it is counted; every way to be no
 * plug-in is told in words.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bound.h"
#include "workfake.h"

#include <sys/stat.h>
#include <unistd.h>

#include "kit/rng.h"
#include "folder.h"

/* ---- what it does -------------------------------------------------------- */

static void asked_in_order(void **state)
{
    struct fake f = plain();
    uint64_t sum[2] = {0};
    heddle_workload *w = make(&f, NULL);
    char text[256] = "";

    (void)state;
    assert_string_equal(heddle_workload_name(w), "fake");
    for (int i = 0; i < 2; i++) { /* one walk after the other */
        memset(sum, 0, sizeof sum);
        f.text[0] = '\0';
        assert_int_equal(heddle_each(w, NULL, seen, sum, text, sizeof text), 0);
        assert_string_equal(f.text, "1.0.0:32/32 1.0.1:32/8 1.1.0:32/32 "
                                    "1.1.1:32/8 ");
        assert_int_equal(sum[0], 80);
        assert_int_equal(sum[1], 0x7f0000000000);
    }
    assert_int_equal(f.opened, 1);
    assert_int_equal(f.closed, 0);
    heddle_workload_free(w);
    assert_int_equal(f.closed, 1);
}

static void buffers_lie_in_order(void **state)
{
    struct fake f = plain();
    struct heddle_workload_alloc a;
    heddle_workload *w;

    (void)state;
    f.align = 1 << 20;
    w = make(&f, NULL);
    assert_int_equal(heddle_workload_alloc(w, 0, &a), 0);
    assert_string_equal(a.name, "b0");
    assert_int_equal(a.base, 0x7f0000000000);
    assert_int_equal(a.bytes, SIZE + 100);
    assert_int_equal(heddle_workload_alloc(w, 1, &a), 0);
    assert_int_equal(a.base, 0x7f0000100000);
    assert_int_equal(heddle_workload_alloc(w, 2, &a), 0);
    assert_int_equal(a.base, 0x7f0000101100); /* 256 after 4196 bytes */
    assert_int_equal(heddle_workload_alloc(w, 3, &a), HEDDLE_EINVAL);
    heddle_workload_free(w);
}

static void parameters(void **state)
{
    const char *const names[] = {"n", "how"};
    static const struct {
        const char *name;
        uint64_t value;
        const char *want;
    } t[] = {{"m", 5, "workload fake has no parameter \"m\""},
             {"n", 10, "n = 10 is out of range, expected 1 to 9 things"},
             {"hows", 1, "did you mean \"how\"?"}};
    struct fake f = plain();
    struct heddle_work_options o = {.ud = &f};
    heddle_workload *w;
    struct heddle_error error;

    (void)state;
    for (size_t i = 0; i < HD_LEN(t); i++) {
        o.names = &t[i].name;
        o.values = &t[i].value;
        o.n = 1;
        assert_null(heddle_work_new(&work, &o, &error));
        assert_int_equal(error.code, HEDDLE_ECONFIG);
        assert_text(error.text, t[i].want);
    }
    o.names = names + 1;
    o.values = (const uint64_t[]){1};
    w = heddle_work_new(&work, &o, &error);
    assert_non_null(w);
    assert_int_equal(f.param[0], 5);
    assert_int_equal(f.param[1], 1);
    heddle_workload_free(w);
    o.argument = "no";
    assert_null(heddle_work_new(&work, &o, &error));
    assert_int_equal(error.code, HEDDLE_EDATA);
    assert_string_equal(error.text, "workload fake: it says no");
}

static uint64_t hash(struct fake *f, const char *argument)
{
    heddle_workload *w = make(f, argument);
    uint64_t h = heddle_workload_hash(w);

    heddle_workload_free(w);
    return h;
}

static void hashes(void **state)
{
    struct fake f = plain(), other = plain();
    uint64_t h = hash(&f, NULL);

    (void)state;
    f.launches = 2; /* is known to the functions alone */
    assert_int_equal(hash(&f, NULL), h);
    assert_int_not_equal(hash(&f, "a"), h);
    other.hashed = "file";
    assert_int_not_equal(hash(&other, NULL), h);
    other.hashed = NULL;
    other.align = 4096;
    assert_int_not_equal(hash(&other, NULL), h);
}

/* ---- snapshots ---------------------------------------------------------- */

/* The arena put back is the whole state, also of a warp between next() and
 * access(). */
static void state_is_in_the_arena(void **state)
{
    struct fake f = plain();
    heddle_workload *w = make(&f, NULL);
    struct bound b;
    struct hd_access acc;
    unsigned char *copy;
    uint32_t ctx[2];
    struct hd_op op;

    (void)state;
    bind_to(&b, w, 8);
    assert_int_equal(b.s->ops->bind(b.s->self, &b.env, 0, 32, 8),
                     HEDDLE_EINVAL); /* one simulation at a time */
    hd_err_clear(&b.err);
    assert_int_equal(b.l.blocks, 2);
    assert_int_equal(b.s->ops->block_start(b.s->self, 1, &ctx[0]), 0);
    b.s->ops->next(b.s->self, ctx[0], 1, &op);
    copy = malloc(b.arena.used);
    memcpy(copy, b.arena.base, b.arena.used);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(op.kind, HEDDLE_OP_LOAD);
        assert_int_equal(op.mask, 0xff);
        assert_int_equal(op.slot, 0);
        b.s->ops->access(b.s->self, ctx[0], 1, &acc);
        assert_int_equal(acc.stride, 4);
        b.s->ops->next(b.s->self, ctx[0], 1, &op);
        assert_int_equal(op.kind, HEDDLE_OP_EXIT);
        b.s->ops->next(b.s->self, ctx[0], 0, &op);
        b.s->ops->block_start(b.s->self, 0, &ctx[1]);
        memcpy(b.arena.base, copy, b.arena.used);
        op.kind = HEDDLE_OP_LOAD;
        op.mask = 0xff;
        op.slot = 0;
    }
    assert_int_equal(b.err.code, 0);
    free(copy);
    leave(&b);
    heddle_workload_free(w);
}

/* What warps keep outside of it is counted: by the workload, and by what was
 * saved, which may outlive it. */
static void kept_is_counted(void **state)
{
    struct fake f = plain();
    heddle_workload *w = make(&f, NULL);
    const struct hd_source_ops *ops;
    struct bound b;
    uint32_t ctx;
    void *saved;

    (void)state;
    bind_to(&b, w, 8);
    ops = b.s->ops;
    assert_int_equal(ops->block_start(b.s->self, 0, &ctx), 0);
    assert_int_equal(fake_users, 2);
    saved = ops->save(b.s->self);
    assert_int_equal(fake_users, 4);
    assert_int_equal(ops->block_start(b.s->self, 1, &ctx), 0);
    assert_int_equal(fake_users, 6);
    ops->block_end(b.s->self, ctx);
    assert_int_equal(ops->block_start(b.s->self, 1, &ctx), 0);
    assert_int_equal(fake_users, 6); /* in the same place */
    assert_int_equal(ops->load(b.s->self, saved), 0);
    assert_int_equal(fake_users, 4);
    leave(&b);
    heddle_workload_free(w);
    assert_int_equal(fake_users, 2);
    ops->drop(saved);
    assert_int_equal(fake_users, 0);
}

/* ---- plug-ins ----------------------------------------------------------- */

static void what_is_no_plugin(void **state)
{
#define TAIL                                                                   \
    "};\nconst struct heddle_work *heddle_work_entry(void) { return &w; }\n"
#define WORK "#include <heddle_work.h>\nstatic const struct heddle_work w = { "
    static const struct {
        const char *name, *source, *want;
    } t[] = {
        {"empty", "int x;\n", "does not export heddle_work_entry()"},
        {"null", "const void *heddle_work_entry(void) { return (void *)0; }\n",
         "returned NULL"},
        {"late", WORK ".abi = 99, .name = \"late\"" TAIL,
         "for interface 99 of heddle_work.h, and this heddle has 3: it needs a "
         "later heddle"},
        {"old", WORK ".abi = 2, .name = \"old\"" TAIL,
         "for interface 2 of heddle_work.h, and this heddle takes none before "
         "3: build it again"},
        {"nameless", WORK ".abi = HEDDLE_WORK_ABI" TAIL, "needs a name"},
        {"idle", WORK ".abi = HEDDLE_WORK_ABI, .name = \"idle\"" TAIL,
         "needs buffer(), launch(), next() and access()"},
        {"missing", NULL, "cannot load plug-in"},
    };
    char dir[FOLDER], path[128], command[512];
    struct heddle_error error;
    const char *cc = getenv("CC");

    (void)state;
    assert_non_null(folder_make(dir));
    for (size_t i = 0; i < HD_LEN(t); i++) {
        snprintf(path, sizeof path, "%s/%s.c", dir, t[i].name);
        if (t[i].source != NULL) {
            FILE *f = fopen(path, "w");
            assert_non_null(f);
            fputs(t[i].source, f);
            fclose(f);
            snprintf(command, sizeof command,
                     "%s -w -shared -fPIC -Isrc/engine -Isrc/work -o %s/%s.so %s",
                     cc && *cc ? cc : "cc", dir, t[i].name, path);
            assert_int_equal(system(command), 0);
        }
        snprintf(path, sizeof path, "%s/%s.so", dir, t[i].name);
        assert_null(heddle_work_load(path, &error));
        assert_int_equal(error.code, HEDDLE_EPROGRAM);
        assert_text(error.text, t[i].want);
    }
    assert_null(heddle_work_load("plain.so", &error));
    assert_text(error.text, "write \"./plain.so\"");
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

static void random_numbers(void **state)
{
    (void)state;
    /* of kit/rng.h: a plug-in draws what the engine would */
    assert_int_equal(heddle_work_random(1, 2, 3), heddle_work_random(1, 2, 3));
    assert_int_not_equal(heddle_work_random(1, 2, 3),
                         heddle_work_random(1, 2, 4));
    assert_int_not_equal(heddle_work_random(1, 2, 3),
                         heddle_work_random(1, 3, 3));
    assert_int_not_equal(heddle_work_random(1, 2, 3),
                         heddle_work_random(2, 2, 3));
    for (uint64_t n = 0; n < 5; n++) {
        struct hd_rng r = hd_rng_make(7, 9);
        r.drawn = n;
        assert_int_equal(heddle_work_random(7, 9, n), hd_rng_next(&r));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_in_order),
        cmocka_unit_test(buffers_lie_in_order),
        cmocka_unit_test(parameters),
        cmocka_unit_test(hashes),
        cmocka_unit_test(state_is_in_the_arena),
        cmocka_unit_test(kept_is_counted),
        cmocka_unit_test(what_is_no_plugin),
        cmocka_unit_test(random_numbers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
