--[[
twin.lua - the naive twin of the lane engine: runs kernels lane by lane.

The engine compiles a kernel function once into bytecode and runs all lanes of
a warp at once, with affine values, masks and a fast path for addresses.  The
twin does none of that.  It calls the kernel function itself, once for every
warp, with an object `t` whose values are lists of one number a lane; `when`
and `loop` call their bodies for as long as a lane is active; a barrier yields
the warp's coroutine.  The two share the application's text and the notation
of kernel.lua, nothing else, so that an error in the builder, the compiler or
the engine shows as a difference in kind, mask or address.

    local twin = require "heddle.twin"
    twin.walk(A:instance("T"), function(e) print(e.kind, e.mask) end)

An instruction, as the visitor sees it:

    { launch=1, kernel="atax1", block=0, warp=0, kind="load", n=1,
      mask=0xffffffff, buffer=<buffer>, bytes=4, addr={[lane]=address} }

kind: load, store, atomic, alu (n instructions), barrier, exit.  Instructions
that no lane runs are left out.

Order.  Blocks one by one, and in a block each warp in turn up to its next
barrier or its end; lanes act in rising order, also in atomics and in stores
to one address.  What a host says of memory changes no instruction, but for what
it frees (twin/host.lua).  An engine that is compared must walk the same way wherever a
kernel's addresses depend on what other warps have written.

Speed is no aim: about ten microseconds an instruction of a full warp.

SPDX-License-Identifier: MIT
]]
local host = require "heddle.twin.host"
local values = require "heddle.twin.value"

local M = {}

local WIDTH, LOADED = values.WIDTH, values.LOADED
local to_int, as, stored = values.to_int, values.as, values.stored
local is_value, lane_of, meet = values.is_value, values.lane_of, values.meet
local row, blank, each = values.row, values.blank, values.each

-- ---- buffers: contents by index ------------------------------------------

local Memory = {}
Memory.__index = Memory

local function new_memory(b)
    local keeps = b.contents or b.scratch or b.data ~= nil
    return setmetatable({ buffer = b, kind = b.type, keeps = keeps,
        written = {}, initial = b.data }, Memory)
end

local PACKED = { u8 = "<B", u16 = "<I2", i32 = "<i4", u32 = "<I4", i64 = "<i8",
    f32 = "<f", f64 = "<d" }

local function at_start(d, kind, i)
    local what = type(d)
    if what == "number" then return d end
    if what == "function" then return d(i) end
    if what == "table" then return d[i + 1] or 0 end
    if what == "string" then
        local at = i * WIDTH[kind] + 1
        if at + WIDTH[kind] - 1 > #d then return 0 end
        return (string.unpack(PACKED[kind], d, at))
    end
    return d[i] or 0 -- data from a generator counts from 0
end

function Memory:get(i)
    if not self.keeps then return stored(self.kind, 0) end
    local x = self.written[i]
    if x ~= nil then return x end
    if self.fill ~= nil then return self.fill end
    if self.initial == nil then return stored(self.kind, 0) end
    return stored(self.kind, at_start(self.initial, self.kind, i))
end

function Memory:set(i, x)
    if self.keeps then self.written[i] = stored(self.kind, x) end
end

function Memory:clear(x)
    self.written, self.fill = {}, stored(self.kind, x)
end

-- ---- the warp: what kernel functions call `t` ------------------------------
--
-- warp.active lists the lanes that are active now, in rising order; such a
-- list is never changed, another takes its place.

local Warp = {}
Warp.__index = Warp

local function mask_of(warp)
    local m = 0
    for _, l in ipairs(warp.active) do m = m | 1 << l end
    return m
end

-- Those of the lanes for which keep(l) holds.
local function filter(lanes, keep)
    local r = {}
    for _, l in ipairs(lanes) do
        if keep(l) then r[#r + 1] = l end
    end
    return r
end

-- The lanes, less those that have exited meanwhile.
local function remaining(warp, lanes)
    if not next(warp.gone) then return lanes end
    return filter(lanes, function(l) return not warp.gone[l] end)
end

local function emit(warp, kind, more)
    local e = more or {}
    e.mask = e.mask or mask_of(warp)
    if e.mask == 0 then return false end
    e.launch, e.kernel = warp.launch, warp.name
    e.block, e.warp = warp.id, warp.index
    e.kind, e.n = kind, e.n or 1
    warp.visit(e)
    return true
end

local function access(warp, kind, b, index, vec)
    local width = WIDTH[b.type]
    local e = { buffer = b, bytes = width * (vec or 1), addr = row(warp) }
    for _, l in ipairs(warp.active) do
        local i = to_int(lane_of(index, l))
        if i < 0 or i + (vec or 1) > b.count then
            error(string.format("%s: block %d, warp %d, lane %d: index %d of "
                .. "%s[%d]", warp.name, warp.id, warp.index, l, i, b.name,
                b.count))
        end
        e.addr[l] = warp.base[b] + i * width
    end
    if warp.free[b] then
        error(string.format("%s: block %d, warp %d: an access to %s, which the "
            .. "host frees", warp.name, warp.id, warp.index, b.name))
    end
    emit(warp, kind, e)
    return warp.memory[b], LOADED[b.type]
end

function Warp:load(b, index, options)
    local mem, kind = access(self, "load", b, index, options and options.vec)
    return each(self, kind, function(i) return mem:get(to_int(i)) end, index)
end

function Warp:store(b, index, value, options)
    if type(value) == "table" and not is_value(value) then
        value, options = nil, value
    end
    local mem = access(self, "store", b, index, options and options.vec)
    if value == nil then return end
    for _, l in ipairs(self.active) do
        mem:set(to_int(lane_of(index, l)), lane_of(value, l))
    end
end

local function element(warp, b, index, l, more)
    local i = to_int(lane_of(index, l)) + (more or 0)
    if i < 0 or i >= b.count then
        error(string.format("%s: block %d, warp %d, lane %d: index %d of "
            .. "%s[%d]", warp.name, warp.id, warp.index, l, i, b.name,
            b.count))
    end
    return i
end

-- Values without an access.
function Warp:peek(b, index)
    local mem, r = self.memory[b], blank(self, LOADED[b.type])
    for _, l in ipairs(self.active) do
        r[l] = mem:get(element(self, b, index, l))
    end
    return r
end

function Warp:poke(b, index, value)
    for _, l in ipairs(self.active) do
        self.memory[b]:set(element(self, b, index, l), lane_of(value, l))
    end
end

-- Copies: the accesses, and the values at once.
local function move(warp, b, index, n, options)
    local to = options and options.to
    if not to then return end
    for j = 0, n - 1 do
        for _, l in ipairs(warp.active) do
            warp.memory[to]:set(
                element(warp, to, options.at or 0, l, j),
                warp.memory[b]:get(element(warp, b, index, l, j)))
        end
    end
end

function Warp:copy(b, index, options)
    local n = options and options.vec or 1
    access(self, "load", b, index, n)
    move(self, b, index, n, options)
end

-- Each lane's bytes, as many pieces of 16 at a time as there are lanes.
function Warp:copy_bulk(b, index, bytes, options)
    local count = bytes // WIDTH[b.type]
    local first = true
    for _, l in ipairs(self.active) do
        local from = self.base[b] + element(self, b, index, l) * WIDTH[b.type]
        element(self, b, index, l, count - 1)
        for piece = 0, bytes // 16 - 1, self.width do
            local e = { buffer = b, bytes = 16, addr = {}, mask = 0,
                n = first and 1 or 0 }
            for lane = 0, math.min(self.width, bytes // 16 - piece) - 1 do
                e.addr[lane] = from + 16 * (piece + lane)
                e.mask = e.mask | 1 << lane
            end
            emit(self, "load", e)
            first = false
        end
    end
    move(self, b, index, count, options)
end

function Warp:copy_commit() end
Warp.copy_wait = Warp.copy_commit

local ATOMIC = {
    add = function(x, y) return x + y end,
    min = function(x, y) return y < x and y or x end,
    max = function(x, y) return y > x and y or x end,
    ["and"] = function(x, y) return x & y end,
    ["or"] = function(x, y) return x | y end,
    xor = function(x, y) return x ~ y end,
    exch = function(_, y) return y end,
    cas = function(x, y, z) return x == z and y or x end,
}

function Warp:atomic(op, b, index, value, compare)
    local mem, kind = self.memory[b], LOADED[b.type]
    if b.scratch then
        self:alu(1)
        for _, l in ipairs(self.active) do element(self, b, index, l) end
    else
        access(self, "atomic", b, index)
    end
    local old = blank(self, kind)
    local fn = assert(ATOMIC[op], "atomic operation " .. tostring(op))
    if value == nil then value = 1 end
    for _, l in ipairs(self.active) do
        local i = to_int(lane_of(index, l))
        old[l] = mem:get(i)
        mem:set(i, fn(old[l], as(kind, lane_of(value, l)),
            compare and lane_of(compare, l)))
    end
    return old
end

function Warp:alu(n)
    if n > 0 then emit(self, "alu", { n = n }) end
end

function Warp:shared(n)
    self:alu(is_value(n) and 1 or n)
end

function Warp:sync()
    if emit(self, "barrier") then coroutine.yield() end
end

function Warp:select(c, a, b)
    local kind = (is_value(a) or is_value(b)) and meet(a, b)
        or (math.type(a) == "integer" and math.type(b) == "integer") and "int"
        or "f64"
    return each(self, kind, function(x, y, z)
        if x then return as(kind, y) end
        return as(kind, z)
    end, c, a, b)
end

function Warp:const(x, kind)
    kind = kind or type(x) == "boolean" and "bool"
        or math.type(x) == "integer" and "int" or "f64"
    return each(self, kind, function() return as(kind, x) end)
end

function Warp:var(init)
    if not is_value(init) then return self:const(init) end
    return each(self, init.type, function(x) return x end, init)
end

function Warp:arg(name, kind)
    local x = self.args[name]
    if x == nil then
        error(self.name .. ": the launch gives no argument " .. name)
    end
    return self:const(x, kind or "int")
end

function Warp:exit_if(c)
    for _, l in ipairs(self.active) do
        if lane_of(c, l) then self.gone[l] = true end
    end
    self.active = remaining(self, self.active)
end

-- ---- control flow ----------------------------------------------------------

local function narrowed(warp, keep, fn)
    local outer = warp.active
    warp.active = filter(outer, keep)
    if #warp.active > 0 then fn() end
    warp.active = remaining(warp, outer)
end

function Warp:when(c, yes, no)
    narrowed(self, function(l) return lane_of(c, l) end, yes)
    if no then
        narrowed(self, function(l) return not lane_of(c, l) end, no)
    end
end

-- Rounds of `body` until stay(l) holds for no lane; a lane that has left the
-- loop does not come back.  `ask` runs before each round, `done` after it.
local function rounds(warp, ask, stay, body)
    local outer = warp.active
    while true do
        warp.active = remaining(warp, warp.active)
        if #warp.active == 0 then break end
        local answer = ask()
        local live = filter(warp.active, function(l) return stay(l, answer) end)
        if #live == 0 then break end
        warp.active = live
        body(live)
        warp.active = live
    end
    warp.active = remaining(warp, outer)
end

function Warp:loop(from, to, step, body)
    if type(to) == "function" then
        from, to, step, body = 0, from, 1, to
    elseif type(step) == "function" then
        step, body = 1, step
    end
    local at = each(self, "int", to_int, from)
    local limit = each(self, "int", to_int, to)
    local by = each(self, "int", to_int, step)
    local down = not is_value(step) and step < 0
    rounds(self, function() end, function(l)
        if down then return at[l] > limit[l] end
        return at[l] < limit[l]
    end, function(live)
        body(each(self, "int", function(x) return x end, at))
        for _, l in ipairs(live) do at[l] = at[l] + by[l] end
    end)
end

function Warp:while_(condition, body)
    rounds(self, condition, function(l, c) return lane_of(c, l) end, body)
end

-- ---- blocks, launches, applications ----------------------------------------

local INDICES = { "tid", "tx", "ty", "tz", "bx", "by", "bz", "gx", "gy", "gz",
    "nx", "ny", "nz", "gid", "block", "lane", "lanes", "warp" }

-- Thread, block and lane numbers of every lane of a warp.
local function number_lanes(w, run, block)
    local sx, sy, sz = table.unpack(run.shape)
    local nx, ny, nz = table.unpack(run.grid)
    local bx, by, bz = block % nx, block // nx % ny, block // (nx * ny)
    for _, name in ipairs(INDICES) do w[name] = blank(w, "int") end
    for l = 0, run.width - 1 do
        local tid = w.index * run.width + l
        local tx, ty, tz = tid % sx, tid // sx % sy, tid // (sx * sy)
        if tid < run.threads then w.active[#w.active + 1] = l end
        w.tid[l], w.lane[l], w.warp[l] = tid, l, w.index
        w.tx[l], w.ty[l], w.tz[l] = tx, ty, tz
        w.bx[l], w.by[l], w.bz[l] = bx, by, bz
        w.gx[l], w.gy[l] = bx * sx + tx, by * sy + ty
        w.gz[l] = bz * sz + tz
        w.nx[l], w.ny[l], w.nz[l] = nx, ny, nz
        w.block[l], w.lanes[l] = block, run.width
        w.gid[l] = block * run.threads + tid
    end
end

local function new_warp(run, block, index)
    local w = setmetatable({ width = run.width, index = index, id = block,
        launch = run.launch, name = run.kernel.name, args = run.args,
        base = run.base, memory = run.memory, visit = run.visit,
        free = run.free, active = {}, gone = {} }, Warp)
    number_lanes(w, run, block)
    return w
end

-- All warps of a block: each runs to its barrier or its end, in turn.
local function run_block(run, block)
    local threads = {}
    for i = 0, (run.threads + run.width - 1) // run.width - 1 do
        threads[i + 1] = coroutine.create(function()
            local w = new_warp(run, block, i)
            local all = w.active
            run.kernel.fn(w)
            w.active = all
            emit(w, "exit")
        end)
    end
    repeat
        local live = false
        for _, thread in ipairs(threads) do
            if coroutine.status(thread) ~= "dead" then
                local ok, err = coroutine.resume(thread)
                if not ok then error(err, 0) end
                live = live or coroutine.status(thread) ~= "dead"
            end
        end
    until not live
end

local function triple(x)
    if type(x) == "number" then return { x, 1, 1 } end
    return { x[1] or 1, x[2] or 1, x[3] or 1 }
end

local function run_launch(instance, state, entry, visit)
    local k = entry
    if type(entry) == "table" and not entry.fn then k = entry[1] end
    if type(k) == "string" then
        for _, other in ipairs(instance.kernels) do
            if other.name == k then k = other break end
        end
    end
    local args = {}
    for name, x in pairs(k.args or {}) do args[name] = x end
    for name, x in pairs(entry.args or {}) do args[name] = x end
    local run = { kernel = k, args = args, width = state.lanes,
        base = state.base, memory = state.memory, visit = visit,
        free = state.host.free, launch = state.launch, grid = triple(entry.grid or k.grid),
        shape = triple(k.block) }
    run.threads = run.shape[1] * run.shape[2] * run.shape[3]
    for b = 0, run.grid[1] * run.grid[2] * run.grid[3] - 1 do
        if state.keep(state.launch, b) then run_block(run, b) end
    end
end

-- The launches of an application, as its host gives them out.
local function launches(instance, state)
    local h = { b = instance.b, p = instance.params, kernels = {},
        launched = 0,
        read = function(b, i) return state.memory[b]:get(i) end,
        write = function(b, i, x) state.memory[b]:set(i, x) end,
        fill = function(b, x) state.memory[b]:clear(x) end }
    for i, k in ipairs(instance.kernels) do
        h.kernels[i], h.kernels[k.name] = k, k
    end
    for name, fn in pairs(state.host.calls) do h[name] = fn end
    local s = {}
    return function()
        h.launched = h.launched + 1
        if not instance.host then return instance.launches[h.launched] end
        h.launched = h.launched - 1
        local entry = instance.host(h, s)
        h.launched = h.launched + 1
        return entry
    end
end

-- Places buffers one after the other, each at a multiple of `align`.
function M.place(buffers, base, align)
    local at, place = base, {}
    for _, b in ipairs(buffers) do
        if not b.scratch then
            local a = b.align or align
            at = (at + a - 1) // a * a
            place[b] = at
            at = at + b.count * WIDTH[b.type]
        end
    end
    return place
end

--[[
Walks an instance of an application and calls visit(instruction) for each
instruction of each warp.  Options: lanes (32); base (0x10000000) and align
(256) of the buffers, or place (a table buffer -> address); keep(launch, block)
-> whether to walk that block; max_launches.
]]
function M.walk(instance, visit, options)
    options = options or {}
    local state = { lanes = options.lanes or 32, memory = {}, launch = 0,
        keep = options.keep or function() return true end,
        base = options.place or M.place(instance.buffers,
            options.base or 0x10000000, options.align or 256) }
    for _, b in ipairs(instance.buffers) do state.memory[b] = new_memory(b) end
    state.host = host.new(instance)
    for entry in launches(instance, state) do
        state.launch = state.launch + 1
        state.host:begin(entry)
        run_launch(instance, state, entry, visit)
        state.host:finish()
        if state.launch == options.max_launches then break end
    end
    return state
end

return M
