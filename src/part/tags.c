/*
 * tags.c - a TLB or a cache driven alone: heddle_part_tlb, heddle_part_cache.
 *
 * The structures are those of the machine, without its clocks: an access
 * looks up, and a miss fills at once, so hits depend on nothing but the order
 * of the accesses.  A store that misses fills only in a write-back cache.
 *
 * A replacement policy is bound straight to the four slots of the array:
 * there is no simulation, so a policy has one instance and no epochs.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/bits.h"
#include "../heddle_part.h"
#include "../mem/cache.h"
#include "../policy.h"
#include "../vm/tlb.h"
#include "tracefile.h"

enum { NUMBERS = 6, MOST_PARAMS = 8, PARAM_ROOM = 32 };

/* Settings that are numbers. */
enum { ENTRIES, BYTES, LINE, WAYS, WRITE, SEED };

struct heddle_part_tags {
    bool cache;
    bool open; /* settings are frozen */
    uint64_t number[NUMBERS];
    char policy[HD_TEXT_ROOM];
    struct {
        char name[PARAM_ROOM];
        uint64_t value;
    } param[MOST_PARAMS];
    uint32_t params;
    struct hd_err err;
    struct heddle_part_tags_result r;
    /* while it is open */
    struct hd_arena arena;
    struct hd_env env;
    struct hd_tlb tlb;
    struct hd_cache tags;
    void *state; /* of the policy */
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

static heddle_part_tags *make(bool cache)
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
    return make(false);
}

heddle_part_tags *heddle_part_cache_new(void)
{
    return make(true);
}

void heddle_part_tags_free(heddle_part_tags *t)
{
    if (t == NULL)
        return;
    if (t->arena.base != NULL)
        hd_arena_close(&t->arena);
    free(t->state);
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

static int unknown(heddle_part_tags *t, const char *name)
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

static int read_number(heddle_part_tags *t, const char *name, const char *value,
                       uint64_t min, uint64_t max, uint64_t *out)
{
    char copy[64], *s = copy;
    unsigned long long v = 0;

    snprintf(copy, sizeof copy, "%s", value);
    if (hd_tracefile_number(&s, &v) != 0 || *s != '\0' || v < min || v > max)
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
    if (i == MOST_PARAMS || strlen(name) >= PARAM_ROOM)
        return hd_err_set(&t->err, HEDDLE_ECONFIG,
                          "policy.%s: too many or too long parameters", name);
    if (i == t->params)
        strcpy(t->param[t->params++].name, name);
    return read_number(t, name, value, 0, UINT64_MAX, &t->param[i].value);
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
        return 0;
    }
    for (uint32_t i = 0; i < NUMBERS; i++) {
        if (strcmp(name, numbers[i].name) != 0 ||
            (numbers[i].of & (t->cache ? 2 : 1)) == 0)
            continue;
        return i == WRITE ? set_write(t, value)
                          : read_number(t, name, value, numbers[i].min,
                                        numbers[i].max, &t->number[i]);
    }
    return unknown(t, name);
}

/* ---- the policy ---------------------------------------------------------- */

/* Without a function for a point the default goes on. */
static void answer(struct hd_slot *slot, const struct heddle_policy *p,
                   enum heddle_point point, void *state)
{
    if (p->answer[point] != NULL)
        *slot = (struct hd_slot){p->answer[point], state, 1};
}

static const struct heddle_policy *find_policy(heddle_part_tags *t)
{
    const struct heddle_policy *p;
    char text[256];

    if (strchr(t->policy, '/') != NULL) {
        p = heddle_policy_load(t->policy, text, sizeof text);
        if (p == NULL)
            hd_err_set(&t->err, HEDDLE_ECONFIG, "policy: %s", text);
    } else {
        p = heddle_policy_find(t->policy, NULL);
    }
    if (p == NULL || p->answer[HEDDLE_POINT_repl_victim] == NULL) {
        hd_err_set(&t->err, HEDDLE_ECONFIG,
                   "policy: lru, fifo, random, srrip or a plug-in ./x.so that "
                   "replaces is expected, not '%s'; one in Lua needs a "
                   "simulation",
                   t->policy);
        return NULL;
    }
    return p;
}

static int read_params(heddle_part_tags *t, const struct heddle_policy *p,
                       uint64_t *values)
{
    bool used[MOST_PARAMS] = {false};

    for (uint32_t i = 0; p->params && p->params[i].name; i++) {
        const struct heddle_param *q = &p->params[i];

        values[i] = q->def;
        for (uint32_t k = 0; k < t->params; k++) {
            if (strcmp(t->param[k].name, q->name) != 0)
                continue;
            used[k] = true;
            values[i] = t->param[k].value;
            if (values[i] < q->min || values[i] > q->max)
                return hd_err_set(&t->err, HEDDLE_ECONFIG,
                                  "policy.%s: a number from %llu to %llu is "
                                  "expected, not %llu",
                                  q->name, (unsigned long long)q->min,
                                  (unsigned long long)q->max,
                                  (unsigned long long)values[i]);
        }
    }
    for (uint32_t k = 0; k < t->params; k++)
        if (!used[k])
            return hd_err_set(&t->err, HEDDLE_ECONFIG,
                              "policy %s has no parameter '%s'", p->name,
                              t->param[k].name);
    return 0;
}

static int bind(heddle_part_tags *t, struct hd_assoc *a)
{
    const struct heddle_policy *p = find_policy(t);
    struct heddle_place place = {.at = what(t),
                                 .apps = 1,
                                 .cores = 1,
                                 .warps = 1,
                                 .instances = 1,
                                 .sets = a->sets,
                                 .ways = a->ways,
                                 .seed = t->number[SEED]};
    uint64_t values[HEDDLE_MAX_PARAMS] = {0};
    size_t bytes;

    if (p == NULL || read_params(t, p, values) != 0)
        return t->err.code;
    if (p == heddle_policy_find("lru", NULL))
        return 0; /* the default */
    bytes = p->state_bytes ? p->state_bytes(&place, values) : 0;
    t->state = calloc(1, bytes + 1);
    if (t->state == NULL)
        return hd_err_set(&t->err, HEDDLE_ENOMEM, "policy %s: out of memory",
                          p->name);
    if (p->init != NULL && p->init(t->state, &place, values) != 0)
        return hd_err_set(&t->err, HEDDLE_EPOLICY, "policy %s refuses to start",
                          p->name);
    answer(&a->touch, p, HEDDLE_POINT_repl_touch, t->state);
    answer(&a->fill, p, HEDDLE_POINT_repl_fill, t->state);
    answer(&a->victim, p, HEDDLE_POINT_repl_victim, t->state);
    answer(&a->gone, p, HEDDLE_POINT_repl_gone, t->state);
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
                          "entries: %u is no multiple of ways, %u", cfg.entries,
                          cfg.ways);
    if (hd_tlb_open(&t->tlb, &t->env, &cfg, "l2tlb", 2, 0) != 0)
        return t->err.code != 0
                   ? t->err.code
                   : hd_err_set(&t->err, HEDDLE_ENOMEM, "tlb: out of memory");
    return bind(t, &t->tlb.base);
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
                          "bytes: %llu is no multiple of a set of %u ways of "
                          "%u bytes",
                          (unsigned long long)cfg.bytes, cfg.ways, cfg.line);
    if (hd_cache_open(&t->tags, &t->env, &cfg, "cache", 0, cfg.bytes) != 0)
        return t->err.code;
    return bind(t, &t->tags.tags);
}

static int open_part(heddle_part_tags *t)
{
    if (hd_arena_open(&t->arena, (size_t)1 << 33) != 0)
        return hd_err_set(&t->err, HEDDLE_ENOMEM, "out of address space");
    t->env = (struct hd_env){.arena = &t->arena, .err = &t->err, .apps = 1};
    if ((t->cache ? open_cache(t) : open_tlb(t)) != 0) {
        hd_arena_close(&t->arena);
        free(t->state);
        t->state = NULL;
        return t->err.code;
    }
    t->open = true;
    return 0;
}

/* ---- accesses ------------------------------------------------------------ */

static bool access_tlb(heddle_part_tags *t, uint64_t page)
{
    hd_vpn vpn = {page};
    struct hd_xlate x = {vpn, {0}, 1, 1}; /* nobody asks for its frame */
    struct hd_xlate got;

    if (hd_tlb_lookup(&t->tlb, 0, vpn, 0, 0, &got))
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
    if (!t->cache && number >= 1ull << 52)
        return hd_err_set(&t->err, HEDDLE_EINVAL,
                          "page %llu lies beyond 2^52: page numbers are "
                          "expected, not addresses",
                          (unsigned long long)number);
    hit = t->cache ? access_cache(t, number, write) : access_tlb(t, number);
    t->r.accesses++;
    t->r.hits += hit;
    t->r.misses += !hit;
    t->r.writes += write != 0;
    t->r.write_hits += write && hit;
    return hit;
}

struct loading {
    heddle_part_tags *t;
    const char *path;
};

static int load_line(void *ud, char *text, unsigned long number,
                     struct hd_err *err)
{
    struct loading *l = ud;
    unsigned long long v;
    char *s = text;
    int write = 0, rc;

    if (hd_tracefile_number(&s, &v) != 0)
        return hd_err_set(err, HEDDLE_EDATA,
                          "%s:%lu: %s is expected, decimal or 0x..., not '%s'",
                          l->path, number,
                          l->t->cache ? "an address" : "a page number", text);
    if (l->t->cache && (*s == 'R' || *s == 'W')) {
        write = *s++ == 'W';
        s += strspn(s, " \t");
    }
    if (*s != '\0')
        return hd_err_set(err, HEDDLE_EDATA, "%s:%lu: %s is expected, not '%s'",
                          l->path, number,
                          l->t->cache ? "R, W or the end of the line"
                                      : "the end of the line",
                          s);
    rc = heddle_part_tags_access(l->t, v, write);
    if (rc >= 0)
        return 0;
    if (rc == HEDDLE_EINVAL)
        return hd_err_set(err, HEDDLE_EDATA, "%s:%lu: %s", l->path, number,
                          l->t->err.text);
    return hd_err_set(err, rc, "%s", l->t->err.text);
}

int heddle_part_tags_load(heddle_part_tags *t, const char *path)
{
    struct loading l = {t, strcmp(path, "-") ? path : "standard input"};
    struct hd_err err = {0};
    int rc;

    hd_err_clear(&t->err);
    if (!t->open && open_part(t) != 0) /* also of an empty file */
        return t->err.code;
    rc = hd_tracefile_each(path, load_line, &l, &err);
    if (rc != 0)
        t->err = err;
    return rc;
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
