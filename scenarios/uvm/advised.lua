--- uvm/advised.lua - a KV cache and embedding tables larger than memory: faults,
-- advice, prefetches, access counters.
--
-- No paper's figure.  Decode of sequences that take turns (KVSWAP, kind=uvm: a
-- cycle, LRU's worst case) and pooled look-ups of embedding rows (EMBBAG: Zipf over
-- scattered rows) run in the driver's mode with memory for all, and with the
-- footprint / 1.25 and / 2.  What is said of the large buffer differs:
--
--     faults       nothing: pages come when they are touched
--     accessed_by  mapped on the host from the start and used over the link
--                  (EMOGI's SetAccessedBy, which never migrates)
--     host         preferred there: mapped where it is when it faults
--     read_mostly  the host keeps a copy: what leaves is not written back
--     prefetch     KVSWAP: the sequences of the next step, next to this one's decode
--                  (cudaMemPrefetchAsync in a second stream), those of the first before
--                  it; EMBBAG: all of the tables before the launch
--     counters     the driver's access counters, which bring what is used often over
--                  the link (uvm.perf_access_counter_migration_enable), with accessed_by
--
-- Time is set against that of faults with memory for all.  MB in are pages that
-- arrived, out those written back, remote what was read and written over the link
-- where it is; the link is busy with the transfers of pages.
--
-- quick is some 22 s of a core (time: 22.3 s user, jobs=2), full some minutes.
--
--     heddle run scenarios/uvm/advised.lua [scale=full] [machine=v100]
--         [programs=KVSWAP,EMBBAG]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local app = require "heddle.app"
local experiment = require "heddle.experiment"
local uvm = require "common"

local k, total = H.kernel, uvm.total

local arg = H.args(experiment.args { programs = "", machine = "v100" })

-- By scale: parameters; and the buffer that is spoken of.
local PROGRAMS = {
    KVSWAP = { large = "cache",
        quick = { size = "S", kind = "uvm", seqs = 16, active = 4, moved = 2,
            len = 384, heads = 4, kv_heads = 4, steps = 8 },
        full = { size = "M", kind = "uvm", seqs = 64, active = 16, moved = 8,
            heads = 8, steps = 12 } },
    EMBBAG = { large = "W",
        quick = { size = "S", tables = 2, bags = 256 },
        full = { size = "M", bags = 4096 } },
}
local DIRECT = { accessed_by = true }
local CASES = {
    { "faults" },
    { "accessed_by", advise = DIRECT },
    { "host", advise = { preferred = "host" } },
    { "read_mostly", advise = { read_mostly = true } },
    { "prefetch", prefetch = true },
    { "counters", advise = DIRECT, settings = {
        ["uvm.perf_access_counter_migration_enable"] = true } },
}
local SHARES = { 100, 125, 200 }
local TABLES = 4096
local NAMES = uvm.words(arg.programs, { "KVSWAP", "EMBBAG" })

-- ---- programs -----------------------------------------------------------------

-- The parts of KVSWAP's cache that a step reads: { offset, bytes } of each sequence, K
-- and V; its blocks are side by side, since none has ever left.
local function ranges(p, b, step)
    local out, block = {}, p.kv_heads * 4096
    local blocks = b.cache.count // (2 * p.layers * p.kv_heads * 1024)
    local width = b.table.count // (p.steps * p.active)
    for i = 0, p.active - 1 do
        local row = step * p.active + i
        local n = (b.lens.data[row + 1] + 15) // 16
        for part = 0, 2 * p.layers - 1 do
            out[#out + 1] = { (part * blocks + b.table.data[row * width + 1]) * block,
                n * block }
        end
    end
    return out
end

-- Launches of KVSWAP, with prefetches of the next step next to those of one.
local function ahead(p, b, list)
    for i, launch in ipairs(list) do
        local step = (i - 1) // p.layers
        if i % p.layers == 0 and step + 1 < p.steps then
            local next_step = ranges(p, b, step + 1)
            launch.beside = function(h)
                for _, r in ipairs(next_step) do
                    h.prefetch(b.cache, "gpu", r[1], r[2])
                end
            end
        end
    end
    local first = {}
    for i, r in ipairs(ranges(p, b, 0)) do
        first[i] = { b.cache, offset = r[1], bytes = r[2] }
    end
    list[1].prefetch = first
    return list
end

local function application(name, case)
    local a, of = app.get(name), PROGRAMS[name]
    local p = a:parameters(of[arg.scale])
    return H.program(k.app { name = name, align = 2 << 20,
        buffers = function()
            local list = a.buffers(p)
            for _, b in ipairs(list) do
                if b.name == of.large then b.advise = case.advise end
            end
            return list
        end,
        kernels = function(_, b)
            local list = a.kernels(p, b)
            if not case.prefetch then return list end
            if name == "KVSWAP" then return ahead(p, b, list) end
            return { { list[1], prefetch = { b[of.large] } } }
        end }), a.footprint(p)
end

-- ---- runs -----------------------------------------------------------------------

local x = experiment.open {
    name = "uvm/advised", source = "beyond the papers: programs of today",
    title = "a KV cache and embedding tables larger than memory", arg = arg,
}
x:say("%s, uvm.mode=driver, pages of 4 KB; memory: the footprint, / 1.25, / 2",
    arg.machine)

local jobs, runs = {}, {}
for _, name in ipairs(NAMES) do
    if not PROGRAMS[name] then
        error(("programs: KVSWAP and EMBBAG are possible, not '%s'"):format(name), 0)
    end
    for _, share in ipairs(SHARES) do
        for i, case in ipairs(CASES) do
            local program, footprint = application(name, case)
            -- a buffer begins at 2 MB, and each has a block of its own at its end
            local bytes = share == 100 and footprint + (16 << 20)
                or footprint * 100 // share
            local settings = { ["vm.paging"] = "fault", ["uvm.mode"] = "driver",
                ["vm.page"] = "4K", ["vm.table_frames"] = TABLES,
                ["vm.memory_bytes"] = TABLES * 4096 + (bytes + 4095) // 4096 * 4096,
                ["sim.relaunch"] = false }
            for s, v in pairs(case.settings or {}) do settings[s] = v end
            jobs[#jobs + 1] = { machine = arg.machine, seed = arg.seed,
                apps = { program }, settings = settings }
            runs[#jobs] = { name = name, share = share, case = case[1], number = i,
                footprint = footprint }
        end
    end
end

local rows = { { "program", "memory", "case", "time", "faults", "batches", "MB in",
    "MB out", "refaults", "MB remote", "link busy" } }
local chart = { groups = {}, series = {}, unit = "times",
    xlabel = "program, and memory",
    title = "Time, that of faults with memory for all as 1" }
for i, case in ipairs(CASES) do chart.series[i] = { name = case[1], values = {} } end
local whole, mean = {}, {}
for i, r in ipairs(x:run(jobs)) do
    local run = runs[i]
    local group = (i - 1) // #CASES + 1
    local memory = run.share == 100 and "all" or ("/ %.2f"):format(run.share / 100)
    chart.groups[group] = run.name .. " " .. memory
    if run.share == 100 and run.number == 1 then whole[run.name] = r.cycles end
    local time = r.cycles / whole[run.name]
    chart.series[run.number].values[group] = time
    local key = memory .. ", " .. run.case
    mean[key] = (mean[key] or 0.0) + time / #NAMES
    rows[#rows + 1] = { run.name, memory, run.case, ("%.2f"):format(time),
        total(r, "fault.faults"), total(r, "uvm.batches"),
        ("%.1f"):format(total(r, "fault.pages") / 256),
        ("%.1f"):format(total(r, "evict.bytes") / (1 << 20)),
        H.report.percent(total(r, "evict.refaults")
            / math.max(total(r, "fault.pages"), 1)),
        ("%.1f"):format((total(r, "remote.in_bytes")
            + total(r, "remote.out_bytes")) / (1 << 20)),
        H.report.percent(total(r, "link.busy_cycles") / (2 * r.cycles)) }
end
for _, memory in ipairs { "/ 1.25", "/ 2.00" } do
    for _, case in ipairs(CASES) do
        x:quantity { ("mean time, memory %s, %s"):format(memory, case[1]),
            heddle = mean[memory .. ", " .. case[1]], unit = "times" }
    end
end
x:table("time, that of faults with memory for all as 1; what moves", rows)
x:bars(chart)
x:close()
