--- reproduce.lua - all experiments of the papers, and a page of what came out.
--
--     heddle run scenarios/reproduce.lua                      a first look
--     heddle run scenarios/reproduce.lua scale=full jobs=64   the papers' counts
--     heddle run scenarios/reproduce.lua only=mask,mosaic/fig08
--     heddle run scenarios/reproduce.lua variant=papers
--
-- MASK and Mosaic are run on both forms of their machine: variant=papers has the
-- released simulator's latency to memory, variant=literal the shorter one that the
-- text alone would allow (heddle explain maxwell-literal); empty: both.
--
-- Cards beside heddle are no paper's: scenarios/validate.lua.
--
-- Writes out/reproduce.html, and of each experiment out/PAPER/NAME.json, .txt
-- and .svg.  What was measured by the same program at the same scale is kept,
-- unless force=1; an interrupted run continues where it was.  The exit status is
-- 1 if an experiment failed.
--
-- The scored column of MASK and Mosaic (only=mask,mosaic variant=papers) at
-- scale=full is 7,655 different simulations and 3:19:43 hours of one core of an AMD
-- EPYC, from an empty store (the page says so of each run): 100 minutes of two.  Of
-- its 44 claims 9 match, 5 are near and 13 of 23 go the paper's way; 47.5 of 63 pairs
-- are in its order; 66 are not scored, since they have fewer sets than the paper.
-- Of the 8 of figures 3, 8 and 11 on the text's own latencies (variant=literal) one
-- matches and one is near; 2 of 6 directions, 10 of 18 pairs.
-- MESC's 45 (only=mesc): 24 match, 4 are near, 22 of 23 directions, 24.5 of 30 pairs.
-- ETC's 16 (only=etc): none matches, 3 are near, 7 of 13 directions, 21 of 30 pairs.
-- Each row is in scores/, a file a paper.  MESC takes 16 minutes of two cores, ETC 25;
-- all of it at scale=quick 3:47 minutes.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"

local arg = H.args(experiment.args {
    only = "",            -- papers and experiments, with commas between
    variant = "",         -- papers, literal; empty: both
    force = false,        -- run again what is known
    scenarios = H.here ".", -- where the papers' folders are
})
return (require("heddle.reproduce").run {
    scenarios = arg.scenarios, only = arg.only, variant = arg.variant,
    scale = arg.scale,
    jobs = arg.jobs, seed = arg.seed, out = arg.out, cache = arg.cache,
    force = arg.force, but = "validate,proposals",
})
