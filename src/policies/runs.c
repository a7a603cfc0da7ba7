/*
 * runs.c - frames in runs of drawn lengths: a statistical stand-in for memory
 * that a system has used for long.
 *
 * MESC (Yu, Bai, Wang, table II and figure 4) gives how much of a footprint is
 * in contiguous subregions of 64 pages, and how long runs are.  Both come out
 * of a mixture: long runs of 257 to 1024 pages, each length as likely, and
 * short ones of 8 on average (memoryless), so many behind each long one that
 * `broken` per mille of all pages are in them.  Each run starts at a random
 * frame; pages get frames in the order in which they come.  Where in this a
 * footprint begins is drawn, and in the first run anywhere in 64 pages, so that
 * runs and subregions have nothing to do with each other.
 *
 * A run of L pages covers L - 63 of them on average, so about 0.90 (1 - broken)
 * of the footprint is in contiguous subregions.
 *
 * A run that finds no room where it is drawn is drawn again, up to 32 times,
 * then with half of its pages left, and so on; where not even one free frame is
 * found, pages take what the engine would.  Bound before cycle 0.
 * policies/runs.lua is the twin.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>

#include "policy.h"

enum { BROKEN };
enum { LEAST = 257, MOST = 1024, SHORT = 8, PHASES = 64, TRIES = 32 };

struct app {
    uint64_t next, left; /* of the run */
    uint64_t begun;      /* 1: it has had a run */
    /* Pages that short runs are behind with, in units of 1 / (1000 - broken) */
    int64_t debt;
};

struct runs {
    uint64_t seed, drawn, frames, share;
    struct app app[HEDDLE_MAX_APPS];
    uint64_t used[]; /* a bit for each frame */
};

static uint64_t runs_draw(struct runs *s, uint64_t n)
{
    return heddle_draw(s->seed, s->drawn++, n);
}

static void runs_mark(struct runs *s, uint64_t first, uint64_t n, bool used)
{
    for (uint64_t f = first; f < first + n && f < s->frames; f++)
        if (used)
            s->used[f / 64] |= 1ull << f % 64;
        else
            s->used[f / 64] &= ~(1ull << f % 64);
}

static bool runs_all_free(const struct runs *s, uint64_t first, uint64_t n)
{
    for (uint64_t f = first; f < first + n; f++)
        if (s->used[f / 64] >> f % 64 & 1)
            return false;
    return true;
}

/* Draws the pages of the next run. */
static uint64_t runs_length(struct runs *s, struct app *a)
{
    uint64_t whole = 1000 - s->share, n = 1, phase = 0;

    if (!a->begun) {
        if (runs_draw(s, 1000) < s->share)
            a->debt = (int64_t)runs_draw(s, (LEAST + MOST) / 2 * s->share);
        phase = runs_draw(s, PHASES);
        a->begun = 1;
    }
    if (a->debt >= (int64_t)(SHORT / 2 * whole)) {
        while (runs_draw(s, SHORT) != 0)
            n++;
        a->debt -= (int64_t)(n * whole);
        return n;
    }
    n = LEAST + runs_draw(s, MOST - LEAST + 1);
    a->debt += (int64_t)(n * s->share);
    return n - phase;
}

/* Draws a run and its place; none is left where there is no room. */
static void runs_begin(struct runs *s, struct app *a)
{
    for (uint64_t n = runs_length(s, a); n > 0; n /= 2)
        for (uint32_t i = 0; i < TRIES && n <= s->frames; i++) {
            uint64_t f = runs_draw(s, s->frames - n + 1);
            if (!runs_all_free(s, f, n))
                continue;
            a->next = f;
            a->left = n;
            return;
        }
    a->left = 0;
}

static int64_t runs_frame_place(void *self, const void *question)
{
    const struct heddle_q_frame_place *q = question;
    struct runs *s = self;
    struct app *a = &s->app[q->app];
    uint64_t f = q->next;

    if (q->pages != 1)
        return HEDDLE_PASS;
    if (a->left == 0 || !runs_all_free(s, a->next, 1))
        runs_begin(s, a);
    if (a->left != 0) {
        f = a->next++;
        a->left--;
    }
    runs_mark(s, f, 1, true);
    return (int64_t)f;
}

static int64_t runs_page_size(void *self, const void *question)
{
    (void)self, (void)question;
    return 0; /* base pages */
}

static void runs_page_freed(void *self, const void *note)
{
    runs_mark(self, ((const struct heddle_n_page_freed *)note)->frame, 1,
              false);
}

static void runs_page_moved(void *self, const void *note)
{
    const struct heddle_n_page_moved *x = note;

    runs_mark(self, x->frame, 1, false);
    runs_mark(self, x->to, 1, true);
}

static void runs_frames_taken(void *self, const void *note)
{
    const struct heddle_n_frames_taken *x = note;

    runs_mark(self, x->frame, x->frames, true);
}

static size_t runs_bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)params;
    return sizeof(struct runs) + (p->frames / 64 + 1) * sizeof(uint64_t);
}

static int runs_init(void *state, const struct heddle_place *p,
                     const uint64_t *params)
{
    struct runs *s = state;

    s->seed = p->seed;
    s->frames = p->frames;
    s->share = params[BROKEN];
    return 0;
}

static const struct heddle_param params[] = {
    {"broken", "per mille", 507, 0, 1000,
     "pages that are in short runs; about 0.9 times the others are in "
     "contiguous subregions",
     "MESC table II, fitted: memhog 25 %, defrag off; 457, 524, 567 with "
     "defrag and 25, 50, 75 %, 529 and 613 without"},
    {0},
};

const struct heddle_policy hd_policy_runs = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "runs",
    .summary = "frames in runs of drawn lengths, as in memory that has long "
               "been in use",
    .source = "MESC, table II and figure 4",
    .params = params,
    .state_bytes = runs_bytes,
    .init = runs_init,
    .answer = {[HEDDLE_POINT_page_size] = runs_page_size,
               [HEDDLE_POINT_frame_place] = runs_frame_place},
    .watch = {[HEDDLE_NOTE_page_freed] = runs_page_freed,
              [HEDDLE_NOTE_page_moved] = runs_page_moved,
              [HEDDLE_NOTE_frames_taken] = runs_frames_taken},
};
