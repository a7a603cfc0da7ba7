--[[
measure.lua - figures of an application, from what the naive twin sees.

    local measure = require "t.apps.measure"
    local seen = measure.walk(app.get("FFT"):instance "T")
    seen.lanes.KERNEL            instructions of all its threads
    seen.reads.BUFFER            elements that lanes load from it
    seen.accesses["fft_X store Y"]   a list of its warp instructions, each
                                 { mask = , bytes = , addr = , launch = }
    measure.spread(list, 4096)   mean number of different pages (128: lines)
                                 that one of them touches
    measure.touched(e, 4096)     pages that one of them touches
    measure.bits(mask)           lanes of a mask
    measure.full(list)           those of them that all 32 lanes take part in

SPDX-License-Identifier: MIT
]]
local twin = require "heddle.twin"

local M = {}

function M.bits(mask)
    local n = 0
    while mask ~= 0 do
        mask = mask & (mask - 1)
        n = n + 1
    end
    return n
end

-- e: an event of the twin, or of a list.
function M.touched(e, unit)
    local met, n = {}, 0
    for _, at in pairs(e.addr) do
        for u = at // unit, (at + e.bytes - 1) // unit do
            if not met[u] then n, met[u] = n + 1, true end
        end
    end
    return n
end

-- options as for twin.walk
function M.walk(instance, options)
    local seen = { lanes = {}, reads = {}, accesses = {} }
    twin.walk(instance, function(e)
        local n = M.bits(e.mask)
        seen.lanes[e.kernel] = (seen.lanes[e.kernel] or 0) + e.n * n
        if not e.addr then return end
        local b = e.buffer.name
        if e.kind == "load" then seen.reads[b] = (seen.reads[b] or 0) + n end
        local key = e.kernel .. " " .. e.kind .. " " .. b
        local list = seen.accesses[key] or {}
        seen.accesses[key] = list
        list[#list + 1] = { mask = e.mask, bytes = e.bytes, addr = e.addr,
            launch = e.launch }
    end, options)
    return seen
end

function M.full(list)
    local out = {}
    for _, e in ipairs(list) do
        if e.mask == 0xffffffff then out[#out + 1] = e end
    end
    return out
end

function M.spread(list, unit)
    local sum = 0
    for _, e in ipairs(list) do sum = sum + M.touched(e, unit) end
    return sum / #list
end

return M
