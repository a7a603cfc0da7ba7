/*
 * tags.c - a TLB or a cache driven alone: heddle_part_tags.
 *
 * The structures are those of the machine, without its clocks: an access
 * looks up, and a miss fills at once, so hits depend on nothing but the order
 * of the accesses.  A store that misses fills only in a write-back cache.
 *
 * A policy is bound as in a simulation (points/bind.c), so that its answers are
 * checked and one in Lua works: the part begins with the head of a simulation
 * whose only structure is the TLB or the cache.  An access is a core cycle of
 * it, for errors and for epochs.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/bits.h"
#include "tool_part.h"
#include "memory/cache.h"
#include "policy.h"
#include "sim.h"
#include "translation/tlb.h"
#include "number.h"

enum { NUMBERS = 6, MOST_PARAMS = 8, PARAM_ROOM = 32 };

/* Settings that are numbers. */
enum { ENTRIES, BYTES, LINE, WAYS, WRITE, SEED };

struct heddle_part_tags {
    struct hd_sim_head head; /* first: to a policy it is a simulation */
    bool cache;
    bool open; /* settings are frozen */
    uint64_t number[NUMBERS];
    char policy[HD_TEXT_ROOM];
    const struct heddle_policy *given; /* instead of a name, or NULL */
    struct {
        char name[PARAM_ROOM], value[PARAM_ROOM];
    } param[MOST_PARAMS];
    uint32_t params;
    struct heddle_error err; /* of the last call */
    struct heddle_part_tags_result r;
    /* while it is open */
    struct hd_arena arena;
    struct hd_env env;
    struct hd_events ev;
    struct hd_stats stats;
    struct hd_clocks clk;
    struct hd_slots slots;
    struct heddle_error wrong; /* env.err: what a policy did; it stays */
    struct hd_tlb tlb;
    struct hd_cache tags;
    bool bound; /* a policy other than the default */
};

/* ---- settings ----------------------------------------------------------- */

static const struct {
    const char *name;
    uint8_t of; /* 1 a TLB, 2 a cache, 3 both */
    uint64_t def, min, max;
} numbers[NUMBERS] = {
    [ENTRIES] = {"entries", 1, 64, 1, 1u << 24},
    [BYTES] = {"bytes", 2, 16384, 1, 1ull << 32},
    [LINE] = {"line", 2, 128, 1, 1u << 20},
    [WAYS] = {"ways", 3, 0, 0, 1u << 24},
    [WRITE] = {"write", 2, HD_WRITE_BACK, 0, 2},
    [SEED] = {"seed", 3, 1, 0, UINT64_MAX},
};

static const char *const writes[] = {"through", "evict", "back"};

static heddle_part_tags *part_tags_make(bool cache)
{
    heddle_part_tags *t = calloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    t->cache = cache;
    for (uint32_t i = 0; i < NUMBERS; i++)
        t->number[i] = numbers[i].def;
    if (cache)
        t->number[WAYS] = 4;
    strcpy(t->policy, "lru");
    return t;
}

heddle_part_tags *heddle_part_tlb_new(void)
{
    return part_tags_make(false);
}

heddle_part_tags *heddle_part_cache_new(void)
{
    return part_tags_make(true);
}

static void close_part(heddle_part_tags *t)
{
    hd_slots_close(&t->slots);
    hd_env_free(&t->env);
    if (t->arena.base != NULL)
        hd_arena_close(&t->arena);
}

void heddle_part_tags_free(heddle_part_tags *t)
{
    if (t == NULL)
        return;
    close_part(t);
    free(t);
}

const char *heddle_part_tags_error(const heddle_part_tags *t)
{
    return t->err.text;
}

static const char *what(const heddle_part_tags *t)
{
    return t->cache ? "cache" : "tlb";
}

static int part_tags_unknown(heddle_part_tags *t, const char *name)
{
    const char *known[NUMBERS + 1], *near;
    size_t n = 0;

    for (uint32_t i = 0; i < NUMBERS; i++)
        if (numbers[i].of & (t->cache ? 2 : 1))
            known[n++] = numbers[i].name;
    known[n++] = "policy";
    near = hd_nearest(name, known, n);
    return hd_err_set(&t->err, HEDDLE_ECONFIG,
                      "no setting '%s' of a %s alone%s%s%s", name, what(t),
                      near ? "; did you mean '" : "", near ? near : "",
                      near ? "'?" : "");
}

static int part_tags_read_number(heddle_part_tags *t, const char *name,
                                 const char *value, uint64_t min, uint64_t max,
                                 uint64_t *out)
{
    uint64_t v;

    if (hd_read_number(value, min, max, &v) != 0)
        return hd_err_set(&t->err, HEDDLE_ECONFIG,
                          "%s: a number from %llu to %llu is expected, not "
                          "'%s'",
                          name, (unsigned long long)min,
                          (unsigned long long)max, value);
    *out = v;
    return 0;
}

static int set_write(heddle_part_tags *t, const char *value)
{
    for (uint32_t i = 0; i < HD_LEN(writes); i++) {
        if (strcmp(value, writes[i]) == 0) {
            t->number[WRITE] = i;
            return 0;
        }
    }
    return hd_err_set(&t->err, HEDDLE_ECONFIG,
                      "write: back, through or evict is expected, not '%s'",
                      value);
}

static int set_param(heddle_part_tags *t, const char *name, const char *value)
{
    uint32_t i = 0;

    while (i < t->params && strcmp(t->param[i].name, name) != 0)
        i++;
    if (i == MOST_PARAMS)
        return hd_err_set(&t->err, HEDDLE_ECONFIG,
                          "policy.%s: more than %d parameters", name,
                          MOST_PARAMS);
    if (strlen(name) >= PARAM_ROOM)
        return hd_err_set(&t->err, HEDDLE_ECONFIG,
                          "policy.%s: a name of at most %d bytes is expected, "
                          "not of %zu",
                          name, PARAM_ROOM - 1, strlen(name));
    if (strlen(value) >= PARAM_ROOM)
        return hd_err_set(&t->err, HEDDLE_ECONFIG,
                          "policy.%s: a number or a name is expected, not '%s'",
                          name, value);
    if (i == t->params)
        strcpy(t->param[t->params++].name, name);
    strcpy(t->param[i].value, value);
    return 0;
}

int heddle_part_tags_set(heddle_part_tags *t, const char *name,
                         const char *value)
{
    hd_err_clear(&t->err);
    if (t->open)
        return hd_err_set(&t->err, HEDDLE_EINVAL,
                          "%s: the first access has frozen the settings", name);
    if (strncmp(name, "policy.", 7) == 0)
        return set_param(t, name + 7, value);
    if (strcmp(name, "policy") == 0) {
        if (strlen(value) >= sizeof t->policy)
            return hd_err_set(&t->err, HEDDLE_ECONFIG,
                              "policy: the name is too long");
        strcpy(t->policy, value);
        t->given = NULL;
        return 0;
    }
    for (uint32_t i = 0; i < NUMBERS; i++) {
        if (strcmp(name, numbers[i].name) != 0 ||
            (numbers[i].of & (t->cache ? 2 : 1)) == 0)
            continue;
        return i == WRITE
                   ? set_write(t, value)
                   : part_tags_read_number(t, name, value, numbers[i].min,
                                           numbers[i].max, &t->number[i]);
    }
    return part_tags_unknown(t, name);
}

int heddle_part_tags_use(heddle_part_tags *t, const struct heddle_policy *p)
{
    hd_err_clear(&t->err);
    if (t->open)
        return hd_err_set(&t->err, HEDDLE_EINVAL,
                          "policy: the first access has frozen the settings");
    t->given = p;
    snprintf(t->policy, sizeof t->policy, "%s", p->name);
    return 0;
}

/* ---- the policy ---------------------------------------------------------- */

/* Whether it answers or watches what this part has. */
static bool part_tags_replaces(const heddle_part_tags *t,
                               const struct heddle_policy *p)
{
    return p->answer[HEDDLE_POINT_repl_victim] != NULL ||
           p->watch[HEDDLE_NOTE_repl_touch] != NULL ||
           p->watch[HEDDLE_NOTE_repl_fill] != NULL ||
           p->watch[HEDDLE_NOTE_repl_gone] != NULL ||
           (t->cache && p->answer[HEDDLE_POINT_cache_insert] != NULL);
}

static const struct heddle_policy *find_policy(heddle_part_tags *t)
{
    const struct heddle_policy *p = t->given;
    struct heddle_error error;

    if (p != NULL && part_tags_replaces(t, p))
        return p;
    if (p != NULL) {
        hd_err_set(&t->err, HEDDLE_ECONFIG,
                   "policy: one that replaces is expected, not '%s', which "
                   "neither answers repl_victim%s nor watches repl_touch, "
                   "repl_fill or repl_gone",
                   p->name, t->cache ? " or cache_insert" : "");
        return NULL;
    }
    if (strchr(t->policy, '/') != NULL) {
        p = heddle_policy_load(t->policy, &error);
        if (p == NULL)
            hd_err_set(&t->err, HEDDLE_ECONFIG, "policy: %s", error.text);
    } else {
        p = heddle_policy_find(t->policy, NULL);
    }
    if (p == NULL || !part_tags_replaces(t, p)) {
        hd_err_set(&t->err, HEDDLE_ECONFIG,
                   "policy: lru, fifo, random, srrip or a plug-in ./x.so that "
                   "replaces is expected, not '%s'",
                   t->policy);
        return NULL;
    }
    return p;
}

/* The value of a parameter: a number, or the name of a choice's. */
static int read_value(heddle_part_tags *t, const struct heddle_policy *p,
                      uint32_t i, uint64_t *out)
{
    const struct heddle_param *q = p->params;
    char name[PARAM_ROOM + 8];

    while (q != NULL && q->name != NULL &&
           strcmp(q->name, t->param[i].name) != 0)
        q++;
    if (q != NULL && q->name != NULL &&
        heddle_word_value(q->unit, t->param[i].value, out) == 0)
        return 0;
    snprintf(name, sizeof name, "policy.%s", t->param[i].name);
    return part_tags_read_number(t, name, t->param[i].value, 0, UINT64_MAX,
                                 out);
}

static int part_tags_bind(heddle_part_tags *t)
{
    heddle_sim *sim = (heddle_sim *)(void *)t;
    const struct heddle_policy *p = find_policy(t);
    const char *names[MOST_PARAMS];
    uint64_t values[MOST_PARAMS];
    int rc;

    if (p == NULL)
        return t->err.code;
    if (p == heddle_policy_find("lru", NULL) && t->params == 0)
        return 0; /* the default */
    for (uint32_t i = 0; i < t->params; i++) {
        names[i] = t->param[i].name;
        if (read_value(t, p, i, &values[i]) != 0)
            return t->err.code;
    }
    rc = heddle_use(sim, p, what(t), names, values, t->params, 0);
    if (rc != 0)
        return hd_err_set(&t->err, rc, "%s", heddle_policy_error(sim)->text);
    t->bound = true;
    if (t->cache)
        hd_cache_bound(&t->tags);
    else
        hd_tlb_bound(&t->tlb);
    return 0;
}

/* ---- building ------------------------------------------------------------ */

static int open_tlb(heddle_part_tags *t)
{
    struct hd_tlb_cfg cfg = {.mode = {HD_FULL, 0},
                             .entries = (uint32_t)t->number[ENTRIES],
                             .ways = (uint32_t)t->number[WAYS],
                             .ports = 1,
                             .mshrs = 1,
                             .merge_pages = 1};

    if (cfg.ways > cfg.entries || (cfg.ways && cfg.entries % cfg.ways != 0))
        return hd_err_set(&t->err, HEDDLE_ECONFIG,
                          "entries: %u is not a multiple of ways, %u", cfg.entries,
                          cfg.ways);
    return hd_tlb_open(&t->tlb, &t->env, &cfg, what(t), 2, 0);
}

static int open_cache(heddle_part_tags *t)
{
    uint64_t lines = t->number[BYTES] / t->number[LINE];
    struct hd_cache_cfg cfg = {.mode = {HD_FULL, 0},
                               .bytes = t->number[BYTES],
                               .ways = (uint32_t)t->number[WAYS],
                               .line = (uint32_t)t->number[LINE],
                               .write = (uint32_t)t->number[WRITE]};

    if (cfg.ways == 0)
        cfg.ways = (uint32_t)lines;
    if (hd_is_pow2(cfg.line) &&
        cfg.bytes % ((uint64_t)cfg.line * hd_max_u64(cfg.ways, 1)) != 0)
        return hd_err_set(&t->err, HEDDLE_ECONFIG,
                          "bytes: %llu is not a multiple of a set of %u ways of "
                          "%u bytes",
                          (unsigned long long)cfg.bytes, cfg.ways, cfg.line);
    return hd_cache_open(&t->tags, &t->env, &cfg, what(t), 0, cfg.bytes);
}

/* What a policy sees besides the tags: one core whose cycles are accesses. */
static int open_env(heddle_part_tags *t)
{
    struct heddle_place machine = {
        .cores = 1, .warps = 1, .apps = 1, .seed = t->number[SEED]};

    if (hd_arena_open(&t->arena, (size_t)1 << 33) != 0)
        return hd_err_memory(&t->err);
    for (uint32_t d = 0; d < HD_CLK_COUNT; d++)
        t->clk.hz[d] = 1;
    hd_err_clear(&t->wrong);
    t->head.env = &t->env;
    t->env = (struct hd_env){.arena = &t->arena,
                             .ev = &t->ev,
                             .stats = &t->stats,
                             .clk = &t->clk,
                             .err = &t->wrong,
                             .seed = t->number[SEED],
                             .apps = 1};
    hd_stats_open(&t->stats, &t->arena, 1);
    if (hd_clocks_init(&t->clk, &t->err) != 0 ||
        hd_events_open(&t->ev, &t->arena, t->clk.ticks[HD_CLK_CORE]) != 0 ||
        hd_slots_open(&t->slots, &t->env, (heddle_sim *)(void *)t, &machine))
        return hd_err_memory(&t->err);
    return 0;
}

static int open_part(heddle_part_tags *t)
{
    int rc = open_env(t);

    if (rc == 0)
        rc = t->cache ? open_cache(t) : open_tlb(t);
    if (rc == 0 && t->wrong.code >= 0)
        rc = part_tags_bind(t);
    if (rc != 0 || t->wrong.code < 0) {
        if (t->err.code == 0)
            t->err = t->wrong;
        if (t->err.code == 0)
            hd_err_memory(&t->err);
        close_part(t);
        memset(&t->arena, 0, sizeof t->arena);
        t->bound = false;
        return t->err.code;
    }
    t->open = true;
    return 0;
}

/* ---- accesses ------------------------------------------------------------ */

static bool access_tlb(heddle_part_tags *t, uint64_t page)
{
    hd_vpn vpn = {page};
    struct hd_xlate x = {vpn, {0}, 1, 1}; /* its frame is never asked for */
    struct hd_xlate got;

    if (hd_tlb_lookup(&t->tlb, 0, vpn, 0, 0, &got, NULL))
        return true;
    hd_tlb_fill(&t->tlb, 0, 0, 0, vpn, &x, 0);
    return false;
}

static bool access_cache(heddle_part_tags *t, uint64_t address, bool write)
{
    struct hd_who who = {0, HD_NO_WARP};
    uint64_t line = address / t->number[LINE], victim;
    uint32_t owner, kind = write ? HD_REQ_WRITE : HD_REQ_READ;

    if (hd_cache_lookup(&t->tags, line, kind, who))
        return true;
    if (write && t->number[WRITE] != HD_WRITE_BACK)
        return false;
    t->r.write_backs +=
        hd_cache_fill(&t->tags, line, kind, 0, write, who, &victim, &owner);
    t->r.evictions += victim != HD_KEY_NONE;
    return false;
}

int heddle_part_tags_access(heddle_part_tags *t, uint64_t number, int write)
{
    bool hit;

    hd_err_clear(&t->err);
    if (!t->open && open_part(t) != 0)
        return t->err.code;
    if (t->wrong.code < 0) {
        t->err = t->wrong;
        return t->err.code;
    }
    if (!t->cache && number >= 1ull << 52)
        return hd_err_set(&t->err, HEDDLE_EINVAL,
                          "page %llu is beyond 2^52: page numbers are "
                          "expected, not addresses",
                          (unsigned long long)number);
    hit = t->cache ? access_cache(t, number, write) : access_tlb(t, number);
    t->r.accesses++;
    t->r.hits += hit;
    t->r.misses += !hit;
    t->r.writes += write != 0;
    t->r.write_hits += write && hit;
    if (t->bound)
        hd_events_run(&t->ev, t->r.accesses * t->clk.ticks[HD_CLK_CORE],
                      &t->wrong.code);
    if (HD_UNLIKELY(t->wrong.code < 0)) {
        t->err = t->wrong;
        return t->err.code;
    }
    return hit;
}

int heddle_part_tags_check(heddle_part_tags *t)
{
    hd_err_clear(&t->err);
    if (!t->open && open_part(t) != 0)
        return t->err.code;
    return hd_slots_check(&t->slots, &t->err);
}

int heddle_part_tags_is_cache(const heddle_part_tags *t)
{
    return t->cache;
}

void heddle_part_tags_result(const heddle_part_tags *t,
                             struct heddle_part_tags_result *out)
{
    *out = t->r;
    if (t->cache || !t->open)
        return;
    /* every miss of a TLB fills; what is not there any more was replaced */
    out->evictions = t->r.misses;
    for (uint32_t s = 0; s < t->tlb.base.sets; s++)
        out->evictions -= hd_assoc_valid(&t->tlb.base, s);
}
