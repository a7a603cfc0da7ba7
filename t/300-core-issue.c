/*
 * What is pinned: the core issues exactly the instructions that a naive model
 * stepped cycle by cycle issues, at the same cycles, under GTO and LRR, with
 * ALU runs, free or in groups (core.ilp, or the run's own), scoreboard waits,
 * barriers, a load/store queue and a reply port.  The naive model knows nothing
 * of events, of running ahead, or of rounds and groups in closed form.
 *
 * SPDX-License-Identifier: MIT
 */
#include "corerig.h"

enum {
    WARPS = RIG_WARPS, /* of a block */
    BLOCKS = 5,        /* of the launch */
    LATENCY = 37,      /* of the memory below the core, in cycles */
    LOG = 100000
};

/* ---- random programs ---------------------------------------------------- */

struct log {
    uint64_t cycle[LOG];
    uint32_t what[LOG]; /* block << 16 | warp << 8 | op */
    uint32_t n;
};

static struct program programs[BLOCKS][WARPS];

static struct hd_op random_op(struct hd_rng *r, uint32_t *loaded)
{
    static const uint8_t own[] = {0, 0, 0, 0, 1, 3, 255};
    struct hd_op op = {HEDDLE_OP_ALU, HD_NO_SLOT, 4, 0, 0, 1, 0, hd_ones(32)};

    switch (hd_rng_below(r, 8)) {
    case 0:
    case 1:
    case 2:
        op.kind = HEDDLE_OP_LOAD;
        op.slot = (uint8_t)hd_rng_below(r, 4);
        *loaded |= 1u << op.slot;
        return op;
    case 3:
        op.kind = HEDDLE_OP_STORE;
        break;
    default:
        op.count = 1 + hd_rng_below(r, 1 + hd_rng_below(r, 40));
        op.bytes = own[hd_rng_below(r, HD_LEN(own))];
    }
    if (hd_rng_below(r, 2))
        op.wait = *loaded & (uint32_t)hd_rng_next(r);
    return op;
}

/* In every third one warp of a block does all the work. */
static void make_programs(uint64_t seed)
{
    struct hd_rng r = hd_rng_make(seed, 300);

    for (int b = 0; b < BLOCKS; b++) {
        uint32_t parts = 1 + hd_rng_below(&r, 4); /* between barriers */
        for (int w = 0; w < WARPS; w++) {
            struct program *p = &programs[b][w];
            uint32_t loaded = 0;
            p->n = 0;
            for (uint32_t k = 0; k < parts; k++) {
                uint32_t n = hd_rng_below(&r, RIG_OPS / 4 - 2);
                if (seed % 3 == 0 && w > 0)
                    n = 0;
                for (uint32_t i = 0; i < n; i++)
                    p->op[p->n++] = random_op(&r, &loaded);
                if (k + 1 < parts) {
                    struct hd_op bar = {
                        HEDDLE_OP_BARRIER, HD_NO_SLOT, 0, 0, 0, 1, 0, hd_ones(32)};
                    p->op[p->n++] = bar;
                }
            }
            p->op[p->n++] = (struct hd_op){HEDDLE_OP_EXIT, HD_NO_SLOT, 0, 0, 0, 1,
                                           0,          hd_ones(32)};
        }
    }
}

/* ---- the engine --------------------------------------------------------- */

static void log_access(struct rig *r, uint32_t block, uint32_t w, uint32_t at,
                       struct hd_access *acc)
{
    struct log *log = r->test;

    log->cycle[log->n] = r->g.core[0].s->local / r->g.cycle;
    log->what[log->n++] = block << 16 | w << 8 | at;
    /* A line of its own: nothing merges, nothing hits. */
    acc->lane = NULL;
    acc->base.v = ((uint64_t)block << 24) + ((uint64_t)w << 16) + at * 128;
    acc->stride = 4;
}

/* What a comparison sets. */
struct how {
    const char *scheduler;
    uint32_t queue, blocks, ilp;
};

static struct rig *build(const struct how *how)
{
    char queue[16], blocks[16], ilp[16];
    const char *const set[][2] = {
        {"core.count", "1"},        {"core.lanes", "32"},
        {"core.width", "32"},       {"core.alu_latency", "9"},
        {"sim.translation", "off"}, {"l1cache.mode", "off"},
        {"l1cache.mshrs", "4096"},  {"l1cache.stores", "4096"},
        {"xbar.bytes", "32"},       {"core.scheduler", how->scheduler},
        {"core.queue", queue},      {"core.blocks", blocks},
        {"core.ilp", ilp},          {NULL, NULL},
    };
    struct programs all = {BLOCKS, WARPS, programs};
    struct rig *r;

    snprintf(queue, sizeof queue, "%u", how->queue);
    snprintf(blocks, sizeof blocks, "%u", how->blocks);
    snprintf(ilp, sizeof ilp, "%u", how->ilp);
    r = rig_build(&all, set);

    r->latency = LATENCY;
    r->access = log_access;
    r->test = calloc(1, sizeof(struct log));
    return r;
}

/* ---- the naive model ---------------------------------------------------- */

struct twin_warp {
    uint32_t block, index, at, left, used, waits;
    uint32_t group; /* instructions since it waited for the ALU latency */
    uint64_t ready, age;
    uint32_t pending;
};

struct twin_load {
    uint64_t arrives, done; /* done 0: not yet at the port */
    uint32_t warp, slot;
};

struct twin {
    bool lrr;
    uint32_t queue_room, block_room, ilp;
    struct twin_warp warp[64];
    struct twin_load load[LOG];
    uint32_t loads;
    struct {
        uint32_t warp, slot, store;
    } queue[64];
    uint32_t queued;
    uint64_t out_free, in_free, port_free, ages;
    uint32_t last, next_block, resident, live[BLOCKS], arrived[BLOCKS];
    uint64_t start[BLOCKS]; /* cycle at which a block reaches the core */
    uint32_t started, ended;
    uint64_t finish;
    struct log log;
};

static const struct hd_op *twin_op(const struct twin *t, uint32_t w)
{
    const struct twin_warp *x = &t->warp[w];

    return &programs[x->block][x->index].op[x->at];
}

static void twin_fetch(struct twin *t, uint32_t w)
{
    t->warp[w].left = twin_op(t, w)->count;
}

static void twin_blocks(struct twin *t, uint64_t cycle)
{
    while (t->started < BLOCKS && t->started < t->next_block &&
           t->start[t->started] <= cycle) {
        uint32_t b = t->started++, w = 0;
        for (uint32_t i = 0; i < WARPS; i++, w++) {
            while (t->warp[w].used)
                w++;
            t->warp[w] =
                (struct twin_warp){.block = b, .index = i, .used = 1,
                                   .ready = cycle, .age = t->ages++};
            twin_fetch(t, w);
        }
        t->live[b] = WARPS;
    }
}

static void twin_deliver(struct twin *t, uint64_t cycle)
{
    for (uint32_t i = 0; i < t->loads; i++) {
        struct twin_load *l = &t->load[i];
        if (l->done != 0 && l->done == cycle)
            t->warp[l->warp].pending &= ~(1u << l->slot);
    }
    for (uint32_t i = 0; i < t->loads; i++) {
        struct twin_load *l = &t->load[i];
        if (l->done != 0 || l->arrives != cycle)
            continue;
        l->done = (t->in_free > cycle ? t->in_free : cycle) + 4;
        t->in_free = l->done;
    }
}

static void twin_unit(struct twin *t, uint64_t cycle)
{
    uint64_t out = t->out_free > cycle ? t->out_free : cycle;

    if (!t->queue[0].store)
        t->load[t->loads++] = (struct twin_load){
            out + LATENCY + RIG_BACK, 0, t->queue[0].warp, t->queue[0].slot};
    t->out_free = out + (t->queue[0].store ? 4 : 1);
    memmove(t->queue, t->queue + 1, --t->queued * sizeof t->queue[0]);
}

static bool twin_can(const struct twin *t, uint32_t w, uint64_t cycle)
{
    const struct twin_warp *x = &t->warp[w];
    const struct hd_op *op = twin_op(t, w);
    uint32_t wait = op->wait;

    if (!x->used || x->waits || x->ready > cycle)
        return false;
    if (op->kind == HEDDLE_OP_EXIT) {
        wait = ~0u;
        for (uint32_t i = 0; i < t->queued; i++)
            if (t->queue[i].warp == w)
                return false;
    }
    if (op->slot != HD_NO_SLOT)
        wait |= 1u << op->slot;
    if ((wait & x->pending) != 0 && x->left == op->count)
        return false;
    if ((op->kind == HEDDLE_OP_LOAD || op->kind == HEDDLE_OP_STORE) &&
        t->queued >= t->queue_room)
        return false;
    return true;
}

static uint32_t twin_pick(const struct twin *t, uint64_t cycle)
{
    uint32_t best = 64;

    if (t->lrr) {
        for (uint32_t k = 1; k <= 64; k++)
            if (twin_can(t, (t->last + k) % 64, cycle))
                return (t->last + k) % 64;
        return 64;
    }
    if (t->last < 64 && twin_can(t, t->last, cycle))
        return t->last;
    for (uint32_t w = 0; w < 64; w++)
        if (twin_can(t, w, cycle) &&
            (best == 64 || t->warp[w].age < t->warp[best].age))
            best = w;
    return best;
}

/* A block goes out: it reaches the core at the next edge after RIG_BACK. */
static void twin_send_block(struct twin *t, uint64_t cycle)
{
    if (t->next_block < BLOCKS && t->resident < t->block_room) {
        t->resident++;
        t->start[t->next_block++] = cycle + RIG_BACK;
    }
}

static void twin_barrier(struct twin *t, uint32_t block, uint64_t cycle)
{
    if (t->arrived[block] == 0 || t->arrived[block] < t->live[block])
        return;
    t->arrived[block] = 0;
    for (uint32_t w = 0; w < 64; w++) {
        struct twin_warp *x = &t->warp[w];
        if (!x->used || x->block != block || !x->waits)
            continue;
        x->waits = 0;
        x->ready = cycle;
        x->at++;
        twin_fetch(t, w);
    }
}

static void twin_exit(struct twin *t, uint32_t w, uint64_t cycle)
{
    uint32_t b = t->warp[w].block;

    t->warp[w].waits = 2; /* stays until its block has gone */
    if (--t->live[b] > 0) {
        twin_barrier(t, b, cycle);
        return;
    }
    for (uint32_t i = 0; i < 64; i++)
        if (t->warp[i].used && t->warp[i].block == b)
            t->warp[i].used = 0;
    t->resident--;
    t->ended++;
    t->finish = cycle;
    twin_send_block(t, cycle);
}

static void twin_issue(struct twin *t, uint64_t cycle)
{
    uint32_t w = twin_pick(t, cycle);
    struct twin_warp *x = &t->warp[w];
    const struct hd_op *op;

    if (w == 64)
        return;
    op = twin_op(t, w);
    t->last = w;
    x->ready = cycle + 1;
    if (op->kind == HEDDLE_OP_ALU) {
        uint32_t group = op->bytes != 0 ? op->bytes : t->ilp;
        x->left--;
        x->group++;
        if (x->left > 0 && (t->ilp == 0 || x->group < group))
            return;
        x->group = 0;
        x->ready = cycle + 9;
        if (x->left > 0)
            return;
    } else if (op->kind == HEDDLE_OP_BARRIER) {
        x->waits = 1;
        t->arrived[x->block]++;
        twin_barrier(t, x->block, cycle + 1);
        return;
    } else if (op->kind == HEDDLE_OP_EXIT) {
        twin_exit(t, w, cycle + 1);
        return;
    } else {
        t->log.cycle[t->log.n] = cycle;
        t->log.what[t->log.n++] = x->block << 16 | x->index << 8 | x->at;
        t->queue[t->queued].warp = w;
        t->queue[t->queued].slot = op->slot;
        t->queue[t->queued++].store = op->kind == HEDDLE_OP_STORE;
        if (op->kind == HEDDLE_OP_LOAD)
            x->pending |= 1u << op->slot;
    }
    x->at++;
    twin_fetch(t, w);
}

static void twin_run(struct twin *t)
{
    for (uint32_t i = 0; i < t->block_room; i++)
        twin_send_block(t, 0);
    for (uint64_t cycle = 0; t->ended < BLOCKS; cycle++) {
        bool used = false;
        twin_deliver(t, cycle);
        twin_blocks(t, cycle);
        if ((used = t->queued > 0))
            twin_unit(t, cycle);
        twin_issue(t, cycle);
        if (!used && t->queued > 0)
            twin_unit(t, cycle);
    }
}

/* ---- the comparison ----------------------------------------------------- */

static void compare(const struct how *how, uint64_t seed)
{
    struct twin *t = calloc(1, sizeof *t);
    struct rig *r;
    struct log *log;
    uint64_t sum = 0;

    make_programs(seed);
    r = build(how);
    log = r->test;
    rig_run(r);
    t->lrr = strcmp(how->scheduler, "lrr") == 0;
    t->last = t->lrr ? 63 : 64;
    t->queue_room = how->queue;
    t->block_room = how->blocks;
    t->ilp = how->ilp;
    twin_run(t);
    for (uint32_t i = 0; i < log->n && i < t->log.n; i++) {
        if (log->what[i] == t->log.what[i] &&
            log->cycle[i] == t->log.cycle[i])
            continue;
        fail_msg("%s, queue %u, blocks %u, ilp %u, seed %llu: access %u is %x "
                 "at %llu in the core, %x at %llu in the naive model",
                 how->scheduler, how->queue, how->blocks, how->ilp,
                 (unsigned long long)seed, i, log->what[i],
                 (unsigned long long)log->cycle[i],
                 t->log.what[i], (unsigned long long)t->log.cycle[i]);
    }
    assert_int_equal(log->n, t->log.n);
    assert_int_equal(hd_events_now(&r->ev) / r->g.cycle, t->finish);
    hd_core_unaccounted(&r->g.core[0], hd_events_now(&r->ev),
                        r->g.core[0].count);
    for (int k = HD_CORE_T_ISSUE; k <= HD_CORE_T_IDLE; k++)
        sum += r->g.core[0].count[k];
    assert_int_equal(sum, hd_events_now(&r->ev) * r->m.core.warps);
    free(log);
    rig_close(r);
    free(t);
}

static void compare_all(const char *scheduler)
{
    static const uint32_t ilp[] = {0, 1, 2, 4, 7, 100};

    for (uint32_t i = 0; i < HD_LEN(ilp); i++)
        for (uint64_t seed = 1; seed <= 60; seed++)
            compare(&(struct how){scheduler, (uint32_t)(1 + seed % 8),
                                  (uint32_t)(1 + seed % 4), ilp[i]},
                    seed);
}

static void gto_issues_as_cycle_by_cycle(void **state)
{
    (void)state;
    compare_all("gto");
}

static void lrr_issues_as_cycle_by_cycle(void **state)
{
    (void)state;
    compare_all("lrr");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gto_issues_as_cycle_by_cycle),
        cmocka_unit_test(lrr_issues_as_cycle_by_cycle),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
