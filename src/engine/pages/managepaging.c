/*
 * managepaging.c - what paging and the applications' hosts ask of the memory
 * manager (vm.paging=fault): evictions, pages that are mapped where they are or
 * taken back, compaction for a page that faults, hints.
 *
 * Each changes mappings, so it waits for an instant that no core can be ahead
 * of (manage.c) and is done there, in the order in which it was asked for.
 * What it means is in the file that asks: paging/fault.c, evict.c, remote.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "managestate.h"

void hd_manage_hint(struct hd_manage *g, hd_time now, uint32_t app, hd_va base,
                    uint64_t bytes, const struct hd_hint *h)
{
    hd_cross(g->env, HD_BORDER_ask);
    hd_manage_enter(g, now,
                    (struct hd_manage_job){.base = base.v,
                                           .bytes = bytes,
                                           .app = app,
                                           .what = HD_JOB_HINT,
                                           .hint = *h});
}

static void managepaging_hinted(void *manage, hd_time now, uint32_t app)
{
    struct hd_manage *g = manage;

    g->cores.hinted(g->cores.self, g->id, app, now);
}

/* Pages that have a byte of what the host says something of: all of them, to
 * their ends, as cudaMemAdvise and cudaMemPrefetchAsync round. */
static hd_vpn managepaging_pages(const struct hd_manage *g,
                                 const struct hd_manage_job *j, uint32_t *pages)
{
    uint64_t vpn = j->base >> HD_PAGE_SHIFT;
    uint64_t end = (j->base + j->bytes + HD_PAGE_BYTES - 1) >> HD_PAGE_SHIFT;
    struct hd_xlate x;

    if (j->hint.bytes != 0 && hd_pt_taken(g->t, j->app, vpn, &x))
        vpn = x.vpn.v;
    if (j->hint.bytes != 0 && hd_pt_taken(g->t, j->app, end - 1, &x))
        end = x.vpn.v + x.pages;
    *pages = (uint32_t)(end - vpn);
    return (hd_vpn){vpn};
}

static void managepaging_advise(struct hd_manage *g, hd_time now,
                                const struct hd_manage_job *j, hd_vpn vpn,
                                uint32_t pages)
{
    const struct hd_hint *h = &j->hint;

    if (h->bytes == 0 && h->unset == HD_HINT_ALL_ADVICE)
        hd_ptables_advise(g->t, j->app, h->alloc, h->set);
    else
        hd_ptables_advise_pages(g->t, j->app, h->alloc, vpn, pages,
                                (struct hd_advice_change){h->set, h->unset});
    hd_evict_advised(g->evict, j->app, vpn, pages);
    if (h->set & HEDDLE_ADVICE_ACCESSED_BY)
        hd_faults_map_range(g->faults, now, j->app, vpn, pages, false);
    managepaging_hinted(g, now, j->app);
}

/* What the host says of an allocation, or does to it. */
static void managepaging_hint(struct hd_manage *g, hd_time now,
                              const struct hd_manage_job *j)
{
    uint32_t pages;
    hd_vpn vpn = managepaging_pages(g, j, &pages);

    if (j->hint.what == HD_HINT_ADVICE) {
        managepaging_advise(g, now, j, vpn, pages);
    } else if (j->hint.what == HEDDLE_MOVE_TO_GPU) {
        if (g->thrash != NULL)
            hd_thrash_forget(g->thrash, j->app, vpn, pages);
        hd_remote_recall(g->remote, j->app, vpn, pages);
        hd_faults_prefetch(g->faults, now, j->app, vpn, pages);
    } else {
        hd_evict_range(g->evict, now, j->app, vpn, pages, j->hint.what);
    }
}

static void managepaging_room(void *manage, hd_time now, uint32_t app, uint32_t fault)
{
    hd_manage_enter(manage, now,
                    (struct hd_manage_job){
                        .app = app, .index = fault, .what = HD_JOB_ROOM});
}

static void managepaging_evict(void *manage, hd_time now)
{
    hd_manage_enter(manage, now, (struct hd_manage_job){.what = HD_JOB_EVICT});
}

static void managepaging_map_host(void *manage, hd_time now, uint32_t fault)
{
    hd_manage_enter(
        manage, now,
        (struct hd_manage_job){.index = fault, .what = HD_JOB_MAP_HOST});
}

static void managepaging_recall(void *manage, hd_time now, uint32_t granule)
{
    hd_manage_enter(
        manage, now,
        (struct hd_manage_job){.index = granule, .what = HD_JOB_RECALL});
}

static void managepaging_map_evicted(void *manage, hd_time now, uint32_t app, hd_vpn vpn,
                       uint32_t pages)
{
    hd_manage_enter(
        manage, now,
        (struct hd_manage_job){.base = vpn.v << HD_PAGE_SHIFT,
                               .bytes = (uint64_t)pages << HD_PAGE_SHIFT,
                               .app = app,
                               .what = HD_JOB_LEFT});
}

static void managepaging_notified(void *manage, hd_time now)
{
    hd_faults_notified(((struct hd_manage *)manage)->faults, now);
}

static void managepaging_unpin(void *manage, hd_time now, uint32_t app, hd_vpn vpn)
{
    hd_manage_enter(manage, now,
                    (struct hd_manage_job){.app = app,
                                           .base = vpn.v << HD_PAGE_SHIFT,
                                           .what = HD_JOB_UNPIN});
}

static void managepaging_migrate(void *manage, hd_time now, uint32_t app, hd_vpn vpn,
                        uint32_t pages)
{
    hd_faults_migrate(((struct hd_manage *)manage)->faults, now, app, vpn,
                      pages);
}

static bool managepaging_split(void *manage, uint32_t app, hd_vpn vpn, uint32_t left)
{
    return hd_manage_ask_split(manage, app,
                               vpn.v & ~(uint64_t)(HD_LARGE_PAGES - 1), left);
}

static uint64_t managepaging_drop(void *manage, uint32_t app, hd_pfn pfn, uint32_t pages)
{
    struct hd_manage *g = manage;
    hd_pa pa = {pfn.v * HD_PAGE_BYTES};
    uint32_t bytes = pages * HD_PAGE_BYTES;
    bool dirty = false; /* the link takes the data from where they are */
    uint64_t n = g->cores.drop(g->cores.self, app, pa, bytes, &dirty);

    return n + hd_l2_drop_lines(g->l2, app, pa, bytes);
}

static void managepaging_shoot(void *manage, uint32_t app, hd_vpn vpn, uint32_t pages)
{
    hd_manage_shootdown(manage, app, HEDDLE_SHOOTDOWN_CAUSE_EVICTED, vpn.v,
                        pages);
}

struct hd_manager hd_manage_paging_calls(struct hd_manage *g)
{
    return (struct hd_manager){.self = g,
                               .evict = managepaging_evict,
                               .recall = managepaging_recall,
                               .map_host = managepaging_map_host,
                               .unpin = managepaging_unpin,
                               .map_evicted = managepaging_map_evicted,
                               .make_room = managepaging_room,
                               .split = managepaging_split,
                               .drop = managepaging_drop,
                               .shoot = managepaging_shoot,
                               .migrate = managepaging_migrate,
                               .notified = managepaging_notified,
                               .arrived = hd_manage_arrived,
                               .hinted = managepaging_hinted};
}

void hd_manage_paging(struct hd_manage *g, hd_time now,
                      const struct hd_manage_job *j)
{
    hd_vpn vpn = {j->base >> HD_PAGE_SHIFT};

    switch (j->what) {
    case HD_JOB_ROOM:
        hd_compact(g, HEDDLE_COMPACT_CAUSE_FULL, j->app, g->s->wanted);
        if (!hd_err_ends(g->env->err->code))
            hd_faults_again(g->faults, now, j->index);
        break;
    case HD_JOB_EVICT:
        hd_evict_apply(g->evict, now);
        break;
    case HD_JOB_MAP_HOST:
        hd_faults_map_remote(g->faults, now, j->index);
        break;
    case HD_JOB_RECALL:
        hd_remote_apply(g->remote, now, j->index);
        break;
    case HD_JOB_LEFT:
        hd_faults_map_range(g->faults, now, j->app, vpn,
                        (uint32_t)(j->bytes >> HD_PAGE_SHIFT), true);
        break;
    case HD_JOB_UNPIN:
        hd_remote_recall(g->remote, j->app, vpn, 1);
        break;
    default:
        managepaging_hint(g, now, j);
    }
}
