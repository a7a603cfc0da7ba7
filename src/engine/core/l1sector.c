/*
 * l1sector.c - the load/store unit and the L1 cache where lines have sectors
 * (l1cache.sector_bytes; memory/sector.c says what is kept of them).
 *
 * The coalescer merges lanes into lines as without sectors; then it is found
 * which sectors of each line they touch, and of a store which bytes.  A line
 * stays one look-up, one request and one answer, which carries the sectors
 * wanted and pays the crossbar for them.
 *
 * A load hits if all its sectors are valid.  Of those that are not, it asks the
 * L2 for what is not in flight; an MSHR is a line's, so a load that misses other
 * sectors of a line in flight joins its MSHR and sends a further request.  An
 * answer fills its sectors, and ends the loads that have all of theirs then.
 *
 * A line takes its way when it comes or, with l1cache.allocate=miss, when it is
 * missed, as in Accel-Sim: it is in the tags without a sector then, lines in flight
 * are no victims, and a load whose set has nothing else waits.  (Stores that
 * allocate take the oldest line there, in flight or not.)
 *
 * A store with l1cache.write=through allocates what it writes and fetches
 * nothing, and is sent on with its bytes (Accel-Sim's "lazy fetch on read", as
 * in its files for Volta to Ampere); with evict it drops the line.  An atomic
 * drops the line, and is done at the L2.
 *
 * hd_lsu_line.bytes, hd_l1d_take's `bytes` and what is kept of a parked line
 * are a bit for each sector here or, of a store that fills not all of its
 * sectors, RECORD and the number of a record of its bytes, which the line has
 * until it is served.
 *
 * Invariants (--check): the sectors in flight of an MSHR are those that its
 * loads wait for; those of sector.c, and no sector of an L1 is dirty.
 *
 * Left out: an L1 that is write-back (refused), and loads whose lines hit in a
 * row in one step of the load/store unit (lsu.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "l1tlbstate.h"
#include "l1dstate.h"
#include "past.h"
#include "memory/sector.h"

enum hd_l1sector_counter {
#define HD_COUNTERS_OF "core/l1sector.def"
#include "kit/rows.h"
    HD_L1S_COUNTERS
};

#define HD_PART    l1sector
#define HD_CFG     struct hd_cache_cfg
#define HD_PART_OF "core/l1sector.def"
#include "kit/rows.h"

/* What stands for the sectors of a line: a bit for each, or this and the number
 * of a record. */
enum { RECORD = 1 << 14 };

/* An L1 MSHR's `live`: 1, the sectors that its first load waits for, and those
 * in flight.  What the others wait for is in hd_parked.what. */
enum { FIRST = 8, IN_FLIGHT = 16 };

struct hd_l1sector {
    struct hd_bytemask *record; /* arena: of lines in the unit and parked */
    struct hd_places places;
    uint64_t *count; /* of the core and its application */
    uint32_t shift;  /* log2 of a sector's bytes */
    /* what the line at hand wants: hd_l1sector_name */
    uint32_t asked, whole;
    const struct hd_bytemask *bytes;
};

/* ---- building ----------------------------------------------------------- */

struct hd_stat hd_l1sector_count(struct hd_gpu *g)
{
    return hd_stats_group_by_launch(g->env->stats, &hd_rows_l1sector,
                                    g->cores);
}

void hd_l1sector_count_for(struct hd_core *c, uint32_t row)
{
    c->sector->count = hd_count_at(&c->gpu->sector_stat, c->id, row);
}

int hd_l1sector_open(struct hd_core *c)
{
    struct hd_arena *arena = c->gpu->env->arena;
    uint32_t n = c->lsu_room * HD_MAX_LINES + c->targets;

    c->sector = hd_env_take(c->gpu->env, 1, sizeof *c->sector);
    if (c->sector == NULL)
        return -1;
    c->sector->shift = hd_log2(c->gpu->m->l1cache.sector_bytes);
    c->sector->record = hd_arena_take(arena, n, sizeof *c->sector->record);
    if (c->sector->record == NULL ||
        hd_places_open(&c->sector->places, arena, n) != 0)
        return -1;
    hd_l1sector_count_for(c, c->app);
    return 0;
}

/* ---- what lanes touch --------------------------------------------------- */

/* By line of an instruction, in its order. */
struct touched {
    uint32_t n; /* lines that were touched so far */
    uint32_t line_mask, shift;
    bool bytes; /* of a store: bytes are kept, and not sectors */
    uint8_t sectors[HD_MAX_LINES];
    struct hd_bytemask v[HD_MAX_LINES];
};

/* Lanes touch the bytes from lo to hi of line i, which may be the next one. */
static inline void touch(struct touched *x, uint32_t i, uint32_t lo,
                         uint32_t hi)
{
    if (i == x->n) {
        x->n++;
        x->sectors[i] = 0;
        x->v[i] = (struct hd_bytemask){{0, 0}};
    }
    if (x->bytes)
        hd_bytemask_add(&x->v[i], lo, hi);
    else
        x->sectors[i] |= (uint8_t)hd_sectors_between(lo, hi, x->shift);
}

/* Whether line i of an instruction is this one. */
static inline bool is_line(struct hd_lines *op, uint32_t i, uint64_t line,
                           uint32_t page_shift)
{
    const struct hd_lsu_line *x;

    if (i >= op->n)
        return false;
    x = hd_lines_at(op, i);
    return (op->page[x->page].vpn << page_shift | x->place) == line;
}

/* Which of an instruction's lines this is.  They are in the order in which lanes
 * touch them first: so it is mostly that of the lane before, or a new one. */
static uint32_t line_place(struct hd_lines *op, uint32_t shift, uint64_t line,
                           const struct touched *x, uint32_t last)
{
    uint32_t page_shift = HD_PAGE_SHIFT - shift, i = 0;

    if (is_line(op, last, line, page_shift))
        return last;
    if (is_line(op, x->n, line, page_shift))
        return x->n;
    while (i < x->n && !is_line(op, i, line, page_shift))
        i++;
    hd_assert(i < x->n);
    return i;
}

/* Active lanes next to each other, whose accesses are, too, or are in one place:
 * a range of lines. */
static bool touch_range(const struct hd_access *acc, const struct hd_op *o,
                        uint32_t lines, struct touched *x)
{
    uint64_t stride = (uint64_t)acc->stride, from, end;
    uint32_t lo, hi, first, n = hd_bit_count(o->mask);

    if (acc->lane != NULL || n == 0 || stride > o->bytes)
        return false;
    first = hd_bit_first(o->mask);
    if (o->mask >> first != hd_ones(n))
        return false;
    from = acc->base.v + first * stride;
    lo = (uint32_t)from & x->line_mask;
    end = from + (n - 1) * stride + o->bytes - 1;
    for (uint32_t i = 0; i < lines; i++, lo = 0) {
        hi = i + 1 == lines ? (uint32_t)end & x->line_mask : x->line_mask;
        touch(x, i, lo, hi);
    }
    return true;
}

static void touch_lanes(const struct hd_access *acc, const struct hd_op *o,
                        struct hd_lines *op, uint32_t shift,
                        struct touched *x)
{
    uint64_t last = UINT64_MAX; /* line, of which it is known to be the i-th */
    uint32_t i = 0, more = o->bytes - 1;
    bool narrow = !x->bytes && o->bytes <= HD_SECTOR_LEAST; /* in two at most */

    for (uint64_t m = o->mask; m != 0; m &= m - 1) {
        uint64_t a = hd_access_lane(acc, hd_bit_first(m));
        uint32_t lo = (uint32_t)a & x->line_mask, hi = lo + more;

        if (narrow && a >> shift == last && hi <= x->line_mask) {
            x->sectors[i] |=
                (uint8_t)(1u << (lo >> x->shift) | 1u << (hi >> x->shift));
            continue;
        }
        if (a >> shift != last)
            i = line_place(op, shift, last = a >> shift, x, i);
        touch(x, i, lo, (uint32_t)hd_min_u64(hi, x->line_mask));
        if (HD_LIKELY(hi <= x->line_mask))
            continue;
        i = line_place(op, shift, ++last, x, i);
        touch(x, i, 0, hi - x->line_mask - 1);
    }
}

HD_HOT void hd_l1sector_find(struct hd_core *c, struct hd_lines *op,
                             const struct hd_access *acc, const struct hd_op *o)
{
    struct hd_l1sector *s = c->sector;
    uint32_t shift = c->gpu->line_shift, p, whole;
    struct touched x;

    x.n = 0;
    x.line_mask = (1u << shift) - 1;
    x.shift = s->shift;
    x.bytes = o->kind == HEDDLE_OP_STORE;
    if (!touch_range(acc, o, op->n, &x))
        touch_lanes(acc, o, op, shift, &x);
    hd_assert(x.n == op->n);
    for (uint32_t i = 0; i < op->n; i++) {
        uint32_t what = x.sectors[i];
        if (x.bytes) {
            what = hd_sectors_of(&x.v[i], s->shift, &whole);
            if (what != whole) {
                p = hd_places_take(&s->places);
                hd_assert(p != HD_NONE);
                s->record[p] = x.v[i];
                what = RECORD | p;
            }
        }
        hd_lines_at(op, i)->bytes = (uint16_t)what;
    }
}

/* Puts what a line wants at hand. */
static inline void sector_hand(struct hd_l1sector *s, uint32_t what)
{
    s->bytes = NULL;
    s->asked = s->whole = what;
    if (HD_LIKELY((what & RECORD) == 0))
        return;
    s->bytes = &s->record[what & (RECORD - 1)];
    s->asked = hd_sectors_of(s->bytes, s->shift, &s->whole);
}

/* A line was served: its record is free. */
static inline void sector_served(struct hd_l1sector *s, uint32_t what)
{
    if ((what & RECORD) != 0)
        hd_places_give(&s->places, what & (RECORD - 1));
}

HD_HOT void hd_l1sector_name(const struct hd_core *c, struct hd_req *q)
{
    const struct hd_l1sector *s = c->sector;
    struct hd_reqs *p = c->gpu->reqs;

    q->flags |= HD_REQ_SECTORS;
    hd_sectors_ask(q, s->asked, q->kind == HD_REQ_WRITE ? s->whole : 0);
    q->pa.v += (uint64_t)hd_bit_first(s->asked) << s->shift;
    q->bytes = (uint16_t)(hd_sectors_count(s->asked) << s->shift);
    if (q->kind == HD_REQ_WRITE && s->bytes != NULL)
        p->written[q - p->v] = *s->bytes;
}

/* Sectors enter the L1, or a line of it. */
static void sector_enter(struct hd_core *c, uint64_t line, uint32_t kind,
                         const struct hd_sectors *w, struct hd_who who)
{
    uint32_t set = hd_cache_set(&c->l1, line), app;
    uint32_t e = hd_assoc_find(&c->l1.tags, set, line);
    uint64_t victim;

    if (e != HD_NONE) {
        hd_sectors_add(&c->l1, e, w);
        return;
    }
    hd_cache_enter(&c->l1, set, line, kind, 0, false, who, &victim, &app);
    hd_sectors_entered(&c->l1, set, line, w);
}

/* ---- loads -------------------------------------------------------------- */

static bool sector_blocked(struct hd_core *c)
{
    hd_lsu_block(c, HD_BLOCK_L1_MSHR, &c->l1_count[HD_L1_FULL]);
    return false;
}

/* Takes a way for a line that is missed (l1cache.allocate=miss): the oldest
 * whose line is not in flight.  False: there is none. */
static HD_APART bool sector_reserve(struct hd_core *c, uint64_t line,
                                    struct hd_who who)
{
    struct hd_assoc *a = &c->l1.tags;
    uint32_t set = hd_cache_set(&c->l1, line), e;
    struct hd_sectors none = {0};

    for (uint32_t i = 0; i < a->ways; i++) {
        e = hd_assoc_oldest(a, set, who.app);
        if (e == HD_NONE || hd_mshr_find(&c->l1_mshr, a->key[e]) == HD_NONE) {
            sector_enter(c, line, HD_REQ_READ, &none, who);
            return true;
        }
        hd_assoc_touch_in(a, set, e, who);
    }
    return false;
}

/* A load lacks sectors of a line, which is present or not: they are in flight, or
 * asked from the L2 at t.  False: blocked. */
static bool sector_miss(struct hd_core *c, uint32_t memop, uint64_t line,
                        bool present, uint32_t lacking, hd_time t)
{
    struct hd_l1sector *s = c->sector;
    uint32_t e = hd_mshr_find(&c->l1_mshr, line), ask = lacking, p;
    struct hd_mshr_entry *x;

    if (e == HD_NONE) {
        if (hd_mshr_full(&c->l1_mshr) ||
            (HD_UNLIKELY(c->l1.cfg.allocate != 0) && !present &&
             hd_l1d_is_full(c) &&
             !sector_reserve(
                 c, line, (struct hd_who){c->app, c->memop[memop].warp})))
            return sector_blocked(c);
        e = hd_mshr_take(&c->l1_mshr, line);
        x = &c->l1_mshr.v[e];
        x->flags = memop;
        x->live = 1 | lacking << FIRST;
    } else {
        x = &c->l1_mshr.v[e];
        ask &= ~(x->live >> IN_FLIGHT);
        if (x->n >= c->gpu->m->l1cache.merges ||
            (p = hd_places_take(&c->parked_places)) == HD_NONE)
            return sector_blocked(c);
        c->parked[p] = (struct hd_parked){lacking, memop, x->first};
        x->first = p;
        if (ask == 0)
            c->l1_count[HD_L1_READ_MERGES]++;
        else
            s->count[HD_L1S_FURTHER]++;
    }
    x->n++;
    x->live |= ask << IN_FLIGHT;
    s->count[HD_L1S_READ_MISSES] += hd_sectors_count(ask);
    s->count[HD_L1S_READ_MERGED] += hd_sectors_count(lacking & ~ask);
    if (ask == 0)
        return true;
    s->asked = s->whole = ask;
    hd_l1d_ask(c, t, HD_REQ_READ, line, hd_sectors_count(ask) << s->shift,
               memop, e, 0);
    return true;
}

bool hd_l1sector_holds(const struct hd_core *c, uint64_t line, uint32_t asked)
{
    uint32_t e = hd_cache_find(&c->l1, line);
    uint32_t m = hd_mshr_find(&c->l1_mshr, line);

    if (e != HD_NONE)
        asked &= ~(uint32_t)c->l1.sector[e].valid;
    if (m != HD_NONE)
        asked &= ~(c->l1_mshr.v[m].live >> IN_FLIGHT);
    return asked == 0;
}

static HD_HOT bool sector_load(struct hd_core *c, uint32_t memop, uint64_t line,
                               uint32_t asked, hd_time t, hd_time ticks,
                               uint16_t *guess)
{
    uint32_t mode = c->gpu->m->l1cache.mode.kind, set = 0, e = HD_NONE;
    uint32_t lacking = mode == HD_FULL || mode == HD_OFF ? asked : 0;
    struct hd_l1sector *s = c->sector;
    struct hd_who who = {c->app, c->memop[memop].warp};

    if (HD_LIKELY(mode == HD_FULL)) {
        set = hd_cache_set(&c->l1, line);
        e = hd_assoc_find_at(&c->l1.tags, set, line, guess);
        if (e != HD_NONE)
            lacking &= ~(uint32_t)c->l1.sector[e].valid;
    }
    if (lacking != 0 && !sector_miss(c, memop, line, e != HD_NONE, lacking, t + ticks))
        return false;
    if (mode == HD_FULL) {
        hd_cache_used(&c->l1, set, line, lacking == 0 ? e : HD_NONE,
                      HD_REQ_READ, who, guess == NULL);
        if (lacking != 0 && e != HD_NONE) {
            hd_assoc_touch_in(&c->l1.tags, set, e, who);
            s->count[HD_L1S_SECTOR_MISSES]++;
        }
    }
    c->l1_count[HD_L1_READS]++;
    c->l1_count[lacking == 0 ? HD_L1_READ_HITS : HD_L1_READ_MISSES]++;
    s->count[HD_L1S_READS] += hd_sectors_count(asked);
    s->count[HD_L1S_READ_HITS] += hd_sectors_count(asked & ~lacking);
    if (lacking == 0)
        hd_lsu_line_done(c, memop, t + ticks);
    return true;
}

/* ---- stores ------------------------------------------------------------- */

/* What a store does to the L1, in time or without: whether its line is there,
 * and which of its sectors are valid. */
static bool sector_write(struct hd_core *c, uint64_t line, struct hd_who who,
                         uint32_t *valid)
{
    const struct hd_l1sector *s = c->sector;
    struct hd_sectors w =
        hd_sectors_written(s->asked, s->whole, s->bytes, false);
    uint32_t set, e;

    *valid = 0;
    if (!hd_l1d_is_full(c))
        return false;
    set = hd_cache_set(&c->l1, line);
    e = hd_assoc_find(&c->l1.tags, set, line);
    if (e != HD_NONE)
        *valid = c->l1.sector[e].valid;
    hd_cache_used(&c->l1, set, line, e, HD_REQ_WRITE, who, false);
    if (c->gpu->m->l1cache.write == HD_WRITE_THROUGH)
        sector_enter(c, line, HD_REQ_WRITE, &w, who);
    return e != HD_NONE;
}

static bool sector_store(struct hd_core *c, uint32_t memop, uint64_t line,
                         hd_time t, hd_time ticks)
{
    struct hd_l1sector *s = c->sector;
    uint32_t bytes = hd_sectors_count(s->asked) << s->shift, valid;
    struct hd_who who = {c->app, c->memop[memop].warp};

    if (!hd_l1d_has_room(c, t))
        return false;
    c->l1_count[HD_L1_WRITES]++;
    hd_l1d_written(c, line);
    c->l1_count[HD_L1_WRITE_HITS] += sector_write(c, line, who, &valid);
    s->count[HD_L1S_WRITES] += hd_sectors_count(s->asked);
    s->count[HD_L1S_WRITE_HITS] += hd_sectors_count(s->asked & valid);
    s->count[HD_L1S_WRITE_PARTS] += hd_sectors_count(s->asked & ~s->whole);
    c->s->stores++;
    hd_l1d_owed(c, memop);
    hd_l1d_ask(c, t + ticks, HD_REQ_WRITE, line, bytes, memop, HD_NONE,
               HD_REQ_ACK |
                   (bytes < c->gpu->m->l1cache.line || s->bytes != NULL
                        ? HD_REQ_PARTIAL
                        : 0));
    hd_lsu_line_done(c, memop, t);
    return true;
}

HD_HOT bool hd_l1sector_take(struct hd_core *c, uint32_t memop, uint64_t line,
                             uint32_t what, hd_time t, hd_time ticks,
                             uint16_t *guess)
{
    struct hd_l1sector *s = c->sector;
    uint32_t kind = c->memop[memop].kind, asked;
    bool done;

    sector_hand(s, what);
    if (HD_LIKELY(kind == HEDDLE_OP_LOAD))
        return sector_load(c, memop, line, what, t, ticks, guess);
    asked = hd_sectors_count(s->asked);
    if (kind == HEDDLE_OP_STORE) {
        done = sector_store(c, memop, line, t, ticks);
    } else if (kind == HD_OP_PAST) {
        done = hd_past_line(c, memop, line, t, ticks);
        s->count[HD_L1S_READS] += done ? asked : 0;
        s->count[HD_L1S_READ_MISSES] += done ? asked : 0;
    } else {
        done = hd_l1d_atomic(c, memop, line, asked << s->shift, t, ticks);
        s->count[HD_L1S_ATOMICS] += done ? asked : 0;
    }
    if (done)
        sector_served(s, what);
    return done;
}

/* ---- answers ------------------------------------------------------------ */

/* Takes the loads that have all their sectors now out of an MSHR: the first one
 * (*memop, or HD_NONE), and the list of the others. */
static uint32_t sector_complete(struct hd_core *c, struct hd_mshr_entry *x,
                                uint32_t got, uint32_t *memop)
{
    uint32_t waits = (x->live >> FIRST & 0xff) & ~got;
    uint32_t done = HD_NONE, *link = &x->first, *end = &done, p;

    while ((p = *link) != HD_NONE) {
        struct hd_parked *k = &c->parked[p];
        k->what &= ~(uint64_t)got;
        if (k->what != 0) {
            link = &k->next;
            continue;
        }
        *link = k->next;
        k->next = HD_NONE;
        *end = p;
        end = &k->next;
        x->n--;
    }
    *memop = HD_NONE;
    if (waits == 0) {
        *memop = x->flags;
        x->n--;
        p = x->first;
        if (p != HD_NONE) { /* it takes the place of the first one */
            x->first = c->parked[p].next;
            x->flags = c->parked[p].memop;
            waits = (uint32_t)c->parked[p].what;
            hd_lsu_give_parked(c, p);
        }
    }
    x->live = 1 | waits << FIRST |
              ((x->live >> IN_FLIGHT & 0xff) & ~got) << IN_FLIGHT;
    return done;
}

HD_HOT void hd_l1sector_answer(struct hd_core *c, uint32_t req, hd_time t)
{
    struct hd_reqs *reqs = c->gpu->reqs;
    const struct hd_req *q = &reqs->v[req];
    struct hd_mshr_entry *x = &c->l1_mshr.v[q->tag];
    struct hd_sectors w = {.valid = (uint8_t)hd_sectors_asked(q)};
    uint32_t memop, p = sector_complete(c, x, w.valid, &memop), next;

    if (hd_l1d_is_full(c)) {
        c->hand = q->pc;
        sector_enter(c, x->key, HD_REQ_READ, &w,
                     (struct hd_who){c->app, q->warp});
        c->hand = HD_NEVER;
    }
    if (x->n == 0)
        hd_mshr_give(&c->l1_mshr, q->tag);
    c->s->blocked &= ~(uint32_t)HD_BLOCK_L1_MSHR;
    hd_req_give(reqs, req);
    if (memop != HD_NONE)
        hd_lsu_line_done(c, memop, t);
    for (; p != HD_NONE; p = next) {
        next = c->parked[p].next;
        hd_lsu_line_done(c, c->parked[p].memop, t);
        hd_lsu_give_parked(c, p);
    }
}

/* ---- functional warming: warm.c ----------------------------------------- */

enum { LATE = 56 }; /* in a line that comes later: from here on its sectors */

/* Asks the L2 for what is at hand. */
static void sector_warm_below(struct hd_core *c, const struct hd_req *of,
                              uint64_t line)
{
    struct hd_gpu *g = c->gpu;
    struct hd_req q = *of;
    uint32_t r;

    q.pa.v = line << g->line_shift;
    if (c->sector->bytes == NULL || q.kind != HD_REQ_WRITE) {
        hd_l1sector_name(c, &q);
        g->memory.warm(g->memory.self, &q);
        return;
    }
    r = hd_req_take(g->reqs); /* its bytes have a place by its number */
    g->reqs->v[r] = q;
    hd_l1sector_name(c, &g->reqs->v[r]);
    g->memory.warm(g->memory.self, &g->reqs->v[r]);
    hd_req_give(g->reqs, r);
}

static bool sector_warm_load(struct hd_core *c, const struct hd_req *q,
                             uint64_t line, uint16_t *guess)
{
    uint32_t mode = c->gpu->m->l1cache.mode.kind, set, e, m;
    struct hd_l1sector *s = c->sector;
    struct hd_who who = {c->app, q->warp};
    struct hd_late *late = &c->skip.late[q->warp];

    if (mode != HD_FULL && mode != HD_OFF)
        return true;
    if (mode == HD_FULL) {
        set = hd_cache_set(&c->l1, line);
        e = hd_assoc_find_at(&c->l1.tags, set, line, guess);
        if (e != HD_NONE)
            s->asked &= ~(uint32_t)c->l1.sector[e].valid;
        hd_cache_used(&c->l1, set, line, s->asked == 0 ? e : HD_NONE,
                      HD_REQ_READ, who, false);
        if (s->asked == 0)
            return true;
        if (e != HD_NONE)
            hd_assoc_touch_in(&c->l1.tags, set, e, who);
        m = hd_mshr_find(&c->l1_mshr, line);
        if (m != HD_NONE) /* these will come */
            s->asked &= ~(c->l1_mshr.v[m].live >> IN_FLIGHT & 0xff);
        if (s->asked == 0)
            return false;
    }
    sector_warm_below(c, q, line);
    if (mode == HD_FULL && late->n < HD_MAX_LINES)
        late->line[late->n++] = line | (uint64_t)s->asked << LATE;
    return false;
}

void hd_l1sector_warm_past(struct hd_core *c, const struct hd_req *q,
                           uint64_t line)
{
    sector_hand(c->sector, q->bytes);
    sector_warm_below(c, q, line);
    sector_served(c->sector, q->bytes);
}

bool hd_l1sector_warm(struct hd_core *c, const struct hd_req *q, uint64_t line,
                      uint16_t *guess)
{
    uint32_t what = q->bytes, valid;

    sector_hand(c->sector, what);
    if (q->kind == HD_REQ_READ)
        return sector_warm_load(c, q, line, guess);
    hd_l1d_written(c, line);
    if (q->kind == HD_REQ_WRITE)
        sector_write(c, line, (struct hd_who){c->app, q->warp}, &valid);
    else if (hd_l1d_is_full(c))
        hd_cache_drop(&c->l1, line);
    sector_warm_below(c, q, line);
    sector_served(c->sector, what);
    return false;
}

void hd_l1sector_come(struct hd_core *c, uint32_t warp)
{
    struct hd_late *late = &c->skip.late[warp];

    for (uint32_t i = 0; i < late->n; i++) {
        uint64_t line = late->line[i] & hd_ones(LATE);
        struct hd_sectors w = {.valid = (uint8_t)(late->line[i] >> LATE)};
        uint32_t m = hd_mshr_find(&c->l1_mshr, line);

        if (m != HD_NONE)
            w.valid &= (uint8_t) ~(c->l1_mshr.v[m].live >> IN_FLIGHT);
        if (w.valid != 0)
            sector_enter(c, line, HD_REQ_READ, &w,
                         (struct hd_who){c->app, warp});
    }
    late->n = 0;
}

/* ---- the check ---------------------------------------------------------- */

const char *hd_l1sector_check(const struct hd_core *c)
{
    for (uint32_t e = 0; e < c->l1_mshr.room; e++) {
        const struct hd_mshr_entry *x = &c->l1_mshr.v[e];
        uint64_t waits = x->live >> FIRST & 0xff;

        if (x->live == 0 || x->key >> 63 != 0) /* an atomic's */
            continue;
        for (uint32_t p = x->first; p != HD_NONE; p = c->parked[p].next)
            waits |= c->parked[p].what;
        if (waits != (x->live >> IN_FLIGHT & 0xff))
            return "sectors in flight and those waited for differ";
    }
    return c->gpu->m->l1cache.mode.kind == HD_FULL ? hd_sectors_check(&c->l1)
                                                    : NULL;
}
