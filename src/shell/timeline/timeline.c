/*
 * timeline.c - what happened when: a policy that only watches keeps it, and
 * what it keeps is bounded.
 *
 * Three classes of records.  A *request* is the translation of a page for an L1
 * TLB: it is recorded when the answer comes, with what had been noted of its
 * page by then, the look-up in the L2 TLB, the walk with its reads, the far
 * fault.  So a record has all its stages, and they are in order: their times
 * add up to the request's.  What was noted is in tables of fixed size
 * (books), of which the entry that was touched longest ago goes.  An *event* is
 * a launch of a kernel, a far fault, a transfer, an eviction, an epoch, a batch of
 * the driver's.  A *sample* is counters and lengths of queues at a multiple of so many cycles;
 * the caller asks for it between two runs, for which it is cut
 * where the next is due, since a policy with epochs of its own would be more
 * than a watcher.
 *
 * When the file would be larger than its bound, the class that takes most is
 * halved, as often as is needed: of requests and events one of 2^k is kept, and
 * samples are taken 2^k times as far apart.  Which ones is decided by the
 * number of a request in the order in which answers are reported, hashed, and
 * its rank is how many zeros the hash ends with: those of rank k and above are
 * one of 2^k, and are among those of every lower k.  So what is in a file
 * depends on the run alone, and does not depend on when the bound was reached.
 * A walk is drawn where a request that waited for it is; a walk that no request
 * waits for (a policy's) counts as a request.  Launches are given up last.
 *
 * The bound is kept by what a record takes in the file, about; hd_tl_draw says
 * what it is, and where that is too much there is one more halving.
 *
 * An instant is the core cycle that the note has.  Nothing is drawn of what has
 * not ended, launches and epochs apart.
 *
 * Left out on purpose: hits in L1 TLBs (to note them all costs their
 * shortcut, and counters have them), the data path, commands of DRAM.
 *
 * SPDX-License-Identifier: MIT
 */
#include "timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/bits.h"
#include "kit/diag.h"
#include "kit/rng.h"

static const char *const component[] = {
    [HD_TL_CORE] = "core",   [HD_TL_L1TLB] = "l1tlb",   [HD_TL_L2TLB] = "l2tlb",
    [HD_TL_WALK] = "walk",   [HD_TL_FAULT] = "fault",   [HD_TL_LINK] = "link",
    [HD_TL_EVICT] = "evict", [HD_TL_POLICY] = "policy", [HD_TL_DRAM] = "dram",
    [HD_TL_FABRIC] = "fabric",
};

_Static_assert(HD_LEN(component) == HD_TL_COMPONENTS, "each has a name");

const char *heddle_timeline_component(uint32_t i)
{
    return i < HD_LEN(component) ? component[i] : NULL;
}

/* Bytes that a record takes in the file, about; of a sample: a number. */
enum { REQUEST_BYTES = 420, EVENT_BYTES = 64, NUMBER_BYTES = 14 };

static const struct hd_tl_source sources[] = {
    {.of = HD_TL_CORE,
     .name = "instructions",
     .unit = "a cycle",
     .counter = "core.instructions"},
    {.of = HD_TL_L1TLB,
     .name = "look-ups",
     .unit = "a cycle",
     .counter = "l1tlb.lookups"},
    {.of = HD_TL_L1TLB,
     .name = "hits",
     .unit = "a cycle",
     .counter = "l1tlb.hits"},
    {.of = HD_TL_L1TLB,
     .name = "entries in use",
     .unit = "entries",
     .object = "l1tlb",
     .kind = "entry",
     .rare = true},
    {.of = HD_TL_L1TLB,
     .name = "misses under way",
     .unit = "pages",
     .object = "l1tlb",
     .kind = "miss",
     .rare = true},
    {.of = HD_TL_L1TLB,
     .name = "lines that wait",
     .unit = "lines",
     .object = "l1tlb",
     .kind = "parked",
     .rare = true},
    {.of = HD_TL_L2TLB,
     .name = "ports in use (look-ups)",
     .unit = "a cycle",
     .counter = "l2tlb.lookups"},
    {.of = HD_TL_L2TLB,
     .name = "hits",
     .unit = "a cycle",
     .counter = "l2tlb.hits"},
    {.of = HD_TL_L2TLB,
     .name = "entries in use",
     .unit = "entries",
     .object = "l2tlb",
     .kind = "entry"},
    {.of = HD_TL_L2TLB,
     .name = "requests that wait for a port or an MSHR",
     .unit = "requests",
     .object = "l2tlb",
     .kind = "input"},
    {.of = HD_TL_WALK,
     .name = "walkers in use",
     .unit = "walks",
     .object = "walks",
     .kind = "walk",
     .state = "!waits"},
    {.of = HD_TL_WALK,
     .name = "walks that wait for a walker",
     .unit = "walks",
     .object = "walks",
     .kind = "walk",
     .state = "waits"},
    {.of = HD_TL_WALK,
     .name = "reads",
     .unit = "a cycle",
     .counter = "walk.references"},
    {.of = HD_TL_FAULT,
     .name = "pages that faulted and have not arrived",
     .unit = "faults",
     .object = "fault",
     .kind = "fault"},
    {.of = HD_TL_LINK,
     .name = "transfers on the link or waiting",
     .unit = "transfers",
     .object = "link",
     .kind = "transfer",
     .each = true},
    {.of = HD_TL_LINK,
     .name = "bytes",
     .unit = "a cycle",
     .counter = "link.bytes"},
    {.of = HD_TL_EVICT,
     .name = "pages that left",
     .unit = "a cycle",
     .counter = "evict.pages"},
    {.of = HD_TL_DRAM,
     .name = "queue of channel",
     .unit = "requests",
     .object = "dram",
     .kind = "request",
     .each = true},
    {.of = HD_TL_DRAM,
     .name = "bursts of data",
     .unit = "a cycle",
     .counter = "dram.data_bursts"},
    {.of = HD_TL_DRAM,
     .name = "bursts of page walks",
     .unit = "a cycle",
     .counter = "dram.walk_bursts"},
    {.of = HD_TL_FABRIC,
     .name = "messages of hop",
     .unit = "messages",
     .object = "fabric",
     .kind = "message",
     .each = true},
    {.of = HD_TL_FABRIC,
     .name = "bytes",
     .unit = "a cycle",
     .counter = "hop.bytes"},
};

/* ---- books --------------------------------------------------------------- */

/* What was noted of a page; entries of a set are found by key. */
enum book { LOOKS, WALKS, FAULTS };
enum { WAYS = 4 };

struct head {
    uint64_t key;  /* 0: free */
    uint64_t used; /* cycle */
};

struct look {
    struct head h;
    uint64_t last, before; /* look-ups, 1 later */
    bool hit, hit_before;
};

struct walked {
    struct head h;
    struct hd_tl_walk walk; /* done 0: it is under way */
};

struct fault {
    struct head h;
    uint64_t from, to, pages;
};

static const struct {
    size_t size;
    uint32_t sets;
} book_of[] = {[LOOKS] = {sizeof(struct look), 16384},
               [WALKS] = {sizeof(struct walked), 4096},
               [FAULTS] = {sizeof(struct fault), 16384}};

_Static_assert(HD_LEN(book_of) == HD_TL_BOOKS, "each has a shape");

/* The entry of a key; NULL, or with `cycle` above 0 a new one, if there is
 * none. */
static void *timeline_entry(const struct heddle_timeline *t, enum book b,
                            uint64_t key, uint64_t cycle)
{
    size_t size = book_of[b].size;
    unsigned char *set =
        t->book[b] + hd_mix64(key) % book_of[b].sets * WAYS * size;
    struct head *least = (struct head *)(void *)set;

    key++;
    for (uint32_t i = 0; i < WAYS; i++) {
        struct head *h = (struct head *)(void *)(set + i * size);

        if (h->key == key) {
            h->used = hd_max_u64(h->used, cycle);
            return h;
        }
        if (h->used < least->used)
            least = h;
    }
    if (cycle == 0)
        return NULL;
    memset(least, 0, size);
    *least = (struct head){key, cycle};
    return least;
}

static size_t bytes_of_book(uint32_t b)
{
    return book_of[b].size * book_of[b].sets * WAYS;
}

static uint64_t timeline_key_of(uint64_t who, uint64_t app, uint64_t vpn)
{
    return who << 56 | app << 48 | vpn;
}

/* The first page of the one that a page is part of, as it is mapped. */
static uint64_t first_of(const struct heddle_timeline *t, uint64_t app,
                         uint64_t vpn)
{
    uint64_t pa, bytes;

    if (heddle_translate(t->sim, (uint32_t)app, vpn << 12, &pa, &bytes) != 0)
        return vpn;
    return vpn & ~((bytes >> 12) - 1);
}

/* ---- the bound ----------------------------------------------------------- */

static unsigned timeline_rank_of(uint64_t serial)
{
    return hd_bit_first(hd_mix64(serial) | 1ull << 62);
}

static uint64_t timeline_bytes_of(const struct heddle_timeline *t,
                                  uint32_t class)
{
    const uint64_t each[] = {[HD_TL_REQUESTS] = REQUEST_BYTES,
                             [HD_TL_EVENTS] = EVENT_BYTES,
                             [HD_TL_SAMPLES] = NUMBER_BYTES * t->columns};

    return t->class[class].n * each[class];
}

static bool kept(const struct heddle_timeline *t, uint32_t class, uint64_t i)
{
    unsigned k = t->class[class].k;

    if (class == HD_TL_REQUESTS)
        return t->request[i].rank >= k;
    if (class == HD_TL_EVENTS)
        return t->event[i].rank >= k;
    return t->sample[i * hd_tl_row(t)] % (t->every << k) == 0;
}

static void timeline_move(struct heddle_timeline *t, uint32_t class,
                          uint64_t to, uint64_t from)
{
    size_t row = hd_tl_row(t);

    if (class == HD_TL_REQUESTS)
        t->request[to] = t->request[from];
    else if (class == HD_TL_EVENTS)
        t->event[to] = t->event[from];
    else
        memmove(t->sample + to * row, t->sample + from * row,
                row * sizeof *t->sample);
}

/* Batches have the places of their events, and none is left of others. */
static void timeline_pack(struct heddle_timeline *t)
{
    size_t n = 0;

    for (uint64_t i = 0; i < t->class[HD_TL_EVENTS].n; i++) {
        struct hd_tl_event *e = &t->event[i];

        if (e->kind != HD_TL_BATCH)
            continue;
        t->batch[n] = t->batch[e->a];
        e->a = n++;
    }
    t->batches = n;
}

/* Halves what is kept of the class that takes most; false where nothing can be
 * given up. */
static bool thin(struct heddle_timeline *t)
{
    uint32_t most = 0;
    struct hd_tl_class *c;
    uint64_t n = 0;

    for (uint32_t i = 1; i < HD_TL_CLASSES; i++)
        if (timeline_bytes_of(t, i) > timeline_bytes_of(t, most))
            most = i;
    c = &t->class[most];
    if (c->n < 2 || c->k == 62 || t->every << c->k > UINT64_MAX / 4)
        return false;
    c->k++;
    for (uint64_t i = 0; i < c->n; i++)
        if (kept(t, most, i))
            timeline_move(t, most, n++, i);
    c->n = n;
    timeline_pack(t);
    return true;
}

static void timeline_bound(struct heddle_timeline *t)
{
    uint64_t all;

    do {
        all = 0;
        for (uint32_t i = 0; i < HD_TL_CLASSES; i++)
            all += timeline_bytes_of(t, i);
    } while (all > t->bytes && thin(t));
}

static void timeline_no_memory(struct heddle_timeline *t)
{
    t->oom = true;
    heddle_policy_fail(t->sim, HEDDLE_NO_MEMORY);
}

static void add_request(struct heddle_timeline *t,
                        const struct hd_tl_request *r)
{
    struct hd_tl_class *c = &t->class[HD_TL_REQUESTS];

    if (hd_grow(&t->request, c->n, &c->room, sizeof *r) == NULL) {
        timeline_no_memory(t);
        return;
    }
    t->request[c->n++] = *r;
    timeline_bound(t);
}

/* Whether a request of an application that began then is wanted. */
static bool timeline_wanted(const struct heddle_timeline *t, uint64_t app,
                            uint64_t begin)
{
    return (t->app == UINT32_MAX || t->app == app) && begin >= t->from &&
           begin < t->to && t->repeats == 0;
}

/* False: it is left out. */
static bool add_event(struct heddle_timeline *t, enum hd_tl_component of,
                      struct hd_tl_event e)
{
    struct hd_tl_class *c = &t->class[HD_TL_EVENTS];

    if (!hd_tl_shows(t, of) || (t->app != UINT32_MAX && t->app != e.app) ||
        e.end < t->from || e.begin >= t->to || t->repeats != 0)
        return false;
    e.serial = ++c->reported;
    e.rank = e.kind == HD_TL_KERNEL ? 62 : (uint8_t)timeline_rank_of(e.serial);
    if (e.rank < c->k)
        return false;
    if (hd_grow(&t->event, c->n, &c->room, sizeof e) == NULL) {
        timeline_no_memory(t);
        return false;
    }
    t->event[c->n++] = e;
    timeline_bound(t);
    return true;
}

/* ---- requests ------------------------------------------------------------ */

static void looked_up(struct heddle_timeline *t, uint64_t core, uint64_t app,
                      uint64_t vpn, uint64_t cycle, bool hit)
{
    struct look *e =
        timeline_entry(t, LOOKS, timeline_key_of(core, app, vpn), cycle + 1);

    e->before = e->last;
    e->hit_before = e->hit;
    e->last = cycle + 1;
    e->hit = hit;
}

static void on_hit(void *state, const void *note)
{
    const struct heddle_n_tlb_hit *n = note;

    looked_up(state, n->core, n->app, n->vpn, n->cycle, true);
}

static void on_miss(void *state, const void *note)
{
    const struct heddle_n_tlb_miss *n = note;

    looked_up(state, n->core, n->app, n->vpn, n->cycle, false);
}

/* The walk under way of a page, or a new one. */
static struct hd_tl_walk *walk_of(struct heddle_timeline *t, uint64_t instance,
                                  uint64_t app, uint64_t vpn, uint64_t cycle)
{
    uint64_t key = timeline_key_of(instance, app, first_of(t, app, vpn));
    struct walked *e = timeline_entry(t, WALKS, key, cycle + 1);
    struct hd_tl_walk *w = &e->walk;

    if (w->serial == 0 || w->done != 0)
        *w = (struct hd_tl_walk){.serial = ++t->walks,
                                 .instance = (uint32_t)instance};
    return w;
}

static void on_read(void *state, const void *note)
{
    const struct heddle_n_walk_read *n = note;
    struct hd_tl_walk *w =
        walk_of(state, n->instance, n->app, n->vpn, n->cycle);

    if (w->reads == HD_TL_READS)
        return;
    w->read[w->reads] = n->cycle;
    w->level[w->reads++] = (uint8_t)n->level;
}

static void on_walk(void *state, const void *note)
{
    struct heddle_timeline *t = state;
    const struct heddle_n_walk_done *n = note;
    struct hd_tl_walk *w = walk_of(t, n->instance, n->app, n->vpn, n->cycle);
    struct hd_tl_request r;

    w->began = n->cycle - hd_min_u64(n->cycle, n->cycles - n->queued);
    w->done = n->cycle;
    w->references = (uint32_t)n->references;
    w->requesters = (uint32_t)n->requesters;
    if (n->requesters != 0 || !timeline_wanted(t, n->app, w->began))
        return;
    r = (struct hd_tl_request){.serial = ++t->class[HD_TL_REQUESTS].reported,
                               .core = HD_NONE,
                               .sent = w->began,
                               .end = w->done,
                               .looked = HD_TL_NEVER,
                               .faulted = HD_TL_NEVER,
                               .vpn = n->vpn,
                               .app = (uint8_t)n->app,
                               .walk = *w};
    r.rank = (uint8_t)timeline_rank_of(r.serial);
    if (r.rank >= t->class[HD_TL_REQUESTS].k && hd_tl_shows(t, HD_TL_WALK))
        add_request(t, &r);
}

/* The far fault that a request waited for, if any. */
static void find_fault(const struct heddle_timeline *t, struct hd_tl_request *r)
{
    static const uint64_t size[] = {1, 16, 512};

    for (uint32_t i = 0; t->faults && i < HD_LEN(size); i++) {
        uint64_t vpn = r->vpn & ~(size[i] - 1);
        const struct fault *e =
            timeline_entry(t, FAULTS, timeline_key_of(0, r->app, vpn), 0);

        if (e != NULL && vpn + e->pages > r->vpn && e->to > r->sent &&
            e->from < r->end) {
            r->faulted = e->from;
            r->came = e->to;
            return;
        }
    }
}

static void on_answer(void *state, const void *note)
{
    struct heddle_timeline *t = state;
    const struct heddle_n_translated *n = note;
    uint64_t sent = n->cycle - hd_min_u64(n->cycle, n->cycles), who = n->core;
    struct hd_tl_request r;
    const struct look *looks;
    const struct walked *walks;

    if (!timeline_wanted(t, n->app, sent))
        return;
    r = (struct hd_tl_request){.serial = ++t->class[HD_TL_REQUESTS].reported,
                               .sent = sent,
                               .end = n->cycle,
                               .looked = HD_TL_NEVER,
                               .faulted = HD_TL_NEVER,
                               .vpn = n->vpn,
                               .pc = n->pc,
                               .core = (uint32_t)n->core,
                               .warp = (uint16_t)n->warp,
                               .app = (uint8_t)n->app};
    r.rank = (uint8_t)timeline_rank_of(r.serial);
    if (r.rank < t->class[HD_TL_REQUESTS].k)
        return;
    looks = timeline_entry(t, LOOKS, timeline_key_of(who, n->app, n->vpn), 0);
    if (looks != NULL && looks->last > sent) {
        bool first = looks->before > sent; /* it was replayed */

        r.looked = (first ? looks->before : looks->last) - 1;
        r.hit = first ? looks->hit_before : looks->hit;
    }
    walks = timeline_entry(t, WALKS,
                           timeline_key_of(t->shared ? 0 : who, n->app,
                                           first_of(t, n->app, n->vpn)),
                           0);
    if (walks != NULL && walks->walk.done > sent && walks->walk.done <= r.end)
        r.walk = walks->walk;
    find_fault(t, &r);
    add_request(t, &r);
}

/* ---- events -------------------------------------------------------------- */

static void on_fault(void *state, const void *note)
{
    struct heddle_timeline *t = state;

    (void)note;
    t->faults = true;
}

static void on_page(void *state, const void *note)
{
    struct heddle_timeline *t = state;
    const struct heddle_n_page_arrived *n = note;
    uint64_t from = n->cycle - hd_min_u64(n->cycle, n->cycles);
    struct fault *e = timeline_entry(
        t, FAULTS, timeline_key_of(0, n->app, n->vpn), n->cycle + 1);

    e->from = from;
    e->to = n->cycle;
    e->pages = n->pages;
    add_event(t, HD_TL_FAULT,
              (struct hd_tl_event){.kind = HD_TL_PAGE,
                                   .begin = from,
                                   .end = n->cycle,
                                   .app = (uint8_t)n->app,
                                   .a = n->vpn,
                                   .b = n->pages});
}

static void on_transfer(void *state, const void *note)
{
    struct heddle_timeline *t = state;
    const struct heddle_n_link_transfer *n = note;

    add_event(t, HD_TL_LINK,
              (struct hd_tl_event){.kind = HD_TL_TRANSFER,
                                   .begin = n->cycle - n->cycles,
                                   .end = n->cycle,
                                   .app = (uint8_t)n->app,
                                   .a = n->bytes,
                                   .b = n->queued,
                                   .flag = n->to == HEDDLE_PROCESSOR_HOST});
}

static void on_evicted(void *state, const void *note)
{
    struct heddle_timeline *t = state;
    const struct heddle_n_page_evicted *n = note;

    add_event(t, HD_TL_EVICT,
              (struct hd_tl_event){.kind = HD_TL_EVICTION,
                                   .begin = n->cycle,
                                   .end = n->cycle,
                                   .app = (uint8_t)n->app,
                                   .a = n->vpn,
                                   .b = n->pages,
                                   .flag = n->dirty != 0});
}

static void on_throttled(void *state, const void *note)
{
    struct heddle_timeline *t = state;
    const struct heddle_n_page_throttled *n = note;

    add_event(t, HD_TL_FAULT,
              (struct hd_tl_event){.kind = HD_TL_THROTTLED,
                                   .begin = n->cycle,
                                   .end = n->cycle + n->cycles,
                                   .app = (uint8_t)n->app,
                                   .a = n->vpn,
                                   .flag = (uint8_t)n->by});
}

static void on_remote(void *state, const void *note)
{
    struct heddle_timeline *t = state;
    const struct heddle_n_page_remote *n = note;

    add_event(t, HD_TL_FAULT,
              (struct hd_tl_event){.kind = HD_TL_REMOTE_PAGE,
                                   .begin = n->cycle,
                                   .end = n->cycle,
                                   .app = (uint8_t)n->app,
                                   .a = n->vpn,
                                   .b = n->pages,
                                   .flag = (uint8_t)n->cause});
}

static void on_batch(void *state, const void *note)
{
    struct heddle_timeline *t = state;
    const struct heddle_n_batch_served *n = note;
    struct hd_tl_event e = {.kind = HD_TL_BATCH,
                            .begin = n->cycle - hd_min_u64(n->cycle,
                                                           n->cycles +
                                                               n->interrupt),
                            .end = n->cycle,
                            .app = (uint8_t)n->app,
                            .a = t->batches};

    if (hd_grow(&t->batch, t->batches, &t->batch_room, sizeof *n) == NULL) {
        timeline_no_memory(t);
        return;
    }
    t->batch[t->batches++] = *n;
    if (!add_event(t, HD_TL_FAULT, e))
        t->batches--;
}

/* What is known of a launch that runs: that of its application and stream. */
static struct hd_tl_kernel *timeline_kernel(struct heddle_timeline *t,
                                            uint64_t app, uint64_t kernel,
                                            uint32_t *stream)
{
    *stream = t->sim != NULL
                  ? heddle_kernel_stream(t->sim, (uint32_t)app, kernel)
                  : 0;
    return &t->kernel[app % HEDDLE_MAX_APPS][*stream % HD_TL_STREAMS];
}

static void on_start(void *state, const void *note)
{
    struct heddle_timeline *t = state;
    const struct heddle_n_kernel_start *n = note;

    uint32_t stream;

    *timeline_kernel(t, n->app, n->kernel, &stream) = (struct hd_tl_kernel){
        .begin = n->cycle, .launch = n->kernel, .run = n->run, .runs = true};
}

static void on_retired(void *state, const void *note)
{
    struct heddle_timeline *t = state;
    const struct heddle_n_kernel_end *n = note;
    uint32_t stream;
    struct hd_tl_kernel *k = timeline_kernel(t, n->app, n->kernel, &stream);

    if (!k->runs)
        k->begin = t->start;
    k->runs = false;
    add_event(t, HD_TL_CORE,
              (struct hd_tl_event){.kind = HD_TL_KERNEL,
                                   .begin = k->begin,
                                   .end = n->cycle,
                                   .app = (uint8_t)n->app,
                                   .a = n->kernel,
                                   .b = n->run,
                                   .flag = (uint8_t)stream});
}

static void on_call(void *state, const void *note)
{
    struct heddle_timeline *t = state;
    const struct heddle_n_host_call *n = note;

    add_event(t, HD_TL_CORE,
              (struct hd_tl_event){.kind = HD_TL_HOST_CALL,
                                   .begin = n->cycle - n->cycles,
                                   .end = n->cycle,
                                   .app = (uint8_t)n->app,
                                   .a = n->vpn,
                                   .b = n->pages,
                                   .flag = (uint8_t)n->what});
}

static void on_epoch(void *state, const void *note)
{
    struct heddle_timeline *t = state;
    const struct heddle_n_epoch *n = note;
    uint64_t *last = &t->epoch[n->policy % HEDDLE_MAX_BOUND];
    struct hd_tl_event e = {.kind = HD_TL_EPOCH,
                            .begin = hd_max_u64(*last, t->start),
                            .end = n->cycle,
                            .app = (uint8_t)t->app,
                            .a = n->policy};

    *last = n->cycle;
    add_event(t, HD_TL_POLICY, e);
}

/* ---- samples ------------------------------------------------------------- */

/* Counts rows of an object. */
struct count {
    const struct heddle_timeline *t;
    const struct hd_tl_source *source;
    uint64_t n;
    bool open, fits; /* a row is being shown, and counts so far */
};

static void timeline_count_row(struct count *c)
{
    c->n += c->open && c->fits;
    c->open = false;
}

static void see_row(void *ud, const char *kind)
{
    struct count *c = ud;

    timeline_count_row(c);
    c->open = true;
    c->fits = strcmp(kind, c->source->kind) == 0;
}

static void see_number(void *ud, const char *field, uint64_t v)
{
    struct count *c = ud;

    if (c->fits && c->t->app != UINT32_MAX && strcmp(field, "app") == 0)
        c->fits = v == c->t->app;
}

static void see_text(void *ud, const char *field, const char *v)
{
    struct count *c = ud;
    const char *state = c->source->state;
    bool not = state != NULL && state[0] == '!';

    if (c->fits && state != NULL && strcmp(field, "state") == 0)
        c->fits = (strcmp(state + not, v) == 0) != not ;
}

static uint64_t timeline_value(struct heddle_timeline *t,
                               const struct hd_tl_column *x, uint64_t now)
{
    const struct hd_tl_source *s = x->source;
    struct count c = {.t = t, .source = s};
    struct heddle_visitor v = {see_row, see_number, see_text, &c};
    uint64_t n = 0;

    if (s->counter != NULL) {
        heddle_policy_counter(t->sim, s->counter, t->app, &n);
        return n;
    }
    if (s->rare && now % (8 * t->every << t->class[HD_TL_SAMPLES].k) != 0)
        return HD_TL_NEVER;
    for (uint32_t i = 0; i < x->instances; i++) {
        if (heddle_look(t->sim, s->object, x->instance + i, &v) != 0)
            return HD_TL_NEVER;
        timeline_count_row(&c);
    }
    return c.n;
}

uint64_t heddle_timeline_next(const heddle_timeline *t)
{
    uint64_t now, step = t->every << t->class[HD_TL_SAMPLES].k, from;

    if (t->sim == NULL)
        return UINT64_MAX;
    now = heddle_now(t->sim);
    if (t->repeats > now)
        return t->repeats - now;
    if (t->columns == 0 || now >= t->to)
        return UINT64_MAX;
    from = hd_max_u64(now + 1, t->from);
    return (from + step - 1) / step * step - now;
}

void heddle_timeline_sample(heddle_timeline *t)
{
    struct hd_tl_class *c = &t->class[HD_TL_SAMPLES];
    size_t row = hd_tl_row(t);
    uint64_t now, *v;

    if (t->sim == NULL)
        return;
    now = heddle_now(t->sim);
    if (now >= t->repeats)
        t->repeats = 0;
    if (t->columns == 0 || now % (t->every << c->k) != 0 || now < t->from ||
        now >= t->to || t->repeats != 0 ||
        (c->n > 0 && t->sample[(c->n - 1) * row] >= now))
        return;
    if (hd_grow(&t->sample, c->n, &c->room, row * sizeof *v) == NULL) {
        t->oom = true;
        return;
    }
    v = t->sample + c->n * row;
    v[0] = now;
    for (uint32_t i = 0; i < t->columns; i++)
        v[1 + i] = timeline_value(t, &t->column[i], now);
    c->n++;
    c->reported++;
    timeline_bound(t);
}

/* Instances of an object; 0: there is none. */
static uint32_t instances(const heddle_sim *s, const char *object)
{
    struct heddle_object_info o = {.size = sizeof o};

    for (uint32_t i = 0; heddle_object(s, i, &o) == 0; i++)
        if (strcmp(o.name, object) == 0)
            return o.instances;
    return 0;
}

/* The columns that this machine has; how many, without a list to fill. */
static uint32_t list_columns(const struct heddle_timeline *t,
                             struct hd_tl_column *list)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < HD_LEN(sources); i++) {
        const struct hd_tl_source *s = &sources[i];
        uint64_t v;
        uint32_t has = s->counter == NULL
                           ? instances(t->sim, s->object)
                           : heddle_policy_counter(t->sim, s->counter,
                                                   UINT32_MAX, &v) == 0;

        if (!hd_tl_shows(t, s->of))
            continue;
        for (uint32_t k = 0; k < has; k += s->each ? 1 : has, n++)
            if (list != NULL)
                list[n] = (struct hd_tl_column){s, k, s->each ? 1 : has};
    }
    return n;
}

/* ---- life ---------------------------------------------------------------- */

static void *opened(void *ud, heddle_sim *s, const struct heddle_place *p,
                    const uint64_t *params)
{
    (void)s, (void)p, (void)params;
    return ud;
}

static void closed(void *state)
{
    struct heddle_timeline *t = state;

    t->sim = NULL;
}

/* The notes that it needs, no more. */
static void timeline_listen(struct heddle_timeline *t)
{
    static const struct heddle_filter below[] = {
        {HEDDLE_NOTE_tlb_hit, "level", 2},
        {HEDDLE_NOTE_tlb_miss, "level", 2},
        {0, NULL, 0}};
    void (**watch)(void *, const void *) = t->policy.watch;

    t->policy.abi = HEDDLE_POLICY_ABI;
    t->policy.name = "(timeline)";
    t->policy.summary = "keeps what happens over time";
    t->policy.source = "heddle";
    t->policy.ud = t;
    t->policy.open = opened;
    t->policy.close = closed;
    if (hd_tl_shows(t, HD_TL_L1TLB) || hd_tl_shows(t, HD_TL_L2TLB) ||
        hd_tl_shows(t, HD_TL_WALK)) {
        t->policy.filters = below;
        watch[HEDDLE_NOTE_tlb_hit] = on_hit;
        watch[HEDDLE_NOTE_tlb_miss] = on_miss;
        watch[HEDDLE_NOTE_walk_read] = on_read;
        watch[HEDDLE_NOTE_walk_done] = on_walk;
        watch[HEDDLE_NOTE_translated] = on_answer;
        watch[HEDDLE_NOTE_page_fault] = on_fault;
        watch[HEDDLE_NOTE_page_arrived] = on_page;
    }
    if (hd_tl_shows(t, HD_TL_FAULT)) {
        watch[HEDDLE_NOTE_page_arrived] = on_page;
        watch[HEDDLE_NOTE_batch_served] = on_batch;
        watch[HEDDLE_NOTE_page_throttled] = on_throttled;
        watch[HEDDLE_NOTE_page_remote] = on_remote;
    }
    if (hd_tl_shows(t, HD_TL_LINK))
        watch[HEDDLE_NOTE_link_transfer] = on_transfer;
    if (hd_tl_shows(t, HD_TL_EVICT))
        watch[HEDDLE_NOTE_page_evicted] = on_evicted;
    if (hd_tl_shows(t, HD_TL_POLICY))
        watch[HEDDLE_NOTE_epoch] = on_epoch;
    if (hd_tl_shows(t, HD_TL_CORE)) {
        watch[HEDDLE_NOTE_kernel_start] = on_start;
        watch[HEDDLE_NOTE_kernel_end] = on_retired;
        watch[HEDDLE_NOTE_host_call] = on_call;
    }
}

heddle_timeline *heddle_timeline_open(heddle_sim *s,
                                      const struct heddle_timeline_options *o)
{
    struct heddle_timeline *t = calloc(1, sizeof *t);
    bool bad = t == NULL;

    if (bad)
        return NULL;
    t->sim = s;
    t->only = o->only != 0 ? o->only : (1ull << HD_TL_COMPONENTS) - 1;
    t->app = o->app;
    t->from = o->from;
    t->to = o->to;
    t->bytes = o->bytes != 0 ? o->bytes : 20000000;
    t->every = o->every != 0 ? o->every : 1000;
    t->start = heddle_now(s);
    t->shared = instances(s, "walks") <= 1;
    t->columns = list_columns(t, NULL);
    t->column = calloc(t->columns + 1, sizeof *t->column);
    t->title = calloc(1, strlen(o->title) + 1);
    bad = t->column == NULL || t->title == NULL;
    timeline_listen(t);
    for (uint32_t i = 0; i < HD_LEN(t->book) && !bad; i++) {
        t->book[i] = calloc(1, bytes_of_book(i));
        bad = t->book[i] == NULL;
    }
    if (!bad) {
        strcpy(t->title, o->title);
        list_columns(t, t->column);
        bad = heddle_use(s, &t->policy, "", NULL, NULL, 0, 0) != 0;
    }
    if (bad) {
        t->sim = NULL;
        heddle_timeline_close(t);
        return NULL;
    }
    return t;
}

void heddle_timeline_close(heddle_timeline *t)
{
    if (t == NULL)
        return;
    if (t->sim != NULL)
        heddle_unuse(t->sim, t->policy.name, NULL);
    for (uint32_t i = 0; i < HD_LEN(t->book); i++)
        free(t->book[i]);
    free(t->request);
    free(t->event);
    free(t->batch);
    free(t->sample);
    free(t->column);
    free(t->title);
    free(t);
}

void heddle_timeline_repeats(heddle_timeline *t, uint64_t cycle)
{
    t->repeats = hd_max_u64(t->repeats, cycle);
}

void heddle_timeline_mark(const heddle_timeline *t,
                          struct heddle_timeline_mark *out)
{
    out->requests = t->class[HD_TL_REQUESTS].reported;
    out->events = t->class[HD_TL_EVENTS].reported;
}

/* Forgets records of a class: those after the `reported`-th or, without that
 * (HD_TL_NEVER), those that end after `now`. */
static void timeline_forget(struct heddle_timeline *t, uint32_t class,
                            uint64_t reported, uint64_t now)
{
    struct hd_tl_class *c = &t->class[class];
    bool requests = class == HD_TL_REQUESTS;
    uint64_t n = 0;

    for (uint64_t i = 0; i < c->n; i++) {
        uint64_t serial = requests ? t->request[i].serial : t->event[i].serial;
        uint64_t end = requests ? t->request[i].end : t->event[i].end;

        if (reported != HD_TL_NEVER ? serial <= reported : end <= now)
            timeline_move(t, class, n++, i);
    }
    c->n = n;
    timeline_pack(t);
    if (reported != HD_TL_NEVER)
        c->reported = reported;
}

void heddle_timeline_cut(heddle_timeline *t,
                         const struct heddle_timeline_mark *mark)
{
    struct hd_tl_class *samples = &t->class[HD_TL_SAMPLES];
    size_t row = hd_tl_row(t);
    uint64_t now;

    if (t->sim == NULL)
        return;
    now = heddle_now(t->sim);
    timeline_forget(t, HD_TL_REQUESTS,
                    mark != NULL ? mark->requests : HD_TL_NEVER, now);
    timeline_forget(t, HD_TL_EVENTS, mark != NULL ? mark->events : HD_TL_NEVER,
                    now);
    while (samples->n > 0 && t->sample[(samples->n - 1) * row] > now)
        samples->n--;
    for (uint32_t i = 0; i < HD_LEN(t->book); i++)
        memset(t->book[i], 0, bytes_of_book(i));
    for (uint32_t a = 0; a < HEDDLE_MAX_APPS; a++)
        for (uint32_t i = 0; i < HD_TL_STREAMS; i++)
            t->kernel[a][i].runs &= t->kernel[a][i].begin <= now;
    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND; i++)
        t->epoch[i] = hd_min_u64(t->epoch[i], now);
    if (t->class[HD_TL_REQUESTS].n + t->class[HD_TL_EVENTS].n + samples->n == 0)
        t->start = now;
    t->repeats = 0;
}

int heddle_timeline_write(heddle_timeline *t, const char *path,
                          struct heddle_timeline_info *out, char *error,
                          size_t room)
{
    const struct hd_tl_class *c = t->class;
    struct hd_bytes b = {0};
    int rc;

    do {
        hd_bytes_free(&b);
        hd_tl_draw(t, &b);
    } while (b.n > t->bytes && !b.oom && !t->oom && thin(t));
    if (b.oom || t->oom) {
        snprintf(error, room, "%s", HEDDLE_NO_MEMORY);
        rc = HEDDLE_ENOMEM;
    } else {
        rc = heddle_save(path, b.p, b.n, error, room);
    }
    if (out != NULL)
        *out = (struct heddle_timeline_info){
            .bytes = b.n,
            .requests = c[HD_TL_REQUESTS].n,
            .events = c[HD_TL_EVENTS].n,
            .samples = c[HD_TL_SAMPLES].n,
            .requests_of = c[HD_TL_REQUESTS].reported,
            .events_of = c[HD_TL_EVENTS].reported,
            .requests_one = 1ull << c[HD_TL_REQUESTS].k,
            .events_one = 1ull << c[HD_TL_EVENTS].k,
            .every = t->every << c[HD_TL_SAMPLES].k};
    hd_bytes_free(&b);
    return rc;
}
