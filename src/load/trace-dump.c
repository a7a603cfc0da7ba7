/*
 * trace-dump.c - shows every memory instruction, decoded.
 *
 * A trace is read from its frames, so a selected kernel or block costs no
 * walk through the others' instructions; anything else is walked as
 * heddle_walk() does.  Local addresses of a trace are shown where the trace
 * saw them, not where a machine would lay them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../heddle_trace.h"
#include "../heddle_walk.h"
#include "trace-source.h"

#include <stdio.h>

#define LIMIT ((size_t)1 << 30)

struct dump {
    struct hd_box *box;
    const struct heddle_trace_select *s;
    heddle_trace_dump_fn *fn;
    void *ud;
    uint32_t kernels; /* number of the last one that was seen */
    bool block;       /* the selected one is there */
    struct heddle_trace_op op;
    uint64_t address[HD_MAX_LANES];
    hd_va lane[HD_MAX_LANES];
};

/* The addresses of a record, for each set lane. */
static void addresses(struct dump *d, const struct hd_frame *f, uint64_t r,
                      uint64_t add)
{
    uint64_t mask = d->op.mask;
    unsigned first = mask != 0 ? hd_bit_first(mask) : 0;
    struct hd_faddr a;

    hd_frame_addr(f, r, mask, &a, d->lane);
    for (; mask != 0; mask &= mask - 1) {
        unsigned l = hd_bit_first(mask);
        uint64_t v = a.affine
                         ? a.first + (uint64_t)(l - first) * (uint64_t)a.stride
                         : d->lane[l].v;
        d->address[l] = v + add;
    }
}

static int dump_warp(struct dump *d, const struct hd_frame *f,
                     const struct hd_trace_kernel *k, uint32_t index)
{
    const struct hd_fwarp *w = &f->warp[index];
    const struct hd_fpath *p = &f->path[w->path];
    int rc = 0;

    d->op.warp = index % f->warps;
    for (uint32_t i = 0; i < p->n && rc == 0; i++) {
        const struct hd_fentry *e = &f->entry[p->entry + i];
        const struct hd_top *t = &f->top[e->top];
        if (!hd_top_memory(t))
            continue;
        d->op.pc = t->pc;
        d->op.bytes = t->bytes;
        d->op.mask = e->mask;
        d->op.local = t->space == HD_TS_LOCAL || t->space == HD_TS_PLACED;
        d->op.texture = t->space == HD_TS_TEXTURE;
        d->op.more = t->count == 0;
        d->op.opcode = d->box->string[t->opcode];
        addresses(d, f, f->mem[w->mem + e->mem],
                  t->space == HD_TS_LOCAL ? k->local_base : 0);
        rc = d->fn(d->ud, &d->op);
    }
    return rc;
}

static int dump_frame(struct dump *d, size_t frame, struct hd_err *err)
{
    const struct hd_trace_kernel *k =
        &d->box->kernel[d->box->frame[frame].kernel];
    struct hd_frame *f = hd_box_frame(d->box, frame, LIMIT, err);
    int rc = 0;

    if (f == NULL)
        return err->code;
    for (uint32_t b = 0; b < f->blocks && rc == 0; b++) {
        if (d->s->one_block && f->number[b] != d->s->block)
            continue;
        d->op.block = f->number[b];
        for (uint32_t w = 0; w < f->warps && rc == 0; w++)
            rc = dump_warp(d, f, k, b * f->warps + w);
    }
    hd_frame_free(f);
    return rc;
}

static int dump_box(struct dump *d, uint32_t context, struct hd_err *err)
{
    uint32_t number = 0;
    int rc = 0;

    for (size_t i = 0; i < d->box->kernels && rc == 0; i++) {
        const struct hd_trace_kernel *k = &d->box->kernel[i];
        if (k->context != context)
            continue;
        d->op.kernel = ++number;
        d->op.lanes = k->lanes;
        d->kernels = number;
        if (d->s->kernel != 0 && d->s->kernel != number)
            continue;
        d->block |=
            d->s->block < (uint64_t)k->grid[0] * k->grid[1] * k->grid[2];
        for (uint32_t f = 0; f < k->frames && rc == 0; f++)
            rc = dump_frame(d, k->frame0 + f, err);
    }
    return rc;
}

static int on_walk(void *ud, const struct heddle_walk_op *op)
{
    struct dump *d = ud;
    static const char *const names[] = {"ALU", "LOAD", "STORE", "ATOMIC"};

    d->kernels = op->launch;
    if ((d->s->kernel != 0 && d->s->kernel != op->launch) ||
        (d->s->one_block && d->s->block != op->block))
        return 0;
    d->block = true;
    if (op->kind < HEDDLE_WALK_LOAD || op->kind > HEDDLE_WALK_ATOMIC)
        return 0;
    d->op = (struct heddle_trace_op){.kernel = op->launch,
                                     .warp = op->warp,
                                     .block = op->block,
                                     .pc = op->pc,
                                     .bytes = op->bytes,
                                     .lanes = op->lanes,
                                     .local = op->local,
                                     .texture = op->texture,
                                     .mask = op->mask,
                                     .opcode = names[op->kind],
                                     .address = op->address};
    return d->fn(d->ud, &d->op);
}

/* Whether what was selected is there at all. */
static int check_selected(const struct dump *d, struct hd_err *err)
{
    const struct heddle_trace_select *s = d->s;
    char kernel[40] = "no kernel has";

    if (s->kernel > d->kernels)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "there is no kernel %u; expected 1 to %u", s->kernel,
                          d->kernels);
    if (!s->one_block || d->block)
        return 0;
    if (s->kernel != 0)
        snprintf(kernel, sizeof kernel, "kernel %u does not have", s->kernel);
    return hd_err_set(err, HEDDLE_EINVAL, "%s a block %llu", kernel,
                      (unsigned long long)s->block);
}

int heddle_trace_dump(heddle_workload *w, const struct heddle_trace_select *s,
                      heddle_trace_dump_fn *fn, void *ud, char *error,
                      size_t room)
{
    static const struct heddle_trace_select all;
    struct dump d = {.s = s != NULL ? s : &all, .fn = fn, .ud = ud};
    struct hd_err err = {0};
    uint32_t context;

    d.box = hd_trace_source_box(hd_workload_source(w), &context);
    d.op.address = d.address;
    int rc;
    if (d.box == NULL) {
        struct heddle_walk_options o = {.launches = d.s->kernel};
        rc = heddle_walk(w, &o, on_walk, &d, error, room);
        if (rc != 0)
            return rc;
    } else {
        rc = dump_box(&d, context, &err);
    }
    if (rc == 0)
        rc = check_selected(&d, &err);
    hd_err_tell(&err, error, room);
    return rc;
}
