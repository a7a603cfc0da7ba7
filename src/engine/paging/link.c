/*
 * link.c - the link to the host: latency apart from occupation.
 *
 * Mosaic (2.2) measured on a GTX 1080 how long a far fault takes: 55 us for a
 * page of 4 KB, 318 us for one of 2 MB.  The line through both points is
 *
 *     t = L + S / B,   L = 54.485 us,   B = 7.9584 GB/s
 *
 * and so the model: a delay L for each fault, that any number of faults may
 * spend at the same time, and an occupation S / B of a link that carries one
 * transfer after the other.  L is a number of this file and a wait of the
 * client (fault.c, dispatch.c); this file queues the occupations.  Directions
 * do not disturb one another: PCIe is full duplex, and GPUs have an engine for
 * each.
 *
 * Both parts are rounded up to cycles of the link's clock, and a transfer
 * begins at an edge of it, so that a lone fault on the default link takes
 * 56,100 cycles for 4 KB and 324,360 for 2 MB at 1020 MHz: Mosaic's 55 and
 * 318 us.
 *
 * A copy engine has a cost for each copy, so that small ones get little of the
 * bandwidth.  With link.curve=uvmsmart it is the curve that UVMSmart (Ganguly
 * et al., ISCA 2019) fitted to copies of cudaMemcpy over PCIe 3.0 x16,
 *
 *     B(S) = A * 2 / pi * atan(0.07292 * S / 1 KB)
 *
 * with A = link.bandwidth, what a copy without end would get: 12 GiB/s there,
 * for a nominal 16 GB/s.  The times for 4 KB, 64 KB and 2 MB are 1.76, 5.88 and
 * 163.5 us then.  A part of a transfer takes its share of the whole.  The curve
 * is counted in bytes: a transfer of S occupies the link as long as S * A /
 * B(S) would at A, about 22 KB for one byte and S + 9 KB for a large one; that
 * is worked out in whole numbers, so it is the same on every machine.
 *
 * The queue is known to be a FIFO with known times, so the end of a transfer
 * is known when it is sent.  Transfers are in a ring for each direction until
 * they are over; that is what people see, and what is checked.
 *
 * Lines of the host's memory (remote.c) cross between the packets of transfers.
 * Their bytes take their time at the whole bandwidth, one line after the other,
 * to the byte: what is left of a cycle is the next one's.  They cross first, as
 * in UVMSmart: they do not wait for transfers, and what they took of the link
 * is what a transfer that is sent later begins later.  Those that were sent
 * before are not slowed down, so that their ends stay known; no more is carried
 * by then than the link can carry by the end of the last of them.
 *
 * Invariants: in a ring, each transfer begins no earlier than the one before
 * ends; the link is never idle while one waits; busy time <= time passed; all
 * that was sent takes no more time than there is to its end.
 *
 * Left out on purpose: packets, their headers and the limits of outstanding
 * ones (B is an effective bandwidth).
 *
 * SPDX-License-Identifier: MIT
 */
#include "link.h"

#include <stdio.h>

#include "points/slots.h"

#define HD_PART    link
#define HD_CFG     struct hd_link_cfg
#define HD_PART_OF "paging/link.def"
#include "kit/rows.h"

enum {
#define HD_HISTS_OF "paging/link.def"
#include "kit/rows.h"
};

struct transfer {
    hd_time sent, begin, end;
    hd_time lines; /* ticks that lines had taken when it was sent */
    uint64_t bytes;
    uint32_t client, word;
    uint32_t app;
};

struct queue {         /* of a direction; in the arena */
    uint32_t first, n; /* ring */
    hd_time free;      /* when all that was sent has crossed */
    hd_time lines;     /* ticks taken by lines, at their whole bandwidth */
    hd_time line_free; /* end of the last of them */
    uint64_t line_odd; /* bytes x Hz of those, less than a cycle */
    hd_time busy;      /* ticks occupied by transfers that are over */
    uint64_t over;     /* transfers that are */
    uint64_t odd;      /* ticks of busy_cycles not yet a whole cycle */
};

struct hd_link {
    struct hd_env *env;
    struct hd_link_cfg cfg;
    struct queue *q;                     /* arena: [direction] */
    struct transfer *ring[HD_LINK_DIRS]; /* arena: [room] */
    uint32_t room, rank, clients;
    hd_time latency;
    uint64_t rate[HD_LINK_DIRS]; /* bytes a second */
    struct hd_stat stat;
    struct hd_hist *time;
    struct {
        uint32_t component, what;
    } client[HD_LINK_CLIENTS];
};

static struct transfer *link_at(const struct hd_link *l, enum hd_link_dir dir,
                                uint32_t i)
{
    return &l->ring[dir][(l->q[dir].first + i) % l->room];
}

/* ---- time --------------------------------------------------------------- */

/* atan(x / 2^26) * 2^26 for x up to 2^26, by its continued fraction
 * x / (1 + x^2 / (3 + 4 x^2 / (5 + 9 x^2 / (7 + ..)))): with 12 terms the error
 * is that of the numbers. */
static uint64_t link_atan(uint64_t x)
{
    uint64_t square = x * x >> 26, d = 25ull << 26;

    for (uint64_t k = 12; k > 0; k--)
        d = ((2 * k - 1) << 26) + ((k * k * square << 26) / d);
    return (x << 26) / d;
}

/* Bytes that take as long at link.bandwidth as a transfer of so many does. */
static uint64_t link_weight(const struct hd_link *l, uint64_t bytes)
{
    enum { HALF_PI = 105414357, K = 7292, ONE = 1024 * 100000 };
    uint64_t angle;

    if (l->cfg.curve == HD_LINK_FLAT)
        return bytes;
    angle = bytes * K <= ONE
                ? link_atan((bytes * K << 26) / ONE)
                : HALF_PI - link_atan(((uint64_t)ONE << 26) / (bytes * K));
    return hd_ceil_div(bytes * HALF_PI, angle);
}

hd_time hd_link_part(const struct hd_link *l, enum hd_link_dir dir,
                     uint64_t part, uint64_t bytes)
{
    const struct hd_clocks *clk = l->env->clk;
    uint64_t n = part == bytes || l->cfg.curve == HD_LINK_FLAT
                     ? link_weight(l, part)
                     : hd_ceil_div(link_weight(l, bytes) * part, bytes);

    /* at most 2^26 bytes and 10^11 Hz: below 2^63 */
    return hd_ticks(clk, HD_CLK_LINK,
                    hd_ceil_div(n * clk->hz[HD_CLK_LINK], l->rate[dir]));
}

hd_time hd_link_span(const struct hd_link *l, enum hd_link_dir dir,
                     uint64_t bytes)
{
    return hd_link_part(l, dir, bytes, bytes);
}

hd_time hd_link_latency(const struct hd_link *l)
{
    return l->latency;
}

hd_time hd_link_step(const struct hd_link *l)
{
    return l->latency + hd_max_u64(hd_link_span(l, HD_LINK_IN, 2u << 20),
                                   hd_link_span(l, HD_LINK_OUT, 2u << 20));
}

uint64_t hd_link_over(const struct hd_link *l)
{
    return l->q[HD_LINK_IN].over + l->q[HD_LINK_OUT].over;
}

static uint64_t link_cycles(const struct hd_link *l, hd_time span)
{
    return hd_cycle(l->env->clk, HD_CLK_CORE, span);
}

/* ---- transfers ---------------------------------------------------------- */

uint32_t hd_link_client(struct hd_link *l, uint32_t component, uint32_t what)
{
    hd_assert(l->clients < HD_LINK_CLIENTS);
    l->client[l->clients].component = component;
    l->client[l->clients].what = what;
    return l->clients++;
}

hd_time hd_link_send(struct hd_link *l, hd_time now, enum hd_link_dir dir,
                     uint32_t app, uint64_t bytes, uint32_t client,
                     uint32_t word)
{
    struct queue *q = &l->q[dir];
    struct transfer *x = link_at(l, dir, q->n);
    uint64_t *peak = hd_count(&l->stat, dir, HD_APP_NONE, HD_LINK_PEAK);

    hd_cross(l->env, HD_BORDER_transfer);
    hd_assert(q->n < l->room && bytes > 0 && bytes <= HD_LINK_MOST);
    x->sent = now;
    x->lines = q->lines;
    x->begin = hd_edge(l->env->clk, HD_CLK_LINK, hd_max_u64(now, q->free));
    x->end = x->begin + hd_link_span(l, dir, bytes);
    x->bytes = bytes;
    x->app = app;
    x->client = client;
    x->word = word;
    q->free = x->end;
    *peak = hd_max_u64(*peak, ++q->n);
    hd_post(l->env->ev, l->rank, l->rank, x->end, dir, 0, 0);
    return x->end;
}

hd_time hd_link_line(struct hd_link *l, hd_time ready, enum hd_link_dir dir,
                     uint64_t bytes)
{
    const struct hd_clocks *clk = l->env->clk;
    struct queue *q = &l->q[dir];
    uint64_t odd = q->line_odd + bytes * clk->hz[HD_CLK_LINK];
    hd_time span = hd_ticks(clk, HD_CLK_LINK, odd / l->rate[dir]);
    hd_time now = hd_edge(clk, HD_CLK_LINK, hd_events_now(l->env->ev));

    q->line_odd = odd % l->rate[dir];
    q->lines += span;
    q->free = hd_max_u64(q->free, now) + span;
    ready = hd_edge(clk, HD_CLK_LINK, ready);
    q->line_free = hd_max_u64(q->line_free, ready) + span;
    return q->line_free;
}

bool hd_link_first(const struct hd_link *l, enum hd_link_dir dir,
                   uint32_t *word)
{
    hd_cross(l->env, HD_BORDER_transfer);
    if (l->q[dir].n == 0)
        return false;
    *word = link_at(l, dir, 0)->word;
    return true;
}

static HD_APART void link_tell(const struct hd_link *l, uint32_t dir,
                               const struct transfer *x)
{
    struct heddle_n_link_transfer n = {
        .app = x->app,
        .to = dir == HD_LINK_IN ? HEDDLE_PROCESSOR_GPU : HEDDLE_PROCESSOR_HOST,
        .bytes = x->bytes,
        .queued = link_cycles(l, x->begin - x->sent),
        .cycles = link_cycles(l, x->end - x->begin)};

    hd_slots_note(l->env->slots, HEDDLE_NOTE_link_transfer, &n);
}

/* The first transfer of a direction is over. */
static void link_over(void *self, hd_time now, uint32_t dir, uint32_t a,
                      uint64_t b)
{
    struct hd_link *l = self;
    struct queue *q = &l->q[dir];
    struct transfer x = *link_at(l, dir, 0);
    uint64_t *c = hd_count_row(&l->stat, dir, x.app);
    hd_time busy = x.end - x.begin + q->odd;

    (void)a, (void)b;
    hd_assert(q->n > 0 && x.end == now);
    q->first = (q->first + 1) % l->room;
    q->n--;
    q->over++;
    q->busy += x.end - x.begin;
    q->odd = busy % l->env->clk->ticks[HD_CLK_CORE];
    c[HD_LINK_TRANSFERS]++;
    c[HD_LINK_BYTES] += x.bytes;
    c[HD_LINK_BUSY_CYCLES] += link_cycles(l, busy);
    c[HD_LINK_WAIT_CYCLES] += link_cycles(l, x.begin - x.sent);
    hd_hist_add(&l->time[x.app], link_cycles(l, x.end - x.sent));
    if (l->env->slots != NULL &&
        l->env->slots->watched[HEDDLE_NOTE_link_transfer] != 0)
        link_tell(l, dir, &x);
    hd_post(l->env->ev, l->rank, l->client[x.client].component, now,
            l->client[x.client].what, x.word, 0);
}

/* ---- looking and checking ----------------------------------------------- */

static void link_look(void *self, uint32_t dir, struct heddle_visitor *v)
{
    const struct hd_link *l = self;

    for (uint32_t i = 0; i < l->q[dir].n; i++) {
        const struct transfer *x = link_at(l, dir, i);
        v->row(v->ud, "transfer");
        v->number(v->ud, "app", x->app);
        v->number(v->ud, "bytes", x->bytes);
        v->number(v->ud, "since", link_cycles(l, x->sent));
        v->number(v->ud, "begin", link_cycles(l, x->begin));
        v->number(v->ud, "end", link_cycles(l, x->end));
    }
}

static void link_stuck(void *self, uint32_t dir, struct heddle_visitor *v)
{
    const struct hd_link *l = self;
    char text[64];

    if (l->q[dir].n == 0)
        return;
    snprintf(text, sizeof text, "its end at cycle %llu",
             (unsigned long long)link_cycles(l, link_at(l, dir, 0)->end));
    hd_show_wait(v, "link", dir, text);
    v->text(v->ud, "why",
            dir == HD_LINK_IN ? "transfers to the GPU"
                              : "transfers to the host");
    v->number(v->ud, "n", l->q[dir].n);
}

static void link_check(void *self, uint32_t dir, struct heddle_error *err)
{
    const struct hd_link *l = self;
    const struct queue *q = &l->q[dir];
    hd_time now = hd_events_now(l->env->ev), busy = q->busy, all = q->lines;

    all += q->busy;
    for (uint32_t i = 0; i < q->n; i++) {
        const struct transfer *x = link_at(l, dir, i);
        const struct transfer *last = i > 0 ? link_at(l, dir, i - 1) : NULL;
        hd_time after = last != NULL ? last->end + x->lines - last->lines : 0;
        hd_time ready = hd_max_u64(x->sent, after);
        bool idle =
            last != NULL &&
            x->begin >= hd_max_u64(x->sent + x->lines - last->lines, after) +
                            l->env->clk->ticks[HD_CLK_LINK];

        all += x->end - x->begin;
        if (x->begin < ready || idle ||
            x->end != x->begin + hd_link_span(l, dir, x->bytes) ||
            (i == 0 && x->end < now))
            hd_err_set(err, HEDDLE_ECHECK,
                       "link: transfer %u of %u bytes runs from tick %llu to "
                       "%llu, and could begin at %llu",
                       i, (unsigned)x->bytes, (unsigned long long)x->begin,
                       (unsigned long long)x->end, (unsigned long long)ready);
        if (x->begin < now)
            busy += hd_min_u64(x->end, now) - x->begin;
    }
    if (busy > now || all > q->free)
        hd_err_set(err, HEDDLE_ECHECK, "link: busy for %llu ticks of %llu",
                   (unsigned long long)busy, (unsigned long long)now);
}

/* ---- building ----------------------------------------------------------- */

struct hd_link *hd_link_open(struct hd_env *env, const struct hd_link_cfg *cfg,
                             uint32_t room)
{
    struct hd_link *l = hd_env_take(env, 1, sizeof *l);

    if (l == NULL)
        return NULL;
    l->env = env;
    l->cfg = *cfg;
    l->room = room;
    l->rate[HD_LINK_IN] = cfg->bandwidth;
    l->rate[HD_LINK_OUT] =
        cfg->out_bandwidth != 0 ? cfg->out_bandwidth : cfg->bandwidth;
    l->latency =
        hd_edge(env->clk, HD_CLK_LINK, hd_ticks_ns(env->clk, cfg->latency));
    l->q = hd_arena_take(env->arena, HD_LINK_DIRS, sizeof *l->q);
    for (int d = 0; d < HD_LINK_DIRS; d++) {
        l->ring[d] = hd_arena_take(env->arena, room, sizeof *l->ring[d]);
        if (l->q == NULL || l->ring[d] == NULL)
            return NULL;
    }
    l->stat = hd_stats_group(env->stats, &hd_rows_link, HD_LINK_DIRS);
    l->time = hd_stats_hist(env->stats, &hd_rows_link, LATENCY);
    l->rank = hd_events_component(env->ev, "link", link_over, l);
    hd_env_part(env, (struct hd_part){.name = "link",
                                      .instances = HD_LINK_DIRS,
                                      .self = l,
                                      .look = link_look,
                                      .stuck = link_stuck,
                                      .check = link_check});
    return l;
}
