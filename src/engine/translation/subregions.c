/*
 * subregions.c - contiguous subregions: which leaf entry a walk reads, what its
 * walker reads after the answer, and the memory subregion cache (Yu, Bai, Wang:
 * MESC).
 *
 * With l2tlb.sub_ways a walker looks at the bits of the level-3 entry
 * (contig.h).  AC: it reads the first entry of the table, which stands for all
 * 512 pages (mode a of the paper's figure 6).  C of the page's subregion: it
 * reads the subregion's head PTE, its first entry, which stands for its 64
 * pages (c).  Else the page's own (b).  Where leaf entries have the bits
 * (msc.bits) it is always the page's own, and says as much.
 *
 * In c the walk's requests are answered, and its MSHR is free; the walker stays
 * busy with extra reads that find out which neighbouring subregions continue
 * the page's own: one entry of the L2 TLB is to hold them all.  It asks the
 * memory subregion cache (MSC), which keeps seven bits a region: whether
 * subregions i and i + 1 are linked.  A hit ends it.  Otherwise the head PTEs
 * of all other subregions with C are read, at most seven, one after the other,
 * and fill the MSC; without an MSC, those above the page's own as far as they
 * are linked, then those below.  Then the L2 TLB is filled.  Misses of the
 * region's pages that come before do not know of it and walk on their own
 * (msc.early counts them).  Of walks that a walker takes together (walk.batch)
 * each has extra reads of its own, while the others of the batch proceed; the
 * walker is free when all have ended.  Walks of a fixed time read nothing, so
 * they know no bits, and sub_ways refuses them.
 *
 * Memory takes such reads as it takes data (level 0): no warp waits for them.
 *
 * What changes the bits, or shoots a page of the region down, cancels that:
 * walks in flight answer with what the page table says of their page when they
 * end, extra reads fill nothing, and the MSC's entry is dropped.
 *
 * Invariant: an entry of the MSC has the links of the page table.
 *
 * SPDX-License-Identifier: MIT
 */
#include "pages/contig.h"
#include "walk.h"

#define HD_PART    msc
#define HD_CFG     struct hd_msc_cfg
#define HD_PART_OF "translation/msc.def"
#include "kit/rows.h"

int hd_subregions_open(struct hd_unit *u, struct hd_stat stat)
{
    struct hd_subregions *h = &u->subs;
    struct hd_env *env = u->m->env;
    uint32_t n = h->cfg.entries, ways = h->cfg.ways;
    uint32_t walks = u->m->walk_cfg.walkers * u->m->walk_cfg.batch;

    h->stat = stat;
    h->instance = u->instance;
    h->latency = u->m->tick * h->cfg.latency;
    if (u->m->tlb_cfg.sub_ways == 0)
        return 0;
    h->extra = hd_arena_take(env->arena, walks, sizeof *h->extra);
    if (h->extra == NULL || hd_numbers_open(&h->extras, env->arena, walks) < 0)
        return hd_err_memory(env->err);
    if (n == 0)
        return 0;
    if (ways == 0 || ways > n)
        ways = n;
    if (n % ways != 0)
        return hd_err_set(env->err, HEDDLE_ECONFIG,
                          "msc.entries: %u is not a multiple of msc.ways = %u",
                          n, ways);
    h->mask = hd_is_pow2(n / ways) ? n / ways - 1 : 0;
    h->links = hd_arena_take(env->arena, n, sizeof *h->links);
    if (h->links == NULL ||
        hd_assoc_open(&h->tags, env, "msc", u->instance, n / ways, ways) < 0)
        return hd_err_memory(env->err);
    return 0;
}

static void msc_count(const struct hd_subregions *h, uint32_t app,
                      uint32_t counter)
{
    (*hd_count(&h->stat, h->instance, app, counter))++;
}

/* The subregion of a page in its region. */
static uint32_t sub_number_of(hd_vpn vpn)
{
    return (uint32_t)(vpn.v / HD_SUB_PAGES) % HD_SUBS;
}

static hd_vpn sub_region_of(hd_vpn vpn)
{
    return (hd_vpn){vpn.v & ~(uint64_t)(HD_LARGE_PAGES - 1)};
}

/* ---- walks ------------------------------------------------------------- */

/* The page whose entry a walk with these bits reads. */
static hd_vpn head_of(hd_vpn vpn, uint32_t bits)
{
    if (bits & HD_CONTIG_ALL)
        return sub_region_of(vpn);
    if (bits >> sub_number_of(vpn) & 1)
        vpn.v &= ~(uint64_t)(HD_SUB_PAGES - 1);
    return vpn;
}

void hd_subregions_aim(struct hd_unit *u, struct hd_walk *w)
{
    uint32_t bits = hd_contig_of(u->m->w.tables, w->app, w->vpn);

    if (!(bits & HD_CONTIG_ALL) && (bits >> sub_number_of(w->vpn) & 1) == 0)
        return;
    w->bits = (uint16_t)bits;
    if (u->subs.cfg.bits == 0)
        w->pte[3].v -= 8 * (w->vpn.v - head_of(w->vpn, bits).v);
    msc_count(&u->subs, w->app,
              bits & HD_CONTIG_ALL ? HD_MSC_REGIONS : HD_MSC_SUBREGIONS);
}

bool hd_subregions_found(const struct hd_unit *u, const struct hd_walk *w,
                         struct hd_xlate *x)
{
    hd_vpn head = head_of(w->vpn, w->bits);

    if (!hd_ptables_find(u->m->w.tables, w->app, head, x))
        return false;
    x->pages = w->bits & HD_CONTIG_ALL ? HD_LARGE_PAGES : HD_SUB_PAGES;
    return true;
}

bool hd_subregions_stay(struct hd_unit *u, hd_time now, const struct hd_walk *w,
                        const struct hd_treq *first)
{
    uint32_t i;

    if (w->bits == 0 || w->bits & HD_CONTIG_ALL)
        return false;
    i = hd_numbers_take(&u->subs.extras);
    u->subs.extra[i] =
        (struct hd_extra){.vpn = w->vpn,
                          .began = now,
                          .req = HD_NONE,
                          .batch = u->batch == NULL ? w->walker : w->batch,
                          .core = first->core,
                          .warp = first->warp,
                          .bits = w->bits,
                          .app = w->app};
    if (u->batch == NULL) {
        u->s->walkers++;
        hd_walk_seat(u, w->walker);
    } else {
        u->batch[w->batch].left++;
    }
    hd_walk_post(u, now + u->subs.latency * (u->subs.links != NULL),
                 HD_PTW_EXTRA, i);
    return true;
}

/* Whether extra reads are under way and concern a page of [vpn, vpn + pages).
 */
static bool concerns(const struct hd_extra *t, uint32_t app, hd_vpn vpn,
                     uint64_t pages)
{
    return t->bits != 0 && (app == HD_APP_NONE || t->app == app) &&
           sub_region_of(t->vpn).v < vpn.v + pages &&
           vpn.v < sub_region_of(t->vpn).v + HD_LARGE_PAGES;
}

void hd_subregions_missed(struct hd_unit *u, uint32_t app, hd_vpn vpn)
{
    const struct hd_subregions *h = &u->subs;

    for (uint32_t i = 0; hd_numbers_live(&h->extras) != 0 && i < h->extras.room;
         i++)
        if (concerns(&h->extra[i], app, vpn, 1) &&
            h->extra[i].bits >> sub_number_of(vpn) & 1) {
            msc_count(h, app, HD_MSC_EARLY);
            return;
        }
}

/* ---- the memory subregion cache ----------------------------------------- */

/* The entry of a region, or HD_NONE; its key and set. */
static uint32_t msc_find(const struct hd_subregions *h, uint32_t app,
                         hd_vpn vpn, uint64_t *key, uint32_t *set)
{
    uint64_t n = vpn.v / HD_LARGE_PAGES;

    *key = n | (uint64_t)app << HD_TLB_APP_SHIFT;
    *set = (uint32_t)(h->mask != 0 ? n & h->mask : n % h->tags.sets);
    return hd_assoc_find(&h->tags, *set, *key);
}

/* The region of a key, as extra reads have it. */
static struct hd_extra of_key(uint64_t key)
{
    return (struct hd_extra){
        .vpn = {(key & hd_ones(HD_TLB_APP_SHIFT)) * HD_LARGE_PAGES},
        .bits = 1,
        .app = (uint8_t)(key >> HD_TLB_APP_SHIFT)};
}

static void msc_ask(struct hd_subregions *h, struct hd_extra *t)
{
    uint64_t key;
    uint32_t set, e = msc_find(h, t->app, t->vpn, &key, &set);

    msc_count(h, t->app, HD_MSC_LOOKUPS);
    if (e == HD_NONE)
        return;
    msc_count(h, t->app, HD_MSC_HITS);
    hd_assoc_touch(&h->tags, e, (struct hd_who){t->app, t->warp});
    t->hit = 1;
    t->links = h->links[e];
}

static void msc_keep(struct hd_subregions *h, const struct hd_extra *t,
                     uint32_t links)
{
    uint64_t key, gone;
    uint32_t set, e = msc_find(h, t->app, t->vpn, &key, &set);

    if (e == HD_NONE) { /* else another walker was quicker */
        e = hd_assoc_place(&h->tags, set, key, (struct hd_who){t->app, t->warp},
                           &gone);
        if (gone != HD_KEY_NONE)
            msc_count(h, (uint32_t)(gone >> HD_TLB_APP_SHIFT),
                      HD_MSC_EVICTIONS);
        msc_count(h, t->app, HD_MSC_FILLS);
    }
    h->links[e] = (uint8_t)links;
}

/* ---- extra reads -------------------------------------------------------- */

/* The links around a page as the page table has them; *c: of its region. */
static uint32_t links_of(const struct hd_unit *u, const struct hd_extra *t,
                         struct hd_contig *c)
{
    hd_contig_look(u->m->w.tables, t->app, t->vpn, c);
    return hd_contig_links(c);
}

/* Without an MSC: the subregion whose head PTE is read next, a bit; 0: none. */
static uint32_t outward(const struct hd_unit *u, const struct hd_extra *t)
{
    struct hd_contig c;
    uint32_t links = links_of(u, t, &c), up = sub_number_of(t->vpn), down = up;

    while (t->read >> (up + 1) & links >> up & 1)
        up++;
    if ((t->bits & ~t->read) >> (up + 1) & 1) /* no AC here */
        return 1u << (up + 1);
    while (down > 0 && t->read >> (down - 1) & links >> (down - 1) & 1)
        down--;
    return down > 0 ? t->bits & ~t->read & 1u << (down - 1) : 0;
}

/* Which head PTE is read next; false: what there is to know is known. */
static bool extra_next(struct hd_unit *u, uint32_t i, hd_pa *pa)
{
    struct hd_subregions *h = &u->subs;
    struct hd_extra *t = &h->extra[i];
    uint32_t want;
    hd_vpn head;

    if (t->read == 0) {
        t->read = (uint8_t)(1u << sub_number_of(t->vpn));
        if (h->links != NULL)
            msc_ask(h, t);
    }
    if (t->bits == 0 || t->hit)
        return false;
    want = h->links != NULL ? t->bits & ~(uint32_t)t->read : outward(u, t);
    if (want == 0)
        return false;
    want = hd_bit_first(want);
    t->read = (uint8_t)(t->read | 1u << want);
    head.v = sub_region_of(t->vpn).v + want * HD_SUB_PAGES;
    *pa = hd_ptables_table(u->m->w.tables, t->app, head, 4);
    msc_count(h, t->app, HD_MSC_READS);
    return true;
}

/* The extra reads have ended: the MSC and the L2 TLB are filled. */
static void extra_end(struct hd_unit *u, hd_time now, uint32_t i)
{
    struct hd_subregions *h = &u->subs;
    struct hd_extra *t = &h->extra[i];
    struct hd_contig c;
    uint32_t links, first, n;
    struct hd_xlate x;

    *hd_count(&h->stat, h->instance, t->app, HD_MSC_BUSY_CYCLES) +=
        hd_unit_cycles(u->m, now - t->began);
    hd_numbers_give(&h->extras, i);
    if (t->bits == 0) {
        msc_count(h, t->app, HD_MSC_CANCELLED);
        return;
    }
    links = links_of(u, t, &c);
    if (t->hit)
        links = t->links;
    else if (h->links != NULL)
        msc_keep(h, t, links);
    n = hd_contig_run(links, sub_number_of(t->vpn), &first);
    x = (struct hd_xlate){{sub_region_of(t->vpn).v + first * HD_SUB_PAGES},
                          {c.head[first].v},
                          n * HD_SUB_PAGES,
                          1};
    u->hand = NULL;
    hd_tlb_fill(&u->tlb, t->app, t->core, t->warp, t->vpn, &x, 0);
    t->bits = 0;
}

void hd_subregions_read(struct hd_unit *u, hd_time now, uint32_t i)
{
    struct hd_extra *t = &u->subs.extra[i];
    struct hd_req *q;
    hd_pa pa;

    if (!extra_next(u, i, &pa)) {
        extra_end(u, now, i);
        hd_ptw_free(u, now, t->batch);
        return;
    }
    t->req = hd_walk_request(u, i, t->app);
    q = &u->m->w.reqs->v[t->req];
    q->spare = t->core;
    hd_walk_send_read(u->m, now, pa, 0, q, t->req, u->ticket); /* level 0 */
}

void hd_subregions_back(struct hd_unit *u, hd_time at, uint32_t i)
{
    u->subs.extra[i].req = HD_NONE;
    hd_walk_post(u, at, HD_PTW_EXTRA, i);
}

void hd_subregions_forget(struct hd_unit *u, uint32_t app, hd_vpn vpn,
                          uint64_t pages)
{
    struct hd_subregions *h = &u->subs;

    if (h->extra == NULL || pages == 0)
        return;
    for (uint32_t i = 0; i < h->extras.room; i++)
        if (concerns(&h->extra[i], app, vpn, pages))
            h->extra[i].bits = 0;
    for (uint32_t e = 0; e < u->miss.room; e++) {
        struct hd_walk *w = &u->walk[e];
        struct hd_extra t = {.vpn = w->vpn, .bits = w->bits, .app = w->app};
        if (u->miss.v[e].live && concerns(&t, app, vpn, pages))
            w->bits = 0;
    }
    for (uint32_t e = 0; e < h->tags.sets * h->tags.ways; e++) {
        uint64_t key = h->tags.key[e];
        struct hd_extra t = of_key(key);
        if (key == HD_KEY_NONE || !concerns(&t, app, vpn, pages))
            continue;
        hd_assoc_drop(&h->tags, e);
        msc_count(h, t.app, HD_MSC_INVALIDATIONS);
    }
}

/* ---- looking and checking ----------------------------------------------- */

void hd_subregions_look(void *mmu, uint32_t i, struct heddle_visitor *v)
{
    const struct hd_subregions *h = &hd_unit_of(mmu, i)->subs;

    for (uint32_t e = 0; e < h->tags.sets * h->tags.ways; e++) {
        uint64_t key = h->tags.key[e];
        if (key == HD_KEY_NONE)
            continue;
        v->row(v->ud, "entry");
        v->number(v->ud, "set", e / h->tags.ways);
        v->number(v->ud, "way", e % h->tags.ways);
        v->number(v->ud, "app", of_key(key).app);
        v->number(v->ud, "vpn", of_key(key).vpn.v);
        v->number(v->ud, "links", h->links[e]);
        v->number(v->ud, "depth", hd_assoc_depth(&h->tags, e));
    }
}

void hd_subregions_check(void *mmu, uint32_t i, struct heddle_error *err)
{
    const struct hd_unit *u = hd_unit_of(mmu, i);
    const struct hd_subregions *h = &u->subs;

    for (uint32_t e = 0; e < h->tags.sets * h->tags.ways; e++) {
        uint64_t key = h->tags.key[e];
        struct hd_extra t = of_key(key);
        struct hd_contig c;
        if (key != HD_KEY_NONE && links_of(u, &t, &c) != h->links[e])
            hd_err_set(err, HEDDLE_ECHECK,
                       "msc: application %u, page 0x%llx: links are 0x%x, not "
                       "what the page table says",
                       t.app, (unsigned long long)t.vpn.v, h->links[e]);
    }
}
