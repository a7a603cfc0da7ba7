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
 * SPDX-License-Identifier: MIT
 */
#include "dramchan.h"

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
        bool first = b == NO_ENTRY || (a != NO_ENTRY && v[a].age < v[b].age);
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

/* Puts an entry into the lists of its bank. */
static void install(struct hd_dram *d, uint32_t c, uint32_t e)
{
    struct hd_dramentry *v = hd_dramentry_of(d, c);
    struct hd_drambank *k = hd_drambank_at(d, c, v[e].bank);
    uint32_t klass = v[e].klass;
    bool hit = k->open && k->row == v[e].row;

    k->classes |= (uint8_t)(1u << klass);
    append(v, hit ? &k->hits[klass] : &k->rest[klass], e);
    /* Behind another request it is no candidate and changes none. */
    if ((hit ? k->hits[klass].head : k->rest[klass].head) == e)
        hd_dramqueue_refresh(d, c, v[e].bank);
}

void hd_dramqueue_arrive(struct hd_dram *d, uint32_t c, uint32_t e)
{
    struct hd_dramchan *ch = &d->chan[c];
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

void hd_dramqueue_opened(struct hd_dram *d, uint32_t c, uint32_t b)
{
    struct hd_dramentry *v = hd_dramentry_of(d, c);
    struct hd_drambank *k = hd_drambank_at(d, c, b);

    for (uint32_t i = 0; i < CLASSES; i++)
        if (k->classes & 1u << i)
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

void hd_dramqueue_served(struct hd_dram *d, uint32_t c, uint32_t e)
{
    struct hd_dramchan *ch = &d->chan[c];
    struct hd_dramentry *v = hd_dramentry_of(d, c);
    struct hd_drambank *k = hd_drambank_at(d, c, v[e].bank);
    uint32_t klass = v[e].klass;
    struct hd_dramlist *l = &k->hits[klass];

    hd_assert(l->head == e);
    l->head = v[e].next;
    if (l->head == NO_ENTRY) {
        l->tail = NO_ENTRY;
        if (k->rest[klass].head == NO_ENTRY)
            k->classes &= (uint8_t) ~(1u << klass);
    }
    ch->klass[klass]--;
    ch->waiting--;
    v[e].next = ch->free;
    ch->free = (uint16_t)e;
    if (klass == 2 && d->cfg.golden == 0) {
        uint32_t next = ch->golden.head;
        ch->golden_busy = next != NO_ENTRY;
        if (next != NO_ENTRY) {
            ch->golden.head = v[next].next;
            install(d, c, next);
        }
    }
}

/* Whether the open row may be closed for the bank's oldest other request,
 * although a request hits it. */
static bool may_close(const struct hd_dram *d, const struct hd_drambank *k,
                      const struct hd_dramentry *hit,
                      const struct hd_dramentry *other)
{
    if (hit->age < other->age)
        return false;
    if (other->klass == 2)
        return true;
    return d->cfg.scheduler == HD_DRAM_READY_FIRST ||
           (d->cfg.scheduler == HD_DRAM_CAPPED && k->served >= d->cfg.cap);
}

/* Takes a bank's column candidate, if it has one, out of the order. */
static void drop_column(struct hd_dramchan *ch, uint32_t b)
{
    uint32_t w = ch->col_mask[1] >> b & 1, i = 0;
    uint8_t *order = ch->col_order[w];

    if (!(ch->col_mask[w] >> b & 1))
        return;
    ch->col_mask[w] &= ~(1ull << b);
    while (order[i] != b)
        i++;
    ch->col_n[w]--;
    for (; i < ch->col_n[w]; i++)
        order[i] = order[i + 1];
}

/* Enters a bank's column candidate into the order of keys. */
static void offer_column(struct hd_dramchan *ch, uint32_t w, uint32_t b,
                         uint64_t key)
{
    uint8_t *order = ch->col_order[w];
    uint32_t i = ch->col_n[w]++;

    ch->col_mask[w] |= 1ull << b;
    ch->col_key[b] = key;
    while (i > 0 && ch->col_key[order[i - 1]] > key) {
        order[i] = order[i - 1];
        i--;
    }
    order[i] = (uint8_t)b;
}

/* The bank's row candidate: an activate, or a precharge for `other`. */
static void offer_row(struct hd_dramchan *ch, const struct hd_drambank *k,
                      uint32_t b, uint64_t key)
{
    uint64_t bit = 1ull << b;

    ch->row_mask |= bit;
    ch->best_valid = 0;
    ch->row_key[b] = key;
    if (k->open) {
        ch->row_ready[b] = k->pre_ok;
    } else {
        ch->row_ready[b] = k->act_ok;
        ch->act_mask |= bit;
    }
}

void hd_dramqueue_refresh(struct hd_dram *d, uint32_t c, uint32_t b)
{
    struct hd_dramchan *ch = &d->chan[c];
    const struct hd_dramentry *v = hd_dramentry_of(d, c);
    const struct hd_drambank *k = hd_drambank_at(d, c, b);
    uint64_t bit = 1ull << b, top, rank = 1ull << KEY_RANK;
    uint32_t klass = hd_dramqueue_top(k), hit, other;

    if (ch->row_mask & bit)
        ch->best_valid = 0;
    ch->planned = 0;
    ch->hold = 0;
    drop_column(ch, b);
    ch->row_mask &= ~bit;
    ch->act_mask &= ~bit;
    if (k->classes == 0)
        return;
    hit = k->hits[klass].head;
    other = k->rest[klass].head;
    top = (uint64_t)(2 - klass) << KEY_CLASS | b;
    if (d->cfg.scheduler == HD_DRAM_READY_FIRST)
        rank = 0;
    if (hit != NO_ENTRY) {
        bool forced = other != NO_ENTRY && may_close(d, k, &v[hit], &v[other]);
        if (!forced || klass != 2) {
            ch->col_ready[b] = hd_max_u64(v[hit].write ? k->wr_ok : k->rd_ok,
                                          ch->group_ok[d->group_of[b]]);
            ch->col_entry[b] = (uint16_t)hit;
            offer_column(ch, v[hit].write, b, top | v[hit].age << KEY_AGE);
        }
        if (!forced)
            return;
        rank = 0; /* its turn has come */
    }
    offer_row(ch, k, b, top | rank | v[other].age << KEY_AGE);
}

void hd_dramqueue_shut(struct hd_dram *d, uint32_t c, uint32_t b)
{
    struct hd_dramchan *ch = &d->chan[c];

    if (((ch->col_mask[0] | ch->col_mask[1]) >> b & 1) != 0) {
        hd_dramqueue_refresh(d, c, b); /* its requests hit no more */
        return;
    }
    /* The same request, which now wants its row opened. */
    ch->act_mask |= 1ull << b;
    ch->row_ready[b] = hd_drambank_at(d, c, b)->act_ok;
    ch->best_valid = 0;
}
