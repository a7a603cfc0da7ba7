/*
 * managestate.h - inside the memory manager: its state and the small steps that
 * its files share.  manage.c is the plain manager; compact.c compacts memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_MANAGESTATE_H
#define HD_MANAGESTATE_H

#include "contig.h"
#include "manage.h"
#include "ptstate.h"

/* What was asked for while the machine runs. */
struct hd_manage_job {
    hd_time at;
    uint64_t base, bytes;
    uint32_t app, index; /* of an allocation; ROOM, MAP_HOST: of a fault;
                            RECALL: of a granule */
    uint32_t what;       /* JOB_ */
    struct hd_hint hint;
};

enum {
    HD_JOB_GOES,
    HD_JOB_COMES,
    HD_JOB_ROOM,
    HD_JOB_EVICT,
    HD_JOB_MAP_HOST,
    HD_JOB_RECALL,
    HD_JOB_LEFT,
    HD_JOB_UNPIN,
    HD_JOB_HINT
};

struct hd_manage_state {
    hd_time barrier;         /* instant of the first job, or HD_NEVER */
    hd_time halted;          /* since when no core issues */
    uint32_t first, n, room; /* ring of jobs */
    hd_ref jobs;
    uint64_t wanted;  /* frame of 2 MB to be emptied for a page that faults */
    uint32_t running; /* 1: cycle 0 has come */
    uint32_t halt;    /* 1: no core issues */
};

struct hd_manage {
    struct hd_env *env;
    struct hd_manage_cfg cfg;
    struct hd_manage_state *s; /* arena */
    struct hd_ptables *t;
    struct hd_mmu *mmu;
    struct hd_l2 *l2;
    struct hd_mover *mover;
    struct hd_dram *dram;
    struct hd_manage_cores cores;
    struct hd_faults *faults;
    struct hd_evict *evict;
    struct hd_remote *remote;
    struct hd_thrash *thrash;
    uint32_t id, line, table_lines; /* bytes; lines of a page */
    struct hd_slot coalesce, splinter, compact, receive, copy, stall, shootdown;
    struct hd_stat stat;
    struct hd_hist *runs;
    uint64_t *scratch; /* arrays of questions, [4][frames of 2 MB] */
    uint8_t *tried;    /* [frames of 2 MB]: since the cause */
};

static inline void hd_manage_no_memory(struct hd_manage *g)
{
    hd_err_memory(g->env->err);
}

static inline uint64_t *hd_manage_count(const struct hd_manage *g, uint32_t app,
                                        enum hd_manage_stat what)
{
    return hd_count(&g->stat, 0, app, what);
}

/* Translations of these pages are wrong from now on. */
void hd_manage_shootdown(struct hd_manage *g, uint32_t app, uint32_t cause,
                         uint64_t vpn, uint64_t pages);
/* Splits a coalesced region, and charges for it. */
void hd_manage_splinter(struct hd_manage *g, uint32_t app, uint64_t vpn);

/* ---- compact.c ----------------------------------------------------------- */

/* Asks which frames are emptied, and empties them; the first is known, if it
 * still has pages (HD_NO_FRAME: it is not).  True: pages have moved. */
bool hd_compact(struct hd_manage *g, uint32_t cause, uint32_t app,
                uint64_t first);
/* A page found no frame: memory is compacted now. */
bool hd_compact_room(void *manage, uint32_t app);
/* A page that faults found no frame: whether memory is compacted for it, at the
 * next instant at which mappings may change. */
bool hd_compact_wanted(void *manage, uint32_t app);
/* Whether a policy compacts memory. */
bool hd_compact_can(void *manage);

/* Enters a job for the first instant that no core can be ahead of. */
void hd_manage_enter(struct hd_manage *g, hd_time now, struct hd_manage_job j);
/* Asks whether a coalesced region is split that has only so many pages left;
 * one that has none always is. */
bool hd_manage_ask_split(struct hd_manage *g, uint32_t app, uint64_t vpn,
                         uint32_t left);
/* A page has come from the host. */
void hd_manage_arrived(void *manage, hd_time now, uint32_t app, hd_vpn vpn,
                       uint32_t pages);

/* ---- managepaging.c ------------------------------------------------------ */

/* Does what paging or a host has asked for. */
void hd_manage_paging(struct hd_manage *g, hd_time now,
                      const struct hd_manage_job *j);

#endif
