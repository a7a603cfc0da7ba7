/*
 * core.c - the loop of a core over its three actors: what comes to it, and when
 * which of them goes on.
 *
 * A wake-up event at `now` serves messages, load/store unit and issue port in
 * order of time (messages first, then the unit, then the port, within one
 * instant) as long as that time lies before now + `ahead`, the shortest way
 * back of an answer: nothing that is sent from now on can arrive earlier, so
 * the core may run ahead of the rest of the machine that far.  How a run is
 * cut into steps plays no part in it.
 *
 * Data cross the core's reply port in order of arrival, a flit a cycle, and
 * take effect when the last flit is in.  They wake the core when the first flit
 * comes; then nothing happens until the last one, so only the first of those
 * that wait at the port has an instant.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../machine.h"
#include "core.h"

#include <string.h>

/* ---- messages ----------------------------------------------------------- */

static struct hd_message *messages(const struct hd_core *c,
                                   const struct hd_message_line *h)
{
    return (struct hd_message *)(void *)(c->gpu->base + (size_t)h->v * 8);
}

/* Room at the end of the line: by moving to the front, or to a larger piece. */
HD_APART static void make_room(struct hd_core *c, struct hd_message_line *h,
                               size_t size)
{
    char *v = hd_arena_at(c->gpu->env->arena, h->v), *to = v;

    if (h->n > h->room / 2) {
        to = hd_arena_take(c->gpu->env->arena, h->room * 2, size);
        hd_assert(to != NULL);
        h->v = hd_arena_ref(c->gpu->env->arena, to);
        h->room *= 2;
    }
    memmove(to + size, v + h->first * size, h->n * size);
    h->first = 1;
}

/* Enters a message behind all that are not later; mostly that is the end. */
static HD_INLINE void push(struct hd_core *c, struct hd_message_line *h,
                           hd_time at, uint32_t what, uint32_t a, uint32_t b)
{
    struct hd_message *first, *m;

    hd_assert(b < 1u << 24);
    if (HD_UNLIKELY(h->first + h->n == h->room))
        make_room(c, h, sizeof *m);
    first = messages(c, h) + h->first;
    for (m = first + h->n++; m > first && m[-1].at > at; m--)
        *m = m[-1];
    *m = (struct hd_message){at, a, b << 8 | what};
    h->at = first->at;
}

/* Takes the first message out; it stays valid until the next push. */
static HD_HOT const struct hd_message *pop(struct hd_core *c,
                                           struct hd_message_line *h)
{
    const struct hd_message *m = messages(c, h) + h->first;
    bool more = --h->n != 0; /* no branch: nobody could foretell it */

    h->first = more ? h->first + 1 : 1;
    h->at = m[more].at | -(hd_time)!more; /* all ones is HD_NEVER */
    return m;
}

/* Wakes the core at t, before it wakes anyway. */
static HD_HOT void wake(struct hd_core *c, hd_time t)
{
    c->s->wake = t;
    hd_post(c->gpu->env->ev, c->component, c->component, t, 0, 0, 0);
}

/* A message came for t: the core sees it in its loop, or wakes. */
static inline void told(struct hd_core *c, hd_time t)
{
    if (t < c->s->wake && !c->awake)
        wake(c, t);
}

/* When the first of the data at the reply port is in; it comes at `begin`. */
static inline hd_time data_in(const struct hd_core *c, hd_time begin,
                              uint32_t flits)
{
    return hd_max_u64(begin, c->s->in_free) + flits * c->gpu->cycle;
}

/* Takes the first of the data out when it is in; returns its request.
 * No branch: nobody could foretell it. */
static inline uint32_t pop_data(struct hd_core *c)
{
    struct hd_core_state *s = c->s;
    struct hd_message_line *h = &s->data;
    const struct hd_message *m = messages(c, h) + h->first;
    bool more = --h->n != 0;
    hd_time none = -(hd_time)!more; /* all ones, which is HD_NEVER */
    hd_time at = m[more].at;

    s->in_free = s->fill_at;
    h->first = more ? h->first + 1 : 1;
    h->at = at | none;
    s->fill_at = data_in(c, at, m[more].rest) | none;
    return m->a;
}

/* Data arrive at the reply port, which they cross in so many flits.  What was
 * taken out before the first one is not later than any that comes: a core does
 * not run beyond what can still reach it.  So it ends the search.  There is
 * room. */
static HD_INLINE void push_data(struct hd_core *c, hd_time at, uint32_t req,
                                uint32_t flits)
{
    struct hd_message_line *h = &c->s->data;
    struct hd_message *m = messages(c, h) + h->first + h->n++;

    hd_assert(messages(c, h)[h->first - 1].at <= at);
    for (; m[-1].at > at; m--)
        *m = m[-1];
    *m = (struct hd_message){at, req, flits};
    if (at < h->at) {
        h->at = at;
        c->s->fill_at = data_in(c, at, flits);
    }
    told(c, at);
}

/* A store was acknowledged, which concerns a core that waits for it. */
static HD_INLINE void push_ack(struct hd_core *c, hd_time at)
{
    struct hd_message_line *h = &c->s->acks;
    hd_time *m = (hd_time *)(void *)messages(c, h) + h->first + h->n++;

    for (; m[-1] > at; m--)
        *m = m[-1];
    *m = at;
    h->at = hd_min_u64(h->at, at);
    if ((c->s->blocked & HD_BLOCK_STORES) != 0)
        told(c, at);
}

void hd_core_message(struct hd_core *c, hd_time at, uint32_t what, uint32_t a,
                     uint32_t b)
{
    push(c, &c->s->inbox, at, what, a, b);
    told(c, at);
}

static inline hd_time next_message(const struct hd_core_state *s)
{
    hd_time t = hd_min_u64(s->inbox.at, s->fill_at);

    if (HD_UNLIKELY((s->blocked & HD_BLOCK_STORES) != 0 && s->acks.n > 0))
        t = hd_min_u64(t, hd_max_u64(s->acks.at, s->local));
    return t;
}

HD_HOT void hd_core_acks(struct hd_core *c, hd_time t)
{
    struct hd_message_line *h = &c->s->acks;

    while (h->at <= t) {
        const hd_time *v = (const void *)messages(c, h);
        bool more = --h->n != 0;

        h->first = more ? h->first + 1 : 1;
        h->at = v[h->first] | -(hd_time)!more; /* all ones is HD_NEVER */
        hd_l1d_ack(c);
    }
}

/* Messages that are rare. */
HD_APART static void serve_other(struct hd_core *c, hd_time t,
                                 const struct hd_message *m)
{
    switch (m->rest & 0xff) {
    case HD_MSG_FAULT:
        hd_l1tlb_faulted(c, m->a, t);
        break;
    case HD_MSG_REPLAY:
        hd_l1tlb_replayed(c, m->a, t);
        break;
    case HD_MSG_AGAIN:
        hd_l1tlb_again(c, t);
        break;
    case HD_MSG_WALK:
        hd_l1d_walk_read(c, m->a, t);
        break;
    case HD_MSG_BLOCK:
        hd_warp_start_block(c, t, (uint64_t)(m->rest >> 8) << 32 | m->a);
        break;
    default:
        if (t >= c->s->limit_until)
            hd_warp_ask_limit(c, t);
    }
}

static HD_INLINE void serve_message(struct hd_core *c, struct hd_core_state *s,
                                    hd_time t)
{
    const struct hd_message *m;

    if (HD_UNLIKELY((s->blocked & HD_BLOCK_STORES) != 0))
        hd_core_acks(c, t);
    if (s->fill_at <= t) {
        hd_l1d_answer(c, pop_data(c), t);
        return;
    }
    if (s->inbox.at > t)
        return;
    m = pop(c, &s->inbox);
    if (HD_LIKELY(m->rest == HD_MSG_XLATE))
        hd_l1tlb_answer(c, m->a, t);
    else if (m->rest == HD_MSG_DONE)
        hd_warp_answer(c, m->a, t);
    else
        serve_other(c, t, m);
}

/* ---- the loop ----------------------------------------------------------- */

/* Before this instant nothing can reach a core that wakes now. */
static inline hd_time horizon(const struct hd_gpu *g, hd_time now)
{
    hd_time page = hd_min_u64(*g->barrier, *g->arrival);

    return hd_min_u64(now + g->ahead, hd_min_u64(*g->env->slots->epoch, page));
}

HD_HOT void hd_core_on_wake(void *self, hd_time now, uint32_t what, uint32_t a,
                            uint64_t b)
{
    struct hd_core *c = self;
    struct hd_core_state *s = c->s;
    const int *stop = c->gpu->stop;
    hd_time end, t;

    (void)what, (void)a, (void)b;
    if (s->wake != now)
        return; /* an earlier wake-up took its place */
    end = horizon(c->gpu, now);
    s->wake = HD_NEVER;
    s->local = hd_max_u64(s->local, now);
    c->awake = true;
    c->gpu->env->local = &s->local;
    if (next_message(s) == now && now < end && *stop == 0)
        serve_message(c, s, now); /* nothing else is before */
    for (;;) {
        hd_time message = next_message(s), unit = hd_lsu_next(c, s);
        hd_time other = hd_min_u64(message, unit);
        struct hd_port port = hd_port_next(c, s);
        while (port.at < hd_min_u64(end, other) && *stop == 0) {
            port = hd_warp_issue(c, port, hd_min_u64(end, other));
            message = hd_min_u64(message, s->inbox.at);
            unit = hd_lsu_next(c, s);
            other = hd_min_u64(message, unit);
        }
        t = hd_min_u64(other, port.at);
        if (t >= end || *stop != 0)
            break;
        s->local = hd_max_u64(s->local, t);
        if (message == t)
            serve_message(c, s, t);
        else
            hd_lsu_serve(c, t, hd_min_u64(end, hd_min_u64(message, port.at)));
    }
    c->awake = false;
    c->gpu->env->local = NULL;
    if (t != HD_NEVER)
        wake(c, t);
}

/* ---- answers ------------------------------------------------------------ */

static void reply_data(void *self, hd_time at, uint32_t req);

/* The same once there is room in the line. */
HD_APART static void reply_crowded(struct hd_core *c, hd_time at, uint32_t req,
                                   struct hd_message_line *h, size_t size)
{
    make_room(c, h, size);
    reply_data(c, at, req);
}

static HD_HOT void reply_data(void *self, hd_time at, uint32_t req)
{
    struct hd_core *c = self;
    struct hd_gpu *g = c->gpu;
    const struct hd_req *q = &g->reqs->v[req];
    bool ack = q->kind == HD_REQ_WRITE;
    struct hd_message_line *h = ack ? &c->s->acks : &c->s->data;

    if (HD_UNLIKELY(h->first + h->n == h->room)) {
        reply_crowded(c, at, req, h,
                      ack ? sizeof(hd_time) : sizeof(struct hd_message));
        return;
    }
    at = hd_recip_up(g->per_cycle, at + g->back);
    if (ack) {
        push_ack(c, at);
        return;
    }
    push_data(c, at, req,
              q->kind == HD_REQ_READ ? g->line_flits
                                     : hd_l1d_flits(g, q->bytes));
}

/* What there is to say of a translation request comes over its own network. */
static inline void reply_treq(struct hd_core *c, hd_time at,
                              enum hd_core_message what, uint32_t treq)
{
    struct hd_gpu *g = c->gpu;

    hd_core_message(c, hd_recip_up(g->per_cycle, at + g->tlb_back), what, treq,
                    0);
}

static HD_HOT void reply_translation(void *self, hd_time at, uint32_t treq)
{
    reply_treq(self, at, HD_MSG_XLATE, treq);
}

static void reply_replayed(void *self, hd_time at, uint32_t treq)
{
    reply_treq(self, at, HD_MSG_REPLAY, treq);
}

static void reply_faulted(void *self, hd_time at, uint32_t treq)
{
    reply_treq(self, at, HD_MSG_FAULT, treq);
}

void hd_core_walk_read(void *gpu, hd_time now, uint32_t req)
{
    struct hd_gpu *g = gpu;

    hd_core_message(&g->core[g->reqs->v[req].spare],
                    hd_recip_up(g->per_cycle, now + g->tlb_back), HD_MSG_WALK,
                    req, 0);
}

struct hd_client hd_core_client(struct hd_core *c)
{
    return (struct hd_client){reply_data, c};
}

struct hd_tclient hd_core_tclient(struct hd_core *c)
{
    return (struct hd_tclient){reply_translation, c};
}

struct hd_tclient hd_core_rclient(struct hd_core *c)
{
    return (struct hd_tclient){reply_replayed, c};
}

struct hd_tclient hd_core_fclient(struct hd_core *c)
{
    return (struct hd_tclient){reply_faulted, c};
}

/* ---- halting ------------------------------------------------------------ */

void hd_gpu_halt(void *self, bool on, hd_time now)
{
    struct hd_gpu *g = self;

    for (uint32_t i = 0; i < g->cores; i++) {
        struct hd_core *c = &g->core[i];
        if (on) {
            c->s->held = c->s->port_free;
            c->s->port_free = HD_NEVER;
        } else {
            c->s->port_free = hd_max_u64(c->s->held, now);
            told(c, hd_recip_up(g->per_cycle, now));
        }
    }
}
