/*
 * steer.c - the tables that a policy sets at an epoch and C reads.
 *
 * Where a question would be asked millions of times, a policy may set what
 * the engine's default looks up: which levels bypass the L2 cache for which
 * application, the DRAM class of each kind of request, which warps may fill
 * the L2 TLB, which may load.  Then nothing is asked and a request costs what
 * it costs without a policy.
 *
 * A table belongs to the policy that set it first; a second one is an error.
 * It goes back to the default when that policy is unbound.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <string.h>

#include "../sim.h"
#include "registry.h"

enum table {
    L2_BYPASS,
    DRAM_CLASS,
    DRAM_TURN,
    TLB_FILL,
    TLB_FILL_WITHOUT,
    WARP_LIMIT
};

enum { LEVELS = 5, BYPASS = 1 };

static void tell_cores(struct hd_slots_registry *r, uint32_t first, uint32_t n)
{
    struct hd_slots *s = r->slots;

    for (uint32_t c = first; c < first + n && s->limit_changed; c++)
        s->limit_changed(s->limit_self, c);
}

void hd_steer_defaults(struct hd_slots_registry *r, uint32_t tables)
{
    struct hd_steer *t = r->slots->steer;

    t->set &= (uint8_t)~tables;
    if (tables >> L2_BYPASS & 1) {
        memset(t->l2_bypass, 0, sizeof t->l2_bypass);
        memset(t->l2_steered, 0, sizeof t->l2_steered);
        t->l2_steers = 0;
    }
    if (tables >> DRAM_CLASS & 1)
        memset(t->dram_class, 0, sizeof t->dram_class);
    if (tables >> DRAM_TURN & 1) {
        memset(t->dram_turn, 0, sizeof t->dram_turn);
        t->turns = 0;
    }
    if (tables >> TLB_FILL & 1)
        memset(t->tlb_fill, 0xff, sizeof t->tlb_fill);
    if (tables >> TLB_FILL_WITHOUT & 1)
        memset(t->tlb_fill_without, BYPASS, sizeof t->tlb_fill_without);
    if (tables >> WARP_LIMIT & 1) {
        memset(t->warp_limit, 0xff, sizeof t->warp_limit);
        tell_cores(r, 0, r->machine.cores);
    }
}

static int no_table(struct hd_slots_registry *r, const char *name)
{
    const char *names[HD_STEER_TABLES], *near;

    for (uint32_t i = 0; i < HD_STEER_TABLES; i++)
        names[i] = heddle_table_info(i)->name;
    near = hd_nearest(name, names, HD_STEER_TABLES);
    return hd_err_set(&r->error, HEDDLE_EINVAL,
                      "there is no steering table \"%s\"%s%s%s", name,
                      near ? "; did you mean \"" : "", near ? near : "",
                      near ? "\"?" : "");
}

/* Rows, columns and the largest value of a table. */
static void bounds(const struct hd_slots_registry *r, enum table t,
                   uint64_t out[3])
{
    uint64_t apps = r->machine.apps, cores = hd_min_u64(r->machine.cores, 128);
    const uint64_t b[HD_STEER_TABLES][3] = {
        [L2_BYPASS] = {apps, LEVELS, UINT8_MAX},
        [DRAM_CLASS] = {apps, LEVELS, 2},
        [DRAM_TURN] = {apps, 1, UINT16_MAX},
        [TLB_FILL] = {apps, cores, UINT64_MAX},
        [TLB_FILL_WITHOUT] = {apps, 1, 2},
        [WARP_LIMIT] = {1, cores, UINT64_MAX},
    };
    memcpy(out, b[t], sizeof b[t]);
}

/* A table is set by one policy; its name goes into the error. */
static int claim(struct hd_slots_registry *r, enum table t)
{
    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND && r->current; i++) {
        const struct hd_bound *b = &r->bound[i];

        if (b->policy && b != r->current && (b->steered >> t & 1))
            return hd_err_set(&r->error, HEDDLE_EPOLICY,
                              "policies %s and %s both steer %s",
                              b->policy->name, r->current->policy->name,
                              heddle_table_info(t)->name);
    }
    if (r->current)
        r->current->steered |= 1u << t;
    return 0;
}

static void set_cell(struct hd_slots_registry *r, enum table t, uint32_t i,
                     uint32_t j, uint64_t value)
{
    struct hd_steer *s = r->slots->steer;
    bool first = !(s->set >> t & 1);

    s->set |= (uint8_t)(1u << t);
    switch (t) {
    case L2_BYPASS:
        s->l2_bypass[i][j] = (uint8_t)value;
        s->l2_steered[i][j] = s->l2_steers = 1;
        break;
    case DRAM_CLASS:
        s->dram_class[i][j] = (uint8_t)value;
        break;
    case DRAM_TURN:
        s->dram_turn[i] = (uint16_t)value;
        s->turns = 1;
        break;
    case TLB_FILL:
        s->tlb_fill[i][j] = value;
        break;
    case TLB_FILL_WITHOUT:
        s->tlb_fill_without[i] = (uint8_t)value;
        break;
    case WARP_LIMIT:
        s->warp_limit[j] = value;
        tell_cores(r, j, 1);
        break;
    }
    if (first)
        hd_env_bound(r->env); /* the table's reader is quiet no more */
}

int heddle_steer(heddle_sim *s, const char *table, uint32_t i, uint32_t j,
                 uint64_t value)
{
    struct hd_slots_registry *r = hd_sim_env(s)->slots->registry;
    const struct heddle_table_info *info;
    uint64_t most[3];
    uint32_t t;

    if (r->sink != &r->error)
        hd_err_clear(&r->error);
    for (t = 0; t < HD_STEER_TABLES; t++)
        if (strcmp(heddle_table_info(t)->name, table) == 0)
            break;
    if (t == HD_STEER_TABLES)
        return no_table(r, table);
    info = heddle_table_info(t);
    bounds(r, (enum table)t, most);
    if (i >= most[0] || j >= most[1])
        return hd_err_set(&r->error, HEDDLE_EINVAL,
                          "steering table %s has no cell (%" PRIu32 ", %" PRIu32
                          "): its rows (%s) are below %" PRIu64
                          ", its columns (%s) below %" PRIu64,
                          table, i, j, info->i, most[0], info->j, most[1]);
    if (value > most[2])
        return hd_err_set(&r->error, HEDDLE_EINVAL,
                          "steering table %s cannot hold %" PRIu64
                          ", expected %s",
                          table, value, info->value);
    if (claim(r, (enum table)t) != 0)
        return r->error.code;
    set_cell(r, (enum table)t, i, j, value);
    return 0;
}
