/*
 * draw.c - a timeline as tracks of Perfetto.
 *
 * Perfetto counts nanoseconds; here a core cycle is one of them, whatever the
 * clock: what it shows as 1.5 us is cycle 1500, and every instant of the file
 * is a cycle of the results.  The topmost track says so, and what was given up.
 *
 *     heddle: GUP on maxwell    what the file shows of what there was
 *       core                    launches, a track an application
 *       l1tlb   core 0, ...     requests, with their stages inside
 *       l2tlb   look-ups        an instant each
 *       walk    walker 0, ...   walks, with a slice a read of a level
 *       fault, link, evict, policy, dram
 *
 * and next to them in each the tracks of what was sampled.
 *
 * A batch of the driver's (uvm.mode=driver) is a slice from its interrupt to its
 * replay, on a track of its own, with a slice for each term of its time inside.
 * Most terms are spent block by block; each is drawn once, with its sum, in the
 * order in which the first block has them.  Names are those of the events of
 * uvm_tools (UvmEventType) where it has one: Eviction, Migration, GpuFaultReplay.
 * So are a page that is throttled, until its period is over (there a start and an
 * end), and one that is mapped where it is, in the host's memory.
 *
 * Slices of a track are one after the other or one inside the other.  Requests
 * of a core, walks and far faults overlap, so each takes the first track of its
 * kind that is free at its beginning.  Walkers have no numbers in the machine;
 * of all walks there are as many tracks as are at work at once.
 *
 * A flow is a request: from the L1 TLB's slice to the look-up, to the walk, or,
 * where it joined one that was under way, to the next read of it or to its end,
 * to the answer. Perfetto goes along a flow by the instants of its events and,
 * where they are equal, in the order of the file: so look-ups come first in it,
 * then walks, and requests, whose answers end flows, last.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perfetto.h"
#include "timeline.h"

enum name {
    NO_NAME,
    TRANSLATION,
    TO_L2TLB,
    WAITS,
    WALK,
    FAR_FAULT,
    REPLAY,
    ANSWER,
    LOOKUP_HIT,
    LOOKUP_MISS,
    LEVEL1,
    LEVEL2,
    LEVEL3,
    LEVEL4,
    PAGE,
    TRANSFER,
    EVICTION,
    EPOCH,
    TIMELINE,
    BATCH,
    INTERRUPT,
    FETCH,
    BLOCKS,
    UNMAP,
    DMA_MAP,
    ROOM,
    PAGE_TABLES,
    UVM_EVICTION,
    UVM_MIGRATION,
    UVM_REPLAY,
    UVM_THROTTLING,
    UVM_MAP_REMOTE,
    NAMES
};

static const char *const event_names[NAMES - 1] = {
    "translation",    "to the L2 TLB", "waits for a walker",
    "page walk",      "far fault",     "replay",
    "answer",         "hit",           "miss",
    "level 1 (root)", "level 2",       "level 3",
    "level 4 (leaf)", "far fault",     "transfer",
    "eviction",       "epoch",         "timeline",
    "batch",          "interrupt",     "fetch",
    "blocks",         "unmap",         "DMA map",
    "wait for frames", "page tables",  "Eviction",
    "Migration",      "GpuFaultReplay", "Throttling",
    "MapRemote",
};

enum argument {
    NO_ARGUMENT,
    A_PAGE,
    A_PAGES,
    A_APP,
    A_WARP,
    A_PC,
    A_CORE,
    A_BYTES,
    A_QUEUED,
    A_DIRTY,
    A_REFERENCES,
    A_REQUESTERS,
    A_LAUNCH,
    A_RUN,
    A_CYCLE,
    A_REQUESTS,
    A_REQUESTS_OF,
    A_REQUESTS_ONE,
    A_EVENTS,
    A_EVENTS_OF,
    A_EVENTS_ONE,
    A_EVERY,
    A_NUMBER,
    A_PACKETS,
    A_DUPLICATES,
    A_STALE,
    A_FAULTS,
    A_BLOCKS,
    A_EVICTIONS,
    A_BY,
    A_CAUSE,
    ARGUMENTS
};

static const char *const argument_names[ARGUMENTS - 1] = {
    "page",
    "pages",
    "app",
    "warp",
    "pc",
    "core",
    "bytes",
    "queued",
    "dirty",
    "references",
    "requesters",
    "launch",
    "run",
    "a core cycle is shown as",
    "requests",
    "requests there were",
    "requests: one of",
    "events",
    "events there were",
    "events: one of",
    "cycles between samples",
    "number",
    "packets",
    "duplicates",
    "stale",
    "faults",
    "blocks",
    "evictions",
    "by",
    "cause",
};

#define NUM(name, v)                                                           \
    {                                                                          \
        name, HD_PF_NUMBER, v, NULL                                            \
    }
#define HEX(name, v)                                                           \
    {                                                                          \
        name, HD_PF_HEX, v, NULL                                               \
    }

/* Being written. */
struct pen {
    const struct heddle_timeline *t;
    struct hd_bytes *b;
    uint64_t tracks;                  /* numbers given so far */
    uint64_t group[HD_TL_COMPONENTS]; /* their tracks; 0: not yet */
    int32_t rank[HD_TL_COMPONENTS];   /* children so far */
    bool several;                     /* applications */
};

/* ---- tracks -------------------------------------------------------------- */

enum { ROOT = 1 };

/* A track below that of a component. */
static uint64_t track(struct pen *p, enum hd_tl_component c, const char *name,
                      const char *unit)
{
    struct hd_pf_track t = {.parent = ROOT, .rank = (int32_t)c + 1};

    if (p->group[c] == 0) {
        t.track = p->group[c] = ++p->tracks;
        t.name = heddle_timeline_component(c);
        hd_pf_track(p->b, &t);
    }
    t = (struct hd_pf_track){.track = ++p->tracks,
                             .parent = p->group[c],
                             .name = name,
                             .unit = unit,
                             .rank = p->rank[c]++};
    hd_pf_track(p->b, &t);
    return t.track;
}

/* Tracks for slices that overlap. */
struct lane {
    uint64_t track, free;
};

struct lanes {
    enum hd_tl_component of;
    const char *name; /* "core 3", "walker" */
    bool one;         /* the first has the name alone */
    struct lane *lane;
    size_t n, room;
};

/* The first lane that is free at `begin`, until `end`. */
static uint64_t lane(struct pen *p, struct lanes *l, uint64_t begin,
                     uint64_t end)
{
    char name[96];
    size_t i = 0;

    while (i < l->n && l->lane[i].free > begin)
        i++;
    if (i == l->n) {
        if (hd_grow(&l->lane, l->n, &l->room, sizeof *l->lane) == NULL) {
            p->b->oom = true;
            return ROOT;
        }
        if (l->one && i == 0)
            snprintf(name, sizeof name, "%s", l->name);
        else
            snprintf(name, sizeof name, "%s%s %zu", l->name, l->one ? "," : "",
                     i + l->one);
        l->lane[l->n++] = (struct lane){track(p, l->of, name, NULL), 0};
    }
    l->lane[i].free = end;
    return l->lane[i].track;
}

/* ---- slices -------------------------------------------------------------- */

static void pen_begin(struct pen *p, struct hd_pf_event e)
{
    hd_pf_begin(p->b, &e);
}

/* A slice without anything inside; one of no time is an instant. */
static void slice(struct pen *p, struct hd_pf_event e, uint64_t end)
{
    if (end <= e.at) {
        hd_pf_instant(p->b, &e);
        return;
    }
    hd_pf_begin(p->b, &e);
    hd_pf_end(p->b, end, e.track);
}

/* ---- requests ------------------------------------------------------------ */

struct stage {
    uint64_t at;
    uint32_t name;
};

static void stage(struct stage *s, uint32_t *n, const struct hd_tl_request *r,
                  uint64_t at, uint32_t name)
{
    uint32_t i = *n;

    if (at == HD_TL_NEVER || at > r->end)
        return;
    for (at = hd_max_u64(at, r->sent); i > 0 && s[i - 1].at > at; i--)
        s[i] = s[i - 1];
    s[i] = (struct stage){at, name};
    ++*n;
}

/* The stages of a request in order; how many.  The first begins with it. */
static uint32_t stages(const struct hd_tl_request *r, struct stage *s)
{
    const struct hd_tl_walk *w = &r->walk;
    uint32_t n = 0;

    stage(s, &n, r, r->sent,
          r->looked != HD_TL_NEVER ? TO_L2TLB
          : w->serial != 0         ? WAITS
                                   : ANSWER);
    stage(s, &n, r, r->looked, r->hit ? ANSWER : WAITS);
    if (w->serial != 0) {
        uint64_t joined = r->looked != HD_TL_NEVER && w->began < r->looked
                              ? r->looked
                              : w->began;

        stage(s, &n, r, joined, WALK);
        stage(s, &n, r, w->done, ANSWER);
    }
    stage(s, &n, r, r->faulted, FAR_FAULT);
    stage(s, &n, r, r->faulted == HD_TL_NEVER ? HD_TL_NEVER : r->came, REPLAY);
    return n;
}

/* Whether it can be seen anywhere but at its core. */
static bool has_flow(const struct hd_tl_request *r)
{
    return r->looked != HD_TL_NEVER || r->walk.serial != 0;
}

static void draw_request(struct pen *p, const struct hd_tl_request *r,
                         uint64_t on)
{
    const struct hd_pf_arg arg[] = {HEX(A_PAGE, r->vpn), NUM(A_WARP, r->warp),
                                    HEX(A_PC, r->pc), NUM(A_APP, r->app)};
    struct stage s[8];
    uint32_t n = stages(r, s);
    struct hd_pf_event e = {.at = r->sent,
                            .track = on,
                            .category = HD_TL_L1TLB + 1,
                            .name = TRANSLATION,
                            .arg = arg,
                            .args = p->several ? 4 : 3,
                            .flow = &r->serial,
                            .flows = has_flow(r)};

    pen_begin(p, e);
    e.args = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool last = i + 1 == n;
        uint64_t end = last ? r->end : s[i + 1].at;

        e.at = s[i].at;
        e.name = s[i].name;
        e.ends = last;
        e.flows = last && has_flow(r);
        if (end > s[i].at || last)
            slice(p, e, end);
    }
    hd_pf_end(p->b, r->end, on);
}

static int by_core(const void *x, const void *y)
{
    const struct hd_tl_request *a = *(struct hd_tl_request *const *)x,
                               *b = *(struct hd_tl_request *const *)y;

    if (a->core != b->core)
        return a->core < b->core ? -1 : 1;
    if (a->sent != b->sent)
        return a->sent < b->sent ? -1 : 1;
    return a->serial < b->serial ? -1 : a->serial > b->serial;
}

static int by_look(const void *x, const void *y)
{
    const struct hd_tl_request *a = *(struct hd_tl_request *const *)x,
                               *b = *(struct hd_tl_request *const *)y;

    if (a->looked != b->looked)
        return a->looked < b->looked ? -1 : 1;
    return a->serial < b->serial ? -1 : a->serial > b->serial;
}

static int by_walk(const void *x, const void *y)
{
    const struct hd_tl_walk *a = &(*(struct hd_tl_request *const *)x)->walk,
                            *b = &(*(struct hd_tl_request *const *)y)->walk;

    if (a->instance != b->instance)
        return a->instance < b->instance ? -1 : 1;
    if (a->began != b->began)
        return a->began < b->began ? -1 : 1;
    if (a->serial != b->serial)
        return a->serial < b->serial ? -1 : 1;
    return by_look(x, y);
}

/* r: those of one core after the other. */
static void draw_requests(struct pen *p, struct hd_tl_request **r, size_t n)
{
    struct lanes l = {.of = HD_TL_L1TLB, .one = true};
    char name[32];

    for (size_t i = 0; i < n && r[i]->core != HD_NONE; i++) {
        if (i == 0 || r[i]->core != r[i - 1]->core) {
            l.n = 0;
            snprintf(name, sizeof name, "core %u", r[i]->core);
            l.name = name;
        }
        draw_request(p, r[i], lane(p, &l, r[i]->sent, r[i]->end));
    }
    free(l.lane);
}

static void draw_looks(struct pen *p, struct hd_tl_request *const *r, size_t n)
{
    uint64_t on = 0;

    for (size_t i = 0; i < n && r[i]->looked != HD_TL_NEVER; i++) {
        const struct hd_pf_arg arg[] = {HEX(A_PAGE, r[i]->vpn),
                                        NUM(A_CORE, r[i]->core),
                                        NUM(A_APP, r[i]->app)};
        struct hd_pf_event e = {.at = r[i]->looked,
                                .category = HD_TL_L2TLB + 1,
                                .name = r[i]->hit ? LOOKUP_HIT : LOOKUP_MISS,
                                .arg = arg,
                                .args = p->several ? 3 : 2,
                                .flow = &r[i]->serial,
                                .flows = 1};

        if (on == 0)
            on = track(p, HD_TL_L2TLB, "look-ups", NULL);
        e.track = on;
        hd_pf_instant(p->b, &e);
    }
}

enum { MOST_FLOWS = 64 }; /* that come by one event */

/* The flows of the requests of a walk that come by what begins at `at`, and not
 * before `after`. */
static uint32_t flows(struct hd_tl_request *const *r, size_t n, uint64_t after,
                      uint64_t at, uint64_t *out)
{
    uint32_t many = 0;

    for (size_t i = 0; i < n && many < MOST_FLOWS; i++) {
        uint64_t from = r[i]->looked != HD_TL_NEVER ? r[i]->looked : r[i]->sent;

        if (r[i]->core != HD_NONE && from <= at &&
            (at == after || from > after))
            out[many++] = r[i]->serial;
    }
    return many;
}

/* A walk and the n requests that waited for it. */
static void draw_walk(struct pen *p, struct hd_tl_request *const *r, size_t n,
                      uint64_t on)
{
    const struct hd_tl_walk *w = &r[0]->walk;
    const struct hd_pf_arg arg[] = {
        HEX(A_PAGE, r[0]->vpn), NUM(A_REFERENCES, w->references),
        NUM(A_REQUESTERS, w->requesters), NUM(A_APP, r[0]->app)};
    uint64_t flow[MOST_FLOWS], before = w->began;
    struct hd_pf_event e = {.at = w->began,
                            .track = on,
                            .category = HD_TL_WALK + 1,
                            .name = WALK,
                            .arg = arg,
                            .args = p->several ? 4 : 3,
                            .flow = flow};

    e.flows = flows(r, n, w->began, w->began, flow);
    pen_begin(p, e);
    e.args = 0;
    for (uint32_t i = 0; i < w->reads; i++) {
        uint64_t end = i + 1u < w->reads ? w->read[i + 1] : w->done;

        e.at = hd_max_u64(w->began, hd_min_u64(w->read[i], w->done));
        e.name = LEVEL1 + hd_min_u64(hd_max_u64(w->level[i], 1), 4) - 1;
        e.flows = e.at > before ? flows(r, n, before, e.at, flow) : 0;
        slice(p, e, hd_min_u64(end, w->done));
        before = e.at;
    }
    e.at = w->done;
    e.name = ANSWER;
    e.flows = flows(r, n, before, e.at, flow); /* of those that came last */
    if (e.flows > 0 && before < e.at)
        hd_pf_instant(p->b, &e);
    hd_pf_end(p->b, w->done, on);
}

/* r: those of one walk after the other, in order of their beginnings. */
static void draw_walks(struct pen *p, struct hd_tl_request **r, size_t n)
{
    struct lanes l = {.of = HD_TL_WALK};
    char name[32];
    uint32_t last = HD_NONE;

    for (size_t i = 0, m; i < n; i += m) {
        const struct hd_tl_walk *w = &r[i]->walk;

        for (m = 1; i + m < n && r[i + m]->walk.serial == w->serial; m++)
            ;
        if (w->serial == 0)
            continue;
        if (w->instance != last) {
            last = w->instance;
            l.n = 0;
            if (p->t->shared)
                snprintf(name, sizeof name, "walker");
            else
                snprintf(name, sizeof name, "core %u, walker", last);
            l.name = name;
        }
        draw_walk(p, r + i, m, lane(p, &l, w->began, w->done));
    }
    free(l.lane);
}

static void draw_translation(struct pen *p)
{
    const struct heddle_timeline *t = p->t;
    size_t n = t->class[HD_TL_REQUESTS].n;
    struct hd_tl_request **r = malloc((n + 1) * sizeof(struct hd_tl_request *));

    if (r == NULL) {
        p->b->oom = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        r[i] = &t->request[i];
    if (hd_tl_shows(t, HD_TL_L2TLB)) {
        qsort(r, n, sizeof *r, by_look);
        draw_looks(p, r, n);
    }
    if (hd_tl_shows(t, HD_TL_WALK)) {
        qsort(r, n, sizeof *r, by_walk);
        draw_walks(p, r, n);
    }
    if (hd_tl_shows(t, HD_TL_L1TLB)) {
        qsort(r, n, sizeof *r, by_core);
        draw_requests(p, r, n);
    }
    free(r);
}

/* ---- events ------------------------------------------------------------- */

static int by_begin(const void *x, const void *y)
{
    const struct hd_tl_event *a = *(struct hd_tl_event *const *)x,
                             *b = *(struct hd_tl_event *const *)y;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->serial < b->serial ? -1 : a->serial > b->serial;
}

/* The name of a launch. */
static void kernel_name(const struct heddle_timeline *t, uint32_t app,
                        uint64_t launch, uint64_t run, char *out, size_t room)
{
    struct heddle_kernel_info k = {.size = sizeof k};

    snprintf(out, room, "launch %" PRIu64, launch);
    for (uint32_t i = 0; t->sim != NULL && heddle_kernel(t->sim, i, &k) == 0;
         i++)
        if (k.app == app && k.id == launch && k.run == run)
            snprintf(out, room, "%s", k.name);
}

static void draw_kernel(struct pen *p, const struct hd_tl_event *x, uint64_t on)
{
    const struct hd_pf_arg arg[] = {NUM(A_LAUNCH, x->a), NUM(A_RUN, x->b)};
    char name[128];

    kernel_name(p->t, x->app, x->a, x->b, name, sizeof name);
    slice(p,
          (struct hd_pf_event){.at = x->begin,
                               .track = on,
                               .category = HD_TL_CORE + 1,
                               .own = name,
                               .arg = arg,
                               .args = 2},
          x->end);
}

/* A track of an application's. */
static uint64_t app_track(struct pen *p, uint32_t app, const char *what)
{
    struct heddle_app_info a = {.size = sizeof a};
    char name[128];

    if (p->t->sim != NULL)
        heddle_app(p->t->sim, app, &a);
    snprintf(name, sizeof name, "%s of application %u%s%s", what, app,
             a.name != NULL ? ", " : "", a.name != NULL ? a.name : "");
    return track(p, HD_TL_CORE, name, NULL);
}

/* The track of a stream's launches, in `known` once there is one. */
static uint64_t launch_track(struct pen *p, uint32_t app, uint32_t stream,
                             uint64_t known[HD_TL_STREAMS])
{
    char what[48] = "launches";

    if (stream != 0)
        snprintf(what, sizeof what, "launches of stream %u", stream);
    if (known[stream % HD_TL_STREAMS] == 0)
        known[stream % HD_TL_STREAMS] = app_track(p, app, what);
    return known[stream % HD_TL_STREAMS];
}

static uint64_t epoch_track(struct pen *p, uint64_t policy)
{
    struct heddle_use_info u;
    char name[64];

    if (p->t->sim == NULL || heddle_used(p->t->sim, (uint32_t)policy, &u) != 0)
        snprintf(name, sizeof name, "epochs of policy %" PRIu64, policy);
    else
        snprintf(name, sizeof name, "epochs of %s", u.policy->name);
    return track(p, HD_TL_POLICY, name, NULL);
}

/* A batch from `begin` on, which the one before it may have put off by a cycle
 * that was rounded. */
static void draw_batch(struct pen *p, const struct heddle_n_batch_served *n,
                       uint64_t begin, uint64_t on)
{
    const struct hd_pf_arg arg[] = {NUM(A_NUMBER, n->number),
                                    NUM(A_PACKETS, n->packets),
                                    NUM(A_DUPLICATES, n->duplicates),
                                    NUM(A_STALE, n->stale),
                                    NUM(A_FAULTS, n->faults),
                                    NUM(A_PAGES, n->pages),
                                    NUM(A_BYTES, n->bytes),
                                    NUM(A_BLOCKS, n->blocks),
                                    NUM(A_EVICTIONS, n->evictions),
                                    NUM(A_APP, n->app)};
    const struct {
        uint32_t name;
        uint64_t cycles;
    } term[] = {{INTERRUPT, n->interrupt},  {FETCH, n->base},
                {BLOCKS, n->block},         {UNMAP, n->unmap},
                {DMA_MAP, n->dma},          {ROOM, n->room},
                {PAGE_TABLES, n->page},     {UVM_EVICTION, n->evict},
                {UVM_MIGRATION, n->copy}};
    struct hd_pf_event e = {.at = begin,
                            .track = on,
                            .category = HD_TL_FAULT + 1,
                            .name = BATCH,
                            .arg = arg,
                            .args = p->several ? HD_LEN(arg) : HD_LEN(arg) - 1};

    pen_begin(p, e);
    e.args = 0;
    for (uint32_t i = 0; i < HD_LEN(term); i++) {
        uint64_t end = hd_min_u64(e.at + term[i].cycles, n->cycle);

        e.name = term[i].name;
        if (end > e.at)
            slice(p, e, end);
        e.at = end;
    }
    e.at = n->cycle;
    e.name = UVM_REPLAY;
    hd_pf_instant(p->b, &e);
    hd_pf_end(p->b, n->cycle, on);
}

static void draw_events(struct pen *p)
{
    static const char *const way[] = {"to the GPU", "to the host"};
    static const char *const calls[] = {
        [HEDDLE_HOST_CALL_TO_GPU] = "prefetch to the GPU",
        [HEDDLE_HOST_CALL_TO_HOST] = "prefetch to the host",
        [HEDDLE_HOST_CALL_READ] = "the host reads",
        [HEDDLE_HOST_CALL_WRITE] = "the host writes",
        [HEDDLE_HOST_CALL_ADVICE] = "advice"};
    const struct heddle_timeline *t = p->t;
    size_t n = t->class[HD_TL_EVENTS].n;
    struct hd_tl_event **r = malloc((n + 1) * sizeof(struct hd_tl_event *));
    static const char *const who[] = {
        [HEDDLE_PROCESSOR_GPU] = "the GPU", [HEDDLE_PROCESSOR_HOST] = "the host"};
    static const char *const why[] = {
        [HEDDLE_MAP_CAUSE_POLICY] = "policy",
        [HEDDLE_MAP_CAUSE_THRASHING] = "thrashing",
        [HEDDLE_MAP_CAUSE_EVICTION] = "eviction"};
    struct lanes faults = {.of = HD_TL_FAULT, .name = "far faults"};
    struct lanes throttled = {.of = HD_TL_FAULT, .name = "throttled pages"};
    uint64_t mapped = 0;
    struct lane link[2] = {{0, 0}, {0, 0}}, batches = {0, 0};
    uint64_t host[HEDDLE_MAX_APPS] = {0};
    uint64_t kernel[HEDDLE_MAX_APPS][HD_TL_STREAMS] = {{0}};
    uint64_t epoch[HEDDLE_MAX_BOUND] = {0};
    uint64_t evictions = 0;

    if (r == NULL) {
        p->b->oom = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        r[i] = &t->event[i];
    qsort(r, n, sizeof *r, by_begin);
    for (size_t i = 0; i < n; i++) {
        const struct hd_tl_event *x = r[i];
        struct hd_pf_arg arg[4] = {NUM(A_APP, x->app)};
        struct hd_pf_event e = {.at = x->begin, .arg = arg};
        uint64_t *on;

        switch (x->kind) {
        case HD_TL_KERNEL:
            draw_kernel(p, x,
                        launch_track(p, x->app, x->flag,
                                     kernel[x->app % HEDDLE_MAX_APPS]));
            continue;
        case HD_TL_PAGE:
            arg[1] = (struct hd_pf_arg)HEX(A_PAGE, x->a);
            arg[2] = (struct hd_pf_arg)NUM(A_PAGES, x->b);
            e.name = PAGE;
            e.category = HD_TL_FAULT + 1;
            e.args = 3;
            e.track = lane(p, &faults, x->begin, x->end);
            break;
        case HD_TL_TRANSFER:
            arg[1] = (struct hd_pf_arg)NUM(A_BYTES, x->a);
            arg[2] = (struct hd_pf_arg)NUM(A_QUEUED, x->b);
            if (link[x->flag].track == 0)
                link[x->flag].track = track(p, HD_TL_LINK, way[x->flag], NULL);
            /* cycles are rounded down, and so overlap by one */
            e.at = hd_min_u64(hd_max_u64(x->begin, link[x->flag].free), x->end);
            link[x->flag].free = x->end;
            e.name = TRANSFER;
            e.category = HD_TL_LINK + 1;
            e.args = 3;
            e.track = link[x->flag].track;
            break;
        case HD_TL_HOST_CALL:
            on = &host[x->app % HEDDLE_MAX_APPS];
            if (*on == 0)
                *on = app_track(p, x->app, "host");
            arg[1] = (struct hd_pf_arg)HEX(A_PAGE, x->a);
            arg[2] = (struct hd_pf_arg)NUM(A_PAGES, x->b);
            e.own = calls[x->flag];
            e.category = HD_TL_CORE + 1;
            e.args = 3;
            e.track = *on;
            break;
        case HD_TL_EVICTION:
            arg[1] = (struct hd_pf_arg)HEX(A_PAGE, x->a);
            arg[2] = (struct hd_pf_arg)NUM(A_PAGES, x->b);
            arg[3] = (struct hd_pf_arg)NUM(A_DIRTY, x->flag);
            if (evictions == 0)
                evictions = track(p, HD_TL_EVICT, "evictions", NULL);
            e.name = EVICTION;
            e.category = HD_TL_EVICT + 1;
            e.args = 4;
            e.track = evictions;
            break;
        case HD_TL_THROTTLED:
            arg[1] = (struct hd_pf_arg)HEX(A_PAGE, x->a);
            arg[2] = (struct hd_pf_arg){A_BY, HD_PF_TEXT, 0, who[x->flag]};
            e.name = UVM_THROTTLING;
            e.category = HD_TL_FAULT + 1;
            e.args = 3;
            e.track = lane(p, &throttled, x->begin, x->end);
            break;
        case HD_TL_REMOTE_PAGE:
            arg[1] = (struct hd_pf_arg)HEX(A_PAGE, x->a);
            arg[2] = (struct hd_pf_arg)NUM(A_PAGES, x->b);
            arg[3] = (struct hd_pf_arg){A_CAUSE, HD_PF_TEXT, 0, why[x->flag]};
            if (mapped == 0)
                mapped = track(p, HD_TL_FAULT, "pages mapped on the host", NULL);
            e.name = UVM_MAP_REMOTE;
            e.category = HD_TL_FAULT + 1;
            e.args = 4;
            e.track = mapped;
            break;
        case HD_TL_BATCH:
            if (batches.track == 0)
                batches.track = track(p, HD_TL_FAULT, "batches", NULL);
            draw_batch(p, &t->batch[x->a],
                       hd_min_u64(hd_max_u64(x->begin, batches.free), x->end),
                       batches.track);
            batches.free = x->end;
            continue;
        default:
            on = &epoch[x->a % HEDDLE_MAX_BOUND];
            if (*on == 0)
                *on = epoch_track(p, x->a);
            e.name = EPOCH;
            e.category = HD_TL_POLICY + 1;
            e.track = *on;
        }
        slice(p, e, x->end);
    }
    for (uint32_t i = 0; i < HEDDLE_MAX_APPS * HD_TL_STREAMS; i++) {
        uint32_t a = i / HD_TL_STREAMS, stream = i % HD_TL_STREAMS;
        const struct hd_tl_kernel *k = &t->kernel[a][stream];

        if (!k->runs || !hd_tl_shows(t, HD_TL_CORE) || t->sim == NULL ||
            (t->app != UINT32_MAX && t->app != a) || k->begin >= t->to ||
            heddle_now(t->sim) < t->from)
            continue;
        draw_kernel(p,
                    &(struct hd_tl_event){.begin = k->begin,
                                          .end = heddle_now(t->sim),
                                          .app = (uint8_t)a,
                                          .a = k->launch,
                                          .b = k->run},
                    launch_track(p, a, stream, kernel[a]));
    }
    free(faults.lane);
    free(throttled.lane);
    free(r);
}

/* ---- samples ------------------------------------------------------------ */

static uint64_t column_track(struct pen *p, const struct hd_tl_column *c)
{
    const struct hd_tl_source *s = c->source;
    char name[128];

    if (s->each && strcmp(s->object, "link") == 0)
        snprintf(name, sizeof name, "%s, to the %s", s->name,
                 c->instance == 0 ? "GPU" : "host");
    else if (s->each)
        snprintf(name, sizeof name, "%s %u", s->name, c->instance);
    else
        snprintf(name, sizeof name, "%s", s->name);
    return track(p, s->of, name, s->unit);
}

/* Values of a column, each where it changes; a counter's growth a cycle is that
 * of the time before the next sample, so it is written where that begins. */
static void draw_column(struct pen *p, uint32_t column)
{
    const struct heddle_timeline *t = p->t;
    const struct hd_tl_column *c = &t->column[column];
    size_t row = hd_tl_row(t);
    uint64_t on = 0, last = 0;
    double last_rate = 0;

    for (uint64_t i = 0; i < t->class[HD_TL_SAMPLES].n; i++) {
        const uint64_t *at = t->sample + i * row, *next = at + row;
        uint64_t v = at[1 + column];
        double rate;

        if (c->source->counter == NULL) {
            if (v == HD_TL_NEVER || v == last)
                continue;
            on = on != 0 ? on : column_track(p, c);
            hd_pf_count(p->b, at[0], on, v);
            last = v;
            continue;
        }
        if (i + 1 == t->class[HD_TL_SAMPLES].n)
            break;
        rate = next[1 + column] < v
                   ? 0
                   : (double)(next[1 + column] - v) / (double)(next[0] - at[0]);
        if (rate == last_rate)
            continue;
        on = on != 0 ? on : column_track(p, c);
        hd_pf_rate(p->b, at[0], on, rate);
        last_rate = rate;
    }
}

/* ---- the file ----------------------------------------------------------- */

static void draw_root(struct pen *p)
{
    const struct heddle_timeline *t = p->t;
    const struct hd_tl_class *q = &t->class[HD_TL_REQUESTS],
                             *x = &t->class[HD_TL_EVENTS];
    uint64_t every = t->every << t->class[HD_TL_SAMPLES].k;
    const struct hd_pf_arg arg[] = {
        {A_CYCLE, HD_PF_TEXT, 0, "1 ns"},
        NUM(A_REQUESTS, q->n),
        NUM(A_REQUESTS_OF, q->reported),
        NUM(A_REQUESTS_ONE, 1ull << q->k),
        NUM(A_EVENTS, x->n),
        NUM(A_EVENTS_OF, x->reported),
        NUM(A_EVENTS_ONE, 1ull << x->k),
        NUM(A_EVERY, every),
    };
    char about[512], name[256];
    struct hd_pf_track root = {.track = ROOT, .name = name, .about = about};

    snprintf(name, sizeof name, "heddle: %s", t->title);
    snprintf(about, sizeof about,
             "1 ns is 1 core cycle. Of %" PRIu64
             " requests for a translation, one of %" PRIu64
             " is shown; of %" PRIu64
             " far faults, transfers, evictions and epochs, one of %" PRIu64
             ". Samples are %" PRIu64 " cycles apart. heddle %s",
             q->reported, UINT64_C(1) << q->k, x->reported, UINT64_C(1) << x->k,
             every, heddle_version());
    hd_pf_track(p->b, &root);
    hd_pf_instant(p->b,
                  &(struct hd_pf_event){.at = hd_max_u64(t->start, t->from),
                                        .track = ROOT,
                                        .category = HD_TL_CORE + 1,
                                        .name = TIMELINE,
                                        .arg = arg,
                                        .args = HD_LEN(arg)});
}

void hd_tl_draw(const struct heddle_timeline *t, struct hd_bytes *b)
{
    const char *category[HD_TL_COMPONENTS];
    const struct hd_pf_names names = {.category = category,
                                      .event = event_names,
                                      .argument = argument_names,
                                      .categories = HD_TL_COMPONENTS,
                                      .events = NAMES - 1,
                                      .arguments = ARGUMENTS - 1};
    struct pen p = {.t = t, .b = b, .tracks = ROOT};

    for (uint32_t i = 0; i < HD_TL_COMPONENTS; i++)
        category[i] = heddle_timeline_component(i);
    p.several = t->sim != NULL && heddle_apps(t->sim) > 1;
    hd_pf_open(b, &names);
    draw_root(&p);
    draw_events(&p);
    for (uint32_t i = 0; i < t->columns && t->class[HD_TL_SAMPLES].n > 0; i++)
        draw_column(&p, i);
    draw_translation(&p);
}
