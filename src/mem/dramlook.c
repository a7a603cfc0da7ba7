/*
 * dramlook.c - the DRAM system for people: what is in a channel, what waits
 * for what, and whether its lists are as they must be.
 *
 * Nothing here changes state.  The invariants checked are those of
 * dramqueue.c: each waiting request is in one list, that of its bank and
 * class, among the hits if and only if its row is open, by age; what each bank
 * offers is what its lists say; and a channel with work has an event posted.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramchan.h"

static void look_bank(struct hd_dram *d, uint32_t c, uint32_t b,
                      struct heddle_visitor *v)
{
    const struct hd_drambank *k = hd_drambank_at(d, c, b);

    v->row(v->ud, "bank");
    v->number(v->ud, "bank", b);
    v->number(v->ud, "group", k->group);
    v->number(v->ud, "open", k->open);
    if (k->open) {
        v->number(v->ud, "row", k->row);
        v->number(v->ud, "served", k->served);
    }
}

static void look_list(struct hd_dram *d, uint32_t c, struct hd_dramlist l,
                      const char *where, struct heddle_visitor *v)
{
    static const char *const klass[CLASSES] = {"normal", "silver", "golden"};
    static const char *const access[] = {"read", "write", "atomic", "walk"};
    const struct hd_dramentry *all = hd_dramentry_of(d, c);

    for (uint32_t e = l.head; e != NO_ENTRY; e = all[e].next) {
        const struct hd_req *r = &d->reqs->v[all[e].req];
        v->row(v->ud, "request");
        v->text(v->ud, "state", where);
        v->number(v->ud, "bank", all[e].bank);
        v->number(v->ud, "row_wanted", all[e].row);
        v->number(v->ud, "address", r->pa.v);
        v->text(v->ud, "access", access[r->kind & 3]);
        v->text(v->ud, "class", klass[all[e].klass]);
        v->number(v->ud, "app", r->app);
        v->number(v->ud, "accepted",
                  hd_dramentry_accepted(d->lane[c].ch, &all[e]));
        v->number(v->ud, "bursts_left", all[e].left);
    }
}

void hd_dramlook_show(void *self, uint32_t c, struct heddle_visitor *v)
{
    struct hd_dram *d = self;

    if (d->cfg.mode.kind != HD_FULL)
        return;
    for (uint32_t b = 0; b < d->cfg.banks; b++)
        look_bank(d, c, b, v);
    for (uint32_t b = 0; b < d->cfg.banks; b++) {
        const struct hd_drambank *k = hd_drambank_at(d, c, b);
        for (uint32_t i = CLASSES; i-- > 0;) {
            look_list(d, c, k->hits[i], "row open", v);
            look_list(d, c, k->rest[i], "waiting", v);
        }
    }
    look_list(d, c, d->lane[c].ch->golden, "golden queue", v);
}

static void look_waiters(struct hd_dram *d, uint32_t c, uint32_t n,
                         struct heddle_visitor *v)
{
    for (; n != HD_NONE; n = d->wait[n].next) {
        hd_show_wait(v, d->env->ev->name[d->wait[n].who], d->wait[n].a,
                     "room in the queue of dram");
        v->number(v->ud, "channel", c);
    }
}

void hd_dramlook_stuck(void *self, uint32_t c, struct heddle_visitor *v)
{
    struct hd_dram *d = self;
    const struct hd_dramchan *ch = d->lane[c].ch;

    if (d->cfg.mode.kind != HD_FULL)
        return;
    if (ch->waiting != 0) {
        hd_show_wait(v, "dram", c, "its next command");
        v->number(v->ud, "n", ch->waiting);
        v->number(v->ud, "command_cycle", ch->plan_at);
    }
    for (uint32_t k = 0; k < CLASSES; k++)
        look_waiters(d, c, ch->wait_first[k], v);
}

/* Entries of a list; records an error when one does not belong there. */
static uint32_t check_list(struct hd_dram *d, uint32_t c, uint32_t b,
                           const struct hd_dramlist *l, bool hits,
                           struct hd_err *err)
{
    const struct hd_drambank *k = hd_drambank_at(d, c, b);
    const struct hd_dramentry *v = hd_dramentry_of(d, c);
    uint32_t n = 0, last = NO_ENTRY;

    for (uint32_t e = l->head; e != NO_ENTRY; last = e, e = v[e].next, n++) {
        bool hit = k->open && k->row == v[e].row;
        if (v[e].bank != b || hit != hits || n > d->places ||
            (last != NO_ENTRY && !hd_dramentry_older(&v[last], &v[e]))) {
            hd_err_set(err, HEDDLE_ECHECK,
                       "dram: channel %u, bank %u: a request is in the wrong "
                       "list",
                       c, b);
            break;
        }
    }
    return n;
}

void hd_dramlook_check(void *self, uint32_t c, struct hd_err *err)
{
    struct hd_dram *d = self;
    struct hd_dramchan *ch = d->lane[c].ch;
    uint32_t n = 0;

    if (d->cfg.mode.kind != HD_FULL)
        return;
    for (uint32_t b = 0; b < d->cfg.banks; b++) {
        struct hd_drambank *k = hd_drambank_at(d, c, b);
        for (uint32_t i = 0; i < CLASSES; i++) {
            n += check_list(d, c, b, &k->hits[i], true, err);
            n += check_list(d, c, b, &k->rest[i], false, err);
        }
        if (!hd_dramqueue_right(d, c, b))
            hd_err_set(err, HEDDLE_ECHECK,
                       "dram: channel %u, bank %u: its candidates are stale", c,
                       b);
    }
    for (uint32_t e = ch->golden.head; e != NO_ENTRY;
         e = hd_dramentry_of(d, c)[e].next)
        n++;
    if (d->cfg.queues &&
        (ch->klass[1] > d->cfg.queue_silver ||
         ch->klass[2] > d->cfg.queue_golden ||
         ch->waiting - ch->klass[1] - ch->klass[2] > d->cfg.queue))
        hd_err_set(err, HEDDLE_ECHECK,
                   "dram: channel %u: more requests of a class wait than its "
                   "queue has places",
                   c);
    if (n != ch->waiting)
        hd_err_set(err, HEDDLE_ECHECK,
                   "dram: channel %u: %u requests are in lists, %u wait", c, n,
                   ch->waiting);
    if ((ch->waiting != 0 || ch->done_n != 0) && ch->wake == HD_NEVER)
        hd_err_set(err, HEDDLE_ECHECK, "dram: channel %u has work and no event",
                   c);
}
