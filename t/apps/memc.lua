-- What MEMC at size T accesses, in closed form, its published footprints, and
-- figures of the original.
--
-- The look-ups are walked again here: which way holds a key, how many ways
-- agree in 8 bits, how many turns a warp takes for the locks that its lanes
-- share.  Steps of a warp are those of its slowest lane, an access is made
-- where one lane makes it.
--
-- Published are 11, 44, 176 and 1410 MB of table; the buffers of the 28 batches
-- in flight (4.8 MB) and the locks are added here.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"

-- What generate.memcached promises of a key: its set and its hash.
local function place(key, sets)
    local x = key + 0x9e3779b97f4a7c15
    x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
    x = (x ~ (x >> 27)) * 0x94d049bb133111eb
    x = x ~ (x >> 31)
    return x & (sets - 1), x >> 56
end

local function key_of(req, r)
    local at, key = 72 * r + 54, 0
    for j = 0, 3 do key = key + (req(at + 2 * j) << 8 * j) end
    return key
end

-- The accesses of a warp's look-ups of `wanted`, added to c.
local function look_up(c, wanted, valid, word, sets)
    local turns, most = {}, 0
    local probes, some = {}, {}
    for _, key in ipairs(wanted) do
        local set, hash = place(key, sets)
        turns[set] = (turns[set] or 0) + 1
        most = math.max(most, turns[set])
        for way = 0, 15 do
            local e = 16 * set + way
            probes[way] = true
            if valid(e) then
                some[way] = some[way] or {}
                some[way].hash = true
                if word(e, 4) == hash then
                    some[way].key = true
                    if word(e, 7) == key then
                        some[way].hit = true
                        break
                    end
                end
            end
        end
    end
    c.turns = c.turns + most
    for way in pairs(probes) do
        local s = some[way] or {}
        c.loads = c.loads + 1 + (s.hash and 1 or 0) + (s.key and 4 or 0)
            + (s.hit and 2 or 0)
        c.stores = c.stores + (s.hit and 2 or 0)
    end
end

-- The keys of a later wave; the first is in the buffer's data.
local function later(p, wave)
    local generate = require "heddle.generate"
    local n, seed, keys = 512 * p.batches, p.seed + 1000 * wave,
        (1 << p.h) * 4 // 5
    local rank = generate.zipf { n = n, keys = keys, s = p.s, seed = seed }
    local luck = generate.ints { n = n, lo = 0, hi = 99, seed = seed }
    return function(r)
        return rank[r] + (luck[r] < p.hits and 0 or keys)
    end
end

local function counts(p, instance)
    local table, req = instance.b.table.data, instance.b.req.data
    local function word(e, w) return table[42 * e + w] end
    local function valid(e) return word(e, 3) == 1 end
    local c = { turns = 0, loads = 0, stores = 0 }
    local looking = 16 * p.batches * p.waves -- warps
    for wave = 0, p.waves - 1 do
        local key = wave > 0 and later(p, wave) or function(r)
            return key_of(function(i) return req:byte(i + 1) end, r)
        end
        for warp = 0, 16 * p.batches - 1 do
            local wanted = {}
            for l = 0, 31 do wanted[l + 1] = key(32 * warp + l) end
            look_up(c, wanted, valid, word, (1 << p.h) // 16)
        end
    end
    return {
        ["get load req"] = looking * (2 * 16 + 3 + 8),
        ["get load lock"] = c.turns,
        ["get atomic lock"] = c.turns + looking,
        ["get load table"] = c.loads,
        ["get store table"] = c.stores,
        ["get store result"] = looking,
        ["get store resp"] = looking * 2 * 16,
    }, function(_, barriers)
        assert(barriers.get == 2 * looking * 4, "barriers")
    end
end

-- Distinct units of `size` bytes, and lanes, of an access.
local function spread(e, size)
    local seen, lanes, units = {}, 0, 0
    for l = 0, 31 do
        if e.mask >> l & 1 == 1 then
            local unit = e.addr[l] // size
            lanes = lanes + 1
            units = units + (seen[unit] and 0 or 1)
            seen[unit] = true
        end
    end
    return units, lanes
end

-- Lines of reading a key (72 bytes apart: 18), pages where all lanes look into
-- their sets, and the requests that find their key, in percent.  The pages
-- are those of keys that are equally popular: with Zipf's law lanes with one
-- popular key share a set, and the mean is 29.1.
local function figures()
    local survey = require "heddle.survey"
    local w = app.get "MEMC":workload { size = "M", batches = 8, waves = 1,
        s = 0 }
    local top = 168 << 18 -- end of the table
    local base = survey.buffers(w)[1].base
    local keys, lines, first, pages, found = 0, 0, 0, 0, 0
    survey.each(w, function(e)
        if e.kind == "load" and e.bytes == 2 then
            keys, lines = keys + 1, lines + spread(e, 128)
        elseif e.addr and e.addr[0] and e.addr[0] - base < top
            and e.kind == "load" then
            local units, lanes = spread(e, 4096)
            if lanes == 32 and e.bytes == 4 then
                first, pages = first + 1, pages + units
            end
        elseif e.kind == "store" and e.bytes == 4 then
            local _, lanes = spread(e, 4096)
            local at = next(e.addr)
            found = found + (e.addr[at] - base < top and lanes or 0)
        end
    end)
    return {
        { "lines of a key's bytes", lines / keys, 18 },
        { "pages of a look-up", pages / first, 32 },
        { "found, percent", 100 * found / 2 / 4096, 95 },
    }
end

return {
    counts = counts,
    -- MB of S, M, L and XL
    published = { 11 + 4.8, 44 + 4.9, 176 + 5.1, XL = 1410 + 6.9 },
    figures = figures,
}
