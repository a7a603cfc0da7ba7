-- BFS is the program of BFS2: its closed form, BFS's published footprints and
-- the pages of a gather.
--
-- SPDX-License-Identifier: MIT
local bfs2 = require "t.apps.bfs2"

-- Pages of vis[], for every neighbour of the frontier.
local function figures()
    local app = require("heddle.app").get "BFS"
    local rows = require("heddle.walk").profile(app:workload {
        size = "S", n = 65536 })
    local out = {}
    for _, r in ipairs(rows) do
        if r.kernel == "bfs1" and r.kind == "load" and r.buffer == "vis" then
            out[1] = { "pages of a gather, 65,536 nodes", r.pages, 4.2 }
        end
    end
    return out
end

return {
    counts = bfs2.counts,
    published = { 10.2, 66, 156, XL = 1250 }, -- MB of S, M, L and XL
    share = bfs2.share,
    figures = figures,
}
