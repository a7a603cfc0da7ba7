/*
 * api.c - the public calls of heddle_trace.h that open, convert,
 * describe, verify, dump and record.
 *
 * Text is packed into a container in memory when it is opened, or in a
 * temporary file where it is large; a container file is opened in place.  From
 * there on both are the same: a container (trace.h), from which a source
 * replays and everything else is read.
 *
 * A dump shows every memory instruction, decoded.  A trace is read from its
 * frames, so a selected kernel or block costs no look at the others'
 * instructions; anything else runs as in heddle_each().  Local addresses
 * of a trace are shown where the trace saw them, not where a machine would lay
 * them.
 *
 * What is recorded runs without time, exactly as heddle_each() runs it
 * (functional.c), its warps in turns at barriers; scoreboard slots and waits
 * are stored as given. Local addresses of a program are final already and are
 * stored as such.  A workload that is a trace is copied instead.
 *
 * SPDX-License-Identifier: MIT
 */
#include "heddle_trace.h"
#include "heddle_survey.h"
#include "text.h"
#include "core/functional.h"

#include <stdio.h>

#define KEEP     (64ull << 20)
#define RESIDENT (256ull << 20)
#define DUMPED   ((size_t)1 << 30) /* bytes of a frame */

static const struct heddle_trace_note note_rows[] = {
#define X(code, level, words)                                                  \
    {.name = #code,                                                            \
     .text = words,                                                            \
     .told = HD_TL_##level != HD_TL_CHECK,                                     \
     .fatal = HD_TL_##level == HD_TL_WRONG},
    HD_TRACE_NOTES(X)
#undef X
};

static int no_context(const char *path, uint32_t context, size_t n,
                      struct heddle_error *err)
{
    return hd_err_set(err, HEDDLE_EINVAL,
                      "%s: it has %zu address spaces, 0 to %zu; there is no %u",
                      path, n, n - 1, context);
}

/* Whether an option is given and out of range. */
static int check_range(bool given, const char *name, uint32_t v, uint32_t least,
                       uint32_t most, struct heddle_error *err)
{
    if (!given || (v >= least && v <= most))
        return 0;
    return hd_err_set(err, HEDDLE_EINVAL,
                      "%s: a number from %u to %u is expected, not %u", name,
                      least, most, v);
}

static int check_options(const struct heddle_trace_options *o,
                         struct heddle_error *err)
{
    check_range(o->registers != 0, "registers", o->registers, 1,
                HEDDLE_TRACE_REGISTERS, err);
    check_range(o->binary_version != 0, "binary_version", o->binary_version,
                HEDDLE_TRACE_BINARY, HEDDLE_TRACE_BINARY_MOST, err);
    check_range(o->times != 0, "times", o->times, 1, HEDDLE_TRACE_TIMES, err);
    check_range(o->repair_shared, "shared_bytes", o->shared_bytes, 0,
                HEDDLE_TRACE_SHARED, err);
    return err->code;
}

/* Forgets a note, if there is any. */
static void note_forget(struct hd_trace_context *x, enum hd_trace_note n)
{
    if (n < x->notes)
        x->note[n].count = 0;
}

/* Headers say what the options do; no note of them is left. */
static int repair(struct hd_container *b, const struct heddle_trace_options *o,
                  struct heddle_error *err)
{
    for (size_t i = 0; i < b->kernels; i++) {
        struct hd_trace_kernel *k = &b->kernel[i];
        k->regs = o->registers != 0 ? o->registers : k->regs;
        k->binary = o->binary_version != 0 ? o->binary_version : k->binary;
        k->shared_bytes = o->repair_shared ? o->shared_bytes : k->shared_bytes;
    }
    for (size_t i = 0; i < b->contexts; i++) {
        if (o->registers != 0)
            note_forget(&b->context[i], HD_TN_BAD_REGISTERS);
        if (o->binary_version != 0)
            note_forget(&b->context[i], HD_TN_BAD_BINARY);
    }
    bool any = o->registers != 0 || o->binary_version != 0 || o->repair_shared;
    return any ? hd_container_hash(b, err) : 0;
}

/* Nothing that is most likely wrong. */
static int check_strict(const struct hd_trace_context *x,
                        struct heddle_error *err)
{
    for (uint32_t i = 0; i < x->notes; i++) {
        const struct hd_trace_note_row *r = &x->note[i];
        if (r->count != 0 && note_rows[i].fatal)
            return hd_err_set(err, HEDDLE_EDATA,
                              "%s: %s (%llu; the first is here), an error with "
                              "`strict'",
                              r->where, note_rows[i].text,
                              (unsigned long long)r->count);
    }
    return 0;
}

/* What is chosen of a container, in memory, in place of it.  NULL on error. */
static struct hd_container *open_chosen(struct hd_container *from,
                                        uint32_t context, struct hd_choice *c,
                                        const struct heddle_trace_options *o,
                                        struct heddle_error *err)
{
    struct hd_container *to =
        hd_container_memory(o->keep != 0 ? o->keep : KEEP, err);

    if (to != NULL)
        hd_container_cut(from, context, c, to,
                         o->resident != 0 ? o->resident : RESIDENT, err);
    hd_container_free(from);
    return to;
}

heddle_workload *heddle_trace_open(const char *path,
                                   const struct heddle_trace_options *o,
                                   struct heddle_error *error)
{
    static const struct heddle_trace_options plain;
    struct heddle_error err = {0};
    struct hd_trace_input in;
    struct hd_container *container = NULL;
    struct hd_choice *choice = NULL;
    struct hd_source *s = NULL;

    o = o != NULL ? o : &plain;
    uint32_t context = o->context;
    if (check_options(o, &err) == 0 &&
        hd_choice_open(o->kernels, o->blocks, &choice, &err) == 0 &&
        hd_trace_input_open(path, &in, &err) == 0) {
        if (in.form == HD_TF_CONTAINER) {
            container = hd_container_open(path, &err);
            if (container != NULL && context >= container->contexts)
                no_context(path, context, container->contexts, &err);
            if (err.code == 0 && choice != NULL) {
                container = open_chosen(container, context, choice, o, &err);
                context = 0;
            }
        } else if (context >= in.n) {
            no_context(path, context, in.n, &err);
        } else {
            container =
                hd_container_memory(o->keep != 0 ? o->keep : KEEP, &err);
            if (container != NULL) {
                container->classes = o->classes != 0;
                container->repair = o->repair != 0;
                hd_trace_load(&in, context, choice, container, &err);
            }
            context = 0;
        }
        hd_trace_input_free(&in);
    }
    hd_choice_free(choice);
    if (err.code == 0 && repair(container, o, &err) == 0 &&
        (!o->strict || check_strict(&container->context[context], &err) == 0))
        s = hd_trace_source(container, context,
                            o->resident != 0 ? o->resident : RESIDENT,
                            o->streams != 0, o->times != 0 ? o->times : 1,
                            &err);
    hd_err_give(&err, error);
    if (s != NULL)
        return hd_workload(s);
    hd_container_free(container);
    return NULL;
}

int heddle_trace_contexts(const char *path, char *error, size_t room)
{
    struct hd_trace_input in;
    struct heddle_error err = {0};
    int n = 0;

    if (hd_trace_input_open(path, &in, &err) != 0)
        return hd_err_tell(&err, error, room);
    n = (int)in.n;
    if (in.form == HD_TF_CONTAINER) {
        struct hd_container *container = hd_container_open(path, &err);
        if (container != NULL)
            n = (int)container->contexts;
        hd_container_free(container);
    }
    hd_trace_input_free(&in);
    return err.code != 0 ? hd_err_tell(&err, error, room) : n;
}

int heddle_trace_convert(const char *in, const char *out, char *error,
                         size_t room)
{
    static const struct heddle_trace_options plain;

    return heddle_trace_convert_with(in, out, &plain, error, room);
}

int heddle_trace_convert_with(const char *in, const char *out,
                              const struct heddle_trace_options *o,
                              char *error, size_t room)
{
    struct hd_trace_input input;
    struct heddle_error err = {0};
    struct hd_container *to, *from = NULL;

    if (hd_trace_input_open(in, &input, &err) != 0)
        return hd_err_tell(&err, error, room);
    to = hd_container_create(out, &err);
    if (to != NULL && input.form != HD_TF_CONTAINER) {
        to->classes = o->classes != 0;
        to->repair = o->repair != 0;
        hd_trace_load(&input, HD_NONE, NULL, to, &err);
    }
    if (to != NULL && input.form == HD_TF_CONTAINER && (from = hd_container_open(in, &err)) != NULL)
        hd_container_copy(from, HD_NONE, to, RESIDENT, &err);
    hd_container_free(from);
    hd_container_free(to);
    hd_trace_input_free(&input);
    return hd_err_tell(&err, error, room);
}

/* ---- facts --------------------------------------------------------------- */

/* The container of a workload that is a trace, or NULL. */
static struct hd_container *container_of(const heddle_workload *w,
                                         uint32_t *context)
{
    return hd_trace_source_container(hd_workload_source(w), context);
}

int heddle_trace_info(const heddle_workload *w, struct heddle_trace_info *out)
{
    uint32_t context;
    const struct hd_container *b = container_of(w, &context);

    if (b == NULL)
        return HEDDLE_EINVAL;
    const struct hd_trace_context *x = &b->context[context];
    *out = (struct heddle_trace_info){.name = x->name,
                                      .file_bytes = b->file_bytes,
                                      .allocations = x->allocs,
                                      .local_words = x->local_words,
                                      .hash = b->hash};
    for (size_t i = 0; i < x->ranges; i++)
        out->pages += x->range[i].n;
    for (size_t i = 0; i < b->kernels; i++) {
        const struct hd_trace_kernel *k = &b->kernel[i];
        if (k->context != context)
            continue;
        out->kernels++;
        out->blocks += k->blocks;
        out->warps += k->warps;
        out->instructions += k->insts;
        out->thread_instructions += k->thread_insts;
        out->memory_instructions += k->mem_insts;
        out->lane_addresses += k->lane_addrs;
        out->frames += k->frames;
        out->host_calls += k->calls;
        for (uint32_t f = k->frame0; f < k->frame0 + k->frames; f++) {
            out->frame_bytes += b->frame[f].raw;
            out->stored_bytes += b->frame[f].stored;
        }
    }
    return 0;
}

int heddle_trace_kernel(const heddle_workload *w, uint32_t i,
                        struct heddle_trace_kernel *out)
{
    uint32_t context, number = 0;
    const struct hd_container *b = container_of(w, &context);

    /* the number in an only address space is that in the container */
    size_t from = b != NULL && b->contexts == 1 ? i : 0;
    number = (uint32_t)from;
    for (size_t k = from; b != NULL && k < b->kernels; k++) {
        const struct hd_trace_kernel *p = &b->kernel[k];
        if (p->context != context || number++ != i)
            continue;
        *out =
            (struct heddle_trace_kernel){.name = p->name,
                                         .number = number,
                                         .id = p->id,
                                         .shared_bytes = p->shared_bytes,
                                         .registers = p->regs,
                                         .binary = p->binary,
                                         .version = p->version,
                                         .lanes = p->lanes,
                                         .blocks = p->blocks,
                                         .warps = p->warps,
                                         .instructions = p->insts,
                                         .memory_instructions = p->mem_insts};
        memcpy(out->grid, p->grid, sizeof out->grid);
        memcpy(out->block, p->block, sizeof out->block);
        return 0;
    }
    return HEDDLE_EINVAL;
}

int heddle_trace_note(const heddle_workload *w, uint32_t i,
                      struct heddle_trace_note *out)
{
    uint32_t context;
    const struct hd_container *b = container_of(w, &context);

    if (b == NULL || i >= HD_TN_COUNT)
        return HEDDLE_EINVAL;
    *out = note_rows[i];
    const struct hd_trace_context *x = &b->context[context];
    out->count = i < x->notes ? x->note[i].count : 0;
    out->where = i < x->notes ? x->note[i].where : "";
    return 0;
}

int heddle_trace_verify(heddle_workload *w, char *error, size_t room)
{
    uint32_t context;
    struct hd_container *b = container_of(w, &context);
    struct heddle_error err = {0};

    for (size_t i = 0; b != NULL && i < b->frames && err.code == 0; i++)
        hd_frame_free(hd_container_frame(b, i, RESIDENT, &err));
    return hd_err_tell(&err, error, room);
}

/* ---- dumping ------------------------------------------------------------- */

struct dump {
    struct hd_container *container;
    const struct heddle_trace_select *s;
    heddle_each_fn *fn;
    void *ud;
    uint32_t kernels; /* number of the last one that was seen */
    bool block;       /* the selected one is there */
    struct heddle_each_op op;
    uint64_t address[HD_MAX_LANES];
    hd_va lane[HD_MAX_LANES];
};

static int dump_warp(struct dump *d, const struct hd_frame *f,
                     const struct hd_trace_kernel *k, uint32_t index)
{
    struct hd_access a;
    int rc = 0;

    d->op.warp = index % f->warps;
    for (const struct hd_frame_op *o = f->op + f->start[index]; rc == 0; o++) {
        const struct hd_trace_op *t = hd_frame_record(f, o);
        if (t->kind == HEDDLE_OP_EXIT)
            break;
        if (!hd_trace_op_memory(t))
            continue;
        d->op.pc = t->pc;
        d->op.bytes = t->bytes;
        d->op.mask = t->mask;
        d->op.local = t->space == HD_TS_LOCAL || t->space == HD_TS_PLACED;
        d->op.texture = t->space == HD_TS_TEXTURE;
        d->op.kind = t->kind;
        d->op.count = t->count;
        d->op.opcode = d->container->string[t->opcode];
        hd_frame_addr(f, o, &a, d->lane);
        for (uint64_t m = t->mask; m != 0; m &= m - 1)
            d->address[hd_bit_first(m)] =
                hd_access_lane(&a, hd_bit_first(m)) +
                (t->space == HD_TS_LOCAL ? k->local_base : 0);
        rc = d->fn(d->ud, &d->op);
    }
    return rc;
}

static int dump_frame(struct dump *d, size_t frame, struct heddle_error *err)
{
    const struct hd_trace_kernel *k =
        &d->container->kernel[d->container->frame[frame].kernel];
    struct hd_frame *f = hd_container_frame(d->container, frame, DUMPED, err);
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

static int dump_container(struct dump *d, uint32_t context,
                          struct heddle_error *err)
{
    uint32_t number = 0;
    int rc = 0;

    for (size_t i = 0; i < d->container->kernels && rc == 0; i++) {
        const struct hd_trace_kernel *k = &d->container->kernel[i];
        if (k->context != context)
            continue;
        d->op.kernel = k->name;
        d->op.launch = ++number;
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

static int on_op(void *ud, const struct heddle_each_op *op)
{
    struct dump *d = ud;

    d->kernels = op->launch;
    if ((d->s->kernel != 0 && d->s->kernel != op->launch) ||
        (d->s->one_block && d->s->block != op->block))
        return 0;
    d->block = true;
    if (!hd_op_memory(op->kind))
        return 0;
    d->op = *op;
    d->op.opcode = hd_trace_opcode[op->kind];
    return d->fn(d->ud, &d->op);
}

/* Whether what was selected is there at all. */
static int check_selected(const struct dump *d, struct heddle_error *err)
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
                      heddle_each_fn *fn, void *ud, char *error, size_t room)
{
    static const struct heddle_trace_select all;
    struct dump d = {.s = s != NULL ? s : &all, .fn = fn, .ud = ud};
    struct heddle_error err = {0};
    uint32_t context;

    d.container = hd_trace_source_container(hd_workload_source(w), &context);
    d.op.address = d.address;
    int rc;
    if (d.container == NULL) {
        struct heddle_each_options o = {.launches = d.s->kernel};
        rc = heddle_each(w, &o, on_op, &d, error, room);
        if (rc != 0)
            return rc;
    } else {
        rc = dump_container(&d, context, &err);
    }
    if (rc == 0)
        rc = check_selected(&d, &err);
    hd_err_tell(&err, error, room);
    return rc;
}

/* ---- recording ----------------------------------------------------------- */

const char *const hd_trace_opcode[HEDDLE_OPS] = {"ALU",    "LOAD", "STORE",
                                                 "ATOMIC", "BAR",  "EXIT"};

struct record {
    struct hd_source *source;
    uint8_t *gone; /* of each allocation: how often it went or came */
    uint32_t allocs;
    struct hd_container *container;
    struct hd_packer *pack;
    struct hd_pages pages;
    struct hd_trace_kernel *k;
    struct heddle_error *err;
    bool waited; /* the host has, for all kernels so far */
};

static int record_call(struct record *r, const struct hd_hint *h, bool beside)
{
    struct hd_trace_call c = {.hint = *h, .beside = beside};

    if (h->what == HD_HINT_GONE || h->what == HD_HINT_FREED)
        r->gone[h->alloc]++;
    return hd_container_call(r->container, &c, r->err);
}

/* What the host does at the launch that its source is at. */
static int record_calls(struct record *r)
{
    const struct hd_source_ops *o = r->source->ops;
    struct hd_hint h;

    for (uint32_t i = 0; o->gone != NULL && i < r->allocs; i++) {
        h = (struct hd_hint){.alloc = i, .what = HD_HINT_GONE};
        while (r->gone[i] != (uint8_t)o->gone(r->source->self, i))
            if (record_call(r, &h, false) != 0)
                return r->err->code;
    }
    while (o->hint != NULL && o->hint(r->source->self, &h))
        if (record_call(r, &h, false) != 0)
            return r->err->code;
    while (o->beside != NULL && o->beside(r->source->self, &h))
        if (record_call(r, &h, true) != 0)
            return r->err->code;
    return 0;
}

static int on_launch(void *ud, const struct hd_launch *l)
{
    struct record *r = ud;
    struct hd_trace_kernel k = {.id = (uint32_t)r->container->kernels + 1,
                                .shared_bytes = l->shared_bytes,
                                .regs = l->regs,
                                .lanes = l->lanes,
                                .stream = r->waited || l->wait != 0
                                              ? 0
                                              : l->stream};
    bool fits = true;

    r->waited = l->sync != 0;
    memcpy(k.grid, l->grid, sizeof k.grid);
    memcpy(k.block, l->block, sizeof k.block);
    for (unsigned i = 0; i < 3; i++)
        fits &= k.grid[i] != 0 && k.block[i] - 1 < 2048;
    if (!fits || hd_trace_threads(&k) > HD_TRACE_MAX_WARPS * (uint64_t)k.lanes)
        return hd_err_set(r->err, HEDDLE_EINVAL,
                          "kernel %s: blocks of %ux%ux%u threads; a trace "
                          "takes 2048 a dimension and %d warps",
                          l->name, k.block[0], k.block[1], k.block[2],
                          HD_TRACE_MAX_WARPS);
    if (l->warps != hd_trace_warps(&k))
        return hd_err_set(r->err, HEDDLE_EINVAL,
                          "kernel %s: %u warps a block are not %u threads",
                          l->name, l->warps, l->threads);
    k.name = hd_container_name(r->container, l->name, strlen(l->name), r->err);
    if (k.name == NULL || hd_container_pack(r->container, r->pack, r->err) != 0)
        return r->err->code;
    hd_packer_begin(r->pack, l->warps);
    r->k = hd_container_kernel(r->container, &k, r->err);
    return r->err->code != 0 ? r->err->code : record_calls(r);
}

static int on_block(void *ud, uint64_t block)
{
    struct record *r = ud;

    hd_packer_block(r->pack, block);
    return 0;
}

static int on_block_end(void *ud)
{
    struct record *r = ud;

    return hd_container_block_end(r->container, r->pack, r->err);
}

/* Packs a memory operation and counts its pages. */
static int record_memory(struct record *r, const struct hd_step *s,
                         struct hd_trace_op *o)
{
    uint64_t a[HD_MAX_LANES] = {0};
    unsigned n = 0;

    r->k->mem_insts++;
    r->k->lane_addrs += hd_bit_count(o->mask);
    for (uint64_t m = o->mask; m != 0; m &= m - 1, n++) {
        a[n] = hd_access_lane(s->acc, hd_bit_first(m));
        if (a[n] >= HD_TRACE_VA_END)
            return hd_err_set(r->err, HEDDLE_EINVAL,
                              "kernel %s: address 0x%llx is not below 2^%d",
                              s->launch->name, (unsigned long long)a[n],
                              HD_TRACE_VA_BITS);
        hd_pages_add(&r->pages, a[n], o->bytes);
    }
    bool affine = hd_trace_affine(o->mask, a, &o->stride);
    o->first = a[0];
    hd_packer_op(r->pack, s->warp, o, affine ? NULL : a);
    return r->pages.oom ? hd_err_memory(r->err) : 0;
}

static int record_step(void *ud, const struct hd_step *s)
{
    struct record *r = ud;
    const struct hd_op *op = s->op;
    bool memory = hd_op_memory(op->kind);
    struct hd_trace_op o = {
        .kind = op->kind,
        .slot = memory ? op->slot : HD_NO_SLOT,
        .bytes = memory || op->kind == HEDDLE_OP_ALU ? op->bytes : 0,
        .space = !memory                         ? HD_TS_GLOBAL
                 : op->space == HD_SPACE_LOCAL   ? HD_TS_PLACED
                 : op->space == HD_SPACE_TEXTURE ? HD_TS_TEXTURE
                 : op->space >= HD_SPACE_COPY    ? HD_TS_COPY
                                                 : HD_TS_GLOBAL,
        .wait = op->wait,
        .count = op->kind == HEDDLE_OP_ALU || memory ? op->count : 1,
        .pc = op->pc,
        .mask = op->mask & hd_ones(s->launch->lanes)};

    hd_assert(op->kind < HEDDLE_OPS);
    r->container->copies |= o.space == HD_TS_COPY;
    const char *opcode = hd_trace_opcode[o.kind];
    o.opcode =
        hd_container_string(r->container, opcode, strlen(opcode), r->err);
    if (o.opcode == HD_NONE)
        return r->err->code;
    r->k->insts += o.count;
    r->k->thread_insts += (uint64_t)o.count * hd_bit_count(o.mask);
    if (memory)
        return record_memory(r, s, &o);
    hd_packer_op(r->pack, s->warp, &o, NULL);
    return 0;
}

static int record_source(struct record *r, struct hd_source *s, uint32_t lanes)
{
    struct hd_functional run = {
        .src = s,
        .name = "recording",
        .v = {record_step, on_launch, on_block, on_block_end, r},
        .lanes = lanes};
    struct heddle_error *err = r->err;
    struct hd_alloc a = {0};

    hd_pages_init(&r->pages);
    if ((r->pack = hd_packer_new()) == NULL)
        return hd_err_memory(err);
    hd_container_context(r->container, s->name, err);
    for (uint32_t i = 0; err->code == 0 && s->ops->alloc(s->self, i, &a); i++)
        hd_container_alloc(r->container, 0, a.name, a.base.v, a.bytes, err);
    if (err->code != 0)
        return err->code;
    r->source = s;
    r->allocs = (uint32_t)r->container->context[0].allocs;
    r->gone = calloc(r->allocs + 1, 1);
    if (r->gone == NULL)
        return hd_err_memory(err);
    if (hd_functional_run(&run, err) != 0 ||
        hd_container_pack(r->container, r->pack, err) != 0)
        return err->code;
    if (hd_pages_ranges(&r->pages, &r->container->context[0]) != 0)
        return hd_err_memory(err);
    return hd_container_finish(r->container, err);
}

int heddle_trace_record(heddle_workload *workload, const char *out,
                        uint32_t lanes, char *error, size_t room)
{
    struct hd_source *s = hd_workload_source(workload);
    struct heddle_error err = {0};
    struct record r = {.err = &err};
    uint32_t context;
    struct hd_container *container = hd_trace_source_container(s, &context);

    if (container != NULL && hd_trace_source_times(s) > 1)
        hd_err_set(&err, HEDDLE_EINVAL,
                   "times: a container has each kernel once; give this when "
                   "the container is opened");
    if (err.code == 0 && hd_functional_lanes(&lanes, &err) == 0)
        r.container = hd_container_create(out, &err);
    if (r.container != NULL && container != NULL)
        hd_container_copy(container, context, r.container, SIZE_MAX, &err);
    else if (r.container != NULL)
        record_source(&r, s, lanes);
    free(r.gone);
    hd_container_free(r.container);
    hd_packer_free(r.pack);
    hd_pages_free(&r.pages);
    return hd_err_tell(&err, error, room);
}
