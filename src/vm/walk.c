/*
 * walk.c - the back of a unit: the walk queue and the walkers.
 *
 * A walk waits in the queue until a walker is free and then goes down the
 * page table: for each level the walk cache is asked (physical style) or was
 * asked once at the start (prefix style), and an entry that is not there is
 * read from memory at its real physical address, 8 bytes, through the L2 data
 * cache like any other read.  After Power, Hill, Wood (HPCA 2014): a pool of
 * walkers, each with one walk; MASK and Mosaic have 64, MESC 16, Pichai one a
 * core.
 *
 * References of a walk = levels minus those that the walk cache saved: in the
 * prefix style the deepest level found and all above it, in the physical
 * style each level found (a level's address comes out of the one above, so
 * that one is read even if a deeper level is in the cache).
 *
 * Events: one when the walker begins, one when an entry arrives, one where a
 * look-up in the walk cache comes before a read.  Reads that need no wait are
 * sent in the event that finds them necessary.
 *
 * Without a walk cache, and with nobody asked at each step, an entry above the
 * leaf does nothing but send the next read.  That read is then sent when the
 * answer is known to be under way, at the later instant and in the place among
 * the reads of that instant that its event would have had: reads are numbered
 * like the events that send them (hd_walk_read).  Those that leave between two
 * L2 edges, or with the arrival of a request, go before those of the edge.
 *
 * Such a request carries the entries of the levels to come (while their numbers
 * are small enough, up to 4096 tables), and the walk is not touched before the
 * leaf's answer: until then its level and its last read are those of its
 * request, which is where whoever looks or counts finds them.
 *
 * The busy time of walkers is the integral of concurrent walks over time, so
 * its quotient by the time passed is the mean number of concurrent walks.
 *
 * A walk that ends at a page on the host is over like any other; its requests
 * go to the fault buffer (l2tlbanswer.c, fault.c).  A page that nobody has
 * mapped or reserved is an error.
 *
 * Left out on purpose: reads after the answer (MESC's head entries).
 *
 * SPDX-License-Identifier: MIT
 */
#include "unit.h"

enum { READ, SKIP, ANSWER }; /* answers of walk_step */

/* ---- the queue -------------------------------------------------------- */

int64_t hd_walk_pick_default(void *mmu, const void *question)
{
    (void)mmu;
    (void)question;
    return 0;
}

/* Asks which of the waiting walks starts; fills the question's arrays. */
static uint32_t ask_pick(struct hd_unit *u, hd_time now)
{
    struct hd_unit_state *s = u->s;
    uint64_t *a = u->m->who;
    uint32_t n = s->waiting, i = 0;
    struct heddle_q_walk_pick q = {.n = n,
                                   .app = a,
                                   .vpn = a + n,
                                   .requesters = a + 2 * n,
                                   .age = a + 3 * n};

    for (; i < n; i++) {
        uint32_t at = hd_unit_place(s->queue_first, i, u->miss.room);
        const struct hd_walk *x = &u->walk[u->queue[at]];
        a[i] = x->app;
        a[n + i] = x->vpn.v;
        a[2 * n + i] = u->miss.v[u->queue[at]].n;
        a[3 * n + i] =
            now > x->ready ? hd_unit_cycles(u->m, now - x->ready) : 0;
    }
    return (uint32_t)hd_ask_walk_pick(&u->m->pick, &q);
}

/* Takes the i-th waiting walk out of the queue. */
static uint32_t unlink_walk(struct hd_unit *u, uint32_t i)
{
    struct hd_unit_state *s = u->s;
    uint32_t room = u->miss.room, at = hd_unit_place(s->queue_first, i, room);
    uint32_t walk = u->queue[at];

    for (; i > 0; i--) { /* those before it move up */
        uint32_t before = hd_unit_place(s->queue_first, i - 1, room);
        u->queue[at] = u->queue[before];
        at = before;
    }
    s->queue_first = hd_unit_place(s->queue_first, 1, room);
    s->waiting--;
    return walk;
}

/* Gives a walk to a walker. */
static HD_HOT void occupy(struct hd_unit *u, hd_time now, uint32_t walk)
{
    struct hd_walk *w = &u->walk[walk];
    hd_time at = hd_max_u64(now, w->ready);

    u->s->walkers++;
    w->state = HD_WALK_RUNS;
    w->began = at;
    if (at == now && !u->starting)
        hd_walk_begin(u, now, walk);
    else
        hd_unit_post(u, at, HD_UNIT_START, walk);
}

static HD_HOT void dispatch(struct hd_unit *u, hd_time now)
{
    struct hd_unit_state *s = u->s;

    while (s->waiting > 0 && s->walkers < u->m->walk_cfg.walkers) {
        uint32_t i = 0;
        if (HD_UNLIKELY(u->m->pick.bound) && s->waiting > 1)
            i = ask_pick(u, now);
        occupy(u, now, unlink_walk(u, i));
    }
}

HD_HOT void hd_walk_add(struct hd_unit *u, hd_time now, uint32_t walk)
{
    struct hd_unit_state *s = u->s;
    struct hd_walk *w = &u->walk[walk];

    w->req = HD_NONE;
    w->references = 0;
    w->level = 1;
    w->cached = 0;
    w->leaf = 4;
    if (s->walkers < u->m->walk_cfg.walkers ||
        u->m->walk_cfg.mode.kind == HD_IDEAL) {
        occupy(u, now, walk);
        return;
    }
    w->state = HD_WALK_WAITS;
    u->queue[hd_unit_place(s->queue_first, s->waiting++, u->miss.room)] = walk;
    hd_unit_peak(&u->walk_shared[HD_WALK_QUEUE_PEAK], s->waiting);
}

/* ---- the walk --------------------------------------------------------- */

int64_t hd_walk_step_default(void *mmu, const void *question)
{
    (void)mmu;
    (void)question;
    return READ;
}

static int64_t ask_step(struct hd_unit *u, const struct hd_walk *w)
{
    struct heddle_q_walk_step q = {.app = w->app,
                                   .vpn = w->vpn.v,
                                   .level = w->level,
                                   .leaf = w->leaf,
                                   .cached = w->cached,
                                   .pte = hd_unit_pte(u->m, w, w->level).v};

    return hd_ask_walk_step(&u->m->step, &q);
}

/* The entries of the levels below in one word, as far as numbers are that
 * small: what a request needs to go on without a look at its walk.  The first
 * table is a root, so no entry below one has the number 0. */
static inline uint64_t pack(const struct hd_walk *w)
{
    const uint32_t *e = w->path.entry;
    uint64_t last = w->leaf == 4 ? e[3] : 0;
    uint64_t more =
        e[1] | (uint64_t)e[2] << HD_CHAIN_BITS | last << 2 * HD_CHAIN_BITS;

    return more >> (w->level - 1) * HD_CHAIN_BITS;
}

static HD_APART void tell_read(const struct hd_unit *u, const struct hd_walk *w,
                               uint32_t core, hd_pa pa)
{
    struct heddle_n_walk_read n = {.core = core,
                                   .app = w->app,
                                   .vpn = w->vpn.v,
                                   .level = w->level,
                                   .address = pa.v};

    hd_slots_note(u->env->slots, HEDDLE_NOTE_walk_read, &n);
}

static inline void send(struct hd_unit *u, hd_time now, uint32_t walk)
{
    const struct hd_mmu *m = u->m;
    bool told = m->watched[HEDDLE_NOTE_walk_read] != 0;
    struct hd_walk *w = &u->walk[walk];
    uint32_t r = hd_req_take(m->w.reqs);
    struct hd_req *q = &u->req[r];
    bool numbered = m->ordered & (u->ticket != HD_UNIT_FOREIGN) &
                    (hd_recip_up(m->per_tick, now) == now);

    q->pa = hd_ptables_pa(m->first_entry, w->path.entry[w->level - 1]);
    q->born = now;
    q->queued = u->ticket;
    q->next = HD_NONE;
    q->tag = HD_UNIT_TAG(u->instance, walk);
    q->client = (uint16_t)(m->w.memory_client + numbered);
    q->warp = HD_NO_WARP;
    q->kind = HD_REQ_WALK;
    q->app = w->app;
    q->level = w->level;
    q->flags = (uint8_t)((numbered ? HD_REQ_SEQ : 0) |
                         (w->level < w->leaf && !told ? m->chained : 0));
    q->dram_class = 0;
    q->hit = HD_REQ_HIT;
    q->bytes = 8;
    q->more = pack(w);
    w->req = r;
    w->counted = w->level - 1;
    w->state = HD_WALK_READS;
    if (HD_UNLIKELY(told | (m->walk_cfg.port != 0))) /* the first that waits */
        q->spare = hd_unit_treq(u, u->miss.v[walk].first)->core;
    if (HD_UNLIKELY(told))
        tell_read(u, w, q->spare, q->pa);
    m->w.memory.send(m->w.memory.self, now, r);
}

HD_HOT void hd_walk_send(struct hd_unit *u, hd_time now, uint32_t walk)
{
    send(u, now, walk);
}

/* Has an event take up an entry. */
static HD_HOT HD_APART void await(struct hd_unit *u, hd_time at, uint32_t r)
{
    const struct hd_req *q = &u->req[r];
    uint32_t walk = HD_UNIT_WALK(q->tag);
    struct hd_walk *w = &u->walk[walk];

    w->level = q->level;
    w->req = HD_NONE;
    hd_unit_settle(u, w, w->level);
    hd_unit_post(u, at, HD_UNIT_ENTRY, walk);
    hd_req_give(u->m->w.reqs, r);
}

/* An entry above the leaf sends the next read, or has an event do so. */
HD_HOT void hd_walk_read(struct hd_unit *u, hd_time at, uint32_t r)
{
    const struct hd_mmu *m = u->m;
    struct hd_req *q = &u->req[r];

    if (hd_chain_next(&m->chain, q, at)) {
        m->w.memory.send(m->w.memory.self, q->born, r);
        return;
    }
    hd_unit_walk_row(u, q->app)[HD_WALK_L2 + q->level - 1u] +=
        q->hit == HD_REQ_HIT;
    await(u, at + m->w.memory_back, r);
}

/* Goes on from w->level at t, not before now: passes the levels that need no
 * read, then has the read sent, or the walk done. */
static void next(struct hd_unit *u, hd_time now, uint32_t walk, hd_time t)
{
    struct hd_walk *w = &u->walk[walk];
    bool physical =
        hd_walkcache_on(&u->pwc) && u->pwc.cfg.style == HD_WALKCACHE_PHYSICAL;

    for (; w->level <= w->leaf; w->level++) {
        int64_t what = READ;

        if (physical) {
            t = hd_walkcache_port(&u->pwc, t);
            if (hd_walkcache_entry(&u->pwc, w->app, w->level,
                                   hd_unit_pte(u->m, w, w->level))) {
                w->cached = w->level;
                continue;
            }
        }
        if (HD_UNLIKELY(u->m->step.bound))
            what = ask_step(u, w);
        if (what == READ)
            break;
        hd_unit_walk_row(u, w->app)[HD_WALK_SKIPPED]++;
        if (what == ANSWER)
            w->level = w->leaf;
    }
    if (w->level > w->leaf) {
        if (t == now)
            hd_walk_done(u, now, walk);
        else
            hd_unit_post(u, t, HD_UNIT_DONE, walk);
    } else if (t == now) {
        hd_walk_send(u, now, walk);
    } else {
        hd_unit_post(u, t, HD_UNIT_SEND, walk);
    }
}

static void descend(struct hd_unit *u, hd_time now, uint32_t walk)
{
    struct hd_walk *w = &u->walk[walk];
    hd_time t = now;

    w->leaf =
        (uint8_t)hd_ptables_path(u->m->w.tables, w->app, w->vpn, &w->path);
    if (w->leaf == 0) { /* no tables: the answer is an error, in words */
        hd_l2tlb_complete(u, now, walk);
        return;
    }
    if (HD_LIKELY(!hd_walkcache_on(&u->pwc) && !u->m->step.bound)) {
        send(u, now, walk);
        return;
    }
    if (hd_walkcache_on(&u->pwc) && u->pwc.cfg.style == HD_WALKCACHE_PREFIX) {
        t = hd_walkcache_port(&u->pwc, now);
        w->cached =
            (uint8_t)hd_walkcache_prefix(&u->pwc, w->app, w->vpn, w->leaf);
        w->level = (uint8_t)(w->cached + 1);
    }
    next(u, now, walk, t);
}

HD_HOT void hd_walk_begin(struct hd_unit *u, hd_time now, uint32_t walk)
{
    struct hd_walk *w = &u->walk[walk];
    struct hd_mmu_recent *recent = &u->m->recent[w->app];
    struct hd_unit_state *s = u->s;
    bool outer = u->starting;

    u->starting = true; /* the walks that follow begin in events of their own */
    s->running++;
    s->running_of[w->app]++;
    hd_unit_peak(&hd_unit_walk_row(u, w->app)[HD_WALK_PEAK],
                 s->running_of[w->app]);
    recent->walks++;
    if (recent->walks > recent->peak)
        recent->peak = recent->walks;
    hd_unit_peak(&u->walk_shared[HD_WALK_PEAK], s->running);
    if (u->m->walk_cfg.mode.kind == HD_FULL)
        descend(u, now, walk);
    else if (u->m->walk_cfg.mode.kind == HD_IDEAL || u->m->walk_fixed == 0)
        hd_walk_done(u, now, walk);
    else
        hd_unit_post(u, now + u->m->walk_fixed, HD_UNIT_DONE, walk);
    u->starting = outer;
}

HD_HOT void hd_walk_entry(struct hd_unit *u, hd_time now, uint32_t walk)
{
    struct hd_walk *w = &u->walk[walk];

    w->state = HD_WALK_RUNS;
    if (hd_walkcache_on(&u->pwc))
        hd_walkcache_fill(&u->pwc, w->app, w->vpn, w->level, w->leaf,
                          hd_unit_pte(u->m, w, w->level));
    if (w->level++ == w->leaf)
        hd_walk_done(u, now, walk);
    else
        next(u, now, walk, now);
}

static HD_APART void tell_done(struct hd_unit *u, hd_time now, uint32_t walk)
{
    const struct hd_walk *w = &u->walk[walk];
    struct heddle_n_walk_done n = {.app = w->app,
                                   .vpn = w->vpn.v,
                                   .cycles =
                                       hd_unit_cycles(u->m, now - w->ready),
                                   .references = w->references,
                                   .requesters = u->miss.v[walk].n};

    hd_slots_note(u->env->slots, HEDDLE_NOTE_walk_done, &n);
}

/* The requests of a walk that is done make a party, if there are several. */
static inline void gather(struct hd_mmu *m, const struct hd_mshr_entry *e,
                          uint32_t app)
{
    struct hd_treq *q = m->w.treqs->v;
    uint32_t i;

    if (HD_LIKELY(e->n == 1)) {
        q[e->first].party = HD_TREQ_ALONE;
        return;
    }
    i = hd_numbers_take(&m->party_numbers);
    m->parties[i] = (struct hd_party){e->n, 0, app};
    for (uint32_t t = e->first; t != HD_NONE; t = q[t].next) {
        m->party_of[t] = i;
        q[t].party = HD_TREQ_PARTY;
    }
}

/* So many misses has a walk answered. */
static inline void conclude(struct hd_unit *u, uint32_t app, uint32_t warps)
{
    struct hd_mmu *m = u->m;

    hd_unit_walk_row(u, app)[HD_WALK_WARPS] += warps;
    hd_hist_add(&m->walk_warps[app], warps);
    m->recent[app].stalled =
        (uint32_t)hd_max_u64(m->recent[app].stalled, warps);
}

HD_HOT void hd_walk_heard(void *self, uint32_t treq)
{
    struct hd_unit *u = self;
    struct hd_treq *q = hd_unit_treq(u, treq);
    uint32_t warps = 1u + q->merged, how = q->party;
    struct hd_mmu *m = u->m;
    struct hd_party *p;

    q->party = HD_TREQ_OPEN;
    if (HD_LIKELY(how == HD_TREQ_ALONE))
        conclude(u, q->app, warps);
    if (HD_LIKELY(how != HD_TREQ_PARTY))
        return;
    p = &m->parties[m->party_of[treq]];
    p->warps += warps;
    if (--p->left > 0)
        return;
    conclude(u, p->app, p->warps);
    hd_numbers_give(&m->party_numbers, m->party_of[treq]);
}

static void account(struct hd_unit *u, hd_time now, uint32_t walk)
{
    const struct hd_mmu *m = u->m;
    const struct hd_walk *w = &u->walk[walk];
    const struct hd_mshr_entry *e = &u->miss.v[walk];
    uint64_t *c = hd_unit_walk_row(u, w->app);
    uint64_t busy = hd_unit_cycles(m, now - w->began);
    uint64_t queue = hd_unit_cycles(m, w->began - w->ready);

    gather(u->m, e, w->app);
    c[HD_WALK_WALKS]++;
    c[HD_WALK_REQUESTERS] += e->n;
    c[HD_WALK_BUSY_CYCLES] += busy;
    c[HD_WALK_QUEUE_CYCLES] += queue;
    hd_hist_add(&m->walk_latency[w->app], busy);
    hd_hist_add(&m->walk_queue[w->app], queue);
    hd_hist_add(&m->walk_requesters[w->app], e->n);
    m->recent[w->app].walks--;
    if (HD_UNLIKELY(m->watched[HEDDLE_NOTE_walk_done] != 0))
        tell_done(u, now, walk);
}

HD_HOT void hd_walk_done(struct hd_unit *u, hd_time now, uint32_t walk)
{
    struct hd_walk *w = &u->walk[walk];

    account(u, now, walk);
    u->s->running--;
    u->s->running_of[w->app]--;
    u->s->walkers--;
    w->state = HD_WALK_FREE;
    hd_l2tlb_complete(u, now, walk);
    dispatch(u, now);
    hd_l2tlb_unblock(u, now);
}
