/*
 * levelgroups.c - which cores share an instance of a level of uTLBs.
 *
 * GPCs of a real card are uneven (a P100 has four of ten SMs and two of eight),
 * and which SMs are in one is not always a range of their numbers (on a GA102
 * SMs 0 and 12 share a TLB, and 0 and 3 do not: Zhang et al., CCS 2023).  So a
 * level says either how many consecutive cores share an instance, or a text:
 *
 * - 4x10 2x8: four groups of the next ten cores, two of the next eight;
 * - 0-9,50 10-19: two groups, by their cores;
 * - 0-83/12: the group of 0, 12, 24 ... up to 83.
 *
 * Each core is in one group, and cores that share a level share those below it,
 * as a request's path goes down only.
 *
 * SPDX-License-Identifier: MIT
 */
#include "level.h"

#include <string.h>

enum { NO_GROUP = UINT16_MAX };

/* A text that is read, and what it has said so far. */
struct grouping {
    const char *at, *name;
    uint16_t *instance; /* of each core */
    uint32_t cores, n, next;
    struct heddle_error *err;
};

static int level_malformed(const struct grouping *g)
{
    return hd_err_set(g->err, HEDDLE_ECONFIG,
                      "%s.groups: `%s' is not a group; 4x10 (four of ten "
                      "cores), 0-9,50 or 0-83/12 is expected",
                      g->name, g->at);
}

static bool level_number(struct grouping *g, uint32_t *out)
{
    uint32_t v = 0, n = 0;

    for (; *g->at >= '0' && *g->at <= '9' && n < 5; g->at++, n++)
        v = v * 10 + (uint32_t)(*g->at - '0');
    *out = v;
    return n > 0;
}

static bool level_sign(struct grouping *g, char c)
{
    if (*g->at != c)
        return false;
    g->at++;
    return true;
}

/* Core c is in the group at hand. */
static int level_member(struct grouping *g, uint32_t c)
{
    if (c >= g->cores)
        return hd_err_set(g->err, HEDDLE_ECONFIG,
                          "%s.groups: core %u is in a group, and there are %u "
                          "cores (core.count)",
                          g->name, c, g->cores);
    if (g->instance[c] != NO_GROUP)
        return hd_err_set(
            g->err, HEDDLE_ECONFIG,
            "%s.groups: core %u is in two groups, or twice in one", g->name, c);
    g->instance[c] = (uint16_t)g->n;
    g->next = c + 1;
    return 0;
}

/* "4x10", whose first number has been read. */
static int level_repeat(struct grouping *g, uint32_t times)
{
    uint32_t each;

    if (!level_number(g, &each) || each == 0 || times == 0)
        return level_malformed(g);
    for (; times > 0; times--, g->n++)
        for (uint32_t i = 0; i < each; i++)
            if (level_member(g, g->next) != 0)
                return g->err->code;
    return 0;
}

/* A group by its cores, whose first number has been read. */
static int level_list(struct grouping *g, uint32_t from)
{
    uint32_t to, step;

    for (;;) {
        to = from;
        step = 1;
        if (level_sign(g, '-') && !level_number(g, &to))
            return level_malformed(g);
        if (level_sign(g, '/') && (!level_number(g, &step) || step == 0))
            return level_malformed(g);
        for (; from <= to; from += step)
            if (level_member(g, from) != 0)
                return g->err->code;
        if (!level_sign(g, ','))
            break;
        if (!level_number(g, &from))
            return level_malformed(g);
    }
    g->n++;
    return 0;
}

static int level_read(struct grouping *g)
{
    uint32_t first;

    for (;;) {
        const char *begin;

        while (*g->at == ' ')
            g->at++;
        if (*g->at == '\0')
            return 0;
        begin = g->at;
        if (!level_number(g, &first)) {
            g->at = begin;
            return level_malformed(g);
        }
        if ((level_sign(g, 'x') ? level_repeat(g, first)
                                : level_list(g, first)) != 0)
            return g->err->code;
        if (*g->at != ' ' && *g->at != '\0') {
            g->at = begin;
            return level_malformed(g);
        }
    }
}

/* .. of one node. */
static uint32_t level_node_groups(const struct hd_level_cfg *cfg,
                                  const char *name, uint32_t cores,
                                  uint16_t *instance, struct heddle_error *err)
{
    struct grouping g = {cfg->groups, name, instance, cores, 0, 0, err};
    uint32_t each = cfg->share != 0 ? cfg->share : cores;

    bool shares = cfg->groups[0] == '\0' || strcmp(cfg->groups, "none") == 0;

    for (uint32_t c = 0; c < cores; c++)
        instance[c] = shares ? (uint16_t)(c / each) : NO_GROUP;
    if (shares)
        return (cores - 1) / each + 1;
    if (level_read(&g) != 0)
        return 0;
    for (uint32_t c = 0; c < cores; c++)
        if (instance[c] == NO_GROUP) {
            hd_err_set(err, HEDDLE_ECONFIG,
                       "%s.groups: core %u of %u (core.count) is in no group",
                       name, c, cores);
            return 0;
        }
    return g.n;
}

uint32_t hd_level_groups(const struct hd_level_cfg *cfg, const char *name,
                         uint32_t cores, uint32_t nodes, uint16_t *instance,
                         struct heddle_error *err)
{
    uint32_t each = cores / nodes;
    uint32_t n = level_node_groups(cfg, name, each, instance, err);

    for (uint32_t c = each; c < cores; c++)
        instance[c] = (uint16_t)(instance[c - each] + n);
    return n * nodes;
}

/* Cores that share a level share the one below it. */
static int level_check_below(const uint16_t *upper, const uint16_t *lower,
                             const char *name[2], uint32_t cores,
                             struct heddle_error *err)
{
    uint16_t first[1024]; /* core of each instance of the upper level */

    memset(first, 0xff, sizeof first);
    for (uint32_t c = 0; c < cores; c++) {
        uint16_t *f = &first[upper[c]];

        if (*f == NO_GROUP)
            *f = (uint16_t)c;
        else if (lower[*f] != lower[c])
            return hd_err_set(
                err, HEDDLE_ECONFIG,
                "%s: cores %u and %u share an instance of %s, and "
                "none of %s; a level is shared by all cores that "
                "share the one above it",
                name[1], *f, c, name[0], name[1]);
    }
    return 0;
}

int hd_levels_check(const struct hd_level_cfg *const cfg[HD_LEVELS],
                    uint32_t cores, uint32_t nodes, uint32_t *instances,
                    struct heddle_error *err)
{
    static const char *const NAME[HD_LEVELS] = {"utlb1", "utlb2", "utlb3"};
    uint16_t of[2][1024]; /* of this level, of the one above */
    uint32_t above = HD_NONE, n;

    *instances = 0;
    hd_assert(cores <= HD_LEN(of[0]));
    for (uint32_t k = 0; k < HD_LEVELS; k++) {
        if (cfg[k]->entries == 0)
            continue;
        n = hd_level_groups(cfg[k], NAME[k], cores, nodes, of[0], err);
        if (n == 0)
            return err->code;
        if (above != HD_NONE &&
            level_check_below(of[1], of[0],
                              (const char *[2]){NAME[above], NAME[k]}, cores,
                              err) != 0)
            return err->code;
        memcpy(of[1], of[0], sizeof of[0]);
        above = k;
        *instances += n;
    }
    return 0;
}
