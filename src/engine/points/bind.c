/*
 * bind.c - heddle_use and heddle_unuse: who answers which slot.
 *
 * Binding happens in steps, and nothing changes before the last: the policy
 * and its parameters are checked, the slots it wants are found, other policies
 * on them are a conflict (an error that names both), the states are made.
 * Then wrappers go into the slots.  Only HEDDLE_USE_REPLACE unbinds others
 * before the states are made, so that a policy may replace itself and get its
 * own place in the arena again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kit/library.h"
#include "kit/param.h"
#include "sim.h"
#include "registry.h"

/* Whether each structure that replaces entries tells a note to those who are
 * bound to it. */
static bool bind_of_each(uint32_t note)
{
    return heddle_note_info(note)->at[0] == '\0';
}

static bool bind_follows(const struct heddle_policy *p)
{
    for (uint32_t i = 0; i < HEDDLE_NOTE_COUNT; i++)
        if (p->watch[i] && bind_of_each(i))
            return true;
    return false;
}

/* Whether a policy answers and watches nothing but replacement. */
static bool only_replaces(const struct heddle_policy *p)
{
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++)
        if (p->answer[i] && i != HEDDLE_POINT_repl_victim)
            return false;
    for (uint32_t i = 0; i < HEDDLE_NOTE_COUNT; i++)
        if (p->watch[i] && !bind_of_each(i))
            return false;
    return p->answer[HEDDLE_POINT_repl_victim] != NULL || bind_follows(p);
}

/* Whether a policy can do nothing but watch and steer. */
static bool only_watches(const struct heddle_policy *p)
{
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++)
        if (p->answer[i])
            return false;
    return p->open != NULL && p->period == NULL;
}

bool hd_bind_watches(const struct hd_bound *b)
{
    return only_watches(b->policy) && b->owned[HD_OWN_TABLE] == 0 &&
           b->owned[HD_OWN_LIMIT] == 0;
}

static bool wants(const struct heddle_policy *p, const struct hd_offer *o,
                  uint32_t at)
{
    return p->answer[o->point] && (at == HD_NONE || o->at == at);
}

/* ---- checks ----------------------------------------------------------- */

static int check_policy(const struct hd_slots_registry *r,
                        const struct heddle_policy *p, struct heddle_error *err)
{
    char why[160];

    if (p == NULL)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "no policy (NULL): none of that name was found");
    if (p->name == NULL || p->name[0] == '\0' || strlen(p->name) > 31)
        return hd_err_set(err, HEDDLE_EPOLICY,
                          "a policy needs a name of 1 to 31 bytes");
    if (!hd_library_takes(p->abi, HEDDLE_POLICY_ABI_OLDEST, HEDDLE_POLICY_ABI,
                          "policy.h", why, sizeof why))
        return hd_err_set(err, HEDDLE_EPOLICY, "policy %s: %s", p->name, why);
    for (uint32_t i = 0; i < r->epochals; i++)
        if (p->answer[r->epochal[i].point] && !(p->period && p->epoch))
            return hd_err_set(err, HEDDLE_EPOLICY,
                              "policy %s answers %s, which is asked at the end "
                              "of its epochs, but it has none (every)",
                              p->name,
                              heddle_point_info(r->epochal[i].point)->name);
    return hd_param_check(&(struct hd_param_of){"policy", p->name, p->params},
                          HEDDLE_EPOLICY, err);
}

/* The structure of a name; "" is HD_NONE, everywhere. */
static int find_at(struct hd_slots_registry *r, const struct heddle_policy *p,
                   const char *name, uint32_t *at, struct heddle_error *err)
{
    const char *names[HD_MAX_AT];
    char meant[96];

    *at = HD_NONE;
    if (name == NULL || name[0] == '\0')
        return 0;
    *at = hd_registry_at(r, name, false);
    if (*at != HD_NONE)
        return 0;
    for (uint32_t i = 0; i < r->ats; i++)
        names[i] = r->at[i].name;
    return hd_err_set(err, HEDDLE_ECONFIG,
                      "policy %s: this machine has no \"%s\" that asks "
                      "anything%s",
                      p->name, name,
                      hd_meant(meant, sizeof meant, name, names, r->ats));
}

/* A policy that answers points must find at least one of them. */
static int check_offers(struct hd_slots_registry *r,
                        const struct heddle_policy *p, uint32_t at,
                        struct heddle_error *err)
{
    const char *point = NULL;

    for (uint32_t i = 0; i < r->offers; i++)
        if (wants(p, r->offer[i], at))
            return 0;
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT && point == NULL; i++)
        if (p->answer[i])
            point = heddle_point_info(i)->name;
    if (point == NULL &&
        (at == HD_NONE || (bind_follows(p) && r->at[at].ways != 0)))
        return 0; /* it only watches or steers */
    if (point == NULL)
        return hd_err_set(err, HEDDLE_EPOLICY,
                          "policy %s answers no point, so it cannot be bound "
                          "at \"%s\"",
                          p->name, r->at[at].name);
    return hd_err_set(
        err, HEDDLE_EPOLICY, "policy %s answers %s, which %s%s%s never asks",
        p->name, point, at == HD_NONE ? "this machine" : "\"",
        at == HD_NONE ? "" : r->at[at].name, at == HD_NONE ? "" : "\"");
}

/* Unbinds the policies that stand in the way, or names one that does. */
static int clear_way(struct hd_slots_registry *r, const struct heddle_policy *p,
                     uint32_t at, uint32_t flags, struct heddle_error *err)
{
    for (uint32_t i = 0; i < r->offers; i++) {
        struct hd_offer *o = r->offer[i];
        const char *where = r->at[o->at].name;

        if (!wants(p, o, at) || o->by == NULL)
            continue;
        if (flags & HEDDLE_USE_REPLACE) {
            hd_bind_release(r, o->by);
            continue;
        }
        return hd_err_set(err, HEDDLE_EPOLICY,
                          "policies %s and %s both answer %s%s%s: a policy "
                          "that calls the other can combine them",
                          o->by->policy->name, p->name, o->info->name,
                          where[0] ? " of " : "", where);
    }
    return 0;
}

/* ---- state ------------------------------------------------------------ */

static uint64_t hash_name(const char *s)
{
    uint64_t h = 0;

    for (; *s; s++)
        h = hd_mix64(h ^ (unsigned char)*s);
    return h;
}

/* The machine as a cell sees it. */
static struct heddle_place bind_place(const struct hd_slots_registry *r,
                                      const struct heddle_policy *p,
                                      const struct hd_cell *c)
{
    struct heddle_place place = r->machine;

    place.at = c->where;
    place.sim = r->sim;
    if (c->at != HD_NONE) {
        place.instances = r->at[c->at].instances;
        place.sets = r->at[c->at].sets;
        place.ways = r->at[c->at].ways;
    }
    place.seed =
        hd_mix64(r->machine.seed ^ hash_name(p->name) ^ hash_name(c->where));
    return place;
}

/* A place in the arena, where the policy was before if it was. */
static void *take_home(struct hd_slots_registry *r,
                       const struct heddle_policy *p, struct hd_cell *c,
                       size_t bytes)
{
    struct hd_home *h;
    void *state;

    for (uint32_t i = 0; i < r->homes; i++) {
        h = &r->home[i];
        if (!h->taken && h->bytes == bytes && strcmp(h->policy, p->name) == 0 &&
            strcmp(h->where, c->where) == 0) {
            h->taken = 1;
            c->home = i;
            return r->env->arena->base + h->offset;
        }
    }
    if (r->homes == HD_LEN(r->home))
        return NULL;
    state = hd_arena_take(r->env->arena, 1, bytes);
    if (state == NULL)
        return NULL;
    c->home = r->homes;
    h = &r->home[r->homes++];
    snprintf(h->policy, sizeof h->policy, "%s", p->name);
    snprintf(h->where, sizeof h->where, "%s", c->where);
    h->bytes = bytes;
    h->offset = (size_t)((unsigned char *)state - r->env->arena->base);
    h->taken = 1;
    return state;
}

static void close_cell(struct hd_slots_registry *r,
                       const struct heddle_policy *p, struct hd_cell *c)
{
    if (p->open && p->close && c->state)
        p->close(c->state);
    if (c->home != HD_NONE)
        r->home[c->home].taken = 0;
    c->state = NULL;
    c->home = HD_NONE;
}

static int open_cell(struct hd_slots_registry *r, const struct hd_bound *b,
                     struct hd_cell *c, struct heddle_error *err)
{
    const struct heddle_policy *p = b->policy;
    struct heddle_place place = bind_place(r, p, c);
    size_t bytes;

    if (p->open) {
        c->state = p->open(p->ud, r->sim, &place, b->values);
        if (c->state == NULL)
            hd_err_set(err, HEDDLE_EPOLICY, "policy %s could not start",
                       p->name);
        return err->code;
    }
    bytes = p->state_bytes ? p->state_bytes(&place, b->values) : 0;
    if (bytes < 8)
        bytes = 8;
    c->state = take_home(r, p, c, bytes);
    if (c->state == NULL)
        return hd_err_memory(err);
    memset(c->state, 0, bytes);
    if (p->init && p->init(c->state, &place, b->values) != 0)
        return hd_err_set(err, HEDDLE_EPOLICY,
                          "policy %s refuses this machine or its parameters",
                          p->name);
    if (p->start)
        p->start(c->state, r->sim);
    return err->code;
}

/* Which cells a binding has: a list of structures, or one for all. */
static void list_cells(const struct hd_slots_registry *r, struct hd_bound *b,
                       uint32_t at)
{
    bool each = at == HD_NONE && only_replaces(b->policy);

    for (uint32_t i = 0; i < r->offers && each; i++) {
        const struct hd_offer *o = r->offer[i];
        bool known = false;
        for (uint32_t k = 0; k < b->cells; k++)
            known |= b->cell[k].at == o->at;
        if (o->point == HEDDLE_POINT_repl_victim && !known)
            b->cell[b->cells++].at = o->at;
    }
    if (!each) {
        b->cell[0].at = at;
        b->cells = 1;
    }
    for (uint32_t k = 0; k < b->cells; k++) {
        struct hd_cell *c = &b->cell[k];
        c->home = HD_NONE;
        snprintf(c->where, sizeof c->where, "%s",
                 c->at == HD_NONE ? "" : r->at[c->at].name);
    }
}

static int open_cells(struct hd_slots_registry *r, struct hd_bound *b,
                      struct heddle_error *err)
{
    r->current = b;
    r->sink = err;
    for (uint32_t i = 0; i < b->cells && err->code == 0; i++)
        open_cell(r, b, &b->cell[i], err);
    r->current = NULL;
    r->sink = NULL;
    return err->code;
}

/* ---- installing ------------------------------------------------------- */

static const struct heddle_field_info *note_field(enum heddle_note n,
                                                  const char *name)
{
    const struct heddle_note_info *info = heddle_note_info(n);

    for (uint32_t i = 0; i < info->fields; i++)
        if (strcmp(info->field[i].name, name) == 0)
            return &info->field[i];
    return NULL;
}

static struct hd_watcher watcher(const struct heddle_policy *p,
                                 enum heddle_note n, struct hd_bound *b,
                                 uint32_t at)
{
    struct hd_watcher w = {
        .fn = p->watch[n], .state = b->cell[0].state, .by = b, .at = at};

    for (const struct heddle_filter *f = p->filters;
         f != NULL && f->field != NULL; f++)
        if (f->note == n) {
            w.filter[w.filters].offset = note_field(n, f->field)->offset;
            w.filter[w.filters++].value = f->value;
        }
    return w;
}

/* Which levels have watchers: one that filters them is no burden to the
 * other. */
static void count_told(struct hd_slots_registry *r)
{
    memset(r->slots->told, 0, sizeof r->slots->told);
    for (uint32_t n = 0; n < HEDDLE_NOTE_COUNT; n++) {
        const struct heddle_field_info *f =
            note_field((enum heddle_note)n, "level");
        for (uint32_t i = 0; i < r->slots->watched[n]; i++) {
            const struct hd_watcher *w = &r->watcher[n][i];
            uint64_t only = 0;
            for (uint32_t k = 0; f != NULL && k < w->filters; k++)
                if (w->filter[k].offset == f->offset)
                    only = w->filter[k].value;
            r->slots->told[0][n] += only == 0 || only == 1;
            r->slots->told[1][n] += only == 0 || only == 2;
        }
    }
}

static void install(struct hd_slots_registry *r, struct hd_bound *b,
                    uint32_t at)
{
    const struct heddle_policy *p = b->policy;

    for (uint32_t i = 0; i < r->offers; i++) {
        struct hd_offer *o = r->offer[i];
        if (!wants(p, o, at))
            continue;
        o->by = b;
        o->fn = p->answer[o->point];
        o->state = hd_bound_cell(b, o->at)->state;
        hd_ask_wire(o);
    }
    for (uint32_t n = 0; n < HEDDLE_NOTE_COUNT; n++)
        if (p->watch[n])
            r->watcher[n][r->slots->watched[n]++] =
                watcher(p, (enum heddle_note)n, b, at);
    count_told(r);
    hd_env_bound(r->env);
    for (uint32_t i = 0; i < r->epochals; i++)
        if (p->answer[r->epochal[i].point])
            r->epochal[i].begin(r->epochal[i].self);
    hd_registry_start_epochs(r, b);
}

static int check_watchers(const struct hd_slots_registry *r,
                          const struct heddle_policy *p,
                          struct heddle_error *err)
{
    uint32_t many[HEDDLE_NOTE_COUNT] = {0};

    for (const struct heddle_filter *f = p->filters;
         f != NULL && f->field != NULL; f++) {
        const char *note = f->note < HEDDLE_NOTE_COUNT
                               ? heddle_note_info(f->note)->name
                               : NULL;

        if (note == NULL)
            return hd_err_set(err, HEDDLE_EPOLICY,
                              "policy %s: a filter on %s of note %d, which "
                              "does not exist",
                              p->name, f->field, (int)f->note);
        if (p->watch[f->note] == NULL)
            return hd_err_set(err, HEDDLE_EPOLICY,
                              "policy %s: a filter on %s of %s, which it does "
                              "not watch",
                              p->name, f->field, note);
        if (note_field(f->note, f->field) == NULL)
            return hd_err_set(err, HEDDLE_EPOLICY,
                              "policy %s: a filter on %s of %s, which has no "
                              "such field",
                              p->name, f->field, note);
        if (++many[f->note] > HD_MAX_FILTERS)
            return hd_err_set(err, HEDDLE_EPOLICY,
                              "policy %s: more than %d filters on %s", p->name,
                              HD_MAX_FILTERS, note);
    }
    for (uint32_t n = 0; n < HEDDLE_NOTE_COUNT; n++)
        if (p->watch[n] && r->slots->watched[n] == HD_MAX_WATCHERS)
            return hd_err_set(
                err, HEDDLE_EPOLICY, "policy %s: %d policies watch %s already",
                p->name, HD_MAX_WATCHERS, heddle_note_info(n)->name);
    return 0;
}

void hd_bind_release(struct hd_slots_registry *r, struct hd_bound *b)
{
    uint32_t index = (uint32_t)(b - r->bound);

    for (uint32_t i = 0; i < r->offers; i++) {
        struct hd_offer *o = r->offer[i];
        if (o->by != b)
            continue;
        o->by = NULL;
        hd_ask_wire(o);
    }
    for (uint32_t n = 0; n < HEDDLE_NOTE_COUNT; n++) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < r->slots->watched[n]; i++)
            if (r->watcher[n][i].by != b)
                r->watcher[n][kept++] = r->watcher[n][i];
        r->slots->watched[n] = kept;
    }
    count_told(r);
    hd_steer_defaults(r, b->owned[HD_OWN_TABLE]);
    hd_env_bound(r->env);
    for (uint32_t i = 0; i < b->cells; i++) {
        close_cell(r, b->policy, &b->cell[i]);
        hd_registry_rest(r, index, i, HD_NEVER);
    }
    if (b->policy->period != NULL)
        r->state->generation[index]++;
    memset(b, 0, sizeof *b);
    if (r->slots->released != NULL)
        r->slots->released(r->sim);
}

/* ---- the public calls ------------------------------------------------- */

static struct hd_slots_registry *registry(const heddle_sim *s)
{
    return hd_sim_env(s)->slots->registry;
}

/* Those who watch are taken from the end, so that the others' places do not
 * depend on who watches. */
static struct hd_bound *free_bound(struct hd_slots_registry *r,
                                   const struct heddle_policy *p)
{
    uint32_t last = only_watches(p) ? HEDDLE_MAX_BOUND - 1 : 0;

    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND; i++)
        if (r->bound[i ^ last].policy == NULL)
            return &r->bound[i ^ last];
    return NULL;
}

int heddle_use(heddle_sim *s, const struct heddle_policy *p, const char *at,
               const char *const *names, const uint64_t *values, uint32_t n,
               uint32_t flags)
{
    struct hd_slots_registry *r = registry(s);
    struct heddle_error *err = &r->error;
    uint64_t v[HEDDLE_MAX_PARAMS] = {0};
    struct hd_bound *b;
    uint32_t place;

    hd_err_clear(err);
    if (check_policy(r, p, err) != 0)
        return err->code;
    if (r->listener != NULL)
        return hd_err_set(err, HEDDLE_EPOLICY,
                          "policy %s: bind it before a listener is set",
                          p->name);
    if (find_at(r, p, at, &place, err) != 0)
        return err->code;
    if (hd_param_values(&(struct hd_param_of){"policy", p->name, p->params},
                        names, values, n, v, err) != 0)
        return err->code;
    if (check_offers(r, p, place, err) != 0 || check_watchers(r, p, err) != 0 ||
        clear_way(r, p, place, flags, err) != 0)
        return err->code;
    b = free_bound(r, p);
    if (b == NULL)
        return hd_err_set(err, HEDDLE_EPOLICY,
                          "policy %s: %d policies are bound already", p->name,
                          HEDDLE_MAX_BOUND);
    if (hd_own_name(r, p, err) != 0)
        return err->code;
    b->policy = p;
    b->code = p->code != 0 ? p->code : hd_library_code(p);
    b->order = r->uses++;
    snprintf(b->at, sizeof b->at, "%s", at ? at : "");
    memcpy(b->values, v, sizeof v);
    list_cells(r, b, place);
    if (open_cells(r, b, err) != 0) {
        hd_bind_release(r, b);
        return err->code;
    }
    install(r, b, place);
    return 0;
}

int heddle_unuse(heddle_sim *s, const char *name, const char *at)
{
    struct hd_slots_registry *r = registry(s);
    int n = 0;

    hd_listen_end(r);
    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND; i++) {
        struct hd_bound *b = &r->bound[i];
        if (b->policy == NULL || (name && strcmp(name, b->policy->name) != 0) ||
            (at && strcmp(at, b->at) != 0))
            continue;
        hd_bind_release(r, b);
        n++;
    }
    return n;
}

/* The binding with the i-th smallest order, or NULL. */
static const struct hd_bound *bound_at(const heddle_sim *s, uint32_t i)
{
    const struct hd_slots_registry *r = registry(s);
    const struct hd_bound *next;
    uint32_t least = 0;

    do {
        next = NULL;
        for (uint32_t m = 0; m < HEDDLE_MAX_BOUND; m++) {
            const struct hd_bound *b = &r->bound[m];
            if (b->policy && b->order >= least &&
                (next == NULL || b->order < next->order))
                next = b;
        }
        if (next != NULL)
            least = next->order + 1;
    } while (next != NULL && i-- > 0);
    return next;
}

int heddle_used(const heddle_sim *s, uint32_t i, struct heddle_use_info *out)
{
    const struct hd_bound *b = bound_at(s, i);

    if (b == NULL)
        return HEDDLE_EINVAL;
    out->policy = b->policy;
    out->at = b->at;
    out->values = b->values;
    out->code = b->code;
    return 0;
}

void *heddle_used_state(const heddle_sim *s, uint32_t i, uint32_t k,
                        const char **place)
{
    const struct hd_bound *b = bound_at(s, i);

    if (b == NULL || k >= b->cells)
        return NULL;
    if (place != NULL)
        *place = b->cell[k].where;
    return b->cell[k].state;
}

const struct heddle_error *heddle_policy_error(const heddle_sim *s)
{
    return &registry(s)->error;
}

uint64_t heddle_policy_now(const heddle_sim *s)
{
    const struct hd_env *env = hd_sim_env(s);

    return hd_cycle(env->clk, HD_CLK_CORE, hd_events_now(env->ev));
}

int heddle_policy_fail(heddle_sim *s, const char *text)
{
    struct hd_slots_registry *r = registry(s);

    return hd_err_set(r->sink ? r->sink : r->env->err, HEDDLE_EPOLICY, "%s",
                      text);
}
