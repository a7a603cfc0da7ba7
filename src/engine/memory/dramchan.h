/*
 * dramchan.h - inside the DRAM system: what a channel, a bank and a queued
 * request are, and the small steps that dramsched.c and its fast path,
 * memory/fast/dram.c, have in common.
 *
 * A channel's state is a pure function of the requests it was sent and of the
 * cycle up to which its commands have been decided.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMCHAN_H
#define HD_DRAMCHAN_H

#include "kit/bits.h"
#include "kit/recip.h"
#include "points/slots.h"
#include "nodes.h"
#include "dram.h"
#include "dramspec.h"

enum { CLASSES = 3, NORMAL = 0, SILVER, GOLDEN };
enum { NO_ENTRY = 0xffff };

enum hd_dram_stat {
#define HD_COUNTERS_OF "memory/dram.def"
#include "kit/rows.h"
    ST_COUNT
};

/* A request in the queue of a channel. */
struct hd_dramentry {
    uint64_t row;
    uint64_t age;      /* order of arrival in the channel */
    uint64_t accepted; /* command cycle */
    uint32_t req;
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

/* One cache line.  By `open`, so that what may come next is found
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
    HD_DRAM_PREB, /* one bank, before its refresh */
    HD_DRAM_REFB, /* refresh of one bank */
    HD_DRAM_DUE, /* no command: a bank's refresh comes due */
    HD_DRAM_ASK, /* no command: a policy is to be asked */
    HD_DRAM_NONE /* no command: there is nothing to do */
};

/* An answer in flight, or a write whose data are being sent. */
struct hd_dramdone {
    uint64_t cycle; /* after the last datum */
    uint32_t req;
};

/* Whose silver turn it is. */
struct hd_dramturn {
    hd_time since; /* it began, or a silver request came, whichever is later */
    uint32_t left; /* silver requests that it lasts; 0: it has ended */
    uint16_t number; /* applications + 1; 0: there was none yet */
    uint8_t unwanted; /* 1: no application wanted the next one */
};

/* Requests that have arrived and are not yet in the queue: at most so many. */
enum { INBOX = 8 };

/* The state of a channel.  What each request needs comes first. */
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
    uint8_t offered; /* 1: an arrival has changed the candidates */
    uint32_t plan_bank;
    uint64_t plan_at;
    uint64_t floor;       /* no command before this cycle */
    uint64_t column, row; /* first of each, packed; 0: to be found again */
    uint64_t act_ok;      /* tRRD, tFAW */
    uint64_t col_ok[2];   /* buses and turn-around: read, write */
    uint64_t rows;        /* banks with a row candidate */
    uint32_t n[2];        /* banks with a column candidate: read, write */
    uint32_t faw_next;
    uint64_t group_ok[HD_DRAM_MAX_BANKS]; /* tCCD_L, by group */
    /* keys of column candidates, in order, and of row candidates, by bank */
    uint64_t order[2][HD_DRAM_MAX_BANKS];
    uint64_t row_key[HD_DRAM_MAX_BANKS];
    uint16_t inbox[INBOX]; /* entries */
    /* seldom needed */
    hd_time tell;              /* event posted for watchers, or HD_NEVER */
    uint64_t faw[4];           /* last activates, a ring */
    struct hd_dramlist golden; /* golden requests not yet at a bank */
    uint32_t golden_busy;      /* one golden request is at a bank */
    /* nodes of waiters; where queues are apart, for each class */
    uint32_t wait_first[CLASSES], wait_last[CLASSES];
    struct hd_dramturn turn;
    uint64_t hold;    /* policy: asked again in this cycle */
    uint64_t ref_at;  /* next refresh */
    uint32_t ref_bank; /* refresh_by=bank: whose it is */
    uint32_t ref_due;  /* 1: it is due, and the bank offers nothing */
    uint64_t row_floor; /* split buses: no row command before this cycle */
    /* tWTR_L: no read in a group before this cycle */
    uint64_t read_ok[HD_DRAM_MAX_BANKS];
    uint64_t counted; /* cycles counted so far */
};

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
    uint16_t tras, trc, trrd, tfaw, trp;
    uint16_t trfc, trfcpb, trrefd;
    uint16_t same_read; /* write to a read in its group */
    uint16_t step;      /* cycle to cycle in which it may command */
    uint16_t held[2];   /* of the row bus by a precharge, by an activate */
    bool pair, split;   /* a pseudo-channel; row and column buses */
    bool grouped;       /* same_read is more than turn[1] */
    bool modern;        /* any of these three */
    /* by direction, for memory/fast/dram.c: a column of the other one cannot
     * come between two bursts of a request; two requests can take turns */
    bool runs[2], pairs[2];
};

/* Where the state of one channel is in the arena: one cache line. */
struct hd_dramlane {
    struct hd_dramchan *ch;
    struct hd_drambank *bank;   /* [bank] */
    struct hd_dramentry *entry; /* [places + 1] */
    struct hd_dramdone *done;   /* [ring] */
    uint64_t *count;            /* its rows of counters */
    uint32_t c;                 /* its number */
};

struct hd_dram {
    struct hd_dramtime t;
    hd_time tick;
    hd_time behind; /* cfg.latency in ticks */
    struct hd_recip per_tick; /* divides by tick */
    struct hd_reqs *reqs;
    struct hd_client *clients;
    const struct hd_steer *steer;
    uint32_t id;       /* component */
    uint32_t others;   /* row of counters: no application's */
    uint64_t row_rank; /* of row candidates: see KEY_RANK */
    bool quiet;        /* the fast path may be taken: memory/fast/dram.c */
    void (*fast)(struct hd_dram *d, const struct hd_dramlane *l,
                 uint64_t cycle); /* it, for these timings */
    bool watched;      /* commands are watched */
    bool full;         /* the mode is HD_FULL */
    bool apart;        /* each class has a queue of its own */
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
    struct hd_dramwait *wait; /* arena */
    uint32_t *wait_free;      /* arena: [0] free list, [1] used */
    struct hd_dramlane *lane; /* [channel] */
};

/* ---- addresses ---------------------------------------------------------- */

/* The first of the channels that an application's address may have, which becomes
 * the one inside its node: where channels are an application's or a node's. */
uint32_t hd_dram_home(const struct hd_dram *d, uint32_t app, uint64_t *pa);

/* Where an application's address is, with its channel among all. */
static inline struct hd_dramaddr hd_dram_locate(const struct hd_dram *d,
                                                uint32_t app, uint64_t pa)
{
    uint32_t first = 0;
    struct hd_dramaddr a;

    if (HD_UNLIKELY(d->own != d->cfg.channels))
        first = hd_dram_home(d, app, &pa);
    a = hd_drammap_locate(&d->map, pa);
    a.channel += first;
    return a;
}

/* ---- candidates -------------------------------------------------------- */

/*
 * Of candidates that are legal in the same cycle the one with the smallest key
 * goes first: class and rank (3 bits), order of arrival (39), bank (6).  With
 * the cycles from now on (16 bits) before it, a key is one number that orders
 * candidates; the ranges of the settings keep every wait below 2^16 cycles.
 */
enum { KEY_BITS = 48, KEY_RANK = 45, KEY_CLASS = 46, KEY_AGE = 6 };

/* The key of a request, without rank. */
static inline uint64_t hd_dram_key(const struct hd_dramentry *v)
{
    return (uint64_t)(GOLDEN - v->klass) << KEY_CLASS | v->age << KEY_AGE |
           v->bank;
}

/*
 * A command that may come next as one number: cycle, kind (columns below
 * rows), bank.  HD_NEVER: none.
 */
enum { PLAN_AT = 8, PLAN_ROW = 0x80, PLAN_BANK = 63 };

static inline uint64_t hd_dram_pack(uint64_t at, uint32_t kind, uint32_t bank)
{
    return at << PLAN_AT | (kind ^ 2) << 6 | bank;
}

static inline uint32_t hd_dram_kind(uint64_t p)
{
    return ((uint32_t)p >> 6 & 3) ^ 2;
}

/* The bank's most urgent waiting class, and the requests for which its column
 * and its row candidate stand. */
static inline uint32_t hd_dram_top(const struct hd_drambank *k)
{
    return k->classes >> 2 ? GOLDEN : k->classes >> 1;
}

static inline uint32_t hd_dram_hit(const struct hd_drambank *k)
{
    return k->hits[hd_dram_top(k)].head;
}

static inline uint32_t hd_dram_other(const struct hd_drambank *k)
{
    return k->rest[hd_dram_top(k)].head;
}

/* Takes a bank's column candidate, if it has one, away. */
static inline void hd_dram_drop(struct hd_dramchan *ch, struct hd_drambank *k,
                                uint32_t b)
{
    uint32_t w = k->way - 1u, i = 0;
    uint64_t *order;

    if (k->way == 0)
        return;
    k->way = 0;
    if (--ch->n[w] == 0)
        return;
    order = ch->order[w];
    while ((order[i] & PLAN_BANK) != b)
        i++;
    for (; i < ch->n[w]; i++)
        order[i] = order[i + 1];
}

/* Entry v is the column candidate of its bank. */
static inline void hd_dram_offer_column(struct hd_dramchan *ch,
                                        struct hd_drambank *k,
                                        const struct hd_dramentry *v)
{
    uint32_t w = v->write, i = ch->n[w]++;
    uint64_t key = hd_dram_key(v), *order = ch->order[w];

    k->way = (uint8_t)(1 + w);
    for (; i > 0 && order[i - 1] > key; i--)
        order[i] = order[i - 1];
    order[i] = key;
}

/* The row candidate of its bank is an activate or a precharge for entry v. */
static inline void hd_dram_offer_row(struct hd_dramchan *ch,
                                     const struct hd_dramentry *v,
                                     uint64_t rank)
{
    ch->rows |= 1ull << v->bank;
    ch->row_key[v->bank] = hd_dram_key(v) | rank;
}

/*
 * The first column of a direction, from cycle `floor` on.  The candidates are
 * in the order of their keys, so the first that is legal as soon as the buses
 * are is the one; mostly it is among the first two.
 */
static HD_INLINE uint64_t hd_dram_first_column(const struct hd_dram *d,
                                               const struct hd_dramlane *l,
                                               uint32_t w, uint64_t floor,
                                               bool grouped)
{
    const struct hd_dramchan *ch = l->ch;
    uint64_t base = hd_max_u64(ch->col_ok[w], floor), best = HD_NEVER;
    uint32_t bank = 0;

    for (uint32_t i = 0, n = ch->n[w]; i < n; i++) {
        uint32_t b = ch->order[w][i] & PLAN_BANK;
        const struct hd_drambank *k = &l->bank[b];
        uint64_t at =
            hd_max_u64(k->act_at + d->t.rcd[w], ch->group_ok[k->group]);
        if (grouped && w == 0)
            at = hd_max_u64(at, ch->read_ok[k->group]);
        if (at <= base)
            return hd_dram_pack(base, HD_DRAM_RD + w, b);
        bank = at < best ? b : bank;
        best = hd_min_u64(at, best);
    }
    return hd_dram_pack(best, HD_DRAM_RD + w, bank);
}

/* Which of two goes first: by cycle, then by key. */
static inline uint64_t hd_dram_first_of(const struct hd_dramlane *l, uint64_t p,
                                        uint64_t q)
{
    uint64_t key[2], both[2] = {p, q};

    if (p >> PLAN_AT != q >> PLAN_AT || q == HD_NEVER)
        return hd_min_u64(p, q);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t b = both[i] & PLAN_BANK;
        key[i] = both[i] & PLAN_ROW
                     ? l->ch->row_key[b]
                     : hd_dram_key(&l->entry[hd_dram_hit(&l->bank[b])]);
    }
    return key[0] < key[1] ? p : q;
}

/* The engine's own choice among columns. */
static HD_INLINE uint64_t hd_dram_choose_column(const struct hd_dram *d,
                                                const struct hd_dramlane *l,
                                                uint64_t floor, bool grouped)
{
    uint64_t p = HD_NEVER;

    if (l->ch->n[0] != 0)
        p = hd_dram_first_column(d, l, 0, floor, grouped);
    if (HD_UNLIKELY(l->ch->n[1] != 0))
        p = hd_dram_first_of(l, p,
                             hd_dram_first_column(d, l, 1, floor, grouped));
    return p;
}

/* And among rows. */
static HD_INLINE uint64_t hd_dram_choose_row(const struct hd_dramlane *l,
                                             uint64_t floor)
{
    const struct hd_dramchan *ch = l->ch;
    /* by `open`: activates have a constraint of the channel's besides */
    const uint64_t base[2] = {hd_max_u64(ch->act_ok, floor), floor};
    uint64_t best = HD_NEVER;
    uint32_t b;

    for (uint64_t m = ch->rows; m != 0; m &= m - 1) {
        const struct hd_drambank *k = &l->bank[b = hd_bit_first(m)];
        uint64_t at = hd_max_u64(k->row_ok[k->open], base[k->open]);
        hd_assert(at - floor < 1u << 16);
        best = hd_min_u64(best, (at - floor) << KEY_BITS | ch->row_key[b]);
    }
    if (best == HD_NEVER)
        return best;
    b = best & PLAN_BANK;
    return hd_dram_pack(floor + (best >> KEY_BITS),
                        HD_DRAM_ACT + l->bank[b].open, b);
}

/* Both are found, and p of them is first: that is planned. */
static inline void hd_dram_set_plan(struct hd_dramchan *ch, uint64_t column,
                                    uint64_t row, uint64_t p)
{
    ch->planned = 1;
    ch->column = column;
    ch->row = row;
    ch->plan_at = p == HD_NEVER ? p : p >> PLAN_AT;
    ch->plan_kind = (uint8_t)(p == HD_NEVER ? HD_DRAM_NONE : hd_dram_kind(p));
    ch->plan_bank = p == HD_NEVER ? 0 : p & PLAN_BANK;
}

/* This is planned. */
static inline void hd_dram_plan_command(struct hd_dramchan *ch, uint64_t at,
                                        uint32_t kind, uint32_t bank)
{
    ch->plan_at = at;
    ch->plan_kind = (uint8_t)kind;
    ch->plan_bank = bank;
}

/* ---- what a command forbids afterwards --------------------------------- */

/*
 * Every constraint is a least distance between two commands.  The controller
 * keeps, for each bank and for the channel, the first cycle at which each kind
 * of command is legal again, and moves it when a command issues; a command is
 * legal from the maximum of the cycles that concern it.  The checker
 * (dramcheck.c) keeps the commands instead and compares every pair.
 *
 * The data bus needs no state of its own: bursts in one direction are at
 * least BL apart and the turn-around distances are at least what keeps data
 * of both directions apart.
 */
static inline void hd_dram_raise(uint64_t *at, uint64_t to)
{
    *at = hd_max_u64(*at, to);
}

/* What a column command forbids in its own bank and group. */
static inline void hd_dram_forbid_own(const struct hd_dramtime *t,
                                      struct hd_dramchan *ch,
                                      struct hd_drambank *k, uint32_t write,
                                      uint64_t cycle)
{
    ch->group_ok[k->group] = cycle + t->same;
    hd_dram_raise(&k->row_ok[BANK_PRE], cycle + t->pre[write]);
}

/*
 * A column command, or the last of several of one request.  A legal one is
 * later than all that the ones before it asked for, and there and back the bus
 * turns no faster than a burst, so what it asks for is later than that.
 */
static inline void hd_dram_forbid(const struct hd_dramtime *t,
                                  struct hd_dramchan *ch, struct hd_drambank *k,
                                  uint32_t write, uint64_t cycle)
{
    hd_dram_forbid_own(t, ch, k, write, cycle);
    ch->col_ok[write] = cycle + t->other;
    ch->col_ok[1 - write] = cycle + t->turn[write];
}

/* tWTR_L: what a write forbids in its group besides. */
static inline void hd_dram_forbid_reads(const struct hd_dramtime *t,
                                        struct hd_dramchan *ch,
                                        const struct hd_drambank *k,
                                        uint64_t cycle)
{
    ch->read_ok[k->group] = cycle + t->same_read;
}

/* ---- dramsched.c ------------------------------------------------------- */

/* Works out the candidates of a bank again; whether they are what that finds.
 */
void hd_dram_offer(struct hd_dram *d, const struct hd_dramlane *l, uint32_t b);
bool hd_dram_right(const struct hd_dram *d, const struct hd_dramlane *l,
                   uint32_t b);

/* A bank's row is opened for a request, in a cycle: but for candidates. */
void hd_dram_open_row(struct hd_dram *d, const struct hd_dramlane *l,
                      uint32_t b, uint32_t e, uint64_t cycle);
/* A request that is the oldest hit of its bank has sent its last burst in a
 * cycle and leaves: but for candidates. */
void hd_dram_end(struct hd_dram *d, const struct hd_dramlane *l, uint32_t e,
                 uint64_t cycle);

/* Closes an open row; the precharge is at `cycle`. */
void hd_dram_close_row(struct hd_dram *d, const struct hd_dramlane *l,
                       uint32_t b, uint64_t cycle);
/* Reports the planned command, on behalf of entry e or NO_ENTRY, to watchers.
 */
void hd_dram_report(struct hd_dram *d, const struct hd_dramlane *l, uint32_t e,
                    bool close);

/* Issues every command up to and including `cycle`. */
void hd_dram_advance(struct hd_dram *d, const struct hd_dramlane *l,
                     uint64_t cycle);
/* Makes sure that the next command is known. */
void hd_dram_plan(struct hd_dram *d, const struct hd_dramlane *l);
/* No slot of the queue can become free before this cycle. */
uint64_t hd_dram_free_at(struct hd_dram *d, const struct hd_dramlane *l);

/* ---- dram.c ------------------------------------------------------------ */

/* A request of a row of counters has ended; latency: cycles from acceptance to
 * the last datum. */
void hd_dram_count(struct hd_dram *d, const struct hd_dramlane *l,
                   const struct hd_dramentry *v, uint32_t latency);
/* A place of a class has become free in `cycle`, and a sender waits, maybe for
 * another class. */
void hd_dram_freed(struct hd_dram *d, const struct hd_dramlane *l,
                   uint32_t klass, uint64_t cycle);

/* The command edge at or after an instant. */
static inline uint64_t hd_dram_edge(const struct hd_dram *d, hd_time now)
{
    uint64_t down = hd_recip_div(d->per_tick, now);

    return down + (down * d->tick != now);
}

/* Deciding what is certain anyway changes nothing that can be seen. */
static inline void hd_dram_advance_to_now(struct hd_dram *d,
                                          const struct hd_dramlane *l)
{
    hd_dram_advance(d, l, hd_dram_edge(d, hd_events_now(d->env->ev)));
}

/* ---- dramclass.c: classes and turns ----------------------------------- */

/* The class of a request: silver only in its turn.  In `apart` queues the
 * request must wait if that class has no place. */
uint32_t hd_dram_class_of(struct hd_dram *d, const struct hd_dramlane *l,
                          struct hd_req *r);
/* An entry that is not normal has been queued. */
void hd_dram_classed(struct hd_dram *d, const struct hd_dramlane *l,
                     const struct hd_dramentry *v);
/* Answers of the engine to dram_class and dram_turn: the steering tables. */
int64_t hd_dram_class_default(void *dram, const void *question);
int64_t hd_dram_turn_default(void *dram, const void *question);

/* ---- dramlook.c ------------------------------------------------------- */

/* For struct hd_part. */
void hd_dram_look(void *dram, uint32_t channel, struct heddle_visitor *v);
void hd_dram_stuck(void *dram, uint32_t channel, struct heddle_visitor *v);
void hd_dram_check(void *dram, uint32_t channel, struct heddle_error *err);

/* ---- drampick.c: a policy's choice ------------------------------------ */

/* Plans the next question, or nothing. */
void hd_dram_plan_question(struct hd_dram *d, const struct hd_dramlane *l);
/* The planned question's cycle has come: its answer is the new plan. */
void hd_dram_ask(struct hd_dram *d, const struct hd_dramlane *l);
/* Answers to the point dram_pick as the engine decides. */
int64_t hd_dram_pick_default(void *dram, const void *question);

/* ---- dramrefresh.c ---------------------------------------------------- */

/* Plans what a due refresh needs next. */
void hd_dram_plan_refresh(struct hd_dram *d, const struct hd_dramlane *l);
/* Closes all rows, or refreshes all banks. */
void hd_dram_issue_refresh(struct hd_dram *d, const struct hd_dramlane *l);
/* An idle channel with closed rows: all refreshes but the last at once. */
void hd_dram_skip_refreshes(struct hd_dram *d, const struct hd_dramlane *l,
                            uint64_t cycle);

/* ---- drambankrefresh.c: these two for refresh_by=bank ------------------- */

/* Where the plan is at or behind a bank's refresh: plans that it comes due, or
 * what it needs next if that is legal before the plan. */
void hd_dram_plan_bank_refresh(struct hd_dram *d, const struct hd_dramlane *l);
/* What of it is planned happens. */
void hd_dram_issue_bank_refresh(struct hd_dram *d, const struct hd_dramlane *l);
/* Refreshes of an idle channel with closed rows, but the last, at once. */
void hd_dram_skip_bank_refreshes(struct hd_dram *d, const struct hd_dramlane *l,
                                 uint64_t cycle);

/* ---- dramtime.c ------------------------------------------------------- */

/* The timing of these settings. */
void hd_dram_time(struct hd_dramtime *t, const struct hd_dram_cfg *c);

/* ---- dramcheck.c ------------------------------------------------------- */

/* NULL: there is no memory. */
struct hd_dramcheck *hd_dramcheck_open(struct hd_env *env,
                                       const struct hd_dram_cfg *cfg);

/* Checks one command; commands of a channel come in order.  Records an error
 * that names the constraint. */
void hd_dramcheck_command(struct hd_dramcheck *k, const struct hd_dramcmd *cmd,
                          struct heddle_error *err);

/* A copy inside DRAM has the bank to itself until a cycle; to be called after
 * all commands of cycles before. */
void hd_dramcheck_block(struct hd_dramcheck *k, uint32_t channel, uint32_t bank,
                        uint64_t until);

/* ---- memory/fast/dram.c ------------------------------------------------- */

/* hd_dram_advance where the system is quiet and only normal requests wait. */
void hd_fast_dram_advance(struct hd_dram *d, const struct hd_dramlane *l,
                          uint64_t cycle);
/* Where t.modern is set. */
void hd_fast_dram_advance_modern(struct hd_dram *d,
                                 const struct hd_dramlane *l, uint64_t cycle);

#endif
