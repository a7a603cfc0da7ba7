--- designs.lua - the translation designs that the papers compare, each as the
-- settings in which it differs from a machine with a shared L2 TLB, and the
-- policies that it needs.
--
--     local m = H.designs.pwcache(H.machine("maxwell"))
--     for _, d in ipairs(H.designs.list) do ... d.name, d.apply(m) ... end
--     local d = H.designs.get("MASK-TLB")
--     H.sim { machine = d.apply(H.machine "maxwell"), policies = d.policies,
--             ... }
--     H.designs.mask { tokens = 1, dram = 0, epoch = 50000 }      a design, too
--     H.designs.both(H.designs.mask(), H.designs.mosaic())        in one machine
--
-- A design is { name =, apply = function(machine) -> machine, policies = {} }.
--
-- SPDX-License-Identifier: MIT
local designs = {}

--- Every L1 TLB look-up hits, at the L1 TLB's latency (MASK 6, Mosaic 5).
function designs.ideal(machine)
    return machine:with({
        ["l1tlb.mode"] = "ideal",
    }, "design Ideal")
end

--- A shared L2 TLB and no page walk cache (MASK figure 2b).
function designs.sharedtlb(machine)
    return machine:with({
        ["l2tlb.mode"] = "full",
        ["pwc.mode"] = "off",
    }, "design SharedTLB: MASK figure 2b")
end

--- A page walk cache and no L2 TLB (Power; MASK figure 2a).
function designs.pwcache(machine)
    return machine:with({
        ["l2tlb.mode"] = "off",
        ["pwc.mode"] = "full",
        ["pwc.style"] = "physical",
    }, "design PWCache: MASK figure 2a")
end

--- SharedTLB with equal shares of the DRAM channels, and with them of the L2
-- cache, whose slices belong to channels: splitting its ways as well would
-- leave an application less than its share.  The L2 TLB stays shared (MASK 7.2:
-- its hit rate is SharedTLB's).
function designs.static(machine)
    return designs.sharedtlb(machine):with({
        ["dram.partition"] = true,
    }, "design Static: MASK section 6")
end

--- No translation at all.
function designs.off(machine)
    return machine:with({
        ["sim.translation"] = "off",
    }, "design Off")
end

--- A policy or another form of it, with the parameters among the options of a
-- design.
local function policy_of(name, options)
    local use = { use = name }
    for k, v in pairs(options or {}) do
        if k == "policy" then
            use.use = v
        elseif k ~= "name" then
            use[k] = v
        end
    end
    return use
end

--- MASK, or some of its mechanisms: SharedTLB with what they need of the
-- machine, and the policy.  Options are the parameters of the policy "mask"
-- (tokens, bypass and dram are on unless 0), and
--     name      of the design ("MASK")
--     policy    another form of it: "policies/mask.lua"
function designs.mask(options)
    local use, settings = policy_of("mask", options), {}
    if use.tokens ~= 0 then
        settings["bypass.entries"] = { 32, "MASK 5.2" }
    end
    if use.dram ~= 0 then
        settings["dram.queues"] = { "apart", "MASK 5.4" }
        settings["dram.turn_idle"] = { use.epoch or 100000,
            "MASK 5.4: one epoch" }
    end
    local name = options and options.name or "MASK"
    return {
        name = name,
        apply = function(machine)
            return designs.sharedtlb(machine):with(settings, "design " .. name)
        end,
        policies = { use },
    }
end

--- Mosaic's baseline with pages of 2 MB alone: buffers are rounded up to them
-- (3.2).  With pages of 4 KB, the baseline is the machine as it is: frames come
-- page by page from one list for all applications.
function designs.gpummu_large(machine)
    return machine:with({
        ["vm.page"] = "2M",
        ["vm.round"] = true,
    }, "design GPU-MMU 2 MB: Mosaic 3.2")
end

--- Mosaic, or some of its mechanisms: the policy "mosaic" on the machine as it
-- is.  Options are the policy's parameters (coalesce, threshold, cac, stall),
-- and name and policy as above.
function designs.mosaic(options)
    local use = policy_of("mosaic", options)
    local name = options and options.name or "Mosaic"
    return {
        name = name,
        apply = function(machine)
            return machine:with({}, "design " .. name)
        end,
        policies = { use },
    }
end

--- ETC, or some of its mechanisms, for applications of the classes that the
-- paper lists (0 to 3: unknown, regular, regular with sharing, irregular): what
-- its engine gives each of proactive eviction, throttling and compression, and
-- nothing while memory holds all that is allocated.
-- Options are the parameters of the policy "throttle".
function designs.etc(classes, options)
    local digits, sharing = 0, 0
    for i, class in ipairs(classes) do
        digits = digits + class * 10 ^ (i - 1) // 1 | 0
        sharing = sharing | (class == 2 and 1 << (i - 1) or 0)
    end
    local throttle = policy_of("throttle", options)
    throttle.irregular = 1
    return {
        name = "ETC",
        apply = function(machine)
            return machine:with({
                ["compress.enable"] = { true, "ETC 4.4" },
            }, "design ETC")
        end,
        policies = { throttle, { use = "etc", classes = digits,
            sharing = sharing } },
    }
end

--- TCWS: warps that lose pages to others may load, the others wait.
function designs.tcws(options)
    return {
        name = "TCWS",
        apply = function(machine)
            return machine:with({ ["core.scheduler"] = { "gto",
                "Pichai 4.1: over greedy then oldest" } }, "design TCWS")
        end,
        policies = { policy_of("tcws", options) },
    }
end

--- Two designs in one machine: the settings and the policies of both; where
-- they set one thing, the second decides.
function designs.both(a, b)
    local policies = {}
    for _, d in ipairs { a, b } do
        for i = 1, rawlen(d.policies or {}) do
            policies[#policies + 1] = d.policies[i]
        end
    end
    return {
        name = a.name .. " + " .. b.name,
        apply = function(machine) return b.apply(a.apply(machine)) end,
        policies = policies,
    }
end

--- The designs of MASK figure 3, in its order, with the names that are shown.
designs.list = {
    { name = "Ideal", apply = designs.ideal },
    { name = "SharedTLB", apply = designs.sharedtlb },
    { name = "PWCache", apply = designs.pwcache },
}

--- Those of MASK section 7: figures 11 to 13 and the mechanisms alone (7.2).
designs.sharing = {
    { name = "Static", apply = designs.static },
    { name = "PWCache", apply = designs.pwcache },
    { name = "SharedTLB", apply = designs.sharedtlb },
    designs.mask { name = "MASK-TLB", bypass = 0, dram = 0 },
    designs.mask { name = "MASK-Cache", tokens = 0, dram = 0 },
    designs.mask { name = "MASK-DRAM", tokens = 0, bypass = 0 },
    designs.mask(),
    designs.mask { name = "MASK-released", bypass_rule = "released" },
    designs.mask { name = "MASK-Cache-released", tokens = 0, dram = 0,
        bypass_rule = "released" },
    { name = "Ideal", apply = designs.ideal },
}

--- Those of Mosaic sections 3 and 6, and the variants of CAC of 6.4.
designs.pages = {
    { name = "GPU-MMU", apply = function(machine)
        return machine:with({}, "design GPU-MMU: Mosaic 5")
    end },
    { name = "GPU-MMU 2 MB", apply = designs.gpummu_large },
    designs.mosaic { name = "Mosaic-NoCAC", cac = 0 },
    designs.mosaic(),
    designs.mosaic { name = "Mosaic-BC", cac = 2 },
    designs.mosaic { name = "Mosaic-IdealCAC", cac = 3 },
}

--- MESC's subregions in the L2 TLB, the IOMMU's, and a memory subregion cache;
-- with entries of half its ways.
local function subregions(machine)
    return machine:with({
        ["l2tlb.sub_ways"] = 8, ["msc.entries"] = 512,
    }, "design MESC: MESC table I")
end

--- Aligned groups of 4 pages, whose entries are in one set.
local function groups(machine, levels)
    local settings = { ["l1tlb.merge_pages"] = 4, ["l2tlb.merge_pages"] = 4 }
    for _, level in ipairs(levels) do
        settings[level .. ".group_index"] = true
    end
    return machine:with(settings, "design CoLT: MESC VI.A")
end

--- Those of MESC section VI, on a machine with an IOMMU (mesc); and two more of
-- their kind: CoLT's fully associative form, whose runs, of a line of entries, are
-- beside pages of 2 MB, and AMD's entries of 16 KB.  MESC+CoLT has CoLT merge what
-- walks bring, as the paper's V.A says; the last one hits of subregion entries, too.
designs.contiguity = {
    { name = "baseline", apply = function(machine)
        return machine:with({}, "design baseline: MESC VI.A, Power")
    end },
    { name = "THP", apply = function(machine)
        return machine:with({ ["vm.page"] = "2M", ["vm.round"] = true },
            "design THP: MESC VI.A: 2 MB everywhere")
    end },
    { name = "CoLT", apply = function(machine)
        return groups(machine, { "l1tlb" })
    end, policies = { { use = "colt" } } },
    { name = "full CoLT", apply = function(machine)
        return groups(machine, { "l1tlb", "l2tlb" })
    end, policies = { { use = "colt", full = 1 } } },
    { name = "CoLT-FA", apply = function(machine)
        return machine:with({ ["l1tlb.ranges"] = true,
            ["l1tlb.large_entries"] = { 8, "guess" } },
            "design CoLT-FA: CoLT (MICRO 2012)")
    end, policies = { { use = "colt" } } },
    { name = "AMD", apply = function(machine)
        return groups(machine, { "l1tlb", "l2tlb" })
    end, policies = { { use = "colt", full = 1, aligned = 4 } } },
    { name = "MESC", apply = subregions },
    { name = "MESC+CoLT", apply = function(machine)
        return groups(subregions(machine), { "l1tlb" })
    end, policies = { { use = "colt" } } },
    { name = "MESC+CoLT, hits", apply = function(machine)
        return groups(subregions(machine), { "l1tlb" })
    end, policies = { { use = "colt", hits = "subregions" } } },
}

--- MASK and Mosaic in one: MASK says that they combine, and measures nothing.
designs.together = { designs.both(designs.mask(), designs.mosaic()) }

--- One of these by its name.
function designs.get(name)
    local names = {}
    for _, list in ipairs { designs.sharing, designs.pages, designs.contiguity,
        designs.together } do
        for _, d in ipairs(list) do
            names[#names + 1] = d.name
            if d.name == name then
                return d
            end
        end
    end
    error(require("heddle.core").error(-2,
        ("there is no design '%s'%s; known: %s"):format(tostring(name),
            require("heddle.index").meant(name, names),
            table.concat(names, ", "))), 0)
end

return designs
