--- config.lua - settings as tables, as text, and as the engine's object.
--
-- A set of settings is a table from "group.name" to { value, source }.
-- Scenario writers may nest groups and leave the source out:
--
--     { ["l1tlb.entries"] = 32, l2tlb = { entries = 1024, ways = 16 } }
--
-- As text a configuration is one setting a line, `name = value  # unit;
-- source`, all of them, in the engine's order: what a simulation used can be
-- written and read back (config_write, config_read), and two files can be
-- compared with diff.  Sizes that the engine rounds to whole sets are reported.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"

local config = {}

--- The engine's settings by name, and in order.
local function known()
    if not config.list then
        config.list, config.by_name = core.settings(), {}
        for _, s in ipairs(config.list) do
            config.by_name[s.name] = s
        end
    end
    return config.by_name, config.list
end

config.known = known

local function sorted_keys(t)
    local keys = {}
    for k in pairs(t) do
        if type(k) ~= "string" then
            error(core.error(-3, ("expected the name of a setting, got %s")
                :format(type(k) == "number" and k or "a " .. type(k))), 0)
        end
        keys[#keys + 1] = k
    end
    table.sort(keys)
    return keys
end

config.sorted_keys = sorted_keys

--- Flattens nested tables of settings into name -> { value, source }.
function config.flatten(settings, source, prefix, out)
    out = out or {}
    if type(settings) ~= "table" then
        error(core.error(-2, ("settings are a table, as in { [\"l2tlb.entries\"]"
            .. " = 64 }, not a %s"):format(type(settings))), 0)
    end
    for _, key in ipairs(sorted_keys(settings)) do
        local name = prefix and prefix .. "." .. key or key
        local v = settings[key]
        if type(v) == "table" and v[1] ~= nil then
            out[name] = { v[1], v[2] or source }
        elseif type(v) == "table" and not prefix and next(v) ~= nil then
            config.flatten(v, source, name, out)
        else -- a table among them is refused where they are built
            out[name] = { v, source }
        end
    end
    return out
end

--- The error of a value that a setting does not take, or nil.
local function refused(c, name, v)
    local kind = type(v)
    if kind ~= "string" and kind ~= "number" and kind ~= "boolean" then
        return core.error(-3, ("%s: a value is expected, not a %s"):format(name,
            kind))
    end
    local ok, err = pcall(c.set, c, name, v)
    if not ok and err == core.no_memory then
        error(err, 0)
    end
    return not ok and err or nil
end

--- Makes the engine's object from flattened settings; errors are reported
-- together, with the nearest names.  `check` also verifies what one setting
-- alone cannot show.
function config.build(flat, check)
    local c, wrong, first = core.config(), {}, nil
    for _, name in ipairs(sorted_keys(flat)) do
        local err = refused(c, name, flat[name][1])
        first = first or err
        wrong[#wrong + 1] = err and err.message
    end
    if first then
        first.message = table.concat(wrong, "; ")
        error(first, 0)
    end
    if check then
        c:check()
    end
    return c
end

--- All settings resolved: an array of { name=, value=, unit=, source= }; the
-- source of a setting left alone says that it is the default's.
function config.resolve(flat, c)
    local _, list = known()
    c = c or config.build(flat)
    local out = {}
    for i, s in ipairs(list) do
        local set = flat[s.name]
        out[i] = {
            name = s.name,
            value = c:get(s.name),
            unit = s.unit,
            source = set and set[2] or "default: " .. s.source,
        }
    end
    return out
end

--- The sizes of TLBs and caches that are not what was set, because that is no
-- whole number of sets: an array of what c:shapes() says of each.
function config.rounded(c)
    local out = {}
    for _, s in ipairs(c:shapes()) do
        if s.rounded then
            out[#out + 1] = {
                component = s.name, unit = s.unit, copies = s.copies,
                sets = s.sets, ways = s.ways, size = s.size,
                set_to = s.set_to, ways_set_to = s.ways_set_to,
            }
        end
    end
    return out
end

--- One of them in words.
function config.rounded_text(r)
    return ("%s: %d of the %d %s that are set: %d set%s of %d ways%s%s"):format(
        r.component, r.size, r.set_to, r.unit, r.sets, r.sets > 1 and "s" or "",
        r.ways, r.ways_set_to ~= 0 and r.ways ~= r.ways_set_to
            and (", not %d"):format(r.ways_set_to) or "",
        r.component == "l2cache" and (" in each of %d slices"):format(r.copies)
            or "")
end

--- The text of a resolved configuration; `rounded`, as config.rounded gives
-- them, come last, as comments.
function config.format(resolved, title, rounded)
    local out = { ("# heddle %s configuration%s"):format(core.version,
        title and ": " .. title or "") }
    local group
    for _, s in ipairs(resolved) do
        local g = s.name:match("^[^.]*")
        if g ~= group then
            group = g
            out[#out + 1] = ""
        end
        local note = s.unit ~= "" and s.unit .. "; " .. s.source or s.source
        out[#out + 1] = ("%-32s # %s"):format(s.name .. " = " .. s.value, note)
    end
    for i, r in ipairs(rounded or {}) do
        out[#out + 1] = (i == 1 and "\n" or "") .. "# "
            .. config.rounded_text(r)
    end
    return table.concat(out, "\n") .. "\n"
end

local function fail(code, format, ...)
    error(core.error(code, format:format(...)), 0)
end

--- Parses settings text; errors name file and lines.  Returns flat settings.
function config.parse(text, file)
    local flat, line_of, c, n, wrong = {}, {}, core.config(), 0, {}
    local function add(format, ...)
        wrong[#wrong + 1] = ("%s:%d: "):format(file, n) .. format:format(...)
    end
    for line in (text .. "\n"):gmatch("(.-)\r?\n") do
        n = n + 1
        local body, note = line:match("^([^#]*)#?%s*(.-)%s*$")
        if body:find("%S") then
            local name, value = body:match("^%s*([%w_.]+)%s*=%s*(.-)%s*$")
            local err = name and value ~= "" and refused(c, name, value)
            if not name or value == "" then
                add("expected 'name = value', got '%s'",
                    body:match("^%s*(.-)%s*$"))
            elseif line_of[name] then
                add("%s is also set in line %d", name, line_of[name])
            elseif err then
                add("%s", err.message)
            else
                local unit = known()[name].unit
                if unit ~= "" and note:sub(1, #unit + 2) == unit .. "; " then
                    note = note:sub(#unit + 3)
                end
                flat[name] = { value, note ~= "" and note or file }
                line_of[name] = n
            end
        end
    end
    if #wrong > 0 then
        fail(-3, "%s", table.concat(wrong, "\n"))
    end
    return flat
end

--- H.config_write(path, machine or simulation): writes all settings.
function config.config_write(path, what)
    local resolved, title, rounded
    if type(what) ~= "table" or not rawget(what, "settings")
        and not rawget(what, "resolved") then
        fail(-2, "H.config_write: a machine or a simulation is expected, not a "
            .. "%s", type(what))
    elseif rawget(what, "settings") then -- a machine
        local c = config.build(what.settings)
        resolved, title = config.resolve(what.settings, c), what.name
        rounded = config.rounded(c)
    else
        resolved, title = what.resolved, what.machine and what.machine.name
        rounded = what.rounded
    end
    require("heddle.report").emit(config.format(resolved, title
        and core.escape(title), rounded), path)
    return what
end

--- H.config_read(path): a machine with the settings of a file.
function config.config_read(path)
    local f, err = io.open(core.path(path), "r")
    local text = f and f:read("a")
    if not text then
        fail(-5, "%s", err or path .. ": cannot be read")
    end
    f:close()
    return require("heddle.machines").from_settings(path,
        config.parse(text, path))
end

config.config = config

return config
