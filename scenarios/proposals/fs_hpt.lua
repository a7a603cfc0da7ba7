--- proposals/fs_hpt.lua - a hashed page table of fixed size beside a radix table.
--
-- Jang, Park, Kwon, Lee, Hong: Rethinking Page Table Structure for Fast Address
-- Translation in GPUs: A Fixed-Size Hashed Page Table, PACT 2024.  A walk of four reads,
-- each of which needs the one before, becomes one.  The paper's numbers could not be
-- read: that walks are shorter and programs no slower, beside a radix table without and
-- with a walk cache, is what is compared.
--
-- Machine: maxwell with its shared L2 TLB; pages of 4 KB.  Tables of 16 MB: a place of 16
-- bytes for each of 1,048,576 pages, where memory has 786,432 frames.  "crowded" has
-- places for 1,024, so that pages collide, and some find none.
--
--     heddle run scenarios/proposals/fs_hpt.lua [scale=full] [programs=ATAX,GUP]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local common = require "common"

local x = common.open("fs_hpt", "A hashed page table of fixed size", "Jang 2024")
local machine = H.designs.sharedtlb(H.machine "maxwell"):with {
    ["vm.table_frames"] = { 8192, "room for both tables" },
    ["walktable.bytes"] = { 16 << 20, "a place for each page of memory, and a third more" } }
local policy = H.here "../../policies/fs_hpt.lua"
local designs = {
    { name = "radix" },
    { name = "walk cache", settings = { ["pwc.mode"] = { "full", "MASK's PWCache" },
        ["pwc.style"] = "physical" } },
    { name = "hashed", use = { use = policy } },
    { name = "crowded", use = { use = policy },
        settings = { ["walktable.bytes"] = { 16 << 10, "1,024 places" } } },
}
x:say("alone on %d cores, size %s, %d cycles after %d of warm-up", 30, x.size,
    x.cycles, x.warmup)
local all = common.alone(x, machine, designs)
common.show(x, all, designs, {
    common.metric("walks", "walks"),
    common.metric("walk, cycles", "walk_latency"),
    common.metric("waits, cycles", "walk_wait_cycles"),
    { "reads a walk", function(r)
        local walks = common.count(r, "walk.walks")
        return walks > 0 and ("%.2f"):format(common.count(r, "walk.references") / walks)
            or "-" end },
    common.counter("of the table", "walktable.reads"),
    common.counter("found", "walktable.found"),
    common.counter("fell back", "walktable.fell"),
    common.counter("found no place", "policy.fs_hpt.full"),
}, { hashed = { from = 0 } })
local product = 1
for _, name in ipairs(x.programs) do
    product = product * common.speed(all, name, "hashed", "walk cache")
end
x:quantity { "hashed over walk cache, mean of programs", unit = "%", kind = "gain",
    from = 0, heddle = 100 * (product ^ (1 / #x.programs) - 1) }
x:close()
