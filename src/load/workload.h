/*
 * workload.h - what the opaque heddle_workload of the public interface is.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_WORKLOAD_H
#define HD_WORKLOAD_H

#include "../heddle_load.h"
#include "source.h"

/* Makes the public handle of a source: a heddle_workload is a hd_source. */
static inline heddle_workload *hd_workload(struct hd_source *s)
{
    return (heddle_workload *)s;
}

static inline struct hd_source *hd_workload_source(heddle_workload *w)
{
    return (struct hd_source *)w;
}

#endif
