--- window.lua - random lines of a window of memory, read by all cores: an A100 80 GB
-- beside Walker (arXiv 2405.11425), whose curve is level to 64 GB and then falls, and
-- does not fall where each group of cores keeps to a window of its own.
--
-- 64 warps a core read aligned lines of 128 bytes, four at once.  Each group of cores
-- has touched all pages of its window before.  The level is read off a figure.
--
-- That the curve falls at 64 GB is from where the preset has its second level's
-- entries, so its row is fit; the level, and that windows of groups do not fall, are
-- tests.
--
-- quick: 5 windows, 24 lines a warp; full: 11, and 96 lines.
--
--     heddle run scenarios/validate/window.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"
local own = require "cards"
local kernels = require "kernels"

local GB = 1 << 30
local LEVEL, ENDS = 1245, 64 -- GB/s, GB

local arg = H.args(experiment.args {})

local v = common.open { name = "validate/window", arg = arg,
    source = "Walker, arXiv 2405.11425", title = "random lines of a window of memory" }
local x = v.x

local machine = own.machine "a100"
local cores = math.tointeger(tonumber(machine:get "core.count"))
local LOADS, AT_ONCE = x.full and 24 or 6, 4

local function job(gb, separate)
    return { machine = machine, seed = arg.seed, apps = { kernels.of("window", {
        bytes = gb * GB, cores = cores, own = separate and 1 or 0, loads = LOADS,
        at_once = AT_ONCE }) } }
end

local windows = x.full and { 8, 16, 32, 48, 56, 60, 64, 66, 68, 72, 76 }
    or { 32, 60, 64, 68, 76 }
local jobs = {}
for i, gb in ipairs(windows) do
    jobs[i] = job(gb)
end
jobs[#jobs + 1] = job(76, true)

local bytes = cores * 64 * LOADS * AT_ONCE * 128
local curve, separate = {}, nil
for i, r in ipairs(x:run(jobs)) do
    separate = bytes * tonumber(machine:get "clock.core") / kernels.timed(r) / 1e9
    curve[i] = windows[i] and { windows[i], separate } or nil
end

local level, last = common.plateau(curve, 0, 60), curve[#curve][2]
local thin = not x.full and "5 windows, 24 lines a warp" or nil
v:row { "a100: random lines, to 60 GB", unit = "GB/s", measured = LEVEL, heddle = level,
    tolerance = 0.15, use = "test", thin = thin }
v:row { "a100: the curve falls", unit = "GB", measured = ENDS,
    heddle = common.knee(curve, level, last), tolerance = 0.1, use = "fit", thin = thin }
v:row { "a100: 76 GB, each group a window of its own, over the level", unit = "times",
    measured = 1, heddle = separate / level, tolerance = 0.1, use = "test",
    thin = thin }
x:lines { title = "a100, random lines of a window", xlabel = "window, GB", unit = "GB/s",
    series = { { name = "heddle", x = { table.unpack(windows) }, values = (function()
        local y = {}
        for i, p in ipairs(curve) do
            y[i] = p[2]
        end
        return y
    end)() } } }
x:say("All cores, 64 warps each; at 76 GB %.0f GB/s, with windows of groups %.0f", last,
    separate)
v:close()
