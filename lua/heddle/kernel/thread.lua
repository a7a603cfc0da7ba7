--[[
thread.lua - the object `t` that a kernel function calls: indices, memory,
arithmetic by count, and control flow.  kernel.lua describes it.

Instructions with an effect stay where they are written.  Each is an item of
its block: { op =, operands, deps = the loads it waits for }; `when` and the
loops are items that hold blocks.

SPDX-License-Identifier: MIT
]]
local build = require "heddle.kernel.build"

local is_value, fail, union = build.is_value, build.fail, build.union
local deps_of = build.deps_of

local M = {}

local Thread = {}

-- ---- indices ----------------------------------------------------------------

local SPECIAL = { tid = 0, gid = 1, tx = 2, ty = 3, tz = 4, bx = 5, by = 6,
    bz = 7, block = 8, nx = 9, ny = 10, nz = 11, lane = 12, warp = 13,
    lanes = 14 }
local AXIS = { tx = 1, ty = 2, tz = 3 }
local GLOBAL = { gx = { "bx", "tx", 1 }, gy = { "by", "ty", 2 },
    gz = { "bz", "tz", 3 } }

local function special(k, name)
    if AXIS[name] and k.kernel.block[AXIS[name]] == 1 then
        return k:const(0)
    elseif name == "lanes" and k.kernel.lanes then
        return k:const(k.kernel.lanes)
    end
    local v = k.specials[name]
    if not v then
        v = k:value("int", { op = "SPEC", imm = SPECIAL[name],
            block = k.root })
        k.root.items[#k.root.items + 1] = v
        k.specials[name] = v
    end
    return v
end

local function index(t, name)
    if Thread[name] then return Thread[name] end
    local k = rawget(t, "k")
    if SPECIAL[name] then return special(k, name) end
    local g = GLOBAL[name]
    if g then
        local at = special(k, g[1]) * k.kernel.block[g[3]] + special(k, g[2])
        return at
    end
    local known = {}
    for _, names in ipairs { Thread, SPECIAL, GLOBAL } do
        for n in next, names do known[#known + 1] = n end
    end
    table.sort(known)
    fail("t has no '%s'%s", tostring(name),
        require("heddle.index").meant(name, known))
end

function Thread:arg(name, kind)
    local k = self.k
    kind = kind or "int"
    if kind ~= "int" and kind ~= "f32" and kind ~= "f64" then
        fail("t:arg(%s): the type is int, f32 or f64", tostring(name))
    end
    for i, a in ipairs(k.args) do
        if a.name == name then
            if a.kind ~= kind then
                fail("t:arg(%s): it was %s before", name, a.kind)
            end
            return k.args[i].value
        end
    end
    local v = k:value(kind, { op = "ARG", imm = #k.args, block = k.root })
    k.root.items[#k.root.items + 1] = v
    k.args[#k.args + 1] = { name = name, kind = kind, value = v }
    return v
end

function Thread:const(x, kind)
    kind = kind or type(x) == "boolean" and "bool"
        or math.type(x) == "integer" and "int" or "f64"
    local v = self.k:const(x, kind)
    v.literal = nil -- it has its type and does not take another's
    return v
end


function Thread:select(c, x, y)
    local k = self.k
    c = k:operand(c, "t:select")
    if c.kind ~= "bool" then fail("t:select: the condition is %s", c.kind) end
    local kind = "bool"
    local a, b = k:operand(x, "t:select"), k:operand(y, "t:select")
    if a.kind ~= "bool" or b.kind ~= "bool" then
        a, b, kind = k:meet(x, y, "t:select")
    end
    if c.const ~= nil then
        local v = b
        if c.const then v = a end
        return k:with_deps(v.var and v:get() or v, c.deps)
    end
    local more = union(a.const ~= nil and a.deps or nil,
        b.const ~= nil and b.deps or nil)
    return k:pure("SEL", kind, k:register(a), k:register(b), c, nil, more)
end

-- ---- memory -----------------------------------------------------------------

local WIDTH = { u8 = 1, u16 = 2, i32 = 4, u32 = 4, i64 = 8, f32 = 4, f64 = 8 }
local LOADED = { u8 = "int", u16 = "int", i32 = "int", u32 = "int",
    i64 = "int", f32 = "f32", f64 = "f64" }

local function check_buffer(b, what)
    if type(b) ~= "table" or not WIDTH[b.type] then
        fail("%s: expected a buffer, got %s", what, type(b))
    end
end

-- A buffer that instructions can reach.
local function check_memory(b, what)
    check_buffer(b, what)
    if b.scratch then
        fail("%s: buffer %s is scratch; use t:peek, t:poke and t:atomic", what,
            b.name)
    end
end

-- Options have the names that the call knows; `uses` is a list of values.
local function check_options(options, what, ...)
    if options == nil then return end
    if type(options) ~= "table" or is_value(options) then
        fail("%s: options are a table, as in { %s = ... }", what, (...))
    end
    for name in next, options do
        local known = false
        for _, n in ipairs { ... } do known = known or n == name end
        if not known then
            fail("%s has no option '%s'; it takes %s", what, tostring(name),
                table.concat({ ... }, ", "))
        end
    end
    local uses = options.uses
    if uses ~= nil and (type(uses) ~= "table" or is_value(uses)) then
        fail("%s: uses is a list: { uses = { v, ... } }", what)
    end
end

-- A variable; with pending = true it carries a load in flight.
function Thread:var(x, options)
    local pending
    check_options(options, "t:var", "pending")
    if options then pending = options.pending end
    if pending ~= nil and type(pending) ~= "boolean" then
        fail("t:var: pending is true or false, not %s", tostring(pending))
    end
    return self.k:var(x, pending)
end

local function check_vec(b, options, what, ...)
    check_options(options, what, "vec", ...)
    local n = options and options.vec or 1
    if n ~= 1 and n ~= 2 and n ~= 4 and n ~= 8 and n ~= 16 then
        fail("%s: vec is 1, 2, 4, 8 or 16, not %s", what, tostring(n))
    elseif n * WIDTH[b.type] > 16 then
        fail("%s: vec = %d of %s are %d bytes; at most 16 are expected", what,
            n, b.type, n * WIDTH[b.type])
    end
    return n
end

-- Takes constant terms off an index: what is left, and their sum.
local function peel(v, off)
    while v.op == "ADD" and v.imm ~= nil and not v.a.var do
        off = off + v.imm
        v = v.a
    end
    return v, off
end

-- The index of a memory instruction: up to two registers and a number.
local function address(k, x, item, what, two)
    local v = k:operand(x, what)
    if v.kind ~= "int" then
        fail("%s: the index is %s; expected int", what, v.kind)
    end
    item.deps = union(item.deps, deps_of(v))
    if v.const ~= nil then
        item.imm = v.const
        return
    end
    local off
    v, off = peel(v, 0)
    if two and v.op == "ADD" and v.imm == nil and v.block == k.block
        and not v.a.var and not v.b.var then
        item.a, off = peel(v.a, off)
        item.b, off = peel(v.b, off)
    else
        item.a = v
    end
    item.imm = off
end

-- What a memory instruction returns: its register, or the 0 of a buffer
-- without contents, which still has to be waited for.
local function result(k, b, item)
    local kind = LOADED[b.type]
    k.loads[#k.loads + 1] = item
    item.fills = true
    if not b.contents then
        local v = k:const(0, kind, { [item] = true })
        v.literal = nil
        return v
    end
    local v = k:value(kind, { op = "RESULT", block = k.block,
        deps = { [item] = true } })
    item.d = v
    return v
end

function Thread:load(b, at, options)
    local k = self.k
    check_memory(b, "t:load")
    local item = { op = "LOAD", buffer = b,
        vec = check_vec(b, options, "t:load", "l1") }
    local l1
    if options then l1 = options.l1 end
    if l1 ~= nil and type(l1) ~= "boolean" then
        fail("t:load(%s): l1 is true or false, not %s", b.name, tostring(l1))
    elseif l1 == false and b.texture then
        fail("t:load(%s): l1 = false, and a load of this buffer is a texture "
            .. "fetch", b.name)
    end
    item.past = l1 == false
    address(k, at, item, "t:load(" .. b.name .. ")", true)
    k:item(item)
    return result(k, b, item)
end

function Thread:store(b, at, x, options)
    local k = self.k
    check_memory(b, "t:store")
    if type(x) == "table" and not is_value(x) then x, options = nil, x end
    local item = { op = "STORE", buffer = b,
        vec = check_vec(b, options, "t:store") }
    address(k, at, item, "t:store(" .. b.name .. ")", true)
    if x == nil and b.contents then
        fail("t:store(%s): a value is expected, because the buffer has contents",
            b.name)
    elseif x ~= nil then
        local v = k:operand(x, "t:store")
        item.deps = union(item.deps, deps_of(v))
        if b.contents then
            item.value = k:register(k:convert(v, LOADED[b.type]))
        end
    end
    k:item(item)
end

local function check_values(b, what)
    check_buffer(b, what)
    if not b.contents then
        fail("%s: buffer %s has no contents", what, b.name)
    end
end

-- An element without an access; it waits for what `uses` comes from.
function Thread:peek(b, at, options)
    local k = self.k
    check_values(b, "t:peek")
    check_options(options, "t:peek", "uses")
    local item = { op = "PEEK", buffer = b, vec = 1, free = true }
    address(k, at, item, "t:peek(" .. b.name .. ")", true)
    for _, x in ipairs(options and options.uses or {}) do
        item.deps = union(item.deps, deps_of(k:operand(x, "t:peek")))
    end
    local v = k:value(LOADED[b.type], { op = "RESULT", block = k.block,
        a = item.a, b = item.b, deps = item.deps })
    item.d, item.deps = v, nil
    k:item(item)
    return v
end

-- Sets an element without an access.
function Thread:poke(b, at, x)
    local k = self.k
    check_values(b, "t:poke")
    local item = { op = "POKE", buffer = b, vec = 1 }
    address(k, at, item, "t:poke(" .. b.name .. ")", true)
    local v = k:operand(x, "t:poke")
    item.value, item.deps = k:register(k:convert(v, LOADED[b.type])), nil
    k:item(item)
end

-- ---- copies to shared memory --------------------------------------------------

-- Groups that can be in flight: HD_GROUPS of work/program/program.h.
local GROUPS = 8

-- Where a copy's values go, if anything says so: a scratch buffer of its type.
local function copy_to(b, options, what)
    local to = options and options.to
    if to == nil then
        if options and options.at ~= nil then
            fail("%s: at is an index of the buffer `to', which is not given", what)
        end
        return nil
    end
    check_buffer(to, what .. ": to")
    if not to.scratch then
        fail("%s: to is %s, which is not scratch; a copy goes to what a block "
            .. "holds in shared memory", what, to.name)
    elseif to.type ~= b.type then
        fail("%s: to is %s, of %s; expected %s", what, to.name, to.type, b.type)
    end
    return to
end

-- A copy of so many elements, or 16-byte pieces, of a lane.
local function copy(k, b, at, options, what, n, bulk)
    check_memory(b, what)
    if b.texture then
        fail("%s: loads of this buffer are texture fetches; a copy cannot be one", what)
    end
    local l1
    if options then l1 = options.l1 end
    if l1 ~= nil and type(l1) ~= "boolean" then
        fail("%s: l1 is true or false, not %s", what, tostring(l1))
    end
    local item = { op = "LOAD", buffer = b, vec = n, copy = bulk and 65 or 64,
        past = l1 == false }
    address(k, at, item, what, true)
    k:item(item)
    k.copies = k.copies or item
end

-- The elements that a lane copies, one after the other, where both buffers have
-- contents.
function Thread:copy(b, at, options)
    local k = self.k
    check_buffer(b, "t:copy")
    local what = "t:copy(" .. b.name .. ")"
    local n = check_vec(b, options, what, "to", "at", "l1")
    local bytes = n * WIDTH[b.type]
    if bytes ~= 4 and bytes ~= 8 and bytes ~= 16 then
        fail("%s: %d bytes a lane; expected 4, 8 or 16", what, bytes)
    end
    local to = copy_to(b, options, what)
    copy(k, b, at, options, what, n, false)
    if not to or not b.contents then return end
    local from = k:operand(at, what)
    local place = k:operand(options.at or 0, what)
    for j = 0, n - 1 do
        self:poke(to, place + j, self:peek(b, from + j))
    end
end

-- So many bytes, by each lane that comes here.
function Thread:copy_bulk(b, at, bytes, options)
    local k = self.k
    check_buffer(b, "t:copy_bulk")
    local what = "t:copy_bulk(" .. b.name .. ")"
    check_options(options, what, "to", "at", "l1")
    bytes = type(bytes) == "number" and math.tointeger(bytes) or bytes
    if math.type(bytes) ~= "integer" or bytes < 16 or bytes % 16 ~= 0
        or bytes >= 1 << 20 then
        fail("%s: bytes is a multiple of 16 below 2^20, not %s", what,
            tostring(bytes))
    end
    local count = bytes // WIDTH[b.type]
    if count > b.count then
        fail("%s: %d bytes; the buffer has %d", what, bytes,
            b.count * WIDTH[b.type])
    end
    local to = copy_to(b, options, what)
    copy(k, b, at, options, what, bytes // 16, true)
    if not to or not b.contents then return end
    local from = k:operand(at, what)
    local place = k:operand(options.at or 0, what)
    self:loop(count, function(j)
        self:poke(to, place + j, self:peek(b, from + j))
    end)
end

-- Closes the group of the copies before it.
function Thread:copy_commit()
    self.k.commits = self.k:item { op = "COMMIT" }
end

-- What follows waits for all groups but the newest n.
function Thread:copy_wait(n)
    n = n == nil and 0 or n
    if math.type(n) ~= "integer" or n < 0 or n >= GROUPS then
        fail("t:copy_wait: expected a number of groups that stay in flight, 0 to "
            .. "%d, got %s", GROUPS - 1, tostring(n))
    end
    self.k.drains = self.k:item { op = "DRAIN", imm = n }
end

-- What the calls of a whole kernel lack.
local function check_copies(k)
    local item, words
    if k.commits and not k.copies then
        item, words = k.commits, "t:copy_commit: the kernel copies nothing"
    elseif k.drains and not k.commits then
        item, words = k.drains, "t:copy_wait: there is no group to wait for; "
            .. "t:copy_commit closes one"
    elseif k.copies and not k.commits then
        item, words = k.copies, "a copy that nothing can wait for: t:copy_commit "
            .. "closes its group, and t:copy_wait waits for it"
    end
    if item then
        error((item.file and ("%s:%d: "):format(item.file, item.line) or "")
            .. words, 0)
    end
end
M.check_copies = check_copies

local ATOMIC = { add = 0, min = 1, max = 2, ["and"] = 3, ["or"] = 4, xor = 5,
    exch = 6, cas = 7 }
local FLOAT_ATOMIC = { add = true, min = true, max = true, exch = true }

-- An atomic of shared memory is one of its instructions, then the values.
local function mix(k, b, item)
    k:item { op = "SHARED", imm = 1, aux = 0, deps = item.deps }
    item.op = "MIX"
    k:item(item)
    local v = k:value(LOADED[b.type], { op = "RESULT", block = k.block,
        a = item.a, deps = item.deps })
    item.d, item.deps = v, nil
    return v
end

function Thread:atomic(op, b, at, x, compare)
    local k = self.k
    check_buffer(b, "t:atomic")
    local kind = LOADED[b.type]
    if not ATOMIC[op] or kind ~= "int" and not FLOAT_ATOMIC[op] then
        fail("t:atomic: no operation '%s' on %s; it has %s", tostring(op),
            b.type, kind == "int" and "add, min, max, and, or, xor, exch, cas"
            or "add, min, max, exch")
    end
    if (op == "cas") ~= (compare ~= nil) then
        fail("t:atomic: cas, and only cas, has a value to compare")
    end
    local item = { op = "ATOM", buffer = b, atomic = ATOMIC[op], vec = 1 }
    address(k, at, item, "t:atomic(" .. b.name .. ")", false)
    if item.imm > 0x7fffffff or item.imm < -0x80000000 then
        item.a = k:binary("ADD", "int", item.a or k:const(0),
            k:const(item.imm))
        item.a = k:register(item.a)
        item.imm = 0
    end
    local function number(y)
        local v = k:operand(y, "t:atomic")
        item.deps = union(item.deps, deps_of(v))
        return k:register(k:convert(v, kind))
    end
    item.value = number(x == nil and 1 or x)
    if compare ~= nil then item.compare = number(compare) end
    if b.scratch then return mix(k, b, item) end
    k:item(item)
    return result(k, b, item)
end

-- ---- arithmetic and barriers ------------------------------------------------

-- What machines with core.classes tell apart, as enum heddle_class has it.
local CLASS = { int = 0, fp32 = 1, fp64 = 2, sfu = 3, tensor = 4, memory = 5,
    control = 7, unknown = 8 }
local ADDRESSED, DEPENDENT = 64, 128

-- The class and dependence of an instruction, as bits.
local function class_bits(options, what)
    local class, dependent = nil, nil
    if options then class, dependent = options.class, options.dependent end
    if class ~= nil and not CLASS[class] then
        fail("%s: there is no class '%s'; there are control, fp32, fp64, int, "
            .. "memory, sfu, tensor, unknown", what, tostring(class))
    end
    if dependent ~= nil and type(dependent) ~= "boolean" then
        fail("%s: dependent is true or false", what)
    end
    return (CLASS[class] or 0) | (dependent and DEPENDENT or 0)
end

-- One access to shared memory whose lanes' addresses, bytes of the block's, are
-- known.
local function shared_at(k, x, options)
    local what = "t:shared"
    check_options(options, what, "uses", "bytes", "dependent")
    local bytes = options and options.bytes or 4
    if math.type(bytes) ~= "integer" or bytes < 1 or bytes > 16
        or bytes & bytes - 1 ~= 0 then
        fail("%s: bytes is 1, 2, 4, 8 or 16, not %s", what, tostring(bytes))
    end
    local v = k:operand(x, what)
    if v.kind ~= "int" then
        fail("%s: the addresses are %s; expected int", what, v.kind)
    end
    local item = { op = "SHARED", imm = 1, vec = bytes, a = k:register(v),
        aux = ADDRESSED | class_bits(options, what), deps = deps_of(v) }
    for _, use in ipairs(options and options.uses or {}) do
        item.deps = union(item.deps, deps_of(k:operand(use, what)))
    end
    k:item(item)
end

local function run_of(op, what)
    return function(t, n, options)
        local k = t.k
        if op == "SHARED" and is_value(n) then return shared_at(k, n, options) end
        if math.type(n) ~= "integer" or n < 0 or n > 1 << 30 then
            local whole = type(n) == "number" and math.tointeger(n)
            if not whole or whole < 0 or whole > 1 << 30 then
                fail("%s: expected a number of instructions, got %s", what,
                    tostring(n))
            end
            n = whole
        end
        if op == "ALU" then
            check_options(options, what, "uses", "class", "dependent")
        else
            check_options(options, what, "uses", "dependent")
        end
        local item = { op = op, imm = n, aux = class_bits(options, what) }
        if options and options.uses then
            for _, x in ipairs(options.uses) do
                item.deps = union(item.deps, deps_of(k:operand(x, what)))
            end
        else
            item.all = true
        end
        if n > 0 or item.deps then k:item(item) end
    end
end

Thread.alu = run_of("ALU", "t:alu")
Thread.shared = run_of("SHARED", "t:shared")

function Thread:sync() self.k:item { op = "BAR" } end

-- ---- control flow -----------------------------------------------------------

local function condition(k, x, what)
    local c = k:operand(x, what)
    if c.kind ~= "bool" then
        fail("%s: the condition is %s; expected bool", what, c.kind)
    end
    return c
end

-- A condition that is known: only the wait is left of it.
local function wait_for(k, c)
    if c.deps then k:item { op = "ALU", imm = 0, deps = c.deps } end
end

function Thread:when(x, yes, no)
    local k = self.k
    local c = condition(k, x, "t:when")
    if type(yes) ~= "function" or no ~= nil and type(no) ~= "function" then
        fail("t:when: expected (condition, fn) or (condition, fn, else_fn)")
    end
    if c.const ~= nil then
        wait_for(k, c)
        local fn = no
        if c.const then fn = yes end
        if fn then k:inside_known(fn) end
        return
    end
    local item = { op = "IF", a = c, deps = deps_of(c) }
    item.body = k:inside(false, yes)
    if no then item.other = k:inside(false, no) end
    k:item(item)
end

-- A branch that is always taken costs nothing, but its values are as local
-- as in any other.
function build.Builder:inside_known(fn)
    local block = self:inside(false, fn)
    for _, item in ipairs(block.items) do self:item(item) end
end

-- The body of a loop if it is arithmetic only: its items, all of one wait.
local function only_alu(body)
    local list = {}
    for _, item in ipairs(body.items) do
        if item.op == "ALU" or item.op == "SHARED" then
            if item.deps then return nil end
            list[#list + 1] = item
        elseif not is_value(item) then
            return nil
        end
    end
    return list
end

local function close_loop(k, item, trips)
    local list = trips and only_alu(item.body)
    if not list then
        k:item(item)
        return
    end
    for _, run in ipairs(list) do
        if run.imm * trips > 1 << 30 then
            k:item(item)
            return
        end
    end
    for _, run in ipairs(list) do
        k:item { op = run.op, imm = run.imm * trips, all = run.all }
    end
end

local function bound(k, x, what)
    local v = k:operand(x, what)
    if v.kind ~= "int" then
        fail("t:loop: the %s is %s; expected int", what, v.kind)
    end
    return v.var and v:get() or v
end

local function trip_count(from, to, step)
    local span = step > 0 and to - from or from - to
    return span <= 0 and 0 or (span + math.abs(step) - 1) // math.abs(step)
end

function Thread:loop(x, y, z, fn)
    local k = self.k
    if fn == nil then
        if z == nil then x, y, z, fn = 0, x, 1, y
        else x, y, z, fn = x, y, 1, z end
    end
    if type(fn) ~= "function" then
        fail("t:loop: expected (n, fn), (from, to, fn) or "
            .. "(from, to, step, fn)")
    end
    local from, to = bound(k, x, "start"), bound(k, y, "end")
    local step = bound(k, z, "step")
    local item = { op = "LOOP", imm = 0 }
    item.deps = union(union(from.deps, to.deps), step.deps)
    local trips
    if step.const ~= nil then
        if step.const == 0 then fail("t:loop: the step is 0") end
        item.imm = step.const
        item.down = step.const < 0
        trips = from.const ~= nil and to.const ~= nil
            and trip_count(from.const, to.const, step.const) or nil
    else
        item.c = step
    end
    if trips == 0 then
        wait_for(k, { deps = item.deps })
        return
    end
    item.a, item.b = k:register(from), k:register(to)
    item.d = k:value("int", { op = "COUNTER" })
    item.body = k:inside(true, function()
        item.d.block = k.block
        fn(item.d)
    end)
    close_loop(k, item, not item.deps and trips)
end

function Thread:while_(cond, body)
    local k = self.k
    if type(cond) ~= "function" or type(body) ~= "function" then
        fail("t:while_: expected two functions")
    end
    local item = { op = "WHILE" }
    item.body = k:inside(true, function()
        local c = condition(k, cond(), "t:while_")
        k:item { op = "TEST", a = k:register(c), deps = deps_of(c) }
        body()
    end)
    k:item(item)
end

function Thread:exit_if(x)
    local k = self.k
    local c = condition(k, x, "t:exit_if")
    if c.const == false then
        wait_for(k, c)
        return
    end
    k:item { op = "EXITIF", a = k:register(c), deps = deps_of(c) }
end

local meta = { __index = index, __newindex = function(_, name)
    fail("t.%s cannot be set", tostring(name))
end }

-- The object for a kernel that is being built.
function M.new(k)
    k.specials = {}
    return setmetatable({ k = k }, meta)
end

M.WIDTH = WIDTH

return M
