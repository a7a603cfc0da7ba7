/*
 * l2bypass.c - requests that skip the L2 cache: MASK's bypass of walk reads
 * (Ausavarungnirun et al., ASPLOS 2018, section 5.3), and any other that a
 * policy chooses.
 *
 * A request skips the cache because its requester has said so (HD_REQ_BYPASS),
 * because the steering table does, or because the policy at l2_bypass does,
 * which is asked once, when the request reaches the input port, before the
 * tags, and before the cycles that a request is in the partition ahead of them
 * (l2cache.queue_latency): the simulator that MASK's authors released has both
 * in this order.  It competes there with those that came `queue_latency` and
 * `latency` before.
 *
 * A bypassed request neither looks up nor fills.  A bypassed page-table read
 * takes one 32-byte burst of DRAM instead of a line.  Page tables are written
 * by the driver alone, so a bypassed read ignores what the slice may hold
 * (MASK leaves it open).  Bypassed reads do not merge.
 *
 * With l2cache.mode=off every request takes this path.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2slice.h"

int64_t hd_l2_steered(void *self, const void *question)
{
    const struct heddle_q_l2_bypass *q = question;
    const struct hd_steer *steer = ((struct hd_l2_slice *)self)->l2->steer;

    return hd_steer_bypasses(
        steer->l2_bypass[q->app % HD_MAX_APPS][q->level % 8], q->set);
}

bool hd_l2_bypasses(struct hd_l2_slice *sl, const struct hd_req *q)
{
    struct heddle_q_l2_bypass ask = {.app = q->app,
                                     .kind = q->kind,
                                     .level = q->level,
                                     .slice = sl->i,
                                     .set = q->spare,
                                     .line = q->line,
                                     .pc = q->kind == HD_REQ_WALK ? 0 : q->pc};

    return !sl->l2->full || (q->flags & HD_REQ_BYPASS) != 0 ||
           hd_ask_l2_bypass(&sl->bypass, &ask) != 0;
}

void hd_l2_arrive(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    struct hd_req *q = hd_l2_request(sl, r);

    if (!hd_l2_bypasses(sl, q)) {
        /* from the sender that it would have if no policy were asked, so that
         * events of one instant keep their order */
        hd_l2_post_arrival(sl->l2, now + sl->l2->latency, sl->component,
                           HD_L2_LOOK, r);
        return;
    }
    q->flags |= HD_REQ_BYPASS;
    hd_l2_enter(sl, now, r);
}

uint32_t hd_l2_serve_bypassed(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                              hd_time t)
{
    struct hd_req *q = hd_l2_request(sl, r);
    uint64_t pa = q->pa.v;
    uint32_t bytes = q->bytes;

    if (hd_l2_down_full(sl))
        return HD_L2_QUEUE;
    if (sl->l2->full)
        hd_l2_counters(sl,
                       q->app)[q->kind == HD_REQ_WALK ? HD_L2_BYPASS_WALKS
                                                      : HD_L2_BYPASS_DATA]++;
    hd_l2_waited(sl, q, t);
    if (q->kind == HD_REQ_WRITE) {
        hd_l2_down_through(sl, now, r, t);
        return HD_L2_GO;
    }
    if (bytes < HD_L2_BURST) {
        pa = pa / HD_L2_BURST * HD_L2_BURST;
        bytes = HD_L2_BURST;
    }
    q->hit = HD_REQ_MISSED;
    sl->s->passing++;
    sl->s->passed += t - q->born;
    hd_l2_down_go(sl, now, t,
                  hd_l2_down_read(sl, r, pa, bytes, HD_L2_PASSED, r));
    return HD_L2_GO;
}

void hd_l2_bypassed(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    const struct hd_req *q = hd_l2_request(sl, r);

    sl->s->passing--;
    sl->s->passed -= q->queued - q->born;
    if (q->kind == HD_REQ_ATOMIC)
        hd_l2_down_write(sl, now, now, q, q->pa.v, q->bytes);
    hd_l2_reply(sl, now, r, now);
    if (sl->s->in.n > 0)
        hd_l2_resume(sl, now);
}
