--[[
474-generator-fields.lua - what is said of fields of generators and kernels that
are not what they should be, and what warps may do that is odd.

Pinned: each field of a generator, a kernel and a launch with a value of a wrong
type or out of range is an error with the field's name and the code of programs,
never one of Lua's own; a block whose registers are more than 32 bits count fits
no core; an error that the script catches leaves no trace; an error value whose
text never ends is told as that; only a generator's own buffers are accessed,
and a list of them may be that of another, too;
metatables of what warps share cannot be reached; accesses without a lane cost
no memory; methods of objects that locals hold are behind the fence as well, and
what they keep must not change; how a loop differs from that of a kernel program.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local k = H.kernel
local small = H.machine("fermi") { core = { count = 2 } }

local function touch(t, b) t:load(b.a, 0) end

--- Runs a generator with one kernel; fields over its own, and the kernel's.
local function run(fields, of_kernel)
    local kernel = { name = "one", grid = 2, block = 64, warp = touch }
    for name, value in pairs(of_kernel or {}) do kernel[name] = value end
    local g = { name = "g", params = { n = 100 },
        buffers = function(p) return { k.f32("a", p.n), k.f32("b", p.n) } end,
        kernels = { kernel } }
    for name, value in pairs(fields) do
        if name == "launch" then
            g.kernels = { table.move({ kernel }, 1, 1, 1, value) }
        else
            g[name] = value
        end
    end
    local sim <close> = H.sim { machine = small, apps = { H.generator(g) } }
    sim:run()
    return sim.instructions
end

local function refused(want, code, ...)
    local ok, err = pcall(run, ...)
    tap.ok(not ok and type(err) ~= "string"
        and err.code == code and tostring(err):find(want, 1, true), want,
        ok and "no error" or err)
end

-- ---- fields ---------------------------------------------------------------------

local BAD = {
    { "name: expected a text, got ", "name", 5, true, "" },
    { "params: expected a table, got ", "params", 5, "x", true },
    { "parameter n: expected a number, a text", "params", { n = print } },
    { "parameter seed: expected a whole number", "params",
        { n = 100, seed = "x" }, { n = 100, seed = 1.5 } },
    { "sizes: expected a table, got ", "sizes", 5, "x" },
    { "size S: expected { name = value }, got 6", "sizes", { S = 6 } },
    { "align: expected a power of two, got ", "align", -1, "x", 1.5, {} },
    { "buffers: expected a list, got ", "buffers", 5, true },
    { "buffer 1: expected what f32(name, n)", "buffers", { 1 } },
    { "buffers: expected a list, got one with a field 'a'", "buffers",
        { a = k.f32("a", 1) } },
    { "buffer 1: field 'name': expected a text, got ", "buffers", { {} },
        { { name = 1, count = 1, width = 4 } } },
    { "buffer 1: field 'count': expected a whole number", "buffers",
        { { name = "a", width = 4 } }, { { name = "a", count = "x" } },
        { { name = "a", count = 0 } } },
    { "buffer 2: field 'width': expected the bytes of an element", "buffers",
        { k.f32("a", 1), { name = "b", count = 1 } },
        { k.f32("a", 1), { name = "b", count = 1, width = 3 } } },
    { "a generator needs a list of kernels", "kernels", 5, "x", {} },
    { "instructions: expected a whole number above 0", "instructions", 0, -1,
        "x" },
    { "memory: expected a whole number above 0", "memory", 0, -1, 1.5 },
}
for _, case in ipairs(BAD) do
    for i = 3, #case do refused(case[1], -10, { [case[2]] = case[i] }) end
end
refused('generator: name "a\\x0ab": byte 2 is a line feed', -2, { name = "a\nb" })

local BAD_KERNEL = {
    { "kernel one: grid: expected n or {x, y, z}", "grid", "x",
        { 1, 2, 3, 4 }, { x = 1 } },
    { "kernel one: block: 0; expected positive", "block", 0 },
    { "kernel one: regs: expected 0 to 2^31 - 1", "regs", -1, "x", 1.5,
        1 << 31 },
    { "kernel one: shared: expected 0 to 2^31 - 1", "shared", -1, {}, 1 << 32 },
    { "kernel one: args: expected { name = value }", "args", 5, "x" },
}
for _, case in ipairs(BAD_KERNEL) do
    for i = 3, #case do refused(case[1], -10, {}, { [case[2]] = case[i] }) end
end
for _, value in ipairs { 5, true, "x" } do
    refused("launch of one: args: expected", -10, { launch = { args = value } })
    refused("launch 1: free: expected a list", -10,
        { launch = { free = value } })
end
tap.is(run { buffers = { { name = "a", count = 100, width = 4 } } },
    run {}, "a plain table that has the fields is a buffer")
do
    local plain = { name = "a", count = 1, width = 4 }
    for _, case in ipairs { { "type", "f32" }, { "dims", { 1 } } } do
        local ok, err = pcall(function()
            H.sim { apps = { k.app { name = "p", kernels = {},
                buffers = function() return { plain } end } } }
        end)
        tap.ok(not ok and tostring(err):find("application p: buffer 1: field '"
            .. case[1] .. "': expected", 1, true),
            "a program's has " .. case[1], err)
        plain[case[1]] = case[2]
    end
end
refused("67108864 registers a thread", -3, {}, { regs = 1 << 26 })

-- ---- what warps do ----------------------------------------------------------------

local function warp_refused(want, warp, more)
    refused(want, -10, more or {}, { warp = warp })
end

warp_refused("an index is a whole number, a list of them, or a function, not "
    .. "1.5", function(t, b) t:load(b.a, 1.5) end)
warp_refused("lane 0: index " .. math.maxinteger .. " of buffer a",
    function(t, b) t:load(b.a, math.maxinteger) end)
warp_refused("no option '1'", function(t, b) t:load(b.a, 0, { 3 }) end)
warp_refused("expected one of the generator's buffers",
    function(t) t:load({ index = 1, name = "a" }, 0) end)
warp_refused("an error that cannot be shown", function()
    error(setmetatable({}, { __tostring = function() while true do end end }))
end, { instructions = 100000 })
warp_refused("a protected metatable", function(t) setmetatable(t, {}) end)

local given = run({}, { warp = function(t, b)
    local fine = pcall(t.load, t, b.a, function() error "no index" end)
    local again = pcall(t.load, t, b.a, function() t:alu(1) error "none" end)
    t:load(b.a, fine and 1 or 0)
    t:load(b.a, again and 1 or 0)
    if getmetatable(t) ~= false or getmetatable(math) ~= false
        or getmetatable(_ENV) ~= false then
        error "a metatable of what is shared"
    end
end })
tap.is(given, 16, "errors that were caught leave what was given, nothing else")

--- The most memory that this process has had, in MB; nil where it is not told.
local function peak()
    local f <close> = io.open "/proc/self/status"
    local kb = f and f:read("a"):match "VmHWM:%s*(%d+) kB"
    return kb and kb // 1024
end
local before = peak()
run({ launch = { grid = 1 } }, { block = 32, warp = function(t, b)
    for _ = 1, 1200000 do t:load(b.a, {}) end
end })
tap.ok(not before or peak() - before < 400, "accesses of no lane cost no memory",
    before and peak() - before)

-- ---- two generators with the same buffers -------------------------------------------

do
    local a, b = k.f32("a", 1000), k.f32("b", 9000)
    local function twice(buffers, own)
        return H.generator { name = "shares", buffers = buffers, kernels = {
            { { name = "one", grid = 9, block = 32, warp = function(t, of)
                t:load(own and of.b or b, t.gid * 20)
                t:load(own and of.a or a, t.gid)
            end }, free = { a } } } }
    end
    local function facts(g)
        local s <close> = H.sim { machine = small, apps = { g } }
        s:run()
        return H.json.encode(s:results().counters), s.now
    end
    local one, two = twice({ a, b }), twice({ b, a })
    local first, ended = facts(one)
    local second, other = facts(two)
    tap.is(facts(one), first, "a list that another generator has in other order")
    tap.is(facts(two), second, "and the other one's")
    tap.ok(first ~= second, "which lie in other places")
    tap.is(facts(twice({ a, b }, true)), first, "by their names as by locals")
    local x <close> = H.sim { machine = small, apps = { one } }
    local y <close> = H.sim { machine = small, apps = { two } }
    x:run()
    y:run()
    tap.is(x.now + (y.now << 32), ended + (other << 32), "and side by side")
end

-- ---- objects in locals --------------------------------------------------------------

local Class = {}
Class.__index = Class
function Class.clock() return os.clock() end
function Class:draw() return math.random(0, self.most) end
local object = setmetatable({ most = 50 }, Class)
warp_refused("'os' is not available in a generator",
    function() object.clock() end)
local function drawn()
    local s <close> = H.sim { machine = small, apps = { H.generator {
        name = "drawn", buffers = { k.f32("a", 100000) }, kernels = { {
        name = "one", grid = 9, block = 32, warp = function(t, b)
            t:load(b.a, function() return object:draw() * 1000 end)
        end } } } } }
    s:run()
    return s:state_hash()
end
math.randomseed(1)
local first = drawn()
math.randomseed(2)
tap.is(drawn(), first, "methods draw from the stream of the warp")

local function hashed(step)
    local class = {}
    class.__index = class
    function class.at() return step and 1 or 2 end
    if step == 3 then function class.at() return 3 end end
    local thing = setmetatable({}, class)
    local s <close> = H.sim { machine = small, apps = { H.generator {
        name = "hashed", buffers = { k.f32("a", 100) }, kernels = { {
        name = "one", grid = 1, block = 32, warp = function(t, b)
            t:load(b.a, thing.at())
        end } } } } }
    return s:results().inputs[1].hash
end
tap.is(hashed(1), hashed(1), "a hash is the same")
tap.ok(hashed(1) ~= hashed(3), "and follows what methods do")

local count = setmetatable({}, { __index = { n = 0 } })
warp_refused("the local 'count' has changed", function()
    local class = getmetatable(count).__index
    class.n = class.n + 1
end)
local A = {}
A.__index, A.x, A.y = A, A, A
local B = setmetatable({}, A)
B.__index, B.a, B.b = B, A, B
local many = {}
for i = 1, 2000 do many[i] = setmetatable({ i = i, of = B, all = many }, B) end
tap.is(run({}, { warp = function(t, b) t:load(b.a, many[7].i) end }), 8,
    "circles of objects are walked once")

-- ---- loops --------------------------------------------------------------------------

local function cycles(app)
    local s <close> = H.sim { machine = small, apps = { app } }
    s:run()
    return H.json.encode { s:results().counters, s.now }
end

local function with_loop(waits)
    return cycles(H.generator { name = "loop", buffers = { k.f32("a", 99999) },
        kernels = { { name = "one", grid = 3, block = 150, warp = function(t, b)
            local x = 0
            for i = 0, 9 do
                x = t:load(b.a, t.gid + i * 4096, { uses = { waits and x or 0 } })
            end
        end } } })
end
local loop = cycles(k.app { name = "loop", buffers = function()
    return { k.f32("a", 99999) }
end, kernels = function(_, b)
    return { k.kernel("one", { grid = 3, block = 150 }, function(t)
        t:loop(10, function(i) t:load(b.a, t.gid + i * 4096) end)
    end) }
end })
tap.is(with_loop(true), loop, "a loop whose loads wait is that of a program")
tap.ok(with_loop(false) ~= loop, "one whose loads do not is unrolled")

return tap.done()
