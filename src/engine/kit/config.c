/*
 * config.c - reading, writing and finding settings by name.
 *
 * A value is text until it is set, so that scripts, files and the command line
 * meet the same checks and the same words.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

static const char *const mode_name[] = {"off", "ideal", "fixed", "full"};

static void *field(struct hd_machine *m, const struct hd_part_info *g,
                   const struct hd_setting *s)
{
    return (char *)m + g->offset + s->offset;
}

/* ---- reading one value ------------------------------------------------- */

/* A number, decimal or 0x..., with an optional K, M or G (powers of 1024). */
static int config_read_number(const char *text, uint64_t *out)
{
    char *end;
    unsigned long long v;

    if (*text < '0' || *text > '9')
        return -1;
    errno = 0;
    v = strtoull(text, &end, text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10);
    if (errno != 0)
        return -1;
    for (unsigned shift = 10; shift <= 30; shift += 10) {
        if (*end != "KMG"[shift / 10 - 1])
            continue;
        if (v > UINT64_MAX >> shift)
            return -1;
        v <<= shift;
        end++;
        break;
    }
    *out = v;
    return *end == '\0' ? 0 : -1;
}

int hd_choice_read(const char *choices, const char *text)
{
    size_t n = strlen(text);
    int i = 0;

    for (const char *c = choices; c != NULL; i++) {
        if (strncmp(c, text, n) == 0 && (c[n] == '|' || c[n] == '\0'))
            return i;
        c = strchr(c, '|');
        c = c != NULL ? c + 1 : NULL;
    }
    return -1;
}

static int read_mode(const char *text, struct hd_mode *out)
{
    uint64_t n = 0;

    for (uint32_t k = 0; k < HD_LEN(mode_name); k++) {
        if (k == HD_FIXED || strcmp(text, mode_name[k]) != 0)
            continue;
        out->kind = k;
        out->fixed = 0;
        return 0;
    }
    if (strncmp(text, "fixed:", 6) != 0 ||
        config_read_number(text + 6, &n) != 0 || n > 1000000000u)
        return -1;
    out->kind = HD_FIXED;
    out->fixed = (uint32_t)n;
    return 0;
}

static int read_bool(const char *text)
{
    static const char *const no[] = {"0", "false", "off", "no"};
    static const char *const yes[] = {"1", "true", "on", "yes"};

    for (size_t i = 0; i < HD_LEN(no); i++) {
        if (strcmp(text, no[i]) == 0)
            return 0;
        if (strcmp(text, yes[i]) == 0)
            return 1;
    }
    return -1;
}

static int config_set_number(const char *full, const struct hd_setting *s,
                             void *p, const char *value,
                             struct heddle_error *err)
{
    uint64_t v;

    if (config_read_number(value, &v) != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s: '%s' is not a whole number (K, M and G are "
                          "understood)",
                          full, value);
    if (v < s->min || v > s->max)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s: %s is out of range, %llu to %llu%s%s expected",
                          full, value, (unsigned long long)s->min,
                          (unsigned long long)s->max, *s->unit ? " " : "",
                          s->unit);
    if (s->type == HD_T_U64)
        *(uint64_t *)p = v;
    else
        *(uint32_t *)p = (uint32_t)v;
    return 0;
}

static int set_value(const char *full, const struct hd_setting *s, void *p,
                     const char *value, struct heddle_error *err)
{
    int k;

    switch (s->type) {
    case HD_T_U32:
    case HD_T_U64:
        return config_set_number(full, s, p, value, err);
    case HD_T_BOOL:
        k = read_bool(value);
        if (k < 0)
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "%s: '%s' is neither true nor false", full,
                              value);
        *(uint32_t *)p = (uint32_t)k;
        return 0;
    case HD_T_CHOICE:
        k = hd_choice_read(s->choices, value);
        if (k < 0)
            return hd_err_set(err, HEDDLE_ECONFIG, "%s: '%s' is none of %s",
                              full, value, s->choices);
        *(uint32_t *)p = (uint32_t)k;
        return 0;
    case HD_T_MODE:
        if (read_mode(value, p) != 0)
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "%s: '%s' is none of off, ideal, fixed:N "
                              "(N cycles) or full",
                              full, value);
        return 0;
    default:
        if (strlen(value) >= HD_TEXT_ROOM)
            return hd_err_set(err, HEDDLE_ECONFIG,
                              "%s: at most %d characters are expected", full,
                              HD_TEXT_ROOM - 1);
        strcpy(p, value);
        return 0;
    }
}

/* ---- finding by name --------------------------------------------------- */

static const struct hd_setting *find(const char *name,
                                     const struct hd_part_info **group)
{
    const char *dot = strchr(name, '.'); /* no part has one in its name */
    size_t n = dot != NULL ? (size_t)(dot - name) : 0;

    for (uint32_t i = 0; n > 0 && i < hd_part_count; i++) {
        const struct hd_rows *g = hd_parts[i].rows;
        if (g->name[0] != name[0] || strncmp(name, g->name, n) != 0 ||
            g->name[n] != '\0')
            continue;
        for (uint32_t k = 0; k < g->n; k++) {
            if (strcmp(dot + 1, g->settings[k].name) == 0) {
                *group = &hd_parts[i];
                return &g->settings[k];
            }
        }
    }
    return NULL;
}

static int config_unknown(const char *name, struct heddle_error *err)
{
    enum { MOST = 512, LONG = 64 };
    char room[MOST][LONG];
    const char *names[MOST] = {NULL}, *near, *part = NULL;
    uint32_t n = 0;
    size_t dot = strcspn(name, ".");

    for (uint32_t i = 0; i < hd_part_count; i++) {
        const struct hd_rows *g = hd_parts[i].rows;
        if (strlen(g->name) == dot && strncmp(name, g->name, dot) == 0)
            part = g->name;
        for (uint32_t k = 0; k < g->n && n < MOST; k++) {
            snprintf(room[n], LONG, "%s.%s", g->name, g->settings[k].name);
            names[n] = room[n];
            n++;
        }
    }
    near = hd_nearest(name, names, n);
    if (near == NULL)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s: there is no such setting (see 'heddle list "
                          "settings%s%.*s')",
                          name, part == NULL ? "" : " ",
                          part == NULL ? 0 : (int)dot + 1, name);
    return hd_err_set(err, HEDDLE_ECONFIG,
                      "%s: there is no such setting; did you mean %s?", name,
                      near);
}

int hd_machine_set(struct hd_machine *m, const char *name, const char *value,
                   struct heddle_error *err)
{
    const struct hd_part_info *g = NULL;
    const struct hd_setting *s = find(name, &g);

    if (s == NULL)
        return config_unknown(name, err);
    return set_value(name, s, field(m, g, s), value, err);
}

const struct hd_setting *hd_setting_at(uint32_t i,
                                       const struct hd_part_info **part)
{
    for (uint32_t n = 0; n < hd_part_count; n++) {
        *part = &hd_parts[n];
        if (i < hd_parts[n].rows->n)
            return &hd_parts[n].rows->settings[i];
        i -= hd_parts[n].rows->n;
    }
    return NULL;
}

void hd_machine_defaults(struct hd_machine *m)
{
    struct heddle_error err = {0, ""};

    memset(m, 0, sizeof *m);
    for (uint32_t i = 0; i < hd_part_count; i++) {
        const struct hd_rows *g = hd_parts[i].rows;
        for (uint32_t k = 0; k < g->n; k++)
            set_value(g->settings[k].name, &g->settings[k],
                      field(m, &hd_parts[i], &g->settings[k]),
                      g->settings[k].def, &err);
    }
    hd_assert(err.code == 0);
}

/* ---- writing ----------------------------------------------------------- */

void hd_choice_print(const char *choices, uint64_t i, char *out, size_t room)
{
    const char *c = choices;

    while (i-- > 0 && c != NULL) {
        c = strchr(c, '|');
        c = c != NULL ? c + 1 : NULL;
    }
    if (c == NULL)
        c = "?";
    snprintf(out, room, "%.*s", (int)strcspn(c, "|"), c);
}

/* A value as text that hd_machine_set reads back; of what a file has, "?" for
 * what is none. */
static void config_print(const struct hd_setting *s, const void *part,
                         char *out, size_t room)
{
    const void *p = (const char *)part + s->offset;
    const struct hd_mode *m = p;

    switch (s->type) {
    case HD_T_U64:
        snprintf(out, room, "%llu", (unsigned long long)*(const uint64_t *)p);
        break;
    case HD_T_U32:
        snprintf(out, room, "%u", *(const uint32_t *)p);
        break;
    case HD_T_BOOL:
        snprintf(out, room, "%s", *(const uint32_t *)p ? "true" : "false");
        break;
    case HD_T_CHOICE:
        hd_choice_print(s->choices, *(const uint32_t *)p, out, room);
        break;
    case HD_T_MODE:
        if (m->kind == HD_FIXED)
            snprintf(out, room, "fixed:%u", m->fixed);
        else
            snprintf(out, room, "%s",
                     m->kind < HD_LEN(mode_name) ? mode_name[m->kind] : "?");
        break;
    default:
        snprintf(out, room, "%.*s", HD_TEXT_ROOM - 1, (const char *)p);
    }
}

int hd_machine_get(const struct hd_machine *m, const char *name, char *out,
                   size_t room, struct heddle_error *err)
{
    const struct hd_part_info *g = NULL;
    const struct hd_setting *s = find(name, &g);

    if (s == NULL)
        return config_unknown(name, err);
    config_print(s, (const char *)m + g->offset, out, room);
    return 0;
}
