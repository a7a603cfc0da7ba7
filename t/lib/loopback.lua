--- loopback.lua - a Slurm of its own for a test or a benchmark (src/dev/slurm).
--
--     local loopback = require "lib.loopback"
--     if not loopback.installed() then ... end
--     local slurm = loopback.start(dir [, cpus of a node])
--     slurm.env                what stands before a command line: SLURM_CONF=...
--     slurm.lose "n2"          a node is gone, with all that ran there
--     slurm.start "n2"         and comes back
--     slurm.stop()
--
-- SPDX-License-Identifier: MIT
local files = require "lib.files"

local loopback = {}

--- Whether Slurm is installed, and can run: it wants an address besides loopback.
function loopback.installed()
    return (files.command("PATH=$PATH:/usr/sbin; for c in munged slurmctld "
        .. "slurmd sbatch squeue scancel scontrol; do command -v $c || exit 1; "
        .. "done; hostname -I | grep -q ."))
end

--- What `test` returns as soon as it is true; nil after so many seconds.
function loopback.wait(seconds, test)
    local stop = os.time() + seconds
    repeat
        local v = test()
        if v then
            return v
        end
        os.execute "sleep 0.1"
    until os.time() > stop
end

function loopback.start(dir, cpus)
    local f = assert(io.popen(("src/dev/slurm %s %d >%s 2>&1"):format(
        files.quote(dir), cpus or 2, files.quote(dir .. ".log")), "w"))
    local function tell(text)
        f:write(text, "\n")
        f:flush()
    end
    local slurm = { env = "SLURM_CONF=" .. files.quote(dir .. "/slurm.conf"),
        lose = function(node) tell("lose " .. node) end,
        start = function(node) tell("start " .. node) end,
        stop = function() f:close() end }
    if not loopback.wait(40, function() return files.read(dir .. "/ready") end)
    then
        f:close()
        error("no Slurm: " .. (files.read(dir .. ".log") or ""))
    end
    return slurm
end

return loopback
