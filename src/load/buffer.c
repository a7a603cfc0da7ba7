/*
 * buffer.c - buffer contents: what the program gives is shared and never
 * changes; only pages that were written belong to a simulation.
 *
 * A page is copied when it is first written.  Snapshots take another
 * reference to the written pages instead of copying them, and a page with
 * more than one reference is copied again before it is written, so that a
 * snapshot costs one pointer a page and a restore the same.  Pages lie
 * outside the arena: they are found by buffer and page number, and the
 * arena's snapshot and this one are taken together.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "buffer.h"

struct hd_buffers_saved {
    uint64_t n;
    struct {
        uint32_t buffer, page;
        struct hd_bpage *p;
    } v[];
};

static uint64_t page_count(const struct hd_buffer *b)
{
    return hd_ceil_div(b->def->count << b->def->shift, HD_PAGE_BYTES);
}

int hd_buffers_open(struct hd_buffers *b, const struct heddle_program *p)
{
    memset(b, 0, sizeof(*b));
    b->v = calloc(p->nbuf + 1, sizeof(*b->v));
    if (b->v == NULL)
        return HEDDLE_ENOMEM;
    b->n = p->nbuf;
    for (uint32_t i = 0; i < b->n; i++) {
        b->v[i].def = &p->buf[i];
        if (p->buf[i].data != NULL) {
            b->v[i].first = p->buf[i].data->mem;
            b->v[i].first_bytes = p->buf[i].data->count << p->buf[i].shift;
        }
    }
    return 0;
}

static void give(struct hd_bpage *p)
{
    if (p != NULL && --p->refs == 0)
        free(p);
}

void hd_buffers_restart(struct hd_buffers *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct hd_buffer *f = &b->v[i];
        uint64_t n = f->page != NULL ? page_count(f) : 0;

        for (uint64_t p = 0; p < n; p++)
            give(f->page[p]);
        free(f->page);
        f->page = NULL;
    }
    b->pages = 0;
}

void hd_buffers_close(struct hd_buffers *b)
{
    hd_buffers_restart(b);
    free(b->v);
    b->v = NULL;
    b->n = 0;
}

/* ---- reading and writing ---------------------------------------------- */

const unsigned char *hd_buffer_read(const struct hd_buffer *b, uint64_t offset,
                                    uint64_t *room)
{
    uint64_t page = offset / HD_PAGE_BYTES, in = offset % HD_PAGE_BYTES;
    uint64_t left = HD_PAGE_BYTES - in;

    if (b->page != NULL && b->page[page] != NULL) {
        *room = left;
        return b->page[page]->byte + in;
    }
    *room = offset >= b->first_bytes
                ? 0
                : hd_min_u64(left, b->first_bytes - offset);
    return *room > 0 ? b->first + offset : NULL;
}

static struct hd_bpage *own(struct hd_buffers *all, struct hd_buffer *b,
                            uint64_t page)
{
    struct hd_bpage *old, *p;
    uint64_t at = page * HD_PAGE_BYTES;

    if (b->page == NULL) {
        b->page = calloc(page_count(b), sizeof(*b->page));
        if (b->page == NULL)
            return NULL;
    }
    old = b->page[page];
    p = malloc(sizeof(*p));
    if (p == NULL)
        return NULL;
    p->refs = 1;
    p->spare = 0;
    if (old != NULL) {
        memcpy(p->byte, old->byte, sizeof(p->byte));
        give(old);
    } else {
        uint64_t n = at >= b->first_bytes
                         ? 0
                         : hd_min_u64(HD_PAGE_BYTES, b->first_bytes - at);

        if (n > 0)
            memcpy(p->byte, b->first + at, n);
        memset(p->byte + n, 0, HD_PAGE_BYTES - n);
        all->pages++;
    }
    return b->page[page] = p;
}

unsigned char *hd_buffer_write(struct hd_buffers *all, struct hd_buffer *b,
                               uint64_t offset)
{
    uint64_t page = offset / HD_PAGE_BYTES;
    struct hd_bpage *p = b->page != NULL ? b->page[page] : NULL;

    if (HD_UNLIKELY(p == NULL || p->refs > 1))
        p = own(all, b, page);
    return p != NULL ? p->byte + offset % HD_PAGE_BYTES : NULL;
}

union heddle_value hd_buffer_get(const struct hd_buffer *b, uint64_t index)
{
    const unsigned char *p = hd_buffer_at(b, index << b->def->shift);

    return p != NULL ? hd_element_get(b->def->type, p)
                     : (union heddle_value){0};
}

int hd_buffer_set(struct hd_buffers *all, struct hd_buffer *b, uint64_t index,
                  union heddle_value v)
{
    unsigned char *p = hd_buffer_write(all, b, index << b->def->shift);

    if (p == NULL)
        return HEDDLE_ENOMEM;
    hd_element_set(b->def->type, p, v);
    return 0;
}

/* ---- snapshots -------------------------------------------------------- */

struct hd_buffers_saved *hd_buffers_save(const struct hd_buffers *b)
{
    struct hd_buffers_saved *s;

    s = malloc(sizeof(*s) + (size_t)b->pages * sizeof(s->v[0]));
    if (s == NULL)
        return NULL;
    s->n = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        const struct hd_buffer *f = &b->v[i];
        uint64_t n = f->page != NULL ? page_count(f) : 0;

        for (uint64_t p = 0; p < n; p++) {
            if (f->page[p] == NULL)
                continue;
            f->page[p]->refs++;
            s->v[s->n].buffer = i;
            s->v[s->n].page = (uint32_t)p;
            s->v[s->n++].p = f->page[p];
        }
    }
    hd_assert(s->n == b->pages);
    return s;
}

int hd_buffers_load(struct hd_buffers *b, const struct hd_buffers_saved *s)
{
    hd_buffers_restart(b);
    for (uint64_t i = 0; i < s->n; i++) {
        struct hd_buffer *f = &b->v[s->v[i].buffer];

        if (f->page == NULL)
            f->page = calloc(page_count(f), sizeof(*f->page));
        if (f->page == NULL)
            return HEDDLE_ENOMEM;
        f->page[s->v[i].page] = s->v[i].p;
        s->v[i].p->refs++;
        b->pages++;
    }
    return 0;
}

void hd_buffers_drop(struct hd_buffers_saved *s)
{
    if (s == NULL)
        return;
    for (uint64_t i = 0; i < s->n; i++)
        give(s->v[i].p);
    free(s);
}

uint64_t hd_buffers_bytes(const struct hd_buffers *b)
{
    return b->pages * HD_PAGE_BYTES;
}
