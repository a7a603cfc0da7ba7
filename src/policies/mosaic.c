/*
 * mosaic.c - the memory manager of Mosaic: Ausavarungnirun et al., Mosaic: a
 * GPU memory manager with application-transparent support for multiple page
 * sizes, MICRO 2017, section 4.
 *
 * CoCoA places pages.  An aligned 2 MB that is wholly in one allocation gets
 * a frame of 2 MB from the free frame list, each page at its own offset.  All
 * other pages of an application come from its free base pages: frames of 2 MB
 * that only this application uses, the one that joined the list last first,
 * its lowest free place.  So a frame holds pages of one application (the soft
 * guarantee), until nothing else is left: then a page goes to a frame that the
 * application reserves, or to anybody's (the engine counts those as mixed).
 *
 * The In-Place Coalescer answers yes whenever the engine finds a region whole.
 * Where pages come from the host one by one that is when the last of them has
 * come (4.1, steps 3 to 6), or, with `early`, the first: the frame is the
 * region's from then on.
 *
 * CAC compacts.  A coalesced region that has lost pages is split when less
 * than `threshold` percent of it are left, else it goes to the emergency
 * frames.  On deallocation, frames of the application below the threshold are
 * emptied, the emptiest first, if its other uncoalesced frames have room.
 * When the free frame list is empty, for far faults too, the emptiest frame
 * that others of its owner can take in is emptied: of the application that
 * asks, of the others, of no application (fragmentation); then emergency frames
 * are split.  Pages go to the fullest uncoalesced frame of their owner.
 *
 * The definitions are exact, so that policies/mosaic.lua decides alike: frames
 * are compared by pages in use and then by number; the free frame list is a
 * stack that gives the lowest frame first and the last one freed before that.
 *
 * Bound before cycle 0; it does not know what was mapped before.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>

#include "policy.h"

enum { PAGES = 512, WORDS = PAGES / 64 };
enum { COALESCE, EARLY, THRESHOLD, CAC, STALL };
enum { CAC_OFF, CAC_COPY, CAC_BULK, CAC_FREE };

#define NONE UINT32_MAX

struct frame {           /* of 2 MB */
    uint64_t map[WORDS]; /* places in use */
    uint64_t chunk;      /* reserved for this aligned 2 MB, + 1; 0: for none */
    uint32_t next;       /* in its owner's list of free base pages */
    uint16_t used;
    uint8_t owner;  /* 0: free; application + 1; apps + 1: none, + 2: several */
    uint8_t joined; /* coalesced */
    uint8_t listed;
};

struct mosaic {
    uint32_t n, apps; /* frames of 2 MB */
    uint32_t coalesce, early, threshold, cac, stall;
    uint32_t top;   /* of the free frame list */
    uint32_t wants; /* what found no frame: 0 a base page, 1 a whole frame */
    uint32_t head[HEDDLE_MAX_APPS]; /* free base pages */
    uint32_t last[HEDDLE_MAX_APPS]; /* frame reserved last */
    struct frame f[];           /* [n], then uint32_t free[2 * n] */
};

static uint32_t *free_list(struct mosaic *s)
{
    return (uint32_t *)(void *)&s->f[s->n];
}

/* ---- lists -------------------------------------------------------------- */

/* The frame at the top of the free frame list, or NONE. */
static uint32_t free_top(struct mosaic *s)
{
    while (s->top > 0 && s->f[free_list(s)[s->top - 1]].owner != 0)
        s->top--; /* it was taken otherwise */
    return s->top > 0 ? free_list(s)[s->top - 1] : NONE;
}

static void list(struct mosaic *s, uint32_t f)
{
    uint32_t app = s->f[f].owner - 1u;

    if (s->f[f].listed || app >= s->apps)
        return;
    s->f[f].listed = 1;
    s->f[f].next = s->head[app];
    s->head[app] = f;
}

static void unlist(struct mosaic *s, uint32_t f)
{
    uint32_t *at;

    if (!s->f[f].listed)
        return;
    at = &s->head[s->f[f].owner - 1];
    while (*at != f)
        at = &s->f[*at].next;
    *at = s->f[f].next;
    s->f[f].listed = 0;
}

/* A frame has lost its last page. */
static void mosaic_release(struct mosaic *s, uint32_t f)
{
    unlist(s, f);
    s->f[f].owner = 0;
    s->f[f].chunk = 0;
    free_list(s)[s->top++] = f;
}

/* A frame of the application with a free base page, or NONE. */
static uint32_t base_frame(struct mosaic *s, uint32_t app)
{
    while (s->head[app] != NONE && s->f[s->head[app]].used == PAGES)
        unlist(s, s->head[app]);
    return s->head[app];
}

/* ---- places -------------------------------------------------------------- */

static bool mosaic_taken(const struct frame *f, uint32_t place)
{
    return f->map[place / 64] >> (place % 64) & 1;
}

static int64_t mosaic_take(struct mosaic *s, uint32_t f, uint32_t place)
{
    s->f[f].map[place / 64] |= 1ull << (place % 64);
    s->f[f].used++;
    return (int64_t)f * PAGES + place;
}

static void mosaic_leave(struct mosaic *s, uint64_t frame)
{
    struct frame *f = &s->f[frame / PAGES];

    f->map[frame % PAGES / 64] &= ~(1ull << (frame % 64));
    f->used--;
}

static uint32_t mosaic_lowest(const struct frame *f)
{
    uint32_t i = 0;

    while (~f->map[i / 64] == 0)
        i += 64;
    while (f->map[i / 64] >> (i % 64) & 1)
        i++;
    return i;
}

/* ---- CoCoA --------------------------------------------------------------- */

/* The frame reserved for an aligned 2 MB, or NONE. */
static uint32_t reserved(struct mosaic *s, uint32_t app, uint64_t chunk)
{
    uint32_t f = s->last[app];

    if (f != NONE && s->f[f].owner == app + 1 && s->f[f].chunk == chunk + 1)
        return f;
    for (f = 0; f < s->n; f++)
        if (s->f[f].owner == app + 1 && s->f[f].chunk == chunk + 1)
            return s->last[app] = f;
    return NONE;
}

static uint32_t take_free(struct mosaic *s, uint32_t app, uint64_t chunk)
{
    uint32_t f = free_top(s);

    if (f == NONE)
        return NONE;
    s->top--;
    s->f[f].owner = (uint8_t)(app + 1);
    s->f[f].chunk = chunk;
    if (chunk != 0)
        s->last[app] = f;
    else
        list(s, f);
    return f;
}

/* Nothing else is left: a reserved frame of the application, or anybody's. */
static int64_t forced(struct mosaic *s, uint32_t app)
{
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t f = 0; f < s->n; f++) {
            struct frame *x = &s->f[f];
            if (x->joined || x->used == PAGES || x->owner == 0 ||
                (pass == 0 && x->owner != app + 1))
                continue;
            if (x->owner != app + 1) {
                unlist(s, f);
                x->owner = (uint8_t)(s->apps + 2);
            }
            return mosaic_take(s, f, mosaic_lowest(x));
        }
    }
    return -1;
}

static int64_t mosaic_frame_place(void *self, const void *question)
{
    const struct heddle_q_frame_place *q = question;
    struct mosaic *s = self;
    uint32_t app = (uint32_t)q->app, place = q->vpn % PAGES, f;
    uint64_t chunk = q->vpn / PAGES;
    int64_t last;

    if (q->pages != 1)
        return HEDDLE_PASS;
    if (q->whole) {
        f = reserved(s, app, chunk);
        if (f == NONE)
            f = take_free(s, app, chunk + 1);
        if (f != NONE && !mosaic_taken(&s->f[f], place))
            return mosaic_take(s, f, place);
        if (f == NONE && !q->again) {
            s->wants = 1;
            return (int64_t)q->frames;
        }
    }
    f = base_frame(s, app);
    if (f == NONE)
        f = take_free(s, app, 0);
    if (f != NONE)
        return mosaic_take(s, f, mosaic_lowest(&s->f[f]));
    s->wants = 0;
    if (!q->again)
        return (int64_t)q->frames;
    last = forced(s, app);
    return last < 0 ? (int64_t)q->frames : last;
}

static int64_t mosaic_alloc(void *self, const void *question)
{
    (void)self, (void)question;
    return 0; /* base pages; coalescing makes them large */
}

/* ---- the In-Place Coalescer, and splitting ------------------------------- */

static int64_t coalesce(void *self, const void *question)
{
    const struct heddle_q_region_coalesce *q = question;
    struct mosaic *s = self;
    uint32_t f = (uint32_t)(q->frame / PAGES);

    if (!s->coalesce || f >= s->n || s->f[f].owner != q->app + 1 ||
        (q->present < PAGES && !s->early))
        return 0;
    unlist(s, f);
    s->f[f].joined = 1;
    return 1;
}

/* A frame's pages are single ones again, its empty places base pages. */
static void mosaic_part(struct mosaic *s, uint32_t f)
{
    s->f[f].joined = 0;
    s->f[f].chunk = 0;
    if (s->f[f].used == 0)
        mosaic_release(s, f);
    else if (s->f[f].used < PAGES)
        list(s, f);
}

static int64_t splinter(void *self, const void *question)
{
    const struct heddle_q_region_split *q = question;
    struct mosaic *s = self;

    if (q->left * 100 >= (uint64_t)s->threshold * PAGES && q->left != 0)
        return 0;
    mosaic_part(s, (uint32_t)(q->frame / PAGES));
    return 1;
}

/* ---- CAC ----------------------------------------------------------------- */

/* Whether the other uncoalesced frames of a frame's owner can take it in. */
static bool mosaic_fits(const struct mosaic *s, uint32_t f)
{
    uint32_t room = 0;

    for (uint32_t i = 0; i < s->n; i++)
        if (i != f && s->f[i].owner == s->f[f].owner && !s->f[i].joined &&
            s->f[i].chunk == 0)
            room += PAGES - s->f[i].used;
    return room >= s->f[f].used;
}

/* The emptiest of the frames offered that `owner` has, or 0: position + 1. */
static int64_t emptiest(const struct mosaic *s,
                        const struct heddle_q_compact_source *q, uint32_t owner,
                        uint32_t joined, uint64_t below)
{
    uint64_t best = 0;

    for (uint64_t i = 0; i < q->n; i++)
        if (q->owner[i] == owner && q->joined[i] == joined &&
            q->used[i] < below && q->frame[i] / PAGES < s->n &&
            (best == 0 || q->used[i] < q->used[best - 1]))
            best = i + 1;
    return (int64_t)best;
}

/* An emergency frame is split: its empty places are base pages then, which may
 * be all that is wanted. */
static int64_t emergency(struct mosaic *s,
                         const struct heddle_q_compact_source *q,
                         uint32_t owner)
{
    int64_t k = emptiest(s, q, owner, 1, PAGES);
    bool enough = owner == q->app && !s->wants;

    if (k == 0 ||
        (!enough && !mosaic_fits(s, (uint32_t)(q->frame[k - 1] / PAGES))))
        return 0;
    mosaic_part(s, (uint32_t)(q->frame[k - 1] / PAGES));
    return k;
}

/* The emptiest frame of an owner, if its others can take it in. */
static int64_t mosaic_movable(const struct mosaic *s,
                              const struct heddle_q_compact_source *q,
                              uint32_t owner, uint64_t below)
{
    int64_t k = emptiest(s, q, owner, 0, below);

    return k != 0 && mosaic_fits(s, (uint32_t)(q->frame[k - 1] / PAGES)) ? k
                                                                         : 0;
}

static int64_t mosaic_full(struct mosaic *s,
                           const struct heddle_q_compact_source *q)
{
    if (free_top(s) != NONE ||
        (!s->wants && base_frame(s, (uint32_t)q->app) != NONE))
        return 0;
    for (uint32_t e = 0; e < 2; e++) {
        for (uint32_t i = 0; i <= s->apps; i++) {
            /* who asks, then the others, then no application */
            uint32_t o = i == 0 ? (uint32_t)q->app : i <= q->app ? i - 1 : i;
            int64_t k =
                e == 0 ? mosaic_movable(s, q, o, PAGES) : emergency(s, q, o);
            if (k != 0)
                return k;
        }
    }
    return 0;
}

static int64_t mosaic_compact(void *self, const void *question)
{
    const struct heddle_q_compact_source *q = question;
    struct mosaic *s = self;

    if (s->cac == CAC_OFF)
        return 0;
    if (q->cause == 1)
        return mosaic_full(s, q);
    return mosaic_movable(s, q, (uint32_t)q->app,
                          ((uint64_t)s->threshold * PAGES + 99) / 100);
}

static int64_t receive(void *self, const void *question)
{
    const struct heddle_q_compact_target *q = question;
    const struct mosaic *s = self;
    uint64_t best = 0;

    for (uint64_t i = 0; i < q->n; i++)
        if (q->frame[i] / PAGES < s->n &&
            s->f[q->frame[i] / PAGES].chunk == 0 &&
            (best == 0 || q->used[i] > q->used[best - 1]))
            best = i + 1;
    return (int64_t)best;
}

static int64_t mosaic_copy(void *self, const void *question)
{
    const struct mosaic *s = self;

    (void)question;
    return s->cac - CAC_COPY;
}

static int64_t stall(void *self, const void *question)
{
    const struct mosaic *s = self;

    (void)question;
    return s->stall;
}

/* ---- what happens to frames ---------------------------------------------- */

/* A frame has lost a page, but is not coalesced: it has a free base page. */
static void mosaic_loosen(struct mosaic *s, uint32_t f)
{
    if (s->f[f].joined)
        return;
    if (s->f[f].used == 0)
        mosaic_release(s, f);
    else if (s->f[f].chunk == 0)
        list(s, f);
}

static void mosaic_page_freed(void *self, const void *note)
{
    const struct heddle_n_page_freed *x = note;
    struct mosaic *s = self;

    if (x->frame / PAGES >= s->n)
        return;
    mosaic_leave(s, x->frame);
    mosaic_loosen(s, (uint32_t)(x->frame / PAGES));
}

static void page_back(void *self, const void *note)
{
    const struct heddle_n_page_back *x = note;

    mosaic_take(self, (uint32_t)(x->frame / PAGES), x->frame % PAGES);
}

static void mosaic_page_moved(void *self, const void *note)
{
    const struct heddle_n_page_moved *x = note;
    struct mosaic *s = self;

    mosaic_leave(s, x->frame);
    mosaic_loosen(s, (uint32_t)(x->frame / PAGES));
    mosaic_take(s, (uint32_t)(x->to / PAGES), x->to % PAGES);
}

static void mosaic_frames_taken(void *self, const void *note)
{
    const struct heddle_n_frames_taken *x = note;
    struct mosaic *s = self;

    for (uint64_t i = x->frame; i < x->frame + x->frames; i++) {
        if (i / PAGES >= s->n)
            return;
        s->f[i / PAGES].owner = (uint8_t)(s->apps + 1);
        mosaic_take(s, (uint32_t)(i / PAGES), i % PAGES);
    }
}

/* ---- the policy ---------------------------------------------------------- */

static size_t mosaic_bytes(const struct heddle_place *p, const uint64_t *params)
{
    size_t n = p->frames / PAGES;

    (void)params;
    return sizeof(struct mosaic) + n * sizeof(struct frame) +
           2 * n * sizeof(uint32_t);
}

static int mosaic_init(void *state, const struct heddle_place *p,
                       const uint64_t *params)
{
    struct mosaic *s = state;

    s->n = (uint32_t)(p->frames / PAGES);
    s->apps = p->apps;
    s->coalesce = (uint32_t)params[COALESCE];
    s->early = (uint32_t)params[EARLY];
    s->threshold = (uint32_t)params[THRESHOLD];
    s->cac = (uint32_t)params[CAC];
    s->stall = (uint32_t)params[STALL];
    for (uint32_t a = 0; a < HEDDLE_MAX_APPS; a++)
        s->head[a] = s->last[a] = NONE;
    while (s->top < s->n) {
        free_list(s)[s->top] = s->n - 1 - s->top;
        s->top++;
    }
    return 0;
}

static const struct heddle_param params[] = {
    {"coalesce", "", 1, 0, 1, "1: whole regions become one page",
     "Mosaic 4.3; 0: CoCoA alone"},
    {"early", "", 0, 0, 1,
     "1: a region is coalesced when its first page has arrived from the host; "
     "0: when all have",
     "Mosaic 4.1: when the transfer is complete"},
    {"threshold", "percent", 50, 0, 100,
     "a coalesced region with fewer pages left is split; a frame with fewer is "
     "emptied",
     "guess: Mosaic 4.4 gives no number"},
    {"cac", "", 1, 0, 3,
     "compaction: 0 none, 1 copies over the channel, 2 copies inside DRAM "
     "(CAC-BC), 3 at no cost (ideal CAC)",
     "Mosaic 4.4, 6.4"},
    {"stall", "", 1, 0, 1, "1: no core issues while pages are copied",
     "Mosaic 5: it assumes this worst case"},
    {0},
};

const struct heddle_policy hd_policy_mosaic = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "mosaic",
    .summary = "frames of 2 MB for one application each, coalesced in place, "
               "and compacted",
    .source = "Ausavarungnirun et al., MICRO 2017",
    .params = params,
    .state_bytes = mosaic_bytes,
    .init = mosaic_init,
    .answer = {[HEDDLE_POINT_page_size] = mosaic_alloc,
               [HEDDLE_POINT_frame_place] = mosaic_frame_place,
               [HEDDLE_POINT_region_coalesce] = coalesce,
               [HEDDLE_POINT_region_split] = splinter,
               [HEDDLE_POINT_compact_source] = mosaic_compact,
               [HEDDLE_POINT_compact_target] = receive,
               [HEDDLE_POINT_compact_copy] = mosaic_copy,
               [HEDDLE_POINT_compact_stall] = stall},
    .watch = {[HEDDLE_NOTE_page_freed] = mosaic_page_freed,
              [HEDDLE_NOTE_page_back] = page_back,
              [HEDDLE_NOTE_page_moved] = mosaic_page_moved,
              [HEDDLE_NOTE_frames_taken] = mosaic_frames_taken},
};
