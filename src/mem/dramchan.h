/*
 * dramchan.h - the inside of the DRAM system: what a channel, a bank and a
 * queued request are, and which file works on them.
 *
 *   dramtime.h   when a command is legal and what it forbids afterwards
 *   dramqueue.c  the lists of a bank, and what it offers
 *   drambank.h   the same for banks where only normal requests wait
 *   dramoffer.h  the candidates of all banks
 *   dramsched.c  which command is next, and when
 *   dramask.c    the same by a policy's choice
 *   dramclass.c  the class of a request; whose silver turn it is
 *   dramcount.h  what is counted of a request
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

/* A request in the queue of a channel. */
struct hd_dramentry {
    uint64_t row;
    uint64_t age;      /* order of arrival in the channel */
    uint64_t accepted; /* command cycle */
    uint32_t req;
    uint32_t counts; /* index of its counters in stat.v */
    uint16_t next;   /* in its list */
    uint16_t column;
    uint16_t bursts, left; /* in all, and to come */
    uint8_t bank, klass, write, app;
    uint8_t walk;
    uint8_t opened; /* an activate was issued for it */
};

/* A list of entries by age. */
struct hd_dramlist {
    uint16_t head, tail;
};

/* One cache line. */
struct hd_drambank {
    uint64_t act_ok, pre_ok; /* first legal cycle, bank's own */
    uint64_t act_at;         /* last activate; columns are legal tRCD later */
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

/* Whose silver turn it is. */
struct hd_dramturn {
    hd_time since; /* it began, or a silver request came, whichever is later */
    uint32_t left; /* silver requests that it lasts; 0: it has ended */
    uint16_t number; /* applications + 1; 0: there was none yet */
    uint8_t nobody;  /* 1: no application wanted the next one */
};

struct hd_dramchan {
    uint64_t floor;     /* no command before this cycle */
    uint64_t act_ok;    /* tRRD, tFAW */
    uint64_t col_ok[2]; /* buses and turn-around: read, write */
    /* the command that issues next if nothing arrives */
    uint64_t plan_at;
    uint32_t plan_kind, plan_bank;
    uint32_t planned;      /* 1: the three above hold */
    uint64_t column, row;  /* first of each, packed; 0:
                              to be found anew */
    uint32_t n[2];         /* banks with a column candidate: read, write */
    uint64_t rows, closed; /* banks with a row candidate; activates of these */
    hd_time wake;          /* earliest event posted, or HD_NEVER */
    uint64_t age;          /* requests accepted so far */
    uint32_t waiting;      /* entries in use */
    uint16_t free;         /* free entries */
    struct hd_dramlist golden;      /* golden requests not yet at a bank */
    uint32_t golden_busy;           /* one golden request is at a bank */
    uint32_t done_first, done_last; /* ring of struct hd_dramdone */
    uint32_t waiters;               /* senders that wait for a place */
    /* nodes of them; where queues are apart, for each class */
    uint32_t wait_first[CLASSES], wait_last[CLASSES];
    uint32_t klass[CLASSES]; /* entries of each class but the first */
    struct hd_dramturn turn;
    uint32_t faw_next;
    uint64_t hold;                       /* policy: asked again in this cycle */
    uint64_t faw[4];                     /* last activates, a ring */
    uint64_t ref_at;                     /* next refresh */
    uint64_t counted;                    /* cycles counted so far */
    uint8_t order[2][HD_DRAM_MAX_BANKS]; /* banks with a column, by key */
    /* candidates of each bank */
    uint8_t col_way[HD_DRAM_MAX_BANKS]; /* 0: no column, 1: read, 2: write */
    uint16_t col_entry[HD_DRAM_MAX_BANKS], row_entry[HD_DRAM_MAX_BANKS];
    uint64_t group_ok[HD_DRAM_MAX_BANKS]; /* tCCD_L, by group */
    uint64_t col_ready[HD_DRAM_MAX_BANKS], col_key[HD_DRAM_MAX_BANKS];
    uint64_t row_ready[HD_DRAM_MAX_BANKS], row_key[HD_DRAM_MAX_BANKS];
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

/* Timing in cycles, as the controller keeps it; [2]: read, write. */
struct hd_dramtime {
    uint32_t same, other; /* column to column: same group, other group */
    uint32_t again;       /* the larger: the next burst of a request */
    uint32_t turn[2];     /* to a column of the other direction */
    uint32_t data[2];     /* command to the end of its data */
    uint32_t pre[2];      /* to a precharge of the bank */
    uint32_t rcd[2];      /* activate to column */
    uint32_t rcd_least;   /* the smaller */
};

/* Where the state of one channel lies in the arena. */
struct hd_dramlane {
    struct hd_dramchan *ch;
    struct hd_drambank *bank;   /* [bank] */
    struct hd_dramentry *entry; /* [queue] */
    struct hd_dramdone *done;   /* [ring + 1] */
    uint32_t c;                 /* its number */
    uint32_t counts;            /* its counters: index of the first in stat.v */
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
    struct hd_recip per_tick; /* divides by tick */
    uint32_t latency;         /* modes without queues */
    uint32_t ring;     /* entries of a done ring, a power of two, less 1 */
    uint32_t special;  /* 1: settings that dramsched's short way lacks */
    uint32_t plain;    /* 1: none, and rows are never closed early */
    uint64_t row_rank; /* of row candidates: see KEY_RANK */
    uint32_t places;   /* entries of a channel */
    uint32_t own;      /* channels over which an address is spread */
    hd_time idle;      /* cfg.turn_idle in ticks */
    struct hd_slot klass, turn, pick;
    hd_dram_watcher *watch;
    void *watch_self;
    struct hd_dramcheck *check; /* --check: verifies every command */
    struct hd_stat stat;
    struct hd_hist *data_latency, *walk_latency;
    struct hd_dramwait *wait; /* arena; [0]: head of the free list is
                                 wait_free */
    uint32_t *wait_free;      /* arena: [0] free list, [1] used */
    uint8_t group_of[HD_DRAM_MAX_BANKS];
    struct hd_dramlane lane[HD_DRAM_MAX_CHANNELS];
};

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
    ch->plan_kind = kind;
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

/* dramclass.c */
/* The class of a request: asked once, and silver only in its turn.  In `apart`
 * queues the request must wait if that class has no place. */
uint32_t hd_dramclass_of(struct hd_dram *d, uint32_t c, struct hd_req *r);
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
