/*
 * lsurvey.c - `require "heddle.survey"`: what a workload asks of a memory
 * system, measured without time.
 *
 *     local survey = require "heddle.survey"
 *     local s = survey.run(workload [, options])
 *
 * Options: lanes (32), limit (warp instructions; 0: none), columns and rows of
 * the picture (0: none), room = { cores=, blocks=, warps=, threads=, regs=,
 * shared_bytes= }: what is resident at once (none: one block at a time).
 *
 * The answer is plain data: the fields of struct heddle_survey_result, and
 *     kernels   { { name=, launches=, ..., line_hist={ [lines]=n },
 *               page_hist={ [pages]=n }, uses={ { buffer=, kind="load",
 *               instructions=, lanes=, lines=, pages= }, ... } }, ... }; buffer
 *               counts from 1, as walk.buffers() does
 *     reuse     { { bound=, accesses= }, ... }; bound absent: no bound,
 *               first = true: the first touch of a page
 *     launches  { { kernel=, start= }, ... }: which kernel (from 1) ran, and
 *               the memory instructions before it
 *     picture   { columns=, rows=, column_accesses=, row_pages=, base=,
 *               cells={ column, ... } }; a column is a string of rows numbers
 *               of 4 bytes, little-endian ("<I4"), lowest address first
 *
 * SPDX-License-Identifier: MIT
 */

#include "../heddle_survey.h"
#include "lheddle.h"

#define SURVEY "heddle.survey.running"

HL_MODULE int luaopen_heddle_survey(lua_State *L);

/* ---- options ------------------------------------------------------------- */

static int interrupted(void *ud)
{
    const struct hl_interrupt *in = ud;

    return in != NULL && in->hit ? HL_EINTERRUPT : 0;
}

static struct heddle_survey_options options(lua_State *L, int at)
{
    struct heddle_survey_options o = {
        .lanes = (uint32_t)hl_option(L, at, "lanes", 64),
        .columns = (uint32_t)hl_option(L, at, "columns", 4096),
        .rows = (uint32_t)hl_option(L, at, "rows", 4096),
        .limit = hl_option(L, at, "limit", INT64_MAX),
        .stop = interrupted,
        .ud = hl_interrupt_of(L),
    };

    if (lua_istable(L, at)) {
        lua_getfield(L, at, "room");
        at = lua_gettop(L);
        o.room.cores = (uint32_t)hl_option(L, at, "cores", 1 << 10);
        o.room.blocks = (uint32_t)hl_option(L, at, "blocks", 1 << 10);
        o.room.warps = (uint32_t)hl_option(L, at, "warps", 1 << 10);
        o.room.threads = (uint32_t)hl_option(L, at, "threads", 1 << 20);
        o.room.regs = hl_option(L, at, "regs", INT64_MAX);
        o.room.shared_bytes = hl_option(L, at, "shared_bytes", INT64_MAX);
        lua_pop(L, 1);
    }
    return o;
}

/* ---- the answer ---------------------------------------------------------- */

static void push_hist(lua_State *L, const char *name, const uint64_t *h)
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
    static const char *const kinds[] = {"load", "store", "atomic"};
    const struct heddle_survey_use *u;
    lua_Integer n = 0;

    lua_newtable(L);
    for (uint32_t i = 0; heddle_survey_use(s, kernel, i, 0) != NULL; i++)
        for (uint32_t kind = 0; kind < HEDDLE_SURVEY_KINDS; kind++) {
            u = heddle_survey_use(s, kernel, i, kind);
            if (u->instructions == 0)
                continue;
            lua_createtable(L, 0, 6);
            hl_set_number(L, "buffer", (uint64_t)i + 1);
            hl_set_text(L, "kind", kinds[kind]);
            hl_set_number(L, "instructions", u->instructions);
            hl_set_number(L, "lanes", u->lanes);
            hl_set_number(L, "lines", u->lines);
            hl_set_number(L, "pages", u->pages);
            lua_rawseti(L, -2, ++n);
        }
    lua_setfield(L, -2, "uses");
}

static void push_kernel(lua_State *L, const heddle_survey *s, uint32_t i)
{
    const struct heddle_survey_kernel *k = heddle_survey_kernel(s, i);

    lua_createtable(L, 0, 25);
    hl_set_text(L, "name", k->name);
    hl_set_number(L, "launches", k->launches);
    hl_set_number(L, "blocks", k->blocks);
    hl_set_number(L, "instructions", k->instructions);
    hl_set_number(L, "thread_instructions", k->thread_instructions);
    hl_set_number(L, "divergent", k->divergent);
    hl_set_number(L, "loads", k->loads);
    hl_set_number(L, "stores", k->stores);
    hl_set_number(L, "atomics", k->atomics);
    hl_set_number(L, "barriers", k->barriers);
    hl_set_number(L, "lanes", k->lanes);
    hl_set_number(L, "lines", k->lines);
    hl_set_number(L, "pages", k->pages);
    hl_set_number(L, "load_lanes", k->load_lanes);
    hl_set_number(L, "load_lines", k->load_lines);
    push_hist(L, "line_hist", k->line_hist);
    push_hist(L, "page_hist", k->page_hist);
    hl_set_number(L, "pages_touched", k->pages_touched);
    hl_set_number(L, "pages_before", k->pages_before);
    hl_set_number(L, "pages_other", k->pages_other);
    hl_set_number(L, "lines_touched", k->lines_touched);
    hl_set_number(L, "lines_before", k->lines_before);
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
    const struct heddle_survey_result *r = heddle_survey_result(s);

    lua_createtable(L, 0, 6);
    hl_set_number(L, "columns", r->columns);
    hl_set_number(L, "rows", r->rows);
    hl_set_number(L, "column_accesses", r->column_accesses);
    hl_set_number(L, "row_pages", r->row_pages);
    hl_set_number(L, "base", r->base);
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

static int free_survey(lua_State *L)
{
    heddle_survey **s = lua_touserdata(L, 1);

    heddle_survey_free(*s);
    *s = NULL;
    return 0;
}

static int survey_run(lua_State *L)
{
    heddle_workload *w = hl_workload_check(L, 1);
    struct heddle_survey_options o = options(L, 2);
    const struct heddle_survey_result *r;
    heddle_survey **s = lua_newuserdatauv(L, sizeof(*s), 0);
    char error[1024] = "";
    int rc;

    *s = NULL;
    hl_class(L, SURVEY, free_survey, NULL);
    rc = heddle_survey_run(w, &o, s, error, sizeof error);
    if (rc < 0)
        return hl_raise(L, rc, rc == HL_EINTERRUPT ? "interrupted" : error);
    r = heddle_survey_result(*s);
    lua_createtable(L, 0, 12);
    hl_set_bool(L, "cut", r->cut);
    hl_set_number(L, "allocated", r->allocated);
    hl_set_number(L, "allocated_pages", r->allocated_pages);
    hl_set_number(L, "pages", r->pages);
    hl_set_number(L, "lines", r->lines);
    hl_set_number(L, "once", r->once);
    hl_set_number(L, "first_pages", r->first_pages);
    hl_set_number(L, "first_lines", r->first_lines);
    push_lists(L, *s);
    if (r->columns > 0)
        push_picture(L, *s);
    return 1;
}

int luaopen_heddle_survey(lua_State *L)
{
    static const luaL_Reg functions[] = {{"run", survey_run}, {NULL, NULL}};

    luaL_newlib(L, functions);
    return 1;
}
