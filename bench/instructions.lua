--[[
instructions.lua - `make bench-instructions`: what `make bench` measures in
seconds, small, in instructions of the host, which callgrind counts.  They are
the same on a busy machine and a quiet one, so a change of 1 % can be seen.

    heddle run bench/instructions.lua [only=NAME] [against=REVISION]

only= takes a row, or all whose names begin so: only=a100 shows what a card of
today costs, instructions of the host a line of random ones in 64 MB and in 8 GB,
and its ratio to a machine that is the same without levels of uTLBs, sectors and
halves of the L2, and with one of them left out.

With against= the revision is built in a work tree below build/against/ and runs
the same rows: its own binaries, this file's work, and on both the machines that the
revision's presets are, since presets move; settings that only one of the two has are
left at their defaults.  A row is one process; what
it takes to start and to build the machine, the row "start", is taken off the
others.  Instructions say nothing of caches and of waiting: what is slower for
those only `make bench` shows.

A row of the engine alone is bench/engine on a synthetic pattern; of `maxwell`
with that preset's settings.

SPDX-License-Identifier: MIT
]]
local H = require "heddle"
local k = require "heddle.kernel"
local config = require "heddle.config"
local machines = require "heddle.machines"
local runner = require "heddle.runner"
local process = require "heddle.process"

local arg = H.args { only = "", against = "", build = "build/release", jobs = 2,
    row = "", machines = "", json = "out/instructions.json" }

-- ---- what is run -----------------------------------------------------------------

local BASE = "aggressive" -- the machine of bench/least.lua
-- "": the defaults
local MACHINES = { BASE, "maxwell", "mosaic", "etc", "", "a100", "a100 no levels",
    "a100 no sectors", "a100 no halves", "a100 plain" }

-- What a card of today has, off.  Without levels its cores have an L1 TLB as large,
-- and an L2 TLB with as much reach as the card's 8 GB need, the same latency, and as
-- many look-ups a cycle as its groups of cores make.
local OFF = {
    levels = { utlb1 = { entries = 0 }, utlb2 = { entries = 0 },
        utlb3 = { entries = 0 }, l1cache = { order = "beside" },
        l1tlb = { mode = "full", entries = 16, ways = 0 },
        l2tlb = { mode = "full", entries = 4096, ways = 16, latency = 119,
            ports = 16, mshrs = 1024 } },
    sectors = { l1cache = { sector_bytes = 0 },
        l2cache = { sector_bytes = 0, fetch_bytes = 0 } },
    halves = { l2cache = { halves = 1 } },
}
local pinned = arg.machines ~= "" and dofile(arg.machines) or {}

--- The preset, or as it is pinned, as far as this build knows the settings.
local function preset(name)
    local card, without = name:match "^(%S+) (.+)$"
    if not pinned[name] and card then
        local m = H.machine(card)
        for _, piece in ipairs { "levels", "sectors", "halves" } do
            if without == "plain" or without == "no " .. piece then
                m = m(OFF[piece])
            end
        end
        return m
    end
    if not pinned[name] then
        return name ~= "" and H.machine(name) or H.machine()
    end
    local flat, known = {}, {}
    for _, s in ipairs(config.resolve({})) do
        known[s.name] = true
    end
    for key, value in pairs(pinned[name]) do
        flat[key] = known[key] and { value, "pinned" } or nil
    end
    return machines.from_settings(name, flat)
end

local function sim(machine, apps, options)
    local o = { apps = apps, progress = false,
        machine = type(machine) == "string" and preset(machine) or machine }
    for name, v in pairs(options or {}) do
        o[name] = v
    end
    return H.sim(o)
end

--- A run of applications, so many warp instructions long.
local function run(machine, budget, apps, options)
    return function()
        local s <close> = sim(machine, apps(), options)
        s:run(nil)
        assert(budget == 0 or s.instructions >= budget, "a shorter run")
    end
end

local function traced(machine, path, budget, policies)
    return run(machine, budget, function() return { H.trace(path) } end,
        { budget = budget, policies = policies })
end

local function app(machine, name, budget, options)
    return run(machine, budget, function() return { H.app(name, options) } end,
        { budget = budget })
end

local function vecadd(n)
    return H.program(k.app {
        name = "vecadd", source = "benchmark",
        buffers = function()
            return { k.f32("a", n), k.f32("b", n), k.f32("c", n) }
        end,
        kernels = function(_, b)
            return { k.kernel("vecadd", { grid = n // 256, block = 256 },
                function(t)
                    local i = t.gid
                    t:alu(8)
                    local x, y = t:load(b.a, i), t:load(b.b, i)
                    t:alu(2, { uses = { x, y } })
                    t:store(b.c, i, x + y)
                end) }
        end,
    })
end

--- Jumps in three times as many pages as there is memory for.
local function faults(pages, loads, settings)
    return function()
        local o = { ["vm.paging"] = "fault", ["vm.table_frames"] = 4096,
            ["vm.memory_bytes"] = (4096 + pages // 3 // 512 * 512) * 4096,
            ["sim.relaunch"] = false }
        for name, v in pairs(settings) do
            o[name] = v
        end
        local jumps = H.program(k.app {
            name = "jumps", source = "benchmark",
            buffers = function() return { k.i32("m", pages * 1024) } end,
            kernels = function(_, b)
                return { k.kernel("jump", { grid = 512, block = 1 }, function(t)
                    local x = t:var(t.gid * 2654435761 + 12345)
                    t:loop(loads // 512, function()
                        x:set(x * 6364136223846793005 + 1442695040888963407)
                        t:load(b.m, x:lshr(33) % pages * 1024)
                    end)
                end) }
            end,
        })
        local s <close> = sim("etc", { jumps }, { settings = o })
        s:run()
        assert(s:counters().fault.faults > loads // 4, "too few faults")
    end
end

--- Two applications under a policy, C or Lua.
local function twin(name, options)
    return function()
        local d = H.designs[name](options)
        local s <close> = sim(d.apply(preset "mosaic"),
            { H.app("3DS", { size = "S" }), H.app("CFD", { size = "S" }) },
            { policies = d.policies })
        s:run(12000)
    end
end

local ASKED = { name = "asked", tlb_fill = function(q)
    if q.warp < 64 and q.core >= 0 and q.vpn > 0 and q.app >= 0 then
        return "l2tlb"
    end
    return "bypass"
end }

local function snapshots()
    local s <close> = sim(BASE, { H.trace "scenarios/data/gather.hdt" })
    s:run(5000)
    local old
    for _ = 1, 40 do
        s:run(20)
        old = s.core:snapshot(old)
        s:run(20)
        s.core:restore(old)
    end
end

local COLOR = { size = "S", graph = "random", n = 20000 }

-- Name, and a function or words of bench/engine.
local ROWS = {
    { "start", function()
        local s <close> = sim(BASE, { vecadd(256) })
        s:run(1)
    end },
    { "stream", "stream sim.stop_cycles=40000" },
    { "column", "column sim.stop_cycles=40000" },
    { "random", "random sim.stop_cycles=40000" },
    { "random.odd", "random sim.stop_cycles=40000 l2cache.slices=20" },
    { "stream.sectors", "stream sim.stop_cycles=40000 l1cache.sector_bytes=32 "
        .. "l2cache.sector_bytes=32 l1cache.write=through" },
    { "stream.maxwell", "stream sim.stop_cycles=15000", "maxwell" },
    { "random.maxwell", "random sim.stop_cycles=20000", "maxwell" },
    { "a100.64m", "random64m", "a100" },
    { "a100.64m.plain", "random64m", "a100 plain" },
    { "a100.64m.no-levels", "random64m", "a100 no levels" },
    { "a100.64m.no-sectors", "random64m", "a100 no sectors" },
    { "a100.64m.no-halves", "random64m", "a100 no halves" },
    { "a100.8g", "random8g", "a100" },
    { "a100.8g.plain", "random8g", "a100 plain" },
    { "a100.8g.no-levels", "random8g", "a100 no levels" },
    { "a100.8g.no-sectors", "random8g", "a100 no sectors" },
    { "a100.8g.no-halves", "random8g", "a100 no halves" },
    { "vecadd.xz", traced(BASE, "build/bench/vecadd/kernelslist.g", 60000) },
    { "gather.xz", traced(BASE, "build/bench/gather/kernelslist.g", 6000) },
    { "vecadd.box", traced(BASE, "scenarios/data/vecadd.hdt", 300000) },
    { "gather.box", traced(BASE, "scenarios/data/gather.hdt", 20000) },
    { "vecadd.box.maxwell", traced("maxwell", "scenarios/data/vecadd.hdt",
        300000) },
    { "program", run(BASE, 0, function() return { vecadd(1 << 19) } end) },
    { "app.COLOR", app(BASE, "COLOR", 100000, COLOR) },
    { "app.COLOR.maxwell", app("maxwell", "COLOR", 100000, COLOR) },
    { "app.MM", app(BASE, "MM", 3000000, { size = "S" }) },
    { "app.MM.maxwell", app("maxwell", "MM", 3000000, { size = "S" }) },
    { "gather.asked", traced(BASE, "scenarios/data/gather.hdt", 20000,
        { ASKED }) },
    { "mask", twin("mask", { epoch = 2000 }) },
    { "mask.lua", twin("mask", { epoch = 2000, policy = "policies/mask.lua" }) },
    { "mosaic", twin("mosaic", {}) },
    { "mosaic.lua", twin("mosaic", { policy = "policies/mosaic.lua" }) },
    { "faults", faults(6144, 20000, { ["vm.page"] = "4K", ["evict.unit"] = "4K",
        ["fault.prefetch"] = "none" }) },
    { "faults.driver", faults(6144, 3000, { ["uvm.mode"] = "driver",
        ["fault.prefetch"] = "driver", ["vm.page"] = "4K" }) },
    { "snapshot", snapshots },
}

-- What the machines are here, for another build.
if arg.row == "machines" then
    local out = { "return {\n" }
    for _, name in ipairs(MACHINES) do
        local known, m = pcall(preset, name) -- a build may be older than a preset
        if known then
            out[#out + 1] = ("[%q] = {\n"):format(name)
            for _, s in ipairs(config.resolve(m.settings)) do
                out[#out + 1] = ("[%q] = %q,\n"):format(s.name, tostring(s.value))
            end
            out[#out + 1] = "},\n"
        end
    end
    local f <close> = assert(io.open(arg.json, "w"))
    f:write(table.concat(out), "}\n")
    return
end

-- A row, in a process of its own: this is what is counted.
if arg.row ~= "" then
    for _, r in ipairs(ROWS) do
        if r[1] == arg.row then
            return r[2]()
        end
    end
end

-- ---- counting ---------------------------------------------------------------------

--- A machine as words for bench/engine of any build: what differs from a build's
-- defaults.
local function settings_of(name)
    local words, old, plain = {}, pinned[""], H.machine()
    for _, s in ipairs(config.resolve(preset(name).settings)) do
        local default = tostring(plain:get(s.name))
        if tostring(s.value) ~= default or old and old[s.name]
            and old[s.name] ~= default then
            words[#words + 1] = ("'%s=%s'"):format(s.name, s.value)
        end
    end
    return table.concat(words, " ")
end

local function command(r, build)
    if type(r[2]) == "string" then
        return ("%s/bench/engine %s %s"):format(build, r[2],
            settings_of(r[3] or ""))
    end
    return ("%s/heddle run bench/instructions.lua row=%s machines=%s"):format(build,
        r[1], arg.machines)
end

--- Instructions of a command and the lines that it says it had, or nil and what it
-- printed.
local function count(line)
    local pipe = assert(io.popen("env -i PATH=/usr/bin:/bin LC_ALL=C valgrind "
        .. "--tool=callgrind --callgrind-out-file=/dev/null " .. line
        .. " 2>&1 </dev/null", "r"))
    local text = pipe:read "a"
    local n, lines = text:match "Collected : (%d+)", text:match "(%d+) lines"
    if line:find "engine random%d" and not lines then
        return nil, "no such pattern" -- in an older build
    end
    if (pipe:close() or text:find "HEDDLE_STOPPED") and n then -- at stop_cycles
        return math.tointeger(n), math.tointeger(lines)
    end
    return nil, text
end

--- The build of a revision, made where there is none yet.
local function built(revision)
    local pipe = assert(io.popen("git rev-parse --verify -q '" .. revision
        .. "^{commit}'"))
    local sha = pipe:read "l"
    if not pipe:close() or not sha then
        error({ usage = ("against=%s: no such revision"):format(revision) }, 0)
    end
    local tree = "build/against/" .. sha:sub(1, 12)
    local line = ("{ [ -d %s ] || git worktree add -q --detach -f %s %s; } && "
        .. "make -C %s -j%d VARIANT=release SANITIZER= build/release/heddle "
        .. "build/release/bench/engine >/dev/null"):format(tree, tree, sha, tree,
        arg.jobs)
    io.stderr:write("  building ", tree, "\n")
    assert(os.execute(line), "the build failed: " .. line)
    return tree .. "/build/release", sha:sub(1, 12)
end

if not os.execute "valgrind --version >/dev/null 2>&1" then
    error("valgrind is needed, which counts instructions (apt-get install "
        .. "valgrind)", 0)
end
local builds, names = { arg.build }, { "now" }
if arg.against ~= "" then
    builds[2], names[2] = built(arg.against)
    arg.machines = ("build/against/%s.machines"):format(names[2])
    assert(os.execute(("%s/heddle run bench/instructions.lua row=machines json=%s")
        :format(builds[2], arg.machines)))
    pinned = dofile(arg.machines)
end
-- The text of the traces, once.
assert(os.execute(arg.build .. "/heddle run bench/text.lua >/dev/null"))

local jobs = {}
for i, r in ipairs(ROWS) do
    if arg.only == "" or r[1] == arg.only or r[1] == "start"
        or r[1]:sub(1, #arg.only + 1) == arg.only .. "." then
        for b = 1, #builds do
            jobs[#jobs + 1] = { row = i, build = b }
        end
    end
end
if #jobs == #builds and arg.only ~= "start" and arg.only ~= "" then
    local list = {}
    for i, r in ipairs(ROWS) do list[i] = r[1] end
    local near = require("heddle.index").nearest(arg.only, list)
    error({ usage = ("only=%s: no such row%s"):format(arg.only, near
        and (" (did you mean '%s'?)"):format(near) or "") }, 0)
end

local got, lines, ended, t0 = {}, {}, 0, os.time()
runner.spread(#jobs, arg.jobs, function(i)
    local j = jobs[i]
    local n, more = count(command(ROWS[j.row], builds[j.build]))
    return { ok = n ~= nil, result = n and { n = n, lines = more or nil }
        or { message = more } }
end, function(i, m)
    local j = jobs[i]
    ended = ended + 1
    if not m.ok and j.build == 1 then
        error(("%s on %s failed:\n%s"):format(ROWS[j.row][1], names[j.build],
            m.result.message), 0)
    end
    got[j.row] = got[j.row] or {}
    got[j.row][j.build] = m.ok and m.result.n -- false: a build that lacks the setting
    lines[j.row] = m.ok and m.result.lines or lines[j.row]
    io.stderr:write(("  %2d of %d  %s\n"):format(ended, #jobs, ROWS[j.row][1]))
end)

-- ---- the table ----------------------------------------------------------------------

local out, list, slower = { { "what", "M instructions" } }, {}, 0
if builds[2] then
    out[1] = { "what", "M instructions", "at " .. names[2], "change", "" }
end
for i, r in ipairs(ROWS) do
    if got[i] then
        local row, entry = { r[1] }, { name = r[1] }
        local net = {}
        for b = 1, #builds do
            local lua = type(r[2]) ~= "string" and i ~= 1
            net[b] = got[i][b] and got[i][b] - (lua and got[1][b] or 0)
            row[#row + 1] = net[b] and ("%.2f"):format(net[b] / 1e6) or "refused"
            entry[names[b]] = net[b] or nil
        end
        if net[2] then
            local change = 100 * (net[1] / net[2] - 1)
            slower = slower + (change > 1 and 1 or 0)
            row[#row + 1] = ("%+.2f %%"):format(change)
            row[#row + 1] = change > 1 and "MORE" or change < -1 and "less" or ""
        end
        out[#out + 1], list[#list + 1] = row, entry
    end
end
io.write(H.report.table(out))

-- A card beside what it is without its pieces.
local by_name = {}
for i, r in ipairs(ROWS) do
    by_name[r[1]] = i
end
for i, r in ipairs(ROWS) do
    local n, plain = got[i], got[by_name[r[1] .. ".plain"]]
    if n and plain and n[1] and plain[1] and lines[i] then
        local per = function(name)
            local j = by_name[r[1] .. name]
            return got[j] and got[j][1] and got[j][1] / lines[j]
        end
        local all = n[1] / lines[i]
        io.write(("\n%s: %.0f a line, plain %.0f: %.3f times"):format(r[1], all,
            per ".plain", all / per ".plain"))
        for _, piece in ipairs { "levels", "sectors", "halves" } do
            local rest = per(".no-" .. piece)
            if rest then
                io.write(("; %s %.0f"):format(piece, all - rest))
            end
        end
        io.write "\n"
    end
end
if builds[2] then
    io.write(("\n%d of %d rows take more than 1 %% more instructions than %s; "
        .. "%d s\n"):format(slower, #list, names[2], os.time() - t0))
end
if arg.json ~= "" then
    process.mkdir(arg.json:match "^(.+)/" or ".")
    H.report.json({ heddle = H.version, against = names[2], rows = list },
        arg.json)
    io.write("written: ", arg.json, "\n")
end
