--- counters.lua - sectors and cycles of kernels on a V100, beside what its counters
-- said (Accel-Sim's hw_perf.csv: means over the launches of a kernel).
--
-- Kernels whose data need no file and of which heddle has a program: backprop and
-- hotspot of Rodinia 3.1 (65,536 inputs; 1,024 x 1,024, two steps), srad of srad_v1
-- (502 x 458), Parboil's sgemm (medium; instructions of sm_75), a pass in memory and
-- the pass in shared memory of the CUDA samples' fastWalshTransform (2^23 floats).
-- And kernels of other samples, written down for this (samples.lua): both of
-- quasirandomGenerator, the second of dct8x8, histogram64, sobolQRNG.  Instructions
-- between accesses are otherwise those of an older compiler, which has more of them; so
-- are, in part, cycles.
--
-- Compared are sectors of 32 bytes that loads ask of the L1, that ask the L2, that are
-- written to it, and that DRAM reads, and cycles.  What DRAM writes is left out: it is
-- what the L2 has not kept of the launch before.  A kernel runs alone, since the counters
-- say that caches were emptied before each: what DRAM read for srad is its image, once.
-- (That was chosen after a first run, in which launches followed each other and reads
-- of DRAM were 0.78 and 0.01 of the card's for adjust and srad.)  Nothing of the preset
-- is from here.  Of 61 rows 8 are off: L2 reads of both of backprop's kernels (0.88) and
-- of sobol (0.77: a core's blocks find more of their directions in its L1 than there),
-- cycles of hotspot, layerforward, cnd and sobol, and the mean of cycles (1.28).  The
-- page takes 50 s of one processor.
--
--     heddle run scenarios/validate/counters.lua
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"
local k = require "heddle.kernel"
local kernels = require "kernels"
local samples = require "samples"

local arg = H.args(experiment.args {})

local v = common.open { name = "validate/counters", arg = arg,
    source = "accel-sim-framework, hw_perf.csv",
    title = "sectors and cycles of kernels on a V100" }
local x = v.x

local figures, head = {}, nil
for _, row in ipairs(common.figures "counters-v100-kernels.csv") do
    head = head or row
    local f = {}
    for i, name in ipairs(head) do
        f[name] = row[i]
    end
    figures[row[1] .. " " .. row[2]] = f
end

--- One launch of an application of heddle's, alone: whatever it reads comes from DRAM.
local function alone(name, launch, params)
    local whole = require("heddle.apps." .. name)
    local app = k.app { name = ("%s_%d"):format(name, launch), source = whole.source,
        params = whole.params, buffers = whole.buffers, kernels = function(p, b)
            return { whole.kernels(p, b)[launch] }
        end }
    return kernels.job(app, params, "counters.lua")
end

local RODINIA, SAMPLES = "-rodinia-3.1 ", "fastWalshTransform "

--- A program, and the kernel's name there.
local PROGRAMS = {
    { alone("bp", 1, { n = 65536 }), "backprop" .. RODINIA .. "bpnn_layerforward_CUDA" },
    { alone("bp", 2, { n = 65536 }), "backprop" .. RODINIA
        .. "bpnn_adjust_weights_cuda" },
    { alone("hs", 1, { n = 1024, steps = 2 }), "hotspot" .. RODINIA
        .. "calculate_temp" },
    { alone("srad", 5, { rows = 502, cols = 458, iterations = 1 }), "srad_v1" .. RODINIA
        .. "srad" },
    { alone("mm", 1, { m = 1024, n = 1056, k = 992, code = "sass" }),
        "parboil-sgemm mysgemmNT" },
    { alone("fwt", 1, { n = 23 }), SAMPLES .. "fwtBatch2Kernel" },
    { alone("fwt", 7, { n = 23 }), SAMPLES .. "fwtBatch1Kernel" },
    { samples.of "quasirandom", "quasirandomGenerator quasirandomGeneratorKernel" },
    { samples.of "cnd", "quasirandomGenerator inverseCNDKernel" },
    { samples.of "dct", "dct8x8 CUDAkernel2DCT" },
    { samples.of "histogram64", "histogram histogram64Kernel" },
    { samples.of "sobol", "sobolQRNG sobolGPU_kernel" },
}

--- Benchmarks there that are not run here, and why.
local NO_PROGRAM = "there is no program of it here"
local LEFT = {
    { "b+tree", "its tree and its queries are a file" },
    { "kmeans", "its features are texture fetches there, loads here" },
    { "parboil-sad", "6.6 million cycles are too many for this page" },
    { "parboil-mri-q", "its 1,024 samples of k-space a thread are too many instructions "
        .. "for this page" },
    { "dct8x8, CUDAkernel1DCT", "its image is a texture, whose layout is not public" },
    { "binomialOptions", "1.4 million cycles are too many for this page" },
    { "mergeSort", NO_PROGRAM }, { "cutlass", "tensor cores: " .. NO_PROGRAM },
    { "cudaTensorCoreGemm", "tensor cores: " .. NO_PROGRAM },
}

local COUNTS = {
    { "L1 reads", { "l1_rh", "l1_rm" }, "l1sector.reads" },
    { "L2 reads", { "l2_rh", "l2_rm" }, "l2sector.reads" },
    { "L2 writes", { "l2_wh", "l2_wm" }, "l2sector.writes" },
    { "DRAM reads", { "dram_rd" }, "l2sector.fetched" },
}

local FEW = 1000 -- sectors, of a kernel that asks for none; walks and arguments

local jobs = {}
for i, p in ipairs(PROGRAMS) do
    jobs[i] = { machine = "v100", seed = arg.seed, apps = { p[1] },
        settings = { ["vm.round"] = true } }
end
local sum, names, there, here = 0, {}, {}, {}
for i, r in ipairs(x:run(jobs)) do
    local key, launch = PROGRAMS[i][2], r.kernels[1]
    local f = assert(figures[key], key)
    local name = key:match "^[%w_]+" .. " " .. key:match "%S+$"
    for _, c in ipairs(COUNTS) do
        local sectors = 0
        for _, column in ipairs(c[2]) do
            sectors = sectors + f[column]
        end
        v:row { ("v100: %s, %s"):format(name, c[1]), unit = "k sectors",
            measured = sectors / 1000, use = "test", tolerance = 0.1,
            within = sectors < FEW and FEW / 1000 or nil,
            heddle = (launch.counters[c[3]] or 0) / 1000 }
    end
    v:row { ("v100: %s, cycles"):format(name), unit = "k cycles",
        measured = f.elapsed_cycles / 1000, heddle = launch.cycles / 1000,
        tolerance = 0.3, use = "test" }
    sum = sum + math.abs(math.log(launch.cycles / f.elapsed_cycles))
    names[i], there[i], here[i] = name, f.elapsed_cycles, launch.cycles
end
v:row { "v100: cycles of these, exp(mean |ln ratio|)", unit = "times", measured = 1,
    heddle = math.exp(sum / #names), tolerance = 0.2, use = "test" }
for _, c in ipairs(LEFT) do
    v:row { "v100: " .. c[1], unit = "", use = "test", why = c[2] }
end
x:bars { title = "kernels on a V100", unit = "cycles", groups = names,
    xlabel = "kernel", series = {
    { name = "measured", values = there }, { name = "heddle", values = here } } }
x:say "Means over launches there; here one launch of each kernel, alone"
v:close()
