--[[
TRAINCYC - the order in which training of a transformer uses its tensors: what DeepUM
(ASPLOS 2023), G10 (MICRO 2023) and others keep out of the GPU's memory.

Arrays, in order: of each layer its weights W and their gradients G (fp16), the
optimiser's two moments M and V (f32), and its activations A; then two gradients of
activations, D0 and D1, and the input x, each of seqs len hidden fp16.  12 hidden^2
weights a layer; activations of a layer take 34 seqs len hidden + 5 seqs heads len^2
bytes (Korthikanti et al., 2022), the last 2 seqs len hidden of them its output.  mode =
infer has W, x and D0 only.  Footprint 144 hidden^2 layers and layers times activations,
or 24 hidden^2 layers, and 6 seqs len hidden, or 4.

    mode = train    `steps` times: forward, layers in order: W and the output of the layer
                    before are read, A written; backward, layers from the last to the
                    first: A, W and D are read, the other D written, G read and
                    written; optimiser, layers in order: G read, W, M and V read and
                    written
    mode = infer    `steps` times forward without A: a cycle through the weights

One launch a layer and phase: blocks of 256 threads, `grid` of them, go through one
tensor after the other, 16 bytes a thread at a time and all of the grid's on: four lines
and one page an instruction.  No access is irregular; what matters is how long it is
until a tensor is used again: activations come back last in, first out, weights twice
and the optimiser's moments once a step.

Addresses are driven by indices alone; no contents.

Approximated: products read a tensor more than once, in tiles (PREFILL has that); `alu`
instructions an access stand for arithmetic (guess); no temporaries, no embedding.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, ceil, u32 = h.app, h.kernel, h.ceil, h.u32

local BLOCK = 256

local function check(p)
    h.most(p, { hidden = 1 << 20, seqs = 1 << 14, len = 1 << 17, heads = 1 << 10,
        layers = 1 << 12, grid = (1 << 31) - 1 })
    h.choice(p, "mode", "train", "infer")
    h.check(p.layers > 0 and p.hidden > 0 and p.seqs > 0 and p.len > 0
        and p.grid > 0,
        ("TRAINCYC: layers = %d, hidden = %d, seqs = %d, len = %d, grid = %d: none "
            .. "may be 0"):format(p.layers, p.hidden, p.seqs, p.len, p.grid))
    h.check(p.hidden % 8 == 0, ("TRAINCYC: hidden = %d is not a multiple of 8")
        :format(p.hidden))
end

-- Bytes of tensors: weights of a layer in fp16, activations of one, its output.
local function bytes(p)
    local output = 2 * p.seqs * p.len * p.hidden
    local stash = 17 * output + 5 * p.seqs * p.heads * p.len * p.len
    return 24 * p.hidden * p.hidden, ceil(stash, 16) * 16, output
end

-- One launch that goes through tensors: { buffer, first byte, bytes, what to do }, where
-- that is "r", "w" or "rw".
local function pass(p, name, tensors)
    local options = { grid = p.grid, block = BLOCK, regs = 32 }
    return kernel(name, options, function(t)
        t:alu(6)
        for _, x in ipairs(tensors) do
            local b, first, size, what = table.unpack(x)
            t:loop(t.gid, size // 16, p.grid * BLOCK, function(i)
                local at = first // 4 + 4 * i
                local uses = {}
                if what ~= "w" then uses[1] = t:load(b, at, { vec = 4 }) end
                t:alu(p.alu, { uses = uses })
                if what ~= "r" then t:store(b, at, nil, { vec = 4 }) end
            end)
        end
    end)
end

return app {
    name = "TRAINCYC", suite = "LLM",
    source = "order of tensors as in DeepUM (ASPLOS 2023), G10 (MICRO 2023)",
    summary = "tensors of training, used in a fixed order again and again",
    registers = "guess: no machine code was read",
    params = { layers = 2, hidden = 256, heads = 4, seqs = 2, len = 128, steps = 2,
        mode = "train", grid = 160, alu = 64 },
    sizes = {
        T = { hidden = 32, heads = 2, seqs = 1, len = 16, grid = 4 },
        S = { hidden = 256 },
        M = { hidden = 512, heads = 8, seqs = 4, len = 256 },
        L = { hidden = 1024, heads = 16, len = 512, layers = 4 },
        XL = { hidden = 2048, heads = 16, seqs = 4, len = 1024, layers = 6 },
        XXL = { hidden = 8192, heads = 64, seqs = 4, len = 2048, layers = 6 },
    },
    footprint = function(p)
        local weights, stash, output = bytes(p)
        if p.mode == "infer" then return p.layers * weights + 2 * output end
        return p.layers * (6 * weights + stash) + 3 * output
    end,

    buffers = function(p)
        check(p)
        local weights, stash, output = bytes(p)
        local out = {}
        local function add(name, size) out[#out + 1] = u32(name, size // 4) end
        for i = 1, p.layers do
            add("W" .. i, weights)
            if p.mode == "train" then
                add("G" .. i, weights)
                add("M" .. i, 2 * weights)
                add("V" .. i, 2 * weights)
                add("A" .. i, stash)
            end
        end
        add("D0", output)
        if p.mode == "train" then add("D1", output) end
        add("x", output)
        return out
    end,

    kernels = function(p, b)
        local weights, stash, output = bytes(p)
        local step, list = {}, {}
        local function of(name, i) return b[name .. i] end
        if p.mode == "infer" then
            for i = 1, p.layers do
                local from, to = b.x, b.D0
                if i % 2 == 0 then from, to = to, from end
                step[i] = pass(p, "forward" .. i, {
                    { of("W", i), 0, weights, "r" }, { from, 0, output, "r" },
                    { to, 0, output, "w" } })
            end
        else
            for i = 1, p.layers do
                step[#step + 1] = pass(p, "forward" .. i, {
                    { of("W", i), 0, weights, "r" },
                    i == 1 and { b.x, 0, output, "r" }
                        or { of("A", i - 1), stash - output, output, "r" },
                    { of("A", i), 0, stash, "w" } })
            end
            for i = p.layers, 1, -1 do
                step[#step + 1] = pass(p, "backward" .. i, {
                    { of("A", i), 0, stash, "r" }, { of("W", i), 0, weights, "r" },
                    { of("D", i % 2), 0, output, "r" },
                    { of("D", (i + 1) % 2), 0, output, "w" },
                    { of("G", i), 0, weights, "rw" } })
            end
            for i = 1, p.layers do
                step[#step + 1] = pass(p, "optimiser" .. i, {
                    { of("G", i), 0, weights, "r" },
                    { of("W", i), 0, weights, "rw" },
                    { of("M", i), 0, 2 * weights, "rw" },
                    { of("V", i), 0, 2 * weights, "rw" } })
            end
        end
        for _ = 1, p.steps do table.move(step, 1, #step, #list + 1, list) end
        return list
    end,
}
