/*
 * dram.c - channels of DRAM: arrivals, answers, waiting senders, counters.
 *
 * A request is accepted at the command edge at or after its arrival and takes
 * part in scheduling from the next cycle on.  It is answered when its last
 * datum has passed.  Its bursts lie in one row, since the map never cuts a
 * contiguous piece.
 *
 * An arrival changes only what issues after it, so it gets an entry and a place
 * in the channel's inbox, and joins its bank when commands are decided next:
 * up to its cycle, then it arrives, and so on (dramsched.c).  Nobody can tell,
 * except for a sender that waits, a policy, or a request that is not normal;
 * then commands are decided at once.
 *
 * A channel posts one event at a time.  While nobody waits for room it comes
 * when the first answer could be due: a command that issues in cycle c is not
 * felt before c + CL + BL, so the event lies that far behind the next command,
 * and it decides all commands up to its own instant.  When a sender waits for
 * room, it comes when a slot could become free; when a policy answers
 * dram_pick, at every command, so that the policy is asked in time.
 *
 * Invariants: an event is posted whenever a request waits or an answer is
 * pending (wake is its instant); every answer is given at or before the
 * instant at which its data arrive; slots freed by a command of cycle c can
 * be taken by a request accepted in cycle c.
 *
 * Modes other than full have no queues and no limit of bandwidth.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dram.h"

#include <stdlib.h>
#include <string.h>

#include "drambank.h"
#include "dramcheck.h"
#include "dramcount.h"
#include "dramtime.h"

enum { EV_WAKE, EV_DONE };
enum { WAITERS = 4096 };
enum { LONG_IDLE = 31 }; /* log2 of command cycles */

/* Where there are no policies. */
static const struct hd_steer unsteered;

/* ---- lists of waiting senders ------------------------------------------- */

static void wait_push(struct hd_dram *d, struct hd_dramchan *ch, uint32_t k,
                      struct hd_dramwait w)
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

static struct hd_dramwait wait_pop(struct hd_dram *d, struct hd_dramchan *ch,
                                   uint32_t k)
{
    uint32_t n = ch->wait_first[k];
    struct hd_dramwait w = d->wait[n];

    ch->wait_first[k] = w.next;
    d->wait[n].next = d->wait_free[0];
    d->wait_free[0] = n;
    ch->waiters--;
    return w;
}

/* ---- events -------------------------------------------------------------- */

/* Makes sure that the channel is woken at `at` or before. */
static HD_INLINE void wake_by(struct hd_dram *d, uint32_t c, hd_time at)
{
    struct hd_dramchan *ch = d->lane[c].ch;

    if (ch->wake <= at)
        return;
    ch->wake = at;
    hd_post(d->env->ev, d->id, d->id, at, EV_WAKE, c, 0);
}

/* When the next event of a channel is due whose commands are decided up to
 * now. */
static HD_INLINE hd_time due(struct hd_dram *d, uint32_t c, hd_time now)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    uint64_t at;

    if (!ch->planned)
        hd_dramsched_plan(d, c);
    at = ch->plan_at + d->t.data[0];
    if (HD_UNLIKELY((d->pick.bound | ch->waiters) != 0))
        at = d->pick.bound ? ch->plan_at
                           : hd_min_u64(hd_dramsched_free_at(d, c), at);
    return hd_max_u64(at * d->tick, now);
}

static HD_INLINE void schedule(struct hd_dram *d, uint32_t c, hd_time now)
{
    if (d->lane[c].ch->waiting != 0)
        wake_by(d, c, due(d, c, now));
}

/*
 * The same while senders have been waiting since the event was posted.  Time
 * alone brings nothing forward: no slot becomes free before the cycle that was
 * found then, unless an arrival has something new to offer.  (Of a refresh that
 * has come to be next, free_at says no more than its cycle; it frees nothing.)
 */
static HD_INLINE void reschedule(struct hd_dram *d, uint32_t c, hd_time now)
{
    if (d->pick.bound != 0 || d->lane[c].ch->offered)
        schedule(d, c, now);
    else
        hd_assert(d->lane[c].ch->waiting == 0 ||
                  due(d, c, now) >= d->lane[c].ch->wake ||
                  d->lane[c].ch->plan_kind >= HD_DRAM_PREA);
}

static inline void answer(struct hd_dram *d, hd_time at, uint32_t req)
{
    const struct hd_req *r = &d->reqs->v[req];

    if (r->kind == HD_REQ_WRITE)
        hd_req_give(d->reqs, req);
    else
        d->clients[r->client].reply(d->clients[r->client].self, at, req);
}

static void serve(struct hd_dram *d, hd_time now, uint32_t c)
{
    struct hd_dramchan *ch = d->lane[c].ch;

    if (now != ch->wake)
        return; /* an earlier event has taken its place */
    hd_dramsched_advance(d, c, hd_recip_div(d->per_tick, now));
    for (uint32_t i = 0; i < ch->done_n; i++) {
        const struct hd_dramdone *done = &d->lane[c].done[i];
        answer(d, hd_max_u64(done->cycle * d->tick, now), done->req);
    }
    ch->done_n = 0;
    ch->wake = HD_NEVER;
    schedule(d, c, now);
}

static HD_HOT void handle(void *self, hd_time now, uint32_t what, uint32_t a,
                          uint64_t b)
{
    (void)b;
    if (what == EV_WAKE)
        serve(self, now, a);
    else
        answer(self, now, a);
}

void hd_dram_freed(struct hd_dram *d, uint32_t c, uint32_t klass,
                   uint64_t cycle)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    uint32_t k = d->cfg.queues ? klass : 0;
    hd_time now = hd_events_now(d->env->ev);
    struct hd_dramwait w;

    if (ch->wait_first[k] == HD_NONE)
        return;
    w = wait_pop(d, ch, k);
    hd_post(d->env->ev, d->id, w.who, hd_max_u64(now, cycle * d->tick), w.what,
            w.a, 0);
}

/* ---- arrivals ------------------------------------------------------------ */

/* Modes without queues: an answer after a constant time. */
static void send_simple(struct hd_dram *d, uint32_t c, hd_time now,
                        uint32_t req, struct hd_req *r)
{
    struct hd_dramentry v = {.opened = 1};
    uint32_t latency = d->latency;
    hd_time at = now;

    hd_dramcount_describe(d, r, &v);
    if (d->cfg.mode.kind == HD_IDEAL)
        latency += (v.bursts - 1u) * d->cfg.bl;
    if (d->cfg.mode.kind != HD_OFF)
        at = (hd_ceil_div(now, d->tick) + latency) * d->tick;
    r->queued = now;
    hd_dramcount_ended(d, &d->lane[c], &v, latency);
    hd_post(d->env->ev, d->id, d->id, at, EV_DONE, req, 0);
}

/* The command edge at or after an instant. */
static inline uint64_t edge_at(const struct hd_dram *d, hd_time now)
{
    uint64_t down = hd_recip_div(d->per_tick, now);

    return down + (down * d->tick != now);
}

/* A sender that was woken may have another class by now, because turns change:
 * then the place that came free is for the next one that waits. */
static void pass_on(struct hd_dram *d, uint32_t c)
{
    struct hd_dramchan *ch = d->lane[c].ch;

    for (uint32_t k = 0; k < CLASSES; k++)
        if (ch->wait_first[k] != HD_NONE && hd_dramclass_places(d, c, k) > 0) {
            struct hd_dramwait w = wait_pop(d, ch, k);
            hd_post(d->env->ev, d->id, w.who, hd_events_now(d->env->ev), w.what,
                    w.a, 0);
        }
}

/* A silver or golden request has arrived. */
static HD_APART void urgent(struct hd_dram *d, uint32_t c,
                            const struct hd_dramentry *v)
{
    uint32_t k = v->klass;

    d->lane[c].ch->klass[k]++;
    hd_count_row(&d->stat, c, v->app)[k == 1 ? ST_SILVER : ST_GOLDEN]++;
    if (k == 1)
        hd_dramclass_silver(d, c);
}

/* Puts a request into the inbox of its channel. */
static HD_INLINE struct hd_dramentry *
put(struct hd_dram *d, const struct hd_dramlane *l, uint32_t req,
    const struct hd_dramaddr *a, uint64_t cycle)
{
    struct hd_dramchan *ch = l->ch;
    uint32_t e = ch->free;
    struct hd_dramentry *v = &l->entry[e];
    const struct hd_req *r = &d->reqs->v[req];

    ch->inbox[ch->inbox_n++] = (uint16_t)e;
    ch->free = v->next;
    hd_assert(ch->free != NO_ENTRY);
    hd_dramcount_describe(d, r, v);
    v->row = a->row;
    v->age = (uint32_t)ch->age++;
    v->accepted = (uint32_t)cycle;
    v->req = req;
    v->bank = (uint8_t)a->bank;
    v->klass = r->dram_class;
    v->opened = 0;
    ch->waiting++;
    return v;
}

/* hd_dram_send, whatever is set. */
static HD_APART void send_any(struct hd_dram *d, hd_time now, uint32_t req)
{
    struct hd_req *r = &d->reqs->v[req];
    struct hd_dramaddr a = hd_drammap_locate(&d->map, r->pa.v);
    uint32_t c = a.channel + hd_dram_home(d, r->app), klass;
    struct hd_dramchan *ch = d->lane[c].ch;
    uint64_t cycle = edge_at(d, now);
    const struct hd_dramentry *v;

    if (HD_UNLIKELY(d->cfg.mode.kind != HD_FULL)) {
        send_simple(d, c, now, req, r);
        return;
    }
    r->queued = now;
    klass = hd_dramclass_may(d, c, r);
    if (klass != 0 || (cycle + 1 - ch->floor) >> LONG_IDLE != 0)
        hd_dramsched_advance(d, c, cycle);
    if (klass != 0)
        klass = hd_dramclass_is(d, c, r, klass);
    r->dram_class = (uint8_t)klass;
    v = put(d, &d->lane[c], req, &a, cycle);
    if (klass != 0)
        urgent(d, c, v);
    ch->offered = 0;
    hd_dramsched_advance(d, c, cycle);
    if (d->cfg.queues != 0 && ch->waiters != 0)
        pass_on(d, c);
    if (d->pick.bound != 0 || ch->waiters != 0)
        reschedule(d, c, now);
    else
        wake_by(d, c, (cycle + 1 + d->t.data[0]) * d->tick);
}

HD_HOT void hd_dram_send(struct hd_dram *d, hd_time now, uint32_t req)
{
    struct hd_req *r = &d->reqs->v[req];
    struct hd_dramaddr a = hd_drammap_locate(&d->map, r->pa.v);
    struct hd_dramchan *ch = d->lane[a.channel].ch;
    uint64_t cycle = edge_at(d, now);

    /* A setting, a policy, a sender that waits, a class, or a channel that has
     * been idle for so long that 32 bits do not say when: one test. */
    if (HD_UNLIKELY((d->odd | d->pick.bound | d->klass.bound | ch->waiters |
                     (r->flags & HD_REQ_CLASSED) |
                     d->steer->dram_class[r->app % HD_MAX_APPS][r->level % 8] |
                     (cycle + 1 - ch->floor) >> LONG_IDLE) != 0)) {
        send_any(d, now, req);
        return;
    }
    r->queued = now;
    r->dram_class = 0;
    put(d, &d->lane[a.channel], req, &a, cycle);
    if (HD_UNLIKELY(ch->inbox_n == INBOX))
        hd_dramsched_advance(d, a.channel, cycle);
    wake_by(d, a.channel, (cycle + 1 + d->t.data[0]) * d->tick);
}

/* The class of a request; `apart` queues. */
static uint32_t class_of(struct hd_dram *d, uint32_t c, struct hd_req *r)
{
    uint32_t k = hd_dramclass_may(d, c, r);

    return k == 0 ? 0 : hd_dramclass_is(d, c, r, k);
}

/* Whether a class has a place; `apart` queues. */
static bool place_of(struct hd_dram *d, uint32_t c, uint32_t klass)
{
    if (hd_dramclass_places(d, c, klass) > 0)
        return true;
    hd_dramsched_advance(d, c, edge_at(d, hd_events_now(d->env->ev)));
    return hd_dramclass_places(d, c, klass) > 0;
}

HD_HOT bool hd_dram_room(const struct hd_dram *d, uint32_t channel)
{
    const struct hd_dramchan *ch = d->lane[channel].ch;
    hd_time now;

    if (HD_UNLIKELY(d->cfg.queues))
        return place_of((struct hd_dram *)d, channel, 0);
    if (ch->waiting < d->cfg.queue)
        return true;
    now = hd_events_now(d->env->ev);
    /* Deciding what is certain anyway changes nothing that can be seen. */
    hd_dramsched_advance((struct hd_dram *)d, channel, edge_at(d, now));
    return ch->waiting < d->cfg.queue;
}

bool hd_dram_apart(const struct hd_dram *d)
{
    return d->cfg.queues && d->cfg.mode.kind == HD_FULL;
}

bool hd_dram_takes(struct hd_dram *d, uint32_t channel, uint32_t req)
{
    if (HD_LIKELY(!d->cfg.queues))
        return hd_dram_room(d, channel);
    return place_of(d, channel, class_of(d, channel, &d->reqs->v[req]));
}

void hd_dram_wait(struct hd_dram *d, uint32_t channel, uint32_t req,
                  uint32_t who, uint32_t what, uint32_t a)
{
    struct hd_dramwait w = {who, what, a, HD_NONE};
    hd_time now = hd_events_now(d->env->ev);
    uint32_t k = 0;

    (*hd_count(&d->stat, channel, HD_APP_NONE, ST_QUEUE_FULL))++;
    if (d->cfg.queues && req != HD_NONE)
        k = class_of(d, channel, &d->reqs->v[req]);
    if (d->cfg.queues ? place_of(d, channel, k) : hd_dram_room(d, channel)) {
        hd_post(d->env->ev, d->id, who, now, what, a, 0);
        return;
    }
    d->lane[channel].ch->offered |= d->lane[channel].ch->waiters == 0;
    wait_push(d, d->lane[channel].ch, k, w);
    if (d->cfg.queues)
        pass_on(d, channel);
    reschedule(d, channel, now);
}

/* ---- bringing up to date ------------------------------------------------ */

/* Stale requests in the inbox are wiped, and `offered` is set, which does no
 * harm, so that state which is the same has the same bits. */
static void sync(void *self, hd_time now)
{
    struct hd_dram *d = self;
    uint64_t cycle = now / d->tick;

    for (uint32_t c = 0; c < d->cfg.channels; c++) {
        struct hd_dramchan *ch = d->lane[c].ch;
        if (d->cfg.mode.kind == HD_FULL)
            hd_dramsched_advance(d, c, cycle);
        memset(ch->inbox, 0, sizeof ch->inbox);
        ch->offered = 1;
        *hd_count(&d->stat, c, HD_APP_NONE, ST_CYCLES) += cycle - ch->counted;
        ch->counted = cycle;
    }
    hd_dram_fold(d);
}

/* ---- building ------------------------------------------------------------ */

static void empty_lists(struct hd_dram *d, uint32_t c)
{
    const struct hd_dramlist none = {NO_ENTRY, NO_ENTRY};
    struct hd_dramchan *ch = d->lane[c].ch;
    struct hd_dramentry *v = hd_dramentry_of(d, c);

    for (uint32_t b = 0; b < d->cfg.banks; b++) {
        struct hd_drambank *k = hd_drambank_at(d, c, b);
        k->group = (uint8_t)(b / (d->cfg.banks / d->cfg.groups));
        for (uint32_t i = 0; i < CLASSES; i++)
            k->hits[i] = k->rest[i] = none;
    }
    for (uint32_t e = 0; e < d->places; e++)
        v[e].next = (uint16_t)(e + 1);
    v[d->places].next = NO_ENTRY;
    ch->free_last = (uint16_t)d->places;
    ch->golden = none;
    for (uint32_t i = 0; i < CLASSES; i++)
        ch->wait_first[i] = HD_NONE;
    ch->wake = HD_NEVER;
    ch->ref_at = d->cfg.trefi;
    ch->floor = 1;
}

static int take_state(struct hd_dram *d)
{
    struct hd_arena *a = d->env->arena;

    /* Answers are given no later than data[0] cycles after the first command
     * that can lead to one, and a cycle has one command. */
    d->ring = d->t.data[0] + 8u;
    d->wait = hd_arena_take(a, WAITERS, sizeof *d->wait);
    d->wait_free = hd_arena_take(a, 2, sizeof *d->wait_free);
    if (d->wait == NULL || d->wait_free == NULL)
        return -1;
    d->wait_free[0] = HD_NONE;
    for (uint32_t c = 0; c < d->cfg.channels; c++) {
        struct hd_dramlane *l = &d->lane[c];
        l->c = c;
        l->ch = hd_arena_take(a, 1, sizeof *l->ch);
        l->bank = hd_arena_take(a, d->cfg.banks, sizeof *l->bank);
        l->entry = hd_arena_take(a, d->places + 1, sizeof *l->entry);
        l->done = hd_arena_take(a, d->ring, sizeof *l->done);
        l->tally = hd_arena_take(a, d->env->stats->apps + 1, sizeof *l->tally);
        if (l->ch == NULL || l->bank == NULL || l->entry == NULL ||
            l->done == NULL || l->tally == NULL)
            return -1;
        empty_lists(d, c);
    }
    return 0;
}

static void offer(struct hd_dram *d)
{
    struct hd_env *env = d->env;

    if (env->slots == NULL) {
        d->klass = (struct hd_slot){hd_dramclass_default, d, 0};
        d->turn = (struct hd_slot){hd_dramclass_turn_default, d, 0};
        d->pick = (struct hd_slot){hd_dramask_default, d, 0};
        return;
    }
    hd_slots_offer(env->slots, HEDDLE_POINT_dram_class, "dram", &d->klass,
                   hd_dramclass_default, d);
    hd_slots_offer(env->slots, HEDDLE_POINT_dram_turn, "dram", &d->turn,
                   hd_dramclass_turn_default, d);
    hd_slots_offer(env->slots, HEDDLE_POINT_dram_pick, "dram", &d->pick,
                   hd_dramask_default, d);
}

static void set_up(struct hd_dram *d)
{
    hd_dramtime_init(&d->t, &d->cfg);
    d->row_rank =
        d->cfg.scheduler == HD_DRAM_READY_FIRST ? 0 : 1ull << KEY_RANK;
    d->special = d->cfg.refresh || d->cfg.page == 1;
    d->plain = !d->special && d->cfg.scheduler == HD_DRAM_HIT_FIRST;
    d->odd = d->cfg.partition || d->cfg.mode.kind != HD_FULL;
    d->others = d->env->stats->apps;
    d->steer = d->env->slots != NULL ? d->env->slots->steer : &unsteered;
    d->tick = hd_ticks(d->env->clk, HD_CLK_DRAM, 1);
    d->idle = hd_ticks(d->env->clk, HD_CLK_CORE, d->cfg.turn_idle);
    d->places = d->cfg.queue;
    if (d->cfg.queues)
        d->places += d->cfg.queue_silver + d->cfg.queue_golden;
    d->per_tick = hd_recip_of(d->tick);
    if (d->cfg.mode.kind == HD_IDEAL)
        d->latency = 1 + d->cfg.cl + d->cfg.bl;
    else if (d->cfg.mode.kind == HD_FIXED)
        d->latency = d->cfg.mode.fixed;
}

/* Splits the channels; application a has those from a * own on. */
static int share_channels(struct hd_dram *d)
{
    uint32_t apps = d->env->apps, channels = d->cfg.channels;

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
    d = aligned_alloc(64, sizeof *d); /* for the sake of its lines */
    if (d == NULL) {
        hd_err_memory(env->err);
        return NULL;
    }
    memset(d, 0, sizeof *d);
    d->env = env;
    d->cfg = *cfg;
    d->reqs = reqs;
    d->clients = clients;
    set_up(d);
    d->own = cfg->channels;
    if (cfg->partition && share_channels(d) != 0) {
        hd_dram_close(d);
        return NULL;
    }
    spread = *cfg;
    spread.channels = d->own;
    hd_drammap_init(&d->map, &spread, env->err);
    if (take_state(d) != 0 || (env->check && (d->check = hd_dramcheck_open(
                                                  cfg, env->arena)) == NULL)) {
        hd_err_memory(env->err);
        hd_dram_close(d);
        return NULL;
    }
    d->id = hd_events_component(env->ev, "dram", handle, d);
    hd_dramcount_open(d);
    offer(d);
    hd_env_part(env, (struct hd_part){.name = "dram",
                                      .instances = cfg->channels,
                                      .self = d,
                                      .look = hd_dramlook_show,
                                      .stuck = hd_dramlook_stuck,
                                      .check = hd_dramlook_check,
                                      .sync = sync});
    return d;
}

void hd_dram_close(struct hd_dram *d)
{
    if (d == NULL)
        return;
    hd_dramcheck_close(d->check);
    free(d);
}

uint32_t hd_dram_channels(const struct hd_dram *d)
{
    return d->cfg.channels;
}

uint32_t hd_dram_own(const struct hd_dram *d)
{
    return d->own;
}

uint32_t hd_dram_home(const struct hd_dram *d, uint32_t app)
{
    return d->cfg.partition && app < d->env->apps ? app * d->own : 0;
}

uint32_t hd_dram_channel(const struct hd_dram *d, hd_pa pa)
{
    return hd_drammap_channel(&d->map, pa.v);
}

void hd_dram_watch(struct hd_dram *d, hd_dram_watcher *fn, void *self)
{
    d->watch = fn;
    d->watch_self = self;
}
