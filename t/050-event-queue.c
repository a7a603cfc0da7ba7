/*
 * Pinned: the event queue serves in the order of (instant, receiver, sender,
 * number, posting), whatever the order and the distance of the posts, in all
 * of its ways: lone events, shared buckets, instants with very many events,
 * posts for the instant being served, beyond the wheel, and from outside ahead
 * of what is ready.  A twin keeps an unsorted array and looks for the least.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <stdlib.h>

#include "kit/rng.h"
#include "kit/event.h"

enum { COMPONENTS = 40, ROOM = 1 << 16, LOG = 1 << 16 };

struct item {
    hd_time at;
    uint32_t dst, src, number, id;
};

struct rig {
    struct hd_arena arena;
    struct hd_events ev;
    struct hd_rng rng;
    struct item *wait; /* the twin */
    uint32_t waiting, posted, served, most;
    hd_time ticks; /* of a cycle */
    int stop;
    uint32_t log[LOG];
};

struct port {
    struct rig *r;
    uint32_t rank;
};

static struct port port[COMPONENTS];

/* Rank of a port: half of them are the last that there can be. */
static uint32_t rank(uint32_t i)
{
    return i < COMPONENTS / 2 ? i : HD_MAX_COMPONENTS - COMPONENTS + i;
}

/* ---- the twin ----------------------------------------------------------- */

static int order(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    if (x->number != y->number)
        return (int32_t)(x->number - y->number) < 0 ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static struct item twin_take(struct rig *r)
{
    uint32_t least = 0;
    struct item x;

    assert_true(r->waiting > 0);
    for (uint32_t i = 1; i < r->waiting; i++)
        if (order(&r->wait[i], &r->wait[least]) < 0)
            least = i;
    x = r->wait[least];
    r->wait[least] = r->wait[--r->waiting];
    return x;
}

/* ---- both --------------------------------------------------------------- */

static void post(struct rig *r, uint32_t src, uint32_t dst, uint32_t number,
                 hd_time at)
{
    assert_true(r->waiting < ROOM);
    r->wait[r->waiting++] = (struct item){at, dst, src, number, r->posted};
    if (number == 0)
        hd_post(&r->ev, rank(src), rank(dst), at, dst ^ 5, r->posted,
                at ^ r->posted * 0x123456789abcdefull);
    else
        hd_post_numbered(&r->ev, rank(src), rank(dst), number, at, dst ^ 5,
                         r->posted, at ^ r->posted * 0x123456789abcdefull);
    r->posted++;
}

/* A distance from now, in all of the places where events can go. */
static hd_time distance(struct rig *r)
{
    hd_time cycle = r->ticks, x = hd_rng_next(&r->rng);

    switch (hd_rng_below(&r->rng, 8)) {
    case 0:
        return 0;
    case 1:
        return x % (cycle / 4 + 1); /* about the bucket being served */
    case 2:
    case 3:
        return x % 6 * cycle; /* edges of a clock, shared by many */
    case 4:
        return x % (40 * cycle);
    case 5: /* about the end of the wheel */
        return (HD_EVENT_SLOTS / 4 - 2) * cycle + x % (4 * cycle);
    case 6:
        return x % (HD_EVENT_SLOTS * cycle);
    default:
        return x % 20 != 0 ? 8 * cycle : x % (20 * HD_EVENT_SLOTS * cycle);
    }
}

/* Posts an event of `src`; the last three senders number theirs. */
static void post_some(struct rig *r, uint32_t src)
{
    uint32_t dst = hd_rng_below(&r->rng, COMPONENTS), number = 0;
    hd_time at = hd_events_now(&r->ev) + distance(r);

    if (src >= COMPONENTS - 3) /* around the wrap, in any order, few values */
        number = UINT32_MAX - 4 + hd_rng_below(&r->rng, 9);
    post(r, src, dst, number, at);
}

static void serve(void *self, hd_time now, uint32_t what, uint32_t a,
                  uint64_t b)
{
    struct port *p = self;
    struct rig *r = p->r;
    struct item x = twin_take(r);
    uint32_t n = hd_rng_below(&r->rng, 3);

    assert_int_equal(a, x.id);
    assert_true(now == x.at && now == hd_events_now(&r->ev));
    assert_int_equal(p->rank, x.dst);
    assert_int_equal(what, x.dst ^ 5);
    assert_true(b == (x.at ^ x.id * 0x123456789abcdefull));
    r->log[r->served++ % LOG] = a;
    if (r->waiting > r->most)
        n = 0;
    else if (r->waiting < 3)
        n = 1;
    for (uint32_t i = 0; i < n; i++)
        post_some(r, p->rank);
    r->stop = hd_rng_below(&r->rng, 50) == 0;
}

static void rig_open(struct rig *r, hd_time ticks, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->ticks = ticks;
    r->rng = hd_rng_make(seed, 50);
    r->wait = test_malloc(ROOM * sizeof *r->wait);
    assert_int_equal(hd_arena_open(&r->arena, (size_t)1 << 28), 0);
    assert_int_equal(hd_events_open(&r->ev, &r->arena, ticks), 0);
    for (uint32_t i = 0; i < COMPONENTS; i++) {
        port[i] = (struct port){r, i};
        while (r->ev.components < rank(i))
            hd_events_component(&r->ev, "nobody", serve, NULL);
        assert_int_equal(hd_events_component(&r->ev, "port", serve, &port[i]),
                         rank(i));
    }
}

static void rig_close(struct rig *r)
{
    hd_arena_close(&r->arena);
    test_free(r->wait);
}

/* Serves about n events, in runs of many lengths, posting from outside. */
static void drive(struct rig *r, uint32_t n)
{
    uint32_t until_served = r->served + n;

    while (r->served < until_served) {
        hd_time now = hd_events_now(&r->ev), until = now + distance(r);
        uint32_t before = r->served;
        uint64_t count;

        r->stop = 0;
        for (uint32_t i = hd_rng_below(&r->rng, 3); i > 0; i--)
            post_some(r, hd_rng_below(&r->rng, COMPONENTS));
        count = hd_events_run(&r->ev, until, &r->stop);
        assert_int_equal(count, r->served - before);
        assert_int_equal(hd_events_waiting(&r->ev), r->waiting);
        if (r->stop == 0) {
            assert_true(hd_events_now(&r->ev) == until);
            for (uint32_t i = 0; i < r->waiting; i++)
                assert_true(r->wait[i].at > until);
        }
    }
}

/* ---- tests -------------------------------------------------------------- */

/* Few and many events in flight, and cycles of every length. */
static void order_holds(void **state)
{
    static const hd_time ticks[] = {1, 4, 7, 170, 1 << 20, 1ull << 44};
    static const uint32_t most[] = {1, 5, 60, 600};

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(ticks); i++) {
        for (uint32_t k = 0; k < HD_LEN(most); k++) {
            struct rig *r = test_malloc(sizeof *r);
            rig_open(r, ticks[i], i * 10 + k);
            r->most = most[k];
            drive(r, ticks[i] > 1ull << 40 ? 150 : 4000); /* no overflow */
            rig_close(r);
            test_free(r);
        }
    }
}

/* Instants of many bits. */
static void long_times(void **state)
{
    (void)state;
    for (uint64_t high = 1; high < 1 << 20; high *= 8) {
        struct rig *r = test_malloc(sizeof *r);
        hd_time start = (high << 40) - 1700;
        rig_open(r, 170, high);
        r->most = 100;
        post(r, 0, 0, 0, start);
        while (hd_events_now(&r->ev) < start) {
            r->stop = 0;
            hd_events_run(&r->ev, start, &r->stop);
        }
        drive(r, 2000);
        assert_true(hd_events_now(&r->ev) >> 40 >= high);
        rig_close(r);
        test_free(r);
    }
}

static uint32_t expected;
static struct item *sorted;

static void in_order(void *self, hd_time now, uint32_t what, uint32_t a,
                     uint64_t b)
{
    (void)self, (void)what, (void)b;
    assert_int_equal(a, sorted[expected].id);
    assert_true(now == sorted[expected].at);
    expected++;
}

/* More events of one instant, or of one bucket, than the first pool holds. */
static void large_bucket(uint32_t n, hd_time spread, uint32_t senders,
                         hd_time at)
{
    struct rig *r = test_malloc(sizeof *r);

    rig_open(r, 1 << 20, n);
    for (uint32_t i = 0; i < COMPONENTS; i++)
        r->ev.to[rank(i)].fn = in_order;
    for (uint32_t i = 0; i < n; i++)
        post(r, hd_rng_below(&r->rng, senders),
             hd_rng_below(&r->rng, COMPONENTS), 0,
             at + hd_rng_below(&r->rng, (uint32_t)spread));
    qsort(r->wait, n, sizeof *r->wait, order);
    sorted = r->wait;
    expected = 0;
    assert_int_equal(hd_events_run(&r->ev, HD_NEVER, &r->stop), n);
    assert_int_equal(expected, n);
    assert_int_equal(hd_events_waiting(&r->ev), 0);
    rig_close(r);
    test_free(r);
}

static void large(void **state)
{
    static const hd_time at[] = {0, 3 << 20,
                                 1ull << 34}; /* heap, wheel, heap */

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(at); i++) {
        large_bucket(40000, 1, COMPONENTS, at[i]);
        large_bucket(40000, 1 << 18, COMPONENTS, at[i]);
        large_bucket(20000, 2, 1, at[i]);
    }
}

/* Posted in rising and in falling order of ranks. */
static void runs(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 200; n += 1 + n / 4) {
        struct rig *r = test_malloc(sizeof *r);
        rig_open(r, 170, n);
        for (uint32_t i = 0; i < COMPONENTS; i++)
            r->ev.to[rank(i)].fn = in_order;
        for (uint32_t i = 0; i < n; i++)
            post(r, i % COMPONENTS, i % COMPONENTS, 0, 1700);
        for (uint32_t i = n; i > 0; i--)
            post(r, i % COMPONENTS, i % COMPONENTS, 0, 3400);
        qsort(r->wait, r->posted, sizeof *r->wait, order);
        sorted = r->wait;
        expected = 0;
        assert_int_equal(hd_events_run(&r->ev, 3400, &r->stop), 2 * n);
        rig_close(r);
        test_free(r);
    }
}

/* Buckets of every size that is sorted in a way of its own, with many equal
 * keys: few instants, receivers and senders, of which some number theirs. */
static void sizes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 900; i++) {
        uint32_t n = 1 + i % 300;
        struct rig *r = test_malloc(sizeof *r);
        rig_open(r, 170, i);
        for (uint32_t k = 0; k < COMPONENTS; k++)
            r->ev.to[rank(k)].fn = in_order;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t src = hd_rng_below(&r->rng, 3);
            uint32_t number = UINT32_MAX - 4 + hd_rng_below(&r->rng, 9);
            post(r, src, hd_rng_below(&r->rng, i < 300 ? 2 : COMPONENTS),
                 src == 0 ? 0 : number, 1700 + hd_rng_below(&r->rng, 2));
        }
        qsort(r->wait, n, sizeof *r->wait, order);
        sorted = r->wait;
        expected = 0;
        assert_int_equal(hd_events_run(&r->ev, 3400, &r->stop), n);
        rig_close(r);
        test_free(r);
    }
}

/* What lies in the arena is the whole state: it can be put back. */
static void restored(void **state)
{
    struct rig *r = test_malloc(sizeof *r), *old = test_malloc(sizeof *old);
    struct item *wait = test_malloc(ROOM * sizeof *wait);
    unsigned char *image;
    uint32_t *first = test_malloc(sizeof r->log);

    (void)state;
    rig_open(r, 170, 99);
    r->most = 20000; /* the pool grows in between */
    for (uint32_t i = 0; i < 300; i++)
        post_some(r, i % COMPONENTS);
    drive(r, 1000);
    image = test_malloc(r->arena.used);
    memcpy(image, r->arena.base, r->arena.used);
    memcpy(wait, r->wait, ROOM * sizeof *wait);
    *old = *r;
    for (uint32_t i = 0; i < 17000; i++)
        post_some(r, i % COMPONENTS);
    drive(r, 1000);

    memcpy(r->arena.base, image, old->arena.used);
    *r = *old;
    memcpy(r->wait, wait, ROOM * sizeof *wait);
    hd_events_restored(&r->ev);
    drive(r, 3000);
    memcpy(first, r->log, sizeof r->log);

    memcpy(r->arena.base, image, old->arena.used);
    *r = *old;
    memcpy(r->wait, wait, ROOM * sizeof *wait);
    hd_events_restored(&r->ev);
    drive(r, 3000);
    assert_memory_equal(first, r->log, sizeof r->log);
    rig_close(r);
    test_free(image);
    test_free(first);
    test_free(wait);
    test_free(old);
    test_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_holds), cmocka_unit_test(long_times),
        cmocka_unit_test(large),       cmocka_unit_test(runs),
        cmocka_unit_test(sizes),       cmocka_unit_test(restored),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
