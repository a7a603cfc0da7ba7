/*
 * mover.c - writes page-table entries and copies pages, by DRAM requests that
 * compete with everybody else's, off anybody's critical path.
 *
 * Jobs are done in order.  A copy reads the page line by line, at most
 * `window` lines in flight, and writes each line when it has come; a line that
 * is to be written goes before the next read.  Where a channel's queue is
 * full, the mover waits for room, as an L2 slice does.  A bulk copy (RowClone,
 * MICRO 2013) blocks the banks of both pages for a constant time and needs no
 * channel.  Copies with different banks proceed at once, those of one bank one
 * after the other: of the next BULK_AHEAD the first that can begin does.
 *
 * Requests go straight to DRAM: the driver's writes and the copies of a
 * controller do not go through the L2 cache.  Dirty lines of a page that moves
 * are written back first (manage.c takes them out of the caches); a copy inside
 * DRAM does not wait for them.
 *
 * Invariant: a job is there, a read is in flight, or a line waits to be
 * written, exactly while the mover is busy; idle() is called when that ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include "mover.h"

enum { EV_ROOM, EV_LINE, EV_BULK };
enum { WRITE, FLUSH, COPY, BULK };
enum { FIRST_ROOM = 256, BULK_AHEAD = 64 };

#define HD_PART    mover
#define HD_PART_OF "pages/mover.def"
#include "kit/rows.h"

struct job {
    uint64_t from, to; /* addresses */
    uint32_t lines;    /* to write or to read */
    uint8_t kind, app;
};

struct ring {
    uint32_t first, n, room;
    hd_ref jobs;
};

struct state {
    struct ring lines, bulk; /* jobs by requests; copies inside DRAM */
    uint32_t line;           /* of the first job: next */
    uint32_t flying;         /* reads in flight */
    uint32_t head;           /* request that goes next, or HD_NONE */
    uint32_t out, end; /* lines that wait to be written: list of requests */
    uint32_t waits;    /* 1: for room in a channel */
    uint32_t copying;  /* bulk copies under way */
    uint32_t busy;
    uint64_t steps; /* requests sent and copies begun, ever */
};

struct hd_mover {
    struct hd_env *env;
    struct hd_mover_wiring w;
    uint32_t id;
    struct state *s; /* arena */
    uint8_t *taken;  /* arena: [bank] a bulk copy is under way in it */
    struct hd_stat stat;
};

static struct job *mover_job_at(const struct hd_mover *mv, const struct ring *r,
                                uint32_t i)
{
    struct job *v = hd_arena_at(mv->env->arena, r->jobs);

    return &v[(r->first + i) % r->room];
}

/* ---- jobs --------------------------------------------------------------- */

static int mover_add(struct hd_mover *mv, struct ring *r, struct job j)
{
    hd_at_home(mv->env, HD_SIDE_MANAGER);
    if (r->n == r->room) {
        struct job *v = hd_arena_take(mv->env->arena, r->room * 2u, sizeof *v);
        if (v == NULL)
            return -1;
        for (uint32_t i = 0; i < r->n; i++)
            v[i] = *mover_job_at(mv, r, i);
        r->jobs = hd_arena_ref(mv->env->arena, v);
        r->first = 0;
        r->room *= 2;
    }
    *mover_job_at(mv, r, r->n++) = j;
    mv->s->busy = 1;
    return 0;
}

/* Takes the i-th job out. */
static struct job mover_drop(struct hd_mover *mv, struct ring *r, uint32_t i)
{
    struct job j = *mover_job_at(mv, r, i);

    for (; i > 0; i--)
        *mover_job_at(mv, r, i) = *mover_job_at(mv, r, i - 1);
    r->first = (r->first + 1) % r->room;
    r->n--;
    return j;
}

int hd_mover_write(struct hd_mover *mv, uint32_t app, hd_pa pa, uint32_t lines)
{
    uint64_t line = mv->w.line;

    return mover_add(
        mv, &mv->s->lines,
        (struct job){0, pa.v / line * line, lines, WRITE, (uint8_t)app});
}

int hd_mover_flush(struct hd_mover *mv, uint32_t app, hd_pa pa)
{
    return mover_add(mv, &mv->s->lines,
                     (struct job){0, pa.v, 1, FLUSH, (uint8_t)app});
}

int hd_mover_copy(struct hd_mover *mv, uint32_t app, hd_pfn from, hd_pfn to,
                  enum hd_mover_how how)
{
    struct job j = {from.v * HD_PAGE_BYTES, to.v * HD_PAGE_BYTES,
                    HD_PAGE_BYTES / mv->w.line,
                    how == HD_MOVE_BULK ? BULK : COPY, (uint8_t)app};

    return mover_add(mv, how == HD_MOVE_BULK ? &mv->s->bulk : &mv->s->lines, j);
}

/* ---- requests ----------------------------------------------------------- */

static struct hd_req *req(const struct hd_mover *mv, uint32_t r)
{
    return &mv->w.reqs->v[r];
}

/* Prepares a request; `what` is what it counts as. */
static uint32_t mover_prepare(struct hd_mover *mv, hd_time now, uint32_t app,
                              uint64_t pa, uint32_t kind,
                              enum hd_mover_stat what)
{
    uint32_t r = hd_req_take(mv->w.reqs);

    *req(mv, r) = (struct hd_req){.pa = {pa},
                                  .born = now,
                                  .next = HD_NONE,
                                  .client = mv->w.client,
                                  .warp = HD_NO_WARP,
                                  .kind = (uint8_t)kind,
                                  .app = (uint8_t)app,
                                  .bytes = (uint16_t)mv->w.line,
                                  .spare = what};
    return r;
}

/* The next line of the first job, as a request, or HD_NONE. */
static uint32_t mover_step(struct hd_mover *mv, hd_time now)
{
    struct state *s = mv->s;
    struct job j;
    uint64_t at = (uint64_t)s->line * mv->w.line;
    uint32_t r;

    if (s->lines.n == 0)
        return HD_NONE;
    j = *mover_job_at(mv, &s->lines, 0);
    if (j.kind == WRITE || j.kind == FLUSH) {
        r = mover_prepare(mv, now, j.app, j.to + at, HD_REQ_WRITE,
                          j.kind == WRITE ? HD_MOVER_TABLE_WRITES
                                          : HD_MOVER_FLUSH_WRITES);
    } else {
        if (s->flying >= mv->w.window)
            return HD_NONE;
        r = mover_prepare(mv, now, j.app, j.from + at, HD_REQ_READ,
                          HD_MOVER_COPY_READS);
        req(mv, r)->tag = (uint32_t)(j.to / HD_PAGE_BYTES);
        s->flying++;
    }
    if (++s->line == j.lines) {
        mover_drop(mv, &s->lines, 0);
        s->line = 0;
    }
    return r;
}

/* A line has come: its request writes it. */
static void turn_round(struct hd_mover *mv, hd_time now, uint32_t r)
{
    struct state *s = mv->s;
    struct hd_req q = *req(mv, r);
    uint64_t pa = (uint64_t)q.tag * HD_PAGE_BYTES + q.pa.v % HD_PAGE_BYTES;
    uint32_t w =
        mover_prepare(mv, now, q.app, pa, HD_REQ_WRITE, HD_MOVER_COPY_WRITES);

    hd_req_give(mv->w.reqs, r);
    if (s->out == HD_NONE)
        s->out = w;
    else
        req(mv, s->end)->next = w;
    s->end = w;
}

/* Sends the request at the head.  False: it waits for room. */
static bool mover_send(struct hd_mover *mv, hd_time now)
{
    struct state *s = mv->s;
    struct hd_dram *d = mv->w.dram;
    const struct hd_req *q = req(mv, s->head);
    uint32_t c = hd_dram_lane(d, q->app, q->pa);

    if (!hd_dram_takes(d, c, s->head)) {
        s->waits = 1;
        hd_dram_wait(d, c, s->head, mv->id, EV_ROOM, 0);
        return false;
    }
    s->flying -= q->spare == HD_MOVER_COPY_WRITES;
    (*hd_count(&mv->stat, 0, q->app, q->spare))++;
    s->steps++;
    hd_dram_send(d, now, s->head);
    s->head = HD_NONE;
    return true;
}

/* ---- copies inside DRAM -------------------------------------------------- */

/* Whether a page's banks are free of copies; marks them, or clears the marks.
 */
static bool banks_free(const struct hd_mover *mv, uint32_t app, uint64_t page)
{
    uint32_t piece = hd_dram_piece_bytes(mv->w.dram);

    for (uint32_t at = 0; at < HD_PAGE_BYTES; at += piece)
        if (mv->taken[hd_dram_bank(mv->w.dram, app, (hd_pa){page + at})])
            return false;
    return true;
}

static void mover_mark(struct hd_mover *mv, uint32_t app, uint64_t page,
                       uint8_t taken)
{
    uint32_t piece = hd_dram_piece_bytes(mv->w.dram);

    for (uint32_t at = 0; at < HD_PAGE_BYTES; at += piece)
        mv->taken[hd_dram_bank(mv->w.dram, app, (hd_pa){page + at})] = taken;
}

/* Begins with what copies can begin. */
static void copy_inside(struct hd_mover *mv, hd_time now)
{
    struct ring *r = &mv->s->bulk;
    hd_time until = now + mv->w.bulk;

    for (uint32_t i = 0; i < r->n && i < BULK_AHEAD;) {
        const struct job *x = mover_job_at(mv, r, i);
        struct job j;
        if (!banks_free(mv, x->app, x->from) ||
            !banks_free(mv, x->app, x->to)) {
            i++;
            continue;
        }
        j = mover_drop(mv, r, i);
        mover_mark(mv, j.app, j.from, 1);
        mover_mark(mv, j.app, j.to, 1);
        hd_dram_block(mv->w.dram, now, j.app, (hd_pa){j.from}, HD_PAGE_BYTES,
                      until);
        hd_dram_block(mv->w.dram, now, j.app, (hd_pa){j.to}, HD_PAGE_BYTES,
                      until);
        mv->s->copying++;
        mv->s->steps++;
        (*hd_count(&mv->stat, 0, j.app, HD_MOVER_BULK_COPIES))++;
        hd_post(mv->env->ev, mv->id, mv->id, until, EV_BULK,
                (uint32_t)(j.from / HD_PAGE_BYTES), j.to | j.app);
    }
}

/* Does what can be done now. */
static void mover_pump(struct hd_mover *mv, hd_time now)
{
    struct state *s = mv->s;

    hd_at_home(mv->env, HD_SIDE_MANAGER);
    copy_inside(mv, now);
    while (!s->waits) {
        if (s->head == HD_NONE && s->out != HD_NONE) {
            s->head = s->out;
            s->out = req(mv, s->head)->next;
        } else if (s->head == HD_NONE) {
            s->head = mover_step(mv, now);
        }
        if (s->head == HD_NONE || !mover_send(mv, now))
            break;
    }
    if (s->busy && s->head == HD_NONE && s->lines.n == 0 && s->flying == 0 &&
        s->bulk.n == 0 && s->copying == 0) {
        s->busy = 0;
        mv->w.idle(mv->w.self, now);
    }
}

/* ---- events ------------------------------------------------------------- */

static void mover_handle(void *self, hd_time now, uint32_t what, uint32_t a,
                         uint64_t b)
{
    struct hd_mover *mv = self;
    struct state *s = mv->s;

    if (what == EV_ROOM) {
        s->waits = 0;
    } else if (what == EV_BULK) {
        uint32_t app = b % HD_PAGE_BYTES; /* below the page's address */
        mover_mark(mv, app, (uint64_t)a * HD_PAGE_BYTES, 0);
        mover_mark(mv, app, b - app, 0);
        s->copying--;
    } else {
        turn_round(mv, now, a);
    }
    mover_pump(mv, now);
}

/* Lines of one instant proceed in the order of their addresses, whatever
 * channels answered when, and whichever numbers their requests have. */
static void mover_reply(void *self, hd_time at, uint32_t r)
{
    struct hd_mover *mv = self;

    hd_post_numbered(mv->env->ev, mv->id, mv->id,
                     (uint32_t)(req(mv, r)->pa.v / mv->w.line), at, EV_LINE, r,
                     0);
}

struct hd_client hd_mover_client(struct hd_mover *mv)
{
    return (struct hd_client){mover_reply, mv};
}

void hd_mover_forget(struct hd_mover *mv, hd_time now)
{
    mv->s->lines.n = mv->s->bulk.n = 0;
    mv->s->line = 0;
    mover_pump(mv, now);
}

void hd_mover_start(struct hd_mover *mv, hd_time now)
{
    mover_pump(mv, now);
}

uint64_t hd_mover_steps(const struct hd_mover *mv)
{
    return mv->s->steps;
}

bool hd_mover_busy(const struct hd_mover *mv)
{
    return mv->s->busy != 0;
}

/* ---- building ----------------------------------------------------------- */

static void mover_look(void *self, uint32_t i, struct heddle_visitor *v)
{
    static const char *const kind[] = {"table", "flush", "copy", "bulk"};
    struct hd_mover *mv = self;
    const struct ring *r[] = {&mv->s->lines, &mv->s->bulk};

    (void)i;
    for (uint32_t k = 0; k < r[0]->n + r[1]->n; k++) {
        bool lines = k < r[0]->n;
        const struct job *j = lines ? mover_job_at(mv, r[0], k)
                                    : mover_job_at(mv, r[1], k - r[0]->n);
        v->row(v->ud, kind[j->kind]);
        v->number(v->ud, "app", j->app);
        v->number(v->ud, "from", j->from);
        v->number(v->ud, "to", j->to);
        v->number(v->ud, "lines",
                  j->lines - (k == 0 && lines ? mv->s->line : 0));
    }
}

static int mover_take_state(struct hd_mover *mv)
{
    struct hd_arena *a = mv->env->arena;
    struct ring *r[2];

    mv->s = hd_arena_take(a, 1, sizeof *mv->s);
    mv->taken = hd_arena_take(a, hd_dram_banks(mv->w.dram), 1);
    if (mv->s == NULL || mv->taken == NULL)
        return -1;
    r[0] = &mv->s->lines;
    r[1] = &mv->s->bulk;
    for (uint32_t i = 0; i < 2; i++) {
        void *v = hd_arena_take(a, FIRST_ROOM, sizeof(struct job));
        if (v == NULL)
            return -1;
        r[i]->jobs = hd_arena_ref(a, v);
        r[i]->room = FIRST_ROOM;
    }
    mv->s->head = mv->s->out = HD_NONE;
    return 0;
}

struct hd_mover *hd_mover_open(struct hd_env *env,
                               const struct hd_mover_wiring *w)
{
    struct hd_mover *mv = hd_env_take(env, 1, sizeof *mv);

    if (mv == NULL)
        return NULL;
    mv->env = env;
    mv->w = *w;
    if (mover_take_state(mv) < 0)
        return NULL;
    mv->stat = hd_stats_group(env->stats, &hd_rows_mover, 1);
    mv->id = hd_events_component(env->ev, "mover", mover_handle, mv);
    hd_env_part(env, (struct hd_part){.name = "mover",
                                      .instances = 1,
                                      .self = mv,
                                      .look = mover_look});
    return mv;
}
