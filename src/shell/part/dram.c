/*
 * dram.c - a DRAM system driven alone: heddle_part_dram.
 *
 * Requests of one burst each come from a file or a script.  Every channel has
 * a FIFO of them; at each command cycle the head is sent if its cycle has
 * come, it is a write or fewer than `window` reads are in flight, and the
 * controller has room.  A read is in flight up to the cycle of its last datum,
 * and in that cycle another may take its place; a slot that a command frees in
 * a cycle can be taken in the same one.
 *
 * The engine is the GPU's own (memory/dram.c), with a clock of one tick a
 * cycle; `clock` only says what dram.kind has in cycles.  The driver posts an
 * event only for a cycle in which its head could be sent.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool_part.h"
#include "machine.h"
#include "memory/dram.h"
#include "memory/dramchan.h"
#include "number.h"

enum { EV_PUMP, EV_ROOM };
enum { MAX_WINDOW = 65536 };

struct request {
    uint64_t address, cycle, accepted;
    uint32_t latency;
    uint32_t write;
};

/* The FIFO of a channel: order[first..last) of the part. */
struct fifo {
    uint32_t first, last;
    uint32_t sent;     /* reads sent */
    uint32_t answered; /* reads whose end is known */
    uint32_t returned; /* reads whose end has passed */
    uint32_t blocked;  /* 1: waits for room in the queue */
    uint64_t free_at;  /* one request a cycle */
    uint64_t pump_at;  /* earliest event posted, or HD_NEVER */
};

struct heddle_part_dram {
    struct hd_machine machine; /* only dram and clock.dram are used */
    struct hd_dram_cfg cfg;    /* while running: with what dram.kind gives */
    struct heddle_error err;
    uint32_t window, check;
    struct request *v;
    size_t n, room;
    /* while running */
    struct hd_arena arena;
    struct hd_events ev;
    struct hd_stats stats;
    struct hd_clocks clk;
    struct hd_env env;
    struct hd_reqs reqs;
    struct hd_client client;
    struct hd_dram *dram;
    uint32_t id;
    struct fifo *fifo;
    uint64_t *end; /* [channel][read mod window]: ends of reads in flight,
                      in order, since data return in order */
    uint32_t *order;
    uint64_t last_read, last_write; /* ends of data */
};

/* ---- settings ------------------------------------------------------------ */

heddle_part_dram *heddle_part_dram_new(void)
{
    heddle_part_dram *d = calloc(1, sizeof *d);

    if (d == NULL)
        return NULL;
    hd_machine_defaults(&d->machine);
    d->machine.dram.channels = 1;
    d->machine.dram.interleave = 0;
    d->window = 32;
    return d;
}

void heddle_part_dram_free(heddle_part_dram *d)
{
    if (d == NULL)
        return;
    free(d->v);
    free(d);
}

const char *heddle_part_dram_error(const heddle_part_dram *d)
{
    return d->err.text;
}

/* tolower() asks the locale: in a Turkish one I is no capital i. */
static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether two names are alike but for capitals and underlines. */
static bool part_dram_alike(const char *a, const char *b)
{
    for (;;) {
        a += strspn(a, "_");
        b += strspn(b, "_");
        if (small(*a) != small(*b))
            return false;
        if (*a == '\0')
            return true;
        a++;
        b++;
    }
}

/* "tRRD" becomes "dram.trrd", "tCCDL" "dram.tccd_l", "clock" "clock.dram". */
static void full_name(const char *name, char *out, size_t room)
{
    for (uint32_t i = 0; i < hd_rows_dram.n; i++)
        if (part_dram_alike(name, hd_rows_dram.settings[i].name))
            name = hd_rows_dram.settings[i].name;
    snprintf(out, room, "dram.%s", name);
    if (part_dram_alike(name, "clock"))
        snprintf(out, room, "clock.dram");
}

static int set_own(heddle_part_dram *d, const char *name, const char *value,
                   uint32_t *field, unsigned long long least,
                   unsigned long long most)
{
    uint64_t v;

    if (hd_read_number(value, least, most, &v) != 0)
        return hd_err_set(&d->err, HEDDLE_ECONFIG,
                          "%s: a number from %llu to %llu is expected, not "
                          "'%s'",
                          name, least, most, value);
    *field = (uint32_t)v;
    return 0;
}

int heddle_part_dram_set(heddle_part_dram *d, const char *name,
                         const char *value)
{
    char full[128];

    hd_err_clear(&d->err);
    if (strcmp(name, "window") == 0)
        return set_own(d, name, value, &d->window, 1, MAX_WINDOW);
    if (strcmp(name, "check") == 0)
        return set_own(d, name, value, &d->check, 0, 1);
    full_name(name, full, sizeof full);
    return hd_machine_set(&d->machine, full, value, &d->err);
}

int heddle_part_dram_get(heddle_part_dram *d, const char *name, char *out,
                         size_t room)
{
    char full[128];

    hd_err_clear(&d->err);
    if (strcmp(name, "window") == 0 || strcmp(name, "check") == 0) {
        snprintf(out, room, "%u", name[0] == 'w' ? d->window : d->check);
        return 0;
    }
    full_name(name, full, sizeof full);
    return hd_machine_get(&d->machine, full, out, room, &d->err);
}

/* ---- requests ------------------------------------------------------------ */

#define LAST_CYCLE (1ull << 48)

int heddle_part_dram_add(heddle_part_dram *d, uint64_t address, int write,
                         uint64_t cycle)
{
    if (cycle > LAST_CYCLE)
        return hd_err_set(&d->err, HEDDLE_EINVAL, "cycle %llu is beyond 2^48",
                          (unsigned long long)cycle);
    if (d->n == d->room) {
        size_t room = d->room != 0 ? d->room * 2 : 4096;
        struct request *v =
            room < UINT32_MAX / 2 ? realloc(d->v, room * sizeof *v) : NULL;
        if (v == NULL)
            return hd_err_memory(&d->err);
        d->v = v;
        d->room = room;
    }
    d->v[d->n++] = (struct request){
        .address = address, .cycle = cycle, .write = write != 0};
    return 0;
}

/* ---- the driver ---------------------------------------------------------- */

static void pump_by(heddle_part_dram *d, uint32_t c, uint64_t at)
{
    struct fifo *f = &d->fifo[c];

    if (f->pump_at <= at)
        return;
    f->pump_at = at;
    hd_post(&d->ev, d->id, d->id, at, EV_PUMP, c, 0);
}

static void part_dram_send(heddle_part_dram *d, struct fifo *f, uint64_t now)
{
    uint32_t index = d->order[f->first++], req = hd_req_take(&d->reqs);
    struct request *r = &d->v[index];
    struct hd_req *q = &d->reqs.v[req];

    q->pa.v = r->address;
    q->tag = index;
    q->kind = r->write ? HD_REQ_WRITE : HD_REQ_READ;
    q->bytes = (uint16_t)hd_dram_burst(&d->cfg);
    f->sent += !r->write;
    f->free_at = now + 1;
    r->accepted = now;
    hd_dram_send(d->dram, now, req);
}

/*
 * Whether another read may be in flight now.  If not, the channel is pumped
 * when the oldest one returns, or that is not known yet: then by
 * part_dram_reply().
 */
static bool window_open(heddle_part_dram *d, uint32_t c, uint64_t now)
{
    struct fifo *f = &d->fifo[c];
    const uint64_t *end = &d->end[(size_t)c * d->window];

    while (f->returned != f->answered && end[f->returned % d->window] <= now)
        f->returned++;
    if (f->sent - f->returned < d->window)
        return true;
    if (f->returned != f->answered)
        pump_by(d, c, end[f->returned % d->window]);
    return false;
}

/* Sends the head of a channel's FIFO if it may go in this cycle. */
static void part_dram_pump(heddle_part_dram *d, uint32_t c, uint64_t now)
{
    struct fifo *f = &d->fifo[c];
    const struct request *r;

    if (f->first == f->last || f->blocked)
        return;
    r = &d->v[d->order[f->first]];
    if (hd_max_u64(r->cycle, f->free_at) > now) {
        pump_by(d, c, hd_max_u64(r->cycle, f->free_at));
        return;
    }
    if (!r->write && !window_open(d, c, now))
        return;
    if (!hd_dram_takes(d->dram, c, HD_NONE)) {
        f->blocked = 1;
        hd_dram_wait(d->dram, c, HD_NONE, d->id, EV_ROOM, c);
        return;
    }
    part_dram_send(d, f, now);
    if (f->first != f->last)
        pump_by(d, c, hd_max_u64(now + 1, d->v[d->order[f->first]].cycle));
}

static void part_dram_handle(void *self, hd_time now, uint32_t what, uint32_t a,
                             uint64_t b)
{
    heddle_part_dram *d = self;
    struct fifo *f = &d->fifo[a];

    (void)b;
    if (what == EV_ROOM)
        f->blocked = 0;
    else if (now == f->pump_at)
        f->pump_at = HD_NEVER;
    part_dram_pump(d, a, now);
}

static void part_dram_reply(void *self, hd_time at, uint32_t req)
{
    heddle_part_dram *d = self;
    const struct hd_req *q = &d->reqs.v[req];
    struct request *r = &d->v[q->tag];
    uint32_t c = hd_dram_channel(d->dram, q->pa);
    struct fifo *f = &d->fifo[c];

    r->latency = (uint32_t)(at - r->accepted);
    d->last_read = hd_max_u64(d->last_read, at);
    d->end[(size_t)c * d->window + f->answered++ % d->window] = at;
    if (f->first != f->last && f->sent - f->returned >= d->window)
        pump_by(d, c, at);
    hd_req_give(&d->reqs, req);
}

static void watch(void *self, const struct hd_dramcmd *cmd)
{
    heddle_part_dram *d = self;

    if (cmd->kind == HD_DRAM_WR)
        d->last_write = cmd->data + d->cfg.bl;
}

/* ---- running ------------------------------------------------------------- */

/* Sorts the requests into one FIFO a channel, stably. */
static int make_fifos(heddle_part_dram *d)
{
    const struct hd_dram_cfg *cfg = &d->cfg;
    struct hd_drammap map;
    uint32_t at = 0;

    if (hd_drammap_init(&map, cfg, &d->err) != 0)
        return d->err.code;
    d->fifo = calloc(cfg->channels, sizeof *d->fifo);
    d->order = malloc((d->n + 1) * sizeof *d->order);
    d->end = malloc((size_t)cfg->channels * d->window * sizeof *d->end);
    if (d->fifo == NULL || d->order == NULL || d->end == NULL)
        return hd_err_memory(&d->err);
    for (size_t i = 0; i < d->n; i++)
        d->fifo[hd_drammap_locate(&map, d->v[i].address).channel].last++;
    for (uint32_t c = 0; c < cfg->channels; c++) {
        uint32_t n = d->fifo[c].last;
        d->fifo[c].first = d->fifo[c].last = at;
        d->fifo[c].pump_at = HD_NEVER;
        at += n;
    }
    for (size_t i = 0; i < d->n; i++) {
        uint32_t c = hd_drammap_locate(&map, d->v[i].address).channel;
        d->order[d->fifo[c].last++] = (uint32_t)i;
    }
    return 0;
}

static bool any_read(const heddle_part_dram *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (!d->v[i].write)
            return true;
    return false;
}

static int part_dram_build(heddle_part_dram *d)
{
    const struct hd_dram_cfg *cfg = &d->cfg;
    uint32_t pool;

    d->cfg = d->machine.dram;
    if (hd_dram_kind_give(&d->cfg, d->machine.clock.dram, &d->err) != 0 ||
        hd_dram_cfg_check(cfg, hd_dram_burst(cfg), &d->err) != 0 ||
        make_fifos(d) != 0)
        return d->err.code;
    for (int i = 0; i < HD_CLK_COUNT; i++)
        d->clk.hz[i] = 1000000000u;
    hd_clocks_init(&d->clk, &d->err);
    hd_stats_open(&d->stats, &d->arena, 1);
    pool = cfg->mode.kind == HD_FULL ? cfg->channels * (cfg->queue + d->window)
                                     : (uint32_t)d->n;
    pool += cfg->channels * (2 * (cfg->cl + cfg->wl + cfg->bl) + 64);
    if (hd_events_open(&d->ev, &d->arena, 1) != 0 ||
        hd_reqs_open(&d->reqs, &d->arena, pool) != 0)
        return hd_err_memory(&d->err);
    d->env = (struct hd_env){.arena = &d->arena,
                             .ev = &d->ev,
                             .stats = &d->stats,
                             .clk = &d->clk,
                             .err = &d->err,
                             .apps = 1,
                             .check = d->check != 0};
    d->client = (struct hd_client){part_dram_reply, d};
    d->dram = hd_dram_open(&d->env, cfg, &d->reqs, &d->client);
    if (d->dram == NULL)
        return hd_err_memory(&d->err);
    if (!any_read(d)) /* only then the writes' end is of interest */
        hd_dram_watch(d->dram, watch, d);
    d->id = hd_events_component(&d->ev, "driver", part_dram_handle, d);
    return 0;
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static int read_latencies(heddle_part_dram *d,
                          struct heddle_part_dram_result *out)
{
    uint32_t *v = malloc((d->n + 1) * sizeof *v);
    uint64_t n = 0, sum = 0;

    if (v == NULL)
        return hd_err_memory(&d->err);
    for (size_t i = 0; i < d->n; i++) {
        if (d->v[i].write)
            continue;
        v[n++] = d->v[i].latency;
        sum += d->v[i].latency;
    }
    out->reads = n;
    out->writes = d->n - n;
    if (n != 0) {
        qsort(v, n, sizeof *v, by_size);
        out->read_latency_mean = (double)sum / (double)n;
        out->read_latency_p99 = v[(n * 99 + 99) / 100 - 1];
    }
    free(v);
    return 0;
}

static uint64_t total(const heddle_part_dram *d, uint32_t counter)
{
    const struct hd_stat *s = &d->stats.group[0].stat;
    uint64_t sum = 0;

    for (uint32_t c = 0; c < s->instances; c++)
        for (uint32_t a = 0; a < s->apps; a++)
            sum += *hd_count(s, c, a, counter);
    return sum;
}

static int results(heddle_part_dram *d, struct heddle_part_dram_result *out)
{
    memset(out, 0, sizeof *out);
    out->requests = d->n;
    if (read_latencies(d, out) != 0)
        return d->err.code;
    out->cycles = out->reads != 0 ? d->last_read : d->last_write;
    if (out->cycles != 0)
        out->bandwidth =
            (double)d->n * d->cfg.bl / ((double)out->cycles * d->cfg.channels);
    out->row_hits = total(d, ST_ROW_HITS);
    out->activates = total(d, ST_ACTIVATES);
    out->precharges = total(d, ST_PRECHARGES);
    out->refreshes = total(d, ST_REFRESHES);
    return 0;
}

static void tear_down(heddle_part_dram *d)
{
    hd_env_free(&d->env);
    hd_arena_close(&d->arena);
    free(d->fifo);
    free(d->order);
    free(d->end);
    d->dram = NULL;
    d->fifo = NULL;
    d->order = NULL;
    d->end = NULL;
}

int heddle_part_dram_run(heddle_part_dram *d,
                         struct heddle_part_dram_result *out)
{
    int stop = 0;

    hd_err_clear(&d->err);
    d->last_read = d->last_write = 0;
    memset(&d->ev, 0, sizeof d->ev);
    if (hd_arena_open(&d->arena, (size_t)1 << 32) != 0)
        return hd_err_memory(&d->err);
    if (part_dram_build(d) == 0) {
        for (uint32_t c = 0; c < d->cfg.channels; c++)
            if (d->fifo[c].first != d->fifo[c].last)
                pump_by(d, c, d->v[d->order[d->fifo[c].first]].cycle);
        hd_events_run(&d->ev, HD_NEVER, &stop);
        if (d->err.code == 0)
            results(d, out);
    }
    tear_down(d);
    return d->err.code;
}

int heddle_part_dram_request(const heddle_part_dram *d, uint64_t i,
                             struct heddle_part_dram_request *out)
{
    const struct request *r;

    if (i >= d->n)
        return HEDDLE_EINVAL;
    r = &d->v[i];
    out->address = r->address;
    out->cycle = r->cycle;
    out->accepted = r->accepted;
    out->latency = r->latency;
    out->write = (int)r->write;
    return 0;
}
