/*
 * contig.c - the page-table scan of MESC (Yu, Bai, Wang): Algorithm 1.
 *
 * With vm.scan the entry of level 3 above a leaf table has nine bits more, in
 * those that x86-64 leaves to software: C0 to C7, one for each subregion of 64
 * pages, and AC (contig.h).  The scan clears the bits of what it looks at, sets
 * C where 64 entries are present with frames in order and equal permissions,
 * and counts links: a subregion is linked if its first frame follows the last
 * of the one before, the first one to itself.  With eight links the region is
 * AC.  Frames need no alignment.
 *
 * The paper's system scans everything before a launch and again when pages were
 * remapped.  Here what changes an entry calls the scan for the subregions that
 * it touched, in the same event, so the bits are exact at any time; its time on
 * the host is not modelled (the paper's neither).  A walk cache holds entries
 * of level 3, so where the bits change its client drops them (mmu.c).
 *
 * A page that is used with its whole region (coalesced, or of 2 MB) has no such
 * bits: the large one wins.  Pages that are compressed in memory are not in
 * order whatever their frames' names are, so none of them is contiguous; those
 * that their frames would make so are counted.
 *
 * Invariant: bits and sums are what hd_contig_check finds page by page.
 *
 * SPDX-License-Identifier: MIT
 */
#include "contig.h"

#include "kit/bits.h"
#include "ptstate.h"

#define SAME (HD_PT_PRESENT | HD_PT_WRITE | HD_PT_PACKED | HD_PT_FRAME)

/* The slot of a region with a leaf table; NULL: it has none. */
static const struct hd_pt_slot *small(const struct hd_ptables *t, uint32_t app,
                                      uint64_t vpn)
{
    const struct hd_pt_slot *h =
        hd_pt_find(t, hd_pt_key(app, vpn / HD_LARGE_PAGES));

    return h->key == 0 || h->region_bits & HD_PT_LARGE ? NULL : h;
}

/* The entry of level 3 above a slot's leaf table. */
static uint64_t *contig_above(const struct hd_ptables *t,
                              const struct hd_pt_slot *h, uint64_t vpn)
{
    return hd_pt_entry(t, t->table[h->t[2]].at) + vpn / HD_LARGE_PAGES % 512;
}

/* Whether 64 pages are present and in order; same: what they have in common. */
static bool in_order(const uint64_t *e, uint64_t same)
{
    uint64_t first = e[0] & same;

    if ((first & (HD_PT_PRESENT | HD_PT_PACKED)) != HD_PT_PRESENT)
        return false;
    for (uint64_t i = 1; i < HD_SUB_PAGES; i++)
        if ((e[i] & same) != first + i * HD_PAGE_BYTES)
            return false;
    return true;
}

static bool contiguous(struct hd_ptables *t, uint32_t app, const uint64_t *e)
{
    if (in_order(e, SAME))
        return true;
    if (HD_UNLIKELY(t->compress != NULL) &&
        in_order(e, SAME & ~(uint64_t)HD_PT_PACKED))
        t->s->packed[app] += HD_SUB_PAGES;
    return false;
}

/* Bits with AC, if the subregions with these C are linked. */
static uint32_t with_all(const uint64_t *e, uint32_t c)
{
    uint32_t links = 1;

    for (uint32_t s = 1; s < HD_SUBS; s++)
        links += (e[s * HD_SUB_PAGES] & SAME) ==
                 (e[(s - 1) * HD_SUB_PAGES] & SAME) +
                     (uint64_t)HD_SUB_PAGES * HD_PAGE_BYTES;
    return c == HD_CONTIG_ALL - 1 && links == HD_SUBS ? c | HD_CONTIG_ALL : c;
}

static uint64_t pages_in(uint32_t bits)
{
    return (uint64_t)hd_bit_count(bits & (HD_CONTIG_ALL - 1)) * HD_SUB_PAGES;
}

/* Subregions [from, to) of a region may have changed. */
static void scan(struct hd_ptables *t, uint32_t app, uint64_t vpn,
                 uint32_t from, uint32_t to)
{
    const struct hd_pt_slot *h = small(t, app, vpn);
    const uint64_t *e;
    uint64_t *up;
    uint32_t old, c;

    if (h == NULL)
        return;
    e = hd_pt_entry(t, h->at);
    up = contig_above(t, h, vpn);
    old = hd_contig_bits(*up);
    c = old & (((1u << from) - 1) | ~((1u << to) - 1)) & (HD_CONTIG_ALL - 1);
    for (uint32_t s = from; s < to; s++)
        c |= (uint32_t)contiguous(t, app, e + s * HD_SUB_PAGES) << s;
    c = h->region_bits & HD_PT_JOINED ? 0 : with_all(e, c);
    if (c == old)
        return;
    *up ^= (uint64_t)(c ^ old) << HD_CONTIG_SHIFT;
    t->s->covered[app] += pages_in(c) - pages_in(old);
    t->s->covered_all[app] +=
        ((uint64_t)(c >> HD_SUBS) - (old >> HD_SUBS)) * HD_LARGE_PAGES;
    hd_contig_changed(t, app, vpn);
}

void hd_contig_scan(struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                    uint64_t pages)
{
    uint64_t end = vpn.v + pages, v = vpn.v & ~(uint64_t)(HD_LARGE_PAGES - 1);

    for (; v < end; v += HD_LARGE_PAGES) {
        uint64_t from = v < vpn.v ? vpn.v - v : 0;
        uint64_t to = hd_min_u64(end - v, HD_LARGE_PAGES);
        scan(t, app, v, (uint32_t)from / HD_SUB_PAGES,
             (uint32_t)hd_ceil_div(to, HD_SUB_PAGES));
    }
}

/* ---- asking --------------------------------------------------------------- */

uint32_t hd_contig_of(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    const struct hd_pt_slot *h = small(t, app, vpn.v);

    return h == NULL ? 0 : hd_contig_bits(*contig_above(t, h, vpn.v));
}

void hd_contig_look(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                    struct hd_contig *c)
{
    const struct hd_pt_slot *h = small(t, app, vpn.v);

    hd_cross(t->env, HD_BORDER_tables);
    *c = (struct hd_contig){.bits = hd_contig_of(t, app, vpn)};
    for (uint32_t s = 0; s < HD_SUBS; s++) {
        uint64_t e;
        if ((c->bits >> s & 1) == 0)
            continue;
        e = hd_pt_entry(t, h->at)[s * HD_SUB_PAGES];
        c->head[s].v = (e & HD_PT_FRAME) / HD_PAGE_BYTES;
        c->write |= (uint32_t)((e & HD_PT_WRITE) != 0) << s;
    }
}

uint32_t hd_contig_links(const struct hd_contig *c)
{
    uint32_t both = c->bits & c->bits >> 1 & ~(c->write ^ c->write >> 1);
    uint32_t links = 0;

    for (uint32_t s = 0; s + 1 < HD_SUBS; s++)
        links |= (both >> s & 1 &&
                  c->head[s].v + HD_SUB_PAGES == c->head[s + 1].v)
                 << s;
    return links;
}

uint32_t hd_contig_run(uint32_t links, uint32_t s, uint32_t *first)
{
    uint32_t last = s;

    while (s > 0 && links >> (s - 1) & 1)
        s--;
    while (links >> last & 1)
        last++;
    *first = s;
    return last - s + 1;
}

void hd_contig_client(struct hd_ptables *t,
                      void (*changed)(void *self, uint32_t app, hd_vpn first),
                      void *self)
{
    t->contig_changed = changed;
    t->contig_self = self;
}

void hd_contig_changed(struct hd_ptables *t, uint32_t app, uint64_t vpn)
{
    hd_vpn first = {vpn & ~(uint64_t)(HD_LARGE_PAGES - 1)};

    if (t->contig_changed != NULL)
        t->contig_changed(t->contig_self, app, first);
}

uint64_t hd_contig_covered(const struct hd_ptables *t, uint32_t app,
                           uint64_t *all)
{
    *all = t->s->covered_all[app];
    return t->s->covered[app];
}

/* ---- checking ------------------------------------------------------------ */

/* Whether n pages from vpn on are contiguous, by a walk for each. */
static bool naive(const struct hd_ptables *t, uint32_t app, uint64_t vpn,
                  uint32_t n)
{
    uint64_t first = 0;
    hd_pa pte[4];

    for (uint64_t i = 0; i < n; i++) {
        uint64_t e;
        if (hd_ptables_walk(t, app, (hd_vpn){vpn + i}, pte) != 4)
            return false;
        e = hd_ptables_entry(t, pte[3]) & SAME;
        first = i == 0 ? e : first;
        if (e & HD_PT_PACKED || e != first + i * HD_PAGE_BYTES)
            return false;
    }
    return true;
}

void hd_contig_check(const struct hd_ptables *t, struct heddle_error *err)
{
    uint64_t covered[HD_MAX_APPS] = {0}, all[HD_MAX_APPS] = {0};

    for (uint32_t i = 0; i < t->s->regions; i++) {
        const struct hd_pt_region *r =
            (struct hd_pt_region *)(void *)hd_pt_entry(t, t->s->region) + i;
        uint64_t vpn = r->number * HD_LARGE_PAGES;
        uint32_t is = hd_contig_of(t, r->app, (hd_vpn){vpn}), want = 0;

        for (uint32_t s = 0; s < HD_SUBS; s++)
            want |= (uint32_t)naive(t, r->app, vpn + s * HD_SUB_PAGES,
                                    HD_SUB_PAGES)
                    << s;
        if (naive(t, r->app, vpn, HD_LARGE_PAGES))
            want |= HD_CONTIG_ALL;
        covered[r->app] += pages_in(want);
        all[r->app] += want & HD_CONTIG_ALL ? HD_LARGE_PAGES : 0;
        if (is != want)
            hd_err_set(err, HEDDLE_ECHECK,
                       "page table: application %u, the 2 MB at page 0x%llx: "
                       "bits C and AC are 0x%x, and a scan gives 0x%x",
                       r->app, (unsigned long long)vpn, is, want);
    }
    for (uint32_t app = 0; app < HD_MAX_APPS; app++)
        if (covered[app] != t->s->covered[app] ||
            all[app] != t->s->covered_all[app])
            hd_err_set(err, HEDDLE_ECHECK,
                       "page table: application %u has %llu pages in "
                       "contiguous subregions, and %llu are counted",
                       app, (unsigned long long)covered[app],
                       (unsigned long long)t->s->covered[app]);
}
