/*
 * compress.c - memory capacity compression: more pages fit, and what that costs
 * where memory is read and written.
 *
 * After ETC (Li et al., ASPLOS 2019, section 4.4), which takes linearly
 * compressed pages (lcp.c).  Each 4 KB of a page, of whatever size, have a
 * layout of their own and take 512 B, 1 KB, 2 KB or 4 KB; memory is a budget of
 * pieces of 512 bytes (compress.enable), wherever they are.  Frames are
 * names then: there are eight for each that memory has, so that pieces are
 * used up before frames are, and caches and DRAM go by the addresses of a
 * memory that large.  A page that finds too few pieces is one that finds no
 * frame (pages/ptframes.c), and others are evicted as without compression.
 *
 *     page comes --layout known?--> page_compress, sizes of its lines
 *                --pieces left?---> they are taken; else others are evicted
 *     line is read     metadata cache --miss--> a read of DRAM more
 *     line is written  it fits its slot, or a place for exceptions; else the
 *                      page grows (overflow), and takes what it grows by
 *
 * Sizes.  A page is laid out when it first comes, by what the host's copy held
 * when the application started, if a kernel program says what it is.  Else its
 * class is drawn: of two neighbouring ones, so that pages take 1 /
 * compress.ratio of their bytes on average.  A line that is written draws
 * whether it fits its slot (compress.misfit), since programs run ahead of
 * memory and what a buffer holds when a line is written back is not what the
 * line held.  All is drawn by a hash of the seed, the application, the page,
 * the line and how often the page was written.  A page that is evicted and
 * comes back is laid out as it was.
 *
 * Costs.  The memory controllers share one cache of metadata, an entry a page;
 * a miss is a read of 64 bytes in the page's own row before the line's own.  A
 * line that is read takes compress.unpack cycles more, one that is written
 * compress.pack.  A page that outgrows its class takes the next (overflow of
 * type 1) or, beyond 2 KB, is stored as it is (type 2): nothing of it is read
 * or written for compress.grow or compress.restore cycles.  If that is more
 * than there is, pages are evicted (paging/evict.c).
 *
 * The link carries pages as they are, unless compress.link has it carry what
 * they take in memory, as if the host had them compressed.
 *
 * Pages that are stored as they are have a bit in their page table entry that
 * says so: they cost nothing.
 *
 * Invariants: pieces in use are the sum over pages that have frames; of a page
 * whose growth is known to the manager, what it was charged is what it takes.
 *
 * Left out on purpose: where pieces are (no pools by class, no
 * fragmentation); neighbours that one burst brings along; a page's few cycles
 * in the pipeline when it comes; the copy of a page that grows, in DRAM.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compress.h"

#include <string.h>

#include "points/slots.h"
#include "assoc.h"
#include "request.h"

#define HD_PART    compress
#define HD_CFG     struct hd_compress_cfg
#define HD_PART_OF "memory/compress.def"
#include "kit/rows.h"

enum {
#define HD_COUNTERS_OF "memory/compress.def"
#include "kit/rows.h"
};

enum { PIECE = 512, FIRST_PIECES = 64 }; /* pages of a piece of the table */

struct page {
    hd_time busy;          /* it grows until then */
    uint64_t exception[2]; /* a bit for each line */
    uint32_t key;          /* a hash of its application and place */
    uint32_t writes;
    struct hd_lcp is; /* granules 0: never laid out */
    uint8_t charged;  /* granules that it has taken from memory */
    uint8_t app;
};

struct state {
    hd_ref piece; /* [room] */
    uint32_t room;
    uint64_t used;  /* granules */
    uint64_t pages; /* that have some */
    uint64_t news;  /* pages that grew, not yet reported to the manager */
};

struct hd_compress {
    struct hd_env *env;
    struct hd_compress_wiring w;
    struct hd_compress_cfg cfg;
    uint32_t (*owner)(void *self, uint64_t frame);
    uint64_t (*allocated)(void *self);
    void *owner_self;
    void (*outgrown)(void *self, hd_time now, uint32_t app);
    void *outgrown_self;
    struct state *s; /* arena */
    struct hd_assoc tags;
    struct hd_slot slot;
    struct hd_stat stat;
    uint64_t granules; /* of memory */
    uint64_t ratio[HD_MAX_APPS];
    uint32_t component, line_shift;
    hd_time pack, unpack, cycle;
};

static uint64_t *compress_count(const struct hd_compress *c, uint32_t app,
                                uint32_t what)
{
    return hd_count(&c->stat, 0, app, what);
}

/* ---- settings ------------------------------------------------------------ */

/* Percents of the applications, from "a,b,..".  Whether it is that. */
static bool ratios(const char *text, uint64_t *out)
{
    uint64_t v = 0;

    for (uint32_t i = 0; i < HD_MAX_APPS; i++) {
        if (*text != '\0') {
            char *end;
            if (*text < '0' || *text > '9')
                return false;
            v = strtoull(text, &end, 10);
            if (v < 100 || v > 100 * HD_PAGE_GRANULES ||
                (*end != '\0' && (*end != ',' || end[1] == '\0')))
                return false;
            text = end + (*end == ',');
        }
        out[i] = v;
    }
    return *text == '\0' && v != 0;
}

int hd_compress_check(const struct hd_compress_cfg *cfg, uint32_t line,
                      struct heddle_error *err)
{
    uint64_t any[HD_MAX_APPS];

    if (!cfg->enable)
        return 0;
    if (!ratios(cfg->ratio, any))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "compress.ratio: '%s' is not a list of percentages "
                          "from 100 to 800, separated by commas",
                          cfg->ratio);
    if (!hd_lcp_line(line))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "l2cache.line: %u, but compressed pages "
                          "(compress.enable) have lines of 32, 64 or 128 bytes",
                          line);
    if (cfg->ways != 0 && cfg->entries % cfg->ways != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "compress.entries: %u is not a multiple of "
                          "compress.ways (%u)",
                          cfg->entries, cfg->ways);
    return 0;
}

/* ---- the table of pages -------------------------------------------------- */

static hd_ref *pieces(const struct hd_compress *c)
{
    return hd_arena_at(c->env->arena, c->s->piece);
}

/* A page's record; NULL: there is none. */
static struct page *compress_find(const struct hd_compress *c, uint32_t number)
{
    uint32_t i = number / PIECE;

    if (i >= c->s->room || pieces(c)[i] == HD_NONE)
        return NULL;
    return (struct page *)hd_arena_at(c->env->arena, pieces(c)[i]) +
           number % PIECE;
}

/* Takes an array of `room` pieces that begins as the one there is. */
static int compress_widen(struct hd_compress *c, uint32_t room)
{
    hd_ref *p = hd_arena_take(c->env->arena, room, sizeof *p);

    if (p == NULL)
        return -1;
    for (uint32_t i = 0; i < room; i++)
        p[i] = i < c->s->room ? pieces(c)[i] : HD_NONE;
    c->s->piece = hd_arena_ref(c->env->arena, p);
    c->s->room = room;
    return 0;
}

/* The page of a number, made if it is not there; NULL: out of memory. */
static struct page *get(struct hd_compress *c, uint32_t number)
{
    uint32_t i = number / PIECE, room = c->s->room;
    void *p;

    while (i >= room)
        room *= 2;
    if (room != c->s->room && compress_widen(c, room) < 0)
        return NULL;
    if (pieces(c)[i] == HD_NONE) {
        p = hd_arena_take(c->env->arena, PIECE, sizeof(struct page));
        if (p == NULL)
            return NULL;
        pieces(c)[i] = hd_arena_ref(c->env->arena, p);
    }
    return compress_find(c, number);
}

/* ---- how a page is laid out ---------------------------------------------- */

/* A uniform draw of 32 bits for a page. */
static uint64_t compress_draw(const struct page *p, uint32_t line, uint32_t n)
{
    return hd_mix64(p->key ^ hd_mix64((uint64_t)line << 32 | n)) >> 32;
}

/* Granules by the ratio R: of the classes g and 2 g on either side of 8 / R the
 * larger with the probability (8 / R - g) / g. */
static struct hd_lcp drawn(const struct hd_compress *c, const struct page *p)
{
    uint64_t full = 100 * HD_PAGE_GRANULES, r = c->ratio[p->app];
    uint32_t g = HD_PAGE_GRANULES;

    while (g > 1 && g * r > full)
        g /= 2;
    if (g < HD_PAGE_GRANULES &&
        compress_draw(p, HD_LCP_MOST_LINES, 0) * g * r < (full - g * r) << 32)
        g *= 2;
    return hd_lcp_of(g, c->w.line, c->cfg.bdi);
}

/* By what it holds; *exception: which lines do not fit.  granules 0: that is
 * not known. */
static struct hd_lcp held(const struct hd_compress *c, uint32_t app, hd_vpn vpn,
                          uint64_t *exception)
{
    unsigned char bytes[HD_PAGE_BYTES];
    uint8_t size[HD_LCP_MOST_LINES];
    uint32_t lines = HD_PAGE_BYTES / c->w.line;
    struct hd_lcp p = {0};

    if (!c->cfg.contents || c->w.contents == NULL ||
        !c->w.contents(c->w.source, app, (hd_va){vpn.v << HD_PAGE_SHIFT},
                       bytes))
        return p;
    for (uint32_t i = 0; i < lines; i++)
        size[i] =
            (uint8_t)hd_bdi_size(bytes + i * c->w.line, c->w.line, c->cfg.bdi);
    p = hd_lcp_page(size, c->w.line, c->cfg.bdi);
    for (uint32_t i = 0; i < lines && p.slot != 0; i++)
        exception[i / 64] |= (uint64_t)(size[i] > p.slot) << i % 64;
    return p;
}

/* A page comes for the first time. */
static void compress_lay_out(struct hd_compress *c, struct page *p,
                             uint32_t app, hd_vpn vpn)
{
    struct heddle_q_page_compress q = {.app = app,
                                       .vpn = vpn.v,
                                       .is = c->env->is[app],
                                       .allocated = c->allocated(c->owner_self),
                                       .frames = hd_compress_total(c),
                                       .capacity =
                                           c->s->pages + hd_compress_free(c)};
    struct hd_lcp is;

    memset(p, 0, sizeof *p);
    p->app = (uint8_t)app;
    p->key =
        (uint32_t)(hd_mix64(c->env->seed ^ hd_mix64(vpn.v << 8 | app)) >> 32);
    is = held(c, app, vpn, p->exception);
    q.known = is.granules != 0;
    if (!q.known)
        is = drawn(c, p);
    q.bytes = is.granules * HD_GRANULE_BYTES;
    *compress_count(c, app, KNOWN) += q.known;
    if (!hd_ask_page_compress(&c->slot, &q))
        is = hd_lcp_of(HD_PAGE_GRANULES, c->w.line, c->cfg.bdi);
    p->is = is;
}

/* ---- pages that come and go ---------------------------------------------- */

bool hd_compress_fits(struct hd_compress *c, uint32_t app, hd_vpn vpn,
                      uint32_t number, uint32_t pages)
{
    uint64_t sum = 0;

    hd_cross(c->env, HD_BORDER_layout);
    for (uint32_t i = 0; i < pages; i++) {
        struct page *p = get(c, number + i);
        if (p == NULL) {
            hd_err_memory(c->env->err);
            return false;
        }
        if (p->is.granules == 0)
            compress_lay_out(c, p, app, (hd_vpn){vpn.v + i});
        sum += p->is.granules;
    }
    return c->s->used + sum <= c->granules;
}

bool hd_compress_take(struct hd_compress *c, uint32_t app, uint32_t number,
                      uint32_t pages)
{
    uint64_t *peak = compress_count(c, HD_APP_NONE, PEAK_PAGES);
    bool packed = false;

    hd_cross(c->env, HD_BORDER_layout);
    for (uint32_t i = 0; i < pages; i++) {
        struct page *p = compress_find(c, number + i);
        hd_assert(p->charged == 0);
        p->charged = p->is.granules;
        packed |= p->charged != HD_PAGE_GRANULES;
        c->s->used += p->charged;
        *compress_count(c, app, PAGES_512 + hd_log2(p->charged)) += 1;
        *compress_count(c, app, BYTES) += p->charged * HD_GRANULE_BYTES;
    }
    c->s->pages += pages;
    *peak = hd_max_u64(*peak, c->s->pages);
    return packed;
}

/* The metadata cache holds nothing of a page any more. */
static void compress_drop(struct hd_compress *c, uint32_t number)
{
    uint32_t e = hd_assoc_find(&c->tags, number % c->tags.sets, number);

    if (e != HD_NONE)
        hd_assoc_drop(&c->tags, e);
}

void hd_compress_give(struct hd_compress *c, uint32_t number, uint32_t pages)
{
    hd_cross(c->env, HD_BORDER_layout);
    for (uint32_t i = 0; i < pages; i++) {
        struct page *p = compress_find(c, number + i);
        hd_assert(p->charged != 0);
        c->s->used -= p->charged;
        p->charged = 0;
        compress_drop(c, number + i);
    }
    c->s->pages -= pages;
}

void hd_compress_forget(struct hd_compress *c, uint32_t number, uint32_t pages)
{
    hd_cross(c->env, HD_BORDER_layout);
    for (uint32_t i = 0; i < pages; i++) {
        struct page *p = compress_find(c, number + i);
        if (p != NULL)
            p->is.granules = 0;
    }
}

uint64_t hd_compress_bytes(const struct hd_compress *c, uint32_t number,
                           uint32_t pages)
{
    uint64_t sum = 0;

    hd_cross(c->env, HD_BORDER_layout);
    for (uint32_t i = 0; i < pages; i++)
        sum += c->cfg.link ? compress_find(c, number + i)->is.granules
                           : HD_PAGE_GRANULES;
    return sum * HD_GRANULE_BYTES;
}

uint64_t hd_compress_free(const struct hd_compress *c)
{
    return hd_compress_outgrown(c)
               ? 0
               : (c->granules - c->s->used) / HD_PAGE_GRANULES;
}

uint64_t hd_compress_total(const struct hd_compress *c)
{
    return c->granules / HD_PAGE_GRANULES;
}

uint64_t hd_compress_pages(const struct hd_compress *c)
{
    return c->s->pages;
}

bool hd_compress_outgrown(const struct hd_compress *c)
{
    return c->s->used > c->granules;
}

/* A page that grew is charged for it, if it is still there. */
static void charge(struct hd_compress *c, uint32_t number)
{
    struct page *p = compress_find(c, number);

    hd_cross(c->env, HD_BORDER_layout);
    c->s->news--;
    if (p->charged == 0)
        return;
    c->s->used += p->is.granules - p->charged;
    p->charged = p->is.granules;
}

/* The manager is notified of a page that grew. */
static void compress_on_event(void *self, hd_time now, uint32_t what,
                              uint32_t number, uint64_t b)
{
    struct hd_compress *c = self;

    (void)what, (void)b;
    charge(c, number);
    if (hd_compress_outgrown(c) && c->outgrown != NULL)
        c->outgrown(c->outgrown_self, now, compress_find(c, number)->app);
}

/* ---- lines --------------------------------------------------------------- */

/* Whether a page's metadata are in the cache; from now on they are. */
static bool metadata(struct hd_compress *c, uint32_t app, uint32_t number)
{
    uint32_t set = number % c->tags.sets;
    uint32_t e = hd_assoc_find(&c->tags, set, number);
    struct hd_who who = {app, HD_NO_WARP};
    uint64_t evicted;

    if (e != HD_NONE)
        hd_assoc_touch(&c->tags, e, who);
    else
        hd_assoc_place(&c->tags, set, number, who, &evicted);
    return e != HD_NONE;
}

/* A page has more lines that do not fit than it has room for. */
static void overflow(struct hd_compress *c, struct page *p, uint32_t app,
                     uint32_t number, hd_time now)
{
    bool restore = p->is.granules * 2 == HD_PAGE_GRANULES;
    uint64_t cycles = restore ? c->cfg.restore : c->cfg.grow;

    p->is.granules = (uint8_t)(p->is.granules * 2);
    if (restore)
        p->is.slot = 0;
    p->busy = hd_max_u64(p->busy, now) + cycles * c->cycle;
    *compress_count(c, app, restore ? RESTORED : GROWN) += 1;
    *compress_count(c, app, OVERFLOW_CYCLES) += cycles;
    c->s->news++;
    hd_post(c->env->ev, c->component, c->component, now, 0, number, 0);
}

/* A line of a compressed page is written. */
static void compress_write(struct hd_compress *c, struct page *p, uint32_t app,
                           uint32_t number, uint32_t line, hd_time now)
{
    uint64_t *word = &p->exception[line / 64], bit = 1ull << line % 64;

    *compress_count(c, app, WRITES) += 1;
    if (compress_draw(p, line, p->writes++) * 100 >= (uint64_t)c->cfg.misfit
                                                         << 32) {
        *word &= ~bit;
        return;
    }
    *compress_count(c, app, MISFITS) += 1;
    *word |= bit;
    if (hd_bit_count(p->exception[0]) + hd_bit_count(p->exception[1]) >
        hd_lcp_room(p->is, c->w.line))
        overflow(c, p, app, number, now);
}

bool hd_compress_line(struct hd_compress *c, uint32_t app, hd_pa pa,
                      bool written, hd_time *at, bool *miss)
{
    uint32_t number = c->owner(c->owner_self, pa.v >> HD_PAGE_SHIFT) - 1;
    struct page *p = number == HD_NONE ? NULL : compress_find(c, number);

    *miss = false;
    if (p == NULL || p->is.granules == 0)
        return false; /* a page table, or of a page that has gone */
    *at = hd_max_u64(*at, p->busy);
    if (p->is.slot == 0)
        return false;
    *miss = !metadata(c, app, number);
    *compress_count(c, app, *miss ? MISSES : HITS) += 1;
    if (!written) {
        *compress_count(c, app, READS) += 1;
        return true;
    }
    *at += c->pack;
    compress_write(c, p, app, number,
                   (pa.v & (HD_PAGE_BYTES - 1)) >> c->line_shift, *at);
    *at = hd_max_u64(*at, p->busy);
    return true;
}

hd_time hd_compress_unpack(const struct hd_compress *c)
{
    return c->unpack;
}

/* ---- looking and checking ------------------------------------------------ */

static void compress_look(void *self, uint32_t instance,
                          struct heddle_visitor *v)
{
    const struct hd_compress *c = self;

    (void)instance;
    v->row(v->ud, "memory");
    v->number(v->ud, "pages", c->s->pages);
    v->number(v->ud, "granules", c->s->used);
    v->number(v->ud, "most", c->granules);
}

static void compress_check(void *self, uint32_t instance,
                           struct heddle_error *err)
{
    const struct hd_compress *c = self;
    uint64_t used = 0, pages = 0, behind = 0;

    (void)instance;
    for (uint32_t n = 0; n < c->s->room * PIECE; n++) {
        const struct page *p = compress_find(c, n);
        if (p == NULL) {
            n += PIECE - 1;
            continue;
        }
        used += p->charged;
        pages += p->charged != 0;
        behind += p->charged != 0 && p->charged != p->is.granules;
        if (p->is.slot != 0 &&
            hd_bit_count(p->exception[0]) + hd_bit_count(p->exception[1]) >
                hd_lcp_room(p->is, c->w.line))
            hd_err_set(err, HEDDLE_ECHECK,
                       "compress: page %u has more exceptions than room", n);
    }
    if (used != c->s->used || pages != c->s->pages || behind > c->s->news)
        hd_err_set(err, HEDDLE_ECHECK,
                   "compress: %llu pieces of 512 bytes in use, %llu counted; "
                   "%llu pages, %llu counted; %llu of them grew, and %llu "
                   "messages say so",
                   (unsigned long long)used, (unsigned long long)c->s->used,
                   (unsigned long long)pages, (unsigned long long)c->s->pages,
                   (unsigned long long)behind, (unsigned long long)c->s->news);
}

static void compress_bound(void *self)
{
    hd_assoc_bound(&((struct hd_compress *)self)->tags);
}

/* ---- building ------------------------------------------------------------ */

static int64_t page_default(void *self, const void *question)
{
    (void)self, (void)question;
    return 1;
}

static int compress_take_state(struct hd_compress *c)
{
    uint32_t ways = c->cfg.ways == 0 ? c->cfg.entries : c->cfg.ways;

    c->s = hd_arena_take(c->env->arena, 1, sizeof *c->s);
    if (c->s == NULL || compress_widen(c, FIRST_PIECES) < 0)
        return -1;
    return hd_assoc_open(&c->tags, c->env, "metadata", 0, c->cfg.entries / ways,
                         ways);
}

struct hd_compress *hd_compress_open(struct hd_env *env,
                                     const struct hd_compress_wiring *w)
{
    struct hd_compress *c = hd_env_take(env, 1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->env = env;
    c->w = *w;
    c->cfg = *w->cfg;
    if (compress_take_state(c) < 0)
        return NULL;
    ratios(c->cfg.ratio, c->ratio);
    c->granules = w->bytes / HD_GRANULE_BYTES;
    c->line_shift = hd_log2(w->line);
    c->pack = hd_ticks(env->clk, HD_CLK_L2, c->cfg.pack);
    c->unpack = hd_ticks(env->clk, HD_CLK_L2, c->cfg.unpack);
    c->cycle = hd_ticks(env->clk, HD_CLK_CORE, 1);
    c->stat = hd_stats_group(env->stats, &hd_rows_compress, 1);
    c->component =
        hd_events_component(env->ev, "compress", compress_on_event, c);
    hd_slots_offer(env->slots, HEDDLE_POINT_page_compress, "", &c->slot,
                   page_default, c);
    hd_env_part(env, (struct hd_part){.name = "compress",
                                      .instances = 1,
                                      .self = c,
                                      .look = compress_look,
                                      .check = compress_check,
                                      .bound = compress_bound});
    return c;
}

void hd_compress_owner(struct hd_compress *c,
                       uint32_t (*owner)(void *self, uint64_t frame),
                       uint64_t (*allocated)(void *self), void *self)
{
    c->owner = owner;
    c->allocated = allocated;
    c->owner_self = self;
}

void hd_compress_client(struct hd_compress *c,
                        void (*outgrown)(void *self, hd_time now, uint32_t app),
                        void *self)
{
    c->outgrown = outgrown;
    c->outgrown_self = self;
}
