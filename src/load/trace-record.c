/*
 * trace-record.c - writes containers by hand, and of whatever a workload does.
 *
 * The writer takes operations of the warps of one block in any order among the
 * warps, so a program whose warps take turns at barriers is written as it
 * runs.  Scoreboard slots and waits are stored as given.
 *
 * Recording runs a source without time, exactly as heddle_walk() does (walk.c).
 * Local addresses of a program are final already and are stored as such.  A
 * workload that is a trace is copied instead.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../heddle_trace.h"
#include "trace-pages.h"
#include "walk.h"

struct heddle_trace_writer {
    struct hd_box *box;
    struct hd_pack *pack;
    struct hd_pages pages;
    struct hd_trace_kernel *k;
    struct hd_err err;
    uint32_t warps;
    uint64_t ended; /* warps of the block that have their EXIT */
    bool in_block;
};

static int misuse(heddle_trace_writer *w, const char *what)
{
    return hd_err_set(&w->err, HEDDLE_EINVAL, "trace writer: %s", what);
}

void heddle_trace_writer_free(heddle_trace_writer *w)
{
    if (w == NULL)
        return;
    hd_box_free(w->box);
    hd_pack_free(w->pack);
    hd_pages_free(&w->pages);
    free(w);
}

const char *heddle_trace_writer_error(const heddle_trace_writer *w)
{
    return w->err.text;
}

heddle_trace_writer *heddle_trace_writer_new(const char *out, const char *name,
                                             int *status, char *error,
                                             size_t room)
{
    heddle_trace_writer *w = calloc(1, sizeof *w);
    struct hd_err err = {0};

    if (w != NULL) {
        hd_pages_init(&w->pages);
        w->pack = hd_pack_new();
        w->box = hd_box_create(out, &err);
        if (w->box != NULL && w->pack != NULL &&
            hd_box_context(w->box, name, &err) == 0) {
            *status = 0;
            return w;
        }
        heddle_trace_writer_free(w);
    }
    hd_err_memory(&err);
    *status = hd_err_tell(&err, error, room);
    return NULL;
}

int heddle_trace_writer_alloc(heddle_trace_writer *w, const char *name,
                              uint64_t base, uint64_t bytes)
{
    if (w->err.code != 0)
        return w->err.code;
    if (base >= HD_TRACE_VA_END || bytes > HD_TRACE_VA_END - base)
        return misuse(w, "an allocation must lie below 2^48");
    return bytes == 0 ? 0 : hd_box_alloc(w->box, 0, name, base, bytes, &w->err);
}

int heddle_trace_writer_kernel(heddle_trace_writer *w,
                               const struct heddle_trace_kernel *k)
{
    struct hd_trace_kernel x = {.id = (uint32_t)w->box->kernels + 1,
                                .shared_bytes = k->shared_bytes,
                                .regs = k->registers,
                                .lanes = k->lanes != 0 ? k->lanes : 32};

    if (w->err.code != 0)
        return w->err.code;
    if (w->in_block)
        return misuse(w, "a kernel begins inside a block");
    if (hd_box_pack(w->box, w->pack, &w->err) != 0)
        return w->err.code;
    memcpy(x.grid, k->grid, sizeof x.grid);
    memcpy(x.block, k->block, sizeof x.block);
    for (unsigned i = 0; i < 3; i++) {
        if (x.grid[i] == 0 || x.block[i] == 0 || x.block[i] > 2048)
            return misuse(w, "a kernel's grid or block is empty or too large");
    }
    if ((x.lanes != 32 && x.lanes != 64) ||
        hd_trace_threads(&x) > HD_TRACE_MAX_WARPS * (uint64_t)x.lanes)
        return misuse(w, "warps have 32 or 64 lanes, a block 64 warps");
    x.name = hd_box_name(w->box, k->name, strlen(k->name), &w->err);
    if (x.name == NULL || (w->k = hd_box_kernel(w->box, &x, &w->err)) == NULL)
        return w->err.code;
    w->warps = hd_trace_warps(&x);
    hd_pack_begin(w->pack, w->warps);
    return 0;
}

int heddle_trace_writer_block(heddle_trace_writer *w, uint64_t number)
{
    if (w->err.code != 0)
        return w->err.code;
    if (w->k == NULL || w->in_block)
        return misuse(w, "a block begins outside a kernel or inside a block");
    hd_pack_block(w->pack, number);
    w->in_block = true;
    w->ended = 0;
    return 0;
}

/* Packs a memory operation and counts its pages. */
static int put_memory(heddle_trace_writer *w, uint32_t warp,
                      struct hd_top *o, const uint64_t *address)
{
    uint64_t a[HD_MAX_LANES] = {0};
    unsigned n = 0;

    w->k->mem_insts++;
    w->k->lane_addrs += hd_bit_count(o->mask);
    for (uint64_t m = o->mask; m != 0; m &= m - 1, n++) {
        a[n] = address[hd_bit_first(m)];
        if (a[n] >= HD_TRACE_VA_END)
            return misuse(w, "an address is not below 2^48");
        hd_pages_add(&w->pages, a[n], o->bytes);
    }
    bool affine = hd_trace_affine(o->mask, a, &o->stride);
    o->first = a[0];
    hd_pack_op(w->pack, warp, o, affine ? NULL : a);
    return w->pages.oom ? hd_err_memory(&w->err) : 0;
}

static int check_op(heddle_trace_writer *w, const struct heddle_trace_write *op)
{
    bool memory =
        op->kind >= HEDDLE_TRACE_LOAD && op->kind <= HEDDLE_TRACE_ATOMIC;

    if (w->err.code != 0)
        return w->err.code;
    if (!w->in_block || op->warp >= w->warps)
        return misuse(w, "an operation outside a block, or of no warp of it");
    if (w->ended >> op->warp & 1)
        return misuse(w, "an operation after the warp's exit");
    if (op->kind > HEDDLE_TRACE_EXIT || op->slot < -1 || op->slot > 31 ||
        (op->slot >= 0 && !memory))
        return misuse(w, "an operation's kind or slot is off");
    if (memory && (op->bytes > 16 || !hd_is_pow2(op->bytes)))
        return misuse(w, "a lane takes 1, 2, 4, 8 or 16 bytes");
    if (op->kind == HEDDLE_TRACE_ALU && op->bytes > UINT8_MAX)
        return misuse(w, "a group of a run has at most 255 instructions");
    if (op->mask & ~hd_ones(w->k->lanes))
        return misuse(w, "a mask has lanes that the warp has not");
    return 0;
}

int heddle_trace_writer_op(heddle_trace_writer *w,
                           const struct heddle_trace_write *op)
{
    static const char *const names[] = {"ALU",    "LOAD", "STORE",
                                        "ATOMIC", "BAR",  "EXIT"};

    if (check_op(w, op) != 0)
        return w->err.code;
    const char *name = op->opcode != NULL ? op->opcode : names[op->kind];
    uint32_t s = hd_box_string(w->box, name, strlen(name), &w->err);
    if (s == HD_NONE)
        return w->err.code;
    struct hd_top o = {.kind = (uint8_t)op->kind,
                       .slot = op->slot < 0 ? HD_NO_SLOT : (uint8_t)op->slot,
                       .wait = op->wait,
                       .count = 1,
                       .pc = op->pc,
                       .opcode = s,
                       .mask = op->mask};
    if (op->kind == HEDDLE_TRACE_ALU) {
        o.count = op->count != 0 ? op->count : 1;
        o.bytes = (uint8_t)op->bytes;
    }
    w->k->insts += o.count;
    w->k->thread_insts += (uint64_t)o.count * hd_bit_count(op->mask);
    if (op->kind == HEDDLE_TRACE_EXIT)
        w->ended |= 1ull << op->warp;
    if (!hd_top_memory(&o)) {
        hd_pack_op(w->pack, op->warp, &o, NULL);
        return 0;
    }
    o.bytes = (uint8_t)op->bytes;
    o.space = op->local     ? HD_TS_PLACED
              : op->texture ? HD_TS_TEXTURE
                            : HD_TS_GLOBAL;
    return put_memory(w, op->warp, &o, op->address);
}

int heddle_trace_writer_block_end(heddle_trace_writer *w)
{
    struct hd_top o = {.kind = HD_OP_EXIT, .slot = HD_NO_SLOT};

    if (w->err.code != 0)
        return w->err.code;
    if (!w->in_block)
        return misuse(w, "a block ends outside a block");
    for (uint32_t i = 0; i < w->warps; i++) {
        if (!(w->ended >> i & 1))
            hd_pack_op(w->pack, i, &o, NULL);
    }
    w->in_block = false;
    return hd_box_block_end(w->box, w->pack, &w->err);
}

int heddle_trace_writer_finish(heddle_trace_writer *w)
{
    if (w->err.code != 0)
        return w->err.code;
    if (w->in_block)
        return misuse(w, "the trace ends inside a block");
    if (hd_box_pack(w->box, w->pack, &w->err) != 0)
        return w->err.code;
    if (hd_pages_ranges(&w->pages, &w->box->context[0]) != 0)
        return hd_err_memory(&w->err);
    return hd_box_finish(w->box, &w->err);
}

/* ---- recording ----------------------------------------------------------- */

struct record {
    heddle_trace_writer *w;
    struct hd_err *err;
    uint64_t address[HD_MAX_LANES];
};

/* What the writer returned, with its words if it has failed. */
static int done(struct record *r, int code)
{
    return code == 0 ? 0 : hd_err_set(r->err, code, "%s", r->w->err.text);
}

static int on_launch(void *ud, const struct hd_launch *l)
{
    struct record *r = ud;
    struct heddle_trace_kernel k = {.name = l->name,
                                    .shared_bytes = l->shared_bytes,
                                    .registers = l->regs,
                                    .lanes = l->lanes};

    memcpy(k.grid, l->grid, sizeof k.grid);
    memcpy(k.block, l->block, sizeof k.block);
    if (done(r, heddle_trace_writer_kernel(r->w, &k)) != 0)
        return r->err->code;
    if (l->warps != r->w->warps)
        return hd_err_set(r->err, HEDDLE_EINVAL,
                          "kernel %s: %u warps a block are not %u threads",
                          l->name, l->warps, l->threads);
    return 0;
}

static int on_block(void *ud, uint64_t block)
{
    struct record *r = ud;

    return done(r, heddle_trace_writer_block(r->w, block));
}

static int on_block_end(void *ud)
{
    struct record *r = ud;

    return done(r, heddle_trace_writer_block_end(r->w));
}

static int on_step(void *ud, const struct hd_step *s)
{
    struct record *r = ud;
    const struct hd_op *op = s->op;
    bool memory = hd_op_memory(op->kind);
    struct heddle_trace_write out = {
        .kind = (enum heddle_trace_kind)op->kind,
        .warp = s->warp,
        .count = op->count,
        .pc = op->pc,
        .bytes = op->bytes,
        .wait = op->wait,
        .slot = op->slot == HD_NO_SLOT || !memory ? -1 : op->slot,
        .local = op->space == HD_SPACE_LOCAL,
        .texture = op->space == HD_SPACE_TEXTURE,
        .mask = op->mask & hd_ones(s->launch->lanes),
        .address = r->address};

    for (uint64_t m = memory ? op->mask : 0; m != 0; m &= m - 1)
        r->address[hd_bit_first(m)] = hd_access_lane(s->acc, hd_bit_first(m));
    return done(r, heddle_trace_writer_op(r->w, &out));
}

static int record_source(struct hd_source *s, const char *out, uint32_t lanes,
                         struct hd_err *err)
{
    struct record r = {.err = err};
    struct hd_walk run = {.src = s,
                          .name = "recording",
                          .v = {on_step, on_launch, on_block, on_block_end, &r},
                          .lanes = lanes};
    struct hd_alloc a = {0};
    int rc;

    r.w =
        heddle_trace_writer_new(out, s->name, &rc, err->text, sizeof err->text);
    if (r.w == NULL)
        return err->code = rc;
    for (uint32_t i = 0; rc == 0 && s->ops->alloc(s->self, i, &a); i++)
        rc =
            done(&r, heddle_trace_writer_alloc(r.w, a.name, a.base.v, a.bytes));
    if (rc == 0)
        rc = hd_walk_run(&run, err);
    if (rc == 0)
        rc = done(&r, heddle_trace_writer_finish(r.w));
    heddle_trace_writer_free(r.w);
    return rc;
}

int heddle_trace_record(heddle_workload *workload, const char *out,
                        uint32_t lanes, char *error, size_t room)
{
    struct hd_source *s = hd_workload_source(workload);
    struct hd_err err = {0};
    uint32_t context;
    struct hd_box *box = hd_trace_source_box(s, &context);

    if (hd_walk_lanes(&lanes, &err) == 0 && box == NULL) {
        record_source(s, out, lanes, &err);
    } else if (err.code == 0) {
        struct hd_box *to = hd_box_create(out, &err);
        if (to != NULL)
            hd_box_copy(box, context, to, SIZE_MAX, &err);
        hd_box_free(to);
    }
    return hd_err_tell(&err, error, room);
}
