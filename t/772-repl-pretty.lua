-- 772-repl-pretty.lua - pins how the REPL shows values: sorted keys, limits of
-- depth and number, cycles, aligned tables of rows, hexadecimal addresses,
-- and that showing neither calls nor changes anything.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local pretty = require "heddle.pretty"

local ok, is = tap.ok, tap.is

local function shows(value, text, name, options)
    is(pretty.text(value, options), text, name)
end

-- Scalars.
shows(nil, "nil", "nil")
shows(3, "3", "an integer")
shows(3.0, "3.0", "a float")
shows("a\n'b'", "a\n'b'", "a string is itself")
shows({ "a\n\"b\"\1" }, [[{ "a\n\"b\"\1" }]], "quoted inside of a table")

-- Tables.
shows({}, "{}", "an empty table")
shows({ 1, 2, nil, 4 }, "{ 1, 2, nil, 4 }", "a hole")
shows({ z = 1, a = 2, [10] = 3, [1] = 4, [2.5] = 5, [true] = 6 },
    "{ 4, [2.5] = 5, [10] = 3, a = 2, z = 1, [true] = 6 }",
    "numbers, then strings, then the rest")
shows({ ["end"] = 1, ["a b"] = 2, _ok1 = 3 },
    '{ _ok1 = 3, ["a b"] = 2, ["end"] = 1 }', "keys that are no names")
shows({ { { { { 1 } } } } }, "{ { { { {...} } } } }", "four deep")
shows({ { { 1 } } }, "{ {...} }", "or as deep as asked", { depth = 1 })
local cycle = { name = "c" }
cycle.self, cycle.list = cycle, { cycle }
shows(cycle, '{ list = { <cycle> }, name = "c", self = <cycle> }', "a cycle")
local shared = { 1 }
shows({ shared, shared }, "{ { 1 }, { 1 } }", "shared is no cycle")
local long = {}
for i = 1, 1000 do
    long[i] = i
end
ok(pretty.text(long):find("100,\n    ... 900 more,\n}", 1, true),
    "a long list is cut")
ok(pretty.text(long, { items = 5 }):find("5, ... 995 more }", 1, true),
    "where it is asked to")
shows({ aaaa = "bbbbbbbb", c = { d = 1 } },
    '{\n    aaaa = "bbbbbbbb",\n    c = { d = 1 },\n}',
    "what is too wide goes over lines", { width = 20 })

-- Objects.
local calls = 0
local object = setmetatable({ inner = 1 }, {
    __tostring = function()
        return "object!"
    end,
    __index = function()
        calls = calls + 1
    end,
    __pairs = function()
        calls = calls + 1
    end,
    __len = function()
        calls = calls + 1
        return 0
    end,
})
shows(object, "object!", "__tostring is used")
shows({ object }, "{ object! }", "inside, too")
shows(object, "{ inner = 1 }", "or looked behind", { inside = true })
shows(setmetatable({}, { __tostring = error }), "<its __tostring failed>",
    "a __tostring that raises")
is(calls, 0, "no other metamethod is called")

-- Rows.
local rows = {
    { kind = "entry", vpn = 0x7f0000, name = "a", hits = 1 },
    { kind = "entry", vpn = 16, name = "bcd", hits = 100 },
}
shows(rows, table.concat({
    "kind   name  hits       vpn",
    "entry  a        1  0x7f0000",
    "entry  bcd    100      0x10",
}, "\n"), "rows are an aligned table")
rows[3] = { kind = "walk", level = 4, rate = 0.5 }
rows[4] = { kind = "walk", level = 3 }
shows(rows, table.concat({
    "kind   name  hits       vpn",
    "entry  a        1  0x7f0000",
    "entry  bcd    100      0x10",
    "",
    "kind  level  rate",
    "walk      4   0.5",
    "walk      3",
}, "\n"), "one for each kind, a hole where a field is missing")
shows({ { kind = "one", n = 1 } }, "kind  n\none   1",
    "one row is a table if it has a kind")
shows({ { a = 1 } }, "{ { a = 1 } }", "else it is none")
shows({ { a = 1 }, { b = 2 }, { c = 3 } },
    "{ { a = 1 }, { b = 2 }, { c = 3 } }", "too many holes: no table")
shows({ { a = 1 }, { a = { 2 } } }, "{ { a = 1 }, { a = { 2 } } }",
    "rows hold no tables")
shows({ { a = 1 }, { a = 2 }, x = 1 }, "{ { a = 1 }, { a = 2 }, x = 1 }",
    "a list with names is no list of rows")
local many = {}
for i = 1, 60 do
    many[i] = { kind = "k", i = i }
end
ok(pretty.text(many):find("\nk     50\n... 10 more of 60 rows$"),
    "many rows are cut")
ok(pretty.text(many, { rows = 60 }):find("\nk     60\n60 rows$"),
    "or counted")
shows({ { kind = "x", address = -1 }, { kind = "x", address = 4096 } },
    "kind             address\nx     0xffffffffffffffff\n"
    .. "x                 0x1000", "addresses of 64 bits")

-- Colour.
ok(pretty.text({ a = "b" }, { color = true }):find("\27[32m", 1, true),
    "colour where it is asked for")
ok(not pretty.text({ a = "b" }):find("\27"), "and not elsewhere")

os.exit(tap.done())
