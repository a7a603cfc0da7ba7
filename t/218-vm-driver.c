/*
 * Pinned: the buffer of faults and the batches that the driver takes from it,
 * at random, compared with a naive twin: a list of packets that is shifted, a
 * batch that is picked page by page.  Who is held, what overflows, what is
 * known until PUT is read again, which pages a batch has in which order, how
 * often each faulted and since when, what is stale, dropped, counted; which
 * ends of blocks and of batches have requests tried again, under each policy; which
 * uTLB writes when, where packets are written one after the other.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <stdlib.h>

#include "kit/rng.h"
#include "paging/driver.h"

enum { APPS = 2, CORES = 5, BUFFER = 12, STEPS = 20000, GROUP = 4 };

struct twin {
    struct hd_packet way[BUFFER]; /* on their way, the oldest first */
    uint32_t on_way, turn, stale;
    hd_time next, interval;
    struct hd_packet wait[BUFFER];
    uint32_t waiting, known, of[CORES];
    uint64_t taken; /* packets that have left it */
    uint64_t count[APPS + 1][HD_DRIVER_STATS];
    uint32_t batches, batch, twice; /* of the service; of its last batch */
};

static void leave(struct twin *t, uint32_t n)
{
    memmove(t->wait, t->wait + n, (t->waiting - n) * sizeof *t->wait);
    t->waiting -= n;
    t->known -= n;
    t->taken += n;
}

/* Pages with odd groups are there; others begin at their group. */
static bool page(void *self, uint32_t app, hd_vpn vpn, hd_vpn *first)
{
    (void)self, (void)app;
    first->v = vpn.v / GROUP * GROUP;
    return vpn.v / GROUP % 4 != 3;
}

static void twin_put(struct twin *t, const struct hd_packet *p)
{
    t->wait[t->waiting++] = *p;
    t->count[p->app][HD_DRIVER_PACKETS]++;
    if (t->waiting > t->count[APPS][HD_DRIVER_PEAK])
        t->count[APPS][HD_DRIVER_PEAK] = t->waiting;
}

/* Packets that go one after the other: those of a uTLB, or of a core, the first
 * of each uTLB before the second ones. */
static uint32_t twin_queue(const struct hd_driver_cfg *cfg, uint32_t core,
                           uint32_t *queues)
{
    uint32_t n = cfg->utlb_cores, utlbs = (CORES + n - 1) / n;

    *queues = cfg->utlb_merge ? utlbs : utlbs * n;
    return core / n + (cfg->utlb_merge ? 0 : core % n * utlbs);
}

/* The first packet on its way of each queue may go; the one whose turn is next of
 * those that are there when the buffer can be written again. */
static hd_time twin_first(const struct twin *t, const struct hd_driver_cfg *cfg,
                          uint32_t *which)
{
    uint32_t queues;
    hd_time at = HD_NEVER;

    twin_queue(cfg, 0, &queues);

    for (uint32_t i = 0; i < t->on_way; i++)
        at = hd_min_u64(at, t->way[i].born);
    at = hd_max_u64(at, t->next);
    for (uint32_t k = 0; k < queues; k++)
        for (uint32_t i = 0; i < t->on_way; i++)
            if (twin_queue(cfg, t->way[i].core, &queues) ==
                (t->turn + k) % queues) {
                if (t->way[i].born > at)
                    break;
                *which = i;
                return at;
            }
    return HD_NEVER;
}

static void twin_advance(struct twin *t, const struct hd_driver_cfg *cfg,
                         hd_time now)
{
    uint32_t queues, i = 0;
    hd_time at;

    while (t->on_way > 0 && (at = twin_first(t, cfg, &i)) <= now) {
        struct hd_packet p = t->way[i];
        memmove(&t->way[i], &t->way[i + 1],
                (t->on_way - i - 1) * sizeof *t->way);
        t->on_way--;
        t->next = at + t->interval;
        t->turn = twin_queue(cfg, p.core, &queues) + 1;
        t->turn %= queues;
        twin_put(t, &p);
    }
}

static void twin_write(struct twin *t, const struct hd_driver_cfg *cfg,
                       const struct hd_packet *p)
{
    uint32_t *of = &t->of[p->core / cfg->utlb_cores];

    if (*of == cfg->utlb_faults) {
        t->count[p->app][HD_DRIVER_HELD]++;
        return;
    }
    twin_advance(t, cfg, p->born);
    if (t->waiting + t->on_way == cfg->buffer) {
        t->count[p->app][HD_DRIVER_OVERFLOWS]++;
        return;
    }
    ++*of;
    if (t->interval == 0)
        twin_put(t, p);
    else
        t->way[t->on_way++] = *p;
}

/* The next page of a batch: of the lowest application, and the lowest. */
static bool twin_next(struct twin *t, struct hd_packet *in, uint32_t n,
                      struct hd_packet *out, uint32_t *packets)
{
    uint32_t best = n;

    for (uint32_t i = 0; i < n; i++)
        if (in[i].core != HD_NONE &&
            (best == n || in[i].app < in[best].app ||
             (in[i].app == in[best].app && in[i].vpn.v < in[best].vpn.v)))
            best = i;
    *packets = 0;
    if (best == n)
        return false;
    *out = in[best];
    for (uint32_t i = 0; i < n; i++) {
        if (in[i].core == HD_NONE || in[i].app != out->app ||
            in[i].vpn.v != out->vpn.v)
            continue;
        out->born = hd_min_u64(out->born, in[i].born);
        in[i].core = HD_NONE;
        ++*packets;
    }
    t->count[out->app][HD_DRIVER_DUPLICATES] += *packets - 1;
    t->twice += *packets - 1;
    return true;
}

/* Blocks of packets of which none has a page in the batch. */
static uint32_t twin_idle(const struct hd_packet *stale, uint32_t n,
                          const struct hd_packet *page, uint32_t pages)
{
    uint32_t idle = 0;

    for (uint32_t i = 0; i < n; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < i; k++)
            seen |= stale[k].app == stale[i].app &&
                    stale[k].vpn.v / HD_LARGE_PAGES ==
                        stale[i].vpn.v / HD_LARGE_PAGES;
        for (uint32_t k = 0; k < pages; k++)
            seen |= page[k].app == stale[i].app &&
                    page[k].vpn.v / HD_LARGE_PAGES ==
                        stale[i].vpn.v / HD_LARGE_PAGES;
        idle += !seen;
    }
    return idle;
}

static void take(struct twin *t, struct hd_driver *d, uint32_t n)
{
    struct hd_packet in[BUFFER], stale[BUFFER], of[BUFFER], want;
    uint32_t pages, packets, got, m = 0, all;
    uint64_t twice, gone;

    t->count[t->wait[0].app][HD_DRIVER_BATCHES]++;
    t->batches++;
    t->batch = n;
    t->twice = t->stale = 0;
    for (uint32_t i = 0; i < n; i++) {
        in[m] = t->wait[i];
        if (page(NULL, in[m].app, in[m].vpn, &in[m].vpn)) {
            m++;
        } else {
            t->count[in[m].app][HD_DRIVER_STALE]++;
            stale[t->stale++] = t->wait[i];
        }
    }
    leave(t, n);
    all = pages = hd_driver_take(d, n, page, NULL);
    for (uint32_t i = 0; twin_next(t, in, m, &want, &packets); i++) {
        const struct hd_packet *p = hd_driver_batch(d, i, &got);

        assert_true(i < pages);
        assert_int_equal(p->app, want.app);
        assert_int_equal(p->vpn.v, want.vpn.v);
        assert_int_equal(p->born, want.born);
        assert_int_equal(got, packets);
        of[i] = want;
        pages -= i + 1 == pages ? i + 1 : 0;
    }
    assert_int_equal(pages, 0);
    hd_driver_last(d, &twice, &gone);
    assert_int_equal(twice, t->twice);
    assert_int_equal(gone, t->stale);
    assert_int_equal(hd_driver_idle_blocks(d),
                     twin_idle(stale, t->stale, of, all));
}

static bool twin_over(struct twin *t, const struct hd_driver_cfg *cfg,
                      hd_time now)
{
    bool useless = t->stale == t->batch, last;

    twin_advance(t, cfg, now);
    if (cfg->policy == HD_DRIVER_BATCH_FLUSH) {
        if (100 * t->twice > cfg->put_ratio * t->batch) {
            t->known = t->waiting;
            t->count[APPS][HD_DRIVER_PUT_READS]++;
        }
        for (uint32_t i = 0; i < t->known; i++)
            t->count[t->wait[i].app][HD_DRIVER_FLUSHED]++;
        leave(t, t->known);
    }
    last = t->batches == cfg->max_batches || t->waiting == 0;
    if (last)
        t->batches = 0;
    switch (cfg->policy) {
    case HD_DRIVER_BLOCK:
        return useless;
    case HD_DRIVER_ONCE:
        return last;
    default:
        return true;
    }
}

/* Adds to what was counted. */
static void drive(const struct hd_driver_cfg *cfg, uint64_t seed,
                  uint64_t *seen)
{
    struct hd_rng r = hd_rng_make(seed, 218);
    struct memenv m;
    struct hd_env *env = memenv_open(&m, APPS);
    struct hd_driver *d = hd_driver_open(env, cfg, CORES);
    struct twin t;
    hd_time now = 0;

    memset(&t, 0, sizeof t);
    t.interval = hd_ticks_ns(env->clk, cfg->interval);
    for (uint32_t i = 0; i < STEPS; i++) {
        struct hd_packet p = {.vpn = {hd_rng_below(&r, 20) +
                                      HD_LARGE_PAGES * hd_rng_below(&r, 2)},
                              .born = now += hd_rng_below(&r, 400),
                              .app = hd_rng_below(&r, APPS),
                              .core = hd_rng_below(&r, CORES)};
        uint32_t n, i_first;

        if (hd_rng_below(&r, 8) != 0) {
            hd_driver_write(d, &p);
            twin_write(&t, cfg, &p);
        } else {
            assert_int_equal(hd_driver_first(d),
                             t.waiting > 0  ? 0
                             : t.on_way > 0 ? twin_first(&t, cfg, &i_first)
                                            : HD_NEVER);
            twin_advance(&t, cfg, now);
            if (t.known == 0)
                t.known = t.waiting;
            n = hd_driver_known(d, now);
            assert_int_equal(n, t.known);
            for (uint32_t k = 0; k < n; k++)
                assert_memory_equal(hd_driver_packet(d, k), &t.wait[k],
                                    sizeof p);
            if (n != 0) {
                bool again;
                take(&t, d, 1 + hd_rng_below(&r, n));
                assert_int_equal(hd_driver_block_over(d, p.app),
                                 cfg->policy == HD_DRIVER_BLOCK);
                t.count[p.app][HD_DRIVER_BLOCKS]++;
                now += hd_rng_below(&r, 1000);
                again = twin_over(&t, cfg, now);
                assert_int_equal(hd_driver_batch_over(d, now), again);
                assert_int_equal(hd_driver_between(d), t.batches == 0);
                if (again || cfg->policy == HD_DRIVER_BLOCK) {
                    hd_driver_replay(d, n);
                    t.count[APPS][HD_DRIVER_REPLAYS]++;
                    t.count[APPS][HD_DRIVER_REPLAYED] += n;
                    memset(t.of, 0, sizeof t.of);
                }
            }
        }
        assert_int_equal(hd_driver_waiting(d), t.waiting);
        assert_int_equal(hd_driver_taken(d), t.taken);
    }
    for (uint32_t g = 0; g < m.stats.groups; g++)
        for (uint32_t app = 0; app <= APPS; app++)
            for (uint32_t k = 0; k < HD_DRIVER_STATS; k++)
                assert_int_equal(*hd_count(&m.stats.group[g].stat, 0,
                                           app < APPS ? app : HD_APP_NONE, k),
                                 t.count[app][k]);
    assert_int_equal(m.stats.groups, 1);
    for (uint32_t app = 0; app <= APPS; app++)
        for (uint32_t k = 0; k < HD_DRIVER_STATS; k++)
            seen[k] += t.count[app][k];
    memenv_close(&m);
}

static void by_chance(void **state)
{
    static const uint32_t utlb_cores[] = {1, 2, CORES};
    uint64_t seen[HD_DRIVER_STATS] = {0};

    (void)state;
    for (uint32_t policy = HD_DRIVER_BLOCK; policy <= HD_DRIVER_ONCE; policy++)
        for (uint32_t i = 0; i < 6; i++)
            drive(&(struct hd_driver_cfg){.policy = policy,
                                          .put_ratio = 25 * (i % 3 + 1),
                                          .max_batches = 1 + i % 3,
                                          .buffer = BUFFER - i % 3,
                                          .utlb_faults = 10 - 2 * (i % 3),
                                          .interval = 3 * (i % 3),
                                          .utlb_cores = utlb_cores[i % 3],
                                          .utlb_merge = i < 3},
                  1 + i, seen);
    for (uint32_t k = 0; k < HD_DRIVER_BATCH_CYCLES; k++)
        assert_true(seen[k] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_chance),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
