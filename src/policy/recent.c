/*
 * recent.c - what a policy learns at its epochs: counters and facts.
 *
 * A counter only grows; a policy that wants what was counted in an epoch takes
 * the difference.  The values here are live: they go on when an application
 * has finished once and runs again only as load for the others, unlike those
 * of results.
 *
 * A fact is what no difference of counters gives: a maximum, or a set.  The
 * part that knows it keeps it from one restart to the next.  A policy owns the
 * facts that it asked for first, and they begin anew when its epoch is over,
 * so it may read one as often as it likes in between.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <string.h>

#include "../sim.h"
#include "registry.h"

/* ---- counters --------------------------------------------------------- */

/* A counter of one application in all copies of its part, with what lies in
 * open intervals of time, since cycle 0: results count anew when warm-up ends,
 * and policies must not feel who measures them. */
static uint64_t live(const struct hd_stat_group *g, uint32_t k, uint32_t app)
{
    uint64_t out = g->past[(size_t)app * g->stat.n + k], open[256];

    for (uint32_t i = 0; i < g->stat.instances; i++) {
        uint64_t v = *hd_count(&g->stat, i, app, k);
        if (g->open != NULL && g->stat.n <= HD_LEN(open)) {
            memset(open, 0, g->stat.n * sizeof *open);
            g->open(g->self, i, app, open);
            v += open[k];
        }
        out = g->desc[k].kind == HD_STAT_PEAK ? hd_max_u64(out, v) : out + v;
    }
    return out;
}

static uint64_t live_all(const struct hd_stat_group *g, uint32_t k)
{
    uint64_t out = 0;

    for (uint32_t app = 0; app < g->stat.apps; app++) {
        uint64_t v = live(g, k, app);
        out = g->desc[k].kind == HD_STAT_PEAK ? hd_max_u64(out, v) : out + v;
    }
    return out;
}

int heddle_policy_counter(const heddle_sim *s, const char *name, uint32_t app,
                          uint64_t *out)
{
    const struct hd_stats *st = hd_sim_env(s)->stats;

    for (uint32_t i = 0; i < st->groups; i++) {
        const struct hd_stat_group *g = &st->group[i];
        size_t n = strlen(g->component);

        if (strncmp(g->component, name, n) != 0 || name[n] != '.')
            continue;
        for (uint32_t k = 0; k < g->stat.n; k++) {
            if (strcmp(g->desc[k].name, name + n + 1) != 0)
                continue;
            *out = app == UINT32_MAX    ? live_all(g, k)
                   : app < g->stat.apps ? live(g, k, app)
                                        : 0;
            return 0;
        }
    }
    *out = 0;
    return HEDDLE_EINVAL;
}

/* ---- facts ------------------------------------------------------------ */

void hd_slots_facts(struct hd_slots *s, const struct hd_fact *facts, uint32_t n,
                    void *self)
{
    s->registry->fact = facts;
    s->registry->facts = n;
    s->registry->fact_self = self;
}

static int no_fact(struct hd_slots_registry *r, const char *name)
{
    const char *names[32];
    char meant[96];
    uint32_t n = 0;

    for (; n < r->facts && n < HD_LEN(names); n++)
        names[n] = r->fact[n].info.name;
    return hd_err_set(&r->error, HEDDLE_EINVAL, "there is no fact \"%s\"%s",
                      name, hd_meant(meant, sizeof meant, name, names, n));
}

int heddle_recent(heddle_sim *s, const char *name, uint32_t i, uint64_t *out)
{
    struct hd_slots_registry *r = hd_sim_env(s)->slots->registry;
    const struct hd_fact *fact;
    uint32_t f = 0, n;

    *out = 0;
    if (r->sink != &r->error)
        hd_err_clear(&r->error);
    while (f < r->facts && strcmp(r->fact[f].info.name, name) != 0)
        f++;
    if (f == r->facts)
        return no_fact(r, name);
    fact = &r->fact[f];
    n = strcmp(fact->info.i, "core") == 0 ? r->machine.cores : r->machine.apps;
    if (i >= n)
        return hd_err_set(&r->error, HEDDLE_EINVAL,
                          "the fact %s has no %s %" PRIu32
                          ": they are below %" PRIu32,
                          name, fact->info.i, i, n);
    if (fact->restart != NULL && r->current == NULL)
        return hd_err_set(&r->error, HEDDLE_EPOLICY,
                          "the fact %s is for epochs (every)", name);
    if (fact->restart != NULL &&
        hd_registry_own(r, HD_OWN_FACT, f, "ask for the fact", name) != 0)
        return r->error.code;
    *out = fact->get(r->fact_self, i);
    return 0;
}

void hd_recent_restart(struct hd_slots_registry *r, const struct hd_bound *b)
{
    for (uint32_t f = 0; f < r->facts; f++)
        if (b->owned[HD_OWN_FACT] >> f & 1)
            r->fact[f].restart(r->fact_self);
}
