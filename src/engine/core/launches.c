/*
 * launches.c - which launches are simulated.
 *
 * Launches before sim.first_kernel run without time (functional.c), for their
 * effects on buffers; those after sim.last_kernel do not run.  With
 * sample.launches one that a simulated launch stands for (cluster.c) runs
 * without time, too: when its instruction mix turns out to be another, its
 * source is put back and it is simulated after all.
 *
 * Without these settings the next launch is what the source says it is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dispatchstate.h"
#include "functional.h"

/* Whether the launch that a source is at is one for core.compact. */
static void launches_compact(struct hd_dispatch *d, struct hd_source *src,
                             bool on)
{
    d->g->env->compact = on;
    src->ops->restored(src->self);
}

/* Runs the launch that an application's source is at without time. */
static int launches_run(struct hd_dispatch *d, uint32_t app, struct hd_mix *mix)
{
    struct hd_source *src = d->g->source[app];
    bool compact = d->g->m->core.compact; /* a walk regroups nothing */
    int r;

    if (compact)
        launches_compact(d, src, false);
    r = hd_cluster_run(src, &d->app[app].launch, mix, d->g->env->err);
    if (compact)
        launches_compact(d, src, true);
    return r;
}

/* Whether one that was simulated stands for the launch that an application's
 * source is at: then it has run without time.  `back`: the source as it was
 * before this launch, or NULL.  0, 1, or an error. */
static int launches_skip(struct hd_dispatch *d, uint32_t app, const void *back)
{
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    uint32_t n = *d->records, to, like;
    struct hd_mix mix;
    int r;

    like = hd_cluster_find(d->cluster, n, &a->launch, NULL, 0);
    if (like == HD_NONE)
        return 0;
    r = launches_run(d, app, &mix);
    if (r < 0)
        return r;
    to = hd_cluster_find(d->cluster, n, &a->launch, &mix, d->g->m->sample.mix);
    if (to == HD_NONE && back != NULL) {
        r = src->ops->load(src->self, back);
        r = r < 0 ? r : src->ops->launch(src->self, &a->launch);
        return r < 0 ? r : 0;
    }
    d->cluster[like].unlike += to == HD_NONE;
    hd_cluster_skip(&d->cluster[to != HD_NONE ? to : like], &mix);
    return 1;
}

/* Gets the next launch of those that count: 1, 0 (none) or < 0. */
static int launches_ask(struct hd_dispatch *d, uint32_t app)
{
    const struct hd_sim_cfg *cfg = &d->g->m->sim;
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    int r = src->ops->launch(src->self, &a->launch);

    if (r == 0 && cfg->first_kernel > 1 && a->launch.id < cfg->first_kernel)
        return hd_err_set(d->g->env->err, HEDDLE_ECONFIG,
                          "sim.first_kernel: %u is expected to be at most "
                          "%u, the launches of %s (application %u)",
                          cfg->first_kernel, a->launch.id, src->name, app);
    return r > 0 && cfg->last_kernel != 0 && a->launch.id > cfg->last_kernel
               ? 0
               : r;
}

int hd_launches_next(struct hd_dispatch *d, uint32_t app)
{
    const struct hd_sim_cfg *cfg = &d->g->m->sim;
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    bool saves = d->cluster != NULL && src->ops->save != NULL, again;
    int r;

    if (a->run == 0 && a->launch.id == 0 &&
        hd_functional_begin(src, cfg->first_kernel, d->g->m->core.lanes) < 0)
        return d->g->env->err->code;
    do {
        void *back = saves ? src->ops->save(src->self) : NULL;
        struct hd_mix mix;

        r = saves && back == NULL ? hd_err_memory(d->g->env->err)
                                  : launches_ask(d, app);
        again = r > 0;
        if (r > 0 && a->launch.id < cfg->first_kernel) {
            r = launches_run(d, app, &mix);
        } else if (r > 0 && d->cluster != NULL) {
            int skipped = launches_skip(d, app, back);
            again = skipped > 0;
            r = skipped < 0 ? skipped : 1;
        } else {
            again = false;
        }
        if (back != NULL)
            src->ops->drop(back);
    } while (again && r >= 0);
    return r;
}
