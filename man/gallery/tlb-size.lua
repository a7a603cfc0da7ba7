-- SPDX-License-Identifier: MIT
-- How fast two programs are, alone and together, by the entries of their L2 TLB.
local H = require "heddle"

local stencil = H.app("3DS", { size = "S", dimy = 64, dimz = 32 })
local updates = H.app("GUP", { size = "S", updates = 2 })
local entries, jobs = { 128, 256, 512, 1024, 2048 }, {}
for _, n in ipairs(entries) do
    jobs[#jobs + 1] = {
        machine = H.machine("maxwell") { ["l2tlb.entries"] = n },
        apps = { stencil, updates },
    }
end
local series = { { name = "3DS, a stencil", values = {} },
    { name = "GUP, random updates", values = {} } }
for i, r in ipairs(H.run(jobs)) do
    for app = 0, 1 do
        series[app + 1].values[i] = H.report.ipc(r, app)
    end
end
H.svg.write("tlb-size.svg", H.svg.lines {
    title = "Two programs that share an L2 TLB",
    unit = "warp instructions a cycle", xlabel = "entries of the L2 TLB",
    groups = entries, series = series,
})
