/*
 * walktable.c - where walks read, and with which read they end, by a policy
 * (walk_address).
 *
 * A radix table costs a read a level, each of which needs the one before.  A
 * hashed table (Yaniv and Tsafrir, SIGMETRICS 2016; elastic cuckoo page tables,
 * Skarlatos et al., ASPLOS 2020; of fixed size for a GPU: Jang et al., PACT
 * 2024) has the translation in its first read, unless pages collide; a
 * flattened one (Park et al., ASPLOS 2022) has fewer levels.  What differs is
 * which addresses a walk reads and how often, so that is what a policy says,
 * before each read: the entry that the page table gives, or one of a table of
 * the policy's own; and whether the walk has its translation with that.  What
 * the table holds is the policy's affair; the answer of a walk is the page
 * table's, whatever was read for it, so no policy can get a frame wrong.
 *
 * The table is walktable.bytes at the end of the frames of page tables; an
 * entry of it has the bytes of theirs.  Its reads are of the leaf's level where
 * levels are counted and where memory tells them apart.  After one that does
 * not end the walk the same question is asked again; after one of the page
 * table the walk continues as if the others had not been.  Neighbours of a page
 * are not in what such a walk has read (variants/fill.c refuses them).
 *
 * While a walk reads the table, the read stands in the place of the leaf's in
 * its record, which nothing else has to know: batches, memory and notes take
 * it for one.
 *
 * Left out: caches of the walker for the table; the walk cache is looked up
 * first and gets what is read of the page table alone; writes to the table.
 *
 * Invariant: a walk makes at most walktable.reads reads of the table, so it
 * ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include "translation/walk.h"

#define HD_PART    walktable
#define HD_CFG     struct hd_walktable_cfg
#define HD_PART_OF "variants/walktable.def"
#include "kit/rows.h"

static void walktable_count(const struct hd_unit *u, uint32_t app,
                            enum hd_walktable_stat what)
{
    (*hd_count(&u->table_stat, u->instance, app, what))++;
}

/* The engine's own choice: as the page table says. */
static int64_t walktable_default(void *mmu, const void *question)
{
    (void)mmu, (void)question;
    return 0;
}

void hd_walktable_aim(const struct hd_unit *u, struct hd_walk *w,
                      struct hd_walk_aim *a, uint32_t core, uint32_t pc)
{
    const struct hd_mmu *m = u->m;
    struct heddle_q_walk_address q = {
        .app = w->app,
        .vpn = w->vpn.v,
        .page = hd_ptables_first(m->w.tables, w->app, w->vpn).v,
        .level = m->read[w->level].level,
        .leaf = m->read[w->leaf].level,
        .made = a->made,
        .probes = a->probes,
        .address = w->pte[w->level - 1].v,
        .next = w->level < w->leaf ? w->pte[w->level].v : 0,
        .entries = a->probes < m->walktable_cfg.reads ? m->table_entries : 0,
        .core = core,
        .pc = pc};
    uint64_t n = (uint64_t)hd_ask_walk_address(&m->address, &q);

    a->ends = q.ends != 0;
    if (n == 0 && a->made == a->probes && a->made != 0)
        walktable_count(u, w->app, HD_WALKTABLE_FELL);
    a->made++;
    if (n == 0)
        return;
    a->probes++;
    a->table = 1;
    a->level = w->level;
    a->leaf = w->pte[w->leaf - 1];
    w->level = w->leaf;
    w->pte[w->leaf - 1].v =
        m->table_at.v + (n - 1) * hd_ptables_entry_bytes(m->w.tables);
    walktable_count(u, w->app, HD_WALKTABLE_READS);
}

bool hd_walktable_read(const struct hd_unit *u, struct hd_walk *w,
                       struct hd_walk_aim *a)
{
    bool table = a->table != 0;

    if (table) {
        w->pte[w->leaf - 1] = a->leaf;
        w->level = a->level;
        a->table = 0;
    }
    if (a->ends && (table || w->level < w->leaf)) {
        walktable_count(u, w->app,
                        table ? HD_WALKTABLE_FOUND : HD_WALKTABLE_SHORT);
        w->spared = 1;
        w->level = w->leaf;
        return true;
    }
    return !table;
}

int hd_walktable_open(struct hd_mmu *m)
{
    const struct hd_walktable_cfg *c = &m->walktable_cfg;
    struct hd_env *env = m->env;

    if (c->bytes == 0 || m->walk_cfg.mode.kind != HD_FULL)
        return 0;
    if (hd_ptables_keep(m->w.tables, c->bytes, &m->table_at, env->err) != 0)
        return env->err->code;
    m->table_entries = c->bytes / hd_ptables_entry_bytes(m->w.tables);
    for (uint32_t i = 0; i < m->units; i++) {
        struct hd_unit *u = &m->unit[i];
        u->aim = hd_arena_take(env->arena, u->miss.room, sizeof *u->aim);
        if (u->aim == NULL)
            return hd_err_memory(env->err);
    }
    hd_slots_offer(env->slots, HEDDLE_POINT_walk_address, "", &m->address,
                   walktable_default, m);
    return 0;
}
