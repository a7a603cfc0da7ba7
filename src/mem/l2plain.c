/*
 * l2plain.c - the plain way through a slice of the L2, in one piece.
 *
 * Nearly all that a slice does is one of four things: a read finds its line;
 * a read misses a line that nobody has asked for, and there is room for it; a
 * line comes from DRAM and enters the tags; a store to a cache that writes
 * back is done.  When nothing unusual is in play they need none of the
 * decisions of l2slice.c, so they are written out here: the same steps in the
 * same order, without what is known to be so.  Whatever else comes is handed
 * to l2slice.c before anything is changed; that file alone says what the model
 * is, and t/113-l2-plain.c holds the two against each other.
 *
 * Unusual is: a mode other than HD_FULL, --check, a wide array of tags
 * (HD_L2_ODD); requests that wait at the input; a policy bound to what is
 * about to happen, or a watcher of it; atomics and bypassed requests.
 *
 * Requests that are done at once here are not counted as owed: the invariant is
 * about those that stay.
 *
 * What is in play is laid out so that a look-up touches few lines of the host's
 * cache: the request, one of the slice's wiring, one of its state, one of its
 * counters (see hd_l2_plain) and one of the set.  What is the same in all
 * slices is read from the first of them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2slice.h"

/* The counters of a request's application, of which it has one. */
static inline struct hd_l2_plain *counters(const struct hd_l2_slice *sl,
                                           const struct hd_req *q)
{
    hd_assert(q->app < sl->apps);
    return hd_l2_plainly(sl, q->app);
}

/* True when a look-up may concern somebody else. */
static inline bool unusual(const struct hd_l2_slice *sl)
{
    return ((sl->l2->unusual & (HD_L2_ODD | HD_L2_ASKS_LOOK)) | sl->s->in_n) !=
           0;
}

/* The keys of a set. */
static inline uint64_t *keys(const struct hd_l2_slice *sl, uint32_t set)
{
    return sl->key + set * sl->l2->model->ways;
}

/* Takes the input port from `now`; returns when it has the request. */
static inline hd_time enter(struct hd_l2_slice *sl, hd_time now)
{
    hd_time in = hd_max_u64(now, sl->s->in_free);

    sl->s->in_free = in + sl->l2->cycle;
    return in;
}

/* Sends the answer, which is there at `at`: it takes the output port. */
static inline void answer(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                          const struct hd_req *q, hd_time at)
{
    const struct hd_client *to = &sl->l2->clients[q->client];
    const struct hd_l2 *l2 = sl->l2;
    struct hd_l2_state *s = sl->s;
    uint32_t n = (q->bytes + l2->flit_more) >> l2->flit_shift;
    hd_time free = s->out_free, leaves = hd_max_u64(free, at);

    hd_assert(n > 0);
    s->out_free = hd_max_u64(free, now) + n * l2->cycle;
    counters(sl, q)->output_busy += n;
    hd_hist_add(hd_l2_hist(l2, q->kind, q->app),
                hd_l2_core_cycles(l2, leaves - q->born));
    to->reply(to->self, leaves, r);
}

/* A hit whose result may have to wait for a port. */
static HD_APART void hit_late(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                              hd_time in)
{
    struct hd_req *q = hd_l2_req(sl, r);

    q->queued = in;
    answer(sl, now, r, q, hd_l2_look(sl, q, in));
}

static HD_HOT HD_APART void hit(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    struct hd_l2_state *s = sl->s;
    struct hd_req *q = hd_l2_req(sl, r);
    hd_time in = enter(sl, now);

    counters(sl, q)->hits[hd_l2_class(sl->l2, q)]++;
    q->hit = HD_REQ_HIT;
    if (HD_UNLIKELY(in <= s->look_at)) {
        hit_late(sl, now, r, in);
        return;
    }
    s->look_at = in;
    s->looks = 1;
    answer(sl, now, r, q, in);
}

/* A read of a line that is not in the tags; it may be in flight. */
static HD_HOT HD_APART void miss(struct hd_l2_slice *sl, hd_time now,
                                 uint64_t line, uint32_t r)
{
    struct hd_req *q = hd_l2_req(sl, r);
    struct hd_mshr_entry *x;
    uint32_t m;

    if (HD_UNLIKELY(hd_mshr_find(&sl->mshr, line) != HD_NONE ||
                    hd_l2_mshrs_full(sl) || hd_l2down_full(sl))) {
        hd_l2slice_look(sl, now, r);
        return;
    }
    sl->s->owed++;
    counters(sl, q)->misses[hd_l2_class(sl->l2, q)]++;
    q->queued = enter(sl, now);
    hd_l2_look(sl, q, q->queued);
    q->hit = HD_REQ_MISSED;
    q->next = HD_NONE;
    m = hd_l2_take_mshr(sl, line);
    x = &sl->mshr.v[m];
    x->first = x->last = r;
    x->n = 1;
    hd_l2down_go(sl, now, q->queued, hd_l2down_fetch(sl, m, line, r));
}

/* A look-up of a line that is not the one used last in its set. */
static HD_HOT HD_APART void look_further(struct hd_l2_slice *sl, hd_time now,
                                         uint64_t where, uint32_t r)
{
    uint64_t line = where >> HD_L2_SET_BITS;
    uint32_t i = where & ((1u << HD_L2_SET_BITS) - 1);
    struct hd_assoc_set *set = &sl->set[i];
    uint32_t way = hd_assoc_find_way(set, keys(sl, i), line, HD_CACHE_KEY);

    if (way == HD_NONE) {
        miss(sl, now, line, r);
        return;
    }
    set->order = hd_assoc_front(set->order, way);
    set->recent = line;
    hit(sl, now, r);
}

/* A line enters the tags; a dirty one that leaves goes down at `at`. */
static inline void enter_tags(struct hd_l2_slice *sl, hd_time now, hd_time at,
                              const struct hd_req *q, uint64_t line, bool dirty)
{
    const struct hd_assoc *a = sl->l2->model;
    uint32_t set = q->spare;
    uint64_t old, own = hd_cache_pack(q->warp, q->app, dirty);
    struct hd_l2_plain *c = counters(sl, q);

    hd_assoc_enter_way(a, &sl->set[set], keys(sl, set), line, own, &old);
    c->hits[HD_L2_FILLED]++;
    if (HD_LIKELY(old != HD_KEY_NONE && !(old & HD_CACHE_DIRTY)))
        return;
    if (old == HD_KEY_NONE)
        c->roomy++;
    else
        hd_l2down_write_back(sl, now, at, old & HD_CACHE_KEY,
                             hd_cache_owner(old));
}

/* A store to a line that is in the tags, or to one that is in no place and has
 * nobody who asks about it.  One of a line in flight is left to l2slice.c. */
static HD_HOT void store(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    struct hd_l2 *l2 = sl->l2;
    struct hd_req *q = hd_l2_req(sl, r);
    uint64_t line = q->line;
    uint32_t e = hd_assoc_find_narrow(&sl->tags.tags, q->spare, line), n;
    struct hd_l2_plain *p = counters(sl, q);
    const struct hd_client *c = &l2->clients[q->client];
    hd_time ready;

    if (e == HD_NONE &&
        (hd_mshr_find(&sl->mshr, line) != HD_NONE || hd_l2down_full(sl) ||
         (l2->unusual & HD_L2_ASKS_FILL))) {
        hd_l2slice_look(sl, now, r);
        return;
    }
    n = (q->bytes + l2->flit_more) >> l2->flit_shift;
    (e != HD_NONE ? p->hits : p->misses)[HD_L2_WRITE]++;
    p->misses[HD_L2_LONGER] += n - 1;
    q->queued = enter(sl, now) + (n - 1) * l2->cycle;
    sl->s->in_free = q->queued + l2->cycle;
    ready = hd_l2_look(sl, q, q->queued);
    if (e != HD_NONE) {
        hd_assoc_to_front(&sl->tags.tags, q->spare, e);
        hd_cache_dirty(&sl->tags, e);
    } else {
        enter_tags(sl, now, ready, q, line, true);
    }
    if (q->flags & HD_REQ_ACK)
        c->reply(c->self, ready, r);
    hd_req_give(l2->reqs, r);
}

static HD_HOT HD_APART void look_other(struct hd_l2_slice *sl, hd_time now,
                                       uint32_t r)
{
    if (hd_l2_req(sl, r)->kind == HD_REQ_WRITE && !unusual(sl) &&
        sl->l2->cfg.write == HD_WRITE_BACK)
        store(sl, now, r);
    else
        hd_l2slice_look(sl, now, r);
}

static inline void look(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                        uint64_t where)
{
    uint32_t set = where & ((1u << HD_L2_SET_BITS) - 1);

    if (HD_UNLIKELY(unusual(sl)))
        look_other(sl, now, r);
    else if (sl->set[set].recent == where >> HD_L2_SET_BITS)
        hit(sl, now, r);
    else
        look_further(sl, now, where, r);
}

/* The line of MSHR m is there. */
static HD_HOT HD_APART void fill(struct hd_l2_slice *sl, hd_time now,
                                 uint32_t m)
{
    struct hd_mshr_entry *x = &sl->mshr.v[m];
    uint32_t r = x->first, next;

    if (HD_UNLIKELY((sl->l2->unusual & (HD_L2_ODD | HD_L2_ASKS_FILL)) ||
                    x->flags != 0)) {
        hd_l2slice_fill(sl, now, m);
        return;
    }
    hd_l2_give_mshr(sl, m);
    enter_tags(sl, now, now, hd_l2_req(sl, r), x->key, false);
    for (; r != HD_NONE; r = next) {
        struct hd_req *q = hd_l2_req(sl, r);
        next = q->next;
        sl->s->owed--;
        answer(sl, now, r, q, hd_max_u64(now, q->queued));
    }
    if (sl->s->in_n > 0)
        hd_l2slice_resume(sl, now);
}

HD_HOT void hd_l2slice_event(void *self, hd_time now, uint32_t what, uint32_t a,
                             uint64_t b)
{
    if (HD_LIKELY(what == HD_L2_READ_LOOK))
        look(self, now, a, b);
    else if (what == HD_L2_FILL)
        fill(self, now, a);
    else if (what == HD_L2_LOOK)
        look_other(self, now, a);
    else
        hd_l2slice_other(self, now, what, a);
}
