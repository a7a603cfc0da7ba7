/*
 * 151-dram-twin - pins the whole command stream: a naive controller that looks
 * at every cycle, every request and the history of commands issues exactly
 * the commands of the engine, for all schedulers, page policies, refresh,
 * classes, maps and odd geometries, however the engine's decisions are cut
 * into events, and also when a policy answers dram_pick as the default does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rng.h"
#include "dramrig.h"

/* ---- the naive controller of one channel ---------------------------------- */

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
    struct hd_dramcmd *log;
    uint32_t logged, room;
};

static void note(struct naive *t, uint64_t cycle, uint32_t kind, uint32_t bank)
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
            d = most(d, c->wl + c->bl + c->twtr);
        return d;
    }
    if (p->kind == HD_DRAM_ACT && kind == HD_DRAM_ACT)
        return same ? most(c->trc, c->trrd) : c->trrd;
    if (!same)
        return 0;
    if (p->kind == HD_DRAM_ACT)
        return kind == HD_DRAM_RD   ? c->trcdrd
               : kind == HD_DRAM_WR ? c->trcdwr
               : kind == HD_DRAM_PRE ? c->tras
                                     : 0;
    if (p->kind == HD_DRAM_PRE)
        return kind == HD_DRAM_ACT ? c->trp : 0;
    if (kind == HD_DRAM_PRE)
        return p->kind == HD_DRAM_RD ? c->trtp : c->wl + c->bl + c->twr;
    return 0;
}

enum { LONG = 600 }; /* longer than any distance */

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
            kind == HD_DRAM_ACT)
            at = most(at, p->cycle + t->c->tfaw);
    }
    return at;
}

static int legal(const struct naive *t, uint32_t kind, uint32_t bank,
                 uint64_t now)
{
    return from(t, kind, bank, now) <= now;
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

static void log_command(struct naive *t, struct hd_dramcmd cmd)
{
    if (t->logged == t->room) {
        t->room = t->room ? 2 * t->room : 256;
        t->log = realloc(t->log, t->room * sizeof *t->log);
    }
    t->log[t->logged++] = cmd;
}

static void issue_column(struct naive *t, uint32_t i, uint64_t now,
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

/* One cycle of the channel: at most one command. */
static void cycle(struct naive *t, uint64_t now)
{
    struct hd_dramcmd cmd = {.cycle = now};
    uint32_t best = HD_NONE, any = 0;
    int best_rank = 0, rank = 0;

    if (t->c->refresh && now >= (t->refreshes + 1) * t->c->trefi) {
        for (uint32_t b = 0; b < t->c->banks; b++)
            any += t->open[b] != 0;
        for (uint32_t b = 0; b < t->c->banks; b++)
            if (any != 0 ? t->open[b] && !legal(t, HD_DRAM_PRE, b, now)
                         : 0)
                return;
        if (any != 0) {
            cmd.kind = HD_DRAM_PREA;
            for (uint32_t b = 0; b < t->c->banks; b++)
                if (t->open[b])
                    note(t, now, HD_DRAM_PRE, b);
            memset(t->open, 0, sizeof t->open);
        } else {
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
            cmd.kind = HD_DRAM_REF;
            note(t, now, HD_DRAM_REF, 0);
            t->refreshes++;
        }
        log_command(t, cmd);
        return;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        const struct wish *w = &t->w[i];
        int kind;
        if (!present(t, i, now))
            continue;
        kind = wanted(t, i, now, &rank);
        if (kind < 0 || !legal(t, (uint32_t)kind, w->at.bank, now))
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
        return;
    cmd.bank = t->w[best].at.bank;
    cmd.row = t->w[best].at.row;
    note(t, now, cmd.kind, cmd.bank);
    if (cmd.kind == HD_DRAM_ACT) {
        t->open[cmd.bank] = 1;
        t->row[cmd.bank] = cmd.row;
        t->served[cmd.bank] = 0;
    } else if (cmd.kind == HD_DRAM_PRE) {
        t->open[cmd.bank] = 0;
    } else {
        issue_column(t, best, now, &cmd);
        if (cmd.close) {
            note(t, from(t, HD_DRAM_PRE, cmd.bank, now), HD_DRAM_PRE, cmd.bank);
            t->open[cmd.bank] = 0;
        }
    }
    log_command(t, cmd);
}

/* ---- comparing -------------------------------------------------------------- */

static const char *const kinds[] = {"ACT", "PRE", "RD", "WR", "PREA", "REF"};

static void compare(struct rig *g, const struct hd_dram_cfg *c,
                    const uint8_t *klass, uint32_t channel)
{
    struct naive t = {.c = c};
    uint32_t left = 0, next = 0;
    uint64_t now = 0;
    uint64_t age = 0;

    t.w = calloc(g->items, sizeof *t.w);
    /* ages in the order of acceptance; the driver's events keep it */
    for (uint32_t i = 0; i < g->items; i++) {
        const struct item *it = &g->item[i];
        struct wish *w = &t.w[t.n];
        w->at = hd_drammap_locate(&g->dram->map, it->address);
        if (w->at.channel != channel)
            continue;
        w->item = it;
        w->age = age++;
        w->klass = klass[i];
        w->left = (it->bytes + hd_dram_burst(c) - 1) / hd_dram_burst(c);
        w->column = w->at.column;
        w->write = it->kind == HD_REQ_WRITE;
        t.n++;
    }
    for (left = t.n; left > 0;) {
        uint32_t before = t.logged;
        cycle(&t, ++now);
        if (t.logged == before)
            continue;
        const struct hd_dramcmd *a = &t.log[before], *b;
        while (next < g->logged && g->log[next].channel != channel)
            next++;
        if (next == g->logged)
            fail_msg("the engine stops before cycle %llu",
                     (unsigned long long)now);
        b = &g->log[next++];
        if (a->cycle != b->cycle || a->kind != b->kind || a->bank != b->bank ||
            (a->kind <= HD_DRAM_WR && a->kind != HD_DRAM_PRE &&
             a->row != b->row) ||
            (column_kind(a->kind) &&
             (a->close != b->close || a->column != b->column)))
            fail_msg("command %u: twin %s bank %u row %llu close %u cycle "
                     "%llu, engine %s bank %u row %llu close %u cycle %llu",
                     before, kinds[a->kind], a->bank,
                     (unsigned long long)a->row, a->close,
                     (unsigned long long)a->cycle, kinds[b->kind], b->bank,
                     (unsigned long long)b->row, b->close,
                     (unsigned long long)b->cycle);
        left = 0;
        for (uint32_t i = 0; i < t.n; i++)
            left += !t.w[i].done;
    }
    free(t.w);
    free(t.h);
    free(t.log);
}

/* A load of requests: bursts of a few rows, pauses, some random. */
static void make_load(struct item *v, uint32_t n, uint64_t seed, uint32_t gap,
                      const struct hd_dram_cfg *c)
{
    struct hd_rng r = hd_rng_make(seed, 7);
    uint64_t at = 0, stream = 0;
    uint32_t piece = hd_dram_piece(c), burst = hd_dram_burst(c);

    memset(v, 0, n * sizeof *v);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = hd_rng_below(&r, 8);
        if (hd_rng_below(&r, 32) == 0)
            stream = (uint64_t)hd_rng_below(&r, 64) * c->row_bytes;
        if (k < 5)
            v[i].address = stream += piece;
        else
            v[i].address = (uint64_t)hd_rng_below(&r, 1 << 16) * piece;
        v[i].kind = hd_rng_below(&r, 3) == 0   ? HD_REQ_WRITE
                    : hd_rng_below(&r, 4) == 0 ? HD_REQ_WALK
                                               : HD_REQ_READ;
        v[i].level = v[i].kind == HD_REQ_WALK ? 1 + hd_rng_below(&r, 4) : 0;
        v[i].app = hd_rng_below(&r, 2);
        v[i].bytes = burst * (1 + hd_rng_below(&r, piece / burst));
        if (hd_rng_below(&r, 200) == 0)
            at += 2000;
        v[i].cycle = at += hd_rng_below(&r, gap);
    }
}

static int64_t some_class(void *self, const void *question)
{
    const struct heddle_q_dram_class *q = question;

    (void)self;
    return q->kind == HD_REQ_WALK ? 2 : q->app == 1 ? 1 : 0;
}

enum how { PLAIN, CLASSES_BOUND = 1, PICK_BOUND = 2, SYNCED = 4 };

static void poke(struct rig *g, uint64_t until)
{
    int stop = 0;

    for (uint64_t t = 0; t < until; t += 37) {
        hd_events_run(&g->ev, t, &stop);
        hd_env_sync(&g->env);
    }
}

static void trial(const struct hd_dram_cfg *c, uint32_t n, uint64_t seed,
                  uint32_t gap, enum how how)
{
    struct item *v = calloc(n, sizeof *v);
    uint8_t *klass = calloc(n, 1);
    struct rig g;

    make_load(v, n, seed, gap, c);
    rig_open(&g, c, 1);
    assert_int_equal(g.err.code, 0);
    hd_dram_watch(g.dram, rig_watch, &g);
    g.dram->check = hd_dramcheck_open(c, &g.arena);
    if (how & CLASSES_BOUND) {
        g.dram->klass = (struct hd_slot){some_class, NULL, 1};
        for (uint32_t i = 0; i < n; i++)
            klass[i] = v[i].kind == HD_REQ_WALK ? 2 : v[i].app == 1;
    }
    if (how & PICK_BOUND)
        g.dram->pick.bound = 1;
    if (how & SYNCED) {
        g.item = v;
        g.items = n;
        for (uint32_t i = 0; i < n; i++)
            hd_post(&g.ev, g.id, g.id, v[i].cycle, 0, i, 0);
        poke(&g, v[n - 1].cycle + 5000);
    } else {
        rig_run(&g, v, n);
    }
    assert_string_equal(g.err.text, "");
    assert_int_equal(g.reqs.free[2], 0);
    for (uint32_t ch = 0; ch < c->channels; ch++)
        compare(&g, c, klass, ch);
    rig_close(&g);
    free(v);
    free(klass);
}

/* ---- the tests -------------------------------------------------------------- */

static struct hd_dram_cfg base(void)
{
    struct hd_dram_cfg c = default_cfg();

    c.channels = 1;
    c.queue = 1024;
    c.queue_golden = c.queue_silver = 1024;
    return c;
}

static void schedulers_and_pages(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t page = 0; page < 2; page++)
            for (uint32_t refresh = 0; refresh < 2; refresh++) {
                struct hd_dram_cfg c = base();
                c.scheduler = s;
                c.page = page;
                c.refresh = refresh;
                c.trefi = 900;
                trial(&c, 400, s + 3 * page, 12, PLAIN);
                trial(&c, 250, 50 + s + 3 * page, 4, PLAIN);
                trial(&c, 250, 90 + s + 3 * page, 4, PICK_BOUND);
            }
}

static void classes(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t golden = 0; golden < 2; golden++)
            for (uint32_t page = 0; page < 2; page++) {
                struct hd_dram_cfg c = base();
                c.scheduler = s;
                c.golden = golden;
                c.page = page;
                trial(&c, 300, 7 + s, 8, CLASSES_BOUND);
                trial(&c, 300, 17 + s, 8, CLASSES_BOUND | PICK_BOUND);
            }
}

static void geometries(void **state)
{
    static const char *const map[] = {"A", "B", "row:column:bank:group:channel",
                                      "row:group:channel:bank:column"};
    static const uint32_t channels[] = {1, 3, 5, 2};

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        struct hd_dram_cfg c = base();
        strcpy(c.map, map[i]);
        c.channels = channels[i];
        c.banks = i % 2 ? 16 : 8;
        c.interleave = i % 2 ? 0 : 256;
        c.bus_bytes = i < 2 ? 32 : 64;
        trial(&c, 500, i, 4, PLAIN);
        c.banks = c.groups = 6;
        trial(&c, 300, i, 4, PLAIN);
    }
}

static void odd_timing(void **state)
{
    struct hd_rng r = hd_rng_make(99, 0);

    (void)state;
    for (uint32_t i = 0; i < 12; i++) {
        struct hd_dram_cfg c = base();
        c.cl = 1 + hd_rng_below(&r, 20);
        c.wl = 1 + hd_rng_below(&r, 20);
        c.bl = 1 + hd_rng_below(&r, 5);
        c.tccd_s = 1 + hd_rng_below(&r, 5);
        c.tccd_l = 1 + hd_rng_below(&r, 8);
        c.trrd = 1 + hd_rng_below(&r, 9);
        c.tfaw = hd_rng_below(&r, 60);
        c.trcdrd = 1 + hd_rng_below(&r, 20);
        c.trcdwr = 1 + hd_rng_below(&r, 20);
        c.tras = 1 + hd_rng_below(&r, 40);
        c.trp = 1 + hd_rng_below(&r, 20);
        c.trc = 1 + hd_rng_below(&r, 60);
        c.trtp = 1 + hd_rng_below(&r, 20);
        c.twr = hd_rng_below(&r, 20);
        c.twtr = hd_rng_below(&r, 9);
        c.trtw = hd_rng_below(&r, 20);
        c.scheduler = i % 3;
        c.page = i % 2;
        c.refresh = i % 4 == 0;
        c.trefi = 700;
        trial(&c, 300, i, 6, PLAIN);
    }
}

static void cuts_change_nothing(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 3; s++) {
        struct hd_dram_cfg c = base();
        c.scheduler = s;
        c.refresh = 1;
        trial(&c, 300, 3 + s, 8, SYNCED);
        trial(&c, 300, 3 + s, 8, SYNCED | PICK_BOUND | CLASSES_BOUND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedulers_and_pages),
        cmocka_unit_test(classes),
        cmocka_unit_test(geometries),
        cmocka_unit_test(odd_timing),
        cmocka_unit_test(cuts_change_nothing),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
