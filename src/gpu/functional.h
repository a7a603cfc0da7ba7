/*
 * functional.h - runs a launch without time, for its effects on buffers.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_FUNCTIONAL_H
#define HD_FUNCTIONAL_H

#include "../base/diag.h"
#include "../load/source.h"

/*
 * Runs every block of the current launch to its end, one after the other,
 * warps taking turns at barriers.  0 or an error.
 */
int hd_functional_launch(struct hd_source *s, const struct hd_launch *l,
                         struct hd_err *err);

#endif
