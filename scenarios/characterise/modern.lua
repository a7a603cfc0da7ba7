--- modern.lua - programs of today: what they ask of a memory system, beside closed
-- forms.
--
-- Decode attention over a paged KV cache (PAGEDATTN), embedding look-ups (EMBBAG),
-- breadth-first search of an R-MAT graph (GRAPHX), a pointer chase (PCHASE), the
-- prompt of a transformer (PREFILL), a hash join (HASHJOIN), sampling and features
-- of a graph (GNN), a KV cache of which a part is on the host (KVSWAP), cross
-- sections of a Monte Carlo code (XSBENCH), experts of a language model (MOE), a
-- sparse matrix times vectors (SPMV), the tensors of training (TRAINCYC), a radix
-- sort (RADIX), graph search for nearest neighbours (ANNS), a multigrid code (HPCG),
-- forces between atoms (MD), words of a genome in a hash table (KMER).  Where an
-- application has another program for the same task, it has a row of its own, as
-- SPMV:merge, RADIX:onesweep and ANNS:ivf.  First table:
-- what the program's instructions touch, counted without time, beside what follows
-- from its text (heddle explain NAME).
-- Second: what the TLBs of a machine miss of them, with warps of 32 lanes, for which
-- these programs are written.
--
-- No table of a paper could be read that has these quantities; what is known of their
-- order is in the last column, which says no more than that.
--
--     heddle run scenarios/characterise/modern.lua [size=M] [machines=maxwell]
--         [apps=PAGEDATTN,EMBBAG] [budget=N]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local app = require "heddle.app"
local report = require "heddle.report"
local requests = require "heddle.apps.requests"

local arg = H.args {
    size = "S", jobs = 2, apps = "", machines = "maxwell",
    budget = 2000000, -- warp instructions of the timed run
}

local function ceil(a, b) return (a + b - 1) // b end

--- Loads, their lines and stores, as they follow from the parameters; the order.
local CLOSED = {
    PAGEDATTN = { order = "one page a load of K or V (vLLM: blocks of 16 tokens)",
        function(p)
            local loads, lines, blocks = 0, 0, p.seqs * p.heads * p.layers
            for _, n in ipairs(requests.contexts(p.lengths, p.seqs, p.len, p.seed)) do
                local kv = ceil(n, 16)
                loads = loads + p.heads * p.layers * (5 + 26 * kv)
                lines = lines + p.heads * p.layers * (6 + 66 * kv)
            end
            return loads, lines, 8 * blocks
        end },
    EMBBAG = { order = "30 % of accesses to rows used over 1,024 times (DLRM)",
        function(p, buffers)
            local starts, loads, lines = buffers.offsets, 0, 0
            for bag = 1, p.tables * p.bags do
                local from, to = starts[bag], starts[bag + 1]
                local n = to - from
                loads = loads + 2 + ceil(n, 32) + n
                lines = lines + 2 + n * ceil(p.dim, 32) -- a line of each offset
                for at = from, to - 1, 32 do
                    lines = lines + (math.min(at + 31, to - 1) * 8 // 128)
                        - at * 8 // 128 + 1
                end
            end
            return loads, lines, p.tables * p.bags
        end },
    PCHASE = { order = "one page a load",
        function(p)
            local n = (1 + p.passes) * (p.bytes // p.stride // p.chains)
            return n, n * p.chains, 2
        end },
}
CLOSED.GRAPHX = { order = "2.9 times faster by direct access (EMOGI)",
    function(p, buffers) -- kernel = coalesce; what a gather's lines are is not closed
        local n, row, edge = 1 << p.scale, buffers.row, buffers.edge
        if p.graph ~= "rmat" then return nil end
        local level, launches, loads = {}, 0, 0
        local source = 0
        while row[source] == row[source + 1] do source = source + 1 end
        level[source] = 0
        local now = { source }
        repeat
            local reached = {}
            launches, loads = launches + 1, loads + n
            for _, v in ipairs(now) do
                local from, to = row[v], row[v + 1]
                loads = loads + 2
                if to > from then
                    loads = loads + 2 * ceil(to - from + from % 16, 32)
                end
                for i = from, to - 1 do
                    local w = edge[i]
                    if not level[w] then
                        level[w] = launches
                        reached[#reached + 1] = w
                    end
                end
            end
            now = reached
        until #now == 0
        return loads
    end }
CLOSED.PREFILL = { order = "8 pages a copy from rows of 4 KB on (cutlass)",
    function(p)
        local tokens, width = p.seqs * p.len, (p.heads + 2 * p.kv_heads) * 128
        local loads, stores = 0, 0
        local function product(n, k)
            loads = loads + n // 128 * (k // 32)
                * (ceil(tokens, 8) + 16 * ceil(tokens, 256))
            stores = stores + n // 128 * tokens // 2
        end
        product(p.hidden, p.heads * 128)
        if p.part ~= "product" then
            product(width, p.hidden)
            local rows = p.len -- of queries, and of keys and values up to the diagonal
            for last = 128, p.len + 127, 128 do
                rows = rows + 2 * math.min(last, p.len)
            end
            loads = loads + p.seqs * p.heads * rows // 2
            stores = stores + p.seqs * p.heads * (p.len // 2 + p.len // 8)
        end
        if p.part == "layer" then
            product(2 * p.ffn, p.hidden)
            product(p.hidden, p.ffn)
            local warps = ceil(tokens * p.ffn // 8, 32)
            loads, stores = loads + 2 * warps, stores + warps
        end
        return p.layers * loads, nil, p.layers * stores
    end }
CLOSED.KVSWAP = { order = "a piece of 32 KB a block, K or V (vLLM)",
    function(p)
        local lens = requests.contexts(p.lengths, p.seqs, p.len, p.seed)
        local function blocks(seq) return ceil(lens[seq % p.seqs + 1], 16) end
        local loads, lines, stores = 0, 0, 0
        for step = 0, p.steps - 1 do
            local first, n = step * p.moved, 0
            for i = first, first + p.active - 1 do n = n + blocks(i) end
            local work = p.heads * p.layers
            loads = loads + work * (4 * p.active + 26 * n)
            lines = lines + work * (4 * p.active + 66 * n)
            for k = 1, p.kind == "copy" and step > 0 and p.moved or 0 do
                local moved = 16 * p.layers
                    * (blocks(first - k) + blocks(first + p.active - k))
                loads = loads + moved * (1 + p.kv_heads)
                lines = lines + moved * (1 + 4 * p.kv_heads)
                stores = stores + moved * p.kv_heads
            end
        end
        return loads, lines, stores
    end }
CLOSED.SPMV = { order = "1 to 3 pages a gather of a band, a page a lane at random",
    function(p) -- band and random, columns = 1
        local each = p.n * ceil(p.each, 32)
        return 2 * p.n + 3 * each, nil, p.n
    end }
CLOSED.TRAINCYC = { order = "weights and moments once a step (DeepUM)",
    function(p) -- mode = train
        local output = 2 * p.seqs * p.len * p.hidden
        local weights = 24 * p.hidden * p.hidden
        local stash = 17 * output + 5 * p.seqs * p.heads * p.len * p.len
        local function pass(bytes) return p.steps * p.layers * ceil(bytes, 512) end
        local loads = 5 * pass(weights) + 2 * pass(output) + pass(stash)
            + 2 * pass(2 * weights)
        local stores = 2 * pass(weights) + pass(output) + pass(stash)
            + 2 * pass(2 * weights)
        return loads, 4 * loads, stores
    end }
CLOSED.RADIX = { order = "two runs of 64 bytes a store, 256 pages in turn (ICDE 2019)",
    function(p)
        local tiles, bins = p.n // 4096, 1 << p.bits
        local row, sums = tiles * ceil(bins, 32), ceil(tiles * bins, 128)
        return p.passes * (96 * tiles + row + sums), nil,
            p.passes * (256 * tiles + row + sums)
    end }
CLOSED.ANNS = { order = "four vectors a load, four lines and pages (cuVS)",
    function(p)
        local graph = p.queries * p.iterations * ceil(p.degree, 32)
        return graph + p.queries * (ceil(p.dim // 4, 32)
            + (1 + p.iterations) * p.degree // 4 * (p.dim // 32)), nil,
            2 * p.queries
    end }
CLOSED["SPMV:merge"] = { order = "as many elements a load whatever the rows (SC 2016)",
    function(p) -- band and random, whose rows are of one length
        if p.matrix == "rmat" then return nil end
        local all, x, loads, stores = p.n * (p.each + 1), {}, 0, 0
        local tiles = ceil(all, 896)
        for tile = 0, tiles do -- row i is number i (each + 1) + each of the list
            x[tile] = math.min(896 * tile, all) // (p.each + 1)
        end
        for first = 0, tiles, 32 do
            local most = 0
            for tile = first, math.min(first + 31, tiles) do
                local at, steps = math.min(896 * tile, all), 0
                local low, high = math.max(at - p.n * p.each, 0), math.min(at, p.n)
                while low < high do
                    local middle = (low + high) // 2
                    if middle < x[tile] then low = middle + 1 else high = middle end
                    steps = steps + 1
                end
                most = math.max(most, steps)
            end
            loads, stores = loads + most, stores + 1
        end
        for tile = 0, tiles - 1 do
            local rows = x[tile + 1] - x[tile]
            local k = math.min(896, all - 896 * tile) - rows
            loads = loads + 8 + 3 * ceil(k, 32) + ceil(rows + 7, 32)
            stores = stores + ceil(rows, 32) + 1
        end
        return loads + ceil(tiles, 32), nil, stores
    end }
CLOSED["RADIX:onesweep"] = { order = "keys once more than passes (2022)",
    function(p) -- how often a tile looks back depends on the others
        local tiles, bins = p.n // 4096, 1 << p.bits
        local row = ceil(bins, 32)
        return nil, nil, p.passes * (row + 256 * tiles + (2 * tiles - 1) * row)
    end }
CLOSED["ANNS:ivf"] = { order = "a list is a stream; ten ids in ten pages (cuVS)",
    function(p) -- vectors of lists that a query probes are not closed
        return nil, nil, p.queries * (ceil(p.probes, 32) + p.probes + 2)
    end }
CLOSED.MD = { order = "a page a lane, unsorted (SHOC)",
    function(p)
        local warps = p.n // 32
        return 257 * warps, nil, 3 * warps
    end }
-- What these do depends on their data: their closed forms are in t/apps only.
CLOSED.HASHJOIN = { order = "a page of the table a lane (fast-interconnects)" }
CLOSED.GNN = { order = "4 lines, 1 or 2 pages a row of features (DGL)" }
CLOSED.XSBENCH = { order = "a page a lane of index and grids (MICRO 2018)" }
CLOSED.MOE = { order = "8 pages a copy from hidden = 2,048 on (vLLM)" }
CLOSED.HPCG = { order = "one page a gather with eight colours (SC 2021: HPC codes)" }
CLOSED.KMER = { order = "a page of the table a lane (Gerbil)" }
local NAMES = { "PAGEDATTN", "EMBBAG", "GRAPHX", "HASHJOIN", "PCHASE",
    "PREFILL", "GNN", "KVSWAP", "XSBENCH", "MOE", "SPMV", "SPMV:merge",
    "TRAINCYC", "RADIX", "RADIX:onesweep", "ANNS", "ANNS:ivf", "HPCG", "MD", "KMER" }

local names = {}
for name in (arg.apps == "" and table.concat(NAMES, ",") or arg.apps)
    :gmatch "[^,]+" do
    local of, kernel = name:match "^(.-):(.*)$"
    local known = app.get(of or name).name .. (kernel and ":" .. kernel or "")
    if not CLOSED[known] then
        error({ usage = ("apps=%s: no closed form of %s here; there are %s"):format(
            arg.apps, known, table.concat(NAMES, ", ")) }, 0)
    end
    names[#names + 1] = known
end

-- An application and its parameters by a row's name.
local function program(name)
    local of, kernel = name:match "^(.-):(.*)$"
    return of or name, { kernel = kernel }
end

local machines = {}
for name in arg.machines:gmatch "[^,]+" do
    machines[#machines + 1] = { name = name, machine = H.machine(name) {
        ["core.lanes"] = 32, ["core.width"] = 32 } }
end

local list = {}
for _, name in ipairs(names) do
    for i, m in ipairs(machines) do
        list[#list + 1] = function()
            local of, params = program(name)
            return H.characterise.measure(of, { size = arg.size, params = params,
                machine = m.machine, survey = i == 1, budget = arg.budget })
        end
    end
end
local rows, k = H.run(list, { jobs = arg.jobs }), 0

local asked = { { "program", "footprint", "loads", "closed", "lines", "closed",
    "stores", "closed", "pages a load", "order only" } }
local missed = { { "program", "machine", "L1 TLB misses", "L2 TLB misses",
    "walks a kilo-instruction", "IPC" } }
local wrong = {}
for _, name in ipairs(names) do
    local of, params = program(name)
    local a = app.get(of)
    params.size = arg.size
    local instance = a:instance(params)
    local buffers = {}
    for _, b in ipairs(instance.buffers) do
        buffers[b.name] = b.data
    end
    local closed = CLOSED[name][1]
    local loads, lines, stores
    if closed then loads, lines, stores = closed(instance.params, buffers) end
    for i, m in ipairs(machines) do
        k = k + 1
        local row = rows[k]
        if i == 1 then
            local s = row.survey.sum
            asked[#asked + 1] = { name,
                ("%.1f MB"):format(a.footprint(instance.params) / 1e6),
                ("%d"):format(s.loads), loads and ("%d"):format(loads) or "-",
                ("%d"):format(s.load_lines), lines and ("%d"):format(lines) or "-",
                ("%d"):format(s.stores), stores and ("%d"):format(stores) or "-",
                ("%.2f"):format(row.metrics.pages_mean), CLOSED[name].order }
            if s.loads ~= (loads or s.loads) or s.load_lines ~= (lines or s.load_lines)
                or s.stores ~= (stores or s.stores) then
                wrong[#wrong + 1] = name
            end
        end
        missed[#missed + 1] = { name, m.name,
            report.percent(row.metrics.l1tlb_miss_rate or 0),
            report.percent(row.metrics.l2tlb_miss_rate or 0),
            ("%.1f"):format(1000 * row.timed.walks / row.timed.instructions),
            ("%.3f"):format(row.metrics.ipc) .. (row.timed.cut and " (cut)" or "") }
    end
end
io.write("Size ", arg.size, ", warps of 32 lanes\n\n", report.table(asked), "\n",
    report.table(missed), "\n", #wrong == 0
    and "all counts are those of the closed forms\n"
    or "NOT those of the closed forms: " .. table.concat(wrong, ", ") .. "\n")
