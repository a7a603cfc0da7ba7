/*
 * lsurvey.c - a workload without a machine: all of heddle.survey but the
 * profile (lua/heddle/survey.lua).
 *
 *     survey.each(w, function(e) ... end [, options])
 *         e = { launch=, kernel=, block=, warp=, kind=, n=, mask=, bytes=,
 *               pc=, addr={[lane]=address} }; addr of memory instructions.
 *         One table is used for all; copy what must last.  A return value
 *         other than nil and false ends it.
 *     survey.buffers(w) -> { { name=, base=, bytes= }, ... }
 *     survey.ahead(w [, launch [, lanes]]) -> launch; what the launches before
 *         it leave is kept in the workload: simulations whose sim.first_kernel
 *         it is begin there.  Absent: that with the most memory instructions.
 *     local s = survey.run(w [, options])
 *
 * Options: lanes (32), launches (stop after so many), every (only each
 * every-th block); each: first (launches before it are run, whole, and not
 * shown); run: limit (warp instructions; 0: none), columns and rows of the
 * picture (0: none), room = { cores=, blocks=, warps=, threads=, regs=,
 * shared_bytes= }: what is resident at once (none: one block at a time).
 *
 * The answer of run is plain data: the fields of struct heddle_survey_result,
 * and kernels   { { name=, launches=, ..., line_hist={ [lines]=n }, page_hist={
 * [pages]=n }, uses={ { buffer=, kind="load", instructions=, lanes=, lines=,
 * pages= }, ... } }, ... }; buffer counts from 1, as survey.buffers() does
 *     reuse     { { bound=, accesses= }, ... }; bound absent: no bound,
 *               first = true: the first touch of a page
 *     launches  { { kernel=, start= }, ... }: which kernel (from 1) ran, and
 *               the memory instructions before it
 *     picture   { columns=, rows=, column_accesses=, row_pages=, base=,
 *               cells={ column, ... } }; a column is a string of rows numbers
 *               of 4 bytes, little-endian ("<I4"), lowest address first
 *
 * The workload must not be in use.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <stdlib.h>

#include "heddle_survey.h"
#include "heddle_trace.h"
#include "lheddle.h"

#define SURVEY "heddle.survey.running"

HL_MODULE int luaopen_heddle_survey_core(lua_State *L);

/* ---- each ---------------------------------------------------------------- */

struct each {
    lua_State *L;
    const struct heddle_each_op *op;
    uint64_t mask; /* lanes set in addr */
};

/* Places on the stack of survey_each(), the tables that it uses again; and on
 * that of say_op(): each fn event addr. */
enum { FN = 2, TABLES = 4, EVENT = 3, ADDR = 4 };

static void fill_lanes(lua_State *L, struct each *e)
{
    const struct heddle_each_op *op = e->op;
    uint32_t l;

    for (l = 0; l < op->lanes; l++) {
        if (op->mask >> l & 1)
            lua_pushinteger(L, (lua_Integer)op->address[l]);
        else if (e->mask >> l & 1)
            lua_pushnil(L);
        else
            continue;
        lua_rawseti(L, ADDR, l);
    }
    e->mask = op->mask;
    lua_pushvalue(L, ADDR);
}

/* Calls the function with the event in its table; protected. */
static int say_op(lua_State *L)
{
#define OP(m) HL_FIELD(struct heddle_each_op, m)
    static const struct hl_field fields[] = {
        OP(launch), OP(block),
        OP(warp),   OP(bytes),
        OP(pc),     OP(mask),
        OP(kernel), HL_FIELD_AS(struct heddle_each_op, count, "n"),
        HL_END};
    struct each *e = lua_touserdata(L, 1);

    lua_pushvalue(L, FN);
    lua_pushvalue(L, EVENT);
    hl_set_fields(L, fields, e->op);
    hl_set_text(L, "kind", heddle_op_name(e->op->kind));
    if (e->op->kind - HEDDLE_OP_LOAD <= HEDDLE_OP_ATOMIC - HEDDLE_OP_LOAD)
        fill_lanes(L, e);
    else
        lua_pushnil(L);
    lua_setfield(L, EVENT, "addr");
    if (e->op->opcode != NULL) {
        hl_set_text(L, "opcode", e->op->opcode);
        hl_set_text(L, "space",
                    e->op->local     ? "local"
                    : e->op->texture ? "texture"
                                     : "global");
        hl_set_number(L, "lanes", e->op->lanes);
    }
    lua_call(L, 1, 1);
    return 1;
}

/* An error must not jump over the run: it comes back as -100, on the stack. */
static int each_op(void *ud, const struct heddle_each_op *op)
{
    struct each *e = ud;
    lua_State *L = e->L;
    int stop;

    e->op = op;
    lua_pushcfunction(L, say_op);
    lua_pushlightuserdata(L, e);
    lua_pushvalue(L, FN);
    lua_pushvalue(L, TABLES);
    lua_pushvalue(L, TABLES + 1);
    if (lua_pcall(L, 4, 1, 0) != LUA_OK)
        return -100;
    stop = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return stop;
}

/* Options of a call of that name, and the tables. */
static void begin_each(lua_State *L, const char *call,
                       const struct hl_field *known, void *options)
{
    luaL_checktype(L, FN, LUA_TFUNCTION);
    hl_options(L, 3, call, known, options);
    lua_settop(L, 3);
    lua_createtable(L, 0, 14);
    lua_createtable(L, HEDDLE_OPS, 64);
}

static int end_each(lua_State *L, int rc, const char *error)
{
    if (rc == -100)
        return lua_error(L);
    hl_expect(L, rc, error);
    return 0;
}

static int survey_each(lua_State *L)
{
    heddle_workload *w = hl_workload_check(L, 1);
#define OPTION(m) HL_FIELD(struct heddle_each_options, m)
    static const struct hl_field known[] = {
        OPTION(lanes), OPTION(launches), OPTION(every), OPTION(first), HL_END};
    struct heddle_each_options o = {0};
    struct each e = {.L = L};
    char error[1024] = "";

    begin_each(L, "survey.each", known, &o);
    return end_each(L, heddle_each(w, &o, each_op, &e, error, sizeof error),
                    error);
}

int hl_dump(lua_State *L)
{
#define SELECT(m) HL_FIELD(struct heddle_trace_select, m)
    static const struct hl_field known[] = {SELECT(kernel), SELECT(block),
                                            HL_END};
    heddle_workload *w = hl_workload_check(L, 1);
    struct heddle_trace_select s = {0};
    struct each e = {.L = L};
    char error[1024] = "";

    if (lua_istable(L, 3))
        s.one_block = lua_getfield(L, 3, "block") != LUA_TNIL;
    begin_each(L, "dump", known, &s);
    return end_each(
        L, heddle_trace_dump(w, &s, each_op, &e, error, sizeof error), error);
}

/* ---- buffers ------------------------------------------------------------- */

#define ALLOC(m) HL_FIELD(struct heddle_workload_alloc, m)
static const struct hl_field alloc_fields[] = {ALLOC(name), ALLOC(base),
                                               ALLOC(bytes), HL_END};
HL_LIST(hl_allocations, struct heddle_workload_alloc,
        heddle_workload_alloc(hl_workload_check(L, 1), i, &x), alloc_fields)

HL_RELEASE(free_survey, SURVEY, heddle_survey, heddle_survey_free)

static int lsurvey_interrupted(void *ud)
{
    const struct hl_interrupt *in = ud;

    return in != NULL && in->hit ? HL_EINTERRUPT : 0;
}

static int survey_ahead(lua_State *L)
{
    heddle_workload *w = hl_workload_check(L, 1);
    lua_Integer launch = luaL_optinteger(L, 2, 0);
    lua_Integer lanes = luaL_optinteger(L, 3, 0);
    char error[1024] = "";
    int rc;

    luaL_argcheck(L, launch >= 0 && launch <= INT32_MAX, 2, "out of range");
    luaL_argcheck(L, lanes >= 0 && lanes <= 64, 3, "expected 32 or 64");
    rc = heddle_ahead(w, (uint32_t)lanes, (uint32_t)launch, lsurvey_interrupted,
                      hl_interrupt_of(L), error, sizeof error);
    hl_expect(L, rc, rc == HL_EINTERRUPT ? "interrupted" : error);
    lua_pushinteger(L, rc);
    return 1;
}

/* Pushes the survey of the workload at 1, whose options are at 2. */
static heddle_survey *push_survey(lua_State *L)
{
#define SURVEY_OPTION(m, max) HL_OPTION(struct heddle_survey_options, m, 0, max)
#define ROOM(m, max)          HL_OPTION(struct heddle_survey_room, m, 0, max)
    static const struct hl_field known[] = {SURVEY_OPTION(lanes, 64),
                                            SURVEY_OPTION(launches, UINT32_MAX),
                                            SURVEY_OPTION(every, UINT32_MAX),
                                            SURVEY_OPTION(columns, 4096),
                                            SURVEY_OPTION(rows, 4096),
                                            SURVEY_OPTION(limit, INT64_MAX),
                                            HL_APART("room"),
                                            HL_END};
    static const struct hl_field of_room[] = {ROOM(cores, 1 << 10),
                                              ROOM(blocks, 1 << 10),
                                              ROOM(warps, 1 << 10),
                                              ROOM(threads, 1 << 20),
                                              ROOM(regs, INT64_MAX),
                                              ROOM(shared_bytes, INT64_MAX),
                                              HL_END};
    heddle_workload *w = hl_workload_check(L, 1);
    struct heddle_survey_options o = {.stop = lsurvey_interrupted,
                                      .ud = hl_interrupt_of(L)};
    heddle_survey **s;
    char error[1024] = "";
    int rc;

    hl_options(L, 2, "survey.run", known, &o);
    if (lua_istable(L, 2)) {
        lua_getfield(L, 2, "room");
        hl_options(L, -1, "room", of_room, &o.room);
        lua_pop(L, 1);
    }
    s = hl_box(L, SURVEY, free_survey, NULL);
    rc = heddle_survey_run(w, &o, s, error, sizeof error);
    hl_expect(L, rc, rc == HL_EINTERRUPT ? "interrupted" : error);
    return *s;
}

static void lsurvey_push_hist(lua_State *L, const char *name, const uint64_t *h)
{
    lua_newtable(L);
    for (int i = 0; i < HEDDLE_SURVEY_MOST; i++) {
        if (h[i] == 0)
            continue;
        lua_pushinteger(L, (lua_Integer)h[i]);
        lua_rawseti(L, -2, i);
    }
    lua_setfield(L, -2, name);
}

/* What a kernel did to each buffer that it used. */
static void push_uses(lua_State *L, const heddle_survey *s, uint32_t kernel)
{
#define USE(m) HL_FIELD(struct heddle_survey_use, m)
    static const struct hl_field fields[] = {USE(instructions), USE(lanes),
                                             USE(lines), USE(pages), HL_END};
    const struct heddle_survey_use *u;
    lua_Integer n = 0;

    lua_newtable(L);
    for (uint32_t i = 0; heddle_survey_use(s, kernel, i, 0) != NULL; i++)
        for (uint32_t kind = 0; kind < HEDDLE_SURVEY_KINDS; kind++) {
            u = heddle_survey_use(s, kernel, i, kind);
            if (u->instructions == 0)
                continue;
            hl_push_fields(L, fields, u);
            hl_set_number(L, "buffer", (uint64_t)i + 1);
            hl_set_text(L, "kind", heddle_op_name(HEDDLE_OP_LOAD + kind));
            lua_rawseti(L, -2, ++n);
        }
    lua_setfield(L, -2, "uses");
}

static void push_kernel(lua_State *L, const heddle_survey *s, uint32_t i)
{
#define KERNEL(m) HL_FIELD(struct heddle_survey_kernel, m)
    static const struct hl_field fields[] = {
        KERNEL(name),          KERNEL(launches),
        KERNEL(blocks),        KERNEL(instructions),
        KERNEL(alu),           KERNEL(thread_instructions),
        KERNEL(divergent),     KERNEL(loads),
        KERNEL(stores),        KERNEL(atomics),
        KERNEL(barriers),      KERNEL(lanes),
        KERNEL(lines),         KERNEL(pages),
        KERNEL(load_lanes),    KERNEL(load_lines),
        KERNEL(pages_touched), KERNEL(pages_before),
        KERNEL(pages_other),   KERNEL(lines_touched),
        KERNEL(lines_before),  HL_END};
    const struct heddle_survey_kernel *k = heddle_survey_kernel(s, i);

    hl_push_fields(L, fields, k);
    lsurvey_push_hist(L, "line_hist", k->line_hist);
    lsurvey_push_hist(L, "page_hist", k->page_hist);
    push_uses(L, s, i);
}

static void push_lists(lua_State *L, const heddle_survey *s)
{
    const struct heddle_survey_result *r = heddle_survey_result(s);
    uint64_t start;
    uint32_t kernel, i;

    lua_createtable(L, (int)r->kernels, 0);
    for (i = 0; i < r->kernels; i++) {
        push_kernel(L, s, i);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "kernels");
    lua_createtable(L, HEDDLE_SURVEY_REUSE, 0);
    for (i = 0; i < HEDDLE_SURVEY_REUSE; i++) {
        lua_createtable(L, 0, 2);
        hl_set_number(L, "accesses", r->reuse[i]);
        if (r->reuse_bound[i] != UINT64_MAX)
            hl_set_number(L, "bound", r->reuse_bound[i]);
        if (i == HEDDLE_SURVEY_REUSE - 1)
            hl_set_bool(L, "first", 1);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "reuse");
    lua_createtable(L, (int)r->launches, 0);
    for (i = 0; heddle_survey_launch(s, i, &kernel, &start) == 0; i++) {
        lua_createtable(L, 0, 2);
        hl_set_number(L, "kernel", (uint64_t)kernel + 1);
        hl_set_number(L, "start", start);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "launches");
}

static void push_picture(lua_State *L, const heddle_survey *s)
{
#define RESULT(m) HL_FIELD(struct heddle_survey_result, m)
    static const struct hl_field fields[] = {
        RESULT(columns),   RESULT(rows), RESULT(column_accesses),
        RESULT(row_pages), RESULT(base), HL_END};
    const struct heddle_survey_result *r = heddle_survey_result(s);

    hl_push_fields(L, fields, r);
    lua_createtable(L, (int)r->columns, 0);
    for (uint32_t c = 0; c < r->columns; c++) {
        luaL_Buffer b;
        char *p = luaL_buffinitsize(L, &b, (size_t)r->rows * 4);

        for (uint32_t i = 0; i < r->rows; i++) {
            uint64_t v = heddle_survey_cell(s, c, i);

            for (int k = 0; k < 4; k++)
                *p++ = (char)(v >> 8 * k);
        }
        luaL_pushresultsize(&b, (size_t)r->rows * 4);
        lua_rawseti(L, -2, (lua_Integer)c + 1);
    }
    lua_setfield(L, -2, "cells");
    lua_setfield(L, -2, "picture");
}

static int survey_run(lua_State *L)
{
    static const struct hl_field fields[] = {
        RESULT(cut),         RESULT(allocated),   RESULT(allocated_pages),
        RESULT(pages),       RESULT(lines),       RESULT(once),
        RESULT(first_pages), RESULT(first_lines), HL_END};
    const heddle_survey *s = push_survey(L);
    const struct heddle_survey_result *r = heddle_survey_result(s);

    hl_push_fields(L, fields, r);
    push_lists(L, s);
    if (r->columns > 0)
        push_picture(L, s);
    return 1;
}

/* ---- the module ---------------------------------------------------------- */

int luaopen_heddle_survey_core(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"each", survey_each},
        {"buffers", hl_allocations},
        {"ahead", survey_ahead},
        {"run", survey_run},
        {NULL, NULL},
    };

    luaL_newlib(L, functions);
    return 1;
}
