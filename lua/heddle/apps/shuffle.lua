--[[
shuffle.lua - a permutation of 0 .. 2^bits - 1 that kernels can compute, both ways.

    shuffle.forward(x, bits)    where x goes; x is a value of a kernel
    shuffle.back(x, bits)       the x that went there

Folds of the upper half of the bits into the lower, around two products with odd numbers:
each step has an inverse.  With one product neighbours of x would still go near where x
goes (13 pages of a warp's 32 instead of 31); with two they do not.  Data in random order
then need no table, and an application of any size no memory.

SPDX-License-Identifier: MIT
]]
local M = {}

local FACTORS = { 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9 }

-- The inverse of an odd number, modulo 2^64, by Newton's iteration.
local function inverse(factor)
    local x = 1
    for _ = 1, 6 do x = x * (2 - factor * x) end
    return x
end

local function through(x, bits, first, second)
    local fold, mask = (bits + 1) // 2, (1 << bits) - 1
    x = x:bxor(x:lshr(fold))
    x = (x * first):band(mask)
    x = x:bxor(x:lshr(fold))
    x = (x * second):band(mask)
    return x:bxor(x:lshr(fold))
end

function M.forward(x, bits)
    return bits < 2 and x or through(x, bits, FACTORS[1], FACTORS[2])
end

function M.back(x, bits)
    return bits < 2 and x
        or through(x, bits, inverse(FACTORS[2]), inverse(FACTORS[1]))
end

return M
