/*
 * compact.c - compaction: frames of 2 MB are emptied by moving their pages.
 * Mosaic's contiguity-aware compaction (CAC; MICRO 2017, section 4.4), and any
 * other that a policy makes of it.
 *
 * Pages move to other frames of their owner.  compact_source is asked which
 * frame is emptied, until it says that it is enough; no frame is offered
 * twice for one cause.  compact_target is asked where the pages go: to a frame
 * of 2 MB of the same owner alone, not coalesced, with a free place in
 * the same channels, piece by piece of the interleave (memory.move=any: to
 * any frame of 2 MB that is in use and has a place).  With Mosaic's rule
 * that a page moves within its memory channel and a fine interleave, that is
 * what can be copied without crossing channels.  A page takes the lowest such
 * place.  compact_copy says how; each page costs a line of its leaf table, too,
 * and its translation is removed from the TLBs.  Then compact_stall says
 * whether the cores wait for the copies.
 *
 * Caches are physical, so lines of a page that moves are removed from them: the
 * L2's, and the L1s' of the cores of its owner.  Dirty ones are written back to
 * the old place before the page is copied; where the copy costs nothing, so
 * does that.  What caches hold of the new place is of a page that is gone, and
 * is dropped.  Left out: lines that are in flight come in under the old
 * address, and age away.
 *
 * A coalesced frame that is to be emptied is split first.  Pages of 64 KB and
 * 2 MB do not move; the frame keeps them and what follows them.
 *
 * Off by default: the points' defaults empty nothing.  The manager asks for it
 * when allocations were freed, and when a page has found no frame (manage.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "managestate.h"

/* Why memory is compacted, and how far that has come. */
struct cause {
    uint32_t cause, app;
    uint64_t asked, moved;
};

/* ---- where a page goes --------------------------------------------------- */

/* The lowest free place in a frame of 2 MB, in a page's channels if it has to.
 */
static uint64_t compact_place(const struct hd_manage *g, uint64_t big,
                              uint64_t page)
{
    uint64_t f = big * HD_LARGE_PAGES, end = f + HD_LARGE_PAGES;

    for (; f < end && f < g->t->frames.frames; f++)
        if (hd_frames_owner(&g->t->frames, f) == 0 &&
            (g->cfg.move || hd_dram_same_channels(
                                g->dram, (hd_pa){f * HD_PAGE_BYTES},
                                (hd_pa){page * HD_PAGE_BYTES}, HD_PAGE_BYTES)))
            return f;
    return HD_NO_FRAME;
}

/* The frame of 2 MB that takes a page and those that follow, or HD_NO_FRAME. */
static uint64_t compact_ask_target(struct hd_manage *g, uint64_t big,
                                   uint64_t page, uint32_t owner)
{
    uint64_t *frame = g->scratch, *used = g->scratch + g->t->big.n, k;
    struct heddle_q_compact_target q = {.owner = owner,
                                        .from = big * HD_LARGE_PAGES,
                                        .left = g->t->big.v[big].used,
                                        .frame = frame,
                                        .used = used};

    for (uint64_t b = 0; b < g->t->big.n; b++) {
        const struct hd_bigframe *f = &g->t->big.v[b];
        bool may =
            g->cfg.move ? f->used != 0 : f->owners == 1 && f->of[owner] != 0;
        if (b == big || !may || f->joined || f->used == HD_LARGE_PAGES ||
            compact_place(g, b, page) == HD_NO_FRAME)
            continue;
        frame[q.n] = b * HD_LARGE_PAGES;
        used[q.n++] = f->used;
    }
    if (q.n == 0)
        return HD_NO_FRAME;
    q.owner = owner == HD_OWNER_FOREIGN ? g->env->apps : owner;
    k = (uint64_t)hd_ask_compact_target(&g->receive, &q);
    return k == 0 ? HD_NO_FRAME : frame[k - 1] / HD_LARGE_PAGES;
}

static int64_t compact_ask_copy(struct hd_manage *g, uint64_t from, uint64_t to,
                                uint32_t owner)
{
    struct heddle_q_compact_copy q = {
        owner == HD_OWNER_FOREIGN ? g->env->apps : owner, from * HD_LARGE_PAGES,
        to * HD_LARGE_PAGES};

    return hd_ask_compact_copy(&g->copy, &q);
}

/* ---- moving -------------------------------------------------------------- */

/* Takes the lines of a frame out of the caches; dirty ones are written back
 * first, where that is asked for.  0 or -1 (out of memory). */
static int compact_flush(struct hd_manage *g, uint32_t app, uint64_t frame,
                         bool back)
{
    uint64_t *n = hd_manage_count(g, app, HD_MANAGE_FLUSHED);
    int rc = 0;

    if (!g->s->running)
        return 0;
    for (uint32_t at = 0; at < HD_PAGE_BYTES; at += g->line) {
        hd_pa pa = {frame * HD_PAGE_BYTES + at};
        bool dirty = false;
        enum hd_l2_dropped l2;

        *n += g->cores.drop(g->cores.self, app, pa, g->line, &dirty);
        l2 = hd_l2_drop(g->l2, app, pa);
        *n += l2 != HD_L2_NOT_THERE;
        if (back && (dirty || l2 == HD_L2_WAS_DIRTY) && rc == 0)
            rc = hd_mover_flush(g->mover, app, pa);
    }
    return rc;
}

/* Moves the page in frame `from`; vpn counts where an application has it. */
static void compact_move(struct hd_manage *g, uint32_t owner, hd_vpn vpn,
                         uint64_t from, uint64_t to, int64_t how)
{
    uint32_t app = owner == HD_OWNER_FOREIGN ? HD_APP_NONE : owner;
    struct heddle_n_page_moved note = {
        .app = owner == HD_OWNER_FOREIGN ? g->env->apps : owner,
        .vpn = vpn.v,
        .frame = from,
        .to = to};
    bool paid = how != HEDDLE_COMPACT_COPY_FREE;
    int rc = 0;

    hd_ptables_move(g->t, (hd_pfn){from}, (hd_pfn){to});
    if (app != HD_APP_NONE)
        rc = compact_flush(g, app, from, paid) +
             compact_flush(g, app, to, false);
    if (rc == 0 && paid)
        rc = hd_mover_copy(g->mover, app, (hd_pfn){from}, (hd_pfn){to},
                           how == HEDDLE_COMPACT_COPY_BULK ? HD_MOVE_BULK
                                                           : HD_MOVE_COPY);
    if (app != HD_APP_NONE) {
        if (rc == 0)
            rc = hd_mover_write(g->mover, app,
                                hd_ptables_table(g->t, app, vpn, 4), 1);
        hd_manage_shootdown(g, app, HEDDLE_SHOOTDOWN_CAUSE_MOVED, vpn.v, 1);
    }
    if (rc < 0)
        hd_manage_no_memory(g);
    (*hd_manage_count(g, app, HD_MANAGE_MOVED))++;
    if (g->env->slots->watched[HEDDLE_NOTE_page_moved] != 0)
        hd_slots_note(g->env->slots, HEDDLE_NOTE_page_moved, &note);
}

/* Whether the page of a frame can move: it is of 4 KB. */
static bool compact_movable(const struct hd_manage *g, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate x;

    return hd_ptables_find(g->t, app, vpn, &x) && x.page_pages == 1 &&
           hd_ptables_present(g->t, app, vpn) != 0;
}

/* Moves the pages of a frame of 2 MB, as far as there is room. */
static void compact_empty(struct hd_manage *g, struct cause *e, uint64_t big)
{
    uint64_t f = big * HD_LARGE_PAGES, end = f + HD_LARGE_PAGES;
    uint64_t to = HD_NO_FRAME, place;
    uint32_t to_owner = HD_OWNER_NONE;
    int64_t how = 0;

    for (;
         f < end && f < g->t->frames.frames && !hd_err_ends(g->env->err->code);
         f++) {
        uint32_t o = hd_frames_owner(&g->t->frames, f),
                 owner = HD_OWNER_FOREIGN;
        hd_vpn vpn = {0};

        if (o == 0)
            continue;
        if (hd_ptables_owner(g->t, (hd_pfn){f}, &owner, &vpn) &&
            !compact_movable(g, owner, vpn))
            return;
        place = to == HD_NO_FRAME || owner != to_owner
                    ? HD_NO_FRAME
                    : compact_place(g, to, f);
        if (place == HD_NO_FRAME) {
            to = compact_ask_target(g, big, f, owner);
            if (to == HD_NO_FRAME)
                return;
            to_owner = owner;
            how = compact_ask_copy(g, big, to, owner);
            place = compact_place(g, to, f);
        }
        compact_move(g, owner, vpn, f, place, how);
        e->moved++;
    }
}

/* Splits the frame's region if it is coalesced, then empties it. */
static void compact_take_frame(struct hd_manage *g, struct cause *e,
                               uint64_t big)
{
    uint32_t owner = hd_bigframes_owner(&g->t->big, big);

    if (g->t->big.v[big].joined) {
        uint32_t app = owner;
        hd_vpn vpn = {0};
        hd_ptables_owner(g->t, (hd_pfn){big * HD_LARGE_PAGES}, &app, &vpn);
        hd_manage_splinter(g, app, vpn.v);
    }
    compact_empty(g, e, big);
    if (g->t->big.v[big].used == 0)
        (*hd_manage_count(g, owner < g->env->apps ? owner : HD_APP_NONE,
                          HD_MANAGE_EMPTIED))++;
}

/* ---- which frames -------------------------------------------------------- */

/* The frame of 2 MB that is emptied next, or HD_NO_FRAME. */
static uint64_t compact_ask_source(struct hd_manage *g, const struct cause *e)
{
    uint64_t n = g->t->big.n, k;
    uint64_t *frame = g->scratch, *owner = frame + n, *used = owner + n,
             *joined = used + n;
    struct heddle_q_compact_source q = {.cause = e->cause,
                                        .app = e->app,
                                        .asked = e->asked,
                                        .apps = g->env->apps,
                                        .frame = frame,
                                        .owner = owner,
                                        .used = used,
                                        .joined = joined};

    for (uint64_t b = 0; b < n; b++) {
        const struct hd_bigframe *f = &g->t->big.v[b];
        uint32_t o = hd_bigframes_owner(&g->t->big, b);
        if (f->used == 0 || g->tried[b])
            continue;
        frame[q.n] = b * HD_LARGE_PAGES;
        owner[q.n] = o == HD_OWNER_FOREIGN   ? g->env->apps
                     : o == HD_OWNER_SEVERAL ? g->env->apps + 1
                                             : o;
        used[q.n] = f->used;
        joined[q.n++] = f->joined;
    }
    k = q.n == 0 ? 0 : (uint64_t)hd_ask_compact_source(&g->compact, &q);
    return k == 0 ? HD_NO_FRAME : frame[k - 1] / HD_LARGE_PAGES;
}

/* The cores wait for the copies, if the policy says so. */
static void compact_ask_stall(struct hd_manage *g, const struct cause *e)
{
    struct heddle_q_compact_stall q = {e->cause, e->app, e->moved};

    if (!hd_ask_compact_stall(&g->stall, &q) || g->s->halt ||
        !hd_mover_busy(g->mover))
        return;
    g->s->halt = 1;
    g->s->halted = hd_events_now(g->env->ev);
    g->cores.halt(g->cores.self, true, g->s->halted);
}

bool hd_compact(struct hd_manage *g, uint32_t cause, uint32_t app,
                uint64_t first)
{
    struct cause e = {cause, app, 0, 0};
    uint64_t big = first;

    if (HD_LIKELY(!g->compact.bound))
        return false;
    memset(g->tried, 0, g->t->big.n);
    if (first == HD_NO_FRAME || g->t->big.v[first].used == 0)
        big = compact_ask_source(g, &e);
    for (; !hd_err_ends(g->env->err->code) && big != HD_NO_FRAME;
         big = compact_ask_source(g, &e)) {
        g->tried[big] = 1;
        e.asked++;
        compact_take_frame(g, &e, big);
    }
    if (e.asked != 0)
        (*hd_manage_count(g, app, HD_MANAGE_COMPACTIONS))++;
    if (e.moved != 0)
        compact_ask_stall(g, &e);
    return e.asked != 0;
}

/* ---- a page has found no frame ------------------------------------------- */

bool hd_compact_room(void *self, uint32_t app)
{
    return hd_compact(self, HEDDLE_COMPACT_CAUSE_FULL, app, HD_NO_FRAME);
}

bool hd_compact_wanted(void *self, uint32_t app)
{
    struct hd_manage *g = self;
    struct cause e = {HEDDLE_COMPACT_CAUSE_FULL, app, 0, 0};

    memset(g->tried, 0, g->t->big.n);
    g->s->wanted = compact_ask_source(g, &e);
    return g->s->wanted != HD_NO_FRAME;
}

bool hd_compact_can(void *self)
{
    const struct hd_manage *g = self;

    return g->compact.bound != 0 &&
           hd_slots_answered(g->env->slots, HEDDLE_POINT_compact_source);
}
