/*
 * tracez.h - writes a .tracez from the text of a .traceg, as Accel-Sim 2.0
 * does (layout: src/work/trace/z.c): so many instructions a chunk, with a
 * dictionary or without.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEZ_H
#define TRACEZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "kit/grow.h"

static inline void tracez_int(struct hd_bytes *b, uint64_t v, size_t bytes)
{
    unsigned char p[8];

    hd_store64(p, v);
    hd_bytes_add(b, p, bytes);
}

static inline const char *tracez_line(const char *p, const char *end)
{
    const char *e = memchr(p, '\n', (size_t)(end - p));

    return e != NULL ? e + 1 : end;
}

/* Appends the file to `out`; its dictionary is the end of the text, as it is.
 */
static inline void tracez_make(const char *text, size_t n, uint32_t chunk,
                               bool dictionary, struct hd_bytes *out)
{
    const char *p = text, *end = text + n;
    struct hd_bytes index = {0}, rows = {0};
    uint32_t blocks = 0, warps = 0, at[3] = {0}, insts = 0;
    size_t dict = dictionary ? n < 1024 ? n : 1024 : 0, from = out->n;
    ZSTD_CCtx *c = ZSTD_createCCtx();

    while (p < end && strncmp(p, "#traces", 7) != 0)
        p = tracez_line(p, end);
    hd_bytes_add(out, text, (size_t)(p - text));
    tracez_int(out, 0, 1);
    tracez_int(out, dict, 4);
    tracez_int(out, chunk, 4);
    hd_bytes_add(out, end - dict, dict);
    while (p < end) {
        const char *next = tracez_line(p, end);
        sscanf(p, "thread block = %u,%u,%u", &at[0], &at[1], &at[2]);
        if (sscanf(p, "insts = %u", &insts) == 1) {
            uint32_t chunks = (insts + chunk - 1) / chunk;
            tracez_int(&rows, insts, 4);
            tracez_int(&rows, chunks, 4);
            tracez_int(&rows, out->n - from, 8);
            tracez_int(out, insts, 4);
            tracez_int(out, chunks, 4);
            warps++;
            for (uint32_t left = insts, k; left != 0; left -= k) {
                const char *e = next;
                k = left < chunk ? left : chunk;
                for (uint32_t i = 0; i < k; i++)
                    e = tracez_line(e, end);
                size_t bytes = e > next ? (size_t)(e - next) - 1 : 0;
                size_t most = ZSTD_compressBound(bytes);
                unsigned char *z = malloc(most);
                size_t did = ZSTD_compress_usingDict(c, z, most, next, bytes,
                                                     end - dict, dict, 3);
                tracez_int(&rows, k, 4);
                tracez_int(out, did, 4);
                hd_bytes_add(out, z, did);
                free(z);
                next = e;
            }
        } else if (strncmp(p, "#END_TB", 7) == 0) {
            for (unsigned i = 0; i < 10; i++)
                tracez_int(&index, i < 3 ? at[i] : 0, 4);
            tracez_int(&index, warps, 4);
            hd_bytes_add(&index, rows.p, rows.n);
            rows.n = warps = 0;
            blocks++;
        }
        p = next;
    }
    uint64_t place = out->n - from;
    tracez_int(out, blocks, 4);
    hd_bytes_add(out, index.p, index.n);
    tracez_int(out, place, 8);
    hd_bytes_free(&index);
    hd_bytes_free(&rows);
    ZSTD_freeCCtx(c);
}

#endif
