/*
 * program.c - builds a kernel program: buffers, kernels, launches, host.
 *
 * Buffers are placed one after the other from HD_VA_FIRST, each at a multiple
 * of the alignment (256 bytes: the allocator of the simulator that the papers
 * used; small arrays share their border pages).  Every application has an
 * address space of its own, so all start at the same address.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "kit/bits.h"
#include "kit/grow.h"
#include "buffer.h"
#include "program.h"
#include "kit/line.h"
#include "points/source.h"

static void program_mix(heddle_program *p, const void *what, size_t bytes)
{
    XXH3_64bits_update(p->xxh, what, bytes);
}

heddle_program *heddle_program_new(const char *name)
{
    heddle_program *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->refs = 1;
    p->align = 256;
    p->next_va = HD_VA_FIRST;
    snprintf(p->name, sizeof(p->name), "%s", name);
    p->xxh = XXH3_createState();
    if (p->xxh == NULL) {
        free(p);
        return NULL;
    }
    XXH3_64bits_reset(p->xxh);
    program_mix(p, p->name, sizeof(p->name));
    return p;
}

void heddle_program_free(heddle_program *p)
{
    if (p == NULL || --p->refs > 0)
        return;
    for (uint32_t i = 0; i < p->nbuf; i++)
        heddle_data_free(p->buf[i].data);
    for (uint32_t i = 0; i < p->nkernel; i++)
        hd_verify_free(&p->kernel[i]);
    free(p->lines.files);
    free(p->lines.line);
    if (p->host_free != NULL)
        p->host_free(p->host_ud);
    XXH3_freeState(p->xxh);
    free(p->buf);
    free(p->kernel);
    free(p->launch);
    free(p);
}

const struct heddle_error *heddle_program_error(const heddle_program *p)
{
    return &p->err;
}

/* A new error replaces the one before; nothing may change once frozen. */
static int program_begin(heddle_program *p)
{
    hd_err_clear(&p->err);
    if (p->frozen)
        return hd_err_set(&p->err, HEDDLE_EINVAL,
                          "program %s: it has workloads and cannot change",
                          p->name);
    return hd_line_check("program", p->name, HEDDLE_EPROGRAM, &p->err);
}

int heddle_program_align(heddle_program *p, uint64_t bytes)
{
    if (program_begin(p) != 0)
        return p->err.code;
    if (!hd_is_pow2(bytes) || bytes < 16 || bytes > UINT64_C(1) << 30)
        return hd_err_set(&p->err, HEDDLE_EINVAL,
                          "program %s: alignment %llu; expected a power of "
                          "two from 16 to 2^30",
                          p->name, (unsigned long long)bytes);
    p->align = bytes;
    return 0;
}

int heddle_program_lanes(heddle_program *p, uint32_t lanes)
{
    if (program_begin(p) != 0)
        return p->err.code;
    if (lanes != 32 && lanes != 64)
        return hd_err_set(&p->err, HEDDLE_EINVAL,
                          "program %s: warps of %u lanes; expected 32 or 64",
                          p->name, lanes);
    p->lanes = lanes;
    program_mix(p, &lanes, sizeof lanes);
    return 0;
}

static const char *type_name(uint32_t type)
{
    static const char *const name[HEDDLE_TYPES] = {
        [HEDDLE_U8] = "u8",   [HEDDLE_I32] = "i32", [HEDDLE_U32] = "u32",
        [HEDDLE_I64] = "i64", [HEDDLE_F32] = "f32", [HEDDLE_F64] = "f64",
        [HEDDLE_U16] = "u16"};

    return type < HEDDLE_TYPES ? name[type] : "?";
}

int heddle_program_buffer(heddle_program *p, const char *name,
                          enum heddle_type type, uint64_t count, uint32_t flags,
                          heddle_data *data)
{
    uint32_t width = heddle_type_bytes(type);
    struct hd_bufdef *b;
    char what[128];
    uint64_t va;

    if (program_begin(p) != 0)
        return p->err.code;
    snprintf(what, sizeof what, "program %s: buffer", p->name);
    if (hd_line_check(what, name, HEDDLE_EPROGRAM, &p->err) != 0)
        return p->err.code;
    va = hd_ceil_div(p->next_va, p->align) * p->align;
    if (width == 0)
        return hd_err_set(&p->err, HEDDLE_EPROGRAM,
                          "program %s, buffer %s: there is no type %d", p->name,
                          name, (int)type);
    if (p->nbuf == HD_MAX_BUFFERS)
        return hd_err_set(&p->err, HEDDLE_EPROGRAM,
                          "program %s, buffer %s: there are %d buffers "
                          "already, and can be no more",
                          p->name, name, HD_MAX_BUFFERS);
    if (count == 0 || count > HD_VA_BYTES / width ||
        va + count * width > HD_VA_FIRST + HD_VA_BYTES)
        return hd_err_set(&p->err, HEDDLE_EPROGRAM,
                          "program %s, buffer %s: %llu elements; expected at "
                          "least 1 and less than 16 TB in all",
                          p->name, name, (unsigned long long)count);
    if (p->nbuf > 0 && p->buf[p->nbuf - 1].scratch && !(flags & HEDDLE_SCRATCH))
        return hd_err_set(&p->err, HEDDLE_EPROGRAM,
                          "program %s, buffer %s: scratch buffers come after "
                          "all others",
                          p->name, name);
    if (data != NULL && data->type != type)
        return hd_err_set(&p->err, HEDDLE_EPROGRAM,
                          "program %s, buffer %s: its data is of type %s, and "
                          "the buffer of %s",
                          p->name, name, type_name(data->type),
                          type_name(type));
    if (data != NULL && data->count > count)
        return hd_err_set(&p->err, HEDDLE_EPROGRAM,
                          "program %s, buffer %s: its data has %llu elements, "
                          "and the buffer %llu",
                          p->name, name, (unsigned long long)data->count,
                          (unsigned long long)count);
    b = hd_grow(&p->buf, p->nbuf, &p->room_buf, sizeof(*b));
    if (b == NULL)
        return hd_err_memory(&p->err);
    b += p->nbuf;
    memset(b, 0, sizeof(*b));
    snprintf(b->name, sizeof(b->name), "%s", name);
    b->type = (uint8_t)type;
    b->shift = (uint8_t)hd_log2(width);
    b->scratch = (flags & HEDDLE_SCRATCH) != 0;
    b->texture = (flags & HEDDLE_TEXTURE) != 0;
    b->contents = data != NULL || b->scratch || (flags & HEDDLE_CONTENTS);
    b->count = count;
    b->va.v = b->scratch ? 0 : va;
    program_mix(p, b, offsetof(struct hd_bufdef, data));
    if (data != NULL) {
        b->data = heddle_data_ref(data);
        program_mix(p, data->mem, data->count * width);
    }
    if (!b->scratch)
        p->next_va = va + count * width;
    return (int)p->nbuf++;
}

int heddle_program_fill(heddle_program *p, int buffer, union heddle_value value)
{
    unsigned char page[HD_PAGE_BYTES];
    struct hd_bufdef *b;
    uint64_t left, n;

    if (program_begin(p) != 0)
        return p->err.code;
    if (buffer < 0 || (uint32_t)buffer >= p->nbuf)
        return hd_err_set(&p->err, HEDDLE_EINVAL,
                          "program %s: it has no buffer %d to fill; it has %u",
                          p->name, buffer, p->nbuf);
    b = &p->buf[buffer];
    b->contents = 1;
    b->fill = 0;
    hd_element_set(b->type, (unsigned char *)&b->fill, value);
    hd_bufdef_page(b, page);
    left = (b->count - (b->data != NULL ? b->data->count : 0)) << b->shift;
    for (; left > 0; left -= n) {
        n = hd_min_u64(left, sizeof page);
        program_mix(p, page, n);
    }
    return 0;
}

static void drop_lines(heddle_program *p)
{
    free(p->lines.files);
    free(p->lines.line);
    p->lines = (struct hd_kernel_lines){0};
}

int heddle_program_lines(heddle_program *p, const struct heddle_lines *l)
{
    size_t bytes = 1, at = 0;

    if (program_begin(p) != 0)
        return p->err.code;
    drop_lines(p);
    for (uint32_t i = 0; i < l->count; i++)
        if (l->line[i] >> 24 >= l->files && l->line[i] != 0)
            return hd_err_set(&p->err, HEDDLE_EINVAL,
                              "program %s: instruction %u is of file %u of %u",
                              p->name, i, l->line[i] >> 24, l->files);
    for (uint32_t i = 0; i < l->files; i++)
        bytes += strlen(l->file[i]) + 1;
    p->lines.files = calloc(bytes, 1);
    p->lines.line = calloc((size_t)l->count + 1, sizeof(*l->line));
    if (p->lines.files == NULL || p->lines.line == NULL) {
        drop_lines(p);
        return hd_err_memory(&p->err);
    }
    for (uint32_t i = 0; i < l->files; i++, at++) {
        memcpy(p->lines.files + at, l->file[i], strlen(l->file[i]));
        at += strlen(l->file[i]);
    }
    memcpy(p->lines.line, l->line, l->count * sizeof(*l->line));
    p->lines.n = l->count;
    return 0;
}

int heddle_program_kernel(heddle_program *p, const void *code, size_t bytes)
{
    struct hd_kernel *k;

    if (program_begin(p) != 0)
        return p->err.code;
    k = hd_grow(&p->kernel, p->nkernel, &p->room_kernel, sizeof(*k));
    if (k == NULL)
        return hd_err_memory(&p->err);
    k += p->nkernel;
    k->lines = p->lines;
    p->lines = (struct hd_kernel_lines){0};
    if (hd_verify_kernel(k, code, bytes, p->buf, p->nbuf, &p->err) != 0) {
        hd_verify_free(k);
        return p->err.code;
    }
    program_mix(p, code, bytes);
    return (int)p->nkernel++;
}

/* One more name of a list; its number, from 0 on, or an error. */
static int program_name(heddle_program *p, char (*list)[32], uint32_t *n,
                        uint32_t most, const char *what, const char *name)
{
    char who[128];

    if (program_begin(p) != 0)
        return p->err.code;
    snprintf(who, sizeof who, "program %s: %s", p->name, what);
    if (hd_line_check(who, name, HEDDLE_EPROGRAM, &p->err) != 0)
        return p->err.code;
    if (*n == most)
        return hd_err_set(&p->err, HEDDLE_EPROGRAM,
                          "program %s, %s %s: there are %u already, and can be "
                          "no more",
                          p->name, what, name, most);
    snprintf(list[*n], sizeof list[*n], "%s", name);
    for (uint32_t i = 0; i < *n; i++)
        if (strcmp(list[i], list[*n]) == 0)
            return hd_err_set(&p->err, HEDDLE_EPROGRAM,
                              "program %s: there is a %s %s already", p->name,
                              what, name);
    program_mix(p, what, strlen(what));
    program_mix(p, list[*n], sizeof list[*n]);
    return (int)(*n)++;
}

int heddle_program_stream(heddle_program *p, const char *name)
{
    int i = program_name(p, p->stream, &p->nstream, HD_STREAMS, "stream", name);

    return i < 0 ? i : i + 1;
}

int heddle_program_event(heddle_program *p, const char *name)
{
    return program_name(p, p->event, &p->nevent, HD_STREAM_EVENTS, "event",
                        name);
}

int heddle_program_launch(heddle_program *p, const struct heddle_launch *l)
{
    struct heddle_launch *to;

    if (program_begin(p) != 0)
        return p->err.code;
    if (l->kernel >= p->nkernel || l->args > p->kernel[l->kernel].nargs)
        return hd_err_set(&p->err, HEDDLE_EPROGRAM,
                          "program %s: launch of kernel %u with %u arguments; "
                          "there is none like that",
                          p->name, l->kernel, l->args);
    to = hd_grow(&p->launch, p->nlaunch, &p->room_launch, sizeof(*to));
    if (to == NULL)
        return hd_err_memory(&p->err);
    to[p->nlaunch++] = *l;
    program_mix(p, &l->kernel, sizeof(l->kernel));
    program_mix(p, l->grid, sizeof(l->grid));
    program_mix(p, l->arg, l->args * sizeof(l->arg[0]));
    if (l->stream != 0 || l->sync != 0 || l->wait != 0 || l->record != 0) {
        program_mix(p, &l->stream, sizeof(l->stream));
        program_mix(p, &l->sync, sizeof(l->sync));
        program_mix(p, &l->wait, sizeof(l->wait));
        program_mix(p, &l->record, sizeof(l->record));
    }
    return 0;
}

int heddle_program_host(heddle_program *p, heddle_host_fn *fn, void *ud,
                        void (*release)(void *ud), const void *text,
                        size_t bytes)
{
    if (program_begin(p) != 0)
        return p->err.code;
    if (p->host != NULL)
        return hd_err_set(&p->err, HEDDLE_EINVAL,
                          "program %s: it has a host already", p->name);
    p->host = fn;
    p->host_ud = ud;
    p->host_free = release;
    if (text != NULL)
        program_mix(p, text, bytes);
    return 0;
}

heddle_workload *heddle_program_workload(heddle_program *p)
{
    struct hd_source *s;

    hd_err_clear(&p->err);
    if (p->nkernel == 0) {
        hd_err_set(&p->err, HEDDLE_EPROGRAM, "program %s: it has no kernel",
                   p->name);
        return NULL;
    }
    if (!p->frozen) {
        p->frozen = true;
        p->hash = XXH3_64bits_digest(p->xxh);
    }
    s = hd_program_source(p);
    return s != NULL ? hd_workload(s) : hd_err_no_memory(&p->err);
}
