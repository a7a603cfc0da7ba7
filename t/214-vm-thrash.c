/*
 * Pinned: who says that a page goes to and fro.  Each step of the driver's
 * control at its instant and one later: which two events count, that blocks are
 * looked at when the other processor follows, the third that counts, the length
 * of a nap, the exempt one, the tenth throttling, the end of a pin, an epoch,
 * the lapse's votes and bounds, as they are meant and as they were released; a
 * block that is forgotten after a pin; the control by refaults; and a twin that keeps
 * all that ever happened to a page and counts it anew says the same after any
 * events and touches.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmslots.h"

#include <stdlib.h>

#include "kit/rng.h"
#include "heddle_program.h"
#include "paging/thrash.h"

enum {
    PAGES = 1024,
    APPS = 2,
    GPU = HEDDLE_PROCESSOR_GPU,
    HOST = HEDDLE_PROCESSOR_HOST,
    STEPS = 200000,
    US = 1000
};

static const uint64_t BASE = 0x7f0000000; /* a page, aligned to 2 MB */

struct rig {
    struct memenv m;
    struct hd_ptables *tables;
    struct hd_thrash *t;
    struct hd_thrash_cfg cfg;
    hd_time us, unpinned; /* ticks; when the last page was unmapped */
    uint32_t n;           /* of those */
};

static void unpin(void *self, hd_time now, uint32_t app, hd_vpn vpn)
{
    struct rig *r = self;

    (void)app, (void)vpn;
    r->unpinned = now;
    r->n++;
}

/* With a registry of policies, unless s is NULL. */
static void open_with(struct rig *r, uint32_t how, uint32_t lapse,
                      struct vmslots *s)
{
    struct hd_vm_cfg vm = {.memory_bytes = 64ull << 20, .table_frames = 64};
    struct hd_thrash_wiring w = {.cfg = &r->cfg,
                                 .how = how,
                                 .refaults = 2,
                                 .refault_ns = 1000 * US,
                                 .manager = {.self = r, .unpin = unpin}};

    memset(r, 0, sizeof *r);
    r->cfg = (struct hd_thrash_cfg){.threshold = 3,
                                    .pin_threshold = 10,
                                    .lapse = lapse,
                                    .votes = 32,
                                    .nap = 1,
                                    .epoch = 2000,
                                    .pin = 300,
                                    .max_resets = 4};
    memenv_open(&r->m, APPS);
    if (s != NULL)
        vmslots_open(s, &r->m.env, 1);
    r->tables = hd_ptables_open(&r->m.env, &vm);
    for (uint32_t app = 0; app < APPS; app++)
        assert_int_equal(hd_ptables_map(r->tables, app, 0, (hd_va){BASE << 12},
                                        PAGES << 12, &r->m.err),
                         0);
    w.tables = r->tables;
    r->t = hd_thrash_open(&r->m.env, &w);
    assert_non_null(r->t);
    r->us = hd_ticks_ns(&r->m.clk, US);
}

static void open_rig(struct rig *r, uint32_t how, uint32_t lapse)
{
    open_with(r, how, lapse, NULL);
}

static void close_rig(struct rig *r)
{
    assert_string_equal(memenv_check(&r->m, NULL), "");
    memenv_close(&r->m);
}

static void until(struct rig *r, hd_time now)
{
    int stop = 0;

    hd_events_run(&r->m.ev, now, &stop);
}

static void move(struct rig *r, hd_time now, uint32_t by, uint64_t page)
{
    if (by == GPU)
        hd_thrash_to_gpu(r->t, now, 0, (hd_vpn){BASE + page}, true);
    else
        hd_thrash_to_host(r->t, now, 0, (hd_vpn){BASE + page});
}

static enum heddle_thrash touch(struct rig *r, hd_time now, uint32_t by,
                                uint64_t page, hd_time *end)
{
    return hd_thrash_ask(r->t, now, (enum heddle_processor)by, 0,
                         (hd_vpn){BASE + page}, 1, false, true, end);
}

static uint64_t counted(const struct rig *r, enum hd_thrash_stat what)
{
    uint32_t g = 0;

    while (strcmp(r->m.stats.group[g].component, "thrash") != 0)
        g++;
    return *hd_count(&r->m.stats.group[g].stat, 0, 0, what);
}

static bool has(const struct rig *r, uint64_t page)
{
    return hd_thrash_has(r->t, 0, (hd_vpn){BASE + page});
}

/* Moves a page to and fro, `gap` apart, until it thrashes; returns when it
 * moved last, to the GPU. */
static hd_time thrash(struct rig *r, hd_time now, hd_time gap, uint64_t page)
{
    for (uint32_t i = 0; i < 6; i++, now += gap)
        move(r, now, i % 2 == 0 ? HOST : GPU, page);
    assert_true(has(r, page));
    return now - gap;
}

/* ---- closed forms ------------------------------------------------------- */

/* The fourth event at which a page is looked at has three gaps before it. */
static void events(void **state)
{
    for (int more = -1; more <= 1; more++) {
        struct rig r;
        hd_time now, lapse;
        (void)state;
        open_rig(&r, HD_THRASH_DRIVER, 100);
        lapse = 100 * r.us;
        now = lapse;
        move(&r, now, HOST, 5);
        for (uint32_t i = 0; i < 3; i++) {
            now += lapse - 7;
            move(&r, now, i % 2 == 0 ? GPU : HOST, 5);
            assert_false(has(&r, 5));
        }
        now += (hd_time)((int64_t)lapse + more);
        move(&r, now, HOST, 5); /* the third gap */
        assert_int_equal(has(&r, 5), more <= 0);
        assert_int_equal(counted(&r, HD_THRASH_DETECTED), more <= 0);
        assert_int_equal(counted(&r, HD_THRASH_EVENTS), 4);
        move(&r, now + lapse + 1, GPU, 5); /* too late */
        assert_false(has(&r, 5));
        close_rig(&r);
    }
}

/* What the same processor moves is not looked at, however often; nor what the
 * other moves later than the lapse. */
static void blocks(void **state)
{
    struct rig r;
    hd_time now = 0, lapse;

    (void)state;
    open_rig(&r, HD_THRASH_DRIVER, 100);
    lapse = 100 * r.us;
    for (uint32_t i = 0; i < 100; i++)
        move(&r, now += lapse / 2, GPU, 5);
    for (uint32_t i = 0; i < 100; i++)
        move(&r, now += lapse + 1, i % 2 == 0 ? HOST : GPU, 5);
    assert_int_equal(counted(&r, HD_THRASH_EVENTS), 0);
    move(&r, now += lapse, HOST, 6); /* another page of the block will do */
    assert_int_equal(counted(&r, HD_THRASH_EVENTS), 1);
    move(&r, now + 1, GPU, 600); /* another block will not */
    assert_int_equal(counted(&r, HD_THRASH_EVENTS), 1);
    close_rig(&r);
}

/* The first to touch is exempt for a nap, and not twice in a row. */
static void naps(void **state)
{
    struct rig r;
    hd_time now, nap, end;

    (void)state;
    open_rig(&r, HD_THRASH_DRIVER, 100);
    nap = 100 * r.us;
    now = thrash(&r, nap, nap / 4, 5);
    assert_int_equal(touch(&r, now + 10, HOST, 5, &end), HEDDLE_THRASH_MIGRATE);
    move(&r, now + 10, HOST, 5);
    assert_int_equal(touch(&r, now + 20, GPU, 5, &end), HEDDLE_THRASH_THROTTLE);
    assert_int_equal(end, now + 10 + nap);
    assert_int_equal(touch(&r, end - 1, GPU, 5, &end), HEDDLE_THRASH_THROTTLE);
    assert_int_equal(touch(&r, end, GPU, 5, &end), HEDDLE_THRASH_MIGRATE);
    assert_int_equal(counted(&r, HD_THRASH_THROTTLED), 2);
    move(&r, now = now + 10 + nap, GPU, 5);
    assert_int_equal(end, now + nap); /* the GPU's period has begun */
    assert_int_equal(touch(&r, end + 1 - nap / 2, HOST, 5, &end),
                     HEDDLE_THRASH_THROTTLE);
    for (uint32_t i = 0; i < 3; i++) { /* alone it is so every other time */
        move(&r, end - nap / 2, GPU, 5);
        assert_int_equal(touch(&r, end + 1, GPU, 5, &end),
                         HEDDLE_THRASH_THROTTLE);
        move(&r, end - nap / 2 - 1, GPU, 5);
        assert_int_equal(touch(&r, end, GPU, 5, &end), HEDDLE_THRASH_MIGRATE);
    }
    close_rig(&r);
}

/* Moves a thrashing page on until a touch has it pinned; returns by whom. */
static uint32_t go_on(struct rig *r, hd_time *now, uint32_t *throttled)
{
    *throttled = 0;
    for (uint32_t by = HOST;; by = GPU + HOST - by) {
        hd_time end;
        enum heddle_thrash a = touch(r, *now, by, 5, &end);
        if (a == HEDDLE_THRASH_THROTTLE) {
            ++*throttled;
            *now = end;
            a = touch(r, *now, by, 5, &end);
        }
        if (a != HEDDLE_THRASH_MIGRATE)
            return by;
        move(r, *now, by, 5);
        *now += 1;
    }
}

static void pins(void **state)
{
    struct rig r;
    hd_time now, nap, end, pin;
    uint32_t throttled, by;

    (void)state;
    open_rig(&r, HD_THRASH_DRIVER, 100);
    nap = 100 * r.us;
    now = thrash(&r, nap, nap / 4, 5) + 1;
    by = go_on(&r, &now, &throttled);
    assert_int_equal(throttled, 10);
    assert_int_equal(counted(&r, HD_THRASH_PINNED), 1);
    pin = now + 300 * nap;
    if (by == GPU) { /* the host cannot use it there: the pin goes to it */
        assert_false(hd_thrash_on_host(r.t, 0, (hd_vpn){BASE + 5}));
        assert_int_equal(touch(&r, now + 1, HOST, 5, &end),
                         HEDDLE_THRASH_THROTTLE);
        assert_int_equal(touch(&r, end + 1, HOST, 5, &end), HEDDLE_THRASH_HOST);
        now = end;
    }
    assert_true(hd_thrash_on_host(r.t, 0, (hd_vpn){BASE + 5}));
    assert_int_equal(touch(&r, now + 2, GPU, 5, &end), HEDDLE_THRASH_HOST);
    until(&r, pin - 1);
    assert_int_equal(counted(&r, HD_THRASH_UNPINNED), 0);
    until(&r, pin + 1);
    assert_int_equal(counted(&r, HD_THRASH_UNPINNED), 1);
    assert_int_equal(r.unpinned, pin);
    assert_false(has(&r, 5));
    assert_int_equal(touch(&r, pin + 2, GPU, 5, &end), HEDDLE_THRASH_MIGRATE);
    close_rig(&r);
}

/* One whose place is on the host is pinned there at once; the host's orders and
 * allocations that go end that. */
static void places(void **state)
{
    struct rig r;
    hd_time now, end;

    (void)state;
    open_rig(&r, HD_THRASH_DRIVER, 100);
    hd_ptables_advise(r.tables, 0, 0, HEDDLE_ADVICE_HOST);
    now = thrash(&r, 1000, 1000, 5);
    assert_int_equal(touch(&r, now + 1, GPU, 5, &end), HEDDLE_THRASH_HOST);
    assert_int_equal(counted(&r, HD_THRASH_THROTTLED), 0);
    hd_thrash_forget(r.t, 0, (hd_vpn){BASE}, PAGES);
    assert_int_equal(counted(&r, HD_THRASH_RELEASED), 1);
    assert_false(has(&r, 5));
    hd_ptables_advise(r.tables, 0, 0, HEDDLE_ADVICE_READ_MOSTLY);
    now += 1000;
    for (uint32_t i = 0; i < 20; i++)
        move(&r, now += 1000, i % 2 == 0 ? HOST : GPU, 5);
    assert_int_equal(counted(&r, HD_THRASH_DETECTED), 1); /* no more */
    until(&r, now + 301 * 100 * r.us);
    assert_int_equal(counted(&r, HD_THRASH_UNPINNED), 0);
    close_rig(&r);
}

static void epochs(void **state)
{
    struct rig r;
    hd_time now = 1000, end, epoch;

    (void)state;
    open_rig(&r, HD_THRASH_DRIVER, 100);
    epoch = 2000 * 100 * r.us;
    for (uint32_t i = 0; i < 6; i++) {
        now = thrash(&r, now, 1000, 5);
        touch(&r, now + epoch, GPU, 9, &end);
        assert_int_equal(counted(&r, HD_THRASH_RESETS), i < 4 ? i : 4);
        touch(&r, now += epoch + 1, GPU, 9, &end);
        assert_int_equal(counted(&r, HD_THRASH_RESETS), i < 4 ? i + 1 : 4);
        assert_int_equal(has(&r, 5), i >= 4);
        if (i >= 4)
            hd_thrash_forget(r.t, 0, (hd_vpn){BASE}, PAGES);
    }
    close_rig(&r);
}

/* Votes: 32 more of one kind; an eighth; from then on half of them count. */
static void tuning(void **state)
{
    struct rig r;
    hd_time now, end, lapse;
    uint64_t steps;

    (void)state;
    open_rig(&r, HD_THRASH_DRIVER, 500);
    lapse = 500 * r.us;
    now = thrash(&r, 1000, 1000, 5);
    for (uint32_t i = 1; i <= 48; i++) {
        touch(&r, now + lapse, GPU, 5, &end); /* not less: for more */
        assert_int_equal(counted(&r, HD_THRASH_TUNED), (i >= 32) + (i >= 48));
        if (i == 32) /* it is longer by an eighth: that is too late, again */
            lapse += lapse / 8;
    }
    for (uint32_t i = 0; i < 100000; i++)
        touch(&r, now + 900000 * r.us, GPU, 5, &end);
    steps = counted(&r, HD_THRASH_TUNED);
    touch(&r, now + 900000 * r.us, GPU, 5, &end);
    assert_int_equal(counted(&r, HD_THRASH_TUNED), steps); /* the most */
    hd_thrash_forget(r.t, 0, (hd_vpn){BASE}, PAGES);
    lapse = 500000 * r.us;
    now = thrash(&r, now + (1ull << 51), lapse, 5); /* is 0.5 s */
    for (uint32_t i = 0; i < 400000; i++)
        touch(&r, now, i % 2 == 0 ? GPU : HOST, 5, &end); /* one is exempt */
    steps = counted(&r, HD_THRASH_TUNED);
    touch(&r, now, GPU, 5, &end);
    touch(&r, now, HOST, 5, &end);
    assert_int_equal(counted(&r, HD_THRASH_TUNED), steps); /* the least */
    hd_thrash_forget(r.t, 0, (hd_vpn){BASE}, PAGES);
    now = thrash(&r, now + 2 * lapse, 5 * r.us, 5);
    move(&r, now + 5 * r.us + 1, HOST, 5);
    assert_false(has(&r, 5)); /* is 5 us */
    close_rig(&r);
    open_rig(&r, HD_THRASH_DRIVER, 501); /* a user's value stays */
    now = thrash(&r, 1000, 1000, 5);
    for (uint32_t i = 0; i < 1000; i++)
        touch(&r, now, GPU, 5, &end);
    assert_int_equal(counted(&r, HD_THRASH_TUNED), 0);
    close_rig(&r);
}

/* As released a touch within the lapse makes it longer at once, from no votes; 32
 * votes for more do so, too; at the most they make it shorter; steps are 50 ms
 * at most; a 129th vote for less is 127 for more. */
static void tuning_released(void **state)
{
    struct rig r;
    hd_time now, end, lapse;
    uint32_t i;

    (void)state;
    open_rig(&r, HD_THRASH_DRIVER, 500);
    r.cfg.as_released = 1;
    lapse = 500 * r.us;
    now = thrash(&r, 1000, 1000, 5);
    for (i = 1; i <= 4; i++) {
        touch(&r, now, GPU, 5, &end);
        assert_int_equal(counted(&r, HD_THRASH_TUNED), i);
        lapse += lapse / 8;
    }
    for (i = 1; i <= 33; i++) { /* too late by nothing */
        touch(&r, now + lapse, HOST, 5, &end); /* exempt from here on */
        assert_int_equal(counted(&r, HD_THRASH_TUNED), 4 + (i >= 32));
        if (i == 32)
            lapse += lapse / 8;
    }
    /* 17 votes for more are left: as many for less only count */
    for (i = 1; i <= 17; i++)
        touch(&r, now, HOST, 5, &end);
    assert_int_equal(counted(&r, HD_THRASH_TUNED), 5);
    for (i = 5; lapse < 500000 * r.us; i++) {
        lapse += hd_min_u64(lapse / 8, 50000 * r.us);
        touch(&r, now, HOST, 5, &end);
        assert_int_equal(counted(&r, HD_THRASH_TUNED), i + 1);
    }
    assert_true(lapse > 500000 * r.us); /* over the most, by a step */
    for (uint32_t k = 1; k <= 128; k++)
        touch(&r, now, HOST, 5, &end);
    assert_int_equal(counted(&r, HD_THRASH_TUNED), i);
    touch(&r, now, HOST, 5, &end); /* 127 for more: it is shorter */
    assert_int_equal(counted(&r, HD_THRASH_TUNED), i + 1);
    lapse -= lapse / 8;
    touch(&r, now + lapse, GPU, 5, &end); /* and 64: longer */
    assert_int_equal(counted(&r, HD_THRASH_TUNED), i + 2);
    close_rig(&r);
}

/* A block of which a page was pinned, and is no more, is forgotten after an
 * epoch; as released it is not. */
static void unpinned(void **state)
{
    for (uint32_t released = 0; released < 2; released++) {
        struct rig r;
        hd_time now, end, epoch;
        (void)state;
        open_rig(&r, HD_THRASH_DRIVER, 100);
        r.cfg.as_released = released;
        epoch = 2000 * 100 * r.us;
        hd_ptables_advise(r.tables, 0, 0, HEDDLE_ADVICE_HOST);
        now = thrash(&r, 1000, 1000, 5);
        assert_int_equal(touch(&r, now + 1, GPU, 5, &end), HEDDLE_THRASH_HOST);
        assert_int_equal(touch(&r, now + epoch + 1, GPU, 9, &end),
                         HEDDLE_THRASH_MIGRATE);
        assert_int_equal(counted(&r, HD_THRASH_RESETS), 0); /* it is pinned */
        until(&r, now + 301 * 100 * r.us);
        assert_int_equal(counted(&r, HD_THRASH_UNPINNED), 1);
        touch(&r, now + epoch + 2, GPU, 9, &end);
        assert_int_equal(counted(&r, HD_THRASH_RESETS), !released);
        close_rig(&r);
    }
}

static void refaults(void **state)
{
    struct rig r;
    hd_time now = 1000, ms, end;

    (void)state;
    open_rig(&r, HD_THRASH_REFAULT, 100);
    ms = 1000 * r.us;
    hd_thrash_to_gpu(r.t, 1, 0, (hd_vpn){BASE + 5}, false); /* the first time */
    for (uint32_t i = 0; i < 2; i++) {
        move(&r, now, GPU, 5);
        move(&r, now + ms / 2, GPU, 5);
        assert_int_equal(touch(&r, now + ms, GPU, 5, &end),
                         HEDDLE_THRASH_MIGRATE);
        move(&r, now + ms + 1 - i, GPU, 5); /* too late; in time */
        assert_int_equal(has(&r, 5), i);
        now += 3 * ms;
    }
    assert_int_equal(counted(&r, HD_THRASH_RETURNS), 6);
    now -= 2 * ms;
    assert_int_equal(hd_thrash_ask(r.t, now, HEDDLE_PROCESSOR_GPU, 0,
                                   (hd_vpn){BASE + 5}, 1, false, false, &end),
                     HEDDLE_THRASH_MIGRATE); /* it cannot be used there */
    assert_int_equal(touch(&r, now, GPU, 5, &end), HEDDLE_THRASH_HOST);
    until(&r, now + 300 * 100 * r.us + 1);
    assert_int_equal(r.unpinned, now + 300 * 100 * r.us);
    now = r.unpinned;
    for (uint32_t i = 0; i < 20; i++) { /* the host touches it each time */
        hd_thrash_to_host(r.t, now += 10, 0, (hd_vpn){BASE + 5});
        move(&r, now += 10, GPU, 5);
    }
    assert_false(has(&r, 5));
    close_rig(&r);
}

static int64_t host(void *self, const void *question)
{
    (void)self, (void)question;
    return HEDDLE_THRASH_HOST;
}

/* A page that cannot be used on the host is not pinned there: words. */
static void refused(void **state)
{
    static const struct heddle_policy wrong = {
        .abi = HEDDLE_POLICY_ABI,
        .name = "wrong",
        .answer = {[HEDDLE_POINT_thrash] = host}};
    struct rig r;
    struct vmslots s = {0};
    hd_time end;

    (void)state;
    open_with(&r, HD_THRASH_REFAULT, 100, &s);
    vmslots_use(&s, &wrong, "");
    move(&r, 1000, GPU, 5);
    hd_thrash_ask(r.t, 2000, HEDDLE_PROCESSOR_GPU, 0, (hd_vpn){BASE + 5}, 1,
                  false, false, &end);
    assert_non_null(strstr(r.m.err.text, "wrong answered 3 to thrash"));
    assert_non_null(strstr(r.m.err.text, "cannot use this page on the host"));
    assert_int_equal(r.m.err.code, HEDDLE_EPOLICY);
    assert_int_equal(counted(&r, HD_THRASH_PINNED), 0);
    hd_err_clear(&r.m.err);
    assert_string_equal(memenv_check(&r.m, "thrash"), "");
    vmslots_close(&s); /* it lets go of the slots, so it goes first */
    memenv_close(&r.m);
}

/* ---- the twin ----------------------------------------------------------- */

struct past { /* an event of a page that is looked at */
    hd_time at;
    bool close;
};

struct twin_page {
    struct past *v;
    uint32_t n, room;
    hd_time end, deadline;
    uint32_t throttlings, exempt, pinned;
    bool user[3], throttled[3];
};

struct twin {
    struct twin_page p[APPS][PAGES];
    struct {
        bool looks, pinned;
        hd_time last, thrashed;
        uint32_t by, resets;
    } b[APPS][PAGES / 512];
    hd_time lapse[APPS], nap, epoch, pin;
    int votes[APPS];
    uint64_t tuned, unpinned, pins;
    bool released;
};

static uint32_t in_a_row(const struct twin_page *p)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n; i++)
        n += p->v[i].close;
    return n < 7 ? n : 7;
}

static void wake(struct twin_page *p, uint32_t who)
{
    if (!p->throttled[who])
        return;
    p->throttled[who] = false;
    if (!p->throttled[GPU] && !p->throttled[HOST])
        p->end = 0;
}

static void wipe(struct twin_page *p)
{
    wake(p, GPU);
    wake(p, HOST);
    p->n = p->pinned = 0;
    p->user[GPU] = p->user[HOST] = false;
}

static void twin_move(struct twin *w, hd_time now, uint32_t app, uint32_t page,
                      uint32_t by)
{
    struct twin_page *p = &w->p[app][page];
    uint32_t k = page / 512;

    if (!w->b[app][k].looks && w->b[app][k].last != 0 &&
        w->b[app][k].by != by && now - w->b[app][k].last <= w->lapse[app])
        w->b[app][k].looks = true;
    if (w->b[app][k].looks && p->pinned)
        return;
    w->b[app][k].last = now;
    w->b[app][k].by = by;
    if (!w->b[app][k].looks)
        return;
    if (p->n == p->room)
        p->v = realloc(p->v, (p->room += 64) * sizeof *p->v);
    p->user[by] = true;
    p->v[p->n] = (struct past){now, p->n > 0 && now - p->v[p->n - 1].at <=
                                                    w->lapse[app]};
    p->n++;
    if (p->n > 1 && !p->v[p->n - 1].close && in_a_row(p) >= 3)
        wipe(p);
    else if (p->n > 1 && p->v[p->n - 1].close && in_a_row(p) >= 3)
        w->b[app][k].thrashed = now;
}

static enum heddle_thrash twin_pin(struct twin *w, struct twin_page *p,
                                   hd_time now, uint32_t by, uint32_t where,
                                   bool *block)
{
    if (!p->pinned || where == by) {
        wake(p, GPU);
        wake(p, HOST);
    }
    if (!p->pinned) {
        p->deadline = now + w->pin;
        p->throttlings = 0;
        *block = true;
        w->pins++;
    }
    p->pinned = where;
    return where == GPU ? HEDDLE_THRASH_GPU : HEDDLE_THRASH_HOST;
}

static enum heddle_thrash twin_throttle(struct twin_page *p, uint32_t by)
{
    if (!p->throttled[by] && !p->pinned && p->throttlings < 255)
        p->throttlings++;
    p->throttled[by] = true;
    return HEDDLE_THRASH_THROTTLE;
}

static void twin_vote(struct twin *w, uint32_t app, hd_time gap, hd_time us)
{
    int8_t byte;

    w->votes[app] += gap < w->lapse[app] ? -1 : 1;
    if (w->released) {
        byte = (int8_t)(uint8_t)w->votes[app];
        w->votes[app] = byte;
        if ((byte < 0 || byte >= 32) && w->lapse[app] < 500000 * us)
            w->lapse[app] += w->lapse[app] / 8 < 50000 * us
                                 ? w->lapse[app] / 8
                                 : 50000 * us;
        else if (byte >= 32)
            w->lapse[app] -= w->lapse[app] / 8;
        else
            return;
        w->votes[app] /= 2;
        w->tuned++;
        return;
    }
    if (w->votes[app] >= 32 && w->lapse[app] < 500000 * us)
        w->lapse[app] += w->lapse[app] / 8;
    else if (w->votes[app] <= -32 && w->lapse[app] > 5 * us)
        w->lapse[app] -= w->lapse[app] / 8;
    else
        return;
    if (w->lapse[app] > 500000 * us)
        w->lapse[app] = 500000 * us;
    if (w->lapse[app] < 5 * us)
        w->lapse[app] = 5 * us;
    w->votes[app] /= 2;
    w->tuned++;
}

static enum heddle_thrash twin_touch(struct twin *w, hd_time now, uint32_t app,
                                     uint32_t page, uint32_t by, bool far,
                                     hd_time us)
{
    struct twin_page *p = &w->p[app][page];
    uint32_t k = page / 512, other = GPU + HOST - by;
    bool *pinned = &w->b[app][k].pinned;

    for (uint32_t i = k * 512; !w->released && i < k * 512 + 512; i++)
        *pinned = (i > k * 512 && *pinned) || w->p[app][i].pinned != 0;
    if (!w->b[app][k].looks)
        return HEDDLE_THRASH_MIGRATE;
    if (w->b[app][k].thrashed != 0 && !*pinned && w->b[app][k].resets < 4 &&
        now - w->b[app][k].thrashed > w->epoch) {
        for (uint32_t i = k * 512; i < k * 512 + 512; i++) {
            wipe(&w->p[app][i]);
            w->p[app][i].end = 0;
            w->p[app][i].throttlings = w->p[app][i].exempt = 0;
        }
        w->b[app][k].looks = false;
        w->b[app][k].last = w->b[app][k].thrashed = 0;
        w->b[app][k].resets++;
        return HEDDLE_THRASH_MIGRATE;
    }
    if (p->throttled[by] && now < p->end && p->exempt != by)
        return twin_throttle(p, by);
    if (in_a_row(p) < 3)
        return HEDDLE_THRASH_MIGRATE;
    wake(p, by);
    twin_vote(w, app, now - p->v[p->n - 1].at, us);
    if (now - p->v[p->n - 1].at > w->lapse[app] && !p->pinned)
        return HEDDLE_THRASH_MIGRATE;
    p->user[by] = true;
    if (now > p->end) {
        p->end = now + w->nap;
        p->exempt = p->exempt == by ? 0 : by;
    } else if (p->exempt == 0) {
        p->exempt = by;
    }
    if (!p->pinned && p->exempt != by)
        return twin_throttle(p, by);
    if (!p->pinned)
        return p->throttlings < 10 ? HEDDLE_THRASH_MIGRATE
                                   : twin_pin(w, p, now, by, by, pinned);
    if (p->exempt == by)
        return twin_pin(w, p, now, by,
                        by == GPU && p->user[HOST] && far ? HOST : by, pinned);
    if (p->pinned == by || (by == GPU && far && p->pinned == other))
        return twin_pin(w, p, now, by, p->pinned, pinned);
    return twin_throttle(p, by);
}

/* Pins whose time is over. */
static void twin_until(struct twin *w, hd_time now)
{
    for (uint32_t app = 0; app < APPS; app++)
        for (uint32_t i = 0; i < PAGES; i++)
            if (w->p[app][i].pinned && w->p[app][i].deadline <= now) {
                wipe(&w->p[app][i]);
                w->unpinned++;
            }
}

static void compare(struct rig *r, struct twin *w, uint32_t app)
{
    uint64_t set[HD_THRASH_WORDS];

    for (uint32_t i = 0; i < PAGES; i++) {
        bool thrashes = in_a_row(&w->p[app][i]) >= 3;
        if (i % 512 == 0)
            hd_thrash_set(r->t, app, (hd_vpn){BASE + i}, set);
        assert_int_equal(hd_thrash_has(r->t, app, (hd_vpn){BASE + i}),
                         thrashes);
        assert_int_equal(set[i % 512 / 64] >> i % 64 & 1, thrashes);
        assert_int_equal(hd_thrash_on_host(r->t, app, (hd_vpn){BASE + i}),
                         w->p[app][i].pinned == HOST);
    }
}

/* What can be seen of a page; -1: not yet. */
struct seen {
    struct twin *w;
    int64_t app, vpn, pinned;
    uint32_t rows;
};

static void see_row(void *ud, const char *kind)
{
    struct seen *s = ud;

    assert_string_equal(kind, "page");
    s->rows++;
    s->app = s->vpn = s->pinned = -1;
}

static void see_number(void *ud, const char *field, uint64_t value)
{
    struct seen *s = ud;
    const struct twin_page *p;

    if (strcmp(field, "app") == 0)
        s->app = (int64_t)value;
    else if (strcmp(field, "vpn") == 0)
        s->vpn = (int64_t)(value - BASE);
    else if (s->app >= 0 && s->vpn >= 0 && s->pinned >= 0) {
        p = &s->w->p[s->app][s->vpn];
        assert_string_equal(field, "throttlings");
        assert_true(in_a_row(p) >= 3);
        assert_int_equal(p->throttlings, value);
        assert_int_equal(p->pinned, s->pinned);
    }
}

static void see_text(void *ud, const char *field, const char *value)
{
    struct seen *s = ud;

    assert_string_equal(field, "pinned");
    s->pinned = strcmp(value, "gpu") == 0    ? GPU
                : strcmp(value, "host") == 0 ? HOST
                                             : 0;
}

/* All pages that thrash are seen, and no others. */
static void see(struct rig *r, struct twin *w)
{
    struct seen s = {.w = w};
    struct heddle_visitor v = {see_row, see_number, see_text, &s};
    uint32_t want = 0;

    for (uint32_t i = 0; i < r->m.env.parts; i++)
        if (strcmp(r->m.env.part[i].name, "thrash") == 0)
            r->m.env.part[i].look(r->m.env.part[i].self, 0, &v);
    for (uint32_t app = 0; app < APPS; app++)
        for (uint32_t i = 0; i < PAGES; i++)
            want += in_a_row(&w->p[app][i]) >= 3;
    assert_int_equal(s.rows, want);
}

static void moves(bool released)
{
    struct rig r;
    struct twin *w = calloc(1, sizeof *w);
    struct hd_rng draws = hd_rng_make(7, 1);
    uint64_t said[4] = {0};
    hd_time now = 1;

    open_rig(&r, HD_THRASH_DRIVER, 500);
    r.cfg.as_released = w->released = released;
    for (uint32_t app = 0; app < APPS; app++)
        w->lapse[app] = 500 * r.us;
    w->nap = 500 * r.us;
    w->epoch = 2000 * w->nap;
    w->pin = 300 * w->nap;
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t app = hd_rng_below(&draws, APPS), by, a;
        /* a few pages of both blocks */
        uint32_t page =
            hd_rng_below(&draws, 2) * 512 + hd_rng_below(&draws, 3) * 100;
        bool far = hd_rng_below(&draws, 8) != 0;
        hd_time end, most = hd_rng_below(&draws, 500) == 0 ? w->epoch
                            : hd_rng_below(&draws, 8) == 0 ? 2 * w->nap
                                                           : w->nap / 20;
        now += 1 + hd_rng_below(&draws, (uint32_t)hd_min_u64(most, 1u << 31));
        until(&r, now);
        twin_until(w, now);
        by = GPU + hd_rng_below(&draws, 2);
        a = (uint32_t)hd_thrash_ask(r.t, now, (enum heddle_processor)by, app,
                                    (hd_vpn){BASE + page}, 1, false, far, &end);
        assert_int_equal(a, twin_touch(w, now, app, page, by, far, r.us));
        said[a]++;
        if (a == HEDDLE_THRASH_THROTTLE)
            assert_int_equal(end, w->p[app][page].end);
        else if (by == GPU)
            hd_thrash_to_gpu(r.t, now, app, (hd_vpn){BASE + page}, true);
        else
            hd_thrash_to_host(r.t, now, app, (hd_vpn){BASE + page});
        if (a != HEDDLE_THRASH_THROTTLE)
            twin_move(w, now, app, page, by);
        if (i % 1000 == 0) {
            compare(&r, w, app);
            see(&r, w);
            assert_string_equal(memenv_check(&r.m, NULL), "");
        }
    }
    for (uint32_t i = 0; i < 4; i++)
        assert_true(said[i] > 100);
    assert_true(w->unpinned > 20 && w->tuned > 20);
    assert_int_equal(r.n <= w->unpinned && r.n > 0, 1);
    for (uint32_t app = 0; app < APPS; app++)
        for (uint32_t i = 0; i < PAGES; i++)
            free(w->p[app][i].v);
    free(w);
    close_rig(&r);
}

static void random_moves(void **state)
{
    (void)state;
    moves(false);
    moves(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events),  cmocka_unit_test(blocks),
        cmocka_unit_test(naps),    cmocka_unit_test(pins),
        cmocka_unit_test(places),  cmocka_unit_test(epochs),
        cmocka_unit_test(tuning),  cmocka_unit_test(tuning_released),
        cmocka_unit_test(unpinned),
        cmocka_unit_test(refaults),
        cmocka_unit_test(refused), cmocka_unit_test(random_moves),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
