--- picture.lua - where things stand in an SVG, for tests that no browser is needed for.
--
--     local p = picture.read(text)
--     p.width, p.height      the viewBox
--     p.texts                { text =, x1 =, y1 =, x2 =, y2 =, turn = }: boxes
--     p.rects                { x1, y1, x2, y2, class, title }
--     p.lines                segments of paths and lines: { x1, y1, x2, y2, class }
--     p:outside(), p:crossed(), p:overlapping()   texts that are wrong, as texts
--
-- Widths of texts are canvas.lua's estimate, that of DejaVu Sans; of a fixed-width font
-- 0.61 of its size a character.  Known are what heddle writes and man/pipeline.svg:
-- absolute M, L, H, V, rotation by 45 or 90 degrees to the left, what <g> hands down.
--
-- SPDX-License-Identifier: MIT
local canvas = require "heddle.svg.canvas"

local picture = {}
picture.__index = picture

local function attributes(text, above)
    local out = setmetatable({}, { __index = above })
    for name, _, value in text:gmatch "([%w:-]+)=(['\"])(.-)%2" do
        out[name] = value
    end
    return out
end

--- The box of a text: its letters, without what hangs below the line.
local function box(o, text)
    text = text:gsub("&#39;", "'"):gsub("&%l+;", "&")
    local size = tonumber(o["font-size"]) or 12
    local fixed = (o["font-family"] or ""):find "Mono"
    local wide = fixed and 0.61 * size * utf8.len(text)
        or canvas.width_of(text, size, o["font-weight"] == "bold")
    local x, y = tonumber(o.x), tonumber(o.y)
    local from = o["text-anchor"] == "end" and -wide
        or o["text-anchor"] == "middle" and -wide / 2 or 0
    local turn = (o.transform or ""):match "rotate%(%-(%d+)"
    local b = { text = text, turn = tonumber(turn), class = o.class }
    local s = turn == "45" and math.sqrt(0.5) or 0
    local high = 0.72 * size
    if turn == "90" then
        b.x1, b.x2, b.y1, b.y2 = x - high, x, y - from - wide, y - from
    elseif turn then -- the box around it
        b.x1, b.x2 = x + from * s - high * s, x + (from + wide) * s
        b.y1, b.y2 = y - (from + wide) * s - high * s, y - from * s
    else
        b.x1, b.x2, b.y1, b.y2 = x + from, x + from + wide, y - high, y
    end
    return b
end

--- Segments of a path of absolute M, L, H and V.
local function segments(out, d)
    local x, y
    for command, numbers in d:gmatch "([MLHV])([^A-Za-z]*)" do
        local list = {}
        for v in numbers:gmatch "-?[%d.]+" do
            list[#list + 1] = tonumber(v)
        end
        local x2 = command == "V" and x or list[1]
        local y2 = command == "H" and y or command == "V" and list[1] or list[2]
        if command ~= "M" then
            out[#out + 1] = { x1 = math.min(x, x2), y1 = math.min(y, y2),
                x2 = math.max(x, x2), y2 = math.max(y, y2) }
        end
        x, y = x2, y2
    end
end

function picture.read(text)
    local p = setmetatable({ texts = {}, rects = {}, lines = {} }, picture)
    local stack, hidden = { {} }, false
    for close, name, rest, self, after in
        text:gmatch "<(/?)(%a+)(.-)(/?)>([^<]*)" do
        local o = attributes(rest, stack[#stack])
        if name == "defs" then
            hidden = close ~= "/"
        end
        if close == "/" then
            table.remove(stack)
        elseif not hidden then
            if name == "svg" then
                local w, h = rest:match "viewBox=['\"]0 0 ([%d.]+) ([%d.]+)"
                p.width, p.height = tonumber(w), tonumber(h)
            elseif name == "text" then
                p.texts[#p.texts + 1] = box(o, after)
            elseif name == "path" then
                segments(p.lines, o.d)
            elseif name == "line" then
                p.lines[#p.lines + 1] = { x1 = tonumber(o.x1), y1 = tonumber(o.y1),
                    x2 = tonumber(o.x2), y2 = tonumber(o.y2), class = o.class }
            elseif name == "rect" then
                local x, y = tonumber(o.x) or 0, tonumber(o.y) or 0
                p.rects[#p.rects + 1] = { x1 = x, y1 = y, x2 = x
                    + tonumber(o.width), y2 = y + tonumber(o.height),
                    class = o.class }
            elseif name == "title" and p.rects[1] then
                p.rects[#p.rects].title = after
            end
        end
        if close ~= "/" and self ~= "/" then
            stack[#stack + 1] = o
        end
    end
    return p
end

local function meet(a, b, by)
    return a.x1 < b.x2 - by and b.x1 < a.x2 - by and a.y1 < b.y2 - by
        and b.y1 < a.y2 - by
end

local function inside(a, b)
    return a.x1 >= b.x1 and a.x2 <= b.x2 and a.y1 >= b.y1 and a.y2 <= b.y2
end

--- Texts that are not inside the picture, or leave a box in which they begin.
function picture:outside()
    local out = {}
    for _, t in ipairs(self.texts) do
        if not inside(t, { x1 = 0, y1 = 0, x2 = self.width, y2 = self.height }) then
            out[#out + 1] = t.text
        end
    end
    return out
end

--- Texts over the edge of a rectangle.
function picture:over_edges()
    local out = {}
    for _, t in ipairs(self.texts) do
        for _, r in ipairs(self.rects) do
            if meet(t, r, 0) and not inside(t, r) then
                out[#out + 1] = t.text
            end
        end
    end
    return out
end

--- Texts that a line runs through; only lines of a class, if one is given.
function picture:crossed(class)
    local out = {}
    for _, t in ipairs(self.texts) do
        for _, l in ipairs(self.lines) do
            if (not class or l.class == class) and l.x1 <= t.x2 and l.x2 >= t.x1
                and l.y1 <= t.y2 and l.y2 >= t.y1 then
                out[#out + 1] = t.text
            end
        end
    end
    return out
end

--- Pairs of texts on each other; those at 45 degrees, whose boxes say little, apart.
function picture:overlapping()
    local out = {}
    for i, a in ipairs(self.texts) do
        for k = i + 1, #self.texts do
            local b = self.texts[k]
            if a.turn ~= 45 and b.turn ~= 45 and meet(a, b, 1) then
                out[#out + 1] = a.text .. " | " .. b.text
            end
        end
    end
    return out
end

return picture
