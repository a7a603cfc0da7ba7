--- cmd/view.lua - heddle view: results as a page to explore with.
--
-- The page is view.lua's, what is served while a series runs live.lua's; here are
-- the words of the command.
--
-- SPDX-License-Identifier: MIT
local cli = require "heddle.cli"
local core = require "heddle.core"

local M = {
    summary = "write a page for exploring results, or watch runs",
    usage = [[
usage: heddle view [-o PAGE.html] FILE... [name=value...]
       heddle view --follow STORE [port=N]

Writes one HTML page, which needs no other file and no network, from results: a
JSON that H.report.json wrote, the folder of a store (out/cache), the
results.sqlite of experiments.  On it: runs to pick, what differs between them
with the greatest relative change first, a metric against a setting as lines, bars
or a heat map, where warps' time went, latency by stage, intervals, histograms.

  -o PAGE         output file; - is standard output (default: next to FILE)
  filter=WORDS    only runs that have all of the words in label, machine,
                  applications, policies or settings (l2tlb.entries=512)
  size=MB         approximate size of the page (8); it says what was left out
  title=TEXT      its heading

With --follow it writes nothing.  Until Ctrl-C, it serves to browsers on this
machine the progress of a series that keeps its results in STORE, the state of
simulations run with heddle run --live STORE, and the page of the results so far.

  port=N          the port on 127.0.0.1 (0: a free one); it is printed
  filter=, size=  apply to the page of the results so far
]],
}

--- The page's path: the first file's, with another ending.
local function beside(path)
    local base = path:gsub("/+$", "")
    return (base:gsub("%.json$", ""):gsub("%.sqlite$", "")) .. ".html"
end

local function number(name, text, least, most)
    local v = math.tointeger(tonumber(text))
    if not v or v < least or v > most then
        cli.usage("view: %s: a number of %d to %d is expected, not '%s'", name,
            least, most, text)
    end
    return v
end

local NAMES = { filter = true, size = true, title = true, port = true }

local function parse(args)
    local o, i, options = { files = {} }, 1, true
    while args[i] do
        local word = args[i]
        local name, text = word:match "^(%a+)=(.*)$"
        if options and word == "--" then
            options = false
        elseif options and word:find "^%-o" then
            o.to = word:match "^%-o(.+)" or args[i + 1]
            i = i + (word == "-o" and 1 or 0)
            if not o.to then
                cli.usage "view: -o: a file is expected"
            end
        elseif options and word == "--follow" then
            o.follow = true
        elseif options and word:find "^%-." then
            cli.usage("view: unknown option '%s'; there are -o, --follow", word)
        elseif not options or not name then
            o.files[#o.files + 1] = word
        elseif not NAMES[name] then
            cli.usage("view: no option '%s'; it takes filter, size, title, port",
                name)
        else
            o[name] = text
        end
        i = i + 1
    end
    o.size = number("size", o.size or "8", 1, 1024)
    o.port = o.port and number("port", o.port, 0, 65535)
    if o.follow and (#o.files ~= 1 or o.to) then
        cli.usage "view: --follow: one store, and nothing to write, is expected"
    elseif o.port and not o.follow then
        cli.usage "view: port: of --follow"
    elseif #o.files == 0 then
        cli.usage "view: a file of results is expected, or a store"
    end
    return o
end

function M.run(args)
    local o = parse(args)
    if o.follow then
        return require("heddle.live").serve(o.files[1], o.port or 0, o)
    end
    local to = o.to or beside(o.files[1])
    for _, path in ipairs(o.files) do
        if path == to then
            cli.usage("view: -o: %s is what it is made from", to)
        end
    end
    local v = require("heddle.view").open { bytes = o.size << 20,
        filter = o.filter }
    if to ~= "-" then
        require("heddle.process").save(to) -- before what takes long
    end
    for _, path in ipairs(o.files) do
        v:read(path)
    end
    local runs, quantities = v:count()
    if runs + quantities == 0 then
        error(core.error(-4, ("filter=%s: no run has these words"):format(
            o.filter or "")), 0)
    end
    require("heddle.report").emit(v:page(o.title), to)
    if to ~= "-" then
        print(("%d run%s%s.  Written: %s"):format(runs, runs == 1 and "" or "s",
            quantities > 0 and (", %d quantities of experiments"):format(
                quantities) or "", to))
    end
    return 0
end

return M
