/*
 * 403-vm-twin.c - the lane engine against an interpreter that runs lane by
 * lane: random programs with every instruction, nested and divergent control
 * flow, contents, atomics and early exits.  Masks, addresses, the number of
 * ALU instructions and threads between memory instructions, and the contents
 * of all buffers at the end must be equal.  kernel-random.h draws the programs,
 * kernel-twin.h is the interpreter.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "kernel-twin.h"

enum { PROGRAMS = 600 };

/* ---- the engine ------------------------------------------------------- */

/* Other warps have their turn: what was in passing is gone. */
static void others(struct krig *r)
{
    struct hd_kvm *vm = r->self;

    memset(vm->passing, 0x5a,
           (vm->k->npass + vm->k->pint) * vm->lanes * sizeof(*vm->passing));
}

/* What the engine had to do with, summed over all programs. */
static struct {
    uint64_t passing, narrow, wide; /* vectors */
} seen;

static void see(struct krig *r, uint32_t ctx, uint32_t warp)
{
    struct hd_kvm_at at = hd_kvm_find(r->self, ctx, warp);

    for (uint32_t reg = 0; reg < at.k->nreg; reg++) {
        seen.narrow +=
            at.k->type[reg] == HD_R_INT && at.w->tag[reg] == HD_VECTOR;
        seen.wide += at.w->tag[reg] == HD_WIDE;
    }
}

static void engine_warp(struct krig *r, uint32_t ctx, uint32_t warp,
                        struct log *log)
{
    struct hd_op op;
    struct hd_access acc;
    uint64_t addr[64];

    log->n = 0;
    log->alu = log->threads = 0;
    do {
        others(r);
        r->ops->next(r->self, ctx, warp, &op);
        if (op.kind == HD_OP_ALU) {
            assert_true(op.count > 0);
            log->alu += op.count;
            log->threads += (uint64_t)op.count * hd_bit_count(op.mask);
            continue;
        }
        if (op.kind == HD_OP_BARRIER || op.kind == HD_OP_EXIT) {
            log_event(log, op.kind, op.mask, NULL);
            continue;
        }
        assert_true(op.mask != 0);
        others(r);
        r->ops->access(r->self, ctx, warp, &acc);
        for (uint32_t l = 0; l < 64; l++)
            addr[l] = !(op.mask >> l & 1) ? 0
                      : acc.lane != NULL
                          ? acc.lane[l].v
                          : acc.base.v + (uint64_t)acc.stride * l;
        log_event(log, op.kind, op.mask, addr);
    } while (op.kind != HD_OP_EXIT && r->err.code == 0);
    see(r, ctx, warp);
}

static void compare_logs(const struct log *a, const struct log *b,
                         uint64_t seed, uint32_t block, uint32_t warp)
{
    int n = a->n < b->n ? a->n : b->n;

    for (int i = 0; i < n; i++)
        if (memcmp(&a->v[i], &b->v[i], sizeof(a->v[i])) != 0)
            fail_msg("seed %llu, block %u, warp %u, event %d: engine kind "
                     "%llu mask %llx alu %llu, twin kind %llu mask %llx alu "
                     "%llu",
                     (unsigned long long)seed, block, warp, i,
                     (unsigned long long)a->v[i].kind,
                     (unsigned long long)a->v[i].mask,
                     (unsigned long long)a->v[i].alu,
                     (unsigned long long)b->v[i].kind,
                     (unsigned long long)b->v[i].mask,
                     (unsigned long long)b->v[i].alu);
    if (a->n != b->n)
        fail_msg("seed %llu, block %u, warp %u: %d events, twin %d",
                 (unsigned long long)seed, block, warp, a->n, b->n);
}

/* ---- one program ------------------------------------------------------ */

static heddle_program *build(struct kasm *a, uint64_t seed)
{
    heddle_program *p = heddle_program_new("random");

    for (uint32_t b = 0; b < BUFFERS; b++) {
        uint64_t n = b == B_BIG ? 1u << 21 : COUNT, given = n - seed % 2 * 100;
        heddle_data *d = NULL;

        if (b != B_BIG) {
            struct hd_rng rng = hd_rng_make(seed, b);

            d = heddle_data_new((enum heddle_type)types[b], given);
            for (uint64_t i = 0; i < given; i++) {
                union heddle_value v = {.i = (int64_t)hd_rng_next(&rng) >>
                                             (i % 60)};

                if (value_type(b) != HD_R_INT)
                    v.f = (double)(v.i >> 40) / 8;
                hd_element_set(
                    types[b],
                    (unsigned char *)d->mem +
                        i * heddle_type_bytes((enum heddle_type)types[b]),
                    v);
            }
        }
        assert_int_equal(
            heddle_program_buffer(p, "b", (enum heddle_type)types[b], n, 0, d),
            b);
        heddle_data_free(d);
    }
    generate(a, seed);
    if (kasm_add(a, p) < 0)
        fail_msg("seed %llu: %s", (unsigned long long)seed,
                 heddle_program_error(p));
    heddle_program_launch(p, &(struct heddle_launch){0});
    return p;
}

/* The contents that the engine has, through the host's view. */
static void compare_contents(struct krig *r, struct twin *t, uint64_t seed)
{
    struct hd_kvm *vm = r->self;

    for (uint32_t b = 0; b < BUFFERS; b++) {
        const struct hd_bufdef *f = &t->p->buf[b];

        for (uint64_t i = 0; f->contents && i < f->count; i++) {
            union heddle_value v = hd_buffer_get(&vm->buf.v[b], i);
            union heddle_value w =
                hd_element_get(f->type, t->mem[b] + (i << f->shift));

            if (v.i != w.i)
                fail_msg("seed %llu: buffer %u[%llu] is %llx, twin %llx",
                         (unsigned long long)seed, b, (unsigned long long)i,
                         (unsigned long long)v.i, (unsigned long long)w.i);
        }
        free(t->mem[b]);
    }
}

static int one_program(struct kasm *a, struct twin *t, struct log *log,
                       uint64_t seed, uint32_t lanes)
{
    heddle_program *p = build(a, seed);
    struct krig r;
    struct hd_launch l;
    int events = 0;

    seen.passing += p->kernel[0].npass;
    twin_open(t, p, lanes);
    assert_int_equal(krig_open(&r, heddle_program_workload(p), lanes, 64), 0);
    assert_int_equal(r.ops->launch(r.self, &l), 1);
    assert_int_equal(l.warps, (t->k->threads + lanes - 1) / lanes);
    for (uint32_t b = 0; b < l.blocks; b++) {
        uint32_t ctx;

        assert_int_equal(r.ops->block_start(r.self, b, &ctx), 0);
        for (uint32_t w = 0; w < l.warps; w++) {
            uint32_t left = t->k->threads - w * lanes;

            t->block = b;
            t->warp = w;
            engine_warp(&r, ctx, w, log);
            if (r.err.code != 0)
                fail_msg("seed %llu: %s", (unsigned long long)seed, r.err.text);
            twin_warp(t, hd_ones(left < lanes ? left : lanes));
            compare_logs(log, &t->log, seed, b, w);
            events += log->n;
        }
        r.ops->block_end(r.self, ctx);
    }
    compare_contents(&r, t, seed);
    krig_close(&r);
    heddle_program_free(p);
    return events;
}

static void run_all(uint32_t lanes)
{
    struct kasm *a = malloc(sizeof(*a));
    struct twin *t = calloc(1, sizeof(*t));
    struct log log = {.v = calloc(EVENTS, sizeof(struct event))};
    long events = 0;

    memset(&seen, 0, sizeof(seen));
    t->log.v = calloc(EVENTS, sizeof(struct event));
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
        events += one_program(a, t, &log, seed, lanes);
    assert_true(events > PROGRAMS * 100); /* the generator does something */
    assert_true(seen.passing > PROGRAMS); /* vectors that live in one run */
    assert_true(seen.narrow > PROGRAMS);  /* ints of 32 bits a lane, */
    assert_true(seen.wide > PROGRAMS);    /* and of 64 */
    free(log.v);
    free(t->log.v);
    free(t);
    free(a);
}

static void test_32(void **state)
{
    (void)state;
    run_all(32);
}

static void test_64(void **state)
{
    (void)state;
    run_all(64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_32),
        cmocka_unit_test(test_64),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
