/*
 * source.c - replays a container: the instructions the cores ask for.
 *
 * What the host of the program did before a kernel and next to it is done
 * again.
 *
 * State in the arena: which launch, which block each context executes, and a
 * position for each warp.  Outside: unpacked frames, each counted by the
 * contexts that execute one of its blocks, and for each warp pointers into
 * its frame; all of it is found again from the arena after a restore.  Blocks
 * start in the order of the file, so most starts find their frame unpacked:
 * the frame used last is kept until another is needed.
 *
 * Block number i of a launch is the i-th in the file, and a launch has as many
 * blocks as the file: a trace may hold fewer than the grid, in any order.
 *
 * Streams.  Where it is asked for, kernels of different streams of the trace
 * overlap: each stream has a replayer of its own on the container, and its
 * contexts are known by the stream, too.  Stream 0 is the default one.  A trace
 * has no events, so what kernels of two streams have waited for is not known;
 * one whose list names some (list.c) runs its kernels in turn only.
 *
 * Local memory.  The trace knows the offset in a thread's window.  As the
 * hardware interleaves threads, word k of the thread in slot s is at
 * base + 4 * ((k - low) * T + s), with T the threads that can be resident on
 * the whole machine and low the first word that any thread touches (stacks
 * grow down from the window's end).  A slot is the context's warp, so it is
 * reused as blocks come and go.  An access wider than a word touches the stripe
 * of its first word only.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace.h"

#include "kit/numbers.h"
#include "kit/env.h"
#include "tool.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { REPLAY_LAUNCHES = 1 << 24 }; /* of kernels that run several times */

struct state {         /* in the arena */
    uint32_t launch;   /* next kernel to launch, in the order of the source */
    uint32_t kernel;   /* launched: number in the container, or HD_NONE */
    uint32_t warps;    /* a block of it */
    uint32_t contexts; /* that fit the machine */
    uint32_t called;   /* of the host's calls at it: those asked for */
    uint32_t told;     /* allocations whose advice from before it is settled */
};

/* Of an allocation, in the arena. */
struct from_host {
    uint8_t gone;    /* how often its host gave it back, or took it again */
    uint8_t advised; /* 1: it has said something of it */
    uint8_t stale;   /* 1: before it started again */
};

struct context {    /* in the arena: a block that executes */
    uint32_t frame; /* of the container; HD_NONE: free */
    uint32_t block; /* in the frame */
};

struct resident {
    size_t frame;
    uint32_t users;
    struct hd_frame *f;
};

struct replay { /* what a warp executes; wiring */
    const struct hd_frame_op *op;
    const struct hd_frame *f;
};

struct replayer {
    struct hd_source source;
    struct hd_container *container;
    uint32_t context;
    uint32_t *kernel; /* numbers of the source's kernels */
    uint32_t kernels;
    uint32_t times; /* each of them is there so often */
    uint64_t limit;
    /* while bound */
    struct hd_env *env;
    uint32_t slots;
    uint64_t local_base, local_bytes;
    struct state *s;        /* arena */
    struct context *c;      /* arena [slots] */
    uint32_t *pos;          /* arena [slots] */
    struct from_host *host; /* arena [allocs] */
    struct hd_numbers ctx;  /* of contexts: which are in use */
    struct replay *warp;    /* [slots] */
    struct resident *res;   /* unpacked frames, in use and the last one */
    size_t ress, room_res;
    uint64_t bytes; /* of unpacked frames */
    hd_va lane[HD_MAX_LANES];
    /* where streams overlap: of each kernel its stream, and what replays those
     * of streams 1, 2, ... */
    uint8_t *stream;
    struct replayer *line[HD_STREAMS];
};

/* ---- frames -------------------------------------------------------------- */

/* Frees unpacked frames that no context uses. */
static void drop_unused(struct replayer *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->ress; i++) {
        if (t->res[i].users != 0) {
            t->res[n++] = t->res[i];
            continue;
        }
        t->bytes -= t->res[i].f->bytes;
        hd_frame_free(t->res[i].f);
    }
    t->ress = n;
}

/* The unpacked frame, with one user more. */
static struct hd_frame *acquire(struct replayer *t, size_t frame,
                                struct heddle_error *err)
{
    for (size_t i = t->ress; i-- > 0;) {
        if (t->res[i].frame == frame) {
            t->res[i].users++;
            return t->res[i].f;
        }
    }
    drop_unused(t);
    struct resident *r = hd_grow(&t->res, t->ress, &t->room_res, sizeof *r);
    if (r == NULL)
        return hd_err_no_memory(err);
    struct hd_frame *f = hd_container_frame(t->container, frame, t->limit, err);
    if (f == NULL)
        return NULL;
    if (t->bytes + f->bytes > t->limit) {
        hd_frame_free(f);
        return hd_container_too_large(t->container, frame, t->limit, err);
    }
    t->bytes += f->bytes;
    r[t->ress++] = (struct resident){frame, 1, f};
    return f;
}

static void drop_all(struct replayer *t)
{
    for (size_t i = 0; i < t->ress; i++)
        t->res[i].users = 0;
    drop_unused(t);
}

/* ---- binding ------------------------------------------------------------- */

/* Where local memory is laid: where the trace saw it, unless that is taken. */
static void place_local(struct replayer *t)
{
    const struct hd_trace_context *x = &t->container->context[t->context];
    uint64_t page = HD_PAGE_BYTES - 1, end = 0, base = x->local_base;

    t->local_bytes = x->local_words * 4 * t->slots * 32;
    base = (base + page) & ~page;
    bool taken = base == 0 || base + t->local_bytes > HD_TRACE_VA_END;
    for (size_t i = 0; i < x->allocs; i++) {
        const struct hd_trace_alloc *a = &x->alloc[i];
        taken |= a->base < base + t->local_bytes && base < a->base + a->bytes;
        end = hd_max_u64(end, a->base + a->bytes);
    }
    for (size_t i = 0; i < x->ranges; i++) {
        uint64_t from = x->range[i].page << HD_PAGE_SHIFT;
        uint64_t to = from + (x->range[i].n << HD_PAGE_SHIFT);
        taken |= from < base + t->local_bytes && base < to;
        end = hd_max_u64(end, to);
    }
    uint64_t large = (1ull << HD_LARGE_SHIFT) - 1;
    t->local_base = taken ? (end + large) & ~large : base;
}

static void unbind(void *self)
{
    struct replayer *t = self;

    drop_all(t);
    free(t->warp);
    t->warp = NULL;
    t->env = NULL;
    t->local_bytes = 0;
}

static int replay_bind(void *self, struct hd_env *env, uint32_t app,
                       uint32_t lanes, uint32_t slots)
{
    struct replayer *t = self;

    (void)app;
    (void)lanes;
    if (t->env != NULL)
        return hd_err_set(env->err, HEDDLE_EINVAL,
                          "trace %s: it is in use by another simulation",
                          t->source.name);
    if (env->classes && !t->container->classes)
        return hd_err_set(env->err, HEDDLE_ECONFIG,
                          "trace %s: core.classes needs the classes of its "
                          "instructions: open its text with classes=true, or "
                          "convert that with it",
                          t->source.name);
    t->slots = slots;
    t->s = hd_arena_take(env->arena, 1, sizeof *t->s);
    t->c = hd_arena_take(env->arena, slots, sizeof *t->c);
    t->pos = hd_arena_take(env->arena, slots, sizeof *t->pos);
    t->host =
        hd_arena_take(env->arena, t->container->context[t->context].allocs + 1,
                      sizeof *t->host);
    t->warp = calloc(slots, sizeof *t->warp);
    if (t->s == NULL || t->host == NULL || t->c == NULL || t->pos == NULL ||
        t->warp == NULL || hd_numbers_open(&t->ctx, env->arena, slots) != 0) {
        free(t->warp);
        t->warp = NULL;
        return hd_err_memory(env->err);
    }
    t->env = env;
    t->s->kernel = HD_NONE;
    for (uint32_t i = 0; i < slots; i++)
        t->c[i].frame = HD_NONE;
    place_local(t);
    if (t->local_bytes != 0 &&
        t->local_base + t->local_bytes > HD_TRACE_VA_END) {
        hd_err_set(env->err, HEDDLE_EDATA,
                   "trace %s: %llu bytes of local memory find no place below "
                   "2^48",
                   t->source.name, (unsigned long long)t->local_bytes);
        unbind(t);
        return env->err->code;
    }
    return 0;
}

/* A name of the file, which may be anything, as it can be shown. */
static void replay_name(const char *name, char *out, size_t room)
{
    heddle_line_escape(name, strlen(name), "", out, room);
}

static bool replay_alloc(void *self, uint32_t i, struct hd_alloc *out)
{
    struct replayer *t = self;
    const struct hd_trace_context *x = &t->container->context[t->context];

    *out = (struct hd_alloc){.name = "pages"};
    if (i < x->allocs) {
        replay_name(x->alloc[i].name, out->name, sizeof out->name);
        out->base.v = x->alloc[i].base;
        out->bytes = x->alloc[i].bytes;
        return true;
    }
    i -= (uint32_t)x->allocs;
    if (i < x->ranges) {
        out->base.v = x->range[i].page << HD_PAGE_SHIFT;
        out->bytes = x->range[i].n << HD_PAGE_SHIFT;
        return true;
    }
    snprintf(out->name, sizeof out->name, "local");
    out->base.v = t->local_base;
    out->bytes = t->local_bytes;
    return i == x->ranges && t->local_bytes != 0;
}

/* ---- launches and blocks ------------------------------------------------- */

static int restart(void *self)
{
    struct replayer *t = self;

    t->s->launch = t->s->told = 0;
    for (size_t i = 0; i < t->container->context[t->context].allocs; i++)
        t->host[i] =
            (struct from_host){.stale = t->host[i].advised || t->host[i].stale};
    return 0;
}

/* ---- what the host does -------------------------------------------------- */

/* The next of its calls at the kernel that was launched; NULL: no more. */
static const struct hd_trace_call *replay_call(const struct replayer *t,
                                               bool beside)
{
    const struct hd_trace_kernel *k = &t->container->kernel[t->s->kernel];
    const struct hd_trace_call *c;

    if (HD_LIKELY(t->s->called >= k->calls))
        return NULL;
    c = &t->container->call[k->call0 + t->s->called];
    return c->beside == beside ? c : NULL;
}

/* An allocation goes, or comes: nothing is said of it then. */
static void replay_turn(struct replayer *t, uint32_t alloc)
{
    struct from_host *h = &t->host[alloc];

    if (++h->gone & 1)
        h->advised = h->stale = 0;
}

/* Takes a call. */
static void replay_take(struct replayer *t, const struct hd_trace_call *c,
                        struct hd_hint *out)
{
    *out = c->hint;
    t->s->called++;
    if (out->what == HD_HINT_GONE || out->what == HD_HINT_FREED)
        replay_turn(t, out->alloc);
    else if (out->what == HD_HINT_ADVICE)
        t->host[out->alloc].advised = out->set != 0 || out->bytes != 0 ||
                                      out->unset != HD_HINT_ALL_ADVICE;
}

/* Those before a launch that give memory back or take it. */
static void replay_settle(struct replayer *t)
{
    const struct hd_trace_call *c;
    struct hd_hint h;

    while ((c = replay_call(t, false)) != NULL && c->hint.what == HD_HINT_GONE)
        replay_take(t, c, &h);
}

static uint32_t replay_gone(void *self, uint32_t i)
{
    const struct replayer *t = self;

    return i < t->container->context[t->context].allocs ? t->host[i].gone : 0;
}

/* Advice of the last run ends: as a program says it again, allocation by
 * allocation, with what the first launch has of it. */
static bool replay_retell(struct replayer *t, const struct hd_trace_call *c,
                          struct hd_hint *out)
{
    struct state *s = t->s;
    bool whole = c != NULL && c->hint.what == HD_HINT_ADVICE &&
                 c->hint.bytes == 0 && c->hint.unset == HD_HINT_ALL_ADVICE;

    for (; s->told < t->container->context[t->context].allocs; s->told++) {
        struct from_host *h = &t->host[s->told];
        bool stale = h->stale != 0;
        h->stale = 0;
        if (whole && c->hint.alloc == s->told)
            return false; /* that says all of it */
        *out = (struct hd_hint){.alloc = s->told,
                                .what = HD_HINT_ADVICE,
                                .unset = HD_HINT_ALL_ADVICE};
        if (stale)
            return true;
    }
    return false;
}

static bool replay_hint(void *self, struct hd_hint *out)
{
    struct replayer *t = self;
    const struct hd_trace_call *c = replay_call(t, false);

    if (t->s->launch == 1 && replay_retell(t, c, out))
        return true;
    if (c != NULL)
        replay_take(t, c, out);
    return c != NULL;
}

static bool replay_beside(void *self, struct hd_hint *out)
{
    struct replayer *t = self;
    const struct hd_trace_call *c;

    while ((c = replay_call(t, false)) != NULL)
        replay_take(t, c, out); /* nothing comes from the host */
    c = replay_call(t, true);
    if (c != NULL)
        replay_take(t, c, out);
    return c != NULL;
}

/* ---- launches ------------------------------------------------------------ */

static int replay_launch(void *self, struct hd_launch *out)
{
    struct replayer *t = self;

    /* a kernel without a block retires at once */
    while (t->s->launch < t->kernels &&
           t->container->kernel[t->kernel[t->s->launch]].blocks == 0)
        t->s->launch++;
    if (t->s->launch >= t->kernels)
        return 0;
    t->s->kernel = t->kernel[t->s->launch++];
    t->s->called = 0;
    replay_settle(t);
    const struct hd_trace_kernel *k = &t->container->kernel[t->s->kernel];
    *out = (struct hd_launch){.id = t->s->launch,
                              .blocks = k->blocks,
                              .threads = (uint32_t)hd_trace_threads(k),
                              .warps = hd_trace_warps(k),
                              .lanes = k->lanes,
                              .regs = k->regs,
                              .shared_bytes = k->shared_bytes};
    replay_name(k->name, out->name, sizeof out->name);
    memcpy(out->grid, k->grid, sizeof out->grid);
    memcpy(out->block, k->block, sizeof out->block);
    t->s->warps = out->warps;
    t->s->contexts = t->slots / out->warps;
    hd_numbers_clear(&t->ctx);
    return 1;
}

/* The frame that holds block `block` of a kernel. */
static uint32_t frame_of(const struct hd_container *b,
                         const struct hd_trace_kernel *k, uint64_t block)
{
    uint32_t lo = k->frame0, hi = k->frame0 + k->frames;

    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (b->frame[mid].first <= block)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Points the warps of a context at what they execute. */
static void replay_wire(struct replayer *t, uint32_t ctx,
                        const struct hd_frame *f)
{
    const uint32_t *start = f->start + (size_t)t->c[ctx].block * f->warps;
    struct replay *r = t->warp + (size_t)ctx * t->s->warps;

    for (uint32_t i = 0; i < f->warps; i++)
        r[i] = (struct replay){f->op + start[i], f};
}

static int block_start(void *self, uint64_t block, uint32_t *ctx)
{
    struct replayer *t = self;
    struct state *s = t->s;
    const struct hd_trace_kernel *k = &t->container->kernel[s->kernel];

    hd_assert(block < k->blocks);
    if (hd_numbers_live(&t->ctx) == s->contexts)
        return hd_err_set(t->env->err, HEDDLE_EINVAL,
                          "trace %s: more blocks are resident than the "
                          "machine's %u warps allow",
                          t->source.name, t->slots);
    uint32_t frame = frame_of(t->container, k, block);
    struct hd_frame *f = acquire(t, frame, t->env->err);
    if (f == NULL)
        return t->env->err->code;
    *ctx = hd_numbers_take(&t->ctx);
    t->c[*ctx].frame = frame;
    t->c[*ctx].block = (uint32_t)(block - t->container->frame[frame].first);
    memset(t->pos + (size_t)*ctx * s->warps, 0, s->warps * sizeof *t->pos);
    replay_wire(t, *ctx, f);
    return 0;
}

static void replay_block_end(void *self, uint32_t ctx)
{
    struct replayer *t = self;

    for (size_t i = 0; i < t->ress; i++)
        t->res[i].users -= t->res[i].frame == t->c[ctx].frame;
    t->c[ctx].frame = HD_NONE;
    hd_numbers_give(&t->ctx, ctx);
}

static int replay_restored(void *self)
{
    struct replayer *t = self;

    for (size_t i = 0; i < t->ress; i++)
        t->res[i].users = 0;
    for (uint32_t i = 0; i < t->s->contexts; i++) {
        if (t->c[i].frame == HD_NONE)
            continue;
        struct hd_frame *f = acquire(t, t->c[i].frame, t->env->err);
        if (f == NULL)
            return t->env->err->code;
        replay_wire(t, i, f);
    }
    return 0;
}

/* ---- instructions -------------------------------------------------------- */

static void replay_next(void *self, uint32_t ctx, uint32_t warp,
                        struct hd_op *op)
{
    struct replayer *t = self;
    size_t i = (size_t)ctx * t->s->warps + warp;
    const struct replay *r = &t->warp[i];
    const struct hd_frame_op *at = &r->op[t->pos[i]++];
    const struct hd_trace_op *o = hd_frame_record(r->f, at);

    HD_PREFETCH(at + 1);
    *op = (struct hd_op){.kind = o->kind,
                         .slot = o->slot,
                         .bytes = o->bytes,
                         .space = HD_SPACE_GLOBAL,
                         .wait = o->wait,
                         .count = o->count,
                         .pc = o->pc,
                         .mask = o->mask};
    if (HD_UNLIKELY(o->space != HD_TS_GLOBAL)) {
        op->space = o->space == HD_TS_TEXTURE ? HD_SPACE_TEXTURE
                    : o->space == HD_TS_COPY  ? HD_SPACE_COPY
                                              : HD_SPACE_LOCAL;
        if (o->space == HD_TS_LOCAL && op->bytes > 4)
            op->bytes = 4;
    }
}

static void replay_detail(void *self, uint32_t ctx, uint32_t warp,
                          const struct hd_op *op, struct hd_detail *out)
{
    const struct replayer *t = self;
    size_t i = (size_t)ctx * t->s->warps + warp;
    const struct replay *r = &t->warp[i];
    const struct hd_trace_op *o =
        hd_frame_record(r->f, &r->op[t->pos[i] - 1]);

    (void)op;
    *out = (struct hd_detail){.kind = (uint8_t)o->klass,
                              .addressed = hd_trace_op_shared(o),
                              .first = o->after,
                              .each = o->each};
    if (hd_trace_op_memory(o))
        out->kind = HEDDLE_CLASS_MEMORY;
}

/* Lays window offsets out over the machine's threads. */
static void place_lanes(struct replayer *t, size_t i, uint64_t mask,
                        struct hd_access *acc)
{
    const struct hd_trace_context *x = &t->container->context[t->context];
    uint64_t threads = (uint64_t)t->slots * 32, slot = i * 32;
    /* a window holds no more words than replay_bind() laid out */
    uint64_t low = x->local_low * 4;
    uint64_t last = x->local_words != 0 ? x->local_words * 4 - 1 : 0;

    if (acc->lane == NULL && acc->stride == 0) {
        uint64_t off = hd_min_u64(acc->base.v - low, last);
        uint64_t at = off / 4 * threads + slot;
        acc->base.v = t->local_base + at * 4 + off % 4;
        acc->stride = 4;
        return;
    }
    for (; mask != 0; mask &= mask - 1) {
        unsigned l = hd_bit_first(mask);
        uint64_t off = hd_min_u64(hd_access_lane(acc, l) - low, last);
        t->lane[l].v =
            t->local_base + (off / 4 * threads + slot + l) * 4 + off % 4;
    }
    acc->lane = t->lane;
}

static void replay_access_lanes(void *self, uint32_t ctx, uint32_t warp,
                                struct hd_access *acc)
{
    struct replayer *t = self;
    size_t i = (size_t)ctx * t->s->warps + warp;
    const struct replay *r = &t->warp[i];
    const struct hd_frame_op *at = &r->op[t->pos[i] - 1];
    const struct hd_trace_op *o = hd_frame_record(r->f, at);

    hd_frame_addr(r->f, at, acc, t->lane);
    if (HD_UNLIKELY(o->space == HD_TS_LOCAL))
        place_lanes(t, i, o->mask, acc);
}

#define REPLAY                                                                 \
    .bind = replay_bind, .alloc = replay_alloc, .restart = restart,            \
    .launch = replay_launch, .block_start = block_start,                       \
    .block_end = replay_block_end, .next = replay_next,                        \
    .detail = replay_detail, .access = replay_access_lanes,                    \
    .restored = replay_restored,                \
    .unbind = unbind

/* Of a trace whose host has no calls, which is not asked for any; of others. */
static const struct hd_source_ops ops = {REPLAY};
static const struct hd_source_ops ops_with_host = {
    .gone = replay_gone, .hint = replay_hint, .beside = replay_beside, REPLAY};

/* ---- streams ------------------------------------------------------------ */

enum { CONTEXT_SHIFT = 24 };

/* What replays a stream. */
static HD_INLINE struct replayer *replay_line(struct replayer *t,
                                              uint32_t stream)
{
    return stream != 0 ? t->line[stream - 1] : t;
}

/* And what replays a context, which becomes its number there. */
static HD_INLINE struct replayer *replay_of(struct replayer *t, uint32_t *ctx)
{
    uint32_t stream = *ctx >> CONTEXT_SHIFT;

    *ctx &= (1u << CONTEXT_SHIFT) - 1;
    return replay_line(t, stream);
}

static void lines_unbind(void *self)
{
    struct replayer *t = self;

    for (uint32_t i = 0; i <= t->source.streams; i++)
        if (replay_line(t, i)->env != NULL)
            unbind(replay_line(t, i));
}

static int lines_bind(void *self, struct hd_env *env, uint32_t app,
                      uint32_t lanes, uint32_t slots)
{
    struct replayer *t = self;
    int e = 0;

    for (uint32_t i = 0; i <= t->source.streams && e == 0; i++) {
        e = replay_bind(replay_line(t, i), env, app, lanes, slots);
        if (e != 0 && i > 0)
            lines_unbind(t);
    }
    return e;
}

static int lines_launch(void *self, struct hd_launch *out)
{
    struct replayer *t = self;
    int r = replay_launch(t, out);

    if (r > 0)
        out->stream = t->stream[out->id - 1];
    return r;
}

static int lines_begin(void *self, const struct hd_launch *l)
{
    struct replayer *t = self, *x = replay_line(t, l->stream);

    x->s->kernel = t->kernel[l->id - 1];
    x->s->warps = l->warps;
    x->s->contexts = x->slots / l->warps;
    hd_numbers_clear(&x->ctx);
    return 0;
}

static int lines_block_start(void *self, uint64_t block, uint32_t *ctx)
{
    uint32_t stream = hd_block_stream(block);
    int e = block_start(replay_line(self, stream), hd_block_number(block), ctx);

    *ctx |= stream << CONTEXT_SHIFT;
    return e;
}

static void lines_block_end(void *self, uint32_t ctx)
{
    struct replayer *x = replay_of(self, &ctx);

    replay_block_end(x, ctx);
}

static void lines_next(void *self, uint32_t ctx, uint32_t warp,
                       struct hd_op *op)
{
    struct replayer *x = replay_of(self, &ctx);

    replay_next(x, ctx, warp, op);
}

static void lines_access(void *self, uint32_t ctx, uint32_t warp,
                         struct hd_access *acc)
{
    struct replayer *x = replay_of(self, &ctx);

    replay_access_lanes(x, ctx, warp, acc);
}

static int lines_restored(void *self)
{
    struct replayer *t = self;
    int e = 0;

    for (uint32_t i = 0; i <= t->source.streams && e == 0; i++)
        e = replay_restored(replay_line(t, i));
    return e;
}

static const struct hd_source_ops ops_of_lines = {
    .bind = lines_bind,
    .alloc = replay_alloc,
    .gone = replay_gone,
    .hint = replay_hint,
    .beside = replay_beside,
    .restart = restart,
    .launch = lines_launch,
    .begin = lines_begin,
    .block_start = lines_block_start,
    .block_end = lines_block_end,
    .next = lines_next,
    .access = lines_access,
    .restored = lines_restored,
    .unbind = lines_unbind,
};

/* A stream of the trace by its number: 0, or what it is known by here; HD_NONE:
 * there are too many. */
static uint32_t lines_number(uint64_t id[HD_STREAMS], uint32_t *n, uint64_t of)
{
    uint32_t i = 0;

    if (of == 0)
        return 0;
    while (i < *n && id[i] != of)
        i++;
    if (i == HD_STREAMS)
        return HD_NONE;
    id[i] = of;
    *n = i == *n ? i + 1 : *n;
    return i + 1;
}

/* Lets the kernels of different streams overlap.  0 or an error. */
static int replay_streams(struct replayer *t, struct heddle_error *err)
{
    const struct hd_container *b = t->container;
    const struct hd_trace_context *space = &b->context[t->context];
    uint64_t id[HD_STREAMS];
    uint32_t n = 0;

    if (space->notes > HD_TN_EVENT_LINE &&
        space->note[HD_TN_EVENT_LINE].count != 0)
        return hd_err_set(err, HEDDLE_EDATA,
                          "trace %s: %s: with `streams' a list without events "
                          "is expected, which heddle does not keep; kernels "
                          "that run in turn need none",
                          t->source.name, space->note[HD_TN_EVENT_LINE].where);
    if (space->local_words != 0)
        return hd_err_set(err, HEDDLE_EDATA,
                          "trace %s: with `streams' a trace without local "
                          "memory is expected, which blocks of kernels that "
                          "overlap would share",
                          t->source.name);
    t->stream = calloc(t->kernels + 1, 1);
    if (t->stream == NULL)
        return hd_err_memory(err);
    for (uint32_t i = 0; i < t->kernels; i++) {
        const struct hd_trace_kernel *k = &b->kernel[t->kernel[i]];
        uint32_t of = lines_number(id, &n, k->stream);
        bool beside = false;
        for (size_t j = 0; j < k->calls; j++)
            beside |= b->call[k->call0 + j].beside;
        if (of == HD_NONE || (of != 0 && beside))
            return hd_err_set(err, HEDDLE_EDATA,
                              "trace %s: kernel %u has %s; with `streams' %s",
                              t->source.name, k->id,
                              beside ? "calls of its host next to it"
                                     : "a stream too many",
                              beside ? "only those of the default stream may"
                                     : "the default one and 32 are the most");
        t->stream[i] = (uint8_t)of;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct replayer *x = t->line[i] = calloc(1, sizeof *x);
        if (x == NULL)
            return hd_err_memory(err);
        x->container = t->container;
        x->context = t->context;
        x->limit = t->limit;
        memcpy(x->source.name, t->source.name, sizeof x->source.name);
    }
    t->source.streams = n;
    if (n != 0)
        t->source.ops = &ops_of_lines;
    return 0;
}

static void free_line(struct replayer *t)
{
    drop_all(t);
    free(t->res);
    free(t->warp);
}

static void free_source(void *self)
{
    struct replayer *t = self;

    for (uint32_t i = 0; i < HD_STREAMS && t->line[i] != NULL; i++) {
        free_line(t->line[i]);
        free(t->line[i]);
    }
    free_line(t);
    free(t->stream);
    free(t->kernel);
    hd_container_free(t->container);
    free(t);
}

/* Whether the kernels can run so many times: not too many, and the host has at
 * the end what it had at first.  0 or an error. */
static int replay_again(const struct hd_container *b, uint32_t context,
                        uint32_t times, struct heddle_error *err)
{
    const struct hd_trace_context *x = &b->context[context];
    uint8_t *gone = calloc(x->allocs + 1, 1);
    bool odd = false;

    if (gone == NULL)
        return hd_err_memory(err);
    for (size_t i = 0; i < b->kernels; i++) {
        const struct hd_trace_kernel *k = &b->kernel[i];
        for (size_t j = 0; k->context == context && j < k->calls; j++) {
            const struct hd_hint *h = &b->call[k->call0 + j].hint;
            if (h->what == HD_HINT_GONE || h->what == HD_HINT_FREED)
                gone[h->alloc] ^= 1;
        }
    }
    for (size_t i = 0; i < x->allocs; i++)
        odd |= gone[i] != 0;
    free(gone);
    if (b->kernels * (uint64_t)times > REPLAY_LAUNCHES)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "times: %zu kernels %u times are more than %d "
                          "launches",
                          b->kernels, times, REPLAY_LAUNCHES);
    if (odd)
        return hd_err_set(err, HEDDLE_EDATA,
                          "times: the host frees memory that it does not "
                          "allocate again, so the kernels cannot run twice");
    return 0;
}

struct hd_source *hd_trace_source(struct hd_container *container,
                                  uint32_t context, uint64_t resident,
                                  bool streams, uint32_t times,
                                  struct heddle_error *err)
{
    struct replayer *t = calloc(1, sizeof *t);
    uint64_t id[4] = {container->hash, context, streams, times};
    size_t bytes = times > 1 ? sizeof id : streams ? 24 : 16;

    if (times > 1 && replay_again(container, context, times, err) != 0) {
        free(t);
        return NULL;
    }
    if (t != NULL)
        t->kernel =
            calloc(container->kernels * times + 1, sizeof *t->kernel);
    if (t == NULL || t->kernel == NULL) {
        free(t);
        return hd_err_no_memory(err);
    }
    for (uint32_t again = 0; again < times; again++)
        for (size_t i = 0; i < container->kernels; i++) {
            if (container->kernel[i].context == context)
                t->kernel[t->kernels++] = (uint32_t)i;
        }
    t->container = container;
    t->context = context;
    t->limit = resident;
    t->times = times;
    t->source =
        (struct hd_source){.ops = container->calls != 0 ? &ops_with_host : &ops,
                           .self = t,
                           .hash = XXH3_64bits(id, bytes),
                           .copies = container->copies,
                           .free = free_source};
    replay_name(container->context[context].name, t->source.name,
                sizeof t->source.name);
    if (streams && replay_streams(t, err) != 0) {
        t->container = NULL; /* it is the caller's */
        free_source(t);
        return NULL;
    }
    return &t->source;
}

struct hd_container *hd_trace_source_container(const struct hd_source *s,
                                               uint32_t *context)
{
    const struct replayer *t = s->self;

    if (s->ops != &ops && s->ops != &ops_with_host &&
        s->ops != &ops_of_lines)
        return NULL;
    *context = t->context;
    return t->container;
}

uint32_t hd_trace_source_times(const struct hd_source *s)
{
    const struct replayer *t = s->self;

    return t->times;
}
