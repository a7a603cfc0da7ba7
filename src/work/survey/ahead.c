/*
 * ahead.c - what the launches before one leave, found once and kept in the
 * workload: simulations begin there.
 *
 * SPDX-License-Identifier: MIT
 */
#include "core/functional.h"
#include "heddle_survey.h"

enum { THERE = 1 };

struct ahead {
    struct hd_source *src;
    uint32_t goal; /* 0: the launch with the most memory instructions */
    uint32_t next, best;
    uint64_t memory, most; /* memory instructions: of `next', of `best' */
    void *saved, *kept;    /* what the launches before them leave */
    int (*stop)(void *ud);
    void *ud;
    uint32_t asked; /* instructions since stop() was */
};

static int ahead_step(void *ud, const struct hd_step *s)
{
    struct ahead *a = ud;

    a->memory += hd_op_memory(s->op->kind);
    return a->stop != NULL && ++a->asked % 65536 == 0 ? a->stop(a->ud) : 0;
}

static void ahead_forget(struct ahead *a, void **saved)
{
    if (*saved != NULL)
        a->src->ops->drop(*saved);
    *saved = NULL;
}

/* What was saved last is kept if its launch is the one. */
static void ahead_take(struct ahead *a)
{
    ahead_forget(a, &a->kept);
    a->kept = a->saved;
    a->saved = NULL;
    a->best = a->next;
    a->most = a->memory;
}

static int ahead_between(void *ud, uint32_t next)
{
    struct ahead *a = ud;

    if (a->saved != NULL && (a->kept == NULL || a->memory > a->most))
        ahead_take(a);
    ahead_forget(a, &a->saved);
    a->next = next;
    a->memory = 0;
    if (a->goal != 0 && next < a->goal)
        return 0;
    if ((a->saved = a->src->ops->save(a->src->self)) == NULL)
        return HEDDLE_ENOMEM;
    if (next != a->goal)
        return 0;
    ahead_take(a);
    return THERE;
}

int heddle_ahead(heddle_workload *workload, uint32_t lanes, uint32_t launch,
                 int (*stop)(void *ud), void *ud, char *error, size_t room)
{
    struct hd_source *src = hd_workload_source(workload);
    struct ahead a = {.src = src, .goal = launch, .stop = stop, .ud = ud};
    struct hd_functional run = {.src = src,
                                .name = "run",
                                .lanes = lanes,
                                .between = ahead_between,
                                .v = {.step = ahead_step, .ud = &a}};
    struct heddle_error err = {0};
    int rc;

    if (src->ops->contents == NULL)
        rc = hd_err_set(&err, HEDDLE_EINVAL,
                        "workload %s: only the effects of launches of kernel "
                        "programs can be kept",
                        src->name);
    else
        rc = hd_functional_run(&run, &err);
    if (rc == 0 && a.kept == NULL)
        rc = hd_err_set(&err, HEDDLE_EINVAL,
                        "workload %s: launch %u is expected to be at most %u",
                        src->name, launch, a.next - 1);
    ahead_forget(&a, &a.saved);
    if (rc < 0) {
        ahead_forget(&a, &a.kept);
        hd_err_tell(&err, error, room);
        return rc;
    }
    ahead_forget(&a, &src->kept);
    src->kept = a.kept;
    src->ahead = a.best;
    src->ahead_lanes = lanes != 0 ? lanes : 32;
    return (int)a.best;
}
