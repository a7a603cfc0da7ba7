-- 557-points-alone.lua - every point, bound alone, is asked.
--
-- A part of the machine takes shortcuts while nobody answers, and one that
-- forgets to ask would leave a policy in the dark without a word.  For each
-- point there is a row here with the smallest machine and load on which it must
-- be asked; a point of points.def without a row fails.  Three runs of each: a
-- policy of that point alone in Lua, the same in C (a plug-in), and a policy of
-- all points that also watches every note, while everything is checked.  They
-- only pass, so that all three are asked as often, and end the same.  A fourth,
-- checked, too: the policy raises, is taken away, and the run goes on to its end,
-- unless it could not even begin.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local whole = require "lib.whole"
local core = require "heddle.core"
local policies = require "heddle.policy"

-- ---- the smallest machine and load of each point ----------------------------

local function freer() return whole.freer(700, 12) end
local function in_order(q) return q.app * 65536 + q.vpn % 65536 end
local function emptied(q) return q.asked < 2 and q.n > 1 and 1 or 0 end

local SMALL = whole.join(whole.SMALL, { ["walk.walkers"] = 1,
    ["bypass.entries"] = 4, ["sim.budget"] = 1500 })
local MEMORY = { apps = { freer }, settings = { ["sim.relaunch"] = false,
    ["sim.budget"] = 0 } }

--- The row of a point that is asked only where another one decided something:
-- `with` is a policy of that other one.
local function memory(with, settings)
    return { apps = MEMORY.apps, with = with,
        settings = whole.join(MEMORY.settings, settings or {}) }
end
local FRAGMENTS = { ["memory.fragment_index"] = 1 }
local moving = memory({ compact_source = emptied,
    compact_target = function(q) return q.n end }, FRAGMENTS)

-- Every structure that replaces: the bypass cache gets something, and an L1
-- cache hits and overflows.
local replacing = { apps = { "GUP", "LUD" }, with = { tlb_fill = function(q)
    return q.vpn % 2 == 0 and "bypass" or "l2tlb"
end }, settings = { ["sim.budget"] = 6000 } }

-- Fewer frames than pages that are touched.
local few_frames = { apps = { "CONS" }, settings = { ["vm.paging"] = "fault",
    ["link.latency"] = 1500, ["sim.budget"] = 0, ["evict.unit"] = "4K",
    ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2030 } }

-- Pages that are compressed.
local packed = { apps = { "GUP" }, settings = { ["compress.enable"] = true,
    ["sim.budget"] = 400 } }

local ROWS = {
    page_size = {}, frame_place = {}, shootdown = MEMORY,
    region_coalesce = memory { frame_place = in_order },
    region_split = memory { frame_place = in_order,
        region_coalesce = function() return true end },
    compact_source = MEMORY,
    compact_target = memory({ compact_source = emptied }, FRAGMENTS),
    compact_copy = moving, compact_stall = moving,
    tlb_fill = {}, tlb_merge = replacing, tlb_insert = replacing,
    tlb_keep = { settings = { ["l1side.entries"] = 4 } },
    walk_step = {}, walk_pick = {},
    walk_reference = { settings = { ["walk.batch"] = 32 } },
    tokens = {},
    fault_batch = { apps = { "GUP" }, settings = { ["vm.paging"] = "fault",
        ["link.latency"] = 1500, ["sim.budget"] = 400 } },
    page_compress = packed,
    migrate = { apps = { "GUP" }, settings = { ["vm.paging"] = "fault",
        ["link.latency"] = 1500, ["sim.budget"] = 400,
        ["remote.access"] = "remote" } },
    thrash = { apps = { function() return whole.random(4, 4, 4) end }, settings = whole.join(
        few_frames.settings, { ["fault.thrashing"] = "refault" }) },
    evict_trigger = few_frames, evict_victim = few_frames,
    page_prefetch = { apps = { "GUP" }, settings = { ["vm.paging"] = "fault",
        ["link.latency"] = 1500, ["sim.budget"] = 400 } },
    repl_victim = replacing, cache_insert = {}, l2_bypass = {}, dram_class = {},
    dram_pick = {},
    dram_turn = { with = { dram_class = function() return "silver" end } },
    warp_pick = {}, warp_limit = {}, block_place = {}, core_partition = {},
    core_throttle = {}, app_classify = {},
    tlb_peer = { settings = { ["peers.latency"] = 4 } },
    walk_address = { settings = { ["walktable.bytes"] = 4096 } },
    tlb_group = { settings = { ["groups.most"] = 4 } },
    thread_join = { apps = { "BFS2" }, settings = { ["core.compact"] = true,
        ["sim.budget"] = 0 } },
}

-- ---- policies that only pass ------------------------------------------------

--- A policy of a set of points, and of all notes.
local function passing(name, points, notes)
    local policy = { name = name, every = { 500, function() end } }
    for _, p in ipairs(core.points()) do
        if points[p.name] then
            policy[p.name] = function() return nil end
        end
    end
    if notes then
        policy.watch = {}
        for _, n in ipairs(core.notes()) do
            policy.watch[n.name] = function() end
        end
    end
    return policy
end

local PLUGIN = [[
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "policy.h"

static int64_t pass(void *self, const void *q)
{
    (void)self, (void)q;
    return HEDDLE_PASS;
}

static uint64_t period(const void *self)
{
    (void)self;
    return 500;
}

static void epoch(void *self, heddle_sim *s, uint64_t cycle)
{
    (void)self, (void)s, (void)cycle;
}

/* Answers the point whose name its file has. */
const struct heddle_policy *heddle_policy_entry(void);
const struct heddle_policy *heddle_policy_entry(void)
{
    static struct heddle_policy p = {.abi = HEDDLE_POLICY_ABI,
                                     .name = "alone", .summary = "passes",
                                     .source = "test", .period = period,
                                     .epoch = epoch};
    const struct heddle_point_info *info;
    char file[64];
    Dl_info self;

    dladdr((void *)heddle_policy_entry, &self);
    for (uint32_t i = 0; (info = heddle_point_info(i)) != NULL; i++) {
        snprintf(file, sizeof file, "/%s.so", info->name);
        if (strstr(self.dli_fname, file))
            p.answer[i] = pass;
    }
    return &p;
}
]]

local dir = files.folder()
files.write(dir .. "/alone.c", PLUGIN)
local built = os.execute(("%s -shared -fPIC -Isrc/engine -o %s/alone.so %s/alone.c")
    :format(os.getenv "CC" or "cc", dir, dir))
tap.ok(built, "the plug-in is built")

--- Bound to the same point in C.
local function plugin(name)
    local path = ("%s/%s.so"):format(dir, name)
    if not files.read(path) then -- it stays loaded
        files.write(path, files.read(dir .. "/alone.so"))
    end
    return path
end

-- ---- the runs ---------------------------------------------------------------

local function sim_of(row, check)
    local list = {}
    for i, a in ipairs(row.apps or { "GUP", "MM" }) do
        list[i] = type(a) == "string" and a or a()
    end
    return whole.sim(list, whole.join(SMALL, row.settings or {}),
        { check = check })
end

--- How often the point was asked, and all statistics but the policies'.
local function run(row, name, at, use, check)
    local sim <close> = sim_of(row, check)
    if row.with then
        sim:use(whole.join(row.with, { name = "with" }))
    end
    for _, policy in ipairs(use) do
        sim:use(policy, { at = policy.name ~= "others" and at or nil })
    end
    if sim:run(20000000) ~= "done" then
        return 0, { "it does not end" }
    end
    return sim:counters().policy[name .. ".asked"],
        whole.statistics(sim, whole.no_policy)
end

local function alone(row, name, at)
    local place, others = at and name .. " of " .. at or name, {}
    for _, p in ipairs(core.points()) do
        others[p.name] = p.name ~= name
            and not (row.with and row.with[p.name]) or nil
    end
    local lua = passing("alone", { [name] = true })
    local want, loud = run(row, name, at,
        { passing("others", others, true), lua }, true)
    tap.ok(want > 0, place .. " is asked", loud[1])
    for what, use in pairs { Lua = lua, C = plugin(name) } do
        local n, quiet = run(row, name, at, { use })
        tap.is(n, want, ("%s, alone in %s, is asked as often"):format(place,
            what))
        tap.is(whole.difference(quiet, loud), nil,
            ("%s, passed in %s, changes nothing"):format(place, what))
    end
end

local function failing(row, name, at)
    local place = at and name .. " of " .. at or name
    local sim <close> = sim_of(row, true)
    if row.with then
        sim:use(whole.join(row.with, { name = "with" }))
    end
    sim:use({ name = "fails", every = { 300, function() end },
        [name] = function() error "on purpose" end },
        { at = at })
    tap.raises(function() sim:run(20000000) end, "on purpose",
        place .. ": an error stops the run")
    tap.raises(function() sim:run(1) end, "on purpose", "and keeps it there")
    tap.is(sim:unuse "fails", 1, "it is taken away")
    local ok, word = pcall(sim.run, sim, 20000000)
    tap.ok(ok and word == "done" or sim.now == 0, place
        .. ": without it the run goes on to the end", tostring(word))
end

for _, p in ipairs(core.points()) do
    local row = ROWS[p.name]
    tap.ok(row, p.name .. " has a row: a machine on which it must be asked")
    if row and p.at ~= "" then
        alone(row, p.name)
        failing(row, p.name)
    elseif row then -- each structure that asks it
        local sim <close> = sim_of(row)
        for _, at in ipairs(policies.offered(sim.core)[p.name]) do
            alone(row, p.name, at)
            failing(row, p.name, at)
        end
    end
end
files.output("rm -r " .. files.quote(dir))
tap.done()
