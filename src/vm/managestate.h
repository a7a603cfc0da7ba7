/*
 * managestate.h - the inside of the memory manager: manage.c (what comes and
 * goes) and compact.c (what moves); nobody else includes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_MANAGESTATE_H
#define HD_MANAGESTATE_H

#include "manage.h"
#include "ptstate.h"

/* Answers of shootdown and copy; causes. */
enum { HD_SHOOT_PAGES, HD_SHOOT_APP, HD_SHOOT_ALL };
enum { HD_COPY_CHANNEL, HD_COPY_BULK, HD_COPY_FREE };
enum { HD_CAUSE_FREED, HD_CAUSE_SPLIT, HD_CAUSE_MOVED };
enum { HD_COMPACT_FREED, HD_COMPACT_FULL };

/* What somebody asked for while the machine runs. */
struct hd_manage_job {
    hd_time at;
    uint64_t base, bytes;
    uint32_t app, index; /* of an allocation; ROOM: of a fault */
    uint32_t what;       /* HD_JOB_ */
};

enum { HD_JOB_GOES, HD_JOB_COMES, HD_JOB_ROOM };

struct hd_manage_state {
    uint64_t mixed[HD_MAX_APPS]; /* pages from the host that were counted */
    hd_time barrier;             /* instant of the first job, or HD_NEVER */
    hd_time halted;              /* since when no core issues */
    uint32_t first, n, room;     /* ring of jobs */
    hd_ref jobs;
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
    struct hd_manage_faults faults;
    uint32_t id, line, table_lines; /* bytes; lines of a page */
    struct hd_slot coalesce, splinter, compact, receive, copy, stall, shootdown;
    struct hd_stat stat;
    uint64_t *scratch; /* arrays of questions, [4][frames of 2 MB] */
    uint8_t *tried;    /* [frames of 2 MB]: since the cause */
};

static inline uint64_t *hd_manage_count(const struct hd_manage *g, uint32_t app,
                                        enum hd_manage_stat what)
{
    return hd_count(&g->stat, 0, app, what);
}

/* compact.c */
/* Asks which frames are emptied, and empties them.  True: pages have moved. */
bool hd_manage_compact(struct hd_manage *g, uint32_t cause, uint32_t app);

/* manage.c */
/* Splits a coalesced region, and charges for it. */
void hd_manage_split(struct hd_manage *g, uint32_t app, uint64_t vpn);
/* Translations of these pages are wrong from now on. */
void hd_manage_shoot(struct hd_manage *g, uint32_t app, uint32_t cause,
                     uint64_t vpn, uint64_t pages);
void hd_manage_no_memory(struct hd_manage *g);

#endif
