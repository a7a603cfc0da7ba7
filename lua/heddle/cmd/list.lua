--- cmd/list.lua - heddle list: what there is, one line each.
-- SPDX-License-Identifier: MIT
local cli = require "heddle.cli"
local index = require "heddle.index"

local list = {
    summary = "list points, policies, apps, suites, machines, counters ...",
    usage = [[
usage: heddle list points|notes|tables|facts|policies|apps|suites|machines|
                   counters|histograms|metrics|settings [WORD]

Prints one line for each.  With WORD, only lines that contain it.
`heddle explain NAME` tells more about one of them.
]],
}

local function cells(rows)
    local width = {}
    for _, row in ipairs(rows) do
        for i = 1, #row - 1 do
            width[i] = math.max(width[i] or 0, #row[i])
        end
    end
    for _, row in ipairs(rows) do
        for i = 1, #row - 1 do
            row[i] = row[i] .. (" "):rep(width[i] - #row[i])
        end
        io.write((table.concat(row, "  "):gsub("%s+$", "")), "\n")
    end
end

function list.run(args)
    local kind, word = args[1], args[2]
    if not kind or args[3] then
        cli.usage("list: expected %s: %s", args[3]
            and "a kind and at most one word; kinds are" or "a kind",
            table.concat(index.kinds, ", "))
    end
    local rows = index.rows(kind)
    if not rows then
        local near = index.nearest(kind, index.kinds)
        cli.usage("list: no kind '%s'%s; expected %s", kind,
            near and " (did you mean '" .. near .. "'?)" or "",
            table.concat(index.kinds, ", "))
    end
    local out = {}
    for _, row in ipairs(rows) do
        if not word or table.concat(row, " "):find(word, 1, true) then
            out[#out + 1] = row
        end
    end
    cells(out)
    return 0
end

return list
