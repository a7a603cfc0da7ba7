/*
 * subcore.c - sub-cores: one, two or four schedulers a core (core.subcores).
 *
 * Since Kepler a multiprocessor is partitioned: each scheduler has its warps,
 * its issue port and its arithmetic pipes, and all share the load/store unit,
 * the L1 and shared memory.  A warp belongs to the scheduler of its number in
 * the core modulo theirs, from its block's start to its end (Jia et al.,
 * Dissecting the NVIDIA Volta GPU architecture via microbenchmarking, 2018,
 * section 2).  core.issue and core.width are those of each.
 *
 * Each sub-core picks as the plain core does, by core.scheduler or warp_pick,
 * whose questions name only its own warps.  What is due first is served first;
 * at one instant sub-core 0, then 1, and so on, so that the places of the
 * load/store unit's queue go to the lower one.
 *
 * With core.classes (classes.c) this is the issue of a core with one scheduler,
 * too.  hd_core_state.port_free is then no port's, but the instant before which
 * none may issue, as when the core stands.  Issues are taken one by one, or a
 * run of arithmetic at a time without classes; the closed forms of turns.c are
 * of one port and are left out.
 *
 * Left out: a register file's banks and ports, and warps that change their
 * sub-core.
 *
 * SPDX-License-Identifier: MIT
 */
#include "subcore.h"

int hd_subcore_open(struct hd_core *c)
{
    const struct hd_core_cfg *m = &c->gpu->m->core;
    struct hd_subcores *p;

    if (m->subcores <= 1 && !m->classes)
        return 0;
    p = hd_arena_take(c->gpu->env->arena, 1, sizeof *p);
    if (p == NULL)
        return -1;
    p->n = m->subcores;
    p->classes = m->classes;
    p->first = ~UINT64_C(0) / hd_ones(p->n);
    for (uint32_t i = 0; i < p->n; i++)
        p->sub[i].last = HD_MAX_WARPS;
    c->sub = p;
    return 0;
}

HD_APART struct hd_port hd_subcore_next(const struct hd_core *c,
                                        struct hd_core_state *s)
{
    const struct hd_subcores *p = c->sub;
    uint64_t can = hd_warp_can(c, s);
    struct hd_port first = {hd_max_u64(s->later_at, s->local), 0};

    if (s->port_free == HD_NEVER) /* it stands */
        return (struct hd_port){HD_NEVER, 0};
    for (uint32_t i = 0; i < p->n; i++) {
        const struct hd_subcore *x = &p->sub[i];
        uint64_t mine = can & p->first << i;
        hd_time at =
            hd_max_u64(hd_max_u64(x->port_free, s->port_free), s->local);

        if (mine == 0)
            continue;
        if (p->classes)
            mine = hd_classes_narrow(c, x, mine, &at);
        if (at < first.at)
            first = (struct hd_port){at, mine};
    }
    return first;
}

HD_APART struct hd_port hd_subcore_serve(struct hd_core *c, struct hd_port port)
{
    struct hd_core_state *s = c->s;
    struct hd_subcore *x;
    hd_time t = port.at, none = s->port_free;

    s->local = hd_max_u64(s->local, t);
    if (s->later_at <= t)
        hd_warp_promote(c, s, t);
    else if (port.can != 0) {
        x = &c->sub->sub[hd_bit_first(port.can) % c->sub->n];
        s->last = x->last;
        hd_warp_serve_one(c, port.can, t);
        x->last = s->last;
        x->port_free = s->port_free;
        s->port_free = none;
    }
    return hd_subcore_next(c, s);
}

void hd_subcore_check(const struct hd_core *c, struct heddle_error *err)
{
    const struct hd_subcores *p = c->sub;

    for (uint32_t w = 0; p != NULL && p->classes && w < c->gpu->m->core.warps;
         w++) {
        const struct hd_warp *x = &c->warp[w];
        uint32_t in = 0;

        if (x->state == HD_WARP_FREE)
            continue;
        for (uint32_t k = 0; k < HEDDLE_CLASSES; k++)
            in += p->next[k] >> w & 1;
        if (in != 1 || (p->next[p->warp[w].kind] >> w & 1) == 0)
            hd_err_set(err, HEDDLE_ECHECK,
                       "core %u: warp %u is in the sets of %u classes", c->id,
                       w, in);
        if (p->warp[w].n > x->issued)
            hd_err_set(err, HEDDLE_ECHECK,
                       "core %u: warp %u has issued %u instructions, and taken "
                       "pipes for %u",
                       c->id, w, x->issued, p->warp[w].n);
    }
}

hd_time hd_subcore_busy(const struct hd_core *c)
{
    hd_time t = 0;

    for (uint32_t i = 0; i < c->sub->n; i++)
        t = hd_max_u64(t, c->sub->sub[i].port_free);
    return t;
}

uint64_t hd_subcore_unissued(const struct hd_core *c, hd_time t)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < c->sub->n; i++) {
        hd_time end = c->sub->sub[i].port_free;

        n += end > t ? hd_ceil_div(end - t, c->slot) : 0;
    }
    return n;
}
