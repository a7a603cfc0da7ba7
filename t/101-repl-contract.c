/*
 * Pinned: what every replacement policy may rely on and must keep to, run
 * over lru, fifo, random and srrip; each decides as a naive twin written from
 * its definition; lru equals the default, insertions at the end included;
 * copies of a structure do not influence each other.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <stdlib.h>

#include "kit/rng.h"
#include "memory/assoc.h"
#include "policy.h"
#include "sim.h"

enum { SEED = 99, MOST = 4096 };

/* A policy between an array and a log of what it was asked and told.  It is
 * bound to the array's structure; where that has several copies, an array of
 * bindings, one for each. */
struct binding {
    const struct heddle_policy *p;
    struct heddle_place place;
    void *state;
    struct hd_assoc *a;
    /* contract */
    uint64_t present[MOST]; /* key of each way as the questions tell it */
    uint64_t victims;
    uint32_t expect_gone; /* way + 1 that was chosen and must go next */
    struct heddle_policy probe;
};

/* A simulation that is nothing but arrays. */
struct rig {
    struct hd_sim_head head; /* must be first: it is the simulation */
    struct memenv m;
};

static heddle_sim *rig_sim(struct rig *g)
{
    return (heddle_sim *)(void *)g;
}

static struct hd_env *rig_open(struct rig *g, uint32_t apps)
{
    struct heddle_place machine = {.apps = apps, .seed = SEED};
    struct hd_env *env = memenv_open(&g->m, apps);

    g->head.env = env;
    assert_int_equal(hd_slots_open(&g->m.slots, env, rig_sim(g), &machine), 0);
    return env;
}

static void rig_close(struct rig *g)
{
    assert_string_equal(g->m.err.text, "");
    hd_slots_close(&g->m.slots);
    memenv_close(&g->m);
}

extern const struct heddle_policy hd_policy_lru, hd_policy_fifo,
    hd_policy_random, hd_policy_srrip; /* find.c */

static const struct heddle_policy *const policies[] = {
    &hd_policy_lru, &hd_policy_fifo, &hd_policy_random, &hd_policy_srrip};

static const struct {
    uint32_t sets, ways;
} shapes[] = {{1, 1}, {1, 2}, {1, 16}, {1, 64}, {8, 4}, {7, 16}, {3, 40}};

static void told(struct binding *b, enum heddle_note note, const void *n)
{
    if (b->p->watch[note] != NULL)
        b->p->watch[note](b->state, n);
}

static uint64_t *way_of(struct binding *b, const struct heddle_n_repl_touch *n)
{
    assert_int_equal(n->ways, b->place.ways);
    assert_true(n->set < b->place.sets && n->way < n->ways);
    assert_true(n->instance < b->place.instances);
    return &b->present[n->set * n->ways + n->way];
}

static void on_touch(void *self, const void *note)
{
    const struct heddle_n_repl_touch *n = note;
    struct binding *b = (struct binding *)self + n->instance;

    assert_true(*way_of(b, n) == n->key && n->last == 0);
    told(b, HEDDLE_NOTE_repl_touch, note);
}

static void on_fill(void *self, const void *note)
{
    const struct heddle_n_repl_touch *n = note;
    struct binding *b = (struct binding *)self + n->instance;

    assert_true(*way_of(b, n) == HD_KEY_NONE && b->expect_gone == 0);
    *way_of(b, n) = n->key;
    told(b, HEDDLE_NOTE_repl_fill, note);
}

static void on_gone(void *self, const void *note)
{
    const struct heddle_n_repl_touch *n = note;
    struct binding *b = (struct binding *)self + n->instance;

    assert_true(*way_of(b, n) == n->key && n->key != HD_KEY_NONE);
    assert_true(b->expect_gone == 0 || b->expect_gone == n->way + 1);
    b->expect_gone = 0;
    *way_of(b, n) = HD_KEY_NONE;
    told(b, HEDDLE_NOTE_repl_gone, note);
}

static int64_t on_victim(void *self, const void *question)
{
    const struct heddle_q_repl_victim *q = question;
    struct binding *b = (struct binding *)self + q->instance;
    int64_t way;

    assert_int_equal(q->ways, b->place.ways);
    assert_true(q->from <= q->to && q->to < q->ways);
    for (uint64_t w = q->from; w <= q->to; w++) /* only when they are full */
        assert_true(b->present[q->set * q->ways + w] != HD_KEY_NONE);
    way = b->p->answer[HEDDLE_POINT_repl_victim](b->state, question);
    assert_true((uint64_t)way >= q->from && (uint64_t)way <= q->to);
    b->victims++;
    b->expect_gone = (uint32_t)way + 1;
    return way;
}

static void *new_state(const struct heddle_policy *p,
                       const struct heddle_place *place)
{
    uint64_t values[8] = {0};
    void *state;

    for (uint32_t i = 0; p->params && p->params[i].name; i++)
        values[i] = p->params[i].def;
    state = calloc(1, p->state_bytes(place, values));
    assert_int_equal(p->init(state, place, values), 0);
    return state;
}

static void *itself(void *ud, heddle_sim *s, const struct heddle_place *p,
                    const uint64_t *params)
{
    const struct binding *b = ud;

    (void)s, (void)params;
    assert_true(p->sets == b->place.sets && p->ways == b->place.ways &&
                p->instances == b->place.instances);
    return ud;
}

/* Binds to a structure, whose copies are `a`, one for each binding from b on.
 */
static void bind_to(struct rig *g, const char *at, struct binding *b,
                    struct hd_assoc *a)
{
    b->probe = (struct heddle_policy){
        .abi = HEDDLE_POLICY_ABI,
        .name = "probe",
        .ud = b,
        .open = itself,
        .answer = {[HEDDLE_POINT_repl_victim] = on_victim},
        .watch = {[HEDDLE_NOTE_repl_touch] = on_touch,
                  [HEDDLE_NOTE_repl_fill] = on_fill,
                  [HEDDLE_NOTE_repl_gone] = on_gone}};
    assert_int_equal(heddle_use(rig_sim(g), &b->probe, at, NULL, NULL, 0, 0),
                     0);
    for (uint32_t k = 0; k < b->place.instances; k++) {
        hd_assoc_bound(&a[k]);
        for (uint32_t i = 0; i < MOST; i++)
            b[k].present[i] = HD_KEY_NONE;
    }
}

static struct heddle_place place_of(uint32_t instances, uint32_t sets,
                                    uint32_t ways)
{
    struct heddle_place p = {.at = "l2cache",
                             .instances = instances,
                             .sets = sets,
                             .ways = ways,
                             .seed = SEED};
    return p;
}

/* ---- naive twins ------------------------------------------------------ */

struct twin {
    const char *name;
    uint32_t sets, ways;
    uint64_t key[MOST];
    uint32_t rrpv[MOST];         /* srrip */
    uint32_t queue[8][64], n[8]; /* lru, fifo: ways, next victim first */
    uint64_t drawn;              /* random */
};

static bool is(const struct twin *t, const char *name)
{
    return strcmp(t->name, name) == 0;
}

static void queue_remove(struct twin *t, uint32_t set, uint32_t way)
{
    uint32_t *q = t->queue[set], i = 0;

    while (q[i] != way)
        i++;
    memmove(q + i, q + i + 1, (t->n[set] - i - 1) * sizeof *q);
    t->n[set]--;
}

static uint32_t twin_victim(struct twin *t, uint32_t set)
{
    if (is(t, "random")) {
        uint64_t d = hd_mix64(hd_mix64(SEED) + hd_mix64(t->drawn++));
        return (uint32_t)((d >> 32) * t->ways >> 32);
    }
    if (!is(t, "srrip"))
        return t->queue[set][0];
    for (;;) {
        for (uint32_t w = 0; w < t->ways; w++)
            if (t->rrpv[set * t->ways + w] == 3)
                return w;
        for (uint32_t w = 0; w < t->ways; w++)
            t->rrpv[set * t->ways + w]++;
    }
}

static void twin_enter(struct twin *t, uint32_t set, uint32_t way, uint64_t key,
                       bool last)
{
    uint32_t *q = t->queue[set];

    t->key[set * t->ways + way] = key;
    t->rrpv[set * t->ways + way] = last ? 3 : 2;
    if (last) {
        memmove(q + 1, q, t->n[set] * sizeof *q);
        q[0] = way;
    } else {
        q[t->n[set]] = way;
    }
    t->n[set]++;
}

/* An access; `last` for a newcomer.  Returns the key that left. */
static uint64_t twin_access(struct twin *t, uint64_t key, bool last)
{
    uint32_t set = (uint32_t)(key % t->sets), way = 0;
    uint64_t *k = &t->key[set * t->ways], gone = HD_KEY_NONE;

    while (way < t->ways && k[way] != key)
        way++;
    if (way < t->ways) {
        t->rrpv[set * t->ways + way] = 0;
        if (is(t, "lru")) {
            queue_remove(t, set, way);
            t->queue[set][t->n[set]++] = way;
        }
        return HD_KEY_NONE;
    }
    for (way = 0; way < t->ways && k[way] != HD_KEY_NONE;)
        way++;
    if (way == t->ways) {
        way = twin_victim(t, set);
        gone = k[way];
        queue_remove(t, set, way);
    }
    twin_enter(t, set, way, key, last);
    return gone;
}

static void twin_drop(struct twin *t, uint64_t key)
{
    uint32_t set = (uint32_t)(key % t->sets);

    for (uint32_t w = 0; w < t->ways; w++) {
        if (t->key[set * t->ways + w] == key) {
            t->key[set * t->ways + w] = HD_KEY_NONE;
            queue_remove(t, set, w);
        }
    }
}

/* ---- tests ------------------------------------------------------------ */

/* One access of an array; returns the key that left. */
static uint64_t access_key(struct hd_assoc *a, uint64_t key, bool last)
{
    struct hd_who who = {1, 2};
    uint32_t set = (uint32_t)(key % a->sets), e = hd_assoc_find(a, set, key);
    uint64_t gone = HD_KEY_NONE;

    if (e != HD_NONE)
        hd_assoc_touch(a, e, who);
    else if (last)
        hd_assoc_place_last(a, set, key, who, &gone);
    else
        hd_assoc_place(a, set, key, who, &gone);
    return gone;
}

static void against_twin(const struct heddle_policy *p, uint32_t sets,
                         uint32_t ways, uint32_t n)
{
    struct rig g;
    struct hd_env *env = rig_open(&g, 1);
    struct hd_assoc a;
    struct binding *b = calloc(1, sizeof *b);
    struct twin *t = calloc(1, sizeof *t);
    struct hd_rng r = hd_rng_make(sets, ways);

    hd_assoc_open(&a, env, "l2cache", 0, sets, ways);
    b->p = p;
    b->place = place_of(1, sets, ways);
    b->state = new_state(p, &b->place);
    bind_to(&g, "l2cache", b, &a);
    t->name = p->name;
    t->sets = sets;
    t->ways = ways;
    for (uint32_t i = 0; i < MOST; i++)
        t->key[i] = HD_KEY_NONE;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t key = hd_rng_below(&r, sets * ways * 3 / 2 + 2);
        uint32_t what = hd_rng_below(&r, 100);
        uint32_t e = hd_assoc_find(&a, (uint32_t)(key % sets), key);

        if (what < 2) {
            if (e != HD_NONE)
                hd_assoc_drop(&a, e);
            twin_drop(t, key);
            continue;
        }
        assert_true(access_key(&a, key, what < 10) ==
                    twin_access(t, key, what < 10));
    }
    for (uint32_t i = 0; i < sets * ways; i++)
        assert_true(a.key[i] == t->key[i]);
    assert_true(b->victims > n / 20);
    rig_close(&g);
    free(b->state);
    free(b);
    free(t);
}

static void every_policy_equals_its_twin(void **state)
{
    (void)state;
    for (size_t p = 0; p < HD_LEN(policies); p++)
        for (size_t s = 0; s < HD_LEN(shapes); s++)
            against_twin(policies[p], shapes[s].sets, shapes[s].ways, 20000);
}

/* The default, unbound, next to lru as a policy. */
static void lru_equals_the_default(void **state)
{
    (void)state;
    for (size_t s = 0; s < HD_LEN(shapes); s++) {
        struct rig g;
        struct hd_env *env = rig_open(&g, 1);
        struct hd_assoc a, d;
        struct binding *b = calloc(1, sizeof *b);
        struct hd_rng r = hd_rng_make(5, s);

        hd_assoc_open(&a, env, "l2cache", 0, shapes[s].sets, shapes[s].ways);
        hd_assoc_open(&d, env, "l1cache", 0, shapes[s].sets, shapes[s].ways);
        b->p = &hd_policy_lru;
        b->place = place_of(1, shapes[s].sets, shapes[s].ways);
        b->state = new_state(b->p, &b->place);
        bind_to(&g, "l2cache", b, &a);
        hd_assoc_bound(&d);
        assert_int_equal(d.asked & (HD_ASSOC_TOUCH | HD_ASSOC_ENTRY), 0);
        for (uint32_t i = 0; i < 30000; i++) {
            uint64_t key = hd_rng_below(&r, a.sets * a.ways * 3 / 2 + 2);
            bool last = hd_rng_below(&r, 10) == 0;
            assert_true(access_key(&a, key, last) == access_key(&d, key, last));
        }
        rig_close(&g);
        free(b->state);
        free(b);
    }
}

/* Copy 1 decides the same, whether or not copy 0 is busy. */
static void copies_are_apart(void **state)
{
    (void)state;
    for (size_t p = 0; p < HD_LEN(policies); p++) {
        uint64_t hash[2] = {0, 0};

        for (int busy = 0; busy < 2; busy++) {
            struct rig g;
            struct hd_env *env = rig_open(&g, 1);
            struct hd_assoc a[2];
            struct binding *b = calloc(2, sizeof *b);
            struct hd_rng r = hd_rng_make(1, 1), other = hd_rng_make(2, 2);
            struct heddle_place place = place_of(2, 4, 8);
            void *shared = new_state(policies[p], &place);

            for (uint32_t i = 0; i < 2; i++) {
                hd_assoc_open(&a[i], env, "l2cache", i, 4, 8);
                b[i].p = policies[p];
                b[i].place = place;
                b[i].state = shared;
            }
            bind_to(&g, "l2cache", b, a);
            for (uint32_t i = 0; i < 5000; i++) {
                hash[busy] =
                    hd_mix64(hash[busy] ^
                             access_key(&a[1], hd_rng_below(&r, 50), false));
                if (busy)
                    access_key(&a[0], hd_rng_below(&other, 60), false);
            }
            assert_true(b[1].victims > 100);
            rig_close(&g);
            free(shared);
            free(b);
        }
        assert_true(hash[0] == hash[1]);
    }
}

/* Where ways are shared out, an application's share is like a set that has no
 * other ways: under each policy, and the default. */
static void an_array(struct hd_assoc *a, struct rig *g, const char *at,
                     struct binding *b, const struct heddle_policy *p,
                     uint32_t ways)
{
    hd_assoc_open(a, g->head.env, at, 0, 4, ways);
    if (p == NULL)
        return;
    b->p = p;
    b->place = place_of(1, 4, ways);
    b->state = new_state(p, &b->place);
    bind_to(g, at, b, a);
}

static uint64_t of_app(struct hd_assoc *a, uint64_t key, uint32_t app,
                       bool last)
{
    struct hd_who who = {app, 2};
    uint32_t set = (uint32_t)(key % 4), e = hd_assoc_find(a, set, key);
    uint64_t gone = HD_KEY_NONE;

    if (e != HD_NONE)
        hd_assoc_touch(a, e, who);
    else if (last)
        e = hd_assoc_place_last(a, set, key, who, &gone);
    else
        e = hd_assoc_place(a, set, key, who, &gone);
    assert_true(hd_assoc_owns(a, e, app));
    return gone;
}

static void a_share_is_a_set(void **state)
{
    static const uint32_t ways[] = {5, 5, 6};
    static const char *const at[] = {"first", "second", "third"};
    static const struct heddle_policy *const each[] = {
        NULL, &hd_policy_lru, &hd_policy_fifo, &hd_policy_srrip};

    (void)state;
    for (size_t p = 0; p < HD_LEN(each); p++) {
        struct rig g;
        struct hd_assoc all, own[3];
        struct binding *b = calloc(4, sizeof *b);
        struct hd_rng r = hd_rng_make(7, p);
        uint32_t gone = 0;

        rig_open(&g, 3);
        an_array(&all, &g, "l2cache", &b[3], each[p], 16);
        assert_int_equal(hd_assoc_share(&all, 3), 0);
        for (uint32_t i = 0; i < 3; i++)
            an_array(&own[i], &g, at[i], &b[i], each[p], ways[i]);
        for (uint32_t i = 0; i < 30000; i++) {
            uint32_t app = hd_rng_below(&r, 3);
            uint64_t key = hd_rng_below(&r, 35) + 1000 * app;
            bool last = hd_rng_below(&r, 10) == 0;
            uint64_t left = of_app(&all, key, app, last);

            b[3].expect_gone = 0;
            assert_true(left == of_app(&own[app], key, app, last));
            gone += left != HD_KEY_NONE;
        }
        assert_true(gone > 3000);
        rig_close(&g);
        for (uint32_t i = 0; i < 4; i++)
            free(b[i].state);
        free(b);
    }
}

/* What a policy passes on is the default's, which has kept up. */
static int64_t pass(void *self, const void *q)
{
    (void)self, (void)q;
    return HEDDLE_PASS;
}

static void count(void *self, const void *note)
{
    (void)note;
    ++*(uint64_t *)self;
}

static void the_default_keeps_up(void **state)
{
    static const struct heddle_policy passes = {
        .abi = HEDDLE_POLICY_ABI,
        .name = "passes",
        .answer = {[HEDDLE_POINT_repl_victim] = pass},
        .watch = {[HEDDLE_NOTE_repl_touch] = count,
                  [HEDDLE_NOTE_repl_fill] = count,
                  [HEDDLE_NOTE_repl_gone] = count}};
    struct rig g;
    struct hd_env *env = rig_open(&g, 1);
    struct hd_assoc a, d;
    struct hd_rng r = hd_rng_make(3, 3);
    const uint64_t *told;

    (void)state;
    hd_assoc_open(&a, env, "l2cache", 0, 4, 8);
    hd_assoc_open(&d, env, "l1cache", 0, 4, 8);
    assert_int_equal(
        heddle_use(rig_sim(&g), &passes, "l2cache", NULL, NULL, 0, 0), 0);
    told = heddle_used_state(rig_sim(&g), 0, 0, NULL);
    hd_assoc_bound(&a);
    hd_assoc_bound(&d);
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t key = hd_rng_below(&r, 50);
        assert_true(access_key(&a, key, i % 9 == 0) ==
                    access_key(&d, key, i % 9 == 0));
    }
    assert_true(*told > 20000); /* an access is a touch, or a fill */
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_equals_its_twin),
        cmocka_unit_test(lru_equals_the_default),
        cmocka_unit_test(copies_are_apart),
        cmocka_unit_test(a_share_is_a_set),
        cmocka_unit_test(the_default_keeps_up),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
