/*
 * fabric.c - requests whose line is in another node's memory, and the links
 * over which they and their answers cross.
 *
 * A node is a GPU, or a chiplet of one: cores, an L2 TLB with walkers, L2
 * slices, DRAM channels and the frames behind them.  Requests of its cores and
 * walkers are sent here instead of to the L2 (the pointer is set when the
 * machine is built, so one node passes nothing of this).  One to memory of its
 * own is passed on at once.  One to another's crosses:
 *
 *   core or walker --> link ... link --> crossbar and L2 slice of the home
 *                  <-- link ... link <--
 *
 * A link has a FIFO for each direction, a hop.  A message waits until those
 * before it have passed, occupies the hop for its bytes, and arrives
 * fabric.latency after its last one; at a node between, it enters the next hop
 * then (store and forward).  So a read takes, without load, what it takes at
 * home, 2 fabric.latency a link, and the time of fabric.header and of
 * fabric.header and its bytes.  The bandwidth is kept to the byte: what is left
 * of a tick is the next message's.
 *
 * Requests to read carry a header, writes and atomics their bytes, too.  All
 * but unacknowledged writes are answered: reads and atomics with their bytes,
 * writes with a header when the home's L2 has taken them.  Atomics are done at
 * the home's L2.  A line of another node may be in an L1 cache, as any, but is
 * in no L2 but its home's.
 *
 * Page tables are in one node, or each walker reads its node's copy
 * (fabric.tables), whose addresses follow those of the nodes before.
 *
 * Invariants: a request that has left its node is on one hop, or in the home's
 * L2, and is answered once; a hop has as many messages as have entered and not
 * arrived; it is never idle while one waits.
 *
 * Left out: what limits messages in flight (credits; MSHRs and store queues are
 * a limit); links' own errors and power states; the page moves and copies of
 * memory managers, which are not charged to links; coherence of L1 caches,
 * which GPUs leave to software; a second copy in the requester's L2.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fabric.h"

#include <inttypes.h>

#include "kit/hist.h"
#include "kit/recip.h"
#include "translation/mmu.h"

#define HD_PART    fabric
#define HD_CFG     struct hd_fabric_cfg
#define HD_PART_OF "fabric/fabric.def"
#include "kit/rows.h"

#define HD_PART    hop
#define HD_PART_OF "fabric/hop.def"
#include "kit/rows.h"

enum {
#define HD_HISTS_OF "fabric/fabric.def"
#include "kit/rows.h"
};

enum hop_stat {
#define HD_COUNTERS_OF "fabric/hop.def"
#include "kit/rows.h"
};

/* A hop's events. */
enum { HOP_ENTER, HOP_ARRIVE };

/* What a request is doing that has left its node. */
enum crossing_state {
    CROSSING_NONE,
    CROSSING_OUT, /* to its home */
    CROSSING_HOME,
    CROSSING_BACK
};

struct crossing {
    hd_time born;    /* what the request said, as the next two */
    uint16_t client; /* who gets the answer */
    uint8_t seq;
    uint8_t state;
    uint8_t from, home; /* nodes */
    uint8_t hop;        /* on which it waits or crosses */
    uint8_t ack;        /* 1: it is the acknowledgement of a write */
};

struct hop_state {
    hd_time free;     /* when all that has entered has passed, */
    uint64_t odd;     /* and this, in ticks / bandwidth, later */
    hd_time busy;     /* ticks that messages have occupied it */
    hd_time odd_busy; /* of them, less than a core cycle, not counted yet */
    uint32_t n;       /* messages that wait or cross */
    uint32_t pad;
};

struct fabric_state {
    uint64_t arrived; /* messages */
    uint64_t open;    /* requests that are not CROSSING_NONE */
};

struct hop {
    struct hd_fabric *f;
    struct hop_state *s; /* arena */
    uint32_t component, i;
};

struct hd_fabric {
    struct hd_env *env;
    struct hd_fabric_cfg cfg;
    struct hd_fabric_wiring w;
    struct hd_topology t;
    const struct hd_nodes *nodes;
    struct fabric_state *s;    /* arena */
    struct crossing *crossing; /* arena: [request] */
    struct hd_stat stat, hop_stat;
    struct hd_hist *latency;
    struct hd_recip per_core;
    hd_time far; /* ticks: fabric.latency */
    uint32_t cores_each;
    struct hop hop[HD_MAX_HOPS];
};

int hd_fabric_check(const void *settings, const char *name,
                    struct heddle_error *err)
{
    const struct hd_fabric_cfg *c = settings;
    struct hd_topology t;

    (void)name;
    if (c->nodes == 1)
        return 0;
    if (c->home >= c->nodes)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "fabric.home: there is no node %u; the nodes are 0 "
                          "to %u (fabric.nodes)",
                          c->home, c->nodes - 1);
    return hd_topology_read(&t, c->nodes, c->topology, err);
}

/* ---- hops ---------------------------------------------------------------- */

static struct hd_req *fabric_req(const struct hd_fabric *f, uint32_t r)
{
    return &f->w.reqs->v[r];
}

/* Bytes of a message: of request r, or of its answer. */
static uint32_t fabric_bytes(const struct hd_fabric *f, uint32_t r)
{
    const struct hd_req *q = fabric_req(f, r);
    const struct crossing *x = &f->crossing[r];
    bool back = x->state == CROSSING_BACK;
    bool carries =
        q->kind == HD_REQ_ATOMIC || (q->kind == HD_REQ_WRITE ? !back : back);

    return f->cfg.header + (carries ? q->bytes : 0);
}

/* Cycles of a span that has `odd` ticks from before, which keeps the rest. */
static uint64_t hop_cycles(const struct hd_fabric *f, hd_time span,
                           hd_time *odd)
{
    uint64_t n;

    *odd += span;
    n = hd_recip_div(f->per_core, *odd);
    *odd -= n * f->per_core.d;
    return n;
}

/* A message is at the hop: when it will have passed. */
static hd_time hop_pass(struct hop *h, hd_time now, uint32_t bytes,
                        uint64_t *count)
{
    const struct hd_fabric *f = h->f;
    struct hop_state *s = h->s;
    hd_time begin = s->free;
    uint64_t part;

    if (now >= s->free + (s->odd != 0)) {
        s->free = begin = now;
        s->odd = 0;
    }
    part = bytes * f->env->clk->base_hz + s->odd; /* < 2^9 x 2^50 */
    s->free += part / f->cfg.bandwidth;
    s->odd = part % f->cfg.bandwidth;
    s->busy += s->free - begin;
    count[HD_HOP_MESSAGES]++;
    count[HD_HOP_BYTES] += bytes;
    count[HD_HOP_BUSY] += hop_cycles(f, s->free - begin, &s->odd_busy);
    count[HD_HOP_WAIT] +=
        hd_recip_div(f->per_core, begin - hd_min_u64(now, begin));
    return s->free + (s->odd != 0);
}

static void hop_enter(struct hop *h, hd_time now, uint32_t r)
{
    const struct hd_fabric *f = h->f;
    uint32_t app = fabric_req(f, r)->app;
    uint64_t *peak = hd_count(&f->hop_stat, h->i, HD_APP_NONE, HD_HOP_PEAK);
    hd_time passed = hop_pass(h, now, fabric_bytes(f, r),
                              hd_count_row(&f->hop_stat, h->i, app));

    f->crossing[r].hop = (uint8_t)h->i;
    *peak = hd_max_u64(*peak, ++h->s->n);
    hd_post(f->env->ev, h->component, h->component, passed + f->far, HOP_ARRIVE,
            r, 0);
}

/* ---- requests ------------------------------------------------------------ */

static uint32_t fabric_node(const struct hd_fabric *f, const struct hd_req *q)
{
    if (q->kind == HD_REQ_WALK)
        return HD_WALK_TAG_UNIT(q->tag) * f->t.nodes / f->w.units;
    return q->client / f->cores_each;
}

static void fabric_count(const struct hd_fabric *f, uint32_t node,
                         const struct hd_req *q, uint32_t what)
{
    (*hd_count(&f->stat, node, q->app, what))++;
}

/* A request is at its home. */
static void fabric_deliver(struct hd_fabric *f, hd_time now, uint32_t r)
{
    struct crossing *x = &f->crossing[r];
    struct hd_req *q = fabric_req(f, r);

    fabric_count(f, x->home, q, HD_FABRIC_SERVED);
    x->state = CROSSING_HOME;
    if (q->kind == HD_REQ_WRITE && (q->flags & HD_REQ_ACK) == 0) {
        x->state = CROSSING_NONE; /* it is not heard of again */
        f->s->open--;
    }
    q->client = (uint16_t)f->w.client;
    q->flags &= (uint8_t)~HD_REQ_SEQ;
    q->born = now;
    f->w.l2.send(f->w.l2.self, now, r);
}

/* An answer is with its requester. */
static void fabric_return(struct hd_fabric *f, hd_time now, uint32_t r)
{
    struct crossing *x = &f->crossing[r];
    struct hd_req *q = fabric_req(f, r);
    const struct hd_client *c = &f->w.clients[x->client];

    x->state = CROSSING_NONE;
    f->s->open--;
    q->client = x->client;
    q->flags |= x->seq;
    q->born = x->born;
    if (!x->ack)
        hd_hist_add(&f->latency[q->app],
                    hd_recip_div(f->per_core, now - q->born));
    c->reply(c->self, now, r);
    if (x->ack) /* a client does not keep a write that it is notified of */
        hd_req_give(f->w.reqs, r);
}

static void hop_serve(void *self, hd_time now, uint32_t what, uint32_t r,
                      uint64_t b)
{
    struct hop *h = self;
    struct hd_fabric *f = h->f;
    const struct crossing *x = &f->crossing[r];
    uint32_t at = f->t.to[h->i], end;

    (void)b;
    if (what == HOP_ENTER) {
        hop_enter(h, now, r);
        return;
    }
    h->s->n--;
    f->s->arrived++;
    end = x->state == CROSSING_OUT ? x->home : x->from;
    if (at != end)
        hop_enter(&f->hop[f->t.next[at][end]], now, r);
    else if (x->state == CROSSING_OUT)
        fabric_deliver(f, now, r);
    else
        fabric_return(f, now, r);
}

/* The node that has what a request is for.  An entry of a page table is in one
 * node, or in the walker's. */
static uint32_t fabric_home(const struct hd_fabric *f, struct hd_req *q,
                            uint32_t from)
{
    if (q->kind == HD_REQ_WALK && hd_nodes_is_table(f->nodes, q->pa))
        q->pa.v += f->nodes->tables *
                   (f->cfg.tables == HD_TABLES_COPIES ? from : f->cfg.home);
    return hd_nodes_of(f->nodes, q->pa);
}

static uint32_t fabric_kind(const struct hd_req *q)
{
    return q->kind == HD_REQ_READ     ? HD_FABRIC_READS
           : q->kind == HD_REQ_WRITE  ? HD_FABRIC_WRITES
           : q->kind == HD_REQ_ATOMIC ? HD_FABRIC_ATOMICS
                                      : HD_FABRIC_WALKS;
}

/* A request leaves a core or walker: struct hd_below's. */
static void fabric_take(void *self, hd_time now, uint32_t r)
{
    const uint32_t first = HD_MAX_COMPONENTS / 2; /* as hd_l2_post_arrival */
    struct hd_fabric *f = self;
    struct hd_req *q = fabric_req(f, r);
    uint32_t from = fabric_node(f, q), home = fabric_home(f, q, from);
    uint8_t seq = q->flags & HD_REQ_SEQ;

    if (home == from) {
        fabric_count(f, from, q, HD_FABRIC_LOCAL);
        f->w.l2.send(f->w.l2.self, now, r);
        return;
    }
    fabric_count(f, from, q, fabric_kind(q));
    f->crossing[r] = (struct crossing){.born = q->born,
                                       .client = q->client,
                                       .seq = seq,
                                       .state = CROSSING_OUT,
                                       .from = (uint8_t)from,
                                       .home = (uint8_t)home,
                                       .hop = f->t.next[from][home]};
    f->s->open++;
    hd_post_numbered(f->env->ev, first | q->client % first,
                     f->hop[f->crossing[r].hop].component,
                     seq != 0 ? (uint32_t)q->queued : 0, now, HOP_ENTER, r, 0);
}

/* The home has answered. */
static void fabric_reply(void *self, hd_time at, uint32_t r)
{
    struct hd_fabric *f = self;
    struct crossing *x = &f->crossing[r];
    const struct hop *h;

    if (fabric_req(f, r)->kind == HD_REQ_WRITE) { /* which the home keeps */
        uint32_t ack = hd_req_take_own(f->w.reqs);

        *fabric_req(f, ack) = *fabric_req(f, r);
        f->crossing[ack] = *x;
        f->crossing[ack].ack = 1;
        x->state = CROSSING_NONE;
        x = &f->crossing[ack];
        r = ack;
    }
    x->state = CROSSING_BACK;
    x->hop = f->t.next[x->home][x->from];
    h = &f->hop[x->hop];
    hd_post(f->env->ev, h->component, h->component, at, HOP_ENTER, r, 0);
}

/* ---- looking and checking ------------------------------------------------ */

/* A message waits for a hop, crosses it, or is to, as cores run ahead. */
static bool fabric_crosses(const struct crossing *x, uint32_t hop)
{
    return (x->state == CROSSING_OUT || x->state == CROSSING_BACK) &&
           x->hop == hop;
}

static uint32_t fabric_on(const struct hd_fabric *f, uint32_t hop)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < f->w.reqs->numbers.room; r++)
        n += fabric_crosses(&f->crossing[r], hop);
    return n;
}

static void fabric_look(void *self, uint32_t i, struct heddle_visitor *v)
{
    const struct hd_fabric *f = self;
    const struct hop_state *s = f->hop[i].s;

    v->row(v->ud, "hop");
    v->number(v->ud, "from", f->t.from[i]);
    v->number(v->ud, "to", f->t.to[i]);
    v->number(v->ud, "messages", s->n);
    v->number(v->ud, "free", hd_recip_div(f->per_core, s->free));
    for (uint32_t r = 0, n = 0; n < s->n; r++) {
        const struct crossing *x = &f->crossing[r];
        if (!fabric_crosses(x, i))
            continue;
        n++;
        v->row(v->ud, "message");
        v->number(v->ud, "app", fabric_req(f, r)->app);
        v->text(v->ud, "what", x->state == CROSSING_OUT ? "request" : "answer");
        v->number(v->ud, "node", x->from);
        v->number(v->ud, "home", x->home);
        v->number(v->ud, "bytes", fabric_bytes(f, r));
    }
}

static void fabric_stuck(void *self, uint32_t i, struct heddle_visitor *v)
{
    const struct hd_fabric *f = self;
    uint32_t n = fabric_on(f, i), home = 0;

    if (n > 0) {
        hd_show_wait(v, "fabric hop", i, "messages to cross it");
        v->number(v->ud, "from", f->t.from[i]);
        v->number(v->ud, "to", f->t.to[i]);
        v->number(v->ud, "n", n);
    }
    for (uint32_t r = 0; r < f->w.reqs->numbers.room; r++)
        home += f->crossing[r].state == CROSSING_HOME &&
                f->t.next[f->crossing[r].home][f->crossing[r].from] == i;
    if (home == 0)
        return;
    hd_show_wait(v, "fabric hop", i, "answers of its node's l2cache");
    v->number(v->ud, "n", home);
}

static void fabric_check(void *self, uint32_t i, struct heddle_error *err)
{
    const struct hd_fabric *f = self;
    const struct hop_state *s = f->hop[i].s;
    uint64_t open = 0;

    for (uint32_t r = 0; r < f->w.reqs->numbers.room; r++)
        open += f->crossing[r].state != CROSSING_NONE;
    if (open != f->s->open)
        hd_err_set(err, HEDDLE_ECHECK,
                   "fabric: %" PRIu64 " requests have left their node and "
                   "have not been answered, and %" PRIu64 " are known",
                   f->s->open, open);
    if (s->n > fabric_on(f, i) || s->busy > s->free)
        hd_err_set(err, HEDDLE_ECHECK,
                   "fabric hop %" PRIu32 ": %" PRIu32
                   " messages wait or cross, "
                   "of %" PRIu32 "; busy for %" PRIu64 " of %" PRIu64 " ticks",
                   i, s->n, fabric_on(f, i), s->busy, s->free);
}

/* ---- building ------------------------------------------------------------ */

static int fabric_build(struct hd_fabric *f)
{
    struct hd_env *env = f->env;
    struct hop_state *s;

    f->stat = hd_stats_group(env->stats, &hd_rows_fabric, f->t.nodes);
    f->hop_stat = hd_stats_group(env->stats, &hd_rows_hop, f->t.hops);
    f->latency = hd_stats_hist(env->stats, &hd_rows_fabric, FABRIC_LATENCY);
    f->s = hd_arena_take(env->arena, 1, sizeof *f->s);
    f->crossing =
        hd_arena_take(env->arena, f->w.reqs->numbers.room, sizeof *f->crossing);
    s = hd_arena_take(env->arena, f->t.hops, sizeof *s);
    if (f->stat.v == NULL || f->hop_stat.v == NULL || f->latency == NULL ||
        f->s == NULL || f->crossing == NULL || s == NULL)
        return hd_err_memory(env->err);
    for (uint32_t i = 0; i < f->t.hops; i++) {
        struct hop *h = &f->hop[i];
        *h = (struct hop){f, &s[i], 0, i};
        h->component = hd_events_component(env->ev, "fabric", hop_serve, h);
    }
    return 0;
}

struct hd_fabric *hd_fabric_open(struct hd_env *env,
                                 const struct hd_fabric_wiring *w)
{
    struct hd_fabric *f = hd_env_take(env, 1, sizeof *f);

    if (f == NULL)
        return NULL;
    f->env = env;
    f->cfg = *w->cfg;
    f->w = *w;
    f->nodes = env->nodes;
    f->cores_each = w->cores / f->nodes->n;
    f->far = hd_ticks_ns(env->clk, f->cfg.latency);
    f->per_core = hd_recip_of(env->clk->ticks[HD_CLK_CORE]);
    if (hd_topology_read(&f->t, f->nodes->n, f->cfg.topology, env->err) != 0 ||
        fabric_build(f) != 0)
        return NULL;
    hd_env_part(env, (struct hd_part){.name = "fabric",
                                      .instances = f->t.hops,
                                      .self = f,
                                      .look = fabric_look,
                                      .stuck = fabric_stuck,
                                      .check = fabric_check});
    return f;
}

struct hd_below hd_fabric_below(struct hd_fabric *f)
{
    return (struct hd_below){fabric_take, f, NULL};
}

struct hd_client hd_fabric_client(struct hd_fabric *f)
{
    return (struct hd_client){fabric_reply, f};
}

const struct hd_topology *hd_fabric_topology(const struct hd_fabric *f)
{
    return &f->t;
}

struct hd_stat hd_fabric_stat(const struct hd_fabric *f)
{
    return f->stat;
}

uint64_t hd_fabric_steps(const struct hd_fabric *f)
{
    return f->s->arrived;
}
