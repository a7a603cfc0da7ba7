--- kernels.lua - the microbenchmarks with which cards were measured, as kernel
-- programs.
--
-- chase    one thread, or one on each of two cores, whose every load waits for the
--          one before it: `loads` of them are timed, after `warm` others.  Elements
--          are `stride` bytes apart in a range of `bytes`; order = "random" visits
--          them in one random cycle, "stride" in turn (Karnagel et al.; RRZE's
--          gpu-latency).
-- read     blocks that read ranges of `each` bytes, every thread a word of four
--          bytes after the other: block i begins at i * each of the `bytes` that all
--          of them share (RRZE's gpu-l2-cache, gpu-stream).
--
-- Addresses are computed, and where a random cycle has no formula they come from a
-- scratch buffer, which costs nothing; but an address contains what the load before
-- has read, which is 0, so that it waits.  The two launches of a program are the
-- warming one and the timed one: a core has its caches and TLBs from the first.
--
-- A program's results depend on its parameters and this file alone, so that
-- experiments find them again (kernels.job).
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local core = require "heddle.core"
local k = require "heddle.kernel"
local experiment = require "heddle.experiment"

local kernels = {}

local LARGE = 2 << 20 -- buffers begin at a page of 2 MB, and end at one

local function whole(bytes)
    return (bytes + LARGE - 1) // LARGE * LARGE
end

--- A random cycle through 0 to n - 1: the list of its elements in order.
local function cycle(n, seed)
    local x, list = seed, {}
    for i = 1, n do
        list[i] = i - 1
    end
    for i = n, 2, -1 do
        x = x * 6364136223846793005 + 1442695040888963407
        local j = (x >> 33) % i + 1
        list[i], list[j] = list[j], list[i]
    end
    return list
end

local last = {} -- the cycle that was made last, by n and seed

local function cycle_of(p)
    local key = ("%d %d"):format(p.bytes // p.stride, p.seed)
    if last.key ~= key then
        last.key, last.list = key, cycle(p.bytes // p.stride, p.seed)
    end
    return last.list
end

--- The element after each.
local function after(p)
    local list, out = cycle_of(p), {}
    for i, at in ipairs(list) do
        out[at + 1] = list[i % #list + 1]
    end
    return out
end

local chase = k.app {
    name = "chase", source = "Karnagel et al., DaMoN 2017; RRZE-HPC/gpu-benches",
    params = { bytes = 1 << 20, stride = 128, order = "random", warm = 8192,
        loads = 8192, seed = 1,
        first = 0, second = -1, -- cores
        cores = 1 },
    align = LARGE,
    buffers = function(p)
        k.choice(p, "order", "random", "stride")
        k.check(p.bytes % p.stride == 0 and p.bytes >= p.stride,
            "bytes are a multiple of stride")
        local out = { k.i32("a", whole(p.bytes * (p.second >= 0 and 2 or 1)) // 4) }
        if p.order == "random" then
            out[2] = k.i32("next", p.bytes // p.stride, { scratch = true,
                data = after(p) })
        end
        return out
    end,
    kernels = function(p, b)
        local n, step = p.bytes // p.stride, p.stride // 4
        local from = p.order == "random" and cycle_of(p)[p.warm % n + 1] or p.warm % n
        local first = p.order == "random" and cycle_of(p)[1] or 0
        local kernel = k.kernel("chase", { grid = p.cores, block = 1,
            args = { n = p.warm, from = 0 } }, function(t)
            local function run(base)
                local at = t:var(t:arg "from")
                t:loop(t:arg "n", function()
                    local v = t:load(b.a, base + at * step)
                    if p.order == "random" then
                        at:set(t:peek(b.next, at + v))
                    else
                        at:set((at + 1) % n + v)
                    end
                end)
            end
            if p.cores == 1 then
                run(0)
            else
                local second = t.block:eq(p.second)
                t:when(second:bor(t.block:eq(p.first)), function()
                    run(t:select(second, p.bytes // 4, 0))
                end)
            end
        end)
        return { { kernel, args = { n = p.warm, from = first } },
            { kernel, args = { n = p.loads, from = from } } }
    end,
}

local read = k.app {
    name = "read", source = "RRZE-HPC/gpu-benches",
    params = { bytes = 1 << 20, each = 65536, blocks = 160, warm = 0, threads = 1024,
        at_once = 4 },
    align = LARGE,
    buffers = function(p)
        return { k.i32("a", whole(p.bytes) // 4) }
    end,
    kernels = function(p, b)
        local words, n = p.bytes // 4, p.each // 4 // p.threads // p.at_once
        local kernel = k.kernel("read", { grid = p.blocks, block = p.threads,
            args = { first = 0 } }, function(t)
            local base = t:var(((t.block + t:arg "first") * (p.each // 4)) % words
                + t.tid)
            t:loop(n, function()
                local uses = {}
                for i = 1, p.at_once do
                    uses[i] = t:load(b.a, (base + (i - 1) * p.threads) % words)
                end
                base:set((base + p.at_once * p.threads) % words)
                t:alu(1, { uses = uses })
            end)
        end)
        local out = {}
        if p.warm > 0 then
            out[1] = { kernel, grid = p.warm, args = { first = 0 } }
        end
        out[#out + 1] = { kernel, grid = p.blocks, args = { first = p.warm } }
        return out
    end,
}

--- Bits of a counter that look random (the finalizer of MurmurHash3).
local function mixed(v)
    v = v:bxor(v:lshr(33)) * 0xff51afd7ed558ccd
    v = v:bxor(v:lshr(33)) * 0xc4ceb9fe1a85ec53
    return v:bxor(v:lshr(33))
end

local LINE = 128

local window = k.app {
    name = "window", source = "Walker, arXiv 2405.11425",
    params = { bytes = 1 << 30, cores = 108, split = 96, each = 8, rest = 6, own = 0,
        loads = 6, at_once = 4, seed = 1 },
    align = LARGE,
    buffers = function(p)
        return { k.i32("a", whole(p.bytes) // 4) }
    end,
    kernels = function(p, b)
        local all = p.split // p.each + (p.cores - p.split) // p.rest
        local pages = p.bytes // LARGE // (p.own == 1 and all or 1)
        -- first page of the window of a block's group, its size, the number of the
        -- block in it; block i of two a core runs on core i modulo cores
        local function place(t)
            local c = t.block % p.cores
            local low = c:lt(p.split)
            local group = t:select(low, c // p.each, (c - p.split) // p.rest
                + p.split // p.each)
            local size = t:select(low, p.each, p.rest)
            local at = t:select(low, c % p.each, (c - p.split) % p.rest)
            return group * (p.own == 1 and pages or 0), 2 * size,
                at * 2 + t.block // p.cores
        end
        local touch = k.kernel("touch", { grid = 2 * p.cores, block = 1024 },
            function(t)
                local first, blocks, at = place(t)
                t:loop(at * 1024 + t.tid, pages, blocks * 1024, function(page)
                    local line = mixed(page + p.seed):band(LARGE // LINE - 1)
                    t:load(b.a, (first + page) * (LARGE // 4) + line * (LINE // 4))
                    t:alu(1)
                end)
            end)
        local random = k.kernel("random", { grid = 2 * p.cores, block = 1024 },
            function(t)
                local first = place(t)
                local warp = t.block * 32 + t.tid // 32
                local base = first * (LARGE // LINE)
                t:loop(p.loads, function(i)
                    local uses = {}
                    for j = 1, p.at_once do
                        local draw = mixed((warp * p.loads + i) * p.at_once + j
                            + (p.seed << 40)):lshr(1)
                        local line = base + draw % (pages * (LARGE // LINE))
                        uses[j] = t:load(b.a, line * (LINE // 4) + t.lane)
                    end
                    t:alu(1, { uses = uses })
                end)
            end)
        return { touch, random }
    end,
}

local APPS, texts = { chase = chase, read = read, window = window }, {}

--- A program of a file beside this one, with parameters, as an application of a job
-- that the store can keep.
function kernels.job(app, params, file)
    local d = H.program(app, params)
    texts[file] = texts[file] or core.fingerprint(experiment.read(H.here(file)))
    d.lasting = ("validate %s %s"):format(texts[file], d.key)
    return d
end

function kernels.of(name, params)
    return kernels.job(APPS[name], params, "kernels.lua")
end

--- Core cycles of the last launch of a result.
function kernels.timed(r)
    local timed = r.kernels[#r.kernels]
    return timed["end"] - timed.start
end

return kernels
