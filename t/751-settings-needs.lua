-- 751-settings-needs.lua - pins: what heddle explain says that a setting needs
-- is so.  Where the need is not met, another value changes nothing that is
-- measured; where it is met, it changes something, but for a setting that
-- nothing meets.  Each is a setting that there is.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local H = require "heddle"
local index = require "heddle.index"
local core = require "heddle.core"
local whole = require "lib.whole"

local BASE = { ["core.count"] = 2, ["l1tlb.entries"] = 8, ["l2tlb.entries"] = 16 }

--- All that is measured under these settings.
local function run(...)
    local all = {}
    for _, settings in ipairs { BASE, ... } do
        for name, value in pairs(settings) do
            all[name] = value
        end
    end
    local sim <close> = H.sim { machine = "aggressive", settings = all,
        apps = { H.app("CONS", { size = "T" }) } }
    sim:run()
    local r = sim:results()
    return H.json.encode { r.cycles, r.counters, r.histograms }
end

--- A setting, another value of it, and settings that meet its need.
local FAULT = { ["vm.paging"] = "fault", ["fault.serial"] = true }
local FEW = { ["vm.paging"] = "fault", ["evict.unit"] = "64K",
    ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2000 }
local DRIVER = { ["vm.paging"] = "fault", ["uvm.mode"] = "driver" }
local REMOTE = { ["vm.paging"] = "fault", ["remote.access"] = "remote" }
local COUNTED = whole.join(REMOTE, {
    ["uvm.perf_access_counter_migration_enable"] = true,
    ["uvm.perf_access_counter_threshold"] = 2 })
local LARGE = { ["vm.page"] = "2M", ["vm.round"] = true,
    ["l1tlb.large_entries"] = 4, ["l2tlb.large_entries"] = 4 }
local REFAULT = whole.join(FEW, { ["fault.thrashing"] = "refault" })
local ONE = whole.join(DRIVER, { ["uvm.perf_fault_batch_count"] = 1 })
local BY_BANK = { ["dram.refresh"] = true, ["dram.refresh_by"] = "bank" }
local CLASSES = { ["core.classes"] = true }
local CASES = {
    { "pwc.entries", 16, { ["pwc.mode"] = "full" } },
    { "msc.entries", 0, { ["l2tlb.sub_ways"] = 8 } },
    { "pwc.latency", 100, { ["pwc.mode"] = "full" } },
    { "fault.batch", 32, FAULT },
    { "fault.transfer", "2M", FAULT },
    { "uvm.mode", "driver", { ["vm.paging"] = "fault" } },
    { "uvm.perf_fault_batch_count", 2, DRIVER },
    { "uvm.perf_fault_replay_policy", "block", DRIVER },
    { "uvm.perf_fault_replay_update_put_ratio", 0, DRIVER },
    { "uvm.perf_fault_max_batches_per_service", 1, { ["vm.paging"] = "fault",
        ["uvm.mode"] = "driver", ["uvm.perf_fault_batch_count"] = 32,
        ["uvm.perf_fault_replay_policy"] = "once" } },
    { "uvm.perf_prefetch_enable", false, DRIVER },
    { "uvm.perf_prefetch_threshold", 100, DRIVER },
    { "uvm.perf_prefetch_min_faults", 20, ONE },
    { "uvm.fault_buffer", 1, ONE },
    { "uvm.utlb_faults", 1, DRIVER },
    { "uvm.utlb_cores", 64 },
    { "uvm.utlb_merge", false, DRIVER },
    { "uvm.chunks", false },
    { "uvm.base_latency", 100, DRIVER },
    { "uvm.block_latency", 100, DRIVER },
    { "uvm.interrupt_latency", 100, DRIVER },
    { "uvm.fault_interval", 1000, DRIVER },
    { "uvm.page_latency", 100, DRIVER },
    { "uvm.host_mapped", true, DRIVER },
    { "uvm.unmap_latency", 100, whole.join(DRIVER, { ["uvm.host_mapped"] = true }) },
    { "uvm.dma_map_latency", 1000, DRIVER },
    { "fault.serial", true, { ["vm.paging"] = "fault" } },
    { "link.latency", 1000, FAULT },
    { "link.bandwidth", 1000000000, { ["vm.paging"] = "launch" } },
    { "link.out_bandwidth", 100000000, FEW },
    { "remote.access", "remote", { ["vm.paging"] = "fault" } },
    { "remote.latency", 999, REMOTE },
    { "remote.cache", true, whole.join(REMOTE, { ["l1cache.mode"] = "off" }) },
    { "uvm.perf_access_counter_migration_enable", true,
        whole.join(REMOTE, { ["uvm.perf_access_counter_threshold"] = 2 }) },
    { "uvm.perf_access_counter_granularity", "64K", COUNTED },
    { "uvm.perf_access_counter_threshold", 20, COUNTED },
    { "uvm.perf_access_counter_batch_count", 1 },
    { "uvm.perf_map_remote_on_eviction", false, whole.join(FEW, DRIVER, {
        ["uvm.perf_access_counter_migration_enable"] = true }) },
    { "fault.refaults", 0, REFAULT },
    { "fault.refault_lapse", 1, REFAULT },
    { "uvm.perf_thrashing_pin", 1, whole.join(REFAULT, {
        ["fault.refaults"] = 0, ["uvm.perf_thrashing_lapse_usec"] = 2 }) },
    { "uvm.perf_thrashing_threshold", 1 }, -- nobody's host touches anything
    { "uvm.perf_thrashing_pin_threshold", 1 },
    { "uvm.perf_thrashing_lapse_usec", 1 },
    { "uvm.perf_lapse_vote_threshold", 1 },
    { "uvm.perf_thrashing_nap", 9 },
    { "uvm.perf_thrashing_epoch", 1 },
    { "uvm.perf_thrashing_max_resets", 0 },
    { "uvm.as_released", false },
    { "evict.unit", "4K", FEW },
    { "evict.trigger", "watermark", FEW },
    { "evict.write_back", "dirty", FEW },
    { "evict.overlap", true, FEW },
    { "evict.free_bytes", 4096, { ["vm.paging"] = "fault",
        ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2000,
        ["evict.unit"] = "64K", ["evict.trigger"] = "watermark" } },
    { "compress.ratio", "400", { ["compress.enable"] = true } },
    { "compress.link", "compressed", { ["vm.paging"] = "fault",
        ["compress.enable"] = true } },
    { "compress.unpack", 50, { ["compress.enable"] = true } },
    { "l2cache.far_latency", 99, { ["l2cache.halves"] = 2 } },
    { "l2cache.far_copies", false, { ["l2cache.halves"] = 2,
        ["l2cache.far_latency"] = 50 } },
    { "dram.cap", 1, { ["dram.scheduler"] = "capped", ["dram.channels"] = 1,
        ["dram.bus_bytes"] = 32, ["core.ilp"] = 0 } },
    { "dram.trefi", 300, { ["dram.refresh"] = true } },
    { "dram.trfc", 250, { ["dram.refresh"] = true } },
    { "dram.refresh_by", "bank", { ["dram.refresh"] = true } },
    { "dram.trfcpb", 400, BY_BANK }, { "dram.trrefd", 400, BY_BANK },
    { "dram.tact", 20, { ["dram.buses"] = "split" } },
    { "memory.fragment_occupancy", 90,
        { ["memory.fragment_index"] = 100 } },
    { "memory.hog_kept", 90, { ["memory.hog_torn"] = 500 } },
    { "l1tlb.large_ways", 1 },
    { "l2tlb.large_ways", 1 },
    { "l2tlb.serial", false, LARGE },
    { "utlb1.latency", 30, { ["utlb1.entries"] = 4 } },
    { "utlb2.mshrs", 1, { ["utlb2.entries"] = 4 } },
    { "utlb3.sub_4k", 0, { ["utlb3.entries"] = 4 } },
    { "vm.round", true, { ["vm.page"] = "2M" } },
    { "core.int_latency", 40, CLASSES },
    { "core.int_interval", 40, CLASSES },
    { "core.memory_interval", 40, CLASSES },
    { "core.control_latency", 400 }, -- this program has none of these
    { "core.control_interval", 400 },
    { "core.memory_latency", 400 },
    { "shared.latency", 400 },
    { "shared.banks", 1 },
    { "fabric.latency", 900, { ["fabric.nodes"] = 2 } },
    { "fabric.placement", "interleave", { ["fabric.nodes"] = 2 } },
    { "fabric.home", 1, { ["fabric.nodes"] = 2 } },
}

for _, class in ipairs { "fp32", "fp64", "sfu", "tensor", "unknown" } do
    CASES[#CASES + 1] = { "core." .. class .. "_latency", 400 }
    CASES[#CASES + 1] = { "core." .. class .. "_interval", 400 }
end

local plain, seen = run {}, {}
for _, case in ipairs(CASES) do
    local name, value, met = table.unpack(case)
    seen[name], seen[name:match "^[^.]*"] = true, true
    tap.is(run { [name] = value }, plain, name .. ": nothing without its need")
    if met then
        tap.ok(run(met) ~= run(met, { [name] = value }),
            name .. ": something with it")
    end
    tap.ok(table.concat(index.explain(name), "\n"):find "\n  needs    %S",
        name .. ": explain says so")
end
local known = {}
for _, s in ipairs(core.settings()) do
    known[s.name], known[s.name:match "^[^.]*"] = true, true
end
for name in pairs(index.needs) do
    tap.ok(known[name] and seen[name], name .. " is a setting, and tried")
end
tap.ok(not table.concat(index.explain "pwc.mode", "\n"):find "needs",
    "a mode needs nothing")
return tap.done()
