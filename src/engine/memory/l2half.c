/*
 * l2half.c - an L2 of two halves (l2cache.halves), as the A100 and the H100
 * have: each half of the chip has its own cores, slices and channels, and a
 * core reaches a line whose home is in the other half over a longer path, but
 * finds in its own half what was brought from there.
 *
 * NVIDIA's paper on the A100 says that each half caches data for the memory
 * that is connected to it, and that hardware keeps them coherent.  Measured
 * (RRZE gpu-benches, one thread on an A100 of 2 x 20 MB): 206 cycles up to 17
 * MB, a mixture of 377 to 407 from 23 to 34 MB, DRAM beyond; far hits alone
 * take 390 to 420 (H800: near 258, far 414; Luo et al., arXiv 2501.12084).  So
 * the near half keeps far lines, too, which compete with its own:
 *
 *   home   the slice that l2map.c gives the line.  Slices below the half of
 *          their number are those of the lower half of the cores.
 *   near   A read of a line whose home is in the other half looks up the slice
 *          of its own half with the same number there.  A hit is answered as
 *          any.  A miss continues to the home (l2cache.far_latency later), is
 *          looked up there, and its answer takes that time more.
 *   copy   What such an answer brings is entered into the near slice
 *          (l2cache.far_copies), clean.  While the miss queue is full no copy
 *          is made, as its victim may have to be written (a guess, as what a
 *          card does is not public).
 *   write  Stores and atomics go to the home, and a copy in the other half is
 *          dropped: a message after the answers that have left the home before,
 *          so that a copy of what was there earlier never stays.  Until it is
 *          there, readers of that half may have the old value, as the memory
 *          model of a GPU allows.  (A guess: no measurement tells dropping from
 *          updating.)
 *
 * So one core sees half the capacity at near latency, and a set that all cores
 * read is in both halves.  Beyond, under LRU, its own half thrashes: lines of
 * that half come from its DRAM, those of the other are hits there.  That both
 * take about 400 cycles is why the measured curve is flat between 23 and 38 MB
 * (scenarios/characterise/halves.lua: within 9 %).
 *
 * A read that misses near takes its look-up and nothing else: no MSHR, so
 * that neither half can wait for the other; reads of one line from many cores
 * each cross, and merge at the home.  l2cache's counters have each request
 * once, where it was answered; the counters of this part say what crossed.
 *
 * What skips the cache, or may because a policy is asked, goes to the home.
 * Page walks have no half: they go there at near latency, as the MMU is between
 * the halves (a guess).  So do requests of another node, whose link is there.
 *
 * Invariants (--check): a line is in its home slice or in the one across, and
 * is clean there.
 *
 * Left out: a port between the halves (the ports of the home slice bind: data
 * pass through them as for a near core); functional warming leaves no copies
 * (it does not know the core); tables of cores, which belong to halves in
 * order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kit/bits.h"
#include "l2slice.h"

enum hd_l2half_counter {
#define HD_COUNTERS_OF "memory/l2half.def"
#include "kit/rows.h"
    HD_L2H_COUNTERS
};

#define HD_PART    l2half
#define HD_CFG     struct hd_cache_cfg
#define HD_PART_OF "memory/l2half.def"
#include "kit/rows.h"

/* HD_L2_COPY's a: the application, and from here on the sectors and the set, if
 * that is less than NO_SET; with COPY_DROP: the line is to be dropped. */
enum { COPY_SECTORS = 8, COPY_SET = 16, NO_SET = 0x7fff };
#define COPY_DROP (1u << 31)

/* Sends word of a request's line to the other half, for `at`. */
static inline void half_post(struct hd_l2_slice *sl, const struct hd_req *q,
                             hd_time at, uint32_t what)
{
    struct hd_l2 *l2 = sl->l2;

    hd_post(l2->ev, sl->component, l2->slice[sl->across].component, at,
            HD_L2_COPY,
            what | q->app | (uint32_t)hd_min_u64(q->spare, NO_SET) << COPY_SET,
            q->line);
}

int hd_l2half_open(struct hd_l2 *l2)
{
    const struct hd_cache_cfg *c = &l2->cfg;
    uint32_t nodes = l2->env->nodes != NULL ? l2->env->nodes->n : 1, n;

    if (c->slices % (2 * nodes) != 0)
        return hd_err_set(l2->env->err, HEDDLE_ECONFIG,
                          "l2cache.halves: %u slices (l2cache.slices) do not "
                          "have two halves%s",
                          c->slices, nodes > 1 ? " in each node" : "");
    l2->half.slices = n = c->slices / nodes / 2;
    l2->half.cores = l2->w.cores / nodes;
    for (uint32_t i = 0; i < c->slices; i++) {
        l2->slice[i].upper = i % (2 * n) >= n;
        l2->slice[i].across = l2->slice[i].upper ? i - n : i + n;
    }
    l2->half.far = c->far_latency * l2->cycle;
    l2->half.stat = hd_stats_group(l2->env->stats, &hd_rows_l2half, c->slices);
    return l2->half.stat.v == NULL ? hd_err_memory(l2->env->err) : 0;
}

/* ---- who is where ------------------------------------------------------- */

static inline uint32_t half_of_slice(const struct hd_l2 *l2, uint32_t slice)
{
    return l2->slice[slice].upper;
}

/* A requester's half; HD_NONE: it is no core. */
static inline uint32_t half_of_client(const struct hd_l2 *l2, uint32_t client)
{
    if (client >= l2->w.cores)
        return HD_NONE;
    if (HD_UNLIKELY(l2->half.cores != l2->w.cores))
        client %= l2->half.cores;
    return 2 * client >= l2->half.cores;
}

/* The slice of the other half that may hold copies of this one's lines. */
static inline struct hd_l2_slice *half_across(const struct hd_l2_slice *sl)
{
    return &sl->l2->slice[sl->across];
}

/* Its reads look up both halves. */
static inline bool half_looks(const struct hd_l2 *l2, const struct hd_req *q)
{
    return q->kind == HD_REQ_READ && l2->full && l2->cfg.far_copies &&
           ((q->flags & HD_REQ_BYPASS) | l2->asks |
            l2->steer->l2_steered[q->app][q->level]) == 0 &&
           !hd_l2_not_kept(&l2->slice[0], q->pa.v);
}

static inline uint64_t *half_counters(const struct hd_l2_slice *sl,
                                      uint32_t app)
{
    return hd_count_row(&sl->l2->half.stat, sl->i, app);
}

/* ---- the path of a request ---------------------------------------------- */

hd_time hd_l2half_route(const struct hd_l2 *l2, struct hd_req *q,
                        uint32_t *slice)
{
    uint32_t half = half_of_client(l2, q->client);

    if (q->kind == HD_REQ_WRITE || q->kind == HD_REQ_ATOMIC)
        q->flags |= HD_REQ_HALF;
    if (half == HD_NONE || half == half_of_slice(l2, *slice))
        return 0;
    q->flags |= HD_REQ_HALF;
    if (!half_looks(l2, q))
        return l2->half.far;
    *slice = half_across(&l2->slice[*slice])->i;
    return 0;
}

/* A line is changed at its home: a copy of it is dropped. */
static void half_changed(struct hd_l2_slice *sl, hd_time now,
                         const struct hd_req *q)
{
    struct hd_l2_slice *other = half_across(sl);
    hd_time at = hd_max_u64(sl->s->out_free, now) + sl->l2->half.far;

    if (sl->s->copying != 0 ||
        hd_assoc_find(&other->tags.tags, q->spare, q->line) != HD_NONE)
        half_post(sl, q, at, COPY_DROP);
}

static bool half_hits(const struct hd_l2_slice *sl, const struct hd_req *q)
{
    uint32_t e = hd_assoc_find(&sl->tags.tags, q->spare, q->line);

    return e != HD_NONE &&
           (!hd_l2_sectored(sl->l2) ||
            (hd_sectors_asked(q) & ~(uint32_t)sl->tags.sector[e].valid) == 0);
}

bool hd_l2half_serve(struct hd_l2_slice *sl, hd_time now, uint32_t r, hd_time t)
{
    struct hd_l2 *l2 = sl->l2;
    struct hd_req *q = hd_l2_request(sl, r);

    if (q->kind == HD_REQ_WRITE || q->kind == HD_REQ_ATOMIC) {
        if (l2->cfg.far_copies)
            half_changed(sl, now, q);
        return false;
    }
    if (half_of_client(l2, q->client) != half_of_slice(l2, sl->i))
        return false; /* at home */
    if (half_hits(sl, q)) {
        half_counters(sl, q->app)[HD_L2H_NEAR_HITS]++;
        q->flags &= (uint8_t)~HD_REQ_HALF;
        return false;
    }
    hd_l2_book(sl, q, t);
    half_counters(sl, q->app)[HD_L2H_FAR_READS]++;
    sl->s->owed--;
    if (HD_UNLIKELY(l2->check))
        sl->s->total += q->queued - q->born;
    q->flags &= (uint8_t)~HD_REQ_SEQ;
    hd_post(l2->ev, sl->component, half_across(sl)->component,
            q->queued + l2->half.far + l2->latency, HD_L2_LOOK, r, 0);
    return true;
}

hd_time hd_l2half_back(struct hd_l2_slice *sl, const struct hd_req *q,
                       hd_time leaves)
{
    const struct hd_l2 *l2 = sl->l2;
    uint32_t half = half_of_client(l2, q->client);
    hd_time at = leaves + l2->half.far;

    if (half == HD_NONE || half == half_of_slice(l2, sl->i))
        return leaves;
    if (half_looks(l2, q)) {
        sl->s->copying++;
        half_post(sl, q, at,
                  hd_l2_sectored(l2) ? hd_sectors_asked(q) << COPY_SECTORS : 0);
    }
    return at;
}

void hd_l2half_reply(struct hd_l2_slice *sl, uint32_t r, hd_time leaves)
{
    const struct hd_req *q = &sl->req[r];
    const struct hd_client *c = &sl->l2->w.clients[q->client];

    c->reply(c->self, hd_l2half_back(sl, q, leaves), r);
}

/* ---- copies -------------------------------------------------------------- */

static void half_drop(struct hd_l2_slice *sl, uint32_t app, uint32_t set,
                      uint64_t line)
{
    uint32_t e = hd_assoc_find(&sl->tags.tags, set, line);

    if (e == HD_NONE)
        return;
    hd_assoc_drop(&sl->tags.tags, e);
    half_counters(sl, app)[HD_L2H_DROPPED]++;
}

void hd_l2half_drop(struct hd_l2 *l2, uint32_t app, uint64_t line)
{
    uint32_t set, home = hd_l2_slice_of(l2, app, line, &set);

    half_drop(half_across(&l2->slice[home]), app, set, line);
}

void hd_l2half_copy(struct hd_l2_slice *sl, hd_time now, uint32_t what,
                    uint64_t line)
{
    struct hd_l2 *l2 = sl->l2;
    struct hd_req q = {.pa = {line << l2->line_shift},
                       .line = line,
                       .app = (uint8_t)what,
                       .kind = HD_REQ_READ,
                       .warp = HD_NO_WARP};
    uint32_t sectors = what >> COPY_SECTORS & 0xff;

    q.spare = what >> COPY_SET & NO_SET;
    if (HD_UNLIKELY(q.spare == NO_SET))
        hd_l2_slice_of(l2, q.app, line, &q.spare);
    if ((what & COPY_DROP) != 0) {
        half_drop(sl, q.app, q.spare, line);
        return;
    }
    half_across(sl)->s->copying--;
    if (hd_l2_down_full(sl)) {
        half_counters(sl, q.app)[HD_L2H_NO_ROOM]++;
        return;
    }
    half_counters(sl, q.app)[HD_L2H_COPIES]++;
    if (hd_l2_sectored(l2))
        hd_l2sector_copy(sl, now, &q, sectors);
    else if (hd_assoc_find(&sl->tags.tags, q.spare, line) == HD_NONE)
        hd_l2_enter_clean(sl, now, &q);
}

/* ---- the check ----------------------------------------------------------- */

const char *hd_l2half_check(const struct hd_l2_slice *sl)
{
    const struct hd_assoc *a = &sl->tags.tags;
    uint32_t set, home;

    for (uint32_t e = 0; e < a->sets * a->ways; e++) {
        if (a->key[e] == HD_KEY_NONE)
            continue;
        home = hd_l2_slice_of(sl->l2, sl->tags.line[e].owner, a->key[e], &set);
        if (home == sl->i)
            continue;
        if (home != half_across(sl)->i)
            return "a line is in a slice that is not its own";
        if (sl->tags.line[e].dirty)
            return "a copy of a line of the other half is dirty";
    }
    return NULL;
}
