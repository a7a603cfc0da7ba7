/*
 * buffer.h - the contents of one application's buffers during a simulation.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_BUFFER_H
#define HD_BUFFER_H

#include <string.h>

#include "kit/grow.h"
#include "program.h"

/* A written page, counted by reference. */
struct hd_bpage {
    uint32_t refs;
    uint32_t spare;
    unsigned char byte[HD_PAGE_BYTES];
};

struct hd_buffer {
    const struct hd_bufdef *def;
    const unsigned char *first; /* contents at the start, or NULL: zeros */
    uint64_t first_bytes;
    struct hd_bpage **page; /* written pages; NULL before the first */
    /* where the bytes of each page are, written or not; NULL as `page` */
    const unsigned char **view;
    unsigned char *rest; /* a page of what is behind `first`, or NULL: zeros */
    unsigned char *tail; /* the page in which `first` ends, and then `rest` */
};

struct hd_buffers {
    uint32_t n;
    uint64_t pages; /* written, in use now */
    struct hd_buffer *v;
};

/* What a snapshot keeps of them. */
struct hd_buffers_saved;

/* A page of elements as those that have no data begin. */
void hd_bufdef_page(const struct hd_bufdef *d, unsigned char *page);

/* Buffers as the program describes them.  0 or HEDDLE_ENOMEM. */
int hd_buffers_open(struct hd_buffers *b, const struct heddle_program *p);
void hd_buffers_close(struct hd_buffers *b);
/* Back to the contents at the start. */
void hd_buffers_restart(struct hd_buffers *b);

/* An element; index < count, and the buffer has contents. */
union heddle_value hd_buffer_get(const struct hd_buffer *b, uint64_t index);
/* Sets an element.  0 or HEDDLE_ENOMEM. */
int hd_buffer_set(struct hd_buffers *all, struct hd_buffer *b, uint64_t index,
                  union heddle_value v);

/* Where the bytes at `offset` are; *room is how many of them there are to read
 * (0: they are zero). */
const unsigned char *hd_buffer_read(const struct hd_buffer *b, uint64_t offset,
                                    uint64_t *room);
/* Copies what a buffer held at the start within the 4 KB from va on to its
 * place there.  False: it has some of them, and no contents. */
bool hd_buffer_start(const struct hd_buffer *b, hd_va va, unsigned char *out);
/* Makes a page of its own of one that is not, or is a snapshot's, too; NULL:
 * no memory. */
struct hd_bpage *hd_buffer_own(struct hd_buffers *all, struct hd_buffer *b,
                               uint64_t page);

struct hd_buffers_saved *hd_buffers_save(const struct hd_buffers *b);
int hd_buffers_load(struct hd_buffers *b, const struct hd_buffers_saved *s);
void hd_buffers_drop(struct hd_buffers_saved *s);
/* As bytes, and again from them; NULL: the reader is bad, or out of memory. */
void hd_buffers_pack(const struct hd_buffers_saved *s, struct hd_bytes *out);
struct hd_buffers_saved *hd_buffers_unpack(const struct hd_buffers *b,
                                           struct hd_cursor *in);
/* Bytes of written pages. */
uint64_t hd_buffers_bytes(const struct hd_buffers *b);

/* ---- elements ----------------------------------------------------------- */

/* Where the element at `offset` is, or NULL: it is zero. */
static inline const unsigned char *hd_buffer_at(const struct hd_buffer *b,
                                                uint64_t offset)
{
    if (b->view != NULL)
        return b->view[offset / HD_PAGE_BYTES] + offset % HD_PAGE_BYTES;
    if (offset < b->first_bytes)
        return b->first + offset;
    return b->rest != NULL ? b->rest + offset % HD_PAGE_BYTES : NULL;
}

/* The bytes at `offset` to be written, valid up to the end of their 4 KB page,
 * or NULL: no memory. */
static inline unsigned char *
hd_buffer_write(struct hd_buffers *all, struct hd_buffer *b, uint64_t offset)
{
    uint64_t page = offset / HD_PAGE_BYTES;
    struct hd_bpage *p = b->page != NULL ? b->page[page] : NULL;

    if (HD_UNLIKELY(p == NULL || p->refs > 1))
        p = hd_buffer_own(all, b, page);
    return p != NULL ? p->byte + offset % HD_PAGE_BYTES : NULL;
}

/* One element from or to memory. */
static inline union heddle_value hd_element_get(uint8_t type,
                                                const unsigned char *p)
{
    union heddle_value v = {0};

    if (type == HEDDLE_U8) {
        v.i = *p;
    } else if (type == HEDDLE_U16) {
        uint16_t u;

        memcpy(&u, p, 2);
        v.i = u;
    } else if (type == HEDDLE_I64 || type == HEDDLE_F64) {
        memcpy(&v, p, 8);
    } else if (type == HEDDLE_F32) {
        float f;

        memcpy(&f, p, 4);
        v.f = (double)f;
    } else {
        uint32_t u;

        memcpy(&u, p, 4);
        v.i = type == HEDDLE_U32 ? (int64_t)u : (int64_t)(int32_t)u;
    }
    return v;
}

static inline void hd_element_set(uint8_t type, unsigned char *p,
                                  union heddle_value v)
{
    if (type == HEDDLE_U8) {
        *p = (unsigned char)v.i;
    } else if (type == HEDDLE_U16) {
        uint16_t u = (uint16_t)v.i;

        memcpy(p, &u, 2);
    } else if (type == HEDDLE_I64 || type == HEDDLE_F64) {
        memcpy(p, &v, 8);
    } else if (type == HEDDLE_F32) {
        float f = (float)v.f;

        memcpy(p, &f, 4);
    } else {
        uint32_t u = (uint32_t)v.i;

        memcpy(p, &u, 4);
    }
}

#endif
