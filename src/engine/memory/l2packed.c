/*
 * l2packed.c - lines of compressed pages: what the miss queue of a slice does
 * before it sends a request for one.
 *
 * Where pages are compressed in memory (compress.c, lcp.c) a line's place
 * follows from its page's metadata, 64 bytes, of which compress.c keeps the
 * latest.  A request whose page's metadata are not there waits for a read of
 * them, which goes to DRAM at once; it keeps its place in the miss queue
 * meanwhile.  The metadata's answer comes to the slice, which then sends the
 * request (HD_L2_METADATA in l2.c).
 *
 * Page tables and lines of the host's memory are not compressed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compress.h"
#include "l2slice.h"

enum { METADATA = 64 /* bytes of a compressed page's */ };

HD_APART hd_time hd_l2_down_packed(struct hd_l2_slice *sl, hd_time now,
                                   hd_time at, uint32_t r)
{
    struct hd_req *q = hd_l2_request(sl, r);
    bool miss;
    uint32_t d;

    if (q->kind == HD_REQ_WALK || hd_l2_is_host(sl, q->pa.v) ||
        !hd_compress_line(sl->l2->w.compress, q->app, q->pa,
                          q->kind == HD_REQ_WRITE, &at, &miss))
        return at;
    q->flags |= HD_REQ_PACKED;
    if (!miss)
        return at;
    q->born = at;
    sl->s->promised++;
    d = hd_l2_down_ask(sl, q->pa.v / METADATA * METADATA, METADATA, HD_REQ_READ,
                       q->app, q->warp);
    hd_l2_request(sl, d)->tag = sl->i << 16 | HD_L2_METADATA;
    hd_l2_request(sl, d)->spare = r;
    hd_l2_request(sl, d)->born = now;
    hd_l2_down_join(sl, now, d);
    return HD_NEVER;
}
