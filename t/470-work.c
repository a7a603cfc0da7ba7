/*
 * 470-work.c - workloads of functions (heddle_work.h), asked and checked.
 *
 * Pinned: buffers lie as those of programs do and may be aligned; parameters
 * have defaults, ranges and names; the functions are asked in order, with the
 * place of each warp; every answer that breaks a rule (a kind, a lane, a run, a
 * size, a slot, a buffer, a lane out of its buffer at either end or in between,
 * a launch that is too large, one's own error) is told with kernel, block, warp
 * and instruction, and the walk ends; a hash follows name, parameters,
 * argument, buffers and what open() adds; the state is all that a snapshot
 * needs; every way to be no plug-in is told in words.
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
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "core/env.h"
#include "heddle_walk.h"
#include "heddle_work.h"
#include "load/workload.h"

enum { SIZE = 4096 };

/* A work that does as it is told. */
struct fake {
    struct heddle_work_op op[4]; /* of each warp, then its exit */
    uint32_t ops;
    struct heddle_work_access access;
    uint64_t byte[HEDDLE_WORK_LANES];
    struct heddle_work_launch launch;
    int launches, launch_rc, next_rc, access_rc, start_rc;
    uint64_t align;
    uint32_t gone_after; /* buffer 1 is given back by that launch */
    const char *words;
    const char *hashed;
    int opened, closed;
    uint64_t param[2];
    char text[1024];
};

static void *fake_open(struct heddle_work_open *o)
{
    struct fake *f = o->ud;

    if (o->argument != NULL && strcmp(o->argument, "no") == 0) {
        heddle_work_refuse(o, HEDDLE_EDATA, "it says no");
        return NULL;
    }
    if (f->hashed != NULL)
        heddle_work_hash(o, f->hashed, strlen(f->hashed));
    f->opened++;
    memcpy(f->param, o->params, sizeof f->param);
    return f;
}

static void fake_close(void *self)
{
    struct fake *f = self;

    f->closed++;
}

static size_t fake_bytes(void *self)
{
    (void)self;
    return 12;
}

static int fake_buffer(void *self, uint32_t i, struct heddle_work_buffer *out)
{
    const struct fake *f = self;

    snprintf(out->name, sizeof out->name, "b%u", i);
    out->bytes = SIZE + 100;
    out->align = i == 1 ? f->align : 0;
    return i < 3;
}

static int fake_launch(struct heddle_work_call *c,
                       struct heddle_work_launch *out)
{
    const struct fake *f = c->self;
    uint32_t *shared = c->shared;

    assert_int_equal(++shared[0], c->launch); /* zeroed before the first */
    *out = f->launch;
    if (f->launch_rc < 0)
        return f->launch_rc;
    return c->launch <= (uint32_t)f->launches;
}

static int fake_gone(struct heddle_work_call *c, uint32_t i)
{
    const struct fake *f = c->self;

    return i == 1 && f->gone_after != 0 && c->launch > f->gone_after;
}

static int fake_start(struct heddle_work_call *c)
{
    const struct fake *f = c->self;
    uint32_t *s = c->state;

    for (int i = 0; i < 3; i++)
        assert_int_equal(s[i], 0);
    assert_int_equal(c->count, 0);
    s[1] = 77;
    return f->start_rc;
}

static int fake_next(struct heddle_work_call *c, struct heddle_work_op *op)
{
    struct fake *f = c->self;
    uint32_t *s = c->state;
    size_t n = strlen(f->text);

    assert_int_equal(s[1], 77);
    assert_int_equal(s[0], c->count);
    if (s[0] == 0 && n < sizeof f->text - 40)
        snprintf(f->text + n, sizeof f->text - n, "%u.%u.%u:%u/%u ", c->launch,
                 (uint32_t)c->block, c->warp, c->lanes,
                 (unsigned)__builtin_popcountll(c->threads));
    if (s[0] < f->ops)
        *op = f->op[s[0]];
    else
        op->kind = HEDDLE_WORK_EXIT;
    s[0]++;
    if (f->words != NULL)
        return heddle_work_fail(c, 0, f->words);
    return f->next_rc;
}

static int fake_access(struct heddle_work_call *c,
                       struct heddle_work_access *out)
{
    const struct fake *f = c->self;
    const uint32_t *s = c->state;

    assert_int_equal(s[0], c->count + 1);
    memcpy(out->byte, f->byte, sizeof f->byte);
    out->buffer = f->access.buffer;
    out->scattered = f->access.scattered;
    out->base = f->access.base;
    out->stride = f->access.stride;
    return f->access_rc;
}

static const struct heddle_param params[] = {
    {"n", "things", 5, 1, 9, "how many", "a test"},
    {"how", "fast|slow", 0, 0, 1, "in which way", "a test"},
    {0}};

static const struct heddle_work work = {
    .abi = HEDDLE_WORK_ABI,
    .name = "fake",
    .params = params,
    .open = fake_open,
    .close = fake_close,
    .shared_bytes = fake_bytes,
    .state_bytes = fake_bytes,
    .buffer = fake_buffer,
    .launch = fake_launch,
    .gone = fake_gone,
    .start = fake_start,
    .next = fake_next,
    .access = fake_access,
};

/* Two warps a block, the second of 8 threads: a load of all lanes. */
static struct fake plain(void)
{
    struct fake f = {.ops = 1,
                     .op = {{.kind = HEDDLE_WORK_LOAD, .bytes = 4, .slot = 1}},
                     .access = {.stride = 4},
                     .launch = {.name = "k", .grid = {2}, .block = {40}},
                     .launches = 1};

    return f;
}

static heddle_workload *make(struct fake *f, const char *argument)
{
    struct heddle_work_options o = {.ud = f, .argument = argument};
    char text[512] = "";
    int status;
    heddle_workload *w = heddle_work_new(&work, &o, &status, text, sizeof text);

    if (w == NULL)
        print_message("# %s\n", text);
    assert_non_null(w);
    assert_int_equal(status, 0);
    return w;
}

static int seen(void *ud, const struct heddle_walk_op *op)
{
    uint64_t *sum = ud;

    if (op->kind == HEDDLE_WALK_LOAD)
        for (uint32_t l = 0; l < op->lanes; l++)
            sum[0] += op->mask >> l & 1;
    sum[1] = op->kind == HEDDLE_WALK_LOAD ? op->address[0] : sum[1];
    return 0;
}

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
        assert_int_equal(heddle_walk(w, NULL, seen, sum, text, sizeof text), 0);
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
    struct heddle_walk_alloc a;
    heddle_workload *w;

    (void)state;
    f.align = 1 << 20;
    w = make(&f, NULL);
    assert_int_equal(heddle_walk_alloc(w, 0, &a), 0);
    assert_string_equal(a.name, "b0");
    assert_int_equal(a.base, 0x7f0000000000);
    assert_int_equal(a.bytes, SIZE + 100);
    assert_int_equal(heddle_walk_alloc(w, 1, &a), 0);
    assert_int_equal(a.base, 0x7f0000100000);
    assert_int_equal(heddle_walk_alloc(w, 2, &a), 0);
    assert_int_equal(a.base, 0x7f0000101100); /* 256 after 4196 bytes */
    assert_int_equal(heddle_walk_alloc(w, 3, &a), HEDDLE_EINVAL);
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
    char text[512];
    int status;

    (void)state;
    for (size_t i = 0; i < HD_LEN(t); i++) {
        o.names = &t[i].name;
        o.values = &t[i].value;
        o.n = 1;
        assert_null(heddle_work_new(&work, &o, &status, text, sizeof text));
        assert_int_equal(status, HEDDLE_ECONFIG);
        assert_non_null(strstr(text, t[i].want));
    }
    o.names = names + 1;
    o.values = (const uint64_t[]){1};
    w = heddle_work_new(&work, &o, &status, text, sizeof text);
    assert_non_null(w);
    assert_int_equal(f.param[0], 5);
    assert_int_equal(f.param[1], 1);
    heddle_workload_free(w);
    o.argument = "no";
    assert_null(heddle_work_new(&work, &o, &status, text, sizeof text));
    assert_int_equal(status, HEDDLE_EDATA);
    assert_string_equal(text, "workload fake: it says no");
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

/* ---- what breaks a rule -----------------------------------------------------
 */

static void refused(struct fake *f, const char *want, int code)
{
    heddle_workload *w = make(f, NULL);
    uint64_t sum[2];
    char text[1024] = "";

    assert_int_equal(heddle_walk(w, NULL, seen, sum, text, sizeof text), code);
    if (strstr(text, want) == NULL)
        print_message("# %s\n", text);
    assert_non_null(strstr(text, want));
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
        {{.kind = HEDDLE_WORK_ALU}, "an ALU run of 0; expected 1 to 2^30"},
        {{.kind = HEDDLE_WORK_ALU, .count = (1u << 30) + 1}, "an ALU run of"},
        {{.kind = HEDDLE_WORK_ALU, .count = 1, .mask = 1ull << 33},
         "next() gave an active lane 33; expected lanes that the warp has"},
        {{.kind = HEDDLE_WORK_ALU, .count = 1, .slot = 1},
         "next() gave slot 1"},
        {{.kind = HEDDLE_WORK_STORE, .bytes = 4, .slot = 1}, "gave slot 1"},
        {{.kind = HEDDLE_WORK_LOAD, .bytes = 4, .slot = 33}, "gave slot 33"},
        {{.kind = HEDDLE_WORK_LOAD, .bytes = 0}, "bytes a lane are 0"},
        {{.kind = HEDDLE_WORK_ATOMIC, .bytes = 3}, "bytes a lane are 3"},
        {{.kind = HEDDLE_WORK_STORE, .bytes = 32}, "bytes a lane are 32"},
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
        {{.base = 0, .stride = INT64_MAX}, 0, 0, "of buffer b0"},
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
        assert_int_equal(heddle_walk(w, NULL, seen, sum, text, sizeof text), 0);
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
    f.access_rc = -1;
    refused(&f, "access() returned -1; expected 0", HEDDLE_EPROGRAM);
    f = plain();
    f.start_rc = 1;
    refused(&f, "start() returned 1; expected 0", HEDDLE_EPROGRAM);
    f = plain();
    f.launch_rc = -3;
    refused(&f, "workload fake: launch() returned -3; expected 0 or 1",
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
            "accesses a buffer that was given back",
            HEDDLE_EPROGRAM);
}

/* ---- snapshots
 * ---------------------------------------------------------------- */

/* The engine's side, without a machine. */
struct bound {
    struct hd_source *s;
    struct hd_arena arena;
    struct hd_err err;
    struct hd_env env;
    struct hd_launch l;
};

/* The arena put back is the whole state, also of a warp between next() and
 * access(). */
static void state_is_in_the_arena(void **state)
{
    struct fake f = plain();
    heddle_workload *w = make(&f, NULL);
    struct bound b = {.s = hd_workload_source(w)};
    struct hd_access acc;
    unsigned char *copy;
    uint32_t ctx[2];
    struct hd_op op;

    (void)state;
    assert_int_equal(hd_arena_open(&b.arena, 1 << 24), 0);
    b.env.arena = &b.arena;
    b.env.err = &b.err;
    assert_int_equal(b.s->ops->bind(b.s->self, &b.env, 0, 32, 8), 0);
    assert_int_equal(b.s->ops->bind(b.s->self, &b.env, 0, 32, 8),
                     HEDDLE_EINVAL); /* one simulation at a time */
    hd_err_clear(&b.err);
    assert_int_equal(b.s->ops->launch(b.s->self, &b.l), 1);
    assert_int_equal(b.l.blocks, 2);
    assert_int_equal(b.s->ops->block_start(b.s->self, 1, &ctx[0]), 0);
    b.s->ops->next(b.s->self, ctx[0], 1, &op);
    copy = malloc(b.arena.used);
    memcpy(copy, b.arena.base, b.arena.used);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(op.kind, HD_OP_LOAD);
        assert_int_equal(op.mask, 0xff);
        assert_int_equal(op.slot, 0);
        b.s->ops->access(b.s->self, ctx[0], 1, &acc);
        assert_int_equal(acc.stride, 4);
        b.s->ops->next(b.s->self, ctx[0], 1, &op);
        assert_int_equal(op.kind, HD_OP_EXIT);
        b.s->ops->next(b.s->self, ctx[0], 0, &op);
        b.s->ops->block_start(b.s->self, 0, &ctx[1]);
        memcpy(b.arena.base, copy, b.arena.used);
        b.s->ops->restored(b.s->self);
        op.kind = HD_OP_LOAD;
        op.mask = 0xff;
        op.slot = 0;
    }
    assert_int_equal(b.err.code, 0);
    free(copy);
    b.s->ops->unbind(b.s->self);
    hd_arena_close(&b.arena);
    heddle_workload_free(w);
}

/* ---- plug-ins
 * ------------------------------------------------------------------ */

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
        {"old", WORK ".abi = 99, .name = \"old\"" TAIL, "build it again"},
        {"nameless", WORK ".abi = 1" TAIL, "needs a name"},
        {"idle", WORK ".abi = 1, .name = \"idle\"" TAIL,
         "needs buffer(), launch(), next() and access()"},
        {"missing", NULL, "cannot load plug-in"},
    };
    char dir[64], path[128], command[512], text[512];
    const char *cc = getenv("CC");

    (void)state;
    snprintf(dir, sizeof dir, "/tmp/heddle-work-%ld", (long)getpid());
    assert_int_equal(mkdir(dir, 0700), 0);
    for (size_t i = 0; i < HD_LEN(t); i++) {
        snprintf(path, sizeof path, "%s/%s.c", dir, t[i].name);
        if (t[i].source != NULL) {
            FILE *f = fopen(path, "w");
            assert_non_null(f);
            fputs(t[i].source, f);
            fclose(f);
            snprintf(command, sizeof command,
                     "%s -w -shared -fPIC -Isrc -o %s/%s.so %s",
                     cc && *cc ? cc : "cc", dir, t[i].name, path);
            assert_int_equal(system(command), 0);
        }
        snprintf(path, sizeof path, "%s/%s.so", dir, t[i].name);
        text[0] = '\0';
        assert_null(heddle_work_load(path, text, sizeof text));
        if (strstr(text, t[i].want) == NULL)
            print_message("# %s: %s\n", t[i].name, text);
        assert_non_null(strstr(text, t[i].want));
    }
    assert_null(heddle_work_load("plain.so", text, sizeof text));
    assert_non_null(strstr(text, "write \"./plain.so\""));
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

static void random_numbers(void **state)
{
    (void)state;
    /* of base/rng.h: a plug-in draws what the engine would */
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
        cmocka_unit_test(bad_instructions),
        cmocka_unit_test(bad_accesses),
        cmocka_unit_test(good_accesses),
        cmocka_unit_test(own_errors),
        cmocka_unit_test(state_is_in_the_arena),
        cmocka_unit_test(what_is_no_plugin),
        cmocka_unit_test(random_numbers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
