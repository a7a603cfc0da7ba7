-- What PCHASE at size T accesses, in closed form, and its footprints.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"
local kit = require "t.apps.kit"

local function counts(p)
    local own = p.bytes // p.stride // p.chains
    return {
        ["warm load data"] = own,
        ["warm store sum"] = 1,
        ["chase load data"] = p.passes * own,
        ["chase store sum"] = 1,
    }
end

--- Pages that all passes touch, and lines: each slot has one of its own.
local function figures()
    local function touched(params, bytes)
        local seen, n = {}, 0
        params.size = "T"
        require("heddle.twin").walk(app.get("PCHASE"):instance(params), function(e)
            for _, a in pairs(e.addr and e.kernel == "chase"
                and e.kind == "load" and e.addr or {}) do
                if a and not seen[a // bytes] then
                    seen[a // bytes], n = true, n + 1
                end
            end
        end)
        return n
    end
    local rows = kit.measure(app.get("PCHASE"):instance {
        size = "T", chains = 8 })
    return {
        { "pages, ascending", touched({}, 4096), 64 },
        { "pages, random", touched({ order = "random" }, 4096), 64 },
        { "lines, random", touched({ order = "random", stride = 256 }, 128), 1024 },
        { "pages of a load of eight chains", rows["chase load data"].pages, 8 },
    }
end

return {
    counts = counts,
    others = {
        { order = "random", chains = 4 },
        { chains = 32, passes = 2, line = 0 },
        { stride = 128, bytes = 8192 },
    },
    figures = figures,
    published = { 16.8, 134, 1074, XL = 17180, XXL = 137439 }, -- bytes
}
