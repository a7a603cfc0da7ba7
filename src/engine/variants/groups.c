/*
 * groups.c - TLB entries for aligned groups of 2^k pages, of the size that a
 * policy chooses when a walk has ended (tlb_group), and marks in page-table
 * entries by which it knows them.
 *
 * Pages that are contiguous in virtual and physical memory can share an entry.
 * CoLT's runs (translation/runs.c) are within a line of entries, MESC's
 * subregions of 64 pages; here an entry covers 1, 2, 4, up to 512 pages, so
 * that groups grow by merging: SnakeByte (Lee et al., HPCA 2023) merges equal
 * groups recursively and keeps in the page table how far it has come.  A size
 * is a class of entries in the base array of a TLB (translation/tlb.c), whose
 * set is that of the group's number; a look-up compares all sizes that are
 * present at once, which a real TLB would do one after the other, or with as
 * many arrays.
 *
 * A policy is asked once for each walk that requests wait for.  It gets, of
 * each size, the mark of the group's first page and of the group next to it
 * with which it would be one of twice the size, and whether the frames of both
 * continue each other; and the size that a scan of the page table would find.
 * It answers k, and may have the mark of the group's first page changed.  A
 * mark is 8 bits of an entry of 4 KB pages; of a group that is not contiguous
 * it reads as 0, as if who takes a page away cleared it.  An answer whose pages
 * are not contiguous is an error of the policy.
 *
 * The walk's requests are answered with the group.  The L2 TLB holds it as one
 * entry; L1 TLBs hold the part that groups.l1 allows.  Whatever ends the
 * translation of one of its pages ends the entry.  Where a policy answers
 * tlb_merge of a TLB, that decides what an entry of it covers.
 *
 * Left out: reads and writes of the entries that hold the marks, which are
 * counted only; groups with gaps; larger pages, each its own group.
 *
 * Invariant: the pages of an entry are contiguous (runs.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "translation/unit.h"

#define HD_PART    groups
#define HD_CFG     struct hd_groups_cfg
#define HD_PART_OF "variants/groups.def"
#include "kit/rows.h"

enum { SIZES = 10, MARK = 255 };

static uint64_t *groups_count(const struct hd_unit *u, uint32_t app,
                              enum hd_groups_stat what)
{
    return hd_count(&u->group_stat, u->instance, app, what);
}

/* The engine's own choice: the page alone. */
static int64_t groups_default(void *mmu, const void *question)
{
    (void)mmu, (void)question;
    return 0;
}

/* ---- marks -------------------------------------------------------------- */

/* What the entry of a page in a frame holds: a word that names the page, so
 * that another page of the frame has none. */
static uint64_t *groups_word(const struct hd_mmu *m, uint64_t frame)
{
    return frame < m->marks_n ? &m->marks[frame] : NULL;
}

static uint64_t groups_name(uint32_t app, uint64_t vpn)
{
    return vpn << 16 | (uint64_t)app << 8;
}

static uint64_t groups_mark(const struct hd_mmu *m, uint32_t app, uint64_t vpn,
                            uint64_t frame)
{
    const uint64_t *word = groups_word(m, frame);

    return word != NULL && (*word & ~(uint64_t)MARK) == groups_name(app, vpn)
               ? *word & MARK
               : 0;
}

static void groups_set(struct hd_unit *u, uint32_t app, hd_vpn vpn,
                       uint64_t first, uint64_t frame, uint64_t mark)
{
    const struct hd_mmu *m = u->m;
    uint64_t *word = groups_word(m, frame);

    if (word == NULL || groups_mark(m, app, first, frame) == mark)
        return;
    *word = groups_name(app, first) | mark;
    ++*groups_count(u, app, HD_GROUPS_MARKS);
    if (first / m->run_pages != vpn.v / m->run_pages)
        ++*groups_count(u, app, HD_GROUPS_APART);
}

/* ---- the question ------------------------------------------------------- */

/* Arrays of the question. */
struct groups_arrays {
    uint64_t own[SIZES], buddy[SIZES], joins[SIZES];
};

/* Whether the 2^k pages from `first` on are in the run. */
static bool groups_in(const struct hd_xlate *run, uint64_t first, uint32_t k)
{
    return first >= run->vpn.v &&
           first + (1ull << k) <= run->vpn.v + run->pages;
}

/* Fills the arrays; the largest size whose pages are contiguous. */
static uint32_t groups_look(const struct hd_mmu *m, uint32_t app, hd_vpn vpn,
                            const struct hd_xlate *run, struct groups_arrays *a)
{
    uint32_t most = m->groups_cfg.most, whole = 0;

    for (uint32_t k = 0; k <= most; k++) {
        uint64_t first = vpn.v & ~hd_ones(k), other = first ^ 1ull << k;
        hd_vpn head = {first}, next = {other};
        struct hd_xlate x, y;

        a->own[k] = a->buddy[k] = a->joins[k] = 0;
        if (groups_in(run, first, k)) {
            whole = k;
            a->own[k] = groups_mark(m, app, first, hd_xlate_frame(run, head).v);
        }
        if (k == most || !hd_ptables_find(m->w.tables, app, head, &x) ||
            !hd_ptables_find(m->w.tables, app, next, &y))
            continue;
        x.pfn = hd_xlate_frame(&x, head);
        y.pfn = hd_xlate_frame(&y, next);
        a->joins[k] = x.page_pages == 1 && y.page_pages == 1 &&
                      y.pfn.v - x.pfn.v == other - first;
        if (groups_in(run, hd_min_u64(first, other), k + 1))
            a->buddy[k] = groups_mark(m, app, other, y.pfn.v);
    }
    return whole;
}

void hd_groups_choose(struct hd_unit *u, uint32_t app, hd_vpn vpn,
                      uint32_t core, uint32_t pc, struct hd_xlate *x)
{
    const struct hd_mmu *m = u->m;
    uint32_t most = m->groups_cfg.most, whole, k;
    struct groups_arrays a;
    struct heddle_q_tlb_group q;
    struct hd_xlate run;
    hd_vpn first;

    if (x->page_pages != 1)
        return;
    hd_ptables_run(m->w.tables, app, vpn, 1u << most, &run);
    if (run.pages == 0) /* mapped no more */
        return;
    whole = groups_look(m, app, vpn, &run, &a);
    q = (struct heddle_q_tlb_group){.app = app,
                                    .vpn = vpn.v,
                                    .most = most,
                                    .whole = whole,
                                    .sizes = most + 1,
                                    .own = a.own,
                                    .buddy = a.buddy,
                                    .joins = a.joins,
                                    .core = core,
                                    .pc = pc,
                                    .mark = UINT64_MAX};
    k = (uint32_t)hd_ask_tlb_group(&m->group, &q);
    if (k > whole || (q.mark != UINT64_MAX && q.mark > MARK)) {
        hd_slots_refuse(&m->group, HEDDLE_POINT_tlb_group, &q, k,
                        "a size up to `whole', and a mark up to 255",
                        m->env->err);
        return;
    }
    first.v = vpn.v & ~hd_ones(k);
    if (q.mark != UINT64_MAX)
        groups_set(u, app, vpn, first.v, hd_xlate_frame(&run, first).v, q.mark);
    if (k == 0)
        return;
    *x = (struct hd_xlate){first, hd_xlate_frame(&run, first), 1u << k, 1};
    ++*groups_count(u, app, HD_GROUPS_FORMED);
    *groups_count(u, app, HD_GROUPS_PAGES) += x->pages;
}

/* ---- building ----------------------------------------------------------- */

/* What groups cannot be with, or NULL. */
static const char *groups_against(const struct hd_mmu *m)
{
    return m->tlb_cfg.sub_ways != 0 ? "l2tlb.sub_ways = 0"
           : m->levels != NULL      ? "levels of uTLBs without entries"
           : m->walk_cfg.mode.kind != HD_FULL ? "walk.mode = full"
                                              : NULL;
}

int hd_groups_open(struct hd_mmu *m)
{
    struct hd_env *env = m->env;
    const char *wanted = groups_against(m);

    if (m->groups_cfg.most == 0)
        return 0;
    if (wanted != NULL)
        return hd_err_set(env->err, HEDDLE_ECONFIG,
                          "groups.most = %u: %s is expected with it",
                          m->groups_cfg.most, wanted);
    m->marks_n = hd_ptables_frames(m->w.tables);
    m->marks = hd_arena_take(env->arena, m->marks_n, sizeof *m->marks);
    if (m->marks == NULL)
        return hd_err_memory(env->err);
    hd_slots_offer(env->slots, HEDDLE_POINT_tlb_group, "", &m->group,
                   groups_default, m);
    return 0;
}
