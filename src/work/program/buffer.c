/*
 * buffer.c - buffer contents: what the program gives is shared and never
 * changes; only pages that were written belong to a simulation.
 *
 * A page is copied when it is first written.  Snapshots take another
 * reference to the written pages instead of copying them, and a page with
 * more than one reference is copied again before it is written, so that a
 * snapshot costs one pointer a page and a restore the same.  Pages are
 * outside the arena: they are found by buffer and page number, and the
 * arena's snapshot and this one are taken together.
 *
 * From the first write on a buffer has a list of where each of its pages is to
 * be read: its own copy, the program's contents, a page of what the rest is
 * filled with, or a page of zeros.
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

void hd_bufdef_page(const struct hd_bufdef *d, unsigned char *page)
{
    for (uint32_t i = 0; i < HD_PAGE_BYTES; i += 1u << d->shift)
        memcpy(page + i, &d->fill, (size_t)1 << d->shift);
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
        if (p->buf[i].fill == 0)
            continue;
        b->v[i].rest = malloc(HD_PAGE_BYTES);
        if (b->v[i].rest == NULL) {
            hd_buffers_close(b);
            return HEDDLE_ENOMEM;
        }
        hd_bufdef_page(&p->buf[i], b->v[i].rest);
    }
    return 0;
}

static void bpage_release(struct hd_bpage *p)
{
    if (p != NULL && --p->refs == 0)
        free(p);
}

/* The lists of pages; the pages themselves have been given back. */
static void drop_pages(struct hd_buffer *b)
{
    free(b->page);
    free(b->view);
    free(b->tail);
    b->page = NULL;
    b->view = NULL;
    b->tail = NULL;
}

void hd_buffers_restart(struct hd_buffers *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct hd_buffer *f = &b->v[i];
        uint64_t n = f->page != NULL ? page_count(f) : 0;

        for (uint64_t p = 0; p < n; p++)
            bpage_release(f->page[p]);
        drop_pages(f);
    }
    b->pages = 0;
}

void hd_buffers_close(struct hd_buffers *b)
{
    hd_buffers_restart(b);
    for (uint32_t i = 0; i < b->n; i++)
        free(b->v[i].rest);
    free(b->v);
    b->v = NULL;
    b->n = 0;
}

/* ---- reading and writing ---------------------------------------------- */

const unsigned char *hd_buffer_read(const struct hd_buffer *b, uint64_t offset,
                                    uint64_t *room)
{
    if (b->view != NULL) {
        *room = HD_PAGE_BYTES - offset % HD_PAGE_BYTES;
        return hd_buffer_at(b, offset);
    }
    *room = 0;
    if (offset < b->first_bytes)
        *room = b->first_bytes - offset;
    else if (b->rest != NULL)
        *room = HD_PAGE_BYTES - offset % HD_PAGE_BYTES;
    return hd_buffer_at(b, offset);
}

bool hd_buffer_start(const struct hd_buffer *b, hd_va va, unsigned char *out)
{
    uint64_t at = b->def->va.v, end = at + (b->def->count << b->def->shift);
    uint64_t from = hd_max_u64(at, va.v);

    end = hd_min_u64(end, va.v + HD_PAGE_BYTES);
    if (b->def->scratch || from >= end)
        return true;
    for (uint64_t i = from; b->rest != NULL && i < end; i++)
        out[i - va.v] = b->rest[(i - at) % HD_PAGE_BYTES];
    end = hd_min_u64(at + b->first_bytes, end);
    if (from < end)
        memcpy(out + (from - va.v), b->first + (from - at), end - from);
    return b->def->contents != 0;
}

/* Where a page that was never written is to be read. */
static const unsigned char *unwritten(const struct hd_buffer *b, uint64_t page)
{
    static const unsigned char zeros[HD_PAGE_BYTES];
    uint64_t at = page * HD_PAGE_BYTES, size = b->def->count << b->def->shift;

    if (at >= b->first_bytes)
        return b->rest != NULL ? b->rest : zeros;
    return hd_min_u64(at + HD_PAGE_BYTES, size) <= b->first_bytes
               ? b->first + at
               : b->tail;
}

/* The lists of pages, before the first write.  False: no memory. */
static bool open_pages(struct hd_buffer *b)
{
    uint64_t n = page_count(b), end = b->first_bytes % HD_PAGE_BYTES;

    if (b->page != NULL)
        return true;
    b->page = calloc(n, sizeof(*b->page));
    b->view = calloc(n, sizeof(*b->view));
    b->tail = calloc(1, HD_PAGE_BYTES);
    if (b->page == NULL || b->view == NULL || b->tail == NULL) {
        drop_pages(b);
        return false;
    }
    if (b->rest != NULL)
        memcpy(b->tail, b->rest, HD_PAGE_BYTES);
    if (end > 0)
        memcpy(b->tail, b->first + b->first_bytes - end, end);
    for (uint64_t i = 0; i < n; i++)
        b->view[i] = unwritten(b, i);
    return true;
}

struct hd_bpage *hd_buffer_own(struct hd_buffers *all, struct hd_buffer *b,
                               uint64_t page)
{
    uint64_t at = page * HD_PAGE_BYTES;
    uint64_t n = (b->def->count << b->def->shift) - at;
    struct hd_bpage *p;

    if (!open_pages(b))
        return NULL;
    p = malloc(sizeof(*p));
    if (p == NULL)
        return NULL;
    p->refs = 1;
    p->spare = 0;
    n = hd_min_u64(n, HD_PAGE_BYTES);
    memcpy(p->byte, b->view[page], n);
    memset(p->byte + n, 0, HD_PAGE_BYTES - n);
    if (b->page[page] != NULL)
        bpage_release(b->page[page]);
    else
        all->pages++;
    b->view[page] = p->byte;
    return b->page[page] = p;
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

        if (!open_pages(f))
            return HEDDLE_ENOMEM;
        f->page[s->v[i].page] = s->v[i].p;
        f->view[s->v[i].page] = s->v[i].p->byte;
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
        bpage_release(s->v[i].p);
    free(s);
}

void hd_buffers_pack(const struct hd_buffers_saved *s, struct hd_bytes *out)
{
    hd_bytes_put(out, s->n);
    for (uint64_t i = 0; i < s->n; i++) {
        hd_bytes_put(out, s->v[i].buffer);
        hd_bytes_put(out, s->v[i].page);
        hd_bytes_add(out, s->v[i].p->byte, HD_PAGE_BYTES);
    }
}

struct hd_buffers_saved *hd_buffers_unpack(const struct hd_buffers *b,
                                           struct hd_cursor *in)
{
    uint64_t n = hd_cursor_count(in, HD_PAGE_BYTES + 2), next = 0;
    struct hd_buffers_saved *s = malloc(sizeof(*s) + n * sizeof(s->v[0]));

    in->oom |= s == NULL;
    for (uint64_t k = 0; s != NULL && k < n; k++) {
        uint64_t i = hd_cursor_get(in), page = hd_cursor_get(in);
        const void *bytes = hd_cursor_take(in, HD_PAGE_BYTES);
        struct hd_bpage *p = NULL;

        s->n = k;
        in->bad |= i >= b->n || page >= page_count(&b->v[i]) ||
                   (i << 32 | page) < next;
        if (!in->bad)
            p = malloc(sizeof(*p));
        if (p == NULL) {
            in->oom |= !in->bad;
            hd_buffers_drop(s);
            return NULL;
        }
        p->refs = 1;
        p->spare = 0;
        memcpy(p->byte, bytes, HD_PAGE_BYTES);
        s->v[k].buffer = (uint32_t)i;
        s->v[k].page = (uint32_t)page;
        s->v[k].p = p;
        next = (i << 32 | page) + 1;
    }
    if (s != NULL)
        s->n = n;
    return s;
}

uint64_t hd_buffers_bytes(const struct hd_buffers *b)
{
    return b->pages * HD_PAGE_BYTES;
}
