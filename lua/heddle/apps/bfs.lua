--[[
BFS - breadth-first search as Rodinia ships it: the program of BFS2 on graphs
of Rodinia's family.

Pichai's bfs is this program; MESC's BFS is taken to be it, too (Pannotia, its
other suite, has no stand-alone search; MESC gives no input).  Arrays, kernels,
blocks, footprint and what is approximated: see bfs2.lua.  BFS2 has the sizes of MASK
and Mosaic, 2.5 MB first of all; here every node draws 2 to 4 targets, mean
degree 6, at the sizes of Rodinia's graphs and larger: S is 10 MB, XL the 1.2 GB
at which Pichai et al. see their TLB miss rates; it takes six seconds and 1.2 GB
to build.

SPDX-License-Identifier: MIT
]]
local bfs2 = require "heddle.apps.bfs2"

return require("heddle.kernel").app {
    name = "BFS", suite = "Rodinia", source = "Rodinia 3.1 bfs",
    summary = "breadth-first search of Rodinia's graphs of mean degree 6",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 262144, lo = 2, hi = 4, seed = 1 },
    sizes = {
        T = { n = 512 },
        S = { n = 262144 },
        M = { n = 1700000 },
        L = { n = 4000000 },
        XL = { n = 32000000 },
    },
    footprint = bfs2.footprint,
    buffers = bfs2.buffers,
    kernels = bfs2.kernels,
    host = bfs2.host,
}
