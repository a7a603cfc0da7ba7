/*
 * lpolicy.h - what the files of the policy binding share.
 *
 * lsandbox.c and fence.lua: the globals of policy code.  lbudget.c: how much it
 * may use.  lstate.c: keys in order, fingerprints.  lpolicy.c: the module
 * heddle.bridge below heddle.policy.  lbridge.c: a policy bound, as a struct
 * heddle_policy.  lgen.c: warps of
 * generators run behind the same fence.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LPOLICY_H
#define LPOLICY_H

#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "heddle.h"
#include "policy.h"
#include "lheddle.h"

/* ---- fingerprints ---------------------------------------------------------
 */

/* Of 64 bits, as the engine mixes them (kit/rng.h). */
static inline uint64_t lp_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* Whether Lua answers a point by a position, from 1: its question lists the
 * candidates in arrays. */
static inline int lp_by_position(const struct heddle_point_info *p)
{
    int listed = 0;

    for (uint32_t k = 0; k < p->fields; k++)
        listed |= p->field[k].count != NULL &&
                  (strcmp(p->field[k].count, p->limit) == 0 ||
                   strcmp(p->limit, "choices") == 0);
    return p->kind == HEDDLE_INDEX && listed;
}

/* Of bytes, after h: FNV-1a. */
static inline uint64_t lp_hash(uint64_t h, const void *v, size_t n)
{
    const unsigned char *p = v;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

/* A field of a question, at its offset. */
static inline uint64_t lp_word(const void *q, size_t offset)
{
    uint64_t v;

    memcpy(&v, (const char *)q + offset, sizeof v);
    return v;
}

/* ---- lstate.c -------------------------------------------------------------
 */

/* Calls a function of heddle.plain with the value on top, which its result
 * replaces. */
void lp_state_plain(lua_State *L, const char *verb);
/* Locals of functions, whose contents are to stay as they are. */
struct lp_locals {
    struct lp_local {
        const char *name; /* kept by the function */
        uint64_t mark;
        int n;
    } * v; /* malloc'ed */
    int n, room;
};

/* Adds local n of the function at index f, whose value is on top; the function
 * is kept in the table at index `keep`. */
void lp_locals_note(lua_State *L, struct lp_locals *l, int keep, int f,
                    const char *name, int n);
/* The name of one that has changed, or NULL. */
const char *lp_locals_changed(lua_State *L, const struct lp_locals *l,
                              int keep);
/* Pushes the keys of the table at i, numbers before strings, each ascending,
 * as an array; raises on keys of other types.  Returns how many. */
lua_Integer lp_state_keys(lua_State *L, int i);
/* Pushes the key that follows the one on top (nil: the first) in that order, or
 * nil, and returns how many it looked at.  The key itself may be gone. */
uint64_t lp_state_next(lua_State *L, int i);

/* ---- lsandbox.c -----------------------------------------------------------
 */

/* Pushes a text of the value at i, without an address; raises where its
 * __tostring does. */
const char *lp_text(lua_State *L, int i);
/* Raises an error at the place of the script. */
int lp_raise(lua_State *L, const char *format, ...);
/* Pushes what math.random(...) gives for the draw u. */
int lp_lib_drawn(lua_State *L, uint64_t u);

struct lp; /* a bound Lua policy (lbridge.c) */
struct lg; /* a generator (lgen.c) */

/* Code that runs behind a fence, and what is said where it reaches over it. */
struct lp_fence {
    const char *code;            /* "policy code" */
    const char *depends;         /* on what alone its result does */
    const char *belongs;         /* where what changes is kept */
    const struct lp_global *own; /* in addition to those of all; NULL ends it */
    unsigned bit;                /* in `metas` of the world */
};

/* A function behind a fence. */
struct lp_global {
    const char *library; /* "string"; "": none */
    const char *name;
    lua_CFunction f;
    const char *what; /* it does */
};

extern const struct lp_fence lp_policy_fence, lg_fence;

/* One for each Lua state. */
struct lp_world {
    struct lp *running;      /* the policy whose function is being called */
    struct lg *generator;    /* or the generator of which a warp runs */
    struct lp_budget *spent; /* whose budget the call uses; NULL: none runs */
    const struct lp_fence *fence; /* behind which code runs, or NULL */
    uint64_t fired;               /* hooks since the call began */
    uint64_t limit;               /* of hooks */
    uint64_t used;                /* work of C functions since the last hook */
    lua_State *T;                 /* the thread that runs */
    int over;                     /* the budget is used up */
    int due;                      /* a hook comes early */
    unsigned metas;               /* fences (bits) where some were set */
    int long_text;                /* what was refused was one long text */
    size_t denied;                /* bytes that were refused, or 0 */
    size_t grown, room; /* bytes allocated by this call, and the most */
    lua_Alloc alloc;    /* the state's own */
    void *alloc_ud;
    const struct hl_interrupt *in; /* of the host program, or NULL */
};

/* The world of a state, made on first use. */
struct lp_world *lp_world(lua_State *L);

/* Pushes the globals behind a fence. */
void lp_sandbox_push(lua_State *L, const struct lp_fence *fence);
/* core.fence() -> the library of application code, for kernel/pure.lua. */
int lp_sandbox_application(lua_State *L);
/* Pushes the list of the functions that code behind a fence has. */
void lp_sandbox_reach(lua_State *L, const struct lp_fence *fence);
/* Calls the function below n arguments on the stack as one behind a fence, with
 * no budget; raises what it raises. */
void lp_sandbox_call(lua_State *L, const struct lp_fence *fence, int n,
                     int results);
/* What is wrong with the metatables of types (numbers, strings, ...), which
 * code behind the fence would see: pushed; or NULL.  Binding asks, and so does
 * each run: it costs less than a microsecond. */
const char *lp_sandbox_types(lua_State *L, const struct lp_fence *fence);
/* Whether a table that code behind the fence has made a metatable of has become
 * what setmetatable refuses; pushes the error if so.  `last`: no one else has
 * them any more. */
int lp_sandbox_metas(lua_State *T, const struct lp_fence *fence, int last);
/* Seals the table on top, for policies: a missing field raises "WHAT has no
 * KIND'x'", and so does a new one, with the words of `fixed` (NULL: it does
 * not). */
void lp_sandbox_seal(lua_State *L, const char *what, const char *kind,
                     const char *fixed);
/*
 * Makes the function at index i safe: its globals, and those of functions
 * that it holds in locals, become the sandbox's; raises where a local holds
 * what policy code may not use.  Every local that holds data is noted in
 * `locals` (NULL: none is), its function in the table at index `keep`.
 */
void lp_sandbox_enter(lua_State *L, const struct lp_fence *fence, int i,
                      struct lp_locals *locals, int keep);

/* ---- lbudget.c ------------------------------------------------------------
 */

enum { LP_HOOK = 10000 }; /* instructions between two looks at the budget */

/* What calls of one owner may use. */
struct lp_budget {
    uint64_t instructions; /* of one call */
    uint64_t bytes;        /* of all that its calls have left, together */
    const char *per;       /* "in one call" */
    size_t held;           /* bytes that calls have left allocated */
    size_t collect_at;     /* held above this: garbage is collected */
};

/* The longest text that code behind a fence can make, since comparing two is
 * one instruction, and the most values that one call of the library gives. */
enum { LP_LONGEST = 1 << 20, LP_MOST_VALUES = 1 << 16 };

/* What n steps of a C function use; raises when the budget is used up. */
void lp_budget_count(lua_State *L, struct lp_world *w);
static inline void lp_budget_use(lua_State *L, struct lp_world *w, uint64_t n)
{
    if ((w->used += n) >= LP_HOOK)
        lp_budget_count(L, w);
}
/* Whether the call in progress has used up what it may: nothing that its code
 * does can continue from there. */
static inline int lp_budget_over(const struct lp_world *w)
{
    return w->over || w->denied != 0;
}
/* What is said when memory was refused, of a budget of n units. */
void lp_budget_text(const struct lp_world *w, uint64_t n, const char *unit,
                    char *out, size_t room);

/* A call on the thread T begins and ends; T has lp_budget_hook as its hook. */
void lp_budget_begin(struct lp_world *w, lua_State *T, struct lp_budget *b);
void lp_budget_end(struct lp_world *w, lua_State *T);
void lp_budget_hook(lua_State *L, lua_Debug *ar);

/* ---- lpolicy.c ------------------------------------------------------------
 */

/*
 * A policy, as a userdata: one in C, or one that a table is.  User value 1 is
 * what policy.lua says of that, the strings that `policy` points to included.
 */
enum { LP_MAX_FILTERS = 32, LP_MAX_OWN = 16 };

struct lp_class {
    const struct heddle_policy *p; /* one in C, or `policy` */
    struct heddle_policy policy;
    struct heddle_param param[HEDDLE_MAX_PARAMS + 1];
    struct heddle_filter filter[LP_MAX_FILTERS + 1];
    struct heddle_own own[LP_MAX_OWN + 1];
    lua_State *L;    /* main thread */
    int ref;         /* registry: keeps the userdata while it is being bound */
    uint64_t cycles; /* of `every`; 0: none */
    uint32_t cycle_param; /* or the parameter that holds them; UINT32_MAX */
    uint64_t instructions, bytes; /* budget of one call */
    int check;                    /* look for changed locals at every call */
};

/* The class at index i (heddle.policy's find makes it). */
struct lp_class *lp_class_check(lua_State *L, int i);
/* Keeps the userdata at index i alive while the policy is bound. */
void lp_class_hold(lua_State *L, int i, struct lp_class *c);
void lp_class_drop(lua_State *L, struct lp_class *c);
/* Values of parameters, by name: the list { name, value, ... } at index i; how
 * many (HEDDLE_MAX_PARAMS at most). */
uint32_t lp_values(lua_State *L, int i, const char **name, uint64_t *value);
/* Pushes a table of parameters as a list of tables. */
void lp_push_params(lua_State *L, const struct heddle_param *p);
/* Pushes a parameter's value: a number, or the name of a choice's. */
void lp_push_value(lua_State *L, const struct heddle_param *p, uint64_t value);
/* core.keys(t): the keys of a table in order. */
int lp_keys(lua_State *L);
/* core.points(), core.notes(): every decision, and everything that a watcher
 * can be reported. */
int lp_points(lua_State *L);
int lp_notes(lua_State *L);
int luaopen_heddle_bridge(lua_State *L);

/* ---- lbridge.c ------------------------------------------------------------
 */

/* Fills the functions that `c` has points and notes for; the spec is at index
 * t. */
void lp_bridge_fill(lua_State *L, int t, struct lp_class *c);
void lp_bridge_close(void *self); /* close() of all that it fills */
/* Pushes a copy of the state of a policy that is bound. */
void lp_bridge_state(lua_State *L, void *self);

/* Hidden inputs of a policy: its random stream and its counters. */
uint64_t lp_random(struct lp *p);
heddle_sim *lp_sim(struct lp *p);
/* The number of what the running policy has declared (heddle_own_number). */
int lp_own(struct lp *p, const char *name);

/* ---- lgen.c ---------------------------------------------------------------
 */

/* work.generator(spec) */
int lg_open(lua_State *L);

#endif
