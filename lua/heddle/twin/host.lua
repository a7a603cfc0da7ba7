--- twin/host.lua - what the twin keeps of a host's calls: which buffers are
-- allocated.
--
-- Advice, prefetches and touches change no instruction, so their arguments are
-- checked and that is all.  A buffer that is freed may not be used any more,
-- until it is allocated again.  Of what a host does next to a launch, frees that
-- wait for it, and all behind the first of these, take effect when it has ended;
-- what is freed or allocated before that is refused where the launch uses it.
--
-- SPDX-License-Identifier: MIT
local hostcalls = require "heddle.kernel.hostcalls"
local launch = require "heddle.kernel.launch"

local fail = launch.fail

local M = {}

-- What lists of launches have for it: before the launch, and behind it.
local BEFORE = { prefetch = { "prefetch", "gpu" },
    prefetch_host = { "prefetch", "host" }, host_reads = { "touch", "read" },
    host_writes = { "touch", "write" } }

--- The host of an instance: calls, what h has; free[b]: it may not be used.
function M.new(instance)
    local host = { free = {}, later = {} }
    local freed = {} -- as the calls will have left it
    local function turn(b, gone) host.free[b] = gone or nil end
    host.calls = hostcalls.calls(instance, function(c)
        local b = c.buffer
        if c.what == "wait" then return end
        if c.what == "allocate" and not freed[b] then
            fail("buffer %s: allocate: it is not free", b.name)
        elseif c.what ~= "allocate" and freed[b] then
            fail("buffer %s: %s: it has been freed", b.name, c.what)
        end
        if c.what == "advise" or c.what == "move" then return end
        local gone = c.what ~= "allocate"
        freed[b] = gone or nil
        host.waits = host.waits or host.beside and c.what == "free"
        if not host.beside then
            turn(b, gone)
        elseif host.waits then
            host.later[#host.later + 1] = { b, gone }
        else
            host.free[b] = true -- the launch may not use it
            host.later[#host.later + 1] = { b, gone }
        end
    end)
    return setmetatable(host, { __index = M })
end

--- What a launch has done before it, and next to it.
function M:begin(entry)
    self.entry = nil
    if type(entry) ~= "table" or entry.fn then return end
    for name, call in pairs(BEFORE) do
        for _, b in ipairs(entry[name] or {}) do
            local part = b.name and { b } or b
            self.calls[call[1]](part[1], call[2], part.offset, part.bytes)
        end
    end
    self.entry = entry
    if entry.beside then
        self.beside = true
        entry.beside(self.calls)
    end
end

--- The launch has ended.
function M:finish()
    for _, t in ipairs(self.later) do self.free[t[1]] = t[2] or nil end
    self.later, self.beside, self.waits = {}, nil, nil
    for _, b in ipairs(self.entry and self.entry.free or {}) do
        self.calls.free(b)
    end
end

return M
