/*
 * tlbstate.h - inside a TLB: keys, sets and entries, for tlb.c and the files
 * that hold what it adds to a plain look-up and fill: runs.c (entries of more
 * than one page), shootdown.c (what leaves because a mapping changes), kept.c
 * (the buffer next to it), look.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TLBSTATE_H
#define HD_TLBSTATE_H

#include "tlb.h"

/* Of each class, from page to page that an entry of it can begin with. */
extern const uint16_t hd_tlb_step[HD_TLB_CLASSES];

/* Classes of entries that are runs (bit set). */
enum { HD_TLB_RUNS = (1 << HD_TLB_CLASSES) - (1 << HD_TLB_MERGED) };

/* ---- keys and sets ----------------------------------------------------- */

static inline uint64_t hd_tlb_key(uint32_t klass, uint32_t app, uint64_t first)
{
    return first | (uint64_t)klass << HD_TLB_CLASS_SHIFT |
           (uint64_t)app << HD_TLB_APP_SHIFT;
}

static inline uint32_t hd_tlb_class_of(uint64_t key)
{
    return (uint32_t)(key >> HD_TLB_CLASS_SHIFT) & 15;
}

static inline uint32_t hd_tlb_app_of(uint64_t key)
{
    return (uint32_t)(key >> HD_TLB_APP_SHIFT);
}

/* The set of the n-th page, or group, of a class; `mask` is that of the array.
 */
static inline uint32_t hd_tlb_set_of(const struct hd_assoc *a, uint32_t mask,
                                     uint64_t n)
{
    return HD_LIKELY(mask != 0 || a->sets == 1) ? (uint32_t)n & mask
                                                : (uint32_t)(n % a->sets);
}

/* Entries of both arrays: those of the large one follow the base array's. */
static inline uint32_t hd_tlb_entries(const struct hd_tlb *t)
{
    return t->base_n + t->large.sets * t->large.ways;
}

static inline bool hd_tlb_is_large(const struct hd_tlb *t, uint32_t entry)
{
    return entry >= t->base_n;
}

/* The array of an entry, and its number there. */
static inline const struct hd_assoc *hd_tlb_array_of(const struct hd_tlb *t,
                                                     uint32_t *entry)
{
    if (HD_LIKELY(!hd_tlb_is_large(t, *entry)))
        return &t->base;
    *entry -= t->base_n;
    return &t->large;
}

/* The key of an entry, or HD_KEY_NONE. */
static inline uint64_t hd_tlb_key_at(const struct hd_tlb *t, uint32_t entry)
{
    return hd_tlb_array_of(t, &entry)->key[entry];
}

static inline uint32_t hd_tlb_base_set(const struct hd_tlb *t, uint32_t klass,
                                       uint64_t vpn)
{
    return hd_tlb_set_of(&t->base, t->base_mask, vpn >> t->shift[klass]);
}

/* The translation that a valid entry of that key holds, or has held. */
static inline struct hd_xlate hd_tlb_x_of_key(const struct hd_tlb *t,
                                              uint32_t entry, uint64_t key)
{
    uint32_t klass = hd_tlb_class_of(key), n = hd_tlb_step[klass];
    struct hd_xlate x = {
        {key & hd_ones(HD_TLB_CLASS_SHIFT)}, {t->entry[entry].frame}, n, n};

    if (HD_UNLIKELY(klass >= HD_TLB_MERGED)) {
        x.pages = t->run[entry];
        x.page_pages = 1;
    }
    return x;
}

static inline struct hd_xlate hd_tlb_x_of(const struct hd_tlb *t,
                                          uint32_t entry)
{
    return hd_tlb_x_of_key(t, entry, hd_tlb_key_at(t, entry));
}

/* ---- counts ------------------------------------------------------------ */

static inline void hd_tlb_count(struct hd_tlb *t, uint32_t app,
                                uint32_t counter)
{
    hd_assert(t->stat.v == NULL || app < t->stat.apps);
    if (t->stat.v != NULL)
        (*hd_count(&t->stat, t->instance, app, counter))++;
}

static inline void hd_tlb_more(struct hd_tlb *t, uint32_t klass)
{
    t->live[klass]++;
    t->live[HD_TLB_PRESENT] |= 1u << klass;
}

static inline void hd_tlb_less(struct hd_tlb *t, uint32_t klass)
{
    hd_assert(t->live[klass] > 0);
    if (--t->live[klass] == 0)
        t->live[HD_TLB_PRESENT] &= ~(1u << klass);
}

static inline bool hd_tlb_is_prefetched(const struct hd_tlb *t, uint32_t e)
{
    return HD_UNLIKELY(t->live[HD_TLB_PREFETCHED] != 0) &&
           t->entry[e].warp == HD_TLB_PREFETCHED_WARP;
}

/* Whether entries of a class are in the large array; where live[] counts them.
 */
static inline bool hd_tlb_apart(const struct hd_tlb *t, uint32_t klass)
{
    return (klass == HD_TLB_2M && t->large.sets != 0) ||
           (klass == HD_TLB_MERGED && t->cfg.ranges);
}

static inline uint32_t hd_tlb_counted(const struct hd_tlb *t, uint32_t klass)
{
    return klass == HD_TLB_2M && t->large.sets != 0 ? HD_TLB_LARGE : klass;
}

/* ---- tlb.c ------------------------------------------------------------- */

/* The entry of a class for a page, in the base array or a range, or HD_NONE. */
uint32_t hd_tlb_find_base(const struct hd_tlb *t, uint32_t klass, uint32_t app,
                          uint64_t vpn);
/* The entry of the large array for the 2 MB of a page, or HD_NONE. */
uint32_t hd_tlb_find_large(const struct hd_tlb *t, uint32_t app, uint64_t vpn);
/* An entry that a policy has prefetched is hit, or leaves. */
void hd_tlb_settled(struct hd_tlb *t, uint32_t e, uint32_t app,
                    enum hd_prefetch_stat what);
/* hd_tlb_fill where it is not one page of 4 KB among such pages. */
bool hd_tlb_fill_other(struct hd_tlb *t, uint32_t app, uint32_t core,
                       uint32_t warp, hd_vpn wanted, const struct hd_xlate *x,
                       uint32_t cause);

/* ---- runs.c ------------------------------------------------------------ */

/* With ranges: the one that holds a page, or HD_NONE. */
uint32_t hd_runs_find(const struct hd_tlb *t, uint32_t app, uint64_t vpn);
/* The range that an entry for `wanted` is to hold: its page, or what the policy
 * takes of the run x.  Returns the class. */
uint32_t hd_runs_choose(struct hd_tlb *t, uint32_t app, uint32_t core,
                        uint64_t wanted, const struct hd_xlate *x,
                        uint32_t cause, struct hd_xlate *out);
/* A range absorbs those of the pages before and behind it, if their frames
 * continue its own and the length is no more than 512. */
void hd_runs_widen(const struct hd_tlb *t, uint32_t app, struct hd_xlate *r);
int64_t hd_runs_merge_default(void *tlb, const void *question);
/* Entries of subregions, and ranges: what of the arrays they need.  0 or an
 * error. */
int hd_runs_check(const struct hd_tlb_cfg *cfg, const char *at,
                  struct heddle_error *err);

/* ---- shootdown.c -------------------------------------------------------- */

/* Drops the entries of some classes (as live[PRESENT] has them) that cover a
 * page of [vpn, vpn + pages); how many.  Few pages are looked up; of many, all
 * entries are looked at. */
uint32_t hd_tlb_sweep(struct hd_tlb *t, uint32_t app, uint64_t vpn,
                      uint64_t pages, uint32_t classes);

/* ---- kept.c ------------------------------------------------------------- */

/* A key has left an entry: asks whether it goes to the buffer next to the TLB.
 */
void hd_tlb_offer_kept(struct hd_tlb *t, uint64_t gone, uint32_t core,
                       uint32_t entry);
/* The default of tlb_insert, normal, and of tlb_keep, no. */
int64_t hd_tlb_default(void *tlb, const void *question);

#endif
