/*
 * driver.c - the fault buffer and the driver's loop over it.
 *
 * After NVIDIA's UVM driver (uvm_gpu_replayable_faults.c of the open kernel
 * modules), and what Allen and Ge (SC 2021) measured of it.  A request that
 * finds its page not resident writes a packet into a ring.  The driver takes
 * packets out in batches, merges those of one page, sorts them by address space
 * and address, and serves them 2 MB block by 2 MB block:
 *
 *     t_batch = base + blocks * block + bytes over the link
 *
 * A replay has all requests that wait tried again, whatever they wait for;
 * those whose pages are still not resident fault again, so packets of one page
 * are in the ring more than once.  The policy says when:
 *
 *   block        after each block
 *   batch        after each batch
 *   batch_flush  likewise, but packets that the driver knows of are dropped
 *                before: up to PUT as it was read last, or, when more of the
 *                batch than a ratio were duplicates, up to PUT as it is now
 *   once         when no packets are left, or after so many batches
 *
 * PUT is read when all packets that are known have been taken, so a batch holds
 * what had arrived until then, at most so many.  A packet whose page has become
 * resident since (with a neighbour, or for another packet) is stale; it counts
 * as a duplicate, as does each further one of a page.
 *
 * A uTLB, which adjacent cores share, has at most so many packets between two
 * replays; what faults beyond that waits for the replay without one, as does
 * what finds the ring full.  No request waits for ever: a packet that is taken
 * or dropped is followed by a replay, and the first request after a replay
 * finds room.
 *
 * This file is the ring and the decisions; driverloop.c has the events, the
 * pages and the requests.
 *
 * Invariants: packets written = those taken, dropped, and in the ring; those
 * taken = pages + duplicates.
 *
 * Left out on purpose: the limit on throttled batches and prefetch faults;
 * uvm_perf_fault_coalesce, since merging costs nothing here; that the copies of
 * one block continue while the next one is managed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "driver.h"

#include <stdlib.h>

#define HD_PART    uvm
#define HD_CFG     struct hd_driver_cfg
#define HD_PART_OF "paging/uvm.def"
#include "kit/rows.h"

struct state {
    uint64_t get, put; /* packets ever taken or dropped, and written */
    uint64_t known;    /* PUT as it was read last */
    uint32_t batches;  /* of the service under way */
    uint32_t taken;    /* packets of the batch under way */
    uint32_t twice;    /* of those: duplicates and stale ones */
};

struct hd_driver {
    struct hd_env *env;
    struct hd_driver_cfg cfg;
    struct state *s;        /* arena */
    struct hd_packet *ring; /* arena: [cfg.buffer] */
    uint32_t *of;           /* arena: [utlbs], since the last replay */
    uint32_t utlbs;
    struct hd_packet *batch; /* scratch: [cfg.buffer] */
    uint32_t *packets;       /* of each page of it */
    struct hd_stat stat;
};

static uint64_t *driver_row(const struct hd_driver *d, uint32_t app)
{
    return hd_count_row(&d->stat, 0, app);
}

/* ---- the ring ----------------------------------------------------------- */

uint32_t hd_driver_waiting(const struct hd_driver *d)
{
    return (uint32_t)(d->s->put - d->s->get);
}

uint64_t hd_driver_taken(const struct hd_driver *d)
{
    return d->s->get;
}

void hd_driver_write(struct hd_driver *d, const struct hd_packet *p)
{
    uint64_t *peak = &driver_row(d, HD_APP_NONE)[HD_DRIVER_PEAK];

    uint32_t *of = &d->of[p->core / d->cfg.utlb_cores];

    if (*of >= d->cfg.utlb_faults) {
        driver_row(d, p->app)[HD_DRIVER_HELD]++;
        return;
    }
    if (hd_driver_waiting(d) == d->cfg.buffer) {
        driver_row(d, p->app)[HD_DRIVER_OVERFLOWS]++;
        return;
    }
    (*of)++;
    d->ring[d->s->put++ % d->cfg.buffer] = *p;
    driver_row(d, p->app)[HD_DRIVER_PACKETS]++;
    *peak = hd_max_u64(*peak, hd_driver_waiting(d));
}

uint32_t hd_driver_known(struct hd_driver *d)
{
    if (d->s->get == d->s->known)
        d->s->known = d->s->put;
    return (uint32_t)(d->s->known - d->s->get);
}

const struct hd_packet *hd_driver_packet(const struct hd_driver *d, uint32_t i)
{
    return &d->ring[(d->s->get + i) % d->cfg.buffer];
}

/* ---- a batch ------------------------------------------------------------ */

static int driver_order(const void *a, const void *b)
{
    const struct hd_packet *x = a, *y = b;

    if (x->app != y->app)
        return x->app < y->app ? -1 : 1;
    if (x->vpn.v != y->vpn.v)
        return x->vpn.v < y->vpn.v ? -1 : 1;
    return x->born < y->born ? -1 : x->born > y->born;
}

uint32_t hd_driver_take(struct hd_driver *d, uint32_t n, hd_driver_page *page,
                        void *self)
{
    uint32_t faults = 0, pages = 0;

    d->s->taken = n;
    d->s->batches++;
    driver_row(d, hd_driver_packet(d, 0)->app)[HD_DRIVER_BATCHES]++;
    for (uint32_t i = 0; i < n; i++) {
        struct hd_packet *p = &d->batch[faults];
        *p = *hd_driver_packet(d, i);
        if (page(self, p->app, p->vpn, &p->vpn))
            faults++;
        else
            driver_row(d, p->app)[HD_DRIVER_STALE]++;
    }
    d->s->get += n;
    qsort(d->batch, faults, sizeof *d->batch, driver_order);
    for (uint32_t i = 0; i < faults; i++) {
        const struct hd_packet *p = &d->batch[i];
        bool again = pages > 0 && p->app == d->batch[pages - 1].app &&
                     p->vpn.v == d->batch[pages - 1].vpn.v;
        if (!again) {
            d->packets[pages] = 0;
            d->batch[pages++] = *p;
        }
        d->packets[pages - 1]++;
        driver_row(d, p->app)[HD_DRIVER_DUPLICATES] += again;
    }
    d->s->twice = n - pages;
    return pages;
}

const struct hd_packet *hd_driver_batch(const struct hd_driver *d, uint32_t i,
                                        uint32_t *packets)
{
    *packets = d->packets[i];
    return &d->batch[i];
}

/* ---- replays ------------------------------------------------------------ */

bool hd_driver_block_over(struct hd_driver *d, uint32_t app)
{
    driver_row(d, app)[HD_DRIVER_BLOCKS]++;
    return d->cfg.policy == HD_DRIVER_BLOCK;
}

/* Drops what is known; all, if too many of the batch were duplicates. */
static void driver_flush(struct hd_driver *d)
{
    struct state *s = d->s;

    if ((uint64_t)s->twice * 100 > (uint64_t)s->taken * d->cfg.put_ratio) {
        s->known = s->put;
        driver_row(d, HD_APP_NONE)[HD_DRIVER_PUT_READS]++;
    }
    for (; s->get < s->known; s->get++)
        driver_row(d, hd_driver_packet(d, 0)->app)[HD_DRIVER_FLUSHED]++;
}

bool hd_driver_between(const struct hd_driver *d)
{
    return d->s->batches == 0;
}

bool hd_driver_batch_over(struct hd_driver *d)
{
    bool last;

    if (d->cfg.policy == HD_DRIVER_BATCH_FLUSH)
        driver_flush(d);
    last = d->s->batches >= d->cfg.max_batches || d->s->get == d->s->put;
    if (last)
        d->s->batches = 0;
    return d->cfg.policy == HD_DRIVER_ONCE
               ? last
               : d->cfg.policy != HD_DRIVER_BLOCK || d->s->twice == d->s->taken;
}

void hd_driver_replay(struct hd_driver *d, uint32_t n)
{
    driver_row(d, HD_APP_NONE)[HD_DRIVER_REPLAYS]++;
    driver_row(d, HD_APP_NONE)[HD_DRIVER_REPLAYED] += n;
    for (uint32_t i = 0; i < d->utlbs; i++)
        d->of[i] = 0;
}

/* ---- building ----------------------------------------------------------- */

struct hd_driver *hd_driver_open(struct hd_env *env,
                                 const struct hd_driver_cfg *cfg,
                                 uint32_t cores)
{
    struct hd_driver *d = hd_env_take(env, 1, sizeof *d);

    if (d == NULL)
        return NULL;
    d->env = env;
    d->cfg = *cfg;
    d->utlbs = (cores + cfg->utlb_cores - 1) / cfg->utlb_cores;
    d->s = hd_arena_take(env->arena, 1, sizeof *d->s);
    d->ring = hd_arena_take(env->arena, cfg->buffer, sizeof *d->ring);
    d->of = hd_arena_take(env->arena, d->utlbs, sizeof *d->of);
    d->batch = hd_env_take(env, cfg->buffer, sizeof *d->batch);
    d->packets = hd_env_take(env, cfg->buffer, sizeof *d->packets);
    if (d->s == NULL || d->ring == NULL || d->of == NULL || d->batch == NULL ||
        d->packets == NULL)
        return NULL;
    d->stat = hd_stats_group(env->stats, &hd_rows_uvm, 1);
    return d;
}
