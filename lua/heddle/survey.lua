--- survey.lua - a workload without a machine: its instructions one by one, and what
-- it asks of a memory system, measured without time.
--
--     local survey = require "heddle.survey"
--     survey.each(w, function(e) ... end [, options])
--     survey.run(w [, options]) -> what it touches, many warps taking turns
--     survey.profile(w [, options]) -> { { kernel=, kind=, buffer=, count=, lanes=,
--         lines=, pages= }, ... }
--     survey.buffers(w) -> { { name=, base=, bytes= }, ... }
--     survey.ahead(w [, launch [, lanes]]) -> launch
--
-- The head of src/shell/lua/lsurvey.c, which has all but the profile, says what options
-- and answers are.
--
-- SPDX-License-Identifier: MIT
local M = {}
for name, fn in pairs(require "heddle.survey_core") do
    M[name] = fn
end

--- Of each kernel alu, barrier and exit, and by buffer the memory instructions with
-- an active lane; lanes, lines and pages are means an instruction of those.
function M.profile(w, options)
    local survey, buffers, rows = M.run(w, options), M.buffers(w), {}
    for _, k in ipairs(survey.kernels) do
        local function row(kind, count, use)
            rows[#rows + 1] = { kernel = k.name, kind = kind, count = count,
                buffer = use and buffers[use.buffer].name,
                lanes = use and use.lanes / count,
                lines = use and use.lines / count,
                pages = use and use.pages / count }
        end
        row("alu", k.alu)
        row("barrier", k.barriers)
        row("exit", k.instructions - k.alu - k.loads - k.stores - k.atomics
            - k.barriers)
        for _, use in ipairs(k.uses) do
            row(use.kind, use.instructions, use)
        end
    end
    return rows
end

return M
