/*
 * rows.h - what a part can be told and what it counts, from one list.
 *
 * Each part has a list next to it (fault.c: fault.def) with a row for each
 * setting, counter and histogram:
 *
 *     U32(field, unit, default, least, most, meaning, source)   also U64
 *     SWITCH(field, default, meaning, source)                   0 or 1
 *     CHOICE(field, default, "a|b", meaning, source)            its index
 *     MODE(field, default, "a|b" or NULL, meaning, source)       struct hd_mode
 *     TEXT(field, unit, default, meaning, source)               char[64]
 *     COUNTER(index, name, unit, meaning)            and PEAK, LEVEL: stat.h
 *     HIST(index, name, unit, meaning)
 *
 * A setting has the name of its field, or with _AT both are given:
 * U32_AT(field, name, ...).  A default is text.  This file is included once
 * for each thing that is made of a list, with a macro that names it:
 *
 *     HD_FIELDS_OF "paging/fault.def"    fields of the settings' struct
 *     HD_COUNTERS_OF "..."               enumerators of the counters
 *     HD_HISTS_OF "..."                  enumerators of the histograms
 *     HD_PART_OF "..."                   struct hd_rows (config.h): all of it,
 *         with HD_PART: its name, HD_CFG: the settings' struct
 *
 * SPDX-License-Identifier: MIT
 */
#define U32(field, ...)    U32_AT(field, field, __VA_ARGS__)
#define U64(field, ...)    U64_AT(field, field, __VA_ARGS__)
#define SWITCH(field, ...) SWITCH_AT(field, field, __VA_ARGS__)
#define CHOICE(field, ...) CHOICE_AT(field, field, __VA_ARGS__)

#if defined HD_FIELDS_OF
#define U32_AT(field, ...)    uint32_t field;
#define U64_AT(field, ...)    uint64_t field;
#define SWITCH_AT(field, ...) uint32_t field;
#define CHOICE_AT(field, ...) uint32_t field;
#define MODE(field, ...)      struct hd_mode field;
#define TEXT(field, ...)      char field[HD_TEXT_ROOM];
#define COUNTER(...)
#define PEAK(...)
#define LEVEL(...)
#define HIST(...)
#include HD_FIELDS_OF
#undef HD_FIELDS_OF
#else
#define U32_AT(...)
#define U64_AT(...)
#define SWITCH_AT(...)
#define CHOICE_AT(...)
#define MODE(...)
#define TEXT(...)
#if defined HD_COUNTERS_OF
#define COUNTER(index, ...) index,
#define PEAK(index, ...)    index,
#define LEVEL(index, ...)   index,
#define HIST(...)
#include HD_COUNTERS_OF
#undef HD_COUNTERS_OF
#elif defined HD_HISTS_OF
#define COUNTER(...)
#define PEAK(...)
#define LEVEL(...)
#define HIST(index, ...) index,
#include HD_HISTS_OF
#undef HD_HISTS_OF
#else
#include "kit/config.h"
#include "kit/stat.h"
#define COUNTER(index, name, unit, meaning)                                    \
    {name, unit, meaning, HD_STAT_COUNT},
#define PEAK(index, name, unit, meaning)  {name, unit, meaning, HD_STAT_PEAK},
#define LEVEL(index, name, unit, meaning) {name, unit, meaning, HD_STAT_LEVEL},
#define HIST(...)
static const struct hd_stat_desc HD_PASTE(HD_PART, _counters)[] = {
#include HD_PART_OF
    {0}};
#undef COUNTER
#undef PEAK
#undef LEVEL
#undef HIST
#define COUNTER(...)
#define PEAK(...)
#define LEVEL(...)
#define HIST(index, name, unit, meaning)                                       \
    {HD_TEXT_OF(HD_PART), name, unit, meaning},
static const struct hd_hist_desc HD_PASTE(HD_PART, _hists)[] = {
#include HD_PART_OF
    {0}};
#undef HIST
#define HIST(...)
#undef U32_AT
#undef U64_AT
#undef SWITCH_AT
#undef CHOICE_AT
#undef MODE
#undef TEXT
#define HD_FIELD(field) (uint32_t) offsetof(HD_CFG, field)
#define U32_AT(field, name, unit, def, least, most, meaning, source)           \
    {#name, HD_T_U32, HD_FIELD(field), unit, def, least, most, NULL, meaning,  \
     source},
#define U64_AT(field, name, unit, def, least, most, meaning, source)           \
    {#name, HD_T_U64, HD_FIELD(field), unit, def, least, most, NULL, meaning,  \
     source},
#define SWITCH_AT(field, name, def, meaning, source)                           \
    {#name, HD_T_BOOL, HD_FIELD(field), "", def, 0, 1, NULL, meaning, source},
#define CHOICE_AT(field, name, def, choices, meaning, source)                  \
    {#name, HD_T_CHOICE, HD_FIELD(field), "", def, 0, 0, choices, meaning,     \
     source},
#define MODE(field, def, choices, meaning, source)                             \
    {#field, HD_T_MODE, HD_FIELD(field), "", def, 0, 0, choices, meaning,      \
     source},
#define TEXT(field, unit, def, meaning, source)                                \
    {#field, HD_T_TEXT, HD_FIELD(field), unit, def, 0, 0, NULL, meaning,       \
     source},
static const struct hd_setting HD_PASTE(HD_PART, _settings)[] = {
#include HD_PART_OF
    {0}};
#undef HD_FIELD
const struct hd_rows HD_PASTE(hd_rows_, HD_PART) = {
    .name = HD_TEXT_OF(HD_PART),
    .settings = HD_PASTE(HD_PART, _settings),
    .n = HD_LEN(HD_PASTE(HD_PART, _settings)) - 1,
    .counters = HD_PASTE(HD_PART, _counters),
    .counter_count = HD_LEN(HD_PASTE(HD_PART, _counters)) - 1,
    .hists = HD_PASTE(HD_PART, _hists),
    .hist_count = HD_LEN(HD_PASTE(HD_PART, _hists)) - 1,
};
#undef HD_PART_OF
#undef HD_PART
#undef HD_CFG
#endif
#endif

#undef U32
#undef U64
#undef SWITCH
#undef CHOICE
#undef U32_AT
#undef U64_AT
#undef SWITCH_AT
#undef CHOICE_AT
#undef MODE
#undef TEXT
#undef COUNTER
#undef PEAK
#undef LEVEL
#undef HIST
