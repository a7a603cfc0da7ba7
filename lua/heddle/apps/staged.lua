--[[
staged.lua - a loop over tiles that are copied asynchronously, some rounds ahead.

    staged(t, rounds, stages, copy, work)

copy(round) copies the tiles of a round into one of `stages` buffers, stages - 1 rounds
before work() has them: a group of copies a round, which may be empty, a wait for the
oldest and a barrier.

SPDX-License-Identifier: MIT
]]
return function(t, rounds, stages, copy, work)
    local ahead = stages - 1
    for round = 0, ahead - 1 do
        if round < rounds then copy(t:const(round)) end
        t:copy_commit()
    end
    t:loop(rounds, function(round)
        t:copy_wait(ahead - 1)
        t:sync()
        t:when((round + ahead):lt(rounds), function() copy(round + ahead) end)
        t:copy_commit()
        work()
    end)
end
