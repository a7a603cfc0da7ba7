/*
 * number.h - the value of a setting of a part alone.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_NUMBER_H
#define HD_NUMBER_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* Reads a number, decimal or 0x..., from min to max; 0, or -1 if it is none. */
static inline int hd_read_number(const char *s, uint64_t min, uint64_t max,
                                 uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(s, &end, s[0] == '0' && (s[1] | 32) == 'x' ? 16 : 10);
    return *s < '0' || *s > '9' || errno != 0 || *end != '\0' || *out < min ||
                   *out > max
               ? -1
               : 0;
}

#endif
