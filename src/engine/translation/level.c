/*
 * level.c - levels of uTLBs that some cores share, between the L1 TLB of a core
 * and the unit below (l2tlb.c, or the walkers at once with l2tlb.mode=off).
 *
 * A GPU of NVIDIA translates in a uTLB of a TPC or an SM, a TLB of a GPC or
 * half of one, and one of all ("L1, L2, L3 uTLB" of Zhang et al., CCS 2023; the
 * same steps in the latencies of Karnagel et al., DaMoN 2017).  So up to three
 * levels are asked in turn, utlb1 by the cores, each with instances of its own
 * (levelgroups.c) and entries with sub-entries (subtlb.c).  A core may be
 * without a TLB of its own then (l1tlb.mode=off), as one whose L1 cache is
 * virtual (core/virtual.c); its MSHRs still merge the misses of a page.
 *
 * A request that arrives waits for the input (a blocked head, a port), is
 * looked up for `latency`, and is answered then if it hits.  A miss takes an
 * MSHR of the instance, or joins that of its page, and proceeds to the next
 * level when the look-up ends.  So a request that hits in level k takes the
 * look-ups of levels 1 to k, and nothing else but the way of its answer to the
 * core (walk.latency, as from the L2 TLB); walk.latency is also the way from
 * the last level to the unit. Everything of an arrival is done in its event, as
 * in l2tlb.c: a miss that finds no MSHR stays at the head of the input queue
 * and blocks all behind it.
 *
 * The first request of a page goes down itself, and keeps the number of its
 * MSHR in each level until its answer has come up there.  An answer fills every
 * level that it passes, with what the page table says then, and ends at once at
 * all levels; a walk fills the sub-entries of its line of the page table, too,
 * where `fill' says so.  Levels are neither inclusive nor exclusive: what an
 * upper one evicts may be below or not.
 *
 * A request whose page is not resident leaves the levels when that is found:
 * its MSHRs are free, those that had joined proceed to the unit on their own,
 * and the answer, when the page has come, goes to the core alone and fills
 * none.
 *
 * Invariants: a request waits in one MSHR at most as one that has joined; an
 * MSHR has the request that went down, and those that joined; what a sub-entry
 * holds equals the page table (--check).
 *
 * Policies: tlb_insert is asked of what an answer would fill, and replacement
 * of what leaves, each at the level's name.  The other points of TLBs have
 * nothing to decide here: no buffer is next to a level (tlb_keep), its entries
 * hold no runs (tlb_merge), and tlb_fill says where a walk's answer goes below.
 *
 * Left out: requests of copy engines, and prefetches, which go to the unit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "level.h"

#include "unit.h"

#define HD_PART    utlb1
#define HD_CFG     struct hd_level_cfg
#define HD_PART_OF "translation/utlb1.def"
#include "kit/rows.h"

#define HD_PART    utlb2
#define HD_CFG     struct hd_level_cfg
#define HD_PART_OF "translation/utlb2.def"
#include "kit/rows.h"

#define HD_PART    utlb3
#define HD_CFG     struct hd_level_cfg
#define HD_PART_OF "translation/utlb3.def"
#include "kit/rows.h"

enum hd_level_stat {
#define HD_COUNTERS_OF "translation/level.def"
#include "kit/rows.h"
    HD_LEVEL_STATS
};

static const char *const NAME[HD_LEVELS] = {"utlb1", "utlb2", "utlb3"};

/* Bytes of the page table that a walk's last read brings. */
enum { HD_LEVEL_LINE = 128 };

/* tlb_insert's number of utlb1; 0 to 2 are other TLBs (tlb.h). */
enum { HD_LEVEL_INSERT = 3 };

/* What an event of a level is: a request arrives, or its answer does. */
enum { LEVEL_ASKED, LEVEL_ANSWERED };

/* What the levels know of a request, by its number. */
struct level_request {
    hd_time arrived, looked;  /* in the level where it is */
    uint32_t next;            /* of the input queue, or of its MSHR's list */
    uint32_t held[HD_LEVELS]; /* the MSHR of each level, + 1; 0: none */
    hd_time left[HD_LEVELS];  /* when it went down from there */
};

struct level_state {
    hd_time port_at;    /* cycle in which look-ups began last */
    uint32_t port_used; /* how many */
    uint32_t in_first, in_last, in_count; /* input queue, when blocked */
    uint32_t in_looked; /* 1: its head has been looked up, and missed */
};

/* An instance of a level. */
struct hd_level {
    struct hd_levels *of;
    struct level_state *s; /* arena */
    struct hd_subtlb tlb;
    struct hd_mshr miss;
    struct hd_stat stat; /* row `instance` */
    struct hd_slot insert;
    uint32_t k, instance, rank;
};

/* What a core sends to. */
struct level_port {
    struct hd_levels *of;
    uint32_t core;
};

struct hd_levels {
    struct hd_env *env;
    struct hd_mmu *m;
    struct level_request *request;     /* arena: [treq] */
    struct level_port *port;           /* [core] */
    struct hd_level *level[HD_LEVELS]; /* [instance]; NULL: no such level */
    uint16_t *instance[HD_LEVELS];     /* [core] */
    uint32_t instances[HD_LEVELS];
    hd_time lookup[HD_LEVELS];
    hd_time tick; /* a core cycle */
    const struct hd_level_cfg *cfg[HD_LEVELS];
};

static inline uint64_t *level_row(const struct hd_level *l, uint32_t app)
{
    return hd_count_row(&l->stat, l->instance, app);
}

static inline struct hd_treq *level_treq(const struct hd_levels *v, uint32_t t)
{
    return &v->m->w.treqs->v[t];
}

/* The level below the k-th, or HD_LEVELS: the unit; -1: of the cores. */
static inline uint32_t level_next(const struct hd_levels *v, int k)
{
    uint32_t i = (uint32_t)(k + 1);

    while (i < HD_LEVELS && v->level[i] == NULL)
        i++;
    return i;
}

/* ---- down and up --------------------------------------------------------- */

/* A request leaves level k (-1: its core) at t. */
static void level_down(struct hd_levels *v, int k, hd_time t, uint32_t treq)
{
    uint32_t core = level_treq(v, treq)->core, i = level_next(v, k);
    struct hd_mmu *m = v->m;

    if (i < HD_LEVELS)
        hd_post(v->env->ev, m->port[core],
                v->level[i][v->instance[i][core]].rank, t, LEVEL_ASKED, treq,
                0);
    else
        hd_l2tlb_take(hd_mmu_unit(m, core), t, treq);
}

/* A request has its answer for `at`, from level k: it goes to the next one
 * above that it has an MSHR of, or to its core. */
static void level_up(struct hd_levels *v, uint32_t k, hd_time at, uint32_t treq,
                     uint32_t rank)
{
    const struct hd_treq *q = level_treq(v, treq);
    const struct hd_tclient *c = &v->m->w.clients[q->client];

    while (k-- > 0)
        if (v->request[treq].held[k] != 0) {
            hd_post(v->env->ev, rank, v->level[k][v->instance[k][q->core]].rank,
                    at, LEVEL_ANSWERED, treq, 0);
            return;
        }
    c->reply(c->self, at, treq);
}

/* ---- looking up ---------------------------------------------------------- */

/* A port for a look-up that is here now: when it begins. */
static hd_time level_port(struct hd_level *l, hd_time now)
{
    struct level_state *s = l->s;

    if (now >= s->port_at + l->of->tick) {
        s->port_at = now;
        s->port_used = 1;
    } else if (s->port_used < l->of->cfg[l->k]->ports) {
        s->port_used++;
    } else {
        s->port_at += l->of->tick;
        s->port_used = 1;
    }
    return hd_max_u64(now, s->port_at);
}

static struct hd_who level_who(const struct hd_treq *q)
{
    return (struct hd_who){q->app, q->warp};
}

/* Finds a page that is resident, or not at all. */
static enum hd_subtlb_found level_find(struct hd_level *l,
                                       const struct hd_treq *q, bool peek,
                                       struct hd_xlate *x)
{
    enum hd_subtlb_found f =
        hd_subtlb_find(&l->tlb, q->app, q->vpn, level_who(q), peek, x);

    if (f == HD_SUBTLB_HIT && !hd_l2tlb_resident(&l->of->m->unit[0], q, x))
        return HD_SUBTLB_TAG;
    return f;
}

static HD_APART void level_tell(const struct hd_level *l,
                                const struct hd_treq *q,
                                enum hd_subtlb_found found)
{
    struct heddle_n_utlb_lookup n = {
        .level = l->k + 1u,
        .instance = l->instance,
        .core = q->core,
        .app = q->app,
        .warp = q->warp,
        .vpn = q->vpn.v,
        .found = found == HD_SUBTLB_HIT   ? HEDDLE_UTLB_FOUND_HIT
                 : found == HD_SUBTLB_TAG ? HEDDLE_UTLB_FOUND_TAG
                                          : HEDDLE_UTLB_FOUND_MISS,
        .pc = q->pc};

    hd_slots_note(l->of->env->slots, HEDDLE_NOTE_utlb_lookup, &n);
}

/* A request hits with x, for `at`. */
static void level_hit(struct hd_level *l, hd_time at, uint32_t treq,
                      const struct hd_xlate *x)
{
    struct hd_treq *q = level_treq(l->of, treq);

    q->hit = HD_TREQ_HIT_L2;
    q->walk = 0;
    q->references = 0;
    q->x = *x;
    level_up(l->of, l->k, at, treq, l->rank);
}

/* A request that missed joins the MSHR of its page, or goes down with one of
 * its own.  False: none is free. */
static bool level_miss(struct hd_level *l, hd_time now, uint32_t treq)
{
    struct hd_levels *v = l->of;
    struct level_request *r = &v->request[treq];
    const struct hd_treq *q = level_treq(v, treq);
    hd_vpn first = hd_ptables_first(v->m->w.tables, q->app, q->vpn);
    uint64_t key = first.v | (uint64_t)q->app << 52;
    uint64_t *n = level_row(l, q->app);
    uint32_t e = hd_mshr_find(&l->miss, key);
    struct hd_mshr_entry *x;

    if (e == HD_NONE && hd_mshr_full(&l->miss)) {
        n[HD_LEVEL_MSHR_BLOCKS] += !l->s->in_looked;
        return false;
    }
    r->next = HD_NONE;
    n[HD_LEVEL_FULL_CYCLES] +=
        hd_unit_cycles(v->m, hd_max_u64(now, r->looked) - r->looked);
    r->looked = hd_max_u64(now, r->looked);
    if (e != HD_NONE) {
        x = &l->miss.v[e];
        if (x->first == HD_NONE)
            x->first = treq;
        else
            v->request[x->last].next = treq;
        x->last = treq;
        x->n++;
        n[HD_LEVEL_MERGES]++;
        return true;
    }
    e = hd_mshr_take(&l->miss, key);
    x = &l->miss.v[e];
    x->flags = treq; /* that went down: `next' of it is of the level below */
    x->n = 1;
    r->held[l->k] = e + 1;
    r->left[l->k] = r->looked;
    hd_unit_peak(&level_row(l, HD_APP_NONE)[HD_LEVEL_MSHR_PEAK],
                 hd_mshr_used(&l->miss));
    level_down(v, (int)l->k, r->looked, treq);
    return true;
}

/* Looks a request up.  False: it missed, and must wait at the head. */
static HD_INLINE bool level_admit(struct hd_level *l, hd_time now,
                                  uint32_t treq)
{
    struct hd_levels *v = l->of;
    struct level_request *r = &v->request[treq];
    const struct hd_treq *q = level_treq(v, treq);
    uint64_t *n = level_row(l, q->app);
    hd_time begin = level_port(l, now);
    enum hd_subtlb_found found;
    struct hd_xlate x;

    r->looked = begin + v->lookup[l->k];
    n[HD_LEVEL_INPUT_CYCLES] += hd_unit_cycles(v->m, begin - r->arrived);
    n[HD_LEVEL_LOOKUP_CYCLES] += hd_unit_cycles(v->m, v->lookup[l->k]);
    found = level_find(l, q, false, &x);
    if (HD_UNLIKELY(v->m->watched[HEDDLE_NOTE_utlb_lookup] != 0))
        level_tell(l, q, found);
    if (found == HD_SUBTLB_HIT) {
        n[HD_LEVEL_HITS]++;
        level_hit(l, r->looked, treq, &x);
        return true;
    }
    n[HD_LEVEL_MISSES]++;
    n[HD_LEVEL_SUB_MISSES] += found == HD_SUBTLB_TAG;
    return level_miss(l, now, treq);
}

/* Tries a head that missed before: its page may have come for another. */
static bool level_retry(struct hd_level *l, hd_time now, uint32_t treq)
{
    struct level_request *r = &l->of->request[treq];
    const struct hd_treq *q = level_treq(l->of, treq);
    struct hd_xlate x;

    if (level_find(l, q, true, &x) != HD_SUBTLB_HIT)
        return level_miss(l, now, treq);
    level_row(l, q->app)[HD_LEVEL_FULL_CYCLES] +=
        hd_unit_cycles(l->of->m, hd_max_u64(now, r->looked) - r->looked);
    level_hit(l, hd_max_u64(now, r->looked), treq, &x);
    return true;
}

static void level_arrive(struct hd_level *l, hd_time now, uint32_t treq)
{
    struct level_state *s = l->s;
    struct level_request *r = &l->of->request[treq];

    r->arrived = now;
    level_row(l, level_treq(l->of, treq)->app)[HD_LEVEL_REQUESTS]++;
    if (s->in_count == 0) {
        if (level_admit(l, now, treq))
            return;
        s->in_looked = 1;
        s->in_first = treq;
    } else {
        l->of->request[s->in_last].next = treq;
    }
    r->next = HD_NONE;
    s->in_last = treq;
    s->in_count++;
}

/* An MSHR came free. */
static void level_unblock(struct hd_level *l, hd_time now)
{
    struct level_state *s = l->s;

    while (s->in_count != 0) {
        uint32_t treq = s->in_first, next = l->of->request[treq].next;

        if (!(s->in_looked ? level_retry(l, now, treq)
                           : level_admit(l, now, treq))) {
            s->in_looked = 1;
            return;
        }
        s->in_first = next;
        s->in_looked = 0;
        s->in_count--;
    }
}

/* ---- filling ------------------------------------------------------------- */

static int64_t level_insert_default(void *level, const void *question)
{
    (void)level, (void)question;
    return HEDDLE_CACHE_INSERT_NORMAL;
}

/* What a policy says of x, which is about to enter. */
static HD_APART int64_t level_insert(const struct hd_level *l,
                                     const struct hd_treq *q,
                                     const struct hd_xlate *x, bool walked)
{
    struct heddle_q_tlb_insert ask = {.level = HD_LEVEL_INSERT + l->k,
                                      .cause = walked ? HEDDLE_INSERT_CAUSE_WALK
                                                      : HEDDLE_INSERT_CAUSE_HIT,
                                      .app = q->app,
                                      .core = q->core,
                                      .warp = q->warp,
                                      .vpn = q->vpn.v,
                                      .pages = x->page_pages,
                                      .pc = q->pc};

    return hd_ask_tlb_insert(&l->insert, &ask);
}

/* Fills the sub-entry of one page, which is that of x; last: a new entry for it
 * is the next victim. */
static void level_fill_page(struct hd_level *l, const struct hd_treq *q,
                            const struct hd_xlate *x, bool last)
{
    uint32_t evicted;

    level_row(l, q->app)[HD_LEVEL_FILLS] +=
        hd_subtlb_fill(&l->tlb, q->app, x, level_who(q), last, &evicted);
    if (evicted != HD_APP_NONE)
        level_row(l, evicted)[HD_LEVEL_EVICTIONS]++;
}

/* The others whose entries a walk has read with that of x: they are filled
 * where the tag is the same, and before it, so that its own is the most recent.
 */
static void level_fill_line(struct hd_level *l, const struct hd_treq *q,
                            const struct hd_xlate *x)
{
    const struct hd_levels *v = l->of;
    uint64_t step = x->page_pages, first;
    uint64_t group =
        hd_ptables_together(v->m->w.tables, x->page_pages, HD_LEVEL_LINE);
    struct hd_xlate y, near;

    first = x->vpn.v & ~(group - 1);
    for (uint64_t p = first; p < first + group; p += step) {
        hd_vpn at = {p};

        if (p != x->vpn.v &&
            hd_subtlb_find(&l->tlb, q->app, at, level_who(q), true, &near) ==
                HD_SUBTLB_TAG &&
            hd_ptables_find(v->m->w.tables, q->app, at, &y) &&
            y.page_pages == step &&
            hd_faults_here(v->m->w.faults, v->m->w.tables, q->app, at, &y))
            level_fill_page(l, q, &y, false);
    }
}

/* x is of a page of 512 MB: it becomes all of that. */
static HD_APART void level_huge(const struct hd_level *l,
                                const struct hd_treq *q, struct hd_xlate *x)
{
    hd_pfn first;

    if (!hd_ptables_huge(l->of->m->w.tables, q->app, x->vpn, &first))
        return;
    *x = (struct hd_xlate){{x->vpn.v & ~(uint64_t)(HD_HUGE_PAGES - 1)},
                           first,
                           HD_HUGE_PAGES,
                           HD_HUGE_PAGES};
}

/* What is there of a page that was asked for is as the page table says now; a
 * mapping may have changed since the answer left. */
static void level_fill(struct hd_level *l, const struct hd_treq *q, bool walked)
{
    const struct hd_levels *v = l->of;
    int64_t how = HEDDLE_CACHE_INSERT_NORMAL;
    struct hd_xlate x;

    if (!hd_ptables_find(v->m->w.tables, q->app, q->vpn, &x))
        return;
    if (HD_UNLIKELY(l->tlb.holds[HD_SUBTLB_512M]) &&
        x.page_pages == HD_LARGE_PAGES)
        level_huge(l, q, &x);
    if (!hd_subtlb_holds(&l->tlb, &x))
        return;
    if (HD_UNLIKELY(l->insert.bound != 0))
        how = level_insert(l, q, &x, walked);
    if (how == HEDDLE_CACHE_INSERT_SKIP)
        return;
    level_fill_page(l, q, &x, how == HEDDLE_CACHE_INSERT_LAST);
    if (walked && v->cfg[l->k]->fill == HD_LEVEL_FILL_LINE &&
        x.page_pages <= HD_LARGE_PAGES)
        level_fill_line(l, q, &x);
}

/* Gives an MSHR of a request back; the first of those that had joined it. */
static uint32_t level_release(struct hd_level *l, uint32_t treq)
{
    struct level_request *r = &l->of->request[treq];
    uint32_t e = r->held[l->k] - 1, joined = l->miss.v[e].first;

    hd_assert(l->miss.v[e].flags == treq);
    r->held[l->k] = 0;
    hd_mshr_give(&l->miss, e);
    return joined;
}

/* The answer to a request has come up to a level that had asked for it. */
static void level_answered(struct hd_level *l, hd_time now, uint32_t treq)
{
    struct hd_levels *v = l->of;
    const struct hd_treq *q = level_treq(v, treq);
    bool walked = q->hit >= HD_TREQ_MERGED;
    uint32_t t = level_release(l, treq), next;
    uint64_t *n = level_row(l, q->app);

    level_fill(l, q, walked);
    n[HD_LEVEL_BELOW_CYCLES] +=
        hd_unit_cycles(v->m, now - v->request[treq].left[l->k]);
    for (; t != HD_NONE; t = next) {
        struct level_request *r = &v->request[t];
        struct hd_treq *p = level_treq(v, t);

        next = r->next;
        n[HD_LEVEL_BELOW_CYCLES] +=
            hd_unit_cycles(v->m, hd_max_u64(now, r->looked) - r->looked);
        if (p->vpn.v - q->x.vpn.v < q->x.pages &&
            hd_l2tlb_resident(&v->m->unit[0], p, &q->x)) {
            p->hit = walked ? HD_TREQ_MERGED : HD_TREQ_HIT_L2;
            p->walk = q->walk;
            p->references = 0;
            p->x = q->x;
            hd_requesters_join(hd_mmu_unit(v->m, p->core), t, treq);
            level_up(v, l->k, hd_max_u64(now, r->looked), t, l->rank);
        } else { /* its page was split off, or is not resident */
            n[HD_LEVEL_PASSED]++;
            hd_l2tlb_take(hd_mmu_unit(v->m, p->core),
                          hd_max_u64(now, r->looked), t);
        }
    }
    level_up(v, l->k, now, treq, l->rank);
    level_unblock(l, now);
}

static void level_serve(void *self, hd_time now, uint32_t what, uint32_t treq,
                        uint64_t b)
{
    (void)b;
    if (what == LEVEL_ASKED)
        level_arrive(self, now, treq);
    else
        level_answered(self, now, treq);
}

/* ---- for the unit -------------------------------------------------------- */

bool hd_levels_answer(struct hd_levels *v, hd_time at, uint32_t treq,
                      uint32_t rank)
{
    const struct level_request *r = &v->request[treq];
    uint32_t held = 0;

    for (uint32_t k = 0; k < HD_LEVELS; k++)
        held |= r->held[k];
    if (held != 0)
        level_up(v, HD_LEVELS, at, treq, rank);
    return held != 0;
}

void hd_levels_leave(struct hd_levels *v, hd_time now, uint32_t treq)
{
    uint32_t core = level_treq(v, treq)->core;

    for (uint32_t k = HD_LEVELS; k-- > 0;) {
        struct hd_level *l;

        if (v->request[treq].held[k] == 0)
            continue;
        l = &v->level[k][v->instance[k][core]];
        for (uint32_t t = level_release(l, treq), next; t != HD_NONE;
             t = next) {
            hd_time from = hd_max_u64(now, v->request[t].looked);

            next = v->request[t].next;
            level_row(l, level_treq(v, t)->app)[HD_LEVEL_PASSED]++;
            hd_l2tlb_take(hd_mmu_unit(v->m, core), from, t);
        }
        level_unblock(l, now);
    }
}

void hd_levels_shoot(struct hd_levels *v, uint32_t app, hd_vpn vpn,
                     uint64_t pages, hd_time until)
{
    for (uint32_t k = 0; k < HD_LEVELS; k++)
        for (uint32_t i = 0; i < v->instances[k]; i++) {
            struct hd_level *l = &v->level[k][i];

            level_row(l, app)[HD_LEVEL_INVALIDATIONS] +=
                hd_subtlb_shoot(&l->tlb, app, vpn, pages);
            if (l->s->port_at < until) {
                l->s->port_at = until - hd_min_u64(until, v->tick);
                l->s->port_used = v->cfg[k]->ports;
            }
        }
}

/* ---- for the cores ------------------------------------------------------- */

static void level_take(void *port, hd_time now, uint32_t treq)
{
    const struct level_port *p = port;

    level_down(p->of, -1, now, treq);
}

static void level_take_now(void *port, hd_time now, uint32_t treq)
{
    const struct level_port *p = port;
    struct hd_levels *v = p->of;
    uint32_t k = level_next(v, -1);

    hd_cross(v->env, HD_BORDER_level);
    level_arrive(&v->level[k][v->instance[k][p->core]], now, treq);
}

static void level_notified(void *port, uint32_t treq)
{
    const struct level_port *p = port;

    hd_requesters_notified(hd_mmu_unit(p->of->m, p->core), treq);
}

/* Functional warming: an answer without time, and what it leaves. */
static uint32_t level_warm(void *port, const struct hd_treq *q,
                           struct hd_xlate *x)
{
    const struct level_port *p = port;
    struct hd_levels *v = p->of;
    uint32_t k = level_next(v, -1), hit;

    while (k < HD_LEVELS && level_find(&v->level[k][v->instance[k][p->core]], q,
                                       false, x) != HD_SUBTLB_HIT)
        k = level_next(v, (int)k);
    hit = k < HD_LEVELS ? HD_TREQ_HIT_L2
                        : hd_l2tlb_warm(hd_mmu_unit(v->m, p->core), q, x);
    while (k-- > 0)
        if (v->level[k] != NULL)
            level_fill(&v->level[k][v->instance[k][p->core]], q,
                       hit >= HD_TREQ_MERGED);
    return hit;
}

struct hd_tbelow hd_levels_below(struct hd_levels *v, uint32_t core)
{
    uint32_t second = level_next(v, (int)level_next(v, -1));
    bool waits = second < HD_LEVELS && v->lookup[second] != 0;

    return (struct hd_tbelow){level_take, waits ? level_take_now : NULL,
                              level_notified, &v->port[core], level_warm};
}

/* ---- looking inside ------------------------------------------------------ */

/* The k-th level is a part of its own; each has a place here. */
static struct hd_level *level_of(void *self, uint32_t i)
{
    struct hd_level *const *first = self; /* &hd_levels.level[k] */

    return &(*first)[i];
}

struct level_view {
    struct heddle_visitor *v;
    const struct hd_level *l;
};

static void level_look_entry(void *ud, uint32_t e, uint32_t app,
                             const struct hd_xlate *x)
{
    const struct level_view *w = ud;
    struct heddle_visitor *v = w->v;
    const struct hd_assoc *a = &w->l->tlb.tags;

    v->row(v->ud, "entry");
    v->number(v->ud, "set", e / a->ways);
    v->number(v->ud, "way", e % a->ways);
    v->number(v->ud, "app", app);
    v->number(v->ud, "vpn", x->vpn.v);
    v->number(v->ud, "pfn", x->pfn.v);
    v->number(v->ud, "pages", x->pages);
    v->number(v->ud, "depth", hd_assoc_depth(a, e));
}

static void level_look(void *self, uint32_t i, struct heddle_visitor *v)
{
    const struct hd_level *l = level_of(self, i);
    struct level_view w = {v, l};

    hd_subtlb_each(&l->tlb, level_look_entry, &w);
    for (uint32_t e = 0; e < l->miss.room; e++) {
        const struct hd_mshr_entry *x = &l->miss.v[e];
        const struct hd_treq *q;

        if (!x->live)
            continue;
        q = level_treq(l->of, x->flags);
        v->row(v->ud, "miss");
        v->number(v->ud, "app", q->app);
        v->number(v->ud, "vpn", q->vpn.v);
        v->number(v->ud, "core", q->core);
        v->number(v->ud, "warp", q->warp);
        v->number(v->ud, "requesters", x->n);
        v->number(
            v->ud, "since",
            hd_unit_cycles(l->of->m, l->of->request[x->flags].left[l->k]));
    }
}

static void level_stuck(void *self, uint32_t i, struct heddle_visitor *v)
{
    const struct hd_level *l = level_of(self, i);
    const struct hd_treq *q;

    if (hd_mshr_used(&l->miss) > 0) {
        uint32_t below = level_next(l->of, (int)l->k);

        hd_show_wait(v, NAME[l->k], i,
                     below < HD_LEVELS ? NAME[below] : "l2tlb");
        v->text(v->ud, "why", "its misses are not answered");
        v->number(v->ud, "n", hd_mshr_used(&l->miss));
    }
    if (l->s->in_count == 0)
        return;
    q = level_treq(l->of, l->s->in_first);
    hd_show_wait(v, NAME[l->k], i, "a free MSHR");
    v->number(v->ud, "app", q->app);
    v->number(v->ud, "vpn", q->vpn.v);
    v->number(v->ud, "n", l->s->in_count);
}

struct level_verdict {
    const struct hd_level *l;
    struct heddle_error *err;
};

/* What is held equals the page table's; an entry for 2 MB of a coalesced region
 * may hold pages that it has lost. */
static void level_check_entry(void *ud, uint32_t e, uint32_t app,
                              const struct hd_xlate *x)
{
    const struct level_verdict *c = ud;
    const struct hd_ptables *t = c->l->of->m->w.tables;
    struct hd_xlate y;

    (void)e;
    if (app < c->l->of->env->apps &&
        ((hd_ptables_find(t, app, x->vpn, &y) &&
          hd_xlate_frame(&y, x->vpn).v == x->pfn.v) ||
         (x->pages == HD_LARGE_PAGES && hd_ptables_large(t, app, x->vpn, &y) &&
          y.pfn.v == x->pfn.v)))
        return;
    hd_err_set(c->err, HEDDLE_ECHECK,
               "%s holds application %u, page 0x%llx in frame %llu: not what "
               "the page table says",
               NAME[c->l->k], app, (unsigned long long)x->vpn.v,
               (unsigned long long)x->pfn.v);
}

static void level_check(void *self, uint32_t i, struct heddle_error *err)
{
    const struct hd_level *l = level_of(self, i);
    const struct hd_levels *v = l->of;
    struct level_verdict c = {l, err};
    const char *wrong = hd_subtlb_check(&l->tlb);
    uint32_t n = 0;

    hd_subtlb_each(&l->tlb, level_check_entry, &c);
    if (wrong != NULL)
        hd_err_set(err, HEDDLE_ECHECK, "%s: %s", NAME[l->k], wrong);
    if (!hd_mshr_sane(&l->miss))
        hd_err_set(err, HEDDLE_ECHECK, "%s: the MSHRs' lists are broken",
                   NAME[l->k]);
    for (uint32_t e = 0; e < l->miss.room; e++) {
        const struct hd_mshr_entry *x = &l->miss.v[e];

        if (!x->live)
            continue;
        if (v->request[x->flags].held[l->k] != e + 1)
            hd_err_set(err, HEDDLE_ECHECK,
                       "%s: MSHR %u is of a request that has another",
                       NAME[l->k], e);
        n = 1;
        for (uint32_t t = x->first; t != HD_NONE; t = v->request[t].next)
            n++;
        if (n != x->n)
            hd_err_set(err, HEDDLE_ECHECK,
                       "%s: MSHR %u counts %u requests, %u wait", NAME[l->k], e,
                       x->n, n);
    }
    n = 0;
    for (uint32_t t = l->s->in_first; n < l->s->in_count && t != HD_NONE; n++)
        t = v->request[t].next;
    if (n != l->s->in_count || (n > 0 && !hd_mshr_full(&l->miss)))
        hd_err_set(err, HEDDLE_ECHECK,
                   "%s: %u requests are blocked, %u are counted, with %u of %u "
                   "MSHRs in use",
                   NAME[l->k], n, l->s->in_count, hd_mshr_used(&l->miss),
                   l->miss.room);
}

/* Policies were bound or unbound. */
static void level_bound(void *self)
{
    struct hd_level *const *first = self;
    struct hd_levels *v = (*first)->of;

    for (uint32_t i = 0; i < v->instances[(*first)->k]; i++)
        hd_assoc_bound(&(*first)[i].tlb.tags);
}

/* ---- building ------------------------------------------------------------ */

/* Level k and its instances.  0 or an error. */
static int level_open(struct hd_levels *v, uint32_t k)
{
    static const struct hd_rows *const ROWS[HD_LEVELS] = {
        &hd_rows_utlb1, &hd_rows_utlb2, &hd_rows_utlb3};
    struct hd_env *env = v->env;
    uint32_t cores = v->m->w.cores, n;
    struct hd_stat stat;

    v->instance[k] = hd_env_take(env, cores, sizeof *v->instance[k]);
    if (v->instance[k] == NULL)
        return hd_err_memory(env->err);
    n = hd_level_groups(v->cfg[k], NAME[k], cores,
                        env->nodes != NULL ? env->nodes->n : 1, v->instance[k],
                        env->err);
    if (n == 0)
        return env->err->code;
    v->level[k] = hd_env_take(env, n, sizeof *v->level[k]);
    if (v->level[k] == NULL)
        return hd_err_memory(env->err);
    v->instances[k] = n;
    v->lookup[k] = v->tick * v->cfg[k]->latency;
    stat = hd_stats_group(env->stats, ROWS[k], n);
    for (uint32_t i = 0; i < n; i++) {
        struct hd_level *l = &v->level[k][i];

        *l = (struct hd_level){.of = v, .stat = stat, .k = k, .instance = i};
        l->rank = hd_events_component(env->ev, "mmu", level_serve, l);
        l->s = hd_arena_take(env->arena, 1, sizeof *l->s);
        if (l->s == NULL ||
            hd_mshr_open(&l->miss, env->arena, v->cfg[k]->mshrs, 0) < 0)
            return hd_err_memory(env->err);
        if (hd_subtlb_open(&l->tlb, env, v->cfg[k], NAME[k], k, i) < 0)
            return env->err->code;
        hd_slots_offer(env->slots, HEDDLE_POINT_tlb_insert, NAME[k], &l->insert,
                       level_insert_default, l);
    }
    hd_env_part(env, (struct hd_part){.name = NAME[k],
                                      .instances = n,
                                      .self = &v->level[k],
                                      .look = level_look,
                                      .stuck = level_stuck,
                                      .check = level_check,
                                      .bound = level_bound});
    return 0;
}

struct hd_levels *
hd_levels_open(struct hd_env *env, struct hd_mmu *m,
               const struct hd_level_cfg *const cfg[HD_LEVELS])
{
    struct hd_levels *v = hd_env_take(env, 1, sizeof *v);

    if (v == NULL)
        return NULL;
    v->env = env;
    v->m = m;
    v->tick = hd_ticks(env->clk, HD_CLK_CORE, 1);
    v->request =
        hd_arena_take(env->arena, m->w.treqs->numbers.room, sizeof *v->request);
    v->port = hd_env_take(env, m->w.cores, sizeof *v->port);
    if (v->request == NULL || v->port == NULL)
        return NULL;
    for (uint32_t c = 0; c < m->w.cores; c++)
        v->port[c] = (struct level_port){v, c};
    for (uint32_t k = 0; k < HD_LEVELS; k++) {
        v->cfg[k] = cfg[k];
        if (cfg[k]->entries != 0 && level_open(v, k) != 0)
            return NULL;
    }
    return v;
}
