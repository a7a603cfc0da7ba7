--[[
913-faults.lua - far faults by the thousand, whose decisions are dice.

Pinned: whatever evict_victim, evict_trigger, page_prefetch, fault_batch and the
other points answer inside their rules, under sim.check no page is lost or there
twice (a watcher keeps its own list of what came and left), no fault waits for
itself, every run comes to its end and memory never holds more than it has.  Two
applications load and store a page a warp at a time, anywhere in more memory than
there is.  Each round draws its settings; some are run again from their middle.

    heddle run t/913-faults.lua faults=1000000 [seed=1]

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local dice = require "lib.dice"
local whole = require "lib.whole"
local H = require "heddle"
local k = require "heddle.kernel"

local A = H.args { faults = 6000, seed = 1 }

local state = A.seed
local function pick(list)
    state = state * 6364136223846793005 + 1442695040888963407
    return list[1 + (state >> 33) % #list]
end

local CHOICES = {
    ["evict.unit"] = { "4K", "64K", "2M", "tree" },
    ["evict.trigger"] = { "exhausted", "watermark" },
    ["evict.write_back"] = { "always", "dirty" },
    ["evict.overlap"] = { false, true },
    ["fault.transfer"] = { "page", "64K" },
    ["fault.batch"] = { 1, 8, 256 },
    ["fault.serial"] = { false, true },
    ["fault.replay"] = { "batch", "page" },
    ["fault.prefetch"] = { "none", "sequential", "locality", "random", "tree",
        "driver" },
    ["vm.page"] = { "4K", "4K", "64K" },
    ["link.latency"] = { 0, 1000, 20000 },
    ["walk.walkers"] = { 1, 64 },
}
local NAMES = {}
for name in pairs(CHOICES) do
    NAMES[#NAMES + 1] = name
end
table.sort(NAMES)

--- A warp loads or stores a word of one of `pages` pages, `n` times.
local function jumps(name, pages, n)
    return H.program(k.app {
        name = name, source = "this test",
        buffers = function() return { k.i32("m", pages * 1024) } end,
        kernels = function(_, b)
            return { k.kernel("jump", { grid = 48, block = 32 }, function(t)
                local x = t:var(t.gid // 32 * 2654435761 + 12345)
                t:loop(n, function()
                    x:set(x * 6364136223846793005 + 1442695040888963407)
                    t:load(b.m, x:lshr(33) % pages * 1024)
                    t:when((x:lshr(20) % 4):eq(0), function()
                        t:store(b.m, x:lshr(33) % pages * 1024 + 1, x)
                    end)
                end)
            end) }
        end,
    })
end

-- Throttling and warp order are other tests' (t/555); these would only be slow.
local NOT = { warp_limit = true, warp_pick = true, core_throttle = true,
    frame_place = true, page_size = true, core_partition = true,
    block_place = true }

--- Which pages are there, by what is told.
local function page(n, there, is)
    for i = 0, n.pages - 1 do
        local key = n.app << 40 | n.vpn + i
        assert((there[key] ~= nil) == is, is and "left twice" or "came twice")
        there[key] = not is or nil
    end
end
local SHADOW = {
    name = "shadow", state = { there = {} },
    watch = {
        page_arrived = function(n, s) page(n, s.there, false) end,
        page_evicted = function(n, s) page(n, s.there, true) end,
    },
}

local faults, rounds = 0, 0
while faults < A.faults do
    local settings, said = {}, {}
    for i, name in ipairs(NAMES) do
        settings[name] = pick(CHOICES[name])
        said[i] = ("%s=%s"):format(name, settings[name])
    end
    local frames = pick { 2048, 3000, 4096 }
    local more = whole.join(whole.SMALL, settings, { ["vm.paging"] = "fault",
        ["vm.round"] = true, ["vm.memory_bytes"] = 64 << 20,
        ["vm.table_frames"] = (64 << 8) - frames, ["sim.relaunch"] = false })
    local what = ("round %d, %d frames: %s"):format(rounds, frames,
        table.concat(said, " "))
    local why
    local ok, err = pcall(function()
        local sim <close> = whole.sim({ jumps("a", 4000, 40),
            jumps("b", 2500, 40) }, more, { check = true, seed = rounds })
        sim:use(SHADOW)
        if rounds % 4 > 0 then
            sim:use(dice(A.seed + rounds, NOT))
        end
        local snap, word
        repeat
            word = sim:run(50021)
            local c = sim:counters()
            snap = snap or c.evict.evictions > 50 and sim:snapshot()
        until word ~= "ok"
        sim:check()
        local told, there = 0, 0
        for _, unit in ipairs(sim:look "evict") do
            there = there + (unit.pages or 0)
        end
        for _, used in ipairs(sim:used()) do
            for _ in pairs(used.name == "shadow" and used.state.there or {}) do
                told = told + 1
            end
        end
        faults = faults + sim:counters().fault.faults
        if word ~= "done" then
            why = "it ended " .. word
        elseif told ~= there then
            why = ("%d pages are there, %d came and have not left"):format(
                there, told)
        elseif there > frames then
            why = "more than there is"
        elseif snap and rounds % 16 == 1 then
            why = whole.again(sim, snap, 1 << 40)
        end
    end)
    if not ok or why then
        tap.ok(false, what, why or err)
    end
    rounds = rounds + 1
    if not ok and rounds > 20 then
        break
    end
end
tap.ok(faults >= A.faults, ("%d rounds"):format(rounds), faults)
print(("# %d faults in %d rounds"):format(faults, rounds))
return tap.done()
