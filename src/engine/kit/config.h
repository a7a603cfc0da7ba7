/*
 * config.h - settings: declared beside the part that uses them, checked and
 * frozen before cycle 0.
 *
 * Each part has a plain struct of settings and a const table that names its
 * fields by offset, with unit, default, range, meaning and source.  The
 * machine's settings are one struct that holds all of them (machine.h).  A
 * setting is addressed as "group.name", for example "l1tlb.entries".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_CONFIG_H
#define HD_CONFIG_H

#include <stddef.h>

#include "heddle.h"
#include "base.h"
#include "diag.h"

/* How a level of the machine is modelled. */
enum hd_mode_kind { HD_OFF, HD_IDEAL, HD_FIXED, HD_FULL };

struct hd_mode {
    uint32_t kind;  /* enum hd_mode_kind */
    uint32_t fixed; /* cycles, for HD_FIXED */
};

enum hd_type {
    HD_T_U32,
    HD_T_U64,
    HD_T_BOOL,   /* uint32_t 0 or 1 */
    HD_T_CHOICE, /* uint32_t index into choices, "a|b|c" */
    HD_T_MODE,   /* struct hd_mode, "off|ideal|fixed:N|full" */
    HD_T_TEXT,   /* char[64] */
};

enum { HD_TEXT_ROOM = 64 };

struct hd_setting {
    const char *name;    /* without the group */
    uint8_t type;        /* enum hd_type */
    uint32_t offset;     /* in the part's struct */
    const char *unit;    /* "entries", "cycles", "" */
    const char *def;     /* default, as text */
    uint64_t min, max;   /* range of numbers */
    const char *choices; /* "lru|fifo", for HD_T_CHOICE */
    const char *meaning;
    const char *source; /* a paper's table, a datasheet, or "guess" */
};

/* What a part can be told and what it counts: the rows of its list (rows.h).
 * After the last of each stands an empty one. */
struct hd_rows {
    const char *name; /* "l1tlb" */
    const struct hd_setting *settings;
    const struct hd_stat_desc *counters;
    const struct hd_hist_desc *hists;
    uint32_t n, counter_count, hist_count;
};

struct hd_machine; /* machine.h: all settings of a simulation */

/* A part of the machine, known before one is built (parts.def). */
struct hd_part_info {
    const struct hd_rows *rows;
    uint32_t offset; /* of its settings in struct hd_machine */
    /* What two settings of the part can get wrong; may be NULL. */
    int (*check)(const void *cfg, const char *name, struct heddle_error *err);
};

extern const struct hd_part_info hd_parts[];
extern const uint32_t hd_part_count;

#define PART(name, ...) extern const struct hd_rows hd_rows_##name;
#include "parts.def"
#undef PART

/* The i-th setting of all, and its part; NULL past the last. */
const struct hd_setting *hd_setting_at(uint32_t i,
                                       const struct hd_part_info **part);

/* Every setting to its default. */
void hd_machine_defaults(struct hd_machine *m);

/* Index of a word in "a|b|c", or -1; and the word of an index, or "?". */
int hd_choice_read(const char *choices, const char *text);
void hd_choice_print(const char *choices, uint64_t i, char *out, size_t room);

/* Sets "group.name" from text.  Unknown names suggest the nearest one. */
int hd_machine_set(struct hd_machine *m, const char *name, const char *value,
                   struct heddle_error *err);

/* Writes the value of "group.name" as text. */
int hd_machine_get(const struct hd_machine *m, const char *name, char *out,
                   size_t room, struct heddle_error *err);

/* Checks what one setting's range cannot: sizes that must divide, contradictory
 * modes.  0 or HEDDLE_ECONFIG. */
int hd_machine_check(const struct hd_machine *m, struct heddle_error *err);

#endif
