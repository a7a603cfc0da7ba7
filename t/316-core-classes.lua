--[[
316-core-classes.lua - sub-cores, classes of instructions, banks.

Pinned, in closed form and with a latency or an interval a cycle to either side:
a dependent chain takes the latency of its class for each instruction, and
independent ones the interval, whichever class; two classes do not take each
other's pipes; 1, 2, 4 sub-cores issue 1, 2, 4 instructions a cycle, each those of
its own warps; shared memory holds its banks for the words of the fullest one,
which a table in Lua counts as well, and all sub-cores share it; traces say the
same by opcode and register as programs do by options, as text and as a container;
what cannot be is refused in words.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local k = require "heddle.kernel"

local BASE = { ["core.count"] = 1, ["core.lanes"] = 32, ["core.width"] = 32,
    ["core.classes"] = true, ["sim.translation"] = "off", ["sim.check"] = true }

local function simulate(app, settings, more)
    local s = {}
    for name, v in pairs(BASE) do s[name] = v end
    for name, v in pairs(settings or {}) do s[name] = v end
    local o = { machine = "maxwell", settings = s, apps = { app } }
    for name, v in pairs(more or {}) do o[name] = v end
    local sim = H.sim(o)
    sim:run()
    return sim
end

local function run(app, settings)
    local r = simulate(app, settings):results()
    return r.cycles, r
end

-- A block of some warps that runs a kernel function.
local function block(warps, fn)
    return H.program(k.app { name = "x", buffers = function()
        return { k.i32("b", 64) }
    end, kernels = function()
        return { k.kernel("x", { grid = 1, block = 32 * warps, shared = 8192 },
            fn) }
    end })
end

local function alu(warps, n, options)
    return block(warps, function(t) t:alu(n, options) end)
end

-- ---- latency and interval -----------------------------------------------

-- Cycles that n more instructions take.
local function more(warps, n, options, settings)
    return run(alu(warps, 8 + n, options), settings)
        - run(alu(warps, 8, options), settings)
end

for _, class in ipairs { "int", "fp32", "fp64", "sfu", "tensor", "memory",
    "control", "unknown" } do
    for _, at in ipairs { { 6, 3 }, { 7, 3 }, { 6, 4 }, { 1, 1 }, { 2, 5 } } do
        local s = { ["core." .. class .. "_latency"] = at[1],
            ["core." .. class .. "_interval"] = at[2] }
        tap.is(more(1, 40, { class = class, dependent = true }, s),
            40 * math.max(at[1], at[2]), ("%s: a chain at %d, %d"):format(class,
            at[1], at[2]))
        tap.is(more(1, 40, { class = class }, s), 40 * at[2],
            ("%s: a stream at %d, %d"):format(class, at[1], at[2]))
    end
end
tap.is(more(4, 40, { class = "sfu" }), 4 * 40 * 8,
    "warps of one sub-core share its pipes")

-- Two streams of different classes, by two warps: each at its interval.
local function two(first, second)
    return block(2, function(t)
        t:when(t.warp:eq(0), function() t:alu(50, { class = first }) end,
            function() t:alu(50, { class = second }) end)
    end)
end
local both = { ["core.int_interval"] = 4, ["core.sfu_interval"] = 4,
    ["core.sfu_latency"] = 4 }
tap.is(run(two("int", "int"), both) - run(two("int", "sfu"), both), 50 * 4,
    "two classes issue next to each other")

-- What follows in a warp: a store waits for the instruction before it.
local function then_store(n)
    return block(1, function(t)
        t:alu(n, { class = "fp64" })
        t:sync()
    end)
end
tap.is(run(then_store(1), { ["core.fp64_latency"] = 100 })
    - run(then_store(1), { ["core.fp64_latency"] = 99 }), 1,
    "what follows arithmetic waits for its latency")

-- ---- sub-cores ----------------------------------------------------------

local ONE = { ["core.int_interval"] = 1, ["core.ilp"] = 0, ["core.warps"] = 32,
    ["core.threads"] = 1024 }
local function with(s, more_of)
    local out = {}
    for name, v in pairs(s) do out[name] = v end
    for name, v in pairs(more_of) do out[name] = v end
    return out
end

for _, sched in ipairs { "gto", "lrr" } do
    for _, classes in ipairs { true, false } do
        for _, n in ipairs { 1, 2, 4 } do
            local s = with(ONE, { ["core.subcores"] = n,
                ["core.scheduler"] = sched, ["core.classes"] = classes })
            tap.is(more(8, 400, nil, s), 8 * 400 // n,
                ("%s%s: %d sub-cores issue %d a cycle"):format(sched,
                classes and ", classes" or "", n, n))
            tap.is(more(1, 400, nil, s), 400, "a lone warp has one of them")
        end
    end
end
-- Warps 0 and 4 are of one sub-core, 0 and 1 of two.
local function pair(other)
    return block(8, function(t)
        t:when(t.warp:eq(0):bor(t.warp:eq(other)), function() t:alu(300) end)
    end)
end
local FOUR = with(ONE, { ["core.subcores"] = 4 })
tap.is(run(pair(4), FOUR) - run(pair(1), FOUR) >= 299, true,
    "warps that share a sub-core take turns, others do not")
-- The instructions are the same, whatever issues them.
local _, plain = run(H.app("BLK", { size = "T" }), { ["core.classes"] = false })
for _, n in ipairs { 1, 2, 4 } do
    local _, r = run(H.app("BLK", { size = "T" }), with(ONE,
        { ["core.subcores"] = n, ["core.threads"] = 4096 }))
    tap.is(H.report.counter(r, "core.instructions", 0),
        H.report.counter(plain, "core.instructions", 0),
        "as many instructions with sub-cores: " .. n)
end

-- ---- shared memory ------------------------------------------------------

local function shared(warps, n, address, options)
    return block(warps, function(t)
        local o = { dependent = true }
        for name, v in pairs(options or {}) do o[name] = v end
        for _ = 1, n do t:shared(address(t), o) end
    end)
end

-- Words of the fullest bank, counted.
local function fullest(address, bytes, banks)
    local words, bank, most = {}, {}, 1
    for lane = 0, 31 do
        for w = address(lane) // 4, (address(lane) + bytes - 1) // 4 do
            if not words[w] then
                words[w] = true
                bank[w % banks] = (bank[w % banks] or 0) + 1
                most = math.max(most, bank[w % banks])
            end
        end
    end
    return most
end

for _, case in ipairs {
    { "one word: broadcast", function(l) return l * 0 + 12 end, 4, 1 },
    { "words in a row", function(l) return l * 4 end, 4, 1 },
    { "32 ways", function(l) return l * 128 end, 4, 32 },
    { "two ways", function(l) return l * 8 end, 4, 2 },
    { "stride of 33 words", function(l) return l * 132 end, 4, 1 },
    { "rows of 16 lanes", function(l) return l // 2 * 4 end, 4, 1 },
    { "bytes of one word", function(l) return l // 4 * 4 + l % 4 end, 1, 1 },
    { "8 bytes", function(l) return l * 8 end, 8, 2 },
    { "16 bytes", function(l) return l * 16 end, 16, 4 },
    { "16 bytes, 64 apart", function(l) return l * 64 end, 16, 16 },
    { "a tangle", function(l) return l * l % 31 * 20 end, 4 },
} do
    local name, address, bytes, want = table.unpack(case)
    local n = fullest(address, bytes, 32)
    if want then tap.is(n, want, name .. ": counted by hand") end
    local function at(t) return address(t.lane) end
    for _, latency in ipairs { 1, 23, 24 } do
        local s = { ["shared.latency"] = latency }
        local o = { bytes = bytes }
        local c9, r = run(shared(1, 9, at, o), s)
        tap.is(c9 - run(shared(1, 5, at, o), s), 4 * (latency + n - 1),
            ("%s: a chain at latency %d"):format(name, latency))
        tap.is(H.report.counter(r, "shared.conflicts", 0), 9 * (n - 1),
            name .. ": its conflicts")
    end
    local free = { bytes = bytes, dependent = false }
    local s = { ["core.subcores"] = 4, ["shared.latency"] = 5 }
    tap.is(run(shared(8, 9, at, free), s) - run(shared(8, 5, at, free), s),
        8 * 4 * n, name .. ": all sub-cores share the banks")
    tap.is(run(shared(1, 9, at, { bytes = bytes }), { ["shared.banks"] = 0 }),
        run(shared(1, 9, function(t) return t.lane * 4 end),
            { ["shared.banks"] = 0 }), name .. ": no banks, no conflicts")
end
tap.is(more(1, 20, nil, {}) > 0, true, "an instruction of no address")
local counted = block(1, function(t) t:shared(20, { dependent = true }) end)
local few = block(1, function(t) t:shared(10, { dependent = true }) end)
tap.is(run(counted, { ["shared.latency"] = 9 })
    - run(few, { ["shared.latency"] = 9 }), 90, "counted accesses take one cycle")

-- ---- traces -------------------------------------------------------------

local dir = files.folder()
local path = dir .. "/x.traceg"

-- A kernel of one warp with these lines after their masks.
local function trace(list, options)
    local out = { "-kernel name = x\n-kernel id = 1\n-grid dim = (1,1,1)\n"
        .. "-block dim = (32,1,1)\n-shmem = 4096\n-nregs = 16\n"
        .. "-binary version = 70\n-cuda stream id = 0\n"
        .. "-shmem base_addr = 0x00007f0000000000\n"
        .. "-local mem base_addr = 0x00007f1000000000\n"
        .. "-nvbit version = 1.5.5\n-accelsim tracer version = 4\n"
        .. "-enable lineinfo = 0\n\n#traces format = x\n\n#BEGIN_TB\n\n"
        .. "thread block = 0,0,0\n\nwarp = 0\ninsts = " .. #list + 1 .. "\n" }
    for i, line in ipairs(list) do
        out[#out + 1] = ("%04x ffffffff %s\n"):format(i * 16, line)
    end
    out[#out + 1] = ("%04x ffffffff 0 EXIT 0 0 0\n\n#END_TB\n"):format(
        #list * 16 + 16)
    files.write(path, table.concat(out))
    if options and options.convert then
        require("heddle.trace").convert(path, path .. ".hdt",
            { classes = true })
        return H.trace(path .. ".hdt")
    end
    return H.trace(path, options or { classes = true })
end

local function times(n, f)
    local list = {}
    for i = 0, n - 1 do list[#list + 1] = type(f) == "string" and f or f(i) end
    return list
end

local function lines_more(f, s, options)
    return run(trace(times(48, f), options), s)
        - run(trace(times(8, f), options), s)
end

local FAST = { ["core.fp32_latency"] = 12, ["core.fp32_interval"] = 2,
    ["core.sfu_interval"] = 5, ["shared.latency"] = 20 }
for _, options in ipairs { { classes = true }, { convert = true } } do
    local how = options.convert and "container: " or "text: "
    tap.is(lines_more("1 R12 FFMA 3 R9 R12 R9 0 0", FAST, options), 40 * 12,
        how .. "a chain of FFMA")
    tap.is(lines_more(function(i)
        return ("1 R%d FFMA 3 R9 R%d R9 0 0"):format(12 + i % 4, 12 + i % 4)
    end, FAST, options), 40 * 3, how .. "four chains")
    tap.is(lines_more(function(i)
        return ("1 R%d FFMA 3 R9 R%d R9 0 0"):format(12 + i % 8, 12 + i % 8)
    end, FAST, options), 40 * 2, how .. "eight chains fill the pipe")
    tap.is(lines_more("1 R12 MUFU.RCP 1 R9 0 0", with(FAST,
        { ["core.sfu_latency"] = 1 }), options), 40 * 5,
        how .. "MUFU at its interval")
    tap.is(lines_more("1 R10 LDS.U 1 R10 4 1 0x7f0000000000 128 0", FAST,
        options), 40 * (20 + 31), how .. "LDS, 32 ways")
    tap.is(lines_more("1 R10 LDS.U 1 R10 4 1 0x7f0000000000 4 0", FAST,
        options), 40 * 20, how .. "LDS, no conflict")
    tap.is(lines_more("0 STS 2 R10 R11 4 0" .. (" 0x7f0000000000"):rep(31)
        .. " 0x7f0000000080 0", FAST, options), 40 * 2,
        how .. "STS of a list, two words of a bank")
    tap.is(lines_more("1 R10 LD.E 1 R10 4 1 0x7f0000000000 8 0", FAST,
        options), 40 * (20 + 1), how .. "a generic load of shared memory")
end
-- An FFMA that reads what another wrote d instructions before waits for it.
for _, d in ipairs { 1, 2, 5, 31, 32, 33, 40 } do
    local list = { "1 R12 FFMA 3 R9 R9 R9 0 0" }
    for i = 2, d do list[i] = "1 R20 IADD3 2 R9 R9 0 0" end
    list[#list + 1] = "1 R13 FFMA 3 R12 R9 R9 0 0"
    local slow = { ["core.fp32_latency"] = 500, ["core.int_latency"] = 1,
        ["core.int_interval"] = 1, ["core.fp32_interval"] = 1 }
    tap.is(run(trace(list), slow)
        - run(trace(list), with(slow, { ["core.fp32_latency"] = 499 })), 1,
        ("a result of %d before"):format(d))
end
local odd = trace { "1 R12 FROB 1 R9 0 0", "1 R12 FADD 1 R9 0 0",
    "1 R12 FROB.X 1 R9 0 0" }
local told = require("heddle.warnings").trace("odd",
    require("heddle.trace").open(path, { classes = true }))
tap.is(#told, 1, "an opcode that no table has is told once")
tap.ok(told[1]:find "opcode without a class", told[1])
tap.is(run(odd, { ["core.unknown_interval"] = 50 })
    - run(odd, { ["core.unknown_interval"] = 49 }), 1, "and a class of its own")

-- ---- refused in words ---------------------------------------------------

local function refused(want, fn, ...)
    local ok, e = pcall(fn, ...)
    tap.ok(not ok and tostring(e):find(want, 1, true) ~= nil,
        ("refused: %s (%s)"):format(want, ok and "it ran" or tostring(e)))
end
refused("there is no class 'fma'", function()
    run(alu(1, 3, { class = "fma" }))
end)
refused("core.sfu_interval", run, alu(1, 3), { ["core.sfu_interval"] = 0 })
refused("core.subcores", run, alu(1, 3), { ["core.subcores"] = 3 })
refused("core.subcores", run, alu(1, 3), { ["core.subcores"] = 4,
    ["core.warps"] = 30 })
refused("core.compact", run, alu(1, 3), { ["core.compact"] = true })
refused("core.shared_unit", run, alu(1, 3), { ["core.shared_unit"] = true })
refused("classes=true", run, trace({ "1 R12 FADD 1 R9 0 0" }, {}))
refused("bytes is 1, 2, 4, 8 or 16", function()
    run(shared(1, 1, function(t) return t.lane end, { bytes = 3 }))
end)

-- ---- snapshots ----------------------------------------------------------

local function start()
    return H.sim { machine = "maxwell", settings = with(BASE,
        { ["core.subcores"] = 4 }), apps = { H.app("BLK", { size = "T" }) } }
end
local straight, cut, fork = start(), start(), start()
straight:run()
cut:run(straight.now // 2)
local snap = cut:snapshot()
cut:run()
fork:restore(snap)
fork:run()
tap.is(cut:state_hash(), straight:state_hash(), "in two pieces as in one")
tap.is(fork:state_hash(), straight:state_hash(), "and from a snapshot")

-- ---- looking inside --------------------------------------------------------

do
    local sim <close> = H.sim { machine = "maxwell", settings = { ["core.count"] = 1,
        ["core.lanes"] = 32, ["core.width"] = 32, ["core.classes"] = true,
        ["core.subcores"] = 4, ["sim.translation"] = "off" },
        apps = { alu(6, 400, { class = "sfu" }) } }
    sim:run(200)
    local seen, right = 0, 0
    for _, r in ipairs(sim:look("core", 0)) do
        if r.kind == "warp" then
            seen = seen + 1
            right = right + (r.subcore == r.warp % 4 and r.class == "sfu" and 1 or 0)
        end
    end
    tap.is(("%d %d"):format(seen, right), "6 6", "look has a warp's sub-core and "
        .. "the class of its next instruction")
end

os.execute("rm -r " .. files.quote(dir))
tap.done()
