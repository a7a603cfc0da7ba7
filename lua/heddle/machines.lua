--- machines.lua - the machines of the papers, as tables that derive from one
-- another; every value says where it comes from.
--
-- A machine states what differs from the one it derives from, and what its own
-- paper says, too; the rest it has from there, and then the source says so:
-- "as maxwell: MASK table 1".  The root is the engine's defaults.  "guess" marks
-- what no source gives.
--
--     local m = H.machine("maxwell") { ["l2tlb.entries"] = 1024 }
--     local small = H.machine("maxwell") { core = { count = 4 } }
--
-- The papers: MASK = Ausavarungnirun et al., ASPLOS 2018; Mosaic = the same,
-- MICRO 2017; ETC = Li et al., ASPLOS 2019; MESC = Yu, Bai, Wang; Pichai =
-- Pichai, Hsu, Bhattacharjee, ASPLOS 2014; Power = Power, Hill, Wood, HPCA
-- 2014; release = github.com/CMU-SAFARI/Mosaic, v3.x, the simulator of the first
-- two (pthread_benchmark/gpgpusim.config), whose 30 cycles before DRAM cannot be
-- set here; Maxwell file = the file of that name in the release's first commit
-- (92c8e75, October 2017), a GTX 750 Ti, which the last one replaced by a Fermi
-- card; TU104 = github.com/sjfeng1999/gpu-arch-microbenchmark, an RTX 2070:
-- in cycles, L1 32, L2 236, TLB 472, and cold 1000 to 1200.
--
-- The papers give neither the width of DRAM nor the path from a core to the L2.
-- Both are the release's where it has them: a line of 128 bytes is one burst, by
-- the Maxwell file, and requests are in the L2's partition for 85 cycles, before
-- its tags.  So beside maxwell and mosaic, which have these, are machines that
-- differ in the paths alone: maxwell-literal and mosaic-literal have what table 1
-- says and no more, maxwell-crossbar and mosaic-crossbar have the release's cycles
-- in the crossbar, so that bypassed reads have them, too, and reads of a walker
-- next to the L2 do not.
--
-- accelsim-rtx2060 is no paper's: config = configs/tested-cfgs/SM75_RTX2060/
-- gpgpusim.config of github.com/accel-sim/gpgpu-sim_distribution (667834c), and
-- trace.config the file of that name in accel-sim-framework.  No value of it is
-- fitted (scenarios/accelsim/traces.lua).
--
-- NVIDIA's cards are in cards.lua.
--
-- SPDX-License-Identifier: MIT
local config = require "heddle.config"

local machines = {}

-- The release's cycles in the crossbar, for maxwell-crossbar and mosaic-crossbar.
local CROSSBAR = {
    xbar = {
        latency = { 50, "release: 85 and 30 cycles before the L2 and "
            .. "DRAM, as a latency there and back: an interpretation" },
    },
    walk = {
        latency = { 50, "MASK footnote 2: beside the L2 cache, so the "
            .. "crossbar's" },
        memory_latency = { 1, "guess: MASK footnote 2: beside the L2 "
            .. "cache, no crossbar between" },
    },
    l2cache = { queue_latency = { 0, "release: rop_latency is in "
        .. "xbar.latency" } },
}

local PRESETS = {
    {
        name = "maxwell",
        summary = "30 cores with a shared L2 TLB, after a GTX 750 Ti (MASK)",
        settings = {
            clock = {
                core = { 1020000000, "MASK table 1" },
                l2 = { 1020000000, "guess: the core clock" },
                dram = { 1674000000, "MASK table 1" },
            },
            core = {
                count = { 30, "MASK table 1" },
                lanes = { 64, "MASK table 1: 64 threads a warp" },
                width = { 64, "MASK table 1: 64 execution units" },
                issue = { 1, "guess: 64 lanes leave no room for more" },
                alu_latency = { 9, "MASK table 1: a 9-stage pipeline" },
                ilp = { 1, "calibration: the integer of which the geometric "
                    .. "mean of 24 programs' IPC over MAFIA's is nearest to 1 "
                    .. "(1.23): heddle run scenarios/characterise/mafia.lua "
                    .. "scale=full" },
                scheduler = { "gto", "MASK table 1" },
                warps = { 64, "MASK table 1" },
                threads = { 4096, "MASK table 1: 64 warps of 64" },
                blocks = { 32, "guess: as GM107" },
                regs = { 65536, "datasheet: GM107/GM204 65,536 registers" },
                shared_bytes = { 98304, "guess: as GM204" },
            },
            l1tlb = {
                mode = { "full", "MASK table 1" },
                entries = { 64, "MASK table 1" },
                ways = { 0, "MASK table 1: fully associative" },
                large_entries = { 0, "MASK: one page size" },
                latency = { 1, "MASK table 1" },
                ports = { 1, "Mosaic table 1" },
                blocking = { "hits", "MASK 6: as Pichai et al. 6.3: hits "
                    .. "under a miss" },
            },
            l2tlb = {
                mode = { "full", "MASK table 1" },
                entries = { 512, "MASK table 1" },
                ways = { 16, "MASK table 1" },
                large_entries = { 0, "MASK: one page size" },
                latency = { 10, "MASK table 1" },
                ports = { 2, "MASK table 1" },
            },
            bypass = { entries = { 0, "MASK 5.1: only with tokens" } },
            xbar = {
                latency = { 8, "guess: MASK footnote 3 has 10 ns and queuing" },
            },
            walk = {
                mode = { "full", "MASK table 1" },
                walkers = { 64, "MASK table 1" },
                per_core = { false, "MASK figure 2: shared by all cores" },
                latency = { 8, "MASK footnote 2: beside the L2 cache, so the "
                    .. "crossbar's" },
                memory_latency = { 1, "guess: MASK footnote 2: beside the L2 "
                    .. "cache, no crossbar between" },
            },
            pwc = {
                mode = { "off", "MASK figure 2b: an L2 TLB instead" },
                style = { "physical", "Power 4.2" },
                entries = { 1024, "MASK table 1: 8 KB of 8-byte entries" },
                ways = { 16, "MASK table 1" },
                latency = { 10, "MASK table 1" },
            },
            l1cache = {
                bytes = { 16384, "MASK table 1" },
                ways = { 4, "MASK table 1" },
                latency = { 1, "MASK table 1" },
                line = { 128, "guess: as the papers' simulator" },
            },
            l2cache = {
                bytes = { 2097152, "MASK table 1" },
                ways = { 16, "MASK table 1" },
                latency = { 10, "MASK table 1" },
                queue_latency = { 85, "release: rop_latency, in the partition "
                    .. "before the tags, for walk reads, too; against MASK "
                    .. "footnote 3, which has 10 ns" },
                slices = { 16, "MASK table 1: 16 banks" },
                ports = { 2, "MASK table 1" },
                line = { 128, "guess: as the papers' simulator" },
            },
            dram = {
                channels = { 8, "MASK table 1" },
                banks = { 8, "MASK table 1" },
                bus_bytes = { 128, "Maxwell file: 2 parts of 32 bytes, BL 8: a "
                    .. "line is one burst; it takes bits for bytes, GPGPU-Sim's "
                    .. "own slip for this card: for lines four times, nominally "
                    .. "sixteen times, a real GTX 750 Ti" },
                scheduler = { "hit-first",
                    "MASK table 1: FR-FCFS, as the papers' simulator" },
            },
            vm = {
                page = { "4K", "MASK 6" },
                memory_bytes = { 3221225472, "Mosaic table 1" },
            },
        },
    },
    {
        name = "maxwell-literal",
        from = "maxwell",
        summary = "maxwell with nothing between a core and the L2 but MASK's "
            .. "table 1",
        settings = {
            xbar = { latency = { 8, "guess: MASK table 1 gives no more than "
                .. "the L2's 10 cycles" } },
            walk = { latency = { 8, "MASK footnote 2: beside the L2 cache, so "
                .. "the crossbar's" } },
            l2cache = { queue_latency = { 0, "MASK table 1: 10 cycles in all" } },
        },
    },
    {
        name = "maxwell-crossbar",
        from = "maxwell",
        summary = "maxwell with the release's cycles before the L2 and DRAM in "
            .. "the crossbar",
        settings = CROSSBAR,
    },
    {
        name = "aggressive",
        from = "maxwell",
        summary = "maxwell with misses under misses and the shortest paths: "
            .. "what an MMU could be",
        settings = {
            core = {
                regs = { 131072, "guess: 32 a thread when full" },
                ilp = { 0, "guess: runs of arithmetic depend on nothing" },
            },
            l1tlb = {
                blocking = { "none", "Pichai 6.3: future work" },
                mshrs = { 32, "Pichai 7.2: one a thread" },
            },
            xbar = { latency = { 8, "guess" } },
            l2cache = { queue_latency = { 0, "guess: the shortest path" } },
            walk = {
                latency = { 10, "gem5-gpu: 20 cycles to the MMU and back" },
                memory_latency = { 0, "guess: over the crossbar like other "
                    .. "reads" },
            },
        },
    },
    {
        name = "maxwell-tu104",
        from = "maxwell",
        summary = "maxwell with misses under misses and latencies measured on "
            .. "a real card",
        settings = {
            l1tlb = {
                blocking = { "none", "guess: there is no measurement" },
            },
            l1cache = {
                latency = { 32, "TU104: a hit in the L1 takes 32 cycles" },
            },
            xbar = {
                latency = { 95, "TU104: a hit in the L2 takes 236 cycles" },
            },
            l2cache = {
                latency = { 10, "guess: of the 236 cycles of TU104, as MASK "
                    .. "table 1" },
                queue_latency = { 0, "TU104: in xbar.latency" },
            },
            dram = { bus_bytes = { 32, "guess: 32 bits, BL 8, as the release's "
                .. "last configuration" } },
            l2tlb = {
                latency = { 11, "guess: of the 472 cycles of TU104" },
            },
            walk = {
                latency = { 112, "TU104: a miss of the first TLB takes 472 "
                    .. "cycles, the L2 hit behind it included" },
                memory_latency = { 60, "TU104: where nothing is cached a load "
                    .. "takes 1000 to 1200 cycles, and four reads of a walk "
                    .. "are in it" },
            },
        },
    },
    {
        name = "released",
        from = "maxwell",
        summary = "the simulator that MASK's and Mosaic's authors released",
        settings = {
            clock = {
                core = { 700000000, "release: gpgpusim.config" },
                l2 = { 700000000, "release: gpgpusim.config" },
                dram = { 924000000, "release: gpgpusim.config" },
            },
            core = {
                count = { 30, "release: gpgpusim.config" },
                lanes = { 32, "release: gpgpusim.config" },
                width = { 32, "release: gpgpusim.config" },
                issue = { 2, "release: gpgpusim.config: 2 schedulers" },
                warps = { 48, "release: gpgpusim.config" },
                threads = { 1536, "release: gpgpusim.config" },
                blocks = { 8, "release: gpgpusim.config" },
                regs = { 32768, "release: gpgpusim.config" },
                shared_bytes = { 49152, "release: gpgpusim.config" },
                translate_atomics = { false, "release: atomics ask no TLB" },
                shared_unit = { true, "release: one dispatch register for all "
                    .. "that is no arithmetic" },
                translate_textures = { false, "release: texture fetches ask "
                    .. "no TLB" },
            },
            l1tlb = {
                entries = { 64, "release: gpgpusim.config" },
                ways = { 0, "release: tlb.cc: fully associative" },
                latency = { 1, "maxwell's; release: tlb.cc: a look-up takes no "
                    .. "time" },
                large_entries = { 16, "release: tlb_size_large" },
                large_ways = { 0, "release: tlb.cc: fully associative" },
                blocking = { "full", "release: shader.cc: a miss holds the "
                    .. "memory stage until its walk is over" },
            },
            l2tlb = {
                entries = { 512, "release: gpgpusim.config" },
                ways = { 16, "release: gpgpusim.config" },
                large_entries = { 256, "release: l2_tlb_entries_large" },
                large_ways = { 0, "Mosaic table 1: fully associative" },
                latency = { 0, "release: tlb.cc: a look-up takes no time" },
                mshrs = { 4096, "release: tlb.cc: no limit" },
            },
            xbar = { latency = { 8, "guess; release: rop_latency is in "
                .. "l2cache.queue_latency" } },
            walk = {
                latency = { 0, "release: tlb.cc" },
                memory_latency = { 0, "release: walk reads cross as any other "
                    .. "read" },
                port = { "core", "release: by the memory port of the missing "
                    .. "core" },
                walkers = { 4096, "release: tlb.cc: no limit" },
            },
            bypass = { entries = { 0, "release: tlb_lookup_bypass is 0" } },
            pwc = {
                mode = { "off", "release: no walk cache as it is set" },
                latency = { 85, "release: pw_cache_latency" },
                entries = { 512, "release: tlb_pw_cache_entries: 64 sets" },
                ways = { 8, "release: tlb_pw_cache_ways" },
            },
            l1cache = {
                mshrs = { 128, "release: gpgpusim.config" },
                merges = { 8, "release: gpgpusim.config" },
            },
            l2cache = {
                bytes = { 1572864, "release: gpgpusim.config" },
                ways = { 16, "maxwell's; release: 32, which moves MASK's losses "
                    .. "by 0.6 points at most" },
                slices = { 6, "release: gpgpusim.config" },
                latency = { 10, "maxwell's" },
                queue_latency = { 85, "release: rop_latency, in the partition "
                    .. "before the tags, for walk reads, too" },
                mshrs = { 128, "release: gpgpusim.config" },
                merges = { 4, "release: gpgpusim.config" },
            },
            dram = {
                channels = { 6, "release: gpgpusim.config" },
                banks = { 8, "release: gpgpusim.config" },
                bus_bytes = { 32, "release: gpgpusim.config: 4 bytes, BL 8" },
                scheduler = { "hit-first", "release: FR-FCFS, which in it is "
                    .. "this one" },
                queue = { 256, "release: gpgpusim.config" },
            },
        },
    },
    {
        name = "released-maxwell",
        from = "released",
        summary = "released with DRAM and L2 cache of its first commit's "
            .. "Maxwell card",
        settings = {
            l2cache = {
                bytes = { 2097152, "Maxwell file; MASK table 1" },
                slices = { 8, "one a channel, as released" },
            },
            dram = {
                channels = { 8, "MASK table 1" },
                bus_bytes = { 128, "Maxwell file: 2 parts of 32 bytes, BL 8: a "
                    .. "line is one burst; bits taken for bytes" },
            },
        },
    },
    {
        name = "mosaic",
        from = "maxwell",
        summary = "the same cores with large-page TLB entries and 6 channels",
        settings = {
            clock = {
                core = { 1020000000, "Mosaic table 1" },
                dram = { 1674000000, "Mosaic table 1" },
            },
            core = {
                count = { 30, "Mosaic table 1" },
                scheduler = { "gto", "Mosaic table 1" },
                issue = { 2, "guess: two warps of 32: 64 execution units a core "
                    .. "by MASK table 1, of the same simulator and card" },
                lanes = { 32, "guess: as the papers' simulator" },
                width = { 32, "guess: as the papers' simulator" },
                threads = { 2048, "guess: 64 warps of 32" },
                regs = { 65536, "guess: 32 a thread when full" },
            },
            l1tlb = {
                entries = { 128, "Mosaic table 1" },
                ways = { 0, "Mosaic table 1: fully associative" },
                latency = { 1, "Mosaic table 1" },
                ports = { 1, "Mosaic table 1" },
                large_entries = { 16, "Mosaic table 1" },
                large_ways = { 0, "Mosaic table 1: fully associative" },
                blocking = { "hits", "guess: as MASK 6; the text names MSHRs "
                    .. "only" },
            },
            l2tlb = {
                entries = { 512, "Mosaic table 1" },
                ways = { 16, "Mosaic table 1" },
                latency = { 10, "Mosaic table 1" },
                ports = { 2, "Mosaic table 1" },
                large_entries = { 256, "Mosaic table 1" },
                large_ways = { 0, "Mosaic table 1: fully associative" },
            },
            walk = { walkers = { 64, "Mosaic table 1" },
                per_core = { false, "Mosaic table 1: shared" } },
            pwc = { mode = { "off", "Mosaic 3.1: an L2 TLB instead" } },
            l1cache = {
                bytes = { 16384, "Mosaic table 1" },
                ways = { 4, "Mosaic table 1" },
                latency = { 1, "Mosaic table 1" },
            },
            l2cache = {
                bytes = { 2097152, "Mosaic table 1" },
                ways = { 16, "Mosaic table 1" },
                latency = { 10, "Mosaic table 1" },
                ports = { 2, "Mosaic table 1: 2 ports a partition" },
                slices = { 12, "Mosaic table 1: 2 banks a partition" },
            },
            dram = {
                channels = { 6, "Mosaic table 1" },
                banks = { 8, "Mosaic table 1" },
                scheduler = { "hit-first",
                    "Mosaic table 1: FR-FCFS, as the papers' simulator" },
            },
            vm = {
                page = { "4K", "Mosaic: GPU-MMU has 4 KB or 2 MB" },
                memory_bytes = { 3221225472, "Mosaic table 1" },
            },
        },
    },
    {
        name = "mosaic-literal",
        from = "mosaic",
        summary = "mosaic with maxwell-literal's paths to the L2",
        settings = {
            xbar = { latency = { 8, "guess, as maxwell-literal: Mosaic table 1 "
                .. "gives no more than the L2's 10 cycles" } },
            walk = { latency = { 8, "MASK footnote 2: beside the L2 cache, so "
                .. "the crossbar's" } },
            l2cache = { queue_latency = { 0, "Mosaic table 1: 10 cycles in "
                .. "all" } },
        },
    },
    {
        name = "mosaic-crossbar",
        from = "mosaic",
        summary = "mosaic with maxwell-crossbar's paths to the L2",
        settings = CROSSBAR,
    },
    {
        name = "etc",
        from = "maxwell",
        summary = "maxwell with 64 KB pages and a walk cache (ETC)",
        settings = {
            l1tlb = {
                entries = { 64, "ETC table 1" },
                ways = { 0, "ETC table 1: fully associative" },
                blocking = { "hits", "guess: as MASK 6; the text names MSHRs "
                    .. "only" },
            },
            l2tlb = {
                entries = { 512, "ETC table 1" },
                ways = { 16, "ETC table 1" },
            },
            xbar = { latency = { 8, "guess: as Mosaic's simulator, which ETC "
                .. "modifies" } },
            walk = {
                walkers = { 64, "ETC table 1" },
                latency = { 8, "guess: as Mosaic's simulator, which ETC "
                    .. "modifies" },
                memory_latency = { 1, "guess: as Mosaic's simulator, which ETC "
                    .. "modifies" },
            },
            pwc = {
                mode = { "full", "ETC table 1: beside the L2 TLB" },
                entries = { 1024, "ETC table 1: 8 KB" },
                ways = { 16, "ETC table 1" },
                latency = { 10, "as MASK table 1; ETC table 1 has none" },
            },
            l2cache = {
                slices = { 16, "ETC table 1: 2 banks in 8 partitions" },
                ports = { 2, "ETC table 1: 2 ports a partition" },
                queue_latency = { 85, "release: rop_latency, of Mosaic's "
                    .. "simulator, which ETC modifies" },
            },
            dram = {
                channels = { 8, "ETC table 1" },
                bus_bytes = { 128, "Maxwell file, of Mosaic's simulator, which "
                    .. "ETC modifies: a line is one burst" },
            },
            vm = { page = { "64K", "ETC table 1" } },
            fault = {
                prefetch = { "locality", "ETC 5: Zheng et al.'s; 512 KB from the "
                    .. "faulting page on" },
            },
            link = {
                latency = { 20000, "ETC table 1: 20 us a far fault" },
                bandwidth = { 16000000000, "ETC table 1: PCIe, 16 GB/s" },
            },
        },
    },
    {
        name = "mesc",
        from = "maxwell",
        summary = "16 compute units behind an IOMMU (MESC)",
        settings = {
            clock = {
                core = { 700000000, "MESC table I" },
                l2 = { 700000000, "guess: the core clock" },
                dram = { 1000000000, "MESC table I" },
            },
            core = {
                count = { 16, "MESC table I" },
                lanes = { 32, "MESC table I" },
                width = { 32, "MESC table I" },
                threads = { 2048, "guess: 64 warps of 32" },
                regs = { 65536, "guess: 32 a thread when full" },
                shared_bytes = { 65536, "guess: as GCN" },
                issue = { 1, "guess: a warp fills the 32 lanes" },
            },
            l1tlb = {
                entries = { 32, "MESC table I" },
                ways = { 0, "MESC table I: fully associative" },
                blocking = { "none", "guess: MESC says nothing of it" },
            },
            l2tlb = {
                mode = { "full", "MESC table I: the IOMMU's TLB" },
                latency = { 10, "guess: as maxwell; MESC does not say" },
                ports = { 2, "guess: as maxwell; MESC does not say, and "
                    .. "GESUMMV gains 14 % by 16" },
                entries = { 512, "MESC table I" },
                ways = { 16, "MESC table I" },
            },
            xbar = { latency = { 50, "guess: as maxwell-crossbar; MESC does not say" } },
            walk = {
                walkers = { 16, "MESC table I" },
                per_core = { false, "MESC table I: in the IOMMU" },
                latency = { 10, "gem5-gpu: 20 cycles to the MMU and back" },
                memory_latency = { 0, "MESC: an IOMMU, which is not beside the "
                    .. "L2: over the crossbar" },
                memory = { "dram", "MESC: after its walk cache an IOMMU reads "
                    .. "memory" },
            },
            pwc = {
                mode = { "full", "MESC table I" },
                style = { "prefix", "MESC: caches the top three levels" },
                entries = { 1024, "MESC table I: 8 KB" },
                ways = { 16, "guess: as maxwell" },
                latency = { 10, "guess: as maxwell; MESC does not say" },
            },
            l1cache = {
                bytes = { 32768, "MESC table I" },
                ways = { 4, "MESC table I" },
                line = { 128, "MESC table I" },
            },
            l2cache = {
                bytes = { 2097152, "MESC table I" },
                ways = { 16, "MESC table I" },
                line = { 128, "MESC table I" },
                queue_latency = { 0, "guess: in xbar.latency" },
            },
            dram = {
                channels = { 2, "MESC table I" },
                banks = { 8, "MESC table I" },
                bus_bytes = { 64, "guess: 64 bits, 8 transfers" },
                bl = { 4, "guess: 2 transfers a cycle, 16 GB/s a channel" },
                tccd_s = { 4, "guess: a burst" },
                tccd_l = { 4, "guess: a burst, no bank groups" },
            },
            vm = { page = { "4K", "MESC: its baseline's pages" } },
        },
    },
    {
        name = "pichai",
        from = "maxwell",
        summary = "a TLB and a walker in each core (Pichai)",
        settings = {
            clock = {
                core = { 1300000000, "guess: shader clock of the GPU that "
                    .. "the CCWS simulator models" },
                l2 = { 650000000, "guess: the CCWS simulator's" },
                dram = { 800000000, "guess: the CCWS simulator's" },
            },
            core = {
                count = { 30, "Pichai 5.2" },
                lanes = { 32, "Pichai 5.2" },
                width = { 8, "Pichai 5.2: 8 lanes" },
                issue = { 1, "guess: a warp takes the 8 lanes for 4 cycles" },
                warps = { 32, "Pichai 5.2: 1024 threads (it also says 48)" },
                threads = { 1024, "Pichai 5.2" },
                scheduler = { "lrr", "Pichai 5.2" },
                shared_bytes = { 16384, "Pichai 5.2" },
                blocks = { 8, "guess: as GT200" },
                regs = { 65536, "guess: 64 a thread when full" },
            },
            l1tlb = {
                mode = { "full", "Pichai 5.2: a TLB in each core" },
                large_entries = { 0, "Pichai: one page size" },
                entries = { 128, "Pichai 7.2" },
                ways = { 4, "Pichai 7.2" },
                ports = { 4, "Pichai figure 6: 3 or 4" },
                mshrs = { 32, "Pichai 7.2: one a thread" },
                latency = { 0, "Pichai: in the shadow of the L1 cache" },
                blocking = { "full", "Pichai: the naive TLB blocks" },
                overlap = { "off", "Pichai 6.1: the naive TLB" },
            },
            l2tlb = { mode = { "off", "Pichai: none" } },
            xbar = { latency = { 50, "Pichai 6.3: several tens of cycles, which "
                .. "its simulator counts at 325 MHz: an L2 hit is 225 shader "
                .. "cycles, 56 of those; with 8 it is 14; as maxwell-crossbar" } },
            walk = {
                walkers = { 1, "Pichai 5.2" },
                per_core = { true, "Pichai 5.2" },
                latency = { 0, "Pichai 6.2: the walker is next to the core's "
                    .. "TLB" },
                memory_latency = { 0, "Pichai 5.2: walkers in the cores, so "
                    .. "over the crossbar" },
            },
            pwc = { mode = { "off", "Pichai: none" } },
            l1cache = {
                bytes = { 32768, "Pichai 5.2" },
                ways = { 8, "CCWS simulator" },
                line = { 128, "Pichai 5.2" },
            },
            l2cache = {
                bytes = { 1048576, "Pichai 5.2: 128 KB a channel" },
                ways = { 8, "guess" },
                slices = { 8, "Pichai 5.2: one a channel" },
                line = { 128, "that of the L1: there is one line size" },
                queue_latency = { 0, "guess: in xbar.latency" },
            },
            dram = {
                channels = { 8, "Pichai 5.2" },
                bus_bytes = { 32, "guess: 32 bits, BL 8" },
            },
            vm = { page = { "4K", "Pichai: 2 MB only in its section 9" } },
        },
    },
    {
        name = "fermi",
        from = "maxwell",
        summary = "a GTX 480 with MASK's translation (MASK table 4)",
        settings = {
            clock = {
                core = { 1400000000, "datasheet of the GTX 480" },
                l2 = { 700000000, "datasheet of the GTX 480" },
                dram = { 924000000, "datasheet of the GTX 480" },
            },
            core = {
                count = { 15, "datasheet of the GTX 480" },
                lanes = { 32, "GF100 white paper" },
                width = { 32, "GF100 white paper" },
                issue = { 1, "guess: a warp fills the 32 lanes" },
                warps = { 48, "GF100 white paper" },
                threads = { 1536, "GF100 white paper" },
                blocks = { 8, "GF100 white paper" },
                regs = { 32768, "GF100 white paper" },
                shared_bytes = { 49152, "GF100 white paper" },
            },
            xbar = { latency = { 8, "guess: as maxwell, in the same simulator" } },
            walk = {
                latency = { 8, "guess: as maxwell, in the same simulator" },
                memory_latency = { 1, "guess: as maxwell, in the same "
                    .. "simulator" },
            },
            l2cache = {
                bytes = { 786432, "GF100 white paper" },
                slices = { 6, "GF100 white paper: one a channel" },
                queue_latency = { 85, "release: rop_latency, of MASK's "
                    .. "simulator" },
            },
            dram = {
                channels = { 6, "GF100 white paper" },
                bus_bytes = { 64, "GF100 white paper: 64 bits a channel" },
            },
            vm = { memory_bytes = { 1610612736, "datasheet of the GTX 480" } },
        },
    },
    {
        name = "integrated",
        from = "maxwell",
        summary = "an integrated GPU with a shared walker (Power)",
        settings = {
            clock = {
                core = { 700000000, "Power 5" },
                l2 = { 700000000, "guess: the core clock" },
                dram = { 800000000, "guess: dual-channel DDR3-1600" },
            },
            core = {
                count = { 16, "Power 5" },
                lanes = { 32, "Power 5" },
                width = { 32, "Power 5" },
                issue = { 1, "guess: a warp fills the 32 lanes" },
                warps = { 48, "guess: as Fermi" },
                threads = { 1536, "guess: 48 warps of 32" },
                blocks = { 8, "guess: as Fermi" },
                regs = { 32768, "guess: as Fermi" },
                shared_bytes = { 49152, "guess: as Fermi" },
            },
            l1tlb = {
                entries = { 64, "Power 4.1" },
                latency = { 1, "gem5-gpu: 1 cycle" },
            },
            xbar = { latency = { 50, "guess: as maxwell-crossbar; Power does not say" } },
            walk = {
                walkers = { 32, "Power 4.2" },
                per_core = { false, "Power: shared by all" },
                latency = { 10, "gem5-gpu: 20 cycles to the MMU and back" },
                memory_latency = { 0, "Power 4.2: over the crossbar like "
                    .. "other reads" },
            },
            pwc = {
                entries = { 1024, "Power: 8 KB of 8-byte entries" },
                latency = { 10, "guess: as maxwell; Power does not say" },
            },
            l2cache = { queue_latency = { 0, "guess: in xbar.latency" } },
            dram = {
                channels = { 2, "guess: dual-channel DDR3" },
                bus_bytes = { 64, "guess: 64 bits a channel" },
                bl = { 4, "guess: 8 transfers, 12.8 GB/s a channel" },
                tccd_s = { 4, "guess: a burst" },
                tccd_l = { 4, "guess: a burst, no bank groups" },
            },
        },
    },
    {
        name = "accelsim-rtx2060",
        from = "maxwell",
        summary = "the RTX 2060 of Accel-Sim's configuration; it has no "
            .. "translation, which is maxwell's",
        settings = {
            clock = {
                core = { 1365000000, "config: gpgpu_clock_domains" },
                l2 = { 1365000000, "config: gpgpu_clock_domains" },
                dram = { 3500500000, "config: gpgpu_clock_domains: for the "
                    .. "timings of a CK of half of it" },
            },
            core = {
                count = { 30, "config: gpgpu_n_clusters" },
                lanes = { 32, "config: gpgpu_shader_core_pipeline" },
                width = { 16, "config: ptx_opcode_initiation_fp: 2 cycles for "
                    .. "32 lanes" },
                subcores = { 4, "config: gpgpu_num_sched_per_core, "
                    .. "gpgpu_sub_core_model" },
                issue = { 1, "config: gpgpu_max_insn_issue_per_warp, of each" },
                alu_latency = { 4, "config: ptx_opcode_latency_fp; trace.config "
                    .. "has 2, to which operands and write-back add" },
                ilp = { 1, "config: in order, gpgpu_max_insn_issue_per_warp" },
                scheduler = { "lrr", "config: gpgpu_scheduler" },
                warps = { 32, "config: gpgpu_shader_core_pipeline" },
                threads = { 1024, "config: gpgpu_shader_core_pipeline" },
                blocks = { 16, "config: gpgpu_shader_cta" },
                regs = { 65536, "config: gpgpu_shader_registers" },
                shared_bytes = { 65536, "config: gpgpu_shmem_size" },
                atomics = { "word", "Accel-Sim: memory_coalescing_arch_atomic" },
                exit = { "stores", "Accel-Sim: shd_warp_t::hardware_done" },
                tensor_latency = { 16, "trace.config: spec_op_3" },
                tensor_interval = { 16, "trace.config: spec_op_3" },
                control_interval = { 4, "trace.config: spec_op_1, branches" },
            },
            l1tlb = {
                blocking = { "none", "config: nothing is translated, so "
                    .. "nothing blocks" },
            },
            l1cache = {
                bytes = { 65536, "config: gpgpu_unified_l1d_size 96 KB less "
                    .. "gpgpu_shmem_option 32 KB" },
                ways = { 128, "config: dl1: 4 sets; 64 ways in 32 KB, and as "
                    .. "many as 64 KB have" },
                line = { 128, "config: dl1" },
                latency = { 32, "config: gpgpu_l1_latency" },
                ports = { 1, "config: gpgpu_l1_banks 4, which take a sector "
                    .. "each a cycle (l1_banks_byte_interleaving 32): a line" },
                mshrs = { 256, "config: dl1, A:256" },
                merges = { 32, "config: dl1, A:256:32" },
                write = { "through", "config: dl1, T" },
                allocate = { "miss", "config: dl1, m" },
                sector_bytes = { 32, "config: dl1, S" },
            },
            xbar = {
                latency = { 1, "guess: config: network_mode 2, which has no "
                    .. "setting for it" },
                bytes = { 40, "config: icnt_flit_size" },
            },
            l2cache = {
                bytes = { 3145728, "config: dl2: 64 sets of 16 ways in 24 "
                    .. "parts" },
                ways = { 16, "config: dl2" },
                line = { 128, "config: dl2" },
                slices = { 24, "config: gpgpu_n_mem times "
                    .. "gpgpu_n_sub_partition_per_mchannel" },
                set_hash = { "ipoly", "config: dl2, P" },
                mshrs = { 192, "config: dl2, A:192" },
                merges = { 4, "config: dl2, A:192:4" },
                queue = { 64, "config: gpgpu_dram_partition_queues" },
                ports = { 1, "config: dl2, one data port" },
                write = { "back", "config: dl2, B" },
                sector_bytes = { 32, "config: dl2, S" },
                queue_latency = { 194, "config: gpgpu_l2_rop_latency" },
                latency = { 1, "guess: config: no setting beside "
                    .. "gpgpu_l2_rop_latency" },
            },
            dram = {
                channels = { 12, "config: gpgpu_n_mem" },
                banks = { 16, "config: gpgpu_dram_timing_opt, nbk" },
                groups = { 4, "config: gpgpu_dram_timing_opt, nbkgrp" },
                bus_bytes = { 32, "config: gpgpu_dram_buswidth 2 times "
                    .. "gpgpu_dram_burst_length 16" },
                row_bytes = { 2048, "config: gpgpu_mem_addr_mapping: 6 bits of "
                    .. "column, 5 of a burst" },
                interleave = { 256, "config: gpgpu_mem_addr_mapping: dramid@8" },
                map = { "B", "guess: the nearest to gpgpu_mem_addr_mapping, "
                    .. "whose lowest bit of the bank is address bit 7" },
                scheduler = { "hit-first", "config: gpgpu_dram_scheduler 1: "
                    .. "FR-FCFS" },
                queue = { 64, "config: gpgpu_frfcfs_dram_sched_queue_size" },
                latency = { 96, "config: dram_latency" },
                cl = { 24, "config: gpgpu_dram_timing_opt" },
                wl = { 8, "config: gpgpu_dram_timing_opt" },
                bl = { 4, "config: gpgpu_dram_burst_length 16 over "
                    .. "dram_data_command_freq_ratio 4" },
                tccd_s = { 4, "config: gpgpu_dram_timing_opt" },
                tccd_l = { 6, "config: gpgpu_dram_timing_opt" },
                trrd = { 12, "config: gpgpu_dram_timing_opt" },
                trcdrd = { 24, "config: gpgpu_dram_timing_opt" },
                trcdwr = { 24, "guess: as reads; GPGPU-Sim: RCD less WL and 1" },
                tras = { 55, "config: gpgpu_dram_timing_opt" },
                trp = { 24, "config: gpgpu_dram_timing_opt" },
                trc = { 78, "config: gpgpu_dram_timing_opt" },
                trtp = { 4, "config: gpgpu_dram_timing_opt" },
                twr = { 24, "config: gpgpu_dram_timing_opt" },
                twtr = { 10, "config: gpgpu_dram_timing_opt, CDLR" },
            },
            shared = {
                latency = { 30, "config: gpgpu_smem_latency" },
                banks = { 32, "config: gpgpu_shmem_num_banks" },
            },
            -- core.classes is for traces that are read for it (its file has units for
            -- each class, whose times are the defaults); scenarios/accelsim sets it.
            -- What the file says and no setting has: a queue of 16 misses of an L1.
        },
    },
}

-- Those of cards.lua, which is read when one of them is asked for.
local CARDS = { "p100", "v100", "rtx2060", "a100", "h100", "rtx4080", "l40" }

--- Names that presets had, and what is said of one that is used.
local FORMER = { hardware = "maxwell-tu104" }
local NOW = "the machine '%s' is now called %s: it is MASK's with latencies of a "
    .. "TU104, not a card"

local by_name = {}
for _, preset in ipairs(PRESETS) do
    by_name[preset.name] = preset
end
for former, name in pairs(FORMER) do
    by_name[former] = by_name[name]
end
for _, name in ipairs(CARDS) do
    by_name[name] = false
end

--- The preset of a name, or nil.
local function preset_of(name)
    if by_name[name] == false then
        for _, card in ipairs(require("heddle.cards").PRESETS) do
            by_name[card.name] = card
        end
    end
    return by_name[name]
end

local Machine = {}
Machine.__index = Machine

local function new(name, from, settings)
    return setmetatable({ name = name, from = from, settings = settings },
        Machine)
end

--- machine{...}: a machine that derives from this one.  `source` says where
-- the values come from (default: "scenario").
function Machine:with(changes, source)
    local flat = config.flatten(changes, source or "scenario")
    config.build(flat)
    local all = {}
    for name, v in pairs(self.settings) do
        all[name] = v
    end
    for name, v in pairs(flat) do
        all[name] = v
    end
    return new(self.name, self.from or self.name, all)
end

Machine.__call = Machine.with

--- The value of one setting, as text.
function Machine:get(name)
    return config.build(self.settings):get(name)
end

function Machine:__tostring()
    return "machine " .. self.name
end

--- All settings of a preset.  What is from the one that it derives from says so.
local function preset_settings(preset)
    local base = preset.from and preset_settings(preset_of(preset.from)) or {}
    for name, v in pairs(base) do
        if not v[2]:find "^as " then
            base[name] = { v[1], ("as %s: %s"):format(preset.from, v[2]) }
        end
    end
    for name, v in pairs(config.flatten(preset.settings)) do
        base[name] = v
    end
    return base
end

--- Names of the presets, in order.
function machines.names()
    local out = {}
    for i, preset in ipairs(PRESETS) do
        out[i] = preset.name
    end
    return table.move(CARDS, 1, #CARDS, #out + 1, out)
end

--- The preset itself, by its name or a former one: name, from, summary, settings
-- (what it states).
function machines.get(name)
    return preset_of(name)
end

--- A machine from flat settings (a file).
function machines.from_settings(name, flat)
    return new(name, nil, flat)
end

--- H.machine(name): a preset; H.machine(): the engine's defaults;
-- H.machine{...}: the defaults with changes.
function machines.machine(what)
    if what == nil then
        return new("default", nil, {})
    elseif getmetatable(what) == Machine then
        return what
    elseif type(what) == "table" then
        return new("default", nil, {}):with(what)
    end
    local preset = preset_of(what)
    if not preset then
        local names = machines.names()
        error(require("heddle.core").error(-3,
            ("there is no machine '%s'%s; known: %s"):format(tostring(what),
                require("heddle.index").meant(what, names),
                table.concat(names, ", "))), 0)
    end
    if FORMER[what] then
        require("heddle.script").warn { told = { NOW:format(what, FORMER[what]) } }
    end
    return new(preset.name, nil, preset_settings(preset))
end

--- Lines for `heddle explain`.
function machines.explain(name)
    local preset = preset_of(name)
    if not preset then
        return nil
    end
    local out = {
        ("%s (machine%s)"):format(preset.name,
            preset.from and ", derives from " .. preset.from or ""),
        "  " .. preset.summary,
    }
    if FORMER[name] then
        out[#out + 1] = "  " .. NOW:format(name, FORMER[name])
    end
    local own, all = config.flatten(preset.settings), preset_settings(preset)
    local known = config.known()
    for _, inherited in ipairs { false, true } do
        for _, key in ipairs(config.sorted_keys(all)) do
            if (own[key] == nil) == inherited then
                local s = known[key]
                local unit = s and s.unit ~= "" and " " .. s.unit or ""
                out[#out + 1] = ("  %-40s %s"):format(key .. " = "
                    .. tostring(all[key][1]) .. unit, all[key][2])
            end
        end
    end
    local rounded = config.rounded(config.build(all))
    for _, r in ipairs(rounded) do
        out[#out + 1] = "  " .. config.rounded_text(r)
    end
    return out
end

return machines
