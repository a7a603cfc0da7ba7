--- kernel/compile.lua - an application becomes a program of the engine: its
-- buffers, the bytecode of its kernels, and its launches, which are a list or
-- what its host says.
--
-- The host runs between kernels, on plain data that snapshots contain: it gets
-- the bytes of its state and returns new ones.  A list in which launches give
-- buffers back, or hosts do something to them before, is a host, too.
--
-- SPDX-License-Identifier: MIT
local hostcalls = require "heddle.kernel.hostcalls"
local launch = require "heddle.kernel.launch"
local pure = require "heddle.kernel.pure"
local plain = require "heddle.plain"
local streams = require "heddle.kernel.streams"

local fail, kernel_of, launch_of = launch.fail, launch.kernel_of,
    launch.launch_of

-- Not what application code has under these names (pure.lua).
local type, math_type, unpack, next = type, math.type, table.unpack, next

local M = {}

local PLAIN = { fail = fail }

-- A call of the host as the engine has it.
local DEVICE = {
    free = function(device, c) device:free(c.buffer.index - 1) end,
    free_async = function(device, c) device:free_async(c.buffer.index - 1) end,
    allocate = function(device, c) device:allocate(c.buffer.index - 1) end,
    wait = function(device, c) device:wait(c.ns) end,
    move = function(device, c)
        device:move(c.buffer.index - 1, c.how, c.offset, c.bytes)
    end,
    advise = function(device, c)
        local b, offset, bytes = c.buffer, c.offset, c.bytes
        if not offset and c.unset ~= hostcalls.ALL then
            offset, bytes = 0, b.count * b.width
        end
        device:advise(b.index - 1, c.set, c.unset, offset, bytes)
    end,
}

-- What a host does next to the launch that it has returned.
local function beside(inst, entry, h, device)
    if type(entry) ~= "table" or entry.fn or not entry.beside then return end
    device:beside()
    launch.beside(entry, kernel_of(inst, entry))(hostcalls.only(h))
end

-- What the engine calls between kernels: from the bytes of the host's state
-- to new bytes and the next launch.
local function host_of(inst, declared)
    local h = { b = inst.b, p = inst.params, kernels = inst.kernels }
    local number = {}
    for i, k in ipairs(inst.kernels) do number[k] = i - 1 end
    return function(device, state)
        local _ <close> = pure.open()
        local s = state == "" and {} or plain.read(state)
        h.launched = device:launched()
        h.read = function(b, i) return device:read(b.index - 1, i) end
        h.write = function(b, i, x) device:write(b.index - 1, i, x) end
        h.fill = function(b, x) device:fill(b.index - 1, x) end
        for name, fn in next, hostcalls.calls(inst, function(c)
            DEVICE[c.what](device, c)
        end) do
            h[name] = fn
        end
        for _, b in ipairs(h.launched == 0 and inst.buffers or {}) do
            if b.advise then h.advise(b, b.advise) end
        end
        local entry = inst.host(h, s)
        beside(inst, entry, h, device)
        state = plain.write(s, "the host's state", PLAIN)
        if entry == nil then return state end
        local k = kernel_of(inst, entry)
        if not number[k] then
            fail("application %s: its host returned a kernel that is not in "
                .. "its list", inst.name)
        end
        if type(entry) ~= "table" then entry = k end
        if inst.app.host then launch.check_hosted(entry, k) end
        return state, number[k], launch_of(entry, k, declared[k], inst)
    end
end

-- What is done to buffers that a launch lists: behind it, and before it.
local DOES = {
    { "free", function(h, ...) h.free(...) end },
    { "prefetch", function(h, b, ...) h.prefetch(b, "gpu", ...) end },
    { "prefetch_host", function(h, b, ...) h.prefetch(b, "host", ...) end },
    { "host_reads", function(h, b, ...) h.touch(b, "read", ...) end },
    { "host_writes", function(h, b, ...) h.touch(b, "write", ...) end },
}

-- Does numbers first to last of these to the buffers of a launch, if there is
-- one, or to what it lists of one; before a launch the host may be busy first.
local function do_some(h, entry, first, last)
    if last > 1 and entry and not entry.fn and entry.host_wait ~= nil then
        h.wait(entry.host_wait)
    end
    for i = first, entry and not entry.fn and last or 0 do
        for _, b in ipairs(entry[DOES[i][1]] or {}) do
            if b.name then
                DOES[i][2](h, b)
            else
                DOES[i][2](h, b[1], b.offset, b.bytes)
            end
        end
    end
end

local PART = { true, offset = true, bytes = true }

-- A list of buffers, or of { buffer, offset =, bytes = }.
local function check_list(inst, i, name, list)
    if type(list) ~= "table" or list.name then
        fail("application %s: launch %d: %s: expected a list of buffers, got %s",
            inst.name, i, name, tostring(list))
    end
    for _, b in ipairs(list) do
        if type(b) == "table" and not b.name then
            launch.known(("application %s: launch %d: %s: no field"):format(
                inst.name, i, name), b, PART)
            b = b[1]
        end
        if type(b) ~= "table" or inst.b[b.name] ~= b then
            fail("application %s: launch %d: %s: expected buffers of the "
                .. "application", inst.name, i, name)
        end
    end
end

-- The host of a list in which launches do such things, and these as text; nil
-- if none does, and no buffer has advice.
local function doing(inst)
    local text, said = {}, {}
    local checks = hostcalls.calls(inst, function(c)
        said[#said + 1] = hostcalls.text(c)
    end)
    for i, entry in ipairs(inst.launches) do
        for _, what in ipairs(entry.fn and {} or DOES) do
            local list = entry[what[1]] or {}
            check_list(inst, i, what[1], list)
            for _, b in ipairs(list) do
                text[#text + 1] = what[1] .. i .. (b.name
                    or b[1].name .. "+" .. (b.offset or 0) .. ":"
                        .. (b.bytes or ""))
            end
        end
        do_some(checks, entry, 1, #DOES)
        if not entry.fn and entry.host_wait then
            text[#text + 1] = "wait" .. i .. ":" .. entry.host_wait
        end
        said = {}
        local fn = not entry.fn and launch.beside(entry, kernel_of(inst, entry))
        if fn then
            fn(hostcalls.only(checks))
            text[#text + 1] = "beside" .. i .. table.concat(said, ";")
        end
    end
    if #text == 0 and inst.advised == "" then return nil end
    return function(h)
        local entry = inst.launches[h.launched + 1]
        do_some(h, inst.launches[h.launched], 1, 1)
        do_some(h, entry, 2, #DOES)
        return entry
    end, table.concat(text, " ")
end

-- The advice on buffers as text.
local function advised(inst)
    local text = {}
    for _, b in ipairs(inst.buffers) do
        if b.advise then
            text[#text + 1] = b.name .. launch.advice(b, b.advise)
        end
    end
    return table.concat(text, " ")
end

local CODE = { u8 = "B", u16 = "I2", i32 = "I4", u32 = "I4", i64 = "i8",
    f32 = "f", f64 = "d" }
-- What is left of a whole number, of which most elements are; floats have none.
local MASK = { u8 = 0xff, u16 = 0xffff, i32 = 0xffffffff, u32 = 0xffffffff, i64 = -1 }

--- An element as string.pack takes it: floats toward zero, 0 where they do not
-- fit, and the low bits of what is too long.
local function element(v, b)
    if type(v) ~= "number" then
        fail("buffer %s: data: a number is expected, got a %s", b.name, type(v))
    elseif not MASK[b.type] then
        return v
    end
    if math_type(v) == "float" then
        v = v >= -0x1p63 and v < 0x1p63 and (v < 0 and math.ceil(v)
            or math.floor(v)) or 0
    end
    return v & MASK[b.type]
end

--- The elements of a list, which may end early, or of fn(i), as bytes.
local function packed(b, list, fn)
    local out, run, n, mask = {}, {}, 0, MASK[b.type]
    local many = "<" .. CODE[b.type]:rep(100)
    for i = 0, b.count - 1 do
        local v
        if list then v = list[i + 1] else v = fn(i) end
        if mask and math_type(v) == "integer" then
            v = v & mask
        elseif v == nil and list then
            break
        elseif mask or not math_type(v) then
            v = element(v, b)
        end
        n = n + 1
        run[n] = v
        if n == 100 then
            out[#out + 1] = many:pack(unpack(run, 1, n))
            n = 0
        end
    end
    out[#out + 1] = ("<" .. CODE[b.type]:rep(n)):pack(unpack(run, 1, n))
    return table.concat(out)
end

--- The data of a buffer as bytes, as heddle.generate made them, or as one number.
local function bytes_of(b)
    local data, kind = b.data, type(b.data)
    if kind == "nil" or kind == "string" or kind == "userdata" then
        return data
    elseif kind == "number" then
        return element(data, b)
    elseif kind == "table" then
        return packed(b, data)
    elseif kind ~= "function" then
        fail("buffer %s: data is a function, a list, a number, a text or from "
            .. "heddle.generate, not a %s", b.name, kind)
    end
    return packed(b, nil, data)
end

--- The application compiled: a C program object (heddle.program).
function M.program(inst)
    local _ <close> = pure.open()
    local program = require "heddle.program"
    local build = require "heddle.kernel.build"
    local thread = require "heddle.kernel.thread"
    local assemble = require "heddle.kernel.assemble"
    local p, declared = program.new(inst.name), {}
    p:align(inst.align)
    if inst.lanes then p:lanes(inst.lanes) end
    for _, b in ipairs(inst.buffers) do
        p:buffer(b.name, b.type, b.count, b.scratch and "scratch" or b.contents,
            bytes_of(b), b.texture)
    end
    for _, k in ipairs(inst.kernels) do
        local code, args, files, lines = assemble.assemble(
            build.run(k, thread.new, thread.check_copies), inst.buffers)
        declared[k] = args
        p:kernel(code, files, lines)
    end
    for _, name in ipairs(inst.streams) do p:stream(name) end
    for _, name in ipairs(inst.events) do p:event(name) end
    if not inst.host then streams.check(inst, kernel_of) end
    inst.advised = advised(inst)
    local listed, does
    if not inst.host then
        listed, does = doing(inst)
        inst.host = listed
    end
    if inst.host then
        local text = (does or string.dump(inst.host, true)) .. inst.advised
        local floats = {}
        for i, b in ipairs(inst.buffers) do
            floats[i] = b.type == "f32" or b.type == "f64"
        end
        p:host(host_of(inst, declared),
            text .. plain.write(inst.params, "params", PLAIN), floats)
        return p
    end
    local number = {}
    for i, k in ipairs(inst.kernels) do number[k] = i - 1 end
    for _, entry in ipairs(inst.launches) do
        local k = kernel_of(inst, entry)
        if type(entry) ~= "table" then entry = k end
        p:launch(number[k], launch_of(entry, k, declared[k], inst))
    end
    return p
end

--- The thread blocks of each launch of a list; nil where a host decides.
function M.extent(inst)
    if inst.app.host then return nil end
    local out = {}
    for i, entry in ipairs(inst.launches) do
        local k = kernel_of(inst, entry)
        local grid = type(entry) == "table" and not entry.fn and entry.grid
            or k.grid
        grid = launch.triple(grid, "launch of " .. k.name .. ": grid")
        out[i] = grid[1] * grid[2] * grid[3]
    end
    return out
end

return M
