/*
 * source.c - the public face of workloads of any kind, and blocks of data.
 * SPDX-License-Identifier: MIT
 */
#include "source.h"

void heddle_workload_free(heddle_workload *w)
{
    struct hd_source *s = hd_workload_source(w);

    if (s == NULL || s->users-- != 0)
        return;
    if (s->kept != NULL)
        s->ops->drop(s->kept);
    s->free(s->self);
}

const char *heddle_workload_name(const heddle_workload *w)
{
    return hd_workload_source(w)->name;
}

uint64_t heddle_workload_hash(const heddle_workload *w)
{
    return hd_workload_source(w)->hash;
}

const char *heddle_op_name(unsigned op)
{
    static const char *const name[] = {"alu",     "load", "store",   "atomic",
                                       "barrier", "exit", "meeting", "shared"};

    return op < HD_LEN(name) ? name[op] : "?";
}
