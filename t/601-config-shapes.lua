-- 601-config-shapes.lua - pins: the sets and ways that a configuration says its
-- TLBs and caches come to are those that are built, of every machine and of odd
-- ones; where they are not what was set, the configuration, the results and
-- `heddle explain` say it, and nowhere else; a configuration written with such
-- comments, of a simulation too, is read back as it was.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local config = require "heddle.config"
local index = require "heddle.index"

local function sim(machine)
    return H.sim { machine = machine, progress = false,
        apps = { H.app("NN", { size = "T" }) } }
end

--- Name, copies, sets and ways of each structure, as lines.
local function told(machine)
    local out = {}
    for _, s in ipairs(config.build(machine.settings):shapes()) do
        out[#out + 1] = ("%s %d %d %d"):format(s.name, s.copies, s.sets, s.ways)
    end
    table.sort(out)
    return table.concat(out, "\n")
end

--- The sizes as a policy of each of them is told.
local function built(machine)
    local out = {}
    machine = H.machine(machine)
    local s <close> = sim(machine)
    for _, at in ipairs(require("heddle.policy").offered(s.core).repl_victim) do
        local shape
        s:use({ name = "look." .. at, repl_victim = function() end,
            init = function(state, _, place)
                state.shape = ("%s %d %d %d"):format(place.at,
                    place.instances, place.sets, place.ways)
            end }, { at = at })
        for _, used in ipairs(s:used()) do
            shape = used.name == "look." .. at and used.state.shape or shape
        end
        if at ~= "l1cache" and at ~= "l1tlb"
            or machine:get(at .. ".mode") ~= "off" then
            out[#out + 1] = shape
        end
    end
    table.sort(out)
    return table.concat(out, "\n")
end

local function rounded(machine)
    local out = {}
    for i, r in ipairs(config.rounded(config.build(machine.settings))) do
        out[i] = config.rounded_text(r)
    end
    return table.concat(out, "\n")
end

local L2 = "l2cache: 2088960 of the 2097152 bytes that are set: "
    .. "85 sets of 16 ways in each of 12 slices"
for _, name in ipairs(H.machines.names()) do
    local m = H.machine(name)
    tap.is(told(m), built(m), name .. ": as it is built")
    local of_mosaic = name:find "^mosaic" ~= nil
    tap.is(rounded(m), of_mosaic and L2 or "",
        name .. ": what is not as it was set")
    local text = table.concat(index.explain(name), "\n")
    tap.is(text:find("that are set", 1, true) ~= nil, of_mosaic,
        name .. ": heddle explain says as much")
end

local odd = H.machine("maxwell") { ["core.count"] = 3,
    ["l1cache.bytes"] = 5000, ["l2cache.bytes"] = 100000,
    ["l2cache.ways"] = 3, ["pwc.mode"] = "full", ["pwc.entries"] = 6,
    ["l1tlb.entries"] = 12, ["l1tlb.ways"] = 4, ["l2tlb.large_entries"] = 9,
    ["bypass.entries"] = 7, ["l1tlb.large_entries"] = 6,
    ["l1tlb.large_ways"] = 2 }
tap.is(told(odd), built(odd), "an odd one, too")
local WORDS = "pwc: 6 of the 6 entries that are set: 1 set of 6 ways, not 16\n"
    .. "l1cache: 4608 of the 5000 bytes that are set: 9 sets of 4 ways\n"
    .. "l2cache: 98304 of the 100000 bytes that are set: 16 sets of 3 ways in "
    .. "each of 16 slices"
tap.is(rounded(odd), WORDS, "what it comes to")
local many = odd { ["walk.per_core"] = true }
tap.is(told(many), built(many), "and with units in the cores")
local none = odd { ["l2cache.mode"] = "off", ["pwc.mode"] = "off",
    ["l1cache.mode"] = "ideal" }
tap.is(rounded(none), "", "what is not there is not rounded")

-- Results and files.
local s <close> = sim(odd)
s:run()
local r = s:results()
tap.is(#r.rounded, 3, "results tell it")
tap.is(r.rounded[3].size, 98304, "in numbers")
tap.ok(H.report.format(r):find("\n  " .. WORDS:gsub("\n", "\n  "), 1, true),
    "and in words")
local plain <close> = sim "maxwell"
plain:run(100)
tap.is(plain:results().rounded, nil, "but not where all is as it was set")

local path, again = os.tmpname(), os.tmpname()
local function text(p)
    local f <close> = assert(io.open(p))
    return f:read "a"
end
H.config_write(path, s)
tap.ok(text(path):find("\n# " .. WORDS:gsub("\n", "\n# "), 1, true),
    "a configuration has it in comments", text(path))
local back = H.config_read(path)
H.config_write(again, back)
tap.is((text(again):gsub("^[^\n]*\n", "")), (text(path):gsub("^[^\n]*\n", "")),
    "and is read back as it was")
H.config_write(again, odd)
tap.is(text(again), text(path), "a machine's is that of its simulation")
local t <close> = sim(back)
t:run()
tap.ok(not whole.difference(whole.statistics(s), whole.statistics(t)),
    "and measures the same")
os.remove(path)
os.remove(again)

return tap.done()
