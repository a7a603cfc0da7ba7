/*
 * tlb.c - one TLB: look-up, fill and invalidation, without time.
 *
 * The base array holds entries of five classes side by side: a 4 KB page, a
 * 64 KB page, a 2 MB page (where there is no large array), and two of runs that
 * are contiguous in virtual and physical memory: up to merge_pages pages of 4 KB
 * inside one aligned group (CoLT, MICRO 2012; AMD's coalescing), and subregions
 * of 64 such pages inside an aligned 2 MB (MESC).  The class is part of the key
 * and shifts the set index.  A look-up probes the large array first, then the
 * base array for each class that is present: counts of live entries say which,
 * so a TLB of 4 KB pages alone is probed once.
 *
 * A run's key is its first page, its set that of its group: those of one group
 * lie side by side.  It is found by its key, from the page that is wanted down.
 * Runs of subregions lie in the first sub_ways ways of a set alone (MESC's
 * unified array), all others in any.  What is entered takes the place of whatever
 * covers one of its pages.
 *
 * With group_index a page of 4 KB is a run of one, so that it lies in the set of
 * its group.  With ranges (CoLT-FA) runs lie in the large array instead, which is
 * fully associative: a look-up compares all of them, and one that is entered takes
 * in those beside it whose frames go on.
 *
 * An entry holds only what its key does not say: its frame, who brought it,
 * and of a run how long it is.
 *
 * Invariants: at most one entry answers for a page of an application, save
 * that base entries may live on below a 2 MB entry that was promoted in place
 * (same frames, Mosaic); live[class] counts the valid entries of the class;
 * a bit of live[PRESENT] is set exactly when its count is not 0.
 *
 * The L1 TLBs and the shared L2 TLB are this part with the same configuration;
 * each has its own list of settings, because their defaults, the sources of
 * these and the range of sizes differ, and because each has settings that the
 * other has no use for: a core blocks on its own misses, and only the L2 TLB
 * can probe its two arrays one after the other.  The defaults are table 1 of
 * MASK (ASPLOS 2018) as far as it goes.  What is counted here is counted by the
 * array itself; misses, merges and waiting are counted by those who wait
 * (core/l1tlb.c, l2tlb.c).
 *
 * Left out on purpose: permissions, and way partitions by application.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tlb.h"

#include <string.h>

#include "kit/bits.h"

enum { DEFAULT_MERGE = 16 };

#define HD_PART    l2tlb
#define HD_CFG     struct hd_tlb_cfg
#define HD_PART_OF "translation/l2tlb.def"
#include "kit/rows.h"

/* ---- keys and sets ---------------------------------------------------- */

static uint64_t tlb_key_of(uint32_t klass, uint32_t app, uint64_t first)
{
    return first | (uint64_t)klass << HD_TLB_CLASS_SHIFT |
           (uint64_t)app << HD_TLB_APP_SHIFT;
}

static uint32_t tlb_class_of(uint64_t key)
{
    return (uint32_t)(key >> HD_TLB_CLASS_SHIFT) & 15;
}

static uint32_t tlb_app_of(uint64_t key)
{
    return (uint32_t)(key >> HD_TLB_APP_SHIFT);
}

/* Of each class, from page to page that an entry of it can begin with. */
static const uint16_t step_of[HD_TLB_CLASSES] = {1, 16, HD_LARGE_PAGES, 1,
                                                 HD_SUB_PAGES};

enum { RUNS = 1 << HD_TLB_MERGED | 1 << HD_TLB_SUBS };

/* The set of the n-th page, or group, of a class; `mask` is that of the array. */
static uint32_t tlb_set_of(const struct hd_assoc *a, uint32_t mask, uint64_t n)
{
    return HD_LIKELY(mask != 0 || a->sets == 1) ? (uint32_t)n & mask
                                                : (uint32_t)(n % a->sets);
}

/* Entries of both arrays: those of the large one follow the base array's. */
static uint32_t tlb_entries(const struct hd_tlb *t)
{
    return t->base_n + t->large.sets * t->large.ways;
}

static bool tlb_is_large(const struct hd_tlb *t, uint32_t entry)
{
    return entry >= t->base_n;
}

/* The array of an entry, and its number there. */
static const struct hd_assoc *tlb_array_of(const struct hd_tlb *t,
                                           uint32_t *entry)
{
    if (HD_LIKELY(!tlb_is_large(t, *entry)))
        return &t->base;
    *entry -= t->base_n;
    return &t->large;
}

/* The key of an entry, or HD_KEY_NONE. */
static uint64_t tlb_key_at(const struct hd_tlb *t, uint32_t entry)
{
    return tlb_array_of(t, &entry)->key[entry];
}

static uint32_t tlb_base_set(const struct hd_tlb *t, uint32_t klass,
                             uint64_t vpn)
{
    return tlb_set_of(&t->base, t->base_mask, vpn >> t->shift[klass]);
}

/* With ranges: the one that holds a page, or HD_NONE. */
static HD_APART uint32_t tlb_find_range(const struct hd_tlb *t, uint32_t app,
                                        uint64_t vpn)
{
    uint64_t key = tlb_key_of(HD_TLB_MERGED, app, vpn);

    for (uint32_t e = t->base_n; e < tlb_entries(t); e++)
        if (tlb_key_at(t, e) != HD_KEY_NONE &&
            key - tlb_key_at(t, e) < t->run[e])
            return e;
    return HD_NONE;
}

/* The entry of a class for a page, in the base array or a range, or HD_NONE. */
static uint32_t tlb_find_base(const struct hd_tlb *t, uint32_t klass,
                              uint32_t app, uint64_t vpn)
{
    uint64_t step = step_of[klass], v = vpn & ~(step - 1);
    uint32_t set = tlb_base_set(t, klass, vpn), e;

    if (klass == HD_TLB_MERGED && t->cfg.ranges)
        return tlb_find_range(t, app, vpn);
    e = hd_assoc_find(&t->base, set, tlb_key_of(klass, app, v));
    if (klass < HD_TLB_MERGED)
        return e;
    while (e == HD_NONE && (v & hd_ones(t->shift[klass])) != 0) {
        v -= step;
        e = hd_assoc_find(&t->base, set, tlb_key_of(klass, app, v));
    }
    return e != HD_NONE && vpn - v < t->run[e] ? e : HD_NONE;
}

/* The entry of the large array for the 2 MB of a page, or HD_NONE. */
static uint32_t tlb_find_large(const struct hd_tlb *t, uint32_t app,
                               uint64_t vpn)
{
    uint64_t n = vpn / HD_LARGE_PAGES;
    uint32_t e =
        hd_assoc_find(&t->large, tlb_set_of(&t->large, t->large_mask, n),
                      tlb_key_of(HD_TLB_2M, app, n * HD_LARGE_PAGES));

    return e == HD_NONE ? HD_NONE : t->base_n + e;
}

/* The entry that answers for a page, or HD_NONE; `guess` as in
 * hd_assoc_find_at. */
static HD_INLINE uint32_t tlb_find(const struct hd_tlb *t, uint32_t app,
                                   uint64_t vpn, uint16_t *guess)
{
    uint32_t present = t->live[HD_TLB_PRESENT], e = HD_NONE;

    if (HD_LIKELY(present == 1u << HD_TLB_4K))
        return hd_assoc_find_at(&t->base,
                                tlb_set_of(&t->base, t->base_mask, vpn),
                                tlb_key_of(HD_TLB_4K, app, vpn), guess);
    if (present & 1u << HD_TLB_LARGE)
        e = tlb_find_large(t, app, vpn);
    for (uint32_t k = 0; e == HD_NONE && k < HD_TLB_CLASSES; k++)
        if (present & 1u << k)
            e = tlb_find_base(t, k, app, vpn);
    return e;
}

/* The translation that a valid entry of that key holds, or has held. */
static struct hd_xlate tlb_x_of_key(const struct hd_tlb *t, uint32_t entry,
                                    uint64_t key)
{
    uint32_t klass = tlb_class_of(key), n = step_of[klass];
    struct hd_xlate x = {
        {key & hd_ones(HD_TLB_CLASS_SHIFT)}, {t->entry[entry].frame}, n, n};

    if (HD_UNLIKELY(klass >= HD_TLB_MERGED)) {
        x.pages = t->run[entry];
        x.page_pages = 1;
    }
    return x;
}

static struct hd_xlate tlb_x_of(const struct hd_tlb *t, uint32_t entry)
{
    return tlb_x_of_key(t, entry, tlb_key_at(t, entry));
}

static void tlb_count(struct hd_tlb *t, uint32_t app, uint32_t counter)
{
    hd_assert(t->stat.v == NULL || app < t->stat.apps);
    if (t->stat.v != NULL)
        (*hd_count(&t->stat, t->instance, app, counter))++;
}

/* Tells whoever watches of a page and the entry that answered for it, which
 * has, or had, that key. */
static HD_APART void tlb_tell(struct hd_tlb *t, enum heddle_note n,
                              uint32_t app, uint32_t core, uint32_t warp,
                              uint64_t vpn, uint32_t entry, uint64_t key)
{
    struct heddle_n_tlb_hit f = {.level = t->level,
                                 .core = core,
                                 .app = app,
                                 .warp = warp,
                                 .vpn = vpn,
                                 .entry = UINT64_MAX,
                                 .pc = hd_pc_now(&t->base.pc)};
    const struct hd_assoc *of;

    if (t->watched[n] == 0)
        return;
    if (entry != HD_NONE) {
        f.entry = entry;
        f.pages = tlb_class_of(key) >= HD_TLB_MERGED
                      ? t->run[entry]
                      : step_of[tlb_class_of(key)];
        f.filler = (uint64_t)t->entry[entry].core << 16 | t->entry[entry].warp;
        f.filler_pc = t->from[entry];
        of = tlb_array_of(t, &entry); /* whose number of it is another */
        f.depth = hd_assoc_depth(of, entry);
    }
    hd_slots_note(t->env->slots, n, &f); /* all three have these fields */
}

/* ---- looking up ------------------------------------------------------- */

static void tlb_more(struct hd_tlb *t, uint32_t klass)
{
    t->live[klass]++;
    t->live[HD_TLB_PRESENT] |= 1u << klass;
}

static void tlb_less(struct hd_tlb *t, uint32_t klass)
{
    hd_assert(t->live[klass] > 0);
    if (--t->live[klass] == 0)
        t->live[HD_TLB_PRESENT] &= ~(1u << klass);
}

static bool tlb_is_prefetched(const struct hd_tlb *t, uint32_t e)
{
    return HD_UNLIKELY(t->live[HD_TLB_AHEAD] != 0) &&
           t->entry[e].warp == HD_TLB_AHEAD_WARP;
}

/* An entry that a policy has had brought is hit, or leaves. */
static HD_APART void tlb_settled(struct hd_tlb *t, uint32_t e, uint32_t app,
                                 enum hd_prefetch_stat what)
{
    t->entry[e].warp = 0;
    tlb_less(t, HD_TLB_AHEAD);
    if (t->ahead.v != NULL)
        (*hd_count(&t->ahead, 0, app, what))++;
}

/* The translation of an entry that is hit by a warp. */
static struct hd_xlate tlb_used(struct hd_tlb *t, uint32_t app, uint32_t e,
                                uint32_t warp)
{
    if (tlb_is_prefetched(t, e)) {
        tlb_settled(t, e, app, HD_PREFETCH_USEFUL);
        t->entry[e].warp = (uint16_t)warp;
    }
    return tlb_x_of(t, e);
}

bool hd_tlb_peek(const struct hd_tlb *t, uint32_t app, hd_vpn vpn,
                 struct hd_xlate *x)
{
    uint32_t e = tlb_find(t, app, vpn.v, NULL);

    if (e != HD_NONE)
        *x = tlb_x_of(t, e);
    return e != HD_NONE;
}

void hd_tlb_missed(struct hd_tlb *t, uint32_t app, hd_vpn vpn, uint32_t core,
                   uint32_t warp)
{
    if (HD_UNLIKELY(!t->quiet))
        tlb_tell(t, HEDDLE_NOTE_tlb_miss, app, core, warp, vpn.v, HD_NONE, 0);
}

HD_HOT bool hd_tlb_lookup(struct hd_tlb *t, uint32_t app, hd_vpn vpn,
                          uint32_t core, uint32_t warp, struct hd_xlate *x,
                          uint16_t *guess)
{
    uint32_t e = tlb_find(t, app, vpn.v, guess);

    tlb_count(t, app, HD_TLB_LOOKUPS);
    if (e == HD_NONE)
        return false;
    if (HD_UNLIKELY(!t->quiet))
        tlb_tell(t, HEDDLE_NOTE_tlb_hit, app, core, warp, vpn.v, e,
                 tlb_key_at(t, e));
    tlb_count(t, app, HD_TLB_HITS);
    if (HD_LIKELY(t->live[HD_TLB_PRESENT] == 1u << HD_TLB_4K))
        *x = (struct hd_xlate){vpn, {t->entry[e].frame}, 1, 1};
    else
        *x = tlb_used(t, app, e, warp);
    if (HD_UNLIKELY(tlb_is_large(t, e))) {
        tlb_count(t, app, HD_TLB_LARGE_HITS);
        hd_assoc_touch(&t->large, e - t->base_n, (struct hd_who){app, warp});
    } else {
        hd_assoc_touch(&t->base, e, (struct hd_who){app, warp});
    }
    if (HD_UNLIKELY(x->pages > x->page_pages))
        tlb_count(t, app,
                  hd_xlate_subs(x) ? HD_TLB_SUB_HITS : HD_TLB_MERGED_HITS);
    return true;
}

/* ---- entering and leaving --------------------------------------------- */

/* Whether entries of a class lie in the large array; where live[] counts them. */
static inline bool tlb_apart(const struct hd_tlb *t, uint32_t klass)
{
    return (klass == HD_TLB_2M && t->large.sets != 0) ||
           (klass == HD_TLB_MERGED && t->cfg.ranges);
}

static uint32_t tlb_counted(const struct hd_tlb *t, uint32_t klass)
{
    return klass == HD_TLB_2M && t->large.sets != 0 ? HD_TLB_LARGE : klass;
}

static void tlb_drop(struct hd_tlb *t, uint32_t e)
{
    if (tlb_is_prefetched(t, e))
        tlb_settled(t, e, tlb_app_of(tlb_key_at(t, e)), HD_PREFETCH_UNUSED);
    tlb_less(t, tlb_counted(t, tlb_class_of(tlb_key_at(t, e))));
    if (tlb_is_large(t, e))
        hd_assoc_drop(&t->large, e - t->base_n);
    else
        hd_assoc_drop(&t->base, e);
}

/* Drops the entries of some classes (as live[PRESENT] has them) that cover a page
 * of [vpn, vpn + pages); how many.  Few pages are looked up; of many, all entries
 * are looked at. */
static uint32_t tlb_sweep(struct hd_tlb *t, uint32_t app, uint64_t vpn,
                          uint64_t pages, uint32_t classes)
{
    uint32_t n = 0;

    classes &= t->live[HD_TLB_PRESENT] & ~(1u << HD_TLB_AHEAD);
    if (classes != 0 && pages > tlb_entries(t) / 32) {
        for (uint32_t e = 0; e < tlb_entries(t); e++) {
            uint64_t key = tlb_key_at(t, e);
            struct hd_xlate x;
            if (key == HD_KEY_NONE || tlb_app_of(key) != app ||
                (classes >> tlb_counted(t, tlb_class_of(key)) & 1) == 0)
                continue;
            x = tlb_x_of(t, e);
            if (x.vpn.v < vpn + pages && vpn < x.vpn.v + x.pages) {
                tlb_drop(t, e);
                n++;
            }
        }
        return n;
    }
    for (uint32_t k = 0; classes >> k != 0; k++) {
        uint64_t step = k < HD_TLB_LARGE ? step_of[k] : HD_LARGE_PAGES;
        for (uint64_t v = vpn & ~(step - 1);
             (classes >> k & 1) != 0 && v < vpn + pages; v += step) {
            uint32_t e = k < HD_TLB_LARGE ? tlb_find_base(t, k, app, v)
                                          : tlb_find_large(t, app, v);
            if (e != HD_NONE) {
                tlb_drop(t, e);
                n++;
            }
        }
    }
    return n;
}

/* The range that an entry for `wanted` shall hold: its page, or what the policy
 * takes of the run.  Returns the class. */
static uint32_t tlb_choose(struct hd_tlb *t, uint32_t app, uint32_t core,
                           uint64_t wanted, const struct hd_xlate *x,
                           uint32_t cause, struct hd_xlate *out)
{
    const uint64_t sub = HD_SUB_PAGES - 1;
    uint32_t own = x->page_pages, klass = HD_TLB_2M;
    uint64_t first = wanted & ~(uint64_t)(own - 1), n = own, lo = x->vpn.v;
    uint64_t hi = lo + x->pages, group = hd_ones(t->shift[HD_TLB_MERGED]);
    bool subs = t->cfg.sub_ways != 0 && own == 1 && lo <= (wanted & ~sub) &&
                hi > (wanted | sub);

    if (!subs) {
        lo = hd_max_u64(lo, wanted & ~group);
        hi = hd_min_u64(hi, (wanted | group) + 1);
    }
    if (own < HD_LARGE_PAGES)
        klass = own == 16 ? HD_TLB_64K
                          : t->cfg.group_index ? HD_TLB_MERGED : HD_TLB_4K;
    if ((subs || t->merge.bound) && own <= group && hi - lo > own) {
        struct heddle_q_tlb_merge q = {
            t->level, cause, app,     core,
            wanted,   own,   lo,      hi - lo,
            x->pfn.v + (lo - x->vpn.v), hd_pc_now(&t->base.pc)};
        n = (uint64_t)hd_ask_tlb_merge(&t->merge, &q);
        lo = wanted < lo + n ? lo : wanted - n + 1;
        hi = lo + n;
        if (subs) {
            lo = (lo + sub) & ~sub;
            hi &= ~sub;
        }
        n = own;
        if (hi > lo + own && lo <= wanted && wanted < hi) {
            first = lo;
            n = hi - lo;
            klass = subs ? HD_TLB_SUBS : HD_TLB_MERGED;
        }
    }
    *out = (struct hd_xlate){
        {first}, {x->pfn.v + (first - x->vpn.v)}, (uint32_t)n, own};
    return klass;
}

static bool tlb_fill_other(struct hd_tlb *t, uint32_t app, uint32_t core,
                           uint32_t warp, hd_vpn wanted,
                           const struct hd_xlate *x, uint32_t cause);

static uint32_t pc_at(const void *pc)
{
    return *(const uint32_t *)pc;
}

/* Asks whether what has left an entry goes to the buffer beside the TLB. */
static void tlb_offer_side(struct hd_tlb *t, uint64_t gone, uint32_t core,
                           uint32_t entry)
{
    struct hd_xlate x = tlb_x_of_key(t, entry, gone);
    struct hd_tlb_entry by = t->entry[entry];
    struct heddle_q_tlb_keep q = {.level = t->level,
                                  .app = tlb_app_of(gone),
                                  .core = core,
                                  .vpn = x.vpn.v,
                                  .pages = x.pages,
                                  .entry = entry,
                                  .filler = (uint64_t)by.core << 16 | by.warp,
                                  .filler_pc = t->from[entry]};
    struct hd_pc pc = t->side->base.pc;

    if (!hd_ask_tlb_keep(&t->keep, &q))
        return;
    t->side->base.pc = (struct hd_pc){pc_at, &t->from[entry]};
    if (tlb_fill_other(t->side, tlb_app_of(gone), by.core, by.warp, x.vpn, &x,
                       HEDDLE_INSERT_CAUSE_KEPT) &&
        tlb_is_prefetched(t, entry)) { /* it is marked there */
        tlb_less(t, HD_TLB_AHEAD);
        t->entry[entry].warp = 0;
    }
    t->side->base.pc = pc;
}

static HD_APART void tlb_left(struct hd_tlb *t, uint64_t gone, uint32_t core,
                              uint32_t warp, uint32_t entry)
{
    tlb_tell(t, HEDDLE_NOTE_tlb_evict, tlb_app_of(gone), core, warp,
             gone & hd_ones(HD_TLB_CLASS_SHIFT), entry, gone);
    if (t->keep.bound)
        tlb_offer_side(t, gone, core, entry);
}

/* A key has left an entry, which holds what belonged to it. */
static HD_INLINE void tlb_evicted(struct hd_tlb *t, uint64_t gone,
                                  uint32_t core, uint32_t warp, uint32_t entry,
                                  bool other)
{
    tlb_count(t, tlb_app_of(gone), HD_TLB_EVICTIONS);
    if (other && !t->quiet)
        tlb_left(t, gone, core, warp, entry);
}

/* Enters a key of a class, or renews it; returns its entry. */
static HD_INLINE uint32_t tlb_enter(struct hd_tlb *t, uint32_t klass,
                                    uint64_t key, uint64_t n, uint32_t core,
                                    uint32_t warp, uint32_t pfn, bool last,
                                    bool other)
{
    bool large = HD_UNLIKELY(klass != HD_TLB_4K) && tlb_apart(t, klass);
    struct hd_assoc *a = large ? &t->large : &t->base;
    uint32_t set = tlb_set_of(a, large ? t->large_mask : t->base_mask, n), e;
    uint32_t is = large ? tlb_counted(t, klass) : klass, was = HD_NONE;
    struct hd_who who = {tlb_app_of(key), warp};
    uint64_t gone = HD_KEY_NONE;
    bool known;

    e = hd_assoc_find(a, set, key);
    known = e != HD_NONE;
    if (HD_UNLIKELY(known)) {
        hd_assoc_touch(a, e, who);
        e += large ? t->base_n : 0;
    } else {
        e = HD_UNLIKELY(klass == HD_TLB_SUBS)
                ? hd_assoc_place_among(a, set, key, who, t->cfg.sub_ways, &gone)
            : last ? hd_assoc_place_last(a, set, key, who, &gone)
                   : hd_assoc_place(a, set, key, who, &gone);
        e += large ? t->base_n : 0;
        if (HD_LIKELY(gone != HD_KEY_NONE)) {
            was = tlb_class_of(gone);
            was = large ? tlb_counted(t, was) : was;
            tlb_evicted(t, gone, core, warp, e, other);
        }
        if (HD_UNLIKELY(was != is)) {
            if (was != HD_NONE)
                tlb_less(t, was);
            tlb_more(t, is);
        }
    }
    if (other && tlb_is_prefetched(t, e))
        tlb_settled(t, e, tlb_app_of(known ? key : gone),
                    known ? HD_PREFETCH_LATE : HD_PREFETCH_UNUSED);
    if (other && warp == HD_TLB_AHEAD_WARP)
        tlb_more(t, HD_TLB_AHEAD);
    t->entry[e] = (struct hd_tlb_entry){pfn, (uint16_t)core, (uint16_t)warp};
    if (other && !t->quiet)
        t->from[e] = hd_pc_now(&t->base.pc);
    tlb_count(t, tlb_app_of(key), HD_TLB_FILLS);
    return e;
}

/* A range takes in those of the pages before and behind it, if their frames go
 * on and the length is no more than 512. */
static void tlb_widen(const struct hd_tlb *t, uint32_t app, struct hd_xlate *r)
{
    for (uint32_t side = 0; side < 2; side++) {
        uint64_t lo = r->vpn.v, hi = lo + r->pages;
        uint32_t e = tlb_find_range(t, app, side ? hi : lo - (lo != 0));
        struct hd_xlate x;
        if (e == HD_NONE)
            continue;
        x = tlb_x_of(t, e);
        lo = hd_min_u64(lo, x.vpn.v);
        hi = hd_max_u64(hi, x.vpn.v + x.pages);
        if (x.pfn.v - x.vpn.v == r->pfn.v - r->vpn.v && hi - lo <= HD_LARGE_PAGES)
            *r = (struct hd_xlate){{lo}, {x.pfn.v - x.vpn.v + lo},
                                   (uint32_t)(hi - lo), 1};
    }
}

/* hd_tlb_fill where it is not one page of 4 KB among such pages. */
static HD_APART bool tlb_fill_other(struct hd_tlb *t, uint32_t app,
                                    uint32_t core, uint32_t warp, hd_vpn wanted,
                                    const struct hd_xlate *x, uint32_t cause)
{
    struct heddle_q_tlb_insert q = {
        t->level, cause,    app,           core,
        warp,     wanted.v, x->page_pages, hd_pc_now(&t->base.pc)};
    int64_t how = hd_ask_tlb_insert(&t->insert, &q);
    struct hd_xlate r;
    uint32_t klass, e;

    if (how == HEDDLE_CACHE_INSERT_SKIP)
        return false;
    klass = tlb_choose(t, app, core, wanted.v, x, cause % 2, &r);
    if (klass == HD_TLB_MERGED && t->cfg.ranges)
        tlb_widen(t, app, &r);
    if (klass == HD_TLB_4K || klass >= HD_TLB_MERGED)
        tlb_sweep(t, app, r.vpn.v, r.pages,
                  klass == HD_TLB_4K ? RUNS : RUNS | 1u << HD_TLB_4K);
    hd_assert(r.pfn.v <= UINT32_MAX);
    e = tlb_enter(t, klass, tlb_key_of(klass, app, r.vpn.v),
                  r.vpn.v >> t->shift[klass], core, warp, (uint32_t)r.pfn.v,
                  how == HEDDLE_CACHE_INSERT_LAST, true);
    if (klass >= HD_TLB_MERGED) {
        t->run[e] = (uint16_t)r.pages;
        if (r.pages > 1)
            tlb_count(t, app,
                      klass == HD_TLB_SUBS ? HD_TLB_SUB_FILLS
                                           : HD_TLB_MERGED_FILLS);
    }
    return true;
}

HD_HOT bool hd_tlb_fill(struct hd_tlb *t, uint32_t app, uint32_t core,
                        uint32_t warp, hd_vpn wanted, const struct hd_xlate *x,
                        uint32_t cause)
{
    if (HD_UNLIKELY(x->page_pages != 1 || t->other ||
                    (t->live[HD_TLB_PRESENT] & (RUNS | 1u << HD_TLB_AHEAD)) != 0))
        return tlb_fill_other(t, app, core, warp, wanted, x, cause);
    tlb_enter(t, HD_TLB_4K, tlb_key_of(HD_TLB_4K, app, wanted.v), wanted.v,
              core, warp, (uint32_t)(x->pfn.v + (wanted.v - x->vpn.v)), false,
              false);
    return true;
}

bool hd_tlb_bring(struct hd_tlb *t, uint32_t app, uint32_t core, hd_vpn wanted,
                  const struct hd_xlate *x)
{
    return tlb_fill_other(t, app, core, HD_TLB_AHEAD_WARP, wanted, x,
                          HEDDLE_INSERT_CAUSE_POLICY);
}

void hd_tlb_drop(struct hd_tlb *t, uint32_t app, hd_vpn vpn, uint64_t pages)
{
    tlb_sweep(t, app, vpn.v, pages, UINT32_MAX);
}

static uint32_t tlb_invalidate(struct hd_tlb *t, uint32_t app, hd_vpn vpn,
                               uint64_t pages, uint32_t classes)
{
    uint32_t n = tlb_sweep(t, app, vpn.v, pages, classes);

    if (t->stat.v != NULL)
        *hd_count(&t->stat, t->instance, app, HD_TLB_INVALIDATIONS) += n;
    return n;
}

uint32_t hd_tlb_invalidate(struct hd_tlb *t, uint32_t app, hd_vpn vpn,
                           uint64_t pages)
{
    return tlb_invalidate(t, app, vpn, pages, UINT32_MAX);
}

uint32_t hd_tlb_shoot(struct hd_tlb *t, uint32_t app, hd_vpn vpn,
                      uint64_t pages)
{
    uint32_t n = 0;

    if (app != HD_APP_NONE)
        return tlb_invalidate(
            t, app, vpn, hd_max_u64(pages, 1),
            pages != 0 ? UINT32_MAX : 1u << HD_TLB_2M | 1u << HD_TLB_LARGE);
    for (app = 0; app < HD_MAX_APPS; app++)
        n += hd_tlb_invalidate(t, app, (hd_vpn){0}, HD_EVERY_PAGE);
    return n;
}

/* ---- looking ---------------------------------------------------------- */

void hd_tlb_look(struct hd_tlb *t, struct heddle_visitor *v)
{
    for (uint32_t e = 0; e < tlb_entries(t); e++) {
        uint64_t key = tlb_key_at(t, e);
        uint32_t i = e;
        const struct hd_assoc *a = tlb_array_of(t, &i);
        struct hd_xlate x;
        if (key == HD_KEY_NONE)
            continue;
        x = tlb_x_of(t, e);
        v->row(v->ud, tlb_class_of(key) == HD_TLB_SUBS ? "subregions"
                      : x.pages > x.page_pages         ? "merged"
                      : tlb_is_large(t, e)             ? "large"
                                                       : "entry");
        v->number(v->ud, "set", i / a->ways);
        v->number(v->ud, "way", i % a->ways);
        v->number(v->ud, "app", tlb_app_of(key));
        v->number(v->ud, "vpn", x.vpn.v);
        v->number(v->ud, "pfn", x.pfn.v);
        v->number(v->ud, "pages", x.pages);
        v->number(v->ud, "depth", hd_assoc_depth(a, i));
        v->number(v->ud, "core", t->entry[e].core);
        v->number(v->ud, "warp", t->entry[e].warp);
    }
}

void hd_tlb_each(const struct hd_tlb *t,
                 void (*fn)(void *ud, uint32_t app, const struct hd_xlate *x),
                 void *ud)
{
    for (uint32_t e = 0; e < tlb_entries(t); e++) {
        uint64_t key = tlb_key_at(t, e);
        struct hd_xlate x;
        if (key == HD_KEY_NONE)
            continue;
        x = tlb_x_of(t, e);
        fn(ud, tlb_app_of(key), &x);
    }
}

/* ---- opening ---------------------------------------------------------- */

/* A run is offered beyond the group only where there are entries for it. */
static int64_t tlb_merge_default(void *self, const void *question)
{
    const struct heddle_q_tlb_merge *q = question;

    (void)self;
    return q->run_pages >= HD_SUB_PAGES ? (int64_t)q->run_pages : 0;
}

/* Opens one array; `entries` 0: none.  0 or an error. */
static int tlb_open_array(struct hd_tlb *t, struct hd_assoc *a, const char *at,
                          const char *what, uint32_t entries, uint32_t ways,
                          uint32_t *mask)
{
    uint32_t sets;

    if (entries == 0)
        return 0;
    if (ways == 0 || ways > entries)
        ways = entries;
    if (entries % ways != 0)
        return hd_err_set(t->env->err, HEDDLE_ECONFIG,
                          "%s.%sentries: %u is not a multiple of %s.%sways = "
                          "%u",
                          at, what, entries, at, what, ways);
    sets = entries / ways;
    *mask = hd_is_pow2(sets) ? sets - 1 : 0;
    if (*what != '\0')
        at = t->level == 1 ? "l1tlb.large" : "l2tlb.large";
    if (hd_assoc_open(a, t->env, at, t->instance, sets, ways) < 0)
        return hd_err_memory(t->env->err);
    return 0;
}

void hd_tlb_bound(struct hd_tlb *t)
{
    bool quiet = t->quiet;

    if (t->watched == NULL)
        return; /* it was not opened: this machine has none */
    hd_assoc_bound(&t->base);
    hd_assoc_bound(&t->large);
    t->quiet = (t->base.asked & (HD_ASSOC_TOUCH | HD_ASSOC_ENTRY)) == 0 &&
               !t->merge.bound && !t->keep.bound && t->watched[HEDDLE_NOTE_tlb_hit] == 0 &&
               t->watched[HEDDLE_NOTE_tlb_miss] == 0 &&
               t->watched[HEDDLE_NOTE_tlb_evict] == 0;
    t->other = !t->quiet || t->cfg.sub_ways != 0 || t->cfg.group_index ||
               t->insert.bound;
    t->observed =
        t->other || t->side != NULL || t->watched[HEDDLE_NOTE_translated] != 0;
    if (quiet && !t->quiet) /* nobody has said who brought what is there */
        memset(t->from, 0, tlb_entries(t) * sizeof *t->from);
}

/* The default of tlb_insert, normal, and of tlb_keep, no. */
static int64_t tlb_default(void *self, const void *question)
{
    (void)self, (void)question;
    return 0;
}

void hd_tlb_beside(struct hd_tlb *t, const char *at, struct hd_tlb *side)
{
    t->side = side;
    hd_slots_offer(t->env->slots, HEDDLE_POINT_tlb_keep, at, &t->keep,
                   tlb_default, t);
    hd_tlb_bound(t);
}

/* Entries of subregions, and ranges: what of the arrays they need. */
static int tlb_check_special(const struct hd_tlb *t, const char *at)
{
    const struct hd_tlb_cfg *cfg = &t->cfg;
    struct hd_err *err = t->env->err;

    if (cfg->sub_ways != 0 && t->base.ways > HD_ASSOC_NARROW)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.sub_ways = %u: sets of at most %d ways are "
                          "expected, not of %u",
                          at, cfg->sub_ways, HD_ASSOC_NARROW, t->base.ways);
    if (cfg->sub_ways > t->base.ways)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.sub_ways = %u: at most the %u ways of a set are "
                          "expected",
                          at, cfg->sub_ways, t->base.ways);
    if (cfg->sub_ways != 0 && cfg->large_entries != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.sub_ways = %u: %s.large_entries = 0 is expected, "
                          "not %u",
                          at, cfg->sub_ways, at, cfg->large_entries);
    if (cfg->ranges && cfg->large_entries == 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.ranges: large_entries are expected, not 0", at);
    if (cfg->ranges && t->large.sets != 1)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.ranges: large_entries are expected in one set "
                          "(large_ways = 0), not in %u",
                          at, t->large.sets);
    if (cfg->ranges && cfg->group_index)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.ranges: group_index = false is expected", at);
    return 0;
}

int hd_tlb_check(const void *cfg, const char *name, struct hd_err *err)
{
    const struct hd_tlb_cfg *t = cfg;

    if (t->mode.kind != HD_FULL)
        return 0;
    if (t->entries == 0 || (t->ways != 0 && t->entries % t->ways != 0))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.entries: %u is not a multiple of %s.ways (%u)",
                          name, t->entries, name, t->ways);
    if (t->large_ways != 0 && t->large_entries % t->large_ways != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.large_entries: %u is not a multiple of "
                          "%s.large_ways (%u)",
                          name, t->large_entries, name, t->large_ways);
    return 0;
}

int hd_tlb_open(struct hd_tlb *t, struct hd_env *env,
                const struct hd_tlb_cfg *cfg, const char *at, uint32_t level,
                uint32_t instance)
{
    static const uint32_t nobody[HEDDLE_NOTE_COUNT];
    uint32_t group = cfg->merge_pages == 0 ? DEFAULT_MERGE : cfg->merge_pages;
    int rc;

    memset(t, 0, sizeof *t);
    t->env = env;
    t->cfg = *cfg;
    t->watched =
        env->slots != NULL && level > 0 ? env->slots->told[level - 1] : nobody;
    t->level = level;
    t->instance = instance;
    if (cfg->entries == 0)
        return hd_err_set(env->err, HEDDLE_ECONFIG,
                          "%s.entries: 0; at least 1 is expected", at);
    if (!hd_is_pow2(group) || group > DEFAULT_MERGE)
        return hd_err_set(env->err, HEDDLE_ECONFIG,
                          "%s.merge_pages: %u; a group of 2, 4, 8 or 16 pages "
                          "is expected",
                          at, group);
    memcpy(t->shift,
           (uint8_t[]){0, 4, 9, (uint8_t)hd_log2(group), 9},
           sizeof t->shift);
    rc = tlb_open_array(t, &t->base, at, "", cfg->entries, cfg->ways,
                        &t->base_mask);
    if (rc == 0)
        rc = tlb_open_array(t, &t->large, at, "large_", cfg->large_entries,
                            cfg->large_ways, &t->large_mask);
    if (rc == 0)
        rc = tlb_check_special(t, at);
    if (rc < 0)
        return rc;
    t->base_n = cfg->entries;
    t->entry = hd_arena_take(env->arena, cfg->entries + cfg->large_entries,
                             sizeof *t->entry);
    t->run = hd_arena_take(env->arena, tlb_entries(t), sizeof *t->run);
    t->live = hd_arena_take(env->arena, HD_TLB_LIVE, sizeof *t->live);
    t->from = hd_arena_take(env->arena, cfg->entries + cfg->large_entries,
                            sizeof *t->from);
    if (t->entry == NULL || t->run == NULL || t->live == NULL ||
        t->from == NULL)
        return hd_err_memory(env->err);
    hd_slots_offer(env->slots, HEDDLE_POINT_tlb_merge, at, &t->merge,
                   tlb_merge_default, t);
    hd_slots_offer(env->slots, HEDDLE_POINT_tlb_insert, at, &t->insert,
                   tlb_default, t);
    hd_tlb_bound(t);
    return 0;
}
