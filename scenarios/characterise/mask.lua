--- mask.lua - MASK's classes of programs by TLB miss rate.
--
-- MASK (ASPLOS 2018, table 2) calls the miss rate of a 64-entry L1 TLB and of
-- the 512-entry L2 TLB high above 20 %.  Classes are relative to footprints:
-- GUP is High/Low only while its table nearly fits the L2 TLB; so each size
-- is classed by itself.  S is nearest to the sizes of the released programs.
--
-- `released` is S but for LUD and HS, which the release runs at 256 and 512.
--
-- Miss rates are of look-ups, one a page of a warp instruction, alone on 30
-- cores; a look-up that joins a miss under way is a miss.  MASK does not say
-- how it counts, so two other readings stand beside: such a look-up is a hit;
-- every line of an instruction is a look-up, as where the TLB stands behind a
-- coalescer that sends out lines one by one.
--
--     heddle run scenarios/characterise/mask.lua [sizes=released,M] [jobs=2]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local report = require "heddle.report"
local agree = require "agree"

local arg = H.args {
    sizes = "released,M", jobs = 2,
    budget = 20000000, -- warp instructions of a run
    json = "",
}

--- Why a class differs, where the cause is known.
local JOINED = "blocks of other cores ask for the same page at once: at the L2 "
    .. "TLB they join a walk, which counts as a miss; see the next table"
local BY_LINE = "a look-up serves all lines of a page; if each line is one, "
    .. "its L1 rate halves: see the last table"
local WHY = { -- at S, as released, and M
    BFS2 = "MASK's graph is lost; the one in its place has 610 pages, of "
        .. "which the L2 TLB keeps most; at M it has 9,521",
    BP = JOINED, HS = JOINED, LPS = JOINED,
    CFD = "near the line; the numbering of the mesh, which is not known, "
        .. "decides how far its gathers reach",
    CONS = "near the line",
    FFT = BY_LINE, SCP = BY_LINE,
    GUP = "random updates of 1,024 pages and more miss a TLB of 512 entries "
        .. "half of the time at least; Low needs a smaller table",
    HISTO = BY_LINE .. "; at M it is one long stream",
    LUD = "MASK's matrix has 64 pages, that of M 16,384",
    NN = "its pages are few, and 30 cores ask for each at once; such "
        .. "look-ups count as misses: see the next table",
    NW = "each row of a tile lies on another page and is touched two or three "
        .. "times by one half-filled warp: a third of the look-ups and more "
        .. "are first ones, however they are counted; what MASK ran is not "
        .. "known",
    QTC = "a block reads the same 50 to 150 rows of dist, a page each, again "
        .. "and again; eight blocks a core have hundreds for 64 entries",
    RAY = BY_LINE,
    RED = "the released input has 1 MB, which its launches touch again and "
        .. "again; that of M has 34 MB",
    SCAN = "the released input has 2 MB, which its launches touch again and "
        .. "again; that of M has 67 MB",
}

--- Where no size is the released one.
local RELEASED = { LUD = { n = 256 }, HS = { n = 512 } }

local function measure(names, size)
    local list = {}
    for i, name in ipairs(names) do
        list[i] = function()
            return H.characterise.measure(name, {
                size = size == "released" and "S" or size,
                params = size == "released" and RELEASED[name] or nil,
                machine = "maxwell", survey = false, budget = arg.budget,
            })
        end
    end
    return H.run(list, { jobs = arg.jobs })
end

local function rates(l1, l2)
    return ("%s (%s, %s)"):format(H.characterise.mask_class(l1, l2) or "-",
        report.percent(l1), report.percent(l2))
end

local suite = require("heddle.suites").get "mask"
local all = {}
for size in arg.sizes:gmatch "%w+" do
    local names = agree.present(suite.apps, size == "released" and "S" or size)
    local rows = measure(names, size)
    local readings = {}
    for i = 1, 3 do
        readings[i] = agree.new()
    end
    for _, row in ipairs(rows) do
        local paper, m, c = suite.class[row.name], row.metrics, H.characterise
        local why = row.size ~= "T" and WHY[row.name]
            or "not a size that MASK ran"
        local function check(i, l1, l2)
            readings[i]:add(row.name, paper, rates(l1, l2),
                c.mask_class(l1, l2) == paper, why)
        end
        check(1, m.l1tlb_miss_rate, m.l2tlb_miss_rate)
        check(2, c.first_misses(row.timed))
        check(3, c.line_misses(row.timed))
        all[#all + 1] = row
    end
    readings[1]:print("L1 / L2 TLB misses, size " .. size)
    for i, title in ipairs { "the same, merged misses as hits",
        "the same, a look-up a line" } do
        readings[i + 1].why = {}
        readings[i + 1]:print(title)
    end
    agree.cuts(rows)
    io.write "\n"
end
if arg.json ~= "" then
    H.report.emit(H.characterise.json(all), arg.json)
end
