--- uvm.lua - managed memory: the faults of one warp on a Titan V, from a log of the
-- driver, and one page of 64 KB on a V100, as nvprof summed it.
--
-- abc      32 threads of a warp load page i of b and of a and store to page i of c, in
--          three blocks of 2 MB, without prefetching (uvm-eval 632b47b, abc: by the
--          group of Allen and Ge; the log does not name its card).  Three batches, of
--          56, 8 and 32 faults; 8 are more than a uTLB may have in the buffer.  One
--          setting, how long the driver waits before it reads PUT, was chosen by it.
-- one page Of 64 KB that the CPU has written one thread loads a word: one group of
--          faults and one copy (a public nvprof log, Tesla V100-SXM2-16GB; what its
--          link was is not said, here PCIe 3).
--
-- Sums of larger programs, what oversubscription does and other cards are
-- scenarios/uvm/allen.lua.  Not here: sgemm of the Bede cluster, whose size is not
-- said; 80 and 160 GB of an A100 by faults, hours of a simulation.
--
--     heddle run scenarios/validate/uvm.lua
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"
local k = require "heddle.kernel"
local own = require "cards"
local kernels = require "kernels"

local LARGE = 2 << 20

local arg = H.args(experiment.args {})

local v = common.open { name = "validate/uvm", arg = arg,
    source = "tallendev/uvm-eval; a log of nvprof", title = "faults of managed memory" }
local x = v.x

local abc = k.app { name = "abc", source = "uvm-eval", align = LARGE,
    buffers = function()
        return { k.f64("a", 1 << 18), k.f64("b", 1 << 18), k.f64("c", 1 << 18) }
    end,
    kernels = function(_, b)
        return { k.kernel("foo", { grid = 1, block = 32 }, function(t)
            local i = t.gid * 512
            t:alu(1, { uses = { t:load(b.b, i), t:load(b.a, i) } })
            t:store(b.c, i)
        end) }
    end }
local page = k.app { name = "page", source = "a log of nvprof", align = LARGE,
    buffers = function() return { k.i32("a", 16384) } end,
    kernels = function(_, b)
        return { k.kernel("touch", { grid = 1, block = 1 }, function(t)
            t:load(b.a, 0)
        end) }
    end }

local function managed(name, app, more)
    local settings = { ["vm.paging"] = "fault", ["vm.page"] = "4K" }
    for key, value in pairs(more) do
        settings[key] = value
    end
    return { machine = own.machine(name), seed = arg.seed, settings = settings,
        apps = { kernels.job(app, {}, "uvm.lua") } }
end

local faults, one = table.unpack(x:run {
    managed("titan-v", abc, { ["uvm.perf_prefetch_enable"] = false }),
    managed("v100", page, { ["uvm.host_mapped"] = true }),
})

local function count(r, name)
    return r.kernels[1].counters[name] or 0
end

for _, c in ipairs { { "batches", 3 }, { "packets", 96 }, { "held", 8 },
    { "duplicates", 0 }, { "stale", 0 } } do
    v:row { "titan-v: abc, uvm." .. c[1], unit = "", measured = c[2],
        heddle = count(faults, "uvm." .. c[1]), within = 0, use = "fit" }
end
local us = tonumber(own.machine("v100"):get "clock.core") / 1e6 -- cycles
v:row { "v100: one page of 64 KB, groups of faults", unit = "", measured = 1,
    heddle = count(one, "uvm.batches"), within = 0, use = "test" }
v:row { "v100: one page of 64 KB, bytes copied", unit = "bytes", measured = 65536,
    heddle = count(one, "link.bytes"), tolerance = 0.3, use = "test" }
local waits = 0 -- of its one fault: buffer, host, link, others of its batch
for _, part in ipairs { "wait", "host", "room", "link", "batch" } do
    waits = waits + count(one, ("fault.%s_cycles"):format(part))
end
v:row { "v100: one page of 64 KB, its group", unit = "us", measured = 152,
    heddle = waits / us, tolerance = 0.3, use = "test" }
v:row { "v100: one page of 64 KB, its kernel", unit = "us", measured = 156,
    heddle = kernels.timed(one) / us, tolerance = 0.25, use = "test" }
v:close()
