/*
 * Pinned: walk batches (walk.batch; Pichai et al. 6.3).  Their figure 8: three
 * pages need 7 reads, on 5 lines, where 12 are needed one by one.  A read a
 * cycle, those of a line in succession, a level when all of the one above are
 * back, at the very cycle; a walk that comes before the first read is back
 * joins the batch, a later one comes with the next; a policy says which entry
 * goes next.  And under random load every read leaves at the instant at which a
 * naive model, which knows no events, has it leave.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmenv.h"

enum { A = 0x1000, WAY = 5, MEMORY = 100, BACK = 7 };

static struct vm *machine(uint32_t walkers, uint32_t batch)
{
    struct vm *v = vm_new();

    v->mhz = 1000; /* a cycle is a tick */
    v->l2tlb.mode.kind = HD_OFF;
    v->walk.walkers = walkers;
    v->walk.batch = batch;
    v->walk.queue = 4096;
    v->walk.latency = WAY;
    return v;
}

static const uint64_t figure8[] = {
    0xb9ull << 27 | 0x0c << 18 | 0xac << 9 | 0x03,
    0xb9ull << 27 | 0x0c << 18 | 0xac << 9 | 0x04,
    0xb9ull << 27 | 0x0c << 18 | 0xad << 9 | 0x05,
};

static struct vm *figure(uint32_t batch)
{
    struct vm *v = machine(1, batch);

    vm_open(v, 1);
    for (size_t i = 0; i < HD_LEN(figure8); i++)
        vm_map(v, 0, figure8[i], 1);
    return v;
}

static uint32_t lines(const struct vm *v)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < v->reads; i++) {
        uint32_t k = 0;
        while (k < i && v->read[k].pa / 128 != v->read[i].pa / 128)
            k++;
        n += k == i;
    }
    return n;
}

static void figure_8(void **state)
{
    (void)state;
    for (uint32_t batch = 1; batch <= 32; batch += 31) {
        struct vm *v = figure(batch);
        for (uint32_t i = 0; i < 3; i++)
            vm_ask(v, 10, 0, 0, 0, figure8[i]);
        vm_finish(v);
        assert_int_equal(v->reads, batch == 1 ? 12 : 7);
        assert_int_equal(lines(v), 5);
        assert_int_equal(vm_walks(v, 0, HD_WALK_REFERENCES), v->reads);
        assert_int_equal(vm_walks(v, 0, HD_WALK_MERGED), 12 - v->reads);
        assert_int_equal(vm_walks(v, 0, HD_WALK_BATCHES), batch > 1);
        for (uint32_t level = 1; level <= 4; level++)
            assert_int_equal(vm_walks(v, 0, HD_WALK_LEVEL + level - 1),
                             batch == 1  ? 3
                             : level < 3 ? 1
                                         : level - 1);
        vm_true(v);
        vm_close(v);
    }
}

/* The instants of the figure's reads and answers: two of level 3 and three of
 * level 4, a cycle apart; the next level a memory's time after the last. */
static void to_the_cycle(void **state)
{
    static const uint64_t want[] = {0, 1, 2, 2, 3, 3, 3};
    static const uint64_t more[] = {0, 0, 0, 1, 1, 2, 3};
    const uint64_t trip = MEMORY + BACK, begin = 10 + WAY;
    struct vm *v = figure(32);

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        vm_ask(v, 10, 0, 0, 0, figure8[i]);
    for (uint32_t i = 0; i < 7; i++) {
        uint64_t at = begin + want[i] * trip + more[i];
        vm_run(v, at - 1);
        assert_int_equal(v->reads, i);
        vm_run(v, at);
        assert_int_equal(v->reads, i + 1);
        assert_int_equal(v->read[i].at, at);
    }
    for (uint32_t i = 0; i < 3; i++) /* each when its own leaf has come */
        vm_due(v, i, begin + 4 * trip + 1 + i);
    vm_finish(v);
    vm_close(v);
}

/* Two pages, of one line of the leaves or of another root entry, the second
 * asked `later` cycles after the first; when the first and the second are due,
 * in cycles after the first has reached the walker. */
static void pair(uint64_t second, uint64_t later, uint64_t one, uint64_t two,
                 uint32_t joined, uint32_t reads)
{
    struct vm *v = machine(1, 32);

    vm_open(v, 1);
    vm_map(v, 0, A, 8);
    if (second >= A + 8)
        vm_map(v, 0, second, 1);
    vm_ask(v, 10, 0, 0, 0, A);
    vm_ask(v, 10 + later, 0, 0, 0, second);
    vm_due(v, 0, 10 + WAY + one);
    vm_due(v, 1, 10 + WAY + two);
    vm_finish(v);
    assert_int_equal(v->reads, reads);
    assert_int_equal(vm_walks(v, 0, HD_WALK_JOINED), joined);
    assert_int_equal(vm_walks(v, 0, HD_WALK_BATCHES), 2 - joined);
    vm_true(v);
    vm_close(v);
}

/* A walk joins a batch until the first read is back, to the cycle.  It shares
 * the read of its entry, in flight since cycle 0, or has one of its own, and
 * then the level ends with that: levels 2 to 4 have a read of each, a cycle
 * apart.  One that is too late is alone, when the first walk has ended. */
static void joins_until_the_first_read_is_back(void **state)
{
    const uint64_t trip = MEMORY + BACK, apart = A + (1ull << 27);

    (void)state;
    for (uint64_t later = 1; later < trip; later += trip - 2)
        pair(A + 1, later, 4 * trip, 4 * trip + 1, 1, 5);
    for (uint64_t later = trip; later <= trip + 1; later++)
        pair(A + 1, later, 4 * trip, 8 * trip, 0, 8);
    for (uint64_t later = 1; later < trip; later += trip - 2)
        pair(apart, later, later + 4 * trip + 2, later + 4 * trip + 3, 1, 8);
    pair(apart, trip, 4 * trip, 8 * trip, 0, 8);
}

/* A page that misses when a batch is full, or later, waits for the next one. */
static void later_ones_wait(void **state)
{
    struct vm *v = machine(1, 2);
    uint64_t first;

    (void)state;
    vm_open(v, 1);
    vm_map(v, 0, A, 8);
    for (uint32_t i = 0; i < 3; i++)
        vm_ask(v, 10, 0, 0, 0, A + i);
    vm_ask(v, 50, 0, 0, 0, A + 3);
    vm_run(v, 10 + WAY);
    assert_int_equal(hd_unit_of(v->mmu, 0)->s->waiting, 1);
    vm_run(v, 50 + WAY);
    assert_int_equal(hd_unit_of(v->mmu, 0)->s->waiting, 2);
    first = 10 + WAY + 4 * (MEMORY + BACK) + 1; /* the second one's leaf */
    vm_due(v, 1, first);
    vm_due(v, 2, first + 4 * (MEMORY + BACK));
    vm_due(v, 3, first + 4 * (MEMORY + BACK) + 1);
    vm_finish(v);
    assert_int_equal(vm_walks(v, 0, HD_WALK_BATCHES), 2);
    assert_int_equal(vm_walks(v, 0, HD_WALK_REFERENCES), 2 * 5);
    vm_close(v);
}

/* A policy takes the last reference each time, and sees what there is. */
static struct heddle_q_walk_reference saw[16];
static uint32_t asked;

static int64_t on_reference(void *self, const void *question)
{
    const struct heddle_q_walk_reference *q = question;

    (void)self;
    saw[asked++] = *q;
    for (uint32_t i = 0; i < q->n; i++)
        assert_true(q->app[i] == 0 && q->address[i] % 8 == 0);
    assert_int_equal(q->vpn[0], figure8[0]);
    return (int64_t)q->n - 1;
}

static void a_policy_says_which(void **state)
{
    static const struct heddle_policy last = {
        .abi = HEDDLE_POLICY_ABI,
        .name = "last",
        .summary = "of this test",
        .answer = {[HEDDLE_POINT_walk_reference] = on_reference}};
    struct vm *v = figure(32);

    (void)state;
    asked = 0;
    vmslots_use(&v->policies, &last, "");
    for (uint32_t i = 0; i < 3; i++)
        vm_ask(v, 10, 0, 0, 0, figure8[i]);
    vm_finish(v);
    assert_int_equal(asked, 3); /* one entry is no choice */
    assert_int_equal(saw[0].level, 3);
    assert_int_equal(saw[0].n, 2);
    assert_int_equal(saw[0].last, 0);
    assert_int_equal(saw[1].level, 4);
    assert_int_equal(saw[1].n, 3);
    assert_int_equal(saw[2].n, 2);
    assert_int_equal(saw[2].last, v->read[4].pa);
    for (uint32_t i = 0; i < 3; i++) {
        hd_pa pte[4];
        hd_ptables_path(v->pt, 0, (hd_vpn){figure8[2 - i]}, pte);
        assert_int_equal(v->read[4 + i].pa, pte[3].v);
    }
    vm_close(v);
}

/* ---- the naive model ----------------------------------------------------- */

enum { REQUESTS = 400, PAGES = 6000 };

struct walk {
    uint64_t vpn, pte[4];
    uint32_t level; /* from 0 on */
    uint32_t walker; /* 0: it waits */
    uint64_t back; /* its read is back then; 0: none is under way */
    bool turn;
};

struct naive {
    struct vm *v;
    struct walk walk[REQUESTS]; /* the oldest first */
    uint32_t n, walkers, batch;
    uint64_t last[8], next[8]; /* of a walker: address, when it may read again */
    bool open[8];              /* none of its reads is back */
    struct vm_read read[4 * REQUESTS];
    uint32_t reads;
};

/* A read leaves for the oldest walk whose turn it is, or for the oldest whose
 * entry lies in the line read last. */
static void reads(struct naive *z, uint32_t walker, uint64_t now)
{
    struct walk *w = NULL;
    uint64_t address;

    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < z->n && w == NULL; i++) {
            struct walk *x = &z->walk[i];
            if (x->walker == walker && x->turn &&
                (pass == 1 || (z->last[walker] != 0 &&
                               x->pte[x->level] >> 7 == z->last[walker] >> 7)))
                w = x;
        }
    if (w == NULL)
        return;
    address = w->pte[w->level];
    z->read[z->reads++] = (struct vm_read){
        .pa = address, .at = now, .level = w->level + 1};
    z->last[walker] = address;
    z->next[walker] = now + 1;
    for (uint32_t i = 0; i < z->n; i++) {
        struct walk *x = &z->walk[i];
        if (x->walker == walker && x->turn && x->pte[x->level] == address) {
            x->turn = false;
            x->back = now + MEMORY + BACK;
        }
    }
}

/* A walk joins a walker that is reading the roots' entries. */
static void joins(struct naive *z, struct walk *w, uint32_t walker)
{
    w->walker = walker;
    w->turn = true;
    for (uint32_t i = 0; i < z->n; i++)
        if (z->walk[i].walker == walker && z->walk[i].back != 0 &&
            z->walk[i].pte[0] == w->pte[0]) {
            w->back = z->walk[i].back;
            w->turn = false;
        }
}

/* A walker at this instant, when what is back is back. */
static void serves(struct naive *z, uint32_t walker, uint64_t now)
{
    uint32_t mine = 0, busy = 0, level = 4;

    for (uint32_t i = 0; i < z->n; i++)
        if (z->walk[i].walker == walker) {
            mine++;
            busy += z->walk[i].turn || z->walk[i].back != 0;
        }
    for (uint32_t i = 0; i < z->n && mine < z->batch; i++)
        if (z->walk[i].walker == 0 && busy > 0 && z->open[walker]) {
            joins(z, &z->walk[i], walker);
            mine++;
        } else if (z->walk[i].walker == 0 && busy == 0 &&
                   (mine == 0 || z->next[walker] == now)) {
            z->walk[i].walker = walker;
            z->next[walker] = now; /* it gathers now, and no more later */
            z->open[walker] = true;
            mine++;
        }
    if (busy == 0) {
        for (uint32_t i = 0; i < z->n; i++)
            if (z->walk[i].walker == walker && z->walk[i].level < level)
                level = z->walk[i].level;
        for (uint32_t i = 0; i < z->n; i++)
            z->walk[i].turn |=
                z->walk[i].walker == walker && z->walk[i].level == level;
        z->last[walker] = 0;
        z->next[walker] = now;
    }
    if (z->next[walker] <= now)
        reads(z, walker, now);
}

static void naive_run(struct naive *z, const uint64_t *at, const uint64_t *vpn)
{
    uint32_t came = 0;

    for (uint64_t now = 0; came < REQUESTS || z->n > 0; now++) {
        uint32_t kept = 0, i;
        for (; came < REQUESTS && at[came] + WAY == now; came++) {
            hd_pa pte[4];
            for (i = 0; i < z->n && z->walk[i].vpn != vpn[came]; i++)
                ;
            if (i < z->n)
                continue;
            z->walk[z->n++] = (struct walk){.vpn = vpn[came]};
            hd_ptables_path(z->v->pt, 0, (hd_vpn){vpn[came]}, pte);
            for (uint32_t l = 0; l < 4; l++)
                z->walk[i].pte[l] = pte[l].v;
        }
        for (i = 0; i < z->n; i++) {
            struct walk *w = &z->walk[i];
            if (w->back == now && now != 0) {
                w->back = 0;
                w->level++;
                z->open[w->walker] = false;
            }
            if (w->level < 4)
                z->walk[kept++] = *w;
        }
        z->n = kept;
        for (uint32_t w = 1; w <= z->walkers; w++)
            serves(z, w, now);
    }
}

static int by_instant(const void *a, const void *b)
{
    const struct vm_read *x = a, *y = b;

    return x->at != y->at ? (x->at > y->at) - (x->at < y->at)
                          : (x->pa > y->pa) - (x->pa < y->pa);
}

/* With one walker.  (Of several, which one takes what waits at an instant is
 * nobody's business: the soak has them.) */
static void as_the_naive_model(void **state)
{
    uint64_t merged = 0, joined = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        static const uint32_t sizes[] = {2, 3, 8, 32, 100};
        struct hd_rng r = hd_rng_make(seed, 207);
        struct vm *v = machine(1, sizes[seed % 5]);
        struct naive *z = calloc(1, sizeof *z);
        uint64_t at[REQUESTS], vpn[REQUESTS], now = 1;
        uint32_t roots = seed % 2 == 0 ? 1 : 3, pages = PAGES / roots;
        uint32_t span = seed % 3 == 0 ? 40 : seed % 3 == 1 ? 600 : pages;
        vm_open(v, 1);
        for (uint64_t root = 0; root < roots; root++)
            vm_map(v, 0, A + (root << 27), pages);
        for (uint32_t i = 0; i < REQUESTS; i++) {
            now += hd_rng_below(&r, 3) == 0 ? hd_rng_below(&r, 300) : 0;
            at[i] = now;
            vpn[i] = A + hd_rng_below(&r, span) * (pages / span) +
                     ((uint64_t)hd_rng_below(&r, roots) << 27);
            vm_ask(v, now, 0, 0, 0, vpn[i]);
        }
        vm_finish(v);
        vm_true(v);
        z->v = v;
        z->walkers = 1;
        z->batch = v->walk.batch;
        naive_run(z, at, vpn);
        assert_int_equal(v->reads, z->reads);
        qsort(z->read, z->reads, sizeof *z->read, by_instant);
        qsort(v->read, v->reads, sizeof *v->read, by_instant);
        for (uint32_t i = 0; i < z->reads; i++)
            if (v->read[i].at != z->read[i].at ||
                v->read[i].pa != z->read[i].pa)
                fail_msg("seed %lu: read %u of 0x%lx leaves at %lu, that of "
                         "the naive model, 0x%lx, at %lu",
                         (unsigned long)seed, i, (unsigned long)v->read[i].pa,
                         (unsigned long)v->read[i].at,
                         (unsigned long)z->read[i].pa,
                         (unsigned long)z->read[i].at);
        assert_int_equal(vm_walks(v, 0, HD_WALK_REFERENCES) +
                             vm_walks(v, 0, HD_WALK_MERGED),
                         4 * vm_walks(v, 0, HD_WALK_WALKS));
        merged += vm_walks(v, 0, HD_WALK_MERGED);
        joined += vm_walks(v, 0, HD_WALK_JOINED);
        free(z);
        vm_close(v);
    }
    assert_true(merged > 10000); /* and there was something to compare */
    assert_true(joined > 1000);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure_8),
        cmocka_unit_test(to_the_cycle),
        cmocka_unit_test(joins_until_the_first_read_is_back),
        cmocka_unit_test(later_ones_wait),
        cmocka_unit_test(a_policy_says_which),
        cmocka_unit_test(as_the_naive_model),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm walk batches", tests, NULL, NULL);
}
