-- 312-core-apps.lua - pins: when an application has issued its budget, to the
-- cycle; from when on it counts where it has a start of its
-- own, and what belongs to none counts from the first of these instants; which
-- core gets the next block, and in how many cores' room by each limit; what runs
-- again, and what stays when it ends.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local kernel = require "heddle.kernel"
local H = require "heddle"

local SMALL = whole.join(whole.SMALL, { ["core.count"] = 2 })

local function build(own, settings, options)
    return whole.sim({ whole.column(6, 12), H.app("MM", whole.join({
        size = "T" }, own)) }, whole.join(SMALL, settings or {}), options)
end

-- ---- budgets ---------------------------------------------------------------------

-- One warp on each of so many cores of each application, and a slot of four cycles
-- an instruction.
for cores = 1, 3 do
    local function cycles(budget, n)
        local app = H.program(kernel.app { name = "alu",
            buffers = function() return { kernel.i32("a", 32) } end,
            kernels = function() return { kernel.kernel("alu",
                { grid = cores, block = 32 }, function(t) t:alu(200) end) } end })
        local sim <close> = whole.sim(n == 1 and { app } or { app, app }, {
            ["core.count"] = cores * n, ["core.lanes"] = 32,
            ["core.width"] = 8, ["core.ilp"] = 0 },
            { budget = budget, relaunch = false })
        sim:run()
        local first = sim.core:apps()[1].cycles
        for _, a in ipairs(sim.core:apps()) do
            if a.instructions ~= budget or not a.finished or not a.truncated
                or a.cycles ~= first then
                return "other"
            end
        end
        return first
    end
    for apps = 1, 2 do
        local first, bad = cycles(1, apps), nil
        for _, n in ipairs { 2, 3, 4, 5, 6, 7, 8, 9, 50, 51, 97, 200 } do
            local want = first + 4 * ((n + cores - 1) // cores - 1)
            local got = cycles(n, apps)
            bad = got ~= want and ("%d: %s cycles, not %d"):format(n, got, want)
                or bad
        end
        tap.is(bad, nil, ("a budget ends when its last instruction leaves the "
            .. "port, applications: %d, cores of each: %d"):format(apps, cores))
    end
end

-- ---- starts of its own --------------------------------------------------------------

--- What belongs to no application, at the end of so many cycles.
local function unowned(sim, cycles)
    sim:run(cycles - sim.now)
    local out, values = {}, sim.core:counter_values()
    for i, c in ipairs(sim.core:counters()) do
        local sum = 0
        for _, v in ipairs(values[i][3] or {}) do
            sum = sum + v
        end
        out[c.component .. "." .. c.name] = not c.peak and sum ~= 0 and sum
            or nil
    end
    return out
end

do
    local START, END = 90, 4000
    local head <close> = build { budget = START }
    head:run()
    local t0 = head.core:apps()[2].cycles
    local plain <close> = build()
    local early = {}
    for _, t in ipairs { t0 // 2, t0 } do
        early[t] = unowned(plain, t)
    end
    local all = unowned(plain, END)
    tap.ok(all["dram.cycles"] and all["dram.cycles"] > 0, "memory has cycles")
    for _, warmup in ipairs { 0, t0 // 2, t0 + 300, 3000 } do
        local from = early[math.min(warmup, t0)] or {}
        local sim <close> = build({ start = START }, nil, { warmup = warmup })
        local got, bad = unowned(sim, END)
        for name, v in pairs(all) do
            local want = v - (from[name] or 0)
            bad = got[name] ~= want and ("%s: %s, not %d"):format(name,
                got[name], want) or bad
        end
        tap.is(bad, nil, ("a warm-up of %d and a start at %d: what is no "
            .. "application's counts from the first"):format(warmup, t0))
        local a = sim.core:apps()
        tap.is(a[2].cycles, END - t0, "the application from its start")
        tap.is(a[1].cycles, END - warmup, "the other from the warm-up's end")
        tap.is(a[2].before, START, "and what came before is known")
    end
end

-- ---- blocks ----------------------------------------------------------------------------

--- Blocks of `shape` that find room on each of two cores, at most; and the cores
-- of the first eight.
local function placed(shape, settings)
    local app = H.program(kernel.app { name = "crowd",
        buffers = function() return { kernel.i32("a", 32) } end,
        kernels = function() return { kernel.kernel("crowd", whole.join(
            { grid = 24 }, shape), function(t) t:alu(3000) end) } end })
    local sim <close> = whole.sim({ app }, whole.join(SMALL, {
        ["core.lanes"] = 32, ["core.width"] = 32, ["core.blocks"] = 16,
        ["core.warps"] = 32, ["core.threads"] = 640, ["core.regs"] = 65536,
        ["core.shared_bytes"] = 4096, ["sim.relaunch"] = false }, settings))
    sim:use { name = "look", state = { most = 0, first = {} },
        block_place = function(q, s)
            local best = 1
            for i = 1, q.n do
                s.most = math.max(s.most, q.resident[i] + 1)
                best = q.resident[i] < q.resident[best] and i or best
            end
            if #s.first < 8 then
                s.first[#s.first + 1] = q.core[best]
            end
        end }
    tap.is(sim:run(), "done", "all blocks find room in the end")
    local state = sim:used()[1].state
    return state.most, state.first
end

for _, o in ipairs {
    { "blocks", { block = 32 }, { ["core.blocks"] = 3 }, 3 },
    { "warps", { block = 96 }, { ["core.warps"] = 8 }, 2 },
    { "warps, all of them", { block = 96 }, { ["core.warps"] = 9 }, 3 },
    { "threads", { block = 128 }, {}, 5 },
    { "threads, one too few", { block = 128 }, { ["core.threads"] = 639 }, 4 },
    { "shared memory", { block = 32, shared = 1024 }, {}, 4 },
    { "shared memory, a byte more", { block = 32, shared = 1028 }, {}, 3 },
} do
    local most, first = placed(o[2], o[3])
    tap.is(most, o[4], "blocks on a core by " .. o[1])
    tap.same({ first[1], first[2], first[3], first[4] }, { 0, 1, 0, 1 },
        "in turn")
end

-- ---- launches that are asked for ---------------------------------------------------------

do
    local app = H.program(kernel.app { name = "launches",
        buffers = function() return { kernel.i32("a", 32) } end,
        kernels = function()
            local list = {}
            for i = 1, 6 do
                list[i] = kernel.kernel("k" .. i, { block = 32 }, function(t)
                    t:alu(i)
                end)
            end
            return list
        end })
    for _, o in ipairs { { 1, 0, "123456" }, { 1, 6, "123456" },
        { 1, 5, "12345" }, { 1, 1, "1" }, { 2, 2, "2" }, { 6, 6, "6" },
        { 3, 4, "34" }, { 5, 0, "56" }, { 4, 9, "456" } } do
        local first, last, want = table.unpack(o)
        local sim <close> = whole.sim({ app }, whole.join(SMALL, {
            ["sim.first_kernel"] = first, ["sim.last_kernel"] = last,
            ["sim.relaunch"] = false }))
        sim:run()
        local got = ""
        for _, k in ipairs(sim.core:kernels()) do
            got = got .. k.name:sub(2)
        end
        tap.is(got, want, ("launches %d to %d"):format(first, last))
    end
    tap.raises(function()
        local sim <close> = whole.sim({ app }, whole.join(SMALL, {
            ["sim.first_kernel"] = 7 }))
        sim:run()
    end, "sim.first_kernel: 7 is expected to be at most 6",
        "a first launch that there is not")
end

tap.done()
