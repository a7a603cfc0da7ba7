--[[
418-kernel-lines.lua - errors that the engine finds in a kernel name the statement
that the kernel function has.

Pinned: an index outside its buffer of each instruction that has one, also in a
helper of another file, in a loop and where threads are regrouped; a loop that issues
nothing; constructs that nest too deeply; a buffer of another application; and that
lines are no part of a program, whose hash stays where its text moves.

SPDX-License-Identifier: MIT
]]
local files = require "lib.files"
local tap = require "lib.tap"
local H = require "heddle"

local k = H.kernel
local FILE = "t/418-kernel-lines.lua"

local function application(fn)
    return k.app { name = "lines", buffers = function()
        return { k.i32("x", 64, { contents = true }), k.f32("bare", 64),
            k.i32("s", 64, { scratch = true }) }
    end, kernels = function(_, b)
        return { k.kernel("k", { grid = 2, block = 64 }, function(t)
            fn(t, b)
        end) }
    end }
end

local function simulation(fn, settings)
    return H.sim { machine = "maxwell", progress = false,
        apps = { H.program(application(fn)) }, settings = settings }
end

--- The line that calls this.
local function here() return debug.getinfo(2, "l").currentline end

local function outside(op, fn, line, settings, words)
    tap.raises(function() simulation(fn, settings):run() end,
        ("(%s, %s:%d): %s"):format(op, FILE, line,
            words or "index 64 of buffer"), op .. " of line " .. line)
end

local at
outside("LOAD", function(t, b)
    t:alu(1)
    at = here() t:load(b.x, t.tid + 1)
end, at or here() - 1)
outside("STORE", function(t, b)
    t:store(b.bare, t.tid + 1)
end, here() - 1)
outside("ATOM", function(t, b)
    t:alu(1)

    t:atomic("add", b.x, t.tid + 1)
end, here() - 1)
outside("PEEK", function(t, b)
    t:store(b.x, t.tid, t:peek(b.s, t.tid + 1))
end, here() - 1)
outside("POKE", function(t, b)
    t:poke(b.s, t.tid + 1, 1)
end, here() - 1)
outside("MIX", function(t, b)
    t:atomic("max", b.s, t.tid + 1, 3)
end, here() - 1)
for _, compact in ipairs { false, true } do
    outside("LOAD", function(t, b)
        t:loop(t.tid % 3 + 1, function(i)
            t:when((t.tid + i):gt(5), function()
                t:load(b.x, t.tid + i)
            end)
            t:alu(1)
        end)
    end, here() - 4, { ["core.compact"] = compact })
end

-- A helper that the kernel function calls, in a file of its own.
do
    local dir = files.folder()
    local path = dir .. "/h.lua"
    files.write(path, "return function(t, b)\n\n    t:load(b.x, t.gid)\nend\n")
    local helper = dofile(path)
    tap.raises(function() simulation(helper):run() end, "h.lua:3): index 64",
        "the line of a helper")
    os.execute("rm -rf " .. files.quote(dir))
end

-- ---- without an index ------------------------------------------------------------

do
    local line = here() + 4
    tap.raises(function()
        simulation(function(t)
            local v = t:var(t.tid)
            t:while_(function() return v:ge(0) end, function()
                v:set(v:band(63))
            end)
        end):run()
    end, ("kernel k, %s:%d: more than"):format(FILE, line),
        "a loop without an instruction")
end

local function nested(t, b, n)
    if n == 0 then
        t:load(b.x, t.tid)
        return
    end
    t:when(t.tid:gt(n), function() nested(t, b, n - 1) end)
end
tap.raises(function()
    application(function(t, b) nested(t, b, 40) end):workload()
end, ("(IF, %s:%d): constructs nest too deeply"):format(FILE, here() - 4),
    "constructs nest too deeply")

local other = k.i32("strange", 8)
tap.raises(function()
    application(function(t)
        t:alu(1)
        t:load(other, 0)
    end):workload()
end, ("kernel k: %s:%d: buffer strange does not belong"):format(FILE,
    here() - 3), "a buffer of another application")

-- ---- a program is what it does -----------------------------------------------------

local function hash(text)
    local make = load(text, "@moved.lua")
    local sim = H.sim { machine = "maxwell", progress = false,
        apps = { H.program(application(make())) } }
    return sim:state_hash()
end
tap.is(hash "\n\n\nreturn function(t, b) t:load(b.x, t.tid) end",
    hash "return function(t, b) t:load(b.x, t.tid) end", "lines are no part of it")

tap.done()
