/*
 * steer.c - the tables that a policy sets at an epoch and C reads.
 *
 * Where a question would be asked millions of times, a policy may set what
 * the engine's default looks up: which levels bypass the L2 cache for which
 * application, the DRAM class of each kind of request, which warps may fill
 * the L2 TLB, which may load.  Then nothing is asked and a request costs what
 * it costs without a policy.  tables.def lists them.
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

enum index { ONE, APP, LEVEL, CORE };

#define INDEX_ONE   "0"
#define INDEX_APP   "application"
#define INDEX_LEVEL "level: 0 data, 1 root .. 4 leaf"
#define INDEX_CORE  "core"

static const struct table {
    struct heddle_table_info info;
    size_t offset, bytes, row, cell; /* in struct hd_steer */
    uint64_t most, def;
    enum index i, j;
} table[] = {
#define HD_TABLE(name, at, i, j, type, most, def, value, meaning)              \
    {{#name, at, INDEX_##i, INDEX_##j, value, meaning},                        \
     offsetof(struct hd_steer, name),                                          \
     sizeof(((struct hd_steer *)0)->name),                                     \
     sizeof(((struct hd_steer *)0)->name[0]),                                  \
     sizeof(type),                                                             \
     most,                                                                     \
     def,                                                                      \
     i,                                                                        \
     j},
#include "../tables.def"
#undef HD_TABLE
};

const struct heddle_table_info *heddle_table_info(uint32_t i)
{
    return i < HD_LEN(table) ? &table[i].info : NULL;
}

static uint64_t below(const struct hd_slots_registry *r, enum index i)
{
    switch (i) {
    case APP:
        return r->machine.apps;
    case LEVEL:
        return HD_STEER_LEVELS;
    case CORE:
        return hd_min_u64(r->machine.cores, HD_STEER_CORES);
    default:
        return 1;
    }
}

/* Integers of one, two and eight bytes, wherever they lie. */
static void put(unsigned char *at, size_t bytes, uint64_t value)
{
    uint8_t byte = (uint8_t)value;
    uint16_t half = (uint16_t)value;

    memcpy(at,
           bytes == 1   ? (void *)&byte
           : bytes == 2 ? (void *)&half
                        : (void *)&value,
           bytes);
}

/* Warps that an old limit held back can only be woken by this. */
static void tell_cores(struct hd_slots_registry *r, uint32_t first, uint64_t n)
{
    struct hd_slots *s = r->slots;

    for (uint32_t c = first; c < first + n && s->limit_changed; c++)
        s->limit_changed(s->limit_self, c);
}

void hd_steer_defaults(struct hd_slots_registry *r, uint32_t tables)
{
    struct hd_steer *s = r->slots->steer;

    s->set &= ~tables;
    for (uint32_t k = 0; k < HD_LEN(table); k++) {
        const struct table *t = &table[k];
        unsigned char *at = (unsigned char *)s + t->offset;

        for (size_t n = 0; (tables >> k & 1) && n < t->bytes; n += t->cell)
            put(at + n, t->cell, t->def);
    }
    if (tables >> HD_TABLE_l2_bypass & 1)
        memset(s->l2_steered, 0, sizeof s->l2_steered);
    if (tables >> HD_TABLE_warp_limit & 1)
        tell_cores(r, 0, below(r, CORE));
}

static int no_table(struct hd_slots_registry *r, const char *name)
{
    const char *names[HD_LEN(table)];
    char meant[96];

    for (uint32_t i = 0; i < HD_LEN(table); i++)
        names[i] = table[i].info.name;
    return hd_err_set(
        &r->error, HEDDLE_EINVAL, "there is no steering table \"%s\"%s", name,
        hd_meant(meant, sizeof meant, name, names, HD_LEN(table)));
}

int heddle_steer(heddle_sim *s, const char *name, uint32_t i, uint32_t j,
                 uint64_t value)
{
    struct hd_slots_registry *r = hd_sim_env(s)->slots->registry;
    struct hd_steer *steer = r->slots->steer;
    const struct table *t = table;
    uint32_t k = 0;

    if (r->sink != &r->error)
        hd_err_clear(&r->error);
    while (k < HD_LEN(table) && strcmp(table[k].info.name, name) != 0)
        k++;
    if (k == HD_LEN(table))
        return no_table(r, name);
    t = &table[k];
    if (i >= below(r, t->i) || j >= below(r, t->j))
        return hd_err_set(&r->error, HEDDLE_EINVAL,
                          "steering table %s has no cell (%" PRIu32 ", %" PRIu32
                          "): its rows (%s) are below %" PRIu64
                          ", its columns (%s) below %" PRIu64,
                          name, i, j, t->info.i, below(r, t->i), t->info.j,
                          below(r, t->j));
    if (value > t->most)
        return hd_err_set(&r->error, HEDDLE_EINVAL,
                          "steering table %s cannot hold %" PRIu64
                          ", expected %s",
                          name, value, t->info.value);
    if (hd_registry_own(r, HD_OWN_TABLE, k, "steer", name) != 0)
        return r->error.code;
    put((unsigned char *)steer + t->offset + i * t->row + j * t->cell, t->cell,
        value);
    if (k == HD_TABLE_l2_bypass)
        steer->l2_steered[i][j] = 1;
    if (k == HD_TABLE_warp_limit)
        tell_cores(r, j, 1);
    if (!hd_steered(steer, k)) {
        steer->set |= 1u << k;
        hd_env_bound(r->env); /* its reader is quiet no more */
    }
    return 0;
}
