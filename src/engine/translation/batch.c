/*
 * batch.c - walks that a walker takes together (walk.batch), after Pichai, Hsu,
 * Bhattacharjee: Architectural support for address translation on GPUs (ASPLOS
 * 2014), section 6.3.
 *
 * A free walker takes the walks that wait, up to so many, as a batch and goes
 * down with them level by level.  A walk that needs an entry waits for its
 * turn; when all do, the reads of the highest level that is needed leave, one a
 * cycle, and one read serves all walks of the batch that need the same entry.
 * The order of a level's reads is walk_reference's; by default those of one
 * line of the page table follow one another.  A walk whose leaf has come ends
 * at once; the walker is free when all have ended, and the extra reads that
 * some have after their answer (subregions.c).
 *
 * Invariant: a batch has reads of one level in flight, and those of the next
 * leave when all of them are back.
 *
 * Without walk.batch nothing here runs: ptw.c gives each walk a walker.
 *
 * SPDX-License-Identifier: MIT
 */
#include "walk.h"

/* A walker that is free takes walks that wait as a batch, behind whatever comes
 * at the same instant. */
void hd_batch_call(struct hd_unit *u, hd_time at)
{
    if (u->s->walkers >= u->m->walk_cfg.walkers)
        return;
    u->s->walkers++;
    hd_walk_post(u, at, HD_PTW_GATHER, 0);
}

/* Nothing of the level is under way any more: the reads of the next one leave.
 */
static void batch_next_level(struct hd_unit *u, hd_time now, uint32_t batch)
{
    struct hd_batch *b = &u->batch[batch];
    uint32_t level = 5;

    for (uint32_t i = b->first; i != HD_NONE; i = u->walk[i].peer)
        if (u->walk[i].state == HD_WALK_WANTS)
            level = (uint32_t)hd_min_u64(level, u->walk[i].level);
    for (uint32_t i = b->first; i != HD_NONE; i = u->walk[i].peer)
        if (u->walk[i].state == HD_WALK_WANTS && u->walk[i].level == level) {
            u->walk[i].state = HD_WALK_TURN;
            b->busy++;
        }
    b->last = 0;
    hd_walk_post(u, now, HD_PTW_READ, batch);
}

/* A walk wants the entry of its level. */
void hd_batch_want(struct hd_unit *u, hd_time now, uint32_t walk)
{
    struct hd_walk *w = &u->walk[walk];

    w->state = HD_WALK_WANTS;
    if (--u->batch[w->batch].busy == 0)
        batch_next_level(u, now, w->batch);
}

bool hd_batch_ended(struct hd_unit *u, hd_time now, uint32_t batch)
{
    if (--u->batch[batch].left != 0)
        return false;
    hd_numbers_give(&u->batches, batch);
    u->s->walkers--;
    if (u->s->waiting > 0)
        hd_batch_call(u, now);
    return true;
}

/* A walk of a batch has ended. */
void hd_batch_leave(struct hd_unit *u, hd_time now, uint32_t walk)
{
    uint32_t batch = u->walk[walk].batch;
    struct hd_batch *b = &u->batch[batch];
    uint32_t *link = &b->first;

    while (*link != walk)
        link = &u->walk[*link].peer;
    *link = u->walk[walk].peer;
    b->busy--;
    if (!hd_batch_ended(u, now, batch) && b->busy == 0 && b->first != HD_NONE)
        batch_next_level(u, now, batch);
}

/* A walker takes walks that wait. */
void hd_batch_gather(struct hd_unit *u, hd_time now)
{
    struct hd_unit_state *s = u->s;
    uint32_t batch, n = 0, *link;
    struct hd_batch *b;

    if (s->waiting == 0) { /* another one was quicker */
        s->walkers--;
        return;
    }
    batch = hd_numbers_take(&u->batches);
    b = &u->batch[batch];
    *b = (struct hd_batch){.first = HD_NONE};
    for (link = &b->first; s->waiting > 0 && n < u->m->walk_cfg.batch; n++) {
        uint32_t i =
            u->m->pick.bound && s->waiting > 1 ? hd_ptw_ask_pick(u, now) : 0;
        struct hd_walk *w;
        *link = hd_ptw_unlink(u, i);
        w = &u->walk[*link];
        w->state = HD_WALK_RUNS;
        w->began = hd_max_u64(now, w->ready);
        w->batch = batch;
        w->peer = HD_NONE;
        link = &w->peer;
    }
    b->left = n;
    b->busy = n + 1; /* itself: nothing leaves before all have begun */
    hd_walk_row(u, u->walk[b->first].app)[HD_WALK_BATCHES]++;
    for (uint32_t i = b->first, next; i != HD_NONE; i = next) {
        next = u->walk[i].peer; /* it may end at once */
        if (u->walk[i].began > now)
            hd_walk_post(u, u->walk[i].began, HD_PTW_START, i);
        else
            hd_ptw_begin(u, now, i);
    }
    if (b->left > 0 && --b->busy == 0 && b->first != HD_NONE)
        batch_next_level(u, now, batch);
    hd_l2tlb_unblock(u, now);
}

int64_t hd_batch_reference_default(void *self, const void *question)
{
    const struct hd_mmu *m = self;
    const struct heddle_q_walk_reference *q = question;

    for (uint32_t i = 0; q->last != 0 && i < q->n; i++)
        if (q->address[i] / m->w.line == q->last / m->w.line)
            return i;
    return 0;
}

/* The next read of a batch leaves, and the one behind it a cycle later. */
void hd_batch_read(struct hd_unit *u, hd_time now, uint32_t batch)
{
    struct hd_batch *b = &u->batch[batch];
    uint32_t room = u->m->walk_cfg.batch, n = 0, lead, *link;
    uint64_t *address = u->m->who, *app = address + room, *vpn = app + room;
    uint64_t *pc = vpn + room, *walk = pc + room;
    struct heddle_q_walk_reference q = {
        .last = b->last, .address = address, .app = app, .vpn = vpn, .pc = pc};

    for (uint32_t i = b->first; i != HD_NONE; i = u->walk[i].peer) {
        const struct hd_walk *w = &u->walk[i];
        uint32_t k = 0;
        if (w->state != HD_WALK_TURN)
            continue;
        q.level = w->level;
        while (k < n && address[k] != w->pte[w->level - 1].v)
            k++;
        if (k < n)
            continue;
        walk[n] = i;
        address[n] = w->pte[w->level - 1].v;
        app[n] = w->app;
        pc[n] = hd_walk_pc(u, i);
        vpn[n++] = w->vpn.v;
    }
    q.n = n;
    lead = n > 1 ? (uint32_t)hd_ask_walk_reference(&u->m->reference, &q) : 0;
    b->last = address[lead];
    lead = (uint32_t)walk[lead];
    link = &u->walk[lead].share;
    for (uint32_t i = b->first; i != HD_NONE; i = u->walk[i].peer) {
        struct hd_walk *w = &u->walk[i];
        if (i == lead || w->state != HD_WALK_TURN ||
            w->pte[w->level - 1].v != b->last)
            continue;
        w->state = HD_WALK_READS;
        hd_walk_row(u, w->app)[HD_WALK_MERGED]++;
        *link = i;
        link = &w->share;
    }
    *link = HD_NONE;
    hd_ptw_send(u, now, lead);
    if (n > 1)
        hd_walk_post(u, now + u->m->step_ticks, HD_PTW_READ, batch);
}
