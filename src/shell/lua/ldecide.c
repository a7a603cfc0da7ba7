/*
 * ldecide.c - `require "heddle.decisions"`: what two simulations decided, side
 * by side.
 *
 *     local d = decisions.listen(core, { "tlb_fill", "l2_bypass" })
 *     core:run(1000)
 *     #d                  how many decisions were heard since the last clear
 *     d:part(other)       the first place at which the two differ, or nil
 *     d:entry(i)          { point=, at=, instance=, cycle=, answer= }
 *     d:capture(i)        from now on: the i-th since the next clear is kept
 *     d:captured()        ... as a table of its question's fields
 *     d:clear()  d:close()
 *     decisions.answered(core)   names of the points that a policy answers
 *
 * A decision is kept in 40 bytes: point, copy, cycle, answer, and a hash of
 * the whole question, arrays included.  Millions are compared in no time, and
 * to show the one that differs, its stretch is run again (heddle.diff).
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "lheddle.h"
#include "lpolicy.h"

#define LOG "heddle.decisions"

HL_MODULE int luaopen_heddle_decisions(lua_State *L);

struct entry {
    uint64_t cycle, question;
    int64_t answer;
    const char *at;
    uint32_t point, instance;
};

struct log {
    heddle_sim *s; /* NULL: closed */
    struct entry *v;
    size_t n, room;
    size_t wanted;  /* index to keep, or SIZE_MAX */
    uint64_t *kept; /* its question: fields, each after its length */
    int failed;     /* out of memory */
};

/* The elements of a field: *n of them. */
static const void *elements(const struct heddle_point_info *info,
                            const struct heddle_field_info *f, const void *q,
                            uint64_t *n)
{
    const void *p = (const char *)q + f->offset;

    *n = 1;
    if (f->count == NULL)
        return p;
    for (uint32_t i = 0; i < info->fields; i++)
        if (strcmp(info->field[i].name, f->count) == 0)
            *n = lp_word(q, info->field[i].offset);
    memcpy(&p, p, sizeof p);
    return p;
}

static uint64_t ldecide_hash(const struct heddle_point_info *info,
                             const void *q)
{
    uint64_t h = info->fields;

    for (uint32_t i = 0; i < info->fields; i++) {
        uint64_t n;
        const void *p = elements(info, &info->field[i], q, &n);
        h = lp_mix(h ^ n);
        for (uint64_t k = 0; k < n; k++)
            h = lp_mix(h ^ lp_word(p, k * sizeof h));
    }
    return h;
}

/* Keeps a copy of a question: for each field its length and its elements. */
static void ldecide_keep(struct log *l, const struct heddle_point_info *info,
                         const void *q)
{
    size_t words = 0, at = 0;
    uint64_t n;

    for (uint32_t i = 0; i < info->fields; i++) {
        elements(info, &info->field[i], q, &n);
        words += 1 + n;
    }
    free(l->kept);
    l->kept = malloc((words + 1) * sizeof *l->kept);
    l->failed |= l->kept == NULL;
    for (uint32_t i = 0; l->kept != NULL && i < info->fields; i++) {
        const void *p = elements(info, &info->field[i], q, &n);
        l->kept[at++] = n;
        if (n > 0)
            memcpy(l->kept + at, p, n * sizeof *l->kept);
        at += n;
    }
}

static void ldecide_note(void *ud, const struct heddle_decision *d)
{
    struct log *l = ud;
    const struct heddle_point_info *info = heddle_point_info(d->point);

    if (l->n == l->room) {
        size_t room = l->room * 2 + 1024;
        struct entry *v = realloc(l->v, room * sizeof *v);
        if (v == NULL) {
            l->failed = 1;
            return;
        }
        l->v = v;
        l->room = room;
    }
    if (l->n == l->wanted)
        ldecide_keep(l, info, d->question);
    l->v[l->n++] = (struct entry){d->cycle,  ldecide_hash(info, d->question),
                                  d->answer, d->at,
                                  d->point,  d->instance};
}

/* ---- the object ----------------------------------------------------------- */

static struct log *ldecide_self(lua_State *L, int i)
{
    struct log *l = luaL_checkudata(L, i, LOG);

    luaL_argcheck(L, l->s != NULL, i, "these decisions were closed");
    if (l->failed)
        hl_raise_memory(L);
    return l;
}

static int log_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)ldecide_self(L, 1)->n);
    return 1;
}

static int ldecide_same(const struct entry *a, const struct entry *b)
{
    return a->cycle == b->cycle && a->question == b->question &&
           a->answer == b->answer && a->point == b->point &&
           a->instance == b->instance && strcmp(a->at, b->at) == 0;
}

static int log_part(lua_State *L)
{
    const struct log *a = ldecide_self(L, 1), *b = ldecide_self(L, 2);
    size_t n = a->n < b->n ? a->n : b->n, i = 0;

    while (i < n && ldecide_same(&a->v[i], &b->v[i]))
        i++;
    if (i == a->n && i == b->n)
        return 0;
    lua_pushinteger(L, (lua_Integer)i + 1);
    return 1;
}

/* d:entry(i): nil past the last */
static int log_entry(lua_State *L)
{
    const struct log *l = ldecide_self(L, 1);
    lua_Integer i = luaL_checkinteger(L, 2);
    const struct entry *e;

    if (i < 1 || (size_t)i > l->n)
        return 0;
    e = &l->v[i - 1];
    lua_newtable(L);
    hl_set_text(L, "point", heddle_point_info(e->point)->name);
    hl_set_text(L, "at", e->at);
    hl_set_number(L, "instance", e->instance);
    hl_set_number(L, "cycle", (lua_Integer)e->cycle);
    hl_set_number(L, "answer", e->answer);
    return 1;
}

static int log_capture(lua_State *L)
{
    struct log *l = ldecide_self(L, 1);

    l->wanted = (size_t)luaL_checkinteger(L, 2) - 1;
    return 0;
}

/* d:captured(): { { name, value or array }, ... } in the question's order */
static int log_captured(lua_State *L)
{
    const struct log *l = ldecide_self(L, 1);
    const struct heddle_point_info *info;
    char word[32];
    size_t at = 0;

    if (l->kept == NULL || l->wanted >= l->n)
        return 0;
    info = heddle_point_info(l->v[l->wanted].point);
    lua_newtable(L);
    for (uint32_t i = 0; i < info->fields; i++) {
        uint64_t n = l->kept[at++];
        lua_newtable(L);
        hl_set_text(L, "name", info->field[i].name);
        if (heddle_word_name(info->field[i].words, l->kept[at], word,
                             sizeof word) == HEDDLE_OK) {
            hl_set_text(L, "value", word);
        } else if (info->field[i].count == NULL) {
            hl_set_number(L, "value", (lua_Integer)l->kept[at]);
        } else {
            lua_newtable(L);
            for (uint64_t k = 0; k < n; k++) {
                lua_pushinteger(L, (lua_Integer)l->kept[at + k]);
                lua_rawseti(L, -2, (lua_Integer)k + 1);
            }
            lua_setfield(L, -2, "value");
        }
        at += n;
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int log_clear(lua_State *L)
{
    struct log *l = ldecide_self(L, 1);

    l->n = 0;
    return 0;
}

static int log_close(lua_State *L)
{
    struct log *l = luaL_checkudata(L, 1, LOG);

    if (l->s != NULL) {
        heddle_sim *const *s;
        lua_getiuservalue(L, 1, 1);
        s = lua_touserdata(L, -1);
        if (*s == l->s) /* else it was closed before */
            heddle_unlisten(l->s);
    }
    free(l->v);
    free(l->kept);
    *l = (struct log){0};
    return 0;
}

static const luaL_Reg methods[] = {
    {"part", log_part},
    {"entry", log_entry},
    {"capture", log_capture},
    {"captured", log_captured},
    {"clear", log_clear},
    {"close", log_close},
    {NULL, NULL},
};

/* ---- the module ----------------------------------------------------------- */

static int point_of(lua_State *L, const char *name)
{
    const char *names[HEDDLE_POINT_COUNT];
    int at = heddle_point_find(name);

    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++)
        names[i] = heddle_point_info(i)->name;
    return at >= 0
               ? at
               : hl_raisef(L, HEDDLE_EINVAL, "there is no point '%s'%s", name,
                           hl_meant(L, name, names, HEDDLE_POINT_COUNT));
}

/* decisions.listen(core, { point, ... }) */
static int ldecide_listen(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    uint8_t points[HEDDLE_POINT_COUNT] = {0};
    struct log *l;
    int rc;

    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, 2); i++) {
        lua_rawgeti(L, 2, i);
        points[point_of(L, hl_text(L, -1))] = 1;
        lua_pop(L, 1);
    }
    l = lua_newuserdatauv(L, sizeof *l, 1);
    *l = (struct log){.wanted = SIZE_MAX};
    if (hl_class(L, LOG, log_close, methods)) {
        lua_getmetatable(L, -1);
        hl_set_function(L, "__len", log_len);
        lua_pop(L, 1);
    }
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    rc = heddle_listen(s, points, ldecide_note, l);
    hl_expect(L, rc, heddle_policy_error(s)->text);
    l->s = s;
    return 1;
}

static int answered(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    lua_Integer n = 0;

    lua_newtable(L);
    for (uint32_t p = 0; p < HEDDLE_POINT_COUNT; p++) {
        if (!heddle_answered(s, (enum heddle_point)p))
            continue;
        lua_pushstring(L, heddle_point_info(p)->name);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

int luaopen_heddle_decisions(lua_State *L)
{
    static const luaL_Reg module[] = {
        {"listen", ldecide_listen}, {"answered", answered}, {NULL, NULL}};

    luaL_newlib(L, module);
    return 1;
}
