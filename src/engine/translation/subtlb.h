/*
 * subtlb.h - a TLB whose entries have sub-entries: one tag, and behind it the
 * frames of several pages that follow one another.
 *
 * It is a structure without time; its owner is a level of uTLBs (level.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_SUBTLB_H
#define HD_SUBTLB_H

#include "kit/config.h"
#include "kit/env.h"
#include "kit/rng.h"
#include "memory/assoc.h"
#include "translate.h"

struct hd_level_cfg {
#define HD_FIELDS_OF "translation/level.def"
#include "kit/rows.h"
};

enum hd_level_fill { HD_LEVEL_FILL_PAGE, HD_LEVEL_FILL_LINE };
enum hd_level_replace { HD_LEVEL_LRU, HD_LEVEL_FIFO, HD_LEVEL_RANDOM };

/* Pages of 4 KB, 64 KB, 2 MB, 512 MB. */
enum { HD_SUBTLB_512M = 3, HD_SUBTLB_CLASSES, HD_SUBTLB_MOST = 32 };

enum hd_subtlb_found {
    HD_SUBTLB_MISS, /* no tag */
    HD_SUBTLB_TAG,  /* a tag, and not the sub-entry */
    HD_SUBTLB_HIT
};

struct hd_subtlb {
    struct hd_assoc tags;
    uint32_t *valid; /* arena: of each entry, a bit for each sub-entry */
    uint32_t *frame; /* arena: [entry << most][sub-entry], of the first page */
    uint32_t *live;  /* arena: [class] tags */
    struct hd_rng *rng;             /* arena */
    uint8_t sub[HD_SUBTLB_CLASSES]; /* log2 of the pages behind a tag */
    bool holds[HD_SUBTLB_CLASSES];
    uint32_t mask; /* the sets, if they are a power of two; else 0 */
    uint8_t most;  /* log2 of the sub-entries of an entry */
    uint8_t bits, from, replace;
};

/* `at` names it for slots.  0 or an error. */
int hd_subtlb_open(struct hd_subtlb *t, struct hd_env *env,
                   const struct hd_level_cfg *cfg, const char *at,
                   uint32_t level, uint32_t instance);

/* Looks a page up; a hit is used, unless `peek`, and *x is its translation: of
 * a page of 512 MB, the 2 MB around vpn. */
enum hd_subtlb_found hd_subtlb_find(struct hd_subtlb *t, uint32_t app,
                                    hd_vpn vpn, struct hd_who who, bool peek,
                                    struct hd_xlate *x);

/* Whether pages of the size that x has are held. */
bool hd_subtlb_holds(const struct hd_subtlb *t, const struct hd_xlate *x);

/* Fills the sub-entry of x, which is one page: whether it was not valid.  What
 * has to leave for it is an entry of *evicted, or of HD_APP_NONE: none has.
 * last: an entry that is new is the next victim. */
bool hd_subtlb_fill(struct hd_subtlb *t, uint32_t app, const struct hd_xlate *x,
                    struct hd_who who, bool last, uint32_t *evicted);

/* Invalidates what covers pages [vpn, vpn + pages), as hd_tlb_shoot says; how
 * many sub-entries. */
uint32_t hd_subtlb_shoot(struct hd_subtlb *t, uint32_t app, hd_vpn vpn,
                         uint64_t pages);

/* Calls fn for each valid sub-entry. */
void hd_subtlb_each(const struct hd_subtlb *t,
                    void (*fn)(void *ud, uint32_t entry, uint32_t app,
                               const struct hd_xlate *x),
                    void *ud);

/* What is wrong with the lists, or NULL. */
const char *hd_subtlb_check(const struct hd_subtlb *t);

/* Whether sizes and hash of a level go together: 0, or an error that names the
 * level. */
int hd_subtlb_cfg_check(const void *cfg, const char *name,
                        struct heddle_error *err);

#endif
