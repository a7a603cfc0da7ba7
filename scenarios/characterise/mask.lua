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
-- how it counts, so three other readings stand beside: such a look-up is a hit;
-- every line of an instruction is a look-up, as where the TLB stands behind a
-- coalescer that sends out lines one by one; a look-up a line, and those that
-- join a miss count as nothing.  The last is how the simulator counts that was
-- released with MASK.  Two more of its habits are not modelled: a line that
-- finds the L1 cache busy looks up the TLB again, a hit each time, and a hit in
-- the L2 TLB does not fill the L1 TLB, only a walk does.  The four readings give
-- 12, 9, 15 and 10 of the 27 classes as released and 13, 8, 14 and 10 at M; no
-- other combination of them at the L1 and the L2 TLB gives more than 15.  As
-- released, lines from 5 to 50 % give 12 to 15 in the first reading and 16 at most
-- in the third (line=0.15); with budget=1500000 an L1 TLB of 32 entries gives 12,
-- of 128 entries 14, an L2 TLB of 1,024 entries 14, half of the cores 12, warps of
-- 32 threads 14 (set=core.lanes=32,core.width=32).  On the machine of the released
-- simulator, where a miss holds its core until the walk is over (machine=released),
-- the readings give 12, 9, 10 and 9, and at M 8, 8, 7 and 8.  That machine explains
-- what the designs gain (scenarios/mask/causes.lua), but not the classes.
--
--     heddle run scenarios/characterise/mask.lua [sizes=released,M] [jobs=2]
--         [machine=NAME] [set=SETTING=VALUE,...] [line=0.20]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local report = require "heddle.report"
local agree = require "agree"

local arg = H.args {
    sizes = "released,M", jobs = 2,
    budget = 20000000, -- warp instructions of a run
    machine = "maxwell",
    set = "",          -- settings of the machine, as in a command: a=b,c=d
    line = H.characterise.HIGH, -- a miss rate above is high
    json = "",
}
H.characterise.HIGH = arg.line

--- Why a class differs, where the cause is known: rates of the first table, L1
-- and L2, as released and at M.
local BY_LINE = "each of its pages is looked up once for two lines and more; "
    .. "with a look-up a line the L1 TLB misses "
local WHY = {
    BFS2 = "MASK's graph is lost; the one in its place has 610 pages, which "
        .. "the TLBs keep (3, 7 %); the 9,521 at M leave the L1 TLB, too",
    BP = "blocks of other cores want the same pages at once and join walks: "
        .. "67 % miss the L2 TLB with them, 16 % as hits; but counted so, the "
        .. "L1 TLB has 10 %",
    HS = "20.3 % miss the L2 TLB as released, on the line; 3.5 % if a look-up "
        .. "that joins a walk is a hit",
    LPS = "of 39 % (M: 27) that miss the L2 TLB, 31 (18) join a walk of "
        .. "another core; as hits they leave it Low: see the second table",
    CFD = "32 % miss the L2 TLB as released, 12 % at M: the numbering of the "
        .. "mesh, which is not known, decides how far its gathers reach",
    CONS = "17 % miss the L2 TLB (M: 15); as hits those that join a "
        .. "walk leave 3 %, so the line is not all that is missing",
    FFT = BY_LINE .. "7 % as released, 12 at M",
    GUP = "random updates of 1,024 pages and more miss a TLB of 512 entries "
        .. "half of the time at least (51 %, M: 97); Low needs a smaller table",
    HISTO = BY_LINE .. "14 % as released; at M it is one long stream: 94 %, "
        .. "45 by lines",
    LUD = "MASK's matrix has 64 pages (6, 3 %), that of M 16,384",
    NN = "one look-up in 500 misses the L1 TLB, and a third of these finds no "
        .. "entry in the L2 TLB, since 30 cores ask for a new page at once; "
        .. "with those as hits it is 5 %",
    NW = "each row of a tile is on another page and is touched two or three "
        .. "times by one half-filled warp: 60 % of the look-ups (M: 77) are "
        .. "first ones, 46 with a look-up a line; what MASK ran is not known",
    QTC = "a block reads the same 50 to 150 rows of dist, a page each, again "
        .. "and again; eight blocks a core have hundreds for 64 entries: 86 %, "
        .. "62 with a look-up a line",
    RAY = BY_LINE .. "13 %; at M the L2 TLB's 16 % are below the line",
    RED = "the released input has 1 MB, which its launches touch again and "
        .. "again: 12 %, all others cold; that of M has 34 MB",
    SCAN = "the released input has 2 MB, which its launches touch again and "
        .. "again: 4 %; that of M has 67 MB",
    SCP = BY_LINE .. "13 % as released, 11 at M",
}

--- Where no size is the released one.
local RELEASED = { LUD = { n = 256 }, HS = { n = 512 } }

--- Whether the machine is the one whose rates WHY gives.
local EXPLAINED = arg.machine == "maxwell" and arg.set == ""

local function machine()
    local settings = {}
    for name, value in arg.set:gmatch "([^,=]+)=([^,]+)" do
        settings[name] = value
    end
    return H.machine(arg.machine)(settings)
end

local function measure(names, size)
    local list = {}
    for i, name in ipairs(names) do
        list[i] = function()
            return H.characterise.measure(name, {
                size = size == "released" and "S" or size,
                params = size == "released" and RELEASED[name] or nil,
                machine = machine(), survey = false, budget = arg.budget,
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
    for i = 1, 4 do
        readings[i] = agree.new()
    end
    for _, row in ipairs(rows) do
        local paper, m, c = suite.class[row.name], row.metrics, H.characterise
        local why = not EXPLAINED and "not the machine that the reasons are for"
            or row.size ~= "T" and WHY[row.name]
            or "not a size that MASK ran"
        local function check(i, l1, l2)
            readings[i]:add(row.name, paper, rates(l1, l2),
                c.mask_class(l1, l2) == paper, why)
        end
        check(1, m.l1tlb_miss_rate, m.l2tlb_miss_rate)
        check(2, c.first_misses(row.timed))
        check(3, c.line_misses(row.timed))
        check(4, c.counted_misses(row.timed))
        all[#all + 1] = row
    end
    readings[1]:print("L1 / L2 TLB misses, size " .. size)
    for i, title in ipairs { "the same, merged misses as hits",
        "the same, a look-up a line",
        "a look-up a line, merged misses not counted" } do
        readings[i + 1].why = {}
        readings[i + 1]:print(title)
    end
    agree.cuts(rows)
    io.write "\n"
end
if arg.json ~= "" then
    H.report.emit(H.characterise.json(all), arg.json)
end
