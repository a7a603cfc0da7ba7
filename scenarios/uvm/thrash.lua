--- uvm/thrash.lua - pages that go to and fro: the driver's control, and refaults.
--
-- No paper's figure: what the thrashing control of NVIDIA's UVM driver does, and
-- what it cannot see.  First a program whose host writes a part of a buffer
-- between two kernels that do the same, with and without it (driver): a page
-- is pinned after ten throttlings, and then used on the host; time is by round,
-- the fewer and the more there are.  Then programs in too little memory, where one GPU thrashes
-- against its own memory: the driver's control goes by moves between different
-- processors and leaves evictions out, so it detects nothing; the other counts
-- pages that migrate again after an eviction, and pins them on the host (refault).
--
--     heddle run scenarios/uvm/thrash.lua [scale=full] [programs=GUP,HS]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local k = require "heddle.kernel"
local uvm = require "common"

local arg = H.args(experiment.args { programs = "", size = "S" })
local full = arg.scale == "full"
local PROGRAMS = uvm.words(arg.programs, full
    and { "2DCONV", "HS", "BFS2", "ATAX", "MVT", "GUP" } or { "BFS2" })
local SHARES = full and { 125, 150, 200 } or { 200 }
local ROUNDS = full and { 10, 25, 50, 100, 200 } or { 10, 50 }
local PAGES = full and { 1, 16, 64 } or { 1, 16 }
local CONTROLS = { "none", "driver", "refault" }

local x = experiment.open { name = "uvm/thrash",
    source = "beyond ETC; NVIDIA's UVM driver, uvm_perf_thrashing.c",
    title = "pages that go to and fro", arg = arg }

--- Kernels that go over 4 MB, and write the first pages of it, as their host does
-- between two of them.
local function shared(pages, rounds)
    return H.program(k.app {
        name = ("shared %d %d"):format(pages, rounds),
        source = "a host that shares pages with the GPU", align = 2 << 20,
        buffers = function()
            return { k.i64("shared", pages * 512), k.i64("own", 1 << 19) }
        end,
        kernels = function(_, b)
            local step = k.kernel("step", { grid = 32, block = 128 }, function(t)
                t:when(t.gid:lt(pages), function()
                    local at = t.gid * 512
                    t:store(b.shared, at, t:load(b.shared, at) + 1)
                end)
                t:loop(8, function(j)
                    local v = t:load(b.own, j * 4096 + t.gid)
                    t:alu(4, { uses = { v } })
                end)
            end)
            local list = { step }
            for i = 2, rounds do
                list[i] = { step, host_writes = { b.shared } }
            end
            return list
        end,
    })
end

local function job(apps, control, o)
    local settings = { ["vm.page"] = "4K", ["fault.transfer"] = "page",
        ["fault.prefetch"] = "none", ["fault.thrashing"] = control,
        ["vm.paging"] = "fault", ["vm.table_frames"] = 4096,
        ["vm.memory_bytes"] = 1 << 30, ["sim.relaunch"] = false }
    for name, v in pairs(o) do
        settings[name] = v
    end
    return { machine = "etc", seed = arg.seed, apps = apps, settings = settings }
end

-- ---- a host and a GPU ------------------------------------------------------------

local MODES = { paper = {}, driver = { ["uvm.mode"] = "driver",
    ["uvm.perf_prefetch_enable"] = false } }
local jobs, of = {}, {}
for _, mode in ipairs { "paper", "driver" } do
    for _, pages in ipairs(PAGES) do
        for _, rounds in ipairs(ROUNDS) do
            for _, control in ipairs { "none", "driver" } do
                jobs[#jobs + 1] = job({ shared(pages, rounds) }, control,
                    MODES[mode])
                of[#jobs] = { mode, pages, rounds, control }
            end
        end
    end
end
local shares = x:run(jobs)
local rows = { { "mode", "pages", "rounds", "control", "us a round", "detected",
    "throttled", "pinned", "lines over the link" } }
local lines = { title = "Time a round, by rounds", xlabel = "rounds",
    unit = "us", series = {} }
local last, curve = {}, {}
for i, r in ipairs(shares) do
    local mode, pages, rounds, control = table.unpack(of[i])
    local us = r.cycles / 1020 / rounds
    local function count(name)
        return uvm.total(r, name) or 0
    end
    rows[#rows + 1] = { mode, pages, rounds, control, ("%.1f"):format(us),
        count "thrash.detected", count "thrash.throttled",
        count "thrash.pinned", count "remote.loads" + count "remote.stores" }
    local name = ("%s, %d page%s, %s"):format(mode, pages,
        pages == 1 and "" or "s", control)
    if not curve[name] then
        curve[name] = { name = name, x = {}, values = {} }
        lines.series[#lines.series + 1] = curve[name]
    end
    table.insert(curve[name].x, rounds)
    table.insert(curve[name].values, us)
    last[name] = us
end
for _, s in ipairs(lines.series) do
    x:quantity { ("time a round, %d rounds: %s"):format(ROUNDS[#ROUNDS], s.name),
        heddle = last[s.name], unit = "us" }
end

-- ---- a GPU and its memory ----------------------------------------------------------

jobs = {}
for i, name in ipairs(PROGRAMS) do
    jobs[i] = job({ H.app(name, { size = arg.size }) }, "none", {})
end
local whole = x:run(jobs)
jobs = {}
for i, name in ipairs(PROGRAMS) do
    for _, share in ipairs(SHARES) do
        local touched = uvm.total(whole[i], "fault.pages") * 4096
        for _, control in ipairs(CONTROLS) do
            jobs[#jobs + 1] = job({ H.app(name, { size = arg.size }) }, control, {
                ["vm.memory_bytes"] = 4096 * 4096
                    + touched * 100 // share // 65536 * 65536,
                ["evict.unit"] = "64K" })
        end
    end
end
local few = { { "program", "touched / memory", "control", "time", "MB migrated",
    "migrated again", "detected", "pinned", "lines over the link" } }
local chart = { groups = {}, series = {}, unit = "times",
    xlabel = "program, and memory, % of what it touches",
    title = "Time in too little memory, with memory for all as 1" }
for i, control in ipairs(CONTROLS) do
    chart.series[i] = { name = control, values = {} }
end
local mean, seen = {}, { driver = 0, refault = 0 }
for n, r in ipairs(x:run(jobs)) do
    local c = (n - 1) % #CONTROLS + 1
    local g = (n - 1) // #CONTROLS
    local p, share = g // #SHARES + 1, SHARES[g % #SHARES + 1]
    local time = r.cycles / whole[p].cycles
    local function count(name)
        return uvm.total(r, name) or 0
    end
    few[#few + 1] = { PROGRAMS[p], share .. " %", CONTROLS[c],
        ("%.2f"):format(time), ("%.1f"):format(count "fault.pages" / 256),
        count "evict.refaults", count "thrash.detected", count "thrash.pinned",
        count "remote.loads" + count "remote.stores" }
    chart.groups[g + 1] = ("%s, %d %%"):format(PROGRAMS[p], share)
    chart.series[c].values[g + 1] = time
    mean[share] = mean[share] or {}
    mean[share][c] = (mean[share][c] or 0.0) + time / #PROGRAMS
    if seen[CONTROLS[c]] then
        seen[CONTROLS[c]] = seen[CONTROLS[c]] + count "thrash.detected"
    end
end
for _, share in ipairs(SHARES) do
    for c, control in ipairs(CONTROLS) do
        x:quantity { ("mean time, memory of which %d %% is touched, %s"):format(
            share, control), heddle = mean[share][c], unit = "times" }
    end
end
x:quantity { "pages that the driver's control detects there", heddle =
    seen.driver, unit = "pages" }
x:quantity { "pages that refaults detect there", heddle = seen.refault,
    unit = "pages" }

x:table("a host and a GPU write the same pages", rows)
x:lines(lines)
x:table("a GPU in too little memory", few)
x:bars(chart)
x:say "the driver's control sees no page of a GPU alone: evictions are no events"
x:close()
