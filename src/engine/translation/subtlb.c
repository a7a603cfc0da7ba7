/*
 * subtlb.c - a TLB with sub-entries: look-up, fill, invalidation, without time.
 *
 * Behind one tag stand the frames of 2^n pages of one size that follow one
 * another in the virtual address space, aligned, each with a valid bit: of 16
 * pages of 2 MB an entry spans 32 MB.  So the tags, which cost most, are few,
 * and a walk still fills no more than it has read (Li et al., "STAR",
 * MICRO 2024, on NVIDIA's; Zhang et al., CCS 2023, find entries of 1 MB of
 * 64 KB pages in a GA102).  A page whose tag is there and whose bit is not is a
 * miss that needs no new entry; what leaves is an entry with all of its
 * sub-entries.
 *
 * Pages of 4 KB, 64 KB, 2 MB and, in formats of page tables that have them,
 * 512 MB are next to each other in one array, the size part of the key; how
 * many of each are behind a tag, or that the level has none of a size, is set
 * for each.  A look-up probes each size that is present.
 *
 * The set is the tag's number modulo the sets, or a fold of the virtual
 * address: with b bits from bit s on, the exclusive or of bits s to s + b - 1,
 * s + b to s + 2b - 1, and so on.  Zhang et al. find b = 7, s = 20 in the
 * second level of a GA102.  What of the address is inside an entry counts as 0,
 * so that an entry is in one set.
 *
 * Replacement is LRU (a look-up that hits and a fill of a sub-entry are uses),
 * FIFO (they are not) or random, unless a policy says what leaves.
 *
 * Invariants: an entry with a tag has a valid sub-entry; live[size] counts
 * tags; a sub-entry is what the page table says (--check, level.c).
 *
 * Left out: entries that two ranges share (STAR's proposal), runs of pages
 * (CoLT) and permissions.
 *
 * SPDX-License-Identifier: MIT
 */
#include "subtlb.h"

#include "kit/bits.h"

enum { CLASS_SHIFT = 52, APP_SHIFT = 56, FRAME_BITS = 32 };

static const uint64_t STREAM = 0x75544c42; /* of random numbers */

/* log2 of the base pages of a page of each size. */
static const uint8_t SHIFT[HD_SUBTLB_CLASSES] = {0, 4, 9, 17};

/* ---- keys and sets ---------------------------------------------------- */

static uint32_t subtlb_class(const struct hd_xlate *x)
{
    return x->page_pages == 1                ? 0
           : x->page_pages < HD_LARGE_PAGES  ? 1
           : x->page_pages == HD_LARGE_PAGES ? 2
                                             : HD_SUBTLB_512M;
}

/* log2 of the base pages that an entry spans. */
static inline uint32_t subtlb_span(const struct hd_subtlb *t, uint32_t klass)
{
    return SHIFT[klass] + t->sub[klass];
}

static inline uint64_t subtlb_key(const struct hd_subtlb *t, uint32_t klass,
                                  uint32_t app, uint64_t vpn)
{
    return vpn >> subtlb_span(t, klass) | (uint64_t)klass << CLASS_SHIFT |
           (uint64_t)app << APP_SHIFT;
}

static inline uint32_t subtlb_class_of(uint64_t key)
{
    return (uint32_t)(key >> CLASS_SHIFT) & 15;
}

static inline uint32_t subtlb_app_of(uint64_t key)
{
    return (uint32_t)(key >> APP_SHIFT);
}

/* The first page that an entry spans. */
static inline uint64_t subtlb_first(const struct hd_subtlb *t, uint64_t key)
{
    return (key & hd_ones(CLASS_SHIFT)) << subtlb_span(t, subtlb_class_of(key));
}

/* The set of a key where the low bits of its number do not say it. */
static HD_APART uint32_t subtlb_fold(const struct hd_subtlb *t, uint64_t key)
{
    uint32_t set = 0, span = subtlb_span(t, subtlb_class_of(key));
    uint64_t va;

    if (t->bits == 0)
        return (uint32_t)((key & hd_ones(CLASS_SHIFT)) % t->tags.sets);
    va = subtlb_first(t, key) << HD_PAGE_SHIFT;
    va >>= t->from != 0 ? t->from : span + HD_PAGE_SHIFT;
    for (; va != 0; va >>= t->bits)
        set ^= (uint32_t)(va & hd_ones(t->bits));
    return set;
}

static inline uint32_t subtlb_set(const struct hd_subtlb *t, uint64_t key)
{
    return HD_LIKELY(t->bits == 0 && t->mask != 0)
               ? (uint32_t)key & (t->mask - 1)
               : subtlb_fold(t, key);
}

static inline uint32_t subtlb_place(const struct hd_subtlb *t, uint32_t klass,
                                    uint64_t vpn)
{
    return (uint32_t)(vpn >> SHIFT[klass]) & (uint32_t)hd_ones(t->sub[klass]);
}

/* Whether an entry that is used again counts as used: in the order that LRU, or
 * a policy, knows. */
static inline bool subtlb_used(const struct hd_subtlb *t)
{
    return t->replace == HD_LEVEL_LRU || HD_UNLIKELY(t->tags.victim.bound != 0);
}

/* ---- looking up ------------------------------------------------------- */

static struct hd_xlate subtlb_x(const struct hd_subtlb *t, uint32_t e,
                                uint32_t i)
{
    uint64_t key = t->tags.key[e];
    uint32_t klass = subtlb_class_of(key), pages = 1u << SHIFT[klass];
    uint64_t vpn = subtlb_first(t, key) + (uint64_t)i * pages;

    return (struct hd_xlate){
        {vpn}, {t->frame[((size_t)e << t->most) + i]}, pages, pages};
}

/* Of a page of 512 MB, the 2 MB around a page: no more is known elsewhere. */
static void subtlb_piece(struct hd_xlate *x, hd_vpn vpn)
{
    uint64_t at = vpn.v & ~(uint64_t)(HD_LARGE_PAGES - 1);

    x->pfn.v += at - x->vpn.v;
    x->vpn.v = at;
    x->pages = x->page_pages = HD_LARGE_PAGES;
}

enum hd_subtlb_found hd_subtlb_find(struct hd_subtlb *t, uint32_t app,
                                    hd_vpn vpn, struct hd_who who, bool peek,
                                    struct hd_xlate *x)
{
    enum hd_subtlb_found found = HD_SUBTLB_MISS;
    uint32_t k = (t->live[0] | t->live[1]) != 0 ? 0 : 2;

    for (; k < HD_SUBTLB_CLASSES; k++) {
        uint64_t key;
        uint32_t set, e, i;

        if (t->live[k] == 0)
            continue;
        key = subtlb_key(t, k, app, vpn.v);
        set = subtlb_set(t, key);
        e = hd_assoc_find(&t->tags, set, key);
        if (e == HD_NONE)
            continue;
        found = HD_SUBTLB_TAG;
        i = subtlb_place(t, k, vpn.v);
        if ((t->valid[e] >> i & 1) == 0)
            continue;
        if (!peek && subtlb_used(t))
            hd_assoc_touch_in(&t->tags, set, e, who);
        x->vpn.v = vpn.v & ~(uint64_t)((1u << SHIFT[k]) - 1);
        x->pfn.v = t->frame[((size_t)e << t->most) + i];
        x->pages = x->page_pages = 1u << SHIFT[k];
        if (HD_UNLIKELY(k == HD_SUBTLB_512M))
            subtlb_piece(x, vpn);
        return HD_SUBTLB_HIT;
    }
    return found;
}

/* ---- entering and leaving --------------------------------------------- */

bool hd_subtlb_holds(const struct hd_subtlb *t, const struct hd_xlate *x)
{
    return t->holds[subtlb_class(x)];
}

static void subtlb_drop(struct hd_subtlb *t, uint32_t e)
{
    t->live[subtlb_class_of(t->tags.key[e])]--;
    t->valid[e] = 0;
    hd_assoc_drop(&t->tags, e);
}

/* Enters a tag; *evicted: whose entry has left for it. */
static uint32_t subtlb_enter(struct hd_subtlb *t, uint64_t key,
                             struct hd_who who, bool last, uint32_t *evicted)
{
    uint32_t set = subtlb_set(t, key), ways = t->tags.ways, e;
    uint64_t gone;

    if (t->replace == HD_LEVEL_RANDOM && t->tags.victim.bound == 0 &&
        hd_assoc_valid(&t->tags, set) == ways) {
        e = set * ways + hd_rng_below(t->rng, ways);
        *evicted = subtlb_app_of(t->tags.key[e]);
        subtlb_drop(t, e);
    }
    e = HD_UNLIKELY(last) ? hd_assoc_place_last(&t->tags, set, key, who, &gone)
                          : hd_assoc_place(&t->tags, set, key, who, &gone);
    if (gone != HD_KEY_NONE) {
        *evicted = subtlb_app_of(gone);
        t->live[subtlb_class_of(gone)]--;
    }
    t->live[subtlb_class_of(key)]++;
    t->valid[e] = 0;
    return e;
}

bool hd_subtlb_fill(struct hd_subtlb *t, uint32_t app, const struct hd_xlate *x,
                    struct hd_who who, bool last, uint32_t *evicted)
{
    uint32_t klass = subtlb_class(x), i = subtlb_place(t, klass, x->vpn.v), e;
    uint64_t key = subtlb_key(t, klass, app, x->vpn.v);
    bool was;

    *evicted = HD_APP_NONE;
    hd_assert(t->holds[klass] && x->pfn.v >> FRAME_BITS == 0);
    e = hd_assoc_find(&t->tags, subtlb_set(t, key), key);
    if (e == HD_NONE)
        e = subtlb_enter(t, key, who, last, evicted);
    else if (subtlb_used(t))
        hd_assoc_touch(&t->tags, e, who);
    was = t->valid[e] >> i & 1;
    t->valid[e] |= 1u << i;
    t->frame[((size_t)e << t->most) + i] = (uint32_t)x->pfn.v;
    return !was;
}

/* Invalidates the sub-entries of an entry that cover a page of [vpn, end). */
static uint32_t subtlb_clear(struct hd_subtlb *t, uint32_t e, uint64_t vpn,
                             uint64_t end)
{
    uint32_t n = 0;

    for (uint32_t left = t->valid[e]; left != 0; left &= left - 1) {
        uint32_t i = hd_bit_first(left);
        struct hd_xlate x = subtlb_x(t, e, i);

        if (x.vpn.v >= end || vpn >= x.vpn.v + x.pages)
            continue;
        t->valid[e] &= ~(1u << i);
        n++;
    }
    if (t->valid[e] == 0)
        subtlb_drop(t, e);
    return n;
}

uint32_t hd_subtlb_shoot(struct hd_subtlb *t, uint32_t app, hd_vpn vpn,
                         uint64_t pages)
{
    uint64_t end = vpn.v + hd_max_u64(pages, 1), span, key;
    uint32_t entries = t->tags.sets * t->tags.ways, n = 0, e;

    if (app == HD_APP_NONE || pages > entries) {
        for (e = 0; e < entries; e++) {
            key = t->tags.key[e];
            if (key == HD_KEY_NONE ||
                (app != HD_APP_NONE && subtlb_app_of(key) != app))
                continue;
            n += app == HD_APP_NONE ? subtlb_clear(t, e, 0, UINT64_MAX)
                                    : subtlb_clear(t, e, vpn.v, end);
        }
        return n;
    }
    for (uint32_t k = pages != 0 ? 0 : 2; k < HD_SUBTLB_CLASSES; k++) {
        if (t->live[k] == 0)
            continue;
        span = 1ull << subtlb_span(t, k);
        for (uint64_t v = vpn.v & ~(span - 1); v < end; v += span) {
            key = subtlb_key(t, k, app, v);
            e = hd_assoc_find(&t->tags, subtlb_set(t, key), key);
            if (e != HD_NONE)
                n += subtlb_clear(t, e, vpn.v, end);
        }
    }
    return n;
}

/* ---- looking inside ---------------------------------------------------- */

void hd_subtlb_each(const struct hd_subtlb *t,
                    void (*fn)(void *ud, uint32_t entry, uint32_t app,
                               const struct hd_xlate *x),
                    void *ud)
{
    for (uint32_t e = 0; e < t->tags.sets * t->tags.ways; e++)
        for (uint32_t left = t->valid[e]; left != 0; left &= left - 1) {
            struct hd_xlate x = subtlb_x(t, e, hd_bit_first(left));
            fn(ud, e, subtlb_app_of(t->tags.key[e]), &x);
        }
}

const char *hd_subtlb_check(const struct hd_subtlb *t)
{
    uint32_t live[HD_SUBTLB_CLASSES] = {0};

    for (uint32_t e = 0; e < t->tags.sets * t->tags.ways; e++) {
        uint64_t key = t->tags.key[e];

        if ((key == HD_KEY_NONE) != (t->valid[e] == 0))
            return "an entry has a tag and no sub-entry, or the reverse";
        if (key == HD_KEY_NONE)
            continue;
        live[subtlb_class_of(key)]++;
        if (subtlb_set(t, key) != hd_assoc_set_of(&t->tags, e))
            return "an entry is in another set than its tag's";
    }
    for (uint32_t k = 0; k < HD_SUBTLB_CLASSES; k++)
        if (live[k] != t->live[k])
            return "the tags of a size are miscounted";
    return NULL;
}

/* ---- opening ---------------------------------------------------------- */

static const char *const SUBS[HD_SUBTLB_CLASSES] = {"sub_4k", "sub_64k",
                                                    "sub_2m", "sub_512m"};

static void subtlb_subs(const struct hd_level_cfg *cfg,
                        uint32_t out[HD_SUBTLB_CLASSES])
{
    out[0] = cfg->sub_4k;
    out[1] = cfg->sub_64k;
    out[2] = cfg->sub_2m;
    out[HD_SUBTLB_512M] = cfg->sub_512m;
}

int hd_subtlb_cfg_check(const void *settings, const char *name,
                        struct heddle_error *err)
{
    const struct hd_level_cfg *cfg = settings;
    uint32_t ways = hd_assoc_ways(cfg->entries, cfg->ways);
    uint32_t sub[HD_SUBTLB_CLASSES];

    if (cfg->entries == 0)
        return 0;
    if (cfg->entries % ways != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.entries: %u is not a multiple of %s.ways (%u)",
                          name, cfg->entries, name, cfg->ways);
    subtlb_subs(cfg, sub);
    for (uint32_t k = 0; k < HD_SUBTLB_CLASSES; k++)
        if ((sub[k] & (sub[k] - 1)) != 0)
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "%s.%s: %u pages behind a tag are not an aligned "
                              "group; 0, 1, 2, 4, 8, 16 or 32 is expected",
                              name, SUBS[k], sub[k]);
    if (sub[0] + sub[1] + sub[2] == 0)
        return hd_err_set(
            err, HEDDLE_ECONFIG,
            "%s.sub_4k, %s.sub_64k and %s.sub_2m are 0: the level "
            "would hold no page; %s.entries = 0 is no level",
            name, name, name, name);
    if (cfg->hash_bits != 0 && cfg->entries / ways != 1ull << cfg->hash_bits)
        return hd_err_set(
            err, HEDDLE_ECONFIG,
            "%s.hash_bits: a fold of %u bits names %llu sets, and "
            "%s has %u (%s.entries / %s.ways)",
            name, cfg->hash_bits, 1ull << cfg->hash_bits, name,
            cfg->entries / ways, name, name);
    if (cfg->hash_bits == 0 && cfg->hash_from != 0)
        return hd_err_set(
            err, HEDDLE_ECONFIG,
            "%s.hash_from: %u, but %s.hash_bits is 0: there is no "
            "hash",
            name, cfg->hash_from, name);
    return 0;
}

int hd_subtlb_open(struct hd_subtlb *t, struct hd_env *env,
                   const struct hd_level_cfg *cfg, const char *at,
                   uint32_t level, uint32_t instance)
{
    uint32_t ways = hd_assoc_ways(cfg->entries, cfg->ways);
    uint32_t sub[HD_SUBTLB_CLASSES];

    subtlb_subs(cfg, sub);
    for (uint32_t k = 0; k < HD_SUBTLB_CLASSES; k++) {
        t->holds[k] = sub[k] != 0;
        t->sub[k] = (uint8_t)hd_log2(sub[k] != 0 ? sub[k] : 1);
        t->most = t->sub[k] > t->most ? t->sub[k] : t->most;
    }
    t->mask = hd_is_pow2(cfg->entries / ways) ? cfg->entries / ways : 0;
    t->bits = (uint8_t)cfg->hash_bits;
    t->from = (uint8_t)cfg->hash_from;
    t->replace = (uint8_t)cfg->replace;
    t->valid = hd_arena_take(env->arena, cfg->entries, sizeof *t->valid);
    t->frame = hd_arena_take(env->arena, (size_t)cfg->entries << t->most,
                             sizeof *t->frame);
    t->live = hd_arena_take(env->arena, HD_SUBTLB_CLASSES, sizeof *t->live);
    t->rng = hd_arena_take(env->arena, 1, sizeof *t->rng);
    if (t->valid == NULL || t->frame == NULL || t->live == NULL ||
        t->rng == NULL ||
        hd_assoc_open(&t->tags, env, at, instance, cfg->entries / ways, ways) <
            0)
        return hd_err_memory(env->err);
    *t->rng =
        hd_rng_make(env->seed, STREAM + ((uint64_t)level << 32) + instance);
    return 0;
}
