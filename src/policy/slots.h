/*
 * slots.h - how a part of the engine asks a point, and tells a note.
 *
 * A part keeps one struct hd_slot for each point that it asks and offers it
 * at build time with its default.  The plain default answers until a policy
 * is bound, so a slot is never empty; `bound` says whether anybody else
 * answers, and a part may skip building a costly question when nobody does
 * (its inlined default must be the offered one).  Binding a policy puts a
 * checking wrapper into the slot: it counts asked and passed, calls the
 * default when the policy passes, and turns a bad answer into an error that
 * stops the run and the default's answer.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_SLOTS_H
#define HD_SLOTS_H

#include "../base/base.h"
#include "../base/diag.h"
#include "../policy.h"

struct hd_env;

struct hd_slot {
    heddle_answer *fn; /* int64_t fn(void *self, const void *question) */
    void *self;
    uint32_t bound; /* 0: the default answers */
};

/* Typed asks: int64_t hd_ask_tlb_fill(&slot, &question). */
#define HD_POINT(name, heat, kind, limit, when, meaning, fields)               \
    static inline int64_t hd_ask_##name(const struct hd_slot *s,               \
                                        const struct heddle_q_##name *q)       \
    {                                                                          \
        return s->fn(s->self, q);                                              \
    }
#include "../points.def"
#undef HD_POINT

/* The tables that steered policies set and the engine's defaults read. */
struct hd_steer {
    uint8_t l2_bypass[HD_MAX_APPS][8];  /* [app][level; 0 data]: 1 bypass */
    uint8_t dram_class[HD_MAX_APPS][8]; /* [app][level; 0 data]: 0, 1, 2 */
    uint8_t tlb_fill_without[HD_MAX_APPS]; /* answer for warps not in the set */
    uint64_t tlb_fill[HD_MAX_APPS][128];   /* [app][core]: warps that may fill */
    uint64_t warp_limit[128];              /* [core]: warps that may load */
};

struct hd_slots {
    struct hd_steer *steer; /* arena */
    uint32_t watched[HEDDLE_NOTE_COUNT]; /* watchers of each note */
    struct hd_slots_registry *registry;  /* policy/registry.c */
};

/*
 * Offers a slot: point `p` of the structure `at` ("l1tlb", "l2cache", "dram";
 * "" where there is only one), answered by fn(self, q) until a policy is
 * bound.  `slot` must outlive the simulation.
 */
void hd_slots_offer(struct hd_slots *s, enum heddle_point p, const char *at,
                    struct hd_slot *slot, heddle_answer *fn, void *self);

/* Tells a note to everybody who watches it; call only if watched[n] != 0. */
void hd_slots_note(struct hd_slots *s, enum heddle_note n, const void *fields);

#endif
