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
 * The walker compares the misses that its core has outstanding at each of the
 * levels, so a batch is open until the first of its reads is back: a walk that
 * arrives before that instant joins it while there is room.  (The pages of an
 * instruction come over several cycles, as many in each as the TLB has ports.)
 * Where a read of the entry that it needs is in flight, the walk shares that;
 * else it has a read of its own, and the level lasts until that is back, too.
 * From the first answer on walks wait for the next batch.  Of several walkers
 * the one that took a batch last is joined, and a free walker goes first.
 *
 * Invariant: a batch has reads of one level in flight, and those of the next
 * leave when all of them are back.
 *
 * Without walk.batch nothing here runs: ptw.c gives each walk a walker.
 *
 * SPDX-License-Identifier: MIT
 */
#include "walk.h"

/* A walk waits: a walker that is free takes it with others as a batch, or it
 * joins one that is open, behind whatever comes at the same instant. */
void hd_batch_call(struct hd_unit *u, hd_time at)
{
    if (u->s->walkers < u->m->walk_cfg.walkers) {
        u->s->walkers++;
        hd_walk_post(u, at, HD_PTW_GATHER, 0);
    } else if (u->s->open != 0) {
        hd_walk_post(u, at, HD_PTW_GATHER, 1);
    }
}

/* Nothing of the level is under way any more: the reads of the next one leave.
 */
static void batch_next_level(struct hd_unit *u, hd_time now, uint32_t batch)
{
    struct hd_batch *b = &u->batch[batch];
    uint32_t level = HD_WALK_STEPS + 1;

    for (uint32_t i = b->first; i != HD_NONE; i = u->walk[i].peer)
        if (u->walk[i].state == HD_WALK_WANTS)
            level = (uint32_t)hd_min_u64(level, u->walk[i].level);
    for (uint32_t i = b->first; i != HD_NONE; i = u->walk[i].peer)
        if (u->walk[i].state == HD_WALK_WANTS && u->walk[i].level == level) {
            u->walk[i].state = HD_WALK_TURN;
            b->busy++;
        }
    b->level = level;
    b->last = 0;
    b->sending = true;
    hd_walk_post(u, now, HD_PTW_READ, batch);
}

/* A walk is served by the read of its entry that is in flight; false: no read
 * of the batch is. */
static bool batch_share(struct hd_unit *u, uint32_t walk)
{
    struct hd_walk *w = &u->walk[walk];
    uint32_t i = u->batch[w->batch].first;

    while (i != HD_NONE &&
           (u->walk[i].state != HD_WALK_READS ||
            u->walk[i].pte[w->level - 1].v != w->pte[w->level - 1].v))
        i = u->walk[i].peer;
    if (i == HD_NONE)
        return false;
    while (u->walk[i].share != HD_NONE)
        i = u->walk[i].share;
    u->walk[i].share = walk;
    w->share = HD_NONE;
    w->state = HD_WALK_READS;
    hd_walk_count_for(u, walk);
    hd_walk_row(u, w->app)[HD_WALK_MERGED]++;
    return true;
}

/* A walk wants the entry of its level: now, if it has joined a batch that reads
 * this level, or in its turn. */
void hd_batch_want(struct hd_unit *u, hd_time now, uint32_t walk)
{
    struct hd_walk *w = &u->walk[walk];
    struct hd_batch *b = &u->batch[w->batch];

    if (u->s->open == w->batch + 1 && b->level == w->level) {
        if (batch_share(u, walk))
            return;
        w->state = HD_WALK_TURN;
        if (!b->sending)
            hd_walk_post(u, hd_max_u64(now, b->next), HD_PTW_READ, w->batch);
        b->sending = true;
        return;
    }
    w->state = HD_WALK_WANTS;
    if (--b->busy == 0)
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
    else if (HD_UNLIKELY(u->m->watched[HEDDLE_NOTE_walker_idle] != 0))
        hd_pick_tell_idle(u, batch);
    return true;
}

/* A walk of a batch has ended. */
void hd_batch_leave(struct hd_unit *u, hd_time now, uint32_t walk)
{
    uint32_t batch = u->walk[walk].batch;
    struct hd_batch *b = &u->batch[batch];
    uint32_t *link = &b->first;

    if (u->s->open == batch + 1)
        u->s->open = 0;
    while (*link != walk)
        link = &u->walk[*link].peer;
    *link = u->walk[walk].peer;
    b->busy--;
    if (!hd_batch_ended(u, now, batch) && b->busy == 0 && b->first != HD_NONE)
        batch_next_level(u, now, batch);
}

/* A walk that waits enters a batch, as its last; where, or HD_NONE: the one
 * that is next is not known to have missed until later than `until`. */
static uint32_t batch_enter(struct hd_unit *u, hd_time now, hd_time until,
                            uint32_t batch, uint32_t *link)
{
    uint32_t i =
        u->m->pick.bound && u->s->waiting > 1 ? hd_pick_batch(u, now) : 0;
    uint32_t at = hd_unit_place(u->s->queue_first, i, u->miss.room);
    struct hd_walk *w;

    if (u->walk[u->queue[at]].ready > until)
        return HD_NONE;
    *link = hd_ptw_unlink(u, i);
    w = &u->walk[*link];
    w->state = HD_WALK_RUNS;
    w->began = hd_max_u64(now, w->ready);
    w->walker = (uint16_t)batch;
    w->batch = batch;
    w->peer = HD_NONE;
    return *link;
}

/* Walks that wait join the batch that is open. */
static void batch_join(struct hd_unit *u, hd_time now)
{
    struct hd_unit_state *s = u->s;

    while (s->open != 0 && s->waiting > 0) {
        uint32_t batch = s->open - 1, walk;
        struct hd_batch *b = &u->batch[batch];
        uint32_t *link = &b->first;
        if (b->left == u->m->walk_cfg.batch)
            break;
        while (*link != HD_NONE)
            link = &u->walk[*link].peer;
        walk = batch_enter(u, now, now, batch, link);
        if (walk == HD_NONE)
            break;
        b->left++;
        b->busy++;
        hd_walk_count_for(u, walk);
        hd_walk_row(u, u->walk[walk].app)[HD_WALK_JOINED]++;
        hd_ptw_begin(u, now, walk);
    }
    hd_l2tlb_unblock(u, now);
}

/* A walker takes walks that wait, or they join the batch that is open. */
void hd_batch_gather(struct hd_unit *u, hd_time now, uint32_t join)
{
    struct hd_unit_state *s = u->s;
    uint32_t batch, n = 0, *link;
    struct hd_batch *b;

    if (join) {
        batch_join(u, now);
        return;
    }
    if (s->waiting == 0) { /* another one was quicker */
        s->walkers--;
        return;
    }
    batch = hd_numbers_take(&u->batches);
    b = &u->batch[batch];
    *b = (struct hd_batch){.first = HD_NONE};
    for (link = &b->first; s->waiting > 0 && n < u->m->walk_cfg.batch; n++)
        link = &u->walk[batch_enter(u, now, HD_NEVER, batch, link)].peer;
    b->left = n;
    b->busy = n + 1; /* itself: nothing leaves before all have begun */
    s->open = batch + 1;
    hd_walk_count_for(u, b->first);
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
        q.level = u->m->read[w->level].level;
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
        hd_walk_count_for(u, i);
        hd_walk_row(u, w->app)[HD_WALK_MERGED]++;
        *link = i;
        link = &w->share;
    }
    *link = HD_NONE;
    hd_ptw_send(u, now, lead);
    b->next = now + u->m->step_ticks;
    b->sending = n > 1;
    if (n > 1)
        hd_walk_post(u, b->next, HD_PTW_READ, batch);
}
