/*
 * ptlook.c - page tables as people see them, and the check of their invariants.
 *
 * Both go down from the root through the entries in memory, so they see what
 * a walk would see and not what the short way says.
 *
 * SPDX-License-Identifier: MIT
 */
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
            run->page_pages == 1    ? "4 KB"
            : run->page_pages == 16 ? "64 KB"
                                    : "2 MB");
}

/* Extends a run by a page, or shows it and begins the next. */
static void extend(struct heddle_visitor *v, struct hd_xlate *run, uint64_t vpn,
                   uint64_t pfn, uint32_t pages)
{
    if (run->pages != 0 && run->page_pages == pages &&
        run->vpn.v + run->pages == vpn && run->pfn.v + run->pages == pfn) {
        run->pages += pages;
        return;
    }
    show_run(v, run);
    *run = (struct hd_xlate){{vpn}, {pfn}, pages, pages};
}

/* Shows what lies below table n, in the order of addresses. */
static void look_table(const struct hd_ptables *t, struct heddle_visitor *v,
                       uint32_t n, uint64_t vpn, struct hd_xlate *run)
{
    uint32_t level = t->table[n].level;
    const uint64_t *e = hd_pt_entry(t, t->table[n].at);

    for (uint32_t i = 0; i < 512; i++) {
        uint64_t at = vpn | (uint64_t)i << (9 * (4 - level));
        uint64_t f = (e[i] & HD_PT_FRAME) / HD_PAGE_BYTES;
        if (!(e[i] & HD_PT_PRESENT))
            continue;
        if (level == 4 && e[i] & HD_PT_64K) {
            extend(v, run, at, f, 16);
            i += 15;
        } else if (level == 4 || e[i] & HD_PT_2M) {
            extend(v, run, at, f, level == 4 ? 1 : HD_LARGE_PAGES);
        } else {
            look_table(t, v, (uint32_t)(f - t->first_table), at, run);
        }
    }
}

void hd_ptables_look(void *self, uint32_t app, struct heddle_visitor *v)
{
    const struct hd_ptables *t = self;
    struct hd_xlate run = {{0}, {0}, 0, 0};

    if (t->s->root[app] != HD_NONE)
        look_table(t, v, t->s->root[app], 0, &run);
    show_run(v, &run);
}

/* Counts the present leaf pages below a table from the root down; checks each
 * against the short way, the frame's owner and the table's count. */
static uint64_t check_table(const struct hd_ptables *t, struct hd_err *err,
                            uint32_t n, uint64_t vpn)
{
    const struct hd_pt_table *x = &t->table[n];
    const uint64_t *e = hd_pt_entry(t, x->at);
    uint64_t pages = 0, present = 0;

    for (uint32_t i = 0; i < 512; i++) {
        uint64_t at = vpn | (uint64_t)i << (9 * (4 - x->level));
        uint64_t f = (e[i] & HD_PT_FRAME) / HD_PAGE_BYTES;
        uint32_t app;
        struct hd_xlate found;
        hd_vpn owner;

        if (!(e[i] & HD_PT_PRESENT))
            continue;
        present++;
        if (x->level < 4 && !(e[i] & HD_PT_2M)) {
            pages += check_table(t, err, (uint32_t)(f - t->first_table), at);
            continue;
        }
        pages += x->level == 4 ? 1 : HD_LARGE_PAGES;
        if (!hd_ptables_find(t, x->app, (hd_vpn){at}, &found) ||
            hd_xlate_frame(&found, (hd_vpn){at}).v != f ||
            !hd_ptables_owner(t, (hd_pfn){f}, &app, &owner) || app != x->app ||
            owner.v != at)
            hd_err_set(err, HEDDLE_ECHECK,
                       "page table: application %u, page 0x%llx: the entry "
                       "names frame %llu, which the frame table does not "
                       "give to it",
                       x->app, (unsigned long long)at, (unsigned long long)f);
    }
    if (present != x->used)
        hd_err_set(err, HEDDLE_ECHECK,
                   "page table %u: %llu entries are present, %u counted", n,
                   (unsigned long long)present, x->used);
    return pages;
}

void hd_ptables_check(void *self, uint32_t instance, struct hd_err *err)
{
    const struct hd_ptables *t = self;
    uint64_t all = 0, owned = 0, pages;

    if (instance != 0) /* all applications are checked at once */
        return;
    for (uint32_t app = 0; app < HD_MAX_APPS; app++) {
        pages = t->s->root[app] == HD_NONE
                    ? 0
                    : check_table(t, err, t->s->root[app], 0);
        all += pages;
        if (pages != t->s->pages[app])
            hd_err_set(err, HEDDLE_ECHECK,
                       "page table: application %u has %llu pages mapped and "
                       "%llu counted",
                       app, (unsigned long long)pages,
                       (unsigned long long)t->s->pages[app]);
    }
    for (uint64_t f = 0; f < t->frames.frames; f++)
        owned += hd_frames_owner(&t->frames, f) != 0;
    if (owned != all || owned != hd_frames_used(&t->frames))
        hd_err_set(err, HEDDLE_ECHECK,
                   "frames: %llu owned, %llu pages mapped, %llu counted",
                   (unsigned long long)owned, (unsigned long long)all,
                   (unsigned long long)hd_frames_used(&t->frames));
}
