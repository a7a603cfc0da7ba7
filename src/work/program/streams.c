/*
 * streams.c - kernel programs whose launches overlap.
 *
 * The lane engine (lane.h) knows one launch at a time: its kernel, its grid, its
 * arguments, and the warps that execute it.  A program that has streams has such
 * an engine for each of them, and one for the default stream, which has the
 * host, too.  All work on the same buffers.  A launch that was asked for keeps
 * its kernel, grid and arguments in a ticket until it starts; then the engine of
 * its stream has them.  A context is known by its stream and its number there.
 *
 * Contents are read and written when instructions issue, so kernels that overlap
 * see each other's stores in that order, as they do on a machine.
 *
 * Invariants: an engine has at most one launch, since those of a stream run in
 * order; a program without streams never comes here, and costs no more.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "lane.h"

enum { CONTEXT_SHIFT = 24 };

struct ticket { /* in the arena: a launch that has not started */
    uint32_t used, kernel, grid[3];
    union heddle_value arg[HEDDLE_MAX_ARGS];
};

struct streams {
    struct hd_source src;
    struct hd_lane_engine *engine[HD_STREAMS + 1]; /* [0]: the host's, too */
    struct ticket *ticket;                         /* arena */
};

static const struct hd_source_ops *streams_ops(const struct streams *s)
{
    return s->engine[0]->src.ops;
}

/* The engine of a context, which becomes its number there. */
static HD_INLINE struct hd_lane_engine *streams_engine(const struct streams *s,
                                                       uint32_t *ctx)
{
    struct hd_lane_engine *vm = s->engine[*ctx >> CONTEXT_SHIFT];

    *ctx &= (1u << CONTEXT_SHIFT) - 1;
    return vm;
}

/* An engine without buffers of its own lets go of those it was given. */
static void streams_unbind(void *self)
{
    struct streams *s = self;

    for (uint32_t i = s->src.streams; i > 0; i--) {
        s->engine[i]->buf = (struct hd_buffers){0};
        streams_ops(s)->unbind(s->engine[i]);
    }
    streams_ops(s)->unbind(s->engine[0]);
}

static int streams_bind(void *self, struct hd_env *env, uint32_t app,
                        uint32_t lanes, uint32_t slots)
{
    struct streams *s = self;
    uint32_t places = env->compact ? 2 * slots : slots;
    int e = streams_ops(s)->bind(s->engine[0], env, app, lanes, slots);

    if (e != 0)
        return e;
    s->ticket =
        hd_arena_take(env->arena, HD_STREAM_LAUNCHES, sizeof *s->ticket);
    e = s->ticket == NULL ? hd_err_memory(env->err) : 0;
    if (e == 0 && places > 1u << CONTEXT_SHIFT)
        e = hd_err_set(env->err, HEDDLE_EINVAL,
                       "program %s: %u warps at once; with streams at most %u "
                       "are expected",
                       s->src.name, places, 1u << CONTEXT_SHIFT);
    for (uint32_t i = 1; i <= s->src.streams && e == 0; i++) {
        e = streams_ops(s)->bind(s->engine[i], env, app, lanes, slots);
        if (e != 0)
            break;
        hd_buffers_close(&s->engine[i]->buf);
        s->engine[i]->buf = (struct hd_buffers){.n = s->engine[0]->buf.n,
                                                .v = s->engine[0]->buf.v};
    }
    if (e != 0)
        streams_unbind(s);
    return e;
}

static bool streams_alloc(void *self, uint32_t i, struct hd_alloc *out)
{
    const struct streams *s = self;

    return streams_ops(s)->alloc(s->engine[0], i, out);
}

static uint32_t streams_gone(void *self, uint32_t i)
{
    const struct streams *s = self;

    return streams_ops(s)->gone(s->engine[0], i);
}

static bool streams_hint(void *self, struct hd_hint *out)
{
    const struct streams *s = self;

    return streams_ops(s)->hint(s->engine[0], out);
}

static bool streams_beside(void *self, struct hd_hint *out)
{
    const struct streams *s = self;

    return streams_ops(s)->beside(s->engine[0], out);
}

/* The written pages that engines of streams have counted are the host's. */
static struct hd_lane_engine *streams_gather(const struct streams *s)
{
    for (uint32_t i = 1; i <= s->src.streams; i++) {
        s->engine[0]->buf.pages += s->engine[i]->buf.pages;
        s->engine[i]->buf.pages = 0;
    }
    return s->engine[0];
}

static int streams_restart(void *self)
{
    struct streams *s = self;

    memset(s->ticket, 0, HD_STREAM_LAUNCHES * sizeof *s->ticket);
    return streams_ops(s)->restart(streams_gather(s));
}

static int streams_launch(void *self, struct hd_launch *out)
{
    struct streams *s = self;
    const struct hd_lane_state *st = s->engine[0]->st;
    int r = streams_ops(s)->launch(s->engine[0], out);
    uint32_t i = 0;

    if (r <= 0)
        return r;
    while (s->ticket[i].used)
        i++;
    s->ticket[i].used = 1;
    s->ticket[i].kernel = st->kernel;
    memcpy(s->ticket[i].grid, st->grid, sizeof st->grid);
    memcpy(s->ticket[i].arg, st->arg, sizeof st->arg);
    out->ticket = i;
    return 1;
}

static int streams_begin(void *self, const struct hd_launch *l)
{
    struct streams *s = self;
    struct hd_lane_engine *vm = s->engine[l->stream];
    struct ticket *t = &s->ticket[l->ticket];

    vm->st->kernel = t->kernel;
    memcpy(vm->st->grid, t->grid, sizeof t->grid);
    memcpy(vm->st->arg, t->arg, sizeof t->arg);
    vm->st->started = 1;
    t->used = 0;
    hd_numbers_clear(&vm->numbers);
    return streams_ops(s)->restored(vm);
}

static int streams_block_start(void *self, uint64_t block, uint32_t *ctx)
{
    struct streams *s = self;
    uint32_t stream = hd_block_stream(block);
    int e = streams_ops(s)->block_start(s->engine[stream],
                                        hd_block_number(block), ctx);

    *ctx |= stream << CONTEXT_SHIFT;
    return e;
}

static void streams_block_end(void *self, uint32_t ctx)
{
    struct streams *s = self;
    struct hd_lane_engine *vm = streams_engine(s, &ctx);

    streams_ops(s)->block_end(vm, ctx);
}

static void streams_next(void *self, uint32_t ctx, uint32_t warp,
                         struct hd_op *op)
{
    struct hd_lane_engine *vm = streams_engine(self, &ctx);

    vm->src.ops->next(vm, ctx, warp, op);
}

static void streams_access(void *self, uint32_t ctx, uint32_t warp,
                           struct hd_access *acc)
{
    struct hd_lane_engine *vm = streams_engine(self, &ctx);

    hd_lane_access(vm, ctx, warp, acc);
}

static uint64_t streams_regroup(void *self, uint32_t ctx, struct hd_group *g)
{
    uint32_t stream = ctx >> CONTEXT_SHIFT;
    struct hd_lane_engine *vm = streams_engine(self, &ctx);
    uint64_t warps = hd_lane_regroup(vm, ctx, g);

    g->ctx |= stream << CONTEXT_SHIFT;
    return warps;
}

static uint32_t streams_origin(void *self, uint32_t ctx, uint32_t warp,
                               uint32_t lane)
{
    struct hd_lane_engine *vm = streams_engine(self, &ctx);

    return hd_lane_origin(vm, ctx, warp, lane);
}

static int streams_restored(void *self)
{
    struct streams *s = self;
    int e = 0;

    for (uint32_t i = 0; i <= s->src.streams && e == 0; i++)
        e = streams_ops(s)->restored(s->engine[i]);
    return e;
}

/* The host's engine knows the contents, and what is pending is in the arena. */
static void *streams_save(const void *self)
{
    const struct streams *s = self;

    return streams_ops(s)->save(streams_gather(s));
}

static int streams_load(void *self, const void *saved)
{
    const struct streams *s = self;

    return streams_ops(s)->load(streams_gather(s), saved);
}

static void streams_drop(void *saved)
{
    hd_lane_ops()->drop(saved);
}

static void streams_pack(const void *saved, struct hd_bytes *out)
{
    hd_lane_ops()->pack(saved, out);
}

static void *streams_unpack(const void *self, struct hd_cursor *in)
{
    const struct streams *s = self;

    return streams_ops(s)->unpack(s->engine[0], in);
}

static bool streams_contents(void *self, hd_va va, unsigned char *out)
{
    const struct streams *s = self;

    return streams_ops(s)->contents(s->engine[0], va, out);
}

static uint64_t streams_memory(void *self)
{
    const struct streams *s = self;

    return streams_ops(s)->memory(streams_gather(s));
}

static void streams_free(void *self)
{
    struct streams *s = self;

    if (s->engine[0] != NULL && s->engine[0]->env != NULL)
        streams_unbind(s);
    for (uint32_t i = 0; i <= HD_STREAMS; i++)
        if (s->engine[i] != NULL)
            s->engine[i]->src.free(s->engine[i]);
    free(s);
}

static const struct hd_source_ops ops_of_streams = {
    .bind = streams_bind,
    .alloc = streams_alloc,
    .gone = streams_gone,
    .hint = streams_hint,
    .beside = streams_beside,
    .restart = streams_restart,
    .launch = streams_launch,
    .begin = streams_begin,
    .block_start = streams_block_start,
    .block_end = streams_block_end,
    .next = streams_next,
    .access = streams_access,
    .regroup = streams_regroup,
    .origin = streams_origin,
    .restored = streams_restored,
    .save = streams_save,
    .load = streams_load,
    .drop = streams_drop,
    .pack = streams_pack,
    .unpack = streams_unpack,
    .contents = streams_contents,
    .memory = streams_memory,
    .unbind = streams_unbind,
};

struct hd_source *hd_program_streams(struct heddle_program *p)
{
    struct streams *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    for (uint32_t i = 0; i <= p->nstream; i++) {
        struct hd_source *one = hd_lane_source(p);
        if (one == NULL) {
            streams_free(s);
            return NULL;
        }
        s->engine[i] = one->self;
    }
    s->src.ops = &ops_of_streams;
    s->src.self = s;
    s->src.hash = p->hash;
    s->src.free = streams_free;
    s->src.streams = p->nstream;
    s->src.copies = s->engine[0]->src.copies;
    memcpy(s->src.name, p->name, sizeof s->src.name);
    return &s->src;
}
