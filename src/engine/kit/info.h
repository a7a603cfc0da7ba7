/*
 * info.h - descriptions that may grow: what heddle_app() and its like fill in.
 *
 * Such a structure begins with its size, which the caller sets to what the
 * header that it was compiled against says.  A later library has members after
 * those; it fills what the caller has room for, and what an earlier library
 * does not know is 0.  Members are never moved or removed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_INFO_H
#define HD_INFO_H

#include <string.h>

#include "kit/base.h"
#include "heddle.h"

/* No such structure is larger: a size above it was not set. */
enum { HD_INFO_MOST = 4096 };

/* Copies a description of so many bytes to the caller's structure, which begins
 * with a size_t; HEDDLE_EINVAL where that was not set. */
static inline int hd_info_give(void *out, const void *info, size_t bytes)
{
    size_t size;

    memcpy(&size, out, sizeof size);
    if (size <= sizeof size || size > HD_INFO_MOST)
        return HEDDLE_EINVAL;
    if (size > bytes)
        memset((unsigned char *)out + bytes, 0, size - bytes);
    memcpy((unsigned char *)out + sizeof size,
           (const unsigned char *)info + sizeof size,
           (size < bytes ? size : bytes) - sizeof size);
    return HEDDLE_OK;
}

#endif
