--[[
SCAN - prefix sums of an array, SHOC Scan (also MASK, Mosaic): reduce, then
scan.

Arrays, in order: in[n], out[n], bs[grid], f32.  Footprint 8 n + 4 grid bytes.

`triples` times three launches; each of `grid` = 64 blocks owns n / grid
elements, one after the other:
  reduce       256 threads a block sum the region, 256 elements at a time: one
               line, one page; a tree in shared memory; a store to bs
  scan_single  one block scans bs in shared memory
  bottom_scan  again the same region, 1024 elements a window: a thread loads
               four (16 bytes, four lines a warp, one page), the block scans in
               shared memory, where the first warp alone rakes 8 sums a lane
               while the others wait, and four are stored to out
So 64 streams of pages, n / grid elements apart, run side by side, over `in`
twice and over `out`; 6 barriers a window.

Instructions between accesses are those of MAFIA's PTX, block by block: 55 a
window, 95 more for the raking warp.

SHOC runs 2560 triples over floats and as many over doubles.  Addresses are
driven by indices alone; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; whatever an instruction computes, it costs an issue slot.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local B = 256

-- The first warp scans 256 sums, 8 a lane.
local function rake(t)
    t:when(t.tid:lt(32), function()
        t:alu(12)
        for _ = 1, B // 32 - 1 do
            t:shared(3)
            t:alu(5)
        end
        t:alu(6)
        t:shared(16)
        t:alu(5)
    end)
end

-- What a thread does with its sum and its lane's, once they are raked.
local function finish(t)
    t:sync()
    t:shared(3)
    t:alu(1)
    t:sync()
    t:alu(1)
    t:when(t.tid:ne(0), function()
        t:alu(11)
        t:shared(1)
    end)
end

local function reduce(p, b)
    local options = { grid = p.grid, block = B, regs = 12, shared = 4 * B }
    local region = p.n // p.grid
    return kernel("reduce", options, function(t)
        t:alu(34)
        local from = region * t.bx
        t:loop(from + t.tid, from + region, B, function(i)
            local x = t:load(b["in"], i)
            t:alu(5, { uses = { x } })
        end)
        t:alu(5)
        t:shared(1)
        for _, s in ipairs { 128, 64, 32 } do
            t:sync()
            t:alu(3)
            t:when(t.tid:lt(s), function()
                local steps = s == 32 and 6 or 1
                t:shared(3 * steps)
                t:alu(steps)
            end)
        end
        t:alu(3)
        t:when(t.tid:eq(0), function()
            t:shared(1)
            t:alu(4)
            t:store(b.bs, t.bx)
        end)
    end)
end

local function scan_single(p, b)
    local options = { grid = 1, block = B, regs = 12, shared = 12 * B }
    return kernel("scan_single", options, function(t)
        t:alu(4)
        t:when(t.tid:lt(p.grid), function()
            t:alu(4)
            t:load(b.bs, t.tid)
        end)
        t:alu(8, { uses = {} })
        t:shared(1, { uses = {} })
        t:sync()
        t:alu(6, { uses = {} })
        t:shared(1)
        t:sync()
        t:alu(4)
        rake(t)
        t:alu(4)
        finish(t)
        t:alu(3)
        t:when(t.tid:lt(p.grid), function()
            t:alu(4)
            t:store(b.bs, t.tid)
        end)
    end)
end

local function bottom_scan(p, b)
    local options = { grid = p.grid, block = B, regs = 21,
        shared = 12 * B }
    local region = p.n // p.grid
    return kernel("bottom_scan", options, function(t)
        t:alu(23)
        t:load(b.bs, t.bx)
        t:alu(23)
        t:loop(region // (4 * B), function(window)
            local i = region * t.bx + 4 * (t.tid + B * window)
            t:alu(3)
            local x = t:load(b["in"], i, { vec = 4 })
            t:alu(4, { uses = { x } })
            t:shared(1)
            t:sync()
            t:shared(1)
            t:sync()
            t:alu(5)
            rake(t)
            finish(t)
            t:alu(1)
            t:sync()
            t:alu(9)
            t:store(b.out, i, { vec = 4 })
            t:alu(1)
            t:when(t.tid:eq(B - 1), function() t:shared(1) end)
            t:sync()
            t:shared(1)
            t:alu(4)
        end)
    end)
end

return app {
    name = "SCAN", suite = "SHOC", source = "SHOC level 1 Scan",
    summary = "prefix sums: 64 streams of pages, the input read twice",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 262144, grid = 64, triples = 8 },
    sizes = {
        T = { n = 8192, grid = 4, triples = 2 },
        R = { n = 262144 },
        S = { n = 262144 },
        M = { n = 8388608, triples = 2 },
        L = { n = 16777216, triples = 2 },
    },
    footprint = function(p) return 8 * p.n + 4 * p.grid end,
    truncated = function(p)
        return string.format("%d of 2560 triples of launches, none over "
            .. "doubles", p.triples)
    end,

    buffers = function(p)
        h.check(p.grid > 0 and p.n % (4 * B * p.grid) == 0 and p.grid <= B,
            "SCAN: n is a multiple of 1024 * grid, grid 1 to 256")
        return { f32("in", p.n), f32("out", p.n), f32("bs", p.grid) }
    end,

    kernels = function(p, b)
        local r, s, k = reduce(p, b), scan_single(p, b), bottom_scan(p, b)
        local launches = {}
        for _ = 1, p.triples do
            launches[#launches + 1] = r
            launches[#launches + 1] = s
            launches[#launches + 1] = k
        end
        return launches
    end,
}
