/*
 * scripts.h - fuzz targets: what heddle reads in Lua.
 *
 * settings  a file of settings: read, or refused with its line; what is read
 *           can be written and read again
 * json      the same
 * words     a command line, a word a line: list, explain, help, and the
 *           arguments of a script; it never ends as a fault of heddle's own
 *
 * libFuzzer does not see which lines of Lua run, so a hook counts them for it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef T_FUZZ_SCRIPTS_H
#define T_FUZZ_SCRIPTS_H

#include "fuzz.h"

#include <lauxlib.h>
#include <lualib.h>

#include "lua/lheddle.h"

static const char script_source[] =
    "local dir = ...\n"
    "local H = require 'heddle'\n"
    "local cli = require 'heddle.cli'\n"
    "local function write(name, text)\n"
    "    local f <close> = assert(io.open(dir .. name, 'wb'))\n"
    "    assert(f:write(text))\n"
    "end\n"
    "local null = io.open('/dev/null', 'w')\n"
    "io.output(null)\n"
    "io.stderr, io.stdout, print = null, null, function() end\n"
    "write('/args.lua', [[\n"
    "local H = require 'heddle'\n"
    "H.args { scale = 'quick', n = 3, ratio = 0.5, on = true }\n"
    "]])\n"
    "local t = {}\n"
    "function t.settings(text)\n"
    "    write('/some', text)\n"
    "    local ok, machine = pcall(H.config_read, dir .. '/some')\n"
    "    if not ok then\n"
    "        local words = tostring(machine)\n"
    "        assert(words:find '^[^\\n]*/some:%d+: ' or words:find '/some: ',\n"
    "            words)\n"
    "        return false\n"
    "    end\n"
    "    H.config_write(dir .. '/again', machine)\n"
    "    assert(H.config_read(dir .. '/again'))\n"
    "    return true\n"
    "end\n"
    "local function load(part, text)\n"
    "    write('/accesses', text)\n"
    "    local ok, err = pcall(part.load, part, dir .. '/accesses')\n"
    "    assert(ok or tostring(err):find '/accesses:%d+: ....', err)\n"
    "    assert(ok or err.code == -4, err)\n"
    "    return ok\n"
    "end\n"
    "function t.dram(text)\n"
    "    local d = H.part.dram()\n"
    "    local ok = load(d, text)\n"
    "    local ran, err = pcall(d.run, d)\n"
    "    assert(ran or tostring(err) ~= '')\n"
    "    return ok\n"
    "end\n"
    "function t.tags(text)\n"
    "    local p = (text:byte() or 0) % 2 ~= 0 and H.part.cache() or "
    "H.part.tlb()\n"
    "    local ok = load(p, text:sub(2))\n"
    "    local r = p:result()\n"
    "    assert(r.hits + r.misses == r.accesses)\n"
    "    return ok\n"
    "end\n"
    "function t.json(text)\n"
    "    local ok, v = pcall(H.json.decode, text)\n"
    "    if not ok then\n"
    "        assert(tostring(v):find 'expected', v)\n"
    "        return false\n"
    "    end\n"
    "    local once = H.json.encode(v) -- 1e999 is infinite, which is no JSON\n"
    "    assert(once:find 'null' or H.json.encode(H.json.decode(once)) == "
    "once,\n"
    "        once)\n"
    "    return true\n"
    "end\n"
    "local ALLOWED = { list = true, explain = true, help = true, args = true "
    "}\n"
    "function t.words(text)\n"
    "    local words = {}\n"
    "    for word in text:gmatch '[^\\n]+' do words[#words + 1] = word end\n"
    "    if cli.command(words[1] or '') and not ALLOWED[words[1]] then\n"
    "        words = { words[1], '--help' }\n"
    "    elseif words[1] == 'args' then\n"
    "        words = { 'run', dir .. '/args.lua', table.unpack(words, 2) }\n"
    "    end\n"
    "    local status = cli.main(words)\n"
    "    assert(math.type(status) == 'integer' and status ~= 70, status)\n"
    "    return status == 0\n"
    "end\n"
    "return t, H\n";

static lua_State *script_state; /* of all inputs */

#ifdef HD_LIBFUZZER
__attribute__((section(
    "__libfuzzer_extra_counters"))) static uint8_t script_lines[1 << 14];

static void script_line(lua_State *L, lua_Debug *ar)
{
    uint64_t at;

    lua_getinfo(L, "S", ar);
    at = (uint64_t)strlen(ar->source) * 131 + (uint64_t)ar->source[8] * 31 +
         (uint64_t)ar->source[strlen(ar->source) / 2];
    at = at * 2654435761u + (uint64_t)ar->currentline;
    script_lines[at % sizeof script_lines]++;
}
#endif

static void script_open(void)
{
    lua_State *L;

    if (script_state != NULL)
        return;
    script_state = L = luaL_newstate();
    assert_non_null(L);
    luaL_openlibs(L);
    hl_embed_preload(L);
    if (luaL_loadstring(L, script_source) != LUA_OK)
        fail_msg("%s", lua_tostring(L, -1));
    lua_pushstring(L, kit.dir);
    if (lua_pcall(L, 1, 2, 0) != LUA_OK)
        fail_msg("%s", lua_tostring(L, -1));
    lua_setglobal(L, "H");
    lua_setglobal(L, "fuzz");
#ifdef HD_LIBFUZZER
    lua_sethook(L, script_line, LUA_MASKLINE, 0);
#endif
}

static bool script_call(const char *name, const uint8_t *p, size_t n)
{
    lua_State *L;
    bool good;

    script_open();
    L = script_state;
    lua_getglobal(L, "fuzz");
    lua_getfield(L, -1, name);
    lua_pushlstring(L, (const char *)p, n);
    if (lua_pcall(L, 1, 1, 0) != LUA_OK)
        fail_msg("%s: %s", name, luaL_tolstring(L, -1, NULL));
    good = lua_toboolean(L, -1);
    lua_settop(L, 0);
    return good;
}

/* What a line of Lua gives, as a text. */
static void script_seed(fuzz_put *put, const char *line)
{
    size_t n;
    const char *s;

    script_open();
    if (luaL_dostring(script_state, line) != LUA_OK)
        fail_msg("%s", lua_tostring(script_state, -1));
    s = lua_tolstring(script_state, -1, &n);
    put(s, n);
    lua_settop(script_state, 0);
}

static bool settings_run(const uint8_t *p, size_t n)
{
    return script_call("settings", p, n);
}

static void settings_seeds(fuzz_put *put)
{
    char line[400];

    snprintf(line, sizeof line,
             "H.config_write('%s/whole', H.machine 'maxwell') local s = {} "
             "for line in io.lines '%s/whole' do s[#s + 1] = line "
             "if #s == 40 then break end end "
             "return table.concat(s, '\\n') .. '\\n'",
             kit.dir, kit.dir);
    script_seed(put, line);
}

static const char *const settings_words[] = {" = ",
                                             "#",
                                             "off",
                                             "full",
                                             "ideal",
                                             "fixed:9",
                                             "core.",
                                             "l2tlb.entries = ",
                                             "18446744073709551616",
                                             "-1",
                                             "0x10",
                                             "4k",
                                             "\n",
                                             "true",
                                             "lru",
                                             NULL};

static bool json_run(const uint8_t *p, size_t n)
{
    return script_call("json", p, n);
}

static void json_seeds(fuzz_put *put)
{
    script_seed(put, "return H.json.encode { a = H.json.array { 1, 2.5, -3e20, "
                     "true, false, 'x\"\\n\\u{e9}' }, b = { c = '', ['d e'] "
                     "= H.json.array {} }, n = 1 << 60 }");
    put("[null, \"\\u00e9\\ud83d\\ude00\\/\"]", 27);
}

static const char *const json_words[] = {
    "{",   "}",       "[",    "]",        "\"",   ",",
    ":",   "null",    "true", "1e999",    "-0",   "9223372036854775808",
    "\\u", "\\ud800", "\\",   "\xc3\xa9", "\xff", NULL};

static bool words_run(const uint8_t *p, size_t n)
{
    return script_call("words", p, n);
}

static void words_seeds(fuzz_put *put)
{
    static const char *const lines[] = {"explain\nl2tlb.entries",
                                        "explain\ntlb_fill\nmaxwell",
                                        "list\nsettings\nwalk.",
                                        "list\ncounters",
                                        "help\ntrace",
                                        "args\nn=4\nratio=.5\non=no\nscale=x",
                                        "explain\nmask\nATAX",
                                        "--version"};

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        put(lines[i], strlen(lines[i]));
}

static const char *const words_words[] = {
    "\n",     "list\n",   "explain\n", "args\n", "n=", "on=",
    "--help", "settings", "points",    "suites", "%s", "%d",
    "..",     "=",        "metrics",   "\n\n",   NULL};

#endif
