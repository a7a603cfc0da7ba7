--- links.lua - several GPUs of one kind, and the links between them by name.
--
--     H.sim { machine = "a100", gpus = 4, link = "nvlink3", topology = "ring", ... }
--
-- A machine that is joined so has n times the cores, slices, channels and memory of
-- the one GPU, as fabric.nodes counts them; all else is each GPU's.  Settings that are
-- given beside say what the whole machine has.  A topology is a word of
-- fabric.topology, or a list of pairs of nodes: { { 0, 1 }, { 1, 2 } }.
--
-- Bandwidths are those of data sheets, each way, of all links of a GPU together:
-- what two GPUs have between them where these are all they have, or where a switch
-- joins more.  Latencies are of a link alone and are mostly guesses: what is public
-- are times of whole accesses, and most of those by copies.
--
-- SPDX-License-Identifier: MIT
local config = require "heddle.config"
local core = require "heddle.core"

local links = {}

-- Lutz = Lutz et al., Pump Up the Volume, SIGMOD 2020: a V100's loads from the memory of
-- a POWER9 over NVLink 2 take 434 ns, from a Xeon's over PCIe 3 790 ns; from its own
-- they take 278 ns (425 cycles at 1530 MHz, github.com/RRZE-HPC/gpu-benches).
local LUTZ = "inferred: %s ns of an access (Lutz), less 278 to a V100's own memory, "
    .. "halved"
local NVLINK = { 16, "packets of flits of 16 bytes, the first a header (recalled: "
    .. "Foley and Danskin, IEEE Micro 2017)" }
local PCIE = { 24, "PCI Express 3.0: a token of 4 bytes, a header of 16, a CRC of 4" }

local PRESETS = {
    {
        name = "nvlink2", summary = "V100: six links of NVLink 2",
        latency = { 78, LUTZ:format "434" },
        bandwidth = { 150000000000, "datasheet: 300 GB/s, both ways" },
        header = NVLINK,
    },
    {
        name = "nvlink3", summary = "A100: twelve links of NVLink 3",
        latency = { 78, "guess: as nvlink2" },
        bandwidth = { 300000000000, "datasheet: 600 GB/s, both ways" },
        header = NVLINK,
    },
    {
        name = "nvlink4", summary = "H100: eighteen links of NVLink 4",
        latency = { 78, "guess: as nvlink2" },
        bandwidth = { 450000000000, "datasheet: 900 GB/s, both ways" },
        header = NVLINK,
    },
    {
        name = "pcie3", summary = "PCI Express 3.0, 16 lanes",
        latency = { 256, LUTZ:format "790" },
        bandwidth = { 15750000000, "16 lanes of 8 GT/s, 128b/130b" },
        header = PCIE,
    },
    {
        name = "pcie4", summary = "PCI Express 4.0, 16 lanes",
        latency = { 256, "guess: as pcie3" },
        bandwidth = { 31500000000, "16 lanes of 16 GT/s, 128b/130b" },
        header = PCIE,
    },
    {
        name = "pcie5", summary = "PCI Express 5.0, 16 lanes",
        latency = { 256, "guess: as pcie3" },
        bandwidth = { 63000000000, "16 lanes of 32 GT/s, 128b/130b" },
        header = PCIE,
    },
    {
        name = "c2c", summary = "NVLink-C2C, as in a GH200",
        latency = { 78, "guess: as nvlink2" },
        bandwidth = { 450000000000, "datasheet: 900 GB/s, both ways" },
        header = NVLINK,
    },
    {
        name = "interposer", summary = "chiplets of one GPU (MCM-GPU)",
        latency = { 32, "MCM-GPU, Arunkumar et al., ISCA 2017: 32 cycles a hop at 1 GHz "
            .. "(recalled)" },
        bandwidth = { 768000000000, "MCM-GPU: 768 GB/s a link (recalled)" },
        header = { 16, "guess: as NVLink" },
    },
}

--- What a machine of n GPUs has n times.
local SHARED = { "core.count", "l2cache.slices", "l2cache.bytes", "dram.channels",
    "vm.memory_bytes" }

local function fail(...)
    error(core.error(-3, (...):format(select(2, ...))), 0)
end

local function preset_of(name)
    for _, p in ipairs(PRESETS) do
        if p.name == name then
            return p
        end
    end
end

--- Name and summary of each.
function links.rows()
    local out = {}
    for i, p in ipairs(PRESETS) do
        out[i] = { p.name, p.summary }
    end
    return out
end

--- The settings of a link by name.
function links.settings(name)
    local p, out, names = preset_of(name), {}, {}
    if not p then
        for i, row in ipairs(links.rows()) do
            names[i] = row[1]
        end
        fail("there is no link '%s'%s; known: %s", tostring(name),
            require("heddle.index").meant(tostring(name), names),
            table.concat(names, ", "))
    end
    for _, key in ipairs { "latency", "bandwidth", "header" } do
        out["fabric." .. key] = { p[key][1], ("%s: %s"):format(name, p[key][2]) }
    end
    return out
end

--- A topology as fabric.topology has it.
local function topology(t)
    if type(t) ~= "table" then
        return t
    end
    local out = {}
    for i, pair in ipairs(t) do
        if type(pair) ~= "table" or #pair ~= 2 or math.type(pair[1]) ~= "integer"
            or math.type(pair[2]) ~= "integer" then
            fail("topology: pairs of nodes are expected, as in { { 0, 1 }, { 1, 2 } }")
        end
        out[i] = ("%d-%d"):format(pair[1], pair[2])
    end
    return table.concat(out, " ")
end

--- The machine of o.gpus GPUs of one kind, joined by o.link and as o.topology says.
function links.join(machine, o)
    local n, changes = o.gpus or 1, {}
    if math.type(n) ~= "integer" or n < 1 then
        fail("gpus: a whole number of at least 1 is expected, not '%s'", tostring(n))
    end
    local known = config.known()
    for _, name in ipairs(n > 1 and SHARED or {}) do
        local set = machine.settings[name]
            or { known[name].default, "default: " .. known[name].source }
        local one = math.tointeger(tonumber(machine:get(name)))
        changes[name] = { n * one, ("of %d GPUs; of one: %s"):format(n, set[2]) }
    end
    if o.gpus then
        changes["fabric.nodes"] = { n, "scenario" }
    end
    if o.link then
        for name, v in pairs(links.settings(o.link)) do
            changes[name] = v
        end
    end
    if o.topology then
        changes["fabric.topology"] = { topology(o.topology), "scenario" }
    end
    return next(changes) and machine:with(changes) or machine
end

--- Lines for `heddle explain`.
function links.explain(name)
    local p = preset_of(name)
    if not p then
        return nil
    end
    local out = { ("%s (interconnect)"):format(name), "  " .. p.summary }
    local known = config.known()
    local settings = links.settings(name)
    for _, key in ipairs(config.sorted_keys(settings)) do
        out[#out + 1] = ("  %-40s %s"):format(key .. " = " .. settings[key][1] .. " "
            .. known[key].unit, settings[key][2]:match ": (.*)$")
    end
    return out
end

return links
