/*
 * Pinned: demand paging.  A lone far fault takes L + S / B from its walk to its
 * replay, to the cycle (4 KB 56,100, 2 MB 324,360 at 1020 MHz); faults that
 * overlap wait for L together and share the link; requests for one page make
 * one fault; while it waits a request holds no MSHR and no walker; batches are
 * served as the settings or the policy of fault_batch say, and an answer with
 * which nothing would ever be served is an error; applications do not meet;
 * memory that is too small is an error, in words.  A naive queue says the same
 * of every arrival under random load, and a restored arena goes on alike, also
 * from the middle of a fault.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmfault.h"
#include "texts.h"

enum {
    B = 0x2000,
    AGAIN = LOOK + WALK /* from its replay to its answer */
};

static struct vm *start(struct vm *v)
{
    vm_open(v, 2);
    for (uint32_t app = 0; app < 2; app++) {
        vm_map(v, app, A, 512);
        vm_map(v, app, B, 512);
    }
    return v;
}

static struct hd_stat *group(struct vm *v, const char *name)
{
    for (uint32_t i = 0; i < v->m.stats.groups; i++)
        if (strcmp(v->m.stats.group[i].component, name) == 0)
            return &v->m.stats.group[i].stat;
    fail_msg("no counters of %s", name);
    return NULL;
}

static uint64_t faults(struct vm *v, uint32_t app, enum hd_fault_stat c)
{
    return *hd_count(group(v, "fault"), 0, app, c);
}

static const struct hd_hist *latency(struct vm *v, uint32_t app)
{
    for (uint32_t i = 0; i < v->m.stats.hists; i++)
        if (strcmp(v->m.stats.hist[i].desc->component, "fault") == 0 &&
            strcmp(v->m.stats.hist[i].desc->name, "latency") == 0)
            return &v->m.stats.hist[i].h[app];
    fail_msg("no histogram of faults");
    return NULL;
}

/* ---- one fault ----------------------------------------------------------- */

static void lone(void **state)
{
    static const uint64_t span[3] = {525, 8400, LARGE};
    static const uint32_t pages[3] = {1, 16, 512};

    (void)state;
    for (uint32_t size = 0; size < 3; size++) {
        struct vm *v = vm_new_fault();
        uint64_t walk = size == 2 ? 3 * READ : 4 * READ;
        uint64_t found = WAY + LOOK + walk;

        v->vm_cfg.page = size;
        start(v);
        assert_false(hd_ptables_resident(v->pt, 0, (hd_vpn){A + 7}));
        vm_ask(v, 0, 0, 0, 0, A + 7);
        vm_run(v, found + L + span[size] - 1);
        assert_int_equal(hd_ptables_pages(v->pt, 0), 0);
        assert_int_equal(v->told, 1);
        vm_run(v, found + L + span[size]);
        assert_int_equal(hd_ptables_pages(v->pt, 0), pages[size]);
        assert_true(hd_ptables_resident(v->pt, 0, (hd_vpn){A + 7}));
        assert_int_equal(hd_ptables_resident(v->pt, 0, (hd_vpn){A}), size > 0);
        vm_due(v, 0, found + L + span[size] + LOOK + walk);
        assert_int_equal(latency(v, 0)->max, L + span[size]);
        assert_int_equal(faults(v, 0, HD_FAULT_PAGES), pages[size]);
        /* it is there now */
        vm_ask(v, 1000000, 1, 0, 0, A + 7);
        vm_due(v, 1, 1000000 + WAY + LOOK);
        vm_finish(v);
        assert_int_equal(faults(v, 0, HD_FAULT_FAULTS), 1);
        vm_close(v);
    }
    assert_int_equal(L + SMALL, 56100);
    assert_int_equal(L + LARGE, 324360);
}

/* Latencies overlap, the link is shared. */
static void overlap(void **state)
{
    struct vm *v = start(vm_new_fault());

    (void)state;
    vm_ask(v, 0, 0, 0, 0, A);
    vm_ask(v, 100, 1, 0, 1, A); /* the same address of another application */
    vm_ask(v, 100000, 2, 0, 0, B);
    vm_due(v, 0, FAULT + L + SMALL + AGAIN);
    vm_due(v, 1, FAULT + L + 2 * SMALL + AGAIN);
    vm_due(v, 2, 100000 + FAULT + L + SMALL + AGAIN);
    vm_finish(v);
    assert_true(vm_answer(v, 0)->pfn != vm_answer(v, 1)->pfn);
    assert_int_equal(faults(v, 0, HD_FAULT_FAULTS), 2);
    assert_int_equal(faults(v, 1, HD_FAULT_FAULTS), 1);
    assert_int_equal(faults(v, 1, HD_FAULT_LINK_CYCLES), 2 * SMALL - 100);
    vm_close(v);
}

/* One fault for a page, however many ask, and whenever. */
static void merging(void **state)
{
    struct vm *v = vm_new_fault();

    (void)state;
    v->vm_cfg.page = 1;
    start(v);
    vm_ask(v, 0, 0, 0, 0, A);
    vm_ask(v, 10, 1, 0, 0, A);         /* joins the walk */
    vm_ask(v, 2000, 2, 0, 0, A + 3);   /* walks, and joins the fault */
    vm_ask(v, 50000, 3, 0, 0, A + 15); /* so does this one */
    vm_finish(v);
    assert_int_equal(faults(v, 0, HD_FAULT_FAULTS), 1);
    assert_int_equal(faults(v, 0, HD_FAULT_REQUESTS), 4);
    assert_int_equal(faults(v, 0, HD_FAULT_MERGES), 3);
    assert_int_equal(faults(v, 0, HD_FAULT_PAGES), 16);
    assert_int_equal(v->told, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_in_range(vm_answer(v, i)->at, FAULT + L + 8400,
                        FAULT + L + 8400 + 2 * AGAIN);
    vm_close(v);
}

/* With one MSHR and one walker another page is translated meanwhile. */
static void nothing_held(void **state)
{
    struct vm *v = vm_new_fault();

    (void)state;
    v->l2tlb.mshrs = 1;
    v->walk.walkers = 1;
    v->walk.queue = 0;
    start(v);
    vm_ask(v, 0, 0, 0, 0, B);
    vm_run(v, 200000);
    hd_mmu_shoot(v->mmu, 0, (hd_vpn){B}, 1, 0);
    vm_ask(v, 200000, 0, 0, 0, A);
    vm_ask(v, 201000, 1, 0, 0, B); /* a walk of a page that is there */
    vm_due(v, 2, 201000 + FAULT);
    vm_due(v, 1, 200000 + FAULT + L + SMALL + AGAIN);
    vm_finish(v);
    vm_close(v);
}

/* All ways in which the L2 TLB and the walkers can be modelled. */
static void modes(void **state)
{
    static const struct {
        uint32_t tlb, walk;
        uint64_t found;
    } c[] = {{HD_OFF, HD_FULL, WAY + WALK},
             {HD_IDEAL, HD_FULL, WAY + LOOK},
             {HD_FIXED, HD_FULL, WAY + 33},
             {HD_FULL, HD_FIXED, WAY + LOOK + 44},
             {HD_FULL, HD_IDEAL, WAY + LOOK}};

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(c); i++) {
        struct vm *v = vm_new_fault();

        v->l2tlb.mode.kind = c[i].tlb;
        v->l2tlb.mode.fixed = 33;
        v->walk.mode.kind = c[i].walk;
        v->walk.mode.fixed = 44;
        v->walk.per_core = i % 2;
        v->pwc.mode.kind = HD_OFF;
        start(v);
        vm_ask(v, 0, 1, 0, 0, A);
        vm_due(v, 0, 2 * c[i].found - WAY + L + SMALL);
        vm_finish(v);
        vm_close(v);
    }
}

/* A walk cache that holds physical entries forgets what has changed. */
static void walk_cache(void **state)
{
    struct vm *v = vm_new_fault();

    (void)state;
    v->pwc.mode.kind = HD_FULL;
    v->pwc.latency = 0;
    start(v);
    vm_ask(v, 0, 0, 0, 0, A);
    vm_due(v, 0, FAULT + L + SMALL + LOOK + READ); /* the leaf is read anew */
    vm_finish(v);
    vm_close(v);
}

/* ---- batches ------------------------------------------------------------- */

static void ask_three(struct vm *v)
{
    vm_ask(v, 0, 0, 0, 0, A);
    vm_ask(v, 1000, 1, 0, 0, A + 1);
    vm_ask(v, 2000, 2, 0, 1, A);
}

static void serial(void **state)
{
    struct vm *v = vm_new_fault();

    (void)state;
    v->fault_cfg.serial = 1;
    start(v);
    ask_three(v);
    vm_due(v, 0, FAULT + L + SMALL + AGAIN);
    vm_due(v, 1, FAULT + 2 * (L + SMALL) + AGAIN);
    vm_due(v, 2, FAULT + 3 * (L + SMALL) + AGAIN);
    vm_finish(v);
    assert_int_equal(faults(v, 1, HD_FAULT_WAIT_CYCLES),
                     2 * (L + SMALL) - 2000);
    vm_close(v);
}

/* The two that wait when the first is done are served together. */
static void batches(void **state)
{
    struct vm *v = vm_new_fault();

    (void)state;
    v->fault_cfg.serial = 1;
    v->fault_cfg.batch = 256;
    start(v);
    ask_three(v);
    vm_finish(v);
    assert_int_equal(vm_answer(v, 0)->at, FAULT + L + SMALL + AGAIN);
    for (uint32_t i = 1; i < 3; i++)
        assert_in_range(vm_answer(v, i)->at, FAULT + 2 * L + 3 * SMALL + AGAIN,
                        FAULT + 2 * L + 3 * SMALL + AGAIN + READ);
    assert_int_equal(faults(v, 0, HD_FAULT_BATCHES), 2);
    assert_int_equal(faults(v, 1, HD_FAULT_BATCHES), 0);
    assert_int_equal(faults(v, 0, HD_FAULT_BATCH_CYCLES), SMALL);
    vm_close(v);
}

static int64_t two(void *self, const void *question)
{
    const struct heddle_q_fault_batch *q = question;

    (void)self;
    assert_true(q->n > 0 && q->vpn[0] >= A && q->pages[0] == 1);
    assert_true(q->app[0] < 2 && q->age[0] < 3 * L);
    if (q->serving == 0)
        return 1;
    return q->n >= 2 ? 2 : 0;
}

static int64_t never(void *self, const void *question)
{
    (void)self, (void)question;
    return 0;
}

/* A policy that waits for two while one is under way. */
static void policy(void **state)
{
    struct heddle_policy p = {
        .abi = HEDDLE_POLICY_ABI, .name = "two", .summary = "", .source = ""};
    struct vm *v = start(vm_new_fault());

    (void)state;
    p.answer[HEDDLE_POINT_fault_batch] = two;
    vmslots_use(&v->policies, &p, "");
    ask_three(v);
    vm_finish(v);
    assert_int_equal(faults(v, 0, HD_FAULT_BATCHES), 2);
    assert_int_equal(faults(v, 0, HD_FAULT_WAIT_CYCLES), 1000);
    assert_in_range(vm_answer(v, 2)->at, 2000 + FAULT + L + 2 * SMALL + AGAIN,
                    2000 + FAULT + L + 2 * SMALL + AGAIN + READ);
    vm_close(v);

    v = start(vm_new_fault());
    p.answer[HEDDLE_POINT_fault_batch] = never;
    vmslots_use(&v->policies, &p, "");
    ask_three(v);
    hd_events_run(&v->m.ev, HD_NEVER, &v->m.err.code);
    assert_int_equal(v->m.err.code, HEDDLE_EPOLICY);
    assert_text(v->m.err.text, "fault_batch: 0 of 1 faults");
    hd_err_clear(&v->m.err);
    vm_close(v);
}

/* ---- errors -------------------------------------------------------------- */

static void too_small(void **state)
{
    struct vm *v = vm_new_fault();

    (void)state;
    v->vm_cfg.memory_bytes = 260 * 4096; /* 4 frames for data */
    start(v);
    for (uint32_t i = 0; i < 5; i++)
        vm_ask(v, i, 0, 0, 0, A + i);
    hd_events_run(&v->m.ev, HD_NEVER, &v->m.err.code);
    assert_int_equal(v->m.err.code, HEDDLE_ECONFIG);
    assert_text(v->m.err.text, "out of frames");
    assert_text(v->m.err.text, "allocation 0 (2097152 bytes at");
    assert_int_equal(v->answers, 0);
    hd_err_clear(&v->m.err);
    vm_close(v);
}

static void nowhere(void **state)
{
    struct vm *v = start(vm_new_fault());

    (void)state;
    vm_ask(v, 0, 0, 0, 0, A + 512); /* in a region that has tables, or not */
    hd_events_run(&v->m.ev, HD_NEVER, &v->m.err.code);
    assert_int_equal(v->m.err.code, HEDDLE_EDATA);
    assert_text(v->m.err.text, "is in no allocation");
    hd_err_clear(&v->m.err);
    vm_close(v);
}

/* An allocation goes before its pages have come, and while one comes. */
static void freed(void **state)
{
    struct vm *v = start(vm_new_fault());

    (void)state;
    vm_ask(v, 0, 0, 0, 0, A);
    vm_run(v, FAULT + L + SMALL + AGAIN);
    assert_int_equal(
        hd_ptables_place(v->pt, 0, (hd_vpn){A + 1}, false, &v->m.err), 0);
    hd_ptables_unmap(v->pt, 0, 0, (hd_va){(uint64_t)A << 12}, 512 * 4096);
    hd_ptables_arrive(v->pt, 0, (hd_vpn){A + 1}, false); /* too late */
    assert_int_equal(hd_ptables_pages(v->pt, 0), 0);
    assert_false(hd_ptables_resident(v->pt, 0, (hd_vpn){A}));
    assert_string_equal(memenv_check(&v->m, "pagetable"), "");
    vm_close(v);
}

/* ---- looking ------------------------------------------------------------- */

struct seen {
    uint32_t rows;
    char state[32], why[64];
};

static void see_row(void *ud, const char *kind)
{
    (void)kind;
    ((struct seen *)ud)->rows++;
}

static void see_number(void *ud, const char *field, uint64_t value)
{
    (void)ud, (void)field, (void)value;
}

static void see_text(void *ud, const char *field, const char *value)
{
    struct seen *s = ud;

    if (strcmp(field, "state") == 0)
        strncpy(s->state, value, sizeof s->state - 1);
    if (strcmp(field, "for") == 0)
        strncpy(s->why, value, sizeof s->why - 1);
}

static struct seen see(struct vm *v)
{
    struct seen s = {0};
    struct heddle_visitor visitor = {see_row, see_number, see_text, &s};

    for (uint32_t i = 0; i < v->env->parts; i++) {
        struct hd_part *p = &v->env->part[i];
        if (strcmp(p->name, "fault") == 0) {
            p->look(p->self, 0, &visitor);
            p->stuck(p->self, 0, &visitor);
        }
    }
    return s;
}

static void looking(void **state)
{
    struct vm *v = vm_new_fault();
    struct seen s;

    (void)state;
    v->fault_cfg.serial = 1;
    start(v);
    vm_ask(v, 0, 0, 0, 0, A);
    vm_run(v, FAULT);
    s = see(v);
    assert_int_equal(s.rows, 2);
    assert_string_equal(s.state, "host");
    vm_run(v, FAULT + L);
    s = see(v);
    assert_string_equal(s.state, "link");
    assert_string_equal(s.why, "its transfer over the link");
    vm_ask(v, FAULT + L, 0, 0, 0, B);
    vm_run(v, 2 * FAULT + L);
    s = see(v);
    assert_int_equal(s.rows, 4);
    assert_string_equal(s.why, "the host to take it up");
    vm_finish(v);
    assert_int_equal(see(v).rows, 0);
    vm_close(v);
}

/* ---- random load --------------------------------------------------------- */

enum { REQUESTS = 1500, PAGES = 200, MOST = 2 * PAGES };

/* What a watcher saw: the faults in their order, and arrivals by page. */
struct log {
    struct vm *v;
    uint64_t key[MOST], born[MOST], arrived[MOST], bytes[MOST];
    uint32_t n, came;
};

static struct log *the_log; /* heddle_use takes no pointer of the caller's */

static void saw_fault(void *state, const void *note)
{
    const struct heddle_n_page_fault *n = note;
    struct log *g = the_log;

    (void)state;
    assert_true(g->n < MOST);
    g->key[g->n] = n->app << 52 | n->vpn;
    g->bytes[g->n] = n->pages * 4096;
    g->born[g->n++] = hd_events_now(&g->v->m.ev);
}

static void saw_arrival(void *state, const void *note)
{
    const struct heddle_n_page_arrived *n = note;
    struct log *g = the_log;

    (void)state;
    for (uint32_t i = 0; i < g->n; i++) {
        if (g->key[i] != (n->app << 52 | n->vpn))
            continue;
        assert_int_equal(g->arrived[i], 0);
        g->arrived[i] = hd_events_now(&g->v->m.ev);
        assert_int_equal(n->cycles, g->arrived[i] - g->born[i]);
        g->came++;
        return;
    }
    fail_msg("a page came that did not fault");
}

static struct vm *draw(struct hd_rng *r, bool overlapped)
{
    struct vm *v = vm_new_fault();
    uint64_t at = 0;

    v->vm_cfg.page = hd_rng_below(r, 3);
    v->vm_cfg.memory_bytes = 256u << 20;
    v->l2tlb.entries = 64;
    v->l2tlb.mshrs = 1 + hd_rng_below(r, 20);
    v->walk.walkers = 1 + hd_rng_below(r, 12);
    v->walk.queue = hd_rng_below(r, 12);
    v->walk.per_core = hd_rng_below(r, 4) == 0;
    v->pwc.mode.kind = hd_rng_below(r, 2) ? HD_FULL : HD_OFF;
    v->pwc.style = hd_rng_below(r, 2);
    v->link_cfg.latency = hd_rng_below(r, 3) ? 20000 : hd_rng_below(r, 100);
    v->link_cfg.bandwidth = 1000000000 + hd_rng_below(r, 2000000000);
    if (!overlapped) {
        v->fault_cfg.serial = hd_rng_below(r, 2);
        v->fault_cfg.batch = 1 + hd_rng_below(r, 30);
    }
    vm_open(v, 2);
    for (uint32_t app = 0; app < 2; app++)
        vm_map(v, app, A, PAGES * 16);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        at += hd_rng_below(r, 4) == 0 ? hd_rng_below(r, 3000) : 0;
        vm_ask(v, at, hd_rng_below(r, VM_CORES), 0, hd_rng_below(r, 2),
               A + hd_rng_below(r, PAGES) * (v->vm_cfg.page ? 16 : 1));
    }
    return v;
}

/* Faults in the order in which they were born, one by one. */
static void naive(struct log *g)
{
    uint64_t free = 0, hz = MHZ * 1000000ull;
    uint64_t wait = (g->v->link_cfg.latency * MHZ + 999) / 1000;

    for (uint32_t i = 0; i < g->n; i++) {
        uint64_t t = g->born[i] + wait;
        uint64_t rate = g->v->link_cfg.bandwidth;
        t = (t > free ? t : free) + (g->bytes[i] * hz + rate - 1) / rate;
        free = t;
        assert_int_equal(g->arrived[i], t);
    }
}

static void soak(void **state)
{
    struct heddle_policy watcher = {.abi = HEDDLE_POLICY_ABI,
                                    .name = "watcher",
                                    .summary = "",
                                    .source = ""};
    struct hd_rng r = hd_rng_make(21, 4);

    (void)state;
    watcher.watch[HEDDLE_NOTE_page_fault] = saw_fault;
    watcher.watch[HEDDLE_NOTE_page_arrived] = saw_arrival;
    for (uint32_t round = 0; round < 30; round++) {
        bool overlapped = round % 2;
        struct log *g = calloc(1, sizeof *g);
        struct vm *v = g->v = draw(&r, overlapped);
        uint64_t stages = 0, all = 0, n = 0;

        the_log = g;
        vmslots_use(&v->policies, &watcher, "");
        vm_finish(v);
        assert_true(g->n > 0);
        assert_int_equal(g->came, g->n);
        if (overlapped)
            naive(g);
        for (uint32_t app = 0; app < 2; app++) {
            for (uint32_t c = HD_FAULT_WAIT_CYCLES; c <= HD_FAULT_BATCH_CYCLES;
                 c++)
                stages += faults(v, app, c);
            all += latency(v, app)->sum;
            n += faults(v, app, HD_FAULT_FAULTS);
            assert_int_equal(faults(v, app, HD_FAULT_REQUESTS),
                             faults(v, app, HD_FAULT_FAULTS) +
                                 faults(v, app, HD_FAULT_MERGES));
            assert_int_equal(faults(v, app, HD_FAULT_PAGES),
                             hd_ptables_pages(v->pt, app));
        }
        assert_int_equal(n, g->n);
        assert_int_equal(stages, all);
        vm_true(v);
        vm_close(v);
        free(g);
    }
}

static void snapshot(void **state)
{
    struct hd_rng r = hd_rng_make(22, 4);

    (void)state;
    for (uint32_t round = 0; round < 12; round++) {
        struct vm *v = draw(&r, false);
        uint64_t cut = 100 + hd_rng_below(&r, 200000);

        vm_replay(v, cut);
        vm_close(v);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lone),     cmocka_unit_test(overlap),
        cmocka_unit_test(merging),  cmocka_unit_test(nothing_held),
        cmocka_unit_test(modes),    cmocka_unit_test(walk_cache),
        cmocka_unit_test(serial),   cmocka_unit_test(batches),
        cmocka_unit_test(policy),   cmocka_unit_test(too_small),
        cmocka_unit_test(nowhere),  cmocka_unit_test(freed),
        cmocka_unit_test(looking),  cmocka_unit_test(soak),
        cmocka_unit_test(snapshot),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm fault", tests, NULL, NULL);
}
