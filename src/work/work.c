/*
 * work.c - a source whose instructions functions make (heddle_work.h): plug-ins
 * and scripts.
 *
 * Buffers are placed one after the other from HD_VA_FIRST, as those of kernel
 * programs (program.c), so that the same kernel written in either way touches
 * the same pages.  They are asked for once: a workload has the same buffers in
 * every simulation.
 *
 * The hash, which results and snapshots carry, is that of name, parameters,
 * argument and buffers, of the bytes of the plug-in's file, and of what open()
 * adds.
 *
 * The state is in the arena: which launch, which block each context executes,
 * and for each warp how many instructions it has given, what is known of the
 * last of them, and the bytes that the work itself keeps.  So a snapshot needs
 * nothing else, but for what a work keeps outside by counts (hold, drop).
 *
 * A work is foreign code.  What it answers is checked before the engine
 * sees it: kinds, lanes, slots, sizes, and that each lane stays in its buffer.
 * After an error the warp exits, so that its caller comes to an end
 * (functional.c), and the error that was recorded stops the run.
 *
 * SPDX-License-Identifier: MIT
 */
#include "heddle_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "kit/bits.h"
#include "kit/grow.h"
#include "kit/line.h"
#include "kit/numbers.h"
#include "kit/env.h"
#include "kit/library.h"
#include "kit/param.h"
#include "kit/grow.h"
#include "points/source.h"

/* State of the whole, in the arena. */
struct state {
    uint32_t launch;   /* in progress, 1, 2, ...; 0: none yet */
    uint32_t warps;    /* of a block */
    uint32_t contexts; /* that fit the machine */
    uint64_t last;     /* lanes of a block's last warp that have a thread */
    struct heddle_work_launch kernel;
};

/* State of a warp, in the arena; the work's own follows. */
struct warp {
    uint64_t count; /* instructions given */
    uint64_t mask;  /* of the one given last */
    uint32_t bytes; /* of a lane of it */
    uint32_t fault; /* it was stopped by an error */
};

/* What warps have outside of the arena (hold, drop); also of a snapshot. */
struct kept {
    void (*drop)(void *kept);
    uint32_t n; /* slots, or 0 */
    void *at[];
};

/* In the place of what was not in a file: its warp starts again. */
static const char lost;

static bool is_kept(const void *p)
{
    return p != NULL && p != &lost;
}

struct work {
    struct hd_source source;
    const struct heddle_work *work;
    void *self; /* of open() */
    bool opened;
    struct hd_alloc *buffer;
    uint32_t buffers;
    size_t shared_bytes, state_bytes;
    size_t stride; /* from warp to warp in the arena */
    uint64_t params[HEDDLE_MAX_PARAMS];
    void *xxh; /* while the hash is being made */
    struct heddle_error *opening;
    /* while bound */
    struct hd_env *env;
    uint32_t lanes, slots;
    struct state *s;       /* arena */
    unsigned char *shared; /* arena [shared_bytes] */
    unsigned char *warp;   /* arena [slots * stride] */
    uint64_t *block;       /* arena [slots]: of each context */
    struct hd_numbers ctx; /* of contexts: which are in use */
    uint8_t *gone;         /* arena [buffers] */
    struct kept *kept;
    uint64_t byte[HEDDLE_WORK_LANES];
    hd_va lane[HEDDLE_WORK_LANES];
};

static const struct hd_source_ops work_ops;

/* A code that a work gave: one of heddle.h; else HEDDLE_EPROGRAM. */
static int code_of(int code)
{
    return code < 0 && code >= HEDDLE_ECREATE ? code : HEDDLE_EPROGRAM;
}

/* ---- plug-ins ------------------------------------------------------------ */

/* What is wrong with a work, or NULL; why[room] is for a text with numbers. */
static const char *work_fault(const struct heddle_work *w, char *why,
                              size_t room)
{
    if (w == NULL)
        return "heddle_work_entry() returned NULL";
    if (!hd_library_takes(w->abi, HEDDLE_WORK_ABI_OLDEST, HEDDLE_WORK_ABI,
                          "heddle_work.h", why, room))
        return why;
    if (w->name == NULL || w->name[0] == '\0' || strlen(w->name) > 63)
        return "its work needs a name of 1 to 63 bytes";
    if (w->buffer == NULL || w->launch == NULL || w->next == NULL ||
        w->access == NULL)
        return "its work needs buffer(), launch(), next() and access()";
    return NULL;
}

const struct heddle_work *heddle_work_load(const char *path,
                                           struct heddle_error *error)
{
    char why[1024];
    hd_entry_fn *entry =
        hd_library_entry(path, "heddle_work_entry", why, sizeof why);
    const struct heddle_work *w = NULL;
    struct heddle_error err = {0};
    const char *wrong;

    if (entry == NULL) {
        hd_err_set(&err, HEDDLE_EPROGRAM, "%s", why);
    } else {
        w = entry();
        wrong = work_fault(w, why, sizeof why);
        if (wrong != NULL)
            hd_err_set(&err, HEDDLE_EPROGRAM, "plug-in %s: %s", path, wrong);
    }
    return hd_err_give(&err, error) == 0 ? w : NULL;
}

/* ---- what defines it ---------------------------------------------------- */

static void work_mix(struct work *w, const void *bytes, size_t n)
{
    if (n > 0)
        XXH3_64bits_update(w->xxh, bytes, n);
}

static void mix_text(struct work *w, const char *text)
{
    work_mix(w, text, strlen(text) + 1);
}

static int mix_file(struct work *w, const char *path, struct heddle_error *err)
{
    char bytes[4096];
    FILE *f = fopen(path, "rb");
    size_t n;

    if (f == NULL)
        return hd_err_set(err, hd_err_errno(HEDDLE_ENOINPUT),
                          "%s: cannot be read", path);
    while ((n = fread(bytes, 1, sizeof bytes, f)) > 0)
        work_mix(w, bytes, n);
    n = (size_t)ferror(f);
    fclose(f);
    return n == 0 ? 0 : hd_err_set(err, HEDDLE_EIO, "%s: cannot be read", path);
}

static void add_hash(struct heddle_work_open *o, const void *bytes, size_t n)
{
    work_mix(o->engine, bytes, n);
}

static void work_refuse(struct heddle_work_open *o, int code, const char *text)
{
    struct work *w = o->engine;

    if (strcmp(text, HEDDLE_NO_MEMORY) == 0)
        hd_err_memory(w->opening);
    else
        hd_err_set(w->opening, code_of(code), "workload %s: %s", w->source.name,
                   text);
}

/* ---- buffers ------------------------------------------------------------ */

static int work_place(struct work *w, const struct heddle_work_buffer *b,
                      uint64_t *next, struct heddle_error *err)
{
    struct hd_alloc *to = &w->buffer[w->buffers];
    uint64_t align = b->align != 0 ? b->align : 256, va;
    char what[128];

    if (memchr(b->name, 0, sizeof b->name) == NULL || b->name[0] == '\0')
        return hd_err_set(err, HEDDLE_EPROGRAM,
                          "workload %s: buffer %u needs a name of 1 to 31 "
                          "bytes",
                          w->source.name, w->buffers);
    snprintf(what, sizeof what, "workload %s: buffer", w->source.name);
    if (hd_line_check(what, b->name, HEDDLE_EPROGRAM, err) != 0)
        return err->code;
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
                          "least 1 and less than 16 TB in all",
                          w->source.name, b->name,
                          (unsigned long long)b->bytes);
    memcpy(to->name, b->name, sizeof to->name);
    to->base.v = va;
    to->bytes = b->bytes;
    *next = va + b->bytes;
    work_mix(w, to, sizeof *to);
    return 0;
}

static int place_all(struct work *w, struct heddle_error *err)
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
        if (work_place(w, &b, &next, err) != 0)
            return err->code;
    }
}

/* ---- making one --------------------------------------------------------- */

static void free_work(void *self)
{
    struct work *w = self;

    if (w->env != NULL)
        work_ops.unbind(w);
    if (w->opened && w->work->close != NULL)
        w->work->close(w->self);
    free(w->buffer);
    free(w);
}

static int open_work(struct work *w, const struct heddle_work_options *o,
                     struct heddle_error *err)
{
    const struct heddle_work *k = w->work;
    struct heddle_work_open open = {.params = w->params,
                                    .argument = o->argument,
                                    .ud = o->ud,
                                    .engine = w,
                                    .hash = add_hash,
                                    .refuse = work_refuse};
    struct hd_param_of of = {"workload", k->name, k->params};

    if (hd_param_check(&of, HEDDLE_EPROGRAM, err) != 0 ||
        hd_param_values(&of, o->names, o->values, o->n, w->params, err) != 0)
        return err->code;
    mix_text(w, k->name);
    work_mix(w, w->params, hd_param_count(k->params) * sizeof *w->params);
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
    w->stride = (sizeof(struct warp) + w->state_bytes + 7) / 8 * 8;
    return place_all(w, err);
}

static struct work *work_make(const struct heddle_work *work,
                              const struct heddle_work_options *o,
                              struct heddle_error *err)
{
    char why[160];
    const char *wrong = work_fault(work, why, sizeof why);
    struct work *w;

    if (wrong != NULL) {
        hd_err_set(err, HEDDLE_EPROGRAM, "workload: %s", wrong);
        return NULL;
    }
    w = calloc(1, sizeof *w);
    if (w == NULL || (w->xxh = XXH3_createState()) == NULL) {
        free(w);
        return hd_err_no_memory(err);
    }
    XXH3_64bits_reset(w->xxh);
    w->work = work;
    w->source =
        (struct hd_source){.ops = &work_ops, .self = w, .free = free_work};
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
                                 struct heddle_error *error)
{
    static const struct heddle_work_options none = {0};
    struct heddle_error err = {0};
    struct work *w = work_make(work, o != NULL ? o : &none, &err);

    hd_err_give(&err, error);
    return w != NULL ? hd_workload(&w->source) : NULL;
}

/* ---- errors ------------------------------------------------------------- */

/* Writes where a call is: workload, kernel, block, warp, instruction. */
static void where(const struct heddle_work_call *c, char *out, size_t room)
{
    const struct work *w = c->engine;
    int n = snprintf(out, room, "workload %s", w->source.name);

    if (c->kernel == NULL || n < 0 || (size_t)n >= room)
        return;
    snprintf(out + n, room - (size_t)n,
             ", kernel %s (launch %u), block %llu, warp %u, instruction %llu",
             c->kernel->name, c->launch, (unsigned long long)c->block, c->warp,
             (unsigned long long)c->count + 1);
}

static int work_fail(struct heddle_work_call *c, int code, const char *text)
{
    struct work *w = c->engine;
    char at[256];

    if (strcmp(text, HEDDLE_NO_MEMORY) == 0)
        return hd_err_memory(w->env->err);
    where(c, at, sizeof at);
    return hd_err_set(w->env->err, code_of(code), "%s: %s", at, text);
}

/* Fails with what a function has answered; `what` is "next() returned". */
static int work_bad(struct heddle_work_call *c, const char *what, long long got,
                    const char *want)
{
    char text[256];

    snprintf(text, sizeof text, "%s %lld; expected %s", what, got, want);
    return work_fail(c, HEDDLE_EPROGRAM, text);
}

/* ---- what is kept outside of the arena ---------------------------------- */

static void drop_kept(void *saved)
{
    struct kept *k = saved;

    for (uint32_t i = 0; k != NULL && i < k->n; i++)
        if (is_kept(k->at[i]))
            k->drop(k->at[i]);
    free(k);
}

static struct kept *copy_kept(const struct work *w, const struct kept *from)
{
    size_t bytes = sizeof *from + from->n * sizeof from->at[0];
    struct kept *k = malloc(bytes);

    if (k == NULL)
        return NULL;
    memcpy(k, from, bytes);
    for (uint32_t i = 0; i < k->n; i++)
        if (is_kept(k->at[i]))
            w->work->hold(k->at[i]);
    return k;
}

static void *work_save(const void *self)
{
    const struct work *w = self;

    return copy_kept(w, w->kept);
}

/* Nothing of it is in a file: a warp that needs it starts again. */
static void work_pack(const void *saved, struct hd_bytes *out)
{
    (void)saved, (void)out;
}

static void *work_unpack(const void *self, struct hd_cursor *in)
{
    const struct kept *now = ((const struct work *)self)->kept;
    struct kept *k = calloc(1, sizeof *k + now->n * sizeof k->at[0]);

    in->oom |= k == NULL;
    if (k != NULL)
        *k = (struct kept){.drop = now->drop, .n = now->n};
    for (uint32_t i = 0; k != NULL && i < k->n; i++)
        k->at[i] = (void *)(uintptr_t)&lost;
    return k;
}

static int work_load(void *self, const void *saved)
{
    struct work *w = self;
    struct kept *k = copy_kept(w, saved);

    if (k == NULL)
        return HEDDLE_ENOMEM;
    drop_kept(w->kept);
    w->kept = k;
    return 0;
}

/* ---- binding ------------------------------------------------------------ */

static void work_unbind(void *self)
{
    struct work *w = self;

    drop_kept(w->kept);
    w->kept = NULL;
    w->env = NULL;
}

static int work_bind(void *self, struct hd_env *env, uint32_t app,
                     uint32_t lanes, uint32_t slots)
{
    struct work *w = self;
    struct hd_arena *a = env->arena;
    uint32_t kept = w->work->hold != NULL ? slots : 0;

    (void)app;
    if (w->env != NULL)
        return hd_err_set(env->err, HEDDLE_EINVAL,
                          "workload %s serves another simulation already",
                          w->source.name);
    w->s = hd_arena_take(a, 1, sizeof *w->s);
    w->shared = hd_arena_take(a, 1, w->shared_bytes + 1);
    w->warp = hd_arena_take(a, slots, w->stride);
    w->block = hd_arena_take(a, slots, sizeof *w->block);
    w->gone = hd_arena_take(a, w->buffers + 1, 1);
    if (w->s == NULL || w->shared == NULL || w->warp == NULL ||
        w->block == NULL || w->gone == NULL ||
        hd_numbers_open(&w->ctx, a, slots) != 0)
        return hd_err_memory(env->err);
    w->kept = calloc(1, sizeof *w->kept + kept * sizeof w->kept->at[0]);
    if (w->kept == NULL)
        return hd_err_memory(env->err);
    w->kept->n = kept;
    w->kept->drop = w->work->drop;
    w->env = env;
    w->lanes = lanes;
    w->slots = slots;
    return 0;
}

static bool work_alloc(void *self, uint32_t i, struct hd_alloc *out)
{
    const struct work *w = self;

    if (i >= w->buffers)
        return false;
    *out = w->buffer[i];
    return true;
}

static uint32_t work_gone(void *self, uint32_t i)
{
    const struct work *w = self;

    return w->gone[i] != 0;
}

/* ---- launches and blocks ------------------------------------------------ */

static int work_restart(void *self)
{
    struct work *w = self;

    memset(w->s, 0, sizeof *w->s);
    memset(w->shared, 0, w->shared_bytes);
    memset(w->gone, 0, w->buffers);
    return 0;
}

/* Checks what launch() filled and sets what follows from it. */
static int take_launch(struct work *w, struct heddle_work_call *c,
                       struct heddle_work_launch *l)
{
    struct state *s = w->s;
    double blocks = 1, threads = 1;
    char text[256];

    l->name[sizeof l->name - 1] = '\0';
    snprintf(text, sizeof text, "workload %s, launch %u: kernel",
             w->source.name, c->launch);
    if (hd_line_check(text, l->name, HEDDLE_EPROGRAM, w->env->err) != 0)
        return w->env->err->code;
    for (int i = 0; i < 3; i++) {
        l->grid[i] += l->grid[i] == 0;
        l->block[i] += l->block[i] == 0;
        blocks *= l->grid[i];
        threads *= l->block[i];
    }
    snprintf(text, sizeof text,
             "launch %u, kernel %s: a grid of %u x %u x %u blocks of %u x %u x "
             "%u threads; expected at most 10^12, of %d",
             c->launch, l->name, l->grid[0], l->grid[1], l->grid[2],
             l->block[0], l->block[1], l->block[2], HEDDLE_WORK_THREADS);
    if (blocks > 1e12 || threads > HEDDLE_WORK_THREADS)
        return work_fail(c, HEDDLE_EPROGRAM, text);
    s->kernel = *l;
    s->launch = c->launch;
    s->warps = (uint32_t)hd_ceil_div((uint64_t)threads, w->lanes);
    s->last = hd_ones((uint32_t)threads - (s->warps - 1) * w->lanes);
    s->contexts = w->slots / s->warps;
    hd_numbers_clear(&w->ctx);
    return 0;
}

/* Asks which buffers have been given back. */
static int ask_gone(struct work *w, struct heddle_work_call *c)
{
    for (uint32_t i = 0; w->work->gone != NULL && i < w->buffers; i++) {
        int r = w->gone[i] != 0 ? 1 : w->work->gone(c, i);
        if (r < 0 || r > 1 || hd_err_breaks(w->env->err->code))
            return work_bad(c, "gone() returned", r, "0 or 1");
        w->gone[i] = r != 0;
    }
    return 0;
}

static int work_launch(void *self, struct hd_launch *out)
{
    struct work *w = self;
    struct heddle_work_launch l = {0};
    struct heddle_work_call c = {.self = w->self,
                                 .shared = w->shared,
                                 .launch = w->s->launch + 1,
                                 .lanes = w->lanes,
                                 .engine = w,
                                 .stop = work_fail};
    int r = w->work->launch(&c, &l);

    if (r < 0 || r > 1 || hd_err_breaks(w->env->err->code))
        return work_bad(&c, "launch() returned", r, "0 or 1");
    if (ask_gone(w, &c) < 0 || (r != 0 && take_launch(w, &c, &l) < 0))
        return w->env->err->code;
    if (r == 0)
        return 0;
    *out = (struct hd_launch){.id = c.launch,
                              .threads = l.block[0] * l.block[1] * l.block[2],
                              .warps = w->s->warps,
                              .lanes = w->lanes,
                              .regs = l.regs,
                              .shared_bytes = l.shared_bytes};
    snprintf(out->name, sizeof out->name, "%s", l.name);
    memcpy(out->grid, l.grid, sizeof out->grid);
    memcpy(out->block, l.block, sizeof out->block);
    out->blocks = (uint64_t)l.grid[0] * l.grid[1] * l.grid[2];
    if (w->s->contexts > 0)
        return 1;
    return hd_err_set(w->env->err, HEDDLE_EPROGRAM,
                      "workload %s, kernel %s: a block of %u warps; the "
                      "machine holds %u",
                      w->source.name, l.name, w->s->warps, w->slots);
}

static struct warp *warp_at(const struct work *w, uint32_t i)
{
    void *p = w->warp + (size_t)i * w->stride;

    return p;
}

/* Fills *c for a warp of a block; returns its state. */
static struct warp *work_enter(struct work *w, uint32_t ctx, uint32_t warp,
                               struct heddle_work_call *c)
{
    const struct state *s = w->s;
    uint32_t i = ctx * s->warps + warp;
    struct warp *x = warp_at(w, i);

    *c = (struct heddle_work_call){
        .self = w->self,
        .shared = w->shared,
        .state = x + 1,
        .kept = i < w->kept->n ? &w->kept->at[i] : NULL,
        .launch = s->launch,
        .warp = warp,
        .block = w->block[ctx],
        .count = x->count,
        .threads = warp + 1 == s->warps ? s->last : hd_ones(w->lanes),
        .lanes = w->lanes,
        .kernel = &s->kernel,
        .engine = w,
        .stop = work_fail};
    return x;
}

static int work_block_start(void *self, uint64_t block, uint32_t *ctx)
{
    struct work *w = self;
    struct state *s = w->s;
    struct heddle_work_call c;

    if (hd_numbers_live(&w->ctx) == s->contexts)
        return hd_err_set(w->env->err, HEDDLE_EINVAL,
                          "workload %s: more blocks are resident than the "
                          "machine's %u warps allow",
                          w->source.name, w->slots);
    *ctx = hd_numbers_take(&w->ctx);
    w->block[*ctx] = block;
    memset(warp_at(w, *ctx * s->warps), 0, s->warps * w->stride);
    for (uint32_t i = 0; i < s->warps; i++) {
        work_enter(w, *ctx, i, &c);
        if (c.kept != NULL && is_kept(*c.kept))
            w->work->drop(*c.kept);
        if (c.kept != NULL)
            *c.kept = NULL;
        int r = w->work->start != NULL ? w->work->start(&c) : 0;
        if (r != 0 || hd_err_breaks(w->env->err->code))
            return work_bad(&c, "start() returned", r, "0");
    }
    return 0;
}

static void work_block_end(void *self, uint32_t ctx)
{
    struct work *w = self;

    hd_numbers_give(&w->ctx, ctx);
}

/* ---- instructions ------------------------------------------------------- */

/* A warp whose state is there, and not what it keeps: it starts again, and
 * gives what it had given.  0, or an error that is recorded. */
static int work_again(struct work *w, struct heddle_work_call *c,
                      const struct warp *x)
{
    void *state = malloc(w->state_bytes + 1);
    int r = HEDDLE_ENOMEM;

    *c->kept = NULL;
    if (state != NULL) {
        memcpy(state, c->state, w->state_bytes);
        memset(c->state, 0, w->state_bytes);
        r = w->work->start != NULL ? w->work->start(c) : 0;
        for (c->count = 0; r == 0 && c->count < x->count; c->count++)
            r = w->work->next(c, &(struct heddle_work_op){0});
        if (r == 0 && memcmp(state, c->state, w->state_bytes) != 0)
            r = work_fail(
                c, HEDDLE_EPROGRAM,
                "it gave other instructions before: it depends on more "
                "than its parameters");
    }
    free(state);
    return r;
}

/* Its call, and what it keeps is there. */
static int work_call(struct work *w, uint32_t ctx, uint32_t warp,
                     struct heddle_work_call *c, struct warp **x)
{
    *x = work_enter(w, ctx, warp, c);
    return HD_UNLIKELY(c->kept != NULL && *c->kept == &lost && (*x)->fault == 0)
               ? work_again(w, c, *x)
               : 0;
}

/* What is wrong with an instruction: 0, or an error that is recorded. */
static int check_op(struct heddle_work_call *c, const struct heddle_work_op *op)
{
    bool memory = hd_op_memory(op->kind);

    if (op->kind > HEDDLE_OP_EXIT)
        return work_bad(c, "next() gave kind", op->kind,
                        "one of enum heddle_op");
    if ((op->mask & ~c->threads) != 0)
        return work_bad(c, "next() gave an active lane",
                        (long long)hd_log2(op->mask & ~c->threads),
                        "lanes that have a thread");
    if (op->kind == HEDDLE_OP_ALU &&
        (op->count == 0 || op->count > HEDDLE_WORK_RUN))
        return work_bad(c, "next() gave an ALU run of", op->count,
                        "1 to 2^30 instructions");
    if (memory && (op->bytes > 16 || !hd_is_pow2(op->bytes)))
        return work_bad(c, "next() gave an access whose bytes a lane are",
                        op->bytes, "1, 2, 4, 8 or 16");
    if (op->slot > HEDDLE_WORK_SLOTS ||
        (op->slot != 0 && op->kind != HEDDLE_OP_LOAD &&
         op->kind != HEDDLE_OP_ATOMIC))
        return work_bad(c, "next() gave slot", op->slot,
                        "1 to 32 of a load or an atomic, or 0");
    return 0;
}

_Static_assert((int)HEDDLE_WORK_LANES == (int)HD_MAX_LANES,
               "limits of the interface are the engine's");

static void work_next(void *self, uint32_t ctx, uint32_t warp,
                      struct hd_op *out)
{
    struct work *w = self;
    struct heddle_work_call c;
    struct warp *x;
    struct heddle_work_op op = {0};
    int r = work_call(w, ctx, warp, &c, &x);

    if (r == 0 && x->fault == 0)
        r = w->work->next(&c, &op);

    if (x->fault != 0 || r != 0 || hd_err_breaks(w->env->err->code) ||
        check_op(&c, &op) < 0) {
        if (r != 0)
            work_bad(&c, "next() returned", r, "0");
        x->fault = 1; /* it exits */
        *out = (struct hd_op){.kind = HEDDLE_OP_EXIT,
                              .slot = HD_NO_SLOT,
                              .count = 1,
                              .mask = c.threads};
        return;
    }
    x->count++;
    x->mask = op.mask != 0 ? op.mask : c.threads;
    x->bytes = op.bytes;
    *out = (struct hd_op){
        .kind = (uint8_t)op.kind,
        .slot = op.slot != 0 ? (uint8_t)(op.slot - 1) : HD_NO_SLOT,
        .bytes = hd_op_memory(op.kind) ? (uint8_t)op.bytes : 0,
        .space = HD_SPACE_GLOBAL,
        .wait = op.wait,
        .count = op.kind == HEDDLE_OP_ALU ? op.count : 1,
        .pc = op.pc,
        .mask = x->mask};
}

/* A lane is out of its buffer. */
static int work_outside(struct heddle_work_call *c, const struct hd_alloc *b,
                        uint32_t lane, int64_t at, uint32_t bytes)
{
    char text[256];

    snprintf(text, sizeof text,
             "lane %u accesses %u bytes at byte %lld of buffer %s, which has "
             "%llu",
             lane, bytes, (long long)at, b->name, (unsigned long long)b->bytes);
    return work_fail(c, HEDDLE_EPROGRAM, text);
}

static bool work_holds(const struct hd_alloc *b, uint64_t at, uint32_t bytes)
{
    return at < b->bytes && bytes <= b->bytes - at;
}

/* Fills *acc from base and stride: in between the first and the last active
 * lane nothing is further out. */
static int work_affine(struct work *w, struct heddle_work_call *c,
                       const struct warp *x, const struct heddle_work_access *a,
                       struct hd_access *acc)
{
    const struct hd_alloc *b = &w->buffer[a->buffer];
    uint32_t end[2] = {hd_bit_first(x->mask), hd_log2(x->mask)};
    int64_t most = INT64_C(1) << 50;

    if (a->base < -most || a->base > most)
        return work_outside(c, b, end[0], a->base, x->bytes);
    if (a->stride < -most / 64 || a->stride > most / 64)
        return work_bad(c, "access() gave a stride of", a->stride,
                        "one that stays in the buffer");
    for (int i = 0; i < 2; i++) {
        int64_t at = a->base + a->stride * end[i];
        if (!work_holds(b, (uint64_t)at, x->bytes))
            return work_outside(c, b, end[i], at, x->bytes);
    }
    acc->base.v = b->base.v + (uint64_t)a->base;
    acc->stride = a->stride;
    return 0;
}

static int work_scattered(struct work *w, struct heddle_work_call *c,
                          const struct warp *x, uint32_t buffer,
                          struct hd_access *acc)
{
    const struct hd_alloc *b = &w->buffer[buffer];

    for (uint64_t m = x->mask; m != 0; m &= m - 1) {
        uint32_t l = hd_bit_first(m);
        if (!work_holds(b, w->byte[l], x->bytes))
            return work_outside(c, b, l, (int64_t)w->byte[l], x->bytes);
        w->lane[l].v = b->base.v + w->byte[l];
    }
    acc->lane = w->lane;
    return 0;
}

static int ask_access(struct work *w, struct heddle_work_call *c,
                      const struct warp *x, struct hd_access *acc)
{
    struct heddle_work_access a = {.byte = w->byte};
    int r = w->work->access(c, &a);

    if (r != 0 || hd_err_breaks(w->env->err->code))
        return work_bad(c, "access() returned", r, "0");
    if (a.buffer >= w->buffers)
        return work_bad(c, "access() gave buffer", a.buffer,
                        "the number of one");
    if (w->gone[a.buffer] != 0)
        return work_fail(c, HEDDLE_EPROGRAM,
                         "it accesses a buffer that was freed");
    if (a.scattered != 0)
        return work_scattered(w, c, x, a.buffer, acc);
    return work_affine(w, c, x, &a, acc);
}

static void work_access(void *self, uint32_t ctx, uint32_t warp,
                        struct hd_access *acc)
{
    struct work *w = self;
    struct heddle_work_call c;
    struct warp *x;
    int r = work_call(w, ctx, warp, &c, &x);

    c.count--; /* before this instruction */
    *acc = (struct hd_access){0};
    if (r == 0 && ask_access(w, &c, x, acc) == 0)
        return;
    x->fault = 1;
    acc->lane = NULL;
    acc->base.v = HD_VA_FIRST;
    acc->stride = 0;
}

static const struct hd_source_ops work_ops = {
    .bind = work_bind,
    .alloc = work_alloc,
    .gone = work_gone,
    .restart = work_restart,
    .launch = work_launch,
    .block_start = work_block_start,
    .block_end = work_block_end,
    .next = work_next,
    .access = work_access,
    .save = work_save,
    .load = work_load,
    .drop = drop_kept,
    .pack = work_pack,
    .unpack = work_unpack,
    .unbind = work_unbind,
};
