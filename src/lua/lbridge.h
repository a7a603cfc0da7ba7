/*
 * lbridge.h - a Lua policy before it is bound (lclass.c), when it is
 * (lopen.c), and from then on (lbridge.c).
 * SPDX-License-Identifier: MIT
 */
#ifndef LBRIDGE_H
#define LBRIDGE_H

#include "lpolicy.h"

/*
 * A policy table, checked.  It lives in a userdata whose user value 1 is the
 * table and whose user value 2 keeps the strings that `policy` points to.
 */
struct lp_class {
    struct heddle_policy policy;
    struct heddle_param param[HEDDLE_MAX_PARAMS + 1];
    lua_State *L;    /* main thread */
    int ref;         /* registry: keeps the userdata while it is being bound */
    uint64_t cycles; /* of `every`; 0: none */
    int cycle_param; /* or the parameter that holds them; -1 */
    uint64_t instructions, bytes; /* budget of one call */
    int check;                    /* look for changed locals at every call */
};

/* Fixed places on the coroutine's stack. */
enum {
    LP_AT_HANDLER = 1,
    LP_AT_STATE,
    LP_AT_PARAMS,
    LP_AT_CLASS,
    LP_AT_WORDS,
    LP_AT_UPS
};

struct lp_upvalue {
    const char *name; /* kept by the function */
    uint64_t mark;
    int n;
};

enum { LP_WORDS = 8 };

/* How the answers to one point are read. */
struct lp_point {
    int fn, view_at; /* places on the stack; 0: not answered */
    struct lp_view *view;
    enum heddle_answer_kind kind;
    int position; /* INDEX: 1 when it is a position in the arrays */
    size_t limit; /* offset of the limit's field */
    int words;
    const char *word[LP_WORDS];
};

struct lp_note {
    int fn, view_at;
    struct lp_view *view;
};

/* A bound copy of a Lua policy. */
struct lp {
    lua_State *L, *T; /* main thread; the coroutine */
    int ref;          /* registry: keeps the coroutine */
    int top, every;   /* place of the epoch's function */
    struct lp_class *c;
    struct lp_world *w;
    heddle_sim *sim;
    const struct heddle_place *place; /* during open only */
    uint64_t param[HEDDLE_MAX_PARAMS];
    uint64_t seed, drawn; /* of the random stream */
    struct lp_budget budget;
    struct lp_upvalue *up;
    int ups, up_room;
    struct lp_bytes bytes;
    struct lp_point point[HEDDLE_POINT_COUNT];
    struct lp_note note[HEDDLE_NOTE_COUNT];
};

/* ---- lbridge.c --------------------------------------------------------- */

/* Calls the function below `nargs` arguments on the coroutine's stack, within
 * the budgets; a Lua status. */
int lp_bridge_call(struct lp *p, int nargs, int nresults);
/* Stops the run with the error on top of the stack, and cleans the stack. */
void lp_bridge_fail(struct lp *p, const char *where, int rc);
int lp_bridge_handler(lua_State *L); /* adds a traceback to an error */

/* Fills the functions that `c` has points and notes for; the table
 * is at index t. */
void lp_bridge_fill(lua_State *L, int t, struct lp_class *c);

/* ---- lopen.c: open() and close() of struct heddle_policy ---------------- */

void *lp_open_policy(void *ud, heddle_sim *s, const struct heddle_place *place,
                     const uint64_t *params);
void lp_open_close(void *self);
/* Pushes a copy of the state of a policy that lp_open_policy made; a Lua
 * status, the error on top of the stack. */
int lp_open_state(lua_State *L, void *self);

#endif
