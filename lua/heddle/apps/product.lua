--[[
product.lua - what ATAX, BICG and MVT have in common: the product of a matrix
with a vector, or of its transpose.

A thread has a row (rows = true) or a column of matrix[m][n] and a sum of its
own, which it begins by a load or a store:

    sum[i] += matrix[i][j] vector[j]    for all j, rows: a line and, from 1024
                                        columns on, a page a lane
    sum[j] += matrix[i][j] vector[i]    for all i, columns: one line, one page

The sum stays in a register but is stored in every round, since pointers may
alias; the vector is a broadcast, loaded before the matrix.  Instructions between
accesses are those of nvcc 13's PTX, not unrolled, block by block: 6 a round
(p.alu), the product before the store, the rest behind it.

With p.code = "sass" it is what a GPU runs, the same compiler's for sm_75: 16
rounds at a time, 4.5 instructions each with the accesses where the PTX has 9.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"

local SASS_ROUNDS = 16 -- that sm_75's code has in its loop

-- o: name, matrix, m, n, vector, sum, rows, begin ("load" or "store").
return function(p, o)
    h.check(p.alu >= 1, o.name .. ": alu is 1 or more")
    local threads, rounds = o.rows and o.m or o.n, o.rows and o.n or o.m
    local loads = o.begin == "load"
    local sass = h.choice(p, "code", "ptx", "sass") == "sass"
    h.check(not sass or rounds % SASS_ROUNDS == 0, o.name
        .. ": code = sass takes rows or columns of a multiple of 16")
    local options = { grid = h.ceil(threads, 256), block = 256,
        regs = not sass and 11 or o.rows and 14 or 18 }
    local function load(t, round, own)
        local i, j = round, own
        if o.rows then i, j = own, round end
        t:load(o.vector, round)
        t:load(o.matrix, i * o.n + j)
        t:alu(1)
        t:store(o.sum, own)
    end
    if sass then
        return h.kernel(o.name, options, function(t)
            local own = t.gid
            t:alu(6)
            t:when(own:lt(threads), function()
                t:alu(3)
                t[o.begin](t, o.sum, own)
                t:alu(6, { uses = {} })
                t:loop(0, rounds, SASS_ROUNDS, function(first)
                    for u = 0, SASS_ROUNDS - 1 do load(t, first + u, own) end
                    t:alu(8)
                end)
            end)
        end)
    end
    return h.kernel(o.name, options, function(t)
        local own = t.gid
        t:alu(9)
        t:when(own:lt(threads), function()
            t:alu(loads and 3 or 5)
            t[o.begin](t, o.sum, own)
            t:alu((o.rows and 6 or 4) - (loads and 0 or 1), { uses = {} })
            t:loop(rounds, function(round)
                load(t, round, own)
                t:alu(p.alu - 1)
            end)
        end)
    end)
end
