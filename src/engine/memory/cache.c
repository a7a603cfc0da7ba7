/*
 * cache.c - tags of a data cache: what is present, dirty, and whose it is.
 *
 * One struct serves the L1 caches and the slices of the L2.  Nothing here
 * takes time: the owner reserves ports, counts latency, holds MSHRs and
 * queues.  Keys are whole line numbers, so an evicted line needs no
 * inverse of the address map to be written back.
 *
 * Sets may be any number.  Two megabytes in 12 slices of 16 ways is 85.3
 * sets; the third is dropped, and the set is the index modulo 85.
 *
 * Write policies.  `through`: a store updates a line that is present and
 * is sent on.  `evict`: a store drops the line and is sent on (Fermi's L1 for
 * global memory).  `back`: a store makes the line dirty, and allocates one if
 * it is missing.  A partial write allocates without reading the rest: real L2
 * slices keep a bit for each byte or sector and read what a later read finds
 * missing.  With sectors (sector.c) so does this.  Without, a read of a line of
 * which only a part was stored hits where hardware would read DRAM once, and a
 * partial line is written back whole, up to line / sector times the bytes.
 *
 * Source of the defaults: Mosaic (MICRO 2017) Table 1, MASK (ASPLOS 2018)
 * Table 1; what both leave open is called a guess.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cache.h"

#include <string.h>

#include "kit/bits.h"
#include "sector.h"

/* ---- notes ------------------------------------------------------------ */

static void cache_tell(struct hd_cache *c, enum heddle_note note, uint64_t line,
                       uint32_t kind, struct hd_who who, uint32_t filler,
                       bool waited)
{
    struct heddle_n_cache_hit n = {.level = c->level,
                                   .instance = c->instance,
                                   .app = who.app,
                                   .warp = who.warp,
                                   .kind = kind,
                                   .line = line,
                                   .filler = filler,
                                   .waited = waited,
                                   .pc = hd_pc_now(&c->tags.pc)};

    hd_slots_note(c->env->slots, note, &n);
}

/* ---- look-up ---------------------------------------------------------- */

void hd_cache_tell_use(struct hd_cache *c, uint64_t line, uint32_t entry,
                       uint32_t kind, struct hd_who who, bool waited)
{
    enum heddle_note note =
        entry != HD_NONE ? HEDDLE_NOTE_cache_hit : HEDDLE_NOTE_cache_miss;

    if (c->watched[note] != 0)
        cache_tell(c, note, line, kind, who,
                   entry != HD_NONE ? c->line[entry].filler : 0, waited);
}

void hd_cache_change(struct hd_cache *c, uint32_t entry, uint32_t kind)
{
    if (c->cfg.write == HD_WRITE_BACK)
        c->line[entry].dirty = 1;
    else if (c->cfg.write == HD_WRITE_EVICT ||
             (kind == HD_REQ_ATOMIC && c->level == 1))
        hd_assoc_drop(&c->tags, entry);
}

/* ---- filling ---------------------------------------------------------- */

static int64_t insert_default(void *self, const void *q)
{
    (void)self;
    (void)q;
    return HEDDLE_CACHE_INSERT_NORMAL;
}

static int64_t ask_insert(struct hd_cache *c, uint64_t line, uint32_t kind,
                          uint32_t level, struct hd_who who)
{
    struct heddle_q_cache_insert q = {.instance = c->instance,
                                      .app = who.app,
                                      .warp = who.warp,
                                      .kind = kind,
                                      .level = level,
                                      .line = line,
                                      .pc = hd_pc_now(&c->tags.pc)};

    return hd_ask_cache_insert(&c->insert, &q);
}

bool hd_cache_enter_other(struct hd_cache *c, uint32_t set, uint64_t line,
                          uint32_t kind, uint32_t level, bool dirty,
                          struct hd_who who, uint64_t *victim,
                          uint32_t *victim_app)
{
    int64_t how = ask_insert(c, line, kind, level, who);
    struct hd_cache_line old;
    uint32_t e;

    if (how == HEDDLE_CACHE_INSERT_SKIP) {
        *victim = dirty ? line : HD_KEY_NONE;
        *victim_app = who.app;
        return dirty;
    }
    e = how == HEDDLE_CACHE_INSERT_LAST
            ? hd_assoc_place_last(&c->tags, set, line, who, victim)
            : hd_assoc_place(&c->tags, set, line, who, victim);
    old = hd_cache_owned(c, e, who, dirty);
    if (*victim == HD_KEY_NONE)
        return false;
    if (c->watched[HEDDLE_NOTE_cache_evict] != 0)
        cache_tell(c, HEDDLE_NOTE_cache_evict, *victim, kind, who, old.filler,
                   false);
    *victim_app = old.owner;
    return old.dirty;
}

bool hd_cache_fill(struct hd_cache *c, uint64_t line, uint32_t kind,
                   uint32_t level, bool dirty, struct hd_who who,
                   uint64_t *victim, uint32_t *victim_app)
{
    uint32_t set = hd_cache_set(c, line);
    uint32_t e = hd_assoc_find(&c->tags, set, line);

    if (HD_LIKELY(e == HD_NONE))
        return hd_cache_enter(c, set, line, kind, level, dirty, who, victim,
                              victim_app);
    *victim = HD_KEY_NONE;
    *victim_app = who.app;
    c->line[e].dirty |= dirty;
    return false;
}

bool hd_cache_drop(struct hd_cache *c, uint64_t line)
{
    uint32_t e = hd_cache_find(c, line);
    bool dirty;

    if (e == HD_NONE)
        return false;
    dirty = c->line[e].dirty;
    hd_assoc_drop(&c->tags, e);
    return dirty;
}

/* ---- looking and building --------------------------------------------- */

void hd_cache_look(struct hd_cache *c, struct heddle_visitor *v)
{
    for (uint32_t e = 0; e < c->tags.sets * c->tags.ways; e++) {
        uint64_t line = c->tags.key[e];
        struct hd_cache_line x = c->line[e];

        if (line == HD_KEY_NONE)
            continue;
        v->row(v->ud, "line");
        v->number(v->ud, "set", e / c->tags.ways);
        v->number(v->ud, "way", e % c->tags.ways);
        v->number(v->ud, "line", line);
        v->number(v->ud, "address", line * c->cfg.line);
        v->number(v->ud, "dirty", x.dirty);
        if (c->sector != NULL) {
            v->number(v->ud, "valid_sectors", c->sector[e].valid);
            v->number(v->ud, "part_sectors", c->sector[e].part);
            v->number(v->ud, "dirty_sectors", c->sector[e].dirty);
        }
        v->number(v->ud, "app", x.owner);
        v->number(v->ud, "warp", x.filler);
        v->number(v->ud, "depth", hd_assoc_depth(&c->tags, e));
    }
}

void hd_cache_bound(struct hd_cache *c)
{
    bool use = (c->watched[HEDDLE_NOTE_cache_miss] |
                c->watched[HEDDLE_NOTE_cache_hit]) != 0;

    hd_assoc_bound(&c->tags);
    c->tags.asked |= use ? HD_CACHE_USE : 0;
    c->tags.asked |=
        c->insert.bound || c->watched[HEDDLE_NOTE_cache_evict] != 0
            ? HD_CACHE_ENTER
            : 0;
}

/* What a cache of so many bytes can be. */
static int cache_check_bytes(const struct hd_cache_cfg *c, const char *name,
                             uint64_t bytes, struct heddle_error *err)
{
    if (!hd_is_pow2(c->line) || c->line < 32)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.line: %u is not a power of two of at least 32 "
                          "bytes",
                          name, c->line);
    if (c->ways == 0 || bytes / c->line < c->ways ||
        bytes / c->line / c->ways > UINT32_MAX / c->ways)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.bytes: %llu bytes do not hold one set of %u "
                          "ways with lines of %u bytes",
                          name, (unsigned long long)bytes, c->ways, c->line);
    return 0;
}

int hd_cache_check(const void *cfg, const char *name, struct heddle_error *err)
{
    const struct hd_cache_cfg *c = cfg;

    if (hd_sectors_cfg_check(c, name, err) != 0)
        return err->code;
    if (c->mode.kind != HD_FULL)
        return 0;
    return cache_check_bytes(c, name, c->bytes / hd_max_u64(c->slices, 1), err);
}

int hd_cache_open(struct hd_cache *c, struct hd_env *env,
                  const struct hd_cache_cfg *cfg, const char *at,
                  uint32_t instance, uint64_t bytes)
{
    static const uint32_t unwatched[HEDDLE_NOTE_COUNT];
    uint32_t ways = cfg->ways, sets;

    if (cache_check_bytes(cfg, at, bytes, env->err) != 0)
        return env->err->code;
    sets = hd_cache_sets(cfg, bytes);
    *c = (struct hd_cache){.env = env, .cfg = *cfg, .instance = instance};
    c->level = strcmp(at, "l1cache") == 0 ? 1 : 2;
    c->watched =
        env->slots != NULL ? env->slots->told[c->level - 1] : unwatched;
    c->line = hd_arena_take(env->arena, sets * ways, sizeof *c->line);
    if (c->line == NULL || hd_assoc_open(&c->tags, env, at, instance,
                                         sets, ways) != 0)
        return hd_err_memory(env->err);
    if (cfg->sector_bytes != 0 && hd_sectors_open(c) != 0)
        return hd_err_memory(env->err);
    if (hd_is_pow2(c->tags.sets))
        c->set_mask = c->tags.sets - 1;
    c->insert = (struct hd_slot){insert_default, c, 0};
    if (env->slots != NULL)
        hd_slots_offer(env->slots, HEDDLE_POINT_cache_insert, at, &c->insert,
                       insert_default, c);
    hd_cache_bound(c);
    return 0;
}
