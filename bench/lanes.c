/*
 * lanes.c - what the lane engine costs: nanoseconds a warp, an instruction it
 * hands out, and a warp instruction, without any machine behind it.
 *
 *   vecadd   when(i < n) c[i] = a[i] + b[i]; 14 instructions, 3 of memory
 *   atax1    loop over a row: A[i * n + j], x[j], 6 ALU (affine, 16 KB apart)
 *   gather   idx[i], then A[idx[i]] with real contents (32 addresses)
 *
 *   bench/lanes [warps]
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "clock.h"
#include "../t/kasm.h"

enum { BLOCK = 256, RESIDENT = 960, ROUNDS = 64 };

static heddle_workload *finish(heddle_program *p, struct kasm *a)
{
    heddle_workload *w = NULL;

    if (kasm_add(a, p) >= 0 &&
        heddle_program_launch(p, &(struct heddle_launch){0}) == 0)
        w = heddle_program_workload(p);
    if (w == NULL)
        fprintf(stderr, "%s\n", heddle_program_error(p)->text);
    heddle_program_free(p);
    return w;
}

static heddle_workload *vecadd(struct kasm *a, uint64_t n)
{
    heddle_program *p = heddle_program_new("vecadd");
    uint16_t i, c;

    for (int k = 0; k < 3; k++)
        heddle_program_buffer(p, "abc" + k, HEDDLE_F32, n, 0, NULL);
    kasm_begin(a, "vecadd", (uint32_t)(n / BLOCK), BLOCK, 1, 1);
    i = kasm_reg(a, HD_R_INT);
    c = kasm_reg(a, HD_R_BOOL);
    kasm(a, HD_I_SPEC, i, NR, NR, HEDDLE_SPECIAL_GID);
    kasm(a, HD_I_LT, c, i, NR, (int64_t)n);
    kasm_alu(a, 9, ~0u);
    kasm(a, HD_I_IF, NR, c, NR, 0);
    kasm_mem(a, HD_I_LOAD, 0, NR, i, NR, 0, 0, 0);
    kasm_mem(a, HD_I_LOAD, 1, NR, i, NR, 1, 0, 0);
    kasm_alu(a, 1, 3);
    kasm_mem(a, HD_I_STORE, 0, NR, i, NR, 2, 3, 0);
    kasm(a, HD_I_ENDIF, NR, NR, NR, 0);
    kasm(a, HD_I_EXIT, NR, NR, NR, 0);
    return finish(p, a);
}

static heddle_workload *atax(struct kasm *a, uint64_t n)
{
    heddle_program *p = heddle_program_new("atax1");
    uint16_t i, j, row, zero, end, c;

    heddle_program_buffer(p, "A", HEDDLE_F32, n * ROUNDS, 0, NULL);
    heddle_program_buffer(p, "x", HEDDLE_F32, ROUNDS, 0, NULL);
    heddle_program_buffer(p, "tmp", HEDDLE_F32, n, 0, NULL);
    kasm_begin(a, "atax1", (uint32_t)(n / BLOCK), BLOCK, 1, 1);
    i = kasm_reg(a, HD_R_INT);
    j = kasm_reg(a, HD_R_INT);
    row = kasm_reg(a, HD_R_INT);
    zero = kasm_reg(a, HD_R_INT);
    end = kasm_reg(a, HD_R_INT);
    c = kasm_reg(a, HD_R_BOOL);
    kasm(a, HD_I_LI, zero, NR, NR, 0);
    kasm(a, HD_I_LI, end, NR, NR, ROUNDS);
    kasm(a, HD_I_SPEC, i, NR, NR, HEDDLE_SPECIAL_GID);
    kasm(a, HD_I_LT, c, i, NR, (int64_t)n);
    kasm(a, HD_I_MUL, row, i, NR, ROUNDS);
    kasm(a, HD_I_IF, NR, c, NR, 0);
    kasm_full(a, HD_I_LOOP, 0, j, zero, end, NR, 0, 0, 1);
    kasm_mem(a, HD_I_LOAD, 0, NR, row, j, 0, 0, 0);
    kasm_mem(a, HD_I_LOAD, 1, NR, j, NR, 1, 0, 0);
    kasm_alu(a, 6, 3);
    kasm_mem(a, HD_I_STORE, 0, NR, i, NR, 2, 3, 0);
    kasm(a, HD_I_ENDLOOP, NR, NR, NR, 0);
    kasm(a, HD_I_ENDIF, NR, NR, NR, 0);
    kasm(a, HD_I_EXIT, NR, NR, NR, 0);
    return finish(p, a);
}

static heddle_workload *gather(struct kasm *a, uint64_t n)
{
    heddle_program *p = heddle_program_new("gather");
    heddle_data *d = heddle_data_new(HEDDLE_I32, n);
    uint16_t i, at;

    for (uint64_t k = 0; k < n; k++)
        ((int32_t *)d->mem)[k] =
            (int32_t)(k * 2654435761u % (n < 1 << 24 ? n : 1 << 24));
    heddle_program_buffer(p, "idx", HEDDLE_I32, n, 0, d);
    heddle_program_buffer(p, "A", HEDDLE_F32, n, 0, NULL);
    heddle_program_buffer(p, "out", HEDDLE_F32, n, 0, NULL);
    heddle_data_free(d);
    kasm_begin(a, "gather", (uint32_t)(n / BLOCK), BLOCK, 1, 1);
    i = kasm_reg(a, HD_R_INT);
    at = kasm_reg(a, HD_R_INT);
    kasm(a, HD_I_SPEC, i, NR, NR, HEDDLE_SPECIAL_GID);
    kasm_alu(a, 9, ~0u);
    kasm_mem(a, HD_I_LOAD, 0, at, i, NR, 0, 0, 0);
    kasm_mem(a, HD_I_LOAD, 1, NR, at, NR, 1, 1, 0);
    kasm_mem(a, HD_I_STORE, 0, NR, i, NR, 2, 2, 0);
    kasm(a, HD_I_EXIT, NR, NR, NR, 0);
    return finish(p, a);
}

struct totals {
    uint64_t warps, given, instructions, sum;
};

/* Runs one warp's next instruction; false at its end. */
static bool step(struct krig *r, uint32_t ctx, uint32_t warp, struct totals *t)
{
    struct hd_op op;
    struct hd_access acc;

    r->ops->next(r->self, ctx, warp, &op);
    t->given++;
    t->instructions += op.count;
    if (op.kind >= HEDDLE_OP_LOAD && op.kind <= HEDDLE_OP_ATOMIC) {
        r->ops->access(r->self, ctx, warp, &acc);
        t->sum += acc.base.v + (uint64_t)acc.stride;
    }
    return op.kind != HEDDLE_OP_EXIT;
}

/* As many blocks resident as a machine holds, their warps taking turns, so
 * that warp state comes from the caches it would come from. */
static void run(struct krig *r, struct totals *t)
{
    struct hd_launch l;

    while (r->ops->launch(r->self, &l) == 1) {
        uint32_t most = RESIDENT / l.warps, ctx[RESIDENT];

        for (uint64_t b = 0; b < l.blocks; b += most) {
            uint32_t n = (uint32_t)hd_min_u64(most, l.blocks - b);
            bool more = true;

            for (uint32_t k = 0; k < n; k++)
                r->ops->block_start(r->self, b + k, &ctx[k]);
            while (more) {
                more = false;
                for (uint32_t k = 0; k < n; k++)
                    for (uint32_t w = 0; w < l.warps; w++)
                        more |= step(r, ctx[k], w, t);
            }
            for (uint32_t k = 0; k < n; k++)
                r->ops->block_end(r->self, ctx[k]);
        }
        t->warps += l.blocks * l.warps;
    }
}

static void measure(const char *name, heddle_workload *w)
{
    struct krig r;
    struct totals t = {0};
    double best = 1e30;

    if (w == NULL || krig_open(&r, w, 32, RESIDENT) != 0)
        return;
    for (int k = 0; k < 3; k++) {
        double t0 = cpu_ns();

        memset(&t, 0, sizeof(t));
        run(&r, &t);
        t0 = cpu_ns() - t0;
        best = t0 < best ? t0 : best;
        r.ops->restart(r.self);
    }
    if (r.err.code != 0)
        printf("%s: %s\n", name, r.err.text);
    printf("%-8s %8.1f ns a warp %6.1f ns a hand-out %6.2f ns a warp "
           "instruction  (%llu)\n",
           name, best / (double)t.warps, best / (double)t.given,
           best / (double)t.instructions, (unsigned long long)(t.sum & 7));
    krig_close(&r);
}

int main(int argc, char **argv)
{
    static struct kasm a;
    uint64_t warps = argc > 1 ? strtoull(argv[1], NULL, 10) : 131072;

    measure("vecadd", vecadd(&a, warps * 32));
    measure("atax1", atax(&a, warps));
    measure("gather", gather(&a, warps * 32));
    return 0;
}
