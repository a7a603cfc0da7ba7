/*
 * entries.c - page-table entries larger than 8 bytes (vm.entry_bytes), after
 * the hit rates of MASK (Ausavarungnirun et al., ASPLOS 2018, section 4.3).
 *
 * There 98.8, 68.7 and 1.0 % of the reads of levels 2, 3 and 4 hit the L2
 * cache.  With 16 entries in a line of 128 bytes neighbours share lines, and
 * 1.0 % cannot be had.  By those numbers one read misses for 1.01 of level 4,
 * 3.2 of level 3 and 83 of level 2: an entry has a line of its own, and one of
 * level 2 has about 32 of level 3 below it, five bits of index.
 *
 * The layout in ptable.c is an entry's first word, which a walk reads; the rest
 * of its 64 or 128 bytes only takes room in tables and lines.  A table stays
 * one frame, so it has 64 or 32 entries and an index 6 or 5 bits.  Levels stay
 * four, as the paper draws them; more would reach more and change the traffic
 * that the setting is for.  They translate the low 36 or 32 bits of an address,
 * so an application's pages are in one aligned 64 or 4 GB, and the bits above
 * are those of its first page: buffers of programs begin at a multiple of 4 GB,
 * and MASK's applications have 160 MB at most.
 *
 * The 2 MB of a region (ptable.c) then have several leaf tables.  They are made
 * together, in consecutive frames, and their words follow one another in the
 * arena as those of one table do, so that what reads a region's leaf entries
 * need not know.  What is lost is an entry for 2 MB, as one of level 3 maps 256
 * or 128 KB: pages of that size, coalesced regions and contiguity bits are
 * refused.  Pages of 64 KB, whose 16 entries are in one table, are not.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ptstate.h"

/* What is expected of other settings with entries larger than 8 bytes, or NULL.
 */
static const char *against_entries(const struct hd_vm_cfg *cfg)
{
    return cfg->page >= 2 ? "vm.page=4K or 64K"
           : cfg->scan    ? "vm.scan=false"
                          : NULL;
}

int hd_ptables_cfg_check(const void *settings, const char *name,
                         struct heddle_error *err)
{
    const struct hd_vm_cfg *cfg = settings;
    uint32_t bytes = cfg->entry_bytes == 0 ? 8 : cfg->entry_bytes;

    if (bytes != 8 && bytes != 64 && bytes != 128)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.entry_bytes: %u; 8, 64 or 128 is expected", name,
                          bytes);
    if (bytes != 8 && against_entries(cfg) != NULL)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.entry_bytes: %u; with it an entry of level 3 "
                          "does not map 2 MB, so %s is expected",
                          name, bytes, against_entries(cfg));
    return hd_format_check(cfg, name, err);
}

uint32_t hd_ptables_entry_bytes(const struct hd_ptables *t)
{
    return 1u << t->entry_shift;
}

uint64_t hd_ptables_together(const struct hd_ptables *t, uint32_t pages,
                             uint32_t bytes)
{
    uint32_t n = bytes / hd_ptables_entry_bytes(t);

    if (pages == HD_LARGE_PAGES) /* an entry of a dual format is two */
        return (uint64_t)(n >> t->format->dual) * pages;
    return t->format->dual ? (uint64_t)n * pages : n; /* else one a base page */
}

int hd_pt_in_reach(struct hd_ptables *t, const struct hd_pt_job *j,
                   uint64_t first, uint64_t end)
{
    uint32_t bits = 4 * t->bits;

    if (t->dual)
        return 0;
    if (t->s->root[j->app] == HD_NONE)
        t->s->window[j->app] = first >> bits;
    if (first >> bits == t->s->window[j->app] &&
        (end - 1) >> bits == t->s->window[j->app])
        return 0;
    return hd_err_set(
        j->err, HEDDLE_ECONFIG,
        "vm.entry_bytes: %u; with it page tables of four levels reach an "
        "aligned %u GB, and application %u, allocation %u (%llu bytes at "
        "0x%llx) is beyond that: use smaller inputs, or entries of fewer bytes",
        hd_ptables_entry_bytes(t), 1u << (bits + HD_PAGE_SHIFT - 30), j->app,
        j->index, (unsigned long long)j->bytes, (unsigned long long)j->base.v);
}

uint32_t hd_pt_page_size(struct hd_ptables *t,
                         const struct heddle_q_page_size *q,
                         struct heddle_error *err)
{
    int64_t size = hd_ask_page_size(&t->alloc, q);

    if (HD_LIKELY(size != HEDDLE_PAGE_SIZE_LARGE || t->leaves == 1))
        return (uint32_t)size;
    hd_slots_refuse(&t->alloc, HEDDLE_POINT_page_size, q, size,
                    "base or medium, as vm.entry_bytes is not 8", err);
    return 0;
}

int hd_ptables_may_join(const struct hd_ptables *t, struct heddle_error *err)
{
    if (HD_LIKELY(t->leaves == 1))
        return 0;
    return hd_err_set(err, HEDDLE_ECONFIG,
                      "vm.entry_bytes: %u; a policy answers region_coalesce, "
                      "and an entry of level 3 does not map 2 MB then, so 8 is "
                      "expected",
                      hd_ptables_entry_bytes(t));
}
