/*
 * param.c - parameters of policies and works: checks and values.
 *
 * A table of parameters stands beside the code that has them (policy.h); its
 * values are numbers in its order.  What comes from outside is checked, with a
 * text that says what is wrong: the table when a policy is bound or a work
 * opened, each value that is given, and its name.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "line.h"
#include "param.h"

uint32_t hd_param_count(const struct heddle_param *params)
{
    uint32_t n = 0;

    while (params && params[n].name)
        n++;
    return n;
}

/* Names that a parameter's values have, 1 where it has none. */
static uint32_t choices(const struct heddle_param *q)
{
    uint32_t n = 1;

    for (const char *c = q->unit; c != NULL && *c != '\0'; c++)
        n += *c == '|';
    return n;
}

int hd_param_check(const struct hd_param_of *of, int code,
                   struct heddle_error *err)
{
    char what[128];

    if (hd_line_check(of->kind, of->name, code, err) != 0)
        return code;
    if (hd_param_count(of->params) > HEDDLE_MAX_PARAMS)
        return hd_err_set(err, code, "%s %s has more than %d parameters",
                          of->kind, of->name, HEDDLE_MAX_PARAMS);
    for (const struct heddle_param *q = of->params; q && q->name; q++) {
        snprintf(what, sizeof what, "%s %s: parameter", of->kind, of->name);
        if (hd_line_check(what, q->name, code, err) != 0)
            return code;
        snprintf(what, sizeof what, "%s %s: %s: unit", of->kind, of->name,
                 q->name);
        if (hd_line_check(what, q->unit ? q->unit : "", code, err) != 0)
            return code;
        if (q->def < q->min || q->def > q->max)
            return hd_err_set(err, code,
                              "%s %s: the default of %s is out of its range",
                              of->kind, of->name, q->name);
        if (choices(q) > 1 && (q->min != 0 || q->max != choices(q) - 1))
            return hd_err_set(err, code,
                              "%s %s: %s is a choice of %s, so its values are "
                              "0 to %" PRIu32,
                              of->kind, of->name, q->name, q->unit,
                              choices(q) - 1);
    }
    return 0;
}

static int param_set(const struct hd_param_of *of, const char *name,
                     uint64_t value, uint64_t *values, struct heddle_error *err)
{
    uint32_t n = hd_param_count(of->params);
    const char *names[HEDDLE_MAX_PARAMS], *near;

    for (uint32_t i = 0; i < n; i++) {
        const struct heddle_param *q = &of->params[i];
        names[i] = q->name;
        if (strcmp(q->name, name) != 0)
            continue;
        if (value < q->min || value > q->max)
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "%s %s: %s = %" PRIu64 " is out of range, "
                              "expected %" PRIu64 " to %" PRIu64 " %s",
                              of->kind, of->name, name, value, q->min, q->max,
                              q->unit ? q->unit : "");
        values[i] = value;
        return 0;
    }
    near = hd_nearest(name, names, n);
    if (n == 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s %s has no parameters, so no \"%s\"", of->kind,
                          of->name, name);
    return hd_err_set(err, HEDDLE_ECONFIG,
                      "%s %s has no parameter \"%s\"; %s \"%s\"%s", of->kind,
                      of->name, name, near ? "did you mean" : "the first is",
                      near ? near : names[0], near ? "?" : "");
}

int hd_param_values(const struct hd_param_of *of, const char *const *names,
                    const uint64_t *given, uint32_t n,
                    uint64_t values[HEDDLE_MAX_PARAMS],
                    struct heddle_error *err)
{
    for (uint32_t i = 0; i < hd_param_count(of->params); i++)
        values[i] = of->params[i].def;
    for (uint32_t i = 0; i < n; i++)
        if (param_set(of, names[i], given[i], values, err) != 0)
            return err->code;
    return 0;
}
