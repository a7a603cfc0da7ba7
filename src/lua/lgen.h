/*
 * lgen.h - generators: workloads whose warps are coroutines.
 *
 * lgen.c: the workload.  lgenwarp.c: a warp's coroutine, and how it is made
 * again.  lgenissue.c: what a coroutine calls.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LGEN_H
#define LGEN_H

#include <lauxlib.h>
#include <lua.h>

#include "../heddle_work.h"
#include "lpolicy.h"

/* An instruction that a coroutine has given, and where its lanes access. */
struct lg_item {
    struct heddle_work_op op;
    uint32_t buffer;
    uint32_t lanes; /* place of their addresses in the pool; LG_AFFINE */
    int64_t base, stride;
};

#define LG_AFFINE UINT32_MAX

/* A resident warp. */
struct lg_warp {
    lua_State *T;  /* its coroutine, kept by the table `threads`; NULL: none */
    const void *t; /* identity of its table t */
    uint64_t block, threads;
    uint32_t launch, warp, lanes, place;
    int begun, ended, returns; /* the coroutine; it waits for `token` */
    lua_Integer token;
    int inside;           /* the function of an index is being called */
    uint64_t taken, hash; /* instructions taken, and of what they were */
    struct lg_item *item; /* [first, n) are there to be taken */
    uint32_t first, n, room;
    uint64_t *pool; /* bytes of lanes */
    uint32_t pooled, pool_room;
    uint32_t out, pend;  /* slots filled and not waited for; to wait for */
    uint64_t loads;      /* so far: the last one's number */
    uint64_t key, drawn; /* random stream */
    char *error;         /* how it ended, or NULL */
};

struct lg_buffer {
    char name[32];
    uint64_t bytes, align, freed; /* freed: by the end of this launch; or 0 */
    uint32_t width;               /* of an element */
};

/* A local of the script: [i] of the table `ups` is the function. */
struct lg_local {
    const char *name; /* kept by the function */
    uint64_t mark;
    int n;
};

enum { LG_GIVEN = 3 }; /* tables that warps are given */

/* A generator: a userdata that the workload keeps.  Its user value 1 is the
 * table of the names below, on H at 1, too. */
struct lg {
    struct heddle_work work;
    char name[64];
    struct lp_world *w;
    lua_State *H; /* for protected calls */
    struct lp_budget budget;
    uint64_t seed;
    const char *text; /* what defines it, for its hash; while it is made */
    size_t text_bytes;
    struct lg_buffer *buffer; /* [buffers] */
    struct heddle_work_launch *launch;
    struct lg_local *local;   /* malloc'ed */
    uint64_t given[LG_GIVEN]; /* fingerprints of what warps are given */
    uint32_t buffers, launches, locals, local_room;
    struct lg_warp *warp; /* [warps] while bound */
    uint32_t warps;
    struct lg_warp *running;
};

/* Places in that table. */
enum {
    LG_THREADS = 1, /* [place + 1]: coroutines */
    LG_FN,          /* [launch]: functions */
    LG_ARGS,        /* [launch]: arguments */
    LG_B,           /* buffers by name */
    LG_P,           /* parameters */
    LG_META,        /* metatable of t */
    LG_UPS,         /* [i]: functions with locals */
    LG_NUMBERS,     /* [buffer]: its number, from 0 */
    LG_MEMORY,      /* what `buffer` and `launch` point to */
    LG_H            /* the thread H */
};

enum { LG_BATCH = 16 }; /* instructions that a coroutine gives at a time */

/* work.generator(spec) */
int lg_open(lua_State *L);

/* The coroutine of a warp, such that the next instruction that it gives is the
 * one after `count`.  NULL: an error that the run has. */
struct lg_warp *lg_warp_at(struct lg *g, struct heddle_work_call *c,
                           uint64_t count);
/* Takes its next instruction; NULL: an error that the run has. */
const struct lg_item *lg_warp_take(struct lg *g, struct heddle_work_call *c,
                                   struct lg_warp *x);
void lg_warp_drop(struct lg_warp *x); /* frees what it has */

/* Replaces the table on top, [buffer] = its number, by that of what a coroutine
 * calls. */
void lg_issue_push(lua_State *L, struct lg *g);
/* Appends the exit; 0, or -1: no memory. */
int lg_issue_exit(struct lg_warp *x);

#endif
