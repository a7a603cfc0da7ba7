--[[
761-docs-lists.lua - what the manual lists is what there is.

Pinned: the metrics of heddle_results(5) are those of metrics.lua; the latencies
of heddle_model(7) those of scenarios/characterise/latencies.lua, and each preset is
once where it says which machine to choose; everything
that has a name (setting, counter, point, note, policy, application, machine) is
explained with unit, meaning and source as its kind has them; every point is in
the picture of the README; every kind of heddle list, every command,
every option of H.sim, every function of heddle.generate, every verb of heddle
trace, every field of the results and every public C function is on its page;
every page is named by another; what shells complete has every command and kind;
the terms of heddle_glossary(7) are in order, a sentence each, and in use.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local core = require "heddle.core"
local index = require "heddle.index"

local HEDDLE = files.HEDDLE
local read, output = files.read, files.output

--- A list of names as one test: those for which fn is false.
local function all(what, names, fn)
    local bad = {}
    for _, name in ipairs(names) do
        if not fn(name) then
            bad[#bad + 1] = tostring(name)
        end
    end
    tap.ok(#names > 0 and #bad == 0, what, #names > 0
        and "not so: " .. table.concat(bad, ", ") or "there are none")
end

-- ---- lists that are written by scripts ---------------------------------------

local held = read("man/heddle_results.5"):match(
    'src/dev/metrics%.lua\n(.-)%.\\" end of list')
tap.is(held, output(HEDDLE .. " run src/dev/metrics.lua"),
    "the metrics are up to date (src/dev/metrics.lua)")
held = read("man/heddle_results.5"):match(
    'src/dev/metrics%.lua of=apps\n(.-)%.\\" end of list')
tap.is(held, output(HEDDLE .. " run src/dev/metrics.lua of=apps"),
    "those of applications, too")
held = read("man/heddle_model.7"):match(
    'characterise/latencies%.lua man=1\n(.-)%.\\" end of list')
tap.is(held, output(HEDDLE .. " run scenarios/characterise/latencies.lua man=1"),
    "latencies of the presets are those that are measured")

do -- Which machine do I want: an item for each
    local section = read("man/heddle_model.7"):match(
        "\n%.Ss Which machine do I want\n(.-)\n%.Ss ")
    local found = {}
    for name in section:gmatch "\n%.It Li ([^\n]+)" do
        found[#found + 1] = name
    end
    local machines = {}
    for i, row in ipairs(index.rows "machines") do
        machines[i] = row[1]
    end
    table.sort(found)
    table.sort(machines)
    tap.is(table.concat(found, " "), table.concat(machines, " "),
        "heddle_model(7) says of each preset once who wants it")
end
do
    local seen = {}
    for _, m in ipairs(require("heddle.metrics").list()) do
        seen[m[2]] = (seen[m[2]] or 0) + 1
    end
    -- A counter with the name of a metric is what the metric is of, or has a unit of
    -- its own, as each level's evictions.
    local same, metrics = {}, require "heddle.metrics"
    for _, name in ipairs { "instructions", "cycles", "walks", "evictions",
        "refaults" } do
        same[name] = true
    end
    for _, part in ipairs(metrics.TIME) do
        same["time_" .. part[1]] = true
    end
    all("no counter of another meaning has the name of a metric", core.counters(),
        function(c) return not seen[c.name] or same[c.name] end)
    tap.ok(metrics.known "walk_cycles" and not seen.walk_cycles
        and table.concat(index.explain "walk_cycles", "\n"):find(
            "walk_latency (metric, results), formerly walk_cycles", 1, true),
        "a former name is known, and explained")
    all("no two metrics of results have one name", require("heddle.config")
        .sorted_keys(seen), function(name) return seen[name] == 1 end)
end
for _, name in ipairs { "prefetch", "walk" } do -- a setting's name, and a group's
    local text = output(HEDDLE .. " explain " .. name)
    tap.ok(text:find(name .. " (counters)", 1, true), "explain " .. name
        .. " has the group", text)
end

-- ---- explanations -------------------------------------------------------------

local function explained(name)
    return table.concat(index.explain(name) or {}, "\n")
end

local function names_of(kind)
    local out = {}
    for i, row in ipairs(index.rows(kind)) do
        out[i] = row[1]
    end
    return out
end

for _, kind in ipairs(index.kinds) do
    all("each of the " .. kind .. " is explained", names_of(kind),
        function(name)
            return #explained(name) > #name + 20
        end)
end

local settings, counters = core.settings(), core.counters()
all("settings have a meaning and a source", settings, function(s)
    return s.meaning:find "%a%a" and s.source:find "%a%a"
        and explained(s.name):find(s.source, 1, true)
end)
all("integers have a unit, or are plain numbers", settings, function(s)
    local plain = { ["sim.seed"] = true, ["sim.first_kernel"] = true,
        ["sim.last_kernel"] = true }
    return s.type ~= "integer" or s.unit ~= "" or plain[s.name]
end)
all("counters have a unit and a meaning", counters, function(c)
    return c.unit:find "%a" and c.meaning:find "%a%a"
end)
for _, kind in ipairs { "policies", "apps" } do
    all("each of the " .. kind .. " names its source", names_of(kind),
        function(name)
            return explained(name):find "source:? +%a"
        end)
end
for _, name in ipairs(names_of "machines") do
    local machine = require("heddle.machines").get(name)
    all("each value of " .. name .. " names its source",
        require("heddle.config").sorted_keys(
            require("heddle.config").flatten(machine.settings)),
        function(key)
            local v = require("heddle.config").flatten(machine.settings)[key]
            return v[2] and v[2]:find "%a%a"
        end)
end

-- ---- pages ---------------------------------------------------------------------

local function on_page(path)
    local text = read(path)
    return function(name)
        return text:find("%f[%w_.]" .. name:gsub("%p", "%%%0")
            .. "%f[^%w_]") ~= nil
    end
end

local commands = {}
for name in output(HEDDLE .. " --help"):gmatch "\n  (%l+) " do
    commands[#commands + 1] = name
end
all("commands are in heddle(1)", commands, on_page "man/heddle.1")
all("the kinds of heddle list are in heddle(1)", index.kinds,
    on_page "man/heddle.1")
local verbs = {}
for name in output(HEDDLE .. " help trace"):gmatch "heddle trace (%l+)" do
    verbs[#verbs + 1] = name
end
all("verbs of heddle trace, too", verbs, on_page "man/heddle.1")
local picture = read "man/pipeline.svg"
all("every point is in the picture of the README", names_of "points",
    function(name)
        return picture:find("%f[%w_]" .. name .. "%f[^%w_]")
            or name:find "^repl_" and picture:find("repl_*", 1, true)
    end)

local options = {}
local ok, err = pcall(require("heddle").sim, { none = 1 })
for name in (ok and "" or tostring(err)):match("it takes (.*)")
    :gmatch "[%w_]+" do
    options[#options + 1] = name
end
all("options of H.sim are in heddle_lua(3)", options,
    on_page "man/heddle_lua.3")
local methods = {}
for name in pairs(require("heddle.sim").methods) do
    methods[#methods + 1] = "sim:" .. name
end
table.sort(methods)
local generators = {}
for name in pairs(require "heddle.generate") do
    generators[#generators + 1] = name
end
table.sort(generators)
all("functions of heddle.generate, too", generators,
    on_page "man/heddle_lua.3")
all("methods of a simulation, too", methods, on_page "man/heddle_lua.3")

local H = require "heddle"
local sim = H.sim { machine = "maxwell", interval = 1000, label = "x",
    apps = { H.app("NN", { size = "T" }) } }
sim:run()
local fields = {}
local function collect(t)
    for k, v in pairs(t) do
        if type(k) == "string" and not k:find "%." then
            fields[k] = true
        end
        if type(v) == "table" then
            collect(v)
        end
    end
end
collect(sim:results())
all("fields of results are in heddle_results(5)",
    require("heddle.config").sorted_keys(fields),
    on_page "man/heddle_results.5")

local functions = {}
for path in output("ls src/*/heddle*.h src/engine/policy.h"):gmatch "[^\n]+" do
    for declaration in read(path):gmatch "\nHEDDLE_API(.-);" do
        functions[#functions + 1] = declaration:match "(heddle_[%w_]+)%("
    end
end
all("public functions are in heddle(3)", functions, on_page "man/heddle.3")

local pages, named = {}, {}
for path in output("ls man/*.[1-9]"):gmatch "[^\n]+" do
    pages[#pages + 1] = path
    for name, section in read(path):gmatch "%.Xr ([%w_-]+) (%d)" do
        local other = ("man/%s.%s"):format(name, section)
        named[other] = named[other] or path ~= other
    end
end
all("pages are named by other pages", pages, function(p) return named[p] end)
local wanted = {}
for other in pairs(named) do
    wanted[#wanted + 1] = other
end
table.sort(wanted)
all("pages that are named exist, or are others'", wanted, function(p)
    return not p:find "heddle" or io.open(p) ~= nil
end)
all("pages keep the rules of mdoc", pages, function(p)
    return os.execute("command -v mandoc >/dev/null") == nil
        or output("mandoc -T lint -W warning " .. p) == ""
end)

-- ---- the glossary --------------------------------------------------------------

local terms, sentences, last = {}, {}, ""
local used = {}
for path in output("ls man/*.[1-9] src/*/*.[ch] src/*/*/*.[ch] "
    .. "src/engine/*.def src/engine/*/*.def "
    .. "lua/heddle/*.lua lua/heddle/tools/*.lua policies/*.lua"):gmatch "[^\n]+" do
    used[#used + 1] = path ~= "man/heddle_glossary.7" and read(path) or nil
end
used = table.concat(used, " "):lower():gsub("[%s*]+", " ")
for term, rest in read("man/heddle_glossary.7"):gmatch
    "\n%.It Sy ([^\n]+)\n([^.][^\n]*[^.]*%.)%f[\n]" do
    terms[#terms + 1], sentences[term] = term, rest
end
all("terms of the glossary are in order", terms, function(term)
    local sorted = last <= term:lower()
    last = term:lower()
    return sorted
end)
all("each is said in a sentence", terms, function(term)
    return sentences[term]:find "^%u[^.]+%.$"
end)
all("and each is a word of another page or of the source", terms, function(term)
    return used:find(term:gsub(" Pq.*", ""):lower(), 1, true)
end)
local _, items = read("man/heddle_glossary.7"):gsub("\n%.It ", "")
tap.is(#terms, items, "there is no other term")

-- What shells complete.
for path in output("ls src/shell/command/completion/*"):gmatch "[^\n]+" do
    local text = " " .. read(path):gsub("[^%w_]", " ") .. " "
    local function there(word)
        return text:find(" " .. word .. " ", 1, true)
    end
    all(path .. " has every command", commands, there)
    all(path .. " has every kind of list", index.kinds, there)
end

return tap.done()
