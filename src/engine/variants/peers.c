/*
 * peers.c - L1 TLBs that ask each other: a miss goes to the L1 TLB of another
 * core first, which a policy names (tlb_peer), and to the level below if that
 * does not have it.
 *
 * Cores of one kernel touch the same pages at about the same time; Valkyrie
 * (Baruah et al., PACT 2020) connects their L1 TLBs by a ring.  A probe takes
 * peers.latency there, is looked up in peers.ports of the peer's own (in the
 * time of a look-up of the L1 TLB, without a trace in its order of use), and
 * the answer takes peers.latency back: a hit fills the asker's TLB as an answer
 * of the level below does, a miss leaves for that level then.  Later misses of
 * the page join the one that asks, in its MSHR.  A peer that is being given the
 * page just now misses, which is counted (late); a page of another application
 * is in no peer that runs this one.
 *
 * Cores run ahead of one another, and a message for an instant that its core
 * has passed would come too late.  So each way has two steps: an event when the
 * probe, or the answer, leaves, which comes in the one order of all events
 * however far its core has run ahead, and a message that arrives peers.latency
 * after it.  No core runs ahead by more than that (core/marks.c), so none has
 * passed it.  The bound is set when the machine is built: a shorter one changes
 * how often cores wake, never what they do.  A miss that comes back is sent
 * below by its own core, in the order of that core's time.
 *
 * The time that a peer which misses has cost is in the waits of warps, not in
 * the latency of the request (core.xlate_latency), which begins when it is sent
 * below, as it does behind the buffer of l1side.
 *
 * Left out: contention for the network; more than one peer for a miss; probes
 * of the buffer next to an L1 TLB.
 *
 * Invariant: each request that asks a peer is answered, or sent below, once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "peers.h"

#include "core/l1tlbstate.h"

#define HD_PART    peers
#define HD_CFG     struct hd_peers_cfg
#define HD_PART_OF "variants/peers.def"
#include "kit/rows.h"

enum {
#define HD_COUNTERS_OF "variants/peers.def"
#include "kit/rows.h"
};

/* What leaves a core: a probe for a core, or its answer. */
enum { PEERS_PROBE, PEERS_HIT, PEERS_MISS };

struct hd_peers_port {
    hd_time free;  /* its ports are taken until then */
    uint32_t used; /* of the ports, in that cycle */
};

struct hd_peers {
    struct hd_slot slot;
    struct hd_stat stat;
    struct hd_peers_port *port; /* arena: [cores] */
    uint32_t component;
    hd_time hop;
};

static void peers_count(const struct hd_gpu *g, uint32_t treq, uint32_t what)
{
    const struct hd_treq *q = &g->treqs->v[treq];

    (*hd_count(&g->peers->stat, q->core, q->app, what))++;
}

/* ---- the core that asks -------------------------------------------------- */

static int64_t peers_default(void *self, const void *question)
{
    const struct heddle_q_tlb_peer *q = question;

    (void)self;
    return (int64_t)q->cores;
}

/* The core that a miss asks, or as many as there are: none. */
static uint32_t peers_choose(const struct hd_core *c, uint32_t treq)
{
    const struct hd_gpu *g = c->gpu;
    const struct hd_treq *r = &g->treqs->v[treq];
    struct heddle_q_tlb_peer q;
    uint32_t peer;

    if (HD_LIKELY(!g->peers->slot.bound))
        return g->cores;
    q = (struct heddle_q_tlb_peer){.core = c->id,
                                   .cores = g->cores,
                                   .app = r->app,
                                   .warp = r->warp,
                                   .vpn = r->vpn.v,
                                   .pc = r->pc};
    peer = (uint32_t)hd_ask_tlb_peer(&g->peers->slot, &q);
    if (peer != c->id)
        return peer;
    hd_slots_refuse(&g->peers->slot, HEDDLE_POINT_tlb_peer, &q, peer,
                    "another core, or cores: none", g->env->err);
    return g->cores;
}

static void peers_ask(void *core, hd_time now, uint32_t treq)
{
    const struct hd_core *c = core;
    const struct hd_gpu *g = c->gpu;
    uint32_t peer = peers_choose(c, treq);

    if (peer == g->cores) {
        c->below_peers.send(c->below_peers.self, now, treq);
        return;
    }
    peers_count(g, treq, PEER_ASKED);
    hd_post(g->env->ev, c->component, g->peers->component, now, PEERS_PROBE,
            treq, peer);
}

void hd_peers_missed(struct hd_core *c, uint32_t treq, hd_time t)
{
    c->gpu->treqs->v[treq].born = t;
    c->below_peers.send(c->below_peers.self, t, treq);
}

/* ---- the core that is asked -------------------------------------------- */

/* Whether one of the ports is free, which is then taken. */
static bool peers_port(const struct hd_core *c, hd_time t)
{
    struct hd_peers_port *p = &c->gpu->peers->port[c->id];

    if (t < p->free)
        return false;
    hd_lsu_use_port(&p->free, &p->used, c->gpu->m->peers.ports, t,
                    c->gpu->cycle);
    return true;
}

static bool peers_find(struct hd_core *c, uint32_t treq)
{
    const struct hd_gpu *g = c->gpu;
    struct hd_treq *q = &g->treqs->v[treq];
    struct hd_xlate x;

    if (c->app == q->app && hd_tlb_peek(&c->l1tlb, q->app, q->vpn, &x) &&
        hd_faults_here(g->faults, g->tables, q->app, q->vpn, &x)) {
        if (g->env->check)
            hd_l1tlb_confirm(c, q->vpn.v, hd_xlate_frame(&x, q->vpn).v);
        q->x = x;
        return true;
    }
    if (c->app == q->app && hd_mshr_find(&c->tlb_mshr, q->vpn.v) != HD_NONE)
        peers_count(g, treq, PEER_LATE);
    return false;
}

void hd_peers_probed(struct hd_core *c, uint32_t treq, hd_time t)
{
    const struct hd_gpu *g = c->gpu;
    bool free = peers_port(c, t), hit = free && peers_find(c, treq);

    peers_count(g, treq, !free ? PEER_REFUSED : hit ? PEER_HIT : PEER_MISSED);
    hd_post(g->env->ev, c->component, g->peers->component, t + g->tlb_ticks,
            hit ? PEERS_HIT : PEERS_MISS, treq, 0);
}

/* ---- between them ------------------------------------------------------- */

static void peers_leave(void *self, hd_time now, uint32_t what, uint32_t treq,
                        uint64_t peer)
{
    const struct hd_gpu *g = self;
    uint32_t to = what == PEERS_PROBE ? (uint32_t)peer : g->treqs->v[treq].core;

    hd_core_message(&g->core[to], now + g->peers->hop,
                    what == PEERS_PROBE ? HD_MSG_PROBE
                    : what == PEERS_HIT ? HD_MSG_XLATE
                                        : HD_MSG_PROBED,
                    treq, 0);
}

/* ---- wiring -------------------------------------------------------------- */

static void peers_notified(void *core, uint32_t treq)
{
    const struct hd_core *c = core;

    c->below_peers.notified(c->below_peers.self, treq);
}

static uint32_t peers_warm(void *core, const struct hd_treq *q,
                           struct hd_xlate *x)
{
    const struct hd_core *c = core;

    return c->below_peers.warm(c->below_peers.self, q, x);
}

struct hd_tbelow hd_peers_wire(struct hd_core *c, struct hd_tbelow below)
{
    if (c->gpu->peers == NULL)
        return below;
    c->below_peers = below;
    return (struct hd_tbelow){peers_ask, NULL, peers_notified, c, peers_warm};
}

hd_time hd_peers_hop(const struct hd_gpu *g)
{
    return g->peers != NULL ? g->peers->hop : HD_NEVER;
}

int hd_peers_open(struct hd_gpu *g)
{
    struct hd_stat stat =
        hd_stats_group(g->env->stats, &hd_rows_peers, g->cores);
    struct hd_peers *p;

    if (g->m->peers.latency == 0 || !g->translate ||
        g->m->l1tlb.mode.kind != HD_FULL)
        return 0;
    p = hd_env_take(g->env, 1, sizeof *p);
    if (p == NULL)
        return -1;
    p->port = hd_arena_take(g->env->arena, g->cores, sizeof *p->port);
    if (p->port == NULL)
        return -1;
    p->stat = stat;
    p->hop = g->m->peers.latency * g->cycle;
    p->component = hd_events_component(g->env->ev, "peers", peers_leave, g);
    hd_slots_offer(g->env->slots, HEDDLE_POINT_tlb_peer, "", &p->slot,
                   peers_default, g);
    g->peers = p;
    return 0;
}
