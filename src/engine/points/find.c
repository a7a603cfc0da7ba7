/*
 * find.c - policies by name: those compiled into the library, and plug-ins.
 *
 * A policy is one const struct at the foot of its own file, which includes
 * policy.h alone, as a plug-in does; a new one is added to the list here and is
 * then found by name, listed and explained.
 *
 * A plug-in is a shared object that exports heddle_policy_entry(), which
 * returns such a struct; nothing else is needed, and the struct is used as it
 * is.  It is checked with words at load: the entry, the version of the
 * interface, the names.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "kit/base.h"
#include "kit/diag.h"
#include "kit/library.h"
#include "tool.h"

extern const struct heddle_policy hd_policy_lru, hd_policy_fifo,
    hd_policy_random, hd_policy_srrip, hd_policy_gto, hd_policy_lrr,
    hd_policy_frfcfs, hd_policy_mask, hd_policy_cores, hd_policy_mosaic,
    hd_policy_lru_accessed, hd_policy_lfu, hd_policy_random_unit,
    hd_policy_throttle, hd_policy_delayed, hd_policy_etc, hd_policy_ccws,
    hd_policy_tcws, hd_policy_cpm, hd_policy_colt, hd_policy_runs,
    hd_policy_buddy, hd_policy_next_page, hd_policy_distance,
    hd_policy_dead_entry, hd_policy_victim_tlb, hd_policy_pte_line,
    hd_policy_dws, hd_policy_shortest_walks;

static const struct heddle_policy *const builtin[] = {
    &hd_policy_lru,    &hd_policy_fifo,         &hd_policy_random,
    &hd_policy_srrip,  &hd_policy_gto,          &hd_policy_lrr,
    &hd_policy_frfcfs, &hd_policy_mask,         &hd_policy_cores,
    &hd_policy_mosaic, &hd_policy_lru_accessed, &hd_policy_lfu,
    &hd_policy_random_unit, &hd_policy_throttle, &hd_policy_delayed,
    &hd_policy_etc,    &hd_policy_ccws,         &hd_policy_tcws,
    &hd_policy_cpm,    &hd_policy_colt,         &hd_policy_runs,
    &hd_policy_buddy,  &hd_policy_next_page,    &hd_policy_distance,
    &hd_policy_dead_entry, &hd_policy_victim_tlb, &hd_policy_pte_line,
    &hd_policy_dws,    &hd_policy_shortest_walks,
};

const struct heddle_policy *heddle_policy_builtin(uint32_t i)
{
    return i < HD_LEN(builtin) ? builtin[i] : NULL;
}

const struct heddle_policy *heddle_policy_find(const char *name,
                                               const char **nearest)
{
    const char *names[HD_LEN(builtin)];

    for (uint32_t i = 0; i < HD_LEN(builtin); i++) {
        names[i] = builtin[i]->name;
        if (strcmp(names[i], name) == 0)
            return builtin[i];
    }
    if (nearest)
        *nearest = hd_nearest(name, names, HD_LEN(builtin));
    return NULL;
}

/* ---- plug-ins ----------------------------------------------------------- */

static bool answers_anything(const struct heddle_policy *p)
{
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++)
        if (p->answer[i])
            return true;
    for (uint32_t i = 0; i < HEDDLE_NOTE_COUNT; i++)
        if (p->watch[i])
            return true;
    return p->epoch != NULL;
}

/* What is wrong with a policy from outside, or NULL; why[room] is for a text
 * with numbers. */
static const char *policy_fault(const struct heddle_policy *p, char *why,
                                size_t room)
{
    if (p == NULL)
        return "heddle_policy_entry() returned NULL";
    if (!hd_library_takes(p->abi, HEDDLE_POLICY_ABI_OLDEST, HEDDLE_POLICY_ABI,
                          "policy.h", why, room))
        return why;
    if (p->name == NULL || p->name[0] == '\0' || strlen(p->name) > 31)
        return "its policy needs a name of 1 to 31 bytes";
    if (strpbrk(p->name, " \t\n,/\"") != NULL)
        return "the name of its policy holds a blank, a comma, a slash or a "
               "quote";
    if (heddle_policy_find(p->name, NULL) != NULL)
        return "its policy has the name of a built-in one";
    if (p->epoch != NULL && p->period == NULL)
        return "its policy has epoch() but no period()";
    if (!answers_anything(p))
        return "its policy answers no point, watches no note and has no epoch";
    return NULL;
}

const struct heddle_policy *heddle_policy_load(const char *path,
                                               struct heddle_error *error)
{
    const struct heddle_policy *p = NULL;
    struct heddle_error err = {0};
    const char *wrong;
    hd_entry_fn *entry;
    char why[1024];

    entry = hd_library_entry(path, "heddle_policy_entry", why, sizeof why);
    if (entry == NULL) {
        hd_err_set(&err, HEDDLE_EPOLICY, "%s", why);
    } else {
        p = entry();
        wrong = policy_fault(p, why, sizeof why);
        if (wrong != NULL)
            hd_err_set(&err, HEDDLE_EPOLICY, "plug-in %s: %s", path, wrong);
    }
    return hd_err_give(&err, error) == 0 ? p : NULL;
}
