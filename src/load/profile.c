/*
 * profile.c - what the memory instructions of a workload look like: active
 * lanes, lines and pages an instruction, by kernel and allocation.
 *
 * These are the figures by which papers sort programs (coalescing factor,
 * page divergence), and the check that a rewritten benchmark touches memory
 * as its model does.  No machine is involved: what a TLB of any size would do
 * with it is another matter.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../heddle_walk.h"

enum { FIRST_ROOM = 32 };

struct profile {
    struct heddle_walk_alloc *alloc;
    uint32_t allocs;
    struct heddle_profile_row *row;
    uint32_t rows, room;
    uint32_t hint; /* row found last */
};

static uint32_t find_alloc(const struct profile *p, uint64_t at)
{
    uint32_t i;

    for (i = 0; i < p->allocs; i++)
        if (at - p->alloc[i].base < p->alloc[i].bytes)
            return i;
    return UINT32_MAX;
}

static bool is_row(const struct heddle_profile_row *r,
                   const struct heddle_walk_op *op, uint32_t alloc)
{
    return r->kind == op->kind && r->alloc == alloc &&
           strncmp(r->kernel, op->kernel, sizeof r->kernel) == 0;
}

/* The row of an instruction, made when missing; NULL: no memory. */
static struct heddle_profile_row *
find_row(struct profile *p, const struct heddle_walk_op *op, uint32_t alloc)
{
    struct heddle_profile_row *r;
    uint32_t i;

    for (i = 0; i < p->rows; i++) { /* most often soon after the last one */
        r = &p->row[(p->hint + i) % p->rows];
        if (is_row(r, op, alloc)) {
            p->hint = (uint32_t)(r - p->row);
            return r;
        }
    }
    if (p->rows == p->room) {
        uint32_t room = p->room ? 2 * p->room : FIRST_ROOM;

        r = realloc(p->row, room * sizeof *r);
        if (r == NULL)
            return NULL;
        p->row = r;
        p->room = room;
    }
    r = &p->row[p->rows];
    memset(r, 0, sizeof *r);
    strncpy(r->kernel, op->kernel, sizeof r->kernel - 1);
    r->kind = op->kind;
    r->alloc = alloc;
    p->hint = p->rows++;
    return r;
}

/* Distinct units of 2^shift bytes that the lanes touch. */
static uint32_t distinct(const struct heddle_walk_op *op, unsigned shift)
{
    uint64_t seen[2 * HD_MAX_LANES], m;
    uint32_t n = 0, i;

    for (m = op->mask; m; m &= m - 1) {
        uint64_t first = op->address[__builtin_ctzll(m)];
        uint64_t unit = first >> shift;
        uint64_t last = (first + op->bytes - 1) >> shift;

        for (; unit <= last; unit++) {
            for (i = n; i > 0 && seen[i - 1] != unit; i--)
                ;
            if (i == 0)
                seen[n++] = unit;
        }
    }
    return n;
}

static int count(void *ud, const struct heddle_walk_op *op)
{
    bool memory = op->kind == HEDDLE_WALK_LOAD ||
                  op->kind == HEDDLE_WALK_STORE ||
                  op->kind == HEDDLE_WALK_ATOMIC;
    struct heddle_profile_row *r;
    uint32_t alloc = UINT32_MAX;

    if (memory && op->mask)
        alloc = find_alloc(ud, op->address[__builtin_ctzll(op->mask)]);
    r = find_row(ud, op, alloc);
    if (r == NULL)
        return HEDDLE_ENOMEM;
    r->instructions += op->count;
    if (memory) {
        r->lanes += (uint64_t)__builtin_popcountll(op->mask);
        r->lines += distinct(op, 7);
        r->pages += distinct(op, HD_PAGE_SHIFT);
    }
    return 0;
}

static int list_allocs(struct profile *p, heddle_workload *w)
{
    struct heddle_walk_alloc a;
    uint32_t i;

    while (heddle_walk_alloc(w, p->allocs, &a) == 0)
        p->allocs++;
    p->alloc = calloc(p->allocs + 1u, sizeof *p->alloc);
    if (p->alloc == NULL)
        return HEDDLE_ENOMEM;
    for (i = 0; i < p->allocs; i++)
        heddle_walk_alloc(w, i, &p->alloc[i]);
    return 0;
}

int heddle_profile(heddle_workload *w, const struct heddle_walk_options *o,
                   struct heddle_profile_row **rows, char *error, size_t room)
{
    struct profile p = {0};
    int rc = list_allocs(&p, w);

    if (rc == 0)
        rc = heddle_walk(w, o, count, &p, error, room);
    else if (room > 0)
        snprintf(error, room, "%s", HEDDLE_NO_MEMORY);
    free(p.alloc);
    if (rc < 0) {
        free(p.row);
        return rc;
    }
    *rows = p.row;
    return (int)p.rows;
}
