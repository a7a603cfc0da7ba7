--[[
606-locale.lua - a script in a locale whose numbers have commas.

Pinned: after os.setlocale a script, in the command and in lua5.4, writes and
reads the bytes it would without: JSON, CSV, settings, SVG, texts of numbers,
the order of names, capitals.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"

local dir = files.folder()
local LOCALES = { "de_DE.UTF-8", "tr_TR.UTF-8" }

for _, name in ipairs(LOCALES) do
    if not files.command(("sh t/lib/locale.sh %s '%s'"):format(name, dir)) then
        print("1..0 # SKIP no locale " .. name .. ", and none can be made")
        os.execute("rm -rf '" .. dir .. "'")
        return
    end
end

files.write(dir .. "/script.lua", [[
local name = os.getenv "IN"
if name ~= "C" then assert(os.setlocale(name), name) end
local H = require "heddle"
if name ~= "C" then assert(os.setlocale(name), name) end
print(H.json.encode { a = 0.5, b = 1e-7, Z = H.json.array { 2.25 } })
print(H.json.decode "[0.5]"[1], #H.json.decode "[0,5.5]")
print(0.5, 1.5 .. "", ("%.3f"):format(0.25), tonumber "0.5", tonumber "0,5")
print("a" < "B", "z" < "\u{e4}", ("i I"):upper(), ("i I"):lower())
print(H.report.table { { "x", "y" }, { "a", H.report.number(1.25) } })
print(H.svg.bars { title = "x", groups = { "g", "h" },
    series = { { name = "a", values = { 0.5, 1.25 } } } })
local sim = H.sim { machine = "maxwell", progress = false,
    apps = { H.app("gup", { size = "T" }) },
    settings = { ["sim.stop_cycles"] = 500 } }
sim:run()
H.report.json(sim:results())
H.report.csv(sim:results())
H.report.format(sim:results()) -- or the command says that it was cut
]])

local function run(command, name)
    return files.output(("IN=%s LOCPATH='%s' %s '%s/script.lua'"):format(
        name, dir, command, dir))
end

local HEDDLE = files.HEDDLE .. " run"
local plain = run(HEDDLE, "C")
tap.ok(plain:find('"b": 1e-07', 1, true) and plain:find("I I\ti i", 1, true)
    and plain:find('"clock.core":', 1, true), "the script works",
    plain:sub(1, 900))

local function compare(command, name, what)
    local got = run(command, name)
    local at = 1
    while at <= #got and got:byte(at) == plain:byte(at) do at = at + 1 end
    tap.ok(got == plain, what .. ": the bytes of the C locale",
        "differs at: " .. got:sub(math.max(1, at - 40), at + 40))
end

local built = os.getenv "HEDDLE_BUILD"
local module = files.command "command -v lua5.4"
    and (built:find "release" or built:find "debug")
for _, name in ipairs(LOCALES) do
    compare(HEDDLE, name, "heddle run in " .. name)
    if module then
        compare(("LUA_CPATH='%s/?.so' lua5.4"):format(built), name,
            "lua5.4 in " .. name)
    else
        tap.skip("lua5.4 in " .. name, "no lua5.4 for this build")
    end
end
os.execute("rm -rf '" .. dir .. "'")
return tap.done()
