/*
 * registry.c - slots and notes of one simulation, and what a snapshot
 * must know of its policies.
 *
 * Parts offer their slots while the machine is built; a slot answers with its
 * default until bind.c puts a checking wrapper there.  A note goes to its
 * watchers in the order in which they were bound.
 *
 * A snapshot contains the arena: states, epochs, steering tables, counters.
 * It fits a simulation with the same policies, parameters and places of state;
 * those who only watch may come and go.  A policy that is unbound leaves its
 * place behind (a home) and gets the same one when it comes back.
 *
 * SPDX-License-Identifier: MIT
 */
#include "registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kit/bits.h"
#include "sim.h"

#define HD_POINT(name, at, heat, kind, limit, when, meaning, fields)           \
    [HD_ASKS * HEDDLE_POINT_##name + HD_ASKED] =                               \
        {#name ".asked", "questions",                                          \
         "questions put to a bound policy: " when, HD_STAT_COUNT},             \
    [HD_ASKS * HEDDLE_POINT_##name + HD_PASSED] =                              \
        {#name ".passed", "questions",                                         \
         "those that the policy left to the default", HD_STAT_COUNT},
static const struct hd_stat_desc policy_counters[] = {
#include "points.def"
};
#undef HD_POINT

const struct hd_rows hd_rows_policy = {.name = "policy",
                                       .counters = policy_counters,
                                       .counter_count =
                                           HD_LEN(policy_counters)};

/* ---- looking and checking --------------------------------------------- */

static void registry_look(void *self, uint32_t instance,
                          struct heddle_visitor *v)
{
    struct hd_slots_registry *r = self;
    struct heddle_use_info u;

    (void)instance;
    for (uint32_t i = 0; heddle_used(r->sim, i, &u) == 0; i++) {
        v->row(v->ud, "policy");
        v->text(v->ud, "name", u.policy->name);
        v->text(v->ud, "at", u.at);
        for (uint32_t k = 0; u.policy->params && u.policy->params[k].name; k++)
            v->number(v->ud, u.policy->params[k].name, u.values[k]);
    }
}

int hd_slots_check(struct hd_slots *s, struct heddle_error *err)
{
    struct hd_slots_registry *r = s->registry;

    r->sink = err;
    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND; i++) {
        struct hd_bound *b = &r->bound[i];
        for (uint32_t c = 0; b->policy && b->policy->check && c < b->cells; c++)
            b->policy->check(b->cell[c].state);
    }
    r->sink = NULL;
    return err->code;
}

static void registry_check(void *self, uint32_t instance,
                           struct heddle_error *err)
{
    struct hd_slots_registry *r = self;

    (void)instance;
    hd_slots_check(r->slots, err);
}

/* ---- life ------------------------------------------------------------- */

int hd_slots_open(struct hd_slots *s, struct hd_env *env, heddle_sim *sim,
                  const struct heddle_place *machine)
{
    struct hd_slots_registry *r = hd_env_take(env, 1, sizeof *r);
    struct hd_part part = {.name = "policy",
                           .instances = 1,
                           .self = r,
                           .look = registry_look,
                           .check = registry_check};

    memset(s, 0, sizeof *s);
    s->steer = hd_arena_take(env->arena, 1, sizeof *s->steer);
    if (r == NULL || s->steer == NULL)
        return HEDDLE_ENOMEM;
    r->state = hd_arena_take(env->arena, 1, sizeof *r->state);
    if (r->state == NULL)
        return HEDDLE_ENOMEM;
    s->registry = r;
    s->epoch = &r->state->next;
    r->slots = s;
    r->env = env;
    r->sim = sim;
    r->machine = *machine;
    r->machine.at = "";
    env->slots = s;
    memset(r->state->epoch, 0xff, sizeof r->state->epoch);
    r->state->next = HD_NEVER;
    r->stat = hd_stats_group(env->stats, &hd_rows_policy, 1);
    r->component = hd_events_component(env->ev, "policy", hd_registry_on_epoch,
                                       r);
    hd_steer_defaults(r, (uint32_t)hd_ones(HD_STEER_TABLES));
    hd_env_part(env, part);
    return 0;
}

void hd_slots_close(struct hd_slots *s)
{
    struct hd_slots_registry *r = s->registry;

    if (r == NULL)
        return;
    s->limit_changed = s->limit_renewed = NULL;
    s->released = NULL;
    hd_listen_end(r);
    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND; i++)
        if (r->bound[i].policy)
            hd_bind_release(r, &r->bound[i]);
    s->registry = NULL;
}

/* ---- offers ----------------------------------------------------------- */

uint32_t hd_registry_at(struct hd_slots_registry *r, const char *name, bool add)
{
    uint32_t i;

    for (i = 0; i < r->ats; i++)
        if (strcmp(r->at[i].name, name) == 0)
            return i;
    if (!add || i == HD_MAX_AT)
        return HD_NONE;
    snprintf(r->at[i].name, sizeof r->at[i].name, "%s", name);
    r->ats++;
    return i;
}

uint32_t hd_slots_shape(struct hd_slots *s, const char *at, uint32_t instance,
                        uint32_t sets, uint32_t ways)
{
    struct hd_slots_registry *r = s->registry;
    uint32_t i = hd_registry_at(r, at, true);

    hd_assert(i != HD_NONE);
    if (i == HD_NONE)
        return i;
    if (instance >= r->at[i].instances)
        r->at[i].instances = instance + 1;
    if (sets > r->at[i].sets)
        r->at[i].sets = sets;
    if (ways > r->at[i].ways)
        r->at[i].ways = ways;
    return i;
}

static uint32_t registry_offset(const struct heddle_point_info *info,
                                const char *field)
{
    for (uint32_t i = 0; i < info->fields; i++)
        if (info->field[i].count == NULL &&
            strcmp(info->field[i].name, field) == 0)
            return (uint32_t)info->field[i].offset;
    return HD_NONE;
}

static uint32_t count_words(const char *choices)
{
    uint32_t n = 1;

    for (; *choices; choices++)
        n += *choices == '|';
    return n;
}

/* Enters an offer; NULL when out of memory. */
static struct hd_offer *registry_enter(struct hd_slots_registry *r)
{
    struct hd_offer *o = hd_env_take(r->env, 1, sizeof *o);

    if (r->offers == r->offer_room) {
        uint32_t room = r->offer_room ? 2 * r->offer_room : 64;
        struct hd_offer **v = hd_env_take(r->env, room, sizeof *v);

        if (v == NULL)
            return NULL;
        for (uint32_t i = 0; i < r->offers; i++)
            v[i] = r->offer[i];
        r->offer = v;
        r->offer_room = room;
    }
    if (o != NULL)
        r->offer[r->offers++] = o;
    return o;
}

void hd_slots_offer(struct hd_slots *s, enum heddle_point p, const char *at,
                    struct hd_slot *slot, heddle_answer *fn, void *self)
{
    struct hd_slots_registry *r;
    struct hd_offer *o;
    uint32_t place;

    slot->fn = fn;
    slot->self = self;
    slot->bound = 0;
    if (s == NULL)
        return;
    r = s->registry;
    place = hd_registry_at(r, at, true);
    o = place == HD_NONE ? NULL : registry_enter(r);
    if (o == NULL) {
        hd_err_memory(r->env->err);
        return;
    }
    o->slot = slot;
    o->def = fn;
    o->def_self = self;
    o->r = r;
    o->info = heddle_point_info(p);
    o->point = p;
    o->at = place;
    o->instance = r->at[place].offered[p]++;
    o->app_offset = registry_offset(o->info, "app");
    o->limit_offset = registry_offset(o->info, o->info->limit);
    o->choices = count_words(o->info->limit);
}

const char *heddle_offered(const heddle_sim *sim, enum heddle_point p,
                           uint32_t i)
{
    const struct hd_slots_registry *r = hd_sim_env(sim)->slots->registry;

    for (uint32_t at = 0; at < r->ats; at++)
        if (r->at[at].offered[p] != 0 && i-- == 0)
            return r->at[at].name;
    return NULL;
}

void hd_slots_epochal(struct hd_slots *s, struct hd_epochal e)
{
    struct hd_slots_registry *r = s->registry;

    hd_assert(r->epochals < HD_LEN(r->epochal));
    r->epochal[r->epochals++] = e;
}

/* ---- who may be bothered ---------------------------------------------- */

/* A name of the list "l1tlb|l2tlb". */
static bool registry_listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = strstr(list, name); p != NULL && n > 0;
         p = strstr(p + 1, name))
        if ((p == list || p[-1] == '|') && (p[n] == '\0' || p[n] == '|'))
            return true;
    return false;
}

bool hd_slots_answered(const struct hd_slots *s, enum heddle_point p)
{
    const struct hd_slots_registry *r = s->registry;

    for (uint32_t i = 0; i < r->offers; i++)
        if (r->offer[i]->point == (uint32_t)p && r->offer[i]->by != NULL)
            return true;
    return false;
}

/* What of its state a policy has in time, or NULL. */
static const char *timed(const struct hd_bound *b, uint64_t points,
                         uint64_t notes)
{
    const struct heddle_policy *p = b->policy;

    for (uint32_t c = 0; p->period != NULL && c < b->cells; c++)
        if (p->period(b->cell[c].state) > 0)
            return "epochs";
    for (uint32_t n = 0; n < HEDDLE_NOTE_COUNT; n++)
        if (p->watch[n] != NULL && (notes >> n & 1) == 0)
            return heddle_note_info(n)->name;
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++)
        if (p->answer[i] != NULL && (points >> i & 1) == 0)
            return heddle_point_info(i)->name;
    return NULL;
}

const char *hd_slots_timed(const struct hd_slots *s, uint64_t points,
                           uint64_t notes, const char **what)
{
    const struct hd_slots_registry *r = s->registry;

    _Static_assert(HEDDLE_POINT_COUNT <= 64 && HEDDLE_NOTE_COUNT <= 64,
                   "bit sets");
    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND; i++)
        if (r->bound[i].policy != NULL &&
            (*what = timed(&r->bound[i], points, notes)) != NULL)
            return r->bound[i].policy->name;
    return NULL;
}

int heddle_answered(const heddle_sim *s, enum heddle_point p)
{
    return hd_slots_answered(hd_sim_env(s)->slots, p);
}

bool hd_slots_quiet(const struct hd_slots *s, const char *at)
{
    const struct hd_slots_registry *r;
    bool busy;

    if (s == NULL)
        return true;
    r = s->registry;
    busy = r->env->check;
    for (uint32_t i = 0; i < r->offers && !busy; i++) {
        const struct hd_offer *o = r->offer[i];
        busy = o->slot->bound && (strcmp(r->at[o->at].name, at) == 0 ||
                                  registry_listed(o->info->at, at));
    }
    for (uint32_t n = 0; n < HEDDLE_NOTE_COUNT && !busy; n++)
        busy = (at[0] == 'l' && (at[1] == '1' || at[1] == '2')
                    ? s->told[at[1] - '1'][n]
                    : s->watched[n]) != 0 &&
               registry_listed(heddle_note_info(n)->at, at);
    for (uint32_t t = 0; t < HD_STEER_TABLES && !busy; t++)
        busy = hd_steered(s->steer, t) &&
               registry_listed(heddle_table_info(t)->at, at);
    return !busy;
}

/* ---- notes ------------------------------------------------------------ */

/* What each note begins with. */
struct head {
    uint64_t cycle;
    heddle_sim *sim;
};

static bool registry_passes(const struct hd_watcher *w, const void *note)
{
    uint64_t v;

    for (uint32_t i = 0; i < w->filters; i++) {
        memcpy(&v, (const char *)note + w->filter[i].offset, sizeof v);
        if (v != w->filter[i].value)
            return false;
    }
    return true;
}

static void registry_tell(struct hd_slots_registry *r,
                          const struct hd_watcher *w, void *state,
                          const void *note)
{
    struct hd_bound *outer = r->told;

    r->told = w->by;
    if (registry_passes(w, note) && !(r->muted && hd_bind_watches(w->by)))
        w->fn(state, note);
    r->told = outer;
}

/* Fills in what a note begins with.  False: after an error, none is told. */
static bool registry_head(const struct hd_slots_registry *r, void *fields)
{
    const struct hd_env *env = r->env;
    struct head *head = fields;
    hd_time at = env->local ? *env->local : hd_events_now(env->ev);

    hd_cross(r->env, HD_BORDER_policy);
    *head = (struct head){hd_cycle(env->clk, HD_CLK_CORE, at), r->sim};
    return HD_LIKELY(env->err->code >= 0);
}

void hd_slots_note(struct hd_slots *s, enum heddle_note n, void *fields)
{
    struct hd_slots_registry *r = s->registry;

    if (!registry_head(r, fields))
        return;
    for (uint32_t i = 0; i < s->watched[n]; i++)
        registry_tell(r, &r->watcher[n][i], r->watcher[n][i].state, fields);
}

static bool registry_follows(const struct hd_watcher *w, uint32_t at)
{
    return w->at == HD_NONE || w->at == at;
}

bool hd_slots_follow(const struct hd_slots *s, enum heddle_note n, uint32_t at)
{
    for (uint32_t i = 0; s != NULL && i < s->watched[n]; i++)
        if (registry_follows(&s->registry->watcher[n][i], at))
            return true;
    return false;
}

void hd_slots_note_at(struct hd_slots *s, enum heddle_note n, uint32_t at,
                      void *fields)
{
    struct hd_slots_registry *r = s->registry;

    if (!registry_head(r, fields))
        return;
    for (uint32_t i = 0; i < s->watched[n]; i++) {
        const struct hd_watcher *w = &r->watcher[n][i];

        if (registry_follows(w, at))
            registry_tell(r, w, hd_bound_cell(w->by, at)->state, fields);
    }
}

void heddle_mute(heddle_sim *sim, int on)
{
    hd_sim_env(sim)->slots->registry->muted = on != 0;
}

/* ---- snapshots -------------------------------------------------------- */

int hd_slots_told(struct hd_slots *s, const struct heddle_error *err)
{
    s->registry->error = *err;
    return err->code;
}

size_t hd_slots_describe(const struct hd_slots *s, char *out, size_t room)
{
    struct heddle_use_info u;
    size_t at = 0;

/* Appends to `out` as far as there is room. */
#define ADD(...)                                                               \
    (at += (size_t)snprintf(at < room ? out + at : NULL,                       \
                            at < room ? room - at : 0, __VA_ARGS__))
    ADD("%s", "");
    for (uint32_t i = 0; heddle_used(s->registry->sim, i, &u) == 0; i++) {
        const struct heddle_param *p = u.policy->params;

        ADD("%s%s%s%s", i ? ", " : "", u.policy->name, u.at[0] ? " at " : "",
            u.at);
        for (uint32_t k = 0; p != NULL && p[k].name; k++)
            ADD("%s%s=%" PRIu64 "%s", k ? ", " : " (", p[k].name, u.values[k],
                p[k + 1].name ? "" : ")");
    }
#undef ADD
    return at;
}

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

void hd_slots_marks(const struct hd_slots *s, struct hd_slots_mark *m)
{
    const struct hd_slots_registry *r = s->registry;

    memset(m, 0, HEDDLE_MAX_BOUND * sizeof *m);
    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND; i++) {
        const struct hd_bound *b = &r->bound[i];
        uint64_t h = 0xcbf29ce484222325ull;

        if (b->policy == NULL)
            continue;
        h = hash_bytes(h, b->policy->name, strlen(b->policy->name) + 1);
        h = hash_bytes(h, &b->code, sizeof b->code);
        h = hash_bytes(h, b->at, strlen(b->at) + 1);
        h = hash_bytes(h, b->values, sizeof b->values);
        for (const struct heddle_own *o = b->policy->own; o && o->name; o++) {
            int own = heddle_own_number(r->sim, b->policy->name, o->name);
            h = hash_bytes(h, &own, sizeof own);
        }
        for (uint32_t c = 0; c < b->cells; c++) {
            uint64_t place = b->cell[c].home == HD_NONE
                                 ? HD_NONE
                                 : r->home[b->cell[c].home].offset;
            h = hash_bytes(h, &place, sizeof place);
        }
        m[i].hash = h | 1;
        m[i].watches = hd_bind_watches(b);
        snprintf(m[i].name, sizeof m[i].name, "%s", b->policy->name);
    }
}

int hd_slots_same(const struct hd_slots *s, const struct hd_slots_mark *m,
                  struct heddle_error *err)
{
    struct hd_slots_mark now[HEDDLE_MAX_BOUND];
    char bound[256];

    hd_slots_marks(s, now);
    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND; i++) {
        const struct hd_slots_mark *a = &m[i], *b = &now[i];

        if (a->hash == b->hash || ((a->hash == 0 || a->watches) &&
                                   (b->hash == 0 || b->watches)))
            continue;
        hd_slots_describe(s, bound, sizeof bound);
        return hd_err_set(err, HEDDLE_EINVAL,
                          "the snapshot was taken with other policies than "
                          "'%s': its policy %s is %s",
                          bound, a->hash ? a->name : b->name,
                          a->hash == 0   ? "bound here only"
                          : b->hash == 0 ? "not bound here"
                          : strcmp(a->name, b->name) == 0
                              ? "another here (code, parameters or place)"
                              : "in the place of another");
    }
    return 0;
}

struct saved_head {
    uint32_t bound, cell;
    uint64_t bytes;
};

size_t hd_slots_save(const struct hd_slots *s, void *out, size_t room)
{
    const struct hd_slots_registry *r = s->registry;
    struct saved_head head;
    size_t at = 0;

    for (uint32_t i = 0; i < HEDDLE_MAX_BOUND; i++) {
        const struct hd_bound *b = &r->bound[i];
        for (uint32_t c = 0; b->policy && b->policy->save && c < b->cells;
             c++) {
            size_t left = at + sizeof head < room ? room - at - sizeof head : 0;
            head = (struct saved_head){i, c, 0};
            head.bytes = b->policy->save(
                b->cell[c].state, left ? (char *)out + at + sizeof head : NULL,
                left);
            if (at + sizeof head <= room)
                memcpy((char *)out + at, &head, sizeof head);
            at += sizeof head + head.bytes;
        }
    }
    return at;
}

/* Homes that were taken after the snapshot are no more. */
static void forget_homes(struct hd_slots_registry *r)
{
    uint32_t n = 0;

    while (n < r->homes &&
           r->home[n].offset + r->home[n].bytes <= r->env->arena->used)
        n++;
    r->homes = n;
}

int hd_slots_load(struct hd_slots *s, const struct hd_slots_mark *m,
                  const void *saved, size_t bytes)
{
    struct hd_slots_registry *r = s->registry;
    struct hd_slots_mark now[HEDDLE_MAX_BOUND];
    const char *from = saved; /* NULL: no bytes */
    struct saved_head head;

    hd_slots_marks(s, now);
    forget_homes(r);
    for (size_t at = 0; at < bytes; at += head.bytes) {
        struct hd_bound *b;
        if (bytes - at < sizeof head)
            return HEDDLE_EDATA;
        memcpy(&head, from + at, sizeof head);
        at += sizeof head;
        if (head.bytes > bytes - at || head.bound >= HEDDLE_MAX_BOUND)
            return HEDDLE_EDATA;
        b = &r->bound[head.bound];
        if (now[head.bound].hash != m[head.bound].hash ||
            (r->muted && hd_bind_watches(b)))
            continue; /* of one who watched, or who does */
        if (b->policy == NULL || b->policy->load == NULL ||
            head.cell >= b->cells ||
            b->policy->load(b->cell[head.cell].state, from + at, head.bytes))
            return HEDDLE_EDATA;
    }
    return 0;
}
