-- 600-config-settings.lua - pins: every setting has a meaning, a source and a
-- default that its own grammar reads back; a configuration written to a file
-- and read again is the same; unknown names suggest the nearest one; errors
-- in a file name its line; every value of every machine has a source and the
-- machine passes the checks.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local core = require "heddle.core"
local config = require "heddle.config"

local settings = core.settings()
tap.ok(#settings > 50, "there are settings")

local seen, bad = {}, {}
local c = core.config()
for _, s in ipairs(settings) do
    if seen[s.name] or not s.name:find("^%l%w*%.[%l%d_]+$")
        or s.meaning == "" or s.source == "" then
        bad[#bad + 1] = s.name
    end
    seen[s.name] = true
    local ok, err = pcall(function()
        local before = c:get(s.name)
        c:set(s.name, s.default)
        local after = c:get(s.name)
        assert(before == after, before .. " is not " .. after)
        c:set(s.name, after)
        assert(c:get(s.name) == after)
    end)
    if not ok then
        bad[#bad + 1] = s.name .. " (" .. tostring(err) .. ")"
    end
end
tap.is(table.concat(bad, " "), "",
    "every setting is named once, explained, sourced, and reads its default")

-- Numbers with a unit in their name or meaning say so in `unit`.
bad = {}
for _, s in ipairs(settings) do
    if s.type == "integer" and s.unit == ""
        and s.name:find("bytes$") then
        bad[#bad + 1] = s.name
    end
end
tap.is(table.concat(bad, " "), "", "numbers have units")

tap.raises(function()
    core.config():set("l1tlb.entires", "32")
end, "l1tlb.entries", "an unknown setting suggests the nearest")
tap.raises(function()
    core.config():set("vm.levels", "3")
end, "list settings vm.'", "or names the part's")
tap.raises(function()
    core.config():set("l1tlb.entries", "many")
end, "l1tlb.entries", "a value that is no number names the setting")
for _, v in ipairs { { "064", "64" }, { "0x40", "64" }, { "2K", "2048" } } do
    c:set("l1tlb.entries", v[1])
    tap.is(c:get("l1tlb.entries"), v[2], v[1] .. " is " .. v[2])
end
tap.raises(function()
    H.machine("maxwell") { ["l1tlb.entires"] = 32 }
end, "l1tlb.entries", "so does a machine")
tap.raises(function()
    H.machine("maxwel")
end, "maxwell", "an unknown machine suggests the nearest")

for _, name in ipairs { "dram.queue_silver", "dram.queue_golden" } do
    local shared = H.machine("maxwell") { [name] = 0 }
    config.build(shared.settings, true)
    tap.raises(function()
        config.build(shared { ["dram.queues"] = "apart" }.settings, true)
    end, name, "a queue of its own without a place: " .. name)
end

-- Machines.
local machines = require "heddle.machines"
local names = table.concat(machines.names(), " ")
tap.is(names, "maxwell maxwell-literal maxwell-crossbar aggressive maxwell-tu104 "
    .. "released released-maxwell mosaic mosaic-literal mosaic-crossbar etc "
    .. "mesc pichai fermi integrated accelsim-rtx2060 p100 v100 rtx2060 a100 h100 "
    .. "rtx4080 l40",
    "the machines of the papers are there")
do -- a name that a machine had
    local script, told = require "heddle.script", nil
    local warn = script.warn
    script.warn = function(r) told = r.told[1] end
    local m = H.machine "hardware"
    script.warn = warn
    tap.ok(told and told:find("maxwell-tu104", 1, true),
        "the former name of a machine is told", told)
    tap.is(m.name, "maxwell-tu104", "and is that machine")
    tap.same(m.settings, H.machine "maxwell-tu104".settings, "with its settings")
    tap.ok(table.concat(machines.explain "hardware", "\n"):find("called maxwell-tu104",
        1, true), "heddle explain says so, too")
end
for _, name in ipairs(machines.names()) do
    local m = H.machine(name)
    local missing = {}
    for setting, v in pairs(m.settings) do
        if not seen[setting] then
            missing[#missing + 1] = setting .. " (unknown)"
        elseif type(v[2]) ~= "string" or v[2] == "" then
            missing[#missing + 1] = setting
        end
    end
    table.sort(missing)
    tap.is(table.concat(missing, " "), "", name .. ": values have sources")
    local ok, err = pcall(config.build, m.settings, true)
    tap.ok(ok, name .. ": passes the checks", tostring(err))
end
-- Where a machine's value is from the one that it derives from, or nobody has
-- set it, its source says so; what names a paper is from the machine's own.
local PAPERS = { maxwell = "MASK Mosaic Power",
    ["maxwell-literal"] = "MASK", ["mosaic-literal"] = "Mosaic MASK",
    ["maxwell-crossbar"] = "MASK", ["mosaic-crossbar"] = "MASK",
    aggressive = "Pichai", ["maxwell-tu104"] = "",
    released = "release Mosaic", ["released-maxwell"] = "MASK",
    mosaic = "Mosaic", etc = "ETC", mesc = "MESC", pichai = "Pichai",
    fermi = "", integrated = "Power", ["accelsim-rtx2060"] = "",
    p100 = "", v100 = "", rtx2060 = "", a100 = "", h100 = "", rtx4080 = "", l40 = "" }
local function comes_from(preset, name)
    return preset.from and (preset.from == name
        or comes_from(machines.get(preset.from), name))
end
for _, name in ipairs(machines.names()) do
    local preset, wrong = machines.get(name), {}
    local own = config.flatten(preset.settings)
    local text = table.concat(machines.explain(name), "\n")
    for setting, v in pairs(H.machine(name).settings) do
        local as, rest = v[2]:match "^as (%l+): (.+)"
        if (as == nil) ~= (own[setting] ~= nil)
            or as and (not comes_from(preset, as) or rest
                ~= H.machine(as).settings[setting][2])
            or not text:find("\n  " .. setting .. " = " .. tostring(v[1]), 1,
                true) or not text:find(v[2], 1, true) then
            wrong[#wrong + 1] = setting
        end
        for _, paper in ipairs { "MASK", "Mosaic", "ETC", "MESC", "Pichai",
            "Power" } do
            if not as and v[2]:find("^" .. paper)
                and not PAPERS[name]:find(paper, 1, true) then
                wrong[#wrong + 1] = setting .. ": " .. v[2]
            end
        end
    end
    table.sort(wrong)
    tap.is(table.concat(wrong, "\n"), "", name .. ": sources are its own, or "
        .. "name the machine that they are of; heddle explain prints them")
end
tap.is(H.machine("pichai").settings["core.alu_latency"][2],
    "as maxwell: MASK table 1: a 9-stage pipeline", "so it reads")
for _, s in ipairs(config.resolve(H.machine("pichai").settings)) do
    if s.name == "xbar.bytes" then
        tap.ok(s.source:find "^default: %a", "and what nobody set", s.source)
    end
end
do -- virtually indexed: a set is found by the address within a page alone
    local m = H.machine "pichai"
    local function of(name)
        return tonumber(m:get("l1cache." .. name))
    end
    tap.is(m:get "l1cache.order", "beside", "pichai: L1 beside its TLB")
    tap.ok(of "bytes" / of "ways" <= 4096 and of "bytes"
        == of "ways" * of "line" * 32, "with 32 sets of 128 B, a base page")
end
tap.is(H.machine("etc"):get("core.count"), "30", "machines derive")
tap.is(H.machine("mesc"):get("core.count"), "16", "and differ")

-- What their DRAM carries at most, in GB/s a channel: 64 bits at two transfers
-- a cycle, and GDDR5 at four.
for _, v in ipairs { { "mesc", "16.0" }, { "integrated", "12.8" },
    { "maxwell", "107.1" }, { "mosaic", "107.1" }, { "fermi", "29.6" },
    { "released", "14.8" }, { "released-maxwell", "59.1" },
    { "pichai", "12.8" }, { "accelsim-rtx2060", "28.0" }, { "p100", "11.4" },
    { "v100", "14.0" }, { "rtx2060", "28.0" }, { "a100", "25.5" }, { "h100", "21.0" },
    { "rtx4080", "44.8" }, { "l40", "36.0" } } do
    local m = H.machine(v[1])
    tap.is(("%.1f"):format(m:get("dram.bus_bytes") * m:get("clock.dram")
        / m:get("dram.bl") / 1e9), v[2], v[1] .. ": peak of a channel")
end
-- And what all channels of a card carry is what its data sheet says.
for _, v in ipairs { { "p100", 732 }, { "v100", 898 }, { "rtx2060", 336 },
    { "a100", 2039 }, { "h100", 3352 }, { "rtx4080", 717 }, { "l40", 864 } } do
    local m = H.machine(v[1])
    tap.is(("%.0f"):format(m:get("dram.bus_bytes") * m:get("clock.dram")
        / m:get("dram.bl") * m:get("dram.channels") / 1e9), tostring(v[2]),
        v[1] .. ": peak of its DRAM, GB/s")
end

-- The width of DRAM and the path from a core to the L2 decide what a machine says of
-- translation: which of these settings a machine states, and which it has from the
-- one that it derives from, in parentheses.
local OF_MEMORY = { "dram.bus_bytes", "xbar.latency", "walk.latency",
    "walk.memory_latency", "l2cache.queue_latency", "pwc.latency", "core.issue" }
local STATED = {
    maxwell = "128 8 8 1 85 10 1",
    ["maxwell-literal"] = "(128) 8 8 (1) 0 (10) (1)",
    ["maxwell-crossbar"] = "(128) 50 50 1 0 (10) (1)",
    aggressive = "(128) 8 10 0 0 (10) (1)",
    ["maxwell-tu104"] = "32 95 112 60 0 (10) (1)",
    released = "32 8 0 0 85 85 2",
    ["released-maxwell"] = "128 (8) (0) (0) (85) (85) (2)",
    mosaic = "(128) (8) (8) (1) (85) (10) 2",
    ["mosaic-literal"] = "(128) 8 8 (1) 0 (10) (2)",
    ["mosaic-crossbar"] = "(128) 50 50 1 0 (10) (2)",
    etc = "128 8 8 1 85 10 (1)",
    mesc = "64 50 10 0 0 10 1",
    pichai = "32 50 0 0 0 (10) 1",
    fermi = "64 8 8 1 85 (10) 1",
    integrated = "64 50 10 0 0 10 1",
    ["accelsim-rtx2060"] = "32 1 (8) (1) 194 (10) 1",
    p100 = "(32) 130 0 33 0 10 1",
    v100 = "(32) 76 0 33 0 10 1",
    rtx2060 = "(32) 75 0 33 0 10 1",
    a100 = "(32) 71 0 33 0 10 1",
    h100 = "(32) 76 0 33 0 10 1",
    rtx4080 = "(32) 101 0 33 0 10 1",
    l40 = "(32) 101 0 33 0 10 1",
}
for _, name in ipairs(machines.names()) do
    local own = config.flatten(machines.get(name).settings)
    local m, got = H.machine(name), {}
    for i, setting in ipairs(OF_MEMORY) do
        got[i] = (own[setting] and "%s" or "(%s)"):format(m:get(setting))
    end
    tap.is(table.concat(got, " "), STATED[name], name .. ": memory and paths to it")
end
local nested = H.machine("maxwell") { l1tlb = { entries = 32 } }
tap.is(nested:get("l1tlb.entries"), "32", "settings can be nested")
tap.is(nested { ["l1tlb.ways"] = 4 }:get("l1tlb.entries"), "32",
    "a derived machine derives")
tap.is(H.machine("maxwell"):get("l1tlb.entries"), "64",
    "what it derives from stays")

-- Designs state what differs.
tap.is(H.designs.pwcache(H.machine("maxwell")):get("l2tlb.mode"), "off",
    "PWCache has no L2 TLB")
tap.is(H.designs.sharedtlb(H.machine("etc")):get("pwc.mode"), "off",
    "SharedTLB has no walk cache")
tap.is(H.designs.ideal(H.machine("maxwell")):get("l1tlb.latency"), "1",
    "Ideal keeps the latency of the L1 TLB")

-- Writing and reading.
local path = os.tmpname()
local m = H.machine("mosaic") { ["l2tlb.entries"] = 1024 }
H.config_write(path, m)
local back = H.config_read(path)
local a, b = config.resolve(m.settings), config.resolve(back.settings)
local differences = {}
for i = 1, #a do
    if a[i].value ~= b[i].value or a[i].source ~= b[i].source then
        differences[#differences + 1] = a[i].name
    end
end
tap.is(table.concat(differences, " "), "",
    "a configuration written and read back is the same, with its sources")
local second = os.tmpname()
H.config_write(second, back)
local function text(p)
    return (files.read(p):gsub("^[^\n]*\n", ""))
end
tap.is(text(second), text(path), "and writes the same text")

local function file(content)
    files.write(path, content)
end
file("# a comment\n\ncore.count = 4\ncore.cuont = 5\n")
tap.raises(function()
    H.config_read(path)
end, path .. ":4: ", "an unknown setting in a file names its line")
tap.raises(function()
    H.config_read(path)
end, "core.count", "and the nearest one")
file("core.count = 4\ncore.issue = 1\ncore.count = 5\n")
tap.raises(function()
    H.config_read(path)
end, path .. ":3: core.count is also set in line 1", "one setting twice is an error")
file("core.count 4\n")
tap.raises(function()
    H.config_read(path)
end, path .. ":1: ", "a line without = is named")
file("core.cuont = 5\ncore.count = 4\ncore.issue = x\nrubbish\n")
do
    local ok, why = pcall(H.config_read, path)
    why = tostring(why)
    tap.ok(not ok and why:find(path .. ":1: ", 1, true)
        and why:find("\n" .. path .. ":3: ", 1, true)
        and why:find("\n" .. path .. ":4: ", 1, true), "all of them are", why)
end
os.remove(path)
os.remove(second)
tap.raises(function()
    H.config_read(path)
end, path, "a missing file is named")

do -- a table that holds itself, as modules do, is no group of settings
    local deep = { l2tlb = {} }
    deep.l2tlb.again = deep
    local ok, why = pcall(H.machine "maxwell".with, H.machine "maxwell", deep)
    tap.ok(not ok and tostring(why):find "l2tlb.again: a value is expected",
        "a group inside a group", why)
end

do
    local function with(changes)
        return function() H.machine "maxwell" (changes) end
    end
    local wrong = with { ["l2tlb.entires"] = 1, core = { count = "many",
        lanes = 32, cuont = {} }, ["vm.page"] = { "4M", "x" } }
    local ok, first = pcall(wrong)
    first = tostring(first)
    local at = 0
    for _, name in ipairs { "core.count", "core.cuont: a value is expected, "
        .. "not a table", "l2tlb.entries", "vm.page" } do
        at = at and first:find(name, at + 1, true)
    end
    tap.ok(not ok and at, "wrong settings are named together, in order", first)
    tap.raises(with { ["core.count"] = { { 1 } } },
        "core.count: a value is expected, not a table",
        "a table for a value")
    local own = {}
    own.own = own
    tap.raises(with(own), "own.own: a value is expected",
        "a table that holds itself")
    own.own = nil
    own["core.count"] = { own }
    tap.raises(with(own), "core.count: a value is expected",
        "also as a value with its source")
end

return tap.done()
