/*
 * 405-vm-life.c - the life of a program: launches by list and by host, the
 * arguments and grids of launches, buffers that keep what kernels wrote, the
 * host's state, snapshots in the middle of a block, relaunch, programs
 * that cannot be built, and that a buffer filled with a value is one that has
 * it everywhere as data.
 *
 * A snapshot is what the simulation makes of it: a copy of the arena and what
 * save() returns.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "kasm.h"

#include "kit/rng.h"
#include "program/lane.h"
#include "texts.h"

static struct kasm a;

enum { N = 4096 };

/* x[tid + o] = x[tid + o] * 3 + k, for launch arguments o and k */
static void scale_kernel(void)
{
    kasm_begin(&a, "scale", 1, 64, 1, 1);
    for (int i = 0; i < 5; i++)
        kasm_reg(&a, HD_R_INT);
    a.nargs = 2;
    kasm(&a, HD_I_SPEC, 0, NR, NR, HEDDLE_SPECIAL_GID);
    kasm(&a, HD_I_ARG, 1, NR, NR, 0);
    kasm(&a, HD_I_ARG, 2, NR, NR, 1);
    kasm_mem(&a, HD_I_LOAD, 0, 3, 0, 1, 0, 0, 0);
    kasm(&a, HD_I_MUL, 3, 3, NR, 3);
    kasm(&a, HD_I_ADD, 3, 3, 2, 0);
    kasm_mem(&a, HD_I_STORE, 0, 3, 0, 1, 0, 1, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
}

static heddle_program *program(void)
{
    heddle_program *p = heddle_program_new("life");
    heddle_data *d = heddle_data_new(HEDDLE_I32, N / 2);

    for (int i = 0; i < N / 2; i++)
        ((int32_t *)d->mem)[i] = i;
    assert_int_equal(heddle_program_buffer(p, "x", HEDDLE_I32, N, 0, d), 0);
    assert_int_equal(
        heddle_program_buffer(p, "f", HEDDLE_F32, 3, HEDDLE_CONTENTS, NULL), 1);
    assert_int_equal(heddle_program_buffer(p, "no", HEDDLE_U8, 5, 0, NULL), 2);
    heddle_data_free(d);
    scale_kernel();
    assert_int_equal(kasm_add(&a, p), 0);
    return p;
}

/* One instruction of a warp; true unless it has ended. */
static bool step(struct krig *r, uint32_t ctx, uint32_t warp)
{
    struct hd_op op;
    struct hd_access acc;

    r->ops->next(r->self, ctx, warp, &op);
    if (op.kind >= HEDDLE_OP_LOAD && op.kind <= HEDDLE_OP_ATOMIC)
        r->ops->access(r->self, ctx, warp, &acc);
    assert_int_equal(r->err.code, 0);
    return op.kind != HEDDLE_OP_EXIT;
}

static void run_block(struct krig *r, const struct hd_launch *l, uint64_t block)
{
    uint32_t ctx;

    assert_int_equal(r->ops->block_start(r->self, block, &ctx), 0);
    for (uint32_t w = 0; w < l->warps; w++)
        while (step(r, ctx, w))
            ;
    r->ops->block_end(r->self, ctx);
}

static void run_launch(struct krig *r, struct hd_launch *l)
{
    for (uint64_t b = 0; b < l->blocks; b++)
        run_block(r, l, b);
}

static int64_t x_at(struct krig *r, uint64_t i)
{
    heddle_host h = {r->self};
    union heddle_value v;

    assert_int_equal(heddle_host_read(&h, 0, i, &v), 0);
    return v.i;
}

static void test_list(void **state)
{
    heddle_program *p = program();
    struct krig r;
    struct hd_launch l;
    struct hd_alloc alloc;

    (void)state;
    heddle_program_launch(p, &(struct heddle_launch){.args = 1, .arg = {{0}}});
    heddle_program_launch(p, &(struct heddle_launch){.grid = {2, 3, 1},
                                                     .args = 2,
                                                     .arg = {{100}, {5}}});
    assert_int_equal(krig_open(&r, heddle_program_workload(p), 32, 64), 0);
    heddle_program_free(p);
    assert_true(r.ops->alloc(r.self, 0, &alloc));
    assert_string_equal(alloc.name, "x");
    assert_int_equal(alloc.bytes, 4 * N);
    assert_true(r.ops->alloc(r.self, 1, &alloc));
    assert_int_equal(alloc.base.v % 256, 0);
    assert_true(r.ops->alloc(r.self, 2, &alloc)); /* the next multiple */
    assert_int_equal(alloc.base.v, 0x7f0000000000 + 4 * N + 256);
    assert_false(r.ops->alloc(r.self, 3, &alloc));

    assert_int_equal(r.ops->launch(r.self, &l), 1);
    assert_string_equal(l.name, "scale");
    assert_int_equal(l.id, 1);
    assert_int_equal(l.blocks, 1);
    assert_int_equal(l.threads, 64);
    run_launch(&r, &l);
    assert_int_equal(x_at(&r, 63), 189);
    assert_int_equal(x_at(&r, 64), 64);
    assert_int_equal(r.ops->launch(r.self, &l), 1);
    assert_int_equal(l.id, 2);
    assert_int_equal(l.blocks, 6);
    run_launch(&r, &l);
    assert_int_equal(x_at(&r, 99), 99);
    assert_int_equal(x_at(&r, 100), 305);
    assert_int_equal(x_at(&r, 100 + 6 * 64 - 1), 3 * (100 + 6 * 64 - 1) + 5);
    assert_int_equal(x_at(&r, N - 1), 0); /* beyond the data: zero */
    assert_int_equal(r.ops->launch(r.self, &l), 0);

    assert_int_equal(r.ops->restart(r.self), 0);
    assert_int_equal(x_at(&r, 100), 100);
    assert_int_equal(r.ops->launch(r.self, &l), 1);
    assert_int_equal(l.id, 1);
    krig_close(&r);
}

/* Launches kernel 0 while its state, a count, is below 3; fills x first. */
static int host(void *ud, heddle_host *h, struct heddle_launch *l)
{
    size_t bytes;
    const void *p = heddle_host_state(h, &bytes);
    union heddle_value v = {.i = 7};
    int32_t count = 0;

    assert_int_equal(bytes, heddle_host_launched(h) > 0 ? 4 : 0);
    if (bytes == 4)
        memcpy(&count, p, 4);
    else if (heddle_host_fill(h, 0, v) != 0)
        return -1;
    assert_int_equal(count, heddle_host_launched(h));
    ++*(int *)ud;
    if (count == 3)
        return 0;
    count++;
    heddle_host_set_state(h, &count, 4);
    l->args = 2;
    l->arg[1].i = count;
    return 1;
}

static void test_host(void **state)
{
    heddle_program *p = program();
    struct krig r;
    struct hd_launch l;
    int calls = 0;

    (void)state;
    heddle_program_host(p, host, &calls, NULL, "host", 4);
    assert_int_equal(krig_open(&r, heddle_program_workload(p), 32, 64), 0);
    heddle_program_free(p);
    while (r.ops->launch(r.self, &l) == 1)
        run_launch(&r, &l);
    assert_int_equal(calls, 4);
    assert_int_equal(l.id, 3);
    assert_int_equal(x_at(&r, 0), ((7 * 3 + 1) * 3 + 2) * 3 + 3);
    assert_int_equal(x_at(&r, N - 1), 7);
    r.ops->restart(r.self);
    assert_int_equal(r.ops->launch(r.self, &l), 1);
    assert_int_equal(l.id, 1);
    krig_close(&r);
}

static int bad_host(void *ud, heddle_host *h, struct heddle_launch *l)
{
    union heddle_value v;

    (void)l;
    return heddle_host_read(h, *(uint32_t *)ud, 10, &v);
}

/* A program whose host does that is refused at its launch, in these words. */
static void refused_host(heddle_host_fn *fn, void *ud, const char *words)
{
    heddle_program *p = program();
    struct krig r;
    struct hd_launch l;

    heddle_program_host(p, fn, ud, NULL, NULL, 0);
    assert_int_equal(krig_open(&r, heddle_program_workload(p), 32, 64), 0);
    heddle_program_free(p);
    assert_int_equal(r.ops->launch(r.self, &l), HEDDLE_EPROGRAM);
    assert_text(r.err.text, words);
    krig_close(&r);
}

static void test_host_errors(void **state)
{
    static const char *const words[] = {
        NULL, "index 10 of buffer f; expected less than 3",
        "buffer no, which has no contents", "uses buffer 3 of 3"};

    (void)state;
    for (uint32_t b = 1; b < 4; b++) {
        refused_host(bad_host, &b, words[b]);
    }
}

/* What a host says of bytes of a buffer, of 3 elements of 4 bytes. */
static int range_host(void *ud, heddle_host *h, struct heddle_launch *l)
{
    int what = *(int *)ud;
    struct heddle_range r = {.buffer = 1, .offset = 4, .bytes = 8};

    (void)l;
    r.bytes = what == 0 ? 0 : what == 1 ? 9 : what == 2 ? UINT64_MAX : 8;
    r.offset = what == 3 ? 12 : 4;
    r.buffer = what == 4 ? 7 : 1;
    if (what < 5)
        return heddle_host_advise_range(h, &r, HEDDLE_ADVICE_HOST, 0);
    if (what == 5)
        return heddle_host_advise_range(h, &r, 16, 0);
    if (what == 6)
        return heddle_host_advise_range(h, &r, 0, 16);
    if (what == 7)
        return heddle_host_move_range(h, &r, (enum heddle_move)4);
    if (what == 8)
        return heddle_host_allocate(h, 1);
    if (what == 9)
        return heddle_host_wait(h, 1000000001);
    heddle_host_beside(h);
    if (what == 10)
        return heddle_host_wait(h, 1000000001);
    while (heddle_host_wait(h, 1) == 0)
        ;
    return HEDDLE_EPROGRAM;
}

static void test_host_ranges(void **state)
{
    static const char *const words[] = {
        "0 bytes at offset 4 of buffer f; expected 1 or more of its 12",
        "9 bytes at offset 4 of buffer f",
        "-1 bytes at offset 4 of buffer f",
        "8 bytes at offset 12 of buffer f",
        "buffer 7, which is not in the memory",
        "advice 16",
        "advice 16 is taken back",
        "way 4",
        "allocates buffer f, which it has not freed",
        "waits for 1000000001 ns",
        "a second at most",
        "more than 1024 calls at a launch"};

    (void)state;
    for (int what = 0; what < 12; what++) {
        refused_host(range_host, &what, words[what]);
    }
}

/* ---- snapshots -------------------------------------------------------- */

struct snapshot {
    unsigned char *arena;
    size_t used;
    void *outside;
};

static struct snapshot take(struct krig *r)
{
    struct snapshot s = {malloc(r->arena.used), r->arena.used,
                         r->ops->save(r->self)};

    memcpy(s.arena, r->arena.base, s.used);
    return s;
}

static void put_back(struct krig *r, const struct snapshot *s)
{
    memset(r->arena.base, 0xa5, r->arena.used);
    memcpy(r->arena.base, s->arena, s->used);
    assert_int_equal(r->ops->load(r->self, s->outside), 0);
    assert_int_equal(r->ops->restored(r->self), 0);
}

static void drop(struct krig *r, struct snapshot *s)
{
    r->ops->drop(s->outside);
    free(s->arena);
}

/* Steps three resident blocks in a random order for `steps` instructions and
 * returns a hash of all that was handed out. */
static uint64_t wander(struct krig *r, const uint32_t *ctx, uint64_t seed,
                       int steps)
{
    struct hd_rng rng = hd_rng_make(seed, 5);
    uint64_t h = 0;

    for (int i = 0; i < steps; i++) {
        struct hd_op op;
        struct hd_access acc = {NULL, {0}, 0};
        uint32_t c = ctx[hd_rng_below(&rng, 3)], w = hd_rng_below(&rng, 2);

        r->ops->next(r->self, c, w, &op);
        if (op.kind >= HEDDLE_OP_LOAD && op.kind <= HEDDLE_OP_ATOMIC)
            r->ops->access(r->self, c, w, &acc);
        h = hd_mix64(h ^ op.kind);
        h = hd_mix64(h ^ op.mask);
        h = hd_mix64(h ^ op.pc);
        h = hd_mix64(h ^ (acc.lane != NULL ? acc.lane[3].v : acc.base.v));
    }
    return h;
}

/* x[x[tid] mod N] += tid, in a loop whose trip counts come from x. */
static void wandering_kernel(void)
{
    kasm_begin(&a, "wander", 3, 64, 1, 1);
    for (int i = 0; i < 8; i++)
        kasm_reg(&a, HD_R_INT);
    kasm(&a, HD_I_SPEC, 0, NR, NR, HEDDLE_SPECIAL_GID);
    kasm(&a, HD_I_LI, 1, NR, NR, 0);
    kasm_mem(&a, HD_I_LOAD, 0, 2, 0, NR, 0, 0, 0);
    kasm(&a, HD_I_AND, 3, 2, NR, 15);
    kasm_full(&a, HD_I_LOOP, 0, 4, 1, 3, NR, 0, 1, 1);
    kasm(&a, HD_I_MUL, 5, 4, NR, 131);
    kasm(&a, HD_I_ADD, 5, 5, 2, 0);
    kasm(&a, HD_I_AND, 5, 5, NR, N - 1);
    kasm_full(&a, HD_I_ATOM, 1, 6, 5, 0, NR, 0, 1, 0);
    kasm_alu(&a, 2, ~0u);
    kasm(&a, HD_I_AND, 6, 6, NR, N - 1);
    kasm_mem(&a, HD_I_STORE, 0, 5, 6, NR, 0, 2, 0);
    kasm(&a, HD_I_ENDLOOP, NR, NR, NR, 0);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
}

static void test_snapshot(void **state)
{
    heddle_program *p = program();
    struct krig r;
    struct hd_launch l;
    struct snapshot s, late;
    uint32_t ctx[3];
    uint64_t first, again, x[3];

    (void)state;
    wandering_kernel();
    assert_int_equal(kasm_add(&a, p), 1);
    heddle_program_launch(p, &(struct heddle_launch){.kernel = 1});
    assert_int_equal(krig_open(&r, heddle_program_workload(p), 32, 64), 0);
    heddle_program_free(p);
    assert_int_equal(r.ops->launch(r.self, &l), 1);
    for (uint32_t b = 0; b < 3; b++)
        assert_int_equal(r.ops->block_start(r.self, b, &ctx[b]), 0);
    wander(&r, ctx, 1, 60);
    s = take(&r);
    first = wander(&r, ctx, 2, 100);
    x[0] = (uint64_t)x_at(&r, 1);
    late = take(&r);
    for (int round = 0; round < 3; round++) {
        put_back(&r, &s);
        again = wander(&r, ctx, 2, 100);
        assert_int_equal(first, again);
        x[1] = (uint64_t)x_at(&r, 1);
        assert_int_equal(x[0], x[1]);
    }
    put_back(&r, &s);
    assert_int_not_equal(wander(&r, ctx, 3, 100), first);
    put_back(&r, &late);
    x[2] = (uint64_t)x_at(&r, 1);
    assert_int_equal(x[0], x[2]);
    drop(&r, &s);
    drop(&r, &late);
    krig_close(&r);
}

/* Only pages that were written are kept, and snapshots share them. */
static void test_pages(void **state)
{
    heddle_program *p = program();
    struct krig r;
    struct hd_launch l;
    struct hd_lane_engine *vm;
    struct snapshot s;

    (void)state;
    heddle_program_launch(p, &(struct heddle_launch){.args = 0});
    assert_int_equal(krig_open(&r, heddle_program_workload(p), 32, 64), 0);
    heddle_program_free(p);
    vm = r.self;
    assert_int_equal(hd_buffers_bytes(&vm->buf), 0);
    r.ops->launch(r.self, &l);
    run_launch(&r, &l);
    assert_int_equal(hd_buffers_bytes(&vm->buf), 4096);
    s = take(&r);
    assert_int_equal(x_at(&r, 2), 6);
    hd_buffer_set(&vm->buf, &vm->buf.v[0], 2, (union heddle_value){.i = 1});
    hd_buffer_set(&vm->buf, &vm->buf.v[0], N - 1, (union heddle_value){.i = 9});
    assert_int_equal(hd_buffers_bytes(&vm->buf), 8192);
    put_back(&r, &s);
    assert_int_equal(hd_buffers_bytes(&vm->buf), 4096);
    assert_int_equal(x_at(&r, 2), 6);
    assert_int_equal(x_at(&r, N - 1), 0);
    drop(&r, &s);
    krig_close(&r);
}

static void test_one_simulation_at_a_time(void **state)
{
    heddle_program *p = program();
    heddle_workload *w;
    struct krig r;

    (void)state;
    heddle_program_launch(p, &(struct heddle_launch){0});
    w = heddle_program_workload(p);
    assert_int_equal(krig_open(&r, w, 32, 64), 0);
    assert_int_equal(r.ops->bind(r.self, &r.env, 0, 32, 64), HEDDLE_EINVAL);
    assert_int_equal(heddle_program_buffer(p, "z", HEDDLE_U8, 1, 0, NULL),
                     HEDDLE_EINVAL); /* it has workloads */
    krig_close(&r);
    heddle_program_free(p);
}

static void test_wrong_programs(void **state)
{
    heddle_program *p = heddle_program_new("wrong");
    heddle_data *d = heddle_data_new(HEDDLE_I32, 8);

    (void)state;
    assert_null(heddle_program_workload(p));
    assert_text(heddle_program_error(p)->text, "no kernel");
    assert_int_equal(heddle_program_align(p, 24), HEDDLE_EINVAL);
    assert_int_equal(heddle_program_buffer(p, "z", HEDDLE_U8, 0, 0, NULL),
                     HEDDLE_EPROGRAM);
    assert_int_equal(
        heddle_program_buffer(p, "z", HEDDLE_U8, UINT64_MAX, 0, NULL),
        HEDDLE_EPROGRAM);
    assert_int_equal(heddle_program_buffer(p, "z", HEDDLE_F32, 8, 0, d),
                     HEDDLE_EPROGRAM);
    assert_int_equal(heddle_program_buffer(p, "z", HEDDLE_I32, 7, 0, d),
                     HEDDLE_EPROGRAM);
    assert_int_equal(heddle_program_launch(p, &(struct heddle_launch){0}),
                     HEDDLE_EPROGRAM);
    heddle_data_free(d);
    heddle_program_free(p);
}

/* Equal programs have equal hashes; anything that matters changes them. */
static void test_hash(void **state)
{
    uint64_t h[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        heddle_program *p = program();
        heddle_workload *w;

        heddle_program_launch(
            p, &(struct heddle_launch){.args = 1, .arg = {{i == 2}}});
        if (i == 3)
            kasm_add(&a, p);
        w = heddle_program_workload(p);
        h[i] = heddle_workload_hash(w);
        assert_string_equal(heddle_workload_name(w), "life");
        heddle_workload_free(w);
        heddle_program_free(p);
    }
    assert_int_equal(h[0], h[1]);
    assert_int_not_equal(h[0], h[2]);
    assert_int_not_equal(h[0], h[3]);
}

/* x: 1,500 elements of data, then -3 everywhere, as data or by a fill. */
static heddle_program *filled(bool fill)
{
    heddle_program *p = heddle_program_new("filled");
    heddle_data *d = heddle_data_new(HEDDLE_I32, fill ? 1500 : N);

    for (int i = 0; i < (int)d->count; i++)
        ((int32_t *)d->mem)[i] = i < 1500 ? i : -3;
    assert_int_equal(heddle_program_buffer(p, "x", HEDDLE_I32, N, 0, d), 0);
    if (fill)
        assert_int_equal(
            heddle_program_fill(p, 0, (union heddle_value){.i = -3}), 0);
    heddle_data_free(d);
    scale_kernel();
    assert_int_equal(kasm_add(&a, p), 0);
    for (int i = 0; i < 4; i++) /* in the data, at its end, behind it */
        heddle_program_launch(
            p, &(struct heddle_launch){
                   .grid = {2, 1, 1}, .args = 2, .arg = {{i * 700 + 3}, {i}}});
    return p;
}

static void test_filled(void **state)
{
    struct krig r[2];
    struct hd_launch l[2];
    uint64_t hash[2];
    unsigned char page[2][HD_PAGE_BYTES];

    (void)state;
    for (int k = 0; k < 2; k++) {
        heddle_program *p = filled(k == 1);
        heddle_workload *w = heddle_program_workload(p);

        hash[k] = heddle_workload_hash(w);
        assert_int_equal(krig_open(&r[k], w, 32, 64), 0);
        heddle_program_free(p);
    }
    assert_int_equal(hash[0], hash[1]);
    for (hd_va va = {0x7f0000000000}; va.v < 0x7f0000000000 + 4 * N;
         va.v += HD_PAGE_BYTES) {
        for (int k = 0; k < 2; k++)
            assert_true(r[k].ops->contents(r[k].self, va, page[k]));
        assert_memory_equal(page[0], page[1], HD_PAGE_BYTES);
    }
    assert_int_equal(x_at(&r[1], 1499), 1499);
    assert_int_equal(x_at(&r[1], 1500), -3);
    assert_int_equal(x_at(&r[1], N - 1), -3);
    for (int launch = 0; launch < 4; launch++) {
        for (int k = 0; k < 2; k++) {
            assert_int_equal(r[k].ops->launch(r[k].self, &l[k]), 1);
            run_launch(&r[k], &l[k]);
        }
        for (uint64_t i = 0; i < N; i++)
            assert_int_equal(x_at(&r[0], i), x_at(&r[1], i));
    }
    assert_int_equal(x_at(&r[1], 2103), -3 * 3 + 3);
    r[1].ops->restart(r[1].self);
    assert_int_equal(x_at(&r[1], 2103), -3);
    krig_close(&r[0]);
    krig_close(&r[1]);
}

/* A buffer without data, of each type; what cannot be filled. */
static void test_fills(void **state)
{
    heddle_program *p = heddle_program_new("fills");
    heddle_host h = {0};
    union heddle_value v = {0};
    struct krig r;

    (void)state;
    for (int t = 0; t < HEDDLE_TYPES; t++) {
        bool real = t == HEDDLE_F32 || t == HEDDLE_F64;

        assert_int_equal(
            heddle_program_buffer(p, "b", (enum heddle_type)t, 5000, 0, NULL),
            t);
        v.i = 201;
        if (real)
            v.f = 0.5;
        assert_int_equal(heddle_program_fill(p, t, v), 0);
    }
    assert_int_equal(heddle_program_fill(p, HEDDLE_TYPES, v), HEDDLE_EINVAL);
    assert_text(heddle_program_error(p)->text, "no buffer 7 to fill; it has 7");
    assert_int_equal(heddle_program_fill(p, -1, v), HEDDLE_EINVAL);
    kasm_begin(&a, "end", 1, 64, 1, 1);
    kasm(&a, HD_I_EXIT, NR, NR, NR, 0);
    assert_int_equal(kasm_add(&a, p), 0);
    heddle_program_launch(p, &(struct heddle_launch){0});
    assert_int_equal(krig_open(&r, heddle_program_workload(p), 32, 64), 0);
    heddle_program_free(p);
    h = (heddle_host){r.self};
    for (uint32_t t = 0; t < HEDDLE_TYPES; t++) {
        assert_int_equal(heddle_host_read(&h, t, 4999, &v), 0);
        if (t == HEDDLE_F32 || t == HEDDLE_F64)
            assert_true(v.f == 0.5);
        else
            assert_int_equal(v.i, 201);
    }
    krig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_host_errors),
        cmocka_unit_test(test_host_ranges),
        cmocka_unit_test(test_snapshot),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_one_simulation_at_a_time),
        cmocka_unit_test(test_wrong_programs),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_filled),
        cmocka_unit_test(test_fills),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
