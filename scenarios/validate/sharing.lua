--- sharing.lua - which cores share a level of TLBs: P100 and K80 beside Karnagel et
-- al.
--
-- One core loads `entries` addresses at a stride, again and again, while another one
-- does the same in memory of its own: where both are behind one TLB that holds the
-- entries of one and not of two, each takes longer.  Core 0 with every other core
-- gives its group; what the others' groups are follows from the table of the machine.
-- A P100's cores are numbered across its GPCs; here they are in order of groups, so its
-- numbers are taken in the order in which the figures' groups list them.
--
-- Columns: cycles of a load with a core of the group ("own") and with one of another.
--
-- quick: core 0 with some of the others, those of its group among them.
--
--     heddle run scenarios/validate/sharing.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"
local own = require "cards"
local kernels = require "kernels"

local LOADS = 1024

local arg = H.args(experiment.args {})

local v = common.open { name = "validate/sharing", arg = arg,
    source = "Karnagel et al., DaMoN 2017", title = "which cores share TLBs" }
local x = v.x

--- Card of the file, machine, pages, stride in kB, entries, use, and the cores that
-- quick takes besides core 0's group.
local SETS = {
    { "P100", "p100", "2M", 2048, 16, "fit", { 2, 4, 12 } },
    { "P100", "p100", "2M", 32768, 65, "fit", { 2, 4, 10, 20 } },
    { "K80", "k80", "64K", 128, 16, "fit", { 1, 5 } },
    { "K80", "k80", "64K", 2048, 65, "fit", { 1, 2, 6 } },
}

--- Numbers that a P100's cores have here, by its own.
local P100, cores_so_far = {}, 0
for _, row in ipairs(common.figures "tlb-sharing-sms.csv") do
    if row[1] == "P100" and row[2] == 32768 then
        for sm in tostring(row[5]):gmatch "%d+" do
            P100[tonumber(sm)], cores_so_far = cores_so_far, cores_so_far + 1
        end
    end
end

--- Core 0's group, and the medians over all groups: own - other.
local function measured(set)
    local group, steps = {}, {}
    for _, row in ipairs(common.figures "tlb-sharing-sms.csv") do
        if row[1] == set[1] and row[2] == set[4] and row[3] == set[5] then
            if row[4] == 0 then
                for sm in tostring(row[5]):gmatch "%d+" do
                    local core = tonumber(sm)
                    group[set[1] == "P100" and P100[core] or core] = true
                end
            end
            steps[#steps + 1] = row[6] - row[7]
        end
    end
    table.sort(steps)
    group[0] = nil
    return group, steps[(#steps + 1) // 2]
end

local jobs, at = {}, {}
for _, set in ipairs(SETS) do
    local machine = own.machine(set[2])
    local cores = math.tointeger(tonumber(machine:get "core.count"))
    set.group, set.step = measured(set)
    local take = {}
    for core = 1, cores - 1 do
        take[core] = x.full or set.group[core]
    end
    for _, core in ipairs(set[7]) do
        take[core] = true
    end
    for core = 1, cores - 1 do
        if take[core] then
            at[#at + 1] = { set, core }
            jobs[#jobs + 1] = { machine = machine, seed = arg.seed,
                settings = { ["vm.page"] = set[3] },
                apps = { kernels.of("chase", { bytes = set[4] * 1024 * set[5],
                    stride = set[4] * 1024, order = "stride", warm = 4 * set[5],
                    loads = LOADS, first = 0, second = core, cores = cores }) } }
        end
    end
end
for i, r in ipairs(x:run(jobs)) do
    local set, core = at[i][1], at[i][2]
    set.cycles = set.cycles or {}
    set.cycles[core] = kernels.timed(r) / LOADS
end

for _, set in ipairs(SETS) do
    local inside, outside, right, all = {}, {}, 0, 0
    local least = math.huge
    for _, c in pairs(set.cycles) do
        least = math.min(least, c)
    end
    for core, c in pairs(set.cycles) do
        local shares = c > least + set.step / 2
        table.insert(set.group[core] and inside or outside, c)
        all, right = all + 1, right + (shares == (set.group[core] or false) and 1 or 0)
    end
    table.sort(inside)
    table.sort(outside)
    local name = ("%s: %d entries, %g MB"):format(set[2], set[5], set[4] / 1024)
    local thin = not x.full and ("%d of the other cores"):format(all) or nil
    v:row { name .. ": cores rightly in or out of core 0's group", unit = "",
        measured = all, heddle = right, within = 0, use = set[6], thin = thin }
    if #inside > 0 then
        v:row { name .. ": own above other", unit = "cycles", measured = set.step,
            heddle = inside[(#inside + 1) // 2] - outside[(#outside + 1) // 2],
            tolerance = 0.15, use = set[6], thin = thin }
    end
end
local groups, values = {}, {}
for i, a in ipairs(at) do
    groups[i] = ("%s, %g MB: 0 and %d"):format(a[1][2], a[1][4] / 1024, a[2])
    values[i] = a[1].cycles[a[2]]
end
x:bars { title = "two cores at once, cycles a load", unit = "cycles", groups = groups,
    xlabel = "card, range of the loads: the two cores",
    series = { { name = "heddle", values = values } } }
x:say "Two cores at once, each a thread with a load after the other"
v:close()
