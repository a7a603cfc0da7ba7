--- pages.lua - the manual as pages of HTML, of what mandoc makes of each page.
--
--     heddle run src/dev/html/pages.lua from=FOLDER out=FOLDER
--
-- `from` has a fragment of HTML for each page, named as in man/.  A page gets a
-- side bar (all pages by section, its own headings below its name), the field of
-- the search, the file name over each listing that the page's source names
-- (`.\" file: NAME`), and links from names to where they are described.  What has
-- a name has an anchor that is the name: a point or note in heddle_policy(7), a
-- metric in heddle_results(5), the rest in lists written here.
--
-- search-index.js has the text of all pages, an entry for each heading and each
-- item of a list; manual.js searches in it.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local index = require "heddle.index"
local arg = H.args { from = "", out = "" }
local concat = table.concat

local function read(path)
    local f <close> = assert(io.open(path, "rb"))
    return f:read "a"
end

local function write(name, text)
    local f <close> = assert(io.open(arg.out .. "/" .. name, "wb"))
    assert(f:write(text))
end

local MARKS = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }
local function escaped(text)
    return (text:gsub('[&<>"]', MARKS))
end

local CHARACTERS = { amp = "&", lt = "<", gt = ">", quot = '"' }

--- HTML as text, on one line.
local function plain(html)
    return (html:gsub("<[^>]*>", ""):gsub("&#x(%x+);", function(code)
        return utf8.char(tonumber(code, 16))
    end):gsub("&(%a+);", CHARACTERS):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

-- ---- pages of the manual ---------------------------------------------------------

local VERSION = read("src/engine/heddle.h"):match '#define HEDDLE_VERSION "([^"]*)"'
local SECTIONS = {
    { "1", "Commands" }, { "3", "Libraries" }, { "5", "Formats" },
    { "7", "Guides" },
}

local function named(source, directive)
    return source:match("\n%." .. directive .. " ([^\n]+)")
end

--- The names that the source puts over its literal blocks, in their order: false
-- for a block that is no file (t/760-docs-examples.lua has the marks).
local function listings(source)
    local out, mark = {}, nil
    for line in source:gmatch "[^\n]*" do
        if line:find "^%.Bd %-literal" then
            out[#out + 1] = mark and mark:match "^file: (.*)$" or false
            mark = nil
        elseif line:find '^%.\\" ' then
            mark = line:match '^%.\\" (.*)$'
        elseif line ~= "" then
            mark = nil
        end
    end
    return out
end

--- Puts the names over the blocks.
local function with_names(name, body, source)
    local names, n = listings(source), 0
    body = body:gsub("<pre>", function()
        n = n + 1
        return names[n] and ('<p class="file"><code>%s</code></p><pre>')
            :format(escaped(names[n]))
    end)
    assert(n == #names, ("%s: %d listings, and %d in its source"):format(name, n,
        #names))
    return body
end

local pages, by_file = {}, {} -- { file, title, about, section, body }

local function add(page)
    pages[#pages + 1] = page
    by_file[page.file] = page
end

do
    local found = {}
    for path in io.popen("ls man/*.[1-9]"):lines() do
        local name, section = path:match "([^/]+)%.(%d)$"
        found[#found + 1] = { name, section, path }
    end
    table.sort(found, function(a, b)
        return a[2] .. a[1] < b[2] .. b[1]
    end)
    for _, f in ipairs(found) do
        local file, source = f[1] .. "." .. f[2], read(f[3])
        add { file = file .. ".html", title = ("%s(%s)"):format(f[1], f[2]),
            about = named(source, "Nd"), section = f[2],
            body = with_names(file, read(arg.from .. "/" .. file), source) }
    end
end

-- ---- lists of what has a name ------------------------------------------------------

--- The lines that explain a name as one of a kind; the first is "NAME (KIND...)".
local function explained(name, kind)
    local lines, out = assert(index.explain_as(kind, name), name), {}
    for i, line in ipairs(lines) do
        if i > 1 and line:find "^%S" then
            break
        end
        out[i] = line ~= "" and line or nil
    end
    return out
end

--- A name as an item of a list of definitions.
local function item(name, kind)
    local lines = explained(name, kind)
    local remark, meaning = lines[1]:match "(%b()):? ?(.*)$"
    local out = { ('<dt id="%s"><a class="permalink" href="#%s"><code>%s</code></a>'
        .. ' <span class="remark">%s</span></dt>\n<dd>'):format(escaped(name),
        escaped(name), escaped(name), escaped(remark:sub(2, -2))) }
    out[2] = meaning ~= "" and ("<p>%s</p>"):format(escaped(meaning)) or nil
    local more, rest = {}, {}
    for i = 2, #lines do
        local key, value = lines[i]:match "^  (%l+)  +(%S.*)$"
        if i == 2 and not key then
            out[#out + 1] = ("<p>%s</p>"):format(escaped(lines[i]:match "^ *(.*)$"))
        elseif key and #rest == 0 then
            more[#more + 1] = ("<tr><th>%s</th><td>%s</td></tr>"):format(key,
                escaped(value))
        else
            rest[#rest + 1] = escaped(lines[i]:match "^ ? ?(.*)$")
        end
    end
    out[#out + 1] = #more > 0 and "<table class=\"facts\">" .. concat(more)
        .. "</table>" or nil
    out[#out + 1] = #rest > 0 and "<pre>" .. concat(rest, "\n") .. "</pre>" or nil
    return concat(out) .. "</dd>"
end

--- A page of one kind or of several, by what stands before the names' dots.
local function list(file, title, about, kinds)
    local out = { ("<h1>%s</h1>\n<p>%s</p>"):format(title, escaped(about)) }
    for _, k in ipairs(kinds) do
        local kind, by_part = k[1], k[2]
        local part
        if #kinds > 1 then
            out[#out + 1] = ('<h1 id="%s">%s</h1>'):format(kind, kind)
        end
        for _, row in ipairs(index.rows(kind)) do
            local now = by_part and row[1]:match "^[^.]*" or ""
            if now ~= part then
                out[#out + 1] = part and "</dl>" or nil
                out[#out + 1] = by_part and ('<h2 id="%s"><a class="permalink" '
                    .. 'href="#%s">%s</a></h2>'):format(kind .. "." .. now,
                    kind .. "." .. now, now) or nil
                out[#out + 1] = '<dl class="names">'
                part = now
            end
            out[#out + 1] = item(row[1], kind)
        end
        out[#out + 1] = "</dl>"
    end
    add { file = file, title = title, about = about, section = "lists",
        body = concat(out, "\n") }
end

list("settings.html", "Settings", "what a machine can be set to, by part: unit, "
    .. "default, range and source of each", { { "settings", true } })
list("counters.html", "Counters", "what is counted while a simulation runs, by part",
    { { "counters", true } })
list("histograms.html", "Histograms", "how often each value occurred, by part",
    { { "histograms", true } })
list("machines.html", "Machines", "presets: papers' machines and cards of today, "
    .. "and what each sets; links between GPUs",
    { { "machines" }, { "interconnects" } })
list("policies.html", "Policies", "what comes with heddle, and its parameters",
    { { "policies" } })
list("apps.html", "Applications and suites", "programs of the library, with sizes "
    .. "and sources; the sets that the papers form of them",
    { { "apps" }, { "suites" } })

-- ---- the gallery -------------------------------------------------------------------

do
    local out = { "<h1>Gallery</h1>\n<p>Charts, each with the command that draws it. "
        .. "<code>H.svg</code> in <a href=\"heddle_lua.3.html#H.svg.bars\">heddle_lua(3)"
        .. "</a> draws bars, lines and maps of whatever a script has measured.</p>" }
    for _, chart in ipairs(dofile "man/gallery/list.lua") do
        out[#out + 1] = ('<h2 id="%s"><a class="permalink" href="#%s">%s</a></h2>\n'
            .. '<p>%s</p>\n<p><a href="%s.svg"><img src="%s.svg" alt="%s"/></a></p>\n'
            .. "<pre>$ %s</pre>"):format(chart.name, chart.name, escaped(chart.title),
            escaped(chart.about), chart.name, chart.name, escaped(chart.title),
            escaped(chart.command))
        out[#out + 1] = chart.script and ('<p class="file"><code>%s</code></p><pre>%s'
            .. "</pre>"):format(chart.script, escaped(read("man/gallery/"
            .. chart.script):gsub("^%-%- SPDX[^\n]*\n", ""))) or nil
    end
    add { file = "gallery.html", title = "Gallery", about = "charts, each with the "
        .. "command that draws it", section = "start", body = concat(out, "\n") }
end

-- ---- anchors -------------------------------------------------------------------------

local where, kinds_of = {}, {} -- by name: "page#anchor" of a kind, and its kinds

local function place(name, kind, page, anchor)
    kinds_of[name] = kinds_of[name] or {}
    table.insert(kinds_of[name], kind)
    where[kind .. " " .. name] = page.file .. "#" .. (anchor or name)
end

--- Lets an item below a heading have its name as its anchor: what has it so far, an
-- earlier mention, gets the item's.
local function anchor(page, heading, tag, name)
    local from = assert(page.body:find(('id="%s"'):format(heading), 1, true), heading)
    local id = page.body:match(('<dt id="([^"]*)"><a class="permalink" '
        .. 'href="#[^"]*"><code class="%s">%s</code>'):format(tag, name), from)
    assert(id, ("%s: no item %s below %s"):format(page.file, name, heading))
    if id ~= name then
        local swap = { [name] = id, [id] = name }
        page.body = page.body:gsub('( [ih][dr]e?f?="#?)([^"]*)"', function(before, at)
            return swap[at] and before .. swap[at] .. '"'
        end)
    end
end

do
    local policy, results = by_file["heddle_policy.7.html"],
        by_file["heddle_results.5.html"]
    for kind, heading in pairs { points = "Points", notes = "Notes" } do
        for _, row in ipairs(index.rows(kind)) do
            anchor(policy, heading, "Ic", row[1])
            place(row[1], kind:sub(1, -2), policy)
        end
    end
    for _, row in ipairs(index.rows "metrics") do
        if row[2] == "results" then
            anchor(results, "METRICS", "Li", row[1])
            place(row[1], "metric", results)
        elseif row[2] ~= "heddle apps" then
            place(row[1], "metric", by_file["heddle_lua.3.html"], row[2])
        end
    end
    for kind, file in pairs { settings = "settings", counters = "counters",
        histograms = "histograms", machines = "machines", policies = "policies",
        apps = "apps", suites = "apps", interconnects = "machines" } do
        for _, row in ipairs(index.rows(kind)) do
            place(row[1], kind == "policies" and "policy" or kind:sub(1, -2),
                by_file[file .. ".html"])
        end
    end
end

--- The place of a name where prose means just that: a setting or counter; a point,
-- note or metric of more than one word; a machine that is nothing else, too.
local function linked(name)
    local kinds = kinds_of[name]
    if not kinds then
        return nil
    end
    local kind = kinds[1]
    for _, k in ipairs(kinds) do
        if k ~= kind then
            return nil
        end
    end
    return (name:find "[._]" or kind == "machine") and where[kind .. " " .. name]
end

--- Links names that are marked as such, outside of links, terms and listings.
local function with_links(page)
    local out, at, inside = {}, 1, 0
    local body = page.body
    while true do
        local from, to, close, tag = body:find("<(/?)(%w+)[^>]*>", at)
        if not from then
            break
        end
        local upto = to
        if tag == "a" or tag == "dt" or tag == "pre" or tag == "h1" or tag == "h2" then
            inside = inside + (close == "" and 1 or -1)
        elseif inside == 0 and close == "" and (tag == "code" or tag == "var") then
            local text, ends = body:match("^([^<]*)</" .. tag .. ">()", to + 1)
            local target = text and linked(text:match "^[%w_.-]+" or "")
            if target and (text:find "^[%w_.-]+$" or text:find "^[%w_.-]+=") then
                out[#out + 1] = body:sub(at, from - 1)
                out[#out + 1] = ('<a class="name" href="%s">'):format(escaped(target))
                out[#out + 1] = body:sub(from, ends - 1) .. "</a>"
                at, upto = ends, nil
            end
        end
        if upto then
            out[#out + 1] = body:sub(at, upto)
            at = upto + 1
        end
    end
    out[#out + 1] = body:sub(at)
    page.body = concat(out)
end

for _, page in ipairs(pages) do
    with_links(page)
end

-- ---- the search ------------------------------------------------------------------------

--- The entries of a page: { anchor, title, text }, one for each heading and each item
-- of an outermost list.
local function entries(page)
    local out, current, depth, at = {}, nil, 0, 1
    local text = {}
    local body = page.body
    local function finish()
        if current then
            current[3] = plain(concat(text))
            out[#out + 1] = current
        end
        text = {}
    end
    while true do
        local from, to, close, tag = body:find("<(/?)(%w+)[^>]*>", at)
        text[#text + 1] = body:sub(at, (from or 0) - 1)
        if not from then
            break
        end
        at = to + 1
        local id = body:sub(from, to):match ' id="([^"]*)"'
        if tag == "dl" then
            depth = depth + (close == "" and 1 or -1)
        elseif close == "" and id and (tag == "h1" or tag == "h2"
            or tag == "dt" and depth == 1) then
            finish()
            local title, ends = body:match("^(.-)</" .. tag .. ">()", to + 1)
            current = { id, plain(title), "" }
            at = ends
        end
        if tag ~= "a" and tag ~= "code" and tag ~= "span" and tag ~= "var" then
            text[#text + 1] = tag == "tr" and close ~= "" and "; " or " "
        end
    end
    finish()
    return out
end

local search = { pages = {}, entries = {} }
local headings = {} -- by page: { level, anchor, text }
do
    local kind_at, name_at = {}, {}
    for name, kinds in pairs(kinds_of) do
        for _, kind in ipairs(kinds) do
            local at = where[kind .. " " .. name]
            kind_at[at], name_at[at] = kind, name
        end
    end
    for _, page in ipairs(pages) do
        search.pages[#search.pages + 1] = { page.file, page.title, page.about }
        for _, e in ipairs(entries(page)) do
            local at = page.file .. "#" .. e[1]
            search.entries[#search.entries + 1] = { #search.pages - 1, e[1],
                name_at[at] or e[2], e[3], kind_at[at] or "" }
        end
        headings[page.file] = {}
        for level, id, text in page.body:gmatch '<h([12])[^>]- id="([^"]*)">(.-)</h%1>' do
            if id ~= "NAME" and id ~= "SEE_ALSO" then
                table.insert(headings[page.file], { level, id, plain(text) })
            end
        end
    end
end
write("search-index.js", "window.heddleManual = " .. H.json.encode(search) .. ";\n")

-- ---- around a page ------------------------------------------------------------------------

--- The links of a group of the side bar; below the page that is shown its headings.
local function group(title, list_of, current)
    local out = { ("<h2>%s</h2>\n<ul>"):format(title) }
    for _, p in ipairs(list_of) do
        local own = p.file == current
        out[#out + 1] = ('<li><a href="%s"%s>%s</a>'):format(p.file,
            own and ' aria-current="page"' or "", p.title)
        if own and headings[p.file] and #headings[p.file] > 0 then
            out[#out + 1] = "<ul class=\"own\">"
            for _, h in ipairs(headings[p.file]) do
                out[#out + 1] = ('<li class="l%s"><a href="#%s">%s</a></li>'):format(
                    h[1], h[2], escaped(h[3]))
            end
            out[#out + 1] = "</ul>"
        end
        out[#out + 1] = "</li>"
    end
    return concat(out, "\n") .. "\n</ul>"
end

local function bar(current)
    local out = { group("Start", { { file = "index.html", title = "Overview" },
        by_file["gallery.html"] }, current) }
    local groups = { { "lists", "Lists" } }
    table.move(SECTIONS, 1, #SECTIONS, 2, groups)
    table.insert(groups, table.remove(groups, 1))
    for _, s in ipairs(groups) do
        local of = {}
        for _, p in ipairs(pages) do
            of[#of + 1] = p.section == s[1] and p or nil
        end
        out[#out + 1] = group(s[2], of, current)
    end
    return concat(out, "\n")
end

local function frame(file, title, body)
    write(file, ([[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1.0"/>
<link rel="stylesheet" href="style.css"/>
<script src="manual.js" defer></script>
<title>%s</title>
</head>
<body>
<header>
<a class="skip" href="#page-text">To the text</a>
<a class="menu" href="#page-side">Menu</a>
<a class="home" href="index.html">heddle %s</a>
<form id="page-search" role="search" hidden>
<input type="search" placeholder="Search the manual ( / )" autocomplete="off"
 spellcheck="false" aria-label="Search the manual" role="combobox"
 aria-expanded="false" aria-controls="page-found" aria-autocomplete="list"/>
<p class="count" role="status"></p>
<ul id="page-found" role="listbox" aria-label="What was found" hidden></ul>
</form>
</header>
<nav id="page-side" aria-label="The manual">
%s
</nav>
<main id="page-text">
%s
</main>
</body>
</html>
]]):format(escaped(title), VERSION, bar(file), body))
end

for _, page in ipairs(pages) do
    frame(page.file, page.title .. " - heddle", page.body)
end

local function rows(section)
    local out = {}
    for _, p in ipairs(pages) do
        out[#out + 1] = p.section == section and ('<tr><td><a href="%s">%s</a></td>'
            .. "<td>%s</td></tr>"):format(p.file, p.title, escaped(p.about)) or nil
    end
    return concat(out, "\n")
end

local overview = { ([[
<h1>heddle %s</h1>
<p>A simulator of the virtual memory of a GPU, with policies and scenarios in Lua.
<a href="heddle_tutorial.7.html">heddle_tutorial(7)</a> begins with a first scenario,
<a href="heddle_model.7.html#Which_machine_do_I_want">heddle_model(7)</a> says which
machine to choose, and the <a href="gallery.html">gallery</a> has charts.</p>]])
    :format(VERSION) }
for _, s in ipairs(SECTIONS) do
    overview[#overview + 1] = ('<h2>%s</h2>\n<table class="index">\n%s\n</table>')
        :format(s[2], rows(s[1]))
end
overview[#overview + 1] = ('<h2>Lists</h2>\n<table class="index">\n%s\n</table>')
    :format(rows "lists")
overview[#overview + 1] = [[
<p><a href="pipeline.svg"><img src="pipeline.svg" alt="The data path of a memory
instruction, and the points at which a policy decides"/></a></p>]]
frame("index.html", "heddle " .. VERSION .. ": the manual", concat(overview, "\n"))
