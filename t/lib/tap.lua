--- tap.lua - the Test Anything Protocol for Lua tests.
--
--     local tap = require "lib.tap"
--     tap.ok(condition, "what holds")
--     tap.is(got, expected, "what is equal")
--     tap.raises(function() ... end, "part of the message", "what raises")
--     tap.done()
--
-- SPDX-License-Identifier: MIT
local tap = { n = 0, failed = 0 }

-- What a command says at its end of kernels that were cut and the like is for
-- people; t/743 and t/701 pin it by commands of their own.
require("heddle.script").warn = function() end

-- The C library's names are in /tmp whatever TMPDIR says, where t/run looks for
-- what a test has left.
local tmpname = os.tmpname
function os.tmpname() -- luacheck: ignore 122
    local given = tmpname()
    local path = (os.getenv "TMPDIR" or "/tmp") .. given:match "/[^/]*$"
    os.remove(given)
    assert(io.open(path, "w")):close()
    return path
end

function tap.ok(condition, name, note)
    tap.n = tap.n + 1
    if not condition then
        tap.failed = tap.failed + 1
    end
    print(("%s %d - %s"):format(condition and "ok" or "not ok", tap.n, name))
    if not condition then
        local info = debug.getinfo(2, "Sl")
        if info.short_src:find("tap%.lua$") then
            info = debug.getinfo(3, "Sl")
        end
        print(("# failed at %s:%d"):format(info.short_src, info.currentline))
        if note then
            print("# " .. tostring(note):gsub("\n", "\n# "))
        end
    end
    return condition
end

local function show(v)
    return type(v) == "string" and ("%q"):format(v) or tostring(v)
end

function tap.is(got, expected, name)
    return tap.ok(got == expected and math.type(got) == math.type(expected),
        name, ("got      %s\nexpected %s"):format(show(got), show(expected)))
end

--- Deep equality of plain data; the path of the first difference, or nil.
function tap.differ(a, b, path)
    path = path or "value"
    if type(a) ~= "table" or type(b) ~= "table" then
        if a ~= b and not (a ~= a and b ~= b) then
            return ("%s: %s and %s"):format(path, show(a), show(b))
        end
        return nil
    end
    for k, v in pairs(a) do
        local d = tap.differ(v, b[k], path .. "." .. tostring(k))
        if d then
            return d
        end
    end
    for k in pairs(b) do
        if a[k] == nil then
            return path .. "." .. tostring(k) .. ": only in the second"
        end
    end
end

function tap.same(got, expected, name)
    local d = tap.differ(got, expected)
    return tap.ok(d == nil, name, d)
end

function tap.raises(fn, part, name)
    local ok, err = pcall(fn)
    local text = type(err) == "table" and err.usage or tostring(err)
    return tap.ok(not ok and text:find(part, 1, true), name,
        ok and "nothing was raised" or text)
end

function tap.skip(name, why)
    tap.n = tap.n + 1
    print(("ok %d - %s # SKIP %s"):format(tap.n, name, why))
end

--- Prints the plan; the exit status of a script that returns it.
function tap.done()
    print("1.." .. tap.n)
    return tap.failed > 0 and 1 or 0
end

return tap
