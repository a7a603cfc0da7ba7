--[[
912-garbage.lua - every function of the Lua interface, called with garbage.

Pinned: all of require "heddle" and of the modules below it, the methods and
metamethods of every object that they make (machines, applications, workloads,
simulations, snapshots, results, traces, parts, data, kernels, policies), called
with nil, booleans, huge and odd numbers, strings with NUL, tables whose
metamethods lie, objects of other kinds and closed ones, end as values or as
errors of Lua: no crash, no failed assertion, nothing that does not end.

Calls run in processes of their own, each with a seed, in a folder of their own.
Each says what it is about to call, so that what broke can be told and repeated:

    heddle run t/912-garbage.lua seed=3 child=true

Left out: heddle.process, heddle.edit and the commands, which are the system's
own calls and a terminal; heddle.kernel.pure, which exchanges the globals; what
runs all applications; what serves until Ctrl-C.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"

-- Its own: H.args, called once more, changes the table that it gave before.
local A = {}
for name, value in pairs(H.args { seed = 1, calls = 12000, child = false,
    log = "", from = 0 }) do
    A[name] = value
end

-- ---- the process that calls ----------------------------------------------------

local state = A.seed
local function below(n)
    state = state * 6364136223846793005 + 1442695040888963407
    return (state >> 33) % n
end

local function pick(list)
    return list[1 + below(#list)]
end

local SKIPPED = { ["heddle.process"] = true, ["heddle.edit"] = true,
    ["heddle.cli"] = true, ["heddle.repl"] = true, ["heddle.complete"] = true,
    ["heddle.kernel.pure"] = true }

-- What ends the script, runs all applications, serves until Ctrl-C, and what gives
-- a function other globals, which may be one of this file.
local LEFT_OUT = { ["H.policy.enter"] = true, ["heddle.policy.enter"] = true,
    ["heddle.bridge.enter"] = true,
    ["H.characterise.all"] = true, ["heddle.live.serve"] = true,
    ["heddle.serve.loop"] = true, ["H.live.serve"] = true,
    ["heddle.characterise.all"] = true, ["H.begin"] = true, ["H.finish"] = true,
    ["H.traceback"] = true, ["heddle.script.begin"] = true,
    ["heddle.script.finish"] = true, ["heddle.script.traceback"] = true }

local pool = {}         -- values to give
local functions = {}    -- { path, function, object or nil }
local known = {}        -- functions and tables that were walked

local garbage

-- A table that always has one element more has no end for the ipairs of the
-- language either: a liar tires.
local TIRED = 10000

local function liar()
    local told = 0
    local lie = function()
        told = told + 1
        if told <= TIRED then
            return garbage()
        end
    end
    local meta = {}
    for _, event in ipairs { "__index", "__len", "__tostring", "__call",
        "__eq", "__lt", "__le", "__concat", "__unm", "__pairs", "__newindex",
        "__close", "__add" } do
        local what = below(5)
        if what == 0 then
            meta[event] = lie
        elseif what == 1 then
            meta[event] = function() error({}) end
        end
    end
    if below(3) == 0 then
        meta.__len = function() return pick { 1 << 62, -1, 1 << 31, 3.5, "x" } end
    end
    if below(3) == 0 then
        meta.__name = pick { "heddle.sim", "heddle.workload", 5, "x\0y" }
    end
    if below(6) == 0 then
        meta.__metatable = false
    end
    local t = {}
    for i = 1, below(4) do
        t[i] = below(9)
    end
    return setmetatable(t, meta)
end

local STRINGS = { "", "x", "a\0b", "\xff\xfe", "%s%n%p", "maxwell", "GUP",
    "l2tlb", "tlb_fill", "srrip", ("x"):rep(5000), "1e999", "-1", "0x",
    "l2tlb.hits", "sim.seed", "off", "name", "\n", "nan", ("("):rep(300),
    "heddle", "u32", "f32", "none.lua", "none.so", "none.json" }
local NUMBERS = { 0, 1, -1, 2, 3, 7, 64, 255, 1 << 16, 1 << 31, 1 << 32, 1 << 62,
    math.maxinteger, math.mininteger, 0.5, -0.0, 1e300, -1e300, math.huge,
    -math.huge, 0 / 0, 2 ^ 53, 1e15 }
local KEYS = { "name", "n", "seed", "machine", "apps", "policies", "size",
    "settings", "at", "use", "bytes", "grid", "block", "kernels", "buffers",
    "warp", "width", "height", "path", "rows", "data", "type", "params", "label",
    "keys", "scale", "edges", "lo", "hi", "dim", "file", "x", "y", "title",
    "cycles", "every", "state", "schema", "app", "depth", "step", "jobs" }

local function plain_table(depth)
    local t = {}
    for i = 1, below(4) do
        t[i] = garbage(depth + 1)
    end
    for _ = 1, below(5) do
        local v = garbage(depth + 1)
        t[pick(KEYS)] = v
    end
    return t
end

function garbage(depth)
    depth = depth or 0
    local kind = below(depth > 2 and 8 or 16)
    if kind == 0 then
        return nil
    elseif kind == 1 then
        return below(2) == 0
    elseif kind <= 4 then
        return pick(NUMBERS)
    elseif kind <= 6 then
        return pick(STRINGS)
    elseif kind == 7 then
        return pick { function() end, function() return garbage(3) end,
            function() error() end, print, coroutine.create(function() end) }
    elseif kind <= 9 then
        return plain_table(depth)
    elseif kind <= 11 then
        return liar()
    else
        return pool[1 + below(math.max(#pool, 1))]
    end
end

-- Notes the functions that are reached from a value, once each.
local function walk(value, path, object, depth)
    local kind = type(value)
    if kind == "function" then
        if not known[value] and not LEFT_OUT[path] then
            known[value] = true
            functions[#functions + 1] = { path, value, object }
        end
        return
    elseif kind ~= "table" and kind ~= "userdata" or known[value]
        or depth > 4 then
        return
    end
    known[value] = true
    local meta = getmetatable(value)
    if kind == "table" then
        local keys = {}
        for k in next, value do
            if type(k) == "string" then
                keys[#keys + 1] = k
            end
        end
        table.sort(keys)
        for _, k in ipairs(keys) do
            walk(rawget(value, k), path .. "." .. k,
                meta and value or object, depth + 1)
        end
        for i = 1, math.min(#keys == 0 and rawlen(value) or 0, 8) do
            walk(rawget(value, i), path .. "[" .. i .. "]", object, depth + 1)
        end
    end
    if type(meta) == "table" then
        local names = {}
        for k in next, meta do
            if type(k) == "string" then
                names[#names + 1] = k
            end
        end
        table.sort(names)
        for _, k in ipairs(names) do
            local v = rawget(meta, k)
            if type(v) == "table" then
                known[v] = nil
                local of = {}
                for name, f in next, v do
                    if type(f) == "function" then
                        of[#of + 1] = { path .. ":" .. tostring(name), f, value }
                    end
                end
                table.sort(of, function(a, b) return a[1] < b[1] end)
                for _, one in ipairs(of) do
                    if not known[one[2]] then
                        known[one[2]] = true
                        functions[#functions + 1] = one
                    end
                end
            else
                walk(v, path .. ":" .. k, value, depth + 1)
            end
        end
    end
end

local function add(value, path)
    if type(value) == "table" or type(value) == "userdata" then
        if #pool < 400 then
            pool[#pool + 1] = value
        end
        walk(value, path, nil, 0)
    end
end

-- Objects as they should be, some of them closed.
local function make(path, f)
    local ok, v = pcall(f)
    if ok then
        add(v, path)
        return v
    end
    io.stderr:write(path, ": ", tostring(v), "\n")
end

local function small(extra)
    local o = { machine = "maxwell", progress = false,
        apps = { H.app("GUP", { size = "T" }) },
        settings = { ["core.count"] = 1, ["sim.stop_cycles"] = 2000 } }
    for k, v in pairs(extra or {}) do
        o[k] = v
    end
    return H.sim(o)
end

local function objects()
    for _, name in ipairs(getmetatable(H).__names()) do
        make("H." .. name, function() return H[name] end)
        walk(H[name], "H." .. name, nil, 0)
    end
    local modules = {}
    for name in pairs(package.preload) do
        if name:find "^heddle%." and not SKIPPED[name]
            and not name:find "^heddle%.cmd%."
            and not name:find "^heddle%.policies%." then
            modules[#modules + 1] = name
        end
    end
    table.sort(modules)
    for _, name in ipairs(modules) do
        make(name, function() return (require(name)) end)
    end
    make("machine", function() return H.machine "maxwell" end)
    make("app", function() return H.app("GUP", { size = "T" }) end)
    local sim = make("sim", small)
    sim:run(500)
    make("core", function() return sim.core end)
    local snapshot = make("snapshot", function() return sim:snapshot() end)
    make("policied", function()
        return small { policies = { "srrip", "mask" } }
    end)
    make("results", function()
        local s = small()
        s:run()
        return s:results()
    end)
    make("closed sim", function()
        local s = small()
        s:close()
        return s
    end)
    make("closed snapshot", function()
        local s = sim:snapshot()
        local meta = getmetatable(s)
        if meta and meta.__close then meta.__close(s) end
        return s
    end)
    make("data", function()
        return H.generate.ints { n = 100, lo = 0, hi = 9, seed = 1 }
    end)
    make("graph", function()
        return H.generate.uniform_graph { n = 50, lo = 1, hi = 3, seed = 1 }
    end)
    make("buffer", function() return H.kernel.f32("a", 64) end)
    make("generator", function()
        return H.generator { name = "g", buffers = { H.kernel.f32("a", 64) },
            kernels = function()
                return { { name = "k", grid = 1, block = 32,
                    warp = function(t) t:alu(1) end } }
            end }
    end)
    make("env", function() return H.policy.env() end)
    for _, part in ipairs { "dram", "tlb", "cache" } do
        make("part." .. part, function() return H.part[part] {} end)
    end
    make("metrics", function() return require "heddle.metrics" end)
    return snapshot
end

local function say(log, text)
    log:seek("set", 0)
    log:write(text, (" "):rep(200 - #text), "\n")
    log:flush()
end

local function child()
    io.output("/dev/null") -- what is called may write
    objects()
    local log = A.log ~= "" and assert(io.open(A.log, "w")) or io.stderr
    local errors, values, slow = 0, 0, 0
    local limit = 0
    local function hook()
        limit = limit + 1
        if limit > 40 then
            error("does not end", 0)
        end
    end
    local real = { pairs = pairs, next = next, os = os, tostring = tostring,
        sort = table.sort, setmetatable = setmetatable, require = require }
    for i = 1, A.calls do
        local f = i <= 2 * #functions and functions[(i - 1) // 2 + 1]
            or pick(functions)
        local n = below(6)
        local args = { n = n }
        for k = 1, n do
            args[k] = garbage()
        end
        if f[3] ~= nil and below(10) < 8 then
            args[1] = f[3]
            args.n = math.max(n, 1)
        end
        if log == io.stderr then
            if i >= A.from and A.from > 0 then
                log:write(i, " ", f[1], "\n")
            end
        else
            say(log, i .. " " .. f[1])
        end
        if i >= A.from then
            limit = 0
            debug.sethook(hook, "", 10000000)
            local began = os.clock()
            local r = table.pack(pcall(f[2], table.unpack(args, 1, args.n)))
            local took = os.clock() - began
            debug.sethook()
            if took > 100 then
                slow = slow + 1
                io.stderr:write(("slow: %s %.1f s\n"):format(f[1], took))
            end
            if r[1] then
                values = values + 1
                for k = 2, math.min(r.n, 3) do
                    local v = r[k]
                    if type(v) ~= "string" and getmetatable(v)
                        and #functions < 3000 then
                        add(v, f[1] .. "()")
                    end
                end
            else
                errors = errors + 1
                -- a policy's library is stopped by its budget, which is not here
                if r[2] == "does not end" and not f[1]:find "^env%." then
                    io.stderr:write("no end: ", f[1], "\n")
                    slow = slow + 1
                end
                -- one function makes a text of every error, without raising
                local status, text = require("heddle.cli").describe(r[2])
                if type(status) ~= "number" or text and type(text) ~= "string"
                then
                    error("describe: " .. f[1])
                end
            end
        end
        for name, v in next, real do -- application code is closed again
            if name ~= "sort" and rawget(_G, name) ~= v then
                error(f[1] .. " has left the globals changed: " .. name)
            end
        end
    end
    if log ~= io.stderr then
        say(log, ("done %d functions, %d calls, %d errors, %d values, %d slow")
            :format(#functions, A.calls, errors, values, slow))
        log:close()
    end
end

if A.child then
    child()
    os.exit(true, false)
end

-- ---- the processes ---------------------------------------------------------------

local heddle = os.getenv "HEDDLE" or "build/release/heddle"
local here = files.output "pwd":gsub("\n$", "")
local folder = files.folder()
local plain = not (os.getenv "HEDDLE_BUILD" or ""):find "address"
for seed = 1, 3 do
    local log = ("%s/log%d"):format(folder, seed)
    local place = ("%s/%d"):format(folder, seed)
    local _, out, status = files.command(("mkdir %s && cd %s && %s "
        .. "ASAN_OPTIONS=$ASAN_OPTIONS:max_allocation_size_mb=3000:"
        .. "allocator_may_return_null=1:detect_leaks=0 "
        .. "timeout -k 5 200 '%s' run '%s/t/912-garbage.lua' child=true "
        .. "seed=%d calls=%d log=%s >/dev/null"):format(place, place,
        plain and "ulimit -v 6000000;" or "", heddle:sub(1, 1) == "/" and heddle
        or here .. "/" .. heddle, here, seed, plain and 5000 or 1500, log))
    local said = (files.read(log) or ""):match "^(.-)%s*\n" or "nothing"
    tap.ok(status == 0 and said:find "^done", ("seed %d: %s"):format(seed, said),
        ("status %s\n%s"):format(status, out:sub(-2000)))
    tap.is(said:match "(%d+) slow", "0", "none took long", out)
end
files.output("rm -r " .. files.quote(folder))
tap.done()
