/*
 * Pinned: the L2 over the real DRAM.  Clients that each keep some requests in
 * flight get every answer, whatever is small, full or hashed; what the L2 sent
 * is what DRAM served; all state is in the arena, so a copy put back in the
 * middle continues to the same end; the inside can be shown at any time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <stdlib.h>

#include "kit/rng.h"
#include "machine.h"
#include "memory/dram.h"

enum { CLIENTS = 12, MEMORY = CLIENTS };

/* What the clients have left to do; in the arena, like all state. */
struct load {
    struct hd_rng rng;
    uint64_t left, answered, written, hash;
};

struct whole {
    struct hd_arena arena;
    struct hd_events ev;
    struct hd_stats stats;
    struct hd_clocks clk;
    struct heddle_error err;
    struct hd_env env;
    struct hd_machine m;
    struct hd_reqs reqs;
    struct hd_client client[CLIENTS + 1];
    struct hd_below below;
    struct hd_dram *dram;
    struct hd_l2 *l2;
    uint32_t driver, lines;
    struct load *load; /* arena */
};

static void answered(void *self, hd_time at, uint32_t r)
{
    struct whole *w = self;
    const struct hd_req *q = &w->reqs.v[r];
    struct hd_clocks *k = &w->clk;

    /* never faster than the latency there and the look-up */
    assert_true(at >=
                q->born + hd_ticks(k, HD_CLK_L2,
                                   w->m.xbar.latency + w->m.l2cache.latency));
    w->load->answered++;
    w->load->hash = hd_mix64(w->load->hash ^ at ^ (uint64_t)q->tag << 50);
    hd_post(&w->ev, w->driver, w->driver, at, 0, q->client, 0);
    hd_req_give(&w->reqs, r);
}

static void drive(void *self, hd_time now, uint32_t what, uint32_t client,
                  uint64_t b)
{
    struct whole *w = self;
    struct load *l = w->load;
    uint64_t x;
    uint32_t r, kind;

    (void)what, (void)b;
    while (l->left > 0) {
        l->left--;
        x = hd_rng_next(&l->rng);
        kind = (uint32_t)(x >> 60) % HD_REQ_KINDS;
        r = hd_req_take(&w->reqs);
        w->reqs.v[r] = (struct hd_req){
            .pa = {x % w->lines * 128 +
                   (kind == HD_REQ_WALK ? x >> 32 & 120 : 0)},
            .born = now,
            .client = (uint16_t)client,
            .warp = HD_NO_WARP,
            .kind = (uint8_t)kind,
            .app = (uint8_t)(client % 2),
            .level = kind == HD_REQ_WALK ? (uint8_t)(1 + (x >> 40) % 4) : 0,
            .tag = (uint32_t)l->left,
            .bytes = kind == HD_REQ_WALK ? 8 : 128};
        w->below.send(w->below.self, now, r);
        if (kind != HD_REQ_WRITE)
            return; /* its answer brings the next */
        l->written++;
    }
}

static void set(struct whole *w, const char *name, const char *value)
{
    if (hd_machine_set(&w->m, name, value, &w->err) != 0)
        fail_msg("%s", w->err.text);
}

static struct whole *start(uint64_t requests, uint32_t lines, bool small,
                           const char *hash)
{
    struct whole *w = calloc(1, sizeof *w);
    struct hd_l2_wiring l2 = {0};

    hd_machine_defaults(&w->m);
    set(w, "l2cache.bytes", "65536");
    set(w, "l2cache.slice_hash", hash);
    set(w, "l2cache.set_hash", hash);
    set(w, "dram.channel_hash", hash);
    if (small) {
        set(w, "l2cache.mshrs", "3");
        set(w, "l2cache.merges", "2");
        set(w, "l2cache.queue", "1");
        set(w, "dram.queue", "4");
    }
    for (int d = 0; d < HD_CLK_COUNT; d++)
        w->clk.hz[d] = 1020000000;
    w->clk.hz[HD_CLK_DRAM] = 1674000000;
    assert_int_equal(hd_clocks_init(&w->clk, &w->err), 0);
    hd_arena_open(&w->arena, (size_t)1 << 30);
    hd_events_open(&w->ev, &w->arena, w->clk.ticks[0]);
    hd_stats_open(&w->stats, &w->arena, 2);
    w->env = (struct hd_env){.arena = &w->arena,
                             .ev = &w->ev,
                             .stats = &w->stats,
                             .clk = &w->clk,
                             .err = &w->err,
                             .apps = 2,
                             .check = true};
    hd_reqs_open(&w->reqs, &w->arena, 1 << 16);
    w->dram = hd_dram_open(&w->env, &w->m.dram, &w->reqs, w->client);
    assert_non_null(w->dram);
    l2.cache = &w->m.l2cache;
    l2.xbar = &w->m.xbar;
    l2.reqs = &w->reqs;
    l2.dram = w->dram;
    l2.clients = w->client;
    l2.dram_client = MEMORY;
    w->l2 = hd_l2_open(&w->env, &l2);
    if (w->l2 == NULL)
        fail_msg("%s", w->err.text);
    for (int i = 0; i < CLIENTS; i++)
        w->client[i] = (struct hd_client){answered, w};
    w->client[MEMORY] = hd_l2_client(w->l2);
    w->below = hd_l2_below(w->l2);
    w->driver = hd_events_component(&w->ev, "driver", drive, w);
    w->lines = lines;
    w->load = hd_arena_take(&w->arena, 1, sizeof *w->load);
    w->load->rng = hd_rng_make(requests, lines);
    w->load->left = requests;
    for (uint32_t i = 0; i < 16 * CLIENTS; i++)
        hd_post(&w->ev, w->driver, w->driver, 0, 0, i % CLIENTS, 0);
    return w;
}

static void check(struct whole *w)
{
    hd_env_sync(&w->env);
    for (uint32_t p = 0; p < w->env.parts; p++)
        for (uint32_t i = 0; i < w->env.part[p].instances; i++)
            if (w->env.part[p].check != NULL)
                w->env.part[p].check(w->env.part[p].self, i, &w->err);
    if (w->err.code != 0)
        fail_msg("%s", w->err.text);
}

static void run_to(struct whole *w, hd_time t)
{
    int stop = 0;

    hd_events_run(&w->ev, t, &stop);
    check(w);
}

/* Sum of a counter over instances and applications. */
static uint64_t total(const struct whole *w, const char *part, const char *name)
{
    uint64_t sum = 0;
    bool found = false;

    for (uint32_t g = 0; g < w->stats.groups; g++) {
        const struct hd_stat *s = &w->stats.group[g].stat;
        if (strcmp(w->stats.group[g].component, part) != 0)
            continue;
        for (uint32_t k = 0; k < s->n; k++) {
            if (strcmp(w->stats.group[g].desc[k].name, name) != 0)
                continue;
            found = true;
            for (uint32_t i = 0; i < s->instances * s->apps; i++)
                sum += s->v[(size_t)i * s->n + k];
        }
    }
    assert_true(found);
    return sum;
}

static void finish(struct whole *w)
{
    run_to(w, HD_NEVER);
    assert_int_equal(w->load->left, 0);
    assert_int_equal(hd_numbers_live(&w->reqs.numbers), 0);
    assert_int_equal(hd_events_waiting(&w->ev), 0);
}

static void stop(struct whole *w)
{
    hd_env_free(&w->env);
    hd_arena_close(&w->arena);
    free(w);
}

static void every_answer(void **state)
{
    static const char *const hash[] = {"none", "xor", "ipoly"};

    (void)state;
    for (int i = 0; i < 12; i++) {
        int k = i % 4;
        struct whole *w =
            start(30000, k < 2 ? 400 : 100000, k % 2, hash[i / 4]);

        for (hd_time t = 0; t < 20; t++)
            run_to(w, t * hd_ticks(&w->clk, HD_CLK_CORE, 500));
        finish(w);
        assert_int_equal(w->load->answered + w->load->written, 30000);
        assert_int_equal(total(w, "l2cache", "dram_reads"),
                         total(w, "dram", "reads") +
                             total(w, "dram", "walk_reads"));
        assert_int_equal(total(w, "l2cache", "dram_writes"),
                         total(w, "dram", "writes"));
        /* 400 lines fit */
        assert_int_equal(total(w, "l2cache", "write_backs") > 0, k >= 2);
        if (k == 3)
            assert_true(total(w, "l2cache", "blocked_mshrs") > 0 &&
                        total(w, "l2cache", "blocked_queue") > 0);
        if (k == 1)
            assert_true(total(w, "l2cache", "blocked_merges") > 0);
        stop(w);
    }
}

/* Straight through, and put back to the middle once. */
static void restored(void **state)
{
    struct whole *w = start(20000, 5000, true, "ipoly");
    hd_time middle = hd_ticks(&w->clk, HD_CLK_CORE, 3000);
    uint64_t hash;
    size_t used;
    void *copy;

    (void)state;
    run_to(w, middle);
    assert_true(w->load->left > 1000 && w->load->answered > 1000);
    used = w->arena.used;
    copy = malloc(used);
    memcpy(copy, w->arena.base, used);
    finish(w);
    hash = w->load->hash;
    memcpy(w->arena.base, copy, used);
    w->arena.used = used;
    finish(w);
    assert_true(w->load->hash == hash);
    free(copy);
    stop(w);
}

/* ---- looking inside ---------------------------------------------------- */

struct seen {
    uint32_t line, mshr, input, queue, wait, fields;
};

static void on_row(void *ud, const char *kind)
{
    struct seen *s = ud;

    s->line += strcmp(kind, "line") == 0;
    s->mshr += strcmp(kind, "mshr") == 0;
    s->input += strcmp(kind, "input") == 0;
    s->queue += strcmp(kind, "miss queue") == 0;
    s->wait += strcmp(kind, "wait") == 0;
}

static void on_number(void *ud, const char *field, uint64_t value)
{
    (void)field, (void)value;
    ((struct seen *)ud)->fields++;
}

static void on_text(void *ud, const char *field, const char *value)
{
    (void)field;
    assert_true(value[0] != '\0');
    ((struct seen *)ud)->fields++;
}

static void looked_at(void **state)
{
    struct whole *w = start(30000, 100000, true, "none");
    struct seen s = {0};
    struct heddle_visitor v = {on_row, on_number, on_text, &s};
    const struct hd_part *p = NULL;

    (void)state;
    run_to(w, hd_ticks(&w->clk, HD_CLK_CORE, 5000));
    for (uint32_t i = 0; i < w->env.parts; i++)
        if (strcmp(w->env.part[i].name, "l2cache") == 0)
            p = &w->env.part[i];
    assert_non_null(p);
    assert_int_equal(p->instances, w->m.l2cache.slices);
    for (uint32_t i = 0; i < p->instances; i++) {
        p->look(p->self, i, &v);
        p->stuck(p->self, i, &v);
    }
    assert_true(s.line > 100 && s.mshr > 10 && s.input > 0 && s.queue > 0);
    assert_true(s.wait > 10 && s.fields > s.line * 5);
    finish(w);
    s = (struct seen){0};
    for (uint32_t i = 0; i < p->instances; i++)
        p->stuck(p->self, i, &v);
    assert_int_equal(s.wait, 0);
    stop(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer),
        cmocka_unit_test(restored),
        cmocka_unit_test(looked_at),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
