/*
 * walk.h - inside the walkers: what ptw.c, a plain walk, shares with the files
 * that hold what papers add to it: batch.c (walks taken together),
 * subregions.c (head PTEs and extra reads), requesters.c (whom a walk answers)
 * and warm.c (walks without time).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_WALK_H
#define HD_WALK_H

#include "unit.h"

/* Events of a unit's walkers. */
enum {
    HD_PTW_START, /* a walker begins */
    HD_PTW_SEND,  /* the next read leaves */
    HD_PTW_ENTRY, /* a page-table entry has come */
    HD_PTW_DONE,
    HD_PTW_GATHER, /* those that wait become a batch, or join one */
    HD_PTW_READ,   /* the next read of a batch leaves */
    HD_PTW_EXTRA   /* a walker that has answered makes extra reads */
};

/* The tag of a walk's requests, and what it says. */
#define HD_WALK_TAG(unit, walk) ((unit) << 20 | (walk))
#define HD_WALK_TAG_WALK(tag)   ((tag)&0xfffff)

static inline uint64_t *hd_walk_row(const struct hd_unit *u, uint32_t app)
{
    return hd_count_row(&u->walk_stat, u->instance, app);
}

/* Posts an event of the unit to itself; its number comes with it. */
static inline void hd_walk_post(struct hd_unit *u, hd_time at, uint32_t what,
                                uint32_t walk)
{
    hd_post(u->m->env->ev, u->rank, u->rank, at, what, walk, u->s->number++);
}

/* The instruction that missed first; 0: a policy has begun the walk. */
static inline uint32_t hd_walk_pc(const struct hd_unit *u, uint32_t walk)
{
    return u->miss.v[walk].n != 0 ? u->treq[u->miss.v[walk].first].pc : 0;
}

/* The core that missed first, or that a policy has named. */
static inline uint32_t hd_walk_core(const struct hd_unit *u, uint32_t walk)
{
    return u->miss.v[walk].n != 0 ? u->treq[u->miss.v[walk].first].core
                                  : u->walk[walk].prefetch_core;
}

/* What is counted is for the launch of the request that missed first. */
static inline void hd_walk_count_for(const struct hd_unit *u, uint32_t walk)
{
    hd_treq_count_for(u->m->w.treqs,
                      u->miss.v[walk].n != 0 ? u->miss.v[walk].first : HD_NONE);
}

/* Sends the read of w->level, as a new request. */
static HD_INLINE uint32_t hd_walk_request(const struct hd_unit *u, uint32_t tag,
                                          uint8_t app)
{
    uint32_t r = hd_req_take(u->m->w.reqs);
    struct hd_req *q = &u->m->w.reqs->v[r];

    q->next = HD_NONE;
    q->tag = HD_WALK_TAG(u->instance, tag);
    q->warp = HD_NO_WARP;
    q->kind = HD_REQ_WALK;
    q->app = app;
    q->dram_class = 0;
    return r;
}

/* Sends the read of an entry, by its number in the walk. */
static HD_INLINE void hd_walk_send_read(const struct hd_mmu *m, hd_time now,
                                        hd_pa pte, uint32_t step,
                                        struct hd_req *q, uint32_t r,
                                        uint64_t ticket)
{
    bool numbered = m->ordered & (ticket != HD_UNIT_FOREIGN) &
                    (hd_recip_up(m->per_tick, now) == now);

    q->pa = pte;
    q->born = now;
    q->queued = ticket;
    q->client = (uint16_t)(m->w.memory_client + numbered);
    q->level = m->read[step].memory;
    q->bytes = m->read[step].bytes;
    q->flags = (uint8_t)((numbered ? HD_REQ_SEQ : 0) | m->read_flags);
    q->hit = HD_REQ_HIT;
    m->w.memory.send(m->w.memory.self, now, r);
}

/* A walker is in use, or free again: what it was not. */
static inline void hd_walk_seat(struct hd_unit *u, uint32_t walker)
{
    u->seat[walker / 64] ^= 1ull << walker % 64;
}

/* What a policy says of a step (walk_step); walk and pc as in hd_walk_spared.
 */
int64_t hd_ptw_ask_step(struct hd_unit *u, const struct hd_walk *w,
                        uint32_t walk, uint32_t pc);

/* Whether a walk passes its level without a read: the walk cache has the entry
 * (physical style), or a policy says so.  `walk` is its number, or HD_NONE: it
 * is a request's of that program counter, without time. */
static HD_INLINE bool hd_walk_spared(struct hd_unit *u, struct hd_walk *w,
                                     uint32_t walk, uint32_t pc, bool physical)
{
    int64_t how = HEDDLE_WALK_STEP_READ;

    if (physical && hd_pwc_entry(&u->pwc, w->app, u->m->read[w->level].level,
                                 w->pte[w->level - 1])) {
        w->cached = w->level;
        w->spared = w->level == w->leaf;
        return true;
    }
    if (HD_UNLIKELY(u->m->step.bound))
        how = hd_ptw_ask_step(u, w, walk, pc);
    if (how == HEDDLE_WALK_STEP_READ)
        return false;
    hd_walk_row(u, w->app)[HD_WALK_SKIPPED]++;
    w->spared = how == HEDDLE_WALK_STEP_ANSWER || w->level == w->leaf;
    if (how == HEDDLE_WALK_STEP_ANSWER)
        w->level = w->leaf;
    return true;
}

static inline bool hd_walk_by_address(const struct hd_unit *u)
{
    return hd_pwc_on(&u->pwc) && u->pwc.cfg.style == HD_PWC_PHYSICAL;
}

static inline bool hd_walk_by_prefix(const struct hd_unit *u)
{
    return hd_pwc_on(&u->pwc) && u->pwc.cfg.style == HD_PWC_PREFIX;
}

/* ---- ptw.c ------------------------------------------------------------- */

/* Takes the i-th waiting walk out of the queue; gives it to a walker. */
uint32_t hd_ptw_unlink(struct hd_unit *u, uint32_t i);
void hd_ptw_occupy(struct hd_unit *u, hd_time now, uint32_t walk,
                   uint32_t walker);
/* A walker takes a walk up; sends the read of w->level. */
void hd_ptw_begin(struct hd_unit *u, hd_time now, uint32_t walk);
void hd_ptw_send(struct hd_unit *u, hd_time now, uint32_t walk);
/* The extra reads of a walk have ended: its walker is free, or the walk has
 * left its batch, whose number that is. */
void hd_ptw_free(struct hd_unit *u, hd_time now, uint32_t walker);

/* ---- requesters.c ------------------------------------------------------ */

/* A walk of an application is done: its requests, the list of e, stay together
 * until each has notified the unit. */
void hd_requesters_form(struct hd_unit *u, const struct hd_mshr_entry *e,
                        uint32_t app);

/* ---- batch.c ----------------------------------------------------------- */

/* A walk waits: a free walker takes a batch, or the walk joins an open one,
 * behind whatever comes at the same instant; it does. */
void hd_batch_call(struct hd_unit *u, hd_time at);
void hd_batch_gather(struct hd_unit *u, hd_time now, uint32_t join);
/* A walk of a batch needs the entry of its level; it has ended. */
void hd_batch_want(struct hd_unit *u, hd_time now, uint32_t walk);
void hd_batch_leave(struct hd_unit *u, hd_time now, uint32_t walk);
/* A walk of a batch, or its extra reads, have ended; whether that was the last,
 * and the walker is free. */
bool hd_batch_ended(struct hd_unit *u, hd_time now, uint32_t batch);
/* The next read of a batch leaves, and the one behind it a cycle later. */
void hd_batch_read(struct hd_unit *u, hd_time now, uint32_t batch);

#endif
