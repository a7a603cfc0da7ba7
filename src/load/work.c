/*
 * work.c - workloads of functions before they run: plug-ins found and checked,
 * works opened, buffers placed, everything that defines them hashed.
 *
 * Buffers lie one after the other from HD_VA_FIRST, as those of kernel
 * programs (program.c), so that the same kernel written in either way touches
 * the same pages.  They are asked for once: a workload has the same buffers in
 * every simulation.
 *
 * The hash, which results and snapshots carry, is that of name, parameters,
 * argument and buffers, of the bytes of the plug-in's file, and of what open()
 * adds.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "../base/bits.h"
#include "../core/library.h"
#include "../core/param.h"
#include "grow.h"

/* ---- plug-ins ------------------------------------------------------------ */

/* What is wrong with a work, or NULL. */
static const char *fault(const struct heddle_work *w)
{
    if (w == NULL)
        return "heddle_work_entry() returned NULL";
    if (w->abi != HEDDLE_WORK_ABI)
        return "it was built for another version of heddle_work.h: build it "
               "again";
    if (w->name == NULL || w->name[0] == '\0' || strlen(w->name) > 63)
        return "its work needs a name of 1 to 63 bytes";
    if (w->buffer == NULL || w->launch == NULL || w->next == NULL ||
        w->access == NULL)
        return "its work needs buffer(), launch(), next() and access()";
    return NULL;
}

const struct heddle_work *heddle_work_load(const char *path, char *out,
                                           size_t room)
{
    hd_entry_fn *entry = hd_library_entry(path, "heddle_work_entry", out, room);
    const struct heddle_work *w;
    const char *wrong;

    if (entry == NULL)
        return NULL;
    w = entry();
    wrong = fault(w);
    if (wrong == NULL)
        return w;
    snprintf(out, room, "plug-in %s: %s", path, wrong);
    return NULL;
}

/* ---- what defines it ---------------------------------------------------- */

static void mix(struct hd_work *w, const void *bytes, size_t n)
{
    if (n > 0)
        XXH3_64bits_update(w->xxh, bytes, n);
}

static void mix_text(struct hd_work *w, const char *text)
{
    mix(w, text, strlen(text) + 1);
}

static int mix_file(struct hd_work *w, const char *path, struct hd_err *err)
{
    char bytes[4096];
    FILE *f = fopen(path, "rb");
    size_t n;

    if (f == NULL)
        return hd_err_set(err, hd_err_errno(HEDDLE_ENOINPUT),
                          "%s: cannot be read", path);
    while ((n = fread(bytes, 1, sizeof bytes, f)) > 0)
        mix(w, bytes, n);
    n = (size_t)ferror(f);
    fclose(f);
    return n == 0 ? 0 : hd_err_set(err, HEDDLE_EIO, "%s: cannot be read", path);
}

static void add_hash(struct heddle_work_open *o, const void *bytes, size_t n)
{
    mix(o->engine, bytes, n);
}

int hd_work_code(int code)
{
    return code < 0 && code >= HEDDLE_ECREATE ? code : HEDDLE_EPROGRAM;
}

static void refuse(struct heddle_work_open *o, int code, const char *text)
{
    struct hd_work *w = o->engine;

    if (strcmp(text, HEDDLE_NO_MEMORY) == 0)
        hd_err_memory(w->opening);
    else
        hd_err_set(w->opening, hd_work_code(code), "workload %s: %s",
                   w->source.name, text);
}

/* ---- buffers ------------------------------------------------------------ */

static int place(struct hd_work *w, const struct heddle_work_buffer *b,
                 uint64_t *next, struct hd_err *err)
{
    struct hd_work_buffer *to = &w->buffer[w->buffers];
    uint64_t align = b->align != 0 ? b->align : 256, va;

    if (memchr(b->name, 0, sizeof b->name) == NULL || b->name[0] == '\0')
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "workload %s: buffer %u needs a name of 1 to 31 "
                          "bytes",
                          w->source.name, w->buffers);
    for (uint32_t i = 0; i < w->buffers; i++)
        if (strcmp(w->buffer[i].name, b->name) == 0)
            return hd_err_set(err, HEDDLE_EPROGRAM,
                              "workload %s: two buffers named %s",
                              w->source.name, b->name);
    if (!hd_is_pow2(align) || align > UINT64_C(1) << 30)
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "workload %s, buffer %s: alignment %llu; expected a "
                          "power of two up to 2^30",
                          w->source.name, b->name, (unsigned long long)align);
    va = hd_ceil_div(*next, align) * align;
    if (b->bytes == 0 || b->bytes > HD_VA_BYTES ||
        va + b->bytes > HD_VA_FIRST + HD_VA_BYTES)
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "workload %s, buffer %s: %llu bytes; expected at "
                          "least 1 and less than 512 GB in all",
                          w->source.name, b->name,
                          (unsigned long long)b->bytes);
    memcpy(to->name, b->name, sizeof to->name);
    to->base = va;
    to->bytes = b->bytes;
    *next = va + b->bytes;
    mix(w, to, sizeof *to);
    return 0;
}

static int place_all(struct hd_work *w, struct hd_err *err)
{
    uint64_t next = HD_VA_FIRST;
    size_t room = 0;

    for (;; w->buffers++) {
        struct heddle_work_buffer b = {0};
        int r = w->work->buffer(w->self, w->buffers, &b);
        void *more;
        if (r == 0)
            return 0;
        if (r < 0 || r > 1)
            return hd_err_set(err, HEDDLE_EPROGRAM,
                              "workload %s: buffer() returned %d for buffer "
                              "%u; expected 0 or 1",
                              w->source.name, r, w->buffers);
        if (w->buffers == HEDDLE_WORK_BUFFERS)
            return hd_err_set(err, HEDDLE_EPROGRAM,
                              "workload %s: more than %d buffers",
                              w->source.name, HEDDLE_WORK_BUFFERS);
        more = hd_grow(&w->buffer, w->buffers, &room, sizeof *w->buffer);
        if (more == NULL)
            return hd_err_memory(err);
        memset(&w->buffer[w->buffers], 0, sizeof *w->buffer);
        if (place(w, &b, &next, err) != 0)
            return err->code;
    }
}

/* ---- making one --------------------------------------------------------- */

static void free_work(void *self)
{
    struct hd_work *w = self;

    if (w->env != NULL)
        hd_work_ops.unbind(w);
    if (w->opened && w->work->close != NULL)
        w->work->close(w->self);
    free(w->buffer);
    free(w);
}

static int open_work(struct hd_work *w, const struct heddle_work_options *o,
                     struct hd_err *err)
{
    const struct heddle_work *k = w->work;
    struct heddle_work_open open = {.params = w->params,
                                    .argument = o->argument,
                                    .ud = o->ud,
                                    .engine = w,
                                    .hash = add_hash,
                                    .refuse = refuse};
    struct hd_param_of of = {"workload", k->name, k->params};

    if (hd_param_check(&of, HEDDLE_EPROGRAM, err) != 0 ||
        hd_param_values(&of, o->names, o->values, o->n, w->params, err) != 0)
        return err->code;
    mix_text(w, k->name);
    mix(w, w->params, hd_param_count(k->params) * sizeof *w->params);
    mix_text(w, o->argument != NULL ? o->argument : "");
    if (o->path != NULL && mix_file(w, o->path, err) != 0)
        return err->code;
    w->opening = err;
    w->self = k->open != NULL ? k->open(&open) : o->ud;
    w->opened = err->code == 0 && (k->open == NULL || w->self != NULL);
    if (!w->opened)
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "workload %s: it cannot be opened", k->name);
    w->shared_bytes = k->shared_bytes != NULL ? k->shared_bytes(w->self) : 0;
    w->state_bytes = k->state_bytes != NULL ? k->state_bytes(w->self) : 0;
    if (w->state_bytes > HEDDLE_WORK_STATE || w->shared_bytes > 1ull << 32)
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "workload %s: %zu bytes of state a warp and %zu "
                          "shared; expected at most %d and 2^32",
                          k->name, w->state_bytes, w->shared_bytes,
                          HEDDLE_WORK_STATE);
    w->stride = (sizeof(struct hd_work_warp) + w->state_bytes + 7) / 8 * 8;
    return place_all(w, err);
}

static struct hd_work *make(const struct heddle_work *work,
                            const struct heddle_work_options *o,
                            struct hd_err *err)
{
    const char *wrong = fault(work);
    struct hd_work *w;

    if (wrong != NULL) {
        hd_err_set(err, HEDDLE_EPROGRAM, "workload: %s", wrong);
        return NULL;
    }
    w = calloc(1, sizeof *w);
    if (w == NULL || (w->xxh = XXH3_createState()) == NULL) {
        free(w);
        hd_err_memory(err);
        return NULL;
    }
    XXH3_64bits_reset(w->xxh);
    w->work = work;
    w->source =
        (struct hd_source){.ops = &hd_work_ops, .self = w, .free = free_work};
    snprintf(w->source.name, sizeof w->source.name, "%s", work->name);
    if (open_work(w, o, err) == 0)
        w->source.hash = XXH3_64bits_digest(w->xxh);
    XXH3_freeState(w->xxh);
    w->xxh = NULL;
    if (err->code == 0)
        return w;
    free_work(w);
    return NULL;
}

heddle_workload *heddle_work_new(const struct heddle_work *work,
                                 const struct heddle_work_options *o,
                                 int *status, char *out, size_t room)
{
    static const struct heddle_work_options none = {0};
    struct hd_err err = {0};
    struct hd_work *w = make(work, o != NULL ? o : &none, &err);

    *status = hd_err_tell(&err, out, room);
    return w != NULL ? hd_workload(&w->source) : NULL;
}
