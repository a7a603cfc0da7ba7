--[[
EMBBAG - pooled embedding look-ups of a recommendation model (DLRM): FBGEMM's
table-batched kernel (embedding_forward_split_kernel_template.cu), or PyTorch's
EmbeddingBag.cu.

Arrays, in order: W[tables][rows][dim] f32, indices[n] i64, offsets[tables bags + 1]
i64, out[tables bags][dim] f32; torch has bag_of[n] i64 and size[bags] i64, too.
Footprint 4 tables dim (rows + bags) + 8 (n + tables bags + 1) bytes, and with
torch 8 (n + bags).

    kernel = tbe    one launch; blocks of 512 threads, a group of 32 for a bag of
                    a table: its two offsets, then of 32 indices one coalesced
                    load, and for each a row of `dim` floats, 16 bytes a lane:
                    four lines and one page of 128 (two where a row crosses)
    kernel = torch  a launch a table; `grid` (1,024) blocks of 32 x 8 threads, a group of
                    32 for 32 features of a bag: each index is loaded by all of
                    its groups (one line, one page), and who pooled it is stored

Bags have 1 + geometric indices, `pooling` in the mean (in hundredths of an index;
Meta's set of 2022: 1,405 M indices of 788 tables and a batch of 131,072, 13.6).
An index is drawn by Zipf, s = 0.9 over 150,000 keys, which is within 6.6 points of
the cumulative share of accesses by reuse of that set; keys are at scattered rows,
as ids are hashed there.  With fewer rows there are as many keys.

Addresses are driven by offsets and indices, which have contents; W has none.

Approximated: values are not computed, since no address and no branch depends
on them; instructions a look-up are guesses (alu_index and alu_bag); all tables
have one shape and one distribution; backward is left out.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local requests = require "heddle.apps.requests"
local app, kernel, ceil, f32, i64 = h.app, h.kernel, h.ceil, h.f32, h.i64

local KEYS = 150000
local SCATTER = 2654435761 -- prime, so that each key has a row of its own

-- Where bags begin, of all tables in order; the last is their number of indices.
local function offsets(p)
    local q, most, sum, share = 1 - 100 / p.pooling, {}, 0, 1.0
    repeat -- up to which draw, in a million, a bag has so many indices
        share = share * q
        most[#most + 1] = (1e6 * (1 - share)) // 1 | 0
    until share < 1e-6 or #most == 4096
    local out = { 0 }
    for bag = 1, p.tables * p.bags do
        local u, low, high = requests.random(p.seed, bag), 1, #most
        while low < high do -- the first above u
            local mid = (low + high) // 2
            if most[mid] > u then high = mid else low = mid + 1 end
        end
        sum = sum + low
        out[bag + 1] = sum
    end
    return out, sum
end

local function check(p)
    h.most(p, { tables = 1 << 12, bags = 1 << 26, dim = 1 << 16 })
    h.choice(p, "kernel", "tbe", "torch")
    h.check(p.tables > 0 and p.rows > 0 and p.bags > 0,
        ("EMBBAG: tables = %d, rows = %d, bags = %d: none may be 0"):format(
            p.tables, p.rows, p.bags))
    h.check(p.dim > 0 and p.dim % 4 == 0,
        ("EMBBAG: dim = %d is not a multiple of 4"):format(p.dim))
    h.check(p.pooling >= 100 and p.pooling <= 10000,
        ("EMBBAG: pooling = %d hundredths, 100 to 10000 are possible"):format(
            p.pooling))
    h.check(p.grid > 0 and p.grid < 1 << 31,
        ("EMBBAG: grid = %d blocks, 1 to %d are possible"):format(p.grid, (1 << 31) - 1))
    h.check(p.rows < SCATTER, ("EMBBAG: rows = %d, up to %d are possible")
        :format(p.rows, SCATTER - 1))
end

-- The element of W where a row of a table begins.
local function row(p, t_table, key)
    return (t_table * p.rows + key * SCATTER % p.rows) * p.dim
end

local function batched(p, b)
    local options = { grid = ceil(p.tables * p.bags, 16), block = { 32, 16 },
        regs = 40 }
    return kernel("tbe", options, function(t)
        local bag, lane = t.block * 16 + t.tid // 32, t.tid % 32
        local lanes = p.dim // 4 -- that a row needs
        t:alu(6)
        t:exit_if(bag:ge(p.tables * p.bags))
        local from, to = t:load(b.offsets, bag), t:load(b.offsets, bag + 1)
        t:alu(p.alu_bag, { uses = { from, to } })
        t:loop(from, to, 32, function(at)
            local n = (to - at):min(32)
            local mine
            t:when(lane:lt(n), function()
                mine = t:load(b.indices, at + lane)
                t:alu(1, { uses = { mine } })
            end)
            t:loop(n, function(i) -- a shuffle brings the index
                local key = t:peek(b.indices, at + i)
                local first = row(p, bag // p.bags, key)
                t:alu(p.alu_index)
                for k = 0, ceil(lanes, 32) - 1 do
                    t:when((lane + 32 * k):lt(lanes), function()
                        t:load(b.W, first + 4 * (lane + 32 * k), { vec = 4 })
                    end)
                end
            end)
        end)
        t:alu(2)
        for k = 0, ceil(lanes, 32) - 1 do
            t:when((lane + 32 * k):lt(lanes), function()
                t:store(b.out, bag * p.dim + 4 * (lane + 32 * k), nil,
                    { vec = 4 })
            end)
        end
    end)
end

local function pooled(p, b, number)
    local parts = ceil(p.dim, 32)
    local options = { grid = p.grid, block = { 32, 8 }, regs = 32 }
    return kernel("torch" .. number, options, function(t)
        local lane = t.tid % 32
        t:alu(6)
        t:loop(8 * t.block + t.tid // 32, p.bags * parts, 8 * p.grid,
            function(chunk)
            local bag, f = chunk // parts, chunk % parts * 32 + lane
            local place = number * p.bags + bag
            local from, to = t:load(b.offsets, place),
                t:load(b.offsets, place + 1)
            t:alu(p.alu_bag, { uses = { from, to } })
            t:loop(from, to, function(e)
                local key = t:load(b.indices, e)
                t:alu(p.alu_index, { uses = { key } })
                t:when(f:lt(p.dim), function()
                    t:load(b.W, row(p, number, key) + f)
                end)
                t:when(f:eq(0), function() t:store(b.bag_of, e) end)
            end)
            t:store(b.size, bag)
            t:when(f:lt(p.dim), function()
                t:store(b.out, place * p.dim + f)
            end)
        end)
    end)
end

return app {
    name = "EMBBAG", suite = "DLRM",
    source = "FBGEMM 0172dcc, PyTorch 00ef7d9 EmbeddingBag.cu",
    summary = "pooled embedding look-ups; a row of some page for each index",
    registers = "guess: no machine code was read",
    params = { tables = 2, rows = 16384, dim = 128, bags = 1024, pooling = 1360,
        kernel = "tbe", grid = 1024, seed = 1, alu_bag = 4, alu_index = 3 },
    sizes = {
        T = { tables = 1, rows = 10000, dim = 64, bags = 64, pooling = 1000 },
        S = { tables = 2, rows = 16384, bags = 1024 },
        M = { tables = 8, rows = 40000, bags = 8192 },
        L = { tables = 16, rows = 125000, bags = 16384 },
        XL = { tables = 16, rows = 1000000, bags = 16384 },
        XXL = { tables = 26, rows = 7500000, bags = 4096 }, -- as MLPerf's, 100 GB
    },
    footprint = function(p)
        local n = p.tables * p.bags * p.pooling // 100
        return 4 * p.tables * p.dim * (p.rows + p.bags)
            + 8 * (n + p.tables * p.bags + 1)
            + (p.kernel == "torch" and 8 * (n + p.bags) or 0)
    end,

    buffers = function(p)
        check(p)
        local starts, n = offsets(p)
        local keys = require("heddle.generate").zipf { n = n,
            keys = math.min(KEYS, p.rows), s = 0.9, seed = p.seed }
        local out = {
            f32("W", p.tables * p.rows * p.dim),
            i64("indices", n, { data = keys }),
            i64("offsets", p.tables * p.bags + 1, { data = starts }),
            f32("out", p.tables * p.bags * p.dim),
        }
        if p.kernel == "torch" then
            out[5], out[6] = i64("bag_of", n), i64("size", p.bags)
        end
        return out
    end,

    kernels = function(p, b)
        if p.kernel == "tbe" then return { batched(p, b) } end
        local out = {}
        for i = 0, p.tables - 1 do out[i + 1] = pooled(p, b, i) end
        return out
    end,
}
