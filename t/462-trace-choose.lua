-- 462-trace-choose.lua - pins: kernels of a trace chosen by number, range and
-- name, and their blocks: what a text is read for and what a container is cut to
-- are the same, contents and statistics; files that are not chosen are not opened;
-- kernels that run several times; memory that the host has freed at a kernel left
-- out; and what is refused, with the kernels that there are.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local whole = require "lib.whole"
local H = require "heddle"
local trace = require "heddle.trace"

local dir = files.folder()

--- A kernel of `grid` blocks, written from the last to the first if `back`.
local function kernel(id, name, grid, back)
    local x = id
    local function random(n)
        x = (x * 1103515245 + 12345) & 0x7fffffff
        return (x >> 8) % n
    end
    local out = { ("-kernel name = %s\n-kernel id = %d\n-grid dim = (%d,1,1)\n"
        .. "-block dim = (64,1,1)\n-nregs = 16\n"
        .. "-shmem base_addr = 0x00007f0000000000\n"
        .. "-local mem base_addr = 0x00007f1000000000\n"
        .. "-accelsim tracer version = 4\n#traces format = x\n"):format(name,
        id, grid) }
    for i = 1, grid do
        local b = back and grid - i or i - 1
        out[#out + 1] = "#BEGIN_TB\nthread block = " .. b .. ",0,0\n"
        for w = 0, 1 do
            local mask = random(0xffffff) + 1
            local line = { ("0020 %08x 1 R6 LDG.E 1 R4 4 0"):format(mask) }
            for l = 0, 31 do
                if mask >> l & 1 == 1 then
                    line[#line + 1] = ("0x%x"):format(0x7f2000100000
                        + random(1 << 20) * 4)
                end
            end
            out[#out + 1] = ("warp = %d\ninsts = 6\n"
                .. "0000 ffffffff 1 R2 S2R 0 0 0\n"
                .. "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x%x 4 0\n%s 0\n"
                .. "0030 ffffffff 1 R7 FADD 2 R6 R4 0 0\n"
                .. "0040 ffffffff 0 STL 2 R1 R7 4 1 0x%x 0 0\n"
                .. "0050 ffffffff 0 EXIT 0 0 0\n"):format(w,
                0x7f2000000000 + (b * 2 + w) * 128, table.concat(line, " "),
                0x7f1000fffd00 - 4 * b)
        end
        out[#out + 1] = "#END_TB\n"
    end
    return table.concat(out)
end

files.write(dir .. "/kernel-1.traceg", kernel(1, "_Z4gemmPf", 6))
files.write(dir .. "/kernel-2.traceg", kernel(2, "_Z7softmaxPf", 3))
files.write(dir .. "/kernel-3.traceg", kernel(3, "_Z4gemmPf", 9, true))
files.write(dir .. "/kernelslist.g", "MemcpyHtoD,0x00007f2000000000,4096\n"
    .. "kernel-1.traceg\nkernel-2.traceg\nkernel-3.traceg\n")
local box = dir .. "/all.hdt"
trace.convert(dir, box)

local function statistics(path, o)
    local sim <close> = H.sim { machine = "maxwell", apps = { H.trace(path, o) },
        check = true }
    sim:run()
    return whole.statistics(sim), sim.instructions
end

--- What a choice comes to: ids, blocks, and that text, container and a container
-- of the choice are one.
local function chosen(o, ids, blocks, what)
    local w = H.trace(dir, o).make()
    local got, n = {}, 0
    for i, k in ipairs(trace.kernels(w)) do
        got[i], n = k.id, n + k.blocks
    end
    tap.is(table.concat(got, " "), ids, what .. ": kernels")
    tap.is(n, blocks, what .. ": blocks")
    local cut = H.trace(box, o).make()
    local x, y = trace.info(w), trace.info(cut)
    x.name, x.hash, y.name, y.hash = nil, nil, nil, nil
    tap.ok(not tap.differ(x, y), what .. ": a container is cut to that",
        tap.differ(x, y))
    o.label = "chosen"
    local want = statistics(dir, o)
    local d = whole.difference(want, (statistics(box, o)))
    tap.ok(not d, what .. ": with the same statistics", d)
    local part = dir .. "/part.hdt"
    trace.record(w, part)
    d = whole.difference(want, (statistics(part, { label = "chosen" })))
    tap.ok(not d, what .. ": and recorded, too", d)
    return x
end

local all = chosen({ kernels = { 1, 2, 3 } }, "1 2 3", 18, "all by number")
tap.is(all.instructions, trace.info(trace.open(dir)).instructions,
    "are all there are")
chosen({ kernels = { 2 } }, "2", 3, "one")
chosen({ kernels = "2-" }, "2 3", 12, "a range")
chosen({ kernels = { "softmax", 3 } }, "2 3", 12, "a name and a number")
chosen({ kernels = "gemm" }, "1 3", 15, "a name")
chosen({ kernels = "^_Z[0-9]+g.*f$" }, "1 3", 15, "a pattern")
chosen({ blocks = 2 }, "1 2 3", 6, "the first blocks")
chosen({ blocks = { 1, 4 } }, "1 2 3", 10, "a range of blocks")
chosen({ kernels = "3", blocks = "7-" }, "3", 2, "the last blocks of one")
local few = chosen({ kernels = 3, blocks = "8-8" }, "3", 1, "one block")
tap.ok(few.pages < all.pages and few.local_words == 1,
    "maps the pages that it touches", few.pages)

-- ---- files that are not chosen --------------------------------------------------

files.write(dir .. "/some.g", "kernel-1.traceg\nkernel-8.traceg\nkernel-9.traceg\n")
files.write(dir .. "/kernel-9.traceg", "not a trace\n")
tap.is(trace.info(H.trace(dir .. "/some.g", { kernels = 1 }).make()).kernels, 1,
    "a kernel is read though another's file is not there, or no trace")
tap.raises(function() H.trace(dir .. "/some.g", { kernels = "gemm" }).make() end,
    "some.g:2: ", "which its name would be read from")
files.write(dir .. "/kernel-9.traceg", kernel(9, "cut", 4):gsub(
    "(thread block = 1.*)", function(s) return s:sub(1, 300) end) .. "")
tap.is(trace.info(H.trace(dir .. "/kernel-9.traceg", { blocks = 1 }).make())
    .blocks, 1, "a file is not read behind the last block that is chosen")
tap.raises(function() H.trace(dir .. "/kernel-9.traceg").make() end,
    "kernel-9.traceg:", "where it is damaged")
tap.raises(function() H.trace(dir .. "/kernel-9.traceg", { blocks = "3-3" })
    .make() end, "the trace has none of those chosen of kernel 9", "nor does it have the others")

-- ---- several times --------------------------------------------------------------

local _, once = statistics(dir, { kernels = "gemm" })
local again, thrice = statistics(dir, { kernels = "gemm", times = 3,
    label = "x" })
tap.is(thrice, 3 * once, "three times as much")
local d = whole.difference(again, (statistics(box, { kernels = "gemm",
    times = 3, label = "x" })))
tap.ok(not d, "from a container, too", d)
local order = {}
do
    local sim <close> = H.sim { machine = "maxwell",
        apps = { H.trace(dir, { times = 2 }) } }
    sim:run()
    for i, k in ipairs(sim.core:kernels()) do
        order[i] = k.name:match "gemm" or k.name:match "softmax"
    end
end
tap.is(table.concat(order, " "), "gemm softmax gemm gemm softmax gemm",
    "the whole sequence is what is repeated")
tap.ok(H.trace(dir, { kernels = { 1, 2 } }).key
    == H.trace(dir, { kernels = "1,2" }).key, "a list is the text of it")
tap.raises(function() trace.record(H.trace(dir, { times = 2 }).make(),
    dir .. "/x.hdt") end, "each kernel once", "a container has no repeats")
tap.raises(function() H.trace(dir, { times = 1 << 20, blocks = 1 }).make()
    H.trace(dir, { times = (1 << 20) + 1 }).make() end,
    "option times: expected a whole number from 1 to 1048576", "too often")

-- ---- memory that comes and goes -------------------------------------------------

do
    local from = dir .. "/freer.hdt"
    trace.record(whole.freer(64, 3).make(), from)
    local function freed(o)
        local sim <close> = H.sim { machine = "maxwell", check = true,
            apps = { H.trace(from, o) } }
        sim:run()
        return sim:counters().memory.freed
    end
    local b = freed {}
    tap.is(freed { kernels = "3" }, b,
        "what the host has freed before a kernel is freed without those before it")
    tap.is(freed { kernels = "1-2" }, b // 2, "and no more")
    tap.raises(function() freed { times = 2 } end, "does not allocate again",
        "nor can it be freed twice")
    tap.is(freed { kernels = "3-", times = 1 }, b, "once it can")
end

-- ---- what is refused ------------------------------------------------------------

for _, case in ipairs {
    { { kernels = 4 }, "kernelslist.g: no kernel `4'; it has 3: 1, 2, 3" },
    { { kernels = { 1, "relu" } }, "no kernel with a name that has `relu'; it has "
        .. "3: 1 _Z4gemmPf, 2 _Z7softmaxPf, 3 _Z4gemmPf" },
    { { kernels = "1,,2" }, "numbers from 1, ranges such as 5-8" },
    { { kernels = 0 }, "not `0'" },
    { { kernels = "3-2" }, "not `3-2'" },
    { { kernels = { "a,b" } }, "in a pattern write . for one" },
    { { kernels = {} }, "a list of at least one" },
    { { kernels = "(" }, "kernels: `(': " },
    { { blocks = 0 }, "a number of blocks, or a range" },
    { { blocks = "4-2" }, "not `4-2'" },
    { { blocks = "x" }, "not `x'" },
    { { blocks = "3-5" }, "kernel 2 (_Z7softmaxPf) has no block from 3 on; its "
        .. "grid has 3" },
} do
    for _, path in ipairs { dir, box } do
        local text = case[2]:gsub("kernelslist%.g", path == box and "all.hdt"
            or "%0")
        if path == box then
            text = text:gsub("it has 3: 1, 2, 3", "it has 3: 1 _Z4gemmPf")
        end
        tap.raises(function() H.trace(path, case[1]).make() end, text,
            case[2])
    end
end

-- ---- the command ----------------------------------------------------------------

local function command(line)
    return files.output(files.HEDDLE .. " trace " .. line)
end
local out = command("info " .. dir .. " kernels=gemm blocks=4")
tap.ok(out:find("8 thread blocks", 1, true) and not out:find "softmax"
    and out:find("4 of 6 blocks", 1, true),
    "trace info of a choice", out)
command("convert " .. dir .. " " .. dir .. "/c.hdt kernels=2")
out = command("info " .. dir .. "/c.hdt")
tap.ok(out:find("kernel 1: _Z7softmaxPf", 1, true) and not out:find "gemm",
    "trace convert of one", out)
out = command("check " .. box .. " kernels=9")
tap.ok(out:find "no kernel `9'", "trace check of one that is not there", out)
out = command("dump " .. dir .. " kernels=3 blocks=8-")
tap.ok(out:find "^1 8 0 " and not out:find "\n1 7", "trace dump of a block", out)

os.execute("rm -rf " .. dir)
tap.done()
