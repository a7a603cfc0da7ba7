/*
 * ptregion.c - page tables and regions, made as pages are entered.
 *
 * A region is 2 MB of an application's addresses: what one leaf table maps.
 * It is entered with the first page in it, which makes the tables above it
 * down to level 3; whether it then has a leaf table or one entry of 2 MB
 * follows from the page that comes (hd_pt_region_shape).  A region stays when
 * its pages go, and so do its tables: only a leaf table that a page of 2 MB
 * takes the place of goes to the list of free ones.
 *
 * Regions, ranges and the hash by which a region is found grow by doubling: a
 * piece of the arena twice as large takes their contents over, and the old one
 * is not used again, so all the pieces together are less than twice the last.
 *
 * Invariant: a slot has all that its region's walk begins with, and what both
 * say of tables agrees.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ptstate.h"

#include <string.h>

/* ---- growing ------------------------------------------------------------ */

hd_ref hd_pt_twice(struct hd_ptables *t, hd_ref old, uint32_t *room,
                   size_t size)
{
    void *p = hd_arena_take(t->env->arena, (size_t)*room * 2, size);

    if (p == NULL)
        return HD_NONE;
    memcpy(p, hd_arena_at(t->env->arena, old), *room * size);
    *room *= 2;
    return hd_arena_ref(t->env->arena, p);
}

static int grow_hash(struct hd_ptables *t)
{
    uint32_t n = 1u << t->s->hash_bits;
    struct hd_pt_slot *old = hd_arena_at(t->env->arena, t->s->hash);
    void *p = hd_arena_take(t->env->arena, (size_t)n * 2, sizeof *old);

    if (p == NULL)
        return -1;
    t->s->hash = hd_arena_ref(t->env->arena, p);
    t->s->hash_bits++;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].key != 0)
            *hd_pt_find(t, old[i].key) = old[i];
    return 0;
}

/* ---- tables ------------------------------------------------------------- */

/* A fresh table, or HD_NONE (out of table frames or of memory). */
static uint32_t table_new(struct hd_ptables *t, uint32_t app, uint32_t level)
{
    struct hd_pt_state *s = t->s;
    uint32_t n = s->free_tables;
    struct hd_pt_table *x;

    if (n != HD_NONE) {
        x = &t->table[n];
        s->free_tables = x->used;
        memset(hd_pt_entry(t, x->at), 0, HD_PAGE_BYTES);
    } else {
        void *p = s->tables < t->cfg.table_frames
                      ? hd_arena_take(t->env->arena, 1, HD_PAGE_BYTES)
                      : NULL;
        if (p == NULL)
            return HD_NONE;
        n = s->tables++;
        x = &t->table[n];
        x->at = hd_arena_ref(t->env->arena, p);
    }
    x->used = 0;
    x->app = (uint8_t)app;
    x->level = (uint8_t)level;
    s->tables_live++;
    s->table_frames[app]++;
    return n;
}

static void table_free(struct hd_ptables *t, uint32_t n)
{
    struct hd_pt_table *x = &t->table[n];

    hd_assert(x->used == 0);
    t->s->tables_live--;
    t->s->table_frames[x->app]--;
    x->used = t->s->free_tables;
    x->level = 0;
    t->s->free_tables = n;
}

/* The table below entry `index` of table n, made if there is none. */
static uint32_t table_below(struct hd_ptables *t, uint32_t n, uint32_t index)
{
    uint64_t *e = hd_pt_entry(t, t->table[n].at) + index;
    uint32_t below;

    if (*e & HD_PT_PRESENT)
        return (uint32_t)((*e & HD_PT_FRAME) / HD_PAGE_BYTES - t->first_table);
    below = table_new(t, t->table[n].app, t->table[n].level + 1u);
    if (below != HD_NONE) {
        *e = (t->first_table + below) * HD_PAGE_BYTES | HD_PT_PRESENT;
        t->table[n].used++;
    }
    return below;
}

/* ---- regions ------------------------------------------------------------ */

struct hd_pt_slot *hd_pt_region_get(struct hd_ptables *t, uint32_t app,
                                    uint64_t vpn)
{
    struct hd_pt_state *s = t->s;
    uint64_t key = hd_pt_key(app, vpn / HD_LARGE_PAGES);
    struct hd_pt_slot *h = hd_pt_find(t, key);
    struct hd_pt_region *r;

    if (h->key != 0)
        return h;
    if (s->regions == s->region_room) {
        hd_ref p = hd_pt_twice(t, s->region, &s->region_room, sizeof *r);
        if (p == HD_NONE)
            return NULL;
        s->region = p;
    }
    if (2 * (s->regions + 1) > 1u << s->hash_bits && grow_hash(t) < 0)
        return NULL;
    r = hd_pt_region_of(t, s->regions);
    r->number = vpn / HD_LARGE_PAGES;
    r->app = app;
    r->t[4] = HD_NONE;
    if (s->root[app] == HD_NONE)
        s->root[app] = table_new(t, app, 1);
    r->t[1] = s->root[app];
    for (uint32_t l = 1; l < 3 && r->t[l] != HD_NONE; l++)
        r->t[l + 1] = table_below(t, r->t[l], hd_pt_index(vpn, l));
    if (r->t[1] == HD_NONE || r->t[2] == HD_NONE || r->t[3] == HD_NONE)
        return NULL;
    h = hd_pt_find(t, key);
    h->key = key;
    memcpy(h->t, r->t + 1, sizeof h->t);
    h->at = t->table[r->t[3]].at + hd_pt_index(vpn, 3);
    h->region_bits =
        s->regions++ << HD_PT_SHIFT | HD_PT_LARGE; /* no table yet */
    return h;
}

int hd_pt_region_shape(struct hd_ptables *t, struct hd_pt_slot *h,
                       uint32_t pages)
{
    struct hd_pt_region *r = hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT);
    uint64_t vpn = r->number * HD_LARGE_PAGES;
    uint32_t i = hd_pt_index(vpn, 3);

    t->s->sized |= pages > 1;
    if (pages == HD_LARGE_PAGES) {
        if (r->t[4] != HD_NONE) {
            table_free(t, r->t[4]);
            r->t[4] = h->t[3] = HD_NONE;
            hd_pt_entry(t, t->table[r->t[3]].at)[i] = 0;
            t->table[r->t[3]].used--;
        }
        h->at = t->table[r->t[3]].at + i;
        h->region_bits |= HD_PT_LARGE;
        return 0;
    }
    if (r->t[4] == HD_NONE) {
        r->t[4] = h->t[3] = table_below(t, r->t[3], i);
        if (r->t[4] == HD_NONE)
            return -1;
    }
    h->at = t->table[r->t[4]].at;
    h->region_bits &= ~(uint32_t)HD_PT_LARGE;
    if (pages == 16)
        h->region_bits |= HD_PT_MEDIUM;
    return 0;
}
