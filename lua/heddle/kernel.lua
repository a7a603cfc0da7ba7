--[==[
kernel.lua - kernel programs: applications written as Lua expressions.

An application describes its buffers and its kernels.  A kernel function runs
ONCE, when the program is built: the values it handles are expressions over
the index of the thread, and what it calls on `t` is written down as bytecode,
which the C engine then runs for all lanes of a warp at once.

    local k = require "heddle.kernel"
    local app, kernel, f32 = k.app, k.kernel, k.f32

    return app {
      name = "vecadd", source = "example",
      params = { n = 1 << 20, alu = 4 },
      sizes = { T = { n = 4096 }, L = { n = 1 << 24 } },
      buffers = function(p) return {
        f32("a", p.n), f32("b", p.n), f32("c", p.n) } end,
      kernels = function(p, b) return {
        kernel("add", { grid = k.ceil(p.n, 256), block = 256 }, function(t)
          local i = t.gid
          t:alu(p.alu)
          t:when(i:lt(p.n), function()
            local x, y = t:load(b.a, i), t:load(b.b, i)
            t:alu(1, { uses = { x, y } })
            t:store(b.c, i, x + y)
          end)
        end) } end,
    }

APPLICATION    app { ... } returns an application.  Fields:
  name, source, note    texts
  registers             where the numbers of registers come from, a text
  params                table of defaults; unknown parameters are errors, and
                        so is what is no number where the default is one.
                        check(condition, words) refuses others that do not
                        fit, choice(p, name, word, ...) all but some words,
                        most(p, { name = limit }) what is larger
  sizes                 { T = {...}, S = {...}, M = {...}, L = {...} },
                        perhaps XL: parameters that differ; the default size
                        is "S"
  buffers(p)            an ORDERED list of buffers, allocated in this order,
                        each at a multiple of `align` bytes
  align                 default 256
  lanes                 32 or 64, as of a kernel
  kernels(p, b)         a list of kernels, or of launches
                        { kernel, grid = , args = { name = value },
                          free = { buffers given back when it has ended },
                          prefetch = { buffers sent to the GPU before it },
                          prefetch_host = { ... to the host },
                          host_reads = { buffers that the host reads before },
                          host_writes = { ... writes } }; a part of a buffer
                        is { buffer, offset =, bytes = } there;
                        beside = function(h) ... end: see HOST;
                        b.NAME is the buffer NAME
  host(h, s)            optional: see HOST.  Without it the list is launched
                        once from front to back.
  streams, events       lists of names, or a number for "1", "2", ...: see
                        STREAMS; those that a list of launches names need not
                        be here
  A:instance(o)   the application for o = "T" or { size = "T", n = 5, ... },
                  or with align = 2 << 20, say, instead of its own:
                  { app, name, size, params, buffers (list), b, kernels (each
                    distinct kernel once), launches (the list), host }.
                  A kernel is { name, grid = {x,y,z}, block = {x,y,z}, regs,
                  shared, args, fn }; a buffer { name, type, width, count,
                  dims, contents, data, align, index (1..) }.
  A:workload(o)   the same, compiled: a workload for a simulation
  A:parameters(o) only { name = value, ... }, and the size

BUFFERS    u8 u16 i32 u32 i64 f32 f64 (name, n1 [, n2 ...] [, options]);
           n1 * n2 * ... elements, indexed from 0 by ONE index (row-major
           arithmetic is yours).  Options:
  contents = true   real values are kept: loads read them, stores write them.
                    Otherwise loads give 0 and stores are dropped.
  data              the values at the start (implies contents): a function(i)
                    (i from 0), a list, a number (fill), a string of raw
                    little-endian elements, or data from a generator (i32 also
                    for an i64 buffer).
                    What it does not cover is 0.
  scratch = true    values without addresses, for what blocks hold in shared
                    memory: only t:peek, t:poke, t:atomic and the host reach
                    it.  It is no part of the device's memory; scratch buffers come last.
  advise = { read_mostly = true, preferred = "gpu" or "host",
             accessed_by = true }   as h.advise says it before the first launch
  texture = true    loads from it are texture fetches, which some machines do
                    not translate (core.translate_textures)

KERNELS    kernel(name, options, function(t) ... end).  Options: grid and
           block (a number or {x, y, z}), regs (a thread, default 32, a
           guess), shared (bytes a block, default 0), args = { name = default },
           lanes (32 or 64: it is written for warps of so many, t.lanes is that
           number, and a machine with others refuses the application, which
           may say so itself).

VALUES     are int (64 bits, wraps), f32, f64 and bool.  A thread index is
           int; a load gives int for u8 u16 i32 u32 i64 buffers (u8, u16 and
           u32 are zero-extended), else f32 or f64.  An operation is computed where
           it is written.  Plain Lua numbers are constants and are folded.
           int with f32 gives f32, anything with f64 gives f64; a constant
           takes the type of the other side, and int with a constant that is
           not an integer gives f64.
  t.gid         global linear index: t.block * threads + t.tid
  t.gx gy gz    global index in each dimension: t.bx * Bx + t.tx, ...
  t.tid         linear index in the block: tx + Bx * (ty + By * tz)
  t.tx ty tz  t.bx by bz  t.block  t.nx ny nz
                thread and block index; linear block index; size of the grid
  t.lane t.warp t.lanes
                lane in the warp, warp in the block, lanes of a warp
  t:arg(name [, type])   a parameter of the kernel, set by the launch (type
                "int", "f32" or "f64"; default "int")
  + - * unary -    all numbers
  /             f32 and f64 (int operands: an error, use //)
  // %          int; rounds toward minus infinity as in Lua; by 0 gives 0
  :lt :le :gt :ge :eq :ne     give bool
  :band :bor :bxor            int, or bool with bool
  :bnot                       int, or bool
  :shl :shr :lshr  int; shift counts are taken modulo 64; shr keeps the sign
  :min :max     numbers: (a < b) and a or b; (a > b) and a or b
  :sqrt         f32, f64
  :f32 :f64 :int   conversions (int: toward zero; bool gives 0 or 1; out of
                   range or NaN gives 0)
  t:select(c, a, b)   a where c holds, else b.  Both are computed.
  t:const(v [, type])  a constant as a value
  t:var(init)   a mutable register with the value and type of init; v:set(e);
                v itself is an expression.  `local x = v` is another name for
                the same register; `v:get()` copies its value of now.
  t:var(init, { pending = true })   one that carries a load in flight: what
                reads it waits for the load that it was set to last, not for
                all that it is set to anywhere, so a load can be issued an
                iteration before it is used; v:set(w) of another such variable
                hands a load on
  A value made inside t:when, t:loop or t:while_ may not be used outside it
  (an error): carry it out with t:var.

INSTRUCTIONS   only these cost issue slots; arithmetic, comparisons and control
               flow are free, their price is whatever t:alu says.
  t:load(buf, index [, {vec = 2, 4, 8 or 16}])   1; gives the value.  vec: a
                lane reads that many elements (at most 16 bytes) from index
                on; the value is the first.  l1 = false: past the L1 cache
  t:store(buf, index [, value [, {vec = }]])     1
  t:atomic(op, buf, index [, value [, compare]]) 1; gives the old value; op is
                add min max and or xor exch cas (cas writes value where the
                old one equals compare); default value 1; for cas both are
                needed.  f32 and f64 buffers: add, min, max, exch.  Lanes act
                in ascending order.  On a scratch buffer it is one instruction
                of shared memory, as t:shared(1)
  t:peek(buf, index [, {uses = {v, ...}}])       0; an element of a buffer with
                contents that the thread has without an access: in shared or
                constant memory, or by a wider load.  It is waited for as the
                values in uses are.
  t:poke(buf, index, value)                      0; sets such an element.
                Other warps of the block see it behind the next t:sync; the
                price of both is what t:shared says.
  t:copy(buf, index [, {vec = , to = , at = , l1 = }])   1; copies 4, 8 or 16
                bytes a lane to shared memory, as PTX's cp.async does, and
                waits for nothing.  to = a scratch buffer of the type, at = an
                index: the values go there, too (at once)
  t:copy_bulk(buf, index, bytes [, {to = , at = , l1 = }])   1; each lane that
                comes here copies that many bytes, a multiple of 16, from a
                multiple of 16 on (cp.async.bulk): one lane is what is meant
  t:copy_commit()                                0; the warp's copies since the
                last one are a group
  t:copy_wait([n])                               0; what follows waits for all
                groups but the newest n (0 to 7; 0); for other warps' copies
                put a t:sync behind it
  t:alu(n [, {uses = {v, ...}}])                 n; waits for all outstanding
                loads of the warp, or only for those that the values in uses
                come from (uses = {}: for none).  For core.classes: class =
                "int" (as if none is given), "fp32", "fp64", "sfu", "tensor",
                "memory", "control" or "unknown"; dependent = true: each waits
                for the result of the instruction before it
  t:shared(n [, {uses = , dependent = }])        n shared-memory accesses;
                waits like t:alu
  t:shared(v [, {uses = , dependent = , bytes = 4}])  1; the lanes' addresses,
                bytes of the block's, give bank conflicts with core.classes;
                waits for what v and uses come from
  t:sync()                                       1; barrier of the block: of its
                warps that have not ended, wherever each of them is
  end of the kernel                              1
  A load does not wait.  Its value, and everything computed from it, is waited
  for at the first use in an index, a stored or atomic value, a condition, a
  loop bound, or a t:alu.  An index outside the buffer stops the run.

CONTROL FLOW
  t:when(c, fn [, else_fn])   lanes with c run fn, the others else_fn
  t:loop(n, fn)               fn(i) for i = 0 .. n - 1
  t:loop(from, to [, step], fn)   for i = from, from + step, ... while i < to
                (i > to where step is a negative constant); bounds may differ
                between lanes; they are taken once, before the first round
  t:while_(cond, body)        while cond() holds for a lane; cond is evaluated
                before each round, may load, and its loads cost
  t:exit_if(c)                lanes with c are done (no instruction)
  All of it is structured: lanes meet again at the end of each construct.
  c may be a plain Lua boolean.

HOST    host(h, s) is called before the first launch and after each kernel; it
        returns a kernel, its name, a launch { kernel, grid = , args = }, or
        nil at the end of the application.
  s             plain data (numbers, strings, booleans, tables of them), yours;
                empty at the start; part of snapshots
  h.read(buf, i)  h.write(buf, i, v)  h.fill(buf, v)   buffers with contents
  h.b h.kernels h.p     buffers; kernels by number and by name; parameters
  h.free(buf)   gives a buffer's memory back; no later kernel may use it
  h.allocate(buf)   takes it again, at the same address
  h.advise(buf, { read_mostly = true, preferred = "gpu" or "host",
             accessed_by = true } [, offset, bytes])
                what the driver may know of a buffer from now on
  h.advise(buf, "set_read_mostly" [, offset, bytes])
                one piece of it, set or taken back: unset_read_mostly,
                set_preferred_gpu, set_preferred_host, unset_preferred,
                set_accessed_by, unset_accessed_by
  h.prefetch(buf [, "gpu" or "host" [, offset, bytes]])   sends it there
  h.touch(buf, "read" or "write" [, offset, bytes])   the host does so to it
                offset, bytes: of all pages that have one of these bytes;
                without them of the whole buffer
  h.wait(ns)    the host is busy for so long before the launch that it returns
                (a launch of a list: host_wait = ns)
  h.launched    number of launches so far
  Where pages come when they are touched (vm.paging=fault), the last three take
  effect before the launch that host returns, which waits for them: advice
  first, the others in their order.  h.read and its like say no touch.
  host must not keep state anywhere else.
  A launch { kernel, beside = function(h) ... end } is one next to which the
  host has calls: those of memory above, one when the one before is over, and
  h.wait(ns)    is busy for so long
  h.free(buf)   waits for the kernel, and with it what is said after it
  h.free_async(buf)   does not; an error if the kernel uses it, as h.allocate
  The next launch begins when the kernel and all of these are over.

STREAMS  A launch { kernel, stream = "a" } is in a stream of its application: the
  launches of one stream run in order, those of different streams may overlap.
  Blocks go out in the order in which launches start, those of a later one as
  soon as all of the earlier ones are out and room is left.  A launch without
  stream is in the default one: it waits for all launches before it, and all
  others for it.  Up to 32 streams, named by a text or a number.
  record = "e"    or a list: events that the launch records when it has retired
  wait = "e"      or a list: it starts when the launches that recorded these last
                  have retired; an error if no launch before it records one
  sync = true     its host continues when that and all launches before it have
                  retired, as behind a launch of the default stream
  Behind a launch of another stream host is called at once (at most 64 launches
  are in flight): it sees buffers as the kernels have left them by then.  What
  it does to memory before a launch is done before that is enqueued; beside is
  for launches of the default stream, and memory is freed and allocated while
  none is in flight.

LANGUAGE   Application code (buffers, kernels, data, host) gives the same in
           every run: its pairs and next walk numbers, then strings, in order;
           math.random, os and weak tables raise; tostring shows no addresses
           (kernel/pure.lua).

SPDX-License-Identifier: MIT
]==]

local core = require "heddle.core"
local compile = require "heddle.kernel.compile"
local launch = require "heddle.kernel.launch"
local streams = require "heddle.kernel.streams"
local pure = require "heddle.kernel.pure"

local fail, triple, kernel_of = launch.fail, launch.triple, launch.kernel_of
local known_names = launch.known

-- Not what application code has under this name (pure.lua).
local next = next

local M = {}

--- A size or a parameter that an application does not have.
local function misuse(text, ...)
    error(core.error(-2, text:format(...)))
end

--- check(condition, words): refuses parameters that do not fit.
function M.check(condition, words)
    if not condition then misuse("%s", words) end
end

--- choice(p, name, ...): the parameter, one of the words that follow.
function M.choice(p, name, ...)
    local words = { ... }
    for _, word in ipairs(words) do
        if p[name] == word then return word end
    end
    misuse("parameter %s: expected %s, not '%s'", name,
        table.concat(words, ", "), tostring(p[name]))
end

--- most(p, limits): none of the parameters named in limits is larger than there.
function M.most(p, limits)
    local names = {}
    for name in next, limits do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do
        if p[name] > limits[name] then
            misuse("parameter %s: up to %d is possible, not %s", name, limits[name],
                tostring(p[name]))
        end
    end
end

--- ceil(a, b): a / b rounded up.
function M.ceil(a, b) return (a + b - 1) // b end

-- ---- buffers --------------------------------------------------------------

local WIDTH = { u8 = 1, u16 = 2, i32 = 4, u32 = 4, i64 = 8, f32 = 4, f64 = 8 }
local BUFFER_OPTIONS = { contents = true, data = true, scratch = true,
    texture = true, advise = true }

local function buffer(kind, name, ...)
    local n = select("#", ...)
    local options, dims, count = {}, {}, 1
    if type(name) ~= "string" then fail("%s: a buffer needs a name", kind) end
    if n > 0 and type((select(n, ...))) == "table" then
        options = select(n, ...)
        n = n - 1
    end
    for i = 1, n do
        local x = select(i, ...)
        local whole = type(x) == "number" and math.tointeger(x)
        if not whole or whole < 1 then
            fail("buffer %s: size %s; expected a positive integer", name,
                tostring(x))
        end
        dims[i] = whole
        count = count * whole
    end
    if n == 0 then fail("buffer %s: it has no size", name) end
    known_names("buffer " .. name .. ": no option", options, BUFFER_OPTIONS)
    return { name = name, type = kind, width = WIDTH[kind], count = count,
        dims = dims, data = options.data,
        scratch = options.scratch or nil,
        texture = options.texture or nil,
        advise = options.advise,
        contents = options.contents or options.scratch or options.data ~= nil
            or false }
end

for kind in next, WIDTH do
    M[kind] = function(name, ...) return buffer(kind, name, ...) end
end

local WIDTHS = { [1] = true, [2] = true, [4] = true, [8] = true, [16] = true }

--- A buffer as f32 and its like make it, or a table that looks so.
local function check_buffer(app, i, b)
    local function bad(field, expected)
        fail("%s %s: buffer %d: field '%s': expected %s, got %s; f32(name, n) "
            .. "and its like make buffers", app.kind or "application",
            app.name, i, field, expected, tostring(b[field]))
    end
    if type(b) ~= "table" then
        fail("%s %s: buffer %d: expected what f32(name, n) and its like "
            .. "return, got %s", app.kind or "application", app.name, i,
            tostring(b))
    elseif type(b.name) ~= "string" then
        bad("name", "a text")
    elseif math.type(b.count) ~= "integer" or b.count < 1 then
        bad("count", "a whole number of elements, at least 1")
    elseif not WIDTHS[b.width] then
        bad("width", "the bytes of an element: 1, 2, 4, 8 or 16")
    elseif app.kind ~= "generator" and not WIDTH[b.type] then
        bad("type", "the type of its elements, \"f32\" or its like")
    elseif app.kind ~= "generator" and type(b.dims) ~= "table" then
        bad("dims", "a list of sizes")
    end
end

-- ---- kernels ------------------------------------------------------------------

--- A number of registers or bytes.
local function amount(x, what)
    local n = math.type(x) and math.tointeger(x)
    if not n or n < 0 or n > 0x7fffffff then
        fail("%s: expected 0 to 2^31 - 1, got %s", what, tostring(x))
    end
    return n
end

local KERNEL_OPTIONS = { grid = true, block = true, regs = true,
    shared = true, args = true, lanes = true }

--- The lanes that a kernel or an application is written for, or nil.
local function lanes_of(x, what)
    if x ~= nil and x ~= 32 and x ~= 64 then
        fail("%s: lanes: expected 32 or 64, got %s", what, tostring(x))
    end
    return x
end

--- kernel(name, options, function(t) ... end)
function M.kernel(name, options, fn)
    if type(name) ~= "string" or type(options) ~= "table"
        or type(fn) ~= "function" then
        fail("kernel(name, { grid =, block = }, function(t) ... end)")
    end
    core.line("kernel", name)
    known_names("kernel " .. name .. ": no option", options, KERNEL_OPTIONS)
    if options.args ~= nil and type(options.args) ~= "table" then
        fail("kernel %s: args: expected { name = value }, got %s", name,
            tostring(options.args))
    end
    return { name = name, fn = fn, args = options.args or {},
        grid = triple(options.grid or 1, "kernel " .. name .. ": grid"),
        block = triple(options.block, "kernel " .. name .. ": block"),
        lanes = lanes_of(options.lanes, "kernel " .. name),
        regs = amount(options.regs or 32, "kernel " .. name .. ": regs"),
        shared = amount(options.shared or 0,
            "kernel " .. name .. ": shared") }
end

-- ---- applications -----------------------------------------------------------

local App = {}
App.__index = App

local APP_FIELDS = {}
for name in ([[name suite source summary note params sizes buffers align lanes
kernels host streams events footprint truncated registers]]):gmatch("%S+") do
    APP_FIELDS[name] = true
end

--- What can be checked in the fields of an application before it is made.
local function check_app(a, what)
    if type(a.name) ~= "string" or a.name == "" then
        fail("%s: name: expected a text, got %s", what, tostring(a.name))
    end
    core.line(what .. ": name", a.name)
    for _, key in ipairs { "params", "sizes" } do
        if a[key] ~= nil and type(a[key]) ~= "table" then
            fail("%s %s: %s: expected a table, got %s", what, a.name, key,
                tostring(a[key]))
        end
    end
    for size, values in next, a.sizes or {} do
        if type(values) ~= "table" then
            fail("%s %s: size %s: expected { name = value }, got %s", what,
                a.name, tostring(size), tostring(values))
        end
    end
    if a.align ~= nil and not (math.type(a.align) == "integer"
        and a.align > 0) then
        fail("%s %s: align: expected a power of two, got %s", what, a.name,
            tostring(a.align))
    end
end

--- app { name =, params =, buffers =, kernels =, ... }
function M.app(a)
    known_names("app: no field", a, APP_FIELDS)
    for _, key in ipairs { "name", "buffers", "kernels" } do
        if a[key] == nil then fail("app: '%s' is missing", key) end
    end
    check_app(a, "app")
    return setmetatable(a, App)
end

-- A parameter as it was given; one whose default is a number must be one, or
-- a text that says one, as on a command line.  Where the default is whole, the
-- library's applications count something.
local function parameter(a, name, default, x)
    if type(default) ~= "number" then return x end
    local v = tonumber(x)
    if not v then
        misuse("application %s: parameter %s: a number is expected, not '%s'",
            a.name, name, tostring(x))
    end
    v = math.tointeger(v) or v
    if a.library and math.type(default) == "integer"
        and (math.type(v) ~= "integer" or v < 0) then
        misuse("application %s: parameter %s: a whole number of 0 or more is "
            .. "expected, not '%s'", a.name, name, tostring(x))
    end
    return v
end

local SIZE_ORDER = { T = 1, R = 2, S = 3, M = 4, L = 5, XL = 6, XXL = 7 }

-- Names of sizes, from small to large; others behind them.
local function size_names(a)
    local known = {}
    for n in next, a.sizes or {} do known[#known + 1] = tostring(n) end
    table.sort(known, function(m, n)
        local i, k = SIZE_ORDER[m] or 9, SIZE_ORDER[n] or 9
        return i < k or i == k and m < n
    end)
    return known[1] and table.concat(known, ", ") or "none"
end

--- The parameters for o = { size = "T", n = 5, ... }: defaults, those of the
-- size, then those given; and the size.
function App:parameters(o)
    local a, size, p = self, o.size, {}
    for name, x in next, a.params or {} do p[name] = x end
    if size == nil and a.sizes and a.sizes.S then size = "S" end
    if size ~= nil then
        if not a.sizes or not a.sizes[size] then
            misuse("application %s: no size '%s'; it has %s", a.name,
                tostring(size), size_names(a))
        end
        for name, x in next, a.sizes[size] do p[name] = x end
    end
    for _, name in ipairs(core.keys(o)) do -- in order
        local x = o[name]
        if name ~= "size" and (name ~= "align" or p.align ~= nil) then
            if p[name] == nil then
                local known = {}
                for n in next, p do known[#known + 1] = n end
                table.sort(known)
                local words = table.concat(known, ", ")
                table.move({ "size", "align", "label", "budget", "start" }, 1,
                    5, #known + 1, known)
                misuse("application %s: no parameter '%s'%s; it has %s, beside "
                    .. "size, align, label, budget and start", a.name,
                    tostring(name), require("heddle.index").meant(name, known),
                    words ~= "" and words or "none")
            end
            p[name] = parameter(a, name, p[name], x)
        end
    end
    return p, size
end

function App:instance(o)
    if o == nil then o = {} end
    if type(o) == "string" then o = { size = o } end
    local _ <close> = pure.open()
    local p, size = self:parameters(o)
    local align = self.align or 256
    if o.align and p.align == nil then
        align = parameter(self, "align", align, o.align)
    end
    local inst = { app = self, name = self.name, size = size, params = p,
        b = {}, kernels = {}, host = self.host, align = align }
    inst.buffers = self.buffers(p)
    if type(inst.buffers) ~= "table" then
        fail("application %s: buffers: expected a list, got %s", self.name,
            tostring(inst.buffers))
    end
    for key in next, inst.buffers do
        if type(key) ~= "number" then
            fail("%s %s: buffers: expected a list, got one with a field '%s'",
                self.kind or "application", self.name, tostring(key))
        end
    end
    for i, b in ipairs(inst.buffers) do
        check_buffer(self, i, b)
        if inst.b[b.name] then
            fail("application %s: two buffers named %s", self.name, b.name)
        end
        b.index, b.align = i, align
        inst.b[b.name] = b
    end
    inst.launches = self.kernels(p, inst.b)
    if type(inst.launches) ~= "table" then
        fail("application %s: kernels: expected a list, got %s", self.name,
            tostring(inst.launches))
    end
    for _, entry in ipairs(inst.launches) do
        local k = kernel_of(inst, entry)
        local other = inst.kernels[k.name]
        if other and other ~= k then
            fail("application %s: two kernels named %s", self.name, k.name)
        elseif not other then
            inst.kernels[#inst.kernels + 1] = k
            inst.kernels[k.name] = k
        end
    end
    inst.lanes = lanes_of(self.lanes, "application " .. self.name)
    for _, kernel in ipairs(inst.kernels) do
        if kernel.lanes and inst.lanes and kernel.lanes ~= inst.lanes then
            fail("application %s: kernel %s is for %d lanes, and another, or the "
                .. "application, for %d", self.name, kernel.name, kernel.lanes,
                inst.lanes)
        end
        inst.lanes = inst.lanes or kernel.lanes
    end
    for _, kernel in ipairs(inst.kernels) do kernel.lanes = inst.lanes end
    streams.declare(inst)
    return inst
end

-- ---- workloads ----------------------------------------------------------------

--- The workload, and the blocks of its launches if they are known before.
function App:workload(o)
    local inst = self:instance(o)
    return compile.program(inst):workload(), compile.extent(inst)
end

-- For generators, which are described alike.
M._App, M._check_app = App, check_app

return M
