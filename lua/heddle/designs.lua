--- designs.lua - the translation designs that the papers compare, each as the
-- settings in which it differs from a machine with a shared L2 TLB.
--
--     local m = H.designs.pwcache(H.machine("maxwell"))
--     for _, d in ipairs(H.designs.list) do ... d.name, d.apply(m) ... end
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

--- No translation at all.
function designs.off(machine)
    return machine:with({
        ["sim.translation"] = "off",
    }, "design Off")
end

--- The designs of MASK figure 3, in its order, with the names that are shown.
designs.list = {
    { name = "Ideal", apply = designs.ideal },
    { name = "SharedTLB", apply = designs.sharedtlb },
    { name = "PWCache", apply = designs.pwcache },
}

--- The design of that name, as { name =, apply =, policies = }.
function designs.get(name)
    for _, d in ipairs(designs.list) do
        if d.name == name then
            return d
        end
    end
    local known = {}
    for i, d in ipairs(designs.list) do
        known[i] = d.name
    end
    error(("there is no design '%s'; known: %s"):format(name,
        table.concat(known, ", ")), 2)
end

return designs
