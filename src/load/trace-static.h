/*
 * trace-static.h - the static instructions of a kernel of a text trace.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_STATIC_H
#define HD_TRACE_STATIC_H

#include "trace-box.h"
#include "trace-scan.h"
#include "trace-warp.h"

/* What a line says besides its mask and its addresses. */
struct hd_static {
    struct hd_tinst i;
    char *pre, *post; /* texts before and after the mask, padded by 8 */
    uint32_t pre_len, post_len;
    bool addressed, bulk;
    struct hd_static *next[2]; /* what followed it, latest second */
    uint64_t hash;
};

struct hd_statics {
    struct hd_box *box; /* opcodes become strings of it */
    uint32_t version;   /* of the tracer */
    bool lineinfo;      /* lines begin with a line number */
    struct hd_static start, marker;
    struct hd_static_chunk *chunk;
    size_t n;
    struct hd_static **slot;
    size_t slots;
    struct hd_err err;
};

/* Records what was expected at a place in a line; returns NULL. */
const char *hd_static_expected(struct hd_err *err, const char *what,
                               const char *at);
/* Frees all instructions. */
void hd_statics_forget(struct hd_statics *c);
/* Parses a line word by word up to its width: the instruction, new or known,
 * and the mask.  Returns what follows, or NULL with c->err set. */
const char *hd_statics_scan(struct hd_statics *c, const char *p, uint64_t *mask,
                            struct hd_static **out);

/* What follows the width where a line begins like instruction s, else NULL;
 * s may be NULL. */
static inline const char *hd_static_fits(const struct hd_static *s,
                                         const char *p, uint64_t *mask)
{
    if (s == NULL || !hd_scan_same(p, s->pre, s->pre_len))
        return NULL;
    p += s->pre_len;
    if (!hd_scan_hex8(p, mask) || !hd_scan_same(p + 8, s->post, s->post_len))
        return NULL;
    p += 8 + s->post_len;
    return *p == ' ' || *p == '\n' ? p : NULL;
}

#endif
