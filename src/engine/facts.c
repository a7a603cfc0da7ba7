/*
 * facts.c - what parts keep for policies from one epoch to the next.
 *
 * A policy that shares the machine between applications wants to know, besides
 * counters, which warps ran and how hard translation pressed: the most page
 * walks at once, and the most memory instructions that one miss of a TLB held
 * up (MASK, ASPLOS 2018, sections 5.2 and 5.4).  Each is a few words in the
 * state of the part that sees it; points/epoch.c says which policy may ask, and
 * when they start again.
 *
 * An instruction that joins a miss in flight counts, whatever its warp: the
 * hardware that MASK describes counts the hits in its MSHRs, too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "simulation.h"

static uint64_t owner(void *self, uint32_t core)
{
    return ((heddle_sim *)self)->gpu.core[core].app;
}

static uint64_t warps(void *self, uint32_t core)
{
    return ((heddle_sim *)self)->gpu.core[core].s->ran;
}

static void restart_warps(void *self)
{
    heddle_sim *s = self;

    for (uint32_t c = 0; c < s->gpu.cores; c++)
        s->gpu.core[c].s->ran = 0;
}

static uint64_t walks(void *self, uint32_t app)
{
    return hd_mmu_recent(((heddle_sim *)self)->mmu, app)->peak;
}

static void restart_walks(void *self)
{
    heddle_sim *s = self;

    for (uint32_t a = 0; a < s->apps; a++)
        hd_mmu_recent(s->mmu, a)->peak = hd_mmu_recent(s->mmu, a)->walks;
}

static uint64_t stalled(void *self, uint32_t app)
{
    const heddle_sim *s = self;

    return hd_max_u64(s->gpu.stalled[app], hd_mmu_recent(s->mmu, app)->stalled);
}

static void restart_stalled(void *self)
{
    heddle_sim *s = self;

    for (uint32_t a = 0; a < s->apps; a++)
        s->gpu.stalled[a] = hd_mmu_recent(s->mmu, a)->stalled = 0;
}

static const struct hd_fact facts[] = {
    {{"owner", "core", "application", "application that owns the core"},
     owner,
     NULL},
    {{"warps", "core", "bit set of warps", "warps that issued"},
     warps,
     restart_warps},
    {{"walks", "application", "walks", "most page walks at once"},
     walks,
     restart_walks},
    {{"stalled", "application", "memory instructions",
      "most that one TLB miss held up"},
     stalled,
     restart_stalled},
};

const struct heddle_fact_info *heddle_fact_info(uint32_t i)
{
    return i < HD_LEN(facts) ? &facts[i].info : NULL;
}

void hd_sim_facts(heddle_sim *s)
{
    hd_slots_facts(&s->slots, facts, HD_LEN(facts), s);
}
