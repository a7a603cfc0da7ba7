--- uvm/remote.lua - pages that are used in place, until migrating them pays.
--
-- No paper's figure; the question of Ganguly et al. (DATE 2020).  A page on the
-- host migrates when it is touched (migrate); never, its lines cross the link one by
-- one (remote); when its 2 MB have had 256 remote accesses (counters, the
-- driver's access counters with its defaults) or its 64 KB eight (delayed); or by
-- how full memory is and how often it was evicted (adaptive).  Pages are of 4 KB,
-- 64 KB migrate and are evicted together, a fault costs 45 us.  Time is set against
-- migration with memory for all.
--
--     heddle run scenarios/uvm/remote.lua [scale=full] [programs=GUP,HS]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local uvm = require "common"

local arg = H.args(experiment.args { programs = "", size = "S" })
local full = arg.scale == "full"
local PROGRAMS = uvm.words(arg.programs, full
    and { "2DCONV", "HS", "BFS2", "ATAX", "MVT", "GUP" } or { "BFS2" })
local SHARES = full and { 0, 125, 200 } or { 0, 200 } -- 0: memory for all
local COUNT = "uvm.perf_access_counter_"
local SMALL = { [COUNT .. "granularity"] = "64K" }
local DESIGNS = {
    { "migrate", {} },
    { "remote", { ["remote.access"] = "remote" } },
    { "counters", { ["remote.access"] = "remote",
        [COUNT .. "migration_enable"] = true } },
    { "delayed", SMALL, { use = "delayed" } },
    { "adaptive", SMALL, { use = "delayed", adapt = 1 } },
}

local x = experiment.open { name = "uvm/remote",
    source = "beyond ETC; Ganguly et al., DATE 2020",
    title = "pages that are used where they are", arg = arg }
x:say("size %s, pages of 4 KB, 64 KB migrate and are evicted together, 45 us a fault",
    arg.size)

local function memory(share)
    return share == 0 and "all" or share .. " %"
end

local chart = { unit = "times", xlabel = "program, and memory",
    title = "Time by where pages are used, migration with all memory as 1" }
local runs, mean = uvm.squeeze(x, { programs = PROGRAMS, size = arg.size,
    shares = SHARES, cases = DESIGNS, chart = chart,
    job = function(d)
        local settings = { ["vm.page"] = "4K", ["fault.transfer"] = "64K",
            ["fault.prefetch"] = "none", ["evict.unit"] = "64K",
            ["link.latency"] = 45000 }
        for k, v in pairs(d[2]) do
            settings[k] = v
        end
        return { settings = settings, policies = d[3] and { d[3] } or nil }
    end,
    label = function(name, share) return name .. ", " .. memory(share) end,
})

local rows = { { "program", "touched / memory", "design", "time", "faults",
    "MB migrated", "MB evicted", "lines over the link", "notifications" } }
for _, run in ipairs(runs) do
    local function count(name)
        return uvm.total(run.result, name) or 0
    end
    rows[#rows + 1] = { run.name, memory(run.share), run.case[1],
        ("%.2f"):format(run.value), count "fault.faults",
        ("%.1f"):format(count "fault.pages" / 256),
        ("%.1f"):format(count "evict.pages" / 256),
        count "remote.loads" + count "remote.stores",
        count "remote.notifications" }
end
for _, share in ipairs(SHARES) do
    for _, d in ipairs(DESIGNS) do
        x:quantity { ("mean time, memory %s, %s"):format(share == 0 and "for all"
            or "of which " .. share .. " % is touched", d[1]),
            heddle = mean[share][d[1]], unit = "times" }
    end
end
x:table("times as long as migration with memory for all", rows)
x:bars(chart)
x:close()
