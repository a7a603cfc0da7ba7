/*
 * cut.c - a container of some of the kernels and blocks of another.
 *
 * Text that is read with a choice (choose.c) and a container that is cut by the
 * same one hold the same: the kernels in their order, the blocks in theirs, all
 * allocations, and of the pages outside of them those that what was chosen
 * touches.  So every frame is unpacked once, for its addresses; a kernel all of
 * whose blocks are chosen keeps its frames as they are, the blocks of others
 * are packed again.
 *
 * What the host does at a kernel goes with the kernel.  An allocation that the
 * calls left out would have freed, or taken again, is freed or taken before the
 * next kernel that stays.
 *
 * Left out: notes of the reader are those of the whole address space, as they
 * name lines of a text and not kernels.
 *
 * SPDX-License-Identifier: MIT
 */
#include "choose.h"
#include "text.h"

struct cut {
    struct hd_container *in, *out;
    struct hd_trace_context *x; /* of out */
    struct hd_choice *choice;
    struct hd_packer *pack;
    struct hd_pages pages;
    struct hd_trace_kernel *k; /* of out */
    uint8_t *gone; /* of each allocation: 1: calls left out have freed it */
    size_t limit;
    struct heddle_error *err;
};

/* ---- what an operation touches ------------------------------------------- */

static void cut_touch(struct cut *c, const struct hd_trace_op *o,
                      struct hd_access *acc)
{
    uint64_t low = UINT64_MAX, high = 0;

    for (uint64_t m = o->mask; m != 0; m &= m - 1) {
        uint64_t at = hd_access_lane(acc, hd_bit_first(m));
        if (o->space == HD_TS_LOCAL) /* as replay takes what cannot be */
            at = hd_min_u64(at, HD_TRACE_WINDOW - 1);
        low = hd_min_u64(low, at / 4);
        high = hd_max_u64(high, at / 4 + 1);
        if (o->space != HD_TS_LOCAL)
            hd_pages_add(&c->pages, at, o->bytes);
    }
    if (o->space == HD_TS_LOCAL && o->mask != 0)
        hd_trace_local(c->x, low, high, c->k->local_base);
}

/* An operation again: counted if its kernel is packed again. */
static void cut_op(struct cut *c, const struct hd_frame *f,
                   const struct hd_frame_op *at, uint32_t warp, bool packed)
{
    struct hd_trace_op o = *hd_frame_record(f, at);
    bool memory = hd_trace_op_memory(&o),
         has = memory || hd_trace_op_shared(&o);
    uint64_t list[HD_MAX_LANES];
    hd_va lane[HD_MAX_LANES];
    struct hd_access acc;
    unsigned n = 0;

    if (has) {
        hd_frame_addr(f, at, &acc, lane);
        if (memory)
            cut_touch(c, &o, &acc);
    }
    if (!packed)
        return;
    o.first = at->first;
    for (uint64_t m = at->list != 0 ? o.mask : 0; m != 0; m &= m - 1)
        list[n++] = hd_access_lane(&acc, hd_bit_first(m));
    o.list = 0;
    hd_packer_op(c->pack, warp, &o, n != 0 ? list : NULL);
    c->k->insts += o.count;
    c->k->thread_insts += (uint64_t)o.count * hd_bit_count(o.mask);
    c->k->mem_insts += memory ? o.count : 0;
    c->k->lane_addrs += memory ? hd_bit_count(o.mask) : 0;
}

/* ---- kernels ------------------------------------------------------------- */

static int cut_frame(struct cut *c, size_t frame, bool packed)
{
    struct hd_frame *f = hd_container_frame(c->in, frame, c->limit, c->err);

    if (f == NULL)
        return c->err->code;
    for (uint32_t b = 0; b < f->blocks && c->err->code == 0; b++) {
        if (packed && !hd_choice_block(c->choice, f->number[b]))
            continue;
        if (packed)
            hd_packer_block(c->pack, f->number[b]);
        for (uint32_t w = 0; w < f->warps; w++) {
            const struct hd_frame_op *o = f->op + f->start[b * f->warps + w];
            for (;; o++) {
                cut_op(c, f, o, w, packed);
                if (hd_frame_record(f, o)->kind == HEDDLE_OP_EXIT)
                    break;
            }
        }
        if (packed)
            hd_container_block_end(c->out, c->pack, c->err);
    }
    hd_frame_free(f);
    return c->err->code;
}

/* A kernel's frames as they are. */
static int cut_whole(struct cut *c, const struct hd_trace_kernel *k)
{
    for (uint32_t f = k->frame0; f < k->frame0 + k->frames; f++) {
        const unsigned char *p = hd_container_get(c->in, f, c->limit, c->err);
        if (p == NULL || hd_container_put(c->out, p, c->in->frame[f].raw,
                                          c->in->frame[f].blocks, c->err) != 0)
            return c->err->code;
    }
    return 0;
}

/* Calls at a kernel that is not chosen. */
static void cut_drop_calls(struct cut *c, const struct hd_trace_kernel *k)
{
    for (size_t i = k->call0; i < k->call0 + k->calls; i++) {
        const struct hd_hint *h = &c->in->call[i].hint;
        if (h->what == HD_HINT_GONE || h->what == HD_HINT_FREED)
            c->gone[h->alloc] ^= 1;
    }
}

static int cut_calls(struct cut *c, const struct hd_trace_kernel *k)
{
    for (uint32_t i = 0; i < c->x->allocs && c->err->code == 0; i++) {
        struct hd_trace_call call = {
            .hint = {.alloc = i, .what = HD_HINT_GONE}};
        if (c->gone[i] != 0)
            hd_container_call(c->out, &call, c->err);
        c->gone[i] = 0;
    }
    for (size_t i = k->call0; i < k->call0 + k->calls && c->err->code == 0; i++)
        hd_container_call(c->out, &c->in->call[i], c->err);
    return c->err->code;
}

static int cut_kernel(struct cut *c, const struct hd_trace_kernel *from)
{
    struct hd_trace_kernel k = *from;
    bool some = hd_choice_some(c->choice);
    uint64_t n;

    if (hd_choice_blocks(c->choice, from, &n, c->err) != 0)
        return c->err->code;
    k.name = hd_container_name(c->out, from->name, strlen(from->name), c->err);
    k.context = 0;
    if (some)
        k.blocks = k.warps = k.insts = k.thread_insts = k.mem_insts =
            k.lane_addrs = 0;
    if (k.name == NULL ||
        (c->k = hd_container_kernel(c->out, &k, c->err)) == NULL ||
        cut_calls(c, from) != 0)
        return c->err->code;
    hd_packer_begin(c->pack, hd_trace_warps(&k));
    for (uint32_t f = from->frame0; f < from->frame0 + from->frames; f++)
        if (cut_frame(c, f, some) != 0)
            return c->err->code;
    if (!some)
        return cut_whole(c, from);
    if (c->k->blocks == 0)
        return hd_err_set(c->err, HEDDLE_EINVAL, HD_CHOICE_NO_BLOCK, k.id,
                          k.name);
    return hd_container_pack(c->out, c->pack, c->err);
}

int hd_container_cut(struct hd_container *in, uint32_t context,
                     struct hd_choice *choice, struct hd_container *out,
                     size_t limit, struct heddle_error *err)
{
    struct cut c = {.in = in,
                    .out = out,
                    .choice = choice,
                    .limit = limit,
                    .err = err,
                    .pack = hd_packer_new()};

    hd_pages_init(&c.pages);
    if (c.pack != NULL && hd_container_copy_head(in, context, out, err) == 0) {
        c.x = &out->context[0];
        c.gone = calloc(c.x->allocs + 1, 1);
        free(c.x->range); /* what is chosen touches fewer */
        c.x->range = NULL;
        c.x->ranges = c.x->room_ranges = 0;
        c.x->local_low = c.x->local_words = c.x->local_base = 0;
    }
    if (err->code == 0 && (c.pack == NULL || c.gone == NULL))
        hd_err_memory(err);
    for (size_t i = 0; i < in->kernels && err->code == 0; i++) {
        const struct hd_trace_kernel *k = &in->kernel[i];
        if (k->context != context)
            continue;
        if (hd_choice_kernel(choice, k->name))
            cut_kernel(&c, k);
        else
            cut_drop_calls(&c, k);
    }
    if (err->code == 0 &&
        hd_choice_end(choice, in->io.path != NULL ? in->io.path : "the trace",
                      err) == 0) {
        if (hd_pages_ranges(&c.pages, c.x) != 0)
            hd_err_memory(err);
        else
            hd_container_finish(out, err);
    }
    hd_packer_free(c.pack);
    hd_pages_free(&c.pages);
    free(c.gone);
    return err->code;
}
