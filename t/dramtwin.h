/*
 * dramtwin.h - a naive DRAM controller for tests: at every cycle it looks at
 * every request and at the history of commands, by the definitions alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DRAMTWIN_H
#define DRAMTWIN_H

#include "dramrig.h"

struct past {
    uint64_t cycle;
    uint32_t kind, bank; /* PREA and REF: bank is ignored */
};

struct wish {
    const struct item *item;
    struct hd_dramaddr at;
    uint64_t age;
    uint32_t klass, left, column;
    int done, write;
};

struct naive {
    const struct hd_dram_cfg *c;
    struct wish *w;
    uint32_t n;
    struct past *h;
    uint32_t hn, hroom;
    int open[64];
    uint64_t row[64];
    uint32_t served[64];
    uint64_t refreshes;
    uint32_t channel;
    uint64_t bus[2]; /* first free cycle of the bus, or of row and column bus */
    struct hd_dramcmd *log;
    uint32_t logged, room;
};

static void twin_note(struct naive *t, uint64_t cycle, uint32_t kind,
                      uint32_t bank)
{
    if (t->hn == t->hroom) {
        t->hroom = t->hroom ? 2 * t->hroom : 256;
        t->h = realloc(t->h, t->hroom * sizeof *t->h);
    }
    t->h[t->hn++] = (struct past){cycle, kind, bank};
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int column_kind(uint32_t k)
{
    return k == HD_DRAM_RD || k == HD_DRAM_WR;
}

/* The least distance from an earlier command to a later one. */
static uint64_t distance(const struct hd_dram_cfg *c, const struct past *p,
                         uint32_t kind, uint32_t bank)
{
    uint32_t in_group = c->banks / c->groups;
    int same = p->bank == bank;
    uint64_t d = 0;

    if (p->kind == HD_DRAM_REFB)
        return kind != HD_DRAM_ACT && kind != HD_DRAM_REFB ? 0
               : same ? most(c->trfcpb, c->trrefd)
                      : c->trrefd;
    if (kind == HD_DRAM_REFB)
        kind = HD_DRAM_ACT; /* it waits as an activate does */
    if (p->kind == HD_DRAM_REF)
        return kind == HD_DRAM_ACT || kind == HD_DRAM_REF ? c->trfc : 0;
    if (column_kind(p->kind) && column_kind(kind)) {
        int64_t lead_p = p->kind == HD_DRAM_RD ? c->cl : c->wl;
        int64_t lead = kind == HD_DRAM_RD ? c->cl : c->wl;
        d = p->bank / in_group == bank / in_group ? c->tccd_l : c->tccd_s;
        d = most(d, c->tccd_s);
        if (lead_p + (int64_t)c->bl - lead > (int64_t)d)
            d = (uint64_t)(lead_p + (int64_t)c->bl - lead);
        if (p->kind == HD_DRAM_RD && kind == HD_DRAM_WR)
            d = most(d, hd_dram_trtw(c));
        if (p->kind == HD_DRAM_WR && kind == HD_DRAM_RD)
            d = most(d, c->wl + c->bl +
                            (p->bank / in_group == bank / in_group
                                 ? most(c->twtr, c->twtr_l)
                                 : c->twtr));
        return d;
    }
    if (p->kind == HD_DRAM_ACT && kind == HD_DRAM_ACT)
        return same ? most(c->trc, c->trrd) : c->trrd;
    if (!same)
        return 0;
    if (p->kind == HD_DRAM_ACT)
        return kind == HD_DRAM_RD    ? c->trcdrd
               : kind == HD_DRAM_WR  ? c->trcdwr
               : kind == HD_DRAM_PRE ? c->tras
                                     : 0;
    if (p->kind == HD_DRAM_PRE)
        return kind == HD_DRAM_ACT ? c->trp : 0;
    if (kind == HD_DRAM_PRE)
        return p->kind == HD_DRAM_RD ? c->trtp : c->wl + c->bl + c->twr;
    return 0;
}

enum { LONG = 1400 }; /* longer than any distance */

/* First cycle at which a command would be legal. */
static uint64_t from(const struct naive *t, uint32_t kind, uint32_t bank,
                     uint64_t now)
{
    uint64_t at = 0;
    uint32_t activates = 0;

    for (uint32_t i = t->hn; i-- > 0;) {
        const struct past *p = &t->h[i];
        if (p->cycle + LONG < now)
            break;
        uint64_t d = distance(t->c, p, kind, bank);
        if (d != 0) /* an automatic precharge may still lie ahead */
            at = most(at, p->cycle + d);
        if (p->kind == HD_DRAM_ACT && ++activates == 4 &&
            (kind == HD_DRAM_ACT || kind == HD_DRAM_REFB))
            at = most(at, p->cycle + t->c->tfaw);
    }
    return at;
}

static int legal(const struct naive *t, uint32_t kind, uint32_t bank,
                 uint64_t now)
{
    return from(t, kind, bank, now) <= now;
}

static int split(const struct naive *t)
{
    return t->c->buses == HD_DRAM_BUSES_SPLIT;
}

/* Whether the bus that a kind of command takes is free. */
static int bus_free(const struct naive *t, uint32_t kind, uint64_t now)
{
    return t->bus[split(t) && column_kind(kind)] <= now;
}

static void take_bus(struct naive *t, uint32_t kind, uint64_t now)
{
    uint32_t n = split(t) && kind == HD_DRAM_ACT ? t->c->tact : 1;

    t->bus[split(t) && column_kind(kind)] =
        now + (t->c->pseudo == HD_DRAM_PSEUDO_PAIR ? 2 * n : n);
}

/* The first cycle in which a pseudo-channel has a turn. */
static uint64_t turn(const struct naive *t, uint64_t at)
{
    return t->c->pseudo == HD_DRAM_PSEUDO_PAIR ? at + ((at ^ t->channel) & 1)
                                               : at;
}

/* Whether a bank's refresh is due. */
static int due(const struct naive *t, uint32_t bank, uint64_t now)
{
    return t->c->refresh && t->c->refresh_by == HD_DRAM_REFRESH_BANK &&
           bank == t->refreshes % t->c->banks &&
           now >= (t->refreshes + 1) * (t->c->trefi / t->c->banks);
}

/* A request that takes part in cycle `now`. */
static int present(const struct naive *t, uint32_t i, uint64_t now)
{
    const struct wish *w = &t->w[i];

    if (w->done || w->item->accepted >= now)
        return 0;
    if (w->klass != 2 || t->c->golden == 1)
        return 1;
    for (uint32_t k = 0; k < t->n; k++)
        if (t->w[k].klass == 2 && !t->w[k].done && t->w[k].age < w->age)
            return 0;
    return 1;
}

static int hits(const struct naive *t, uint32_t i)
{
    const struct wish *w = &t->w[i];

    return t->open[w->at.bank] && t->row[w->at.bank] == w->at.row;
}

/* The command that request i wants, its rank in *rank, or -1 if it may not. */
static int wanted(const struct naive *t, uint32_t i, uint64_t now, int *rank)
{
    const struct wish *w = &t->w[i];
    int older_other = 0, any_hit = 0, oldest_hit_younger = 1;
    uint32_t bank = w->at.bank;

    for (uint32_t k = 0; k < t->n; k++) {
        const struct wish *o = &t->w[k];
        if (k == i || o->at.bank != bank || !present(t, k, now))
            continue;
        if (o->klass > w->klass)
            return -1;
        if (o->klass < w->klass)
            continue;
        if (hits(t, k) == hits(t, i) && o->age < w->age)
            return -1;
        if (hits(t, k)) {
            any_hit = 1;
            if (o->age < w->age)
                oldest_hit_younger = 0;
        } else if (o->age < w->age) {
            older_other = 1;
        }
    }
    *rank = 0;
    if (hits(t, i))
        return w->klass == 2 && older_other ? -1
               : w->write                   ? HD_DRAM_WR
                                            : HD_DRAM_RD;
    if (t->c->scheduler != HD_DRAM_READY_FIRST)
        *rank = 1;
    if (!t->open[bank])
        return HD_DRAM_ACT;
    if (!any_hit)
        return HD_DRAM_PRE;
    *rank = 0;
    if (oldest_hit_younger &&
        (w->klass == 2 || t->c->scheduler == HD_DRAM_READY_FIRST ||
         (t->c->scheduler == HD_DRAM_CAPPED && t->served[bank] >= t->c->cap)))
        return HD_DRAM_PRE;
    return -1;
}

static void twin_log(struct naive *t, struct hd_dramcmd cmd)
{
    if (t->logged == t->room) {
        t->room = t->room ? 2 * t->room : 256;
        t->log = realloc(t->log, t->room * sizeof *t->log);
    }
    t->log[t->logged++] = cmd;
}

static void twin_column(struct naive *t, uint32_t i, uint64_t now,
                        struct hd_dramcmd *cmd)
{
    struct wish *w = &t->w[i];
    uint32_t bank = w->at.bank;

    cmd->column = w->column++;
    if (--w->left > 0)
        return;
    t->served[bank]++;
    w->done = 1;
    if (t->c->page == 0)
        return;
    /* Queued golden requests that wait their turn are not at the bank. */
    for (uint32_t k = 0; k < t->n; k++) {
        w->done = 0;
        int there = k != i && present(t, k, now) && t->w[k].at.bank == bank &&
                    hits(t, k);
        w->done = 1;
        if (there)
            return;
    }
    cmd->close = 1;
}

/* A refresh is due: rows are closed first, all at once, then it is sent. */
static void twin_refresh(struct naive *t, uint64_t now)
{
    struct hd_dramcmd cmd = {.cycle = now, .kind = HD_DRAM_REF};
    uint32_t any = 0;

    for (uint32_t b = 0; b < t->c->banks; b++)
        any += t->open[b] != 0;
    if (any != 0) {
        for (uint32_t b = 0; b < t->c->banks; b++)
            if (t->open[b] && !legal(t, HD_DRAM_PRE, b, now))
                return;
        cmd.kind = HD_DRAM_PREA;
        for (uint32_t b = 0; b < t->c->banks; b++)
            if (t->open[b])
                twin_note(t, now, HD_DRAM_PRE, b);
        memset(t->open, 0, sizeof t->open);
        twin_log(t, cmd);
        return;
    }
    /* every bank could be activated, but for the others' activates */
    for (uint32_t i = t->hn; i-- > 0;) {
        const struct past *p = &t->h[i];
        uint64_t d = p->kind == HD_DRAM_ACT   ? t->c->trc
                     : p->kind == HD_DRAM_PRE ? t->c->trp
                     : p->kind == HD_DRAM_REF ? t->c->trfc
                                              : 0;
        if (p->cycle + LONG < now)
            break;
        if (p->cycle + d > now)
            return;
    }
    twin_note(t, now, HD_DRAM_REF, 0);
    t->refreshes++;
    twin_log(t, cmd);
}

/* The bank whose refresh is due is closed, then refreshed. */
static void twin_refresh_bank(struct naive *t, uint64_t now)
{
    uint32_t b = (uint32_t)(t->refreshes % t->c->banks);
    struct hd_dramcmd cmd = {.cycle = now, .bank = b, .kind = HD_DRAM_REFB};

    if (!due(t, b, now) || !bus_free(t, HD_DRAM_REFB, now) ||
        !legal(t, t->open[b] ? HD_DRAM_PRE : HD_DRAM_REFB, b, now))
        return;
    if (t->open[b]) {
        cmd.kind = HD_DRAM_PREB;
        t->open[b] = 0;
        twin_note(t, now, HD_DRAM_PRE, b);
    } else {
        t->refreshes++;
        twin_note(t, now, HD_DRAM_REFB, b);
    }
    take_bus(t, cmd.kind, now);
    twin_log(t, cmd);
}

/* The next command of a cycle, if there is one. */
static int twin_command(struct naive *t, uint64_t now)
{
    struct hd_dramcmd cmd = {.cycle = now};
    uint32_t best = HD_NONE;
    int best_rank = 0, rank = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        const struct wish *w = &t->w[i];
        int kind;
        if (!present(t, i, now) || due(t, w->at.bank, now))
            continue;
        kind = wanted(t, i, now, &rank);
        if (kind < 0 || !bus_free(t, (uint32_t)kind, now) ||
            !legal(t, (uint32_t)kind, w->at.bank, now))
            continue;
        if (best == HD_NONE || w->klass > t->w[best].klass ||
            (w->klass == t->w[best].klass &&
             (rank < best_rank ||
              (rank == best_rank && w->age < t->w[best].age)))) {
            best = i;
            best_rank = rank;
            cmd.kind = (uint32_t)kind;
        }
    }
    if (best == HD_NONE)
        return 0;
    take_bus(t, cmd.kind, now);
    cmd.bank = t->w[best].at.bank;
    cmd.row = t->w[best].at.row;
    twin_note(t, now, cmd.kind, cmd.bank);
    if (cmd.kind == HD_DRAM_ACT) {
        t->open[cmd.bank] = 1;
        t->row[cmd.bank] = cmd.row;
        t->served[cmd.bank] = 0;
    } else if (cmd.kind == HD_DRAM_PRE) {
        t->open[cmd.bank] = 0;
    } else {
        twin_column(t, best, now, &cmd);
        if (cmd.close) {
            twin_note(t, turn(t, from(t, HD_DRAM_PRE, cmd.bank, now)),
                      HD_DRAM_PRE, cmd.bank);
            t->open[cmd.bank] = 0;
        }
    }
    twin_log(t, cmd);
    return 1;
}

/* One cycle of the channel: at most one command on each bus. */
static void twin_cycle(struct naive *t, uint64_t now)
{
    int by_bank = t->c->refresh_by == HD_DRAM_REFRESH_BANK;

    if (turn(t, now) != now)
        return;
    if (t->c->refresh && !by_bank &&
        now >= (t->refreshes + 1) * t->c->trefi) {
        uint32_t before = t->logged;
        if (bus_free(t, HD_DRAM_REF, now))
            twin_refresh(t, now);
        if (t->logged != before)
            take_bus(t, HD_DRAM_REF, now);
        return;
    }
    twin_refresh_bank(t, now);
    while (twin_command(t, now))
        ;
}

static inline void twin_free(struct naive *t)
{
    free(t->w);
    free(t->h);
    free(t->log);
}

#endif
