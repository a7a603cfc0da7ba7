-- BFS is the program of BFS2: its closed form, BFS's published footprints and
-- the pages of a gather.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local bfs2 = require "t.apps.bfs2"

-- Pages of vis[], for every neighbour of the frontier.
local function figures()
    local rows = kit.profile("BFS", { size = "S", n = 65536 })
    return {
        { "pages of a gather, 65,536 nodes", rows["bfs1 load vis"].pages, 4.2 },
    }
end

return {
    counts = bfs2.counts,
    published = { 10.2, 66, 156, XL = 1250 }, -- MB of S, M, L and XL
    share = bfs2.share,
    figures = figures,
}
