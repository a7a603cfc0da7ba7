--[[
416-kernel-mix.lua - atomics on scratch buffers: what blocks do in shared memory.

Pinned: all lanes that meet in one element count, in ascending order, and get what
was there before them; every operation on ints, floats and bytes, with compare and
swap, is the naive twin's, in warps of 32 and 64, also where only some lanes act
and the result is not used; a histogram of a block by way of a scratch buffer is
that of its input; it is one instruction, which waits for what its operands come
from; regrouped threads do the same; and what is refused.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local survey = require "heddle.survey"
local twin = require "heddle.twin"

local k = H.kernel
local N, BINS = 256, 16
local got

local function application(fn)
    return k.app { name = "mix", buffers = function()
        return { k.i32("x", 4 * N, { data = function(i)
                return i * 2654435761 >> 7 & 0xff
            end }),
            k.f32("bare", N), k.i64("out", 8 * N, { contents = true }),
            k.i64("wide", N, { scratch = true }),
            k.u8("small", N, { scratch = true }),
            k.f32("f", N, { scratch = true }),
            k.u32("hist", 4 * BINS, { scratch = true }) }
    end, kernels = function(_, b)
        return { k.kernel("k", { grid = 4, block = N }, function(t)
            fn(t, b)
        end) }
    end, host = function(h)
        if h.launched == 0 then return h.kernels.k end
        got = {}
        for i = 0, 8 * N - 1 do got[i] = h.read(h.b.out, i) end
    end }
end

local OPS = { "add", "min", "max", "and", "or", "xor", "exch" }

local function all(t, b)
    local i, x = t.tid, t:load(b.x, t.gid)
    t:when(t.block:eq(0), function()
        local sum = t:var(0)
        for n, op in ipairs(OPS) do
            local old = t:atomic(op, b.wide, i // 5, x * n - 40)
            t:when((i % 3):eq(n % 3), function()
                old = old + t:atomic(op, b.small, (i * n):band(7), x)
                t:atomic(op, b.wide, i // 7)
            end)
            if op == "add" or op == "min" or op == "max" or op == "exch" then
                sum:set(sum + t:atomic(op, b.f, i // 9, x + 0.5):int())
            end
            sum:set(sum * 3 + t:atomic("cas", b.wide, i // 4, i, x))
        end
        t:store(b.out, i, sum)
        t:sync()
        t:store(b.out, N + i, t:peek(b.wide, i))
        t:store(b.out, 2 * N + i, t:peek(b.small, i))
        t:store(b.out, 3 * N + i, t:peek(b.f, i):int())
    end)
end

local function histogram(t, b)
    t:atomic("add", b.hist, t.block * BINS + t:load(b.x, t.gid) // 16)
    t:sync()
    t:when(t.tid:lt(BINS), function()
        local at = t.block * BINS + t.tid
        t:store(b.out, at, t:peek(b.hist, at))
    end)
end

local function numbers() return table.concat(got, " ", 0, 8 * N - 1) end

local function walked(fn, lanes)
    local a, n = application(fn), 0
    survey.each(a:workload(), function(e)
        n = n + (e.kind == "alu" and e.n or 1)
    end, { lanes = lanes })
    return numbers(), n
end

for _, lanes in ipairs { 32, 64 } do
    local have, n = walked(all, lanes)
    local m = 0
    twin.walk(application(all):instance(), function(e) m = m + e.n end,
        { lanes = lanes })
    tap.is(have, numbers(), lanes .. " lanes: the twin's values")
    tap.is(n, m, lanes .. " lanes: and as many instructions")
end

-- ---- a histogram ---------------------------------------------------------------

local function check_histogram(how)
    local want, wrong = {}, nil
    for i = 0, 4 * N - 1 do
        local bin = i // N * BINS + (i * 2654435761 >> 7 & 0xff) // 16
        want[bin] = (want[bin] or 0) + 1
    end
    for i = 0, 4 * BINS - 1 do
        if got[i] ~= (want[i] or 0) then wrong = wrong or i end
    end
    tap.is(wrong, nil, how .. ": the bins of every block")
end

for _, lanes in ipairs { 32, 64 } do
    walked(histogram, lanes)
    check_histogram(lanes .. " lanes")
end
for _, compact in ipairs { false, true } do
    local sim = H.sim { machine = "maxwell", progress = false,
        apps = { H.program(application(histogram)) },
        settings = { ["core.compact"] = compact } }
    sim:run()
    check_histogram("core.compact = " .. tostring(compact))
end

-- ---- what it costs --------------------------------------------------------------

local function instructions(fn)
    local sim = H.sim { machine = "maxwell", progress = false,
        apps = { H.program(application(function(t, b)
            t:when(t.block:eq(0), function() fn(t, b) end)
        end)) } }
    sim:run()
    return sim.instructions, sim.cycles
end
local none = instructions(function() end)
local one = instructions(function(t, b) t:atomic("add", b.hist, 0) end)
local shared = instructions(function(t) t:shared(1) end)
tap.is(one, shared, "one instruction")
tap.ok(one > none, "and not none")
local _, late = instructions(function(t, b)
    t:atomic("add", b.hist, t:load(b.bare, t.tid):int())
end)
local _, uses = instructions(function(t, b)
    t:shared(1, { uses = { t:load(b.bare, t.tid) } })
end)
tap.is(late, uses, "it waits for what its index comes from")

-- ---- what is refused -----------------------------------------------------------

local function refused(fn, words, name)
    for _, part in ipairs { "416-kernel-mix.lua:", words } do
        tap.raises(function() application(fn):workload() end, part, name)
    end
end
refused(function(t, b) t:load(b.hist, 0) end,
    "t:load: buffer hist is scratch; use t:peek, t:poke and t:atomic",
    "no access of memory")
refused(function(t, b) t:atomic("or", b.f, 0, 1) end,
    "no operation 'or' on f32", "no bits of floats")
refused(function(t, b) t:atomic("cas", b.hist, 0, 1) end,
    "cas, and only cas, has a value to compare", "nothing to compare with")
tap.raises(function()
    walked(function(t, b) t:atomic("add", b.hist, t.tid) end, 32)
end, "index 64 of buffer hist", "an index outside")

tap.done()
