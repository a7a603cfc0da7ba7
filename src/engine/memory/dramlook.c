/*
 * dramlook.c - a channel of DRAM as people see it: its banks and requests, what
 * it waits for, and whether its invariants hold (dram.c lists them).
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramchan.h"

static void dram_look_list(const struct hd_dram *d, const struct hd_dramlane *l,
                           struct hd_dramlist list, const char *where,
                           struct heddle_visitor *v)
{
    static const char *const klass[CLASSES] = {"normal", "silver", "golden"};
    static const char *const access[] = {"read", "write", "atomic", "walk"};

    for (uint32_t e = list.head; e != NO_ENTRY; e = l->entry[e].next) {
        const struct hd_dramentry *x = &l->entry[e];
        const struct hd_req *r = &d->reqs->v[x->req];
        v->row(v->ud, "request");
        v->text(v->ud, "state", where);
        v->number(v->ud, "bank", x->bank);
        v->number(v->ud, "row_wanted", x->row);
        v->number(v->ud, "address", r->pa.v);
        v->text(v->ud, "access", access[r->kind & 3]);
        v->text(v->ud, "class", klass[x->klass]);
        v->number(v->ud, "app", r->app);
        v->number(v->ud, "accepted", x->accepted);
        v->number(v->ud, "bursts_left", x->left);
    }
}

void hd_dram_look(void *self, uint32_t c, struct heddle_visitor *v)
{
    const struct hd_dram *d = self;
    const struct hd_dramlane *l = &d->lane[c];

    if (!d->full)
        return;
    for (uint32_t b = 0; b < d->cfg.banks; b++) {
        const struct hd_drambank *k = &l->bank[b];
        v->row(v->ud, "bank");
        v->number(v->ud, "bank", b);
        v->number(v->ud, "group", k->group);
        v->number(v->ud, "open", k->open);
        if (!k->open)
            continue;
        v->number(v->ud, "row", k->row);
        v->number(v->ud, "served", k->served);
    }
    for (uint32_t b = 0; b < d->cfg.banks; b++)
        for (uint32_t i = CLASSES; i-- > 0;) {
            dram_look_list(d, l, l->bank[b].hits[i], "row open", v);
            dram_look_list(d, l, l->bank[b].rest[i], "waiting", v);
        }
    dram_look_list(d, l, l->ch->golden, "golden queue", v);
}

void hd_dram_stuck(void *self, uint32_t c, struct heddle_visitor *v)
{
    const struct hd_dram *d = self;
    const struct hd_dramchan *ch = d->lane[c].ch;

    if (!d->full)
        return;
    if (ch->waiting != 0) {
        hd_show_wait(v, "dram", c, "its next command");
        v->number(v->ud, "n", ch->waiting);
        v->number(v->ud, "command_cycle", ch->plan_at);
    }
    for (uint32_t k = 0; k < CLASSES; k++)
        for (uint32_t n = ch->wait_first[k]; n != HD_NONE;
             n = d->wait[n].next) {
            hd_show_wait(v, d->env->ev->name[d->wait[n].who], d->wait[n].a,
                         "room in the queue of dram");
            v->number(v->ud, "channel", c);
        }
}

/* Entries of a list; *wrong is set when one does not belong there. */
static uint32_t dram_check_list(const struct hd_dram *d,
                                const struct hd_dramlane *l, uint32_t b,
                                struct hd_dramlist list, bool hits,
                                const char **wrong)
{
    const struct hd_drambank *k = &l->bank[b];
    const struct hd_dramentry *v = l->entry;
    uint32_t n = 0, last = NO_ENTRY;

    for (uint32_t e = list.head; e != NO_ENTRY; last = e, e = v[e].next, n++)
        if (v[e].bank != b || (k->open && k->row == v[e].row) != hits ||
            n > d->places || (last != NO_ENTRY && v[last].age >= v[e].age)) {
            *wrong = "a request is in the wrong list of a bank";
            break;
        }
    return n;
}

void hd_dram_check(void *self, uint32_t c, struct heddle_error *err)
{
    const struct hd_dram *d = self;
    const struct hd_dramlane *l = &d->lane[c];
    const struct hd_dramchan *ch = l->ch;
    const char *wrong = NULL;
    uint32_t n = ch->inbox_n;

    if (!d->full)
        return;
    for (uint32_t b = 0; b < d->cfg.banks; b++) {
        for (uint32_t i = 0; i < CLASSES; i++) {
            n += dram_check_list(d, l, b, l->bank[b].hits[i], true, &wrong);
            n += dram_check_list(d, l, b, l->bank[b].rest[i], false, &wrong);
        }
        if (!hd_dram_right(d, l, b))
            wrong = "the candidates of a bank are stale";
    }
    for (uint32_t e = ch->golden.head; e != NO_ENTRY; e = l->entry[e].next)
        n++;
    if (d->apart &&
        (ch->klass[SILVER] > d->cfg.queue_silver ||
         ch->klass[GOLDEN] > d->cfg.queue_golden ||
         ch->waiting - ch->klass[SILVER] - ch->klass[GOLDEN] > d->cfg.queue))
        wrong = "more requests of a class wait than its queue has places";
    if (n != ch->waiting)
        wrong = "not every request that waits is in a list";
    if ((ch->waiting != 0 || ch->done_n != 0) && ch->wake == HD_NEVER)
        wrong = "there is work and no event";
    if (wrong != NULL)
        hd_err_set(err, HEDDLE_ECHECK, "dram: channel %u: %s (%u in lists)", c,
                   wrong, n);
}
