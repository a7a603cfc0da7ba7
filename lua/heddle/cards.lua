--- cards.lua - NVIDIA's cards from Pascal to Ada, as machines: each value with the
-- measurement, the data sheet or the other simulator that it is from, or the word
-- "guess" or "inferred".
--
-- What is modelled is one GPU as a program with memory of cudaMalloc sees it: cores
-- of two or four sub-cores, caches of 128-byte lines in sectors of 32, slices behind a
-- crossbar, DRAM by pseudo-channels or 16-bit channels, pages of 2 MB.  A latency is in
-- cycles of the core's clock; where a source gives a whole (a hit in the L2 takes 212)
-- and heddle wants its parts, the sum is the source's and the parts are inferred.
-- DRAM's timings are nanoseconds, rounded up to cycles of its clock.
--
-- "fitted: NAME" is said of a value that was chosen so that a row of a measured curve
-- comes out; such rows count as fit in scenarios/validate, all others as tests.
-- heddle_cards(7) says how a card is added.
--
-- The sources:
--   AS-x   gpgpusim.config of configs/tested-cfgs/x in github.com/accel-sim/
--          gpgpu-sim_distribution (SM7_QV100, SM75_RTX2060 667834c; SM80_A100 9f767fb;
--          SM90_H100 01f6fc4; SM6_P100 in deprecated-cfgs)
--   AST    the tuner's output on a Titan V, accel-sim-framework
--   KB     github.com/gcoe-dresden/cuda-gpu-tlb 6c9edc6, Karnagel et al., DaMoN 2017
--   RRZE   github.com/RRZE-HPC/gpu-benches 1038c5d: gpu-latency, gpu-l2-cache
--   MT4G   github.com/caps-tum/mt4g 4cc5566, sample_results
--   YQG    github.com/yqg9651/cuda_test dade57b
--   OGK    github.com/NVIDIA/open-gpu-kernel-modules 595.45.04, kernel-open/nvidia-uvm
--   Z23    Zhang et al., CCS 2023, by github.com/0x5ec1ab/gpu-tlb 6c3ac76 (RTX 3080)
--   W24    Walker, arXiv 2405.11425 (A100)
--   L24, L25  Luo et al., arXiv 2402.13499 and 2501.12084
--   AIK    github.com/markdewing/AI_kernels, latency
--   R21    github.com/CMU-SAFARI/ramulator2 2.1, python/ramulator/dram
--   Jia    Jia et al., arXiv 1804.06826 and 1903.07486, from memory
--   WP     the white paper of the card's architecture; DS: the card's data sheet
--
-- Cores, boost clocks, L2 sizes, and width and rate of DRAM were compared with public
-- lists of cards in 2026, which agree with the values here but for what a value says;
-- the sheets themselves were not at hand.
--
-- Left out on purpose: boost clocks that move, slow and fast slices of one card,
-- instruction caches.  What no public source has is in every card a guess that says
-- so: walkers and their caches, MSHRs, hashes of sets, slices and channels.
--
-- SPDX-License-Identifier: MIT
local cards = {}

--- Groups of settings in one, the last one first.
local function join(...)
    local out = {}
    for _, groups in ipairs { ... } do
        for group, list in pairs(groups) do
            out[group] = out[group] or {}
            for name, v in pairs(list) do
                out[group][name] = v
            end
        end
    end
    return out
end

cards.join = join

-- ---- DRAM ----------------------------------------------------------------------

--- DRAM of a kind (dram.kind): its clock, channels and the latency that it has beside
-- its timings, each { value, source }; of: why it is that kind.
function cards.dram(kind, clock, channels, latency, of)
    return { clock = { dram = clock }, dram = {
        kind = { kind, of or "DS" },
        channels = channels,
        latency = latency,
        interleave = { 512, "guess" },
        channel_hash = { "ipoly", "guess: NVIDIA's hashes are not public" },
        bank_hash = { "xor", "guess: NVIDIA's hashes are not public" },
        scheduler = { "hit-first", "guess: FR-FCFS, as AS" },
        queue = { 64, "AS: gpgpu_frfcfs_dram_sched_queue_size" },
        refresh = { true, "JEDEC" },
        refresh_by = { "bank", "guess: it hides most of it" },
    } }
end

-- ---- what all have ---------------------------------------------------------------

local ALL = {
    core = {
        lanes = { 32, "WP: a warp" },
        issue = { 1, "WP: an instruction a cycle and scheduler" },
        ilp = { 1, "guess: in order, each waits for the one before" },
        scheduler = { "lrr", "guess: as AS" },
        regs = { 65536, "WP: 64 K registers of 32 bits" },
        atomics = { "word", "AS: memory_coalescing_arch_atomic; one a cycle and word "
            .. "on an RTX 2060" },
    },
    shared = { banks = { 32, "WP" } },
    l1tlb = {
        mode = { "off", "in utlb1" },
        blocking = { "none", "guess" },
        mshrs = { 56, "OGK, Titan V: at most 56 faults of a uTLB" },
    },
    l2tlb = { mode = { "off", "in utlb2" } },
    walk = {
        mode = { "full", "OGK: tables in memory" },
        walkers = { 8, "guess: nothing is public" },
        queue = { 256, "guess" },
        per_core = { false, "OGK: the MMU of the hub" },
        latency = { 0, "inferred: in the levels' latencies" },
        memory_latency = { 33, "inferred: KB, P100: 109 cycles beyond the GPC's TLB, "
            .. "so one read that hits the L2" },
    },
    pwc = {
        mode = { "full", "inferred: KB: a walk is about one read" },
        style = { "prefix", "guess" },
        entries = { 128, "Li et al., MICRO 2024: their choice" },
        ways = { 0, "guess" },
        latency = { 10, "guess" },
    },
    l1cache = {
        line = { 128, "MT4G" },
        sector_bytes = { 32, "MT4G" },
        ports = { 4, "AS: gpgpu_l1_banks" },
        write = { "through", "AS: dl1, T" },
        mshrs = { 512, "AS: dl1, A:512; a guess there" },
        merges = { 8, "AS: dl1, A:512:8; a guess there" },
    },
    l2cache = {
        line = { 128, "MT4G" },
        sector_bytes = { 32, "MT4G" },
        write = { "back", "AS: dl2, B" },
        set_hash = { "xor", "guess: NVIDIA's hashes are not public" },
        mshrs = { 192, "AS: dl2, A:192; a guess there" },
        merges = { 4, "AS: dl2, A:192:4; a guess there" },
        queue = { 64, "AS: gpgpu_dram_partition_queues" },
        ports = { 1, "AS: dl2, one data port" },
        queue_latency = { 0, "inferred: in xbar.latency" },
    },
    vm = {
        page = { "2M", "RRZE: memory of cudaMalloc has pages of 2 MB" },
    },
    uvm = {
        mode = { "driver", "OGK: where pages migrate" },
    },
}

cards.ALL = ALL

--- The latencies of the caches: those of an L1 hit, of an L2 hit and of the L2 itself
-- are { cycles, source }; what is left of an L2 hit is the crossbar's, there and back.
function cards.caches(l1, l2, slice)
    local way = (l2[1] - l1[1] - slice - 1) / 2
    assert(way == math.floor(way), "the crossbar's cycles there and back are even")
    return {
        l1cache = { latency = l1 },
        l2cache = { latency = { slice, "guess: of the L2's " .. l2[1] .. " cycles" } },
        xbar = { latency = { math.tointeger(way), ("inferred: half of what the L2's %d "
            .. "cycles have beside l1cache.latency, l2cache.latency and a flit: %s")
            :format(l2[1], l2[2]) } },
    }
end

--- Intervals of a sub-core's units, by lanes of each.
function cards.units(source, lanes, fp64, sfu)
    return { core = {
        width = { lanes, source },
        int_interval = { 32 // math.min(lanes, 16), source },
        fp32_interval = { 32 // lanes, source },
        fp64_interval = { 32 // fp64, source },
        sfu_interval = { 32 // sfu, source },
    } }
end

--- A link: bytes a second, and where from.
function cards.link(rate, source, curve)
    return { link = {
        bandwidth = { rate, source },
        curve = { "uvmsmart", curve or "guess: as PCIe 3" },
    } }
end

local PCIE3 = cards.link(12884901888, "UVMSmart: PCIe 3.0 x16, 12 GiB/s",
    "UVMSmart: PCIe 3.0 x16")
local PCIE4 = cards.link(25400000000, "jdh4/della-gpu-A100: 25.4 to 26.2 GB/s")
local PCIE5 = cards.link(59700000000, "a benchmark's README: 59.7 GB/s at 2 MB")

cards.PCIE3, cards.PCIE4, cards.PCIE5 = PCIE3, PCIE4, PCIE5

--- The core clock is the L2's, too.
function cards.clock(hz, source)
    return { clock = { core = { hz, source }, l2 = { hz, "guess: the core's" } } }
end

--- Warps, blocks and shared memory of a core.
function cards.occupancy(source, warps, blocks, shared)
    return { core = {
        warps = { warps, source },
        threads = { warps * 32, source },
        blocks = { blocks, source },
        shared_bytes = { shared, source },
    } }
end

--- Cores that share a uTLB, for the driver's faults.
local TPC = { uvm = { utlb_cores = { 2, "OGK, uvm_turing_fault_buffer.h: a uTLB a TPC; "
    .. "older drivers say it of Pascal and Volta" } } }
local SM = { uvm = { utlb_cores = { 1, "OGK, uvm_ampere_fault_buffer.h: two uTLBs a "
    .. "TPC" } } }

cards.TPC, cards.SM = TPC, SM

-- ---- TLBs and page tables ------------------------------------------------------------

--- TLBs as a list: the uTLB of `share` cores (16 entries of a page), a second level of
-- groups, and a third of all.  second, third: { tags, ways, latency, source }.
function cards.levels(share, second, groups, third)
    local function level(of)
        return {
            entries = { of[1], of[4] }, ways = { of[2], of[4] },
            sub_4k = { 16, "guess: as of 64 KB" },
            sub_64k = { 16, "Li et al., MICRO 2024: 16 sub-entries" },
            sub_2m = { 16, "KB, P100: 32 MB; Li et al." },
            latency = { of[3], of[5] or of[4] },
            mshrs = { 64, "guess: nothing is public" },
            ports = { 1, "guess" },
            replace = { "lru", "inferred: cyclic chases miss at once: LRU or FIFO" },
        }
    end
    local all = {
        l1cache = { order = { "virtual", "YQG: an L1 hit asks no TLB" } },
        utlb1 = {
            entries = { 16, "KB, Z23: 16 of a page" }, ways = { 0, "KB, Z23" },
            share = share, latency = { 0, "inferred: in the L2's cycles" },
            mshrs = { 56, "OGK, Titan V: at most 56 faults of a uTLB" },
            ports = { 1, "guess" },
        },
        utlb2 = level(second),
    }
    for name, v in pairs(groups) do
        all.utlb2[name] = v
    end
    if third then
        all.utlb3 = level(third)
        all.utlb3.share = { 0, "inferred: Z23, the A30 rows: all cores" }
    end
    return all
end

--- Page tables, with a walk cache of directories: PDE0s, which is that level of a walk
-- (for pages of 64 KB), and PDE1s (for pages of 2 MB, whose entry is in a PDE0).
function cards.format(name, pde0)
    return {
        vm = { format = { name, "OGK, uvm_*_mmu.c" } },
        pwc = {
            ways = { 128, "guess: fully associative" },
            ["entries_level" .. pde0] = { 128, "Li et al., MICRO 2024: their choice" },
            ["entries_level" .. pde0 - 1] = { 128, "fitted: KB, P100: 108 cycles "
                .. "beyond 2.3 GB, so a walk is one read" },
        },
    }
end

--- Halves of the L2, and the cycles that the far one takes more, one way.
function cards.halves(far, source)
    return { l2cache = {
        halves = { 2, "MT4G: segments of half its size" },
        far_latency = { far, source },
    } }
end

-- ---- the cards --------------------------------------------------------------------

--- What an RTX 40 and an L40 have alike.
local ADA = join(ALL,
    cards.units("WP: 4 sub-cores of 32 lanes, 4 special", 32, 32, 4),
    cards.occupancy("WP", 48, 24, 102400),
    cards.caches({ 40, "AIK: an RTX 4090" }, { 273, "L24: an RTX 4090" }, 30),
    PCIE4, SM, {
    core = {
        subcores = { 4, "WP" },
        alu_latency = { 4, "guess: as a100" },
        fp64_interval = { 64, "WP: 2 FP64 units a core" },
    },
    shared = { latency = { 29, "Accel-Sim's RTX 4060" } },
    l1cache = {
        bytes = { 106496, "guess: as GA102: RRZE, an A40: hits to 104 KB" },
        ways = { 208, "guess: 4 sets" },
    },
    xbar = { bytes = { 32, "inferred: an RTX 4090's slices: "
        .. "smallscientist1/cuda_microbenchmark" } },
    l2cache = { ways = { 16, "Accel-Sim's RTX 4060" } },
},
    cards.levels({ 1, "OGK" }, { 1024, 8, 10, "Z23: 128 sets, 8 ways",
        "inferred: RRZE, an A40: 546.7 to 553.3" }, {
        hash_bits = { 7, "Z23, a GA102" },
        hash_from = { 0, "guess: Z23 has 20 for pages of 64 KB" } },
        { 2048, 8, 109, "inferred: Z23: 256 sets, 8 ways", "guess: KB, P100" }),
    cards.format("ampere", 4))

cards.PRESETS = {
    {
        name = "p100",
        summary = "a Tesla P100 PCIe 16 GB (Pascal, 2016)",
        settings = join(ALL,
            cards.clock(1303000000, "inferred: DS: 9.3 TFLOPS; lists have "
                .. "boosts of 1,303 and 1,329 MHz"),
            cards.units("WP: 2 sub-cores of 32 lanes, 16 for FP64, 8 special", 32, 16,
                8),
            cards.occupancy("WP", 64, 32, 65536),
            cards.caches({ 0, "KB: global loads bypass it" }, { 292, "KB: 292, clock "
                .. "reads included" }, 31),
            cards.dram("hbm2", { 715000000, "DS: 732 GB/s, 1.43 Gbit/s a pin" },
                { 64, "DS: 4,096 bits; pseudo-channels of 8 bytes" },
                { 100, "AS-SM7_QV100: dram_latency" }), PCIE3, TPC, {
            core = {
                count = { 56, "DS" },
                subcores = { 2, "WP" },
                alu_latency = { 6, "Jia" },
            },
            shared = { latency = { 24, "Jia" } },
            l1cache = {
                mode = { "off", "KB: global loads bypass it" },
                bytes = { 24576, "WP" },
                ways = { 48, "guess: 4 sets" },
                latency = { 1, "KB: not used" },
            },
            xbar = { bytes = { 32, "AS-SM6_P100: icnt_flit_size, less its header" } },
            l2cache = {
                bytes = { 4194304, "WP" },
                ways = { 16, "AS-SM6_P100: 64 sets of 16 ways a slice" },
                slices = { 32, "AS-SM6_P100" },
            },
            vm = { memory_bytes = { 16 << 30, "DS" } },
        },
            cards.levels({ 2, "KB: a TPC" }, { 72, 0, 9, "guess: KB: 66 to 129; "
                .. "as a K80", "KB: 292.5 to 301.5" }, { groups = { "4x10 2x8",
                "KB: sharing at 32 MB; cores are in order of groups here" } }),
            cards.format("volta", 4)),
    },
    {
        name = "v100",
        summary = "a Tesla V100 16 GB (Volta, 2017)",
        settings = join(ALL,
            cards.clock(1380000000, "MT4G: a V100 PCIe, and its DS"),
            cards.units("WP: 4 sub-cores of 16 lanes, 8 for FP64, 4 special", 16, 8, 4),
            cards.occupancy("WP", 64, 32, 98304),
            cards.caches({ 28, "RRZE: 27.9" }, { 212, "RRZE: 212.1" }, 31),
            cards.dram("hbm2", { 877000000, "MT4G: memory clock" },
                { 64, "DS: 4,096 bits; pseudo-channels of 8 bytes" },
                { 158, "fitted: RRZE: 425 cycles at 8 to 16 MB" }), PCIE3, TPC, {
            core = {
                count = { 80, "DS" },
                subcores = { 4, "WP" },
                alu_latency = { 4, "AST: 4.1 to 4.3" },
                int_latency = { 4, "AST" },
                fp32_latency = { 4, "AST" },
                fp64_latency = { 8, "AS-SM7_QV100: ptx_opcode_latency_dp" },
            },
            shared = { latency = { 23, "MT4G" } },
            l1cache = {
                bytes = { 126976, "fitted: RRZE: hits to 121 KB; MT4G: 117,760" },
                ways = { 248, "AS-SM7_QV100: dl1, 4 sets" },
            },
            xbar = { bytes = { 32, "AST: of 1,536 bytes a cycle and 48 slices 1,366 to "
                .. "1,385" } },
            l2cache = {
                bytes = { 6291456, "MT4G" },
                ways = { 24, "AS-SM7_QV100: dl2, 32 sets of 24 ways a slice" },
                slices = { 64, "AS-SM7_QV100: 32 times 2" },
            },
            vm = { memory_bytes = { 16 << 30, "DS" } },
        },
            cards.levels({ 2, "OGK: a TPC" }, { 256, 16, 9, "Jia: about 8 GB, "
                .. "entries of 32 MB", "inferred: RRZE: 425 to 431 at 96 MB; KB" },
                { groups = { "4x14 2x12", "inferred: WP: 6 GPCs of at most 14" } },
                { 1024, 16, 109, "guess", "guess: KB, P100" }),
            cards.format("volta", 4)),
    },
    {
        name = "rtx2060",
        summary = "a GeForce RTX 2060 6 GB (Turing, 2019)",
        settings = join(ALL,
            cards.clock(1680000000, "DS: boost"),
            cards.units("WP: 4 sub-cores of 16 lanes, 4 special", 16, 16, 4),
            cards.occupancy("WP", 32, 16, 65536),
            cards.caches({ 32, "AS-SM75_RTX2060: gpgpu_l1_latency" },
                { 214, "AIK: an RTX 2000" }, 31),
            cards.dram("gddr6", { 1750000000, "DS: 14 Gbit/s a pin" },
                { 12, "DS: 192 bits; channels of 16 bits" },
                { 213, "inferred: MT4G: an RTX 2080 Ti, 484 cycles" }), PCIE3, TPC, {
            core = {
                count = { 30, "DS" },
                subcores = { 4, "WP" },
                alu_latency = { 4, "AS-SM75_RTX2060: ptx_opcode_latency_fp" },
                fp64_interval = { 64, "WP: 2 FP64 units a core" },
            },
            shared = { latency = { 30, "AS-SM75_RTX2060: gpgpu_smem_latency" } },
            l1cache = {
                bytes = { 61440, "MT4G: 60,416 (T1000) to 62,976 (2080 Ti)" },
                ways = { 120, "AS-SM75_RTX2060: dl1, 4 sets" },
                mshrs = { 256, "AS-SM75_RTX2060: dl1, A:256" },
                merges = { 32, "AS-SM75_RTX2060: dl1, A:256:32" },
            },
            xbar = { bytes = { 32, "AS-SM75_RTX2060: icnt_flit_size, less its "
                .. "header" } },
            l2cache = {
                bytes = { 3145728, "inferred: WP: a TU106's 4 MB of 256 bits" },
                ways = { 16, "AS-SM75_RTX2060: dl2" },
                slices = { 24, "AS-SM75_RTX2060: 12 times 2" },
            },
            vm = { memory_bytes = { 6 << 30, "DS" } },
        },
            cards.levels({ 2, "OGK: a TPC" }, { 256, 16, 9, "guess: as v100" },
                { groups = { "3x10", "WP: 3 GPCs" } }, { 1024, 16, 109, "guess",
                "guess: KB, P100" }),
            cards.format("volta", 4)),
    },
    {
        name = "a100",
        summary = "an A100 SXM4 80 GB (Ampere GA100, 2020)",
        settings = join(ALL,
            cards.clock(1410000000, "DS: boost; MT4G"),
            cards.units("WP: 4 sub-cores of 16 lanes, 8 for FP64, 4 special", 16, 8, 4),
            cards.occupancy("WP", 64, 32, 167936),
            cards.caches({ 33, "RRZE: 33.0" }, { 206, "RRZE: 205.6, the near half" },
                30),
            cards.dram("hbm2e", { 1593000000, "DS: 2,039 GB/s, 3.19 Gbit/s a pin" },
                { 80, "DS: 5,120 bits; pseudo-channels of 8 bytes" },
                { 128, "fitted: RRZE: 521 cycles at 47 to 110 MB, half of "
                .. "them behind the far half" }),
            PCIE4, SM, {
            core = {
                count = { 108, "DS" },
                subcores = { 4, "WP" },
                alu_latency = { 4, "AS-SM80_A100: ptx_opcode_latency_fp" },
                fp64_latency = { 6, "AS-SM80_A100: ptx_opcode_latency_dp" },
                tensor_latency = { 25, "AS-SM80_A100: ptx_opcode_latency_tensor" },
                tensor_interval = { 16, "AS-SM80_A100: ptx_opcode_initiation_tensor" },
            },
            shared = { latency = { 28, "AS-SM80_A100: gpgpu_smem_latency" } },
            l1cache = {
                bytes = { 159744, "inferred: RRZE: hits to 152 KB, none at 215; MT4G: "
                    .. "176,128" },
                ways = { 312, "AS-SM80_A100: dl1, 4 sets" },
                merges = { 64, "AS-SM80_A100: dl1, A:512:64" },
            },
            xbar = { bytes = { 64, "WP: 5,120 bytes a cycle of 80 slices" } },
            l2cache = {
                bytes = { 41943040, "WP: of 2 halves" },
                ways = { 16, "AS-SM80_A100: dl2" },
                slices = { 80, "WP: of 64 bytes a cycle" },
                fetch_bytes = { 128, "YQG: of cold loads at a stride of 64 bytes "
                    .. "every second hits" },
                ports = { 2, "WP: 64 bytes a cycle, two sectors" },
            },
            vm = { memory_bytes = { 80 << 30, "DS" } },
        },
            cards.levels({ 1, "OGK; A30 rows: not shared" }, { 2048, 16, 10,
                "inferred: W24: 64 GB a group", "YQG: 209.0 to 219.0" }, { groups = {
                "12x8 2x6", "W24: 14 groups; A30 rows: 6 or 8 cores" } },
                { 4096, 16, 109, "guess", "guess: KB, P100" }),
            cards.format("ampere", 4),
            cards.halves(100, "inferred: YQG: a far hit takes 390 to 420 "
                .. "cycles, a near one 206")),
    },
    {
        name = "h100",
        summary = "an H100 SXM5 80 GB (Hopper, 2022)",
        settings = join(ALL,
            cards.clock(1980000000, "MT4G"),
            cards.units("WP: 4 sub-cores of 32 lanes, 16 for FP64, 4 special", 32, 16,
                4),
            cards.occupancy("WP", 64, 32, 233472),
            cards.caches({ 38, "MT4G: p50" }, { 222, "MT4G: p50, the near half" }, 31),
            cards.dram("hbm3", { 1309500000, "MT4G: 2,619 MHz / 2" },
                { 160, "DS: 5,120 bits; pseudo-channels of 4 bytes" },
                { 245, "inferred: L25: an H800's near miss, "
                    .. "556 cycles" }), PCIE5, SM, {
            core = {
                count = { 132, "DS" },
                subcores = { 4, "WP" },
                alu_latency = { 4, "AS-SM90_H100" },
            },
            shared = { latency = { 30, "MT4G" } },
            l1cache = {
                bytes = { 238592, "MT4G: 238,848, in lines of 4 sets" },
                ways = { 466, "guess: 4 sets" },
            },
            xbar = { bytes = { 64, "inferred: L25: 4,472 bytes a cycle, of 80 times "
                .. "64" } },
            l2cache = {
                bytes = { 52428800, "DS: of 2 halves" },
                ways = { 20, "AS-SM90_H100: dl2" },
                slices = { 80, "inferred: L25: 4,472 bytes a cycle" },
                fetch_bytes = { 64, "guess" },
                ports = { 2, "inferred: 64 bytes a cycle, two sectors" },
            },
            vm = { memory_bytes = { 80 << 30, "DS" } },
        },
            cards.levels({ 1, "OGK" }, { 2048, 16, 10, "guess: as a100" },
                { groups = { "22x6", "guess: a CPC" } }, { 4096, 16, 109, "guess",
                "guess: KB, P100" }),
            cards.format("hopper", 5),
            cards.halves(78, "inferred: L25, an H800: near 258, far 414")),
    },
    {
        name = "rtx4080",
        summary = "a GeForce RTX 4080 16 GB (Ada, 2022)",
        settings = join(ADA,
            cards.clock(2505000000, "DS: boost"),
            cards.dram("gddr6x", { 2800000000, "DS: 22.4 Gbit/s a pin; an eighth of "
                .. "that, as GDDR6: guess" },
                { 16, "DS: 256 bits; channels of 16 bits" },
                { 177, "inferred: L24: an RTX 4090, 541.5 cycles" }), {
            core = { count = { 76, "DS" } },
            l2cache = { bytes = { 67108864, "WP" },
                slices = { 32, "inferred: 8 for 64 bits, as an RTX 4090" } },
            utlb2 = { groups = { "3x12 4x10", "guess: 7 GPCs of at most 12" } },
            vm = { memory_bytes = { 16 << 30, "DS" } },
        }),
    },
    {
        name = "l40",
        summary = "an L40 48 GB (Ada, 2022)",
        settings = join(ADA,
            cards.clock(2490000000, "DS: boost"),
            cards.dram("gddr6", { 2250000000, "DS: 18 Gbit/s a pin" },
                { 24, "DS: 384 bits; channels of 16 bits" },
                { 177, "guess: as rtx4080" }), {
            core = { count = { 142, "DS" } },
            l2cache = { bytes = { 100663296, "inferred: WP: all of an AD102's 96 MB" },
                slices = { 48, "inferred: 8 for 64 bits, as an RTX 4090" } },
            utlb2 = { groups = { "11x12 1x10", "guess: 12 GPCs of at most 12" } },
            vm = { memory_bytes = { 48 << 30, "DS" } },
        }),
    },
}

return cards
