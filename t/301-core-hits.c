/*
 * What is pinned: l1tlb.blocking=hits (Pichai et al. 6.3).  Hits pass misses,
 * however many wait; one instruction a core owns the walks, with all its
 * missing pages, and its hits go on; a miss of a page in flight joins it; other
 * misses park in order of arrival and are looked up again, at the very cycle in
 * which the owner's last translation comes and the port is free, not before; a
 * parking room that is full stops the head and is counted.  Stores and atomics
 * are as loads.  And l1tlb.overlap: pages that are looked up with their lines,
 * as many a cycle as there are ports ahead of them, or all of them before any
 * line.  Then random programs on tiny TLBs: every walk and every line
 * leaves the core at the cycle at which a naive model, stepped cycle by cycle
 * and with the rule written down as it is said, has it; and all is counted
 * alike.
 *
 * SPDX-License-Identifier: MIT
 */
#include "corerig.h"

enum {
    LATENCY = 400, /* of the memory below the core, in cycles */
    LINES = 32,    /* of a page, and most of an instruction */
    BLOCKS = 3,
    LOG = 20000
};

/* What an instruction touches, in order, a lane each. */
struct touch {
    uint32_t n;
    uint32_t line[LINES]; /* its number: LINES of a page */
};

struct event {
    uint64_t cycle;
    uint64_t what; /* page of a walk, physical line of a request */
};

struct log {
    struct event walk[LOG], line[LOG], enter[LOG];
    uint32_t walks, lines, enters;
};

struct test {
    struct program program[BLOCKS][RIG_WARPS];
    struct touch touch[BLOCKS][RIG_WARPS][RIG_OPS];
    struct log log;
    uint32_t walk; /* cycles of each; 0: it depends */
    hd_va lane[LINES];
};

/* ---- the engine ---------------------------------------------------------- */

static void on_access(struct rig *r, uint32_t block, uint32_t w, uint32_t at,
                      struct hd_access *acc)
{
    struct test *t = r->test;
    const struct touch *x = &t->touch[block][w][at];

    t->log.enter[t->log.enters++] =
        (struct event){r->g.core[0].s->local / r->g.cycle,
                       (uint64_t)block << 16 | w << 8 | at};
    for (uint32_t i = 0; i < x->n; i++)
        t->lane[i].v = (uint64_t)x->line[i] * 128;
    acc->lane = t->lane;
}

static void on_line(struct rig *r, const struct hd_req *q)
{
    struct test *t = r->test;

    assert_true(t->log.lines < LOG);
    t->log.line[t->log.lines++] =
        (struct event){q->born / r->g.cycle, q->pa.v / 128};
}

/* How long the walk of a page takes that leaves at this cycle. */
static uint32_t walk_cycles(const struct test *t, uint64_t vpn, uint64_t cycle)
{
    return t->walk != 0
               ? t->walk
               : 1 + (uint32_t)(hd_mix64(vpn * 31 + cycle * 7919) % 70);
}

static uint32_t on_walk(struct rig *r, const struct hd_treq *q)
{
    struct test *t = r->test;
    uint64_t cycle = q->born / r->g.cycle;

    assert_true(t->log.walks < LOG);
    t->log.walk[t->log.walks++] = (struct event){cycle, q->vpn.v};
    return walk_cycles(t, q->vpn.v, cycle);
}

/* The machine of a case. */
struct machine {
    const char *blocking, *entries, *ports, *mshrs, *parked, *queue, *latency;
    const char *atomics; /* translated: 0 or 1 */
    const char *overlap;
};

static struct rig *run(struct test *t, const struct machine *m, uint32_t blocks)
{
    const char *const set[][2] = {
        {"core.count", "1"},
        {"core.lanes", "32"},
        {"core.width", "32"},
        {"core.alu_latency", "1"},
        {"core.blocks", "2"},
        {"core.queue", m->queue},
        {"core.parked", m->parked},
        {"l1tlb.blocking", m->blocking},
        {"l1tlb.entries", m->entries},
        {"l1tlb.ports", m->ports},
        {"l1tlb.mshrs", m->mshrs},
        {"l1tlb.latency", m->latency},
        {"l1tlb.overlap", m->overlap},
        {"core.translate_atomics", m->atomics},
        {"l1cache.mode", "off"},
        {"l1cache.mshrs", "4096"},
        {"l1cache.stores", "4096"},
        {"xbar.bytes", "32"},
        {NULL, NULL},
    };
    struct programs all = {blocks, RIG_WARPS, t->program};
    struct rig *r = rig_build(&all, set);

    r->latency = LATENCY;
    r->access = on_access;
    r->sent = on_line;
    r->walked = on_walk;
    r->test = t;
    rig_run(r);
    return r;
}

static uint64_t frame(struct rig *r, uint64_t vpn)
{
    struct hd_xlate x;

    assert_true(hd_ptables_find(r->g.tables, 0, (hd_vpn){vpn}, &x));
    return hd_xlate_frame(&x, (hd_vpn){vpn}).v;
}

/* The cycle at which a line left for memory, or 0. */
static uint64_t left(struct rig *r, uint32_t line)
{
    const struct test *t = r->test;
    uint64_t pa = frame(r, line / LINES) * LINES + line % LINES;

    for (uint32_t i = 0; i < t->log.lines; i++)
        if (t->log.line[i].what == pa)
            return t->log.line[i].cycle;
    return 0;
}

/* The cycle at which the i-th walk of a page left for below. */
static uint64_t walked(const struct rig *r, uint32_t vpn, uint32_t i)
{
    const struct test *t = r->test;

    for (uint32_t k = 0; k < t->log.walks; k++)
        if (t->log.walk[k].what == vpn && i-- == 0)
            return t->log.walk[k].cycle;
    return 0;
}

/* ---- programs ------------------------------------------------------------ */

static void add(struct test *t, uint32_t block, uint32_t w, struct hd_op op)
{
    struct program *p = &t->program[block][w];

    assert_true(p->n < RIG_OPS);
    p->op[p->n++] = op;
}

/* A load (with a slot), store or atomic of these lines. */
static void add_memory(struct test *t, uint32_t block, uint32_t w,
                       uint32_t kind, uint32_t n, const uint32_t *line)
{
    struct program *p = &t->program[block][w];
    struct touch *x = &t->touch[block][w][p->n];

    x->n = n;
    memcpy(x->line, line, n * sizeof *line);
    add(t, block, w,
        (struct hd_op){(uint8_t)kind,
                       kind == HEDDLE_OP_LOAD ? (uint8_t)(p->n % 32) : HD_NO_SLOT,
                       4, 0, 0, 1, 0, hd_ones(n)});
}

/* Exits, and all warps that have nothing to do, too. */
static void add_exits(struct test *t, uint32_t blocks)
{
    for (uint32_t b = 0; b < blocks; b++)
        for (uint32_t w = 0; w < RIG_WARPS; w++)
            add(t, b, w,
                (struct hd_op){HEDDLE_OP_EXIT, HD_NO_SLOT, 0, 0, 0, 1, 0,
                               hd_ones(32)});
}

/* Directed cases: warp 0 brings some pages, then all begin at once, in order of
 * warps. */
static struct test *scene(uint32_t pages)
{
    struct test *t = calloc(1, sizeof *t);

    t->walk = 100;
    for (uint32_t i = 0; i < pages; i++) {
        uint32_t line = i * LINES + LINES - 1;
        add_memory(t, 0, 0, HEDDLE_OP_LOAD, 1, &line);
    }
    for (uint32_t w = 0; w < RIG_WARPS; w++)
        add(t, 0, w,
            (struct hd_op){HEDDLE_OP_BARRIER, HD_NO_SLOT, 0, 0, ~0u, 1, 0,
                           hd_ones(32)});
    return t;
}

#define TOUCH(t, w, kind, ...)                                                 \
    add_memory(t, 0, w, kind, sizeof((uint32_t[]){__VA_ARGS__}) / 4,           \
               (const uint32_t[]){__VA_ARGS__})

static const struct machine plain = {"hits", "8",  "1", "32",
                                     "64",   "16", "1", "1", "line"};

/* Of a page: its i-th line. */
#define PAGE(p, i) ((p)*LINES + (i))

static uint64_t tlb_count(const struct rig *r, enum hd_l1tlb_counter what)
{
    return r->g.core[0].tlb_count[what];
}

static void end(struct rig *r)
{
    free(r->test);
    rig_close(r);
}

/* ---- the rule, to the cycle ---------------------------------------------- */

enum { WALK = 100 + RIG_BACK };

/* Warps 0 and 1 miss, and so does 2; warp 3 hits: it leaves two cycles behind
 * warp 1, for which the unit takes one.  Warp 1 walks when warp 0's answer is
 * there, warp 2 when warp 1's is. */
static void hits_pass_all_that_miss(void **state)
{
    struct test *t = scene(1);
    struct rig *r;
    uint64_t first;

    (void)state;
    TOUCH(t, 0, HEDDLE_OP_LOAD, PAGE(1, 0));
    TOUCH(t, 1, HEDDLE_OP_STORE, PAGE(2, 0));
    TOUCH(t, 2, HEDDLE_OP_ATOMIC, PAGE(3, 0));
    TOUCH(t, 3, HEDDLE_OP_LOAD, PAGE(0, 0));
    add_exits(t, 1);
    r = run(t, &plain, 1);
    first = walked(r, 1, 0);
    assert_int_equal(left(r, PAGE(0, 0)), first + 3);
    assert_int_equal(left(r, PAGE(1, 0)), first + WALK);
    assert_int_equal(walked(r, 2, 0), first + WALK + 1); /* a look-up later */
    assert_int_equal(left(r, PAGE(2, 0)), walked(r, 2, 0) + WALK);
    assert_int_equal(walked(r, 3, 0), walked(r, 2, 0) + WALK + 1);
    assert_int_equal(left(r, PAGE(3, 0)), walked(r, 3, 0) + WALK);
    assert_int_equal(tlb_count(r, HD_L1TLB_PARKED), 2);
    assert_int_equal(tlb_count(r, HD_L1TLB_PARKED_HITS), 0);
    assert_int_equal(tlb_count(r, HD_L1TLB_MISSES), 4);
    end(r);
}

/* Where misses pass, too, or nothing does: then the head goes on
 * behind the line that was answered, which takes the L1's port first. */
static void other_readings(void **state)
{
    static const struct {
        const char *blocking;
        uint64_t second, hit; /* after the first walk */
    } want[] = {{"none", 1, 2},
                {"hits", WALK + 1, 2},
                {"full", WALK + 2, WALK + 2 + WALK + 2}};

    (void)state;
    for (size_t i = 0; i < HD_LEN(want); i++) {
        struct machine m = plain;
        struct test *t = scene(1);
        struct rig *r;
        m.blocking = want[i].blocking;
        TOUCH(t, 0, HEDDLE_OP_LOAD, PAGE(1, 0));
        TOUCH(t, 1, HEDDLE_OP_LOAD, PAGE(2, 0));
        TOUCH(t, 2, HEDDLE_OP_LOAD, PAGE(0, 0));
        add_exits(t, 1);
        r = run(t, &m, 1);
        assert_int_equal(walked(r, 2, 0), walked(r, 1, 0) + want[i].second);
        assert_int_equal(left(r, PAGE(0, 0)), walked(r, 1, 0) + want[i].hit);
        end(r);
    }
}

/* An atomic that is not translated passes as a hit does, and as a hit it waits
 * where nothing passes; no TLB knows of it. */
static void atomics_as_they_are(void **state)
{
    static const struct {
        const char *blocking;
        uint64_t after; /* the first walk */
    } want[] = {{"none", 1}, {"hits", 1}, {"full", WALK + 2}};

    (void)state;
    for (size_t i = 0; i < HD_LEN(want); i++) {
        struct machine m = plain;
        struct test *t = scene(0);
        struct rig *r;
        m.blocking = want[i].blocking;
        m.atomics = "0";
        TOUCH(t, 0, HEDDLE_OP_LOAD, PAGE(1, 0));
        TOUCH(t, 1, HEDDLE_OP_ATOMIC, PAGE(2, 0));
        add_exits(t, 1);
        r = run(t, &m, 1);
        assert_int_equal(left(r, PAGE(2, 0)), walked(r, 1, 0) + want[i].after);
        assert_int_equal(walked(r, 2, 0), 0);
        assert_int_equal(tlb_count(r, HD_L1TLB_LOOKUPS), 1);
        assert_int_equal(tlb_count(r, HD_L1TLB_DIRECT), 1);
        end(r);
    }
}

/* Walk reads that leave by the core's port (walk.port=core): a flit each, at
 * once or behind those before, and what waits for the port does so longer. */
static void left_at(void *self, hd_time now, uint32_t req)
{
    (void)req;
    *(hd_time *)self = now;
}

static void walk_reads_leave_first(void **state)
{
    static const struct {
        uint64_t t, leaves, port; /* cycles: comes, leaves; the port is free */
    } want[] = {{50, 50, 101},   {50, 51, 102},   {52, 52, 103},
                {103, 103, 104}, {103, 104, 105}, {200, 200, 201}};
    struct test *t = scene(0);
    struct rig *r;
    struct hd_core *c;
    hd_time at;

    (void)state;
    add_exits(t, 1);
    r = run(t, &plain, 1);
    c = &r->g.core[0];
    c->s->out_free = 100 * r->g.cycle; /* so many flits wait from 0 on */
    r->g.memory = (struct hd_below){left_at, &at, NULL};
    for (size_t i = 0; i < HD_LEN(want); i++) {
        hd_l1d_walk_read(c, hd_req_take(&r->reqs), want[i].t * r->g.cycle);
        assert_int_equal(at, want[i].leaves * r->g.cycle);
        assert_int_equal(c->s->out_free, want[i].port * r->g.cycle);
    }
    end(r);
}

/* Three instructions of shared memory pass the unit, a cycle each, or wait for
 * another warp's miss; what follows waits for the last of them. */
static void shared_memory_in_the_unit(void **state)
{
    static const struct {
        const char *blocking;
        uint64_t after; /* the first walk: the store behind them */
    } want[] = {{"none", 4}, {"hits", 4}, {"full", WALK + 5}};

    (void)state;
    for (size_t i = 0; i < HD_LEN(want); i++) {
        struct machine m = plain;
        struct test *t = scene(1);
        struct rig *r;
        m.blocking = want[i].blocking;
        TOUCH(t, 0, HEDDLE_OP_LOAD, PAGE(1, 0));
        add(t, 0, 1,
            (struct hd_op){HD_OP_SHARED, HD_NO_SLOT, 0, 0, 0, 3, 0,
                           hd_ones(32)});
        TOUCH(t, 1, HEDDLE_OP_STORE, PAGE(0, 0));
        add_exits(t, 1);
        r = run(t, &m, 1);
        assert_int_equal(left(r, PAGE(0, 0)), walked(r, 1, 0) + want[i].after);
        end(r);
    }
}

/* Warp 0 walks three pages at once and its hits go on between them.  Warp 1
 * walks two when the last of those has come, a look-up a cycle. */
static void one_instruction_owns(void **state)
{
    struct test *t = scene(1);
    struct rig *r;
    uint64_t first;

    (void)state;
    TOUCH(t, 0, HEDDLE_OP_LOAD, PAGE(1, 0), PAGE(0, 0), PAGE(2, 0), PAGE(2, 1),
          PAGE(0, 1), PAGE(3, 0));
    TOUCH(t, 1, HEDDLE_OP_LOAD, PAGE(4, 0), PAGE(5, 0), PAGE(4, 1));
    add_exits(t, 1);
    r = run(t, &plain, 1);
    first = walked(r, 1, 0);
    assert_int_equal(left(r, PAGE(0, 0)), first + 1);
    assert_int_equal(walked(r, 2, 0), first + 2);
    assert_int_equal(left(r, PAGE(0, 1)), first + 4);
    assert_int_equal(walked(r, 3, 0), first + 5);
    assert_int_equal(left(r, PAGE(1, 0)), first + WALK);
    assert_int_equal(left(r, PAGE(3, 0)), first + 5 + WALK);
    assert_int_equal(walked(r, 4, 0), first + 5 + WALK + 1);
    assert_int_equal(walked(r, 5, 0), first + 5 + WALK + 2);
    assert_int_equal(left(r, PAGE(4, 0)), walked(r, 4, 0) + WALK);
    assert_int_equal(left(r, PAGE(4, 1)), walked(r, 4, 0) + WALK + 1);
    assert_int_equal(left(r, PAGE(5, 0)), walked(r, 5, 0) + WALK + 1);
    assert_int_equal(tlb_count(r, HD_L1TLB_PARKED), 2); /* pages */
    end(r);
}

/* With one MSHR the owner's pages follow one another, before other's. */
static void an_owner_without_mshrs(void **state)
{
    struct machine m = plain;
    struct test *t = scene(1);
    struct rig *r;

    (void)state;
    m.mshrs = "1";
    TOUCH(t, 0, HEDDLE_OP_LOAD, PAGE(1, 0), PAGE(2, 0), PAGE(0, 0));
    TOUCH(t, 1, HEDDLE_OP_LOAD, PAGE(3, 0));
    add_exits(t, 1);
    r = run(t, &m, 1);
    assert_int_equal(left(r, PAGE(0, 0)), walked(r, 1, 0) + 2);
    assert_int_equal(walked(r, 2, 0), walked(r, 1, 0) + WALK + 1);
    assert_int_equal(walked(r, 3, 0), walked(r, 2, 0) + WALK + 1);
    end(r);
}

/* Warp 2's page is in flight, as warp 0's: it joins.  Warp 3's was parked by
 * warp 1: it parks behind it, and hits when it is looked up again, which is
 * when warp 1's answer is there; and so it owns nothing, and warp 4 walks a
 * cycle later. */
static void joins_and_looks_again(void **state)
{
    struct test *t = scene(1);
    struct rig *r;
    uint64_t first, second;

    (void)state;
    TOUCH(t, 0, HEDDLE_OP_LOAD, PAGE(1, 0));
    TOUCH(t, 1, HEDDLE_OP_LOAD, PAGE(2, 0));
    TOUCH(t, 2, HEDDLE_OP_LOAD, PAGE(1, 1));
    TOUCH(t, 3, HEDDLE_OP_LOAD, PAGE(2, 1));
    TOUCH(t, 4, HEDDLE_OP_LOAD, PAGE(3, 0));
    add_exits(t, 1);
    r = run(t, &plain, 1);
    first = walked(r, 1, 0);
    assert_int_equal(left(r, PAGE(1, 0)), first + WALK);
    assert_int_equal(left(r, PAGE(1, 1)), first + WALK + 1);
    second = walked(r, 2, 0);
    assert_int_equal(second, first + WALK + 1);
    assert_int_equal(left(r, PAGE(2, 0)), second + WALK);
    /* its look-up, and no walk; the L1's port was taken for a cycle */
    assert_int_equal(left(r, PAGE(2, 1)), second + WALK + 2);
    assert_int_equal(walked(r, 3, 0), second + WALK + 2);
    assert_int_equal(tlb_count(r, HD_L1TLB_MERGES), 1);
    assert_int_equal(tlb_count(r, HD_L1TLB_PARKED), 3);
    assert_int_equal(tlb_count(r, HD_L1TLB_PARKED_HITS), 1);
    end(r);
}

/* 64 lines have room: 32 of the owner, 31 that park, one more; then the head
 * waits, and the hit behind it, until the first of the owner's lines has gone.
 */
static void a_full_room_stops_the_head(void **state)
{
    for (uint32_t more = 0; more < 2; more++) {
        struct test *t = scene(1);
        struct rig *r;
        uint32_t line[LINES];
        (void)state;
        for (uint32_t i = 0; i < LINES; i++)
            line[i] = PAGE(1, i);
        add_memory(t, 0, 0, HEDDLE_OP_LOAD, LINES, line);
        for (uint32_t i = 0; i < LINES; i++)
            line[i] = PAGE(2, i);
        add_memory(t, 0, 1, HEDDLE_OP_LOAD, LINES - 1 + more, line);
        TOUCH(t, 2, HEDDLE_OP_LOAD, PAGE(3, 0));
        TOUCH(t, 3, HEDDLE_OP_LOAD, PAGE(0, 0));
        add_exits(t, 1);
        r = run(t, &plain, 1);
        assert_int_equal(tlb_count(r, HD_L1TLB_PARKED_FULL), more);
        if (more == 0)
            assert_int_equal(left(r, PAGE(0, 0)),
                             walked(r, 1, 0) + 32 + 31 + 1);
        else /* behind all that goes on with page 1: it has precedence */
            assert_int_equal(left(r, PAGE(0, 0)),
                             walked(r, 1, 0) + WALK + LINES + 2);
        end(r);
    }
}

/* Warps 0 and 1 fill the room with lines of two pages.  Warp 2's miss is to
 * park, and finds none; when it does there is nobody left to wait for, and it
 * is looked up again at once: behind 64 lines that go on. */
static void parks_when_all_are_gone(void **state)
{
    struct test *t = scene(0);
    struct rig *r;
    uint32_t line[LINES];

    (void)state;
    for (uint32_t w = 0; w < 2; w++) {
        for (uint32_t i = 0; i < LINES; i++)
            line[i] = PAGE(1 + i / 16, i % 16 + 16 * w);
        add_memory(t, 0, w, HEDDLE_OP_LOAD, LINES, line);
    }
    TOUCH(t, 2, HEDDLE_OP_LOAD, PAGE(3, 0));
    add_exits(t, 1);
    r = run(t, &plain, 1);
    assert_int_equal(tlb_count(r, HD_L1TLB_PARKED_FULL), 1);
    assert_int_equal(tlb_count(r, HD_L1TLB_PARKED), 1);
    assert_int_equal(walked(r, 3, 0), walked(r, 1, 0) + WALK + 64 + 1);
    end(r);
}

/* Warp 0 touches seven lines of page 0 and one of six others, warp 1 another of
 * page 0.  Looked up with its first line a page is known when its turn comes,
 * whatever the ports.  Looked up ahead, a missing one is missed as soon as the
 * ports have come to it, and lines go on.  Without overlap the lines follow the
 * last look-up if all hit; if the last page is missing its answer, in a row, and
 * warp 1's passes as soon as there is a port for it. */
static void pages_before_lines(void **state)
{
    static const struct {
        const char *overlap, *ports;
        uint64_t n, last; /* the ports; the last look-up, from the first on */
    } want[] = {{"line", "1", 1, 12}, {"line", "4", 4, 12}, {"ahead", "1", 1, 6},
                {"ahead", "2", 2, 3}, {"ahead", "3", 3, 2}, {"ahead", "7", 7, 0},
                {"off", "1", 1, 6},   {"off", "2", 2, 3},   {"off", "4", 4, 1},
                {"off", "7", 7, 0}};

    (void)state;
    for (size_t i = 0; i < 2 * HD_LEN(want); i++) {
        bool missing = i % 2, off = want[i / 2].overlap[0] == 'o';
        uint64_t last = want[i / 2].last, first, miss, enters;
        struct machine m = plain;
        struct test *t = scene(missing ? 6 : 7);
        struct rig *r;
        m.overlap = want[i / 2].overlap;
        m.ports = want[i / 2].ports;
        TOUCH(t, 0, HEDDLE_OP_LOAD, PAGE(0, 0), PAGE(0, 1), PAGE(0, 2), PAGE(0, 3),
              PAGE(0, 4), PAGE(0, 5), PAGE(0, 6), PAGE(1, 0), PAGE(2, 0),
              PAGE(3, 0), PAGE(4, 0), PAGE(5, 0), PAGE(6, 0));
        TOUCH(t, 1, HEDDLE_OP_LOAD, PAGE(0, 7));
        add_exits(t, 1);
        r = run(t, &m, 1);
        enters = t->log.enter[t->log.enters - 2].cycle;
        first = left(r, PAGE(0, 0));
        miss = walked(r, 6, missing ? 0 : 1);
        assert_int_equal(miss, missing ? enters + 1 + last : 0);
        if (!off)
            assert_int_equal(first, enters + 1);
        else
            assert_int_equal(first, missing ? miss + WALK : enters + 1 + last);
        assert_int_equal(left(r, PAGE(6, 0)),
                         missing && !off ? miss + WALK : first + 12);
        assert_int_equal(left(r, PAGE(0, 7)),
                         missing && off ? miss + (7 % want[i / 2].n == 0)
                                        : first + 13);
        end(r);
    }
}

/* ---- the naive model ----------------------------------------------------- */

/* What an instruction knows of a page. */
enum { UNKNOWN, HERE, FLYING, PARKED };

struct instr {
    uint32_t n, at, lanes[LINES];
    uint64_t page[LINES], place[LINES];
    uint32_t knows[LINES]; /* of its lines' pages, all of a page alike */
    /* set aside: lines that still miss, and those that wait for them */
    uint32_t missing, held;
    struct waiter {
        uint32_t instr, line;
        bool hit; /* it was looked up again */
    } hold[LINES];
};

struct walk {
    uint64_t vpn, answer;
    uint32_t owner, n;
    struct waiter line[128];
};

struct naive {
    const struct test *test;
    struct rig *r; /* for frames alone */
    uint32_t entries, ports, mshrs, room, latency, overlap;
    struct instr *instr;
    uint32_t first, entered; /* at the unit: [first, entered) */
    uint64_t tlb[64];        /* the most recent first */
    uint32_t tlbs;
    struct walk walk[64]; /* in the order they left in */
    uint32_t walks;
    bool more;       /* the unit may do more in this cycle */
    struct waiter park[128], replay[128];
    uint32_t parked, replays;
    bool stopped;    /* by a room that is full, and counted */
    uint32_t looked; /* look-ups in this cycle */
    uint64_t out_free;
    uint64_t lookups, hits, misses, merges, parks, park_hits, fulls;
    struct log log;
};

static bool tlb_has(struct naive *v, uint64_t vpn)
{
    uint32_t i = 0;

    while (i < v->tlbs && v->tlb[i] != vpn)
        i++;
    if (i == v->tlbs)
        return false;
    memmove(v->tlb + 1, v->tlb, i * sizeof *v->tlb);
    v->tlb[0] = vpn;
    return true;
}

static void tlb_put(struct naive *v, uint64_t vpn)
{
    if (tlb_has(v, vpn))
        return;
    if (v->tlbs < v->entries)
        v->tlbs++;
    memmove(v->tlb + 1, v->tlb, (v->tlbs - 1) * sizeof *v->tlb);
    v->tlb[0] = vpn;
}

static void knows(struct naive *v, uint32_t instr, uint64_t vpn, uint32_t what)
{
    struct instr *x = &v->instr[instr];

    for (uint32_t i = 0; i < x->n; i++)
        if (x->page[i] == vpn)
            x->knows[i] = what;
}

static uint32_t in_room(const struct naive *v)
{
    uint32_t n = v->parked + v->replays;

    for (uint32_t i = 0; i < v->entered; i++)
        n += v->instr[i].missing > 0 ? v->instr[i].held : 0;
    for (uint32_t i = 0; i < v->walks; i++)
        n += v->walk[i].n;
    return n;
}

static void line_leaves(struct naive *v, struct waiter w, uint64_t at)
{
    const struct instr *x = &v->instr[w.instr];

    if (v->out_free > at)
        at = v->out_free;
    v->out_free = at + (4 * x->lanes[w.line] + 31) / 32; /* flits */
    v->log.line[v->log.lines++] = (struct event){
        at, frame(v->r, x->page[w.line]) * LINES + x->place[w.line]};
}

static void walk_leaves(struct naive *v, uint64_t vpn, uint32_t owner,
                        uint64_t cycle)
{
    struct walk *w = &v->walk[v->walks++];

    cycle += v->latency;
    *w = (struct walk){.vpn = vpn,
                       .owner = owner,
                       .answer =
                           cycle + walk_cycles(v->test, vpn, cycle) + RIG_BACK};
    v->log.walk[v->log.walks++] = (struct event){cycle, vpn};
}

/* A line's page has come: it goes on, or waits for the others'. */
static void has_come(struct naive *v, struct waiter w)
{
    struct instr *x = &v->instr[w.instr];

    if (v->overlap != HD_OVERLAP_OFF) {
        v->replay[v->replays++] = w;
        return;
    }
    x->hold[x->held++] = w;
    if (--x->missing > 0)
        return;
    memcpy(v->replay + v->replays, x->hold, x->held * sizeof w);
    v->replays += x->held;
}

static void answers(struct naive *v, uint64_t cycle)
{
    for (uint32_t i = 0; i < v->walks;) {
        struct walk w = v->walk[i];
        if (w.answer != cycle) {
            i++;
            continue;
        }
        v->walks--;
        memmove(v->walk + i, v->walk + i + 1, (v->walks - i) * sizeof *v->walk);
        tlb_put(v, w.vpn);
        for (uint32_t k = v->first; k < v->entered; k++)
            for (uint32_t l = 0; l < v->instr[k].n; l++)
                if (v->instr[k].page[l] == w.vpn &&
                    v->instr[k].knows[l] == FLYING)
                    v->instr[k].knows[l] = HERE;
        for (uint32_t k = 0; k < w.n; k++)
            has_come(v, w.line[k]);
    }
}

/* The instruction may walk another page now. */
static bool may_walk(const struct naive *v, uint32_t instr)
{
    return v->walks == 0 || (v->walk[0].owner == instr && v->walks < v->mshrs);
}

/* The oldest of those that park look again, as long as they may. */
static void look_again(struct naive *v, uint64_t cycle)
{
    while (v->parked > 0 && v->looked < v->ports &&
           may_walk(v, v->park[0].instr)) {
        uint32_t instr = v->park[0].instr, kept = 0;
        uint64_t vpn = v->instr[instr].page[v->park[0].line];
        bool hit = tlb_has(v, vpn);
        v->looked++;
        v->park_hits += hit;
        if (!hit)
            walk_leaves(v, vpn, instr, cycle);
        knows(v, instr, vpn, hit ? HERE : FLYING);
        for (uint32_t i = 0; i < v->parked; i++) {
            struct waiter w = v->park[i];
            struct walk *k = &v->walk[hit ? 0 : v->walks - 1];
            w.hit = hit;
            if (w.instr != instr || v->instr[instr].page[w.line] != vpn)
                v->park[kept++] = v->park[i];
            else if (hit)
                has_come(v, w);
            else
                k->line[k->n++] = w;
        }
        v->parked = kept;
    }
}

/* The head's next page is looked up. */
static void look_up(struct naive *v, uint32_t instr, uint64_t vpn,
                    uint64_t cycle)
{
    uint32_t what = HERE;

    v->looked++;
    v->lookups++;
    if (tlb_has(v, vpn)) {
        v->hits++;
    } else {
        bool flies = false;
        v->misses++;
        for (uint32_t i = 0; i < v->walks; i++)
            flies |= v->walk[i].vpn == vpn;
        what = FLYING;
        if (flies) {
            v->merges++;
        } else if (v->parked == 0 && may_walk(v, instr)) {
            walk_leaves(v, vpn, instr, cycle);
        } else {
            what = PARKED;
            v->parks++;
        }
    }
    knows(v, instr, vpn, what);
}

/* The head's pages are looked up ahead of its lines.  Whether all have been. */
static bool look_ahead(struct naive *v, uint64_t cycle)
{
    struct instr *x = &v->instr[v->first];

    for (uint32_t l = 0; l < x->n; l++)
        if (x->knows[l] == UNKNOWN) {
            if (v->looked >= v->ports)
                return false;
            look_up(v, v->first, x->page[l], cycle);
        }
    return true;
}

/* Where a line waits whose page is missing. */
static void wait_there(struct naive *v, struct waiter w)
{
    struct instr *x = &v->instr[w.instr];

    if (x->knows[w.line] == PARKED)
        v->park[v->parked++] = w;
    else
        for (uint32_t i = 0; i < v->walks; i++)
            if (v->walk[i].vpn == x->page[w.line])
                v->walk[i].line[v->walk[i].n++] = w;
}

/* Without overlap: the head's lines wait together if a page of theirs is
 * missing.  False: there is no room. */
static bool set_aside(struct naive *v)
{
    struct instr *x = &v->instr[v->first];

    if (in_room(v) + x->n > v->room) {
        v->fulls += !v->stopped;
        v->stopped = true;
        return false;
    }
    for (; x->at < x->n; x->at++) {
        struct waiter w = {v->first, x->at, false};
        if (x->knows[x->at] == HERE) {
            x->hold[x->held++] = w;
        } else {
            x->missing++;
            wait_there(v, w);
        }
    }
    v->first++;
    return true;
}

/* The unit at this cycle; true: it has used the L1's port. */
static bool unit(struct naive *v, uint64_t cycle)
{
    struct waiter w = {v->first, 0, false};
    struct instr *x = &v->instr[v->first];
    bool all, missing = false;

    if (v->replays > 0) {
        w = v->replay[0];
        memmove(v->replay, v->replay + 1, --v->replays * sizeof w);
        line_leaves(v, w, cycle + (w.hit ? v->latency : 0));
        v->stopped = false;
        return true;
    }
    if (v->first == v->entered || v->stopped)
        return false;
    w.line = x->at;
    if (v->overlap != HD_OVERLAP_LINE) {
        all = look_ahead(v, cycle);
        for (uint32_t l = 0; l < x->n; l++)
            missing |= x->knows[l] == FLYING || x->knows[l] == PARKED;
        if (v->overlap == HD_OVERLAP_OFF && !all)
            return false;
        if (v->overlap == HD_OVERLAP_OFF && missing)
            v->more |= set_aside(v);
        if (v->overlap == HD_OVERLAP_OFF && missing)
            return false;
        if (x->knows[x->at] == UNKNOWN)
            return false;
    } else if (x->knows[x->at] == UNKNOWN) {
        if (v->looked >= v->ports)
            return false;
        look_up(v, v->first, x->page[x->at], cycle);
    }
    if (x->knows[x->at] == HERE) {
        line_leaves(v, w, cycle + v->latency);
    } else if (in_room(v) == v->room) {
        v->fulls += !v->stopped;
        v->stopped = true;
        return false;
    } else {
        wait_there(v, w);
    }
    if (++x->at == x->n)
        v->first++;
    return true;
}

/* Steps until all that the engine's log says to have entered is through. */
static void naive_run(struct naive *v, const struct log *engine)
{
    for (uint64_t cycle = 0; v->first < engine->enters || v->replays > 0 ||
                             v->walks > 0 || v->parked > 0;
         cycle++) {
        bool used = false;
        v->looked = 0;
        v->more = true;
        answers(v, cycle);
        look_again(v, cycle);
        while (!used && v->more) { /* there is something new for the unit */
            v->more = false;
            used = unit(v, cycle);
            look_again(v, cycle);
            for (; v->entered < engine->enters &&
                   engine->enter[v->entered].cycle == cycle;
                 v->entered++)
                v->more = true;
        }
    }
}

static void naive_instrs(struct naive *v, const struct test *t)
{
    v->instr = calloc(t->log.enters, sizeof *v->instr);
    for (uint32_t i = 0; i < t->log.enters; i++) {
        uint64_t what = t->log.enter[i].what;
        uint32_t b = (uint32_t)(what >> 16), w = what >> 8 & 0xff;
        const struct touch *x = &t->touch[b][w][what & 0xff];
        for (uint32_t k = 0; k < x->n; k++) {
            struct instr *y = &v->instr[i];
            uint32_t l = 0;
            while (l < y->n && (y->page[l] != x->line[k] / LINES ||
                                y->place[l] != x->line[k] % LINES))
                l++;
            y->lanes[l]++;
            if (l < y->n)
                continue;
            y->page[y->n] = x->line[k] / LINES;
            y->place[y->n++] = x->line[k] % LINES;
        }
    }
}

/* ---- the comparison ------------------------------------------------------ */

/* A random program.  Stores and atomics touch the lower half of a page's lines,
 * loads the upper half, each line once, as misses of one line would merge in
 * the L1; those that are all taken are replaced by others of new pages. */
static struct test *random_test(uint64_t seed, uint32_t pages, uint32_t blocks)
{
    enum { HALF = LINES / 2, MOST = 64 };
    struct test *t = calloc(1, sizeof *t);
    struct hd_rng r = hd_rng_make(seed, 301);
    uint32_t loaded[MOST] = {0}, fresh = 1000 * LINES;

    for (uint32_t b = 0; b < blocks; b++)
        for (uint32_t w = 0; w < RIG_WARPS; w++) {
            uint32_t ops = 1 + hd_rng_below(&r, 12);
            for (uint32_t k = 0; k < ops; k++) {
                uint32_t kind = HEDDLE_OP_LOAD + hd_rng_below(&r, 3);
                uint32_t n = 1 + hd_rng_below(&r, 1 + hd_rng_below(&r, LINES));
                uint32_t span = 1 + hd_rng_below(&r, pages), line[LINES];
                uint32_t at = hd_rng_below(&r, pages);
                for (uint32_t i = 0; i < n; i++) {
                    uint32_t p = (at + hd_rng_below(&r, span)) % pages;
                    if (kind != HEDDLE_OP_LOAD) /* one that it touches twice is
                                               one line */
                        line[i] = PAGE(p, hd_rng_below(&r, HALF));
                    else if (loaded[p] < HALF)
                        line[i] = PAGE(p, HALF + loaded[p]++);
                    else
                        line[i] = fresh += 1 + hd_rng_below(&r, LINES);
                }
                add_memory(t, b, w, kind, n, line);
                if (hd_rng_below(&r, 3) == 0)
                    add(t, b, w,
                        (struct hd_op){HEDDLE_OP_ALU, HD_NO_SLOT, 4, 0, 0,
                                       1 + hd_rng_below(&r, 60), 0,
                                       hd_ones(32)});
            }
        }
    add_exits(t, blocks);
    return t;
}

static void same_log(const char *what, const struct event *a, uint32_t n,
                     const struct event *b, uint32_t m, uint64_t seed)
{
    for (uint32_t i = 0; i < n && i < m; i++)
        if (a[i].cycle != b[i].cycle || a[i].what != b[i].what)
            fail_msg(
                "seed %llu: %s %u is 0x%llx at %llu in the core, 0x%llx "
                "at %llu in the naive model",
                (unsigned long long)seed, what, i,
                (unsigned long long)a[i].what, (unsigned long long)a[i].cycle,
                (unsigned long long)b[i].what, (unsigned long long)b[i].cycle);
    assert_int_equal(n, m);
}

struct sums {
    uint64_t walks, parks, park_hits, merges, fulls;
};

static void compare(uint64_t seed, struct sums *sum)
{
    static const char *const entries[] = {"1", "2", "3", "6"};
    static const char *const ports[] = {"1", "2", "3"};
    static const char *const mshrs[] = {"1", "2", "3", "32"};
    static const char *const queues[] = {"1", "4", "16"};
    static const char *const latencies[] = {"1", "0", "3"};
    static const char *const overlaps[] = {"line", "ahead", "off"};
    struct machine m = {"hits",
                        entries[seed % 4],
                        ports[seed / 4 % 3],
                        mshrs[seed / 12 % 4],
                        seed / 7 % 3 == 2 ? "128" : "64",
                        queues[seed / 48 % 3],
                        latencies[seed / 5 % 3],
                        "1",
                        overlaps[seed / 7 % 3]};
    uint32_t blocks = 1 + seed % BLOCKS;
    struct test *t = random_test(seed, 2 + (uint32_t)(seed % 13), blocks);
    struct rig *r = run(t, &m, blocks);
    struct naive *v = calloc(1, sizeof *v);

    v->test = t;
    v->r = r;
    v->entries = r->m.l1tlb.entries;
    v->ports = r->m.l1tlb.ports;
    v->mshrs = r->m.l1tlb.mshrs;
    v->latency = r->m.l1tlb.latency;
    v->overlap = r->m.l1tlb.overlap;
    v->room = r->m.core.parked;
    naive_instrs(v, t);
    naive_run(v, &t->log);
    same_log("walk", t->log.walk, t->log.walks, v->log.walk, v->log.walks,
             seed);
    same_log("line", t->log.line, t->log.lines, v->log.line, v->log.lines,
             seed);
    assert_int_equal(tlb_count(r, HD_L1TLB_LOOKUPS), v->lookups);
    assert_int_equal(tlb_count(r, HD_L1TLB_HITS), v->hits);
    assert_int_equal(tlb_count(r, HD_L1TLB_MISSES), v->misses);
    assert_int_equal(tlb_count(r, HD_L1TLB_MERGES), v->merges);
    assert_int_equal(tlb_count(r, HD_L1TLB_PARKED), v->parks);
    assert_int_equal(tlb_count(r, HD_L1TLB_PARKED_HITS), v->park_hits);
    assert_int_equal(tlb_count(r, HD_L1TLB_PARKED_FULL), v->fulls);
    sum->walks += v->log.walks;
    sum->parks += v->parks;
    sum->park_hits += v->park_hits;
    sum->merges += v->merges;
    sum->fulls += v->fulls;
    free(v->instr);
    free(v);
    end(r);
}

static void as_cycle_by_cycle(void **state)
{
    struct sums sum = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= 1800; seed++)
        compare(seed, &sum);
    /* and there was something to compare */
    assert_true(sum.walks > 10000 && sum.parks > 10000);
    assert_true(sum.park_hits > 1000 && sum.merges > 1000 && sum.fulls > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hits_pass_all_that_miss),
        cmocka_unit_test(other_readings),
        cmocka_unit_test(atomics_as_they_are),
        cmocka_unit_test(shared_memory_in_the_unit),
        cmocka_unit_test(walk_reads_leave_first),
        cmocka_unit_test(one_instruction_owns),
        cmocka_unit_test(an_owner_without_mshrs),
        cmocka_unit_test(joins_and_looks_again),
        cmocka_unit_test(a_full_room_stops_the_head),
        cmocka_unit_test(parks_when_all_are_gone),
        cmocka_unit_test(pages_before_lines),
        cmocka_unit_test(as_cycle_by_cycle),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
