--- pichai.lua - what Pichai et al. say of their programs.
--
-- Pichai, Hsu, Bhattacharjee (ASPLOS 2014), figure 3: memory instructions are
-- less than 25 % of all; a 128-entry TLB in each core misses 22 to 70 % of its
-- look-ups; a warp instruction touches more than 4 pages on average in bfs and
-- more than 8 in mummergpu, and up to 32.  Their inputs need 1 GB and more
-- (size XL); the machine has a TLB of 128 entries and 32-thread warps.
--
-- Programs of this size are long.  The survey is cut at `limit`, the timed run
-- at `budget` warp instructions; it begins at the launch with the most memory
-- instructions that the survey saw (the widest frontier of bfs, not its first
-- levels of a few nodes), and what comes before runs without time.
--
-- Misses are those of the machine's TLB, at which all other warps wait for a
-- miss.  The paper does not say what its characterisation had, so other TLBs
-- stand in a second table: hits pass a miss, or nothing waits; there look-ups of
-- a page that is being walked happen, too, and count as misses or as hits.  And
-- every line may be a look-up, not every page of an instruction.  No reading has
-- more than two of the six programs between 22 and 70 %: warps that walk through
-- the same pages side by side (KMEANS, STREAMCLUSTER, PATHFINDER) miss once for
-- 7 to 16 look-ups, or nearly always if what is merged is a miss, and what goes
-- its own way (BFS, MUM) misses four times in five.
--
-- Pages are counted in two ways, since the figure does not say of what its mean
-- is: over all memory instructions, and over the accesses of the array that is
-- spread most (of those that are a hundredth of the memory instructions).
--
--     heddle run scenarios/characterise/pichai.lua [size=XL] [jobs=2]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local report = require "heddle.report"
local agree = require "agree"

local arg = H.args {
    size = "XL", jobs = 2,
    limit = 0,          -- warp instructions of a survey; 0: to the end
    budget = 3000000,   -- of a timed run
    others = 1,         -- 0: no other TLBs
    json = "",
}

local suite = require("heddle.suites").get "pichai"
local rows = H.characterise.all(agree.present(suite.apps, arg.size), {
    size = arg.size, machine = "pichai", limit = arg.limit,
    budget = arg.budget, from = "busiest",
}, arg.jobs)

local LEAST, MOST = 0.22, 0.70 -- of misses a look-up

--- The rows once more, from the same launches, with another TLB.
local function blocking(what)
    local list = {}
    for i, row in ipairs(rows) do
        list[i] = function()
            return H.characterise.measure(row.name, {
                size = arg.size, budget = arg.budget, survey = false,
                machine = H.machine "pichai" { ["l1tlb.blocking"] = what },
                from = row.timed.first_launch,
            })
        end
    end
    return H.run(list, { jobs = arg.jobs })
end

--- Misses a look-up by TLB and by what counts as a miss.
local function other_tlbs()
    local c = H.characterise
    local function all(t) return t.l1tlb_miss_rate end
    local columns = { { "others wait", rows, all },
        { "by lines", rows, c.line_misses } }
    for _, tlb in ipairs { { "hits pass", "hits" },
        { "nothing waits", "none" } } do
        local measured = blocking(tlb[2])
        columns[#columns + 1] = { tlb[1], measured, all }
        columns[#columns + 1] = { "merged as hits", measured, c.first_misses }
    end
    local out = { { "TLB misses a look-up" } }
    local inside = { ("of %d in range"):format(#rows) }
    for i, row in ipairs(rows) do
        out[i + 1] = { row.name }
    end
    for at, column in ipairs(columns) do
        local n = 0
        out[1][at + 1] = column[1]
        for i, row in ipairs(column[2]) do
            local v = column[3](row.timed)
            out[i + 1][at + 1] = H.report.percent(v)
            n = n + (v and v >= LEAST and v <= MOST and 1 or 0)
        end
        inside[at + 1] = tostring(n)
    end
    out[#out + 1] = inside
    return H.report.table(out)
end

--- The accesses with the most pages on average: that mean, and what they are.
local function widest(row)
    local best, what = 0, "-"
    for _, k in ipairs(row.survey.kernels) do
        for _, u in ipairs(k.uses) do
            local mean = u.pages / u.instructions
            if u.instructions * 100 >= row.survey.sum.memory and mean > best then
                best, what = mean, ("%s of %s"):format(u.kind,
                    row.survey.buffers[u.buffer].name)
            end
        end
    end
    return best, what
end

--- Why a figure differs, where the cause is known (XL).
local MISSES = {
    BFS = "the run is at the widest level, where nearly every look-up is that "
        .. "of a gather over 32 million nodes; other levels only read masks; "
        .. "with a look-up a line it is 66 %",
    KMEANS = "the threads of a core share the 34 pages of a pass over the "
        .. "features, and 128 entries hold them",
    STREAMCLUSTER = "a dimension is a page or two for all 32 warps of a core: "
        .. "one look-up of many is the first",
    MUM = "the tree has 1.1 GB and each lane goes its own way: few gathers find "
        .. "a page again; with a look-up a line it is 52 %",
    PATHFINDER = "a row of wall is a page for the eight warps of a block: one "
        .. "look-up in seven is the first",
    MEMC = "just below: half of the look-ups are of locks and requests",
}
local OTHER = {
    ["BFS: pages a memory instruction"] = "its gathers have more, and most of "
        .. "its instructions read masks, lists and nodes: see the next row",
    ["MEMC: memory instructions"] = "MemcachedGPU, a later program, stands in "
        .. "for the one that Pichai measured",
}

local checks = agree.new()
local DIVERGENCE = { BFS = 4, MUM = 8 } -- figure 3: more than that
local most = 0

for _, row in ipairs(rows) do
    local m = row.metrics
    if not row.error then
        checks:add(row.name .. ": memory instructions", "< 25 %",
            report.percent(m.memory_share), m.memory_share < 0.25,
            OTHER[row.name .. ": memory instructions"])
        checks:add(row.name .. ": TLB misses a look-up", "22 to 70 %",
            report.percent(m.l1tlb_miss_rate),
            m.l1tlb_miss_rate >= LEAST and m.l1tlb_miss_rate <= MOST,
            arg.size == "XL" and MISSES[row.name]
            or "it takes the footprint of XL")
        local least = DIVERGENCE[row.name]
        local best, what = widest(row)
        local function pages(name, v)
            local ok
            if least then
                ok = v > least
            end
            checks:add(name, least and "> " .. least or "",
                ("%.2f"):format(v), ok, OTHER[name]
                or arg.size ~= "XL" and "it takes the footprint of XL" or nil)
        end
        pages(row.name .. ": pages a memory instruction", m.pages_mean)
        pages(("%s: pages a %s"):format(row.name, what), best)
        most = math.max(most, m.pages_max)
    end
end
checks:add("most pages of an instruction", "up to 32", ("%d"):format(most),
    most <= 32 and most > 24)
checks:print(("Pichai figure 3, size %s, machine pichai"):format(arg.size))
if arg.others == 1 then
    io.write(other_tlbs(), "\n")
end
agree.cuts(rows)
if arg.json ~= "" then
    H.report.emit(H.characterise.json(rows), arg.json)
end
