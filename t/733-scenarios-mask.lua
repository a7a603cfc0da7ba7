--[[
733-scenarios-mask.lua - the experiments of scenarios/mask at scale=quick.

Pinned: each runs, prints quantities beside the paper's and how many agree,
leaves JSON that says the same, its charts, and a row a quantity in the
database; every file of the folder is run.  Runs that several need happen once:
a second run simulates nothing and says the same.  What the numbers are is told
by the scenarios and not asserted here; runs are shorter still than quick's.
]]
local tap = require "lib.tap"
local json = require "heddle.json"
local process = require "heddle.process"
local sqlite = require "heddle.sqlite"
local HEDDLE = os.getenv "HEDDLE" or "build/release/heddle"

local DIR = os.tmpname()
os.remove(DIR)

--- Not experiments: a module, a policy; and one that needs only a part of it.
local OTHER = { common = true, ["skip-walks"] = true }
local WORDS = { causes = "only=base,leaf" }

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

local function run(name)
    return command(("%s run scenarios/mask/%s.lua scale=quick cycles=12000 "
        .. "jobs=2 out=%s cache=%s/cache %s"):format(HEDDLE, name, DIR, DIR,
        WORDS[name] or ""))
end

local names = {}
for path in select(2, command "ls scenarios/mask"):gmatch "(%S+)%.lua" do
    if not OTHER[path] then
        names[#names + 1] = path
    end
end
tap.ok(#names >= 18, "experiments of MASK")

process.mkdir(DIR)
local first
for _, name in ipairs(names) do
    local ok, text = run(name)
    tap.ok(ok, name .. " runs", text)
    local good, all = text:match "(%d+) of (%d+) agree"
    local doc = json.decode(read(("%s/mask/%s.json"):format(DIR, name)) or "{}")
    tap.ok(doc.name == "mask/" .. name and doc.scale == "quick"
        and doc.agree == tonumber(good) and doc.counted == tonumber(all)
        and #doc.quantities > 0, name .. ": JSON says what is printed", text)
    local missing = {}
    for _, chart in ipairs(doc.charts or {}) do
        local path = ("%s/mask/%s"):format(DIR, chart.file)
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
            "mask/" .. name)
    end
    tap.is(#rows, #(doc.quantities or {}) + #(doc.orders or {}),
        name .. ": rows of the database")
    first = first or text
end

local function said(text)
    return text:gsub("%d+ simulations run.*", "")
end
local _, again = run(names[1])
tap.ok(again:find "\n0 simulations run", "a second run simulates nothing",
    again)
tap.is(said(again), said(first), "and says the same")

local ok, text = command(HEDDLE .. " run scenarios/mask/fig05.lua pairs=A_B")
tap.ok(not ok and text:find "no pair 'A_B'", "an unknown pair is named", text)

command("rm -r " .. DIR)
tap.done()
