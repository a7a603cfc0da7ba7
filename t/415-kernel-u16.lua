--[[
415-kernel-u16.lua - buffers of 2-byte elements, and accesses of 8 and 16
elements a lane.

Pinned: u16 comes back as 0 to 65535 from loads of neighbouring and of scattered
lanes, from what data gives as a list, a function, a number and bytes, after
stores, pokes and atomics, as the naive twin has it; a lane's access has 2 bytes,
or 16 with vec = 8; a warp of half elements touches half the lines; the host
reads and writes them; and what is refused.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local survey = require "heddle.survey"
local twin = require "heddle.twin"

local k = H.kernel
local N = 256
local got = {}

local function application(fn)
    return k.app { name = "half", buffers = function()
        return { k.u16("list", N, { data = { 1, -1, 65536, 70000.9 } }),
            k.u16("f", N, { data = function(i) return i * 1000 end }),
            k.u16("seven", N, { data = 7 }),
            k.u16("bytes", N, { data = ("\1\2"):rep(N) }),
            k.u16("bare", 1 << 16), k.u8("byte", 1 << 12),
            k.u16("out", 8 * N, { contents = true }),
            k.u16("s", N, { scratch = true }) }
    end, kernels = function(_, b)
        return { k.kernel("k", { grid = 1, block = N }, function(t)
            fn(t, b)
        end) }
    end, host = function(h)
        if h.launched == 0 then
            h.write(h.b.out, 7 * N, 65536 + 9)
            return h.kernels.k
        end
        got = {}
        for i = 0, 8 * N - 1 do got[i] = h.read(h.b.out, i) end
    end }
end

local function values(t, b)
    local i = t.tid
    local far = (i * 37):band(N - 1)
    t:store(b.out, i, t:load(b.list, i))
    t:store(b.out, N + i, t:load(b.f, far))
    t:store(b.out, 2 * N + i, t:load(b.seven, i) - 8)
    t:store(b.out, 3 * N + i, t:load(b.bytes, N - 1 - i))
    t:store(b.out, 4 * N + i, t:atomic("add", b.f, i:band(3), 30000))
    t:when((i % 2):eq(0), function()
        t:store(b.out, 5 * N + i // 2, i + 65530)
    end)
    t:poke(b.s, i, i * 300)
    t:sync()
    t:store(b.out, 6 * N + i, t:peek(b.s, far))
end

-- What a walk does, as text; runs of alu differ between the two.
local function text(list)
    return function(e)
        if not e.addr then return end
        local words = { e.kind, ("%x"):format(e.mask), e.bytes }
        for lane = 0, 63 do words[#words + 1] = e.addr[lane] end
        list[#list + 1] = table.concat(words, " ")
    end
end

for _, lanes in ipairs { 32, 64 } do
    local a, engine, naive = application(values), {}, {}
    local instance, workload = a:instance(), a:workload()
    local place = {}
    for i, b in ipairs(survey.buffers(workload)) do
        place[instance.buffers[i]] = b.base
    end
    survey.each(workload, text(engine), { lanes = lanes })
    local have = got
    twin.walk(instance, text(naive), { lanes = lanes, place = place })
    tap.is(table.concat(engine, "\n"), table.concat(naive, "\n"),
        lanes .. " lanes: accesses as the twin has them")
    local wrong
    for i = 0, 8 * N - 1 do
        if have[i] ~= got[i] then wrong = wrong or i end
    end
    tap.is(wrong, nil, lanes .. " lanes: and all values")
    tap.is(("%d %d %d %d"):format(have[0], have[1], have[2], have[3]),
        "1 65535 0 4464", lanes .. " lanes: a list is cut to 16 bits")
    tap.is(have[N + 1], 37000, lanes .. " lanes: a function")
    tap.is(have[2 * N], 65535, lanes .. " lanes: stores wrap")
    tap.is(have[3 * N], 0x201, lanes .. " lanes: bytes, the low one first")
    tap.is(have[7 * N], 9, lanes .. " lanes: the host writes them")
end

-- ---- what an access is -------------------------------------------------------

local function accesses(fn)
    local out = {}
    local a = application(function(t, b)
        t:when(t.tid:lt(32), function() fn(t, b) end)
    end)
    survey.each(a:workload(), function(e)
        if e.addr then
            out[#out + 1] = ("%d:%d"):format(e.bytes, e.addr[31] - e.addr[0])
        end
    end, { lanes = 32 })
    return table.concat(out, " ")
end
tap.is(accesses(function(t, b)
    t:load(b.bare, t.tid)
    t:store(b.bare, t.tid * 2)
    t:load(b.bare, t.tid * 8, { vec = 8 })
    t:load(b.byte, t.tid * 16, { vec = 16 })
    t:load(b.byte, t.tid * 8, { vec = 8 })
end), "2:62 2:124 16:496 16:496 8:248", "bytes of a lane, and from lane to lane")

-- ---- what is refused -----------------------------------------------------------

local function refused(fn, words, name)
    for _, part in ipairs { "415-kernel-u16.lua:", words } do
        tap.raises(function() application(fn):workload() end, part, name)
    end
end
refused(function(t, b) t:load(b.bare, 0, { vec = 16 }) end,
    "vec = 16 of u16 are 32 bytes; at most 16", "more than 16 bytes")
refused(function(t, b) t:load(b.bare, 0, { vec = 6 }) end,
    "vec is 1, 2, 4, 8 or 16, not 6", "no power of two")
refused(function(t, b) t:atomic("nand", b.f, 0, 1) end,
    "no operation 'nand' on u16", "no such atomic")
tap.raises(function()
    k.app { name = "bad", buffers = function()
        return { k.u16("x", 4, { data = { "a" } }) }
    end, kernels = function(_, b)
        return { k.kernel("k", { block = 1 }, function(t) t:load(b.x, 0) end) }
    end }:workload()
end, "buffer x: data: a number is expected, got a string", "no text as data")

tap.done()
