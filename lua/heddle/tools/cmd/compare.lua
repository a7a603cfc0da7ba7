--- cmd/compare.lua - heddle compare: the differences between two results.
--
-- First what was run: settings, policies, inputs.  Then what came of it:
-- applications, and counters by how much they differ, |b - a| over the greater of
-- the two, so that one which began or ended counts as 1.
--
-- SPDX-License-Identifier: MIT
local cli = require "heddle.cli"
local json = require "heddle.json"
local report = require "heddle.report"

local M = {
    summary = "compare two results: settings, then counters",
    usage = [[
usage: heddle compare A.json B.json [name=value...]

A and B are results that H.report.json wrote.  Prints the settings, policies and
inputs that differ; then cycles and IPC of each application; then the counters
that differ, those with the greatest relative change first.  The exit status is
0 if the results are equal, which it says, and 1 if not.

  rows=N          number of counters shown (25; 0: all)
  format=json     everything as JSON
]],
}

--- The one result in a file.
local function read(path)
    local list = report.read(path)
    if #list > 1 then
        local core = require "heddle.core"
        error(core.error(-4, ("%s: a list of %d results, and one is expected")
            :format(path, #list)), 0)
    end
    return list[1]
end

--- Names of two sets in order.
local function names_of(a, b)
    local all = {}
    for _, t in ipairs { a, b } do
        for k in pairs(t) do
            all[k] = true
        end
    end
    return require("heddle.config").sorted_keys(all)
end

--- { { name =, a =, b = }, ... }: what differs of two sets.
local function differing(a, b)
    local out = json.array {}
    for _, name in ipairs(names_of(a, b)) do
        if a[name] ~= b[name] then
            out[#out + 1] = { name = name, a = a[name], b = b[name] }
        end
    end
    return out
end

--- What a result was made from, beside its settings: name -> text.
local function origin(r)
    local out = { machine = r.machine, seed = tostring(r.seed),
        policies = table.concat(r.policies or {}, ", "), version = r.version,
        status = r.status }
    for i, input in ipairs(r.inputs or {}) do
        out["application " .. i - 1] = input.key .. " " .. input.hash
    end
    return out
end

local function apps_of(r)
    local out = { ["all: cycles"] = r.cycles }
    for _, a in ipairs(r.apps) do
        local who = ("%d %s: "):format(a.app, a.label or a.name)
        out[who .. "cycles"], out[who .. "ipc"] = a.cycles, a.ipc
        out[who .. "instructions"] = a.instructions
    end
    return out
end

local function counters_of(r)
    local out = {}
    for _, c in ipairs(r.counters) do
        out[c.component .. "." .. c.name] = c.total
    end
    return out
end

--- Orders rows of numbers by their relative change, which they get.
local function by_change(rows)
    for _, x in ipairs(rows) do
        local a, b = x.a or 0, x.b or 0
        x.by = math.abs(b - a)
        x.change = x.by / math.max(math.abs(a), math.abs(b), 1e-300)
        x.percent = a ~= 0 and 100 * (b - a) / math.abs(a) or nil
    end
    table.sort(rows, function(x, y)
        if x.change ~= y.change then
            return x.change > y.change
        end
        return x.by > y.by or x.by == y.by and x.name < y.name
    end)
    for _, x in ipairs(rows) do
        x.by = nil
    end
    return rows
end

--- All that differs between two results.
function M.compare(a, b)
    return { settings = differing(a.config, b.config),
        origin = differing(origin(a), origin(b)),
        apps = by_change(differing(apps_of(a), apps_of(b))),
        counters = by_change(differing(counters_of(a), counters_of(b))) }
end

--- A table of rows, the first `most`; a change where they have one.
local function section(title, rows, most, changes)
    local out = { { title, "A", "B", changes and "change" or nil } }
    for i = 1, math.min(most, #rows) do
        local x = rows[i]
        out[i + 1] = { x.name, x.a == nil and "-" or x.a,
            x.b == nil and "-" or x.b, changes and (x.percent
                and ("%+.1f %%"):format(x.percent) or "new") }
    end
    local more = #rows - most
    return #rows > 0 and report.table(out) .. (more > 0
        and ("%d more: rows=0 shows all\n"):format(more) or "") .. "\n" or ""
end

function M.run(args)
    local files, o = {}, { rows = 25, format = "table" }
    for _, word in ipairs(args) do
        local name, text = word:match "^(%a+)=(.*)$"
        if not name then
            files[#files + 1] = word
        elseif name == "rows" then
            o.rows = math.tointeger(tonumber(text))
        elseif name == "format" then
            o.format = text
        else
            cli.usage("compare: no option '%s'; it takes rows, format", name)
        end
    end
    if #files ~= 2 then
        cli.usage("compare: expected two files of results, got %d", #files)
    elseif not o.rows or o.rows < 0 then
        cli.usage "compare: rows: a whole number is expected"
    elseif o.format ~= "json" and o.format ~= "table" then
        cli.usage("compare: format: json or table is expected, not '%s'",
            o.format)
    end
    local d = M.compare(read(files[1]), read(files[2]))
    local same = #d.settings + #d.origin + #d.apps + #d.counters == 0
    local most = o.rows > 0 and o.rows or math.maxinteger
    if o.format == "json" then
        io.write(json.encode(d), "\n")
    elseif same then
        io.write "they are equal\n"
    else
        io.write(section("settings", d.settings, math.maxinteger),
            section("what was run", d.origin, math.maxinteger),
            section("applications", d.apps, math.maxinteger, true),
            section("counters", d.counters, most, true))
    end
    return same and 0 or 1
end

return M
