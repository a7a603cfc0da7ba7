/*
 * l2.c - the crossbar and the L2 slices: settings, addresses, taking requests,
 * building.
 *
 * Every slice belongs to one DRAM channel and holds lines of that channel
 * alone, as in the partitions of a GPU: a miss never crosses the chip.  Among
 * the slices of a channel the lowest bits of the line's index in the channel
 * decide, so neighbouring lines lie in different slices.  How the channel
 * depends on the address is found by asking the DRAM once for a range of
 * addresses: a channel that repeats every `channels` pieces of equal length
 * gives the index in closed form; under any other map (a hash, channel bits
 * high up) slice and set are hashed from the line number.
 *
 * The crossbar is a latency each way and a port at each end: the requester's
 * reservation is its own business, a slice's input and output are reserved
 * here (l2slice.c).  Contention inside the switch is left out: with one flit
 * a cycle and port, the ports at the ends bind first.  The input buffer of a
 * slice is unbounded; what the cores may have in flight bounds it.
 *
 * The walkers are the crossbar's clients like the cores (Power et al.), or lie
 * beside the L2 cache (MASK, footnote 2): then walk reads have a latency of
 * their own, walk.memory_latency, and the slice's ports in common with the
 * rest.
 *
 * A request is posted to its slice under the rank of its client, so the order
 * in which clients call does not decide between arrivals of one instant.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2.h"

#include <stdlib.h>
#include <string.h>

#include "../base/bits.h"
#include "../base/rng.h"
#include "l2slice.h"

/* ---- settings and counters -------------------------------------------- */

#define AT(field) offsetof(struct hd_xbar_cfg, field)

const struct hd_setting hd_xbar_settings[] = {
    {"latency", HD_T_U32, AT(latency), "L2 cycles", "8", 0, 10000, NULL,
     "from a core to an L2 slice, one way; from a walker, too, unless "
     "walk.memory_latency says otherwise",
     "guess"},
    {"bytes", HD_T_U32, AT(bytes), "bytes", "32", 1, 1024, NULL,
     "bytes that a port takes in one L2 cycle, each way", "guess"},
};
const uint32_t hd_xbar_setting_count = HD_LEN(hd_xbar_settings);

#define CLASS(name, what)                                                      \
    {name "_lookups", "look-ups", "look-ups of " what, HD_STAT_COUNT},         \
        {name "_hits", "look-ups", what " found in the slice", HD_STAT_COUNT}, \
        {name "_misses", "look-ups", what " not found and not in flight",      \
         HD_STAT_COUNT},                                                       \
    {                                                                          \
        name "_merged", "look-ups", what " of a line that was in flight",      \
            HD_STAT_COUNT                                                      \
    }

const struct hd_stat_desc hd_l2_stats[] = {
    CLASS("read", "data reads"),
    CLASS("write", "writes"),
    CLASS("atomic", "atomics"),
    CLASS("walk1", "page walk reads of level 1, the root,"),
    CLASS("walk2", "page walk reads of level 2"),
    CLASS("walk3", "page walk reads of level 3"),
    CLASS("walk4", "page walk reads of level 4, the leaf,"),
    {"bypass_data", "requests", "data requests that skipped the cache",
     HD_STAT_COUNT},
    {"bypass_walks", "requests", "page walk reads that skipped the cache",
     HD_STAT_COUNT},
    {"fills", "lines", "lines offered to the tags, from DRAM or by a write",
     HD_STAT_COUNT},
    {"evictions", "lines", "lines replaced, counted to who replaced them",
     HD_STAT_COUNT},
    {"write_backs", "lines", "dirty lines sent to DRAM, counted to their owner",
     HD_STAT_COUNT},
    {"dram_reads", "requests", "reads sent to DRAM", HD_STAT_COUNT},
    {"dram_writes", "requests", "writes sent to DRAM", HD_STAT_COUNT},
    {"blocked_mshrs", "L2 cycles", "input blocked: no MSHR free",
     HD_STAT_COUNT},
    {"blocked_merges", "L2 cycles",
     "input blocked: too many wait for the same line", HD_STAT_COUNT},
    {"blocked_queue", "L2 cycles", "input blocked: miss queue full",
     HD_STAT_COUNT},
    {"input_wait", "L2 cycles",
     "sum over requests of the time between input port and look-up",
     HD_STAT_COUNT},
    {"input_busy", "L2 cycles", "input port taken", HD_STAT_COUNT},
    {"output_busy", "L2 cycles", "output port taken", HD_STAT_COUNT},
    {"peak_input", "requests", "most requests that waited at the input",
     HD_STAT_PEAK},
    {"peak_mshrs", "lines", "most lines in flight", HD_STAT_PEAK},
};
const uint32_t hd_l2_stat_count = HD_LEN(hd_l2_stats);
_Static_assert(HD_LEN(hd_l2_stats) == HD_L2_COUNTERS, "one row a counter");

const struct hd_hist_desc hd_l2_hists[] = {
    {"l2cache", "data_latency", "core cycles",
     "data reads and atomics, from the sender to the instant at which the "
     "answer leaves the slice"},
    {"l2cache", "walk_latency", "core cycles",
     "page walk reads, from the sender to the instant at which the answer "
     "leaves the slice"},
};
const uint32_t hd_l2_hist_count = HD_LEN(hd_l2_hists);

/* ---- addresses -------------------------------------------------------- */

static uint32_t channel_of(const struct hd_l2 *l2, uint64_t line)
{
    hd_pa pa = {line << l2->line_shift};

    if (l2->w.dram != NULL)
        return hd_dram_channel(l2->w.dram, pa);
    return (uint32_t)(pa.v / l2->w.interleave % l2->channels);
}

/* The slice of a line under any map, and its set there. */
static uint32_t slice_of(const struct hd_l2 *l2, uint64_t line, uint32_t *set)
{
    const struct hd_cache_spread *s = &l2->spread;
    uint64_t index, channel;
    uint32_t slice;

    if (s->granule == 0) {
        slice = (uint32_t)(channel_of(l2, line) * s->banks +
                           (hd_mix64(line) >> 32) % s->banks);
    } else {
        channel = line / s->granule % s->channels;
        index =
            line / (s->granule * s->channels) * s->granule + line % s->granule;
        slice = (uint32_t)(channel * s->banks + index % s->banks);
    }
    *set = hd_cache_set(&l2->slice[slice].tags, line);
    return slice;
}

uint32_t hd_l2_slice(const struct hd_l2 *l2, hd_pa pa)
{
    uint32_t set;

    return slice_of(l2, pa.v >> l2->line_shift, &set);
}

enum hd_l2_dropped hd_l2_drop(struct hd_l2 *l2, uint32_t app, hd_pa pa)
{
    uint64_t line = pa.v >> l2->line_shift;
    uint32_t set, i;
    struct hd_cache *tags;

    if (!l2->full)
        return HD_L2_NOT_THERE;
    i = slice_of(l2, line, &set);
    if (l2->own != l2->channels)
        i += app * l2->own * (uint32_t)l2->spread.banks;
    tags = &l2->slice[i].tags;
    if (!hd_cache_peek(tags, line))
        return HD_L2_NOT_THERE;
    return hd_cache_drop(tags, line) ? HD_L2_WAS_DIRTY : HD_L2_WAS_CLEAN;
}

/* Finds how the channel depends on the line. */
static void find_spread(struct hd_l2 *l2)
{
    enum { FAR = 1 << 16, SAMPLES = 4096 };
    struct hd_cache_spread *s = &l2->spread;
    uint64_t g = 1;

    *s = (struct hd_cache_spread){1, l2->own, l2->slices / l2->channels};
    if (l2->own > 1)
        while (g < FAR && channel_of(l2, g) == channel_of(l2, 0))
            g++;
    s->granule = g < FAR ? g : 0;
    for (uint64_t i = 0; s->granule != 0 && i < 2 * SAMPLES; i++) {
        uint64_t line = i < SAMPLES ? i : hd_mix64(i) >> 37;
        if (channel_of(l2, line) != line / g % l2->own)
            s->granule = 0;
    }
}

/*
 * The same in a table and one shift, once the slices are there.  With powers
 * of two, a line number is, from the top: the rest of its index in its
 * channel, the channel, the place in the granule.  The low bits that hold the
 * channel and all of the bank give the slice; the set is what is left of the
 * index above the bank, of which a part lies in the granule where that has
 * more lines than the channel has banks.
 */
static int find_places(struct hd_l2 *l2)
{
    const struct hd_cache_spread *s = &l2->spread;
    uint32_t sets = l2->slice[0].tags.tags.sets, granule, bank, n, set;
    struct hd_l2_place *place;

    if (!l2->full || l2->own != l2->channels || s->granule == 0 ||
        !hd_is_pow2(s->granule) || !hd_is_pow2(s->channels) ||
        !hd_is_pow2(s->banks) || !hd_is_pow2(sets) ||
        sets > 1u << HD_L2_SET_BITS)
        return 0;
    granule = hd_log2(s->granule);
    bank = hd_log2(s->banks);
    l2->high_shift = (uint8_t)(hd_log2(s->channels) + bank);
    n = granule > bank ? granule - bank : 0; /* bits of set in the granule */
    if (l2->high_shift + n > hd_log2(HD_L2_PLACES))
        return 0;
    l2->place_mask = (1u << (l2->high_shift + n)) - 1;
    l2->high_mask = (sets - 1) & ~((1u << n) - 1);
    place = calloc((size_t)l2->place_mask + 1, sizeof *place);
    if (place == NULL)
        return hd_err_memory(l2->env->err);
    for (uint32_t i = 0; i <= l2->place_mask; i++) {
        place[i].component = (uint16_t)(l2->component + slice_of(l2, i, &set));
        place[i].set = (uint16_t)(set & ~l2->high_mask);
    }
    l2->place = place;
    return 0;
}

/* ---- taking requests -------------------------------------------------- */

/* Whether a request may turn out to skip the cache, in the mode HD_FULL. */
static inline bool may_bypass(const struct hd_l2 *l2, const struct hd_req *q)
{
    hd_assert(q->app < HD_MAX_APPS && q->level < 8);
    return ((q->flags & HD_REQ_BYPASS) | (l2->unusual & HD_L2_ASKS_PASS) |
            l2->steer->l2_steered[q->app][q->level]) != 0;
}

/* Posts the arrival of a request at a slice. */
static inline void post(struct hd_l2 *l2, hd_time at, uint32_t to,
                        uint32_t what, uint32_t r)
{
    const struct hd_req *q = &l2->req[r];

    hd_post_numbered(l2->ev, hd_l2_sender(q), to, hd_l2_number(q), at, what, r,
                     0);
}

static HD_APART void take_other(struct hd_l2 *l2, hd_time now, uint32_t r)
{
    struct hd_req *q = &l2->req[r];
    hd_time at =
        hd_recip_up(l2->per_cycle, now) + l2->travel[hd_l2_way(q)];
    uint32_t i;

    q->line = q->pa.v >> l2->line_shift;
    i = slice_of(l2, q->line, &q->spare);
    if (l2->own != l2->channels) /* those of its application */
        i += q->app * l2->own * (uint32_t)l2->spread.banks;

    if (l2->full ? may_bypass(l2, q) : l2->cfg.mode.kind == HD_OFF)
        post(l2, at, l2->component + i, HD_L2_ARRIVE, r);
    else
        post(l2, at + l2->latency, l2->component + i, HD_L2_LOOK, r);
}

HD_HOT void hd_l2_take(void *self, hd_time now, uint32_t r)
{
    struct hd_l2 *l2 = self;
    struct hd_req *q = &l2->req[r];

    if (HD_UNLIKELY(((q->flags & HD_REQ_BYPASS) | hd_l2_passes(l2)) != 0) &&
        (l2->place == NULL || may_bypass(l2, q)))
        take_other(l2, now, r);
    else
        hd_l2_take_plain(l2, hd_recip_up(l2->per_cycle, now), q, r);
}

struct hd_below hd_l2_below(struct hd_l2 *l2)
{
    struct hd_below b = {hd_l2_take, l2};

    return b;
}

struct hd_client hd_l2_client(struct hd_l2 *l2)
{
    struct hd_client c = {hd_l2slice_answer, l2};

    return c;
}

hd_time hd_l2_back(const struct hd_l2 *l2)
{
    return l2->travel[0];
}

hd_time hd_l2_walk_back(const struct hd_l2 *l2)
{
    return l2->travel[1];
}

/* ---- building --------------------------------------------------------- */

static int open_slice(struct hd_l2 *l2, uint32_t i)
{
    struct hd_env *env = l2->env;
    struct hd_l2_slice *sl = &l2->slice[i];
    struct hd_cache_spread spread = l2->spread;
    int rc;

    sl->l2 = l2;
    sl->i = i;
    sl->apps = l2->stat.apps - 1;
    sl->count = hd_count_row(&l2->stat, i, 0);
    sl->shared = hd_count_row(&l2->stat, i, HD_APP_NONE);
    sl->component =
        hd_events_component(env->ev, "l2cache", hd_l2slice_event, sl);
    hd_assert(sl->component == l2->slice[0].component + i);
    sl->s = hd_arena_take(
        env->arena, 1, sizeof *sl->s + sl->apps * sizeof(struct hd_l2_plain));
    if (sl->s == NULL ||
        hd_mshr_open(&sl->mshr, env->arena, l2->cfg.mshrs) != 0)
        return hd_err_memory(env->err);
    sl->s->tag = i << 16;
    sl->s->channel = i / (uint32_t)l2->spread.banks;
    rc = hd_cache_open(&sl->tags, env, &l2->cfg, "l2cache", i,
                       l2->cfg.bytes / l2->slices);
    if (rc != 0)
        return rc;
    hd_cache_spread(&sl->tags, spread);
    sl->set = sl->tags.tags.set;
    sl->key = sl->tags.tags.key;
    if (l2->cfg.partition && hd_assoc_share(&sl->tags.tags, env->apps) != 0)
        return hd_err_set(env->err, HEDDLE_ECONFIG,
                          "l2cache.partition: %u ways cannot be shared by %u "
                          "applications, or are more than %d",
                          l2->cfg.ways, env->apps, HD_ASSOC_NARROW);
    hd_cache_bound(&sl->tags);
    sl->bypass = (struct hd_slot){hd_l2slice_steered, sl, 0};
    if (env->slots != NULL)
        hd_slots_offer(env->slots, HEDDLE_POINT_l2_bypass, "l2cache",
                       &sl->bypass, hd_l2slice_steered, sl);
    return 0;
}

static const struct hd_steer unsteered; /* where nobody can steer */

/* Where nothing but what the machine is decides what is plain; and who has to
 * be asked or told at present.  A policy binds the slots of all slices. */
static void find_unusual(struct hd_l2 *l2)
{
    uint32_t asked = l2->slice[0].tags.tags.asked;
    bool odd = !l2->full || l2->check || l2->flit_shift == 32 ||
               (asked & HD_ASSOC_WIDE) != 0;

    l2->unusual =
        (odd ? HD_L2_ODD : 0) |
        (asked & (HD_ASSOC_TOUCH | HD_CACHE_USE) ? HD_L2_ASKS_LOOK : 0) |
        (asked & HD_CACHE_FILL ? HD_L2_ASKS_FILL : 0) |
        (l2->slice[0].bypass.bound ? HD_L2_ASKS_PASS : 0) |
        (l2->place == NULL ? HD_L2_SPREAD : 0);
}

static void bound(void *self)
{
    struct hd_l2 *l2 = self;

    for (uint32_t i = 0; i < l2->slices; i++)
        hd_cache_bound(&l2->slice[i].tags);
    find_unusual(l2);
}

static int settle(struct hd_l2 *l2)
{
    struct hd_env *env = l2->env;
    const struct hd_l2_wiring *w = &l2->w;
    struct hd_recip per_core;

    if (!hd_is_pow2(l2->cfg.line))
        return hd_err_set(env->err, HEDDLE_ECONFIG,
                          "l2cache.line: %u is not a power of two",
                          l2->cfg.line);
    l2->line_shift = (uint8_t)hd_log2(l2->cfg.line);
    l2->slices = l2->cfg.slices;
    l2->channels = w->dram != NULL    ? hd_dram_channels(w->dram)
                   : w->channels != 0 ? w->channels
                                      : 1;
    l2->own = w->dram != NULL ? hd_dram_own(w->dram) : l2->channels;
    if (l2->w.interleave == 0)
        l2->w.interleave = l2->cfg.line;
    if (l2->slices == 0 || l2->slices % l2->channels != 0)
        return hd_err_set(env->err, HEDDLE_ECONFIG,
                          "l2cache.slices: %u is no multiple of dram.channels, "
                          "%u",
                          l2->slices, l2->channels);
    l2->req = w->reqs->v;
    l2->reqs = w->reqs;
    l2->clients = w->clients;
    l2->dram_client = (uint16_t)w->dram_client;
    l2->line_bytes = (uint16_t)l2->cfg.line;
    l2->ev = env->ev;
    l2->check = env->check;
    l2->apart = w->dram != NULL && hd_dram_apart(w->dram);
    l2->full = l2->cfg.mode.kind == HD_FULL;
    l2->steer = env->slots != NULL ? env->slots->steer : &unsteered;
    l2->cycle = env->clk->ticks[HD_CLK_L2];
    l2->latency =
        (l2->cfg.mode.kind == HD_FIXED ? l2->cfg.mode.fixed : l2->cfg.latency) *
        l2->cycle;
    l2->travel[0] = l2->travel[1] = l2->xbar.latency * l2->cycle;
    if (w->walk_latency != 0)
        l2->travel[1] = w->walk_latency * l2->cycle;
    for (uint32_t i = 0; i < HD_LEN(l2->arrival); i++)
        l2->arrival[i] = l2->travel[i] + l2->latency;
    l2->per_cycle = hd_recip_of(l2->cycle);
    per_core = hd_recip_of(env->clk->ticks[HD_CLK_CORE]);
    l2->per_core = per_core.m;
    l2->per_core_shift = (uint8_t)per_core.s;
    l2->flit_more = (uint16_t)(l2->xbar.bytes - 1);
    l2->flit_shift =
        hd_is_pow2(l2->xbar.bytes) ? (uint8_t)hd_log2(l2->xbar.bytes) : 32;
    for (uint32_t kind = 0; kind < HD_REQ_KINDS; kind++)
        for (uint32_t level = 0; level < 8; level++)
            l2->class_of[kind][level] =
                (uint8_t)(kind != HD_REQ_WALK ? kind
                          : level - 1 < 4     ? HD_L2_WALK1 + level - 1
                                              : HD_L2_WALK1 + 3);
    find_spread(l2);
    return 0;
}

static int build(struct hd_l2 *l2)
{
    struct hd_env *env = l2->env;
    struct hd_hist *data, *walk;
    int rc = settle(l2);

    if (rc != 0)
        return rc;
    l2->slice = aligned_alloc(HD_L2_ALIGN, l2->slices * sizeof *l2->slice);
    if (l2->slice == NULL)
        return hd_err_memory(env->err);
    memset(l2->slice, 0, l2->slices * sizeof *l2->slice);
    l2->stat = hd_stats_group(env->stats, "l2cache", hd_l2_stats,
                              hd_l2_stat_count, l2->slices);
    hd_stats_open_time(env->stats, hd_l2look_counts, l2);
    data = hd_stats_hist(env->stats, &hd_l2_hists[0]);
    walk = hd_stats_hist(env->stats, &hd_l2_hists[1]);
    if (l2->stat.v == NULL || data == NULL || walk == NULL)
        return hd_err_memory(env->err);
    l2->hist[0] = data;
    l2->hist[1] = walk;
    for (uint32_t i = 0; i < l2->slices && rc == 0; i++)
        rc = open_slice(l2, i);
    if (rc != 0)
        return rc;
    l2->component = l2->slice[0].component;
    l2->model = &l2->slice[0].tags.tags;
    rc = find_places(l2);
    find_unusual(l2);
    return rc;
}

struct hd_l2 *hd_l2_open(struct hd_env *env, const struct hd_l2_wiring *w)
{
    struct hd_l2 *l2 = aligned_alloc(HD_L2_ALIGN, sizeof *l2);

    if (l2 == NULL) {
        hd_err_memory(env->err);
        return NULL;
    }
    memset(l2, 0, sizeof *l2);
    l2->env = env;
    l2->w = *w;
    l2->cfg = *w->cache;
    l2->xbar = *w->xbar;
    if (build(l2) != 0) {
        hd_l2_close(l2);
        return NULL;
    }
    hd_env_part(env, (struct hd_part){.name = "l2cache",
                                      .instances = l2->slices,
                                      .self = l2,
                                      .look = hd_l2look_slice,
                                      .stuck = hd_l2look_stuck,
                                      .check = hd_l2look_check,
                                      .sync = hd_l2look_sync,
                                      .bound = bound});
    return l2;
}

void hd_l2_close(struct hd_l2 *l2)
{
    if (l2 == NULL)
        return;
    free((void *)l2->place);
    free(l2->slice);
    free(l2);
}
