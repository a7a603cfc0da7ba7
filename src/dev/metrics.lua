--- metrics.lua - writes the list of metrics of heddle_results(5).
--
--     heddle run src/dev/metrics.lua > list
--
-- The page holds the output between its two markers; t/761 compares.
--
-- SPDX-License-Identifier: MIT
local metrics = require "heddle.metrics"

local out = { ".Bl -tag -width Ds" }
for _, m in ipairs(metrics.list()) do
    local unit, meaning = m[3], m[4]
    out[#out + 1] = (".It Li %s%s"):format(m[2],
        unit ~= "" and " Pq " .. unit or "")
    out[#out + 1] = (meaning:gsub("^([.'])", "\\&%1"))
end
out[#out + 1] = ".El"
print(table.concat(out, "\n"))
