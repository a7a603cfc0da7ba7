--- kernels.lua - sixteen small kernels as Accel-Sim's text traces (version 4 of its
-- tracer), which both simulators run.
--
--     local kernels = require "kernels"
--     local path = kernels.write("dir", "vecadd")     its kernelslist.g
--     local text = kernels.text "vecadd"
--     local text = kernels.text("vecadd", true)       warps end with their stores
--
-- Each stresses one thing: streams (vecadd, stores), rows of a matrix (atax), random
-- reads (gather), arithmetic that is free or dependent (fma, fmadep, fmalow), the
-- special function unit (sfu), one sector of each line (stride128), lines shared by
-- neighbours (stencil), bank conflicts in shared memory (conflict), latencies
-- (chase16k, chase64m), atomics on 256 words, arithmetic between loads and stores
-- (mixed), reuse in the L1 (l1reuse).
--
-- The bytes never change: accelsim-rtx2060.csv was measured with them, and
-- t/775-accelsim.lua holds their hashes.  gather and atomics draw from one sequence,
-- in this order, so atomics begins where gather ends.  Values are in no trace, and
-- loops are listed as they were run.
--
-- With `ends` each warp loads what it stored last, and uses it, before it ends: as if
-- it waited for the stores' acknowledgements, as with core.exit=stores.
--
-- SPDX-License-Identifier: MIT
local BASE, SHARED, MB = 0x7f2000000000, 0x7f0000000000, 1 << 20
local ALL = 0xffffffff

local HEAD = [[
-kernel name = %s
-kernel id = 1
-grid dim = (%d,1,1)
-block dim = (%d,1,1)
-shmem = %d
-nregs = %d
-binary version = 70
-cuda stream id = 0
-shmem base_addr = 0x00007f0000000000
-local mem base_addr = 0x00007f1000000000
-nvbit version = 1.5.5
-accelsim tracer version = 4
-enable lineinfo = 0

]] .. "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num "
    .. "[reg_srcs] mem_width [adrrescompress?] [mem_addresses] immediate\n\n"

-- ---- a warp ----------------------------------------------------------------------

local Warp = {}
Warp.__index = Warp

--- An instruction: destination register or nil, opcode, source registers, and what
-- the line says of memory.
function Warp:add(dest, op, sources, memory)
    local from = #sources > 0 and "R" .. table.concat(sources, " R") .. " " or ""
    self[#self + 1] = ("%04x %08x %s%s %d %s%s"):format(self.pc, self.mask,
        dest and ("1 R%d "):format(dest) or "0 ", op, #sources, from, memory)
    self.pc = self.pc + 16
end

function Warp:alu(op, dest, ...)
    self:add(dest, op, { ... }, "0 0")
end

--- Lanes `stride` bytes apart, 4 bytes each.
local function strided(address, stride)
    return ("4 1 0x%x %d 0"):format(address, stride)
end

local function listed(addresses)
    return ("4 0 0x%s 0"):format(table.concat(addresses, " 0x"))
end

function Warp:load(dest, by, address, stride)
    self:add(dest, "LDG.E.SYS", { by }, strided(address, stride))
end

function Warp:store(by, value, address, stride)
    self.stored = strided(address, stride)
    self:add(nil, "STG.E.SYS", { by, value }, self.stored)
end

--- What every kernel begins with: the number of its thread, and addresses.
function Warp:prologue()
    self:alu("IMAD.MOV.U32", 1, 255, 255)
    self:alu("S2R", 6)
    self:alu("S2R", 3)
    self:alu("IMAD", 6, 6, 3)
    self:alu("ISETP.GE.AND", nil, 6)
    self:alu("IMAD.WIDE", 2, 6, 7, 255)
    self:alu("IMAD.WIDE", 4, 6, 7, 255)
end

--- The end of an iteration that began at `pc`.
function Warp:again(pc)
    self:alu("IADD3", 2, 2, 255, 255)
    self:alu("ISETP.NE.AND", nil, 2)
    self:alu("BRA", nil)
    self.pc = pc
end

-- ---- the kernels: block, warp of the block, blocks, draw(n) -----------------------

local function line_of(block, w)
    return (block * 8 + w) * 128
end

local function vecadd(t, block, w)
    local n, off = 2 * MB, line_of(block, w)
    t:prologue()
    t:load(2, 2, BASE + off, 4)
    t:load(5, 4, BASE + n + off, 4)
    t:alu("IMAD.WIDE", 8, 6, 7, 255)
    t:alu("FADD", 9, 2, 5)
    t:store(8, 9, BASE + 2 * n + off, 4)
end

local function atax(t, block, w)
    local row = block * 256 + w * 32
    t:prologue()
    local pc = t.pc
    for j = 0, 47 do
        t:load(10, 2, BASE + row * 4096 + 4 * j, 4096)
        t:load(11, 4, BASE + 32 * MB + 4 * j, 0)
        t:alu("FFMA", 9, 10, 11, 9)
        t:again(pc)
    end
    t:store(8, 9, BASE + 34 * MB + row * 4, 4)
end

local function drawn(draw, range, base)
    local list = {}
    for i = 1, 32 do
        list[i] = ("%x"):format(base + draw(range) * 4)
    end
    return listed(list)
end

local function gather(t, block, w, blocks, draw)
    local id = block * 8 + w
    t:prologue()
    local pc = t.pc
    for k = 0, 1 do
        t:load(10, 2, BASE + (k * blocks * 8 + id) * 128, 4)
        t:alu("IMAD.WIDE", 12, 10, 7, 255)
        t:add(11, "LDG.E.SYS", { 12 }, drawn(draw, 64 * MB, BASE + 2 * MB))
        t:alu("FADD", 9, 11, 9)
        t:again(pc)
    end
    t:store(8, 9, BASE + 260 * MB + id * 128, 4)
end

--- A load, `n` instructions by body(i), a store.
local function arithmetic(n, body)
    return function(t, block, w)
        local off = line_of(block, w)
        t:prologue()
        t:load(9, 2, BASE + off, 4)
        for i = 0, n - 1 do
            body(t, i)
        end
        t:store(4, 12, BASE + 4 * MB + off, 4)
    end
end

local function fma_of(t, i)
    local d = 12 + i % 4
    t:alu("FFMA", d, 9, d, 9)
end

local fma = arithmetic(96, fma_of)
local fmadep = arithmetic(96, function(t) t:alu("FFMA", 12, 9, 12, 9) end)
local sfu = arithmetic(32, function(t, i) t:alu("MUFU.RCP", 12 + i % 4, 9) end)

local function stride128(t, block, w, blocks)
    local id = block * 8 + w
    t:prologue()
    local pc = t.pc
    for k = 0, 1 do
        t:load(10, 2, BASE + (k * blocks * 8 + id) * 4096, 128)
        t:alu("FADD", 9, 10, 9)
        t:again(pc)
    end
    t:store(8, 9, BASE + 64 * MB + id * 128, 4)
end

local function stencil(t, block, w)
    local off = line_of(block, w) + 8192
    t:prologue()
    for k, d in ipairs { 0, -4, 4, -4096, 4096 } do
        t:load(9 + k, 2, BASE + off + d, 4)
    end
    for k = 0, 4 do
        t:alu("FFMA", 9, 10 + k, 9, 9)
    end
    t:store(8, 9, BASE + 8 * MB + off, 4)
end

local function conflict(t, block, w)
    local off = line_of(block, w)
    t:prologue()
    t:load(9, 2, BASE + off, 4)
    for i = 0, 7 do
        t:add(10, "LDS.U", { 4 }, strided(SHARED + i * 4, 128))
        t:alu("FADD", 9, 10, 9)
    end
    t:store(8, 9, BASE + 8 * MB + off, 4)
end

--- One thread, `n` dependent loads of line(i).
local function chase(n, line)
    return function(t)
        t:prologue()
        t.mask = 1
        local pc = t.pc
        for i = 0, n - 1 do
            t:load(2, 2, BASE + line(i) * 128, 0)
            t.pc = pc
        end
    end
end

local function atomics(t, block, w, _, draw)
    local off = line_of(block, w)
    t:prologue()
    local pc = t.pc
    for k = 0, 1 do
        t:load(10, 2, BASE + off + k * MB, 4)
        t:add(nil, "RED.E.ADD.STRONG.GPU", { 4, 10 }, drawn(draw, 256, BASE
            + 8 * MB))
        t:again(pc)
    end
end

local function mixed(t, block, w, blocks)
    t:prologue()
    local pc = t.pc
    for k = 0, 3 do
        local off = ((k * blocks + block) * 8 + w) * 128
        t:load(9, 2, BASE + off, 4)
        for i = 0, 15 do
            fma_of(t, i)
        end
        t:store(4, 12, BASE + 8 * MB + off, 4)
        t:again(pc)
    end
end

local function stores(t, block, w, blocks)
    t:prologue()
    local pc = t.pc
    for k = 0, 3 do
        t:store(2, 4, BASE + ((k * blocks + block) * 8 + w) * 128, 4)
        t:again(pc)
    end
end

local function l1reuse(t, block, w)
    t:prologue()
    local pc = t.pc
    for k = 0, 23 do
        t:load(9, 2, BASE + (w * 5 + k * 3) % 64 * 128, 4)
        t:alu("FADD", 10, 9, 10)
        t:again(pc)
    end
    t:store(8, 10, BASE + 8 * MB + line_of(block, w), 4)
end

--- Name, body, blocks, threads, registers, bytes of shared memory, draws before.
local KERNELS = {
    { "vecadd", vecadd, 480, 256, 16, 0 },
    { "atax", atax, 16, 256, 24, 0 },
    { "gather", gather, 60, 256, 24, 0 },
    { "fma", fma, 120, 256, 24, 0 },
    { "fmadep", fmadep, 120, 256, 24, 0 },
    { "fmalow", fma, 30, 64, 24, 0 },
    { "sfu", sfu, 120, 256, 24, 0 },
    { "stride128", stride128, 60, 256, 16, 0 },
    { "stencil", stencil, 240, 256, 24, 0 },
    { "conflict", conflict, 60, 256, 24, 4096 },
    { "chase16k", chase(600, function(i) return i % 128 end), 1, 32, 16, 0 },
    { "chase64m", chase(400, function(i)
        return (i * 7919 * 3 + 1) % (1 << 19)
    end), 1, 32, 16, 0 },
    { "atomics", atomics, 60, 256, 24, 0, 60 * 8 * 2 * 32 },
    { "mixed", mixed, 120, 256, 24, 0 },
    { "stores", stores, 240, 256, 16, 0 },
    { "l1reuse", l1reuse, 120, 256, 24, 0 },
}

-- ---- text ------------------------------------------------------------------------

local kernels = { names = {} }

local by_name = {}
for i, k in ipairs(KERNELS) do
    kernels.names[i] = k[1]
    by_name[k[1]] = k
end

--- The trace of a kernel.
function kernels.text(name, ends)
    local _, body, blocks, threads, regs, shared, before = table.unpack(
        by_name[name])
    local seed = 12345
    local function draw(n)
        seed = seed * 6364136223846793005 + 1442695040888963407
        return (seed >> 33) % n
    end
    for _ = 1, before or 0 do
        draw(1)
    end
    local out = { HEAD:format(name, blocks, threads, shared, regs) }
    for block = 0, blocks - 1 do
        out[#out + 1] = ("#BEGIN_TB\n\nthread block = %d,0,0\n\n"):format(block)
        for w = 0, threads // 32 - 1 do
            local t = setmetatable({ pc = 0, mask = ALL }, Warp)
            body(t, block, w, blocks, draw)
            t.mask, t.pc = ALL, t.pc + 0x200
            if ends and t.stored then
                t:add(20, "LDG.E.SYS", { 2 }, t.stored)
                t:alu("FADD", 21, 20)
            end
            t:alu("EXIT", nil)
            out[#out + 1] = ("warp = %d\ninsts = %d\n%s\n\n"):format(w, #t,
                table.concat(t, "\n"))
        end
        out[#out + 1] = "#END_TB\n\n"
    end
    return table.concat(out)
end

--- Writes it below a folder; returns the path of its list of kernels.
function kernels.write(dir, name, ends)
    local process = require "heddle.process"
    local to = dir .. "/" .. name .. (ends and "-ends" or "")
    process.mkdir(to)
    for file, text in pairs { ["kernel-1.traceg"] = kernels.text(name, ends),
        ["kernelslist.g"] = "kernel-1.traceg\n" } do
        local f <close> = assert(io.open(to .. "/" .. file, "wb"))
        assert(f:write(text))
    end
    return to .. "/kernelslist.g"
end

return kernels
