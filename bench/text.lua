--[[
text.lua - the two Accel-Sim traces of the benchmarks, as text again.

    heddle run bench/text.lua [out=build/bench]

The tree ships them as containers.  This writes OUT/vecadd and OUT/gather, each
a kernelslist.g and a kernel-1.traceg.xz, byte for byte what the containers were
converted from: the instructions around the memory accesses are known, and the
addresses come out of the container.  What stands there already stays; a file
whose contents have another hash than the container is an error.

As a module it also writes longer ones, for measurements of memory.

SPDX-License-Identifier: MIT
]]
local trace = require "heddle.trace"
local process = require "heddle.process"

local text = {}

local DATA = "scenarios/data/"

local HEAD = [[
-kernel name = %s
-kernel id = 1
-grid dim = (%d,1,1)
-block dim = (256,1,1)
-shmem = 0
-nregs = %d
-binary version = 70
-cuda stream id = 0
-shmem base_addr = 0x00007f0000000000
-local mem base_addr = 0x00007f1000000000
-nvbit version = 1.5.5
-accelsim tracer version = 4
-enable lineinfo = 0

#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num ]] ..
[[[reg_srcs] mem_width [adrrescompress?] [mem_addresses] immediate
]]

--- The first eight instructions of both kernels.
local START = [[
0000 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R255 0 0
0010 ffffffff 1 R6 S2R 0 0 0
0020 ffffffff 1 R3 S2R 0 0 0
0030 ffffffff 1 R6 IMAD 2 R6 R3 0 0
0040 ffffffff 0 ISETP.GE.AND 1 R6 0 0
0060 ffffffff 1 R7 IMAD.MOV.U32 2 R255 R255 0 0
0070 ffffffff 1 R2 IMAD.WIDE 3 R6 R7 R255 0 0
0080 ffffffff 1 R4 IMAD.WIDE 3 R6 R7 R255 0 0
]]

local VECADD = START .. [[
0090 ffffffff 1 R2 LDG.E.SYS 1 R2 4 1 0x%x 4 0
00a0 ffffffff 1 R5 LDG.E.SYS 1 R4 4 1 0x%x 4 0
00b0 ffffffff 1 R8 IMAD.WIDE 3 R6 R7 R255 0 0
00c0 ffffffff 1 R9 FADD 2 R2 R5 0 0
00d0 ffffffff 0 STG.E.SYS 2 R8 R9 4 1 0x%x 4 0
00e0 ffffffff 0 EXIT 0 0 0
]]

local GATHER = [[
0090 ffffffff 1 R10 LDG.E.SYS 1 R2 4 1 0x%x 4 0
00a0 ffffffff 1 R12 IMAD.WIDE 3 R10 R7 R255 0 0
00b0 ffffffff 1 R11 LDG.E.SYS 1 R12 4 0 %s 0
00c0 ffffffff 1 R9 FADD 2 R11 R9 0 0
00d0 ffffffff 1 R2 IADD3 3 R2 R255 R255 0 0
00e0 ffffffff 0 ISETP.NE.AND 1 R2 0 0
00f0 ffffffff 0 BRA 0 0 0
]]

local GATHER_END = [[
0100 ffffffff 0 STG.E.SYS 2 R8 R9 4 1 0x%x 4 0
0110 ffffffff 0 EXIT 0 0 0
]]

--- An xz process, written to one thread block at a time.
local function writer(path, head)
    local out = assert(io.popen("xz -1 -T1 -c > '" .. path .. "'", "w"))
    out:write(head)
    local self = {}

    --- `warps` holds the instructions of each warp, from warp 0.
    function self.block(number, insts, warps)
        out:write("\n#BEGIN_TB\n\nthread block = ", number, ",0,0\n")
        for w, s in ipairs(warps) do
            out:write("\nwarp = ", w - 1, "\ninsts = ", insts, "\n", s)
        end
        out:write("\n#END_TB\n")
    end

    function self.close()
        out:write("\n")
        assert(out:close(), path .. ": xz failed")
    end
    return self
end

local function list(dir, names)
    local f = assert(io.open(dir .. "/kernelslist.g", "w"))
    for _, name in ipairs(names) do
        f:write(name, "\n")
    end
    f:close()
    return dir .. "/kernelslist.g"
end

local function directory(dir)
    local path = dir:sub(1, 1) == "/" and "" or "."
    for part in dir:gmatch "[^/]+" do
        path = path .. "/" .. part
        process.mkdir(path)
    end
end

--- Collects the operations of a container's blocks and calls fn(block, warps),
-- with warps[w] the list of the addresses of each memory instruction.
local function each_block(container, fn)
    local at, warps
    trace.dump(trace.open(container), function(op)
        if op.block ~= at then
            if at then
                fn(at, warps)
            end
            at, warps = op.block, {}
        end
        local w = warps[op.warp + 1] or {}
        warps[op.warp + 1] = w
        local addresses = {}
        for lane = 0, op.lanes - 1 do
            addresses[#addresses + 1] = op.addr[lane]
        end
        w[#w + 1] = addresses
    end)
    fn(at, warps)
end

local function write_vecadd(path)
    local out = writer(path, HEAD:format("vecadd", 8960, 16))
    each_block(DATA .. "vecadd.hdt", function(block, warps)
        for w, ops in ipairs(warps) do
            warps[w] = VECADD:format(ops[1][1], ops[2][1], ops[3][1])
        end
        out.block(block, 14, warps)
    end)
    out.close()
end

local function hex(addresses)
    local out = {}
    for i, a in ipairs(addresses) do
        out[i] = ("0x%x"):format(a)
    end
    return table.concat(out, " ")
end

local function write_gather(path)
    local out = writer(path, HEAD:format("gather", 640, 24))
    each_block(DATA .. "gather.hdt", function(block, warps)
        for w, ops in ipairs(warps) do
            local parts = { START }
            for i = 1, #ops - 1, 2 do
                parts[#parts + 1] = GATHER:format(ops[i][1], hex(ops[i + 1]))
            end
            parts[#parts + 1] = GATHER_END:format(ops[#ops][1])
            warps[w] = table.concat(parts)
        end
        out.block(block, 38, warps)
    end)
    out.close()
end

local function exists(path)
    local f = io.open(path, "rb")
    if f then
        f:close()
    end
    return f ~= nil
end

--- Whether a text trace holds what the container holds.
local function check(name, path)
    local a = trace.info(trace.open(path)).hash
    local b = trace.info(trace.open(DATA .. name .. ".hdt")).hash
    assert(a == b, path .. ": not what " .. name .. ".hdt holds; remove it")
end

--- Paths of the kernel lists of both traces: { vecadd =, gather = }.
function text.make(out)
    local write = { vecadd = write_vecadd, gather = write_gather }
    local paths = {}
    for name, fn in pairs(write) do
        local dir = out .. "/" .. name
        directory(dir)
        paths[name] = dir .. "/kernelslist.g"
        if not exists(paths[name]) then
            fn(dir .. "/kernel-1.traceg.xz")
            list(dir, { "kernel-1.traceg.xz" })
            check(name, paths[name])
        end
    end
    return paths
end

--- vecadd of any number of blocks over the same 30 MB, listed any number of
-- times: what is read grows, what is touched does not.
function text.long(out, blocks, kernels)
    local dir = ("%s/long-%d"):format(out, blocks)
    local file = dir .. "/kernel-1.traceg.xz"
    directory(dir)
    if not exists(file) then
        local w = writer(file .. ".part", HEAD:format("vecadd", blocks, 16))
        local base, array, fold = 0x7f2000000000, 0xa00000, 8960 * 8
        for b = 0, blocks - 1 do
            local warps = {}
            for i = 1, 8 do
                local a = base + (b * 8 + i - 1) % fold * 128
                warps[i] = VECADD:format(a, a + array, a + 2 * array)
            end
            w.block(b, 14, warps)
        end
        w.close()
        assert(os.rename(file .. ".part", file))
    end
    local names = {}
    for i = 1, kernels do
        names[i] = "kernel-1.traceg.xz"
    end
    return list(dir, names)
end

if ... ~= "text" then -- run, not required
    local arg = require("heddle").args { out = "build/bench" }
    for _, path in pairs(text.make(arg.out)) do
        print(path)
    end
end

return text
