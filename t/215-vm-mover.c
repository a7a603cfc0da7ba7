/*
 * Pinned: what a look at the mover shows: every job that waits, those of lines
 * in their order and then the copies inside DRAM, with the lines that the first
 * has still to send; what becomes of each job in the counters; that a copy
 * inside DRAM waits for its banks to the cycle; and that the end is told once.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dramrig.h"
#include "pages/mover.h"

enum { LINE = 128, BULK = 1000, PAGE_LINES = 4096 / LINE };

/* ---- looking ------------------------------------------------------------- */

struct seen {
    char text[1000];
    size_t n;
};

static void row(void *ud, const char *kind)
{
    struct seen *s = ud;

    s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, "%s%s",
                             s->n ? "; " : "", kind);
}

static void number(void *ud, const char *field, uint64_t value)
{
    struct seen *s = ud;

    (void)field;
    s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, " %llx",
                             (unsigned long long)value);
}

static void text(void *ud, const char *field, const char *value)
{
    (void)field;
    row(ud, value);
}

/* ---- a mover alone on a channel -------------------------------------------
 */

struct alone {
    struct rig g;
    struct hd_mover *mv;
    uint32_t ended;
    uint64_t end;
};

static void idle(void *self, hd_time now)
{
    struct alone *a = self;

    a->ended++;
    a->end = now;
}

static void open_alone(struct alone *a, uint32_t queue)
{
    struct hd_dram_cfg c = lone_cfg();
    struct hd_mover_wiring w = {
        .line = LINE, .window = 4, .bulk = BULK, .idle = idle, .self = a};

    c.queue = queue;
    a->ended = 0;
    rig_open(&a->g, &c, 1);
    w.dram = a->g.dram;
    w.reqs = &a->g.reqs;
    a->mv = hd_mover_open(&a->g.env, &w);
    a->g.client = hd_mover_client(a->mv);
}

static void run(struct alone *a, hd_time until)
{
    int stop = 0;

    hd_events_run(&a->g.ev, until, &stop);
}

static void close_alone(struct alone *a)
{
    rig_close(&a->g);
}

static const char *look(struct alone *a, struct seen *s)
{
    struct heddle_visitor v = {row, number, text, s};

    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < a->g.env.parts; i++) {
        const struct hd_part *p = &a->g.env.part[i];
        if (strcmp(p->name, "mover") == 0)
            p->look(p->self, 0, &v);
    }
    return s->text;
}

static uint64_t count(struct alone *a, uint32_t app, enum hd_mover_stat what)
{
    const struct hd_stat_group *g = a->g.stats.group;

    while (g->desc != hd_rows_mover.counters)
        g++;
    return *hd_count(&g->stat, 0, app, what);
}

/* Jobs of all kinds; the channel takes one request at a time. */
static void what_waits(void **state)
{
    struct alone a;
    struct seen s;

    (void)state;
    open_alone(&a, 1);
    assert_string_equal(look(&a, &s), "");
    assert_false(hd_mover_busy(a.mv));
    hd_mover_write(a.mv, 0, (hd_pa){0x1008}, 3);
    hd_mover_copy(a.mv, 1, (hd_pfn){6}, (hd_pfn){7}, HD_MOVE_BULK);
    hd_mover_flush(a.mv, 1, (hd_pa){0x3080});
    hd_mover_copy(a.mv, 0, (hd_pfn){3}, (hd_pfn){5}, HD_MOVE_COPY);
    hd_mover_copy(a.mv, 1, (hd_pfn){6}, (hd_pfn){8}, HD_MOVE_BULK);
    assert_string_equal(look(&a, &s), "table 0 0 1000 3; flush 1 0 3080 1; "
                                      "copy 0 3000 5000 20; "
                                      "bulk 1 6000 7000 20; "
                                      "bulk 1 6000 8000 20");
    /* One line is sent, the next stands at the channel; one copy begins. */
    hd_mover_start(a.mv, 0);
    assert_string_equal(look(&a, &s), "table 0 0 1000 1; flush 1 0 3080 1; "
                                      "copy 0 3000 5000 20; "
                                      "bulk 1 6000 8000 20");
    assert_int_equal(hd_mover_steps(a.mv), 2);
    assert_true(hd_mover_busy(a.mv));
    run(&a, HD_NEVER);
    assert_string_equal(look(&a, &s), "");
    assert_int_equal(count(&a, 0, HD_MOVER_TABLE_WRITES), 3);
    assert_int_equal(count(&a, 1, HD_MOVER_FLUSH_WRITES), 1);
    assert_int_equal(count(&a, 0, HD_MOVER_COPY_READS), PAGE_LINES);
    assert_int_equal(count(&a, 0, HD_MOVER_COPY_WRITES), PAGE_LINES);
    assert_int_equal(count(&a, 1, HD_MOVER_BULK_COPIES), 2);
    assert_int_equal(hd_mover_steps(a.mv), 3 + 1 + 2 * PAGE_LINES + 2);
    assert_int_equal(hd_numbers_live(&a.g.reqs.numbers), 0);
    assert_false(hd_mover_busy(a.mv));
    assert_int_equal(a.ended, 1);
    close_alone(&a);
}

/* Copies of a bank follow each other, others begin at once. */
static void banks(void **state)
{
    struct alone a;

    (void)state;
    open_alone(&a, 8);
    hd_mover_copy(a.mv, 0, (hd_pfn){0}, (hd_pfn){1}, HD_MOVE_BULK);
    hd_mover_copy(a.mv, 0, (hd_pfn){1}, (hd_pfn){2}, HD_MOVE_BULK);
    hd_mover_copy(a.mv, 0, (hd_pfn){3}, (hd_pfn){4}, HD_MOVE_BULK);
    hd_mover_start(a.mv, 0);
    assert_int_equal(hd_mover_steps(a.mv), 2);
    run(&a, BULK - 1);
    assert_int_equal(hd_mover_steps(a.mv), 2);
    run(&a, BULK);
    assert_int_equal(hd_mover_steps(a.mv), 3);
    run(&a, HD_NEVER);
    assert_int_equal(a.end, 2 * BULK);
    assert_int_equal(a.ended, 1);
    close_alone(&a);
}

/* What was begun ends; the rest is as if it had never been asked for. */
static void forgotten(void **state)
{
    struct alone a;
    struct seen s;

    (void)state;
    open_alone(&a, 8);
    hd_mover_copy(a.mv, 0, (hd_pfn){0}, (hd_pfn){1}, HD_MOVE_COPY);
    hd_mover_copy(a.mv, 0, (hd_pfn){2}, (hd_pfn){3}, HD_MOVE_COPY);
    hd_mover_start(a.mv, 0);
    assert_string_equal(look(&a, &s), "copy 0 0 1000 1c; copy 0 2000 3000 20");
    hd_mover_forget(a.mv, 0);
    assert_string_equal(look(&a, &s), "");
    assert_true(hd_mover_busy(a.mv));
    run(&a, HD_NEVER);
    assert_int_equal(count(&a, 0, HD_MOVER_COPY_READS), 4);
    assert_int_equal(count(&a, 0, HD_MOVER_COPY_WRITES), 4);
    assert_int_equal(a.ended, 1);
    close_alone(&a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits),
        cmocka_unit_test(banks),
        cmocka_unit_test(forgotten),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm mover", tests, NULL, NULL);
}
