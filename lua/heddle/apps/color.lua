--[[
COLOR - colouring of a graph by independent sets, Pannotia color (the version
that takes maxima and minima).

Arrays, in order: row[n], col[m], stop, color[n], value[n], max[n], min[n],
i32.  Footprint 20 n + 4 m + 4 bytes.

Every node has a random value from 0 to 2047.  Blocks of 256 threads, one a
node; after `init` the host repeats two kernels, with two new colours in each
round, until no thread has set stop:
  color1   a node without a colour looks at its neighbours without one, sets
           stop if there is any, and keeps the largest and the smallest value.
           (A node with a single neighbour does not look: it is coloured now.)
  color2   who has at least the largest value gets the first colour, who has at
           most the smallest, the second.
The lists of a warp are side by side (1.1 pages), color[] and value[] are
gathers by node number.  Lanes are off as their nodes are coloured and as their
lists end.

Everything is real: graph, values, colours; see csr.lua for the graphs.  On a
grid, which ecology1 is, round 1 has 32 lanes and 1.04 pages a gather; on a
random graph of 299,067 nodes 16.9 lanes and 15.7 pages.

Accesses and the instructions between them are those of nvcc 13's PTX, block by
block, not unrolled.  Approximated: with that compiler, since the code that the
papers ran is not public; which two arrays init sets.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local csr = require "heddle.apps.csr"
local app, i32 = h.app, h.i32

local BLOCK, LARGE = 256, 0x7fffffff

local function init(p, b)
    return csr.each(p, "init", BLOCK, 12, 9, nil, function(t, v)
        t:alu(4)
        t:store(b.max, v, -1)
        t:alu(3)
        t:store(b.min, v, LARGE)
    end)
end

-- The end of the list of v: the next one's start, or the end of all.
local function list_end(t, p, b, v)
    local last = t:var(b.col.count)
    t:when((v + 1):lt(p.n), function() last:set(t:load(b.row, v + 1)) end)
    return last
end

local function color1(p, b)
    return csr.each(p, "color1", BLOCK, 24, 16, nil, function(t, v)
        t:alu(3)
        local colour = t:load(b.color, v)
        t:alu(2)
        t:when(colour:eq(-1), function()
            t:alu(3)
            local first = t:load(b.row, v)
            t:alu(3, { uses = {} })
            local last = list_end(t, p, b, v)
            t:alu(4)
            local several = (last - first):ne(1)
            local most, least = t:var(-1), t:var(LARGE)
            t:when(first:lt(last), function() t:alu(9) end)
            t:loop(first, last, function(e)
                local w = t:load(b.col, e)
                t:alu(2)
                local other = t:load(b.color, w)
                t:alu(4)
                t:when(other:eq(-1):band(several), function()
                    t:alu(1)
                    t:store(b.stop, 0, 1)
                    w = t:load(b.col, e)
                    t:alu(2)
                    local value = t:load(b.value, w)
                    t:alu(2)
                    most:set(most:max(value))
                    least:set(least:min(value))
                end)
                t:alu(4)
            end)
            t:alu(2)
            t:store(b.max, v, most)
            t:alu(2)
            t:store(b.min, v, least)
        end)
    end)
end

local function color2(p, b)
    return csr.each(p, "color2", BLOCK, 12, 12, { colour = 1 }, function(t, v)
        local colour = t:arg("colour")
        t:alu(4)
        local own = t:load(b.color, v)
        t:alu(2)
        t:when(own:eq(-1), function()
            t:alu(5)
            local most, value = t:load(b.max, v), t:var(t:load(b.value, v))
            t:alu(2)
            t:when(value:ge(most), function()
                t:store(b.color, v, colour)
                value:set(t:load(b.value, v))
            end)
            t:alu(2, { uses = {} })
            local least = t:load(b.min, v)
            t:alu(2)
            t:when(value:le(least), function()
                t:alu(1)
                t:store(b.color, v, colour + 1)
            end)
        end)
    end)
end

return app {
    name = "COLOR", suite = "Pannotia", source = "Pannotia color (maxmin)",
    summary = "graph colouring, gathers that thin out from round to round",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { graph = "grid", n = 1000000, d = 0, width = 0, seed = 1 },
    sizes = {
        T = { n = 676 },
        S = { n = 1000000 },
        M = { n = 1587600 },
        L = { n = 4000000 },
    },
    footprint = function(p) return 20 * p.n + 4 * csr.edges(p) + 4 end,

    buffers = function(p)
        local g = csr.graph(p, "COLOR")
        local generate = require "heddle.generate"
        return {
            -- one element less than the graph has
            i32("row", p.n, { data = function(v) return g.start[v] end }),
            i32("col", math.max(g.m, 1), { data = g.edges }),
            i32("stop", 1, { contents = true }),
            i32("color", p.n, { data = -1 }),
            i32("value", p.n, { data = generate.ints { n = p.n, lo = 0,
                hi = 2047, seed = p.seed } }),
            i32("max", p.n, { contents = true }),
            i32("min", p.n, { contents = true }),
        }
    end,

    kernels = function(p, b)
        return { init(p, b), color1(p, b), color2(p, b) }
    end,

    -- s.colour: the first of the round's colours; s.found: color1 is done
    host = function(device, s)
        if s.colour == nil then
            s.colour = 1
            return device.kernels.init
        end
        if s.found then
            s.found = false
            return { device.kernels.color2, args = { colour = s.colour } }
        end
        if s.found == false then
            if device.read(device.b.stop, 0) == 0 then return nil end
            s.colour = s.colour + 2
        end
        device.write(device.b.stop, 0, 0)
        s.found = true
        return device.kernels.color1
    end,
}
