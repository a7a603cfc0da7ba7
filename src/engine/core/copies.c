/*
 * copies.c - loads that are copies from global to shared memory, and are waited
 * for in groups: PTX's cp.async (LDGSTS) and cp.async.bulk.
 *
 * Such a load is translated and looks up the caches as any other; it fills no
 * register, so that no instruction waits for it alone.  Its source gives each
 * group a scoreboard slot, which all copies of the group have in flight at the
 * same time: slot HD_SLOT_MANY + s is slot s, and here they are counted.  So a
 * group may have as many copies as the load/store unit and the L1 take, where a
 * load that had a slot of its own would wait for one of 32.
 *
 * PTX's .cg, a copy that passes the L1, is one as past.c has it; .ca is one
 * that does not.
 *
 * Invariant: bit s of a warp's `pending' is set while copies[s] of it is not 0.
 *
 * Cost: nothing is taken where no source has copies, and nothing is asked that
 * was not before: the space of an instruction and its slot.
 *
 * Left out: that data is written to the banks of shared memory, and that a bulk
 * copy is fetched by a unit of its own (TMA): its parts pass the load/store
 * unit one after the other, at the issue port of its warp.
 *
 * SPDX-License-Identifier: MIT
 */
#include "machine.h"
#include "core.h"

int hd_copies_open(struct hd_core *c)
{
    const struct hd_gpu *g = c->gpu;
    hd_time cycles = g->both_ticks / g->cycle + 2;

    /* What is in flight beside the queue, parked lines and MSHRs has hit, and
     * is done when the look-ups are over. */
    c->memops += (uint32_t)cycles * 2 * g->m->l1cache.ports;
    c->copies = hd_arena_take(g->env->arena, HD_MAX_WARPS * HD_SLOTS,
                              sizeof *c->copies);
    return c->copies == NULL ? -1 : 0;
}

HD_APART void hd_copies_enter(struct hd_core *c, uint32_t w, uint32_t memop)
{
    struct hd_warp *x = &c->warp[w];
    uint32_t slot = x->op.slot % HD_SLOTS;

    if (x->op.space != HD_SPACE_COPY)
        c->memop[memop].kind = HD_OP_PAST;
    if (x->op.space == HD_SPACE_PAST)
        return;
    c->count[HD_CORE_COPIES] += x->op.count;
    c->copies[w * HD_SLOTS + slot]++;
    x->pending |= 1u << slot;
}

HD_APART void hd_copies_done(struct hd_core *c, const struct hd_memop *m)
{
    uint32_t slot = m->slot % HD_SLOTS;
    uint16_t *n = &c->copies[m->warp * HD_SLOTS + slot];

    hd_assert(*n > 0);
    if (--*n == 0)
        c->warp[m->warp].pending &= ~(1u << slot);
}

bool hd_copies_sane(const struct hd_core *c)
{
    uint16_t n[HD_MAX_WARPS * HD_SLOTS] = {0};

    for (uint32_t i = 0; i < c->memops; i++) {
        const struct hd_memop *m = &c->memop[i];

        if ((c->memop_places.free[i / 64] >> i % 64 & 1) == 0 &&
            (uint32_t)m->slot - HD_SLOT_MANY < HD_SLOTS)
            n[m->warp * HD_SLOTS + m->slot % HD_SLOTS]++;
    }
    for (uint32_t i = 0; i < HD_MAX_WARPS * HD_SLOTS; i++)
        if (n[i] != c->copies[i] ||
            (n[i] > 0 &&
             (c->warp[i / HD_SLOTS].pending >> i % HD_SLOTS & 1) == 0))
            return false;
    return true;
}
