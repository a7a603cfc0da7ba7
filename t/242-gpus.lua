--[[
242-gpus.lua - several GPUs of one kind: H.sim { gpus =, link =, topology = }.

Pinned: the machine has so many times what a GPU has, and says of what; a link by name
gives its settings, with where they are from; a topology may be a list of pairs; what is
no number, link or topology is refused in words; settings are of the whole; each link is
listed and explained; a program runs on several of a card of today, whose levels of uTLBs
and halves of the L2 are each card's.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local whole = require "lib.whole"
local files = require "lib.files"
local H = require "heddle"
local index = require "heddle.index"

local function open(o)
    return H.sim(whole.join({ machine = "maxwell", apps = { H.app("GUP", { size = "T" }) } },
        o))
end

--- A setting as it is, and where that is from.
local function setting(sim, name)
    for _, s in ipairs(sim.resolved) do
        if s.name == name then
            return s.value, s.source
        end
    end
end

-- ---- the machine ----------------------------------------------------------------------

do
    local one <close> = open {}
    local four <close> = open { gpus = 4, link = "pcie3", topology = { { 0, 1 }, { 1, 2 },
        { 3, 2 } } }
    for _, name in ipairs { "core.count", "l2cache.slices", "l2cache.bytes",
        "dram.channels", "vm.memory_bytes" } do
        local value, source = setting(four, name)
        tap.is(value, tostring(4 * setting(one, name)), name .. " is of four")
        tap.ok(source:find "^of 4 GPUs; of one: %w", name .. " says so", source)
    end
    tap.is(setting(four, "l2tlb.entries"), setting(one, "l2tlb.entries"),
        "an L2 TLB is each GPU's")
    tap.is(setting(four, "fabric.nodes"), "4", "four nodes")
    tap.is(setting(four, "fabric.topology"), "0-1 1-2 3-2", "a list of pairs is a topology")
    local value, source = setting(four, "fabric.latency")
    tap.ok(value == "256" and source:find "^pcie3: .*Lutz", "a link is by its name", source)
    tap.is(setting(four, "fabric.header"), "24", "all of it")

    local small <close> = open { gpus = 2, settings = { ["core.count"] = 6,
        ["fabric.latency"] = 5 }, link = "nvlink4", topology = "ring" }
    tap.is(setting(small, "core.count"), "6", "settings are of the whole")
    tap.is(setting(small, "fabric.latency"), "5", "and come last")
    tap.is(setting(small, "fabric.bandwidth"), "450000000000", "beside the link's others")
    local link <close> = open { link = "c2c" }
    tap.is(setting(link, "fabric.nodes"), "1", "a link alone joins nothing")
    local same <close> = open { gpus = 1 }
    tap.is(setting(same, "core.count"), setting(one, "core.count"), "one is one")
end

for _, x in ipairs { { { gpus = 0 }, "gpus: a whole number of at least 1" },
    { { gpus = 1.5 }, "gpus: a whole number" }, { { gpus = "2" }, "gpus: a whole number" },
    { { gpus = 2, link = "nvlink33" }, "no link 'nvlink33'.*nvlink3.*known: nvlink2, " },
    { { gpus = 2, topology = { 1, 2 } }, "topology: pairs of nodes" },
    { { gpus = 2, topology = { { 0, "1" } } }, "topology: pairs of nodes" },
    { { gpus = 2, topology = { { 0, 2 } } }, "fabric.topology: 0%-2, but the nodes" },
    { { gpus = 2, topology = "star" }, "fabric.topology: 'star'" } } do
    local ok, err = pcall(open, x[1])
    tap.ok(not ok and err.message:find(x[2]), "refused: " .. x[2], ok or err.message)
end

-- ---- links ------------------------------------------------------------------------------

local rows = index.rows "interconnects"
tap.ok(#rows >= 8, "links are listed", #rows)
for _, row in ipairs(rows) do
    local lines = index.explain(row[1])
    tap.ok(lines and #lines == 5 and table.concat(lines, "\n"):find "fabric.bandwidth = %d",
        row[1] .. " is explained", lines and #lines)
    for i = 3, 5 do
        tap.ok(lines[i]:find "%l%l%l+[^=]*$", row[1] .. ": a source", lines[i])
    end
    local sim <close> = open { gpus = 2, link = row[1] }
    tap.is(setting(sim, "fabric.nodes"), "2", row[1] .. " joins two")
end

-- ---- the page of it ---------------------------------------------------------------------

do
    local dir = files.folder()
    local chart = dir .. "/scaling.svg"
    local text = files.output(files.HEDDLE .. " run scenarios/fabric/scaling.lua blocks=16 "
        .. "chart=" .. files.quote(chart))
    local of = {}
    for name, n, strong, far, weak, across in
        text:gmatch "(%l+)%s+(%d)%s+([%d.]+)%s+(%d+) %%%s+([%d.]+)%s+(%d+) %%" do
        of[name .. n] = { strong + 0, far + 0, weak + 0, across + 0 }
    end
    for _, n in ipairs { 1, 2, 4 } do
        local s, t, r = of["stream" .. n], of["transpose" .. n], of["random" .. n]
        tap.ok(s[1] > 0.8 * n and s[2] == 0 and s[3] > 0.95, "a stream scales by " .. n,
            table.concat(s, " "))
        local share = 100 - 100 // n
        tap.ok(math.abs(t[2] - share) < 8 and math.abs(r[4] - share) < 8,
            "of others all but 1 in " .. n .. " cross", t[2] .. " " .. r[4])
        tap.ok(n == 1 or t[1] < s[1] and r[3] < s[3], "and scale less", t[1])
    end
    local drawn = files.read(chart)
    tap.ok(drawn and drawn:find "transpose, weak", "and a chart")
    os.execute("rm -rf " .. files.quote(dir))
end

-- ---- cards ------------------------------------------------------------------------------

for _, card in ipairs { "a100", "p100" } do
    local sim <close> = H.sim { machine = card, gpus = 2, link = "nvlink3", check = true,
        apps = { H.app("MM", { size = "T" }) } }
    tap.is(sim:run(), "done", "two of " .. card)
    sim:check()
    local c = sim:counters()
    tap.ok(c.fabric.reads > 0 and sim:counters { instance = 1 }.walk.walks > 0,
        "both work", c.fabric.reads)
end

tap.done()
