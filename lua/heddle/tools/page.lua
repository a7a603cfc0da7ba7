--- page.lua - experiments as one HTML page.
--
--     local html = page.build({ doc, doc, ... }, { missing = {
--         { name = "mask/fig11", why = "failed: ..." } } })
--
-- A doc is what the JSON of an experiment holds (experiment.lua).  The page is
-- one file that needs no other: its style (web/page.css) is in it, charts are SVG
-- drawn from the values in the JSON.  It follows the reader's choice of light or
-- dark, and fits a telephone: what is wide (tables, charts) scrolls inside itself.
--
-- First the heading: claims, matches, near ones, directions, concordant pairs
-- (verdict.lua), the scale, and version, seed, machine, time; then the same by
-- paper, then every experiment: the paper's numbers beside heddle's, charts,
-- what differs and the causes that were measured, details folded away.  The numbers
-- of an experiment's variants and choices stand beside those of its first one, which
-- alone is scored; a claim that matches on one choice alone is marked.  Charts and
-- details are the first's.  Nothing is on it that is not in a doc, so equal docs give equal bytes.
--
-- SPDX-License-Identifier: MIT
local experiment = require "heddle.experiment"
local progress = require "heddle.progress"
local report = require "heddle.report"
local svg = require "heddle.svg"
local verdict = require "heddle.verdict"

local page = {}

--- A file that pages are made of, of lua/heddle/tools/web/.
function page.asset(name)
    return require("heddle.sources")("=heddle/tools/web/" .. name)
end

local TITLE = "heddle beside the papers"
local WIDEST = 1100 -- of a chart that is scaled to the page, pixels

--- Text as HTML: what is no valid UTF-8, or a control character, is replaced.
local function escape(s)
    s = tostring(s)
    local at = 1
    while true do
        local _, bad = utf8.len(s, at)
        if not bad then
            break
        end
        s = s:sub(1, bad - 1) .. "\u{FFFD}" .. s:sub(bad + 1)
        at = bad
    end
    return (s:gsub("[&<>'\"%c\127]", { ["&"] = "&amp;", ["<"] = "&lt;",
        [">"] = "&gt;", ["'"] = "&#39;", ['"'] = "&quot;", ["\n"] = "\n",
        ["\t"] = "\t" }):gsub("[\0-\8\11-\31\127]", "\u{FFFD}"))
end

page.escape = escape

--- A page of its title and HTML, in heddle's look; `css`, `js`: names of assets
-- beside page.css, the script at the end.
function page.frame(o)
    local style = page.asset "page.css" .. (o.css and page.asset(o.css) or "")
    return table.concat({ "<!DOCTYPE html>\n<html lang=\"en\">\n<head>",
        "<meta charset=\"utf-8\">",
        "<meta name=\"viewport\" content=\"width=device-width, "
            .. "initial-scale=1\">",
        "<title>" .. escape(o.title) .. "</title>",
        "<style>", style .. "</style>\n</head>\n<body>", o.body,
        o.js and "<script>\n" .. page.asset(o.js) .. "</script>\n</body>"
            or "</body>", "</html>\n" }, "\n")
end

local Html = {}
Html.__index = Html

--- Adds a line: %s is escaped, %r is HTML already.
function Html:add(format, ...)
    local args, i = { ... }, 0
    self[#self + 1] = format:gsub("%%([sr])", function(kind)
        i = i + 1
        return kind == "s" and escape(args[i]) or tostring(args[i])
    end)
end

-- ---- tables -----------------------------------------------------------------------

--- A cell as text, and whether it is a number or a percentage.
local function cell(v)
    local text = type(v) == "number" and report.number(v) or tostring(v)
    return text, text:find "^[-+]?%d[%d.]*[ %%x]*$" ~= nil or text == "-"
end

--- A table of rows whose first is the heading; a column is set to the right
-- where a cell of it is a number.  class(row, column) gives a class.
local function put_table(h, rows, class)
    local right = {}
    for r = 2, #rows do
        for c = 1, rows[r] ~= "-" and #rows[1] or 0 do
            local text, number = cell(rows[r][c])
            right[c] = right[c] or number and text ~= "-"
        end
    end
    h:add "<div class=\"scroll\" tabindex=\"0\"><table>"
    for r, row in ipairs(rows) do
        local out = {}
        for c = 1, row ~= "-" and #rows[1] or 0 do
            local name = class and class(r, c) or right[c] and "r"
            local tag = r == 1 and "th" or "td"
            out[c] = ("<%s%s>%s</%s>"):format(tag,
                name and " class=\"" .. name .. "\"" or "",
                escape((cell(row[c]))), tag)
        end
        h:add(r == 1 and "<thead><tr>%r</tr></thead><tbody>"
            or #out > 0 and "<tr>%r</tr>" or "", table.concat(out))
    end
    h:add "</tbody></table></div>"
end

-- ---- the heading ---------------------------------------------------------------------

--- The values of a field of the docs, once each, in order of appearance.
local function distinct(docs, field)
    local out, seen = {}, {}
    for _, d in ipairs(docs) do
        local v = d[field]
        if v ~= nil and not seen[v] then
            seen[v] = true
            out[#out + 1] = tostring(v)
        end
    end
    return out
end

--- Sums of a list of docs.
local function sums(docs)
    local s = { seconds = 0, simulations = 0, cpu = 0, different = 0 }
    local seen = {}
    for _, d in ipairs(docs) do
        for id, cpu in pairs(d.costs) do
            if not seen[id] then
                seen[id] = true
                s.cpu, s.different = s.cpu + cpu, s.different + 1
            end
        end
        s.seconds, s.simulations = s.seconds + d.seconds,
            s.simulations + d.simulations
        s.tally = verdict.tally(d.quantities, d.orders, s.tally)
    end
    s.tally = s.tally or verdict.tally({}, {})
    return s
end

page.sums = sums

--- Docs in groups by a key of each, in order of appearance.
local function grouped(docs, key_of)
    local out, by = {}, {}
    for _, d in ipairs(docs) do
        local key = key_of(d)
        if not by[key] then
            by[key] = { key = key, docs = {} }
            out[#out + 1] = by[key]
        end
        table.insert(by[key].docs, d)
    end
    return out
end

--- Docs by variant, the first one's first: { variant = nil or its name, docs }.
function page.by_variant(docs)
    local out = grouped(docs, function(d) return d.variant or "" end)
    table.sort(out, function(a, b) return a.key < b.key end)
    for _, g in ipairs(out) do
        g.variant = g.key ~= "" and g.key or nil
    end
    return out
end

--- Docs by paper (the folder of their scripts); of each, its experiments: docs
-- of one name, the first variant's first.
local function papers_of(docs)
    local out = grouped(docs, function(d)
        return d.name:match "^(.*)/" or d.name
    end)
    for _, p in ipairs(out) do
        p.title = p.docs[1].source:match "^[^,]*"
        p.experiments = grouped(p.docs, function(d) return d.name end)
        for _, x in ipairs(p.experiments) do
            table.sort(x.docs, function(a, b)
                return (a.variant or "") < (b.variant or "")
            end)
        end
    end
    return out
end

--- The heading of a page that is not of papers: its lines, and its table instead of
-- the summary by paper.
local function put_own_head(h, own)
    for _, line in ipairs(own.lines) do
        h:add("<p>%s</p>", line)
    end
    put_table(h, own.rows)
end

local function put_claims(h, docs)
    local lines = {}
    for _, of in ipairs(page.by_variant(docs)) do
        local first = not of.variant
        lines[#lines + 1] = ("%s%d experiment%s%s%s."):format(of.variant
            and "Variant " .. of.variant .. ", " or "", #of.docs,
            #of.docs == 1 and "" or "s", first and ", on the papers' machines: "
            or ", not counted", first and verdict.words(sums(of.docs).tally) or "")
    end
    h:add("<p>%s</p>", table.concat(lines, " "))
    if table.concat(distinct(docs, "scale")) == "quick" then
        h:add("<p class=\"no\">Quick runs of few sets: not comparable with the "
            .. "papers; nothing is scored.</p>")
    end
    h:add("<p class=\"soft\">A claim is one row.  Effects are compared as performance "
        .. "ratios: match within 1.10, near within 1.25; rates within 5 and 15 "
        .. "points; counts and times within 1.2 and 1.5.  Direction: on the paper&#39;s "
        .. "side, with the 90 % interval over the sets, where its effect is more than "
        .. "2 %.  Pairs: of two designs in the paper&#39;s order; half, where their "
        .. "interval contains equality.  Not counted: calibrated and dependent claims, "
        .. "and runs with fewer sets than the paper&#39;s.</p>")
end

local function put_head(h, docs, view, own)
    h:add("<h1>%s</h1>", own and own.title or TITLE)
    if view then
        h:add("<p><a href=\"%s\">Explore the simulations</a> behind these "
            .. "results.</p>", view.href)
    end
    if own then
        put_own_head(h, own)
    else
        put_claims(h, docs)
    end
    local s = sums(docs)
    local times = distinct(docs, "measured")
    table.sort(times)
    h:add "<dl>"
    local function fact(name, text)
        h:add("<dt>%s</dt><dd>%s</dd>", name, text)
    end
    fact("Version", "heddle " .. table.concat(distinct(docs, "version"), ", "))
    fact("Scale", table.concat(distinct(docs, "scale"), ", "))
    fact("Seed", table.concat(distinct(docs, "seed"), ", "))
    fact("Machine", table.concat(distinct(docs, "host"), "; "))
    fact("Measured", #times > 1 and times[1] .. " to " .. times[#times]
        or times[1] or "-")
    fact("Time", ("%s for %d simulations; the %d different ones behind these "
        .. "results took %s of one core"):format(progress.clock(s.seconds),
        s.simulations, s.different, progress.clock(s.cpu)))
    h:add "</dl>"
end

local function anchor(name)
    return (name:gsub("[^%w]", "-"))
end

--- How an experiment fares, in words.
local function fares(d)
    return verdict.words(verdict.tally(d.quantities, d.orders))
end

local function put_summary(h, papers, missing, own)
    h:add "<h2>Summary</h2>"
    local rows = { { "paper", "experiments", "claims", "match", "near", "direction",
        "pairs", "not scored" } }
    for _, p in ipairs(papers) do
        for _, v in ipairs(page.by_variant(p.docs)) do
            local t = sums(v.docs).tally
            if not v.variant then
                rows[#rows + 1] = { p.title, #v.docs, t.claims, t.match, t.near,
                    ("%d of %d"):format(t.right, t.directed),
                    ("%g of %d"):format(t.concordant, t.pairs), t.unscored }
            end
        end
    end
    if not own then
        put_table(h, rows, function(_, c) return c > 1 and "r" end)
    end
    h:add "<ul>"
    for _, p in ipairs(papers) do
        for _, x in ipairs(p.experiments) do
            local words = {}
            for i, d in ipairs(x.docs) do
                words[i] = d.variant and d.variant .. " beside it"
                    or own and own.fares(d) or fares(d)
            end
            h:add("<li><a href=\"#%r\">%s</a>: %s, <span class=\"soft\">%s"
                .. "</span></li>", anchor(x.key), x.key, x.docs[1].title,
                table.concat(words, "; "))
        end
    end
    h:add "</ul>"
    if #missing > 0 then
        h:add "<p>Without results:</p><ul>"
        for _, m in ipairs(missing) do
            h:add("<li class=\"no\">%s: %s</li>", m.name, m.why)
        end
        h:add "</ul>"
    end
end

-- ---- an experiment -------------------------------------------------------------------

local function put_list(h, title, list)
    if #list > 0 then
        h:add("<h4>%s</h4><ul>", title)
        for _, line in ipairs(list) do
            h:add("<li>%s</li>", line)
        end
        h:add "</ul>"
    end
end

--- What a claim rests on by the docs of one experiment's choices, or nil.
local function depends(docs, q)
    local columns = { { "the machine as it is", q.heddle } }
    for i = 2, #docs do
        for _, v in ipairs(docs[i].choice and docs[i].quantities or {}) do
            if v.what == q.what then
                columns[#columns + 1] = { docs[i].variant, v.heddle }
            end
        end
    end
    return q.counts and verdict.depends(q, columns) or nil
end

--- The summary as two tables: quantities, whose columns are numbers, and
-- orders, whose columns are words.  What a variant has of a row stands behind it:
-- its value, which is shown and not counted.
local function put_results(h, docs)
    local d, rows = docs[1], experiment.summary(docs[1])
    local quantities, orders = {}, { { "order", "paper", "heddle", "tau", "verdict" } }
    local first = 1 + #d.quantities
    for _, q in ipairs(d.quantities) do
        first = first + #(q.also or {})
    end
    local lines = {}
    for r = 1, first do
        quantities[r] = { table.unpack(rows[r]) }
        lines[rows[r][1]] = lines[rows[r][1]] or quantities[r]
    end
    for _, q in ipairs(d.quantities) do
        local on = depends(docs, q)
        if on and lines[q.what] then
            lines[q.what][6] = q.verdict .. ", depends on " .. on
        end
    end
    for r = first + 1, #rows do
        orders[#orders + 1] = { (rows[r][1]:gsub("^order: ", "")), rows[r][2],
            rows[r][3], rows[r][4], rows[r][6], of = rows[r][1] }
    end
    for i = 2, #docs do
        local by = {}
        for _, row in ipairs(experiment.summary(docs[i])) do
            by[row[1]] = row
        end
        for _, list in ipairs { quantities, orders } do
            local n = #list[1]
            list[1][n + 1] = docs[i].variant
            for r = 2, #list do
                local row = by[list[r].of or list[r][1]] or {}
                list[r][n + 1] = row[3] or "-"
            end
        end
    end
    local class = { match = "yes", yes = "yes", off = "no", no = "no" }
    if #quantities > 1 then
        put_table(h, quantities, function(r, c)
            local word = c > 4 and c < 7 and quantities[r][c]:match "^%a+"
            return r > 1 and class[word] or c == 1 and r > 1 and "w"
                or c > 1 and c ~= 6 and "r"
        end)
    end
    if #orders > 1 then
        put_table(h, orders, function(r) return r > 1 and "o" end)
    end
end

--- A chart as wide as the page; one that would be too small to read then
-- keeps three quarters of its width.
local function put_chart(h, text)
    local width = tonumber(text:match " width='(%d+)'")
    h:add("<figure%r>%r</figure>", width > WIDEST and (" class=\"wide\" "
        .. "style=\"--w:%dpx\""):format(width * 3 // 4) or "", text)
end

--- A link to the simulations behind an experiment.
local function put_view(h, docs, view)
    for _, d in ipairs(docs) do
        local id = experiment.id(d.name, d.variant)
        local n = view and view.counts[id]
        if n then
            h:add("<p><a href=\"%s#filter=%s\">Explore %s</a></p>", view.href,
                (id:gsub("[^%w/._-]", function(c)
                    return ("%%%02X"):format(c:byte())
                end)), (n == 1 and "the simulation" or "the " .. n
                .. " simulations") .. " behind it" .. (d.variant and ", variant "
                .. d.variant or ""))
        end
    end
end

local function put_experiment(h, docs, view, own)
    local d = docs[1]
    h:add("<section class=\"x\" id=\"%r\"><h3>%s: %s</h3>", anchor(d.name),
        d.source:match "^[^,]*,%s*(.*)" or d.source, d.title)
    if not own then
        h:add("<p>%s.</p>", (experiment.verdict(d):gsub("^%l", string.upper)))
    end
    for _, line in ipairs(d.said) do
        h:add("<p class=\"soft\">%s</p>", line)
    end
    put_results(h, docs)
    for _, chart in ipairs(d.charts) do
        put_chart(h, chart.text or svg[chart.kind](chart.spec))
    end
    put_list(h, "What is off, and the cause that was measured", d.differences)
    put_list(h, "Notes", d.notes)
    for _, t in ipairs(d.tables) do
        h:add("<details><summary>%s</summary>", t.title)
        put_table(h, t.rows)
        h:add "</details>"
    end
    for _, x in ipairs(docs) do
        h:add("<p class=\"soft\"><code>heddle run scenarios/%s.lua scale=%s "
            .. "seed=%s%s</code>; %s; %s simulations run, %s</p>", x.name,
            x.scale, x.seed, x.variant and " variant=" .. x.variant or "",
            x.measured, x.simulations, progress.clock(x.seconds))
    end
    put_view(h, docs, view)
    h:add "</section>"
end

--- The page: a text.  options.missing: { name, why } of those without results;
-- options.view: the page of the simulations, { href, counts }: how many of each
-- doc are on it, by id.  options.head: a function of the docs, for a page that is not
-- of papers: { title =, lines = { ... }, rows = a table, fares = function(doc) }.
function page.build(docs, options)
    local view = options and options.view
    local own = options and options.head and options.head(docs)
    local papers = papers_of(docs)
    local h = setmetatable({}, Html)
    h:add "<header>"
    put_head(h, docs, view, own)
    h:add "</header>\n<main>"
    put_summary(h, papers, options and options.missing or {}, own)
    for _, p in ipairs(papers) do
        h:add("<h2 id=\"%r\">%s</h2>", anchor(p.key), p.title)
        for _, x in ipairs(p.experiments) do
            put_experiment(h, x.docs, view, own)
        end
    end
    h:add "</main>"
    return page.frame { title = own and own.title or TITLE,
        body = table.concat(h, "\n") }
end

return page
