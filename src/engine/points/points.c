/*
 * points.c - points.def and notes.def as data.
 *
 * All that prints, documents, checks or marshals questions reads these tables,
 * so nothing can differ from what the engine asks.  Each point has a function
 * of its own only because offsetof() needs the type of its question.
 *
 * Here are also the words of choices.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>

#include <string.h>

#include "kit/rng.h"
#include "kit/config.h"
#include "slots.h"

#define FIELD(name, meaning) {#name, NULL, NULL, meaning, offsetof(Q, name)},
#define ARRAY(name, count, meaning)                                            \
    {#name, #count, NULL, meaning, offsetof(Q, name)},
#define WORD(name, words, meaning)                                             \
    {#name, NULL, HD_WORDS_OF(words), meaning, offsetof(Q, name)},

#define HD_POINT(name, at, heat, kind, limit, when, meaning, fields)           \
    static const struct heddle_point_info *point_##name(void)                  \
    {                                                                          \
        typedef struct heddle_q_##name Q;                                      \
        static const struct heddle_field_info f[] = {                          \
            fields(FIELD, ARRAY, WORD)};                                       \
        static const struct heddle_point_info p = {                            \
            #name, at,      #heat,         #kind,     limit,                   \
            when,  meaning, HEDDLE_##kind, HD_LEN(f), f};                      \
        return &p;                                                             \
    }
#include "points.def"
#undef HD_POINT

#define HD_NOTE(name, at, when, fields)                                        \
    static const struct heddle_note_info *note_##name(void)                    \
    {                                                                          \
        typedef struct heddle_n_##name Q;                                      \
        static const struct heddle_field_info f[] = {            \
            FIELD(cycle, "core cycle at which it happens")                     \
            fields(FIELD, ARRAY, WORD)};                                       \
        static const struct heddle_note_info n = {#name, at, when, HD_LEN(f),  \
                                                  f};                          \
        return &n;                                                             \
    }
#include "notes.def"
#undef HD_NOTE

const struct heddle_point_info *heddle_point_info(uint32_t i)
{
    static const struct heddle_point_info *(*const of[])(void) = {
#define HD_POINT(name, ...) point_##name,
#include "points.def"
#undef HD_POINT
    };
    return i < HD_LEN(of) ? of[i]() : NULL;
}

int heddle_point_find(const char *name)
{
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++)
        if (strcmp(heddle_point_info(i)->name, name) == 0)
            return (int)i;
    return -1;
}

const struct heddle_note_info *heddle_note_info(uint32_t i)
{
    static const struct heddle_note_info *(*const of[])(void) = {
#define HD_NOTE(name, ...) note_##name,
#include "notes.def"
#undef HD_NOTE
    };
    return i < HD_LEN(of) ? of[i]() : NULL;
}

uint64_t heddle_draw(uint64_t seed, uint64_t k, uint64_t n)
{
    uint64_t d = hd_mix64(hd_mix64(seed) + hd_mix64(k));

    return (d >> 32) * n >> 32;
}

const char *heddle_nearest(const char *name, const char *const *names, size_t n)
{
    return hd_nearest(name, names, n);
}

_Static_assert((int)HEDDLE_POINT_COUNT <= (int)HEDDLE_POINT_ROOM &&
                   (int)HEDDLE_NOTE_COUNT <= (int)HEDDLE_NOTE_ROOM,
               "a policy has room for them");

/* ---- words ------------------------------------------------------------- */

int heddle_word_value(const char *words, const char *word, uint64_t *value)
{
    bool choice = words != NULL && strchr(words, '|') != NULL;
    int i = choice ? hd_choice_read(words, word) : -1;

    if (i < 0)
        return HEDDLE_EINVAL;
    *value = (uint64_t)i;
    return HEDDLE_OK;
}

int heddle_word_name(const char *words, uint64_t value, char *out, size_t room)
{
    if (words == NULL || strchr(words, '|') == NULL)
        return HEDDLE_EINVAL;
    hd_choice_print(words, value, out, room);
    return HEDDLE_OK;
}
