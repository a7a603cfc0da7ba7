/*
 * driver.c - the fault buffer and the driver's loop over it.
 *
 * After NVIDIA's UVM driver (uvm_gpu_replayable_faults.c of the open kernel
 * modules), and what Allen and Ge (SC 2021) measured of it.  A request that
 * finds its page absent writes a packet into a ring.  The driver takes packets
 * out in batches, merges those of one page, sorts them by address space and
 * address, and serves them 2 MB block by 2 MB block:
 *
 *     t_batch = base + blocks * block + bytes over the link
 *
 * A replay has all requests that wait tried again, whatever they wait for;
 * those whose pages are still absent fault again, so packets of one page stand
 * in the ring more than once.  When it comes is the policy:
 *
 *   block        after each block
 *   batch        after each batch
 *   batch_flush  likewise, but packets that the driver knows of are dropped
 *                before: up to PUT as it was read last, or, when more of the
 *                batch than a ratio were duplicates, up to PUT as it is now
 *   once         when no packets are left, or after so many batches
 *
 * PUT is read when all packets that are known have been taken, so a batch holds
 * what had come until then, at most so many.  A packet whose page has come
 * since (with a neighbour, or for another packet) is stale; it counts as a
 * duplicate, as does each further one of a page.
 *
 * A uTLB, which adjacent cores share, has at most so many packets between two
 * replays; what faults beyond that waits for the replay without one, as does
 * what finds the ring full.  Nobody waits for ever: a packet that is taken or
 * dropped is followed by a replay, and the first request after a replay finds
 * room.
 *
 * This file is the ring and the decisions; fault.c has the events, the pages
 * and the requests.
 *
 * Invariants: packets written = those taken, dropped, and in the ring; those
 * taken = pages + duplicates.
 *
 * Left out on purpose: the limit on throttled batches and prefetch faults;
 * uvm_perf_fault_coalesce, since merging costs nothing here; that the copies of
 * one block go on while the next one is managed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "driver.h"

#include <stdlib.h>

#define AT(field) offsetof(struct hd_driver_cfg, field)

const struct hd_setting hd_driver_settings[] = {
    {"mode", HD_T_CHOICE, AT(mode), "", "paper", 0, 1, "paper|driver",
     "how far faults are served: as in the papers, by the settings of fault "
     "and link.latency; or as in NVIDIA's driver, by those of this group",
     "Mosaic, ETC: a latency for each fault; NVIDIA's open kernel modules"},
    {"perf_fault_batch_count", HD_T_U32, AT(batch_count), "faults", "256", 1,
     65536, NULL, "most faults taken out of the buffer as one batch",
     "NVIDIA's UVM driver: its default"},
    {"perf_fault_replay_policy", HD_T_CHOICE, AT(policy), "", "batch_flush", 0,
     3, "block|batch|batch_flush|once",
     "requests are replayed after each 2 MB block, after each batch, after "
     "each batch with the buffer flushed, or when no faults are left",
     "NVIDIA's UVM driver: its default"},
    {"perf_fault_replay_update_put_ratio", HD_T_U32, AT(put_ratio), "percent",
     "50", 0, 100, NULL,
     "if more than this share of a batch is duplicates, all of the buffer is "
     "flushed, not only what arrived before the batch",
     "NVIDIA's UVM driver: its default"},
    {"perf_fault_max_batches_per_service", HD_T_U32, AT(max_batches), "batches",
     "20", 1, 1u << 20, NULL,
     "batches after which the replay policy `once` replays even if faults are "
     "left",
     "NVIDIA's UVM driver: its default"},
    {"perf_prefetch_enable", HD_T_BOOL, AT(prefetch), "", "true", 0, 1, NULL,
     "prefetching as with fault.prefetch=driver; false: as fault.prefetch says",
     "NVIDIA's UVM driver: its default"},
    {"perf_prefetch_threshold", HD_T_U32, AT(threshold), "percent", "51", 1,
     100, NULL,
     "with fault.prefetch=driver, a piece is prefetched when more than this "
     "share of its pages is resident or has faulted",
     "NVIDIA's UVM driver: its default"},
    {"perf_prefetch_min_faults", HD_T_U32, AT(min_faults), "pages", "1", 1, 20,
     NULL,
     "with fault.prefetch=driver, pages of a 2 MB block that faults bring in "
     "before any is prefetched",
     "NVIDIA's UVM driver: its default"},
    {"fault_buffer", HD_T_U32, AT(buffer), "faults", "4480", 1, 1u << 20, NULL,
     "capacity of the fault buffer; a fault that finds it full is lost until "
     "the next replay",
     "guess: 56 from each of the 80 cores of a Titan V, so that none is lost"},
    {"utlb_faults", HD_T_U32, AT(utlb_faults), "faults", "56", 1, 1u << 20,
     NULL, "most faults of a uTLB in the buffer between two replays",
     "Allen and Ge, SC 2021: 56"},
    {"utlb_cores", HD_T_U32, AT(utlb_cores), "cores", "2", 1, 128, NULL,
     "adjacent cores that share a uTLB",
     "Allen and Ge, SC 2021: adjacent ones do; how many: guess, those of a "
     "TPC"},
    {"chunks", HD_T_BOOL, AT(chunks), "", "true", 0, 1, NULL,
     "2 MB that lie in one buffer take all their memory with the first page, "
     "and free it with the last",
     "NVIDIA's UVM driver: chunks of 2 MB"},
    {"base_latency", HD_T_U64, AT(base), "ns", "20000", 0, 1000000000, NULL,
     "time of a batch, without its blocks and transfers",
     "Zheng et al., HPCA 2016: 20 to 50 us a fault; ETC: 20 us"},
    {"block_latency", HD_T_U64, AT(block), "ns", "5280", 0, 1000000000, NULL,
     "time of each 2 MB block of a batch, without its transfers",
     "guess: three times 1.76 us, a copy of 4 KB by UVMSmart's curve, as Allen "
     "and Ge found less than 25 % of a batch's time in transfers, where random "
     "accesses have one fault a block"},
    {"perf_access_counter_migration_enable", HD_T_BOOL, AT(counters.migrate),
     "", "false", 0, 1, NULL,
     "remotely mapped pages migrate when they are accessed often",
     "NVIDIA's UVM driver: -1, which is off but on systems with ATS"},
    {"perf_access_counter_granularity", HD_T_CHOICE, AT(counters.granule), "",
     "2M", 0, 1, "64K|2M",
     "memory whose accesses are counted together, and that migrates together",
     "NVIDIA's UVM driver: 2 MB; Ganguly et al.: 64 KB"},
    {"perf_access_counter_threshold", HD_T_U32, AT(counters.threshold),
     "accesses", "256", 1, HD_COUNTER_NEVER - 1, NULL,
     "accesses that raise a notification", "NVIDIA's UVM driver: 256"},
    {"perf_access_counter_batch_count", HD_T_U32, AT(counters.batch),
     "notifications", "256", 1, 65536, NULL,
     "most notifications that the host serves together",
     "NVIDIA's UVM driver: 256"},
    {"perf_map_remote_on_eviction", HD_T_BOOL, AT(counters.evicted), "", "true",
     0, 1, NULL,
     "with uvm.perf_access_counter_migration_enable, evicted pages are mapped "
     "remotely, on the host, from then on",
     "NVIDIA's UVM driver: its default"},
    {"perf_thrashing_threshold", HD_T_U32, AT(thrash.threshold), "events", "3",
     1, 7, NULL,
     "with fault.thrashing=driver, consecutive moves of a page within the "
     "lapse that make it thrash",
     "NVIDIA's UVM driver: its default"},
    {"perf_thrashing_pin_threshold", HD_T_U32, AT(thrash.pin_threshold),
     "throttlings", "10", 1, 255, NULL,
     "throttlings of a page after which it is pinned",
     "NVIDIA's UVM driver: its default"},
    {"perf_thrashing_lapse_usec", HD_T_U32, AT(thrash.lapse), "us", "500", 1,
     10000000, NULL,
     "two events within it are thrashing; 500 tunes itself between 5 and "
     "500000, any other value is fixed",
     "NVIDIA's UVM driver: its default"},
    {"perf_lapse_vote_threshold", HD_T_U32, AT(thrash.votes), "votes", "32", 1,
     1u << 20, NULL, "majority of votes that changes the lapse by an eighth",
     "NVIDIA's UVM driver: its default"},
    {"perf_thrashing_nap", HD_T_U32, AT(thrash.nap), "lapses", "1", 1, 100, NULL,
     "length of a period in which one processor is exempt and the other "
     "throttled",
     "NVIDIA's UVM driver: its default"},
    {"perf_thrashing_epoch", HD_T_U32, AT(thrash.epoch), "lapses", "2000", 1,
     1u << 20, NULL, "time without thrashing after which a block is forgotten",
     "NVIDIA's UVM driver: its default"},
    {"perf_thrashing_pin", HD_T_U32, AT(thrash.pin), "lapses", "300", 0, 1u << 20,
     NULL, "time for which a page is pinned; 0: for good",
     "NVIDIA's UVM driver: its default"},
    {"perf_thrashing_max_resets", HD_T_U32, AT(thrash.max_resets), "resets", "4",
     0, 1u << 20, NULL,
     "most times that a block is forgotten after such an epoch",
     "NVIDIA's UVM driver: its default"},
};
const uint32_t hd_driver_setting_count = HD_LEN(hd_driver_settings);

const struct hd_stat_desc hd_driver_stats[] = {
    [HD_DRIVER_PACKETS] = {"packets", "faults",
                           "faults written into the buffer", HD_STAT_COUNT},
    [HD_DRIVER_OVERFLOWS] = {"overflows", "faults",
                             "faults that found the buffer full, and are "
                             "raised again after a replay",
                             HD_STAT_COUNT},
    [HD_DRIVER_HELD] = {"held", "faults",
                        "faults beyond uvm.utlb_faults of their uTLB, raised "
                        "again after a replay",
                        HD_STAT_COUNT},
    [HD_DRIVER_DUPLICATES] = {"duplicates", "faults",
                              "faults of a batch that has another for the same "
                              "page",
                              HD_STAT_COUNT},
    [HD_DRIVER_STALE] = {"stale", "faults",
                         "faults of a batch whose page was already resident",
                         HD_STAT_COUNT},
    [HD_DRIVER_FLUSHED] = {"flushed", "faults",
                           "faults dropped before a replay", HD_STAT_COUNT},
    [HD_DRIVER_BATCHES] = {"batches", "batches",
                           "batches whose first fault is the application's",
                           HD_STAT_COUNT},
    [HD_DRIVER_BLOCKS] = {"blocks", "blocks", "2 MB blocks served",
                          HD_STAT_COUNT},
    [HD_DRIVER_REPLAYS] = {"replays", "replays", "replays", HD_STAT_COUNT},
    [HD_DRIVER_REPLAYED] = {"replayed", "requests",
                            "translations tried again by replays",
                            HD_STAT_COUNT},
    [HD_DRIVER_PUT_READS] = {"put_reads", "reads",
                             "flushes for which PUT was read again",
                             HD_STAT_COUNT},
    [HD_DRIVER_PEAK] = {"peak", "faults", "most faults in the buffer at once",
                        HD_STAT_PEAK},
};
const uint32_t hd_driver_stat_count = HD_LEN(hd_driver_stats);

_Static_assert(HD_LEN(hd_driver_stats) == HD_DRIVER_STATS, "one row a counter");

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

static uint64_t *row(const struct hd_driver *d, uint32_t app)
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
    uint64_t *peak = &row(d, HD_APP_NONE)[HD_DRIVER_PEAK];

    uint32_t *of = &d->of[p->core / d->cfg.utlb_cores];

    if (*of >= d->cfg.utlb_faults) {
        row(d, p->app)[HD_DRIVER_HELD]++;
        return;
    }
    if (hd_driver_waiting(d) == d->cfg.buffer) {
        row(d, p->app)[HD_DRIVER_OVERFLOWS]++;
        return;
    }
    (*of)++;
    d->ring[d->s->put++ % d->cfg.buffer] = *p;
    row(d, p->app)[HD_DRIVER_PACKETS]++;
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

static int order(const void *a, const void *b)
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
    uint32_t absent = 0, pages = 0;

    d->s->taken = n;
    d->s->batches++;
    row(d, hd_driver_packet(d, 0)->app)[HD_DRIVER_BATCHES]++;
    for (uint32_t i = 0; i < n; i++) {
        struct hd_packet *p = &d->batch[absent];
        *p = *hd_driver_packet(d, i);
        if (page(self, p->app, p->vpn, &p->vpn))
            absent++;
        else
            row(d, p->app)[HD_DRIVER_STALE]++;
    }
    d->s->get += n;
    qsort(d->batch, absent, sizeof *d->batch, order);
    for (uint32_t i = 0; i < absent; i++) {
        const struct hd_packet *p = &d->batch[i];
        bool again = pages > 0 && p->app == d->batch[pages - 1].app &&
                     p->vpn.v == d->batch[pages - 1].vpn.v;
        if (!again) {
            d->packets[pages] = 0;
            d->batch[pages++] = *p;
        }
        d->packets[pages - 1]++;
        row(d, p->app)[HD_DRIVER_DUPLICATES] += again;
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
    row(d, app)[HD_DRIVER_BLOCKS]++;
    return d->cfg.policy == HD_DRIVER_BLOCK;
}

/* Drops what is known; all, if too many of the batch were duplicates. */
static void flush(struct hd_driver *d)
{
    struct state *s = d->s;

    if ((uint64_t)s->twice * 100 > (uint64_t)s->taken * d->cfg.put_ratio) {
        s->known = s->put;
        row(d, HD_APP_NONE)[HD_DRIVER_PUT_READS]++;
    }
    for (; s->get < s->known; s->get++)
        row(d, hd_driver_packet(d, 0)->app)[HD_DRIVER_FLUSHED]++;
}

bool hd_driver_between(const struct hd_driver *d)
{
    return d->s->batches == 0;
}

bool hd_driver_batch_over(struct hd_driver *d)
{
    bool last;

    if (d->cfg.policy == HD_DRIVER_BATCH_FLUSH)
        flush(d);
    last = d->s->batches >= d->cfg.max_batches || d->s->get == d->s->put;
    if (last)
        d->s->batches = 0;
    return d->cfg.policy == HD_DRIVER_ONCE
               ? last
               : d->cfg.policy != HD_DRIVER_BLOCK || d->s->twice == d->s->taken;
}

void hd_driver_replay(struct hd_driver *d, uint32_t n)
{
    row(d, HD_APP_NONE)[HD_DRIVER_REPLAYS]++;
    row(d, HD_APP_NONE)[HD_DRIVER_REPLAYED] += n;
    for (uint32_t i = 0; i < d->utlbs; i++)
        d->of[i] = 0;
}

/* ---- building ----------------------------------------------------------- */

struct hd_driver *hd_driver_open(struct hd_env *env,
                                 const struct hd_driver_cfg *cfg,
                                 uint32_t cores)
{
    struct hd_driver *d = calloc(1, sizeof *d);
    int bad = d == NULL;

    if (!bad) {
        d->env = env;
        d->cfg = *cfg;
        d->utlbs = (cores + cfg->utlb_cores - 1) / cfg->utlb_cores;
        d->s = hd_arena_take(env->arena, 1, sizeof *d->s);
        d->ring = hd_arena_take(env->arena, cfg->buffer, sizeof *d->ring);
        d->of = hd_arena_take(env->arena, d->utlbs, sizeof *d->of);
        d->batch = calloc(cfg->buffer, sizeof *d->batch);
        d->packets = calloc(cfg->buffer, sizeof *d->packets);
        bad = d->s == NULL || d->ring == NULL || d->of == NULL ||
              d->batch == NULL || d->packets == NULL;
    }
    if (bad) {
        hd_err_memory(env->err);
        hd_driver_close(d);
        return NULL;
    }
    d->stat =
        hd_stats_group(env->stats, "uvm", hd_driver_stats, HD_DRIVER_STATS, 1);
    return d;
}

void hd_driver_close(struct hd_driver *d)
{
    if (d == NULL)
        return;
    free(d->batch);
    free(d->packets);
    free(d);
}
