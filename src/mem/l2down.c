/*
 * l2down.c - the miss queue of an L2 slice: what goes down to DRAM.
 *
 * Reads of missing lines, bypassed requests, stores of a cache that is not
 * write-back, and dirty victims leave in the order in which they come, one
 * FIFO a slice, while the DRAM channel has room.  A place is promised when a
 * request is sure to come, so that the input is blocked in time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2slice.h"

/* Whether the channel takes request r. */
static bool room(const struct hd_l2_slice *sl, uint32_t r)
{
    const struct hd_l2_wiring *w = &sl->l2->w;

    if (HD_UNLIKELY(sl->l2->apart))
        return hd_dram_takes(w->dram, sl->s->channel, r);
    if (w->dram != NULL)
        return hd_dram_room(w->dram, sl->s->channel);
    return w->room == NULL || w->room(w->below.self, sl->s->channel);
}

static void wait_room(struct hd_l2_slice *sl)
{
    const struct hd_l2_wiring *w = &sl->l2->w;

    sl->s->waiting = 1;
    if (w->dram != NULL)
        hd_dram_wait(w->dram, sl->s->channel, sl->s->down.first, sl->component,
                     HD_L2_ROOM, 0);
    else
        w->wait(w->below.self, sl->s->channel, sl->component, HD_L2_ROOM, 0);
}

static void pass(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    const struct hd_l2_wiring *w = &sl->l2->w;

    if (HD_LIKELY(w->dram != NULL))
        hd_dram_send(w->dram, now, r);
    else
        w->below.send(w->below.self, now, r);
}

void hd_l2down_drain(struct hd_l2_slice *sl, hd_time now)
{
    while (sl->s->down_n > 0 && !sl->s->waiting) {
        if (!room(sl, sl->s->down.first)) {
            wait_room(sl);
            return;
        }
        pass(sl, now, hd_l2_pop(sl, &sl->s->down, &sl->s->down_n));
    }
}

uint32_t hd_l2down_ask(struct hd_l2_slice *sl, uint64_t pa, uint32_t bytes,
                       uint32_t kind, uint32_t app, uint32_t warp)
{
    uint32_t r = hd_req_take(sl->l2->reqs);

    *hd_l2_req(sl, r) = (struct hd_req){.pa = {pa},
                                        .next = HD_NONE,
                                        .client = sl->l2->dram_client,
                                        .warp = (uint16_t)warp,
                                        .kind = (uint8_t)kind,
                                        .app = (uint8_t)app,
                                        .bytes = (uint16_t)bytes};
    hd_l2_counters(
        sl, app)[kind == HD_REQ_WRITE ? HD_L2_DRAM_WRITES : HD_L2_DRAM_READS]++;
    return r;
}

HD_HOT uint32_t hd_l2down_fetch(struct hd_l2_slice *sl, uint32_t m,
                                uint64_t line, uint32_t r)
{
    const struct hd_l2 *l2 = sl->l2;
    uint32_t n = hd_req_take(l2->reqs);
    struct hd_req *d = hd_l2_req(sl, n);

    *d = *hd_l2_req(sl, r); /* its kind, application, warp and level */
    d->pa.v = line << l2->line_shift;
    d->queued = 0;
    d->next = HD_NONE;
    d->tag = sl->s->tag | m;
    d->client = l2->dram_client;
    if (d->kind != HD_REQ_WALK)
        d->kind = HD_REQ_READ;
    d->flags = d->dram_class = d->hit = 0;
    d->bytes = l2->line_bytes;
    return n;
}

void hd_l2down_join(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    struct hd_dram *dram = sl->l2->w.dram;

    if (HD_LIKELY(sl->s->down_n == 0 && dram != NULL && !sl->l2->apart &&
                  hd_dram_room(dram, sl->s->channel))) {
        hd_dram_send(dram, now, r);
        return;
    }
    hd_l2_push(sl, &sl->s->down, &sl->s->down_n, r);
    hd_l2down_drain(sl, now);
}

HD_HOT void hd_l2down_go(struct hd_l2_slice *sl, hd_time now, hd_time at,
                         uint32_t r)
{
    hd_l2_req(sl, r)->born = at;
    if (HD_UNLIKELY(at > now)) {
        sl->s->promised++;
        hd_l2_post(sl, at, HD_L2_DOWN, r);
    } else {
        hd_l2down_join(sl, now, r);
    }
}

void hd_l2down_write_back(struct hd_l2_slice *sl, hd_time now, hd_time at,
                          uint64_t line, uint32_t app)
{
    hd_l2_counters(sl, app)[HD_L2_WRITE_BACKS]++;
    hd_l2down_go(sl, now, at,
                 hd_l2down_ask(sl, line << sl->l2->line_shift, sl->l2->cfg.line,
                               HD_REQ_WRITE, app, HD_NO_WARP));
}

void hd_l2down_fill(struct hd_l2_slice *sl, hd_time now, hd_time at,
                    uint64_t line, const struct hd_req *q, uint32_t level,
                    bool dirty)
{
    uint64_t victim, *c = hd_l2_counters(sl, q->app);
    uint32_t owner;
    bool back = hd_cache_enter(&sl->tags, q->spare, line, q->kind, level, dirty,
                               hd_l2_who(q), &victim, &owner);

    c[HD_L2_FILLS]++;
    c[HD_L2_EVICTIONS] += victim != HD_KEY_NONE && victim != line;
    if (back)
        hd_l2down_write_back(sl, now, at, victim, owner);
}
