/*
 * l2look.c - a slice of the L2 as people see it: its lines, MSHRs and queues,
 * what it waits for, and whether its invariants hold (l2.c lists them).
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>

#include "l2slice.h"

static void l2_show_list(const struct hd_l2_slice *sl, struct heddle_visitor *v,
                         const char *where, const struct hd_l2_list *l)
{
    static const char *const kinds[] = {"read", "write", "atomic", "walk"};

    for (uint32_t r = l->first, k = 0; k < l->n; k++) {
        const struct hd_req *q = hd_l2_request(sl, r);

        v->row(v->ud, where);
        v->text(v->ud, "access", kinds[q->kind % HD_REQ_KINDS]);
        v->number(v->ud, "address", q->pa.v);
        v->number(v->ud, "app", q->app);
        v->number(v->ud, "warp", q->warp);
        v->number(v->ud, "level", q->level);
        v->number(v->ud, "client", q->client);
        r = q->next;
    }
}

void hd_l2_show(void *self, uint32_t i, struct heddle_visitor *v)
{
    const struct hd_l2 *l2 = self;
    struct hd_l2_slice *sl = &l2->slice[i];

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
    l2_show_list(sl, v, "input", &sl->s->in);
    l2_show_list(sl, v, "miss queue", &sl->s->down);
}

/* The channel that a slice waits for, if it is one. */
static void l2_show_channel(const struct hd_l2_slice *sl,
                            struct heddle_visitor *v)
{
    if (sl->channel != HD_NONE)
        v->number(v->ud, "channel", sl->channel);
}

void hd_l2_stuck(void *self, uint32_t i, struct heddle_visitor *v)
{
    static const char *const causes[] = {"", "an MSHR", "the merges of a line",
                                         "the miss queue"};
    const struct hd_l2 *l2 = self;
    const struct hd_l2_slice *sl = &l2->slice[i];
    const struct hd_l2_state *s = sl->s;
    uint32_t below = hd_mshr_used(&sl->mshr) + s->passing;

    if (s->in.n > 0) {
        hd_show_wait(v, "l2cache input", i, causes[s->cause]);
        v->number(v->ud, "n", s->in.n);
    }
    if (s->down.n > 0) {
        hd_show_wait(v, "l2cache miss queue", i, "room at its dram channel");
        l2_show_channel(sl, v);
        v->number(v->ud, "n", s->down.n);
    }
    if (below > 0) {
        hd_show_wait(v, "l2cache", i, "lines from its dram channel");
        l2_show_channel(sl, v);
        v->number(v->ud, "n", below);
    }
}

/* Requests that wait in MSHRs, and the ticks that they have had so far. */
static uint64_t l2_waiters(const struct hd_l2_slice *sl, hd_time *ticks,
                           const char **wrong)
{
    uint64_t n = 0;

    for (uint32_t m = 0; m < sl->mshr.room; m++) {
        const struct hd_mshr_entry *x = &sl->mshr.v[m];
        uint32_t k = 0;

        if (!x->live)
            continue;
        for (uint32_t r = x->first; r != HD_NONE && k <= x->n; k++) {
            const struct hd_req *q = hd_l2_request(sl, r);
            *ticks += q->queued - q->born;
            if (q->line != x->key)
                *wrong = "a request waits for another line";
            if (sl->tags.sector == NULL &&
                hd_assoc_find(&sl->tags.tags, q->spare, x->key) != HD_NONE)
                *wrong = "a line is present and in flight";
            r = q->next;
        }
        if (k != x->n || k == 0)
            *wrong = "an MSHR miscounts its requests";
        n += k;
    }
    return n;
}

void hd_l2_check(void *self, uint32_t i, struct heddle_error *err)
{
    const struct hd_l2 *l2 = self;
    const struct hd_l2_slice *sl = &l2->slice[i];
    const struct hd_l2_state *s = sl->s;
    const char *wrong = NULL;
    hd_time ticks = s->passed;
    uint64_t inside = l2_waiters(sl, &ticks, &wrong) + s->in.n + s->passing;

    for (uint32_t r = s->in.first, k = 0; k < s->in.n; k++) {
        ticks += hd_l2_request(sl, r)->queued - hd_l2_request(sl, r)->born;
        r = hd_l2_request(sl, r)->next;
    }
    if (!hd_l2_in_share(sl))
        wrong = "a line is in the ways of another application";
    if (hd_l2_sectored(l2) && hd_l2sector_check(sl) != NULL)
        wrong = hd_l2sector_check(sl);
    if (l2->half.slices != 0 && hd_l2half_check(sl) != NULL)
        wrong = hd_l2half_check(sl);
    if (!hd_mshr_sane(&sl->mshr))
        wrong = "the lists of MSHRs are broken";
    if (s->owed != inside)
        wrong = "a request was lost or answered twice";
    if (l2->check && s->travel + s->input + s->look + s->memory + s->output !=
                         s->total + ticks)
        wrong = "stage times do not sum to the time of the requests";
    if ((s->in.n > 0) != (s->cause != HD_L2_GO))
        wrong = "the input waits for nothing";
    if (wrong != NULL)
        hd_err_set(err, HEDDLE_ECHECK,
                   "l2cache slice %" PRIu32 ": %s (%" PRIu32
                   " to be answered or ended, %" PRIu64 " inside)",
                   i, wrong, s->owed, inside);
}
