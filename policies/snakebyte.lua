-- snakebyte.lua - equal groups of contiguous pages merge, again and again, and an entry
-- of a TLB covers the group that its page has come to.
--
-- Two pages that follow one another in virtual and in physical memory are a group of 2,
-- two such groups one of 4, and so on up to 2^most.  A page-table entry has a mark that
-- says how large the group is that begins with its page.  With merge = "mapped" groups
-- merge as memory is allocated, so that a walk finds the largest there is.  With
-- merge = "walked" a walk merges: its page's group with the one next to it, if that has
-- come as far and their frames continue each other, and what comes of it with the next;
-- the mark of the first page keeps it for later walks.
--
-- What is public of the paper is its abstract: entries that cover groups of equal pages
-- with a bit for each and some bits for their size, promoted when all are allocated
-- contiguously, with an allocator that keeps pages together.  Guesses: groups of two,
-- none with pages missing, sizes up to 2 MB, both ways of merging, and that marks cost
-- no read or write of their own (groups.marks counts them).
--
-- What TLBs can hold is groups.most and groups.l1.
--
-- SPDX-License-Identifier: MIT
return {
    name = "snakebyte",
    summary = "contiguous pages merge recursively, and entries cover what they have become",
    source = "Lee, Lee, Oh, Song, Ro: SnakeByte: A TLB Design with Adaptive and "
        .. "Recursive Page Merging in GPUs, HPCA 2023",

    params = {
        merge = { default = "mapped", choices = { "mapped", "walked" },
                  meaning = "when groups merge: as they are mapped, or as walks find them",
                  source = "guess: the paper promotes what is allocated" },
        step = { default = 1, min = 1, max = 9, unit = "log2 groups",
                 meaning = "as many groups merge into one: 1: two, 3: eight",
                 source = "guess; the paper has a bit vector" },
    },

    tlb_group = function(q, _, p)
        if p.merge == "mapped" then
            return q.whole - q.whole % p.step
        end
        local k = 0
        for i = q.most, 1, -1 do
            if q.own[i + 1] >= i then k = i break end
        end
        -- with step > 1 all groups of the next size have to have come so far
        while k + p.step <= q.most do
            for i = k, k + p.step - 1 do
                if q.joins[i + 1] == 0 or q.buddy[i + 1] < i then return k, k end
            end
            k = k + p.step
        end
        return k, k
    end,
}
