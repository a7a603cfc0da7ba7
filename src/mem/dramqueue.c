/*
 * dramqueue.c - who waits at a bank, and which command each bank offers.
 *
 * A bank keeps, for each class, two lists in order of age: the requests of
 * its open row (hits) and the others (rest).  Opening a row moves its requests
 * from rest to hits, closing one merges what is left of them back.  So the
 * oldest hit and the oldest other request are list heads, and nothing looks
 * through the queue when a command issues.
 *
 * A bank offers at most one column command (for its oldest hit) and one row
 * command (for its oldest other request), both of its most urgent class.
 * A key orders candidates of all banks: class, then columns before rows
 * (unless the scheduler is ready-first), then age.
 *
 * What the schedulers do differently is when an open row may be closed:
 * hit-first: when no request of the class hits it; capped: also after `cap`
 * requests, for an older request, and then before any other row command;
 * ready-first: for any older request.  Golden requests are never overtaken by
 * golden ones of the same bank.
 *
 * Here the candidates of a bank are worked out anew from its lists, whatever
 * has happened; drambank.h does what is common with less.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramoffer.h"

static void append(struct hd_dramentry *v, struct hd_dramlist *l, uint32_t e)
{
    v[e].next = NO_ENTRY;
    if (l->head == NO_ENTRY)
        l->head = (uint16_t)e;
    else
        v[l->tail].next = (uint16_t)e;
    l->tail = (uint16_t)e;
}

/* Moves the requests of row k->row from one list to the end of another. */
static void move_row(struct hd_dramentry *v, const struct hd_drambank *k,
                     struct hd_dramlist *from, struct hd_dramlist *to)
{
    uint32_t e = from->head, last = NO_ENTRY;

    while (e != NO_ENTRY) {
        uint32_t next = v[e].next;
        if (v[e].row == k->row) {
            if (last == NO_ENTRY)
                from->head = (uint16_t)next;
            else
                v[last].next = (uint16_t)next;
            append(v, to, e);
        } else {
            last = e;
        }
        e = next;
    }
    from->tail = (uint16_t)last;
}

/* Merges the list `from` into `to`, by age; `from` is empty afterwards. */
static void merge(struct hd_dramentry *v, struct hd_dramlist *from,
                  struct hd_dramlist *to)
{
    struct hd_dramlist out = {NO_ENTRY, NO_ENTRY};
    uint32_t a = from->head, b = to->head;

    while (a != NO_ENTRY || b != NO_ENTRY) {
        bool first = b == NO_ENTRY ||
                     (a != NO_ENTRY && hd_dramentry_older(&v[a], &v[b]));
        uint32_t e = first ? a : b;
        if (first)
            a = v[e].next;
        else
            b = v[e].next;
        append(v, &out, e);
    }
    *to = out;
    from->head = from->tail = NO_ENTRY;
}

/* Whether the open row may be closed for the bank's oldest other request,
 * although a request hits it. */
static bool may_close(const struct hd_dram *d, const struct hd_drambank *k,
                      const struct hd_dramentry *hit,
                      const struct hd_dramentry *other)
{
    if (hd_dramentry_older(hit, other))
        return false;
    if (other->klass == 2)
        return true;
    return d->cfg.scheduler == HD_DRAM_READY_FIRST ||
           (d->cfg.scheduler == HD_DRAM_CAPPED && k->served >= d->cfg.cap);
}

/* Works out what a bank offers: the requests, or NO_ENTRY, of its column and
 * its row candidate, and the row's rank. */
static void work_out(const struct hd_dram *d, uint32_t c, uint32_t b,
                     uint32_t *hit, uint32_t *other, uint64_t *rank)
{
    const struct hd_dramentry *v = hd_dramentry_of(d, c);
    const struct hd_drambank *k = hd_drambank_at(d, c, b);
    uint32_t klass = hd_dramqueue_top(k);

    *hit = k->hits[klass].head;
    *other = k->rest[klass].head;
    *rank = d->row_rank;
    if (*hit == NO_ENTRY || *other == NO_ENTRY)
        return;
    if (!may_close(d, k, &v[*hit], &v[*other])) {
        *other = NO_ENTRY;
        return;
    }
    *rank = 0; /* its turn has come */
    if (klass == 2)
        *hit = NO_ENTRY;
}

void hd_dramqueue_refresh(struct hd_dram *d, uint32_t c, uint32_t b)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    const struct hd_dramentry *v = hd_dramentry_of(d, c);
    struct hd_drambank *k = hd_drambank_at(d, c, b);
    uint32_t hit, other;
    uint64_t rank;

    ch->planned = 0;
    ch->offered = 1;
    ch->column = ch->row = 0;
    ch->hold = 0;
    hd_dramoffer_drop(ch, k, b);
    hd_dramoffer_drop_row(ch, b);
    work_out(d, c, b, &hit, &other, &rank);
    if (hit != NO_ENTRY)
        hd_dramoffer_column(ch, k, b, &v[hit]);
    if (other != NO_ENTRY)
        hd_dramoffer_row(ch, b, &v[other], rank);
}

bool hd_dramqueue_right(const struct hd_dram *d, uint32_t c, uint32_t b)
{
    const struct hd_dramchan *ch = d->lane[c].ch;
    const struct hd_dramentry *v = hd_dramentry_of(d, c);
    const struct hd_drambank *k = hd_drambank_at(d, c, b);
    uint32_t hit, other, way = 0, i = 0;
    uint64_t rank;

    work_out(d, c, b, &hit, &other, &rank);
    if (hit != NO_ENTRY) {
        way = 1u + v[hit].write;
        while (i < ch->n[way - 1] &&
               ch->order[way - 1][i] != hd_dramoffer_key(ch, &v[hit], b))
            i++;
        if (i == ch->n[way - 1])
            return false;
    }
    if (other != NO_ENTRY &&
        ch->row_key[b] != (hd_dramoffer_key(ch, &v[other], b) | rank))
        return false;
    return k->way == way && (ch->rows >> b & 1) == (other != NO_ENTRY);
}

/* ---- what happens to a bank ---------------------------------------------- */

/* Puts an entry into the lists of its bank. */
static void install(struct hd_dram *d, uint32_t c, uint32_t e)
{
    struct hd_dramentry *v = hd_dramentry_of(d, c);
    uint32_t klass = v[e].klass, b = v[e].bank;
    struct hd_drambank *k = hd_drambank_at(d, c, b);
    bool hit = k->open && k->row == v[e].row;
    struct hd_dramlist *l = hit ? &k->hits[klass] : &k->rest[klass];
    bool first = l->head == NO_ENTRY;

    append(v, l, e);
    k->classes |= (uint8_t)(1u << klass);
    if (first) /* or else it is no candidate and changes none */
        hd_dramqueue_refresh(d, c, b);
}

void hd_dramqueue_arrive(struct hd_dram *d, uint32_t c, uint32_t e)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    struct hd_dramentry *v = hd_dramentry_of(d, c);

    if (v[e].klass == 2 && d->cfg.golden == 0) {
        if (ch->golden_busy) {
            append(v, &ch->golden, e);
            return;
        }
        ch->golden_busy = 1;
    }
    install(d, c, e);
}

HD_HOT void hd_dramqueue_opened(struct hd_dram *d, uint32_t c, uint32_t b)
{
    struct hd_dramentry *v = hd_dramentry_of(d, c);
    struct hd_drambank *k = hd_drambank_at(d, c, b);

    for (uint32_t i = 0; i < CLASSES; i++)
        move_row(v, k, &k->rest[i], &k->hits[i]);
}

void hd_dramqueue_closed(struct hd_dram *d, uint32_t c, uint32_t b)
{
    struct hd_dramentry *v = hd_dramentry_of(d, c);
    struct hd_drambank *k = hd_drambank_at(d, c, b);

    for (uint32_t i = 0; i < CLASSES; i++)
        if (k->hits[i].head != NO_ENTRY)
            merge(v, &k->hits[i], &k->rest[i]);
}

/* A silver or golden request has left. */
static void served_urgent(struct hd_dram *d, uint32_t c, uint32_t klass)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    uint32_t next = ch->golden.head;

    ch->klass[klass]--;
    if (klass != 2 || d->cfg.golden != 0)
        return;
    ch->golden_busy = next != NO_ENTRY;
    if (next != NO_ENTRY) {
        ch->golden.head = hd_dramentry_of(d, c)[next].next;
        install(d, c, next);
    }
}

void hd_dramqueue_served(struct hd_dram *d, uint32_t c, uint32_t e)
{
    struct hd_dramchan *ch = d->lane[c].ch;
    struct hd_dramentry *v = hd_dramentry_of(d, c);
    uint32_t b = v[e].bank, klass = v[e].klass;
    struct hd_drambank *k = hd_drambank_at(d, c, b);
    struct hd_dramlist *l = &k->hits[klass];

    hd_assert(l->head == e);
    l->head = v[e].next;
    if (l->head == NO_ENTRY) {
        l->tail = NO_ENTRY;
        if (k->rest[klass].head == NO_ENTRY)
            k->classes &= (uint8_t) ~(1u << klass);
    }
    ch->waiting--;
    hd_dramentry_free(ch, v, e);
    if (klass != 0)
        served_urgent(d, c, klass);
    hd_dramqueue_refresh(d, c, b);
}
