--- batches.lua - a table of the driver's batches in results: a row each.
--
--     H.sim { ..., batches = true }       results.batches, in the driver's mode
--
-- A policy that only watches keeps what the note batch_served says, so the rows
-- are those of the run whatever is restored, repeated or continued in between.
-- uvm_tools and the artifact of Allen and Ge (SC 2021) print such rows of a real
-- driver; what of a batch takes how long there is what the terms here are fitted
-- to (driverloop.c).  A long run has many batches, so nothing is kept unless it is
-- asked for.
--
-- Rows are of the whole run, warm-up included: counters begin after it.
--
-- SPDX-License-Identifier: MIT
local json = require "heddle.json"
local metrics = require "heddle.metrics"

--- Columns, in order; `cycle` is that of the batch's end.
local FIELDS = { "app", "number", "cycle", "packets", "duplicates", "stale",
    "faults", "pages", "bytes", "blocks", "evictions", "cycles", "interrupt",
    "base", "block", "unmap", "dma", "room", "page", "evict", "copy" }

local batches = { NAME = "(batches)", FIELDS = FIELDS }

--- What a summary shows of those: all but whose and when.
local SHOWN = table.move(FIELDS, 4, #FIELDS, 1, {})

--- The terms of a batch's cycles, of which it shows the share.
local TERM = { base = true, block = true, unmap = true, dma = true,
    room = true, page = true, evict = true, copy = true }

batches.policy = {
    name = batches.NAME,
    summary = "keeps a row of each batch",
    state = { rows = {} },
    watch = {
        batch_served = function(note, state)
            local rows, row = state.rows, {}
            for i = 1, #FIELDS do
                row[i] = note[FIELDS[i]]
            end
            rows[#rows + 1] = row
        end,
    },
}

--- Has the batches of a simulation kept, that is being built.
function batches.attach(sim)
    require("heddle.policy").use(sim.core, batches.policy)
end

--- The rows of a simulation, a table each; nil: none are kept.
function batches.of(sim)
    for _, used in ipairs(require("heddle.policy").used(sim.core)) do
        if used.name == batches.NAME then
            local out = json.array {}
            for i, row in ipairs(used.state.rows) do
                out[i] = {}
                for k, field in ipairs(FIELDS) do
                    out[i][field] = row[k]
                end
            end
            return out
        end
    end
end

--- The summary of results with batches: rows of a table for people (report.table),
-- a field each, and for terms of time its share of the batches' cycles.
function batches.summary(results)
    metrics.result(results, "H.report.batches")
    local list = results.batches or {}
    local rows, all = { { ("%d batches"):format(#list), "mean", "p10", "p50",
        "p90", "p99", "max", "share" } }, 0
    for _, b in ipairs(list) do
        all = all + b.cycles
    end
    for _, field in ipairs(#list > 0 and SHOWN or {}) do
        local v, sum = {}, 0
        for i, b in ipairs(list) do
            v[i], sum = b[field], sum + b[field]
        end
        table.sort(v)
        local function at(p) -- nearest rank
            return v[math.max(1, math.ceil(p / 100 * #v))]
        end
        rows[#rows + 1] = { "  " .. field, sum / #v, at(10), at(50), at(90),
            at(99), v[#v], TERM[field] and all > 0
                and ("%.1f %%"):format(100 * sum / all) or "" }
    end
    return rows
end

return batches
