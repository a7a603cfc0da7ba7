/*
 * dramchan.h - the inside of the DRAM system: what a channel, a bank and a
 * queued request are, and which file works on them.
 *
 *   dramtime.h   when a command is legal and what it forbids afterwards
 *   dramqueue.c  the lists of a bank and its candidates
 *   dramsched.c  which command is next, and when
 *   dram.c       arrivals, events, answers, counters
 *   dramlook.c   showing and checking what is inside
 *
 * A channel's state is a pure function of the requests it was sent and of the
 * cycle up to which its commands have been decided.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMCHAN_H
#define HD_DRAMCHAN_H

#include "../policy/slots.h"
#include "dram.h"
#include "drammap.h"
#include "dramspec.h"

enum { CLASSES = 3 }; /* 0 normal, 1 silver, 2 golden */
enum { NO_ENTRY = 0xffff };

enum hd_dram_stat {
    ST_READS,
    ST_WRITES,
    ST_WALKS,
    ST_SILVER,
    ST_GOLDEN,
    ST_DATA_BURSTS,
    ST_WALK_BURSTS,
    ST_BUSY,
    ST_ROW_HITS,
    ST_ACTIVATES,
    ST_PRECHARGES,
    ST_REFRESHES,
    ST_QUEUE_FULL,
    ST_CYCLES,
    ST_COUNT
};

/* A request in the queue of a channel. */
struct hd_dramentry {
    uint64_t row;
    uint64_t age;      /* order of arrival in the channel */
    uint64_t accepted; /* command cycle */
    uint32_t req;
    uint16_t next; /* in its list */
    uint16_t column;
    uint8_t bank, klass, write, app;
    uint16_t bursts, left; /* in all, and to come */
    uint8_t opened;        /* an activate was issued for it */
};

/* A list of entries by age. */
struct hd_dramlist {
    uint16_t head, tail;
};

struct hd_drambank {
    uint64_t act_ok, rd_ok, wr_ok, pre_ok; /* first legal cycle, bank's own */
    uint64_t row;
    uint8_t open;
    uint8_t classes;                  /* bit set of classes that wait here */
    uint32_t served;                  /* requests that the open row has ended */
    struct hd_dramlist hits[CLASSES]; /* requests of the open row */
    struct hd_dramlist rest[CLASSES]; /* the others */
};

/* Commands. */
enum hd_dramkind {
    HD_DRAM_ACT,
    HD_DRAM_PRE,
    HD_DRAM_RD,
    HD_DRAM_WR,
    HD_DRAM_PREA, /* all open banks, before a refresh */
    HD_DRAM_REF,
    HD_DRAM_ASK, /* no command: a policy is to be asked */
    HD_DRAM_NONE /* no command: there is nothing to do */
};

/* An answer on its way, or a write whose data are being sent. */
struct hd_dramdone {
    uint64_t cycle; /* after the last datum */
    uint32_t req;
};

struct hd_dramchan {
    uint64_t decided;   /* all commands up to this cycle have been issued */
    uint64_t floor;     /* no command before this cycle */
    uint64_t act_ok;    /* tRRD, tFAW */
    uint64_t col_ok[2]; /* buses and turn-around: read, write */
    uint64_t faw[4];    /* last activates, a ring */
    uint64_t ref_at;    /* next refresh */
    uint64_t age;       /* requests accepted so far */
    uint64_t counted;   /* cycles counted so far */
    hd_time wake;       /* earliest event posted, or HD_NEVER */
    /* the command that issues next if nothing arrives */
    uint64_t plan_at;
    uint64_t hold; /* policy: asked again in this cycle */
    uint32_t plan_kind, plan_bank;
    uint32_t planned; /* 1: the three above hold */
    /* best row command: holds while best_valid and floor < best_until */
    uint32_t best_valid, best_bank;
    uint64_t best_at, best_key, best_until; /* key: as row_key */
    uint32_t faw_next;
    uint32_t waiting;               /* entries in use */
    uint32_t klass[CLASSES];        /* entries of each class */
    uint16_t free;                  /* free entries */
    struct hd_dramlist golden;      /* golden requests not yet at a bank */
    uint32_t golden_busy;           /* one golden request is at a bank */
    uint32_t done_first, done_last; /* ring of struct hd_dramdone */
    uint32_t wait_first, wait_last; /* nodes of waiting senders */
    uint64_t open;                  /* banks with an open row */
    uint64_t col_mask[2]; /* banks with a column candidate: read, write */
    uint32_t col_n[2];    /* how many of these */
    uint64_t row_mask;    /* banks with a row candidate */
    uint64_t act_mask;    /* of these, the activates */
    uint64_t group_ok[HD_DRAM_MAX_BANKS];
    uint8_t col_order[2][HD_DRAM_MAX_BANKS]; /* these banks, by key */
    uint16_t col_entry[HD_DRAM_MAX_BANKS];   /* request of each */
    /* candidates of each bank */
    uint64_t col_ready[HD_DRAM_MAX_BANKS], col_key[HD_DRAM_MAX_BANKS];
    uint64_t row_ready[HD_DRAM_MAX_BANKS], row_key[HD_DRAM_MAX_BANKS];
};

/*
 * Candidates are compared by one number: cycles from now on (16 bits), class
 * and rank (3), order of arrival (39), bank (6).  The key is all but the
 * first.  The ranges of the settings keep every wait below 2^16 cycles.
 */
enum { KEY_BITS = 48, KEY_RANK = 45, KEY_CLASS = 46, KEY_AGE = 6 };

/* A sender that waits for room. */
struct hd_dramwait {
    uint32_t who, what, a, next;
};

/* Timing in cycles, as the controller keeps it. */
struct hd_dramtime {
    uint32_t same, other;      /* column to column: same group, other group */
    uint32_t rd_wr, wr_rd;     /* turn-around */
    uint32_t rd_data, wr_data; /* command to the end of its data */
    uint32_t rd_pre, wr_pre;
};

struct hd_dram {
    struct hd_env *env;
    struct hd_dram_cfg cfg;
    struct hd_dramtime t;
    struct hd_drammap map;
    struct hd_reqs *reqs;
    struct hd_client *clients;
    uint32_t id; /* component */
    hd_time tick;
    uint32_t latency; /* modes without queues */
    uint32_t group_of[HD_DRAM_MAX_BANKS];
    uint32_t ring; /* entries of a done ring, a power of two */
    /* arena */
    struct hd_dramchan *chan;
    struct hd_drambank *bank;   /* [channel][bank] */
    struct hd_dramentry *entry; /* [channel][queue] */
    struct hd_dramdone *done;   /* [channel][ring] */
    struct hd_dramwait *wait;   /* [0]: head of the free list is wait_free */
    uint32_t *wait_free;        /* [0] free list, [1] used */
    struct hd_stat stat;
    struct hd_hist *data_latency, *walk_latency;
    struct hd_slot klass, pick;
    hd_dram_watcher *watch;
    void *watch_self;
    struct hd_dramcheck *check; /* --check: verifies every command */
};

static inline struct hd_drambank *hd_drambank_at(const struct hd_dram *d,
                                                 uint32_t c, uint32_t b)
{
    return &d->bank[c * d->cfg.banks + b];
}

static inline struct hd_dramentry *hd_dramentry_of(const struct hd_dram *d,
                                                   uint32_t c)
{
    return &d->entry[c * d->cfg.queue];
}

/* dramqueue.c */
void hd_dramqueue_arrive(struct hd_dram *d, uint32_t c, uint32_t e);
void hd_dramqueue_opened(struct hd_dram *d, uint32_t c, uint32_t b);
void hd_dramqueue_closed(struct hd_dram *d, uint32_t c, uint32_t b);
void hd_dramqueue_served(struct hd_dram *d, uint32_t c, uint32_t e);
/* After a precharge for the bank's row candidate. */
void hd_dramqueue_shut(struct hd_dram *d, uint32_t c, uint32_t b);
/* Works out the candidates of a bank anew. */
void hd_dramqueue_refresh(struct hd_dram *d, uint32_t c, uint32_t b);
/* The bank's most urgent waiting class. */
static inline uint32_t hd_dramqueue_top(const struct hd_drambank *k)
{
    return k->classes >> 2 ? 2 : k->classes >> 1;
}
/* The request for which a bank's column or row candidate stands. */
static inline uint32_t hd_dramqueue_column(const struct hd_drambank *k)
{
    return k->hits[hd_dramqueue_top(k)].head;
}
static inline uint32_t hd_dramqueue_row(const struct hd_drambank *k)
{
    return k->rest[hd_dramqueue_top(k)].head;
}

/* dramsched.c */
/* Issues every command up to and including `cycle`. */
void hd_dramsched_advance(struct hd_dram *d, uint32_t c, uint64_t cycle);
/* Makes sure that the next command is known. */
void hd_dramsched_plan(struct hd_dram *d, uint32_t c);
/* No slot of the queue can become free before this cycle. */
uint64_t hd_dramsched_free_at(struct hd_dram *d, uint32_t c);
int64_t hd_dramsched_default(void *self, const void *question);

/* dram.c: a request has sent its last burst in `cycle`. */
void hd_dram_ended(struct hd_dram *d, uint32_t c, uint32_t e, uint64_t cycle);

/* dramlook.c: entry points of struct hd_part. */
void hd_dramlook_show(void *self, uint32_t c, struct heddle_visitor *v);
void hd_dramlook_stuck(void *self, uint32_t c, struct heddle_visitor *v);
void hd_dramlook_check(void *self, uint32_t c, struct hd_err *err);

#endif
