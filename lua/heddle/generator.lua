--[==[
generator.lua - applications whose warps are coroutines.

A kernel program (kernel.lua) is written down once and runs in C.  A generator
is quicker to write, and slower to run: the function of a warp runs as Lua, and
each call on `t` is one instruction of that warp.  There are no values, only
addresses: what matters to the memory system, and nothing else.

    local H = require "heddle"
    local f32 = H.kernel.f32

    local G = H.generator {
      name = "gather", source = "example",
      params = { n = 1 << 20, rounds = 16 },
      buffers = function(p) return {
        f32("table", p.n), f32("out", p.n) } end,
      kernels = function(p, b) return {
        { name = "gather", grid = p.n // 256, block = 256,
          warp = function(t)
            for _ = 1, p.rounds do
              local x = t:load(b.table, function()
                return math.random(0, p.n - 1)
              end)
              t:alu(2, { uses = { x } })
            end
            t:store(b.out, t.gid)
          end } } end,
    }
    local sim = H.sim { apps = { G } }

H.generator { ... } takes the fields of app { ... } of heddle.kernel: name,
source, note, params, sizes, align, buffers and kernels; the last two may be
lists instead of functions.  Buffers have addresses only.  Besides:
  instructions   of Lua that a warp may use for one of its own (10 million)
  memory         bytes that all coroutines together may use (512 MB)
The parameter `seed` (1 unless it is given) is that of math.random.

KERNELS    { name =, grid =, block =, regs =, shared =, args = { name = value },
             warp = function(t, b, p) ... end }, or launches of such tables:
           { kernel, grid =, args =, free = { buffers } }.  The function is
           called once for each warp of each block; b are the buffers by name,
           p the parameters.

THE WARP   t.gid       global linear index of its first lane: lane l is the
                       thread t.gid + l
           t.tid       the same in the block
           t.block  t.bx by bz  t.nx ny nz    block, and size of the grid
           t.warp t.lanes t.launch            warp in the block, lanes of a
                       warp (32 or 64), number of the launch
           t.live      mask of the lanes that have a thread
           t:first(n)  mask of those among the first n lanes
           t:arg(name) an argument of the launch

INSTRUCTIONS
  t:load(buffer, index [, options])     returns a token, see `uses`
  t:store(buffer, index [, options])
  t:atomic(buffer, index [, options])   returns a token
  t:alu(n [, options])                  n instructions without an access; waits
                for all loads of the warp that are under way, or only for `uses`
  t:shared(n [, options])               the same, of shared memory
  t:sync([options])                     barrier of the block
  The end of the function is the warp's exit, as in a kernel program.  A loop
  is as one that was unrolled: a load does not wait for that of the round before
  (in a kernel program it does: it fills the same register), but for the 32nd
  before it.
  index is of an element, from 0: a number (lane l accesses index + l * step), a
  list of one for each lane, from [1] on, or a function(lane) that returns it;
  a lane whose index is nil or false is not active.  Options:
    uses = { token, ... }   waits for these loads before it issues
    mask = bits             active lanes; without any there is no instruction,
                            and the token is 0, which waits for nothing
    step = 1                elements from lane to lane
    vec = 1                 elements that a lane accesses; bytes = n says it in
                            bytes: 1, 2, 4, 8 or 16
    returns = false         of an atomic: nothing waits for the old value
    pc = n                  for traces, and policies that tell instructions
                            apart; else the line of the script
  An index outside of its buffer stops the run, and so does an error.
  Instructions that the function of an index gives come before its own.

WHAT IT MAY DO   What a warp does depends on its place, the parameters and
           math.random, which has a stream for each warp.  It has the globals
           of policies (heddle_policy(7), THE LANGUAGE): no os, io, require,
           coroutine; pairs in order.  What it needs of the script it has in
           locals, and must not change them: the order of warps is the
           machine's.  A warp runs when its block starts, and continues when the
           instructions that it gave have been taken; a snapshot keeps those
           of its warps that are to come.

SPDX-License-Identifier: MIT
]==]
local core = require "heddle.core"
local kernel = require "heddle.kernel"
local launch = require "heddle.kernel.launch"
local pure = require "heddle.kernel.pure"
local plain = require "heddle.plain"
local work = require "heddle.work"

local known_names = launch.known
local unpack = table.unpack

local M = {}

local function fail(text, ...)
    error(core.error(-10, text:format(...)), 0)
end

-- ---- what defines it ----------------------------------------------------------

local print_value

local function sorted_keys(t)
    local numbers, names = {}, {}
    for key in next, t do
        local list = type(key) == "number" and numbers or names
        list[#list + 1] = key
    end
    table.sort(numbers)
    table.sort(names, function(x, y) return tostring(x) < tostring(y) end)
    return table.move(names, 1, #names, #numbers + 1, numbers)
end

local function print_table(t, out, seen)
    out[#out + 1] = "{"
    for _, key in ipairs(sorted_keys(t)) do
        print_value(key, out, seen)
        print_value(rawget(t, key), out, seen)
    end
    local class = debug.getmetatable(t)
    if class then print_value(class, out, seen) end
    out[#out + 1] = "}"
end

--- A function: its code, where it stands (lines are in its instructions), and
-- what it holds in locals.
local function print_function(f, out, seen)
    local info = debug.getinfo(f, "S")
    if info.what == "C" then
        out[#out + 1] = "C"
        return
    end
    out[#out + 1] = "f" .. info.linedefined .. string.dump(f, true)
    local i, name, value = 1, debug.getupvalue(f, 1)
    while name do
        if name ~= "_ENV" then print_value(value, out, seen) end
        i = i + 1
        name, value = debug.getupvalue(f, i)
    end
end

--- Data of a generator (heddle.generate): all elements.
local function print_data(d, out)
    for i = 0, #d - 1 do out[#out + 1] = tostring(d[i]) end
end

print_value = function(v, out, seen)
    local kind = type(v)
    if kind == "number" or kind == "string" or kind == "boolean" then
        out[#out + 1] = ("%q "):format(v)
    elseif seen[v] then
        out[#out + 1] = "@" .. seen[v] .. " "
    elseif kind == "table" or kind == "function" then
        seen.n = seen.n + 1
        seen[v] = seen.n
        local print_it = kind == "table" and print_table or print_function
        print_it(v, out, seen)
    elseif kind == "userdata" and (getmetatable(v) or {}).__len then
        print_data(v, out)
    else
        out[#out + 1] = kind
    end
end

local function text_of(...)
    local out, seen = {}, { n = 0 }
    for i = 1, select("#", ...) do
        print_value((select(i, ...)), out, seen)
    end
    return table.concat(out)
end

-- ---- kernels and launches -------------------------------------------------------

local KERNEL_FIELDS = { name = true, grid = true, block = true, regs = true,
    shared = true, args = true, warp = true }

--- The kernel of heddle.kernel's form that a table with `warp` stands for.
local function kernel_from(def, known)
    if known[def] then return known[def] end
    known_names(("kernel %s: no field"):format(tostring(def.name)), def,
        KERNEL_FIELDS)
    if type(def.name) ~= "string" or type(def.warp) ~= "function" then
        fail("a kernel is { name =, grid =, block =, warp = function(t) ... "
            .. "end }")
    end
    known[def] = kernel.kernel(def.name, { grid = def.grid, block = def.block,
        regs = def.regs, shared = def.shared, args = def.args }, def.warp)
    return known[def]
end

--- The list in heddle.kernel's form.
local function kernels_from(list)
    local out, known = {}, {}
    if type(list) ~= "table" or #list == 0 then
        fail("a generator needs a list of kernels")
    end
    for i, entry in ipairs(list) do
        local def = type(entry) == "table" and (entry.warp and entry
            or entry[1])
        if type(def) ~= "table" then
            fail("kernel %d: expected { name =, grid =, block =, warp = } or "
                .. "a launch of one, got %s", i, tostring(entry))
        end
        out[i] = kernel_from(def, known)
        if def ~= entry then
            out[i] = table.move({ out[i] }, 1, 1, 1, {})
            for key, value in next, entry do
                if key ~= 1 then out[i][key] = value end
            end
        end
    end
    return out
end

--- Arguments of a launch: the kernel's own, and those given over them.
local function args_of(entry, k)
    local args = {}
    for name, value in next, k.args do args[name] = value end
    local given = entry.fn == nil and entry.args or {}
    if type(given) ~= "table" then
        fail("launch of %s: args: expected { name = value }, got %s", k.name,
            tostring(given))
    end
    known_names(("launch of %s: it has no argument"):format(k.name), given,
        args)
    for name, value in next, given do args[name] = value end
    return args
end

--- A launch for heddle.work: blocks nx ny nz of threads tx ty tz.
local function launch_of(inst, entry)
    local k = launch.kernel_of(inst, entry)
    if entry.fn == nil then launch.check_fields(entry, k) end
    local grid = entry.fn == nil and entry.grid or k.grid
    local nx, ny, nz = unpack(launch.triple(grid,
        "launch of " .. k.name .. ": grid"))
    local tx, ty, tz = unpack(k.block)
    return { name = k.name, regs = k.regs, shared = k.shared, fn = k.fn,
        nx = nx, ny = ny, nz = nz, tx = tx, ty = ty, tz = tz,
        args = args_of(entry, k) }
end

--- Buffers for heddle.work, with the launch after which each is free; and the
-- numbers of the tables that stand for them, from 0.
local function buffers_of(inst)
    local out, numbers = {}, {}
    for i, b in ipairs(inst.buffers) do
        if b.contents or b.scratch then
            fail("generator %s: buffer %s has contents; a generator's buffers "
                .. "have addresses only", inst.name, b.name)
        elseif b.advise then
            fail("generator %s: buffer %s has advice; the buffers of a program "
                .. "(heddle.kernel) have some", inst.name, b.name)
        end
        out[i] = { name = b.name, bytes = b.count * b.width, width = b.width,
            align = b.align, freed = 0 }
        numbers[b] = i - 1
        if b.original then numbers[b.original] = i - 1 end
    end
    for i, entry in ipairs(inst.launches) do
        local free = entry.fn == nil and entry.free or {}
        if type(free) ~= "table" then
            fail("generator %s: launch %d: free: expected a list of buffers, "
                .. "got %s", inst.name, i, tostring(free))
        end
        for _, b in ipairs(free) do
            local own = type(b) == "table" and inst.b[b.name]
            if not own or own ~= b and own.original ~= b then
                fail("generator %s: launch %d frees what is not a buffer",
                    inst.name, i)
            end
            out[own.index].freed = i
        end
    end
    return out, numbers
end

--- What a warp's function is called with, and that function: begin of
-- heddle.work.  Its locals are listed by name where a warp changes them.
local function begin_of(buffers, parameters, launches)
    return function(number, block, warp, lanes, live)
        local l = launches[number]
        local nx, ny, first = l.nx, l.ny, warp * lanes
        return l.fn, { launch = number, block = block, bx = block % nx,
            by = block // nx % ny, bz = block // nx // ny, nx = nx, ny = ny,
            nz = l.nz, warp = warp, lanes = lanes, tid = first,
            gid = block * l.tx * l.ty * l.tz + first, live = live,
            args = l.args }, buffers, parameters
    end
end

-- ---- generators ------------------------------------------------------------------

local Generator = setmetatable({ kind = "generator" }, { __index = kernel._App })
Generator.__index = Generator

--- The workload, and the blocks of its launches.
function Generator:workload(o)
    local inst = self:instance(o)
    local _ <close> = pure.open()
    local buffers, numbers = buffers_of(inst)
    local spec = { name = inst.name, seed = inst.params.seed,
        buffers = buffers, numbers = numbers, launches = {},
        instructions = self.instructions or 10000000,
        memory = self.memory or 512 << 20 }
    if math.type(spec.seed) ~= "integer" then
        fail("generator %s: parameter seed: expected a whole number, got %s",
            inst.name, tostring(spec.seed))
    end
    local extent = {}
    for i, entry in ipairs(inst.launches) do
        local l = launch_of(inst, entry)
        spec.launches[i] = l
        extent[i] = l.nx * l.ny * l.nz
    end
    spec.begin = begin_of(inst.b, inst.params, spec.launches)
    spec.text = text_of(buffers, spec.launches, inst.params,
        plain.write(inst.params, "params", { fail = fail })):gsub("\0", "\\0")
    local made, w = pcall(work.generator, spec)
    if not made and type(w) == "string" and w ~= core.no_memory then
        fail("generator %s: %s", inst.name,
            (w:gsub("^heddle/generator%.lua:%d+: ", "")))
    elseif not made then
        error(w, 0)
    end
    return w, extent
end

local FIELDS = {}
for name in ([[name suite source summary note params sizes buffers align
kernels footprint instructions memory]]):gmatch("%S+") do
    FIELDS[name] = true
end

--- A list of buffers as a function: each instance has tables of its own, since
-- two generators may share a list.
local function copies(list)
    return function()
        local out = {}
        for i, b in next, list do
            out[i] = b
            if type(b) == "table" then
                out[i] = { original = b }
                for key, value in next, b do out[i][key] = value end
            end
        end
        return out
    end
end

--- A function, or one that returns the value.
local function as_function(v)
    if type(v) == "function" then return v end
    return function() return v end
end

--- H.generator { name =, params =, buffers =, kernels = }: an application whose
-- warps are coroutines, for `apps` of H.sim and for H.program.  A kernel is
--     { name =, grid =, block =, warp = function(t, b, p) ... end }
-- and in the function t:load(buffer, index), t:store, t:atomic, t:alu(n) and
-- t:sync() are the instructions of the warp.  heddle_kernel(7) says the rest.
function M.generator(a)
    if type(a) ~= "table" then
        fail("H.generator takes a table: { name =, buffers =, kernels = }")
    end
    known_names("generator: no field", a, FIELDS)
    for _, key in ipairs { "name", "buffers", "kernels" } do
        if a[key] == nil then fail("generator: '%s' is missing", key) end
    end
    kernel._check_app(a, "generator")
    for _, key in ipairs { "instructions", "memory" } do
        if a[key] ~= nil and not (math.type(a[key]) == "integer"
            and a[key] > 0) then
            fail("generator %s: %s: expected a whole number above 0, got %s",
                a.name, key, tostring(a[key]))
        end
    end
    local g, params = {}, { seed = 1 }
    for key, value in next, a do g[key] = value end
    for key, value in next, a.params or {} do
        if type(value) == "function" or type(value) == "userdata" then
            fail("generator %s: parameter %s: expected a number, a text, a "
                .. "boolean or a table of them, got a %s", a.name,
                tostring(key), type(value))
        end
        params[key] = value
    end
    local buffers = type(a.buffers) == "table" and copies(a.buffers)
        or as_function(a.buffers)
    local kernels = as_function(a.kernels)
    g.params = params
    g.buffers = buffers
    g.kernels = function(p, b) return kernels_from(kernels(p, b)) end
    return setmetatable(g, Generator)
end

return M
