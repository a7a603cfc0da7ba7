--[[
requests.lua - how long the requests of an LLM server are.

Prompts and answers of two services of Azure's, in tokens, by the deciles and
quartiles of AzureLLMInferenceTrace 2023 (Splitwise, ISCA 2024; conv: 19,366
requests, code: 8,819), linear between them.  The least is not known: 1.

    requests.draw("conv", "prompt", u)     the length at u, 0 to 999,999
    requests.mean("conv", "prompt")        tokens, by the points: 1203 (the
                                           trace: 1155), output 221 (211);
                                           code 2083 (2048) and 39 (28)
    requests.contexts(kind, n, mean, seed) n lengths of contexts in decode: the
                                           prompt and a share of the answer

A context is as long as a request is at an instant that is uniform over its
answer.  Lengths are scaled so that `mean` is what they have on average; kind =
"fixed" has all of them `mean` long.  Draws are SplitMix64's (Steele, Lea,
Flood, OOPSLA 2014), in whole numbers, so that they are the same everywhere.

SPDX-License-Identifier: MIT
]]
local M = {}

local SHARE = { 0, 100000, 250000, 500000, 750000, 900000, 990000, 1000000 }

local LENGTH = {
    conv = {
        prompt = { 1, 207, 396, 1020, 1189, 2735, 4142, 14050 },
        output = { 1, 54, 85, 129, 395, 424, 601, 1000 },
    },
    code = {
        prompt = { 1, 147, 578, 1469, 2745, 5194, 7436, 7437 },
        output = { 1, 7, 9, 13, 24, 55, 252, 1899 },
    },
}

function M.draw(kind, part, u)
    local at = LENGTH[kind][part]
    local i = 1
    while u >= SHARE[i + 1] do i = i + 1 end
    return at[i] + (at[i + 1] - at[i]) * (u - SHARE[i])
        // (SHARE[i + 1] - SHARE[i])
end

function M.mean(kind, part)
    local at, sum = LENGTH[kind][part], 0
    for i = 1, #SHARE - 1 do
        sum = sum + (at[i] + at[i + 1]) * (SHARE[i + 1] - SHARE[i])
    end
    return sum / 2e6
end

-- Draw k of a seed's, below a million.
local function random(seed, k)
    local x = seed * 0x632be59bd9b4e019 + k * 0x9e3779b97f4a7c15
    x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
    x = (x ~ (x >> 27)) * 0x94d049bb133111eb
    return ((x ~ (x >> 31)) >> 33) % 1000000
end
M.random = random

function M.contexts(kind, n, mean, seed)
    local out, sum = {}, 0
    for i = 1, n do
        out[i] = kind == "fixed" and mean
            or M.draw(kind, "prompt", random(seed, 3 * i))
            + M.draw(kind, "output", random(seed, 3 * i + 1))
            * random(seed, 3 * i + 2) // 1000000
        sum = sum + out[i]
    end
    for i = 1, n do
        out[i] = math.max(1, out[i] * mean * n // sum)
    end
    return out
end

return M
