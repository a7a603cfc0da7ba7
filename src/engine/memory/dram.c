/*
 * dram.c - channels of DRAM: arrivals, classes, answers, waiting senders.
 *
 * A request is accepted at the command edge at or after its arrival and takes
 * part in scheduling from the next cycle on.  It is answered when its last
 * datum has passed.  Its bursts are in one row, since the map never cuts a
 * contiguous piece.  Which command is next says dramsched.c.
 *
 * An arrival changes only what issues after it, so it gets an entry and a place
 * in the channel's inbox, and joins its bank when commands are decided next:
 * up to its cycle, then it arrives, and so on.  This is observable only to a
 * sender that waits, a policy, or a request that is not normal; then commands
 * are decided at once.
 *
 * A channel posts one event at a time.  While no sender waits for room it comes
 * when the first answer could be due: a command that issues in cycle c has
 * no effect before c + CL + BL, so the event is that long after the next
 * command, and it decides all commands up to its own instant.  When a sender
 * waits for room, it comes when a slot could become free; when a policy answers
 * dram_pick, at every command, so that the policy is asked in time.  Where
 * commands are watched there is a second event, at every command, which decides
 * it and gives no answers: the watcher is notified in time, and nothing else
 * changes.
 *
 * A request is normal, silver or golden (dramclass.c); a plain system has only
 * normal ones.  With `shared` queues all classes share the places of a channel;
 * with `apart` each class has places of its own, and a request that finds none
 * waits, with those behind it in its sender's queue.
 *
 * Invariants: an event is posted whenever a request waits or an answer is
 * pending (wake is its instant); every answer is given at or before the
 * instant at which its data arrive; slots freed by a command of cycle c can
 * be taken by a request accepted in cycle c; each waiting request is in one
 * list, that of its bank and class, among the hits if and only if its row is
 * open, by age; what each bank offers is what its lists say.
 *
 * Modes other than full have no queues and no limit of bandwidth.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dram.h"

#include <string.h>

#include "drambus.h"

enum { EV_WAKE, EV_DONE, EV_TELL };
enum { WAITERS = 4096 };

#define HD_PART    dram
#define HD_CFG     struct hd_dram_cfg
#define HD_PART_OF "memory/dram.def"
#include "kit/rows.h"

enum {
#define HD_HISTS_OF "memory/dram.def"
#include "kit/rows.h"
};

/* Sets the fields of an entry that follow from its request. */
static inline void dram_describe(const struct hd_dram *d,
                                 const struct hd_req *r, struct hd_dramentry *v)
{
    uint32_t n = (r->bytes + d->map.burst - 1) >> d->map.burst_shift;

    v->app = (uint8_t)(r->app < d->others ? r->app : d->others);
    v->bursts = v->left = (uint16_t)(n != 0 ? n : 1);
    v->write = r->kind == HD_REQ_WRITE;
    v->walk = r->kind == HD_REQ_WALK;
}

HD_HOT void hd_dram_count(struct hd_dram *d, const struct hd_dramlane *l,
                          const struct hd_dramentry *v, uint32_t latency)
{
    uint64_t *c = l->count + v->app * ST_COUNT;

    c[ST_ROW_HITS] += !v->opened;
    c[ST_BUSY] += v->bursts * d->cfg.bl;
    c[v->walk ? ST_WALK_BURSTS : ST_DATA_BURSTS] += v->bursts;
    c[v->walk ? ST_WALKS : v->write ? ST_WRITES : ST_READS]++;
    if (!v->write)
        hd_hist_add(&(v->walk ? d->walk_latency : d->data_latency)[v->app],
                    latency);
}

/* ---- lists of waiting senders -------------------------------------------- */

static void dram_wait_push(struct hd_dram *d, struct hd_dramchan *ch,
                           uint32_t k, struct hd_dramwait w)
{
    uint32_t n = d->wait_free[0];

    if (n != HD_NONE)
        d->wait_free[0] = d->wait[n].next;
    else
        n = d->wait_free[1]++;
    hd_assert(n < WAITERS);
    d->wait[n] = w;
    d->wait[n].next = HD_NONE;
    if (ch->wait_first[k] == HD_NONE)
        ch->wait_first[k] = n;
    else
        d->wait[ch->wait_last[k]].next = n;
    ch->wait_last[k] = n;
    ch->waiters++;
}

/* Wakes the first sender that waits for a place, at `at`. */
static void dram_wait_pop(struct hd_dram *d, struct hd_dramchan *ch, uint32_t k,
                          hd_time at)
{
    uint32_t n = ch->wait_first[k];
    struct hd_dramwait w = d->wait[n];

    ch->wait_first[k] = w.next;
    d->wait[n].next = d->wait_free[0];
    d->wait_free[0] = n;
    ch->waiters--;
    hd_post(d->env->ev, d->id, w.who, at, w.what, w.a, 0);
}

void hd_dram_freed(struct hd_dram *d, const struct hd_dramlane *l,
                   uint32_t klass, uint64_t cycle)
{
    hd_time now = hd_events_now(d->env->ev);
    uint32_t k = d->apart ? klass : 0;

    if (l->ch->wait_first[k] != HD_NONE)
        dram_wait_pop(d, l->ch, k, hd_max_u64(now, cycle * d->tick));
}

/* ---- events -------------------------------------------------------------- */

/* Makes sure that the channel is woken at `at` or before. */
static inline void dram_wake_by(struct hd_dram *d, const struct hd_dramlane *l,
                                hd_time at)
{
    if (l->ch->wake <= at)
        return;
    l->ch->wake = at;
    hd_post(d->env->ev, d->id, d->id, at, EV_WAKE, l->c, 0);
}

/* Posts the next event of a channel whose commands are decided up to now. */
static void dram_schedule(struct hd_dram *d, const struct hd_dramlane *l,
                          hd_time now)
{
    const struct hd_dramchan *ch = l->ch;
    uint64_t at;

    if (ch->waiting == 0)
        return;
    hd_dram_plan(d, l);
    at = ch->plan_at + d->t.data[0];
    if (HD_UNLIKELY(d->pick.bound))
        at = ch->plan_at;
    else if (ch->waiters != 0)
        at = hd_min_u64(hd_dram_free_at(d, l), at);
    dram_wake_by(d, l, hd_max_u64(at * d->tick, now));
}

static inline void dram_answer(struct hd_dram *d, hd_time at, uint32_t req)
{
    const struct hd_req *r = &d->reqs->v[req];

    if (r->kind == HD_REQ_WRITE)
        hd_req_give(d->reqs, req);
    else
        d->clients[r->client].reply(d->clients[r->client].self, at, req);
}

/* Makes sure that commands are decided at `at` or before, for watchers. */
static void dram_tell_by(struct hd_dram *d, const struct hd_dramlane *l,
                         hd_time at)
{
    if (l->ch->tell <= at)
        return;
    l->ch->tell = at;
    hd_post(d->env->ev, d->id, d->id, at, EV_TELL, l->c, 0);
}

static HD_APART void dram_serve_tell(struct hd_dram *d,
                                     const struct hd_dramlane *l, hd_time now)
{
    struct hd_dramchan *ch = l->ch;

    if (now != ch->tell)
        return; /* an earlier event has taken its place */
    ch->tell = HD_NEVER;
    hd_dram_advance(d, l, hd_recip_div(d->per_tick, now));
    if (!d->watched || ch->waiting == 0)
        return;
    hd_dram_plan(d, l);
    if (ch->plan_at != HD_NEVER)
        dram_tell_by(d, l, ch->plan_at * d->tick);
}

static HD_HOT void dram_serve(void *self, hd_time now, uint32_t what,
                              uint32_t a, uint64_t b)
{
    struct hd_dram *d = self;
    const struct hd_dramlane *l;
    struct hd_dramchan *ch;

    (void)b;
    if (what == EV_DONE) {
        dram_answer(d, now, a);
        return;
    }
    l = &d->lane[a];
    if (HD_UNLIKELY(what == EV_TELL)) {
        dram_serve_tell(d, l, now);
        return;
    }
    ch = l->ch;
    if (now != ch->wake)
        return; /* an earlier event has taken its place */
    hd_dram_advance(d, l, hd_recip_div(d->per_tick, now));
    for (uint32_t i = 0; i < ch->done_n; i++)
        dram_answer(d,
                    hd_max_u64(l->done[i].cycle * d->tick, now) + d->behind,
                    l->done[i].req);
    ch->done_n = 0;
    ch->wake = HD_NEVER;
    dram_schedule(d, l, now);
}

/* ---- places -------------------------------------------------------------- */

/* Whether a class has a place. */
static inline bool dram_has_place(const struct hd_dram *d,
                                  const struct hd_dramlane *l, uint32_t klass)
{
    const struct hd_dramchan *ch = l->ch;

    if (HD_LIKELY(!d->apart))
        return ch->waiting < d->cfg.queue;
    return klass == GOLDEN   ? ch->klass[GOLDEN] < d->cfg.queue_golden
           : klass == SILVER ? ch->klass[SILVER] < d->cfg.queue_silver
                             : ch->waiting - ch->klass[SILVER] -
                                       ch->klass[GOLDEN] <
                                   d->cfg.queue;
}

/* Whether a request is taken, in the class k that it has; HD_NONE: normal. */
static inline bool dram_takes(struct hd_dram *d, const struct hd_dramlane *l,
                              uint32_t req, uint32_t *k)
{
    *k = NORMAL;
    if (HD_UNLIKELY(d->apart) && req != HD_NONE)
        *k = hd_dram_class_of(d, l, &d->reqs->v[req]);
    if (HD_LIKELY(dram_has_place(d, l, *k)))
        return true;
    hd_dram_advance_to_now(d, l);
    return dram_has_place(d, l, *k);
}

HD_HOT bool hd_dram_takes(struct hd_dram *d, uint32_t channel, uint32_t req)
{
    uint32_t k;

    hd_cross(d->env, HD_BORDER_dram);
    return dram_takes(d, &d->lane[channel], req, &k);
}

/* A sender that was woken may have another class by now, because turns change:
 * then the place that came free is for the next one that waits. */
static void dram_pass_on(struct hd_dram *d, const struct hd_dramlane *l)
{
    for (uint32_t k = 0; d->apart && k < CLASSES; k++)
        if (l->ch->wait_first[k] != HD_NONE && dram_has_place(d, l, k))
            dram_wait_pop(d, l->ch, k, hd_events_now(d->env->ev));
}

void hd_dram_wait(struct hd_dram *d, uint32_t channel, uint32_t req,
                  uint32_t who, uint32_t what, uint32_t a)
{
    const struct hd_dramlane *l = &d->lane[channel];
    struct hd_dramwait w = {who, what, a, HD_NONE};
    hd_time now = hd_events_now(d->env->ev);
    uint32_t k;

    hd_cross(d->env, HD_BORDER_dram);
    l->count[d->others * ST_COUNT + ST_QUEUE_FULL]++;
    if (dram_takes(d, l, req, &k)) {
        hd_post(d->env->ev, d->id, who, now, what, a, 0);
        return;
    }
    dram_wait_push(d, l->ch, k, w);
    dram_pass_on(d, l);
    if (l->ch->waiters == 1 || d->pick.bound)
        dram_schedule(d, l, now);
}

/* ---- arrivals ------------------------------------------------------------ */

/* Modes without queues: an answer after a constant time. */
static void dram_send_simple(struct hd_dram *d, const struct hd_dramlane *l,
                             hd_time now, uint32_t req)
{
    struct hd_dramentry v = {.opened = 1};
    uint32_t latency = d->latency;
    hd_time at = now;

    dram_describe(d, &d->reqs->v[req], &v);
    if (d->cfg.mode.kind == HD_IDEAL)
        latency += (v.bursts - 1u) * d->cfg.bl;
    if (d->cfg.mode.kind != HD_OFF)
        at = (hd_ceil_div(now, d->tick) + latency) * d->tick + d->behind;
    hd_dram_count(d, l, &v, latency);
    hd_post(d->env->ev, d->id, d->id, at, EV_DONE, req, 0);
}

/* Puts a request into the inbox of its channel. */
static inline void dram_put(struct hd_dram *d, const struct hd_dramlane *l,
                            uint32_t req, const struct hd_dramaddr *a,
                            uint64_t cycle)
{
    struct hd_dramchan *ch = l->ch;
    uint32_t e = ch->free;
    struct hd_dramentry *v = &l->entry[e];
    const struct hd_req *r = &d->reqs->v[req];

    ch->inbox[ch->inbox_n++] = (uint16_t)e;
    ch->free = v->next;
    hd_assert(ch->free != NO_ENTRY);
    dram_describe(d, r, v);
    v->row = a->row;
    v->age = ch->age++;
    v->accepted = cycle;
    v->req = req;
    v->bank = (uint8_t)a->bank;
    v->klass = r->dram_class;
    v->opened = 0;
    ch->waiting++;
    if (HD_UNLIKELY(v->klass != NORMAL))
        hd_dram_classed(d, l, v);
}

HD_HOT void hd_dram_send(struct hd_dram *d, hd_time now, uint32_t req)
{
    struct hd_req *r = &d->reqs->v[req];
    struct hd_dramaddr a = hd_dram_locate(d, r->app, r->pa.v);
    const struct hd_dramlane *l = &d->lane[a.channel];
    struct hd_dramchan *ch = l->ch;
    uint64_t cycle = hd_dram_edge(d, now);

    hd_cross(d->env, HD_BORDER_dram);
    r->queued = now;
    if (HD_UNLIKELY(!d->full)) {
        dram_send_simple(d, l, now, req);
        return;
    }
    if (HD_UNLIKELY(!d->quiet || (r->flags & HD_REQ_CLASSED) != 0)) {
        r->dram_class = (uint8_t)hd_dram_class_of(d, l, r);
        if (d->watched)
            dram_tell_by(d, l, (cycle + 1) * d->tick);
    } else {
        r->dram_class = NORMAL;
    }
    dram_put(d, l, req, &a, cycle);
    if (HD_UNLIKELY((d->pick.bound | ch->waiters | r->dram_class) != 0)) {
        ch->offered = 0;
        hd_dram_advance(d, l, cycle);
        dram_pass_on(d, l);
        /* time alone frees no place earlier for senders that wait */
        if (d->pick.bound != 0 || (ch->waiters != 0 && ch->offered))
            dram_schedule(d, l, now);
        if ((d->pick.bound | ch->waiters) != 0)
            return;
    } else if (HD_UNLIKELY((ch->inbox_n == INBOX) | d->watched)) {
        hd_dram_advance(d, l, cycle);
    }
    dram_wake_by(d, l, (cycle + 1 + d->t.data[0]) * d->tick);
}

/* Wipes stale entries, so that equal states have equal bits (snapshots). */
static void dram_sync(void *self, hd_time now)
{
    struct hd_dram *d = self;
    uint64_t cycle = hd_recip_div(d->per_tick, now);

    for (uint32_t c = 0; c < d->cfg.channels; c++) {
        const struct hd_dramlane *l = &d->lane[c];
        if (d->full)
            hd_dram_advance(d, l, cycle);
        memset(l->ch->inbox, 0, sizeof l->ch->inbox);
        l->ch->offered = 0;
        l->count[d->others * ST_COUNT + ST_CYCLES] += cycle - l->ch->counted;
        l->ch->counted = cycle;
    }
}

/* ---- building ------------------------------------------------------------ */

static void dram_empty_lists(struct hd_dram *d, const struct hd_dramlane *l)
{
    const struct hd_dramlist none = {NO_ENTRY, NO_ENTRY};
    struct hd_dramchan *ch = l->ch;

    for (uint32_t b = 0; b < d->cfg.banks; b++) {
        struct hd_drambank *k = &l->bank[b];
        k->group = (uint8_t)(b / (d->cfg.banks / d->cfg.groups));
        for (uint32_t i = 0; i < CLASSES; i++)
            k->hits[i] = k->rest[i] = none;
    }
    for (uint32_t e = 0; e < d->places; e++)
        l->entry[e].next = (uint16_t)(e + 1);
    l->entry[d->places].next = NO_ENTRY;
    ch->free_last = (uint16_t)d->places;
    ch->golden = none;
    for (uint32_t i = 0; i < CLASSES; i++)
        ch->wait_first[i] = HD_NONE;
    ch->wake = ch->tell = HD_NEVER;
    ch->ref_at = hd_dram_trefi(&d->cfg);
    hd_dram_decided(d, l, 0);
}

static int dram_take_state(struct hd_dram *d)
{
    struct hd_arena *a = d->env->arena;

    /* Answers are given no later than data[0] cycles after the first command
     * that can lead to one, and a cycle has one command. */
    d->ring = d->t.data[0] + 8u;
    d->wait = hd_arena_take(a, WAITERS, sizeof *d->wait);
    d->wait_free = hd_arena_take(a, 2, sizeof *d->wait_free);
    d->lane = hd_env_take(d->env, d->cfg.channels, sizeof *d->lane);
    if (d->lane == NULL || d->wait == NULL || d->wait_free == NULL ||
        d->stat.v == NULL)
        return -1;
    d->wait_free[0] = HD_NONE;
    for (uint32_t c = 0; c < d->cfg.channels; c++) {
        struct hd_dramlane *l = &d->lane[c];
        l->c = c;
        l->count = hd_count_row(&d->stat, c, 0);
        l->ch = hd_arena_take(a, 1, sizeof *l->ch);
        l->bank = hd_arena_take(a, d->cfg.banks, sizeof *l->bank);
        l->entry = hd_arena_take(a, d->places + 1, sizeof *l->entry);
        l->done = hd_arena_take(a, d->ring, sizeof *l->done);
        if (l->ch == NULL || l->bank == NULL || l->entry == NULL ||
            l->done == NULL)
            return -1;
        dram_empty_lists(d, l);
    }
    return 0;
}

static void dram_offer_slot(struct hd_dram *d, enum heddle_point p,
                            struct hd_slot *slot, heddle_answer *fn)
{
    *slot = (struct hd_slot){fn, d, 0};
    if (d->env->slots != NULL)
        hd_slots_offer(d->env->slots, p, "dram", slot, fn, d);
}

/* Policies and watchers were bound or unbound. */
static void dram_bound(void *self)
{
    struct hd_dram *d = self;
    const struct hd_slots *slots = d->env->slots;

    d->watched = slots != NULL && slots->watched[HEDDLE_NOTE_dram_command] != 0;
    if (HD_FAST)
        d->fast = d->t.modern ? hd_fast_dram_advance_modern
                              : hd_fast_dram_advance;
    d->quiet = d->full && d->cfg.page == 0 &&
               d->cfg.scheduler == HD_DRAM_HIT_FIRST && d->watch == NULL &&
               d->check == NULL && hd_slots_quiet(slots, "dram");
}

static void dram_settle(struct hd_dram *d)
{
    static const struct hd_steer unsteered; /* where there are no policies */
    const struct hd_dram_cfg *c = &d->cfg;
    struct hd_env *env = d->env;

    hd_dram_time(&d->t, c);
    d->row_rank =
        c->scheduler == HD_DRAM_READY_FIRST ? 0 : 1ull << KEY_RANK;
    d->full = c->mode.kind == HD_FULL;
    d->apart = c->queues && d->full;
    d->others = env->stats->apps;
    d->steer = env->slots != NULL ? env->slots->steer : &unsteered;
    d->tick = hd_ticks(env->clk, HD_CLK_DRAM, 1);
    d->idle = hd_ticks(env->clk, HD_CLK_CORE, c->turn_idle);
    if (c->mode.kind != HD_FIXED)
        d->behind = hd_ticks(env->clk, HD_CLK_CORE, c->latency);
    d->places = c->queue;
    if (c->queues)
        d->places += c->queue_silver + c->queue_golden;
    d->per_tick = hd_recip_of(d->tick);
    if (c->mode.kind == HD_IDEAL)
        d->latency = 1 + c->cl + c->bl;
    else if (c->mode.kind == HD_FIXED)
        d->latency = c->mode.fixed;
    d->stat = hd_stats_group(env->stats, &hd_rows_dram, c->channels);
    d->data_latency = hd_stats_hist(env->stats, &hd_rows_dram, DATA_LATENCY);
    d->walk_latency = hd_stats_hist(env->stats, &hd_rows_dram, WALK_LATENCY);
}

/* Splits the channels: node or application a has those from a * own on. */
static int dram_share_channels(struct hd_dram *d)
{
    uint32_t apps = d->env->apps, channels = d->cfg.channels;

    d->own = channels;
    if (d->env->nodes != NULL)
        d->own = channels / d->env->nodes->n;
    if (!d->cfg.partition)
        return 0;
    if (channels % apps != 0)
        return hd_err_set(d->env->err, HEDDLE_ECONFIG,
                          "dram.partition: %u channels cannot be shared "
                          "equally by %u applications",
                          channels, apps);
    d->own = channels / apps;
    return 0;
}

struct hd_dram *hd_dram_open(struct hd_env *env, const struct hd_dram_cfg *cfg,
                             struct hd_reqs *reqs, struct hd_client *clients)
{
    struct hd_dram_cfg spread;
    struct hd_dram *d;

    if (hd_dram_cfg_check(cfg, hd_dram_burst(cfg), env->err) != 0)
        return NULL;
    d = hd_env_take(env, 1, sizeof *d);
    if (d == NULL)
        return NULL;
    d->env = env;
    d->cfg = *cfg;
    d->reqs = reqs;
    d->clients = clients;
    dram_settle(d);
    if (dram_share_channels(d) != 0)
        return NULL;
    spread = *cfg;
    spread.channels = d->own;
    hd_drammap_init(&d->map, &spread, env->err);
    if (dram_take_state(d) != 0 ||
        (env->check &&
         (d->check = hd_dramcheck_open(env, cfg)) == NULL))
        return NULL;
    d->id = hd_events_component(env->ev, "dram", dram_serve, d);
    dram_offer_slot(d, HEDDLE_POINT_dram_class, &d->klass,
                    hd_dram_class_default);
    dram_offer_slot(d, HEDDLE_POINT_dram_turn, &d->turn, hd_dram_turn_default);
    dram_offer_slot(d, HEDDLE_POINT_dram_pick, &d->pick, hd_dram_pick_default);
    dram_bound(d);
    hd_env_part(env, (struct hd_part){.name = "dram",
                                      .instances = cfg->channels,
                                      .self = d,
                                      .look = hd_dram_look,
                                      .stuck = hd_dram_stuck,
                                      .check = hd_dram_check,
                                      .sync = dram_sync,
                                      .bound = dram_bound});
    return d;
}

uint32_t hd_dram_channels(const struct hd_dram *d)
{
    return d->cfg.channels;
}

uint32_t hd_dram_own(const struct hd_dram *d)
{
    return d->own;
}

HD_APART uint32_t hd_dram_home(const struct hd_dram *d, uint32_t app,
                               uint64_t *pa)
{
    if (d->env->nodes != NULL)
        return hd_nodes_local(d->env->nodes, pa) * d->own;
    return app < d->env->apps ? app * d->own : 0;
}

uint32_t hd_dram_lane(const struct hd_dram *d, uint32_t app, hd_pa pa)
{
    return hd_dram_locate(d, app, pa.v).channel;
}

uint32_t hd_dram_channel(const struct hd_dram *d, hd_pa pa)
{
    return hd_drammap_channel(&d->map, pa.v);
}

bool hd_dram_hashes(const struct hd_dram *d)
{
    return d->map.hash.size != 0;
}

uint32_t hd_dram_plain_channel(const struct hd_dram *d, hd_pa pa)
{
    return hd_drammap_plain_channel(&d->map, pa.v);
}

void hd_dram_watch(struct hd_dram *d, hd_dram_watcher *fn, void *self)
{
    d->watch = fn;
    d->watch_self = self;
    dram_bound(d);
}
