/*
 * lbridge.h - a Lua policy before it is bound (lclass.c) and while it is
 * (lbridge.c).
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
    lua_State *L;  /* main thread */
    int ref;       /* registry: keeps the userdata while it is being bound */
    uint64_t cycles; /* of `every`; 0: none */
    int cycle_param; /* or the parameter that holds them; -1 */
    uint64_t instructions, bytes; /* budget of one call */
    int check;                    /* look for changed locals at every call */
};

/* lbridge.c: fills the functions that `c` has points and notes for; the table
 * is at index t. */
void lp_bridge_fill(lua_State *L, int t, struct lp_class *c);

#endif
