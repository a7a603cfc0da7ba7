--[[
766-html.lua - the manual as HTML holds together.

Pinned: `src/dev/html/make` writes a page for each page of the manual, lists of
what has a name, and an overview, and no mandoc warns; each page has the stylesheet
and the script, says how wide a phone is, is linked from the overview with what it is
about, from the side bar of every page, and has its own headings there; each
cross-reference of the manual's source has become a link; every link, to a page, a
picture or a place in a page, resolves, and each entry of the search's index; pages of
others are Debian's, and nothing else is from elsewhere.  Each point, note, setting,
counter, histogram, metric, machine, policy and application has its name as its
anchor, once; names in prose link there; files have their names over them.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local files = require "lib.files"
local read, output, quote = files.read, files.output, files.quote

if output("command -v mandoc || true") == "" then
    tap.skip("no mandoc")
    return tap.done()
end
local dir = output("mktemp -d"):gsub("\n", "")
local made, said = files.command("src/dev/html/make " .. quote(dir .. "/a b"))
tap.ok(made and said == "", "make html says nothing", said)

local html, source = {}, {}
for name in output("ls " .. quote(dir .. "/a b")):gmatch "[^\n]+" do
    html[name] = read(dir .. "/a b/" .. name)
end
for path in output("ls man/*.[1-9]"):gmatch "[^\n]+" do
    source[path:match "([^/]+)$" .. ".html"] = read(path)
end

local function none(what, bad)
    tap.is(table.concat(bad, ", "), "", what)
end

local bad, links, places, elsewhere = {}, 0, 0, 0
local ids, twice = {}, {}
local function id(page, name)
    if not ids[page] then
        ids[page] = {}
        for found in html[page]:gmatch ' id="([^"]*)"' do
            twice[#twice + 1] = ids[page][found] and page .. "#" .. found or nil
            ids[page][found] = true
        end
    end
    return ids[page][name]
end
for page, text in pairs(html) do
    if page:find "%.html$" then
        for link in text:gmatch '[hs]r[ec]f?="([^"]*)"' do
            local to, place = link:match "^([^#]*)#?(.*)$"
            to = to == "" and page or to
            links = links + 1
            if to:find "^https://" then
                elsewhere = elsewhere + 1
            elseif not html[to] then
                bad[#bad + 1] = page .. ": " .. link
            elseif place ~= "" then
                places = places + 1
                if not id(to, place) then
                    bad[#bad + 1] = page .. ": " .. link
                end
            end
        end
    end
end
table.sort(bad)
none("every link resolves", bad)
for page in pairs(source) do
    id(page, "")
end
none("no two places of a page have one name", twice)
bad = {}
for page, text in pairs(html) do
    local loads = page:find "%.html$" and (text:match '%ssrc="%l*://' or text:match
        '<link[^>]*://') or page:find "%.css$" and (text:match "url%("
        or text:match "@import") or page == "manual.js" and text:match "%f[%w]https?:"
    bad[#bad + 1] = loads and page .. ": " .. loads or nil
end
none("nothing is loaded from elsewhere", bad)
tap.ok(links > 3000 and places > 2000 and elsewhere < 30,
    "there are many, few of them to elsewhere",
    ("%d, %d to places, %d elsewhere"):format(links, places, elsewhere))

bad = {}
for page, text in pairs(source) do
    local own = html[page] or ""
    if not (own:find('href="style.css"', 1, true)
        and own:find('src="manual.js" defer', 1, true)
        and own:find('name="viewport"', 1, true)) then
        bad[#bad + 1] = page
    end
    local side = own:match '<nav id="page%-side".-</nav>' or ""
    for to in pairs(source) do
        if not side:find(('href="%s"'):format(to), 1, true) then
            bad[#bad + 1] = page .. " to " .. to
        end
    end
    for heading in text:gmatch "\n%.S[hs] ([^\n]+)" do
        if heading ~= "NAME" and heading ~= "SEE ALSO" and not side:gsub("&#x%x+;", "'")
            :find(">" .. heading:gsub("\\.", "") .. "</a>", 1, true) then
            bad[#bad + 1] = page .. " in the side bar: " .. heading
        end
    end
    local body = own:match "<main.->(.*)</main>" or ""
    for name, section in text:gmatch "%.Xr ([%w_-]+) (%d)" do
        local to = ("%s.%s.html"):format(name, section)
        to = source[to] and to
            or ("https://manpages.debian.org/%s.%s"):format(name, section)
        if not body:find(('href="%s"'):format(to), 1, true) then
            bad[#bad + 1] = ("%s: %s(%s)"):format(page, name, section)
        end
    end
    local about = text:match "\n%.Nd ([^\n]+)"
    local row = html["index.html"]:match(
        ('<td><a href="%s">[^<]*</a></td><td>([^<]*)</td>'):format(
            page:gsub("%p", "%%%0")))
    if row ~= about then
        bad[#bad + 1] = page .. " in the index"
    end
end
none("every page is there, dressed, linked and with its cross-references", bad)

-- ---- names -------------------------------------------------------------------------

-- A name has its anchor where its kind is described, and what is there is its item.
local KINDS = { points = "heddle_policy.7", notes = "heddle_policy.7",
    metrics = "heddle_results.5", settings = "settings", counters = "counters",
    histograms = "histograms", machines = "machines", policies = "policies",
    apps = "apps", suites = "apps" }
local count = 0
bad = {}
for kind, page in pairs(KINDS) do
    for _, row in ipairs(H.index.rows(kind)) do
        local name = row[1]
        local here = html[page .. ".html"]
        if kind == "metrics" and row[2] ~= "results" then
            goto next
        end
        count = count + 1
        if not here:find(('<dt id="%s"><a class="permalink" href="#%s"><code'):format(
            name, name), 1, true) then
            bad[#bad + 1] = page .. "#" .. name
        end
        if kind == "settings" and not here:find(("<p>%s</p>"):format(row[4]:match
            "[^:]*$":gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })
            :gsub("^ ", "")), 1, true) and not row[4]:find ":" then
            bad[#bad + 1] = name .. " without its meaning"
        end
        ::next::
    end
end
none("each name is an anchor, and there is its item", bad)
tap.ok(count > 1100, "there are many", count)
tap.ok(html["heddle_results.5.html"]:find('<dt id="cycles"><a class="permalink" '
    .. 'href="#cycles"><code class="Li">cycles', 1, true), "not an earlier mention")

local named = 0
for page in pairs(source) do
    local _, n = html[page]:gsub('<a class="name"', "")
    named = named + n
end
tap.ok(named > 150, "names in prose link there", named)
tap.ok(html["heddle_model.7.html"]:find('<a class="name" '
    .. 'href="settings.html#vm.page"><code class="Li">vm.page</code></a>', 1, true),
    "settings do")
tap.ok(html["heddle_policy.7.html"]:find('<a class="name" '
    .. 'href="heddle_policy.7.html#tlb_fill"><code', 1, true), "points, too")

bad, count = {}, 0
for page, text in pairs(source) do
    for name, first in text:gmatch '\n%.\\" file: ([^\n]+)\n%.Bd[^\n]*\n([^\n]+)' do
        count = count + 1
        local after = html[page]:match(('<p class="file"><code>%s</code></p><pre>'
            .. "([^\n]*)"):format(name:gsub("%p", "%%%0")))
        if (after or ""):gsub("&%a+;", { ["&quot;"] = '"', ["&lt;"] = "<",
            ["&gt;"] = ">", ["&amp;"] = "&" }) ~= first then
            bad[#bad + 1] = page .. ": " .. name
        end
    end
end
none("files have their names over them", bad)
for _, chart in ipairs(dofile "man/gallery/list.lua") do
    if not html["gallery.html"]:find(('<img src="%s.svg"'):format(chart.name), 1, true)
        or not html["gallery.html"]:find("<pre>$ " .. chart.command .. "</pre>", 1, true)
        or not html[chart.name .. ".svg"] then
        bad[#bad + 1] = chart.name
    end
end
none("each chart of the gallery is shown with its command", bad)
tap.ok(count > 10, "there are some", count)

-- ---- the search ----------------------------------------------------------------------

local search = H.json.decode((html["search-index.js"]:match "^window%.heddleManual = (.*);\n$"))
bad, count = {}, 0
local all, kinds = {}, {}
for _, e in ipairs(search.entries) do
    local page = search.pages[e[1] + 1][1]
    count = count + #e[4]
    all[#all + 1] = e[4]
    kinds[e[5]] = (kinds[e[5]] or 0) + 1
    if not id(page, e[2]) or e[3] == "" then
        bad[#bad + 1] = page .. "#" .. e[2]
    end
end
none("each entry of the index is a place", bad)
tap.is(kinds.setting, #H.index.rows "settings", "every setting is in it")
tap.is(kinds.point, #H.index.rows "points", "every point")
tap.is(kinds.counter, #H.index.rows "counters", "every counter")
all = table.concat(all, "\n"):gsub("%s+", " ")
bad = {}
for page, text in pairs(source) do
    -- The first line of each paragraph, where it is of plain words.
    for line in text:gmatch "\n%.Pp\n(%u[%w ,;:']+)\n" do
        if not all:find(line, 1, true) then
            bad[#bad + 1] = page .. ": " .. line
        end
    end
end
none("the text of all pages is in it", bad)
tap.ok(count > 3e5 and count < 1e6, "of a size that loads", count)
output("rm -rf " .. quote(dir))
return tap.done()
