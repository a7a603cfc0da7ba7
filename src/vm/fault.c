/*
 * fault.c - far faults: the fault buffer, the host's driver, the replay.
 *
 * After Zheng et al. (HPCA 2016) and NVIDIA's UVM driver: a walk that finds its
 * page absent writes a fault into a buffer and is over; its walker and its
 * MSHRs are free again.  The host takes faults out in batches, gives each page
 * a frame, has it copied over the link, maps it, and has the requests that
 * waited tried again: they go through the L2 TLB and are walked for like new
 * ones, but keep their time of birth.
 *
 *   buffered --fault_batch--> at the host --L--> on the link --S/B--> mapped
 *      ^                                                                |
 *      |  further faults of the page join it here         its batch done:
 * replay
 *
 * A batch takes the link's latency once, then its pages cross in their order.
 * Each is mapped when its data are there; requests are tried again when the
 * whole batch has come (the driver's policy "batch").  By default every fault
 * is a batch of its own as soon as it comes, so latencies overlap and the link
 * is what faults share (Mosaic: 55 us load to use); fault.serial makes the host
 * serve one batch after the other, transfers included (the released simulator
 * of Mosaic), and fault.batch = 256 with it is the driver's way.
 *
 * Invariants: while faults wait some batch is under way (nothing that only a
 * fault frees is needed to serve one: frames, the link and the host are not
 * held by requests); a page that faulted has one entry, whatever the number of
 * its requests; the stages of a fault sum to its time.
 *
 * Where later things go: a prefetcher adds entries without requests to a batch
 * (begin); eviction makes room before a page is placed (drive).
 *
 * Left out on purpose: the buffer is as large as it needs to be; faults of one
 * batch that arrive while it is served are not flushed; writing page tables
 * takes no memory traffic.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>

#include "../mem/mshr.h"
#include "../policy/slots.h"

#define FAULT(field) offsetof(struct hd_fault_cfg, field)

const struct hd_setting hd_fault_settings[] = {
    {"batch", HD_T_U32, FAULT(batch), "faults", "1", 1, 65536, NULL,
     "most faults that the host serves together",
     "Mosaic, ETC: one; NVIDIA's UVM driver: 256"},
    {"serial", HD_T_BOOL, FAULT(serial), "", "false", 0, 1, NULL,
     "the host serves one batch at a time, transfers included",
     "Mosaic's released simulator: one fault after the other"},
};
const uint32_t hd_fault_setting_count = HD_LEN(hd_fault_settings);

const struct hd_stat_desc hd_fault_stats[] = {
    {"walks", "walks",
     "walks, or look-ups in an ideal L2 TLB, that found their page absent",
     HD_STAT_COUNT},
    {"requests", "requests", "translations that found their page absent",
     HD_STAT_COUNT},
    {"faults", "faults", "pages that faulted", HD_STAT_COUNT},
    {"merges", "requests", "joined a fault that was there", HD_STAT_COUNT},
    {"batches", "batches", "batches whose oldest fault is the application's",
     HD_STAT_COUNT},
    {"pages", "pages", "base pages that came over the link", HD_STAT_COUNT},
    {"wait_cycles", "core cycles", "faults waited in the buffer",
     HD_STAT_COUNT},
    {"host_cycles", "core cycles", "the link's latency passed for them",
     HD_STAT_COUNT},
    {"link_cycles", "core cycles", "their pages waited for the link or crossed",
     HD_STAT_COUNT},
    {"batch_cycles", "core cycles", "they waited for others of their batch",
     HD_STAT_COUNT},
    {"peak", "faults", "most faults at once", HD_STAT_PEAK},
};
const uint32_t hd_fault_stat_count = HD_LEN(hd_fault_stats);

_Static_assert(HD_LEN(hd_fault_stats) == HD_FAULT_STATS, "one row a counter");

enum state { WAITS, HOST, LINK, HERE };

static const char *const STATE[] = {"waits", "host", "link", "here"};

/* A page that faulted: entry of the MSHRs with the same index, whose list
 * holds its requests. */
struct fault {
    hd_vpn vpn; /* first of its page */
    hd_time born, began, sent, here;
    uint32_t pages;
    uint32_t next; /* of the buffer, or of its batch */
    uint32_t head; /* first fault of its batch */
    uint32_t left; /* of a batch's first: pages that have not come */
    uint8_t app, state;
};

/* What a request has waited for faults; by its number in the pool. */
struct wait {
    hd_time since; /* the beginning of the last wait */
    hd_time total; /* the waits that are over */
};

struct fault_state {
    uint32_t first, last, waiting; /* the buffer */
    uint32_t serving;              /* batches under way */
    uint64_t pages[HD_MAX_APPS];   /* base pages that came */
};

struct hd_faults {
    struct hd_env *env;
    struct hd_fault_wiring w;
    struct hd_fault_cfg cfg;
    struct hd_fault_client user;
    struct fault_state *s; /* arena */
    struct hd_mshr open;   /* by page */
    struct fault *v;       /* arena: [entry] */
    struct wait *wait;     /* arena: [treqs->room] */
    struct hd_slot batch;
    struct hd_stat stat;
    struct hd_hist *latency, *requesters;
    uint64_t *ask; /* scratch for questions */
    hd_time cycle;
    uint32_t rank, client;
};

static uint64_t cycles(const struct hd_faults *f, hd_time span)
{
    return span / f->cycle;
}

static uint64_t *row(const struct hd_faults *f, uint32_t app)
{
    return hd_count_row(&f->stat, 0, app);
}

bool hd_faults_absent(const struct hd_faults *f, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate x;

    return hd_ptables_absent(f->w.tables, app, vpn, &x);
}

static void tell(struct hd_faults *f, enum heddle_note note, uint32_t entry,
                 hd_time now)
{
    const struct fault *x = &f->v[entry];
    struct heddle_n_page_fault n = {x->app, x->vpn.v, x->pages,
                                    cycles(f, now - x->born)};

    if (f->env->slots != NULL && f->env->slots->watched[note] != 0)
        hd_slots_note(f->env->slots, note, &n);
}

/* ---- batches ------------------------------------------------------------ */

static int64_t batch_default(void *self, const void *question)
{
    const struct hd_faults *f = self;
    const struct heddle_q_fault_batch *q = question;

    if (f->cfg.serial && q->serving > 0)
        return 0;
    return (int64_t)hd_min_u64(q->n, f->cfg.batch);
}

/* Asks how many of the waiting faults are served now. */
static uint32_t ask(struct hd_faults *f, hd_time now)
{
    uint32_t n = f->s->waiting, i = 0;
    uint64_t *a = f->ask;
    struct heddle_q_fault_batch q = {.n = n,
                                     .serving = f->s->serving,
                                     .app = a,
                                     .vpn = a + n,
                                     .pages = a + 2 * n,
                                     .age = a + 3 * n};

    if (HD_LIKELY(!f->batch.bound))
        return (uint32_t)batch_default(f, &q);
    for (uint32_t e = f->s->first; i < n; e = f->v[e].next, i++) {
        a[i] = f->v[e].app;
        a[n + i] = f->v[e].vpn.v;
        a[2 * n + i] = f->v[e].pages;
        a[3 * n + i] = cycles(f, now - f->v[e].born);
    }
    return (uint32_t)hd_ask_fault_batch(&f->batch, &q);
}

/* The n oldest faults go to the host together. */
static void begin(struct hd_faults *f, hd_time now, uint32_t n)
{
    uint32_t head = f->s->first, e = head, last = head;

    for (uint32_t i = 0; i < n; i++, e = f->v[e].next) {
        f->v[e].head = head;
        f->v[e].began = now;
        f->v[e].state = HOST;
        last = e;
    }
    f->s->first = e;
    f->s->waiting -= n;
    f->v[last].next = HD_NONE;
    f->v[head].left = n;
    f->s->serving++;
    row(f, f->v[head].app)[HD_FAULT_BATCHES]++;
    hd_post(f->env->ev, f->rank, f->rank, now + hd_link_latency(f->w.link), 0,
            head, 0);
}

/* Has as many faults served as may be now. */
static void serve(struct hd_faults *f, hd_time now)
{
    while (f->s->waiting > 0 && f->env->err->code == 0) {
        uint32_t n = ask(f, now);
        if (n > 0) {
            begin(f, now, n);
            continue;
        }
        if (f->s->serving == 0 && f->env->err->code == 0)
            hd_err_set(f->env->err, HEDDLE_EPOLICY,
                       "point fault_batch: 0 of %u faults at cycle %llu, and "
                       "no batch is under way: nothing would ever be served",
                       f->s->waiting, (unsigned long long)cycles(f, now));
        return;
    }
}

/* The host's latency for a batch is over: frames, and transfers. */
static void drive(void *self, hd_time now, uint32_t what, uint32_t head,
                  uint64_t b)
{
    struct hd_faults *f = self;

    (void)what, (void)b;
    for (uint32_t e = head; e != HD_NONE; e = f->v[e].next) {
        struct fault *x = &f->v[e];
        if (hd_ptables_place(f->w.tables, x->app, x->vpn, f->env->err) < 0)
            return;
        x->sent = now;
        x->state = LINK;
        hd_link_send(f->w.link, now, HD_LINK_IN, x->app,
                     x->pages * HD_PAGE_BYTES, f->client, e);
    }
}

/* ---- replay ------------------------------------------------------------- */

/* The requests of a fault are issued again, and it is over. */
static void replay(struct hd_faults *f, hd_time now, uint32_t e)
{
    struct fault *x = &f->v[e];
    uint64_t *c = row(f, x->app);
    uint32_t t = f->open.v[e].first;

    c[HD_FAULT_WAIT_CYCLES] += cycles(f, x->began - x->born);
    c[HD_FAULT_HOST_CYCLES] += cycles(f, x->sent - x->began);
    c[HD_FAULT_LINK_CYCLES] += cycles(f, x->here - x->sent);
    c[HD_FAULT_BATCH_CYCLES] += cycles(f, now - x->here);
    hd_hist_add(&f->latency[x->app], cycles(f, now - x->born));
    hd_hist_add(&f->requesters[x->app], f->open.v[e].n);
    while (t != HD_NONE) {
        struct hd_treq *q = &f->w.treqs->v[t];
        uint32_t next = q->next;
        f->wait[t].total += now - hd_min_u64(f->wait[t].since, now);
        q->hit = 0;
        q->references = 0;
        q->walk = 0;
        f->user.resume(f->user.self, now, f->rank, t);
        t = next;
    }
    hd_mshr_give(&f->open, e);
}

/* A page has come over the link. */
static void arrived(void *self, hd_time now, uint32_t e)
{
    struct hd_faults *f = self;
    struct fault *x = &f->v[e];
    uint32_t head = x->head;

    hd_ptables_arrive(f->w.tables, x->app, x->vpn);
    f->user.mapped(f->user.self, x->app, x->vpn, x->pages);
    if (f->w.came != NULL)
        f->w.came(f->w.manager, now, x->app, x->vpn, x->pages);
    x->here = now;
    x->state = HERE;
    f->s->pages[x->app] += x->pages;
    row(f, x->app)[HD_FAULT_PAGES] += x->pages;
    tell(f, HEDDLE_NOTE_page_arrived, e, now);
    if (--f->v[head].left > 0)
        return;
    for (uint32_t next; head != HD_NONE; head = next) {
        next = f->v[head].next;
        replay(f, now, head);
    }
    f->s->serving--;
    serve(f, now);
}

/* ---- faults ------------------------------------------------------------- */

/* The entry of an absent page, made and put into the buffer if it is new. */
static uint32_t entry(struct hd_faults *f, hd_time now, uint32_t app,
                      const struct hd_xlate *page)
{
    uint64_t key = page->vpn.v | (uint64_t)app << 52, *peak;
    uint32_t e = hd_mshr_find(&f->open, key);

    if (e != HD_NONE)
        return e;
    e = hd_mshr_take(&f->open, key);
    f->v[e] = (struct fault){.vpn = page->vpn,
                             .born = now,
                             .pages = page->pages,
                             .next = HD_NONE,
                             .head = e,
                             .app = (uint8_t)app,
                             .state = WAITS};
    if (f->s->waiting++ == 0)
        f->s->first = e;
    else
        f->v[f->s->last].next = e;
    f->s->last = e;
    row(f, app)[HD_FAULT_FAULTS]++;
    peak = &row(f, HD_APP_NONE)[HD_FAULT_PEAK];
    *peak = hd_max_u64(*peak, hd_mshr_used(&f->open));
    tell(f, HEDDLE_NOTE_page_fault, e, now);
    return e;
}

/* A request waits from `at` on; its core is told, the first time. */
static void park(struct hd_faults *f, hd_time at, uint32_t treq)
{
    struct hd_treq *q = &f->w.treqs->v[treq];
    const struct hd_tclient *core = &f->w.cores[q->core];

    f->wait[treq].since = at;
    if (q->client >= f->w.replay_client)
        return;
    q->client = (uint16_t)(q->client + f->w.replay_client);
    f->wait[treq].total = 0;
    core->reply(core->self, at, treq);
}

void hd_faults_enter(struct hd_faults *f, hd_time now, uint32_t first,
                     uint32_t n)
{
    struct hd_treq *q = &f->w.treqs->v[first];
    uint64_t *c = row(f, q->app);
    struct hd_mshr_entry *m;
    struct hd_xlate page;
    uint32_t t = first, e;

    if (!hd_ptables_absent(f->w.tables, q->app, q->vpn, &page))
        hd_assert(!"a fault of a page that is there");
    e = entry(f, now, q->app, &page);
    m = &f->open.v[e];
    c[HD_FAULT_WALKS]++;
    c[HD_FAULT_REQUESTS] += n;
    c[HD_FAULT_MERGES] += m->n == 0 ? n - 1 : n;
    m->n += n;
    if (m->first == HD_NONE)
        m->first = first;
    else
        f->w.treqs->v[m->last].next = first;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t next = f->w.treqs->v[t].next;
        park(f, hd_max_u64(now, f->w.treqs->v[t].looked), t);
        m->last = t;
        t = next;
    }
    f->w.treqs->v[m->last].next = HD_NONE;
    serve(f, now);
}

hd_time hd_faults_waited(const struct hd_faults *f, uint32_t treq)
{
    return f->wait[treq].total;
}

/* ---- looking and checking ----------------------------------------------- */

static void look(void *self, uint32_t instance, struct heddle_visitor *v)
{
    const struct hd_faults *f = self;

    (void)instance;
    for (uint32_t e = 0; e < f->open.room; e++) {
        const struct fault *x = &f->v[e];
        if (!f->open.v[e].live)
            continue;
        v->row(v->ud, "fault");
        v->text(v->ud, "state", STATE[x->state]);
        v->number(v->ud, "app", x->app);
        v->number(v->ud, "vpn", x->vpn.v);
        v->number(v->ud, "pages", x->pages);
        v->number(v->ud, "requesters", f->open.v[e].n);
        v->number(v->ud, "since", cycles(f, x->born));
    }
}

static void stuck(void *self, uint32_t instance, struct heddle_visitor *v)
{
    static const char *const what[] = {
        "the host to take it up", "the host's latency",
        "its transfer over the link", "the other pages of its batch"};
    const struct hd_faults *f = self;
    char text[96];

    for (uint32_t e = 0; e < f->open.room; e++) {
        const struct fault *x = &f->v[e];
        if (!f->open.v[e].live)
            continue;
        snprintf(text, sizeof text, "fault of application %u, page 0x%llx",
                 x->app, (unsigned long long)x->vpn.v);
        v->row(v->ud, "wait");
        v->text(v->ud, "who", text);
        v->number(v->ud, "instance", instance);
        v->text(v->ud, "for", what[x->state]);
    }
}

/* The requests of an entry are as many as it says, and wait for its page. */
static void check_entry(const struct hd_faults *f, uint32_t e,
                        struct hd_err *err)
{
    const struct fault *x = &f->v[e];
    uint32_t n = 0;

    for (uint32_t t = f->open.v[e].first; t != HD_NONE;
         t = f->w.treqs->v[t].next, n++) {
        const struct hd_treq *q = &f->w.treqs->v[t];
        if (q->app != x->app || q->vpn.v - x->vpn.v >= x->pages)
            hd_err_set(err, HEDDLE_ECHECK,
                       "fault of page 0x%llx: a request of another page, "
                       "0x%llx, waits for it",
                       (unsigned long long)x->vpn.v,
                       (unsigned long long)q->vpn.v);
    }
    if (n != f->open.v[e].n)
        hd_err_set(err, HEDDLE_ECHECK,
                   "fault of page 0x%llx: %u requests wait, %u are counted",
                   (unsigned long long)x->vpn.v, n, f->open.v[e].n);
    if (x->state != HERE && hd_ptables_resident(f->w.tables, x->app, x->vpn))
        hd_err_set(err, HEDDLE_ECHECK,
                   "fault of page 0x%llx: it is mapped, and was not copied",
                   (unsigned long long)x->vpn.v);
}

static void check(void *self, uint32_t instance, struct hd_err *err)
{
    const struct hd_faults *f = self;
    uint32_t waits = 0, batches = 0;

    (void)instance;
    for (uint32_t e = 0; e < f->open.room; e++) {
        if (!f->open.v[e].live)
            continue;
        waits += f->v[e].state == WAITS;
        batches += f->v[e].state != WAITS && f->v[e].head == e;
        check_entry(f, e, err);
    }
    if (!hd_mshr_sane(&f->open) || waits != f->s->waiting ||
        batches != f->s->serving || (waits > 0 && batches == 0))
        hd_err_set(err, HEDDLE_ECHECK,
                   "faults: %u wait and %u batches are under way; %u and %u "
                   "are counted",
                   waits, batches, f->s->waiting, f->s->serving);
    for (uint32_t app = 0; app < f->env->apps; app++)
        if (f->s->pages[app] != hd_ptables_arrived(f->w.tables, app))
            hd_err_set(
                err, HEDDLE_ECHECK,
                "faults: %llu pages of application %u were copied, "
                "%llu have become resident",
                (unsigned long long)f->s->pages[app], app,
                (unsigned long long)hd_ptables_arrived(f->w.tables, app));
}

/* ---- building ----------------------------------------------------------- */

static int take(struct hd_faults *f, struct hd_env *env)
{
    f->s = hd_arena_take(env->arena, 1, sizeof *f->s);
    f->v = hd_arena_take(env->arena, f->w.room, sizeof *f->v);
    f->wait = hd_arena_take(env->arena, f->w.treqs->room, sizeof *f->wait);
    f->ask = calloc(4 * (size_t)f->w.room, sizeof *f->ask);
    return f->s == NULL || f->v == NULL || f->wait == NULL || f->ask == NULL ||
                   hd_mshr_open(&f->open, env->arena, f->w.room) != 0
               ? -1
               : 0;
}

struct hd_faults *hd_faults_open(struct hd_env *env,
                                 const struct hd_fault_wiring *w)
{
    struct hd_faults *f = calloc(1, sizeof *f);

    if (f != NULL) {
        f->env = env;
        f->w = *w;
        f->cfg = *w->cfg;
    }
    if (f == NULL || take(f, env) < 0) {
        hd_err_set(env->err, HEDDLE_ENOMEM, "out of memory for faults");
        hd_faults_close(f);
        return NULL;
    }
    f->cycle = hd_ticks(env->clk, HD_CLK_CORE, 1);
    f->stat =
        hd_stats_group(env->stats, "fault", hd_fault_stats, HD_FAULT_STATS, 1);
    f->latency = hd_stats_hist(env->stats, "fault", "latency", "core cycles",
                               "from a fault to the replay of its requests");
    f->requesters = hd_stats_hist(env->stats, "fault", "requesters", "requests",
                                  "requests that waited for one page");
    f->rank = hd_events_component(env->ev, "fault", drive, f);
    f->client = hd_link_client(w->link, arrived, f);
    f->batch = (struct hd_slot){batch_default, f, 0};
    if (env->slots != NULL)
        hd_slots_offer(env->slots, HEDDLE_POINT_fault_batch, "", &f->batch,
                       batch_default, f);
    hd_env_part(env, (struct hd_part){.name = "fault",
                                      .instances = 1,
                                      .self = f,
                                      .look = look,
                                      .stuck = stuck,
                                      .check = check});
    return f;
}

void hd_faults_client(struct hd_faults *f, struct hd_fault_client c)
{
    f->user = c;
}

void hd_faults_close(struct hd_faults *f)
{
    if (f == NULL)
        return;
    free(f->ask);
    free(f);
}
