--[[
734-scenarios-mosaic.lua - the experiments of scenarios/mosaic at scale=quick.

Pinned: each runs, prints quantities beside the paper's and how many agree,
leaves JSON that says the same, its charts, and a row a quantity in the
database; every file of the folder is run.  Runs that several need happen once:
a second run simulates nothing and says the same; `with` changes the machine and
what is found; memory shrinks with footprints.  What the numbers are is told by
the scenarios and not asserted here.
]]
local tap = require "lib.tap"
local json = require "heddle.json"
local process = require "heddle.process"
local sqlite = require "heddle.sqlite"
local HEDDLE = os.getenv "HEDDLE" or "build/release/heddle"

local DIR = os.tmpname()
os.remove(DIR)

--- Modules, not experiments.
local OTHER = { common = true, fragment = true, speedup = true, sweep = true }

local function command(line)
    local f = assert(io.popen(line .. " 2>&1"))
    local text = f:read "a"
    return f:close(), text
end

local function read(path)
    local f = io.open(path, "rb")
    local text = f and f:read "a"
    if f then
        f:close()
    end
    return text
end

local function run(name, words)
    return command(("%s run scenarios/mosaic/%s.lua scale=quick jobs=2 out=%s "
        .. "cache=%s/cache %s"):format(HEDDLE, name, DIR, DIR, words or ""))
end

local names = {}
for path in select(2, command "ls scenarios/mosaic"):gmatch "(%S+)%.lua" do
    if not OTHER[path] then
        names[#names + 1] = path
    end
end
tap.ok(#names >= 13, "experiments of Mosaic")

process.mkdir(DIR)
local said = {}
for _, name in ipairs(names) do
    local ok, text = run(name)
    tap.ok(ok, name .. " runs", text)
    said[name] = text:gsub("%d+ simulations run.*", "")
    local good, all = text:match "(%d+) of (%d+) agree"
    local doc = json.decode(read(("%s/mosaic/%s.json"):format(DIR, name))
        or "{}")
    tap.ok(doc.name == "mosaic/" .. name and doc.scale == "quick"
        and doc.agree == tonumber(good) and doc.counted == tonumber(all)
        and #doc.quantities > 0, name .. ": JSON says what is printed", text)
    local missing = {}
    for _, chart in ipairs(doc.charts or {}) do
        local path = ("%s/mosaic/%s"):format(DIR, chart.file)
        if not (read(path) or ""):find "</svg>" then
            missing[#missing + 1] = path
        end
    end
    tap.ok(#missing == 0 and #(doc.charts or {}) > 0, name .. ": charts",
        table.concat(missing, " "))
    local rows
    do
        local db <close> = sqlite.open(DIR .. "/results.sqlite")
        rows = db:exec("select * from quantity where experiment = ?",
            "mosaic/" .. name)
    end
    tap.is(#rows, #(doc.quantities or {}) + #(doc.orders or {}),
        name .. ": rows of the database")
end

local _, again = run "fig03"
tap.ok(again:find "\n0 simulations run", "a second run simulates nothing",
    again)
tap.is(again:gsub("%d+ simulations run.*", ""), said.fig03,
    "and says the same")
local _, other = run("fig03", "with=l1tlb.mshrs=1,walk.mode=fixed:1000")
local function loss(text)
    return tonumber(text:match "4 KB: loss against Ideal +%S+ %% +(%S+) %%")
end
tap.ok(other:find("machine changed: l1tlb.mshrs=1,walk.mode=fixed:1000", 1,
    true) and loss(other) > loss(again), "with changes the machine", other)
local ok, text = run("fig03", "with=l1tlb.mshr=1")
tap.ok(not ok and text:find "l1tlb.mshrs", "an unknown setting is named", text)

package.path = "scenarios/mosaic/?.lua;" .. package.path
local suite = require "common"
for _, size in ipairs { "S", "M" } do
    local set = { apps = { "TRD", "HS" } }
    local share = suite.memory(set, size) / suite.footprint(set, size)
    tap.ok(math.abs(share / (3221225472 / 217e6) - 1) < 0.01
        and suite.memory(set, size) % (2 << 20) == 0,
        "memory of size " .. size .. ": 3 GB for 217 MB, in whole frames")
end

command("rm -r " .. DIR)
tap.done()
