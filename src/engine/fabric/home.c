/*
 * home.c - in which node's memory a page is.
 *
 * The home of a page is the node of its frame.  With fabric.placement=touch it
 * is the node of the core that touches the page first (MCM-GPU, Arunkumar et
 * al., ISCA 2017): before cycle 0 pages are reserved, as where they come from
 * the host; the walk that first ends at one gives it a frame of its walker's
 * node, and is answered.  That takes no time, as in the paper: what a driver
 * needs for it is that of a fault (vm.paging), and is left out.  No TLB has a
 * translation of the page by then, so nothing has to be invalidated.  Where
 * nothing is translated, or L1 TLBs always hit, the core's first access does
 * it. Of cores in one instant it is the first in the order of events; one that
 * runs ahead may be a few cycles early.
 *
 * Else pages have homes before cycle 0: each node in turn, by the number of the
 * virtual page, or one for all.  A node without a frame is replaced by the
 * nearest that has one, the lowest of equals.  It is what frame_place answers
 * by default, so that a policy of it decides where it wants to.
 *
 * Left out: migration and replication of pages; coalescing of regions that are
 * touched page by page.
 *
 * SPDX-License-Identifier: MIT
 */
#include "home.h"

#include "pages/ptable.h"

struct hd_home {
    struct hd_env *env;
    struct hd_home_wiring w;
    uint32_t nodes, each; /* cores of a node */
    uint32_t toucher;     /* within hd_home_touch: the node; else HD_NONE */
    struct hd_stat stat;
    uint8_t order[HD_MAX_NODES][HD_MAX_NODES]; /* nodes, the nearest first */
};

/* The frame that a page gets (hd_ptables_home). */
static uint64_t home_frame(void *self, hd_vpn vpn, uint32_t pages)
{
    const struct hd_home *h = self;
    uint32_t node = h->w.cfg->placement == HD_HOME_NODE
                        ? h->w.cfg->home
                        : (uint32_t)(vpn.v / pages % h->nodes);

    if (h->toucher != HD_NONE)
        node = h->toucher;
    for (uint32_t i = 0; i < h->nodes; i++) {
        uint64_t f = hd_ptables_next_of(h->w.tables, h->order[node][i], pages);
        if (f != HD_NO_FRAME)
            return f;
    }
    return HD_NO_FRAME;
}

bool hd_home_touch(struct hd_home *h, uint32_t node, uint32_t app, hd_vpn vpn,
                   struct hd_xlate *x)
{
    struct hd_ptables *t = h->w.tables;
    struct heddle_error *err = h->env->err;
    int rc;

    hd_cross(h->env, HD_BORDER_touch);
    if (h->w.cfg->placement != HD_HOME_TOUCH ||
        !hd_ptables_nonresident(t, app, vpn, x))
        return false;
    h->toucher = node;
    rc = hd_ptables_place(t, app, x->vpn, true, err);
    h->toucher = HD_NONE;
    if (rc != HD_PLACED)
        return false;
    hd_ptables_arrive(t, app, x->vpn, false);
    (*hd_count(&h->stat, node, app, HD_FABRIC_TOUCHED)) += x->pages;
    hd_manage_touched(h->w.manager, app, x->pages);
    return hd_ptables_find(t, app, vpn, x);
}

uint32_t hd_home_of_core(const struct hd_home *h, uint32_t core)
{
    return core / h->each;
}

static void home_order(struct hd_home *h, const struct hd_topology *t)
{
    for (uint32_t a = 0; a < t->nodes; a++) {
        uint32_t n = 0;
        for (uint32_t far = 0; far < t->nodes; far++)
            for (uint32_t b = 0; b < t->nodes; b++)
                if (t->away[a][b] == far)
                    h->order[a][n++] = (uint8_t)b;
    }
}

struct hd_home *hd_home_open(struct hd_env *env, const struct hd_home_wiring *w)
{
    struct hd_home *h = hd_env_take(env, 1, sizeof *h);

    if (h == NULL)
        return NULL;
    h->env = env;
    h->w = *w;
    h->nodes = env->nodes->n;
    h->each = w->cores / h->nodes;
    h->toucher = HD_NONE;
    h->stat = hd_fabric_stat(w->fabric);
    home_order(h, hd_fabric_topology(w->fabric));
    return hd_ptables_home(w->tables, home_frame, h) == 0 ? h : NULL;
}
