/*
 * elements.c - arrays of elements, counted by reference: what buffers start with
 * and generators make.
 *
 * SPDX-License-Identifier: MIT
 */
#include "heddle_program.h"

#include <stdlib.h>

#include "kit/arena.h"
#include "kit/base.h"

uint32_t heddle_type_bytes(enum heddle_type t)
{
    static const uint8_t bytes[HEDDLE_TYPES] = {1, 4, 4, 8, 4, 8, 2};

    return (unsigned)t < HEDDLE_TYPES ? bytes[t] : 0;
}

heddle_data *heddle_data_new(enum heddle_type type, uint64_t count)
{
    uint32_t bytes = heddle_type_bytes(type);
    heddle_data *d;

    if (bytes == 0 || count > (UINT64_C(1) << 40))
        return NULL;
    d = malloc(sizeof(*d));
    if (d == NULL)
        return NULL;
    d->type = type;
    d->refs = 1;
    d->count = count;
    d->mem = calloc(count > 0 ? count : 1, bytes);
    if (d->mem == NULL) {
        free(d);
        return NULL;
    }
    hd_huge_pages(d->mem, count * bytes);
    return d;
}

heddle_data *heddle_data_ref(heddle_data *d)
{
    d->refs++;
    return d;
}

void heddle_data_free(heddle_data *d)
{
    if (d != NULL && --d->refs == 0) {
        free(d->mem);
        free(d);
    }
}
