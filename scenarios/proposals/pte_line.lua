--- proposals/pte_line.lua - translations that are free where the line is: a walk
-- fills the neighbours whose entries it has read with its own.
--
-- No paper's figure: coalescing TLBs (Pham et al., MICRO 2012) and prefetchers that
-- take what is in the line (Vavouliotis et al., ISCA 2021) use it on CPUs.  Beside it
-- stands the same asked for as walks of their own (translate), which come behind what
-- cores ask for: most are dropped.
--
-- Machine: maxwell with its shared L2 TLB; pages of 4 KB.  A line of 128 bytes has the
-- entries of 16 pages, a sector of 32 bytes those of 4.
--
--     heddle run scenarios/proposals/pte_line.lua [scale=full] [programs=ATAX,GUP]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local common = require "common"

local x = common.open("pte_line", "Neighbours that come with a walk's answer",
    "Pham 2012, Vavouliotis 2021")
local machine = H.designs.sharedtlb(H.machine "maxwell")
local designs = {
    { name = "plain" },
    { name = "asked for", use = { use = { name = "asked",
        source = "the same pages as walks of their own",
        watch = { walk_done = function(n)
            if n.requesters == 0 then return end -- (a policy's own)
            local first = n.vpn - n.vpn % 16
            for vpn = first, first + 15 do
                if vpn ~= n.vpn then
                    translate(n.app, vpn) -- luacheck: globals translate
                end
            end
        end } } } },
    { name = "free, line", use = { use = "pte_line" } },
    { name = "free, sector", use = { use = "pte_line", reach = 4 },
        settings = { ["fill.bytes"] = { 32, "a sector" } } },
    { name = "free, a port each", use = { use = "pte_line" },
        settings = { ["fill.ports"] = { 1, "each takes a cycle of a port" } } },
}
x:say("alone on %d cores, size %s, %d cycles after %d of warm-up", 30, x.size,
    x.cycles, x.warmup)
local all = common.alone(x, machine, designs)
common.show(x, all, designs, {
    common.metric("walks", "walks"),
    common.metric("walk, cycles", "walk_latency"),
    common.metric("waits, cycles", "walk_wait_cycles"),
    { "neighbours", function(r)
        return common.count(r, "fill.asked") + common.count(r, "prefetch.started") end },
    common.counter("filled", "prefetch.filled"),
    common.counter("there already", "fill.there"),
    { "refused, dropped", function(r)
        return common.count(r, "fill.refused") + common.count(r, "fill.dropped")
            + common.count(r, "prefetch.dropped") end },
    common.percent("useful", "tlb_prefetch_accuracy"),
}, {})
local asked, fates = 0, 0
for _, name in ipairs(x.programs) do
    local r = all[name]["free, line"]
    asked = asked + common.count(r, "fill.asked")
    for _, k in ipairs { "filled", "there", "refused", "absent", "kept_out",
        "dropped" } do
        fates = fates + common.count(r, "fill." .. k)
    end
end
x:quantity { "neighbours asked for with a walk's answer", unit = "pages",
    heddle = asked }
x:quantity { "of them with one fate each", unit = "pages", heddle = fates }
x:close()
