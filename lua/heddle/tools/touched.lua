--- touched.lua - memory as a share of what applications touch.
--
--     H.sim { machine = "etc", apps = { H.app("ATAX") }, memory = "75%",
--         settings = { ["vm.paging"] = "fault" } }
--
-- Papers on oversubscription give memory as a percentage of a program's (ETC,
-- ASPLOS 2019: 75 and 50 %).  100 % is what the applications touch: the pages of
-- 4 KB that migrate in a run with memory for all, the most of each application at
-- once.  The share of it is rounded up to whole pages of what migrates together
-- (unit_of), and the frames of page tables, vm.table_frames, come on top.
--
-- What is touched must not depend on what a series compares, or its runs would
-- have different memories.  So nothing is prefetched in that run, no policy is
-- bound, and whole applications run on a machine whose TLBs and caches always
-- hit: they touch the same pages on any.  Where a budget, a warm-up or a stop ends
-- an application early, how far its warps came decides what was touched; then the
-- run is on the machine itself, with the papers' far faults.
--
-- It is made once: the bytes are kept in the store, by the run that found them
-- (store.keep), and of applications that have no text in this process.  Jobs of a
-- series find them before their processes begin.  Left out: pages that only the
-- host touches, and what a buffer of the driver takes in chunks without touching
-- it, so 100 % may be less than such a machine needs.
--
-- SPDX-License-Identifier: MIT
local config = require "heddle.config"
local core = require "heddle.core"
local runner = require "heddle.runner"
local script = require "heddle.script"
local workload = require "heddle.workload"

local touched = {
    known = {},       -- bytes, by the key of the run, in this process
    PATIENCE = 200000000, -- core cycles without a new page before it is given up
}

local SLICE = 1000000 -- core cycles
local BASE = 4096
local UNITS = { ["4K"] = BASE, ["64K"] = 65536, ["2M"] = 2 << 20 }

--- Memory for all, a first try, and page tables for it.
local PLENTY, TABLES = 3 << 30, 4096

--- Groups of settings that whole applications keep in that run, and those that
-- decide on far faults and memory, which none keeps.
local WHOLE = { core = true, sim = true }
local PAGING = { fault = true, uvm = true, evict = true, remote = true,
    compress = true, memory = true, vm = true, sample = true, throttle = true }

--- Settings that are kept, or not, whatever their group is.
local KEPT = { ["memory.free_at_end"] = true, ["vm.entry_bytes"] = true,
    ["sim.check"] = false, ["sim.translation"] = false }

--- What always hits.
local IDEAL = { ["l1tlb.mode"] = "ideal", ["l1cache.mode"] = "ideal" }

local function fail(code, format, ...)
    error(core.error(code, "H.sim: memory: " .. format:format(...)), 0)
end

--- The number of a share in percent.
local function percent_of(share)
    local n = type(share) == "string"
        and tonumber(share:match "^%s*([%d.]+)%s*%%%s*$")
    if not n then
        fail(-2, "a share of what the applications touch is expected, such as "
            .. "\"75%%\", not %s; bytes are the setting vm.memory_bytes",
            type(share) == "string" and "'" .. share .. "'"
            or type(share) == "number" and tostring(share)
            or "a " .. type(share))
    elseif n <= 0 or n > 1000 then
        fail(-2, "more than 0 %% and at most 1000 %% are expected, not '%s'",
            share)
    end
    return n
end

--- Bytes that migrate together, or take their memory together.
local function unit_of(c)
    local chunks = c:get "uvm.mode" == "driver" and c:get "uvm.chunks" == "true"
        and c:get "evict.unit" == "2M" and c:get "compress.enable" ~= "true"
    return math.max(UNITS[c:get "vm.page"],
        UNITS[c:get "fault.transfer"] or BASE, chunks and UNITS["2M"] or 0)
end

-- ---- the run with memory for all ------------------------------------------------

--- Whether an application may end before it has done all of its work.
local function ends_early(apps, c)
    for _, a in ipairs(apps) do
        a = workload.from(a)
        if a.budget or a.start then
            return true
        end
    end
    return c:get "sim.budget" ~= "0" or c:get "sim.warmup" ~= "0"
        or c:get "sim.stop_cycles" ~= "0"
end

--- The options of the run, but for its memory.
local function job_of(o, machine, c)
    local early, settings = ends_early(o.apps, c), {}
    for name, of in pairs(machine.settings) do
        local group, kept = name:match "^[^.]*", KEPT[name]
        if kept == nil then
            kept = WHOLE[group] or early and not PAGING[group]
        end
        settings[name] = kept and of[1] or nil
    end
    for k, v in pairs(early and {} or IDEAL) do
        settings[k] = v
    end
    settings["vm.paging"], settings["vm.page"] = "fault", "4K"
    return { machine = require("heddle.machines").from_settings("memory for all",
        config.flatten(settings)), apps = o.apps }
end

--- Base pages that are resident, the most of each application at once, and units
-- that were evicted.
local function pages_of(sim)
    local pages, evicted = 0, 0
    for i, c in ipairs(sim.core:counters()) do
        local name = c.component .. "." .. c.name
        if name == "memory.mapped_peak" or name == "evict.evictions" then
            for a, instances in ipairs(sim.core:counter_values()[i]) do
                for _, v in ipairs(instances) do
                    if c.component == "evict" then
                        evicted = evicted + v
                    elseif a <= #sim.apps then
                        pages = pages + v
                    end
                end
            end
        end
    end
    return pages, evicted
end

--- Runs the applications in so many bytes: what they touch, or nil: it is not
-- memory for all.
local function try(job, bytes, c, progress)
    local tables = TABLES * (bytes // PLENTY)
        * (math.tointeger(c:get "vm.entry_bytes") // 8)
    local sim <close> = require("heddle.sim").sim {
        machine = job.machine:with { ["vm.memory_bytes"] = bytes,
            ["vm.table_frames"] = tables },
        apps = job.apps, progress = progress, label = "memory for all",
    }
    local pages, since = 0, 0
    while sim:run(SLICE) == "ok" do
        local now = pages_of(sim)
        if now > pages then
            pages, since = now, sim.now
        elseif sim.now - since > touched.PATIENCE then
            fail(-2, "the applications have not ended after %d cycles, of "
                .. "which the last %d touched no new page; one that never ends "
                .. "needs a budget", sim.now, sim.now - since)
        end
    end
    local all, evicted = pages_of(sim)
    return evicted == 0 and all * BASE or nil
end

--- Runs them without what the command does with simulations of the script.
local function run(job, c, progress)
    local options, kept = script.options, {}
    for _, k in ipairs { "check", "follow", "checkpoint", "timeline" } do
        kept[k], options[k] = options[k], nil
    end
    local ok, got = pcall(function()
        local bytes, found = PLENTY
        repeat
            found = try(job, bytes, c, progress)
            bytes = 4 * bytes
        until found or bytes > 64 * PLENTY
        return found or fail(-2, "the applications touch more than %d bytes",
            bytes // 4)
    end)
    for k, v in pairs(kept) do
        options[k] = v
    end
    return ok and got or error(got, 0)
end

--- The folder of the store: that of the series, of the script, or the usual one.
local function folder()
    return script.store or rawget(script.arg, "cache") or "out/cache"
end

--- Bytes that the applications of H.sim's options touch.
local function find(o, machine, c)
    local job = job_of(o, machine, c)
    local id = runner.key(job)
    local bytes = id and touched.known[id]
    if not bytes then
        local key = runner.key(job, true)
        local function make()
            return run(job, c, o.progress)
        end
        bytes = key and require("heddle.store").keep("touched\n" .. key,
            folder(), make) or make()
        touched.known[id or 0] = id and bytes or nil
    end
    return bytes, id
end

-- ---- for simulations and series ---------------------------------------------------

--- What the options of H.sim say of memory, checked: percent, and the settings as
-- the engine has them.
local function read(o, machine)
    local percent, c = percent_of(o.memory), config.build(machine.settings, true)
    if config.flatten(o.settings or {})["vm.memory_bytes"] then
        fail(-2, "%s of what is touched, or the setting vm.memory_bytes is "
            .. "expected, not both", o.memory)
    elseif c:get "vm.paging" ~= "fault" then
        fail(-2, "a share needs vm.paging = fault, not %s: without far faults "
            .. "all pages are in memory before they are touched",
            c:get "vm.paging")
    end
    return percent, c
end

--- The machine with the memory that the options of H.sim ask for, and what came
-- of it: { share, touched, for_pages, bytes }.
function touched.machine(o, machine)
    local percent, c = read(o, machine)
    local unit, of = unit_of(c), find(o, machine, c)
    if of == 0 then
        fail(-2, "the applications touch nothing, so there is no share of it")
    end
    local share = o.memory:gsub("%s", "")
    local pages = math.max(1, math.ceil(of * percent / 100 / unit - 1e-9)) * unit
    local tables = math.tointeger(c:get "vm.table_frames")
    local set = {}
    if tables == 0 then -- as the engine sizes them, of what is for pages
        tables = math.max(TABLES, pages // (480 * BASE) + 64)
        set["vm.table_frames"] = tables > TABLES and tables or nil
    end
    local bytes = pages + BASE * tables
    set["vm.memory_bytes"] = bytes
    return machine:with(set,
        ("%s of the %d bytes that the applications touch, and page tables")
        :format(share, of)), { share = share, touched = of, for_pages = pages,
        bytes = bytes }
end

--- Finds what the jobs of a series touch, `most` at once, before they begin.  What
-- is wrong with one is said when it runs.
function touched.ahead(jobs, most)
    local list, seen = {}, {}
    for _, o in ipairs(jobs) do
        local ok, machine = pcall(function()
            local m = require("heddle.sim").machine(o)
            local _, c = read(o, m)
            local id = runner.key(job_of(o, m, c))
            return id and not touched.known[id] and not seen[id]
                and { o, m, c, id } or nil
        end)
        if ok and machine then
            list[#list + 1], seen[machine[4]] = machine, true
        end
    end
    local function one(i)
        local o = {}
        for k, v in pairs(list[i][1]) do
            o[k] = v
        end
        o.progress = o.progress ~= false and most <= 1
        local ok, bytes = pcall(find, o, list[i][2], list[i][3])
        return { ok = ok, result = ok and bytes or nil }
    end
    if most <= 1 or #list <= 1 then
        for i in ipairs(list) do
            one(i)
        end
    elseif runner.spread(#list, most, one, function(i, m)
        touched.known[list[i][4]] = m.ok and m.result or nil
    end) then
        error(core.error(-130, "interrupted"), 0)
    end
end

--- What came of a share, in words.
function touched.text(m)
    return ("memory: %s of the %d bytes that the applications touch: %d bytes, and "
        .. "%d for page tables"):format(m.share, m.touched, m.for_pages,
        m.bytes - m.for_pages)
end

return touched
