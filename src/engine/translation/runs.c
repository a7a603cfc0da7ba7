/*
 * runs.c - entries of a TLB that stand for more than one page: runs of pages
 * that are contiguous in virtual and physical memory.
 *
 * Four ideas, all off by default:
 *
 *   - Up to merge_pages pages of 4 KB inside one aligned group, as far as a
 * policy of tlb_merge takes them of what a walk's line of entries shows (CoLT:
 * Pham et al., MICRO 2012; AMD's coalescing).  A run's key is its first page,
 * its set that of its group, so those of one group are in one set.
 *   - Subregions of 64 such pages inside an aligned 2 MB (MESC,
 * l2tlb.sub_ways): an entry holds the whole subregions of what is taken, and
 * may be in the first sub_ways ways of its set only.  It evicts the entries of
 * single pages that it covers, which is a guess: the paper (IV.D) says that they
 * are used "until evicted".
 *   - Aligned groups of 2^k pages (variants/groups.c): a policy has chosen the
 * size when the walk ended; an entry has its class by its size.
 *   - Ranges (CoLT-FA, l1tlb.ranges): runs are entries of the large array
 *     instead, which is fully associative.  A look-up compares all of them, and
 *     one that is inserted absorbs adjacent ones whose frames continue its own.
 *
 * Invariant: the pages of a run have consecutive frames, and no two entries of
 * a TLB answer for one page.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tlbstate.h"

HD_APART uint32_t hd_runs_find(const struct hd_tlb *t, uint32_t app,
                               uint64_t vpn)
{
    uint64_t key = hd_tlb_key(HD_TLB_MERGED, app, vpn);

    for (uint32_t e = t->base_n; e < hd_tlb_entries(t); e++)
        if (hd_tlb_key_at(t, e) != HD_KEY_NONE &&
            key - hd_tlb_key_at(t, e) < t->run[e])
            return e;
    return HD_NONE;
}

/* Whether x is an aligned group of pages, of which an entry is to have as much
 * as it may: that is *out, and *klass its class. */
static bool runs_group(const struct hd_tlb *t, uint64_t wanted,
                       const struct hd_xlate *x, struct hd_xlate *out,
                       uint32_t *klass)
{
    uint64_t n = hd_min_u64(x->pages, 1ull << t->cfg.groups);

    if (HD_LIKELY(t->cfg.groups == 0) || t->merge.bound || x->page_pages != 1 ||
        x->pages == 1 || !hd_is_pow2(x->pages) || x->vpn.v % x->pages != 0)
        return false;
    out->vpn.v = wanted & ~(n - 1);
    out->pfn = hd_xlate_frame(x, out->vpn);
    out->pages = (uint32_t)n;
    out->page_pages = 1;
    *klass = HD_TLB_GROUPS + hd_log2((uint32_t)n) - 1;
    return true;
}

uint32_t hd_runs_choose(struct hd_tlb *t, uint32_t app, uint32_t core,
                        uint64_t wanted, const struct hd_xlate *x,
                        uint32_t cause, struct hd_xlate *out)
{
    const uint64_t sub = HD_SUB_PAGES - 1;
    uint32_t own = x->page_pages, klass = HD_TLB_2M;
    uint64_t first = wanted & ~(uint64_t)(own - 1), n = own, lo = x->vpn.v;
    uint64_t hi = lo + x->pages, group = hd_ones(t->shift[HD_TLB_MERGED]);
    bool subs = t->cfg.sub_ways != 0 && own == 1 && lo <= (wanted & ~sub) &&
                hi > (wanted | sub);

    if (runs_group(t, wanted, x, out, &klass))
        return klass;
    if (!subs) {
        lo = hd_max_u64(lo, wanted & ~group);
        hi = hd_min_u64(hi, (wanted | group) + 1);
    }
    if (own < HD_LARGE_PAGES)
        klass = own == 16            ? HD_TLB_64K
                : t->cfg.group_index ? HD_TLB_MERGED
                                     : HD_TLB_4K;
    if ((subs || t->merge.bound) && own <= group && hi - lo > own) {
        struct heddle_q_tlb_merge q = {t->level,
                                       cause,
                                       app,
                                       core,
                                       wanted,
                                       own,
                                       lo,
                                       hi - lo,
                                       x->pfn.v + (lo - x->vpn.v),
                                       hd_pc_now(&t->base.pc)};
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

void hd_runs_widen(const struct hd_tlb *t, uint32_t app, struct hd_xlate *r)
{
    for (uint32_t side = 0; side < 2; side++) {
        uint64_t lo = r->vpn.v, hi = lo + r->pages;
        uint32_t e = hd_runs_find(t, app, side ? hi : lo - (lo != 0));
        struct hd_xlate x;
        if (e == HD_NONE)
            continue;
        x = hd_tlb_x_of(t, e);
        lo = hd_min_u64(lo, x.vpn.v);
        hi = hd_max_u64(hi, x.vpn.v + x.pages);
        if (x.pfn.v - x.vpn.v == r->pfn.v - r->vpn.v &&
            hi - lo <= HD_LARGE_PAGES)
            *r = (struct hd_xlate){
                {lo}, {x.pfn.v - x.vpn.v + lo}, (uint32_t)(hi - lo), 1};
    }
}

/* A run is offered beyond the group only where there are entries for it. */
int64_t hd_runs_merge_default(void *self, const void *question)
{
    const struct heddle_q_tlb_merge *q = question;

    (void)self;
    return q->run_pages >= HD_SUB_PAGES ? (int64_t)q->run_pages : 0;
}

int hd_runs_check(const struct hd_tlb_cfg *cfg, const char *at,
                  struct heddle_error *err)
{
    uint32_t ways = hd_assoc_ways(cfg->entries, cfg->ways);
    uint32_t large = hd_assoc_ways(cfg->large_entries, cfg->large_ways);

    if (cfg->sub_ways != 0 && ways > HD_ASSOC_NARROW)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.ways = %u, sets of %u: with %s.sub_ways = %u at "
                          "most %d ways are possible",
                          at, cfg->ways, ways, at, cfg->sub_ways,
                          HD_ASSOC_NARROW);
    if (cfg->sub_ways > ways)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.sub_ways = %u: at most the %u ways of a set "
                          "(%s.ways) are possible",
                          at, cfg->sub_ways, ways, at);
    if (cfg->ranges && cfg->large_entries == 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.ranges: large_entries are expected, not 0", at);
    if (cfg->ranges && large != cfg->large_entries)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.ranges: large_entries are expected in one set "
                          "(large_ways = 0), not in %u",
                          at, cfg->large_entries / large);
    if (cfg->ranges && cfg->group_index)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.ranges: group_index = false is expected", at);
    return 0;
}
