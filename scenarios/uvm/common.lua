--- common.lua - runs of programs in less memory than they touch.
--
-- A list of programs runs once with memory for all, which says how many pages of
-- 64 KB they touch; then in memory for a share of these.  All pages are on the
-- host at cycle 0, and nothing is launched again.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"

local common = {}

local PAGE, TABLES = 65536, 4096

common.total = H.report.counter

--- A job of H.run: programs (names) of a size, in memory for so many pages of
-- 64 KB (nil: for all); o: machine ("etc"), policies, settings, and what else a
-- job has.
function common.job(x, programs, size, pages, o)
    o = o or {}
    local settings = { ["vm.paging"] = "fault", ["vm.table_frames"] = TABLES,
        ["vm.memory_bytes"] = pages and TABLES * 4096 + pages * PAGE
            or 3 << 30, ["sim.relaunch"] = false }
    for k, v in pairs(o.settings or {}) do
        settings[k] = v
    end
    local apps = {}
    for i, name in ipairs(programs) do
        apps[i] = H.app(name, { size = size })
    end
    return { machine = o.machine or "etc", seed = x.arg.seed, apps = apps,
        policies = o.policies, settings = settings, interval = o.interval }
end

--- The two programs of "A+B".
function common.pair(text)
    local a, b = text:match "^([^+]+)%+([^+]+)$"
    if not a then
        error(("pairs: '%s' is not A+B"):format(text), 0)
    end
    return { a, b }
end

--- Pages of 64 KB that came, of all applications.
function common.touched(r)
    return (H.report.counter(r, "fault.pages") * 4096 + PAGE - 1) // PAGE
end

--- The words of a list separated by commas, or another list.
function common.words(text, otherwise)
    local out = {}
    for word in text:gmatch "[^,]+" do
        out[#out + 1] = word
    end
    return #out > 0 and out or otherwise
end

return common
