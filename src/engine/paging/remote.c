/*
 * remote.c - host-mapped pages: loads and stores that cross the link.
 *
 * A GPU can map a page of the host's memory instead of migrating it ("zero
 * copy", NVIDIA; "remote access", UVMSmart).  Where vm.paging=fault, the point
 * `migrate` is asked for each fault that the host serves: the pages migrate, or
 * they are mapped on the host, which takes no frame and no transfer, only an
 * instant of the manager.  By default that goes by remote.access, and by what
 * the application's host has advised of the buffer.  From then on each line of
 * them that a core loads or stores crosses the link.
 *
 *   L2 miss --> remote.latency --> its bytes on the link inwards --> answer
 *   store, write-back           --> its bytes on the link outwards
 *
 * Lines are sent before transfers (UVMSmart; link.c).  What they need of the
 * link is their bytes at its whole bandwidth: link.curve is a cost of copies.
 * The latency is UVMSmart's 200 cycles.  The L1 caches treat a line of the host
 * as any other; the L2 has one MSHR for all that miss it, and then does not
 * keep it, as NVIDIA's driver maps the host's memory uncached
 * (uvm_exp_gpu_cache_sysmem is 0); remote.cache has the L2 keep it and write it
 * back like others.  An atomic is a load and a store of the line.
 *
 * Access counters (NVIDIA from Volta on; off by default, as in the driver).
 * What crosses is counted by granules of 64 KB or 2 MB.  The answer of
 * `migrate` is how many accesses from now on make a notification: the host
 * takes notifications out in batches, needs the link's latency for a batch,
 * asks `migrate` again, and has the granule's pages migrate: they are unmapped
 * at an instant of the manager and then served like a fault without requests; a
 * request that touches them in flight joins it.  A policy that answers by
 * accesses so far is the delayed migration of Ganguly et al. (DATE 2020).
 *
 * A frame of the host's memory has a number from HD_HOST_FRAME on that follows
 * from its page's place in the page tables (ptable.c), so lines of the host
 * have addresses of their own behind all of the GPU's.
 *
 * Invariants: pages that were mapped so = those that migrated since, those that
 * went with their allocation, and those that are; a granule that waits for the
 * host counts nothing and is in one list, once.
 *
 * In driver mode (driver.c) faults and notifications have one host between
 * them: NVIDIA's driver serves both in bottom halves of one queue.  A batch of
 * notifications goes like one of faults: in the order of addresses, with
 * uvm.base_latency once, uvm.block_latency for each 2 MB, and uvm.page_latency
 * and uvm.evict_latency for what migrates, and the next granule has its turn when
 * the pages of the last one have arrived, and the driver's time for them is over.
 * Notifications are served until none waits, when a service of faults is over.
 * With uvm.perf_map_remote_on_eviction, and counters that migrate pages, what
 * is evicted is mapped on the host at once, and so migrates again by its
 * accesses; else it just faults.
 *
 * Left out on purpose: requests for lines as traffic outwards; the limit
 * of requests in flight on PCIe (MSHRs are one); where a page migrates whose
 * lines remote.cache had dirty, their path to the host; faults of the host.
 *
 * SPDX-License-Identifier: MIT
 */
#include "remote.h"

#include <string.h>

#include "points/slots.h"

#define HD_PART    remote
#define HD_CFG     struct hd_remote_cfg
#define HD_PART_OF "paging/remote.def"
#include "kit/rows.h"

enum { NEVER = HD_COUNTER_NEVER }; /* answer of `migrate`: no notification */

enum { FIRST_GRANULES = 256 };

/* An aligned piece of an application's memory, by its frames on the host. */
struct granule {
    uint32_t left;  /* accesses until a notification; 0: none will be */
    uint32_t seen;  /* accesses over the link while they were counted */
    uint32_t trips; /* times that pages of it were evicted */
    uint32_t next;  /* of the notifications, while it is one */
    uint32_t waits; /* 1: it is */
};

struct state {
    hd_ref granule; /* [room] */
    uint32_t room;
    uint32_t first, last, n;   /* notifications that wait */
    uint32_t batch;            /* first of those at the host, HD_NONE: none */
    uint32_t region;           /* 2 MB of the last of them */
    uint32_t evicted;          /* 1: pages have been evicted */
    uint64_t mapped, recalled; /* base pages; recalled: so that they migrate */
};

struct hd_remote {
    struct hd_env *env;
    struct hd_remote_wiring w;
    struct hd_remote_cfg cfg;
    struct hd_counter_cfg counters;
    struct state *s; /* arena */
    struct hd_slot migrate;
    struct hd_stat stat;
    uint32_t rank;
    uint32_t shift; /* base pages of a granule, logarithm */
    hd_time latency, cycle;
};

static uint64_t *remote_row(const struct hd_remote *r, uint32_t app)
{
    return hd_count_row(&r->stat, 0, app);
}

/* ---- granules ----------------------------------------------------------- */

static struct granule *remote_at(const struct hd_remote *r, uint32_t g)
{
    return (struct granule *)hd_arena_at(r->env->arena, r->s->granule) + g;
}

/* The granule of a page, whose record there is room for; HD_NONE: out of
 * memory. */
static uint32_t remote_granule_of(struct hd_remote *r, uint32_t app, hd_vpn vpn)
{
    hd_pfn f = hd_ptables_host_frame(r->w.tables, app, vpn);
    uint32_t g = (uint32_t)((f.v - HD_HOST_FRAME) >> r->shift);
    uint32_t room = r->s->room;
    struct granule *p;

    if (HD_LIKELY(g < room))
        return g;
    while (g >= room)
        room *= 2;
    p = hd_arena_take(r->env->arena, room, sizeof *p);
    if (p == NULL) {
        hd_err_memory(r->env->err);
        return HD_NONE;
    }
    memcpy(p, remote_at(r, 0), r->s->room * sizeof *p);
    r->s->granule = hd_arena_ref(r->env->arena, p);
    r->s->room = room;
    return g;
}

void hd_remote_count_eviction(struct hd_remote *r, uint32_t app, hd_vpn vpn,
                              uint32_t pages)
{
    r->s->evicted = 1;
    for (uint32_t i = 0; i < pages; i += 1u << r->shift) {
        uint32_t g = remote_granule_of(r, app, (hd_vpn){vpn.v + i});
        if (g != HD_NONE)
            remote_at(r, g)->trips++;
    }
}

/* ---- migrate or not ----------------------------------------------------- */

static int64_t remote_migrate_default(void *self, const void *question)
{
    const struct hd_remote *r = self;
    const struct heddle_q_migrate *q = question;

    if (q->cause == HEDDLE_MIGRATE_CAUSE_COUNTER ||
        q->advice == HEDDLE_MIGRATE_ADVICE_GPU ||
        (r->cfg.access == HD_REMOTE_MIGRATE &&
         q->advice != HEDDLE_MIGRATE_ADVICE_HOST))
        return 0;
    return r->counters.migrate ? r->counters.threshold : NEVER;
}

bool hd_remote_asks(const struct hd_remote *r)
{
    return r->cfg.access != HD_REMOTE_MIGRATE || r->migrate.bound ||
           hd_ptables_advised(r->w.tables);
}

/* Where the program's host wants a page to be used. */
static uint32_t remote_advice(const struct hd_remote *r, uint32_t app,
                              hd_vpn vpn)
{
    uint32_t a = hd_ptables_advice(r->w.tables, app, vpn);

    return a & HEDDLE_ADVICE_GPU ? HEDDLE_MIGRATE_ADVICE_GPU
           : a & (HEDDLE_ADVICE_HOST | HEDDLE_ADVICE_ACCESSED_BY)
               ? HEDDLE_MIGRATE_ADVICE_HOST
               : HEDDLE_MIGRATE_ADVICE_NONE;
}

static uint32_t remote_ask(struct hd_remote *r, uint32_t cause, uint32_t app,
                           hd_vpn vpn, uint32_t pages, bool writes)
{
    uint32_t g = remote_granule_of(r, app, vpn);
    struct heddle_q_migrate q = {.cause = cause,
                                 .app = app,
                                 .vpn = vpn.v,
                                 .pages = pages,
                                 .writes = writes,
                                 .advice = remote_advice(r, app, vpn),
                                 .free = hd_ptables_free(r->w.tables),
                                 .frames = hd_ptables_total(r->w.tables),
                                 .evicted = r->s->evicted,
                                 .most = NEVER};

    if (g == HD_NONE)
        return 0;
    q.accesses = remote_at(r, g)->seen;
    q.trips = remote_at(r, g)->trips;
    return (uint32_t)hd_ask_migrate(&r->migrate, &q);
}

uint32_t hd_remote_ask(struct hd_remote *r, uint32_t app, hd_vpn vpn,
                       uint32_t pages, bool writes)
{
    return remote_ask(r, HEDDLE_MIGRATE_CAUSE_FAULT, app, vpn, pages, writes);
}

/* A granule counts from now on, after an answer of `migrate`. */
static void remote_count_on(struct granule *x, uint32_t answer)
{
    if (x->left == 0 && !x->waits && answer < NEVER)
        x->left = answer;
}

void hd_remote_mapped(struct hd_remote *r, uint32_t app, hd_vpn vpn,
                      uint32_t pages, uint32_t answer)
{
    uint32_t g = remote_granule_of(r, app, vpn);

    if (g == HD_NONE)
        return;
    remote_row(r, app)[HD_REMOTE_PAGES] += pages;
    r->s->mapped += pages;
    remote_count_on(remote_at(r, g), answer);
}

/* ---- notifications ------------------------------------------------------ */

bool hd_remote_waits(const struct hd_remote *r)
{
    return r->s->n != 0;
}

/* Takes the oldest of those that wait. */
static void remote_take_batch(struct hd_remote *r)
{
    struct state *s = r->s;
    uint32_t n = (uint32_t)hd_min_u64(s->n, r->counters.batch), last = s->first;

    for (uint32_t i = 1; i < n; i++)
        last = remote_at(r, last)->next;
    s->batch = s->first;
    s->first = remote_at(r, last)->next;
    remote_at(r, last)->next = HD_NONE;
    s->n -= n;
}

/* The host serves what waits, if it is idle. */
static void remote_serve(struct hd_remote *r, hd_time now)
{
    if (r->s->n == 0 || r->s->batch != HD_NONE)
        return;
    if (r->w.manager.notified != NULL) {
        r->w.manager.notified(r->w.manager.self, now);
        return;
    }
    remote_take_batch(r);
    hd_post(r->env->ev, r->rank, r->rank, now + hd_link_latency(r->w.link), 0,
            0, 0);
}

/* An access over the link to a granule. */
static void remote_access_one(struct hd_remote *r, hd_time now, uint32_t app,
                              uint32_t g)
{
    struct state *s = r->s;
    struct granule *x = remote_at(r, g);

    if (x->left == 0)
        return;
    x->seen++;
    if (--x->left != 0)
        return;
    remote_row(r, app)[HD_REMOTE_NOTIFICATIONS]++;
    x->waits = 1;
    x->next = HD_NONE;
    if (s->n++ == 0)
        s->first = g;
    else
        remote_at(r, s->last)->next = g;
    s->last = g;
    remote_serve(r, now);
}

/* The application and the first page of a granule. */
static hd_vpn remote_place_of(const struct hd_remote *r, uint32_t g,
                              uint32_t *app)
{
    return hd_ptables_host_page(
        r->w.tables, (hd_pfn){HD_HOST_FRAME + ((uint64_t)g << r->shift)}, app);
}

bool hd_remote_decide(struct hd_remote *r, hd_time now, uint32_t g)
{
    uint32_t app, answer;
    hd_vpn vpn = remote_place_of(r, g, &app);

    answer = remote_ask(r, HEDDLE_MIGRATE_CAUSE_COUNTER, app, vpn,
                        1u << r->shift, false);
    if (answer == 0) {
        r->w.manager.recall(r->w.manager.self, now, g);
        return true;
    }
    remote_at(r, g)->waits = 0;
    remote_count_on(remote_at(r, g), answer);
    return false;
}

/* The host serves a batch: what is to migrate waits for the manager. */
static void remote_batch(void *self, hd_time now, uint32_t what, uint32_t a,
                         uint64_t b)
{
    struct hd_remote *r = self;

    (void)what, (void)a, (void)b;
    for (uint32_t g = r->s->batch, next; g != HD_NONE; g = next) {
        next = remote_at(r, g)->next;
        hd_remote_decide(r, now, g);
    }
    r->s->batch = HD_NONE;
    remote_serve(r, now);
}

void hd_remote_take(struct hd_remote *r)
{
    uint32_t sorted = HD_NONE, *p;

    remote_take_batch(r);
    for (uint32_t g = r->s->batch, next; g != HD_NONE; g = next) {
        next = remote_at(r, g)->next;
        for (p = &sorted; *p < g;) /* HD_NONE is the greatest */
            p = &remote_at(r, *p)->next;
        remote_at(r, g)->next = *p;
        *p = g;
    }
    r->s->batch = sorted;
    r->s->region = HD_NONE;
}

uint32_t hd_remote_next(struct hd_remote *r, bool *block)
{
    uint32_t g = r->s->batch, region = g >> (9 - r->shift);

    if (g == HD_NONE)
        return g;
    *block = region != r->s->region;
    r->s->region = region;
    r->s->batch = remote_at(r, g)->next;
    return g;
}

uint32_t hd_remote_on_eviction(const struct hd_remote *r)
{
    return r->w.manager.notified != NULL && r->counters.migrate &&
                   r->counters.evicted
               ? r->counters.threshold
               : 0;
}

uint32_t hd_remote_recall(struct hd_remote *r, uint32_t app, hd_vpn first,
                          uint32_t span)
{
    struct hd_xlate page;
    uint32_t n = 0;

    for (uint32_t i = 0; i < span; i++) {
        if (!hd_ptables_page(r->w.tables, app, (hd_vpn){first.v + i}, &page) ||
            page.pfn.v < HD_HOST_FRAME ||
            (HD_UNLIKELY(r->w.thrash != NULL) &&
             hd_thrash_on_host(r->w.thrash, app, page.vpn)))
            continue;
        hd_ptables_unmap_host(r->w.tables, app, &page);
        r->w.manager.drop(r->w.manager.self, app, page.pfn, page.pages);
        n += page.pages;
        span = (uint32_t)hd_max_u64(span, page.vpn.v + page.pages - first.v);
    }
    if (n == 0)
        return 0;
    remote_row(r, app)[HD_REMOTE_LEFT] += n;
    r->s->recalled += n;
    r->w.manager.shoot(r->w.manager.self, app, first, span);
    return span;
}

void hd_remote_apply(struct hd_remote *r, hd_time now, uint32_t g)
{
    uint32_t app, span;
    hd_vpn first = remote_place_of(r, g, &app);
    struct granule *x = remote_at(r, g);

    x->waits = x->seen = 0;
    span = hd_remote_recall(r, app, first, 1u << r->shift);
    r->w.manager.migrate(r->w.manager.self, now, app, first, span);
}

/* ---- lines -------------------------------------------------------------- */

/* A line of the host's memory, from the L2. */
static void remote_line(void *self, hd_time now, uint32_t req)
{
    struct hd_remote *r = self;
    const struct hd_req *q = &r->w.reqs->v[req];
    const struct hd_client *c = &r->w.clients[q->client];
    uint64_t *n = remote_row(r, q->app), frame = q->pa.v / HD_PAGE_BYTES;
    bool store = q->kind == HD_REQ_WRITE;
    hd_time end;

    hd_cross(r->env, HD_BORDER_line);
    end = hd_link_line(r->w.link, store ? now : now + r->latency,
                       store ? HD_LINK_OUT : HD_LINK_IN, q->bytes);
    n[store ? HD_REMOTE_STORES : HD_REMOTE_LOADS]++;
    n[store ? HD_REMOTE_OUT_BYTES : HD_REMOTE_IN_BYTES] += q->bytes;
    if (!store)
        n[HD_REMOTE_LOAD_CYCLES] += (end - now) / r->cycle;
    remote_access_one(r, now, q->app,
                      (uint32_t)((frame - HD_HOST_FRAME) >> r->shift));
    if (store)
        hd_req_give(r->w.reqs, req);
    else
        c->reply(c->self, end, req);
}

struct hd_below hd_remote_below(struct hd_remote *r)
{
    return (struct hd_below){remote_line, r, NULL};
}

/* ---- looking and checking ----------------------------------------------- */

static void remote_look(void *self, uint32_t instance, struct heddle_visitor *v)
{
    const struct hd_remote *r = self;
    uint32_t app;

    (void)instance;
    for (uint32_t g = 0; g < r->s->room; g++) {
        const struct granule *x = remote_at(r, g);
        if (x->left == 0 && !x->waits)
            continue;
        v->row(v->ud, "granule");
        v->number(v->ud, "vpn", remote_place_of(r, g, &app).v);
        v->number(v->ud, "app", app);
        v->number(v->ud, "accesses", x->seen);
        v->number(v->ud, "left", x->left);
    }
}

static void remote_check(void *self, uint32_t instance,
                         struct heddle_error *err)
{
    const struct hd_remote *r = self;
    const struct state *s = r->s;
    uint64_t lost, there = hd_ptables_host_mapped(r->w.tables, &lost);
    uint32_t n = 0, waits = 0;

    (void)instance;
    for (uint32_t g = s->first; n < s->n; g = remote_at(r, g)->next, n++)
        waits += remote_at(r, g)->waits != 0 && remote_at(r, g)->left == 0;
    if (waits != n || s->mapped != s->recalled + lost + there)
        hd_err_set(
            err, HEDDLE_ECHECK,
            "remote: %llu base pages were mapped on the host, %llu were "
            "unmapped to migrate, %llu went with their allocations, %llu are "
            "mapped; of %u notifications %u wait",
            (unsigned long long)s->mapped, (unsigned long long)s->recalled,
            (unsigned long long)lost, (unsigned long long)there, n, waits);
}

/* ---- building ----------------------------------------------------------- */

struct hd_remote *hd_remote_open(struct hd_env *env,
                                 const struct hd_remote_wiring *w)
{
    struct hd_remote *r = hd_env_take(env, 1, sizeof *r);
    struct granule *p = hd_arena_take(env->arena, FIRST_GRANULES, sizeof *p);
    struct state *s = hd_arena_take(env->arena, 1, sizeof *s);

    if (r == NULL || p == NULL || s == NULL)
        return NULL;
    r->env = env;
    r->w = *w;
    r->cfg = *w->cfg;
    r->counters = *w->counters;
    r->s = s;
    s->granule = hd_arena_ref(env->arena, p);
    s->room = FIRST_GRANULES;
    s->batch = HD_NONE;
    r->shift = r->counters.granule == 0 ? 4 : 9;
    r->cycle = hd_ticks(env->clk, HD_CLK_CORE, 1);
    r->latency = r->cfg.latency * r->cycle;
    r->stat = hd_stats_group(env->stats, &hd_rows_remote, 1);
    r->rank = hd_events_component(env->ev, "remote", remote_batch, r);
    hd_slots_offer(env->slots, HEDDLE_POINT_migrate, "", &r->migrate,
                   remote_migrate_default, r);
    hd_env_part(env, (struct hd_part){.name = "remote",
                                      .instances = 1,
                                      .self = r,
                                      .look = remote_look,
                                      .check = remote_check});
    return r;
}
