/*
 * l2sector.c - a slice of the L2 whose lines have sectors (l2cache.sector_bytes;
 * sector.c says what is kept of them): what l2.c does with whole lines.
 *
 * A request names the sectors of its line that it is for; a page walk's read,
 * the one that its entry is in.  A read or an atomic hits if all of them are
 * valid.  Else the missing ones that are not in flight are asked from DRAM, in
 * one request of so many bursts: alone, or with all of the aligned piece of
 * l2cache.fetch_bytes that they are in.  MSHRs are of lines: a request that
 * misses a sector not yet asked for joins the MSHR of its line and sends a
 * further read for it.  Each answer fills what it brings, and answers the
 * requests that have all their sectors then.
 *
 * A store fetches nothing.  It writes into the line if that is present, and
 * else allocates it, in flight or not; what comes later leaves what it wrote as
 * it is.  A sector that stores have written in part is read when a read wants
 * it.  A victim's dirty sectors are written back alone.
 *
 * The slice is chosen when it is opened: its events, its answers and what is
 * sent to it come to functions of this file (hd_l2_open), and l2.c gives it the
 * requests that are served, which HD_REQ_SECTORS marks.  What skips the cache
 * (l2bypass.c) moves its sectors and concerns nothing here; ways that are shared
 * out (l2share.c) and lines of the host (l2host.c) are as in l2.c.
 *
 * Invariants (--check): an MSHR has a sector in flight, and each request there
 * waits for some of those; the sectors in flight are those of the MSHRs.
 *
 * Left out: compressed pages (refused: their lines are moved whole), and ports
 * by sectors: a look-up is one for a line.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kit/bits.h"
#include "l2slice.h"

enum hd_l2sector_counter {
#define HD_COUNTERS_OF "memory/l2sector.def"
#include "kit/rows.h"
    HD_L2S_COUNTERS
};

#define HD_PART    l2sector
#define HD_CFG     struct hd_cache_cfg
#define HD_PART_OF "memory/l2sector.def"
#include "kit/rows.h"

/* HD_L2_FILL's a: the MSHR, and from here on the sectors that have come. */
enum { FILL_SECTORS = 16 };

/* An MSHR's flags: HD_L2_DIRTY, and from here on the sectors in flight. */
enum { FLIGHT = 8 };

static inline uint32_t mshr_flight(const struct hd_mshr_entry *x)
{
    return x->flags >> FLIGHT & 0xff;
}

int hd_l2sector_open(struct hd_l2 *l2)
{
    const struct hd_cache_cfg *c = &l2->cfg;
    uint32_t shift = hd_log2(c->sector_bytes);

    l2->sector.shift = shift;
    l2->sector.all = (1u << (c->line >> shift)) - 1;
    l2->sector.fetch =
        c->fetch_bytes != 0 ? hd_log2(c->fetch_bytes) - shift : 0;
    l2->sector.burst_shift =
        l2->w.burst > c->sector_bytes ? hd_log2(l2->w.burst) : shift;
    l2->sector.stat =
        hd_stats_group(l2->env->stats, &hd_rows_l2sector, c->slices);
    return l2->sector.stat.v == NULL ? hd_err_memory(l2->env->err) : 0;
}

/* ---- small steps ------------------------------------------------------- */

static inline uint64_t *l2s_counters(const struct hd_l2_slice *sl, uint32_t app)
{
    return hd_count_row(&sl->l2->sector.stat, sl->i, app);
}

/* All sectors that are fetched if some are. */
static inline uint32_t l2s_widen(const struct hd_l2 *l2, uint32_t sectors)
{
    uint32_t n = 1u << l2->sector.fetch, out = 0;

    if (n == 1)
        return sectors;
    if (l2->sector.all >> n == 0) /* a line is one piece */
        return sectors != 0 ? l2->sector.all : 0;
    for (uint32_t i = 0; l2->sector.all >> i != 0; i += n) {
        uint32_t piece = ((1u << n) - 1) << i;
        out |= (sectors & piece) != 0 ? piece : 0;
    }
    return out;
}

/* The bytes that DRAM moves for some sectors: whole bursts. */
static uint32_t l2s_bytes(const struct hd_l2 *l2, uint32_t sectors)
{
    uint32_t wider = l2->sector.burst_shift - l2->sector.shift;
    uint32_t n, bursts = 0;

    if (wider == 0)
        return hd_sectors_count(sectors) << l2->sector.shift;
    for (uint32_t m = sectors; m != 0; m &= m - 1)
        bursts |= 1u << (hd_bit_first(m) >> wider);
    n = hd_sectors_count(bursts) << l2->sector.burst_shift;
    return (uint32_t)hd_min_u64(n, l2->cfg.line);
}

/* The address of the first of some sectors of a line. */
static inline uint64_t l2s_address(const struct hd_l2 *l2, uint64_t line,
                                   uint32_t sectors)
{
    return (line << l2->line_shift) +
           ((uint64_t)hd_bit_first(sectors) << l2->sector.shift);
}

/* A request that does not say what it is for: by its bytes. */
static inline void l2s_name(const struct hd_l2 *l2, struct hd_req *q)
{
    uint32_t lo = (uint32_t)q->pa.v & (l2->cfg.line - 1);
    uint32_t hi = lo + (q->bytes != 0 ? q->bytes - 1u : 0);

    if (HD_LIKELY((q->flags & HD_REQ_SECTORS) != 0))
        return;
    hi = (uint32_t)hd_min_u64(hi, l2->cfg.line - 1);
    q->flags |= HD_REQ_SECTORS;
    hd_sectors_ask(q, hd_sectors_between(lo, hi, l2->sector.shift), 0);
}

/* What a write request leaves. */
static inline struct hd_sectors l2s_written(const struct hd_l2 *l2,
                                            const struct hd_req *q, bool dirty)
{
    uint32_t asked = hd_sectors_asked(q), whole = hd_sectors_second(q);
    const struct hd_reqs *p = l2->w.reqs;

    return hd_sectors_written(
        asked, whole, asked != whole ? &p->written[q - p->v] : NULL, dirty);
}

/* Enters the line of a request with these sectors, and sends the dirty sectors
 * of its victim down at `at`. */
static void l2s_enter(struct hd_l2_slice *sl, hd_time now, hd_time at,
                      const struct hd_req *q, uint32_t level,
                      const struct hd_sectors *w)
{
    uint64_t victim, *count;
    struct hd_sector_line old;
    uint32_t owner;
    bool back = hd_l2_place_line(sl, q, level, w->dirty != 0, &victim, &owner);

    old = hd_sectors_entered(&sl->tags, q->spare, q->line, w);
    if (!back)
        return;
    hd_l2_counters(sl, owner)[HD_L2_WRITE_BACKS]++;
    count = l2s_counters(sl, owner);
    count[HD_L2S_WRITE_BACKS] += hd_sectors_count(old.dirty);
    count[HD_L2S_WRITE_BACK_PARTS] += hd_sectors_count(old.dirty & old.part);
    hd_l2_down_go(sl, now, at,
                  hd_l2_down_ask(sl, l2s_address(sl->l2, victim, old.dirty),
                                 l2s_bytes(sl->l2, old.dirty), HD_REQ_WRITE,
                                 owner, HD_NO_WARP));
}

/* ---- serving a request ------------------------------------------------- */

/* Reads sectors of request r's line from DRAM, for MSHR m. */
static void l2s_fetch(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                      uint32_t m, uint32_t sectors, uint64_t *count)
{
    const struct hd_l2 *l2 = sl->l2;
    const struct hd_req *q = hd_l2_request(sl, r);
    uint32_t d =
        hd_l2_down_read(sl, r, l2s_address(l2, q->line, sectors),
                        l2s_bytes(l2, sectors), m, q->spare);

    sl->mshr.v[m].flags |= sectors << FLIGHT;
    hd_sectors_ask(hd_l2_request(sl, d), sectors, 0);
    sl->s->sectors += hd_sectors_count(sectors);
    count[HD_L2S_FETCHED] += hd_sectors_count(sectors);
    hd_l2_down_go(sl, now, q->queued, d);
}

/* Counts what a read or an atomic is for, and returns its counters. */
static inline uint64_t *l2s_count_read(const struct hd_l2_slice *sl,
                                       const struct hd_req *q, uint32_t lacking)
{
    uint64_t *count = l2s_counters(sl, q->app);
    uint32_t asked = hd_sectors_asked(q);

    count[HD_L2S_READS] += hd_sectors_count(asked);
    count[HD_L2S_READ_HITS] += hd_sectors_count(asked & ~lacking);
    return count;
}

/* A read or an atomic lacks sectors: they are in flight, or are asked for. */
static uint32_t l2s_miss(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                         hd_time t, uint32_t entry, uint32_t lacking)
{
    struct hd_req *q = hd_l2_request(sl, r);
    uint32_t m = hd_mshr_find(&sl->mshr, q->line), flight = 0, ask, valid = 0;
    struct hd_mshr_entry *x;
    uint64_t *count;

    if (m != HD_NONE)
        flight = mshr_flight(&sl->mshr.v[m]);
    else if (hd_mshr_full(&sl->mshr))
        return HD_L2_MSHRS;
    if (m != HD_NONE && sl->mshr.v[m].n >= sl->l2->cfg.merges)
        return HD_L2_MERGES;
    if (entry != HD_NONE)
        valid = sl->tags.sector[entry].valid;
    ask = l2s_widen(sl->l2, lacking & ~flight) & ~(flight | valid);
    if (ask != 0 && hd_l2_down_full(sl))
        return HD_L2_QUEUE;
    hd_l2_book(sl, q, t);
    hd_cache_used(&sl->tags, q->spare, q->line, HD_NONE, q->kind,
                  hd_l2_who(sl, q), false);
    count = l2s_count_read(sl, q, lacking);
    count[HD_L2S_READ_MISSES] += hd_sectors_count(lacking & ~flight);
    count[HD_L2S_READ_MERGED] += hd_sectors_count(lacking & flight);
    count[HD_L2S_ADDED] += hd_sectors_count(ask & ~lacking);
    if (entry != HD_NONE) {
        hd_assoc_touch_in(&sl->tags.tags, q->spare, entry, hd_l2_who(sl, q));
        count[HD_L2S_SECTOR_MISSES]++;
        count[HD_L2S_PARTS_FILLED] +=
            hd_sectors_count(ask & sl->tags.sector[entry].part);
    }
    count[HD_L2S_FURTHER] += ask != 0 && m != HD_NONE;
    hd_l2_count(sl, q, ask != 0 ? HD_L2_MISSES : HD_L2_MERGED);
    q->hit = ask != 0 ? HD_REQ_MISSED : HD_REQ_MERGED;
    q->next = HD_NONE;
    hd_sectors_ask(q, hd_sectors_asked(q), lacking);
    if (m == HD_NONE) {
        m = hd_mshr_take(&sl->mshr, q->line);
        sl->mshr.v[m].first = r;
        hd_l2_peak(sl, HD_L2_PEAK_MSHRS, hd_mshr_used(&sl->mshr));
    } else {
        hd_l2_request(sl, sl->mshr.v[m].last)->next = r;
    }
    x = &sl->mshr.v[m];
    x->last = r;
    x->n++;
    if (q->kind == HD_REQ_ATOMIC)
        x->flags |= HD_L2_DIRTY;
    if (ask != 0)
        l2s_fetch(sl, now, r, m, ask, count);
    return HD_L2_GO;
}

static uint32_t l2s_read(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                         hd_time t, uint32_t entry)
{
    struct hd_req *q = hd_l2_request(sl, r);
    bool atomic = q->kind == HD_REQ_ATOMIC;
    bool through = atomic && sl->l2->cfg.write != HD_WRITE_BACK;
    uint32_t asked = hd_sectors_asked(q), lacking = asked;
    struct hd_sectors w = {0};

    if (entry != HD_NONE)
        lacking &= ~(uint32_t)sl->tags.sector[entry].valid;
    if (HD_UNLIKELY(through) && hd_l2_down_full(sl))
        return HD_L2_QUEUE;
    if (lacking != 0)
        return l2s_miss(sl, now, r, t, entry, lacking);
    hd_l2_book(sl, q, t);
    hd_cache_used(&sl->tags, q->spare, q->line, entry, q->kind,
                  hd_l2_who(sl, q), false);
    hd_l2_count(sl, q, HD_L2_HITS);
    l2s_count_read(sl, q, 0);
    q->hit = HD_REQ_HIT;
    if (atomic && !through) {
        w.dirty = (uint8_t)asked;
        hd_sectors_add(&sl->tags, entry, &w);
    }
    if (HD_UNLIKELY(through))
        hd_l2_down_write(sl, now, q->queued, q, q->pa.v, q->bytes);
    hd_l2_reply(sl, now, r, q->queued);
    return HD_L2_GO;
}

static uint32_t l2s_write(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                          hd_time t, uint32_t entry)
{
    struct hd_req *q = hd_l2_request(sl, r);
    bool back = sl->l2->cfg.write == HD_WRITE_BACK &&
                !hd_l2_not_kept(sl, q->pa.v);
    bool hit = entry != HD_NONE;
    struct hd_sectors w = l2s_written(sl->l2, q, back);
    const struct hd_sector_line *x = &sl->tags.sector[hit ? entry : 0];
    uint32_t asked = hd_sectors_asked(q);
    uint64_t *count = l2s_counters(sl, q->app);

    if (hd_l2_down_full(sl) && !(back && hit))
        return HD_L2_QUEUE;
    count[HD_L2S_WRITES] += hd_sectors_count(asked);
    count[HD_L2S_WRITE_PARTS] += hd_sectors_count(w.part);
    if (hit)
        count[HD_L2S_WRITE_HITS] +=
            hd_sectors_count(asked & ((uint32_t)x->valid | x->part));
    hd_l2_book(sl, q, t);
    hd_cache_used(&sl->tags, q->spare, q->line, entry, q->kind,
                  hd_l2_who(sl, q), false);
    hd_l2_count(sl, q, hit ? HD_L2_HITS : HD_L2_MISSES);
    if (hit && sl->l2->cfg.write != HD_WRITE_EVICT)
        hd_sectors_add(&sl->tags, entry, &w);
    if (!back) {
        hd_l2_down_through(sl, now, r, q->queued);
        return HD_L2_GO;
    }
    if (!hit)
        l2s_enter(sl, now, q->queued, q, 0, &w);
    hd_l2_end(sl, r, q->queued);
    return HD_L2_GO;
}

HD_HOT uint32_t hd_l2sector_serve(struct hd_l2_slice *sl, hd_time now,
                                  uint32_t r, hd_time t)
{
    const struct hd_req *q = hd_l2_request(sl, r);
    uint32_t e = hd_assoc_find(&sl->tags.tags, q->spare, q->line);

    return q->kind == HD_REQ_WRITE ? l2s_write(sl, now, r, t, e)
                                   : l2s_read(sl, now, r, t, e);
}

/* ---- answers from DRAM ------------------------------------------------- */

/* Takes the requests of an MSHR that have all their sectors now out of it, in
 * order; their list. */
static uint32_t l2s_complete(struct hd_l2_slice *sl, struct hd_mshr_entry *x,
                             uint32_t got)
{
    uint32_t first = HD_NONE, *done = &first, *link = &x->first, r;

    x->last = HD_NONE;
    for (r = x->first; r != HD_NONE; r = *link) {
        struct hd_req *q = hd_l2_request(sl, r);
        uint32_t waits = hd_sectors_second(q) & ~got;
        hd_sectors_ask(q, hd_sectors_asked(q), waits);
        if (waits != 0) {
            x->last = r;
            link = &q->next;
            continue;
        }
        *link = q->next;
        q->next = HD_NONE;
        *done = r;
        done = &q->next;
        x->n--;
    }
    return first;
}

static HD_APART void l2s_fill(struct hd_l2_slice *sl, hd_time now, uint32_t m,
                            uint32_t got)
{
    struct hd_mshr_entry *x = &sl->mshr.v[m];
    bool back = sl->l2->cfg.write == HD_WRITE_BACK;
    uint32_t done = l2s_complete(sl, x, got), r, next, dirty = 0, e;
    const struct hd_req *q =
        hd_l2_request(sl, done != HD_NONE ? done : x->first);
    bool away = hd_l2_not_kept(sl, q->pa.v);
    struct hd_sectors w = {.valid = (uint8_t)got};

    sl->s->sectors -= hd_sectors_count(got);
    x->flags &= ~(got << FLIGHT);
    for (r = done; r != HD_NONE; r = hd_l2_request(sl, r)->next)
        if (hd_l2_request(sl, r)->kind == HD_REQ_ATOMIC)
            dirty |= hd_sectors_asked(hd_l2_request(sl, r));
    if (x->n == 0)
        hd_mshr_give(&sl->mshr, m);
    if (!away) {
        w.dirty = (uint8_t)(back ? dirty : 0);
        w.valid |= w.dirty; /* an atomic has had all that it changed */
        e = hd_assoc_find(&sl->tags.tags, q->spare, q->line);
        if (e != HD_NONE)
            hd_sectors_add(&sl->tags, e, &w);
        else
            l2s_enter(sl, now, now, q, q->level, &w);
    }
    if (dirty != 0 && (!back || away))
        hd_l2_down_write(sl, now, now, q, l2s_address(sl->l2, q->line, dirty),
                         l2s_bytes(sl->l2, dirty));
    for (r = done; r != HD_NONE; r = next) {
        q = hd_l2_request(sl, r);
        next = q->next;
        hd_l2_reply(sl, now, r, hd_max_u64(now, q->queued));
    }
    if (sl->s->in.n > 0)
        hd_l2_resume(sl, now);
}

HD_HOT void hd_l2sector_answer(void *self, hd_time at, uint32_t d)
{
    struct hd_l2 *l2 = self;
    const struct hd_req *q = &l2->req[d];
    struct hd_l2_slice *sl = &l2->slice[q->tag >> 16];
    uint32_t of = q->tag & 0xffff;

    at = hd_recip_up(l2->per_cycle, at);
    if (HD_LIKELY(of != HD_L2_PASSED))
        hd_l2_post(sl, at, HD_L2_FILL, of | hd_sectors_asked(q) << FILL_SECTORS);
    else
        hd_l2_post(sl, at, HD_L2_PASS, q->spare);
    hd_req_give(l2->w.reqs, d);
}

void hd_l2sector_copy(struct hd_l2_slice *sl, hd_time now,
                      const struct hd_req *q, uint32_t sectors)
{
    struct hd_sectors w = {.valid = (uint8_t)sectors};
    uint32_t e = hd_assoc_find(&sl->tags.tags, q->spare, q->line);

    if (e != HD_NONE)
        hd_sectors_add(&sl->tags, e, &w);
    else
        l2s_enter(sl, now, now, q, 0, &w);
}

/* ---- events ------------------------------------------------------------ */

HD_HOT void hd_l2sector_take(void *self, hd_time now, uint32_t r)
{
    const struct hd_l2 *l2 = self;

    l2s_name(l2, &l2->req[r]);
    hd_l2_take_other(l2, now, r);
}

HD_HOT void hd_l2sector_event(void *self, hd_time now, uint32_t what,
                              uint32_t a, uint64_t b)
{
    if (what == HD_L2_FILL)
        l2s_fill(self, now, a & ((1u << FILL_SECTORS) - 1), a >> FILL_SECTORS);
    else if (HD_LIKELY(what == HD_L2_LOOK))
        hd_l2_look(self, now, a);
    else
        hd_l2_serve_other(self, now, what, a, b);
}

/* ---- functional warming ------------------------------------------------ */

/* What l2warm.c does for whole lines. */
void hd_l2sector_warm(void *self, struct hd_req *q)
{
    const struct hd_l2 *l2 = self;
    bool back = l2->cfg.write == HD_WRITE_BACK, write = q->kind == HD_REQ_WRITE;
    bool dirty = back && (write || q->kind == HD_REQ_ATOMIC);
    struct hd_sectors w;
    struct hd_l2_slice *sl;
    uint32_t e, m, owner, flight = 0, lacking;
    uint64_t victim;

    l2s_name(l2, q);
    sl = hd_l2_warmed(l2, q, &e);
    if (sl == NULL)
        return;
    if (write) {
        if (e != HD_NONE ? l2->cfg.write == HD_WRITE_EVICT : !back)
            return;
        w = l2s_written(l2, q, back);
    } else {
        m = hd_mshr_find(&sl->mshr, q->line);
        lacking = hd_sectors_asked(q);
        if (e != HD_NONE)
            lacking &= ~(uint32_t)sl->tags.sector[e].valid;
        if (m != HD_NONE && !dirty) /* these will come */
            flight = mshr_flight(&sl->mshr.v[m]);
        w = (struct hd_sectors){
            .valid = (uint8_t)(l2s_widen(l2, lacking & ~flight) & ~flight),
            .dirty = (uint8_t)(dirty ? hd_sectors_asked(q) : 0)};
        w.valid |= w.dirty;
        if (w.valid == 0)
            return;
    }
    if (e != HD_NONE) {
        hd_sectors_add(&sl->tags, e, &w);
        return;
    }
    hd_l2_place_line(sl, q, write ? 0 : q->level, w.dirty != 0, &victim,
                     &owner);
    hd_sectors_entered(&sl->tags, q->spare, q->line, &w);
}

/* ---- the check --------------------------------------------------------- */

const char *hd_l2sector_check(const struct hd_l2_slice *sl)
{
    uint32_t flight = 0;

    for (uint32_t m = 0; m < sl->mshr.room; m++) {
        const struct hd_mshr_entry *x = &sl->mshr.v[m];
        uint32_t k = 0;

        if (!x->live)
            continue;
        flight += hd_sectors_count(mshr_flight(x));
        if (mshr_flight(x) == 0)
            return "an MSHR has no sector in flight";
        for (uint32_t r = x->first; r != HD_NONE && k < x->n; k++) {
            const struct hd_req *q = hd_l2_request(sl, r);
            if (hd_sectors_second(q) == 0 ||
                (hd_sectors_second(q) & ~mshr_flight(x)) != 0)
                return "a request waits for sectors that are not in flight";
            r = q->next;
        }
    }
    if (flight != sl->s->sectors)
        return "sectors in flight and those of the MSHRs differ";
    return hd_sectors_check(&sl->tags);
}
