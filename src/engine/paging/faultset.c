/*
 * faultset.c - faults that are transferred together, in as few transfers as
 * possible.
 *
 * What is prefetched with a fault, what an application's host prefetches, and
 * what faulted of a block of the driver's is put into a set first, by
 * addresses. Pages that follow one another in it are one transfer: they take
 * the link's cost of a copy once, and are mapped one by one as their data
 * arrive.  A plain fault is a transfer of its own and needs no set.
 *
 * Invariant: entries of a set have their frames.
 *
 * SPDX-License-Identifier: MIT
 */
#include "faultstate.h"

#include <string.h>

void hd_fault_set_clear(struct hd_fault_set *g, hd_vpn vpn)
{
    g->base = vpn.v & ~(uint64_t)(HD_LARGE_PAGES - 1);
    memset(g->at, 0xff, sizeof g->at); /* HD_NONE */
}

void hd_fault_set_add(const struct hd_faults *f, struct hd_fault_set *g,
                      uint32_t e)
{
    g->at[f->v[e].vpn.v - g->base] = e;
}

/* Sends them in the order of their addresses: what is one behind the other is
 * one transfer, of the batch `head`; HD_NONE: and a batch of its own. */
struct hd_fault_sum hd_fault_set_ship(struct hd_faults *f, hd_time now,
                                      struct hd_fault_set *g, uint32_t head)
{
    struct hd_fault_sum sum = {0, 0};

    for (uint32_t i = 0; i < HD_LEN(g->at);) {
        uint32_t first = g->at[i], e = first, n = 0, last = HD_NONE;
        if (first == HD_NONE) {
            i++;
            continue;
        }
        for (; i < HD_LEN(g->at) && (e = g->at[i]) != HD_NONE; last = e) {
            struct hd_fault *x = &f->v[e];
            x->head = head != HD_NONE ? head : first;
            if (last != HD_NONE)
                f->v[last].more = e;
            if (last != HD_NONE && head == HD_NONE)
                f->v[last].next = e;
            n += x->total;
            i += x->pages;
        }
        f->v[head != HD_NONE ? head : first].left++;
        f->s->serving += head == HD_NONE;
        hd_fault_ship(f, now, first, n);
        sum.pages += n;
        sum.bytes += f->v[first].bytes;
    }
    return sum;
}
