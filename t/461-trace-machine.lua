-- 461-trace-machine.lua - pins, on a whole machine: a text trace and its
-- conversion give the same statistics, byte for byte in every counter; so do a
-- program and its recording where addresses depend on no order; a recording
-- opens under two address spaces; the invariants hold.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local whole = require "lib.whole"
local H = require "heddle"
local trace = require "heddle.trace"

local dir = files.folder()

--- A text trace with strides, lists, divergence, wide loads, local memory and
-- barriers.
local function write_trace(path)
    local f <close> = assert(io.open(path, "w"))
    local x = 1
    local function random(n)
        x = (x * 1103515245 + 12345) & 0x7fffffff
        return (x >> 8) % n
    end
    f:write("-kernel name = mixed\n-grid dim = (60,1,1)\n",
        "-block dim = (96,1,1)\n-nregs = 16\n",
        "-shmem base_addr = 0x00007f0000000000\n",
        "-local mem base_addr = 0x00007f1000000000\n",
        "-accelsim tracer version = 4\n#traces format = x\n")
    for b = 0, 59 do
        f:write("#BEGIN_TB\nthread block = ", b, ",0,0\n")
        for w = 0, 2 do
            local n = random(5)
            f:write("warp = ", w, "\ninsts = ", 4 + 5 * n, "\n",
                "0000 ffffffff 1 R2 S2R 0 0 0\n")
            for i = 1, n do
                local mask = random(0xffffff) + 1
                f:write(("0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x%x 4 0\n")
                    :format(0x7f2000000000 + ((b * 3 + w) * 5 + i) * 128))
                f:write(("0020 %08x 1 R6 LDG.E 1 R4 4 0"):format(mask))
                for l = 0, 31 do
                    if mask >> l & 1 == 1 then
                        f:write((" 0x%x"):format(0x7f2000100000
                            + random(1 << 18) * 4))
                    end
                end
                f:write(" 0\n0030 ffffffff 1 R7 FADD 2 R6 R4 0 0\n",
                    "0040 ffffffff 0 STL 2 R1 R7 4 1 0x7f1000fffd00 0 0\n",
                    "0048 ffffffff 2 R8 R12 LDG.E.ENL2.256 1 R2 32 1 ",
                    ("0x%x 32 0\n"):format(0x7f2000080000 + b * 1008))
            end
            f:write("0050 ffffffff 0 BAR.SYNC 0 0 0\n",
                "0060 ffffffff 0 STG.E 2 R2 R7 4 1 0x7f2000000000 4 0\n",
                "0070 ffffffff 0 EXIT 0 0 0\n")
        end
        f:write("#END_TB\n")
    end
end

local function statistics(...)
    local sim = H.sim { machine = "maxwell", apps = { ... }, check = true }
    sim:run()
    local out = whole.statistics(sim)
    local instructions = sim.instructions
    sim:close()
    return out, instructions
end

local text, box = dir .. "/mixed.traceg", dir .. "/mixed.hdt"
write_trace(text)
trace.convert(text, box)
local want, n = statistics(H.trace(text))
tap.is(n, trace.info(trace.open(text)).instructions,
    "every warp instruction is issued and counted")
tap.ok(not whole.difference(want, (statistics(H.trace(box)))),
    "a trace and its conversion give the same statistics",
    whole.difference(want, (statistics(H.trace(box)))))
tap.ok(not whole.difference(want,
    (statistics(H.trace(text, { keep = 1 })))),
    "so does one that spilled to a temporary file")

local two, m = statistics(H.trace(text), H.trace(box))
tap.ok(#two > 0 and m >= 2 * n, "the trace shares the machine with itself")

for _, name in ipairs { "ATAX", "3DS", "FWT" } do
    local app = H.app(name, { size = "T" })
    local path = dir .. "/" .. name .. ".hdt"
    trace.record(app.make(), path, 64) -- lanes of a warp on maxwell
    local d = whole.difference((statistics(app)),
        (statistics(H.trace(path, { label = app.label }))))
    tap.ok(not d, name .. " and its recording give the same statistics", d)
end

-- Texture fetches: of SAD's reference frame.  The machine released does not
-- translate them, and a recording says which they are; of shared memory it does
-- not, so that has no part in it.
do
    local function on(machine, what)
        local sim <close> = H.sim { machine = machine, apps = { what },
            check = true, settings = { ["core.shared_unit"] = false } }
        sim:run()
        return whole.statistics(sim), sim:counters().l1tlb.untranslated
    end
    local app = H.app("SAD", { size = "T" })
    local path = dir .. "/SAD.hdt"
    trace.record(app.make(), path, 32) -- lanes of a warp on released
    local program, untranslated = on("released", app)
    local recorded = on("released", H.trace(path, { label = app.label }))
    tap.ok(not whole.difference(program, recorded),
        "textures and their recording give the same statistics",
        whole.difference(program, recorded))
    tap.ok(untranslated > 0, "texture fetches look up no TLB", untranslated)
    local other, none = on(H.machine "released" {
        ["core.translate_textures"] = true }, app)
    tap.is(none, 0, "unless the machine translates them")
    tap.ok(whole.difference(program, other), "and that matters")
    local spaces = {}
    trace.dump(trace.open(path), function(op)
        spaces[op.space] = (spaces[op.space] or 0) + 1
    end)
    tap.ok(spaces.texture and spaces.global and not spaces["local"],
        "a dump says so", spaces.texture)
end

os.execute("rm -rf " .. dir)
tap.done()
