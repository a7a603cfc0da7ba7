--- memory.lua - peak memory of runs on the default machine.
--
--     heddle run bench/memory.lua [only=NAME]
--
-- arena           the largest arena of maxwell over the two traces and the
--                 pairs of the demo: all mutable state but written pages of
--                 buffers
-- growth.*        most bytes resident in a run of 35840 thread blocks (or 4
--                 kernels) over those of 8960 (1 kernel), each in a process of
--                 its own.  The pages that are touched are the same, so it is
--                 1 if memory does not depend on how much is run:
--   text.blocks   a trace under xz; its blocks are packed, and what exceeds a
--                 cap (64 KB here) is in a nameless file
--   text.kernels  the same file listed 4 times
--   box.blocks    the same as a container
--   box.kernels
--   program.blocks, program.kernels   a kernel program
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local k = require "heddle.kernel"
local trace = require "heddle.trace"
local least = require "least"
local text = require "text"

local arg = H.args { out = "build/bench", only = "" }

local BLOCKS, TIMES = 8960, 4
local CAP = 1 << 16 -- bytes of packed blocks of a text kept in memory

local function wanted(name)
    return arg.only == "" or name:find(arg.only, 1, true) == 1
end

--- c[i] = a[i] + b[i], around the same elements again and again.
local program = k.app {
    name = "vecadd", source = "benchmark", params = { times = 1, kernels = 1 },
    buffers = function()
        local n = BLOCKS * 256
        return { k.f32("a", n), k.f32("b", n), k.f32("c", n) }
    end,
    kernels = function(p, b)
        local n = BLOCKS * 256
        local add = k.kernel("vecadd", { grid = BLOCKS * p.times, block = 256 },
            function(t)
                local i = t.gid % n
                t:alu(10)
                t:store(b.c, i, t:load(b.a, i) + t:load(b.b, i))
            end)
        local list = {}
        for i = 1, p.kernels do
            list[i] = add
        end
        return list
    end,
}

--- Runs applications to the end; returns the bytes of the arena.
local function run(apps, more)
    local o = { machine = least.machine, apps = apps }
    for key, v in pairs(more or {}) do
        o[key] = v
    end
    local sim = H.sim(o)
    sim.core:run()
    local arena = sim.core:memory()
    sim:close()
    return arena
end

-- ---- the arena --------------------------------------------------------------

if wanted "arena" then
    local most, where = 0, ""
    local function try(name, apps, more)
        local _, arena = least.apart(function() return run(apps, more) end)
        if arena > most then
            most, where = arena, name
        end
    end
    least.apart(function() text.make(arg.out) end)
    for _, name in ipairs { "vecadd", "gather" } do
        try(name, { H.trace(arg.out .. "/" .. name .. "/kernelslist.g") })
    end
    for _, pair in ipairs { { "BFS2", "GUP" }, { "3DS", "BP" },
        { "MM", "CONS" } } do
        try(pair[1] .. " + " .. pair[2], {
            H.app(pair[1], { size = "M" }),
            H.app(pair[2], { size = pair[2] == "GUP" and "S" or "M" }),
        }, { stop_cycles = 20000 })
    end
    least.row("arena", most / 2^20, "MB", "of " .. where)
end

-- ---- growth -----------------------------------------------------------------

--- Writing the files takes memory, too; none of it may be seen here.
local function long(blocks, kernels)
    least.apart(function() text.long(arg.out, blocks, kernels) end)
    return ("%s/long-%d/kernelslist.g"):format(arg.out, blocks)
end

local function box(path)
    local to = path:gsub("kernelslist%.g$", "run.hdt")
    least.apart(function() trace.convert(path, to) end)
    return to
end

local function traced(path)
    return function() return run { H.trace(path, { keep = CAP }) } end
end

local function programmed(times, kernels)
    return function()
        return run { H.program(program, { times = times, kernels = kernels }) }
    end
end

local GROWTH = {
    { "text.blocks", function(more)
        return traced(long(more and TIMES * BLOCKS or BLOCKS, 1))
    end },
    { "text.kernels", function(more)
        return traced(long(BLOCKS, more and TIMES or 1))
    end },
    { "box.blocks", function(more)
        return traced(box(long(more and TIMES * BLOCKS or BLOCKS, 1)))
    end },
    { "box.kernels", function(more)
        return traced(box(long(BLOCKS, more and TIMES or 1)))
    end },
    { "program.blocks", function(more)
        return programmed(more and TIMES or 1, 1)
    end },
    { "program.kernels", function(more)
        return programmed(1, more and TIMES or 1)
    end },
}

for _, g in ipairs(GROWTH) do
    local name = "growth." .. g[1]
    if wanted(name) then
        local one = least.apart(g[2](false))
        local more = least.apart(g[2](true))
        least.row(name, more / one, "times",
            ("%.1f MB, then %.1f MB resident"):format(one / 2^20,
                more / 2^20))
    end
end
