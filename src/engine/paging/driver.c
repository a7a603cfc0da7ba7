/*
 * driver.c - the fault buffer and the driver's loop over it.
 *
 * After NVIDIA's UVM driver (uvm_gpu_replayable_faults.c of the open kernel
 * modules), and what Allen and Ge (SC 2021) measured of it.  A request that
 * finds its page not resident writes a packet into a ring.  The driver takes
 * packets out in batches, merges those of one page, sorts them by address space
 * and address, and serves them 2 MB block by 2 MB block:
 *
 *     t_batch = base + sum over blocks of what each takes (driverloop.c)
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
 * resident since (with a neighbour, or for another packet) is stale: its block is
 * looked at for nothing.  Each further one of a page in a batch is a duplicate,
 * as the driver counts num_instances - 1.
 *
 * Accesses of a core that wait for one page have one packet, as their misses
 * merge; with uvm.utlb_merge off each has its own, and all of them again after a
 * replay, and the cores of a uTLB write theirs in turns.  The driver expects
 * several packets of a page from one uTLB ("duplicates due to local reuse",
 * fetch_fault_buffer_entries), and batches of a Titan V have about five a page of a
 * stream, whose pages are of one core each.
 *
 * A uTLB, which adjacent cores share, has at most so many packets between two
 * replays; what faults beyond that waits for the replay without one, as does
 * what finds the ring full.  No request waits for ever: a packet that is taken
 * or dropped is followed by a replay, and the first request after a replay
 * finds room.
 *
 * Packets of all uTLBs are written one after the other (uvm.fault_interval), a
 * uTLB after the other in turns, so a batch of a busy GPU has a few of each core,
 * and spreads over many blocks.  Until then they are in queues of their uTLBs;
 * whatever looks at the ring first moves those whose time has come into it, so
 * that no event is needed for one.
 *
 * This file is the ring and the decisions; driverloop.c has the events, the
 * pages and the requests.
 *
 * Invariants: packets written = those taken, dropped, and in the ring; those
 * taken = pages + duplicates + stale.
 *
 * Left out on purpose: the limit on throttled batches and prefetch faults;
 * uvm_perf_fault_coalesce, since merging costs nothing here.
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
    uint32_t twice;    /* of those: duplicates */
    uint32_t useless;  /* 1: all of it was stale */
    uint32_t idle;     /* blocks with stale packets alone */
    hd_time next;      /* when the next packet can be written, at the earliest */
    uint32_t stale;    /* packets of the batch whose page was resident */
    uint32_t turn;     /* queue whose turn it is */
    uint32_t pending;  /* packets in the queues */
    uint32_t unused;   /* of their room, the first; HD_NONE: it is full */
};

/* A packet in the queue of its uTLB. */
struct pending {
    struct hd_packet packet;
    uint32_t next, spare;
};

struct queue {
    uint32_t first, last;
};

struct hd_driver {
    struct hd_env *env;
    struct hd_driver_cfg cfg;
    struct state *s;        /* arena */
    struct hd_packet *ring; /* arena: [cfg.buffer] */
    uint32_t *of;           /* arena: [utlbs], since the last replay */
    struct queue *queue;    /* arena: [queues] */
    struct pending *room;   /* arena: [cfg.buffer], of the queues */
    hd_time interval;       /* 0: packets are written at once */
    uint32_t utlbs, queues; /* queues: one a uTLB, or a core */
    struct hd_packet *batch; /* scratch: [cfg.buffer] */
    struct hd_packet *all;   /* scratch: [cfg.buffer] */
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

static void driver_put(struct hd_driver *d, const struct hd_packet *p)
{
    uint64_t *peak = &driver_row(d, HD_APP_NONE)[HD_DRIVER_PEAK];

    d->ring[d->s->put++ % d->cfg.buffer] = *p;
    driver_row(d, p->app)[HD_DRIVER_PACKETS]++;
    *peak = hd_max_u64(*peak, hd_driver_waiting(d));
}

/* The queue whose packet is next, from the one whose turn it is on, and when. */
static uint32_t driver_turn(const struct hd_driver *d, hd_time *at)
{
    const struct state *s = d->s;
    uint32_t best = HD_NONE;
    hd_time first = HD_NEVER;

    for (uint32_t i = 0; i < d->queues; i++) {
        uint32_t u = (s->turn + i) % d->queues, q = d->queue[u].first;
        if (q == HD_NONE || d->room[q].packet.born >= first)
            continue;
        best = u;
        first = d->room[q].packet.born;
        if (first <= s->next)
            break;
    }
    *at = hd_max_u64(first, s->next);
    return best;
}

/* Packets whose time has come are in the ring. */
static void driver_advance(struct hd_driver *d, hd_time now)
{
    struct state *s = d->s;

    while (s->pending > 0 && s->put - s->get < d->cfg.buffer) {
        hd_time at;
        uint32_t u = driver_turn(d, &at), i = d->queue[u].first;
        if (at > now)
            return;
        driver_put(d, &d->room[i].packet);
        d->queue[u].first = d->room[i].next;
        d->room[i].next = s->unused;
        s->unused = i;
        s->pending--;
        s->next = at + d->interval;
        s->turn = (u + 1) % d->queues;
    }
}

/* The queue of a core's packets: that of its uTLB, or one of its own; then the
 * first core of each uTLB has its turn, and the second of each. */
static uint32_t driver_queue_of(const struct hd_driver *d, uint32_t core)
{
    uint32_t u = core / d->cfg.utlb_cores;

    return d->queues == d->utlbs ? u
                                 : core % d->cfg.utlb_cores * d->utlbs + u;
}

/* A packet will be written when its uTLB has its turn. */
static void driver_queue(struct hd_driver *d, const struct hd_packet *p,
                         struct queue *q)
{
    struct state *s = d->s;
    uint32_t i = s->unused;

    s->unused = d->room[i].next;
    d->room[i] = (struct pending){.packet = *p, .next = HD_NONE};
    if (q->first == HD_NONE)
        q->first = i;
    else
        d->room[q->last].next = i;
    q->last = i;
    s->pending++;
}

void hd_driver_write(struct hd_driver *d, const struct hd_packet *p)
{
    uint32_t u = p->core / d->cfg.utlb_cores;

    if (d->of[u] >= d->cfg.utlb_faults) {
        driver_row(d, p->app)[HD_DRIVER_HELD]++;
        return;
    }
    driver_advance(d, p->born);
    if (hd_driver_waiting(d) + d->s->pending >= d->cfg.buffer) {
        driver_row(d, p->app)[HD_DRIVER_OVERFLOWS]++;
        return;
    }
    d->of[u]++;
    if (d->interval == 0)
        driver_put(d, p);
    else
        driver_queue(d, p, &d->queue[driver_queue_of(d, p->core)]);
}

hd_time hd_driver_first(const struct hd_driver *d)
{
    hd_time at = HD_NEVER;

    if (hd_driver_waiting(d) > 0)
        return 0;
    if (d->s->pending > 0)
        driver_turn(d, &at);
    return at;
}

uint32_t hd_driver_known(struct hd_driver *d, hd_time now)
{
    driver_advance(d, now);
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

static bool driver_same_block(const struct hd_packet *a,
                              const struct hd_packet *b)
{
    return a->app == b->app &&
           a->vpn.v / HD_LARGE_PAGES == b->vpn.v / HD_LARGE_PAGES;
}

/* Blocks of the n packets just taken that have no page in the batch. */
static uint32_t driver_idle(struct hd_driver *d, uint32_t n, uint32_t pages)
{
    struct hd_packet *all = d->all;
    uint32_t blocks = 0, with = 0;

    if (pages + d->s->twice == n) /* none is stale */
        return 0;
    for (uint32_t i = 0; i < n; i++)
        all[i] = d->ring[(d->s->get - n + i) % d->cfg.buffer];
    qsort(all, n, sizeof *all, driver_order);
    for (uint32_t i = 0; i < n; i++)
        blocks += i == 0 || !driver_same_block(&all[i - 1], &all[i]);
    for (uint32_t i = 0; i < pages; i++)
        with += i == 0 || !driver_same_block(&d->batch[i - 1], &d->batch[i]);
    return blocks - with;
}

uint32_t hd_driver_take(struct hd_driver *d, uint32_t n, hd_driver_page *page,
                        void *self)
{
    uint32_t faults = 0, pages = 0, twice = 0;

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
        twice += again;
        driver_row(d, p->app)[HD_DRIVER_DUPLICATES] += again;
    }
    d->s->twice = twice;
    d->s->stale = n - faults;
    d->s->useless = pages == 0;
    d->s->idle = driver_idle(d, n, pages);
    return pages;
}

uint32_t hd_driver_idle_blocks(const struct hd_driver *d)
{
    return d->s->idle;
}

const struct hd_packet *hd_driver_batch(const struct hd_driver *d, uint32_t i,
                                        uint32_t *packets)
{
    *packets = d->packets[i];
    return &d->batch[i];
}

void hd_driver_last(const struct hd_driver *d, uint64_t *duplicates,
                    uint64_t *stale)
{
    *duplicates = d->s->twice;
    *stale = d->s->stale;
}

void hd_driver_spent(struct hd_driver *d,
                     const struct heddle_n_batch_served *b)
{
    uint64_t *c = driver_row(d, HD_APP_NONE);

    c[HD_DRIVER_INTERRUPT_CYCLES] += b->interrupt;
    c[HD_DRIVER_BASE_CYCLES] += b->base;
    c[HD_DRIVER_BLOCK_CYCLES] += b->block;
    c[HD_DRIVER_UNMAP_CYCLES] += b->unmap;
    c[HD_DRIVER_DMA_CYCLES] += b->dma;
    c[HD_DRIVER_ROOM_CYCLES] += b->room;
    c[HD_DRIVER_PAGE_CYCLES] += b->page;
    c[HD_DRIVER_EVICT_CYCLES] += b->evict;
    c[HD_DRIVER_COPY_CYCLES] += b->copy;
    c[HD_DRIVER_BATCH_CYCLES] += b->cycles;
}

/* ---- replays ------------------------------------------------------------ */

bool hd_driver_block_over(struct hd_driver *d, uint32_t app)
{
    driver_row(d, app)[HD_DRIVER_BLOCKS]++;
    return d->cfg.policy == HD_DRIVER_BLOCK;
}

/* Drops what is known; all, if too many of the batch were duplicates. */
static void driver_flush(struct hd_driver *d, hd_time now)
{
    struct state *s = d->s;

    driver_advance(d, now);
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

bool hd_driver_batch_over(struct hd_driver *d, hd_time now)
{
    bool last;

    if (d->cfg.policy == HD_DRIVER_BATCH_FLUSH)
        driver_flush(d, now);
    driver_advance(d, now);
    last = d->s->batches >= d->cfg.max_batches || d->s->get == d->s->put;
    if (last)
        d->s->batches = 0;
    return d->cfg.policy == HD_DRIVER_ONCE
               ? last
               : d->cfg.policy != HD_DRIVER_BLOCK || d->s->useless;
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
    d->queues = d->utlbs * (cfg->utlb_merge ? 1 : cfg->utlb_cores);
    d->queue = hd_arena_take(env->arena, d->queues, sizeof *d->queue);
    d->room = hd_arena_take(env->arena, cfg->buffer, sizeof *d->room);
    d->batch = hd_env_take(env, cfg->buffer, sizeof *d->batch);
    d->all = hd_env_take(env, cfg->buffer, sizeof *d->all);
    d->packets = hd_env_take(env, cfg->buffer, sizeof *d->packets);
    if (d->s == NULL || d->ring == NULL || d->of == NULL || d->queue == NULL ||
        d->room == NULL || d->batch == NULL || d->all == NULL ||
        d->packets == NULL)
        return NULL;
    d->interval = hd_ticks_ns(env->clk, cfg->interval);
    for (uint32_t i = 0; i < d->queues; i++)
        d->queue[i] = (struct queue){.first = HD_NONE, .last = HD_NONE};
    for (uint32_t i = 0; i < cfg->buffer; i++)
        d->room[i].next = i + 1 < cfg->buffer ? i + 1 : HD_NONE;
    d->stat = hd_stats_group(env->stats, &hd_rows_uvm, 1);
    return d;
}
