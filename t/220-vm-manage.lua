-- 220-vm-manage.lua - pins the memory manager: allocations that come and go leave
-- nothing behind; what coalescing, splitting and compaction write and copy is
-- what was coalesced, split and moved; each is checked all along, and goes from
-- the middle to the end that it had; memory in use by no application is as much
-- as was asked for.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

local SETTINGS = { ["core.count"] = 4, ["pwc.mode"] = "full",
    ["memory.fragment_index"] = 30, ["sim.relaunch"] = false, ["vm.scan"] = true }

local function make(cac, more)
    local apps = { whole.writer(700, 8), whole.freer(700, 5, "y") }
    return whole.maker(apps, whole.join(SETTINGS, more or {}),
        { check = true, machine = "mosaic" },
        cac and { { "mosaic", { cac = cac } } })
end

for cac = 0, 3 do
    local title = "compaction " .. cac
    whole.stress(title, make(cac), { step = 20011, snaps = 3,
        due = function(c) return c.memory.freed / 40 end,
        good = function(c) return c.memory.freed > 0 end })
    local sim <close> = make(cac)()
    sim:run()
    local c = sim:counters()
    local m, v = c.memory, c.mover
    local own = sim:counters { app = 0 }.memory -- of the one that ends last
    tap.is(own.mapped - own.freed, sim:results().apps[1].pages,
        title .. ": what came went, or is there")
    tap.is(v.copy_reads, cac == 1 and 32 * m.moved or 0,
        title .. ": a page that is copied is 32 lines read")
    tap.is(v.copy_writes, v.copy_reads, title .. ": and written")
    tap.is(v.bulk_copies, cac == 2 and m.moved or 0,
        title .. ": or copied inside DRAM")
    tap.is(v.table_writes, 33 * (m.coalesced + m.splintered) + m.moved, title
        .. ": tables are written for what changes")
    tap.ok(m.splintered <= m.coalesced and (m.moved > 0) == (m.emptied > 0)
        and m.emptied <= m.moved and m.compactions <= m.splintered + m.emptied
        + m.freed, title .. ": what is split was coalesced", m.splintered)
    tap.is(c.dram.writes, c.l2cache.dram_writes + v.flush_writes
        + v.table_writes + v.copy_writes, title .. ": memory sees all of it")
    tap.ok((m.moved > 0) == (cac > 0) and m.flushed >= v.flush_writes,
        title .. ": pages move", m.moved)
    tap.is(m.mixed, 0, title .. ": no frame of 2 MB has two owners")
    tap.ok(m.held_peak >= m.mapped_peak, title .. ": held is what is mapped "
        .. "or more", m.held_peak)
end

-- ---- frames of no application ---------------------------------------------------------

-- Of 120 frames of 2 MB so many percent have pages of others, each so many percent
-- of its 512.
for _, o in ipairs { { 0, 50, 0, 0 }, { 25, 50, 30, 256 }, { 50, 25, 60, 128 },
    { 75, 100, 90, 512 }, { 50, 1, 60, 5 } } do
    local index, occupancy, want, each = table.unpack(o)
    local sim <close> = whole.sim({ whole.freer(64, 1) }, { ["core.count"] = 1,
        ["vm.memory_bytes"] = 256 << 20, ["vm.table_frames"] = 8 * 512,
        ["memory.fragment_index"] = index,
        ["memory.fragment_occupancy"] = occupancy }, { check = true,
        machine = "mosaic" })
    sim:use { name = "see", state = { n = {} }, watch = {
        frames_taken = function(q, s)
            for f = q.frame, q.frame + q.frames - 1 do
                s.n[f // 512 + 1] = (s.n[f // 512 + 1] or 0) + 1
            end
        end } }
    sim:run(1)
    local frames, bad = 0, nil
    for _, n in pairs(sim:used()[1].state.n) do
        frames, bad = frames + 1, n ~= each and n or bad
    end
    tap.is(frames, want, ("%d %% of the frames are in use"):format(index))
    tap.is(bad, nil, ("%d %% of each"):format(occupancy))
end

tap.done()
