/*
 * points.c - points.def, notes.def, the steering tables and the facts as data.
 *
 * Whoever prints, documents, checks or marshals questions reads these tables,
 * so nothing can differ from what the engine asks.  Each point has a function
 * of its own only because offsetof() needs the type of its question.
 *
 * Here are also the names of parameters that are choices.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>

#include <string.h>

#include "../core/config.h"
#include "slots.h"

#define FIELD(name, meaning)        {#name, NULL, meaning, offsetof(Q, name)},
#define ARRAY(name, count, meaning) {#name, #count, meaning, offsetof(Q, name)},

#define HD_POINT(name, at, heat, kind, limit, when, meaning, fields)           \
    static const struct heddle_point_info *point_##name(void)                  \
    {                                                                          \
        typedef struct heddle_q_##name Q;                                      \
        static const struct heddle_field_info f[] = {fields(FIELD, ARRAY)};    \
        static const struct heddle_point_info p = {                            \
            #name, at,      #heat,         #kind,     limit,                   \
            when,  meaning, HEDDLE_##kind, HD_LEN(f), f};                      \
        return &p;                                                             \
    }
#include "../points.def"
#undef HD_POINT

#define HD_NOTE(name, at, when, fields)                                        \
    static const struct heddle_note_info *note_##name(void)                    \
    {                                                                          \
        typedef struct heddle_n_##name Q;                                      \
        static const struct heddle_field_info f[] = {            \
            FIELD(cycle, "core cycle at which it happens")                      \
            fields(FIELD, ARRAY)};                                             \
        static const struct heddle_note_info n = {#name, at, when, HD_LEN(f),  \
                                                  f};                          \
        return &n;                                                             \
    }
#include "../notes.def"
#undef HD_NOTE

const struct heddle_point_info *heddle_point_info(uint32_t i)
{
    static const struct heddle_point_info *(*const of[])(void) = {
#define HD_POINT(name, ...) point_##name,
#include "../points.def"
#undef HD_POINT
    };
    return i < HD_LEN(of) ? of[i]() : NULL;
}

const struct heddle_note_info *heddle_note_info(uint32_t i)
{
    static const struct heddle_note_info *(*const of[])(void) = {
#define HD_NOTE(name, ...) note_##name,
#include "../notes.def"
#undef HD_NOTE
    };
    return i < HD_LEN(of) ? of[i]() : NULL;
}

/* The order is that of the cases in steer.c. */
const struct heddle_table_info *heddle_table_info(uint32_t i)
{
    static const struct heddle_table_info t[] = {
        {"l2_bypass", "l2cache", "application",
         "level: 0 data, 1 root .. 4 leaf", "0 to 255",
         "1: such requests go straight to DRAM; n above 1: but for one set of "
         "n"},
        {"dram_class", "dram", "application", "level: 0 data, 1 root .. 4 leaf",
         "0 normal, 1 silver, 2 golden", "DRAM queue of such requests"},
        {"dram_turn", "dram", "application", "0", "0 to 65535",
         "silver requests that a turn of the application lasts; 0: skipped; "
         "before anything is set there are no turns"},
        {"tlb_fill", "l2tlb", "application", "core", "bit set of warps",
         "warps whose walks may fill the L2 TLB; at first all"},
        {"tlb_fill_without", "l2tlb", "application", "0",
         "0 l2tlb, 1 bypass, 2 none",
         "where the walks of the other warps go; at first the bypass cache"},
        {"warp_limit", "core", "0", "core", "bit set of warps",
         "warps that may issue loads; at first all"},
    };
    return i < HD_LEN(t) ? &t[i] : NULL;
}

/* The order is that of enum hd_fact_name. */
const struct heddle_fact_info *heddle_fact_info(uint32_t i)
{
    static const struct heddle_fact_info f[] = {
        {"owner", "core", "application", "whose the core is"},
        {"warps", "core", "bit set of warps", "warps that issued"},
        {"walks", "application", "walks", "most page walks at once"},
        {"stalled", "application", "memory instructions",
         "most that one miss of a TLB held up"},
    };
    return i < HD_LEN(f) ? &f[i] : NULL;
}

const char *heddle_nearest(const char *name, const char *const *names, size_t n)
{
    return hd_nearest(name, names, n);
}

/* ---- parameters that are choices --------------------------------------- */

int heddle_param_value(const struct heddle_param *p, const char *name,
                       uint64_t *value)
{
    bool choice = p->unit != NULL && strchr(p->unit, '|') != NULL;
    int i = choice ? hd_choice_read(p->unit, name) : -1;

    if (i < 0)
        return HEDDLE_EINVAL;
    *value = (uint64_t)i;
    return HEDDLE_OK;
}

int heddle_param_name(const struct heddle_param *p, uint64_t value, char *out,
                      size_t room)
{
    if (p->unit == NULL || strchr(p->unit, '|') == NULL)
        return HEDDLE_EINVAL;
    hd_choice_print(p->unit, value, out, room);
    return HEDDLE_OK;
}
