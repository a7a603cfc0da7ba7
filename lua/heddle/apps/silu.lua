--[[
silu.lua - the activation between two products of a layer: mid = silu(gate) up.

    silu(name, b, tokens, ffn)    a kernel of that name

b.gates[tokens][2 ffn] has gate and up, b.mid[tokens][ffn] what comes of them, fp16 (u32
of two).  Blocks of 256, 16 bytes a thread: two loads and a store, coalesced; 40
instructions between are a guess.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"

local BLOCK = 256

return function(name, b, tokens, ffn)
    local pieces = ffn // 8
    local all = tokens * pieces
    local options = { grid = h.ceil(all, BLOCK), block = BLOCK, regs = 24 }
    return h.kernel(name, options, function(t)
        t:alu(6)
        t:exit_if(t.gid:ge(all))
        local at = t.gid // pieces * ffn + 4 * (t.gid % pieces)
        t:load(b.gates, at, { vec = 4 })
        t:load(b.gates, at + ffn // 2, { vec = 4 })
        t:alu(40)
        t:store(b.mid, 4 * t.gid, nil, { vec = 4 })
    end)
end
