/*
 * epoch.c - the epochs of policies: when one ends, what the policy learns then,
 * and the tables that it sets and C reads.
 *
 * Epochs are events of one component, posted again after each; an event carries
 * the generation of its binding, so that one left over from a policy that has
 * been unbound does nothing.
 *
 * A counter only grows; a policy that wants what was counted in an epoch takes
 * the difference.  The values here are live: they keep counting when an
 * application has finished once and runs again only as load for the others,
 * unlike those of results.
 *
 * A fact is what no difference of counters gives: a maximum, or a set.  The
 * part that knows it keeps it from one restart to the next.  A policy owns the
 * facts that it asked for first, and they start again when its epoch is over,
 * so it may read one as often as it likes in between.
 *
 * Where a question would be asked millions of times, a policy may set what the
 * engine's default looks up (tables.def): which levels bypass the L2 cache for
 * which application, the DRAM class of each kind of request, which warps may
 * fill the L2 TLB, which may load.  Then nothing is asked and a request costs
 * what it costs without a policy.  A table belongs to the policy that set it
 * first; a second one is an error.  It goes back to the default when that
 * policy is unbound.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <string.h>

#include "sim.h"
#include "registry.h"

/* ---- epochs ----------------------------------------------------------- */

static void find_next(struct hd_slots_registry *r)
{
    hd_time least = HD_NEVER;

    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND; i++)
        for (uint32_t c = 0; c < HD_MAX_AT; c++)
            least = hd_min_u64(least, r->state->epoch[i][c]);
    r->state->next = least;
}

void hd_registry_rest(struct hd_slots_registry *r, uint32_t bound,
                      uint32_t cell, hd_time at)
{
    r->state->epoch[bound][cell] = at;
    find_next(r);
}

static uint64_t period_of(const struct hd_bound *b, uint32_t cell)
{
    return b->policy->period && b->policy->epoch
               ? b->policy->period(b->cell[cell].state)
               : 0;
}

static void epoch_post(struct hd_slots_registry *r, const struct hd_bound *b,
                       uint32_t cell, hd_time now)
{
    uint32_t i = (uint32_t)(b - r->bound);
    uint64_t period = period_of(b, cell);
    hd_time at;

    if (period == 0) {
        hd_registry_rest(r, i, cell, HD_NEVER);
        return;
    }
    at = now + hd_ticks(r->env->clk, HD_CLK_CORE, period);
    hd_registry_rest(r, i, cell, at);
    hd_post(r->env->ev, r->component, r->component, at, 0, i * HD_MAX_AT + cell,
            r->state->generation[i]);
}

void hd_registry_start_epochs(struct hd_slots_registry *r, struct hd_bound *b)
{
    for (uint32_t c = 0; c < b->cells; c++)
        epoch_post(r, b, c, hd_events_now(r->env->ev));
}

/* The facts that b owns start again. */
static void restart_facts(struct hd_slots_registry *r, const struct hd_bound *b)
{
    for (uint32_t f = 0; f < r->facts; f++)
        if (b->owned[HD_OWN_FACT] >> f & 1)
            r->fact[f].restart(r->fact_self);
}

/* A policy that has a state for each structure has epochs for each; they end
 * at one instant, and the first is told. */
static void epoch_tell(struct hd_slots_registry *r, const struct hd_bound *b,
                       uint32_t cell)
{
    struct heddle_n_epoch n = {0};

    if (cell != 0 || r->slots->watched[HEDDLE_NOTE_epoch] == 0)
        return;
    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND; i++)
        n.policy += r->bound[i].policy != NULL && r->bound[i].order < b->order;
    hd_slots_note(r->slots, HEDDLE_NOTE_epoch, &n);
}

/* Event: an epoch of cell a is over; b is the binding's generation. */
void hd_registry_on_epoch(void *self, hd_time now, uint32_t what, uint32_t a,
                     uint64_t generation)
{
    struct hd_slots_registry *r = self;
    struct hd_bound *b = &r->bound[a / HD_MAX_AT];
    uint32_t cell = a % HD_MAX_AT;

    (void)what;
    if (b->policy == NULL || cell >= b->cells ||
        r->state->generation[a / HD_MAX_AT] != generation)
        return;
    hd_env_sync(r->env); /* the policy may read counters */
    hd_err_clear(&r->error);
    epoch_tell(r, b, cell);
    r->current = b;
    b->policy->epoch(b->cell[cell].state, r->sim,
                     hd_cycle(r->env->clk, HD_CLK_CORE, now));
    for (uint32_t i = 0; i < r->epochals; i++)
        if (b->policy->answer[r->epochal[i].point])
            r->epochal[i].over(r->epochal[i].self);
    restart_facts(r, b);
    r->current = NULL;
    if (r->error.code != 0) /* heddle_steer, whose result may be ignored */
        hd_err_set(r->env->err, HEDDLE_EPOLICY, "policy %s, epoch: %s",
                   b->policy->name, r->error.text);
    epoch_post(r, b, cell, now);
}

/* The running policy, if there is one, owns a table or a fact from now on; an
 * error where another does: that both steer it, say. */
static int epoch_own(struct hd_slots_registry *r, enum hd_own kind, uint32_t i,
                     const char *verb, const char *name)
{
    struct hd_bound *me = r->current ? r->current : r->told;

    for (const struct hd_bound *b = r->bound;
         me && b < r->bound + HEDDLE_MAX_BOUND; b++)
        if (b->policy && b != me && (b->owned[kind] >> i & 1))
            return hd_err_set(&r->error, HEDDLE_EPOLICY,
                              "policies %s and %s both %s %s", b->policy->name,
                              me->policy->name, verb, name);
    if (me)
        me->owned[kind] |= 1u << i;
    return 0;
}

/* ---- counters --------------------------------------------------------- */

/* A counter of one application in all copies of its part, with what is in open
 * intervals of time, since cycle 0: results count again from the end of the
 * warm-up, and a policy must not depend on what is measured. */
static uint64_t epoch_live(const struct hd_stat_group *g, uint32_t k,
                           uint32_t app)
{
    uint64_t out = g->past[(size_t)app * g->stat.n + k], open[256];

    for (uint32_t i = 0; i < g->stat.instances; i++) {
        uint64_t v = hd_stat_value(&g->stat, i, app, k, g->desc[k].kind);
        if (g->open != NULL && g->stat.n <= HD_LEN(open)) {
            memset(open, 0, g->stat.n * sizeof *open);
            g->open(g->self, i, app, open);
            v += open[k];
        }
        out = g->desc[k].kind == HD_STAT_PEAK ? hd_max_u64(out, v) : out + v;
    }
    return out;
}

static uint64_t live_all(const struct hd_stat_group *g, uint32_t k)
{
    uint64_t out = 0;

    for (uint32_t app = 0; app < g->stat.apps; app++) {
        uint64_t v = epoch_live(g, k, app);
        out = g->desc[k].kind == HD_STAT_PEAK ? hd_max_u64(out, v) : out + v;
    }
    return out;
}

int heddle_policy_counter(const heddle_sim *s, const char *name, uint32_t app,
                          uint64_t *out)
{
    const struct hd_stats *st = hd_sim_env(s)->stats;

    for (uint32_t i = 0; i < st->groups; i++) {
        const struct hd_stat_group *g = &st->group[i];
        size_t n = strlen(g->component);

        if (strncmp(g->component, name, n) != 0 || name[n] != '.')
            continue;
        for (uint32_t k = 0; k < g->stat.n; k++) {
            if (strcmp(g->desc[k].name, name + n + 1) != 0)
                continue;
            *out = app == UINT32_MAX    ? live_all(g, k)
                   : app < g->stat.apps ? epoch_live(g, k, app)
                                        : 0;
            return 0;
        }
    }
    *out = 0;
    return HEDDLE_EINVAL;
}

/* ---- facts ------------------------------------------------------------ */

void hd_slots_facts(struct hd_slots *s, const struct hd_fact *facts, uint32_t n,
                    void *self)
{
    s->registry->fact = facts;
    s->registry->facts = n;
    s->registry->fact_self = self;
}

static int no_fact(struct hd_slots_registry *r, const char *name)
{
    const char *names[32];
    char meant[96];
    uint32_t n = 0;

    for (; n < r->facts && n < HD_LEN(names); n++)
        names[n] = r->fact[n].info.name;
    return hd_err_set(&r->error, HEDDLE_EINVAL, "there is no fact \"%s\"%s",
                      name, hd_meant(meant, sizeof meant, name, names, n));
}

int heddle_recent(heddle_sim *s, const char *name, uint32_t i, uint64_t *out)
{
    struct hd_slots_registry *r = hd_sim_env(s)->slots->registry;
    const struct hd_fact *fact;
    uint32_t f = 0, n;

    *out = 0;
    if (r->sink != &r->error)
        hd_err_clear(&r->error);
    while (f < r->facts && strcmp(r->fact[f].info.name, name) != 0)
        f++;
    if (f == r->facts)
        return no_fact(r, name);
    fact = &r->fact[f];
    n = strcmp(fact->info.i, "core") == 0 ? r->machine.cores : r->machine.apps;
    if (i >= n)
        return hd_err_set(&r->error, HEDDLE_EINVAL,
                          "the fact %s has no %s %" PRIu32
                          ": they are below %" PRIu32,
                          name, fact->info.i, i, n);
    if (fact->restart != NULL && r->current == NULL)
        return hd_err_set(&r->error, HEDDLE_EPOLICY,
                          "the fact %s can be read only in an epoch (every)",
                          name);
    if (fact->restart != NULL &&
        epoch_own(r, HD_OWN_FACT, f, "ask for the fact", name) != 0)
        return r->error.code;
    *out = fact->get(r->fact_self, i);
    return 0;
}

/* ---- steering --------------------------------------------------------- */

enum index { ONE, APP, LEVEL, CORE };

#define INDEX_ONE   "0"
#define INDEX_APP   "application"
#define INDEX_LEVEL "level: 0 data, 1 root .. 4 leaf"
#define INDEX_CORE  "core"

static const struct table {
    struct heddle_table_info info;
    size_t offset, bytes, row, cell; /* in struct hd_steer */
    uint64_t most, def;
    enum index i, j;
} table[] = {
#define HD_TABLE(name, at, i, j, type, most, def, value, meaning)              \
    {{#name, at, INDEX_##i, INDEX_##j, value, meaning},                        \
     offsetof(struct hd_steer, name),                                          \
     sizeof(((struct hd_steer *)0)->name),                                     \
     sizeof(((struct hd_steer *)0)->name[0]),                                  \
     sizeof(type),                                                             \
     most,                                                                     \
     def,                                                                      \
     i,                                                                        \
     j},
#include "tables.def"
#undef HD_TABLE
};

const struct heddle_table_info *heddle_table_info(uint32_t i)
{
    return i < HD_LEN(table) ? &table[i].info : NULL;
}

static uint64_t below(const struct hd_slots_registry *r, enum index i)
{
    switch (i) {
    case APP:
        return r->machine.apps;
    case LEVEL:
        return HD_STEER_LEVELS;
    case CORE:
        return hd_min_u64(r->machine.cores, HD_STEER_CORES);
    default:
        return 1;
    }
}

/* Integers of one, two and eight bytes, wherever they are. */
static void epoch_put(unsigned char *at, size_t bytes, uint64_t value)
{
    uint8_t byte = (uint8_t)value;
    uint16_t half = (uint16_t)value;

    memcpy(at,
           bytes == 1   ? (void *)&byte
           : bytes == 2 ? (void *)&half
                        : (void *)&value,
           bytes);
}

/* Warps that an old limit held back can only be woken by this. */
static void tell_cores(struct hd_slots_registry *r, uint32_t first, uint64_t n)
{
    struct hd_slots *s = r->slots;

    for (uint32_t c = first; c < first + n && s->limit_changed; c++)
        s->limit_changed(s->limit_self, c);
}

int heddle_renew_limit(heddle_sim *sim, uint64_t core)
{
    struct hd_slots *s = hd_sim_env(sim)->slots;

    if (s->registry->told != NULL)
        s->registry->told->owned[HD_OWN_LIMIT] = 1;
    if (core >= s->registry->machine.cores)
        return HEDDLE_EINVAL;
    if (s->limit_renewed != NULL)
        s->limit_renewed(s->limit_self, (uint32_t)core);
    return 0;
}

/* Whether the arguments of translate and fill can be passed on. */
static bool epoch_fits(const struct hd_slots *s, uint64_t app,
                       enum heddle_translate_to to, uint64_t core)
{
    return s->translate != NULL && app < s->registry->machine.apps &&
           core < s->registry->machine.cores && to <= HEDDLE_TRANSLATE_TO_L1SIDE;
}

/* Why they were refused, unless that is told already; rc. */
static int epoch_refuse(struct hd_slots *s, const char *verb, int rc,
                        uint64_t app, uint64_t vpn, enum heddle_translate_to to,
                        uint64_t core)
{
    struct heddle_error *err = &s->registry->error;
    char name[16];

    heddle_word_name(HD_WORDS_OF(translate_to), to, name, sizeof name);
    if (rc == HEDDLE_ECONFIG)
        hd_err_set(err, rc,
                   "%s: this machine has no %s that takes translations", verb,
                   name);
    else if (rc == HEDDLE_EINVAL)
        hd_err_set(err, rc,
                   "%s: there is no application %" PRIu64 ", core %" PRIu64
                   " or page 0x%" PRIx64 " to %s",
                   verb, app, core, vpn, name);
    return rc;
}

int heddle_start_translation(heddle_sim *sim, uint64_t app, uint64_t vpn,
                             enum heddle_translate_to to, uint64_t core)
{
    struct hd_slots *s = hd_sim_env(sim)->slots;
    int rc = s->translate == NULL ? HEDDLE_ECONFIG : HEDDLE_EINVAL;

    if (epoch_fits(s, app, to, core))
        rc = s->translate(s->translate_self, (uint32_t)app, vpn, to,
                          (uint32_t)core);
    return epoch_refuse(s, "translate", rc, app, vpn, to, core);
}

int heddle_fill_translation(heddle_sim *sim, uint64_t app, uint64_t vpn,
                            enum heddle_translate_to to, uint64_t core)
{
    struct hd_slots *s = hd_sim_env(sim)->slots;
    int rc = s->translate == NULL ? HEDDLE_ECONFIG : HEDDLE_EINVAL;

    if (epoch_fits(s, app, to, core))
        rc = s->fill(s->translate_self, (uint32_t)app, vpn, to, (uint32_t)core,
                     &s->registry->error);
    return epoch_refuse(s, "fill", rc, app, vpn, to, core);
}

void hd_steer_defaults(struct hd_slots_registry *r, uint32_t tables)
{
    struct hd_steer *s = r->slots->steer;

    s->set &= ~tables;
    for (uint32_t k = 0; k < HD_LEN(table); k++) {
        const struct table *t = &table[k];
        unsigned char *at = (unsigned char *)s + t->offset;

        if ((tables >> k & 1) == 0)
            continue;
        epoch_put(at, t->cell, t->def);
        for (size_t n = t->cell; n < t->bytes; n *= 2)
            memcpy(at + n, at, hd_min_u64(n, t->bytes - n));
    }
    if (tables >> HD_TABLE_l2_bypass & 1)
        memset(s->l2_steered, 0, sizeof s->l2_steered);
    if (tables >> HD_TABLE_warp_limit & 1)
        tell_cores(r, 0, below(r, CORE));
}

static int no_table(struct hd_slots_registry *r, const char *name)
{
    const char *names[HD_LEN(table)];
    char meant[96];

    for (uint32_t i = 0; i < HD_LEN(table); i++)
        names[i] = table[i].info.name;
    return hd_err_set(
        &r->error, HEDDLE_EINVAL, "there is no steering table \"%s\"%s", name,
        hd_meant(meant, sizeof meant, name, names, HD_LEN(table)));
}

int heddle_steer(heddle_sim *s, const char *name, uint32_t i, uint32_t j,
                 uint64_t value)
{
    struct hd_slots_registry *r = hd_sim_env(s)->slots->registry;
    struct hd_steer *steer = r->slots->steer;
    const struct table *t = table;
    uint32_t k = 0;

    if (r->sink != &r->error)
        hd_err_clear(&r->error);
    while (k < HD_LEN(table) && strcmp(table[k].info.name, name) != 0)
        k++;
    if (k == HD_LEN(table))
        return no_table(r, name);
    t = &table[k];
    if (i >= below(r, t->i) || j >= below(r, t->j))
        return hd_err_set(&r->error, HEDDLE_EINVAL,
                          "steering table %s has no cell (%" PRIu32 ", %" PRIu32
                          "): its rows (%s) are below %" PRIu64
                          ", its columns (%s) below %" PRIu64,
                          name, i, j, t->info.i, below(r, t->i), t->info.j,
                          below(r, t->j));
    if (value > t->most)
        return hd_err_set(&r->error, HEDDLE_EINVAL,
                          "steering table %s cannot hold %" PRIu64
                          ", expected %s",
                          name, value, t->info.value);
    if (epoch_own(r, HD_OWN_TABLE, k, "steer", name) != 0)
        return r->error.code;
    epoch_put((unsigned char *)steer + t->offset + i * t->row + j * t->cell,
              t->cell, value);
    if (k == HD_TABLE_l2_bypass)
        steer->l2_steered[i][j] = 1;
    if (k == HD_TABLE_warp_limit)
        tell_cores(r, j, 1);
    if (!hd_steered(steer, k)) {
        steer->set |= 1u << k;
        hd_env_bound(r->env); /* its reader is quiet no more */
    }
    return 0;
}
