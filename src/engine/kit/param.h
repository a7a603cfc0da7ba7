/*
 * param.h - parameters of policies and works: checks and values.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_PARAM_H
#define HD_PARAM_H

#include "diag.h"
#include "policy.h"

/* Of whom: "policy" and its name, for errors. */
struct hd_param_of {
    const char *kind, *name;
    const struct heddle_param *params; /* ends with a NULL name, or NULL */
};

uint32_t hd_param_count(const struct heddle_param *params);

/* Whether the table itself is right: not too long, defaults in their ranges,
 * choices with all their names.  0, or `code` recorded. */
int hd_param_check(const struct hd_param_of *of, int code,
                   struct heddle_error *err);

/* All values: defaults, and those of names[0..n) over them.  0 or
 * HEDDLE_ECONFIG, which names the nearest known one. */
int hd_param_values(const struct hd_param_of *of, const char *const *names,
                    const uint64_t *given, uint32_t n,
                    uint64_t values[HEDDLE_MAX_PARAMS],
                    struct heddle_error *err);

#endif
