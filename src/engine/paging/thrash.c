/*
 * thrash.c - thrashing: pages that move between processors again and again, and
 * what is done about it.
 *
 * Two controls (fault.thrashing), which the point `thrash` can overrule: it is
 * asked for each touch of a page that is not resident and of which something is
 * known.
 *
 * The driver's (uvm_perf_thrashing.c of NVIDIA's open kernel modules, release
 * 595).  Processors are the GPU and the host.  An event is a page that is sent
 * to the GPU, for a fault, a counter or a prefetch, or back because the
 * program's host has touched it; evictions are none.  Pages of a 2 MB block are
 * looked at from the first event on that follows one of the other processor
 * within the lapse. Then, for each page:
 *
 *   two events within the lapse      count one; a longer gap forgets a page
 *                                    that thrashes
 *   uvm.perf_thrashing_threshold     it thrashes: it is not prefetched, and
 *   of those                         thrash is asked
 *   touched, the last event within   a period of a nap begins; its toucher is
 *   the lapse                        exempt, unless it was the last time
 *   touched by the other one         throttled: it is served at the period's
 *                                    end
 *   ..pin_threshold throttlings      pinned where the exempt one is; the GPU
 *                                    uses a page of the host's over the link,
 *                                    the host none of the GPU's, which moves
 *                                    the pin to the host when it is exempt
 *   ..pin lapses later               it is unmapped and forgotten
 *
 * Where the buffer's place is on the host, and the GPU can use it there, it is
 * pinned there at once.  A block none of whose pages is pinned is forgotten
 * after an epoch without thrashing, at most ..max_resets times.  The lapse tunes
 * itself by application, if it is the default: each touch of a page that thrashes
 * votes, for more if the last event is longer ago, else for less; 32 more of one
 * kind change it by an eighth, within 5 us and 0.5 s, and count half from then on.
 * Nap, epoch and pin are multiples of what it was at first.
 *
 * That is what the driver is written to do.  What the release does is otherwise
 * in two places, and uvm.as_released, the default, follows it:
 *
 *   adjust_thrashing_lapse   compares the votes, a signed byte, with an unsigned
 *                            threshold, so any majority for less makes the lapse
 *                            longer at once; it becomes shorter by majorities for
 *                            more, where it is 0.5 s or more; a step upwards is
 *                            50 ms at most; and a majority of 128 for less is
 *                            one of 127 for more with the next vote
 *   thrashing_unpin_page     does not take its page from pinned_pages.count, so
 *                            a block of which a page was ever pinned is never
 *                            forgotten
 *
 * One GPU that thrashes against its own memory has no events of another
 * processor: that control never sees it.  The second counts pages that return
 * after an eviction: one that has more than fault.refaults times within
 * fault.refault_lapse thrashes, and is pinned on the host until ..pin lapses
 * are over.  (No release has it; Linux counts refaults likewise, in
 * mm/workingset.c.)
 *
 * Invariants: pages that were pinned = those unpinned by time, those released
 * by something else, and those that are; an exempt processor is not throttled;
 * pages of a block that thrash are as many as it says.
 *
 * Left out on purpose: revocations, as a mapping here never loses a right; fast
 * links between processors; processes that share an address space with others.
 *
 * SPDX-License-Identifier: MIT
 */
#include "thrash.h"

#include <string.h>

#include "kit/bits.h"
#include "pages/ptstate.h"

#define HD_PART    thrash
#define HD_PART_OF "paging/thrash.def"
#include "kit/rows.h"

enum {
    FIRST_BLOCKS = 64,
    MOST_EVENTS = 7,
    MOST_THROTTLINGS = 255,
    LAPSE_US = 500, /* the default: it tunes itself */
    LEAST_LAPSE_US = LAPSE_US / 100,
    MOST_LAPSE_US = LAPSE_US * 1000
};

enum {
    NONE = HEDDLE_PROCESSOR_NONE,
    GPU = HEDDLE_PROCESSOR_GPU,
    HOST = HEDDLE_PROCESSOR_HOST
};

/* A page, by its first base page. */
struct page {
    hd_time last;        /* event; 0: there was none */
    hd_time end;         /* of the throttling period; 0: none */
    hd_time deadline;    /* of the pin */
    hd_time first;       /* return of those counted */
    uint32_t returns;    /* since then */
    uint8_t events;      /* in a row */
    uint8_t throttlings; /* since it was pinned last */
    uint8_t users;       /* processors with events or touches: bits */
    uint8_t throttled;   /* of these: bits, until the end */
    uint8_t exempt;      /* a processor, in this period */
    uint8_t pinned;      /* where, or NONE */
    uint8_t thrashes;
    uint8_t out; /* 1: the program's host took it, no eviction */
};

struct block {
    hd_ref page;      /* [HD_LARGE_PAGES]; HD_NONE: no memory is taken yet */
    uint32_t looks;   /* 1: its pages are looked at */
    hd_time last;     /* event; 0: there was none */
    hd_time thrashed; /* the last event of a page that did; 0: none did */
    uint32_t by;      /* whose the last event was */
    uint32_t n;       /* pages that thrash */
    uint32_t resets;
    uint32_t pinned; /* pages that are; as released, that ever were */
};

struct state {
    hd_ref block; /* [room], by the region's number */
    uint32_t room;
    uint32_t pins; /* pages that are pinned */
    uint64_t made, over, released;
    hd_time lapse[HD_MAX_APPS];
    int32_t votes[HD_MAX_APPS]; /* for more */
};

struct hd_thrash {
    struct hd_env *env;
    struct hd_thrash_wiring w;
    struct state *s; /* arena */
    struct hd_slot ask;
    struct hd_stat stat;
    hd_time nap, epoch, pin, refault, least, most, cycle;
    uint32_t rank;
};

static uint64_t *thrash_row(const struct hd_thrash *t, uint32_t app)
{
    return hd_count_row(&t->stat, 0, app);
}

/* ---- blocks and pages --------------------------------------------------- */

static struct block *thrash_blocks(const struct hd_thrash *t)
{
    return hd_arena_at(t->env->arena, t->s->block);
}

/* The block of a page, or NULL: nothing of it is known. */
static struct block *thrash_find(const struct hd_thrash *t, uint32_t app,
                                 hd_vpn vpn)
{
    const struct hd_pt_slot *h =
        hd_pt_find(t->w.tables, hd_pt_key(app, vpn.v / HD_LARGE_PAGES));
    uint32_t i = h->region_bits >> HD_PT_SHIFT;

    return h->key == 0 || i >= t->s->room ? NULL : &thrash_blocks(t)[i];
}

static struct page *thrash_page_of(const struct hd_thrash *t,
                                   const struct block *b, hd_vpn vpn)
{
    return (struct page *)hd_arena_at(t->env->arena, b->page) +
           vpn.v % HD_LARGE_PAGES;
}

/* A page that is looked at, or NULL. */
static struct page *thrash_page(const struct hd_thrash *t, uint32_t app,
                                hd_vpn vpn)
{
    const struct block *b = thrash_find(t, app, vpn);

    return b == NULL || !b->looks ? NULL : thrash_page_of(t, b, vpn);
}

static void *thrash_memory(struct hd_thrash *t, size_t n, size_t size)
{
    void *p = hd_arena_take(t->env->arena, n, size);

    if (p == NULL)
        hd_err_memory(t->env->err);
    return p;
}

/* The block of a page, made if it is not there; NULL: out of memory. */
static struct block *thrash_make(struct hd_thrash *t, uint32_t app, hd_vpn vpn)
{
    hd_pfn f = hd_ptables_host_frame(t->w.tables, app, vpn);
    uint64_t i = (f.v - HD_HOST_FRAME) / HD_LARGE_PAGES;
    uint32_t room = t->s->room;
    struct block *v;

    if (HD_LIKELY(i < room))
        return &thrash_blocks(t)[i];
    while (i >= room)
        room *= 2;
    v = thrash_memory(t, room, sizeof *v);
    if (v == NULL)
        return NULL;
    memcpy(v, thrash_blocks(t), t->s->room * sizeof *v);
    for (uint32_t k = t->s->room; k < room; k++)
        v[k].page = HD_NONE;
    t->s->block = hd_arena_ref(t->env->arena, v);
    t->s->room = room;
    return &v[i];
}

/* The pages of a block are looked at from now on. */
static void thrash_look_at(struct hd_thrash *t, struct block *b)
{
    struct page *v;

    if (b->page == HD_NONE) {
        v = thrash_memory(t, HD_LARGE_PAGES, sizeof *v);
        if (v == NULL)
            return;
        b->page = hd_arena_ref(t->env->arena, v);
    }
    b->looks = 1;
}

/* ---- states of a page --------------------------------------------------- */

/* Those of a bit set are throttled no more. */
static void thrash_throttle_end(struct page *p, uint32_t who)
{
    if ((p->throttled & who) == 0)
        return;
    p->throttled = (uint8_t)(p->throttled & ~who);
    if (p->throttled == 0)
        p->end = 0;
}

static void thrash_unpin(struct hd_thrash *t, struct block *b, struct page *p)
{
    if (p->pinned == NONE)
        return;
    p->pinned = NONE;
    t->s->pins--;
    b->pinned -= !t->w.cfg->as_released;
}

/* Nothing is known of it any more, but who is exempt and how often it was
 * throttled. */
static void thrash_forget(struct hd_thrash *t, struct block *b, struct page *p)
{
    thrash_throttle_end(p, p->throttled);
    thrash_unpin(t, b, p);
    b->n -= p->thrashes;
    p->last = p->first = 0;
    p->returns = 0;
    p->events = p->users = p->thrashes = p->out = 0;
}

/* A pin ends before its time. */
static void thrash_release(struct hd_thrash *t, uint32_t app, struct block *b,
                           struct page *p)
{
    if (p->pinned != NONE) {
        thrash_row(t, app)[HD_THRASH_RELEASED]++;
        t->s->released++;
    }
    thrash_forget(t, b, p);
}

static void thrash_detect(struct hd_thrash *t, uint32_t app, struct block *b,
                          struct page *p)
{
    if (p->thrashes)
        return;
    p->thrashes = 1;
    b->n++;
    thrash_row(t, app)[HD_THRASH_DETECTED]++;
}

/* ---- what happens ------------------------------------------------------- */

/* An event of a page that is looked at. */
static void thrash_count(struct hd_thrash *t, hd_time now, uint32_t app,
                         struct block *b, struct page *p, uint32_t by)
{
    hd_time last = p->last;

    thrash_row(t, app)[HD_THRASH_EVENTS]++;
    p->users |= (uint8_t)(1u << by);
    p->last = now;
    if (last == 0)
        return;
    if (now - last <= t->s->lapse[app]) {
        p->events += p->events < MOST_EVENTS;
        if (p->events < t->w.cfg->threshold)
            return;
        thrash_detect(t, app, b, p);
        b->thrashed = now;
    } else if (p->events >= t->w.cfg->threshold) {
        thrash_forget(t, b, p);
    }
}

/* A page has moved to `by`; one that is pinned was meant to. */
static void thrash_event(struct hd_thrash *t, hd_time now, uint32_t app,
                         hd_vpn vpn, uint32_t by)
{
    struct block *b = thrash_make(t, app, vpn);

    if (b == NULL)
        return;
    if (!b->looks && b->last != 0 && b->by != by &&
        now - b->last <= t->s->lapse[app])
        thrash_look_at(t, b);
    if (b->looks && thrash_page_of(t, b, vpn)->pinned != NONE)
        return;
    if (b->looks)
        thrash_count(t, now, app, b, thrash_page_of(t, b, vpn), by);
    b->last = now;
    b->by = by;
}

/* A page that was evicted returns. */
static void thrash_refault(struct hd_thrash *t, hd_time now, uint32_t app,
                           hd_vpn vpn)
{
    struct block *b = thrash_make(t, app, vpn);
    struct page *p;

    if (b == NULL || (b->looks == 0 && (thrash_look_at(t, b), b->looks == 0)))
        return;
    p = thrash_page_of(t, b, vpn);
    if (p->out) {
        p->out = 0;
        return;
    }
    thrash_row(t, app)[HD_THRASH_RETURNS]++;
    if (p->returns != 0 && now - p->first > t->refault && p->pinned == NONE)
        thrash_forget(t, b, p);
    if (p->returns == 0)
        p->first = now;
    if (++p->returns > t->w.refaults)
        thrash_detect(t, app, b, p);
}

/* Whether there are two copies of a page where it is read. */
static bool thrash_copied(const struct hd_thrash *t, uint32_t app, hd_vpn vpn)
{
    return (hd_ptables_advice(t->w.tables, app, vpn) &
            HEDDLE_ADVICE_READ_MOSTLY) != 0;
}

void hd_thrash_to_gpu(struct hd_thrash *t, hd_time now, uint32_t app,
                      hd_vpn vpn, bool before)
{
    if (t->w.how == HD_THRASH_REFAULT && before)
        thrash_refault(t, now, app, vpn);
    else if (t->w.how == HD_THRASH_DRIVER && thrash_copied(t, app, vpn))
        hd_thrash_forget(t, app, vpn, 1);
    else if (t->w.how == HD_THRASH_DRIVER)
        thrash_event(t, now, app, vpn, GPU);
}

void hd_thrash_to_host(struct hd_thrash *t, hd_time now, uint32_t app,
                       hd_vpn vpn)
{
    struct block *b;

    if (t->w.how == HD_THRASH_DRIVER) {
        if (thrash_copied(t, app, vpn))
            hd_thrash_forget(t, app, vpn, 1);
        else
            thrash_event(t, now, app, vpn, HOST);
        return;
    }
    b = thrash_make(t, app, vpn);
    if (b != NULL && !b->looks)
        thrash_look_at(t, b);
    if (b != NULL && b->looks)
        thrash_page_of(t, b, vpn)->out = 1;
}

void hd_thrash_forget(struct hd_thrash *t, uint32_t app, hd_vpn vpn,
                      uint64_t pages)
{
    for (uint64_t v = vpn.v; v < vpn.v + pages; v++) {
        struct block *b = thrash_find(t, app, (hd_vpn){v});
        if (b != NULL && b->looks)
            thrash_release(t, app, b, thrash_page_of(t, b, (hd_vpn){v}));
        else
            v |= HD_LARGE_PAGES - 1;
    }
}

/* ---- the hint ----------------------------------------------------------- */

/* Whether all processors that use a page can do so at a place. */
static bool thrash_usable_by_all(const struct heddle_q_thrash *q,
                                 uint32_t where)
{
    return where == HOST  ? q->far || !(q->users >> GPU & 1)
           : where == GPU ? !(q->users >> HOST & 1)
                          : false;
}

static int64_t thrash_answer(uint64_t where)
{
    return where == GPU ? HEDDLE_THRASH_GPU : HEDDLE_THRASH_HOST;
}

/* Of a pinned page whose place is not with the processor that touches it. */
static int64_t thrash_hint_pinned(const struct heddle_q_thrash *q)
{
    if (q->exempt == q->by)
        return thrash_answer(
            thrash_usable_by_all(q, (uint32_t)q->by) || !q->far ? q->by : HOST);
    if (q->pinned == q->by || (q->pinned == HOST && q->far))
        return thrash_answer(q->pinned);
    return HEDDLE_THRASH_THROTTLE;
}

/* The driver's, for a page that thrashes. */
static int64_t thrash_hint(const struct hd_thrash *t,
                           const struct heddle_q_thrash *q)
{
    if (thrash_usable_by_all(q, (uint32_t)q->place))
        return thrash_answer(q->place);
    if (q->pinned != NONE && q->by == q->place)
        return q->by == q->pinned || q->by == q->exempt
                   ? thrash_answer(q->by)
                   : HEDDLE_THRASH_THROTTLE;
    if (q->pinned != NONE)
        return thrash_hint_pinned(q);
    if (q->exempt != q->by)
        return HEDDLE_THRASH_THROTTLE;
    return q->throttlings >= t->w.cfg->pin_threshold ? thrash_answer(q->by)
                                                     : HEDDLE_THRASH_MIGRATE;
}

static int64_t thrash_default(void *self, const void *question)
{
    const struct hd_thrash *t = self;
    const struct heddle_q_thrash *q = question;

    if (q->thrashes)
        return thrash_hint(t, q);
    return q->returns > t->w.refaults && q->far && q->by == GPU
               ? HEDDLE_THRASH_HOST
               : HEDDLE_THRASH_MIGRATE;
}

/* What a question's rules say of an answer, NULL: nothing against it. */
static const char *thrash_wrong(const struct heddle_q_thrash *q, int64_t a)
{
    if (a == HEDDLE_THRASH_GPU && q->by == HOST)
        return "migrate, throttle or host: the host cannot use the GPU's "
               "memory";
    if (a == HEDDLE_THRASH_HOST && q->by == GPU && !q->far)
        return "migrate, throttle or gpu: the GPU cannot use this page on the "
               "host (far is 0)";
    if (a == HEDDLE_THRASH_THROTTLE && !q->thrashes)
        return "migrate, gpu or host: only a page that thrashes has periods";
    if (a == HEDDLE_THRASH_THROTTLE && q->exempt == q->by)
        return "migrate, gpu or host: the processor that is exempt in this "
               "period is not throttled";
    return NULL;
}

/* The votes change the lapse, as they are meant to.  False: they do not. */
static bool thrash_tune(const struct hd_thrash *t, int32_t votes,
                        hd_time *lapse)
{
    int32_t need = (int32_t)t->w.cfg->votes;

    if (votes >= need && *lapse < t->most)
        *lapse = hd_min_u64(*lapse + *lapse / 8, t->most);
    else if (votes <= -need && *lapse > t->least)
        *lapse = hd_max_u64(*lapse - *lapse / 8, t->least);
    else
        return false;
    return true;
}

/* As the release has it: any majority for less is a large unsigned number. */
static bool thrash_tune_released(const struct hd_thrash *t, int32_t votes,
                                 hd_time *lapse)
{
    uint32_t need = t->w.cfg->votes;

    if ((uint32_t)votes >= need && *lapse < t->most)
        *lapse += hd_min_u64(*lapse / 8, t->most / 10);
    else if (votes >= (int32_t)need && *lapse > t->least)
        *lapse -= hd_max_u64(*lapse / 8, t->least);
    else
        return false;
    return true;
}

/* The gap since the last event votes for the lapse. */
static void thrash_vote(struct hd_thrash *t, uint32_t app, hd_time gap)
{
    int32_t *votes = &t->s->votes[app];
    hd_time *lapse = &t->s->lapse[app];
    bool released = t->w.cfg->as_released != 0;

    if (t->w.cfg->lapse != LAPSE_US)
        return;
    *votes += gap < *lapse ? -1 : 1;
    if (released && (*votes < INT8_MIN || *votes > INT8_MAX))
        *votes = *votes < 0 ? INT8_MAX : INT8_MIN;
    if (!(released ? thrash_tune_released : thrash_tune)(t, *votes, lapse))
        return;
    *votes /= 2;
    thrash_row(t, app)[HD_THRASH_TUNED]++;
}

/* A touch begins a period, or is in one. */
static void thrash_period(const struct hd_thrash *t, hd_time now,
                          struct page *p, uint32_t by)
{
    if (now > p->end) {
        p->end = now + t->nap;
        p->exempt = (uint8_t)(p->exempt == by ? NONE : by);
    } else if (p->exempt == NONE) {
        p->exempt = (uint8_t)by;
    }
}

/* A block that has not thrashed for an epoch. */
static bool thrash_quiet(const struct hd_thrash *t, hd_time now,
                         const struct block *b)
{
    return b->thrashed != 0 && now - b->thrashed > t->epoch && !b->pinned &&
           b->resets < t->w.cfg->max_resets;
}

static void thrash_reset(struct hd_thrash *t, uint32_t app, struct block *b)
{
    struct page *v = thrash_page_of(t, b, (hd_vpn){0});

    memset(v, 0, HD_LARGE_PAGES * sizeof *v);
    b->looks = b->n = b->by = 0;
    b->last = b->thrashed = 0;
    b->resets++;
    thrash_row(t, app)[HD_THRASH_RESETS]++;
}

/* Pins a page at a place, because `by` has touched it and does not have it. */
static void thrash_pin(struct hd_thrash *t, hd_time now, uint32_t app,
                       struct block *b, hd_vpn vpn, uint32_t where, uint32_t by)
{
    struct page *p = thrash_page_of(t, b, vpn);

    if (p->pinned == NONE || where == by)
        thrash_throttle_end(p, p->throttled);
    if (p->pinned == NONE) {
        p->deadline = now + t->pin;
        p->throttlings = 0;
        b->pinned++;
        t->s->pins++;
        t->s->made++;
        thrash_row(t, app)[HD_THRASH_PINNED]++;
        if (t->pin != 0)
            hd_post(t->env->ev, t->rank, t->rank, p->deadline, 0, app, vpn.v);
    }
    p->pinned = (uint8_t)where;
}

static void thrash_throttle(struct hd_thrash *t, hd_time now, uint32_t app,
                            hd_vpn vpn, struct page *p, uint32_t by)
{
    struct hd_slots *s = t->env->slots;
    struct heddle_n_page_throttled n = {.app = app, .vpn = vpn.v, .by = by};

    thrash_row(t, app)[HD_THRASH_THROTTLED]++;
    if (p->throttled >> by & 1)
        return;
    p->throttled |= (uint8_t)(1u << by);
    p->throttlings += p->pinned == NONE && p->throttlings < MOST_THROTTLINGS;
    if (s == NULL || !s->watched[HEDDLE_NOTE_page_throttled])
        return;
    n.cycles = (p->end - hd_min_u64(now, p->end)) / t->cycle;
    hd_slots_note(s, HEDDLE_NOTE_page_throttled, &n);
}

/* Whether the page thrashes; if so its control takes this touch into account.
 */
static bool thrash_touch(struct hd_thrash *t, hd_time now, uint32_t app,
                         struct page *p, uint32_t by)
{
    if (p->events < t->w.cfg->threshold)
        return false;
    if (p->throttled >> by & 1)
        thrash_throttle_end(p, 1u << by);
    thrash_vote(t, app, now - p->last);
    if (now - p->last > t->s->lapse[app] && p->pinned == NONE)
        return false;
    p->users |= (uint8_t)(1u << by);
    thrash_period(t, now, p, by);
    return true;
}

enum heddle_thrash hd_thrash_ask(struct hd_thrash *t, hd_time now,
                                 enum heddle_processor by, uint32_t app,
                                 hd_vpn vpn, uint32_t pages, bool writes,
                                 bool can_map, hd_time *until)
{
    struct block *b = thrash_find(t, app, vpn);
    struct page *p;
    struct heddle_q_thrash q = {.by = by,
                                .app = app,
                                .vpn = vpn.v,
                                .pages = pages,
                                .writes = writes,
                                .far = can_map};
    int64_t a;
    const char *rule;

    if (b != NULL && b->looks && thrash_quiet(t, now, b))
        thrash_reset(t, app, b);
    if (b == NULL || !b->looks)
        return HEDDLE_THRASH_MIGRATE;
    p = thrash_page_of(t, b, vpn);
    *until = p->end;
    if (p->throttled >> by & 1 && now < p->end && p->exempt != by) {
        thrash_throttle(t, now, app, vpn, p, by);
        return HEDDLE_THRASH_THROTTLE;
    }
    q.thrashes = thrash_touch(t, now, app, p, by);
    q.events = p->events;
    q.returns = p->returns;
    q.throttlings = p->throttlings;
    q.users = p->users;
    q.exempt = q.thrashes ? p->exempt : NONE;
    q.pinned = p->pinned;
    q.place = hd_ptables_preferred(t->w.tables, app, vpn);
    a = hd_ask_thrash(&t->ask, &q);
    rule = thrash_wrong(&q, a);
    if (HD_UNLIKELY(rule != NULL)) {
        hd_slots_refuse(&t->ask, HEDDLE_POINT_thrash, &q, a, rule, t->env->err);
        a = HEDDLE_THRASH_MIGRATE;
    }
    if (a == HEDDLE_THRASH_THROTTLE)
        thrash_throttle(t, now, app, vpn, p, by);
    else if (a != HEDDLE_THRASH_MIGRATE)
        for (uint32_t i = 0; i < pages; i++)
            thrash_pin(t, now, app, b, (hd_vpn){vpn.v + i},
                       a == HEDDLE_THRASH_GPU ? GPU : HOST, by);
    else if (p->pinned != NONE)
        hd_thrash_forget(t, app, vpn, pages);
    *until = p->end;
    return (enum heddle_thrash)a;
}

hd_time hd_thrash_nap(const struct hd_thrash *t)
{
    return t->nap;
}

bool hd_thrash_has(const struct hd_thrash *t, uint32_t app, hd_vpn vpn)
{
    const struct page *p = thrash_page(t, app, vpn);

    return p != NULL && p->thrashes;
}

bool hd_thrash_on_host(const struct hd_thrash *t, uint32_t app, hd_vpn vpn)
{
    const struct page *p = thrash_page(t, app, vpn);

    return p != NULL && p->pinned == HOST;
}

void hd_thrash_set(const struct hd_thrash *t, uint32_t app, hd_vpn vpn,
                   uint64_t set[HD_THRASH_WORDS])
{
    const struct block *b = thrash_find(t, app, vpn);

    memset(set, 0, HD_THRASH_WORDS * sizeof *set);
    if (b == NULL || b->n == 0)
        return;
    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++)
        if (thrash_page_of(t, b, (hd_vpn){i})->thrashes)
            set[i / 64] |= 1ull << i % 64;
}

/* The time of a pin is over, if it is still that one. */
static void thrash_over(void *self, hd_time now, uint32_t what, uint32_t app,
                        uint64_t v)
{
    struct hd_thrash *t = self;
    struct block *b = thrash_find(t, app, (hd_vpn){v});
    struct page *p = thrash_page(t, app, (hd_vpn){v});

    (void)what;
    if (p == NULL || p->pinned == NONE || p->deadline != now)
        return;
    if (p->pinned == HOST)
        t->w.manager.unpin(t->w.manager.self, now, app, (hd_vpn){v});
    thrash_row(t, app)[HD_THRASH_UNPINNED]++;
    t->s->over++;
    thrash_forget(t, b, p);
}

/* ---- looking and checking ----------------------------------------------- */

static void thrash_look(void *self, uint32_t instance, struct heddle_visitor *v)
{
    static const char *const where[] = {"none", "gpu", "host"};
    const struct hd_thrash *t = self;
    uint32_t app;

    (void)instance;
    for (uint32_t i = 0; i < t->s->room; i++)
        for (uint32_t k = 0; thrash_blocks(t)[i].n != 0 && k < HD_LARGE_PAGES;
             k++) {
            const struct page *p =
                thrash_page_of(t, &thrash_blocks(t)[i], (hd_vpn){k});
            hd_vpn vpn;
            if (!p->thrashes)
                continue;
            vpn = hd_ptables_host_page(
                t->w.tables,
                (hd_pfn){HD_HOST_FRAME + (uint64_t)i * HD_LARGE_PAGES + k},
                &app);
            v->row(v->ud, "page");
            v->number(v->ud, "app", app);
            v->number(v->ud, "vpn", vpn.v);
            v->text(v->ud, "pinned", where[p->pinned]);
            v->number(v->ud, "throttlings", p->throttlings);
        }
}

static void thrash_check(void *self, uint32_t instance,
                         struct heddle_error *err)
{
    const struct hd_thrash *t = self;
    const struct state *s = t->s;
    uint32_t pins = 0;

    (void)instance;
    for (uint32_t i = 0; i < s->room; i++) {
        const struct block *b = &thrash_blocks(t)[i];
        uint32_t n = 0;
        for (uint32_t k = 0; b->looks && k < HD_LARGE_PAGES; k++) {
            const struct page *p = thrash_page_of(t, b, (hd_vpn){k});
            n += p->thrashes;
            pins += p->pinned != NONE;
            if (p->throttled & (~p->users | 1u << p->exempt))
                hd_err_set(err, HEDDLE_ECHECK,
                           "thrash: page %u of block %u: throttled are 0x%x, "
                           "of 0x%x, and %u is exempt",
                           k, i, p->throttled, p->users, p->exempt);
        }
        if (n != b->n)
            hd_err_set(err, HEDDLE_ECHECK,
                       "thrash: %u pages of block %u thrash, %u are counted", n,
                       i, b->n);
    }
    if (pins != s->pins || s->made != s->over + s->released + s->pins)
        hd_err_set(err, HEDDLE_ECHECK,
                   "thrash: of %llu pages that were pinned %llu pins expired, "
                   "and %llu were released early; %u are pinned, %u are "
                   "counted",
                   (unsigned long long)s->made, (unsigned long long)s->over,
                   (unsigned long long)s->released, pins, s->pins);
}

/* ---- building ----------------------------------------------------------- */

static hd_time thrash_us(const struct hd_thrash *t, uint64_t n)
{
    return hd_ticks_ns(t->env->clk, n * 1000);
}

static int thrash_take(struct hd_thrash *t)
{
    struct block *v = thrash_memory(t, FIRST_BLOCKS, sizeof *v);

    t->s = hd_arena_take(t->env->arena, 1, sizeof *t->s);
    if (v == NULL || t->s == NULL)
        return -1;
    for (uint32_t i = 0; i < FIRST_BLOCKS; i++)
        v[i].page = HD_NONE;
    t->s->block = hd_arena_ref(t->env->arena, v);
    t->s->room = FIRST_BLOCKS;
    return 0;
}

struct hd_thrash *hd_thrash_open(struct hd_env *env,
                                 const struct hd_thrash_wiring *w)
{
    struct hd_thrash *t = hd_env_take(env, 1, sizeof *t);
    uint64_t lapse = w->cfg->lapse;

    if (t == NULL)
        return NULL;
    t->env = env;
    t->w = *w;
    if (thrash_take(t) < 0)
        return NULL;
    for (uint32_t app = 0; app < HD_MAX_APPS; app++)
        t->s->lapse[app] = thrash_us(t, lapse);
    t->nap = thrash_us(t, lapse * w->cfg->nap);
    t->epoch = thrash_us(t, lapse * w->cfg->epoch);
    t->pin = thrash_us(t, lapse * w->cfg->pin);
    t->refault = hd_ticks_ns(env->clk, w->refault_ns);
    t->least = thrash_us(t, LEAST_LAPSE_US);
    t->most = thrash_us(t, MOST_LAPSE_US);
    t->cycle = hd_ticks(env->clk, HD_CLK_CORE, 1);
    t->stat = hd_stats_group(env->stats, &hd_rows_thrash, 1);
    t->rank = hd_events_component(env->ev, "thrash", thrash_over, t);
    hd_slots_offer(env->slots, HEDDLE_POINT_thrash, "", &t->ask, thrash_default,
                   t);
    hd_env_part(env, (struct hd_part){.name = "thrash",
                                      .instances = 1,
                                      .self = t,
                                      .look = thrash_look,
                                      .check = thrash_check});
    return t;
}
