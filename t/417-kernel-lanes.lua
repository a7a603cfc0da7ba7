--[[
417-kernel-lanes.lua - kernels that are written for warps of so many lanes.

Pinned: an application or a kernel that says lanes = 32 runs where core.lanes is 32
and is refused elsewhere, by a simulation, a survey and a recording, with the setting
that is expected; t.lanes is that number then, so that it folds; one that says none
runs with both; two that differ, and other numbers, are refused; Lua's own loops over
values say what to use instead; and a barrier in a branch counts warps.

SPDX-License-Identifier: MIT
]]
local files = require "lib.files"
local tap = require "lib.tap"
local H = require "heddle"
local survey = require "heddle.survey"
local trace = require "heddle.trace"

local k = H.kernel
local got

local function application(fields, options, more)
    options = options or {}
    options.block = options.block or 64
    local a = { name = "narrow", buffers = function()
        return { k.i64("out", 64, { contents = true }) }
    end, kernels = function(_, b)
        local list = { k.kernel("k", options, function(t)
            t:store(b.out, t.tid, t.lanes * 100 + t.lane)
        end) }
        if more then
            list[2] = k.kernel("other", more, function(t) t:alu(1) end)
        end
        return list
    end }
    for key, x in pairs(fields or {}) do a[key] = x end
    return k.app(a)
end

local function run(a, lanes)
    local sim = H.sim { machine = "maxwell", progress = false,
        apps = { H.program(a) },
        settings = { ["core.lanes"] = lanes, ["core.width"] = 32 } }
    sim:run()
    return sim.instructions
end

local REFUSED = "application narrow is written for warps of 32 lanes, and the "
    .. "machine's have 64; expected core.lanes = 32"

for how, make in pairs {
    ["an application"] = function() return application { lanes = 32 } end,
    ["a kernel"] = function() return application({}, { lanes = 32 }) end,
    ["one kernel of two"] = function()
        return application({}, {}, { lanes = 32, block = 32 })
    end,
    ["both"] = function() return application({ lanes = 32 }, { lanes = 32 }) end,
} do
    tap.ok(run(make(), 32) > 0, how .. ": where warps have 32")
    tap.raises(function() run(make(), 64) end, REFUSED, how .. ": not with 64")
    tap.raises(function() run(make(), 64) end, "t/417-kernel-lanes.lua:",
        how .. ": and where")
end
tap.raises(function() run(application { lanes = 64 }, 32) end,
    "of 64 lanes, and the machine's have 32; expected core.lanes = 64",
    "nor with 32 what is for 64")
tap.ok(run(application(), 32) > 0 and run(application(), 64) > 0,
    "what says nothing runs with both")

tap.raises(function()
    survey.each(application { lanes = 32 }:workload(), function() end,
        { lanes = 64 })
end, REFUSED, "a survey refuses it, too")
local dir = files.folder()
tap.raises(function()
    trace.record(application { lanes = 32 }:workload(), dir .. "/x", 64)
end, REFUSED, "and a recording")
os.execute("rm -rf " .. files.quote(dir))

-- ---- the number ----------------------------------------------------------------

for _, lanes in ipairs { 32, 64 } do
    survey.each(application {
        lanes = lanes,
        host = function(h)
            if h.launched == 0 then return h.kernels.k end
            got = {}
            for i = 0, 63 do got[i] = h.read(h.b.out, i) end
        end }:workload(), function() end, { lanes = lanes })
    tap.is(("%d %d"):format(got[1], got[63]),
        ("%d %d"):format(lanes * 100 + 1, lanes * 100 + 63 % lanes),
        lanes .. " lanes: t.lanes and t.lane")
end

-- ---- what is refused -----------------------------------------------------------

tap.raises(function() run(application { lanes = 16 }, 32) end,
    "application narrow: lanes: expected 32 or 64, got 16", "no other number")
tap.raises(function() application({}, { lanes = "32" }):instance() end,
    "kernel k: lanes: expected 32 or 64, got 32", "no text")
tap.raises(function()
    application({}, { lanes = 32 }, { lanes = 64, block = 64 }):instance()
end, "kernel other is for 64 lanes, and another, or the application, for 32",
    "two kernels that differ")

--- What the kernel function fn is refused with.
local function loops(fn, words, name)
    for _, part in ipairs { "t/417-kernel-lanes.lua:", words,
        "use t:loop(), or a plain number" } do
        tap.raises(function()
            k.app { name = "loop", buffers = function()
                return { k.i32("x", 64) }
            end, kernels = function(_, b)
                return { k.kernel("k", { block = 64 }, function(t)
                    fn(t, b)
                end) }
            end }:workload()
        end, part, name)
    end
end
loops(function(t) for _ = 1, t.lanes do t:alu(1) end end,
    "'for' limit", "t.lanes in a loop of Lua's")
loops(function(t) for _ = t.lane, 32 do t:alu(1) end end,
    "'for' initial value", "t.lane, too")
loops(function(t, b) for _ = 1, 8, t:load(b.x, 0) do t:alu(1) end end,
    "'for' step", "or what a load gives")

-- ---- barriers in branches --------------------------------------------------------

-- Two warps of four have two barriers, the others one and end: as on a machine,
-- where a barrier counts the warps that have come and those that have ended.
do
    local a = k.app { name = "branch", buffers = function()
        return { k.i32("x", 128) }
    end, kernels = function(_, b)
        return { k.kernel("k", { block = 128, lanes = 32 }, function(t)
            t:when(t.tid:lt(64), function()
                t:alu(50)
                t:sync()
                t:load(b.x, t.tid)
                t:sync()
            end, function() t:sync() end)
        end) }
    end }
    local sim = H.sim { machine = "maxwell", progress = false,
        apps = { H.program(a) },
        settings = { ["core.lanes"] = 32, ["core.width"] = 32 } }
    sim:run()
    tap.is(sim.instructions, 2 * (50 + 4) + 2 * 2,
        "warps in a branch meet those of another, and each other")
end

tap.done()
