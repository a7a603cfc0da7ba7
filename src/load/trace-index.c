/*
 * trace-index.c - the index of a trace container as bytes.
 *
 * Integers are of variable length (grow.h) unless a size is given:
 *
 *   strings    count, then each: length, bytes
 *   contexts   count, then each: name, first local word, local words, local
 *              base,
 *              allocations: count, (name, base, bytes)...
 *              pages: count, (gap to the end of the last, pages)...
 *   kernels    count, then each: name, id, context, grid 3, block 3,
 *              shared bytes, registers, binary, version, lanes, stream,
 *              shared base, local base, warps, instructions, thread
 *              instructions, memory instructions, lane addresses, frames
 *   frames     in the order of the kernels: blocks, plain bytes, xxh3 (8)
 *   -- end of what the hash of the contents covers --
 *   storage    for each frame: stored bytes
 *   notes      count, then each: number, how many, length, first place
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-index.h"

/* ---- writing ------------------------------------------------------------- */

static uint64_t string_number(const struct hd_box *b, const char *s)
{
    for (size_t i = 0; i < b->strings; i++) {
        if (b->string[i] == s)
            return i;
    }
    return 0;
}

static void put_context(const struct hd_box *b,
                        const struct hd_trace_context *c, struct hd_bytes *o)
{
    uint64_t next = 0;

    hd_bytes_put(o, string_number(b, c->name));
    hd_bytes_put(o, c->local_low);
    hd_bytes_put(o, c->local_words);
    hd_bytes_put(o, c->local_base);
    hd_bytes_put(o, c->allocs);
    for (size_t i = 0; i < c->allocs; i++) {
        hd_bytes_put(o, string_number(b, c->alloc[i].name));
        hd_bytes_put(o, c->alloc[i].base);
        hd_bytes_put(o, c->alloc[i].bytes);
    }
    hd_bytes_put(o, c->ranges);
    for (size_t i = 0; i < c->ranges; i++) {
        hd_bytes_put(o, c->range[i].page - next);
        hd_bytes_put(o, c->range[i].n);
        next = c->range[i].page + c->range[i].n;
    }
}

static void put_kernel(const struct hd_box *b, const struct hd_trace_kernel *k,
                       struct hd_bytes *o)
{
    hd_bytes_put(o, string_number(b, k->name));
    hd_bytes_put(o, k->id);
    hd_bytes_put(o, k->context);
    for (unsigned i = 0; i < 3; i++)
        hd_bytes_put(o, k->grid[i]);
    for (unsigned i = 0; i < 3; i++)
        hd_bytes_put(o, k->block[i]);
    hd_bytes_put(o, k->shared_bytes);
    hd_bytes_put(o, k->regs);
    hd_bytes_put(o, k->binary);
    hd_bytes_put(o, k->version);
    hd_bytes_put(o, k->lanes);
    hd_bytes_put(o, k->stream);
    hd_bytes_put(o, k->shared_base);
    hd_bytes_put(o, k->local_base);
    hd_bytes_put(o, k->warps);
    hd_bytes_put(o, k->insts);
    hd_bytes_put(o, k->thread_insts);
    hd_bytes_put(o, k->mem_insts);
    hd_bytes_put(o, k->lane_addrs);
    hd_bytes_put(o, k->frames);
}

static void put_notes(const struct hd_box *b, struct hd_bytes *o)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < HD_TN_COUNT; i++)
        n += b->note[i].count != 0;
    hd_bytes_put(o, n);
    for (unsigned i = 0; i < HD_TN_COUNT; i++) {
        size_t len = strlen(b->note[i].where);
        if (b->note[i].count == 0)
            continue;
        hd_bytes_put(o, i);
        hd_bytes_put(o, b->note[i].count);
        hd_bytes_put(o, len);
        hd_bytes_add(o, b->note[i].where, len);
    }
}

size_t hd_index_write(const struct hd_box *b, struct hd_bytes *o)
{
    hd_bytes_put(o, b->strings);
    for (size_t i = 0; i < b->strings; i++) {
        size_t len = strlen(b->string[i]);
        hd_bytes_put(o, len);
        hd_bytes_add(o, b->string[i], len);
    }
    hd_bytes_put(o, b->contexts);
    for (size_t i = 0; i < b->contexts; i++)
        put_context(b, &b->context[i], o);
    hd_bytes_put(o, b->kernels);
    for (size_t i = 0; i < b->kernels; i++)
        put_kernel(b, &b->kernel[i], o);
    for (size_t i = 0; i < b->frames; i++) {
        unsigned char hash[8];
        hd_bytes_put(o, b->frame[i].blocks);
        hd_bytes_put(o, b->frame[i].raw);
        hd_store64(hash, b->frame[i].hash);
        hd_bytes_add(o, hash, 8);
    }
    size_t logical = o->n;
    for (size_t i = 0; i < b->frames; i++)
        hd_bytes_put(o, b->frame[i].stored);
    put_notes(b, o);
    return logical;
}

/* ---- reading ------------------------------------------------------------- */

const char hd_index_memory[] = "memory";

/* The cursor says by `oom` that it is not the data that is bad. */
static bool no_memory(struct hd_cursor *c)
{
    c->oom = true;
    return false;
}

static const char *get_string(const struct hd_box *b, struct hd_cursor *c)
{
    uint64_t i = hd_cursor_get(c);

    if (c->bad || i >= b->strings) {
        c->bad = true;
        return "";
    }
    return b->string[i];
}

static bool get_strings(struct hd_box *b, struct hd_cursor *c)
{
    uint64_t n = hd_cursor_count(c, 1);

    b->string = calloc(n + 1, sizeof *b->string);
    if (b->string == NULL)
        return no_memory(c);
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        uint64_t len = hd_cursor_count(c, 1);
        const void *p = hd_cursor_take(c, len);
        if (p == NULL || memchr(p, 0, len) != NULL)
            return false;
        char *s = malloc(len + 1);
        if (s == NULL)
            return no_memory(c);
        memcpy(s, p, len);
        s[len] = '\0';
        b->string[b->strings++] = s;
    }
    return !c->bad;
}

static bool get_ranges(struct hd_trace_context *x, struct hd_cursor *c)
{
    uint64_t n = hd_cursor_count(c, 2), next = 0;
    uint64_t end = HD_TRACE_VA_END >> HD_PAGE_SHIFT;

    x->range = calloc(n + 1, sizeof *x->range);
    if (x->range == NULL)
        return no_memory(c);
    for (; x->ranges < n && !c->bad; x->ranges++) {
        struct hd_trace_range *r = &x->range[x->ranges];
        r->page = next + hd_cursor_max(c, end - next);
        r->n = hd_cursor_max(c, end - r->page);
        next = r->page + r->n;
    }
    return !c->bad;
}

static bool get_context(struct hd_box *b, struct hd_trace_context *x,
                        struct hd_cursor *c)
{
    x->name = get_string(b, c);
    x->local_low = hd_cursor_max(c, HD_TRACE_WINDOW / 4);
    x->local_words = hd_cursor_max(c, HD_TRACE_WINDOW / 4 - x->local_low);
    x->local_base = hd_cursor_max(c, HD_TRACE_VA_END - 1);
    uint64_t n = hd_cursor_count(c, 3);
    x->alloc = calloc(n + 1, sizeof *x->alloc);
    if (x->alloc == NULL)
        return no_memory(c);
    for (; x->allocs < n && !c->bad; x->allocs++) {
        struct hd_trace_alloc *a = &x->alloc[x->allocs];
        a->name = get_string(b, c);
        a->base = hd_cursor_max(c, HD_TRACE_VA_END - 1);
        a->bytes = hd_cursor_max(c, HD_TRACE_VA_END - a->base);
    }
    return !c->bad && get_ranges(x, c);
}

static bool get_contexts(struct hd_box *b, struct hd_cursor *c)
{
    uint64_t n = hd_cursor_count(c, 6);

    b->context = calloc(n + 1, sizeof *b->context);
    if (b->context == NULL)
        return no_memory(c);
    if (n == 0)
        return false;
    while (b->contexts < n && !c->bad) {
        if (!get_context(b, &b->context[b->contexts++], c))
            return false;
    }
    return !c->bad;
}

static bool get_kernel(struct hd_box *b, struct hd_trace_kernel *k,
                       struct hd_cursor *c)
{
    k->name = get_string(b, c);
    k->id = (uint32_t)hd_cursor_max(c, UINT32_MAX);
    k->context = (uint32_t)hd_cursor_max(c, b->contexts - 1);
    for (unsigned i = 0; i < 3; i++)
        k->grid[i] = (uint32_t)hd_cursor_max(c, UINT32_MAX);
    for (unsigned i = 0; i < 3; i++)
        k->block[i] = (uint32_t)hd_cursor_max(c, 2048);
    k->shared_bytes = (uint32_t)hd_cursor_max(c, UINT32_MAX);
    k->regs = (uint32_t)hd_cursor_max(c, UINT32_MAX);
    k->binary = (uint32_t)hd_cursor_max(c, UINT32_MAX);
    k->version = (uint32_t)hd_cursor_max(c, UINT32_MAX);
    k->lanes = (uint32_t)hd_cursor_max(c, HD_MAX_LANES);
    k->stream = hd_cursor_get(c);
    k->shared_base = hd_cursor_get(c);
    k->local_base = hd_cursor_get(c);
    k->warps = hd_cursor_get(c);
    k->insts = hd_cursor_get(c);
    k->thread_insts = hd_cursor_get(c);
    k->mem_insts = hd_cursor_get(c);
    k->lane_addrs = hd_cursor_get(c);
    k->frame0 = (uint32_t)b->frames;
    k->frames = (uint32_t)hd_cursor_count(c, 9);
    b->frames += k->frames;
    uint64_t threads = hd_trace_threads(k);
    return !c->bad && (k->lanes == 32 || k->lanes == 64) && threads != 0 &&
           hd_trace_warps(k) <= HD_TRACE_MAX_WARPS && b->frames <= UINT32_MAX;
}

static bool get_kernels(struct hd_box *b, struct hd_cursor *c)
{
    uint64_t n = hd_cursor_count(c, 22);

    b->kernel = calloc(n + 1, sizeof *b->kernel);
    if (b->kernel == NULL)
        return no_memory(c);
    while (b->kernels < n && !c->bad) {
        if (!get_kernel(b, &b->kernel[b->kernels++], c))
            return false;
    }
    return !c->bad;
}

static bool get_frames(struct hd_box *b, struct hd_cursor *c, uint64_t from,
                       uint64_t to)
{
    uint64_t n = b->frames;

    b->frames = 0; /* how many can be freed */
    if (n > hd_cursor_left(c) / 10)
        return false;
    b->frame = calloc(n + 1, sizeof *b->frame);
    if (b->frame == NULL)
        return no_memory(c);
    b->frames = n;
    for (size_t i = 0; i < b->kernels; i++) {
        struct hd_trace_kernel *k = &b->kernel[i];
        for (uint32_t j = 0; j < k->frames; j++) {
            struct hd_box_frame *f = &b->frame[k->frame0 + j];
            f->kernel = (uint32_t)i;
            f->first = k->blocks;
            f->blocks = (uint32_t)hd_cursor_max(c, 1u << 24);
            f->raw = (uint32_t)hd_cursor_max(c, INT32_MAX);
            const void *hash = hd_cursor_take(c, 8);
            if (c->bad)
                return false;
            f->hash = hd_load64(hash);
            k->blocks += f->blocks;
        }
    }
    for (size_t i = 0; i < n; i++) {
        b->frame[i].at = from;
        b->frame[i].stored = (uint32_t)hd_cursor_max(c, to - from);
        if (b->frame[i].stored > b->frame[i].raw)
            return false;
        from += b->frame[i].stored;
    }
    return !c->bad && from == to;
}

static bool get_notes(struct hd_box *b, struct hd_cursor *c)
{
    uint64_t n = hd_cursor_max(c, HD_TN_COUNT);

    for (; n != 0 && !c->bad; n--) {
        struct hd_trace_note_row *r =
            &b->note[hd_cursor_max(c, HD_TN_COUNT - 1)];
        r->count = hd_cursor_get(c);
        size_t len = hd_cursor_max(c, sizeof r->where - 1);
        const void *p = hd_cursor_take(c, len);
        if (p != NULL)
            memcpy(r->where, p, len);
    }
    return !c->bad;
}

const char *hd_index_read(struct hd_box *b, const unsigned char *p, size_t n,
                          uint64_t from, uint64_t to)
{
    struct hd_cursor c = {.p = p, .end = p + n};
    const char *what = NULL;

    if (!get_strings(b, &c))
        what = "strings";
    else if (!get_contexts(b, &c))
        what = "address spaces";
    else if (!get_kernels(b, &c)) {
        b->frames = 0; /* how many can be freed */
        what = "kernels";
    } else if (!get_frames(b, &c, from, to))
        what = "frames";
    else if (!get_notes(b, &c) || c.p != c.end)
        what = "notes";
    return c.oom ? hd_index_memory : what;
}
