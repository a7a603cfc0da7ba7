/*
 * l1.c - the L1 data cache of a core: look-ups, misses, stores, atomics.
 *
 * A load that hits is done after the latency; one that misses becomes a target
 * of an MSHR and asks the L2.  Stores are buffered: the warp goes on, and the
 * store queue holds the line until the L2 has taken it; so do write-backs.
 * Atomics pass the L1, drop their line there, and are done at the L2.
 *
 * With order "beside" the L1 is indexed while the TLB looks up, and a hit
 * costs the longer of the two latencies; with "after" it costs their sum.
 *
 * Left out: bank conflicts of the L1 and of shared memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lsu.h"

hd_time hd_l1_latency(const struct hd_gpu *g)
{
    const struct hd_cache_cfg *cfg = &g->m->l1cache;

    if (cfg->mode.kind == HD_OFF)
        return 0;
    return (cfg->mode.kind == HD_FIXED ? cfg->mode.fixed : cfg->latency) *
           g->cycle;
}

/* Sends a request at t over the core's port to the interconnect. */
static HD_INLINE void send(struct hd_core *c, hd_time t, uint32_t kind,
                           uint64_t line, uint32_t bytes, uint32_t warp,
                           uint32_t tag, uint32_t flags)
{
    struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    uint32_t r = hd_req_take(g->reqs);
    struct hd_req *q = &g->reqs->v[r];
    uint32_t flits = kind == HD_REQ_WRITE || kind == HD_REQ_ATOMIC
                         ? hd_lsu_flits(g, bytes)
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
    g->memory.send(g->memory.self, at, r);
}

void hd_l1_walk_read(struct hd_core *c, uint32_t req, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    hd_time at = hd_max_u64(t, s->walk_free);

    s->walk_free = at + g->cycle;
    s->out_free = hd_max_u64(at, s->out_free) + g->cycle;
    g->memory.send(g->memory.self, at, req);
}

/* ---- the L1 ------------------------------------------------------------- */

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
    c->s->nowhere = 0;
    e = hd_mshr_take(&c->l1_mshr, key);
    c->l1_mshr.v[e].flags = memop;
    c->l1_mshr.v[e].n = 1;
    return e;
}

static struct hd_who who(const struct hd_core *c, uint32_t memop)
{
    struct hd_who w = {c->app, c->memop[memop].warp};
    return w;
}

/* A load's line joins a miss in flight.  False: blocked. */
static bool join(struct hd_core *c, uint32_t memop, uint32_t e)
{
    struct hd_mshr_entry *m = &c->l1_mshr.v[e];
    uint32_t p;

    if (m->n >= c->gpu->m->l1cache.merges ||
        (p = hd_lsu_take_parked(c)) == HD_NONE) {
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
static bool miss(struct hd_core *c, uint32_t memop, uint64_t line, hd_time now,
                 hd_time t)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    uint32_t e = hd_mshr_find(&c->l1_mshr, line);

    if (e != HD_NONE)
        return join(c, memop, e);
    if (cfg->write == HD_WRITE_BACK && !room_for_write(c, now))
        return false; /* its victim may be dirty */
    e = take_l1_mshr(c, line, memop);
    if (e == HD_NONE)
        return false;
    send(c, t, HD_REQ_READ, line, cfg->line, c->memop[memop].warp, e, 0);
    return true;
}

static bool load_other(struct hd_core *c, uint32_t memop, uint64_t line,
                       hd_time t, hd_time ticks)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    bool hit = cfg->mode.kind == HD_IDEAL || cfg->mode.kind == HD_FIXED;
    hd_time done = t + ticks;

    if (cfg->mode.kind == HD_FULL)
        hit = hd_cache_lookup(&c->l1, line, HD_REQ_READ, who(c, memop));
    if (!hit && !miss(c, memop, line, t, done))
        return false;
    c->l1_count[HD_L1_READS]++;
    c->l1_count[hit ? HD_L1_READ_HITS : HD_L1_READ_MISSES]++;
    if (hit)
        hd_lsu_line_done(c, memop, done);
    return true;
}

/* Takes the L1 port at t. */
static inline void use_port(struct hd_core *c, hd_time t)
{
    hd_lsu_use_port(&c->s->lsu_free, &c->s->lsu_used, c->gpu->m->l1cache.ports,
                    t, c->gpu->cycle);
}

static HD_APART bool join_plain(struct hd_core *c, uint32_t memop, uint32_t e,
                                hd_time t)
{
    if (!join(c, memop, e))
        return false;
    c->l1_count[HD_L1_READS]++;
    c->l1_count[HD_L1_READ_MISSES]++;
    use_port(c, t);
    return true;
}

/* The same at a plain L1, which writes through.  What found no MSHR free is
 * not looked for again: no other can have asked for it since without taking
 * one. */
static HD_INLINE bool load_plain(struct hd_core *c, uint32_t memop,
                                 uint64_t line, hd_time t, hd_time ticks)
{
    uint64_t *count = c->l1_count;
    uint32_t e;

    if (c->s->nowhere != line + 1) {
        if (hd_l1_reuse(c, line)) {
            count[HD_L1_READS]++;
            count[HD_L1_READ_HITS]++;
            use_port(c, t);
            hd_lsu_line_done(c, memop, t + ticks);
            return true;
        }
        e = hd_mshr_find_narrow(&c->l1_mshr, line);
        if (e != HD_NONE)
            return join_plain(c, memop, e, t);
    }
    if (c->l1_mshr.tag->free == 0) {
        hd_lsu_block(c, HD_BLOCK_L1_MSHR, &count[HD_L1_FULL]);
        c->s->nowhere = line + 1;
        return false;
    }
    c->s->nowhere = 0;
    e = hd_mshr_take_narrow(&c->l1_mshr, line);
    c->l1_mshr.v[e].flags = memop;
    c->l1_mshr.v[e].n = 1;
    count[HD_L1_READS]++;
    count[HD_L1_READ_MISSES]++;
    use_port(c, t);
    send(c, t + ticks, HD_REQ_READ, line, 1u << c->gpu->line_shift,
         c->memop[memop].warp, e, 0);
    return true;
}

/* Sends a dirty line to the L2, by way of the store queue. */
static void write_back(struct hd_core *c, uint64_t line, hd_time t)
{
    c->l1_count[HD_L1_WRITEBACKS]++;
    c->s->stores++;
    send(c, t, HD_REQ_WRITE, line, c->gpu->m->l1cache.line, HD_NO_WARP, HD_NONE,
         HD_REQ_ACK);
}

/* Fills the L1; its victim may be dirty.  Fills of loads may lengthen the store
 * queue by as many entries as there are MSHRs. */
static HD_HOT void fill(struct hd_core *c, uint64_t line, bool dirty,
                        struct hd_who by, hd_time t)
{
    uint64_t victim;
    uint32_t app;

    if (hd_cache_fill(&c->l1, line, dirty ? HD_REQ_WRITE : HD_REQ_READ, 0,
                      dirty, by, &victim, &app))
        write_back(c, victim, t);
}

/* A load's line that was missed enters a plain L1, whose lines are clean. */
static HD_HOT void fill_plain(struct hd_core *c, uint64_t line, uint32_t warp)
{
    uint32_t set = hd_l1_set_of(c, line), way;

    hd_assert(hd_l1_find(c, set, line) == HD_NONE);
    way = hd_assoc_enter_tag(&c->gpu->core[0].l1.tags, &c->l1_set[set], line);
    hd_l1_keys(c, set)[way] = line | hd_cache_pack(warp, c->app, false);
}

/* Looks up a line for a store. */
static bool look_store(struct hd_core *c, uint64_t line, struct hd_who by)
{
    uint32_t set, way;

    if (HD_UNLIKELY((c->plain & HD_PLAIN_LOOK) == 0))
        return c->gpu->m->l1cache.mode.kind == HD_FULL &&
               hd_cache_lookup(&c->l1, line, HD_REQ_WRITE, by);
    set = hd_l1_set_of(c, line);
    way = hd_l1_find(c, set, line);
    if (way == HD_NONE)
        return false;
    hd_cache_used_other(&c->l1, line, set * c->l1_ways + way, HD_REQ_WRITE, by);
    return true;
}

static HD_HOT bool store_line(struct hd_core *c, uint32_t memop, uint64_t line,
                              uint32_t bytes, hd_time t, hd_time ticks)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    bool hit, back = cfg->write == HD_WRITE_BACK;

    if (!room_for_write(c, t))
        return false;
    c->l1_count[HD_L1_WRITES]++;
    hit = look_store(c, line, who(c, memop));
    c->l1_count[HD_L1_WRITE_HITS] += hit;
    if (cfg->mode.kind == HD_FULL && back) {
        if (!hit)
            fill(c, line, true, who(c, memop), t);
    } else {
        c->s->stores++;
        send(c, t + ticks, HD_REQ_WRITE, line, bytes, c->memop[memop].warp,
             HD_NONE, HD_REQ_ACK | (bytes < cfg->line ? HD_REQ_PARTIAL : 0));
    }
    hd_lsu_line_done(c, memop, t);
    return true;
}

static bool atomic_line(struct hd_core *c, uint32_t memop, uint64_t line,
                        uint32_t bytes, hd_time t, hd_time ticks)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    uint32_t i;

    if (cfg->write == HD_WRITE_BACK && !room_for_write(c, t))
        return false;
    /* A key of its own: atomics are not merged. */
    i = take_l1_mshr(
        c, 1ull << 63 | (uint64_t)memop << 32 | (line & 0xffffffffu), memop);
    if (i == HD_NONE)
        return false;
    if (cfg->mode.kind == HD_FULL && hd_cache_drop(&c->l1, line))
        write_back(c, line, t);
    send(c, t + ticks, HD_REQ_ATOMIC, line, bytes, c->memop[memop].warp, i, 0);
    return true;
}

/* What is not a load at a plain L1. */
static HD_APART bool access_other(struct hd_core *c, uint32_t memop,
                                  uint64_t line, uint32_t bytes, hd_time t,
                                  hd_time ticks)
{
    bool done;

    switch (c->memop[memop].kind) {
    case HD_OP_LOAD:
        done = load_other(c, memop, line, t, ticks);
        break;
    case HD_OP_STORE:
        done = store_line(c, memop, line, bytes, t, ticks);
        break;
    default:
        done = atomic_line(c, memop, line, bytes, t, ticks);
    }
    if (done)
        use_port(c, t);
    return done;
}

HD_HOT bool hd_l1_access(struct hd_core *c, uint32_t memop, uint64_t line,
                         uint32_t bytes, hd_time t, hd_time ticks)
{
    if (HD_LIKELY(c->memop[memop].kind == HD_OP_LOAD &&
                  (c->plain & HD_PLAIN_LOOK) != 0))
        return load_plain(c, memop, line, t, ticks);
    return access_other(c, memop, line, bytes, t, ticks);
}

/* ---- pages that move ----------------------------------------------------- */

uint32_t hd_gpu_drop(void *self, uint32_t app, hd_pa pa, uint32_t bytes,
                     bool *dirty)
{
    struct hd_gpu *g = self;
    uint64_t first = pa.v >> g->line_shift;
    uint64_t end = (pa.v + bytes - 1) >> g->line_shift;
    uint32_t n = 0;

    for (uint32_t i = 0; i < g->cores; i++) {
        struct hd_core *c = &g->core[i];
        if (c->app != app || g->m->l1cache.mode.kind != HD_FULL)
            continue;
        for (uint64_t line = first; line <= end; line++) {
            if (!hd_cache_peek(&c->l1, line))
                continue;
            *dirty |= hd_cache_drop(&c->l1, line);
            n++;
        }
    }
    return n;
}

/* ---- answers ------------------------------------------------------------ */

/* A line is there for the load that missed it, and for those that joined. */
HD_APART static void joined(struct hd_core *c, uint32_t memop, uint32_t p,
                            hd_time t)
{
    hd_lsu_line_done(c, memop, t);
    while (p != HD_NONE) {
        uint32_t next = c->parked[p].next;
        hd_lsu_line_done(c, c->parked[p].memop, t);
        hd_lsu_give_parked(c, c->s, p);
        p = next;
    }
}

/* Data for an L1 that is not plain. */
HD_APART static void data_other(struct hd_core *c, uint32_t req, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    const struct hd_req *q = &g->reqs->v[req];
    const struct hd_mshr_entry *m = &c->l1_mshr.v[q->tag];
    uint32_t p = m->first, memop = m->flags;

    if (q->kind == HD_REQ_READ && g->m->l1cache.mode.kind == HD_FULL)
        fill(c, m->key, false, who(c, memop), t);
    hd_mshr_give(&c->l1_mshr, q->tag);
    c->s->blocked &= ~(uint32_t)HD_BLOCK_L1_MSHR;
    hd_req_give(g->reqs, req);
    joined(c, memop, p, t);
}

HD_HOT void hd_l1_data(struct hd_core *c, uint32_t req, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    const struct hd_req *q = &g->reqs->v[req];
    const struct hd_mshr_entry *m = &c->l1_mshr.v[q->tag];

    if (HD_UNLIKELY((c->plain & HD_PLAIN_FILL) == 0)) {
        data_other(c, req, t);
        return;
    }
    if (HD_LIKELY(q->kind == HD_REQ_READ)) /* an atomic leaves nothing */
        fill_plain(c, m->key, q->warp);
    hd_mshr_give_narrow(&c->l1_mshr, q->tag);
    c->s->blocked &= ~(uint32_t)HD_BLOCK_L1_MSHR;
    hd_req_give(g->reqs, req);
    if (HD_LIKELY(m->first == HD_NONE))
        hd_lsu_line_done(c, m->flags, t);
    else
        joined(c, m->flags, m->first, t);
}

void hd_l1_ack(struct hd_core *c, hd_time t)
{
    (void)t;
    c->s->stores--;
    c->s->blocked &= ~(uint32_t)HD_BLOCK_STORES;
}
