/*
 * regroup.c - thread block compaction: the threads of a block of a kernel
 * program in other warps than they began in.
 *
 * Fung and Aamodt, Thread block compaction for efficient SIMT control flow,
 * HPCA 2011.  A block has one stack of entries, of which only the top one runs.
 * A construct whose condition can differ within the block (program/classes.c)
 * is MEETs: there the warps of the entry stop until all of them have come. Then
 * the block takes the construct as one: threads go apart, or come together, and
 * the entry that is on top then runs in newly formed warps.  Where all
 * threads of it have gone the same way, its warps continue as they are; where
 * they are all that live, the original warps return.
 *
 * The stack is that of the original warps: each has its own frames, as without
 * compaction, of its own threads, and all have the same depth (a warp of which
 * no thread is in the entry has an empty mask).  So a block wide mask is one of
 * each warp, and a warp that runs in its own place needs nothing else.  Formed
 * warps run in a second context, number `contexts' and more: one warp each,
 * with the registers and frames of its threads, gathered by lane when it is
 * formed, and put back when the next MEET has been reached.  Threads keep their
 * lane.  Constructs that do not vary are frames that formed warps push and pop
 * alone, all in the same way.
 *
 * A formed warp begins with the oldest thread that is left; then each lane in
 * order offers its oldest one that may join (thread_join).  Invariants
 * (sim.check): each thread of the entry is in one formed warp, in its own lane,
 * and no other thread is in any.
 *
 * Control flow is structured, so that a construct's end is where its threads
 * come together at the latest, and there are no likely convergence points
 * before (section 5 of the paper): breaks and early exits of loops leave
 * through the loop's end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lane.h"

enum { SPIN_LIMIT = 1 << 22 }; /* rounds of loops without any instruction */

/* A block at work; an original warp is `home' to its threads. */
struct meeting {
    struct hd_lane_engine *vm;
    const struct hd_kernel *k;
    uint32_t ctx;
    uint32_t pc; /* where they are */
    struct hd_group *g;
    uint64_t was[HD_LANE_HOMES]; /* the entry's threads when they came */
    struct hd_lane_at home[HD_LANE_HOMES];
};

/* The threads of a formed warp: a mask of lanes for each home. */
static uint64_t *parts(const struct hd_lane_engine *vm, uint32_t ctx,
                       uint32_t warp)
{
    size_t number = (size_t)(ctx % vm->contexts) * vm->warps + warp;

    return vm->part + number * vm->warps;
}

uint32_t hd_lane_origin(void *self, uint32_t ctx, uint32_t warp, uint32_t lane)
{
    const struct hd_lane_engine *vm = self;
    const uint64_t *part;

    if (ctx < vm->contexts)
        return warp;
    part = parts(vm, ctx, warp);
    for (uint32_t w = 0; w < vm->warps; w++)
        if (part[w] >> lane & 1)
            return w;
    return warp; /* no thread's lane */
}

/* ---- frames ------------------------------------------------------------ */

static inline bool regroup_is_idle(const struct hd_lane_warp *w, uint32_t depth)
{
    return w->idle >> depth & 1;
}

/* Where runs that begin at the frames of a construct that varies, innermost:
 * the frames from there on are those that formed warps have pushed alone. */
static uint32_t base_of(const struct meeting *z)
{
    const struct hd_lane_at *h = &z->home[0];
    uint32_t d = h->w->depth;

    for (; d > 0; d--) {
        const struct hd_ins *n;

        if (regroup_is_idle(h->w, d - 1))
            continue;
        n = &z->k->ins[hd_lane_frame(h, d - 1)->pc];
        if (n->op == HD_I_MEET || (n->op == HD_I_WHILE && n->kind != 0))
            break;
    }
    return d;
}

/* Threads of a home that have not exited. */
static uint64_t alive(const struct hd_lane_at *h)
{
    uint64_t m = h->w->mask;

    for (uint32_t d = 0; d < h->w->depth; d++)
        if (!regroup_is_idle(h->w, d))
            m |= hd_lane_frame(h, d)->saved;
    return m;
}

static void regroup_push(const struct hd_lane_at *h, uint32_t pc,
                         uint64_t other)
{
    uint32_t d = h->w->depth++;

    h->w->idle &= ~(UINT32_C(1) << d);
    *hd_lane_frame(h, d) = (struct hd_lane_frame){h->w->mask, other, pc, 0};
}

static void pop_all(struct meeting *z)
{
    for (uint32_t w = 0; w < z->vm->warps; w++) {
        struct hd_lane_warp *x = z->home[w].w;

        if (!regroup_is_idle(x, --x->depth))
            x->mask = hd_lane_frame(&z->home[w], x->depth)->saved;
        x->idle &= ~(UINT32_C(1) << x->depth);
    }
}

/* ---- registers --------------------------------------------------------- */

static bool lives(const struct hd_kernel *k, uint32_t reg, uint32_t pc)
{
    return k->life[reg].first < pc && pc <= k->life[reg].last;
}

/* to = from in those lanes, which are some warp's threads. */
static void blend(const struct hd_lane_at *to, const struct hd_lane_at *from,
                  uint32_t reg, uint64_t lanes)
{
    const struct hd_kernel *k = to->k;
    struct hd_reg a = hd_lane_reg(to, reg), b = hd_lane_reg(from, reg);
    int64_t ta[HD_MAX_LANES], tb[HD_MAX_LANES], t[HD_MAX_LANES];
    const int64_t *pa, *pb;

    if (k->type[reg] == HD_R_BOOL) {
        hd_lane_uniform(to, reg,
                        (int64_t)(((uint64_t)a.base & ~lanes) |
                                  ((uint64_t)b.base & lanes)));
        return;
    }
    if (b.tag < HD_VECTOR && (k->vslot[reg] == HD_NO_REG ||
                              (hd_lane_all(to->vm, to->warp) & ~lanes) == 0)) {
        hd_lane_affine(to, reg, b.base, b.stride);
        return;
    }
    if ((a.tag | b.tag) < HD_VECTOR && a.base == b.base && a.stride == b.stride)
        return;
    pa = hd_lane_expand(to, &a, reg, ta);
    pb = hd_lane_expand(from, &b, reg, tb);
    for (uint32_t l = 0; l < to->vm->lanes; l++)
        t[l] = lanes >> l & 1 ? pb[l] : pa[l];
    hd_lane_put_any(to, reg, t);
}

/* The register of a formed warp's threads. */
static void regroup_gather(const struct meeting *z, const struct hd_lane_at *to,
                           const uint64_t *part, uint32_t reg)
{
    int64_t tmp[HD_MAX_LANES], t[HD_MAX_LANES] = {0};
    struct hd_reg first = {0, 0, HD_WIDE, 0};
    bool one = true, none = true;
    uint64_t bits = 0;

    for (uint32_t w = 0; w < z->vm->warps; w++) {
        struct hd_reg r;

        if (part[w] == 0)
            continue;
        r = hd_lane_reg(&z->home[w], reg);
        bits |= (uint64_t)r.base & part[w];
        first = none ? r : first;
        one = one && r.tag < HD_VECTOR && first.base == r.base &&
              first.stride == r.stride;
        none = false;
    }
    if (z->k->type[reg] == HD_R_BOOL) {
        hd_lane_uniform(to, reg, (int64_t)bits);
        return;
    }
    if (one) {
        hd_lane_affine(to, reg, first.base, first.stride);
        return;
    }
    for (uint32_t w = 0; w < z->vm->warps; w++) {
        struct hd_reg r;
        const int64_t *p;

        if (part[w] == 0)
            continue;
        r = hd_lane_reg(&z->home[w], reg);
        p = hd_lane_expand(&z->home[w], &r, reg, tmp);
        for (uint64_t m = part[w]; m != 0; m &= m - 1)
            t[hd_bit_first(m)] = p[hd_bit_first(m)];
    }
    hd_lane_put_any(to, reg, t);
}

/* ---- back to their homes ----------------------------------------------- */

/* A formed warp with threads that live, or NULL. */
static struct hd_lane_warp *leader(const struct meeting *z, uint32_t formed)
{
    for (uint32_t i = 0; i < formed; i++) {
        struct hd_lane_warp *x =
            hd_lane_warp(z->vm, z->vm->contexts + z->ctx, i);
        if (x->mask != 0)
            return x;
    }
    return NULL;
}

/* Homes are as deep as formed warp f, whose own frames belong to no thread yet.
 */
static void deepen(struct meeting *z, const struct hd_lane_at *f)
{
    uint32_t base = base_of(z);

    for (uint32_t w = 0; w < z->vm->warps; w++) {
        struct hd_lane_warp *x = z->home[w].w;

        x->depth = f->w->depth;
        x->idle = f->w->idle;
        for (uint32_t d = base; d < x->depth; d++) {
            struct hd_lane_frame *to = hd_lane_frame(&z->home[w], d);

            *to = *hd_lane_frame(f, d);
            to->saved = 0;
            to->other = to->counted ? to->other : 0;
        }
    }
}

static void put_back(struct meeting *z, const struct hd_lane_at *f,
                     const uint64_t *part)
{
    const struct hd_lane_block *b = &z->vm->block[z->ctx];
    bool any = f->w->mask != 0;

    for (uint32_t w = 0; w < z->vm->warps; w++) {
        const struct hd_lane_at *h = &z->home[w];

        if (part[w] == 0)
            continue;
        h->w->mask = (h->w->mask & ~part[w]) | (f->w->mask & part[w]);
        for (uint32_t d = 0; d < h->w->depth; d++) {
            struct hd_lane_frame *to = hd_lane_frame(h, d);
            uint64_t saved = any ? hd_lane_frame(f, d)->saved : 0;

            if (!regroup_is_idle(h->w, d))
                to->saved = (to->saved & ~part[w]) | (saved & part[w]);
        }
        for (uint32_t reg = 0; any && reg < z->k->nreg; reg++)
            if (lives(z->k, reg, z->pc) &&
                z->k->life[reg].first < hd_max_u64(b->to, z->pc) &&
                z->k->life[reg].written >= b->from)
                blend(h, f, reg, part[w]);
    }
}

static void put_all_back(struct meeting *z, uint32_t formed)
{
    struct hd_lane_warp *lead = leader(z, formed);
    struct hd_lane_at f;

    if (lead != NULL) {
        for (uint32_t i = 0; i < formed; i++) {
            f = hd_lane_find(z->vm, z->vm->contexts + z->ctx, i);
            if (f.w == lead)
                break;
        }
        z->pc = lead->pc;
        deepen(z, &f);
    } else {
        uint32_t base = base_of(z);

        for (uint32_t w = 0; w < z->vm->warps; w++) {
            z->home[w].w->depth = (uint8_t)base;
            z->home[w].w->idle &= (uint32_t)hd_ones(base);
        }
        z->pc = z->k->nins - 1;
    }
    for (uint32_t i = 0; i < formed; i++) {
        f = hd_lane_find(z->vm, z->vm->contexts + z->ctx, i);
        put_back(z, &f, parts(z->vm, z->ctx, i));
    }
}

/* Homes that ran in their own places: one whose threads have all exited has
 * left all constructs, and is as deep as the others again. */
static void align(struct meeting *z)
{
    uint32_t lead = z->vm->warps;

    for (uint32_t w = z->vm->warps; w-- > 0;) {
        struct hd_lane_warp *x = z->home[w].w;

        if (x->pc == z->k->nins - 2) /* by its own EXIT */
            x->mask = x->depth = 0;
        lead = x->mask != 0 ? w : lead;
    }
    z->pc = lead < z->vm->warps ? z->home[lead].w->pc : z->k->nins - 1;
    for (uint32_t w = 0; w < z->vm->warps; w++) {
        const struct hd_lane_at *h = &z->home[w];

        if (lead == z->vm->warps) /* no warp waits elsewhere: they were all */
            h->w->depth = 0;
        if (h->w->mask != 0 || lead == z->vm->warps)
            continue;
        h->w->depth = z->home[lead].w->depth;
        h->w->idle = z->home[lead].w->idle;
        for (uint32_t d = 0; d < h->w->depth; d++) {
            struct hd_lane_frame *f = hd_lane_frame(h, d);

            *f = *hd_lane_frame(&z->home[lead], d);
            f->saved = 0;
            f->other = f->counted ? f->other : 0;
        }
    }
}

/* ---- constructs, as one block ------------------------------------------ */

static uint64_t lanes_left(const struct hd_lane_at *h, const struct hd_ins *n)
{
    return h->w->mask &
           (n->aux ? hd_lane_less(h, n->b, n->d) : hd_lane_less(h, n->d, n->b));
}

/* The instruction at pc, of all homes; returns where those continue whose masks
 * are not empty. */
static uint32_t regroup_step(struct meeting *z, uint32_t pc)
{
    const struct hd_ins *n = &z->k->ins[pc], *loop = n;
    uint64_t any = 0;

    for (uint32_t w = 0; w < z->vm->warps; w++) {
        const struct hd_lane_at *h = &z->home[w];
        struct hd_lane_warp *x = h->w;

        switch (n->kind) {
        case HD_I_IF:
            regroup_push(h, pc,
                         n->other != n->end ? x->mask & ~hd_lane_bool(h, n->a)
                                            : 0);
            x->mask &= hd_lane_bool(h, n->a);
            break;
        case HD_I_ELSE:
            x->mask = hd_lane_frame(h, x->depth - 1u)->other;
            hd_lane_frame(h, x->depth - 1u)->other = 0;
            break;
        case HD_I_LOOP:
            regroup_push(h, pc, 0);
            if (x->mask != 0) {
                hd_lane_copy(h, n->d, n->a);
                x->mask = lanes_left(h, n);
            }
            break;
        case HD_I_ENDLOOP:
            loop = &z->k->ins[n->end];
            if (x->mask != 0) {
                hd_lane_step(h, loop);
                x->mask = lanes_left(h, loop);
            }
            break;
        case HD_I_TEST:
            x->mask &= hd_lane_bool(h, n->a);
            break;
        }
        any |= x->mask;
    }
    switch (n->kind) {
    case HD_I_IF:
        return any != 0 ? pc + 1 : n->other;
    case HD_I_ELSE:
        return any != 0 ? pc + 1 : n->end;
    case HD_I_LOOP:
    case HD_I_TEST:
        if (any != 0)
            return pc + 1;
        pop_all(z);
        return n->end + 1;
    case HD_I_ENDLOOP:
        if (any != 0)
            return n->end + 1;
        break;
    }
    pop_all(z); /* at the end of an IF or a loop */
    return pc + 1;
}

/* All threads of the entry have exited: continues where others wait.  False:
 * there are none. */
static bool regroup_unwind(struct meeting *z)
{
    while (z->home[0].w->depth > 0) {
        uint32_t d = z->home[0].w->depth - 1u;
        bool idle = regroup_is_idle(z->home[0].w, d); /* whom it had is gone */
        uint32_t pc = idle ? 0 : hd_lane_frame(&z->home[0], d)->pc;
        const struct hd_ins *n = &z->k->ins[pc];
        uint64_t any = 0;

        if (!idle && n->op == HD_I_MEET && n->kind == HD_I_IF &&
            n->other != n->end) {
            z->pc = regroup_step(z, n->other);
            if (z->pc != n->end)
                return true;
        }
        pop_all(z);
        for (uint32_t w = 0; w < z->vm->warps; w++)
            any |= z->home[w].w->mask;
        z->pc = n->end + 1;
        if (any != 0)
            return true;
    }
    return false;
}

/* ---- forming ----------------------------------------------------------- */

/* The registers of a formed warp's threads, and where they are. */
static void form(const struct meeting *z, uint32_t i)
{
    struct hd_lane_at f = hd_lane_find(z->vm, z->vm->contexts + z->ctx, i);
    const uint64_t *part = parts(z->vm, z->ctx, i);
    struct hd_lane_warp *x = f.w;

    *x = (struct hd_lane_warp){
        .pc = z->pc, .depth = z->home[0].w->depth, .idle = z->home[0].w->idle};
    memset(x->tag, HD_UNIFORM, z->k->nreg);
    hd_lane_name_all(z->vm, x); /* no load is out where warps meet */
    for (uint32_t w = 0; w < z->vm->warps; w++)
        x->mask |= part[w];
    for (uint32_t d = 0; d < x->depth; d++) {
        struct hd_lane_frame *to = hd_lane_frame(&f, d);

        *to = *hd_lane_frame(&z->home[0], d);
        to->other = to->counted ? to->other : 0;
        to->saved = 0;
        for (uint32_t w = 0; w < z->vm->warps; w++)
            to->saved |= hd_lane_frame(&z->home[w], d)->saved & part[w];
    }
    for (uint32_t reg = 0; reg < z->k->nreg; reg++)
        if (lives(z->k, reg, z->pc))
            regroup_gather(z, &f, part, reg);
}

/* Takes the threads of the next formed warp out of those that are left.  False:
 * there were none.  No policy is asked for those of the first one's own warp,
 * so that each formed warp leaves none of the oldest warp's behind, and the
 * block has place for all. */
static bool regroup_choose(const struct meeting *z, uint64_t *left,
                           uint64_t *part)
{
    const struct hd_group *g = z->g;
    uint64_t taken, members;
    uint32_t w = 0, first;

    memset(part, 0, z->vm->warps * sizeof(*part));
    while (w < z->vm->warps && left[w] == 0)
        w++;
    if (w == z->vm->warps)
        return false;
    first = w;
    taken = part[w] = left[w] & (0 - left[w]); /* the oldest */
    members = UINT64_C(1) << w;
    for (uint32_t l = 0; l < z->vm->lanes; l++)
        for (w = 0; w < z->vm->warps && !(taken >> l & 1); w++) {
            uint64_t bit = left[w] & UINT64_C(1) << l;

            if (bit == 0 || (w != first && g->may_join != NULL &&
                             !g->may_join(g->self, z->pc, w, l, members)))
                continue;
            taken |= bit;
            part[w] |= bit;
            members |= UINT64_C(1) << w;
        }
    for (w = 0; w < z->vm->warps; w++)
        left[w] &= ~part[w];
    return true;
}

static uint32_t form_all(struct meeting *z)
{
    uint64_t left[HD_LANE_HOMES];
    uint32_t n = 0;

    for (uint32_t w = 0; w < z->vm->warps; w++)
        left[w] = z->home[w].w->mask;
    while (n < z->vm->warps && regroup_choose(z, left, parts(z->vm, z->ctx, n)))
        form(z, n++);
    return n;
}

/* ---- the whole --------------------------------------------------------- */

/* Warps formed are of the entry's threads, each once, in its lane. */
static void regroup_check(const struct meeting *z, uint32_t formed)
{
    for (uint32_t w = 0; w < z->vm->warps; w++) {
        uint64_t m = 0;
        bool twice = false;

        for (uint32_t i = 0; i < formed; i++) {
            uint64_t part = parts(z->vm, z->ctx, i)[w];
            twice = twice || (m & part) != 0;
            m |= part;
        }
        if (twice || m != z->home[w].w->mask)
            hd_err_set(
                z->vm->env->err, HEDDLE_ECHECK,
                "kernel %s, block %llu: of warp %u threads 0x%llx are "
                "in formed warps; expected 0x%llx, each once",
                z->k->name, (unsigned long long)z->vm->block[z->ctx].number, w,
                (unsigned long long)m, (unsigned long long)z->home[w].w->mask);
    }
}

/* What the next run of the entry can write: where it begins, and the end of the
 * loops that it can go round in without a MEET. */
static void regroup_remember(const struct meeting *z)
{
    struct hd_lane_block *b = &z->vm->block[z->ctx];
    const struct hd_lane_at *h = &z->home[0];

    b->from = z->pc;
    b->to = 0;
    for (uint32_t d = base_of(z) - (base_of(z) > 0); d < h->w->depth; d++) {
        const struct hd_ins *n = &z->k->ins[hd_lane_frame(h, d)->pc];

        if (regroup_is_idle(h->w, d) ||
            (n->op != HD_I_LOOP && n->op != HD_I_WHILE))
            continue;
        b->from = (uint32_t)(n - z->k->ins);
        b->to = n->end + 1;
        return;
    }
}

/* All threads have exited: warps that ended without an EXIT of their own, since
 * their threads had, have it now. */
static uint64_t regroup_finish(const struct meeting *z)
{
    uint64_t run = 0;

    for (uint32_t w = 0; w < z->vm->warps; w++) {
        struct hd_lane_warp *x = z->home[w].w;

        if (x->pc == z->k->nins - 2)
            continue;
        x->pc = z->k->nins - 2;
        run |= UINT64_C(1) << w;
    }
    return run;
}

/* Constructs up to one behind which something stands. */
static void step_all(struct meeting *z)
{
    for (uint32_t n = 0; z->k->ins[z->pc].op == HD_I_MEET; n++) {
        z->pc = regroup_step(z, z->pc);
        if (n == SPIN_LIMIT) {
            hd_err_set(z->vm->env->err, HEDDLE_EPROGRAM,
                       "kernel %s: more than %d rounds without an instruction",
                       z->k->name, SPIN_LIMIT);
            return;
        }
    }
}

/* Warps of the entry that continue. */
static uint64_t regroup_proceed(struct meeting *z, uint32_t formed)
{
    uint32_t warps = z->vm->warps;
    bool same = true, whole = true;
    uint64_t run = 0;

    z->g->threads = 0;
    for (uint32_t w = 0; w < warps; w++) {
        uint64_t live = alive(&z->home[w]);
        struct hd_lane_warp *x = z->home[w].w;

        same = same && x->mask == z->was[w];
        whole = whole && x->mask == live;
        x->pc = live != 0 ? z->pc : z->k->nins - 1;
        run |= x->mask != 0 ? UINT64_C(1) << w : 0;
        z->g->threads += hd_bit_count(x->mask);
    }
    z->g->moved = !same || (whole && formed > 0);
    if (same && !whole) { /* the same warps, but for threads that exited */
        for (uint32_t i = run = 0; i < formed; i++) {
            uint64_t *part = parts(z->vm, z->ctx, i), some = 0;

            for (uint32_t w = 0; w < warps; w++)
                some |= part[w] &= z->home[w].w->mask;
            form(z, i);
            run |= some != 0 ? UINT64_C(1) << i : 0;
        }
    } else if (!whole) {
        formed = form_all(z);
        run = hd_ones(formed);
    } else {
        formed = 0;
    }
    if (formed > 0 && z->vm->env->check)
        regroup_check(z, formed);
    z->vm->block[z->ctx].formed = formed;
    z->vm->block[z->vm->contexts + z->ctx] = z->vm->block[z->ctx];
    z->g->ctx = formed > 0 ? z->vm->contexts + z->ctx : z->ctx;
    regroup_remember(z);
    return run;
}

uint64_t hd_lane_regroup(void *self, uint32_t ctx, struct hd_group *g)
{
    struct hd_lane_engine *vm = self;
    struct meeting z = {.vm = vm, .k = vm->k, .ctx = ctx, .g = g};
    uint32_t formed = vm->block[ctx].formed;
    bool any;

    for (uint32_t w = 0; w < vm->warps; w++)
        z.home[w] = hd_lane_find(vm, ctx, w);
    if (formed > 0)
        put_all_back(&z, formed);
    else
        align(&z);
    for (uint32_t w = 0; w < vm->warps; w++)
        z.was[w] = z.home[w].w->mask;
    any = z.pc != vm->k->nins - 1;
    if (!any && !(any = regroup_unwind(&z))) {
        vm->block[ctx].formed = 0;
        g->ctx = ctx;
        g->moved = false;
        return regroup_finish(&z);
    }
    step_all(&z);
    return hd_err_breaks(vm->env->err->code) ? 0 : regroup_proceed(&z, formed);
}
