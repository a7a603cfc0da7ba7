--- fragment.lua - memory that is fragmented before anything runs: what Mosaic's
-- figure 16 and table 2 measure.
--
-- `index` percent of the frames of 2 MB hold pages of no application, at random
-- places; `occupancy` percent of the pages of such a frame are in use.  Memory
-- shrinks with the set's footprint as 3 GB do with Mosaic's 217 MB, so the same
-- share of frames stays free.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local suite = require "common"

local fragment = {}

--- What to do where frames of 2 MB run out: the variants of Mosaic 6.4.
fragment.variants = { { "No CAC", 0 }, { "CAC", 1 }, { "CAC-BC", 2 },
    { "Ideal CAC", 3 } }

function fragment.design(variant, index, occupancy, more)
    local settings = { ["memory.fragment_index"] = index,
        ["memory.fragment_occupancy"] = occupancy }
    for k, v in pairs(more or {}) do
        settings[k] = v
    end
    local design = suite.variant(suite.gpummu, ("%s %g/%g"):format(variant[1],
        index, occupancy), settings)
    design.policies = { { use = "mosaic", cac = variant[2] } }
    return design
end

--- Sets of two applications; a sensitivity study takes few.
function fragment.sets(x)
    if not x.full then
        return { { name = "NW-HISTO", apps = { "NW", "HISTO" } } }
    end
    local sets = suite.sets(x, "homogeneous", 2, 2)
    local mixed = suite.sets(x, "heterogeneous", 2, 2)
    return table.move(mixed, 1, #mixed, #sets + 1, sets)
end

local TABLES = 16 << 20 -- vm.table_frames of 4 KB

--- Options of suite.measure for one set: memory of its own size, or of `times`
-- its footprint besides page tables.
function fragment.options(x, set, times)
    local size = suite.options(x, {}, {}).size
    local bytes = suite.memory(set, size)
    if times then
        bytes = math.ceil(suite.footprint(set, size) * times / 2097152)
            * 2097152 + TABLES
    end
    return { machine = suite.machine(x, { ["vm.memory_bytes"] = bytes }) }
end

--- What mapping a set costs and leaves: results of runs that end right after,
-- [design name].  Counters are not reset, so they have what happened before
-- cycle 0.
function fragment.start(x, set, designs, times)
    local o, jobs, out = suite.options(x, { set }, designs,
        fragment.options(x, set, times)), {}, {}
    for i, d in ipairs(designs) do
        local apps = {}
        for k, name in ipairs(set.apps) do
            apps[k] = H.app(name, { size = o.size, budget = 1 })
        end
        jobs[i] = { machine = d.apply(o.machine), apps = apps,
            policies = d.policies, seed = x.arg.seed }
    end
    for i, r in ipairs(x:run(jobs)) do
        out[designs[i].name] = r
    end
    return out
end

return fragment
