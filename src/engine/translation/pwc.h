/*
 * pwc.h - the page walk cache in its two styles.
 *
 * Physical (Power et al., MASK's PWCache): tagged by the physical address of
 * a page-table entry; it is asked for every level and may hold the leaf.
 * Prefix (paging-structure caches, MESC): tagged by the virtual indices that
 * lead to an entry of the upper levels; one look-up finds the deepest.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_PWC_H
#define HD_PWC_H

#include "memory/assoc.h"
#include "mmu.h"

enum hd_pwc_style { HD_PWC_PHYSICAL, HD_PWC_PREFIX };

enum { HD_PWC_LEVELS = HD_FORMAT_LEVELS + 1 };

enum hd_pwc_stat {
#define HD_COUNTERS_OF "translation/pwc.def"
#include "kit/rows.h"
    HD_PWC_STATS
};

struct hd_pwc {
    struct hd_env *env;
    struct hd_pwc_cfg cfg;
    uint32_t instance, mask, line_shift;
    uint8_t shift[HD_FORMAT_LEVELS + 1]; /* bits of a page below a level's
                                            index */
    uint32_t dir;                        /* last level above the leaf tables */
    bool apart;                          /* each level has sets of its own: */
    uint32_t first[HD_PWC_LEVELS + 1], sets[HD_PWC_LEVELS + 1];
    struct hd_assoc tags;
    struct hd_stat stat;
    uint64_t *port; /* arena: look-ups begun in each of the cycles ahead */
    hd_time cycle, latency; /* ticks */
};

/* Entries of all levels. */
uint32_t hd_pwc_entries(const struct hd_pwc_cfg *cfg);

/* What two settings of a walk cache can get wrong: 0, or an error. */
int hd_pwc_check(const void *settings, const char *name,
                 struct heddle_error *err);

/* For these page tables; `stat` is the group of
 * hd_rows_pwc, row `instance`.  0 or an error. */
int hd_pwc_open(struct hd_pwc *c, struct hd_env *env,
                const struct hd_pwc_cfg *cfg, const struct hd_ptables *tables,
                uint32_t instance, struct hd_stat stat);

static inline bool hd_pwc_on(const struct hd_pwc *c)
{
    return c->cfg.mode.kind != HD_OFF;
}

/* A look-up wanted at t: reserves a port; returns when its result is there. */
hd_time hd_pwc_port(struct hd_pwc *c, hd_time t);

/* Physical style: whether the entry of this level is there. */
bool hd_pwc_entry(struct hd_pwc *c, uint32_t app, uint32_t level, hd_pa pte);

/* Prefix style: the deepest level above the leaf's that is there; 0: none. */
uint32_t hd_pwc_prefix(struct hd_pwc *c, uint32_t app, hd_vpn vpn,
                       uint32_t leaf);

/* The entry of a level was read.  In the prefix style the leaf's is not kept.
 */
void hd_pwc_fill(struct hd_pwc *c, uint32_t app, hd_vpn vpn, uint32_t level,
                 uint32_t leaf, hd_pa pte);

/* Forgets the entries that lead to pages of [vpn, vpn + pages). */
void hd_pwc_invalidate(struct hd_pwc *c, struct hd_ptables *tables,
                       uint32_t app, hd_vpn vpn, uint64_t pages);

/* The entry of a level, as hd_ptables_table names it, that leads to vpn has
 * changed. */
void hd_pwc_changed(struct hd_pwc *c, struct hd_ptables *tables, uint32_t app,
                    hd_vpn vpn, uint32_t level);

void hd_pwc_look(struct hd_pwc *c, struct heddle_visitor *v);

#endif
