--[[
413-kernel-pure.lua - application code gives the same in every run.

Pinned: the order in which its pairs and next walk, what raises in it and in
which words, a sort that keeps the order of equals, text without addresses; in
buffers, kernels, data and hosts; and that the script has its own globals again
afterwards, also after an error and in a handler of errors.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local k = require "heddle.kernel"
local survey = require "heddle.survey"
local HEDDLE = files.HEDDLE

local before = { pairs, next, tostring, setmetatable, require, os, table.sort,
    math.random, math.randomseed }

local function restored(what)
    local after = { pairs, next, tostring, setmetatable, require, os,
        table.sort, math.random, math.randomseed }
    local same = true
    for i = 1, #before do same = same and before[i] == after[i] end
    tap.ok(same and #after == #before, "the script has its globals " .. what)
end

-- An application of which one function runs fn.
local function application(where, fn)
    local function at(place) if place == where then fn() end end
    return k.app { name = "pure", params = { n = 64 },
        buffers = function(p)
            at "buffers"
            return { k.i32("x", p.n, { data = function(i)
                if i == 5 then at "data" end
                return i
            end }) }
        end,
        kernels = function(_, b)
            at "kernels"
            return { k.kernel("one", { block = 64 }, function(t)
                at "kernel"
                t:load(b.x, t.gid)
            end) }
        end,
        host = function(h, s)
            at "host"
            if s.done then return nil end
            s.done = true
            return h.kernels.one
        end }
end

local function run(where, fn)
    survey.each(application(where, fn):workload(), function() end)
end

local PLACES = { "buffers", "data", "kernels", "kernel", "host" }

-- ---- what differs -------------------------------------------------------------

for _, where in ipairs(PLACES) do
    local seen
    run(where, function()
        local t, list = { [3] = "c", [-1] = "a", [1.5] = "b" }, {}
        for i = 1, 40 do t["n" .. i % 7 .. i] = i end
        t.n441 = nil
        for key, v in pairs(t) do list[#list + 1] = key .. "=" .. v end
        local i = 0
        for key, v in next, t do
            i = i + 1
            assert(list[i] == key .. "=" .. v)
            t[key] = nil -- a walk may remove where it stands
        end
        assert(i == #list and next(t) == nil)
        seen = table.concat(list, " ", 1, 6)
    end)
    tap.is(seen, "-1=a 1.5=b 3=c n014=14 n021=21 n028=28",
        "pairs and next walk in order in " .. where)
    restored("after " .. where)
end

for words, fn in pairs {
    ["a table with a table as a key"] = function() pairs { [{}] = 1 } end,
    ["a table with a boolean as a key"] = function() next { [true] = 1 } end,
    ["math.random differs from run to run"] = function() math.random() end,
    ["math.randomseed differs"] = function() math.randomseed(1) end,
    ["os.time is not available"] = function() os.time() end,
    ["weak tables lose elements"] = function()
        setmetatable({}, { __mode = "k" })
    end,
    ["table expected, got nil"] = function() pairs(nil) end,
} do
    for _, where in ipairs(PLACES) do
        local line = debug.getinfo(fn, "S").linedefined
        tap.raises(function() run(where, fn) end, words, words .. ", " .. where)
        local ok, err = pcall(run, where, fn)
        tap.ok(not ok and tostring(err):find("pure.lua:" .. line)
            or tostring(err):find("pure.lua:" .. line + 1),
            "with its line, in " .. where, tostring(err))
    end
    restored("after: " .. words)
end

run("buffers", function()
    local list = {}
    for i = 1, 500 do list[i] = { i * 7919 % 5, i } end
    table.sort(list, function(a, b) return a[1] < b[1] end)
    local good = true
    for i = 2, 500 do
        local a, b = list[i - 1], list[i]
        good = good and (a[1] < b[1] or a[1] == b[1] and a[2] < b[2])
    end
    tap.ok(good, "a sort keeps the order of equals")
    local plain = { 3, 1, 2 }
    table.sort(plain)
    tap.is(table.concat(plain, " "), "1 2 3", "and sorts")
    tap.is(tostring {} .. tostring(print) .. tostring(1), "tablefunction1",
        "text has no addresses")
    tap.is(getmetatable(setmetatable({}, { __index = 1 })).__index, 1,
        "other metatables are set")
    tap.ok(require "heddle.csv", "modules can be loaded")
    tap.ok(pcall(pairs, { a = 1 }), "behind a module, too")
    tap.ok(not pcall(function() return os.getenv end), "and os is not there")
end)

-- ---- errors ----------------------------------------------------------------------

do
    local name = os.tmpname()
    files.write(name, [[
        local k = require "heddle.kernel"
        k.app { name = "e", kernels = function() return {} end,
            buffers = function() error "no such thing" end }:workload()]])
    local text = files.output(("%s run %s"):format(HEDDLE, name))
    os.remove(name)
    tap.ok(text:find "no such thing", "an error passes the command's handler",
        text)
end

return tap.done()
