/*
 * Pinned: which frame the policy buddy gives, while pages come and go at random
 * and some are taken or moved by others.  A naive twin knows nothing but which
 * frames are free: a block is an aligned group of 2^k free frames, k at most 10,
 * whose next larger group is not all free; a page gets the first frame of the
 * smallest block, of equal ones the lowest.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <stdlib.h>

#include "kit/rng.h"
#include "policy.h"

enum { FRAMES = 2048 + 300 + 7, STEPS = 1200 };

extern const struct heddle_policy hd_policy_buddy;

static bool all_free(const bool *used, uint64_t first, uint64_t n)
{
    for (uint64_t f = first; f < first + n; f++)
        if (f >= FRAMES || used[f])
            return false;
    return true;
}

/* The frame that the next page gets; FRAMES: there is none. */
static uint64_t next(const bool *used)
{
    for (uint32_t k = 0; k <= 10; k++)
        for (uint64_t f = 0, n = 1ull << k; f < FRAMES; f += n)
            if (all_free(used, f, n) &&
                (k == 10 || !all_free(used, f & ~(2 * n - 1), 2 * n)))
                return f;
    return FRAMES;
}

static uint64_t any(struct hd_rng *r, const bool *used, bool is)
{
    for (uint32_t i = 0; i < 4 * FRAMES; i++) {
        uint64_t f = hd_rng_below(r, FRAMES);
        if (used[f] == is)
            return f;
    }
    return FRAMES;
}

static void by_chance(void **state)
{
    const struct heddle_policy *p = &hd_policy_buddy;
    struct heddle_place place = {.apps = 1, .frames = FRAMES, .cores = 1};
    uint64_t params[1] = {0}, placed = 0, refused = 0;
    struct hd_rng r = hd_rng_make(3, 9);
    bool used[FRAMES] = {false};
    void *s = calloc(1, p->state_bytes(&place, params));

    (void)state;
    p->init(s, &place, params);
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t what = hd_rng_below(&r, 4), n = 1 + hd_rng_below(&r, 80);
        uint64_t f = any(&r, used, what != 3), to = any(&r, used, false);
        for (; what < 2 && n > 0; n--, placed++) { /* pages come */
            struct heddle_q_frame_place q = {.pages = 1, .frames = FRAMES};
            uint64_t want = next(used);
            int64_t got = p->answer[HEDDLE_POINT_frame_place](s, &q);
            assert_int_equal(got, want);
            if (want == FRAMES)
                refused++;
            else
                used[want] = true;
        }
        for (n *= 3; what == 2 && n > 0 && f < FRAMES; n--, f++) { /* go */
            struct heddle_n_page_freed x = {.frame = f};
            if (used[f])
                p->watch[HEDDLE_NOTE_page_freed](s, &x);
            used[f] = false;
        }
        if (what == 3 && f < FRAMES) { /* one is taken */
            struct heddle_n_frames_taken x = {.frame = f, .frames = 1};
            p->watch[HEDDLE_NOTE_frames_taken](s, &x);
            used[f] = true;
            f = any(&r, used, true);
            if (f == FRAMES || to == FRAMES || used[to])
                continue;
            struct heddle_n_page_moved m = {.frame = f, .to = to};
            p->watch[HEDDLE_NOTE_page_moved](s, &m);
            used[f] = false;
            used[to] = true;
        }
    }
    print_message("%lu pages wanted a frame, %lu in vain\n",
                  (unsigned long)placed, (unsigned long)refused);
    assert_true(placed > 2 * refused && refused > 0);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_chance),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
