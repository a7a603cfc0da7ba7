--[[
assemble.lua - from the blocks of build.lua to the bytecode of work/program/program.h.

Three steps.  What is not needed is left out: a value is needed if an
instruction with an effect uses it, directly or through others; a variable, if
something needed reads it.  The rest is laid out in one line, in which a warp
runs it from top to bottom whatever its lanes do, so that the lifetimes of
values are intervals; what is used in a loop but made before it lives to the
loop's end.  Registers are then given out in one pass, one pool a type, which
keeps the state of a warp small.

Load n fills scoreboard slot n modulo 32; the wait of an instruction is the
set of slots of all loads it comes from.  Copies to shared memory leave them 24
slots: a group of copies has one of the others (work/program/simt.c), and what waits for
all loads does not wait for those.

A load that a pending variable carries has a name instead, and so has the
variable (CARRY, work/program/simt.c).  Names 0, 1, ... begin with the slots of
these numbers, which other loads leave alone.  Each is given away at one place
of the kernel only, so what comes from it waits for its name and for the one that
it was given to, and for the one after that: whichever has its load.

SPDX-License-Identifier: MIT
]]
local build = require "heddle.kernel.build"

-- Not what application code has under this name (pure.lua).
local next = next

local is_value, fail = build.is_value, build.fail

local M = {}

-- The numbers of work/program/opcode.def, in its order.
local OPCODES = {}
for name in ([[
LI SPEC ARG MOV VAR SET
ADD SUB MUL DIV MOD MIN MAX AND OR XOR SHL SHR LSHR NEG NOT
FADD FSUB FMUL FDIV FMIN FMAX FNEG FSQRT
LT LE GT GE EQ NE FLT FLE FGT FGE FEQ FNE
BAND BOR BXOR BNOT ITOF FTOF FTOI BTOI SEL PEEK POKE MIX CARRY AWAIT
COMMIT DRAIN
IF ELSE ENDIF LOOP ENDLOOP WHILE TEST ENDWHILE EXITIF
ALU SHARED LOAD STORE ATOM BAR EXIT]]):gmatch("%S+") do
    OPCODES[#OPCODES + 1] = name
    OPCODES[name] = #OPCODES - 1
end
M.OPCODES = OPCODES

local TYPE = { int = 0, f32 = 1, f64 = 2, bool = 3 }
local NONE = 0xffff

-- ---- what is needed ---------------------------------------------------------

local function mark(first)
    local work = { first }
    while #work > 0 do
        local v = table.remove(work)
        if not v.needed then
            v.needed = true
            for _, x in ipairs { v.a or false, v.b or false, v.c or false } do
                if x then work[#work + 1] = x end
            end
            for _, source in ipairs(v.sources or {}) do
                if source.const == nil then work[#work + 1] = source end
            end
        end
    end
end

local OPERANDS = { "a", "b", "c", "value", "compare" }

local function mark_block(block)
    for _, item in ipairs(block.items) do
        if not is_value(item) and not item.free then
            for _, name in ipairs(OPERANDS) do
                if item[name] then mark(item[name]) end
            end
            if item.body then mark_block(item.body) end
            if item.other then mark_block(item.other) end
        end
    end
end

-- ---- one line of instructions -----------------------------------------------

-- Adds an instruction: op, registers as values, and what encode() needs.
local function put(line, ins)
    line[#line + 1] = ins
    return #line
end

local lay

local function lay_loop(line, item)
    local kind = item.op
    local at = put(line, item)
    local loop = { first = at }
    line.loops[#line.loops + 1] = loop
    lay(line, item.body)
    loop.last = put(line, { op = kind == "LOOP" and "ENDLOOP" or "ENDWHILE",
        keep = { item.d or false, item.b or false, item.c or false } })
end

lay = function(line, block)
    for _, item in ipairs(block.items) do
        if is_value(item) then
            if item.needed then
                put(line, { op = item.op, d = item, a = item.a, b = item.b,
                    c = item.c, imm = item.imm })
            end
        elseif item.op == "VAR" or item.op == "SET" then
            if item.d.needed then put(line, item) end
        elseif item.op == "PEEK" then
            if item.d.needed then put(line, item) end
        elseif item.op == "IF" then
            put(line, item)
            lay(line, item.body)
            if item.other then
                put(line, { op = "ELSE" })
                lay(line, item.other)
            end
            put(line, { op = "ENDIF" })
        elseif item.body then
            lay_loop(line, item)
        else
            put(line, item)
        end
    end
end

-- ---- slots and waits ----------------------------------------------------------

-- Calls fn for each load, and each pending variable, that a set of dependences
-- leads to.
local function each_load(deps, seen, fn)
    if not deps then return end
    for d in next, deps do
        if not seen[d] then
            seen[d] = true
            if d.var and not d.pending then
                for _, source in ipairs(d.sources) do
                    each_load(build.deps_of(source), seen, fn)
                end
            else
                fn(d)
                if d.carrier then
                    each_load({ [d.carrier] = true }, seen, fn)
                end
            end
        end
    end
end

local MOST_NAMES = 16

-- The first slot of groups of copies: HD_GROUP_SLOT of work/program/program.h.
local GROUP_SLOT = 24

local function number_slots(k, line)
    for _, ins in ipairs(line) do
        each_load(ins.deps, {}, function(load) load.used = true end)
    end
    if #k.names > MOST_NAMES then
        fail("kernel %s: %d pending variables and loads that they carry; at "
            .. "most %d are expected", k.kernel.name, #k.names, MOST_NAMES)
    end
    for i, x in ipairs(k.names) do x.name = i - 1 end
    local n, from, past = 0, #k.names, k.copies and GROUP_SLOT or 32
    for _, load in ipairs(k.loads) do
        if not load.name and (load.op == "LOAD" or load.used
            or load.d and load.d.needed) then
            load.slot = from + n % (past - from)
            n = n + 1
        end
    end
end

-- The slots that an instruction waits for, and the names.
local function wait_of(ins)
    if ins.all then return 0xffffffff, 0 end
    local wait, names = 0, 0
    each_load(ins.deps, {}, function(x)
        if x.slot then wait = wait | 1 << x.slot end
        if x.name then names = names | 1 << x.name end
    end)
    return wait, names
end

-- The line with an AWAIT before each instruction that waits for names.
local function await(k, line)
    if #k.names == 0 then return line end
    local out, place = { loops = line.loops }, {}
    for at, ins in ipairs(line) do
        local _, names = wait_of(ins)
        if names ~= 0 then put(out, { op = "AWAIT", imm = names }) end
        place[at] = put(out, ins)
    end
    for _, loop in ipairs(out.loops) do
        loop.first, loop.last = place[loop.first], place[loop.last]
    end
    return out
end

-- ---- registers ------------------------------------------------------------------

-- Fills v.first and v.last, the places between which v must be kept.
local function lifetimes(line)
    local order = {}
    local function touch(v, at, writes)
        if not v or not v.needed then return end
        if not v.first then
            if not writes then
                fail("internal: %s is read before it is made", v.op or "var")
            end
            v.first, v.last = at, at
            order[#order + 1] = v
        end
        v.last = math.max(v.last, at)
    end
    for at, ins in ipairs(line) do
        for _, name in ipairs(OPERANDS) do touch(ins[name], at) end
        for _, v in ipairs(ins.keep or {}) do touch(v, at) end
        touch(ins.d, at, true)
    end
    -- outer loops end last: inner ones first, then the outer extend further
    for i = #line.loops, 1, -1 do
        local loop = line.loops[i]
        for _, v in ipairs(order) do
            if v.first < loop.first and v.last > loop.first
                and v.last < loop.last then
                v.last = loop.last
            end
        end
    end
    return order
end

local function give_registers(order)
    local free = { int = {}, f32 = {}, f64 = {}, bool = {} }
    local types, live = {}, {}
    for _, v in ipairs(order) do
        local still = {}
        for _, other in ipairs(live) do
            if other.last <= v.first then
                table.insert(free[other.kind], other.reg)
            else
                still[#still + 1] = other
            end
        end
        live = still
        v.reg = table.remove(free[v.kind])
        if not v.reg then
            v.reg = #types
            types[#types + 1] = v.kind
        end
        live[#live + 1] = v
    end
    return types
end

-- ---- bytes ----------------------------------------------------------------------

local function imm_of(ins)
    local x = ins.imm
    if x == nil then return 0 end
    if type(x) == "boolean" then return x and 1 or 0 end
    if math.type(x) == "float" then
        return (string.unpack("<i8", string.pack("<d", x)))
    end
    return x
end

local function reg_of(v)
    return v and v.needed and v.reg or NONE
end

local function encode(ins)
    local op = assert(OPCODES[ins.op], ins.op)
    local d, a, b, c = reg_of(ins.d), reg_of(ins.a), reg_of(ins.b),
        reg_of(ins.c)
    local aux, buffer, imm = 0, 0, imm_of(ins)
    if ins.op == "LOOP" then
        aux = ins.down and 1 or 0
    elseif ins.op == "ALU" or ins.op == "SHARED" then
        aux = ins.aux or 0
        if ins.vec then c = ins.vec end
    elseif ins.op == "CARRY" then
        aux, imm = ins.to.name, ins.from and ins.from.name or 32
    elseif ins.buffer then
        buffer, c = ins.buffer.index - 1, ins.vec
        aux = (ins.copy or ins.name and 96 | ins.name or ins.slot or 32)
            | (ins.past and 128 or 0)
        if ins.op == "PEEK" then
            aux = 0
        elseif ins.op == "STORE" or ins.op == "POKE" then
            aux, d = 0, reg_of(ins.value)
        elseif ins.op == "ATOM" or ins.op == "MIX" then
            aux = ins.op == "ATOM" and aux or 32
            c, b = 0, reg_of(ins.value)
            imm = imm & 0xffffffff | ins.atomic << 32
                | reg_of(ins.compare) << 48
        end
    end
    return string.pack("<BBI2I2I2I2I2I4i8", op, aux, d, a, b, c, buffer,
        (wait_of(ins)), imm)
end

-- Checked here because the number of a buffer is not known while it is built.
local function check_buffers(kernel, line, buffers)
    for _, ins in ipairs(line) do
        if ins.buffer and buffers[ins.buffer.index] ~= ins.buffer then
            error(("kernel %s: %s:%d: buffer %s does not belong to this "
                .. "application"):format(kernel.name, ins.file or "?",
                ins.line or 0, ins.buffer.name), 0)
        end
    end
end

-- Where instructions come from: names of files, and for each instruction the
-- number of its file from bit 24 on, and its line; 0 where there is none.
local function places(line)
    local files, number, out = {}, {}, {}
    for at, ins in ipairs(line) do
        local file = ins.file
        if file and not number[file] and #files < 255 then
            number[file] = #files
            files[#files + 1] = file
        end
        out[at] = string.pack("=I4", file and number[file]
            and number[file] << 24 | ins.line & 0xffffff or 0)
    end
    return files, table.concat(out)
end

local function header(kernel, types, args, n)
    local parts = { "HDK1", string.pack("<c60", kernel.name:sub(1, 59)),
        string.pack("<I4I4I4I4I4I4I4I4I2I2I4", kernel.grid[1], kernel.grid[2],
            kernel.grid[3], kernel.block[1], kernel.block[2], kernel.block[3],
            kernel.regs, kernel.shared, #types, #args, n) }
    for _, kind in ipairs(types) do
        parts[#parts + 1] = string.char(TYPE[kind])
    end
    for _, a in ipairs(args) do
        local x = build.number_as(a.kind, kernel.args[a.name] or 0)
        parts[#parts + 1] = string.pack(a.kind == "int" and "<Bc31i8"
            or "<Bc31d", TYPE[a.kind], a.name:sub(1, 30), x)
    end
    return parts
end

--[[
The bytecode of what build.run() returned, the list of the kernel's arguments
{ name, kind } in the order in which launches give them, and where its
instructions come from, as program:kernel() takes it.
]]
function M.assemble(k, buffers)
    local kernel, line = k.kernel, { loops = {} }
    mark_block(k.root)
    for _, load in ipairs(k.loads) do -- results that are not needed: no register
        if load.d and not load.d.needed then load.d = nil end
    end
    local function mark_counters(block)
        for _, item in ipairs(block.items) do
            if item.op == "LOOP" then item.d.needed = true end
            if item.body then mark_counters(item.body) end
            if item.other then mark_counters(item.other) end
        end
    end
    mark_counters(k.root)
    lay(line, k.root)
    put(line, { op = "EXIT" })
    check_buffers(kernel, line, buffers)
    number_slots(k, line)
    line = await(k, line)
    local types = give_registers(lifetimes(line))
    local parts = header(kernel, types, k.args, #line)
    for _, ins in ipairs(line) do parts[#parts + 1] = encode(ins) end
    return table.concat(parts), k.args, places(line)
end

return M
