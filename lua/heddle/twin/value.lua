--[[
value.lua - what the naive twin counts with: one number a lane.

A value is a table of the numbers of its lanes, with its type (int, f32, f64 or
bool) and the warp that it belongs to.  Every operator goes over the lanes that
are active now, one by one; the others have no number in the result.  So a value
that is made inside a branch says nothing of the lanes outside it, and reading
one of those is an error in Lua rather than a number.

Rounding, conversion and division follow kernel.lua's page, written once more:
nothing is shared with the kernel builder or the engine.  f32 results are
rounded at every operation by packing them.

SPDX-License-Identifier: MIT
]]
local M = {}

-- ---- numbers ------------------------------------------------------------

local function f32(x)
    return (string.unpack("f", string.pack("f", x)))
end

local function to_int(x)
    if x == true then return 1 elseif x == false then return 0 end
    if math.type(x) == "integer" then return x end
    if x ~= x or x >= 0x1p63 or x < -0x1p63 then return 0 end
    return math.tointeger(x < 0 and math.ceil(x) or math.floor(x))
end

local function as(kind, x)
    if kind == "bool" then
        return x
    elseif kind == "int" then
        return to_int(x)
    elseif kind == "f32" then
        return f32(x + 0.0)
    end
    return x + 0.0
end

local WIDTH = { u8 = 1, u16 = 2, i32 = 4, u32 = 4, i64 = 8, f32 = 4, f64 = 8 }
local LOADED = { u8 = "int", u16 = "int", i32 = "int", u32 = "int",
    i64 = "int", f32 = "f32", f64 = "f64" }

-- A number as it comes back from memory of that type.
local function stored(kind, x)
    if LOADED[kind] ~= "int" then return as(kind, x) end
    x = to_int(x)
    if kind == "u8" then return x & 0xff end
    if kind == "u16" then return x & 0xffff end
    if kind == "u32" then return x & 0xffffffff end
    if kind == "i32" then return ((x & 0xffffffff) ~ 0x80000000) - 0x80000000 end
    return x
end

-- ---- values: one number a lane -------------------------------------------

local Value = {}
Value.__index = Value

local function is_value(x)
    return getmetatable(x) == Value
end

local function lane_of(x, l)
    if is_value(x) then return x[l] end
    return x
end

local RANK = { int = 1, f32 = 2, f64 = 3 }

-- The type in which two operands meet: a constant takes the other's type,
-- but an integer and a fraction meet in f64.
local function meet(a, b)
    if is_value(a) and is_value(b) then
        return RANK[a.type] >= RANK[b.type] and a.type or b.type
    end
    local v, c = a, b
    if not is_value(v) then v, c = b, a end
    if v.type == "int" and math.type(c) == "float" and c % 1 ~= 0 then
        return "f64"
    end
    return v.type
end

-- A table with room for so many lanes, which need not grow lane by lane.
local function roomy(lanes)
    return assert(load(("return function(kind, warp) return { type = kind, warp = warp, "
        .. "[0] = nil, %s } end"):format(("nil, "):rep(lanes - 1))))()
end
local ROOM = { [32] = roomy(32), [64] = roomy(64) }

-- A table for the lanes that are active now, of a value or of addresses.
local function row(warp, kind, of)
    local room = #warp.active * 2 > warp.width and ROOM[warp.width]
    return room and room(kind, of) or { type = kind, warp = of }
end

local function blank(warp, kind)
    return setmetatable(row(warp, kind, warp), Value)
end

-- fn over the lanes that are active now.
local function each(warp, kind, fn, a, b, c)
    local r, active = blank(warp, kind), warp.active
    local list_a, list_b, list_c = is_value(a), is_value(b), is_value(c)
    for k = 1, #active do
        local l = active[k]
        local x, y, z = a, b, c
        if list_a then x = a[l] end
        if list_b then y = b[l] end
        if list_c then z = c[l] end
        r[l] = fn(x, y, z)
    end
    return r
end

local function warp_of(a, b)
    return is_value(a) and a.warp or b.warp
end

-- An operand in the type in which the operation is done.
local function operand(x, kind)
    if not is_value(x) then return as(kind, x) end
    if x.type == kind then return x end
    return each(x.warp, kind, function(y) return as(kind, y) end, x)
end

local function arithmetic(fn)
    local function rounded(x, y) return f32(fn(x, y)) end
    return function(a, b)
        local kind = meet(a, b)
        return each(warp_of(a, b), kind, kind == "f32" and rounded or fn,
            operand(a, kind), operand(b, kind))
    end
end

local function comparison(fn)
    return function(a, b)
        local kind = meet(a, b)
        return each(warp_of(a, b), "bool", fn, operand(a, kind),
            operand(b, kind))
    end
end

-- On integers, or where `logic` is given on truth values.
local function bitwise(fn, logic)
    return function(a, b)
        local v = is_value(a) and a or b
        if logic and v.type == "bool" then
            return each(v.warp, "bool", logic, a, b)
        end
        return each(v.warp, "int", function(x, y)
            return fn(math.tointeger(x), math.tointeger(y))
        end, a, b)
    end
end

Value.__add = arithmetic(function(x, y) return x + y end)
Value.__sub = arithmetic(function(x, y) return x - y end)
Value.__mul = arithmetic(function(x, y) return x * y end)
Value.__unm = function(a)
    return each(a.warp, a.type, function(x) return -x end, a)
end
Value.__div = arithmetic(function(x, y)
    assert(math.type(x) == "float", "/ is for f32 and f64")
    return x / y
end)
Value.__idiv = bitwise(function(x, y) return y == 0 and 0 or x // y end)
Value.__mod = bitwise(function(x, y) return y == 0 and 0 or x % y end)
Value.lt = comparison(function(x, y) return x < y end)
Value.le = comparison(function(x, y) return x <= y end)
Value.gt = comparison(function(x, y) return x > y end)
Value.ge = comparison(function(x, y) return x >= y end)
Value.eq = comparison(function(x, y) return x == y end)
Value.ne = comparison(function(x, y) return x ~= y end)
Value.band = bitwise(function(x, y) return x & y end,
    function(x, y) return x and y end)
Value.bor = bitwise(function(x, y) return x | y end,
    function(x, y) return x or y end)
Value.bxor = bitwise(function(x, y) return x ~ y end,
    function(x, y) return x ~= y end)
Value.shl = bitwise(function(x, y) return x << (y & 63) end)
Value.lshr = bitwise(function(x, y) return x >> (y & 63) end)
Value.shr = bitwise(function(x, y)
    y = y & 63
    return x >= 0 and x >> y or ~(~x >> y)
end)
Value.min = arithmetic(function(x, y) return x < y and x or y end)
Value.max = arithmetic(function(x, y) return x > y and x or y end)
function Value.bnot(a)
    return each(a.warp, a.type, function(x)
        if a.type == "bool" then return not x end
        return ~x
    end, a)
end
function Value.sqrt(a)
    return each(a.warp, a.type, function(x)
        return as(a.type, math.sqrt(x))
    end, a)
end
for _, kind in ipairs { "int", "f32", "f64" } do
    Value[kind] = function(a)
        return each(a.warp, kind, function(x)
            return as(kind, type(x) == "boolean" and to_int(x) or x)
        end, a)
    end
end

-- A variable is a value that changes in place, in the active lanes only.
function Value.set(v, e)
    for _, l in ipairs(v.warp.active) do v[l] = as(v.type, lane_of(e, l)) end
end

function Value.get(v)
    return each(v.warp, v.type, function(x) return x end, v)
end

M.WIDTH, M.LOADED = WIDTH, LOADED
M.to_int, M.as, M.stored = to_int, as, stored
M.is_value, M.lane_of, M.meet = is_value, lane_of, meet
M.row, M.blank, M.each = row, blank, each

return M
