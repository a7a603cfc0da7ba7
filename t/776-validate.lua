--[[
776-validate.lua - scenarios/validate: microbenchmarks of cards.

Pinned: readers of figures, knees and plateaus on curves whose answer is known; that
the lengths at which chases are cut are steady states, since chases of twice the
length, warmed twice as long, come to the same within 1 %; that a chase on a card
takes what its table says of an L1 hit and an L2 hit, in cycles; that two cores are
where a pair of them is asked for; rows beside their tolerance; one experiment whole,
its page and its table, and that a second run of it simulates nothing.

SPDX-License-Identifier: MIT
]]
package.path = "scenarios/validate/?.lua;" .. package.path
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local here = H.here
H.here = function(path)
    return files.read("scenarios/validate/" .. path)
        and "scenarios/validate/" .. path or here(path)
end
local common = require "common"
local kernels = require "kernels"
local own = require "cards"

-- ---- curves --------------------------------------------------------------------

local step = { { 1, 10 }, { 2, 10 }, { 4, 10 }, { 8, 110 }, { 16, 110 } }
tap.is(common.plateau(step, 1, 4), 10.0, "a plateau is a median")
tap.is(common.plateau(step, 2, 4), 10.0, "of an even number")
tap.is(common.plateau(step, 4, 8), 60.0, "or between two values")
tap.is(common.plateau(step, 20, 30), nil, "of none")
tap.ok(math.abs(common.knee(step, 10, 110) - 4 * 2 ^ 0.05) < 1e-9,
    "a knee is where a twentieth of the step is", common.knee(step, 10, 110))
tap.is(common.knee(step, 10, 210, 100), nil, "or nowhere")
local down = { { 1, 100 }, { 2, 100 }, { 4, 20 } }
tap.ok(math.abs(common.knee(down, 100, 20) - 2 * 2 ^ 0.05) < 1e-9, "downwards, too")
tap.is(common.at(step, 2), 10, "a value at a point")
tap.ok(math.abs(common.at(step, math.sqrt(32)) - 60) < 1e-9, "between two")
tap.is(common.at(step, 32), nil, "and outside")
local apart, worst, where, n = common.apart(step, { { 1, 20 }, { 16, 20 } }, 0, 4)
tap.ok(math.abs(apart - 2) < 1e-9 and math.abs(worst - 2) < 1e-9 and where == 4
    and n == 3, "curves twice apart", ("%s %s %s %s"):format(apart, worst, where, n))

-- ---- figures -------------------------------------------------------------------

tap.is(#common.curve "latency-v100.txt", 263, "V100: points")
local p100 = common.karnagel "tlb-p100-12-80MB.csv"
tap.is(("%d %d %d"):format(#p100[1024], #p100[2048], #p100[4096]), "69 35 18",
    "P100: points of each stride")
tap.is(("%g %g"):format(p100[4096][1][1], p100[4096][1][2]), "12 292", "and their values")
local sharing = common.figures "tlb-sharing-sms.csv"
tap.is(table.concat(sharing[2], "|"), "P100|2048|16|0|0 1|313|306", "cells with blanks")

-- ---- chases --------------------------------------------------------------------

--- Cycles of a load.
local function chase(machine, o)
    local sim <close> = H.sim { machine = own.machine(machine),
        progress = false, apps = { kernels.of("chase", o) } }
    sim:run()
    return kernels.timed(sim:results()) / o.loads
end

for _, case in ipairs {
    { "v100", 32 << 10, 28 }, { "v100", 1 << 20, 212 }, { "a100", 64 << 10, 33 },
    { "a100", 1 << 20, 206 }, { "a40", 1 << 20, 273 }, { "rtx2060", 1 << 20, 214 },
    { "p100", 1 << 20, 293 }, { "k80", 256 << 10, 241 }, { "h100", 1 << 20, 222 },
    { "rtx4080", 1 << 20, 273 }, { "l40", 32 << 10, 40 },
} do
    local c = chase(case[1], { bytes = case[2], warm = math.max(2048, case[2] // 128),
        loads = 2048 })
    tap.ok(math.abs(c - case[3]) <= 1, ("%s: %d kB take %g cycles"):format(case[1],
        case[2] >> 10, case[3]), c)
end

-- As the experiments cut them, and with everything twice as long.
for _, case in ipairs {
    { "v100", { bytes = 130 << 10 } }, { "v100", { bytes = 6400 << 10 } },
    { "v100", { bytes = 16 << 20 } },
    { "p100", { bytes = 48 << 20, stride = 1 << 20, order = "stride", loads = 2048 } },
} do
    local o = case[2]
    local lines = o.bytes // (o.stride or 128)
    o.loads = o.loads or 8192
    o.warm = math.max(2048, lines)
    local short = chase(case[1], o)
    o.warm, o.loads = 2 * o.warm, 2 * o.loads
    local long = chase(case[1], o)
    tap.ok(math.abs(long - short) < 0.01 * short, ("%s: %d kB, a steady state"):format(
        case[1], o.bytes >> 10), ("%g, %g"):format(short, long))
end

do -- a pair of cores: those that are asked for, and nothing else
    local sim <close> = H.sim { machine = "p100", progress = false, apps = {
        kernels.of("chase", { bytes = 32 << 20, stride = 2 << 20, order = "stride",
            warm = 64, loads = 256, first = 0, second = 3, cores = 56 }) } }
    sim:run()
    local busy = {}
    for _, c in ipairs(sim:results().counters) do
        if c.component == "core" and c.name == "loads" then
            for i, v in ipairs(c.instances) do
                if v > 0 then
                    busy[#busy + 1] = ("%d: %d"):format(i - 1, v)
                end
            end
        end
    end
    tap.is(table.concat(busy, ", "), "0: 320, 3: 320", "two cores load")
end

-- ---- all of it ---------------------------------------------------------------------

local dir = files.folder()
local function run()
    return files.command(("%s run scenarios/validate.lua only=mt4g jobs=2 out=%s "
        .. "cache=%s/cache"):format(files.HEDDLE, dir, dir))
end
local ok, text = run()
tap.ok(ok and text:find "Rows within their tolerance: %d+ of %d+ tests", "it runs", text)
tap.ok(text:find "v100: L2 +219 cycles +212.0 cycles +0.97 +7 %% +yes +fit",
    "a row", text)
local html = files.read(dir .. "/validate.html") or ""
tap.ok(html:find("<h1>heddle beside measured cards</h1>", 1, true)
    and html:find("v100: L1 size", 1, true) and html:find("<svg", 1, true)
    and not html:find("beside the papers", 1, true), "and its page")
ok, text = run()
tap.ok(ok and text:find "validate/mt4g +.*kept", "what is known is kept", text)
os.execute("rm -rf " .. files.quote(dir))
tap.done()
