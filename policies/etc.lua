-- etc.lua - ETC: which of its mechanisms an application gets.
--
-- Li et al., A Framework for Memory Oversubscription Management in Graphics
-- Processing Units (ETC), ASPLOS 2019, section 4.  An application is
--
--   regular    if its loads have `threshold` lanes a line or more, by samples of
--              `sample` cycles, all of them so far together: pages are
--              evicted proactively;
--   sharing    the same where its kernels share data: its pages are compressed
--              in memory, too (compress.enable);
--   irregular  else: its pages are compressed, and cores stop if the policy
--              "throttle" with irregular = 1 is bound, too.
--
-- Nothing of it happens while memory holds all that is allocated (section 4.5),
-- each buffer rounded to pages of 64 KB, touched or not.  From the first page on
-- that migrates while it does not, pages are compressed, for good.  Proactive
-- eviction asks whether it does as it is compressed by now (4.2): one unit is
-- evicted, while the page migrates, when a fault of the application has taken
-- frames and left less than `free_bytes` of them.  An eviction for which a page
-- waits begins as in the baseline, when nothing is in flight from the host.
--
-- A digit of `classes` wins over the samples, for an application from its start
-- on; whether kernels share data is what the user says (`sharing`), since the
-- paper's rule contradicts its list.  Pages that migrate before the first sample are
-- not compressed.
--
-- The built-in "etc" is the same in C.
--
-- SPDX-License-Identifier: MIT

local CLASS = { [0] = "unknown", "regular", "sharing", "irregular" }

--- The digit of an application.
local function listed(classes, app)
    for _ = 1, app do
        classes = classes // 10
    end
    return CLASS[classes % 10] or "unknown"
end

return {
    name = "etc",
    summary = "proactive eviction, or compression, by kind of program",
    source = "Li et al. (ETC), ASPLOS 2019, section 4",
    params = {
        classes = { default = 0, max = 1000000000000000000,
                    meaning = "a digit for each application, the last for the first: "
                        .. "1 regular, 2 regular and sharing, 3 irregular, 0: as its "
                        .. "samples say",
                    source = "ETC's list, annotated" },
        sharing = { default = 0, max = 65535,
                    meaning = "bit set of applications whose kernels share "
                        .. "data, for samples",
                    source = "ETC's list, annotated" },
        threshold = { default = 10, min = 1, max = 128, unit = "lanes a line",
                      meaning = "coalescing factor below which a program is "
                          .. "irregular", source = "ETC 4.1" },
        sample = { default = 50000, min = 100, max = 1000000000,
                   unit = "cycles", meaning = "time between two samples",
                   source = "ETC 4.1" },
        free_bytes = { default = 2097152, min = 4096, max = 1 << 44,
                       unit = "bytes", meaning = "free memory below which "
                           .. "pages are evicted proactively",
                       source = "ETC 4.2" },
    },

    init = function(s)
        s.is, s.on = {}, false
    end,

    app_classify = function(q, s, p)
        local is = listed(p.classes, q.app)
        if is == "unknown" and q.lines > 0 then
            is = q.lanes < p.threshold * q.lines and "irregular"
                or p.sharing >> q.app & 1 == 1 and "sharing" or "regular"
        end
        s.is[q.app + 1] = is
        return is
    end,

    evict_trigger = function(q, s, p)
        local is = s.is[q.app + 1]
        return q.allocated > q.capacity and (is == "regular" or is == "sharing")
            and q.cause == "taken" and q.free * 4096 < p.free_bytes
    end,

    page_compress = function(q, s)
        s.on = s.on or q.allocated > q.frames
        return s.on and (q.is == "sharing" or q.is == "irregular")
    end,

    every = every("sample", function() end), -- app_classify is asked then
}
