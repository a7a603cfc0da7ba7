-- What FWT at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function counts(p)
    local n = 1 << p.n
    local passes, warps = (p.n - 11) // 2, n // 128
    local want = { ["modulate load D"] = n // 32, ["modulate load K"] = n // 32,
        ["modulate store D"] = n // 32 }
    for name, times in pairs { D = 2, K = 1 } do
        for _, kind in ipairs { "load", "store" } do
            want["pass_" .. name .. " " .. kind .. " " .. name] =
                4 * warps * passes * times
            want["shared_" .. name .. " " .. kind .. " " .. name] =
                4 * warps * times
        end
    end
    return want, function(total, barriers)
        equal(total.pass_K, warps * passes * 58, "instructions")
        equal(barriers.shared_K, 7 * warps, "barriers")
    end
end

-- 58 instructions a thread and butterfly of radix 4 (MAFIA's run of it).
local function figures()
    local instance = require("heddle.app").get("FWT"):instance("T")
    local n = 0
    require("heddle.twin").walk(instance, function(e)
        if e.kernel == "pass_K" then n = n + e.n end
    end)
    local warps = (1 << instance.params.n) // 128
    local passes = (instance.params.n - 11) // 2
    return { { "instructions a radix-4 butterfly", n / warps / passes, 58 } }
end

return {
    counts = counts,
    figures = figures,
    published = { 67.1, 67.1, 268 }, -- MB of S, M and L
}
