/*
 * dramsched.c - which command a channel issues next, and in which cycle.
 *
 * A bank keeps, for each class, two lists in order of age: the requests of
 * its open row (hits) and the others (rest).  Opening a row moves its requests
 * from rest to hits, closing one merges what is left of them back.  So the
 * oldest hit and the oldest other request are list heads, and nothing looks
 * through the queue when a command issues.
 *
 * A bank offers at most one column command (for its oldest hit) and one row
 * command (for its oldest other request), both of its most urgent class.  For
 * reads and for writes there is a list of banks in the order of their keys:
 * many may be legal at once, and the first in the list that is legal as soon as
 * the buses are goes first.  Row commands are fewer and change all the time:
 * they are a set of banks.  A key orders candidates of all banks: class, then
 * columns before rows (unless the scheduler is ready-first), then age.
 *
 * What the schedulers do differently is when an open row may be closed:
 * hit-first (FR-FCFS of the papers' simulator): when no request of the class
 * hits it; capped: also after `cap` requests, for an older request, and then
 * before any other row command; ready-first: for any older request.  Golden
 * requests are never overtaken by golden ones of the same bank.
 *
 * A channel issues at most one command a cycle, or one on each of two buses
 * (drambus.h).  In the first cycle in which
 * any candidate is legal, the legal one with the smallest key issues.  The plan
 * is that command; it holds until something arrives or a command issues.
 * Nothing is done for the cycles in between.
 *
 * Commands are decided late: a request that arrives in cycle a takes part from
 * a + 1 on, so all commands up to a are certain at that moment, and nothing
 * outside depends on a command before its data have passed.  The channel's
 * events (dram.c) therefore come only as often as answers are due, and one
 * event decides a batch of commands.  When commands are decided has no
 * influence on which they are.  memory/fast/dram.c decides a batch where
 * nothing is out of the ordinary.  Watchers are notified of each command when
 * it is decided, which is in its cycle then (dram.c).
 *
 * Reads and writes wait in one queue and are chosen by one rule, as in
 * the papers' simulator: a write waits for a gap of tRTW without a legal read,
 * then writes continue while one is legal.
 *
 * A policy may choose instead (drampick.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "drambus.h"

/* ---- the lists of a bank ----------------------------------------------- */

static void dram_append(struct hd_dramentry *v, struct hd_dramlist *l,
                        uint32_t e)
{
    v[e].next = NO_ENTRY;
    if (l->head == NO_ENTRY)
        l->head = (uint16_t)e;
    else
        v[l->tail].next = (uint16_t)e;
    l->tail = (uint16_t)e;
}

/* Moves the requests of a row from one list to the end of another. */
static void dram_move_row(struct hd_dramentry *v, uint64_t row,
                          struct hd_dramlist *from, struct hd_dramlist *to)
{
    struct hd_dramlist left = {NO_ENTRY, NO_ENTRY};

    for (uint32_t e = from->head, next; e != NO_ENTRY; e = next) {
        next = v[e].next;
        dram_append(v, v[e].row == row ? to : &left, e);
    }
    *from = left;
}

/* Merges the list `from` into `to`, by age; `from` is empty afterwards. */
static void dram_merge(struct hd_dramentry *v, struct hd_dramlist *from,
                       struct hd_dramlist *to)
{
    struct hd_dramlist out = {NO_ENTRY, NO_ENTRY};
    uint32_t a = from->head, b = to->head;

    while (a != NO_ENTRY || b != NO_ENTRY) {
        bool first = b == NO_ENTRY || (a != NO_ENTRY && v[a].age < v[b].age);
        uint32_t e = first ? a : b;
        if (first)
            a = v[e].next;
        else
            b = v[e].next;
        dram_append(v, &out, e);
    }
    *to = out;
    from->head = from->tail = NO_ENTRY;
}

/* ---- what a bank offers ------------------------------------------------ */

/* Whether the open row may be closed for the bank's oldest other request,
 * although a request hits it. */
static bool dram_may_close(const struct hd_dram *d, const struct hd_drambank *k,
                           const struct hd_dramentry *hit,
                           const struct hd_dramentry *other)
{
    return other->age < hit->age &&
           (other->klass == GOLDEN || d->cfg.scheduler == HD_DRAM_READY_FIRST ||
            (d->cfg.scheduler == HD_DRAM_CAPPED && k->served >= d->cfg.cap));
}

/* Works out what a bank offers: the requests, or NO_ENTRY, of its column and
 * its row candidate, and the row's rank. */
static void dram_work_out(const struct hd_dram *d, const struct hd_dramlane *l,
                          uint32_t b, uint32_t *hit, uint32_t *other,
                          uint64_t *rank)
{
    const struct hd_dramentry *v = l->entry;
    const struct hd_drambank *k = &l->bank[b];

    *hit = hd_dram_hit(k);
    *other = hd_dram_other(k);
    *rank = d->row_rank;
    if (HD_UNLIKELY(l->ch->ref_due) && l->ch->ref_bank == b)
        *hit = *other = NO_ENTRY;
    if (*hit == NO_ENTRY || *other == NO_ENTRY)
        return;
    if (!dram_may_close(d, k, &v[*hit], &v[*other])) {
        *other = NO_ENTRY;
        return;
    }
    *rank = 0; /* its turn has come */
    if (hd_dram_top(k) == GOLDEN)
        *hit = NO_ENTRY;
}

void hd_dram_offer(struct hd_dram *d, const struct hd_dramlane *l, uint32_t b)
{
    struct hd_dramchan *ch = l->ch;
    struct hd_drambank *k = &l->bank[b];
    uint32_t hit, other;
    uint64_t rank;

    ch->planned = 0;
    ch->offered = 1;
    ch->column = ch->row = 0;
    ch->hold = 0;
    hd_dram_drop(ch, k, b);
    ch->rows &= ~(1ull << b);
    dram_work_out(d, l, b, &hit, &other, &rank);
    if (hit != NO_ENTRY)
        hd_dram_offer_column(ch, k, &l->entry[hit]);
    if (other != NO_ENTRY)
        hd_dram_offer_row(ch, &l->entry[other], rank);
}

bool hd_dram_right(const struct hd_dram *d, const struct hd_dramlane *l,
                   uint32_t b)
{
    const struct hd_dramchan *ch = l->ch;
    const struct hd_drambank *k = &l->bank[b];
    uint32_t hit, other, way = 0, i = 0;
    uint64_t rank;

    dram_work_out(d, l, b, &hit, &other, &rank);
    if (hit != NO_ENTRY) {
        way = 1u + l->entry[hit].write;
        while (i < ch->n[way - 1] &&
               ch->order[way - 1][i] != hd_dram_key(&l->entry[hit]))
            i++;
        if (i == ch->n[way - 1])
            return false;
    }
    if (other != NO_ENTRY &&
        ch->row_key[b] != (hd_dram_key(&l->entry[other]) | rank))
        return false;
    return k->way == way && (ch->rows >> b & 1) == (other != NO_ENTRY);
}

/* ---- what happens to a bank -------------------------------------------- */

/* Entry e has arrived: it joins its bank. */
static void dram_arrive(struct hd_dram *d, const struct hd_dramlane *l,
                        uint32_t e)
{
    struct hd_dramchan *ch = l->ch;
    const struct hd_dramentry *v = &l->entry[e];
    struct hd_drambank *k = &l->bank[v->bank];
    struct hd_dramlist *list =
        k->open && k->row == v->row ? &k->hits[v->klass] : &k->rest[v->klass];
    bool first = list->head == NO_ENTRY;

    if (v->klass == GOLDEN && d->cfg.golden == 0) {
        if (ch->golden_busy) {
            dram_append(l->entry, &ch->golden, e);
            return;
        }
        ch->golden_busy = 1;
    }
    dram_append(l->entry, list, e);
    k->classes |= (uint8_t)(1u << v->klass);
    if (first) /* or else it is no candidate and changes none */
        hd_dram_offer(d, l, v->bank);
}

void hd_dram_open_row(struct hd_dram *d, const struct hd_dramlane *l,
                      uint32_t b, uint32_t e, uint64_t cycle)
{
    const struct hd_dramtime *t = &d->t;
    struct hd_dramchan *ch = l->ch;
    struct hd_drambank *k = &l->bank[b];
    struct hd_dramentry *v = &l->entry[e];

    v->opened = 1;
    l->count[v->app * ST_COUNT + ST_ACTIVATES]++;
    k->open = 1;
    k->row = v->row;
    k->served = 0;
    k->act_at = cycle;
    k->row_ok[BANK_PRE] = cycle + t->tras;
    k->row_ok[BANK_ACT] = cycle + t->trc;
    ch->act_ok = cycle + t->trrd;
    if (t->tfaw != 0) {
        ch->faw[ch->faw_next] = cycle + t->tfaw;
        ch->faw_next = (ch->faw_next + 1) % 4;
        hd_dram_raise(&ch->act_ok, ch->faw[ch->faw_next]);
    }
    for (uint32_t i = 0; i < CLASSES; i++)
        dram_move_row(l->entry, k->row, &k->rest[i], &k->hits[i]);
}

void hd_dram_close_row(struct hd_dram *d, const struct hd_dramlane *l,
                       uint32_t b, uint64_t cycle)
{
    struct hd_drambank *k = &l->bank[b];

    hd_dram_raise(&k->row_ok[BANK_ACT], cycle + d->t.trp);
    k->open = 0;
    for (uint32_t i = 0; i < CLASSES; i++)
        if (k->hits[i].head != NO_ENTRY)
            dram_merge(l->entry, &k->hits[i], &k->rest[i]);
}

/* A silver or golden request has left. */
static void ended_urgent(struct hd_dram *d, const struct hd_dramlane *l,
                         uint32_t klass)
{
    struct hd_dramchan *ch = l->ch;
    uint32_t next = ch->golden.head;

    ch->klass[klass]--;
    if (klass != GOLDEN || d->cfg.golden != 0)
        return;
    ch->golden_busy = 0;
    if (next != NO_ENTRY) {
        ch->golden.head = l->entry[next].next;
        dram_arrive(d, l, next);
    }
}

void hd_dram_end(struct hd_dram *d, const struct hd_dramlane *l, uint32_t e,
                 uint64_t cycle)
{
    struct hd_dramchan *ch = l->ch;
    struct hd_dramentry *v = &l->entry[e];
    struct hd_drambank *k = &l->bank[v->bank];
    struct hd_dramlist *list = &k->hits[v->klass];
    struct hd_dramdone *done = &l->done[ch->done_n++];

    hd_assert(ch->done_n <= d->ring && list->head == e);
    done->cycle = cycle + d->t.data[v->write];
    done->req = v->req;
    hd_dram_count(d, l, v, (uint32_t)(done->cycle - v->accepted));
    k->served++;
    ch->waiting--;
    list->head = v->next;
    if (list->head == NO_ENTRY) {
        list->tail = NO_ENTRY;
        if (k->rest[v->klass].head == NO_ENTRY)
            k->classes &= (uint8_t) ~(1u << v->klass);
    }
    l->entry[ch->free_last].next = (uint16_t)e;
    ch->free_last = (uint16_t)e;
    v->next = NO_ENTRY;
    if (HD_UNLIKELY(v->klass != NORMAL))
        ended_urgent(d, l, v->klass);
    if (HD_UNLIKELY(ch->waiters != 0))
        hd_dram_freed(d, l, v->klass, cycle);
}

/* ---- the plan ---------------------------------------------------------- */

void hd_dram_plan(struct hd_dram *d, const struct hd_dramlane *l)
{
    struct hd_dramchan *ch = l->ch;
    uint64_t column, row;

    if (ch->planned)
        return;
    ch->planned = 1;
    if (HD_UNLIKELY(d->pick.bound)) {
        hd_dram_plan_question(d, l);
    } else {
        column = hd_dram_choose_column(d, l, ch->floor, d->t.grouped);
        row = hd_dram_choose_row(l, hd_dram_rows_from(d, l));
        hd_dram_set_plan(ch, column, row, hd_dram_first_of(l, column, row));
    }
    if (HD_UNLIKELY(d->cfg.refresh) && ch->plan_at >= ch->ref_at)
        hd_dram_plan_refresh(d, l);
}

/* ---- issuing ----------------------------------------------------------- */

/* Says which request is the oldest golden one that has got to its bank. */
static void tell_golden(const struct hd_dram *d, const struct hd_dramlane *l,
                        struct hd_dramcmd *cmd)
{
    const struct hd_dramentry *v = l->entry, *first = NULL;

    for (uint32_t i = 0; i < 2 * d->cfg.banks; i++) {
        const struct hd_drambank *k = &l->bank[i / 2];
        uint32_t e = i % 2 ? k->rest[GOLDEN].head : k->hits[GOLDEN].head;
        if (e != NO_ENTRY && (first == NULL || v[e].age < first->age))
            first = &v[e];
    }
    if (first == NULL)
        return;
    cmd->golden = 1;
    cmd->golden_bank = first->bank;
    cmd->golden_row = first->row;
    cmd->golden_write = first->write;
}

/* Reports the planned command, on behalf of entry e, in a note of its instant.
 */
static HD_APART void tell_note(const struct hd_dram *d,
                               const struct hd_dramlane *l, uint32_t e)
{
    const struct hd_dramentry *v = &l->entry[e];
    const struct hd_req *r = &d->reqs->v[v->req];
    const hd_time at = l->ch->plan_at * d->tick, *local = d->env->local;
    struct heddle_n_dram_command n = {.channel = l->c,
                                      .bank = v->bank,
                                      .app = v->app,
                                      .kind = r->kind,
                                      .address = r->pa.v,
                                      .command = l->ch->plan_kind,
                                      .row = v->row,
                                      .burst = v->bursts - v->left + 1u,
                                      .bursts = v->bursts};

    d->env->local = &at;
    hd_slots_note(d->env->slots, HEDDLE_NOTE_dram_command, &n);
    d->env->local = local;
}

void hd_dram_report(struct hd_dram *d, const struct hd_dramlane *l, uint32_t e,
                    bool close)
{
    const struct hd_dramchan *ch = l->ch;
    struct hd_dramcmd cmd = {.cycle = ch->plan_at,
                             .channel = l->c,
                             .bank = ch->plan_bank,
                             .kind = ch->plan_kind,
                             .req = HD_NONE,
                             .close = close};

    if (d->watched && e != NO_ENTRY)
        tell_note(d, l, e);
    if (d->watch == NULL && d->check == NULL)
        return;
    if (e != NO_ENTRY) {
        const struct hd_dramentry *v = &l->entry[e];
        cmd.row = v->row;
        cmd.req = v->req;
        cmd.klass = v->klass;
        if (ch->klass[GOLDEN] != 0 && !d->pick.bound)
            tell_golden(d, l, &cmd);
        cmd.column =
            hd_dram_locate(d, v->app, d->reqs->v[v->req].pa.v).column +
            v->bursts - v->left;
        if (cmd.kind == HD_DRAM_RD)
            cmd.data = cmd.cycle + d->cfg.cl;
        else if (cmd.kind == HD_DRAM_WR)
            cmd.data = cmd.cycle + d->cfg.wl;
    }
    if (d->check != NULL)
        hd_dramcheck_command(d->check, &cmd, d->env->err);
    if (d->watch != NULL)
        d->watch(d->watch_self, &cmd);
}

/* Whether one request alone hits the row of a bank. */
static bool only_hit(const struct hd_drambank *k)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < CLASSES; i++)
        if (k->hits[i].head != NO_ENTRY)
            n += 1 + (k->hits[i].head != k->hits[i].tail);
    return n == 1;
}

/* One column, with the precharge that a closed page makes of the last. */
static void dram_issue_column(struct hd_dram *d, const struct hd_dramlane *l,
                              uint32_t b)
{
    struct hd_drambank *k = &l->bank[b];
    uint32_t e = hd_dram_hit(k);
    struct hd_dramentry *v = &l->entry[e];
    bool close = d->cfg.page == 1 && v->left == 1 && only_hit(k);

    hd_dram_report(d, l, e, close);
    hd_dram_forbid(&d->t, l->ch, k, v->write, l->ch->plan_at);
    if (HD_UNLIKELY(d->t.grouped) && v->write)
        hd_dram_forbid_reads(&d->t, l->ch, k, l->ch->plan_at);
    if (--v->left != 0)
        return;
    hd_dram_end(d, l, e, l->ch->plan_at);
    if (close) {
        l->count[v->app * ST_COUNT + ST_PRECHARGES]++;
        hd_dram_close_row(d, l, b, k->row_ok[BANK_PRE]);
    }
    hd_dram_offer(d, l, b);
}

static void dram_issue_row(struct hd_dram *d, const struct hd_dramlane *l,
                           uint32_t b)
{
    uint32_t e = hd_dram_other(&l->bank[b]);

    hd_dram_report(d, l, e, false);
    if (l->ch->plan_kind == HD_DRAM_ACT) {
        hd_dram_open_row(d, l, b, e, l->ch->plan_at);
    } else {
        l->count[l->entry[e].app * ST_COUNT + ST_PRECHARGES]++;
        hd_dram_close_row(d, l, b, l->ch->plan_at);
    }
    hd_dram_offer(d, l, b);
}

/* Issues the planned command. */
static void dram_issue(struct hd_dram *d, const struct hd_dramlane *l)
{
    struct hd_dramchan *ch = l->ch;

    switch (ch->plan_kind) {
    case HD_DRAM_RD:
    case HD_DRAM_WR:
        dram_issue_column(d, l, ch->plan_bank);
        break;
    case HD_DRAM_ACT:
    case HD_DRAM_PRE:
        dram_issue_row(d, l, ch->plan_bank);
        break;
    case HD_DRAM_PREA:
    case HD_DRAM_REF:
        hd_dram_issue_refresh(d, l);
        break;
    case HD_DRAM_PREB:
    case HD_DRAM_REFB:
        hd_dram_issue_bank_refresh(d, l);
        break;
    case HD_DRAM_DUE: /* nor is this a command */
        hd_dram_issue_bank_refresh(d, l);
        return;
    default: /* HD_DRAM_ASK: this is no command yet */
        hd_dram_ask(d, l);
        return;
    }
    hd_dram_held(d, l);
    ch->planned = 0;
    ch->column = ch->row = 0;
    ch->hold = 0;
}

/* ---- batches ----------------------------------------------------------- */

/* Issues what is legal up to a cycle before which nothing arrives. */
static void dram_decide(struct hd_dram *d, const struct hd_dramlane *l,
                        uint64_t cycle)
{
    struct hd_dramchan *ch = l->ch;

    for (;;) {
        if (d->cfg.refresh)
            hd_dram_skip_refreshes(d, l, cycle);
        hd_dram_plan(d, l);
        if (ch->plan_at > cycle) /* HD_NEVER: there is none */
            break;
        dram_issue(d, l);
    }
    hd_dram_decided(d, l, cycle);
}

HD_HOT void hd_dram_advance(struct hd_dram *d, const struct hd_dramlane *l,
                            uint64_t cycle)
{
    struct hd_dramchan *ch = l->ch;

    hd_at_home(d->env, HD_SIDE_MEMORY);
    if (ch->inbox_n == 0 && ch->planned && ch->plan_at > cycle) {
        hd_dram_decided(d, l, cycle);
        return;
    }
    if (HD_FAST && d->quiet && ch->klass[SILVER] + ch->klass[GOLDEN] == 0 &&
        (!d->cfg.refresh || cycle < ch->ref_at)) {
        d->fast(d, l, cycle);
        if (HD_UNLIKELY(d->cfg.refresh) && ch->plan_at >= ch->ref_at)
            ch->planned = 0; /* the refresh may come before */
        return;
    }
    for (uint32_t i = 0; i < ch->inbox_n; i++) {
        dram_decide(d, l, l->entry[ch->inbox[i]].accepted);
        dram_arrive(d, l, ch->inbox[i]);
    }
    ch->inbox_n = 0;
    dram_decide(d, l, cycle);
}

/* When the first of the requests that have a column of a direction to offer
 * could have sent its last burst, or `at` if that is before. */
static inline uint64_t dram_first_end(const struct hd_dram *d,
                                      const struct hd_dramlane *l, uint32_t w,
                                      uint64_t at)
{
    const struct hd_dramchan *ch = l->ch;
    const uint64_t base = hd_max_u64(ch->col_ok[w], ch->floor);

    for (uint32_t i = 0; i < ch->n[w]; i++) {
        const struct hd_drambank *k = &l->bank[ch->order[w][i] & PLAN_BANK];
        uint64_t first =
            hd_max_u64(k->act_at + d->t.rcd[w], ch->group_ok[k->group]);

        first = hd_max_u64(first, base);
        at = hd_min_u64(at, first + (l->entry[hd_dram_hit(k)].left - 1u) *
                                        (uint64_t)d->t.again);
    }
    return at;
}

HD_HOT uint64_t hd_dram_free_at(struct hd_dram *d, const struct hd_dramlane *l)
{
    const struct hd_dramchan *ch = l->ch;
    uint64_t at;

    hd_dram_plan(d, l);
    if (ch->plan_kind >= HD_DRAM_PREA)
        return hd_max_u64(ch->plan_at, ch->floor);
    if (ch->plan_kind >= HD_DRAM_RD &&
        l->entry[hd_dram_hit(&l->bank[ch->plan_bank])].left == 1)
        return ch->plan_at; /* nothing comes before */
    at = dram_first_end(d, l, 1, dram_first_end(d, l, 0, HD_NEVER));
    if (ch->rows != 0)
        at = hd_min_u64(at, ch->plan_at + d->t.rcd_least);
    return at;
}
