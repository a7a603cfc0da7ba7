--- etc/fig18.lua - how many cores stop, and resume, at a time.
--
-- ETC (ASPLOS 2019), figure 18: of the degrees of throttling and of release, 1 is
-- best for both, and that of throttling matters more.  The memory is not said.
--
--     heddle run scenarios/etc/fig18.lua [scale=full]
--
-- Detection and execution last 20 and 80 thousand cycles, so that cores are
-- released, too; the paper gives no lengths.  A core that resumes changes nothing
-- where it has no blocks and gets none, as in launches of fewer blocks than cores;
-- so the degrees stand here, too, where cores that stop at a launch have blocks
-- (hold = 1), which the paper does not say.
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig18", "irregular", "cores that stop, and resume, at a time",
    1)
local DEGREES = { 1, 2, 4 }
local KINDS = { "step", "release" }
local designs, names = { etc.BL }, {}
for hold, more in pairs { [0] = "", ", hold" } do
    for _, what in ipairs(KINDS) do
        for _, n in ipairs(DEGREES) do
            local d = etc.MT(20, 80)
            d.name = ("%s %d%s"):format(what, n, more)
            d.policies[1][what], d.policies[1].hold = n, hold
            designs[#designs + 1] = d
        end
    end
end
table.sort(designs, function(a, b) return a.name < b.name end) -- BL first
for i = 2, #designs do
    names[i - 1] = designs[i].name
end
local all = etc.measure(x, designs)

for _, name in ipairs(names) do
    x:quantity { "cores released, " .. name,
        heddle = etc.released(all, name), unit = "cores" }
end
for _, share in ipairs(x.shares) do
    local spread = {}
    for _, what in ipairs(KINDS) do
        local gain, order, least, most = {}, {}, math.huge, -math.huge
        for i, n in ipairs(DEGREES) do
            local name = what .. " " .. n
            order[i] = name
            gain[name] = 1 + etc.gain(all, name, share) / 100
            least, most = math.min(least, gain[name]),
                math.max(most, gain[name])
            x:quantity { ("mean gain over BL at %d %%, %s"):format(share,
                name), heddle = 100 * (gain[name] - 1), unit = "%" }
        end
        spread[what] = most / least - 1
        x:order { ("degree 1 is best, %s, %d %%"):format(what, share),
            paper = { order[1], order[2] }, heddle = gain }
    end
    x:order { ("what matters more, %d %%"):format(share),
        paper = KINDS, heddle = spread }
    for _, name in ipairs(names) do
        if name:find "hold" then
            x:quantity { ("mean gain over BL at %d %%, %s"):format(share, name),
                heddle = etc.gain(all, name, share), unit = "%" }
        end
    end
end
etc.exercised(x, all, designs)
etc.show(x, all, designs, "performance, with memory for all as 1")
x:close()
