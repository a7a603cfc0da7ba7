/*
 * memory/fast/l2.c - the fast path to a slice of the L2 for any request, and
 * through it for a read that hits, or misses a line that is not in flight: what
 * l2_take() and l2_serve() of memory/l2.c do, in the same order, without what
 * is known when the L2 is quiet (no policy answers or steers, nothing is
 * watched or checked, sets are narrow, all numbers are powers of two).  All
 * other requests are left to memory/l2.c before anything is changed.  A machine
 * whose lines have sectors does not come here (memory/l2sector.c): its look-ups
 * are few where its requests carry several sectors.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memory/l2slice.h"

/* Where addresses are hashed. */
static HD_APART void fast_l2_take_hashed(const struct hd_l2 *l2, hd_time now,
                                         uint32_t r)
{
    struct hd_req *q = &l2->req[r];
    bool walk = q->kind == HD_REQ_WALK;
    uint32_t to;

    q->line = q->pa.v >> l2->line_shift;
    to = hd_l2_slice_of(l2, q->app, q->line, &q->spare);
    hd_l2_post_arrival(
        l2, hd_recip_up(l2->per_cycle, now) + l2->travel[walk] + l2->latency,
        l2->slice[0].component + to, HD_L2_LOOK, r);
}

HD_HOT void hd_fast_l2_take(const struct hd_l2 *l2, hd_time now, uint32_t r)
{
    const struct hd_l2_spread *s = &l2->spread;
    struct hd_req *q = &l2->req[r];
    bool walk = q->kind == HD_REQ_WALK;
    uint64_t line = q->pa.v >> l2->line_shift, index;
    uint32_t to;

    if (HD_UNLIKELY(!s->shifts)) {
        fast_l2_take_hashed(l2, now, r);
        return;
    }
    index = (line >> s->high_shift) << s->granule_shift |
            (line & (s->granule - 1));
    to = (uint32_t)(line >> s->granule_shift) & (uint32_t)(s->channels - 1);
    to = to << s->bank_shift | ((uint32_t)index & (uint32_t)(s->banks - 1));
    q->line = line;
    q->spare =
        (uint32_t)(index >> s->bank_shift) & l2->slice[0].tags.set_mask;
    hd_l2_post_arrival(
        l2, hd_recip_up(l2->per_cycle, now) + l2->travel[walk] + l2->latency,
        l2->slice[0].component + to, HD_L2_LOOK, r);
}

/* Takes the input port and books a result; counts the look-up. */
static inline void fast_l2_book(struct hd_l2_slice *sl, struct hd_req *q,
                                hd_time in, uint32_t result)
{
    uint32_t class = q->kind;
    uint64_t *c = sl->count + q->app * HD_L2_COUNTERS;

    if (q->kind == HD_REQ_WALK)
        class += (q->level - 1u) & 3;
    c[HD_L2_INPUT_BUSY]++;
    c += class * HD_L2_RESULTS;
    c[HD_L2_LOOKUPS]++;
    c[result]++;
    sl->s->in_free = in + sl->l2->cycle;
    sl->s->look_at = in;
    sl->s->looks = 1;
    sl->s->owed++;
    q->queued = in;
}

static HD_INLINE void fast_l2_miss(struct hd_l2_slice *sl, hd_time now,
                                   uint32_t r, hd_time in)
{
    struct hd_req *q = &sl->req[r];

    if (HD_UNLIKELY(hd_mshr_find(&sl->mshr, q->line) != HD_NONE ||
                    hd_mshr_full(&sl->mshr) || hd_l2_down_full(sl))) {
        hd_l2_look(sl, now, r);
        return;
    }
    fast_l2_book(sl, q, in, HD_L2_MISSES);
    hd_l2_miss(sl, now, r);
}

HD_HOT void hd_fast_l2_look(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    struct hd_assoc *a = &sl->tags.tags;
    const struct hd_l2_state *s = sl->s;
    const struct hd_client *client;
    struct hd_req *q = &sl->req[r];
    hd_time in = hd_max_u64(now, s->in_free);
    uint32_t e;

    if (HD_UNLIKELY(s->in.n != 0 || in <= s->look_at || q->app >= sl->apps ||
                    q->kind == HD_REQ_WRITE || q->kind == HD_REQ_ATOMIC)) {
        hd_l2_look(sl, now, r);
        return;
    }
    if (a->set[q->spare].recent != q->line) {
        e = hd_assoc_find_narrow(a, q->spare, q->line);
        if (e == HD_NONE) {
            fast_l2_miss(sl, now, r, in);
            return;
        }
        hd_assoc_to_front(a, q->spare, e);
    }
    fast_l2_book(sl, q, in, HD_L2_HITS);
    q->hit = HD_REQ_HIT;
    client = &sl->l2->w.clients[q->client];
    client->reply(client->self, hd_l2_out(sl, now, q, in), r);
}
