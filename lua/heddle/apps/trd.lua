--[[
TRD - C = A + s B over chunks, SHOC Triad (also MASK, Mosaic).

Arrays, in order: A0, B0, C0, A1, B1, C1, f32 x n.  Footprint 24 n bytes.

SHOC processes its vector in chunks of a size, for each of nine sizes from
64 KiB to all of it; chunks take the two sets of arrays in turn and start at
element 0 of their set.  A launch has a thread an element, blocks of 128: two
loads, a store, 19 instructions in MAFIA's PTX, one page each, no reuse.

Small chunks would stay in a few pages; only the three largest sizes (a
quarter, a half, the whole) are run, once, as the papers' High/High class asks
for.  Left out: copies from and to the host.  Addresses are driven by indices
alone; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; small chunks, copies and repeats are left out, as said.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local B = 128

local function triad(p, b, set)
    local x, y, z = b["A" .. set], b["B" .. set], b["C" .. set]
    return kernel("triad" .. set, { grid = p.n // B, block = B,
        regs = 12 }, function(t)
        t:alu(9)
        t:load(x, t.gid)
        t:alu(2, { uses = {} })
        t:load(y, t.gid)
        t:alu(1, { uses = {} })
        t:alu(3)
        t:store(z, t.gid)
    end)
end

return app {
    name = "TRD", suite = "SHOC", source = "SHOC level 1 Triad",
    summary = "triad over two sets of three arrays; pure streams",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 4194304 },
    sizes = {
        T = { n = 4096 },
        R = { n = 4194304 },
        S = { n = 4194304 },
        M = { n = 4194304 },
        L = { n = 8388608 },
    },
    footprint = function(p) return 24 * p.n end,
    truncated = function()
        return "1 of 10 passes, the 3 largest of 9 chunk sizes"
    end,

    buffers = function(p)
        h.check(p.n % (4 * B) == 0, "TRD: n is a multiple of 512")
        local list = {}
        for set = 0, 1 do
            for _, name in ipairs { "A", "B", "C" } do
                list[#list + 1] = f32(name .. set, p.n)
            end
        end
        return list
    end,

    kernels = function(p, b)
        local k = { [0] = triad(p, b, 0), triad(p, b, 1) }
        local launches = {}
        for _, parts in ipairs { 4, 2, 1 } do
            for chunk = 0, parts - 1 do
                launches[#launches + 1] = { k[chunk % 2],
                    grid = p.n // parts // B }
            end
        end
        return launches
    end,
}
