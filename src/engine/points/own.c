/*
 * own.c - counters, peaks, histograms and series that policies declare.
 *
 * Parts count what the engine is built to count.  What a policy is about, only
 * it knows: it declares counters with unit and meaning, which results,
 * intervals and `heddle list' show as policy.NAME.counter.  They come after
 * those of all parts, in room that is taken before the first is declared, so
 * that snapshots and frozen counters know them; what no policy has declared is
 * not listed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/line.h"
#include "sim.h"
#include "registry.h"

void hd_slots_own(struct hd_slots *s)
{
    struct hd_slots_registry *r = s->registry;
    struct hd_owned *own = &r->own;

    own->rows = (struct hd_rows){.name = "policy",
                                 .counters = own->desc,
                                 .counter_count = HD_OWN_COUNTERS,
                                 .hists = own->of_hist,
                                 .hist_count = HD_OWN_HISTS};
    own->stat = hd_stats_group(r->env->stats, &own->rows, 1);
    for (uint32_t i = 0; i < HD_OWN_HISTS; i++)
        own->hist[i] = hd_stats_hist(r->env->stats, &own->rows, i);
}

/* Its number, by its name, or that of the next free one of its kind. */
static int own_number(const struct hd_owned *own, const char *name, bool hist)
{
    int i = hist ? HD_OWN_COUNTERS : 0;
    int end = hist ? HD_OWN_COUNTERS + HD_OWN_HISTS : HD_OWN_COUNTERS;

    while (i < end && own->name[i][0] != '\0' && strcmp(own->name[i], name) != 0)
        i++;
    return i < end ? i : -1;
}

int hd_own_name(struct hd_slots_registry *r, const struct heddle_policy *p,
                struct heddle_error *err)
{
    struct hd_owned *own = &r->own;

    for (const struct heddle_own *o = p->own; o != NULL && o->name; o++) {
        bool hist = o->kind == HEDDLE_OWN_HISTOGRAM;
        const char *text[] = {o->name, o->unit};
        char name[HD_OWN_ROOM], what[96];
        int i;

        snprintf(what, sizeof what, "policy %s: counters", p->name);
        for (i = 0; i < 2; i++)
            if (hd_line_check(what, text[i], HEDDLE_EPOLICY, err) != 0)
                return err->code;

        snprintf(name, sizeof name, "%s.%s", p->name, o->name);
        i = own->stat.v != NULL ? own_number(own, name, hist) : -1;
        if (i < 0)
            return hd_err_set(err, HEDDLE_EPOLICY,
                              "policy %s: no room for its counter %s: all "
                              "policies together have at most %d and %d "
                              "histograms",
                              p->name, o->name, HD_OWN_COUNTERS, HD_OWN_HISTS);
        memcpy(own->name[i], name, sizeof name);
        snprintf(own->text[i][0], sizeof own->text[i][0], "%s", o->unit);
        snprintf(own->text[i][1], sizeof own->text[i][1], "%s", o->meaning);
        if (hist)
            own->of_hist[i - HD_OWN_COUNTERS] =
                (struct hd_hist_desc){"policy", own->name[i], own->text[i][0],
                                      own->text[i][1]};
        else
            own->desc[i] = (struct hd_stat_desc){
                own->name[i], own->text[i][0], own->text[i][1],
                o->kind == HEDDLE_OWN_PEAK     ? HD_STAT_PEAK
                : o->kind == HEDDLE_OWN_SERIES ? HD_STAT_LEVEL
                                               : HD_STAT_COUNT};
    }
    return 0;
}

int heddle_policy_setting(const heddle_sim *s, const char *name,
                          uint64_t *number, char *text, size_t room)
{
    const struct hd_slots *slots = hd_sim_env(s)->slots;
    struct heddle_error err = {0};
    char own[256], *end;
    uint64_t n;

    if (slots->setting == NULL ||
        slots->setting(slots->machine, name, own, sizeof own, &err) != 0)
        return HEDDLE_EINVAL;
    n = strtoull(own, &end, 10);
    if (number != NULL)
        *number = *end == '\0' && end != own ? n : strcmp(own, "true") == 0;
    if (text != NULL)
        snprintf(text, room, "%s", own);
    return HEDDLE_OK;
}

int heddle_own_number(const heddle_sim *s, const char *policy, const char *name)
{
    const struct hd_owned *own = &hd_sim_env(s)->slots->registry->own;
    char full[HD_OWN_ROOM];

    snprintf(full, sizeof full, "%s.%s", policy, name);
    for (int i = 0; i < HD_OWN_COUNTERS + HD_OWN_HISTS; i++)
        if (strcmp(own->name[i], full) == 0)
            return i;
    return -1;
}

void heddle_count(heddle_sim *s, int number, uint32_t app, uint64_t value)
{
    struct hd_owned *own = &hd_sim_env(s)->slots->registry->own;
    uint64_t *v;

    if (number < 0 || own->stat.v == NULL)
        return;
    if (number >= HD_OWN_COUNTERS) {
        uint32_t none = own->stat.apps - 1;
        hd_hist_add(&own->hist[number - HD_OWN_COUNTERS][hd_min_u64(app, none)],
                    value);
        return;
    }
    v = hd_count(&own->stat, 0, app, (uint32_t)number);
    switch ((enum hd_stat_kind)own->desc[number].kind) {
    case HD_STAT_PEAK:
        *v = hd_max_u64(*v, value);
        break;
    case HD_STAT_LEVEL:
        *v = value;
        break;
    case HD_STAT_COUNT:
        *v += value;
        break;
    }
}
