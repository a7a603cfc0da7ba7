/*
 * lsqlite.c - `require "heddle.sqlite"`: results in a database.
 *
 *     local db <close> = sqlite.open("out/results.sqlite")
 *     db:exec("create table if not exists t (name text, value real)")
 *     db:exec("insert into t values (?, ?)", "walks", 12.5)
 *     for _, row in ipairs(db:exec("select * from t where value > ?", 3)) do
 *         print(row.name, row.value)
 *     end
 *
 * One call runs one statement with its values bound and returns its rows, an
 * empty table where there are none.  NULL is nil.  A database that another
 * process writes is waited for, ten seconds at most.  Errors are raised with
 * the file and SQLite's words.
 *
 * Debian's lua-sql-sqlite3 binds no values: texts would be quoted by hand.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sqlite3.h>

#include "lheddle.h"

#define DATABASE  "heddle.sqlite"
#define STATEMENT "heddle.sqlite.statement"

enum { BUSY_MS = 10000 };

HL_MODULE int luaopen_heddle_sqlite(lua_State *L);

/* Raises SQLite's words on a database; a statement that is wrong itself is
 * reported, too. */
static int lsqlite_fail(lua_State *L, sqlite3 *db, const char *path,
                        const char *sql)
{
    if (sqlite3_errcode(db) == SQLITE_NOMEM)
        return hl_raise_memory(L);
    if (sqlite3_errcode(db) != SQLITE_ERROR)
        sql = NULL;
    return hl_raisef(L, HEDDLE_EIO, sql ? "%s: %s: %s" : "%s: %s", path,
                     sqlite3_errmsg(db), sql);
}

HL_RELEASE(db_close, DATABASE, sqlite3, sqlite3_close_v2)

static int lsqlite_bind(lua_State *L, sqlite3_stmt *s, int at, int i)
{
    size_t n;
    const char *text;

    switch (lua_type(L, i)) {
    case LUA_TNIL:
        return sqlite3_bind_null(s, at);
    case LUA_TBOOLEAN:
        return sqlite3_bind_int(s, at, lua_toboolean(L, i));
    case LUA_TNUMBER:
        return lua_isinteger(L, i)
                   ? sqlite3_bind_int64(s, at, lua_tointeger(L, i))
                   : sqlite3_bind_double(s, at, lua_tonumber(L, i));
    default:
        text = luaL_checklstring(L, i, &n);
        return sqlite3_bind_text64(s, at, text, n, SQLITE_TRANSIENT,
                                   SQLITE_UTF8);
    }
}

static void push_column(lua_State *L, sqlite3_stmt *s, int i)
{
    const void *bytes;

    switch (sqlite3_column_type(s, i)) {
    case SQLITE_INTEGER:
        lua_pushinteger(L, sqlite3_column_int64(s, i));
        break;
    case SQLITE_FLOAT:
        lua_pushnumber(L, sqlite3_column_double(s, i));
        break;
    case SQLITE_NULL:
        lua_pushnil(L);
        break;
    default:
        bytes = sqlite3_column_blob(s, i); /* NULL: empty */
        lua_pushlstring(L, bytes != NULL ? bytes : "",
                        (size_t)sqlite3_column_bytes(s, i));
    }
}

/* A statement is a value of Lua, so that it ends with the call whatever is
 * raised on the way. */
HL_RELEASE(statement_end, STATEMENT, sqlite3_stmt, sqlite3_finalize)

static sqlite3_stmt *statement(lua_State *L, sqlite3 *db, const char *sql)
{
    sqlite3_stmt **s = hl_box(L, STATEMENT, statement_end, NULL);

    lua_toclose(L, -1);
    if (sqlite3_prepare_v2(db, sql, -1, s, NULL) != SQLITE_OK)
        lsqlite_fail(L, db, sqlite3_db_filename(db, "main"), sql);
    return *s;
}

/* db:exec(sql, value...): the rows, each a table by column */
static int db_exec(lua_State *L)
{
    sqlite3 *db = hl_unbox(L, 1, DATABASE, "this database was closed");
    const char *sql = hl_text(L, 2);
    int top = lua_gettop(L), rc = SQLITE_OK;
    lua_Integer n = 0;
    sqlite3_stmt *s;

    s = statement(L, db, sql);
    for (int i = 3; i <= top && rc == SQLITE_OK; i++)
        rc = lsqlite_bind(L, s, i - 2, i);
    lua_newtable(L);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(s);
        if (rc != SQLITE_ROW)
            break;
        lua_newtable(L);
        for (int i = 0; i < sqlite3_column_count(s); i++) {
            const char *name = sqlite3_column_name(s, i);
            if (name == NULL)
                return hl_raise_memory(L);
            push_column(L, s, i);
            lua_setfield(L, -2, name);
        }
        lua_rawseti(L, -2, ++n);
    }
    if (rc == SQLITE_DONE)
        return 1;
    return lsqlite_fail(L, db, sqlite3_db_filename(db, "main"), sql);
}

static int db_open(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"exec", db_exec}, {"close", db_close}, {NULL, NULL}};
    const char *path = hl_text(L, 1);
    sqlite3 **db = hl_box(L, DATABASE, db_close, methods);

    if (sqlite3_open(path, db) != SQLITE_OK)
        return lsqlite_fail(L, *db, path, NULL);
    sqlite3_busy_timeout(*db, BUSY_MS);
    return 1;
}

int luaopen_heddle_sqlite(lua_State *L)
{
    static const luaL_Reg functions[] = {{"open", db_open}, {NULL, NULL}};

    luaL_newlib(L, functions);
    return 1;
}
