--- twins.lua - what the papers' policies cost in Lua, over the same in C.
--
--     heddle run bench/twins.lua [turns=3] [cycles=200000] [epoch=20000]
--
-- MASK in its steered form and Mosaic, each on a pair that keeps it busy.
-- MASK's epochs are a fifth of the paper's, so that what it does at their ends
-- counts five times; Mosaic decides while memory is mapped, which is timed here.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local least = require "least"

local arg = H.args { turns = 3, cycles = 200000, epoch = 20000 }

local function variant(design)
    return {
        slice = 10000, cycles = arg.cycles, whole = true,
        make = function()
            return H.sim {
                machine = design.apply(H.machine "mosaic"),
                apps = { H.app("3DS", { size = "S" }),
                    H.app("CFD", { size = "S" }) },
                policies = design.policies, progress = false,
            }
        end,
        done = function(sim) return sim.instructions end,
    }
end

for _, twin in ipairs { { "mask", { epoch = arg.epoch } }, { "mosaic", {} } } do
    local name, options = twin[1], twin[2]
    local c = variant(H.designs[name](options))
    options.policy = "policies/" .. name .. ".lua"
    local lua = variant(H.designs[name](options))
    local seconds, ratios, work = least.runs({ c, lua }, arg.turns)
    assert(work[1] == work[2], "the forms differ")
    least.row("twin." .. name, ratios[2], "times", ("%.0f and %.0f ms, %d "
        .. "instructions"):format(seconds[1] * 1e3, seconds[2] * 1e3, work[1]))
end
