--[[
412-load-tree.lua - the suffix tree of heddle.generate, against a tree made by
hand.

Pinned, for texts of several lengths and compositions: every suffix can be read
from the root to a leaf of its own; the inner nodes are the substrings that two
different letters follow, no more; a suffix link leads to the node without the
first letter; numbers are MUMmerGPU's, breadth first down to 16 edges and in
clusters of five generations below; texels hold them where the formula says;
reads are pieces of the genome; the seed decides; errors are words.

SPDX-License-Identifier: MIT
]]
local generate = require "heddle.generate"

local test, run = require "lib.suite"()

local WIDTH = 4096

local function letter_at(t, r)
    local x, y = (r % 2 ^ 18) // 4, 4 * (r // 2 ^ 18) + r % 4
    return string.char(t.reference[math.tointeger(65536 * y + x)])
end

-- The text without its 's', with its '$'.
local function text_of(t, n)
    local list = {}
    assert(letter_at(t, 0) == "s" and letter_at(t, n + 2) == "Z")
    for r = 1, n + 1 do list[r] = letter_at(t, r) end
    return table.concat(list)
end

local function children(t, v)
    local list = {}
    for i = 0, 3 do list[i + 1] = t.child[4 * v + i] end
    list[5] = t.node[4 * v + 2]
    return list
end

-- Calls fn(texel, letters from the root, parent) for each node.
local function each_node(t, text, fn)
    local function go(v, letters, parent)
        fn(v, letters, parent)
        for _, c in ipairs(children(t, v)) do
            if c ~= 0 then
                go(c, letters .. text:sub(t.node[4 * c], t.node[4 * c + 1]), v)
            end
        end
    end
    go(WIDTH, "", nil)
end

-- Substrings that more than one letter follows.
local function branching(text)
    local after, found, n = {}, {}, 0
    for i = 1, #text do
        for j = i, #text do
            local s, c = text:sub(i, j - 1), text:sub(j, j)
            if after[s] and after[s] ~= c and not found[s] then
                found[s], n = true, n + 1
            end
            if not after[s] and j > i + 40 then break end
            after[s] = after[s] or c
        end
    end
    return found, n
end

local function check_tree(o)
    local t = generate.suffix_tree(o)
    local text = text_of(t, o.bases)
    assert(#text == o.bases + 1 and text:sub(-1) == "$")
    local want, inner = branching(text)
    assert(t.nodes == inner + #text, "number of nodes")
    local letters, suffixes, nodes = {}, {}, 0
    each_node(t, text, function(v, s)
        letters[v], nodes = s, nodes + 1
        if s:sub(-1) == "$" then
            assert(text:sub(-#s) == s and not suffixes[s], "a suffix")
            suffixes[s] = true
        else
            assert(want[s], "an inner node branches")
        end
    end)
    assert(nodes == t.nodes, "all nodes are reached")
    each_node(t, text, function(v, s)
        if s ~= "" and s:sub(-1) ~= "$" then
            assert(letters[t.node[4 * v + 3]] == s:sub(2), "suffix link")
        end
    end)
    return t, text
end

-- Numbers as MUMmerGPU gives them, by a queue.
local function check_numbers(t)
    local id, queue, deepest = 0, { { WIDTH, 0 } }, 0
    local function number(v)
        id = id + 1
        local x, y = (id % 2 ^ 17) // 32, 32 * (id // 2 ^ 17) + id % 32
        assert(v == WIDTH * y + x, "texel of node " .. id)
    end
    local function follow(v, left, level)
        for _, c in ipairs(children(t, v)) do
            if c ~= 0 and left == 0 then
                queue[#queue + 1] = { c, level }
            elseif c ~= 0 then
                number(c)
                follow(c, left - 1, level)
            end
        end
    end
    for _, entry in ipairs(queue) do
        local v, level = entry[1], entry[2]
        deepest = math.max(deepest, level)
        number(v)
        if level < 16 then
            follow(v, 0, level + 1)
        else
            follow(v, 4, level + 5)
        end
    end
    assert(id == t.nodes)
    return deepest
end

test("small trees are the trees of their texts", function()
    for n = 1, 12 do check_tree { bases = n, seed = n } end
    for seed = 1, 3 do
        check_tree { bases = 300, seed = seed }
        check_tree { bases = 257, seed = seed, gc = 0 }
    end
    check_tree { bases = 32, gc = 1 }
end)

test("numbers and texels", function()
    local t = check_tree { bases = 500 }
    assert(check_numbers(t) < 16)
    t = generate.suffix_tree { bases = 60000, gc = 0 }
    assert(check_numbers(t) > 16, "deep enough for clusters")
    t = generate.suffix_tree { bases = 90000 } -- ids beyond 2^17
    assert(t.nodes > 2 ^ 17)
    check_numbers(t)
    assert(t.height == (t.nodes + 1 + 4095) // 4096 + 32)
    assert(#t.node == 4 * WIDTH * t.height and #t.child == #t.node)
end)

test("composition", function()
    local n = 20000
    local text = text_of(generate.suffix_tree { bases = n, gc = 0.3 }, n)
    for letter, share in pairs { A = 0.35, C = 0.15, G = 0.15, T = 0.35 } do
        local _, count = text:gsub(letter, "")
        assert(math.abs(count / n - share) < 0.02, letter)
    end
end)

test("reads are pieces of the genome", function()
    local o = { bases = 2000, genome = 4000, reads = 400, length = 30 }
    local t = generate.suffix_tree(o)
    local text, inside = text_of(t, o.bases), 0
    for i = 0, o.reads - 1 do
        local s = {}
        for k = 1, 30 do s[k] = string.char(t.reads[32 * i + k]) end
        assert(t.reads[32 * i] == ("q"):byte() and t.reads[32 * i + 31] == 0)
        s = table.concat(s)
        assert(s:find("^[ACGT]+$"))
        if text:find(s, 1, true) then inside = inside + 1 end
    end
    assert(inside > 150 and inside < 250, inside)
    o.genome = nil -- as long as the reference: all match
    t = generate.suffix_tree(o)
    for i = 0, o.reads - 1 do
        local s = {}
        for k = 1, 30 do s[k] = string.char(t.reads[32 * i + k]) end
        assert(text:find(table.concat(s), 1, true))
    end
end)

test("the seed decides; wrong options are errors", function()
    local a = text_of(generate.suffix_tree { bases = 200, seed = 5 }, 200)
    assert(a == text_of(generate.suffix_tree { bases = 200, seed = 5 }, 200))
    assert(a ~= text_of(generate.suffix_tree { bases = 200, seed = 6 }, 200))
    for pattern, o in pairs {
        ["suffix_tree: 0 of 0 bases"] = {},
        ["10 of 5 bases"] = { bases = 10, genome = 5 },
        ["1 reads of 11"] = { bases = 10, length = 11 },
        ["gc 2"] = { bases = 10, gc = 2 },
        ["no option 'base'"] = { base = 10 },
    } do
        local ok, err = pcall(generate.suffix_tree, o)
        assert(not ok and tostring(err):find(pattern, 1, true), tostring(err))
    end
end)

run()
