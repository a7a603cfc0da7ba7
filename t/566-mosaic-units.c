/*
 * Pinned: what the policy mosaic answers, question by question: CoCoA's frames
 * (one application each, identical offsets, the list of free base pages, what
 * is forced when nothing is left), when the coalescer says yes, the threshold
 * of splitting on both of its sides, which frame CAC empties and which
 * receives, emergency frames.  565-policy-mosaic.lua shows the same in a
 * machine, and that the policy in Lua answers alike.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <stdlib.h>

#include "policy.h"

extern const struct heddle_policy hd_policy_mosaic;

enum { PAGES = 512, FRAMES = 4, MOST = FRAMES * PAGES, NONE = MOST };
enum { COALESCE, EARLY, THRESHOLD, CAC, STALL, PARAMS };

static const struct heddle_policy *const P = &hd_policy_mosaic;

struct rig {
    void *state;
    uint64_t param[PARAMS];
};

static struct rig start(uint64_t early, uint64_t threshold)
{
    struct rig r = {.param = {1, early, threshold, 1, 1}};
    struct heddle_place place = {.apps = 2, .frames = MOST, .cores = 1};

    r.state = calloc(1, P->state_bytes(&place, r.param));
    assert_non_null(r.state);
    assert_int_equal(P->init(r.state, &place, r.param), 0);
    return r;
}

static uint64_t ask(struct rig *r, uint64_t app, uint64_t vpn, bool whole,
                    bool again)
{
    struct heddle_q_frame_place q = {.app = app,
                                     .vpn = vpn,
                                     .pages = 1,
                                     .next = 0,
                                     .frames = MOST,
                                     .whole = whole,
                                     .again = again};

    return (uint64_t)P->answer[HEDDLE_POINT_frame_place](r->state, &q);
}

/* Places n pages from vpn on; returns the first one's frame. */
static uint64_t place(struct rig *r, uint64_t app, uint64_t vpn, uint64_t n,
                      bool whole)
{
    uint64_t first = ask(r, app, vpn, whole, false);

    for (uint64_t i = 1; i < n; i++)
        assert_int_not_equal(ask(r, app, vpn + i, whole, false), NONE);
    return first;
}

static uint64_t coalesce(struct rig *r, uint64_t app, uint64_t frame,
                         uint64_t present)
{
    struct heddle_q_region_coalesce q = {app, 0, frame, present};

    return (uint64_t)P->answer[HEDDLE_POINT_region_coalesce](r->state, &q);
}

static void freed(struct rig *r, uint64_t frame, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct heddle_n_page_freed note = {.frame = frame + i};
        P->watch[HEDDLE_NOTE_page_freed](r->state, &note);
    }
}

static uint64_t splinter(struct rig *r, uint64_t frame, uint64_t left)
{
    struct heddle_q_region_split q = {.frame = frame, .left = left};

    return (uint64_t)P->answer[HEDDLE_POINT_region_split](r->state, &q);
}

/* Asks compact about frames of 2 MB 0 .. n - 1. */
static uint64_t compact(struct rig *r, uint64_t cause, uint64_t app, uint64_t n,
                        const uint64_t *owner, const uint64_t *used,
                        const uint64_t *joined)
{
    static const uint64_t frame[] = {0, PAGES, 2 * PAGES, 3 * PAGES};
    struct heddle_q_compact_source q = {.cause = cause,
                                 .app = app,
                                 .apps = 2,
                                 .n = n,
                                 .frame = frame,
                                 .owner = owner,
                                 .used = used,
                                 .joined = joined};

    return (uint64_t)P->answer[HEDDLE_POINT_compact_source](r->state, &q);
}

/* ---- CoCoA -------------------------------------------------------------- */

static void offsets(void **state)
{
    struct rig r = start(0, 50);

    (void)state;
    /* a whole 2 MB: each page at its own offset of one frame, in any order */
    assert_int_equal(ask(&r, 0, 3 * PAGES + 7, true, false), 7);
    assert_int_equal(ask(&r, 0, 3 * PAGES + 500, true, false), 500);
    assert_int_equal(ask(&r, 0, 3 * PAGES, true, false), 0);
    /* the next 2 MB, and another application's of the same number */
    assert_int_equal(ask(&r, 0, 4 * PAGES + 1, true, false), PAGES + 1);
    assert_int_equal(ask(&r, 1, 3 * PAGES + 2, true, false), 2 * PAGES + 2);
    assert_int_equal(ask(&r, 0, 3 * PAGES + 9, true, false), 9);
    free(r.state);
}

static void base_pages(void **state)
{
    struct rig r = start(0, 50);

    (void)state;
    /* pages of no whole 2 MB fill frames of their application in order */
    assert_int_equal(place(&r, 0, 100, 3, false), 0);
    assert_int_equal(place(&r, 1, 100, 3, false), PAGES);
    assert_int_equal(ask(&r, 0, 900, false, false), 3);
    assert_int_equal(ask(&r, 1, 900, false, false), PAGES + 3);
    freed(&r, 1, 1); /* a place that comes free is the next */
    assert_int_equal(ask(&r, 0, 901, false, false), 1);
    assert_int_equal(place(&r, 0, 1000, PAGES - 4, false), 4);
    assert_int_equal(ask(&r, 0, 902, false, false), 2 * PAGES);
    free(r.state);
}

/* When no frame is free: memory is compacted first; then reserved frames of the
 * application are used, and at last anybody's. */
static void nothing_left(void **state)
{
    struct rig r = start(0, 50);

    (void)state;
    for (uint64_t f = 0; f < 3; f++)
        place(&r, 0, f * PAGES, 2, true);
    place(&r, 1, 0, 2, true);
    assert_int_equal(ask(&r, 0, 9 * PAGES, true, false), NONE);
    assert_int_equal(ask(&r, 1, 9 * PAGES + 1, false, false), NONE);
    assert_int_equal(ask(&r, 1, 9 * PAGES + 1, false, true), 3 * PAGES + 2);
    for (uint64_t i = 3; i < PAGES; i++)
        assert_int_equal(ask(&r, 1, 8 * PAGES + i, false, true), 3 * PAGES + i);
    assert_int_equal(ask(&r, 1, 7 * PAGES, false, true), 2); /* mixed */
    free(r.state);
}

/* ---- the coalescer
 * ------------------------------------------------------------
 */

static void when(void **state)
{
    (void)state;
    for (uint64_t early = 0; early < 2; early++) {
        struct rig r = start(early, 50);

        place(&r, 0, 0, PAGES, true);
        assert_int_equal(coalesce(&r, 0, 0, PAGES - 1), early);
        assert_int_equal(coalesce(&r, 0, 0, PAGES), 1);
        assert_int_equal(coalesce(&r, 1, 0, PAGES), 0); /* not its frame */
        free(r.state);
    }
}

static void threshold(void **state)
{
    static const uint64_t percent[] = {0, 25, 50, 100};

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t edge = percent[i] * PAGES / 100;
        struct rig r = start(0, percent[i]);

        place(&r, 0, 0, PAGES, true);
        coalesce(&r, 0, 0, PAGES);
        if (edge > 0)
            assert_int_equal(splinter(&r, 0, edge), 0);
        if (edge > 1)
            assert_int_equal(splinter(&r, 0, edge - 1), 1);
        else
            assert_int_equal(splinter(&r, 0, 1), 0);
        free(r.state);
    }
}

/* Places of a split frame are free base pages, those of a whole one are not. */
static void split(void **state)
{
    (void)state;
    for (uint64_t left = 255; left < 257; left++) {
        struct rig r = start(0, 50);

        place(&r, 0, 0, PAGES, true);
        coalesce(&r, 0, 0, PAGES);
        freed(&r, 0, PAGES - left);
        assert_int_equal(splinter(&r, 0, left), left == 255);
        assert_int_equal(ask(&r, 0, 9999, false, false),
                         left == 255 ? 0 : PAGES);
        free(r.state);
    }
}

/* ---- CAC
 * ------------------------------------------------------------------------
 */

static void emptied(void **state)
{
    static const uint64_t owner[] = {0, 0, 1, 0}, joined[4];
    uint64_t used[] = {PAGES, 200, 9, 100};
    struct rig r = start(0, 50);

    (void)state;
    place(&r, 0, 10000, PAGES + 200, false);
    place(&r, 1, 0, 9, false);
    place(&r, 0, 20000, PAGES - 200, false);
    place(&r, 0, 30000, 100, false);
    freed(&r, PAGES + 200, PAGES - 200);
    /* of the two below the threshold the emptier, of its application alone */
    assert_int_equal(compact(&r, 0, 0, 4, owner, used, joined), 4);
    assert_int_equal(compact(&r, 0, 1, 4, owner, used, joined), 0);
    used[3] = PAGES;
    assert_int_equal(compact(&r, 0, 0, 4, owner, used, joined), 2);
    used[1] = 256; /* at the threshold: it stays */
    assert_int_equal(compact(&r, 0, 0, 4, owner, used, joined), 0);
    used[1] = 255;
    assert_int_equal(compact(&r, 0, 0, 4, owner, used, joined), 2);
    free(r.state);
}

static void receives(void **state)
{
    static const uint64_t frame[] = {0, PAGES, 2 * PAGES}, used[] = {9, 50, 20};
    struct heddle_q_compact_target q = {.n = 3, .frame = frame, .used = used};
    struct rig r = start(0, 50);

    (void)state;
    place(&r, 0, 10000, 2 * PAGES + 20, false);
    assert_int_equal(P->answer[HEDDLE_POINT_compact_target](r.state, &q), 2);
    q.n = 1;
    assert_int_equal(P->answer[HEDDLE_POINT_compact_target](r.state, &q), 1);
    free(r.state);
    r = start(0, 50); /* a frame that is reserved takes nothing */
    place(&r, 0, 0, 9, true);
    assert_int_equal(P->answer[HEDDLE_POINT_compact_target](r.state, &q), 0);
    free(r.state);
}

/* A coalesced frame that has lost pages and was not split is one of the
 * emergency frames: it is split when nothing else is left. */
static void emergency(void **state)
{
    static const uint64_t owner[] = {0, 0, 0, 1}, joined[] = {1, 1, 1, 1};
    static const uint64_t used[] = {PAGES, 300, PAGES, PAGES};
    struct rig r = start(0, 50);

    (void)state;
    for (uint64_t f = 0; f < 3; f++) {
        place(&r, 0, f * PAGES, PAGES, true);
        coalesce(&r, 0, f * PAGES, PAGES);
    }
    place(&r, 1, 0, PAGES, true);
    coalesce(&r, 1, 3 * PAGES, PAGES);
    freed(&r, PAGES, PAGES - 300);
    assert_int_equal(splinter(&r, PAGES, 300), 0);
    assert_int_equal(ask(&r, 0, 9000, false, false), NONE);
    assert_int_equal(compact(&r, 1, 0, 4, owner, used, joined), 2);
    assert_int_equal(compact(&r, 1, 0, 4, owner, used, joined), 0); /* enough */
    assert_int_equal(ask(&r, 0, 9000, false, true), PAGES);
    free(r.state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets),      cmocka_unit_test(base_pages),
        cmocka_unit_test(nothing_left), cmocka_unit_test(when),
        cmocka_unit_test(threshold),    cmocka_unit_test(split),
        cmocka_unit_test(emptied),      cmocka_unit_test(receives),
        cmocka_unit_test(emergency),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
