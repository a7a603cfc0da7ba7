/*
 * query.c - what a simulation answers: settings, applications, counters,
 * histograms, and the look inside.
 *
 * Counters are numbered through all groups in the order of registration.  Once
 * an application has finished, its values are those of that instant.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "simulation.h"
#include "kit/info.h"
#include "kit/save.h"
#include "tool.h"

const char *heddle_version(void)
{
    return HEDDLE_VERSION;
}

uint32_t heddle_version_number(void)
{
    return HEDDLE_VERSION_NUMBER;
}

const char *heddle_status_name(int status)
{
    static const char *const name[] = {
        "HEDDLE_OK",      "HEDDLE_ENOMEM",   "HEDDLE_EINVAL",
        "HEDDLE_ECONFIG", "HEDDLE_EDATA",    "HEDDLE_ENOINPUT",
        "HEDDLE_EIO",     "HEDDLE_EPOLICY",  "HEDDLE_ESTUCK",
        "HEDDLE_ECHECK",  "HEDDLE_EPROGRAM", "HEDDLE_ECREATE"};

    if (status == HEDDLE_DONE)
        return "HEDDLE_DONE";
    if (status == HEDDLE_STOPPED)
        return "HEDDLE_STOPPED";
    if (status > 0 || status <= -(int)HD_LEN(name))
        return "unknown status";
    return name[-status];
}

/* ---- settings ----------------------------------------------------------- */

heddle_config *heddle_config_new(void)
{
    heddle_config *c = calloc(1, sizeof *c);

    if (c != NULL)
        hd_machine_defaults(&c->m);
    return c;
}

void heddle_config_free(heddle_config *c)
{
    free(c);
}

int heddle_config_set(heddle_config *c, const char *name, const char *value)
{
    hd_err_clear(&c->err);
    return hd_machine_set(&c->m, name, value, &c->err);
}

int heddle_config_get(heddle_config *c, const char *name, char *out,
                      size_t room)
{
    hd_err_clear(&c->err);
    return hd_machine_get(&c->m, name, out, room, &c->err);
}

int heddle_config_check(heddle_config *c)
{
    hd_err_clear(&c->err);
    return hd_machine_check(&c->m, &c->err);
}

const struct heddle_error *heddle_config_error(const heddle_config *c)
{
    return &c->err;
}

int heddle_config_shape(const heddle_config *c, uint32_t i,
                        struct heddle_shape_info *out)
{
    return hd_machine_shape(&c->m, i, out);
}

int heddle_setting(uint32_t i, struct heddle_setting_info *out)
{
    static const char *const type[] = {"integer", "integer", "boolean",
                                       "choice",  "mode",    "text"};
    const struct hd_part_info *g;
    const struct hd_setting *x = hd_setting_at(i, &g);

    if (x == NULL)
        return HEDDLE_EINVAL;
    snprintf(out->name, sizeof out->name, "%s.%s", g->rows->name, x->name);
    out->type = type[x->type];
    out->unit = x->unit;
    out->def = x->def;
    out->choices = x->choices != NULL ? x->choices : "";
    out->meaning = x->meaning;
    out->source = x->source;
    out->min = x->min;
    out->max = x->max;
    return 0;
}

/* ---- files -------------------------------------------------------------- */

int heddle_save(const char *path, const void *bytes, size_t n, char *error,
                size_t room)
{
    struct heddle_error err = {0};

    return hd_save_whole(path, bytes, n, &err) != 0
               ? hd_err_tell(&err, error, room)
               : 0;
}

/* ---- life --------------------------------------------------------------- */

const struct heddle_error *heddle_error(const heddle_sim *s)
{
    return s->err.text[0] != '\0' && !s->refused ? &s->err
                                                 : heddle_policy_error(s);
}

uint64_t heddle_now(const heddle_sim *s)
{
    return s->run->end / s->gpu.cycle;
}

uint64_t heddle_events(const heddle_sim *s)
{
    return s->run->events;
}

uint64_t heddle_instructions(const heddle_sim *s)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < s->apps; i++)
        n += hd_dispatch_app(s->gpu.dispatch, i)->before +
             hd_dispatch_app(s->gpu.dispatch, i)->issued;
    return n;
}

uint64_t heddle_ticks_per_cycle(const heddle_sim *s)
{
    return s->gpu.cycle;
}

/* ---- applications ------------------------------------------------------- */

uint32_t heddle_apps(const heddle_sim *s)
{
    return s->apps;
}

uint64_t heddle_counted(const heddle_sim *s)
{
    hd_time from = s->gpu.measured[s->apps], end = s->run->end;

    return end > from ? hd_ceil_div(end - from, s->gpu.cycle) : 0;
}

int heddle_app(const heddle_sim *s, uint32_t app, struct heddle_app_info *out)
{
    struct heddle_app_info info = {0};
    const struct hd_app_state *a;
    hd_time end;

    if (app >= s->apps)
        return HEDDLE_EINVAL;
    a = hd_dispatch_app(s->gpu.dispatch, app);
    end = a->finished ? a->finish : s->run->end;
    info.name = s->source[app]->name;
    info.footprint = s->run->footprint[app];
    info.pages = hd_ptables_pages(s->tables, app);
    info.instructions = a->finished                  ? a->finish_issued
                        : a->counts || a->start == 0 ? a->issued
                                                     : 0;
    info.before = a->counts ? a->before : 0;
    info.thread_instructions = hd_dispatch_threads(s->gpu.dispatch, app);
    info.cycles =
        end > a->begin ? hd_ceil_div(end - a->begin, s->gpu.cycle) : 0;
    info.completions = a->completions;
    hd_dispatch_progress(s->gpu.dispatch, app, &info.kernel, &info.blocks_done,
                         &info.blocks);
    info.finished = (int)a->finished;
    info.truncated = (int)a->truncated;
    info.hash = s->source[app]->hash;
    return hd_info_give(out, &info, sizeof info);
}

uint32_t heddle_kernels(const heddle_sim *s)
{
    return hd_dispatch_records(s->gpu.dispatch);
}

/* Flat number of the core group's counter k. */
static uint32_t query_core_counter(const heddle_sim *s, uint32_t k)
{
    uint32_t flat = 0;

    for (uint32_t i = 0; i < s->stats.groups; i++) {
        if (s->stats.group[i].stat.v == s->gpu.stat.v)
            break;
        flat += s->stats.group[i].stat.n;
    }
    return flat + k;
}

int heddle_kernel(const heddle_sim *s, uint32_t i,
                  struct heddle_kernel_info *out)
{
    struct heddle_kernel_info info = {0};
    const struct hd_dispatch *d = s->gpu.dispatch;
    const struct hd_kernel_record *r = hd_dispatch_record(d, i);
    const struct hd_cluster *c;

    if (r == NULL)
        return HEDDLE_EINVAL;
    info.name = r->name;
    info.app = r->app;
    info.id = r->id;
    info.run = r->run;
    info.start = r->start / s->gpu.cycle;
    info.end = hd_ceil_div(r->end, s->gpu.cycle);
    info.launches = r->launches;
    info.cycles = r->end != 0 ? hd_ceil_div(r->busy, s->gpu.cycle) : 0;
    info.blocks = r->blocks;
    info.instructions =
        hd_dispatch_gain(d, i, query_core_counter(s, HD_CORE_INSTRUCTIONS));
    info.thread_instructions = hd_dispatch_gain(
        d, i, query_core_counter(s, HD_CORE_THREAD_INSTRUCTIONS));
    info.stream = r->stream;
    info.overlap = hd_ceil_div(r->overlap, s->gpu.cycle);
    c = hd_dispatch_cluster(d, i);
    if (c != NULL) {
        info.stands_for = c->launches;
        info.stands_for_instructions = c->skipped.instructions;
        info.unlike = c->unlike;
    }
    return hd_info_give(out, &info, sizeof info);
}

/* ---- counters ----------------------------------------------------------- */

/* The group and index of flat counter i; *each: its first place in the list
 * of all instances' counters.  NULL past the last. */
static const struct hd_stat_group *query_find(const heddle_sim *s, uint32_t i,
                                              uint32_t *k, uint32_t *each)
{
    *each = 0;
    for (uint32_t n = 0; n < s->stats.groups; n++) {
        const struct hd_stat_group *g = &s->stats.group[n];
        if (i < g->stat.n) {
            *k = i;
            return g;
        }
        i -= g->stat.n;
        *each += g->stat.n * g->stat.instances;
    }
    return NULL;
}

static int query_counter(struct heddle_counter_info *out, const char *component,
                         const struct hd_stat_desc *d, uint32_t instances)
{
    struct heddle_counter_info info = {.component = component,
                                       .name = d->name,
                                       .unit = d->unit,
                                       .meaning = d->meaning,
                                       .instances = instances,
                                       .peak = d->kind == HD_STAT_PEAK,
                                       .level = d->kind == HD_STAT_LEVEL};

    return hd_info_give(out, &info, sizeof info);
}

int heddle_counter(const heddle_sim *s, uint32_t i,
                   struct heddle_counter_info *out)
{
    uint32_t k, each;
    const struct hd_stat_group *g = query_find(s, i, &k, &each);

    if (g == NULL || g->desc[k].name == NULL) /* not declared, at the end */
        return HEDDLE_EINVAL;
    return query_counter(out, g->component, &g->desc[k], g->stat.instances);
}

int heddle_counter_known(uint32_t i, struct heddle_counter_info *out)
{
    const struct hd_part_info *p = hd_parts, *end = p + hd_part_count;

    for (; p < end; i -= p->rows->counter_count, p++) {
        if (i >= p->rows->counter_count)
            continue;
        return query_counter(out, p->rows->name, &p->rows->counters[i], 0);
    }
    return HEDDLE_EINVAL;
}

uint64_t heddle_counter_value(const heddle_sim *s, uint32_t i,
                              uint32_t instance, uint32_t app)
{
    uint32_t k, each;
    const struct hd_stat_group *g = query_find(s, i, &k, &each);
    const uint64_t *frozen = NULL;
    uint64_t open[256] = {0};

    if (g == NULL || instance >= g->stat.instances || app > s->apps)
        return 0;
    if (app < s->apps)
        frozen = hd_dispatch_frozen(s->gpu.dispatch, app);
    if (frozen != NULL)
        return frozen[each + instance * g->stat.n + k];
    if (g->open != NULL && g->stat.n <= HD_LEN(open))
        g->open(g->self, instance, app, open);
    return hd_stat_value(&g->stat, instance, app, k, g->desc[k].kind) + open[k];
}

int heddle_counter_total(const heddle_sim *s, const char *name, uint32_t app,
                         uint64_t *out)
{
    struct heddle_counter_info c = {.size = sizeof c};
    uint32_t first = app == UINT32_MAX ? 0 : app;
    uint32_t last = app == UINT32_MAX ? s->apps : app;
    size_t n;

    for (uint32_t i = 0; heddle_counter(s, i, &c) == HEDDLE_OK; i++) {
        n = strlen(c.component);
        if (strncmp(name, c.component, n) != 0 || name[n] != '.' ||
            strcmp(name + n + 1, c.name) != 0)
            continue;
        *out = 0;
        for (uint32_t a = first; a <= last; a++)
            for (uint32_t k = 0; k < c.instances; k++) {
                uint64_t v = heddle_counter_value(s, i, k, a);
                *out = c.peak ? hd_max_u64(*out, v) : *out + v;
            }
        return HEDDLE_OK;
    }
    return HEDDLE_EINVAL;
}

uint32_t heddle_kernel_stream(const heddle_sim *s, uint32_t app,
                              uint64_t kernel)
{
    return app < s->apps ? hd_dispatch_stream(s->gpu.dispatch, app, kernel) : 0;
}

uint64_t heddle_counter_kernel(const heddle_sim *s, uint32_t i, uint32_t k)
{
    if (i >= hd_stats_flat(&s->stats) || k >= heddle_kernels(s))
        return 0;
    return hd_dispatch_gain(s->gpu.dispatch, k, i);
}

/* ---- histograms --------------------------------------------------------- */

static int query_hist(const struct hd_hist_desc *d,
                      struct heddle_hist_info *out)
{
    struct heddle_hist_info info = {.component = d->component,
                                    .name = d->name,
                                    .unit = d->unit,
                                    .meaning = d->meaning};

    return hd_info_give(out, &info, sizeof info);
}

int heddle_hist(const heddle_sim *s, uint32_t i, struct heddle_hist_info *out)
{
    if (i >= s->stats.hists || s->stats.hist[i].desc->name == NULL)
        return HEDDLE_EINVAL;
    return query_hist(s->stats.hist[i].desc, out);
}

int heddle_hist_known(uint32_t i, struct heddle_hist_info *out)
{
    const struct hd_part_info *p = hd_parts, *end = p + hd_part_count;

    for (; p < end; i -= p->rows->hist_count, p++)
        if (i < p->rows->hist_count)
            return query_hist(&p->rows->hists[i], out);
    return HEDDLE_EINVAL;
}

static const struct hd_hist *query_hist_of(const heddle_sim *s, uint32_t i,
                                           uint32_t app)
{
    const struct hd_hist *frozen = NULL;

    if (i >= s->stats.hists || app > s->apps)
        return NULL;
    if (app < s->apps)
        frozen = hd_dispatch_frozen_hist(s->gpu.dispatch, app, i);
    if (frozen != NULL)
        return frozen;
    return &s->stats.hist[i].h[app];
}

int heddle_hist_summary(const heddle_sim *s, uint32_t i, uint32_t app,
                        struct heddle_hist_summary *out)
{
    const struct hd_hist *h = query_hist_of(s, i, app);

    if (h == NULL)
        return HEDDLE_EINVAL;
    *out = (struct heddle_hist_summary){
        .n = h->n, .sum = h->sum, .min = h->min, .max = h->max};
    if (h->n > 0) {
        out->p50 = hd_hist_percentile(h, 50);
        out->p90 = hd_hist_percentile(h, 90);
        out->p95 = hd_hist_percentile(h, 95);
        out->p99 = hd_hist_percentile(h, 99);
    }
    return HEDDLE_OK;
}

int heddle_hist_bucket(const heddle_sim *s, uint32_t i, uint32_t app,
                       uint32_t b, struct heddle_hist_bucket *out)
{
    const struct hd_hist *h = query_hist_of(s, i, app);

    if (h == NULL || b >= HD_HIST_BUCKETS)
        return HEDDLE_EINVAL;
    *out = (struct heddle_hist_bucket){hd_hist_low(b), hd_hist_high(b),
                                       h->bucket[b]};
    return HEDDLE_OK;
}

/* ---- looking inside ----------------------------------------------------- */

int heddle_object(const heddle_sim *s, uint32_t i,
                  struct heddle_object_info *out)
{
    for (uint32_t k = 0; k < s->env->parts; k++) {
        const struct hd_part *p = &s->env->part[k];
        struct heddle_object_info info = {.name = p->name,
                                          .instances = p->instances};
        if (p->look == NULL || i-- > 0) /* some are only checked */
            continue;
        return hd_info_give(out, &info, sizeof info);
    }
    return HEDDLE_EINVAL;
}

int heddle_look(heddle_sim *s, const char *object, uint32_t instance,
                struct heddle_visitor *v)
{
    for (uint32_t i = 0; i < s->env->parts; i++) {
        const struct hd_part *p = &s->env->part[i];
        if (strcmp(p->name, object) != 0 || instance >= p->instances ||
            p->look == NULL)
            continue;
        p->look(p->self, instance, v);
        return HEDDLE_OK;
    }
    return HEDDLE_EINVAL;
}

int heddle_stuck(heddle_sim *s, struct heddle_visitor *v)
{
    for (uint32_t i = 0; i < s->env->parts; i++) {
        const struct hd_part *p = &s->env->part[i];
        for (uint32_t k = 0; k < p->instances && p->stuck != NULL; k++)
            p->stuck(p->self, k, v);
    }
    return HEDDLE_OK;
}

int heddle_check(heddle_sim *s)
{
    for (uint32_t i = 0; i < s->env->parts; i++) {
        const struct hd_part *p = &s->env->part[i];
        for (uint32_t k = 0; k < p->instances && p->check != NULL; k++)
            p->check(p->self, k, &s->err);
    }
    return s->err.code < 0 ? s->err.code : HEDDLE_OK;
}

int heddle_translate(heddle_sim *s, uint32_t app, uint64_t va, uint64_t *pa,
                     uint64_t *page_bytes)
{
    hd_vpn vpn = {va >> HD_PAGE_SHIFT};
    struct hd_xlate x;

    if (app >= s->apps || !hd_ptables_find(s->tables, app, vpn, &x))
        return HEDDLE_EINVAL;
    *pa =
        hd_xlate_frame(&x, vpn).v << HD_PAGE_SHIFT | (va & (HD_PAGE_BYTES - 1));
    *page_bytes = (uint64_t)x.page_pages << HD_PAGE_SHIFT;
    return HEDDLE_OK;
}
