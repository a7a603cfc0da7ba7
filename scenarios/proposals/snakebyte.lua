--- proposals/snakebyte.lua - entries of TLBs that cover groups of 2^k contiguous pages.
--
-- Lee, Lee, Oh, Song, Ro: SnakeByte: A TLB Design with Adaptive and Recursive Page
-- Merging in GPUs, HPCA 2023.  Its abstract has 6.5 times fewer walks and programs twice
-- as fast as with conventional paging; its baseline and its programs could not be read,
-- so that the directions alone are compared.
--
-- Machine: maxwell with its shared L2 TLB; pages of 4 KB in frames of runs as MESC's table
-- II has them, half in runs of 8 on average, the others in runs of 257 to 1,024 (policy
-- runs); with memory=fresh frames follow one another as pages are mapped, and few walks
-- are left to any group.  Beside groups stands CoLT, runs of up to 4 pages in both levels.
-- "walked" merges groups as walks find them; "in the L2 TLB" leaves pages to L1 TLBs.
--
--     heddle run scenarios/proposals/snakebyte.lua [scale=full] [programs=ATAX,GUP]
--         [memory=fresh]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local common = require "common"

local x = common.open("snakebyte", "Entries of groups that merge", "Lee 2023",
    { memory = "used" })
local machine = H.designs.sharedtlb(H.machine "maxwell"):with { ["vm.page"] = "4K" }
local policy = H.here "../../policies/snakebyte.lua"
local both = { ["groups.most"] = { 9, "a leaf table" }, ["groups.l1"] = { 9, "guess" } }
local designs = {
    { name = "pages" },
    { name = "CoLT", use = { use = "colt", full = 1 },
        settings = { ["l1tlb.merge_pages"] = 4, ["l2tlb.merge_pages"] = 4,
            ["l2tlb.group_index"] = true } },
    { name = "groups", use = { use = policy }, settings = both },
    { name = "walked", use = { use = policy, merge = "walked" }, settings = both },
    { name = "in the L2 TLB", use = { use = policy },
        settings = { ["groups.most"] = { 9, "a leaf table" } } },
}
x:say("alone on %d cores, size %s, %d cycles after %d of warm-up, memory %s", 30, x.size,
    x.cycles, x.warmup, x.arg.memory)
local all = common.alone(x, machine, designs, x.arg.memory ~= "fresh" and "runs" or nil)
common.show(x, all, designs, {
    common.metric("walks", "walks"),
    common.metric("waits, cycles", "walk_wait_cycles"),
    common.percent("L1 TLB misses", "l1tlb_miss_rate"),
    common.percent("L2 TLB misses", "l2tlb_miss_rate"),
    { "pages a walk", function(r)
        local n = common.count(r, "groups.formed")
        return n > 0 and ("%.1f"):format(common.count(r, "groups.pages") / n) or "-" end },
    common.counter("marks", "groups.marks"),
    common.counter("in other lines", "groups.apart"),
}, { groups = { from = 0 }, walked = { from = 0 } })
local left = 0
for _, name in ipairs(x.programs) do
    local function walks(design) -- of an instruction
        local r = all[name][design]
        return common.count(r, "walk.walks") / r.apps[1].instructions
    end
    left = left + walks "groups" / walks "pages"
end
x:quantity { "walks an instruction that groups leave, mean of programs", unit = "%",
    heddle = 100 * left / #x.programs }
x:close()
