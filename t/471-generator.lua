--[[
471-generator.lua - applications whose warps are coroutines (H.generator).

Pinned: random straight kernels with loads, uses, runs, barriers and atomics are
the same as kernel programs, cycle for cycle; what t has, in three dimensions;
every form of an index, and lanes without one; math.random by place and seed;
arguments, launches and buffers given back; errors of every kind with kernel,
block, warp, instruction and traceback, budgets that pcall cannot escape, and the
exit status; hashes that follow code, locals and parameters and are the same in
each process; a local that changes is found, and so is one that changed before
a restore; long warps go on wherever they were restored or forked, also beside
and behind the simulation that they began in; recording from the command.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local survey = require "heddle.survey"
local k = H.kernel
local HEDDLE = files.HEDDLE
local small = H.machine("fermi") { core = { count = 2 } }

-- ---- the same as programs ----------------------------------------------------

--- Numbers of a linear congruence, the same for both kinds.
local function numbers(seed)
    local x = seed * 7919 + 1
    return function(n)
        x = (x * 1103515245 + 12345) % (1 << 31)
        return (x >> 12) % n
    end
end

local SIZE = 1 << 16

--- Calls that a kernel makes: { name, ... }, from a seed.  An atomic whose
-- value nobody uses does not return it, in a program.
local function recipe(seed)
    local pick, out, loads, used = numbers(seed), {}, 0, {}
    local function uses()
        local list = {}
        for _ = 1, pick(3) do
            if loads > 0 then
                local n = loads - pick(math.min(loads, 31))
                list[#list + 1] = n
                used[n] = true
            end
        end
        return list
    end
    for i = 1, 20 + pick(60) * (1 + seed % 5) do -- some in several pieces
        local what = pick(12)
        if what < 5 then
            out[i] = { "load", 1 + pick(3), pick(500), pick(4) }
            loads = loads + 1
        elseif what < 6 then
            out[i] = { "store", 1 + pick(3), pick(500), pick(4) }
        elseif what < 7 then
            loads = loads + 1
            out[i] = { "atomic", 1 + pick(3), pick(500), number = loads }
        elseif what < 9 then
            out[i] = { "alu", pick(5), uses() }
        elseif what < 10 then
            out[i] = { "alu", 1 + pick(9) }
        elseif what < 11 then
            out[i] = { "shared", 1 + pick(3), uses() }
        else
            out[i] = { "sync" }
        end
    end
    for _, c in ipairs(out) do c.returns = used[c.number] or false end
    return out
end

local function buffers()
    return { k.f32("a", SIZE), k.f64("b", SIZE), k.i32("c", SIZE) }
end

local NAMES = { "a", "b", "c" }

local function as_program(list)
    return k.app { name = "random", buffers = buffers,
        kernels = function(_, b)
            return { k.kernel("one", { grid = 7, block = 150 }, function(t)
                local got = {}
                local function taken(list_)
                    if not list_ then return nil end
                    local u = {}
                    for i, n in ipairs(list_) do u[i] = got[n] end
                    return { uses = u }
                end
                for _, c in ipairs(list) do
                    local at = c[2] and math.type(c[3]) == "integer"
                        and t.gid * (c[4] or 1) + c[3]
                    if c[1] == "load" then
                        got[#got + 1] = t:load(b[NAMES[c[2]]], at)
                    elseif c[1] == "store" then
                        t:store(b[NAMES[c[2]]], at)
                    elseif c[1] == "atomic" then
                        got[#got + 1] = t:atomic("add", b[NAMES[c[2]]], at)
                    elseif c[1] == "sync" then
                        t:sync()
                    else
                        t[c[1]](t, c[2], taken(c[3]))
                    end
                end
            end) }
        end }
end

local function as_generator(list)
    return H.generator { name = "random", buffers = buffers,
        kernels = function(_, b)
            local of = { b.a, b.b, b.c }
            return { { name = "one", grid = 7, block = 150, warp = function(t)
                local got = {}
                for _, c in ipairs(list) do
                    local o = c[4] and { step = c[4] } or nil
                    local at = c[2] and math.type(c[3]) == "integer"
                        and t.gid * (c[4] or 1) + c[3]
                    if c[1] == "load" then
                        got[#got + 1] = t:load(of[c[2]], at, o)
                    elseif c[1] == "store" then
                        t:store(of[c[2]], at, o)
                    elseif c[1] == "atomic" then
                        got[#got + 1] = t:atomic(of[c[2]], at,
                            { returns = c.returns })
                    elseif c[1] == "sync" then
                        t:sync()
                    elseif c[3] then
                        local u = {}
                        for i, n in ipairs(c[3]) do u[i] = got[n] end
                        t[c[1]](t, c[2], { uses = u })
                    else
                        t[c[1]](t, c[2])
                    end
                end
            end } }
        end }
end

--- All counters of a run, and how long it took.
local function counters(app, options)
    local o = { machine = small, apps = { app } }
    for name, value in pairs(options or {}) do o[name] = value end
    local sim <close> = H.sim(o)
    sim:run()
    local r = sim:results()
    return H.json.encode { r.counters, sim.now, sim.instructions }
end

local same, parted = 0, nil
for seed = 1, 40 do
    local list = recipe(seed)
    if counters(as_program(list)) == counters(as_generator(list)) then
        same = same + 1
    else
        parted = parted or seed
    end
end
tap.is(same, 40, "random kernels are those of programs; parted: "
    .. tostring(parted))

-- ---- places and indices ---------------------------------------------------------

--- The instructions of a generator with one kernel, as text.
local function shown(warp, kernel, more)
    local def = { name = "one", grid = 1, block = 32, warp = warp }
    for name, value in pairs(kernel or {}) do def[name] = value end
    local g = { name = "shown", buffers = { k.u8("x", 100), k.f64("y", 50) },
        kernels = { def } }
    for name, value in pairs(more or {}) do g[name] = value end
    local out, base = {}, {}
    local w = H.generator(g):workload()
    for i, b in ipairs(survey.buffers(w)) do base[i] = b.base end
    survey.each(w, function(e)
        local at = {}
        for lane = 0, 63 do
            local a = e.addr and e.addr[lane]
            if a then
                at[#at + 1] = a >= base[2] and "y" .. a - base[2]
                    or "x" .. a - base[1]
            end
        end
        out[#out + 1] = ("%s%d%s"):format(e.kind, e.kind == "alu" and e.n
            or e.bytes, #at > 0 and " " .. table.concat(at, " ") or "")
    end)
    return table.concat(out, "; ")
end

tap.is(shown(function(t, b)
    t:load(b.y, 1, { mask = 7 })
    t:load(b.y, 9, { mask = 5, step = -4 })
    t:store(b.x, { 3, false, 90, [32] = 1 })
    t:load(b.x, function(l) return l % 16 == 0 and l or nil end)
    t:load(b.x, 8, { mask = 3, vec = 4, step = 4 })
    t:atomic(b.y, 0, { mask = 3, step = 0, bytes = 4 })
    t:load(b.x, 0, { mask = 0 })
    t:store(b.x, function(l)
        t:load(b.x, function() return l + 5 end, { mask = 1 << l })
        return l + 1
    end, { mask = 3 })
    t:alu(0)
    t:alu(2, { mask = 0 })
    t:alu(2)
    t:alu(3)
end), "load8 y8 y16 y24; load8 y72 y8; store1 x3 x90 x1; load1 x0 x16; "
    .. "load4 x8 x12; atomic4 y0 y0; load1 x5; load1 x6; "
    .. "store1 x1 x2; alu5; exit0", "forms of an index")
tap.is(shown(function(t, b)
    t:load(b.x, t.bx + 2 * t.by + 6 * t.bz + 12 * t.warp, { step = 0,
        mask = t:first(1) })
    assert(t.block == t.bx + 3 * (t.by + 2 * t.bz) and t.nx == 3 and t.ny == 2
        and t.nz == 2 and t.launch == 1)
    assert(t.tid == t.warp * 32 and t.gid == t.block * 40 + t.tid)
    assert(t.lanes == 32 and t.live == (t.warp == 0 and 0xffffffff or 255))
    assert(t:first(99) == t.live and t:first(-1) == 0 and t:first(3) == 7)
end, { grid = { 3, 2, 2 }, block = { 5, 4, 2 } }):gsub("exit0;? ?", ""),
    (function()
        local out = {}
        for bz = 0, 1 do for by = 0, 1 do for bx = 0, 2 do for w = 0, 1 do
            out[#out + 1] = "load1 x" .. bx + 2 * by + 6 * bz + 12 * w .. "; "
        end end end end
        return table.concat(out)
    end)(), "t of every warp")
tap.is(shown(function(t, b, p)
    t:load(b.x, t:arg "at" + p.more, { step = 0, mask = 1 })
end, { args = { at = 5 } }, { params = { more = 2 } }), "load1 x7; exit0",
    "arguments and parameters")

-- A kernel that is launched three times, the last two with other values.
local launched = {}
do
    local one = { name = "one", grid = 2, block = 32, args = { at = 1 },
        warp = function(t, b) t:load(b.x, t:arg "at", { step = 0 }) end }
    local g = H.generator { name = "launches", buffers = { k.u8("x", 64) },
        kernels = { one, { one, grid = 1, args = { at = 9 } },
            { one, args = { at = 3 } } } }
    local w, extent = g:workload()
    local base = survey.buffers(w)[1].base
    survey.each(w, function(e)
        if e.addr then
            launched[#launched + 1] = ("%d.%d:%d"):format(e.launch, e.block,
                e.addr[0] - base)
        end
    end)
    tap.is(table.concat(launched, " "), "1.0:1 1.1:1 2.0:9 3.0:3 3.1:3",
        "launches of a kernel")
    tap.is(table.concat(extent, " "), "2 1 2", "and their blocks")
end

-- ---- random numbers ---------------------------------------------------------------

local function draws(seed, order)
    local out = {}
    local g = H.generator { name = "draws", params = { seed = seed },
        buffers = { k.u8("x", 1 << 20) }, kernels = { { name = "one", grid = 9,
        block = 64, warp = function(t, b)
            for _ = 1, 3 do
                t:load(b.x, function() return math.random(0, 99999) end)
                if order then t:sync() end
            end
        end } } }
    survey.each(g:workload(), function(e)
        if e.addr then
            local key = e.block * 2 + e.warp
            out[key] = (out[key] or "") .. e.addr[0] .. " " .. e.addr[31] .. " "
        end
    end)
    return out
end

local one, again, ordered, other = draws(1), draws(1), draws(1, true), draws(2)
tap.ok(not tap.differ(one, again), "random numbers are the same each time")
tap.ok(not tap.differ(one, ordered), "in whatever order warps run")
local distinct, seen = 0, {}
for key = 0, 17 do
    for _, text in ipairs { one[key], other[key] } do
        if not seen[text] then distinct = distinct + 1 end
        seen[text] = true
    end
end
tap.is(distinct, 36, "and other for each warp and seed")

-- ---- errors ----------------------------------------------------------------------------

local AT = "workload bad, kernel one (launch 1), block 0, warp 0, instruction "

local function refused(what, want, warp, more)
    local g = { name = "bad", buffers = { k.f32("a", 100) },
        kernels = { { name = "one", grid = 4, block = 64, warp = warp } } }
    for name, value in pairs(more or {}) do g[name] = value end
    local ok, err = pcall(function()
        counters(H.generator(g))
    end)
    local text = tostring(err)
    tap.ok(not ok and text:find(want, 1, true) and err.code == -10, what,
        ok and "no error" or text)
    return text
end

local text = refused("an index beyond the buffer", AT .. "2: ", function(t, b)
    t:alu(3)
    t:load(b.a, 90)
end)
tap.ok(text:find "lane 10: index 100 of buffer a, which has 100 elements"
    and text:find "stack traceback:\n.*471%-generator.lua:%d+: in function",
    "with lane, buffer, and traceback", text)
refused("one before it", "index -1 of buffer a", function(t, b)
    t:load(b.a, 3, { step = -1, mask = 31 })
end)
refused("an access that is too wide at the end", "index 97 of buffer a",
    function(t, b) t:load(b.a, 97, { mask = 1, vec = 4 }) end)
refused("no index", "an index is a whole number, a list of them", function(t, b)
    t:load(b.a)
end)
refused("an index of another type", "lane 2: an index is a whole number, not x",
    function(t, b) t:load(b.a, { 1, 2, "x" }) end)
refused("an index that is no whole number", "whole number, not 1.5",
    function(t, b) t:load(b.a, function() return 1.5 end) end)
refused("a buffer that is none", "expected one of the generator's buffers",
    function(t) t:load({}, 1) end)
refused("an unknown option", "no option 'user'",
    function(t, b) t:load(b.a, 0, { user = 1 }) end)
refused("an unknown method", "t has no 'laod'", function(t, b) t:laod(b.a, 1) end)
refused("a point for a colon", "with a colon", function(t, b) t.load(b.a, 1) end)
refused("a token of nobody", "uses: expected what t:load or t:atomic",
    function(t) t:alu(1, { uses = { 5 } }) end)
refused("a run of no length", "expected 0 to 2^30", function(t) t:alu(-1) end)
refused("odd bytes", "1, 2, 4, 8 or 16 bytes, not 12",
    function(t, b) t:load(b.a, 0, { vec = 3 }) end)
refused("an error of Lua, later in a warp", AT .. "41: ", function(t, b)
    for i = 1, 40 do t:load(b.a, i) end
    error "mine"
end)
refused("an error that is no text", "the error is not a text but a table",
    function() error {} end)
for _, name in ipairs { "os", "io", "coroutine", "require", "debug", "load" } do
    refused(name, "'" .. name .. "' is not available in a generator",
        load(("return function() %s.x = 1 end"):format(name))())
end
refused("a seed of the warp's own", "each warp has a stream of its own",
    function() math.randomseed(1) end)
refused("a global", "cannot set the global 'foo'", load
    "return function() foo = 1 end"())
refused("an unknown argument", "the launch has no argument 'n'",
    function(t) t:arg "n" end)
refused("no end without an instruction", AT
    .. "1: t/471-generator.lua:351: more than 100000 instructions without one of the warp",
    function() while true do end end, { instructions = 100000 })
refused("nor one that pcall swallows", "without one of the warp", function()
    while true do pcall(function() while true do end end) end
end, { instructions = 100000 })
refused("memory", "more than 10 MB of memory", function()
    local x = {}
    for i = 1, 10000000 do x[i] = { i } end
    return x
end, { memory = 10 << 20 })
refused("a buffer that was given back", "(launch 2), block 0, warp 0, "
    .. "instruction 1: it accesses a buffer that was freed", nil,
    { kernels = function(_, b)
        local kernel = { name = "one", grid = 1, block = 32,
            warp = function(t) t:load(b.a, 0) end }
        return { { kernel, free = { b.a } }, kernel }
    end })
refused("contents", "buffer a has contents", nil, { buffers = {
    k.f32("a", 100, { contents = true }) }, kernels = { { name = "one",
    block = 32, warp = function() end } } })
refused("a field of nothing", "generator: no field 'kernel'", nil,
    { kernel = {} })
refused("a kernel's field of nothing", "kernel one: no field 'blok'", nil,
    { kernels = { { name = "one", blok = 1, warp = function() end } } })
refused("a kernel without a function", "expected { name =", nil,
    { kernels = { { name = "one", block = 1 } } })
refused("too many threads", "blocks of 5000 x 1 x 1 threads", nil,
    { kernels = { { name = "one", block = 5000, warp = function() end } } })
refused("a launch's argument of nothing", "it has no argument 'm'", nil,
    { kernels = function()
        local kernel = { name = "one", block = 1, warp = function() end }
        return { { kernel, args = { m = 1 } } }
    end })
do
    local ok, err = pcall(counters, H.generator { name = "module",
        buffers = { k.f32("a", 9) }, kernels = { { name = "one", block = 1,
        warp = function() k.ceil(1, 2) end } } })
    tap.ok(not ok and err.code == -10 and tostring(err):find("generator "
        .. "module: the local 'k' holds a whole module; let a generator have",
        1, true), "a module in a local", err)
end

-- An endless coroutine is fine, and so are calls where it cannot wait.
tap.is(shown(function(t, b)
    local list = { 3, 1, 2 }
    table.sort(list, function(x, y)
        t:load(b.x, x, { mask = 1 })
        return x < y
    end)
end):gsub("load1 x%d; ", ""), "exit0", "instructions in a comparison")
do
    local g = H.generator { name = "endless", buffers = { k.f32("a", 1 << 20) },
        kernels = { { name = "one", grid = 2, block = 64, warp = function(t, b)
            local i = 0
            while true do
                t:load(b.a, i % (1 << 19))
                t:alu(1)
                i = i + 32
            end
        end } } }
    local sim <close> = H.sim { machine = small, apps = { g }, budget = 20000 }
    sim:run()
    tap.ok(sim.status == "done" and sim:results().apps[1].truncated,
        "a kernel without end, and a budget", sim.status)
end

-- ---- what a snapshot would miss ---------------------------------------------------------

local count = 0
refused("a local that changes", "the local 'count' has changed since the "
    .. "generator was made", function(t)
    count = count + 1
    t:alu(1)
end)
refused("a parameter that changes", "the local 'parameters' has changed",
    function(_, _, p) p.seen = 1 end)
refused("an argument that changes", "the local 'launches' has changed",
    function(t) t.args.seen = 1 end)
do
    local turn = { 0 }
    local g = H.generator { name = "turns", buffers = { k.f32("a", 1 << 20) },
        kernels = { { name = "one", grid = 64, block = 64, warp = function(t, b)
            for _ = 1, 50 do
                turn[1] = turn[1] + 1 -- depends on the order of the warps
                t:load(b.a, turn[1])
                t:alu(1)
            end
        end } } }
    local sim <close> = H.sim { machine = small, apps = { g } }
    sim:run(3000)
    local before = sim:snapshot()
    sim:run(3000)
    sim:restore(before)
    local ok, err = pcall(sim.run, sim)
    tap.ok(not ok and tostring(err):find("the local 'turn' has changed", 1, true)
        and err.code == -10, "is found behind a restore, too", err)
end

-- Long warps, in many pieces: each coroutine runs once, whoever comes to what it
-- has not given yet, also when the simulation that it began in has ended.
do
    local g = H.generator { name = "long", params = { n = 1 << 16 },
        buffers = function(p) return { k.f32("a", p.n) } end,
        kernels = function(p, b) return { { name = "one", grid = 20, block = 64,
        warp = function(t)
            for i = 1, 300 do
                local x = t:load(b.a, function(lane)
                    return lane % 3 > 0 and math.random(0, p.n - 1)
                end)
                t:alu(i % 4, i % 5 == 0 and { uses = { x } } or nil)
                t:alu(1)
                t:alu(i % 3, { mask = 1 << i % 32 })
            end
        end } } end }
    local function new() return H.sim { machine = small, apps = { g } } end
    local straight <close> = new()
    straight:run()
    local hash, n = straight:state_hash(), straight.instructions
    local first = new()
    first:run(500)
    local early = first:snapshot()
    first:run(2000)
    local late = first:snapshot()
    local fork, third = new(), new()
    fork:restore(early)
    for _ = 1, 9 do -- in turns
        first:run(700)
        fork:run(900)
    end
    first:close()
    third:restore(late)
    collectgarbage()
    fork:run()
    third:run()
    tap.is(fork:state_hash(), hash, "a fork that runs beside its origin")
    tap.is(third:state_hash(), hash, "and one that outlives it")
    third:restore(early)
    fork:close()
    third:run()
    tap.is(third:state_hash(), hash, "what was given is there once more")
    tap.ok(n > 20 * 2 * 600, "long warps", n)
    third:close()
end

-- Relaunched beside another application until that has finished.
do
    local function pair()
        return H.sim { machine = small, apps = {
            H.generator { name = "short", buffers = { k.f32("a", 4096) },
                kernels = { { name = "one", grid = 4, block = 64,
                warp = function(t, b)
                    for _ = 1, 5 do
                        t:load(b.a, math.random(0, 4000), { step = 0 })
                    end
                end } } },
            H.app("GUP", { size = "T" }) }, budget = 3000 }
    end
    local sim <close> = pair()
    sim:run()
    local a = sim:results().apps
    tap.ok(a[1].completions > 1 and a[1].finished and a[2].finished,
        "an application that is done starts again", a[1].completions)
    local cut <close> = pair()
    cut:run(sim.now // 2)
    local middle = cut:snapshot()
    cut:run()
    cut:restore(middle)
    cut:run()
    tap.is(cut:state_hash(), sim:state_hash(), "and a restore in between")
end

-- ---- hashes ----------------------------------------------------------------------------------

local function hash(change)
    local g = { name = "h", buffers = { k.f32("a", 100) }, params = { n = 3 } }
    local step, graph = 1, { 3, 1, { x = 2 } }
    local function warp(t, b, p)
        t:load(b.a, graph[1] + p.n, { step = step })
    end
    local kernel = { name = "one", grid = 2, block = 32, warp = warp }
    if change == "local" then step = 2 end
    if change == "table" then graph[3].x = 5 end
    if change == "parameter" then g.params.n = 4 end
    if change == "seed" then g.params.seed = 4 end
    if change == "buffer" then g.buffers = { k.f32("a", 101) } end
    if change == "grid" then kernel.grid = 3 end
    if change == "code" then
        kernel.warp = function(t, b, p)
            t:store(b.a, graph[1] + p.n, { step = step })
        end
    end
    g.kernels = { kernel }
    local sim <close> = H.sim { machine = small, apps = { H.generator(g) } }
    return sim:results().inputs[1].hash
end

tap.is(hash(), hash(), "equal generators have one hash")
for _, change in ipairs { "local", "table", "parameter", "seed", "buffer",
    "grid", "code" } do
    tap.ok(hash(change) ~= hash(), "another " .. change .. ", another hash")
end

-- ---- the command ----------------------------------------------------------------

local dir = files.folder()

local function script(name, words)
    local path = dir .. "/" .. name
    local f <close> = assert(io.open(path, "w"))
    f:write(words)
    return path
end

local APP = [[
local H = require "heddle"
local G = H.generator { name = "mine", params = { n = 1000 },
    buffers = function(p) return { H.kernel.f32("a", p.n) } end,
    kernels = function(p, b) return { { name = "one", grid = 2, block = 64,
        warp = function(t)
            for _ = 1, 4 do t:load(b.a, math.random(0, p.n - 64)) end
            %s
        end } } end }
%s
]]
local RUN = [[
local sim = H.sim { machine = "fermi", apps = { G } }
sim:run()
print(sim:results().inputs[1].hash)
]]

local function output(command)
    local f = io.popen(command .. " 2>&1")
    local said = f:read "a"
    local _, _, status = f:close()
    return said, status
end

local good = script("good.lua", APP:format("", RUN))
local first = output(HEDDLE .. " run " .. good)
tap.is(output(HEDDLE .. " run " .. good), first, "hashes of two processes")
local said, status = output(HEDDLE .. " run "
    .. script("bad.lua", APP:format("t:load(b.a, p.n)", RUN)))
tap.is(status, 65, "the exit status of an error")
tap.ok(said:find "instruction 5: .*bad%.lua:7: lane 0: index 1000",
    "and its words", said)
local lib = script("lib.lua", APP:format("", "return G"))
said, status = output(("%s trace record %s %s/out.hdt n=2000"):format(HEDDLE,
    lib, dir))
tap.is(status, 0, "heddle trace record of a generator: " .. said)
for _, app in ipairs { lib, "GUP size=T" } do
    said, status = output(("%s trace record %s/wide.hdt %s lanes=64"):format(
        HEDDLE, dir, app):gsub("(%S+wide.hdt) (%S+)", "%2 %1"))
    tap.is(status, 0, "and of " .. app .. " on 64 lanes: " .. said)
end
said = output(("%s trace dump %s/out.hdt"):format(HEDDLE, dir))
tap.is(said, (output(("%s trace dump %s n=2000"):format(HEDDLE, lib))),
    "which has what it does")
tap.is(select(2, said:gsub("\n", "\n")), 16, "an instruction a line")

os.execute("rm -r " .. dir)
return tap.done()
