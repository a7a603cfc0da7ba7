--- etc/fig18.lua - how many cores stop, and resume, at a time.
--
-- ETC (ASPLOS 2019), figure 18: of the degrees of throttling and of release, 1 is
-- best for both, and that of throttling matters more.  The memory is not said.
--
--     heddle run scenarios/etc/fig18.lua [scale=full]
--
-- Epochs are the short ones: programs of a few million cycles see few of others.
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig18", "irregular", "cores that stop, and resume, at a time",
    1)
local DEGREES = { 1, 2, 4 }
local designs = { etc.BL }
for _, what in ipairs { "step", "release" } do
    for _, n in ipairs(DEGREES) do
        local d = etc.MT(20, 80)
        d.name = what .. " " .. n
        d.policies[1][what] = n
        designs[#designs + 1] = d
    end
end
local all = etc.measure(x, designs)

for _, share in ipairs(x.shares) do
    local spread = {}
    for _, what in ipairs { "step", "release" } do
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
        paper = { "step", "release" }, heddle = spread }
end
etc.show(x, all, designs, "performance, with memory for all as 1")
x:close()
