--- The gallery of charts, a page of the manual in HTML: what each shows, the file
-- (in this folder, but where `from` says), the command that draws it, and the
-- script of this folder that it runs, if the command is not about one of scenarios/.
--
--     heddle run src/dev/html/draw.lua [only=NAME]
--
-- draws them again.
--
-- SPDX-License-Identifier: MIT
return {
    { name = "tlb-contention", title = "Two tenants and one L2 TLB", from = "man",
        command = "heddle run scenarios/tlb-contention.lua svg=tlb-contention.svg",
        about = "Bars with values, sections, and the papers' means as marks: what "
            .. "two applications reach of the performance of an ideal TLB, on four "
            .. "machines. make demo prints the table that belongs to it." },
    { name = "tlb-size", title = "A sweep of a setting", script = "tlb-size.lua",
        command = "heddle run tlb-size.lua",
        about = "Lines over numbers: a stencil and random updates share an L2 TLB, "
            .. "of 128 to 2048 entries." },
    { name = "waits", title = "Where the time goes", script = "waits.lua",
        command = "heddle run waits.lua",
        about = "Stacked bars of the metrics time_*: with pages of 4 KB half of the "
            .. "time that warps of random updates have is spent waiting for a TLB." },
    { name = "ATAX", title = "Pages over time",
        command = "heddle apps ATAX size=T pictures=.",
        about = "A map: which pages a program accesses, and when. In its first kernel "
            .. "each thread reads a row, so all pages are in use all the time; in its "
            .. "second each reads a column, and the pages follow one another." },
    { name = "fig03", title = "A figure of a paper",
        command = "heddle run scenarios/pichai/fig03.lua scale=quick",
        draws = "out/pichai/fig03.svg",
        about = "An experiment draws its figure and writes its numbers, next to the "
            .. "paper's: here those of two of the figure's six programs." },
}
