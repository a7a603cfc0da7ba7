/*
 * pwc.c - the page walk cache, by physical address or by prefix.
 *
 * Physical: an ordinary cache of page-table entries (or lines of them), as in
 * Power, Hill, Wood (HPCA 2014) and MASK's PWCache.  A walk still goes level
 * by level and looks every one of them up; a hit saves that level's read, the
 * leaf's too.  No address space is in the tag: physical addresses differ.
 *
 * Prefix: what Intel calls paging-structure caches, in one array.  The tag is
 * (level, application, the indices down to that level).  One look-up finds
 * the deepest level present, and the walk continues below it.  The leaf's
 * entry is not kept: that is what TLBs are for.  MESC's walk cache holds the
 * top three levels, so a hit in level 3 leaves one reference.
 *
 * With pwc.entries_levelN each level has sets of its own, as NVIDIA's MMUs are
 * said to have a cache for each level of directories; a level without any is
 * not looked up.  Levels are those of vm.format (pages/format.c): an entry of
 * PDE0 covers 2 MB in either style, one of PDE1 512 MB.
 *
 * A port serves one look-up a cycle.  A walk that hits several levels in turn
 * knows its next look-ups before they happen, so look-ups do not come in the
 * order of time: the ports keep a count for each of the coming cycles instead
 * of one instant at which they are free.
 *
 * Invariant: an entry was read from memory since it was last invalidated.
 *
 * SPDX-License-Identifier: MIT
 */
#include "pwc.h"

#include <string.h>

#include "kit/bits.h"

enum { AHEAD = 256 }; /* cycles whose look-ups are counted */

enum { LEVEL_SHIFT = 60, APP_SHIFT = 52 };

#define HD_PART    pwc
#define HD_CFG     struct hd_pwc_cfg
#define HD_PART_OF "translation/pwc.def"
#include "kit/rows.h"

/* ---- opening ---------------------------------------------------------- */

/* Bytes of a table that an entry holds. */
static uint32_t pwc_line(const struct hd_pwc_cfg *cfg)
{
    return cfg->line == 0 ? 8 : cfg->line;
}

/* Entries of the levels that have their own; the sum. */
static uint32_t pwc_levels(const struct hd_pwc_cfg *cfg,
                           uint32_t n[HD_PWC_LEVELS])
{
    const uint32_t of[HD_PWC_LEVELS] = {
        cfg->entries_level1, cfg->entries_level2, cfg->entries_level3,
        cfg->entries_level4, cfg->entries_level5, cfg->entries_level6};
    uint32_t sum = 0;

    for (uint32_t l = 0; l < HD_PWC_LEVELS; l++)
        sum += n[l] = of[l];
    return sum;
}

uint32_t hd_pwc_entries(const struct hd_pwc_cfg *cfg)
{
    uint32_t n[HD_PWC_LEVELS], sum = pwc_levels(cfg, n);

    return sum != 0 ? sum : cfg->entries;
}

int hd_pwc_check(const void *settings, const char *name,
                 struct heddle_error *err)
{
    const struct hd_pwc_cfg *cfg = settings;
    uint32_t n[HD_PWC_LEVELS], apart = pwc_levels(cfg, n);
    uint32_t ways = hd_assoc_ways(cfg->entries, cfg->ways);
    uint32_t line = pwc_line(cfg);

    if (cfg->mode.kind == HD_OFF)
        return 0;
    if (apart == 0 && (cfg->entries == 0 || cfg->entries % ways != 0))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.entries: %u; a multiple of %s.ways = %u is "
                          "expected",
                          name, cfg->entries, name, ways);
    for (uint32_t l = 0; apart != 0 && l < HD_PWC_LEVELS; l++)
        if (cfg->ways == 0 || n[l] % cfg->ways != 0)
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "%s.entries_level%u: %u; a multiple of %s.ways = "
                              "%u, which is not 0, is expected",
                              name, l + 1, n[l], name, cfg->ways);
    if (line < 8 || !hd_is_pow2(line))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.line: %u; a power of two of at least 8 is "
                          "expected",
                          name, line);
    return 0;
}

int hd_pwc_open(struct hd_pwc *c, struct hd_env *env,
                const struct hd_pwc_cfg *cfg, const struct hd_ptables *tables,
                uint32_t instance, struct hd_stat stat)
{
    uint32_t entry_bytes = hd_ptables_entry_bytes(tables);
    uint32_t entries = hd_pwc_entries(cfg);
    uint32_t ways = hd_assoc_ways(entries, cfg->ways), sets;
    uint32_t n[HD_PWC_LEVELS];

    if (hd_pwc_check(cfg, "pwc", env->err) != 0)
        return env->err->code;
    memset(c, 0, sizeof *c);
    c->env = env;
    c->cfg = *cfg;
    c->instance = instance;
    c->stat = stat;
    c->cycle = hd_ticks(env->clk, HD_CLK_L2, 1);
    c->latency = hd_ticks(env->clk, HD_CLK_L2, cfg->latency);
    if (!hd_pwc_on(c))
        return 0;
    c->line_shift = hd_log2((uint32_t)hd_max_u64(pwc_line(cfg), entry_bytes));
    c->dir = hd_ptables_dir(tables);
    for (uint32_t l = 1; l <= c->dir; l++)
        c->shift[l] = (uint8_t)hd_ptables_level_shift(tables, l);
    sets = entries / ways;
    c->apart = pwc_levels(cfg, n) != 0;
    for (uint32_t l = 1, first = 0; c->apart && l <= HD_PWC_LEVELS; l++) {
        c->first[l] = first;
        c->sets[l] = n[l - 1] / ways;
        first += c->sets[l];
    }
    c->mask = hd_is_pow2(sets) ? sets - 1 : 0;
    c->port = hd_arena_take(env->arena, AHEAD + 1, sizeof *c->port);
    if (c->port == NULL ||
        hd_assoc_open(&c->tags, env, "pwc", instance, sets, ways) < 0)
        return hd_err_memory(env->err);
    return 0;
}

/* The cycle of an instant, by a short division from port[AHEAD], a cycle of
 * not long ago. */
static uint64_t cycle_of(struct hd_pwc *c, hd_time t)
{
    hd_time from = c->port[AHEAD] * c->cycle;

    if (HD_UNLIKELY(t < from || t - from > UINT32_MAX)) {
        c->port[AHEAD] = t / c->cycle;
        return c->port[AHEAD];
    }
    return c->port[AHEAD] + (uint32_t)(t - from) / (uint32_t)c->cycle;
}

/* port[cycle % AHEAD]: cycle << 8 | look-ups begun in it. */
hd_time hd_pwc_port(struct hd_pwc *c, hd_time t)
{
    uint64_t n;

    if (c->cfg.mode.kind == HD_FIXED)
        return t + c->cfg.mode.fixed * c->cycle;
    if (c->cfg.mode.kind == HD_IDEAL)
        return t + c->latency;
    for (n = cycle_of(c, t);; n++, t = n * c->cycle) {
        uint64_t *p = &c->port[n % AHEAD];
        if (*p >> 8 < n)
            *p = n << 8;
        if (*p >> 8 > n) /* further ahead than is counted */
            break;
        if ((*p & 255) < c->cfg.ports) {
            ++*p;
            break;
        }
    }
    return t + c->latency;
}

/* ---- looking up ------------------------------------------------------- */

static void pwc_count(struct hd_pwc *c, uint32_t app, uint32_t counter)
{
    (*hd_count(&c->stat, c->instance, app, counter))++;
}

/* The key of the entry of a level, in the cache's style, and its set; HD_NONE:
 * no entry of the level is kept. */
static uint64_t pwc_key_of(const struct hd_pwc *c, uint32_t app, hd_vpn vpn,
                           uint32_t level, hd_pa pte, uint32_t *set)
{
    bool prefix = c->cfg.style == HD_PWC_PREFIX;
    uint64_t n = prefix ? vpn.v >> c->shift[level] : pte.v >> c->line_shift;

    if (HD_UNLIKELY(c->apart))
        *set = c->sets[level] == 0
                   ? HD_NONE
                   : c->first[level] + (uint32_t)(n % c->sets[level]);
    else
        *set = c->mask != 0 || c->tags.sets == 1 ? (uint32_t)n & c->mask
                                                 : (uint32_t)(n % c->tags.sets);
    return prefix
               ? (uint64_t)level << LEVEL_SHIFT | (uint64_t)app << APP_SHIFT | n
               : n;
}

/* Whether the entry of a level is there, which is used then. */
static bool pwc_find(struct hd_pwc *c, uint32_t app, hd_vpn vpn, uint32_t level,
                     hd_pa pte)
{
    uint64_t key;
    uint32_t set, e;

    if (c->cfg.mode.kind != HD_FULL)
        return true;
    key = pwc_key_of(c, app, vpn, level, pte, &set);
    if (HD_UNLIKELY(set == HD_NONE))
        return false;
    e = hd_assoc_find(&c->tags, set, key);
    if (e != HD_NONE)
        hd_assoc_touch(&c->tags, e, (struct hd_who){app, HD_NO_WARP});
    return e != HD_NONE;
}

bool hd_pwc_entry(struct hd_pwc *c, uint32_t app, uint32_t level, hd_pa pte)
{
    bool hit = pwc_find(c, app, (hd_vpn){0}, level, pte);

    pwc_count(c, app, HD_PWC_LOOKUPS);
    pwc_count(c, app, (hit ? HD_PWC_HITS : HD_PWC_MISSES) + level - 1);
    return hit;
}

uint32_t hd_pwc_prefix(struct hd_pwc *c, uint32_t app, hd_vpn vpn,
                       uint32_t leaf)
{
    uint32_t level = leaf - 1;

    pwc_count(c, app, HD_PWC_LOOKUPS);
    for (; level > 0 && !pwc_find(c, app, vpn, level, (hd_pa){0}); level--)
        pwc_count(c, app, HD_PWC_MISSES + level - 1);
    if (level > 0)
        pwc_count(c, app, HD_PWC_HITS + level - 1);
    return level;
}

void hd_pwc_fill(struct hd_pwc *c, uint32_t app, hd_vpn vpn, uint32_t level,
                 uint32_t leaf, hd_pa pte)
{
    uint64_t key, gone;
    uint32_t set;

    if (c->cfg.mode.kind != HD_FULL ||
        (c->cfg.style == HD_PWC_PREFIX && level == leaf))
        return;
    key = pwc_key_of(c, app, vpn, level, pte, &set);
    if (HD_UNLIKELY(set == HD_NONE) ||
        hd_assoc_find(&c->tags, set, key) != HD_NONE)
        return;
    hd_assoc_place(&c->tags, set, key, (struct hd_who){app, HD_NO_WARP}, &gone);
    pwc_count(c, app, HD_PWC_FILLS);
    if (gone != HD_KEY_NONE)
        pwc_count(c, app, HD_PWC_EVICTIONS);
}

/* ---- forgetting and looking ------------------------------------------- */

static void pwc_drop(struct hd_pwc *c, uint32_t app, uint32_t e)
{
    hd_assoc_drop(&c->tags, e);
    pwc_count(c, app, HD_PWC_INVALIDATIONS);
}

/* Forgets the entries of the tables that lead to pages of [vpn, vpn + pages);
 * in the physical style, which does not know their pages, all. */
static void drop_some(struct hd_pwc *c, uint32_t app, hd_vpn vpn,
                      uint64_t pages)
{
    bool all = c->cfg.style == HD_PWC_PHYSICAL || pages == HD_EVERY_PAGE;

    for (uint32_t e = 0; e < c->tags.sets * c->tags.ways; e++) {
        uint64_t key = c->tags.key[e], n = key & ((1ull << APP_SHIFT) - 1);
        uint32_t s;

        if (key == HD_KEY_NONE)
            continue;
        s = c->shift[key >> LEVEL_SHIFT & 7];
        if (all || ((key >> APP_SHIFT & 0xff) == app &&
                    n << s < vpn.v + pages && vpn.v < (n + 1) << s))
            pwc_drop(c, app, e);
    }
}

void hd_pwc_invalidate(struct hd_pwc *c, struct hd_ptables *tables,
                       uint32_t app, hd_vpn vpn, uint64_t pages)
{
    if (c->cfg.mode.kind != HD_FULL)
        return;
    if (pages == HD_EVERY_PAGE || c->cfg.style == HD_PWC_PREFIX) {
        drop_some(c, app, vpn, pages);
        return;
    }
    for (uint64_t v = vpn.v; v < vpn.v + pages; v++) {
        hd_pa pte[HD_WALK_STEPS];
        uint32_t n = hd_ptables_path(tables, app, (hd_vpn){v}, pte), set, e;
        uint32_t level = (uint32_t)hd_min_u64(n, c->dir + 1);
        uint64_t key;
        if (n == 0) { /* it has no tables: which led there is not known */
            drop_some(c, app, vpn, pages);
            return;
        }
        key = pwc_key_of(c, app, (hd_vpn){v}, level, pte[n - 1], &set);
        if (HD_UNLIKELY(set == HD_NONE))
            continue;
        e = hd_assoc_find(&c->tags, set, key);
        if (e != HD_NONE)
            pwc_drop(c, app, e);
    }
}

void hd_pwc_changed(struct hd_pwc *c, struct hd_ptables *tables, uint32_t app,
                    hd_vpn vpn, uint32_t level)
{
    uint32_t set, e, depth = c->dir + level - 3;
    uint64_t key;

    if (c->cfg.mode.kind != HD_FULL)
        return;
    key = pwc_key_of(c, app, vpn, depth,
                     hd_ptables_table(tables, app, vpn, level), &set);
    if (set == HD_NONE)
        return;
    e = hd_assoc_find(&c->tags, set, key);
    if (e != HD_NONE)
        pwc_drop(c, app, e);
}

void hd_pwc_look(struct hd_pwc *c, struct heddle_visitor *v)
{
    for (uint32_t e = 0; e < c->tags.sets * c->tags.ways; e++) {
        uint64_t key = c->tags.key[e];
        if (key == HD_KEY_NONE)
            continue;
        v->row(v->ud, "entry");
        v->number(v->ud, "set", e / c->tags.ways);
        v->number(v->ud, "way", e % c->tags.ways);
        if (c->cfg.style == HD_PWC_PREFIX) {
            v->number(v->ud, "app", key >> APP_SHIFT & 0xff);
            v->number(v->ud, "level", key >> LEVEL_SHIFT);
            v->number(v->ud, "prefix", key & ((1ull << APP_SHIFT) - 1));
        } else {
            v->number(v->ud, "pa", key << c->line_shift);
        }
        v->number(v->ud, "depth", hd_assoc_depth(&c->tags, e));
    }
}
