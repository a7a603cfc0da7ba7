/*
 * dramchan.h - the inside of the DRAM system: what a channel, a bank and a
 * queued request are, and which file works on them.
 *
 *   dramtime.h   when a command is legal and what it forbids afterwards
 *   dramqueue.c  the lists of a bank, and what it offers
 *   drambank.h   the same for banks where only normal requests wait
 *   dramoffer.h  the candidates of all banks
 *   dramstep.h   finding the next command, issuing it, taking in arrivals
 *   dramsched.c  which command is next, and when
 *   dramplain.c  the same where nothing is out of the ordinary
 *   dramask.c    the same by a policy's choice
 *   dramclass.c  the class of a request; whose silver turn it is
 *   dramcount.h  what is counted of a request (dramcount.c: the counters)
 *   dram.c       arrivals, events, answers
 *   dramlook.c   showing and checking what is inside
 *
 * A channel's state is a pure function of the requests it was sent and of the
 * cycle up to which its commands have been decided.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMCHAN_H
#define HD_DRAMCHAN_H

#include "../base/recip.h"
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
    ST_TURNS,
    ST_CYCLES,
    ST_COUNT
};

/* A request in the queue of a channel: half a line of the host's cache. */
struct hd_dramentry {
    uint64_t row;
    uint32_t req;
    uint32_t age;          /* order of arrival in the channel, low bits */
    uint32_t accepted;     /* command cycle, low bits */
    uint16_t next;         /* in its list */
    uint16_t bursts, left; /* in all, and to come */
    uint8_t app;           /* row of its counters: application, or none */
    uint8_t bank, klass, write, walk;
    uint8_t opened; /* an activate was issued for it */
};

/* A list of entries by age. */
struct hd_dramlist {
    uint16_t head, tail;
};

/* One line of the host's cache.  By `open`, so that what may come next is found
 * without a branch: the first legal cycle of an activate, of a precharge. */
enum { BANK_ACT, BANK_PRE };
struct hd_drambank {
    uint64_t row_ok[2]; /* BANK_: the bank's own */
    uint64_t act_at;    /* last activate; columns are legal tRCD later */
    uint64_t row;
    struct hd_dramlist hits[CLASSES]; /* requests of the open row */
    struct hd_dramlist rest[CLASSES]; /* the others */
    uint8_t open;
    uint8_t classes; /* bit set of classes that wait here */
    uint8_t way;     /* of its column candidate: 0 none, 1 read, 2 write */
    uint8_t group;
    uint32_t served; /* requests that the open row has ended */
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

/* Whose silver turn it is. */
struct hd_dramturn {
    hd_time since; /* it began, or a silver request came, whichever is later */
    uint32_t left; /* silver requests that it lasts; 0: it has ended */
    uint16_t number; /* applications + 1; 0: there was none yet */
    uint8_t nobody;  /* 1: no application wanted the next one */
};

/* Requests that have arrived and are not yet in the queue: at most so many. */
enum { INBOX = 8 };

/*
 * The state of a channel.  What a request needs comes first, and of the arrays
 * only as much is used as there are banks, so that the common case touches a
 * few lines of the host's cache.
 */
struct hd_dramchan {
    /* arrivals, events */
    hd_time wake;     /* earliest event posted, or HD_NEVER */
    uint64_t age;     /* requests accepted so far */
    uint32_t waiting; /* requests: entries in use, and the inbox */
    uint32_t waiters; /* senders that wait for a place */
    uint32_t inbox_n;
    uint32_t done_n;         /* answers to give: struct hd_dramdone */
    uint32_t klass[CLASSES]; /* requests of each class but the first */
    /* free entries, a list that never gets empty; the one freed first is taken
     * first, so that it does not matter when each is taken and freed */
    uint16_t free, free_last;
    /* the command that issues next if nothing arrives */
    uint8_t planned; /* 1: the three that follow hold */
    uint8_t plan_kind;
    uint8_t offered; /* 1: an arrival has changed the candidates; dram.c */
    uint64_t plan_at;
    uint64_t floor;       /* no command before this cycle */
    uint64_t column, row; /* first of each, packed; 0: to be found anew */
    uint64_t act_ok;      /* tRRD, tFAW */
    uint64_t col_ok[2];   /* buses and turn-around: read, write */
    uint64_t rows;        /* banks with a row candidate */
    uint32_t n[2];        /* banks with a column candidate: read, write */
    uint32_t plan_bank;
    uint32_t faw_next;
    uint64_t group_ok[HD_DRAM_MAX_BANKS]; /* tCCD_L, by group */
    /* keys of column candidates, in order, and of row candidates, by bank */
    uint64_t order[2][HD_DRAM_MAX_BANKS];
    uint64_t row_key[HD_DRAM_MAX_BANKS];
    uint16_t inbox[INBOX]; /* entries */
    /* seldom needed */
    uint64_t faw[4];           /* last activates, a ring */
    struct hd_dramlist golden; /* golden requests not yet at a bank */
    uint32_t golden_busy;      /* one golden request is at a bank */
    /* nodes of waiters; where queues are apart, for each class */
    uint32_t wait_first[CLASSES], wait_last[CLASSES];
    struct hd_dramturn turn;
    uint64_t hold;    /* policy: asked again in this cycle */
    uint64_t ref_at;  /* next refresh */
    uint64_t counted; /* cycles counted so far */
};

/*
 * Of candidates that are legal in the same cycle the one with the smallest key
 * goes first: class and rank (3 bits), order of arrival (39), bank (6).  With
 * the cycles from now on (16 bits) before it, a key is one number that orders
 * candidates; the ranges of the settings keep every wait below 2^16 cycles.
 */
enum { KEY_BITS = 48, KEY_RANK = 45, KEY_CLASS = 46, KEY_AGE = 6 };

/* A sender that waits for room. */
struct hd_dramwait {
    uint32_t who, what, a, next;
};

/* Timing in cycles, as the controller keeps it; [2]: read, write.  The ranges
 * of the settings keep each below 2^16. */
struct hd_dramtime {
    uint16_t same, other; /* column to column: same group, other group */
    uint16_t again;       /* the larger: the next burst of a request */
    uint16_t turn[2];     /* to a column of the other direction */
    uint16_t data[2];     /* command to the end of its data */
    uint16_t pre[2];      /* to a precharge of the bank */
    uint16_t rcd[2];      /* activate to column */
    uint16_t rcd_least;   /* the smaller */
    /* 2^16 / again, / other, rounded up; 0 if that is large */
    uint16_t per_again, per_other;
    /* by direction, dramplain.c: a column of the other one cannot come between
     * two bursts of a request; two requests can take turns */
    uint8_t runs[2], pairs[2];
    uint16_t tras, trc, trrd, tfaw, trp;
};

/* What the requests of one application add to the counters of a channel: one
 * line of the host's cache.  hd_dram_fold moves it there. */
struct hd_dramtally {
    uint64_t reads, writes, walks, data_bursts, walk_bursts;
    uint64_t row_hits, activates, precharges;
};

/* Where the state of one channel lies in the arena: one line. */
struct hd_dramlane {
    struct hd_dramchan *ch;
    struct hd_drambank *bank;   /* [bank] */
    struct hd_dramentry *entry; /* [queue] */
    struct hd_dramdone *done;   /* [ring] */
    struct hd_dramtally *tally; /* [application, or none] */
    uint32_t c;                 /* its number */
    uint32_t spare[5];
};

/* The lines of the host's cache that each request needs come first. */
struct hd_dram {
    struct hd_dramtime t;
    uint32_t special; /* 1: settings that the short ways lack */
    uint32_t plain;   /* 1: none, and rows are never closed early */
    uint32_t odd;     /* 1: settings that the short way of arrivals lacks */
    /* the next line */
    hd_time tick;
    struct hd_recip per_tick; /* divides by tick */
    struct hd_reqs *reqs;
    struct hd_client *clients;
    const struct hd_steer *steer;
    uint32_t id;       /* component */
    uint32_t others;   /* row of counters: no application's */
    uint64_t row_rank; /* of row candidates: see KEY_RANK */
    struct hd_drammap map;
    struct hd_slot klass, turn, pick;
    hd_dram_watcher *watch;
    void *watch_self;
    struct hd_dramcheck *check; /* --check: verifies every command */
    struct hd_env *env;
    struct hd_hist *data_latency, *walk_latency;
    struct hd_dram_cfg cfg;
    struct hd_stat stat;
    uint32_t latency;         /* modes without queues */
    uint32_t ring;            /* answers that a channel can have to give */
    uint32_t places;          /* entries of a channel, but for one more */
    uint32_t own;             /* channels over which an address is spread */
    hd_time idle;             /* cfg.turn_idle in ticks */
    struct hd_dramwait *wait; /* arena; [0]: head of the free list is
                                 wait_free */
    uint32_t *wait_free;      /* arena: [0] free list, [1] used */
    _Alignas(64) struct hd_dramlane lane[HD_DRAM_MAX_CHANNELS];
};

/* Entry e of v has left. */
static inline void hd_dramentry_free(struct hd_dramchan *ch,
                                     struct hd_dramentry *v, uint32_t e)
{
    v[ch->free_last].next = (uint16_t)e;
    v[e].next = NO_ENTRY;
    ch->free_last = (uint16_t)e;
}

/* Which of two that wait came first; fewer than 2^31 have come since. */
static inline bool hd_dramentry_older(const struct hd_dramentry *a,
                                      const struct hd_dramentry *b)
{
    return (int32_t)(a->age - b->age) < 0;
}

/* The age of a waiting entry, and the cycle in which it was accepted, whole. */
static inline uint64_t hd_dramentry_age(const struct hd_dramchan *ch,
                                        const struct hd_dramentry *v)
{
    return ch->age - (uint32_t)((uint32_t)ch->age - v->age);
}

static inline uint64_t hd_dramentry_accepted(const struct hd_dramchan *ch,
                                             const struct hd_dramentry *v)
{
    return ch->floor - (uint32_t)((uint32_t)ch->floor - v->accepted);
}

static inline struct hd_drambank *hd_drambank_at(const struct hd_dram *d,
                                                 uint32_t c, uint32_t b)
{
    return &d->lane[c].bank[b];
}

static inline struct hd_dramentry *hd_dramentry_of(const struct hd_dram *d,
                                                   uint32_t c)
{
    return d->lane[c].entry;
}

/*
 * A command that may come next as one number: cycle, kind (columns below
 * rows), bank.  HD_NEVER: none.
 */
enum { PLAN_AT = 8, PLAN_ROW = 0x80, PLAN_BANK = 63 };

static inline uint64_t hd_dramchan_pack(uint64_t at, uint32_t kind,
                                        uint32_t bank)
{
    return at << PLAN_AT | (kind ^ 2) << 6 | bank;
}

static inline uint32_t hd_dramchan_kind(uint64_t p)
{
    return ((uint32_t)p >> 6 & 3) ^ 2;
}

static inline void hd_dramchan_plan(struct hd_dramchan *ch, uint64_t at,
                                    uint32_t kind, uint32_t bank)
{
    ch->plan_at = at;
    ch->plan_kind = (uint8_t)kind;
    ch->plan_bank = bank;
}

/* dramqueue.c: these work out the candidates anew, but for opened and closed,
 * which only move requests between the lists. */
/* Entry e has arrived. */
void hd_dramqueue_arrive(struct hd_dram *d, uint32_t c, uint32_t e);
/* The bank's row was opened. */
void hd_dramqueue_opened(struct hd_dram *d, uint32_t c, uint32_t b);
/* It was closed. */
void hd_dramqueue_closed(struct hd_dram *d, uint32_t c, uint32_t b);
/* Entry e, a column candidate, has sent its last burst and leaves. */
void hd_dramqueue_served(struct hd_dram *d, uint32_t c, uint32_t e);
/* Works out the candidates of a bank anew. */
void hd_dramqueue_refresh(struct hd_dram *d, uint32_t c, uint32_t b);
/* Whether they are what that would find. */
bool hd_dramqueue_right(const struct hd_dram *d, uint32_t c, uint32_t b);
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
/* dramplain.c: the same where nothing is out of the ordinary. */
void hd_dramplain_advance(struct hd_dram *d, uint32_t c, uint64_t cycle);
/* dramask.c */
/* Plans the next question, or nothing. */
void hd_dramask_plan(struct hd_dram *d, uint32_t c);
/* The planned question's cycle has come: its answer is the new plan. */
void hd_dramask(struct hd_dram *d, uint32_t c);
/* Answers struct heddle_q_dram_pick as the engine decides. */
int64_t hd_dramask_default(void *self, const void *question);

/* dram.c: a place of a class has become free in `cycle`, and a sender waits,
 * maybe for another class. */
void hd_dram_freed(struct hd_dram *d, uint32_t c, uint32_t klass,
                   uint64_t cycle);

/* dramcount.c */
/* Registers the counters. */
void hd_dramcount_open(struct hd_dram *d);
/* Moves what the channels have tallied to the counters. */
void hd_dram_fold(struct hd_dram *d);

/* dramclass.c */
/* What a request may be, whoever's turn it is: asked once. */
uint32_t hd_dramclass_may(struct hd_dram *d, uint32_t c, struct hd_req *r);
/* The class of a request that may be k, not normal: silver only in its turn.
 * In `apart` queues the request must wait if that class has no place; in
 * `shared` ones the channel's commands are decided up to now. */
uint32_t hd_dramclass_is(struct hd_dram *d, uint32_t c, const struct hd_req *r,
                         uint32_t k);
/* A silver request of the application whose turn it is has been taken. */
void hd_dramclass_silver(struct hd_dram *d, uint32_t c);
/* Places that a class has left; `apart` queues. */
uint32_t hd_dramclass_places(const struct hd_dram *d, uint32_t c,
                             uint32_t klass);
/* Answers to the points dram_class and dram_turn when nobody is bound. */
int64_t hd_dramclass_default(void *dram, const void *question);
int64_t hd_dramclass_turn_default(void *dram, const void *question);

/* dramlook.c: entry points of struct hd_part. */
void hd_dramlook_show(void *self, uint32_t c, struct heddle_visitor *v);
void hd_dramlook_stuck(void *self, uint32_t c, struct heddle_visitor *v);
void hd_dramlook_check(void *self, uint32_t c, struct hd_err *err);

#endif
