--[[
build.lua - what a kernel function writes down: values, and the blocks of
instructions that assemble.lua turns into bytecode.

A value is computed where it is written, once: it is a register that nothing
changes (t:var aside).  So it may move to where it costs least.  Whatever
depends only on things outside a loop is put before that loop, equal values
are computed once, and constants are folded, with the arithmetic of the
engine: an inner loop keeps little more than its memory instructions.  Moving
is safe because values have no effects and because more lanes run before a
loop than in it; what reads a variable stays in its place.

Loads cannot be seen in a value that folds: the 0 of a buffer without
contents is a constant.  But the wait for it must stay.  Each value carries
the set of loads (and variables) that it comes from, constants too.

SPDX-License-Identifier: MIT
]]
-- Not what application code has under this name (pure.lua).
local core = require "heddle.core"
local program = require "heddle.program"

local next = next

local M = {}

local Value = {}
Value.__index = Value

local function is_value(x)
    return getmetatable(x) == Value
end
M.is_value = is_value

-- The file and the line of the kernel function that called, or nothing; this, what
-- calls it, and what that serves, are never it.
local function place()
    return program.place(4, "heddle/kernel")
end

-- Raises, naming that line.
local function fail(text, ...)
    local file, line = place()
    error((file and ("%s:%d: "):format(file, line) or "") .. text:format(...),
        0)
end

-- ---- numbers --------------------------------------------------------------

local RANK = { int = 1, f32 = 2, f64 = 3 }

local function round32(x)
    return (string.unpack("<f", string.pack("<f", x)))
end

-- The engine's only NaN; that of 0/0 has another sign here and there.
local NAN = string.unpack("<d", string.pack("<i8", 0x7ff8 << 48))

local function to_int(x)
    if x == true then return 1 elseif x == false then return 0 end
    if math.type(x) == "integer" then return x end
    if x ~= x or x >= 0x1p63 or x < -0x1p63 then return 0 end
    return math.tointeger(x < 0 and math.ceil(x) or math.floor(x))
end

-- A Lua number or boolean as a constant of that kind.
local function number_as(kind, x)
    if kind == "bool" then return x end
    if kind == "int" then return to_int(x) end
    if type(x) == "boolean" then x = to_int(x) end
    x = x + 0.0
    if x ~= x then return NAN end
    return kind == "f32" and round32(x) or x
end
M.number_as = number_as

-- Results of operations on constants, as the engine computes them.
local FOLD = {
    ADD = function(a, b) return a + b end,
    SUB = function(a, b) return a - b end,
    MUL = function(a, b) return a * b end,
    DIV = function(a, b) return b == 0 and 0 or a // b end,
    MOD = function(a, b) return b == 0 and 0 or a % b end,
    MIN = function(a, b) return a < b and a or b end,
    MAX = function(a, b) return a > b and a or b end,
    AND = function(a, b) return a & b end,
    OR = function(a, b) return a | b end,
    XOR = function(a, b) return a ~ b end,
    SHL = function(a, b) return a << (b & 63) end,
    SHR = function(a, b)
        b = b & 63
        return a >= 0 and a >> b or ~(~a >> b)
    end,
    LSHR = function(a, b) return a >> (b & 63) end,
    FDIV = function(a, b) return a / b end,
    LT = function(a, b) return a < b end,
    LE = function(a, b) return a <= b end,
    GT = function(a, b) return a > b end,
    GE = function(a, b) return a >= b end,
    EQ = function(a, b) return a == b end,
    NE = function(a, b) return a ~= b end,
    NEG = function(a) return -a end,
    NOT = function(a) return ~a end,
    FNEG = function(a) return -a end,
    FSQRT = function(a) return math.sqrt(a) end,
}
for _, op in ipairs { "ADD", "SUB", "MUL", "MIN", "MAX", "LT", "LE", "GT",
    "GE", "EQ", "NE" } do
    FOLD["F" .. op] = FOLD[op]
end

-- ---- blocks and scopes ----------------------------------------------------

-- A kernel being built: root and current block, numbers of values and loads.
local Builder = {}
Builder.__index = Builder

local function new_block(parent, loop)
    return { items = {}, parent = parent, loop = loop, known = {},
        depth = parent and parent.depth + 1 or 0 }
end

-- Whether `outer` is `block` or encloses it.
local function encloses(outer, block)
    while block.depth > outer.depth do block = block.parent end
    return block == outer
end

local function union(a, b)
    if not a or a == b then return b end
    if not b then return a end
    local u = {}
    for k in next, a do u[k] = true end
    for k in next, b do u[k] = true end
    return u
end

function Builder:value(kind, fields)
    local v = fields or {}
    self.count = self.count + 1
    v.k, v.kind, v.id = self, kind, self.count
    return setmetatable(v, Value)
end

function Builder:item(item)
    if not item.file then item.file, item.line = place() end
    local items = self.block.items
    items[#items + 1] = item
    return item
end

-- Checks that a value may be used here.
function Builder:check(v, what)
    if v.k ~= self then
        fail("%s: the value belongs to another kernel", what)
    end
    if not encloses(v.block, self.block) then
        fail("%s: the value was made inside a t:when, t:loop or t:while_ "
            .. "that has ended; carry it out with t:var", what)
    end
    return v
end

-- x as a value of this kernel; Lua numbers and booleans become constants.
function Builder:operand(x, what)
    if is_value(x) then return self:check(x, what) end
    if type(x) == "boolean" then return self:const(x, "bool") end
    if type(x) ~= "number" then
        fail("%s: expected a value or a number, got %s", what, type(x))
    end
    return self:const(x)
end

function Builder:const(x, kind, deps)
    kind = kind or (math.type(x) == "integer" and "int" or "f64")
    return self:value(kind, { const = number_as(kind, x), block = self.root,
        deps = deps, literal = true })
end

-- A register that holds a constant, made once in the outermost block.
function Builder:register(v)
    if v.const == nil then return v end
    local key = v.kind .. (v.kind == "int" and "" .. v.const
        or v.kind == "bool" and tostring(v.const)
        or string.pack("<d", v.const))
    local r = self.numbers[key]
    if not r then
        r = self:value(v.kind, { op = "LI", imm = v.const, block = self.root })
        self.numbers[key] = r
        table.insert(self.root.items, 1, r)
    end
    return r
end

-- The block in which an operation on these values belongs: outside every
-- loop that does not matter to them.
function Builder:home(...)
    local at = self.block
    local values = table.pack(...)
    for i = 1, values.n do
        if values[i] and values[i].var then return at end
    end
    local home, block = at, at
    while block.parent do
        for i = 1, values.n do
            local v = values[i]
            if v and not encloses(v.block, block.parent) then return home end
        end
        if block.loop then home = block.parent end
        block = block.parent
    end
    return home
end

-- Emits (or finds again) the pure operation op on values; imm is a constant,
-- `more` loads that the result comes from besides.
function Builder:pure(op, kind, a, b, c, imm, more)
    local home = self:home(a, b, c)
    local fixed = not (more or a and a.var or b and b.var or c and c.var)
    local key
    if fixed then
        key = ("%s %s %d %d %d "):format(op, kind, a and a.id or 0,
            b and b.id or 0, c and c.id or 0)
            .. (imm == nil and "" or math.type(imm) == "float"
                and string.pack("<d", imm) or tostring(imm))
        local block = home
        while block do
            if block.known[key] then return block.known[key] end
            block = block.parent
        end
    end
    local v = self:value(kind, { op = op, a = a, b = b, c = c, imm = imm,
        block = home })
    v.deps = union(union(a and M.deps_of(a), b and M.deps_of(b)),
        c and M.deps_of(c))
    v.deps = union(v.deps, more)
    home.items[#home.items + 1] = v
    if fixed then home.known[key] = v end
    return v
end

-- What a use of v depends on: a variable stands for all that is set into it.
function M.deps_of(v)
    if v.var then return { [v] = true } end
    return v.deps
end

-- ---- operations on values -------------------------------------------------

local function builder_of(a, b)
    return is_value(a) and a.k or b.k
end

-- Both operands in the type in which they meet.
function Builder:meet(x, y, what)
    local a, b = self:operand(x, what), self:operand(y, what)
    if not RANK[a.kind] or not RANK[b.kind] then
        fail("%s: expected numbers, got %s and %s", what, a.kind, b.kind)
    end
    local kind
    if a.literal == b.literal then
        kind = RANK[a.kind] >= RANK[b.kind] and a.kind or b.kind
    else
        local v, c = a, b
        if a.literal then v, c = b, a end
        kind = v.kind
        if kind == "int" and math.type(c.const) == "float"
            and c.const % 1 ~= 0 then
            kind = "f64"
        end
    end
    return self:convert(a, kind), self:convert(b, kind), kind
end

function Builder:convert(v, kind)
    if v.kind == kind then return v end
    if v.const ~= nil then
        local c = self:const(number_as(kind, v.const), kind, v.deps)
        c.literal = v.literal
        return c
    end
    if v.kind == "bool" then
        local i = self:pure("BTOI", "int", v)
        return kind == "int" and i or self:convert(i, kind)
    end
    if kind == "int" then return self:pure("FTOI", kind, v) end
    if kind == "bool" then fail("a number is not a bool: compare it") end
    return self:pure(v.kind == "int" and "ITOF" or "FTOF", kind, v)
end

local COMMUTES = { ADD = true, MUL = true, MIN = true, MAX = true, AND = true,
    OR = true, XOR = true, EQ = true, NE = true, FADD = true, FMUL = true,
    FEQ = true, FNE = true }
local MIRROR = { LT = "GT", GT = "LT", LE = "GE", GE = "LE", FLT = "FGT",
    FGT = "FLT", FLE = "FGE", FGE = "FLE" }

-- Simple identities of int; the result replaces the operation.
local function shortcut(k, op, a, c)
    if a.var then return nil end
    if c == 0 and (op == "ADD" or op == "SUB" or op == "OR" or op == "XOR"
        or op == "SHL" or op == "SHR" or op == "LSHR") then
        return a
    elseif c == 1 and (op == "MUL" or op == "DIV") then
        return a
    elseif c == 0 and (op == "MUL" or op == "AND") then
        return k:const(0, "int", a.deps)
    elseif (op == "ADD" or op == "SUB") and a.op == "ADD"
        and a.imm ~= nil and not a.a.var then
        local more = a.deps ~= a.a.deps and a.deps or nil -- loads in its constant
        return k:binary("ADD", "int", a.a,
            k:const(a.imm + (op == "ADD" and c or -c), "int", more))
    end
end

-- op on two values of one kind; the result has kind `kind`.
function Builder:binary(op, kind, a, b)
    if a.const ~= nil and b.const ~= nil then
        local r = self:const(FOLD[op](a.const, b.const), kind,
            union(a.deps, b.deps))
        r.literal = a.literal and b.literal
        return r
    end
    if a.const ~= nil and (COMMUTES[op] or MIRROR[op]) then
        op, a, b = MIRROR[op] or op, b, a
    end
    if b.const ~= nil then
        if a.kind == "int" and not b.deps then
            local s = shortcut(self, op, a, b.const)
            if s then return s end
        end
        if op == "SUB" then
            op, b = "ADD", self:const(-b.const, "int", b.deps)
        end
        return self:pure(op, kind, a, nil, nil, b.const, b.deps)
    end
    return self:pure(op, kind, self:register(a), b, nil, nil,
        a.const ~= nil and a.deps or nil)
end

-- The value v, coming from more loads than its operands tell.
function Builder:with_deps(v, deps)
    if not deps then return v end
    if v.const ~= nil then
        return self:const(v.const, v.kind, union(v.deps, deps))
    end
    return self:pure("MOV", v.kind, v, nil, nil, nil, deps)
end

-- An operation on two numbers; `result` is its kind if it is not theirs.
local function arithmetic(op, what, result)
    return function(x, y)
        local k = builder_of(x, y)
        local a, b, kind = k:meet(x, y, what)
        return k:binary(kind == "int" and op or "F" .. op, result or kind, a, b)
    end
end

local function comparison(op, what)
    return arithmetic(op, what, "bool")
end

local function bool_operation(k, op, a, b)
    if a.const ~= nil then a, b = b, a end
    if b.const == nil then return k:pure("B" .. op, "bool", a, b) end
    if a.const ~= nil then
        local x, y = a.const, b.const
        local r = op == "AND" and (x and y) or op == "OR" and (x or y)
            or op == "XOR" and x ~= y
        return k:const(r, "bool", union(a.deps, b.deps))
    end
    return k:pure("B" .. op, "bool", a, k:register(b), nil, nil, b.deps)
end

local function integral(op, what, logic)
    return function(x, y)
        local k = builder_of(x, y)
        local a, b = k:operand(x, what), k:operand(y, what)
        if logic and a.kind == "bool" and b.kind == "bool" then
            return bool_operation(k, op, a, b)
        end
        for _, v in ipairs { a, b } do
            local whole = v.kind == "int" or v.literal and v.kind ~= "bool"
                and math.tointeger(v.const)
            if not whole then
                fail("%s: expected int, got %s", what, v.kind)
            end
        end
        return k:binary(op, "int", k:convert(a, "int"), k:convert(b, "int"))
    end
end

Value.__add = arithmetic("ADD", "+")
Value.__sub = arithmetic("SUB", "-")
Value.__mul = arithmetic("MUL", "*")
Value.min = arithmetic("MIN", ":min")
Value.max = arithmetic("MAX", ":max")
Value.lt = comparison("LT", ":lt")
Value.le = comparison("LE", ":le")
Value.gt = comparison("GT", ":gt")
Value.ge = comparison("GE", ":ge")
Value.eq = comparison("EQ", ":eq")
Value.ne = comparison("NE", ":ne")
Value.__idiv = integral("DIV", "//")
Value.__mod = integral("MOD", "%")
Value.band = integral("AND", ":band", true)
Value.bor = integral("OR", ":bor", true)
Value.bxor = integral("XOR", ":bxor", true)
Value.shl = integral("SHL", ":shl")
Value.shr = integral("SHR", ":shr")
Value.lshr = integral("LSHR", ":lshr")

Value.__div = function(x, y)
    local k = builder_of(x, y)
    local a, b, kind = k:meet(x, y, "/")
    if kind == "int" then fail("/ is for f32 and f64; use // for int") end
    return k:binary("FDIV", kind, a, b)
end

local function unary(k, v, op, kind)
    if v.const ~= nil then
        return k:const(FOLD[op](v.const), kind, v.deps)
    end
    return k:pure(op, kind, v)
end

Value.__unm = function(x)
    local v = x.k:check(x, "unary -")
    if v.kind == "bool" then fail("unary -: expected a number, got bool") end
    return unary(v.k, v, v.kind == "int" and "NEG" or "FNEG", v.kind)
end

function Value:bnot()
    local v = self.k:check(self, ":bnot")
    if v.kind == "bool" then
        if v.const ~= nil then
            return v.k:const(not v.const, "bool", v.deps)
        end
        return v.k:pure("BNOT", "bool", v)
    end
    if v.kind ~= "int" then fail(":bnot: expected int, got %s", v.kind) end
    return unary(v.k, v, "NOT", "int")
end

function Value:sqrt()
    local v = self.k:check(self, ":sqrt")
    if v.kind ~= "f32" and v.kind ~= "f64" then
        fail(":sqrt: expected f32 or f64, got %s", v.kind)
    end
    return unary(v.k, v, "FSQRT", v.kind)
end

for _, kind in ipairs { "int", "f32", "f64" } do
    Value[kind] = function(x)
        return x.k:convert(x.k:check(x, ":" .. kind), kind)
    end
end

-- Equality of Lua cannot be overloaded to give a value.
Value.__lt = function() fail("use :lt, :le, :gt, :ge instead of < and >") end
Value.__le = Value.__lt

--- Operators of Lua that stand for a method.
for event, words in next, {
    band = ":band instead of &", bor = ":bor instead of |",
    bxor = ":bxor instead of ~", bnot = ":bnot instead of ~",
    shl = ":shl instead of <<", shr = ":lshr or :shr instead of >>",
    pow = "* or :sqrt instead of ^",
} do
    Value["__" .. event] = function() fail("use %s", words) end
end

function Value:__tostring()
    return ("a value (%s) of the kernel"):format(self.kind)
end

-- ---- variables ------------------------------------------------------------

-- The one load, or variable that carries one, that e comes from; nil: none.
local function carried_by(e, what)
    local deps = M.deps_of(e) or {}
    local from = next(deps)
    if from and next(deps, from) then
        fail("%s: the value comes from several loads; a pending variable "
            .. "carries one", what)
    elseif from and from.var and not from.pending then
        fail("%s: the value comes from a variable that is not pending", what)
    end
    return from
end

-- A pending variable takes over the load that e comes from: it is in flight
-- until the variable is used (assemble.lua).
local function carry(k, v, e, what)
    local from = carried_by(e, what)
    if from == v then return end
    if from and from.carrier and from.carrier ~= v then
        fail("%s: another pending variable carries the load already, and it "
            .. "can be in one only; set this one from that", what)
    end
    if from and not from.carrier then
        from.carrier = v
        k.names[#k.names + 1] = from.var and nil or from
    end
    k:item { op = "CARRY", to = v, from = from }
end

function Builder:var(x, pending)
    local init = self:operand(x, "t:var")
    local a = self:register(init)
    local v = self:value(init.kind, { var = true, block = self.block,
        sources = { init, a }, pending = pending })
    self:item { op = "VAR", d = v, a = a, free = true }
    if pending then
        self.names[#self.names + 1] = v
        if M.deps_of(init) then carry(self, v, init, "t:var") end
    end
    return v
end

function Value:set(x)
    local k = self.k
    if not self.var then fail(":set: only what t:var made can be set") end
    k:check(self, ":set")
    local e = k:operand(x, ":set")
    if (e.kind == "bool") ~= (self.kind == "bool") then
        fail(":set: a %s variable, a %s value", self.kind, e.kind)
    end
    e = k:convert(e, self.kind)
    local a = k:register(e)
    self.sources[#self.sources + 1] = e
    self.sources[#self.sources + 1] = a
    k:item { op = "SET", d = self, a = a, free = true }
    if self.pending then carry(k, self, e, ":set") end
end

function Value:get()
    local k = self.k
    k:check(self, ":get")
    if not self.var then return self end
    return k:pure("MOV", self.kind, self)
end

-- ---- the kernel -----------------------------------------------------------

-- Opens a block, runs fn in it and closes it again.
function Builder:inside(loop, fn, ...)
    local block = new_block(self.block, loop)
    self.block = block
    fn(...)
    self.block = block.parent
    return block
end

-- What Lua says of a value where it needs a number, and what to do instead.
local function explained(text)
    if not text:find "'for' .*number" then return text end
    return text .. ": a value of the kernel is known only when it runs, and Lua's "
        .. "own loops end before that; use t:loop(), or a plain number (of lanes: 32, and "
        .. "lanes = 32 in the kernel's options)"
end

--[[
Runs the function of a kernel and returns what it wrote: { root, args, loads,
names }, for assemble.lua; names: pending variables, and the loads they carry.
check(k) raises what the whole of it lacks.
]]
function M.run(kernel, threads_of, check)
    local k = setmetatable({ count = 0, numbers = {}, args = {}, loads = {},
        names = {}, kernel = kernel }, Builder)
    k.root = new_block(nil, false)
    k.block = k.root
    local ok, e = pcall(function()
        kernel.fn(threads_of(k))
        check(k)
    end)
    if not ok and e == core.no_memory then
        error(e, 0)
    elseif not ok then
        error(("kernel %s: %s"):format(kernel.name,
            explained(core.problem(e).text)), 0)
    end
    return k
end

M.Builder = Builder
M.union = union
M.fail = fail

return M
