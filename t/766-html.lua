--[[
766-html.lua - the manual as HTML holds together.

Pinned: `src/dev/html/make` writes a page for each page of the manual and an
index, and no mandoc warns; each page has the stylesheet, says how wide a phone
is, and is linked from the index with what it is about and from every other page;
each cross-reference of the manual's source has become a link; every link, to a
page, a picture or a place in a page, resolves; pages of others are Debian's.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
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
local ids = {}
local function id(page, name)
    if not ids[page] then
        ids[page] = {}
        for found in html[page]:gmatch ' id="([^"]*)"' do
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
tap.ok(links > 800 and places > 500 and elsewhere < 30,
    "there are many, few of them to elsewhere",
    ("%d, %d to places, %d elsewhere"):format(links, places, elsewhere))

bad = {}
for page, text in pairs(source) do
    local own = html[page] or ""
    if not (own:find('href="style.css"', 1, true)
        and own:find('name="viewport"', 1, true)) then
        bad[#bad + 1] = page
    end
    for to in pairs(source) do
        if not own:find(('href="%s"'):format(to), 1, true) then
            bad[#bad + 1] = page .. " to " .. to
        end
    end
    local body = own:match "<nav>.-</nav>(.*)" or ""
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
output("rm -rf " .. quote(dir))
return tap.done()
