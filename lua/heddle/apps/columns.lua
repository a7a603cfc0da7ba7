--[[
columns.lua - what CORR and COVAR have in common: kernels over the columns of
data[n+1][m+1], indices from 1, and the products of all pairs of columns.

p has m, n, cap and alu; see the two applications.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"

local M = {}

-- Instructions of a division or a square root: an estimate.
M.DIVISION = 10

-- A kernel with a thread for each column j = 1 .. m, which sums it up in
-- into[j], in memory, and then does `alu` instructions; of each element `more`,
-- if given: (t, j).
function M.sum(p, b, name, into, alu, more)
    local options = { grid = h.ceil(p.m, 256), block = 256, regs = 14 }
    return h.kernel(name, options, function(t)
        local j = t.gid + 1
        t:alu(p.alu)
        t:when(j:le(p.m), function()
            t:store(into, j)
            t:loop(1, p.n + 1, function(i)
                t:load(b.data, i * (p.m + 1) + j)
                if more then more(t, j) end
                t:alu(p.alu)
                t:store(into, j)
            end)
            t:alu(alu)
            t:store(into, j)
        end)
    end)
end

function M.mean(p, b)
    return M.sum(p, b, "mean", b.mean, M.DIVISION)
end

-- A kernel with a thread for each element of the first `rows` rows (at most
-- n): body(t, j, index in data).
function M.tiles(p, name, rows, regs, body)
    local options = { grid = { h.ceil(p.m, 32), h.ceil(rows, 8) },
        block = { 32, 8 }, regs = regs }
    return h.kernel(name, options, function(t)
        local j, i = t.gx + 1, t.gy + 1
        t:alu(12)
        t:when(i:le(p.n):band(j:le(p.m)), function()
            body(t, j, i * (p.m + 1) + j)
        end)
    end)
end

-- Takes the mean of its column from each element of the first `rows` rows, and
-- does `more`, if given: (t, j, index in data).
function M.reduce(p, b, rows, more)
    return M.tiles(p, "reduce", rows, more and 16 or 10, function(t, j, at)
        t:load(b.data, at)
        t:load(b.mean, j)
        t:alu(1)
        t:store(b.data, at)
        if more then more(t, j, at) end
    end)
end

-- The products of column j1 = thread + 1 with all from j1 + first on, or with
-- the first `cap` of them.
function M.products(p, b, name, first)
    local pitch = p.m + 1
    local function pair(t, j1, j2)
        t:alu(p.alu)
        t:store(b.symmat, j1 * pitch + j2)
        t:loop(1, p.n + 1, function(i)
            t:load(b.data, i * pitch + j1)
            t:load(b.data, i * pitch + j2)
            t:alu(p.alu)
            t:store(b.symmat, j1 * pitch + j2)
        end)
        t:store(b.symmat, j2 * pitch + j1)
    end
    local options = { grid = h.ceil(p.m, 256), block = 256, regs = 20 }
    return h.kernel(name, options, function(t)
        local j1 = t.gid + 1
        t:alu(p.alu)
        t:when(j1:le(p.m - first), function()
            if first > 0 then t:store(b.symmat, j1 * pitch + j1) end
            local last = t:const(p.m + 1)
            if p.cap > 0 then last = last:min(j1 + first + p.cap) end
            t:loop(j1 + first, last, function(j2) pair(t, j1, j2) end)
        end)
    end)
end

-- Says how far `cap` cuts a run in which a thread has up to `all` columns.
function M.truncated(p, all)
    if p.cap > 0 and p.cap < all then
        return string.format("%d of up to %d partners of each column", p.cap,
            all)
    end
end

return M
