--[[
410-kernel-builder.lua - the expression builder.

Pinned: what folds, what is shared and what leaves a loop (by the bytecode);
how many registers a kernel needs; waits of loads that fold away; the words of
every error, with the line of the kernel function; launches with grids and
arguments; a host whose state is plain data, in bytes that come back the same.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local k = require "heddle.kernel"
local plain = require "heddle.plain"
local build = require "heddle.kernel.build"
local thread = require "heddle.kernel.thread"
local assemble = require "heddle.kernel.assemble"
local survey = require "heddle.survey"

local app, kernel = k.app, k.kernel

-- An application of one kernel fn(t, b), 64 threads, with some buffers.
local function one(fn, more)
    local a = { name = "one", params = { n = 10 },
        buffers = function()
            return { k.i32("x", 1 << 20), k.f32("f", 1 << 20),
                k.i32("r", 1024, { data = function(i) return i end }),
                k.i32("s", 64, { scratch = true }) }
        end,
        kernels = function(_, b)
            return { kernel("k", { grid = 2, block = 64 }, function(t)
                fn(t, b)
            end) }
        end }
    for key, v in pairs(more or {}) do a[key] = v end
    return app(a)
end

-- The instructions of the kernel: { { op, imm, wait }, ... }, registers.
local function code_of(fn)
    local inst = one(fn):instance()
    local code = assemble.assemble(build.run(inst.kernels[1], thread.new, thread.check_copies),
        inst.buffers)
    local regs, args, n, at = string.unpack("<I2I2I4", code, 97)
    local list = {}
    at = at + regs + args * 40
    for i = 1, n do
        local op = string.unpack("<B", code, at)
        local wait, imm, last = string.unpack("<I4i8", code, at + 12)
        at = last
        list[i] = { op = assemble.OPCODES[op + 1], imm = imm, wait = wait }
    end
    return list, regs
end

local function ops(fn)
    local names = {}
    for i, ins in ipairs((code_of(fn))) do names[i] = ins.op end
    return table.concat(names, " ")
end

-- ---- folding and moving -------------------------------------------------------

tap.is(ops(function() end), "EXIT", "an empty kernel is an exit")
tap.is(ops(function(t, b)
    local _ = t.gid * 7 + t.bx
    t:store(b.x, 5)
end), "STORE EXIT", "what nobody uses is left out")
tap.is(ops(function(t, b) t:store(b.x, (t.gid + 3 - 1) * 1 + 0 + 2) end),
    "SPEC STORE EXIT", "constants go into the instruction")
tap.is(ops(function(t, b) t:load(b.x, t.gid + t.bx * 8 + 1) end),
    "SPEC SPEC MUL LOAD EXIT", "so does a sum of two registers")
tap.is(ops(function(t, b)
    t:loop(10, function(j) t:load(b.x, t.gid * 100 + j) end)
end), "LI LI SPEC MUL LOOP LOAD ENDLOOP EXIT",
    "what does not depend on a loop is before it")
tap.is(ops(function(t, b)
    t:loop(10, function(i)
        t:when(i:lt(5), function()
            t:loop(10, function(j)
                t:load(b.x, t.gid * 10 + i * 100 + j)
            end)
        end)
    end)
end), "LI LI SPEC MUL LOOP LT IF MUL ADD LOOP LOAD ENDLOOP ENDIF "
    .. "ENDLOOP EXIT", "also through a branch, as far as it can go")
tap.is(ops(function(t, b)
    t:load(b.x, t.gid * 12)
    t:store(b.f, t.gid * 12)
end), "SPEC MUL LOAD STORE EXIT", "equal values are computed once")
tap.is(ops(function(t, b)
    local v = t:var(t.gid)
    t:loop(3, function()
        t:load(b.x, v * 2)
        v:set(v + 1)
    end)
end), "LI LI SPEC VAR LOOP MUL LOAD ADD SET ENDLOOP EXIT",
    "what reads a variable stays where it is")
tap.is(ops(function(t)
    t:loop(100, function() t:alu(3) t:shared(1) end)
end), "ALU SHARED EXIT", "a loop of arithmetic only is one run of it")
tap.is((code_of(function(t)
    t:loop(3, function() t:loop(5, function() t:alu(2) end) end)
end))[1].imm, 30, "also nested")
tap.is(ops(function(t, b)
    t:when(true, function() t:load(b.x, 1) end)
    t:when(false, function() t:load(b.x, 2) end, function() t:sync() end)
    t:loop(0, function() t:sync() end)
    t:loop(5, 5, function() t:sync() end)
end), "LOAD BAR EXIT", "known conditions and empty loops leave nothing")
tap.is(ops(function(t, b)
    local c = t:const(7)
    t:when((c * 2 - 4):eq(10):band(t:const(true)), function()
        t:load(b.x, c:shl(3):bor(1):min(50) % 7 + 3 // 2)
    end)
end), "LOAD EXIT", "arithmetic of constants is done at once")

-- ---- waits ---------------------------------------------------------------------

do
    local list = code_of(function(t, b)
        local x = t:load(b.x, t.gid)      -- slot 0, no contents: 0
        local y = t:load(b.f, t.gid)      -- slot 1
        t:alu(1, { uses = {} })
        t:alu(1, { uses = { y } })
        t:store(b.f, t.gid, x + 1)        -- waits for a value that folds
        t:alu(1)
        t:when(y:gt(1.0), function() t:sync() end)
    end)
    local waits = {}
    for _, ins in ipairs(list) do
        waits[#waits + 1] = ("%s %x"):format(ins.op, ins.wait)
    end
    tap.is(table.concat(waits, ", "), "SPEC 0, LOAD 0, LOAD 0, ALU 0, ALU 2, "
        .. "STORE 1, ALU ffffffff, ALU 2, EXIT 0",
        "a load that folds to 0 is still waited for")
end
do
    local list = code_of(function(t, b)
        local x = t:load(b.x, t.gid) + t.lane * 3
        t:alu(1, { uses = { x + 1 } })    -- the 0 and the 1 fold
        t:alu(1, { uses = { t.lane * 3 + 1 } })
    end)
    local waits = {}
    for _, ins in ipairs(list) do
        if ins.op == "ALU" then waits[#waits + 1] = ins.wait end
    end
    tap.is(table.concat(waits, " "), "1 0", "and where another constant is added")
end
do
    local list = code_of(function(t, b)
        local v = t:var(0)
        t:loop(4, function(i)
            t:load(b.r, v)
            v:set(v + t:load(b.r, i))
        end)
    end)
    local wait
    for _, ins in ipairs(list) do
        if ins.op == "LOAD" and not wait then wait = ins.wait end
    end
    tap.is(wait, 2, "a variable waits for what a later round may set")
end
do
    local list = code_of(function(t, b)
        for _ = 1, 40 do t:load(b.x, t.gid) end
        t:atomic("add", b.x, t.gid)
        t:alu(1, { uses = { t:atomic("add", b.x, t.gid) } })
    end)
    tap.is(list[#list - 1].wait, 1 << 8,
        "slots go round; an atomic nobody waits for has none")
end

do
    local list = code_of(function(t, b)
        local v = t:load(b.r, t.gid)
        local w = t:peek(b.r, t.gid + 1, { uses = { v } })
        t:peek(b.r, t.gid + 2)
        t:alu(1, { uses = { w } })
        t:store(b.x, w % 16)
        t:store(b.x, t:peek(b.r, 3))
    end)
    local names = {}
    for i, ins in ipairs(list) do names[i] = ins.op end
    tap.is(table.concat(names, " "),
        "SPEC LOAD PEEK ALU MOD STORE PEEK STORE EXIT",
        "what is peeked at and not needed is left out")
    tap.is(list[3].wait, 0, "a peek does not wait")
    tap.is(list[4].wait, 1, "whoever uses its value does")
    tap.is(list[8].wait, 0, "unless it comes from no load")
end

-- ---- registers -------------------------------------------------------------------

do
    local _, regs = code_of(function(t, b)
        for i = 1, 200 do t:load(b.x, (t.gid * i) % 1000) end
    end)
    tap.ok(regs <= 3, "registers are used again", regs)
    _, regs = code_of(function(t, b)
        local v = {}
        for i = 1, 20 do v[i] = (t.gid * (i + 1)) % 1000 end
        t:loop(3, function(j)
            for i = 1, 20 do t:load(b.x, v[i] + j) end
        end)
    end)
    tap.ok(regs >= 21 and regs <= 24, "what a loop reads lives to its end",
        regs)
end

-- ---- errors ----------------------------------------------------------------------

local function refuses(fn, words, name)
    tap.raises(function() one(fn):workload() end, words, name)
end

refuses(function(t) t:alu(1.5) end, "410-kernel-builder.lua:",
    "an error names the line of the kernel function")
refuses(function(t) local _ = t.foo end, "t has no 'foo'", "unknown field")
refuses(function(t, b) t:peek(b.x, 0) end, "buffer x has no contents",
    "a peek at a buffer without contents")
refuses(function(t) t:laod() end, "t has no 'laod' (did you mean 'load'?)",
    "a call with two letters changed")
refuses(function(t, b) t:store(b.r, t.gid) end, "a value is expected",
    "a store of nothing where values are kept")
refuses(function(t) t:alu(1, { use = {} }) end, "no option 'use'",
    "an unknown option")
refuses(function(t) t:alu(1, { uses = t.gid }) end, "uses is a list",
    "a value alone")
refuses(function(t) t:when(t.gid:lt(1), t:alu(1)) end,
    "expected (condition, fn)", "a branch that is no function")
refuses(function(t) return t.gid & 3 end, "use :band instead of &",
    "an operator of Lua")
refuses(function(t) error(tostring(t.gid), 0) end,
    "a value (int) of the kernel", "a value as text has no address")
refuses(function(t, b) t:poke(b.f, 0, 1) end, "buffer f has no contents",
    "a poke into a buffer without contents")
refuses(function(t, b) t:load(b.s, 0) end, "use t:peek, t:poke and t:atomic",
    "a load from a scratch buffer")
refuses(function(t) t.x = 1 end, "t.x cannot be set", "t is not a table")
refuses(function(t, b)
    local v
    t:when(t.gid:lt(3), function() v = t.gid * 2 + t:load(b.r, 0) end)
    t:store(b.x, v)
end, "made inside a t:when", "a value that has left its branch")
refuses(function(t)
    local v
    t:loop(3, function(i) v = i end)
    t:when(v:eq(1), function() end)
end, "carry it out with t:var", "a counter that has left its loop")
refuses(function(t) t:when(t.gid, function() end) end,
    "the condition is int; expected bool", "a condition that is a number")
refuses(function(t) t:when(t.gid < 3, function() end) end, "use :lt",
    "Lua's own comparison")
refuses(function(t, b) t:store(b.x, t.gid / 2) end, "use // for int",
    "/ of ints")
refuses(function(t, b) t:load(b.f, t:load(b.f, 0) * 1.0) end,
    "the index is f32", "a fraction as an index")
refuses(function(t) t:load(nil, 0) end, "expected a buffer", "no buffer")
refuses(function(t, b) t:load(b.x, 0, { vec = 3 }) end, "vec is 1, 2, 4, 8 or 16",
    "a vector of three")
refuses(function(t, b) t:atomic("xor", b.f, 0) end,
    "no operation 'xor' on f32; it has add, min, max, exch",
    "an atomic that floats have not")
refuses(function(t, b) t:atomic("cas", b.x, 0, 1) end, "cas",
    "cas without a value to compare")
refuses(function(t) t:loop(1, 2, 0, function() end) end, "the step is 0",
    "a loop that stands")
refuses(function(t) t.gid:set(1) end, "only what t:var made", "set of a value")
refuses(function(t) t:var(true):set(1) end, "a bool variable, a int value",
    "a variable of another type")
refuses(function(t) t:arg("s") end, "no value for argument 's'",
    "a launch without an argument")

for _ = 1, 8 do -- whatever the order in which a table is walked
    tap.raises(function() app { nam = "a", kernel = 1, buffer = 2 } end,
        "app: no field 'buffer', 'kernel', 'nam'; it has align, buffers",
        "unknown fields are named together")
end
tap.raises(function() app { name = "a", kernel = 1 } end, "no field 'kernel'",
    "unknown field of an application")
tap.raises(function() one(print):instance { m = 1 } end,
    "no parameter 'm'; it has n", "unknown parameter")
tap.raises(function() one(print):instance { n = "many" } end,
    "parameter n: a number is expected, not 'many'", "a number that is none")
tap.raises(function() k.check(false, "n is even") end, "n is even",
    "a parameter that does not fit")
for n, fits in pairs { [7] = true, [8] = false } do
    local ok, why = pcall(k.most, { n = n, m = 1 }, { n = 7, m = 9 })
    tap.is(ok or why.message, fits or "parameter n: up to 7 is possible, not 8",
        ("a parameter of %d, 7 at most"):format(n))
end
tap.raises(function()
    require("heddle.app").get("KVSWAP"):instance { seqs = 1 << 40 }
end, "parameter seqs: up to 1048576 is possible", "and of an application")
tap.raises(function() one(print):instance("X") end, "no size 'X'",
    "unknown size")
tap.raises(function() k.f32("a", 0) end, "positive", "a buffer of nothing")
tap.raises(function() k.f32("a", 4, { content = true }) end,
    "no option 'content'", "unknown option of a buffer")
tap.raises(function() kernel("k", { grids = 1 }, print) end,
    "no option 'grids'", "unknown option of a kernel")
tap.raises(function()
    one(function() end, { kernels = function()
        return { kernel("k", { block = 2048 }, function() end) }
    end }):workload()
end, "expected 1 to 1024", "a block that is too large")
tap.raises(function()
    survey.each(one(function(t, b) t:load(b.r, t.gid + 1000) end):workload(),
        function() end)
end, "index 1024 of buffer r; expected 0 to 1023", "an index outside")

-- ---- launches, hosts ---------------------------------------------------------------

local function launches(a)
    local list = {}
    survey.each(a:workload(), function(e)
        if e.kind == "store" and e.warp == 0 and e.block == 0 then
            list[#list + 1] = ("%d %s %x"):format(e.launch, e.kernel,
                e.addr[0] & 0xfff)
        end
    end)
    return table.concat(list, ", ")
end

local function args_app(more)
    local a = { name = "args", params = {},
        buffers = function()
            return { k.i32("x", 1024, { contents = true }),
                k.f64("f", 16, { contents = true }) }
        end,
        kernels = function(_, b)
            local one_ = kernel("one", { grid = 1, block = 32,
                args = { at = 3 } }, function(t)
                t:store(b.x, t:arg("at") + t.tx, t.tx * t.nx)
            end)
            local two = kernel("two", { grid = 1, block = 32 }, function(t)
                t:store(b.f, 1, t:arg("v", "f64") * 2)
            end)
            return { one_, { one_, grid = 5, args = { at = 8 } },
                { two, args = { v = 0.75 } } }
        end }
    for key, v in pairs(more or {}) do a[key] = v end
    return app(a)
end

tap.is(launches(args_app()), "1 one c, 2 one 20, 3 two 8",
    "launches with arguments and their defaults")

do
    local seen = {}
    local a = args_app { host = function(h, s)
        s.n = (s.n or 0) + 1
        s.list = s.list or { "a", { deep = true } }
        s.list[#s.list + 1] = s.n / 2
        seen[#seen + 1] = ("%d %d %d %g"):format(h.launched, #s.list,
            h.read(h.b.x, 9), h.read(h.b.f, 1))
        if s.n == 1 then return h.kernels.one end
        if s.n == 2 then
            h.write(h.b.x, 9, -5)
            return { "two", args = { v = 1.25 } }
        end
        if s.n == 3 then
            h.fill(h.b.f, 7)
            return { h.kernels[1], grid = { 2, 2 }, args = { at = 0 } }
        end
    end }
    tap.is(launches(a), "1 one c, 2 two 8, 3 one 0", "a host chooses launches")
    tap.is(table.concat(seen, ", "), "0 3 0 0, 1 4 6 0, 2 5 -5 2.5, 3 6 18 7",
        "and sees what kernels wrote, and its own state")
end

for name, words in pairs {
    ["a state that is no plain data"] = "the host's state.f is a function",
} do
    tap.raises(function()
        launches(args_app { host = function(_, s)
            s.f = print
        end })
    end, words, name)
end
tap.raises(function()
    launches(args_app { host = function(h) h.read(h.b.x, 1024) end })
end, "index 1024 of buffer x; expected less than 1024",
    "a host that reads outside")
tap.raises(function()
    launches(args_app { host = function() error("no more") end })
end, "no more", "a host that fails")
tap.raises(function()
    launches(args_app { host = function() return "three" end })
end, "expected a kernel or a launch", "a host that names no kernel")

do
    local s = { 1, 2.5, "x\0y", true, false, { a = { b = {} } }, [-3] = "m",
        z = 1, y = 0 / 1, x = math.mininteger }
    tap.same(plain.copy(s), s, "plain data survives")
    local other = {}
    for _, key in ipairs { "z", "y", "x", -3, 6, 5, 4, 3, 2, 1 } do
        other[key] = s[key]
    end
    tap.is(plain.write(other, "s"), plain.write(s, "s"), "in one order of bytes")
end

-- ---- places ------------------------------------------------------------------------

do
    local function places(options, fields)
        local a = { name = "p", buffers = function()
            return { k.u8("x", 300), k.u8("y", 1) }
        end, kernels = function(_, b)
            return { kernel("k", { block = 1 }, function(t)
                t:load(b.y, 0)
            end) }
        end }
        for key, v in pairs(fields or {}) do a[key] = v end
        local b = survey.buffers(app(a):workload(options))
        return b[2].base - b[1].base
    end
    tap.is(places(), 512, "buffers lie at multiples of 256 bytes")
    tap.is(places(nil, { align = 4096 }), 4096, "or of what the field says")
    tap.is(places({ align = 2 << 20 }, { align = 4096 }), 2 << 20,
        "or an option, before that")
    tap.is(places { align = "512" }, 512, "which may be a text")
    tap.is(places({ align = 3 }, { params = { align = 1 } }), 512,
        "but not where it is a parameter")
    tap.raises(function() places { align = 100 } end,
        "expected a power of two from 16", "that is no power of two")
end

-- ---- data -------------------------------------------------------------------------

do
    local function first(kind, data, i)
        local got
        survey.each(app { name = "d", params = {},
            buffers = function()
                return { k[kind]("d", 8, { data = data }),
                    k.f64("out", 8, { contents = true }) }
            end,
            kernels = function(_, b)
                return { kernel("k", { block = 1 }, function(t)
                    t:store(b.out, 0, t:load(b.d, i))
                end) }
            end,
            host = function(h, s)
                if s.done then got = h.read(h.b.out, 0) return nil end
                s.done = true
                return h.kernels.k
            end }:workload(), function() end)
        return got
    end
    tap.is(first("i32", function(i) return -i end, 3), -3.0, "a function")
    tap.is(first("u8", { 1, 2, 300 }, 2), 44.0, "a list, cut to the type")
    tap.is(first("u8", { 1, 2 }, 2), 0.0, "beyond the list")
    tap.is(first("u32", -1, 7), 4294967295.0, "a number")
    tap.is(first("f32", "\0\0\128\63\0\0\0\64", 1), 2.0, "bytes")
    tap.is(first("f64", 0.1, 0), 0.1, "a double")
    tap.is(first("i64", { 1 << 40 }, 0), 2.0 ^ 40, "an i64")
end

return tap.done()
