/*
 * trace-copy.c - copies address spaces from container to container.
 *
 * Frames are copied as they are, which keeps the hash of the contents; they
 * name opcodes by number, so all strings go first, in their order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-copy.h"

/* The copy of one of the container's strings. */
static const char *same_string(const struct hd_box *in, const char *s,
                               const struct hd_box *out)
{
    for (size_t i = 0; i < in->strings; i++) {
        if (in->string[i] == s)
            return out->string[i];
    }
    return out->string[0];
}

static int copy_context(const struct hd_trace_context *x, struct hd_box *out,
                        struct hd_err *err)
{
    if (hd_box_context(out, x->name, err) != 0)
        return err->code;
    uint32_t to = (uint32_t)out->contexts - 1;
    for (size_t i = 0; i < x->allocs; i++) {
        const struct hd_trace_alloc *a = &x->alloc[i];
        if (hd_box_alloc(out, to, a->name, a->base, a->bytes, err) != 0)
            return err->code;
    }
    struct hd_trace_context *y = &out->context[to];
    y->local_low = x->local_low;
    y->local_words = x->local_words;
    y->local_base = x->local_base;
    y->range = calloc(x->ranges + 1, sizeof *y->range);
    if (y->range == NULL)
        return hd_err_memory(err);
    if (x->ranges != 0)
        memcpy(y->range, x->range, x->ranges * sizeof *y->range);
    y->ranges = y->room_ranges = x->ranges;
    return 0;
}

static int copy_kernel(struct hd_box *in, size_t i, uint32_t context,
                       struct hd_box *out, size_t limit, struct hd_err *err)
{
    struct hd_trace_kernel k = in->kernel[i];

    k.name = same_string(in, k.name, out);
    k.context = context;
    if (hd_box_kernel(out, &k, err) != 0)
        return err->code;
    for (uint32_t f = k.frame0; f < k.frame0 + k.frames; f++) {
        const unsigned char *p = hd_box_get(in, f, limit, err);
        if (p == NULL)
            return err->code;
        if (hd_box_put(out, p, in->frame[f].raw, in->frame[f].blocks, err))
            return err->code;
    }
    return 0;
}

int hd_trace_copy(struct hd_box *in, uint32_t context, struct hd_box *out,
                  size_t limit, struct hd_err *err)
{
    for (size_t i = 0; i < in->strings; i++) {
        const char *s = in->string[i];
        if (hd_box_string(out, s, strlen(s), err) == HD_NONE)
            return err->code;
    }
    if (out->strings != in->strings)
        return hd_err_set(err, HEDDLE_EDATA, "a string is listed twice");
    for (size_t i = 0; i < in->contexts; i++) {
        if ((context == HD_NONE || context == i) &&
            copy_context(&in->context[i], out, err) != 0)
            return err->code;
    }
    for (size_t i = 0; i < in->kernels; i++) {
        uint32_t from = in->kernel[i].context;
        if (context != HD_NONE && context != from)
            continue;
        if (copy_kernel(in, i, context == HD_NONE ? from : 0, out, limit, err))
            return err->code;
    }
    memcpy(out->note, in->note, sizeof out->note);
    return hd_box_finish(out, err);
}
