/*
 * l2look.c - the L2 slices for people: what is in a slice, what it waits for,
 * whether its state makes sense, and counters brought up to date.
 *
 * Invariants (check): every request that arrived was answered, has ended, or
 * is in exactly one list; the MSHRs and the tags hold no line twice; where ways
 * are shared out, each line lies in those of its owner; stage times of all
 * finished requests and of those inside sum to the total.
 *
 * What a blocked input has waited is counted when it goes on, and the plain way
 * keeps counters of its own (l2slice.h): whoever reads the counters before is
 * given what is not in their rows yet.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <string.h>

#include "l2slice.h"

/* ---- looking ---------------------------------------------------------- */

static const char *const kinds[] = {"read", "write", "atomic", "walk"};
static const char *const causes[] = {"", "an MSHR", "the merges of a line",
                                     "the miss queue"};

static void show_request(struct hd_l2 *l2, struct heddle_visitor *v,
                         const char *where, uint32_t r)
{
    const struct hd_req *q = &l2->w.reqs->v[r];

    v->row(v->ud, where);
    v->text(v->ud, "access", kinds[q->kind % HD_REQ_KINDS]);
    v->number(v->ud, "address", q->pa.v);
    v->number(v->ud, "app", q->app);
    v->number(v->ud, "warp", q->warp);
    v->number(v->ud, "level", q->level);
    v->number(v->ud, "client", q->client);
}

void hd_l2look_slice(void *self, uint32_t i, struct heddle_visitor *v)
{
    struct hd_l2 *l2 = self;
    struct hd_l2_slice *sl = &l2->slice[i];
    uint32_t r, k;

    hd_cache_look(&sl->tags, v);
    for (uint32_t m = 0; m < sl->mshr.room; m++) {
        const struct hd_mshr_entry *x = &sl->mshr.v[m];
        if (!x->live)
            continue;
        v->row(v->ud, "mshr");
        v->number(v->ud, "line", x->key);
        v->number(v->ud, "address", x->key << l2->line_shift);
        v->number(v->ud, "requests", x->n);
        v->number(v->ud, "dirty", x->flags & HD_L2_DIRTY);
    }
    for (r = sl->s->in.first, k = 0; k < sl->s->in_n;
         k++, r = l2->w.reqs->v[r].next)
        show_request(l2, v, "input", r);
    for (r = sl->s->down.first, k = 0; k < sl->s->down_n;
         k++, r = l2->w.reqs->v[r].next)
        show_request(l2, v, "miss queue", r);
}

void hd_l2look_stuck(void *self, uint32_t i, struct heddle_visitor *v)
{
    struct hd_l2 *l2 = self;
    const struct hd_l2_slice *sl = &l2->slice[i];
    const struct hd_l2_state *s = sl->s;

    if (s->in_n > 0) {
        hd_show_wait(v, "l2cache input", i, causes[s->cause]);
        v->number(v->ud, "n", s->in_n);
    }
    if (s->down_n > 0) {
        hd_show_wait(v, "l2cache miss queue", i, "room at its dram channel");
        v->number(v->ud, "channel", sl->s->channel);
        v->number(v->ud, "n", s->down_n);
    }
    if (s->used + s->passing > 0) {
        hd_show_wait(v, "l2cache", i, "lines from its dram channel");
        v->number(v->ud, "channel", sl->s->channel);
        v->number(v->ud, "n", s->used + s->passing);
    }
}

/* ---- checking --------------------------------------------------------- */

/* Requests that wait in MSHRs, and the ticks that they have had so far. */
static uint64_t waiters(const struct hd_l2_slice *sl, hd_time *ticks,
                        const char **wrong)
{
    uint64_t n = 0;

    for (uint32_t m = 0; m < sl->mshr.room; m++) {
        const struct hd_mshr_entry *x = &sl->mshr.v[m];
        uint32_t k = 0;

        if (!x->live)
            continue;
        if (hd_cache_peek(&sl->tags, x->key))
            *wrong = "a line is present and in flight";
        for (uint32_t r = x->first; r != HD_NONE && k <= x->n; k++) {
            const struct hd_req *q = &sl->l2->w.reqs->v[r];
            *ticks += q->queued - q->born;
            if (q->pa.v >> sl->l2->line_shift != x->key)
                *wrong = "a request waits for another line";
            r = q->next;
        }
        if (k != x->n || k == 0)
            *wrong = "an MSHR miscounts its requests";
        n += k;
    }
    return n;
}

/* Where ways are shared out, each line lies in those of its owner. */
static bool in_share(const struct hd_l2_slice *sl)
{
    const struct hd_assoc *a = &sl->tags.tags;

    for (uint32_t e = 0; a->parted && e < a->sets * a->ways; e++)
        if (a->key[e] != HD_KEY_NONE &&
            !hd_assoc_owns(a, e, hd_cache_line(&sl->tags, e).owner))
            return false;
    return true;
}

void hd_l2look_check(void *self, uint32_t i, struct hd_err *err)
{
    struct hd_l2 *l2 = self;
    const struct hd_l2_slice *sl = &l2->slice[i];
    const struct hd_l2_state *s = sl->s;
    const char *wrong = NULL;
    hd_time ticks = s->passed;
    uint64_t inside = waiters(sl, &ticks, &wrong) + s->in_n + s->passing;
    uint32_t r = s->in.first;

    for (uint32_t k = 0; k < s->in_n; k++) {
        const struct hd_req *q = &l2->w.reqs->v[r];
        ticks += q->queued - q->born;
        r = q->next;
    }
    if (!in_share(sl))
        wrong = "a line lies in the ways of another application";
    if (!hd_mshr_sane(&sl->mshr) || s->used != hd_mshr_used(&sl->mshr))
        wrong = "the lists of MSHRs are broken";
    if (s->owed != inside)
        wrong = "a request was lost or answered twice";
    if (l2->check && s->travel + s->input + s->look + s->memory + s->output !=
                         s->total + ticks)
        wrong = "stage times do not sum to the time of the requests";
    if ((s->in_n > 0) != (s->cause != HD_L2_GO))
        wrong = "the input waits for nothing";
    if (wrong != NULL)
        hd_err_set(err, HEDDLE_ECHECK,
                   "l2cache slice %" PRIu32 ": %s (%" PRIu32
                   " to be answered or ended, %" PRIu64 " inside)",
                   i, wrong, s->owed, inside);
}

/* ---- counters --------------------------------------------------------- */

/* Adds what the plain way has counted of an application in a slice. */
static void add_plain(const struct hd_l2_plain *p, uint64_t *row)
{
    for (uint32_t k = 0; k < HD_L2_CLASSES; k++) {
        uint64_t *c = row + k * HD_L2_RESULTS;

        if (k == HD_L2_ATOMIC)
            continue;
        c[HD_L2_LOOKUPS] += p->hits[k] + p->misses[k];
        c[HD_L2_HITS] += p->hits[k];
        c[HD_L2_MISSES] += p->misses[k];
        row[HD_L2_INPUT_BUSY] += p->hits[k] + p->misses[k];
        row[HD_L2_DRAM_READS] += k != HD_L2_WRITE ? p->misses[k] : 0;
    }
    row[HD_L2_INPUT_BUSY] += p->misses[HD_L2_LONGER];
    row[HD_L2_OUTPUT_BUSY] += p->output_busy;
    row[HD_L2_FILLS] += p->hits[HD_L2_FILLED];
    row[HD_L2_EVICTIONS] += p->hits[HD_L2_FILLED] - p->roomy;
}

/* For whoever reads the counters. */
void hd_l2look_counts(void *self, uint32_t i, uint32_t app, uint64_t *add)
{
    const struct hd_l2_slice *sl = &((struct hd_l2 *)self)->slice[i];

    if (app < sl->apps)
        add_plain(hd_l2_plainly(sl, app), add);
}

/* Counts what heads of inputs have waited so far, and puts all that has been
 * counted into the rows. */
void hd_l2look_sync(void *self, hd_time now)
{
    struct hd_l2 *l2 = self;

    for (uint32_t i = 0; i < l2->slices; i++) {
        struct hd_l2_slice *sl = &l2->slice[i];

        hd_l2slice_count_blocked(sl, now);
        for (uint32_t app = 0; app < sl->apps; app++)
            add_plain(hd_l2_plainly(sl, app), hd_l2_counters(sl, app));
        memset(hd_l2_plainly(sl, 0), 0, sl->apps * sizeof(struct hd_l2_plain));
        sl->s->peak = 0; /* the row may be set to 0 now */
    }
}
