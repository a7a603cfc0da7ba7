--- cmd/list.lua - heddle list: what there is, one line each.
-- SPDX-License-Identifier: MIT
local cli = require "heddle.cli"
local index = require "heddle.index"

local list = {
    summary = "list points, policies, apps, suites, machines, counters ...",
    usage = [[
usage: heddle list points|notes|tables|facts|policies|apps|suites|machines|
                   interconnects|counters|histograms|metrics|settings|kinds
                   [WORD]
       heddle list WORD
       heddle list FILE.lua

Prints one line for each.  With WORD, only lines that contain it; WORD alone
looks for names in all kinds.  FILE.lua is a policy of your own.
`heddle explain NAME` says more about one of them.
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

--- The rows of all kinds whose name has the word in it; before them, the kind.
local function search(word)
    local out = {}
    for _, kind in ipairs(index.kinds) do
        for _, row in ipairs(index.rows(kind)) do
            if row[1]:find(word, 1, true) then
                out[#out + 1] = { kind, row[1], row[#row] }
            end
        end
    end
    return out[1] and out
end

--- The rows that are asked for, or nil.
local function rows_of(kind)
    if index.is_file(kind) then
        local p, what = index.file(kind)
        return { { p.name, what, p.summary } }
    end
    return index.rows(kind) or not index.nearest(kind, index.kinds)
        and search(kind)
end

function list.run(args)
    local kind, word = args[1], args[2]
    if not kind or args[3] then
        cli.usage("list: expected %s: %s", args[3]
            and "a kind and at most one word; kinds are" or "a kind or a word",
            table.concat(index.kinds, ", "))
    end
    local rows = rows_of(kind)
    if not rows then
        local meant = index.meant(kind, index.kinds)
        cli.usage("list: no kind '%s'%s; expected %s", kind, meant ~= "" and meant
            or ", and no name has it in it", table.concat(index.kinds, ", "))
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
