-- 851-answers.lua - pins: a policy that answers every point at random, within
-- the rules, breaks nothing: the run ends under sim.check, every translation
-- is the page table's, nothing is lost, and it is the same after a snapshot
-- and restore and in pieces.  The policies' random numbers are their state.
-- With seed= and n= it looks further.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local args = H.args { seed = 1, n = 8 }

--- The next number below n of a policy's own stream.
local function draw(s, n)
    s.x = s.x * 6364136223846793005 + 1442695040888963407
    return (s.x >> 33) % n
end

--- A random member of a bit set.
local function member(s, set)
    local n = 0
    for b = 0, 63 do
        n = n + (set >> b & 1)
    end
    local k = draw(s, n)
    for b = 0, 63 do
        if set >> b & 1 == 1 then
            if k == 0 then
                return b
            end
            k = k - 1
        end
    end
end

-- What the rules of points.def do not say by kind and limit.
local SPECIAL = {
    frame_place = function() return nil end,
    core_partition = function(q) return q.core % q.apps end,
    -- Mostly, so that there is something to split.
    coalesce = function(_, s) return draw(s, 4) > 0 end,
    warp_pick = function(q, s)
        return member(s, q.ready) + 64 * draw(s, 2)
    end,
    fault_batch = function(q, s)
        return q.serving == 0 and 1 + draw(s, q.n) or draw(s, q.n + 1)
    end,
    -- Never all at once for long: an answer holds for a while.
    warp_limit = function(_, s)
        return draw(s, 1 << 31) << 32 | draw(s, 1 << 31) << 1
            | draw(s, 2)
    end,
}

local function policy(seed, skip)
    local out = { name = "dice", state = { x = seed },
        every = { 700, function() end } } -- tokens is asked at epochs
    for _, p in ipairs(require("heddle.core").points()) do
        local kind, limit, words = p.answer, p.limit, {}
        local first = 0 -- positions in an array of the question count from 1
        for _, field in ipairs(p.fields) do
            first = field.count == limit and 1
                or first
        end
        for w in limit:gmatch("[^|]+") do
            words[#words + 1] = w
        end
        local fn = SPECIAL[p.name]
        if not fn then
            fn = function(q, s)
                if draw(s, 4) == 0 and kind ~= "NONE" then
                    return nil
                elseif kind == "BOOL" then
                    return draw(s, 2) == 1
                elseif kind == "CHOICE" then
                    return words[draw(s, #words) + 1]
                elseif kind == "INDEX" then
                    return draw(s, q[limit]) + first
                elseif kind == "VALUE" then
                    return draw(s, q[limit] + 1)
                end
            end
        end
        if not skip[p.name] then
            out[p.name] = fn
        end
    end
    return out
end

local LOADS = {
    { "GUP", "MM" }, { "BFS2" }, { "HS" }, { whole.random(4, 4, 4), "TRD" },
    { whole.column(4, 8, "store", 32) }, { whole.freer(700, 24) },
}

local SETTINGS = {
    whole.join(whole.SMALL, { ["walk.walkers"] = 1, ["l1tlb.entries"] = 2,
        ["l2tlb.entries"] = 16 }),
    whole.join(whole.SMALL, { ["bypass.entries"] = 4, ["pwc.mode"] = "full",
        ["pwc.style"] = "prefix", ["pwc.entries"] = 8, ["pwc.ways"] = 2,
        ["walk.walkers"] = 1 }),
    whole.join(whole.SMALL, { ["walk.walkers"] = 1, ["dram.queue"] = 4,
        ["l1cache.write"] = "back", ["pwc.mode"] = "full" }),
    whole.join(whole.SMALL, { ["walk.per_core"] = true,
        ["l1tlb.blocking"] = "full", ["dram.page"] = "closed" }),
    whole.join(whole.SMALL, { ["vm.paging"] = "fault",
        ["link.latency"] = 1500, ["vm.page"] = "64K" }),
}

local bad, points = {}, {}
for i = 1, args.n do
    local seed = args.seed * 1000 + i
    local names = LOADS[i % #LOADS + 1]
    local settings = whole.join(SETTINGS[i % #SETTINGS + 1],
        { ["sim.stuck_cycles"] = 1000000, ["sim.seed"] = seed })
    -- Every other time without the schedulers, which slow everything down.
    local skip = i % 2 == 0 and { warp_limit = true, warp_pick = true } or {}
    skip.alloc = names == LOADS[#LOADS] -- of 4 KB pages, or none coalesce
    local ok, err = pcall(function()
        local sim <close> = whole.sim(names, settings, { check = true })
        sim:use(policy(seed, skip))
        local word, snap = sim:run(1 + seed * 37 % 2000), nil
        if word == "ok" then
            snap = sim:snapshot()
            word = sim:run()
        end
        assert(word == "done", word)
        sim:check()
        for name, v in pairs(sim:counters().policy) do
            points[name] = (points[name] or 0) + v
        end
        local d = snap and whole.again(sim, snap, 993)
        assert(not d, "another end after the restore:\n" .. tostring(d))
    end)
    if not ok then
        bad[#bad + 1] = ("run %d of seed %d, %s: %s"):format(i, args.seed,
            tostring(names[1]), tostring(type(err) == "table" and err.message
            or err))
    end
end
tap.ok(#bad == 0, args.n .. " runs with dice for a policy", table.concat(bad,
    "\n"))
local silent = {}
for _, p in ipairs(require("heddle.core").points()) do
    if points[p.name .. ".asked"] == 0 then
        silent[#silent + 1] = p.name
    end
end
tap.ok(#silent == 0, "every point was asked", table.concat(silent, " "))

tap.done()
