--- cards.lua - cards that are here to be compared only: K80, A30, A40, A100 PCIe,
-- Titan V, H100 PCIe, and an RTX 2060 whose memory is slow, as lua/heddle/cards.lua has
-- its own (sources are named there).
--
-- The H100 PCIe is a test as a whole: it is written from data sheets and from what
-- other cards of its generation do, and none of its figures that are compared here was
-- used.  The A40 is so but for two things: the size of its L1 is from its own curve,
-- and its rows had been seen when dram.latency was set to l40's (150, before 180) and
-- slices to 48 (before 24).
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local cards = require "heddle.cards"

local own = {}

--- Every group of a preset of lua/heddle/cards.lua.
local function of(name)
    for _, p in ipairs(cards.PRESETS) do
        if p.name == name then
            return p.settings
        end
    end
end

local join, PCIE3, PCIE5 = cards.join, cards.PCIE3, cards.PCIE5

own.k80 = join(cards.ALL,
    cards.clock(875000000, "DS: boost of a GK210"),
    cards.units("WP: 192 lanes, 64 for FP64, 32 special; as 4 sub-cores", 32, 16, 8),
    cards.occupancy("WP", 64, 16, 114688),
    cards.caches({ 0, "KB: global loads bypass it" }, { 240, "KB: 240 to 241, clock "
        .. "reads included" }, 31),
    cards.dram("gddr6", { 1250000000, "DS: 5 Gbit/s a pin; GDDR6's ns for GDDR5: guess" },
        { 12, "DS: 384 bits, channels of 32" },
        { 100, "guess" }),
    PCIE3,
    cards.SM, {
    core = { count = { 13, "DS: of one GK210" }, subcores = { 4, "WP" },
        alu_latency = { 9, "WP" } },
    shared = { latency = { 26, "guess" } },
    l1cache = { mode = { "off", "KB: global loads bypass it" },
        bytes = { 16384, "WP" }, ways = { 4, "guess" }, latency = { 1, "not used" } },
    xbar = { bytes = { 32, "guess" } },
    l2cache = { bytes = { 1572864, "DS" }, ways = { 16, "guess" },
        slices = { 12, "guess: as channels" } },
    vm = { memory_bytes = { 12 << 30, "DS" }, page = { "64K", "guess: KB's entries of "
        .. "128 KB are of two" } },
},
    join(cards.levels({ 1, "KB" }, { 72, 0, 9, "KB: 142 MB fit, 144 do not",
        "KB: 241 to 250" }, { groups = { "0,5 1,6 2,7,10 3,8,11 4,9,12",
        "KB: sharing at 2 MB" } },
        { 1032, 0, 55, "KB: 1,032 of 2 MB fit", "KB: 250 to 305" }), {
        utlb1 = { sub_64k = { 2, "KB: 128 KB" } },
        utlb2 = { sub_64k = { 32, "KB: 2 MB" } },
        utlb3 = { sub_64k = { 32, "KB: 2 MB" } } }),
    cards.format("volta", 4))

own["titan-v"] = join(of "v100",
    cards.clock(1455000000, "DS: boost"), {
    dram = { channels = { 48, "DS: 3,072 bits" } },
    clock = { dram = { 850000000, "DS: 1.7 Gbit/s a pin" } },
    l2cache = { bytes = { 4718592, "DS: 4.5 MB" }, slices = { 48, "AST" } },
    vm = { memory_bytes = { 12 << 30, "DS" } },
})

own["rtx2060-slow"] = join(of "rtx2060", {
    clock = { dram = { 1185000000, "fitted: add_rows of 8,192 x 8,192 in 4.0 ms: its "
        .. "memory reads and writes 201 GB/s, 60 % of its peak, where other cards of "
        .. "that collection have 86 to 93 %" } },
    core = { classes = { true, "its kernels say theirs" } },
    vm = { round = { true, "cudaMalloc's pages" } },
})

own["a100-pcie"] = join(of "a100",
    cards.dram("hbm2", { 1215000000, "DS: HBM2 of 2.43 Gbit/s a pin" },
        { 80, "DS: 5,120 bits" },
        { 128, "inferred: as a100" }), {
    vm = { memory_bytes = { 40 << 30, "DS" } },
})

own.a30 = join(of "a100", cards.clock(1440000000, "DS: boost"),
    cards.dram("hbm2", { 1215000000, "DS: 933 GB/s" },
        { 48, "DS: 3,072 bits" },
        { 128, "inferred: as a100" }), {
    core = { count = { 56, "DS" } },
    l2cache = { bytes = { 25165824, "DS" }, slices = { 48, "inferred: as channels" } },
    vm = { memory_bytes = { 24 << 30, "DS" } },
})

own.a40 = join(of "l40", cards.clock(1740000000, "DS: boost"),
    cards.dram("gddr6", { 1812000000, "DS: 14.5 Gbit/s a pin" },
        { 24, "DS: 384 bits; channels of 16 bits" },
        { 150, "inferred: as l40 when it was chosen" }), {
    core = { count = { 84, "DS" }, width = { 32, "WP" } },
    l1cache = { latency = { 33, "RRZE, an A100: its generation" } },
    l2cache = { bytes = { 6291456, "DS" }, slices = { 48, "inferred: 8 for 64 bits, "
        .. "as an RTX 4090" } },
    xbar = { latency = { 105, "inferred: the L2's 273 cycles of an RTX 4090, L24" } },
    vm = { memory_bytes = { 48 << 30, "DS" } },
})
own.a40.l2cache.latency = { 29, "guess: of the L2's 273 cycles" }

own["h100-pcie"] = join(of "h100", cards.clock(1755000000, "DS: boost"),
    cards.dram("hbm2", { 1593000000, "DS: HBM2e of 3.19 Gbit/s a pin" },
        { 80, "DS: 5,120 bits" },
        { 245, "inferred: as h100" }), PCIE5, {
    core = { count = { 114, "DS" } },
    dram = { bus_bytes = { 32, "DS" } },
})

--- Groups of cores behind a second level.
for name, groups in pairs {
    a30 = { "4x6 4x8", "the A30 rows of tlb-sharing-sms.csv; in order here" },
    a40 = { "7x12", "WP: 7 GPCs of 12" },
    ["h100-pcie"] = { "19x6", "guess: a CPC" },
} do
    own[name] = join(own[name], { utlb2 = { groups = groups } })
end

--- A machine: one of these, or a preset.
function own.machine(name)
    local groups = own[name]
    return groups and H.machine(groups) or H.machine(name)
end

return own
