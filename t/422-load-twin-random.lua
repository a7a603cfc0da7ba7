--[[
422-load-twin-random.lua - the lane engine against the naive twin on random
kernels.

Pinned: a hundred and more kernels with nested branches, loops of all kinds with
bounds that differ between lanes, variables, early exits, barriers, atomics,
integer and floating arithmetic on uniform, affine and scattered values, and
loads whose results become addresses and conditions, run alike in both: the
same instructions, masks and addresses, and the same contents afterwards (a
last kernel reads all of them as addresses).  Kernel number k depends on k
alone, so that a failing one can be run again: heddle run THIS.lua first=k
count=1.

SPDX-License-Identifier: MIT
]]
local k = require "heddle.kernel"
local twin = require "heddle.twin"
local survey = require "heddle.survey"
local H = require "heddle"

local arg = H.args { first = 1, count = 100 }

-- ---- random numbers of the test's own -----------------------------------------

local function new_random(seed)
    local x = seed * 0x9e3779b97f4a7c15 + 0x1234567
    return function(n) -- 0 .. n - 1
        x = x ~ (x << 13)
        x = x ~ (x >> 7)
        x = x ~ (x << 17)
        return (x >> 11) % n
    end
end

-- ---- a random kernel as a tree, run by calling it with t ------------------------

local SIZE = 1024 -- elements of each buffer

local LEAVES = { "tid", "tx", "ty", "bx", "by", "gid", "lane", "warp", "gx",
    "block", "gy", "nx" }

local Gen = {}
Gen.__index = Gen

function Gen:pick(list) return list[self.random(#list) + 1] end

-- A function (t, env) -> int value.
function Gen:int(depth)
    local r = self.random(depth > 0 and 14 or 4)
    if r == 0 then
        local c = self.random(40) - 8
        return function(t) return t:const(c) end
    elseif r <= 2 then
        local name = self:pick(LEAVES)
        return function(t) return t[name] end
    elseif r == 3 then
        local i = self.random(2) + 1
        return function(_, env) return env.int[(i - 1) % #env.int + 1] end
    elseif r <= 9 then
        local a, b = self:int(depth - 1), self:int(depth - 1)
        local op = self:pick { "+", "-", "*", "//", "%", "min", "max", "band",
            "bor", "bxor" }
        return function(t, env)
            local x, y = a(t, env), b(t, env)
            if op == "+" then return x + y end
            if op == "-" then return x - y end
            if op == "*" then return (x % 4099) * (y % 4099) end
            if op == "//" then return x // y end
            if op == "%" then return x % y end
            return x[op](x, y)
        end
    elseif r == 10 then
        local a, s = self:int(depth - 1), self.random(70)
        local op = self:pick { "shl", "shr", "lshr" }
        return function(t, env) return a(t, env)[op](a(t, env), s) end
    elseif r == 11 then
        local c, a, b = self:bool(depth - 1), self:int(depth - 1),
            self:int(depth - 1)
        return function(t, env)
            return t:select(c(t, env), a(t, env), b(t, env))
        end
    elseif r == 12 then
        local a, m = self:int(depth - 1), self.random(7) + 1
        return function(t, env) return a(t, env) * m - 3 end
    end
    local f = self:float(depth - 1)
    return function(t, env) return f(t, env):int() end
end

function Gen:float(depth)
    local r = self.random(depth > 0 and 6 or 2)
    if r == 0 then
        return function(_, env) return env.float end
    elseif r == 1 then
        local a = self:int(0)
        return function(t, env) return a(t, env):f32() end
    elseif r <= 4 then
        local a, b = self:float(depth - 1), self:float(depth - 1)
        local op = self:pick { "+", "-", "*", "/", "min", "max" }
        return function(t, env)
            local x, y = a(t, env), b(t, env)
            if op == "+" then return x + y end
            if op == "-" then return x - y end
            if op == "*" then return x * y end
            if op == "/" then return x / y end
            return x[op](x, y)
        end
    end
    local a, wide = self:float(depth - 1), self.random(2) == 0
    return function(t, env)
        local x = a(t, env)
        if wide then x = (x:f64() * 3.25 + 0.1):f32() end
        return x:max(0):sqrt()
    end
end

function Gen:bool(depth)
    local r = self.random(depth > 0 and 7 or 5)
    local op = self:pick { "lt", "le", "gt", "ge", "eq", "ne" }
    if r <= 2 then
        local a, b = self:int(depth - 1), self:int(0)
        return function(t, env) return a(t, env)[op](a(t, env), b(t, env)) end
    elseif r == 3 then
        local a, m = self:int(depth - 1), self.random(4) + 2
        return function(t, env) return (a(t, env) % m):eq(0) end
    elseif r == 4 then
        local a, b = self:float(depth - 1), self:float(0)
        return function(t, env) return a(t, env)[op](a(t, env), b(t, env)) end
    end
    local a, b = self:bool(depth - 1), self:bool(depth - 1)
    local join = self:pick { "band", "bor", "bxor" }
    local negate = self.random(3) == 0
    return function(t, env)
        local x, y = a(t, env), b(t, env)
        x = x[join](x, y)
        if negate then x = x:bnot() end
        return x
    end
end

-- An index inside every buffer; sometimes affine, for the fast path.
function Gen:index()
    if self.random(3) == 0 then
        local s, o = self.random(3), self.random(64)
        return function(t) return t.tid * s + o end
    end
    local a = self:int(2)
    return function(t, env) return a(t, env) % SIZE end
end

-- ---- statements -------------------------------------------------------------------

local INTS = { "bytes", "words", "unsigned", "longs" }

function Gen:load()
    local name, at = self:pick(INTS), self:index()
    local wait = self.random(3)
    local vec = self.random(4) == 0 and { vec = 2 } or nil
    return function(t, env)
        local i = at(t, env)
        if vec then i = i - i % 2 end
        local v = t:load(env.b[name], i, vec)
        if wait == 0 then t:alu(2, { uses = { v } }) end
        env.x:set(v)
    end
end

function Gen:load_float()
    local name, at = self:pick { "floats", "doubles" }, self:index()
    return function(t, env)
        env.f:set(t:load(env.b[name], at(t, env)):f32())
    end
end

function Gen:store()
    if self.random(4) == 0 then
        local name, at = self:pick { "floats", "doubles" }, self:index()
        local v = self:float(2)
        return function(t, env)
            t:store(env.b[name], at(t, env), v(t, env))
        end
    end
    local name, at, v = self:pick(INTS), self:index(), self:int(2)
    return function(t, env)
        t:store(env.b[name], at(t, env), v(t, env))
    end
end

function Gen:atomic()
    local op = self:pick { "add", "min", "max", "and", "or", "xor", "exch",
        "cas" }
    local name = self:pick { "words", "unsigned", "longs" }
    local at, v, c = self:index(), self:int(1), self:int(1)
    local keep = self.random(2) == 0
    return function(t, env)
        local old
        if op == "cas" then
            old = t:atomic(op, env.b[name], at(t, env), v(t, env), c(t, env))
        else
            old = t:atomic(op, env.b[name], at(t, env), v(t, env))
        end
        if keep then env.y:set(old) end
    end
end

-- Contents without an access, of a buffer and of the scratch buffer.
function Gen:touch()
    local name, at = self:pick { "words", "floats", "longs", "notes" },
        self:index()
    local value = self.random(2) == 0 and self:int(2)
    return function(t, env)
        local i = at(t, env)
        if value then t:poke(env.b.notes, i, value(t, env)) end
        env.x:set(t:peek(env.b[name], i):int())
    end
end

function Gen:set()
    local which, e, f = self.random(3), self:int(3), self:float(3)
    return function(t, env)
        if which == 0 then
            env.x:set(e(t, env))
        elseif which == 1 then
            env.y:set(e(t, env))
        else
            env.f:set(f(t, env))
        end
    end
end

function Gen:when(depth)
    local c, yes = self:bool(2), self:block(depth - 1)
    local no = self.random(2) == 0 and self:block(depth - 1)
    return function(t, env)
        t:when(c(t, env), function() yes(t, env) end,
            no and function() no(t, env) end or nil)
    end
end

-- env inside a loop: the counter becomes one of the values.
local function with_counter(env, i)
    return setmetatable({ int = { i, env.x } }, { __index = env })
end

function Gen:loop(depth)
    local body = self:block(depth - 1)
    local r = self.random(4)
    if r == 0 then
        local n = self.random(4)
        return function(t, env)
            t:loop(n, function(i) body(t, with_counter(env, i)) end)
        end
    elseif r == 1 then
        local a, m = self:int(1), self.random(4) + 1
        return function(t, env)
            t:loop(a(t, env) % m, function(i)
                body(t, with_counter(env, i))
            end)
        end
    elseif r == 2 then
        local a, m, s = self:int(1), self.random(5), self.random(3) + 1
        return function(t, env)
            local from = a(t, env) % 6
            t:loop(from, from + m, s, function(i)
                body(t, with_counter(env, i))
            end)
        end
    end
    local a, m = self:int(1), self.random(4)
    return function(t, env)
        t:loop(a(t, env) % 5, 1 - m, -2, function(i)
            body(t, with_counter(env, i))
        end)
    end
end

function Gen:while_(depth)
    local body, at = self:block(depth - 1), self:index()
    local a, m = self:int(1), self.random(5) + 1
    return function(t, env)
        local left = t:var(a(t, env) % m)
        t:while_(function()
            local v = t:load(env.b.bytes, at(t, env))
            return left:gt(0):band((v % 5):ne(4))
        end, function()
            left:set(left - 1)
            body(t, env)
        end)
    end
end

function Gen:exit_if()
    local c, a = self:bool(1), self:int(1)
    return function(t, env)
        t:exit_if(c(t, env):band((a(t, env) % 11):eq(3)))
    end
end

function Gen:statement(depth)
    local r = self.random(depth > 0 and 28 or 18)
    if r <= 3 then return self:load() end
    if r == 4 then return self:load_float() end
    if r <= 7 then return self:store() end
    if r == 8 then return self:atomic() end
    if r <= 12 then return self:set() end
    if r <= 14 then
        local n = self.random(5) + 1
        return function(t) t:alu(n) end
    end
    if r == 15 then
        return self.random(4) == 0 and self:exit_if() or self:set()
    end
    if r <= 17 then return self:touch() end
    if r <= 22 then return self:when(depth) end
    if r <= 26 then return self:loop(depth) end
    return self:while_(depth)
end

function Gen:block(depth)
    local list = {}
    for i = 1, self.random(3) + 1 do list[i] = self:statement(depth) end
    return function(t, env)
        for _, s in ipairs(list) do s(t, env) end
    end
end

-- Top level: phases with barriers between them.
function Gen:program()
    local phases = {}
    for i = 1, self.random(3) + 1 do
        phases[i] = { self:block(3), self.random(2) == 0 }
    end
    return function(t, b)
        local env = { b = b, x = t:var(t.gid), y = t:var(t:arg("seed")),
            f = t:var(t.tid:f32()) }
        env.int, env.float = { env.x, env.y }, env.f
        for _, phase in ipairs(phases) do
            phase[1](t, env)
            if phase[2] then t:sync() end
        end
        t:store(b.words, t.gid % SIZE, env.x)
        t:store(b.longs, t.gid % SIZE, env.y)
    end
end

-- ---- one random application ----------------------------------------------------------

local function application(number)
    local random = new_random(number)
    local gen = setmetatable({ random = random }, Gen)
    local program = gen:program()
    local block = ({ 32, 64, 100, { 16, 3 }, { 5, 5, 2 }, 1 })[random(6) + 1]
    local grid = ({ 1, 3, { 2, 2 } })[random(3) + 1]
    return k.app {
        name = "random" .. number, source = "test", params = {},
        sizes = { S = {} },
        buffers = function()
            local function data(i) return i * 2654435761 % 1000003 end
            return {
                k.u8("bytes", SIZE, { data = function(i) return data(i) % 256
                    end }),
                k.i32("words", SIZE, { data = data }),
                k.u32("unsigned", SIZE, { contents = true }),
                k.i64("longs", SIZE, { data = data }),
                k.f32("floats", SIZE, { data = function(i)
                    return data(i) / 64 end }),
                k.f64("doubles", SIZE, { data = function(i)
                    return data(i) / 1000 end }),
                k.i64("notes", SIZE, { scratch = true }),
            }
        end,
        kernels = function(_, b)
            return {
                { k.kernel("random", { grid = grid, block = block,
                    args = { seed = 7 } }, function(t) program(t, b) end),
                    args = { seed = number } },
                k.kernel("read", { grid = 1, block = 32 }, function(t)
                    t:loop(t.tid, SIZE, 32, function(i)
                        for _, name in ipairs(INTS) do
                            local v = t:load(b[name], i)
                            t:load(b.bytes, v % SIZE)
                        end
                        for _, name in ipairs { "floats", "doubles" } do
                            local v = t:load(b[name], i) * 16
                            t:load(b.bytes, v:int() % SIZE)
                        end
                        t:load(b.bytes, t:peek(b.notes, i) % SIZE)
                    end)
                end),
            }
        end,
    }
end

-- ---- comparing ------------------------------------------------------------------------

local function line(e, alu, lanes)
    local parts = { e.kernel, e.block, e.warp, alu, e.kind }
    if e.addr then
        parts[#parts + 1] = ("%x %d"):format(e.mask, e.bytes)
        for l = 0, lanes - 1 do
            if e.mask >> l & 1 == 1 then
                parts[#parts + 1] = ("%x"):format(e.addr[l])
            end
        end
    end
    return table.concat(parts, " ")
end

local function collect(lanes, each)
    local list, alu = {}, 0
    each(function(e)
        if e.kind == "alu" then
            alu = alu + e.n
        else
            list[#list + 1] = line(e, alu, lanes)
            alu = 0
        end
    end)
    return list
end

local function compare(number)
    local a = application(number)
    local instance, workload = a:instance(), a:workload()
    local place = {}
    for i, b in ipairs(survey.buffers(workload)) do
        place[instance.buffers[i]] = b.base
    end
    local lanes = number % 3 == 0 and 64 or 32
    local want = collect(lanes, function(visit)
        twin.walk(instance, visit, { place = place, lanes = lanes })
    end)
    local got = collect(lanes, function(visit)
        survey.each(workload, visit, { lanes = lanes })
    end)
    for i = 1, math.max(#want, #got) do
        if want[i] ~= got[i] then
            error(("kernel %d, instruction %d:\n  engine %s\n  twin   %s")
                :format(number, i, tostring(got[i]), tostring(want[i])), 0)
        end
    end
    return #want
end

local PARTS = 10
print("1.." .. PARTS)
local instructions = 0
for part = 1, PARTS do
    local bad
    for i = part - 1, arg.count - 1, PARTS do
        local ok, r = pcall(compare, arg.first + i)
        if ok then
            instructions = instructions + r
        else
            bad = bad or r
        end
    end
    print(("%sok %d - random kernels, part %d"):format(bad and "not " or "",
        part, part))
    if bad then print("# " .. tostring(bad):gsub("\n", "\n# ")) end
end
print(("# %d instructions compared"):format(instructions))
