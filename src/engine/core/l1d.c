/*
 * l1d.c - the L1 data cache of a core: look-ups, misses, stores, atomics.
 *
 * A load that hits is done after the latency; one that misses becomes a target
 * of an MSHR and asks the L2.  Stores are buffered: the warp continues, and the
 * store queue holds the line until the L2 has taken it; so do write-backs.
 * Atomics pass the L1, drop their line there, and are done at the L2; loads may
 * pass it, too (past.c).
 *
 * With order "beside" the L1 is indexed while the TLB looks up, and a hit
 * costs the longer of the two latencies; with "after" it costs their sum.
 *
 * What is full (MSHRs, merges, the store queue) blocks the load/store unit,
 * which tries the same line again when something has been freed.
 *
 * Left out: bank conflicts of the L1 and of shared memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l1dstate.h"
#include "past.h"

#define HD_PART    l1cache
#define HD_CFG     struct hd_cache_cfg
#define HD_PART_OF "core/l1cache.def"
#include "kit/rows.h"

static struct hd_who l1d_who(const struct hd_core *c, uint32_t memop)
{
    return (struct hd_who){c->app, c->memop[memop].warp};
}

uint32_t hd_l1d_flits(const struct hd_gpu *g, uint32_t bytes)
{
    return (uint32_t)hd_recip_div(g->per_flit, bytes + g->m->xbar.bytes - 1);
}

/* ---- downward ------------------------------------------------------------ */

/* What a request says besides, where lines have sectors or launches overlap. */
static HD_APART void l1d_name(struct hd_core *c, struct hd_req *q)
{
    if (c->launch != NULL)
        hd_req_count(c->gpu->reqs, (uint32_t)(q - c->gpu->reqs->v));
    if (c->sector != NULL)
        hd_l1sector_name(c, q);
}

/* Sends a request at t over the core's port to the interconnect. */
static HD_INLINE void l1d_send(struct hd_core *c, hd_time t, uint32_t kind,
                               uint64_t line, uint32_t bytes, uint32_t warp,
                               uint32_t tag, uint32_t flags, uint32_t pc)
{
    struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    uint32_t r = hd_req_take_own(g->reqs);
    struct hd_req *q = &g->reqs->v[r];
    uint32_t flits = kind == HD_REQ_WRITE || kind == HD_REQ_ATOMIC
                         ? hd_l1d_flits(g, bytes)
                         : 1;
    hd_time at = hd_max_u64(t, s->out_free);

    s->out_free = at + flits * g->cycle;
    q->pa.v = line << g->line_shift;
    q->born = at;
    q->tag = tag;
    q->client = (uint16_t)c->id;
    q->warp = (uint16_t)warp;
    q->kind = (uint8_t)kind;
    q->app = (uint8_t)c->app;
    q->level = 0;
    q->flags = (uint8_t)flags;
    q->dram_class = q->hit = 0;
    q->bytes = (uint16_t)bytes;
    q->pc = pc;
    if (HD_UNLIKELY(c->named))
        l1d_name(c, q);
    g->memory.send(g->memory.self, at, r);
}

void hd_l1d_walk_read(struct hd_core *c, uint32_t req, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    hd_time at = hd_max_u64(t, s->walk_free);

    s->walk_free = at + g->cycle;
    s->out_free = hd_max_u64(at, s->out_free) + g->cycle;
    g->memory.send(g->memory.self, at, req);
}

/* The store queue, which write-backs share, has room; else false: blocked. */
static bool room_for_write(struct hd_core *c, hd_time t)
{
    uint32_t most = c->gpu->m->l1cache.stores;

    if (c->s->stores >= most)
        hd_core_acks(c, t);
    if (c->s->stores < most)
        return true;
    hd_lsu_block(c, HD_BLOCK_STORES, &c->l1_count[HD_L1_STORE_FULL]);
    return false;
}

/* Takes an L1 MSHR for its first requester; HD_NONE: none is free. */
static HD_INLINE uint32_t take_l1_mshr(struct hd_core *c, uint64_t key,
                                       uint32_t memop)
{
    uint32_t e;

    if (hd_mshr_full(&c->l1_mshr)) {
        hd_lsu_block(c, HD_BLOCK_L1_MSHR, &c->l1_count[HD_L1_FULL]);
        return HD_NONE;
    }
    e = hd_mshr_take(&c->l1_mshr, key);
    c->l1_mshr.v[e].flags = memop;
    c->l1_mshr.v[e].n = 1;
    return e;
}

/* A load's line joins a miss in flight.  False: blocked. */
static bool l1d_join(struct hd_core *c, uint32_t memop, uint32_t e)
{
    struct hd_mshr_entry *m = &c->l1_mshr.v[e];
    uint32_t p;

    if (m->n >= c->gpu->m->l1cache.merges ||
        (p = hd_places_take(&c->parked_places)) == HD_NONE) {
        hd_lsu_block(c, HD_BLOCK_L1_MSHR, &c->l1_count[HD_L1_FULL]);
        return false;
    }
    c->parked[p].memop = memop;
    c->parked[p].next = m->first;
    m->first = p;
    m->n++;
    c->l1_count[HD_L1_READ_MERGES]++;
    return true;
}

/* A load's line misses now: merge or ask the L2 at t.  False: blocked. */
static bool l1d_miss(struct hd_core *c, uint32_t memop, uint64_t line,
                     hd_time now, hd_time t)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    uint32_t e = hd_mshr_find(&c->l1_mshr, line);

    if (e != HD_NONE)
        return l1d_join(c, memop, e);
    if (cfg->write == HD_WRITE_BACK && !room_for_write(c, now))
        return false; /* its victim may be dirty */
    e = take_l1_mshr(c, line, memop);
    if (e == HD_NONE)
        return false;
    l1d_send(c, t, HD_REQ_READ, line, cfg->line, c->memop[memop].warp, e, 0,
             c->pc[memop]);
    return true;
}

static HD_INLINE bool load_line(struct hd_core *c, uint32_t memop,
                                uint64_t line, hd_time t, hd_time ticks,
                                uint16_t *guess)
{
    uint32_t mode = c->gpu->m->l1cache.mode.kind, set, e;
    bool hit = mode != HD_OFF, waited = guess == NULL;

    if (HD_LIKELY(mode == HD_FULL)) {
        set = hd_cache_set(&c->l1, line);
        e = hd_assoc_find_at(&c->l1.tags, set, line, guess);
        hit = e != HD_NONE;
        if (hit)
            hd_cache_used(&c->l1, set, line, e, HD_REQ_READ, l1d_who(c, memop),
                          waited);
    }
    if (!hit) {
        if (!l1d_miss(c, memop, line, t, t + ticks))
            return false; /* watchers are notified when it is taken */
        if (HD_UNLIKELY((c->l1.tags.asked & HD_CACHE_USE) != 0) &&
            mode == HD_FULL)
            hd_cache_tell_use(&c->l1, line, HD_NONE, HD_REQ_READ,
                              l1d_who(c, memop), waited);
    }
    c->l1_count[HD_L1_READS]++;
    c->l1_count[hit ? HD_L1_READ_HITS : HD_L1_READ_MISSES]++;
    if (hit)
        hd_lsu_line_done(c, memop, t + ticks);
    return true;
}

void hd_l1d_write_back(struct hd_core *c, uint64_t line, hd_time t)
{
    c->l1_count[HD_L1_WRITEBACKS]++;
    c->s->stores++;
    l1d_send(c, t, HD_REQ_WRITE, line, c->gpu->m->l1cache.line, HD_NO_WARP,
             HD_NONE, HD_REQ_ACK, 0);
}

/* Fills the L1; its victim may be dirty.  Fills of loads may lengthen the store
 * queue by as many entries as there are MSHRs. */
static HD_INLINE void l1d_fill(struct hd_core *c, uint64_t line, bool dirty,
                               struct hd_who by, hd_time t)
{
    uint64_t victim;

    if (HD_UNLIKELY(hd_l1d_place(c, line, dirty, by, &victim)))
        hd_l1d_write_back(c, victim, t);
}

static HD_HOT bool store_line(struct hd_core *c, uint32_t memop, uint64_t line,
                              uint32_t bytes, hd_time t, hd_time ticks)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    bool hit, back = cfg->write == HD_WRITE_BACK;

    if (!room_for_write(c, t))
        return false;
    c->l1_count[HD_L1_WRITES]++;
    hd_l1d_written(c, line);
    hit = hd_l1d_is_full(c) &&
          hd_cache_lookup(&c->l1, line, HD_REQ_WRITE, l1d_who(c, memop));
    c->l1_count[HD_L1_WRITE_HITS] += hit;
    if (hd_l1d_is_full(c) && back) {
        if (!hit)
            l1d_fill(c, line, true, l1d_who(c, memop), t);
    } else {
        c->s->stores++;
        hd_l1d_owed(c, memop);
        l1d_send(c, t + ticks, HD_REQ_WRITE, line, bytes, c->memop[memop].warp,
                 HD_NONE, HD_REQ_ACK | (bytes < cfg->line ? HD_REQ_PARTIAL : 0),
                 c->pc[memop]);
    }
    hd_lsu_line_done(c, memop, t);
    return true;
}

uint32_t hd_l1d_own_mshr(struct hd_core *c, uint64_t line, uint32_t memop)
{
    return take_l1_mshr(
        c, 1ull << 63 | (uint64_t)memop << 32 | (line & 0xffffffffu), memop);
}

static bool atomic_line(struct hd_core *c, uint32_t memop, uint64_t line,
                        uint32_t bytes, hd_time t, hd_time ticks)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    uint32_t i;

    if (cfg->write == HD_WRITE_BACK && !room_for_write(c, t))
        return false;
    hd_l1d_written(c, line);
    i = hd_l1d_own_mshr(c, line, memop);
    if (i == HD_NONE)
        return false;
    if (hd_l1d_is_full(c) && hd_cache_drop(&c->l1, line))
        hd_l1d_write_back(c, line, t);
    l1d_send(c, t + ticks, HD_REQ_ATOMIC, line, bytes, c->memop[memop].warp, i,
             0, c->pc[memop]);
    return true;
}

HD_HOT bool hd_l1d_take(struct hd_core *c, uint32_t memop, uint64_t line,
                        uint32_t bytes, hd_time t, hd_time ticks,
                        uint16_t *guess)
{
    uint32_t kind = c->memop[memop].kind;
    bool done =
        HD_UNLIKELY(c->sector != NULL)
            ? hd_l1sector_take(c, memop, line, bytes, t, ticks, guess)
        : kind == HEDDLE_OP_LOAD  ? load_line(c, memop, line, t, ticks, guess)
        : kind == HEDDLE_OP_STORE ? store_line(c, memop, line, bytes, t, ticks)
        : kind == HD_OP_PAST      ? hd_past_line(c, memop, line, t, ticks)
                             : atomic_line(c, memop, line, bytes, t, ticks);

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    if (done)
        hd_lsu_use_port(&c->s->lsu_free, &c->s->lsu_used,
                        c->gpu->m->l1cache.ports, t, c->gpu->cycle);
    return done;
}

/* ---- answers ------------------------------------------------------------ */

static HD_APART void tell_back(const struct hd_core *c, const struct hd_req *q,
                               hd_time t)
{
    struct hd_gpu *g = c->gpu;
    struct heddle_n_line_back n = {.core = c->id,
                                   .app = c->app,
                                   .warp = q->warp,
                                   .line = q->pa.v >> g->line_shift,
                                   .cycles =
                                       hd_recip_div(g->per_cycle, t - q->born)};

    hd_slots_note(g->env->slots, HEDDLE_NOTE_line_back, &n);
}

/* l1d_fill() where a policy may be asked, or notified of it. */
static HD_APART void l1d_fill_asked(struct hd_core *c, uint64_t line,
                                    const struct hd_req *q, hd_time t)
{
    c->hand = q->pc;
    l1d_fill(c, line, false, (struct hd_who){c->app, q->warp}, t);
    c->hand = HD_NEVER;
}

HD_HOT void hd_l1d_answer(struct hd_core *c, uint32_t req, hd_time t)
{
    struct hd_reqs *reqs = c->gpu->reqs;
    const struct hd_req *q = &reqs->v[req];
    const struct hd_mshr_entry *m = &c->l1_mshr.v[q->tag];
    uint32_t p = m->first, next;

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    hd_core_for(c, q->warp);
    if (HD_UNLIKELY(c->l1.watched[HEDDLE_NOTE_line_back] != 0))
        tell_back(c, q, t);
    if (HD_UNLIKELY(c->sector != NULL) && m->key >> 63 == 0) {
        hd_l1sector_answer(c, req, t);
        return;
    }
    if (m->key >> 63 == 0 && hd_l1d_is_full(c)) { /* else it leaves nothing */
        if (HD_UNLIKELY(c->l1.tags.asked > HD_ASSOC_WIDE))
            l1d_fill_asked(c, m->key, q, t);
        else
            l1d_fill(c, m->key, false, (struct hd_who){c->app, q->warp}, t);
    }
    hd_mshr_give(&c->l1_mshr, q->tag);
    c->s->blocked &= ~(uint32_t)HD_BLOCK_L1_MSHR;
    hd_req_give(reqs, req);
    hd_lsu_line_done(c, m->flags, t);
    for (; p != HD_NONE; p = next) { /* those that joined */
        next = c->parked[p].next;
        hd_lsu_line_done(c, c->parked[p].memop, t);
        hd_lsu_give_parked(c, p);
    }
}

/* ---- for l1sector.c ----------------------------------------------------- */

bool hd_l1d_has_room(struct hd_core *c, hd_time t)
{
    return room_for_write(c, t);
}

bool hd_l1d_atomic(struct hd_core *c, uint32_t memop, uint64_t line,
                   uint32_t bytes, hd_time t, hd_time ticks)
{
    return atomic_line(c, memop, line, bytes, t, ticks);
}

void hd_l1d_ask(struct hd_core *c, hd_time t, uint32_t kind, uint64_t line,
                uint32_t bytes, uint32_t memop, uint32_t tag, uint32_t flags)
{
    l1d_send(c, t, kind, line, bytes, c->memop[memop].warp, tag, flags,
             c->pc[memop]);
}

void hd_l1d_ack(struct hd_core *c)
{
    c->s->stores--;
    c->s->blocked &= ~(uint32_t)HD_BLOCK_STORES;
}
