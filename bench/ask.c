/*
 * ask.c - what a question to a policy costs.
 *
 * One slot (tlb_fill, four scalar fields read) is asked in a loop: the bare
 * default, a C policy through the checking wrapper, and a Lua policy with the
 * budget hook on, one that passes and one that reads the fields and answers.
 * Prints the least of several rounds, in ns of processor time a question.
 *
 *     build/release/bench/ask [questions]
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "../t/policy-lua.h"

enum { ROUNDS = 7 };

static int64_t c_policy(void *state, const void *question)
{
    const struct heddle_q_tlb_fill *q = question;

    (void)state;
    return q->warp < 24 && q->core != q->app + 7 && q->vpn > 3 ? 0 : 1;
}

static const struct heddle_policy native = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "native",
    .answer = {[HEDDLE_POINT_tlb_fill] = c_policy},
};

/* Least ns a question of several rounds. */
static double measure(long n)
{
    static const uint64_t who[1] = {0};
    struct heddle_q_tlb_fill q = {.app = 1,
                                  .core = 2,
                                  .vpn = 1000,
                                  .pages = 1,
                                  .requesters = 1,
                                  .who = who};
    const struct hd_slot *slot = &fake->slot[HEDDLE_POINT_tlb_fill];
    double best = 1e300;
    int64_t sum = 0;

    for (int r = 0; r < ROUNDS; r++) {
        double t = cpu_ns();
        for (long i = 0; i < n; i++) {
            q.warp = (uint64_t)i & 63;
            sum += hd_ask_tlb_fill(slot, &q);
        }
        t = (cpu_ns() - t) / (double)n;
        best = t < best ? t : best;
    }
    return sum == -1 ? 0 : best;
}

static void row(const char *name, double ns, const char *remark)
{
    printf("%-22s %10.1f  %-18s %s\n", name, ns, "ns a question", remark);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1000000;
    lua_State *L = lua_machine();
    const char *e;

    row("ask.default", measure(n * 10), "no policy bound");
    heddle_use(fake_sim(fake), &native, "", NULL, NULL, 0, 0);
    row("ask.c", measure(n * 10), "a C policy, its answers checked");
    heddle_unuse(fake_sim(fake), NULL, NULL);
    e = lua_use(L, "tlb_fill = function(q) return nil end");
    row("ask.pass", measure(n), "a Lua policy that answers nil");
    heddle_unuse(fake_sim(fake), NULL, NULL);
    e = e ? e
          : lua_use(L, "tlb_fill = function(q)"
                       " if q.warp < 24 and q.core ~= q.app + 7 and q.vpn > 3"
                       " then return 'l2tlb' end return 'bypass' end");
    row("ask.lua", measure(n), "a Lua policy that reads four fields");
    if (e || fake->err.code != 0)
        fprintf(stderr, "%s\n", e ? e : fake->err.text);
    lua_end(L);
    return e != NULL;
}
