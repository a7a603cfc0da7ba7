--- etc.lua - ETC's classes: which programs are regular.
--
-- ETC (ASPLOS 2019, section 4) tells programs apart by their coalescing
-- factor: lanes a line of the loads.  Irregular ones are below a threshold of
-- 10, and any from 5 to 10 gives the same classes.  It samples 50,000 cycles.
--
-- Here the factor is that of the whole program, global loads alone, sum over
-- sum: a mean of ratios would count ATAX's two kernels alike and call it regular.
-- SAD reads its second picture through a texture, which is a load like others
-- here and not a global load there; its factor is shown with and without, and the
-- samples have it.
-- ATAX, BICG and MVT have one kernel that reads rows lane by lane (2 lanes a
-- line) and one that is coalesced (32 and more), so a sample says whichever
-- kernel runs: what the first sample says stands beside, and how many of the
-- samples would call the program regular.
--
-- ETC calls data shared across kernels a property of LUD, SRAD, CONS and SCAN
-- among the regular programs.  Its rule (a buffer that several kernels are
-- given) would mark 3DCONV, CORR, COVAR and FDTD, too; the share of the pages
-- of a launch that an earlier launch touched, measured, is shown beside the
-- annotation and not counted.
--
--     heddle run scenarios/characterise/etc.lua [size=M] [jobs=2]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local report = require "heddle.report"
local agree = require "agree"

local arg = H.args {
    size = "M", jobs = 2,
    cycles = 1000000, -- of the run that is sampled: 20 samples
    json = "",
}

local THRESHOLDS = { 5, 6, 7, 8, 9, 10 }

--- Why a class differs, where the cause is known.
local WHY = {
    LPS = "at T and S its rows of 100 elements are across lines, and the last "
        .. "block of a row has 4 columns of 32; with rows padded to 512 bytes, "
        .. "as on hardware (pitch=128), S has 10.6",
}

local suite = require("heddle.suites").get "etc"
local rows = H.characterise.all(agree.present(suite.apps, arg.size), {
    size = arg.size, machine = "etc", cycles = arg.cycles,
}, arg.jobs)

local classes, sharing = agree.new(), { {
    "Sharing across kernels", "ETC", "pages seen before", "by another kernel",
    "lines seen before", "first sample", "says", "samples regular",
} }
local low, high = 0, math.huge -- most irregular factor, least regular one

for _, row in ipairs(rows) do
    local paper = suite.class[row.name]
    local regular = paper:find "^regular" ~= nil
    local m = row.metrics
    if not row.error then
        local bad, factor = {}, H.characterise.global_factor(row)
        for _, t in ipairs(THRESHOLDS) do
            if H.characterise.etc_class(factor, t)
                ~= (regular and "regular" or "irregular") then
                bad[#bad + 1] = t
            end
        end
        if regular then
            high = math.min(high, factor)
        else
            low = math.max(low, factor)
        end
        classes:add(row.name, regular and "regular" or "irregular",
            ("%.2f lanes a line: %s%s"):format(factor,
            H.characterise.etc_class(factor), factor ~= m.etc_factor
            and ("; %.2f with textures"):format(m.etc_factor) or ""),
            #bad == 0, ("not so for a threshold of %s%s"):format(
            table.concat(bad, ", "),
            WHY[row.name] and "; " .. WHY[row.name] or ""))
        sharing[#sharing + 1] = {
            row.name, paper:find "sharing" and "shared" or "",
            report.percent(m.shared_pages),
            report.percent(m.shared_pages_kernels),
            report.percent(m.shared_lines),
            m.etc_sample and ("%.2f"):format(m.etc_sample) or "-",
            row.classes.etc_sample or "-",
            report.percent(m.etc_samples_regular),
        }
    end
end
classes:print(("Class for every threshold from %d to %d, size %s")
    :format(THRESHOLDS[1], THRESHOLDS[#THRESHOLDS], arg.size))
io.write(("thresholds above %.2f and up to %.2f separate the classes "
    .. "(ETC: 5 to 10)\n\n"):format(low, high))
io.write(H.report.table(sharing), "\n")
agree.cuts(rows)
if arg.json ~= "" then
    H.report.emit(H.characterise.json(rows), arg.json)
end
