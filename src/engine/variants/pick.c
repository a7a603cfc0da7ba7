/*
 * pick.c - which waiting walk each free walker takes, where that is chosen: a
 * policy answers walk_pick, or steers walk_quota.
 *
 * Walkers have numbers, so that a policy can give each an owner (walkers of an
 * application and what they steal from others: DWS, Pratheek et al., HPCA 2021)
 * or order the walks of an instruction (shortest first: Shin et al., ISCA
 * 2018). Each free walker is asked about in turn, the lowest first, when a walk
 * comes and when one has ended; the last of the choices leaves it idle until
 * then, but for the last free walker of a unit whose walkers are all free: if
 * no more miss came, nothing would ever ask again.  Where there is one choice,
 * no policy is asked.  The engine's own is the oldest walk of an application
 * that has fewer walkers than walk_quota says.
 *
 * Batches (walk.batch) are gathered by walkers as they are: walk_reference
 * orders their reads.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "translation/walk.h"

/* Arrays of the question, of n each. */
enum { APP, VPN, REQUESTERS, AGE, PC, CORE, WARP, LEFT, ARRAYS };

uint64_t hd_pick_scratch(uint64_t walks)
{
    return (ARRAYS + 4) * walks; /* and a table of 2 n to 4 n places */
}

/* ---- what is asked ------------------------------------------------------ */

static uint32_t pick_place(const uint64_t *a, uint32_t n, uint32_t i)
{
    uint64_t who = a[CORE * n + i] << 48 ^ a[WARP * n + i] << 32 ^
                   a[PC * n + i] ^ a[APP * n + i] << 24;

    return (uint32_t)(who * HD_MSHR_HASH >> 32);
}

static bool pick_same(const uint64_t *a, uint32_t n, uint32_t i, uint32_t k)
{
    return a[CORE * n + i] == a[CORE * n + k] &&
           a[WARP * n + i] == a[WARP * n + k] &&
           a[PC * n + i] == a[PC * n + k] && a[APP * n + i] == a[APP * n + k];
}

/* How many of the n walks have the instruction of each: its warp's, of one
 * program counter. */
static void pick_count(uint64_t *a, uint32_t n)
{
    uint64_t *left = a + LEFT * n, *table = a + ARRAYS * n;
    uint32_t mask = 1;

    while (mask < 2 * n)
        mask *= 2;
    mask--;
    memset(table, 0, (mask + 1) * sizeof *table);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = pick_place(a, n, i) & mask;

        while (table[at] != 0 && !pick_same(a, n, (uint32_t)table[at] - 1, i))
            at = (at + 1) & mask;
        if (table[at] == 0) {
            table[at] = i + 1;
            left[i] = 0;
        }
        left[table[at] - 1]++;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = pick_place(a, n, i) & mask;

        while (!pick_same(a, n, (uint32_t)table[at] - 1, i))
            at = (at + 1) & mask;
        left[i] = left[table[at] - 1];
    }
}

static uint32_t pick_ask(struct hd_unit *u, hd_time now, uint32_t walker,
                         bool idle)
{
    const struct hd_unit_state *s = u->s;
    uint64_t *a = u->m->who;
    uint32_t n = s->waiting;
    struct heddle_q_walk_pick q;

    if (n + idle == 1)
        return 0; /* no choice */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t walk =
            u->queue[hd_unit_place(s->queue_first, i, u->miss.room)];
        const struct hd_walk *w = &u->walk[walk];
        const struct hd_mshr_entry *e = &u->miss.v[walk];

        a[APP * n + i] = w->app;
        a[VPN * n + i] = w->vpn.v;
        a[REQUESTERS * n + i] = e->n;
        a[AGE * n + i] =
            now > w->ready ? hd_unit_cycles(u->m, now - w->ready) : 0;
        a[PC * n + i] = hd_walk_pc(u, walk);
        a[CORE * n + i] = hd_walk_core(u, walk);
        a[WARP * n + i] = e->n != 0 ? u->treq[e->first].warp : HD_NO_WARP;
    }
    if (u->m->pick.bound)
        pick_count(a, n);
    q = (struct heddle_q_walk_pick){.n = n,
                                    .app = a + APP * n,
                                    .vpn = a + VPN * n,
                                    .requesters = a + REQUESTERS * n,
                                    .age = a + AGE * n,
                                    .pc = a + PC * n,
                                    .choices = n + idle,
                                    .walker = walker,
                                    .walkers = u->m->walk_cfg.walkers,
                                    .instance = u->instance,
                                    .core = a + CORE * n,
                                    .warp = a + WARP * n,
                                    .left = a + LEFT * n};
    return (uint32_t)hd_ask_walk_pick(&u->m->pick, &q);
}

uint32_t hd_pick_batch(struct hd_unit *u, hd_time now)
{
    return pick_ask(u, now, 0, false);
}

/* ---- the engine's own choice -------------------------------------------- */

int64_t hd_pick_default(void *mmu, const void *question)
{
    const struct hd_mmu *m = mmu;
    const struct heddle_q_walk_pick *q = question;
    const struct hd_unit *u = &m->unit[q->instance];

    for (uint32_t i = 0; i < q->n; i++) {
        uint32_t quota =
            m->steer != NULL ? m->steer->walk_quota[q->app[i]][0] : 0;
        if (quota == 0 || u->s->seats_of[q->app[i]] < quota)
            return i;
    }
    return (int64_t)q->choices - 1; /* none; in a batch there is a choice */
}

/* ---- walkers ------------------------------------------------------------ */

void hd_pick_dispatch(struct hd_unit *u, hd_time now)
{
    const struct hd_unit_state *s = u->s;
    uint32_t walkers = u->m->walk_cfg.walkers, n, i;

    for (uint32_t k = 0; k < walkers && s->waiting > 0; k++) {
        if (u->seat[k / 64] >> k % 64 & 1)
            continue;
        n = s->waiting;
        i = pick_ask(u, now, k, s->walkers != 0 || k + 1 < walkers);
        if (i < n)
            hd_ptw_occupy(u, now, hd_ptw_unlink(u, i), k);
    }
}

void hd_pick_tell_start(const struct hd_unit *u, hd_time at, uint32_t walk)
{
    const struct hd_walk *w = &u->walk[walk];
    struct heddle_n_walk_start n = {.instance = u->instance,
                                    .walker = w->walker,
                                    .app = w->app,
                                    .vpn = w->vpn.v,
                                    .queued =
                                        hd_unit_cycles(u->m, at - w->ready),
                                    .waiting = u->s->waiting,
                                    .core = hd_walk_core(u, walk),
                                    .pc = hd_walk_pc(u, walk)};

    hd_slots_note(u->m->env->slots, HEDDLE_NOTE_walk_start, &n);
}

void hd_pick_tell_idle(const struct hd_unit *u, uint32_t walker)
{
    struct heddle_n_walker_idle n = {
        .instance = u->instance, .walker = walker, .waiting = u->s->waiting};

    hd_slots_note(u->m->env->slots, HEDDLE_NOTE_walker_idle, &n);
}
