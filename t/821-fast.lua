-- 821-fast.lua - pins: another build does the same: without memory/fast/ (make FAST=0),
-- with assertions, optimised less and, where it is installed, by clang.  The golden
-- runs, those of 802-determinism.lua, and runs under load that fill queues and MSHRs
-- are compared with those of a command built so, in a build folder of its own that is
-- kept.  Its assertions are seen to hold in these runs, and those of who may reach into
-- whose state (src/engine/kit/borders.def) are tested in it.
--
-- With print=true the script prints what it measures, and tests nothing.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local whole = require "lib.whole"
local H = require "heddle"

local args = H.args { print = false }
local SLOW = "build/light-slow"

local RUNS = {
    { { "GUP" } }, { { "BFS2", "CONS" } }, { { whole.random(8, 16) } },
    { { "BLK" }, { ["l2cache.mshrs"] = 2, ["l2cache.merges"] = 2,
        ["dram.queue"] = 8 } },
    { { "GUP" }, { ["l2cache.write"] = "through", ["l2cache.queue"] = 2 } },
}

local lines = {}
for _, run in ipairs(RUNS) do
    local sim = whole.sim(run[1], whole.join(whole.SMALL, run[2] or {}))
    sim:run(200000)
    lines[#lines + 1] = "now " .. sim.now
    lines[#lines + 1] = table.concat(whole.statistics(sim), "\n")
    sim:close()
end
local all = table.concat(lines, "\n")
if args.print then
    print(all)
    return
end

--- What 802 prints, line by line, without the hashes of all state, which have padding.
local function counters(heddle)
    local out = {}
    for line in files.output(heddle
        .. " run t/802-determinism.lua print=true"):gmatch "[^\n]+" do
        out[#out + 1] = line:find "^state " == nil and line or nil
    end
    return out
end

local clang = files.command "command -v clang" and "CC=clang " or ""
local ok, text = files.command("env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -j2 "
    .. clang .. "FAST=0 VARIANT=light SANITIZER= CFLAGS='-O1 -DHD_DEBUG' " .. SLOW
    .. "/heddle " .. SLOW .. "/t/815-borders")
tap.ok(ok, "it builds so", text)
if ok then
    tap.ok(files.output(SLOW .. "/heddle run t/821-fast.lua print=true")
        == all .. "\n", "and does the same under load")
    local got = counters(SLOW .. "/heddle")
    local differs = whole.difference(got, counters(files.HEDDLE))
    tap.ok(#got > 1000 and not differs, "and in those of 802", differs)
    text = files.output("env -u HEDDLE HEDDLE_BUILD=" .. SLOW
        .. " t/run t/820-golden.lua | grep -v '^ok'")
    tap.ok(text:match "^1%.%.%d+\n$", "and in the golden runs", text)
    text = files.output(SLOW .. "/t/815-borders")
    tap.ok(text:find "1%.%.3\n" and not text:find "not ok",
        "sides reach into one another as it is listed", text)
end

tap.done()
