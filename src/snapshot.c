/*
 * snapshot.c - copies of a simulation's state, and their restoration.
 *
 * The state is the used part of the arena, what sources keep outside it
 * (written pages of buffers), and what scripts keep outside it.  Wiring stays
 * as it is: a snapshot can be restored into the simulation that it was taken
 * from, or into another of the same settings, workloads and policies (a
 * fork); it names them by hash and refuses others.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "simulation.h"

struct heddle_snapshot {
    uint64_t machine, policies; /* hashes of what it belongs to */
    uint64_t workload[HD_MAX_APPS];
    uint32_t apps;
    size_t used, room; /* bytes of the arena's copy: taken, allocated */
    unsigned char *arena;
    void *source[HD_MAX_APPS]; /* what sources saved */
    const struct hd_source *of[HD_MAX_APPS];
    void *scripts;
    size_t script_bytes;
};

static void drop_sources(heddle_snapshot *k)
{
    for (uint32_t i = 0; i < k->apps; i++) {
        if (k->source[i] != NULL)
            k->of[i]->ops->drop(k->of[i]->self, k->source[i]);
        k->source[i] = NULL;
    }
}

void heddle_snapshot_free(heddle_snapshot *k)
{
    if (k == NULL)
        return;
    drop_sources(k);
    free(k->arena);
    free(k->scripts);
    free(k);
}

static int save_sources(heddle_sim *s, heddle_snapshot *k)
{
    k->apps = s->apps;
    for (uint32_t i = 0; i < s->apps; i++) {
        struct hd_source *src = s->source[i];
        k->of[i] = src;
        k->workload[i] = src->hash;
        k->source[i] = NULL;
        if (src->ops->save == NULL)
            continue;
        k->source[i] = src->ops->save(src->self);
        if (k->source[i] == NULL)
            return hd_err_set(&s->err, HEDDLE_ENOMEM, "out of memory");
    }
    return 0;
}

static int save_scripts(heddle_sim *s, heddle_snapshot *k)
{
    size_t n = hd_slots_save(&s->slots, NULL, 0);

    free(k->scripts);
    k->scripts = NULL;
    k->script_bytes = n;
    if (n == 0)
        return s->err.code < 0 ? s->err.code : 0;
    k->scripts = malloc(n);
    if (k->scripts == NULL)
        return hd_err_set(&s->err, HEDDLE_ENOMEM, "out of memory");
    hd_slots_save(&s->slots, k->scripts, n);
    return s->err.code < 0 ? s->err.code : 0;
}

heddle_snapshot *heddle_snapshot_take(heddle_sim *s, heddle_snapshot *reuse)
{
    heddle_snapshot *k = reuse != NULL ? reuse : calloc(1, sizeof *k);

    if (k == NULL)
        return NULL;
    drop_sources(k);
    if (k->room < s->arena.used) {
        free(k->arena);
        k->arena = malloc(s->arena.used);
        k->room = k->arena != NULL ? s->arena.used : 0;
    }
    if (k->arena == NULL || save_sources(s, k) != 0 || save_scripts(s, k)) {
        heddle_snapshot_free(k);
        return NULL;
    }
    k->machine = XXH3_64bits(&s->m, sizeof s->m);
    k->policies = hd_slots_hash(&s->slots);
    k->used = s->arena.used;
    memcpy(k->arena, s->arena.base, k->used);
    return k;
}

static int same(heddle_sim *s, const heddle_snapshot *k)
{
    char policies[256];

    if (k->machine != XXH3_64bits(&s->m, sizeof s->m) || k->apps != s->apps)
        return hd_err_set(&s->err, HEDDLE_EINVAL,
                          "the snapshot was taken with other settings");
    for (uint32_t i = 0; i < s->apps; i++)
        if (k->workload[i] != s->source[i]->hash)
            return hd_err_set(&s->err, HEDDLE_EINVAL,
                              "the snapshot was taken with another workload "
                              "as application %u",
                              i);
    if (k->policies == hd_slots_hash(&s->slots))
        return 0;
    hd_slots_describe(&s->slots, policies, sizeof policies);
    return hd_err_set(&s->err, HEDDLE_EINVAL,
                      "the snapshot was taken with other policies than '%s'",
                      policies);
}

/* Puts wiring in step with a restored arena. */
static int restored(heddle_sim *s)
{
    hd_events_restored(&s->ev);
    for (uint32_t i = 0; i < s->gpu.cores; i++)
        hd_core_assign(&s->gpu, i, s->gpu.core[i].s->app);
    hd_dispatch_restored(s->gpu.dispatch);
    for (uint32_t i = 0; i < s->apps; i++) {
        struct hd_source *src = s->source[i];
        if (src->ops->restored != NULL && src->ops->restored(src->self) != 0)
            return hd_err_set(&s->err, HEDDLE_EDATA,
                              "application %u: its data cannot be found again",
                              i);
    }
    return 0;
}

int heddle_snapshot_restore(heddle_sim *s, const heddle_snapshot *k)
{
    size_t before = s->arena.used;

    hd_err_clear(&s->err);
    if (k == NULL)
        hd_err_set(&s->err, HEDDLE_EINVAL, "no snapshot (NULL) to restore");
    if (k == NULL || same(s, k) != 0) {
        int code = s->err.code;
        s->err.code = s->run->status; /* it goes on as it was */
        return code;
    }
    memcpy(s->arena.base, k->arena, k->used);
    if (before > k->used) /* what is taken next must be zeroed */
        memset(s->arena.base + k->used, 0, before - k->used);
    s->arena.used = k->used;
    for (uint32_t i = 0; i < s->apps; i++)
        if (k->source[i] != NULL)
            s->source[i]->ops->load(s->source[i]->self, k->source[i]);
    if (hd_slots_load(&s->slots, k->scripts, k->script_bytes) != 0 ||
        restored(s) != 0)
        return s->err.code;
    s->err.code = s->run->status;
    return 0;
}

void heddle_memory(const heddle_sim *s, uint64_t *arena, uint64_t *outside)
{
    *arena = s->arena.used;
    *outside = 0;
    for (uint32_t i = 0; i < s->apps; i++)
        if (s->source[i]->ops->memory != NULL)
            *outside += s->source[i]->ops->memory(s->source[i]->self);
}

uint64_t heddle_state_hash(const heddle_sim *s)
{
    return XXH3_64bits(s->arena.base, s->arena.used);
}
