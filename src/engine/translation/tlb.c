/*
 * tlb.c - one TLB: look-up and fill, without time.
 *
 * The base array holds entries of classes next to each other: a 4 KB page, a 64
 * KB page, a 2 MB page (where there is no large array), and those of runs of
 * pages (runs.c): two of any length and nine of aligned groups, by size.  The
 * class is part of the key and shifts the set index.  A look-up probes the
 * large array first, then the base array for each class that is present: counts
 * of live entries say which, so a TLB of 4 KB pages alone is probed once.
 *
 * A run's key is its first page, its set that of its group or region.  It is
 * found by its key, from the page that is wanted down.  What is inserted
 * replaces whatever covers one of its pages.  With group_index a page of 4 KB
 * is a run of one, so that it is in the set of its group.
 *
 * An entry holds only what its key does not say: its frame, what inserted it,
 * and of a run how long it is.
 *
 * Invariants: at most one entry answers for a page of an application, save that
 * base entries, those of subregions among them, may live on below a 2 MB entry
 * that was promoted in place (same frames, Mosaic); live[class] counts the
 * valid entries of the class; a bit of live[PRESENT] is set exactly when its
 * count is not 0.
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
 * Elsewhere: runs of pages (runs.c), what leaves because a mapping changes
 * (shootdown.c), the buffer next to a TLB (kept.c), looking into it (look.c).
 *
 * Left out on purpose: permissions, and way partitions by application.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tlbstate.h"

#include <string.h>

#include "kit/bits.h"

enum { DEFAULT_MERGE = 16 };

#define HD_PART    l2tlb
#define HD_CFG     struct hd_tlb_cfg
#define HD_PART_OF "translation/l2tlb.def"
#include "kit/rows.h"

/* ---- keys and sets ---------------------------------------------------- */

const uint16_t hd_tlb_step[HD_TLB_CLASSES] = {
    1, 16, HD_LARGE_PAGES, 1, HD_SUB_PAGES, 2, 4, 8, 16, 32, 64, 128, 256, 512};

uint32_t hd_tlb_find_base(const struct hd_tlb *t, uint32_t klass, uint32_t app,
                          uint64_t vpn)
{
    uint64_t step = hd_tlb_step[klass], v = vpn & ~(step - 1);
    uint32_t set = hd_tlb_base_set(t, klass, vpn), e;

    if (klass == HD_TLB_MERGED && t->cfg.ranges)
        return hd_runs_find(t, app, vpn);
    e = hd_assoc_find(&t->base, set, hd_tlb_key(klass, app, v));
    if (klass < HD_TLB_MERGED)
        return e;
    while (e == HD_NONE && (v & hd_ones(t->shift[klass])) != 0) {
        v -= step;
        e = hd_assoc_find(&t->base, set, hd_tlb_key(klass, app, v));
    }
    return e != HD_NONE && vpn - v < t->run[e] ? e : HD_NONE;
}

uint32_t hd_tlb_find_large(const struct hd_tlb *t, uint32_t app, uint64_t vpn)
{
    uint64_t n = vpn / HD_LARGE_PAGES;
    uint32_t e =
        hd_assoc_find(&t->large, hd_tlb_set_of(&t->large, t->large_mask, n),
                      hd_tlb_key(HD_TLB_2M, app, n * HD_LARGE_PAGES));

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
                                hd_tlb_set_of(&t->base, t->base_mask, vpn),
                                hd_tlb_key(HD_TLB_4K, app, vpn), guess);
    if (present & 1u << HD_TLB_LARGE)
        e = hd_tlb_find_large(t, app, vpn);
    present &= (1u << HD_TLB_CLASSES) - 1;
    for (; e == HD_NONE && present != 0; present &= present - 1)
        e = hd_tlb_find_base(t, hd_bit_first(present), app, vpn);
    return e;
}

/* Notifies watchers of a page and the entry that answered for it, which
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
        f.pages = hd_tlb_class_of(key) >= HD_TLB_MERGED
                      ? t->run[entry]
                      : hd_tlb_step[hd_tlb_class_of(key)];
        f.filler = (uint64_t)t->entry[entry].core << 16 | t->entry[entry].warp;
        f.filler_pc = t->from[entry];
        of = hd_tlb_array_of(t, &entry); /* whose number of it is another */
        f.depth = hd_assoc_depth(of, entry);
    }
    hd_slots_note(t->env->slots, n, &f); /* all three have these fields */
}

/* ---- looking up ------------------------------------------------------- */

HD_APART void hd_tlb_settled(struct hd_tlb *t, uint32_t e, uint32_t app,
                             enum hd_prefetch_stat what)
{
    t->entry[e].warp = 0;
    hd_tlb_less(t, HD_TLB_PREFETCHED);
    if (t->prefetched.v != NULL)
        (*hd_count(&t->prefetched, 0, app, what))++;
}

/* The translation of an entry that is hit by a warp. */
static struct hd_xlate tlb_used(struct hd_tlb *t, uint32_t app, uint32_t e,
                                uint32_t warp)
{
    if (hd_tlb_is_prefetched(t, e)) {
        hd_tlb_settled(t, e, app, HD_PREFETCH_USEFUL);
        t->entry[e].warp = (uint16_t)warp;
    }
    return hd_tlb_x_of(t, e);
}

bool hd_tlb_peek(const struct hd_tlb *t, uint32_t app, hd_vpn vpn,
                 struct hd_xlate *x)
{
    uint32_t e = tlb_find(t, app, vpn.v, NULL);

    if (e != HD_NONE)
        *x = hd_tlb_x_of(t, e);
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

    hd_tlb_count(t, app, HD_TLB_LOOKUPS);
    if (e == HD_NONE)
        return false;
    if (HD_UNLIKELY(!t->quiet))
        tlb_tell(t, HEDDLE_NOTE_tlb_hit, app, core, warp, vpn.v, e,
                 hd_tlb_key_at(t, e));
    hd_tlb_count(t, app, HD_TLB_HITS);
    if (HD_LIKELY(t->live[HD_TLB_PRESENT] == 1u << HD_TLB_4K))
        *x = (struct hd_xlate){vpn, {t->entry[e].frame}, 1, 1};
    else
        *x = tlb_used(t, app, e, warp);
    if (HD_UNLIKELY(hd_tlb_is_large(t, e))) {
        hd_tlb_count(t, app, HD_TLB_LARGE_HITS);
        hd_assoc_touch(&t->large, e - t->base_n, (struct hd_who){app, warp});
    } else {
        hd_assoc_touch(&t->base, e, (struct hd_who){app, warp});
    }
    if (HD_UNLIKELY(x->pages > x->page_pages))
        hd_tlb_count(t, app,
                     t->cfg.sub_ways != 0 && hd_xlate_subs(x)
                         ? HD_TLB_SUB_HITS
                         : HD_TLB_MERGED_HITS);
    return true;
}

/* ---- entering and leaving --------------------------------------------- */

static HD_APART void tlb_left(struct hd_tlb *t, uint64_t gone, uint32_t core,
                              uint32_t warp, uint32_t entry)
{
    tlb_tell(t, HEDDLE_NOTE_tlb_evict, hd_tlb_app_of(gone), core, warp,
             gone & hd_ones(HD_TLB_CLASS_SHIFT), entry, gone);
    if (t->keep.bound)
        hd_tlb_offer_kept(t, gone, core, entry);
}

/* A key has left an entry, which holds what belonged to it. */
static HD_INLINE void tlb_evicted(struct hd_tlb *t, uint64_t gone,
                                  uint32_t core, uint32_t warp, uint32_t entry,
                                  bool other)
{
    hd_tlb_count(t, hd_tlb_app_of(gone), HD_TLB_EVICTIONS);
    if (other && !t->quiet)
        tlb_left(t, gone, core, warp, entry);
}

/* Enters a key of a class, or renews it; returns its entry. */
static HD_INLINE uint32_t tlb_enter(struct hd_tlb *t, uint32_t klass,
                                    uint64_t key, uint64_t n, uint32_t core,
                                    uint32_t warp, uint32_t pfn, bool last,
                                    bool other)
{
    bool large = HD_UNLIKELY(klass != HD_TLB_4K) && hd_tlb_apart(t, klass);
    struct hd_assoc *a = large ? &t->large : &t->base;
    uint32_t set = hd_tlb_set_of(a, large ? t->large_mask : t->base_mask, n), e;
    uint32_t is = large ? hd_tlb_counted(t, klass) : klass, was = HD_NONE;
    struct hd_who who = {hd_tlb_app_of(key), warp};
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
            was = hd_tlb_class_of(gone);
            was = large ? hd_tlb_counted(t, was) : was;
            tlb_evicted(t, gone, core, warp, e, other);
        }
        if (HD_UNLIKELY(was != is)) {
            if (was != HD_NONE)
                hd_tlb_less(t, was);
            hd_tlb_more(t, is);
        }
    }
    if (other && hd_tlb_is_prefetched(t, e))
        hd_tlb_settled(t, e, hd_tlb_app_of(known ? key : gone),
                       known ? HD_PREFETCH_LATE : HD_PREFETCH_UNUSED);
    if (other && warp == HD_TLB_PREFETCHED_WARP)
        hd_tlb_more(t, HD_TLB_PREFETCHED);
    t->entry[e] = (struct hd_tlb_entry){pfn, (uint16_t)core, (uint16_t)warp};
    if (other && !t->quiet)
        t->from[e] = hd_pc_now(&t->base.pc);
    hd_tlb_count(t, hd_tlb_app_of(key), HD_TLB_FILLS);
    return e;
}

HD_APART bool hd_tlb_fill_other(struct hd_tlb *t, uint32_t app, uint32_t core,
                                uint32_t warp, hd_vpn wanted,
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
    klass = hd_runs_choose(t, app, core, wanted.v, x, cause % 2, &r);
    if (klass == HD_TLB_MERGED && t->cfg.ranges)
        hd_runs_widen(t, app, &r);
    if (klass == HD_TLB_4K || klass >= HD_TLB_MERGED)
        hd_tlb_sweep(t, app, r.vpn.v, r.pages,
                     klass == HD_TLB_4K ? HD_TLB_RUNS
                                        : HD_TLB_RUNS | 1u << HD_TLB_4K);
    hd_assert(r.pfn.v <= UINT32_MAX);
    e = tlb_enter(t, klass, hd_tlb_key(klass, app, r.vpn.v),
                  r.vpn.v >> t->shift[klass], core, warp, (uint32_t)r.pfn.v,
                  how == HEDDLE_CACHE_INSERT_LAST, true);
    if (klass >= HD_TLB_MERGED) {
        t->run[e] = (uint16_t)r.pages;
        if (r.pages > 1)
            hd_tlb_count(t, app,
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
                    (t->live[HD_TLB_PRESENT] &
                     (HD_TLB_RUNS | 1u << HD_TLB_PREFETCHED)) != 0))
        return hd_tlb_fill_other(t, app, core, warp, wanted, x, cause);
    tlb_enter(t, HD_TLB_4K, hd_tlb_key(HD_TLB_4K, app, wanted.v), wanted.v,
              core, warp, (uint32_t)(x->pfn.v + (wanted.v - x->vpn.v)), false,
              false);
    return true;
}

bool hd_tlb_prefetched(struct hd_tlb *t, uint32_t app, uint32_t core,
                       hd_vpn wanted, const struct hd_xlate *x)
{
    return hd_tlb_fill_other(t, app, core, HD_TLB_PREFETCHED_WARP, wanted, x,
                             HEDDLE_INSERT_CAUSE_POLICY);
}

/* ---- opening ---------------------------------------------------------- */

/* Opens one array; `entries` 0: none.  0 or an error. */
static int tlb_open_array(struct hd_tlb *t, struct hd_assoc *a, const char *at,
                          uint32_t entries, uint32_t ways, uint32_t *mask)
{
    uint32_t sets;

    if (entries == 0)
        return 0;
    ways = hd_assoc_ways(entries, ways);
    sets = entries / ways;
    *mask = hd_is_pow2(sets) ? sets - 1 : 0;
    if (a == &t->large)
        at = t->level == 1 ? "l1tlb.large" : "l2tlb.large";
    if (hd_assoc_open(a, t->env, at, t->instance, sets, ways) < 0)
        return hd_err_memory(t->env->err);
    return 0;
}

static uint32_t tlb_group(const struct hd_tlb_cfg *cfg)
{
    return cfg->merge_pages == 0 ? DEFAULT_MERGE : cfg->merge_pages;
}

/* The arrays can be as they are set. */
static int tlb_check_arrays(const struct hd_tlb_cfg *cfg, const char *at,
                            struct heddle_error *err)
{
    uint32_t group = tlb_group(cfg);

    if (cfg->entries == 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.entries: 0; at least 1 is expected", at);
    if (cfg->entries % hd_assoc_ways(cfg->entries, cfg->ways) != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.entries: %u is not a multiple of %s.ways (%u)",
                          at, cfg->entries, at, cfg->ways);
    if (cfg->large_entries != 0 &&
        cfg->large_entries %
                hd_assoc_ways(cfg->large_entries, cfg->large_ways) !=
            0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.large_entries: %u is not a multiple of "
                          "%s.large_ways (%u)",
                          at, cfg->large_entries, at, cfg->large_ways);
    if (!hd_is_pow2(group) || group > DEFAULT_MERGE)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.merge_pages: %u; a group of 2, 4, 8 or 16 pages "
                          "is expected",
                          at, group);
    return hd_runs_check(cfg, at, err);
}

int hd_tlb_check(const void *cfg, const char *name, struct heddle_error *err)
{
    const struct hd_tlb_cfg *t = cfg;

    return t->mode.kind == HD_FULL ? tlb_check_arrays(t, name, err) : 0;
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
               t->cfg.groups != 0 || t->insert.bound;
    t->observed =
        t->other || t->side != NULL || t->watched[HEDDLE_NOTE_translated] != 0;
    if (quiet && !t->quiet) /* what inserted the entries is not known */
        memset(t->from, 0, hd_tlb_entries(t) * sizeof *t->from);
}

int64_t hd_tlb_default(void *self, const void *question)
{
    (void)self, (void)question;
    return 0;
}

int hd_tlb_open(struct hd_tlb *t, struct hd_env *env,
                const struct hd_tlb_cfg *cfg, const char *at, uint32_t level,
                uint32_t instance)
{
    static const uint32_t unwatched[HEDDLE_NOTE_COUNT];
    int rc = tlb_check_arrays(cfg, at, env->err);

    if (rc != 0)
        return rc;
    memset(t, 0, sizeof *t);
    t->env = env;
    t->cfg = *cfg;
    t->watched = env->slots != NULL && level > 0 ? env->slots->told[level - 1]
                                                 : unwatched;
    t->level = level;
    t->instance = instance;
    memcpy(t->shift,
           (uint8_t[]){0, 4, 9, (uint8_t)hd_log2(tlb_group(cfg)), 9, 1, 2, 3, 4,
                       5, 6, 7, 8, 9},
           sizeof t->shift);
    rc = tlb_open_array(t, &t->base, at, cfg->entries, cfg->ways,
                        &t->base_mask);
    if (rc == 0)
        rc = tlb_open_array(t, &t->large, at, cfg->large_entries,
                            cfg->large_ways, &t->large_mask);
    if (rc < 0)
        return rc;
    t->base_n = cfg->entries;
    t->entry = hd_arena_take(env->arena, cfg->entries + cfg->large_entries,
                             sizeof *t->entry);
    t->run = hd_arena_take(env->arena, hd_tlb_entries(t), sizeof *t->run);
    t->live = hd_arena_take(env->arena, HD_TLB_LIVE, sizeof *t->live);
    t->from = hd_arena_take(env->arena, cfg->entries + cfg->large_entries,
                            sizeof *t->from);
    if (t->entry == NULL || t->run == NULL || t->live == NULL ||
        t->from == NULL)
        return hd_err_memory(env->err);
    hd_slots_offer(env->slots, HEDDLE_POINT_tlb_merge, at, &t->merge,
                   hd_runs_merge_default, t);
    hd_slots_offer(env->slots, HEDDLE_POINT_tlb_insert, at, &t->insert,
                   hd_tlb_default, t);
    hd_tlb_bound(t);
    return 0;
}
