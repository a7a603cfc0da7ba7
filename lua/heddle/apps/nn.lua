--[[
NN - a neural network that reads handwritten digits, ISPASS-2009 (what MASK
and Mosaic call NN; Rodinia's nn is another program).

Arrays, in order: L1n[841 i], L1w[156], L2n[1014 i], L2w[7800], L3n[1250 i],
L3w[1251 o], L4n[o i], L4w[10 (o+1)], L5n[10 i], f32, for i images and o = 100
outputs of the third layer.  Footprint 4 (3115 i + o i + 7966 + 1261 o) bytes,
0.9 MB for 28 images.

Four launches, one a layer, grid (maps, images):
  layer1   6 maps, blocks of 13 x 13: a 5 x 5 filter at stride 2
  layer2   50 maps, blocks of 5 x 5: six 5 x 5 filters at stride 2
  layer3   o neurons, blocks of ONE thread: 1250 products
  layer4   10 neurons, blocks of one thread: o products
Weights are broadcasts, shared by all images.  One page an instruction, some
250 pages in all.  Partial warps everywhere (169, 25 and 1 threads).  Instructions
between accesses are those of MAFIA's PTX, block by block: 14 a product in
layer1, 29 for six in layer2, 11 in the others, 8.3 in the mean of all (as in
MAFIA's run).

Addresses are driven by indices alone; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; so the hyperbolic tangent takes what it does for small arguments.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

-- Instructions of the hyperbolic tangent, for small arguments, and the index.
local TANH = 9 + 14 + 14

local function layer1(p, b)
    local options = { grid = { 6, p.images }, block = { 13, 13 }, regs = 17 }
    return kernel("layer1", options, function(t)
        local w, image = 26 * t.bx, t.by
        local at = 841 * image + 58 * t.ty + 2 * t.tx
        t:alu(6)
        t:load(b.L1w, w)
        t:alu(12)
        for q = 0, 24 do
            t:alu(6)
            t:load(b.L1n, at + 29 * (q // 5) + q % 5)
            t:load(b.L1w, w + 1 + q)
            t:alu(6)
        end
        t:alu(TANH)
        t:store(b.L2n, 1014 * image + 169 * t.bx + 13 * t.ty + t.tx)
    end)
end

local function layer2(p, b)
    local options = { grid = { 50, p.images }, block = { 5, 5 }, regs = 22 }
    return kernel("layer2", options, function(t)
        local w, image = 156 * t.bx, t.by
        local at = 1014 * image + 26 * t.ty + 2 * t.tx
        t:alu(6)
        t:load(b.L2w, w)
        t:alu(12)
        for q = 0, 24 do
            t:alu(6)
            for m = 0, 5 do
                local x = at + 169 * m + 13 * (q // 5) + q % 5
                if m == 0 then t:load(b.L2n, x) end
                t:load(b.L2w, w + 1 + 6 * q + m)
                if m > 0 then t:load(b.L2n, x) end
                t:alu(m < 5 and 1 or 6)
            end
        end
        t:alu(TANH)
        t:store(b.L3n, 1250 * image + 25 * t.bx + 5 * t.ty + t.tx)
    end)
end

-- A neuron of a full layer: `inputs` products by one thread.
local function full(p, name, neurons, inputs, from, weights, to)
    local options = { grid = { neurons, p.images }, block = 1, regs = 12 }
    return kernel(name, options, function(t)
        local w, image = (inputs + 1) * t.bx, t.by
        t:alu(6)
        t:load(weights, w)
        t:alu(7)
        t:loop(inputs, function(i)
            t:alu(3)
            t:load(from, inputs * image + i)
            t:load(weights, w + 1 + i)
            t:alu(6)
        end)
        t:alu(TANH - 4)
        t:store(to, neurons * image + t.bx)
    end)
end

return app {
    name = "NN", suite = "ISPASS-2009", source = "ISPASS-2009 NN",
    summary = "digit recognition: small layers, blocks of one thread",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { images = 28, outputs = 100 },
    sizes = {
        T = { images = 1, outputs = 4 },
        R = { images = 28 },
        S = { images = 28 },
        M = { images = 2048 },
        L = { images = 16384 },
    },
    footprint = function(p)
        local i, o = p.images, p.outputs
        return 4 * ((841 + 1014 + 1250 + o + 10) * i + 156 + 7800 + 1251 * o
            + 10 * (o + 1))
    end,

    buffers = function(p)
        local i, o = p.images, p.outputs
        return { f32("L1n", 841 * i), f32("L1w", 156), f32("L2n", 1014 * i),
            f32("L2w", 7800), f32("L3n", 1250 * i), f32("L3w", 1251 * o),
            f32("L4n", o * i), f32("L4w", 10 * (o + 1)), f32("L5n", 10 * i) }
    end,

    kernels = function(p, b)
        return { layer1(p, b), layer2(p, b),
            full(p, "layer3", p.outputs, 1250, b.L3n, b.L3w, b.L4n),
            full(p, "layer4", 10, p.outputs, b.L4n, b.L4w, b.L5n) }
    end,
}
