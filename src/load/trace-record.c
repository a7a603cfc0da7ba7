/*
 * trace-record.c - writes what a workload does into a container.
 *
 * The source runs without time, exactly as heddle_walk() runs it (walk.c), its
 * warps in turns at barriers; scoreboard slots and waits are stored as given.
 * Local addresses of a program are final already and are stored as such.  A
 * workload that is a trace is copied instead.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../heddle_trace.h"
#include "trace.h"
#include "walk.h"

#include <stdio.h>

const char *const hd_trace_opcode[HEDDLE_OPS] = {"ALU",    "LOAD", "STORE",
                                                 "ATOMIC", "BAR",  "EXIT"};

struct record {
    struct hd_box *box;
    struct hd_pack *pack;
    struct hd_pages pages;
    struct hd_trace_kernel *k;
    struct hd_err *err;
};

static int on_launch(void *ud, const struct hd_launch *l)
{
    struct record *r = ud;
    struct hd_trace_kernel k = {.id = (uint32_t)r->box->kernels + 1,
                                .shared_bytes = l->shared_bytes,
                                .regs = l->regs,
                                .lanes = l->lanes};
    bool fits = true;

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
    k.name = hd_box_name(r->box, l->name, strlen(l->name), r->err);
    if (k.name == NULL || hd_box_pack(r->box, r->pack, r->err) != 0)
        return r->err->code;
    hd_pack_begin(r->pack, l->warps);
    r->k = hd_box_kernel(r->box, &k, r->err);
    return r->err->code;
}

static int on_block(void *ud, uint64_t block)
{
    struct record *r = ud;

    hd_pack_block(r->pack, block);
    return 0;
}

static int on_block_end(void *ud)
{
    struct record *r = ud;

    return hd_box_block_end(r->box, r->pack, r->err);
}

/* Packs a memory operation and counts its pages. */
static int put_memory(struct record *r, const struct hd_step *s,
                      struct hd_top *o)
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
    hd_pack_op(r->pack, s->warp, o, affine ? NULL : a);
    return r->pages.oom ? hd_err_memory(r->err) : 0;
}

static int on_step(void *ud, const struct hd_step *s)
{
    struct record *r = ud;
    const struct hd_op *op = s->op;
    bool memory = hd_op_memory(op->kind);
    struct hd_top o = {.kind = op->kind,
                       .slot = memory ? op->slot : HD_NO_SLOT,
                       .bytes =
                           memory || op->kind == HEDDLE_OP_ALU ? op->bytes : 0,
                       .space = !memory                         ? HD_TS_GLOBAL
                                : op->space == HD_SPACE_LOCAL   ? HD_TS_PLACED
                                : op->space == HD_SPACE_TEXTURE ? HD_TS_TEXTURE
                                                                : HD_TS_GLOBAL,
                       .wait = op->wait,
                       .count = op->kind == HEDDLE_OP_ALU ? op->count : 1,
                       .pc = op->pc,
                       .mask = op->mask & hd_ones(s->launch->lanes)};

    hd_assert(op->kind < HEDDLE_OPS);
    const char *opcode = hd_trace_opcode[o.kind];
    o.opcode = hd_box_string(r->box, opcode, strlen(opcode), r->err);
    if (o.opcode == HD_NONE)
        return r->err->code;
    r->k->insts += o.count;
    r->k->thread_insts += (uint64_t)o.count * hd_bit_count(o.mask);
    if (memory)
        return put_memory(r, s, &o);
    hd_pack_op(r->pack, s->warp, &o, NULL);
    return 0;
}

static int record_source(struct record *r, struct hd_source *s, uint32_t lanes)
{
    struct hd_walk run = {.src = s,
                          .name = "recording",
                          .v = {on_step, on_launch, on_block, on_block_end, r},
                          .lanes = lanes};
    struct hd_err *err = r->err;
    struct hd_alloc a = {0};

    hd_pages_init(&r->pages);
    if ((r->pack = hd_pack_new()) == NULL)
        return hd_err_memory(err);
    hd_box_context(r->box, s->name, err);
    for (uint32_t i = 0; err->code == 0 && s->ops->alloc(s->self, i, &a); i++)
        hd_box_alloc(r->box, 0, a.name, a.base.v, a.bytes, err);
    if (err->code != 0 || hd_walk_run(&run, err) != 0 ||
        hd_box_pack(r->box, r->pack, err) != 0)
        return err->code;
    if (hd_pages_ranges(&r->pages, &r->box->context[0]) != 0)
        return hd_err_memory(err);
    return hd_box_finish(r->box, err);
}

int heddle_trace_record(heddle_workload *workload, const char *out,
                        uint32_t lanes, char *error, size_t room)
{
    struct hd_source *s = hd_workload_source(workload);
    struct hd_err err = {0};
    struct record r = {.err = &err};
    uint32_t context;
    struct hd_box *box = hd_trace_source_box(s, &context);

    if (hd_walk_lanes(&lanes, &err) == 0)
        r.box = hd_box_create(out, &err);
    if (r.box != NULL && box != NULL)
        hd_box_copy(box, context, r.box, SIZE_MAX, &err);
    else if (r.box != NULL)
        record_source(&r, s, lanes);
    hd_box_free(r.box);
    hd_pack_free(r.pack);
    hd_pages_free(&r.pages);
    return hd_err_tell(&err, error, room);
}
