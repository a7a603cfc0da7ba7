/*
 * 454-trace-source.c - replaying a container as the cores do.
 *
 * Pinned: many blocks at once, started and ended in any order, see what each
 * sees alone; a copy of the arena put back continues at the same instruction
 * although other blocks ran in between; a relaunch repeats; a source serves
 * one simulation at a time; a block keeps its place in local memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bound.h"
#include "tracekit.h"

#include "kit/rng.h"

enum { BLOCKS = 400, WARPS = 2, SLOTS = 32, CONTEXTS = SLOTS / WARPS };

static char *alone[BLOCKS][WARPS]; /* what a warp does, as text */

/* A text trace whose blocks differ: lists, loops of their own length. */
static void write_trace(void)
{
    char path[160];
    struct hd_rng r = hd_rng_make(1, 1);

    snprintf(path, sizeof path, "%s/k.traceg", kit.dir);
    FILE *f = fopen(path, "w");
    fprintf(f,
            "-kernel name = k\n-grid dim = (%d,1,1)\n"
            "-block dim = (64,1,1)\n-accelsim tracer version = 4\n#traces\n",
            BLOCKS);
    for (unsigned b = 0; b < BLOCKS; b++) {
        fprintf(f, "#BEGIN_TB\nthread block = %u,0,0\n", b);
        for (unsigned w = 0; w < WARPS; w++) {
            unsigned n = hd_rng_below(&r, 6);
            fprintf(f, "warp = %u\ninsts = %u\n", w, n * 2 + 1);
            for (unsigned i = 0; i < n; i++) {
                fprintf(f, "0010 000000ff 1 R4 LDG.E 1 R2 4 0");
                for (unsigned l = 0; l < 8; l++)
                    fprintf(f, " 0x%x", 0x100000 + hd_rng_below(&r, 1 << 20));
                fprintf(f, " 0\n0020 ffffffff 1 R5 FADD 1 R4 0 0\n");
            }
            fprintf(f, "0030 ffffffff 0 EXIT 0 0\n");
        }
        fprintf(f, "#END_TB\n");
    }
    fclose(f);
}

/* One instruction as text, without the block's number. */
static const char *step(struct bound *b, uint32_t ctx, uint32_t warp,
                        bool *exit)
{
    struct hd_op o;

    kit.n = 0;
    b->s->ops->next(b->s->self, ctx, warp, &o);
    kit_op(&kit, b->s, ctx, 0, warp, &o);
    *exit = o.kind == HEDDLE_OP_EXIT;
    return kit.ops;
}

static void learn(struct bound *b)
{
    for (uint64_t i = 0; i < BLOCKS; i++) {
        uint32_t ctx;
        assert_int_equal(b->s->ops->block_start(b->s->self, i, &ctx), 0);
        for (uint32_t w = 0; w < WARPS; w++) {
            char *all = calloc(1, 8192);
            bool exit = false;
            while (!exit)
                strcat(all, step(b, ctx, w, &exit));
            free(alone[i][w]);
            alone[i][w] = all;
        }
        b->s->ops->block_end(b->s->self, ctx);
    }
}

struct running {
    uint64_t block;
    uint32_t ctx;
    size_t at[WARPS];
    bool used, done[WARPS];
};

/* Steps one random warp of a running block and compares. */
static bool advance(struct bound *b, struct running *x, struct hd_rng *r)
{
    uint32_t w = hd_rng_below(r, WARPS);

    if (x->done[w])
        w = 1 - w;
    const char *got = step(b, x->ctx, w, &x->done[w]);
    assert_memory_equal(alone[x->block][w] + x->at[w], got, strlen(got));
    x->at[w] += strlen(got);
    return x->done[0] && x->done[1];
}

static void start(struct bound *b, struct running *x, uint64_t block)
{
    *x = (struct running){.block = block, .used = true};
    assert_int_equal(b->s->ops->block_start(b->s->self, block, &x->ctx), 0);
    assert_true(x->ctx < CONTEXTS);
}

/* Runs n steps of whatever is resident; blocks come from *next. */
static void churn(struct bound *b, struct running run[CONTEXTS], uint64_t *next,
                  struct hd_rng *r, unsigned n)
{
    while (n-- > 0) {
        struct running *x = &run[hd_rng_below(r, CONTEXTS)];
        if (!x->used) {
            start(b, x, *next);
            *next = (*next + 1) % BLOCKS;
        } else if (advance(b, x, r)) {
            b->s->ops->block_end(b->s->self, x->ctx);
            x->used = false;
        }
    }
}

static void many_at_once(void **state)
{
    struct bound b;
    struct running run[CONTEXTS] = {0};
    struct hd_rng r = hd_rng_make(2, 2);
    uint64_t next = 0;

    (void)state;
    heddle_workload *w = kit_trace(&kit, kit_file(&kit, "k.traceg"));
    bind_to(&b, w, SLOTS);
    assert_int_equal(b.l.blocks, BLOCKS);
    churn(&b, run, &next, &r, 20000);
    /* all contexts are taken: one block more is an error, not a crash */
    for (unsigned i = 0; i < CONTEXTS; i++)
        if (!run[i].used)
            start(&b, &run[i], next++ % BLOCKS);
    uint32_t ctx;
    assert_int_equal(b.s->ops->block_start(b.s->self, 0, &ctx), HEDDLE_EINVAL);
    leave(&b);
    heddle_workload_free(w);
}

static void snapshots(void **state)
{
    struct bound b;
    struct running run[CONTEXTS] = {0}, kept[CONTEXTS];
    struct hd_rng r = hd_rng_make(3, 3);
    uint64_t next = 0, kept_next;
    char out[160];

    (void)state;
    snprintf(out, sizeof out, "%s/k.hdt", kit.dir);
    assert_int_equal(
        heddle_trace_convert(kit_file(&kit, "k.traceg"), out, kit.text, 1024),
        0);
    heddle_workload *w = kit_trace(&kit, out);
    bind_to(&b, w, SLOTS);
    for (unsigned i = 0; i < 20; i++) {
        churn(&b, run, &next, &r, 500);
        size_t n = b.arena.used;
        void *copy = malloc(n);
        memcpy(copy, b.arena.base, n);
        memcpy(kept, run, sizeof run);
        kept_next = next;
        churn(&b, run, &next, &r, 1500);
        memcpy(b.arena.base, copy, n);
        memcpy(run, kept, sizeof run);
        next = kept_next;
        assert_int_equal(b.s->ops->restored(b.s->self), 0);
        free(copy);
    }
    churn(&b, run, &next, &r, 5000);
    leave(&b);
    heddle_workload_free(w);
}

static void relaunch(void **state)
{
    struct bound b, c;

    (void)state;
    heddle_workload *w = kit_trace(&kit, kit_file(&kit, "k.traceg"));
    bind_to(&b, w, SLOTS);
    assert_int_equal(b.s->ops->launch(b.s->self, &b.l), 0);
    assert_int_equal(b.s->ops->restart(b.s->self), 0);
    assert_int_equal(b.s->ops->launch(b.s->self, &b.l), 1);
    assert_int_equal(b.l.id, 1);
    char *before = strdup(alone[BLOCKS - 1][0]);
    learn(&b);
    assert_string_equal(before, alone[BLOCKS - 1][0]);
    free(before);
    /* a second simulation must wait */
    memset(&c, 0, sizeof c);
    c.env = (struct hd_env){.arena = &c.arena, .err = &c.err, .apps = 1};
    assert_int_equal(hd_arena_open(&c.arena, 1 << 24), 0);
    assert_int_equal(b.s->ops->bind(b.s->self, &c.env, 0, 32, SLOTS),
                     HEDDLE_EINVAL);
    hd_arena_close(&c.arena);
    leave(&b);
    bind_to(&b, w, SLOTS);
    leave(&b);
    heddle_workload_free(w);
}

static int open_kit(void **state)
{
    struct bound b;

    kit_setup(state);
    write_trace();
    heddle_workload *w = kit_trace(&kit, kit_file(&kit, "k.traceg"));
    bind_to(&b, w, SLOTS);
    learn(&b);
    leave(&b);
    heddle_workload_free(w);
    return 0;
}

static int close_kit(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BLOCKS; i++) {
        for (unsigned w = 0; w < WARPS; w++)
            free(alone[i][w]);
    }
    return kit_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(snapshots),
        cmocka_unit_test(relaunch),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, open_kit, close_kit);
}
