-- 602-lines.lua - pins: a text that goes into a line of a file, a page or a list
-- (a note, a label, a name) is refused where a user gives it with a control
-- character, a NUL or what is no UTF-8, in words that name the byte and its place;
-- what comes from data is escaped; no path, name, value or error text is cut at a
-- NUL; a checkpoint can be loaded whatever note it was saved with.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local trace = require "heddle.trace"

-- luacheck: globals counter steer

local dir = files.folder()

local function machine(options)
    options.machine, options.progress = "maxwell", false
    options.apps = options.apps or { H.app("GUP", { size = "T" }) }
    return H.sim(options)
end

local sim = machine {}
sim:run(2000)

local results
do
    local s <close> = machine {}
    s:run()
    results = s:results()
end

-- ---- what a user gives -----------------------------------------------------

local LF, NUL = "is a line feed (0x0a)", "is a NUL (0x00)"
local function pass() end

local function policy(fields)
    fields.name = fields.name or "p"
    fields.tlb_fill = fields.tlb_fill or pass
    return function() sim:use(fields) end
end

local function generator(buffer, kernel)
    return function()
        machine { apps = { H.generator { name = "g", source = "this test",
            buffers = { H.kernel.f32(buffer, 4096) },
            kernels = { { name = kernel, grid = 1, block = 32,
                warp = function(t, b) t:load(b[buffer], t.gid) end } } } } }
    end
end

local path = dir .. "/checkpoint"
for _, case in ipairs {
    { "a note", 'note "a\\x0a\\x0ab": byte 2 ' .. LF,
        function() sim:save(path, "a\n\nb") end },
    { "a note that is no UTF-8", 'note "na\\xefve": byte 3 is no UTF-8 (0xef)',
        function() sim:save(path, "na\xefve") end },
    { "a note that ends early", '"a\\x00b": byte 2 ' .. NUL,
        function() sim:save(path, "a\0b") end },
    { "a run's label", 'H.sim: label "a\\x0ab": byte 2 ' .. LF,
        function() machine { label = "a\nb" } end },
    { "an alternative's", 'what_if: label "\\x1b[2J": byte 1 is a control '
        .. "character (0x1b)", function()
            sim:what_if { { label = "\27[2J" }, cycles = 10 }
        end },
    { "an application's", 'GUP: label "x\\x09y": byte 2 is a tab (0x09)',
        function() H.app("GUP", { label = "x\ty" }) end },
    { "an application's name", 'app: name "k\\x0a": byte 2 ' .. LF, function()
        H.kernel.app { name = "k\n", buffers = pass, kernels = pass }
    end },
    { "a kernel's", 'kernel "k\\xc2\\x85": byte 3 is a control character (0x85)',
        function() H.kernel.kernel("k\u{85}", { block = 32 }, pass) end },
    { "a kernel's of a generator", 'kernel "k\\x0d": byte 2 is a carriage return',
        generator("a", "k\r") },
    { "a buffer's", 'workload g: buffer "a\\x0ab": byte 2 ' .. LF,
        generator("a\nb", "k") },
    { "a policy's", 'policy "a\\x7fb": byte 2 is a control character (0x7f)',
        policy { name = "a\127b" } },
    { "a parameter's", 'policy p: parameter "x\\x0ay": byte 2 ' .. LF,
        policy { params = { ["x\ny"] = 5 } } },
    { "a parameter's unit", 'policy p: x: unit "\\x0a": byte 1 ' .. LF,
        policy { params = { x = { default = 1, unit = "\n" } } } },
    { "a counter's unit", 'policy p: counters "a\\x0ab": byte 2 ' .. LF,
        policy { counters = { x = { unit = "a\nb", meaning = "m" } } } },
} do
    tap.raises(case[3], case[2], case[1] .. " is refused")
end

-- ---- paths and names that C would cut ----------------------------------------

for what, f in pairs {
    ["sim:save"] = function(p) sim:save(p) end,
    ["sim:load"] = function(p) sim:load(p) end,
    ["sim:use of a file"] = function(p) sim:use(p .. ".lua") end,
    ["sim:use of a plug-in"] = function(p) sim:use(p .. ".so") end,
    ["sim:use of a name"] = function() sim:use "srrip\0" end,
    ["a place"] = function() sim:use("srrip", { at = "l2tlb\0" }) end,
    ["a setting"] = function()
        machine { settings = { ["l2tlb.mode\0"] = "off" } }
    end,
    ["a value"] = function()
        machine { settings = { ["sim.stop_cycles"] = "200\0" } }
    end,
    ["a timeline"] = function(p) machine { timeline = p } end,
    ["H.trace"] = function(p) H.trace(p) end,
    ["H.plugin"] = function(p) H.plugin(p) end,
    ["H.config_read"] = function(p) H.config_read(p) end,
    ["report.json"] = function(p) H.report.json(results, p) end,
    ["report.read"] = function(p) H.report.read(p) end,
    ["trace.convert"] = function(p) trace.convert(p, path) end,
    ["trace.record"] = function(p)
        trace.record(H.app("GUP", { size = "T" }).make(), p)
    end,
} do
    tap.raises(function() f(dir .. "/x\0y") end, NUL, what .. " with a NUL")
end
tap.ok(not files.read(dir .. "/x"), "nothing was written to what is before it")

-- ---- what comes from data ----------------------------------------------------

local function failure(f)
    local s <close> = machine { policies = { { name = "p", tlb_fill = f } } }
    return tostring(select(2, pcall(s.run, s)))
end

local text = failure(function() error "se\0cret\27[2J\xff\n\tend" end)
tap.ok(text:find("se\\x00cret\\x1b[2J\\xff\n\tend", 1, true),
    "the text of a policy's error is whole, and escaped", text)
text = failure(function() return "bypass\0" end)
tap.ok(text:find("answered bypass\\x00, expected", 1, true),
    "an answer is no word that it only begins with", text)
text = failure(function() return counter "mmu.misses\0" end)
tap.ok(text:find(NUL, 1, true), "nor is the name of a counter", text)
text = failure(function() return steer("tlb_tokens\0", 0, 0, 0) end)
tap.ok(text:find(NUL, 1, true), "nor that of a table", text)
text = failure(function() (nil)("\27") end)
tap.ok(text:find("attempt to call", 1, true), "a plain error is as it was", text)

local traced = dir .. "/k.traceg"
files.write(traced, "-kernel name = k\27[2J\xff\n-kernel id = 1\n"
    .. "-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = 16\n"
    .. "-accelsim tracer version = 4\n#BEGIN_TB\nthread block = 0,0,0\n"
    .. "warp = 0\ninsts = 1\n0050 ffffffff 0 EXIT 0 0 0\n#END_TB\n")
tap.is(trace.kernels(trace.open(traced))[1].name, "k\\x1b[2J\\xff",
    "a kernel's name in a trace is escaped")
do
    local s <close> = machine { apps = { H.trace(traced) } }
    s:run()
    tap.is(s:results().kernels[1].name, "k\\x1b[2J\\xff", "in results, too")
end
local odd = dir .. "/a\nb.traceg"
files.write(odd, files.read(traced))
do
    local s <close> = machine { apps = { H.trace(odd) } }
    tap.ok(tostring(s):find("a\\x0ab", 1, true),
        "and so is a label that is a file's name", tostring(s))
    s:run()
end
tap.is(H.report.table { { "a\nb", "c" }, { "\27", 1 } },
    "a\\x0ab  c\n\\x1b    1\n", "cells of a table stand in its lines")
text = files.output(files.HEDDLE .. " run '" .. dir .. "/no\27file'")
tap.ok(text:find("no\\x1bfile", 1, true), "the command's message is escaped",
    text)

-- ---- checkpoints -------------------------------------------------------------

for _, note in ipairs { "", "plain", ("gr\u{fc}\u{df}e "):rep(500), "\\x0a" } do
    sim:save(path, note)
    tap.ok(files.read(path):find("\nnote " .. note .. "\n\n", 1, true)
        and pcall(sim.load, sim, path),
        ("a checkpoint with a note of %d bytes is loaded"):format(#note))
end
sim:close()

os.execute("rm -r " .. dir)
return tap.done()
