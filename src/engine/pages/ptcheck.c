/*
 * ptcheck.c - the page tables as people see them: an application's runs of
 * pages; and whether their invariants hold (ptable.c lists them).
 *
 * Both go down from the root through the entries in memory, so they see what a
 * walk would see and not what the hash of regions says.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "ptstate.h"

static void show_run(struct heddle_visitor *v, const struct hd_xlate *run)
{
    if (run->pages == 0)
        return;
    v->row(v->ud, "run");
    v->number(v->ud, "vpn", run->vpn.v);
    v->number(v->ud, "pfn", run->pfn.v);
    v->number(v->ud, "pages", run->pages);
    v->text(v->ud, "size",
            run->page_pages == 0    ? "4 KB, coalesced"
            : run->page_pages == 1  ? "4 KB"
            : run->page_pages == 16 ? "64 KB"
                                    : "2 MB");
}

/* Extends a run by a page, or shows it and begins the next. */
static void extend(struct heddle_visitor *v, struct hd_xlate *run, uint64_t vpn,
                   uint64_t pfn, uint32_t pages)
{
    uint32_t n = pages == 0 ? 1 : pages; /* 0: of 4 KB, coalesced */

    if (run->pages != 0 && run->page_pages == pages &&
        run->vpn.v + run->pages == vpn && run->pfn.v + run->pages == pfn) {
        run->pages += n;
        return;
    }
    show_run(v, run);
    *run = (struct hd_xlate){{vpn}, {pfn}, n, pages};
}

/* The first page that an application's root reaches. */
static uint64_t check_first(const struct hd_ptables *t, uint32_t app)
{
    return t->dual ? 0 : t->s->window[app] << 4 * t->bits;
}

/* Shows the page of an entry; its base pages. */
static uint32_t look_leaf(struct heddle_visitor *v, struct hd_xlate *run,
                          uint64_t vpn, uint64_t e, bool large)
{
    uint32_t n = large ? HD_LARGE_PAGES : e & HD_PT_64K ? 16 : 1;

    extend(v, run, vpn, (e & HD_PT_FRAME) / HD_PAGE_BYTES,
           n == 1 && e & HD_PT_DISABLED ? 0 : n);
    return n;
}

/* Shows the pages of a region of a dual format, whose tables of 64 KB and of
 * 4 KB pages take turns. */
static void look_region(const struct hd_ptables *t, struct heddle_visitor *v,
                        uint32_t app, uint64_t vpn, struct hd_xlate *run)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn);
    const uint64_t *e;

    if (h->key == 0)
        return;
    e = hd_pt_entry(t, h->at);
    if (h->region_bits & HD_PT_LARGE) {
        if (*e & HD_PT_PRESENT)
            look_leaf(v, run, vpn, *e, true);
        return;
    }
    for (uint32_t i = 0; i < HD_LARGE_PAGES;)
        i += e[i] & HD_PT_PRESENT ? look_leaf(v, run, vpn + i, e[i], false) : 1;
}

/* Shows what is below table n, in the order of addresses. */
static void look_table(const struct hd_ptables *t, struct heddle_visitor *v,
                       uint32_t n, uint64_t vpn, struct hd_xlate *run)
{
    uint32_t level = t->table[n].level;
    const uint64_t *e = hd_pt_entry(t, t->table[n].at);

    for (uint32_t i = 0; i <= t->level[level].mask; i++) {
        uint64_t at = vpn | (uint64_t)i << t->level[level].shift;
        uint64_t f = (e[i] & HD_PT_FRAME) / HD_PAGE_BYTES;
        if (t->dual && level == t->dir)
            look_region(t, v, t->table[n].app, at, run);
        else if (!(e[i] & HD_PT_PRESENT))
            continue;
        else if (level == 4 && !t->dual)
            i += look_leaf(v, run, at, e[i], false) - 1;
        else if (e[i] & HD_PT_2M)
            look_leaf(v, run, at, e[i], true);
        else
            look_table(t, v, (uint32_t)(f - t->first_table), at, run);
    }
}

void hd_ptables_look(void *self, uint32_t app, struct heddle_visitor *v)
{
    const struct hd_ptables *t = self;
    struct hd_xlate run = {{0}, {0}, 0, 0};

    if (t->s->root[app] != HD_NONE)
        look_table(t, v, t->s->root[app], check_first(t, app), &run);
    show_run(v, &run);
}

/* What a frame of 2 MB holds, by the owners of its base frames. */
static struct hd_bigframe recount(const struct hd_ptables *t, uint64_t big)
{
    struct hd_bigframe g = {.used = 0};
    uint64_t i = big * HD_LARGE_PAGES, end = i + HD_LARGE_PAGES;

    if (hd_frames_fresh(&t->frames, big))
        return g;
    for (; i < end && i < t->frames.frames; i++) {
        uint32_t o = hd_frames_owner(&t->frames, i), app = HD_OWNER_FOREIGN;
        struct hd_xlate x;
        hd_vpn vpn;
        if (o == 0 ||
            (hd_ptables_owner(t, (hd_pfn){i}, &app, &vpn) &&
             !hd_pt_decode(t, hd_pt_slot_of(t, app, vpn.v), vpn.v,
                           HD_PT_PRESENT | HD_PT_IN_FLIGHT | HD_PT_EVICTING,
                           &x)))
            continue; /* free, or kept */
        g.owners += g.of[app]++ == 0;
        g.used++;
    }
    return g;
}

/* Counts by frame of 2 MB are those that the owners of its frames give; no
 * frame has pages of several without one that was put next to others'. */
static void check_big(const struct hd_ptables *t, struct heddle_error *err)
{
    uint64_t held[HD_MAX_APPS + 1] = {0}, several = 0, mixed = 0;

    for (uint64_t b = 0; b < t->big.n; b++) {
        const struct hd_bigframe *f = &t->big.v[b];
        struct hd_bigframe g = recount(t, b);
        several += g.owners > 1;
        for (uint32_t o = 0; o <= HD_OWNER_FOREIGN; o++)
            held[o] += g.owners == 1 && g.of[o] != 0 ? HD_LARGE_PAGES : g.of[o];
        if (f->used != g.used || f->owners != g.owners ||
            memcmp(f->of, g.of, sizeof g.of) != 0)
            hd_err_set(err, HEDDLE_ECHECK,
                       "frames: of 2 MB frame %llu, %u pages are in use and %u "
                       "counted",
                       (unsigned long long)b, g.used, f->used);
    }
    for (uint32_t app = 0; app < HD_MAX_APPS; app++)
        mixed += t->s->mixed[app];
    if (several > mixed)
        hd_err_set(err, HEDDLE_ECHECK,
                   "frames: %llu of 2 MB have pages of several applications, "
                   "and %llu pages were put next to others'",
                   (unsigned long long)several, (unsigned long long)mixed);
    if (memcmp(held, t->big.held, sizeof held) != 0)
        hd_err_set(err, HEDDLE_ECHECK,
                   "frames: what applications hold is not what is counted");
}

/* Checks a present entry against the hash of regions and the frame's owner;
 * base pages of a 2 MB page, or 1: each of a 64 KB page has a word.  large: of
 * the words, those of 64 KB, and of 2 MB. */
static uint64_t check_leaf(const struct hd_ptables *t, struct heddle_error *err,
                           uint32_t of, uint64_t vpn, uint64_t e, bool big,
                           uint64_t *large)
{
    uint64_t f = (e & HD_PT_FRAME) / HD_PAGE_BYTES;
    uint32_t app;
    struct hd_xlate found;
    hd_vpn owner;

    large[0] += (e & HD_PT_64K) != 0;
    large[1] += big;
    if (!hd_pt_decode(t, hd_pt_slot_of(t, of, vpn), vpn, HD_PT_PRESENT,
                      &found) ||
        hd_xlate_frame(&found, (hd_vpn){vpn}).v != f ||
        (f >= HD_HOST_FRAME ? f != hd_ptables_host_frame(t, of, (hd_vpn){vpn}).v
                            : !hd_ptables_owner(t, (hd_pfn){f}, &app, &owner) ||
                                  app != of || owner.v != vpn))
        hd_err_set(err, HEDDLE_ECHECK,
                   "page table: application %u, page 0x%llx: the entry "
                   "names frame %llu, which the frame table does not "
                   "give to it",
                   of, (unsigned long long)vpn, (unsigned long long)f);
    return big ? HD_LARGE_PAGES : 1;
}

/* The 512 words of a region of a dual format. */
static uint64_t check_words(const struct hd_ptables *t,
                            struct heddle_error *err, uint32_t app,
                            uint64_t vpn, uint64_t *large)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn);
    const uint64_t *e = hd_pt_entry(t, h->at);
    uint64_t pages = 0, medium = large[0], small;

    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++) {
        if (e[i] & (HD_PT_PRESENT | HD_PT_NONRESIDENT))
            hd_coalesced_check(t, err, app, vpn + i, &e[i], 4);
        if (e[i] & HD_PT_PRESENT)
            pages += check_leaf(t, err, app, vpn + i, e[i], false, large);
    }
    medium = large[0] - medium;
    small = h->t[3] != HD_NONE ? t->table[h->t[3]].used : 0;
    if (pages - medium != small || (medium != 0 && h->t[HD_PT_BIG] == HD_NONE))
        hd_err_set(err, HEDDLE_ECHECK,
                   "page table: application %u, page 0x%llx: its region has "
                   "%llu pages of 4 KB and %llu in those of 64 KB, and its "
                   "table of 4 KB pages counts %llu",
                   app, (unsigned long long)vpn,
                   (unsigned long long)(pages - medium),
                   (unsigned long long)medium, (unsigned long long)small);
    return pages;
}

/* What a PDE0 leads to; *present: its words that are. */
static uint64_t check_pair(const struct hd_ptables *t, struct heddle_error *err,
                           uint32_t app, uint64_t vpn, const uint64_t *e,
                           uint64_t *large, uint64_t *present)
{
    hd_format_check_pair(t, err, app, vpn, e);
    *present += (e[0] & HD_PT_PRESENT) + (e[1] & HD_PT_PRESENT);
    if (e[0] & HD_PT_PRESENT && e[0] & HD_PT_2M)
        return check_leaf(t, err, app, vpn, e[0], true, large);
    if (e[1] & HD_PT_PRESENT)
        hd_coalesced_check(t, err, app, vpn, &e[1], 3);
    return (e[0] | e[1]) & HD_PT_PRESENT ? check_words(t, err, app, vpn, large)
                                         : 0;
}

/* Counts the present leaf pages below a table from the root down; checks each,
 * and the table's count. */
static uint64_t check_table(const struct hd_ptables *t,
                            struct heddle_error *err, uint32_t n, uint64_t vpn,
                            uint64_t *large)
{
    const struct hd_pt_table *x = &t->table[n];
    const uint64_t *e = hd_pt_entry(t, x->at);
    uint64_t pages = 0, present = 0;

    for (uint32_t i = 0; i <= t->level[x->level].mask; i++) {
        uint64_t at = vpn | (uint64_t)i << t->level[x->level].shift;
        uint64_t f = (e[i] & HD_PT_FRAME) / HD_PAGE_BYTES;

        if (t->dual && x->level == t->dir) {
            const uint64_t *pair = e + 2 * i;
            if ((pair[0] | pair[1]) != 0)
                pages += check_pair(t, err, x->app, at, pair, large, &present);
            continue;
        }
        if (!t->dual && e[i] & (HD_PT_PRESENT | HD_PT_NONRESIDENT))
            hd_coalesced_check(t, err, x->app, at, &e[i], x->level);
        if (!(e[i] & HD_PT_PRESENT))
            continue;
        present++;
        if (t->format->huge && x->level == t->dir - 1)
            hd_format_check_huge(t, err, x->app, at, e[i]);
        if ((x->level < 4 || t->dual) && !(e[i] & HD_PT_2M))
            pages +=
                check_table(t, err, (uint32_t)(f - t->first_table), at, large);
        else
            pages += check_leaf(t, err, x->app, at, e[i], x->level < 4, large);
    }
    if (present != x->used)
        hd_err_set(err, HEDDLE_ECHECK,
                   "page table %u: %llu entries are present, %u counted", n,
                   (unsigned long long)present, x->used);
    return pages;
}

void hd_ptables_check(void *self, uint32_t instance, struct heddle_error *err)
{
    const struct hd_ptables *t = self;
    uint64_t all = 0, owned = 0, foreign = 0, allocated = 0, pages;

    if (instance != 0) /* all applications are checked at once */
        return;
    for (uint32_t app = 0; app < HD_MAX_APPS; app++) {
        uint64_t large[2] = {0}; /* entries of 64 KB and of 2 MB */
        pages = t->s->root[app] == HD_NONE
                    ? 0
                    : check_table(t, err, t->s->root[app], check_first(t, app),
                                  large);
        all += pages;
        if (pages != t->s->pages[app] || large[0] != 16 * t->s->large[app][0] ||
            large[1] != t->s->large[app][1])
            hd_err_set(err, HEDDLE_ECHECK,
                       "page table: application %u has %llu pages mapped, "
                       "%llu of 2 MB, and %llu counted, %llu of 2 MB",
                       app, (unsigned long long)pages,
                       (unsigned long long)large[1],
                       (unsigned long long)t->s->pages[app],
                       (unsigned long long)t->s->large[app][1]);
    }
    for (uint64_t b = 0; b < t->big.n; b++) {
        uint64_t f = b * HD_LARGE_PAGES, end = f + HD_LARGE_PAGES;
        if (hd_frames_fresh(&t->frames, b))
            continue;
        for (; f < end; f++) { /* past the last there is none */
            uint32_t o = hd_frames_owner(&t->frames, f);
            owned += o != 0;
            foreign += o == HD_PT_FOREIGN;
        }
    }
    all += foreign + t->s->kept + t->s->in_flight + t->s->evicting -
           t->s->host_mapped;
    check_big(t, err);
    hd_pt_check_chunks(t, err);
    if (t->cfg.scan)
        hd_contig_check(t, err);
    if (owned != all || foreign != t->s->foreign ||
        owned != hd_frames_used(&t->frames))
        hd_err_set(
            err, HEDDLE_ECHECK,
            "frames: %llu owned; %llu pages mapped, in flight, being evicted, "
            "foreign or kept for coalesced regions; %llu counted",
            (unsigned long long)owned, (unsigned long long)all,
            (unsigned long long)hd_frames_used(&t->frames));
    for (uint32_t i = 0; i < t->s->ranges; i++) {
        const struct hd_pt_range *r = hd_pt_range_of(t, i);
        allocated += 16 * ((r->vpn + r->pages - 1) / 16 - r->vpn / 16 + 1);
    }
    if (allocated != t->s->allocated)
        hd_err_set(err, HEDDLE_ECHECK,
                   "page tables: %llu base pages are allocated in units of "
                   "64 KB, %llu counted",
                   (unsigned long long)allocated,
                   (unsigned long long)t->s->allocated);
    hd_pt_check_advice(t, err);
    if (t->compress != NULL &&
        hd_compress_pages(t->compress) != all - t->s->kept)
        hd_err_set(
            err, HEDDLE_ECHECK,
            "frames: %llu pages mapped, in flight or being evicted; %llu have "
            "memory",
            (unsigned long long)(all - t->s->kept),
            (unsigned long long)hd_compress_pages(t->compress));
}
