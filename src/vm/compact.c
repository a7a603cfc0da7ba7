/*
 * compact.c - emptying frames of 2 MB: pages move to other frames of their
 * owner (Mosaic's contiguity-aware compaction, section 4.4).
 *
 * compact is asked which frame is emptied, until it says that it is enough;
 * no frame is offered twice for one cause.  receive is asked where the pages
 * go: to a frame of 2 MB of the same owner alone, not coalesced, with a free
 * place that lies in the same channels, piece by piece of the interleave.
 * With Mosaic's rule that a page moves within its memory channel and a fine
 * interleave, that is what can be copied without crossing channels.  A page
 * takes the lowest such place.  copy says how; each page costs a line of its
 * leaf table, too, and its translation leaves the TLBs.  Then stall says
 * whether the cores wait for the copies.
 *
 * Caches are physical, so lines of a page that moves leave them: the L2's, and
 * the L1s' of the cores of its owner.  Dirty ones are written back to the old
 * place before the page is copied; where the copy costs nothing, so does that.
 * What caches hold of the new place is of a page that is gone, and is dropped.
 * Left out: lines that are in flight come in under the old address, and age
 * away.
 *
 * A coalesced frame that is to be emptied is split first.  Pages of 64 KB and
 * 2 MB do not move; the frame keeps them and what follows them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "managestate.h"

#include <string.h>

#define NO_FRAME UINT64_MAX

struct event {
    uint32_t cause, app;
    uint64_t asked, moved;
};

/* ---- where a page goes --------------------------------------------------- */

/* The lowest free place in a frame of 2 MB that has a page's channels. */
static uint64_t place_in(const struct hd_manage *g, uint64_t big, uint64_t page)
{
    uint64_t f = big * HD_LARGE_PAGES, end = f + HD_LARGE_PAGES;

    for (; f < end && f < g->t->frames.frames; f++)
        if (hd_frames_owner(&g->t->frames, f) == 0 &&
            hd_dram_same_channels(g->dram, (hd_pa){f * HD_PAGE_BYTES},
                                  (hd_pa){page * HD_PAGE_BYTES}, HD_PAGE_BYTES))
            return f;
    return NO_FRAME;
}

/* The frame of 2 MB that takes a page and those that follow, or NO_FRAME. */
static uint64_t ask_receive(struct hd_manage *g, uint64_t big, uint64_t page,
                            uint32_t owner)
{
    uint64_t *frame = g->scratch, *used = g->scratch + g->t->big.n, k;
    struct heddle_q_receive q = {.owner = owner,
                                 .from = big * HD_LARGE_PAGES,
                                 .left = g->t->big.v[big].used,
                                 .frame = frame,
                                 .used = used};

    for (uint64_t b = 0; b < g->t->big.n; b++) {
        const struct hd_bigframe *f = &g->t->big.v[b];
        if (b == big || f->owners != 1 || f->of[owner] == 0 || f->joined ||
            f->used == HD_LARGE_PAGES || place_in(g, b, page) == NO_FRAME)
            continue;
        frame[q.n] = b * HD_LARGE_PAGES;
        used[q.n++] = f->used;
    }
    if (q.n == 0)
        return NO_FRAME;
    q.owner = owner == HD_OWNER_FOREIGN ? g->env->apps : owner;
    k = (uint64_t)hd_ask_receive(&g->receive, &q);
    return k == 0 ? NO_FRAME : frame[k - 1] / HD_LARGE_PAGES;
}

static int64_t ask_copy(struct hd_manage *g, uint64_t from, uint64_t to,
                        uint32_t owner)
{
    struct heddle_q_copy q = {owner == HD_OWNER_FOREIGN ? g->env->apps : owner,
                              from * HD_LARGE_PAGES, to * HD_LARGE_PAGES};

    return hd_ask_copy(&g->copy, &q);
}

/* ---- moving -------------------------------------------------------------- */

/* Takes the lines of a frame out of the caches; dirty ones are written back
 * first, where that is asked for.  0 or -1 (out of memory). */
static int flush(struct hd_manage *g, uint32_t app, uint64_t frame, bool back)
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
static void move(struct hd_manage *g, uint32_t owner, hd_vpn vpn, uint64_t from,
                 uint64_t to, int64_t how)
{
    uint32_t app = owner == HD_OWNER_FOREIGN ? HD_APP_NONE : owner;
    struct heddle_n_page_moved note = {
        .app = owner == HD_OWNER_FOREIGN ? g->env->apps : owner,
        .vpn = vpn.v,
        .frame = from,
        .to = to};
    int rc = 0;

    hd_ptables_move(g->t, (hd_pfn){from}, (hd_pfn){to});
    if (app != HD_APP_NONE)
        rc =
            flush(g, app, from, how != HD_COPY_FREE) + flush(g, app, to, false);
    if (rc == 0 && how != HD_COPY_FREE)
        rc = hd_mover_copy(g->mover, app, (hd_pfn){from}, (hd_pfn){to},
                           how == HD_COPY_BULK ? HD_MOVE_BULK : HD_MOVE_COPY);
    if (app != HD_APP_NONE) {
        if (rc == 0)
            rc = hd_mover_write(g->mover, app,
                                hd_ptables_table(g->t, app, vpn, 4), 1);
        hd_manage_shoot(g, app, HD_CAUSE_MOVED, vpn.v, 1);
    }
    if (rc < 0)
        hd_manage_no_memory(g);
    (*hd_manage_count(g, app, HD_MANAGE_MOVED))++;
    if (g->env->slots->watched[HEDDLE_NOTE_page_moved] != 0)
        hd_slots_note(g->env->slots, HEDDLE_NOTE_page_moved, &note);
}

/* Whether the page of a frame can move: it is of 4 KB. */
static bool movable(const struct hd_manage *g, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate x;

    return hd_ptables_find(g->t, app, vpn, &x) && x.page_pages == 1 &&
           hd_ptables_present(g->t, app, vpn) != 0;
}

/* Moves the pages of a frame of 2 MB, as far as there is room. */
static void empty(struct hd_manage *g, struct event *e, uint64_t big)
{
    uint64_t f = big * HD_LARGE_PAGES, end = f + HD_LARGE_PAGES;
    uint64_t to = NO_FRAME, place;
    uint32_t to_owner = HD_OWNER_NONE;
    int64_t how = 0;

    for (; f < end && f < g->t->frames.frames && g->env->err->code == 0; f++) {
        uint32_t o = hd_frames_owner(&g->t->frames, f),
                 owner = HD_OWNER_FOREIGN;
        hd_vpn vpn = {0};

        if (o == 0)
            continue;
        if (hd_ptables_owner(g->t, (hd_pfn){f}, &owner, &vpn) &&
            !movable(g, owner, vpn))
            return;
        place =
            to == NO_FRAME || owner != to_owner ? NO_FRAME : place_in(g, to, f);
        if (place == NO_FRAME) {
            to = ask_receive(g, big, f, owner);
            if (to == NO_FRAME)
                return;
            to_owner = owner;
            how = ask_copy(g, big, to, owner);
            place = place_in(g, to, f);
        }
        move(g, owner, vpn, f, place, how);
        e->moved++;
    }
}

/* Splits the frame's region if it is coalesced, then empties it. */
static void take_frame(struct hd_manage *g, struct event *e, uint64_t big)
{
    uint32_t owner = hd_bigframes_owner(&g->t->big, big);

    if (g->t->big.v[big].joined) {
        uint32_t app = owner;
        hd_vpn vpn = {0};
        hd_ptables_owner(g->t, (hd_pfn){big * HD_LARGE_PAGES}, &app, &vpn);
        hd_manage_split(g, app, vpn.v);
    }
    empty(g, e, big);
    if (g->t->big.v[big].used == 0)
        (*hd_manage_count(g, owner < g->env->apps ? owner : HD_APP_NONE,
                          HD_MANAGE_EMPTIED))++;
}

/* ---- asking -------------------------------------------------------------- */

/* The frame of 2 MB that is emptied next, or NO_FRAME. */
static uint64_t ask_compact(struct hd_manage *g, const struct event *e)
{
    uint64_t n = g->t->big.n, k;
    uint64_t *frame = g->scratch, *owner = frame + n, *used = owner + n,
             *joined = used + n;
    struct heddle_q_compact q = {.cause = e->cause,
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
    k = q.n == 0 ? 0 : (uint64_t)hd_ask_compact(&g->compact, &q);
    return k == 0 ? NO_FRAME : frame[k - 1] / HD_LARGE_PAGES;
}

/* The cores wait for the copies, if the policy says so. */
static void ask_stall(struct hd_manage *g, const struct event *e)
{
    struct heddle_q_stall q = {e->cause, e->app, e->moved};

    if (!hd_ask_stall(&g->stall, &q) || g->s->halt || !hd_mover_busy(g->mover))
        return;
    g->s->halt = 1;
    g->s->halted = hd_events_now(g->env->ev);
    g->cores.halt(g->cores.self, true, g->s->halted);
}

bool hd_manage_compact(struct hd_manage *g, uint32_t cause, uint32_t app)
{
    struct event e = {cause, app, 0, 0};
    uint64_t big;

    if (HD_LIKELY(!g->compact.bound))
        return false;
    memset(g->tried, 0, g->t->big.n);
    while (g->env->err->code == 0 && (big = ask_compact(g, &e)) != NO_FRAME) {
        g->tried[big] = 1;
        e.asked++;
        take_frame(g, &e, big);
    }
    if (e.asked != 0)
        (*hd_manage_count(g, app, HD_MANAGE_COMPACTIONS))++;
    if (e.moved != 0)
        ask_stall(g, &e);
    return e.asked != 0;
}
