-- The closed forms that CORR and COVAR have in common: kernels over columns.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local M = {}

-- Counts of the kernel of products, `first` as there: j1 + first is the first
-- partner.  A warp goes on as long as its first lane.
function M.products(p, name, first)
    local rounds, warps = 0, 0
    for warp = 0, (p.m - first - 1) // 32 do
        local all = p.m + 1 - (32 * warp + 1 + first)
        if p.cap > 0 then all = math.min(all, p.cap) end
        rounds, warps = rounds + all, warps + 1
    end
    return {
        [name .. " load data"] = 2 * rounds * p.n,
        [name .. " store symmat"] = rounds * (p.n + 2) + first * warps,
    }
end

-- Lines and pages of the accesses of `name`, launch `launch`, at m = 2048.
function M.figures(name, launch)
    local a = require("heddle.app").get(name:upper())
    local rows = kit.measure(a:instance { size = "T", m = 2048, n = 6,
        cap = 1 }, { keep = function(l) return l == launch end })
    local store = rows[name .. " store symmat"]
    local load = rows[name .. " load data"]
    return {
        { "lines of a store", store.lines, 32 },
        { "pages of a store", store.pages, 32 },
        { "lines of a load", load.lines, 2 },
        { "pages of a load", load.pages, 1 },
    }
end

return M
